/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One small file out of the tar that the engine sends it in: what is more, an archive's
 * extensions, links, sparse files, is not a file that is wanted. */
#include "prism-docker-tar.h"

#include <string.h>

#define BLOCK      512
#define SIZE_AT    124
#define SIZE_BYTES 12
#define TYPE_AT    156
#define MOST_BYTES (64 * 1024)

char *
prism_docker_tar_take (GBytes *tar)
{
  gsize size;
  const char *bytes = g_bytes_get_data (tar, &size);
  guint64 length = 0;

  if (bytes == NULL || size < BLOCK || (bytes[TYPE_AT] != '0' && bytes[TYPE_AT] != 0))
    return NULL;
  for (const char *at = bytes + SIZE_AT; at < bytes + SIZE_AT + SIZE_BYTES && *at >= '0' && *at <= '7'; at++)
    length = length * 8 + (guint64)(*at - '0');
  if (length > MOST_BYTES || length > size - BLOCK || memchr (bytes + BLOCK, 0, length) != NULL)
    return NULL;
  return g_strndup (bytes + BLOCK, length);
}
