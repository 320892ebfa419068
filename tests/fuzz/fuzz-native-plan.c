/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Both ends of the launch plan: whatever a specification that was accepted asks for,
 * what the translator writes of it is what the launcher's reader takes. Each line is
 * one thing asked, by its first letter; and the texts of /proc that tell of control
 * groups, which are the machine's but were named by others. */
#include "launch-private.h"
#include "prism-native-cgroup-state.h"
#include "prism-native-cgroup.h"
#include "prism-native-plan.h"

#include <string.h>

#define MOST 32

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

typedef struct
{
  PrismNativeAsked asked;
  PrismNativePath hide[MOST], protect[MOST];
  PrismNativeShown shown[MOST];
} Asked;

static const PrismNativePiece pieces[] = {
  { PRISM_NATIVE_PIECE_SHOWN, "/usr", NULL },
  { PRISM_NATIVE_PIECE_LINK, "/bin", "usr/bin" },
  { PRISM_NATIVE_PIECE_SHOWN, "/etc/ssl", NULL },
  { PRISM_NATIVE_PIECE_CONTENT, "/etc/hosts", "127.0.0.1 localhost\n" },
};
static const PrismNativeHost some_host = { FALSE, 1000, 1000, pieces, G_N_ELEMENTS (pieces) };

static void
take_line (Asked *self, PrismSandboxSpec *spec, const char *line)
{
  const char *value = line + 1;
  PrismNativeAsked *asked = &self->asked;
  PrismNativeKind kind = strchr (value, '.') != NULL ? PRISM_NATIVE_KIND_FILE : PRISM_NATIVE_KIND_FOLDER;

  switch (*line)
    {
    case 'h':
      if (asked->n_hide < MOST && g_path_is_absolute (value))
        {
          self->hide[asked->n_hide++] = (PrismNativePath){ value, kind };
          prism_sandbox_spec_add_hide (spec, value);
        }
      break;
    case 'p':
      if (asked->n_protect < MOST && g_path_is_absolute (value))
        {
          self->protect[asked->n_protect++] = (PrismNativePath){ value, kind };
          prism_sandbox_spec_add_protect (spec, value);
        }
      break;
    case 'r':
    case 'w':
      if (asked->n_mounts < MOST && g_path_is_absolute (value))
        {
          g_autoptr (GFile) source = g_file_new_for_path ("/srv/data");
          g_autoptr (PrismMount) mount = prism_mount_new (source, value, *line == 'w');
          self->shown[asked->n_mounts++] = (PrismNativeShown){ { "/srv/data", kind }, value, *line == 'w' };
          prism_sandbox_spec_add_mount (spec, mount);
        }
      break;
    case 's':
      asked->sandbox_path = value;
      g_object_set (spec, "sandbox-path", value, NULL);
      break;
    case 'm':
      asked->workspace_mode = (PrismWorkspaceMode)(*value % 3);
      break;
    case 'i':
      asked->isolation = (PrismNativeIsolation)(*value & 1);
      asked->netns = (PrismNativeNetns)(*value >> 1 & 1);
      asked->unix_sockets = (PrismNativeUnixSockets)(*value >> 2 & 1);
      break;
    default:
      break;
    }
}

static void
check_agreement (char **lines)
{
  g_autoptr (GFile) workspace = g_file_new_for_path ("/home/user/project");
  g_autoptr (PrismSandboxSpec) spec = prism_sandbox_spec_new (workspace);
  g_autoptr (GError) error = NULL;
  Asked self = { .asked = { .host = &some_host,
                            .hostname = "prism",
                            .workspace = { "/home/user/project", PRISM_NATIVE_KIND_FOLDER },
                            .sandbox_path = "/workspace",
                            .tmp_bytes = 1 << 20,
                            .workspace_bytes = 1 << 20 } };

  self.asked.hide = self.hide;
  self.asked.protect = self.protect;
  self.asked.mounts = self.shown;
  for (guint i = 0; lines[i] != NULL; i++)
    if (lines[i][0] != '\0')
      take_line (&self, spec, lines[i]);
  if (!prism_sandbox_spec_check (spec, NULL))
    return;
  for (PrismNativePlanPart part = PRISM_NATIVE_PLAN_WHOLE; part <= PRISM_NATIVE_PLAN_USE_TEMPLATE; part++)
    {
      g_autoptr (GBytes) plan = NULL;
      struct launch_plan read;
      gsize size;
      const void *bytes;
      if (part != PRISM_NATIVE_PLAN_WHOLE && !prism_native_plan_can_use_template (&self.asked))
        break;
      g_clear_error (&error);
      plan = prism_native_plan_write (&self.asked, part, &error);
      g_assert_true ((plan == NULL) == (error != NULL));
      if (plan == NULL)
        continue;
      bytes = g_bytes_get_data (plan, &size);
      g_assert_true (launch_plan_parse (&read, bytes, size));
    }
}

static void
check_groups (const char *text)
{
  static const char *const controllers[] = { "memory", "pids", "cpu", NULL };
  const char *middle = strstr (text, "\n\n");
  g_autofree char *mountinfo = middle != NULL ? g_strndup (text, (gsize)(middle - text)) : NULL;

  prism_native_cgroup_parse_memory_kills (text);
  for (guint i = 0; mountinfo != NULL && i < G_N_ELEMENTS (controllers); i++)
    {
      char own[PATH_MAX], mount_point[PATH_MAX];
      if (prism_native_cgroup_find_own (mountinfo, middle + 2, controllers[i], own, mount_point))
        g_assert_true (g_str_has_prefix (own, mount_point));
    }
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  g_autofree char *text = g_strndup ((const char *)data, MIN (size, 65536));
  g_auto (GStrv) lines = g_strsplit (text, "\n", 200);

  check_agreement (lines);
  check_groups (text);
  return 0;
}
