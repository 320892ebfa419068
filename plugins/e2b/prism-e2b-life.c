/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How a sandbox is paused, resumed and destroyed, and its way out changed. All of that waits
 * for the control plane, in a thread that may. */
#include <string.h>

#include "prism-e2b-sandbox-private.h"

/* --- what runs in it --------------------------------------------------------------------------- */

static GPtrArray *
list_runs (PrismE2bSandbox *self)
{
  GPtrArray *runs = g_ptr_array_new_with_free_func ((GDestroyNotify)prism_e2b_run_unref);

  for (guint i = 0; i < self->runs->len; i++)
    g_ptr_array_add (runs, prism_e2b_run_ref (self->runs->pdata[i]));
  return runs;
}

void
prism_e2b_sandbox_finish_runs (PrismE2bSandbox *self, PrismOutcome outcome, const char *limit, const char *reason)
{
  g_autoptr (GPtrArray) runs = list_runs (self);

  for (guint i = 0; i < runs->len; i++)
    prism_e2b_run_finish (runs->pdata[i], outcome, limit, reason);
}

void
prism_e2b_sandbox_suspend_runs (PrismE2bSandbox *self)
{
  g_autoptr (GPtrArray) runs = list_runs (self);

  for (guint i = 0; i < runs->len; i++)
    prism_e2b_run_suspend (runs->pdata[i]);
}

static gboolean
suspend_all (gpointer sandbox)
{
  prism_e2b_sandbox_suspend_runs (sandbox);
  return G_SOURCE_REMOVE;
}

static void
resume_runs (PrismE2bSandbox *self, const PrismE2bIdentity *identity)
{
  g_autoptr (GPtrArray) runs = list_runs (self);

  for (guint i = 0; i < runs->len; i++)
    prism_e2b_run_resume (runs->pdata[i], identity);
}

static gboolean
follow_all (gpointer sandbox)
{
  resume_runs (sandbox, IDENTITY ((PrismE2bSandbox *)sandbox));
  return G_SOURCE_REMOVE;
}

static gboolean
go_on_all (gpointer sandbox)
{
  resume_runs (sandbox, NULL);
  return G_SOURCE_REMOVE;
}

static gboolean
forget_all (gpointer sandbox)
{
  prism_e2b_sandbox_finish_runs (sandbox, PRISM_OUTCOME_LOST, NULL,
                                 "it was lost with the sandbox's memory, which a pause did not keep");
  return G_SOURCE_REMOVE;
}

static gboolean
kill_all (gpointer sandbox)
{
  prism_e2b_sandbox_finish_runs (sandbox, PRISM_OUTCOME_CANCELLED, NULL, "its sandbox was destroyed");
  return G_SOURCE_REMOVE;
}

static void
in_thread (PrismE2bSandbox *self, GSourceFunc func)
{
  prism_e2b_client_invoke (self->client, func, g_object_ref (self), g_object_unref);
}

/* --- its end --------------------------------------------------------------------------------------- */

/* It is brought in again if it is needed again. */
static void
drop_helper (PrismE2bSandbox *self)
{
  g_autoptr (PrismSandbox) helper = NULL;

  g_mutex_lock (&self->helper_lock);
  helper = g_steal_pointer (&self->helper);
  g_mutex_unlock (&self->helper_lock);
}

/* What the service does not confirm is not said to be so: a machine that lives on costs. */
gboolean
prism_e2b_sandbox_destroy (PrismE2bSandbox *self, GCancellable *cancellable, GError **error)
{
  g_auto (PrismE2bReply) reply = { 0 };
  g_autoptr (GError) failure = NULL;
  gboolean destroyed;

  g_mutex_lock (&self->lock);
  destroyed = self->destroyed;
  g_mutex_unlock (&self->lock);
  if (destroyed)
    return TRUE;
  if (!prism_e2b_sandbox_ask (self, "DELETE", "", "destroy the sandbox", NULL, TRUE, &reply, cancellable, &failure)
      && !g_error_matches (failure, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_NOT_FOUND))
    {
      g_propagate_prefixed_error (error, g_steal_pointer (&failure), "sandbox %s may live on: ", IDENTITY (self)->id);
      return FALSE;
    }
  g_mutex_lock (&self->lock);
  self->destroyed = TRUE;
  g_mutex_unlock (&self->lock);
  drop_helper (self);
  return TRUE;
}

static void
answer (PrismOperation *operation, gboolean fine, const GError *error)
{
  if (fine)
    prism_control_operation_complete (PRISM_CONTROL_OPERATION (operation));
  else
    prism_operation_fail (operation, error);
}

static void
do_kill (gpointer sandbox, PrismOperation *operation)
{
  PrismE2bSandbox *self = sandbox;
  g_autoptr (GError) error = NULL;
  gboolean fine = prism_e2b_sandbox_destroy (self, prism_operation_get_cancellable (operation), &error);

  if (fine)
    {
      g_atomic_int_compare_and_exchange (&self->status, PRISM_SANDBOX_STATUS_RUNNING, PRISM_SANDBOX_STATUS_STOPPED);
      in_thread (self, kill_all);
    }
  answer (operation, fine, error);
}

static void
do_close (gpointer sandbox, PrismOperation *operation)
{
  PrismE2bSandbox *self = sandbox;
  g_autoptr (GError) error = NULL;
  gboolean fine = prism_e2b_sandbox_destroy (self, prism_operation_get_cancellable (operation), &error);

  g_atomic_int_set (&self->status, fine ? PRISM_SANDBOX_STATUS_REMOVED : PRISM_SANDBOX_STATUS_FAILED);
  if (fine)
    in_thread (self, kill_all);
  answer (operation, fine, error);
}

static gboolean
is_paused (PrismE2bSandbox *self, GCancellable *cancellable)
{
  g_auto (PrismE2bDetail) detail = { 0 };

  return prism_e2b_ask_detail (self->client, IDENTITY (self)->id, &detail, NULL, cancellable, NULL)
         && detail.state == PRISM_E2B_STATE_PAUSED;
}

/* One that is paused already stays what it is; whether it is, the service says. */
static void
pause_keeping (PrismE2bSandbox *self, gboolean memory, PrismOperation *operation)
{
  GCancellable *cancellable = prism_operation_get_cancellable (operation);
  g_autoptr (GBytes) body = prism_e2b_pause_new (memory);
  g_auto (PrismE2bReply) reply = { 0 };
  g_autoptr (GError) error = NULL;
  gboolean fine = prism_e2b_sandbox_check_running (self, &error);

  if (fine)
    {
      drop_helper (self);
      in_thread (self, suspend_all);
      fine =
          prism_e2b_sandbox_ask (self, "POST", "/pause", "pause the sandbox", body, FALSE, &reply, cancellable, &error)
          || is_paused (self, cancellable);
      if (fine)
        g_atomic_int_compare_and_exchange (&self->status, PRISM_SANDBOX_STATUS_RUNNING, PRISM_SANDBOX_STATUS_STOPPED);
      if (!fine)
        in_thread (self, go_on_all);
      else if (!memory)
        in_thread (self, forget_all);
    }
  answer (operation, fine, error);
}

static void
do_pause (gpointer sandbox, PrismOperation *operation)
{
  pause_keeping (sandbox, ((PrismE2bSandbox *)sandbox)->keep_memory, operation);
}

/* What does not run any more is stopped. A stop keeps the memory, whatever a pause does. */
static void
do_stop (gpointer sandbox, PrismOperation *operation)
{
  PrismE2bSandbox *self = sandbox;

  if (g_atomic_int_get (&self->status) == PRISM_SANDBOX_STATUS_RUNNING)
    pause_keeping (self, TRUE, operation);
  else
    prism_control_operation_complete (PRISM_CONTROL_OPERATION (operation));
}

/* Who answers with another id has made another sandbox of it: that one is this one now. What
 * is claimed of its way out has to be seen of it again. */
static gboolean
follow_identity (PrismE2bSandbox *self, PrismE2bIdentity *identity, GCancellable *cancellable, GError **error)
{
  g_autoptr (PrismCapabilities) before = NULL;

  if (strcmp (identity->id, IDENTITY (self)->id) == 0)
    return TRUE;
  g_message ("sandbox %s is %s since it was resumed", IDENTITY (self)->id, identity->id);
  prism_e2b_sandbox_take_identity (self, identity);
  g_mutex_lock (&self->lock);
  before = g_steal_pointer (&self->capabilities);
  self->capabilities = prism_e2b_capabilities_new (
      NULL, "not enforced: it was resumed as another sandbox, and by which policy is not known");
  g_mutex_unlock (&self->lock);
  g_object_notify (G_OBJECT (self), "id");
  g_object_notify (G_OBJECT (self), "reference");
  g_object_notify (G_OBJECT (self), "capabilities");
  return TRUE;
}

static void
do_resume (gpointer sandbox, PrismOperation *operation)
{
  PrismE2bSandbox *self = sandbox;
  GCancellable *cancellable = prism_operation_get_cancellable (operation);
  gint64 seconds = prism_e2b_choose_seconds (self->spec), begun = g_get_monotonic_time ();
  gint64 wall = prism_limits_get (prism_sandbox_spec_get_limits (self->spec), "wall-time-ms");
  g_autoptr (GBytes) body = prism_e2b_timeout_new (seconds);
  g_auto (PrismE2bReply) reply = { 0 };
  g_auto (PrismE2bIdentity) identity = { 0 };
  g_autoptr (GError) error = NULL;
  gboolean destroyed, fine = FALSE;

  g_mutex_lock (&self->lock);
  destroyed = self->destroyed;
  g_mutex_unlock (&self->lock);
  if (g_atomic_int_get (&self->status) != PRISM_SANDBOX_STATUS_STOPPED || destroyed)
    g_set_error_literal (&error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_STATE, "the sandbox is not paused");
  else if (prism_e2b_sandbox_ask (self, "POST", "/connect", "resume the sandbox", body, FALSE, &reply, cancellable,
                                  &error))
    fine = prism_e2b_identity_parse (reply.body, &identity, &error)
           && follow_identity (self, &identity, cancellable, &error);
  else if (g_error_matches (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_NOT_FOUND))
    {
      g_atomic_int_set (&self->status, PRISM_SANDBOX_STATUS_REMOVED);
      in_thread (self, kill_all);
    }
  if (fine)
    {
      g_atomic_int_set (&self->status, PRISM_SANDBOX_STATUS_RUNNING);
      prism_e2b_sandbox_begin_clock (self, wall > 0      ? begun + wall * 1000
                                           : self->owned ? 0
                                                         : begun + seconds * G_USEC_PER_SEC);
      in_thread (self, follow_all);
    }
  answer (operation, fine, error);
}

PrismCapabilities *
prism_e2b_capabilities_new (const PrismE2bNetwork *network, const char *unsure)
{
  PrismControls controls = PRISM_CONTROLS_WORKSPACE | PRISM_CONTROLS_FILESYSTEM | PRISM_CONTROLS_PROCESS;
  GVariantBuilder evidence = G_VARIANT_BUILDER_INIT (G_VARIANT_TYPE ("a{ss}"));
  g_autofree char *way_out = network != NULL ? prism_e2b_network_dup_evidence (network) : NULL;
  const char *text = unsure != NULL ? unsure : way_out;
  const char *machine = "a virtual machine of the service's: nothing of this host is in it; what the service promises, "
                        "not what was tried";

  if (network != NULL && unsure == NULL)
    controls |= prism_e2b_network_get_controls (network);
  g_variant_builder_add (&evidence, "{ss}", "workspace", "commands and files go through one agent of the service's");
  g_variant_builder_add (&evidence, "{ss}", "filesystem", machine);
  g_variant_builder_add (&evidence, "{ss}", "process", machine);
  g_variant_builder_add (&evidence, "{ss}", "privilege", "not enforced: commands may become root in their machine");
  g_variant_builder_add (&evidence, "{ss}", "network", text);
  g_variant_builder_add (&evidence, "{ss}", "egress", text);
  g_variant_builder_add (&evidence, "{ss}", "alone", "not enforced: whoever has the account's key may use it as well");
  g_variant_builder_add (&evidence, "{ss}", "replay",
                         "not enforced: what a process writes while no host follows it, and how it ended, is not kept");
  return prism_capabilities_new (controls, g_variant_builder_end (&evidence));
}

static void
do_set_network (gpointer sandbox, PrismOperation *operation)
{
  PrismE2bSandbox *self = sandbox;
  GCancellable *cancellable = prism_operation_get_cancellable (operation);
  PrismEgressPolicy *policy = prism_control_operation_get_policy (PRISM_CONTROL_OPERATION (operation));
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismEgressPolicy) now = prism_egress_policy_resolve (policy, cancellable, &error);
  g_auto (PrismE2bNetwork) network = { 0 };
  g_auto (PrismE2bReply) reply = { 0 };
  g_autoptr (GBytes) body = NULL;
  gboolean fine =
      now != NULL && prism_e2b_sandbox_check_running (self, &error) && prism_e2b_network_init (&network, now, &error);

  if (fine)
    {
      body = prism_e2b_network_to_update (&network);
      fine = prism_e2b_sandbox_ask (self, "PUT", "/network", "change the network policy", body, TRUE, &reply,
                                    cancellable, &error);
      g_mutex_lock (&self->lock);
      prism_capabilities_unref (self->capabilities);
      self->capabilities = prism_e2b_capabilities_new (
          &network, fine ? NULL : "not enforced: a change of the policy failed, and which one holds is not known");
      g_mutex_unlock (&self->lock);
    }
  answer (operation, fine, error);
}

#define IN_A_THREAD(name, work)                                                                                        \
  static void name (PrismSandbox *sandbox, PrismControlOperation *operation)                                           \
  {                                                                                                                    \
    prism_operation_run_in_thread (PRISM_OPERATION (operation), work);                                                 \
  }

IN_A_THREAD (sandbox_kill, do_kill)
IN_A_THREAD (sandbox_close, do_close)
IN_A_THREAD (sandbox_pause, do_pause)
IN_A_THREAD (sandbox_stop, do_stop)
IN_A_THREAD (sandbox_resume, do_resume)
IN_A_THREAD (sandbox_set_network_policy, do_set_network)

void
prism_e2b_life_init (PrismSandboxInterface *iface)
{
  iface->set_network_policy = sandbox_set_network_policy;
  iface->pause = sandbox_pause;
  iface->stop = sandbox_stop;
  iface->resume = sandbox_resume;
  iface->kill = sandbox_kill;
  iface->close = sandbox_close;
}
