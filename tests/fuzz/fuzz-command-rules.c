/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A pattern, a NUL, and a text: every pattern is refused or matched, and a linear regular
 * expression agrees with GLib's wherever both take it. */
#include <stdint.h>
#include <string.h>

#include "prism-action.h"
#include "prism-command-judge-private.h"
#include "prism-linear-regex-private.h"

int LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t size);

/* With a bound on how long that may try. */
static void
compare (const char *pattern, const char *text, gboolean matches)
{
  g_autofree char *bounded = g_strdup_printf ("(*LIMIT_MATCH=20000)(*LIMIT_DEPTH=500)(?s)(?:%s)", pattern);
  g_autoptr (GRegex) other = g_regex_new (bounded, G_REGEX_RAW | G_REGEX_DOLLAR_ENDONLY, 0, NULL);
  g_autoptr (GError) error = NULL;
  gboolean theirs;

  if (other == NULL)
    return;
  theirs = g_regex_match_full (other, text, -1, 0, 0, NULL, &error);
  if (error == NULL)
    g_assert_cmpint (matches, ==, theirs);
}

static gboolean
is_common (const char *pattern)
{
  /* GLib takes more: (?...), possessive and lazy repetitions, \\Q, classes with names. */
  return strstr (pattern, "(?") == NULL && strstr (pattern, "(*") == NULL && strstr (pattern, "++") == NULL
         && strstr (pattern, "?+") == NULL && strstr (pattern, "*+") == NULL && strstr (pattern, "}+") == NULL
         && g_str_is_ascii (pattern);
}

int
LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t size)
{
  g_autofree char *all = g_strndup ((const char *)bytes, MIN (size, 1024));
  const char *pattern = all, *text;
  g_autofree char *copy = NULL;
  gsize length = strlen (all);
  PrismLinearRegex *regex;
  gboolean changed;
  g_autofree char *shown = prism_visible_text (all, 64, &changed);

  g_assert_true (g_utf8_validate (shown, -1, NULL));
  copy =
      size > length + 1 ? g_strndup ((const char *)bytes + length + 1, MIN (size - length - 1, 4096)) : g_strdup ("");
  text = copy;
  prism_command_glob_matches (pattern, text, strlen (text));
  regex = prism_linear_regex_new (pattern, NULL);
  if (regex == NULL)
    return 0;
  /* Theirs takes the other half of the bytes for Latin letters. */
  if (is_common (pattern) && g_str_is_ascii (text))
    compare (pattern, text, prism_linear_regex_matches (regex, text, strlen (text)));
  prism_linear_regex_free (regex);
  return 0;
}
