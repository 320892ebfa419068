/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* git_branch, git_worktree, git_apply, git_commit: what changes the repository. Nothing is
 * ever pushed. */
#include "prism-tool-git-private.h"

#include <string.h>

static gboolean
is_word (PrismToolRun *run, const char *name, const char *word)
{
  return g_strcmp0 (prism_tool_get_string (run, name), word) == 0;
}

static gboolean
git_ok (PrismToolRun *run, const char *const *args, GBytes *input, GError **error)
{
  g_autofree char *text = prism_tool_git_text (run, args, input, NULL, error);

  return text != NULL;
}

/* With createCheckpoint: what is not committed is put aside, and its id said. */
static gboolean
take_checkpoint (PrismToolRun *run, char **id, GError **error)
{
  *id = NULL;
  if (!prism_tool_get_boolean (run, "createCheckpoint", FALSE))
    return TRUE;
  *id = prism_tool_git_checkpoint (run, error);
  if (*id == NULL)
    return FALSE;
  prism_tool_add_string (run, "checkpoint", **id != '\0' ? *id : NULL);
  return TRUE;
}

/* --- branch ------------------------------------------------------------------------------- */

static gboolean
list_branches (PrismToolRun *run, GError **error)
{
  static const char *const args[] = { "for-each-ref", "--count=1000", "--format=%(refname:short)%09%(objectname)",
                                      "refs/heads", NULL };
  g_autofree char *text = prism_tool_git_text (run, args, NULL, NULL, error);
  g_auto (GStrv) lines = text != NULL ? g_strsplit (text, "\n", -1) : NULL;

  if (text == NULL)
    return FALSE;
  json_builder_set_member_name (run->metadata, "refs");
  json_builder_begin_array (run->metadata);
  for (char **line = lines; *line != NULL; line++)
    if (**line != '\0')
      json_builder_add_string_value (run->metadata, *line);
  json_builder_end_array (run->metadata);
  prism_tool_result_add_text (run->result, *text != '\0' ? text : "[no branch]");
  return TRUE;
}

static gboolean
switch_branch (PrismToolRun *run, const char *name, gboolean create, GError **error)
{
  const char *const switch_to[] = { "switch", "--quiet", "--no-guess", name, NULL };
  const char *const switch_new[] = { "switch", "--quiet", "--create", name, NULL };
  g_autofree char *checkpoint = NULL;
  gboolean dirty = FALSE;

  if (!take_checkpoint (run, &checkpoint, error))
    return FALSE;
  if (checkpoint == NULL && !create && !prism_tool_git_is_dirty (run, &dirty, error))
    return FALSE;
  if (dirty)
    return prism_tool_fail (
        error, PRISM_TOOL_ERROR_CONFLICT,
        "there are changes that are not committed; commit them, or send \"createCheckpoint\": true");
  if (!git_ok (run, create ? switch_new : switch_to, NULL, error))
    return FALSE;
  prism_tool_say (run, "on branch %s", name);
  return TRUE;
}

gboolean
prism_tool_run_git_branch (PrismToolRun *run, GError **error)
{
  const char *name = prism_tool_get_string (run, "name"), *action = prism_tool_get_string (run, "action");
  gboolean looks = is_word (run, "action", "list") || is_word (run, "action", "validate");
  g_autofree char *operation = g_strconcat ("branch_", action, NULL);
  const char *const check[] = { "check-ref-format", "--branch", name, NULL };
  const char *const ask[] = { "git", "switch", name, NULL };

  if (!is_word (run, "action", "list") && name == NULL)
    return prism_tool_fail (error, PRISM_TOOL_ERROR_INVALID, "name: is missing; send the branch's name");
  if (name != NULL && !prism_tool_git_check_ref (run, name, error))
    return FALSE;
  if (!prism_tool_git_authorize (run, operation, looks ? PRISM_RISK_LOW : PRISM_RISK_HIGH,
                                 looks ? PRISM_EFFECT_NONE : PRISM_EFFECT_LOCAL_MUTATION, looks ? NULL : ask, error))
    return FALSE;
  if (is_word (run, "action", "list"))
    return list_branches (run, error);
  if (!git_ok (run, check, NULL, error))
    return FALSE;
  prism_tool_add_string (run, "name", name);
  if (is_word (run, "action", "validate"))
    {
      prism_tool_say (run, "%s may be a branch's name", name);
      return TRUE;
    }
  return switch_branch (run, name, is_word (run, "action", "create"), error);
}

/* --- worktrees ------------------------------------------------------------------------------- */

static guint
add_worktrees (PrismToolRun *run, const char *text, gsize size)
{
  guint n = 0;
  gboolean open = FALSE;

  json_builder_set_member_name (run->metadata, "worktrees");
  json_builder_begin_array (run->metadata);
  for (const char *at = text; at < text + size; at += strlen (at) + 1)
    {
      g_autofree char *shown = NULL;

      if (g_str_has_prefix (at, "worktree "))
        {
          if (open)
            json_builder_end_object (run->metadata);
          json_builder_begin_object (run->metadata);
          open = TRUE;
          shown = prism_tool_show (run, at + 9);
          prism_tool_add_string (run, "path", shown);
          prism_tool_say (run, "%s", shown);
          n++;
        }
      else if (open && g_str_has_prefix (at, "HEAD "))
        prism_tool_add_string (run, "head", at + 5);
      else if (open && g_str_has_prefix (at, "branch "))
        prism_tool_add_string (run, "branch", at + 7);
      else if (open && (g_str_equal (at, "locked") || g_str_has_prefix (at, "locked ")))
        {
          prism_tool_add_boolean (run, "locked", TRUE);
          shown = g_strndup (at + MIN (strlen (at), 7), 1024);
          prism_tool_add_string (run, "lockReason", shown);
        }
    }
  if (open)
    json_builder_end_object (run->metadata);
  json_builder_end_array (run->metadata);
  return n;
}

static gboolean
list_worktrees (PrismToolRun *run, guint *n, GError **error)
{
  static const char *const args[] = { "worktree", "list", "--porcelain", "-z", NULL };
  gsize size = 0;
  g_autofree char *text = prism_tool_git_text (run, args, NULL, &size, error);

  if (text != NULL)
    *n = add_worktrees (run, text, size);
  return text != NULL;
}

static gboolean
change_worktree (PrismToolRun *run, const char *path, GError **error)
{
  const char *branch = prism_tool_get_string (run, "branch");
  gboolean force = prism_tool_get_boolean (run, "force", FALSE);
  const char *const add[] = { "worktree", "add", "--quiet", "--", path, branch, NULL };
  const char *const take[] = { "worktree", "remove", "--", path, NULL };
  const char *const take_force[] = { "worktree", "remove", "--force", "--", path, NULL };
  const char *const lock[] = { "worktree", "lock", "--", path, NULL };
  const char *const unlock[] = { "worktree", "unlock", "--", path, NULL };
  gint64 most = prism_tool_limit (run, PRISM_TOOL_LIMIT_GIT_WORKTREES);
  guint n = 0;

  if (is_word (run, "action", "add"))
    {
      if (branch != NULL && !prism_tool_git_check_ref (run, branch, error))
        return FALSE;
      if (!list_worktrees (run, &n, error))
        return FALSE;
      if ((gint64)n > most)
        return prism_tool_fail (error, PRISM_TOOL_ERROR_LIMIT, "there are %u worktrees already (git-worktrees)", n);
      return git_ok (run, add, NULL, error);
    }
  if (is_word (run, "action", "remove"))
    return git_ok (run, force ? take_force : take, NULL, error);
  return git_ok (run, is_word (run, "action", "lock") ? lock : unlock, NULL, error);
}

gboolean
prism_tool_run_git_worktree (PrismToolRun *run, GError **error)
{
  const char *action = prism_tool_get_string (run, "action"), *written = prism_tool_get_string (run, "path");
  gboolean looks = is_word (run, "action", "list");
  g_autofree char *operation = g_strconcat ("worktree_", action, NULL);
  g_autofree char *path = NULL;
  g_autofree char *shown = NULL;
  const char *ask[] = { "git", "worktree", action, NULL, NULL };
  guint n = 0;

  if (!looks && written == NULL)
    return prism_tool_fail (error, PRISM_TOOL_ERROR_INVALID, "path: is missing; send where the worktree is");
  /* Below the workspace, like everything. */
  path = written != NULL ? prism_tool_resolve (run, written, error) : NULL;
  if (!looks && path == NULL)
    return FALSE;
  ask[3] = path;
  if (!prism_tool_git_authorize (run, operation, looks ? PRISM_RISK_LOW : PRISM_RISK_HIGH,
                                 looks ? PRISM_EFFECT_NONE : PRISM_EFFECT_LOCAL_MUTATION, looks ? NULL : ask, error))
    return FALSE;
  if (looks)
    return list_worktrees (run, &n, error);
  if (!change_worktree (run, path, error))
    return FALSE;
  prism_tool_worktree_changed (run, action, path);
  shown = prism_tool_show (run, path);
  prism_tool_add_string (run, "path", shown);
  prism_tool_say (run, "worktree %s: %s", action, shown);
  return TRUE;
}

/* --- apply -------------------------------------------------------------------------------------- */

static void
add_failure (PrismToolRun *run, GError **error)
{
  prism_tool_add_boolean (run, "ok", FALSE);
  if (error != NULL && *error != NULL)
    prism_tool_add_string (run, "output", (*error)->message);
}

/* git apply changes all files or none; --check comes first so that a patch that does not fit is
 * told as that. Nothing of what was there is ever checked out over. */
static gboolean
apply_patch (PrismToolRun *run, GBytes *patch, GError **error)
{
  gboolean reverse = is_word (run, "action", "reverse");
  const char *const check[] = { "apply", "--check", "-", NULL };
  const char *const check_reverse[] = { "apply", "--check", "--reverse", "-", NULL };
  const char *const apply[] = { "apply", "-", NULL };
  const char *const apply_reverse[] = { "apply", "--reverse", "-", NULL };
  g_autofree char *checkpoint = NULL;

  if (!git_ok (run, reverse ? check_reverse : check, patch, error))
    {
      if (error != NULL && *error != NULL && g_error_matches (*error, PRISM_TOOL_ERROR, PRISM_TOOL_ERROR_FAILED))
        (*error)->code = PRISM_TOOL_ERROR_CONFLICT;
      add_failure (run, error);
      g_prefix_error (error, "the patch does not fit, nothing was changed: ");
      return FALSE;
    }
  if (is_word (run, "action", "check"))
    {
      prism_tool_add_boolean (run, "ok", TRUE);
      prism_tool_say (run, "the patch fits");
      return TRUE;
    }
  if (!take_checkpoint (run, &checkpoint, error))
    return FALSE;
  if (!git_ok (run, reverse ? apply_reverse : apply, patch, error))
    {
      static const char *const pop[] = { "stash", "pop", "--index", "--quiet", NULL };
      gboolean back = checkpoint != NULL && *checkpoint != '\0' && git_ok (run, pop, NULL, NULL);
      add_failure (run, error);
      prism_tool_add_boolean (run, "restored", back);
      return FALSE;
    }
  prism_tool_add_boolean (run, "ok", TRUE);
  prism_tool_changed (run, prism_tree_get_root (run->settings->tree), "edit");
  prism_tool_say (run, reverse ? "took the patch back" : "applied the patch");
  return TRUE;
}

gboolean
prism_tool_run_git_apply (PrismToolRun *run, GError **error)
{
  const char *text = prism_tool_get_string (run, "patch"), *action = prism_tool_get_string (run, "action");
  gboolean looks = is_word (run, "action", "check");
  g_autofree char *operation = g_strconcat ("apply_", action, NULL);
  g_autoptr (GBytes) patch = g_bytes_new (text, strlen (text));
  const char *const ask[] = { "git", "apply", "-", NULL };

  if ((gint64)strlen (text) > prism_tool_limit (run, PRISM_TOOL_LIMIT_GIT_PATCH_BYTES))
    return prism_tool_fail (error, PRISM_TOOL_ERROR_LIMIT, "patch: more than %" G_GINT64_FORMAT " bytes",
                            prism_tool_limit (run, PRISM_TOOL_LIMIT_GIT_PATCH_BYTES));
  return prism_tool_git_authorize (run, operation, looks ? PRISM_RISK_LOW : PRISM_RISK_HIGH,
                                   looks ? PRISM_EFFECT_NONE : PRISM_EFFECT_LOCAL_MUTATION, looks ? NULL : ask, error)
         && apply_patch (run, patch, error);
}

/* --- commit --------------------------------------------------------------------------------------- */

/* What the commit may touch, once it is staged, as an entry of the stash. Nothing of the tree
 * or the index changes for it: what is committed has to stay where it is. */
static gboolean
keep_checkpoint (PrismToolRun *run, GError **error)
{
  static const char *const create[] = { "stash", "create", "prism checkpoint", NULL };
  const char *store[] = { "stash", "store", "--quiet", "--message", "prism checkpoint", NULL, NULL };
  g_autofree char *id = NULL;

  if (!prism_tool_get_boolean (run, "createCheckpoint", FALSE))
    return TRUE;
  id = prism_tool_git_text (run, create, NULL, NULL, error);
  if (id != NULL && *g_strchomp (id) != '\0')
    {
      store[5] = id;
      if (!git_ok (run, store, NULL, error))
        g_clear_pointer (&id, g_free);
    }
  if (id == NULL)
    {
      g_prefix_error (error, "no checkpoint, and nothing was committed: ");
      return FALSE;
    }
  prism_tool_add_string (run, "checkpoint", *id != '\0' ? id : NULL);
  return TRUE;
}

static gboolean
commit (PrismToolRun *run, GPtrArray *paths, GBytes *message, GError **error)
{
  static const char *const which[] = { "rev-parse", "--verify", "HEAD", NULL };
  g_autoptr (GPtrArray) add = g_ptr_array_new ();
  g_autoptr (GPtrArray) make = g_ptr_array_new ();
  g_autofree char *id = NULL;

  g_ptr_array_add (add, (gpointer) "add");
  g_ptr_array_add (add, (gpointer) "--");
  for (const char *const *arg =
           (const char *const[]){ "commit", "--quiet", "--no-verify", "--no-gpg-sign", "--file=-", "--", NULL };
       *arg != NULL; arg++)
    g_ptr_array_add (make, (gpointer)*arg);
  for (guint i = 0; i < paths->len; i++)
    {
      g_ptr_array_add (add, paths->pdata[i]);
      g_ptr_array_add (make, paths->pdata[i]);
    }
  g_ptr_array_add (add, NULL);
  g_ptr_array_add (make, NULL);
  if (!git_ok (run, (const char *const *)add->pdata, NULL, error))
    return FALSE;
  if (!keep_checkpoint (run, error) || !git_ok (run, (const char *const *)make->pdata, message, error))
    {
      /* They are not left staged. */
      add->pdata[0] = (gpointer) "reset";
      g_ptr_array_insert (add, 1, (gpointer) "--quiet");
      git_ok (run, (const char *const *)add->pdata, NULL, NULL);
      return FALSE;
    }
  id = prism_tool_git_text (run, which, NULL, NULL, error);
  if (id == NULL)
    return FALSE;
  g_strchomp (id);
  prism_tool_add_string (run, "sha", id);
  prism_tool_say (run, "committed %s", id);
  return TRUE;
}

gboolean
prism_tool_run_git_commit (PrismToolRun *run, GError **error)
{
  const char *text = prism_tool_get_string (run, "message");
  g_autoptr (GPtrArray) paths = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GBytes) message = g_bytes_new (text, strlen (text));
  static const char *const ask[] = { "git", "commit", NULL };

  if (strspn (text, " \t\r\n") == strlen (text))
    return prism_tool_fail (error, PRISM_TOOL_ERROR_INVALID, "message: is empty; say what the commit does");
  if ((gint64)strlen (text) > prism_tool_limit (run, PRISM_TOOL_LIMIT_GIT_MESSAGE_BYTES))
    return prism_tool_fail (error, PRISM_TOOL_ERROR_LIMIT, "message: more than %" G_GINT64_FORMAT " bytes",
                            prism_tool_limit (run, PRISM_TOOL_LIMIT_GIT_MESSAGE_BYTES));
  return prism_tool_git_add_paths (run, "paths", paths, error)
         && prism_tool_git_authorize (run, "commit", PRISM_RISK_HIGH, PRISM_EFFECT_LOCAL_MUTATION, ask, error)
         && commit (run, paths, message, error);
}
