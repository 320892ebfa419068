/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the server asks of the client: its questions, by number, until they are answered,
 * cancelled or dropped. */
#include "prism-cancel-source.h"
#include "prism-mcp-session-private.h"

#include "prism-mcp-scan.h"

#include <string.h>

typedef struct
{
  PrismMcpSession *session;
  gint64 id;
  GCancellable *cancellable;
  GSource *cancelled; /* in the context that asked */
  PrismMcpAnswerFunc answered;
  gpointer data;
  GDestroyNotify destroy;
} Asked;

void
prism_mcp_asked_free (gpointer data)
{
  Asked *asked = data;

  if (asked->cancelled != NULL)
    {
      g_source_destroy (asked->cancelled);
      g_source_unref (asked->cancelled);
    }
  g_clear_object (&asked->cancellable);
  if (asked->destroy != NULL)
    asked->destroy (asked->data);
  g_free (asked);
}

static void
settle (Asked *asked, PrismMcpSlice result, const GError *error)
{
  PrismMcpSession *self = asked->session;

  g_hash_table_steal (self->asked, &asked->id);
  asked->answered (self, result, error, asked->data);
  prism_mcp_asked_free (asked);
}

static void
settle_with (Asked *asked, int code, const char *message)
{
  g_autoptr (GError) error = g_error_new_literal (G_IO_ERROR, code, message);

  settle (asked, (PrismMcpSlice){ NULL, 0 }, error);
}

static gboolean
on_cancelled (gpointer data)
{
  Asked *asked = data;
  g_autofree char *params = g_strdup_printf (
      "{\"requestId\":%" G_GINT64_FORMAT ",\"reason\":\"the answer is not waited for any more\"}", asked->id);

  prism_mcp_session_notify (asked->session, "notifications/cancelled", params);
  settle_with (asked, G_IO_ERROR_CANCELLED, "the question was withdrawn");
  return G_SOURCE_REMOVE;
}

void
prism_mcp_session_ask (PrismMcpSession *self,
                       const char *method,
                       const char *params,
                       GCancellable *cancellable,
                       PrismMcpAnswerFunc answered,
                       gpointer data,
                       GDestroyNotify destroy)
{
  Asked *asked = g_new0 (Asked, 1);
  PrismJson *json;

  asked->session = self;
  asked->id = ++self->last_asked;
  asked->answered = answered;
  asked->data = data;
  asked->destroy = destroy;
  g_hash_table_insert (self->asked, &asked->id, asked);
  if (cancellable != NULL)
    {
      asked->cancellable = g_object_ref (cancellable);
      asked->cancelled =
          prism_cancel_source_attach (cancellable, g_main_context_get_thread_default (), on_cancelled, asked, NULL);
    }

  json = prism_json_new_compact ();
  prism_json_begin_object (json, NULL);
  prism_json_string (json, "jsonrpc", "2.0");
  prism_json_integer (json, "id", asked->id);
  prism_json_string (json, "method", method);
  prism_json_raw (json, "params", params);
  prism_json_end_object (json);
  prism_mcp_session_send (self, NULL, json);
}

/* An answer to what was not asked, or not any more, is passed over. */
void
prism_mcp_session_answered (PrismMcpSession *self, const PrismMcpMessage *message, PrismMcpOddity oddity)
{
  gint64 id;
  Asked *asked = NULL;

  if (message->id != NULL && prism_mcp_slice_integer ((PrismMcpSlice){ message->id, strlen (message->id) }, &id))
    asked = g_hash_table_lookup (self->asked, &id);
  if (asked == NULL)
    return;
  if (message->error.text != NULL)
    {
      g_autofree char *text = prism_mcp_slice_dup_string (prism_mcp_slice_member (message->error, "message"));

      settle_with (asked, G_IO_ERROR_FAILED, text != NULL ? text : "the client answered with an error");
    }
  else if (oddity != PRISM_MCP_ODD_NOTHING)
    settle_with (asked, G_IO_ERROR_INVALID_DATA, prism_mcp_oddity_text (oddity));
  else
    settle (asked, message->result, NULL);
}

void
prism_mcp_session_drop_asked (PrismMcpSession *self, const char *reason)
{
  g_autoptr (GList) all = g_hash_table_get_values (self->asked);

  self->can_elicit = FALSE;
  for (GList *link = all; link != NULL; link = link->next)
    settle_with (link->data, G_IO_ERROR_CLOSED, reason);
}
