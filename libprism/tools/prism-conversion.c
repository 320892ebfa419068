/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* TRUST: the bytes are a stranger's, and what they are turned into is checked again: by its
 * first bytes and its size. */
#include "prism-conversion-private.h"

#include <string.h>

struct _PrismConversion
{
  GObject parent_instance;

  char *path, *media_type;
  GBytes *bytes;
  gint64 max_bytes;
  gboolean image;

  GMutex lock;
  GCond changed;
  gboolean settled;
  PrismConverted converted;
};

/**
 * PrismConversion:
 *
 * A file that is no text, which a program may turn into something that a model reads.
 *
 * Since: 1.0
 */
G_DEFINE_FINAL_TYPE (PrismConversion, prism_conversion, G_TYPE_OBJECT)

void
prism_converted_clear (PrismConverted *self)
{
  g_clear_pointer (&self->text, g_free);
  g_clear_pointer (&self->truncated_by, g_free);
  g_clear_pointer (&self->image, g_bytes_unref);
  g_clear_pointer (&self->reason, g_free);
}

static void
prism_conversion_finalize (GObject *object)
{
  PrismConversion *self = PRISM_CONVERSION (object);

  g_free (self->path);
  g_free (self->media_type);
  g_bytes_unref (self->bytes);
  prism_converted_clear (&self->converted);
  g_mutex_clear (&self->lock);
  g_cond_clear (&self->changed);
  G_OBJECT_CLASS (prism_conversion_parent_class)->finalize (object);
}

static void
prism_conversion_class_init (PrismConversionClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = prism_conversion_finalize;
}

static void
prism_conversion_init (PrismConversion *self)
{
  g_mutex_init (&self->lock);
  g_cond_init (&self->changed);
}

PrismConversion *
prism_conversion_new (const char *path, const char *media_type, GBytes *bytes, gint64 max_bytes, gboolean image)
{
  PrismConversion *self = g_object_new (PRISM_TYPE_CONVERSION, NULL);

  self->path = g_strdup (path);
  self->media_type = g_strdup (media_type);
  self->bytes = g_bytes_ref (bytes);
  self->max_bytes = max_bytes;
  self->image = image;
  return self;
}

/* --- what it is ------------------------------------------------------------------------------ */

/**
 * prism_conversion_get_path:
 * @self: a conversion
 *
 * Gets which file it is.
 *
 * Returns: (transfer none): its path, relative to the workspace
 *
 * Since: 1.0
 */
const char *
prism_conversion_get_path (PrismConversion *self)
{
  g_return_val_if_fail (PRISM_IS_CONVERSION (self), NULL);
  return self->path;
}

/**
 * prism_conversion_get_media_type:
 * @self: a conversion
 *
 * Gets what it looks like: nothing vouches for it.
 *
 * Returns: (transfer none): as `application/pdf` or `image/png`
 *
 * Since: 1.0
 */
const char *
prism_conversion_get_media_type (PrismConversion *self)
{
  g_return_val_if_fail (PRISM_IS_CONVERSION (self), NULL);
  return self->media_type;
}

/**
 * prism_conversion_get_bytes:
 * @self: a conversion
 *
 * Gets all of the file.
 *
 * Returns: (transfer none): its content
 *
 * Since: 1.0
 */
GBytes *
prism_conversion_get_bytes (PrismConversion *self)
{
  g_return_val_if_fail (PRISM_IS_CONVERSION (self), NULL);
  return self->bytes;
}

/**
 * prism_conversion_get_max_bytes:
 * @self: a conversion
 *
 * Gets how large what comes of it may be.
 *
 * Returns: bytes
 *
 * Since: 1.0
 */
gint64
prism_conversion_get_max_bytes (PrismConversion *self)
{
  g_return_val_if_fail (PRISM_IS_CONVERSION (self), 0);
  return self->max_bytes;
}

/**
 * prism_conversion_get_pending:
 * @self: a conversion
 *
 * Tells whether somebody waits for what comes of it.
 *
 * Returns: whether somebody waits
 *
 * Since: 1.0
 */
gboolean
prism_conversion_get_pending (PrismConversion *self)
{
  gboolean pending;

  g_return_val_if_fail (PRISM_IS_CONVERSION (self), FALSE);

  g_mutex_lock (&self->lock);
  pending = !self->settled;
  g_mutex_unlock (&self->lock);
  return pending;
}

/* --- what comes of it -------------------------------------------------------------------------- */

/* Takes what @converted holds. */
static gboolean
settle (PrismConversion *self, PrismConverted *converted, GError **error)
{
  gboolean first;

  g_mutex_lock (&self->lock);
  first = !self->settled;
  if (first)
    {
      self->settled = TRUE;
      self->converted = *converted;
      *converted = (PrismConverted){ 0 };
      g_cond_broadcast (&self->changed);
    }
  g_mutex_unlock (&self->lock);
  prism_converted_clear (converted);
  if (!first)
    g_set_error_literal (error, PRISM_TOOL_ERROR, PRISM_TOOL_ERROR_INVALID,
                         "it was settled already, or nobody waits for it any more");
  return first;
}

static gboolean
is_small (PrismConversion *self, gsize size, GError **error)
{
  if (size <= (gsize)self->max_bytes)
    return TRUE;
  g_set_error (error, PRISM_TOOL_ERROR, PRISM_TOOL_ERROR_LIMIT,
               "%" G_GSIZE_FORMAT " bytes are more than %" G_GINT64_FORMAT, size, self->max_bytes);
  return FALSE;
}

/**
 * prism_conversion_give_text:
 * @self: a conversion of a document
 * @text: what it says
 * @pages: how many pages it has; 0: that is not known
 * @truncated_by: (nullable): why that is not all of it, in a word
 * @error: return location for an error
 *
 * Gives a document's text, from any thread. The model sees it page by page, like any text.
 * What does not fit is refused, and the conversion stays open.
 *
 * Returns: whether this is what is shown
 *
 * Since: 1.0
 */
gboolean
prism_conversion_give_text (
    PrismConversion *self, const char *text, guint pages, const char *truncated_by, GError **error)
{
  PrismConverted converted = { 0 };

  g_return_val_if_fail (PRISM_IS_CONVERSION (self), FALSE);
  g_return_val_if_fail (text != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  if (self->image)
    {
      g_set_error_literal (error, PRISM_TOOL_ERROR, PRISM_TOOL_ERROR_TYPE, "an image is shown as an image");
      return FALSE;
    }
  if (!is_small (self, strlen (text), error))
    return FALSE;
  converted.text = g_utf8_make_valid (text, -1);
  converted.pages = pages;
  converted.truncated_by = g_strdup (truncated_by);
  return settle (self, &converted, error);
}

/**
 * prism_conversion_give_image:
 * @self: a conversion of an image
 * @bytes: an image: PNG, JPEG, GIF, WebP or BMP
 * @error: return location for an error
 *
 * Gives the image that is shown in the place of the file, from any thread. What does not fit is
 * refused, and the conversion stays open.
 *
 * Returns: whether this is what is shown
 *
 * Since: 1.0
 */
gboolean
prism_conversion_give_image (PrismConversion *self, GBytes *bytes, GError **error)
{
  PrismConverted converted = { 0 };
  const guint8 *data;
  gsize size;

  g_return_val_if_fail (PRISM_IS_CONVERSION (self), FALSE);
  g_return_val_if_fail (bytes != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  data = g_bytes_get_data (bytes, &size);
  if (!self->image)
    {
      g_set_error_literal (error, PRISM_TOOL_ERROR, PRISM_TOOL_ERROR_TYPE, "a document is shown as text");
      return FALSE;
    }
  if (!is_small (self, size, error))
    return FALSE;
  if (prism_image_type (data, size) == NULL)
    {
      g_set_error_literal (error, PRISM_TOOL_ERROR, PRISM_TOOL_ERROR_TYPE,
                           "that is no PNG, JPEG, GIF, WebP or BMP image");
      return FALSE;
    }
  converted.image = g_bytes_ref (bytes);
  return settle (self, &converted, error);
}

/**
 * prism_conversion_decline:
 * @self: a conversion
 * @reason: (nullable): why, for the model to read
 *
 * Says that nothing comes of it: an image is shown as it is, a document not at all. From any
 * thread; once it is settled it does nothing.
 *
 * Since: 1.0
 */
void
prism_conversion_decline (PrismConversion *self, const char *reason)
{
  PrismConverted converted = { 0 };

  g_return_if_fail (PRISM_IS_CONVERSION (self));

  converted.reason = g_strdup (reason);
  settle (self, &converted, NULL);
}

/* --- waiting ------------------------------------------------------------------------------------- */

static void
wake (GCancellable *cancellable, gpointer data)
{
  PrismConversion *self = data;

  g_mutex_lock (&self->lock);
  g_cond_broadcast (&self->changed);
  g_mutex_unlock (&self->lock);
}

gboolean
prism_conversion_wait (
    PrismConversion *self, gint64 timeout_s, GCancellable *cancellable, PrismConverted *converted, GError **error)
{
  gint64 ends = g_get_monotonic_time () + timeout_s * G_USEC_PER_SEC;
  gulong id = cancellable != NULL ? g_cancellable_connect (cancellable, G_CALLBACK (wake), self, NULL) : 0;
  gboolean late = FALSE, settled;

  g_mutex_lock (&self->lock);
  while (!self->settled && !late && !g_cancellable_is_cancelled (cancellable))
    late = !g_cond_wait_until (&self->changed, &self->lock, ends);
  settled = self->settled;
  self->settled = TRUE;
  *converted = self->converted;
  self->converted = (PrismConverted){ 0 };
  g_mutex_unlock (&self->lock);
  if (id != 0)
    g_cancellable_disconnect (cancellable, id);
  if (!settled && g_cancellable_is_cancelled (cancellable))
    g_set_error_literal (error, PRISM_TOOL_ERROR, PRISM_TOOL_ERROR_CANCELLED, "cancelled");
  else if (!settled)
    g_set_error (error, PRISM_TOOL_ERROR, PRISM_TOOL_ERROR_TIMEOUT,
                 "%s: who turns it into something to read took more than %" G_GINT64_FORMAT " s", self->path,
                 timeout_s);
  return settled;
}

/* --- images ---------------------------------------------------------------------------------------- */

static const struct
{
  const char *type, *magic;
  gsize size, at;
} images[] = {
  { "image/png", "\211PNG\r\n\032\n", 8, 0 },
  { "image/jpeg", "\377\330\377", 3, 0 },
  { "image/gif", "GIF87a", 6, 0 },
  { "image/gif", "GIF89a", 6, 0 },
  { "image/webp", "WEBP", 4, 8 },
  { "image/bmp", "BM", 2, 0 },
};

const char *
prism_image_type (const guint8 *data, gsize size)
{
  for (guint i = 0; i < G_N_ELEMENTS (images); i++)
    if (size >= images[i].at + images[i].size && memcmp (data + images[i].at, images[i].magic, images[i].size) == 0)
      {
        /* "BM" begins words, too: then there is no NUL in what follows, which is a size. */
        if (g_str_equal (images[i].type, "image/bmp") && (size < 26 || memchr (data, 0, 14) == NULL))
          continue;
        if (g_str_equal (images[i].type, "image/webp") && memcmp (data, "RIFF", 4) != 0)
          continue;
        return images[i].type;
      }
  return NULL;
}
