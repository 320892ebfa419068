/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Properties of the address classes that hold for every address; the ranges
 * themselves are a table, tests/verdicts/addresses.tsv. */
#include "prism-address-class.h"

#include <string.h>

#define N 50000

static void
fill (guint8 *bytes, gsize size)
{
  for (gsize i = 0; i < size; i++)
    bytes[i] = (guint8)g_test_rand_int_range (0, 256);
}

/* GIO has an opinion of its own about some of them. */
static void
check_with_gio (const guint8 *bytes, GSocketFamily family)
{
  g_autoptr (GInetAddress) address = g_inet_address_new_from_bytes (bytes, family);
  PrismAddressClass address_class = prism_address_class_from_inet_address (address);

  g_assert_cmpint (address_class, !=, PRISM_ADDRESS_CLASS_MALFORMED);
  if (g_inet_address_get_is_any (address) || g_inet_address_get_is_loopback (address)
      || g_inet_address_get_is_link_local (address) || g_inet_address_get_is_site_local (address)
      || g_inet_address_get_is_multicast (address))
    g_assert_cmpint (address_class, !=, PRISM_ADDRESS_CLASS_PUBLIC);
  if (family == G_SOCKET_FAMILY_IPV4 && g_inet_address_get_is_loopback (address))
    g_assert_cmpint (address_class, ==, PRISM_ADDRESS_CLASS_LOOPBACK);
}

static void
test_gio_agrees (void)
{
  static const guint8 heads4[] = { 0, 10, 100, 127, 169, 172, 192, 198, 203, 224, 240, 255 };
  static const guint8 heads6[] = { 0, 0x20, 0x3f, 0xfc, 0xfd, 0xfe, 0xff };

  for (guint i = 0; i < N; i++)
    {
      guint8 bytes[16];

      fill (bytes, sizeof bytes);
      check_with_gio (bytes, G_SOCKET_FAMILY_IPV4);
      check_with_gio (bytes, G_SOCKET_FAMILY_IPV6);
      bytes[0] = heads4[i % G_N_ELEMENTS (heads4)];
      check_with_gio (bytes, G_SOCKET_FAMILY_IPV4);
      bytes[0] = heads6[i % G_N_ELEMENTS (heads6)];
      check_with_gio (bytes, G_SOCKET_FAMILY_IPV6);
    }
}

/* The same place in IPv6 is no better than it is in IPv4, and what leads to it by
 * a translator is never public. */
static void
test_embedded (void)
{
  static const guint8 prefixes[][12] = {
    { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff }, /* mapped */
    { 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0 }, /* SIIT */
    { 0, 0x64, 0xff, 0x9b },                      /* NAT64 */
    { 0, 0x64, 0xff, 0x9b, 0, 1, 7, 7 },          /* NAT64 of one's own */
  };

  for (guint i = 0; i < N; i++)
    {
      guint8 inner[4], outer[16];
      PrismAddressClass inner_class;

      fill (inner, sizeof inner);
      if (i % 4 == 0)
        memcpy (inner, (const guint8[]){ 169, 254, 169, 254 }, 4);
      inner_class = prism_address_class_from_bytes (inner, 4);
      for (guint j = 0; j < G_N_ELEMENTS (prefixes); j++)
        {
          PrismAddressClass outer_class;

          memcpy (outer, prefixes[j], 12);
          memcpy (outer + 12, inner, 4);
          outer_class = prism_address_class_from_bytes (outer, 16);
          if (j < 2)
            g_assert_cmpint (outer_class, ==, inner_class);
          else if (inner_class == PRISM_ADDRESS_CLASS_METADATA)
            g_assert_cmpint (outer_class, ==, PRISM_ADDRESS_CLASS_METADATA);
          else
            g_assert_cmpint (outer_class, ==, PRISM_ADDRESS_CLASS_TRANSLATED);
        }
    }
}

static void
test_lengths (void)
{
  const guint8 bytes[32] = { 8, 8, 8, 8 };

  for (gsize length = 0; length <= sizeof bytes; length++)
    if (length == 4)
      g_assert_cmpint (prism_address_class_from_bytes (bytes, length), ==, PRISM_ADDRESS_CLASS_PUBLIC);
    else if (length != 16)
      g_assert_cmpint (prism_address_class_from_bytes (bytes, length), ==, PRISM_ADDRESS_CLASS_MALFORMED);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/egress-address/gio-agrees", test_gio_agrees);
  g_test_add_func ("/egress-address/embedded", test_embedded);
  g_test_add_func ("/egress-address/lengths", test_lengths);
  return g_test_run ();
}
