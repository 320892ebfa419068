/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Any thread may answer, cancel or ask; the store's lock is for its tables and for its
 * flights, and nothing foreign runs under it. */
#include "prism-approval-store-private.h"

#include "prism-decision-private.h"

struct _PrismApprovalStore
{
  gatomicrefcount refs;

  GMutex lock;
  GHashTable *answers; /* key → GINT_TO_POINTER (allowed) */
  GQueue order;        /* of the keys, which the table owns, as they came in */
  GHashTable *flights; /* key → flight, neither owned */
};

typedef struct
{
  gatomicrefcount refs;
  PrismApprovalFlight *flight;    /* not owned: it is settled before it goes */
  PrismCheckOperation *operation; /* NULL once it waits no more */
  GSource *timer;
} Waiter;

struct _PrismApprovalFlight
{
  gatomicrefcount refs;

  PrismApprovalStore *store;
  PrismApprovalTerms terms;
  gint64 deadline; /* monotonic; 0: none */
  GMainContext *context;
  GWeakRef request;
  /* under the store's lock */
  gboolean open;
  GPtrArray *waiters;
};

/* --- the store ----------------------------------------------------------------------- */

PrismApprovalStore *
prism_approval_store_new (void)
{
  PrismApprovalStore *self = g_new0 (PrismApprovalStore, 1);

  g_atomic_ref_count_init (&self->refs);
  g_mutex_init (&self->lock);
  self->answers = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  self->flights = g_hash_table_new (g_str_hash, g_str_equal);
  return self;
}

PrismApprovalStore *
prism_approval_store_ref (PrismApprovalStore *self)
{
  g_atomic_ref_count_inc (&self->refs);
  return self;
}

void
prism_approval_store_unref (PrismApprovalStore *self)
{
  if (!g_atomic_ref_count_dec (&self->refs))
    return;
  g_queue_clear (&self->order);
  g_hash_table_unref (self->answers);
  g_hash_table_unref (self->flights);
  g_mutex_clear (&self->lock);
  g_free (self);
}

gboolean
prism_approval_store_look_up (PrismApprovalStore *self, const char *key, gboolean *allowed)
{
  gpointer value = NULL;
  gboolean found;

  if (key == NULL)
    return FALSE;
  g_mutex_lock (&self->lock);
  found = g_hash_table_lookup_extended (self->answers, key, NULL, &value);
  g_mutex_unlock (&self->lock);
  *allowed = GPOINTER_TO_INT (value);
  return found;
}

static void
remember_locked (PrismApprovalStore *self, const char *key, gboolean allowed)
{
  char *owned;
  gpointer old;

  if (key == NULL)
    return;
  if (g_hash_table_lookup_extended (self->answers, key, &old, NULL))
    {
      g_hash_table_insert (self->answers, g_strdup (key), GINT_TO_POINTER (allowed));
      return;
    }
  if (g_hash_table_size (self->answers) >= PRISM_APPROVAL_CACHE_ENTRIES)
    g_hash_table_remove (self->answers, g_queue_pop_head (&self->order));
  owned = g_strdup (key);
  g_hash_table_insert (self->answers, owned, GINT_TO_POINTER (allowed));
  g_queue_push_tail (&self->order, owned);
}

void
prism_approval_store_remember (PrismApprovalStore *self, const char *key, gboolean allowed)
{
  g_mutex_lock (&self->lock);
  remember_locked (self, key, allowed);
  g_mutex_unlock (&self->lock);
}

void
prism_approval_store_forget (PrismApprovalStore *self)
{
  g_mutex_lock (&self->lock);
  g_queue_clear (&self->order);
  g_hash_table_remove_all (self->answers);
  g_mutex_unlock (&self->lock);
}

guint
prism_approval_store_get_size (PrismApprovalStore *self)
{
  guint size;

  g_mutex_lock (&self->lock);
  size = g_hash_table_size (self->answers);
  g_mutex_unlock (&self->lock);
  return size;
}

/* --- who waits -------------------------------------------------------------------------- */

static Waiter *
waiter_ref (Waiter *waiter)
{
  g_atomic_ref_count_inc (&waiter->refs);
  return waiter;
}

static void
waiter_unref (gpointer data)
{
  Waiter *waiter = data;

  if (!g_atomic_ref_count_dec (&waiter->refs))
    return;
  g_clear_object (&waiter->operation);
  g_clear_pointer (&waiter->timer, g_source_unref);
  prism_approval_flight_unref (waiter->flight);
  g_free (waiter);
}

/* --- flights ------------------------------------------------------------------------------ */

PrismApprovalFlight *
prism_approval_flight_ref (PrismApprovalFlight *self)
{
  g_atomic_ref_count_inc (&self->refs);
  return self;
}

static void
clear_terms (PrismApprovalTerms *terms)
{
  g_clear_pointer (&terms->flight_key, g_free);
  g_clear_pointer (&terms->answer_key, g_free);
  g_clear_pointer (&terms->always_key, g_free);
}

void
prism_approval_flight_unref (PrismApprovalFlight *self)
{
  if (!g_atomic_ref_count_dec (&self->refs))
    return;
  clear_terms (&self->terms);
  g_ptr_array_unref (self->waiters);
  g_main_context_unref (self->context);
  g_weak_ref_clear (&self->request);
  prism_approval_store_unref (self->store);
  g_free (self);
}

gboolean
prism_approval_flight_is_open (PrismApprovalFlight *self)
{
  gboolean open;

  g_mutex_lock (&self->store->lock);
  open = self->open;
  g_mutex_unlock (&self->store->lock);
  return open;
}

/* It is open no more; who waited is the caller's to answer. NULL: it was not open. */
static GPtrArray *
close_locked (PrismApprovalFlight *self)
{
  GPtrArray *waiters;

  if (!self->open)
    return NULL;
  self->open = FALSE;
  g_hash_table_remove (self->store->flights, self->terms.flight_key);
  waiters = g_steal_pointer (&self->waiters);
  self->waiters = g_ptr_array_new_with_free_func (waiter_unref);
  return waiters;
}

static void
free_weak_ref (gpointer data)
{
  g_weak_ref_clear (data);
  g_free (data);
}

static gboolean
tell_request (gpointer weak)
{
  g_autoptr (PrismApprovalRequest) request = g_weak_ref_get (weak);

  if (request != NULL)
    prism_approval_request_settled (request);
  return G_SOURCE_REMOVE;
}

/* The source holds nothing: a context that is iterated no more would keep it for ever. */
static void
tell_request_later (PrismApprovalFlight *self)
{
  g_autoptr (GSource) source = NULL;
  g_autoptr (PrismApprovalRequest) request = g_weak_ref_get (&self->request);
  GWeakRef *weak;

  if (request == NULL)
    return;
  weak = g_new0 (GWeakRef, 1);
  g_weak_ref_init (weak, request);
  source = g_idle_source_new ();
  g_source_set_priority (source, G_PRIORITY_DEFAULT);
  g_source_set_static_name (source, "[prism] approval settled");
  g_source_set_callback (source, tell_request, weak, free_weak_ref);
  g_source_attach (source, self->context);
}

static void
answer_waiters (PrismApprovalFlight *self, GPtrArray *waiters, PrismDecision *decision)
{
  for (guint i = 0; i < waiters->len; i++)
    {
      Waiter *waiter = waiters->pdata[i];
      g_autoptr (PrismCheckOperation) operation = NULL;

      g_mutex_lock (&self->store->lock);
      operation = g_steal_pointer (&waiter->operation);
      g_mutex_unlock (&self->store->lock);
      if (waiter->timer != NULL)
        g_source_destroy (waiter->timer);
      if (operation != NULL)
        prism_check_operation_complete (operation, decision);
    }
  tell_request_later (self);
}

gboolean
prism_approval_flight_settle (PrismApprovalFlight *self, PrismDecision *decision)
{
  g_autoptr (GPtrArray) waiters = NULL;

  g_mutex_lock (&self->store->lock);
  waiters = close_locked (self);
  g_mutex_unlock (&self->store->lock);
  if (waiters == NULL)
    return FALSE;
  answer_waiters (self, waiters, decision);
  return TRUE;
}

void
prism_approval_flight_drop (PrismApprovalFlight *self)
{
  g_autoptr (PrismDecision) decision =
      prism_decision_new_deny (PRISM_REASON_APPROVAL_DENIED, "who was asked gave no answer");

  prism_approval_flight_settle (self, decision);
}

gboolean
prism_approval_flight_answer (PrismApprovalFlight *self, PrismApprovalAnswer answer)
{
  gboolean allowed = answer != PRISM_APPROVAL_ANSWER_DENY;
  g_autoptr (GPtrArray) waiters = NULL;
  g_autoptr (PrismDecision) decision = NULL;

  g_mutex_lock (&self->store->lock);
  waiters = close_locked (self);
  if (waiters != NULL)
    {
      remember_locked (self->store, self->terms.answer_key, allowed);
      if (answer == PRISM_APPROVAL_ANSWER_ALLOW_ALWAYS)
        remember_locked (self->store, self->terms.always_key, TRUE);
    }
  g_mutex_unlock (&self->store->lock);
  if (waiters == NULL)
    return FALSE;
  if (allowed)
    decision =
        g_object_new (PRISM_TYPE_DECISION, "verdict", PRISM_VERDICT_ALLOW, "exclusive", self->terms.exclusive, NULL);
  else
    decision = prism_decision_new_deny (PRISM_REASON_APPROVAL_DENIED, "who was asked said no");
  answer_waiters (self, waiters, decision);
  return TRUE;
}

static gboolean
waiter_timed_out (gpointer data)
{
  g_autoptr (PrismDecision) decision =
      prism_decision_new_deny (PRISM_REASON_APPROVAL_TIMED_OUT, "who was asked did not answer in time");

  prism_approval_flight_settle (((Waiter *)data)->flight, decision);
  return G_SOURCE_REMOVE;
}

/* One who waited does so no more; the others go on. The last one ends the question. */
static void
waiter_cancelled (GCancellable *cancellable, gpointer data)
{
  Waiter *waiter = data;
  PrismApprovalFlight *flight = prism_approval_flight_ref (waiter->flight);
  g_autoptr (PrismCheckOperation) operation = NULL;
  g_autoptr (GPtrArray) last = NULL;

  g_mutex_lock (&flight->store->lock);
  operation = g_steal_pointer (&waiter->operation);
  if (operation != NULL && flight->open)
    {
      waiter_ref (waiter);
      g_ptr_array_remove_fast (flight->waiters, waiter);
      if (flight->waiters->len == 0)
        last = close_locked (flight);
    }
  else
    waiter_ref (waiter);
  g_mutex_unlock (&flight->store->lock);
  if (waiter->timer != NULL)
    g_source_destroy (waiter->timer);
  waiter_unref (waiter);
  if (last != NULL)
    tell_request_later (flight);
  if (operation != NULL)
    {
      g_autoptr (PrismDecision) decision =
          prism_decision_new_deny (PRISM_REASON_APPROVAL_CANCELLED, "cancelled before there was an answer");

      prism_check_operation_complete (operation, decision);
    }
  prism_approval_flight_unref (flight);
}

/* Each waits in a context of its own, and each of these contexts is iterated at least as
 * long as that one waits: so each has the question's deadline to watch. */
static Waiter *
waiter_new (PrismApprovalFlight *flight, PrismCheckOperation *operation)
{
  Waiter *waiter = g_new0 (Waiter, 1);
  g_autoptr (GMainContext) context = NULL;

  g_atomic_ref_count_init (&waiter->refs);
  waiter->flight = prism_approval_flight_ref (flight);
  waiter->operation = g_object_ref (operation);
  if (flight->deadline == 0)
    return waiter;
  context = g_main_context_ref_thread_default ();
  waiter->timer = g_timeout_source_new (0);
  g_source_set_static_name (waiter->timer, "[prism] approval deadline");
  g_source_set_ready_time (waiter->timer, flight->deadline);
  g_source_set_callback (waiter->timer, waiter_timed_out, waiter_ref (waiter), waiter_unref);
  g_source_attach (waiter->timer, context);
  return waiter;
}

static PrismApprovalFlight *
flight_new (PrismApprovalStore *store, PrismApprovalTerms *terms)
{
  PrismApprovalFlight *self = g_new0 (PrismApprovalFlight, 1);

  g_atomic_ref_count_init (&self->refs);
  self->store = prism_approval_store_ref (store);
  self->terms = *terms;
  *terms = (PrismApprovalTerms){ NULL };
  if (self->terms.timeout_ms > 0)
    self->deadline = g_get_monotonic_time () + self->terms.timeout_ms * 1000;
  self->context = g_main_context_ref_thread_default ();
  g_weak_ref_init (&self->request, NULL);
  self->waiters = g_ptr_array_new_with_free_func (waiter_unref);
  self->open = TRUE;
  return self;
}

static PrismApprovalRequest *
make_request (PrismApprovalFlight *flight, PrismDecision *question, PrismCheckOperation *operation)
{
  PrismApprovalRequest *request =
      prism_approval_request_new (prism_check_operation_get_action (operation), question,
                                  flight->terms.always_key != NULL, prism_approval_flight_ref (flight));

  g_weak_ref_set (&flight->request, request);
  return request;
}

gboolean
prism_approval_store_ask (PrismApprovalStore *self,
                          PrismApprovalTerms *terms,
                          PrismDecision *question,
                          PrismCheckOperation *operation,
                          PrismApprovalRequest **request)
{
  PrismApprovalFlight *flight;
  Waiter *waiter;
  gboolean fresh;

  g_mutex_lock (&self->lock);
  flight = g_hash_table_lookup (self->flights, terms->flight_key);
  fresh = flight == NULL;
  if (fresh)
    {
      flight = flight_new (self, terms);
      g_hash_table_insert (self->flights, flight->terms.flight_key, flight);
    }
  else
    prism_approval_flight_ref (flight);
  waiter = waiter_new (flight, operation);
  waiter_ref (waiter);
  g_ptr_array_add (flight->waiters, waiter);
  g_mutex_unlock (&self->lock);

  clear_terms (terms);
  if (fresh)
    *request = make_request (flight, question, operation);
  /* It fires at once where that was cancelled already. */
  g_cancellable_connect (prism_operation_get_cancellable (PRISM_OPERATION (operation)), G_CALLBACK (waiter_cancelled),
                         waiter, waiter_unref);
  prism_approval_flight_unref (flight);
  return fresh;
}
