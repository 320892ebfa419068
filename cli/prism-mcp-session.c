/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The server's side of MCP, without any I/O: lines in, lines out. It knows the
 * protocol's life cycle, revisions, ids, cancellation and logging; what a tool or a
 * resource is it leaves to whoever made it.
 *
 * Trusted: nothing that a client sends. A line is bounded and scanned before anything
 * looks at it; what is wrong with it is answered as JSON-RPC says, and the session goes
 * on. What is held for a client (calls that wait, questions that are open) has a bound. */
#include "prism-mcp-session-private.h"

#include <string.h>

#define MAX_BATCH 100

/* The newest first. */
static const char *const revisions[] = { "2025-11-25", "2025-06-18", "2025-03-26" };
#define OLDEST        (G_N_ELEMENTS (revisions) - 1)
#define FIRST_BATCHES revisions[OLDEST] /* the only one with arrays of messages */

static const char *const levels[] = { "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency" };

static const char *const others[] = { "tools/list",
                                      "tools/call",
                                      "resources/list",
                                      "resources/read",
                                      "resources/subscribe",
                                      "resources/unsubscribe",
                                      "resources/templates/list" };

PrismMcpSession *
prism_mcp_session_new (const PrismMcpSessionFuncs *funcs, gpointer data, const char *version, const char *instructions)
{
  PrismMcpSession *self = g_new0 (PrismMcpSession, 1);

  self->funcs = funcs;
  self->data = data;
  self->server_version = g_strdup (version);
  self->instructions = g_strdup (instructions);
  self->log_level = PRISM_MCP_LOG_WARNING;
  self->holds_initialize = self->holds_calls = TRUE;
  self->calls = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, (GDestroyNotify)prism_mcp_call_free);
  self->asked = g_hash_table_new_full (g_int64_hash, g_int64_equal, NULL, prism_mcp_asked_free);
  g_queue_init (&self->waiting);
  return self;
}

void
prism_mcp_session_free (PrismMcpSession *self)
{
  self->closing = TRUE;
  g_hash_table_unref (self->asked);
  g_queue_clear (&self->waiting);
  g_hash_table_unref (self->calls);
  g_clear_error (&self->failure);
  g_free (self->initialize_id);
  g_free (self->server_version);
  g_free (self->instructions);
  g_free (self);
}

static void
answer_initialize (PrismMcpSession *self)
{
  g_autofree char *id = g_steal_pointer (&self->initialize_id);
  PrismJson *json;

  self->state = self->initialized ? PRISM_MCP_READY : PRISM_MCP_ANSWERED;
  if (self->failure != NULL)
    {
      prism_mcp_session_fail (self, NULL, id, PRISM_MCP_INTERNAL_ERROR, self->failure->message, NULL);
      return;
    }
  json = prism_mcp_begin_answer (id);
  prism_json_begin_object (json, "result");
  prism_json_string (json, "protocolVersion", self->protocol);
  prism_json_begin_object (json, "capabilities");
  prism_json_begin_object (json, "tools");
  prism_json_end_object (json);
  prism_json_begin_object (json, "resources");
  prism_json_boolean (json, "subscribe", TRUE);
  prism_json_end_object (json);
  prism_json_begin_object (json, "logging");
  prism_json_end_object (json);
  prism_json_end_object (json);
  prism_json_begin_object (json, "serverInfo");
  prism_json_string (json, "name", "prism");
  if (prism_mcp_session_is_recent (self))
    prism_json_string (json, "title", "Prism sandbox");
  prism_json_string (json, "version", self->server_version);
  prism_json_end_object (json);
  if (self->instructions != NULL)
    prism_json_string (json, "instructions", self->instructions);
  prism_json_end_object (json);
  prism_json_end_object (json);
  prism_mcp_session_send (self, NULL, json);
}

/* What is not known is answered by what is newest here; the client decides then. */
static const char *
choose_revision (const char *wanted)
{
  for (guint i = 0; i < G_N_ELEMENTS (revisions); i++)
    if (g_str_equal (revisions[i], wanted))
      return revisions[i];
  return revisions[0];
}

/* {} is forms only, as is {"form": {}}; {"url": {}} alone is none. */
static gboolean
has_forms (PrismMcpSlice params)
{
  PrismMcpSlice capabilities = prism_mcp_slice_member (params, "capabilities");
  PrismMcpSlice elicitation = prism_mcp_slice_member (capabilities, "elicitation");

  if (prism_mcp_slice_kind (elicitation) != '{')
    return FALSE;
  return prism_mcp_slice_kind (prism_mcp_slice_member (elicitation, "form")) == '{'
         || prism_mcp_slice_member (elicitation, "url").text == NULL;
}

static void
initialize (PrismMcpSession *self, PrismMcpBatch *batch, const PrismMcpMessage *message)
{
  g_autofree char *wanted = prism_mcp_slice_dup_string (prism_mcp_slice_member (message->params, "protocolVersion"));

  if (self->state != PRISM_MCP_NEW || batch != NULL)
    {
      prism_mcp_session_fail (self, batch, message->id, PRISM_MCP_INVALID_REQUEST,
                              "initialize is the first request, and there is one of it", NULL);
      return;
    }
  if (wanted == NULL)
    {
      prism_mcp_session_fail (self, batch, message->id, PRISM_MCP_INVALID_PARAMS,
                              "initialize: “protocolVersion” is a string, such as \"2025-11-25\"", NULL);
      return;
    }
  self->protocol = choose_revision (wanted);
  self->can_elicit = prism_mcp_session_is_recent (self) && has_forms (message->params);
  self->initialize_id = g_strdup (message->id);
  self->state = PRISM_MCP_ASKED;
  if (!self->holds_initialize)
    answer_initialize (self);
}

static void
empty_result (PrismMcpSession *self, PrismMcpBatch *batch, const char *id)
{
  PrismJson *json = prism_mcp_begin_answer (id);

  prism_json_begin_object (json, "result");
  prism_json_end_object (json);
  prism_json_end_object (json);
  prism_mcp_session_send (self, batch, json);
}

static void
set_level (PrismMcpSession *self, PrismMcpBatch *batch, const PrismMcpMessage *message)
{
  g_autofree char *name = prism_mcp_slice_dup_string (prism_mcp_slice_member (message->params, "level"));

  for (guint i = 0; name != NULL && i < G_N_ELEMENTS (levels); i++)
    if (g_str_equal (levels[i], name))
      {
        self->log_level = i;
        empty_result (self, batch, message->id);
        return;
      }
  prism_mcp_session_fail (self, batch, message->id, PRISM_MCP_INVALID_PARAMS,
                          "logging/setLevel: “level” is one of debug, info, notice, warning, error, critical, "
                          "alert, emergency",
                          NULL);
}

/* An id that is in use cannot be answered to: the answer would be taken for the other's. */
static void
call (PrismMcpSession *self, PrismMcpBatch *batch, const PrismMcpMessage *message, PrismMcpOddity oddity)
{
  PrismMcpCall *call;

  if (g_hash_table_contains (self->calls, message->id))
    {
      g_autofree char *problem = g_strdup_printf ("the id %s belongs to a request that is still running", message->id);

      prism_mcp_session_fail (self, batch, NULL, PRISM_MCP_INVALID_REQUEST, problem, NULL);
      return;
    }
  if (self->waiting.length >= PRISM_MCP_MAX_WAITING
      || self->waiting_bytes + message->params.length > PRISM_MCP_MAX_WAITING_BYTES)
    {
      prism_mcp_session_fail (self, batch, message->id, PRISM_MCP_BUSY,
                              "too many requests wait already; wait for some of their answers", NULL);
      return;
    }
  call = prism_mcp_call_new (self, batch, message, oddity);
  g_hash_table_insert (self->calls, call->id, call);
  g_queue_push_tail (&self->waiting, call);
  call->link = self->waiting.tail;
  self->waiting_bytes += call->params.length;
  prism_mcp_session_start_calls (self);
}

static gboolean
is_other (const char *method)
{
  for (guint i = 0; i < G_N_ELEMENTS (others); i++)
    if (g_str_equal (others[i], method))
      return TRUE;
  return FALSE;
}

static void
request (PrismMcpSession *self, PrismMcpBatch *batch, const PrismMcpMessage *message, PrismMcpOddity oddity)
{
  gboolean is_tool = g_str_equal (message->method, "tools/call");
  const char *problem = NULL;
  int code = PRISM_MCP_INVALID_PARAMS;

  if (self->state == PRISM_MCP_NEW && !g_str_equal (message->method, "initialize")
      && !g_str_equal (message->method, "ping"))
    {
      code = PRISM_MCP_INVALID_REQUEST;
      problem = "the session has to begin with initialize";
    }
  else if (prism_mcp_slice_kind (message->params) == '[')
    problem = "“params” is an object here, not an array";
  else if (oddity != PRISM_MCP_ODD_NOTHING && !is_tool)
    problem = prism_mcp_oddity_text (oddity);
  if (problem != NULL)
    prism_mcp_session_fail (self, batch, message->id, code, problem, NULL);
  else if (g_str_equal (message->method, "initialize"))
    initialize (self, batch, message);
  else if (g_str_equal (message->method, "ping"))
    empty_result (self, batch, message->id);
  else if (g_str_equal (message->method, "logging/setLevel"))
    set_level (self, batch, message);
  else if (is_other (message->method))
    call (self, batch, message, oddity);
  else
    {
      g_autofree char *unknown = g_strdup_printf ("there is no method “%s” here", message->method);

      prism_mcp_session_fail (self, batch, message->id, PRISM_MCP_METHOD_NOT_FOUND, unknown, NULL);
    }
}

/* What is not understood is passed over: a notification has no answer. */
static void
notification (PrismMcpSession *self, const PrismMcpMessage *message)
{
  if (g_str_equal (message->method, "notifications/initialized"))
    {
      self->initialized = self->state != PRISM_MCP_NEW;
      if (self->state == PRISM_MCP_ANSWERED)
        self->state = PRISM_MCP_READY;
    }
  else if (g_str_equal (message->method, "notifications/cancelled"))
    {
      g_autofree char *id = prism_mcp_read_id (prism_mcp_slice_member (message->params, "requestId"));
      PrismMcpCall *call = id != NULL ? g_hash_table_lookup (self->calls, id) : NULL;

      if (call != NULL && !call->cancelled)
        prism_mcp_call_cancel (call);
    }
}

static void
one_message (PrismMcpSession *self, PrismMcpBatch *batch, PrismMcpSlice text, PrismMcpOddity oddity)
{
  g_auto (PrismMcpMessage) message = { 0 };

  prism_mcp_message_read (&message, text);
  switch (message.kind)
    {
    case PRISM_MCP_REQUEST:
      request (self, batch, &message, oddity);
      break;
    case PRISM_MCP_NOTIFICATION:
      notification (self, &message);
      break;
    case PRISM_MCP_RESPONSE:
      prism_mcp_session_answered (self, &message, oddity);
      break;
    case PRISM_MCP_INVALID:
    default:
      prism_mcp_session_fail (self, batch, message.id, message.code, message.problem, NULL);
    }
}

static void
many_messages (PrismMcpSession *self, PrismMcpSlice text, PrismMcpOddity oddity)
{
  g_autoptr (GArray) elements = prism_mcp_scan_elements (text);
  g_autoptr (PrismMcpBatch) batch = NULL;
  const char *problem = NULL;

  if (self->protocol == NULL || !g_str_equal (self->protocol, FIRST_BATCHES))
    problem = "an array of messages is of revision 2025-03-26 only; send each on a line of its own";
  else if (elements->len == 0)
    problem = "an array of messages holds at least one";
  else if (elements->len > MAX_BATCH)
    problem = "an array of messages holds at most 100";
  if (problem != NULL)
    {
      prism_mcp_session_fail (self, NULL, NULL, PRISM_MCP_INVALID_REQUEST, problem, NULL);
      return;
    }
  batch = prism_mcp_batch_new (self);
  for (guint i = 0; i < elements->len; i++)
    one_message (self, batch, g_array_index (elements, PrismMcpSlice, i), oddity);
}

void
prism_mcp_session_line (PrismMcpSession *self, const char *text, gsize length)
{
  PrismMcpOddity oddity;
  const char *problem;
  gsize offset;
  PrismMcpSlice whole;

  if (self->closing)
    return;
  if (!prism_mcp_scan (text, length, &oddity, &offset, &problem))
    {
      g_autofree char *message = g_strdup_printf ("not JSON at byte %" G_GSIZE_FORMAT ": %s", offset, problem);

      prism_mcp_session_fail (self, NULL, NULL, PRISM_MCP_PARSE_ERROR, message, NULL);
      return;
    }
  while (*text == ' ' || *text == '\t')
    {
      text++;
      length--;
    }
  whole = (PrismMcpSlice){ text, length };
  if (*text == '[')
    many_messages (self, whole, oddity);
  else
    one_message (self, NULL, whole, oddity);
}

void
prism_mcp_session_overlong (PrismMcpSession *self)
{
  g_autofree char *message =
      g_strdup_printf ("a message has at most %u bytes; this one was dropped", PRISM_MCP_MAX_LINE);

  prism_mcp_session_fail (self, NULL, NULL, PRISM_MCP_INVALID_REQUEST, message, NULL);
}

void
prism_mcp_session_release_initialize (PrismMcpSession *self)
{
  self->holds_initialize = FALSE;
  if (self->initialize_id != NULL)
    answer_initialize (self);
}

void
prism_mcp_session_release (PrismMcpSession *self, const GError *failure)
{
  self->failure = failure != NULL ? g_error_copy (failure) : NULL;
  prism_mcp_session_release_initialize (self);
  self->holds_calls = FALSE;
  prism_mcp_session_start_calls (self);
}

void
prism_mcp_session_close (PrismMcpSession *self)
{
  g_autoptr (GPtrArray) ids = g_ptr_array_new_with_free_func (g_free);
  GHashTableIter iter;
  gpointer id;

  self->closing = TRUE;
  prism_mcp_session_drop_asked (self, "the session ends");
  /* One that ends may take others with it. */
  g_hash_table_iter_init (&iter, self->calls);
  while (g_hash_table_iter_next (&iter, &id, NULL))
    g_ptr_array_add (ids, g_strdup (id));
  for (guint i = 0; i < ids->len; i++)
    {
      PrismMcpCall *call = g_hash_table_lookup (self->calls, ids->pdata[i]);

      if (call != NULL && !call->cancelled)
        prism_mcp_call_cancel (call);
    }
}

guint
prism_mcp_session_get_n_calls (PrismMcpSession *self)
{
  return g_hash_table_size (self->calls);
}

gboolean
prism_mcp_session_can_elicit (PrismMcpSession *self)
{
  return self->can_elicit && self->state == PRISM_MCP_READY && !self->closing;
}

gboolean
prism_mcp_session_is_recent (PrismMcpSession *self)
{
  return self->protocol == NULL || !g_str_equal (self->protocol, revisions[OLDEST]);
}

gboolean
prism_mcp_session_has_begun (PrismMcpSession *self)
{
  return self->state != PRISM_MCP_NEW;
}

gboolean
prism_mcp_session_is_ready (PrismMcpSession *self)
{
  return self->state == PRISM_MCP_READY && !self->closing;
}

void
prism_mcp_session_notify (PrismMcpSession *self, const char *method, const char *params)
{
  PrismJson *json = prism_json_new_compact ();

  prism_json_begin_object (json, NULL);
  prism_json_string (json, "jsonrpc", "2.0");
  prism_json_string (json, "method", method);
  prism_json_raw (json, "params", params);
  prism_json_end_object (json);
  prism_mcp_session_send (self, NULL, json);
}

void
prism_mcp_session_log (PrismMcpSession *self, PrismMcpLogLevel level, const char *logger, const char *text)
{
  g_autoptr (PrismJson) params = NULL;

  if (level < self->log_level || self->state < PRISM_MCP_ANSWERED || self->closing)
    return;
  params = prism_json_new_compact ();
  prism_json_begin_object (params, NULL);
  prism_json_string (params, "level", levels[level]);
  prism_json_string (params, "logger", logger);
  prism_json_string (params, "data", text);
  prism_json_end_object (params);
  prism_mcp_session_notify (self, "notifications/message", params->text->str);
}
