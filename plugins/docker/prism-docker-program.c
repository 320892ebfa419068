/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-docker-program.h"

#include <libprism/prism.h>
#include <string.h>

#include "prism-docker-cli.h"
#include "prism-docker-names.h"
#include "prism-docker-options.h"

#define LOOK_US (G_USEC_PER_SEC / 20)

/* Of no bytes there is no address. */
char *
prism_docker_dup_text (GBytes *bytes)
{
  gsize size = g_bytes_get_size (bytes);
  return size > 0 ? g_strndup (g_bytes_get_data (bytes, NULL), size) : g_strdup ("");
}

GBytes *
prism_docker_program_run (const PrismDockerProgram *self, const char *what, GError **error, ...)
{
  g_autoptr (GPtrArray) argv = g_ptr_array_new ();
  const char *word;
  va_list words;

  va_start (words, error);
  while ((word = va_arg (words, const char *)) != NULL)
    g_ptr_array_add (argv, (gpointer)word);
  va_end (words);
  g_ptr_array_add (argv, NULL);
  return prism_docker_cli_run (self->path, (const char *const *)argv->pdata, what, self->deadline, self->cancellable,
                               error);
}

JsonNode *
prism_docker_program_take_json (const char *what, GBytes *bytes, GError **error)
{
  g_autoptr (GBytes) owned = bytes;
  g_autoptr (GError) failure = NULL;
  g_autoptr (JsonNode) root = bytes != NULL ? prism_http_json_parse (bytes, &failure) : NULL;
  JsonArray *array = prism_http_json_array (root);

  if (bytes == NULL)
    return NULL;
  if (array != NULL && json_array_get_length (array) == 1)
    return json_node_ref (json_array_get_element (array, 0));
  if (root != NULL)
    return g_steal_pointer (&root);
  g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_CLI, "docker: %s: %s", what, failure->message);
  return NULL;
}

gboolean
prism_docker_program_do (
    const PrismDockerProgram *self, const char *what, const char *verb, const char *name, GError **error)
{
  g_autoptr (GBytes) bytes = prism_docker_program_run (self, what, error, verb, name, NULL);
  return bytes != NULL;
}

static JsonNode *
inspect (const PrismDockerProgram *self, const char *container)
{
  return prism_docker_program_take_json (
      "looking at the container",
      prism_docker_program_run (self, "looking at the container", NULL, "container", "inspect", container, NULL), NULL);
}

/* In the API's form: what `inspect` says of one has the same under other names. */
static void
add_inspected (JsonBuilder *list, JsonNode *container)
{
  JsonNode *labels = prism_http_json_get (container, "Config", "Labels", NULL);
  const char *id = prism_http_json_text (prism_http_json_get (container, "Id", NULL));
  const char *state = prism_http_json_text (prism_http_json_get (container, "State", "Status", NULL));

  if (id == NULL || state == NULL || prism_http_json_object (labels) == NULL)
    return;
  json_builder_begin_object (list);
  json_builder_set_member_name (list, "Id");
  json_builder_add_string_value (list, id);
  json_builder_set_member_name (list, "State");
  json_builder_add_string_value (list, state);
  json_builder_set_member_name (list, "Labels");
  json_builder_add_value (list, json_node_copy (labels));
  json_builder_end_object (list);
}

JsonNode *
prism_docker_program_list (const PrismDockerProgram *self, GError **error)
{
  g_autoptr (GBytes) bytes =
      prism_docker_program_run (self, "listing the sandboxes", error, "ps", "--all", "--quiet", "--no-trunc",
                                "--filter", "label=" PRISM_DOCKER_LABEL "=1", NULL);
  g_autofree char *text = bytes != NULL ? prism_docker_dup_text (bytes) : NULL;
  g_auto (GStrv) ids = text != NULL ? g_strsplit (text, "\n", -1) : NULL;
  g_autoptr (JsonBuilder) list = json_builder_new ();

  if (bytes == NULL)
    return NULL;
  json_builder_begin_array (list);
  for (guint i = 0; ids[i] != NULL; i++)
    {
      /* One may have ended meanwhile. */
      g_autoptr (JsonNode) container = prism_docker_is_container_id (ids[i]) ? inspect (self, ids[i]) : NULL;
      if (container != NULL)
        add_inspected (list, container);
    }
  json_builder_end_array (list);
  return json_builder_get_root (list);
}

/* The program's answer is the id, in a line. */
char *
prism_docker_program_create (const PrismDockerProgram *self, const char *const *argv, GError **error)
{
  g_autoptr (GBytes) bytes =
      prism_docker_cli_run (self->path, argv, "making the container", self->deadline, self->cancellable, error);
  g_autofree char *text = bytes != NULL ? g_strstrip (prism_docker_dup_text (bytes)) : NULL;

  if (text == NULL || prism_docker_is_container_id (text))
    return g_steal_pointer (&text);
  g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_CLI,
               "docker: making the container: %s names no container in its answer", self->path);
  return NULL;
}

/* A failure to find is told from another by asking whether it is there: the program's words
 * are for people. */
static gboolean
is_there (const PrismDockerProgram *self, const char *container)
{
  g_autoptr (JsonNode) found = inspect (self, container);
  return found != NULL;
}

gboolean
prism_docker_program_remove (const PrismDockerProgram *self, const char *container, GError **error)
{
  g_autoptr (GError) failure = NULL;
  g_autoptr (GBytes) bytes = prism_docker_program_run (self, "removing the container", &failure, "rm", "--force",
                                                       "--volumes", container, NULL);

  /* Two may remove it at once. */
  while (is_there (self, container))
    {
      if (g_get_monotonic_time () + LOOK_US > self->deadline)
        {
          if (failure != NULL)
            g_propagate_error (error, g_steal_pointer (&failure));
          else
            g_set_error_literal (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_TIMEOUT,
                                 "docker: removing the container: it is still there");
          return FALSE;
        }
      g_usleep (LOOK_US);
    }
  if (bytes != NULL || prism_docker_program_do (self, "looking for it", "version", "--format={{.Client}}", NULL))
    return TRUE;
  /* It is not there because nothing is. */
  g_propagate_error (error, g_steal_pointer (&failure));
  return FALSE;
}
