/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <libprism/prism.h>

G_BEGIN_DECLS

/* A backend of that name with NAME=VALUE settings, construct-only ones included. */
PrismBackend *
prism_cli_make_backend (PrismRegistry *registry, const char *name, const char *const *settings, GError **error);

/* The same of the egress proxy of the highest priority. */
PrismEgressProxy *
prism_cli_make_egress_proxy (PrismRegistry *registry, const char *const *settings, GError **error);

gboolean prism_cli_property_is_settable (GParamSpec *pspec);
gboolean prism_cli_property_parse (
    const char *option, GParamSpec *pspec, const char *text, GValue *value, GError **error);
char *prism_cli_property_kind (GParamSpec *pspec);
char *prism_cli_property_default (GParamSpec *pspec);
char *prism_cli_property_range (GParamSpec *pspec);
GParamSpec **prism_cli_list_properties (GType type, guint *n);

G_END_DECLS
