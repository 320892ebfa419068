/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-fake-run.h"

#include <glib/gstdio.h>

enum
{
  PROP_0,
  PROP_ID,
  PROP_BACKEND_NAME,
  PROP_STATUS,
  PROP_WORKSPACE,
  PROP_CAPABILITIES,
  PROP_REFERENCE,
};

static void sandbox_init (PrismSandboxInterface *iface);
G_DEFINE_FINAL_TYPE_WITH_CODE (PrismFakeSandbox,
                               prism_fake_sandbox,
                               G_TYPE_OBJECT,
                               G_IMPLEMENT_INTERFACE (PRISM_TYPE_SANDBOX, sandbox_init))

void
prism_fake_fail (gpointer operation, int code, const char *format, ...)
{
  va_list args;
  g_autofree char *message = NULL;

  va_start (args, format);
  message = g_strdup_vprintf (format, args);
  va_end (args);
  prism_operation_fail_literal (operation, PRISM_SANDBOX_ERROR, code, message);
}

static const char *
state_name (PrismFakeSandbox *self)
{
  static const char *const names[] = { "running", "stopped", "removed", "failed" };

  return names[g_atomic_int_get (&self->status)];
}

gboolean
prism_fake_is_running (PrismFakeSandbox *self, gpointer operation)
{
  if (g_atomic_int_get (&self->status) == PRISM_SANDBOX_STATUS_RUNNING)
    return TRUE;
  prism_fake_fail (operation, PRISM_SANDBOX_ERROR_STATE, "the sandbox is %s", state_name (self));
  return FALSE;
}

/* --- the thread ---------------------------------------------------------------------- */

typedef struct
{
  PrismFakeSandbox *self;
  gpointer operation;
  FakeWork func;
} Work;

static void
work_free (gpointer data)
{
  Work *work = data;

  g_object_unref (work->operation);
  g_object_unref (work->self);
  g_free (work);
}

static gboolean
work_do (gpointer data)
{
  Work *work = data;

  work->func (work->self, work->operation);
  return G_SOURCE_REMOVE;
}

void
prism_fake_hand_over (PrismFakeSandbox *self, gpointer operation, FakeWork func)
{
  Work *work = g_new (Work, 1);

  *work = (Work){ g_object_ref (self), g_object_ref (operation), func };
  g_main_context_invoke_full (self->context, G_PRIORITY_DEFAULT, work_do, work, work_free);
}

/* Owns its loop: the last reference to the sandbox may go in this thread. */
static gpointer
thread_main (gpointer data)
{
  g_autoptr (GMainLoop) loop = data;
  GMainContext *context = g_main_loop_get_context (loop);

  g_main_context_push_thread_default (context);
  g_main_loop_run (loop);
  g_main_context_pop_thread_default (context);
  return NULL;
}

/* --- time ---------------------------------------------------------------------------- */

static void
stop_timer (GSource **timer)
{
  if (*timer != NULL)
    g_source_destroy (*timer);
  g_clear_pointer (timer, g_source_unref);
}

static gboolean
time_is_up (gpointer data)
{
  PrismFakeSandbox *self = data;

  if (g_atomic_int_compare_and_exchange (&self->status, PRISM_SANDBOX_STATUS_RUNNING, PRISM_SANDBOX_STATUS_FAILED))
    prism_fake_end_all (self, PRISM_OUTCOME_WALL_EXCEEDED, FALSE);
  return G_SOURCE_REMOVE;
}

static void
start_timer (PrismFakeSandbox *self, GSource **timer, const char *name)
{
  gint64 ms = prism_limits_get (prism_sandbox_spec_get_limits (self->spec), name);

  stop_timer (timer);
  if (ms == 0)
    return;
  *timer = g_timeout_source_new ((guint)MIN (ms, G_MAXINT));
  g_source_set_callback (*timer, time_is_up, self, NULL);
  g_source_attach (*timer, self->context);
}

void
prism_fake_touch (PrismFakeSandbox *self)
{
  if (self->running == 0 && prism_fake_live_processes (self) == 0)
    start_timer (self, &self->idle, "idle-timeout-ms");
  else
    stop_timer (&self->idle);
}

/* --- ending --------------------------------------------------------------------------- */

void
prism_fake_all_gone (PrismFakeSandbox *self)
{
  PrismOperation *operation;

  if (self->runs->len > 0)
    return;
  if (g_atomic_int_get (&self->status) == PRISM_SANDBOX_STATUS_REMOVED && self->own_workspace)
    {
      const char *argv[] = { "rm", "-rf", "--", self->workspace, NULL };
      g_spawn_sync (NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL, NULL, NULL);
      self->own_workspace = FALSE;
    }
  while ((operation = g_queue_pop_head (&self->closing)) != NULL)
    {
      prism_control_operation_complete (PRISM_CONTROL_OPERATION (operation));
      g_object_unref (operation);
    }
}

static void
end_as (PrismFakeSandbox *self, gpointer operation, PrismSandboxStatus status, gboolean gently)
{
  PrismSandboxStatus now = g_atomic_int_get (&self->status);

  if (now != PRISM_SANDBOX_STATUS_REMOVED
      && (now == PRISM_SANDBOX_STATUS_RUNNING || status != PRISM_SANDBOX_STATUS_STOPPED))
    g_atomic_int_set (&self->status, status);
  self->paused = FALSE;
  stop_timer (&self->wall);
  stop_timer (&self->idle);
  g_queue_push_tail (&self->closing, g_object_ref (operation));
  prism_fake_end_all (self, PRISM_OUTCOME_CANCELLED, gently);
  prism_fake_all_gone (self);
}

static void
do_stop (PrismFakeSandbox *self, gpointer operation)
{
  end_as (self, operation, PRISM_SANDBOX_STATUS_STOPPED, TRUE);
}

static void
do_kill (PrismFakeSandbox *self, gpointer operation)
{
  end_as (self, operation, PRISM_SANDBOX_STATUS_STOPPED, FALSE);
}

static void
do_close (PrismFakeSandbox *self, gpointer operation)
{
  end_as (self, operation, PRISM_SANDBOX_STATUS_REMOVED, FALSE);
}

/* --- standing still ------------------------------------------------------------------- */

void
prism_fake_stands_still (PrismFakeSandbox *self)
{
  g_autoptr (PrismOperation) operation = NULL;

  for (guint i = 0; i < self->runs->len && self->pausing != NULL; i++)
    if (((FakeRun *)g_ptr_array_index (self->runs, i))->moves)
      return;
  operation = g_steal_pointer (&self->pausing);
  if (operation != NULL)
    prism_control_operation_complete (PRISM_CONTROL_OPERATION (operation));
}

static void
do_pause (PrismFakeSandbox *self, gpointer operation)
{
  if (!prism_fake_is_running (self, operation))
    return;
  g_atomic_int_set (&self->status, PRISM_SANDBOX_STATUS_STOPPED);
  self->paused = TRUE;
  stop_timer (&self->idle);
  self->pausing = g_object_ref (operation);
  for (guint i = 0; i < self->runs->len; i++)
    fake_run_stand_still (g_ptr_array_index (self->runs, i));
  prism_fake_stands_still (self);
}

static void
do_resume (PrismFakeSandbox *self, gpointer operation)
{
  if (!self->paused || self->pausing != NULL)
    {
      prism_fake_fail (operation, PRISM_SANDBOX_ERROR_STATE, "the sandbox is not paused");
      return;
    }
  self->paused = FALSE;
  g_atomic_int_set (&self->status, PRISM_SANDBOX_STATUS_RUNNING);
  for (guint i = 0; i < self->runs->len; i++)
    fake_run_go_on (g_ptr_array_index (self->runs, i));
  prism_fake_touch (self);
  prism_control_operation_complete (operation);
}

static void
hand_exec (PrismSandbox *sandbox, PrismExecOperation *operation)
{
  prism_fake_hand_over (PRISM_FAKE_SANDBOX (sandbox), operation, prism_fake_exec);
}

static void
hand_start_process (PrismSandbox *sandbox, PrismProcessOperation *operation)
{
  prism_fake_hand_over (PRISM_FAKE_SANDBOX (sandbox), operation, prism_fake_start_process);
}

static void
hand_attach_process (PrismSandbox *sandbox, PrismProcessOperation *operation)
{
  prism_fake_hand_over (PRISM_FAKE_SANDBOX (sandbox), operation, prism_fake_attach_process);
}

static void
hand_pause (PrismSandbox *sandbox, PrismControlOperation *operation)
{
  prism_fake_hand_over (PRISM_FAKE_SANDBOX (sandbox), operation, do_pause);
}

static void
hand_resume (PrismSandbox *sandbox, PrismControlOperation *operation)
{
  prism_fake_hand_over (PRISM_FAKE_SANDBOX (sandbox), operation, do_resume);
}

static void
hand_stop (PrismSandbox *sandbox, PrismControlOperation *operation)
{
  prism_fake_hand_over (PRISM_FAKE_SANDBOX (sandbox), operation, do_stop);
}

static void
hand_kill (PrismSandbox *sandbox, PrismControlOperation *operation)
{
  prism_fake_hand_over (PRISM_FAKE_SANDBOX (sandbox), operation, do_kill);
}

static void
hand_close (PrismSandbox *sandbox, PrismControlOperation *operation)
{
  prism_fake_hand_over (PRISM_FAKE_SANDBOX (sandbox), operation, do_close);
}

static void
sandbox_init (PrismSandboxInterface *iface)
{
  iface->exec = hand_exec;
  iface->start_process = hand_start_process;
  iface->attach_process = hand_attach_process;
  iface->pause = hand_pause;
  iface->resume = hand_resume;
  iface->stop = hand_stop;
  iface->kill = hand_kill;
  iface->close = hand_close;
  prism_fake_files_init (iface);
}

/* --- the object ------------------------------------------------------------------------ */

static void
prism_fake_sandbox_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  PrismFakeSandbox *self = PRISM_FAKE_SANDBOX (object);

  switch (id)
    {
    case PROP_ID:
      g_value_set_string (value, self->id);
      break;
    case PROP_BACKEND_NAME:
      g_value_set_static_string (value, "fake");
      break;
    case PROP_STATUS:
      g_value_set_enum (value, g_atomic_int_get (&self->status));
      break;
    case PROP_WORKSPACE:
      g_value_set_string (value, self->workspace);
      break;
    case PROP_CAPABILITIES:
      g_value_take_boxed (value, prism_capabilities_new (PRISM_CONTROLS_WORKSPACE, NULL));
      break;
    case PROP_REFERENCE:
      g_value_take_string (value, g_strdup_printf ("fake:%s", self->id));
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    }
}

/* Every run holds a reference: when the last goes, nothing runs any more. */
static void
prism_fake_sandbox_finalize (GObject *object)
{
  PrismFakeSandbox *self = PRISM_FAKE_SANDBOX (object);

  stop_timer (&self->wall);
  stop_timer (&self->idle);
  if (self->own_workspace)
    g_rmdir (self->workspace);
  g_main_loop_quit (self->loop);
  g_main_loop_unref (self->loop);
  g_main_context_unref (self->context);
  g_ptr_array_unref (self->runs);
  g_object_unref (self->spec);
  g_free (self->id);
  g_free (self->workspace);
  G_OBJECT_CLASS (prism_fake_sandbox_parent_class)->finalize (object);
}

static void
prism_fake_sandbox_class_init (PrismFakeSandboxClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->get_property = prism_fake_sandbox_get_property;
  object_class->finalize = prism_fake_sandbox_finalize;
  g_object_class_override_property (object_class, PROP_ID, "id");
  g_object_class_override_property (object_class, PROP_BACKEND_NAME, "backend-name");
  g_object_class_override_property (object_class, PROP_STATUS, "status");
  g_object_class_override_property (object_class, PROP_WORKSPACE, "workspace");
  g_object_class_override_property (object_class, PROP_CAPABILITIES, "capabilities");
  g_object_class_override_property (object_class, PROP_REFERENCE, "reference");
}

static gboolean
begin (gpointer data)
{
  PrismFakeSandbox *self = data;

  start_timer (self, &self->wall, "wall-time-ms");
  prism_fake_touch (self);
  return G_SOURCE_REMOVE;
}

static void
prism_fake_sandbox_init (PrismFakeSandbox *self)
{
  self->id = g_uuid_string_random ();
  self->runs = g_ptr_array_new_with_free_func ((GDestroyNotify)fake_run_unref);
  self->context = g_main_context_new ();
  self->loop = g_main_loop_new (self->context, FALSE);
  g_thread_unref (g_thread_new ("fake-sandbox", thread_main, g_main_loop_ref (self->loop)));
}

/* --- the backend ------------------------------------------------------------------------ */

struct _PrismFakeBackend
{
  GObject parent_instance;
};

static void backend_init (PrismBackendInterface *iface);
G_DEFINE_FINAL_TYPE_WITH_CODE (PrismFakeBackend,
                               prism_fake_backend,
                               G_TYPE_OBJECT,
                               G_IMPLEMENT_INTERFACE (PRISM_TYPE_BACKEND, backend_init))

static const char *
backend_get_name (PrismBackend *backend)
{
  return "fake";
}

static void
backend_probe (PrismBackend *backend, PrismProbeOperation *operation)
{
  g_autoptr (PrismHealthReport) report = prism_health_report_new ("fake");
  g_autoptr (PrismHealthCheck) check = prism_health_check_new (
      "fake.nothing", PRISM_HEALTH_STATUS_WARN, "contains nothing", "use another backend", PRISM_CONTROLS_FILESYSTEM);

  prism_health_report_add (report, check);
  prism_probe_operation_complete (operation, report);
}

static gboolean
refuse (PrismSandboxSpec *spec, PrismCreateOperation *operation)
{
  g_autoptr (PrismCapabilities) capabilities = prism_capabilities_new (PRISM_CONTROLS_WORKSPACE, NULL);
  g_autoptr (GError) error = NULL;

  if (!prism_capabilities_check_required (capabilities, prism_sandbox_spec_get_require (spec), &error))
    prism_operation_fail (PRISM_OPERATION (operation), error);
  else if (prism_sandbox_spec_get_workspace_mode (spec) != PRISM_WORKSPACE_MODE_DIRECT
           || prism_sandbox_spec_get_network (spec) != PRISM_NETWORK_MODE_NONE
           || prism_sandbox_spec_get_lifetime (spec) != PRISM_LIFETIME_HOST)
    prism_fake_fail (operation, PRISM_SANDBOX_ERROR_REFUSED, "only a direct workspace, no network, lifetime host");
  else
    return FALSE;
  return TRUE;
}

static void
backend_create (PrismBackend *backend, PrismCreateOperation *operation)
{
  PrismSandboxSpec *spec = prism_create_operation_get_spec (operation);
  GFile *folder = prism_sandbox_spec_get_workspace (spec);
  g_autoptr (PrismFakeSandbox) self = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *path = folder != NULL ? realpath (g_file_peek_path (folder), NULL) : NULL;
  gboolean own = folder == NULL;

  if (refuse (spec, operation))
    return;
  if (own)
    path = g_dir_make_tmp ("fake-XXXXXX", &error);
  if (path == NULL || !g_file_test (path, G_FILE_TEST_IS_DIR))
    {
      prism_fake_fail (operation, PRISM_SANDBOX_ERROR_NOT_FOUND, "the workspace is not there");
      return;
    }
  self = g_object_new (PRISM_TYPE_FAKE_SANDBOX, NULL);
  self->spec = g_object_ref (spec);
  self->workspace = g_steal_pointer (&path);
  self->own_workspace = own;
  g_main_context_invoke_full (self->context, G_PRIORITY_DEFAULT, begin, g_object_ref (self), g_object_unref);
  prism_create_operation_complete (operation, PRISM_SANDBOX (self));
}

static void
backend_init (PrismBackendInterface *iface)
{
  iface->get_name = backend_get_name;
  iface->probe = backend_probe;
  iface->create_sandbox = backend_create;
}

static void
prism_fake_backend_class_init (PrismFakeBackendClass *klass)
{
}

static void
prism_fake_backend_init (PrismFakeBackend *self)
{
}
