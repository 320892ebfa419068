/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Lines of secrets, an empty line, a text: no secret is in what comes out, plainly,
 * in base64, or in the escapes of JSON and of addresses. */
#include "prism-redactor.h"

#include <string.h>

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

/* What the replacement itself could complete is not looked for. */
static void
assert_gone (const char *redacted, const char *secret)
{
  if (*secret != '\0' && strpbrk (secret, "[]") == NULL && strstr ("[REDACTED]", secret) == NULL)
    g_assert_null (strstr (redacted, secret));
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  g_autoptr (PrismRedactor) redactor = prism_redactor_new ();
  g_autofree char *input = g_strndup ((const char *)data, size);
  char *text = strstr (input, "\n\n");
  g_auto (GStrv) secrets = NULL;
  g_autofree char *redacted = NULL, *again = NULL;

  if (text == NULL || size > 4096)
    return 0;
  *text = '\0';
  text += 2;
  secrets = g_strsplit (input, "\n", 8);
  for (guint i = 0; secrets[i] != NULL; i++)
    prism_redactor_add (redactor, secrets[i]);
  redacted = prism_redactor_redact (redactor, text);
  for (guint i = 0; secrets[i] != NULL; i++)
    {
      g_autofree char *base64 = g_base64_encode ((const guchar *)secrets[i], strlen (secrets[i]));
      g_autofree char *escaped = g_uri_escape_string (secrets[i], NULL, FALSE);
      assert_gone (redacted, secrets[i]);
      if (secrets[i][0] != '\0')
        assert_gone (redacted, base64);
      assert_gone (redacted, escaped);
    }
  again = prism_redactor_redact (redactor, text);
  g_assert_cmpstr (again, ==, redacted);
  return 0;
}
