/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-docker-owner.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define START_FIELD 20 /* after the name */

guint64
prism_docker_owner_parse_start (const char *stat)
{
  const char *at = strrchr (stat, ')');

  for (guint i = 0; at != NULL && i < START_FIELD; i++)
    at = strchr (at + 1, ' ');
  return at != NULL ? g_ascii_strtoull (at + 1, NULL, 10) : 0;
}

static guint64
find_start (guint64 pid)
{
  g_autofree char *path = g_strdup_printf ("/proc/%" G_GUINT64_FORMAT "/stat", pid);
  g_autofree char *text = NULL;

  return g_file_get_contents (path, &text, NULL, NULL) ? prism_docker_owner_parse_start (text) : 0;
}

static char *
dup_boot (void)
{
  char *text = NULL;

  if (!g_file_get_contents ("/proc/sys/kernel/random/boot_id", &text, NULL, NULL))
    return g_strdup ("unknown");
  return g_strstrip (text);
}

static guint64
find_namespace (void)
{
  struct stat info;
  return stat ("/proc/self/ns/pid", &info) == 0 ? info.st_ino : 0;
}

char *
prism_docker_owner_dup_self (void)
{
  g_autofree char *boot = dup_boot ();
  guint64 pid = (guint64)getpid ();

  return g_strdup_printf ("%s:%" G_GUINT64_FORMAT ":%" G_GUINT64_FORMAT ":%" G_GUINT64_FORMAT, boot, find_namespace (),
                          pid, find_start (pid));
}

PrismDockerOwner
prism_docker_owner_judge (const char *owner)
{
  g_auto (GStrv) parts = owner != NULL ? g_strsplit (owner, ":", 5) : NULL;
  g_autofree char *boot = dup_boot ();
  guint64 pid, start, namespace_id;

  if (parts == NULL || g_strv_length (parts) != 4
      || !g_ascii_string_to_unsigned (parts[1], 10, 1, G_MAXUINT64, &namespace_id, NULL)
      || !g_ascii_string_to_unsigned (parts[2], 10, 1, G_MAXINT32, &pid, NULL)
      || !g_ascii_string_to_unsigned (parts[3], 10, 1, G_MAXUINT64, &start, NULL))
    return PRISM_DOCKER_OWNER_UNKNOWN;
  if (strcmp (parts[0], boot) != 0)
    return PRISM_DOCKER_OWNER_DEAD;
  if (namespace_id != find_namespace ())
    return PRISM_DOCKER_OWNER_UNKNOWN;
  return find_start (pid) == start ? PRISM_DOCKER_OWNER_ALIVE : PRISM_DOCKER_OWNER_DEAD;
}
