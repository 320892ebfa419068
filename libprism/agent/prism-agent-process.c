/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the caller holds of a process. */
#include "prism-agent-process-private.h"

#include "prism-fd-private.h"
#include "prism-fork-private.h"
#include "prism-operation-private.h"
#include "prism-result.h"
#include "prism-sandbox-error.h"

#include <gio/gunixinputstream.h>
#include <gio/gunixoutputstream.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>

struct _PrismAgentProcess
{
  GObject parent_instance;
  PrismAgentChild *child;
  GOutputStream *stdin_stream;
  GInputStream *stdout_stream;
  GInputStream *stderr_stream;
  gint released; /* atomic */
  guint forks;   /* of the process that started it */
};

enum
{
  PROP_0,
  PROP_REFERENCE,
  PROP_STDIN_STREAM,
  PROP_STDOUT_STREAM,
  PROP_STDERR_STREAM,
};

static void prism_agent_process_init_interface (PrismProcessInterface *iface);

G_DEFINE_FINAL_TYPE_WITH_CODE (PrismAgentProcess,
                               prism_agent_process,
                               G_TYPE_OBJECT,
                               G_IMPLEMENT_INTERFACE (PRISM_TYPE_PROCESS, prism_agent_process_init_interface))

PrismAgentChild *
prism_agent_process_get_child (PrismAgentProcess *self)
{
  return self->child;
}

PrismResult *
prism_agent_child_dup_result (PrismAgentChild *child)
{
  g_autoptr (GBytes) none = g_bytes_new_static ("", 0);
  guint32 flags = child->exit.flags;
  PrismOutcome outcome = PRISM_OUTCOME_LOST;
  const char *limit = NULL;
  if (child->end == PRISM_AGENT_END_WALL || child->end == PRISM_AGENT_END_IDLE)
    {
      outcome = PRISM_OUTCOME_WALL_EXCEEDED;
      limit = child->end == PRISM_AGENT_END_WALL ? "wall-time-ms" : "idle-timeout-ms";
    }
  else if ((flags & PRISM_WIRE_EXITED_LIMIT) != 0)
    {
      outcome = PRISM_OUTCOME_OUTPUT_LIMIT;
      limit = "max-output-bytes";
    }
  else if ((flags & PRISM_WIRE_EXITED_TIMED_OUT) != 0)
    outcome = PRISM_OUTCOME_TIMED_OUT;
  else if ((flags & PRISM_WIRE_EXITED_CANCELLED) != 0)
    outcome = PRISM_OUTCOME_CANCELLED;
  else if (child->exit.how == PRISM_WIRE_HOW_CODE)
    outcome = PRISM_OUTCOME_EXITED;
  else if (child->exit.how == PRISM_WIRE_HOW_SIGNAL || (flags & PRISM_WIRE_EXITED_SHIM) != 0)
    outcome = PRISM_OUTCOME_SIGNALLED;
  int term_signal = child->exit.how == PRISM_WIRE_HOW_SIGNAL ? child->exit.code : SIGKILL;
  if (outcome == PRISM_OUTCOME_SIGNALLED && term_signal == SIGKILL)
    limit = child->limit;
  const char *reason = outcome != PRISM_OUTCOME_LOST ? NULL
                       : child->loss != NULL         ? child->loss
                                                     : "the agent does not know how it ended";
  gint64 timeout = child->command != NULL ? MAX (prism_command_get_timeout_ms (child->command), 0) : 0;
  return g_object_new (PRISM_TYPE_RESULT, "outcome", outcome, "exit-code",
                       outcome == PRISM_OUTCOME_EXITED ? child->exit.code : -1, "term-signal",
                       outcome == PRISM_OUTCOME_SIGNALLED ? term_signal : 0, "stdout-bytes", none, "stderr-bytes", none,
                       "stdout-total", child->exit.out_bytes, "stderr-total", child->exit.err_bytes, "duration-us",
                       child->duration_us, "effective-timeout-ms", timeout, "limit", limit, "reason", reason, NULL);
}

/* --- methods --- */

/* As with its sandbox: who waits for it, and its locks, are not in a fork. */
static gboolean
refuse_another (PrismAgentProcess *self, gpointer operation)
{
  if (self->forks == prism_forks ())
    return FALSE;
  prism_operation_fail_literal (operation, PRISM_PROCESS_ERROR, PRISM_PROCESS_ERROR_STATE,
                                "the process's sandbox belongs to the process that this one is a fork of");
  return TRUE;
}

static gboolean
refuse (PrismAgentProcess *self, PrismControlOperation *operation, gboolean ended_too)
{
  const char *state = NULL;
  if (refuse_another (self, operation))
    return TRUE;
  g_mutex_lock (&self->child->lock);
  if (g_atomic_int_get (&self->released))
    state = "the process was released";
  else if (ended_too && self->child->ended)
    state = "the process has ended";
  g_mutex_unlock (&self->child->lock);
  if (state != NULL)
    prism_operation_fail_literal (PRISM_OPERATION (operation), PRISM_PROCESS_ERROR, PRISM_PROCESS_ERROR_STATE, state);
  return state != NULL;
}

static void
process_send_signal (PrismProcess *process, PrismControlOperation *operation)
{
  PrismAgentProcess *self = PRISM_AGENT_PROCESS (process);
  if (refuse (self, operation, TRUE))
    return;
  g_auto (PrismAgentFrame) frame = { 0 };
  prism_agent_frame_init (&frame, PRISM_WIRE_SIGNAL, 0, 0);
  prism_agent_frame_put (&frame, (guint64)prism_control_operation_get_signal (operation), 4);
  prism_agent_channel_send (self->child->channel, &frame, self->child->ticket);
  prism_control_operation_complete (operation);
}

static void
process_kill (PrismProcess *process, PrismControlOperation *operation)
{
  PrismAgentProcess *self = PRISM_AGENT_PROCESS (process);
  PrismAgentChild *child = self->child;
  if (refuse (self, operation, FALSE))
    return;
  g_auto (PrismAgentFrame) frame = { 0 };
  prism_agent_frame_init (&frame, PRISM_WIRE_CANCEL, 0, 0);
  prism_agent_frame_put (&frame, 0, 4);
  g_mutex_lock (&child->lock);
  gboolean gone = child->gone;
  if (!gone)
    g_queue_push_tail (&child->killing, g_object_ref (operation));
  g_mutex_unlock (&child->lock);
  /* Also when it has ended: what it left behind is killed as well. */
  prism_agent_channel_send (child->channel, &frame, child->ticket);
  if (gone)
    prism_control_operation_complete (operation);
  else
    prism_agent_channel_wake_job (child->channel, &child->job);
}

static void
process_resize (PrismProcess *process, PrismControlOperation *operation)
{
  PrismAgentProcess *self = PRISM_AGENT_PROCESS (process);
  guint columns = prism_control_operation_get_columns (operation), rows = prism_control_operation_get_rows (operation);
  if (refuse (self, operation, TRUE))
    return;
  if (!self->child->pty)
    {
      prism_operation_fail_literal (PRISM_OPERATION (operation), PRISM_PROCESS_ERROR, PRISM_PROCESS_ERROR_UNSUPPORTED,
                                    "the process has no terminal");
      return;
    }
  if (columns < 1 || rows < 1 || columns > G_MAXUINT16 || rows > G_MAXUINT16)
    {
      prism_operation_fail_literal (PRISM_OPERATION (operation), PRISM_PROCESS_ERROR, PRISM_PROCESS_ERROR_PTY_LIMIT,
                                    "columns and rows: 1 to 65535");
      return;
    }
  if (self->child->framed)
    {
      g_auto (PrismAgentFrame) frame = { 0 };
      prism_agent_frame_init (&frame, PRISM_WIRE_RESIZE, 0, 0);
      prism_agent_frame_put (&frame, columns, 2);
      prism_agent_frame_put (&frame, rows, 2);
      prism_agent_channel_send (self->child->channel, &frame, self->child->ticket);
    }
  else
    {
      struct winsize size = { .ws_col = (unsigned short)columns, .ws_row = (unsigned short)rows };
      ioctl (self->child->master, TIOCSWINSZ, &size);
    }
  prism_control_operation_complete (operation);
}

/* The agent need not keep an ended process's log any longer. */
static void
forget_log (PrismAgentChild *child)
{
  PrismAgentTicket *ticket = prism_agent_ticket_new (PRISM_WIRE_RELEASE);
  g_auto (PrismAgentFrame) frame = { 0 };
  prism_agent_frame_init (&frame, PRISM_WIRE_RELEASE, 0, 0);
  prism_agent_frame_put_str (&frame, child->uuid);
  prism_agent_channel_submit (child->channel, ticket, &frame, NULL, 0, NULL);
  prism_agent_channel_abandon (child->channel, ticket, 0);
}

static void
process_release (PrismProcess *process, PrismControlOperation *operation)
{
  PrismAgentProcess *self = PRISM_AGENT_PROCESS (process);
  if (refuse_another (self, operation))
    return;
  g_autoptr (PrismAgentSandbox) sandbox = g_weak_ref_get (&self->child->sandbox);
  g_atomic_int_set (&self->released, TRUE);
  if (sandbox != NULL)
    prism_agent_sandbox_forget (sandbox, self->child->reference);
  g_mutex_lock (&self->child->lock);
  gboolean logged = self->child->keep && self->child->ended;
  g_mutex_unlock (&self->child->lock);
  if (logged)
    forget_log (self->child);
  prism_control_operation_complete (operation);
}

static void
process_wait (PrismProcess *process, PrismWaitOperation *operation)
{
  PrismAgentChild *child = PRISM_AGENT_PROCESS (process)->child;
  g_autoptr (PrismResult) result = NULL;
  if (refuse_another (PRISM_AGENT_PROCESS (process), operation))
    return;
  g_mutex_lock (&child->lock);
  if (child->ended)
    result = prism_agent_child_dup_result (child);
  else
    g_queue_push_tail (&child->waiting, g_object_ref (operation));
  g_mutex_unlock (&child->lock);
  if (result != NULL)
    prism_wait_operation_complete (operation, result);
}

static void
prism_agent_process_init_interface (PrismProcessInterface *iface)
{
  iface->send_signal = process_send_signal;
  iface->kill = process_kill;
  iface->resize = process_resize;
  iface->release = process_release;
  iface->wait = process_wait;
}

/* --- the object --- */

static void
prism_agent_process_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  PrismAgentProcess *self = PRISM_AGENT_PROCESS (object);
  switch (id)
    {
    case PROP_REFERENCE:
      g_value_set_string (value, self->child->reference);
      break;
    case PROP_STDIN_STREAM:
      g_value_set_object (value, self->stdin_stream);
      break;
    case PROP_STDOUT_STREAM:
      g_value_set_object (value, self->stdout_stream);
      break;
    case PROP_STDERR_STREAM:
      g_value_set_object (value, self->stderr_stream);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    }
}

static void
prism_agent_process_finalize (GObject *object)
{
  PrismAgentProcess *self = PRISM_AGENT_PROCESS (object);
  g_clear_object (&self->stdin_stream);
  g_clear_object (&self->stdout_stream);
  g_clear_object (&self->stderr_stream);
  prism_agent_job_unref (&self->child->job);
  G_OBJECT_CLASS (prism_agent_process_parent_class)->finalize (object);
}

static void
prism_agent_process_class_init (PrismAgentProcessClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  object_class->get_property = prism_agent_process_get_property;
  object_class->finalize = prism_agent_process_finalize;
  g_object_class_override_property (object_class, PROP_REFERENCE, "reference");
  g_object_class_override_property (object_class, PROP_STDIN_STREAM, "stdin-stream");
  g_object_class_override_property (object_class, PROP_STDOUT_STREAM, "stdout-stream");
  g_object_class_override_property (object_class, PROP_STDERR_STREAM, "stderr-stream");
}

static void
prism_agent_process_init (PrismAgentProcess *self)
{
}

PrismAgentProcess *
prism_agent_process_new (PrismAgentChild *child)
{
  PrismAgentProcess *self = g_object_new (PRISM_TYPE_AGENT_PROCESS, NULL);
  self->forks = prism_forks ();
  self->child = (PrismAgentChild *)prism_agent_job_ref (&child->job);
  if (child->mine[0] >= 0)
    self->stdin_stream = g_unix_output_stream_new (g_steal_fd (&child->mine[0]), TRUE);
  if (child->mine[1] >= 0)
    self->stdout_stream = g_unix_input_stream_new (g_steal_fd (&child->mine[1]), TRUE);
  if (child->mine[2] >= 0)
    self->stderr_stream = g_unix_input_stream_new (g_steal_fd (&child->mine[2]), TRUE);
  return self;
}
