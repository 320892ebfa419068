/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a client says first in a tunnel. A verdict that was given stays, whatever
 * comes after it. */
#include "prism-tls-hello.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t size);

int
LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t size)
{
  char name[256], before[256];
  PrismTlsHello whole = prism_tls_hello_parse (bytes, size, name), part;

  g_assert_cmpuint (strlen (name), <, sizeof name);
  g_assert_true (whole != PRISM_TLS_HELLO_NAMED || name[0] != '\0');
  for (size_t cut = size; cut > 0 && cut + 16 > size; cut--)
    {
      part = prism_tls_hello_parse (bytes, cut - 1, before);
      g_assert_true (part == PRISM_TLS_HELLO_MORE || part == whole);
      if (part == PRISM_TLS_HELLO_NAMED)
        g_assert_cmpstr (before, ==, name);
    }
  return 0;
}
