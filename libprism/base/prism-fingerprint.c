/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-fingerprint-private.h"

#include <string.h>

void
prism_canonical_append_string (GString *json, const char *text, gssize length)
{
  static const char *const named[32] = {
    ['\b'] = "\\b", ['\f'] = "\\f", ['\n'] = "\\n", ['\r'] = "\\r", ['\t'] = "\\t"
  };
  gsize n = length < 0 ? strlen (text) : (gsize)length;

  g_string_append_c (json, '"');
  for (gsize i = 0; i < n; i++)
    {
      guchar c = (guchar)text[i];

      if (c == '"' || c == '\\')
        g_string_append_c (g_string_append_c (json, '\\'), (char)c);
      else if (c >= 32)
        g_string_append_c (json, (char)c);
      else if (named[c] != NULL)
        g_string_append (json, named[c]);
      else
        g_string_append_printf (json, "\\u%04x", c);
    }
  g_string_append_c (json, '"');
}

void
prism_canonical_append_strv (GString *json, const char *const *strings)
{
  g_string_append_c (json, '[');
  for (gsize i = 0; strings != NULL && strings[i] != NULL; i++)
    {
      if (i > 0)
        g_string_append_c (json, ',');
      prism_canonical_append_string (json, strings[i], -1);
    }
  g_string_append_c (json, ']');
}

char *
prism_fingerprint (const char *bytes, gsize length)
{
  return g_compute_checksum_for_data (G_CHECKSUM_SHA256, (const guchar *)bytes, length);
}
