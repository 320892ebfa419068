/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* prism mcp from its first byte to its last: a client on two descriptors, a sandbox that is
 * made while the client says hello, and an end that leaves nothing.
 *
 * It ends when the client closes its side, stops reading, or a signal comes. What was asked
 * before the client closed its side has a moment to be answered (a script may send all
 * at once); what still runs then is cancelled, which kills it, and the sandbox is
 * closed. If prism itself is killed, the sandbox's keeper does that. */
#include "prism-mcp-server.h"

#include <string.h>

#include "prism-cancel-source.h"
#include "prism-cli-approve.h"
#include "prism-cli-audit.h"
#include "prism-cli-export.h"
#include "prism-cli-signals.h"
#include "prism-cli-suspend.h"
#include "prism-mcp-scan.h"

/* How long initialize waits for the sandbox, so that a failure is an answer to it. */
#define INITIALIZE_MS 5000
#define GRACE_MS      750
/* What does not end by then is left to the closing of the sandbox. */
#define PATIENCE_MS 10000
#define FAILED_MS   2000
#define MAX_LOGS    100

/* --- logs ------------------------------------------------------------------------------- */

static PrismMcpServer *logging; /* whoever logs; NULL: nobody to tell */
static int n_logs;              /* atomic: those on their way */

typedef struct
{
  PrismMcpLogLevel level;
  char *logger, *text;
} Log;

static void
log_free (gpointer data)
{
  Log *log = data;

  g_atomic_int_add (&n_logs, -1);
  g_free (log->logger);
  g_free (log->text);
  g_free (log);
}

static gboolean
pass_log (gpointer data)
{
  Log *log = data;

  if (logging != NULL)
    prism_mcp_session_log (logging->session, log->level, log->logger, log->text);
  return G_SOURCE_REMOVE;
}

static const char *
get_field (const GLogField *fields, gsize n_fields, const char *key)
{
  for (gsize i = 0; i < n_fields; i++)
    if (g_str_equal (fields[i].key, key) && fields[i].length < 0)
      return fields[i].value;
  return NULL;
}

/* From any thread, and from inside of anything: it is only put down here. */
static GLogWriterOutput
write_log (GLogLevelFlags flags, const GLogField *fields, gsize n_fields, gpointer data)
{
  const char *text = get_field (fields, n_fields, "MESSAGE");
  const char *domain = get_field (fields, n_fields, "GLIB_DOMAIN");
  Log *log;

  if (text != NULL && (flags & (G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_WARNING)) != 0)
    {
      if (g_atomic_int_add (&n_logs, 1) < MAX_LOGS)
        {
          log = g_new0 (Log, 1);
          log->level = (flags & G_LOG_LEVEL_WARNING) != 0 ? PRISM_MCP_LOG_WARNING : PRISM_MCP_LOG_CRITICAL;
          log->logger = g_strdup (domain != NULL ? domain : "prism");
          log->text = g_utf8_make_valid (text, -1);
          g_idle_add_full (G_PRIORITY_DEFAULT, pass_log, log, log_free);
        }
      else
        g_atomic_int_add (&n_logs, -1);
    }
  return g_log_writer_default (flags, fields, n_fields, data);
}

static void tell (PrismMcpServer *self, PrismMcpLogLevel level, const char *format, ...) G_GNUC_PRINTF (3, 4);

/* The client, and the standard error, where a client's log may keep it. */
static void
tell (PrismMcpServer *self, PrismMcpLogLevel level, const char *format, ...)
{
  g_autofree char *text = NULL;
  va_list arguments;

  va_start (arguments, format);
  text = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  if (!self->options->quiet || level >= PRISM_MCP_LOG_ERROR)
    prism_cli_message ("%s", text);
  prism_mcp_session_log (self->session, level, "prism", text);
}

/* --- the end ---------------------------------------------------------------------------- */

static void
stop_timer (guint *timer)
{
  if (*timer != 0)
    g_source_remove (*timer);
  *timer = 0;
}

static void
check_done (PrismMcpServer *self)
{
  if (self->ending && !self->creating && prism_mcp_session_get_n_calls (self->session) == 0
      && prism_mcp_wire_get_queued (self->wire) == 0)
    g_main_loop_quit (self->loop);
}

static gboolean
on_impatient (gpointer data)
{
  PrismMcpServer *self = data;

  self->patience_timer = 0;
  g_main_loop_quit (self->loop);
  return G_SOURCE_REMOVE;
}

static void
begin_end (PrismMcpServer *self)
{
  if (self->ending)
    return;
  self->ending = TRUE;
  stop_timer (&self->grace_timer);
  self->patience_timer = g_timeout_add (PATIENCE_MS, on_impatient, self);
  prism_mcp_wire_stop (self->wire);
  prism_mcp_session_close (self->session);
  g_cancellable_cancel (self->cancellable);
  check_done (self);
}

static gboolean
on_grace_over (gpointer data)
{
  PrismMcpServer *self = data;

  self->grace_timer = 0;
  begin_end (self);
  return G_SOURCE_REMOVE;
}

/* Whether all that was asked before the input ended has been answered. */
static void
check_answered (PrismMcpServer *self)
{
  if (self->input_ended && !self->creating && prism_mcp_session_get_n_calls (self->session) == 0
      && prism_mcp_wire_get_queued (self->wire) == 0)
    begin_end (self);
}

static gboolean
on_signal (gpointer data)
{
  begin_end (data);
  return G_SOURCE_REMOVE;
}

/* --- the session ------------------------------------------------------------------------ */

static void
on_send (gpointer data, GString *message)
{
  prism_mcp_wire_send (((PrismMcpServer *)data)->wire, message);
}

static void
on_call (gpointer data, PrismMcpCall *call)
{
  PrismMcpServer *self = data;
  const char *method = prism_mcp_call_get_method (call);

  if (g_str_equal (method, "tools/list"))
    prism_mcp_tools_list (self, call);
  else if (g_str_equal (method, "tools/call"))
    prism_mcp_tools_call (self, call);
  else
    prism_mcp_resources_call (self, call);
}

static void
on_call_ended (gpointer data)
{
  check_answered (data);
  check_done (data);
}

static const PrismMcpSessionFuncs session_funcs = { on_send, on_call, on_call_ended };

/* --- the wire --------------------------------------------------------------------------- */

/* Who could not be asked is not asked: said once, when it is known. */
static void
greet (PrismMcpServer *self)
{
  self->greeted = TRUE;
  prism_mcp_questions_update (self);
  if (self->approval_handler == 0 && self->suspensions == NULL && g_strcmp0 (self->options->approve, "never") != 0)
    tell (self, PRISM_MCP_LOG_WARNING,
          _ ("mcp: this client cannot ask its user (it has no elicitation): what needs approval is denied"));
}

static void
on_line (gpointer data, const char *text, gsize length)
{
  PrismMcpServer *self = data;

  prism_mcp_session_line (self->session, text, length);
  if (!self->greeted && prism_mcp_session_is_ready (self->session))
    greet (self);
  if (self->error != NULL && prism_mcp_session_has_begun (self->session))
    begin_end (self);
}

static void
on_overlong (gpointer data)
{
  prism_mcp_session_overlong (((PrismMcpServer *)data)->session);
}

static void
on_input_ended (gpointer data, int number, gboolean unfinished)
{
  PrismMcpServer *self = data;

  if (number != 0)
    prism_cli_message (_ ("mcp: reading the standard input: %s"), g_strerror (number));
  if (unfinished)
    prism_cli_message (_ ("mcp: the input ended inside a message, which was dropped"));
  self->input_ended = TRUE;
  prism_mcp_session_drop_asked (self->session, "the client is gone");
  self->grace_timer = g_timeout_add (GRACE_MS, on_grace_over, self);
  check_answered (self);
}

static void
on_drained (gpointer data)
{
  check_answered (data);
  check_done (data);
}

static void
on_broken (gpointer data, int number)
{
  begin_end (data);
}

static const PrismMcpWireFuncs wire_funcs = { on_line, on_overlong, on_input_ended, on_drained, on_broken };

/* --- the sandbox ------------------------------------------------------------------------ */

static void
on_audit (PrismEgressProxy *proxy, const PrismAuditRecord *record, gpointer data)
{
  PrismMcpServer *self = data;

  if (g_strcmp0 (prism_audit_record_get_sandbox_id (record), self->sandbox_id) != 0)
    return;
  prism_mcp_journal_add_egress (self->journal, record);
  if (prism_audit_record_get_decision (record) == PRISM_AUDIT_DECISION_DENY)
    prism_mcp_tools_denied (self, record);
}

static gboolean
watch_egress (PrismMcpServer *self, GError **error)
{
  if (prism_sandbox_spec_get_network (self->spec) != PRISM_NETWORK_MODE_EGRESS)
    return TRUE;
  g_object_get (self->spec, "egress-proxy", &self->proxy, NULL);
  if (self->proxy == NULL)
    self->proxy = prism_egress_proxy_dup_default (error);
  if (self->proxy == NULL)
    return FALSE;
  self->audit_handler = g_signal_connect (self->proxy, "audit", G_CALLBACK (on_audit), self);
  return TRUE;
}

static gboolean
compose (PrismMcpServer *self, GError **error)
{
  GFile *folder = prism_sandbox_spec_get_workspace (self->spec);
  g_autofree char *workspace = folder != NULL ? g_file_get_path (folder) : NULL;
  g_auto (GStrv) warnings = NULL;

  self->sandbox_id = prism_sandbox_dup_id (self->sandbox);
  if (!watch_egress (self, error))
    return FALSE;
  self->composition = prism_composition_new (PRISM_COMPOSITION_MODE_SANDBOX);
  g_object_set (self->composition, "git", TRUE, NULL);
  prism_composition_set_sandbox (self->composition, self->sandbox);
  prism_composition_set_policy (self->composition, PRISM_POLICY (self->policy));
  prism_composition_set_suspensions (self->composition, self->suspensions);
  prism_composition_set_workspace (self->composition, workspace);
  prism_mcp_questions_watch (self);
  prism_mcp_events_watch (self);
  if (!prism_composition_bind (self->composition, self->cancellable, error))
    return FALSE;
  warnings = prism_composition_dup_warnings (self->composition);
  for (guint i = 0; warnings[i] != NULL; i++)
    tell (self, PRISM_MCP_LOG_WARNING, "mcp: %s", warnings[i]);
  return TRUE;
}

static void
on_created (GObject *object, GAsyncResult *result, gpointer data)
{
  PrismMcpServer *self = data;
  g_autoptr (GError) error = NULL;

  self->creating = FALSE;
  stop_timer (&self->initialize_timer);
  self->sandbox = prism_backend_create_sandbox_finish (PRISM_BACKEND (object), result, &error);
  if (self->ending)
    {
      check_done (self);
      return;
    }
  if (self->sandbox == NULL || !compose (self, &error))
    {
      self->error = g_steal_pointer (&error);
      prism_cli_error (self->error);
      prism_mcp_session_release (self->session, self->error);
      if (prism_mcp_session_has_begun (self->session) || self->input_ended)
        begin_end (self);
      else
        self->grace_timer = g_timeout_add (FAILED_MS, on_grace_over, self);
      return;
    }
  prism_mcp_session_release (self->session, NULL);
  if (!self->greeted && prism_mcp_session_is_ready (self->session))
    greet (self);
  check_answered (self);
}

/* A sandbox that takes its time (an image that is fetched) is no reason to keep a client
 * from saying hello. */
static gboolean
on_slow (gpointer data)
{
  PrismMcpServer *self = data;

  self->initialize_timer = 0;
  prism_mcp_session_release_initialize (self->session);
  return G_SOURCE_REMOVE;
}

static char *
describe (PrismMcpServer *self)
{
  const char *root = prism_sandbox_spec_get_sandbox_path (self->spec);
  PrismEgressPolicy *egress = prism_sandbox_spec_get_egress_policy (self->spec);
  GString *text = g_string_new (NULL);

  g_string_append_printf (text, "Files and commands are those of a sandbox; its tree is %s.", root);
  if (prism_sandbox_spec_get_workspace_mode (self->spec) == PRISM_WORKSPACE_MODE_COPY)
    g_string_append (text, " It is a copy: what changes there does not change the original.");
  else if (prism_sandbox_spec_get_workspace_mode (self->spec) == PRISM_WORKSPACE_MODE_READONLY)
    g_string_append (text, " It cannot be written to.");
  if (prism_sandbox_spec_get_network (self->spec) != PRISM_NETWORK_MODE_EGRESS || egress == NULL)
    g_string_append (text, " There is no network.");
  else
    g_string_append (text, " Only some hosts can be reached, through the proxy that HTTP_PROXY names; the resource "
                           "prism://policy says which.");
  g_string_append (text, " What a policy denies comes back as an error that says which rule it was; trying again does "
                         "not help.");
  return g_string_free (text, FALSE);
}

static gboolean
prepare (PrismMcpServer *self, GError **error)
{
  GError *wrong = NULL;

  self->backend = prism_cli_options_backend (self->options, error);
  if (self->backend == NULL)
    return FALSE;
  self->spec = prism_cli_options_spec (self->options, self->backend, error);
  if (self->spec == NULL)
    return FALSE;
  self->policy = prism_cli_approve_bare_policy (self->spec);
  self->suspensions = prism_cli_suspend_open (self->options, self->spec, &wrong);
  if (wrong != NULL)
    {
      g_propagate_error (error, wrong);
      return FALSE;
    }
  prism_approval_policy_set_suspensions (self->policy, self->suspensions);
  if (prism_approval_policy_get_roots (self->policy)[0] != NULL)
    return TRUE;
  return prism_cli_bad_value (error,
                              _ ("mcp: the policy file trusts no folder, so nothing could be done; add \"roots\": "
                                 "[\".\"], or the workspace's path"));
}

static void
start (PrismMcpServer *self, int in, int out)
{
  g_autofree char *instructions = describe (self);
  g_autoptr (GSource) signalled = NULL;

  self->session = prism_mcp_session_new (&session_funcs, self, PRISM_VERSION_S, instructions);
  self->wire = prism_mcp_wire_new (in, out, &wire_funcs, self, PRISM_MCP_MAX_LINE);
  self->journal = prism_mcp_journal_new (prism_mcp_resources_changed, self);
  self->run_id = g_uuid_string_random ();
  self->running = g_ptr_array_new ();
  self->open = g_ptr_array_new ();
  self->subscribed = g_hash_table_new (g_str_hash, g_str_equal);
  signalled = prism_cancel_source_attach (self->cancellable, NULL, on_signal, self, NULL);
  logging = self;
  g_log_set_writer_func (write_log, NULL, NULL);

  self->creating = TRUE;
  self->initialize_timer = g_timeout_add (INITIALIZE_MS, on_slow, self);
  prism_backend_create_sandbox_async (self->backend, self->spec, self->cancellable, on_created, self);
}

/* Not with the cancellable: it is removed whatever happened before. */
static void
close_sandbox (PrismMcpServer *self)
{
  g_autoptr (PrismAuditLog) audit = NULL;
  g_autoptr (GError) error = NULL;

  if (self->audit_handler != 0)
    g_signal_handler_disconnect (self->proxy, self->audit_handler);
  if (self->sandbox == NULL)
    return;
  if (self->options->export_path != NULL && self->error == NULL && prism_cli_signals_received () == 0)
    {
      PrismTreeIdentity *identity =
          prism_cli_export (self->sandbox, self->options->export_path, self->options->quiet, NULL, &self->error);

      g_clear_pointer (&identity, prism_tree_identity_free);
      if (self->error != NULL)
        prism_cli_error (self->error);
    }
  g_object_get (self->spec, "audit", &audit, NULL);
  if (!prism_sandbox_close (self->sandbox, NULL, &error) || !prism_cli_audit_flush (audit, &error))
    {
      prism_cli_error (error);
      if (self->error == NULL)
        self->error = g_steal_pointer (&error);
    }
}

/* Calls that did not end hold on to the session; then it is left to the process's end. */
static void
clear (PrismMcpServer *self)
{
  logging = NULL;
  stop_timer (&self->patience_timer);
  stop_timer (&self->grace_timer);
  stop_timer (&self->initialize_timer);
  stop_timer (&self->update_timer);
  stop_timer (&self->open_timer);
  if (self->session != NULL && prism_mcp_session_get_n_calls (self->session) > 0)
    return;
  if (self->policy != NULL)
    g_clear_signal_handler (&self->approval_handler, self->policy);
  g_clear_object (&self->composition);
  g_clear_object (&self->sandbox);
  g_clear_object (&self->proxy);
  g_clear_object (&self->policy);
  g_clear_object (&self->suspensions);
  g_clear_object (&self->spec);
  g_clear_object (&self->backend);
  g_clear_pointer (&self->session, prism_mcp_session_free);
  g_clear_pointer (&self->wire, prism_mcp_wire_free);
  g_clear_pointer (&self->journal, prism_mcp_journal_free);
  g_clear_pointer (&self->running, g_ptr_array_unref);
  g_clear_pointer (&self->open, g_ptr_array_unref);
  g_clear_pointer (&self->subscribed, g_hash_table_unref);
  g_clear_pointer (&self->run_id, g_free);
  g_clear_pointer (&self->sandbox_id, g_free);
}

/* Returns prism's exit status. */
int
prism_mcp_server_run (const PrismCliOptions *options, int in, int out)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GMainLoop) loop = g_main_loop_new (NULL, FALSE);
  PrismMcpServer self = { .options = options, .loop = loop, .cancellable = cancellable };
  int number, status = 0;

  prism_cli_signals_block (cancellable);
  prism_cli_signals_start ();
  if (!prepare (&self, &self.error))
    prism_cli_error (self.error);
  else
    {
      start (&self, in, out);
      g_main_loop_run (loop);
      close_sandbox (&self);
    }
  clear (&self);
  number = prism_cli_signals_received ();
  if (number != 0)
    status = PRISM_EXIT_SIGNAL + number;
  else if (self.error != NULL)
    status = PRISM_EXIT_FAILED;
  g_clear_error (&self.error);
  return status;
}
