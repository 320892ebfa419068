/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A redirect of a GET or HEAD is followed here: each hop is decided like a request
 * of its own, from the rule on, and written down like one. Nothing secret goes along to another origin;
 * a credential is chosen anew for each. What the client has to do itself (TLS from
 * end to end, a request with a body) is handed to the client. */
#include "prism-local-redirect.h"

#include "prism-local-decide.h"
#include "prism-local-dial.h"
#include "prism-local-forward.h"
#include "prism-local-io.h"
#include "prism-local-record.h"

static gboolean
is_redirect (const PrismHttpHead *reply)
{
  return (reply->status == 301 || reply->status == 302 || reply->status == 303 || reply->status == 307
          || reply->status == 308)
         && reply->location.text != NULL && reply->location.length > 0;
}

/* What the request that was answered asked for. */
static char *
base_url (PrismLocalConnection *self)
{
  PrismLocalEngine *engine = prism_local_connection_engine (self);
  g_autofree char *origin = prism_local_describe_place (
      self->place.tls ? PRISM_EGRESS_SCHEME_HTTPS : PRISM_EGRESS_SCHEME_HTTP, self->place.host, self->place.port);
  g_autofree char *path = NULL;
  PrismHttpTarget target;
  const char *wrong;

  if (self->request->url != NULL)
    return g_strdup (self->request->url);
  prism_http_head_parse_request (prism_local_buffer_data (&self->in), self->request->head_length, &engine->parsed,
                                 &wrong);
  engine->parsed_for = self;
  prism_http_target_parse (&engine->parsed, &target);
  path = g_strndup (target.path.text, target.path.length);
  return g_strconcat (origin, path[0] == '/' ? "" : "/", path, NULL);
}

/* An absolute URL of characters that a request line may hold; NULL if there is none. */
static char *
resolve (PrismLocalConnection *self, const char *location)
{
  g_autofree char *base = base_url (self);
  g_autofree char *url = NULL;
  char *fragment;

  for (const char *p = location; *p != '\0'; p++)
    if ((guchar)*p <= 0x20 || (guchar)*p >= 0x7f)
      return NULL;
  url = g_uri_resolve_relative (base, location, G_URI_FLAGS_ENCODED | G_URI_FLAGS_PARSE_RELAXED, NULL);
  if (url == NULL)
    return NULL;
  for (const char *p = url; *p != '\0'; p++)
    if ((guchar)*p <= 0x20 || (guchar)*p >= 0x7f)
      return NULL;
  fragment = strchr (url, '#');
  if (fragment != NULL)
    *fragment = '\0';
  return g_steal_pointer (&url);
}

static gboolean
is_same_origin (const PrismLocalPlace *place, const char *host, guint port, gboolean tls)
{
  return port == place->port && tls == place->tls && strcmp (host, place->host) == 0;
}

void
prism_local_forward_redirected (PrismLocalConnection *self, PrismEgressPolicy *policy)
{
  PrismLocalPlace *place = &self->place;
  g_autofree char *host = g_strdup (place->host);
  guint port = place->port;
  gboolean tls = place->tls;
  PrismHttpSlice url = { self->request->url, strlen (self->request->url) };
  PrismHttpTarget target;

  prism_http_target_parse_url (&url, &target);
  if (!prism_local_decide_redirect (self, &target, policy))
    return;
  if (!is_same_origin (place, host, port, tls))
    self->request->crossed = TRUE;
  self->request->reused = FALSE;
  prism_local_dial_begin (self);
}

static void
follow (PrismLocalConnection *self, const PrismHttpTarget *target, char *url)
{
  PrismLocalRequest *request = self->request;
  g_autofree char *where = g_strndup (target->authority.text, MIN (target->authority.length, 300));
  g_autofree char *reason = g_strconcat ("redirected to ", where, NULL);
  PrismEgressPolicy *policy;

  prism_local_record (self, PRISM_AUDIT_DECISION_ALLOW, "redirect", reason);
  self->sent = self->received = 0;
  prism_local_end_close (prism_local_connection_engine (self), &self->upstream);
  g_free (request->url);
  request->url = url;
  request->down = (PrismLocalBody){ PRISM_LOCAL_BODY_NONE };
  request->reply_scanned = 0;
  request->head_sent = FALSE;
  prism_local_buffer_clear (&request->reply);
  policy = prism_local_decide_policy (self);
  if (policy != NULL)
    prism_local_forward_redirected (self, policy);
}

gboolean
prism_local_redirect_follows (PrismLocalConnection *self, const PrismHttpHead *reply)
{
  g_autofree char *location = NULL;
  g_autofree char *url = NULL;
  PrismHttpTarget target;
  gint64 most = self->port->limits.redirect_hops;

  if (!is_redirect (reply) || !self->request->safe)
    return FALSE;
  location = g_strndup (reply->location.text, reply->location.length);
  url = resolve (self, location);
  if (url == NULL || prism_http_target_parse_url (&(PrismHttpSlice){ url, strlen (url) }, &target) != NULL)
    {
      prism_local_refuse (self, PRISM_LOCAL_DENIES, 502, "POLICY", "redirect",
                          "%s redirects to something else than an http: or https: place", self->place.host);
      return TRUE;
    }
  if (target.https && prism_egress_policy_get_kind (self->port->policy) != PRISM_EGRESS_POLICY_KIND_RESOLVER
      && !prism_local_decide_upgrades (self, &target))
    return FALSE;
  if (++self->request->hops >= most)
    {
      prism_local_refuse (self, PRISM_LOCAL_DENIES, 502, "LIMIT", "redirect-hops",
                          "%s redirects once too often: one request may become %" G_GINT64_FORMAT " (redirect-hops)",
                          self->place.host, most);
      return TRUE;
    }
  follow (self, &target, g_steal_pointer (&url));
  return TRUE;
}
