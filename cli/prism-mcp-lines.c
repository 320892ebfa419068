/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The framing of MCP's stdio transport: a message is a line. Pure. */
#include "prism-mcp-lines.h"

#include <string.h>

void
prism_mcp_lines_init (PrismMcpLines *self, const PrismMcpLinesFuncs *funcs, gpointer data, gsize max)
{
  *self = (PrismMcpLines){ .funcs = funcs, .data = data, .max = max, .begun = g_byte_array_new () };
}

void
prism_mcp_lines_clear (PrismMcpLines *self)
{
  g_clear_pointer (&self->begun, g_byte_array_unref);
}

/* A blank line is no message, and no mistake either. */
static gboolean
deliver (PrismMcpLines *self, const char *text, gsize length)
{
  if (length > 0 && text[length - 1] == '\r')
    length--;
  for (gsize i = 0; i < length; i++)
    if (text[i] != ' ' && text[i] != '\t')
      return self->funcs->line (self->data, text, length);
  return TRUE;
}

static gboolean
finish_line (PrismMcpLines *self, const char *bytes, gsize length)
{
  GByteArray *line;
  gboolean more;

  if (self->dropping)
    {
      self->dropping = FALSE;
      return TRUE;
    }
  if (self->begun->len + length > self->max)
    {
      g_byte_array_set_size (self->begun, 0);
      return self->funcs->overlong (self->data);
    }
  if (self->begun->len == 0)
    return deliver (self, bytes, length);

  line = g_steal_pointer (&self->begun);
  self->begun = g_byte_array_new ();
  g_byte_array_append (line, (const guint8 *)bytes, length);
  more = deliver (self, (const char *)line->data, line->len);
  g_byte_array_unref (line);
  return more;
}

gboolean
prism_mcp_lines_feed (PrismMcpLines *self, const char *bytes, gsize length)
{
  const char *end = bytes + length, *feed;

  for (; bytes < end; bytes = feed + 1)
    {
      feed = memchr (bytes, '\n', end - bytes);
      if (feed == NULL)
        break;
      if (!finish_line (self, bytes, feed - bytes))
        return FALSE;
    }
  if (bytes >= end || self->dropping)
    return TRUE;
  if (self->begun->len + (gsize)(end - bytes) <= self->max)
    {
      g_byte_array_append (self->begun, (const guint8 *)bytes, end - bytes);
      return TRUE;
    }

  /* Its memory goes with it. */
  g_byte_array_unref (self->begun);
  self->begun = g_byte_array_new ();
  self->dropping = TRUE;
  return self->funcs->overlong (self->data);
}

gboolean
prism_mcp_lines_unfinished (PrismMcpLines *self)
{
  return self->dropping || self->begun->len > 0;
}
