/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Who is it that connected, and what holds it: as the kernel tells, not as it says. */
#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

typedef enum
{
  PRISM_DOCKER_PEER_UNKNOWN, /* the kernel does not tell here: the engine's word decides */
  PRISM_DOCKER_PEER_RIGHT,
  PRISM_DOCKER_PEER_WRONG,
} PrismDockerPeer;

/* The pid of who connected, 0 where it is in no pid namespace of ours. */
gint prism_docker_peer_get_pid (int fd);
/* Is it pid 1 of the container? */
PrismDockerPeer prism_docker_peer_judge (gint pid, const char *container);

/* What the kernel says of a process. */
typedef struct
{
  gboolean known;
  gboolean no_capabilities; /* effective, permitted, inheritable, bounding, ambient */
  gboolean no_new_privs;
  gboolean filtered;        /* by a seccomp filter */
  gboolean own_pids;
  gboolean ipc_known, own_ipc;
  gboolean routes_known, no_routes; /* in its network namespace */
  gboolean own_user;        /* a user namespace in which its root is not the host's */
  guint uid, gid;           /* on the host */
} PrismDockerFacts;

void prism_docker_peer_find_facts (gint pid, PrismDockerFacts *facts);

/* The folder of its memory control group, and whether it is of version 2; NULL: not to be found. */
char *prism_docker_peer_dup_memory_group (gint pid);
/* How many processes it lost by the memory limit; 0 where nobody knows. */
gint64 prism_docker_count_memory_kills (const char *group);

/* Pure. */
gboolean prism_docker_cgroup_names (const char *text, const char *container);
void prism_docker_facts_parse_status (PrismDockerFacts *facts, const char *text);
gboolean prism_docker_maps_root (const char *uid_map);
gboolean prism_docker_has_routes (const char *route);

G_END_DECLS
