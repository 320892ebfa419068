/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the host's tree does its work with: every name is looked up once, beneath a root
 * that is held open, and what comes of it is a descriptor. Between two calls a name may
 * mean something else; a descriptor does not. */
#pragma once

#include "prism-path-guard.h"

#include <sys/stat.h>

G_BEGIN_DECLS

/* The folder that @path's last component is in, as an O_PATH descriptor, for the calls that
 * take a folder and a name: mkdirat, unlinkat, renameat2, linkat, readlinkat, fstatat with
 * AT_SYMLINK_NOFOLLOW. No link is followed on the way. *@leaf is that component: never
 * empty, never `.` or `..`, no slash. A root itself has none: that is an error. -1 with
 * @error; PRISM_POLICY_ERROR_DENIED says outside, G_IO_ERROR what the kernel said. */
int prism_path_guard_open_parent (PrismPathGuard *self, const char *path, char **leaf, GError **error);

/* The same, and the folders that are missing on the way are made, with @mode. */
int prism_path_guard_make_parents (PrismPathGuard *self, const char *path, guint mode, char **leaf, GError **error);

/* The object that was checked: PRISM_POLICY_ERROR_DENIED if @fd is another one. */
typedef struct
{
  dev_t dev;
  ino_t ino;
  gint64 born_ns; /* 0: not known */
  gboolean exists;
} PrismPathIdentity;

gboolean prism_path_guard_identify (
    PrismPathGuard *self, const char *path, PrismPathIntent intent, PrismPathIdentity *identity, GError **error);
gboolean prism_path_identity_check (const PrismPathIdentity *self, int fd, const char *path, GError **error);

/* As prism_path_guard_new(), but what cannot be opened is a name and nothing more: what is
 * below it is outside. @error then says which was the first. Never NULL. */
PrismPathGuard *prism_path_guard_new_for_those_there (const char *const *roots, GError **error);

/* An absolute name by its words alone: no `.`, `..`, or slash too many. */
char *prism_path_simplify (const char *path);

/* By its words alone, whether it is a root or below one. */
gboolean prism_path_guard_has_name (PrismPathGuard *self, const char *path);

/* For tests: as on a kernel without openat2. */
void prism_path_guard_set_walk (PrismPathGuard *self, gboolean walk);

G_END_DECLS
