/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Records are made in a proxy's threads and read in the context that started it.
 * Between lies a queue with a bound: a reader that does not come round must not
 * eat the memory, and must not lose records unseen. So the proxy is told when
 * there is no room, and lets nothing more through until there is. */
#include "prism-egress-audit-private.h"

#define MAX_WAITING 4096

typedef struct
{
  GMutex lock;
  GMainContext *context;
  GQueue records; /* PrismAuditRecord */
  gboolean scheduled;
} Mailbox;

static guint audit_signal;

static G_DEFINE_QUARK (prism-egress-mailbox, mailbox);

static void
mailbox_free (gpointer data)
{
  Mailbox *mailbox = data;

  g_queue_clear_full (&mailbox->records, (GDestroyNotify)prism_audit_record_free);
  g_main_context_unref (mailbox->context);
  g_mutex_clear (&mailbox->lock);
  g_free (mailbox);
}

void
prism_egress_audit_install (GType iface)
{
  /**
   * PrismEgressProxy::audit:
   * @self: a proxy
   * @record: what was decided
   *
   * One decision of the proxy, when it is over. It arrives in the context that
   * was current when the proxy was started first.
   *
   * Since: 1.0
   */
  audit_signal = g_signal_new ("audit", iface, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 1,
                               PRISM_TYPE_AUDIT_RECORD | G_SIGNAL_TYPE_STATIC_SCOPE);
}

static void
begin_in (PrismEgressProxy *proxy, GMainContext *context)
{
  Mailbox *mailbox = g_new0 (Mailbox, 1);

  mailbox->context = g_main_context_ref (context);
  g_queue_init (&mailbox->records);
  if (!g_object_replace_qdata (G_OBJECT (proxy), mailbox_quark (), NULL, mailbox, mailbox_free, NULL))
    mailbox_free (mailbox);
}

void
prism_egress_audit_begin (PrismEgressProxy *proxy)
{
  g_autoptr (GMainContext) context = g_main_context_ref_thread_default ();

  begin_in (proxy, context);
}

void
prism_egress_audit_begin_default (PrismEgressProxy *proxy)
{
  begin_in (proxy, g_main_context_default ());
}

static gboolean
deliver (gpointer data)
{
  PrismEgressProxy *proxy = data;
  Mailbox *mailbox = g_object_get_qdata (G_OBJECT (proxy), mailbox_quark ());
  GQueue records;

  g_mutex_lock (&mailbox->lock);
  records = mailbox->records;
  g_queue_init (&mailbox->records);
  mailbox->scheduled = FALSE;
  g_mutex_unlock (&mailbox->lock);
  for (PrismAuditRecord *record = g_queue_pop_head (&records); record != NULL; record = g_queue_pop_head (&records))
    {
      g_signal_emit (proxy, audit_signal, 0, record);
      prism_audit_record_free (record);
    }
  return G_SOURCE_REMOVE;
}

static void
schedule (PrismEgressProxy *proxy, GMainContext *context)
{
  g_autoptr (GSource) source = g_idle_source_new ();

  g_source_set_priority (source, G_PRIORITY_DEFAULT);
  g_source_set_static_name (source, "[prism] egress audit");
  g_source_set_callback (source, deliver, g_object_ref (proxy), g_object_unref);
  g_source_attach (source, context);
}

/**
 * prism_egress_proxy_audit:
 * @self: a proxy that was started
 * @record: what was decided; it is copied
 *
 * For the implementation, from any of its threads: hands a record to whoever
 * listens to [signal@EgressProxy::audit].
 *
 * Returns: %FALSE if so many wait that there is no room; then the proxy lets
 *   nothing more through until there is
 *
 * Since: 1.0
 */
gboolean
prism_egress_proxy_audit (PrismEgressProxy *self, const PrismAuditRecord *record)
{
  Mailbox *mailbox;
  gboolean room, wake = FALSE;

  g_return_val_if_fail (PRISM_IS_EGRESS_PROXY (self) && record != NULL, FALSE);

  mailbox = g_object_get_qdata (G_OBJECT (self), mailbox_quark ());
  g_return_val_if_fail (mailbox != NULL, FALSE);

  if (!g_signal_has_handler_pending (self, audit_signal, 0, TRUE))
    return TRUE;
  g_mutex_lock (&mailbox->lock);
  room = g_queue_get_length (&mailbox->records) < MAX_WAITING;
  if (room)
    {
      g_queue_push_tail (&mailbox->records, prism_audit_record_copy (record));
      wake = !mailbox->scheduled;
      mailbox->scheduled = TRUE;
    }
  g_mutex_unlock (&mailbox->lock);
  if (wake)
    schedule (self, mailbox->context);
  return room;
}
