/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A sandbox that is a container: the engine made the boundary, the base class speaks to
 * the agent in it over a socket of ours, and the engine is asked again only to hold it
 * still and to end it. */
#include "prism-docker-sandbox-private.h"

#include "prism-docker-engine.h"
#include "prism-docker-events.h"
#include "prism-docker-fate.h"
#include "prism-docker-peer.h"
#include "prism-docker-reap.h"
#include "prism-docker-watch.h"

/* How long a lost result waits for the engine's word on why. */
#define EXPLAIN_US (3 * G_USEC_PER_SEC)
/* How long an engine that is not there is looked for. */
#define PATIENCE_US (5 * G_USEC_PER_SEC)
#define RETRY_US    (G_USEC_PER_SEC / 10)

G_DEFINE_FINAL_TYPE (PrismDockerSandbox, prism_docker_sandbox, PRISM_TYPE_AGENT_SANDBOX)

/* --- the end ----------------------------------------------------------------------- */

gboolean
prism_docker_remove (const char *socket, const char *program, const char *container, gint64 deadline, GError **error)
{
  g_autoptr (PrismDockerEngine) engine = prism_docker_engine_new (socket, program, deadline, NULL);

  return prism_docker_engine_open (engine, error) && prism_docker_engine_remove (engine, container, error);
}

/* Before it is removed: the engine remembers what it did to it, and would add ours. */
static void
find_fate (PrismDockerSandbox *self, PrismDockerEngine *engine)
{
  PrismSandboxStatus status;
  g_autoptr (GPtrArray) events = NULL;
  g_autoptr (GError) error = NULL;
  char *fate = NULL;

  g_object_get (self, "status", &status, NULL);
  if (status != PRISM_SANDBOX_STATUS_FAILED)
    return;
  events = prism_docker_engine_recall (engine, self->container, &error);
  if (events != NULL)
    fate = prism_docker_fate_describe (events);
  if (fate == NULL)
    fate = g_strdup (error != NULL ? "the engine does not answer: it has ended, or was started again"
                                   : "its container is gone, and the engine remembers nothing of it: it was started "
                                     "again");
  g_mutex_lock (&self->lock);
  g_free (self->fate);
  self->fate = fate;
  g_mutex_unlock (&self->lock);
}

static void
tell_ended (PrismDockerSandbox *self)
{
  g_mutex_lock (&self->lock);
  self->over = TRUE;
  g_cond_broadcast (&self->ended);
  g_mutex_unlock (&self->lock);
}

/* What a host left whose keeper was killed with it; once in each process, and not while
 * somebody waits for a start. */
static void
remove_leftovers (PrismDockerSandbox *self, gint64 deadline)
{
  static gsize once;
  const PrismDockerOptions options = { .socket = self->socket, .docker = self->program };

  if (g_once_init_enter (&once))
    {
      prism_docker_leftovers_remove (&options, deadline, NULL, NULL);
      g_once_init_leave (&once, 1);
    }
}

/* An engine that is being started again is waited for, for a moment. */
static gboolean
open_patiently (PrismDockerEngine *engine, gint64 deadline, GError **error)
{
  gint64 until = MIN (deadline, g_get_monotonic_time () + PATIENCE_US);

  for (;;)
    {
      g_autoptr (GError) failure = NULL;
      if (prism_docker_engine_open (engine, &failure))
        return TRUE;
      if (!g_error_matches (failure, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_UNAVAILABLE)
          || g_get_monotonic_time () + RETRY_US > until)
        {
          g_propagate_error (error, g_steal_pointer (&failure));
          return FALSE;
        }
      g_usleep (RETRY_US);
    }
}

/* What cannot be removed now is the keeper's, for as long as the engine takes to come
 * back. */
static void
terminate_in_thread (gpointer data, PrismOperation *operation)
{
  PrismDockerSandbox *self = PRISM_DOCKER_SANDBOX (data);
  g_autoptr (PrismDockerEngine) engine =
      prism_docker_engine_new (self->socket, self->program, prism_operation_get_deadline (operation), NULL);
  g_autoptr (GError) error = NULL;
  gboolean done = prism_docker_engine_open (engine, NULL);

  if (self->socket != NULL)
    prism_docker_events_forget (self->socket, self->container);
  find_fate (self, engine);
  tell_ended (self);
  done = (done || open_patiently (engine, prism_operation_get_deadline (operation), &error))
         && prism_docker_engine_remove (engine, self->container, &error);
  prism_docker_room_remove (&self->room);
  if (done)
    {
      prism_docker_watch_forget (self->name);
      remove_leftovers (self, prism_operation_get_deadline (operation));
      prism_control_operation_complete (PRISM_CONTROL_OPERATION (operation));
    }
  else
    {
      prism_docker_watch_remove (self->name);
      prism_operation_fail (operation, error);
    }
}

static void
prism_docker_sandbox_terminate (PrismAgentSandbox *base, PrismControlOperation *operation)
{
  prism_operation_run_in_thread (PRISM_OPERATION (operation), terminate_in_thread);
}

/* --- holding it still ----------------------------------------------------------------- */

static void
note_pause (PrismDockerSandbox *self, gboolean begins)
{
  g_mutex_lock (&self->lock);
  if (begins)
    self->pause_began = g_get_real_time ();
  self->pause_ended = begins ? G_MAXINT64 : g_get_real_time ();
  g_mutex_unlock (&self->lock);
}

static void
hold (PrismDockerSandbox *self, PrismOperation *operation, gboolean pause)
{
  g_autoptr (PrismDockerEngine) engine =
      prism_docker_engine_new (self->socket, self->program, prism_operation_get_deadline (operation),
                               prism_operation_get_cancellable (operation));
  g_autoptr (GError) error = NULL;
  gboolean done;

  if (pause)
    note_pause (self, TRUE);
  done =
      prism_docker_engine_open (engine, &error) && prism_docker_engine_pause (engine, self->container, pause, &error);
  if (pause)
    note_pause (self, FALSE);
  if (done)
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

/* An engine tells of our own pauses too, by the same clock. */
static void
paused (GObject *object, gint64 when)
{
  PrismDockerSandbox *self = PRISM_DOCKER_SANDBOX (object);
  g_autoptr (GError) error = g_error_new_literal (PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_LOST,
                                                  "its container was paused by somebody else, through the engine");
  gboolean ours;

  g_mutex_lock (&self->lock);
  ours = when >= self->pause_began && when <= self->pause_ended;
  g_mutex_unlock (&self->lock);
  if (!ours)
    prism_agent_sandbox_lost (PRISM_AGENT_SANDBOX (self), error);
}

void
prism_docker_sandbox_watch (PrismDockerSandbox *self)
{
  if (self->socket != NULL)
    prism_docker_events_watch (self->socket, self->container, G_OBJECT (self), paused);
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

/* The agent hung up; whoever noticed ends the sandbox, and hears from the engine why. */
static char *
prism_docker_sandbox_explain_loss (PrismAgentSandbox *base)
{
  PrismDockerSandbox *self = PRISM_DOCKER_SANDBOX (base);
  gint64 until = g_get_monotonic_time () + EXPLAIN_US;
  char *text;

  g_mutex_lock (&self->lock);
  while (!self->over && g_cond_wait_until (&self->ended, &self->lock, until))
    ;
  text = g_strdup (self->fate);
  g_mutex_unlock (&self->lock);
  return text;
}

static void
prism_docker_sandbox_finalize (GObject *object)
{
  PrismDockerSandbox *self = PRISM_DOCKER_SANDBOX (object);

  prism_docker_room_clear (&self->room);
  g_free (self->socket);
  g_free (self->container);
  g_free (self->memory_group);
  g_free (self->program);
  g_free (self->name);
  g_free (self->fate);
  g_cond_clear (&self->ended);
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
  agent_class->explain_loss = prism_docker_sandbox_explain_loss;
}

static void
prism_docker_sandbox_init (PrismDockerSandbox *self)
{
  self->room = (PrismDockerRoom){ NULL, -1, -1 };
  g_mutex_init (&self->lock);
  g_cond_init (&self->ended);
}
