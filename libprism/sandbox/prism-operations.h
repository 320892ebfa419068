/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-capabilities.h"
#include "prism-command.h"
#include "prism-egress-policy.h"
#include "prism-file-entry.h"
#include "prism-health-report.h"
#include "prism-operation.h"
#include "prism-result.h"
#include "prism-sandbox-spec.h"
#include "prism-tree-identity.h"

G_BEGIN_DECLS

/* The kinds of PrismOperation that backends, sandboxes and processes are
 * handed: what is asked, and the one way to answer it. Each is answered once,
 * from any thread, with its complete() or with prism_operation_fail(); a
 * second answer is ignored with a critical; one that is dropped, or that
 * passes its deadline, fails by itself. */

#define PRISM_TYPE_PROBE_OPERATION (prism_probe_operation_get_type ())
PRISM_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (PrismProbeOperation, prism_probe_operation, PRISM, PROBE_OPERATION, PrismOperation)

PRISM_AVAILABLE_IN_1_0
void prism_probe_operation_complete (PrismProbeOperation *self, PrismHealthReport *report);

/* create_sandbox (spec) and connect_sandbox (reference). */
#define PRISM_TYPE_CREATE_OPERATION (prism_create_operation_get_type ())
PRISM_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (PrismCreateOperation, prism_create_operation, PRISM, CREATE_OPERATION, PrismOperation)

PRISM_AVAILABLE_IN_1_0
PrismSandboxSpec *prism_create_operation_get_spec (PrismCreateOperation *self);
PRISM_AVAILABLE_IN_1_0
const char *prism_create_operation_get_reference (PrismCreateOperation *self);
/* Tells who shows a progress bar how far the workspace's copy is; total 0 = not known. Any thread. */
PRISM_AVAILABLE_IN_1_0
void prism_create_operation_progress (PrismCreateOperation *self,
                                      guint64 entries,
                                      guint64 bytes,
                                      guint64 total_bytes);
PRISM_AVAILABLE_IN_1_0
void prism_create_operation_complete (PrismCreateOperation *self, PrismSandbox *sandbox);

/* list_sandboxes: references, which connect_sandbox() and reap() take. */
#define PRISM_TYPE_LIST_OPERATION (prism_list_operation_get_type ())
PRISM_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (PrismListOperation, prism_list_operation, PRISM, LIST_OPERATION, PrismOperation)

PRISM_AVAILABLE_IN_1_0
void prism_list_operation_complete (PrismListOperation *self, const char *const *references);

/* reap: what dead hosts left behind; answers with how many were removed. */
#define PRISM_TYPE_REAP_OPERATION (prism_reap_operation_get_type ())
PRISM_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (PrismReapOperation, prism_reap_operation, PRISM, REAP_OPERATION, PrismOperation)

PRISM_AVAILABLE_IN_1_0
void prism_reap_operation_complete (PrismReapOperation *self, guint removed);

/* exec. Its deadline is the command's timeout plus grace; none if none was asked. */
#define PRISM_TYPE_EXEC_OPERATION (prism_exec_operation_get_type ())
PRISM_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (PrismExecOperation, prism_exec_operation, PRISM, EXEC_OPERATION, PrismOperation)

PRISM_AVAILABLE_IN_1_0
PrismCommand *prism_exec_operation_get_command (PrismExecOperation *self);
/* Emits the command's `output` in the caller's context; may be called from any thread. */
PRISM_AVAILABLE_IN_1_0
void prism_exec_operation_output (PrismExecOperation *self, PrismStream stream, GBytes *bytes);
/* The same; @done says that the handlers ran, or that nobody listens: read on then. */
PRISM_AVAILABLE_IN_1_0
void prism_exec_operation_output_full (
    PrismExecOperation *self, PrismStream stream, GBytes *bytes, GDestroyNotify done, gpointer done_data);
/* Whether anyone listens; if not, nothing needs to be handed on. */
PRISM_AVAILABLE_IN_1_0
gboolean prism_exec_operation_get_wants_output (PrismExecOperation *self);
PRISM_AVAILABLE_IN_1_0
void prism_exec_operation_complete (PrismExecOperation *self, PrismResult *result);

/* start_process (command) and attach_process (reference). */
#define PRISM_TYPE_PROCESS_OPERATION (prism_process_operation_get_type ())
PRISM_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (PrismProcessOperation, prism_process_operation, PRISM, PROCESS_OPERATION, PrismOperation)

PRISM_AVAILABLE_IN_1_0
PrismCommand *prism_process_operation_get_command (PrismProcessOperation *self);
PRISM_AVAILABLE_IN_1_0
const char *prism_process_operation_get_reference (PrismProcessOperation *self);
PRISM_AVAILABLE_IN_1_0
void prism_process_operation_complete (PrismProcessOperation *self, PrismProcess *process);

/* A process's wait(): no deadline of its own. */
#define PRISM_TYPE_WAIT_OPERATION (prism_wait_operation_get_type ())
PRISM_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (PrismWaitOperation, prism_wait_operation, PRISM, WAIT_OPERATION, PrismOperation)

PRISM_AVAILABLE_IN_1_0
void prism_wait_operation_complete (PrismWaitOperation *self, PrismResult *result);

/* read_file, write_file, list_files, stat_file, remove_file, rename_file,
 * make_directory and search: which getters mean something is said at each
 * method of PrismSandbox. */
#define PRISM_TYPE_FILE_OPERATION (prism_file_operation_get_type ())
PRISM_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (PrismFileOperation, prism_file_operation, PRISM, FILE_OPERATION, PrismOperation)

PRISM_AVAILABLE_IN_1_0
const char *prism_file_operation_get_path (PrismFileOperation *self);
PRISM_AVAILABLE_IN_1_0
const char *prism_file_operation_get_destination (PrismFileOperation *self);
PRISM_AVAILABLE_IN_1_0
GBytes *prism_file_operation_get_bytes (PrismFileOperation *self);
PRISM_AVAILABLE_IN_1_0
const char *prism_file_operation_get_query (PrismFileOperation *self);
PRISM_AVAILABLE_IN_1_0
gint64 prism_file_operation_get_offset (PrismFileOperation *self);
PRISM_AVAILABLE_IN_1_0
gint64 prism_file_operation_get_length (PrismFileOperation *self);
PRISM_AVAILABLE_IN_1_0
guint prism_file_operation_get_mode (PrismFileOperation *self);
PRISM_AVAILABLE_IN_1_0
PrismFileFlags prism_file_operation_get_flags (PrismFileOperation *self);
PRISM_AVAILABLE_IN_1_0
void prism_file_operation_complete (PrismFileOperation *self);
PRISM_AVAILABLE_IN_1_0
void prism_file_operation_complete_bytes (PrismFileOperation *self, GBytes *bytes);
PRISM_AVAILABLE_IN_1_0
void prism_file_operation_complete_entry (PrismFileOperation *self, PrismFileEntry *entry);
PRISM_AVAILABLE_IN_1_0
void prism_file_operation_complete_entries (PrismFileOperation *self, GListModel *entries);

/* import_tree (a host folder goes in) and export_tree (a tar goes out). */
#define PRISM_TYPE_TREE_OPERATION (prism_tree_operation_get_type ())
PRISM_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (PrismTreeOperation, prism_tree_operation, PRISM, TREE_OPERATION, PrismOperation)

PRISM_AVAILABLE_IN_1_0
const char *prism_tree_operation_get_path (PrismTreeOperation *self);
PRISM_AVAILABLE_IN_1_0
GFile *prism_tree_operation_get_folder (PrismTreeOperation *self);
PRISM_AVAILABLE_IN_1_0
GOutputStream *prism_tree_operation_get_stream (PrismTreeOperation *self);
/* Tells who shows a progress bar; total 0 = not known. Any thread. */
PRISM_AVAILABLE_IN_1_0
void prism_tree_operation_progress (PrismTreeOperation *self, guint64 entries, guint64 bytes, guint64 total_bytes);
PRISM_AVAILABLE_IN_1_0
void prism_tree_operation_complete (PrismTreeOperation *self, PrismTreeIdentity *identity);

/* pause, resume, stop, kill, close, set_network_policy; a process's send_signal, kill, resize, release. */
#define PRISM_TYPE_CONTROL_OPERATION (prism_control_operation_get_type ())
PRISM_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (PrismControlOperation, prism_control_operation, PRISM, CONTROL_OPERATION, PrismOperation)

PRISM_AVAILABLE_IN_1_0
int prism_control_operation_get_signal (PrismControlOperation *self);
PRISM_AVAILABLE_IN_1_0
gint64 prism_control_operation_get_grace_ms (PrismControlOperation *self);
PRISM_AVAILABLE_IN_1_0
guint prism_control_operation_get_columns (PrismControlOperation *self);
PRISM_AVAILABLE_IN_1_0
guint prism_control_operation_get_rows (PrismControlOperation *self);
PRISM_AVAILABLE_IN_1_0
PrismEgressPolicy *prism_control_operation_get_policy (PrismControlOperation *self);
PRISM_AVAILABLE_IN_1_0
void prism_control_operation_complete (PrismControlOperation *self);

G_END_DECLS
