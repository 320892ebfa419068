/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is asked for, put together for the translators: nothing here does I/O. */
#pragma once

#include <libprism/prism.h>

G_BEGIN_DECLS

#define PRISM_DOCKER_ID_LENGTH 32
#define PRISM_DOCKER_USER      10001

/* Where the agent and its way to the host are inside. */
#define PRISM_DOCKER_INSIDE       "/.prism"
#define PRISM_DOCKER_INSIDE_AGENT PRISM_DOCKER_INSIDE "/agent"
#define PRISM_DOCKER_INSIDE_ROOM  PRISM_DOCKER_INSIDE "/host"
#define PRISM_DOCKER_SOCKET       "control"
#define PRISM_DOCKER_HOME         "/home/prism"

#define PRISM_DOCKER_LABEL          "prism.sandbox"
#define PRISM_DOCKER_LABEL_ID       "prism.sandbox.id"
#define PRISM_DOCKER_LABEL_OWNER    "prism.sandbox.owner"    /* uid of who made it */
#define PRISM_DOCKER_LABEL_HOST     "prism.sandbox.host"     /* which process */
#define PRISM_DOCKER_LABEL_LIFETIME "prism.sandbox.lifetime"
#define PRISM_DOCKER_LABEL_COMMAND  "prism.sandbox.command"  /* fingerprint of what pid 1 is */

/* The second system's layout: host folders by their names, NULL = not there. */
typedef struct
{
  char *outputs, *uploads, *scratch, *tool_results, *transcripts;
  char **skills; /* ID=FOLDER */
} PrismDockerLayout;

/* The backend's properties, as they were set. */
typedef struct
{
  char *image;
  char *user;
  char *socket;
  char *docker;
  char *runtime;
  char *network;
  char *attestation; /* JSON */
  char *attestation_key;
  char *source;
  PrismDockerLayout layout;
} PrismDockerOptions;

typedef enum
{
  PRISM_DOCKER_KIND_MISSING,
  PRISM_DOCKER_KIND_FOLDER,
  PRISM_DOCKER_KIND_FILE,
} PrismDockerKind;

/* A path of the host's, without links, as it was when somebody looked. */
typedef struct
{
  char *path;
  PrismDockerKind kind;
  guint uid, gid;
} PrismDockerPath;

/* A part of the host's that is seen inside. */
typedef struct
{
  PrismDockerPath source;
  char *target;
  gboolean writable;
  const char *what; /* for messages */
} PrismDockerView;

typedef enum
{
  PRISM_DOCKER_EGRESS_NONE,
  PRISM_DOCKER_EGRESS_RESTRICTED,
  PRISM_DOCKER_EGRESS_OPEN,
} PrismDockerEgress;

/* All that the plan is made of. */
typedef struct
{
  PrismSandboxSpec *spec;
  const PrismDockerOptions *options;
  PrismAttestation *attestation; /* NULL = none */
  const char *id;
  const char *agent;       /* the program's path on the host */
  const char *host;        /* which process asks */
  guint caller;            /* uid */
  GPtrArray *views;        /* PrismDockerView, the workspace first where it is the host's folder */
  GPtrArray *hide;         /* PrismDockerPath */
  GPtrArray *protect;      /* PrismDockerPath */
  char *workspace;         /* of the host; NULL = none */
  guint uid, gid;          /* of the commands */
} PrismDockerAsked;

G_END_DECLS
