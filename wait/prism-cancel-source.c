/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Who cancels knows only the context, which the connection keeps: not the source. What is
 * to be seen is the cancellable's own flag, so the context has but to be woken. */
#include "prism-cancel-source.h"

typedef struct
{
  GSource source;
  GCancellable *cancellable;
  gulong handler;
} CancelSource;

/* In the thread that cancels. */
static void
wake (GCancellable *cancellable, gpointer context)
{
  g_main_context_wakeup (context);
}

static gboolean
prepare (GSource *source, int *timeout)
{
  *timeout = -1;
  return g_cancellable_is_cancelled (((CancelSource *)source)->cancellable);
}

static gboolean
check (GSource *source)
{
  return g_cancellable_is_cancelled (((CancelSource *)source)->cancellable);
}

static gboolean
dispatch (GSource *source, GSourceFunc func, gpointer data)
{
  return func (data);
}

/* Not g_cancellable_disconnect(): that waits for whatever others do when they are told. */
static void
finalize (GSource *source)
{
  CancelSource *self = (CancelSource *)source;

  if (self->handler != 0)
    g_signal_handler_disconnect (self->cancellable, self->handler);
  g_clear_object (&self->cancellable);
}

static GSourceFuncs funcs = { prepare, check, dispatch, finalize, NULL, NULL };

GSource *
prism_cancel_source_attach (
    GCancellable *cancellable, GMainContext *context, GSourceFunc func, gpointer data, GDestroyNotify destroy)
{
  GSource *source = g_source_new (&funcs, sizeof (CancelSource));
  CancelSource *self = (CancelSource *)source;

  if (context == NULL)
    context = g_main_context_default ();
  g_set_object (&self->cancellable, cancellable);
  if (cancellable != NULL)
    self->handler = g_cancellable_connect (cancellable, G_CALLBACK (wake), g_main_context_ref (context),
                                           (GDestroyNotify)g_main_context_unref);
  g_source_set_static_name (source, "[prism] cancelled");
  g_source_set_callback (source, func, data, destroy);
  g_source_attach (source, context);
  return source;
}
