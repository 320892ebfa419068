/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is about to happen, as whoever does it says. Its words may be a model's: nothing
 * here trusts them, and nothing of them reaches a person's eyes but by way of
 * prism_visible_text(). Who says what the action is, the program, is trusted. */
#include "prism-action-private.h"

#include <string.h>

#include "prism-enum-types.h"
#include "prism-fingerprint-private.h"

enum
{
  TEXT_KIND,
  TEXT_OPERATION,
  TEXT_COMMAND,
  TEXT_DIRECTORY,
  TEXT_SUMMARY,
  TEXT_RUN_ID,
  TEXT_SESSION_ID,
  TEXT_SANDBOX_ID,
  TEXT_TREE_ROOT,
  TEXT_WORKSPACE,
  TEXT_CALL_ID,
  N_TEXTS
};

enum
{
  LIST_PATHS,
  LIST_ARGV,
  LIST_ENV,
  N_LISTS
};

/* The texts come first and the lists after them, in the order of their own enumerations. */
enum
{
  PROP_0,
  PROP_TEXTS,
  PROP_LISTS = PROP_TEXTS + N_TEXTS,
  PROP_EFFECT = PROP_LISTS + N_LISTS,
  PROP_RISK,
  PROP_ARGUMENTS,
  N_PROPS
};

static GParamSpec *props[N_PROPS];

struct _PrismAction
{
  GObject parent_instance;

  char *texts[N_TEXTS];
  char **lists[N_LISTS];
  GBytes *arguments;
  GArray *objects; /* (nullable) PrismPathIdentity: of the paths, then of the directory */
  gboolean directory_object;
  PrismEffect effect;
  PrismRisk risk;
  gboolean effect_said, risk_said;
  int frozen; /* atomic */
};

/**
 * PrismAction:
 *
 * What is about to happen. Once a policy was asked about it, it is frozen.
 *
 * Since: 1.0
 */
G_DEFINE_FINAL_TYPE (PrismAction, prism_action, G_TYPE_OBJECT)

/* --- kinds --------------------------------------------------------------------------- */

typedef struct
{
  const char *kind;
  const char *operation; /* how it begins; NULL: any */
  PrismEffect effect;
  PrismRisk risk;
} Kind;

/* The first that fits. */
static const Kind kinds[] = {
  { "shell", NULL, PRISM_EFFECT_EXTERNAL_MUTATION, PRISM_RISK_HIGH },
  { "read", NULL, PRISM_EFFECT_NONE, PRISM_RISK_LOW },
  { "write", NULL, PRISM_EFFECT_LOCAL_MUTATION, PRISM_RISK_MEDIUM },
  { "edit", NULL, PRISM_EFFECT_LOCAL_MUTATION, PRISM_RISK_MEDIUM },
  { "delete", NULL, PRISM_EFFECT_LOCAL_MUTATION, PRISM_RISK_HIGH },
  { "move", NULL, PRISM_EFFECT_LOCAL_MUTATION, PRISM_RISK_HIGH },
  { "repo_list", NULL, PRISM_EFFECT_NONE, PRISM_RISK_LOW },
  { "repo_search", NULL, PRISM_EFFECT_NONE, PRISM_RISK_LOW },
  { "glob", NULL, PRISM_EFFECT_NONE, PRISM_RISK_LOW },
  { "git", "status", PRISM_EFFECT_NONE, PRISM_RISK_LOW },
  { "git", "diff", PRISM_EFFECT_NONE, PRISM_RISK_LOW },
  { "git", "branch_list", PRISM_EFFECT_NONE, PRISM_RISK_LOW },
  { "git", "branch_validate", PRISM_EFFECT_NONE, PRISM_RISK_LOW },
  { "git", "worktree_list", PRISM_EFFECT_NONE, PRISM_RISK_LOW },
  { "git", "apply_check", PRISM_EFFECT_NONE, PRISM_RISK_LOW },
  { "git", "pr_handoff", PRISM_EFFECT_EXTERNAL_MUTATION, PRISM_RISK_MEDIUM },
  { "git", NULL, PRISM_EFFECT_LOCAL_MUTATION, PRISM_RISK_HIGH },
  { "check", NULL, PRISM_EFFECT_EXTERNAL_MUTATION, PRISM_RISK_MEDIUM },
  { "ask_user_decision", NULL, PRISM_EFFECT_NONE, PRISM_RISK_MEDIUM },
};

/* What no row is for may do anything. */
static const Kind unknown_kind = { NULL, NULL, PRISM_EFFECT_EXTERNAL_MUTATION, PRISM_RISK_HIGH };

static const Kind *
find_kind (PrismAction *self)
{
  const char *kind = self->texts[TEXT_KIND], *operation = self->texts[TEXT_OPERATION];

  for (guint i = 0; kind != NULL && i < G_N_ELEMENTS (kinds); i++)
    if (g_str_equal (kinds[i].kind, kind)
        && (kinds[i].operation == NULL || g_strcmp0 (kinds[i].operation, operation) == 0))
      return &kinds[i];
  return &unknown_kind;
}

/* --- the object ------------------------------------------------------------------------ */

static gboolean
may_change (PrismAction *self)
{
  if (!g_atomic_int_get (&self->frozen))
    return TRUE;
  g_critical ("an action that a policy was asked about cannot change any more");
  return FALSE;
}

void
prism_action_freeze (PrismAction *self)
{
  g_atomic_int_set (&self->frozen, TRUE);
}

static void
set_text (PrismAction *self, guint which, const char *text)
{
  if (!may_change (self))
    return;
  g_free (self->texts[which]);
  self->texts[which] = g_strdup (text);
}

static void
set_list (PrismAction *self, guint which, const char *const *list)
{
  if (!may_change (self))
    return;
  g_strfreev (self->lists[which]);
  self->lists[which] = g_strdupv ((char **)list);
}

static void
prism_action_set_property (GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  PrismAction *self = PRISM_ACTION (object);

  if (id >= PROP_TEXTS && id < PROP_TEXTS + N_TEXTS)
    set_text (self, id - PROP_TEXTS, g_value_get_string (value));
  else if (id >= PROP_LISTS && id < PROP_LISTS + N_LISTS)
    set_list (self, id - PROP_LISTS, g_value_get_boxed (value));
  else if (id == PROP_EFFECT)
    prism_action_set_effect (self, g_value_get_enum (value));
  else if (id == PROP_RISK)
    prism_action_set_risk (self, g_value_get_enum (value));
  else if (id == PROP_ARGUMENTS)
    prism_action_set_arguments (self, g_value_get_boxed (value));
  else
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
}

static void
prism_action_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  PrismAction *self = PRISM_ACTION (object);

  if (id >= PROP_TEXTS && id < PROP_TEXTS + N_TEXTS)
    g_value_set_string (value, self->texts[id - PROP_TEXTS]);
  else if (id >= PROP_LISTS && id < PROP_LISTS + N_LISTS)
    g_value_set_boxed (value, self->lists[id - PROP_LISTS]);
  else if (id == PROP_EFFECT)
    g_value_set_enum (value, prism_action_get_effect (self));
  else if (id == PROP_RISK)
    g_value_set_enum (value, prism_action_get_risk (self));
  else if (id == PROP_ARGUMENTS)
    g_value_set_boxed (value, self->arguments);
  else
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
}

static void
prism_action_finalize (GObject *object)
{
  PrismAction *self = PRISM_ACTION (object);

  for (guint i = 0; i < N_TEXTS; i++)
    g_free (self->texts[i]);
  for (guint i = 0; i < N_LISTS; i++)
    g_strfreev (self->lists[i]);
  g_clear_pointer (&self->arguments, g_bytes_unref);
  g_clear_pointer (&self->objects, g_array_unref);
  G_OBJECT_CLASS (prism_action_parent_class)->finalize (object);
}

static void
install_text (guint which, const char *name)
{
  GParamFlags flags =
      G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | (which <= TEXT_OPERATION ? G_PARAM_CONSTRUCT_ONLY : 0);

  props[PROP_TEXTS + which] = g_param_spec_string (name, NULL, NULL, NULL, flags);
}

static void
install_texts (void)
{
  /**
   * PrismAction:kind:
   *
   * What it is a kind of: `shell`, `read`, `write`, `edit`, `delete`, `move`, `repo_list`, `repo_search`, `glob`,
   * `git`, `check`, `ask_user_decision`, or another.
   *
   * Since: 1.0
   */
  install_text (TEXT_KIND, "kind");
  /**
   * PrismAction:operation:
   *
   * Which operation of its kind.
   *
   * Since: 1.0
   */
  install_text (TEXT_OPERATION, "operation");
  /**
   * PrismAction:command:
   *
   * A line for a shell; %NULL where none runs.
   *
   * Since: 1.0
   */
  install_text (TEXT_COMMAND, "command");
  /**
   * PrismAction:directory:
   *
   * Where the command runs: a folder in the tree's own names.
   *
   * Since: 1.0
   */
  install_text (TEXT_DIRECTORY, "directory");
  /**
   * PrismAction:summary:
   *
   * What is shown to who is asked, besides what the action says itself: a change's lines, say.
   *
   * Since: 1.0
   */
  install_text (TEXT_SUMMARY, "summary");
  /**
   * PrismAction:run-id:
   *
   * The run that it belongs to.
   *
   * Since: 1.0
   */
  install_text (TEXT_RUN_ID, "run-id");
  /**
   * PrismAction:session-id:
   *
   * The session that it belongs to.
   *
   * Since: 1.0
   */
  install_text (TEXT_SESSION_ID, "session-id");
  /**
   * PrismAction:sandbox-id:
   *
   * What identifies where it runs: the sandbox, and what that may reach.
   *
   * Since: 1.0
   */
  install_text (TEXT_SANDBOX_ID, "sandbox-id");
  /**
   * PrismAction:tree-root:
   *
   * The root of the tree inside a sandbox, in whose names the paths are; %NULL: they are the host's.
   *
   * Since: 1.0
   */
  install_text (TEXT_TREE_ROOT, "tree-root");
  /**
   * PrismAction:workspace:
   *
   * The host folder that `tree-root` is; %NULL: there is none.
   *
   * Since: 1.0
   */
  install_text (TEXT_WORKSPACE, "workspace");
  /**
   * PrismAction:call-id:
   *
   * The call that it is of: what an answer that comes later is for.
   *
   * Since: 1.0
   */
  install_text (TEXT_CALL_ID, "call-id");
}

static void
install_others (void)
{
  const GParamFlags plain = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS;

  /**
   * PrismAction:paths:
   *
   * What it is about: absolute paths in the tree's own names.
   *
   * Since: 1.0
   */
  props[PROP_LISTS + LIST_PATHS] = g_param_spec_boxed ("paths", NULL, NULL, G_TYPE_STRV, plain);
  /**
   * PrismAction:argv:
   *
   * A program and its arguments, run without a shell; %NULL where a shell, or nothing, runs.
   *
   * Since: 1.0
   */
  props[PROP_LISTS + LIST_ARGV] = g_param_spec_boxed ("argv", NULL, NULL, G_TYPE_STRV, plain);
  /**
   * PrismAction:env:
   *
   * The command's `NAME=VALUE`s, beside the sandbox's own.
   *
   * Since: 1.0
   */
  props[PROP_LISTS + LIST_ENV] = g_param_spec_boxed ("env", NULL, NULL, G_TYPE_STRV, plain);
  /**
   * PrismAction:effect:
   *
   * What it changes: its kind's, or more.
   *
   * Since: 1.0
   */
  props[PROP_EFFECT] = g_param_spec_enum ("effect", NULL, NULL, PRISM_TYPE_EFFECT, PRISM_EFFECT_NONE, plain);
  /**
   * PrismAction:risk:
   *
   * How much could go wrong.
   *
   * Since: 1.0
   */
  props[PROP_RISK] = g_param_spec_enum ("risk", NULL, NULL, PRISM_TYPE_RISK, PRISM_RISK_LOW, plain);
  /**
   * PrismAction:arguments:
   *
   * All else that makes this action another one: what is written, say. It is hashed
   * into what an approval is bound to, and never shown.
   *
   * Since: 1.0
   */
  props[PROP_ARGUMENTS] = g_param_spec_boxed ("arguments", NULL, NULL, G_TYPE_BYTES, plain);
}

static void
prism_action_class_init (PrismActionClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->set_property = prism_action_set_property;
  object_class->get_property = prism_action_get_property;
  object_class->finalize = prism_action_finalize;
  install_texts ();
  install_others ();
  g_object_class_install_properties (object_class, N_PROPS, props);
}

static void
prism_action_init (PrismAction *self)
{
}

/**
 * prism_action_new:
 * @kind: what it is a kind of
 * @operation: (nullable): which operation of its kind
 *
 * Makes an action; what else there is to say of it, its setters say.
 *
 * Returns: (transfer full): an action
 *
 * Since: 1.0
 */
PrismAction *
prism_action_new (const char *kind, const char *operation)
{
  g_return_val_if_fail (kind != NULL, NULL);

  return g_object_new (PRISM_TYPE_ACTION, "kind", kind, "operation", operation, NULL);
}

/**
 * prism_action_get_kind:
 * @self: an action
 *
 * Gets its kind.
 *
 * Returns: (transfer none): its kind
 *
 * Since: 1.0
 */
const char *
prism_action_get_kind (PrismAction *self)
{
  g_return_val_if_fail (PRISM_IS_ACTION (self), NULL);

  return self->texts[TEXT_KIND];
}

/**
 * prism_action_get_operation:
 * @self: an action
 *
 * Gets which operation of its kind.
 *
 * Returns: (transfer none) (nullable): which operation of its kind
 *
 * Since: 1.0
 */
const char *
prism_action_get_operation (PrismAction *self)
{
  g_return_val_if_fail (PRISM_IS_ACTION (self), NULL);

  return self->texts[TEXT_OPERATION];
}

/**
 * prism_action_get_command:
 * @self: an action
 *
 * Gets the line that a shell is to run.
 *
 * Returns: (transfer none) (nullable): the line that a shell is to run
 *
 * Since: 1.0
 */
const char *
prism_action_get_command (PrismAction *self)
{
  g_return_val_if_fail (PRISM_IS_ACTION (self), NULL);

  return self->texts[TEXT_COMMAND];
}

/**
 * prism_action_get_directory:
 * @self: an action
 *
 * Gets where the command runs.
 *
 * Returns: (transfer none) (nullable): where the command runs
 *
 * Since: 1.0
 */
const char *
prism_action_get_directory (PrismAction *self)
{
  g_return_val_if_fail (PRISM_IS_ACTION (self), NULL);

  return self->texts[TEXT_DIRECTORY];
}

/**
 * prism_action_get_summary:
 * @self: an action
 *
 * Gets what is shown to who is asked.
 *
 * Returns: (transfer none) (nullable): what is shown to who is asked
 *
 * Since: 1.0
 */
const char *
prism_action_get_summary (PrismAction *self)
{
  g_return_val_if_fail (PRISM_IS_ACTION (self), NULL);

  return self->texts[TEXT_SUMMARY];
}

/**
 * prism_action_get_run_id:
 * @self: an action
 *
 * Gets the run that it belongs to.
 *
 * Returns: (transfer none) (nullable): the run that it belongs to
 *
 * Since: 1.0
 */
const char *
prism_action_get_run_id (PrismAction *self)
{
  g_return_val_if_fail (PRISM_IS_ACTION (self), NULL);

  return self->texts[TEXT_RUN_ID];
}

/**
 * prism_action_get_session_id:
 * @self: an action
 *
 * Gets the session that it belongs to.
 *
 * Returns: (transfer none) (nullable): the session that it belongs to
 *
 * Since: 1.0
 */
const char *
prism_action_get_session_id (PrismAction *self)
{
  g_return_val_if_fail (PRISM_IS_ACTION (self), NULL);

  return self->texts[TEXT_SESSION_ID];
}

/**
 * prism_action_get_sandbox_id:
 * @self: an action
 *
 * Gets what identifies where it runs.
 *
 * Returns: (transfer none) (nullable): what identifies where it runs
 *
 * Since: 1.0
 */
const char *
prism_action_get_sandbox_id (PrismAction *self)
{
  g_return_val_if_fail (PRISM_IS_ACTION (self), NULL);

  return self->texts[TEXT_SANDBOX_ID];
}

/**
 * prism_action_get_call_id:
 * @self: an action
 *
 * Gets the call that it is of.
 *
 * Returns: (transfer none) (nullable): the call that it is of
 *
 * Since: 1.0
 */
const char *
prism_action_get_call_id (PrismAction *self)
{
  g_return_val_if_fail (PRISM_IS_ACTION (self), NULL);

  return self->texts[TEXT_CALL_ID];
}

/**
 * prism_action_get_tree_root:
 * @self: an action
 *
 * Gets the root of the tree inside of a sandbox.
 *
 * Returns: (transfer none) (nullable): the root of the tree inside of a sandbox
 *
 * Since: 1.0
 */
const char *
prism_action_get_tree_root (PrismAction *self)
{
  g_return_val_if_fail (PRISM_IS_ACTION (self), NULL);

  return self->texts[TEXT_TREE_ROOT];
}

/**
 * prism_action_get_workspace:
 * @self: an action
 *
 * Gets the host folder that the tree is.
 *
 * Returns: (transfer none) (nullable): the host folder that the tree is
 *
 * Since: 1.0
 */
const char *
prism_action_get_workspace (PrismAction *self)
{
  g_return_val_if_fail (PRISM_IS_ACTION (self), NULL);

  return self->texts[TEXT_WORKSPACE];
}

/**
 * prism_action_get_paths:
 * @self: an action
 *
 * Gets what it is about.
 *
 * Returns: (transfer none) (nullable) (array zero-terminated=1): what it is about
 *
 * Since: 1.0
 */
const char *const *
prism_action_get_paths (PrismAction *self)
{
  g_return_val_if_fail (PRISM_IS_ACTION (self), NULL);

  return (const char *const *)self->lists[LIST_PATHS];
}

/**
 * prism_action_get_argv:
 * @self: an action
 *
 * Gets the program and its arguments.
 *
 * Returns: (transfer none) (nullable) (array zero-terminated=1): the program and its arguments
 *
 * Since: 1.0
 */
const char *const *
prism_action_get_argv (PrismAction *self)
{
  g_return_val_if_fail (PRISM_IS_ACTION (self), NULL);

  return (const char *const *)self->lists[LIST_ARGV];
}

/**
 * prism_action_get_env:
 * @self: an action
 *
 * Gets what is in the environment of its command.
 *
 * Returns: (transfer none) (nullable) (array zero-terminated=1): what is in the environment of its command
 *
 * Since: 1.0
 */
const char *const *
prism_action_get_env (PrismAction *self)
{
  g_return_val_if_fail (PRISM_IS_ACTION (self), NULL);

  return (const char *const *)self->lists[LIST_ENV];
}

/**
 * prism_action_get_arguments:
 * @self: an action
 *
 * Gets all else that makes this action another one.
 *
 * Returns: (transfer none) (nullable): all else that makes this action another one
 *
 * Since: 1.0
 */
GBytes *
prism_action_get_arguments (PrismAction *self)
{
  g_return_val_if_fail (PRISM_IS_ACTION (self), NULL);

  return self->arguments;
}

/**
 * prism_action_set_command:
 * @self: an action that no policy was asked about
 * @line: (nullable): a line for a shell, as it will be run
 *
 * Sets the line that a shell is to run.
 *
 * Since: 1.0
 */
void
prism_action_set_command (PrismAction *self, const char *line)
{
  g_return_if_fail (PRISM_IS_ACTION (self));

  set_text (self, TEXT_COMMAND, line);
}

/**
 * prism_action_set_directory:
 * @self: an action that no policy was asked about
 * @directory: (nullable): an absolute path in the tree's own names
 *
 * Sets where the command runs.
 *
 * Since: 1.0
 */
void
prism_action_set_directory (PrismAction *self, const char *directory)
{
  g_return_if_fail (PRISM_IS_ACTION (self));

  set_text (self, TEXT_DIRECTORY, directory);
}

/**
 * prism_action_set_summary:
 * @self: an action that no policy was asked about
 * @summary: (nullable): what is shown to who is asked
 *
 * Sets what is shown to who is asked.
 *
 * Since: 1.0
 */
void
prism_action_set_summary (PrismAction *self, const char *summary)
{
  g_return_if_fail (PRISM_IS_ACTION (self));

  set_text (self, TEXT_SUMMARY, summary);
}

/**
 * prism_action_set_paths:
 * @self: an action that no policy was asked about
 * @paths: (nullable) (array zero-terminated=1): absolute paths in the tree's own names
 *
 * Sets absolute paths in the tree's own names.
 *
 * Since: 1.0
 */
void
prism_action_set_paths (PrismAction *self, const char *const *paths)
{
  g_return_if_fail (PRISM_IS_ACTION (self));

  set_list (self, LIST_PATHS, paths);
}

/**
 * prism_action_set_argv:
 * @self: an action that no policy was asked about
 * @argv: (nullable) (array zero-terminated=1): a program and its arguments, run without a shell
 *
 * Sets a program and its arguments, run without a shell.
 *
 * Since: 1.0
 */
void
prism_action_set_argv (PrismAction *self, const char *const *argv)
{
  g_return_if_fail (PRISM_IS_ACTION (self));

  set_list (self, LIST_ARGV, argv);
}

/**
 * prism_action_set_env:
 * @self: an action that no policy was asked about
 * @env: (nullable) (array zero-terminated=1): `NAME=VALUE`s, beside the sandbox's own
 *
 * Sets `NAME=VALUE`s, beside the sandbox's own.
 *
 * Since: 1.0
 */
void
prism_action_set_env (PrismAction *self, const char *const *env)
{
  g_return_if_fail (PRISM_IS_ACTION (self));

  set_list (self, LIST_ENV, env);
}

/**
 * prism_action_set_arguments:
 * @self: an action that no policy was asked about
 * @arguments: (nullable): bytes
 *
 * Sets all else that makes this action another one. It is hashed into what an approval
 * is bound to, and never shown.
 *
 * Since: 1.0
 */
void
prism_action_set_arguments (PrismAction *self, GBytes *arguments)
{
  g_return_if_fail (PRISM_IS_ACTION (self));

  if (!may_change (self))
    return;
  g_clear_pointer (&self->arguments, g_bytes_unref);
  self->arguments = arguments != NULL ? g_bytes_ref (arguments) : NULL;
}

/**
 * prism_action_set_identity:
 * @self: an action that no policy was asked about
 * @run_id: (nullable): the run that it belongs to
 * @session_id: (nullable): the session that it belongs to
 * @sandbox_id: (nullable): what identifies where it runs, and what that may reach: a
 *   caller whose sandbox changes in this changes it too
 *
 * Says what an answer may be remembered for. Without an identity none is.
 *
 * Since: 1.0
 */
void
prism_action_set_identity (PrismAction *self, const char *run_id, const char *session_id, const char *sandbox_id)
{
  g_return_if_fail (PRISM_IS_ACTION (self));

  set_text (self, TEXT_RUN_ID, run_id);
  set_text (self, TEXT_SESSION_ID, session_id);
  set_text (self, TEXT_SANDBOX_ID, sandbox_id);
}

/**
 * prism_action_set_call_id:
 * @self: an action that no policy was asked about
 * @call_id: (nullable): the call that it is of, the same when it is made again
 *
 * Says which call it is of. It is no part of what an approval is remembered for; an answer that
 * comes later ([class@Suspensions]) is for this call.
 *
 * Since: 1.0
 */
void
prism_action_set_call_id (PrismAction *self, const char *call_id)
{
  g_return_if_fail (PRISM_IS_ACTION (self));

  set_text (self, TEXT_CALL_ID, call_id);
}

/**
 * prism_action_set_tree:
 * @self: an action that no policy was asked about
 * @tree_root: (nullable): the root of a sandbox's tree, inside; %NULL: the host's files
 * @workspace: (nullable): the host folder that it is
 *
 * Says that the paths, and the directory, are those of a tree inside of a sandbox. No
 * name of it is looked up on the host: it is compared by its words, as if @tree_root were
 * @workspace, and whoever holds the tree refuses what leaves it.
 *
 * Since: 1.0
 */
void
prism_action_set_tree (PrismAction *self, const char *tree_root, const char *workspace)
{
  g_return_if_fail (PRISM_IS_ACTION (self));

  set_text (self, TEXT_TREE_ROOT, tree_root);
  set_text (self, TEXT_WORKSPACE, workspace);
}

/**
 * prism_action_get_effect:
 * @self: an action
 *
 * Gets what it changes: what was said, and never less than its kind does. A kind that is
 * not known may change anything.
 *
 * Returns: what it changes
 *
 * Since: 1.0
 */
PrismEffect
prism_action_get_effect (PrismAction *self)
{
  g_return_val_if_fail (PRISM_IS_ACTION (self), PRISM_EFFECT_EXTERNAL_MUTATION);

  return self->effect_said ? MAX (self->effect, find_kind (self)->effect) : find_kind (self)->effect;
}

/**
 * prism_action_set_effect:
 * @self: an action that no policy was asked about
 * @effect: what it changes
 *
 * Says that it changes more than its kind does.
 *
 * Since: 1.0
 */
void
prism_action_set_effect (PrismAction *self, PrismEffect effect)
{
  g_return_if_fail (PRISM_IS_ACTION (self));

  if (!may_change (self))
    return;
  self->effect = effect;
  self->effect_said = TRUE;
}

/**
 * prism_action_get_risk:
 * @self: an action
 *
 * Gets how much could go wrong: what was said, or its kind's.
 *
 * Returns: how much could go wrong
 *
 * Since: 1.0
 */
PrismRisk
prism_action_get_risk (PrismAction *self)
{
  g_return_val_if_fail (PRISM_IS_ACTION (self), PRISM_RISK_HIGH);

  return self->risk_said ? self->risk : find_kind (self)->risk;
}

/**
 * prism_action_set_risk:
 * @self: an action that no policy was asked about
 * @risk: how much could go wrong
 *
 * Says how much could go wrong.
 *
 * Since: 1.0
 */
void
prism_action_set_risk (PrismAction *self, PrismRisk risk)
{
  g_return_if_fail (PRISM_IS_ACTION (self));

  if (!may_change (self))
    return;
  self->risk = risk;
  self->risk_said = TRUE;
}

/* --- which objects it is about ------------------------------------------------------------- */

PrismPathIntent
prism_action_get_path_intent (PrismAction *self)
{
  static const char *const changing[] = { "write", "edit", NULL };
  static const char *const removing[] = { "delete", "move", NULL };
  const char *kind = self->texts[TEXT_KIND];

  if (g_strv_contains (changing, kind))
    return PRISM_PATH_INTENT_WRITE;
  return g_strv_contains (removing, kind) ? PRISM_PATH_INTENT_REMOVE : PRISM_PATH_INTENT_READ;
}

void
prism_action_set_objects (PrismAction *self,
                          const PrismPathIdentity *paths,
                          guint n_paths,
                          const PrismPathIdentity *directory)
{
  g_return_if_fail (!g_atomic_int_get (&self->frozen));

  g_clear_pointer (&self->objects, g_array_unref);
  self->objects = g_array_new (FALSE, FALSE, sizeof (PrismPathIdentity));
  g_array_append_vals (self->objects, paths, n_paths);
  self->directory_object = directory != NULL;
  if (directory != NULL)
    g_array_append_vals (self->objects, directory, 1);
}

const PrismPathIdentity *
prism_action_get_path_object (PrismAction *self, guint path)
{
  guint n = self->objects != NULL ? self->objects->len - (self->directory_object ? 1 : 0) : 0;

  return path < n ? &g_array_index (self->objects, PrismPathIdentity, path) : NULL;
}

const PrismPathIdentity *
prism_action_get_directory_object (PrismAction *self)
{
  if (!self->directory_object)
    return NULL;
  return &g_array_index (self->objects, PrismPathIdentity, self->objects->len - 1);
}
