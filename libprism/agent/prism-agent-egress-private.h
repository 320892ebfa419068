/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The way out of a sandbox with network=egress: a listener inside its own network
 * namespace, whose descriptor the egress proxy on the host accepts on. */
#pragma once

#include "prism-agent-sandbox.h"

G_BEGIN_DECLS

/* Where the proxy is, seen from inside. The network namespace is the sandbox's own,
 * so the port is free. */
#define PRISM_AGENT_EGRESS_PORT 3128

/* What a sandbox has of it; zeroed but for the lock: nothing. */
typedef struct
{
  GMutex lock;
  PrismEgressProxy *proxy;
  PrismEgressListener *listener;
  gboolean closed;
  gint64 told_version; /* of the policy that @told is of; 0: the first one */
  char *told;          /* what NO_PROXY has to be for commands from now on; NULL: as it was at first */
} PrismAgentEgress;

void prism_agent_egress_init (PrismAgentEgress *self);
void prism_agent_egress_clear (PrismAgentEgress *self);

/* Blocking. @restricted: the boundary proved that there is no other way out. */
gboolean prism_agent_egress_open (PrismAgentEgress *self,
                                  PrismAgentSandbox *sandbox,
                                  const char *id,
                                  gboolean restricted,
                                  GCancellable *cancellable,
                                  GError **error);

/* Any thread, any number of times: no byte goes through it any more. Blocking. */
void prism_agent_egress_close (PrismAgentEgress *self);

/* The variables that make ordinary programs use it; NULL without egress. */
char **prism_agent_egress_list_variables (PrismSandboxSpec *spec);

/* A command's own variables and what has changed of these since with the policy;
 * NULL: nothing has. */
char **prism_agent_egress_follow (PrismAgentSandbox *sandbox, const char *const *env);

PrismAgentEgress *prism_agent_sandbox_get_egress (PrismAgentSandbox *sandbox);
void prism_agent_egress_init_interface (PrismSandboxInterface *iface);

G_END_DECLS
