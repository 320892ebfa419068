/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Who waits for a path that another tool has. */
#include "prism-tool-settings-private.h"

#define PATH "/a/file"

typedef struct
{
  PrismToolSettings *settings;
  GCancellable *cancellable;
} Waiter;

static gpointer
enter (gpointer data)
{
  Waiter *waiter = data;

  return GINT_TO_POINTER (prism_tool_settings_enter (waiter->settings, PATH, waiter->cancellable));
}

/* Cancelled before it came: it goes, though nobody leaves; and those after it have their turn. */
static void
test_cancelled_before (void)
{
  PrismToolSettings *settings = prism_tool_settings_new ();
  g_autoptr (GCancellable) cancelled = g_cancellable_new ();
  Waiter gone = { settings, cancelled }, next = { settings, NULL };
  GThread *thread;

  g_cancellable_cancel (cancelled);
  g_assert_true (prism_tool_settings_enter (settings, PATH, NULL));
  g_assert_false (GPOINTER_TO_INT (g_thread_join (g_thread_new ("gone", enter, &gone))));
  thread = g_thread_new ("next", enter, &next);
  prism_tool_settings_leave (settings, PATH);
  g_assert_true (GPOINTER_TO_INT (g_thread_join (thread)));
  prism_tool_settings_leave (settings, PATH);
  /* One that is free is had, cancelled or not: the caller looks itself. */
  g_assert_true (prism_tool_settings_enter (settings, PATH, cancelled));
  prism_tool_settings_leave (settings, PATH);
  prism_tool_settings_unref (settings);
}

static void
test_cancelled_while_waiting (void)
{
  PrismToolSettings *settings = prism_tool_settings_new ();
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  Waiter waiter = { settings, cancellable };
  GThread *thread;

  g_assert_true (prism_tool_settings_enter (settings, PATH, NULL));
  thread = g_thread_new ("waiter", enter, &waiter);
  g_cancellable_cancel (cancellable);
  g_assert_false (GPOINTER_TO_INT (g_thread_join (thread)));
  prism_tool_settings_leave (settings, PATH);
  g_assert_true (prism_tool_settings_enter (settings, PATH, NULL));
  prism_tool_settings_leave (settings, PATH);
  prism_tool_settings_unref (settings);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/tool-lines/cancelled-before", test_cancelled_before);
  g_test_add_func ("/tool-lines/cancelled-while-waiting", test_cancelled_while_waiting);
  return g_test_run ();
}
