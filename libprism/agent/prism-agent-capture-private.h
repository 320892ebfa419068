/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is kept of one output stream: all of it up to @cap bytes; of more, the
 * first (cap + 1) / 2 and the last cap / 2 bytes, because the end of an output is
 * where the error stands and its start says what was done. Never allocates more
 * than @cap. Pure. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

typedef struct
{
  guint8 *data;
  gsize allocated;
  gsize size; /* filled from the start */
  gsize cap;
  gsize at; /* where the ring behind the head goes on, once size == cap */
  guint64 total;
} PrismAgentCapture;

void prism_agent_capture_init (PrismAgentCapture *self, gsize cap);
void prism_agent_capture_clear (PrismAgentCapture *self);
void prism_agent_capture_append (PrismAgentCapture *self, gconstpointer bytes, gsize size);
/* Where the next bytes may be put without a copy, at least @want; NULL when they
 * have to be appended. */
guint8 *prism_agent_capture_reserve (PrismAgentCapture *self, gsize want, gsize *room);
void prism_agent_capture_commit (PrismAgentCapture *self, gsize size);
gboolean prism_agent_capture_is_truncated (const PrismAgentCapture *self);
/* What was kept; empties it. */
GBytes *prism_agent_capture_take (PrismAgentCapture *self);

G_END_DECLS
