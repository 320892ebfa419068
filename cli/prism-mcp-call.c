/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The requests that a session leaves to others: those that run, those that wait, and
 * their answers. One that was cancelled is not answered; its id stays taken until
 * whoever ran it has let go, so that nothing is told to be over that is not. */
#include "prism-mcp-session-private.h"

#include <string.h>

/* So that a chatty command does not fill the pipe with its progress. */
#define PROGRESS_INTERVAL_US (100 * 1000)

PrismMcpBatch *
prism_mcp_batch_new (PrismMcpSession *session)
{
  PrismMcpBatch *self = g_new0 (PrismMcpBatch, 1);

  self->refs = 1;
  self->session = session;
  self->text = g_string_new (NULL);
  return self;
}

PrismMcpBatch *
prism_mcp_batch_ref (PrismMcpBatch *self)
{
  self->refs++;
  return self;
}

void
prism_mcp_batch_unref (PrismMcpBatch *self)
{
  if (--self->refs > 0)
    return;
  if (self->text->len > 0 && !self->session->closing)
    {
      g_string_append (self->text, "]\n");
      self->session->funcs->send (self->session->data, g_steal_pointer (&self->text));
    }
  if (self->text != NULL)
    g_string_free (self->text, TRUE);
  g_free (self);
}

void
prism_mcp_session_send (PrismMcpSession *self, PrismMcpBatch *batch, PrismJson *json)
{
  if (batch != NULL)
    {
      g_string_append_c (batch->text, batch->text->len == 0 ? '[' : ',');
      g_string_append_len (batch->text, json->text->str, json->text->len);
    }
  else if (!self->closing)
    {
      GString *line = g_steal_pointer (&json->text);

      json->text = g_string_new (NULL);
      g_string_append_c (line, '\n');
      self->funcs->send (self->data, line);
    }
  prism_json_free (json);
}

PrismJson *
prism_mcp_begin_answer (const char *id)
{
  PrismJson *json = prism_json_new_compact ();

  prism_json_begin_object (json, NULL);
  prism_json_string (json, "jsonrpc", "2.0");
  prism_json_raw (json, "id", id != NULL ? id : "null");
  return json;
}

void
prism_mcp_session_fail (
    PrismMcpSession *self, PrismMcpBatch *batch, const char *id, int code, const char *message, const char *data)
{
  PrismJson *json = prism_mcp_begin_answer (id);

  prism_json_begin_object (json, "error");
  prism_json_integer (json, "code", code);
  prism_json_string (json, "message", message);
  if (data != NULL)
    prism_json_raw (json, "data", data);
  prism_json_end_object (json);
  prism_json_end_object (json);
  prism_mcp_session_send (self, batch, json);
}

/* Its text is copied: the line it came in goes. */
PrismMcpCall *
prism_mcp_call_new (PrismMcpSession *session,
                    PrismMcpBatch *batch,
                    const PrismMcpMessage *message,
                    PrismMcpOddity oddity)
{
  PrismMcpCall *self = g_new0 (PrismMcpCall, 1);
  PrismMcpSlice meta, token;

  self->session = session;
  self->batch = batch != NULL ? prism_mcp_batch_ref (batch) : NULL;
  self->id = g_strdup (message->id);
  self->method = g_strdup (message->method);
  self->is_tool = g_str_equal (self->method, "tools/call");
  self->oddity = oddity;
  self->cancellable = g_cancellable_new ();
  if (message->params.text != NULL)
    {
      self->text = g_strndup (message->params.text, message->params.length);
      self->params = (PrismMcpSlice){ self->text, message->params.length };
    }
  meta = prism_mcp_slice_member (self->params, "_meta");
  token = prism_mcp_slice_member (meta, "progressToken");
  self->progress_token = prism_mcp_read_id (token);
  return self;
}

void
prism_mcp_call_free (PrismMcpCall *self)
{
  g_clear_pointer (&self->batch, prism_mcp_batch_unref);
  g_object_unref (self->cancellable);
  g_free (self->progress_token);
  g_free (self->id);
  g_free (self->method);
  g_free (self->text);
  g_free (self);
}

const char *
prism_mcp_call_get_method (PrismMcpCall *self)
{
  return self->method;
}

const char *
prism_mcp_call_get_id (PrismMcpCall *self)
{
  return self->id;
}

PrismMcpSlice
prism_mcp_call_get_params (PrismMcpCall *self)
{
  return self->params;
}

PrismMcpOddity
prism_mcp_call_get_oddity (PrismMcpCall *self)
{
  return self->oddity;
}

GCancellable *
prism_mcp_call_get_cancellable (PrismMcpCall *self)
{
  return self->cancellable;
}

static void
leave_queue (PrismMcpCall *self)
{
  if (self->link == NULL)
    return;
  g_queue_delete_link (&self->session->waiting, g_steal_pointer (&self->link));
  self->session->waiting_bytes -= self->params.length;
}

static void
end (PrismMcpCall *self)
{
  PrismMcpSession *session = self->session;

  leave_queue (self);
  if (self->running && self->is_tool)
    session->n_running--;
  g_hash_table_remove (session->calls, self->id); /* and frees it */
  prism_mcp_session_start_calls (session);
  session->funcs->ended (session->data);
}

/* One that nobody runs yet is over with that. */
void
prism_mcp_call_cancel (PrismMcpCall *self)
{
  self->cancelled = TRUE;
  if (self->running)
    g_cancellable_cancel (self->cancellable);
  else
    end (self);
}

gboolean
prism_mcp_call_wants_progress (PrismMcpCall *self)
{
  return self->progress_token != NULL && !self->cancelled && !self->session->closing;
}

/* What grows, as the protocol wants it, is the time. */
void
prism_mcp_call_progress (PrismMcpCall *self, const char *message)
{
  gint64 now = g_get_monotonic_time ();
  PrismJson *json;

  if (!prism_mcp_call_wants_progress (self) || now - self->last_progress < PROGRESS_INTERVAL_US)
    return;
  self->last_progress = now;
  json = prism_json_new_compact ();
  prism_json_begin_object (json, NULL);
  prism_json_string (json, "jsonrpc", "2.0");
  prism_json_string (json, "method", "notifications/progress");
  prism_json_begin_object (json, "params");
  prism_json_raw (json, "progressToken", self->progress_token);
  prism_json_integer (json, "progress", now / 1000);
  if (message != NULL)
    prism_json_string (json, "message", message);
  prism_json_end_object (json);
  prism_json_end_object (json);
  prism_mcp_session_send (self->session, NULL, json);
}

PrismJson *
prism_mcp_call_begin (PrismMcpCall *self)
{
  return prism_mcp_begin_answer (self->id);
}

void
prism_mcp_call_end (PrismMcpCall *self, PrismJson *json)
{
  prism_json_end_object (json);
  if (self->cancelled)
    prism_json_free (json);
  else
    prism_mcp_session_send (self->session, self->batch, json);
  end (self);
}

void
prism_mcp_call_fail (PrismMcpCall *self, int code, const char *message, const char *data)
{
  if (!self->cancelled)
    prism_mcp_session_fail (self->session, self->batch, self->id, code, message, data);
  end (self);
}

/* The first that may run: what is no tool's call waits for none. */
static PrismMcpCall *
next_call (PrismMcpSession *self)
{
  for (GList *link = self->waiting.head; link != NULL; link = link->next)
    {
      PrismMcpCall *call = link->data;

      if (!call->is_tool || self->n_running < PRISM_MCP_MAX_RUNNING)
        return call;
    }
  return NULL;
}

void
prism_mcp_session_start_calls (PrismMcpSession *self)
{
  PrismMcpCall *call;

  if (self->starting)
    return;
  self->starting = TRUE;
  while (!self->holds_calls && !self->closing && (call = next_call (self)) != NULL)
    {
      leave_queue (call);
      call->running = TRUE;
      if (call->is_tool)
        self->n_running++;
      if (self->failure != NULL)
        prism_mcp_call_fail (call, PRISM_MCP_INTERNAL_ERROR, self->failure->message, NULL);
      else
        self->funcs->call (self->data, call);
    }
  self->starting = FALSE;
}
