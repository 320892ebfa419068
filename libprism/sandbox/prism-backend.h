/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-sandbox.h"

G_BEGIN_DECLS

#define PRISM_TYPE_BACKEND (prism_backend_get_type ())
PRISM_AVAILABLE_IN_1_0
G_DECLARE_INTERFACE (PrismBackend, prism_backend, PRISM, BACKEND, GObject)

/* Options are the implementing type's own GObject properties. */
struct _PrismBackendInterface
{
  GTypeInterface parent_iface;

  const char *(*get_name) (PrismBackend *self);
  void (*probe) (PrismBackend *self, PrismProbeOperation *operation);
  void (*create_sandbox) (PrismBackend *self, PrismCreateOperation *operation);
  void (*connect_sandbox) (PrismBackend *self, PrismCreateOperation *operation);
  void (*list_sandboxes) (PrismBackend *self, PrismListOperation *operation);
  void (*reap) (PrismBackend *self, PrismReapOperation *operation);

  /*< private >*/
  gpointer padding[8];
};

PRISM_AVAILABLE_IN_1_0
const char *prism_backend_get_name (PrismBackend *self);

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
