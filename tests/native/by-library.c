/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "by-library.h"

PrismSandbox *
library_create (PrismBackend *backend, PrismSandboxSpec *spec)
{
  g_autoptr (GError) error = NULL;
  PrismSandbox *sandbox = prism_backend_create_sandbox (backend, spec, NULL, &error);

  g_assert_no_error (error);
  return sandbox;
}

char *
library_run (PrismSandbox *sandbox, const char *script)
{
  const char *const argv[] = { "bash", "-c", script, NULL };
  g_autoptr (PrismCommand) command = prism_command_new (argv);
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismResult) result = prism_sandbox_exec (sandbox, command, NULL, &error);
  GBytes *out;

  g_assert_no_error (error);
  out = prism_result_get_stdout (result);
  return g_strchomp (g_strndup (g_bytes_get_data (out, NULL), g_bytes_get_size (out)));
}

void
library_close (PrismSandbox *sandbox)
{
  g_autoptr (GError) error = NULL;

  g_assert_true (prism_sandbox_close (sandbox, NULL, &error));
  g_assert_no_error (error);
}
