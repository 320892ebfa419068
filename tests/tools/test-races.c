/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A folder is a link that leads out, and is none, in turns as fast as can be, while every file
 * tool works below it. Nothing outside is ever read, written, moved or deleted. How often:
 * PRISM_TOOL_RACES (default 150; ./dev soak: 10,000). */
#include "tools-fixture.h"

#include <glib/gstdio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct
{
  const char *tool, *arguments;
} calls[] = {
  { "read", "{\"path\":\"dir/secret\"}" },
  { "write", "{\"path\":\"dir/secret\",\"content\":\"inside\\n\"}" },
  { "write", "{\"path\":\"dir/new/deep\",\"content\":\"inside\\n\"}" },
  { "edit", "{\"path\":\"dir/secret\",\"edits\":[{\"oldText\":\"s\",\"newText\":\"s \"}]}" },
  { "repo_list", "{\"path\":\"dir\"}" },
  { "repo_search", "{\"query\":\"OUTSIDE\",\"caseSensitive\":true}" },
  { "repo_search", "{\"query\":\"OUTSIDE\",\"path\":\"dir\",\"caseSensitive\":true}" },
  { "glob", "{\"pattern\":\"**/mark-outside*\"}" },
  { "move", "{\"from\":\"dir/secret\",\"to\":\"dir/moved\",\"overwrite\":true}" },
  { "move", "{\"from\":\"dir/moved\",\"to\":\"dir/secret\",\"overwrite\":true}" },
  { "move", "{\"from\":\"mine\",\"to\":\"dir/mine\",\"overwrite\":true}" },
  { "delete", "{\"path\":\"dir/secret\"}" },
  { "delete", "{\"path\":\"dir/new\",\"recursive\":true}" },
};

static void
check_outside (ToolsFixture *f)
{
  g_autofree char *secret = g_build_filename (f->outside, "secret", NULL);
  g_autofree char *text = NULL;
  g_autoptr (GDir) folder = g_dir_open (f->outside, 0, NULL);
  guint entries = 0;

  g_assert_true (g_file_get_contents (secret, &text, NULL, NULL));
  g_assert_cmpstr (text, ==, "OUTSIDE\n");
  while (g_dir_read_name (folder) != NULL)
    entries++;
  g_assert_cmpuint (entries, ==, 2);
}

static void
test_races (ToolsFixture *f, gconstpointer data)
{
  const char *often = g_getenv ("PRISM_TOOL_RACES");
  guint rounds = often != NULL ? (guint)atoi (often) : 150, inside = 0;
  ToolsSwapper swapper;
  g_autofree char *mark = g_build_filename (f->outside, "mark-outside", NULL);

  g_assert_true (g_file_set_contents (mark, "OUTSIDE\n", -1, NULL));
  tools_put (f, "dir/secret", "inside\n", -1);
  tools_link (f, "link", "../work-evil");
  tools_swapper_init (&swapper, f, "dir", "link");
  tools_bind (f);
  tools_swapper_begin (&swapper);
  for (guint i = 0; i < rounds; i++)
    for (guint k = 0; k < G_N_ELEMENTS (calls); k++)
      {
        g_autoptr (PrismToolResult) result = NULL;
        g_autofree char *text = NULL;

        if (k == 10)
          tools_put (f, "mine", "inside\n", -1);
        result = tools_call (f, calls[k].tool, calls[k].arguments);
        text = prism_tool_result_dup_text (result);
        g_assert_null (strstr (text, "OUTSIDE"));
        g_assert_null (strstr (text, "mark-outside"));
        inside += !prism_tool_result_get_failed (result);
      }
  tools_swapper_end (&swapper);
  check_outside (f);
  g_test_message ("%u calls, %u of them did something, %" G_GUINT64_FORMAT " swaps",
                  rounds * (guint)G_N_ELEMENTS (calls), inside, swapper.swaps);
  g_assert_cmpuint (inside, >, 0);
  tools_swapper_clear (&swapper);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  tools_add_test ("/tools/races", test_races);
  return g_test_run ();
}
