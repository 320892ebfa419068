/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The parts of the program that touch nothing: JSON as bytes, names, and which
 * folders are handed out without being named. */
#include "prism-cli-json.h"
#include "prism-cli-names.h"
#include "prism-cli-workspace.h"

#include <string.h>

static void
test_json_text (void)
{
  static const struct
  {
    const char *data;
    gsize length;
    const char *expected;
    gboolean is_text;
  } rows[] = {
    { "", 0, "\"\"", TRUE },
    { "a\"b\\", 4, "\"a\\\"b\\\\\"", TRUE },
    { "\0\n\t\r\b\f", 6, "\"\\u0000\\n\\t\\r\\b\\f\"", TRUE },
    { "\x1b\x7f\xc2\x9b", 4, "\"\\u001b\\u007f\\u009b\"", TRUE },
    { "\xc3\xa9\xf0\x9f\x9a\x80", 6, "\"\xc3\xa9\xf0\x9f\x9a\x80\"", TRUE },
    { "a\xff\xfe"
      "b",
      4,
      "\"a\xef\xbf\xbd\xef\xbf\xbd"
      "b\"",
      FALSE },
    { "\xc3", 1, "\"\xef\xbf\xbd\"", FALSE },
    { "\0\xff\0", 3, "\"\\u0000\xef\xbf\xbd\\u0000\"", FALSE },
    { "\xed\xa0\x80", 3, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"", FALSE },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (PrismJson) json = prism_json_new ();

      prism_json_bytes (json, NULL, rows[i].data, rows[i].length);
      g_assert_cmpstr (json->text->str, ==, rows[i].expected);
      g_assert_cmpint (prism_json_is_text (rows[i].data, rows[i].length), ==, rows[i].is_text);
    }
}

static void
test_json_shape (void)
{
  g_autoptr (PrismJson) json = prism_json_new ();

  prism_json_begin_object (json, NULL);
  prism_json_integer (json, "n", -5);
  prism_json_double (json, "d", 0.5);
  prism_json_boolean (json, "b", TRUE);
  prism_json_string (json, "s", NULL);
  prism_json_begin_array (json, "empty");
  prism_json_end_array (json);
  prism_json_strv (json, "list", (const char *const[]){ "x", "y", NULL });
  prism_json_begin_object (json, "o");
  prism_json_end_object (json);
  prism_json_end_object (json);
  g_strdelimit (json->text->str, "\n", ' ');
  g_assert_cmpstr (json->text->str, ==,
                   "{   \"n\": -5,   \"d\": 0.500,   \"b\": true,   \"s\": null,   \"empty\": [],   \"list\": [     "
                   "\"x\",     \"y\"   ],   \"o\": {} }");
}

static void
test_names (void)
{
  g_autoptr (GError) error = g_error_new_literal (PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_NOT_EXECUTABLE, "");
  g_autoptr (GError) foreign = g_error_new_literal (G_MARKUP_ERROR, 3, "");
  g_autofree char *code = prism_cli_error_code (error);
  g_autofree char *number = prism_cli_error_code (foreign);
  guint flags = 0;
  int value;

  g_assert_cmpstr (code, ==, "not_executable");
  g_assert_cmpstr (number, ==, "3");
  g_assert_true (prism_cli_parse_enum (PRISM_TYPE_WORKSPACE_MODE, "copy", &value, NULL));
  g_assert_cmpint (value, ==, PRISM_WORKSPACE_MODE_COPY);
  g_assert_false (prism_cli_parse_enum (PRISM_TYPE_WORKSPACE_MODE, "Copy", &value, NULL));
  g_assert_true (prism_cli_parse_flags (PRISM_TYPE_CONTROLS, "network, egress", &flags, NULL));
  g_assert_cmpuint (flags, ==, PRISM_CONTROLS_NETWORK | PRISM_CONTROLS_EGRESS);
  g_assert_false (prism_cli_parse_flags (PRISM_TYPE_CONTROLS, "network,", &flags, NULL));
  g_assert_false (prism_cli_parse_flags (PRISM_TYPE_CONTROLS, "none", &flags, NULL));
}

static void
test_workspace (void)
{
  static const char *const homes[] = { "/srv/people/ann", NULL };
  static const char *const refused[] = { "/",    "/root",    "/home", "/home/bob",      "/srv/people/ann",
                                         "/usr", "/etc",     "/proc", "/usr/local/src", "/tmp",
                                         "/var", "/var/lib", "/run",  "/opt",           "/lib64" };
  static const char *const fine[] = {
    "/home/bob/project", "/root/project", "/srv/people/ann/x", "/srv/people", "/tmp/x", "/var/lib/x", "/opt/x",
    "/usrlocal",         "/workspace",    "/mnt/disk",         "/etcetera"
  };

  for (guint i = 0; i < G_N_ELEMENTS (refused); i++)
    g_assert_nonnull (prism_cli_workspace_objection (refused[i], homes));
  for (guint i = 0; i < G_N_ELEMENTS (fine); i++)
    g_assert_null (prism_cli_workspace_objection (fine[i], homes));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);

  g_test_add_func ("/cli/json/text", test_json_text);
  g_test_add_func ("/cli/json/shape", test_json_shape);
  g_test_add_func ("/cli/names", test_names);
  g_test_add_func ("/cli/workspace", test_workspace);

  return g_test_run ();
}
