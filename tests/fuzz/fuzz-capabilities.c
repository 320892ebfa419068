/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Capabilities as JSON from elsewhere: what claims anything names all six, once. */
#include <libprism/prism.h>

#include <stdint.h>

int LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t size);

int
LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t size)
{
  g_autoptr (PrismCapabilities) capabilities = prism_capabilities_parse_json ((const char *)bytes, (gssize)size);
  g_autoptr (GVariant) variant = prism_capabilities_to_variant (capabilities);
  g_autoptr (PrismCapabilities) back = prism_capabilities_parse (variant);

  g_assert_cmphex (prism_capabilities_get_controls (back), ==, prism_capabilities_get_controls (capabilities));
  if (prism_capabilities_get_controls (capabilities) != PRISM_CONTROLS_NONE)
    g_assert_cmpuint (size, >=, 120);
  return 0;
}
