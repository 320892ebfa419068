/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <libprism/prism.h>

G_BEGIN_DECLS

char *prism_cli_path (const char *path, GError **error);
GFile *prism_cli_file (const char *path, GError **error);
GFile *prism_cli_workspace (const char *named, PrismWorkspaceMode mode, GError **error);
/* Why @path is no folder to hand out without being told to, or NULL. Pure. */
const char *prism_cli_workspace_objection (const char *path, const char *const *homes);

G_END_DECLS
