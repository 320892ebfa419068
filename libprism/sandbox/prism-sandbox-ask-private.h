/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the library's own coding tools ask of a sandbox's files: the public methods, with
 * flags on each of them and with the bounds of a search. */
#pragma once

#include "prism-operations-private.h"
#include "prism-sandbox.h"

G_BEGIN_DECLS

typedef enum
{
  PRISM_FILE_METHOD_READ,
  PRISM_FILE_METHOD_WRITE,
  PRISM_FILE_METHOD_LIST,
  PRISM_FILE_METHOD_STAT,
  PRISM_FILE_METHOD_REMOVE,
  PRISM_FILE_METHOD_RENAME,
  PRISM_FILE_METHOD_MKDIR,
  PRISM_FILE_METHOD_SEARCH,
} PrismFileMethod;

/* The answer, of the type that the method has: GBytes, PrismFileEntry, GListModel, or just not
 * NULL (of REMOVE, how many entries: at least 1). @request needs no `expects`. */
gpointer prism_sandbox_ask_file (PrismSandbox *self,
                                 PrismFileMethod method,
                                 const PrismFileRequest *request,
                                 gint64 deadline_ms,
                                 GCancellable *cancellable,
                                 GError **error);

G_END_DECLS
