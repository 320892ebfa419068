/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A file and edits of it: what no edit names keeps its bytes. Old and new texts are taken from
 * the input: OLD NUL NEW NUL FILE; a first byte of 'f' asks for fuzzy. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "prism-text-edit-private.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  const uint8_t *first = size > 1 ? memchr (data + 1, 0, size - 1) : NULL;
  const uint8_t *second = first != NULL ? memchr (first + 1, 0, size - (size_t)(first + 1 - data)) : NULL;
  PrismTextEdit edit;
  PrismTextEdited edited;
  GBytes *bytes;
  size_t length;

  if (second == NULL || size > 65536 || !g_utf8_validate ((const char *)data + 1, -1, NULL)
      || !g_utf8_validate ((const char *)first + 1, -1, NULL))
    return 0;
  edit = (PrismTextEdit){ (const char *)data + 1, (const char *)first + 1 };
  length = size - (size_t)(second + 1 - data);
  bytes = g_bytes_new (second + 1, length);
  prism_text_edit (bytes, &edit, 1, data[0] == 'f', "name", &edited);
  if (edited.outcome == PRISM_TEXT_EDIT_DONE)
    {
      gsize new_size, same = 0, tail = 0;
      const uint8_t *becomes = g_bytes_get_data (edited.bytes, &new_size);
      /* All but one stretch is as it was. */
      while (same < length && same < new_size && second[1 + same] == becomes[same])
        same++;
      while (tail < length - same && tail < new_size - same && second[length - tail] == becomes[new_size - 1 - tail])
        tail++;
      if (!edited.fuzzy && length - same - tail > 2 * strlen (edit.old_text))
        abort ();
      if (edited.patch == NULL || edited.diff == NULL || edited.first_line == 0)
        abort ();
    }
  prism_text_edited_clear (&edited);
  g_bytes_unref (bytes);
  return 0;
}
