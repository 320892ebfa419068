/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Bytes that wait, eaten from the front. Zeroed is empty, and costs nothing. */
#pragma once

#include <glib.h>
#include <string.h>

G_BEGIN_DECLS

typedef struct
{
  char *bytes;
  guint32 start, end, size;
} PrismLocalBuffer;

static inline gsize
prism_local_buffer_length (const PrismLocalBuffer *self)
{
  return self->end - self->start;
}

static inline char *
prism_local_buffer_data (const PrismLocalBuffer *self)
{
  return self->bytes + self->start;
}

static inline void
prism_local_buffer_clear (PrismLocalBuffer *self)
{
  g_free (self->bytes);
  *self = (PrismLocalBuffer){ NULL, 0, 0, 0 };
}

/* Room for @room more behind the end. */
static inline void
prism_local_buffer_reserve (PrismLocalBuffer *self, gsize room)
{
  gsize length = prism_local_buffer_length (self);

  if (self->size - self->end >= room)
    return;
  if (self->start > 0)
    {
      memmove (self->bytes, self->bytes + self->start, length);
      self->start = 0;
      self->end = (guint32)length;
    }
  if (self->size - self->end >= room)
    return;
  self->size = (guint32)MAX (length + room, 2 * (gsize)self->size);
  self->bytes = g_realloc (self->bytes, self->size);
}

static inline void
prism_local_buffer_append (PrismLocalBuffer *self, const void *bytes, gsize length)
{
  if (length == 0)
    return;
  prism_local_buffer_reserve (self, length);
  memcpy (self->bytes + self->end, bytes, length);
  self->end += (guint32)length;
}

static inline void
prism_local_buffer_eat (PrismLocalBuffer *self, gsize length)
{
  self->start += (guint32)length;
  if (self->start == self->end)
    self->start = self->end = 0;
}

G_END_DECLS
