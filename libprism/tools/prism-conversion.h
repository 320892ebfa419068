/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-tool-error.h"

G_BEGIN_DECLS

/* A file that is no text, which the tool read shows by what a program makes of it: of a
 * document, its text; of an image, perhaps a smaller one. The bytes are whatever lies in the
 * tree: who parses them does it at his own risk, and best in a process of its own. Settled
 * once, from any thread. */
#define PRISM_TYPE_CONVERSION (prism_conversion_get_type ())
PRISM_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (PrismConversion, prism_conversion, PRISM, CONVERSION, GObject)

/* As the model wrote it, or would. */
PRISM_AVAILABLE_IN_1_0
const char *prism_conversion_get_path (PrismConversion *self);
/* By its first bytes, and an office document by its name, too. */
PRISM_AVAILABLE_IN_1_0
const char *prism_conversion_get_media_type (PrismConversion *self);
PRISM_AVAILABLE_IN_1_0
GBytes *prism_conversion_get_bytes (PrismConversion *self);
/* What comes of it may have so many bytes. */
PRISM_AVAILABLE_IN_1_0
gint64 prism_conversion_get_max_bytes (PrismConversion *self);
/* FALSE: it is settled, or its call waits no longer. */
PRISM_AVAILABLE_IN_1_0
gboolean prism_conversion_get_pending (PrismConversion *self);

/* Of a document. pages: 0 where that is not known; truncated_by: why this is not all of it. */
PRISM_AVAILABLE_IN_1_0
gboolean prism_conversion_give_text (
    PrismConversion *self, const char *text, guint pages, const char *truncated_by, GError **error);
/* Of an image: PNG, JPEG, GIF, WebP or BMP. */
PRISM_AVAILABLE_IN_1_0
gboolean prism_conversion_give_image (PrismConversion *self, GBytes *bytes, GError **error);
PRISM_AVAILABLE_IN_1_0
void prism_conversion_decline (PrismConversion *self, const char *reason);

G_END_DECLS
