/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Secrets do not get out by the ways that messages take; nor do errors lose their names. */
#include <libprism/prism.h>

#include "prism-error-private.h"

static void
expect (PrismRedactor *redactor, const char *text, const char *expected)
{
  g_autofree char *clean = prism_redactor_redact (redactor, text);

  g_assert_cmpstr (clean, ==, expected);
}

static void
test_plain (void)
{
  g_autoptr (PrismRedactor) redactor = prism_redactor_new ();

  expect (redactor, "nothing is secret", "nothing is secret");
  prism_redactor_add (redactor, "");
  prism_redactor_add (redactor, "token");
  prism_redactor_add (redactor, "token-and-more");
  expect (redactor, "a token b", "a [REDACTED] b");
  expect (redactor, "token-and-more", "[REDACTED]"); /* the longest, not its beginning */
  expect (redactor, "token-and-less", "[REDACTED]-and-less");
  expect (redactor, "tokentoken", "[REDACTED][REDACTED]");
  expect (redactor, "toke", "toke");
  expect (redactor, "", "");
}

/* As a part of something that was encoded, at every offset. */
static void
test_base64 (void)
{
  const char *secret = "correct horse battery/staple?>>";
  g_autoptr (PrismRedactor) redactor = prism_redactor_new ();

  prism_redactor_add (redactor, secret);
  for (guint before = 0; before < 7; before++)
    for (guint after = 0; after < 4; after++)
      {
        g_autofree char *padding = g_strnfill (before, 'u'), *behind = g_strnfill (after, 'v');
        g_autofree char *whole = g_strconcat (padding, secret, behind, NULL);
        g_autofree char *encoded = g_base64_encode ((const guchar *)whole, strlen (whole));
        g_autofree char *clean = prism_redactor_redact (redactor, encoded);
        g_autofree char *url = g_strdelimit (g_strdelimit (g_strdup (encoded), "+", '-'), "/", '_');
        g_autofree char *clean_url = prism_redactor_redact (redactor, url);

        g_assert_nonnull (strstr (clean, "[REDACTED]"));
        g_assert_nonnull (strstr (clean_url, "[REDACTED]"));
        g_assert_cmpuint (strlen (clean), <, strlen ("[REDACTED]") + 20);
      }
}

static void
test_escaped (void)
{
  g_autoptr (PrismRedactor) redactor = prism_redactor_new ();

  prism_redactor_add (redactor, "a b/c\"d\\é\n€");
  expect (redactor, "x=a%20b%2Fc%22d%5C%C3%A9%0A%E2%82%AC&y", "x=[REDACTED]&y");
  expect (redactor, "x=a+b%2fc%22d%5c%c3%a9%0a%e2%82%ac&y", "x=[REDACTED]&y");
  expect (redactor, "{\"k\":\"a b/c\\\"d\\\\é\\n€\"}", "{\"k\":\"[REDACTED]\"}");
  expect (redactor, "{\"k\":\"a b\\/c\\\"d\\\\é\\n€\"}", "{\"k\":\"[REDACTED]\"}");
  expect (redactor, "{\"k\":\"a b/c\\\"d\\\\\\u00e9\\n\\u20ac\"}", "{\"k\":\"[REDACTED]\"}");
}

static void
test_environment (void)
{
  g_autoptr (PrismRedactor) redactor = prism_redactor_new ();
  g_autoptr (GError) error =
      g_error_new (PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_FAILED, "cannot use hunter2=x for NAME");
  g_autoptr (GError) clean = NULL;

  prism_redactor_add_environment (redactor, (const char *const[]){ "NAME=hunter2=x", "EMPTY=", "odd", NULL });
  clean = prism_redactor_redact_error (redactor, error);
  g_assert_error (clean, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_FAILED);
  g_assert_cmpstr (clean->message, ==, "cannot use [REDACTED] for NAME");
}

static const char *
name_of (GQuark domain, int code, const char *message)
{
  g_autoptr (GError) error = g_error_new_literal (domain, code, message);

  return prism_error_get_code_name (error);
}

/* The most specific name wins; a foreign error has none. */
static void
test_code_names (void)
{
  prism_error_add_code_name (PRISM_SANDBOX_ERROR, PRISM_ANY_CODE, "mine", "ERR_PRISM_MINE_SANDBOX");
  prism_error_add_code_name (PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_CLI, "mine", "ERR_PRISM_MINE_CLI");
  g_assert_cmpstr (name_of (PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_STATE, "mine: no"), ==, "ERR_PRISM_MINE_SANDBOX");
  g_assert_cmpstr (name_of (PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_CLI, "mine: no"), ==, "ERR_PRISM_MINE_CLI");
  g_assert_cmpstr (name_of (PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_CLI, "miner: no"), ==, "ERR_PRISM_SANDBOX_CLI");
  g_assert_cmpstr (name_of (PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_EXECUTION, "x"), ==,
                   "ERR_PRISM_SANDBOX_EXECUTION");
  g_assert_cmpstr (name_of (PRISM_TREE_ERROR, PRISM_TREE_ERROR_TYPE, "x"), ==, "ERR_PRISM_SANDBOX_TAR");
  g_assert_cmpstr (name_of (PRISM_PROCESS_ERROR, PRISM_PROCESS_ERROR_PTY_LIMIT, "x"), ==,
                   "ERR_PRISM_PROCESS_PTY_LIMIT");
  g_assert_cmpstr (name_of (PRISM_LIMIT_ERROR, PRISM_LIMIT_ERROR_RANGE, "x"), ==, "ERR_PRISM_LIMIT_RANGE");
  g_assert_null (name_of (G_IO_ERROR, G_IO_ERROR_FAILED, "x"));
}

static void
test_origin (void)
{
  g_autoptr (GError) error = g_error_new_literal (PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_STATE, "no");

  prism_error_set_origin (error, "mine");
  g_assert_cmpstr (error->message, ==, "mine: no");
  prism_error_set_origin (error, "mine");
  g_assert_cmpstr (error->message, ==, "mine: no");
  prism_error_set_origin (error, NULL);
  g_assert_cmpstr (error->message, ==, "mine: no");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/redactor/plain", test_plain);
  g_test_add_func ("/redactor/base64", test_base64);
  g_test_add_func ("/redactor/escaped", test_escaped);
  g_test_add_func ("/redactor/environment", test_environment);
  g_test_add_func ("/error/code-names", test_code_names);
  g_test_add_func ("/error/origin", test_origin);
  return g_test_run ();
}
