/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* run-malice [--channel=NAME] [--isolation=NAME] PROGRAM [NAME…]: every attack in
 * a sandbox of its own. TAP.
 *
 * Contained means more than that the attack says nothing: the sandbox still
 * serves a command afterwards, what should have ended has ended, close() leaves
 * no process, and the host is as it was (stage_damage()). */
#include "malice.h"
#include "stage.h"

#include <errno.h>
#include <fcntl.h>
#include <libprism/prism.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define PATIENCE_MS 20000
#define TIMEOUT_MS  400
/* What the timeout may take: its grace, and a busy machine. */
#define TIMEOUT_SLACK_MS 8000

typedef struct
{
  const char *name;
  int needs;
} Attack;

static const Attack attacks[] = {
#define ATTACK(name, needs, claim) { #name, needs },
#include "attacks.def"
#undef ATTACK
};

static struct stage stage;
static char *channel, *isolation;
static int number, failed;

/* A weaker mode is reported as it is: these get through there, by design. */
static const char *const weak_in_network_only[] = { "read_home",   "find_host_root",   "climb_from_workspace",
                                                    "magic_links", "see_host_process", NULL };
/* And these must not, even there. The others would harm the host or ask for a
 * control that the mode does not claim. */
static const char *const strong_in_network_only[] = { "pathname_socket",
                                                      "datagram_socket",
                                                      "abstract_socket",
                                                      "well_known_sockets",
                                                      "host_loopback",
                                                      "host_addresses",
                                                      "host_udp",
                                                      "ask_dns",
                                                      "interfaces",
                                                      "netlink_change",
                                                      "raw_socket",
                                                      "packet_socket",
                                                      "vsock",
                                                      "socket_families",
                                                      "socket_high_bits",
                                                      "socket_int80",
                                                      "io_uring",
                                                      "host_network_namespace",
                                                      "inherited",
                                                      "stdio_kind",
                                                      "capabilities",
                                                      "set_id_program",
                                                      "gain_privileges",
                                                      "root_map",
                                                      "unshare_any",
                                                      "clone_namespace",
                                                      "setns_any",
                                                      "mount_new",
                                                      "mount_bind",
                                                      "remount",
                                                      "mount_api",
                                                      "pivot",
                                                      "chroot_out",
                                                      "keyrings",
                                                      "bpf",
                                                      "perf_events",
                                                      "user_faults",
                                                      "int80_at_all",
                                                      "x32_at_all",
                                                      NULL };

__attribute__ ((format (printf, 3, 4))) static void
report (gboolean good, const char *name, const char *format, ...)
{
  va_list arguments;
  va_start (arguments, format);
  g_autofree char *text = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  g_strdelimit (text, "\n", ' ');
  if (!g_str_has_prefix (text, "# SKIP"))
    g_strdelimit (text, "#", ' ');
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

static PrismBackend *
make_backend (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismBackend) backend = prism_registry_create_backend (prism_registry_get_default (), "native", &error);
  g_assert_no_error (error);
  if (channel != NULL)
    set_by_name (G_OBJECT (backend), "channel", channel);
  if (isolation != NULL)
    set_by_name (G_OBJECT (backend), "isolation", isolation);
  return g_steal_pointer (&backend);
}

static PrismSandboxSpec *
make_spec (const Attack *attack, gboolean with_memory)
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
      if (with_memory)
        g_assert_true (prism_limits_set (limits, "memory-bytes", STAGE_LIMIT_MEMORY, NULL));
    }
  g_object_set (spec, "limits", limits, NULL);
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

static long
resident_kib (void)
{
  struct rusage usage;
  getrusage (RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

/* --- the host's side of the race ---------------------------------------------- */

static gboolean
bytes_hold_bait (GBytes *bytes)
{
  gsize size = 0;
  const void *data = bytes != NULL ? g_bytes_get_data (bytes, &size) : NULL;
  return data != NULL && memmem (data, size, stage.token, strlen (stage.token)) != NULL;
}

/* Everything that takes a path, through the one that is being swapped. */
static const char *
use_swapped_path (PrismSandbox *sandbox)
{
  g_autoptr (GBytes) text = g_bytes_new_static ("overwritten", 11);
  gint64 end = g_get_monotonic_time () + 2 * G_USEC_PER_SEC;
  for (int i = 0; g_get_monotonic_time () < end; i++)
    {
      g_autoptr (GBytes) read = prism_sandbox_read_file (sandbox, "/workspace/race/secret", 0, -1, NULL, NULL);
      if (bytes_hold_bait (read))
        return "read_file followed the swapped link";
      prism_sandbox_write_file (sandbox, "/workspace/race/secret", text, 0600, PRISM_FILE_FLAGS_NONE, NULL, NULL);
      prism_sandbox_remove_file (sandbox, "/workspace/race/secret", PRISM_FILE_FLAGS_NONE, NULL, NULL);
      prism_sandbox_rename_file (sandbox, "/workspace/race/secret", "/workspace/race/moved", PRISM_FILE_FLAGS_OVERWRITE,
                                 NULL, NULL);
      g_autoptr (GListModel) list =
          prism_sandbox_list_files (sandbox, "/workspace/race", PRISM_FILE_FLAGS_RECURSIVE, NULL, NULL);
      g_autoptr (GBytes) found =
          prism_sandbox_search (sandbox, "/workspace/race", BAIT, PRISM_FILE_FLAGS_NONE, 10, NULL, NULL);
      if (bytes_hold_bait (found))
        return "search followed the swapped link";
      if (i % 8 == 0)
        {
          g_autoptr (GOutputStream) tar = g_memory_output_stream_new_resizable ();
          g_autoptr (PrismTreeIdentity) identity =
              prism_sandbox_export_tree (sandbox, "/workspace/race", tar, NULL, NULL);
          g_output_stream_close (tar, NULL, NULL);
          g_autoptr (GBytes) archive = g_memory_output_stream_steal_as_bytes (G_MEMORY_OUTPUT_STREAM (tar));
          if (bytes_hold_bait (archive))
            return "export_tree followed the swapped link";
        }
    }
  return NULL;
}

/* Each answers, within its time, with an error or not. */
static char *
use_odd_files (PrismSandbox *sandbox)
{
  static const char *const leaves[] = { "pipe",  "socket",           "hole",        "chain-0",    "loop",
                                        "magic", "magic/etc/passwd", "zero",        "unreadable", "closed",
                                        "deep",  "growing",          "not\xffutf8", "new\nline",  "-rf",
                                        "" };
  gint64 start = g_get_monotonic_time ();
  const char *slow = NULL;
  for (gsize i = 0; i < G_N_ELEMENTS (leaves) && slow == NULL; i++)
    {
      g_autofree char *path = g_build_filename ("/workspace/odd", leaves[i], NULL);
      g_autoptr (GBytes) read = prism_sandbox_read_file (sandbox, path, 0, -1, NULL, NULL);
      if (read != NULL
          && (g_str_equal (leaves[i], "zero") || g_str_equal (leaves[i], "pipe") || g_str_equal (leaves[i], "hole")))
        return g_strdup_printf ("read_file of %s answered with %zu bytes", leaves[i], g_bytes_get_size (read));
      g_autoptr (PrismFileEntry) entry = prism_sandbox_stat_file (sandbox, path, NULL, NULL);
      g_autoptr (GListModel) list =
          prism_sandbox_list_files (sandbox, path, PRISM_FILE_FLAGS_RECURSIVE | PRISM_FILE_FLAGS_HIDDEN, NULL, NULL);
      if (g_get_monotonic_time () - start > 40 * G_USEC_PER_SEC)
        slow = leaves[i];
    }
  if (slow != NULL)
    return g_strdup_printf ("the file methods hang at %s", slow);
  g_autoptr (GBytes) found =
      prism_sandbox_search (sandbox, "/workspace/odd", "needle", PRISM_FILE_FLAGS_HIDDEN, 10, NULL, NULL);
  g_autoptr (GOutputStream) tar = g_memory_output_stream_new_resizable ();
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismTreeIdentity) identity = prism_sandbox_export_tree (sandbox, "/workspace/odd", tar, NULL, &error);
  if (identity != NULL)
    return g_strdup ("export_tree took a pipe, a socket or a terabyte without a word");
  if (g_get_monotonic_time () - start > 60 * G_USEC_PER_SEC)
    return g_strdup ("search and export took more than 20 seconds");
  prism_sandbox_remove_file (sandbox, "/workspace/odd", PRISM_FILE_FLAGS_RECURSIVE, NULL, NULL);
  return NULL;
}

static void
exec_done (GObject *source, GAsyncResult *result, gpointer user_data)
{
  PrismResult **to = user_data;
  g_autoptr (GError) error = NULL;
  *to = prism_sandbox_exec_finish (PRISM_SANDBOX (source), result, &error);
  g_assert_no_error (error);
}

/* The attack runs while this thread uses the path it swaps. */
static PrismResult *
race (PrismSandbox *sandbox, PrismCommand *command, const char **wrong)
{
  PrismResult *result = NULL;
  prism_command_set_timeout_ms (command, 3000);
  prism_sandbox_exec_async (sandbox, command, NULL, exec_done, &result);
  *wrong = use_swapped_path (sandbox);
  while (result == NULL)
    g_main_context_iteration (NULL, TRUE);
  return result;
}

/* --- one attack ------------------------------------------------------------------ */

static char *
judge_result (const Attack *attack, PrismResult *result, gint64 took_ms)
{
  g_autofree char *text = prism_result_dup_stdout_text (result);
  int code = prism_result_get_exit_code (result);
  text[MIN (strlen (text), 200)] = '\0';
  switch (prism_result_get_outcome (result))
    {
    case PRISM_OUTCOME_EXITED:
      if (code == MALICE_CONTAINED && (attack->needs & MALICE_TIMEOUT))
        return g_strdup_printf ("is said to have exited with %d, but goes on", code);
      if (code == MALICE_CONTAINED)
        return NULL;
      return g_strdup_printf ("exit %d: %s", code, text);
    case PRISM_OUTCOME_SIGNALLED:
      if ((attack->needs & MALICE_DEADLY) || prism_result_get_term_signal (result) == SIGSYS)
        return NULL;
      return g_strdup_printf ("ended by signal %d: %s", prism_result_get_term_signal (result), text);
    case PRISM_OUTCOME_TIMED_OUT:
      if (!(attack->needs & MALICE_TIMEOUT) && !(attack->needs & MALICE_DEADLY))
        return g_strdup_printf ("hung: %s", text);
      if ((attack->needs & MALICE_TIMEOUT) && took_ms > 3000 + TIMEOUT_SLACK_MS)
        return g_strdup_printf ("its timeout took %" G_GINT64_FORMAT " ms", took_ms);
      return NULL;
    case PRISM_OUTCOME_OUTPUT_LIMIT:
      /* A child that floods the pipes may be over it before the command's end is known. */
      if (strcmp (attack->name, "output_flood") == 0 || strcmp (attack->name, "hold_pipes") == 0)
        return NULL;
      return g_strdup ("over its output limit");
    case PRISM_OUTCOME_LOST:
      return g_strdup ("the sandbox was lost: its agent died");
    case PRISM_OUTCOME_CANCELLED:
    case PRISM_OUTCOME_WALL_EXCEEDED:
    default:
      return g_strdup_printf ("outcome %d", prism_result_get_outcome (result));
    }
}

/* Does it still serve? */
static char *
judge_sandbox (PrismSandbox *sandbox)
{
  g_autoptr (GError) error = NULL;
  const char *const argv[] = { STAGE_MOUNT "/malice", "--list", NULL };
  g_autoptr (PrismCommand) command = prism_command_new (argv);
  prism_command_set_timeout_ms (command, PATIENCE_MS);
  g_autoptr (PrismResult) result = prism_sandbox_exec (sandbox, command, NULL, &error);
  if (result == NULL)
    return g_strdup_printf ("the sandbox serves no more: %s", error->message);
  if (prism_result_get_exit_code (result) != 0)
    return g_strdup_printf ("the next command's outcome is %d, exit %d", prism_result_get_outcome (result),
                            prism_result_get_exit_code (result));
  return NULL;
}

static char *
judge_ended (const Attack *attack)
{
  if ((attack->needs & MALICE_TIMEOUT) && !stage_wait_unmarked (&stage, 3000))
    return g_strdup_printf ("%d processes outlive the timeout", stage_count_marked (&stage));
  if (strcmp (attack->name, "moving_target") == 0 && !stage_wait_heartbeat (&stage, 2000))
    return g_strdup ("the moving target moves on after the timeout");
  return NULL;
}

static char *
judge_closed (void)
{
  char text[512];
  if (!stage_wait_unmarked (&stage, 3000))
    return g_strdup_printf ("%d processes outlive the sandbox", stage_count_marked (&stage));
  return g_strdup (stage_damage (&stage, text));
}

static char *
judge_copy (const Attack *attack)
{
  g_autofree char *kept = g_build_filename (stage.workspace, "kept", NULL);
  g_autofree char *through = g_build_filename (stage.workspace, "through-copy", NULL);
  g_autofree char *tree = g_build_filename (stage.workspace, "tree", NULL);
  g_autofree char *text = NULL;
  if (!(attack->needs & MALICE_COPY))
    return NULL;
  if (!g_file_get_contents (kept, &text, NULL, NULL) || strcmp (text, "kept\n") != 0)
    return g_strdup ("the host's file was changed through the copy");
  if (g_file_test (through, G_FILE_TEST_EXISTS) || !g_file_test (tree, G_FILE_TEST_IS_DIR))
    return g_strdup ("the host's folder was changed through the copy");
  return NULL;
}

static char *
judge_memory (const Attack *attack, long before_kib)
{
  long grown = resident_kib () - before_kib;
  if (g_str_has_suffix (attack->name, "_flood") || strcmp (attack->name, "hold_pipes") == 0)
    if (grown > 200 * 1024)
      return g_strdup_printf ("the host program grew by %ld KiB", grown);
  return NULL;
}

static gboolean
memory_is_not_enforced (PrismSandbox *sandbox, const char **evidence)
{
  g_autoptr (PrismCapabilities) capabilities = prism_sandbox_dup_capabilities (sandbox);
  const char *text = prism_capabilities_get_evidence (capabilities, "memory-bytes");
  *evidence = g_intern_string (text != NULL ? text : "");
  return text == NULL || strstr (text, "not enforced") != NULL;
}

static PrismSandbox *
create (PrismBackend *backend, const Attack *attack, gboolean *memory_refused, GError **error)
{
  g_autoptr (GError) local = NULL;
  g_autoptr (PrismSandboxSpec) spec = make_spec (attack, TRUE);
  PrismSandbox *sandbox = prism_backend_create_sandbox (backend, spec, NULL, &local);
  *memory_refused = FALSE;
  if (sandbox != NULL)
    return sandbox;
  if (!(attack->needs & MALICE_LIMITED) || strstr (local->message, "memory-bytes") == NULL)
    {
      g_propagate_error (error, g_steal_pointer (&local));
      return NULL;
    }
  /* Refused as it cannot be enforced: then without it. */
  *memory_refused = TRUE;
  g_autoptr (PrismSandboxSpec) weaker = make_spec (attack, FALSE);
  return prism_backend_create_sandbox (backend, weaker, NULL, error);
}

static void
run_attack (PrismBackend *backend, const Attack *attack)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *wrong = NULL;
  const char *raced = NULL, *evidence;
  gboolean memory_refused;
  long before_kib = resident_kib ();
  gint64 begun = g_get_monotonic_time ();
  stage_refresh (&stage, geteuid ());
  g_autoptr (PrismSandbox) sandbox = create (backend, attack, &memory_refused, &error);
  if (sandbox == NULL)
    {
      report (FALSE, attack->name, "no sandbox: %s", error->message);
      return;
    }
  if ((attack->needs & MALICE_MEMORY) && memory_refused && memory_is_not_enforced (sandbox, &evidence))
    {
      report (TRUE, attack->name, "# SKIP the limit is refused here, and its default is said to be: %s", evidence);
      prism_sandbox_close (sandbox, NULL, NULL);
      return;
    }
  g_autoptr (PrismCommand) command = make_command (attack);
  gint64 start = g_get_monotonic_time ();
  g_autoptr (PrismResult) result = strcmp (attack->name, "swap_path") == 0
                                       ? race (sandbox, command, &raced)
                                       : prism_sandbox_exec (sandbox, command, NULL, &error);
  gint64 took_ms = (g_get_monotonic_time () - start) / 1000;
  if (result == NULL)
    wrong = g_strdup_printf ("not run: %s", error->message);
  else if (raced != NULL)
    wrong = g_strdup (raced);
  else
    wrong = judge_result (attack, result, took_ms);
  if (wrong == NULL && strcmp (attack->name, "odd_files") == 0)
    wrong = use_odd_files (sandbox);
  if (wrong == NULL)
    wrong = judge_ended (attack);
  if (wrong == NULL)
    wrong = judge_sandbox (sandbox);
  g_clear_error (&error);
  start = g_get_monotonic_time ();
  if (!prism_sandbox_close (sandbox, NULL, &error) && wrong == NULL)
    wrong = g_strdup_printf ("close: %s", error->message);
  if (wrong == NULL && g_get_monotonic_time () - start > 5 * G_USEC_PER_SEC)
    wrong = g_strdup ("close took more than five seconds");
  if (wrong == NULL)
    wrong = judge_closed ();
  if (wrong == NULL)
    wrong = judge_copy (attack);
  if (wrong == NULL)
    wrong = judge_memory (attack, before_kib);
  report (wrong == NULL, attack->name, "%s (%" G_GINT64_FORMAT " ms)", wrong != NULL ? wrong : "contained",
          (g_get_monotonic_time () - begun) / 1000);
}

/* The weaker mode: what it does not claim is there to be seen, what it claims holds. */
static void
run_network_only (PrismBackend *backend, const Attack *attack)
{
  gboolean weak = g_strv_contains (weak_in_network_only, attack->name);
  g_autoptr (GError) error = NULL;
  if (!weak && !g_strv_contains (strong_in_network_only, attack->name))
    return;
  stage_refresh (&stage, geteuid ());
  g_autoptr (PrismSandboxSpec) spec = prism_sandbox_spec_new (NULL);
  g_autoptr (GFile) workspace = g_file_new_for_path (stage.workspace);
  g_object_set (spec, "workspace", workspace, NULL);
  g_autoptr (PrismSandbox) sandbox = prism_backend_create_sandbox (backend, spec, NULL, &error);
  if (sandbox == NULL)
    {
      report (FALSE, attack->name, "no sandbox: %s", error->message);
      return;
    }
  g_autoptr (PrismCapabilities) capabilities = prism_sandbox_dup_capabilities (sandbox);
  g_autofree char *program = g_build_filename (stage.mount, "malice", NULL);
  const char *const argv[] = { program, attack->name, stage.mark, NULL };
  g_autoptr (PrismCommand) command = prism_command_new (argv);
  for (int i = 0; stage.variables[i] != NULL; i++)
    {
      g_auto (GStrv) pair = g_strsplit (stage.variables[i], "=", 2);
      prism_command_set_variable (command, pair[0], pair[1]);
    }
  prism_command_set_timeout_ms (command, PATIENCE_MS);
  g_autoptr (PrismResult) result = prism_sandbox_exec (sandbox, command, NULL, &error);
  if (result == NULL)
    report (FALSE, attack->name, "not run: %s", error->message);
  else if (weak
           && (prism_capabilities_get_filesystem_isolated (capabilities)
               || prism_capabilities_get_process_isolated (capabilities)))
    report (FALSE, attack->name, "the report claims more than network-only gives");
  else if (weak)
    report (prism_result_get_exit_code (result) == MALICE_ESCAPED, attack->name,
            "is open, as the report says (exit %d)", prism_result_get_exit_code (result));
  else
    {
      g_autofree char *wrong = judge_result (attack, result, 0);
      report (wrong == NULL, attack->name, "%s", wrong != NULL ? wrong : "contained");
    }
  prism_sandbox_close (sandbox, NULL, NULL);
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
    { "channel", 0, 0, G_OPTION_ARG_STRING, &channel, "the backend's channel", "NAME" },
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
  for (gsize i = 0; i < G_N_ELEMENTS (attacks); i++)
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
