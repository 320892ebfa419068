/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-agent-admission-private.h"

#include "prism-sandbox-error.h"

void
prism_agent_admission_init (PrismAgentAdmission *self, gint64 most_running, gint64 most_processes, gint64 most_commands)
{
  g_mutex_init (&self->lock);
  g_queue_init (&self->queue);
  self->most_running = most_running;
  self->most_processes = most_processes;
  self->most_commands = most_commands;
  self->idle_since = g_get_monotonic_time ();
}

void
prism_agent_admission_clear (PrismAgentAdmission *self)
{
  g_mutex_clear (&self->lock);
}

static void
work_begins (PrismAgentAdmission *self)
{
  self->working++;
}

static void
work_ends (PrismAgentAdmission *self)
{
  if (--self->working == 0)
    self->idle_since = g_get_monotonic_time ();
}

gboolean
prism_agent_admission_enter (PrismAgentAdmission *self,
                             PrismAgentTurn *turn,
                             void (*grant) (gpointer data),
                             gpointer data)
{
  *turn = (PrismAgentTurn){ .grant = grant, .data = data, .link = { turn, NULL, NULL } };
  g_mutex_lock (&self->lock);
  work_begins (self);
  turn->granted = g_queue_is_empty (&self->queue) && self->running < self->most_running;
  turn->queued = !turn->granted;
  if (turn->granted)
    self->running++;
  else
    g_queue_push_tail_link (&self->queue, &turn->link);
  gboolean granted = turn->granted;
  g_mutex_unlock (&self->lock);
  return granted;
}

gboolean
prism_agent_admission_is_granted (PrismAgentAdmission *self, PrismAgentTurn *turn)
{
  g_mutex_lock (&self->lock);
  gboolean granted = turn->granted;
  g_mutex_unlock (&self->lock);
  return granted;
}

void
prism_agent_admission_leave (PrismAgentAdmission *self, PrismAgentTurn *turn)
{
  g_mutex_lock (&self->lock);
  if (turn->queued || turn->granted)
    work_ends (self);
  if (turn->queued)
    g_queue_unlink (&self->queue, &turn->link);
  else if (turn->granted)
    {
      GList *next = g_queue_pop_head_link (&self->queue);
      if (next != NULL)
        {
          PrismAgentTurn *heir = next->data;
          heir->queued = FALSE;
          heir->granted = TRUE;
          heir->grant (heir->data);
        }
      else
        self->running--;
    }
  turn->queued = turn->granted = FALSE;
  g_mutex_unlock (&self->lock);
}

gboolean
prism_agent_admission_count (PrismAgentAdmission *self, GError **error)
{
  g_mutex_lock (&self->lock);
  gboolean left = self->most_commands == 0 || self->commands < (guint64)self->most_commands;
  if (left)
    self->commands++;
  g_mutex_unlock (&self->lock);
  if (!left)
    g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_LIMIT,
                 "all %" G_GINT64_FORMAT " commands of this sandbox are used up (max-commands); make another sandbox",
                 self->most_commands);
  return left;
}

gboolean
prism_agent_admission_enter_process (PrismAgentAdmission *self, GError **error)
{
  g_mutex_lock (&self->lock);
  gboolean left = self->processes < self->most_processes;
  if (left)
    {
      self->processes++;
      work_begins (self);
    }
  g_mutex_unlock (&self->lock);
  if (!left)
    g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_LIMIT,
                 "%" G_GINT64_FORMAT " processes are running (max-processes); end one first", self->most_processes);
  return left;
}

void
prism_agent_admission_leave_process (PrismAgentAdmission *self)
{
  g_mutex_lock (&self->lock);
  self->processes--;
  work_ends (self);
  g_mutex_unlock (&self->lock);
}

void
prism_agent_admission_work_begins (PrismAgentAdmission *self)
{
  g_mutex_lock (&self->lock);
  work_begins (self);
  g_mutex_unlock (&self->lock);
}

void
prism_agent_admission_work_ends (PrismAgentAdmission *self)
{
  g_mutex_lock (&self->lock);
  work_ends (self);
  g_mutex_unlock (&self->lock);
}

gint64
prism_agent_admission_get_idle_since (PrismAgentAdmission *self)
{
  g_mutex_lock (&self->lock);
  gint64 since = self->working > 0 ? G_MAXINT64 : self->idle_since;
  g_mutex_unlock (&self->lock);
  return since;
}
