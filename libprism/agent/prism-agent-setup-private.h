/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How an agent sandbox begins: the stream as a descriptor, the SETUP frame, and
 * the clock for wall and idle time. */
#pragma once

#include "prism-agent-lifecycle-private.h"

G_BEGIN_DECLS

/* A connected stream socket that carries @stream's bytes; the caller owns it. For
 * a socket's connection its own, for any other stream one end of a pair that two
 * threads pump until the other end is closed. -1 on error. */
int prism_agent_stream_open (GIOStream *stream, GError **error);

void prism_agent_setup_write (PrismAgentFrame *frame,
                              PrismSandboxSpec *spec,
                              const char *const *environment, /* the boundary's own; nullable */
                              const char *workspace,
                              const PrismAgentLimits *limits,
                              gint64 age_ms, /* of wall-time-ms, what is over */
                              gboolean harden);

/* Nothing where neither time is limited. */
gboolean prism_agent_clock_start (PrismAgentSandbox *sandbox, PrismAgentLifecycle *lifecycle, GError **error);

G_END_DECLS
