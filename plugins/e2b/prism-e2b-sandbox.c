/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a sandbox is to who has it: the object, its state, its processes; and how it asks. */
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
  static const char *const names[] = { "running", "stopped", "removed", "failed: its time is over, or it is gone" };
  int status = g_atomic_int_get (&self->status);
  gboolean destroyed;

  if (status == PRISM_SANDBOX_STATUS_RUNNING)
    return TRUE;
  g_mutex_lock (&self->lock);
  destroyed = self->destroyed;
  g_mutex_unlock (&self->lock);
  g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_STATE, "the sandbox is %s%s", names[status],
               status != PRISM_SANDBOX_STATUS_STOPPED ? ""
               : destroyed                            ? ": it was killed"
                                                      : " (paused); resume it first, which no command does by itself");
  return FALSE;
}

void
prism_e2b_sandbox_take_identity (PrismE2bSandbox *self, PrismE2bIdentity *identity)
{
  PrismE2bIdentity *own = g_new (PrismE2bIdentity, 1);

  *own = *identity;
  *identity = (PrismE2bIdentity){ 0 };
  if (own->access_token != NULL)
    prism_redactor_add (prism_e2b_client_get_redactor (self->client), own->access_token);
  g_mutex_lock (&self->lock);
  g_ptr_array_add (self->identities, own);
  g_mutex_unlock (&self->lock);
  g_atomic_pointer_set (&self->identity, own);
}

static void
identity_free (gpointer data)
{
  prism_e2b_identity_clear (data);
  g_free (data);
}

/* The rest of what every sandbox has (PATH, HOME, USER, LOGNAME) the service sets. */
char **
prism_e2b_sandbox_dup_env (PrismE2bSandbox *self, PrismCommand *command, const char *mark)
{
  static const char *base[] = { "TMPDIR=/tmp", "LANG=C.UTF-8", NULL };
  g_autoptr (GStrvBuilder) env = g_strv_builder_new ();
  g_autofree char *own_mark = mark != NULL ? g_strconcat (PRISM_E2B_MARK "=", mark, NULL) : NULL;
  const char *const *common = prism_sandbox_spec_get_env (self->spec);
  const char *const *secrets = prism_sandbox_spec_get_secrets (self->spec);
  const char *const *own = prism_command_get_env (command);

  g_strv_builder_addv (env, base);
  if (common != NULL)
    g_strv_builder_addv (env, (const char **)common);
  if (secrets != NULL)
    g_strv_builder_addv (env, (const char **)secrets);
  if (own != NULL)
    g_strv_builder_addv (env, (const char **)own);
  if (own_mark != NULL)
    g_strv_builder_add (env, own_mark);
  if (own_mark != NULL && prism_command_get_timeout_ms (command) > 0)
    {
      g_autofree char *late = g_strdup_printf (PRISM_E2B_LATE "=%" G_GINT64_FORMAT,
                                               g_get_real_time () / 1000 + prism_command_get_timeout_ms (command));
      g_strv_builder_add (env, late);
    }
  return g_strv_builder_end (env);
}

/* --- asking ------------------------------------------------------------------------------------- */

gboolean
prism_e2b_ask (PrismE2bClient *client,
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

gboolean
prism_e2b_ask_detail (PrismE2bClient *client,
                      const char *id,
                      PrismE2bDetail *detail,
                      JsonNode **node,
                      GCancellable *cancellable,
                      GError **error)
{
  gint64 now_us;
  return prism_e2b_ask_detail_at (client, id, detail, node, &now_us, cancellable, error);
}

gboolean
prism_e2b_ask_detail_at (PrismE2bClient *client,
                         const char *id,
                         PrismE2bDetail *detail,
                         JsonNode **node,
                         gint64 *now_us,
                         GCancellable *cancellable,
                         GError **error)
{
  g_autofree char *path = g_strconcat ("/sandboxes/", id, NULL);
  g_auto (PrismE2bReply) reply = { 0 };
  g_autoptr (JsonNode) answer = NULL;

  if (!prism_e2b_ask (client, "GET", path, "look at the sandbox", NULL, TRUE, &reply, cancellable, error))
    return FALSE;
  *now_us = reply.date_us != 0 ? reply.date_us : g_get_real_time ();
  answer = prism_http_json_parse (reply.body, NULL);
  if (!prism_e2b_detail_parse (answer, detail, error))
    return FALSE;
  if (node != NULL)
    *node = g_steal_pointer (&answer);
  return TRUE;
}

gboolean
prism_e2b_sandbox_ask (PrismE2bSandbox *self,
                       const char *method,
                       const char *suffix,
                       const char *what,
                       GBytes *body,
                       gboolean idempotent,
                       PrismE2bReply *reply,
                       GCancellable *cancellable,
                       GError **error)
{
  g_autofree char *path = g_strconcat ("/sandboxes/", IDENTITY (self)->id, suffix, NULL);
  return prism_e2b_ask (self->client, method, path, what, body, idempotent, reply, cancellable, error);
}

void
prism_e2b_sandbox_refine (PrismE2bSandbox *self, GError **error)
{
  g_auto (PrismE2bDetail) detail = { 0 };
  g_autoptr (GError) failure = NULL;

  if (!g_error_matches (*error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_LOST))
    return;
  if (prism_e2b_ask_detail (self->client, IDENTITY (self)->id, &detail, NULL, NULL, &failure))
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
    .identity = IDENTITY (self),
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
  g_autofree char *mark = g_uuid_string_random ();
  g_auto (GStrv) env = prism_e2b_sandbox_dup_env (self, command, mark);
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
    .identity = IDENTITY (self),
    .user = self->user,
    .start = start,
    .pty = columns > 0,
    .timeout_ms = prism_command_get_timeout_ms (command),
    .max_kept = -1,
    .mark = mark,
    .grace_ms = prism_limits_get (prism_sandbox_spec_get_limits (self->spec), "stop-grace-ms"),
    .wall_us = prism_e2b_sandbox_get_end (self),
    .lasting = prism_sandbox_spec_get_lifetime (self->spec) == PRISM_LIFETIME_DETACHED,
  };
  prism_e2b_process_begin (self, &spec, fingerprint, operation);
}

/* What is left of a timeout until @late; 0 = there is none. */
static gint64
parse_left (const char *late)
{
  gint64 when;

  return late != NULL && g_ascii_string_to_signed (late, 10, 1, G_MAXINT64 / 2, &when, NULL)
             ? MAX (when - g_get_real_time () / 1000, 1)
             : 0;
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
  g_autofree char *fingerprint = NULL, *mark = NULL, *late = NULL;
  PrismE2bRunSpec spec;

  if (!prism_e2b_reference_parse (prism_process_operation_get_reference (process_operation), &reference)
      || strcmp (reference.sandbox, IDENTITY (self)->id) != 0 || strcmp (reference.workspace, self->workspace) != 0)
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
  mark = prism_e2b_list_dup_variable (answer, reference.pid, PRISM_E2B_MARK);
  late = prism_e2b_list_dup_variable (answer, reference.pid, PRISM_E2B_LATE);
  spec = (PrismE2bRunSpec){
    .client = self->client,
    .identity = IDENTITY (self),
    .user = self->user,
    .pid = reference.pid,
    .timeout_ms = parse_left (late),
    .max_kept = -1,
    .mark = mark,
    .grace_ms = prism_limits_get (prism_sandbox_spec_get_limits (self->spec), "stop-grace-ms"),
    .wall_us = prism_e2b_sandbox_get_end (self),
  };
  prism_e2b_process_begin (self, &spec, fingerprint, process_operation);
}

void
prism_e2b_sandbox_attach_process (PrismSandbox *sandbox, PrismProcessOperation *operation)
{
  prism_operation_run_in_thread (PRISM_OPERATION (operation), attach);
}

/* --- the object --------------------------------------------------------------------------------------------- */

static void
prism_e2b_sandbox_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  PrismE2bSandbox *self = PRISM_E2B_SANDBOX (object);

  switch (id)
    {
    case PROP_ID:
      g_value_set_string (value, IDENTITY (self)->id);
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
      g_value_take_string (value, g_strconcat (PRISM_E2B_SANDBOX_PREFIX, IDENTITY (self)->id, NULL));
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
      *gone = (Forgotten){ prism_e2b_client_ref (self->client), g_strdup (IDENTITY (self)->id) };
      prism_e2b_client_invoke (self->client, forget, gone, forgotten_free);
    }
  g_clear_pointer (&self->capabilities, prism_capabilities_unref);
  prism_e2b_sandbox_clear_clock (self);
  g_ptr_array_unref (self->identities);
  g_clear_object (&self->helper);
  g_mutex_clear (&self->helper_lock);
  g_cond_clear (&self->helper_changed);
  g_ptr_array_unref (self->runs);
  g_clear_object (&self->spec);
  g_free (self->workspace);
  g_free (self->user);
  g_mutex_clear (&self->lock);
  g_clear_pointer (&self->client, prism_e2b_client_unref);
  G_OBJECT_CLASS (prism_e2b_sandbox_parent_class)->finalize (object);
}

static void
sandbox_init (PrismSandboxInterface *iface)
{
  iface->exec = prism_e2b_sandbox_exec;
  iface->start_process = prism_e2b_sandbox_start_process;
  iface->attach_process = prism_e2b_sandbox_attach_process;
  prism_e2b_life_init (iface);
  prism_e2b_files_init (iface);
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
  g_mutex_init (&self->helper_lock);
  g_cond_init (&self->helper_changed);
  self->identities = g_ptr_array_new_with_free_func (identity_free);
  self->runs = g_ptr_array_new ();
}
