/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <libprism/prism.h>

#include "prism-cli-json.h"

G_BEGIN_DECLS

/* What happened in a session: calls, questions and their answers, what was reached or
 * refused. The latest of it, as lines of JSON. */
typedef struct _PrismMcpJournal PrismMcpJournal;

/* @changed: something was added. */
PrismMcpJournal *prism_mcp_journal_new (void (*changed) (gpointer data), gpointer data);
void prism_mcp_journal_free (PrismMcpJournal *self);
/* {"ts", "kind", and open. */
PrismJson *prism_mcp_journal_begin (const char *kind);
/* Takes @json. */
void prism_mcp_journal_add (PrismMcpJournal *self, PrismJson *json);
void prism_mcp_journal_add_egress (PrismMcpJournal *self, const PrismAuditRecord *record);
/* The oldest first; as many lines were dropped before them. */
char *prism_mcp_journal_dup_text (PrismMcpJournal *self, guint64 *n_dropped);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (PrismMcpJournal, prism_mcp_journal_free)

G_END_DECLS
