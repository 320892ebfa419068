/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How a sandbox ends: once, whoever asks, however many wait for it. */
#pragma once

#include "prism-agent-sandbox-private.h"

G_BEGIN_DECLS

typedef struct
{
  PrismAgentSandbox *owner; /* not owned: this is a part of it */
  guint forks;              /* of the process that made it */
  GMutex lock;              /* for what follows */
  GCond ended;
  PrismSandboxStatus status;
  GError *failure;       /* why it failed */
  gboolean has_boundary; /* there is something for terminate to end */
  gboolean detached;     /* it lives on when it is only dropped */
  gboolean ending;
  gboolean over;
  GError *end_error; /* terminate's */
  GQueue waiting;    /* PrismControlOperation that are answered when it is over */
  gint64 paused_since;  /* monotonic us; 0 = it is not paused */
  gint64 told_until;    /* the agent knows of the pause up to here */
  gint64 paused_us;     /* all pauses that are over */
  gint64 resumed;       /* when the last one was; 0 = there was none */
  GMainContext *context;
  GSource *notify; /* a notify::status that is under way */
} PrismAgentLifecycle;

void prism_agent_lifecycle_init (PrismAgentLifecycle *self, PrismAgentSandbox *owner);
void prism_agent_lifecycle_clear (PrismAgentLifecycle *self);
/* FALSE in a fork of the process that made it. That has copies of its descriptors, but none
 * of its threads, and locks as these held them; two would read one stream, and what is dropped
 * there is in use here. So a fork touches nothing of it, and ends nothing. */
gboolean prism_agent_lifecycle_check_owner (PrismAgentLifecycle *self, GError **error);
PrismSandboxStatus prism_agent_lifecycle_get_status (PrismAgentLifecycle *self);
/* Only from one status to another; FALSE when it is in a third. */
gboolean prism_agent_lifecycle_change (PrismAgentLifecycle *self, PrismSandboxStatus from, PrismSandboxStatus to);
/* Stopped, but not ended. */
gboolean prism_agent_lifecycle_is_paused (PrismAgentLifecycle *self);
/* The time that commands did not have, up to @now; *@paused: it is paused now. */
gint64 prism_agent_lifecycle_get_paused (PrismAgentLifecycle *self, gint64 now, gboolean *paused);
/* Monotonic us. */
gint64 prism_agent_lifecycle_get_paused_since (PrismAgentLifecycle *self);
/* What of this pause, in us, the agent was not told yet; from now on it counts as told. */
gint64 prism_agent_lifecycle_claim_paused (PrismAgentLifecycle *self);
/* 0: it never was. */
gint64 prism_agent_lifecycle_get_resumed (PrismAgentLifecycle *self);
gboolean prism_agent_lifecycle_check_running (PrismAgentLifecycle *self, GError **error);
/* It failed by itself: everything that is pending ends, the boundary is ended in
 * the background. */
void prism_agent_lifecycle_fail (PrismAgentLifecycle *self, PrismAgentEnd end, const GError *error);
/* Asked for: ends everything, gently first with @grace_ms > 0, and answers
 * @operation when nothing is left. */
void prism_agent_lifecycle_end (PrismAgentLifecycle *self,
                                PrismSandboxStatus status,
                                gint64 grace_ms,
                                PrismControlOperation *operation);
/* The last reference went without a close(). TRUE: the owner lives on until it is over. */
gboolean prism_agent_lifecycle_dispose (PrismAgentLifecycle *self);

PrismAgentLifecycle *prism_agent_sandbox_get_lifecycle (PrismAgentSandbox *sandbox);

G_END_DECLS
