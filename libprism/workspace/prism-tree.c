/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-tree-private.h"

typedef struct
{
  char *root, *home;
} PrismTreePrivate;

G_DEFINE_ABSTRACT_TYPE_WITH_PRIVATE (PrismTree, prism_tree, G_TYPE_OBJECT)
G_DEFINE_QUARK (prism - tree - fault - quark, prism_tree_fault)

static void
prism_tree_finalize (GObject *object)
{
  PrismTreePrivate *priv = prism_tree_get_instance_private (PRISM_TREE (object));

  g_free (priv->root);
  g_free (priv->home);
  G_OBJECT_CLASS (prism_tree_parent_class)->finalize (object);
}

static void
prism_tree_class_init (PrismTreeClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = prism_tree_finalize;
}

static void
prism_tree_init (PrismTree *self)
{
}

void
prism_tree_set_root (PrismTree *self, const char *root, const char *home)
{
  PrismTreePrivate *priv = prism_tree_get_instance_private (self);

  priv->root = g_strdup (root);
  priv->home = g_strdup (home);
}

const char *
prism_tree_get_root (PrismTree *self)
{
  return ((PrismTreePrivate *)prism_tree_get_instance_private (self))->root;
}

const char *
prism_tree_get_home (PrismTree *self)
{
  return ((PrismTreePrivate *)prism_tree_get_instance_private (self))->home;
}

PrismFileEntry *
prism_tree_stat (PrismTree *self, const char *path, GCancellable *cancellable, GError **error)
{
  return PRISM_TREE_GET_CLASS (self)->stat (self, path, cancellable, error);
}

GBytes *
prism_tree_read (
    PrismTree *self, const char *path, gint64 offset, gint64 length, GCancellable *cancellable, GError **error)
{
  return PRISM_TREE_GET_CLASS (self)->read (self, path, offset, length, cancellable, error);
}

gboolean
prism_tree_write (
    PrismTree *self, const char *path, GBytes *bytes, guint mode, GCancellable *cancellable, GError **error)
{
  return PRISM_TREE_GET_CLASS (self)->write (self, path, bytes, mode, cancellable, error);
}

GPtrArray *
prism_tree_list (PrismTree *self, const char *path, gboolean hidden, GCancellable *cancellable, GError **error)
{
  return PRISM_TREE_GET_CLASS (self)->list (self, path, hidden, cancellable, error);
}

gboolean
prism_tree_remove (PrismTree *self,
                   const char *path,
                   gboolean recursive,
                   gint64 max_entries,
                   gint64 *removed,
                   GCancellable *cancellable,
                   GError **error)
{
  return PRISM_TREE_GET_CLASS (self)->remove (self, path, recursive, max_entries, removed, cancellable, error);
}

gboolean
prism_tree_rename (
    PrismTree *self, const char *from, const char *to, gboolean overwrite, GCancellable *cancellable, GError **error)
{
  return PRISM_TREE_GET_CLASS (self)->rename (self, from, to, overwrite, cancellable, error);
}

gboolean
prism_tree_search (PrismTree *self,
                   const char *path,
                   const PrismTreeQuery *query,
                   PrismTreeFound *found,
                   GCancellable *cancellable,
                   GError **error)
{
  *found = (PrismTreeFound){ NULL, -1, -1, -1, -1, -1, -1, 0 };
  return PRISM_TREE_GET_CLASS (self)->search (self, path, query, found, cancellable, error);
}

void
prism_tree_found_clear (PrismTreeFound *found)
{
  g_clear_pointer (&found->lines, g_bytes_unref);
}

PrismResult *
prism_tree_exec (PrismTree *self, PrismCommand *command, GCancellable *cancellable, GError **error)
{
  return PRISM_TREE_GET_CLASS (self)->exec (self, command, cancellable, error);
}

char *
prism_tree_keep (PrismTree *self, const char *suffix, GBytes *bytes, GCancellable *cancellable, GError **error)
{
  return PRISM_TREE_GET_CLASS (self)->keep (self, suffix, bytes, cancellable, error);
}

PrismTree *
prism_tree_hold (PrismTree *self, const char *const *paths, PrismPathIntent intent, GError **error)
{
  PrismTreeClass *klass = PRISM_TREE_GET_CLASS (self);

  return klass->hold != NULL ? klass->hold (self, paths, intent, error) : g_object_ref (self);
}

const PrismPathIdentity *
prism_tree_get_object (PrismTree *self, guint path)
{
  PrismTreeClass *klass = PRISM_TREE_GET_CLASS (self);

  return klass->get_object != NULL ? klass->get_object (self, path) : NULL;
}

gboolean
prism_tree_verify (PrismTree *self, GError **error)
{
  PrismTreeClass *klass = PRISM_TREE_GET_CLASS (self);

  return klass->verify == NULL || klass->verify (self, error);
}
