/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Operations and the calls behind them.
 *
 * An operation is what an implementation holds; a call is what the caller waits
 * for. They are two things because an operation that is dropped must fail its
 * call, and a call that timed out must not wait for its operation.
 *
 *            caller                     |          implementation
 *   run / start / finish -> PrismCall <-+- PrismOperation (complete, fail)
 *
 * A call is settled once: by the answer, by its deadline, or by cancellation.
 * It is told in the caller's context (asynchronous: where it was started;
 * synchronous: in the calling thread), after everything that was emitted
 * before. An implementation may answer from any thread.
 *
 * A synchronous call that is answered before its method returns never sees a
 * main loop: the private context is pushed, so that what the method starts does
 * not land in the caller's, and nothing more. */
#pragma once

#include "prism-operation-private.h"

G_BEGIN_DECLS

typedef struct
{
  void (*func) (gpointer data);
  gpointer data;
  GDestroyNotify free_data;
  GDestroyNotify done;
  gpointer done_data;
} PrismEmission;

typedef struct
{
  gatomicrefcount refs;
  GObject *self;
  const PrismMethod *method;
  GThread *caller; /* not referenced: compared only */
  GTask *task;     /* asynchronous only */
  gint64 span_us;  /* of the deadline; 0 = none */

  /* Of a script: what its errors begin with, asked in the context it lives in. An answer
   * may come from anywhere, even from its interpreter's collection of garbage. */
  gboolean scripted;
  char *origin;

  GMutex lock; /* for what follows */
  gboolean may_block;
  gboolean answered; /* the implementation spoke */
  gboolean settled;  /* what the caller will hear is decided */
  gboolean emitting;
  gboolean closed;    /* the caller heard it */
  gboolean cancelled; /* by the caller */
  gboolean stop_work; /* the operation's own cancellable is, or will be born, cancelled */
  gint64 deadline;    /* monotonic; 0 = none */
  gint64 expires;     /* when the call gives up; 0 = never */
  GSource *source;    /* in the caller's context; none while a synchronous call is in its method */
  GQueue emissions;
  GCancellable *caller_cancellable, *cancellable;
  gulong cancelled_id;
  gboolean watching;
  gpointer value;
  GDestroyNotify free_value;
  GError *error;
} PrismCall;

PrismCall *prism_call_new (gpointer self, const PrismMethod *method, gint64 deadline_ms, GCancellable *cancellable);
PrismCall *prism_call_ref (PrismCall *call);
void prism_call_unref (PrismCall *call);

/* Wakes in @context for emissions, the deadline and the answer. */
void prism_call_attach (PrismCall *call, GMainContext *context);
/* Chains the caller's cancellable; not under the lock, as it may fire at once. */
void prism_call_watch_caller (PrismCall *call);
/* In the caller's context. */
void prism_call_emit_queued (PrismCall *call);
/* Settles it where its time is over. */
void prism_call_expire (PrismCall *call);
/* The caller is told now: nothing of the call is to happen after this. */
void prism_call_close (PrismCall *call);

gboolean prism_call_is_settled (PrismCall *call);
/* Decides what the caller hears. FALSE: that was decided before. */
gboolean prism_call_settle_locked (PrismCall *call, gpointer value, GDestroyNotify free_value, GError *error);
void prism_call_wake_locked (PrismCall *call, gint64 when);

GError *prism_call_error (PrismCall *call, int code, const char *what);
GError *prism_call_cancelled_error (PrismCall *call);
void prism_call_discard (const PrismMethod *method, gpointer value, GDestroyNotify free_value);
void prism_call_emission_free (PrismEmission *emission);

/* The call that an operation answers. */
PrismCall *prism_operation_get_call (PrismOperation *self);
void prism_operation_set_call (PrismOperation *self, PrismCall *call);

G_END_DECLS
