/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Hands trees to the archive module, which is loaded on first use. */
#include "prism-archive-private.h"
#include "prism-module-private.h"
#include "prism-sandbox-error.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>

static const PrismArchiveModule *
get_module (GError **error)
{
  static PrismModule module = { .file = "prism-archive.so",
                                .symbol = PRISM_ARCHIVE_MODULE_SYMBOL,
                                .version = PRISM_ARCHIVE_MODULE_VERSION,
                                .purpose = "trees in and out need",
                                .domain = prism_tree_error_quark,
                                .code = PRISM_TREE_ERROR_FAILED };

  return prism_module_get (&module, error);
}

/* The other end of a pipe may go at any time: an error, not the end of this process. */
typedef struct
{
  sigset_t before;
  gboolean was_pending;
} PipeGuard;

static void
pipe_guard_enter (PipeGuard *guard)
{
  sigset_t pipe, pending;
  sigemptyset (&pipe);
  sigaddset (&pipe, SIGPIPE);
  sigpending (&pending);
  guard->was_pending = sigismember (&pending, SIGPIPE) == 1;
  pthread_sigmask (SIG_BLOCK, &pipe, &guard->before);
}

static void
pipe_guard_leave (PipeGuard *guard)
{
  const struct timespec at_once = { 0, 0 };
  sigset_t pipe;
  sigemptyset (&pipe);
  sigaddset (&pipe, SIGPIPE);
  if (!guard->was_pending)
    while (sigtimedwait (&pipe, NULL, &at_once) < 0 && errno == EINTR)
      ;
  pthread_sigmask (SIG_SETMASK, &guard->before, NULL);
}

/* What the three entries share: the module, the guard, and the identity made of its answer. */
typedef enum
{
  EXPORT_TREE,
  IMPORT_TREE,
  READ_TAR,
} Entry;

static PrismTreeIdentity *
run_entry (Entry entry, int from_fd, int to_fd, GOutputStream *stream, const PrismArchiveJob *job, GError **error)
{
  const PrismArchiveModule *module = get_module (error);
  PrismArchiveResult result = { 0 };
  PipeGuard guard;
  gboolean good = FALSE;

  if (module == NULL)
    return NULL;
  pipe_guard_enter (&guard);
  switch (entry)
    {
    case EXPORT_TREE:
      good = module->export_tree (from_fd, stream, job, &result, error);
      break;
    case IMPORT_TREE:
      good = module->import_tree (from_fd, to_fd, job, &result, error);
      break;
    case READ_TAR:
      good = module->read_tar (from_fd, to_fd, job, &result, error);
      break;
    default:
      g_assert_not_reached ();
    }
  pipe_guard_leave (&guard);
  return good ? prism_tree_identity_new (result.sha256, result.entries, result.bytes) : NULL;
}

PrismTreeIdentity *
prism_archive_export (int tree_fd,
                      GOutputStream *stream,
                      const PrismArchiveLimits *limits,
                      PrismArchiveProgress progress,
                      gpointer user_data,
                      GCancellable *cancellable,
                      GError **error)
{
  const PrismArchiveJob job = { limits, progress, user_data, cancellable };
  return run_entry (EXPORT_TREE, tree_fd, -1, stream, &job, error);
}

PrismTreeIdentity *
prism_archive_import (int folder_fd,
                      int tree_fd,
                      const PrismArchiveLimits *limits,
                      PrismArchiveProgress progress,
                      gpointer user_data,
                      GCancellable *cancellable,
                      GError **error)
{
  const PrismArchiveJob job = { limits, progress, user_data, cancellable };
  return run_entry (IMPORT_TREE, folder_fd, tree_fd, NULL, &job, error);
}

PrismTreeIdentity *
prism_archive_read_tar (int tar_fd,
                        int tree_fd,
                        const PrismArchiveLimits *limits,
                        PrismArchiveProgress progress,
                        gpointer user_data,
                        GCancellable *cancellable,
                        GError **error)
{
  const PrismArchiveJob job = { limits, progress, user_data, cancellable };
  return run_entry (READ_TAR, tar_fd, tree_fd, NULL, &job, error);
}
