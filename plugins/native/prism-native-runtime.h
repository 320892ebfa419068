/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

/* The runtime folder: what leads a later host to a detached sandbox. One folder for each,
 * named by its id, locked while its keeper lives. */

gboolean prism_native_is_id (const char *text);

typedef struct
{
  char *path; /* of the sandbox's folder */
  int folder; /* locked */
  int listener;
} PrismNativeWayIn;

/* Makes it. What is not deposited with a keeper is removed by abandon(). */
gboolean prism_native_way_in_make (PrismNativeWayIn *self, const char *id, GError **error);
void prism_native_way_in_abandon (PrismNativeWayIn *self);
/* Closes what the keeper has now. */
void prism_native_way_in_clear (PrismNativeWayIn *self);

/* A connection to the keeper of the sandbox @id; NOT_FOUND where there is none. */
int prism_native_way_in_connect (const char *id, GError **error);

/* Ids, of live ones too; and removes those whose keeper is dead, adding their ids. */
void prism_native_runtime_list (GHashTable *ids);
void prism_native_runtime_remove (GHashTable *ids);

G_END_DECLS
