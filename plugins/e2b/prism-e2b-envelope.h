/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Connect's envelopes: a byte of flags, a length in four bytes, big-endian, and a payload.
 *
 * TRUST. The bytes are the server's. A length is believed only as far as its bound, and
 * memory is taken for what arrived, never for what was announced. */
#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

#define PRISM_E2B_ENVELOPE_HEAD       5
#define PRISM_E2B_ENVELOPE_MOST_BYTES (4u * 1024u * 1024u)

typedef enum
{
  PRISM_E2B_FRAME_NONE,    /* all was taken and no envelope is complete */
  PRISM_E2B_FRAME_MESSAGE, /* one more message */
  PRISM_E2B_FRAME_END,     /* the stream's end; nothing may follow it */
} PrismE2bFrame;

typedef struct
{
  guint32 most_bytes;
  guint8 head[PRISM_E2B_ENVELOPE_HEAD];
  guint8 n_head;
  guint32 length;      /* of the payload, once the head is complete */
  GByteArray *part;    /* of a payload that came in several pieces */
  gboolean part_given; /* to the caller, by the last call */
  gboolean ended, broken;
} PrismE2bDecoder;

/* @most_bytes: of one payload. */
void prism_e2b_decoder_init (PrismE2bDecoder *self, guint32 most_bytes);
void prism_e2b_decoder_clear (PrismE2bDecoder *self);

/* Takes from what *@data and *@size say as far as the end of one envelope, whose payload
 * stays valid until the next call and as long as the input. FALSE: it broke the protocol
 * (LOST), and so does every later call. */
gboolean prism_e2b_decoder_take (PrismE2bDecoder *self,
                                 const guint8 **data,
                                 gsize *size,
                                 PrismE2bFrame *frame,
                                 const guint8 **payload,
                                 gsize *payload_size,
                                 GError **error);
/* The body is over: whether it was allowed to be. */
gboolean prism_e2b_decoder_finish (PrismE2bDecoder *self, GError **error);

/* One message, as a request's whole body. */
GBytes *prism_e2b_envelope_new (GBytes *payload);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (PrismE2bDecoder, prism_e2b_decoder_clear)

G_END_DECLS
