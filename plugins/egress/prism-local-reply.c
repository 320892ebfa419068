/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The way back. Trust: none in the origin either. Its framing is understood strictly
 * and written anew; what comes beyond the end of an answer is no answer to the next
 * request, but the end of that connection. */
#include "prism-local-reply.h"

#include "prism-local-dial.h"
#include "prism-local-forward.h"
#include "prism-local-io.h"
#include "prism-local-record.h"
#include "prism-local-redirect.h"
#include "prism-local-tls.h"
#include "prism-local-writer.h"

#define INTERIM_MAX 16
#define JOIN_MAX    8192

static void
count_down (PrismLocalConnection *self, gsize bytes)
{
  self->received += (gint64)bytes;
  prism_local_count (&self->port->counters.received, (gint64)bytes);
}

static void
refuse_reply (PrismLocalConnection *self, const char *why)
{
  prism_local_refuse (self, PRISM_LOCAL_FAILS, 502, "DNS", "upstream", "the answer of %s is malformed: %s",
                      self->place.host, why);
}

static void
client_went (PrismLocalConnection *self)
{
  prism_local_connection_end (self, "client-reset", "the client went away before the answer's end");
}

/* --- the end --------------------------------------------------------------------- */

static void
finish (PrismLocalConnection *self)
{
  prism_local_connection_done (self, NULL, NULL);
}

/* Cut: the client sees that the answer is not whole. */
static void
cut (PrismLocalConnection *self, PrismLocalVerdict verdict, const char *reason_id, const char *reason)
{
  if (!self->request->answered)
    prism_local_refuse (self, verdict, 502, verdict == PRISM_LOCAL_DENIES ? "LIMIT" : "DNS", reason_id, "%s", reason);
  else
    {
      if (verdict == PRISM_LOCAL_DENIES)
        prism_local_count (&self->port->counters.denied, 1);
      prism_local_record (self, verdict == PRISM_LOCAL_DENIES ? PRISM_AUDIT_DECISION_DENY : PRISM_AUDIT_DECISION_ALLOW,
                          reason_id, reason);
      self->refused = TRUE;
      prism_local_connection_cut (self);
    }
}

/* A connection that was kept may have ended while it was not used: that is nobody's
 * fault, and a request that changes nothing is sent once more. */
static gboolean
ask_again (PrismLocalConnection *self)
{
  PrismLocalRequest *request = self->request;

  if (!request->reused || !request->safe || self->received > 0 || request->reply.end > 0)
    return FALSE;
  request->reused = FALSE;
  prism_local_dial_begin (self);
  return TRUE;
}

void
prism_local_reply_broke (PrismLocalConnection *self)
{
  PrismLocalRequest *request = self->request;

  /* It may have said why before it stopped listening. */
  if (!request->answered && request->head_sent && self->upstream.watch.fd >= 0 && !self->upstream.eof)
    {
      request->keep = FALSE;
      prism_local_buffer_clear (&self->upstream.out);
      request->up.done = TRUE;
      request->head_sent = FALSE;
      prism_local_reply_read (self);
      return;
    }
  if (!ask_again (self))
    cut (self, PRISM_LOCAL_FAILS, "upstream", "the upstream closed the connection before it had answered");
}

/* --- bodies ---------------------------------------------------------------------- */

static gboolean
send_down (PrismLocalConnection *self, const struct iovec *parts, guint n)
{
  if (prism_local_end_send (&self->client, parts, n))
    return TRUE;
  client_went (self);
  return FALSE;
}

/* Whether the limit still holds after @length more. */
static gboolean
check_most (PrismLocalConnection *self, gsize length)
{
  PrismLocalBody *body = &self->request->down;
  gint64 most = self->port->limits.response_bytes;
  g_autofree char *text = NULL;

  body->seen += (gint64)length;
  if (most == 0 || body->seen <= most)
    return TRUE;
  text = g_strdup_printf ("the answer is longer than %" G_GINT64_FORMAT " bytes (response-bytes)", most);
  cut (self, PRISM_LOCAL_DENIES, "response-bytes", text);
  return FALSE;
}

static gboolean
send_recoded (PrismLocalConnection *self, const char *data, gsize length)
{
  char size[20];
  struct iovec parts[] = { { size, prism_http_chunks_write_size (size, length) },
                           { (char *)data, length },
                           { (char *)"\r\n", 2 } };

  return self->request->down.recode ? send_down (self, parts, 3) : send_down (self, &parts[1], 1);
}

/* How much of @bytes belonged to the body; -1: it ended otherwise. */
static gssize
take_chunked (PrismLocalConnection *self, const char *bytes, gsize length)
{
  PrismLocalBody *body = &self->request->down;
  gsize at = 0;

  while (at < length && !body->done)
    {
      const char *data = NULL;
      gsize piece;

      at += prism_http_chunks_eat (&body->chunks, bytes + at, length - at, &data, &piece);
      if (body->chunks.state == PRISM_HTTP_CHUNKS_WRONG)
        {
          cut (self, PRISM_LOCAL_FAILS, "upstream", "the answer's body is malformed");
          return -1;
        }
      if (piece > 0 && (!check_most (self, piece) || !send_recoded (self, data, piece)))
        return -1;
      body->done = body->chunks.state == PRISM_HTTP_CHUNKS_DONE;
    }
  if (body->done && body->recode && !send_down (self, &(struct iovec){ (char *)"0\r\n\r\n", 5 }, 1))
    return -1;
  return (gssize)at;
}

static gssize
take_plain (PrismLocalConnection *self, const char *bytes, gsize length)
{
  PrismLocalBody *body = &self->request->down;

  if (body->kind == PRISM_LOCAL_BODY_LENGTH)
    length = (gsize)MIN ((gint64)length, body->left);
  if (length > 0 && (!check_most (self, length) || !send_down (self, &(struct iovec){ (char *)bytes, length }, 1)))
    return -1;
  body->left -= (gint64)length;
  body->done = body->kind == PRISM_LOCAL_BODY_LENGTH && body->left == 0;
  return (gssize)length;
}

static void
take_body (PrismLocalConnection *self, const char *bytes, gsize length)
{
  PrismLocalBody *body = &self->request->down;
  gssize taken = body->done                               ? 0
                 : body->kind == PRISM_LOCAL_BODY_CHUNKED ? take_chunked (self, bytes, length)
                                                          : take_plain (self, bytes, length);

  if (taken < 0)
    return;
  /* What nobody asked for: whose answer would it be? */
  if (body->done && (gsize)taken < length)
    self->request->keep_up = FALSE;
  if (body->done)
    finish (self);
}

/* --- heads ----------------------------------------------------------------------- */

static void
set_down_body (PrismLocalRequest *request, const PrismHttpHead *head)
{
  PrismLocalBody *body = &request->down;

  request->keep_up = head->minor == 1 ? !head->close : head->keep_alive && !head->close;
  if (request->is_head || head->status == 204 || head->status == 304)
    body->kind = PRISM_LOCAL_BODY_NONE;
  else if (head->chunked)
    body->kind = PRISM_LOCAL_BODY_CHUNKED;
  else if (head->has_length)
    {
      body->kind = PRISM_LOCAL_BODY_LENGTH;
      body->left = (gint64)head->content_length;
    }
  else
    {
      body->kind = PRISM_LOCAL_BODY_CLOSE;
      request->keep_up = FALSE;
    }
  body->recode = body->kind == PRISM_LOCAL_BODY_CHUNKED && request->minor == 1;
  if (body->kind == PRISM_LOCAL_BODY_CLOSE || (body->kind == PRISM_LOCAL_BODY_CHUNKED && !body->recode))
    request->keep = FALSE;
  body->done = body->kind == PRISM_LOCAL_BODY_NONE || (body->kind == PRISM_LOCAL_BODY_LENGTH && body->left == 0);
  /* An answer before the request's end: the rest of the request has no reader. */
  if (!request->up.done)
    request->keep = request->keep_up = FALSE;
}

static void
write_reply (PrismLocalWriter *out, const PrismHttpHead *head)
{
  prism_local_write_number (out, "HTTP/1.1 ", head->status, " ");
  prism_local_write (out, head->reason.text, head->reason.length);
  prism_local_write_text (out, "\r\n");
  for (guint i = 0; i < head->n_fields; i++)
    if (head->fields[i].meaning != PRISM_HTTP_CONTENT_LENGTH && !prism_http_head_ends_field (head, &head->fields[i]))
      prism_local_write_field (out, &head->fields[i]);
}

static void
write_framing (PrismLocalWriter *out, PrismLocalRequest *request, const PrismHttpHead *head)
{
  if (head->has_length && head->status != 204)
    prism_local_write_number (out, "Content-Length: ", head->content_length, "\r\n");
  else if (request->down.recode || (request->is_head && head->chunked && request->minor == 1))
    prism_local_write_text (out, "Transfer-Encoding: chunked\r\n");
  if (!request->keep)
    prism_local_write_text (out, "Connection: close\r\n");
  else if (request->minor == 0)
    prism_local_write_text (out, "Connection: keep-alive\r\n");
  prism_local_write_text (out, "\r\n");
}

/* 100 and 103 are passed on to whoever knows them. */
static gboolean
pass_interim (PrismLocalConnection *self, const PrismHttpHead *head)
{
  PrismLocalEngine *engine = prism_local_connection_engine (self);
  PrismLocalWriter out = { engine->head, engine->head, engine->head + sizeof engine->head, FALSE };

  if (head->status == 101 || ++self->request->interim > INTERIM_MAX || head->chunked || head->has_length)
    {
      refuse_reply (self, head->status == 101 ? "it changes the protocol, which nobody asked for"
                                              : "it says too much before the answer");
      return FALSE;
    }
  if (self->request->minor == 0)
    return TRUE;
  write_reply (&out, head);
  prism_local_write_text (&out, "\r\n");
  return send_down (self, &(struct iovec){ out.start, (gsize)(out.at - out.start) }, 1);
}

/* The head, and in one go with it as much of the body as came along. */
static gboolean
pass_final (PrismLocalConnection *self, const PrismHttpHead *head, const char *rest, gsize length)
{
  PrismLocalEngine *engine = prism_local_connection_engine (self);
  PrismLocalRequest *request = self->request;
  PrismLocalBody *body = &request->down;
  PrismLocalWriter out = { engine->head, engine->head, engine->head + sizeof engine->head, FALSE };
  gint64 most = self->port->limits.response_bytes;
  gsize whole = body->kind == PRISM_LOCAL_BODY_LENGTH ? (gsize)MIN ((gint64)length, body->left) : 0;
  gboolean joins;

  if (most > 0 && body->kind == PRISM_LOCAL_BODY_LENGTH && body->left > most)
    {
      prism_local_refuse (self, PRISM_LOCAL_DENIES, 502, "LIMIT", "response-bytes",
                          "the answer is longer than %" G_GINT64_FORMAT " bytes (response-bytes)", most);
      return FALSE;
    }
  write_reply (&out, head);
  write_framing (&out, request, head);
  if (out.full)
    {
      refuse_reply (self, "its head is too long");
      return FALSE;
    }
  request->answered = TRUE;
  body->seen = (gint64)whole;
  body->left -= (gint64)whole;
  body->done = body->done || (body->kind == PRISM_LOCAL_BODY_LENGTH && body->left == 0);
  /* Copying a little is cheaper than gathering it. */
  joins = whole > 0 && whole <= JOIN_MAX;
  if (joins)
    prism_local_write (&out, rest, whole);
  if (!send_down (self, (struct iovec[]){ { out.start, (gsize)(out.at - out.start) }, { (char *)rest, whole } },
                  whole > 0 && !joins ? 2 : 1))
    return FALSE;
  take_body (self, rest + whole, length - whole);
  return self->state == PRISM_LOCAL_FORWARD;
}

/* One head out of @bytes. How much of them is used up; 0: it is not all there; -1:
 * this was the end, one way or another. */
static gssize
take_head (PrismLocalConnection *self, const char *bytes, gsize length)
{
  PrismLocalEngine *engine = prism_local_connection_engine (self);
  PrismLocalRequest *request = self->request;
  const char *wrong = NULL;
  gsize end = prism_http_head_find_end (bytes, MIN (length, PRISM_HTTP_HEAD_MAX), &request->reply_scanned, &wrong);

  if (wrong == NULL && end == 0 && length >= PRISM_HTTP_HEAD_MAX)
    wrong = "its head is too long";
  if (wrong == NULL && end == 0)
    return 0;
  engine->parsed_for = NULL;
  if (wrong != NULL || prism_http_head_parse_response (bytes, end, &engine->parsed, &wrong) != 0)
    {
      refuse_reply (self, wrong);
      return -1;
    }
  request->reply_scanned = 0;
  if (engine->parsed.status < 200)
    return pass_interim (self, &engine->parsed) ? (gssize)end : -1;
  set_down_body (request, &engine->parsed);
  if (prism_local_redirect_follows (self, &engine->parsed))
    return -1;
  /* To see where it leads, the request was parsed again. */
  if (engine->parsed_for == self)
    prism_http_head_parse_response (bytes, end, &engine->parsed, &wrong);
  engine->parsed_for = NULL;
  pass_final (self, &engine->parsed, bytes + end, length - end);
  return -1;
}

static void
take_heads (PrismLocalConnection *self, const char *bytes, gsize length)
{
  PrismLocalBuffer *reply = &self->request->reply;
  gssize used = 1;

  if (prism_local_buffer_length (reply) == 0)
    {
      /* Mostly it is all there at once, and is not copied. */
      while (length > 0 && used > 0)
        {
          used = take_head (self, bytes, length);
          if (used > 0)
            {
              bytes += used;
              length -= (gsize)used;
            }
        }
      if (used == 0)
        prism_local_buffer_append (reply, bytes, length);
      return;
    }
  prism_local_buffer_append (reply, bytes, length);
  while (used > 0 && prism_local_buffer_length (reply) > 0)
    {
      used = take_head (self, prism_local_buffer_data (reply), prism_local_buffer_length (reply));
      if (used > 0)
        prism_local_buffer_eat (reply, (gsize)used);
    }
}

/* --- events ---------------------------------------------------------------------- */

static void
upstream_ended (PrismLocalConnection *self, gboolean broken)
{
  PrismLocalRequest *request = self->request;

  self->upstream.eof = TRUE;
  if (request->answered && request->down.kind == PRISM_LOCAL_BODY_CLOSE && !broken)
    {
      request->down.done = TRUE;
      finish (self);
    }
  else if (!ask_again (self))
    cut (self, PRISM_LOCAL_FAILS, "upstream",
         request->answered ? "the upstream closed the connection before the answer's end"
                           : "the upstream closed the connection before it had answered");
}

void
prism_local_reply_read (PrismLocalConnection *self)
{
  PrismLocalEngine *engine = prism_local_connection_engine (self);

  do
    {
      gssize n = prism_local_end_read (&self->upstream, engine->scratch, sizeof engine->scratch);

      if (n == PRISM_LOCAL_AGAIN)
        return;
      if (n <= 0)
        {
          upstream_ended (self, n < 0);
          return;
        }
      self->touched = engine->now;
      count_down (self, (gsize)n);
      if (self->request->answered)
        take_body (self, engine->scratch, (gsize)n);
      else
        take_heads (self, engine->scratch, (gsize)n);
    }
  while (self->state == PRISM_LOCAL_FORWARD && prism_local_tls_has_more (&self->upstream)
         && prism_local_buffer_length (&self->client.out) == 0);
}

void
prism_local_reply_flush (PrismLocalConnection *self)
{
  if (!prism_local_end_flush (&self->client))
    client_went (self);
  else if (prism_local_buffer_length (&self->client.out) == 0 && prism_local_tls_has_more (&self->upstream))
    prism_local_reply_read (self);
}
