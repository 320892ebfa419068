/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-agent-protocol-private.h"

#define MAX_PRINTABLE 400

char *
prism_agent_dup_printable (const char *text)
{
  g_autofree char *valid = g_utf8_make_valid (text, -1);
  GString *clean = g_string_new (NULL);
  const char *at = valid;
  for (; *at != '\0' && clean->len < MAX_PRINTABLE; at = g_utf8_next_char (at))
    {
      gunichar c = g_utf8_get_char (at);
      if (g_unichar_isprint (c) && g_unichar_type (c) != G_UNICODE_FORMAT)
        g_string_append_unichar (clean, c);
      else
        g_string_append_printf (clean, "\\x{%x}", c);
    }
  if (*at != '\0')
    g_string_append (clean, "…");
  return g_string_free (clean, FALSE);
}
