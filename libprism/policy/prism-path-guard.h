/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-policy-error.h"

G_BEGIN_DECLS

/**
 * PrismPathIntent:
 * @PRISM_PATH_INTENT_READ: what the name leads to; links count as long as they stay inside
 * @PRISM_PATH_INTENT_WRITE: that very name; no link on the way or at the end. It need not
 *   be there, nor its parents
 * @PRISM_PATH_INTENT_REMOVE: that very name; a link at the end is the link itself
 *
 * What a path is wanted for.
 *
 * Since: 1.0
 */
typedef enum
{
  PRISM_PATH_INTENT_READ,
  PRISM_PATH_INTENT_WRITE,
  PRISM_PATH_INTENT_REMOVE,
} PrismPathIntent;

/* Folders that names stay in: held open, so that what was checked is what is used.
 * Immutable; any thread. */
#define PRISM_TYPE_PATH_GUARD (prism_path_guard_get_type ())
PRISM_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (PrismPathGuard, prism_path_guard, PRISM, PATH_GUARD, GObject)

PRISM_AVAILABLE_IN_1_0
PrismPathGuard *prism_path_guard_new    (const char * const *roots,
                                         GError            **error);
PRISM_AVAILABLE_IN_1_0
gboolean        prism_path_guard_check  (PrismPathGuard     *self,
                                         const char         *path,
                                         PrismPathIntent     intent,
                                         GError            **error);
PRISM_AVAILABLE_IN_1_0
int             prism_path_guard_open   (PrismPathGuard     *self,
                                         const char         *path,
                                         PrismPathIntent     intent,
                                         int                 flags,
                                         guint               mode,
                                         GError            **error);

PRISM_AVAILABLE_IN_1_0
gboolean        prism_path_is_inside    (const char         *path,
                                         const char         *root);

G_END_DECLS
