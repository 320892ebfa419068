/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* git_status, git_diff, git_pr_handoff: what changes nothing of the repository. */
#include "prism-tool-git-private.h"
#include "prism-tool-table-private.h"

#include <string.h>

/* --- status --------------------------------------------------------------------------- */

typedef struct
{
  PrismToolRun *run;
  GString *text;
  gint64 most, entries;
  gboolean cut, detached, initial;
  char *oid, *head, *upstream;
  gint64 ahead, behind;
} Status;

static void
read_header (Status *self, const char *line)
{
  if (g_str_has_prefix (line, "# branch.oid "))
    {
      self->initial = g_str_equal (line + 13, "(initial)");
      self->oid = self->initial ? NULL : g_strdup (line + 13);
    }
  else if (g_str_has_prefix (line, "# branch.head "))
    {
      self->detached = g_str_equal (line + 14, "(detached)");
      self->head = self->detached ? NULL : g_strdup (line + 14);
    }
  else if (g_str_has_prefix (line, "# branch.upstream "))
    self->upstream = g_strdup (line + 18);
  else if (g_str_has_prefix (line, "# branch.ab +"))
    {
      char *end;
      self->ahead = g_ascii_strtoll (line + 13, &end, 10);
      self->behind = *end == ' ' ? -g_ascii_strtoll (end + 1, NULL, 10) : 0;
    }
}

/* What follows so many blanks. */
static const char *
field (const char *line, guint blanks)
{
  for (; blanks > 0 && line != NULL; blanks--)
    {
      line = strchr (line, ' ');
      line = line != NULL ? line + 1 : NULL;
    }
  return line;
}

static void
add_entry (Status *self, const char *kind, const char *states, const char *path, const char *from)
{
  g_autofree char *shown = prism_tool_escape (path);
  g_autofree char *shown_from = from != NULL ? prism_tool_escape (from) : NULL;

  if (self->entries++ >= self->most)
    {
      self->cut = TRUE;
      return;
    }
  g_string_append_printf (self->text, "%s %.2s %s%s%s\n", kind, states, shown, from != NULL ? " from " : "",
                          from != NULL ? shown_from : "");
  json_builder_begin_object (self->run->metadata);
  prism_tool_add_string (self->run, "kind", kind);
  prism_tool_add_string (self->run, "path", shown);
  if (from != NULL)
    prism_tool_add_string (self->run, "from", shown_from);
  {
    g_autofree char *two = g_strndup (states, 2);
    prism_tool_add_string (self->run, "state", two);
  }
  json_builder_end_object (self->run->metadata);
}

/* One record; answers with what follows it and, for a rename, its old name. */
static const char *
read_record (Status *self, const char *line, const char *end)
{
  const char *next = line + strnlen (line, (gsize)(end - line)) + 1, *path;

  switch (line[0])
    {
    case '#':
      read_header (self, line);
      break;
    case '1':
      if ((path = field (line, 8)) != NULL)
        add_entry (self, "ordinary", line + 2, path, NULL);
      break;
    case 'u':
      if ((path = field (line, 10)) != NULL)
        add_entry (self, "unmerged", line + 2, path, NULL);
      break;
    case '2':
      if ((path = field (line, 9)) != NULL && next < end)
        add_entry (self, *field (line, 8) == 'C' ? "copy" : "rename", line + 2, path, next);
      if (next < end)
        next += strnlen (next, (gsize)(end - next)) + 1;
      break;
    case '?':
      add_entry (self, "untracked", "??", line + 2, NULL);
      break;
    case '!':
      add_entry (self, "ignored", "!!", line + 2, NULL);
      break;
    default:
      break;
    }
  return next;
}

static void
answer_branch (Status *self)
{
  PrismToolRun *run = self->run;

  json_builder_set_member_name (run->metadata, "branch");
  json_builder_begin_object (run->metadata);
  prism_tool_add_string (run, "oid", self->oid);
  prism_tool_add_string (run, "head", self->head);
  prism_tool_add_boolean (run, "detached", self->detached);
  prism_tool_add_string (run, "upstream", self->upstream);
  prism_tool_add_integer (run, "ahead", self->ahead);
  prism_tool_add_integer (run, "behind", self->behind);
  prism_tool_add_boolean (run, "initial", self->initial);
  json_builder_end_object (run->metadata);
}

gboolean
prism_tool_run_git_status (PrismToolRun *run, GError **error)
{
  const char *args[] = {
    "status", "--porcelain=v2", "-z", "--branch", "--untracked-files=all", "--ignore-submodules=dirty", NULL, NULL
  };
  Status self = { .run = run, .most = prism_tool_limit (run, PRISM_TOOL_LIMIT_GIT_STATUS_FILES) };
  g_autofree char *text = NULL;
  gsize size = 0;

  if (prism_tool_get_boolean (run, "includeIgnored", FALSE))
    args[6] = "--ignored=traditional";
  if (!prism_tool_git_authorize (run, "status", PRISM_RISK_LOW, PRISM_EFFECT_NONE, NULL, error))
    return FALSE;
  text = prism_tool_git_text (run, args, NULL, &size, error);
  if (text == NULL)
    return FALSE;
  self.text = g_string_new (NULL);
  json_builder_set_member_name (run->metadata, "entries");
  json_builder_begin_array (run->metadata);
  for (const char *at = text; at < text + size;)
    at = read_record (&self, at, text + size);
  json_builder_end_array (run->metadata);
  answer_branch (&self);
  prism_tool_add_boolean (run, "dirty", self.entries > 0);
  prism_tool_add_boolean (run, "truncated", self.cut);
  prism_tool_say (run, "on %s%s\n%s%s", self.head != NULL ? self.head : "a commit: ",
                  self.head != NULL  ? ""
                  : self.oid != NULL ? self.oid
                                     : "?",
                  self.text->str,
                  self.entries == 0 ? "nothing to commit\n"
                  : self.cut        ? "[more files changed]\n"
                                    : "");
  g_string_free (self.text, TRUE);
  g_free (self.oid);
  g_free (self.head);
  g_free (self.upstream);
  return TRUE;
}

/* --- artifacts -------------------------------------------------------------------------------- */

/* @path: where it is kept. */
static void
add_artifact (PrismToolRun *run, const char *kind, const char *path, GBytes *bytes)
{
  g_autofree char *uri = g_filename_to_uri (path, NULL, NULL);
  g_autofree char *sha256 = g_compute_checksum_for_bytes (G_CHECKSUM_SHA256, bytes);

  json_builder_set_member_name (run->metadata, "artifact");
  json_builder_begin_object (run->metadata);
  prism_tool_add_string (run, "kind", kind);
  prism_tool_add_string (run, "uri", uri);
  prism_tool_add_string (run, "sha256", sha256);
  prism_tool_add_integer (run, "bytes", (gint64)g_bytes_get_size (bytes));
  json_builder_end_object (run->metadata);
}

static gboolean
keep_artifact (PrismToolRun *run, const char *kind, GBytes *bytes, GError **error)
{
  g_autofree char *suffix = g_strconcat (".", kind, NULL);
  GError *fault = NULL;
  g_autofree char *path = prism_tree_keep (run->settings->place, suffix, bytes, run->cancellable, &fault);

  if (path == NULL)
    {
      prism_tool_take_fault (error, fault);
      return FALSE;
    }
  add_artifact (run, kind, path, bytes);
  prism_tool_say (run, "[the %s: %s]", kind, path);
  return TRUE;
}

/* --- diff ----------------------------------------------------------------------------------- */

gboolean
prism_tool_run_git_diff (PrismToolRun *run, GError **error)
{
  g_autoptr (GPtrArray) args = g_ptr_array_new_with_free_func (g_free);
  gint64 most = prism_tool_limit (run, PRISM_TOOL_LIMIT_GIT_DIFF_LINES), lines = 0;
  g_autofree char *text = NULL;
  gsize size = 0;
  g_autoptr (GBytes) whole = NULL;
  char *cut = NULL;

  g_ptr_array_add (args, g_strdup ("diff"));
  g_ptr_array_add (args, g_strdup ("--no-ext-diff"));
  g_ptr_array_add (args, g_strdup ("--no-textconv"));
  g_ptr_array_add (args, g_strdup ("--no-color"));
  g_ptr_array_add (args, g_strdup ("--ignore-submodules=dirty"));
  if (prism_tool_get_boolean (run, "staged", FALSE))
    g_ptr_array_add (args, g_strdup ("--cached"));
  g_ptr_array_add (args, g_strdup ("--"));
  if (!prism_tool_git_add_paths (run, "paths", args, error)
      || !prism_tool_git_authorize (run, "diff", PRISM_RISK_LOW, PRISM_EFFECT_NONE, NULL, error))
    return FALSE;
  g_ptr_array_add (args, NULL);
  text = prism_tool_git_text (run, (const char *const *)args->pdata, NULL, &size, error);
  if (text == NULL)
    return FALSE;
  for (char *p = text; *p != '\0'; p++)
    if (*p == '\n' && ++lines == most && p[1] != '\0')
      cut = p + 1;
  if (cut != NULL)
    whole = g_bytes_new (text, size);
  if (cut != NULL)
    *cut = '\0';
  prism_tool_result_add_text (run->result, *text != '\0' ? text : "[no difference]");
  if (whole != NULL)
    {
      /* It is there to be helpful: without it the answer still says what is missing. */
      g_autofree char *path = prism_tree_keep (run->settings->place, ".diff", whole, run->cancellable, NULL);
      prism_tool_say (run, "[%" G_GINT64_FORMAT " of %" G_GINT64_FORMAT " lines; name paths to see the others%s%s]",
                      most, lines, path != NULL ? "; all of it: " : "", path != NULL ? path : "");
      if (path != NULL)
        add_artifact (run, "diff", path, whole);
    }
  prism_tool_add_boolean (run, "truncated", cut != NULL);
  prism_tool_add_integer (run, "lineCount", lines);
  return TRUE;
}

/* --- hand-off ----------------------------------------------------------------------------------- */

static char *
commit_of (PrismToolRun *run, const char *ref, GError **error)
{
  g_autofree char *wanted = g_strconcat (ref, "^{commit}", NULL);
  const char *const args[] = { "rev-parse", "--verify", "--quiet", "--end-of-options", wanted, NULL };
  char *id;

  if (!prism_tool_git_check_ref (run, ref, error))
    return NULL;
  id = prism_tool_git_text (run, args, NULL, NULL, error);
  if (id == NULL)
    g_prefix_error (error, "%s: no commit: ", ref);
  return id != NULL ? g_strchomp (id) : NULL;
}

static char *
between (PrismToolRun *run,
         const char *base,
         const char *dots,
         const char *head,
         const char *what,
         const char *how,
         GError **error)
{
  g_autofree char *range = g_strconcat (base, dots, head, NULL);
  const char *const log[] = { "log", "--format=%H%x09%s", how, "--end-of-options", range, "--", NULL };
  const char *const diff[] = { "diff", "--no-ext-diff",    "--no-textconv", "--no-color", "--ignore-submodules=dirty",
                               how,    "--end-of-options", range,           "--",         NULL };

  return prism_tool_git_text (run, g_str_equal (what, "log") ? log : diff, NULL, NULL, error);
}

static guint
add_lines (PrismToolRun *run, const char *name, const char *text)
{
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  guint n = 0;

  json_builder_set_member_name (run->metadata, name);
  json_builder_begin_array (run->metadata);
  for (char **line = lines; *line != NULL; line++)
    if (**line != '\0')
      {
        g_autofree char *shown = prism_tool_escape (*line);
        json_builder_add_string_value (run->metadata, shown);
        n++;
      }
  json_builder_end_array (run->metadata);
  return n;
}

/* A bundle names a ref: that is what one fetches from it. NULL without @error: none is asked for. */
static char *
bundle_ref (PrismToolRun *run, const char *head, GError **error)
{
  const char *const args[] = { "rev-parse", "--symbolic-full-name", "--verify", "--end-of-options", head, NULL };
  g_autofree char *name = NULL;

  if (!prism_tool_get_boolean (run, "includeBundle", FALSE))
    return NULL;
  if (g_str_equal (head, "HEAD"))
    return g_strdup (head);
  name = prism_tool_git_text (run, args, NULL, NULL, error);
  if (name != NULL && !g_str_has_prefix (g_strchomp (name), "refs/"))
    {
      prism_tool_fail (error, PRISM_TOOL_ERROR_INVALID,
                       "includeBundle: head has to be a branch, a tag or HEAD, which the bundle then has");
      return NULL;
    }
  return g_steal_pointer (&name);
}

/* What a bundle's head says that its ref is: lines "OID REF" after those of what it needs. */
static gboolean
has_tip (const char *bundle, gsize size, const char *head, const char *ref)
{
  g_autofree char *wanted = g_strdup_printf ("%s %s", head, ref);
  const char *end = bundle + size, *next;

  for (const char *line = bundle; line < end && *line != '\n'; line = next + 1)
    {
      next = memchr (line, '\n', (gsize)(end - line));
      if (next == NULL)
        return FALSE;
      if ((gsize)(next - line) == strlen (wanted) && memcmp (line, wanted, strlen (wanted)) == 0)
        return TRUE;
    }
  return FALSE;
}

/* @head: the commit that everything else in the answer is about. */
static gboolean
add_bundle (PrismToolRun *run, const char *base, const char *head, const char *ref, GError **error)
{
  g_autofree char *range = g_strconcat (base, "..", ref, NULL);
  const char *const args[] = { "bundle", "create", "--quiet", "-", range, NULL };
  gint64 most = prism_tool_limit (run, PRISM_TOOL_LIMIT_GIT_HANDOFF_BYTES);
  gsize size = 0;
  g_autofree char *data = prism_tool_git_text (run, args, NULL, &size, error);
  g_autoptr (GBytes) bytes = data != NULL ? g_bytes_new_take (g_steal_pointer (&data), size) : NULL;

  if (bytes == NULL)
    return FALSE;
  if ((gint64)size > most)
    return prism_tool_fail (error, PRISM_TOOL_ERROR_LIMIT,
                            "the bundle is larger than %" G_GINT64_FORMAT " bytes (git-handoff-bytes)", most);
  if (!has_tip (g_bytes_get_data (bytes, NULL), size, head, ref))
    return prism_tool_fail (error, PRISM_TOOL_ERROR_CONFLICT, "%s is not %s any more: call again", ref, head);
  return keep_artifact (run, "bundle", bytes, error);
}

/* Where a repository comes from, without who fetches from there and with what. */
static char *
bare_url (const char *url)
{
  const char *scheme = strstr (url, "://"), *from = scheme != NULL ? scheme + 3 : url;
  gsize host = strcspn (from, scheme != NULL ? "/?#" : ":/"), length = strcspn (from, "?#");
  const char *at = memrchr (from, '@', host);
  g_autoptr (GString) bare = g_string_new_len (url, from - url);

  if (scheme == NULL && from[0] == '/')
    at = NULL;
  if (at != NULL)
    {
      length -= (gsize)(at + 1 - from);
      from = at + 1;
    }
  g_string_append_len (bare, from, (gssize)length);
  return g_string_free (g_steal_pointer (&bare), FALSE);
}

/* Its first line; NULL: it has nothing to say, which is no error. */
static char *
ask_git (PrismToolRun *run, const char *const *args, GError **error)
{
  g_autoptr (PrismResult) result = prism_tool_git (run, args, NULL, error);
  g_autofree char *text = NULL;

  if (result == NULL || prism_result_get_exit_code (result) != 0)
    return NULL;
  text = prism_result_dup_stdout_text (result);
  text[strcspn (text, "\n")] = '\0';
  return g_steal_pointer (&text);
}

/* The same for every clone: SHA-256 of where it comes from, NUL, and its default branch. */
static gboolean
add_repository (PrismToolRun *run, GError **error)
{
  static const char *const which[] = { "config", "--get", "remote.origin.url", NULL };
  static const char *const branch[] = { "symbolic-ref", "--quiet", "--short", "refs/remotes/origin/HEAD", NULL };
  GError *wrong = NULL;
  g_autofree char *url = ask_git (run, which, &wrong);
  g_autofree char *head = url != NULL ? ask_git (run, branch, &wrong) : NULL;
  g_autofree char *bare = url != NULL ? bare_url (url) : NULL;
  g_autoptr (GChecksum) sum = g_checksum_new (G_CHECKSUM_SHA256);

  if (wrong != NULL)
    {
      g_propagate_error (error, wrong);
      return FALSE;
    }
  if (bare != NULL)
    {
      const char *name = head != NULL && g_str_has_prefix (head, "origin/") ? head + 7 : "";
      g_checksum_update (sum, (const guchar *)bare, (gssize)strlen (bare) + 1);
      g_checksum_update (sum, (const guchar *)name, (gssize)strlen (name));
    }
  prism_tool_add_string (run, "repository", bare != NULL ? g_checksum_get_string (sum) : NULL);
  return TRUE;
}

static gboolean
hand_off (PrismToolRun *run, const char *base, const char *head, const char *ref, GError **error)
{
  gint64 most_bytes = prism_tool_limit (run, PRISM_TOOL_LIMIT_GIT_HANDOFF_BYTES);
  gint64 most_commits = prism_tool_limit (run, PRISM_TOOL_LIMIT_GIT_HANDOFF_COMMITS);
  g_autofree char *max = g_strdup_printf ("--max-count=%" G_GINT64_FORMAT, most_commits + 1);
  g_autofree char *commits = between (run, base, "..", head, "log", max, error);
  g_autofree char *names = commits != NULL ? between (run, base, "...", head, "diff", "--name-only", error) : NULL;
  g_autofree char *stat = names != NULL ? between (run, base, "...", head, "diff", "--stat=100,80,200", error) : NULL;
  g_autofree char *patch = stat != NULL ? between (run, base, "...", head, "diff", "--binary", error) : NULL;
  g_autoptr (GBytes) bytes = NULL;
  guint n;

  if (patch == NULL)
    return FALSE;
  prism_tool_add_string (run, "base", base);
  prism_tool_add_string (run, "head", head);
  n = add_lines (run, "commits", commits);
  add_lines (run, "changedPaths", names);
  prism_tool_add_string (run, "diffstat", stat);
  if ((gint64)n > most_commits)
    return prism_tool_fail (error, PRISM_TOOL_ERROR_LIMIT,
                            "more than %" G_GINT64_FORMAT " commits (git-handoff-commits)", most_commits);
  if ((gint64)strlen (patch) > most_bytes)
    return prism_tool_fail (error, PRISM_TOOL_ERROR_LIMIT,
                            "the patch is larger than %" G_GINT64_FORMAT " bytes (git-handoff-bytes)", most_bytes);
  if (!prism_tool_add_checks (run, prism_tool_get_array (run, "checks"), error))
    return FALSE;
  if (!add_repository (run, error))
    return FALSE;
  bytes = g_bytes_new (patch, strlen (patch));
  if (ref != NULL ? !add_bundle (run, base, head, ref, error) : !keep_artifact (run, "patch", bytes, error))
    return FALSE;
  prism_tool_say (run, "%u commits\n%s\n%s", n, commits, stat);
  prism_tool_result_add_text (run->result, patch);
  return TRUE;
}

gboolean
prism_tool_run_git_pr_handoff (PrismToolRun *run, GError **error)
{
  const char *head_ref = prism_tool_get_string (run, "head");
  g_autofree char *base = NULL;
  g_autofree char *head = NULL;
  g_autofree char *ref = NULL;
  GError *wrong = NULL;

  if (!prism_tool_git_authorize (run, "pr_handoff", PRISM_RISK_MEDIUM, PRISM_EFFECT_EXTERNAL_MUTATION, NULL, error)
      || !prism_tool_checks_may_run (run, prism_tool_get_array (run, "checks"), error))
    return FALSE;
  if (head_ref == NULL)
    head_ref = "HEAD";
  base = commit_of (run, prism_tool_get_string (run, "base"), error);
  head = base != NULL ? commit_of (run, head_ref, error) : NULL;
  if (head == NULL)
    return FALSE;
  ref = bundle_ref (run, head_ref, &wrong);
  if (wrong != NULL)
    {
      g_propagate_error (error, wrong);
      return FALSE;
    }
  return hand_off (run, base, head, ref, error);
}
