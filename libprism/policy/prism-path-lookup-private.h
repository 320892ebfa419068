/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One look-up of a guard, for what is made of it. */
#pragma once

#include "prism-path-guard-private.h"

G_BEGIN_DECLS

#define PRISM_PATH_MAX 4096

/* A descriptor, or -errno. EXDEV: it leaves the root. ELOOP: a link where none may be. */
int prism_path_look_up (const PrismPathGuard *self, int root, const char *rest, gboolean follow, int flags, guint mode);

/* What a look-up is to do with each root that the name is below: at least 0, or -errno. */
typedef int (*PrismPathAtRoot) (const PrismPathGuard *self, int root, const char *rest, gpointer data);

/* The first root where it comes out well; else -1 with the last failure. */
int prism_path_at_roots (
    const PrismPathGuard *self, const char *path, PrismPathAtRoot at_root, gpointer data, GError **error);

/* Always -1. */
int prism_path_set_error (int number, const char *path, const char *root, GError **error);

G_END_DECLS
