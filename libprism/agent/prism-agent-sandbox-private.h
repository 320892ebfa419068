/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the parts of the agent sandbox know of each other. */
#pragma once

#include "prism-agent-admission-private.h"
#include "prism-agent-channel-private.h"
#include "prism-agent-sandbox.h"

G_BEGIN_DECLS

/* A terminal has no end of file, it has a character for it. In the middle of a line that
 * only hands over what is there: then it takes two. */
#define PRISM_AGENT_END_OF_TTY "\004\004"

static inline gsize
prism_agent_end_of_tty (guint8 last)
{
  return last == 0 || last == '\n' || last == '\r' || last == PRISM_AGENT_END_OF_TTY[0] ? 1 : 2;
}

/* The spec's limits, looked up once. */
typedef struct
{
  gint64 startup_timeout_ms;
  gint64 wall_time_ms;
  gint64 idle_timeout_ms;
  gint64 max_fds;
  gint64 max_commands;
  gint64 max_concurrent_execs;
  gint64 max_processes;
  gint64 max_file_bytes;
  gint64 max_export_entries;
  gint64 max_export_bytes;
  gint64 max_output_bytes;
  gint64 stop_grace_ms;
  gint64 cleanup_deadline_ms;
} PrismAgentLimits;

/* All but the first are valid from start() on, for as long as the object lives. */
gboolean prism_agent_sandbox_check_running (PrismAgentSandbox *self, GError **error);
PrismAgentChannel *prism_agent_sandbox_get_channel (PrismAgentSandbox *self);
const PrismAgentLimits *prism_agent_sandbox_get_limits (PrismAgentSandbox *self);
PrismAgentAdmission *prism_agent_sandbox_get_admission (PrismAgentSandbox *self);
gboolean prism_agent_sandbox_is_framed (PrismAgentSandbox *self);
const PrismAgentHello *prism_agent_sandbox_get_hello (PrismAgentSandbox *self);
/* Monotonic us, G_MAXINT64 = none. */
gint64 prism_agent_sandbox_get_wall_deadline (PrismAgentSandbox *self);
const char *prism_agent_sandbox_get_workspace (PrismAgentSandbox *self);
/* The subclass's stream is not needed any more. */
void prism_agent_sandbox_forget_stream (PrismAgentSandbox *self);

/* Without the spec's secrets. */
char *prism_agent_sandbox_redact (PrismAgentSandbox *self, const char *text);

/* What the agent answered with, as an error of ours. @what was tried, on @path
 * (nullable). The agent's words are made printable and lose their secrets. */
GError *
prism_agent_sandbox_dup_error (PrismAgentSandbox *self, const PrismAgentCall *call, const char *what, const char *path);
/* The same of a command that did not start. */
GError *prism_agent_sandbox_dup_exec_error (PrismAgentSandbox *self, const PrismAgentCall *call, PrismCommand *command);

/* Why the channel ended, in a sentence for people; where the agent hung up, with what the
 * subclass knows of it. May take a moment. */
char *prism_agent_sandbox_dup_loss (PrismAgentSandbox *self);

/* The limit by which the boundary ended a process with SIGKILL, or NULL. */
const char *prism_agent_sandbox_find_limit (PrismAgentSandbox *self);

/* Before a gentle end of what is paused: frozen processes hear nothing. */
void prism_agent_sandbox_thaw (PrismAgentSandbox *self);

void prism_agent_exec (PrismSandbox *sandbox, PrismExecOperation *operation);
void prism_agent_processes_init_interface (PrismSandboxInterface *iface);
void prism_agent_pause_init_interface (PrismSandboxInterface *iface);
void prism_agent_files_init_interface (PrismSandboxInterface *iface);
void prism_agent_trees_init_interface (PrismSandboxInterface *iface);

G_END_DECLS
