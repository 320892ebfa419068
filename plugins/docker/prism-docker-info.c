/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-docker-info.h"

#include <string.h>

#include "prism-docker-plan.h"

#define SECCOMP   "name=seccomp"
#define PROFILE   ",profile="
#define MOST_TEXT 1024
#define MOST_BASE (G_MAXINT32 - 1)

static char *
dup_short (const char *text)
{
  return prism_docker_dup_printable (text, (gssize)strnlen (text, MOST_TEXT));
}

/* "name=userns", "name=seccomp,profile=default": NULL when there is none that begins so. */
static const char *
find_security (JsonNode *info, const char *begin)
{
  JsonArray *options = prism_http_json_array (prism_http_json_get (info, "SecurityOptions", NULL));

  for (guint i = 0; options != NULL && i < json_array_get_length (options); i++)
    {
      const char *text = prism_http_json_text (json_array_get_element (options, i));
      if (text != NULL && g_str_has_prefix (text, begin))
        return text;
    }
  return NULL;
}

char *
prism_docker_info_dup_remapped (JsonNode *info)
{
  if (find_security (info, "name=userns") != NULL)
    return g_strdup ("the engine maps its users to others of the host's (userns-remap)");
  if (find_security (info, "name=rootless") != NULL)
    return g_strdup ("the engine runs as an ordinary user (rootless)");
  return NULL;
}

/* With userns-remap an engine keeps its data in a folder UID.GID, of the ids that are root's there. */
gboolean
prism_docker_info_find_base (JsonNode *info, guint *uid, guint *gid)
{
  const char *root = prism_http_json_text (prism_http_json_get (info, "DockerRootDir", NULL));
  const char *name = root != NULL ? strrchr (root, '/') : NULL;
  g_auto (GStrv) ids = name != NULL ? g_strsplit (name + 1, ".", 3) : NULL;
  guint64 user, group;

  if (find_security (info, "name=userns") == NULL || ids == NULL || g_strv_length (ids) != 2
      || !g_ascii_string_to_unsigned (ids[0], 10, 1, MOST_BASE, &user, NULL)
      || !g_ascii_string_to_unsigned (ids[1], 10, 1, MOST_BASE, &group, NULL))
    return FALSE;
  *uid = (guint)user;
  *gid = (guint)group;
  return TRUE;
}

char *
prism_docker_info_dup_seccomp (JsonNode *info)
{
  const char *text = find_security (info, SECCOMP), *profile = text != NULL ? strstr (text, PROFILE) : NULL;

  if (text == NULL)
    return NULL;
  return profile != NULL ? dup_short (profile + strlen (PROFILE)) : g_strdup ("default");
}

gboolean
prism_docker_info_has_runtime (JsonNode *info, const char *name)
{
  JsonObject *known = prism_http_json_object (prism_http_json_get (info, "Runtimes", NULL));

  return known != NULL && json_object_has_member (known, name);
}

char *
prism_docker_info_dup_runtimes (JsonNode *info)
{
  JsonObject *known = prism_http_json_object (prism_http_json_get (info, "Runtimes", NULL));
  g_autoptr (GList) names = known != NULL ? g_list_sort (json_object_get_members (known), (GCompareFunc)strcmp) : NULL;
  g_autoptr (GString) list = g_string_new (NULL);

  for (GList *at = names; at != NULL; at = at->next)
    g_string_append_printf (list, "%s%s", list->len > 0 ? ", " : "", (const char *)at->data);
  return list->len > 0 ? dup_short (list->str) : NULL;
}

gboolean
prism_docker_info_is_own_kernel (JsonNode *info, const char *runtime)
{
  const char *path = prism_http_json_text (prism_http_json_get (info, "Runtimes", runtime, "path", NULL));
  const char *type = prism_http_json_text (prism_http_json_get (info, "Runtimes", runtime, "runtimeType", NULL));
  g_autofree char *program = path != NULL ? g_path_get_basename (path) : NULL;

  return g_strcmp0 (program, "runsc") == 0 || g_strcmp0 (type, "io.containerd.runsc.v1") == 0;
}

char *
prism_docker_info_dup_lacking (JsonNode *info)
{
  static const struct
  {
    const char *member, *word;
  } limits[] = { { "MemoryLimit", "memory" }, { "CpuCfsQuota", "cpu" }, { "PidsLimit", "pids" } };
  const char *driver = prism_http_json_text (prism_http_json_get (info, "CgroupDriver", NULL));
  gboolean none = g_strcmp0 (driver, "none") == 0; /* rootless, and nothing was delegated */
  g_autoptr (GString) list = g_string_new (NULL);

  for (gsize i = 0; i < G_N_ELEMENTS (limits); i++)
    if (none || !prism_http_json_flag (prism_http_json_get (info, limits[i].member, NULL)))
      g_string_append_printf (list, "%s%s", list->len > 0 ? ", " : "", limits[i].word);
  return list->len > 0 ? g_strdup (list->str) : NULL;
}
