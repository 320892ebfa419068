/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whatever a backend does, who calls it gets an answer, once, in time: called
 * synchronously, asynchronously and from threads. The plug-in `misbehaves` says what
 * its moods are. */
#include <libprism/prism.h>

#include <string.h>

#define MAX_WAIT_S 100

static int criticals; /* atomic: what the library said of its author's mistakes */

typedef struct
{
  PrismBackend *backend;
  PrismSandbox *sandbox;
  PrismProcess *process;
} Target;

/* --- the methods: one or more for each kind of operation --------------------------- */

static gboolean
is_true (gboolean value)
{
  return value;
}

static gboolean
is_count (gint value)
{
  return value >= 0;
}

static gboolean
is_object (gpointer value)
{
  g_autoptr (GObject) object = value;

  return object != NULL;
}

static gboolean
is_bytes (GBytes *value)
{
  g_autoptr (GBytes) bytes = value;

  return bytes != NULL;
}

static gboolean
is_strv (char **value)
{
  g_auto (GStrv) names = value;

  return names != NULL;
}

static gboolean
is_identity (PrismTreeIdentity *value)
{
  gboolean is = value != NULL;

  g_clear_pointer (&value, prism_tree_identity_free);
  return is;
}

typedef struct
{
  const char *name;
  gboolean (*sync) (Target *target, GCancellable *cancellable, GError **error);
  void (*begin) (Target *target, GCancellable *cancellable, GAsyncReadyCallback callback, gpointer data);
  gboolean (*finish) (gpointer source, GAsyncResult *result, GError **error);
  gboolean has_deadline; /* of half a minute */
} Method;

/* What a call is given besides @cancellable comes first, each with its comma. */
#define METHOD(name, who, is_good, ...)                                                                                \
  static gboolean name##_sync (Target *target, GCancellable *cancellable, GError **error)                              \
  {                                                                                                                    \
    return is_good (prism_##name (target->who, __VA_ARGS__ cancellable, error));                                       \
  }                                                                                                                    \
  static void name##_begin (Target *target, GCancellable *cancellable, GAsyncReadyCallback callback, gpointer data)    \
  {                                                                                                                    \
    prism_##name##_async (target->who, __VA_ARGS__ cancellable, callback, data);                                       \
  }                                                                                                                    \
  static gboolean name##_end (gpointer source, GAsyncResult *result, GError **error)                                   \
  {                                                                                                                    \
    return is_good (prism_##name##_finish (source, result, error));                                                    \
  }
#define ROW(name, has_deadline)                                                                                        \
  {                                                                                                                    \
#name, name##_sync, name##_begin, name##_end, has_deadline                                                         \
  }
#define COMMA ,

static PrismSandboxSpec *spec;
static PrismCommand *command;
static GOutputStream *sink;

/* clang-format off */
METHOD (backend_probe, backend, is_object,)
METHOD (backend_create_sandbox, backend, is_object, spec COMMA)
METHOD (backend_connect_sandbox, backend, is_object, "one" COMMA)
METHOD (backend_list_sandboxes, backend, is_strv,)
METHOD (backend_reap, backend, is_count,)
METHOD (sandbox_exec, sandbox, is_object, command COMMA)
METHOD (sandbox_start_process, sandbox, is_object, command COMMA)
METHOD (sandbox_read_file, sandbox, is_bytes, "bytes" COMMA 0 COMMA -1 COMMA)
METHOD (sandbox_stat_file, sandbox, is_object, "entry" COMMA)
METHOD (sandbox_list_files, sandbox, is_object, "entries" COMMA 0 COMMA)
METHOD (sandbox_make_directory, sandbox, is_true, "done" COMMA 0755 COMMA 0 COMMA)
METHOD (sandbox_export_tree, sandbox, is_identity, "." COMMA sink COMMA)
METHOD (sandbox_pause, sandbox, is_true,)
METHOD (sandbox_close, sandbox, is_true,)
METHOD (process_wait, process, is_object,)
METHOD (process_send_signal, process, is_true, 15 COMMA)
/* clang-format on */

static const Method methods[] = {
  ROW (backend_probe, TRUE),          ROW (backend_create_sandbox, TRUE), ROW (backend_connect_sandbox, TRUE),
  ROW (backend_list_sandboxes, TRUE), ROW (backend_reap, TRUE),           ROW (sandbox_exec, TRUE),
  ROW (sandbox_start_process, TRUE),  ROW (sandbox_read_file, TRUE),      ROW (sandbox_stat_file, TRUE),
  ROW (sandbox_list_files, TRUE),     ROW (sandbox_make_directory, TRUE), ROW (sandbox_export_tree, TRUE),
  ROW (sandbox_pause, TRUE),          ROW (sandbox_close, FALSE),         ROW (process_wait, FALSE),
  ROW (process_send_signal, TRUE),
};

/* --- what comes of it --------------------------------------------------------------- */

static GLogWriterOutput
write_log (GLogLevelFlags level, const GLogField *fields, gsize n_fields, gpointer data)
{
  for (gsize i = 0; i < n_fields; i++)
    if (g_str_equal (fields[i].key, "GLIB_DOMAIN") && g_str_equal (fields[i].value, "prism")
        && (level & G_LOG_LEVEL_CRITICAL) != 0)
      {
        g_atomic_int_inc (&criticals);
        return G_LOG_WRITER_HANDLED;
      }
  return g_log_writer_default (level, fields, n_fields, data);
}

typedef enum
{
  ANSWERS = 1 << 0,
  FAILS = 1 << 1,    /* FAILED: dropped */
  GIVES_UP = 1 << 2, /* TIMEOUT or CANCELLED */
} Outcome;

static Outcome
outcome_of (gboolean good, const GError *error)
{
  if (good)
    {
      g_assert_no_error (error);
      return ANSWERS;
    }
  g_assert_nonnull (error);
  if (g_error_matches (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_FAILED))
    return FAILS;
  if (g_error_matches (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_TIMEOUT)
      || g_error_matches (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_CANCELLED))
    return GIVES_UP;
  g_error ("another error: %s", error->message);
}

typedef struct
{
  const Method *method;
  Target *target;
  GCancellable *cancellable;
  Outcome allowed;
  GThread *thread;
  int told; /* atomic */
} Call;

static void
judge (Call *call, gboolean good, const GError *error)
{
  Outcome outcome = outcome_of (good, error);

  if ((outcome & call->allowed) == 0)
    g_error ("%s: %s", call->method->name, error != NULL ? error->message : "it is answered");
  g_atomic_int_inc (&call->told);
}

static gpointer
call_here (gpointer data)
{
  Call *call = data;
  g_autoptr (GError) error = NULL;
  gboolean good = call->method->sync (call->target, call->cancellable, &error);

  judge (call, good, error);
  g_main_context_wakeup (NULL);
  return NULL;
}

static void
told (GObject *source, GAsyncResult *result, gpointer data)
{
  Call *call = data;
  g_autoptr (GError) error = NULL;
  gboolean good = call->method->finish (source, result, &error);

  judge (call, good, error);
}

static Target *
make_target (const char *mood)
{
  Target *target = g_new0 (Target, 1);

  target->backend = prism_registry_create_backend (prism_registry_get_default (), "misbehaves", NULL);
  g_assert_nonnull (target->backend);
  target->sandbox = prism_backend_create_sandbox (target->backend, spec, NULL, NULL);
  target->process = prism_sandbox_start_process (target->sandbox, command, NULL, NULL);
  g_object_set (target->backend, "mood", mood, NULL);
  g_object_set (target->sandbox, "mood", mood, NULL);
  g_object_set (target->process, "mood", mood, NULL);
  return target;
}

static void
free_target (Target *target)
{
  g_object_unref (target->process);
  g_object_unref (target->sandbox);
  g_object_unref (target->backend);
  g_free (target);
}

static void
iterate_until_told (Call *calls, guint n)
{
  gint64 deadline = g_get_monotonic_time () + MAX_WAIT_S * G_USEC_PER_SEC;

  for (guint i = 0; i < n; i++)
    while (g_atomic_int_get (&calls[i].told) == 0)
      {
        if (g_get_monotonic_time () > deadline)
          g_error ("%s is never answered", calls[i].method->name);
        g_main_context_iteration (NULL, TRUE);
      }
}

/* Nothing is told twice, whatever still comes. */
static void
settle_down (Call *calls, guint n)
{
  while (g_main_context_iteration (NULL, FALSE))
    ;
  for (guint i = 0; i < n; i++)
    g_assert_cmpint (g_atomic_int_get (&calls[i].told), ==, 1);
}

/* Every method in every way: here, in the default context, and in threads of their own. */
static void
try_all (const char *mood, Outcome allowed, gboolean cancel)
{
  const guint n = G_N_ELEMENTS (methods);
  Target *target = make_target (mood);
  Call calls[2 * G_N_ELEMENTS (methods)] = { 0 };

  for (guint i = 0; i < 2 * n; i++)
    {
      calls[i] = (Call){ &methods[i % n], target, g_cancellable_new (), allowed };
      if (i < n)
        methods[i].begin (target, calls[i].cancellable, told, &calls[i]);
      else
        calls[i].thread = g_thread_new ("call", call_here, &calls[i]);
    }
  for (guint i = 0; i < 2 * n; i++)
    if (cancel || !calls[i].method->has_deadline)
      g_cancellable_cancel (calls[i].cancellable);
  iterate_until_told (calls, 2 * n);
  for (guint i = n; i < 2 * n; i++)
    g_thread_join (calls[i].thread);
  settle_down (calls, 2 * n);
  for (guint i = 0; i < 2 * n; i++)
    g_object_unref (calls[i].cancellable);
  free_target (target);
}

static void
try_here (const char *mood, Outcome allowed)
{
  Target *target = make_target (mood);

  for (guint i = 0; i < G_N_ELEMENTS (methods); i++)
    {
      Call call = { &methods[i], target, NULL, allowed };
      call_here (&call);
    }
  free_target (target);
}

typedef struct
{
  const char *mood;
  Outcome allowed;
  gboolean is_told; /* the author, by a critical */
} Mood;

static void
test_mood (gconstpointer data)
{
  const Mood *mood = data;

  g_atomic_int_set (&criticals, 0);
  try_here (mood->mood, mood->allowed);
  if (mood->is_told)
    g_assert_cmpint (g_atomic_int_get (&criticals), >, 0);
  else
    g_assert_cmpint (g_atomic_int_get (&criticals), ==, 0);
  try_all (mood->mood, mood->allowed | GIVES_UP, FALSE);
}

/* An answer after the caller gave up goes nowhere, and takes nobody along. */
static void
test_late (void)
{
  try_all ("late", ANSWERS | GIVES_UP, TRUE);
}

/* The longest wait there is: all at once, some cancelled and some not. */
static gpointer
never_cancelled (gpointer data)
{
  g_autoptr (GMainContext) context = g_main_context_new ();
  Target *target = data;
  const guint n = G_N_ELEMENTS (methods);
  Call calls[G_N_ELEMENTS (methods)] = { 0 };

  for (guint i = 0; i < n; i++)
    {
      calls[i] = (Call){ &methods[i], target, g_cancellable_new (), GIVES_UP };
      calls[i].thread = g_thread_new ("call", call_here, &calls[i]);
      g_cancellable_cancel (calls[i].cancellable);
    }
  for (guint i = 0; i < n; i++)
    {
      g_thread_join (calls[i].thread);
      g_object_unref (calls[i].cancellable);
    }
  return NULL;
}

static void
test_never (void)
{
  Target *target = make_target ("never");
  gint64 start = g_get_monotonic_time ();
  GThread *thread = g_thread_new ("never", never_cancelled, target);

  try_all ("never", GIVES_UP, FALSE);
  g_thread_join (thread);
  free_target (target);
  g_assert_cmpint (g_get_monotonic_time () - start, <, MAX_WAIT_S * G_USEC_PER_SEC);
}

/* What it says of itself it may leave out, and nobody falls over that. */
static void
test_empty (void)
{
  Target *target = make_target ("empty");
  g_autoptr (PrismCapabilities) capabilities = prism_sandbox_dup_capabilities (target->sandbox);
  g_autoptr (PrismFileEntry) entry = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *id = prism_sandbox_dup_id (target->sandbox),
                  *workspace = prism_sandbox_dup_workspace (target->sandbox);

  g_assert_null (id);
  g_assert_null (workspace);
  g_assert_cmpint (prism_capabilities_get_controls (capabilities), ==, PRISM_CONTROLS_NONE);
  g_assert_null (prism_process_get_stdin_stream (target->process));
  entry = prism_sandbox_stat_file (target->sandbox, "a/entry", NULL, &error);
  g_assert_true (entry != NULL || error != NULL);
  free_target (target);
}

/* It makes a sandbox that lacks what was required, and returns it all the same. */
static void
test_ignores (void)
{
  g_autoptr (PrismBackend) backend = prism_registry_create_backend (prism_registry_get_default (), "misbehaves", NULL);
  g_autoptr (PrismSandboxSpec) strict = prism_sandbox_spec_new (NULL);
  g_autoptr (PrismSandbox) sandbox = NULL;
  g_autoptr (GError) error = NULL;

  g_object_set (strict, "require", PRISM_CONTROLS_NETWORK, NULL);
  sandbox = prism_backend_create_sandbox (backend, strict, NULL, &error); /* good: it has that */
  g_assert_no_error (error);
  g_object_set (backend, "mood", "ignores", NULL);
  g_assert_null (prism_backend_create_sandbox (backend, strict, NULL, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_REFUSED);
  g_assert_nonnull (strstr (error->message, "network"));
}

int
main (int argc, char **argv)
{
  static const char *const words[] = { "true", NULL };
  static const Mood moods[] = {
    { "good", ANSWERS, FALSE }, { "thread", ANSWERS, FALSE },      { "inside", ANSWERS, FALSE },
    { "twice", ANSWERS, TRUE }, { "both", ANSWERS | FAILS, TRUE }, { "drops", FAILS, FALSE },
    { "nothing", FAILS, TRUE }, { "wrong", FAILS, TRUE },
  };

  g_test_init (&argc, &argv, NULL);
  g_log_set_always_fatal (G_LOG_FATAL_MASK);
  g_log_set_writer_func (write_log, NULL, NULL);
  spec = prism_sandbox_spec_new (NULL);
  prism_limits_set (prism_sandbox_spec_get_limits (spec), "startup-timeout-ms", 1,
                    NULL); /* on top of that half a minute */
  command = prism_command_new (words);
  prism_command_set_timeout_ms (command, 1); /* and the wrapper's half a minute after it */
  sink = g_memory_output_stream_new_resizable ();
  for (guint i = 0; i < G_N_ELEMENTS (moods); i++)
    {
      g_autofree char *path = g_strconcat ("/misbehaves/", moods[i].mood, NULL);
      g_test_add_data_func (path, &moods[i], test_mood);
    }
  g_test_add_func ("/misbehaves/late", test_late);
  g_test_add_func ("/misbehaves/empty", test_empty);
  g_test_add_func ("/misbehaves/ignores", test_ignores);
  g_test_add_func ("/misbehaves/never", test_never);
  return g_test_run ();
}
