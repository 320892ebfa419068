/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The options of `prism run`: from text to a backend, a spec and a command.
 * What cannot be given is refused with the reason; nothing is taken and dropped. */
#include "prism-cli-options.h"

#include "prism-cli-approve.h"

#include "prism-cli-egress.h"
#include "prism-cli-export.h"
#include "prism-cli-names.h"
#include "prism-cli-property.h"
#include "prism-cli-workspace.h"

#include <string.h>

/* GOption writes into fixed places; one run has one set. */
static PrismCliOptions parsed;

static GOptionEntry entries[] = {
  { "backend", 'b', 0, G_OPTION_ARG_FILENAME, &parsed.backend, N_ ("What makes the sandbox (default: native)"),
    N_ ("NAME") },
  { "workspace", 'w', 0, G_OPTION_ARG_FILENAME, &parsed.workspace,
    N_ ("Host folder that is the workspace (default: the current one)"), N_ ("DIR") },
  { "workspace-mode", 0, 0, G_OPTION_ARG_FILENAME, &parsed.workspace_mode, N_ ("direct, copy or readonly"),
    N_ ("MODE") },
  { "export", 0, 0, G_OPTION_ARG_FILENAME, &parsed.export_path, N_ ("With copy: write the workspace out at the end"),
    N_ ("FILE.tar") },
  { "ro", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &parsed.read_only, N_ ("Show a host path, not writable"),
    N_ ("PATH[:DEST]") },
  { "rw", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &parsed.read_write, N_ ("Show a host path, writable"),
    N_ ("PATH[:DEST]") },
  { "hide", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &parsed.hide, N_ ("Make a host path be not there"), N_ ("PATH") },
  { "protect", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &parsed.protect, N_ ("Make a host path be there, not writable"),
    N_ ("PATH") },
  { "env", 'e', 0, G_OPTION_ARG_FILENAME_ARRAY, &parsed.env, N_ ("Set a variable, or pass this one on"),
    N_ ("NAME[=VALUE]") },
  { "network", 0, 0, G_OPTION_ARG_FILENAME, &parsed.network, N_ ("none (default) or egress"), N_ ("MODE") },
  { "allow", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &parsed.allow, N_ ("Let a host be reached through the proxy"),
    N_ ("RULE") },
  { "preset", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &parsed.preset, N_ ("Let a known set of hosts be reached"),
    N_ ("NAME") },
  { "allow-private", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &parsed.allow_private,
    N_ ("As --allow, also at a private address"), N_ ("RULE") },
  { "credential", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &parsed.credential,
    N_ ("Stamp a header outside the sandbox on requests to a host"), N_ ("HOST=HEADER:ENVNAME") },
  { "policy", 0, 0, G_OPTION_ARG_FILENAME, &parsed.policy, N_ ("Policy file"), N_ ("FILE") },
  { "approve", 0, 0, G_OPTION_ARG_FILENAME, &parsed.approve, N_ ("never, ask or always"), N_ ("MODE") },
  { "suspend", 0, 0, G_OPTION_ARG_FILENAME, &parsed.suspend,
    N_ ("Put what needs approval down there, for prism approval"), N_ ("DIR") },
  { "limit", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &parsed.limits, N_ ("Any limit, such as memory-bytes=512M"),
    N_ ("NAME=VALUE") },
  { "set", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &parsed.settings,
    N_ ("Any property of the backend; “prism inspect” lists them"), N_ ("NAME=VALUE") },
  { "proxy-set", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &parsed.proxy_settings,
    N_ ("Any property of the egress proxy, such as trust-file=CA.pem"), N_ ("NAME=VALUE") },
  { "require", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &parsed.require,
    N_ ("Refuse to start unless the sandbox really has these controls"), N_ ("LIST") },
  { "timeout", 0, 0, G_OPTION_ARG_FILENAME, &parsed.timeout, N_ ("End the command after 500ms, 30s, 5m"),
    N_ ("DURATION") },
  { "tty", 't', 0, G_OPTION_ARG_NONE, &parsed.tty, N_ ("A pseudo-terminal (default on a terminal)"), NULL },
  { "no-tty", 'T', 0, G_OPTION_ARG_NONE, &parsed.no_tty, N_ ("No pseudo-terminal"), NULL },
  { "no-input", 'n', 0, G_OPTION_ARG_NONE, &parsed.no_input, N_ ("Leave the standard input alone"), NULL },
  { "json", 0, 0, G_OPTION_ARG_NONE, &parsed.json, N_ ("Print the result as one JSON object"), NULL },
  { "audit", 0, 0, G_OPTION_ARG_FILENAME, &parsed.audit, N_ ("Write the egress audit there"), N_ ("FILE") },
  { "verbose", 'v', 0, G_OPTION_ARG_NONE, &parsed.verbose, N_ ("Say what was applied, and how long it took"), NULL },
  { "quiet", 'q', 0, G_OPTION_ARG_NONE, &parsed.quiet, N_ ("Say nothing but errors"), NULL },
  G_OPTION_ENTRY_NULL,
};

GOptionEntry *
prism_cli_options_entries (void)
{
  return entries;
}

void
prism_cli_options_clear (PrismCliOptions *self)
{
  char **const strings[] = { &self->backend, &self->workspace, &self->workspace_mode, &self->export_path,
                             &self->network, &self->policy,    &self->approve,        &self->audit,
                             &self->timeout, &self->suspend };
  char ***const lists[] = { &self->read_only,      &self->read_write,    &self->hide,
                            &self->protect,        &self->env,           &self->allow,
                            &self->preset,         &self->limits,        &self->settings,
                            &self->require,        &self->allow_private, &self->credential,
                            &self->proxy_settings, &self->argv };

  for (guint i = 0; i < G_N_ELEMENTS (strings); i++)
    g_clear_pointer (strings[i], g_free);
  for (guint i = 0; i < G_N_ELEMENTS (lists); i++)
    g_clear_pointer (lists[i], g_strfreev);
}

static gboolean
check_words (const PrismCliOptions *self, GError **error)
{
  PrismCliApprove mode;

  if (!prism_cli_approve_parse (self->approve, &mode, error))
    return FALSE;
  if (self->network != NULL && !g_str_equal (self->network, "none") && !g_str_equal (self->network, "egress"))
    return prism_cli_bad_value (error, _ ("--network %s: it is none or egress"), self->network);

  return TRUE;
}

/* As a variable that a script forgot to set would have it. */
static gboolean
check_paths (const PrismCliOptions *self, GError **error)
{
  const char *const paths[][2] = { { "--policy", self->policy }, { "--audit", self->audit } };

  for (guint i = 0; i < G_N_ELEMENTS (paths); i++)
    if (paths[i][1] != NULL && paths[i][1][0] == '\0')
      return prism_cli_bad_value (error, "%s: %s", paths[i][0], _ ("an empty path names no file or folder"));

  return TRUE;
}

static gboolean
check_combinations (PrismCliOptions *self, GError **error)
{
  int mode = PRISM_WORKSPACE_MODE_DIRECT;

  if (self->workspace_mode != NULL
      && !prism_cli_parse_enum (PRISM_TYPE_WORKSPACE_MODE, self->workspace_mode, &mode, error))
    {
      g_prefix_error (error, "--workspace-mode: ");
      return FALSE;
    }
  self->mode = mode;

  if (self->tty && self->no_tty)
    return prism_cli_bad_value (error, _ ("--tty and --no-tty contradict each other"));
  if (self->tty && self->no_input)
    return prism_cli_bad_value (error, _ ("--tty and --no-input contradict each other"));
  if (self->suspend != NULL && self->approve != NULL)
    return prism_cli_bad_value (error, _ ("--suspend and --approve contradict each other: what is put down is answered "
                                          "with prism approval"));
  if (self->verbose && self->quiet)
    return prism_cli_bad_value (error, _ ("--verbose and --quiet contradict each other"));
  if (self->timeout != NULL && !prism_cli_parse_duration (self->timeout, &self->timeout_ms, error))
    {
      g_prefix_error (error, "--timeout: ");
      return FALSE;
    }

  return check_paths (self, error) && check_words (self, error);
}

/* After a bad option GOption takes back what it had read; who asked for JSON is
 * to get it all the same. */
static gboolean
asks_for_json (char **argv)
{
  for (guint i = 1; argv[i] != NULL && !g_str_equal (argv[i], "--"); i++)
    if (g_str_equal (argv[i], "--json"))
      return TRUE;

  return FALSE;
}

/* The command is what is left; with "--" or without. */
gboolean
prism_cli_options_parse (PrismCliOptions *self, const PrismCliCommand *command, int argc, char **argv, GError **error)
{
  g_auto (GStrv) copy = g_strdupv (argv);
  g_autofree char **rest = g_memdup2 (copy, sizeof (char *) * (argc + 1));
  gboolean good;

  parsed = (PrismCliOptions){ 0 };
  good = prism_cli_parse (command, entries, TRUE, &argc, &rest, error);
  *self = parsed;
  if (!good)
    {
      self->json = asks_for_json (argv);
      return FALSE;
    }

  if (argc > 1 && g_str_equal (rest[1], "--"))
    self->argv = g_strdupv (rest + 2);
  else
    self->argv = g_strdupv (rest + 1);

  return check_combinations (self, error);
}

PrismBackend *
prism_cli_options_backend (const PrismCliOptions *self, GError **error)
{
  return prism_cli_make_backend (prism_registry_get_default (),
                                 self->backend != NULL ? self->backend : PRISM_CLI_USUAL_BACKEND,
                                 (const char *const *)self->settings, error);
}

/* PATH or PATH:DEST; a colon in PATH is written \: */
static gboolean
add_mounts (PrismSandboxSpec *spec, const char *option, char **texts, gboolean writable, GError **error)
{
  for (guint i = 0; texts != NULL && texts[i] != NULL; i++)
    {
      g_autoptr (GString) path = g_string_new (NULL);
      g_autofree char *full = NULL;
      g_autoptr (PrismMount) mount = NULL;
      g_autoptr (GFile) source = NULL;
      const char *p = texts[i];

      for (; *p != '\0' && *p != ':'; p++)
        g_string_append_c (path, p[0] == '\\' && p[1] == ':' ? *++p : *p);
      if (path->len == 0)
        return prism_cli_bad_value (error, _ ("%s %s: the path is empty"), option, texts[i]);
      if (*p == ':' && p[1] != '/')
        return prism_cli_bad_value (error, _ ("%s %s: the place inside the sandbox has to be an absolute path"), option,
                                    texts[i]);

      full = prism_cli_path (path->str, error);
      source = full != NULL ? prism_cli_file (full, error) : NULL;
      if (source == NULL)
        return FALSE;
      mount = prism_mount_new (source, *p == ':' ? p + 1 : full, writable);
      prism_sandbox_spec_add_mount (spec, mount);
    }

  return TRUE;
}

static gboolean
add_env (PrismSandboxSpec *spec, char **texts, GError **error)
{
  for (guint i = 0; texts != NULL && texts[i] != NULL; i++)
    {
      const char *equals = strchr (texts[i], '=');
      g_autofree char *name = equals != NULL ? g_strndup (texts[i], equals - texts[i]) : g_strdup (texts[i]);
      const char *value = equals != NULL ? equals + 1 : g_getenv (name);

      if (name[0] == '\0')
        return prism_cli_bad_value (error, _ ("--env %s: the name is empty"), texts[i]);
      if (value == NULL)
        return prism_cli_bad_value (
            error, _ ("--env %s: there is no such variable here to pass on; give it a value, or leave it out"), name);
      prism_sandbox_spec_set_variable (spec, name, value);
    }

  return TRUE;
}

/* All that is wrong with the limits is said at once. */
static gboolean
add_limits (PrismSandboxSpec *spec, char **texts, GError **error)
{
  PrismLimits *limits = prism_sandbox_spec_get_limits (spec);
  g_autoptr (GError) first = NULL;
  g_autoptr (GString) messages = g_string_new (NULL);

  for (guint i = 0; texts != NULL && texts[i] != NULL; i++)
    {
      const char *equals = strchr (texts[i], '=');
      g_autofree char *name = equals != NULL ? g_strndup (texts[i], equals - texts[i]) : NULL;
      g_autoptr (GError) local = NULL;

      if (name == NULL)
        prism_cli_bad_value (&local, _ ("it is not of the form NAME=VALUE"));
      else
        prism_limits_set_string (limits, name, equals + 1, &local);
      if (local == NULL)
        continue;
      g_string_append_printf (messages, "%s--limit %s: %s", messages->len > 0 ? "; " : "", texts[i], local->message);
      if (first == NULL)
        first = g_steal_pointer (&local);
    }
  if (first == NULL)
    return TRUE;

  g_set_error_literal (error, first->domain, first->code, messages->str);
  return FALSE;
}

/* An empty list would require nothing, where a script's variable was to say what. */
static gboolean
parse_require (char **texts, guint *require, GError **error)
{
  for (guint i = 0; texts != NULL && texts[i] != NULL; i++)
    {
      if (texts[i][0] == '\0')
        return prism_cli_bad_value (error, _ ("--require: it names no control"));
      if (!prism_cli_parse_flags (PRISM_TYPE_CONTROLS, texts[i], require, error))
        {
          g_prefix_error (error, "--require: ");
          return FALSE;
        }
    }

  return TRUE;
}

/* On another machine a folder of this one is a copy, and is there only when it was asked for. */
static PrismSandboxSpec *
new_spec (const PrismCliOptions *self, PrismBackend *backend, GError **error)
{
  gboolean remote = prism_backend_is_remote (backend), said = self->workspace_mode != NULL;
  PrismWorkspaceMode mode = remote && !said ? PRISM_WORKSPACE_MODE_COPY : self->mode;
  g_autoptr (GFile) workspace = NULL;
  PrismSandboxSpec *spec;

  if (remote && mode != PRISM_WORKSPACE_MODE_COPY)
    {
      prism_cli_bad_value (error,
                           _ ("--workspace-mode %s: the sandboxes of %s are on another machine, where a folder of "
                              "this one can only be a copy; use copy, and --export for what you want back"),
                           self->workspace_mode, prism_backend_get_name (backend));
      return NULL;
    }
  if (self->export_path != NULL && mode != PRISM_WORKSPACE_MODE_COPY)
    {
      prism_cli_bad_value (error, _ ("--export writes out a disposable copy: add --workspace-mode copy; a workspace "
                                     "that is not copied is on the host already"));
      return NULL;
    }
  if (self->export_path != NULL && !prism_cli_export_check (self->export_path, error))
    return NULL;
  if ((!remote || self->workspace != NULL) && (workspace = prism_cli_workspace (self->workspace, mode, error)) == NULL)
    return NULL;

  spec = prism_sandbox_spec_new (workspace);
  g_object_set (spec, "workspace-mode", workspace != NULL ? mode : PRISM_WORKSPACE_MODE_DIRECT, NULL);
  return spec;
}

/* The spec as the options say it; not yet checked as a whole. */
PrismSandboxSpec *
prism_cli_options_spec (const PrismCliOptions *self, PrismBackend *backend, GError **error)
{
  g_autoptr (PrismSandboxSpec) spec = NULL;
  guint require = 0;

  if (!parse_require (self->require, &require, error) || (spec = new_spec (self, backend, error)) == NULL)
    return NULL;
  g_object_set (spec, "require", require, NULL);
  if (!prism_cli_egress_apply (self, spec, error))
    return NULL;

  for (guint i = 0; self->hide != NULL && self->hide[i] != NULL; i++)
    {
      g_autofree char *path = prism_cli_path (self->hide[i], error);

      if (path == NULL)
        return NULL;
      prism_sandbox_spec_add_hide (spec, path);
    }
  for (guint i = 0; self->protect != NULL && self->protect[i] != NULL; i++)
    {
      g_autofree char *path = prism_cli_path (self->protect[i], error);

      if (path == NULL)
        return NULL;
      prism_sandbox_spec_add_protect (spec, path);
    }
  if (!add_mounts (spec, "--ro", self->read_only, FALSE, error)
      || !add_mounts (spec, "--rw", self->read_write, TRUE, error) || !add_env (spec, self->env, error)
      || !add_limits (spec, self->limits, error))
    return NULL;

  return g_steal_pointer (&spec);
}

PrismCommand *
prism_cli_options_command (const PrismCliOptions *self, GError **error)
{
  g_autoptr (PrismCommand) command = prism_command_new ((const char *const *)self->argv);

  if (self->timeout_ms > 0)
    prism_command_set_timeout_ms (command, self->timeout_ms);
  if (!prism_command_check (command, error))
    return NULL;

  return g_steal_pointer (&command);
}
