/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What dead hosts left behind. Each sandbox that is to end with its host has a label that
 * says which process of which machine that is, and nothing else of either: only hosts of
 * this machine can be seen to be dead, so only their sandboxes are removed. */
#pragma once

#include "prism-e2b-client.h"

G_BEGIN_DECLS

/* Of this process; NULL where a machine has no name for itself. */
char *prism_e2b_host_dup_label (void);
/* TRUE: it was a process of this machine, and is over. */
gboolean prism_e2b_host_is_dead (const char *label);

/* How many were removed; -1: not all, and the error says which lives on. Blocking. */
int prism_e2b_reap (PrismE2bClient *client, GCancellable *cancellable, GError **error);

G_END_DECLS
