/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What ends a sandbox without being asked: its own time, and idleness. Both are kept here, in
 * the client's thread, by a clock that does not jump; the service's own end is behind them,
 * for when this host is gone.
 *
 * One whose time has no limit ends with its host all the same: the service is told now and
 * then that it has five minutes more, for as long as somebody has it. */
#include "prism-e2b-sandbox-private.h"

#define UNLIMITED_S 300
#define RENEW_MS    (100 * 1000)
#define SPARE_S     10 /* the service's end comes after this host's own, if both are there */

static gint64
get_limit (PrismE2bSandbox *self, const char *name)
{
  return prism_limits_get (prism_sandbox_spec_get_limits (self->spec), name);
}

gint64
prism_e2b_choose_seconds (PrismSandboxSpec *spec)
{
  gint64 wall = prism_limits_get (prism_sandbox_spec_get_limits (spec), "wall-time-ms");
  gboolean alone = prism_sandbox_spec_get_lifetime (spec) == PRISM_LIFETIME_DETACHED;

  return wall == 0 ? UNLIMITED_S : (wall + 999) / 1000 + (alone ? 0 : SPARE_S);
}

gint64
prism_e2b_sandbox_get_end (PrismE2bSandbox *self)
{
  gint64 end;

  g_mutex_lock (&self->lock);
  end = self->end_us;
  g_mutex_unlock (&self->lock);
  return end;
}

/* --- ends ----------------------------------------------------------------------------------- */

static void
destroyed (PrismE2bReply *reply, const GError *error, gpointer data)
{
  g_autoptr (PrismE2bSandbox) self = data;

  if (error != NULL && !g_error_matches (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_NOT_FOUND))
    {
      g_warning ("sandbox %s may live on: %s", IDENTITY (self)->id, error->message);
      return;
    }
  g_mutex_lock (&self->lock);
  self->destroyed = TRUE;
  g_mutex_unlock (&self->lock);
}

static void
end (PrismE2bSandbox *self, const char *limit)
{
  g_autofree char *path = g_strconcat ("/sandboxes/", IDENTITY (self)->id, NULL);
  PrismE2bRequest request = { .method = "DELETE", .path = path, .what = "destroy the sandbox", .idempotent = TRUE };

  if (!g_atomic_int_compare_and_exchange (&self->status, PRISM_SANDBOX_STATUS_RUNNING, PRISM_SANDBOX_STATUS_FAILED))
    return;
  prism_e2b_sandbox_finish_runs (self, PRISM_OUTCOME_WALL_EXCEEDED, limit, "the sandbox's time is over");
  g_object_notify (G_OBJECT (self), "status");
  prism_e2b_client_send (self->client, &request, destroyed, g_object_ref (self));
}

static void
paused (PrismE2bReply *reply, const GError *error, gpointer data)
{
  g_autoptr (PrismE2bSandbox) self = data;

  /* Where the service was first, it says that it is paused already. */
  if (error == NULL || g_error_matches (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_STATE))
    g_atomic_int_compare_and_exchange (&self->status, PRISM_SANDBOX_STATUS_RUNNING, PRISM_SANDBOX_STATUS_STOPPED);
  else
    end (self, "wall-time-ms");
}

static void
pause_at_end (PrismE2bSandbox *self)
{
  g_autofree char *path = g_strconcat ("/sandboxes/", IDENTITY (self)->id, "/pause", NULL);
  g_autoptr (GBytes) body = prism_e2b_pause_new (TRUE);
  PrismE2bRequest request = { .method = "POST", .path = path, .what = "pause the sandbox", .body = body };

  prism_e2b_sandbox_suspend_runs (self);
  prism_e2b_client_send (self->client, &request, paused, g_object_ref (self));
}

/* --- clocks ----------------------------------------------------------------------------------- */

static void
weak_free (gpointer data)
{
  g_weak_ref_clear (data);
  g_free (data);
}

/* None of them keeps the sandbox. */
static void
start (PrismE2bSandbox *self, GSource **source, gint64 ms, GSourceFunc func)
{
  GWeakRef *weak = g_new0 (GWeakRef, 1);

  prism_e2b_stop_source (source);
  g_weak_ref_init (weak, self);
  *source = g_timeout_source_new ((guint)CLAMP (ms, 1, G_MAXINT));
  g_source_set_callback (*source, func, weak, weak_free);
  g_source_attach (*source, prism_e2b_client_get_context (self->client));
}

static gboolean
is_running (PrismE2bSandbox *self)
{
  return g_atomic_int_get (&self->status) == PRISM_SANDBOX_STATUS_RUNNING;
}

static gboolean
wall_over (gpointer weak)
{
  g_autoptr (PrismE2bSandbox) self = g_weak_ref_get (weak);

  if (self == NULL || !is_running (self))
    return G_SOURCE_REMOVE;
  if (self->pauses)
    pause_at_end (self);
  else
    end (self, "wall-time-ms");
  return G_SOURCE_REMOVE;
}

static gboolean
idle_over (gpointer weak)
{
  g_autoptr (PrismE2bSandbox) self = g_weak_ref_get (weak);
  gint64 since;

  if (self == NULL || !is_running (self) || self->busy > 0)
    return G_SOURCE_REMOVE;
  g_mutex_lock (&self->lock);
  since = (g_get_monotonic_time () - self->touched_us) / 1000;
  g_mutex_unlock (&self->lock);
  if (since < get_limit (self, "idle-timeout-ms"))
    start (self, &self->idle, get_limit (self, "idle-timeout-ms") - since, idle_over);
  else
    end (self, "idle-timeout-ms");
  return G_SOURCE_REMOVE;
}

static void
renewed (PrismE2bReply *reply, const GError *error, gpointer data)
{
  g_autoptr (PrismE2bSandbox) self = data;

  if (error == NULL || !is_running (self))
    return;
  if (g_error_matches (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_NOT_FOUND))
    end (self, NULL);
  else if (g_error_matches (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_INVALID))
    {
      /* The account's plan bounds how long one may live. */
      g_message ("sandbox %s is given no more time and ends soon: %s", IDENTITY (self)->id, error->message);
      prism_e2b_stop_source (&self->renew);
    }
}

static gboolean
renew (gpointer weak)
{
  g_autoptr (PrismE2bSandbox) self = g_weak_ref_get (weak);
  g_autoptr (GBytes) body = prism_e2b_timeout_new (UNLIMITED_S);
  g_autofree char *path = NULL;
  PrismE2bRequest request = {
    .method = "POST", .what = "give the sandbox more time", .body = body, .idempotent = TRUE
  };

  if (self == NULL)
    return G_SOURCE_REMOVE;
  if (!is_running (self))
    return G_SOURCE_CONTINUE;
  request.path = path = g_strconcat ("/sandboxes/", IDENTITY (self)->id, "/timeout", NULL);
  prism_e2b_client_send (self->client, &request, renewed, g_object_ref (self));
  return G_SOURCE_CONTINUE;
}

static gboolean
begin (gpointer data)
{
  PrismE2bSandbox *self = data;
  gint64 end_us = prism_e2b_sandbox_get_end (self);

  if (end_us > 0)
    start (self, &self->wall, (end_us - g_get_monotonic_time ()) / 1000, wall_over);
  else if (self->owned)
    start (self, &self->renew, RENEW_MS, renew);
  if (get_limit (self, "idle-timeout-ms") > 0 && self->busy == 0)
    start (self, &self->idle, get_limit (self, "idle-timeout-ms"), idle_over);
  return G_SOURCE_REMOVE;
}

void
prism_e2b_sandbox_begin_clock (PrismE2bSandbox *self, gint64 end_us)
{
  g_mutex_lock (&self->lock);
  self->end_us = end_us;
  self->touched_us = g_get_monotonic_time ();
  g_mutex_unlock (&self->lock);
  prism_e2b_client_invoke (self->client, begin, g_object_ref (self), g_object_unref);
}

void
prism_e2b_sandbox_touch (PrismE2bSandbox *self)
{
  g_mutex_lock (&self->lock);
  self->touched_us = g_get_monotonic_time ();
  g_mutex_unlock (&self->lock);
}

void
prism_e2b_sandbox_busy (PrismE2bSandbox *self)
{
  self->busy++;
  prism_e2b_stop_source (&self->idle);
}

void
prism_e2b_sandbox_idle (PrismE2bSandbox *self)
{
  gint64 ms = get_limit (self, "idle-timeout-ms");

  if (--self->busy > 0 || ms == 0)
    return;
  prism_e2b_sandbox_touch (self);
  start (self, &self->idle, ms, idle_over);
}

void
prism_e2b_sandbox_clear_clock (PrismE2bSandbox *self)
{
  prism_e2b_stop_source (&self->wall);
  prism_e2b_stop_source (&self->idle);
  prism_e2b_stop_source (&self->renew);
}
