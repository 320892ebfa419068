/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An action in hashes and in words. */
#include <string.h>

#include "prism-action-private.h"

static PrismAction *
make_action (const char *command)
{
  PrismAction *action = prism_action_new ("shell", "execute");

  prism_action_set_command (action, command);
  prism_action_set_directory (action, "/w");
  prism_action_set_identity (action, "run-1", "session-1", "box");
  return action;
}

static void
test_keys (void)
{
  const char *const paths[] = { "/w", NULL }, *const file[] = { "/w/a.txt", NULL };
  g_autoptr (PrismAction) shell = prism_action_new ("shell", "execute");
  g_autoptr (PrismAction) write = prism_action_new ("write", "write");
  g_autofree char *first = NULL;
  g_autofree char *second = NULL;

  prism_action_set_paths (shell, paths);
  prism_action_set_command (shell, "npm test");
  prism_action_set_paths (write, file);
  first = prism_action_dup_key (shell, "run", "run-1", NULL);
  second = prism_action_dup_key (write, "session", "s1", NULL);
  g_assert_cmpstr (first, ==, "2891c67b112b4d0d1361c341ea13c053002f9771fa868403b5c04940934bd3c1");
  g_assert_cmpstr (second, ==, "fb0b18a9326ccdc1513ef9187edd69a3b4bf1229c5d4cd34c6aff41966987a85");
}

static void
test_digests (void)
{
  static const char *const changes[] = { "command", "directory", "summary", "sandbox-id", "tree-root", "workspace" };
  g_autoptr (GHashTable) seen = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  const char *const argv[] = { "a", "", NULL }, *const env[] = { "A=1", NULL };
  g_autoptr (GBytes) bytes = g_bytes_new_static ("x", 1);

  for (guint i = 0; i < G_N_ELEMENTS (changes) + 4; i++)
    {
      g_autoptr (PrismAction) action = make_action ("a");

      if (i < G_N_ELEMENTS (changes))
        g_object_set (action, changes[i], "other", NULL);
      else if (i == G_N_ELEMENTS (changes))
        prism_action_set_argv (action, argv);
      else if (i == G_N_ELEMENTS (changes) + 1)
        prism_action_set_env (action, env);
      else if (i == G_N_ELEMENTS (changes) + 2)
        prism_action_set_arguments (action, bytes);
      g_hash_table_add (seen, prism_action_dup_digest (action));
    }
  g_assert_cmpuint (g_hash_table_size (seen), ==, G_N_ELEMENTS (changes) + 4);
}

static void
test_visible (void)
{
  static const struct
  {
    const char *text, *shown;
  } rows[] = {
    { "plain text, \303\244 \346\274\242", "plain text, \303\244 \346\274\242" },
    { "\033[2K\033]0;x\a", "\\x1b[2K\\x1b]0;x\\x07" },
    { "a\rb\nc\td", "a\\rb\\nc\\td" },
    { "\342\200\256gnp", "\\u{202e}gnp" },
    { "\342\201\246x\342\201\251", "\\u{2066}x\\u{2069}" },
    { "\363\240\204\200", "\\u{e0100}" },
    { "\360\235\205\263", "\\u{1d173}" },
    { "\343\205\244", "\\u{3164}" },
    { "\342\240\200", "\\u{2800}" },
    { "\302\240", "\\u{a0}" },
    { "\302\205", "\\u{85}" },
    { "\377\376", "\\xff\\xfe" },
    { "a                    b", "a[20 spaces]b" },
    { "\n\n\n\n\n\n\n\n\n\n", "[10 line ends]" },
    { "e\314\201\314\201\314\201", "e\314\201\314\201\\u{301}" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      gboolean changed = FALSE;
      g_autofree char *shown = prism_visible_text (rows[i].text, 0, &changed);

      g_assert_cmpstr (shown, ==, rows[i].shown);
      g_assert_cmpint (changed, ==, !g_str_equal (rows[i].text, rows[i].shown));
    }
}

static void
test_folded (void)
{
  g_autoptr (GString) text = g_string_new ("begin");
  g_autofree char *shown = NULL;

  for (guint i = 0; i < 5000; i++)
    g_string_append (text, "xy");
  g_string_append (text, "rm -rf it");
  shown = prism_visible_text (text->str, 100, NULL);
  g_assert_true (g_str_has_prefix (shown, "begin"));
  g_assert_true (g_str_has_suffix (shown, "rm -rf it"));
  g_assert_nonnull (strstr (shown, "characters left out"));
  g_assert_cmpuint (strlen (shown), <, 200);
}

/* What a known kind changes can be said to be more, and not less. */
static void
test_effects (void)
{
  g_autoptr (PrismAction) shell = prism_action_new ("shell", "execute");
  g_autoptr (PrismAction) read = prism_action_new ("read", "read");

  prism_action_set_effect (shell, PRISM_EFFECT_NONE);
  prism_action_set_effect (read, PRISM_EFFECT_LOCAL_MUTATION);
  g_assert_cmpint (prism_action_get_effect (shell), ==, PRISM_EFFECT_EXTERNAL_MUTATION);
  g_assert_cmpint (prism_action_get_effect (read), ==, PRISM_EFFECT_LOCAL_MUTATION);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/action/keys", test_keys);
  g_test_add_func ("/action/digests", test_digests);
  g_test_add_func ("/action/visible", test_visible);
  g_test_add_func ("/action/folded", test_folded);
  g_test_add_func ("/action/effects", test_effects);
  return g_test_run ();
}
