/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a model may send: every tool's schema against any JSON, and names that come back as they
 * went out. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "prism-json-private.h"
#include "prism-tool-run-private.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

static void
check_kinds (const PrismToolKind *kinds, JsonNode *node)
{
  for (; kinds->name != NULL; kinds++)
    {
      g_autoptr (JsonNode) schema = json_from_string (kinds->schema, NULL);
      g_autoptr (JsonNode) copy = json_node_copy (node);
      g_autoptr (GError) error = NULL;

      if (kinds->accept != NULL)
        kinds->accept (json_node_get_object (copy));
      if (!prism_tool_schema_check (json_node_get_object (schema), json_node_get_object (copy), &error)
          && (error == NULL || !g_utf8_validate (error->message, -1, NULL)))
        abort ();
    }
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  const PrismJsonFaults faults = { PRISM_TOOL_ERROR, PRISM_TOOL_ERROR_INVALID, "arguments" };
  g_autofree char *name = g_strndup ((const char *)data, MIN (size, 4096));
  g_autofree char *shown = prism_tool_escape (name);
  g_autofree char *back = prism_tool_unescape (shown, NULL);
  g_autoptr (JsonNode) node = prism_json_parse ((const char *)data, size, &faults, NULL);

  if (!g_utf8_validate (shown, -1, NULL) || g_strcmp0 (back, name) != 0)
    abort ();
  if (node != NULL && JSON_NODE_HOLDS_OBJECT (node))
    {
      check_kinds (prism_tool_kinds, node);
      check_kinds (prism_tool_git_kinds, node);
      check_kinds (prism_tool_other_kinds, node);
      check_kinds (prism_tool_alias_kinds, node);
    }
  return 0;
}
