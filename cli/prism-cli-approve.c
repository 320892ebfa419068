/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whether a command may run: by the policy file, and by whoever sits at the terminal. The
 * question goes to the terminal itself, wherever the standard streams lead, and its text
 * comes from the library, which makes visible what could make it look like another one.
 * No terminal, no answer, or anything but a clear yes: no. */
#include "prism-cli-approve.h"

#include "prism-cli-suspend.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#define KEY_POLICY "prism-cli-policy"
#define KEY_BEGUN  "prism-cli-begun"
#define MAX_ANSWER 16

/* --- the policy ------------------------------------------------------------------------------- */

gboolean
prism_cli_approve_parse (const char *text, PrismCliApprove *mode, GError **error)
{
  static const char *const words[] = { "never", "ask", "always" };

  *mode = isatty (STDERR_FILENO) ? PRISM_CLI_APPROVE_ASK : PRISM_CLI_APPROVE_NEVER;
  if (text == NULL)
    return TRUE;
  for (guint i = 0; i < G_N_ELEMENTS (words); i++)
    if (g_str_equal (words[i], text))
      {
        *mode = (PrismCliApprove)i;
        return TRUE;
      }
  return prism_cli_bad_value (error, _ ("--approve %s: it is never, ask or always"), text);
}

void
prism_cli_approve_keep (PrismSandboxSpec *spec, PrismPolicyFile *file)
{
  PrismApprovalPolicy *policy = prism_policy_file_get_policy (file);

  if (policy != NULL)
    g_object_set_data_full (G_OBJECT (spec), KEY_POLICY, g_object_ref (policy), g_object_unref);
}

static char *
workspace_of (PrismSandboxSpec *spec)
{
  GFile *workspace = prism_sandbox_spec_get_workspace (spec);

  return workspace != NULL ? g_file_get_path (workspace) : NULL;
}

/* Without a file there are no rules: whoever is asked decides about everything. */
static PrismApprovalPolicy *
policy_without_file (PrismSandboxSpec *spec)
{
  g_autofree char *workspace = workspace_of (spec);
  const char *const roots[] = { workspace != NULL ? workspace : "/", NULL };

  return g_object_new (PRISM_TYPE_APPROVAL_POLICY, "roots", roots, "approval-timeout-ms", G_GINT64_CONSTANT (0), NULL);
}

static void
say_yes (PrismApprovalPolicy *policy, PrismApprovalRequest *request, gpointer data)
{
  prism_approval_request_respond (request, PRISM_APPROVAL_ANSWER_ALLOW);
}

/* --- the terminal ------------------------------------------------------------------------------ */

static void
write_all (int fd, const char *text)
{
  gsize length = strlen (text);

  while (length > 0)
    {
      gssize n = write (fd, text, length);

      if (n < 0 && errno == EINTR)
        continue;
      if (n <= 0)
        return;
      text += n;
      length -= (gsize)n;
    }
}

/* Waits for one line; FALSE: there is none, or it is too late. */
static gboolean
read_line (int fd, char *line, gsize size, gint64 deadline, GCancellable *cancellable)
{
  struct pollfd fds[] = { { fd, POLLIN, 0 }, { g_cancellable_get_fd (cancellable), POLLIN, 0 } };
  gsize length = 0;

  for (;;)
    {
      gint64 left = deadline != 0 ? MAX (deadline - g_get_monotonic_time (), 0) : -1000;
      int ready = poll (fds, fds[1].fd >= 0 ? 2 : 1, left < 0 ? -1 : (int)MIN (left / 1000, G_MAXINT));
      gssize n;

      if (ready < 0 && errno == EINTR)
        continue;
      if (ready <= 0 || fds[1].revents != 0)
        break;
      n = read (fd, line + length, 1);
      if (n <= 0 || line[length] == '\n')
        {
          line[length] = '\0';
          g_cancellable_release_fd (cancellable);
          return n > 0;
        }
      /* What is longer than an answer is none. */
      length = MIN (length + 1, size - 1);
    }
  g_cancellable_release_fd (cancellable);
  return FALSE;
}

typedef struct
{
  int fd;
  GCancellable *cancellable;
} Terminal;

static void
free_terminal (gpointer data, GClosure *closure)
{
  Terminal *terminal = data;

  close (terminal->fd);
  g_clear_object (&terminal->cancellable);
  g_free (terminal);
}

static PrismApprovalAnswer
ask (const Terminal *terminal, PrismApprovalRequest *request, gint64 deadline)
{
  const char *question = prism_approval_request_get_can_remember (request)
                             ? _ ("Allow? y: yes; n: no; a: always for this run, this very action: ")
                             : _ ("Allow? y: yes; n: no: ");
  char line[MAX_ANSWER];

  for (guint tries = 0; tries < 3; tries++)
    {
      write_all (terminal->fd, question);
      if (!read_line (terminal->fd, line, sizeof line, deadline, terminal->cancellable))
        break;
      g_strstrip (line);
      if (g_ascii_strcasecmp (line, "y") == 0 || g_ascii_strcasecmp (line, "yes") == 0)
        return PRISM_APPROVAL_ANSWER_ALLOW;
      if (g_ascii_strcasecmp (line, "n") == 0 || g_ascii_strcasecmp (line, "no") == 0)
        return PRISM_APPROVAL_ANSWER_DENY;
      if (prism_approval_request_get_can_remember (request)
          && (g_ascii_strcasecmp (line, "a") == 0 || g_ascii_strcasecmp (line, "always") == 0))
        return PRISM_APPROVAL_ANSWER_ALLOW_ALWAYS;
    }
  write_all (terminal->fd, "\n");
  return PRISM_APPROVAL_ANSWER_DENY;
}

/* What was typed before the question was there answers nothing. */
static void
ask_at_terminal (PrismApprovalPolicy *policy, PrismApprovalRequest *request, gpointer data)
{
  const Terminal *terminal = data;
  g_autofree char *text = prism_approval_request_dup_text (request);
  gint64 timeout_ms = prism_approval_policy_get_approval_timeout_ms (policy);
  gint64 deadline = timeout_ms > 0 ? g_get_monotonic_time () + timeout_ms * 1000 : 0;

  tcflush (terminal->fd, TCIFLUSH);
  write_all (terminal->fd, _ ("prism: this needs your approval\n"));
  write_all (terminal->fd, text);
  prism_approval_request_respond (request, ask (terminal, request, deadline));
}

static void
connect_terminal (PrismApprovalPolicy *policy, GCancellable *cancellable)
{
  int fd = open ("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
  Terminal *terminal;

  if (fd < 0)
    {
      prism_cli_message (_ ("there is no terminal to ask at: what needs approval is denied"));
      return;
    }
  terminal = g_new (Terminal, 1);
  *terminal = (Terminal){ fd, cancellable != NULL ? g_object_ref (cancellable) : NULL };
  g_signal_connect_data (policy, "approval-requested", G_CALLBACK (ask_at_terminal), terminal, free_terminal, 0);
}

PrismApprovalPolicy *
prism_cli_approve_bare_policy (PrismSandboxSpec *spec)
{
  PrismApprovalPolicy *policy = g_object_get_data (G_OBJECT (spec), KEY_POLICY);

  return policy != NULL ? g_object_ref (policy) : policy_without_file (spec);
}

/* Takes @policy; NULL: it cannot be. */
static PrismApprovalPolicy *
put_down (PrismApprovalPolicy *policy, const PrismCliOptions *options, PrismSandboxSpec *spec, GError **error)
{
  g_autoptr (PrismSuspensions) store = prism_cli_suspend_open (options, spec, error);

  if (store == NULL)
    g_clear_object (&policy);
  else
    prism_approval_policy_set_suspensions (policy, store);
  return policy;
}

/* NULL without an error: nothing needs approval. */
static PrismApprovalPolicy *
make_policy (const PrismCliOptions *options, PrismSandboxSpec *spec, GCancellable *cancellable, GError **error)
{
  PrismApprovalPolicy *policy = g_object_get_data (G_OBJECT (spec), KEY_POLICY);
  PrismCliApprove mode = PRISM_CLI_APPROVE_NEVER;

  prism_cli_approve_parse (options->approve, &mode, NULL);
  /* Nobody said that anything needs approval. */
  if (policy == NULL && options->suspend == NULL && (options->approve == NULL || mode != PRISM_CLI_APPROVE_ASK))
    return NULL;
  policy = prism_cli_approve_bare_policy (spec);
  if (options->suspend != NULL)
    return put_down (policy, options, spec, error);
  if (mode == PRISM_CLI_APPROVE_ALWAYS)
    g_signal_connect (policy, "approval-requested", G_CALLBACK (say_yes), NULL);
  else if (mode == PRISM_CLI_APPROVE_ASK)
    connect_terminal (policy, cancellable);
  return policy;
}

PrismApprovalPolicy *
prism_cli_approve_policy (const PrismCliOptions *options, PrismSandboxSpec *spec, GError **error)
{
  return make_policy (options, spec, NULL, error);
}

/* --- the command ------------------------------------------------------------------------------------ */

/* A variable that is passed on by its name is shown so: its value may be a secret, and is
 * part of what is approved all the same. */
static void
set_env (PrismAction *action, char **env)
{
  g_autoptr (GPtrArray) shown = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GString) values = g_string_new (NULL);

  for (guint i = 0; env != NULL && env[i] != NULL; i++)
    {
      const char *value = strchr (env[i], '=') == NULL ? g_getenv (env[i]) : NULL;

      g_ptr_array_add (shown, value != NULL ? g_strdup_printf ("%s=(passed on)", env[i]) : g_strdup (env[i]));
      g_string_append_printf (values, "%s=%s\n", env[i], value != NULL ? value : "");
    }
  g_ptr_array_add (shown, NULL);
  if (shown->len > 1)
    {
      g_autoptr (GBytes) bytes = g_bytes_new (values->str, values->len);

      prism_action_set_env (action, (const char *const *)shown->pdata);
      prism_action_set_arguments (action, bytes);
    }
}

static PrismAction *
make_action (const PrismCliOptions *options, PrismSandboxSpec *spec, gboolean shell)
{
  static const char *const interactive[] = { "sh", "-i", NULL };
  g_autofree char *workspace = workspace_of (spec);
  g_autofree char *run = g_uuid_string_random ();
  PrismAction *action = prism_action_new ("shell", shell ? "process_start" : "execute");

  prism_action_set_argv (action, shell ? interactive : (const char *const *)options->argv);
  prism_action_set_directory (action, workspace);
  prism_action_set_identity (action, run, NULL, NULL);
  set_env (action, options->env);
  return action;
}

gboolean
prism_cli_approve_command (
    const PrismCliOptions *options, PrismSandboxSpec *spec, gboolean shell, GCancellable *cancellable, GError **error)
{
  g_autoptr (GError) wrong = NULL;
  g_autoptr (PrismApprovalPolicy) policy = make_policy (options, spec, cancellable, &wrong);
  g_autoptr (PrismAction) action = NULL;
  g_autoptr (PrismDecision) decision = NULL;
  PrismSuspension *suspension;

  if (wrong != NULL)
    {
      g_propagate_error (error, g_steal_pointer (&wrong));
      return FALSE;
    }
  if (policy == NULL)
    return TRUE;
  action = make_action (options, spec, shell);
  decision = prism_policy_check (PRISM_POLICY (policy), action, cancellable, error);
  if (decision == NULL)
    return FALSE;
  suspension = prism_decision_get_suspension (decision);
  if (prism_decision_get_allowed (decision) && suspension != NULL)
    g_object_set_data_full (G_OBJECT (spec), KEY_BEGUN, g_object_ref (decision), g_object_unref);
  else if (suspension != NULL && !options->quiet)
    prism_cli_hint (_ ("prism approval show %s %s"), options->suspend, prism_suspension_get_id (suspension));
  return prism_decision_enforce (decision, error);
}

void
prism_cli_approve_ended (const PrismCliOptions *options, PrismSandboxSpec *spec, const GError *error)
{
  PrismDecision *decision = g_object_get_data (G_OBJECT (spec), KEY_BEGUN);
  g_autoptr (PrismSuspensions) store = NULL;
  g_autoptr (GError) wrong = NULL;

  if (decision == NULL)
    return;
  store = prism_cli_suspend_open (options, spec, &wrong);
  if (store == NULL
      || !prism_suspensions_end (store, prism_suspension_get_id (prism_decision_get_suspension (decision)),
                                 error != NULL ? error->message : "ok", &wrong))
    prism_cli_error (wrong);
}
