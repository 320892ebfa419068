/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-e2b-reference.h"

#include <string.h>

#include "prism-e2b-rest.h"

#define MOST_LENGTH 8192

void
prism_e2b_reference_clear (PrismE2bReference *self)
{
  g_clear_pointer (&self->sandbox, g_free);
  g_clear_pointer (&self->fingerprint, g_free);
  g_clear_pointer (&self->workspace, g_free);
}

/* Members in this order, no blanks, base64 for URLs without its padding: the same text for
 * the same process, always. */
char *
prism_e2b_reference_format (const PrismE2bReference *self)
{
  JsonObject *object = json_object_new ();
  JsonNode *node = json_node_new (JSON_NODE_OBJECT);
  g_autoptr (GBytes) json = NULL;
  g_autofree char *code = NULL;
  gsize size;
  const guint8 *data;

  json_object_set_int_member (object, "v", 1);
  json_object_set_string_member (object, "sid", self->sandbox);
  json_object_set_int_member (object, "pid", self->pid);
  json_object_set_string_member (object, "fp", self->fingerprint);
  json_object_set_string_member (object, "ws", self->workspace);
  json_node_take_object (node, object);
  json = prism_e2b_json_to_bytes (node);
  data = g_bytes_get_data (json, &size);
  code = g_base64_encode (data, size);
  g_strdelimit (code, "+", '-');
  g_strdelimit (code, "/", '_');
  code[strcspn (code, "=")] = 0;
  return g_strconcat (PRISM_E2B_PROCESS_PREFIX, code, NULL);
}

gboolean
prism_e2b_reference_parse (const char *text, PrismE2bReference *self)
{
  g_autoptr (GBytes) bytes = NULL;
  g_autoptr (JsonNode) node = NULL;
  const char *sandbox, *fingerprint, *workspace;

  *self = (PrismE2bReference){ 0 };
  if (!g_str_has_prefix (text, PRISM_E2B_PROCESS_PREFIX) || strlen (text) > MOST_LENGTH)
    return FALSE;
  text += strlen (PRISM_E2B_PROCESS_PREFIX);
  bytes = prism_e2b_base64_decode (text, strlen (text));
  node = bytes != NULL && g_bytes_get_size (bytes) > 0 ? prism_http_json_parse (bytes, NULL) : NULL;
  sandbox = prism_http_json_text (prism_http_json_get (node, "sid", NULL));
  fingerprint = prism_http_json_text (prism_http_json_get (node, "fp", NULL));
  workspace = prism_http_json_text (prism_http_json_get (node, "ws", NULL));
  self->pid = prism_http_json_number (prism_http_json_get (node, "pid", NULL), 0);
  if (prism_http_json_number (prism_http_json_get (node, "v", NULL), 0) != 1 || !prism_e2b_id_is_valid (sandbox)
      || fingerprint == NULL || workspace == NULL || self->pid < 1 || self->pid > G_MAXUINT32)
    return FALSE;
  self->sandbox = g_strdup (sandbox);
  self->fingerprint = g_strdup (fingerprint);
  self->workspace = g_strdup (workspace);
  return TRUE;
}
