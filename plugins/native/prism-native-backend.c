/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Options, and the operations that a backend answers. All of them block for a
 * moment: they run where the caller may block, else in a thread of GLib's pool (the
 * launcher is no child of a thread: its keeper watches a socket, not a parent). */
#include "prism-native-backend.h"

#include "prism-native-cgroup.h"
#include "prism-native-probe.h"
#include "prism-native-reap.h"
#include "prism-native-sandbox.h"

typedef enum
{
  CHANNEL_AUTO,
  CHANNEL_FRAMED,
} Channel;

struct _PrismNativeBackend
{
  GObject parent_instance;
  PrismNativeIsolation isolation;
  PrismNativeNetns netns;
  PrismNativeUnixSockets unix_sockets;
  Channel channel;
  guint off_switches;

  GMutex lock; /* for what follows */
  PrismNativeLauncher *prepared;
  PrismNativeOptions prepared_with;
  gint64 prepared_at;
};

enum
{
  PROP_0,
  PROP_ISOLATION,
  PROP_NETNS,
  PROP_UNIX_SOCKETS,
  PROP_CHANNEL,
#ifdef PRISM_TEST_SWITCHES
  PROP_OFF_SWITCHES,
#endif
  N_PROPS
};

static GParamSpec *props[N_PROPS];

#define DEFINE_ENUM(function, name, ...)                                                                               \
  static GType function (void)                                                                                         \
  {                                                                                                                    \
    static gsize type = 0;                                                                                             \
    static const GEnumValue values[] = { __VA_ARGS__, { 0, NULL, NULL } };                                             \
    if (g_once_init_enter (&type))                                                                                     \
      g_once_init_leave (&type, g_enum_register_static (name, values));                                                \
    return type;                                                                                                       \
  }

DEFINE_ENUM (isolation_get_type,
             "PrismNativeIsolation",
             { PRISM_NATIVE_ISOLATION_CONFINED, "PRISM_NATIVE_ISOLATION_CONFINED", "confined" },
             { PRISM_NATIVE_ISOLATION_NETWORK_ONLY, "PRISM_NATIVE_ISOLATION_NETWORK_ONLY", "network-only" })
DEFINE_ENUM (netns_get_type,
             "PrismNativeNetns",
             { PRISM_NATIVE_NETNS_SANDBOX, "PRISM_NATIVE_NETNS_SANDBOX", "sandbox" },
             { PRISM_NATIVE_NETNS_COMMAND, "PRISM_NATIVE_NETNS_COMMAND", "command" })
DEFINE_ENUM (unix_sockets_get_type,
             "PrismNativeUnixSockets",
             { PRISM_NATIVE_UNIX_SOCKETS_DENY, "PRISM_NATIVE_UNIX_SOCKETS_DENY", "deny" },
             { PRISM_NATIVE_UNIX_SOCKETS_ALLOW, "PRISM_NATIVE_UNIX_SOCKETS_ALLOW", "allow" })
DEFINE_ENUM (channel_get_type,
             "PrismNativeChannel",
             { CHANNEL_AUTO, "PRISM_NATIVE_CHANNEL_AUTO", "auto" },
             { CHANNEL_FRAMED, "PRISM_NATIVE_CHANNEL_FRAMED", "framed" })

static void prism_native_backend_iface_init (PrismBackendInterface *iface);

G_DEFINE_FINAL_TYPE_WITH_CODE (PrismNativeBackend,
                               prism_native_backend,
                               G_TYPE_OBJECT,
                               G_IMPLEMENT_INTERFACE (PRISM_TYPE_BACKEND, prism_native_backend_iface_init))

/* --- operations ------------------------------------------------------------- */

static PrismNativeOptions
get_options (PrismNativeBackend *self)
{
  return (PrismNativeOptions){
    .isolation = self->isolation,
    .netns = self->netns,
    .unix_sockets = self->unix_sockets,
    .framed = self->channel == CHANNEL_FRAMED,
    .off_switches = self->off_switches,
  };
}

static gboolean
are_equal (const PrismNativeOptions *a, const PrismNativeOptions *b)
{
  return a->isolation == b->isolation && a->netns == b->netns && a->unix_sockets == b->unix_sockets
         && a->framed == b->framed && a->off_switches == b->off_switches;
}

/* One that does not fit any more ends. */
static PrismNativeLauncher *
take_prepared (PrismNativeBackend *self, const PrismNativeOptions *options)
{
  g_autoptr (PrismNativeLauncher) launcher = NULL;
  gboolean fits;

  g_mutex_lock (&self->lock);
  launcher = g_steal_pointer (&self->prepared);
  fits =
      are_equal (&self->prepared_with, options) && g_get_monotonic_time () - self->prepared_at < PRISM_NATIVE_BEGUN_US;
  g_mutex_unlock (&self->lock);
  return fits ? g_steal_pointer (&launcher) : NULL;
}

static void
prism_native_backend_prepare (PrismBackend *backend)
{
  PrismNativeBackend *self = PRISM_NATIVE_BACKEND (backend);

  g_mutex_lock (&self->lock);
  if (self->prepared == NULL)
    {
      self->prepared_with = get_options (self);
      self->prepared_at = g_get_monotonic_time ();
      self->prepared = prism_native_sandbox_prepare (&self->prepared_with);
    }
  g_mutex_unlock (&self->lock);
}

static void
create (gpointer backend, PrismOperation *operation)
{
  PrismNativeBackend *self = PRISM_NATIVE_BACKEND (backend);
  PrismCreateOperation *create_operation = PRISM_CREATE_OPERATION (operation);
  const PrismNativeOptions options = get_options (self);
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismSandbox) sandbox =
      prism_native_sandbox_start (prism_create_operation_get_spec (create_operation), &options,
                                  take_prepared (self, &options), prism_operation_get_cancellable (operation), &error);

  if (sandbox != NULL)
    prism_create_operation_complete (create_operation, sandbox);
  else
    prism_operation_fail (operation, error);
}

static void
connect_again (gpointer self, PrismOperation *operation)
{
  PrismCreateOperation *create_operation = PRISM_CREATE_OPERATION (operation);
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismSandbox) sandbox = prism_native_sandbox_connect (
      prism_create_operation_get_reference (create_operation), prism_operation_get_deadline (operation),
      prism_operation_get_cancellable (operation), &error);

  if (sandbox != NULL)
    prism_create_operation_complete (create_operation, sandbox);
  else
    prism_operation_fail (operation, error);
}

static void
probe (gpointer self, PrismOperation *operation)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismHealthReport) report = prism_native_probe (prism_operation_get_deadline (operation),
                                                             prism_operation_get_cancellable (operation), &error);

  if (report != NULL)
    prism_probe_operation_complete (PRISM_PROBE_OPERATION (operation), report);
  else
    prism_operation_fail (operation, error);
}

static void
list (gpointer self, PrismOperation *operation)
{
  g_auto (GStrv) references = prism_native_sandboxes_list (prism_native_cgroup_get ());
  prism_list_operation_complete (PRISM_LIST_OPERATION (operation), (const char *const *)references);
}

static void
reap (gpointer self, PrismOperation *operation)
{
  prism_reap_operation_complete (PRISM_REAP_OPERATION (operation),
                                 prism_native_leftovers_remove (prism_native_cgroup_get ()));
}

static const char *
prism_native_backend_get_name (PrismBackend *backend)
{
  return "native";
}

static void
prism_native_backend_create_sandbox (PrismBackend *backend, PrismCreateOperation *operation)
{
  prism_operation_run_in_thread (PRISM_OPERATION (operation), create);
}

static void
prism_native_backend_connect_sandbox (PrismBackend *backend, PrismCreateOperation *operation)
{
  prism_operation_run_in_thread (PRISM_OPERATION (operation), connect_again);
}

static void
prism_native_backend_probe (PrismBackend *backend, PrismProbeOperation *operation)
{
  prism_operation_run_in_thread (PRISM_OPERATION (operation), probe);
}

static void
prism_native_backend_list_sandboxes (PrismBackend *backend, PrismListOperation *operation)
{
  prism_operation_run_in_thread (PRISM_OPERATION (operation), list);
}

static void
prism_native_backend_reap (PrismBackend *backend, PrismReapOperation *operation)
{
  prism_operation_run_in_thread (PRISM_OPERATION (operation), reap);
}

static void
prism_native_backend_iface_init (PrismBackendInterface *iface)
{
  iface->get_name = prism_native_backend_get_name;
  iface->probe = prism_native_backend_probe;
  iface->create_sandbox = prism_native_backend_create_sandbox;
  iface->connect_sandbox = prism_native_backend_connect_sandbox;
  iface->list_sandboxes = prism_native_backend_list_sandboxes;
  iface->reap = prism_native_backend_reap;
  iface->prepare = prism_native_backend_prepare;
}

/* --- properties ------------------------------------------------------------- */

static void
prism_native_backend_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  PrismNativeBackend *self = PRISM_NATIVE_BACKEND (object);

  switch (id)
    {
    case PROP_ISOLATION:
      g_value_set_enum (value, self->isolation);
      break;
    case PROP_NETNS:
      g_value_set_enum (value, self->netns);
      break;
    case PROP_UNIX_SOCKETS:
      g_value_set_enum (value, self->unix_sockets);
      break;
    case PROP_CHANNEL:
      g_value_set_enum (value, self->channel);
      break;
#ifdef PRISM_TEST_SWITCHES
    case PROP_OFF_SWITCHES:
      g_value_set_uint (value, self->off_switches);
      break;
#endif
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    }
}

static void
prism_native_backend_set_property (GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  PrismNativeBackend *self = PRISM_NATIVE_BACKEND (object);

  switch (id)
    {
    case PROP_ISOLATION:
      self->isolation = g_value_get_enum (value);
      break;
    case PROP_NETNS:
      self->netns = g_value_get_enum (value);
      break;
    case PROP_UNIX_SOCKETS:
      self->unix_sockets = g_value_get_enum (value);
      break;
    case PROP_CHANNEL:
      self->channel = g_value_get_enum (value);
      break;
#ifdef PRISM_TEST_SWITCHES
    case PROP_OFF_SWITCHES:
      self->off_switches = g_value_get_uint (value);
      break;
#endif
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    }
}

static GParamSpec *
enum_property (const char *name, const char *nick, const char *blurb, GType type)
{
  return g_param_spec_enum (name, nick, blurb, type, 0, G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS);
}

static void
prism_native_backend_finalize (GObject *object)
{
  PrismNativeBackend *self = PRISM_NATIVE_BACKEND (object);

  g_clear_pointer (&self->prepared, prism_native_launcher_free);
  g_mutex_clear (&self->lock);
  G_OBJECT_CLASS (prism_native_backend_parent_class)->finalize (object);
}

static void
prism_native_backend_class_init (PrismNativeBackendClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->finalize = prism_native_backend_finalize;
  object_class->get_property = prism_native_backend_get_property;
  object_class->set_property = prism_native_backend_set_property;
  props[PROP_ISOLATION] = enum_property ("isolation", "Isolation",
                                         "confined: a root, processes and network of its own; network-only: the "
                                         "host's tree as it is, without network",
                                         isolation_get_type ());
  props[PROP_NETNS] =
      enum_property ("netns", "Network namespace",
                     "sandbox: one for all commands; command: a fresh one for each, loopback down", netns_get_type ());
  props[PROP_UNIX_SOCKETS] = enum_property ("unix-sockets", "Unix sockets",
                                            "with isolation=network-only: whether commands may open unix sockets, "
                                            "which lead to the host's services",
                                            unix_sockets_get_type ());
  props[PROP_CHANNEL] =
      enum_property ("channel", "Channel",
                     "auto: commands write into the caller's own pipes; framed: through the agent, as "
                     "over a network",
                     channel_get_type ());
#ifdef PRISM_TEST_SWITCHES
  props[PROP_OFF_SWITCHES] =
      g_param_spec_uint ("off-switches", "Off-switches", "controls to leave out, for the tests that prove each", 0,
                         G_MAXUINT, 0, G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS);
#endif
  g_object_class_install_properties (object_class, N_PROPS, props);
}

static void
prism_native_backend_init (PrismNativeBackend *self)
{
  g_mutex_init (&self->lock);
}
