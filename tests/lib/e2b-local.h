/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A local server that speaks the hosted service's wire (e2b-server.mjs), of one test: it ends
 * with the test, whatever becomes of it, and everything of its sandboxes with it. */
#pragma once

#include <libprism/prism.h>

G_BEGIN_DECLS

#define E2B_LOCAL_KEY "e2b_0123456789abcdef"

typedef struct _E2bLocal E2bLocal;

/* @options: the server's, or NULL. */
E2bLocal *e2b_local_new (const char *const *options);
void e2b_local_free (E2bLocal *self);

const char *e2b_local_get_url (E2bLocal *self);
/* A folder of this machine, which its sandboxes have too. */
const char *e2b_local_get_folder (E2bLocal *self);
void e2b_local_set_faults (E2bLocal *self, const char *json);
gint64 e2b_local_count (E2bLocal *self, const char *name);
/* How often that was asked: "POST /sandboxes", "DELETE /sandboxes/ID". */
gint64 e2b_local_asked (E2bLocal *self, const char *method_and_path);

/* Of a folder: of /proc/self, say. */
guint e2b_local_count_entries (const char *folder);

PrismBackend *e2b_local_new_backend (E2bLocal *self);
PrismSandboxSpec *e2b_local_new_spec (E2bLocal *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (E2bLocal, e2b_local_free)

G_END_DECLS
