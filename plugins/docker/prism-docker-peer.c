/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* TRUST. A connection to the room's socket is from the agent when the kernel says that its
 * process is pid 1 of a pid namespace and in the control group that bears the container's
 * id. A command inside has another pid, another container another id. What is read here
 * are files of /proc, which no process inside can write. */
#include "prism-docker-peer.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_TEXT (64 * 1024)

gint
prism_docker_peer_get_pid (int fd)
{
  struct ucred peer = { 0, (uid_t)-1, (gid_t)-1 };
  socklen_t size = sizeof peer;

  return getsockopt (fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? peer.pid : 0;
}

static char *
read_proc (gint pid, const char *name)
{
  g_autofree char *path = g_strdup_printf ("/proc/%d/%s", pid, name);
  char *text = NULL;
  gsize size = 0;

  if (pid <= 0 || !g_file_get_contents (path, &text, &size, NULL))
    return NULL;
  if (size > 0 && size <= MOST_TEXT)
    return text;
  g_free (text);
  return NULL;
}

/* As the last component of a path: .../ID or .../docker-ID.scope, libpod-ID.scope. */
gboolean
prism_docker_cgroup_names (const char *text, const char *container)
{
  gsize length = strlen (container);

  for (const char *at = text; length >= 12 && (at = strstr (at, container)) != NULL; at += length)
    {
      const char *after = at + length;
      gboolean starts = at > text && (at[-1] == '/' || at[-1] == '-');
      gboolean ends = *after == 0 || *after == '\n' || *after == '/' || g_str_has_prefix (after, ".scope");
      if (starts && ends)
        return TRUE;
    }
  return FALSE;
}

static const char *
find_line (const char *text, const char *name)
{
  gsize length = strlen (name);

  for (const char *at = text; at != NULL; at = strchr (at, '\n'))
    {
      at += *at == '\n';
      if (strncmp (at, name, length) == 0 && at[length] == ':')
        return at + length + 1;
    }
  return NULL;
}

/* The last number of a line. */
static gint64
last_number (const char *line)
{
  gint64 value = -1;

  while (line != NULL && *line != '\n' && *line != 0)
    {
      char *end;
      gint64 next = g_ascii_strtoll (line, &end, 10);
      if (end == line)
        break;
      value = next;
      line = end;
      while (*line == ' ' || *line == '\t')
        line++;
    }
  return value;
}

static guint
count_numbers (const char *line)
{
  guint n = 0;

  while (line != NULL && *line != '\n' && *line != 0)
    {
      char *end;
      g_ascii_strtoll (line, &end, 10);
      if (end == line)
        break;
      n++;
      line = end;
    }
  return n;
}

PrismDockerPeer
prism_docker_peer_judge (gint pid, const char *container)
{
  g_autofree char *status = read_proc (pid, "status");
  g_autofree char *cgroup = read_proc (pid, "cgroup");
  const char *pids = status != NULL ? find_line (status, "NSpid") : NULL;

  if (pid <= 0 || pids == NULL || cgroup == NULL)
    return PRISM_DOCKER_PEER_UNKNOWN;
  if (count_numbers (pids) < 2)
    return PRISM_DOCKER_PEER_UNKNOWN; /* a guest's process that the kernel here does not see */
  if (last_number (pids) != 1)
    return PRISM_DOCKER_PEER_WRONG;
  return prism_docker_cgroup_names (cgroup, container) ? PRISM_DOCKER_PEER_RIGHT : PRISM_DOCKER_PEER_UNKNOWN;
}

/* --- what holds it -------------------------------------------------------------------- */

static gboolean
is_zero (const char *text, const char *name)
{
  const char *line = find_line (text, name);
  return line != NULL && strspn (line, " \t0") == strcspn (line, "\n");
}

void
prism_docker_facts_parse_status (PrismDockerFacts *facts, const char *text)
{
  const char *uid = find_line (text, "Uid"), *gid = find_line (text, "Gid"), *pids = find_line (text, "NSpid");

  facts->known = uid != NULL && gid != NULL && pids != NULL;
  facts->no_capabilities = is_zero (text, "CapEff") && is_zero (text, "CapPrm") && is_zero (text, "CapInh")
                           && is_zero (text, "CapBnd") && is_zero (text, "CapAmb");
  facts->no_new_privs = last_number (find_line (text, "NoNewPrivs")) == 1;
  facts->filtered = last_number (find_line (text, "Seccomp")) == 2;
  facts->own_pids = count_numbers (pids) >= 2 && last_number (pids) == 1;
  facts->uid = uid != NULL ? (guint)g_ascii_strtoull (uid, NULL, 10) : 0;
  facts->gid = gid != NULL ? (guint)g_ascii_strtoull (gid, NULL, 10) : 0;
}

/* Lines of INSIDE OUTSIDE COUNT, as seen from here: is the host's root in them? */
gboolean
prism_docker_maps_root (const char *uid_map)
{
  for (const char *line = uid_map; line != NULL && *line != 0; line = strchr (line, '\n'))
    {
      char *end;
      guint64 outside;
      line += *line == '\n';
      if (*line == 0)
        break;
      g_ascii_strtoull (line, &end, 10);
      outside = g_ascii_strtoull (end, &end, 10);
      if (outside == 0)
        return TRUE;
    }
  return FALSE;
}

/* A line of names, then one for each route. */
gboolean
prism_docker_has_routes (const char *route)
{
  const char *end = strchr (route, '\n');
  return end != NULL && end[1] != 0;
}

/* Whether it is in another one than this process; only who may trace it can tell. */
static void
compare_ipc (gint pid, PrismDockerFacts *facts)
{
  g_autofree char *path = g_strdup_printf ("/proc/%d/ns/ipc", pid);
  struct stat theirs, ours;

  facts->ipc_known = stat (path, &theirs) == 0 && stat ("/proc/self/ns/ipc", &ours) == 0;
  facts->own_ipc = facts->ipc_known && (theirs.st_ino != ours.st_ino || theirs.st_dev != ours.st_dev);
}

void
prism_docker_peer_find_facts (gint pid, PrismDockerFacts *facts)
{
  g_autofree char *status = read_proc (pid, "status");
  g_autofree char *map = read_proc (pid, "uid_map");
  g_autofree char *route = read_proc (pid, "net/route");

  *facts = (PrismDockerFacts){ 0 };
  if (status != NULL)
    prism_docker_facts_parse_status (facts, status);
  compare_ipc (pid, facts);
  facts->routes_known = route != NULL;
  facts->no_routes = route != NULL && !prism_docker_has_routes (route);
  facts->own_user = map != NULL && !prism_docker_maps_root (map);
}

/* --- its memory ------------------------------------------------------------------------- */

char *
prism_docker_peer_dup_memory_group (gint pid)
{
  g_autofree char *text = read_proc (pid, "cgroup");
  g_auto (GStrv) lines = text != NULL ? g_strsplit (text, "\n", 64) : NULL;
  g_autofree char *group = NULL;

  for (guint i = 0; lines != NULL && lines[i] != NULL; i++)
    {
      g_auto (GStrv) parts = g_strsplit (lines[i], ":", 3);
      if (g_strv_length (parts) != 3 || strstr (parts[2], "/..") != NULL)
        continue;
      if (g_strv_contains ((const char *const[]){ "memory", NULL }, parts[1]))
        {
          g_free (group);
          group = g_build_filename ("/sys/fs/cgroup/memory", parts[2], NULL);
          break;
        }
      if (parts[1][0] == 0 && strcmp (parts[0], "0") == 0 && group == NULL)
        group = g_build_filename ("/sys/fs/cgroup", parts[2], NULL);
    }
  return group != NULL && access (group, F_OK) == 0 ? g_steal_pointer (&group) : NULL;
}

gint64
prism_docker_count_memory_kills (const char *group)
{
  static const char *const files[] = { "memory.events", "memory.oom_control" };

  for (gsize i = 0; group != NULL && i < G_N_ELEMENTS (files); i++)
    {
      g_autofree char *path = g_build_filename (group, files[i], NULL);
      g_autofree char *text = NULL;
      g_auto (GStrv) lines = NULL;
      if (!g_file_get_contents (path, &text, NULL, NULL))
        continue;
      lines = g_strsplit (text, "\n", 64);
      for (guint k = 0; lines[k] != NULL; k++)
        if (g_str_has_prefix (lines[k], "oom_kill "))
          return g_ascii_strtoll (lines[k] + strlen ("oom_kill "), NULL, 10);
    }
  return 0;
}
