/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* NAME=VALUE for a limit: what is taken is in range, what is not changes nothing. */
#include <libprism/prism.h>

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t size);

int
LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t size)
{
  g_autofree char *text = g_strndup ((const char *)bytes, size);
  char *equals = strchr (text, '=');

  if (equals == NULL)
    return 0;
  *equals = '\0';
  for (PrismLimitsProfile profile = 0; profile <= PRISM_LIMITS_PROFILE_STRICT; profile++)
    {
      g_autoptr (PrismLimits) limits = prism_limits_new (profile);
      g_autoptr (GError) error = NULL;
      gboolean set = prism_limits_set_string (limits, text, equals + 1, &error);

      g_assert_true (set == (error == NULL));
      g_assert_true (prism_limits_check (limits, NULL));
      if (set && strcmp (text, "cpus") != 0)
        g_assert_true (prism_limits_is_set (limits, text));
    }
  return 0;
}
