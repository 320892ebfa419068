/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One client: its requests, one after the other, or the tunnel that it became. */
#pragma once

#include "prism-http-chunks.h"
#include "prism-http-target.h"
#include "prism-local-buffer.h"
#include "prism-local-port.h"

G_BEGIN_DECLS

typedef struct _PrismLocalTls PrismLocalTls;
typedef struct _PrismLocalDial PrismLocalDial;

typedef enum
{
  PRISM_LOCAL_HEAD,    /* waits for a request's head */
  PRISM_LOCAL_WAITING, /* has one, and waits for its turn */
  PRISM_LOCAL_ASKING,  /* the policy's resolver is asked */
  PRISM_LOCAL_DIALING, /* on the way to the upstream */
  PRISM_LOCAL_FORWARD, /* a plain request is under way */
  PRISM_LOCAL_HELLO,   /* a tunnel that waits for what the client says first */
  PRISM_LOCAL_TUNNEL,
  PRISM_LOCAL_LINGER, /* everything was said; reads on so that the client gets it */
  PRISM_LOCAL_DEAD,
} PrismLocalState;

/* One end of a connection. */
typedef struct
{
  PrismLocalWatch watch;
  PrismLocalTls *tls;      /* NULL: plain */
  PrismLocalBuffer out;    /* waits to be written to it */
  PrismLocalPipe *pipe;    /* what was read from it by splice and not yet written to the other */
  gboolean eof : 1;        /* it says no more */
  gboolean shut : 1;       /* nothing more is said to it */
  gboolean bulk : 1;       /* it fills whole buffers */
  gboolean wants_out : 1;  /* TLS: reading needs a write */
  gboolean patient : 1;    /* it is read in large pieces only */
  gsize pace_bytes;        /* how much it said since then, which shows how fast it is */
  gint64 pace_since;
} PrismLocalEnd;

/* Where a request goes, and what allowed it. */
typedef struct
{
  char *host;
  guint16 port;
  gboolean tls; /* TLS begins here, not in the client */
  PrismEgressScheme scheme;
  PrismEgressRule *rule;
  gint64 policy_version;
  PrismCredential *credential; /* NULL: none */
  GInetAddress *address;       /* that the host is; NULL: a name */
} PrismLocalPlace;

typedef enum
{
  PRISM_LOCAL_BODY_NONE,
  PRISM_LOCAL_BODY_LENGTH,
  PRISM_LOCAL_BODY_CHUNKED,
  PRISM_LOCAL_BODY_CLOSE, /* until the end of the connection */
} PrismLocalBodyKind;

typedef struct
{
  PrismLocalBodyKind kind;
  gint64 left;
  gint64 seen;
  PrismHttpChunks chunks;
  gboolean recode : 1; /* chunks are written for what is read */
  gboolean done : 1;
} PrismLocalBody;

/* A plain request, from its head on. */
typedef struct
{
  PrismLocalBody up, down;
  gsize head_length;   /* at the start of the connection's input */
  char *url;           /* after a redirect: where to; NULL: what the head says */
  PrismLocalBuffer reply; /* a response's head that is not all there */
  gsize reply_scanned;
  guint hops;
  guint interim; /* 1xx answers so far */
  guint minor; /* of the client's HTTP */
  gboolean keep : 1;       /* the client's connection */
  gboolean keep_up : 1;    /* the upstream's */
  gboolean is_head : 1;    /* HEAD: no body comes */
  gboolean safe : 1;       /* GET or HEAD without a body: may be asked again */
  gboolean reused : 1;     /* goes over a connection that was there before */
  gboolean answered : 1;   /* the head of the final response went to the client */
  gboolean head_sent : 1;  /* the request's head went up */
  gboolean head_kept : 1;  /* the request's head is still in the input */
  gboolean crossed : 1;    /* a redirect led to another origin */
} PrismLocalRequest;

struct _PrismLocalConnection
{
  PrismLocalEnd client, upstream;
  PrismLocalPort *port;
  PrismLocalConnection *previous, *next; /* of the port */
  PrismLocalConnection *grave_next;
  PrismLocalState state;
  gboolean counted : 1;  /* among the port's requests */
  gboolean connect : 1;  /* CONNECT */
  gboolean refused : 1;  /* answered by us, not by an upstream */
  guint served;

  PrismLocalBuffer in; /* what the client sent and nothing was done with yet */
  gsize scanned;

  gint64 since;   /* of the request, or of the connection while there is none */
  gint64 touched; /* the last byte either way */

  PrismLocalPlace place;     /* of the request */
  PrismLocalPlace up_place;  /* that the upstream is; only host, port, tls */
  char *memo;                /* authority and form that @place was decided for */
  PrismEgressPolicy *memo_policy;
  PrismLocalRequest *request;
  PrismLocalDial *dial;
  gpointer asked; /* PrismLocalQuestion: the policy's resolver */

  const char *ended_by; /* reason id, where a tunnel ends before its end; NULL: it does not */
  gint64 sent, received; /* of the request or tunnel */
  guint8 peer[16];
  guint16 peer_port;
  guint8 peer_length; /* 0, 4 or 16 */
};

void prism_local_connection_new (PrismLocalPort *port, int fd, const guint8 *peer, guint peer_length, guint16 peer_port);

/* Closes both ends and forgets it; it is freed at the end of the round. A record is
 * made of what was under way, with this reason. */
void prism_local_connection_end (PrismLocalConnection *self, const char *reason_id, const char *reason);
void prism_local_connection_free (PrismLocalConnection *self);

/* A request waited, and now it is its turn. */
void prism_local_connection_resume (PrismLocalConnection *self);

/* The request's or tunnel's end: the next request, or the end of the connection. */
void prism_local_connection_done (PrismLocalConnection *self, const char *reason_id, const char *reason);

/* Makes the epoll set wait for what the state needs. */
void prism_local_connection_arm (PrismLocalConnection *self);

gint64 prism_local_connection_deadline (PrismLocalConnection *self);
void prism_local_connection_expire (PrismLocalConnection *self);

/* The upstream is connected, or is not going to be. */
void prism_local_connection_dialed (PrismLocalConnection *self);

/* The policy changed: ends what it does not allow any more. */
void prism_local_connection_check (PrismLocalConnection *self, PrismEgressPolicy *policy);

/* The answer cannot be completed: the client must not take it for a whole one. */
void prism_local_connection_cut (PrismLocalConnection *self);

/* Reads more of what the client says; FALSE: nothing came, or it is over. */
gboolean prism_local_connection_read (PrismLocalConnection *self);

void prism_local_connection_enter (PrismLocalConnection *self, PrismLocalState state);

void prism_local_place_clear (PrismLocalPlace *place);

static inline PrismLocalEngine *
prism_local_connection_engine (PrismLocalConnection *self)
{
  return self->port->engine;
}

G_END_DECLS
