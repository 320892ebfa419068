/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The steps of a decision, in their order: what is asked for, the way back to
 * ourselves, the rule, a literal address, the credential. Nothing is resolved or
 * connected before a rule allows it, and every name that is compared, resolved,
 * sent on or written down is the one canonical form of it.
 *
 * A host with a credential is reached in TLS or not at all: the rule that is asked
 * for is the one for https, so there is no way in which it could go out in clear. */
#include "prism-local-decide.h"

#include "prism-local-ask.h"
#include "prism-local-dial.h"
#include "prism-local-forward.h"
#include "prism-local-record.h"
#include "prism-local-screen.h"

typedef struct
{
  PrismHttpTarget target;
  char *host;
  guint port; /* 0: none was said */
} Asked;

static void
asked_clear (Asked *asked)
{
  g_free (asked->host);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Asked, asked_clear)

char *
prism_local_describe_place (PrismEgressScheme scheme, const char *host, guint port)
{
  return g_strdup_printf (strchr (host, ':') != NULL ? "%s://[%s]:%u" : "%s://%s:%u",
                          scheme == PRISM_EGRESS_SCHEME_HTTP ? "http" : "https", host, port);
}

/* For the record, before there is a place. */
static void
note_place (PrismLocalConnection *self, const char *host, guint port, PrismEgressScheme scheme)
{
  prism_local_place_clear (&self->place);
  g_clear_pointer (&self->memo, g_free);
  self->place.host = g_strdup (host);
  self->place.port = (guint16)port;
  self->place.scheme = scheme;
}

/* What is no host all the same may have a port behind it: for people, not for us. */
static guint
cut_port (char *text)
{
  char *colon = strrchr (text, ':');
  guint64 port;

  if (colon == NULL || colon == text || (memchr (text, ':', (gsize)(colon - text)) != NULL && colon[-1] != ']')
      || !g_ascii_string_to_unsigned (colon + 1, 10, 1, 65535, &port, NULL))
    return 0;
  *colon = '\0';
  return (guint)port;
}

static gboolean
refuse_malformed (PrismLocalConnection *self, const PrismHttpSlice *authority, const char *wrong)
{
  g_autofree char *shown = g_strndup (authority->text, MIN (authority->length, 300));
  char *secret = strrchr (shown, '@');
  char *host = secret != NULL ? secret : shown; /* a password may stand before the @ */
  guint port = cut_port (host);

  note_place (self, host, port, self->connect ? PRISM_EGRESS_SCHEME_HTTPS : PRISM_EGRESS_SCHEME_HTTP);
  if (self->request->url != NULL)
    prism_local_refuse (self, PRISM_LOCAL_DENIES, 502, "POLICY", "redirect", "the redirect is malformed: %s", wrong);
  else
    prism_local_refuse (self, PRISM_LOCAL_DENIES, 400, "POLICY", "malformed", "the request is malformed: %s", wrong);
  return FALSE;
}

/* --- what is asked for ----------------------------------------------------------- */

static gboolean
split (const PrismHttpSlice *authority, char **host, guint *port, GError **error)
{
  g_autofree char *text = g_strndup (authority->text, authority->length);

  /* Said without repeating it: what stands before the @ may be a password. */
  if (strchr (text, '@') == NULL)
    return prism_egress_split_authority (text, host, port, error);
  g_set_error_literal (error, PRISM_EGRESS_ERROR, PRISM_EGRESS_ERROR_POLICY, "a place has no user name");
  return FALSE;
}

/* Host says the same place, or there are two places. */
static gboolean
check_host (PrismLocalConnection *self, const PrismHttpHead *head, const Asked *asked)
{
  g_autofree char *host = NULL;
  guint port, usual = asked->target.https || self->connect ? 443 : 80;

  if (asked->target.form == PRISM_HTTP_ORIGIN || head->host.text == NULL)
    return TRUE;
  if (head->host.length == asked->target.authority.length
      && memcmp (head->host.text, asked->target.authority.text, head->host.length) == 0)
    return TRUE;
  if (split (&head->host, &host, &port, NULL) && g_str_equal (host, asked->host))
    {
      /* Some clients name no port in the Host of a CONNECT. */
      if (port == 0 && self->connect)
        return TRUE;
      if ((port != 0 ? port : usual) == (asked->port != 0 ? asked->port : usual))
        return TRUE;
    }
  return refuse_malformed (self, &asked->target.authority, "Host names another place than the request line");
}

static gboolean
read_asked (PrismLocalConnection *self, Asked *asked)
{
  const PrismHttpHead *head = &prism_local_connection_engine (self)->parsed;
  const char *wrong = prism_http_target_parse (head, &asked->target);
  g_autoptr (GError) error = NULL;

  if (wrong != NULL)
    return refuse_malformed (self, &head->target, wrong);
  if (!split (&asked->target.authority, &asked->host, &asked->port, &error))
    return refuse_malformed (self, &asked->target.authority, error->message);
  if (self->connect && asked->port == 0)
    return refuse_malformed (self, &asked->target.authority, "CONNECT takes HOST:PORT");
  return check_host (self, head, asked);
}

static gboolean
is_here (const char *host)
{
  return g_str_equal (host, "localhost") || g_str_has_prefix (host, "127.") || g_str_equal (host, "::1")
         || g_str_equal (host, "0.0.0.0") || g_str_equal (host, "::");
}

static gboolean
check_loop (PrismLocalConnection *self, const Asked *asked)
{
  PrismLocalEngine *engine = prism_local_connection_engine (self);
  guint port = asked->port != 0 ? asked->port : asked->target.https ? 443 : 80;
  g_autoptr (GInetAddress) address = g_inet_address_new_from_string (asked->host);

  if (!(port == self->port->number && is_here (asked->host))
      && (address == NULL || !prism_local_port_is_loop (engine, address, (guint16)port)))
    return TRUE;
  note_place (self, asked->host, port, self->connect ? PRISM_EGRESS_SCHEME_HTTPS : PRISM_EGRESS_SCHEME_HTTP);
  prism_local_refuse (self, PRISM_LOCAL_DENIES, 400, "POLICY", "loop",
                      "this is the proxy itself; it is asked for other places");
  return FALSE;
}

/* --- the rule -------------------------------------------------------------------- */

static PrismCredential *
find_credential (PrismLocalPort *port, const char *host)
{
  for (guint i = 0; i < port->credentials->len; i++)
    if (prism_credential_matches (g_ptr_array_index (port->credentials, i), host))
      return g_ptr_array_index (port->credentials, i);
  return NULL;
}

typedef struct
{
  PrismEgressRule *rule; /* NULL: none allows it */
  PrismEgressScheme scheme;
  guint port;
  gboolean upgrade;
} Match;

/* In TLS, begun by us: HOST with the port that was said, or 443. */
static Match
match_upgraded (PrismEgressPolicy *policy, const Asked *asked, gboolean by_credential)
{
  Match match = { NULL, PRISM_EGRESS_SCHEME_HTTPS, asked->port == 0 || asked->port == 80 ? 443 : asked->port, TRUE };
  PrismEgressRule *rule = prism_egress_policy_match (policy, asked->host, match.port, match.scheme);

  if (rule != NULL && (by_credential || prism_egress_rule_get_upgrade (rule)))
    match.rule = rule;
  return match;
}

static Match
match_plain (PrismEgressPolicy *policy, const Asked *asked, gboolean by_credential)
{
  Match plain = { NULL, PRISM_EGRESS_SCHEME_HTTP, asked->port != 0 ? asked->port : 80, FALSE }, upgraded;

  if (by_credential || asked->target.https)
    return match_upgraded (policy, asked, by_credential);
  plain.rule = prism_egress_policy_match (policy, asked->host, plain.port, plain.scheme);
  if (plain.rule != NULL && !prism_egress_rule_get_upgrade (plain.rule))
    return plain;
  upgraded = match_upgraded (policy, asked, FALSE);
  plain.rule = NULL;
  return upgraded.rule != NULL ? upgraded : plain;
}

static Match
match_tunnel (PrismEgressPolicy *policy, const Asked *asked)
{
  Match match = { NULL, PRISM_EGRESS_SCHEME_HTTPS, asked->port, FALSE };

  match.rule = prism_egress_policy_match (policy, asked->host, match.port, match.scheme);
  return match;
}

static gboolean
refuse_unmatched (PrismLocalConnection *self, const Asked *asked, const Match *match)
{
  g_autofree char *place = prism_local_describe_place (match->scheme, asked->host, match->port);

  note_place (self, asked->host, match->port, match->scheme);
  if (asked->target.https)
    prism_local_refuse (self, PRISM_LOCAL_DENIES, 403, "DENIED", "no-rule",
                        "no rule lets this proxy speak TLS to %s by itself; use CONNECT %s:%u", place, asked->host,
                        match->port);
  else
    prism_local_refuse (self, PRISM_LOCAL_DENIES, 403, "DENIED", "no-rule",
                        "no rule allows %s; whoever started this can allow it with --allow %s", place, place);
  return FALSE;
}

static gboolean
set_place (PrismLocalConnection *self, const Asked *asked, const Match *match, PrismCredential *credential)
{
  PrismLocalPlace *place = &self->place;
  g_autofree char *why = NULL;
  g_autofree char *shown = NULL;

  note_place (self, asked->host, match->port, match->scheme);
  place->tls = match->upgrade;
  place->rule = prism_egress_rule_ref (match->rule);
  place->policy_version = self->port->policy_version;
  place->address = g_inet_address_new_from_string (place->host);
  why =
      place->address != NULL ? prism_local_screen (prism_local_connection_engine (self), place, place->address) : NULL;
  if (why == NULL)
    {
      place->credential = credential != NULL ? g_object_ref (credential) : NULL;
      return TRUE;
    }
  shown = prism_local_describe_place (match->scheme, asked->host, match->port);
  prism_local_refuse (self, PRISM_LOCAL_DENIES, 403, "DNS", "address",
                      "%s; whoever started this can allow it with --allow-private %s", why, shown);
  return FALSE;
}

static gboolean
match_place (PrismLocalConnection *self, const Asked *asked, PrismEgressPolicy *policy)
{
  PrismCredential *credential = find_credential (self->port, asked->host);
  Match match = self->connect ? match_tunnel (policy, asked) : match_plain (policy, asked, credential != NULL);

  if (match.rule == NULL)
    return refuse_unmatched (self, asked, &match);
  if (!self->connect || credential == NULL)
    return set_place (self, asked, &match, credential);
  note_place (self, asked->host, asked->port, match.scheme);
  prism_local_refuse (self, PRISM_LOCAL_DENIES, 403, "DENIED", "credential",
                      "%s has a credential that only the proxy knows: ask for http://%s, which goes out in TLS with it",
                      asked->host, asked->host);
  return FALSE;
}

/* --- memory ---------------------------------------------------------------------- */

/* A connection asks for the same place again and again: what was decided for these
 * very bytes under this very policy holds. */
static gboolean
remembers (PrismLocalConnection *self, PrismEgressPolicy *policy)
{
  const PrismHttpHead *head = &prism_local_connection_engine (self)->parsed;
  PrismHttpTarget target;

  if (self->memo == NULL || self->memo_policy != policy || self->connect
      || prism_http_target_parse (head, &target) != NULL || target.form != PRISM_HTTP_ABSOLUTE || target.https)
    return FALSE;
  return prism_http_slice_is (&target.authority, self->memo) && prism_http_slice_is (&head->host, self->memo);
}

static void
remember (PrismLocalConnection *self, const Asked *asked, PrismEgressPolicy *policy)
{
  g_clear_pointer (&self->memo, g_free);
  if (asked->target.form != PRISM_HTTP_ABSOLUTE || asked->target.https)
    return;
  self->memo = g_strndup (asked->target.authority.text, asked->target.authority.length);
  g_set_object (&self->memo_policy, policy);
}

/* --- deciding -------------------------------------------------------------------- */

static void
decide_by (PrismLocalConnection *self, PrismEgressPolicy *policy)
{
  g_auto (Asked) asked = { .port = 0 };

  if (!remembers (self, policy))
    {
      if (!read_asked (self, &asked) || !check_loop (self, &asked) || !match_place (self, &asked, policy))
        return;
      remember (self, &asked, policy);
    }
  if (self->connect)
    prism_local_dial_begin (self);
  else
    prism_local_forward_begin (self);
}

static void
policy_answered (gpointer asker, PrismLocalQuestion *question)
{
  PrismLocalConnection *self = asker;
  PrismLocalEngine *engine = prism_local_connection_engine (self);
  const char *wrong = NULL;

  self->asked = NULL;
  if (question->rules == NULL)
    {
      note_place (self, "", 0, self->connect ? PRISM_EGRESS_SCHEME_HTTPS : PRISM_EGRESS_SCHEME_HTTP);
      prism_local_refuse (self, PRISM_LOCAL_DENIES, 403, "DENIED", "resolver", "%s", question->error->message);
    }
  else if (self->request->url != NULL)
    prism_local_forward_redirected (self, question->rules);
  else
    {
      /* Other requests were parsed meanwhile. */
      prism_http_head_parse_request (prism_local_buffer_data (&self->in), self->request->head_length, &engine->parsed,
                                     &wrong);
      engine->parsed_for = self;
      decide_by (self, question->rules);
    }
  prism_local_question_drop (question);
  prism_local_connection_arm (self);
}

PrismEgressPolicy *
prism_local_decide_policy (PrismLocalConnection *self)
{
  PrismLocalEngine *engine = prism_local_connection_engine (self);
  PrismEgressPolicy *policy = self->port->policy;

  if (prism_egress_policy_get_kind (policy) != PRISM_EGRESS_POLICY_KIND_RESOLVER)
    return policy;
  self->asked = prism_local_ask_policy (engine, policy, self, policy_answered);
  if (self->asked != NULL)
    prism_local_connection_enter (self, PRISM_LOCAL_ASKING);
  else
    prism_local_refuse (self, PRISM_LOCAL_DENIES, 503, "LIMIT", "resolver", "no thread to ask the policy's resolver");
  return NULL;
}

void
prism_local_decide (PrismLocalConnection *self)
{
  PrismEgressPolicy *policy = prism_local_decide_policy (self);

  if (policy != NULL)
    decide_by (self, policy);
}

gboolean
prism_local_decide_redirect (PrismLocalConnection *self, const PrismHttpTarget *target, PrismEgressPolicy *policy)
{
  g_auto (Asked) asked = { .target = *target };
  g_autoptr (GError) error = NULL;

  if (!split (&target->authority, &asked.host, &asked.port, &error))
    return refuse_malformed (self, &target->authority, error->message);
  return check_loop (self, &asked) && match_place (self, &asked, policy);
}

gboolean
prism_local_decide_upgrades (PrismLocalConnection *self, const PrismHttpTarget *target)
{
  g_auto (Asked) asked = { .target = *target };

  if (!split (&target->authority, &asked.host, &asked.port, NULL))
    return FALSE;
  return match_upgraded (self->port->policy, &asked, find_credential (self->port, asked.host) != NULL).rule != NULL;
}

/* --- afterwards ------------------------------------------------------------------ */

gboolean
prism_local_place_holds (const PrismLocalPlace *place, PrismEgressPolicy *policy)
{
  PrismEgressRule *rule = prism_egress_policy_match (policy, place->host, place->port, place->scheme);

  if (rule == NULL)
    return FALSE;
  if (place->tls && place->credential == NULL && !prism_egress_rule_get_upgrade (rule))
    return FALSE;
  /* What was reached at a private address because the rule allowed that. */
  return !prism_egress_rule_get_allow_private (place->rule) || prism_egress_rule_get_allow_private (rule);
}
