/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Starting processes, finding them again, and hearing of their end. */
#include "prism-agent-process-private.h"

#include "prism-agent-ask-private.h"
#include "prism-agent-egress-private.h"
#include "prism-agent-exec-private.h"
#include "prism-agent-lifecycle-private.h"
#include "prism-fd-left.h"
#include "prism-fd-private.h"
#include "prism-operation-private.h"
#include "prism-sandbox-error.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <termios.h>

#define REFERENCE "prism-agent-process:1"

/* --- its end --- */

static void
end_child (PrismAgentChild *child)
{
  g_autoptr (PrismResult) result = NULL;
  g_mutex_lock (&child->lock);
  child->ended = TRUE;
  child->duration_us = g_get_monotonic_time () - child->started;
  result = prism_agent_child_dup_result (child);
  GQueue waiting = child->waiting;
  g_queue_init (&child->waiting);
  gboolean admitted = child->admitted;
  child->admitted = FALSE;
  g_mutex_unlock (&child->lock);

  g_autoptr (PrismAgentSandbox) sandbox = g_weak_ref_get (&child->sandbox);
  if (admitted && sandbox != NULL)
    prism_agent_admission_leave_process (prism_agent_sandbox_get_admission (sandbox));
  for (gpointer operation; (operation = g_queue_pop_head (&waiting)) != NULL; g_object_unref (operation))
    prism_wait_operation_complete (operation, result);
}

/* What it left behind is over as well: that is what a kill waits for. */
static void
end_tree (PrismAgentChild *child)
{
  g_mutex_lock (&child->lock);
  child->gone = TRUE;
  GQueue killing = child->killing;
  g_queue_init (&child->killing);
  g_mutex_unlock (&child->lock);
  for (gpointer operation; (operation = g_queue_pop_head (&killing)) != NULL; g_object_unref (operation))
    prism_control_operation_complete (operation);
}

static void
fail_start (PrismAgentChild *child, GError *error)
{
  g_autoptr (PrismProcessOperation) operation = g_steal_pointer (&child->operation);
  if (operation != NULL)
    prism_operation_fail (PRISM_OPERATION (operation), error);
  g_error_free (error);
  end_child (child);
  end_tree (child);
}

/* --- news --- */

static gboolean
is_terminal (int fd)
{
  struct stat st;
  unsigned int number;
  return fstat (fd, &st) == 0 && S_ISCHR (st.st_mode) && st.st_rdev == makedev (5, 2)
         && ioctl (fd, TIOCGPTN, &number) == 0;
}

/* It has started, and what would be handed out cannot be made. */
static gboolean
refuse_start (PrismAgentChild *child)
{
  GError *error = NULL;
  prism_agent_set_no_fds (&error, "a process's streams");
  g_auto (PrismAgentFrame) frame = { 0 };
  prism_agent_frame_init (&frame, PRISM_WIRE_CANCEL, 0, 0);
  prism_agent_frame_put (&frame, 0, 4);
  prism_agent_channel_send (child->channel, &frame, child->ticket);
  fail_start (child, error);
  return FALSE;
}

static gboolean
take_start (PrismAgentChild *child, int master)
{
  if (child->pty && !child->framed && !is_terminal (master))
    {
      prism_clear_fd (&master);
      prism_agent_channel_accuse (child->channel, "a terminal's master that is none");
      return FALSE;
    }
  if (child->pty && !child->framed)
    {
      int theirs[3] = { g_steal_fd (&child->flows[0].from), g_steal_fd (&child->flows[1].to), -1 };
      prism_agent_child_open_flows (child, theirs, master);
      child->master = master;
    }
  if (!prism_fd_is_left ())
    return refuse_start (child);
  child->running = TRUE;
  g_autoptr (PrismAgentProcess) process = prism_agent_process_new (child);
  g_autoptr (PrismAgentSandbox) sandbox = g_weak_ref_get (&child->sandbox);
  if (sandbox != NULL)
    prism_agent_sandbox_remember (sandbox, process);
  g_autoptr (PrismProcessOperation) operation = g_steal_pointer (&child->operation);
  prism_process_operation_complete (operation, PRISM_PROCESS (process));
  return TRUE;
}

static void
take_end (PrismAgentChild *child, const PrismAgentCall *call)
{
  GError *error = NULL;
  if (child->ended)
    return;
  if (call->exit.how != 0)
    {
      g_autoptr (PrismAgentSandbox) sandbox = g_weak_ref_get (&child->sandbox);
      child->exit = call->exit;
      if (sandbox != NULL && call->exit.how == PRISM_WIRE_HOW_SIGNAL && call->exit.code == SIGKILL)
        child->limit = prism_agent_sandbox_find_limit (sandbox);
    }
  else if (call->error != 0)
    {
      g_autoptr (PrismAgentSandbox) sandbox = g_weak_ref_get (&child->sandbox);
      if (sandbox != NULL && child->command != NULL)
        error = prism_agent_sandbox_dup_exec_error (sandbox, call, child->command);
      else
        error = g_error_new_literal (PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_NOT_FOUND, "no such process");
    }
  else
    {
      g_autoptr (PrismAgentSandbox) sandbox = g_weak_ref_get (&child->sandbox);
      child->end = prism_agent_channel_get_end (child->channel, &error);
      child->loss = sandbox != NULL ? prism_agent_sandbox_dup_loss (sandbox)
                    : error != NULL ? g_strdup (error->message)
                                    : NULL;
    }
  if (child->operation != NULL)
    {
      if (error == NULL)
        error = g_error_new_literal (PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_LOST, "the process ended unseen");
      fail_start (child, error);
      return;
    }
  g_clear_error (&error);
  end_child (child);
}

/* A kill that was asked for has to show. */
static void
check_kill (PrismAgentChild *child, gint64 now)
{
  g_mutex_lock (&child->lock);
  gboolean asked = child->killing.length > 0;
  g_mutex_unlock (&child->lock);
  if (!asked)
    return;
  g_autoptr (PrismAgentSandbox) sandbox = g_weak_ref_get (&child->sandbox);
  if (child->kill_by == G_MAXINT64 && sandbox != NULL)
    child->kill_by = now + prism_agent_sandbox_get_limits (sandbox)->cleanup_deadline_ms * 1000;
  if (now >= child->kill_by)
    prism_agent_channel_accuse (child->channel, "it did not confirm a kill in time");
  child->job.deadline = MIN (child->job.deadline, child->kill_by);
}

/* The agent ends it; this is for one that does not. */
static void
check_timeout (PrismAgentChild *child, gint64 now)
{
  g_autoptr (PrismAgentSandbox) sandbox = g_weak_ref_get (&child->sandbox);
  if (child->give_up == G_MAXINT64 || child->ended || sandbox == NULL)
    return;
  gboolean paused;
  gint64 us = prism_agent_lifecycle_get_paused (prism_agent_sandbox_get_lifecycle (sandbox), now, &paused);
  if (paused)
    return;
  gint64 when = child->give_up + us - child->paused_before;
  if (now >= when)
    prism_agent_channel_accuse (child->channel, "it did not end a process at its timeout");
  child->job.deadline = MIN (child->job.deadline, when);
}

static gboolean
child_step (PrismAgentJob *job, gint64 now)
{
  PrismAgentChild *child = (PrismAgentChild *)job;
  PrismAgentCall *call = &child->ticket->call;
  job->deadline = G_MAXINT64;
  prism_agent_channel_lock (child->channel);
  gboolean started = call->phase != PRISM_AGENT_PHASE_WAITING && call->error == 0, over = call->id == 0;
  gboolean exited = call->exit.how != 0;
  int master = g_steal_fd (&call->fd);
  prism_agent_channel_unlock (child->channel);

  if (started && child->operation != NULL && !take_start (child, master))
    over = TRUE;
  if ((exited || over) && !child->ended)
    take_end (child, call);
  if (over)
    end_tree (child);
  else
    {
      check_kill (child, now);
      check_timeout (child, now);
    }
  gboolean carries = child->running && prism_agent_child_carry (child, over || (exited && child->framed));
  if (!over || carries)
    return TRUE;
  prism_agent_channel_lock (child->channel);
  child->ticket->job = NULL;
  prism_agent_channel_unlock (child->channel);
  return FALSE;
}

static void
child_free (PrismAgentJob *job)
{
  PrismAgentChild *child = (PrismAgentChild *)job;
  prism_agent_child_close_flows (child);
  for (guint i = 0; i < 3; i++)
    prism_clear_fd (&child->mine[i]);
  prism_clear_fd (&child->master);
  g_clear_object (&child->operation);
  g_clear_object (&child->command);
  g_weak_ref_clear (&child->sandbox);
  g_free (child->reference);
  g_free (child->loss);
  prism_agent_ticket_unref (child->ticket);
  prism_agent_channel_unref (child->channel);
  g_mutex_clear (&child->lock);
  g_free (child);
}

static PrismAgentChild *
child_new (PrismAgentSandbox *sandbox, PrismProcessOperation *operation, enum prism_wire_type type)
{
  PrismAgentChild *child = g_new0 (PrismAgentChild, 1);
  prism_agent_job_init (&child->job, child_step, child_free);
  child->channel = prism_agent_channel_ref (prism_agent_sandbox_get_channel (sandbox));
  g_weak_ref_init (&child->sandbox, sandbox);
  child->operation = g_object_ref (operation);
  child->ticket = prism_agent_ticket_new (type);
  child->ticket->job = &child->job;
  child->framed = prism_agent_sandbox_is_framed (sandbox);
  child->started = g_get_monotonic_time ();
  child->kill_by = child->give_up = G_MAXINT64;
  child->master = -1;
  for (guint i = 0; i < 3; i++)
    child->mine[i] = child->flows[i].from = child->flows[i].to = -1;
  g_mutex_init (&child->lock);
  g_queue_init (&child->waiting);
  g_queue_init (&child->killing);
  return child;
}

/* --- starting --- */

/* The caller's ends are ours to keep; @theirs go inside, or to the flows. */
static void
ignore_broken_pipes (void)
{
  static gsize once;
  if (!g_once_init_enter (&once))
    return;
  /* A process that closed its input must not end ours by SIGPIPE when the caller
   * writes to it. GIO ignores that signal for whoever uses sockets, as we do. */
  g_type_class_unref (g_type_class_ref (G_TYPE_SOCKET));
  g_once_init_leave (&once, 1);
}

static gboolean
open_pipes (PrismAgentChild *child, int *theirs, GError **error)
{
  ignore_broken_pipes ();
  for (guint i = 0; i < (child->pty ? 2 : 3); i++)
    {
      int ends[2];
      if (pipe2 (ends, O_CLOEXEC) < 0)
        {
          prism_agent_set_no_fds (error, "a process's streams");
          while (i-- > 0)
            prism_clear_fd (&theirs[i]);
          return FALSE;
        }
      child->mine[i] = ends[i == 0 ? 1 : 0];
      theirs[i] = ends[i == 0 ? 0 : 1];
      /* What is inside may take bytes that poll() promised us: no read may block for ever. */
      fcntl (child->mine[i], F_SETFL, O_NONBLOCK);
    }
  return TRUE;
}

static void
set_give_up (PrismAgentChild *child, PrismAgentSandbox *sandbox, gint64 timeout_ms)
{
  const PrismAgentLimits *limits = prism_agent_sandbox_get_limits (sandbox);
  gint64 span = timeout_ms + limits->stop_grace_ms + limits->cleanup_deadline_ms;
  gboolean paused;
  if (timeout_ms == 0 || timeout_ms >= G_MAXINT64 / 2000)
    return;
  child->paused_before =
      prism_agent_lifecycle_get_paused (prism_agent_sandbox_get_lifecycle (sandbox), child->started, &paused);
  child->give_up = child->started + span * 1000;
}

static gboolean
submit_process (PrismAgentChild *child, PrismAgentSandbox *sandbox, GError **error)
{
  int theirs[3] = { -1, -1, -1 };
  gboolean carried = child->framed || child->pty;
  guint32 flags = PRISM_WIRE_EXEC_STARTED | (child->framed ? PRISM_WIRE_EXEC_FRAMED : 0)
                  | (child->pty ? PRISM_WIRE_EXEC_PTY : PRISM_WIRE_EXEC_STDIN)
                  | (child->keep ? PRISM_WIRE_EXEC_KEEP : 0);
  const PrismAgentLimits *limits = prism_agent_sandbox_get_limits (sandbox);
  guint64 cap = child->keep ? 0 : (guint64)limits->max_output_bytes;
  gint64 timeout = MAX (prism_command_get_timeout_ms (child->command), 0);
  g_autofree char *tag = child->keep ? prism_command_dup_fingerprint (child->command) : g_strdup ("");
  g_auto (GStrv) env = prism_agent_egress_follow (sandbox, prism_command_get_env (child->command));
  const PrismAgentExecRequest request = { .flags = flags,
                                          .env = (const char *const *)env,
                                          .max_output = child->framed ? cap : 0,
                                          .uuid = child->uuid,
                                          .timeout_ms = (guint64)timeout,
                                          .grace_ms = (guint32)limits->stop_grace_ms,
                                          .tag = tag };
  g_auto (PrismAgentFrame) frame = { 0 };
  prism_agent_request_exec (&frame, child->command, &request);
  set_give_up (child, sandbox, timeout);
  child->ticket->call.flags = flags;
  gboolean sent = open_pipes (child, theirs, error);
  if (sent && child->framed)
    prism_agent_child_open_flows (child, theirs, -1);
  else if (sent && child->pty)
    {
      child->flows[0].from = theirs[0];
      child->flows[1].to = theirs[1];
    }
  sent = sent && prism_agent_channel_submit (child->channel, child->ticket, &frame, theirs, carried ? 0 : 3, error);
  for (guint i = 0; i < 3 && !carried; i++)
    prism_clear_fd (&theirs[i]);
  return sent;
}

/* Takes @child and, where it was not sent, @error. */
static void
launch (PrismAgentChild *child, gboolean sent, GError *error)
{
  g_return_if_fail (sent == (error == NULL));
  if (!sent || !prism_agent_channel_add_job (child->channel, prism_agent_job_ref (&child->job), &error))
    {
      g_atomic_ref_count_inc (&child->ticket->refs);
      prism_agent_channel_abandon (child->channel, child->ticket, 0);
      fail_start (child, error);
    }
  prism_agent_job_unref (&child->job);
}

static void
set_identity (PrismAgentChild *child, PrismAgentSandbox *sandbox)
{
  const PrismAgentHello *hello = prism_agent_sandbox_get_hello (sandbox);
  g_autofree char *uuid = g_uuid_string_random (), *fingerprint = prism_command_dup_fingerprint (child->command);
  GString *reference = g_string_new (REFERENCE ":");
  for (guint i = 0, n = 0; uuid[i] != '\0'; i++)
    if (uuid[i] != '-')
      child->uuid[n++] = uuid[i];
  for (guint i = 0; i < sizeof hello->boot_id; i++)
    g_string_append_printf (reference, "%02x", hello->boot_id[i]);
  g_string_append_printf (reference, ":%s:%s:%" G_GINT64_FORMAT ":%s", child->uuid, fingerprint,
                          g_get_real_time () / 1000, child->pty ? "tty" : "pipe");
  child->reference = g_string_free (reference, FALSE);
}

static void
agent_start_process (PrismSandbox *sandbox, PrismProcessOperation *operation)
{
  PrismAgentSandbox *self = PRISM_AGENT_SANDBOX (sandbox);
  PrismCommand *command = prism_process_operation_get_command (operation);
  PrismAgentAdmission *admission = prism_agent_sandbox_get_admission (self);
  PrismSandboxSpec *spec = prism_agent_sandbox_get_spec (self);
  GError *error = NULL;
  gboolean admitted = FALSE;
  if (prism_agent_sandbox_check_running (self, &error) && prism_sandbox_spec_check_command (spec, command, &error))
    admitted = prism_agent_admission_enter_process (admission, &error);
  if (!admitted || !prism_agent_admission_count (admission, &error))
    {
      if (admitted)
        prism_agent_admission_leave_process (admission);
      prism_operation_fail (PRISM_OPERATION (operation), error);
      g_error_free (error);
      return;
    }
  PrismAgentChild *child = child_new (self, operation, PRISM_WIRE_EXEC);
  child->admitted = TRUE;
  child->command = g_object_ref (command);
  child->pty = prism_command_get_pty_columns (command) > 0;
  child->keep = prism_sandbox_spec_get_lifetime (spec) == PRISM_LIFETIME_DETACHED;
  child->framed = child->framed || child->keep;
  set_identity (child, self);
  gboolean sent = submit_process (child, self, &error); /* first: it sets the error */
  launch (child, sent, error);
}

/* --- finding --- */

/* What a reference says: of which agent's life, and what must fit there. */
typedef struct
{
  char uuid[33];
  char fingerprint[65];
  gint64 started_ms;
  gboolean pty;
} Wanted;

/* The agent notes the start when it starts it, the reference was made just before. */
#define START_TOLERANCE_MS 60000

static void
fail_not_found (PrismProcessOperation *operation, const char *why)
{
  prism_operation_fail_literal (PRISM_OPERATION (operation), PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_NOT_FOUND, why);
}

/* REFERENCE:BOOT:UUID:FINGERPRINT:STARTED:tty|pipe */
static gboolean
parse_reference (PrismAgentSandbox *self, const char *reference, Wanted *wanted)
{
  const PrismAgentHello *hello = prism_agent_sandbox_get_hello (self);
  char boot[33] = "";
  if (!g_str_has_prefix (reference, REFERENCE ":") || strlen (reference) > 256)
    return FALSE;
  for (guint i = 0; i < sizeof hello->boot_id; i++)
    g_snprintf (boot + 2 * i, 3, "%02x", hello->boot_id[i]);
  g_auto (GStrv) parts = g_strsplit (reference + strlen (REFERENCE ":"), ":", 6);
  if (g_strv_length (parts) != 5 || !g_str_equal (parts[0], boot) || strlen (parts[1]) != 32 || strlen (parts[2]) != 64)
    return FALSE;
  wanted->pty = g_str_equal (parts[4], "tty");
  if (!wanted->pty && !g_str_equal (parts[4], "pipe"))
    return FALSE;
  g_strlcpy (wanted->uuid, parts[1], sizeof wanted->uuid);
  g_strlcpy (wanted->fingerprint, parts[2], sizeof wanted->fingerprint);
  return g_ascii_string_to_signed (parts[3], 10, 0, G_MAXINT64, &wanted->started_ms, NULL);
}

/* One process of PROCS: its tag, which is its command's fingerprint; NULL and bad where it
 * is none. */
static const char *
read_process (struct prism_wire_reader *r, const char **uuid, gint64 *started_ms)
{
  *uuid = prism_wire_str (r, 64);
  prism_wire_take (r, 4 + 1 + 1 + 4); /* pid, state, how, code: ATTACH tells them again */
  *started_ms = (gint64)prism_wire_u64 (r);
  prism_wire_take (r, 4 * 8);
  const char *tag = prism_wire_str (r, PRISM_WIRE_MAX_TAG);
  guint32 n = prism_wire_count (r);
  for (guint32 i = 0; i < n && !r->bad; i++)
    prism_wire_str (r, PRISM_WIRE_MAX_PAYLOAD);
  return r->bad ? NULL : tag;
}

static void
attach (PrismAgentSandbox *self, PrismProcessOperation *operation, const Wanted *wanted)
{
  PrismAgentAdmission *admission = prism_agent_sandbox_get_admission (self);
  GError *error = NULL;
  if (!prism_agent_admission_enter_process (admission, &error))
    {
      prism_operation_fail (PRISM_OPERATION (operation), error);
      g_error_free (error);
      return;
    }
  PrismAgentChild *child = child_new (self, operation, PRISM_WIRE_ATTACH);
  int theirs[3] = { -1, -1, -1 };
  g_auto (PrismAgentFrame) frame = { 0 };
  child->admitted = child->framed = child->keep = TRUE;
  child->pty = wanted->pty;
  child->reference = g_strdup (prism_process_operation_get_reference (operation));
  g_strlcpy (child->uuid, wanted->uuid, sizeof child->uuid);
  child->ticket->call.flags = PRISM_WIRE_EXEC_STARTED | (wanted->pty ? PRISM_WIRE_EXEC_PTY : 0);
  prism_agent_frame_init (&frame, PRISM_WIRE_ATTACH, 0, 0);
  prism_agent_frame_put_str (&frame, wanted->uuid);
  prism_agent_frame_put (&frame, 0, 8); /* all that the bounded logs still hold */
  prism_agent_frame_put (&frame, 0, 8);
  prism_agent_frame_put (&frame, PRISM_WIRE_EXEC_STARTED, 4);
  gboolean sent = open_pipes (child, theirs, &error);
  if (sent)
    prism_agent_child_open_flows (child, theirs, -1);
  sent = sent && prism_agent_channel_submit (child->channel, child->ticket, &frame, NULL, 0, &error);
  launch (child, sent, error);
}

/* Fails closed: the uuid, what was run and when must all be what the reference says. */
static void
answer_processes (PrismAgentAsk *ask)
{
  PrismProcessOperation *operation = PRISM_PROCESS_OPERATION (ask->operation);
  struct prism_wire_reader r = prism_wire_read_from (ask->data->data, ask->data->len);
  Wanted wanted;
  gboolean found = FALSE, known = parse_reference (ask->sandbox, ask->path, &wanted);
  while (known && !found && !prism_wire_done (&r))
    {
      const char *uuid;
      gint64 started_ms;
      const char *fingerprint = read_process (&r, &uuid, &started_ms);
      if (fingerprint == NULL)
        {
          g_autoptr (GError) error = NULL;
          prism_agent_channel_accuse (ask->channel, "a process that is none");
          prism_agent_channel_get_end (ask->channel, &error);
          prism_operation_fail (ask->operation, error);
          return;
        }
      found = g_str_equal (uuid, wanted.uuid) && g_str_equal (fingerprint, wanted.fingerprint)
              && ABS (started_ms - wanted.started_ms) <= START_TOLERANCE_MS;
    }
  if (found)
    attach (ask->sandbox, operation, &wanted);
  else
    fail_not_found (operation, "no process that fits the reference is kept");
}

static void
agent_attach_process (PrismSandbox *sandbox, PrismProcessOperation *operation)
{
  PrismAgentSandbox *self = PRISM_AGENT_SANDBOX (sandbox);
  const char *reference = prism_process_operation_get_reference (operation);
  PrismSandboxSpec *spec = prism_agent_sandbox_get_spec (self);
  Wanted wanted;
  g_autoptr (GError) error = NULL;
  if (!prism_agent_sandbox_check_running (self, &error))
    {
      prism_operation_fail (PRISM_OPERATION (operation), error);
      return;
    }
  if (!parse_reference (self, reference, &wanted))
    {
      fail_not_found (operation, "the reference names no process of this sandbox");
      return;
    }
  g_autoptr (PrismAgentProcess) known = prism_agent_sandbox_recall (self, reference);
  if (known != NULL)
    prism_process_operation_complete (operation, PRISM_PROCESS (known));
  else if (prism_sandbox_spec_get_lifetime (spec) != PRISM_LIFETIME_DETACHED)
    fail_not_found (operation, "the process was released, or ended long ago");
  else
    prism_agent_ask_run (prism_agent_ask_new (self, PRISM_OPERATION (operation), PRISM_WIRE_PROCS, "processes",
                                              reference, answer_processes));
}

void
prism_agent_processes_init_interface (PrismSandboxInterface *iface)
{
  iface->start_process = agent_start_process;
  iface->attach_process = agent_attach_process;
}
