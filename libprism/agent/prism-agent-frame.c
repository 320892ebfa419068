/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-agent-protocol-private.h"

void
prism_agent_frame_init (PrismAgentFrame *frame, enum prism_wire_type type, guint32 id, guint16 flags)
{
  frame->data = frame->local;
  frame->allocated = sizeof frame->local;
  frame->size = PRISM_WIRE_HEADER;
  frame->overflow = FALSE;
  prism_wire_put_header (frame->data, 0, type, 0, flags, id);
}

void
prism_agent_frame_clear (PrismAgentFrame *frame)
{
  if (frame->data != frame->local)
    g_free (frame->data);
  frame->data = frame->local;
  frame->size = 0;
}

static gboolean
frame_grow (PrismAgentFrame *frame, gsize more)
{
  gsize most = PRISM_WIRE_HEADER + PRISM_WIRE_MAX_PAYLOAD;
  if (frame->overflow || more > most - frame->size)
    {
      frame->overflow = TRUE;
      return FALSE;
    }
  if (more <= frame->allocated - frame->size)
    return TRUE;

  gsize allocated = MIN (most, MAX (frame->size + more, 2 * frame->allocated));
  if (frame->data == frame->local)
    {
      guint8 *data = g_malloc (allocated);
      memcpy (data, frame->local, frame->size);
      frame->data = data;
    }
  else
    frame->data = g_realloc (frame->data, allocated);
  frame->allocated = allocated;
  return TRUE;
}

void
prism_agent_frame_put (PrismAgentFrame *frame, guint64 value, guint bytes)
{
  if (!frame_grow (frame, bytes))
    return;
  for (guint i = 0; i < bytes; i++, value >>= 8)
    frame->data[frame->size++] = (guint8)value;
}

void
prism_agent_frame_put_bytes (PrismAgentFrame *frame, gconstpointer bytes, gsize size)
{
  if (size == 0 || !frame_grow (frame, size))
    return;
  memcpy (frame->data + frame->size, bytes, size);
  frame->size += size;
}

void
prism_agent_frame_put_str (PrismAgentFrame *frame, const char *string)
{
  gsize length = strlen (string);
  prism_agent_frame_put (frame, length, 4);
  prism_agent_frame_put_bytes (frame, string, length + 1);
}

void
prism_agent_frame_put_strv (PrismAgentFrame *frame, const char *const *strings)
{
  guint n = 0;
  while (strings != NULL && strings[n] != NULL)
    n++;
  if (n > PRISM_WIRE_MAX_STRINGS)
    frame->overflow = TRUE;
  prism_agent_frame_put (frame, n, 4);
  for (guint i = 0; i < n; i++)
    prism_agent_frame_put_str (frame, strings[i]);
}

gboolean
prism_agent_frame_seal (PrismAgentFrame *frame, guint32 id, guint n_fds)
{
  if (frame->overflow)
    return FALSE;
  struct prism_wire_writer size = prism_wire_write_to (frame->data, 4);
  prism_wire_put (&size, frame->size - PRISM_WIRE_HEADER, 4);
  frame->data[5] = (guint8)n_fds;
  struct prism_wire_writer at = prism_wire_write_to (frame->data + 8, 4);
  prism_wire_put (&at, id, 4);
  return TRUE;
}
