/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Options, and the operations that a backend answers; all of them wait for the engine, so
 * they run where the caller may block, else in a thread of GLib's pool. */
#include "prism-docker-backend.h"

#include "prism-docker-probe.h"
#include "prism-docker-reap.h"
#include "prism-docker-sandbox.h"

struct _PrismDockerBackend
{
  GObject parent_instance;
  GMutex lock; /* for the options */
  PrismDockerOptions options;
};

static void prism_docker_backend_iface_init (PrismBackendInterface *iface);

G_DEFINE_FINAL_TYPE_WITH_CODE (PrismDockerBackend,
                               prism_docker_backend,
                               G_TYPE_OBJECT,
                               G_IMPLEMENT_INTERFACE (PRISM_TYPE_BACKEND, prism_docker_backend_iface_init))

/* --- properties: one row each ---------------------------------------------------------- */

typedef struct
{
  const char *name, *nick, *blurb;
  gsize offset; /* of a char * in the options */
} Row;

#define AT(member) G_STRUCT_OFFSET (PrismDockerOptions, member)

static const Row rows[] = {
  { "image", "Image", "NAME@sha256:DIGEST; never pulled by itself", AT (image) },
  { "user", "User",
    "UID:GID of the commands, never root; by default 10001:10001, or the owner of an ordinary user's own workspace",
    AT (user) },
  { "socket", "Socket", "the engine's unix socket; by default DOCKER_HOST's, or docker's usual one", AT (socket) },
  { "docker", "Program", "absolute path of the docker or podman program, for where its socket cannot be reached",
    AT (docker) },
  { "runtime", "Runtime", "an OCI runtime that the engine knows, such as runc, crun or runsc", AT (runtime) },
  { "network", "Network", "with the specification's network=custom: the name of a network of the engine's",
    AT (network) },
  { "attestation", "Attestation", "with a custom network: JSON that says that it leads only to an egress proxy",
    AT (attestation) },
  { "attestation-key", "Attestation key", "public key (PEM) that the attestation must be signed with",
    AT (attestation_key) },
  { "source", "Source", "a folder of the host's, seen read-only at /source", AT (source) },
  { "outputs", "Outputs", "layout: a folder seen at /mnt/user-data/outputs, writable", AT (layout.outputs) },
  { "uploads", "Uploads", "layout: a folder seen read-only at /mnt/user-data/uploads", AT (layout.uploads) },
  { "scratch", "Scratch", "layout: a folder seen at /mnt/user-data/scratch, writable", AT (layout.scratch) },
  { "tool-results", "Tool results", "layout: a folder seen read-only at /mnt/user-data/tool_results",
    AT (layout.tool_results) },
  { "transcripts", "Transcripts", "layout: a folder seen read-only at /mnt/transcripts", AT (layout.transcripts) },
};

#define N_ROWS G_N_ELEMENTS (rows)
enum
{
  PROP_FIRST = 1,
  PROP_SKILLS = PROP_FIRST + N_ROWS,
  N_PROPS,
};

static GParamSpec *props[N_PROPS];

static char **
slot (PrismDockerOptions *options, guint row)
{
  return G_STRUCT_MEMBER_P (options, rows[row].offset);
}

static void
options_copy (PrismDockerOptions *to, PrismDockerBackend *self)
{
  g_mutex_lock (&self->lock);
  for (guint i = 0; i < N_ROWS; i++)
    *slot (to, i) = g_strdup (*slot (&self->options, i));
  to->layout.skills = g_strdupv (self->options.layout.skills);
  g_mutex_unlock (&self->lock);
}

static void
options_clear (PrismDockerOptions *options)
{
  for (guint i = 0; i < N_ROWS; i++)
    g_free (*slot (options, i));
  g_strfreev (options->layout.skills);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (PrismDockerOptions, options_clear)

/* --- operations --------------------------------------------------------------------------- */

static void
create (gpointer backend, PrismOperation *operation)
{
  PrismCreateOperation *create_operation = PRISM_CREATE_OPERATION (operation);
  g_auto (PrismDockerOptions) options = { 0 };
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismSandbox) sandbox = NULL;

  options_copy (&options, PRISM_DOCKER_BACKEND (backend));
  sandbox = prism_docker_sandbox_start (prism_create_operation_get_spec (create_operation), &options,
                                        prism_operation_get_cancellable (operation), &error);
  if (sandbox != NULL)
    prism_create_operation_complete (create_operation, sandbox);
  else
    prism_operation_fail (operation, error);
}

static void
probe (gpointer backend, PrismOperation *operation)
{
  g_auto (PrismDockerOptions) options = { 0 };
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismHealthReport) report = NULL;

  options_copy (&options, PRISM_DOCKER_BACKEND (backend));
  report = prism_docker_probe (&options, prism_operation_get_deadline (operation),
                               prism_operation_get_cancellable (operation), &error);
  if (report != NULL)
    prism_probe_operation_complete (PRISM_PROBE_OPERATION (operation), report);
  else
    prism_operation_fail (operation, error);
}

static void
connect_again (gpointer backend, PrismOperation *operation)
{
  PrismCreateOperation *create_operation = PRISM_CREATE_OPERATION (operation);
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismSandbox) sandbox = prism_docker_sandbox_connect (
      prism_create_operation_get_reference (create_operation), prism_operation_get_deadline (operation),
      prism_operation_get_cancellable (operation), &error);

  if (sandbox != NULL)
    prism_create_operation_complete (create_operation, sandbox);
  else
    prism_operation_fail (operation, error);
}

static void
list (gpointer backend, PrismOperation *operation)
{
  g_auto (PrismDockerOptions) options = { 0 };
  g_autoptr (GError) error = NULL;
  g_auto (GStrv) references = NULL;

  options_copy (&options, PRISM_DOCKER_BACKEND (backend));
  references = prism_docker_sandboxes_list (&options, prism_operation_get_deadline (operation),
                                            prism_operation_get_cancellable (operation), &error);
  if (references != NULL)
    prism_list_operation_complete (PRISM_LIST_OPERATION (operation), (const char *const *)references);
  else
    prism_operation_fail (operation, error);
}

static void
reap (gpointer backend, PrismOperation *operation)
{
  g_auto (PrismDockerOptions) options = { 0 };
  g_autoptr (GError) error = NULL;
  gint removed;

  options_copy (&options, PRISM_DOCKER_BACKEND (backend));
  removed = prism_docker_leftovers_remove (&options, prism_operation_get_deadline (operation),
                                           prism_operation_get_cancellable (operation), &error);
  if (removed >= 0)
    prism_reap_operation_complete (PRISM_REAP_OPERATION (operation), (guint)removed);
  else
    prism_operation_fail (operation, error);
}

static const char *
prism_docker_backend_get_name (PrismBackend *backend)
{
  return "docker";
}

static void
prism_docker_backend_create_sandbox (PrismBackend *backend, PrismCreateOperation *operation)
{
  prism_operation_run_in_thread (PRISM_OPERATION (operation), create);
}

static void
prism_docker_backend_probe (PrismBackend *backend, PrismProbeOperation *operation)
{
  prism_operation_run_in_thread (PRISM_OPERATION (operation), probe);
}

static void
prism_docker_backend_connect_sandbox (PrismBackend *backend, PrismCreateOperation *operation)
{
  prism_operation_run_in_thread (PRISM_OPERATION (operation), connect_again);
}

static void
prism_docker_backend_list_sandboxes (PrismBackend *backend, PrismListOperation *operation)
{
  prism_operation_run_in_thread (PRISM_OPERATION (operation), list);
}

static void
prism_docker_backend_reap (PrismBackend *backend, PrismReapOperation *operation)
{
  prism_operation_run_in_thread (PRISM_OPERATION (operation), reap);
}

static void
prism_docker_backend_iface_init (PrismBackendInterface *iface)
{
  iface->get_name = prism_docker_backend_get_name;
  iface->probe = prism_docker_backend_probe;
  iface->create_sandbox = prism_docker_backend_create_sandbox;
  iface->connect_sandbox = prism_docker_backend_connect_sandbox;
  iface->list_sandboxes = prism_docker_backend_list_sandboxes;
  iface->reap = prism_docker_backend_reap;
}

static void
prism_docker_backend_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  PrismDockerBackend *self = PRISM_DOCKER_BACKEND (object);

  g_mutex_lock (&self->lock);
  if (id == PROP_SKILLS)
    g_value_set_boxed (value, self->options.layout.skills);
  else
    g_value_set_string (value, *slot (&self->options, id - PROP_FIRST));
  g_mutex_unlock (&self->lock);
}

static void
prism_docker_backend_set_property (GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  PrismDockerBackend *self = PRISM_DOCKER_BACKEND (object);

  g_mutex_lock (&self->lock);
  if (id == PROP_SKILLS)
    {
      g_strfreev (self->options.layout.skills);
      self->options.layout.skills = g_value_dup_boxed (value);
    }
  else
    {
      g_free (*slot (&self->options, id - PROP_FIRST));
      *slot (&self->options, id - PROP_FIRST) = g_value_dup_string (value);
    }
  g_mutex_unlock (&self->lock);
}

static void
prism_docker_backend_finalize (GObject *object)
{
  PrismDockerBackend *self = PRISM_DOCKER_BACKEND (object);

  options_clear (&self->options);
  g_mutex_clear (&self->lock);
  G_OBJECT_CLASS (prism_docker_backend_parent_class)->finalize (object);
}

static void
prism_docker_backend_class_init (PrismDockerBackendClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  const GParamFlags flags = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS;

  object_class->get_property = prism_docker_backend_get_property;
  object_class->set_property = prism_docker_backend_set_property;
  object_class->finalize = prism_docker_backend_finalize;
  for (guint i = 0; i < N_ROWS; i++)
    props[PROP_FIRST + i] = g_param_spec_string (rows[i].name, rows[i].nick, rows[i].blurb, NULL, flags);
  props[PROP_SKILLS] = g_param_spec_boxed (
      "skills", "Skills", "layout: ID=FOLDER each, seen read-only at /mnt/skills/ID", G_TYPE_STRV, flags);
  g_object_class_install_properties (object_class, N_PROPS, props);
}

static void
prism_docker_backend_init (PrismDockerBackend *self)
{
  g_mutex_init (&self->lock);
}
