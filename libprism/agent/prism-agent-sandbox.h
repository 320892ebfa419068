/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-sandbox.h"

G_BEGIN_DECLS

#define PRISM_TYPE_AGENT_SANDBOX (prism_agent_sandbox_get_type ())
PRISM_AVAILABLE_IN_1_0
G_DECLARE_DERIVABLE_TYPE (PrismAgentSandbox, prism_agent_sandbox, PRISM, AGENT_SANDBOX, GObject)

/**
 * PrismAgentSandboxClass:
 * @terminate: ends the boundary and all that runs in it, and removes what was
 *   made for it; completed when nothing is left. Called once, from close() or
 *   kill() or after the agent was lost, in a thread of the library's own or in
 *   the caller's; must not depend on a main loop of the application's.
 * @pause: (nullable): freezes every process inside
 * @resume: (nullable): thaws them
 * @explain_loss: (nullable): why the agent's connection ended by itself, in a sentence
 *   without its full stop, or %NULL where nothing is known; asked once, in any thread,
 *   and may take a moment to find out
 * @find_limit: (nullable): which limit ended a process by SIGKILL just now, by its
 *   name, or %NULL when none did; asked in any thread
 *
 * The base of every backend that gets prism-agent running inside a boundary.
 * A subclass hands over a connected stream and says how to end it; exec,
 * streams, signals, timeouts, ptys, files, trees and processes are done here.
 *
 * Since: 1.0
 */
struct _PrismAgentSandboxClass
{
  GObjectClass parent_class;

  void (*terminate) (PrismAgentSandbox *self, PrismControlOperation *operation);
  void (*pause)     (PrismAgentSandbox *self, PrismControlOperation *operation);
  void (*resume)    (PrismAgentSandbox *self, PrismControlOperation *operation);
  const char *(*find_limit) (PrismAgentSandbox *self);
  char *(*explain_loss) (PrismAgentSandbox *self);

  /*< private >*/
  gpointer padding[8];
};

/* Construct-only properties: spec (PrismSandboxSpec), connection (GIOStream; a
 * GUnixConnection passes descriptors, anything else is framed), framed
 * (gboolean: framed even where descriptors pass), environment (GStrv: the boundary's own
 * variables for its commands), backend-name, id, workspace
 * (inside), reference; writable by the subclass until start(): capabilities. */

/* Sends the set-up before the hello, for a backend whose agent is of this version and not there yet. */
PRISM_AVAILABLE_IN_1_0
gboolean          prism_agent_sandbox_prepare          (PrismAgentSandbox *self,
                                                        GError           **error);
/* Waits for the agent's hello within startup-timeout-ms and sends it its set-up.
 * Blocking; call it from a worker thread, or from a create_sandbox operation
 * whose get_may_block() is TRUE. */
PRISM_AVAILABLE_IN_1_0
gboolean          prism_agent_sandbox_start            (PrismAgentSandbox *self,
                                                        GCancellable      *cancellable,
                                                        GError           **error);
/* For connect_sandbox, before start(): how much of wall-time-ms is over. */
PRISM_AVAILABLE_IN_1_0
void              prism_agent_sandbox_set_age          (PrismAgentSandbox *self,
                                                        gint64             age_ms);
PRISM_AVAILABLE_IN_1_0
void              prism_agent_sandbox_set_capabilities (PrismAgentSandbox *self,
                                                        PrismCapabilities *capabilities);
PRISM_AVAILABLE_IN_1_0
PrismSandboxSpec *prism_agent_sandbox_get_spec         (PrismAgentSandbox *self);
/* The subclass saw the boundary end (container gone, keeper dead). */
PRISM_AVAILABLE_IN_1_0
void              prism_agent_sandbox_lost             (PrismAgentSandbox *self,
                                                        const GError      *error);
/* A listener on 127.0.0.1:@port inside; its descriptor, which the caller closes, or -1. */
PRISM_AVAILABLE_IN_1_0
int               prism_agent_sandbox_listen           (PrismAgentSandbox *self,
                                                        guint16            port,
                                                        GCancellable      *cancellable,
                                                        GError           **error);
/* Absolute path of the installed prism-agent (PRISM_AGENT overrides it in an uninstalled tree, never under AT_SECURE). */
PRISM_AVAILABLE_IN_1_0
const char       *prism_agent_get_path                 (void);

G_END_DECLS
