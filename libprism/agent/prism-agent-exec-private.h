/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One command, from its place in the queue to its result. The same steps are
 * taken by a synchronous caller in its own thread and, for asynchronous ones, by
 * the channel's I/O thread: a step reads what is ready, feeds standard input,
 * looks at news and at the clock, and never blocks.
 *
 * TRUST. The other ends of the pipes are the command's: it may close, fill, read
 * or hold them as it likes. Reads never block, what is kept is capped, and no end
 * of file is waited for once the command has exited. */
#pragma once

#include "prism-agent-capture-private.h"
#include "prism-agent-sandbox-private.h"

G_BEGIN_DECLS

typedef struct _PrismAgentExec PrismAgentExec;

typedef struct
{
  PrismAgentExec *exec;
  PrismStream stream;
  int fd; /* -1: framed, or closed */
  gboolean ready;
  gboolean bulk;       /* it fills what it is given: larger reads pay */
  gint paused;         /* atomic: the handlers of a chunk have not run yet */
  gsize owed;          /* framed: credit to give back when they have */
  gboolean seen_empty; /* after the exit: nothing written before it is left */
  guint64 read_after_exit;
  PrismAgentCapture capture;
  PrismAgentWatch watch;
} PrismAgentOutput;

typedef struct
{
  int to; /* the command's standard input or the pty's master; -1: framed, or over */
  gboolean framed;
  gboolean open; /* something may still be written */
  gboolean owns_to;
  GBytes *bytes; /* what is written now */
  gsize at;
  guint8 last;    /* byte that was written; 0: none was */
  gboolean ended; /* a terminal's: what is written now says so */
  int from;       /* where more comes from; -1: nowhere */
  gboolean owns_from;
  gboolean from_ready;
  gboolean to_ready;
  GCancellable *worker; /* ends the thread that reads a stream which cannot be polled */
  PrismAgentWatch from_watch;
  PrismAgentWatch to_watch;
} PrismAgentInput;

typedef enum
{
  PRISM_AGENT_EXEC_QUEUED,
  PRISM_AGENT_EXEC_RUNNING,
  PRISM_AGENT_EXEC_EXITED, /* its last output is being read */
  PRISM_AGENT_EXEC_DONE,
} PrismAgentExecPhase;

struct _PrismAgentExec
{
  PrismAgentJob job; /* first */
  PrismAgentSandbox *sandbox;
  PrismAgentChannel *channel;
  PrismExecOperation *operation;
  PrismCommand *command;
  GCancellable *cancellable;
  gulong cancelled_id;
  PrismAgentWaiter *waiter; /* synchronous: the caller's own */
  PrismAgentTurn turn;
  PrismAgentTicket *ticket;
  PrismAgentExecPhase phase;

  gint64 now;        /* of the step that is being taken */
  gint64 began;      /* monotonic us: asked for */
  gint64 started;    /* sent to the agent */
  gint64 exited;     /* the agent said so */
  gint64 last_read;  /* output came */
  gint64 give_up;    /* its timeout, G_MAXINT64 = none; the time of pauses is to be added */
  gint64 confirm_by; /* when a cancellation must have been confirmed; the same */
  gint64 paused_us;  /* of pauses since it was asked for */
  gint64 paused_before;
  gboolean paused; /* it is now */
  gint64 effective_timeout_ms;
  gint64 deadline; /* when to step again */

  gboolean stopping; /* told to end, for: */
  PrismOutcome reason;
  gboolean over_limit;
  gboolean feeds; /* more input could be written at once */
  guint64 total;
  guint8 *spare; /* a chunk buffer to use again; atomic */

  PrismAgentExit exit;
  PrismAgentEnd end;
  GError *error; /* it did not start */

  PrismAgentOutput out[2];
  PrismAgentInput in;
  int master; /* a terminal's, read to its end: with the last of them it would be hung up */
};

/* prism-agent-stdio.c and prism-agent-output.c */
gboolean prism_agent_exec_open_streams (PrismAgentExec *self, int *fds, guint *n_fds, GError **error);
/* The pty's master: both directions. FALSE: it is no terminal. */
gboolean prism_agent_exec_take_master (PrismAgentExec *self, int fd);
/* TRUE: it could go on at once. */
gboolean prism_agent_exec_feed (PrismAgentExec *self);
void prism_agent_exec_read (PrismAgentExec *self);
/* After the exit: reads on without waiting; TRUE when nothing that was written before it is left. */
gboolean prism_agent_exec_drain (PrismAgentExec *self);
void prism_agent_exec_close_streams (PrismAgentExec *self);
gboolean prism_agent_output_wants (const PrismAgentOutput *output);
/* Which of the input's two descriptors to wait for. */
gboolean prism_agent_input_wants_from (const PrismAgentInput *input);
gboolean prism_agent_input_wants_to (const PrismAgentInput *input);

/* Reads @fd to its end in the channel's I/O thread, slowly, and throws it away:
 * the command's children would die of a closed pipe. Takes @fd. */
void prism_agent_channel_drain (PrismAgentChannel *channel, int fd);

/* prism-agent-request.c */

/* What an EXEC says beside the command itself. */
typedef struct
{
  guint32 flags;
  const char *const *env; /* instead of the command's; NULL: the command's */
  guint64 max_output;
  const char *uuid; /* or "" */
  guint64 timeout_ms;
  guint32 grace_ms;
  const char *tag; /* or "" */
} PrismAgentExecRequest;

void prism_agent_request_exec (PrismAgentFrame *frame, PrismCommand *command, const PrismAgentExecRequest *request);

G_END_DECLS
