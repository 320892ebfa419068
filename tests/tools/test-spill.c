/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Output that is not shown in full. */
#include "tools-fixture.h"

#include <string.h>

/* Runs it, and tells where all of its output is. */
static char *
kept_path (ToolsFixture *f, const char *command)
{
  g_autofree char *arguments = g_strdup_printf ("{\"command\":\"%s\"}", command);
  g_autoptr (PrismToolResult) result = tools_call (f, "shell", arguments);
  const char *metadata = prism_tool_result_get_metadata (result);
  const char *at = strstr (metadata, "\"fullOutputPath\":\"");
  g_autofree char *text = prism_tool_result_dup_text (result);
  g_autofree char *path = NULL;

  if (prism_tool_result_get_failed (result) || at == NULL)
    g_error ("%s: %s %s", command, metadata, prism_tool_result_get_message (result));
  at += strlen ("\"fullOutputPath\":\"");
  path = g_strndup (at, strcspn (at, "\""));
  g_assert_nonnull (strstr (text, path));
  g_assert_nonnull (strstr (metadata, "\"outputStorageFailed\":false"));
  g_assert_true (!f->sandboxed || g_str_has_prefix (path, "/tmp/prism-"));
  return g_steal_pointer (&path);
}

/* What is not shown is in a file that commands read, and nobody else. */
static void
test_kept (ToolsFixture *f, gconstpointer data)
{
  static const struct
  {
    const char *command, *size;
  } rows[] = {
    { "seq 1 5000", "23893\n600\n" },
    { "seq 1 50000; exit 3", "288894\n600\n" },
    { "seq 1 50000 >&2; kill -9 $$", "288894\n600\n" },
    { "head -c 200000 /dev/zero | tr '\\\\0' x", "200000\n600\n" },
  };
  g_autofree char *last = NULL;

  tools_bind (f);
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autofree char *path = kept_path (f, rows[i].command);
      g_autofree char *look = g_strdup_printf ("{\"command\":\"cat %s | wc -c; stat -c %%a %s\"}", path, path);
      g_autofree char *said = tools_text (f, "shell", look);
      g_assert_cmpstr (said, ==, rows[i].size);
      g_free (last);
      last = g_steal_pointer (&path);
    }
  if (f->sandboxed)
    return;
  /* On the host they go with the composition. */
  g_object_unref (f->composition);
  f->composition = prism_composition_new (PRISM_COMPOSITION_MODE_HOST);
  g_assert_false (g_file_test (last, G_FILE_TEST_EXISTS));
  *strrchr (last, '/') = '\0';
  g_assert_false (g_file_test (last, G_FILE_TEST_EXISTS));
}

/* Of what fails, and of what is shown in full, nothing is kept. */
static void
test_none (ToolsFixture *f, gconstpointer data)
{
  static const struct
  {
    const char *arguments, *says;
  } rows[] = {
    { "{\"command\":\"seq 1 20000; sleep 60\",\"timeout\":1}", "TIMEOUT" },
    { "{\"command\":\"seq 1 1000000; sleep 60\"}", "LIMIT: ended: it wrote more than 524288" },
    { "{\"command\":\"seq 1 1000000\"}", "LIMIT: ended: it wrote more than 524288" },
    { "{\"command\":\"seq 1 3\"}", "1\n2\n3\n" },
    { "{\"command\":\"ls /tmp | grep -c ^prism-.*log$\"}", "0\n" },
  };

  g_assert_true (prism_composition_set_limit (f->composition, "output-total-bytes", 524288, NULL));
  tools_bind (f);
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (PrismToolResult) result = tools_call (f, "shell", rows[i].arguments);
      g_autofree char *text = tools_text (f, "shell", rows[i].arguments);

      if (!g_str_has_prefix (text, rows[i].says)
          || strstr (prism_tool_result_get_metadata (result), "fullOutputPath") != NULL)
        g_error ("%s: %.300s %s", rows[i].arguments, text, prism_tool_result_get_metadata (result));
    }
}

/* What cannot be kept fails, and says how the command ended. */
static void
test_not_kept (ToolsFixture *f, gconstpointer data)
{
  g_autoptr (PrismToolResult) result = NULL;
  g_autofree char *text = NULL;

  if (!f->sandboxed)
    return;
  tools_limit_files (f, 65536);
  tools_bind (f);
  result = tools_call (f, "shell", "{\"command\":\"seq 1 50000\"}");
  g_assert_true (prism_tool_result_get_failed (result));
  g_assert_nonnull (strstr (prism_tool_result_get_message (result), "its whole output cannot be kept"));
  g_assert_nonnull (strstr (prism_tool_result_get_metadata (result), "\"outputStorageFailed\":true"));
  g_assert_nonnull (strstr (prism_tool_result_get_metadata (result), "\"exitCode\":0"));
  text = prism_tool_result_dup_text (result);
  g_assert_nonnull (strstr (text, "\n50000\n"));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  tools_add_test ("/tools/spill/kept", test_kept);
  tools_add_test ("/tools/spill/none", test_none);
  tools_add_test ("/tools/spill/not-kept", test_not_kept);
  return g_test_run ();
}
