/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-sandbox.h"

G_BEGIN_DECLS

#define PRISM_TYPE_BACKEND (prism_backend_get_type ())
PRISM_AVAILABLE_IN_1_0
G_DECLARE_INTERFACE (PrismBackend, prism_backend, PRISM, BACKEND, GObject)

/**
 * PrismBackendInterface:
 * @get_name: the name that it has in the registry
 * @probe: finds out what it can enforce here, by doing it; takes no longer than
 *   the operation's deadline, and says inconclusive of what did not answer
 * @create_sandbox: makes a running sandbox of the operation's spec, which was
 *   checked and is frozen. Refuses what it cannot enforce, all of it in one error
 *   and before any side effect; prism_capabilities_check_required() is the last
 *   word before it answers. What fails leaves nothing behind
 * @connect_sandbox: (nullable): connects to the sandbox that the operation's
 *   reference names, after attesting that it is that one
 * @list_sandboxes: (nullable): references of all that there are
 * @reap: (nullable): removes what dead hosts left behind
 * @prepare: (nullable): begins what every sandbox of this backend needs, where that
 *   saves time, and returns at once. What was begun ends with the backend, and by
 *   itself where no sandbox is asked for
 * @is_remote: (nullable): whether its sandboxes run on another machine; %FALSE where it is
 *   left out. Called often: no input or output
 *
 * What an implementation gives. Its options are the implementing type's own
 * GObject properties; numbers among them accept every gint64 and have their
 * bounds attached with prism_param_spec_set_bounds().
 *
 * Since: 1.0
 */
struct _PrismBackendInterface
{
  GTypeInterface parent_iface;

  const char *(*get_name) (PrismBackend *self);
  void (*probe) (PrismBackend *self, PrismProbeOperation *operation);
  void (*create_sandbox) (PrismBackend *self, PrismCreateOperation *operation);
  void (*connect_sandbox) (PrismBackend *self, PrismCreateOperation *operation);
  void (*list_sandboxes) (PrismBackend *self, PrismListOperation *operation);
  void (*reap) (PrismBackend *self, PrismReapOperation *operation);
  void (*prepare) (PrismBackend *self);
  gboolean (*is_remote) (PrismBackend *self);

  /*< private >*/
  gpointer padding[6];
};

PRISM_AVAILABLE_IN_1_0
const char *prism_backend_get_name (PrismBackend *self);

PRISM_AVAILABLE_IN_1_0
void prism_backend_prepare (PrismBackend *self);
/* On another machine: a folder of this one can be copied there, and not be shown. */
PRISM_AVAILABLE_IN_1_0
gboolean prism_backend_is_remote (PrismBackend *self);

PRISM_AVAILABLE_IN_1_0
PrismHealthReport *prism_backend_probe (PrismBackend *self, GCancellable *cancellable, GError **error);
PRISM_AVAILABLE_IN_1_0
void prism_backend_probe_async (PrismBackend *self,
                                GCancellable *cancellable,
                                GAsyncReadyCallback callback,
                                gpointer user_data);
PRISM_AVAILABLE_IN_1_0
PrismHealthReport *prism_backend_probe_finish (PrismBackend *self, GAsyncResult *result, GError **error);

PRISM_AVAILABLE_IN_1_0
PrismSandbox *
prism_backend_create_sandbox (PrismBackend *self, PrismSandboxSpec *spec, GCancellable *cancellable, GError **error);
PRISM_AVAILABLE_IN_1_0
void prism_backend_create_sandbox_async (PrismBackend *self,
                                         PrismSandboxSpec *spec,
                                         GCancellable *cancellable,
                                         GAsyncReadyCallback callback,
                                         gpointer user_data);
PRISM_AVAILABLE_IN_1_0
PrismSandbox *prism_backend_create_sandbox_finish (PrismBackend *self, GAsyncResult *result, GError **error);

PRISM_AVAILABLE_IN_1_0
PrismSandbox *
prism_backend_connect_sandbox (PrismBackend *self, const char *reference, GCancellable *cancellable, GError **error);
PRISM_AVAILABLE_IN_1_0
void prism_backend_connect_sandbox_async (PrismBackend *self,
                                          const char *reference,
                                          GCancellable *cancellable,
                                          GAsyncReadyCallback callback,
                                          gpointer user_data);
PRISM_AVAILABLE_IN_1_0
PrismSandbox *prism_backend_connect_sandbox_finish (PrismBackend *self, GAsyncResult *result, GError **error);

PRISM_AVAILABLE_IN_1_0
char **prism_backend_list_sandboxes (PrismBackend *self, GCancellable *cancellable, GError **error);
PRISM_AVAILABLE_IN_1_0
void prism_backend_list_sandboxes_async (PrismBackend *self,
                                         GCancellable *cancellable,
                                         GAsyncReadyCallback callback,
                                         gpointer user_data);
PRISM_AVAILABLE_IN_1_0
char **prism_backend_list_sandboxes_finish (PrismBackend *self, GAsyncResult *result, GError **error);

/* How many leftovers of dead hosts were removed; -1 on error. */
PRISM_AVAILABLE_IN_1_0
gint prism_backend_reap (PrismBackend *self, GCancellable *cancellable, GError **error);
PRISM_AVAILABLE_IN_1_0
void prism_backend_reap_async (PrismBackend *self,
                               GCancellable *cancellable,
                               GAsyncReadyCallback callback,
                               gpointer user_data);
PRISM_AVAILABLE_IN_1_0
gint prism_backend_reap_finish (PrismBackend *self, GAsyncResult *result, GError **error);

G_END_DECLS
