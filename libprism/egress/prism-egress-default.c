/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-egress-default-private.h"

static GMutex lock;
static PrismEgressFactory make_proxy;
static GWeakRef the_proxy;

void
prism_egress_default_set_factory (PrismEgressFactory factory)
{
  g_mutex_lock (&lock);
  make_proxy = factory;
  g_mutex_unlock (&lock);
}

PrismEgressProxy *
prism_egress_default_dup_proxy (GError **error)
{
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new (&lock);
  PrismEgressProxy *proxy = g_weak_ref_get (&the_proxy);

  if (proxy != NULL)
    return proxy;
  if (make_proxy == NULL)
    {
      g_set_error (error, PRISM_EGRESS_ERROR, PRISM_EGRESS_ERROR_NOT_SUPPORTED,
                   "there is no egress proxy: no plug-in that gives one is installed");
      return NULL;
    }
  proxy = make_proxy (error);
  if (proxy != NULL)
    g_weak_ref_set (&the_proxy, proxy);
  return proxy;
}
