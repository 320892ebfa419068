/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One request that is not a command, and its answer: in the caller's thread when
 * that may block, as a job of the I/O thread when not. Cancelling and the
 * operation's deadline end the wait at once; the agent is told, and has
 * cleanup-deadline-ms to confirm. */
#pragma once

#include "prism-agent-sandbox-private.h"

#include "prism-operation.h"

G_BEGIN_DECLS

typedef struct _PrismAgentAsk PrismAgentAsk;

struct _PrismAgentAsk
{
  PrismAgentJob job; /* first */
  PrismAgentSandbox *sandbox;
  PrismAgentChannel *channel;
  PrismOperation *operation; /* (nullable): prism_agent_ask_wait() has none */
  GCancellable *cancellable;
  gulong cancelled_id;
  PrismAgentWaiter *waiter;
  PrismAgentTicket *ticket;
  PrismAgentFrame frame; /* the request */
  const char *what;      /* for messages: "read file" */
  char *path;            /* (nullable): the same */
  gint64 deadline;
  gboolean submitted;
  gboolean over;
  GError *error;
  guint32 error_code; /* enum prism_wire_error that the agent answered with; 0 = it did not */
  guint32 error_number;
  int pass_fd;        /* goes with the request, not owned; -1 = none */

  GByteArray *data; /* DATA or ENTRIES that came */
  gsize most;       /* of them; more is LIMIT */
  GBytes *send;     /* DATA that is to go, then LAST */
  gsize sent;
  gboolean sent_last;
  gboolean again; /* more could be sent at once */

  /* It is over without an error: answers the operation from ticket->call and data. */
  void (*answer) (PrismAgentAsk *ask);
};

/* @what must live for ever. The request's frame is ask->frame, begun. */
PrismAgentAsk *prism_agent_ask_new (PrismAgentSandbox *sandbox,
                                    PrismOperation *operation,
                                    enum prism_wire_type type,
                                    const char *what,
                                    const char *path,
                                    void (*answer) (PrismAgentAsk *ask));
/* Takes @ask; answers its operation, now or later. */
void prism_agent_ask_run (PrismAgentAsk *ask);
/* Sends the request and returns; prism_agent_ask_wait() comes later. */
gboolean prism_agent_ask_begin (PrismAgentAsk *ask, GError **error);
/* Asks the agent to stop it; the answer is still to be waited for. */
void prism_agent_ask_cancel (PrismAgentAsk *ask);
/* Without an operation: waits here; the caller looks at @ask and frees it with
 * prism_agent_job_unref(). */
gboolean prism_agent_ask_wait (PrismAgentAsk *ask, gint64 deadline, GCancellable *cancellable, GError **error);

G_END_DECLS
