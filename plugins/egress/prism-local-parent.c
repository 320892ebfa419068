/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The parent resolves the names, so that their addresses cannot be screened here:
 * records say so. Whoever sets one up trusts it with that. */
#include "prism-local-parent.h"

#include "prism-local-io.h"

#include <errno.h>
#include <sys/socket.h>

#define ANSWER_MAX 8192

gboolean
prism_local_parent_needs_tunnel (PrismLocalConnection *self)
{
  return prism_local_connection_engine (self)->settings.parent_host != NULL && (self->connect || self->place.tls);
}

gboolean
prism_local_parent_ask (PrismLocalConnection *self)
{
  const char *host = self->place.host;
  gboolean six = strchr (host, ':') != NULL;
  g_autofree char *place = g_strdup_printf (six ? "[%s]:%u" : "%s:%u", host, self->place.port);
  g_autofree char *request = g_strdup_printf ("CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", place, place);

  return prism_local_end_send_text (&self->upstream, request);
}

int
prism_local_parent_hear (PrismLocalConnection *self, char **why)
{
  PrismLocalEngine *engine = prism_local_connection_engine (self);
  gssize n = recv (self->upstream.watch.fd, engine->scratch, ANSWER_MAX, MSG_PEEK);
  const char *wrong = NULL;
  gsize scanned = 0, end;

  if (n < 0 && (errno == EAGAIN || errno == EINTR))
    return 0;
  end = n > 0 ? prism_http_head_find_end (engine->scratch, (gsize)n, &scanned, &wrong) : 0;
  if (n <= 0)
    wrong = "it closed the connection";
  else if (wrong == NULL && end == 0 && n == ANSWER_MAX)
    wrong = "its answer is too long";
  if (wrong == NULL && end == 0)
    return 0;
  engine->parsed_for = NULL;
  if (wrong == NULL)
    prism_http_head_parse_response (engine->scratch, end, &engine->parsed, &wrong);
  if (wrong == NULL && engine->parsed.status / 100 == 2)
    return recv (self->upstream.watch.fd, engine->scratch, end, 0) == (gssize)end ? 1 : -1;
  *why = wrong != NULL ? g_strdup (wrong) : g_strdup_printf ("it answered %u", engine->parsed.status);
  return -1;
}
