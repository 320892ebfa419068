/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the session and its calls share. */
#pragma once

#include "prism-mcp-session.h"

G_BEGIN_DECLS

/* The answers to one array of messages; it is sent when nobody holds it any more. */
typedef struct
{
  guint refs;
  PrismMcpSession *session;
  GString *text;
} PrismMcpBatch;

typedef enum
{
  PRISM_MCP_NEW,
  PRISM_MCP_ASKED, /* to initialize, and it has not answered yet */
  PRISM_MCP_ANSWERED,
  PRISM_MCP_READY,
} PrismMcpState;

struct _PrismMcpSession
{
  const PrismMcpSessionFuncs *funcs;
  gpointer data;
  char *server_version, *instructions;

  PrismMcpState state;
  const char *protocol;   /* the revision agreed on; NULL before that */
  char *initialize_id;    /* of the one that is not answered yet */
  gboolean initialized;   /* the client said so, before it could know */
  gboolean can_elicit;
  PrismMcpLogLevel log_level;

  gboolean holds_initialize, holds_calls;
  GError *failure; /* what calls are answered with, where there is nothing to work with */
  gboolean closing, starting;

  GHashTable *calls; /* id → PrismMcpCall, owned: running and waiting */
  GQueue waiting;    /* of those */
  guint n_running;   /* tools' calls */
  gsize waiting_bytes;

  GHashTable *asked; /* our id → what was asked of the client */
  gint64 last_asked;
};

struct _PrismMcpCall
{
  PrismMcpSession *session;
  PrismMcpBatch *batch; /* NULL: none */
  char *id, *method;
  char *text; /* what params points into */
  PrismMcpSlice params;
  PrismMcpOddity oddity;
  GCancellable *cancellable;
  char *progress_token; /* as JSON; NULL: it is not wanted */
  gint64 last_progress;
  gboolean is_tool, running, cancelled;
  GList *link; /* in waiting */
};

PrismMcpBatch *prism_mcp_batch_new (PrismMcpSession *session);
PrismMcpBatch *prism_mcp_batch_ref (PrismMcpBatch *self);
void prism_mcp_batch_unref (PrismMcpBatch *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (PrismMcpBatch, prism_mcp_batch_unref)

/* Takes @json: a whole message. */
void prism_mcp_session_send (PrismMcpSession *self, PrismMcpBatch *batch, PrismJson *json);
/* @id: NULL becomes null. */
void prism_mcp_session_fail (PrismMcpSession *self,
                             PrismMcpBatch *batch,
                             const char *id,
                             int code,
                             const char *message,
                             const char *data);
/* {"jsonrpc": "2.0", "id": @id, and open. */
PrismJson *prism_mcp_begin_answer (const char *id);

PrismMcpCall *prism_mcp_call_new (PrismMcpSession *session,
                                  PrismMcpBatch *batch,
                                  const PrismMcpMessage *message,
                                  PrismMcpOddity oddity);
void prism_mcp_call_free (PrismMcpCall *self);
void prism_mcp_call_cancel (PrismMcpCall *self);
/* Runs those whose turn it is. */
void prism_mcp_session_start_calls (PrismMcpSession *self);

void prism_mcp_session_answered (PrismMcpSession *self, const PrismMcpMessage *message, PrismMcpOddity oddity);
void prism_mcp_asked_free (gpointer asked);

G_END_DECLS
