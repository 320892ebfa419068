/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a user types as a value, and what of a command's output goes into JSON. */
#include "prism-cli-json.h"
#include "prism-cli-names.h"
#include "prism-cli-property.h"
#include "prism-cli-workspace.h"

#include <json-glib/json-glib.h>
#include <string.h>

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

/* Any bytes become a document that a reader takes, of printable characters only. */
static void
check_json (const guint8 *data, gsize size)
{
  g_autoptr (PrismJson) json = prism_json_new ();
  g_autoptr (JsonParser) parser = json_parser_new ();
  g_autoptr (GError) error = NULL;
  JsonObject *object;

  prism_json_begin_object (json, NULL);
  prism_json_bytes (json, "value", (const char *)data, size);
  prism_json_boolean (json, "text", prism_json_is_text ((const char *)data, size));
  prism_json_end_object (json);
  for (gsize i = 0; i < json->text->len; i++)
    g_assert_true (json->text->str[i] == '\n' || (guchar)json->text->str[i] >= 0x20);
  json_parser_load_from_data (parser, json->text->str, (gssize)json->text->len, &error);
  g_assert_no_error (error);
  object = json_node_get_object (json_parser_get_root (parser));
  if (json_object_get_boolean_member (object, "text") && memchr (data, 0, size) == NULL)
    {
      const char *back = json_object_get_string_member (object, "value");
      g_assert_cmpmem (back, strlen (back), data, size);
    }
}

static void
check_value (GParamSpec *pspec, const char *text)
{
  g_auto (GValue) value = G_VALUE_INIT;
  g_autoptr (GError) error = NULL;

  g_param_spec_ref_sink (pspec);
  g_assert_cmpint (prism_cli_property_parse ("--set", pspec, text, &value, &error), ==, error == NULL);
  if (error != NULL)
    g_assert_true (g_utf8_validate (error->message, -1, NULL) || !g_utf8_validate (text, -1, NULL));
  g_param_spec_unref (pspec);
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  static const char *const homes[] = { "/home/user", "/root", NULL };
  g_autofree char *text = g_strndup ((const char *)data, size), *snake = prism_cli_nick_to_snake (text);
  int number;
  guint flags;

  check_json (data, size);
  check_value (g_param_spec_int ("x", "x", "x", -5, 5000, 0, G_PARAM_READWRITE), text);
  check_value (g_param_spec_uint ("x", "x", "x", 0, 5000, 0, G_PARAM_READWRITE), text);
  check_value (g_param_spec_int64 ("x", "x", "x", G_MININT64, G_MAXINT64, 0, G_PARAM_READWRITE), text);
  check_value (g_param_spec_uint64 ("x", "x", "x", 0, G_MAXUINT64, 0, G_PARAM_READWRITE), text);
  check_value (g_param_spec_boolean ("x", "x", "x", FALSE, G_PARAM_READWRITE), text);
  check_value (g_param_spec_string ("x", "x", "x", NULL, G_PARAM_READWRITE), text);
  check_value (g_param_spec_boxed ("x", "x", "x", G_TYPE_STRV, G_PARAM_READWRITE), text);
  check_value (g_param_spec_enum ("x", "x", "x", PRISM_TYPE_WORKSPACE_MODE, 0, G_PARAM_READWRITE), text);
  check_value (g_param_spec_flags ("x", "x", "x", PRISM_TYPE_CONTROLS, 0, G_PARAM_READWRITE), text);
  prism_cli_parse_enum (PRISM_TYPE_NETWORK_MODE, text, &number, NULL);
  prism_cli_parse_flags (PRISM_TYPE_CONTROLS, text, &flags, NULL);
  if (*text == '/')
    prism_cli_workspace_objection (text, homes);
  return 0;
}
