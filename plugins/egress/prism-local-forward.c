/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The way up. The request that goes out is written anew from what was understood of
 * the one that came in: its framing, its Host and its credential are ours, and what
 * is meant for this hop ends here. So there are no two readings of it. */
#include "prism-local-forward.h"

#include "prism-local-decide.h"
#include "prism-local-dial.h"
#include "prism-local-io.h"
#include "prism-local-record.h"
#include "prism-local-reply.h"
#include "prism-local-writer.h"

#include <sys/epoll.h>

/* So much may wait for the upstream before the client is read again. */
#define UP_WAITING 65536

/* --- the head -------------------------------------------------------------------- */

static void
set_up_body (PrismLocalRequest *request, const PrismHttpHead *head)
{
  request->minor = head->minor;
  request->keep = head->minor == 1 ? !head->close : head->keep_alive && !head->close;
  request->is_head = prism_http_slice_is (&head->method, "HEAD");
  if (head->chunked)
    request->up.kind = PRISM_LOCAL_BODY_CHUNKED;
  else if (head->has_length && head->content_length > 0)
    {
      request->up.kind = PRISM_LOCAL_BODY_LENGTH;
      request->up.left = (gint64)head->content_length;
    }
  request->up.done = request->up.kind == PRISM_LOCAL_BODY_NONE;
  request->safe = request->up.done && (request->is_head || prism_http_slice_is (&head->method, "GET"));
}

static gboolean
check_request (PrismLocalConnection *self, const PrismHttpHead *head)
{
  gint64 most = self->port->limits.request_bytes;

  /* It would answer with the credential in the body. */
  if (prism_http_slice_is_word (&head->method, "TRACE") || prism_http_slice_is_word (&head->method, "TRACK"))
    {
      prism_local_refuse (self, PRISM_LOCAL_DENIES, 405, "POLICY", "method", "%.*s is not forwarded",
                          (int)head->method.length, head->method.text);
      return FALSE;
    }
  if (most == 0 || self->request->up.left <= most)
    return TRUE;
  prism_local_refuse (self, PRISM_LOCAL_DENIES, 413, "LIMIT", "request-bytes",
                      "the request's body is longer than %" G_GINT64_FORMAT " bytes (request-bytes)", most);
  return FALSE;
}

static gboolean
is_same_upstream (PrismLocalConnection *self)
{
  return self->upstream.watch.fd >= 0 && !self->upstream.eof && self->up_place.host != NULL
         && self->up_place.port == self->place.port && self->up_place.tls == self->place.tls
         && strcmp (self->up_place.host, self->place.host) == 0;
}

/* Only what is_same_upstream() compares. */
static void
note_upstream (PrismLocalConnection *self)
{
  if (self->up_place.host == NULL || strcmp (self->up_place.host, self->place.host) != 0)
    {
      g_free (self->up_place.host);
      self->up_place.host = g_strdup (self->place.host);
    }
  self->up_place.port = self->place.port;
  self->up_place.tls = self->place.tls;
}

void
prism_local_forward_begin (PrismLocalConnection *self)
{
  const PrismHttpHead *head = &prism_local_connection_engine (self)->parsed;

  set_up_body (self->request, head);
  if (!check_request (self, head))
    return;
  self->request->reused = is_same_upstream (self);
  if (self->request->reused)
    prism_local_forward_send (self);
  else
    prism_local_dial_begin (self);
}

static void
write_host (PrismLocalWriter *out, const PrismLocalPlace *place)
{
  gboolean six = strchr (place->host, ':') != NULL;

  prism_local_write_text (out, six ? "[" : "");
  prism_local_write_text (out, place->host);
  prism_local_write_text (out, six ? "]" : "");
  if (place->port != (place->tls ? 443 : 80))
    prism_local_write_number (out, ":", place->port, "");
}

static void
write_request_line (PrismLocalWriter *out, PrismLocalConnection *self, const PrismHttpHead *head)
{
  PrismHttpTarget target;
  PrismHttpSlice url;

  if (self->request->url != NULL)
    {
      url = (PrismHttpSlice){ self->request->url, strlen (self->request->url) };
      prism_http_target_parse_url (&url, &target);
    }
  else
    prism_http_target_parse (head, &target);
  prism_local_write (out, head->method.text, head->method.length);
  prism_local_write_text (out, " ");
  if (prism_local_connection_engine (self)->settings.parent_host != NULL && !self->place.tls)
    {
      prism_local_write_text (out, "http://");
      write_host (out, &self->place);
    }
  if (target.path.length == 0 || target.path.text[0] != '/')
    prism_local_write_text (out, "/");
  prism_local_write (out, target.path.text, target.path.length);
  prism_local_write_text (out, " HTTP/1.1\r\nHost: ");
  write_host (out, &self->place);
  prism_local_write_text (out, "\r\n");
}

/* What the client has of the credential's name is replaced, in any spelling that an
 * origin may take for it. */
static gboolean
is_credential (const PrismHttpField *field, PrismCredential *credential)
{
  const char *header = credential != NULL ? prism_credential_get_header (credential) : "";

  if (strlen (header) != field->name.length)
    return FALSE;
  for (gsize i = 0; i < field->name.length; i++)
    if (g_ascii_tolower (field->name.text[i]) != g_ascii_tolower (header[i])
        && !(strchr ("-_", field->name.text[i]) != NULL && strchr ("-_", header[i]) != NULL))
      return FALSE;
  return TRUE;
}

static void
write_fields (PrismLocalWriter *out, PrismLocalConnection *self, const PrismHttpHead *head)
{
  for (guint i = 0; i < head->n_fields; i++)
    {
      const PrismHttpField *field = &head->fields[i];

      if (field->meaning == PRISM_HTTP_HOST || field->meaning == PRISM_HTTP_CONTENT_LENGTH
          || prism_http_head_ends_field (head, field) || is_credential (field, self->place.credential)
          || (field->meaning == PRISM_HTTP_SECRET && self->request->crossed))
        continue;
      prism_local_write_field (out, field);
    }
  if (head->chunked)
    prism_local_write_text (out, "Transfer-Encoding: chunked\r\n");
  else if (head->has_length)
    prism_local_write_number (out, "Content-Length: ", head->content_length, "\r\n");
  if (self->place.credential != NULL)
    {
      prism_local_write_text (out, prism_credential_get_header (self->place.credential));
      prism_local_write_text (out, ": ");
      prism_local_write_text (out, prism_credential_reveal (self->place.credential));
      prism_local_write_text (out, "\r\n");
    }
  prism_local_write_text (out, "\r\n");
}

/* The head in @self's input, as parsed as it was. */
static const PrismHttpHead *
parse_again (PrismLocalConnection *self)
{
  PrismLocalEngine *engine = prism_local_connection_engine (self);
  const char *wrong;

  if (engine->parsed_for != self)
    prism_http_head_parse_request (prism_local_buffer_data (&self->in), self->request->head_length, &engine->parsed,
                                   &wrong);
  engine->parsed_for = self;
  return &engine->parsed;
}

static void
count_up (PrismLocalConnection *self, gsize bytes)
{
  self->sent += (gint64)bytes;
  prism_local_count (&self->port->counters.sent, (gint64)bytes);
}

void
prism_local_forward_send (PrismLocalConnection *self)
{
  PrismLocalEngine *engine = prism_local_connection_engine (self);
  PrismLocalRequest *request = self->request;
  const PrismHttpHead *head = parse_again (self);
  PrismLocalWriter out = { engine->head, engine->head, engine->head + sizeof engine->head, FALSE };
  struct iovec part;
  gboolean sent;

  write_request_line (&out, self, head);
  write_fields (&out, self, head);
  if (out.full)
    {
      prism_local_refuse (self, PRISM_LOCAL_DENIES, 431, "LIMIT", "head-bytes", "the request's head is too long");
      return;
    }
  note_upstream (self);
  self->state = PRISM_LOCAL_FORWARD;
  self->touched = engine->now;
  part = (struct iovec){ engine->head, (gsize)(out.at - out.start) };
  sent = prism_local_end_send (&self->upstream, &part, 1);
  if (self->place.credential != NULL)
    explicit_bzero (engine->head, part.iov_len);
  if (!sent)
    {
      prism_local_reply_broke (self);
      return;
    }
  request->head_sent = TRUE;
  count_up (self, part.iov_len);
  if (!request->safe)
    {
      /* It is not asked again, so its head is not needed any more. */
      prism_local_buffer_eat (&self->in, request->head_length);
      request->head_kept = FALSE;
      prism_local_forward_body (self);
    }
  prism_local_engine_want (engine, prism_local_connection_deadline (self));
}

/* --- the body -------------------------------------------------------------------- */

static gboolean
send_piece (PrismLocalConnection *self, const char *data, gsize length, gboolean chunk)
{
  char size[20];
  struct iovec parts[] = { { size, chunk ? prism_http_chunks_write_size (size, length) : 0 },
                           { (char *)data, length },
                           { (char *)"\r\n", chunk ? 2 : 0 } };

  count_up (self, parts[0].iov_len + length + parts[2].iov_len);
  if (prism_local_end_send (&self->upstream, parts, 3))
    return TRUE;
  prism_local_reply_broke (self);
  return FALSE;
}

static gboolean
send_last_chunk (PrismLocalConnection *self)
{
  static const char last[] = "0\r\n\r\n";

  return send_piece (self, last, sizeof last - 1, FALSE);
}

/* One piece of what is in the input; FALSE: it ended badly, or there is no more. */
static gboolean
send_chunked (PrismLocalConnection *self)
{
  PrismLocalBody *body = &self->request->up;
  const char *data = NULL;
  gsize length;
  gsize eaten = prism_http_chunks_eat (&body->chunks, prism_local_buffer_data (&self->in),
                                       prism_local_buffer_length (&self->in), &data, &length);

  if (body->chunks.state == PRISM_HTTP_CHUNKS_WRONG)
    {
      prism_local_refuse (self, PRISM_LOCAL_DENIES, 400, "POLICY", "malformed", "the request's body is malformed");
      return FALSE;
    }
  body->seen += (gint64)length;
  if (self->port->limits.request_bytes > 0 && body->seen > self->port->limits.request_bytes)
    {
      prism_local_refuse (self, PRISM_LOCAL_DENIES, 413, "LIMIT", "request-bytes",
                          "the request's body is longer than %" G_GINT64_FORMAT " bytes (request-bytes)",
                          self->port->limits.request_bytes);
      return FALSE;
    }
  if (length > 0 && !send_piece (self, data, length, TRUE))
    return FALSE;
  prism_local_buffer_eat (&self->in, eaten);
  body->done = body->chunks.state == PRISM_HTTP_CHUNKS_DONE;
  return !body->done || send_last_chunk (self);
}

static gboolean
send_plain (PrismLocalConnection *self)
{
  PrismLocalBody *body = &self->request->up;
  gsize length = (gsize)MIN ((gint64)prism_local_buffer_length (&self->in), body->left);

  if (!send_piece (self, prism_local_buffer_data (&self->in), length, FALSE))
    return FALSE;
  prism_local_buffer_eat (&self->in, length);
  body->left -= (gint64)length;
  body->done = body->left == 0;
  return TRUE;
}

void
prism_local_forward_body (PrismLocalConnection *self)
{
  while (self->state == PRISM_LOCAL_FORWARD && !self->request->up.done && prism_local_buffer_length (&self->in) > 0
         && prism_local_buffer_length (&self->upstream.out) < UP_WAITING)
    if (!(self->request->up.kind == PRISM_LOCAL_BODY_CHUNKED ? send_chunked (self) : send_plain (self)))
      return;
  /* Its own end is none of the answer's; but what is missing does not come any more. */
  if (self->state == PRISM_LOCAL_FORWARD && self->client.eof && !self->request->up.done
      && prism_local_buffer_length (&self->in) == 0)
    prism_local_connection_end (self, "client-reset", "the client left in the middle of its request");
}

/* --- events ---------------------------------------------------------------------- */

gboolean
prism_local_forward_wants_client (PrismLocalConnection *self)
{
  if (!self->request->up.done)
    return prism_local_buffer_length (&self->upstream.out) < UP_WAITING;
  return prism_local_buffer_length (&self->in) < PRISM_HTTP_HEAD_MAX;
}

void
prism_local_forward_client_ready (PrismLocalConnection *self, guint32 events)
{
  if ((events & EPOLLOUT) != 0)
    prism_local_reply_flush (self);
  if (self->state != PRISM_LOCAL_FORWARD || (events & ~EPOLLOUT) == 0)
    return;
  if (!prism_local_connection_read (self))
    return;
  prism_local_forward_body (self);
}

void
prism_local_forward_upstream_ready (PrismLocalConnection *self, guint32 events)
{
  if ((events & EPOLLOUT) != 0)
    {
      if (!prism_local_end_flush (&self->upstream))
        {
          prism_local_reply_broke (self);
          return;
        }
      prism_local_forward_body (self);
    }
  if (self->state == PRISM_LOCAL_FORWARD && ((events & ~EPOLLOUT) != 0 || self->upstream.wants_out))
    prism_local_reply_read (self);
}
