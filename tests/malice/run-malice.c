/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* run-malice [--backend=NAME] [--set NAME=VALUE…] [--channel=NAME] [--isolation=NAME] [--off=NAME] PROGRAM [NAME…]:
 * every attack in a sandbox of its own. TAP.
 *
 * Contained means more than that the attack says nothing: the sandbox still
 * serves a command afterwards, what should have ended has ended, close() leaves
 * no process, and the host is as it was (stage_damage()). */
#include "inside.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <sys/socket.h>
#include <unistd.h>

static const Attack attacks[] = {
#define ATTACK(name, needs, claim) { #name, needs },
#include "attacks.def"
#undef ATTACK
};

struct stage stage;
static char *backend_name = (char *)"native", *channel, *isolation, *network, *off;
static char **settings;
static int number, failed;

/* The weaker mode is reported as it is: these get through there, by design. */
static const char *const weak_in_network_only[] = { "read_home", "find_host_root", "climb_from_workspace",
                                                    "magic_links", NULL };
/* And these ask for what it does not have: a root of its own, and places in it. */
static const char *const not_in_network_only[] = { "read_shadow",
                                                   "file_handle",
                                                   "write_system",
                                                   "hardlink_from_mount",
                                                   "write_readonly_mount",
                                                   "write_readonly_workspace",
                                                   "write_through_copy",
                                                   "read_hidden",
                                                   "unhide",
                                                   "write_protected",
                                                   "replace_protected",
                                                   "link_protected",
                                                   "dev_shm",
                                                   "find_sockets",
                                                   "mount_options",
                                                   "working_folder",
                                                   "become_root",
                                                   "set_id_program",
                                                   "open_devices",
                                                   "planted_device",
                                                   "make_device",
                                                   "dev_tree",
                                                   "write_sys",
                                                   "cgroup_files",
                                                   "host_terminal",
                                                   "disk_hog_tmp",
                                                   "disk_hog_shm",
                                                   "disk_hog_home",
                                                   "disk_hog_copy",
                                                   "inode_hog",
                                                   "swap_path",
                                                   "leave_bait",
                                                   "find_left_bait",
                                                   "odd_files",
                                                   "swap_path_beside",
                                                   "shifting_tree",
                                                   "crowded_folder",
                                                   "reopen_writable",
                                                   "terminal_hog",
                                                   "moving_target",
                                                   "write_sysctl",
                                                   "read_kernel",
                                                   NULL };

__attribute__ ((format (printf, 3, 4))) static void
report (gboolean good, const char *name, const char *format, ...)
{
  va_list arguments;
  va_start (arguments, format);
  g_autofree char *text = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  g_strdelimit (text, "\n#", ' ');
  printf ("%sok %d - %s %s\n", good ? "" : "not ", ++number, name, text);
  fflush (stdout);
  failed += !good;
}

/* As the command line does: an enum by its nick, a string as it is. */
static void
set_by_name (GObject *object, const char *property, const char *text)
{
  GParamSpec *about = g_object_class_find_property (G_OBJECT_GET_CLASS (object), property);
  g_assert_nonnull (about);
  if (G_IS_PARAM_SPEC_ENUM (about))
    {
      GEnumValue *value = g_enum_get_value_by_nick (G_PARAM_SPEC_ENUM (about)->enum_class, text);
      g_assert_nonnull (value);
      g_object_set (object, property, value->value, NULL);
    }
  else
    g_object_set (object, property, text, NULL);
}

PrismBackend *
make_backend (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismBackend) backend =
      prism_registry_create_backend (prism_registry_get_default (), backend_name, &error);
  g_assert_no_error (error);
  for (guint i = 0; settings != NULL && settings[i] != NULL; i++)
    {
      g_auto (GStrv) pair = g_strsplit (settings[i], "=", 2);
      set_by_name (G_OBJECT (backend), pair[0], pair[1]);
    }
  if (channel != NULL)
    set_by_name (G_OBJECT (backend), "channel", channel);
  if (isolation != NULL)
    set_by_name (G_OBJECT (backend), "isolation", isolation);
  return g_steal_pointer (&backend);
}

/* A way out that leads to one name, which nobody answers to. */
static void
allow_one_name (PrismSandboxSpec *spec)
{
  static const char *const rules[] = { "http://allowed.test", "https://allowed.test", NULL };
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismEgressPolicy) policy = prism_egress_policy_new_static (rules, &error);
  g_assert_no_error (error);
  set_by_name (G_OBJECT (spec), "network", network);
  g_object_set (spec, "egress-policy", policy, NULL);
  prism_sandbox_spec_set_variable (spec, "MALICE_ALLOWED", "allowed.test");
}

static PrismSandboxSpec *
make_spec (const Attack *attack)
{
  g_autoptr (GFile) workspace = g_file_new_for_path (stage.workspace);
  g_autoptr (GFile) mount = g_file_new_for_path (stage.mount);
  g_autoptr (PrismMount) shown = prism_mount_new (mount, STAGE_MOUNT, FALSE);
  PrismSandboxSpec *spec = prism_sandbox_spec_new (workspace);
  g_autofree char *hidden = g_build_filename (stage.workspace, "hidden", NULL);
  g_autofree char *guarded = g_build_filename (stage.workspace, "deep", "guarded", NULL);
  g_autoptr (PrismLimits) limits = prism_limits_new (PRISM_LIMITS_PROFILE_STANDARD);
  prism_sandbox_spec_add_mount (spec, shown);
  prism_sandbox_spec_add_hide (spec, hidden);
  /* Of a copy in a container nothing can be protected, and no device goes in: both are refused. */
  if (strcmp (backend_name, "docker") == 0 && (attack->needs & MALICE_COPY))
    {
      g_autofree char *device = g_build_filename (stage.workspace, "planted-device", NULL);
      unlink (device);
    }
  else
    prism_sandbox_spec_add_protect (spec, guarded);
  for (int i = 0; stage.variables[i] != NULL; i++)
    {
      g_auto (GStrv) pair = g_strsplit (stage.variables[i], "=", 2);
      prism_sandbox_spec_set_variable (spec, pair[0], pair[1]);
    }
  if (isolation == NULL)
    {
      prism_sandbox_spec_set_variable (spec, "MALICE_WORKSPACE", "/workspace");
      prism_sandbox_spec_set_variable (spec, "MALICE_RO", STAGE_MOUNT);
    }
  if (attack->needs & MALICE_COPY)
    g_object_set (spec, "workspace-mode", PRISM_WORKSPACE_MODE_COPY, NULL);
  if (attack->needs & MALICE_READONLY)
    g_object_set (spec, "workspace-mode", PRISM_WORKSPACE_MODE_READONLY, NULL);
  if (attack->needs & MALICE_LIMITED)
    {
      g_assert_true (prism_limits_set (limits, "max-pids", STAGE_LIMIT_PIDS, NULL));
      g_assert_true (prism_limits_set (limits, "max-fds", STAGE_LIMIT_FDS, NULL));
      g_assert_true (prism_limits_set (limits, "tmp-bytes", STAGE_LIMIT_TMP, NULL));
      if (attack->needs & MALICE_COPY)
        g_assert_true (prism_limits_set (limits, "workspace-bytes", STAGE_LIMIT_WORKSPACE, NULL));
      g_assert_true (prism_limits_set (limits, "memory-bytes", STAGE_LIMIT_MEMORY, NULL));
    }
  g_object_set (spec, "limits", limits, NULL);
  if (network != NULL)
    allow_one_name (spec);
  return spec;
}

static PrismCommand *
make_command (const Attack *attack)
{
  const char *const argv[] = { STAGE_MOUNT "/malice", attack->name, stage.mark, NULL };
  PrismCommand *command = prism_command_new (argv);
  prism_command_set_timeout_ms (command, attack->needs & MALICE_TIMEOUT ? TIMEOUT_MS : PATIENCE_MS);
  if (attack->needs & MALICE_PTY)
    prism_command_set_pty_size (command, 80, 24);
  return command;
}

/* --- one attack ------------------------------------------------------------------ */

/* Sandboxes before and beside the one that is attacked, which leave what they can:
 * some of the same shape, as those may be made from parts that are kept ready, and
 * one with another workspace, whose name is bait. */
static GPtrArray *
start_neighbours (PrismBackend *backend, const Attack *attack)
{
  g_autofree char *name = g_strconcat (BAIT "left-workspace-", stage.mark, NULL);
  g_autofree char *folder = g_build_filename (stage.folder, name, NULL);
  const char *const argv[] = { STAGE_MOUNT "/malice", "leave_bait", stage.mark, NULL };
  GPtrArray *neighbours = g_ptr_array_new_with_free_func (g_object_unref);
  g_autoptr (GError) error = NULL;
  g_mkdir (folder, 0755);
  g_autoptr (GFile) workspace = g_file_new_for_path (folder);
  for (int i = 0; i < 6; i++)
    {
      g_autoptr (PrismSandboxSpec) spec = make_spec (attack);
      if (i % 3 == 0)
        g_object_set (spec, "workspace", workspace, "hide", NULL, "protect", NULL, NULL);
      PrismSandbox *sandbox = prism_backend_create_sandbox (backend, spec, NULL, &error);
      g_assert_no_error (error);
      g_autoptr (PrismCommand) command = prism_command_new (argv);
      g_autoptr (PrismResult) result = prism_sandbox_exec (sandbox, command, NULL, &error);
      g_assert_no_error (error);
      g_ptr_array_add (neighbours, sandbox);
      if (i < 3)
        prism_sandbox_close (sandbox, NULL, NULL);
    }
  return neighbours;
}

static void
run_attack (PrismBackend *backend, const Attack *attack)
{
  g_autoptr (GPtrArray) neighbours = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *wrong = NULL, *excused = NULL;
  long before_kib = peak_kib ();
  gint64 begun = g_get_monotonic_time ();
  stage_refresh (&stage, geteuid ());
  if (strcmp (attack->name, "find_left_bait") == 0)
    neighbours = start_neighbours (backend, attack);
  g_autoptr (PrismSandboxSpec) spec = make_spec (attack);
  g_autoptr (PrismSandbox) sandbox = prism_backend_create_sandbox (backend, spec, NULL, &error);
  if (sandbox == NULL)
    {
      report (FALSE, attack->name, "no sandbox: %s", error->message);
      return;
    }
  excused = excuse (attack, sandbox);
  g_autoptr (PrismCommand) command = make_command (attack);
  gint64 start = g_get_monotonic_time ();
  g_autoptr (PrismResult) result = run_with_host_side (attack, sandbox, command, &wrong, &error);
  if (result == NULL)
    wrong = g_strdup_printf ("not run: %s", error->message);
  else if (wrong == NULL)
    wrong = judge_result (attack, result, (g_get_monotonic_time () - start) / 1000);
  if (wrong != NULL && excused != NULL)
    g_clear_pointer (&wrong, g_free);
  if (wrong == NULL)
    wrong = judge_ended (attack);
  if (wrong == NULL)
    wrong = judge_sandbox (attack, sandbox, STAGE_MOUNT "/malice");
  g_clear_error (&error);
  for (guint i = 0; neighbours != NULL && i < neighbours->len; i++)
    prism_sandbox_close (neighbours->pdata[i], NULL, NULL);
  start = g_get_monotonic_time ();
  if (!prism_sandbox_close (sandbox, NULL, &error) && wrong == NULL)
    wrong = g_strdup_printf ("close: %s", error->message);
  if (wrong == NULL && g_get_monotonic_time () - start > 5 * G_USEC_PER_SEC)
    wrong = g_strdup ("close took more than five seconds");
  if (wrong == NULL)
    wrong = judge_closed (attack, peak_kib () - before_kib);
  report (wrong == NULL, attack->name, "%s (%" G_GINT64_FORMAT " ms)",
          wrong != NULL     ? wrong
          : excused != NULL ? excused
                            : "contained",
          (g_get_monotonic_time () - begun) / 1000);
}

/* --- the weaker mode ------------------------------------------------------------- */

static PrismCommand *
make_command_on_host_tree (const Attack *attack, const char *program)
{
  const char *const argv[] = { program, attack->name, stage.mark, NULL };
  PrismCommand *command = prism_command_new (argv);
  for (int i = 0; stage.variables[i] != NULL; i++)
    {
      g_auto (GStrv) pair = g_strsplit (stage.variables[i], "=", 2);
      prism_command_set_variable (command, pair[0], pair[1]);
    }
  prism_command_set_timeout_ms (command, attack->needs & MALICE_TIMEOUT ? TIMEOUT_MS : PATIENCE_MS);
  if (attack->needs & MALICE_PTY)
    prism_command_set_pty_size (command, 80, 24);
  return command;
}

/* What it does not claim is there to be seen, what it claims holds. */
static void
run_network_only (PrismBackend *backend, const Attack *attack)
{
  gboolean weak = g_strv_contains (weak_in_network_only, attack->name);
  g_autoptr (GError) error = NULL;
  if ((attack->needs & MALICE_LIMITED) || g_strv_contains (not_in_network_only, attack->name))
    return;
  stage_refresh (&stage, geteuid ());
  g_autoptr (GFile) workspace = g_file_new_for_path (stage.workspace);
  g_autoptr (PrismSandboxSpec) spec = prism_sandbox_spec_new (workspace);
  g_autoptr (PrismSandbox) sandbox = prism_backend_create_sandbox (backend, spec, NULL, &error);
  if (sandbox == NULL)
    {
      report (FALSE, attack->name, "no sandbox: %s", error->message);
      return;
    }
  g_autoptr (PrismCapabilities) capabilities = prism_sandbox_dup_capabilities (sandbox);
  g_autofree char *program = g_build_filename (stage.mount, "malice", NULL), *wrong = NULL;
  g_autoptr (PrismCommand) command = make_command_on_host_tree (attack, program);
  g_autoptr (PrismResult) result = prism_sandbox_exec (sandbox, command, NULL, &error);
  if (result == NULL)
    wrong = g_strdup_printf ("not run: %s", error->message);
  else if (!weak)
    wrong = judge_result (attack, result, 0);
  else if (prism_capabilities_contains_controls (capabilities, PRISM_CONTROLS_FILESYSTEM))
    wrong = g_strdup ("the report claims a file system of its own");
  else if (prism_result_get_exit_code (result) != MALICE_ESCAPED)
    wrong = g_strdup ("is not open, though the report says so");
  if (wrong == NULL)
    wrong = judge_sandbox (attack, sandbox, program);
  prism_sandbox_close (sandbox, NULL, NULL);
  if (wrong == NULL)
    wrong = judge_closed (attack, 0);
  report (wrong == NULL, attack->name, "%s",
          wrong != NULL ? wrong
          : weak        ? "is open, as the report says"
                        : "contained");
}

/* --- one control off -------------------------------------------------------------- */

static const struct
{
  const char *name;
  guint flag;            /* PRISM_LAUNCH_OFF_…, in a build with test_switches */
  const char *attack;    /* that gets through then */
  PrismControls control; /* that is no longer claimed then */
} switches[] = {
  { "netns", 1u << 16, "interfaces", PRISM_CONTROLS_NETWORK | PRISM_CONTROLS_EGRESS },
  { "pidns", 1u << 17, "see_host_process", PRISM_CONTROLS_PROCESS },
  { "caps", 1u << 18, "capabilities", PRISM_CONTROLS_PRIVILEGE | PRISM_CONTROLS_FILESYSTEM },
  { "nnp", 1u << 19, "gain_privileges", PRISM_CONTROLS_PRIVILEGE },
  { "seccomp", 1u << 20, "vsock", PRISM_CONTROLS_NETWORK | PRISM_CONTROLS_PRIVILEGE },
  { "dumpable", 1u << 23, "read_agent", PRISM_CONTROLS_PROCESS },
  /* Two controls stand before it: both must be off for it to show. */
  { "userns-limit", 1u << 22 | 1u << 20, "unshare_any", PRISM_CONTROLS_PRIVILEGE | PRISM_CONTROLS_FILESYSTEM },
};

static const Attack *
find_attack (const char *name)
{
  for (gsize i = 0; i < G_N_ELEMENTS (attacks); i++)
    if (strcmp (attacks[i].name, name) == 0)
      return &attacks[i];
  g_assert_not_reached ();
}

/* The probe in that very sandbox must see it, and the attack must get through. */
static void
run_switch (PrismBackend *backend, guint i)
{
  g_autoptr (GError) error = NULL;
  const Attack *attack = find_attack (switches[i].attack);
  stage_refresh (&stage, geteuid ());
  g_object_set (backend, "off-switches", switches[i].flag, NULL);
  g_autoptr (PrismSandboxSpec) spec = make_spec (attack);
  g_autoptr (PrismSandbox) sandbox = prism_backend_create_sandbox (backend, spec, NULL, &error);
  if (sandbox == NULL)
    {
      report (FALSE, switches[i].name, "no sandbox: %s", error->message);
      return;
    }
  g_autoptr (PrismCapabilities) capabilities = prism_sandbox_dup_capabilities (sandbox);
  PrismControls still = prism_capabilities_get_controls (capabilities) & switches[i].control;
  g_autoptr (PrismCommand) command = make_command (attack);
  g_autoptr (PrismResult) result = prism_sandbox_exec (sandbox, command, NULL, &error);
  int code = result != NULL ? prism_result_get_exit_code (result) : -1;
  prism_sandbox_close (sandbox, NULL, NULL);
  report (still == 0 && code == MALICE_ESCAPED, switches[i].name,
          "off: %s %s (exit %d), and controls 0x%x are still claimed", attack->name,
          code == MALICE_ESCAPED ? "gets through" : "does NOT get through", code, still);
}

/* What a careless host program leaves lying about. */
static void
be_careless (void)
{
  g_autofree char *bait = g_strconcat (BAIT, stage.token, NULL);
  int folder = open (stage.home, O_PATH | O_DIRECTORY), pair[2];
  g_assert_cmpint (socketpair (AF_UNIX, SOCK_STREAM, 0, pair), ==, 0);
  g_assert_cmpint (dup2 (folder, 57), ==, 57);
  g_assert_cmpint (dup2 (pair[0], 58), ==, 58);
  g_setenv ("MALICE_HOST_SECRET", bait, TRUE);
  g_setenv ("SSH_AUTH_SOCK", "/tmp/agent.sock", TRUE);
  g_setenv ("AWS_SECRET_ACCESS_KEY", bait, TRUE);
}

int
main (int argc, char **argv)
{
  g_auto (GStrv) rest = NULL;
  const GOptionEntry entries[] = {
    { "backend", 0, 0, G_OPTION_ARG_STRING, &backend_name, "the backend; native", "NAME" },
    { "set", 0, 0, G_OPTION_ARG_STRING_ARRAY, &settings, "one of its properties", "NAME=VALUE" },
    { "channel", 0, 0, G_OPTION_ARG_STRING, &channel, "the backend's channel", "NAME" },
    { "network", 0, 0, G_OPTION_ARG_STRING, &network, "what is reached: egress, with a rule for one name", "MODE" },
    { "off", 0, 0, G_OPTION_ARG_STRING, &off, "each control off in turn ('all'), in a build with test_switches",
      "NAME" },
    { "isolation", 0, 0, G_OPTION_ARG_STRING, &isolation, "the backend's isolation", "NAME" },
    { G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &rest, NULL, "PROGRAM [NAME...]" },
    { 0 },
  };
  g_autoptr (GOptionContext) context = g_option_context_new (NULL);
  g_autoptr (GError) error = NULL;
  g_option_context_add_main_entries (context, entries, NULL);
  if (!g_option_context_parse (context, &argc, &argv, &error) || rest == NULL)
    {
      g_printerr ("run-malice: %s\n", error != NULL ? error->message : "which program?");
      return 2;
    }
  stage_set_up (&stage, rest[0], geteuid ());
  be_careless ();
  g_autoptr (PrismBackend) backend = make_backend ();
  for (guint i = 0; off != NULL && i < G_N_ELEMENTS (switches); i++)
    if (strcmp (off, "all") == 0 || strcmp (off, switches[i].name) == 0)
      run_switch (backend, i);
  for (gsize i = 0; off == NULL && i < G_N_ELEMENTS (attacks); i++)
    {
      if (rest[1] != NULL && !g_strv_contains ((const char *const *)rest + 1, attacks[i].name))
        continue;
      if ((attacks[i].needs & MALICE_REAL_ROOT) && geteuid () != 0)
        continue;
      if (isolation != NULL)
        run_network_only (backend, &attacks[i]);
      else
        run_attack (backend, &attacks[i]);
    }
  printf ("1..%d\n", number);
  g_clear_object (&backend);
  stage_tear_down (&stage);
  return failed > 0;
}
