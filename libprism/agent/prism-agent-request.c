/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A command as the wire has it, and what the agent's errors mean. */
#include "prism-agent-exec-private.h"

#include "prism-sandbox-error.h"

void
prism_agent_request_exec (PrismAgentFrame *frame, PrismCommand *command, const PrismAgentExecRequest *request)
{
  const char *cwd = prism_command_get_cwd (command);
  prism_agent_frame_init (frame, PRISM_WIRE_EXEC, 0, 0);
  prism_agent_frame_put (frame, request->flags, 4);
  prism_agent_frame_put_strv (frame, prism_command_get_argv (command));
  prism_agent_frame_put_str (frame, cwd != NULL ? cwd : "");
  prism_agent_frame_put_strv (frame, request->env != NULL ? request->env : prism_command_get_env (command));
  prism_agent_frame_put (frame, prism_command_get_pty_columns (command), 2);
  prism_agent_frame_put (frame, prism_command_get_pty_rows (command), 2);
  prism_agent_frame_put (frame, request->max_output, 8);
  prism_agent_frame_put_str (frame, request->uuid);
  prism_agent_frame_put (frame, request->timeout_ms, 8);
  prism_agent_frame_put (frame, request->grace_ms, 4);
  prism_agent_frame_put_str (frame, request->tag);
}

static PrismSandboxError
code_of (guint32 wire)
{
  switch (wire)
    {
    case PRISM_WIRE_ERROR_INVALID:
      return PRISM_SANDBOX_ERROR_INVALID;
    case PRISM_WIRE_ERROR_NOT_FOUND:
    case PRISM_WIRE_ERROR_CWD:
      return PRISM_SANDBOX_ERROR_NOT_FOUND;
    case PRISM_WIRE_ERROR_NOT_EXECUTABLE:
      return PRISM_SANDBOX_ERROR_NOT_EXECUTABLE;
    case PRISM_WIRE_ERROR_LIMIT:
    case PRISM_WIRE_ERROR_NO_SPACE:
    case PRISM_WIRE_ERROR_NO_PROCESS:
      return PRISM_SANDBOX_ERROR_LIMIT;
    case PRISM_WIRE_ERROR_ESCAPE:
    case PRISM_WIRE_ERROR_DENIED:
      return PRISM_SANDBOX_ERROR_DENIED;
    case PRISM_WIRE_ERROR_CANCELLED:
      return PRISM_SANDBOX_ERROR_CANCELLED;
    default:
      return PRISM_SANDBOX_ERROR_FAILED;
    }
}

static const char *
meaning_of (guint32 wire)
{
  switch (wire)
    {
    case PRISM_WIRE_ERROR_INVALID:
      return "the request is not valid";
    case PRISM_WIRE_ERROR_NOT_FOUND:
      return "there is no such file or folder in the sandbox";
    case PRISM_WIRE_ERROR_NOT_EXECUTABLE:
      return "it is not executable";
    case PRISM_WIRE_ERROR_LIMIT:
      return "a limit was reached";
    case PRISM_WIRE_ERROR_ESCAPE:
      return "the path leads outside";
    case PRISM_WIRE_ERROR_DENIED:
      return "permission denied inside the sandbox";
    case PRISM_WIRE_ERROR_EXISTS:
      return "it exists already";
    case PRISM_WIRE_ERROR_TYPE:
      return "it is not of the right type";
    case PRISM_WIRE_ERROR_CANCELLED:
      return "cancelled";
    case PRISM_WIRE_ERROR_NO_SPACE:
      return "no space left in the sandbox";
    case PRISM_WIRE_ERROR_CHANGED:
      return "it changed meanwhile";
    case PRISM_WIRE_ERROR_CWD:
      return "the working directory cannot be entered";
    case PRISM_WIRE_ERROR_NO_PROCESS:
      return "the sandbox has no process left (max-pids); end some of its processes first";
    default:
      return "it failed";
    }
}

/* Where our own words say it all. */
static gboolean
says_all (guint32 wire)
{
  return wire == PRISM_WIRE_ERROR_NOT_FOUND || wire == PRISM_WIRE_ERROR_NOT_EXECUTABLE || wire == PRISM_WIRE_ERROR_CWD
         || wire == PRISM_WIRE_ERROR_NO_PROCESS || wire == PRISM_WIRE_ERROR_CANCELLED;
}

/* The agent's own words come last, as what they are: quoted, bounded, printable. */
static GError *
compose (PrismAgentSandbox *self, const PrismAgentCall *call, const char *subject, const char *hint)
{
  GString *text = g_string_new (subject);
  g_autofree char *message =
      call->message != NULL && !says_all (call->error) ? prism_agent_dup_printable (call->message) : NULL;
  g_string_append_printf (text, ": %s", meaning_of (call->error));
  if (message != NULL && message[0] != '\0')
    g_string_append_printf (text, " (%s)", message);
  if (hint != NULL)
    g_string_append_printf (text, "; %s", hint);
  g_autofree char *clean = prism_agent_sandbox_redact (self, text->str);
  g_string_free (text, TRUE);
  return g_error_new_literal (PRISM_SANDBOX_ERROR, (gint)code_of (call->error), clean);
}

GError *
prism_agent_sandbox_dup_error (PrismAgentSandbox *self, const PrismAgentCall *call, const char *what, const char *path)
{
  g_autofree char *where = path != NULL ? prism_agent_dup_printable (path) : NULL;
  g_autofree char *subject = path != NULL ? g_strdup_printf ("%s “%s”", what, where) : g_strdup (what);
  return compose (self, call, subject, NULL);
}

/* What the caller has at home is not visible inside: says how it would be. */
static char *
dup_home_hint (const char *program)
{
  g_autofree char *found = g_path_is_absolute (program) ? g_strdup (program) : g_find_program_in_path (program);
  if (found == NULL || !g_file_test (found, G_FILE_TEST_IS_EXECUTABLE) || g_file_test (found, G_FILE_TEST_IS_DIR))
    return NULL;
  const char *home = g_get_home_dir ();
  gsize length = home != NULL ? strlen (home) : 0;
  if (length < 2 || strncmp (found, home, length) != 0 || found[length] != '/')
    return NULL;
  g_autofree char *folder = g_path_get_dirname (found), *file = prism_agent_dup_printable (found);
  g_autofree char *shown = prism_agent_dup_printable (folder);
  return g_strdup_printf ("it exists in your home as %s: show it with a read-only mount, --ro %s", file, shown);
}

GError *
prism_agent_sandbox_dup_exec_error (PrismAgentSandbox *self, const PrismAgentCall *call, PrismCommand *command)
{
  const char *program = prism_command_get_argv (command)[0], *cwd = prism_command_get_cwd (command);
  gboolean no_cwd = call->error == PRISM_WIRE_ERROR_CWD;
  if (cwd == NULL)
    cwd = prism_agent_sandbox_get_workspace (self);
  g_autofree char *name = prism_agent_dup_printable (no_cwd ? cwd : program);
  g_autofree char *subject = g_strdup_printf ("%s “%s”", no_cwd ? "cwd" : "command", name);
  g_autofree char *hint = call->error == PRISM_WIRE_ERROR_NOT_FOUND ? dup_home_hint (program) : NULL;
  return compose (self, call, subject, hint);
}
