/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What stands between a caller and a virtual method that takes an operation:
 * one synchronous and one asynchronous way to call it, with deadline,
 * cancellation, and the context that answers and signals arrive in. Every
 * public method of every interface is a thin wrapper around these. */
#pragma once

#include "prism-operation.h"

G_BEGIN_DECLS

/* Which errors the wrapper itself raises, in the domain of the interface's folder. */
typedef struct
{
  GQuark (*domain) (void);
  int failed;
  int timeout;
  int cancelled;
  int not_supported;
} PrismOperationErrors;

typedef enum
{
  PRISM_METHOD_NONE = 0,
  /* Cancelling ends the wait at once; the work is told, and not waited for. */
  PRISM_METHOD_CANCEL_ENDS_WAIT = 1 << 0,
  /* The work goes on though its caller cancelled: cleaning up is not optional. */
  PRISM_METHOD_KEEPS_WORKING = 1 << 1,
} PrismMethodFlags;

/* One virtual method of one interface. */
typedef struct
{
  const char *name;
  GType (*iface) (void); /* NULL: a method of the class itself */
  gsize vfunc;           /* offset in that structure of: void (*) (self, operation) */
  PrismMethodFlags flags;
  const PrismOperationErrors *errors;
  char *(*dup_origin) (gpointer self); /* what its errors' messages start with: the backend's name */
  void (*discard) (gpointer value);    /* (nullable): for an answer that nobody waits for any more */
} PrismMethod;

#define PRISM_OPERATION_DEADLINE_MS 30000
#define PRISM_OPERATION_NO_DEADLINE 0

/* What every interface's table of methods is made of. */
#define PRISM_METHOD(get_type, Interface, method, method_flags, method_errors, origin, discarder)                      \
  {                                                                                                                    \
    .name = #method, .iface = (get_type), .vfunc = G_STRUCT_OFFSET (Interface, method), .flags = (method_flags),       \
    .errors = (method_errors), .dup_origin = (origin), .discard = (discarder),                                         \
  }

/* Take @operation; what they return is what the implementation answered with.
 * Without one the call was refused before it began: `run` was given the reason in
 * *@error already, `start` hands @refusal on. A method is also its tasks' tag. */
gpointer prism_operation_run (PrismOperation *operation,
                              gpointer self,
                              const PrismMethod *method,
                              gint64 deadline_ms,
                              GCancellable *cancellable,
                              GError **error);
void prism_operation_start (PrismOperation *operation,
                            GError *refusal,
                            gpointer self,
                            const PrismMethod *method,
                            gint64 deadline_ms,
                            GCancellable *cancellable,
                            GAsyncReadyCallback callback,
                            gpointer user_data);
gpointer prism_operation_finish (gpointer self, GAsyncResult *result, const PrismMethod *method, GError **error);

/* The one answer of an implementation; takes @value, which is not NULL. */
void prism_operation_answer (PrismOperation *self, gpointer value, GDestroyNotify free_value);

/* Runs @func in the caller's context (synchronous calls: in the calling
 * thread), in the order of these calls and before the answer. Then, or when
 * nobody listens any more, @done runs with @done_data. @func is given @data. */
void prism_operation_emit (PrismOperation *self,
                           void (*func) (gpointer data),
                           gpointer data,
                           GDestroyNotify free_data,
                           GDestroyNotify done,
                           gpointer done_data);

/* As that: @source says of @about. Both are objects, held until then. */
void prism_operation_emit_about (PrismOperation *self,
                                 void (*func) (gpointer source, gpointer about),
                                 gpointer source,
                                 gpointer about);

/* As that: @source says how far it is, and the deadline starts anew: what moves is not late. */
void prism_operation_emit_progress (PrismOperation *self,
                                    void (*func) (gpointer source, guint64 entries, guint64 bytes, guint64 total_bytes),
                                    gpointer source,
                                    guint64 entries,
                                    guint64 bytes,
                                    guint64 total_bytes);

/* What cannot go on for a while is not late: no deadline while it is held; then it
 * starts anew. */
void prism_operation_hold_deadline (PrismOperation *self, gboolean hold);

/* Work that shows progress is not late: its deadline starts anew. */
void prism_operation_renew_deadline (PrismOperation *self);

/* The caller's own cancellable, or NULL: for an implementation that blocks in
 * a call that may_block and wants to poll one thing less. While it blocks,
 * nothing else triggers the operation's own cancellable. */
GCancellable *prism_operation_get_caller_cancellable (PrismOperation *self);

/* A thread that is not the application's: it takes none of its signals. */
GThread *prism_start_thread (const char *name, GThreadFunc func, gpointer data, GError **error);

G_END_DECLS
