/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-cancel-source.h"

#define ROUNDS 1000

static gboolean
count (gpointer data)
{
  ++*(int *)data;
  return G_SOURCE_REMOVE;
}

static void
forget (gpointer data)
{
  ++*(int *)data;
}

static gpointer
cancel (gpointer cancellable)
{
  g_cancellable_cancel (cancellable);
  return NULL;
}

static void
end (GSource *source)
{
  g_source_destroy (source);
  g_source_unref (source);
}

/* A context that sleeps is woken, by another thread. */
static void
test_wakes (void)
{
  g_autoptr (GMainContext) context = g_main_context_new ();
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  int called = 0;
  GSource *source = prism_cancel_source_attach (cancellable, context, count, &called, NULL);
  GThread *thread;

  g_assert_false (g_main_context_iteration (context, FALSE));
  g_assert_cmpint (called, ==, 0);
  thread = g_thread_new ("cancel", cancel, cancellable);
  while (called == 0)
    g_main_context_iteration (context, TRUE);
  g_thread_join (thread);
  g_assert_false (g_main_context_iteration (context, FALSE));
  g_assert_cmpint (called, ==, 1);
  end (source);
}

static void
test_already (void)
{
  g_autoptr (GMainContext) context = g_main_context_new ();
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  int called = 0, destroyed = 0;
  GSource *source;

  g_cancellable_cancel (cancellable);
  source = prism_cancel_source_attach (cancellable, context, count, &called, NULL);
  g_assert_cmpint (called, ==, 0);
  g_main_context_iteration (context, TRUE);
  g_assert_cmpint (called, ==, 1);
  end (source);

  /* What has ended is not called, and lets go of its data. */
  g_cancellable_reset (cancellable);
  source = prism_cancel_source_attach (cancellable, context, count, &destroyed, forget);
  end (source);
  g_cancellable_cancel (cancellable);
  g_assert_false (g_main_context_iteration (context, FALSE));
  g_assert_cmpint (destroyed, ==, 1);
}

static void
test_default (void)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  int called = 0;
  GSource *source = prism_cancel_source_attach (cancellable, NULL, count, &called, NULL);

  g_cancellable_cancel (cancellable);
  g_main_context_iteration (NULL, FALSE);
  g_assert_cmpint (called, ==, 1);
  end (source);

  source = prism_cancel_source_attach (NULL, NULL, count, &called, NULL);
  g_assert_false (g_main_context_iteration (NULL, FALSE));
  end (source);
}

typedef struct
{
  GCancellable *cancellable;
  gint ready; /* atomic: how many stand at the line */
} Race;

static gpointer
cancel_in_race (gpointer data)
{
  Race *race = data;

  g_atomic_int_inc (&race->ready);
  while (g_atomic_int_get (&race->ready) < 2)
    g_thread_yield ();
  g_cancellable_cancel (race->cancellable);
  return NULL;
}

/* It ends, and its context with it, while another thread cancels; sometimes before it was
 * dispatched, sometimes after. */
static void
test_race (void)
{
  int seen = 0;

  for (int round = 0; round < ROUNDS; round++)
    {
      g_autoptr (GCancellable) cancellable = g_cancellable_new ();
      Race race = { cancellable, 0 };
      GMainContext *context = g_main_context_new ();
      GSource *source = prism_cancel_source_attach (cancellable, context, count, &seen, NULL);
      GThread *thread = g_thread_new ("cancel", cancel_in_race, &race);

      g_atomic_int_inc (&race.ready);
      while (g_atomic_int_get (&race.ready) < 2)
        g_thread_yield ();
      for (int turn = 0; turn < round % 50; turn++)
        g_main_context_iteration (context, FALSE);
      end (source);
      g_main_context_unref (context);
      g_thread_join (thread);
    }
  g_test_message ("dispatched in %d rounds of %d", seen, ROUNDS);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/cancel-source/wakes", test_wakes);
  g_test_add_func ("/cancel-source/already", test_already);
  g_test_add_func ("/cancel-source/default-context", test_default);
  g_test_add_func ("/cancel-source/race", test_race);
  return g_test_run ();
}
