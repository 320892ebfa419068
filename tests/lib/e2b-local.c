/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "e2b-local.h"

#include <json-glib/json-glib.h>
#include <libsoup/soup.h>
#include <string.h>

struct _E2bLocal
{
  GSubprocess *process;
  SoupSession *session;
  char *url;
  char *folder;
};

E2bLocal *
e2b_local_new (const char *const *options)
{
  E2bLocal *self = g_new0 (E2bLocal, 1);
  g_autofree char *script = g_build_filename (g_getenv ("PRISM_SOURCE_ROOT"), "tests", "lib", "e2b-server.mjs", NULL);
  g_autoptr (GPtrArray) argv = g_ptr_array_new ();
  g_autoptr (GDataInputStream) lines = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *line = NULL;

  g_ptr_array_add (argv, (gpointer) "node");
  g_ptr_array_add (argv, script);
  for (gsize i = 0; options != NULL && options[i] != NULL; i++)
    g_ptr_array_add (argv, (gpointer)options[i]);
  g_ptr_array_add (argv, NULL);
  /* Its input ends with this process, and it with its input. */
  self->process = g_subprocess_newv ((const char *const *)argv->pdata,
                                     G_SUBPROCESS_FLAGS_STDIN_PIPE | G_SUBPROCESS_FLAGS_STDOUT_PIPE, &error);
  g_assert_no_error (error);
  lines = g_data_input_stream_new (g_subprocess_get_stdout_pipe (self->process));
  g_filter_input_stream_set_close_base_stream (G_FILTER_INPUT_STREAM (lines), FALSE);
  line = g_data_input_stream_read_line (lines, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_nonnull (line);
  g_assert_true (g_str_has_prefix (line, "listening "));
  self->url = g_strconcat (options == NULL ? "http" : "https", "://127.0.0.1:", line + strlen ("listening "), NULL);
  self->folder = g_dir_make_tmp ("e2b-XXXXXX", &error);
  g_assert_no_error (error);
  self->session = soup_session_new ();
  return self;
}

void
e2b_local_free (E2bLocal *self)
{
  const char *argv[] = { "rm", "-rf", "--", self->folder, NULL };

  g_output_stream_close (g_subprocess_get_stdin_pipe (self->process), NULL, NULL);
  g_subprocess_wait (self->process, NULL, NULL);
  g_object_unref (self->process);
  g_object_unref (self->session);
  g_spawn_sync (NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL, NULL, NULL);
  g_free (self->folder);
  g_free (self->url);
  g_free (self);
}

const char *
e2b_local_get_url (E2bLocal *self)
{
  return self->url;
}

const char *
e2b_local_get_folder (E2bLocal *self)
{
  return self->folder;
}

static char *
ask (E2bLocal *self, const char *method, const char *path, const char *body)
{
  g_autofree char *uri = g_strconcat (self->url, path, NULL);
  g_autoptr (SoupMessage) message = soup_message_new (method, uri);
  g_autoptr (GBytes) bytes = body != NULL ? g_bytes_new (body, strlen (body)) : NULL;
  g_autoptr (GError) error = NULL;
  g_autoptr (GBytes) answer = NULL;

  if (bytes != NULL)
    soup_message_set_request_body_from_bytes (message, "application/json", bytes);
  answer = soup_session_send_and_read (self->session, message, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (soup_message_get_status (message) / 100, ==, 2);
  return g_strndup (g_bytes_get_data (answer, NULL), g_bytes_get_size (answer));
}

static JsonNode *
get_counts (E2bLocal *self)
{
  g_autofree char *text = ask (self, "GET", "/counts", NULL);
  JsonNode *node = json_from_string (text, NULL);

  g_assert_nonnull (node);
  return node;
}

void
e2b_local_set_faults (E2bLocal *self, const char *json)
{
  g_free (ask (self, "PUT", "/faults", json));
}

gint64
e2b_local_count (E2bLocal *self, const char *name)
{
  g_autoptr (JsonNode) node = get_counts (self);
  return json_object_get_int_member_with_default (json_node_get_object (node), name, -1);
}

gint64
e2b_local_asked (E2bLocal *self, const char *method_and_path)
{
  g_autoptr (JsonNode) node = get_counts (self);
  JsonObject *requests = json_object_get_object_member (json_node_get_object (node), "requests");
  return json_object_get_int_member_with_default (requests, method_and_path, 0);
}

guint
e2b_local_count_entries (const char *folder)
{
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  guint n = 0;

  while (g_dir_read_name (dir) != NULL)
    n++;
  return n;
}

PrismBackend *
e2b_local_new_backend (E2bLocal *self)
{
  g_autoptr (GError) error = NULL;
  PrismBackend *backend = prism_registry_create_backend (prism_registry_get_default (), "e2b", &error);

  g_assert_no_error (error);
  g_object_set (backend, "api-key", E2B_LOCAL_KEY, "api-url", self->url, "sandbox-url", self->url, NULL);
  return backend;
}

PrismSandboxSpec *
e2b_local_new_spec (E2bLocal *self)
{
  PrismSandboxSpec *spec = prism_sandbox_spec_new (NULL);

  g_object_set (spec, "sandbox-path", self->folder, NULL);
  return spec;
}
