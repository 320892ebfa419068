/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Shared by the files that hold PrismSandbox's methods. */
#pragma once

#include "prism-operations-private.h"
#include "prism-sandbox.h"

G_BEGIN_DECLS

/* The backend's name: what the messages of a sandbox's errors start with. */
char *sandbox_dup_origin (gpointer self);

#define SANDBOX_METHOD(method, flags, discard)                                                                         \
  PRISM_METHOD (prism_sandbox_get_type, PrismSandboxInterface, method, flags, &prism_sandbox_operation_errors,         \
                sandbox_dup_origin, discard)

/* An absolute path of @path, which may be relative to the workspace. NULL and
 * INVALID where it cannot be one. */
char *prism_sandbox_resolve (PrismSandbox *self, const char *path, GError **error);

/* As asked, with the path resolved. */
PrismOperation *prism_sandbox_new_file_operation (PrismSandbox *self, PrismFileRequest *request, GError **error);

/* INVALID with @message; FALSE. */
gboolean prism_sandbox_invalid (GError **error, const char *message);

/* Permission bits and nothing else: set-id bits are refused everywhere. */
gboolean prism_sandbox_check_mode (guint mode, GError **error);

G_END_DECLS
