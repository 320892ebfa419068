/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-tree-identity.h"

struct _PrismTreeIdentity
{
  char *sha256;
  guint64 entries, bytes;
};

/**
 * PrismTreeIdentity:
 *
 * What a tree is: the SHA-256 of its canonical tar, and how much is in it. Two
 * trees of the same content have the same identity.
 *
 * Since: 1.0
 */
G_DEFINE_BOXED_TYPE (PrismTreeIdentity, prism_tree_identity, prism_tree_identity_copy, prism_tree_identity_free)

/**
 * prism_tree_identity_new:
 * @sha256: the digest as 64 lower-case hex digits
 * @entries: how many files, folders and links
 * @bytes: content bytes of all files
 *
 * Makes an identity.
 *
 * Returns: (transfer full): an identity
 *
 * Since: 1.0
 */
PrismTreeIdentity *
prism_tree_identity_new (const char *sha256, guint64 entries, guint64 bytes)
{
  PrismTreeIdentity *self;

  g_return_val_if_fail (sha256 != NULL, NULL);

  self = g_new (PrismTreeIdentity, 1);
  *self = (PrismTreeIdentity){ g_strdup (sha256), entries, bytes };
  return self;
}

/**
 * prism_tree_identity_copy:
 * @self: an identity
 *
 * Gets a copy.
 *
 * Returns: (transfer full): a copy
 *
 * Since: 1.0
 */
PrismTreeIdentity *
prism_tree_identity_copy (const PrismTreeIdentity *self)
{
  g_return_val_if_fail (self != NULL, NULL);
  return prism_tree_identity_new (self->sha256, self->entries, self->bytes);
}

/**
 * prism_tree_identity_free:
 * @self: (transfer full): an identity
 *
 * Frees it.
 *
 * Since: 1.0
 */
void
prism_tree_identity_free (PrismTreeIdentity *self)
{
  g_return_if_fail (self != NULL);
  g_free (self->sha256);
  g_free (self);
}

/**
 * prism_tree_identity_get_sha256:
 * @self: an identity
 *
 * Gets 64 lower-case hex digits.
 *
 * Returns: (transfer none): 64 lower-case hex digits
 *
 * Since: 1.0
 */
const char *
prism_tree_identity_get_sha256 (const PrismTreeIdentity *self)
{
  g_return_val_if_fail (self != NULL, NULL);
  return self->sha256;
}

/**
 * prism_tree_identity_get_entries:
 * @self: an identity
 *
 * Tells how many files, folders and links.
 *
 * Returns: how many files, folders and links
 *
 * Since: 1.0
 */
guint64
prism_tree_identity_get_entries (const PrismTreeIdentity *self)
{
  g_return_val_if_fail (self != NULL, 0);
  return self->entries;
}

/**
 * prism_tree_identity_get_bytes:
 * @self: an identity
 *
 * Gets content bytes of all files.
 *
 * Returns: content bytes of all files
 *
 * Since: 1.0
 */
guint64
prism_tree_identity_get_bytes (const PrismTreeIdentity *self)
{
  g_return_val_if_fail (self != NULL, 0);
  return self->bytes;
}
