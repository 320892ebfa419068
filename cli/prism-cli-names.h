/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <libprism/prism.h>

G_BEGIN_DECLS

char *prism_cli_nick_to_snake (const char *nick);
char *prism_cli_error_code (const GError *error);
char *prism_cli_enum_nick (GType type, int value);
char **prism_cli_flags_nicks (GType type, guint value);
gboolean prism_cli_parse_enum (GType type, const char *text, int *value, GError **error);
gboolean prism_cli_parse_flags (GType type, const char *text, guint *value, GError **error);

G_END_DECLS
