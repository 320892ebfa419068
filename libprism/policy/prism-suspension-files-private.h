/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The files of a folder of suspensions.
 *
 * Each suspension is up to four small files, each of them written once and never changed:
 * what is asked, what was answered, that it began, how it ended. A file is put there whole and
 * durable, under a name that must not be taken: so of two processes that answer, or that begin,
 * one succeeds, and whatever dies at whatever moment leaves one of these four states and no other. */
#pragma once

#include "prism-suspension.h"

G_BEGIN_DECLS

#define PRISM_SUSPENSION_MOST      1000
#define PRISM_SUSPENSION_MAX_BYTES (768 * 1024)
#define PRISM_SUSPENSION_BINDING   32 /* so many hexadecimal digits of it begin an id */

typedef enum
{
  PRISM_SUSPENSION_ASKED,
  PRISM_SUSPENSION_ANSWER,
  PRISM_SUSPENSION_BEGUN,
  PRISM_SUSPENSION_END,
  PRISM_SUSPENSION_N_PARTS,
} PrismSuspensionPart;

/* -1: it cannot be opened, or somebody else could write there. @make: it is made if it is not there;
 * else -1 without an error where it is not. */
int prism_suspension_folder_open (const char *path, gboolean make, GError **error);

gboolean prism_suspension_is_id (const char *id);

/* FALSE without an error: it was there already. */
gboolean prism_suspension_put (int folder, const char *id, PrismSuspensionPart part, const char *text, GError **error);
/* NULL without an error: it is not there. */
char *prism_suspension_get (int folder, const char *id, PrismSuspensionPart part, GError **error);
/* The ids that any part is there of, sorted. */
GPtrArray *prism_suspension_scan (int folder, GError **error);
gboolean prism_suspension_drop (int folder, const char *id, GError **error);

/* For tests: called before each step that a crash may fall between. */
extern void (*prism_suspension_step) (const char *step);

G_END_DECLS
