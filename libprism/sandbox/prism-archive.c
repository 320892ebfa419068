/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Loads the archive module on first use and keeps it. It is looked for in the
 * library's own folder, or in PRISM_MODULES where the environment may be trusted
 * (a build tree); never by a name from outside. */
#include "prism-archive-private.h"
#include "prism-sandbox-error.h"

#include <errno.h>
#include <gmodule.h>
#include <pthread.h>
#include <signal.h>
#include <sys/auxv.h>

static const PrismArchiveModule *
load_module (GError **error)
{
  const char *folder = g_getenv ("PRISM_MODULES");
  g_autofree char *path = NULL;
  PrismArchiveModuleQuery query;
  GModule *module;
  if (folder == NULL || getauxval (AT_SECURE) != 0)
    folder = PRISM_MODULESDIR;
  path = g_build_filename (folder, "prism-archive.so", NULL);
  module = g_module_open (path, G_MODULE_BIND_LOCAL);
  if (module == NULL || !g_module_symbol (module, PRISM_ARCHIVE_MODULE_SYMBOL, (gpointer *)&query)
      || query ()->version != PRISM_ARCHIVE_MODULE_VERSION)
    {
      g_set_error (error, PRISM_TREE_ERROR, PRISM_TREE_ERROR_FAILED,
                   "cannot load %s, which trees in and out need: %s (is libprism installed whole?)", path,
                   module == NULL ? g_module_error () : "it belongs to another version");
      g_clear_pointer (&module, g_module_close);
      return NULL;
    }
  g_module_make_resident (module);
  return query ();
}

/* A failure is not remembered: it may be mended while the program runs. */
static const PrismArchiveModule *
get_module (GError **error)
{
  static GMutex lock;
  static const PrismArchiveModule *module = NULL;
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&lock);
  if (module == NULL)
    module = load_module (error);
  return module;
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

static PrismTreeIdentity *
identity (gboolean good, const PrismArchiveResult *result)
{
  return good ? prism_tree_identity_new (result->sha256, result->entries, result->bytes) : NULL;
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
  const PrismArchiveModule *module = get_module (error);
  PrismArchiveResult result = { 0 };
  PipeGuard guard;
  gboolean good;
  if (module == NULL)
    return NULL;
  pipe_guard_enter (&guard);
  good = module->export_tree (tree_fd, stream, &job, &result, error);
  pipe_guard_leave (&guard);
  return identity (good, &result);
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
  const PrismArchiveModule *module = get_module (error);
  PrismArchiveResult result = { 0 };
  PipeGuard guard;
  gboolean good;
  if (module == NULL)
    return NULL;
  pipe_guard_enter (&guard);
  good = module->import_tree (folder_fd, tree_fd, &job, &result, error);
  pipe_guard_leave (&guard);
  return identity (good, &result);
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
  const PrismArchiveModule *module = get_module (error);
  PrismArchiveResult result = { 0 };
  PipeGuard guard;
  gboolean good;
  if (module == NULL)
    return NULL;
  pipe_guard_enter (&guard);
  good = module->read_tar (tar_fd, tree_fd, &job, &result, error);
  pipe_guard_leave (&guard);
  return identity (good, &result);
}
