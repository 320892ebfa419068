/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gio/gio.h>

#include "prism-cli-json.h"
#include "prism-mcp-message.h"

G_BEGIN_DECLS

/* How many of a client's calls run at once, and how many wait for their turn. */
#define PRISM_MCP_MAX_RUNNING       16
#define PRISM_MCP_MAX_WAITING       1000
#define PRISM_MCP_MAX_WAITING_BYTES (64u * 1024 * 1024)

typedef enum
{
  PRISM_MCP_LOG_DEBUG,
  PRISM_MCP_LOG_INFO,
  PRISM_MCP_LOG_NOTICE,
  PRISM_MCP_LOG_WARNING,
  PRISM_MCP_LOG_ERROR,
  PRISM_MCP_LOG_CRITICAL,
  PRISM_MCP_LOG_ALERT,
  PRISM_MCP_LOG_EMERGENCY,
} PrismMcpLogLevel;

typedef struct _PrismMcpSession PrismMcpSession;
typedef struct _PrismMcpCall PrismMcpCall;

/* What a session asks of whoever has it. */
typedef struct
{
  /* Takes @message, a line with its end. */
  void (*send) (gpointer data, GString *message);
  /* One of the requests that are not the session's own. It is answered once, then or
   * later, by prism_mcp_call_end() or prism_mcp_call_fail(), cancelled or not. */
  void (*call) (gpointer data, PrismMcpCall *call);
  /* A call has ended; perhaps it was the last one. */
  void (*ended) (gpointer data);
} PrismMcpSessionFuncs;

/* @instructions: (nullable): for the model. */
PrismMcpSession *
prism_mcp_session_new (const PrismMcpSessionFuncs *funcs, gpointer data, const char *version, const char *instructions);
void prism_mcp_session_free (PrismMcpSession *self);

/* What a client sent. */
void prism_mcp_session_line (PrismMcpSession *self, const char *text, gsize length);
void prism_mcp_session_overlong (PrismMcpSession *self);

/* A new session holds what it is asked until there is something to work with. The first
 * lets it answer initialize, the second all else; with @failure, by that. */
void prism_mcp_session_release_initialize (PrismMcpSession *self);
void prism_mcp_session_release (PrismMcpSession *self, const GError *failure);
/* The client says nothing more: questions to it will find no answer. */
void prism_mcp_session_drop_asked (PrismMcpSession *self, const char *reason);
/* Nothing is sent any more, all that runs is cancelled. */
void prism_mcp_session_close (PrismMcpSession *self);
guint prism_mcp_session_get_n_calls (PrismMcpSession *self);

gboolean prism_mcp_session_can_elicit (PrismMcpSession *self);
/* From 2025-06-18 on: titles, structured content, elicitation. */
gboolean prism_mcp_session_is_recent (PrismMcpSession *self);
/* Whether a client has said anything that counts. */
gboolean prism_mcp_session_has_begun (PrismMcpSession *self);
gboolean prism_mcp_session_is_ready (PrismMcpSession *self);
void prism_mcp_session_log (PrismMcpSession *self, PrismMcpLogLevel level, const char *logger, const char *text);
/* A notification with @params, JSON. */
void prism_mcp_session_notify (PrismMcpSession *self, const char *method, const char *params);

/* @result: not there if @error is set. */
typedef void (*PrismMcpAnswerFunc) (PrismMcpSession *self, PrismMcpSlice result, const GError *error, gpointer data);
/* A request to the client. @answered is called once, but for a session that is freed. */
void prism_mcp_session_ask (PrismMcpSession *self,
                            const char *method,
                            const char *params,
                            GCancellable *cancellable,
                            PrismMcpAnswerFunc answered,
                            gpointer data,
                            GDestroyNotify destroy);

const char *prism_mcp_call_get_method (PrismMcpCall *self);
const char *prism_mcp_call_get_id (PrismMcpCall *self);
PrismMcpSlice prism_mcp_call_get_params (PrismMcpCall *self);
PrismMcpOddity prism_mcp_call_get_oddity (PrismMcpCall *self);
GCancellable *prism_mcp_call_get_cancellable (PrismMcpCall *self);
gboolean prism_mcp_call_wants_progress (PrismMcpCall *self);
void prism_mcp_call_progress (PrismMcpCall *self, const char *message);
/* The answer: between the two its `result` is written. */
PrismJson *prism_mcp_call_begin (PrismMcpCall *self);
void prism_mcp_call_end (PrismMcpCall *self, PrismJson *json);
/* @data: (nullable): JSON. */
void prism_mcp_call_fail (PrismMcpCall *self, int code, const char *message, const char *data);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (PrismMcpSession, prism_mcp_session_free)

G_END_DECLS
