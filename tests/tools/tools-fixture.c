/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tools-fixture.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXCHANGE 2u /* RENAME_EXCHANGE */

static void
remove_tree (const char *path)
{
  const char *const argv[] = { "rm", "-rf", "--", path, NULL };

  g_assert_true (g_spawn_sync (NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL, NULL, NULL));
}

static void
make_sandbox (ToolsFixture *f, gint64 max_file_bytes)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismBackend) backend = prism_registry_create_backend (prism_registry_get_default (), "native", &error);
  g_autoptr (GFile) folder = g_file_new_for_path (f->folder);
  g_autoptr (PrismSandboxSpec) spec = prism_sandbox_spec_new (folder);

  g_assert_no_error (error);
  if (max_file_bytes > 0)
    g_assert_true (prism_limits_set (prism_sandbox_spec_get_limits (spec), "max-file-bytes", max_file_bytes, &error));
  f->sandbox = prism_backend_create_sandbox (backend, spec, NULL, &error);
  g_assert_no_error (error);
}

void
tools_set_up (ToolsFixture *f, gconstpointer sandboxed)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *secret = NULL;

  f->sandboxed = GPOINTER_TO_INT (sandboxed);
  f->base = g_dir_make_tmp ("prism-tools-XXXXXX", &error);
  g_assert_no_error (error);
  f->folder = g_build_filename (f->base, "work", NULL);
  f->outside = g_build_filename (f->base, "work-evil", NULL);
  g_assert_no_errno (g_mkdir (f->folder, 0755));
  g_assert_no_errno (g_mkdir (f->outside, 0755));
  secret = g_build_filename (f->outside, "secret", NULL);
  g_assert_true (g_file_set_contents (secret, "OUTSIDE\n", -1, NULL));
  f->composition = prism_composition_new (f->sandboxed ? PRISM_COMPOSITION_MODE_SANDBOX : PRISM_COMPOSITION_MODE_HOST);
  if (f->sandboxed)
    {
      make_sandbox (f, 0);
      prism_composition_set_sandbox (f->composition, f->sandbox);
      prism_composition_set_workspace (f->composition, f->folder);
    }
  else
    {
      g_autoptr (GFile) folder = g_file_new_for_path (f->folder);
      prism_composition_set_folder (f->composition, folder);
    }
}

void
tools_tear_down (ToolsFixture *f, gconstpointer sandboxed)
{
  g_autoptr (GError) error = NULL;

  g_object_unref (f->composition);
  if (f->sandbox != NULL)
    {
      prism_sandbox_close (f->sandbox, NULL, &error);
      g_assert_no_error (error);
      g_object_unref (f->sandbox);
    }
  remove_tree (f->base);
  g_free (f->base);
  g_free (f->folder);
  g_free (f->outside);
}

void
tools_add_test (const char *path, void (*test) (ToolsFixture *f, gconstpointer data))
{
  g_autofree char *host = g_strconcat (path, "/host", NULL);
  g_autofree char *native = g_strconcat (path, "/native", NULL);

  g_test_add (host, ToolsFixture, GINT_TO_POINTER (FALSE), tools_set_up, test, tools_tear_down);
  g_test_add (native, ToolsFixture, GINT_TO_POINTER (TRUE), tools_set_up, test, tools_tear_down);
}

void
tools_bind (ToolsFixture *f)
{
  g_autoptr (GError) error = NULL;

  prism_composition_bind (f->composition, NULL, &error);
  g_assert_no_error (error);
}

void
tools_limit_files (ToolsFixture *f, gint64 max_file_bytes)
{
  g_autoptr (GError) error = NULL;

  prism_sandbox_close (f->sandbox, NULL, &error);
  g_assert_no_error (error);
  g_clear_object (&f->sandbox);
  make_sandbox (f, max_file_bytes);
  prism_composition_set_sandbox (f->composition, f->sandbox);
}

PrismToolResult *
tools_call (ToolsFixture *f, const char *tool, const char *arguments)
{
  g_autoptr (PrismTool) its = prism_composition_find_tool (f->composition, tool);
  g_autoptr (PrismToolContext) context = prism_tool_context_new ("run", "session", "call");
  g_autoptr (GError) error = NULL;
  PrismToolResult *result;

  g_assert_nonnull (its);
  result = prism_tool_call (its, arguments, context, NULL, &error);
  g_assert_no_error (error);
  return result;
}

char *
tools_text (ToolsFixture *f, const char *tool, const char *arguments)
{
  g_autoptr (PrismToolResult) result = tools_call (f, tool, arguments);
  static const char *const codes[] = { "FAILED", "INVALID", "NOT_FOUND", "ESCAPE",    "DENIED",        "CONFLICT",
                                       "TYPE",   "LIMIT",   "TIMEOUT",   "CANCELLED", "NOT_SUPPORTED", "COMPOSITION" };

  if (!prism_tool_result_get_failed (result))
    return prism_tool_result_dup_text (result);
  return g_strdup_printf ("%s: %s", codes[prism_tool_result_get_code (result)], prism_tool_result_get_message (result));
}

void
tools_put (ToolsFixture *f, const char *name, const char *bytes, gssize size)
{
  g_autofree char *path = g_build_filename (f->folder, name, NULL);
  g_autofree char *folder = g_path_get_dirname (path);
  g_autoptr (GError) error = NULL;

  g_assert_no_errno (g_mkdir_with_parents (folder, 0755));
  g_file_set_contents (path, bytes, size, &error);
  g_assert_no_error (error);
}

void
tools_link (ToolsFixture *f, const char *name, const char *target)
{
  g_autofree char *path = g_build_filename (f->folder, name, NULL);

  g_assert_no_errno (symlink (target, path));
}

char *
tools_get (ToolsFixture *f, const char *name, gsize *size)
{
  g_autofree char *path = g_build_filename (f->folder, name, NULL);
  char *bytes = NULL;

  return g_file_get_contents (path, &bytes, size, NULL) ? bytes : NULL;
}

/* --- two names that change places --------------------------------------------------------- */

void
tools_swapper_init (ToolsSwapper *self, ToolsFixture *f, const char *one, const char *other)
{
  *self = (ToolsSwapper){ .one = g_build_filename (f->folder, one, NULL),
                          .other = g_build_filename (f->folder, other, NULL) };
}

void
tools_swapper_swap (ToolsSwapper *self)
{
  g_assert_no_errno ((int)syscall (SYS_renameat2, AT_FDCWD, self->one, AT_FDCWD, self->other, EXCHANGE));
}

static gpointer
swap (gpointer data)
{
  ToolsSwapper *self = data;

  while (!g_atomic_int_get (&self->stop))
    {
      tools_swapper_swap (self);
      self->swaps++;
    }
  return NULL;
}

void
tools_swapper_begin (ToolsSwapper *self)
{
  self->thread = g_thread_new ("swap", swap, self);
}

void
tools_swapper_end (ToolsSwapper *self)
{
  g_atomic_int_set (&self->stop, TRUE);
  g_thread_join (g_steal_pointer (&self->thread));
}

void
tools_swapper_clear (ToolsSwapper *self)
{
  g_free (self->one);
  g_free (self->other);
}
