/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A sandbox's workspace. Every name is resolved inside, by the sandbox's agent, below the
 * workspace; nothing resolves on the host. TRUST: names and contents come from inside and
 * are the tools' to judge; counts are checked to be numbers. */
#include "prism-sandbox-tree-private.h"

#include <string.h>

#include "prism-sandbox-ask-private.h"

#define DEADLINE_MS 30000
#define HOME        "/home/prism"

struct _PrismSandboxTree
{
  PrismTree parent_instance;

  PrismSandbox *sandbox;
};

G_DEFINE_FINAL_TYPE (PrismSandboxTree, prism_sandbox_tree, PRISM_TYPE_TREE)

/* A sandbox's codes are wider than what a tool has to know: what ends the message in the
 * agent's own words says the rest. */
static const struct
{
  int code;
  const char *words; /* (nullable): in the message */
  PrismTreeFault fault;
} faults[] = {
  { PRISM_SANDBOX_ERROR_DENIED, "leads outside", PRISM_TREE_FAULT_ESCAPE },
  { PRISM_SANDBOX_ERROR_FAILED, "exists already", PRISM_TREE_FAULT_EXISTS },
  { PRISM_SANDBOX_ERROR_FAILED, "not of the right type", PRISM_TREE_FAULT_TYPE },
  { PRISM_SANDBOX_ERROR_INVALID, NULL, PRISM_TREE_FAULT_INVALID },
  { PRISM_SANDBOX_ERROR_NOT_FOUND, NULL, PRISM_TREE_FAULT_NOT_FOUND },
  { PRISM_SANDBOX_ERROR_DENIED, NULL, PRISM_TREE_FAULT_DENIED },
  { PRISM_SANDBOX_ERROR_LIMIT, NULL, PRISM_TREE_FAULT_LIMIT },
  { PRISM_SANDBOX_ERROR_TIMEOUT, NULL, PRISM_TREE_FAULT_TIMEOUT },
  { PRISM_SANDBOX_ERROR_CANCELLED, NULL, PRISM_TREE_FAULT_CANCELLED },
  { PRISM_SANDBOX_ERROR_STATE, NULL, PRISM_TREE_FAULT_LOST },
  { PRISM_SANDBOX_ERROR_LOST, NULL, PRISM_TREE_FAULT_UNKNOWN },
};

static void
take_fault (GError **error, GError *from)
{
  PrismTreeFault fault = PRISM_TREE_FAULT_FAILED;

  for (guint i = 0; from->domain == PRISM_SANDBOX_ERROR && i < G_N_ELEMENTS (faults); i++)
    if (from->code == faults[i].code && (faults[i].words == NULL || strstr (from->message, faults[i].words) != NULL))
      {
        fault = faults[i].fault;
        break;
      }
  g_set_error_literal (error, PRISM_TREE_FAULT, (int)fault, from->message);
  g_error_free (from);
}

static gpointer
ask (PrismTree *tree,
     PrismFileMethod method,
     const PrismFileRequest *request,
     gint64 deadline_ms,
     GCancellable *cancellable,
     GError **error)
{
  PrismSandboxTree *self = PRISM_SANDBOX_TREE (tree);
  PrismFileRequest beneath = *request;
  GError *wrong = NULL;
  gpointer answer;

  beneath.flags |= PRISM_FILE_FLAGS_BENEATH;
  answer = prism_sandbox_ask_file (self->sandbox, method, &beneath, deadline_ms, cancellable, &wrong);
  if (answer == NULL)
    take_fault (error, wrong);
  return answer;
}

static PrismFileEntry *
sandbox_tree_stat (PrismTree *tree, const char *path, GCancellable *cancellable, GError **error)
{
  return ask (tree, PRISM_FILE_METHOD_STAT, &(PrismFileRequest){ .path = path }, DEADLINE_MS, cancellable, error);
}

static GBytes *
sandbox_tree_read (
    PrismTree *tree, const char *path, gint64 offset, gint64 length, GCancellable *cancellable, GError **error)
{
  return ask (tree, PRISM_FILE_METHOD_READ, &(PrismFileRequest){ .path = path, .offset = offset, .length = length },
              DEADLINE_MS, cancellable, error);
}

static gboolean
sandbox_tree_write (
    PrismTree *tree, const char *path, GBytes *bytes, guint mode, GCancellable *cancellable, GError **error)
{
  return ask (tree, PRISM_FILE_METHOD_WRITE,
              &(PrismFileRequest){ .path = path, .bytes = bytes, .mode = mode, .flags = PRISM_FILE_FLAGS_PARENTS },
              DEADLINE_MS, cancellable, error)
         != NULL;
}

static GPtrArray *
sandbox_tree_list (PrismTree *tree, const char *path, gboolean hidden, GCancellable *cancellable, GError **error)
{
  g_autoptr (GListModel) entries = ask (
      tree, PRISM_FILE_METHOD_LIST, &(PrismFileRequest){ .path = path, .flags = hidden ? PRISM_FILE_FLAGS_HIDDEN : 0 },
      DEADLINE_MS, cancellable, error);
  GPtrArray *sorted;

  if (entries == NULL)
    return NULL;
  sorted = g_ptr_array_new_full (g_list_model_get_n_items (entries), g_object_unref);
  for (guint i = 0; i < g_list_model_get_n_items (entries); i++)
    g_ptr_array_add (sorted, g_list_model_get_item (entries, i));
  return sorted;
}

static gboolean
sandbox_tree_remove (PrismTree *tree,
                     const char *path,
                     gboolean recursive,
                     gint64 max_entries,
                     gint64 *removed,
                     GCancellable *cancellable,
                     GError **error)
{
  gsize counted = GPOINTER_TO_SIZE (ask (
      tree, PRISM_FILE_METHOD_REMOVE,
      &(PrismFileRequest){ .path = path, .length = max_entries, .flags = recursive ? PRISM_FILE_FLAGS_RECURSIVE : 0 },
      DEADLINE_MS, cancellable, error));

  /* From inside: never more than were to be removed. */
  *removed = (gint64)(max_entries > 0 ? MIN (counted, (gsize)max_entries) : counted);
  return counted > 0;
}

static gboolean
sandbox_tree_rename (
    PrismTree *tree, const char *from, const char *to, gboolean overwrite, GCancellable *cancellable, GError **error)
{
  return ask (tree, PRISM_FILE_METHOD_RENAME,
              &(PrismFileRequest){
                  .path = from, .destination = to, .flags = overwrite ? PRISM_FILE_FLAGS_OVERWRITE : 0 },
              DEADLINE_MS, cancellable, error)
         != NULL;
}

/* The counts are the last line: an empty path, 0, 0, and seven numbers. */
static gsize
read_counts (const char *lines, gsize size, PrismTreeFound *found)
{
  const char *last;
  gint64 numbers[7];
  char *end;

  if (size == 0 || lines[size - 1] != '\n')
    return size;
  last = memrchr (lines, '\n', size - 1);
  last = last != NULL ? last + 1 : lines;
  if (lines + size - last < 6 || memcmp (last, "\0000\0000\0", 5) != 0)
    return size;
  end = (char *)last + 5;
  for (guint i = 0; i < G_N_ELEMENTS (numbers); i++)
    {
      const char *from = end;
      numbers[i] = g_ascii_strtoll (from, &end, 10);
      if (end == from || numbers[i] < 0 || (*end != ' ' && *end != '\n'))
        return size;
    }
  found->entries = numbers[0];
  found->files = numbers[1];
  found->bytes = numbers[2];
  found->binary = numbers[3];
  found->large = numbers[4];
  found->long_lines = numbers[5];
  found->cut = numbers[6] == 1 || numbers[6] == 2 ? (guint)numbers[6] : 0;
  return (gsize)(last - lines);
}

static gboolean
sandbox_tree_search (PrismTree *tree,
                     const char *path,
                     const PrismTreeQuery *query,
                     PrismTreeFound *found,
                     GCancellable *cancellable,
                     GError **error)
{
  PrismFileFlags flags = PRISM_FILE_FLAGS_SOURCES | (query->ignore_case ? PRISM_FILE_FLAGS_IGNORE_CASE : 0)
                         | (query->hidden ? PRISM_FILE_FLAGS_HIDDEN : 0);
  g_autoptr (GBytes) lines =
      ask (tree, PRISM_FILE_METHOD_SEARCH,
           &(PrismFileRequest){ .path = path,
                                .query = query->query,
                                .length = query->max_matches,
                                .flags = flags,
                                .bounds = { query->context, query->scan_bytes, query->file_bytes, query->line_bytes } },
           query->timeout_ms, cancellable, error);
  const char *text;
  gsize size;

  if (lines == NULL)
    return FALSE;
  text = g_bytes_get_data (lines, &size);
  found->lines = g_bytes_new_from_bytes (lines, 0, read_counts (text, size, found));
  return TRUE;
}

static PrismResult *
sandbox_tree_exec (PrismTree *tree, PrismCommand *command, GCancellable *cancellable, GError **error)
{
  PrismSandboxTree *self = PRISM_SANDBOX_TREE (tree);
  GError *wrong = NULL;
  PrismResult *result = prism_sandbox_exec (self->sandbox, command, cancellable, &wrong);

  if (result == NULL)
    take_fault (error, wrong);
  return result;
}

static char *
sandbox_tree_keep (PrismTree *tree, const char *suffix, GBytes *bytes, GCancellable *cancellable, GError **error)
{
  g_autofree char *random = g_uuid_string_random ();
  g_autofree char *path = g_strconcat ("/tmp/prism-", random, suffix, NULL);
  GError *wrong = NULL;

  if (prism_sandbox_write_file (PRISM_SANDBOX_TREE (tree)->sandbox, path, bytes, 0600, PRISM_FILE_FLAGS_NONE,
                                cancellable, &wrong))
    return g_steal_pointer (&path);
  take_fault (error, wrong);
  return NULL;
}

static void
prism_sandbox_tree_finalize (GObject *object)
{
  g_clear_object (&PRISM_SANDBOX_TREE (object)->sandbox);
  G_OBJECT_CLASS (prism_sandbox_tree_parent_class)->finalize (object);
}

static void
prism_sandbox_tree_class_init (PrismSandboxTreeClass *klass)
{
  PrismTreeClass *tree = PRISM_TREE_CLASS (klass);

  G_OBJECT_CLASS (klass)->finalize = prism_sandbox_tree_finalize;
  tree->stat = sandbox_tree_stat;
  tree->read = sandbox_tree_read;
  tree->write = sandbox_tree_write;
  tree->list = sandbox_tree_list;
  tree->remove = sandbox_tree_remove;
  tree->rename = sandbox_tree_rename;
  tree->search = sandbox_tree_search;
  tree->exec = sandbox_tree_exec;
  tree->keep = sandbox_tree_keep;
}

static void
prism_sandbox_tree_init (PrismSandboxTree *self)
{
}

PrismTree *
prism_sandbox_tree_new (PrismSandbox *sandbox, GError **error)
{
  g_autofree char *workspace = prism_sandbox_dup_workspace (sandbox);
  PrismSandboxTree *self;

  if (workspace == NULL || workspace[0] != '/')
    {
      g_set_error_literal (error, PRISM_TREE_FAULT, PRISM_TREE_FAULT_INVALID,
                           "the sandbox does not say where its workspace is");
      return NULL;
    }
  self = g_object_new (PRISM_TYPE_SANDBOX_TREE, NULL);
  self->sandbox = g_object_ref (sandbox);
  prism_tree_set_root (PRISM_TREE (self), workspace, HOME);
  return PRISM_TREE (self);
}
