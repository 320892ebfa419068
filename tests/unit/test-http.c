/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The egress proxy's parsers of what strangers send: each row is a message and what
 * is made of it. Every message is also read cut in two at every byte. */
#include "prism-http-chunks.h"
#include "prism-http-head.h"
#include "prism-http-target.h"
#include "prism-tls-hello.h"

#include <string.h>

/* --- heads ----------------------------------------------------------------------- */

typedef struct
{
  const char *head;
  guint status; /* 0: it is good */
} HeadRow;

#define GOOD "GET http://good.test/ HTTP/1.1\r\nHost: good.test\r\n"
#define POST "POST http://good.test/ HTTP/1.1\r\nHost: good.test\r\n"

static const HeadRow requests[] = {
  { GOOD "\r\n", 0 },
  { GOOD "A:\r\n\r\n", 0 },
  { GOOD "A: b\tc \t\r\n\r\n", 0 },
  { GOOD "A: \xc3\xbc\r\n\r\n", 0 },
  { "GET /a HTTP/1.0\r\n\r\n", 0 },
  { "CONNECT good.test:443 HTTP/1.1\r\nHost: good.test:443\r\n\r\n", 0 },
  { POST "Content-Length: 5\r\n\r\n", 0 },
  { POST "Transfer-Encoding: chunked\r\n\r\n", 0 },
  { POST "Transfer-Encoding: CHUNKED\r\n\r\n", 0 },
  { POST "Content-Length: 9007199254740991\r\n\r\n", 0 },
  { POST "Expect: 100-continue\r\n\r\n", 0 },
  { GOOD "Connection: close, X-A ,keep-alive\r\n\r\n", 0 },
  /* framing of two meanings */
  { POST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", 400 },
  { POST "Content-Length: 5\r\nContent-Length: 6\r\n\r\n", 400 },
  { POST "Content-Length: 5\r\nContent-Length: 5\r\n\r\n", 400 },
  { POST "Content-Length: +5\r\n\r\n", 400 },
  { POST "Content-Length: -1\r\n\r\n", 400 },
  { POST "Content-Length: 5, 5\r\n\r\n", 400 },
  { POST "Content-Length: 5,6\r\n\r\n", 400 },
  { POST "Content-Length: 0x5\r\n\r\n", 400 },
  { POST "Content-Length: 5 5\r\n\r\n", 400 },
  { POST "Content-Length:\r\n\r\n", 400 },
  { POST "Content-Length: 9007199254740992\r\n\r\n", 400 },
  { POST "Content-Length: 99999999999999999999\r\n\r\n", 400 },
  { POST "Transfer-Encoding: xchunked\r\n\r\n", 400 },
  { POST "Transfer-Encoding: gzip, chunked\r\n\r\n", 400 },
  { POST "Transfer-Encoding: chunked, chunked\r\n\r\n", 400 },
  { POST "Transfer-Encoding: identity\r\n\r\n", 400 },
  { POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", 400 },
  { POST "Transfer-Encoding : chunked\r\n\r\n", 400 },
  { POST "Transfer-Encoding: \x0b"
         "chunked\r\n\r\n",
    400 },
  { "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400 },
  { POST "Expect: 100-continue\r\nExpect: 100-continue\r\n\r\n", 400 },
  { POST "Expect: the-unexpected\r\n\r\n", 400 },
  /* hosts */
  { "GET / HTTP/1.1\r\n\r\n", 400 },
  { GOOD "Host: good.test\r\n\r\n", 400 },
  { GOOD "HOST: evil.test\r\n\r\n", 400 },
  /* lines */
  { "GET http://good.test/ HTTP/1.1\nHost: good.test\r\n\r\n", 400 },
  { GOOD "A: b\n\r\n", 400 },
  { GOOD "A: b\rc\r\n\r\n", 400 },
  { GOOD "A: b\r\n c\r\n\r\n", 400 },
  { GOOD " A: b\r\n\r\n", 400 },
  { GOOD "A b: c\r\n\r\n", 400 },
  { GOOD "A\r\n\r\n", 400 },
  { GOOD ": b\r\n\r\n", 400 },
  { GOOD "A: b\x01\r\n\r\n", 400 },
  { GOOD "A: b\x7f\r\n\r\n", 400 },
  { GOOD "\xc3\xbc: b\r\n\r\n", 400 },
  { GOOD "Connection: a;b\r\n\r\n", 400 },
  { "\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", 400 },
  { "GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400 },
  { "GET /  HTTP/1.1\r\nHost: a\r\n\r\n", 400 },
  { "GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n", 400 },
  { "GET / HTTP/1.1 \r\nHost: a\r\n\r\n", 400 },
  { "GET /\xc3\xbc HTTP/1.1\r\nHost: a\r\n\r\n", 400 },
  { "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", 400 },
  { "G@T / HTTP/1.1\r\nHost: a\r\n\r\n", 400 },
  { "GETGETGETGETGETGETGETGETGETGETGETGET / HTTP/1.1\r\nHost: a\r\n\r\n", 400 },
  { "GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505 },
  { "GET / HTTP/1.2\r\nHost: a\r\n\r\n", 505 },
  { "GET / HTTP/1.10\r\nHost: a\r\n\r\n", 400 },
  { "GET / http/1.1\r\nHost: a\r\n\r\n", 400 },
  { "GET / HTTP/11\r\nHost: a\r\n\r\n", 400 },
  { "GET /\r\n\r\n", 400 },
  { "\x16\x03\x01\x02\x00\x01", 400 },
};

static const HeadRow responses[] = {
  { "HTTP/1.1 200 OK\r\n\r\n", 0 },
  { "HTTP/1.1 200 \r\n\r\n", 0 },
  { "HTTP/1.1 200\r\n\r\n", 0 },
  { "HTTP/1.0 404 Not \xc3\xbc\r\nContent-Length: 5\r\n\r\n", 0 },
  { "HTTP/1.1 20 OK\r\n\r\n", 502 },
  { "HTTP/1.1 2000 OK\r\n\r\n", 502 },
  { "HTTP/1.1 099 OK\r\n\r\n", 502 },
  { "HTTP/1.1 600 OK\r\n\r\n", 502 },
  { "HTTP/1.1  200 OK\r\n\r\n", 502 },
  { "HTTP/2.0 200 OK\r\n\r\n", 502 },
  { "ICY 200 OK\r\n\r\n", 502 },
  { "HTTP/1.1 200 OK\nA: b\r\n\r\n", 502 },
  { "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n", 502 },
  { "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", 502 },
  { "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", 502 },
  { "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", 502 },
  { "HTTP/1.1 302 Found\r\nLocation: /a\r\nLocation: /b\r\n\r\n", 502 },
};

typedef guint (*Parse) (const char *bytes, gsize length, PrismHttpHead *head, const char **wrong);

/* As a connection does: first the end, then what is in it. @cut: what came first. */
static guint
judge (const char *bytes, gsize length, gsize cut, guint malformed, Parse parse, PrismHttpHead *head)
{
  const char *wrong = NULL;
  gsize scanned = 0, end = prism_http_head_find_end (bytes, cut, &scanned, &wrong);

  if (wrong == NULL && end == 0)
    end = prism_http_head_find_end (bytes, length, &scanned, &wrong);
  if (wrong != NULL)
    return malformed;
  g_assert_cmpuint (end, ==, length);
  return parse (bytes, end, head, &wrong);
}

static void
check_rows (const HeadRow *rows, guint n, guint malformed, Parse parse)
{
  static PrismHttpHead head;

  for (guint i = 0; i < n; i++)
    {
      gsize length = strlen (rows[i].head);

      g_test_message ("%s", rows[i].head);
      for (gsize cut = 0; cut <= length; cut++)
        {
          /* Nothing behind it is looked at. */
          g_autofree char *copy = g_memdup2 (rows[i].head, length);

          g_assert_cmpuint (judge (copy, length, cut, malformed, parse, &head), ==, rows[i].status);
        }
    }
}

static void
test_requests (void)
{
  check_rows (requests, G_N_ELEMENTS (requests), 400, prism_http_head_parse_request);
}

static void
test_responses (void)
{
  check_rows (responses, G_N_ELEMENTS (responses), 502, prism_http_head_parse_response);
}

static void
test_nul (void)
{
  static const char with_nul[] = GOOD "A: b\0c\r\n\r\n";
  static PrismHttpHead head;
  const char *wrong;

  g_assert_cmpuint (prism_http_head_parse_request (with_nul, sizeof with_nul - 1, &head, &wrong), ==, 400);
}

static void
test_fields (void)
{
  static const char text[] =
      GOOD "Connection: X-Gone, close\r\nx-gone: 1\r\nKeep-Alive: 5\r\nProxy-Authorization: a\r\n"
           "TE: trailers\r\nUpgrade: h2c\r\nTrailer: a\r\nStays: 2\r\nAuthorization: b\r\n\r\n";
  static PrismHttpHead head;
  const char *wrong;
  g_autoptr (GString) left = g_string_new (NULL);

  g_assert_cmpuint (prism_http_head_parse_request (text, sizeof text - 1, &head, &wrong), ==, 0);
  for (guint i = 0; i < head.n_fields; i++)
    if (!prism_http_head_ends_field (&head, &head.fields[i]))
      g_string_append_printf (left, "%.*s ", (int)head.fields[i].name.length, head.fields[i].name.text);
  g_assert_cmpstr (left->str, ==, "Host Stays Authorization ");
  g_assert_true (head.close);
}

static void
test_many_fields (void)
{
  g_autoptr (GString) text = g_string_new (GOOD);
  static PrismHttpHead head;
  const char *wrong;

  for (guint i = 1; i < PRISM_HTTP_FIELDS_MAX; i++)
    g_string_append (text, "A: b\r\n");
  g_string_append (text, "\r\n");
  g_assert_cmpuint (prism_http_head_parse_request (text->str, text->len, &head, &wrong), ==, 0);
  g_string_truncate (text, text->len - 2);
  g_string_append (text, "A: b\r\n\r\n");
  g_assert_cmpuint (prism_http_head_parse_request (text->str, text->len, &head, &wrong), ==, 431);
}

/* --- targets --------------------------------------------------------------------- */

static void
test_targets (void)
{
  static const struct
  {
    const char *line, *authority, *path; /* authority NULL: refused */
  } rows[] = {
    { "GET http://good.test/a?b", "good.test", "/a?b" },
    { "GET HTTP://good.test", "good.test", "" },
    { "GET http://good.test?q", "good.test", "?q" },
    { "GET https://good.test/", "good.test", "/" },
    { "GET http://good.test@127.0.0.1:8080/", "good.test@127.0.0.1:8080", "/" },
    { "GET http://evil.test\\@good.test/", "evil.test\\@good.test", "/" },
    { "GET http://good.test/%0d%0aX:%201", "good.test", "/%0d%0aX:%201" },
    { "GET /a", "host.test", "/a" },
    { "CONNECT good.test:443", "good.test:443", "" },
    { "GET http://good.test/#a", NULL, NULL },
    { "GET /#a", NULL, NULL },
    { "GET http:///a", NULL, NULL },
    { "GET ftp://good.test/", NULL, NULL },
    { "GET good.test/", NULL, NULL },
    { "OPTIONS *", NULL, NULL },
    { "GET file:///etc/passwd", NULL, NULL },
  };
  static PrismHttpHead head;

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autofree char *text = g_strconcat (rows[i].line, " HTTP/1.1\r\nHost: host.test\r\n\r\n", NULL);
      PrismHttpTarget target;
      const char *wrong;

      g_test_message ("%s", rows[i].line);
      g_assert_cmpuint (prism_http_head_parse_request (text, strlen (text), &head, &wrong), ==, 0);
      g_assert_true ((prism_http_target_parse (&head, &target) == NULL) == (rows[i].authority != NULL));
      if (rows[i].authority == NULL)
        continue;
      g_assert_cmpmem (target.authority.text, target.authority.length, rows[i].authority, strlen (rows[i].authority));
      g_assert_cmpmem (target.path.text, target.path.length, rows[i].path, strlen (rows[i].path));
    }
}

/* --- chunks ---------------------------------------------------------------------- */

/* What is read, in pieces of @step; NULL: refused. */
static char *
decode (const char *text, gsize step, gboolean *done)
{
  PrismHttpChunks chunks = { PRISM_HTTP_CHUNKS_SIZE };
  g_autoptr (GString) body = g_string_new (NULL);
  gsize length = strlen (text), at = 0;

  while (at < length && chunks.state < PRISM_HTTP_CHUNKS_DONE)
    {
      const char *data = NULL;
      gsize n, eaten = prism_http_chunks_eat (&chunks, text + at, MIN (step, length - at), &data, &n);

      g_string_append_len (body, data, (gssize)n);
      at += eaten;
    }
  *done = chunks.state == PRISM_HTTP_CHUNKS_DONE && at == length;
  return chunks.state == PRISM_HTTP_CHUNKS_WRONG ? NULL : g_string_free (g_steal_pointer (&body), FALSE);
}

static void
test_chunks (void)
{
  static const struct
  {
    const char *text, *body; /* body NULL: refused */
    gboolean done;
  } rows[] = {
    { "0\r\n\r\n", "", TRUE },
    { "5\r\nhello\r\n0\r\n\r\n", "hello", TRUE },
    { "05\r\nhello\r\n1;a=b\r\n!\r\n000\r\n\r\n", "hello!", TRUE },
    { "A\r\n0123456789\r\n0\r\nX-T: 1\r\nY:\r\n\r\n", "0123456789", TRUE },
    { "5\r\nhel", "hel", FALSE },
    { "5\r\nhello\r\n0\r\n", "hello", FALSE },
    { "5\nhello\r\n0\r\n\r\n", NULL, FALSE },
    { "5;ext\nhello\r\n0\r\n\r\n", NULL, FALSE },
    { "5\r\nhello0\r\n\r\n", NULL, FALSE },
    { "5\r\nhelloXX0\r\n\r\n", NULL, FALSE },
    { "FFFFFFFFFFFFFFFF\r\n", NULL, FALSE },
    { "00000000000000\r\n", NULL, FALSE },
    { "0x5\r\nhello\r\n", NULL, FALSE },
    { "5 \r\nhello\r\n", NULL, FALSE },
    { " 5\r\nhello\r\n", NULL, FALSE },
    { "-1\r\n", NULL, FALSE },
    { "+5\r\nhello\r\n", NULL, FALSE },
    { "\r\n", NULL, FALSE },
    { ";\r\n", NULL, FALSE },
    { "5\r\nhello\r\n0\r\n folded\r\n\r\n", NULL, FALSE },
    { "0\r\nnocolon\r\n\r\n", NULL, FALSE },
    { "0\r\n: a\r\n\r\n", NULL, FALSE },
    { "0\r\nA: b\n\r\n", NULL, FALSE },
    { "0\r\nA: b\rc\r\n\r\n", NULL, FALSE },
    { "5;\x01\r\n", NULL, FALSE },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    for (gsize step = 1; step <= 32; step++)
      {
        gboolean done;
        g_autofree char *body = decode (rows[i].text, step, &done);

        g_test_message ("%s", rows[i].text);
        g_assert_cmpstr (body, ==, rows[i].body);
        g_assert_true (done == rows[i].done);
      }
}

static void
test_chunk_bounds (void)
{
  g_autoptr (GString) text = g_string_new ("1;");
  gboolean done;
  g_autofree char *body = NULL;

  for (guint i = 0; i < 20000; i++)
    g_string_append_c (text, 'a');
  body = decode (text->str, 4096, &done);
  g_assert_null (body);
}

/* --- the name in TLS ------------------------------------------------------------- */

static void
add_vector (GByteArray *to, guint bytes, const GByteArray *inner)
{
  for (guint i = bytes; i > 0; i--)
    {
      guint8 byte = (guint8)(inner->len >> (8 * (i - 1)));

      g_byte_array_append (to, &byte, 1);
    }
  g_byte_array_append (to, inner->data, inner->len);
}

static void
add_extension (GByteArray *to, guint type, const GByteArray *inner)
{
  g_byte_array_append (to, (guint8[]){ (guint8)(type >> 8), (guint8)type }, 2);
  add_vector (to, 2, inner);
}

/* In records of at most @record bytes. */
static GByteArray *
make_hello (const char *name, guint names, gboolean encrypted, gsize record)
{
  g_autoptr (GByteArray) extensions = g_byte_array_new (), body = g_byte_array_new (), message = g_byte_array_new ();
  GByteArray *out = g_byte_array_new ();
  static const guint8 start[] = { 3, 3 }, fixed[] = { 0, 0, 2, 0x13, 0x01, 1, 0 }, one = 1;
  static const guint8 random[32] = { 7 };

  for (guint i = 0; i < names; i++)
    {
      g_autoptr (GByteArray) text = g_byte_array_new (), entry = g_byte_array_new (), list = g_byte_array_new ();

      g_byte_array_append (text, (const guint8 *)name, (guint)strlen (name));
      g_byte_array_append (entry, (const guint8 *)"", 1);
      add_vector (entry, 2, text);
      add_vector (list, 2, entry);
      add_extension (extensions, 0, list);
    }
  if (encrypted)
    g_byte_array_append (extensions, (const guint8[]){ 0xfe, 0x0d, 0, 0 }, 4);
  g_byte_array_append (body, start, 2);
  g_byte_array_append (body, random, 32);
  g_byte_array_append (body, fixed, sizeof fixed);
  add_vector (body, 2, extensions);
  g_byte_array_append (message, &one, 1);
  add_vector (message, 3, body);
  for (gsize at = 0; at < message->len; at += record)
    {
      gsize n = MIN (record, message->len - at);

      g_byte_array_append (out, (guint8[]){ 0x16, 3, 1, (guint8)(n >> 8), (guint8)n }, 5);
      g_byte_array_append (out, message->data + at, (guint)n);
    }
  return out;
}

static void
check_hello (const GByteArray *hello, PrismTlsHello expected, const char *name)
{
  char found[256];

  /* Before it is all there it may only ask for more, or be sure already. */
  for (guint length = 0; length < hello->len; length++)
    {
      g_autofree guint8 *copy = g_memdup2 (hello->data, length);
      PrismTlsHello result = prism_tls_hello_parse (copy, length, found);

      g_assert_true (result == PRISM_TLS_HELLO_MORE || result == expected);
      g_assert_true (result == PRISM_TLS_HELLO_MORE || result >= PRISM_TLS_HELLO_WRONG);
    }
  g_assert_cmpint (prism_tls_hello_parse (hello->data, hello->len, found), ==, expected);
  if (name != NULL)
    g_assert_cmpstr (found, ==, name);
}

static void
test_hello (void)
{
  g_autoptr (GByteArray) whole = make_hello ("good.test", 1, FALSE, 16384);
  g_autoptr (GByteArray) split = make_hello ("good.test", 1, FALSE, 7);
  g_autoptr (GByteArray) bytes = make_hello ("good.test", 1, FALSE, 1);
  g_autoptr (GByteArray) unnamed = make_hello ("", 0, FALSE, 16384);
  g_autoptr (GByteArray) twice = make_hello ("good.test", 2, FALSE, 16384);
  g_autoptr (GByteArray) empty = make_hello ("", 1, FALSE, 16384);
  g_autoptr (GByteArray) hidden = make_hello ("good.test", 1, TRUE, 16384);
  char name[256];

  check_hello (whole, PRISM_TLS_HELLO_NAMED, "good.test");
  check_hello (split, PRISM_TLS_HELLO_NAMED, "good.test");
  check_hello (bytes, PRISM_TLS_HELLO_NAMED, "good.test");
  check_hello (unnamed, PRISM_TLS_HELLO_UNNAMED, NULL);
  check_hello (twice, PRISM_TLS_HELLO_WRONG, NULL);
  check_hello (empty, PRISM_TLS_HELLO_WRONG, NULL);
  check_hello (hidden, PRISM_TLS_HELLO_ENCRYPTED, NULL);
  g_assert_cmpint (prism_tls_hello_parse ((const guint8 *)"GET /", 5, name), ==, PRISM_TLS_HELLO_OTHER);
  g_assert_cmpint (prism_tls_hello_parse ((const guint8 *)"\x80\x2e\x01\x03\x01", 5, name), ==, PRISM_TLS_HELLO_OTHER);
  g_assert_cmpint (prism_tls_hello_parse ((const guint8 *)"\x16\x03\x01\xff\xff\x01", 6, name), ==,
                   PRISM_TLS_HELLO_WRONG);
  g_assert_cmpint (prism_tls_hello_parse ((const guint8 *)"\x16\x03\x01\x00\x04\x01\xff\xff\xff", 9, name), ==,
                   PRISM_TLS_HELLO_WRONG);
  g_assert_cmpint (prism_tls_hello_parse ((const guint8 *)"\x16\x03\x01\x00\x04\x02\x00\x00\x20", 9, name), ==,
                   PRISM_TLS_HELLO_WRONG);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/http/requests", test_requests);
  g_test_add_func ("/http/responses", test_responses);
  g_test_add_func ("/http/nul", test_nul);
  g_test_add_func ("/http/fields", test_fields);
  g_test_add_func ("/http/many-fields", test_many_fields);
  g_test_add_func ("/http/targets", test_targets);
  g_test_add_func ("/http/chunks", test_chunks);
  g_test_add_func ("/http/chunk-bounds", test_chunk_bounds);
  g_test_add_func ("/http/hello", test_hello);
  return g_test_run ();
}
