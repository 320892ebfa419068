/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What was left behind is known by its labels, and by who made it: a container is a
 * leftover when it was to end with a host that is dead, and a folder when there is no
 * container to it and nobody holds it. A detached sandbox that runs is nobody's leftover. */
#include "prism-docker-reap.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "prism-docker-deposit.h"
#include "prism-docker-engine.h"
#include "prism-docker-names.h"
#include "prism-docker-owner.h"
#include "prism-docker-room.h"

static const char *
label_of (JsonNode *container, const char *name)
{
  return prism_http_json_text (prism_http_json_get (container, "Labels", name, NULL));
}

/* NULL: not one of ours. */
static const char *
own_id (JsonNode *container)
{
  const char *owner = label_of (container, PRISM_DOCKER_LABEL_OWNER);
  const char *id = label_of (container, PRISM_DOCKER_LABEL_ID);
  g_autofree char *self = g_strdup_printf ("%u", (guint)geteuid ());

  return id != NULL && prism_docker_is_id (id) && g_strcmp0 (owner, self) == 0 ? id : NULL;
}

static PrismDockerEngine *
open_engine (const PrismDockerOptions *options, gint64 deadline, GCancellable *cancellable, GError **error)
{
  g_autoptr (PrismDockerEngine) engine =
      prism_docker_engine_new (options->socket, options->docker, deadline, cancellable);

  return prism_docker_engine_open (engine, error) ? g_steal_pointer (&engine) : NULL;
}

char **
prism_docker_sandboxes_list (const PrismDockerOptions *options,
                             gint64 deadline,
                             GCancellable *cancellable,
                             GError **error)
{
  g_autoptr (PrismDockerEngine) engine = open_engine (options, deadline, cancellable, error);
  g_autoptr (JsonNode) list = engine != NULL ? prism_docker_engine_list (engine, error) : NULL;
  JsonArray *array = prism_http_json_array (list);
  g_autoptr (GPtrArray) references = g_ptr_array_new_with_free_func (g_free);

  if (list == NULL)
    return NULL;
  for (guint i = 0; array != NULL && i < json_array_get_length (array); i++)
    {
      JsonNode *container = json_array_get_element (array, i);
      const char *id = own_id (container);
      /* What only looks into an image bears the same labels. */
      if (id != NULL
          && g_strcmp0 (prism_http_json_text (prism_http_json_get (container, "State", NULL)), "created") != 0)
        g_ptr_array_add (references, g_strconcat ("docker:", id, NULL));
    }
  g_ptr_array_add (references, NULL);
  return (char **)g_ptr_array_steal (references, NULL);
}

static gboolean
is_leftover (JsonNode *container)
{
  const char *state = prism_http_json_text (prism_http_json_get (container, "State", NULL));
  gboolean detached = g_strcmp0 (label_of (container, PRISM_DOCKER_LABEL_LIFETIME), "detached") == 0;
  gboolean dead = prism_docker_owner_judge (label_of (container, PRISM_DOCKER_LABEL_HOST)) == PRISM_DOCKER_OWNER_DEAD;

  if (state == NULL || !dead)
    return FALSE;
  return !detached || (strcmp (state, "running") != 0 && strcmp (state, "paused") != 0);
}

static guint
remove_containers (PrismDockerEngine *engine, JsonNode *list, GHashTable *there)
{
  JsonArray *array = prism_http_json_array (list);
  guint removed = 0;

  for (guint i = 0; array != NULL && i < json_array_get_length (array); i++)
    {
      JsonNode *container = json_array_get_element (array, i);
      const char *id = own_id (container);
      const char *name = prism_http_json_text (prism_http_json_get (container, "Id", NULL));
      if (id == NULL || !prism_docker_is_container_id (name))
        continue;
      if (is_leftover (container) && prism_docker_engine_remove (engine, name, NULL))
        removed++;
      else
        g_hash_table_add (there, g_strdup (id));
    }
  return removed;
}

/* Whether another engine may have the container: what a detached sandbox left says whose it
 * is. All engines' rooms of a user are in one folder. */
static gboolean
is_of_another (PrismDockerRoom *room, PrismDockerEngine *engine)
{
  g_autoptr (GBytes) bytes = prism_docker_room_read_deposit (room, NULL);
  g_auto (PrismDockerDeposit) left = { 0 };

  if (bytes == NULL || !prism_docker_deposit_read (&left, bytes, NULL))
    return FALSE;
  if (prism_docker_engine_is_by_program (engine))
    return *left.socket != 0 || g_strcmp0 (left.program, prism_docker_engine_get_program (engine)) != 0;
  return strcmp (left.socket, prism_docker_engine_get_socket (engine)) != 0;
}

/* Those without a container that no host holds. */
static guint
remove_rooms (PrismDockerEngine *engine, GHashTable *there)
{
  g_autofree char *path = prism_docker_room_dup_folder (NULL, NULL);
  g_autoptr (GDir) dir = path != NULL ? g_dir_open (path, 0, NULL) : NULL;
  guint removed = 0;
  const char *id;

  while (dir != NULL && (id = g_dir_read_name (dir)) != NULL)
    {
      PrismDockerRoom room;
      if (!prism_docker_is_id (id) || g_hash_table_contains (there, id) || !prism_docker_room_enter (&room, id, NULL))
        continue;
      if (is_of_another (&room, engine))
        {
          prism_docker_room_clear (&room);
          continue;
        }
      prism_docker_room_remove_mounts (&room);
      prism_docker_room_remove (&room);
      removed++;
    }
  return removed;
}

gint
prism_docker_leftovers_remove (const PrismDockerOptions *options,
                               gint64 deadline,
                               GCancellable *cancellable,
                               GError **error)
{
  g_autoptr (PrismDockerEngine) engine = open_engine (options, deadline, cancellable, error);
  g_autoptr (JsonNode) list = engine != NULL ? prism_docker_engine_list (engine, error) : NULL;
  g_autoptr (GHashTable) there = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  guint removed;

  if (list == NULL)
    return -1;
  removed = remove_containers (engine, list, there);
  return (gint)(removed + remove_rooms (engine, there));
}
