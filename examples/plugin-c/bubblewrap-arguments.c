/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bubblewrap-arguments.h"

#include <stdarg.h>
#include <string.h>

/* Everything else about limits is PrismAgentSandbox's. */
const char *const *
bubblewrap_unenforced (void)
{
  static const char *const names[] = { "memory-bytes", "cpu-millis", "max-pids", "download-bytes", NULL };

  return names;
}

static void
add (GStrvBuilder *builder, const char *first, ...)
{
  va_list words;

  va_start (words, first);
  for (const char *word = first; word != NULL; word = va_arg (words, const char *))
    g_strv_builder_add (builder, word);
  va_end (words);
}

static gboolean
refuse (GError **error, PrismSandboxError code, const char *what)
{
  g_set_error_literal (error, PRISM_SANDBOX_ERROR, code, what);
  return FALSE;
}

static gboolean
check_limits (PrismLimits *limits, GError **error)
{
  const char *const *names = bubblewrap_unenforced ();

  for (guint i = 0; names[i] != NULL; i++)
    if (prism_limits_is_set (limits, names[i]))
      {
        g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_REFUSED,
                     "the limit %s cannot be enforced here; leave it out, or use another backend", names[i]);
        return FALSE;
      }
  return TRUE;
}

static gboolean
check (PrismSandboxSpec *spec, GError **error)
{
  if (prism_sandbox_spec_get_network (spec) != PRISM_NETWORK_MODE_NONE)
    return refuse (error, PRISM_SANDBOX_ERROR_NOT_SUPPORTED, "there is only network=none here");
  if (prism_sandbox_spec_get_lifetime (spec) != PRISM_LIFETIME_HOST)
    return refuse (error, PRISM_SANDBOX_ERROR_NOT_SUPPORTED, "there is only lifetime=host here");
  if (prism_sandbox_spec_get_workspace_mode (spec) == PRISM_WORKSPACE_MODE_COPY)
    return refuse (error, PRISM_SANDBOX_ERROR_NOT_SUPPORTED, "there is no workspace-mode=copy here");
  return check_limits (prism_sandbox_spec_get_limits (spec), error);
}

/* The system's programs, and what they look for in /etc, whoever they run for. */
static void
add_system (GStrvBuilder *builder)
{
  static const char *const files[] = { "/etc/alternatives", "/etc/ssl",        "/etc/ca-certificates",
                                       "/etc/ld.so.cache",  "/etc/ld.so.conf", "/etc/localtime",
                                       "/etc/ld.so.conf.d" };
  static const char *const links[][2] = {
    { "usr/bin", "/bin" }, { "usr/sbin", "/sbin" }, { "usr/lib", "/lib" }, { "usr/lib64", "/lib64" }
  };

  add (builder, "--ro-bind", "/usr", "/usr", "--ro-bind-try", "/opt", "/opt", NULL);
  for (guint i = 0; i < G_N_ELEMENTS (links); i++)
    add (builder, "--symlink", links[i][0], links[i][1], NULL);
  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    add (builder, "--ro-bind-try", files[i], files[i], NULL);
  add (builder, "--proc", "/proc", "--dev", "/dev", NULL);
}

/* One size for each place that can be written to. */
static void
add_tmpfs (GStrvBuilder *builder, PrismLimits *limits)
{
  static const char *const places[] = { "/tmp", "/run", "/dev/shm", "/home/prism" };
  g_autofree char *size = g_strdup_printf ("%" G_GINT64_FORMAT, prism_limits_get (limits, "tmp-bytes"));

  for (guint i = 0; i < G_N_ELEMENTS (places); i++)
    add (builder, "--size", size, "--perms", "0700", "--tmpfs", places[i], NULL);
}

static gboolean
add_folder (GStrvBuilder *builder, GFile *folder, const char *destination, gboolean writable, GError **error)
{
  g_autofree char *path = g_file_get_path (folder);

  if (path == NULL)
    return refuse (error, PRISM_SANDBOX_ERROR_INVALID, "only folders of this machine can be shown");
  if (!g_file_test (path, G_FILE_TEST_EXISTS))
    {
      g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_NOT_FOUND, "%s is not there", path);
      return FALSE;
    }
  add (builder, writable ? "--bind" : "--ro-bind", path, destination != NULL ? destination : path, NULL);
  return TRUE;
}

static gboolean
add_mounts (GStrvBuilder *builder, PrismSandboxSpec *spec, GError **error)
{
  GListModel *mounts = prism_sandbox_spec_get_mounts (spec);

  for (guint i = 0; i < g_list_model_get_n_items (mounts); i++)
    {
      g_autoptr (PrismMount) mount = g_list_model_get_item (mounts, i);
      if (!add_folder (builder, prism_mount_get_source (mount), prism_mount_get_destination (mount),
                       prism_mount_get_writable (mount), error))
        return FALSE;
    }
  return TRUE;
}

/* Host paths, as they are seen inside: in the workspace, or where a mount has them. */
static char *
inside (PrismSandboxSpec *spec, const char *path)
{
  GFile *workspace = prism_sandbox_spec_get_workspace (spec);
  g_autofree char *top = workspace != NULL ? g_file_get_path (workspace) : NULL;
  gsize n = top != NULL ? strlen (top) : 0;

  if (n > 0 && strncmp (path, top, n) == 0 && (path[n] == '/' || path[n] == '\0'))
    return g_strconcat (prism_sandbox_spec_get_sandbox_path (spec), path + n, NULL);
  return g_strdup (path);
}

/* The most specific path wins: bubblewrap mounts in the order that it is told. */
static void
add_covers (GStrvBuilder *builder, PrismSandboxSpec *spec)
{
  const char *const *hidden = prism_sandbox_spec_get_hide (spec), *const *kept = prism_sandbox_spec_get_protect (spec);

  for (guint i = 0; kept != NULL && kept[i] != NULL; i++)
    {
      g_autofree char *seen = inside (spec, kept[i]);
      add (builder, "--ro-bind", kept[i], seen, NULL);
    }
  for (guint i = 0; hidden != NULL && hidden[i] != NULL; i++)
    {
      g_autofree char *seen = inside (spec, hidden[i]);
      if (g_file_test (hidden[i], G_FILE_TEST_IS_DIR))
        add (builder, "--perms", "0000", "--tmpfs", seen, NULL);
      else if (g_file_test (hidden[i], G_FILE_TEST_EXISTS))
        add (builder, "--ro-bind", "/dev/null", seen, NULL);
    }
}

char **
bubblewrap_arguments (PrismSandboxSpec *spec, const char *program, const char *agent, GError **error)
{
  g_autoptr (GStrvBuilder) builder = g_strv_builder_new ();
  GFile *workspace = prism_sandbox_spec_get_workspace (spec);
  const char *at = prism_sandbox_spec_get_sandbox_path (spec);
  gboolean writable = prism_sandbox_spec_get_workspace_mode (spec) != PRISM_WORKSPACE_MODE_READONLY;
  g_autofree char *info_fd = g_strdup_printf ("%d", BUBBLEWRAP_INFO_FD);
  g_autofree char *agent_fd = g_strdup_printf ("%d", BUBBLEWRAP_AGENT_FD);

  if (!check (spec, error))
    return NULL;
  add (builder, program, "--unshare-all", "--unshare-user", "--as-pid-1", "--cap-drop", "ALL", "--clearenv", NULL);
  add (builder, "--uid", "10001", "--gid", "10001", "--hostname", "prism", "--info-fd", info_fd, NULL);
  add_system (builder);
  add_tmpfs (builder, prism_sandbox_spec_get_limits (spec));
  if (workspace == NULL)
    add (builder, "--perms", "0700", "--tmpfs", at, NULL);
  else if (!add_folder (builder, workspace, at, writable, error))
    return NULL;
  if (!add_mounts (builder, spec, error))
    return NULL;
  add_covers (builder, spec);
  add (builder, "--ro-bind", agent, "/run/prism-agent", "--chdir", at, "--", NULL);
  add (builder, "/run/prism-agent", "--serve", agent_fd, NULL);
  return g_strv_builder_end (builder);
}
