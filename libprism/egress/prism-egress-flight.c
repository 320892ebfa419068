/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One question for all who wait: a burst of requests must not become a burst of
 * questions to somebody's database.
 *
 * The question is put from a worker thread, one at a time for a policy, because
 * the context of whoever came first may stop while others still wait. A resolver
 * that is written in a script is called in its own context all the same. Each
 * waiter can leave; when the last one does, the question is cancelled. */
#include "prism-egress-flight-private.h"

#include "prism-operation-private.h"

#define HOLDS_US G_USEC_PER_SEC

struct _PrismEgressFlight
{
  gatomicrefcount refs;
  PrismEgressAnswers *answers; /* part of owner */
  GObject *owner;
  PrismEgressResolver *resolver;
  GCancellable *cancellable;
  gint64 asked;
  GQueue waiters; /* under the answers' lock */
};

typedef struct
{
  gatomicrefcount refs;
  PrismEgressFlight *flight;
  GTask *task;
  GCancellable *cancellable;
  gulong handler; /* under the answers' lock, as is done */
  gboolean done;  /* answered, or gone */
} Waiter;

static void
flight_unref (PrismEgressFlight *flight)
{
  if (!g_atomic_ref_count_dec (&flight->refs))
    return;
  g_object_unref (flight->resolver);
  g_object_unref (flight->cancellable);
  g_object_unref (flight->owner);
  g_free (flight);
}

static PrismEgressFlight *
flight_ref (PrismEgressFlight *flight)
{
  g_atomic_ref_count_inc (&flight->refs);
  return flight;
}

static void
waiter_unref (gpointer data)
{
  Waiter *waiter = data;

  if (!g_atomic_ref_count_dec (&waiter->refs))
    return;
  flight_unref (waiter->flight);
  g_clear_object (&waiter->cancellable);
  g_object_unref (waiter->task);
  g_free (waiter);
}

void
prism_egress_answers_clear (PrismEgressAnswers *self)
{
  g_clear_object (&self->answer);
  g_mutex_clear (&self->lock);
}

static void
keep_answer (PrismEgressAnswers *self, PrismEgressPolicy *answer, gint64 asked)
{
  g_autoptr (PrismEgressPolicy) old = NULL;

  g_mutex_lock (&self->lock);
  if (self->answer == NULL || asked > self->asked)
    {
      old = self->answer;
      self->answer = g_object_ref (answer);
      self->asked = asked;
    }
  g_mutex_unlock (&self->lock);
}

PrismEgressPolicy *
prism_egress_answers_get (PrismEgressAnswers *self)
{
  PrismEgressPolicy *answer = NULL;

  g_mutex_lock (&self->lock);
  if (self->answer != NULL && g_get_monotonic_time () - self->asked < HOLDS_US)
    answer = g_object_ref (self->answer);
  g_mutex_unlock (&self->lock);
  return answer;
}

/* Whatever goes wrong, the message says that it denies; cancelling stays that. */
static PrismEgressPolicy *
ask (PrismEgressResolver *resolver, GCancellable *cancellable, GError **error)
{
  g_autoptr (GError) failure = NULL;
  PrismEgressPolicy *answer = prism_egress_resolver_resolve (resolver, cancellable, &failure);

  if (answer != NULL)
    return answer;
  if (g_error_matches (failure, PRISM_EGRESS_ERROR, PRISM_EGRESS_ERROR_CANCELLED))
    g_propagate_error (error, g_steal_pointer (&failure));
  else
    g_set_error (error, PRISM_EGRESS_ERROR, PRISM_EGRESS_ERROR_DENIED,
                 "the policy's resolver gave no rules, so nothing is allowed: %s", failure->message);
  return NULL;
}

PrismEgressPolicy *
prism_egress_answers_ask (PrismEgressAnswers *self,
                          PrismEgressResolver *resolver,
                          GCancellable *cancellable,
                          GError **error)
{
  gint64 asked = g_get_monotonic_time ();
  PrismEgressPolicy *answer = ask (resolver, cancellable, error);

  if (answer != NULL)
    keep_answer (self, answer, asked);
  return answer;
}

/* --- the flight ---------------------------------------------------------------- */

static void
answer_waiter (Waiter *waiter, PrismEgressPolicy *answer, const GError *error)
{
  gulong handler;

  g_mutex_lock (&waiter->flight->answers->lock);
  waiter->done = TRUE;
  handler = waiter->handler;
  waiter->handler = 0;
  g_mutex_unlock (&waiter->flight->answers->lock);
  if (handler != 0)
    g_cancellable_disconnect (waiter->cancellable, handler);
  if (answer != NULL)
    g_task_return_pointer (waiter->task, g_object_ref (answer), g_object_unref);
  else
    g_task_return_error (waiter->task, g_error_copy (error));
}

static void
land (PrismEgressFlight *flight, PrismEgressPolicy *answer, const GError *error)
{
  GQueue waiters;

  g_mutex_lock (&flight->answers->lock);
  if (flight->answers->flight == flight)
    flight->answers->flight = NULL;
  waiters = flight->waiters;
  g_queue_init (&flight->waiters);
  g_mutex_unlock (&flight->answers->lock);
  for (Waiter *waiter = g_queue_pop_head (&waiters); waiter != NULL; waiter = g_queue_pop_head (&waiters))
    {
      answer_waiter (waiter, answer, error);
      waiter_unref (waiter);
    }
}

static gpointer
fly (gpointer data)
{
  PrismEgressFlight *flight = data;
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismEgressPolicy) answer = ask (flight->resolver, flight->cancellable, &error);

  if (answer != NULL)
    keep_answer (flight->answers, answer, flight->asked);
  land (flight, answer, error);
  flight_unref (flight);
  return NULL;
}

static PrismEgressFlight *
flight_new (PrismEgressAnswers *answers, GObject *owner, PrismEgressResolver *resolver)
{
  PrismEgressFlight *flight = g_new0 (PrismEgressFlight, 1);

  g_atomic_ref_count_init (&flight->refs);
  flight->answers = answers;
  flight->owner = g_object_ref (owner);
  flight->resolver = g_object_ref (resolver);
  flight->cancellable = g_cancellable_new ();
  flight->asked = g_get_monotonic_time ();
  g_queue_init (&flight->waiters);
  return flight;
}

/* Takes a reference to @flight. */
static void
take_off (PrismEgressFlight *flight)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GError) denial = NULL;
  GThread *thread = prism_start_thread ("prism-resolver", fly, flight, &error);

  if (thread != NULL)
    {
      g_thread_unref (thread);
      return;
    }
  denial = g_error_new (PRISM_EGRESS_ERROR, PRISM_EGRESS_ERROR_DENIED,
                        "the policy's resolver could not be asked, so nothing is allowed: %s", error->message);
  land (flight, NULL, denial);
  flight_unref (flight);
}

/* Not in the middle of a cancellation, which the callback may want to undo. */
static gboolean
return_cancelled (gpointer task)
{
  g_task_return_new_error (task, PRISM_EGRESS_ERROR, PRISM_EGRESS_ERROR_CANCELLED,
                           "cancelled while the policy's resolver was asked");
  return G_SOURCE_REMOVE;
}

static void
leave (Waiter *waiter)
{
  g_autoptr (GSource) source = g_idle_source_new ();

  g_source_set_priority (source, G_PRIORITY_DEFAULT);
  g_source_set_static_name (source, "[prism] egress resolver cancelled");
  g_source_set_callback (source, return_cancelled, g_object_ref (waiter->task), g_object_unref);
  g_source_attach (source, g_task_get_context (waiter->task));
}

/* In the thread that cancels, which may be any. */
static void
waiter_cancelled (GCancellable *cancellable, gpointer data)
{
  Waiter *waiter = data;
  PrismEgressFlight *flight = waiter->flight;
  gboolean leaves, last = FALSE;

  g_mutex_lock (&flight->answers->lock);
  /* Who is no longer in the queue is being answered right now. */
  leaves = g_queue_remove (&flight->waiters, waiter);
  if (leaves)
    {
      waiter->done = TRUE;
      last = g_queue_is_empty (&flight->waiters);
      if (last && flight->answers->flight == flight)
        flight->answers->flight = NULL;
    }
  g_mutex_unlock (&flight->answers->lock);
  if (last)
    g_cancellable_cancel (flight->cancellable);
  if (!leaves)
    return;
  leave (waiter);
  waiter_unref (waiter);
}

/* The caller's cancellable is watched only once the waiter is in the queue. */
static void
watch (Waiter *waiter)
{
  gulong handler;
  gboolean late;

  if (waiter->cancellable == NULL)
    return;
  g_atomic_ref_count_inc (&waiter->refs);
  handler = g_cancellable_connect (waiter->cancellable, G_CALLBACK (waiter_cancelled), waiter, waiter_unref);
  if (handler == 0)
    return;
  g_mutex_lock (&waiter->flight->answers->lock);
  late = waiter->done;
  if (!late)
    waiter->handler = handler;
  g_mutex_unlock (&waiter->flight->answers->lock);
  if (late)
    g_cancellable_disconnect (waiter->cancellable, handler);
}

void
prism_egress_answers_join (PrismEgressAnswers *self, GObject *owner, PrismEgressResolver *resolver, GTask *task)
{
  Waiter *waiter = g_new0 (Waiter, 1);
  PrismEgressFlight *fresh = NULL;

  g_atomic_ref_count_init (&waiter->refs);
  waiter->task = task;
  g_set_object (&waiter->cancellable, g_task_get_cancellable (task));
  g_mutex_lock (&self->lock);
  if (self->flight == NULL)
    self->flight = fresh = flight_new (self, owner, resolver);
  waiter->flight = flight_ref (self->flight);
  g_atomic_ref_count_inc (&waiter->refs);
  g_queue_push_tail (&self->flight->waiters, waiter);
  g_mutex_unlock (&self->lock);
  if (fresh != NULL)
    take_off (fresh);
  watch (waiter);
  waiter_unref (waiter);
}
