/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-file-entry.h"

struct _PrismFileEntry
{
  GObject parent_instance;
  char *path;
  GFileType type;
  guint64 size;
  guint mode;
  gint64 mtime_us;
  gboolean unreadable;
};

enum
{
  PROP_0,
  PROP_PATH,
  PROP_FILE_TYPE,
  PROP_SIZE,
  PROP_MODE,
  PROP_MTIME_US,
  PROP_UNREADABLE,
  N_PROPS
};

static GParamSpec *props[N_PROPS];

/**
 * PrismFileEntry:
 *
 * A file, folder or link inside a sandbox, as it was when it was looked at.
 *
 * Since: 1.0
 */
G_DEFINE_FINAL_TYPE (PrismFileEntry, prism_file_entry, G_TYPE_OBJECT)

static void
prism_file_entry_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  PrismFileEntry *self = PRISM_FILE_ENTRY (object);

  switch (id)
    {
    case PROP_PATH:
      g_value_set_string (value, self->path);
      break;
    case PROP_FILE_TYPE:
      g_value_set_enum (value, self->type);
      break;
    case PROP_SIZE:
      g_value_set_uint64 (value, self->size);
      break;
    case PROP_MODE:
      g_value_set_uint (value, self->mode);
      break;
    case PROP_MTIME_US:
      g_value_set_int64 (value, self->mtime_us);
      break;
    case PROP_UNREADABLE:
      g_value_set_boolean (value, self->unreadable);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    }
}

static void
prism_file_entry_finalize (GObject *object)
{
  g_free (PRISM_FILE_ENTRY (object)->path);
  G_OBJECT_CLASS (prism_file_entry_parent_class)->finalize (object);
}

static void
prism_file_entry_class_init (PrismFileEntryClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  const GParamFlags flags = G_PARAM_READABLE | G_PARAM_STATIC_STRINGS;

  object_class->get_property = prism_file_entry_get_property;
  object_class->finalize = prism_file_entry_finalize;

  /**
   * PrismFileEntry:path:
   *
   * Its absolute path inside the sandbox.
   *
   * Since: 1.0
   */
  props[PROP_PATH] = g_param_spec_string ("path", NULL, NULL, NULL, flags);
  /**
   * PrismFileEntry:file-type:
   *
   * What it is.
   *
   * Since: 1.0
   */
  props[PROP_FILE_TYPE] = g_param_spec_enum ("file-type", NULL, NULL, G_TYPE_FILE_TYPE, G_FILE_TYPE_UNKNOWN, flags);
  /**
   * PrismFileEntry:size:
   *
   * Its content bytes.
   *
   * Since: 1.0
   */
  props[PROP_SIZE] = g_param_spec_uint64 ("size", NULL, NULL, 0, G_MAXUINT64, 0, flags);
  /**
   * PrismFileEntry:mode:
   *
   * Its permission bits.
   *
   * Since: 1.0
   */
  props[PROP_MODE] = g_param_spec_uint ("mode", NULL, NULL, 0, G_MAXUINT, 0, flags);
  /**
   * PrismFileEntry:mtime-us:
   *
   * Its last change, microseconds since the epoch.
   *
   * Since: 1.0
   */
  props[PROP_MTIME_US] = g_param_spec_int64 ("mtime-us", NULL, NULL, G_MININT64, G_MAXINT64, 0, flags);
  /**
   * PrismFileEntry:unreadable:
   *
   * Whether it is a folder of a recursive listing that could not be read, so that what is in it is
   * missing from that listing.
   *
   * Since: 1.0
   */
  props[PROP_UNREADABLE] = g_param_spec_boolean ("unreadable", NULL, NULL, FALSE, flags);
  g_object_class_install_properties (object_class, N_PROPS, props);
}

static void
prism_file_entry_init (PrismFileEntry *self)
{
}

/**
 * prism_file_entry_new:
 * @path: (type filename): absolute, inside the sandbox; bytes as the file system has them
 * @type: what it is: regular, directory, symbolic link, or special
 * @size: content bytes
 * @mode: permission bits
 * @mtime_us: last change, microseconds since the epoch
 *
 * Makes an entry.
 *
 * Returns: (transfer full): an entry
 *
 * Since: 1.0
 */
PrismFileEntry *
prism_file_entry_new (const char *path, GFileType type, guint64 size, guint mode, gint64 mtime_us)
{
  PrismFileEntry *self;

  g_return_val_if_fail (path != NULL, NULL);

  /* Not through properties: a listing makes a hundred thousand of these. */
  self = g_object_new (PRISM_TYPE_FILE_ENTRY, NULL);
  self->path = g_strdup (path);
  self->type = type;
  self->size = size;
  self->mode = mode;
  self->mtime_us = mtime_us;
  return self;
}

/**
 * prism_file_entry_get_path:
 * @self: an entry
 *
 * Gets its absolute path inside the sandbox.
 *
 * Returns: (type filename) (transfer none): its absolute path inside the sandbox
 *
 * Since: 1.0
 */
const char *
prism_file_entry_get_path (PrismFileEntry *self)
{
  g_return_val_if_fail (PRISM_IS_FILE_ENTRY (self), NULL);
  return self->path;
}

/**
 * prism_file_entry_get_file_type:
 * @self: an entry
 *
 * Tells what it is.
 *
 * Returns: what it is
 *
 * Since: 1.0
 */
GFileType
prism_file_entry_get_file_type (PrismFileEntry *self)
{
  g_return_val_if_fail (PRISM_IS_FILE_ENTRY (self), G_FILE_TYPE_UNKNOWN);
  return self->type;
}

/**
 * prism_file_entry_get_size:
 * @self: an entry
 *
 * Gets its content bytes.
 *
 * Returns: its content bytes
 *
 * Since: 1.0
 */
guint64
prism_file_entry_get_size (PrismFileEntry *self)
{
  g_return_val_if_fail (PRISM_IS_FILE_ENTRY (self), 0);
  return self->size;
}

/**
 * prism_file_entry_get_mode:
 * @self: an entry
 *
 * Gets its permission bits.
 *
 * Returns: its permission bits
 *
 * Since: 1.0
 */
guint
prism_file_entry_get_mode (PrismFileEntry *self)
{
  g_return_val_if_fail (PRISM_IS_FILE_ENTRY (self), 0);
  return self->mode;
}

/**
 * prism_file_entry_get_mtime_us:
 * @self: an entry
 *
 * Gets its last change, microseconds since the epoch.
 *
 * Returns: its last change, microseconds since the epoch
 *
 * Since: 1.0
 */
gint64
prism_file_entry_get_mtime_us (PrismFileEntry *self)
{
  g_return_val_if_fail (PRISM_IS_FILE_ENTRY (self), 0);
  return self->mtime_us;
}

/**
 * prism_file_entry_get_unreadable:
 * @self: an entry
 *
 * Tells whether it is a folder of a recursive listing that could not be read, so that what is in
 * it is missing from that listing.
 *
 * Returns: whether it is a folder of a recursive listing that could not be read, so
 *   that what is in it is missing from that listing
 *
 * Since: 1.0
 */
gboolean
prism_file_entry_get_unreadable (PrismFileEntry *self)
{
  g_return_val_if_fail (PRISM_IS_FILE_ENTRY (self), FALSE);
  return self->unreadable;
}

/**
 * prism_file_entry_set_unreadable:
 * @self: an entry that nobody else has yet
 * @unreadable: whether what is in this folder could not be listed
 *
 * For those who implement `list_files`.
 *
 * Since: 1.0
 */
void
prism_file_entry_set_unreadable (PrismFileEntry *self, gboolean unreadable)
{
  g_return_if_fail (PRISM_IS_FILE_ENTRY (self));
  self->unreadable = unreadable != FALSE;
}
