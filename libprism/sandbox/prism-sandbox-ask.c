/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-sandbox-ask-private.h"

#include "prism-sandbox-error-private.h"
#include "prism-sandbox-private.h"

static const struct
{
  PrismMethod method;
  PrismFileAnswer expects;
} methods[] = {
  [PRISM_FILE_METHOD_READ] = { SANDBOX_METHOD (read_file, PRISM_METHOD_NONE, NULL), PRISM_FILE_ANSWER_BYTES },
  [PRISM_FILE_METHOD_WRITE] = { SANDBOX_METHOD (write_file, PRISM_METHOD_NONE, NULL), PRISM_FILE_ANSWER_DONE },
  [PRISM_FILE_METHOD_LIST] = { SANDBOX_METHOD (list_files, PRISM_METHOD_NONE, NULL), PRISM_FILE_ANSWER_ENTRIES },
  [PRISM_FILE_METHOD_STAT] = { SANDBOX_METHOD (stat_file, PRISM_METHOD_NONE, NULL), PRISM_FILE_ANSWER_ENTRY },
  [PRISM_FILE_METHOD_REMOVE] = { SANDBOX_METHOD (remove_file, PRISM_METHOD_NONE, NULL), PRISM_FILE_ANSWER_DONE },
  [PRISM_FILE_METHOD_RENAME] = { SANDBOX_METHOD (rename_file, PRISM_METHOD_NONE, NULL), PRISM_FILE_ANSWER_DONE },
  [PRISM_FILE_METHOD_MKDIR] = { SANDBOX_METHOD (make_directory, PRISM_METHOD_NONE, NULL), PRISM_FILE_ANSWER_DONE },
  [PRISM_FILE_METHOD_SEARCH] = { SANDBOX_METHOD (search, PRISM_METHOD_NONE, NULL), PRISM_FILE_ANSWER_BYTES },
};

gpointer
prism_sandbox_ask_file (PrismSandbox *self,
                        PrismFileMethod method,
                        const PrismFileRequest *request,
                        gint64 deadline_ms,
                        GCancellable *cancellable,
                        GError **error)
{
  PrismFileRequest resolved = *request;
  g_autofree char *destination = NULL;

  if (request->destination != NULL)
    {
      destination = prism_sandbox_resolve (self, request->destination, error);
      if (destination == NULL)
        return NULL;
      resolved.destination = destination;
    }
  resolved.expects = methods[method].expects;
  return prism_operation_run (prism_sandbox_new_file_operation (self, &resolved, error), self, &methods[method].method,
                              deadline_ms, cancellable, error);
}
