/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-operations.h"
#include "prism-process.h"
#include "prism-sandbox-error.h"

G_BEGIN_DECLS

#define PRISM_TYPE_SANDBOX (prism_sandbox_get_type ())
PRISM_AVAILABLE_IN_1_0
G_DECLARE_INTERFACE (PrismSandbox, prism_sandbox, PRISM, SANDBOX, GObject)

/**
 * PrismSandboxInterface:
 * @exec: runs the operation's command to its end, handing on its output with
 *   prism_exec_operation_output_full(); answers with a result for every command
 *   that started, else fails: NOT_FOUND, NOT_EXECUTABLE, LIMIT, STATE, LOST, and
 *   INVALID for what prism_sandbox_spec_check_command() refuses. Cancelled or out
 *   of time, its whole process tree is ended
 * @start_process: starts the operation's command and answers with the process
 * @attach_process: answers with the process that the operation's reference names,
 *   and never with another one
 * @read_file: path, offset, length; complete_bytes(). More than the limit
 *   max-file-bytes is LIMIT
 * @write_file: path, bytes, mode, flags (PARENTS); complete(). By a temporary
 *   file and rename
 * @list_files: path, flags (RECURSIVE, HIDDEN); complete_entries(), sorted by path; a
 *   folder that cannot be read is told as unreadable, and never just left out
 * @stat_file: path; complete_entry(), of a link itself
 * @remove_file: path, flags (RECURSIVE); complete()
 * @rename_file: path, destination, flags (OVERWRITE); complete()
 * @make_directory: path, mode, flags (PARENTS); complete()
 * @search: path, query, flags (IGNORE_CASE, HIDDEN), length (most matches);
 *   complete_bytes() with lines PATH NUL LINE-NUMBER NUL COLUMN NUL TEXT LF; a line with
 *   the number 0 names what could not be read, and its text says why
 * @import_tree: folder, path; tells progress, answers with the tree's identity
 * @export_tree: path, stream; tells progress, answers with the tree's identity
 * @set_network_policy: takes over the operation's policy, from the next connection on, and
 *   cuts those that it no longer allows; NOT_SUPPORTED where the sandbox has no proxy
 * @pause: freezes every process; running becomes stopped
 * @resume: thaws them
 * @stop: ends every process within grace_ms (-1: the limit stop-grace-ms)
 * @kill: ends every process at once
 * @close: ends the sandbox and removes all of it, within the limit
 *   cleanup-deadline-ms; called any number of times, from any state
 *
 * What an implementation gives. Properties to override: id, backend-name, status,
 * workspace (path inside), capabilities, reference. Arguments were checked, paths
 * are absolute, commands and specifications frozen; whether the sandbox is in a
 * state that allows it is for the implementation to say (STATE, naming it). A
 * method that is %NULL answers NOT_SUPPORTED. Messages need no backend's name in
 * front: it is put there.
 *
 * Since: 1.0
 */
struct _PrismSandboxInterface
{
  GTypeInterface parent_iface;

  void (*exec) (PrismSandbox *self, PrismExecOperation *operation);
  void (*start_process) (PrismSandbox *self, PrismProcessOperation *operation);
  void (*attach_process) (PrismSandbox *self, PrismProcessOperation *operation);
  void (*read_file) (PrismSandbox *self, PrismFileOperation *operation);
  void (*write_file) (PrismSandbox *self, PrismFileOperation *operation);
  void (*list_files) (PrismSandbox *self, PrismFileOperation *operation);
  void (*stat_file) (PrismSandbox *self, PrismFileOperation *operation);
  void (*remove_file) (PrismSandbox *self, PrismFileOperation *operation);
  void (*rename_file) (PrismSandbox *self, PrismFileOperation *operation);
  void (*make_directory) (PrismSandbox *self, PrismFileOperation *operation);
  void (*search) (PrismSandbox *self, PrismFileOperation *operation);
  void (*import_tree) (PrismSandbox *self, PrismTreeOperation *operation);
  void (*export_tree) (PrismSandbox *self, PrismTreeOperation *operation);
  void (*set_network_policy) (PrismSandbox *self, PrismControlOperation *operation);
  void (*pause) (PrismSandbox *self, PrismControlOperation *operation);
  void (*resume) (PrismSandbox *self, PrismControlOperation *operation);
  void (*stop) (PrismSandbox *self, PrismControlOperation *operation);
  void (*kill) (PrismSandbox *self, PrismControlOperation *operation);
  void (*close) (PrismSandbox *self, PrismControlOperation *operation);

  /*< private >*/
  gpointer padding[8];
};

PRISM_AVAILABLE_IN_1_0
char *prism_sandbox_dup_id (PrismSandbox *self);
PRISM_AVAILABLE_IN_1_0
char *prism_sandbox_dup_backend_name (PrismSandbox *self);
PRISM_AVAILABLE_IN_1_0
PrismSandboxStatus prism_sandbox_get_status (PrismSandbox *self);
PRISM_AVAILABLE_IN_1_0
char *prism_sandbox_dup_workspace (PrismSandbox *self);
PRISM_AVAILABLE_IN_1_0
PrismCapabilities *prism_sandbox_dup_capabilities (PrismSandbox *self);
PRISM_AVAILABLE_IN_1_0
char *prism_sandbox_dup_reference (PrismSandbox *self);

PRISM_AVAILABLE_IN_1_0
PrismResult *prism_sandbox_exec (PrismSandbox *self, PrismCommand *command, GCancellable *cancellable, GError **error);
PRISM_AVAILABLE_IN_1_0
void prism_sandbox_exec_async (PrismSandbox *self,
                               PrismCommand *command,
                               GCancellable *cancellable,
                               GAsyncReadyCallback callback,
                               gpointer user_data);
PRISM_AVAILABLE_IN_1_0
PrismResult *prism_sandbox_exec_finish (PrismSandbox *self, GAsyncResult *result, GError **error);

PRISM_AVAILABLE_IN_1_0
PrismProcess *
prism_sandbox_start_process (PrismSandbox *self, PrismCommand *command, GCancellable *cancellable, GError **error);
PRISM_AVAILABLE_IN_1_0
void prism_sandbox_start_process_async (PrismSandbox *self,
                                        PrismCommand *command,
                                        GCancellable *cancellable,
                                        GAsyncReadyCallback callback,
                                        gpointer user_data);
PRISM_AVAILABLE_IN_1_0
PrismProcess *prism_sandbox_start_process_finish (PrismSandbox *self, GAsyncResult *result, GError **error);

PRISM_AVAILABLE_IN_1_0
PrismProcess *
prism_sandbox_attach_process (PrismSandbox *self, const char *reference, GCancellable *cancellable, GError **error);
PRISM_AVAILABLE_IN_1_0
void prism_sandbox_attach_process_async (PrismSandbox *self,
                                         const char *reference,
                                         GCancellable *cancellable,
                                         GAsyncReadyCallback callback,
                                         gpointer user_data);
PRISM_AVAILABLE_IN_1_0
PrismProcess *prism_sandbox_attach_process_finish (PrismSandbox *self, GAsyncResult *result, GError **error);

/* length -1: to the end, at most the sandbox's file cap (64 MiB); longer is LIMIT, never a short answer. */
PRISM_AVAILABLE_IN_1_0
GBytes *prism_sandbox_read_file (
    PrismSandbox *self, const char *path, gint64 offset, gint64 length, GCancellable *cancellable, GError **error);
PRISM_AVAILABLE_IN_1_0
void prism_sandbox_read_file_async (PrismSandbox *self,
                                    const char *path,
                                    gint64 offset,
                                    gint64 length,
                                    GCancellable *cancellable,
                                    GAsyncReadyCallback callback,
                                    gpointer user_data);
PRISM_AVAILABLE_IN_1_0
GBytes *prism_sandbox_read_file_finish (PrismSandbox *self, GAsyncResult *result, GError **error);

/* By temporary file and rename; mode 0 keeps an existing file's mode, else 0644. */
PRISM_AVAILABLE_IN_1_0
gboolean prism_sandbox_write_file (PrismSandbox *self,
                                   const char *path,
                                   GBytes *bytes,
                                   guint mode,
                                   PrismFileFlags flags,
                                   GCancellable *cancellable,
                                   GError **error);
PRISM_AVAILABLE_IN_1_0
void prism_sandbox_write_file_async (PrismSandbox *self,
                                     const char *path,
                                     GBytes *bytes,
                                     guint mode,
                                     PrismFileFlags flags,
                                     GCancellable *cancellable,
                                     GAsyncReadyCallback callback,
                                     gpointer user_data);
PRISM_AVAILABLE_IN_1_0
gboolean prism_sandbox_write_file_finish (PrismSandbox *self, GAsyncResult *result, GError **error);

/* Entries of a folder, sorted by name; RECURSIVE: of the tree, never through a symlink. */
PRISM_AVAILABLE_IN_1_0
GListModel *prism_sandbox_list_files (
    PrismSandbox *self, const char *path, PrismFileFlags flags, GCancellable *cancellable, GError **error);
PRISM_AVAILABLE_IN_1_0
void prism_sandbox_list_files_async (PrismSandbox *self,
                                     const char *path,
                                     PrismFileFlags flags,
                                     GCancellable *cancellable,
                                     GAsyncReadyCallback callback,
                                     gpointer user_data);
PRISM_AVAILABLE_IN_1_0
GListModel *prism_sandbox_list_files_finish (PrismSandbox *self, GAsyncResult *result, GError **error);

/* Of the link itself. */
PRISM_AVAILABLE_IN_1_0
PrismFileEntry *
prism_sandbox_stat_file (PrismSandbox *self, const char *path, GCancellable *cancellable, GError **error);
PRISM_AVAILABLE_IN_1_0
void prism_sandbox_stat_file_async (
    PrismSandbox *self, const char *path, GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data);
PRISM_AVAILABLE_IN_1_0
PrismFileEntry *prism_sandbox_stat_file_finish (PrismSandbox *self, GAsyncResult *result, GError **error);

PRISM_AVAILABLE_IN_1_0
gboolean prism_sandbox_remove_file (
    PrismSandbox *self, const char *path, PrismFileFlags flags, GCancellable *cancellable, GError **error);
PRISM_AVAILABLE_IN_1_0
void prism_sandbox_remove_file_async (PrismSandbox *self,
                                      const char *path,
                                      PrismFileFlags flags,
                                      GCancellable *cancellable,
                                      GAsyncReadyCallback callback,
                                      gpointer user_data);
PRISM_AVAILABLE_IN_1_0
gboolean prism_sandbox_remove_file_finish (PrismSandbox *self, GAsyncResult *result, GError **error);

PRISM_AVAILABLE_IN_1_0
gboolean prism_sandbox_rename_file (PrismSandbox *self,
                                    const char *path,
                                    const char *destination,
                                    PrismFileFlags flags,
                                    GCancellable *cancellable,
                                    GError **error);
PRISM_AVAILABLE_IN_1_0
void prism_sandbox_rename_file_async (PrismSandbox *self,
                                      const char *path,
                                      const char *destination,
                                      PrismFileFlags flags,
                                      GCancellable *cancellable,
                                      GAsyncReadyCallback callback,
                                      gpointer user_data);
PRISM_AVAILABLE_IN_1_0
gboolean prism_sandbox_rename_file_finish (PrismSandbox *self, GAsyncResult *result, GError **error);

PRISM_AVAILABLE_IN_1_0
gboolean prism_sandbox_make_directory (
    PrismSandbox *self, const char *path, guint mode, PrismFileFlags flags, GCancellable *cancellable, GError **error);
PRISM_AVAILABLE_IN_1_0
void prism_sandbox_make_directory_async (PrismSandbox *self,
                                         const char *path,
                                         guint mode,
                                         PrismFileFlags flags,
                                         GCancellable *cancellable,
                                         GAsyncReadyCallback callback,
                                         gpointer user_data);
PRISM_AVAILABLE_IN_1_0
gboolean prism_sandbox_make_directory_finish (PrismSandbox *self, GAsyncResult *result, GError **error);

/* Literal. Answers with lines PATH NUL LINE-NUMBER NUL COLUMN NUL TEXT LF; line 0: PATH was
 * not searched, TEXT says why. */
PRISM_AVAILABLE_IN_1_0
GBytes *prism_sandbox_search (PrismSandbox *self,
                              const char *path,
                              const char *query,
                              PrismFileFlags flags,
                              gint64 max_matches,
                              GCancellable *cancellable,
                              GError **error);
PRISM_AVAILABLE_IN_1_0
void prism_sandbox_search_async (PrismSandbox *self,
                                 const char *path,
                                 const char *query,
                                 PrismFileFlags flags,
                                 gint64 max_matches,
                                 GCancellable *cancellable,
                                 GAsyncReadyCallback callback,
                                 gpointer user_data);
PRISM_AVAILABLE_IN_1_0
GBytes *prism_sandbox_search_finish (PrismSandbox *self, GAsyncResult *result, GError **error);

/* A host folder goes into @path. */
PRISM_AVAILABLE_IN_1_0
PrismTreeIdentity *prism_sandbox_import_tree (
    PrismSandbox *self, GFile *folder, const char *path, GCancellable *cancellable, GError **error);
PRISM_AVAILABLE_IN_1_0
void prism_sandbox_import_tree_async (PrismSandbox *self,
                                      GFile *folder,
                                      const char *path,
                                      GCancellable *cancellable,
                                      GAsyncReadyCallback callback,
                                      gpointer user_data);
PRISM_AVAILABLE_IN_1_0
PrismTreeIdentity *prism_sandbox_import_tree_finish (PrismSandbox *self, GAsyncResult *result, GError **error);

/* @path comes out as a pax tar; @stream is written in full or the error says it was not. */
PRISM_AVAILABLE_IN_1_0
PrismTreeIdentity *prism_sandbox_export_tree (
    PrismSandbox *self, const char *path, GOutputStream *stream, GCancellable *cancellable, GError **error);
PRISM_AVAILABLE_IN_1_0
void prism_sandbox_export_tree_async (PrismSandbox *self,
                                      const char *path,
                                      GOutputStream *stream,
                                      GCancellable *cancellable,
                                      GAsyncReadyCallback callback,
                                      gpointer user_data);
PRISM_AVAILABLE_IN_1_0
PrismTreeIdentity *prism_sandbox_export_tree_finish (PrismSandbox *self, GAsyncResult *result, GError **error);

/* Live: what it no longer allows is cut. */
PRISM_AVAILABLE_IN_1_0
gboolean prism_sandbox_set_network_policy (PrismSandbox *self,
                                           PrismEgressPolicy *policy,
                                           GCancellable *cancellable,
                                           GError **error);
PRISM_AVAILABLE_IN_1_0
void prism_sandbox_set_network_policy_async (PrismSandbox *self,
                                             PrismEgressPolicy *policy,
                                             GCancellable *cancellable,
                                             GAsyncReadyCallback callback,
                                             gpointer user_data);
PRISM_AVAILABLE_IN_1_0
gboolean prism_sandbox_set_network_policy_finish (PrismSandbox *self, GAsyncResult *result, GError **error);

PRISM_AVAILABLE_IN_1_0
gboolean prism_sandbox_pause (PrismSandbox *self, GCancellable *cancellable, GError **error);
PRISM_AVAILABLE_IN_1_0
void prism_sandbox_pause_async (PrismSandbox *self,
                                GCancellable *cancellable,
                                GAsyncReadyCallback callback,
                                gpointer user_data);
PRISM_AVAILABLE_IN_1_0
gboolean prism_sandbox_pause_finish (PrismSandbox *self, GAsyncResult *result, GError **error);

PRISM_AVAILABLE_IN_1_0
gboolean prism_sandbox_resume (PrismSandbox *self, GCancellable *cancellable, GError **error);
PRISM_AVAILABLE_IN_1_0
void prism_sandbox_resume_async (PrismSandbox *self,
                                 GCancellable *cancellable,
                                 GAsyncReadyCallback callback,
                                 gpointer user_data);
PRISM_AVAILABLE_IN_1_0
gboolean prism_sandbox_resume_finish (PrismSandbox *self, GAsyncResult *result, GError **error);

PRISM_AVAILABLE_IN_1_0
gboolean prism_sandbox_kill (PrismSandbox *self, GCancellable *cancellable, GError **error);
PRISM_AVAILABLE_IN_1_0
void prism_sandbox_kill_async (PrismSandbox *self,
                               GCancellable *cancellable,
                               GAsyncReadyCallback callback,
                               gpointer user_data);
PRISM_AVAILABLE_IN_1_0
gboolean prism_sandbox_kill_finish (PrismSandbox *self, GAsyncResult *result, GError **error);

PRISM_AVAILABLE_IN_1_0
gboolean prism_sandbox_close (PrismSandbox *self, GCancellable *cancellable, GError **error);
PRISM_AVAILABLE_IN_1_0
void prism_sandbox_close_async (PrismSandbox *self,
                                GCancellable *cancellable,
                                GAsyncReadyCallback callback,
                                gpointer user_data);
PRISM_AVAILABLE_IN_1_0
gboolean prism_sandbox_close_finish (PrismSandbox *self, GAsyncResult *result, GError **error);

PRISM_AVAILABLE_IN_1_0
gboolean prism_sandbox_stop (PrismSandbox *self, gint64 grace_ms, GCancellable *cancellable, GError **error);
PRISM_AVAILABLE_IN_1_0
void prism_sandbox_stop_async (
    PrismSandbox *self, gint64 grace_ms, GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data);
PRISM_AVAILABLE_IN_1_0
gboolean prism_sandbox_stop_finish (PrismSandbox *self, GAsyncResult *result, GError **error);

G_END_DECLS
