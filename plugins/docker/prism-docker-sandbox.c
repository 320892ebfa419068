/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A sandbox that is a container: the engine makes the boundary, the base class speaks to
 * the agent in it over a socket of ours, and exec never asks the engine. */
#include "prism-docker-sandbox.h"

#include <errno.h>
#include <sys/random.h>
#include <unistd.h>

#include "prism-docker-capabilities.h"
#include "prism-docker-engine.h"
#include "prism-docker-look.h"
#include "prism-docker-names.h"
#include "prism-docker-peer.h"
#include "prism-docker-room.h"

#define REFERENCE "docker:"

struct _PrismDockerSandbox
{
  PrismAgentSandbox parent_instance;
  char *socket;    /* the engine's */
  char *container; /* its id */
  PrismDockerRoom room;
  char *memory_group;
  GMutex lock; /* for what follows */
  gint64 memory_kills;
};

G_DEFINE_FINAL_TYPE (PrismDockerSandbox, prism_docker_sandbox, PRISM_TYPE_AGENT_SANDBOX)

/* --- the end ----------------------------------------------------------------------- */

static gboolean
remove_container (const char *socket, const char *container, gint64 deadline, GError **error)
{
  g_autoptr (PrismDockerEngine) engine = prism_docker_engine_new (socket, deadline, NULL);

  return prism_docker_engine_open (engine, error) && prism_docker_engine_remove (engine, container, error);
}

static void
terminate_in_thread (gpointer data, PrismOperation *operation)
{
  PrismDockerSandbox *self = PRISM_DOCKER_SANDBOX (data);
  g_autoptr (GError) error = NULL;
  gboolean done = remove_container (self->socket, self->container, prism_operation_get_deadline (operation), &error);

  prism_docker_room_remove (&self->room);
  if (done)
    prism_control_operation_complete (PRISM_CONTROL_OPERATION (operation));
  else
    prism_operation_fail (operation, error);
}

static void
prism_docker_sandbox_terminate (PrismAgentSandbox *base, PrismControlOperation *operation)
{
  prism_operation_run_in_thread (PRISM_OPERATION (operation), terminate_in_thread);
}

/* --- holding it still ----------------------------------------------------------------- */

static void
hold (PrismDockerSandbox *self, PrismOperation *operation, gboolean pause)
{
  g_autoptr (PrismDockerEngine) engine = prism_docker_engine_new (
      self->socket, prism_operation_get_deadline (operation), prism_operation_get_cancellable (operation));
  g_autoptr (GError) error = NULL;

  if (prism_docker_engine_open (engine, &error) && prism_docker_engine_pause (engine, self->container, pause, &error))
    prism_control_operation_complete (PRISM_CONTROL_OPERATION (operation));
  else
    prism_operation_fail (operation, error);
}

static void
stand_still (gpointer self, PrismOperation *operation)
{
  hold (PRISM_DOCKER_SANDBOX (self), operation, TRUE);
}

static void
go_on (gpointer self, PrismOperation *operation)
{
  hold (PRISM_DOCKER_SANDBOX (self), operation, FALSE);
}

static void
prism_docker_sandbox_pause (PrismAgentSandbox *base, PrismControlOperation *operation)
{
  prism_operation_run_in_thread (PRISM_OPERATION (operation), stand_still);
}

static void
prism_docker_sandbox_resume (PrismAgentSandbox *base, PrismControlOperation *operation)
{
  prism_operation_run_in_thread (PRISM_OPERATION (operation), go_on);
}

/* --- why ---------------------------------------------------------------------------------- */

static const char *
prism_docker_sandbox_find_limit (PrismAgentSandbox *base)
{
  PrismDockerSandbox *self = PRISM_DOCKER_SANDBOX (base);
  gint64 kills = prism_docker_count_memory_kills (self->memory_group);
  gboolean grown;

  g_mutex_lock (&self->lock);
  grown = kills > self->memory_kills;
  self->memory_kills = MAX (kills, self->memory_kills);
  g_mutex_unlock (&self->lock);
  return grown ? "memory-bytes" : NULL;
}

static void
prism_docker_sandbox_finalize (GObject *object)
{
  PrismDockerSandbox *self = PRISM_DOCKER_SANDBOX (object);

  prism_docker_room_clear (&self->room);
  g_free (self->socket);
  g_free (self->container);
  g_free (self->memory_group);
  g_mutex_clear (&self->lock);
  G_OBJECT_CLASS (prism_docker_sandbox_parent_class)->finalize (object);
}

static void
prism_docker_sandbox_class_init (PrismDockerSandboxClass *klass)
{
  PrismAgentSandboxClass *agent_class = PRISM_AGENT_SANDBOX_CLASS (klass);

  G_OBJECT_CLASS (klass)->finalize = prism_docker_sandbox_finalize;
  agent_class->terminate = prism_docker_sandbox_terminate;
  agent_class->pause = prism_docker_sandbox_pause;
  agent_class->resume = prism_docker_sandbox_resume;
  agent_class->find_limit = prism_docker_sandbox_find_limit;
}

static void
prism_docker_sandbox_init (PrismDockerSandbox *self)
{
  self->room = (PrismDockerRoom){ NULL, -1, -1 };
  g_mutex_init (&self->lock);
}

/* --- the start ---------------------------------------------------------------------------- */

/* Everything that a start holds, so that one place lets go of it. */
typedef struct
{
  PrismDockerAsked asked;
  PrismDockerEngine *engine;
  PrismDockerPlan *plan;
  PrismDockerRoom room;
  char id[PRISM_DOCKER_ID_LENGTH + 1];
  char *container;
  PrismHttpCall *starting;
  int connection;
  gint pid;
  PrismDockerSandbox *sandbox;
  gint64 deadline, cleanup_us;
  GCancellable *cancellable;
} Start;

static void
make_id (char *text)
{
  guint8 bytes[PRISM_DOCKER_ID_LENGTH / 2];

  if (getrandom (bytes, sizeof bytes, 0) != sizeof bytes)
    g_error ("getrandom: %s", g_strerror (errno));
  for (guint i = 0; i < sizeof bytes; i++)
    g_snprintf (text + 2 * i, 3, "%02x", bytes[i]);
}

/* What failed is undone; what succeeded is the sandbox's now. */
static void
start_clear (Start *self)
{
  g_clear_pointer (&self->starting, prism_http_call_abandon);
  if (self->container != NULL)
    remove_container (prism_docker_engine_get_socket (self->engine), self->plan->name,
                      g_get_monotonic_time () + self->cleanup_us, NULL);
  prism_docker_room_remove (&self->room);
  if (self->connection >= 0)
    close (self->connection);
  g_clear_object (&self->sandbox);
  g_clear_pointer (&self->plan, prism_docker_plan_free);
  g_clear_pointer (&self->engine, prism_docker_engine_free);
  g_clear_pointer (&self->container, g_free);
  prism_docker_asked_clear (&self->asked);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Start, start_clear)

static gboolean
report (const GString *offenders, GError **error)
{
  if (offenders->len == 0)
    return TRUE;
  g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_REFUSED, "docker: refused: %s", offenders->str);
  return FALSE;
}

/* Everything that can be refused, before anything is made. */
static gboolean
prepare (Start *self, GError **error)
{
  g_autoptr (GString) offenders = g_string_new (NULL);
  g_autofree char *folder = NULL;
  g_autoptr (JsonNode) image = NULL;

  prism_docker_look (&self->asked, offenders);
  folder = prism_docker_room_dup_folder (self->id, error);
  if (folder == NULL)
    return FALSE;
  self->plan = prism_docker_plan_new (&self->asked, folder, NULL, offenders);
  if (!report (offenders, error))
    return FALSE;
  if (!prism_docker_engine_open (self->engine, error))
    return FALSE;
  image = prism_docker_engine_inspect_image (self->engine, self->plan->image, error);
  return image != NULL;
}

static gboolean
take_connection (Start *self)
{
  int fd = prism_docker_room_accept (&self->room);

  if (fd < 0)
    return FALSE;
  self->pid = prism_docker_peer_get_pid (fd);
  if (prism_docker_peer_judge (self->pid, self->container) == PRISM_DOCKER_PEER_RIGHT)
    {
      self->connection = fd;
      return TRUE;
    }
  close (fd);
  return FALSE;
}

/* The agent may be there before the engine says that it is started. */
static gboolean
wait_for_agent (Start *self, GError **error)
{
  PrismHttpClient *client = prism_docker_engine_get_client (self->engine);

  self->starting = prism_docker_engine_begin_start (self->engine, self->container);
  while (!take_connection (self))
    {
      if (self->starting != NULL && prism_http_call_is_over (self->starting)
          && !prism_docker_engine_end_start (self->engine, g_steal_pointer (&self->starting), self->container, error))
        return FALSE;
      if (!prism_http_client_wait (client, self->room.listener, self->deadline, self->cancellable, error))
        return FALSE;
    }
  return TRUE;
}

static gboolean
make_container (Start *self, GError **error)
{
  if (!prism_docker_room_make (&self->room, self->id, self->asked.uid, self->asked.gid, error))
    return FALSE;
  self->container = prism_docker_engine_create (self->engine, self->plan, error);
  return self->container != NULL;
}

static gboolean
make_sandbox (Start *self, GError **error)
{
  g_autofree char *reference = g_strconcat (REFERENCE, self->id, NULL);
  g_autoptr (GSocket) socket = g_socket_new_from_fd (self->connection, error);
  g_autoptr (GIOStream) connection = NULL;

  if (socket == NULL)
    return FALSE;
  self->connection = -1;
  connection = G_IO_STREAM (g_socket_connection_factory_create_connection (socket));
  self->sandbox = g_object_new (PRISM_TYPE_DOCKER_SANDBOX, "spec", self->asked.spec, "connection", connection,
                                "backend-name", "docker", "id", self->id, "workspace",
                                prism_sandbox_spec_get_sandbox_path (self->asked.spec), "reference", reference, NULL);
  self->sandbox->socket = g_strdup (prism_docker_engine_get_socket (self->engine));
  self->sandbox->memory_group = prism_docker_peer_dup_memory_group (self->pid);
  self->sandbox->container = g_steal_pointer (&self->container);
  self->sandbox->room = self->room;
  self->room = (PrismDockerRoom){ NULL, -1, -1 };
  return TRUE;
}

static gboolean
judge (Start *self, GError **error)
{
  PrismDockerFacts facts;
  g_autoptr (JsonNode) container = prism_docker_engine_inspect (self->engine, self->sandbox->container, error);
  g_autoptr (PrismCapabilities) capabilities = NULL;

  if (container == NULL)
    return FALSE;
  prism_docker_peer_find_facts (self->pid, &facts);
  capabilities = prism_docker_capabilities_new (&self->asked, self->plan, &facts, container, NULL);
  prism_agent_sandbox_set_capabilities (PRISM_AGENT_SANDBOX (self->sandbox), capabilities);
  return prism_capabilities_check_required (capabilities, prism_sandbox_spec_get_require (self->asked.spec), error);
}

static gboolean
import (Start *self, GError **error)
{
  g_autoptr (GFile) folder = NULL;
  g_autoptr (PrismTreeIdentity) identity = NULL;

  if (!self->plan->copies)
    return TRUE;
  folder = g_file_new_for_path (self->asked.workspace);
  identity =
      prism_sandbox_import_tree (PRISM_SANDBOX (self->sandbox), folder,
                                 prism_sandbox_spec_get_sandbox_path (self->asked.spec), self->cancellable, error);
  return identity != NULL;
}

PrismSandbox *
prism_docker_sandbox_start (PrismSandboxSpec *spec,
                            const PrismDockerOptions *options,
                            GCancellable *cancellable,
                            GError **error)
{
  PrismLimits *limits = prism_sandbox_spec_get_limits (spec);
  g_auto (Start) self = {
    .room = { NULL, -1, -1 },
    .connection = -1,
    .deadline = g_get_monotonic_time () + prism_limits_get (limits, "startup-timeout-ms") * 1000,
    .cleanup_us = prism_limits_get (limits, "cleanup-deadline-ms") * 1000,
    .cancellable = cancellable,
  };

  make_id (self.id);
  self.asked.spec = spec;
  self.asked.options = options;
  self.asked.id = self.id;
  self.asked.agent = prism_agent_get_path ();
  self.engine = prism_docker_engine_new (options->socket, self.deadline, cancellable);
  if (!prepare (&self, error) || !make_container (&self, error) || !wait_for_agent (&self, error)
      || !make_sandbox (&self, error))
    return NULL;
  if (prism_agent_sandbox_start (PRISM_AGENT_SANDBOX (self.sandbox), cancellable, error) && import (&self, error)
      && (self.starting == NULL
          || prism_docker_engine_end_start (self.engine, g_steal_pointer (&self.starting), self.sandbox->container,
                                            error))
      && judge (&self, error))
    return PRISM_SANDBOX (g_steal_pointer (&self.sandbox));
  prism_sandbox_close (PRISM_SANDBOX (self.sandbox), NULL, NULL);
  return NULL;
}
