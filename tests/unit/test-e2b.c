/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The wire of the hosted service: tables, and what was recorded of its own client. */
#include <signal.h>
#include <string.h>

#include "prism-e2b-envelope.h"
#include "prism-e2b-error.h"
#include "prism-e2b-event.h"
#include "prism-e2b-rest.h"

#define CONTROL PRISM_E2B_PLANE_CONTROL
#define DATA    PRISM_E2B_PLANE_DATA

/* --- envelopes ---------------------------------------------------------------------------- */

typedef struct
{
  GString *messages; /* each with a line feed */
  gboolean end;
} Heard;

/* Hands @data over in pieces of @piece bytes. */
static gboolean
feed (PrismE2bDecoder *decoder, const guint8 *data, gsize size, gsize piece, Heard *heard, GError **error)
{
  while (size > 0)
    {
      gsize n = MIN (piece, size), left = n;
      const guint8 *at = data;

      while (left > 0)
        {
          PrismE2bFrame frame;
          const guint8 *payload;
          gsize length;

          if (!prism_e2b_decoder_take (decoder, &at, &left, &frame, &payload, &length, error))
            return FALSE;
          if (frame == PRISM_E2B_FRAME_NONE)
            continue;
          g_string_append_len (heard->messages, (const char *)payload, (gssize)length);
          g_string_append_c (heard->messages, '\n');
          heard->end |= frame == PRISM_E2B_FRAME_END;
        }
      data += n;
      size -= n;
    }
  return prism_e2b_decoder_finish (decoder, error);
}

typedef struct
{
  const char *bytes;
  gsize size;
  const char *heard;
  const char *wrong; /* NULL = fine */
} EnvelopeCase;

#define CASE(bytes, heard, wrong)                                                                                      \
  {                                                                                                                    \
    bytes, sizeof bytes - 1, heard, wrong                                                                              \
  }

static const EnvelopeCase envelope_cases[] = {
  CASE ("\2\0\0\0\2{}", "{}\n", NULL),
  CASE ("\0\0\0\0\3abc\0\0\0\0\0\2\0\0\0\2{}", "abc\n\n{}\n", NULL),
  CASE ("", "", "without an end-of-stream"),
  CASE ("\0\0\0\0\3abc", "abc\n", "without an end-of-stream"),
  CASE ("\0\0\0", "", "within a message"),
  CASE ("\0\0\0\0\3ab", "", "within a message"),
  CASE ("\2\0\0\0\2{", "", "within a message"),
  CASE ("\2\0\0\0\2{}x", "{}\n", "after its end"),
  CASE ("\1\0\0\0\2{}", "", "compressed"),
  CASE ("\3\0\0\0\2{}", "", "compressed"),
  CASE ("\4\0\0\0\2{}", "", "flags"),
  CASE ("\200\0\0\0\2{}", "", "flags"),
  CASE ("\0\0\0\2\1xx", "", "larger than its bound"),
  CASE ("\0\377\377\377\377xx", "", "larger than its bound"),
  CASE ("<html>502 Bad Gateway", "", "flags"),
};

static void
test_envelopes (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (envelope_cases); i++)
    for (gsize piece = 1; piece <= 24; piece++)
      {
        const EnvelopeCase *c = &envelope_cases[i];
        g_auto (PrismE2bDecoder) decoder;
        g_autoptr (GError) error = NULL;
        Heard heard = { g_string_new (NULL), FALSE };
        gboolean fine;

        prism_e2b_decoder_init (&decoder, 512);
        fine = feed (&decoder, (const guint8 *)c->bytes, c->size, piece, &heard, &error);
        g_assert_cmpstr (heard.messages->str, ==, c->heard);
        if (c->wrong == NULL)
          {
            g_assert_no_error (error);
            g_assert_true (fine && heard.end);
          }
        else
          {
            g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_LOST);
            g_assert_nonnull (strstr (error->message, c->wrong));
          }
        g_string_free (heard.messages, TRUE);
      }
}

static void
test_envelope_round (void)
{
  for (gsize size = 0; size < 600; size += 23)
    {
      g_autofree guint8 *bytes = g_malloc0 (size + 1);
      g_autoptr (GBytes) payload = g_bytes_new (bytes, size);
      g_autoptr (GBytes) envelope = prism_e2b_envelope_new (payload);
      g_auto (PrismE2bDecoder) decoder;
      gsize left;
      const guint8 *at = g_bytes_get_data (envelope, &left), *got;
      PrismE2bFrame frame;
      gsize n;

      prism_e2b_decoder_init (&decoder, 600);
      g_assert_true (prism_e2b_decoder_take (&decoder, &at, &left, &frame, &got, &n, NULL));
      g_assert_cmpint (frame, ==, PRISM_E2B_FRAME_MESSAGE);
      g_assert_cmpmem (got, n, bytes, size);
      g_assert_cmpuint (left, ==, 0);
    }
}

/* --- events ---------------------------------------------------------------------------------- */

typedef struct
{
  const char *json;
  PrismE2bEventKind kind;
  int outcome; /* END */
  int number;  /* pid, exit code or signal */
  const char *bytes;
} EventCase;

#define BROKEN ((PrismE2bEventKind)-1)

static const EventCase event_cases[] = {
  { "{\"event\":{\"start\":{\"pid\":25608}}}", PRISM_E2B_EVENT_START, 0, 25608, NULL },
  { "{ \"event\" : { \"start\" : { \"pid\" : \"7\" } } }", PRISM_E2B_EVENT_START, 0, 7, NULL },
  { "{\"event\":{\"start\":{}}}", BROKEN, 0, 0, NULL },
  { "{\"event\":{\"start\":{\"pid\":-1}}}", BROKEN, 0, 0, NULL },
  { "{\"event\":{\"start\":{\"pid\":1.5}}}", BROKEN, 0, 0, NULL },
  { "{\"event\":{\"data\":{\"stdout\":\"aGkK\"}}}", PRISM_E2B_EVENT_DATA, 0, PRISM_STREAM_STDOUT, "hi\n" },
  { "{\"event\":{\"data\":{\"stderr\":\"ZXJyCg==\"}}}", PRISM_E2B_EVENT_DATA, 0, PRISM_STREAM_STDERR, "err\n" },
  { "{\"event\":{\"data\":{\"stderr\":\"ZXJyCg\"}}}", PRISM_E2B_EVENT_DATA, 0, PRISM_STREAM_STDERR, "err\n" },
  { "{\"event\":{\"data\":{\"pty\":\"_-8\"}}}", PRISM_E2B_EVENT_DATA, 0, PRISM_STREAM_STDOUT, "\377\357" },
  { "{\"event\":{\"data\":{\"stdout\":null,\"stderr\":\"\"}}}", PRISM_E2B_EVENT_DATA, 0, PRISM_STREAM_STDERR, "" },
  { "{\"event\":{\"data\":{\"stdout\":\"a\"}}}", BROKEN, 0, 0, NULL },
  { "{\"event\":{\"data\":{\"stdout\":\"ab=\"}}}", BROKEN, 0, 0, NULL },
  { "{\"event\":{\"data\":{\"stdout\":\"a b=\"}}}", BROKEN, 0, 0, NULL },
  { "{\"event\":{\"data\":{\"stdout\":3}}}", BROKEN, 0, 0, NULL },
  { "{\"event\":{\"data\":{\"stdout\":\"aGkK\",\"stderr\":\"aGkK\"}}}", BROKEN, 0, 0, NULL },
  { "{\"event\":{\"data\":{}}}", PRISM_E2B_EVENT_NOTHING, 0, 0, NULL },
  { "{\"event\":{\"end\":{\"exited\":true,\"status\":\"exit status 0\"}}}", PRISM_E2B_EVENT_END, PRISM_OUTCOME_EXITED,
    0, NULL },
  { "{\"event\":{\"end\":{\"exitCode\":3,\"exited\":true,\"status\":\"exit status 3\",\"error\":\"exit status 3\"}}}",
    PRISM_E2B_EVENT_END, PRISM_OUTCOME_EXITED, 3, NULL },
  { "{\"event\":{\"end\":{\"exit_code\":255,\"exited\":true}}}", PRISM_E2B_EVENT_END, PRISM_OUTCOME_EXITED, 255, NULL },
  { "{\"event\":{\"end\":{\"exitCode\":256,\"exited\":true}}}", BROKEN, 0, 0, NULL },
  { "{\"event\":{\"end\":{\"exitCode\":-1,\"exited\":true}}}", BROKEN, 0, 0, NULL },
  { "{\"event\":{\"end\":{\"exitCode\":-1,\"status\":\"signal: killed\",\"error\":\"signal: killed\"}}}",
    PRISM_E2B_EVENT_END, PRISM_OUTCOME_SIGNALLED, SIGKILL, NULL },
  { "{\"event\":{\"end\":{\"exitCode\":-1,\"status\":\"signal: terminated\"}}}", PRISM_E2B_EVENT_END,
    PRISM_OUTCOME_SIGNALLED, SIGTERM, NULL },
  { "{\"event\":{\"end\":{\"exitCode\":-1,\"status\":\"signal: segmentation fault (core dumped)\"}}}",
    PRISM_E2B_EVENT_END, PRISM_OUTCOME_SIGNALLED, SIGSEGV, NULL },
  { "{\"event\":{\"end\":{\"exitCode\":-1,\"status\":\"signal: signal 31\"}}}", PRISM_E2B_EVENT_END,
    PRISM_OUTCOME_SIGNALLED, 31, NULL },
  /* An end that does not say how is not success. */
  { "{\"event\":{\"end\":{}}}", PRISM_E2B_EVENT_END, PRISM_OUTCOME_LOST, 0, NULL },
  { "{\"event\":{\"end\":{\"status\":\"exit status 0\"}}}", PRISM_E2B_EVENT_END, PRISM_OUTCOME_LOST, 0, NULL },
  { "{\"event\":{\"end\":{\"exitCode\":-1,\"status\":\"signal: \\u001b[31mred\"}}}", PRISM_E2B_EVENT_END,
    PRISM_OUTCOME_LOST, 0, NULL },
  { "{\"event\":{\"keepalive\":{}}}", PRISM_E2B_EVENT_KEEPALIVE, 0, 0, NULL },
  { "{\"event\":{\"start\":{\"pid\":1},\"end\":{\"exited\":true}}}", BROKEN, 0, 0, NULL },
  { "{}", PRISM_E2B_EVENT_NOTHING, 0, 0, NULL },
  { "{\"event\":{}}", PRISM_E2B_EVENT_NOTHING, 0, 0, NULL },
  { "{\"event\":null,\"other\":[1]}", PRISM_E2B_EVENT_NOTHING, 0, 0, NULL },
  { "{\"event\":{\"later\":{\"a\":1}}}", PRISM_E2B_EVENT_NOTHING, 0, 0, NULL },
  { "", BROKEN, 0, 0, NULL },
  { "[]", BROKEN, 0, 0, NULL },
  { "<html>", BROKEN, 0, 0, NULL },
  { "{\"event\":", BROKEN, 0, 0, NULL },
};

static void
test_events (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (event_cases); i++)
    {
      const EventCase *c = &event_cases[i];
      g_auto (PrismE2bEvent) event = { 0 };
      g_autoptr (GError) error = NULL;
      gboolean fine = prism_e2b_event_parse ((const guint8 *)c->json, strlen (c->json), &event, &error);

      g_test_message ("%s", c->json);
      if (c->kind == BROKEN)
        {
          g_assert_false (fine);
          g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_LOST);
          continue;
        }
      g_assert_no_error (error);
      g_assert_cmpint (event.kind, ==, c->kind);
      if (c->kind == PRISM_E2B_EVENT_START)
        g_assert_cmpint (event.pid, ==, c->number);
      if (c->kind == PRISM_E2B_EVENT_DATA)
        {
          g_assert_cmpint (event.stream, ==, c->number);
          g_assert_cmpmem (g_bytes_get_data (event.bytes, NULL), g_bytes_get_size (event.bytes), c->bytes,
                           strlen (c->bytes));
        }
      if (c->kind != PRISM_E2B_EVENT_END)
        continue;
      g_assert_cmpint (event.outcome, ==, c->outcome);
      g_assert_cmpint (event.exit_code, ==, c->outcome == PRISM_OUTCOME_EXITED ? c->number : -1);
      g_assert_cmpint (event.term_signal, ==, c->outcome == PRISM_OUTCOME_SIGNALLED ? c->number : 0);
      g_assert_true ((event.reason != NULL) == (c->outcome == PRISM_OUTCOME_LOST));
      g_assert_true (event.reason == NULL || strchr (event.reason, 033) == NULL);
    }
}

static void
assert_json (GBytes *body, const char *expected)
{
  g_autoptr (JsonNode) a = prism_http_json_parse (body, NULL), b = json_from_string (expected, NULL);

  g_assert_nonnull (a);
  if (!json_node_equal (a, b))
    g_error ("%.*s\nis not\n%s", (int)g_bytes_get_size (body), (const char *)g_bytes_get_data (body, NULL), expected);
}

static void
test_requests (void)
{
  const char *argv[] = { "sh", "-c", "exit 3", NULL }, *env[] = { "FOO=é", "BAR=a=b", NULL };
  const char *odd[] = { "sh", "\377", NULL };
  g_autoptr (GError) error = NULL;
  g_autoptr (GBytes) start = prism_e2b_start_new (argv, env, "/workspace", FALSE, 0, 0, &error);
  g_autoptr (GBytes) pty = prism_e2b_start_new (argv, NULL, NULL, TRUE, 80, 24, &error);
  g_autoptr (GBytes) connect = prism_e2b_connect_new (5);
  g_autoptr (GBytes) input = prism_e2b_input_new (5, FALSE, (const guint8 *)"hi\n", 3);
  g_autoptr (GBytes) keys = prism_e2b_input_new (5, TRUE, (const guint8 *)"", 0);
  g_autoptr (GBytes) term = prism_e2b_signal_new (5, SIGTERM), none = prism_e2b_signal_new (5, SIGINT);
  g_autoptr (GBytes) size = prism_e2b_resize_new (5, 100, 40);

  g_assert_no_error (error);
  assert_json (start,
               "{\"process\":{\"cmd\":\"sh\",\"args\":[\"-c\",\"exit 3\"],\"envs\":{\"FOO\":\"é\",\"BAR\":\"a=b\"},"
               "\"cwd\":\"/workspace\"},\"stdin\":false}");
  assert_json (pty, "{\"process\":{\"cmd\":\"sh\",\"args\":[\"-c\",\"exit 3\"],\"envs\":{}},"
                    "\"pty\":{\"size\":{\"cols\":80,\"rows\":24}}}");
  assert_json (connect, "{\"process\":{\"pid\":5}}");
  assert_json (input, "{\"process\":{\"pid\":5},\"input\":{\"stdin\":\"aGkK\"}}");
  assert_json (keys, "{\"process\":{\"pid\":5},\"input\":{\"pty\":\"\"}}");
  assert_json (term, "{\"process\":{\"pid\":5},\"signal\":\"SIGNAL_SIGTERM\"}");
  assert_json (size, "{\"process\":{\"pid\":5},\"pty\":{\"size\":{\"cols\":100,\"rows\":40}}}");
  g_assert_null (none);
  g_assert_null (prism_e2b_start_new (odd, NULL, NULL, FALSE, 0, 0, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_INVALID);
}

static void
test_list (void)
{
  const char *argv[] = { "/bin/bash", "-l", "-c", "cat", NULL };
  g_autoptr (PrismCommand) command = prism_command_new (argv);
  g_autofree char *expected = prism_command_dup_fingerprint (command), *got = NULL;
  g_autoptr (JsonNode) node = json_from_string ("{\"processes\":[{\"pid\":1},{\"config\":{\"cmd\":\"/bin/"
                                                "bash\",\"args\":[\"-l\",\"-c\",\"cat\"]},\"pid\":26220}]}",
                                                NULL);
  g_autoptr (JsonNode) empty = json_from_string ("{}", NULL);

  g_assert_true (prism_e2b_list_find (node, 26220, &got));
  g_assert_cmpstr (got, ==, expected);
  g_clear_pointer (&got, g_free);
  g_assert_true (prism_e2b_list_find (node, 1, &got));
  g_assert_null (got);
  g_assert_false (prism_e2b_list_find (node, 2, &got));
  g_assert_false (prism_e2b_list_find (empty, 1, &got));
}

/* They become part of what is looked for inside: the server's word is not taken for that. */
static void
test_variables (void)
{
  static const struct
  {
    const char *value, *got;
  } cases[] = {
    { "\"7f-0A\"", "7f-0A" }, { "\"\"", NULL }, { "\"a b\"", NULL }, { "\".*\"", NULL },
    { "\"a\\n\"", NULL },     { "7", NULL },    { "null", NULL },    { "[]", NULL },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *text = g_strdup_printf (
          "{\"processes\":[{\"pid\":1},{\"config\":{\"envs\":{\"X\":%s}},\"pid\":7}]}", cases[i].value);
      g_autoptr (JsonNode) node = json_from_string (text, NULL);
      g_autofree char *got = prism_e2b_list_dup_variable (node, 7, "X"),
                      *none = prism_e2b_list_dup_variable (node, 1, "X"),
                      *other = prism_e2b_list_dup_variable (node, 7, "Y");

      g_assert_cmpstr (got, ==, cases[i].got);
      g_assert_null (none);
      g_assert_null (other);
    }
}

/* --- what was recorded --------------------------------------------------------------------------- */

static GByteArray *
unhex (const char *text)
{
  GByteArray *bytes = g_byte_array_new ();

  for (; text[0] != 0 && text[1] != 0; text += 2)
    {
      guint8 byte = (guint8)(g_ascii_xdigit_value (text[0]) << 4 | g_ascii_xdigit_value (text[1]));
      g_byte_array_append (bytes, &byte, 1);
    }
  return bytes;
}

/* Every message of a recorded stream, in pieces of every size, and what was made of it. */
static void
check_stream (JsonNode *exchange, gboolean watched)
{
  JsonArray *frames = prism_http_json_array (prism_http_json_get (exchange, "response", "frames", NULL));
  g_autoptr (GByteArray) all = g_byte_array_new ();
  static const gsize pieces[] = { 1, 2, 3, 5, 7, 64, 100000 };
  gboolean ended = FALSE;

  for (guint i = 0; frames != NULL && i < json_array_get_length (frames); i++)
    {
      JsonNode *frame = json_array_get_element (frames, i);
      g_autoptr (GByteArray) bytes = unhex (prism_http_json_text (prism_http_json_get (frame, "hex", NULL)));
      JsonNode *json = prism_http_json_get (frame, "json", NULL);
      gint64 flags = prism_http_json_number (prism_http_json_get (frame, "flags", NULL), 0);
      g_auto (PrismE2bEvent) event = { 0 };
      g_autoptr (GError) error = NULL;

      g_byte_array_append (all, bytes->data, bytes->len);
      ended = flags == 2;
      if (flags == 2 || watched)
        continue;
      g_assert_true (prism_e2b_event_parse (bytes->data + 5, bytes->len - 5, &event, &error));
      g_assert_no_error (error);
      if (prism_http_json_get (json, "event", "start", NULL) != NULL)
        g_assert_cmpint (event.kind, ==, PRISM_E2B_EVENT_START);
      if (prism_http_json_get (json, "event", "end", NULL) != NULL)
        g_assert_cmpint (event.kind, ==, PRISM_E2B_EVENT_END);
    }
  for (guint i = 0; all->len > 0 && i < G_N_ELEMENTS (pieces); i++)
    {
      g_auto (PrismE2bDecoder) decoder;
      Heard heard = { g_string_new (NULL), FALSE };
      g_autoptr (GError) error = NULL;

      prism_e2b_decoder_init (&decoder, PRISM_E2B_ENVELOPE_MOST_BYTES);
      g_assert_true (feed (&decoder, all->data, all->len, pieces[i], &heard, &error) == ended);
      g_assert_true (heard.end == ended);
      g_string_free (heard.messages, TRUE);
    }
}

static const char *
plane_of (const char *url)
{
  return g_str_has_prefix (url, "/process.") || g_str_has_prefix (url, "/filesystem.")
                 || g_str_has_prefix (url, "/files") || g_str_has_prefix (url, "/health")
             ? "data"
             : "control";
}

/* Every answer that was no success is an error with a code of its own. */
static void
check_answer (JsonNode *exchange)
{
  JsonNode *response = prism_http_json_get (exchange, "response", NULL);
  JsonNode *body = prism_http_json_get (response, "body", NULL);
  const char *url = prism_http_json_text (prism_http_json_get (exchange, "url", NULL));
  guint status = (guint)prism_http_json_number (prism_http_json_get (response, "status", NULL), 0);
  g_autofree char *text = body != NULL ? json_to_string (body, FALSE) : g_strdup ("");
  g_autoptr (GBytes) bytes = g_bytes_new (text, strlen (text));
  PrismE2bFailure failure = {
    strcmp (plane_of (url), "data") == 0 ? DATA : CONTROL, "do it", status, bytes, NULL, TRUE
  };
  g_autoptr (GError) error = NULL;
  PrismE2bCause cause;

  if (status >= 400)
    {
      error = prism_e2b_failure_to_error (&failure, NULL, &cause);
      g_assert_cmpint (cause, !=, PRISM_E2B_CAUSE_PROTOCOL);
      return;
    }
  if (status == 201 && prism_http_json_get (body, "sandboxID", NULL) != NULL)
    {
      g_auto (PrismE2bIdentity) identity = { 0 };
      g_assert_true (prism_e2b_identity_parse (bytes, &identity, &error));
      g_assert_true (g_str_has_prefix (identity.id, "i"));
      g_assert_null (identity.domain);
    }
  if (g_str_has_prefix (url, "/v2/sandboxes?"))
    {
      g_autoptr (GPtrArray) details = prism_e2b_details_new ();
      g_assert_true (prism_e2b_details_parse (bytes, details, &error));
      g_assert_cmpuint (details->len, ==, 1);
      g_assert_cmpint (((PrismE2bDetail *)details->pdata[0])->state, !=, PRISM_E2B_STATE_UNKNOWN);
      g_assert_cmpint (((PrismE2bDetail *)details->pdata[0])->end_us, >, 0);
    }
  if (prism_http_json_get (body, "entry", NULL) != NULL)
    {
      g_autoptr (PrismFileEntry) entry = prism_e2b_entry_parse (prism_http_json_get (body, "entry", NULL), &error);
      g_assert_no_error (error);
      g_assert_cmpint (prism_file_entry_get_mtime_us (entry), >, 0);
    }
}

static guint
check_recording (const char *folder, const char *name)
{
  g_autofree char *path = g_build_filename (folder, name, NULL);
  g_autofree char *text = NULL;
  gsize size;
  g_autoptr (GBytes) bytes = NULL;
  g_autoptr (JsonNode) node = NULL;
  JsonArray *exchanges;

  g_assert_true (g_file_get_contents (path, &text, &size, NULL));
  bytes = g_bytes_new_static (text, size);
  node = prism_http_json_parse (bytes, NULL);
  exchanges = prism_http_json_array (prism_http_json_get (node, "exchanges", NULL));
  for (guint i = 0; exchanges != NULL && i < json_array_get_length (exchanges); i++)
    {
      JsonNode *exchange = json_array_get_element (exchanges, i);
      const char *url = prism_http_json_text (prism_http_json_get (exchange, "url", NULL));
      g_test_message ("%s %u %s", name, i, url);
      check_stream (exchange, strstr (url, "WatchDir") != NULL);
      check_answer (exchange);
    }
  return exchanges != NULL ? json_array_get_length (exchanges) : 0;
}

static guint
check_folder (const char *path)
{
  g_autoptr (GDir) folder = g_dir_open (path, 0, NULL);
  const char *name;
  guint n = 0;

  g_assert_nonnull (folder);
  while ((name = g_dir_read_name (folder)) != NULL)
    if (g_str_has_suffix (name, ".json"))
      n += check_recording (path, name);
  return n;
}

static void
test_recordings (void)
{
  g_assert_cmpuint (check_folder (PRISM_E2B_RECORDED), >, 60);
  g_assert_cmpuint (check_folder (PRISM_E2B_RECORDED "/v2.51.0"), >, 5);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/e2b/envelopes", test_envelopes);
  g_test_add_func ("/e2b/envelope-round", test_envelope_round);
  g_test_add_func ("/e2b/events", test_events);
  g_test_add_func ("/e2b/requests", test_requests);
  g_test_add_func ("/e2b/list", test_list);
  g_test_add_func ("/e2b/variables", test_variables);
  g_test_add_func ("/e2b/recordings", test_recordings);
  return g_test_run ();
}
