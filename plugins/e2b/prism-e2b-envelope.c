/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-e2b-envelope.h"

#include <libprism/prism.h>
#include <string.h>

#define FLAG_END        0x02u
#define FLAG_COMPRESSED 0x01u

void
prism_e2b_decoder_init (PrismE2bDecoder *self, guint32 most_bytes)
{
  *self = (PrismE2bDecoder){ .most_bytes = most_bytes, .part = g_byte_array_new () };
}

void
prism_e2b_decoder_clear (PrismE2bDecoder *self)
{
  g_clear_pointer (&self->part, g_byte_array_unref);
}

static gboolean
broke (PrismE2bDecoder *self, GError **error, const char *what)
{
  self->broken = TRUE;
  g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_LOST, "the stream broke the protocol: %s", what);
  return FALSE;
}

/* Flags and length, as soon as they are known: a payload that will not be accepted is not
 * waited for. */
static gboolean
judge_head (PrismE2bDecoder *self, GError **error)
{
  const guint8 *head = self->head;

  self->length = (guint32)head[1] << 24 | (guint32)head[2] << 16 | (guint32)head[3] << 8 | head[4];
  if ((head[0] & FLAG_COMPRESSED) != 0)
    return broke (self, error, "a compressed message, which was not asked for");
  if ((head[0] & ~FLAG_END) != 0)
    return broke (self, error, "an envelope with flags that are not known");
  if (self->length > self->most_bytes)
    return broke (self, error, "a message that is larger than its bound");
  return TRUE;
}

static void
take (const guint8 **data, gsize *size, gsize n)
{
  *data += n;
  *size -= n;
}

static void
fill_head (PrismE2bDecoder *self, const guint8 **data, gsize *size)
{
  gsize n = MIN (*size, (gsize)(PRISM_E2B_ENVELOPE_HEAD - self->n_head));

  memcpy (self->head + self->n_head, *data, n);
  self->n_head += (guint8)n;
  take (data, size, n);
}

/* Where it came in one piece it is handed on as it lies there. */
static gboolean
fill_payload (PrismE2bDecoder *self, const guint8 **data, gsize *size, const guint8 **payload, gsize *payload_size)
{
  gsize missing = self->length - self->part->len, n = MIN (*size, missing);

  if (self->part->len == 0 && n == missing)
    {
      *payload = *data;
      *payload_size = n;
      take (data, size, n);
      return TRUE;
    }
  g_byte_array_append (self->part, *data, (guint)n);
  take (data, size, n);
  if (n < missing)
    return FALSE;
  *payload = self->part->data;
  *payload_size = self->part->len;
  self->part_given = TRUE;
  return TRUE;
}

gboolean
prism_e2b_decoder_take (PrismE2bDecoder *self,
                        const guint8 **data,
                        gsize *size,
                        PrismE2bFrame *frame,
                        const guint8 **payload,
                        gsize *payload_size,
                        GError **error)
{
  *frame = PRISM_E2B_FRAME_NONE;
  *payload = NULL;
  *payload_size = 0;
  if (self->broken)
    return broke (self, error, "it was broken before");
  if (self->part_given)
    g_byte_array_set_size (self->part, 0);
  self->part_given = FALSE;
  if (*size == 0)
    return TRUE;
  if (self->ended)
    return broke (self, error, "bytes after its end");
  if (self->n_head < PRISM_E2B_ENVELOPE_HEAD)
    {
      fill_head (self, data, size);
      if (self->n_head < PRISM_E2B_ENVELOPE_HEAD)
        return TRUE;
      if (!judge_head (self, error))
        return FALSE;
    }
  if (!fill_payload (self, data, size, payload, payload_size))
    return TRUE;
  self->n_head = 0;
  self->ended = (self->head[0] & FLAG_END) != 0;
  *frame = self->ended ? PRISM_E2B_FRAME_END : PRISM_E2B_FRAME_MESSAGE;
  return TRUE;
}

gboolean
prism_e2b_decoder_finish (PrismE2bDecoder *self, GError **error)
{
  if (self->ended && !self->broken)
    return TRUE;
  if (self->broken)
    return broke (self, error, "it was broken before");
  return broke (self, error,
                self->n_head > 0 ? "it was cut within a message" : "it is over without an end-of-stream message");
}

GBytes *
prism_e2b_envelope_new (GBytes *payload)
{
  gsize size;
  const guint8 *data = g_bytes_get_data (payload, &size);
  guint8 *all;

  g_return_val_if_fail (size <= G_MAXUINT32 - PRISM_E2B_ENVELOPE_HEAD, NULL);
  all = g_malloc (size + PRISM_E2B_ENVELOPE_HEAD);
  all[0] = 0;
  for (guint i = 0; i < 4; i++)
    all[1 + i] = (guint8)(size >> (24 - 8 * i));
  if (size > 0)
    memcpy (all + PRISM_E2B_ENVELOPE_HEAD, data, size);
  return g_bytes_new_take (all, size + PRISM_E2B_ENVELOPE_HEAD);
}
