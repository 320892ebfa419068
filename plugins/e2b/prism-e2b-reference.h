/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A process by name: which sandbox, which pid, what it runs and where. Readable by anybody
 * and trusted by nobody: what it says is compared with what the service says. No I/O. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

#define PRISM_E2B_PROCESS_PREFIX "prism-e2b-proc:"
#define PRISM_E2B_SANDBOX_PREFIX "prism-e2b:"

typedef struct
{
  char *sandbox;
  gint64 pid;
  char *fingerprint;
  char *workspace;
} PrismE2bReference;

void prism_e2b_reference_clear (PrismE2bReference *self);
char *prism_e2b_reference_format (const PrismE2bReference *self);
gboolean prism_e2b_reference_parse (const char *text, PrismE2bReference *self);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (PrismE2bReference, prism_e2b_reference_clear)

G_END_DECLS
