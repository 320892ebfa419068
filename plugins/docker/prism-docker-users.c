/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The image's users. An id names its content for ever, so what was read once holds. */
#include <unistd.h>

#include "prism-docker-image.h"
#include "prism-docker-room.h"
#include "prism-docker-watch.h"

#define MOST_REMEMBERED 64

/* Where it is remembered. */
static char *
dup_place (const PrismDockerImage *image, const char *name)
{
  g_autofree char *folder = prism_docker_room_dup_folder (NULL, NULL);
  g_autofree char *file = g_strdup_printf ("%s-%s", name, image->id);

  return folder != NULL ? g_build_filename (folder, file, NULL) : NULL;
}

static char *
recall (const char *place)
{
  char *text = NULL;
  return place != NULL && g_file_get_contents (place, &text, NULL, NULL) ? text : NULL;
}

/* A small number of small files: many images are one after another's. */
static void
make_room (const char *place)
{
  g_autofree char *folder = g_path_get_dirname (place);
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  g_autoptr (GPtrArray) remembered = g_ptr_array_new_with_free_func (g_free);
  const char *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    if (g_str_has_prefix (name, "passwd-") || g_str_has_prefix (name, "group-"))
      g_ptr_array_add (remembered, g_build_filename (folder, name, NULL));
  for (guint i = 0; remembered->len > MOST_REMEMBERED && i < remembered->len; i++)
    unlink (remembered->pdata[i]);
}

static void
remember (const char *place, const char *text)
{
  if (place == NULL)
    return;
  make_room (place);
  g_file_set_contents_full (place, text != NULL ? text : "", -1, G_FILE_SET_CONTENTS_CONSISTENT, 0600, NULL);
}

/* From a container that nothing is laid over; it is never started. */
static gboolean
look (PrismDockerUsers *self, PrismDockerEngine *engine, const PrismDockerPlan *plan, const char *name)
{
  g_autoptr (GError) error = NULL;

  if (!prism_docker_engine_create_to_look (engine, name, plan->image, (const char *const *)plan->labels, &error))
    return FALSE;
  self->passwd = prism_docker_engine_read_file (engine, name, "/etc/passwd", &error);
  if (error == NULL)
    self->group = prism_docker_engine_read_file (engine, name, "/etc/group", &error);
  return error == NULL;
}

static void
drop_empty (char **text)
{
  if (*text != NULL && **text == 0)
    g_clear_pointer (text, g_free);
}

void
prism_docker_users_find (PrismDockerUsers *self,
                         PrismDockerEngine *engine,
                         const PrismDockerImage *image,
                         const PrismDockerPlan *plan)
{
  g_autofree char *passwd = dup_place (image, "passwd");
  g_autofree char *group = dup_place (image, "group");
  g_autofree char *name = g_strconcat (plan->name, "-users", NULL);

  self->passwd = recall (passwd);
  self->group = recall (group);
  if (self->passwd == NULL || self->group == NULL)
    {
      prism_docker_users_clear (self);
      if (!prism_docker_watch_keep (
              name, "", prism_docker_engine_is_by_program (engine) ? NULL : prism_docker_engine_get_socket (engine),
              prism_docker_engine_get_program (engine), NULL))
        return;
      if (look (self, engine, plan, name))
        {
          remember (passwd, self->passwd);
          remember (group, self->group);
        }
      if (prism_docker_engine_remove (engine, name, NULL))
        prism_docker_watch_forget (name);
    }
  drop_empty (&self->passwd);
  drop_empty (&self->group);
}

void
prism_docker_users_clear (PrismDockerUsers *self)
{
  g_clear_pointer (&self->passwd, g_free);
  g_clear_pointer (&self->group, g_free);
}
