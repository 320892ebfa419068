/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-cli-suspend.h"

#include "prism-cli-workspace.h"

#include <stdlib.h>

/* Of what may not be there yet: links in what is are followed. */
static char *
resolve (const char *path)
{
  g_autofree char *parent = NULL;
  g_autofree char *real_parent = NULL;
  g_autofree char *name = NULL;
  char *real = realpath (path, NULL);

  if (real != NULL || g_str_equal (path, "/"))
    return real != NULL ? real : g_strdup ("/");
  parent = g_path_get_dirname (path);
  name = g_path_get_basename (path);
  real_parent = resolve (parent);
  return g_build_filename (real_parent, name, NULL);
}

static gboolean
is_below (const char *folder, GFile *file)
{
  g_autofree char *path = file != NULL ? g_file_get_path (file) : NULL;
  g_autofree char *real = path != NULL ? resolve (path) : NULL;

  return real != NULL && prism_path_is_inside (folder, real);
}

static gboolean
check_reach (const char *folder, PrismSandboxSpec *spec, GError **error)
{
  GListModel *mounts = prism_sandbox_spec_get_mounts (spec);
  g_autofree char *real = resolve (folder);
  gboolean reached = is_below (real, prism_sandbox_spec_get_workspace (spec));

  for (guint i = 0; i < g_list_model_get_n_items (mounts); i++)
    {
      g_autoptr (PrismMount) mount = g_list_model_get_item (mounts, i);

      reached |= prism_mount_get_writable (mount) && is_below (real, prism_mount_get_source (mount));
    }
  return !reached
         || prism_cli_bad_value (error,
                                 _ ("--suspend %s: the sandbox could write there, and answer itself; name a folder "
                                    "outside of the workspace and of all that is shown writable"),
                                 folder);
}

PrismSuspensions *
prism_cli_suspend_open (const PrismCliOptions *options, PrismSandboxSpec *spec, GError **error)
{
  g_autofree char *folder = NULL;

  if (options->suspend == NULL)
    return NULL;
  folder = prism_cli_path (options->suspend, error);
  if (folder == NULL || !check_reach (folder, spec, error))
    return NULL;
  return g_object_new (PRISM_TYPE_SUSPENSIONS, "folder", folder, "bind-calls", FALSE, NULL);
}
