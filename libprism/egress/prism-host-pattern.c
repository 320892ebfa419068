/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The bytes come from inside a sandbox, or from a file that somebody was sent.
 * Whatever has more than one reading is refused; nothing is trimmed or repaired. */
#include "prism-host-pattern-private.h"

#include <arpa/inet.h>
#include <string.h>

#define MAX_LABEL 63

static gboolean
is_name_byte (char c)
{
  return g_ascii_isalnum (c) || c == '-' || c == '_';
}

/* Why a byte cannot be in a host, in the words of who wrote it. */
static const char *
explain_byte (const char *text, gsize length)
{
  for (gsize i = 0; i < length; i++)
    {
      if ((guchar)text[i] >= 0x80)
        return "a name that is not ASCII has to be written in its xn-- form";
      if (text[i] == '*')
        return "there are no wildcards; .DOMAIN means a domain and its subdomains";
      if (text[i] == '/')
        return "a host has no path and no prefix length";
      if (text[i] == '@')
        return "a host has no user name";
      if (text[i] == '%')
        return "percent signs and zone ids are not allowed";
      if (text[i] == '[' || text[i] == ']')
        return "brackets are for IPv6 addresses only";
      if (text[i] == ':')
        return "an IPv6 address is malformed, or there is a colon too many";
    }
  return "only letters, digits, hyphen, underscore and dots between them";
}

static const char *
set_address (PrismHost *host, int family)
{
  static const guint8 mapped[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };

  if (family == AF_INET6 && memcmp (host->address, mapped, 12) == 0)
    {
      memmove (host->address, host->address + 12, 4);
      memset (host->address + 4, 0, 12);
      family = AF_INET;
    }
  host->kind = family == AF_INET ? PRISM_HOST_IPV4 : PRISM_HOST_IPV6;
  inet_ntop (family, host->address, host->text, sizeof host->text);
  host->length = (guint8)strlen (host->text);
  return NULL;
}

static const char *
parse_ipv6 (const char *text, gsize length, PrismHost *host)
{
  char copy[INET6_ADDRSTRLEN];

  if (length >= sizeof copy || memchr (text, '\0', length) != NULL)
    return "an IPv6 address is malformed";
  memcpy (copy, text, length);
  copy[length] = '\0';
  if (inet_pton (AF_INET6, copy, host->address) != 1)
    return strchr (copy, '%') != NULL ? "zone ids are not allowed" : "an IPv6 address is malformed";
  return set_address (host, AF_INET6);
}

/* inet_pton() reads exactly four decimal numbers without leading zeros. */
static gboolean
parse_ipv4 (const char *text, gsize length, PrismHost *host)
{
  char copy[INET_ADDRSTRLEN];

  if (length >= sizeof copy || memchr (text, '\0', length) != NULL)
    return FALSE;
  memcpy (copy, text, length);
  copy[length] = '\0';
  return inet_pton (AF_INET, copy, host->address) == 1;
}

/* What inet_aton() and browsers would take for a number: 127, 0177, 0x7f. */
static gboolean
is_number (const char *label, gsize length)
{
  gboolean hex = length >= 2 && label[0] == '0' && (label[1] == 'x' || label[1] == 'X');

  for (gsize i = hex ? 2 : 0; i < length; i++)
    if (hex ? !g_ascii_isxdigit (label[i]) : !g_ascii_isdigit (label[i]))
      return FALSE;
  return TRUE;
}

static const char *
check_label (const char *label, gsize length)
{
  if (length == 0)
    return "a label between dots is empty";
  if (length > MAX_LABEL)
    return "a label is longer than 63 bytes";
  if (label[0] == '-' || label[length - 1] == '-')
    return "a label starts or ends with a hyphen";
  return NULL;
}

static const char *
parse_name (const char *text, gsize length, PrismHost *host)
{
  gsize start = 0, end;
  const char *wrong;

  end = length > 1 && text[length - 1] == '.' ? length - 1 : length;
  if (end > PRISM_HOST_MAX)
    return "longer than 253 bytes";
  for (gsize i = 0; i <= end; i++)
    {
      if (i < end && text[i] != '.')
        {
          if (!is_name_byte (text[i]))
            return explain_byte (text, length);
          host->text[i] = g_ascii_tolower (text[i]);
          continue;
        }
      wrong = check_label (text + start, i - start);
      if (wrong != NULL)
        return wrong;
      if (i == end && is_number (text + start, i - start))
        return "an address is four decimal numbers without leading zeros, and a name does not end in a number";
      host->text[i] = '.';
      start = i + 1;
    }
  host->text[end] = '\0';
  host->length = (guint8)end;
  host->kind = PRISM_HOST_NAME;
  return NULL;
}

const char *
prism_host_parse (const char *text, gsize length, PrismHost *host)
{
  host->length = 0;
  host->text[0] = '\0';
  memset (host->address, 0, sizeof host->address);
  if (length == 0)
    return "a host is empty";
  if (text[0] == '[')
    return text[length - 1] == ']' && memchr (text, ':', length) != NULL ? parse_ipv6 (text + 1, length - 2, host)
                                                                         : explain_byte (text, length);
  if (memchr (text, ':', length) != NULL)
    return parse_ipv6 (text, length, host);
  if (parse_ipv4 (text, length, host))
    return set_address (host, AF_INET);
  return parse_name (text, length, host);
}

const char *
prism_port_parse (const char *text, gsize length, guint16 *port)
{
  guint value = 0;

  *port = 0;
  if (length == 0 || length > 5 || text[0] == '0')
    return "a port is a number from 1 to 65535";
  for (gsize i = 0; i < length; i++)
    {
      if (!g_ascii_isdigit (text[i]))
        return "a port is a number from 1 to 65535";
      value = value * 10 + (guint)(text[i] - '0');
    }
  if (value > G_MAXUINT16)
    return "a port is a number from 1 to 65535";
  *port = (guint16)value;
  return NULL;
}

const char *
prism_authority_parse (const char *text, gsize length, PrismHost *host, guint16 *port)
{
  const char *end, *wrong;
  gsize host_length;

  *port = 0;
  if (length > 0 && text[0] == '[')
    {
      end = memchr (text, ']', length);
      host_length = end != NULL ? (gsize)(end - text) + 1 : length;
    }
  else
    {
      end = memchr (text, ':', length);
      host_length = end != NULL ? (gsize)(end - text) : length;
      if (end != NULL && memchr (end + 1, ':', length - host_length - 1) != NULL)
        return "an IPv6 address stands in brackets";
    }
  wrong = prism_host_parse (text, host_length, host);
  if (wrong != NULL || host_length == length)
    return wrong;
  if (text[host_length] != ':')
    return "after the brackets comes a colon and the port, or nothing";
  return prism_port_parse (text + host_length + 1, length - host_length - 1, port);
}

const char *
prism_host_pattern_parse (const char *text, gsize length, PrismHostPattern *pattern)
{
  const char *wrong;

  pattern->domain = length > 0 && text[0] == '.';
  if (!pattern->domain)
    return prism_host_parse (text, length, &pattern->host);
  wrong = prism_host_parse (text + 1, length - 1, &pattern->host);
  if (wrong == NULL && pattern->host.kind != PRISM_HOST_NAME)
    return "an address has no subdomains";
  return wrong;
}

gboolean
prism_host_pattern_matches (const PrismHostPattern *pattern, const PrismHost *host)
{
  gsize own = pattern->host.length, length = host->length;

  if (!pattern->domain || length == own)
    return length == own && memcmp (pattern->host.text, host->text, own) == 0;
  return host->kind == PRISM_HOST_NAME && length > own && host->text[length - own - 1] == '.'
         && memcmp (pattern->host.text, host->text + length - own, own) == 0;
}
