/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The chunked coding of HTTP/1.1, strictly, a piece at a time. Extensions and
 * trailers are checked, bounded and dropped. Pure. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

typedef enum
{
  PRISM_HTTP_CHUNKS_SIZE,
  PRISM_HTTP_CHUNKS_EXTENSION,
  PRISM_HTTP_CHUNKS_SIZE_LF,
  PRISM_HTTP_CHUNKS_DATA,
  PRISM_HTTP_CHUNKS_DATA_CR,
  PRISM_HTTP_CHUNKS_DATA_LF,
  PRISM_HTTP_CHUNKS_TRAILER,
  PRISM_HTTP_CHUNKS_TRAILER_NAME,
  PRISM_HTTP_CHUNKS_TRAILER_VALUE,
  PRISM_HTTP_CHUNKS_TRAILER_LF,
  PRISM_HTTP_CHUNKS_END_LF,
  PRISM_HTTP_CHUNKS_DONE,
  PRISM_HTTP_CHUNKS_WRONG,
} PrismHttpChunksState;

/* Zeroed is the start of a body. */
typedef struct
{
  PrismHttpChunksState state;
  guint digits; /* of the size that is being read */
  guint extra;  /* bytes of extensions and trailers so far */
  guint64 left; /* of the chunk */
} PrismHttpChunks;

/* Eats some of @bytes, at most up to the end of one piece of payload, which is then
 * in *@data, or of the body. Returns how many; less than @length means: go on,
 * unless the state is DONE or WRONG. */
gsize prism_http_chunks_eat (
    PrismHttpChunks *self, const char *bytes, gsize length, const char **data, gsize *data_length);

/* "SIZE CRLF", for one chunk of @length; @out has room for 20. */
gsize prism_http_chunks_write_size (char *out, gsize length);

G_END_DECLS
