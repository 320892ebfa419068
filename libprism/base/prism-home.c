/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which objects are written in a script, and in which context they live.
 *
 * Interpreters do not run in every thread: GJS drops what arrives off its own,
 * Python would serialise it. So such an object is only ever called in the
 * context it was made in. How it is known:
 *
 *  - A method that a binding implements is code made at run time. An address
 *    that lies in no loaded object is such a closure, and a type with one in any watched interface is a script's.
 * Compiled code, plug-ins and Vala among it, always lies in a loaded object. A script's subclass that overrides no
 * method of the interface inherits compiled methods and counts as compiled.
 *  - Bindings fill the interface in after the class was initialised, but before
 *    there is an instance; so types are judged late, and instances at birth, by
 *    a hook on `constructed` of the class that first implements the interface.
 *    Where a subclass does not chain up, first use takes its place.
 *  - An object that is made during a synchronous call lives where the caller
 *    lives, not in the private context that the call iterates. */
#include "prism-home-private.h"

#include "prism-fd-left.h"

#include <link.h>

#define MAX_WATCHED 8

typedef void (*Constructed) (GObject *object);

static struct
{
  GType iface;
  gsize size; /* of its vtable; g_type_query() does not know interfaces */
} watched[MAX_WATCHED];
static int n_watched; /* atomic; entries below it never change */

static G_DEFINE_QUARK (prism-home, home);
static G_DEFINE_QUARK (prism-home-constructed, constructed);
static G_DEFINE_QUARK (prism-home-kind, kind);

enum
{
  KIND_COMPILED = 1,
  KIND_SCRIPT = 2,
};

/* --- private contexts -------------------------------------------------------- */

typedef struct
{
  GMainContext *spare; /* the one that is kept for the next call */
  GPtrArray *pushed;   /* (element-type GMainContext): nested calls have one each */
  GMainContext *outer; /* beneath the first of them; NULL = the global default */
} ThreadContexts;

static void
thread_contexts_free (gpointer data)
{
  ThreadContexts *contexts = data;

  g_clear_pointer (&contexts->spare, g_main_context_unref);
  g_ptr_array_unref (contexts->pushed);
  g_free (contexts);
}

static GPrivate thread_contexts = G_PRIVATE_INIT (thread_contexts_free);

GMainContext *
prism_private_context_push (gboolean must)
{
  ThreadContexts *self = g_private_get (&thread_contexts);
  GMainContext *context;

  if (self == NULL)
    {
      self = g_new0 (ThreadContexts, 1);
      self->pushed = g_ptr_array_new ();
      g_private_set (&thread_contexts, self);
    }
  context = g_steal_pointer (&self->spare);
  if (context == NULL && (must || prism_fd_is_left ()))
    context = g_main_context_new ();
  if (context == NULL)
    return NULL;
  if (self->pushed->len == 0)
    self->outer = g_main_context_get_thread_default ();
  g_ptr_array_add (self->pushed, context);
  g_main_context_push_thread_default (context);
  return context;
}

void
prism_private_context_pop (GMainContext *context)
{
  ThreadContexts *self = g_private_get (&thread_contexts);

  g_main_context_pop_thread_default (context);
  g_ptr_array_set_size (self->pushed, self->pushed->len - 1);
  if (self->spare == NULL)
    self->spare = context;
  else
    g_main_context_unref (context);
}

/* The context of whoever is at work here, seen through our private ones. */
static GMainContext *
ref_current_context (void)
{
  const ThreadContexts *self = g_private_get (&thread_contexts);
  GMainContext *context = g_main_context_get_thread_default ();

  for (guint i = 0; self != NULL && i < self->pushed->len; i++)
    if (g_ptr_array_index (self->pushed, i) == context)
      {
        context = self->outer;
        break;
      }
  return g_main_context_ref (context != NULL ? context : g_main_context_default ());
}

/* --- types ------------------------------------------------------------------- */

/* Not dladdr(): that also looks for the nearest symbol, through all of them. */
static int
holds (struct dl_phdr_info *object, size_t size, void *address)
{
  for (guint i = 0; i < object->dlpi_phnum; i++)
    {
      const ElfW (Phdr) *part = &object->dlpi_phdr[i];

      if (part->p_type == PT_LOAD && (guintptr)address - (object->dlpi_addr + part->p_vaddr) < part->p_memsz)
        return TRUE;
    }
  return FALSE;
}

static gboolean
is_compiled_code (gpointer address)
{
  return dl_iterate_phdr (holds, address) != 0;
}

static gboolean
interface_is_compiled (gpointer klass, GType iface, gsize size)
{
  gpointer *vtable = g_type_interface_peek (klass, iface);

  if (vtable == NULL)
    return TRUE;
  for (gsize i = sizeof (GTypeInterface) / sizeof (gpointer); i < size / sizeof (gpointer); i++)
    if (vtable[i] != NULL && !is_compiled_code (vtable[i]))
      return FALSE;
  return TRUE;
}

static gboolean
is_script (gpointer instance)
{
  GType type = G_TYPE_FROM_INSTANCE (instance);
  int kind = GPOINTER_TO_INT (g_type_get_qdata (type, kind_quark ()));

  if (kind == 0)
    {
      kind = KIND_COMPILED;
      for (int i = g_atomic_int_get (&n_watched) - 1; i >= 0; i--)
        if (!interface_is_compiled (G_OBJECT_GET_CLASS (instance), watched[i].iface, watched[i].size))
          kind = KIND_SCRIPT;
      g_type_set_qdata (type, kind_quark (), GINT_TO_POINTER (kind));
    }
  return kind == KIND_SCRIPT;
}

/* --- instances --------------------------------------------------------------- */

static void
home_free (gpointer data)
{
  PrismHome *home = data;

  g_main_context_unref (home->context);
  g_thread_unref (home->thread);
  g_free (home);
}

static const PrismHome *
settle (GObject *object)
{
  PrismHome *home = g_object_get_qdata (object, home_quark ());

  if (home != NULL)
    return home;
  home = g_new (PrismHome, 1);
  home->context = ref_current_context ();
  home->thread = g_thread_ref (g_thread_self ());
  if (!g_object_replace_qdata (object, home_quark (), NULL, home, home_free, NULL))
    home_free (home); /* another thread was first */
  return g_object_get_qdata (object, home_quark ());
}

static void
hooked_constructed (GObject *object)
{
  for (GType type = G_OBJECT_TYPE (object); type != 0; type = g_type_parent (type))
    {
      Constructed original = (Constructed)g_type_get_qdata (type, constructed_quark ());
      if (original != NULL)
        {
          original (object);
          break;
        }
    }
  if (is_script (object))
    settle (object);
}

static gboolean
is_watched (GType iface)
{
  for (int i = g_atomic_int_get (&n_watched) - 1; i >= 0; i--)
    if (watched[i].iface == iface)
      return TRUE;
  return FALSE;
}

/* GObject calls this for every class that implements any interface, while it is
 * initialised: before its first instance and before anyone derives from it. */
static void
check_interface (gpointer check_data, gpointer g_iface)
{
  const GTypeInterface *iface = g_iface;
  GType type = iface->g_instance_type;
  GObjectClass *klass;

  if (!is_watched (iface->g_type) || !g_type_is_a (type, G_TYPE_OBJECT))
    return;
  for (GType parent = type; parent != 0; parent = g_type_parent (parent))
    if (g_type_get_qdata (parent, constructed_quark ()) != NULL)
      return;
  klass = g_type_class_ref (type);
  g_type_set_qdata (type, constructed_quark (), (gpointer)klass->constructed);
  klass->constructed = hooked_constructed;
  g_type_class_unref (klass);
}

void
prism_home_watch_interface (GType iface, gsize size)
{
  static GMutex lock;
  int i;

  g_mutex_lock (&lock);
  i = n_watched;
  g_assert (i < MAX_WATCHED);
  watched[i].iface = iface;
  watched[i].size = size;
  g_atomic_int_set (&n_watched, i + 1);
  if (i == 0)
    g_type_add_interface_check (NULL, check_interface);
  g_mutex_unlock (&lock);
}

const PrismHome *
prism_home_of (gpointer instance)
{
  return is_script (instance) ? settle (instance) : NULL;
}

/* --- asking ------------------------------------------------------------------ */

/* How long a thread is waited for that is busy with something else. */
#define ASK_US (G_GINT64_CONSTANT (30) * G_USEC_PER_SEC)

typedef struct
{
  gatomicrefcount refs;
  GObject *instance;
  PrismHomeAsk ask;
  char *what;
  GMutex lock; /* for what follows */
  GCond answered;
  gboolean done;
  GValue value;
} Question;

static void
question_unref (gpointer data)
{
  Question *self = data;

  if (!g_atomic_ref_count_dec (&self->refs))
    return;
  g_object_unref (self->instance);
  g_value_unset (&self->value);
  g_mutex_clear (&self->lock);
  g_cond_clear (&self->answered);
  g_free (self->what);
  g_free (self);
}

static gboolean
question_arrived (gpointer data)
{
  Question *self = data;
  g_auto (GValue) value = G_VALUE_INIT;

  g_value_init (&value, G_VALUE_TYPE (&self->value));
  self->ask (self->instance, self->what, &value);
  g_mutex_lock (&self->lock);
  g_value_copy (&value, &self->value);
  self->done = TRUE;
  g_cond_signal (&self->answered);
  g_mutex_unlock (&self->lock);
  return G_SOURCE_REMOVE;
}

static Question *
question_new (gpointer instance, PrismHomeAsk ask, const char *what, GType type)
{
  Question *self = g_new0 (Question, 1);

  g_atomic_ref_count_init (&self->refs);
  g_mutex_init (&self->lock);
  g_cond_init (&self->answered);
  self->instance = g_object_ref (instance);
  self->ask = ask;
  self->what = g_strdup (what);
  g_value_init (&self->value, type);
  return self;
}

void
prism_home_ask (gpointer instance, PrismHomeAsk ask, const char *what, GValue *value)
{
  const PrismHome *home = prism_home_of (instance);
  gint64 deadline = g_get_monotonic_time () + ASK_US;
  g_autoptr (GSource) source = NULL;
  Question *question;

  if (home == NULL || home->thread == g_thread_self ())
    {
      ask (instance, what, value);
      return;
    }
  question = question_new (instance, ask, what, G_VALUE_TYPE (value));
  g_atomic_ref_count_inc (&question->refs);
  source = g_idle_source_new ();
  g_source_set_priority (source, G_PRIORITY_DEFAULT);
  g_source_set_static_name (source, "[prism] question to a script");
  g_source_set_callback (source, question_arrived, question, question_unref);
  g_source_attach (source, home->context);

  g_mutex_lock (&question->lock);
  while (!question->done && g_cond_wait_until (&question->answered, &question->lock, deadline))
    ;
  if (question->done)
    g_value_copy (&question->value, value);
  g_mutex_unlock (&question->lock);
  g_source_destroy (source);
  question_unref (question);
}

static void
ask_property (gpointer instance, const char *property, GValue *value)
{
  g_object_get_property (instance, property, value);
}

void
prism_home_get (gpointer instance, const char *property, GValue *value)
{
  prism_home_ask (instance, ask_property, property, value);
}
