/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the parts of prism mcp share: one client, one sandbox, one set of tools. */
#pragma once

#include "prism-cli-options.h"
#include "prism-mcp-journal.h"
#include "prism-mcp-session.h"
#include "prism-mcp-wire.h"

G_BEGIN_DECLS

typedef struct
{
  const PrismCliOptions *options;
  GMainLoop *loop;
  GCancellable *cancellable; /* a signal ends all of it */

  PrismMcpWire *wire;
  PrismMcpSession *session;
  PrismMcpJournal *journal;
  char *run_id;

  PrismBackend *backend;
  PrismSandboxSpec *spec;
  PrismApprovalPolicy *policy;
  PrismSuspensions *suspensions; /* NULL: what needs approval is asked now, or denied */
  PrismSandbox *sandbox;
  char *sandbox_id;
  PrismComposition *composition;
  PrismEgressProxy *proxy; /* NULL: nothing can be reached */
  gulong approval_handler, audit_handler;
  GError *error;

  GHashTable *subscribed; /* URIs */
  guint update_timer;
  GPtrArray *open; /* questions; see prism-mcp-questions.c */
  guint open_timer;
  GPtrArray *running; /* tools' calls; see prism-mcp-tools.c */
  gboolean creating, greeted;
  gboolean ending, input_ended;
  guint grace_timer, patience_timer, initialize_timer;
} PrismMcpServer;

/* prism-mcp-tools.c */
void prism_mcp_tools_list (PrismMcpServer *self, PrismMcpCall *call);
void prism_mcp_tools_call (PrismMcpServer *self, PrismMcpCall *call);
/* There was nobody to ask about it. */
void prism_mcp_tools_unasked (PrismMcpServer *self, const char *call_id);
/* The proxy said no: to the calls that run. */
void prism_mcp_tools_denied (PrismMcpServer *self, const PrismAuditRecord *record);

/* prism-mcp-questions.c: whom to ask is known only once the client has said what it can. */
void prism_mcp_questions_update (PrismMcpServer *self);
void prism_mcp_questions_watch (PrismMcpServer *self);

/* prism-mcp-events.c */
void prism_mcp_events_watch (PrismMcpServer *self);

/* prism-mcp-resources.c */
void prism_mcp_resources_call (PrismMcpServer *self, PrismMcpCall *call);
void prism_mcp_resources_changed (gpointer server);

/* prism-mcp-server.c */
int prism_mcp_server_run (const PrismCliOptions *options, int in, int out);

G_END_DECLS
