/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rules only allow. What a rule says is fixed when it is made, and written down
 * in one canonical line, which audit records quote and fingerprints are made of. */
#include "prism-egress-rule-private.h"

#include "prism-address-class.h"

#include <string.h>

#define ALL_FLAGS (PRISM_EGRESS_RULE_FLAGS_ALLOW_PRIVATE | PRISM_EGRESS_RULE_FLAGS_UPGRADE)

/**
 * PrismEgressRule:
 *
 * One place that may be reached: a host, a port and a scheme. The host is exact,
 * or `.domain` for a domain and all its subdomains, or an IP address. There are
 * no wildcards, address ranges or patterns.
 *
 * Since: 1.0
 */
G_DEFINE_BOXED_TYPE (PrismEgressRule, prism_egress_rule, prism_egress_rule_ref, prism_egress_rule_unref)

void
prism_egress_set_malformed (GError **error, const char *what, const char *text, gsize length, const char *why)
{
  g_autofree char *cut = g_strndup (text, MIN (length, 100));
  g_autofree char *shown = g_strescape (cut, NULL);

  g_set_error (error, PRISM_EGRESS_ERROR, PRISM_EGRESS_ERROR_POLICY, "%s \"%s%s\": %s", what, shown,
               length > 100 ? "…" : "", why);
}

const char *
prism_egress_scheme_to_text (PrismEgressScheme scheme)
{
  return scheme == PRISM_EGRESS_SCHEME_HTTP ? "http" : scheme == PRISM_EGRESS_SCHEME_HTTPS ? "https" : "*";
}

/* `scheme|[.]host|port|flag`, and `|upgrade` only where it is set, so that plain
 * exact rules keep the fingerprints that they always had. */
static char *
make_line (const PrismEgressRule *self)
{
  char port[8] = "*";

  if (self->port != 0)
    g_snprintf (port, sizeof port, "%u", self->port);
  return g_strconcat (prism_egress_scheme_to_text (self->scheme), "|", self->host, "|", port,
                      (self->flags & PRISM_EGRESS_RULE_FLAGS_ALLOW_PRIVATE) != 0 ? "|1" : "|0",
                      (self->flags & PRISM_EGRESS_RULE_FLAGS_UPGRADE) != 0 ? "|upgrade" : "", NULL);
}

static PrismEgressRule *
rule_new (const PrismHostPattern *pattern, guint16 port, PrismEgressScheme scheme, PrismEgressRuleFlags flags)
{
  PrismEgressRule *self = g_new0 (PrismEgressRule, 1);

  g_atomic_ref_count_init (&self->refs);
  self->any = pattern == NULL;
  self->port = port;
  self->scheme = scheme;
  self->flags = flags;
  if (pattern != NULL)
    self->pattern = *pattern;
  self->host = pattern != NULL ? g_strconcat (pattern->domain ? "." : "", pattern->host.text, NULL) : g_strdup ("*");
  self->line = make_line (self);
  return self;
}

PrismEgressRule *
prism_egress_rule_new_any (void)
{
  return rule_new (NULL, 0, PRISM_EGRESS_SCHEME_ANY, PRISM_EGRESS_RULE_FLAGS_NONE);
}

/* Plain HTTP alone is never upgraded: there would be nothing left of the rule. */
static const char *
check_parts (guint port, PrismEgressScheme scheme, PrismEgressRuleFlags flags)
{
  if (port > G_MAXUINT16)
    return "a port is a number from 1 to 65535, or 0 for any";
  if ((flags & PRISM_EGRESS_RULE_FLAGS_UPGRADE) != 0 && scheme == PRISM_EGRESS_SCHEME_HTTP)
    return "what is upgraded goes out as https; the rule says http";
  return NULL;
}

/**
 * prism_egress_rule_new:
 * @host: a host name, `.domain`, or an IP address
 * @port: 1 to 65535; 0 for any
 * @scheme: the scheme
 * @flags: more about it
 * @error: return location for an error
 *
 * Makes a rule; %NULL with %PRISM_EGRESS_ERROR_POLICY if a part is malformed.
 *
 * Returns: (transfer full): a rule; %NULL with %PRISM_EGRESS_ERROR_POLICY if a
 *   part is malformed
 *
 * Since: 1.0
 */
PrismEgressRule *
prism_egress_rule_new (
    const char *host, guint port, PrismEgressScheme scheme, PrismEgressRuleFlags flags, GError **error)
{
  PrismHostPattern pattern;
  const char *wrong;

  g_return_val_if_fail (host != NULL, NULL);
  g_return_val_if_fail ((guint)scheme <= PRISM_EGRESS_SCHEME_HTTPS && (flags & ~ALL_FLAGS) == 0, NULL);

  wrong = prism_host_pattern_parse (host, strlen (host), &pattern);
  if (wrong == NULL)
    wrong = check_parts (port, scheme, flags);
  if (wrong != NULL)
    {
      prism_egress_set_malformed (error, "egress rule", host, strlen (host), wrong);
      return NULL;
    }
  return rule_new (&pattern, (guint16)port, scheme, flags);
}

/* --- rule strings ------------------------------------------------------------ */

typedef struct
{
  PrismHostPattern pattern;
  PrismEgressScheme scheme;
  guint16 port;
  gboolean has_port; /* or `*` */
} Written;

/* Where the port's colon is; @length if there is none. */
static gsize
find_colon (const char *text, gsize length)
{
  const char *bracket = length > 0 && text[0] == '[' ? memchr (text, ']', length) : NULL;
  gsize from = bracket != NULL ? (gsize)(bracket - text) : 0;
  const char *colon = memchr (text + from, ':', length - from);

  return colon != NULL ? (gsize)(colon - text) : length;
}

static const char *
parse_written (const char *text, gsize length, Written *written)
{
  const char *separator = g_strstr_len (text, (gssize)length, "://");
  gsize colon;
  const char *wrong;

  *written = (Written){ .scheme = PRISM_EGRESS_SCHEME_ANY };
  if (separator != NULL)
    {
      gsize scheme = (gsize)(separator - text);

      if (scheme == 4 && memcmp (text, "http", 4) == 0)
        written->scheme = PRISM_EGRESS_SCHEME_HTTP;
      else if (scheme == 5 && memcmp (text, "https", 5) == 0)
        written->scheme = PRISM_EGRESS_SCHEME_HTTPS;
      else
        return "the scheme is http or https";
      text += scheme + 3;
      length -= scheme + 3;
    }
  if (length > 0 && text[0] != '[' && g_strstr_len (text, (gssize)length, "::") != NULL)
    return "an IPv6 address stands in brackets";
  colon = find_colon (text, length);
  wrong = prism_host_pattern_parse (text, colon, &written->pattern);
  if (wrong != NULL || colon == length)
    return wrong;
  written->has_port = TRUE;
  if (length - colon == 2 && text[colon + 1] == '*')
    return NULL;
  return prism_port_parse (text + colon + 1, length - colon - 1, &written->port);
}

static void
add_rule (GPtrArray *rules, const Written *written, guint16 port, PrismEgressScheme scheme, PrismEgressRuleFlags flags)
{
  g_ptr_array_add (rules, rule_new (&written->pattern, port, scheme, flags));
}

/**
 * prism_egress_rule_parse:
 * @text: `HOST`, `HOST:PORT`, `HOST:*`, each with `http://` or `https://` in
 *   front or without; HOST may be `.domain`; an IPv6 address stands in brackets
 * @flags: for all of them
 * @error: return location for an error
 *
 * What the command line takes as a rule. Without a port, http means 80 and
 * https 443; without both, http on 80 and https on 443, which are two rules, or
 * one where http is upgraded. A port alone means any scheme.
 *
 * Returns: (transfer container) (element-type PrismEgressRule): the rules; %NULL
 *   with %PRISM_EGRESS_ERROR_POLICY if @text is malformed
 *
 * Since: 1.0
 */
GPtrArray *
prism_egress_rule_parse (const char *text, PrismEgressRuleFlags flags, GError **error)
{
  g_autoptr (GPtrArray) rules = g_ptr_array_new_with_free_func ((GDestroyNotify)prism_egress_rule_unref);
  Written written;
  const char *wrong;

  g_return_val_if_fail (text != NULL && (flags & ~ALL_FLAGS) == 0, NULL);

  wrong = parse_written (text, strlen (text), &written);
  if (wrong == NULL)
    wrong = check_parts (written.port, written.scheme, flags);
  if (wrong != NULL)
    {
      prism_egress_set_malformed (error, "egress rule", text, strlen (text), wrong);
      return NULL;
    }
  if (written.has_port)
    add_rule (rules, &written, written.port, written.scheme, flags);
  else
    {
      if (written.scheme != PRISM_EGRESS_SCHEME_HTTPS && (flags & PRISM_EGRESS_RULE_FLAGS_UPGRADE) == 0)
        add_rule (rules, &written, 80, PRISM_EGRESS_SCHEME_HTTP, flags);
      if (written.scheme != PRISM_EGRESS_SCHEME_HTTP)
        add_rule (rules, &written, 443, PRISM_EGRESS_SCHEME_HTTPS, flags);
    }
  return g_steal_pointer (&rules);
}

/* --- what a rule says -------------------------------------------------------- */

/**
 * prism_egress_rule_with_origin:
 * @self: a rule
 * @origin: who asked for it and why, as a person would say it
 *
 * Gets the same rule with another origin.
 *
 * Returns: (transfer full): the same rule with another origin
 *
 * Since: 1.0
 */
PrismEgressRule *
prism_egress_rule_with_origin (const PrismEgressRule *self, const char *origin)
{
  PrismEgressRule *copy;

  g_return_val_if_fail (self != NULL && origin != NULL, NULL);

  copy = rule_new (self->any ? NULL : &self->pattern, self->port, self->scheme, self->flags);
  copy->origin = g_strdup (origin);
  return copy;
}

/**
 * prism_egress_rule_ref:
 * @self: a rule
 *
 * Gets the same rule.
 *
 * Returns: (transfer full): the same rule
 *
 * Since: 1.0
 */
PrismEgressRule *
prism_egress_rule_ref (PrismEgressRule *self)
{
  g_return_val_if_fail (self != NULL, NULL);

  g_atomic_ref_count_inc (&self->refs);
  return self;
}

/**
 * prism_egress_rule_unref:
 * @self: (transfer full): a rule
 *
 * Gives up a reference.
 *
 * Since: 1.0
 */
void
prism_egress_rule_unref (PrismEgressRule *self)
{
  g_return_if_fail (self != NULL);

  if (!g_atomic_ref_count_dec (&self->refs))
    return;
  g_free (self->host);
  g_free (self->line);
  g_free (self->origin);
  g_free (self);
}

/**
 * prism_egress_rule_get_host:
 * @self: a rule
 *
 * Gets the host in its canonical form; with a dot in front where subdomains are meant as well; `*`
 * for the rule of an allow-all policy.
 *
 * Returns: the host in its canonical form; with a dot in front where subdomains
 *   are meant as well; `*` for the rule of an allow-all policy
 *
 * Since: 1.0
 */
const char *
prism_egress_rule_get_host (const PrismEgressRule *self)
{
  g_return_val_if_fail (self != NULL, NULL);

  return self->host;
}

/**
 * prism_egress_rule_get_port:
 * @self: a rule
 *
 * Gets the port; 0 for any.
 *
 * Returns: the port; 0 for any
 *
 * Since: 1.0
 */
guint
prism_egress_rule_get_port (const PrismEgressRule *self)
{
  g_return_val_if_fail (self != NULL, 0);

  return self->port;
}

/**
 * prism_egress_rule_get_scheme:
 * @self: a rule
 *
 * Gets the scheme.
 *
 * Returns: the scheme
 *
 * Since: 1.0
 */
PrismEgressScheme
prism_egress_rule_get_scheme (const PrismEgressRule *self)
{
  g_return_val_if_fail (self != NULL, PRISM_EGRESS_SCHEME_ANY);

  return self->scheme;
}

/**
 * prism_egress_rule_get_flags:
 * @self: a rule
 *
 * Gets its flags.
 *
 * Returns: its flags
 *
 * Since: 1.0
 */
PrismEgressRuleFlags
prism_egress_rule_get_flags (const PrismEgressRule *self)
{
  g_return_val_if_fail (self != NULL, PRISM_EGRESS_RULE_FLAGS_NONE);

  return self->flags;
}

/**
 * prism_egress_rule_get_allow_private:
 * @self: a rule
 *
 * Tells whether the host may have an address that is not public.
 *
 * Returns: whether the host may have an address that is not public
 *
 * Since: 1.0
 */
gboolean
prism_egress_rule_get_allow_private (const PrismEgressRule *self)
{
  g_return_val_if_fail (self != NULL, FALSE);

  return (self->flags & PRISM_EGRESS_RULE_FLAGS_ALLOW_PRIVATE) != 0;
}

/**
 * prism_egress_rule_get_upgrade:
 * @self: a rule
 *
 * Tells whether plain HTTP to the proxy goes out as HTTPS.
 *
 * Returns: whether plain HTTP to the proxy goes out as HTTPS
 *
 * Since: 1.0
 */
gboolean
prism_egress_rule_get_upgrade (const PrismEgressRule *self)
{
  g_return_val_if_fail (self != NULL, FALSE);

  return (self->flags & PRISM_EGRESS_RULE_FLAGS_UPGRADE) != 0;
}

/**
 * prism_egress_rule_get_origin:
 * @self: a rule
 *
 * Tells who asked for it and why; %NULL if nobody said.
 *
 * Returns: (nullable): who asked for it and why; %NULL if nobody said
 *
 * Since: 1.0
 */
const char *
prism_egress_rule_get_origin (const PrismEgressRule *self)
{
  g_return_val_if_fail (self != NULL, NULL);

  return self->origin;
}

/**
 * prism_egress_rule_get_line:
 * @self: a rule
 *
 * Gets the canonical line, such as `https|.example.com|443|0`: scheme, host, port, whether private
 * addresses are allowed, and `|upgrade` where it is on.
 *
 * Returns: the canonical line, such as `https|.example.com|443|0`: scheme, host,
 *   port, whether private addresses are allowed, and `|upgrade` where it is on
 *
 * Since: 1.0
 */
const char *
prism_egress_rule_get_line (const PrismEgressRule *self)
{
  g_return_val_if_fail (self != NULL, NULL);

  return self->line;
}

/**
 * prism_egress_rule_matches:
 * @self: a rule
 * @host: a host in any spelling
 * @port: its port, 1 to 65535
 * @scheme: http or https
 *
 * Tells whether the rule is about this place; what is malformed never matches.
 *
 * Returns: whether the rule is about this place; what is malformed never matches
 *
 * Since: 1.0
 */
gboolean
prism_egress_rule_matches (const PrismEgressRule *self, const char *host, guint port, PrismEgressScheme scheme)
{
  PrismHost parsed;

  g_return_val_if_fail (self != NULL && host != NULL, FALSE);

  if (port == 0 || port > G_MAXUINT16 || prism_host_parse (host, strlen (host), &parsed) != NULL)
    return FALSE;
  return (self->port == 0 || self->port == port) && (self->scheme == PRISM_EGRESS_SCHEME_ANY || self->scheme == scheme)
         && (self->any || prism_host_pattern_matches (&self->pattern, &parsed));
}

/* Only a rule that names a metadata service by its address opens it. */
static gboolean
names_address (const PrismEgressRule *self, const guint8 *bytes, gsize length)
{
  gsize own = self->pattern.host.kind == PRISM_HOST_IPV4 ? 4 : 16;

  return !self->any && self->pattern.host.kind != PRISM_HOST_NAME && length == own
         && memcmp (self->pattern.host.address, bytes, own) == 0;
}

/**
 * prism_egress_rule_allows_address:
 * @self: a rule that matched
 * @address: an address of its host
 *
 * Whether the host may be reached at this address. A public address may always
 * be, and one of this machine or a private network where the rule allows private
 * addresses. Multicast, reserved and unspecified addresses never; those behind a
 * translator as the private ones. A cloud's metadata service is reached only by
 * a rule whose host is that very address, and that allows private addresses.
 *
 * Returns: whether a connection to @address may be made
 *
 * Since: 1.0
 */
gboolean
prism_egress_rule_allows_address (const PrismEgressRule *self, GInetAddress *address)
{
  g_return_val_if_fail (self != NULL && G_IS_INET_ADDRESS (address), FALSE);

  switch (prism_address_class_from_inet_address (address))
    {
    case PRISM_ADDRESS_CLASS_PUBLIC:
      return TRUE;
    case PRISM_ADDRESS_CLASS_LOOPBACK:
    case PRISM_ADDRESS_CLASS_LINK_LOCAL:
    case PRISM_ADDRESS_CLASS_PRIVATE:
    case PRISM_ADDRESS_CLASS_SHARED:
    case PRISM_ADDRESS_CLASS_DOCUMENTATION:
    case PRISM_ADDRESS_CLASS_BENCHMARK:
    case PRISM_ADDRESS_CLASS_PROTOCOL:
    case PRISM_ADDRESS_CLASS_TRANSLATED:
      return prism_egress_rule_get_allow_private (self);
    case PRISM_ADDRESS_CLASS_METADATA:
      return prism_egress_rule_get_allow_private (self)
             && names_address (self, g_inet_address_to_bytes (address), g_inet_address_get_native_size (address));
    case PRISM_ADDRESS_CLASS_MALFORMED:
    case PRISM_ADDRESS_CLASS_UNSPECIFIED:
    case PRISM_ADDRESS_CLASS_MULTICAST:
    case PRISM_ADDRESS_CLASS_RESERVED:
    default:
      return FALSE;
    }
}

/* --- hosts and authorities --------------------------------------------------- */

/**
 * prism_egress_normalize_host:
 * @host: a host name or IP address
 * @error: return location for an error
 *
 * Gets the one form in which it is compared, resolved and written down: lower case, without a
 * final dot, IPv6 without brackets; %NULL with %PRISM_EGRESS_ERROR_POLICY if it is malformed.
 *
 * Returns: (transfer full): the one form in which it is compared, resolved and
 *   written down: lower case, without a final dot, IPv6 without brackets; %NULL
 *   with %PRISM_EGRESS_ERROR_POLICY if it is malformed
 *
 * Since: 1.0
 */
char *
prism_egress_normalize_host (const char *host, GError **error)
{
  PrismHost parsed;
  const char *wrong;

  g_return_val_if_fail (host != NULL, NULL);

  wrong = prism_host_parse (host, strlen (host), &parsed);
  if (wrong == NULL)
    return g_strdup (parsed.text);
  prism_egress_set_malformed (error, "host", host, strlen (host), wrong);
  return NULL;
}

/**
 * prism_egress_split_authority:
 * @authority: `HOST` or `HOST:PORT`; an IPv6 address stands in brackets
 * @host: (out) (transfer full): the host in its canonical form
 * @port: (out): the port; 0 if none was given
 * @error: return location for an error
 *
 * Tells whether it is well-formed; else @error is %PRISM_EGRESS_ERROR_POLICY.
 *
 * Returns: whether it is well-formed; else @error is %PRISM_EGRESS_ERROR_POLICY
 *
 * Since: 1.0
 */
gboolean
prism_egress_split_authority (const char *authority, char **host, guint *port, GError **error)
{
  PrismHost parsed;
  guint16 number;
  const char *wrong;

  g_return_val_if_fail (authority != NULL && host != NULL && port != NULL, FALSE);

  wrong = prism_authority_parse (authority, strlen (authority), &parsed, &number);
  *host = wrong == NULL ? g_strdup (parsed.text) : NULL;
  *port = number;
  if (wrong != NULL)
    prism_egress_set_malformed (error, "authority", authority, strlen (authority), wrong);
  return wrong == NULL;
}
