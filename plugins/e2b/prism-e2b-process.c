/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-e2b-process.h"

#include <errno.h>
#include <fcntl.h>
#include <gio/gunixinputstream.h>
#include <gio/gunixoutputstream.h>
#include <glib-unix.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "prism-e2b-reference.h"

#define INPUT_CHUNK (64 * 1024)

/* One of its streams towards the reader, in the client's thread. */
typedef struct
{
  int fd; /* -1: nobody reads any more */
  GBytes *rest;
  gsize at;
  GSource *watch;
} Outlet;

/* What reads its input: it may outlive the process's object, which waits for nothing. */
typedef struct
{
  gatomicrefcount refs;
  PrismE2bProcess *process; /* the thread's; NULL: gone */
} Feed;

struct _PrismE2bProcess
{
  GObject parent_instance;
  PrismE2bSandbox *sandbox;
  char *fingerprint;
  GOutputStream *in;
  GInputStream *out, *err;
  gint64 pid;

  PrismE2bRun *run; /* the thread's, as all that follows */
  GQueue waits;
  PrismResult *result;
  PrismProcessOperation *starting;
  GInputStream *input; /* the other end of @in */
  GCancellable *input_stop;
  Feed *feed;
  Outlet outlets[2];
  gboolean released;
  gboolean looking; /* whether there is such a command at all */
  int look;         /* the answer */
  gboolean left;    /* nobody has it any more */
};

enum
{
  PROP_0,
  PROP_REFERENCE,
  PROP_STDIN_STREAM,
  PROP_STDOUT_STREAM,
  PROP_STDERR_STREAM,
};

static void process_init (PrismProcessInterface *iface);
G_DEFINE_FINAL_TYPE_WITH_CODE (PrismE2bProcess,
                               prism_e2b_process,
                               G_TYPE_OBJECT,
                               G_IMPLEMENT_INTERFACE (PRISM_TYPE_PROCESS, process_init))

/* --- what it writes ------------------------------------------------------------------------- */

static void
outlet_close (Outlet *outlet)
{
  prism_e2b_stop_source (&outlet->watch);
  g_clear_pointer (&outlet->rest, g_bytes_unref);
  if (outlet->fd >= 0)
    close (outlet->fd);
  outlet->fd = -1;
}

/* TRUE: all of it is written, or nobody wants it. Sockets, not pipes: a reader that is gone
 * must not raise SIGPIPE in this process. */
static gboolean
outlet_flush (Outlet *outlet)
{
  while (outlet->rest != NULL && outlet->fd >= 0)
    {
      gsize size;
      const guint8 *data = g_bytes_get_data (outlet->rest, &size);
      gssize n = send (outlet->fd, data + outlet->at, size - outlet->at, MSG_NOSIGNAL);

      if (n < 0 && errno == EINTR)
        continue;
      if (n < 0 && errno == EAGAIN)
        return FALSE;
      if (n < 0)
        {
          outlet_close (outlet);
          break;
        }
      outlet->at += (gsize)n;
      if (outlet->at == size)
        g_clear_pointer (&outlet->rest, g_bytes_unref);
    }
  return TRUE;
}

static gboolean
outlet_writable (int fd, GIOCondition condition, gpointer data)
{
  PrismE2bProcess *self = data;
  gboolean empty = TRUE;

  for (guint i = 0; i < 2; i++)
    {
      Outlet *outlet = &self->outlets[i];

      if (!outlet_flush (outlet))
        empty = FALSE;
      else
        {
          prism_e2b_stop_source (&outlet->watch);
          if (self->result != NULL || self->released)
            outlet_close (outlet);
        }
    }
  if (empty && self->run != NULL)
    prism_e2b_run_go_on (self->run);
  return G_SOURCE_CONTINUE;
}

static void
outlet_watch (PrismE2bProcess *self, Outlet *outlet)
{
  prism_e2b_stop_source (&outlet->watch);
  outlet->watch = g_unix_fd_source_new (outlet->fd, G_IO_OUT | G_IO_ERR);
  g_source_set_callback (outlet->watch, G_SOURCE_FUNC (outlet_writable), self, NULL);
  g_source_attach (outlet->watch, prism_e2b_client_get_context (self->sandbox->client));
}

static gboolean
output (PrismE2bRun *run, PrismStream stream, GBytes *bytes, gpointer data)
{
  PrismE2bProcess *self = data;
  Outlet *outlet = &self->outlets[stream == PRISM_STREAM_STDERR];

  if (outlet->fd < 0)
    return TRUE;
  outlet->rest = g_bytes_ref (bytes);
  outlet->at = 0;
  if (outlet_flush (outlet))
    return TRUE;
  outlet_watch (self, outlet);
  return FALSE;
}

/* --- what it reads ---------------------------------------------------------------------------- */

static void read_input (PrismE2bProcess *self);

static void
input_written (gboolean fine, gpointer data)
{
  g_autoptr (PrismE2bProcess) self = data;

  if (fine && self->run != NULL)
    read_input (self);
  else
    g_clear_object (&self->input); /* who still writes learns of it */
}

static void
input_closed (gboolean fine, gpointer data)
{
  g_object_unref (data);
}

static void
feed_unref (Feed *feed)
{
  if (g_atomic_ref_count_dec (&feed->refs))
    g_free (feed);
}

static void
input_read (GObject *source, GAsyncResult *result, gpointer data)
{
  Feed *feed = data;
  PrismE2bProcess *self = feed->process;
  g_autoptr (GBytes) bytes = g_input_stream_read_bytes_finish (G_INPUT_STREAM (source), result, NULL);

  feed_unref (feed);
  if (self == NULL || self->run == NULL || g_cancellable_is_cancelled (self->input_stop))
    return;
  if (bytes != NULL && g_bytes_get_size (bytes) > 0)
    prism_e2b_run_write (self->run, bytes, input_written, g_object_ref (self));
  else
    prism_e2b_run_close_stdin (self->run, input_closed, g_object_ref (self));
}

static void
read_input (PrismE2bProcess *self)
{
  if (self->input == NULL)
    return;
  g_atomic_ref_count_inc (&self->feed->refs);
  g_input_stream_read_bytes_async (self->input, INPUT_CHUNK, G_PRIORITY_DEFAULT, self->input_stop, input_read,
                                   self->feed);
}

/* --- its life ----------------------------------------------------------------------------------- */

/* Answers who asked for it, and lets go of the reference that was held for that. */
static void
answer_start (PrismE2bProcess *self, const GError *error)
{
  g_autoptr (PrismProcessOperation) operation = g_steal_pointer (&self->starting);

  if (operation == NULL)
    return;
  if (error != NULL)
    prism_operation_fail (PRISM_OPERATION (operation), error);
  else
    prism_process_operation_complete (operation, PRISM_PROCESS (self));
  g_object_unref (self);
}

/* A command that is not there ends at once, and has not begun. */
static void
settle_start (PrismE2bProcess *self)
{
  g_autoptr (PrismE2bProcess) own = g_object_ref (self);
  g_autoptr (GError) error = NULL;
  PrismCommand *command;

  if (self->starting == NULL || self->looking)
    return;
  command = prism_process_operation_get_command (self->starting);
  if (command != NULL)
    error = prism_e2b_look_to_error (self->look, prism_command_get_argv (command)[0]);
  answer_start (self, error);
}

static void
looked (int code, gpointer data)
{
  g_autoptr (PrismE2bProcess) self = data;

  self->looking = FALSE;
  self->look = code;
  settle_start (self);
}

/* What is attached to is there, and so is the shell. */
static void
look (PrismE2bProcess *self)
{
  PrismCommand *command = self->starting != NULL ? prism_process_operation_get_command (self->starting) : NULL;
  const char *name = command != NULL ? prism_command_get_argv (command)[0] : NULL;
  const char *cwd = command != NULL ? prism_command_get_cwd (command) : NULL;
  g_auto (GStrv) env = NULL;

  if (name == NULL || strcmp (name, "/bin/sh") == 0)
    return;
  env = prism_e2b_sandbox_dup_env (self->sandbox, command, NULL);
  self->looking = TRUE;
  prism_e2b_script_look (self->sandbox->client, IDENTITY (self->sandbox), self->sandbox->user, name,
                         (const char *const *)env, cwd != NULL ? cwd : self->sandbox->workspace, looked,
                         g_object_ref (self));
}

static void
started (PrismE2bRun *run, gpointer data)
{
  PrismE2bProcess *self = data;

  self->pid = prism_e2b_run_get_pid (run);
  read_input (self);
  look (self);
  settle_start (self);
}

static void
ended (PrismE2bRun *run, const GError *error, gpointer data)
{
  g_autoptr (PrismE2bProcess) self = g_object_ref (data);
  PrismWaitOperation *wait;

  g_ptr_array_remove_fast (self->sandbox->runs, run);
  prism_e2b_sandbox_idle (self->sandbox);
  g_cancellable_cancel (self->input_stop);
  /* Who still writes learns that nobody reads (EPIPE; GIO's sockets ignore the signal). */
  g_clear_object (&self->input);
  if (error != NULL)
    answer_start (self, error);
  self->result = prism_e2b_run_new_result (run);
  for (guint i = 0; i < 2; i++)
    if (self->outlets[i].rest == NULL)
      outlet_close (&self->outlets[i]);
  while ((wait = g_queue_pop_head (&self->waits)) != NULL)
    {
      prism_wait_operation_complete (wait, self->result);
      g_object_unref (wait);
    }
  g_clear_pointer (&self->run, prism_e2b_run_unref);
}

static const PrismE2bRunFuncs run_funcs = { started, output, ended };

/* FALSE with the operation failed. */
static gboolean
open_pipes (PrismE2bProcess *self, gboolean pty, GError **error)
{
  int fds[3][2] = { { -1, -1 }, { -1, -1 }, { -1, -1 } };
  gboolean fine = TRUE;

  for (guint i = 0; i < 3 && fine; i++)
    fine = socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds[i]) == 0;
  if (!fine)
    {
      g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_LIMIT, "cannot make its streams: %s",
                   g_strerror (errno));
      for (guint i = 0; i < 3; i++)
        for (guint k = 0; k < 2; k++)
          if (fds[i][k] >= 0)
            close (fds[i][k]);
      return FALSE;
    }
  self->input = g_unix_input_stream_new (fds[0][0], TRUE);
  self->in = g_unix_output_stream_new (fds[0][1], TRUE);
  self->out = g_unix_input_stream_new (fds[1][0], TRUE);
  self->outlets[0].fd = fds[1][1];
  self->outlets[1].fd = fds[2][1];
  self->err = g_unix_input_stream_new (fds[2][0], TRUE);
  if (pty)
    {
      outlet_close (&self->outlets[1]);
      g_clear_object (&self->err);
    }
  for (guint i = 0; i < 2; i++)
    if (self->outlets[i].fd >= 0)
      g_unix_set_fd_nonblocking (self->outlets[i].fd, TRUE, NULL);
  return TRUE;
}

static gboolean
begin (gpointer data)
{
  PrismE2bProcess *self = data;
  gint64 most = prism_limits_get (prism_sandbox_spec_get_limits (self->sandbox->spec), "max-processes");

  if (self->sandbox->runs->len - self->sandbox->running >= most)
    {
      g_autoptr (GError) error =
          g_error_new_literal (PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_LIMIT, "the limit max-processes is used up");
      g_clear_pointer (&self->run, prism_e2b_run_unref);
      answer_start (self, error);
      return G_SOURCE_REMOVE;
    }
  g_ptr_array_add (self->sandbox->runs, self->run);
  prism_e2b_sandbox_busy (self->sandbox);
  prism_e2b_run_begin (self->run);
  return G_SOURCE_REMOVE;
}

void
prism_e2b_process_begin (PrismE2bSandbox *sandbox,
                         const PrismE2bRunSpec *spec,
                         const char *fingerprint,
                         PrismProcessOperation *operation)
{
  PrismE2bProcess *self = g_object_new (PRISM_TYPE_E2B_PROCESS, NULL);
  g_autoptr (GError) error = NULL;

  self->sandbox = g_object_ref (sandbox);
  self->fingerprint = g_strdup (fingerprint);
  if (!open_pipes (self, spec->pty, &error))
    {
      prism_operation_fail (PRISM_OPERATION (operation), error);
      g_object_unref (self);
      return;
    }
  self->starting = g_object_ref (operation);
  g_object_ref (self); /* until that is answered */
  self->run = prism_e2b_run_new (spec, &run_funcs, self);
  prism_e2b_client_invoke (sandbox->client, begin, self, g_object_unref);
}

/* --- what is asked of it -------------------------------------------------------------------------- */

typedef struct
{
  PrismE2bProcess *process;
  PrismOperation *operation;
  void (*work) (PrismE2bProcess *process, PrismOperation *operation);
} Errand;

static void
errand_free (gpointer data)
{
  Errand *errand = data;

  g_object_unref (errand->operation);
  g_object_unref (errand->process);
  g_free (errand);
}

static gboolean
errand_do (gpointer data)
{
  Errand *errand = data;

  if (errand->process->released)
    prism_operation_fail_literal (errand->operation, PRISM_PROCESS_ERROR, PRISM_PROCESS_ERROR_STATE,
                                  "the process was released");
  else
    errand->work (errand->process, errand->operation);
  return G_SOURCE_REMOVE;
}

static void
hand_over (gpointer process, gpointer operation, void (*work) (PrismE2bProcess *process, PrismOperation *operation))
{
  PrismE2bProcess *self = PRISM_E2B_PROCESS (process);
  Errand *errand = g_new (Errand, 1);

  *errand = (Errand){ g_object_ref (self), g_object_ref (operation), work };
  prism_e2b_client_invoke (self->sandbox->client, errand_do, errand, errand_free);
}

static gboolean
check_alive (PrismE2bProcess *self, PrismOperation *operation)
{
  if (self->run != NULL)
    return TRUE;
  prism_operation_fail_literal (operation, PRISM_PROCESS_ERROR, PRISM_PROCESS_ERROR_STATE, "the process has ended");
  return FALSE;
}

static void
control_answered (PrismE2bReply *reply, const GError *error, gpointer data)
{
  g_autoptr (PrismOperation) operation = data;

  if (error == NULL)
    prism_control_operation_complete (PRISM_CONTROL_OPERATION (operation));
  else if (g_error_matches (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_NOT_FOUND))
    prism_operation_fail_literal (operation, PRISM_PROCESS_ERROR, PRISM_PROCESS_ERROR_STATE, "the process has ended");
  else
    prism_operation_fail (operation, error);
}

static void
control (PrismE2bProcess *self, PrismOperation *operation, const char *path, const char *what, GBytes *body)
{
  PrismE2bRequest request = {
    .plane = PRISM_E2B_PLANE_DATA,
    .identity = IDENTITY (self->sandbox),
    .method = "POST",
    .path = path,
    .what = what,
    .body = body,
    .rpc = TRUE,
  };

  prism_e2b_client_send (self->sandbox->client, &request, control_answered, g_object_ref (operation));
}

static void
signalled (int code, gpointer data)
{
  g_autoptr (PrismOperation) operation = data;

  if (code == 0)
    prism_control_operation_complete (PRISM_CONTROL_OPERATION (operation));
  else
    prism_operation_fail_literal (operation, PRISM_PROCESS_ERROR, PRISM_PROCESS_ERROR_STATE,
                                  "the signal could not be sent: the process has ended, or is another user's");
}

/* To the one process, not to its group: that is what the service has. Those that it does not
 * have are sent from inside. */
static void
do_signal (PrismE2bProcess *self, PrismOperation *operation)
{
  int number = prism_control_operation_get_signal (PRISM_CONTROL_OPERATION (operation));
  g_autoptr (GBytes) body = prism_e2b_signal_new (self->pid, number);

  if (!check_alive (self, operation))
    return;
  if (body == NULL)
    prism_e2b_script_signal (self->sandbox->client, IDENTITY (self->sandbox), self->sandbox->user, self->pid, number,
                             signalled, g_object_ref (operation));
  else
    control (self, operation, "/process.Process/SendSignal", "send the signal", body);
}

static void
killed (int code, gpointer data)
{
  g_autoptr (PrismOperation) operation = data;

  prism_control_operation_complete (PRISM_CONTROL_OPERATION (operation));
}

static void
do_kill (PrismE2bProcess *self, PrismOperation *operation)
{
  if (self->run == NULL)
    prism_control_operation_complete (PRISM_CONTROL_OPERATION (operation));
  else
    prism_e2b_run_kill (self->run, killed, g_object_ref (operation));
}

static void
do_resize (PrismE2bProcess *self, PrismOperation *operation)
{
  PrismControlOperation *size = PRISM_CONTROL_OPERATION (operation);
  g_autoptr (GBytes) body = prism_e2b_resize_new (self->pid, prism_control_operation_get_columns (size),
                                                  prism_control_operation_get_rows (size));

  if (check_alive (self, operation))
    control (self, operation, "/process.Process/Update", "change the size of the terminal", body);
}

static void
do_release (PrismE2bProcess *self, PrismOperation *operation)
{
  self->released = TRUE;
  if (self->run != NULL)
    prism_e2b_run_detach (self->run);
  prism_control_operation_complete (PRISM_CONTROL_OPERATION (operation));
}

static void
do_wait (PrismE2bProcess *self, PrismOperation *operation)
{
  if (self->result != NULL)
    prism_wait_operation_complete (PRISM_WAIT_OPERATION (operation), self->result);
  else
    g_queue_push_tail (&self->waits, g_object_ref (operation));
}

static void
process_send_signal (PrismProcess *process, PrismControlOperation *operation)
{
  hand_over (process, operation, do_signal);
}

static void
process_kill (PrismProcess *process, PrismControlOperation *operation)
{
  hand_over (process, operation, do_kill);
}

static void
process_resize (PrismProcess *process, PrismControlOperation *operation)
{
  hand_over (process, operation, do_resize);
}

static void
process_release (PrismProcess *process, PrismControlOperation *operation)
{
  hand_over (process, operation, do_release);
}

static void
process_wait (PrismProcess *process, PrismWaitOperation *operation)
{
  hand_over (process, operation, do_wait);
}

static void
process_init (PrismProcessInterface *iface)
{
  iface->send_signal = process_send_signal;
  iface->kill = process_kill;
  iface->resize = process_resize;
  iface->release = process_release;
  iface->wait = process_wait;
}

/* --- the object --------------------------------------------------------------------------------------- */

static void
prism_e2b_process_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  PrismE2bProcess *self = PRISM_E2B_PROCESS (object);
  PrismE2bReference reference = { IDENTITY (self->sandbox)->id, self->pid, self->fingerprint,
                                  self->sandbox->workspace };

  switch (id)
    {
    case PROP_REFERENCE:
      g_value_take_string (value, prism_e2b_reference_format (&reference));
      break;
    case PROP_STDIN_STREAM:
      g_value_set_object (value, self->in);
      break;
    case PROP_STDOUT_STREAM:
      g_value_set_object (value, self->out);
      break;
    case PROP_STDERR_STREAM:
      g_value_set_object (value, self->err);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    }
}

/* The last of its life happens in the client's thread, where its callbacks are: nothing of
 * them is under way there then. The command runs on. */
static gboolean
leave (gpointer data)
{
  PrismE2bProcess *self = data;

  self->feed->process = NULL;
  g_cancellable_cancel (self->input_stop);
  if (self->run != NULL)
    prism_e2b_run_detach (self->run);
  outlet_close (&self->outlets[0]);
  outlet_close (&self->outlets[1]);
  return G_SOURCE_REMOVE;
}

static void
prism_e2b_process_dispose (GObject *object)
{
  PrismE2bProcess *self = PRISM_E2B_PROCESS (object);

  if (!self->left && self->sandbox != NULL)
    {
      self->left = TRUE;
      prism_e2b_client_invoke (self->sandbox->client, leave, g_object_ref (self), g_object_unref);
    }
  G_OBJECT_CLASS (prism_e2b_process_parent_class)->dispose (object);
}

static void
prism_e2b_process_finalize (GObject *object)
{
  PrismE2bProcess *self = PRISM_E2B_PROCESS (object);

  outlet_close (&self->outlets[0]);
  outlet_close (&self->outlets[1]);
  g_clear_object (&self->in);
  g_clear_object (&self->out);
  g_clear_object (&self->err);
  g_clear_object (&self->input);
  g_clear_object (&self->input_stop);
  g_clear_object (&self->result);
  g_clear_object (&self->starting);
  g_clear_object (&self->sandbox);
  feed_unref (self->feed);
  g_free (self->fingerprint);
  G_OBJECT_CLASS (prism_e2b_process_parent_class)->finalize (object);
}

static void
prism_e2b_process_class_init (PrismE2bProcessClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->get_property = prism_e2b_process_get_property;
  object_class->dispose = prism_e2b_process_dispose;
  object_class->finalize = prism_e2b_process_finalize;
  g_object_class_override_property (object_class, PROP_REFERENCE, "reference");
  g_object_class_override_property (object_class, PROP_STDIN_STREAM, "stdin-stream");
  g_object_class_override_property (object_class, PROP_STDOUT_STREAM, "stdout-stream");
  g_object_class_override_property (object_class, PROP_STDERR_STREAM, "stderr-stream");
}

static void
prism_e2b_process_init (PrismE2bProcess *self)
{
  self->outlets[0].fd = self->outlets[1].fd = -1;
  self->input_stop = g_cancellable_new ();
  self->feed = g_new (Feed, 1);
  g_atomic_ref_count_init (&self->feed->refs);
  self->feed->process = self;
}
