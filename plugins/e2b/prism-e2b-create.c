/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sandboxes: new ones, and those that are there. */
#include <string.h>

#include "prism-e2b-helper.h"
#include "prism-e2b-reap.h"
#include "prism-e2b-reference.h"

static gboolean
keeps_memory (const PrismE2bOptions *options)
{
  return g_strcmp0 (options->pause_kind, "filesystem") != 0;
}

static PrismE2bSandbox *
sandbox_new (PrismE2bClient *client, const PrismE2bOptions *options, PrismSandboxSpec *spec)
{
  PrismE2bSandbox *self = g_object_new (PRISM_TYPE_E2B_SANDBOX, NULL);

  self->client = prism_e2b_client_ref (client);
  self->spec = g_object_ref (spec);
  self->workspace = g_strdup (prism_sandbox_spec_get_sandbox_path (spec));
  self->user = g_strdup (options->user);
  self->keep_memory = keeps_memory (options);
  self->pauses = g_strcmp0 (options->on_timeout, "pause") == 0;
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

  want (wrong,
        prism_sandbox_spec_get_workspace (spec) == NULL
            || prism_sandbox_spec_get_workspace_mode (spec) == PRISM_WORKSPACE_MODE_COPY,
        "a folder of this host can only be a copy there: use the workspace mode copy, and export what you want back");
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

  if (!prism_e2b_ask (client, "GET", path, "look for the sandbox", NULL, TRUE, &reply, NULL, &failure)
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

      if (prism_e2b_ask (client, "DELETE", one, "destroy the sandbox", NULL, TRUE, &gone, NULL, NULL))
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
    .identity = IDENTITY (self),
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

static void
on_progress (PrismSandbox *helper, guint64 entries, guint64 bytes, guint64 total, gpointer operation)
{
  prism_create_operation_progress (operation, entries, bytes, total);
}

static gboolean
copy_workspace (PrismE2bSandbox *self, PrismCreateOperation *operation, GError **error)
{
  GFile *folder = prism_sandbox_spec_get_workspace (self->spec);
  GCancellable *cancellable = prism_operation_get_cancellable (PRISM_OPERATION (operation));
  g_autoptr (PrismSandbox) helper = NULL;
  g_autoptr (PrismTreeIdentity) identity = NULL;
  gulong handler;

  if (folder == NULL)
    return TRUE;
  if ((helper = prism_e2b_helper_get (self, PRISM_OPERATION (operation), error)) == NULL)
    return FALSE;
  handler = g_signal_connect (helper, "tree-progress", G_CALLBACK (on_progress), operation);
  identity = prism_sandbox_import_tree (helper, folder, self->workspace, cancellable, error);
  g_signal_handler_disconnect (helper, handler);
  if (identity == NULL)
    g_prefix_error (error, "copying the workspace: ");
  return identity != NULL;
}

/* A refusal that was not heard, or a claim that does not hold, leaves nothing behind. */
static gboolean
settle (PrismE2bSandbox *self, const PrismE2bNetwork *network, PrismCreateOperation *operation, GError **error)
{
  GCancellable *cancellable = prism_operation_get_cancellable (PRISM_OPERATION (operation));
  g_auto (PrismE2bDetail) detail = { 0 };
  g_autoptr (JsonNode) node = NULL;
  const char *why = NULL;

  if (!prism_e2b_ask_detail (self->client, IDENTITY (self)->id, &detail, &node, cancellable, error))
    return FALSE;
  if (!prism_e2b_network_matches (network, node, &why))
    {
      g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_REFUSED, "the network policy does not hold: %s",
                   why);
      return FALSE;
    }
  self->capabilities = prism_e2b_capabilities_new (network, NULL);
  return prism_capabilities_check_required (self->capabilities, prism_sandbox_spec_get_require (self->spec), error)
         && make_workspace (self, cancellable, error) && copy_workspace (self, operation, error);
}

PrismSandbox *
prism_e2b_sandbox_create (PrismE2bClient *client,
                          const PrismE2bOptions *options,
                          PrismCreateOperation *operation,
                          GError **error)
{
  PrismSandboxSpec *spec = prism_create_operation_get_spec (operation);
  GCancellable *cancellable = prism_operation_get_cancellable (PRISM_OPERATION (operation));
  g_auto (PrismE2bNetwork) network = { 0 };
  g_autofree char *own_id = g_uuid_string_random (), *host = prism_e2b_host_dup_label ();
  PrismE2bCreate create = {
    .template_name = options->template_name != NULL ? options->template_name : "base",
    .timeout_s = prism_e2b_choose_seconds (spec),
    .pause_at_end = g_strcmp0 (options->on_timeout, "pause") == 0,
    .keep_memory = keeps_memory (options),
    .own_id = own_id,
    .host = host,
    .workspace = prism_sandbox_spec_get_sandbox_path (spec),
    .lifetime = prism_sandbox_spec_get_lifetime (spec) == PRISM_LIFETIME_HOST ? "host" : "detached",
    .labels = prism_sandbox_spec_get_labels (spec),
    .network = &network,
  };
  g_autoptr (PrismE2bSandbox) self = NULL;
  g_autoptr (PrismCapabilities) promised = NULL;
  g_autoptr (GBytes) body = NULL;
  g_auto (PrismE2bReply) reply = { 0 };
  g_auto (PrismE2bIdentity) identity = { 0 };
  g_autoptr (GError) failure = NULL;
  gint64 begun, wall = prism_limits_get (prism_sandbox_spec_get_limits (spec), "wall-time-ms");

  if (!check_spec (spec, error) || !init_network (spec, &network, cancellable, error))
    return NULL;
  promised = prism_e2b_capabilities_new (&network, NULL);
  if (!prism_capabilities_check_required (promised, prism_sandbox_spec_get_require (spec), error)
      || (body = prism_e2b_create_new (&create, error)) == NULL)
    return NULL;
  prism_redactor_add_environment (prism_e2b_client_get_redactor (client), prism_sandbox_spec_get_secrets (spec));
  self = sandbox_new (client, options, spec);
  begun = g_get_monotonic_time ();
  if (!prism_e2b_ask (client, "POST", "/sandboxes", "create the sandbox", body, FALSE, &reply, cancellable, &failure)
      || !prism_e2b_identity_parse (reply.body, &identity, &failure))
    {
      if (!g_error_matches (failure, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_UNAVAILABLE)
          && !g_error_matches (failure, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_INVALID))
        look_for_stray (client, own_id, &failure);
      g_propagate_error (error, g_steal_pointer (&failure));
      return NULL;
    }
  prism_e2b_sandbox_take_identity (self, &identity);
  self->owned = prism_sandbox_spec_get_lifetime (spec) == PRISM_LIFETIME_HOST;
  prism_e2b_sandbox_begin_clock (self, wall > 0 ? begun + wall * 1000 : 0);
  if (settle (self, &network, operation, error))
    return PRISM_SANDBOX (g_steal_pointer (&self));
  if (!prism_e2b_sandbox_destroy (self, NULL, &failure))
    g_prefix_error (error, "%s; ", failure->message);
  return NULL;
}

/* --- an existing one -------------------------------------------------------------------------------------- */

static gboolean
is_ours (const PrismE2bDetail *detail)
{
  return g_strv_contains ((const char *const *)detail->labels, PRISM_E2B_LABEL_SANDBOX "=1");
}

/* Where its workspace is, who made it has said. */
static void
take_workspace (PrismE2bSandbox *self, const PrismE2bDetail *detail)
{
  for (guint i = 0; detail->labels[i] != NULL; i++)
    if (g_str_has_prefix (detail->labels[i], PRISM_E2B_LABEL_WORKSPACE "=/"))
      {
        g_free (self->workspace);
        self->workspace = g_strdup (strchr (detail->labels[i], '=') + 1);
      }
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
  g_auto (PrismE2bIdentity) identity = { 0 };
  g_autoptr (JsonNode) node = NULL;
  gint64 now_us = 0;
  const char *id = g_str_has_prefix (reference, PRISM_E2B_SANDBOX_PREFIX)
                       ? reference + strlen (PRISM_E2B_SANDBOX_PREFIX)
                       : reference;

  if (!prism_e2b_id_is_valid (id))
    {
      g_set_error_literal (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_NOT_FOUND, "the reference names no sandbox");
      return NULL;
    }
  if (!prism_e2b_ask_detail_at (client, id, &detail, &node, &now_us, cancellable, error))
    return NULL;
  if (!is_ours (&detail) || detail.state == PRISM_E2B_STATE_UNKNOWN)
    {
      g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_REFUSED, "sandbox %s %s", id,
                   is_ours (&detail) ? "is in no state that is known" : "was not made by this library");
      return NULL;
    }
  self = sandbox_new (client, options, spec);
  take_workspace (self, &detail);
  if (!prism_e2b_identity_read (node, &identity, error))
    return NULL;
  prism_e2b_sandbox_take_identity (self, &identity);
  self->status = detail.state == PRISM_E2B_STATE_RUNNING ? PRISM_SANDBOX_STATUS_RUNNING : PRISM_SANDBOX_STATUS_STOPPED;
  if (detail.state == PRISM_E2B_STATE_RUNNING && detail.end_us > 0)
    prism_e2b_sandbox_begin_clock (self, g_get_monotonic_time () + detail.end_us - now_us);
  self->capabilities =
      prism_e2b_capabilities_new (NULL, "not enforced: it was made elsewhere, and by which policy is not known");
  return PRISM_SANDBOX (g_steal_pointer (&self));
}

gboolean
prism_e2b_list_details (PrismE2bClient *client, GPtrArray *details, GCancellable *cancellable, GError **error)
{
  g_autofree char *token = NULL;

  do
    {
      g_autofree char *path = prism_e2b_list_path (PRISM_E2B_LABEL_SANDBOX, "1", token);
      g_auto (PrismE2bReply) reply = { 0 };
      guint before = details->len;

      if (!prism_e2b_ask (client, "GET", path, "list the sandboxes", NULL, TRUE, &reply, cancellable, error)
          || !prism_e2b_details_parse (reply.body, details, error))
        return FALSE;
      g_free (token);
      token = g_steal_pointer (&reply.next_token);
      /* A cursor that leads nowhere is the end. */
      if (token != NULL && (!prism_e2b_page_token_is_valid (token) || details->len == before))
        g_clear_pointer (&token, g_free);
    }
  while (token != NULL);
  return TRUE;
}

char **
prism_e2b_sandboxes_list (PrismE2bClient *client, GCancellable *cancellable, GError **error)
{
  g_autoptr (GPtrArray) details = prism_e2b_details_new ();
  g_autoptr (GStrvBuilder) references = g_strv_builder_new ();

  if (!prism_e2b_list_details (client, details, cancellable, error))
    return NULL;
  for (guint i = 0; i < details->len; i++)
    {
      g_autofree char *reference =
          g_strconcat (PRISM_E2B_SANDBOX_PREFIX, ((PrismE2bDetail *)details->pdata[i])->id, NULL);
      g_strv_builder_add (references, reference);
    }
  return g_strv_builder_end (references);
}
