/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Hosts, ports and authorities: one canonical form each, made by pure functions
 * over bytes. Everything that is compared, resolved, sent or written down is the
 * canonical form and nothing else.
 *
 *   name     lower case, without the final dot; letters, digits, hyphen and
 *            underscore in labels of 1 to 63 bytes, 253 in all
 *   IPv4     four decimal numbers without leading zeros
 *   IPv6     as RFC 5952 writes it, without brackets; an IPv4-mapped address is
 *            the IPv4 address that it is
 *
 * Names that are not ASCII are refused, never converted: what a program inside
 * and a rule outside understand by one such name depends on the tables that each
 * was built with. Their xn-- form has one meaning. A name whose last label is a
 * number is refused, because half of all programs read it as an address. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

#define PRISM_HOST_MAX 253

typedef enum
{
  PRISM_HOST_NAME,
  PRISM_HOST_IPV4,
  PRISM_HOST_IPV6,
} PrismHostKind;

typedef struct
{
  PrismHostKind kind;
  guint8 length; /* of text */
  char text[PRISM_HOST_MAX + 1];
  guint8 address[16]; /* network order; the first 4 for IPv4 */
} PrismHost;

/* A host, and whether its subdomains are meant as well (`.domain`). */
typedef struct
{
  PrismHost host;
  gboolean domain;
} PrismHostPattern;

/* These return NULL, or what is wrong as a phrase that follows "HOST: ". */

/* A name, an IPv4 address, or an IPv6 address with or without brackets. */
const char *prism_host_parse (const char *text, gsize length, PrismHost *host);

/* 1 to 65535 in plain decimal. */
const char *prism_port_parse (const char *text, gsize length, guint16 *port);

/* HOST or HOST:PORT; IPv6 in brackets. *@port is 0 where none was given. */
const char *prism_authority_parse (const char *text, gsize length, PrismHost *host, guint16 *port);

/* A host as above, or `.domain`. */
const char *prism_host_pattern_parse (const char *text, gsize length, PrismHostPattern *pattern);

gboolean prism_host_pattern_matches (const PrismHostPattern *pattern, const PrismHost *host);

G_END_DECLS
