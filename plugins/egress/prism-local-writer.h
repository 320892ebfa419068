/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writes a head into a fixed space, and says when it did not fit. */
#pragma once

#include "prism-http-head.h"

#include <string.h>

G_BEGIN_DECLS

typedef struct
{
  char *start, *at, *end;
  gboolean full;
} PrismLocalWriter;

static inline void
prism_local_write (PrismLocalWriter *self, const char *bytes, gsize length)
{
  if ((gsize)(self->end - self->at) < length)
    {
      self->full = TRUE;
      return;
    }
  memcpy (self->at, bytes, length);
  self->at += length;
}

static inline void
prism_local_write_text (PrismLocalWriter *self, const char *text)
{
  prism_local_write (self, text, strlen (text));
}

/* NAME ": " VALUE CRLF. */
static inline void
prism_local_write_field (PrismLocalWriter *self, const PrismHttpField *field)
{
  prism_local_write (self, field->name.text, field->name.length);
  prism_local_write (self, ": ", 2);
  prism_local_write (self, field->value.text, field->value.length);
  prism_local_write (self, "\r\n", 2);
}

static inline void
prism_local_write_number (PrismLocalWriter *self, const char *before, guint64 number, const char *after)
{
  char text[24];
  char *at = text + sizeof text;

  do
    *--at = (char)('0' + number % 10);
  while ((number /= 10) > 0);
  prism_local_write_text (self, before);
  prism_local_write (self, at, (gsize)(text + sizeof text - at));
  prism_local_write_text (self, after);
}

G_END_DECLS
