/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One tree, and the tools that work on it. Files and commands are of the same tree, or it
 * says loudly that they are not and claims nothing. */
#include "prism-composition-private.h"

#include <string.h>

#include "prism-enum-types.h"
#include "prism-tool-run-private.h"

#define MOST_TIMEOUT_MS (3600 * 1000)

enum
{
  PROP_MODE = 1,
  PROP_FOLDER,
  PROP_SANDBOX,
  PROP_POLICY,
  PROP_READ_ONLY,
  PROP_GIT,
  PROP_GIT_AWARE,
  PROP_READ_BEFORE_WRITE,
  PROP_ALLOW_MIXED_WIRING,
  PROP_WORKSPACE_ROOT,
  N_PROPS,
};

static GParamSpec *props[N_PROPS];
static guint question_signal, changed_signal, denied_signal, worktree_signal, found_signal;

/**
 * PrismComposition:
 *
 * One tree and the coding tools that are bound to it: on the host, or in a sandbox, where
 * shell and file tools see the same files. It is set up, then bound; what is bound does not
 * change any more.
 *
 * Since: 1.0
 */
G_DEFINE_FINAL_TYPE (PrismComposition, prism_composition, G_TYPE_OBJECT)

static void
prism_composition_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  PrismComposition *self = PRISM_COMPOSITION (object);

  switch (id)
    {
    case PROP_MODE:
      g_value_set_enum (value, (int)self->mode);
      break;
    case PROP_FOLDER:
      g_value_set_object (value, self->folder);
      break;
    case PROP_SANDBOX:
      g_value_set_object (value, self->sandbox);
      break;
    case PROP_POLICY:
      g_value_set_object (value, self->settings->policy);
      break;
    case PROP_READ_ONLY:
      g_value_set_boolean (value, self->settings->read_only);
      break;
    case PROP_GIT:
      g_value_set_boolean (value, self->settings->git);
      break;
    case PROP_GIT_AWARE:
      g_value_set_boolean (value, self->settings->git_aware);
      break;
    case PROP_READ_BEFORE_WRITE:
      g_value_set_boolean (value, self->settings->read_before_write);
      break;
    case PROP_ALLOW_MIXED_WIRING:
      g_value_set_boolean (value, self->allow_mixed_wiring);
      break;
    case PROP_WORKSPACE_ROOT:
      g_value_set_string (value, prism_composition_get_workspace_root (self));
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
      break;
    }
}

static void
set_flag (PrismComposition *self, gboolean *flag, const GValue *value)
{
  g_return_if_fail (!self->bound);
  *flag = g_value_get_boolean (value);
}

static void
prism_composition_set_property (GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  PrismComposition *self = PRISM_COMPOSITION (object);

  switch (id)
    {
    case PROP_MODE:
      self->mode = (PrismCompositionMode)g_value_get_enum (value);
      break;
    case PROP_FOLDER:
      prism_composition_set_folder (self, g_value_get_object (value));
      break;
    case PROP_SANDBOX:
      prism_composition_set_sandbox (self, g_value_get_object (value));
      break;
    case PROP_POLICY:
      prism_composition_set_policy (self, g_value_get_object (value));
      break;
    case PROP_READ_ONLY:
      set_flag (self, &self->settings->read_only, value);
      break;
    case PROP_GIT:
      set_flag (self, &self->settings->git, value);
      break;
    case PROP_GIT_AWARE:
      set_flag (self, &self->settings->git_aware, value);
      break;
    case PROP_READ_BEFORE_WRITE:
      set_flag (self, &self->settings->read_before_write, value);
      break;
    case PROP_ALLOW_MIXED_WIRING:
      set_flag (self, &self->allow_mixed_wiring, value);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
      break;
    }
}

static void
prism_composition_finalize (GObject *object)
{
  PrismComposition *self = PRISM_COMPOSITION (object);

  g_clear_object (&self->folder);
  g_clear_object (&self->sandbox);
  g_hash_table_unref (self->named);
  g_object_unref (self->tools);
  g_ptr_array_unref (self->own);
  g_ptr_array_unref (self->warnings);
  g_clear_pointer (&self->identity, prism_tree_identity_free);
  prism_tool_settings_unref (self->settings);
  G_OBJECT_CLASS (prism_composition_parent_class)->finalize (object);
}

static void
install_flag (GObjectClass *klass, guint id, const char *name)
{
  props[id] = g_param_spec_boolean (name, NULL, NULL, FALSE, G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS);
  g_object_class_install_property (klass, id, props[id]);
}

static void
install_more_signals (void)
{
  /**
   * PrismComposition::permission-denied:
   * @self: the composition
   * @tool: what was called
   * @decision: the denial: why, which rule, what would allow it
   * @call_id: (nullable): which call
   *
   * The policy said no to a call, or nobody said yes to it. A call that was cancelled while
   * somebody was asked is none of these. Where question-asked comes, too.
   *
   * Since: 1.0
   */
  denied_signal = g_signal_new ("permission-denied", PRISM_TYPE_COMPOSITION, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                                G_TYPE_NONE, 3, G_TYPE_STRING, PRISM_TYPE_DECISION, G_TYPE_STRING);
  /**
   * PrismComposition::worktree-changed:
   * @self: the composition
   * @action: add, remove, lock or unlock
   * @path: where the worktree is: an absolute path in the tree's own names
   * @call_id: (nullable): which call
   *
   * A tool changed the repository's list of worktrees. Where question-asked comes, too.
   *
   * Since: 1.0
   */
  worktree_signal = g_signal_new ("worktree-changed", PRISM_TYPE_COMPOSITION, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                                  G_TYPE_NONE, 3, G_TYPE_STRING, G_TYPE_STRING, G_TYPE_STRING);
  /**
   * PrismComposition::file-found:
   * @self: the composition
   * @conversion: a document or an image
   *
   * The tool read found something that is no text. A handler that turns it into text, or into a
   * smaller image, says %TRUE and settles it, at once or later, from anywhere. With no handler,
   * or where none says %TRUE, images are shown as they are and documents not at all. Where
   * question-asked comes, too.
   *
   * Returns: whether it is settled, or will be
   *
   * Since: 1.0
   */
  found_signal = g_signal_new ("file-found", PRISM_TYPE_COMPOSITION, G_SIGNAL_RUN_LAST, 0,
                               g_signal_accumulator_true_handled, NULL, NULL, G_TYPE_BOOLEAN, 1, PRISM_TYPE_CONVERSION);
}

static void
prism_composition_class_init (PrismCompositionClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  const GParamFlags flags = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS;

  object_class->get_property = prism_composition_get_property;
  object_class->set_property = prism_composition_set_property;
  object_class->finalize = prism_composition_finalize;
  /**
   * PrismComposition:mode:
   *
   * Which tree it is.
   *
   * Since: 1.0
   */
  props[PROP_MODE] = g_param_spec_enum ("mode", NULL, NULL, PRISM_TYPE_COMPOSITION_MODE, PRISM_COMPOSITION_MODE_SANDBOX,
                                        flags | G_PARAM_CONSTRUCT_ONLY);
  g_object_class_install_property (object_class, PROP_MODE, props[PROP_MODE]);
  /**
   * PrismComposition:folder:
   *
   * The host folder that the tools work on, in host mode.
   *
   * Since: 1.0
   */
  props[PROP_FOLDER] = g_param_spec_object ("folder", NULL, NULL, G_TYPE_FILE, flags);
  g_object_class_install_property (object_class, PROP_FOLDER, props[PROP_FOLDER]);
  /**
   * PrismComposition:sandbox:
   *
   * The sandbox whose workspace the tools work on.
   *
   * Since: 1.0
   */
  props[PROP_SANDBOX] = g_param_spec_object ("sandbox", NULL, NULL, PRISM_TYPE_SANDBOX, flags);
  g_object_class_install_property (object_class, PROP_SANDBOX, props[PROP_SANDBOX]);
  /**
   * PrismComposition:policy:
   *
   * What decides; %NULL: everything may happen.
   *
   * Since: 1.0
   */
  props[PROP_POLICY] = g_param_spec_object ("policy", NULL, NULL, PRISM_TYPE_POLICY, flags);
  g_object_class_install_property (object_class, PROP_POLICY, props[PROP_POLICY]);
  /**
   * PrismComposition:read-only:
   *
   * Whether there are only the tools that look.
   *
   * Since: 1.0
   */
  install_flag (object_class, PROP_READ_ONLY, "read-only");
  /**
   * PrismComposition:git:
   *
   * Whether there are the git tools as well.
   *
   * Since: 1.0
   */
  install_flag (object_class, PROP_GIT, "git");
  /**
   * PrismComposition:git-aware:
   *
   * Whether repo_list and glob leave out what git ignores, where the workspace is a repository
   * and there is a git.
   *
   * Since: 1.0
   */
  install_flag (object_class, PROP_GIT_AWARE, "git-aware");
  /**
   * PrismComposition:read-before-write:
   *
   * Whether a file that is there has to be read, and unchanged since, before a tool replaces it.
   *
   * Since: 1.0
   */
  install_flag (object_class, PROP_READ_BEFORE_WRITE, "read-before-write");
  /**
   * PrismComposition:allow-mixed-wiring:
   *
   * Whether commands may run in a sandbox while files are the host's. It costs all claims.
   *
   * Since: 1.0
   */
  install_flag (object_class, PROP_ALLOW_MIXED_WIRING, "allow-mixed-wiring");
  /**
   * PrismComposition:workspace-root:
   *
   * Where the tree begins, in its own names; %NULL before it is bound.
   *
   * Since: 1.0
   */
  props[PROP_WORKSPACE_ROOT] =
      g_param_spec_string ("workspace-root", NULL, NULL, NULL, G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);
  g_object_class_install_property (object_class, PROP_WORKSPACE_ROOT, props[PROP_WORKSPACE_ROOT]);
  /**
   * PrismComposition::question-asked:
   * @self: the composition
   * @question: a question
   *
   * A model wants a person to decide. In the context that was current when the call began,
   * or in the calling thread if it is synchronous. With no handler, the tool says that there
   * is nobody to ask.
   *
   * Since: 1.0
   */
  question_signal = g_signal_new ("question-asked", PRISM_TYPE_COMPOSITION, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                                  G_TYPE_NONE, 1, PRISM_TYPE_QUESTION);
  /**
   * PrismComposition::file-changed:
   * @self: the composition
   * @path: an absolute path in the tree's own names
   * @operation: write, edit, delete or move
   * @call_id: (nullable): which call
   *
   * A tool changed a file. Where question-asked comes, too.
   *
   * Since: 1.0
   */
  changed_signal = g_signal_new ("file-changed", PRISM_TYPE_COMPOSITION, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                                 G_TYPE_NONE, 3, G_TYPE_STRING, G_TYPE_STRING, G_TYPE_STRING);
  install_more_signals ();
}

static void
prism_composition_init (PrismComposition *self)
{
  self->settings = prism_tool_settings_new ();
  self->tools = g_list_store_new (PRISM_TYPE_TOOL);
  self->named = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_object_unref);
  self->own = g_ptr_array_new_with_free_func (g_object_unref);
  self->warnings = g_ptr_array_new_with_free_func (g_free);
}

void
prism_composition_emit_file_changed (PrismComposition *self,
                                     const char *path,
                                     const char *operation,
                                     const char *call_id)
{
  g_signal_emit (self, changed_signal, 0, path, operation, call_id);
}

void
prism_composition_emit_denied (PrismComposition *self, const char *tool, PrismDecision *decision, const char *call_id)
{
  g_signal_emit (self, denied_signal, 0, tool, decision, call_id);
}

void
prism_composition_emit_worktree_changed (PrismComposition *self,
                                         const char *action,
                                         const char *path,
                                         const char *call_id)
{
  g_signal_emit (self, worktree_signal, 0, action, path, call_id);
}

PrismToolSettings *
prism_composition_get_settings (PrismComposition *self)
{
  return self->bound ? self->settings : NULL;
}

gboolean
prism_composition_emit_conversion (PrismComposition *self, PrismConversion *conversion)
{
  gboolean taken = FALSE;

  if (conversion == NULL)
    return g_signal_has_handler_pending (self, found_signal, 0, FALSE);
  g_signal_emit (self, found_signal, 0, conversion, &taken);
  return taken;
}

gboolean
prism_composition_emit_question (PrismComposition *self, PrismQuestion *question)
{
  if (question == NULL)
    return g_signal_has_handler_pending (self, question_signal, 0, FALSE);
  g_signal_emit (self, question_signal, 0, question);
  return TRUE;
}

/**
 * prism_composition_new:
 * @mode: which tree
 *
 * Begins one.
 *
 * Returns: (transfer full): a composition that is to be set up and bound
 *
 * Since: 1.0
 */
PrismComposition *
prism_composition_new (PrismCompositionMode mode)
{
  return g_object_new (PRISM_TYPE_COMPOSITION, "mode", mode, NULL);
}

/**
 * prism_composition_get_mode:
 * @self: a composition
 *
 * Gets which tree it is.
 *
 * Returns: which tree it is
 *
 * Since: 1.0
 */
PrismCompositionMode
prism_composition_get_mode (PrismComposition *self)
{
  g_return_val_if_fail (PRISM_IS_COMPOSITION (self), PRISM_COMPOSITION_MODE_SANDBOX);
  return self->mode;
}

/**
 * prism_composition_set_folder: (set-property folder)
 * @self: a composition that is not bound
 * @folder: (nullable): a folder of the host
 *
 * Sets what the tools work on in host mode.
 *
 * Since: 1.0
 */
void
prism_composition_set_folder (PrismComposition *self, GFile *folder)
{
  g_return_if_fail (PRISM_IS_COMPOSITION (self) && !self->bound);
  g_set_object (&self->folder, folder);
}

/**
 * prism_composition_set_sandbox: (set-property sandbox)
 * @self: a composition that is not bound
 * @sandbox: (nullable): a sandbox
 *
 * Sets what the tools work on in sandbox mode.
 *
 * Since: 1.0
 */
void
prism_composition_set_sandbox (PrismComposition *self, PrismSandbox *sandbox)
{
  g_return_if_fail (PRISM_IS_COMPOSITION (self) && !self->bound);
  g_set_object (&self->sandbox, sandbox);
}

/**
 * prism_composition_set_policy: (set-property policy)
 * @self: a composition that is not bound
 * @policy: (nullable): what decides
 *
 * Sets what every tool asks before it does anything.
 *
 * Since: 1.0
 */
void
prism_composition_set_policy (PrismComposition *self, PrismPolicy *policy)
{
  g_return_if_fail (PRISM_IS_COMPOSITION (self) && !self->bound);
  g_set_object (&self->settings->policy, policy);
}

/**
 * prism_composition_set_suspensions:
 * @self: a composition that is not bound
 * @suspensions: (nullable): where questions are put down
 *
 * From now on ask_user_decision waits for nobody, and question-asked is not emitted: the question is
 * put down, the call fails with %PRISM_TOOL_ERROR_SUSPENDED, and has its answer when it is made again
 * after somebody gave one. What needs approval waits so too where the policy has them
 * ([method@ApprovalPolicy.set_suspensions]).
 *
 * Since: 1.0
 */
void
prism_composition_set_suspensions (PrismComposition *self, PrismSuspensions *suspensions)
{
  g_return_if_fail (PRISM_IS_COMPOSITION (self) && !self->bound);
  g_return_if_fail (suspensions == NULL || PRISM_IS_SUSPENSIONS (suspensions));
  g_set_object (&self->settings->suspensions, suspensions);
}

/**
 * prism_composition_set_tool_policy:
 * @self: a composition that is not bound
 * @tool: a tool's name
 * @policy: what decides for it
 *
 * Sets what one tool asks instead of the policy of all.
 *
 * Since: 1.0
 */
void
prism_composition_set_tool_policy (PrismComposition *self, const char *tool, PrismPolicy *policy)
{
  g_return_if_fail (PRISM_IS_COMPOSITION (self) && !self->bound);
  g_return_if_fail (tool != NULL && PRISM_IS_POLICY (policy));
  g_hash_table_replace (self->settings->policies, g_strdup (tool), g_object_ref (policy));
}

/**
 * prism_composition_set_workspace:
 * @self: a composition that is not bound
 * @workspace: (nullable) (type filename): an absolute path on the host
 *
 * Says which host folder the sandbox's workspace is, where it is one: who is asked for approval
 * sees it, and a model may use its names.
 *
 * Since: 1.0
 */
void
prism_composition_set_workspace (PrismComposition *self, const char *workspace)
{
  g_return_if_fail (PRISM_IS_COMPOSITION (self) && !self->bound);
  g_free (self->settings->workspace);
  self->settings->workspace = g_strdup (workspace);
}

/**
 * prism_composition_set_tree_identity:
 * @self: a composition
 * @identity: (nullable): of the last import or export
 *
 * Notes what the tree was known to be.
 *
 * Since: 1.0
 */
void
prism_composition_set_tree_identity (PrismComposition *self, PrismTreeIdentity *identity)
{
  g_return_if_fail (PRISM_IS_COMPOSITION (self));
  g_clear_pointer (&self->identity, prism_tree_identity_free);
  self->identity = identity != NULL ? prism_tree_identity_copy (identity) : NULL;
}

gboolean
prism_composition_is_name (const char *name)
{
  gsize length = strlen (name);

  if (length == 0 || length > 64 || !g_ascii_isalpha (name[0]))
    return FALSE;
  return strspn (name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") == length;
}

/**
 * prism_composition_add_check:
 * @self: a composition that is not bound
 * @name: a name: a letter, then at most 63 letters, digits, _ and -
 * @argv: (array zero-terminated=1): the command
 * @timeout_ms: how long it may take, at most an hour; 0 = the limit check-timeout-s
 * @error: return location for an error
 *
 * Declares a command that the tool coding_check runs by its name.
 *
 * Returns: whether it was declared
 *
 * Since: 1.0
 */
gboolean
prism_composition_add_check (
    PrismComposition *self, const char *name, const char *const *argv, gint64 timeout_ms, GError **error)
{
  PrismToolCheck *check;

  g_return_val_if_fail (PRISM_IS_COMPOSITION (self) && !self->bound, FALSE);
  g_return_val_if_fail (name != NULL && argv != NULL && argv[0] != NULL, FALSE);

  if (!prism_composition_is_name (name))
    return prism_tool_fail (error, PRISM_TOOL_ERROR_INVALID, "check “%s”: a letter, then letters, digits, _ and -",
                            name);
  if (timeout_ms < 0 || timeout_ms > MOST_TIMEOUT_MS)
    return prism_tool_fail (error, PRISM_TOOL_ERROR_LIMIT, "check %s: at most an hour", name);
  if (self->settings->checks->len >= (guint)self->settings->limits[PRISM_TOOL_LIMIT_CHECKS])
    return prism_tool_fail (error, PRISM_TOOL_ERROR_LIMIT, "check %s: more than the limit checks", name);
  check = g_new0 (PrismToolCheck, 1);
  check->name = g_strdup (name);
  check->argv = g_strdupv ((char **)argv);
  check->timeout_ms = timeout_ms;
  g_ptr_array_add (self->settings->checks, check);
  return TRUE;
}

/**
 * prism_composition_set_limit:
 * @self: a composition that is not bound
 * @name: a limit's name, as `search-matches`
 * @value: at least 1
 * @error: return location for an error
 *
 * Sets one of the tools' limits; docs/tools.md lists them with their bounds.
 *
 * Returns: whether there is such a limit and it may be @value
 *
 * Since: 1.0
 */
gboolean
prism_composition_set_limit (PrismComposition *self, const char *name, gint64 value, GError **error)
{
  int limit;

  g_return_val_if_fail (PRISM_IS_COMPOSITION (self) && !self->bound, FALSE);
  g_return_val_if_fail (name != NULL, FALSE);

  limit = prism_tool_limit_find (name);
  if (limit < 0)
    return prism_tool_fail (error, PRISM_TOOL_ERROR_INVALID, "no limit is called “%s”", name);
  if (value < 1 || value > prism_tool_limit_rows[limit].most)
    return prism_tool_fail (error, PRISM_TOOL_ERROR_LIMIT, "%s: %" G_GINT64_FORMAT " is not 1 to %" G_GINT64_FORMAT,
                            name, value, prism_tool_limit_rows[limit].most);
  self->settings->limits[limit] = value;
  return TRUE;
}

/**
 * prism_composition_get_limit:
 * @self: a composition
 * @name: a limit's name
 *
 * Gets one of the tools' limits.
 *
 * Returns: its value; -1 where no limit has that name
 *
 * Since: 1.0
 */
gint64
prism_composition_get_limit (PrismComposition *self, const char *name)
{
  int limit;

  g_return_val_if_fail (PRISM_IS_COMPOSITION (self), -1);
  g_return_val_if_fail (name != NULL, -1);

  limit = prism_tool_limit_find (name);
  return limit >= 0 ? self->settings->limits[limit] : -1;
}
