/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A proxy that lets nothing out: it answers each request with what the policy in
 * force says of it. For tests of what is around a proxy. */
#pragma once

#include <libprism/prism.h>

G_BEGIN_DECLS

#define SMALL_TYPE_PROXY (small_proxy_get_type ())
G_DECLARE_FINAL_TYPE (SmallProxy, small_proxy, SMALL, PROXY, GObject)

SmallProxy *small_proxy_new (void);
/* Listeners that are open. */
guint small_proxy_count_listeners (SmallProxy *self);
/* With a deadline: until there are so many listeners, or connections that a request for
 * …/hold keeps open. */
void small_proxy_wait_listeners (SmallProxy *self, guint n);
void small_proxy_wait_held (SmallProxy *self, guint n);
/* The latest listener that was added, unless it is gone. */
PrismEgressListener *small_proxy_dup_latest (SmallProxy *self);
/* The next add_listener fails. */
void small_proxy_refuse_next (SmallProxy *self);

G_END_DECLS
