/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-operations.h"

G_BEGIN_DECLS

#define PRISM_TYPE_PROCESS (prism_process_get_type ())
PRISM_AVAILABLE_IN_1_0
G_DECLARE_INTERFACE (PrismProcess, prism_process, PRISM, PROCESS, GObject)

/**
 * PrismProcessInterface:
 * @send_signal: sends the operation's signal to the process and its group
 * @kill: ends it and all that it started, at once
 * @resize: (nullable): gives its terminal the operation's columns and rows
 * @release: lets go of it without ending it
 * @wait: answers with its result when it ended; when that is long ago, at once
 *
 * What an implementation gives. Properties to override: reference, stdin-stream
 * (GOutputStream), stdout-stream and stderr-stream (GInputStream; stderr is %NULL
 * with a terminal). The streams stay readable after its end, until they were read.
 *
 * Since: 1.0
 */
struct _PrismProcessInterface
{
  GTypeInterface parent_iface;

  void (*send_signal) (PrismProcess *self, PrismControlOperation *operation);
  void (*kill) (PrismProcess *self, PrismControlOperation *operation);
  void (*resize) (PrismProcess *self, PrismControlOperation *operation);
  void (*release) (PrismProcess *self, PrismControlOperation *operation);
  void (*wait) (PrismProcess *self, PrismWaitOperation *operation);

  /*< private >*/
  gpointer padding[8];
};

PRISM_AVAILABLE_IN_1_0
char *prism_process_dup_reference (PrismProcess *self);
PRISM_AVAILABLE_IN_1_0
GOutputStream *prism_process_get_stdin_stream (PrismProcess *self);
PRISM_AVAILABLE_IN_1_0
GInputStream *prism_process_get_stdout_stream (PrismProcess *self);
PRISM_AVAILABLE_IN_1_0
GInputStream *prism_process_get_stderr_stream (PrismProcess *self);

/* To the process and its group. */
PRISM_AVAILABLE_IN_1_0
gboolean prism_process_send_signal (PrismProcess *self, int signal_number, GCancellable *cancellable, GError **error);
PRISM_AVAILABLE_IN_1_0
void prism_process_send_signal_async (
    PrismProcess *self, int signal_number, GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data);
PRISM_AVAILABLE_IN_1_0
gboolean prism_process_send_signal_finish (PrismProcess *self, GAsyncResult *result, GError **error);

/* Its whole tree, at once. */
PRISM_AVAILABLE_IN_1_0
gboolean prism_process_kill (PrismProcess *self, GCancellable *cancellable, GError **error);
PRISM_AVAILABLE_IN_1_0
void prism_process_kill_async (PrismProcess *self,
                               GCancellable *cancellable,
                               GAsyncReadyCallback callback,
                               gpointer user_data);
PRISM_AVAILABLE_IN_1_0
gboolean prism_process_kill_finish (PrismProcess *self, GAsyncResult *result, GError **error);

PRISM_AVAILABLE_IN_1_0
gboolean
prism_process_resize (PrismProcess *self, guint columns, guint rows, GCancellable *cancellable, GError **error);
PRISM_AVAILABLE_IN_1_0
void prism_process_resize_async (PrismProcess *self,
                                 guint columns,
                                 guint rows,
                                 GCancellable *cancellable,
                                 GAsyncReadyCallback callback,
                                 gpointer user_data);
PRISM_AVAILABLE_IN_1_0
gboolean prism_process_resize_finish (PrismProcess *self, GAsyncResult *result, GError **error);

/* Lets go of it without ending it. */
PRISM_AVAILABLE_IN_1_0
gboolean prism_process_release (PrismProcess *self, GCancellable *cancellable, GError **error);
PRISM_AVAILABLE_IN_1_0
void prism_process_release_async (PrismProcess *self,
                                  GCancellable *cancellable,
                                  GAsyncReadyCallback callback,
                                  gpointer user_data);
PRISM_AVAILABLE_IN_1_0
gboolean prism_process_release_finish (PrismProcess *self, GAsyncResult *result, GError **error);

/* Cancelling ends the wait, not the process. */
PRISM_AVAILABLE_IN_1_0
PrismResult *prism_process_wait (PrismProcess *self, GCancellable *cancellable, GError **error);
PRISM_AVAILABLE_IN_1_0
void prism_process_wait_async (PrismProcess *self,
                               GCancellable *cancellable,
                               GAsyncReadyCallback callback,
                               gpointer user_data);
PRISM_AVAILABLE_IN_1_0
PrismResult *prism_process_wait_finish (PrismProcess *self, GAsyncResult *result, GError **error);

G_END_DECLS
