/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a sandbox is to who has it: its state, its life, its way out. What waits for the
 * control plane does so in a thread that may. */
#include "prism-e2b-sandbox-private.h"

#include <string.h>

#include "prism-e2b-process.h"
#include "prism-e2b-reference.h"

enum
{
  PROP_0,
  PROP_ID,
  PROP_BACKEND_NAME,
  PROP_STATUS,
  PROP_WORKSPACE,
  PROP_CAPABILITIES,
  PROP_REFERENCE,
};

static void sandbox_init (PrismSandboxInterface *iface);
G_DEFINE_FINAL_TYPE_WITH_CODE (PrismE2bSandbox,
                               prism_e2b_sandbox,
                               G_TYPE_OBJECT,
                               G_IMPLEMENT_INTERFACE (PRISM_TYPE_SANDBOX, sandbox_init))

/* --- state ------------------------------------------------------------------------------------ */

gboolean
prism_e2b_sandbox_check_running (PrismE2bSandbox *self, GError **error)
{
  static const char *const names[] = { "running", "paused", "removed", "failed: its time is over, or it is gone" };
  int status = g_atomic_int_get (&self->status);

  if (status == PRISM_SANDBOX_STATUS_RUNNING)
    return TRUE;
  g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_STATE, "the sandbox is %s%s", names[status],
               status == PRISM_SANDBOX_STATUS_STOPPED ? "; resume it first, which no command does by itself" : "");
  return FALSE;
}

gint64
prism_e2b_sandbox_get_left_ms (PrismE2bSandbox *self)
{
  gint64 end;

  g_mutex_lock (&self->lock);
  end = self->end_us;
  g_mutex_unlock (&self->lock);
  return end == 0 ? 0 : MAX ((end - g_get_real_time ()) / 1000, 1);
}

char **
prism_e2b_sandbox_dup_env (PrismE2bSandbox *self, PrismCommand *command)
{
  g_autoptr (GStrvBuilder) env = g_strv_builder_new ();
  const char *const *common = prism_sandbox_spec_get_env (self->spec);
  const char *const *own = prism_command_get_env (command);

  if (common != NULL)
    g_strv_builder_addv (env, (const char **)common);
  if (own != NULL)
    g_strv_builder_addv (env, (const char **)own);
  return g_strv_builder_end (env);
}

/* --- asking ------------------------------------------------------------------------------------- */

static gboolean
ask (PrismE2bClient *client,
     const char *method,
     const char *path,
     const char *what,
     GBytes *body,
     gboolean idempotent,
     PrismE2bReply *reply,
     GCancellable *cancellable,
     GError **error)
{
  PrismE2bRequest request = {
    .plane = PRISM_E2B_PLANE_CONTROL,
    .method = method,
    .path = path,
    .what = what,
    .body = body,
    .idempotent = idempotent,
  };

  return prism_e2b_client_call (client, &request, reply, cancellable, error);
}

static gboolean
ask_detail (PrismE2bClient *client,
            const char *id,
            PrismE2bDetail *detail,
            JsonNode **node,
            GCancellable *cancellable,
            GError **error)
{
  g_autofree char *path = g_strconcat ("/sandboxes/", id, NULL);
  g_auto (PrismE2bReply) reply = { 0 };
  g_autoptr (JsonNode) answer = NULL;

  if (!ask (client, "GET", path, "look at the sandbox", NULL, TRUE, &reply, cancellable, error))
    return FALSE;
  answer = prism_http_json_parse (reply.body, NULL);
  if (!prism_e2b_detail_parse (answer, detail, error))
    return FALSE;
  if (node != NULL)
    *node = g_steal_pointer (&answer);
  return TRUE;
}

static gboolean
ask_for (PrismE2bSandbox *self,
         const char *method,
         const char *suffix,
         const char *what,
         GBytes *body,
         gboolean idempotent,
         PrismE2bReply *reply,
         GCancellable *cancellable,
         GError **error)
{
  g_autofree char *path = g_strconcat ("/sandboxes/", self->identity.id, suffix, NULL);
  return ask (self->client, method, path, what, body, idempotent, reply, cancellable, error);
}

void
prism_e2b_sandbox_refine (PrismE2bSandbox *self, GError **error)
{
  g_auto (PrismE2bDetail) detail = { 0 };
  g_autoptr (GError) failure = NULL;

  if (!g_error_matches (*error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_LOST))
    return;
  if (ask_detail (self->client, self->identity.id, &detail, NULL, NULL, &failure))
    {
      if (detail.state != PRISM_E2B_STATE_PAUSED)
        return;
      g_atomic_int_compare_and_exchange (&self->status, PRISM_SANDBOX_STATUS_RUNNING, PRISM_SANDBOX_STATUS_STOPPED);
      g_clear_error (error);
      prism_e2b_sandbox_check_running (self, error);
      return;
    }
  if (!g_error_matches (failure, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_NOT_FOUND))
    return;
  g_atomic_int_compare_and_exchange (&self->status, PRISM_SANDBOX_STATUS_RUNNING, PRISM_SANDBOX_STATUS_FAILED);
  g_prefix_error (error, "the sandbox is gone: ");
}

gboolean
prism_e2b_sandbox_call (PrismE2bSandbox *self,
                        const char *path,
                        const char *what,
                        GBytes *body,
                        gboolean idempotent,
                        JsonNode **answer,
                        PrismOperation *operation,
                        GError **error)
{
  PrismE2bRequest request = {
    .plane = PRISM_E2B_PLANE_DATA,
    .identity = &self->identity,
    .method = "POST",
    .path = path,
    .what = what,
    .user = g_str_has_prefix (path, "/filesystem.") ? self->user : NULL,
    .body = body,
    .rpc = TRUE,
    .idempotent = idempotent,
    .most_bytes = 64 * 1024 * 1024,
    .deadline = prism_operation_get_deadline (operation),
  };
  g_auto (PrismE2bReply) reply = { 0 };
  g_autoptr (JsonNode) node = NULL;

  if (body == NULL
      || !prism_e2b_client_call (self->client, &request, &reply, prism_operation_get_cancellable (operation), error))
    {
      if (error != NULL && *error != NULL)
        prism_e2b_sandbox_refine (self, error);
      return FALSE;
    }
  node = prism_http_json_parse (reply.body, NULL);
  if (prism_http_json_object (node) == NULL)
    {
      g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_LOST, "cannot %s: the answer is no JSON", what);
      return FALSE;
    }
  if (answer != NULL)
    *answer = g_steal_pointer (&node);
  return TRUE;
}

/* --- processes ------------------------------------------------------------------------------------- */

void
prism_e2b_sandbox_start_process (PrismSandbox *sandbox, PrismProcessOperation *operation)
{
  PrismE2bSandbox *self = PRISM_E2B_SANDBOX (sandbox);
  PrismCommand *command = prism_process_operation_get_command (operation);
  const char *cwd = prism_command_get_cwd (command);
  guint columns = prism_command_get_pty_columns (command);
  g_auto (GStrv) env = prism_e2b_sandbox_dup_env (self, command);
  g_autoptr (GError) error = NULL;
  g_autoptr (GBytes) start = NULL;
  g_autofree char *fingerprint = NULL;
  PrismE2bRunSpec spec;

  if (prism_e2b_sandbox_check_running (self, &error) && prism_sandbox_spec_check_command (self->spec, command, &error))
    start = prism_e2b_start_new (prism_command_get_argv (command), (const char *const *)env,
                                 cwd != NULL ? cwd : self->workspace, TRUE, columns,
                                 prism_command_get_pty_rows (command), &error);
  if (start == NULL)
    {
      prism_operation_fail (PRISM_OPERATION (operation), error);
      return;
    }
  fingerprint = prism_command_dup_fingerprint (command);
  spec = (PrismE2bRunSpec){
    .client = self->client,
    .identity = &self->identity,
    .user = self->user,
    .start = start,
    .pty = columns > 0,
    .timeout_ms = prism_command_get_timeout_ms (command),
    .max_kept = -1,
  };
  prism_e2b_process_begin (self, &spec, fingerprint, operation);
}

/* The reference says which; the service says whether it is that one. */
static void
attach (gpointer sandbox, PrismOperation *operation)
{
  PrismE2bSandbox *self = PRISM_E2B_SANDBOX (sandbox);
  PrismProcessOperation *process_operation = PRISM_PROCESS_OPERATION (operation);
  g_auto (PrismE2bReference) reference = { 0 };
  g_autoptr (GBytes) body = g_bytes_new_static ("{}", 2);
  g_autoptr (JsonNode) answer = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *fingerprint = NULL;
  PrismE2bRunSpec spec;

  if (!prism_e2b_reference_parse (prism_process_operation_get_reference (process_operation), &reference)
      || strcmp (reference.sandbox, self->identity.id) != 0 || strcmp (reference.workspace, self->workspace) != 0)
    g_set_error_literal (&error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_NOT_FOUND,
                         "the reference names no process of this sandbox");
  else if (prism_e2b_sandbox_check_running (self, &error)
           && prism_e2b_sandbox_call (self, "/process.Process/List", "list the processes", body, TRUE, &answer,
                                      operation, &error)
           && (!prism_e2b_list_find (answer, reference.pid, &fingerprint)
               || g_strcmp0 (fingerprint, reference.fingerprint) != 0))
    g_set_error_literal (&error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_NOT_FOUND,
                         "the process is not there any more, or another one has its number");
  if (error != NULL)
    {
      prism_operation_fail (operation, error);
      return;
    }
  spec = (PrismE2bRunSpec){
    .client = self->client,
    .identity = &self->identity,
    .pid = reference.pid,
    .max_kept = -1,
  };
  prism_e2b_process_begin (self, &spec, fingerprint, process_operation);
}

void
prism_e2b_sandbox_attach_process (PrismSandbox *sandbox, PrismProcessOperation *operation)
{
  prism_operation_run_in_thread (PRISM_OPERATION (operation), attach);
}

/* --- its life -------------------------------------------------------------------------------------- */

typedef struct
{
  PrismE2bSandbox *self;
  PrismOutcome outcome;
} Ending;

static gboolean
end_runs (gpointer data)
{
  Ending *ending = data;
  g_autoptr (GPtrArray) runs = g_ptr_array_new_with_free_func ((GDestroyNotify)prism_e2b_run_unref);

  for (guint i = 0; i < ending->self->runs->len; i++)
    g_ptr_array_add (runs, prism_e2b_run_ref (ending->self->runs->pdata[i]));
  for (guint i = 0; i < runs->len; i++)
    {
      prism_e2b_run_end (runs->pdata[i], ending->outcome, NULL);
      prism_e2b_run_detach (runs->pdata[i]);
    }
  return G_SOURCE_REMOVE;
}

static void
ending_free (gpointer data)
{
  g_object_unref (((Ending *)data)->self);
  g_free (data);
}

/* Everything of it was ended, by the service: nothing more will be heard of it. */
static void
end_all (PrismE2bSandbox *self, PrismOutcome outcome)
{
  Ending *ending = g_new (Ending, 1);

  *ending = (Ending){ g_object_ref (self), outcome };
  prism_e2b_client_invoke (self->client, end_runs, ending, ending_free);
}

/* What the service does not confirm is not said to be so: a machine that lives on costs. */
static gboolean
destroy (PrismE2bSandbox *self, GCancellable *cancellable, GError **error)
{
  g_auto (PrismE2bReply) reply = { 0 };
  g_autoptr (GError) failure = NULL;
  gboolean destroyed;

  g_mutex_lock (&self->lock);
  destroyed = self->destroyed;
  g_mutex_unlock (&self->lock);
  if (destroyed)
    return TRUE;
  if (!ask_for (self, "DELETE", "", "destroy the sandbox", NULL, TRUE, &reply, cancellable, &failure)
      && !g_error_matches (failure, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_NOT_FOUND))
    {
      g_propagate_prefixed_error (error, g_steal_pointer (&failure), "sandbox %s may live on: ", self->identity.id);
      return FALSE;
    }
  g_mutex_lock (&self->lock);
  self->destroyed = TRUE;
  g_mutex_unlock (&self->lock);
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
  gboolean fine = destroy (self, prism_operation_get_cancellable (operation), &error);

  if (fine)
    {
      g_atomic_int_compare_and_exchange (&self->status, PRISM_SANDBOX_STATUS_RUNNING, PRISM_SANDBOX_STATUS_STOPPED);
      end_all (self, PRISM_OUTCOME_CANCELLED);
    }
  answer (operation, fine, error);
}

static void
do_close (gpointer sandbox, PrismOperation *operation)
{
  PrismE2bSandbox *self = sandbox;
  g_autoptr (GError) error = NULL;
  gboolean fine = destroy (self, prism_operation_get_cancellable (operation), &error);

  g_atomic_int_set (&self->status, fine ? PRISM_SANDBOX_STATUS_REMOVED : PRISM_SANDBOX_STATUS_FAILED);
  if (fine)
    end_all (self, PRISM_OUTCOME_CANCELLED);
  answer (operation, fine, error);
}

/* One that is paused already stays what it is; whether it is, the service says. */
static void
do_pause (gpointer sandbox, PrismOperation *operation)
{
  PrismE2bSandbox *self = sandbox;
  GCancellable *cancellable = prism_operation_get_cancellable (operation);
  g_autoptr (GBytes) body = prism_e2b_pause_new (self->keep_memory);
  g_auto (PrismE2bReply) reply = { 0 };
  g_auto (PrismE2bDetail) detail = { 0 };
  g_autoptr (GError) error = NULL;
  gboolean fine = prism_e2b_sandbox_check_running (self, &error)
                  && ask_for (self, "POST", "/pause", "pause the sandbox", body, FALSE, &reply, cancellable, &error);

  if (!fine && g_atomic_int_get (&self->status) == PRISM_SANDBOX_STATUS_RUNNING
      && ask_detail (self->client, self->identity.id, &detail, NULL, cancellable, NULL)
      && detail.state == PRISM_E2B_STATE_PAUSED)
    fine = TRUE;
  if (fine)
    {
      g_atomic_int_set (&self->status, PRISM_SANDBOX_STATUS_STOPPED);
      /* Without its memory nothing of them is left; with it their streams are cut all the same. */
      end_all (self, PRISM_OUTCOME_LOST);
    }
  answer (operation, fine, error);
}

static gint64
choose_seconds (PrismSandboxSpec *spec)
{
  gint64 wall = prism_limits_get (prism_sandbox_spec_get_limits (spec), "wall-time-ms");
  return wall > 0 ? (wall + 999) / 1000 : 300;
}

/* Who answers with another id has made another sandbox of it: that one is followed. */
static void
do_resume (gpointer sandbox, PrismOperation *operation)
{
  PrismE2bSandbox *self = sandbox;
  GCancellable *cancellable = prism_operation_get_cancellable (operation);
  gint64 seconds = choose_seconds (self->spec);
  g_autoptr (GBytes) body = prism_e2b_timeout_new (seconds);
  g_auto (PrismE2bReply) reply = { 0 };
  g_auto (PrismE2bIdentity) identity = { 0 };
  g_autoptr (GError) error = NULL;
  gboolean fine = FALSE;

  if (g_atomic_int_get (&self->status) != PRISM_SANDBOX_STATUS_STOPPED || self->destroyed)
    g_set_error_literal (&error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_STATE, "the sandbox is not paused");
  else if (ask_for (self, "POST", "/connect", "resume the sandbox", body, FALSE, &reply, cancellable, &error))
    fine = prism_e2b_identity_parse (reply.body, &identity, &error);
  if (fine && strcmp (identity.id, self->identity.id) != 0)
    {
      fine = FALSE;
      g_set_error (&error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_LOST,
                   "the service resumed it as another sandbox, %s; connect to that one", identity.id);
    }
  if (fine)
    {
      g_mutex_lock (&self->lock);
      self->end_us = g_get_real_time () + seconds * G_USEC_PER_SEC;
      g_mutex_unlock (&self->lock);
      g_atomic_int_set (&self->status, PRISM_SANDBOX_STATUS_RUNNING);
    }
  answer (operation, fine, error);
}

static PrismCapabilities *
make_capabilities (const PrismE2bNetwork *network, const char *unsure)
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
      fine = ask_for (self, "PUT", "/network", "change the network policy", body, TRUE, &reply, cancellable, &error);
      g_mutex_lock (&self->lock);
      prism_capabilities_unref (self->capabilities);
      self->capabilities = make_capabilities (
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
IN_A_THREAD (sandbox_resume, do_resume)
IN_A_THREAD (sandbox_set_network_policy, do_set_network)

static void
sandbox_init (PrismSandboxInterface *iface)
{
  iface->exec = prism_e2b_sandbox_exec;
  iface->start_process = prism_e2b_sandbox_start_process;
  iface->attach_process = prism_e2b_sandbox_attach_process;
  iface->set_network_policy = sandbox_set_network_policy;
  iface->pause = sandbox_pause;
  iface->stop = sandbox_pause;
  iface->resume = sandbox_resume;
  iface->kill = sandbox_kill;
  iface->close = sandbox_close;
  prism_e2b_files_init (iface);
}

/* --- making one ---------------------------------------------------------------------------------------- */

static PrismE2bSandbox *
sandbox_new (PrismE2bClient *client, const PrismE2bOptions *options, PrismSandboxSpec *spec)
{
  PrismE2bSandbox *self = g_object_new (PRISM_TYPE_E2B_SANDBOX, NULL);

  self->client = prism_e2b_client_ref (client);
  self->spec = g_object_ref (spec);
  self->workspace = g_strdup (prism_sandbox_spec_get_sandbox_path (spec));
  self->user = g_strdup (options->user);
  self->keep_memory = TRUE;
  return self;
}

static void
want (GString *wrong, gboolean fine, const char *what)
{
  if (!fine)
    g_string_append_printf (wrong, "%s%s", wrong->len > 0 ? "; " : "", what);
}

/* What a service far away cannot do, all of it at once. */
static gboolean
check_spec (PrismSandboxSpec *spec, GError **error)
{
  g_autoptr (GString) wrong = g_string_new (NULL);
  const char *const *hide = prism_sandbox_spec_get_hide (spec), *const *protect = prism_sandbox_spec_get_protect (spec);

  want (wrong, prism_sandbox_spec_get_workspace (spec) == NULL,
        "a folder of this host is not there; leave the workspace out, and import what is needed");
  want (wrong, g_list_model_get_n_items (prism_sandbox_spec_get_mounts (spec)) == 0,
        "folders of this host cannot be mounted there");
  want (wrong, (hide == NULL || *hide == NULL) && (protect == NULL || *protect == NULL),
        "there is nothing of this host to hide or protect");
  want (wrong, g_list_model_get_n_items (prism_sandbox_spec_get_credentials (spec)) == 0,
        "credentials cannot be kept from it: nothing on the way is this library's");
  want (wrong, prism_sandbox_spec_get_audit (spec) == NULL,
        "what leaves it is not seen here and cannot be written down");
  want (wrong, prism_sandbox_spec_get_network (spec) != PRISM_NETWORK_MODE_CUSTOM, "there are no networks to name");
  if (wrong->len == 0)
    return TRUE;
  g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_REFUSED, "%s", wrong->str);
  return FALSE;
}

static gboolean
init_network (PrismSandboxSpec *spec, PrismE2bNetwork *network, GCancellable *cancellable, GError **error)
{
  PrismEgressPolicy *policy = prism_sandbox_spec_get_network (spec) == PRISM_NETWORK_MODE_EGRESS
                                  ? prism_sandbox_spec_get_egress_policy (spec)
                                  : NULL;
  g_autoptr (PrismEgressPolicy) now = NULL;

  if (policy != NULL && (now = prism_egress_policy_resolve (policy, cancellable, error)) == NULL)
    return FALSE;
  return prism_e2b_network_init (network, now, error);
}

/* Its answer was lost: whether there is one now says its label. What is found is destroyed,
 * for nobody knows its token. */
static void
look_for_stray (PrismE2bClient *client, const char *own_id, GError **error)
{
  g_autofree char *path = prism_e2b_list_path (PRISM_E2B_LABEL_ID, own_id, NULL);
  g_autoptr (GPtrArray) details = prism_e2b_details_new ();
  g_auto (PrismE2bReply) reply = { 0 };
  g_autoptr (GError) failure = NULL;

  if (!ask (client, "GET", path, "look for the sandbox", NULL, TRUE, &reply, NULL, &failure)
      || !prism_e2b_details_parse (reply.body, details, &failure))
    {
      g_prefix_error (error, "there may be a sandbox with the label %s=%s: ", PRISM_E2B_LABEL_ID, own_id);
      return;
    }
  if (details->len == 0)
    g_prefix_error (error, "no sandbox was made, as the service says now: ");
  for (guint i = 0; i < details->len; i++)
    {
      const char *id = ((PrismE2bDetail *)details->pdata[i])->id;
      g_autofree char *one = g_strconcat ("/sandboxes/", id, NULL);
      g_auto (PrismE2bReply) gone = { 0 };

      if (ask (client, "DELETE", one, "destroy the sandbox", NULL, TRUE, &gone, NULL, NULL))
        g_prefix_error (error, "sandbox %s was made, and was destroyed again: ", id);
      else
        g_prefix_error (error, "sandbox %s was made and may live on: ", id);
    }
}

static gboolean
make_workspace (PrismE2bSandbox *self, GCancellable *cancellable, GError **error)
{
  g_autoptr (GBytes) body = prism_e2b_path_new (self->workspace, 0, error);
  PrismE2bRequest request = {
    .plane = PRISM_E2B_PLANE_DATA,
    .identity = &self->identity,
    .method = "POST",
    .path = "/filesystem.Filesystem/MakeDir",
    .what = "make the workspace",
    .user = self->user,
    .body = body,
    .rpc = TRUE,
    .idempotent = TRUE,
    .deadline = g_get_monotonic_time () + 15 * G_USEC_PER_SEC,
  };
  g_auto (PrismE2bReply) reply = { 0 };
  g_autoptr (GError) failure = NULL;

  if (body == NULL)
    return FALSE;
  if (prism_e2b_client_call (self->client, &request, &reply, cancellable, &failure))
    return TRUE;
  /* STATE: it is there already. */
  if (g_error_matches (failure, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_STATE))
    return TRUE;
  g_propagate_error (error, g_steal_pointer (&failure));
  return FALSE;
}

/* A refusal that was not heard, or a claim that does not hold, leaves nothing behind. */
static gboolean
settle (PrismE2bSandbox *self, const PrismE2bNetwork *network, GCancellable *cancellable, GError **error)
{
  g_auto (PrismE2bDetail) detail = { 0 };
  g_autoptr (JsonNode) node = NULL;
  const char *why = NULL;

  if (!ask_detail (self->client, self->identity.id, &detail, &node, cancellable, error))
    return FALSE;
  self->end_us = detail.end_us;
  if (!prism_e2b_network_matches (network, node, &why))
    {
      g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_REFUSED, "the network policy does not hold: %s",
                   why);
      return FALSE;
    }
  self->capabilities = make_capabilities (network, NULL);
  return prism_capabilities_check_required (self->capabilities, prism_sandbox_spec_get_require (self->spec), error)
         && make_workspace (self, cancellable, error);
}

PrismSandbox *
prism_e2b_sandbox_create (PrismE2bClient *client,
                          const PrismE2bOptions *options,
                          PrismSandboxSpec *spec,
                          GCancellable *cancellable,
                          GError **error)
{
  g_auto (PrismE2bNetwork) network = { 0 };
  g_autofree char *own_id = g_uuid_string_random ();
  PrismE2bCreate create = {
    .template_name = options->template_name != NULL ? options->template_name : "base",
    .timeout_s = choose_seconds (spec),
    .pause_at_end = g_strcmp0 (options->on_timeout, "pause") == 0,
    .keep_memory = TRUE,
    .own_id = own_id,
    .labels = prism_sandbox_spec_get_labels (spec),
    .network = &network,
  };
  g_autoptr (PrismE2bSandbox) self = NULL;
  g_autoptr (PrismCapabilities) promised = NULL;
  g_autoptr (GBytes) body = NULL;
  g_auto (PrismE2bReply) reply = { 0 };
  g_autoptr (GError) failure = NULL;

  if (!check_spec (spec, error) || !init_network (spec, &network, cancellable, error))
    return NULL;
  promised = make_capabilities (&network, NULL);
  if (!prism_capabilities_check_required (promised, prism_sandbox_spec_get_require (spec), error)
      || (body = prism_e2b_create_new (&create, error)) == NULL)
    return NULL;
  prism_redactor_add_environment (prism_e2b_client_get_redactor (client), prism_sandbox_spec_get_secrets (spec));
  self = sandbox_new (client, options, spec);
  if (!ask (client, "POST", "/sandboxes", "create the sandbox", body, FALSE, &reply, cancellable, &failure)
      || !prism_e2b_identity_parse (reply.body, &self->identity, &failure))
    {
      if (!g_error_matches (failure, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_UNAVAILABLE)
          && !g_error_matches (failure, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_INVALID))
        look_for_stray (client, own_id, &failure);
      g_propagate_error (error, g_steal_pointer (&failure));
      return NULL;
    }
  if (self->identity.access_token != NULL)
    prism_redactor_add (prism_e2b_client_get_redactor (client), self->identity.access_token);
  self->owned = prism_sandbox_spec_get_lifetime (spec) == PRISM_LIFETIME_HOST;
  if (settle (self, &network, cancellable, error))
    return PRISM_SANDBOX (g_steal_pointer (&self));
  if (!destroy (self, NULL, &failure))
    g_prefix_error (error, "%s; ", failure->message);
  return NULL;
}

/* --- an existing one -------------------------------------------------------------------------------------- */

static gboolean
is_ours (const PrismE2bDetail *detail)
{
  return g_strv_contains ((const char *const *)detail->labels, PRISM_E2B_LABEL_SANDBOX "=1");
}

/* Looked at first: to connect to a paused one would resume it. */
PrismSandbox *
prism_e2b_sandbox_connect (PrismE2bClient *client,
                           const PrismE2bOptions *options,
                           const char *reference,
                           GCancellable *cancellable,
                           GError **error)
{
  g_autoptr (PrismSandboxSpec) spec = prism_sandbox_spec_new (NULL);
  g_autoptr (PrismE2bSandbox) self = NULL;
  g_auto (PrismE2bDetail) detail = { 0 };
  g_autoptr (JsonNode) node = NULL;
  const char *id = g_str_has_prefix (reference, PRISM_E2B_SANDBOX_PREFIX)
                       ? reference + strlen (PRISM_E2B_SANDBOX_PREFIX)
                       : reference;
  const char *token, *domain;

  if (!prism_e2b_id_is_valid (id))
    {
      g_set_error_literal (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_NOT_FOUND, "the reference names no sandbox");
      return NULL;
    }
  if (!ask_detail (client, id, &detail, &node, cancellable, error))
    return NULL;
  if (!is_ours (&detail) || detail.state == PRISM_E2B_STATE_UNKNOWN)
    {
      g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_REFUSED, "sandbox %s %s", id,
                   is_ours (&detail) ? "is in no state that is known" : "was not made by this library");
      return NULL;
    }
  self = sandbox_new (client, options, spec);
  token = prism_http_json_text (prism_http_json_get (node, "envdAccessToken", NULL));
  domain = prism_http_json_text (prism_http_json_get (node, "domain", NULL));
  {
    /* The same grammar as where it was created. */
    g_autoptr (JsonObject) object = json_object_new ();
    JsonNode *copy = json_node_new (JSON_NODE_OBJECT);
    g_autoptr (GBytes) bytes = NULL;

    json_object_set_string_member (object, "sandboxID", detail.id);
    if (token != NULL)
      json_object_set_string_member (object, "envdAccessToken", token);
    if (domain != NULL)
      json_object_set_string_member (object, "domain", domain);
    json_node_set_object (copy, object);
    bytes = prism_e2b_json_to_bytes (copy);
    if (!prism_e2b_identity_parse (bytes, &self->identity, error))
      return NULL;
  }
  if (token != NULL)
    prism_redactor_add (prism_e2b_client_get_redactor (client), token);
  self->status = detail.state == PRISM_E2B_STATE_RUNNING ? PRISM_SANDBOX_STATUS_RUNNING : PRISM_SANDBOX_STATUS_STOPPED;
  self->end_us = detail.state == PRISM_E2B_STATE_RUNNING ? detail.end_us : 0;
  self->capabilities =
      make_capabilities (NULL, "not enforced: it was made elsewhere, and by which policy is not known");
  return PRISM_SANDBOX (g_steal_pointer (&self));
}

char **
prism_e2b_sandboxes_list (PrismE2bClient *client, GCancellable *cancellable, GError **error)
{
  g_autoptr (GPtrArray) details = prism_e2b_details_new ();
  g_autoptr (GStrvBuilder) references = g_strv_builder_new ();
  g_autofree char *token = NULL;

  do
    {
      g_autofree char *path = prism_e2b_list_path (PRISM_E2B_LABEL_SANDBOX, "1", token);
      g_auto (PrismE2bReply) reply = { 0 };
      guint before = details->len;

      if (!ask (client, "GET", path, "list the sandboxes", NULL, TRUE, &reply, cancellable, error)
          || !prism_e2b_details_parse (reply.body, details, error))
        return NULL;
      g_free (token);
      token = g_steal_pointer (&reply.next_token);
      /* A cursor that leads nowhere is the end. */
      if (token != NULL && (!prism_e2b_page_token_is_valid (token) || details->len == before))
        g_clear_pointer (&token, g_free);
    }
  while (token != NULL);
  for (guint i = 0; i < details->len; i++)
    {
      g_autofree char *reference =
          g_strconcat (PRISM_E2B_SANDBOX_PREFIX, ((PrismE2bDetail *)details->pdata[i])->id, NULL);
      g_strv_builder_add (references, reference);
    }
  return g_strv_builder_end (references);
}

/* --- the object --------------------------------------------------------------------------------------------- */

static void
prism_e2b_sandbox_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  PrismE2bSandbox *self = PRISM_E2B_SANDBOX (object);

  switch (id)
    {
    case PROP_ID:
      g_value_set_string (value, self->identity.id);
      break;
    case PROP_BACKEND_NAME:
      g_value_set_static_string (value, "e2b");
      break;
    case PROP_STATUS:
      g_value_set_enum (value, g_atomic_int_get (&self->status));
      break;
    case PROP_WORKSPACE:
      g_value_set_string (value, self->workspace);
      break;
    case PROP_CAPABILITIES:
      g_mutex_lock (&self->lock);
      g_value_set_boxed (value, self->capabilities);
      g_mutex_unlock (&self->lock);
      break;
    case PROP_REFERENCE:
      g_value_take_string (value, g_strconcat (PRISM_E2B_SANDBOX_PREFIX, self->identity.id, NULL));
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    }
}

static void
forgotten (PrismE2bReply *reply, const GError *error, gpointer data)
{
  if (error != NULL)
    g_warning ("sandbox %s may live on: %s", (const char *)data, error->message);
  g_free (data);
}

typedef struct
{
  PrismE2bClient *client;
  char *id;
} Forgotten;

static gboolean
forget (gpointer data)
{
  Forgotten *gone = data;
  g_autofree char *path = g_strconcat ("/sandboxes/", gone->id, NULL);
  PrismE2bRequest request = { .method = "DELETE", .path = path, .what = "destroy the sandbox", .idempotent = TRUE };

  prism_e2b_client_send (gone->client, &request, forgotten, g_steal_pointer (&gone->id));
  return G_SOURCE_REMOVE;
}

static void
forgotten_free (gpointer data)
{
  Forgotten *gone = data;

  prism_e2b_client_unref (gone->client);
  g_free (gone->id);
  g_free (gone);
}

/* One that its host forgets to close must not cost on: it is destroyed, if it was this
 * host's to end. */
static void
prism_e2b_sandbox_finalize (GObject *object)
{
  PrismE2bSandbox *self = PRISM_E2B_SANDBOX (object);

  if (self->owned && !self->destroyed)
    {
      Forgotten *gone = g_new (Forgotten, 1);
      *gone = (Forgotten){ prism_e2b_client_ref (self->client), g_strdup (self->identity.id) };
      prism_e2b_client_invoke (self->client, forget, gone, forgotten_free);
    }
  g_clear_pointer (&self->capabilities, prism_capabilities_unref);
  prism_e2b_identity_clear (&self->identity);
  g_ptr_array_unref (self->runs);
  g_clear_object (&self->spec);
  g_free (self->workspace);
  g_free (self->user);
  g_mutex_clear (&self->lock);
  g_clear_pointer (&self->client, prism_e2b_client_unref);
  G_OBJECT_CLASS (prism_e2b_sandbox_parent_class)->finalize (object);
}

static void
prism_e2b_sandbox_class_init (PrismE2bSandboxClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->get_property = prism_e2b_sandbox_get_property;
  object_class->finalize = prism_e2b_sandbox_finalize;
  g_object_class_override_property (object_class, PROP_ID, "id");
  g_object_class_override_property (object_class, PROP_BACKEND_NAME, "backend-name");
  g_object_class_override_property (object_class, PROP_STATUS, "status");
  g_object_class_override_property (object_class, PROP_WORKSPACE, "workspace");
  g_object_class_override_property (object_class, PROP_CAPABILITIES, "capabilities");
  g_object_class_override_property (object_class, PROP_REFERENCE, "reference");
}

static void
prism_e2b_sandbox_init (PrismE2bSandbox *self)
{
  g_mutex_init (&self->lock);
  self->runs = g_ptr_array_new ();
}
