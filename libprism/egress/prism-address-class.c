/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Judges addresses by their bytes. What is judged comes from a resolver or a
 * client, both hostile; text is never compared, because one address has many
 * spellings. An address that carries another one inside is judged by that one
 * where it is the same place (IPv4-mapped, IPv4-compatible), and is never public
 * where it is a way to it (NAT64, 6to4, Teredo).
 *
 * Not attempted: the machine's own public addresses, which only the proxy knows. */
#include "prism-address-class.h"

#include "prism-host-pattern-private.h"

#include <string.h>

typedef struct
{
  guint8 bytes[4];
  guint8 bits;
  guint8 address_class;
} Range4;

typedef struct
{
  guint8 bytes[16];
  guint8 bits;
  guint8 address_class;
} Range6;

/* In order; the first that fits decides. */
static const Range4 ranges4[] = {
  { { 169, 254, 169, 254 }, 32, PRISM_ADDRESS_CLASS_METADATA },
  { { 169, 254, 170, 2 }, 32, PRISM_ADDRESS_CLASS_METADATA },  /* credentials of a container task */
  { { 169, 254, 170, 23 }, 32, PRISM_ADDRESS_CLASS_METADATA }, /* credentials of a pod */
  { { 169, 254, 42, 42 }, 32, PRISM_ADDRESS_CLASS_METADATA },
  { { 169, 254, 0, 23 }, 32, PRISM_ADDRESS_CLASS_METADATA },
  { { 100, 100, 100, 200 }, 32, PRISM_ADDRESS_CLASS_METADATA },
  { { 168, 63, 129, 16 }, 32, PRISM_ADDRESS_CLASS_METADATA }, /* lies in public space */
  { { 192, 0, 0, 192 }, 32, PRISM_ADDRESS_CLASS_METADATA },
  { { 0 }, 8, PRISM_ADDRESS_CLASS_UNSPECIFIED },
  { { 10 }, 8, PRISM_ADDRESS_CLASS_PRIVATE },
  { { 100, 64 }, 10, PRISM_ADDRESS_CLASS_SHARED },
  { { 127 }, 8, PRISM_ADDRESS_CLASS_LOOPBACK },
  { { 169, 254 }, 16, PRISM_ADDRESS_CLASS_LINK_LOCAL },
  { { 172, 16 }, 12, PRISM_ADDRESS_CLASS_PRIVATE },
  { { 192, 0, 0 }, 24, PRISM_ADDRESS_CLASS_PROTOCOL },
  { { 192, 0, 2 }, 24, PRISM_ADDRESS_CLASS_DOCUMENTATION },
  { { 192, 88, 99 }, 24, PRISM_ADDRESS_CLASS_TRANSLATED }, /* relays of 6to4 */
  { { 192, 168 }, 16, PRISM_ADDRESS_CLASS_PRIVATE },
  { { 198, 18 }, 15, PRISM_ADDRESS_CLASS_BENCHMARK },
  { { 198, 51, 100 }, 24, PRISM_ADDRESS_CLASS_DOCUMENTATION },
  { { 203, 0, 113 }, 24, PRISM_ADDRESS_CLASS_DOCUMENTATION },
  { { 224 }, 4, PRISM_ADDRESS_CLASS_MULTICAST },
  { { 240 }, 4, PRISM_ADDRESS_CLASS_RESERVED },
};

static const Range6 ranges6[] = {
  { { 0xfd, 0, 0x0e, 0xc2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x02, 0x54 }, 128, PRISM_ADDRESS_CLASS_METADATA },
  { { 0xfd, 0, 0x0e, 0xc2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x23 }, 128, PRISM_ADDRESS_CLASS_METADATA },
  { { 0xfd, 0x20, 0, 0xce, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x02, 0x54 }, 128, PRISM_ADDRESS_CLASS_METADATA },
  { { 0xfd, 0, 0, 0x42, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x42 }, 128, PRISM_ADDRESS_CLASS_METADATA },
  { { 0xfd, 0, 0, 0xc1, 0, 0, 0, 0, 0, 0, 0, 0, 0xa9, 0xfe, 0xa9, 0xfe }, 128, PRISM_ADDRESS_CLASS_METADATA },
  { { 0 }, 128, PRISM_ADDRESS_CLASS_UNSPECIFIED },
  { { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1 }, 128, PRISM_ADDRESS_CLASS_LOOPBACK },
  { { 0x01, 0 }, 64, PRISM_ADDRESS_CLASS_RESERVED },                     /* discard */
  { { 0, 0x64, 0xff, 0x9b, 0, 1 }, 48, PRISM_ADDRESS_CLASS_TRANSLATED }, /* NAT64 of one's own */
  { { 0, 0x64, 0xff, 0x9b }, 96, PRISM_ADDRESS_CLASS_TRANSLATED },       /* NAT64 */
  { { 0x20, 0x01 }, 32, PRISM_ADDRESS_CLASS_TRANSLATED },                /* Teredo */
  { { 0x20, 0x01, 0, 0x02 }, 48, PRISM_ADDRESS_CLASS_BENCHMARK },
  { { 0x20, 0x01, 0, 0x10 }, 28, PRISM_ADDRESS_CLASS_RESERVED }, /* ORCHID, twice: hashes, not places */
  { { 0x20, 0x01, 0, 0x20 }, 28, PRISM_ADDRESS_CLASS_RESERVED },
  { { 0x20, 0x01, 0x0d, 0xb8 }, 32, PRISM_ADDRESS_CLASS_DOCUMENTATION },
  { { 0x20, 0x02 }, 16, PRISM_ADDRESS_CLASS_TRANSLATED }, /* 6to4 */
  { { 0x3f, 0xff }, 20, PRISM_ADDRESS_CLASS_DOCUMENTATION },
  { { 0xfc }, 7, PRISM_ADDRESS_CLASS_PRIVATE },
  { { 0xfe, 0x80 }, 10, PRISM_ADDRESS_CLASS_LINK_LOCAL },
  { { 0xfe, 0xc0 }, 10, PRISM_ADDRESS_CLASS_PRIVATE },
  { { 0xff }, 8, PRISM_ADDRESS_CLASS_MULTICAST },
};

static gboolean
in_range (const guint8 *bytes, const guint8 *range, guint bits)
{
  guint whole = bits / 8, rest = bits % 8;

  if (memcmp (bytes, range, whole) != 0)
    return FALSE;
  return rest == 0 || ((bytes[whole] ^ range[whole]) & (0xff << (8 - rest)) & 0xff) == 0;
}

static PrismAddressClass
classify4 (const guint8 *bytes)
{
  for (guint i = 0; i < G_N_ELEMENTS (ranges4); i++)
    if (in_range (bytes, ranges4[i].bytes, ranges4[i].bits))
      return ranges4[i].address_class;
  return PRISM_ADDRESS_CLASS_PUBLIC;
}

/* The IPv4 address that means the same place; NULL if there is none. */
static const guint8 *
same_ipv4 (const guint8 *bytes)
{
  static const guint8 zero[12] = { 0 };
  static const guint8 mapped[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };
  static const guint8 siit[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0 };

  if (memcmp (bytes, mapped, 12) == 0 || memcmp (bytes, siit, 12) == 0)
    return bytes + 12;
  /* IPv4-compatible; ::/128 and ::1 have a meaning of their own. */
  if (memcmp (bytes, zero, 12) == 0 && ((bytes[12] | bytes[13] | bytes[14]) != 0 || bytes[15] > 1))
    return bytes + 12;
  return NULL;
}

/* What is translated is no better than what it leads to. */
static PrismAddressClass
classify_translated (const guint8 *bytes)
{
  guint8 inner[4];

  if (bytes[0] == 0x20 && bytes[1] == 0x02)
    memcpy (inner, bytes + 2, 4);
  else
    memcpy (inner, bytes + 12, 4);
  if (bytes[0] == 0x20 && bytes[1] == 0x01)
    for (guint i = 0; i < 4; i++)
      inner[i] ^= 0xff;
  return classify4 (inner) == PRISM_ADDRESS_CLASS_METADATA ? PRISM_ADDRESS_CLASS_METADATA
                                                           : PRISM_ADDRESS_CLASS_TRANSLATED;
}

static PrismAddressClass
classify6 (const guint8 *bytes)
{
  const guint8 *inner = same_ipv4 (bytes);

  if (inner != NULL)
    return classify4 (inner);
  for (guint i = 0; i < G_N_ELEMENTS (ranges6); i++)
    if (in_range (bytes, ranges6[i].bytes, ranges6[i].bits))
      return ranges6[i].address_class == PRISM_ADDRESS_CLASS_TRANSLATED ? classify_translated (bytes)
                                                                        : ranges6[i].address_class;
  return PRISM_ADDRESS_CLASS_PUBLIC;
}

/**
 * prism_address_class_from_bytes:
 * @bytes: (array length=length): an address in network order
 * @length: 4 for IPv4, 16 for IPv6
 *
 * Tells what kind of place it is; %PRISM_ADDRESS_CLASS_MALFORMED for any other length.
 *
 * Makes what kind of place it is; %PRISM_ADDRESS_CLASS_MALFORMED for any other length.
 *
 * Returns: what kind of place it is; %PRISM_ADDRESS_CLASS_MALFORMED for any
 *   other length
 *
 * Since: 1.0
 */
PrismAddressClass
prism_address_class_from_bytes (const guint8 *bytes, gsize length)
{
  g_return_val_if_fail (bytes != NULL || length == 0, PRISM_ADDRESS_CLASS_MALFORMED);

  if (length == 4)
    return classify4 (bytes);
  return length == 16 ? classify6 (bytes) : PRISM_ADDRESS_CLASS_MALFORMED;
}

/**
 * prism_address_class_from_inet_address:
 * @address: an address
 *
 * Tells what kind of place it is.
 *
 * Makes what kind of place it is.
 *
 * Returns: what kind of place it is
 *
 * Since: 1.0
 */
PrismAddressClass
prism_address_class_from_inet_address (GInetAddress *address)
{
  g_return_val_if_fail (G_IS_INET_ADDRESS (address), PRISM_ADDRESS_CLASS_MALFORMED);

  return prism_address_class_from_bytes (g_inet_address_to_bytes (address), g_inet_address_get_native_size (address));
}

/**
 * prism_address_class_from_string:
 * @text: an address: four decimal numbers, or IPv6 with or without brackets
 *
 * Tells what kind of place it is; %PRISM_ADDRESS_CLASS_MALFORMED if @text is a name, or an address
 * in a form that programs read differently.
 *
 * Makes what kind of place it is; %PRISM_ADDRESS_CLASS_MALFORMED if @text is a name, or an address
 * in a form that programs read differently.
 *
 * Returns: what kind of place it is; %PRISM_ADDRESS_CLASS_MALFORMED if @text is
 *   a name, or an address in a form that programs read differently
 *
 * Since: 1.0
 */
PrismAddressClass
prism_address_class_from_string (const char *text)
{
  PrismHost host;

  g_return_val_if_fail (text != NULL, PRISM_ADDRESS_CLASS_MALFORMED);

  if (prism_host_parse (text, strlen (text), &host) != NULL || host.kind == PRISM_HOST_NAME)
    return PRISM_ADDRESS_CLASS_MALFORMED;
  return prism_address_class_from_bytes (host.address, host.kind == PRISM_HOST_IPV4 ? 4 : 16);
}

/**
 * prism_address_class_get_word:
 * @address_class: a class
 *
 * Tells what messages and audit records call it, such as `loopback` or `link-local`.
 *
 * Tells what messages and audit records call it, such as `loopback` or `link-local`.
 *
 * Returns: (transfer none): what messages and audit records call it, such as
 *   `loopback` or `link-local`
 *
 * Since: 1.0
 */
const char *
prism_address_class_get_word (PrismAddressClass address_class)
{
  static const char *const words[] = { "malformed",     "public",    "unspecified", "loopback",  "link-local",
                                       "private",       "shared",    "metadata",    "multicast", "reserved",
                                       "documentation", "benchmark", "protocol",    "translated" };

  g_return_val_if_fail ((guint)address_class < G_N_ELEMENTS (words), NULL);

  return words[address_class];
}
