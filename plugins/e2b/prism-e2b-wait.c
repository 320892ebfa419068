/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A call for who waits in a thread of its own. */
#include "prism-e2b-client.h"
#include "prism-e2b-error.h"

typedef struct
{
  gatomicrefcount refs;
  PrismE2bClient *client;
  const PrismE2bRequest *request; /* of who waits; not looked at once it is sent */
  PrismE2bCall *call;             /* the thread's */
  GMutex lock;
  GCond cond;
  gboolean done;
  PrismE2bReply reply;
  GError *error;
} Wait;

static void
wait_unref (gpointer data)
{
  Wait *wait = data;

  if (!g_atomic_ref_count_dec (&wait->refs))
    return;
  prism_e2b_reply_clear (&wait->reply);
  g_clear_error (&wait->error);
  g_mutex_clear (&wait->lock);
  g_cond_clear (&wait->cond);
  prism_e2b_client_unref (wait->client);
  g_free (wait);
}

static Wait *
wait_ref (Wait *wait)
{
  g_atomic_ref_count_inc (&wait->refs);
  return wait;
}

static void
wait_done (Wait *wait, PrismE2bReply *reply, const GError *error)
{
  wait->call = NULL;
  g_mutex_lock (&wait->lock);
  if (reply != NULL)
    {
      wait->reply = *reply;
      *reply = (PrismE2bReply){ 0 };
    }
  wait->error = error != NULL ? g_error_copy (error) : NULL;
  wait->done = TRUE;
  g_cond_signal (&wait->cond);
  g_mutex_unlock (&wait->lock);
}

static void
wait_answered (PrismE2bReply *reply, const GError *error, gpointer data)
{
  wait_done (data, reply, error);
  wait_unref (data);
}

static gboolean
wait_send (gpointer data)
{
  Wait *wait = data;

  wait->call = prism_e2b_client_send (wait->client, wait->request, wait_answered, wait_ref (wait));
  return G_SOURCE_REMOVE;
}

static gboolean
wait_stop (gpointer data)
{
  Wait *wait = data;
  g_autoptr (GError) stopped = g_error_new_literal (G_IO_ERROR, G_IO_ERROR_CANCELLED, "cancelled");
  g_autoptr (GError) error = NULL;

  if (wait->call == NULL)
    return G_SOURCE_REMOVE;
  error = prism_e2b_transport_to_error (stopped, wait->request->what, wait->request->idempotent);
  prism_e2b_call_cancel (wait->call);
  wait_done (wait, NULL, error);
  wait_unref (wait);
  return G_SOURCE_REMOVE;
}

static void
wait_cancelled (GCancellable *cancellable, gpointer data)
{
  prism_e2b_client_invoke (((Wait *)data)->client, wait_stop, wait_ref (data), wait_unref);
}

gboolean
prism_e2b_client_call (PrismE2bClient *self,
                       const PrismE2bRequest *request,
                       PrismE2bReply *reply,
                       GCancellable *cancellable,
                       GError **error)
{
  Wait *wait = g_new0 (Wait, 1);
  gulong id = 0;
  gboolean fine;

  g_atomic_ref_count_init (&wait->refs);
  wait->client = prism_e2b_client_ref (self);
  wait->request = request;
  g_mutex_init (&wait->lock);
  g_cond_init (&wait->cond);
  prism_e2b_client_invoke (self, wait_send, wait_ref (wait), wait_unref);
  if (cancellable != NULL)
    id = g_cancellable_connect (cancellable, G_CALLBACK (wait_cancelled), wait_ref (wait), wait_unref);
  g_mutex_lock (&wait->lock);
  while (!wait->done) /* the call has a deadline of its own */
    g_cond_wait (&wait->cond, &wait->lock);
  g_mutex_unlock (&wait->lock);
  g_cancellable_disconnect (cancellable, id);
  fine = wait->error == NULL;
  if (fine)
    {
      *reply = wait->reply;
      wait->reply = (PrismE2bReply){ 0 };
    }
  else
    g_propagate_error (error, g_steal_pointer (&wait->error));
  wait_unref (wait);
  return fine;
}
