/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "native-fixture.h"

#include <stdlib.h>
#include <unistd.h>

enum
{
  PLAIN,
  BY_TEMPLATE,
  EARLY,
};

static void
set_up (NativeFixture *f, gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *made = g_dir_make_tmp ("prism-native-XXXXXX", &error);

  g_assert_no_error (error);
  native_client_use_template (GPOINTER_TO_INT (data) == BY_TEMPLATE);
  native_client_use_early (GPOINTER_TO_INT (data) == EARLY);
  f->folder = g_canonicalize_filename (made, NULL);
  f->asked = native_asked ();
  f->asked.workspace.path = f->folder;
  f->asked.workspace.kind = PRISM_NATIVE_KIND_FOLDER;
}

static void
tear_down (NativeFixture *f, gconstpointer data)
{
  g_autofree char *command = g_strdup_printf ("rm -rf '%s'", f->folder);

  g_assert_cmpint (system (command), ==, 0);
  g_free (f->folder);
}

void
native_add_plain_test (const char *path, NativeTest test)
{
  g_test_add (path, NativeFixture, GINT_TO_POINTER (PLAIN), set_up, test, tear_down);
}

void
native_add_test (const char *path, NativeTest test)
{
  g_autofree char *again = g_strconcat (path, "/staying-launcher", NULL);
  g_autofree char *early = g_strconcat (path, "/early", NULL);

  native_add_plain_test (path, test);
  g_test_add (early, NativeFixture, GINT_TO_POINTER (EARLY), set_up, test, tear_down);
  if (geteuid () == 0)
    g_test_add (again, NativeFixture, GINT_TO_POINTER (BY_TEMPLATE), set_up, test, tear_down);
}

void
native_assert_sh (NativeClient *client, const char *script, const char *expected)
{
  g_autofree char *output = native_client_sh (client, script);
  g_assert_cmpstr (output, ==, expected);
}

void
native_assert_fails (NativeClient *client, const char *script)
{
  g_assert_cmpint (native_client_sh_code (client, script), !=, 0);
}
