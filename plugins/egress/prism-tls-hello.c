/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Trust: none. A ClientHello may be cut into records anywhere; it is put together
 * first, in a buffer with a bound, and then read with one cursor that cannot pass
 * its end. Whatever a server might read in another way is WRONG. */
#include "prism-tls-hello.h"

#include <string.h>

#define RECORD_HEADER  5
#define RECORD_MAX     16384
#define MESSAGE_MAX    16384
#define MESSAGE_HEADER 4

#define EXTENSION_SERVER_NAME     0x0000
#define EXTENSION_ENCRYPTED_HELLO 0xfe0d
#define EXTENSION_ENCRYPTED_NAME  0xffce

typedef struct
{
  const guint8 *at, *end;
} Cursor;

static gboolean
take_number (Cursor *cursor, guint bytes, guint *number)
{
  *number = 0;
  if ((gsize)(cursor->end - cursor->at) < bytes)
    return FALSE;
  while (bytes-- > 0)
    *number = *number << 8 | *cursor->at++;
  return TRUE;
}

/* A vector with a length of @bytes in front. */
static gboolean
take_vector (Cursor *cursor, guint bytes, Cursor *inner)
{
  guint length;

  if (!take_number (cursor, bytes, &length) || (gsize)(cursor->end - cursor->at) < length)
    return FALSE;
  *inner = (Cursor){ cursor->at, cursor->at + length };
  cursor->at += length;
  return TRUE;
}

/* Exactly one name, of the one type that there is. */
static gboolean
read_server_name (Cursor extension, char *name)
{
  Cursor list, text;
  guint type;
  gsize length;

  if (!take_vector (&extension, 2, &list) || extension.at != extension.end)
    return FALSE;
  if (!take_number (&list, 1, &type) || type != 0 || !take_vector (&list, 2, &text) || list.at != list.end)
    return FALSE;
  length = (gsize)(text.end - text.at);
  if (length == 0 || length > 255 || memchr (text.at, '\0', length) != NULL)
    return FALSE;
  memcpy (name, text.at, length);
  name[length] = '\0';
  return TRUE;
}

static PrismTlsHello
read_extensions (Cursor extensions, char *name)
{
  gboolean named = FALSE, encrypted = FALSE;

  while (extensions.at < extensions.end)
    {
      Cursor extension;
      guint type;

      if (!take_number (&extensions, 2, &type) || !take_vector (&extensions, 2, &extension))
        return PRISM_TLS_HELLO_WRONG;
      if (type == EXTENSION_ENCRYPTED_HELLO || type == EXTENSION_ENCRYPTED_NAME)
        encrypted = TRUE;
      if (type != EXTENSION_SERVER_NAME)
        continue;
      if (named || !read_server_name (extension, name))
        return PRISM_TLS_HELLO_WRONG;
      named = TRUE;
    }
  if (encrypted)
    return PRISM_TLS_HELLO_ENCRYPTED;
  return named ? PRISM_TLS_HELLO_NAMED : PRISM_TLS_HELLO_UNNAMED;
}

static PrismTlsHello
read_message (Cursor message, char *name)
{
  Cursor session, suites, compression, extensions;
  guint version;

  if (!take_number (&message, 2, &version) || version < 0x0300 || version > 0x03ff || message.end - message.at < 32)
    return PRISM_TLS_HELLO_WRONG;
  message.at += 32; /* random */
  if (!take_vector (&message, 1, &session) || session.end - session.at > 32 || !take_vector (&message, 2, &suites)
      || suites.end - suites.at < 2 || (suites.end - suites.at) % 2 != 0 || !take_vector (&message, 1, &compression)
      || compression.at == compression.end)
    return PRISM_TLS_HELLO_WRONG;
  if (message.at == message.end)
    return PRISM_TLS_HELLO_UNNAMED;
  if (!take_vector (&message, 2, &extensions) || message.at != message.end)
    return PRISM_TLS_HELLO_WRONG;
  return read_extensions (extensions, name);
}

/* Whether the message in @message is all there; its length may only be as large as
 * what it claims to be can get. */
static PrismTlsHello
read_handshake (const guint8 *message, gsize length, char *name)
{
  gsize wanted;

  if (length > 0 && message[0] != 1)
    return PRISM_TLS_HELLO_WRONG;
  if (length < MESSAGE_HEADER)
    return PRISM_TLS_HELLO_MORE;
  wanted = (gsize)message[1] << 16 | (gsize)message[2] << 8 | message[3];
  if (wanted > MESSAGE_MAX - MESSAGE_HEADER)
    return PRISM_TLS_HELLO_WRONG;
  if (length < MESSAGE_HEADER + wanted)
    return PRISM_TLS_HELLO_MORE;
  return read_message ((Cursor){ message + MESSAGE_HEADER, message + MESSAGE_HEADER + wanted }, name);
}

PrismTlsHello
prism_tls_hello_parse (const guint8 *bytes, gsize length, char *name)
{
  guint8 message[MESSAGE_MAX];
  gsize at = 0, have = 0;
  PrismTlsHello result = PRISM_TLS_HELLO_MORE;

  name[0] = '\0';
  if (length > 0 && bytes[0] != 0x16)
    return PRISM_TLS_HELLO_OTHER;
  if (length > 1 && bytes[1] != 3)
    return PRISM_TLS_HELLO_OTHER;
  while (result == PRISM_TLS_HELLO_MORE && length - at >= RECORD_HEADER)
    {
      gsize record = (gsize)bytes[at + 3] << 8 | bytes[at + 4], there;

      if (bytes[at] != 0x16 || bytes[at + 1] != 3 || record == 0 || record > RECORD_MAX)
        return PRISM_TLS_HELLO_WRONG;
      at += RECORD_HEADER;
      there = MIN (record, length - at);
      if (have + there > MESSAGE_MAX)
        there = MESSAGE_MAX - have;
      memcpy (message + have, bytes + at, there);
      have += there;
      at += MIN (record, length - at);
      result = read_handshake (message, have, name);
      if (there < record)
        break;
    }
  return result == PRISM_TLS_HELLO_MORE && length >= PRISM_TLS_HELLO_MAX ? PRISM_TLS_HELLO_WRONG : result;
}
