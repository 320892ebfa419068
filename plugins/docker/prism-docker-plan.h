/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is asked for becomes what the engine is asked for. Pure: no file, no daemon. */
#pragma once

#include "prism-docker-options.h"

G_BEGIN_DECLS

typedef struct
{
  char *source, *target;
  gboolean readonly;
  gboolean held; /* by the keeper's mount, whose flags an engine that mounts it read-only once more would clear */
} PrismDockerBind;

typedef struct
{
  char *target;
  char *options;
  gboolean owned; /* it belongs to the commands' ids, and has a bound on its inodes */
  gint64 inodes;
} PrismDockerTmpfs;

/* A view that only root's commands' own ids may be seen through: made by the keeper, at
 * room/NAME, before the engine is asked. */
typedef struct
{
  char *source, *name;
  gboolean folder, readonly;
  guint from_uid, from_gid; /* the owner of what is shown */
} PrismDockerShift;

typedef struct
{
  char *name;    /* the container's */
  char *image;
  char *user;
  char *runtime; /* NULL = the daemon's own */
  char *network;
  char **labels; /* KEY=VALUE */
  char **command;
  GPtrArray *binds;  /* PrismDockerBind */
  GPtrArray *tmpfs;  /* PrismDockerTmpfs */
  GPtrArray *shifts; /* PrismDockerShift */
  GPtrArray *forget; /* char *: paths inside that a copy is not to have */
  guint uid, gid;
  gint64 memory_bytes, shm_bytes, cpu_millis, pids, open_files, stop_seconds;
  gboolean copies; /* the workspace is imported */
} PrismDockerPlan;

/* Everything that is wrong is added to @offenders; NULL when something was.
 * @folder: the sandbox's on the host, whose "host" the container will see; @volumes: (nullable): paths
 * where the image wants volumes: small file systems instead. */
PrismDockerPlan *prism_docker_plan_new (const PrismDockerAsked *asked,
                                        const char *folder,
                                        const char *const *volumes,
                                        GString *offenders);
void prism_docker_plan_free (PrismDockerPlan *self);

/* How an engine wants things to be said. */
typedef struct
{
  guint minor;        /* of its API's version 1.N */
  gboolean podman;    /* podman's words for a tmpfs's owner, and for limits that it would raise */
  gint64 most_processes; /* RLIMIT_NPROC here: what podman may set it to */
} PrismDockerDialect;

/* The body of the engine's create request. */
char *prism_docker_plan_to_json (const PrismDockerPlan *self, const PrismDockerDialect *dialect);
/* The same for a container that is never started. */
char *prism_docker_look_to_json (const char *image, const char *const *labels);
/* The arguments of `docker create`, without the program's name. */
char **prism_docker_plan_to_argv (const PrismDockerPlan *self, const PrismDockerDialect *dialect);

/* "sha256:…" of the image. */
char *prism_docker_plan_dup_digest (const PrismDockerPlan *self);

char **prism_docker_look_to_argv (const char *name, const char *image, const char *const *labels);

/* SHA-256 of the compact JSON of the arguments: what pid 1 is. */
char *prism_docker_fingerprint (const char *const *argv);

/* A line without anything that moves a terminal's cursor. */
char *prism_docker_dup_printable (const char *text, gssize length);
void prism_docker_offend (GString *offenders, const char *format, ...) G_GNUC_PRINTF (2, 3);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (PrismDockerPlan, prism_docker_plan_free)

G_END_DECLS
