/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-docker-image.h"

#include <string.h>

#include "prism-docker-names.h"

#define DIGEST     "sha256:"
#define HEX_DIGITS 64
#define MOST_ENV   1024
#define MOST_VALUE (64 * 1024)

/* Ours whatever the image says. */
static const char *const ours[] = { "HOME", "USER", "LOGNAME", "TMPDIR", "HOSTNAME", "PWD", "OLDPWD", "SHLVL", NULL };
/* As the library has it for the caller's own variables. */
static const char *const dangerous[] = { "GCONV_PATH", "BASH_ENV", "ENV", NULL };

static gboolean
is_wanted (const char *entry, const char *const *allowed)
{
  const char *equals = strchr (entry, '=');
  g_autofree char *name = equals != NULL ? g_strndup (entry, (gsize)(equals - entry)) : NULL;

  if (name == NULL || *name == 0 || strlen (entry) > MOST_VALUE || g_ascii_isdigit (*name))
    return FALSE;
  for (const char *at = name; *at != 0; at++)
    if (!g_ascii_isalnum (*at) && *at != '_')
      return FALSE;
  if (g_strv_contains (ours, name))
    return FALSE;
  if (allowed != NULL && g_strv_contains (allowed, name))
    return TRUE;
  return !g_str_has_prefix (name, "LD_") && !g_strv_contains (dangerous, name);
}

static char **
take_env (JsonNode *list, const char *const *allowed)
{
  JsonArray *array = prism_http_json_array (list);
  g_autoptr (GPtrArray) env = g_ptr_array_new ();

  for (guint i = 0; array != NULL && i < json_array_get_length (array) && i < MOST_ENV; i++)
    {
      const char *entry = prism_http_json_text (json_array_get_element (array, i));
      if (entry != NULL && is_wanted (entry, allowed))
        g_ptr_array_add (env, g_strdup (entry));
    }
  g_ptr_array_add (env, NULL);
  return (char **)g_ptr_array_steal (env, NULL);
}

static char **
take_volumes (JsonNode *node)
{
  JsonObject *object = prism_http_json_object (node);
  g_autoptr (GList) names = object != NULL ? json_object_get_members (object) : NULL;
  g_autoptr (GPtrArray) volumes = g_ptr_array_new ();

  for (GList *at = names; at != NULL; at = at->next)
    g_ptr_array_add (volumes, g_strdup (at->data));
  g_ptr_array_add (volumes, NULL);
  return (char **)g_ptr_array_steal (volumes, NULL);
}

void
prism_docker_image_parse (PrismDockerImage *self, JsonNode *inspected, const char *const *allowed, GString *offenders)
{
  const char *id = prism_http_json_text (prism_http_json_get (inspected, "Id", NULL));
  const char *system = prism_http_json_text (prism_http_json_get (inspected, "Os", NULL));

  *self = (PrismDockerImage){ NULL, NULL, NULL };
  if (id != NULL && g_str_has_prefix (id, DIGEST))
    id += strlen (DIGEST);
  if (id == NULL || strlen (id) != HEX_DIGITS || strspn (id, "0123456789abcdef") != HEX_DIGITS)
    prism_docker_offend (offenders, "image: the engine's description of it has no id");
  else
    self->id = g_strdup (id);
  if (system != NULL && strcmp (system, "linux") != 0)
    prism_docker_offend (offenders, "image: it is for %.32s, not for linux", system);
  self->env = take_env (prism_http_json_get (inspected, "Config", "Env", NULL), allowed);
  self->volumes = take_volumes (prism_http_json_get (inspected, "Config", "Volumes", NULL));
}

char *
prism_docker_image_dup_pinned (JsonNode *inspected)
{
  JsonArray *names = prism_http_json_array (prism_http_json_get (inspected, "RepoDigests", NULL));

  for (guint i = 0; names != NULL && i < json_array_get_length (names); i++)
    {
      const char *name = prism_http_json_text (json_array_get_element (names, i));
      if (prism_docker_is_pinned_image (name))
        return g_strdup (name);
    }
  return NULL;
}

void
prism_docker_image_clear (PrismDockerImage *self)
{
  g_clear_pointer (&self->id, g_free);
  g_clear_pointer (&self->env, g_strfreev);
  g_clear_pointer (&self->volumes, g_strfreev);
}
