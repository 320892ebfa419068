/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Trees in and out. The archive half (a folder to a tree stream, a tree stream to
 * a tar) blocks, so it runs in the caller's thread when that may block, else in
 * one of its own; a pipe lies between it and the agent. Where no descriptor can
 * be passed, a job of the I/O thread carries the pipe's bytes in frames.
 *
 * TRUST. A tree that comes out was written inside: the archive half checks every
 * entry of it. Here only its length, its speed and its end are bounded. */
#include "prism-agent-ask-private.h"

#include "prism-archive-private.h"
#include "prism-fd-private.h"
#include "prism-operation-private.h"
#include "prism-sandbox-error.h"

#include <errno.h>
#include <fcntl.h>

#define STALL_MS   30000
#define PIPE_BYTES (1024 * 1024)
#define PIECE      (64u * 1024u)

/* --- frames beside a pipe ---------------------------------------------------- */

typedef struct
{
  PrismAgentJob job; /* first */
  PrismAgentTicket *ticket;
  int fd; /* our end of the pipe; -1 once it is over */
  PrismAgentWatch watch;
  gboolean out;
  PrismAgentInbox inbox; /* what is being written */
  gsize written;
  guint8 *piece; /* what is being sent */
  gsize piece_size;
  gboolean ended; /* the pipe said so */

  gint quit; /* atomic: nobody waits for it any more */
  GMutex lock;
  GCond over_changed;
  gboolean over;
} Pump;

static void
pump_close (Pump *pump)
{
  if (pump->fd >= 0)
    prism_agent_watch_set (&pump->watch, &pump->job, pump->fd, 0);
  prism_clear_fd (&pump->fd);
}

static void
grant (Pump *pump, gsize size)
{
  g_auto (PrismAgentFrame) frame = { 0 };
  prism_agent_frame_init (&frame, PRISM_WIRE_CREDIT, 0, 0);
  prism_agent_frame_put (&frame, 3, 1);
  prism_agent_frame_put (&frame, size, 4);
  prism_agent_channel_lock (pump->job.channel);
  pump->ticket->call.may_receive[3] += (gint64)size;
  prism_agent_channel_unlock (pump->job.channel);
  prism_agent_channel_send (pump->job.channel, &frame, pump->ticket);
}

/* From frames into the pipe. */
static void
pump_out (Pump *pump)
{
  PrismAgentCall *call = &pump->ticket->call;
  while (TRUE)
    {
      if (pump->inbox.size == 0)
        {
          prism_agent_channel_lock (pump->job.channel);
          pump->inbox = call->in[0];
          call->in[0] = (PrismAgentInbox){ 0 };
          prism_agent_channel_unlock (pump->job.channel);
          pump->written = 0;
        }
      if (pump->inbox.size == 0)
        break;
      ssize_t n = -1;
      if (pump->fd >= 0)
        n = write (pump->fd, pump->inbox.data + pump->written, pump->inbox.size - pump->written);
      if (n < 0 && pump->fd >= 0 && (errno == EAGAIN || errno == EINTR))
        {
          prism_agent_watch_set (&pump->watch, &pump->job, pump->fd, EPOLLOUT);
          return;
        }
      if (n < 0)
        {
          /* Nobody reads it any more: the caller will cancel. */
          pump_close (pump);
          n = (ssize_t)(pump->inbox.size - pump->written);
        }
      pump->written += (gsize)n;
      if (pump->written < pump->inbox.size)
        continue;
      gsize size = pump->inbox.size;
      prism_agent_inbox_clear (&pump->inbox);
      grant (pump, size);
    }
  if (pump->fd >= 0)
    prism_agent_watch_set (&pump->watch, &pump->job, pump->fd, 0);
}

/* From the pipe into frames, as credit allows. */
static void
pump_in (Pump *pump)
{
  PrismAgentChannel *channel = pump->job.channel;
  for (guint i = 0; i < 16 && !pump->ended; i++)
    {
      prism_agent_channel_lock (channel);
      gsize credit = (gsize)MAX (pump->ticket->call.may_send, 0);
      prism_agent_channel_unlock (channel);
      if (credit == 0 || prism_agent_channel_is_congested (channel))
        {
          prism_agent_watch_set (&pump->watch, &pump->job, pump->fd, 0);
          return;
        }
      ssize_t n = read (pump->fd, pump->piece, MIN (PIECE, credit));
      if (n < 0 && (errno == EAGAIN || errno == EINTR))
        {
          prism_agent_watch_set (&pump->watch, &pump->job, pump->fd, EPOLLIN);
          return;
        }
      pump->ended = n <= 0;
      g_auto (PrismAgentFrame) frame = { 0 };
      prism_agent_frame_init (&frame, PRISM_WIRE_DATA, 0, pump->ended ? PRISM_WIRE_LAST : 0);
      prism_agent_frame_put_bytes (&frame, pump->piece, (gsize)MAX (n, 0));
      prism_agent_channel_lock (channel);
      pump->ticket->call.may_send -= MAX (n, 0);
      prism_agent_channel_unlock (channel);
      prism_agent_channel_send (channel, &frame, pump->ticket);
    }
  if (pump->ended)
    pump_close (pump);
  else
    pump->job.deadline = g_get_monotonic_time ();
}

static gboolean
pump_step (PrismAgentJob *job, gint64 now)
{
  Pump *pump = (Pump *)job;
  pump->watch.ready = 0;
  job->deadline = G_MAXINT64;
  if (pump->out)
    pump_out (pump);
  else if (pump->fd >= 0)
    pump_in (pump);
  prism_agent_channel_lock (job->channel);
  gboolean over = pump->ticket->call.id == 0 && pump->inbox.size == 0 && pump->ticket->call.in[0].size == 0;
  over = over || g_atomic_int_get (&pump->quit);
  if (over && pump->ticket->job == job)
    pump->ticket->job = NULL;
  prism_agent_channel_unlock (job->channel);
  if (!over)
    return TRUE;
  pump_close (pump);
  g_mutex_lock (&pump->lock);
  pump->over = TRUE;
  g_cond_signal (&pump->over_changed);
  g_mutex_unlock (&pump->lock);
  return FALSE;
}

static void
pump_free (PrismAgentJob *job)
{
  Pump *pump = (Pump *)job;
  prism_clear_fd (&pump->fd);
  prism_agent_inbox_clear (&pump->inbox);
  prism_agent_ticket_unref (pump->ticket);
  g_free (pump->piece);
  g_cond_clear (&pump->over_changed);
  g_mutex_clear (&pump->lock);
  g_free (pump);
}

/* --- one operation ------------------------------------------------------------ */

typedef struct
{
  PrismAgentSandbox *sandbox;
  PrismTreeOperation *operation;
  GCancellable *cancellable;
  gboolean out;
} Tree;

static void
show_progress (guint64 entries, guint64 bytes, gpointer user_data)
{
  Tree *tree = user_data;
  prism_operation_renew_deadline (PRISM_OPERATION (tree->operation));
  prism_tree_operation_progress (tree->operation, entries, bytes, 0);
}

static int
open_folder (Tree *tree, GError **error)
{
  const char *path = g_file_peek_path (prism_tree_operation_get_folder (tree->operation));
  int fd = path != NULL ? open (path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
  if (fd < 0)
    g_set_error (error, PRISM_TREE_ERROR, PRISM_TREE_ERROR_FAILED, "the folder “%s” cannot be opened: %s",
                 path != NULL ? path : "(not a local one)", path != NULL ? g_strerror (errno) : "no local path");
  return fd;
}

static PrismTreeIdentity *
run_archive (Tree *tree, int fd, GError **error)
{
  const PrismAgentLimits *limits = prism_agent_sandbox_get_limits (tree->sandbox);
  PrismArchiveLimits bounds = {
    .max_entries = (guint64)limits->max_export_entries,
    .max_bytes = (guint64)limits->max_export_bytes,
    .stall_ms = STALL_MS,
  };
  if (tree->out)
    return prism_archive_export (fd, prism_tree_operation_get_stream (tree->operation), &bounds, show_progress, tree,
                                 tree->cancellable, error);
  prism_autofd int folder = open_folder (tree, error);
  if (folder < 0)
    return NULL;
  return prism_archive_import (folder, fd, &bounds, show_progress, tree, tree->cancellable, error);
}

static gint
tree_code (guint32 wire)
{
  switch (wire)
    {
    case PRISM_WIRE_ERROR_ESCAPE:
      return PRISM_TREE_ERROR_UNSAFE_PATH;
    case PRISM_WIRE_ERROR_TYPE:
      return PRISM_TREE_ERROR_TYPE;
    case PRISM_WIRE_ERROR_LIMIT:
    case PRISM_WIRE_ERROR_NO_SPACE:
      return PRISM_TREE_ERROR_LIMIT;
    case PRISM_WIRE_ERROR_CHANGED:
      return PRISM_TREE_ERROR_CHANGED;
    default:
      return -1;
    }
}

/* Two halves, one cause. A pipe that broke here, or there, is only a consequence. */
static GError *
choose_error (PrismAgentAsk *ask, GError *ours, GError *theirs)
{
  gint code = tree_code (ask->error_code);
  gboolean pipe_broke_here = g_error_matches (ours, PRISM_TREE_ERROR, PRISM_TREE_ERROR_FAILED)
                             || g_error_matches (ours, G_IO_ERROR, G_IO_ERROR_BROKEN_PIPE);
  gboolean pipe_broke_there =
      ask->error_code == 0 || ask->error_code == PRISM_WIRE_ERROR_CANCELLED || ask->error_number == EPIPE;
  gboolean lost = g_error_matches (theirs, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_LOST);
  if (theirs == NULL || (ours != NULL && !lost && (pipe_broke_there || !pipe_broke_here)))
    {
      g_clear_error (&theirs);
      return ours;
    }
  g_clear_error (&ours);
  if (code >= 0)
    {
      theirs->domain = PRISM_TREE_ERROR;
      theirs->code = code;
    }
  return theirs;
}

static gboolean
begin (PrismAgentAsk *ask, Pump **pump_return, gboolean framed, gboolean out, int ours, int theirs, GError **error)
{
  if (!framed)
    {
      ask->pass_fd = theirs;
      return prism_agent_ask_begin (ask, error);
    }
  Pump *pump = g_new0 (Pump, 1);
  prism_agent_job_init (&pump->job, pump_step, pump_free);
  g_mutex_init (&pump->lock);
  g_cond_init (&pump->over_changed);
  pump->out = out;
  pump->fd = fcntl (theirs, F_DUPFD_CLOEXEC, 3);
  pump->piece = out ? NULL : g_malloc (PIECE);
  g_atomic_ref_count_inc (&ask->ticket->refs);
  pump->ticket = ask->ticket;
  ask->ticket->job = &pump->job;
  if (pump->fd < 0 || fcntl (pump->fd, F_SETFL, O_NONBLOCK) < 0)
    g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_LIMIT, "no descriptors left: %s", g_strerror (errno));
  else if (prism_agent_ask_begin (ask, error))
    {
      if (prism_agent_channel_add_job (ask->channel, prism_agent_job_ref (&pump->job), error))
        {
          *pump_return = pump;
          return TRUE;
        }
      prism_agent_channel_lock (ask->channel);
      ask->ticket->job = NULL;
      prism_agent_channel_unlock (ask->channel);
      prism_agent_job_unref (&pump->job);
    }
  prism_agent_job_unref (&pump->job);
  return FALSE;
}

/* The frames are carried to their end, or the deadline is. */
static void
await_pump (PrismAgentChannel *channel, Pump *pump, gint64 deadline)
{
  g_mutex_lock (&pump->lock);
  while (!pump->over && g_cond_wait_until (&pump->over_changed, &pump->lock, deadline))
    ;
  gboolean over = pump->over;
  g_mutex_unlock (&pump->lock);
  g_atomic_int_set (&pump->quit, TRUE);
  if (!over)
    prism_agent_channel_wake_job (channel, &pump->job);
  prism_agent_job_unref (&pump->job);
}

static PrismTreeIdentity *
run_between (Tree *tree, PrismAgentAsk *ask, GError **error)
{
  gboolean framed = prism_agent_sandbox_is_framed (tree->sandbox);
  GError *ours = NULL, *theirs = NULL;
  Pump *pump = NULL;
  int ends[2];
  if (pipe2 (ends, O_CLOEXEC) < 0)
    {
      g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_LIMIT, "no descriptors left: %s",
                   g_strerror (errno));
      return NULL;
    }
  prism_autofd int mine = ends[tree->out ? 0 : 1];
  prism_autofd int other = ends[tree->out ? 1 : 0];
  fcntl (mine, F_SETPIPE_SZ, PIPE_BYTES); /* where the user's pages allow it */
  fcntl (mine, F_SETFL, O_NONBLOCK);
  if (!begin (ask, &pump, framed, tree->out, mine, other, error))
    return NULL;
  prism_clear_fd (&other);
  g_autoptr (PrismTreeIdentity) identity = run_archive (tree, mine, &ours);
  prism_clear_fd (&mine);
  gint64 deadline = g_get_monotonic_time () + STALL_MS * 1000;
  /* Our closed end of the pipe ends the agent's half, and it says why; frames have no such end. */
  if (ours != NULL && (framed || g_cancellable_is_cancelled (tree->cancellable)))
    prism_agent_ask_cancel (ask);
  if (pump != NULL)
    await_pump (ask->channel, pump, deadline);
  prism_agent_ask_wait (ask, deadline, tree->cancellable, &theirs);
  GError *chosen = choose_error (ask, ours, theirs);
  if (chosen != NULL)
    {
      g_propagate_error (error, chosen);
      return NULL;
    }
  guint64 entries = ask->ticket->call.done_entries;
  if (!tree->out && entries != prism_tree_identity_get_entries (identity))
    {
      g_set_error (error, PRISM_TREE_ERROR, PRISM_TREE_ERROR_FAILED,
                   "of %" G_GUINT64_FORMAT " entries %" G_GUINT64_FORMAT " arrived in the sandbox",
                   prism_tree_identity_get_entries (identity), entries);
      return NULL;
    }
  return g_steal_pointer (&identity);
}

/* One code for a cancellation, whenever it came: here the archive's was seen first. */
static void
say_cancelled (Tree *tree, const char *path, GError **error)
{
  if (!g_error_matches (*error, G_IO_ERROR, G_IO_ERROR_CANCELLED) || !g_cancellable_is_cancelled (tree->cancellable))
    return;
  g_clear_error (error);
  g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_CANCELLED, "tree “%s”: cancelled", path);
}

static void
tree_run (Tree *tree)
{
  const PrismAgentLimits *limits = prism_agent_sandbox_get_limits (tree->sandbox);
  const char *path = prism_tree_operation_get_path (tree->operation);
  g_autoptr (GError) error = NULL;
  PrismAgentAsk *ask = prism_agent_ask_new (tree->sandbox, NULL, tree->out ? PRISM_WIRE_TREE_OUT : PRISM_WIRE_TREE_IN,
                                            "tree", path, NULL);
  prism_agent_frame_put_str (&ask->frame, path);
  prism_agent_frame_put (&ask->frame, (guint64)limits->max_export_entries, 8);
  prism_agent_frame_put (&ask->frame, (guint64)limits->max_export_bytes, 8);
  ask->ticket->call.passed = !prism_agent_sandbox_is_framed (tree->sandbox);
  g_autoptr (PrismTreeIdentity) identity = run_between (tree, ask, &error);
  prism_agent_job_unref (&ask->job);
  if (identity == NULL)
    say_cancelled (tree, path, &error);
  if (identity != NULL)
    prism_tree_operation_complete (tree->operation, identity);
  else
    prism_operation_fail (PRISM_OPERATION (tree->operation), error);
}

static gpointer
tree_main (gpointer data)
{
  Tree *tree = data;
  tree_run (tree);
  g_clear_object (&tree->cancellable);
  g_object_unref (tree->operation);
  g_object_unref (tree->sandbox);
  g_free (tree);
  return NULL;
}

static void
carry (PrismSandbox *sandbox, PrismTreeOperation *operation, gboolean out)
{
  g_autoptr (GError) error = NULL;
  PrismOperation *base = PRISM_OPERATION (operation);
  if (!prism_agent_sandbox_check_running (PRISM_AGENT_SANDBOX (sandbox), &error))
    {
      prism_operation_fail (base, error);
      return;
    }
  gboolean here = prism_operation_get_may_block (base);
  GCancellable *cancellable =
      here ? prism_operation_get_caller_cancellable (base) : prism_operation_get_cancellable (base);
  Tree *tree = g_new (Tree, 1);
  *tree = (Tree){ g_object_ref (PRISM_AGENT_SANDBOX (sandbox)), g_object_ref (operation),
                  cancellable != NULL ? g_object_ref (cancellable) : NULL, out };
  if (here)
    {
      tree_main (tree);
      return;
    }
  GThread *thread = prism_start_thread ("prism-tree", tree_main, tree, &error);
  if (thread != NULL)
    {
      g_thread_unref (thread);
      return;
    }
  prism_operation_fail (base, error);
  g_clear_object (&tree->cancellable);
  g_object_unref (tree->operation);
  g_object_unref (tree->sandbox);
  g_free (tree);
}

static void
agent_import_tree (PrismSandbox *sandbox, PrismTreeOperation *operation)
{
  carry (sandbox, operation, FALSE);
}

static void
agent_export_tree (PrismSandbox *sandbox, PrismTreeOperation *operation)
{
  carry (sandbox, operation, TRUE);
}

void
prism_agent_trees_init_interface (PrismSandboxInterface *iface)
{
  iface->import_tree = agent_import_tree;
  iface->export_tree = agent_export_tree;
}
