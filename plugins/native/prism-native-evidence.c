/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A string and not a dictionary of variants: most of what is said is the same for one
 * sandbox after another, and one comparison finds that. */
#include "prism-native-evidence.h"

#include <string.h>

void
prism_native_evidence_say (GString *evidence, const char *key, const char *text)
{
  g_string_append_len (evidence, key, strlen (key) + 1);
  g_string_append_len (evidence, text, strlen (text) + 1);
}

static const char *
next (const char *text)
{
  return text + strlen (text) + 1;
}

static gboolean
is_said_again (const char *key, const char *after, const char *end)
{
  for (const char *at = after; at < end; at = next (next (at)))
    if (strcmp (at, key) == 0)
      return TRUE;
  return FALSE;
}

GVariant *
prism_native_evidence_end (const GString *evidence)
{
  GVariantBuilder builder = G_VARIANT_BUILDER_INIT (G_VARIANT_TYPE ("a{ss}"));
  const char *end = evidence->str + evidence->len;

  for (const char *key = evidence->str; key < end; key = next (next (key)))
    if (!is_said_again (key, next (next (key)), end))
      g_variant_builder_add (&builder, "{ss}", key, next (key));
  return g_variant_builder_end (&builder);
}
