/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

/* A source in @context (NULL: the default one) that calls @func once @cancellable is
 * cancelled; where that is NULL, never. Instead of g_cancellable_source_new(): before GLib
 * 2.80 that source, when it ends while another thread cancels, may take the lock of a
 * context that is gone, and then who closes waits for ever. This one may end at any time,
 * in any thread, together with its context; ending it waits for nobody. The caller owns
 * what it gets. */
GSource *prism_cancel_source_attach (
    GCancellable *cancellable, GMainContext *context, GSourceFunc func, gpointer data, GDestroyNotify destroy);

G_END_DECLS
