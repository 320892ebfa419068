/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What becomes of the backend's calls when the service, or the way to it, fails: each failure is
 * its own error, says what to do, and never says more than is known. Nothing is done twice, nothing
 * secret is said. */
#include <glib/gstdio.h>
#include <string.h>

#include "e2b-local.h"

#define SECRET "hunter2-of-the-sandbox"
#define LARGE  (3 * 1024 * 1024 + 7) /* which has a thread of its own */

typedef struct
{
  E2bLocal *local;
  PrismBackend *backend;
  PrismSandbox *sandbox;
  char *reference;
  char *file; /* one that is there */
  guint wrong;
} Box;

static PrismSandbox *
make (Box *box, GError **error)
{
  g_autoptr (PrismSandboxSpec) spec = e2b_local_new_spec (box->local);

  prism_sandbox_spec_add_secret (spec, "PASSWORD", SECRET);
  return prism_backend_create_sandbox (box->backend, spec, NULL, error);
}

static void
set_up (Box *box, gconstpointer data)
{
  g_autoptr (GError) error = NULL;

  box->local = e2b_local_new (NULL);
  box->backend = e2b_local_new_backend (box->local);
  box->sandbox = make (box, &error);
  g_assert_no_error (error);
  box->reference = prism_sandbox_dup_reference (box->sandbox);
  box->file = g_build_filename (e2b_local_get_folder (box->local), "there", NULL);
  g_assert_true (g_file_set_contents (box->file, "text", -1, &error));
}

static void
tear_down (Box *box, gconstpointer data)
{
  g_autoptr (GError) error = NULL;

  e2b_local_set_faults (box->local, "{}");
  prism_sandbox_close (box->sandbox, NULL, &error);
  g_assert_no_error (error);
  g_clear_object (&box->sandbox);
  g_assert_cmpint (e2b_local_count (box->local, "living"), ==, 0);
  g_clear_object (&box->backend);
  g_free (box->reference);
  g_free (box->file);
  e2b_local_free (box->local);
}

G_GNUC_PRINTF (2, 3) static void wrong (Box *box, const char *format, ...)
{
  va_list args;
  g_autofree char *text = NULL;

  va_start (args, format);
  text = g_strdup_vprintf (format, args);
  va_end (args);
  g_test_message ("WRONG: %s", text);
  box->wrong++;
}

/* --- calls ---------------------------------------------------------------------------------- */

static gboolean
do_connect (Box *box, GError **error)
{
  g_autoptr (PrismSandbox) other = prism_backend_connect_sandbox (box->backend, box->reference, NULL, error);
  return other != NULL;
}

static gboolean
do_list (Box *box, GError **error)
{
  g_auto (GStrv) all = prism_backend_list_sandboxes (box->backend, NULL, error);
  return all != NULL;
}

static gboolean
do_create (Box *box, GError **error)
{
  g_autoptr (PrismSandbox) other = make (box, error);
  return other != NULL && prism_sandbox_close (other, NULL, error);
}

static gboolean
do_pause (Box *box, GError **error)
{
  return prism_sandbox_pause (box->sandbox, NULL, error) && prism_sandbox_resume (box->sandbox, NULL, error);
}

static gboolean
do_network (Box *box, GError **error)
{
  const char *rules[] = { "example.com", NULL };
  g_autoptr (PrismEgressPolicy) policy = prism_egress_policy_new_static (rules, NULL);
  return prism_sandbox_set_network_policy (box->sandbox, policy, NULL, error);
}

static gboolean
do_exec (Box *box, GError **error)
{
  const char *argv[] = { "true", NULL };
  g_autoptr (PrismCommand) command = prism_command_new (argv);
  g_autoptr (PrismResult) result = prism_sandbox_exec (box->sandbox, command, NULL, error);
  return result != NULL;
}

static gboolean
do_process (Box *box, GError **error)
{
  const char *argv[] = { "true", NULL };
  g_autoptr (PrismCommand) command = prism_command_new (argv);
  g_autoptr (PrismProcess) process = prism_sandbox_start_process (box->sandbox, command, NULL, error);
  g_autoptr (PrismResult) result = process != NULL ? prism_process_wait (process, NULL, error) : NULL;
  return result != NULL;
}

static gboolean
do_stat (Box *box, GError **error)
{
  g_autoptr (PrismFileEntry) entry = prism_sandbox_stat_file (box->sandbox, box->file, NULL, error);
  return entry != NULL;
}

static gboolean
do_read (Box *box, GError **error)
{
  g_autoptr (GBytes) bytes = prism_sandbox_read_file (box->sandbox, box->file, 0, -1, NULL, error);
  return bytes != NULL;
}

static gboolean
do_write (Box *box, GError **error)
{
  g_autoptr (GBytes) bytes = g_bytes_new_static ("text", 4);
  return prism_sandbox_write_file (box->sandbox, box->file, bytes, 0, 0, NULL, error);
}

static GBytes *
make_large (void)
{
  char *text = g_malloc (LARGE);

  for (gsize i = 0; i < LARGE; i++)
    text[i] = (char)(i * 7 + i / 4096);
  return g_bytes_new_take (text, LARGE);
}

static gboolean
do_write_large (Box *box, GError **error)
{
  g_autoptr (GBytes) bytes = make_large ();
  g_autofree char *text = NULL;
  gsize length;

  if (!prism_sandbox_write_file (box->sandbox, box->file, bytes, 0, 0, NULL, error))
    return FALSE;
  g_assert_true (g_file_get_contents (box->file, &text, &length, NULL));
  g_assert_cmpmem (text, length, g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes));
  return TRUE;
}

static gboolean
do_list_files (Box *box, GError **error)
{
  g_autoptr (GListModel) entries =
      prism_sandbox_list_files (box->sandbox, e2b_local_get_folder (box->local), 0, NULL, error);
  return entries != NULL;
}

static gboolean
do_make_directory (Box *box, GError **error)
{
  g_autofree char *path = g_build_filename (e2b_local_get_folder (box->local), "made", NULL);

  g_rmdir (path);
  return prism_sandbox_make_directory (box->sandbox, path, 0, 0, NULL, error);
}

/* What is asked once only, and what may be asked again. */
static const struct
{
  const char *name, *path;
  gboolean (*call) (Box *box, GError **error);
  gboolean once;
  gboolean data;
} calls[] = {
  { "connect", "^GET /sandboxes/", do_connect, FALSE, FALSE },
  { "list", "^GET /v2/sandboxes", do_list, FALSE, FALSE },
  { "create", "^POST /sandboxes$", do_create, TRUE, FALSE },
  { "pause", "^POST /sandboxes/[^/]*/pause", do_pause, TRUE, FALSE },
  { "network", "^PUT /sandboxes/[^/]*/network", do_network, FALSE, FALSE },
  { "exec", "^POST /process.Process/Start", do_exec, TRUE, TRUE },
  { "process", "^POST /process.Process/Start", do_process, TRUE, TRUE },
  { "stat", "^POST /filesystem.Filesystem/Stat", do_stat, FALSE, TRUE },
  { "read", "^GET /files", do_read, FALSE, TRUE },
  { "write", "^POST /files[?]", do_write, FALSE, TRUE },
  { "write-large", "^POST /files[?]", do_write_large, FALSE, TRUE },
  { "list-files", "^POST /filesystem.Filesystem/ListDir", do_list_files, FALSE, TRUE },
  { "make-directory", "^POST /filesystem.Filesystem/MakeDir", do_make_directory, TRUE, TRUE },
};

/* --- what is said -------------------------------------------------------------------------------- */

static void
check_said (Box *box, const char *where, const GError *error)
{
  static const char *const never[] = { E2B_LOCAL_KEY, SECRET, "Bearer", NULL };

  if (error->domain != PRISM_SANDBOX_ERROR)
    wrong (box, "%s: of the domain %s: %s", where, g_quark_to_string (error->domain), error->message);
  if (strlen (error->message) > 1200)
    wrong (box, "%s: %" G_GSIZE_FORMAT " bytes long", where, strlen (error->message));
  if (!g_utf8_validate (error->message, -1, NULL))
    wrong (box, "%s: not UTF-8", where);
  if (strstr (error->message, "<html") != NULL || strchr (error->message, '\n') != NULL)
    wrong (box, "%s: a page is said: %s", where, error->message);
  for (guint i = 0; never[i] != NULL; i++)
    if (strstr (error->message, never[i]) != NULL)
      wrong (box, "%s: says a secret: %s", where, error->message);
}

static void
check_call (Box *box, guint index, const char *faults, int code, const char *says, const char *also)
{
  g_autofree char *where = g_strdup_printf ("%s, %.120s", calls[index].name, faults);
  g_autoptr (GError) error = NULL;
  gboolean fine;

  e2b_local_set_faults (box->local, faults);
  fine = calls[index].call (box, &error);
  if (code < 0)
    {
      if (!fine)
        wrong (box, "%s: failed: %s", where, error->message);
      return;
    }
  if (fine)
    {
      wrong (box, "%s: succeeded", where);
      return;
    }
  check_said (box, where, error);
  if (error->code != code)
    wrong (box, "%s: code %d is not %d: %s", where, error->code, code, error->message);
  if (strstr (error->message, says) == NULL || (also != NULL && strstr (error->message, also) == NULL))
    wrong (box, "%s: does not say “%s%s%s”: %s", where, says, also != NULL ? "”, “" : "", also != NULL ? also : "",
           error->message);
}

/* --- statuses --------------------------------------------------------------------------------------- */

static const struct
{
  guint status;
  int again, once; /* of what may be asked again; of what is asked once */
  const char *hint;
} statuses[] = {
  { 400, PRISM_SANDBOX_ERROR_INVALID, PRISM_SANDBOX_ERROR_INVALID, "its own words" },
  { 401, PRISM_SANDBOX_ERROR_UNAVAILABLE, PRISM_SANDBOX_ERROR_UNAVAILABLE, "E2B_API_KEY" },
  { 403, PRISM_SANDBOX_ERROR_DENIED, PRISM_SANDBOX_ERROR_DENIED, "the account may not" },
  { 404, PRISM_SANDBOX_ERROR_NOT_FOUND, PRISM_SANDBOX_ERROR_NOT_FOUND, "check the name" },
  { 409, PRISM_SANDBOX_ERROR_STATE, PRISM_SANDBOX_ERROR_STATE, "ask for its state" },
  { 429, PRISM_SANDBOX_ERROR_LIMIT, PRISM_SANDBOX_ERROR_LIMIT, "paused ones count" },
  { 500, PRISM_SANDBOX_ERROR_FAILED, PRISM_SANDBOX_ERROR_LOST, "try again later" },
  { 503, PRISM_SANDBOX_ERROR_UNAVAILABLE, PRISM_SANDBOX_ERROR_LOST, "try again later" },
  { 504, PRISM_SANDBOX_ERROR_TIMEOUT, PRISM_SANDBOX_ERROR_LOST, "allow more time" },
  { 507, PRISM_SANDBOX_ERROR_LIMIT, PRISM_SANDBOX_ERROR_LOST, "remove files" },
};

static const char *const bodies[] = {
  "\"body\":\"{\\\"message\\\":\\\"no: " E2B_LOCAL_KEY " " SECRET "\\\"}\"",
  "\"body\":\"<html><body>a proxy</body></html>\",\"headers\":{\"Content-Type\":\"text/html\"}",
  "\"body\":\"\"",
  "\"body\":\"plain " E2B_LOCAL_KEY "\\r\\nX: y\",\"headers\":{\"Content-Type\":\"text/plain\"}",
  "\"hex\":\"fffe00808182\"",
};

/* One cause has one error in all layers. */
static void
test_statuses (Box *box, gconstpointer data)
{
  for (guint i = 0; i < G_N_ELEMENTS (calls); i++)
    for (guint j = 0; j < G_N_ELEMENTS (statuses); j++)
      /* Every form of body with one status of each kind. */
      for (guint k = 0; k < (statuses[j].status % 100 == 0 ? G_N_ELEMENTS (bodies) : 1); k++)
        {
          g_autofree char *faults = g_strdup_printf ("{\"refuse\":[{\"path\":\"%s\",\"status\":%u,\"times\":9,%s}]}",
                                                     calls[i].path, statuses[j].status, bodies[k]);
          g_autofree char *number = g_strdup_printf ("HTTP %u", statuses[j].status);
          gboolean unknown = calls[i].once && statuses[j].status >= 500;

          check_call (box, i, faults, calls[i].once ? statuses[j].once : statuses[j].again, number,
                      unknown ? "not known" : statuses[j].hint);
        }
  g_assert_cmpuint (box->wrong, ==, 0);
}

/* 502 of the data plane is the proxy's word for a sandbox that is not running; of the control
 * plane it is a failure. */
static void
test_gateway (Box *box, gconstpointer data)
{
  for (guint i = 0; i < G_N_ELEMENTS (calls); i++)
    {
      g_autofree char *faults = g_strdup_printf (
          "{\"refuse\":[{\"path\":\"%s\",\"status\":502,\"times\":9,\"body\":\"<html>\"}]}", calls[i].path);

      check_call (box, i, faults,
                  calls[i].data || calls[i].once ? PRISM_SANDBOX_ERROR_LOST : PRISM_SANDBOX_ERROR_FAILED, "HTTP 502",
                  NULL);
    }
  g_assert_cmpuint (box->wrong, ==, 0);
}

/* What is answered with 200 and is not what was asked for. */
static void
test_odd_answers (Box *box, gconstpointer data)
{
  static const char *const any[] = { "network", "read", "write", "write-large", "pause", "make-directory", NULL };
  static const char *const odd[] = { "\"body\":\"<html>log in</html>\"",
                                     "\"body\":\"\"",
                                     "\"body\":\"[1\"",
                                     "\"body\":\"7\"",
                                     "\"body\":\"{\\\"sandboxID\\\":\\\"../etc\\\"}\"",
                                     "\"repeat\":20000000",
                                     "\"hex\":\"00\"" };

  for (guint i = 0; i < G_N_ELEMENTS (calls); i++)
    for (guint j = 0; j < G_N_ELEMENTS (odd); j++)
      {
        g_autofree char *faults =
            g_strdup_printf ("{\"refuse\":[{\"path\":\"%s\",\"status\":200,\"times\":9,%s}]}", calls[i].path, odd[j]);
        g_autofree char *where = g_strdup_printf ("%s, %s", calls[i].name, odd[j]);
        g_autoptr (GError) error = NULL;

        /* Of these the answer is of no matter, or is the file itself; an object without entries
         * is an empty folder. */
        if (g_strv_contains (any, calls[i].name)
            || (strcmp (calls[i].name, "list-files") == 0 && strchr (odd[j], '{') != NULL))
          continue;
        e2b_local_set_faults (box->local, faults);
        if (calls[i].call (box, &error))
          wrong (box, "%s: succeeded", where);
        else
          check_said (box, where, error);
      }
  g_assert_cmpuint (box->wrong, ==, 0);
}

/* --- asked again, and not ------------------------------------------------------------------------------ */

static gint64
asked_by (Box *box, const char *key, guint call, const char *faults)
{
  gint64 before = e2b_local_asked (box->local, key);
  g_autoptr (GError) error = NULL;

  e2b_local_set_faults (box->local, faults);
  calls[call].call (box, &error);
  if (error != NULL)
    check_said (box, faults, error);
  return e2b_local_asked (box->local, key) - before;
}

static guint
find_call (const char *name)
{
  guint i = 0;

  while (strcmp (calls[i].name, name) != 0)
    i++;
  return i;
}

static void
test_retries (Box *box, gconstpointer data)
{
  static const struct
  {
    const char *retry_after;
    gint64 times;
  } limits[] = { { "0", 4 }, { "Wed, 21 Oct 2026 07:28:00 GMT", 1 }, { "99999", 1 }, { "-1", 1 }, { "", 1 } };
  static const struct
  {
    const char *name, *key;
  } once[] = { { "create", "POST /sandboxes" },
               { "exec", "POST /process.Process/Start" },
               { "pause", "POST /sandboxes/ID/pause" } };

  for (guint i = 0; i < G_N_ELEMENTS (limits); i++)
    {
      g_autofree char *faults =
          g_strdup_printf ("{\"refuse\":[{\"path\":\"^(GET /sandboxes/|POST /sandboxes$)\",\"status\":429,\"times\":99,"
                           "\"headers\":{\"Retry-After\":\"%s\"}}]}",
                           limits[i].retry_after);
      /* It was refused, so nothing was done: create may be asked again as well. */
      g_assert_cmpint (asked_by (box, "POST /sandboxes", find_call ("create"), faults), ==, limits[i].times);
      g_assert_cmpint (asked_by (box, "GET /sandboxes/ID", find_call ("connect"), faults), ==, limits[i].times);
    }
  for (guint i = 0; i < G_N_ELEMENTS (once); i++)
    for (guint status = 502; status <= 504; status++)
      {
        guint call = find_call (once[i].name);
        g_autofree char *before = g_strdup_printf (
            "{\"refuse\":[{\"path\":\"%s\",\"status\":%u,\"times\":99,\"headers\":{\"Retry-After\":\"0\"}}]}",
            calls[call].path, status);
        g_autofree char *after = g_strdup_printf (
            "{\"refuse\":[{\"path\":\"%s\",\"status\":%u,\"times\":99,\"after\":true}]}", calls[call].path, status);

        g_assert_cmpint (asked_by (box, once[i].key, call, before), ==, 1);
        /* It was done, and the answer says that it was not. */
        g_assert_cmpint (asked_by (box, once[i].key, call, after), ==, 1);
        g_assert_cmpint (e2b_local_count (box->local, "living"), ==, 1);
        e2b_local_set_faults (box->local, "{}");
        prism_sandbox_resume (box->sandbox, NULL, NULL);
      }
  g_assert_cmpuint (box->wrong, ==, 0);
}

/* The connection ends at each step, in two ways. What may be asked again is, and succeeds; what
 * may not is of unknown outcome. */
static void
test_cuts (Box *box, gconstpointer data)
{
  static const char *const steps[] = { "request", "body", "done", "head", "half" };

  for (guint i = 0; i < G_N_ELEMENTS (calls); i++)
    for (guint j = 0; j < G_N_ELEMENTS (steps); j++)
      for (guint reset = 0; reset < 2; reset++)
        {
          g_autofree char *once =
              g_strdup_printf ("{\"cut\":[{\"path\":\"%s\",\"at\":\"%s\",\"reset\":%s,\"times\":1}]}", calls[i].path,
                               steps[j], reset ? "true" : "false");
          g_autofree char *where = g_strdup_printf ("%s, %s", calls[i].name, once);
          g_autoptr (GError) error = NULL;
          gboolean fine;

          e2b_local_set_faults (box->local, once);
          fine = calls[i].call (box, &error);
          g_test_message ("%s: %s", where, fine ? "fine" : error->message);
          if (error != NULL)
            check_said (box, where, error);
          if (!calls[i].once && !fine)
            wrong (box, "%s: was not asked again: %s", where, error->message);
          /* A pause may be found to be done, when one asks for its state. */
          if (calls[i].once && !fine && error->code != PRISM_SANDBOX_ERROR_LOST)
            wrong (box, "%s: is not of unknown outcome: %s", where, error->message);
          e2b_local_set_faults (box->local, "{}");
          if (prism_sandbox_get_status (box->sandbox) == PRISM_SANDBOX_STATUS_STOPPED)
            prism_sandbox_resume (box->sandbox, NULL, NULL);
        }
  g_assert_cmpint (e2b_local_count (box->local, "living"), ==, 1);
  g_assert_cmpuint (box->wrong, ==, 0);
}

/* --- streams ---------------------------------------------------------------------------------------- */

static PrismResult *
sh (Box *box, const char *line, GError **error)
{
  g_autoptr (PrismCommand) command = prism_command_new_shell (line);
  return prism_sandbox_exec (box->sandbox, command, NULL, error);
}

/* Cut after every number of bytes: it did not start as far as one knows, or how it did is not
 * known, or all of it was heard and is true. */
static void
test_cut_anywhere (Box *box, gconstpointer data)
{
  guint unknown = 0, lost = 0, whole = 0;

  for (guint n = 0; n < 330; n += n < 50 || n > 200 ? 3 : 1)
    {
      g_autofree char *faults = g_strdup_printf ("{\"cutStream\":%u,\"pieces\":%u}", n, 1 + n % 7);
      g_autoptr (GError) error = NULL;
      g_autoptr (PrismResult) result = NULL;
      g_autofree char *out = NULL;

      e2b_local_set_faults (box->local, faults);
      result = sh (box, "printf hello; printf err >&2; exit 3", &error);
      if (result == NULL)
        {
          unknown++;
          check_said (box, faults, error);
          if (error->code != PRISM_SANDBOX_ERROR_LOST || strstr (error->message, "not known") == NULL)
            wrong (box, "%s: %s", faults, error->message);
          continue;
        }
      out = prism_result_dup_stdout_text (result);
      if (!g_str_has_prefix ("hello", out))
        wrong (box, "%s: output “%s”", faults, out);
      if (prism_result_get_outcome (result) == PRISM_OUTCOME_LOST && prism_result_get_reason (result) != NULL)
        lost++;
      else if (prism_result_get_outcome (result) == PRISM_OUTCOME_EXITED && prism_result_get_exit_code (result) == 3
               && strcmp (out, "hello") == 0)
        whole++;
      else
        wrong (box, "%s: outcome %d, exit code %d", faults, prism_result_get_outcome (result),
               prism_result_get_exit_code (result));
    }
  g_test_message ("%u unknown, %u lost, %u whole", unknown, lost, whole);
  g_assert_cmpuint (unknown, >=, 9);
  g_assert_cmpuint (lost, >=, 40);
  g_assert_cmpuint (whole, >=, 5);
  g_assert_cmpuint (box->wrong, ==, 0);
}

/* Instead of all of the stream. */
static const struct
{
  const char *name, *frames; /* flags in hexadecimal, a blank, the payload; or #HEX, as it is */
  int code;
  const char *says;
} early[] = {
  { "not found", "02 {\"error\":{\"code\":\"not_found\",\"message\":\"nf\"}}", PRISM_SANDBOX_ERROR_NOT_FOUND, "nf" },
  { "unavailable", "02 {\"error\":{\"code\":\"unavailable\",\"message\":\"x\"}}", PRISM_SANDBOX_ERROR_UNAVAILABLE,
    "try again" },
  { "user", "02 {\"error\":{\"code\":\"unauthenticated\",\"message\":\"invalid username: 'zz'\"}}",
    PRISM_SANDBOX_ERROR_UNAVAILABLE, "user exists" },
  { "exhausted", "02 {\"error\":{\"code\":\"resource_exhausted\",\"message\":\"x\"}}", PRISM_SANDBOX_ERROR_LIMIT,
    "paused" },
  { "denied", "02 {\"error\":{\"code\":\"permission_denied\",\"message\":\"x\"}}", PRISM_SANDBOX_ERROR_DENIED, "x" },
  { "argument", "02 {\"error\":{\"code\":\"invalid_argument\",\"message\":\"" E2B_LOCAL_KEY "\"}}",
    PRISM_SANDBOX_ERROR_INVALID, "REDACTED" },
  { "internal", "02 {\"error\":{\"code\":\"internal\",\"message\":\"x\"}}", PRISM_SANDBOX_ERROR_FAILED, "try again" },
  { "no code", "02 {\"error\":{}}", PRISM_SANDBOX_ERROR_FAILED, "cannot" },
  { "only an end", "02 {}", PRISM_SANDBOX_ERROR_LOST, "not known" },
  { "nothing", "#", PRISM_SANDBOX_ERROR_LOST, "not known" },
  { "keepalive first", "00 {\"event\":{\"keepalive\":{}}}", PRISM_SANDBOX_ERROR_LOST, "begin" },
  { "output first", "00 {\"event\":{\"data\":{\"stdout\":\"aGk=\"}}}", PRISM_SANDBOX_ERROR_LOST, "begin" },
  { "compressed", "01 {\"event\":{\"start\":{\"pid\":7}}}", PRISM_SANDBOX_ERROR_LOST, "not known" },
  { "unknown flags", "40 {}", PRISM_SANDBOX_ERROR_LOST, "not known" },
  { "no JSON", "00 start", PRISM_SANDBOX_ERROR_LOST, "not known" },
  { "negative pid", "00 {\"event\":{\"start\":{\"pid\":-1}}}", PRISM_SANDBOX_ERROR_LOST, "not known" },
  { "huge pid", "00 {\"event\":{\"start\":{\"pid\":1e300}}}", PRISM_SANDBOX_ERROR_LOST, "not known" },
  { "4 GiB announced", "#00ffffffff7b", PRISM_SANDBOX_ERROR_LOST, "not known" },
  { "5 MiB announced", "#0000500000", PRISM_SANDBOX_ERROR_LOST, "not known" },
  { "half a head", "#0000", PRISM_SANDBOX_ERROR_LOST, "not known" },
  { "HTML", "#3c68746d6c3e", PRISM_SANDBOX_ERROR_LOST, "not known" },
};

static char *
frame_to_hex (const char *frame)
{
  g_autoptr (GString) hex = g_string_new (NULL);
  const char *payload = frame + 3;

  if (*frame == '#')
    return g_strdup (frame + 1);
  g_string_append_printf (hex, "%.2s%08x", frame, (guint)strlen (payload));
  for (; *payload != 0; payload++)
    g_string_append_printf (hex, "%02x", (guint8)*payload);
  return g_string_free (g_steal_pointer (&hex), FALSE);
}

static void
test_early (Box *box, gconstpointer data)
{
  for (guint i = 0; i < G_N_ELEMENTS (early); i++)
    for (guint piece = 0; piece < 2; piece++)
      {
        g_autofree char *hex = frame_to_hex (early[i].frames);
        g_autofree char *faults = g_strdup_printf ("{\"early\":\"%s\"}", hex);
        guint call = find_call (piece ? "exec" : "process");
        g_autofree char *where = g_strconcat (early[i].name, piece ? ", exec" : ", process", NULL);
        g_autoptr (GError) error = NULL;

        e2b_local_set_faults (box->local, faults);
        if (calls[call].call (box, &error))
          {
            wrong (box, "%s: succeeded", where);
            continue;
          }
        check_said (box, where, error);
        if (error->code != early[i].code || strstr (error->message, early[i].says) == NULL)
          wrong (box, "%s: code %d is not %d, or does not say “%s”: %s", where, error->code, early[i].code,
                 early[i].says, error->message);
      }
  g_assert_cmpuint (box->wrong, ==, 0);
}

/* After the start of a command that writes "hello" and exits 3. */
static const struct
{
  const char *name, *fault, *raw;
  gboolean whole;
} late[] = {
  { "empty event", NULL, "00 {\"event\":{}}", TRUE },
  { "no event", NULL, "00 {}", TRUE },
  { "unknown event", NULL, "00 {\"event\":{\"other\":{\"x\":[1,null]}},\"more\":1}", TRUE },
  { "a second start", NULL, "00 {\"event\":{\"start\":{\"pid\":1}}}", TRUE },
  { "keepalives", "\"keepalive\":1", NULL, TRUE },
  { "no end of stream", "\"noEnd\":1", NULL, TRUE },
  { "one byte at a time", "\"pieces\":1", NULL, TRUE },
  { "delayed", "\"delayStart\":200", NULL, TRUE },
  { "error at the end", "\"endError\":{\"code\":\"unavailable\",\"message\":\"gone\"}", NULL, FALSE },
  { "deadline at the end", "\"endError\":{\"code\":\"deadline_exceeded\",\"message\":\"late\"}", NULL, FALSE },
  { "compressed", NULL, "01 {}", FALSE },
  { "no base64", NULL, "00 {\"event\":{\"data\":{\"stdout\":\"%%%\"}}}", FALSE },
  { "deep", NULL, "00 [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", FALSE },
  { "huge", NULL, "#00ffffffff", FALSE },
  { "an end before the end", NULL, "02 {}", FALSE },
};

static void
test_late (Box *box, gconstpointer data)
{
  for (guint i = 0; i < G_N_ELEMENTS (late); i++)
    {
      g_autofree char *hex = late[i].raw != NULL ? frame_to_hex (late[i].raw) : NULL;
      g_autofree char *faults =
          hex != NULL ? g_strdup_printf ("{\"raw\":\"%s\"}", hex) : g_strdup_printf ("{%s}", late[i].fault);
      g_autoptr (GError) error = NULL;
      g_autoptr (PrismResult) result = NULL;
      PrismOutcome outcome;

      e2b_local_set_faults (box->local, faults);
      result = sh (box, "printf hello; exit 3", &error);
      if (result == NULL)
        {
          wrong (box, "%s: %s", late[i].name, error->message);
          continue;
        }
      outcome = prism_result_get_outcome (result);
      if (late[i].whole ? outcome != PRISM_OUTCOME_EXITED || prism_result_get_exit_code (result) != 3
                              || prism_result_get_stdout_total (result) != 5
                        : outcome != PRISM_OUTCOME_LOST || prism_result_get_reason (result) == NULL)
        wrong (box, "%s: outcome %d, exit code %d, %" G_GUINT64_FORMAT " bytes, reason %s", late[i].name, outcome,
               prism_result_get_exit_code (result), prism_result_get_stdout_total (result),
               prism_result_get_reason (result));
    }
  g_assert_cmpuint (box->wrong, ==, 0);
}

#define ADD(path, test) g_test_add ("/e2b/faults/" path, Box, NULL, set_up, test, tear_down)

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  ADD ("statuses", test_statuses);
  ADD ("gateway", test_gateway);
  ADD ("odd-answers", test_odd_answers);
  ADD ("retries", test_retries);
  ADD ("cuts", test_cuts);
  ADD ("cut-anywhere", test_cut_anywhere);
  ADD ("early", test_early);
  ADD ("late", test_late);
  return g_test_run ();
}
