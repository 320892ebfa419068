/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A process that was started and is not waited for by the call that started it.
 *
 * Two halves: the child, a job of the I/O thread that hears of its start and end
 * and carries its streams where they are not pipes; and PrismAgentProcess, what
 * the caller holds. The sandbox keeps the processes of its life by their
 * reference; a process does not keep its sandbox. */
#pragma once

#include "prism-agent-sandbox-private.h"

#include "prism-process.h"

G_BEGIN_DECLS

#define PRISM_TYPE_AGENT_PROCESS (prism_agent_process_get_type ())
G_DECLARE_FINAL_TYPE (PrismAgentProcess, prism_agent_process, PRISM, AGENT_PROCESS, GObject)

/* One direction of one stream that is carried: from a descriptor or the ticket's
 * inbox to a descriptor or frames. */
typedef struct
{
  int from;
  int to;
  gboolean inbox;  /* it comes in frames */
  gboolean frames; /* it goes in frames */
  gboolean open;
  guint stream; /* of the wire: 0 in, 1 out, 2 err */
  guint8 *data;
  gsize size;
  gsize at;
  guint8 last;    /* byte that went; 0: none did */
  gboolean ended; /* a terminal's: what goes now says so */
  gsize owed; /* credit to give back when it is written */
  PrismAgentWatch from_watch;
  PrismAgentWatch to_watch;
} PrismAgentFlow;

typedef struct
{
  PrismAgentJob job; /* first */
  PrismAgentChannel *channel;
  PrismAgentAdmission *admission; /* of a sandbox that outlives its channel's use of it */
  GWeakRef sandbox;
  PrismCommand *command;
  PrismProcessOperation *operation; /* until it is answered */
  PrismAgentTicket *ticket;
  gboolean pty;
  gboolean framed;
  gboolean keep;
  char *reference;
  char uuid[33];
  gint64 started;
  gint64 kill_by; /* when a kill must have been confirmed; G_MAXINT64 = none asked */
  gint64 give_up; /* when the agent must have ended it for its timeout; G_MAXINT64 = none */
  gint64 paused_before;
  int mine[3];    /* the caller's ends, until the object has them; -1 */
  int master;     /* a terminal's, for its size; -1 */
  PrismAgentFlow flows[3];

  GMutex lock; /* for what follows */
  gboolean running;
  gboolean ended; /* itself */
  gboolean gone;  /* and all that it left behind */
  gboolean admitted;
  PrismAgentExit exit;
  PrismAgentEnd end;
  gint64 duration_us;
  const char *limit; /* that ended it by SIGKILL; NULL = none did */
  char *loss;        /* why nothing is known of its end; NULL = something is */
  GQueue waiting; /* PrismWaitOperation */
  GQueue killing; /* PrismControlOperation */
} PrismAgentChild;

/* prism-agent-flow.c: TRUE while something may still be carried. */
gboolean prism_agent_child_carry (PrismAgentChild *child, gboolean over);
void prism_agent_child_open_flows (PrismAgentChild *child, const int *theirs, int master);
void prism_agent_child_close_flows (PrismAgentChild *child);

/* prism-agent-process.c */
PrismAgentProcess *prism_agent_process_new (PrismAgentChild *child);
PrismAgentChild *prism_agent_process_get_child (PrismAgentProcess *process);
PrismResult *prism_agent_child_dup_result (PrismAgentChild *child);

/* The sandbox's registry; any thread. */
void prism_agent_sandbox_remember (PrismAgentSandbox *sandbox, PrismAgentProcess *process);
void prism_agent_sandbox_forget (PrismAgentSandbox *sandbox, const char *reference);
/* (transfer full) (nullable) */
PrismAgentProcess *prism_agent_sandbox_recall (PrismAgentSandbox *sandbox, const char *reference);

G_END_DECLS
