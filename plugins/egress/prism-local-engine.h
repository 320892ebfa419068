/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The proxy's thread: one epoll set, and everything that is known of ports and
 * connections. Nothing of it is touched by another thread but the queue of
 * commands and the counters. */
#pragma once

#include "prism-http-head.h"

#include <libprism/prism.h>

G_BEGIN_DECLS

typedef struct _PrismLocalEngine PrismLocalEngine;
typedef struct _PrismLocalPort PrismLocalPort;
typedef struct _PrismLocalConnection PrismLocalConnection;
typedef struct _PrismLocalWatch PrismLocalWatch;

/* Large enough that a bulk transfer fills it and is noticed. */
#define PRISM_LOCAL_SCRATCH 65536

#define PRISM_LOCAL_NEVER G_MAXINT64

/* A descriptor in the epoll set. */
struct _PrismLocalWatch
{
  int fd;         /* -1: none */
  guint32 events; /* what the set waits for; 0: it is not in the set */
  void (*ready) (PrismLocalWatch *watch, guint32 events);
};

/* What goes from one socket to another without passing through the process. */
typedef struct _PrismLocalPipe PrismLocalPipe;
struct _PrismLocalPipe
{
  int fds[2];
  gsize held;
  PrismLocalPipe *next;
};

typedef struct
{
  gint64 active, total, sent, received, denied; /* written by the engine, read by anybody */
} PrismLocalCounters;

typedef void (*PrismLocalCommand) (PrismLocalEngine *engine, gpointer data);

typedef struct
{
  GResolver *resolver; /* NULL: the default one */
  char *trust_file;    /* NULL: the system's */
  char *parent_host;   /* NULL: there is none */
  guint16 parent_port;
} PrismLocalSettings;

struct _PrismLocalEngine
{
  gatomicrefcount refs;
  GThread *thread;
  GWeakRef proxy;
  PrismLocalSettings settings;

  guint audit_signal;

  int epoll;
  PrismLocalWatch wake;
  gboolean woken; /* this round */
  int netlink; /* -1: not asked yet */

  GMutex lock; /* for what follows, up to the engine's own */
  GQueue commands;
  gboolean quitting;
  GHashTable *ports;        /* PrismEgressListener (not owned) -> PrismLocalPort; changed by the engine only */
  PrismLocalCounters ended; /* of ports that are gone */

  gint64 now; /* of this round; monotonic, in us */
  gint64 next_sweep;
  gint64 swept;
  PrismLocalConnection *grave;
  GPtrArray *patient;    /* PrismLocalEnd (not owned); prism-local-pace.c knows them */
  PrismLocalPipe *pipes; /* free ones */
  guint n_pipes;
  GQueue records;       /* of ports that are gone; prism-local-record.c knows them */
  guint lost;           /* for which there was no room either */
  gboolean listens;     /* this round: somebody wants records */
  gint64 listens_asked; /* which round that was */
  gpointer ask;         /* PrismLocalAsker; made on first use */
  gpointer tls;         /* what the TLS part needs; made on first use */

  PrismHttpHead parsed;             /* the head that was looked at last */
  PrismLocalConnection *parsed_for; /* whose request it is; NULL: nobody's */

  char scratch[PRISM_LOCAL_SCRATCH];
  char head[2 * PRISM_LOCAL_SCRATCH];
};

PrismLocalEngine *prism_local_engine_new (GObject *proxy, const PrismLocalSettings *settings, GError **error);
PrismLocalEngine *prism_local_engine_ref (PrismLocalEngine *self);
void prism_local_engine_unref (PrismLocalEngine *self);

/* Ends every port and connection, and waits for that unless it is called in the
 * engine's own thread. */
void prism_local_engine_quit (PrismLocalEngine *self);

/* Any thread; FALSE if the engine has ended or is about to. */
gboolean prism_local_engine_call (PrismLocalEngine *self, PrismLocalCommand run, gpointer data);

/* @events 0 takes it out of the set: a hang-up is always reported otherwise. */
void prism_local_engine_watch (PrismLocalEngine *self, PrismLocalWatch *watch, guint32 events);
void prism_local_engine_close (PrismLocalEngine *self, PrismLocalWatch *watch);

/* The engine looks at all deadlines then, or earlier. */
static inline void
prism_local_engine_want (PrismLocalEngine *self, gint64 deadline)
{
  if (deadline < self->next_sweep)
    self->next_sweep = deadline;
}

PrismLocalPipe *prism_local_engine_take_pipe (PrismLocalEngine *self);
void prism_local_engine_give_pipe (PrismLocalEngine *self, PrismLocalPipe *pipe);

/* Counters are read by other threads, which need no order among them. */
static inline void
prism_local_count (gint64 *counter, gint64 add)
{
  __atomic_store_n (counter, *counter + add, __ATOMIC_RELAXED);
}

static inline gint64
prism_local_counted (const gint64 *counter)
{
  return __atomic_load_n (counter, __ATOMIC_RELAXED);
}

G_END_DECLS
