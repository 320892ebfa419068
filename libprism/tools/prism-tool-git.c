/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Running git. TRUST: none in the repository. Its configuration can name programs that git
 * runs even to look: file system monitors, filters, textconv, hooks, merge drivers, editors.
 * Those with fixed names are overridden; those with names of their own (filter.X, merge.X,
 * diff.X) are listed first, which runs nothing, and then overridden one by one. Submodules,
 * which have configuration of their own, are not looked into. */
#include "prism-tool-git-private.h"

#include <string.h>

#define MOST_DRIVERS 256

static const char *const fixed[] = {
  "core.hooksPath=/dev/null",
  "core.fsmonitor=false",
  "core.pager=cat",
  "core.editor=true",
  "sequence.editor=true",
  "core.askPass=",
  "core.sshCommand=false",
  "core.gitProxy=",
  "credential.helper=",
  "commit.gpgSign=false",
  "tag.gpgSign=false",
  "gpg.program=false",
  "gpg.ssh.program=false",
  "gpg.x509.program=false",
  "diff.external=",
  "interactive.diffFilter=",
  "protocol.allow=never",
  "advice.detachedHead=false",
  "safe.directory=*",
  "safe.bareRepository=explicit",
  "core.quotePath=false",
  "gc.auto=0",
  "maintenance.auto=false",
  "uploadpack.packObjectsHook=",
  "core.attributesFile=/dev/null",
  "core.untrackedCache=false",
};

static void
add_fixed (GPtrArray *argv)
{
  g_ptr_array_add (argv, g_strdup ("git"));
  g_ptr_array_add (argv, g_strdup ("--no-optional-locks"));
  for (guint i = 0; i < G_N_ELEMENTS (fixed); i++)
    {
      g_ptr_array_add (argv, g_strdup ("-c"));
      g_ptr_array_add (argv, g_strdup (fixed[i]));
    }
}

static PrismCommand *
make_command (PrismToolRun *run, GPtrArray *argv)
{
  g_autofree char *above = g_path_get_dirname (prism_tree_get_root (run->settings->tree));
  PrismCommand *command;

  g_ptr_array_add (argv, NULL);
  command = prism_command_new ((const char *const *)argv->pdata);
  prism_command_set_timeout_ms (command, prism_tool_limit (run, PRISM_TOOL_LIMIT_GIT_TIMEOUT_S) * 1000);
  prism_command_set_max_output_bytes (command, prism_tool_limit (run, PRISM_TOOL_LIMIT_GIT_OUTPUT_BYTES));
  prism_command_set_variable (command, "GIT_TERMINAL_PROMPT", "0");
  prism_command_set_variable (command, "GIT_OPTIONAL_LOCKS", "0");
  prism_command_set_variable (command, "GIT_PAGER", "cat");
  prism_command_set_variable (command, "PAGER", "cat");
  prism_command_set_variable (command, "GCM_INTERACTIVE", "never");
  prism_command_set_variable (command, "GIT_CONFIG_NOSYSTEM", "1");
  prism_command_set_variable (command, "GIT_CONFIG_GLOBAL", "/dev/null");
  prism_command_set_variable (command, "GIT_CEILING_DIRECTORIES", above);
  prism_command_set_variable (command, "LC_ALL", "C.UTF-8");
  return command;
}

static void
refuse_output (PrismToolRun *run, GError **error)
{
  prism_tool_fail (error, PRISM_TOOL_ERROR_LIMIT,
                   "git wrote more than %" G_GINT64_FORMAT " bytes (git-output-bytes); name fewer paths",
                   prism_tool_limit (run, PRISM_TOOL_LIMIT_GIT_OUTPUT_BYTES));
}

static PrismResult *
exec (PrismToolRun *run, PrismCommand *command, GError **error)
{
  GError *fault = NULL;
  PrismResult *result = prism_tree_exec (run->settings->place, command, run->cancellable, &fault);

  if (result == NULL)
    {
      if (fault->code == PRISM_TREE_FAULT_NOT_FOUND)
        prism_tool_fail (error, PRISM_TOOL_ERROR_NOT_SUPPORTED, "there is no git here: %s", fault->message);
      else
        {
          prism_tool_take_fault (error, fault);
          return NULL;
        }
      g_error_free (fault);
      return NULL;
    }
  switch (prism_result_get_outcome (result))
    {
    case PRISM_OUTCOME_EXITED:
    case PRISM_OUTCOME_SIGNALLED:
      if (!prism_result_get_stdout_truncated (result))
        return result;
      refuse_output (run, error);
      break;
    case PRISM_OUTCOME_TIMED_OUT:
      prism_tool_fail (error, PRISM_TOOL_ERROR_TIMEOUT, "git took more than %" G_GINT64_FORMAT " s (git-timeout-s)",
                       prism_tool_limit (run, PRISM_TOOL_LIMIT_GIT_TIMEOUT_S));
      break;
    case PRISM_OUTCOME_CANCELLED:
      prism_tool_fail (error, PRISM_TOOL_ERROR_CANCELLED, "cancelled");
      break;
    case PRISM_OUTCOME_OUTPUT_LIMIT:
      refuse_output (run, error);
      break;
    default:
      prism_tool_fail (error, PRISM_TOOL_ERROR_FAILED, "how git ended is not known");
      break;
    }
  g_object_unref (result);
  return NULL;
}

/* A driver's name may have any character but NUL and LF; an = in it would end the key. */
static gboolean
override_driver (GPtrArray *argv, const char *key)
{
  static const struct
  {
    const char *section, *variable, *value;
  } rows[] = {
    { "filter.", ".clean", "" },         { "filter.", ".smudge", "" },     { "filter.", ".process", "" },
    { "filter.", ".required", "false" }, { "merge.", ".driver", "false" }, { "diff.", ".command", "" },
    { "diff.", ".textconv", "" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    if (g_str_has_prefix (key, rows[i].section) && g_str_has_suffix (key, rows[i].variable)
        && strlen (key) > strlen (rows[i].section) + strlen (rows[i].variable))
      {
        if (strchr (key, '=') != NULL)
          return FALSE;
        g_ptr_array_add (argv, g_strdup ("-c"));
        g_ptr_array_add (argv, g_strconcat (key, "=", rows[i].value, NULL));
        break;
      }
  return TRUE;
}

static gboolean
add_drivers (PrismToolRun *run, GPtrArray *argv, GError **error)
{
  g_autoptr (GPtrArray) list = g_ptr_array_new_with_free_func (g_free);
  static const char *const args[] = { "config", "--includes", "--name-only", "-z", "--list" };
  g_autoptr (PrismCommand) command = NULL;
  g_autoptr (PrismResult) result = NULL;
  const char *at, *end;
  gsize size;
  guint before = argv->len;

  add_fixed (list);
  for (guint i = 0; i < G_N_ELEMENTS (args); i++)
    g_ptr_array_add (list, g_strdup (args[i]));
  command = make_command (run, list);
  result = exec (run, command, error);
  if (result == NULL)
    return FALSE;
  at = g_bytes_get_data (prism_result_get_stdout (result), &size);
  for (end = at + size; at < end; at += strnlen (at, (gsize)(end - at)) + 1)
    {
      g_autofree char *key = g_strndup (at, (gsize)(end - at));
      if (!override_driver (argv, key) || argv->len - before > 2 * MOST_DRIVERS)
        return prism_tool_fail (error, PRISM_TOOL_ERROR_DENIED,
                                "the repository's configuration names programs in a way that cannot be overridden; "
                                "use git by the shell tool");
    }
  return TRUE;
}

PrismResult *
prism_tool_git_plain (PrismToolRun *run, const char *const *args, PrismToolLimit limit, GError **error)
{
  g_autoptr (GPtrArray) argv = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (PrismCommand) command = NULL;

  add_fixed (argv);
  for (; *args != NULL; args++)
    g_ptr_array_add (argv, g_strdup (*args));
  command = make_command (run, argv);
  prism_command_set_max_output_bytes (command, prism_tool_limit (run, limit));
  return exec (run, command, error);
}

PrismResult *
prism_tool_git (PrismToolRun *run, const char *const *args, GBytes *input, GError **error)
{
  g_autoptr (GPtrArray) argv = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (PrismCommand) command = NULL;

  add_fixed (argv);
  if (!add_drivers (run, argv, error))
    return NULL;
  for (; *args != NULL; args++)
    g_ptr_array_add (argv, g_strdup (*args));
  command = make_command (run, argv);
  if (input != NULL)
    prism_command_set_stdin_bytes (command, input);
  return exec (run, command, error);
}

char *
prism_tool_git_text (PrismToolRun *run, const char *const *args, GBytes *input, gsize *size, GError **error)
{
  g_autoptr (PrismResult) result = prism_tool_git (run, args, input, error);
  g_autofree char *words = NULL;
  const char *data;
  gsize n;
  char *text;

  if (result == NULL)
    return NULL;
  if (prism_result_get_exit_code (result) != 0)
    {
      words = prism_result_dup_stderr_text (result);
      g_strchomp (words);
      prism_tool_fail (error, PRISM_TOOL_ERROR_FAILED, "git %s: %.2000s", args[0],
                       *words != '\0' ? words : "failed without a word");
      return NULL;
    }
  data = g_bytes_get_data (prism_result_get_stdout (result), &n);
  text = g_malloc (n + 1);
  if (n > 0)
    memcpy (text, data, n);
  text[n] = '\0';
  if (size != NULL)
    *size = n;
  return text;
}

gboolean
prism_tool_git_authorize (PrismToolRun *run,
                          const char *operation,
                          PrismRisk risk,
                          PrismEffect effect,
                          const char *const *argv,
                          GError **error)
{
  char *paths[2] = { g_strdup (prism_tree_get_root (run->settings->tree)), NULL };
  const PrismToolAsk ask = {
    .kind = "git", .operation = operation, .risk = risk, .effect = effect, .argv = argv, .paths = paths
  };
  gboolean may = prism_tool_authorize (run, &ask, error);

  g_free (paths[0]);
  return may;
}

gboolean
prism_tool_git_check_ref (PrismToolRun *run, const char *ref, GError **error)
{
  if (*ref == '\0' || *ref == '-' || strpbrk (ref, "\r\n") != NULL)
    return prism_tool_fail (error, PRISM_TOOL_ERROR_INVALID,
                            "a name that git would not take for one: send a branch or commit");
  if ((gint64)strlen (ref) > prism_tool_limit (run, PRISM_TOOL_LIMIT_GIT_REF_BYTES))
    return prism_tool_fail (error, PRISM_TOOL_ERROR_LIMIT, "a name of more than %" G_GINT64_FORMAT " bytes",
                            prism_tool_limit (run, PRISM_TOOL_LIMIT_GIT_REF_BYTES));
  return TRUE;
}

gboolean
prism_tool_git_add_paths (PrismToolRun *run, const char *name, GPtrArray *args, GError **error)
{
  JsonArray *array = prism_tool_get_array (run, name);
  const char *root = prism_tree_get_root (run->settings->tree);

  if (array == NULL)
    return TRUE;
  if ((gint64)json_array_get_length (array) > prism_tool_limit (run, PRISM_TOOL_LIMIT_GIT_PATHS))
    return prism_tool_fail (error, PRISM_TOOL_ERROR_LIMIT, "%s: send at most %" G_GINT64_FORMAT, name,
                            prism_tool_limit (run, PRISM_TOOL_LIMIT_GIT_PATHS));
  for (guint i = 0; i < json_array_get_length (array); i++)
    {
      g_autofree char *path = prism_tool_resolve (run, json_array_get_string_element (array, i), error);
      if (path == NULL)
        return FALSE;
      /* A literal: no glob, no magic. */
      g_ptr_array_add (args,
                       g_strconcat (":(top,literal)", g_str_equal (path, root) ? "" : path + strlen (root) + 1, NULL));
    }
  return TRUE;
}

gboolean
prism_tool_git_is_dirty (PrismToolRun *run, gboolean *dirty, GError **error)
{
  static const char *const args[] = {
    "status", "--porcelain=v2", "-z", "--untracked-files=all", "--ignore-submodules=dirty", NULL
  };
  gsize size;
  g_autofree char *text = prism_tool_git_text (run, args, NULL, &size, error);

  *dirty = text != NULL && size > 0;
  return text != NULL;
}

char *
prism_tool_git_checkpoint (PrismToolRun *run, GError **error)
{
  static const char *const push[] = { "stash",   "push",      "--include-untracked",
                                      "--quiet", "--message", "prism checkpoint",
                                      NULL };
  static const char *const which[] = { "rev-parse", "--verify", "--quiet", "refs/stash", NULL };
  gboolean dirty;
  g_autofree char *done = NULL;
  char *id;

  if (!prism_tool_git_is_dirty (run, &dirty, error))
    return NULL;
  if (!dirty)
    return g_strdup ("");
  done = prism_tool_git_text (run, push, NULL, NULL, error);
  id = done != NULL ? prism_tool_git_text (run, which, NULL, NULL, error) : NULL;
  return id != NULL ? g_strchomp (id) : NULL;
}
