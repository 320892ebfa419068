/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Odd roots, machines that cannot, and ends that nobody planned. */
#include <errno.h>
#include <fcntl.h>
#include <gio/gio.h>
#include <glib/gstdio.h>
#include <libprism/prism.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "by-library.h"
#include "native-fixture.h"
#include "own-agent.h"

static PrismSandbox *
create_on (const char *path, PrismWorkspaceMode mode, GError **error)
{
  g_autoptr (PrismBackend) backend = prism_registry_create_backend (prism_registry_get_default (), "native", error);
  g_autoptr (GFile) folder = g_file_new_for_path (path);
  g_autoptr (PrismSandboxSpec) spec = prism_sandbox_spec_new (folder);

  g_object_set (spec, "workspace-mode", mode, NULL);
  return backend != NULL ? prism_backend_create_sandbox (backend, spec, NULL, error) : NULL;
}

static void
assert_works (const char *path)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismSandbox) sandbox = create_on (path, PRISM_WORKSPACE_MODE_DIRECT, &error);
  g_autofree char *output = NULL;

  g_assert_no_error (error);
  output = library_run (sandbox, "cat file && pwd");
  g_assert_cmpstr (output, ==, "host\n/workspace");
  g_assert_true (prism_sandbox_close (sandbox, NULL, NULL));
}

static void
assert_refused (const char *path)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismSandbox) sandbox = create_on (path, PRISM_WORKSPACE_MODE_DIRECT, &error);

  g_assert_null (sandbox);
  g_assert_nonnull (error);
  g_test_message ("%s: %s", path, error->message);
  g_assert_nonnull (strstr (error->message, path));
}

/* The root as a link, with a slash at its end, by "..", a dangling link, a file, "/". */
static void
test_roots (NativeFixture *f, gconstpointer data)
{
  g_autofree char *folder = g_build_filename (f->folder, "a b:c,d", NULL);
  g_autofree char *file = g_build_filename (folder, "file", NULL);
  g_autofree char *link = g_build_filename (f->folder, "link", NULL);
  g_autofree char *dangling = g_build_filename (f->folder, "dangling", NULL);
  g_autofree char *slash = g_strconcat (folder, "/", NULL);
  g_autofree char *dots = g_build_filename (folder, "..", "link", ".", NULL);

  g_assert_cmpint (g_mkdir (folder, 0755), ==, 0);
  g_assert_true (g_file_set_contents (file, "host\n", -1, NULL));
  g_assert_cmpint (symlink ("a b:c,d", link), ==, 0);
  g_assert_cmpint (symlink ("nowhere", dangling), ==, 0);
  assert_works (folder);
  assert_works (link);
  assert_works (slash);
  assert_works (dots);
  assert_refused (dangling);
  assert_refused (file);
  assert_refused ("/");
  assert_refused ("/proc/sys");
}

/* A fork of the test, which then is a machine that cannot do @number; its status is
 * 0 when the start was refused with an error that has @word in it. */
static int
in_poor_machine (long number, const char *folder, const char *word)
{
  struct sock_filter code[] = {
    BPF_STMT (BPF_LD | BPF_W | BPF_ABS, offsetof (struct seccomp_data, nr)),
    BPF_JUMP (BPF_JMP | BPF_JEQ | BPF_K, (guint32)number, 0, 1),
    BPF_STMT (BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
    BPF_STMT (BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = { G_N_ELEMENTS (code), code };
  pid_t pid = fork ();
  int status;

  if (pid == 0)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (PrismSandbox) sandbox = NULL;
      if (prctl (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
        _exit (3);
      sandbox = create_on (folder, PRISM_WORKSPACE_MODE_READONLY, &error);
      if (sandbox != NULL || !g_error_matches (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_UNAVAILABLE))
        {
          g_printerr ("%ld: %s\n", number, error != NULL ? error->message : "it started");
          _exit (1);
        }
      _exit (strstr (error->message, word) != NULL ? 0 : 2);
    }
  g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);
  return status;
}

static void
test_poor_machines (NativeFixture *f, gconstpointer data)
{
  /* Never less than asked: each of these ends the start, with what to do about it. */
  static const long calls[] = { SYS_move_mount, SYS_fsmount, SYS_pivot_root,   SYS_umount2,
                                SYS_unshare,    SYS_setns,   SYS_mount_setattr };

  for (guint i = 0; i < G_N_ELEMENTS (calls); i++)
    {
      int status = in_poor_machine (calls[i], f->folder, "; ");
      if (status != 0)
        g_error ("without system call %ld: status %x", calls[i], (guint)status);
    }
}

static gboolean
wait_for_no_agents (void)
{
  gint64 end = g_get_monotonic_time () + 20 * G_USEC_PER_SEC;
  struct pollfd none = { -1, 0, 0 };

  while (own_agent_count () > 0)
    {
      if (g_get_monotonic_time () > end)
        return FALSE;
      poll (&none, 1, 5);
    }
  return TRUE;
}

/* A host that makes sandboxes until it is killed. */
static void
be_host (const char *folder, int tell)
{
  for (;;)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (PrismSandbox) sandbox = create_on (folder, PRISM_WORKSPACE_MODE_DIRECT, &error);
      g_autofree char *output = NULL;
      if (sandbox == NULL)
        _exit (1);
      output = library_run (sandbox, "sleep 300 & setsid sleep 300 & cat file");
      if (write (tell, "x", 1) != 1)
        _exit (1);
    }
}

static char *
describe (const char *folder)
{
  g_autofree char *command = g_strdup_printf ("find '%s' -printf '%%p %%y %%m %%U %%G %%s %%t %%l\\n'", folder);
  char *output = NULL;

  g_assert_true (g_spawn_command_line_sync (command, &output, NULL, NULL, NULL));
  return output;
}

static void
test_killed_hosts (NativeFixture *f, gconstpointer data)
{
  g_autofree char *file = g_build_filename (f->folder, "file", NULL);
  g_autofree char *before = NULL, *after = NULL;
  g_autoptr (GRand) rand = g_rand_new_with_seed (42);

  g_assert_true (g_file_set_contents (file, "host\n", -1, NULL));
  before = describe (f->folder);
  for (guint i = 0; i < 12; i++)
    {
      guint count = g_rand_int_range (rand, 0, 3);
      int ends[2], status;
      pid_t pid;
      char byte;
      g_assert_cmpint (pipe2 (ends, O_CLOEXEC), ==, 0);
      pid = fork ();
      if (pid == 0)
        be_host (f->folder, ends[1]);
      close (ends[1]);
      for (guint k = 0; k < count; k++)
        g_assert_cmpint (read (ends[0], &byte, 1), ==, 1);
      /* Somewhere in the making of the next one. */
      for (guint k = g_rand_int_range (rand, 0, 200000); k > 0; k--)
        g_atomic_int_get (&status);
      kill (pid, SIGKILL);
      g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);
      close (ends[0]);
    }
  g_assert_true (wait_for_no_agents ());
  after = describe (f->folder);
  g_assert_cmpstr (before, ==, after);
}

/* A keeper that is killed takes its sandbox with it; its control groups are reaped. */
static void
test_killed_keeper (NativeFixture *f, gconstpointer data)
{
  NativeClient *client = native_client_new (&f->asked);
  pid_t keeper = prism_native_launcher_get_pid (client->launcher);
  g_autoptr (GError) error = NULL;

  if (keeper < 0)
    {
      native_client_free (client);
      return; /* by the launcher that stays: its keepers are not this process's */
    }
  g_assert_cmpint (kill (keeper, SIGKILL), ==, 0);
  prism_native_launcher_end (client->launcher, g_get_monotonic_time () + 20 * G_USEC_PER_SEC, &error);
  g_assert_no_error (error);
  prism_native_launcher_free (client->launcher);
  close (client->control);
  g_free (client);
  g_assert_true (wait_for_no_agents ());
}

/* A v2 group for the freezer alone, as it would be one of the plan's where v2 has the
 * controllers: everything in the first group is moved there, and stands still. */
static void
test_second_freezer (NativeFixture *f, gconstpointer data)
{
  const char *parent = prism_native_cgroup_get ()->parents[PRISM_NATIVE_CONTROLLER_PIDS];
  char first[PATH_MAX], top[PATH_MAX] = "";
  g_autofree char *mountinfo = NULL, *own = NULL, *folder = NULL, *freezer = NULL, *events = NULL;
  g_autofree char *text = NULL, *count = NULL, *before = NULL, *after = NULL;
  PrismNativeGroup group = { .entry = "tasks" };
  g_autoptr (GError) error = NULL;
  NativeClient *client;
  gint64 until;

  g_file_get_contents ("/proc/self/mountinfo", &mountinfo, NULL, NULL);
  g_file_get_contents ("/proc/self/cgroup", &own, NULL, NULL);
  prism_native_cgroup_find_own (mountinfo, own, NULL, first, top);
  if (geteuid () != 0 || parent == NULL || prism_native_cgroup_get ()->unified[PRISM_NATIVE_CONTROLLER_PIDS]
      || top[0] == '\0')
    return; /* no v2 hierarchy beside v1's */
  folder = g_strdup_printf ("%s/prism-test-%d", parent, (int)getpid ());
  freezer = g_strdup_printf ("%s/prism-test-%d", top, (int)getpid ());
  group.folder = folder;
  f->asked.groups = &group;
  f->asked.n_groups = 1;
  client = native_client_new (&f->asked);
  native_assert_sh (client, "(n=0; while :; do n=$((n+1)); echo $n > n; done) > /dev/null 2>&1 & echo begun", "begun");
  count = g_build_filename (f->folder, "n", NULL);
  until = g_get_monotonic_time () + 20 * G_USEC_PER_SEC;
  while (!g_file_test (count, G_FILE_TEST_EXISTS))
    g_assert_cmpint (g_get_monotonic_time (), <, until);

  prism_native_launcher_freeze (client->launcher, freezer, until, NULL, &error);
  g_assert_no_error (error);
  events = g_build_filename (freezer, "cgroup.events", NULL);
  g_assert_true (g_file_get_contents (events, &text, NULL, NULL));
  g_assert_nonnull (strstr (text, "frozen 1"));
  g_file_get_contents (count, &before, NULL, NULL);
  for (gint64 later = g_get_monotonic_time () + G_USEC_PER_SEC / 5; g_get_monotonic_time () < later;)
    ;
  g_file_get_contents (count, &after, NULL, NULL);
  g_assert_cmpstr (before, ==, after);
  prism_native_launcher_freeze (client->launcher, NULL, until, NULL, &error);
  g_assert_no_error (error);
  native_assert_sh (client, "echo again", "again");
  prism_native_launcher_freeze (client->launcher, freezer, until, NULL, &error);
  g_assert_no_error (error);
  native_client_free (client);
  g_assert_false (g_file_test (freezer, G_FILE_TEST_EXISTS));
  g_assert_false (g_file_test (folder, G_FILE_TEST_EXISTS));
}

static void
test_reap (NativeFixture *f, gconstpointer data)
{
  const PrismNativeCgroup *cgroup = prism_native_cgroup_get ();
  const char *parent = cgroup->parents[PRISM_NATIVE_CONTROLLER_PIDS];
  g_autoptr (GError) error = NULL;
  g_autofree char *left = NULL;
  g_auto (GStrv) references = NULL;
  g_autoptr (PrismBackend) backend = NULL;
  g_autoptr (PrismSandbox) live = NULL;

  if (parent == NULL)
    return; /* nothing can be left */
  backend = prism_registry_create_backend (prism_registry_get_default (), "native", &error);
  live = create_on (f->folder, PRISM_WORKSPACE_MODE_DIRECT, &error);
  g_assert_no_error (error);
  left = g_build_filename (parent, "prism-0123456789abcdef0123456789abcdef", NULL);
  g_assert_cmpint (g_mkdir (left, 0755), ==, 0);
  references = prism_backend_list_sandboxes (backend, NULL, &error);
  g_assert_true (g_strv_contains ((const char *const *)references, "native:0123456789abcdef0123456789abcdef"));
  g_assert_cmpint (prism_backend_reap (backend, NULL, &error), >=, 1);
  g_assert_no_error (error);
  g_assert_false (g_file_test (left, G_FILE_TEST_EXISTS));
  /* A live one keeps its own. */
  g_autofree char *output = library_run (live, "echo alive");
  g_assert_cmpstr (output, ==, "alive");
  g_assert_true (prism_sandbox_close (live, NULL, NULL));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  native_add_test ("/native/odd/roots", test_roots);
  native_add_test ("/native/odd/poor-machines", test_poor_machines);
  native_add_test ("/native/odd/killed-hosts", test_killed_hosts);
  native_add_test ("/native/odd/killed-keeper", test_killed_keeper);
  native_add_test ("/native/odd/second-freezer", test_second_freezer);
  native_add_test ("/native/odd/reap", test_reap);
  return own_agent_test_run ();
}
