/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

/* Where an object that is written in a scripting language was made. */
typedef struct
{
  GMainContext *context;
  GThread *thread;
} PrismHome;

/* Call in the default_init of an interface that scripts may implement; @size is that
 * of its vtable. */
void prism_home_watch_interface (GType iface, gsize size);

/* NULL for what is written in a compiled language and may be called in any thread. */
const PrismHome *prism_home_of (gpointer instance);

/* One of @instance's properties, or what @ask says of it otherwise, in the thread where it
 * lives: that one's context has to be iterated if it is another. @value is initialised; it
 * stays as it is where there is no answer within half a minute. */
typedef void (*PrismHomeAsk) (gpointer instance, const char *what, GValue *value);
void prism_home_ask (gpointer instance, PrismHomeAsk ask, const char *what, GValue *value);
void prism_home_get (gpointer instance, const char *property, GValue *value);

/* A private thread-default context for a synchronous call, and away with it. */
/* NULL: no descriptor is left for one, and it is not a must. */
GMainContext *prism_private_context_push (gboolean must);
void prism_private_context_pop (GMainContext *context);

G_END_DECLS
