/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The connection to one agent, shared by every thread that uses the sandbox.
 *
 * WHO READS. At any time one thread at most reads: the leader. A thread that
 * waits for an answer (a waiter) becomes it when nobody is, dispatches what comes
 * for the others, and hands the lead on when it has its own. The others wait on
 * their own descriptors and an eventfd each. What is not waited for by a thread
 * (asynchronous calls, timers, pipes to be drained) is a job of the channel's one
 * I/O thread, which is started when the first job comes, leads when no waiter
 * does, and ends when it has had nothing to do for a while.
 *
 * LOCKS. One lock a channel, never held while foreign code runs: not for output
 * handlers, completions or the lost callback.
 *
 * TRUST. What comes from the agent goes through prism-agent-protocol.c first; a
 * violation, an end of file or a peer that no longer reads ends the channel, and
 * with it everything that waits. */
#pragma once

#include "prism-agent-protocol-private.h"

#include <gio/gio.h>
#include <sys/epoll.h>

G_BEGIN_DECLS

typedef struct _PrismAgentChannel PrismAgentChannel;
typedef struct _PrismAgentJob PrismAgentJob;
typedef struct _PrismAgentTicket PrismAgentTicket;
typedef struct _PrismAgentWaiter PrismAgentWaiter;
typedef struct _PrismAgentWake PrismAgentWake;

typedef enum
{
  PRISM_AGENT_END_NONE,
  PRISM_AGENT_END_LOST,   /* the agent is gone or lied */
  PRISM_AGENT_END_CLOSED, /* the caller closed, stopped or killed the sandbox */
  PRISM_AGENT_END_WALL,   /* the sandbox's wall time */
  PRISM_AGENT_END_IDLE,   /* the sandbox's idle time */
} PrismAgentEnd;

/* --- what was asked and who hears the answer --- */

struct _PrismAgentTicket
{
  PrismAgentCall call; /* first; under the channel's lock */
  gatomicrefcount refs;
  PrismAgentChannel *channel; /* not owned */
  PrismAgentWaiter *waiter;
  PrismAgentJob *job;
  gboolean news;
  gboolean last;     /* of a command after whose end the agent ends */
  gboolean interest; /* somebody without a thread wants its answer: the I/O thread must read */
};

PrismAgentTicket *prism_agent_ticket_new (enum prism_wire_type type);
void prism_agent_ticket_unref (PrismAgentTicket *ticket);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (PrismAgentTicket, prism_agent_ticket_unref)

/* --- a thread that waits --- */

/* An eventfd that outlives who waits on it: a late GCancellable::cancelled may
 * still write to it. */
struct _PrismAgentWake
{
  gatomicrefcount refs;
  int fd;
};

struct _PrismAgentWaiter
{
  PrismAgentChannel *channel;
  PrismAgentWake *wake;
  GCancellable *cancellable;
  gulong cancelled_id;
  gboolean leading;
  gboolean following; /* in the channel's queue of followers */
  gboolean blind;     /* nothing can wake it that is to: it looks again every few ms */
  gboolean news;
  GList link;
};

/* --- what the I/O thread does --- */

/* A descriptor that a job wants to hear of; the I/O thread's alone. */
typedef struct
{
  PrismAgentJob *job;
  int fd;
  guint32 events; /* armed now; 0 = not */
  guint32 ready;  /* what happened; the job clears it */
} PrismAgentWatch;

/* References are held by the channel while it is a job, and by who may wake it
 * from elsewhere. */
struct _PrismAgentJob
{
  gatomicrefcount refs;
  /* In the I/O thread, without the lock, after news, a wake-up, a ready
   * descriptor or the deadline. FALSE: it is done, is let go of, and no ticket or
   * watch names it any more. */
  gboolean (*step) (PrismAgentJob *job, gint64 now);
  void (*free_job) (PrismAgentJob *job);
  PrismAgentChannel *channel; /* while it is a job; the I/O thread owns it */
  gint64 deadline;            /* G_MAXINT64 = none; the I/O thread's alone */
  gboolean woken;             /* under the lock */
  GList link;
  GList runnable;
};

void prism_agent_job_init (PrismAgentJob *job,
                           gboolean (*step) (PrismAgentJob *job, gint64 now),
                           void (*free_job) (PrismAgentJob *job));
PrismAgentJob *prism_agent_job_ref (PrismAgentJob *job);
void prism_agent_job_unref (PrismAgentJob *job);
/* Takes the reference when it succeeds; it is stepped once at once. */
gboolean prism_agent_channel_add_job (PrismAgentChannel *self, PrismAgentJob *job, GError **error);
/* Any thread; nothing when it is no job of @self any more. */
void prism_agent_channel_wake_job (PrismAgentChannel *self, PrismAgentJob *job);
/* Wakes @job when @cancellable is cancelled; the handler's id. Its handler waits
 * for nothing, so it may be disconnected anywhere. */
gulong prism_agent_job_watch_cancellable (PrismAgentJob *job, PrismAgentChannel *channel, GCancellable *cancellable);
/* Only in a step: @events 0 forgets @fd. */
void prism_agent_watch_set (PrismAgentWatch *watch, PrismAgentJob *job, int fd, guint32 events);
gboolean prism_agent_channel_in_io_thread (PrismAgentChannel *self);

/* --- the channel --- */

/* Called once, in any thread, without the lock, when the agent is lost. */
typedef void (*PrismAgentLostFunc) (const GError *error, gpointer user_data);

/* Of errno: there are none left for @what. */
void prism_agent_set_no_fds (GError **error, const char *what);

/* Takes @fd, a connected stream socket. */
PrismAgentChannel *prism_agent_channel_new (int fd, gboolean passes_fds);
PrismAgentChannel *prism_agent_channel_ref (PrismAgentChannel *self);
void prism_agent_channel_unref (PrismAgentChannel *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (PrismAgentChannel, prism_agent_channel_unref)

/* @user_data is freed when no call can come any more. */
void prism_agent_channel_set_lost (PrismAgentChannel *self,
                                   PrismAgentLostFunc func,
                                   gpointer user_data,
                                   GDestroyNotify free_data);
/* Waits for HELLO. */
gboolean prism_agent_channel_greet (
    PrismAgentChannel *self, gint64 deadline, GCancellable *cancellable, PrismAgentHello *hello, GError **error);
/* Sends a frame that has no answer of its own. @id: 0, or a live call's: when that
 * is over meanwhile, nothing is sent. FALSE when the channel has ended. */
gboolean prism_agent_channel_send (PrismAgentChannel *self, PrismAgentFrame *frame, PrismAgentTicket *ticket);
/* Bytes wait for the agent to read: who streams should wait too. */
gboolean prism_agent_channel_is_congested (PrismAgentChannel *self);
/* Sends a request and expects its answer, which @ticket's waiter or job hears of. */
gboolean prism_agent_channel_submit (PrismAgentChannel *self,
                                     PrismAgentTicket *ticket,
                                     PrismAgentFrame *frame,
                                     const int *fds,
                                     guint n_fds,
                                     GError **error);
/* Nobody waits for @ticket any more; takes the reference. What still comes is
 * checked and dropped; with @confirm_by (monotonic us, 0 = never) the agent is
 * lost if the last frame has not come by then. */
void prism_agent_channel_abandon (PrismAgentChannel *self, PrismAgentTicket *ticket, gint64 confirm_by);
/* Tells every command and process to end; how many were told. */
guint prism_agent_channel_cancel_all (PrismAgentChannel *self, guint32 grace_ms);
/* Commands and processes whose last frame has not come. */
guint prism_agent_channel_count_commands (PrismAgentChannel *self);
/* Ends it on purpose: everything that waits hears @end and @error. The first end counts. */
void prism_agent_channel_end (PrismAgentChannel *self, PrismAgentEnd end, const GError *error);
/* The agent broke its word in a way that only the caller can see. */
void prism_agent_channel_accuse (PrismAgentChannel *self, const char *what);
/* It was lost because the agent's end was closed, and not for what it said. */
gboolean prism_agent_channel_hung_up (PrismAgentChannel *self);
/* The sandbox is paused, or was: every job looks at its clock again. */
void prism_agent_channel_look_at_clocks (PrismAgentChannel *self);
/* To be said before the sandbox goes on: so the agent, which slept too, hears for how long
 * before it finds that a command's time is up. When it answers, every waiter looks too. */
void prism_agent_channel_tell_resumed (PrismAgentChannel *self, gint64 paused_us);
PrismAgentEnd prism_agent_channel_get_end (PrismAgentChannel *self, GError **error);
/* Reads what is there when nobody else does: so that an idle sandbox's end is seen
 * by who asks. */
void prism_agent_channel_look (PrismAgentChannel *self);
/* How many pipes of finished commands are still read; atomic. */
gint *prism_agent_channel_get_drains (PrismAgentChannel *self);
void prism_agent_channel_lock (PrismAgentChannel *self);
void prism_agent_channel_unlock (PrismAgentChannel *self);

void prism_agent_waiter_init (PrismAgentWaiter *waiter, PrismAgentChannel *channel, GCancellable *cancellable);
void prism_agent_waiter_clear (PrismAgentWaiter *waiter);
/* Waits until news for this waiter, one of @fds, cancellation, or @until
 * (monotonic us, G_MAXINT64 = for ever). @fds has room for two more. */
void prism_agent_waiter_poll (PrismAgentWaiter *waiter, GPollFD *fds, guint n_fds, gint64 until);
/* Before anything that may take long or calls foreign code. */
void prism_agent_waiter_pause (PrismAgentWaiter *waiter);
/* So that prism_agent_waiter_wake() reaches it even while it leads. */
void prism_agent_waiter_ensure_wake (PrismAgentWaiter *waiter);
/* Makes the waiter poll once more at once; any thread, while the waiter lives. */
void prism_agent_waiter_wake (PrismAgentWaiter *waiter);

G_END_DECLS
