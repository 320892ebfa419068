/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Chunked bodies: the same is read of them whatever pieces they come in, and what
 * was read, written in chunks again, is the same body. */
#include "prism-http-chunks.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t size);

static PrismHttpChunksState
decode (const char *text, gsize size, gsize step, GString *body, gsize *used)
{
  PrismHttpChunks chunks = { PRISM_HTTP_CHUNKS_SIZE };
  gsize at = 0;

  while (at < size && chunks.state < PRISM_HTTP_CHUNKS_DONE)
    {
      const char *data = NULL;
      gsize length, eaten = prism_http_chunks_eat (&chunks, text + at, MIN (step, size - at), &data, &length);

      g_assert_true (eaten > 0 && eaten <= MIN (step, size - at));
      g_assert_true (length == 0 || (data >= text + at && data + length <= text + at + eaten));
      g_string_append_len (body, data, (gssize)length);
      at += eaten;
    }
  *used = at;
  return chunks.state;
}

int
LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t size)
{
  g_autoptr (GString) whole = g_string_new (NULL), single = g_string_new (NULL), again = g_string_new (NULL);
  g_autoptr (GString) text = g_string_new (NULL);
  gsize used_whole, used_single;
  char line[20];
  PrismHttpChunksState state = decode ((const char *)bytes, size, size, whole, &used_whole);

  g_assert_cmpint (decode ((const char *)bytes, size, 1, single, &used_single), ==, state);
  if (state == PRISM_HTTP_CHUNKS_WRONG)
    return 0;
  g_assert_cmpuint (used_whole, ==, used_single);
  g_assert_true (g_string_equal (whole, single));
  if (whole->len > 0)
    {
      g_string_append_len (text, line, (gssize)prism_http_chunks_write_size (line, whole->len));
      g_string_append_len (text, whole->str, (gssize)whole->len);
      g_string_append (text, "\r\n");
    }
  g_string_append (text, "0\r\n\r\n");
  g_assert_cmpint (decode (text->str, text->len, text->len, again, &used_single), ==, PRISM_HTTP_CHUNKS_DONE);
  g_assert_true (g_string_equal (whole, again));
  return 0;
}
