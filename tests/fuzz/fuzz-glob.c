/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* PATTERN NUL PATH: against a plain recursive matcher where both are short, and always to an end. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "prism-glob-private.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

static gboolean
plain (const char *p, const char *start, const char *s)
{
  if (p[0] == '*' && p[1] == '*' && (p == start || p[-1] == '/'))
    {
      const char *end = p + strspn (p, "*");
      if (*end == '\0')
        return *s != '\0';
      if (*end == '/')
        {
          for (;;)
            {
              if (plain (end + 1, start, s))
                return TRUE;
              s = strchr (s, '/');
              if (s == NULL)
                return FALSE;
              s++;
            }
        }
    }
  if (*p == '*')
    {
      const char *end = p + strspn (p, "*");
      for (;; s++)
        {
          if (plain (end, start, s))
            return TRUE;
          if (*s == '\0' || *s == '/')
            return FALSE;
        }
    }
  if (*p == '\0' || *s == '\0')
    return *p == *s;
  return ((*p == '?' && *s != '/') || *p == *s) && plain (p + 1, start, s + 1);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  char *text = g_strndup ((const char *)data, size);
  size_t first = strlen (text);
  char *path = first < size ? g_strndup ((const char *)data + first + 1, size - first - 1) : g_strdup ("");
  char **all = prism_glob_expand (text, 128);
  gboolean ascii = TRUE;

  for (const char *c = text; *c != '\0'; c++)
    ascii = ascii && (signed char)*c > 0;
  for (const char *c = path; *c != '\0'; c++)
    ascii = ascii && (signed char)*c > 0;
  gboolean fits = prism_glob_match (text, path);
  if (ascii && strlen (text) <= 10 && strlen (path) <= 14 && fits != plain (text, text, path))
    abort ();
  g_strfreev (all);
  g_free (path);
  g_free (text);
  return 0;
}
