/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-conversion.h"

G_BEGIN_DECLS

PrismConversion *
prism_conversion_new (const char *path, const char *media_type, GBytes *bytes, gint64 max_bytes, gboolean image);

/* What it was made of; both NULL: nobody does, and *reason may say why. */
typedef struct
{
  char *text;
  guint pages;
  char *truncated_by;
  GBytes *image;
  char *reason;
} PrismConverted;

void prism_converted_clear (PrismConverted *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (PrismConverted, prism_converted_clear)

/* FALSE: it took too long, or was cancelled. */
gboolean prism_conversion_wait (
    PrismConversion *self, gint64 timeout_s, GCancellable *cancellable, PrismConverted *converted, GError **error);

/* By magic bytes; NULL: no image that is shown. */
const char *prism_image_type (const guint8 *data, gsize size);

G_END_DECLS
