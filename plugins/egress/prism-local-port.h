/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A listener in the engine: what it accepts on, by what it decides, and every
 * connection that came in by it. */
#pragma once

#include "prism-local-engine.h"

G_BEGIN_DECLS

typedef struct
{
  gint64 most_requests; /* at once */
  gint64 request_bytes, response_bytes;
  gint64 redirect_hops;
  gint64 transfer_us, head_us, idle_us; /* 0: none */
} PrismLocalLimits;

struct _PrismLocalPort
{
  PrismLocalWatch watch;
  PrismLocalEngine *engine;
  PrismEgressListener *listener; /* only a key */
  GWeakRef alive;                /* the same, while there is somebody who holds it */
  char *label;
  PrismAuditLog *audit; /* NULL: nobody writes it down */
  gboolean check_server_name;
  PrismLocalLimits limits;

  PrismEgressPolicy *policy;
  gint64 policy_version;
  gpointer asked;         /* PrismLocalQuestion: a new policy's resolver */
  GPtrArray *credentials; /* PrismCredential */

  PrismLocalConnection *connections;
  guint n_connections, n_requests;
  GQueue waiting; /* connections whose request waits for its turn */
  gint64 paused;  /* until when nothing is accepted; 0: it is */

  GQueue records; /* that found no room; prism-local-record.c knows them */
  guint unheard;  /* requests that were refused meanwhile for that reason */

  PrismLocalCounters counters;

  GInetAddress *address; /* that it is bound to; NULL: a Unix socket */
  guint16 number;
  gboolean elsewhere; /* in another network namespace: its address is not one of ours */
  char *path;         /* of a Unix socket that is ours to remove */
};

/* Opens the listener. Engine only. */
PrismLocalPort *prism_local_port_open (PrismLocalEngine *engine, PrismEgressListener *listener, GError **error);

/* Where it listens, as a proxy variable says it. */
char *prism_local_port_dup_endpoint (PrismLocalPort *self);

/* Ends it with all its connections. */
void prism_local_port_end (PrismLocalPort *self, const char *reason_id);
void prism_local_ports_end (PrismLocalEngine *engine);

void prism_local_port_set_policy (PrismLocalPort *self, PrismEgressPolicy *policy, gint64 version);
void prism_local_port_sweep (PrismLocalPort *self);

/* A request's turn: TRUE if it is now; otherwise it waits, or there are too many. */
gboolean prism_local_port_begin_request (PrismLocalPort *self, PrismLocalConnection *connection, gboolean *too_many);
void prism_local_port_end_request (PrismLocalPort *self);
void prism_local_port_next_request (PrismLocalPort *self);

/* Whether a connection to there would come in by one of the proxy's own doors. */
gboolean prism_local_port_is_loop (PrismLocalEngine *engine, GInetAddress *address, guint16 number);

G_END_DECLS
