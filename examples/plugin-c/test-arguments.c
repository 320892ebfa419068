/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is asked becomes the right words, or is refused by name. */
#include "bubblewrap-arguments.h"

#include <string.h>

static char *
words (PrismSandboxSpec *spec)
{
  g_autoptr (GError) error = NULL;
  g_auto (GStrv) argv = bubblewrap_arguments (spec, "bwrap", "/agent", &error);

  g_assert_no_error (error);
  return g_strjoinv (" ", argv);
}

static void
assert_refused (PrismSandboxSpec *spec, const char *what)
{
  g_autoptr (GError) error = NULL;

  g_assert_null (bubblewrap_arguments (spec, "bwrap", "/agent", &error));
  g_assert_true (error->domain == PRISM_SANDBOX_ERROR);
  g_assert_nonnull (strstr (error->message, what));
}

static void
test_workspace (void)
{
  g_autoptr (GFile) folder = g_file_new_for_path ("/usr/share"), missing = g_file_new_for_path ("/no/such/folder");
  g_autoptr (PrismSandboxSpec) spec = prism_sandbox_spec_new (folder), readonly = prism_sandbox_spec_new (folder);
  g_autoptr (PrismSandboxSpec) none = prism_sandbox_spec_new (NULL), gone = prism_sandbox_spec_new (missing);
  g_autofree char *direct = words (spec), *plain = words (none), *kept = NULL;

  g_object_set (readonly, "workspace-mode", PRISM_WORKSPACE_MODE_READONLY, NULL);
  kept = words (readonly);
  g_assert_nonnull (strstr (direct, " --bind /usr/share /workspace "));
  g_assert_nonnull (strstr (kept, " --ro-bind /usr/share /workspace "));
  g_assert_nonnull (strstr (plain, " --tmpfs /workspace "));
  assert_refused (gone, "/no/such/folder");
}

static void
test_paths (void)
{
  g_autoptr (GFile) folder = g_file_new_for_path ("/usr"), mounted = g_file_new_for_path ("/usr/share");
  g_autoptr (PrismSandboxSpec) spec = prism_sandbox_spec_new (folder);
  g_autoptr (PrismMount) mount = prism_mount_new (mounted, "/data", FALSE);
  g_autofree char *all = NULL;

  prism_sandbox_spec_add_mount (spec, mount);
  prism_sandbox_spec_add_protect (spec, "/usr/lib");
  prism_sandbox_spec_add_hide (spec, "/usr/share/doc");
  all = words (spec);
  g_assert_nonnull (strstr (all, " --ro-bind /usr/share /data "));
  g_assert_nonnull (strstr (all, " --ro-bind /usr/lib /workspace/lib "));
  g_assert_nonnull (strstr (all, " --perms 0000 --tmpfs /workspace/share/doc "));
}

static void
test_refused (void)
{
  g_autoptr (PrismSandboxSpec) network = prism_sandbox_spec_new (NULL), limit = prism_sandbox_spec_new (NULL);
  g_autoptr (PrismSandboxSpec) lifetime = prism_sandbox_spec_new (NULL);

  g_object_set (network, "network", PRISM_NETWORK_MODE_CUSTOM, NULL);
  g_object_set (lifetime, "lifetime", PRISM_LIFETIME_DETACHED, NULL);
  g_assert_true (prism_limits_set (prism_sandbox_spec_get_limits (limit), "memory-bytes", 1 << 20, NULL));
  assert_refused (network, "network=none");
  assert_refused (lifetime, "lifetime=host");
  assert_refused (limit, "memory-bytes");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/arguments/workspace", test_workspace);
  g_test_add_func ("/arguments/paths", test_paths);
  g_test_add_func ("/arguments/refused", test_refused);
  return g_test_run ();
}
