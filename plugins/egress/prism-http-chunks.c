/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Trust: none. A size has at most 13 digits, so that no sum of what follows can
 * overflow; what is not payload has a bound for the whole body. */
#include "prism-http-chunks.h"

#include "prism-http-head.h"

#define MAX_DIGITS 13
#define MAX_EXTRA  16384

static PrismHttpChunksState
eat_size (PrismHttpChunks *self, char c)
{
  if (g_ascii_isxdigit (c))
    {
      self->left = self->left * 16 + (guint64)g_ascii_xdigit_value (c);
      return ++self->digits <= MAX_DIGITS ? PRISM_HTTP_CHUNKS_SIZE : PRISM_HTTP_CHUNKS_WRONG;
    }
  if (self->digits == 0)
    return PRISM_HTTP_CHUNKS_WRONG;
  if (c == ';')
    return PRISM_HTTP_CHUNKS_EXTENSION;
  return c == '\r' ? PRISM_HTTP_CHUNKS_SIZE_LF : PRISM_HTTP_CHUNKS_WRONG;
}

/* What is thrown away still has to be what it claims to be. */
static PrismHttpChunksState
eat_extra (PrismHttpChunks *self, char c, PrismHttpChunksState next)
{
  if (++self->extra > MAX_EXTRA)
    return PRISM_HTTP_CHUNKS_WRONG;
  if (c == '\r')
    return next;
  return prism_http_is_text (c) ? self->state : PRISM_HTTP_CHUNKS_WRONG;
}

static PrismHttpChunksState
eat_trailer_name (PrismHttpChunks *self, char c)
{
  if (++self->extra > MAX_EXTRA)
    return PRISM_HTTP_CHUNKS_WRONG;
  if (prism_http_is_token (c))
    return PRISM_HTTP_CHUNKS_TRAILER_NAME;
  return c == ':' && self->state == PRISM_HTTP_CHUNKS_TRAILER_NAME ? PRISM_HTTP_CHUNKS_TRAILER_VALUE
                                                                   : PRISM_HTTP_CHUNKS_WRONG;
}

static PrismHttpChunksState
expect (char c, char wanted, PrismHttpChunksState next)
{
  return c == wanted ? next : PRISM_HTTP_CHUNKS_WRONG;
}

static PrismHttpChunksState
eat_byte (PrismHttpChunks *self, char c)
{
  switch (self->state)
    {
    case PRISM_HTTP_CHUNKS_SIZE:
      return eat_size (self, c);
    case PRISM_HTTP_CHUNKS_EXTENSION:
      return eat_extra (self, c, PRISM_HTTP_CHUNKS_SIZE_LF);
    case PRISM_HTTP_CHUNKS_SIZE_LF:
      return expect (c, '\n', self->left > 0 ? PRISM_HTTP_CHUNKS_DATA : PRISM_HTTP_CHUNKS_TRAILER);
    case PRISM_HTTP_CHUNKS_DATA_CR:
      return expect (c, '\r', PRISM_HTTP_CHUNKS_DATA_LF);
    case PRISM_HTTP_CHUNKS_DATA_LF:
      self->digits = 0;
      return expect (c, '\n', PRISM_HTTP_CHUNKS_SIZE);
    case PRISM_HTTP_CHUNKS_TRAILER:
      return c == '\r' ? PRISM_HTTP_CHUNKS_END_LF : eat_trailer_name (self, c);
    case PRISM_HTTP_CHUNKS_TRAILER_NAME:
      return eat_trailer_name (self, c);
    case PRISM_HTTP_CHUNKS_TRAILER_VALUE:
      return eat_extra (self, c, PRISM_HTTP_CHUNKS_TRAILER_LF);
    case PRISM_HTTP_CHUNKS_TRAILER_LF:
      return expect (c, '\n', PRISM_HTTP_CHUNKS_TRAILER);
    case PRISM_HTTP_CHUNKS_END_LF:
      return expect (c, '\n', PRISM_HTTP_CHUNKS_DONE);
    case PRISM_HTTP_CHUNKS_DATA:
    case PRISM_HTTP_CHUNKS_DONE:
    case PRISM_HTTP_CHUNKS_WRONG:
    default:
      return PRISM_HTTP_CHUNKS_WRONG;
    }
}

gsize
prism_http_chunks_eat (PrismHttpChunks *self, const char *bytes, gsize length, const char **data, gsize *data_length)
{
  gsize at = 0;

  *data_length = 0;
  while (at < length && self->state < PRISM_HTTP_CHUNKS_DONE)
    {
      if (self->state == PRISM_HTTP_CHUNKS_DATA)
        {
          *data = bytes + at;
          *data_length = (gsize)MIN (self->left, (guint64)(length - at));
          self->left -= *data_length;
          if (self->left == 0)
            self->state = PRISM_HTTP_CHUNKS_DATA_CR;
          return at + *data_length;
        }
      self->state = eat_byte (self, bytes[at++]);
    }
  return at;
}

gsize
prism_http_chunks_write_size (char *out, gsize length)
{
  return (gsize)g_snprintf (out, 20, "%" G_GSIZE_MODIFIER "x\r\n", length);
}
