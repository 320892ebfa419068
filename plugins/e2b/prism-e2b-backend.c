/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Options, and the operations that a backend answers. The key is looked for when it is
 * needed and is never given back: its property can be set only. */
#include "prism-e2b-backend.h"

#include <string.h>

#include "prism-e2b-probe.h"
#include "prism-e2b-reap.h"
#include "prism-e2b-sandbox.h"

struct _PrismE2bBackend
{
  GObject parent_instance;
  GMutex lock; /* for all of it */
  PrismE2bOptions options;
  PrismE2bClient *client; /* made by the first who needs it, for the options as they are then */
};

static void backend_init (PrismBackendInterface *iface);
G_DEFINE_FINAL_TYPE_WITH_CODE (PrismE2bBackend,
                               prism_e2b_backend,
                               G_TYPE_OBJECT,
                               G_IMPLEMENT_INTERFACE (PRISM_TYPE_BACKEND, backend_init))

/* --- properties: one row each ------------------------------------------------------------ */

typedef struct
{
  const char *name, *nick, *blurb;
  gsize offset; /* of a char * in the options */
  gboolean secret;
} Row;

#define AT(member) G_STRUCT_OFFSET (PrismE2bOptions, member)

static const Row rows[] = {
  { "api-key", "API key", "the account's key; by default E2B_API_KEY's, at the time it is used", AT (api_key), TRUE },
  { "domain", "Domain", "where the service is; by default E2B_DOMAIN's, or e2b.app", AT (domain), FALSE },
  { "api-url", "API URL", "of the control plane; by default https://api.DOMAIN", AT (api_url), FALSE },
  { "sandbox-url", "Sandbox URL", "of all sandboxes, where they are not below the domain", AT (sandbox_url), FALSE },
  { "template", "Template", "what sandboxes are made of; by default base", AT (template_name), FALSE },
  { "on-timeout", "On timeout",
    "what happens when a sandbox's time is over: kill (by default), or pause, and then it "
    "lives on and counts until it is killed",
    AT (on_timeout), FALSE },
  { "pause-kind", "Pause kind",
    "what a pause keeps: memory (by default), with which processes go on, or filesystem, with "
    "which they are gone and a resume starts the machine anew",
    AT (pause_kind), FALSE },
  { "user", "User", "who commands run as inside; by default the template's own user", AT (user), FALSE },
};

#define N_ROWS G_N_ELEMENTS (rows)

static GParamSpec *props[N_ROWS + 1];

static char **
slot (PrismE2bOptions *options, guint row)
{
  return G_STRUCT_MEMBER_P (options, rows[row].offset);
}

static void
options_clear (PrismE2bOptions *options)
{
  for (guint i = 0; i < N_ROWS; i++)
    g_clear_pointer (slot (options, i), g_free);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (PrismE2bOptions, options_clear)

static gboolean
check_options (const PrismE2bOptions *options, GError **error)
{
  if (options->on_timeout != NULL && strcmp (options->on_timeout, "kill") != 0
      && strcmp (options->on_timeout, "pause") != 0)
    g_set_error_literal (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_INVALID,
                         "on-timeout: kill or pause is wanted");
  else if (options->pause_kind != NULL && strcmp (options->pause_kind, "memory") != 0
           && strcmp (options->pause_kind, "filesystem") != 0)
    g_set_error_literal (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_INVALID,
                         "pause-kind: memory or filesystem is wanted");
  else if (options->user != NULL && strpbrk (options->user, ":\r\n") != NULL)
    g_set_error_literal (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_INVALID, "user: that is no user's name");
  else
    return TRUE;
  return FALSE;
}

/* A copy of the options and the client for them. */
static PrismE2bClient *
begin (PrismE2bBackend *self, PrismE2bOptions *options, GError **error)
{
  PrismE2bClient *client = NULL;

  g_mutex_lock (&self->lock);
  for (guint i = 0; i < N_ROWS; i++)
    *slot (options, i) = g_strdup (*slot (&self->options, i));
  if (check_options (options, error))
    {
      if (self->client == NULL)
        self->client = prism_e2b_client_new (options, error);
      client = self->client != NULL ? prism_e2b_client_ref (self->client) : NULL;
    }
  g_mutex_unlock (&self->lock);
  return client;
}

/* --- operations --------------------------------------------------------------------------- */

static void
create (gpointer backend, PrismOperation *operation)
{
  PrismCreateOperation *create_operation = PRISM_CREATE_OPERATION (operation);
  g_auto (PrismE2bOptions) options = { 0 };
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismE2bClient) client = begin (backend, &options, &error);
  g_autoptr (PrismSandbox) sandbox = NULL;

  if (client != NULL)
    sandbox = prism_e2b_sandbox_create (client, &options, create_operation, &error);
  if (sandbox != NULL)
    prism_create_operation_complete (create_operation, sandbox);
  else
    prism_operation_fail (operation, error);
}

static void
connect_again (gpointer backend, PrismOperation *operation)
{
  PrismCreateOperation *create_operation = PRISM_CREATE_OPERATION (operation);
  g_auto (PrismE2bOptions) options = { 0 };
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismE2bClient) client = begin (backend, &options, &error);
  g_autoptr (PrismSandbox) sandbox = NULL;

  if (client != NULL)
    sandbox = prism_e2b_sandbox_connect (client, &options, prism_create_operation_get_reference (create_operation),
                                         prism_operation_get_cancellable (operation), &error);
  if (sandbox != NULL)
    prism_create_operation_complete (create_operation, sandbox);
  else
    prism_operation_fail (operation, error);
}

static void
list (gpointer backend, PrismOperation *operation)
{
  g_auto (PrismE2bOptions) options = { 0 };
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismE2bClient) client = begin (backend, &options, &error);
  g_auto (GStrv) references = NULL;

  if (client != NULL)
    references = prism_e2b_sandboxes_list (client, prism_operation_get_cancellable (operation), &error);
  if (references != NULL)
    prism_list_operation_complete (PRISM_LIST_OPERATION (operation), (const char *const *)references);
  else
    prism_operation_fail (operation, error);
}

static void
reap (gpointer backend, PrismOperation *operation)
{
  g_auto (PrismE2bOptions) options = { 0 };
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismE2bClient) client = begin (backend, &options, &error);
  int removed = client != NULL ? prism_e2b_reap (client, prism_operation_get_cancellable (operation), &error) : -1;

  if (removed >= 0)
    prism_reap_operation_complete (PRISM_REAP_OPERATION (operation), (guint)removed);
  else
    prism_operation_fail (operation, error);
}

static void
probe (gpointer backend, PrismOperation *operation)
{
  g_auto (PrismE2bOptions) options = { 0 };
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismE2bClient) client = begin (backend, &options, &error);
  g_autoptr (PrismHealthReport) report = prism_health_report_new ("e2b");

  if (client != NULL)
    prism_e2b_probe (client, &options, operation, report);
  else
    prism_e2b_probe_without (error, report);
  prism_probe_operation_complete (PRISM_PROBE_OPERATION (operation), report);
}

static const char *
backend_get_name (PrismBackend *backend)
{
  return "e2b";
}

static gboolean
backend_is_remote (PrismBackend *backend)
{
  return TRUE;
}

static void
backend_create_sandbox (PrismBackend *backend, PrismCreateOperation *operation)
{
  prism_operation_run_in_thread (PRISM_OPERATION (operation), create);
}

static void
backend_connect_sandbox (PrismBackend *backend, PrismCreateOperation *operation)
{
  prism_operation_run_in_thread (PRISM_OPERATION (operation), connect_again);
}

static void
backend_list_sandboxes (PrismBackend *backend, PrismListOperation *operation)
{
  prism_operation_run_in_thread (PRISM_OPERATION (operation), list);
}

static void
backend_reap (PrismBackend *backend, PrismReapOperation *operation)
{
  prism_operation_run_in_thread (PRISM_OPERATION (operation), reap);
}

static void
backend_probe (PrismBackend *backend, PrismProbeOperation *operation)
{
  prism_operation_run_in_thread (PRISM_OPERATION (operation), probe);
}

static void
backend_init (PrismBackendInterface *iface)
{
  iface->get_name = backend_get_name;
  iface->probe = backend_probe;
  iface->create_sandbox = backend_create_sandbox;
  iface->connect_sandbox = backend_connect_sandbox;
  iface->list_sandboxes = backend_list_sandboxes;
  iface->reap = backend_reap;
  iface->is_remote = backend_is_remote;
}

/* --- the object --------------------------------------------------------------------------------- */

static void
prism_e2b_backend_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  PrismE2bBackend *self = PRISM_E2B_BACKEND (object);

  g_mutex_lock (&self->lock);
  g_value_set_string (value, *slot (&self->options, id - 1));
  g_mutex_unlock (&self->lock);
}

static void
prism_e2b_backend_set_property (GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  PrismE2bBackend *self = PRISM_E2B_BACKEND (object);

  g_mutex_lock (&self->lock);
  g_free (*slot (&self->options, id - 1));
  *slot (&self->options, id - 1) = g_value_dup_string (value);
  g_clear_pointer (&self->client, prism_e2b_client_unref);
  g_mutex_unlock (&self->lock);
}

static void
prism_e2b_backend_finalize (GObject *object)
{
  PrismE2bBackend *self = PRISM_E2B_BACKEND (object);

  options_clear (&self->options);
  g_clear_pointer (&self->client, prism_e2b_client_unref);
  g_mutex_clear (&self->lock);
  G_OBJECT_CLASS (prism_e2b_backend_parent_class)->finalize (object);
}

static void
prism_e2b_backend_class_init (PrismE2bBackendClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->get_property = prism_e2b_backend_get_property;
  object_class->set_property = prism_e2b_backend_set_property;
  object_class->finalize = prism_e2b_backend_finalize;
  for (guint i = 0; i < N_ROWS; i++)
    props[i + 1] =
        g_param_spec_string (rows[i].name, rows[i].nick, rows[i].blurb, NULL,
                             (rows[i].secret ? G_PARAM_WRITABLE : G_PARAM_READWRITE) | G_PARAM_STATIC_STRINGS);
  g_object_class_install_properties (object_class, N_ROWS + 1, props);
}

static void
prism_e2b_backend_init (PrismE2bBackend *self)
{
  g_mutex_init (&self->lock);
}
