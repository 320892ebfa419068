/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-agent-capture-private.h"

#include <string.h>

void
prism_agent_capture_init (PrismAgentCapture *self, gsize cap)
{
  memset (self, 0, sizeof *self);
  self->cap = cap;
  self->at = cap - cap / 2;
}

void
prism_agent_capture_clear (PrismAgentCapture *self)
{
  g_clear_pointer (&self->data, g_free);
  self->allocated = self->size = 0;
}

static gsize
head_of (const PrismAgentCapture *self)
{
  return self->cap - self->cap / 2;
}

/* Doubles, so that a stream is copied a constant number of times. */
static void
grow (PrismAgentCapture *self, gsize want)
{
  if (want <= self->allocated - self->size)
    return;
  gsize least = want > self->cap - self->size ? self->cap : self->size + want;
  gsize doubled = self->allocated > self->cap / 2 ? self->cap : 2 * self->allocated;
  self->allocated = MAX (least, doubled);
  self->data = g_realloc (self->data, self->allocated);
}

static void
append_to_ring (PrismAgentCapture *self, const guint8 *bytes, gsize size)
{
  gsize head = head_of (self), ring = self->cap - head;
  if (ring == 0)
    return;
  if (size > ring)
    {
      /* Only its end stays; the ring goes on where it would have. */
      gsize skipped = size - ring;
      self->at = head + (self->at - head + skipped) % ring;
      bytes += skipped;
      size = ring;
    }
  gsize first = MIN (size, self->cap - self->at);
  memcpy (self->data + self->at, bytes, first);
  if (size > first)
    memcpy (self->data + head, bytes + first, size - first);
  self->at += size;
  if (self->at >= self->cap)
    self->at -= ring;
}

void
prism_agent_capture_append (PrismAgentCapture *self, gconstpointer bytes, gsize size)
{
  gsize linear = MIN (size, self->cap - self->size);
  if (linear > 0)
    {
      grow (self, linear);
      memcpy (self->data + self->size, bytes, linear);
      self->size += linear;
    }
  if (size > linear)
    append_to_ring (self, (const guint8 *)bytes + linear, size - linear);
  self->total += size;
}

guint8 *
prism_agent_capture_reserve (PrismAgentCapture *self, gsize want, gsize *room)
{
  if (self->size < self->cap)
    {
      if (self->cap - self->size < want)
        return NULL;
      grow (self, want);
      *room = self->allocated - self->size;
      return self->data + self->size;
    }
  if (self->cap - self->at < want)
    return NULL;
  *room = self->cap - self->at;
  return self->data + self->at;
}

void
prism_agent_capture_commit (PrismAgentCapture *self, gsize size)
{
  self->total += size;
  if (self->size < self->cap)
    {
      self->size += size;
      return;
    }
  self->at += size;
  if (self->at >= self->cap)
    self->at = head_of (self);
}

gboolean
prism_agent_capture_is_truncated (const PrismAgentCapture *self)
{
  return self->total > self->cap;
}

static void
reverse (guint8 *from, guint8 *to)
{
  while (from < to)
    {
      guint8 byte = *from;
      *from++ = *--to;
      *to = byte;
    }
}

GBytes *
prism_agent_capture_take (PrismAgentCapture *self)
{
  gsize head = head_of (self), size = self->size;
  if (prism_agent_capture_is_truncated (self) && self->at != head)
    {
      /* Turns the ring so that its oldest byte comes first, in place. */
      reverse (self->data + head, self->data + self->at);
      reverse (self->data + self->at, self->data + self->cap);
      reverse (self->data + head, self->data + self->cap);
    }
  if (size == 0)
    {
      prism_agent_capture_clear (self);
      return g_bytes_new_static ("", 0);
    }
  guint8 *data = g_steal_pointer (&self->data);
  if (self->allocated - size > 4096 && self->allocated - size > size / 8)
    data = g_realloc (data, size);
  self->allocated = self->size = 0;
  return g_bytes_new_take (data, size);
}
