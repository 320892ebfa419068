/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-egress-limits-private.h"
#include "prism-egress-listener.h"

G_BEGIN_DECLS

typedef enum
{
  PRISM_EGRESS_LISTENER_NEW,
  PRISM_EGRESS_LISTENER_TAKEN, /* a proxy has it */
  PRISM_EGRESS_LISTENER_OPEN,
  PRISM_EGRESS_LISTENER_CLOSED,
} PrismEgressListenerState;

struct _PrismEgressListener
{
  GObject parent_instance;

  GSocketAddress *address;
  GSocket *socket;
  char *label;
  PrismAuditLog *audit;
  PrismLimitsProfile profile;
  gboolean check_server_name;
  gboolean deny_direct_egress;
  gint64 limits[PRISM_N_EGRESS_LIMITS];
  gboolean limit_set[PRISM_N_EGRESS_LIMITS];
  GListStore *credentials;

  GMutex lock; /* for what follows */
  PrismEgressListenerState state;
  PrismEgressProxy *proxy;
  PrismEgressPolicy *policy;
  gint64 policy_version;
  char *endpoint;
  GDateTime *started_at;
};

/* prism-egress-limits.c: the value that holds, and the properties, from the first on. */
gint64 prism_egress_listener_nth_limit (PrismEgressListener *self, guint i);
void prism_egress_listener_install_limits (GParamSpec **properties);

/* It belongs to @proxy from here on: what it is made of is fixed. FALSE if it was
 * added before. Holds the proxy until prism_egress_listener_let_go(). */
gboolean prism_egress_listener_take (PrismEgressListener *self, PrismEgressProxy *proxy, GError **error);

/* The same for a proxy's own, which does not hold the proxy and may be opened again. */
void prism_egress_listener_take_own (PrismEgressListener *self);

void prism_egress_listener_let_go (PrismEgressListener *self);

/* Of the proxy it belongs to; NULL if it belongs to none. */
PrismEgressProxy *prism_egress_listener_dup_proxy (PrismEgressListener *self);

/* Whether a policy fits in the listener's limits. */
gboolean prism_egress_listener_check_policy (PrismEgressListener *self, PrismEgressPolicy *policy, GError **error);

G_END_DECLS
