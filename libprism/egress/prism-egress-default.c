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

/**
 * prism_egress_proxy_dup_default:
 * @error: return location for an error
 *
 * The process's own proxy, which sandboxes use that name no other. It is held
 * weakly: a listener holds it, and so does whoever has it from here. It is made by
 * the default registry from what the plug-ins offer, and started by whoever needs it
 * first: start it before a sandbox does, to hear [signal@EgressProxy::audit] in a
 * context of your choice rather than in the default one.
 *
 * Returns: (transfer full): the one there is, or a new one; %NULL with
 *   %PRISM_EGRESS_ERROR_NOT_SUPPORTED where nothing can make one
 *
 * Since: 1.0
 */
PrismEgressProxy *
prism_egress_proxy_dup_default (GError **error)
{
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new (&lock);
  PrismEgressProxy *proxy;

  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  proxy = g_weak_ref_get (&the_proxy);

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
