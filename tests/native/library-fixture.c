/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "library-fixture.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void
set_up (LibraryFixture *f, gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GFile) folder = NULL;

  f->folder = g_dir_make_tmp ("prism-library-XXXXXX", &error);
  g_assert_no_error (error);
  f->backend = prism_registry_create_backend (prism_registry_get_default (), "native", &error);
  g_assert_no_error (error);
  folder = g_file_new_for_path (f->folder);
  f->spec = prism_sandbox_spec_new (folder);
}

static void
tear_down (LibraryFixture *f, gconstpointer data)
{
  const char *const argv[] = { "rm", "-rf", "--", f->folder, NULL };

  g_assert_true (g_spawn_sync (NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL, NULL, NULL));
  g_object_unref (f->spec);
  g_object_unref (f->backend);
  g_free (f->folder);
}

void
library_add_test (const char *path, void (*test) (LibraryFixture *f, gconstpointer data))
{
  g_test_add (path, LibraryFixture, NULL, set_up, test, tear_down);
}

char *
library_path (LibraryFixture *f, const char *name)
{
  return g_build_filename (f->folder, name, NULL);
}

PrismResult *
library_result (PrismSandbox *sandbox, const char *script)
{
  g_autoptr (PrismCommand) command = prism_command_new_shell (script);
  g_autoptr (GError) error = NULL;
  PrismResult *result = prism_sandbox_exec (sandbox, command, NULL, &error);

  g_assert_no_error (error);
  return result;
}

PrismProcess *
library_start (PrismSandbox *sandbox, const char *script, gint64 timeout_ms)
{
  g_autoptr (PrismCommand) command = prism_command_new_shell (script);
  g_autoptr (GError) error = NULL;
  PrismProcess *process;

  prism_command_set_timeout_ms (command, timeout_ms);
  process = prism_sandbox_start_process (sandbox, command, NULL, &error);
  g_assert_no_error (error);
  return process;
}

void
library_expect (PrismProcess *process, const char *text)
{
  g_autoptr (GString) seen = g_string_new (NULL);

  while (strstr (seen->str, text) == NULL)
    {
      g_autoptr (GError) error = NULL;
      char byte;
      gssize n = g_input_stream_read (prism_process_get_stdout_stream (process), &byte, 1, NULL, &error);
      g_assert_no_error (error);
      g_assert_cmpint (n, ==, 1);
      g_string_append_c (seen, byte);
    }
}

PrismResult *
library_wait (PrismProcess *process)
{
  g_autoptr (GError) error = NULL;
  PrismResult *result = prism_process_wait (process, NULL, &error);

  g_assert_no_error (error);
  return result;
}

void
library_look_again (gint64 deadline)
{
  struct pollfd nothing = { -1, 0, 0 };

  g_assert_cmpint (g_get_monotonic_time (), <, deadline);
  poll (&nothing, 1, 5);
}
