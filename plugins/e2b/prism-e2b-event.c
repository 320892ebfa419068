/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-e2b-event.h"

#include <signal.h>
#include <string.h>

void
prism_e2b_event_clear (PrismE2bEvent *event)
{
  g_clear_pointer (&event->bytes, g_bytes_unref);
  g_clear_pointer (&event->reason, g_free);
}

static gboolean
broke (GError **error, const char *what)
{
  g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_LOST, "the stream broke the protocol: %s", what);
  return FALSE;
}

/* --- how it ended ----------------------------------------------------------------------- */

/* As Go's syscall package names them on Linux. */
static const struct
{
  const char *name;
  int number;
} signals[] = {
  { "hangup", SIGHUP },
  { "interrupt", SIGINT },
  { "quit", SIGQUIT },
  { "illegal instruction", SIGILL },
  { "trace/breakpoint trap", SIGTRAP },
  { "aborted", SIGABRT },
  { "bus error", SIGBUS },
  { "floating point exception", SIGFPE },
  { "killed", SIGKILL },
  { "user defined signal 1", SIGUSR1 },
  { "segmentation fault", SIGSEGV },
  { "user defined signal 2", SIGUSR2 },
  { "broken pipe", SIGPIPE },
  { "alarm clock", SIGALRM },
  { "terminated", SIGTERM },
};

int
prism_e2b_signal_parse (const char *name)
{
  const char *core = strstr (name, " (core dumped)");
  gsize length = core != NULL ? (gsize)(core - name) : strlen (name);
  guint64 number;
  g_autofree char *own = g_strndup (name, length);

  for (guint i = 0; i < G_N_ELEMENTS (signals); i++)
    if (strcmp (own, signals[i].name) == 0)
      return signals[i].number;
  if (g_str_has_prefix (own, "signal ") && g_ascii_string_to_unsigned (own + 7, 10, 1, 64, &number, NULL))
    return (int)number;
  return 0;
}

static void
set_lost (PrismE2bEvent *event, const char *status)
{
  g_autofree char *shown = status != NULL ? g_strndup (status, 100) : NULL;
  g_autofree char *valid = shown != NULL ? g_utf8_make_valid (shown, -1) : NULL;
  g_autofree char *escaped = valid != NULL ? g_strescape (valid, NULL) : NULL;

  event->outcome = PRISM_OUTCOME_LOST;
  event->reason = escaped != NULL ? g_strdup_printf ("the service said that it ended, and of how: “%s”", escaped)
                                  : g_strdup ("the service said that it ended, and not how");
}

/* An exit code is one only where it says that it exited: what is left out is zero. */
static gboolean
parse_end (JsonNode *end, PrismE2bEvent *event, GError **error)
{
  const char *status = prism_http_json_text (prism_e2b_json_get (end, "status"));
  gint64 code;

  event->kind = PRISM_E2B_EVENT_END;
  event->exit_code = -1;
  if (!prism_e2b_json_int64 (prism_e2b_json_get (end, "exitCode"), 0, &code))
    return broke (error, "an exit code that is no number");
  if (prism_http_json_flag (prism_e2b_json_get (end, "exited")))
    {
      if (code < 0 || code > 255)
        return broke (error, "an exit code out of range");
      event->outcome = PRISM_OUTCOME_EXITED;
      event->exit_code = (int)code;
      return TRUE;
    }
  if (status != NULL && g_str_has_prefix (status, "signal: "))
    event->term_signal = prism_e2b_signal_parse (status + strlen ("signal: "));
  if (event->term_signal > 0)
    event->outcome = PRISM_OUTCOME_SIGNALLED;
  else
    set_lost (event, status);
  return TRUE;
}

/* --- events ------------------------------------------------------------------------------ */

static gboolean
parse_data (JsonNode *data, PrismE2bEvent *event, GError **error)
{
  static const struct
  {
    const char *name;
    PrismStream stream;
  } kinds[] = {
    { "stdout", PRISM_STREAM_STDOUT },
    { "stderr", PRISM_STREAM_STDERR },
    { "pty", PRISM_STREAM_STDOUT },
  };

  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
    {
      JsonNode *node = prism_e2b_json_get (data, kinds[i].name);
      const char *text = prism_http_json_text (node);

      if (node == NULL)
        continue;
      if (event->kind == PRISM_E2B_EVENT_DATA)
        return broke (error, "output of two streams in one event");
      if (text == NULL || (event->bytes = prism_e2b_base64_decode (text, strlen (text))) == NULL)
        return broke (error, "output that is no base64");
      event->kind = PRISM_E2B_EVENT_DATA;
      event->stream = kinds[i].stream;
      event->pty = i == 2;
    }
  return TRUE;
}

static gboolean
parse_start (JsonNode *start, PrismE2bEvent *event, GError **error)
{
  event->kind = PRISM_E2B_EVENT_START;
  if (!prism_e2b_json_int64 (prism_e2b_json_get (start, "pid"), 0, &event->pid) || event->pid < 1
      || event->pid > G_MAXUINT32)
    return broke (error, "a process without a pid");
  return TRUE;
}

static gboolean
parse_event (JsonNode *event_node, PrismE2bEvent *event, GError **error)
{
  JsonNode *start = prism_e2b_json_get (event_node, "start");
  JsonNode *data = prism_e2b_json_get (event_node, "data");
  JsonNode *end = prism_e2b_json_get (event_node, "end");
  JsonNode *keepalive = prism_e2b_json_get (event_node, "keepalive");

  if ((start != NULL) + (data != NULL) + (end != NULL) + (keepalive != NULL) > 1)
    return broke (error, "an event of two kinds");
  if (start != NULL)
    return parse_start (start, event, error);
  if (data != NULL)
    return parse_data (data, event, error);
  if (end != NULL)
    return parse_end (end, event, error);
  if (keepalive != NULL)
    event->kind = PRISM_E2B_EVENT_KEEPALIVE;
  return TRUE;
}

gboolean
prism_e2b_event_parse (const guint8 *data, gsize size, PrismE2bEvent *event, GError **error)
{
  g_autoptr (GBytes) bytes = g_bytes_new_static (data, size);
  g_autoptr (JsonNode) node = prism_http_json_parse (bytes, NULL);

  *event = (PrismE2bEvent){ .kind = PRISM_E2B_EVENT_NOTHING, .exit_code = -1 };
  if (prism_http_json_object (node) == NULL)
    return broke (error, "a message that is no JSON object");
  if (parse_event (prism_e2b_json_get (node, "event"), event, error))
    return TRUE;
  prism_e2b_event_clear (event);
  return FALSE;
}

/* --- requests ----------------------------------------------------------------------------- */

static JsonObject *
new_selector (JsonObject *root, gint64 pid)
{
  JsonObject *process = json_object_new ();

  json_object_set_int_member (process, "pid", pid);
  json_object_set_object_member (root, "process", process);
  return root;
}

static GBytes *
finish (JsonObject *root)
{
  JsonNode *node = json_node_new (JSON_NODE_OBJECT);

  json_node_take_object (node, root);
  return prism_e2b_json_to_bytes (node);
}

static void
set_size (JsonObject *root, guint columns, guint rows)
{
  JsonObject *pty = json_object_new (), *size = json_object_new ();

  json_object_set_int_member (size, "cols", columns);
  json_object_set_int_member (size, "rows", rows);
  json_object_set_object_member (pty, "size", size);
  json_object_set_object_member (root, "pty", pty);
}

static gboolean
set_arguments (JsonObject *process, const char *const *argv, GError **error)
{
  JsonArray *args = json_array_new ();

  json_object_set_array_member (process, "args", args);
  for (guint i = 1; argv[i] != NULL; i++)
    {
      if (!g_utf8_validate (argv[i], -1, NULL))
        {
          g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_INVALID,
                       "argument %u is not UTF-8, and the service takes nothing else", i);
          return FALSE;
        }
      json_array_add_string_element (args, argv[i]);
    }
  return TRUE;
}

GBytes *
prism_e2b_start_new (const char *const *argv,
                     const char *const *env,
                     const char *cwd,
                     gboolean with_stdin,
                     guint columns,
                     guint rows,
                     GError **error)
{
  g_autoptr (JsonObject) root = json_object_new ();
  JsonObject *process = json_object_new (), *variables;

  json_object_set_object_member (root, "process", process);
  if (!prism_e2b_json_set_text (process, "cmd", argv[0], "the command's name", error)
      || !set_arguments (process, argv, error))
    return NULL;
  variables = prism_e2b_json_new_map (env, "the environment", error);
  if (variables == NULL)
    return NULL;
  json_object_set_object_member (process, "envs", variables);
  if (cwd != NULL && !prism_e2b_json_set_text (process, "cwd", cwd, "the working directory", error))
    return NULL;
  if (columns > 0)
    set_size (root, columns, rows);
  else
    json_object_set_boolean_member (root, "stdin", with_stdin);
  return finish (g_steal_pointer (&root));
}

GBytes *
prism_e2b_connect_new (gint64 pid)
{
  return finish (new_selector (json_object_new (), pid));
}

GBytes *
prism_e2b_close_stdin_new (gint64 pid)
{
  return finish (new_selector (json_object_new (), pid));
}

GBytes *
prism_e2b_input_new (gint64 pid, gboolean pty, const guint8 *data, gsize size)
{
  JsonObject *root = new_selector (json_object_new (), pid), *input = json_object_new ();
  g_autofree char *text = g_base64_encode (data, size);

  json_object_set_string_member (input, pty ? "pty" : "stdin", text);
  json_object_set_object_member (root, "input", input);
  return finish (root);
}

GBytes *
prism_e2b_signal_new (gint64 pid, int signal_number)
{
  JsonObject *root;

  if (signal_number != SIGTERM && signal_number != SIGKILL)
    return NULL;
  root = new_selector (json_object_new (), pid);
  json_object_set_string_member (root, "signal", signal_number == SIGTERM ? "SIGNAL_SIGTERM" : "SIGNAL_SIGKILL");
  return finish (root);
}

GBytes *
prism_e2b_resize_new (gint64 pid, guint columns, guint rows)
{
  JsonObject *root = new_selector (json_object_new (), pid);

  set_size (root, columns, rows);
  return finish (root);
}

/* --- the list ------------------------------------------------------------------------------ */

static char *
dup_fingerprint (JsonNode *process)
{
  JsonNode *config = prism_e2b_json_get (process, "config");
  const char *cmd = prism_http_json_text (prism_e2b_json_get (config, "cmd"));
  JsonArray *args = prism_http_json_array (prism_e2b_json_get (config, "args"));
  guint n = args != NULL ? json_array_get_length (args) : 0;
  g_autofree const char **argv = g_new0 (const char *, n + 2);
  g_autoptr (PrismCommand) command = NULL;

  argv[0] = cmd;
  for (guint i = 0; i < n && cmd != NULL; i++)
    if ((argv[i + 1] = prism_http_json_text (json_array_get_element (args, i))) == NULL)
      return NULL;
  if (cmd == NULL)
    return NULL;
  command = prism_command_new (argv);
  return prism_command_dup_fingerprint (command);
}

static JsonNode *
find_process (JsonNode *answer, gint64 pid)
{
  JsonArray *processes = prism_http_json_array (prism_e2b_json_get (answer, "processes"));

  for (guint i = 0; processes != NULL && i < json_array_get_length (processes); i++)
    {
      JsonNode *process = json_array_get_element (processes, i);
      gint64 number;

      if (prism_e2b_json_int64 (prism_e2b_json_get (process, "pid"), 0, &number) && number == pid)
        return process;
    }
  return NULL;
}

gboolean
prism_e2b_list_find (JsonNode *answer, gint64 pid, char **fingerprint)
{
  JsonNode *process = find_process (answer, pid);

  *fingerprint = process != NULL ? dup_fingerprint (process) : NULL;
  return process != NULL;
}

char *
prism_e2b_list_dup_variable (JsonNode *answer, gint64 pid, const char *name)
{
  JsonNode *envs = prism_e2b_json_get (prism_e2b_json_get (find_process (answer, pid), "config"), "envs");
  const char *value = prism_http_json_text (prism_e2b_json_get (envs, name));
  gsize length = value != NULL ? strlen (value) : 0;

  if (length == 0 || length > 64
      || strspn (value, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-") != length)
    return NULL;
  return g_strdup (value);
}
