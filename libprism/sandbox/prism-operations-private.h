/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How the wrappers make operations. */
#pragma once

#include "prism-operation-private.h"
#include "prism-operations.h"

G_BEGIN_DECLS

/* Which of its complete() methods answers a file operation: any other would hand
 * the caller an object of another type. */
typedef enum
{
  PRISM_FILE_ANSWER_DONE,
  PRISM_FILE_ANSWER_BYTES,
  PRISM_FILE_ANSWER_ENTRY,
  PRISM_FILE_ANSWER_ENTRIES,
} PrismFileAnswer;

/* What a search is held to; each 0 = not at all. */
typedef struct
{
  guint context; /* lines before and after a match */
  gint64 scan_bytes, file_bytes, line_bytes;
} PrismSearchBounds;

typedef struct
{
  PrismFileAnswer expects;
  const char *path, *destination, *query;
  GBytes *bytes;
  gint64 offset, length;
  guint mode;
  PrismFileFlags flags;
  PrismSearchBounds bounds;
} PrismFileRequest;

typedef struct
{
  int signal;
  gint64 grace_ms;
  guint columns, rows;
  PrismEgressPolicy *policy;
} PrismControlRequest;

PrismOperation *prism_probe_operation_new (void);
PrismOperation *prism_create_operation_new (PrismSandboxSpec *spec, const char *reference);
PrismOperation *prism_list_operation_new (void);
PrismOperation *prism_reap_operation_new (void);
PrismOperation *prism_exec_operation_new (PrismCommand *command);
PrismOperation *prism_process_operation_new (PrismCommand *command, const char *reference);
PrismOperation *prism_wait_operation_new (void);
PrismOperation *prism_file_operation_new (const PrismFileRequest *request);
const PrismSearchBounds *prism_file_operation_get_bounds (PrismFileOperation *self);
/* As prism_file_operation_complete(), with how many entries it was; what prism_sandbox_ask_file()
 * answers with is that number as a pointer, 1 where it is not known. */
void prism_file_operation_complete_counted (PrismFileOperation *self, guint64 entries);
PrismOperation *
prism_tree_operation_new (PrismSandbox *sandbox, const char *path, GFile *folder, GOutputStream *stream);
PrismOperation *prism_control_operation_new (const PrismControlRequest *request);

/* reap's answer is a count: it travels as count + 1. */
gint prism_reap_answer (gpointer value);

/* On the sandbox: shows how far a tree operation is. In the caller's context. */
void prism_backend_emit_workspace_progress (gpointer backend, guint64 entries, guint64 bytes, guint64 total_bytes);
void prism_sandbox_emit_tree_progress (gpointer self, guint64 entries, guint64 bytes, guint64 total_bytes);

/* Every kind is a final type whose fields are set by its constructor and freed
 * by its finalizer. */
#define PRISM_DEFINE_OPERATION(Type, type)                                                                             \
  G_DEFINE_FINAL_TYPE (Type, type, PRISM_TYPE_OPERATION)                                                               \
  static void type##_clear (Type *self);                                                                               \
  static void type##_finalize (GObject *object)                                                                        \
  {                                                                                                                    \
    type##_clear ((Type *)object);                                                                                     \
    G_OBJECT_CLASS (type##_parent_class)->finalize (object);                                                           \
  }                                                                                                                    \
  static void type##_class_init (Type##Class *klass)                                                                   \
  {                                                                                                                    \
    G_OBJECT_CLASS (klass)->finalize = type##_finalize;                                                                \
  }                                                                                                                    \
  static void type##_init (Type *self)                                                                                 \
  {                                                                                                                    \
  }

/* Answers with a reference of its own; with nothing but that it is done. */
void prism_operation_answer_object (gpointer self, gpointer object);
void prism_operation_answer_done (gpointer self);

G_END_DECLS
