/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-types.h"

G_BEGIN_DECLS

/**
 * PrismAddressClass:
 * @PRISM_ADDRESS_CLASS_MALFORMED: not an address, or not in a form that has one meaning only
 * @PRISM_ADDRESS_CLASS_PUBLIC: an ordinary address of the Internet
 * @PRISM_ADDRESS_CLASS_UNSPECIFIED: 0.0.0.0/8 or ::, which reach this machine
 * @PRISM_ADDRESS_CLASS_LOOPBACK: this machine
 * @PRISM_ADDRESS_CLASS_LINK_LOCAL: this link
 * @PRISM_ADDRESS_CLASS_PRIVATE: a private network, IPv6 unique local and site-local among them
 * @PRISM_ADDRESS_CLASS_SHARED: a provider's own network (100.64.0.0/10)
 * @PRISM_ADDRESS_CLASS_METADATA: a cloud's metadata service, which hands out credentials
 * @PRISM_ADDRESS_CLASS_MULTICAST: many machines
 * @PRISM_ADDRESS_CLASS_RESERVED: broadcast, discard and what was never handed out
 * @PRISM_ADDRESS_CLASS_DOCUMENTATION: for examples only
 * @PRISM_ADDRESS_CLASS_BENCHMARK: for network tests only
 * @PRISM_ADDRESS_CLASS_PROTOCOL: the IETF's protocol assignments (192.0.0.0/24)
 * @PRISM_ADDRESS_CLASS_TRANSLATED: a tunnel or translator to another address: NAT64, 6to4, Teredo
 *
 * What kind of place an address is.
 *
 * Since: 1.0
 */
typedef enum
{
  PRISM_ADDRESS_CLASS_MALFORMED,
  PRISM_ADDRESS_CLASS_PUBLIC,
  PRISM_ADDRESS_CLASS_UNSPECIFIED,
  PRISM_ADDRESS_CLASS_LOOPBACK,
  PRISM_ADDRESS_CLASS_LINK_LOCAL,
  PRISM_ADDRESS_CLASS_PRIVATE,
  PRISM_ADDRESS_CLASS_SHARED,
  PRISM_ADDRESS_CLASS_METADATA,
  PRISM_ADDRESS_CLASS_MULTICAST,
  PRISM_ADDRESS_CLASS_RESERVED,
  PRISM_ADDRESS_CLASS_DOCUMENTATION,
  PRISM_ADDRESS_CLASS_BENCHMARK,
  PRISM_ADDRESS_CLASS_PROTOCOL,
  PRISM_ADDRESS_CLASS_TRANSLATED,
} PrismAddressClass;

PRISM_AVAILABLE_IN_1_0
PrismAddressClass prism_address_class_from_bytes (const guint8 *bytes, gsize length);
PRISM_AVAILABLE_IN_1_0
PrismAddressClass prism_address_class_from_inet_address (GInetAddress *address);
PRISM_AVAILABLE_IN_1_0
PrismAddressClass prism_address_class_from_string (const char *text);
PRISM_AVAILABLE_IN_1_0
const char *prism_address_class_get_word (PrismAddressClass address_class);

G_END_DECLS
