/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A stream's bytes, in pieces as large as the first byte says: however they are cut, the
 * same messages come of them. */
#include <string.h>

#include "prism-e2b-envelope.h"

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

#define MOST_BYTES 4096

static GByteArray *
decode (const guint8 *data, gsize size, gsize piece, gboolean *fine)
{
  g_auto (PrismE2bDecoder) decoder;
  GByteArray *heard = g_byte_array_new ();

  prism_e2b_decoder_init (&decoder, MOST_BYTES);
  *fine = TRUE;
  while (size > 0 && *fine)
    {
      gsize n = MIN (piece, size), left = n;
      const guint8 *at = data;

      while (left > 0 && *fine)
        {
          PrismE2bFrame frame;
          const guint8 *payload;
          gsize length;

          *fine = prism_e2b_decoder_take (&decoder, &at, &left, &frame, &payload, &length, NULL);
          g_assert_true (*fine || frame == PRISM_E2B_FRAME_NONE);
          if (frame == PRISM_E2B_FRAME_NONE)
            continue;
          g_assert_cmpuint (length, <=, MOST_BYTES);
          g_byte_array_append (heard, payload, (guint)length);
          g_byte_array_append (heard, (const guint8 *)(frame == PRISM_E2B_FRAME_END ? "\2" : "\1"), 1);
        }
      data += n;
      size -= n;
    }
  *fine = *fine && prism_e2b_decoder_finish (&decoder, NULL);
  return heard;
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  g_autoptr (GByteArray) cut = NULL, whole = NULL;
  gboolean cut_fine, whole_fine;

  if (size < 1)
    return 0;
  cut = decode (data + 1, size - 1, 1 + data[0] % 16, &cut_fine);
  whole = decode (data + 1, size - 1, size, &whole_fine);
  g_assert_true (cut_fine == whole_fine);
  g_assert_cmpmem (cut->data, cut->len, whole->data, whole->len);
  return 0;
}
