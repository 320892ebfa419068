/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A policy whose rules come from a resolver: one question for all who wait, an
 * answer that holds a second, and everything that goes wrong denies. */
#include "prism-egress-policy.h"

#include <string.h>

/* --- a resolver that does as it is told ------------------------------------------ */

typedef enum
{
  ANSWER,
  FAIL,
  MALFORMED,
  DROP,
  WAIT, /* keeps the operation until it is let go */
} Mood;

#define TEST_TYPE_RESOLVER (test_resolver_get_type ())
G_DECLARE_FINAL_TYPE (TestResolver, test_resolver, TEST, RESOLVER, GObject)

struct _TestResolver
{
  GObject parent_instance;

  GMutex lock;
  GCond changed;
  Mood mood;
  guint asked;
  PrismResolveOperation *held;
};

static void
answer (PrismResolveOperation *operation)
{
  prism_resolve_operation_complete (operation, (const char *const[]){ "https://good.test", NULL });
}

static void
test_resolver_resolve (PrismEgressResolver *resolver, PrismResolveOperation *operation)
{
  TestResolver *self = TEST_RESOLVER (resolver);
  Mood mood;

  g_mutex_lock (&self->lock);
  self->asked++;
  mood = self->mood;
  if (mood == WAIT)
    g_set_object (&self->held, operation);
  g_cond_broadcast (&self->changed);
  g_mutex_unlock (&self->lock);
  if (mood == ANSWER)
    answer (operation);
  else if (mood == FAIL)
    prism_operation_fail_literal (PRISM_OPERATION (operation), G_IO_ERROR, G_IO_ERROR_FAILED, "the database is away");
  else if (mood == MALFORMED)
    prism_resolve_operation_complete (operation, (const char *const[]){ "https://good.test", "*", NULL });
}

static void
test_resolver_iface_init (PrismEgressResolverInterface *iface)
{
  iface->resolve = test_resolver_resolve;
}

G_DEFINE_FINAL_TYPE_WITH_CODE (TestResolver,
                               test_resolver,
                               G_TYPE_OBJECT,
                               G_IMPLEMENT_INTERFACE (PRISM_TYPE_EGRESS_RESOLVER, test_resolver_iface_init))

static void
test_resolver_finalize (GObject *object)
{
  TestResolver *self = TEST_RESOLVER (object);

  g_clear_object (&self->held);
  g_mutex_clear (&self->lock);
  g_cond_clear (&self->changed);
  G_OBJECT_CLASS (test_resolver_parent_class)->finalize (object);
}

static void
test_resolver_class_init (TestResolverClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = test_resolver_finalize;
}

static void
test_resolver_init (TestResolver *self)
{
}

static guint
count_asked (TestResolver *self)
{
  guint asked;

  g_mutex_lock (&self->lock);
  asked = self->asked;
  g_mutex_unlock (&self->lock);
  return asked;
}

/* Waits until it is being asked, and takes the operation from it. */
static PrismResolveOperation *
take_held (TestResolver *self)
{
  gint64 deadline = g_get_monotonic_time () + 20 * G_USEC_PER_SEC;
  PrismResolveOperation *held;

  g_mutex_lock (&self->lock);
  while (self->held == NULL)
    g_assert_true (g_cond_wait_until (&self->changed, &self->lock, deadline));
  held = g_steal_pointer (&self->held);
  g_mutex_unlock (&self->lock);
  return held;
}

static PrismEgressPolicy *
new_policy (Mood mood, TestResolver **resolver)
{
  *resolver = g_object_new (TEST_TYPE_RESOLVER, NULL);
  (*resolver)->mood = mood;
  return prism_egress_policy_new_resolver (PRISM_EGRESS_RESOLVER (*resolver));
}

/* --- waiting for several answers --------------------------------------------------- */

typedef struct
{
  guint answers, denials, cancels;
} Heard;

static void
hear (GObject *source, GAsyncResult *result, gpointer data)
{
  Heard *heard = data;
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismEgressPolicy) now = prism_egress_policy_resolve_finish (PRISM_EGRESS_POLICY (source), result, &error);

  if (now != NULL)
    {
      g_assert_nonnull (prism_egress_policy_match (now, "good.test", 443, PRISM_EGRESS_SCHEME_HTTPS));
      heard->answers++;
    }
  else if (g_error_matches (error, PRISM_EGRESS_ERROR, PRISM_EGRESS_ERROR_CANCELLED))
    heard->cancels++;
  else
    {
      g_assert_error (error, PRISM_EGRESS_ERROR, PRISM_EGRESS_ERROR_DENIED);
      heard->denials++;
    }
}

static void
hear_all (Heard *heard, guint n)
{
  gint64 deadline = g_get_monotonic_time () + 20 * G_USEC_PER_SEC;

  while (heard->answers + heard->denials + heard->cancels < n && g_get_monotonic_time () < deadline)
    g_main_context_iteration (NULL, FALSE);
  g_assert_cmpuint (heard->answers + heard->denials + heard->cancels, ==, n);
}

/* --- tests ----------------------------------------------------------------------- */

static void
test_sync (void)
{
  g_autoptr (TestResolver) resolver = NULL;
  g_autoptr (PrismEgressPolicy) policy = new_policy (ANSWER, &resolver);
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismEgressPolicy) now = prism_egress_policy_resolve (policy, NULL, &error);
  g_autoptr (PrismEgressPolicy) again = NULL;
  g_autoptr (PrismEgressPolicy) itself = NULL;
  gint64 deadline = g_get_monotonic_time () + 20 * G_USEC_PER_SEC;

  g_assert_no_error (error);
  g_assert_cmpint (prism_egress_policy_get_kind (now), ==, PRISM_EGRESS_POLICY_KIND_STATIC);
  g_assert_null (prism_egress_policy_match (policy, "good.test", 443, PRISM_EGRESS_SCHEME_HTTPS));
  g_assert_nonnull (prism_egress_policy_match (now, "good.test", 443, PRISM_EGRESS_SCHEME_HTTPS));
  g_assert_null (prism_egress_policy_get_fingerprint (policy));
  g_assert_nonnull (prism_egress_policy_get_fingerprint (now));
  g_assert_true (prism_egress_policy_get_resolver (policy) == PRISM_EGRESS_RESOLVER (resolver));

  again = prism_egress_policy_resolve (policy, NULL, &error);
  g_assert_true (again == now);
  g_assert_cmpuint (count_asked (resolver), ==, 1);
  while (count_asked (resolver) == 1 && g_get_monotonic_time () < deadline)
    {
      g_clear_object (&again);
      again = prism_egress_policy_resolve (policy, NULL, &error);
      g_assert_no_error (error);
    }
  g_assert_cmpuint (count_asked (resolver), ==, 2);

  itself = prism_egress_policy_resolve (now, NULL, &error);
  g_assert_true (itself == now);
}

static void
test_denies (void)
{
  static const struct
  {
    Mood mood;
    const char *words;
  } rows[] = { { FAIL, "the database is away" }, { MALFORMED, "wildcards" }, { DROP, "dropped" } };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (TestResolver) resolver = NULL;
      g_autoptr (PrismEgressPolicy) policy = new_policy (rows[i].mood, &resolver);
      g_autoptr (GError) error = NULL;
      Heard heard = { 0 };

      g_assert_null (prism_egress_policy_resolve (policy, NULL, &error));
      g_assert_error (error, PRISM_EGRESS_ERROR, PRISM_EGRESS_ERROR_DENIED);
      g_assert_nonnull (strstr (error->message, rows[i].words));
      prism_egress_policy_resolve_async (policy, NULL, hear, &heard);
      hear_all (&heard, 1);
      g_assert_cmpuint (heard.denials, ==, 1);
    }
}

/* It is given five seconds, and then nobody waits any more. */
static void
test_hangs (void)
{
  g_autoptr (TestResolver) resolver = NULL;
  g_autoptr (PrismEgressPolicy) policy = new_policy (WAIT, &resolver);
  g_autoptr (PrismResolveOperation) operation = NULL;
  gint64 start = g_get_monotonic_time ();
  Heard heard = { 0 };

  for (guint i = 0; i < 3; i++)
    prism_egress_policy_resolve_async (policy, NULL, hear, &heard);
  operation = take_held (resolver);
  hear_all (&heard, 3);
  g_assert_cmpuint (heard.denials, ==, 3);
  g_assert_cmpint (g_get_monotonic_time () - start, >=, 4 * G_USEC_PER_SEC);
  g_assert_cmpuint (count_asked (resolver), ==, 1);
  g_assert_true (prism_operation_get_completed (PRISM_OPERATION (operation)));
}

static void
test_one_question (void)
{
  g_autoptr (TestResolver) resolver = NULL;
  g_autoptr (PrismEgressPolicy) policy = new_policy (WAIT, &resolver);
  g_autoptr (PrismResolveOperation) operation = NULL;
  Heard heard = { 0 };

  for (guint i = 0; i < 200; i++)
    prism_egress_policy_resolve_async (policy, NULL, hear, &heard);
  operation = take_held (resolver);
  answer (operation);
  hear_all (&heard, 200);
  g_assert_cmpuint (heard.answers, ==, 200);
  g_assert_cmpuint (count_asked (resolver), ==, 1);
}

static void
await_cancelled (PrismResolveOperation *operation)
{
  GCancellable *cancellable = prism_operation_get_cancellable (PRISM_OPERATION (operation));
  gint64 deadline = g_get_monotonic_time () + 20 * G_USEC_PER_SEC;

  while (!g_cancellable_is_cancelled (cancellable) && g_get_monotonic_time () < deadline)
    g_main_context_iteration (NULL, FALSE);
  g_assert_true (g_cancellable_is_cancelled (cancellable));
}

/* Who leaves hears so at once; the last one takes the question along. */
static void
test_cancel (void)
{
  g_autoptr (TestResolver) resolver = NULL;
  g_autoptr (PrismEgressPolicy) policy = new_policy (WAIT, &resolver);
  g_autoptr (PrismResolveOperation) first = NULL;
  g_autoptr (PrismResolveOperation) second = NULL;
  g_autoptr (GCancellable) one = g_cancellable_new ();
  g_autoptr (GCancellable) other = g_cancellable_new ();
  g_autoptr (GCancellable) before = g_cancellable_new ();
  Heard heard = { 0 };

  prism_egress_policy_resolve_async (policy, one, hear, &heard);
  prism_egress_policy_resolve_async (policy, other, hear, &heard);
  first = take_held (resolver);
  g_cancellable_cancel (one);
  hear_all (&heard, 1);
  g_assert_cmpuint (heard.cancels, ==, 1);
  g_assert_false (g_cancellable_is_cancelled (prism_operation_get_cancellable (PRISM_OPERATION (first))));
  g_cancellable_cancel (other);
  hear_all (&heard, 2);
  await_cancelled (first);

  /* Cancelled before it was asked; and whoever comes now puts a question of their own. */
  g_cancellable_cancel (before);
  prism_egress_policy_resolve_async (policy, before, hear, &heard);
  hear_all (&heard, 3);
  g_assert_cmpuint (heard.cancels, ==, 3);
  prism_egress_policy_resolve_async (policy, NULL, hear, &heard);
  do
    {
      g_clear_object (&second);
      second = take_held (resolver);
    }
  while (prism_operation_get_completed (PRISM_OPERATION (second)));
  answer (second);
  hear_all (&heard, 4);
  g_assert_cmpuint (heard.answers, ==, 1);
}

/* Joining, leaving and answering at the same time: each hears exactly one thing. */
static void
test_storm (void)
{
  g_autoptr (TestResolver) resolver = NULL;
  g_autoptr (PrismEgressPolicy) policy = new_policy (FAIL, &resolver);
  Heard heard = { 0 };
  guint n = 0;

  for (guint round = 0; round < 300; round++)
    {
      g_autoptr (GCancellable) cancellable = g_cancellable_new ();

      prism_egress_policy_resolve_async (policy, cancellable, hear, &heard);
      prism_egress_policy_resolve_async (policy, round % 3 == 0 ? cancellable : NULL, hear, &heard);
      n += 2;
      if (round % 2 == 0)
        g_main_context_iteration (NULL, FALSE);
      g_cancellable_cancel (cancellable);
    }
  hear_all (&heard, n);
  g_assert_cmpuint (heard.answers, ==, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/egress-resolver/sync", test_sync);
  g_test_add_func ("/egress-resolver/denies", test_denies);
  g_test_add_func ("/egress-resolver/hangs", test_hangs);
  g_test_add_func ("/egress-resolver/one-question", test_one_question);
  g_test_add_func ("/egress-resolver/cancel", test_cancel);
  g_test_add_func ("/egress-resolver/storm", test_storm);
  return g_test_run ();
}
