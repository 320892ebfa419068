/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the host's tree does its work with: every name is looked up once, beneath a root
 * that is held open, and what comes of it is a descriptor. Between two calls a name may
 * mean something else; a descriptor does not. */
#pragma once

#include "prism-path-guard.h"

#include <sys/stat.h>

G_BEGIN_DECLS

/* Which object a name means, or, where it means none, which folder above it is the deepest. */
typedef struct
{
  dev_t dev;
  ino_t ino;
  gint64 born_ns; /* 0: not known */
  guint missing;  /* how many components below that folder are not there */
} PrismPathIdentity;

gboolean prism_path_guard_identify (
    PrismPathGuard *self, const char *path, PrismPathIntent intent, PrismPathIdentity *identity, GError **error);
/* Whether the name means the same still, and nothing has come where nothing was. */
gboolean prism_path_guard_is_object (PrismPathGuard *self,
                                     const char *path,
                                     PrismPathIntent intent,
                                     const PrismPathIdentity *object);

/* The same, held open. All descriptors are O_PATH. */
typedef struct
{
  int fd;     /* the object; -1: it is not there */
  int folder; /* what it is in, or the deepest folder above; -1: held to be read, or a root itself */
  char *rest; /* its name from there on */
  PrismPathIdentity object;
} PrismPathHold;

/* A link at the end is followed only to read. What is not there is no error. */
gboolean prism_path_guard_hold (
    PrismPathGuard *self, const char *path, PrismPathIntent intent, PrismPathHold *hold, GError **error);
void prism_path_hold_clear (PrismPathHold *self);
/* What it is in, for the calls that take a folder and a name: mkdirat, unlinkat, renameat2,
 * linkat, readlinkat, fstatat with AT_SYMLINK_NOFOLLOW. Folders that are missing are made, with
 * @mode. -1 with errno: EXDEV for a root, ELOOP for a link that came meanwhile. */
int prism_path_hold_make_folder (const PrismPathHold *self, guint mode);
/* Its name there: never empty, never `.` or `..`, no slash. */
const char *prism_path_hold_get_leaf (const PrismPathHold *self);

/* @rest is relative to @folder; through no link. */
int prism_path_guard_open_below (PrismPathGuard *self, int folder, const char *rest, int flags, GError **error);

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
