/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A backend whose every method does what its mood is:
 *
 *   good     answers at once                 never    keeps the operation for ever
 *   twice    answers, and answers again      drops    forgets it
 *   thread   answers from a thread           both     answers and fails, from two threads at once
 *   nothing  answers with NULL, then forgets wrong    answers with an object of another type
 *   late     answers when it was given up    inside   calls its own public methods first
 *   empty    answers with a sandbox or process that has nothing at all
 *   ignores  makes a sandbox without what was required, and says that it has it not
 */
#include <libprism/prism-plugin.h>

#include <string.h>

#define MOODS "good never twice drops thread both nothing wrong late inside empty ignores"

typedef struct
{
  GObject parent_instance;
  char *mood;
} Thing;

typedef struct
{
  GObjectClass parent_class;
} ThingClass;

/* A backend, its sandboxes and their processes: one type, as they all misbehave alike. */
static GType thing_get_type (void);
static void backend_init (PrismBackendInterface *iface);
static void sandbox_init (PrismSandboxInterface *iface);
static void process_init (PrismProcessInterface *iface);

G_DEFINE_TYPE_WITH_CODE (Thing,
                         thing,
                         G_TYPE_OBJECT,
                         G_IMPLEMENT_INTERFACE (PRISM_TYPE_BACKEND, backend_init)
                             G_IMPLEMENT_INTERFACE (PRISM_TYPE_SANDBOX, sandbox_init)
                                 G_IMPLEMENT_INTERFACE (PRISM_TYPE_PROCESS, process_init))

static gpointer
make_thing (Thing *like)
{
  Thing *thing = g_object_new (thing_get_type (), NULL);

  g_free (thing->mood);
  thing->mood = g_strdup (like->mood);
  return thing;
}

/* --- answering ---------------------------------------------------------------- */

static void
answer_file (PrismFileOperation *operation)
{
  g_autoptr (GBytes) bytes = g_bytes_new_static ("text", 4);
  g_autoptr (PrismFileEntry) entry = prism_file_entry_new ("/workspace/a", G_FILE_TYPE_REGULAR, 1, 0644, 0);
  g_autoptr (GListStore) entries = g_list_store_new (PRISM_TYPE_FILE_ENTRY);
  const char *asked = strrchr (prism_file_operation_get_path (operation), '/');

  /* What is asked for is in the name: the same operation is answered in four ways. */
  if (strcmp (asked, "/bytes") == 0)
    prism_file_operation_complete_bytes (operation, bytes);
  else if (strcmp (asked, "/entry") == 0)
    prism_file_operation_complete_entry (operation, entry);
  else if (strcmp (asked, "/entries") == 0)
    prism_file_operation_complete_entries (operation, G_LIST_MODEL (entries));
  else
    prism_file_operation_complete (operation);
}

static void
answer_wait (PrismOperation *operation)
{
  g_autoptr (PrismResult) result = g_object_new (PRISM_TYPE_RESULT, "outcome", PRISM_OUTCOME_EXITED, NULL);

  if (PRISM_IS_EXEC_OPERATION (operation))
    prism_exec_operation_complete ((PrismExecOperation *)operation, result);
  else
    prism_wait_operation_complete ((PrismWaitOperation *)operation, result);
}

static void
answer (Thing *self, PrismOperation *operation)
{
  static const char *const references[] = { "one", NULL };
  g_autoptr (GObject) thing = make_thing (self);
  g_autoptr (PrismHealthReport) report = prism_health_report_new ("misbehaves");
  g_autoptr (PrismTreeIdentity) identity =
      prism_tree_identity_new ("0000000000000000000000000000000000000000000000000000000000000000", 0, 0);

  if (PRISM_IS_PROBE_OPERATION (operation))
    prism_probe_operation_complete ((PrismProbeOperation *)operation, report);
  else if (PRISM_IS_CREATE_OPERATION (operation))
    prism_create_operation_complete ((PrismCreateOperation *)operation, PRISM_SANDBOX (thing));
  else if (PRISM_IS_LIST_OPERATION (operation))
    prism_list_operation_complete ((PrismListOperation *)operation, references);
  else if (PRISM_IS_REAP_OPERATION (operation))
    prism_reap_operation_complete ((PrismReapOperation *)operation, 0);
  else if (PRISM_IS_PROCESS_OPERATION (operation))
    prism_process_operation_complete ((PrismProcessOperation *)operation, PRISM_PROCESS (thing));
  else if (PRISM_IS_FILE_OPERATION (operation))
    answer_file ((PrismFileOperation *)operation);
  else if (PRISM_IS_TREE_OPERATION (operation))
    prism_tree_operation_complete ((PrismTreeOperation *)operation, identity);
  else if (PRISM_IS_CONTROL_OPERATION (operation))
    prism_control_operation_complete ((PrismControlOperation *)operation);
  else
    answer_wait (operation);
}

/* As a careless author would: with a NULL, or with whatever object is at hand. */
static void
answer_wrongly (PrismOperation *operation, gpointer object)
{
  if (PRISM_IS_PROBE_OPERATION (operation))
    prism_probe_operation_complete ((PrismProbeOperation *)operation, object);
  else if (PRISM_IS_CREATE_OPERATION (operation))
    prism_create_operation_complete ((PrismCreateOperation *)operation, object);
  else if (PRISM_IS_LIST_OPERATION (operation))
    prism_list_operation_complete ((PrismListOperation *)operation, NULL);
  else if (PRISM_IS_PROCESS_OPERATION (operation))
    prism_process_operation_complete ((PrismProcessOperation *)operation, object);
  else if (PRISM_IS_FILE_OPERATION (operation))
    prism_file_operation_complete_entry ((PrismFileOperation *)operation, object);
  else if (PRISM_IS_EXEC_OPERATION (operation))
    prism_exec_operation_complete ((PrismExecOperation *)operation, object);
  else if (PRISM_IS_WAIT_OPERATION (operation))
    prism_wait_operation_complete ((PrismWaitOperation *)operation, object);
  else if (PRISM_IS_TREE_OPERATION (operation))
    prism_tree_operation_complete ((PrismTreeOperation *)operation, NULL);
}

/* --- moods -------------------------------------------------------------------- */

typedef struct
{
  Thing *self;
  PrismOperation *operation;
} Work;

static Work *
work_new (Thing *self, PrismOperation *operation)
{
  Work *work = g_new0 (Work, 1);

  work->self = g_object_ref (self);
  work->operation = g_object_ref (operation);
  return work;
}

static gpointer
work_end (Work *work)
{
  g_object_unref (work->operation);
  g_object_unref (work->self);
  g_free (work);
  return NULL;
}

static gpointer
answer_main (gpointer data)
{
  Work *work = data;

  answer (work->self, work->operation);
  return work_end (work);
}

static gpointer
fail_main (gpointer data)
{
  Work *work = data;

  prism_operation_fail_literal (work->operation, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_FAILED, "after all");
  return work_end (work);
}

static gpointer
late_main (gpointer data)
{
  Work *work = data;
  GCancellable *cancellable = prism_operation_get_cancellable (work->operation);
  GPollFD fd;

  if (g_cancellable_make_pollfd (cancellable, &fd))
    {
      g_poll (&fd, 1, 60000);
      g_cancellable_release_fd (cancellable);
    }
  answer (work->self, work->operation);
  return work_end (work);
}

static void
in_thread (GThreadFunc func, Thing *self, PrismOperation *operation)
{
  g_thread_unref (g_thread_new ("misbehaves", func, work_new (self, operation)));
}

/* This thread calls an implementation from within one of its methods: it is good then. */
static __thread gboolean is_inside;

static void
call_inside (Thing *self, PrismOperation *operation)
{
  g_autoptr (PrismSandbox) sandbox = NULL;
  g_autoptr (PrismSandboxSpec) spec = prism_sandbox_spec_new (NULL);
  g_autoptr (PrismFileEntry) entry = NULL;

  is_inside = TRUE;
  sandbox = prism_backend_create_sandbox (PRISM_BACKEND (self), spec, NULL, NULL);
  entry = prism_sandbox_stat_file (PRISM_SANDBOX (self), "entry", NULL, NULL);
  is_inside = FALSE;
  answer (self, operation);
}

static void
misbehave (gpointer object, gpointer data)
{
  Thing *self = object;
  PrismOperation *operation = data;

  if (is_inside)
    answer (self, operation);
  else if (strcmp (self->mood, "never") == 0)
    g_object_ref (operation); /* for ever */
  else if (strcmp (self->mood, "drops") == 0)
    return;
  else if (strcmp (self->mood, "nothing") == 0)
    answer_wrongly (operation, NULL);
  else if (strcmp (self->mood, "wrong") == 0)
    answer_wrongly (operation, prism_operation_get_cancellable (operation));
  else if (strcmp (self->mood, "thread") == 0)
    in_thread (answer_main, self, operation);
  else if (strcmp (self->mood, "late") == 0)
    in_thread (late_main, self, operation);
  else if (strcmp (self->mood, "inside") == 0)
    call_inside (self, operation);
  else if (strcmp (self->mood, "both") == 0)
    {
      in_thread (answer_main, self, operation);
      in_thread (fail_main, self, operation);
    }
  else
    {
      answer (self, operation);
      if (strcmp (self->mood, "twice") == 0)
        answer (self, operation);
    }
}

/* --- the types ---------------------------------------------------------------- */

static const char *
get_name (PrismBackend *backend)
{
  return "misbehaves";
}

/* Every method takes itself and an operation. */
#define MISBEHAVE(member) iface->member = (gpointer)misbehave

static void
backend_init (PrismBackendInterface *iface)
{
  iface->get_name = get_name;
  MISBEHAVE (probe);
  MISBEHAVE (create_sandbox);
  MISBEHAVE (connect_sandbox);
  MISBEHAVE (list_sandboxes);
  MISBEHAVE (reap);
}

static void
sandbox_init (PrismSandboxInterface *iface)
{
  MISBEHAVE (exec);
  MISBEHAVE (start_process);
  MISBEHAVE (attach_process);
  MISBEHAVE (read_file);
  MISBEHAVE (write_file);
  MISBEHAVE (list_files);
  MISBEHAVE (stat_file);
  MISBEHAVE (remove_file);
  MISBEHAVE (rename_file);
  MISBEHAVE (make_directory);
  MISBEHAVE (search);
  MISBEHAVE (import_tree);
  MISBEHAVE (export_tree);
  MISBEHAVE (set_network_policy);
  MISBEHAVE (pause);
  MISBEHAVE (resume);
  MISBEHAVE (stop);
  MISBEHAVE (kill);
  MISBEHAVE (close);
}

static void
process_init (PrismProcessInterface *iface)
{
  MISBEHAVE (send_signal);
  MISBEHAVE (kill);
  MISBEHAVE (resize);
  MISBEHAVE (release);
  MISBEHAVE (wait);
}

enum
{
  PROP_0,
  PROP_MOOD,
  PROP_WORKSPACE,
  PROP_BACKEND_NAME,
  PROP_CAPABILITIES,
  PROP_NOTHING,
};

static void
thing_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  Thing *self = (Thing *)object;

  if (strcmp (self->mood, "empty") == 0)
    return;
  switch (id)
    {
    case PROP_MOOD:
      g_value_set_string (value, self->mood);
      break;
    case PROP_WORKSPACE:
      g_value_set_static_string (value, "/workspace");
      break;
    case PROP_BACKEND_NAME:
      g_value_set_static_string (value, "misbehaves");
      break;
    case PROP_CAPABILITIES:
      if (strcmp (self->mood, "ignores") != 0)
        g_value_take_boxed (value, prism_capabilities_new (PRISM_CONTROLS_NETWORK, NULL));
      break;
    default:
      break;
    }
}

static void
thing_set_property (GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  Thing *self = (Thing *)object;

  if (id != PROP_MOOD || g_value_get_string (value) == NULL)
    return;
  g_free (self->mood);
  self->mood = g_value_dup_string (value);
}

static void
thing_finalize (GObject *object)
{
  g_free (((Thing *)object)->mood);
  G_OBJECT_CLASS (thing_parent_class)->finalize (object);
}

static void
thing_class_init (ThingClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  static const struct
  {
    guint id;
    const char *name;
  } overridden[] = { { PROP_WORKSPACE, "workspace" },       { PROP_BACKEND_NAME, "backend-name" },
                     { PROP_CAPABILITIES, "capabilities" }, { PROP_NOTHING, "id" },
                     { PROP_NOTHING + 1, "status" },        { PROP_NOTHING + 2, "reference" },
                     { PROP_NOTHING + 3, "stdin-stream" },  { PROP_NOTHING + 4, "stdout-stream" },
                     { PROP_NOTHING + 5, "stderr-stream" } };

  object_class->get_property = thing_get_property;
  object_class->set_property = thing_set_property;
  object_class->finalize = thing_finalize;
  g_object_class_install_property (
      object_class, PROP_MOOD,
      g_param_spec_string ("mood", NULL, "One of: " MOODS, "good", G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS));
  for (guint i = 0; i < G_N_ELEMENTS (overridden); i++)
    g_object_class_override_property (object_class, overridden[i].id, overridden[i].name);
}

static void
thing_init (Thing *self)
{
  self->mood = g_strdup ("good");
}

static void
misbehaves_load (PrismRegistry *registry)
{
  prism_registry_add_type (registry, "misbehaves", thing_get_type (), 0, NULL);
}

PRISM_PLUGIN_DEFINE (misbehaves, "1.2.3", "LGPL-2.1-or-later", misbehaves_load);
