/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-e2b-rest.h"

#include <string.h>

#define MOST_ID     128
#define MOST_TOKEN  4096
#define MOST_DOMAIN 253

void
prism_e2b_identity_clear (PrismE2bIdentity *self)
{
  g_clear_pointer (&self->id, g_free);
  g_clear_pointer (&self->template_id, g_free);
  g_clear_pointer (&self->envd_version, g_free);
  g_clear_pointer (&self->access_token, g_free);
  g_clear_pointer (&self->domain, g_free);
}

void
prism_e2b_identity_copy (const PrismE2bIdentity *self, PrismE2bIdentity *copy)
{
  *copy = (PrismE2bIdentity){ g_strdup (self->id), g_strdup (self->template_id), g_strdup (self->envd_version),
                              g_strdup (self->access_token), g_strdup (self->domain) };
}

void
prism_e2b_detail_clear (PrismE2bDetail *self)
{
  g_clear_pointer (&self->id, g_free);
  g_clear_pointer (&self->template_id, g_free);
  g_clear_pointer (&self->labels, g_strfreev);
}

static gboolean
broke (GError **error, const char *what)
{
  g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_LOST,
               "the answer is none of this service's: %s; check the properties domain and api-url", what);
  return FALSE;
}

/* --- grammars -------------------------------------------------------------------------------- */

/* It becomes a label of a host name and a part of a path. The old form had a hyphen. */
gboolean
prism_e2b_id_is_valid (const char *id)
{
  gsize length = id != NULL ? strlen (id) : 0;

  return length > 0 && length <= MOST_ID && id[0] != '-'
         && strspn (id, "abcdefghijklmnopqrstuvwxyz0123456789-") == length;
}

gboolean
prism_e2b_template_is_valid (const char *name)
{
  gsize length = name != NULL ? strlen (name) : 0;

  if (length == 0 || length > MOST_ID || !g_utf8_validate (name, -1, NULL))
    return FALSE;
  for (const char *p = name; *p != 0; p = g_utf8_next_char (p))
    if (g_unichar_isspace (g_utf8_get_char (p)) || !g_unichar_isprint (g_utf8_get_char (p)))
      return FALSE;
  return TRUE;
}

static gboolean
is_token (const char *text)
{
  gsize length = strlen (text);

  for (gsize i = 0; i < length; i++)
    if (!g_ascii_isgraph (text[i]))
      return FALSE;
  return length > 0 && length <= MOST_TOKEN;
}

static gboolean
is_domain (const char *text)
{
  gsize length = strlen (text);

  return length > 0 && length <= MOST_DOMAIN && text[0] != '.' && text[0] != '-' && strstr (text, "..") == NULL
         && strspn (text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-") == length;
}

gboolean
prism_e2b_page_token_is_valid (const char *token)
{
  return is_token (token);
}

/* --- what is asked ------------------------------------------------------------------------------ */

static GBytes *
finish (JsonObject *object)
{
  JsonNode *node = json_node_new (JSON_NODE_OBJECT);

  json_node_take_object (node, object);
  return prism_e2b_json_to_bytes (node);
}

/* The time is spelled out, auto-resume too: what is left out is for the server to choose. */
GBytes *
prism_e2b_create_new (const PrismE2bCreate *create, GError **error)
{
  g_autoptr (JsonObject) root = json_object_new ();
  JsonObject *metadata, *env, *resume = json_object_new ();

  json_object_set_boolean_member (resume, "enabled", FALSE);
  json_object_set_object_member (root, "autoResume", resume);
  if (!prism_e2b_template_is_valid (create->template_name))
    {
      g_set_error_literal (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_INVALID,
                           "the template's name is empty, too long, or has blanks in it");
      return NULL;
    }
  json_object_set_string_member (root, "templateID", create->template_name);
  json_object_set_int_member (root, "timeout", create->timeout_s);
  json_object_set_boolean_member (root, "secure", TRUE);
  json_object_set_boolean_member (root, "autoPause", create->pause_at_end);
  if (create->pause_at_end)
    json_object_set_boolean_member (root, "autoPauseMemory", create->keep_memory);
  metadata = prism_e2b_json_new_map (create->labels, "the labels", error);
  if (metadata == NULL)
    return NULL;
  json_object_set_object_member (root, "metadata", metadata);
  json_object_set_string_member (metadata, PRISM_E2B_LABEL_SANDBOX, "1");
  json_object_set_string_member (metadata, PRISM_E2B_LABEL_ID, create->own_id);
  if (create->host != NULL)
    json_object_set_string_member (metadata, PRISM_E2B_LABEL_HOST, create->host);
  if (create->workspace != NULL
      && !prism_e2b_json_set_text (metadata, PRISM_E2B_LABEL_WORKSPACE, create->workspace, "the sandbox-path", error))
    return NULL;
  if (create->lifetime != NULL)
    json_object_set_string_member (metadata, PRISM_E2B_LABEL_LIFETIME, create->lifetime);
  env = prism_e2b_json_new_map (create->env, "the environment", error);
  if (env == NULL)
    return NULL;
  json_object_set_object_member (root, "envVars", env);
  prism_e2b_network_add_to_create (create->network, root);
  return finish (g_steal_pointer (&root));
}

GBytes *
prism_e2b_timeout_new (gint64 seconds)
{
  JsonObject *root = json_object_new ();

  json_object_set_int_member (root, "timeout", seconds);
  return finish (root);
}

GBytes *
prism_e2b_pause_new (gboolean keep_memory)
{
  JsonObject *root = json_object_new ();

  json_object_set_boolean_member (root, "memory", keep_memory);
  return finish (root);
}

/* The service decodes three times: a query's value, in it a form, in that each key and value. */
char *
prism_e2b_list_path (const char *key, const char *value, const char *token)
{
  g_autofree char *key1 = g_uri_escape_string (key, NULL, FALSE);
  g_autofree char *value1 = g_uri_escape_string (value, NULL, FALSE);
  g_autofree char *key2 = g_uri_escape_string (key1, NULL, FALSE);
  g_autofree char *value2 = g_uri_escape_string (value1, NULL, FALSE);
  g_autofree char *form = g_strconcat (key2, "=", value2, NULL);
  g_autofree char *form3 = g_uri_escape_string (form, NULL, FALSE);
  g_autofree char *token3 = token != NULL ? g_uri_escape_string (token, NULL, FALSE) : NULL;

  return g_strconcat ("/v2/sandboxes?metadata=", form3, "&state=running,paused&limit=100",
                      token3 != NULL ? "&nextToken=" : NULL, token3, NULL);
}

char *
prism_e2b_files_path (const char *path, const char *user)
{
  g_autofree char *escaped = g_uri_escape_string (path, NULL, FALSE);
  g_autofree char *name = user != NULL ? g_uri_escape_string (user, NULL, FALSE) : NULL;

  return g_strconcat ("/files?path=", escaped, name != NULL ? "&username=" : NULL, name, NULL);
}

GBytes *
prism_e2b_path_new (const char *path, gint64 depth, GError **error)
{
  g_autoptr (JsonObject) root = json_object_new ();

  if (!prism_e2b_json_set_text (root, "path", path, "the path", error))
    return NULL;
  if (depth > 0)
    json_object_set_int_member (root, "depth", depth);
  return finish (g_steal_pointer (&root));
}

GBytes *
prism_e2b_move_new (const char *source, const char *destination, GError **error)
{
  g_autoptr (JsonObject) root = json_object_new ();

  if (!prism_e2b_json_set_text (root, "source", source, "the path", error)
      || !prism_e2b_json_set_text (root, "destination", destination, "the destination", error))
    return NULL;
  return finish (g_steal_pointer (&root));
}

/* --- what is answered ------------------------------------------------------------------------------ */

static const char *
text_of (JsonNode *node, const char *name)
{
  return prism_http_json_text (prism_http_json_get (node, name, NULL));
}

gboolean
prism_e2b_identity_read (JsonNode *node, PrismE2bIdentity *self, GError **error)
{
  const char *id = text_of (node, "sandboxID"), *token = text_of (node, "envdAccessToken");
  const char *domain = text_of (node, "domain"), *version = text_of (node, "envdVersion");

  *self = (PrismE2bIdentity){ 0 };
  if (prism_http_json_object (node) == NULL)
    return broke (error, "no JSON object");
  if (!prism_e2b_id_is_valid (id))
    return broke (error, "no sandbox id that can be one");
  if (token != NULL && !is_token (token))
    return broke (error, "an access token that is none");
  if (domain != NULL && !is_domain (domain))
    return broke (error, "a domain that is none");
  self->id = g_strdup (id);
  self->template_id = g_strdup (text_of (node, "templateID"));
  self->envd_version = g_strdup (version != NULL && is_token (version) ? version : "0");
  self->access_token = g_strdup (token);
  self->domain = g_strdup (domain);
  return TRUE;
}

gboolean
prism_e2b_identity_parse (GBytes *body, PrismE2bIdentity *self, GError **error)
{
  g_autoptr (JsonNode) node = prism_http_json_parse (body, NULL);
  return prism_e2b_identity_read (node, self, error);
}

static int
compare_texts (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *)a, *(const char *const *)b);
}

static char **
parse_labels (JsonNode *node)
{
  JsonObject *metadata = prism_http_json_object (prism_http_json_get (node, "metadata", NULL));
  GPtrArray *labels = g_ptr_array_new ();
  JsonObjectIter iter;
  const char *name;
  JsonNode *value;

  if (metadata != NULL)
    {
      json_object_iter_init (&iter, metadata);
      while (json_object_iter_next (&iter, &name, &value))
        if (prism_http_json_text (value) != NULL)
          g_ptr_array_add (labels, g_strconcat (name, "=", prism_http_json_text (value), NULL));
    }
  g_ptr_array_sort (labels, compare_texts);
  g_ptr_array_add (labels, NULL);
  return (char **)g_ptr_array_free (labels, FALSE);
}

static gint64
parse_time (const char *text)
{
  g_autoptr (GDateTime) time = NULL;

  if (text == NULL || strlen (text) > 64 || (time = g_date_time_new_from_iso8601 (text, NULL)) == NULL)
    return 0;
  return g_date_time_to_unix (time) * G_USEC_PER_SEC + g_date_time_get_microsecond (time);
}

gboolean
prism_e2b_detail_parse (JsonNode *node, PrismE2bDetail *self, GError **error)
{
  const char *id = text_of (node, "sandboxID"), *state = text_of (node, "state");

  *self = (PrismE2bDetail){ .state = PRISM_E2B_STATE_UNKNOWN };
  if (!prism_e2b_id_is_valid (id))
    return broke (error, "no sandbox id that can be one");
  if (g_strcmp0 (state, "running") == 0)
    self->state = PRISM_E2B_STATE_RUNNING;
  else if (g_strcmp0 (state, "paused") == 0)
    self->state = PRISM_E2B_STATE_PAUSED;
  self->id = g_strdup (id);
  self->template_id = g_strdup (text_of (node, "templateID"));
  self->end_us = parse_time (text_of (node, "endAt"));
  self->labels = parse_labels (node);
  self->auto_resume = prism_http_json_flag (prism_http_json_get (node, "lifecycle", "autoResume", NULL));
  return TRUE;
}

static void
detail_free (gpointer data)
{
  prism_e2b_detail_clear (data);
  g_free (data);
}

GPtrArray *
prism_e2b_details_new (void)
{
  return g_ptr_array_new_with_free_func (detail_free);
}

gboolean
prism_e2b_details_parse (GBytes *body, GPtrArray *details, GError **error)
{
  g_autoptr (JsonNode) node = prism_http_json_parse (body, NULL);
  JsonArray *array = prism_http_json_array (node);

  if (array == NULL)
    return broke (error, "no list");
  if (json_array_get_length (array) > PRISM_E2B_MOST_LISTED - MIN (details->len, PRISM_E2B_MOST_LISTED))
    return broke (error, "more sandboxes than there can be");
  for (guint i = 0; i < json_array_get_length (array); i++)
    {
      PrismE2bDetail detail;

      if (!prism_e2b_detail_parse (json_array_get_element (array, i), &detail, error))
        return FALSE;
      g_ptr_array_add (details, g_memdup2 (&detail, sizeof detail));
    }
  return TRUE;
}

/* --- files -------------------------------------------------------------------------------------------- */

/* The server says of a link what it leads to, and that it is one by its target or its
 * permissions; what it has no word for is some other kind of file. */
static GFileType
parse_type (JsonNode *node)
{
  const char *type = prism_http_json_text (prism_e2b_json_get (node, "type"));
  const char *permissions = prism_http_json_text (prism_e2b_json_get (node, "permissions"));

  if (prism_http_json_text (prism_e2b_json_get (node, "symlinkTarget")) != NULL
      || g_strcmp0 (type, "FILE_TYPE_SYMLINK") == 0
      || (permissions != NULL && (permissions[0] == 'L' || permissions[0] == 'l')))
    return G_FILE_TYPE_SYMBOLIC_LINK;
  if (g_strcmp0 (type, "FILE_TYPE_FILE") == 0)
    return G_FILE_TYPE_REGULAR;
  if (g_strcmp0 (type, "FILE_TYPE_DIRECTORY") == 0)
    return G_FILE_TYPE_DIRECTORY;
  return G_FILE_TYPE_SPECIAL;
}

PrismFileEntry *
prism_e2b_entry_parse (JsonNode *node, GError **error)
{
  const char *path = prism_http_json_text (prism_e2b_json_get (node, "path"));
  gint64 size, mode;

  if (path == NULL || path[0] != '/' || strlen (path) > 4096)
    broke (error, "a file without a path");
  else if (!prism_e2b_json_int64 (prism_e2b_json_get (node, "size"), 0, &size) || size < 0
           || !prism_e2b_json_int64 (prism_e2b_json_get (node, "mode"), 0, &mode) || mode < 0 || mode > 07777777)
    broke (error, "a file whose size or mode is no number");
  else
    return prism_file_entry_new (path, parse_type (node), (guint64)size, (guint)mode & 07777,
                                 parse_time (prism_http_json_text (prism_e2b_json_get (node, "modifiedTime"))));
  return NULL;
}
