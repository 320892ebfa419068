/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What libprism is measured against: the bare calls, bubblewrap with the same
 * shape, and workers that speak a line a round (sandbox-runtime in node). */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Ours finds its parts through the environment when it is not installed. */
extern char **environ;

static char **other_environment;

void
peer_use_environment (char **environment)
{
  other_environment = environment;
}

static gboolean
ended_well (pid_t pid)
{
  int status;
  while (waitpid (pid, &status, 0) < 0)
    if (errno != EINTR)
      return FALSE;
  return WIFEXITED (status) && WEXITSTATUS (status) == 0;
}

gboolean
peer_spawn (const char *const *argv, const char *cwd, int out)
{
  posix_spawn_file_actions_t actions;
  pid_t pid;
  posix_spawn_file_actions_init (&actions);
  if (out >= 0)
    posix_spawn_file_actions_adddup2 (&actions, out, 1);
  if (cwd != NULL)
    posix_spawn_file_actions_addchdir_np (&actions, cwd);
  int failed = posix_spawnp (&pid, argv[0], &actions, NULL, (char *const *)argv,
                             other_environment != NULL ? other_environment : environ);
  posix_spawn_file_actions_destroy (&actions);
  return failed == 0 && ended_well (pid);
}

gboolean
peer_vfork (const char *program)
{
  char *const argv[] = { (char *)program, NULL };
  pid_t pid = vfork ();
  if (pid == 0)
    {
      execve (program, argv, environ);
      _exit (127);
    }
  return pid > 0 && ended_well (pid);
}

/* The same as a native sandbox: every namespace, a root of read-only system
 * folders, proc, dev, private /tmp and home, the workspace, no capability. */
char **
peer_bwrap (Bench *bench, const char *const *argv)
{
  g_autoptr (GStrvBuilder) builder = g_strv_builder_new ();
  const char *const head[] = { "bwrap",
                               "--unshare-all",
                               "--die-with-parent",
                               "--new-session",
                               "--cap-drop",
                               "ALL",
                               "--clearenv",
                               "--uid",
                               "10001",
                               "--gid",
                               "10001",
                               "--unshare-user",
                               "--ro-bind",
                               "/usr",
                               "/usr",
                               "--symlink",
                               "usr/bin",
                               "/bin",
                               "--symlink",
                               "usr/lib",
                               "/lib",
                               "--symlink",
                               "usr/lib64",
                               "/lib64",
                               "--symlink",
                               "usr/sbin",
                               "/sbin",
                               "--ro-bind",
                               "/etc/ssl",
                               "/etc/ssl",
                               "--ro-bind",
                               "/etc/alternatives",
                               "/etc/alternatives",
                               "--ro-bind",
                               "/etc/ld.so.cache",
                               "/etc/ld.so.cache",
                               "--proc",
                               "/proc",
                               "--dev",
                               "/dev",
                               "--tmpfs",
                               "/tmp",
                               "--tmpfs",
                               "/home/prism",
                               "--bind",
                               NULL };
  g_strv_builder_addv (builder, (const char **)head);
  g_strv_builder_add_many (builder, bench->workspace, "/workspace", "--chdir", "/workspace", "--", NULL);
  g_strv_builder_addv (builder, (const char **)argv);
  return g_strv_builder_end (builder);
}

double
peer_run_bwrap (gpointer data)
{
  static char **argv;
  const char *const inside[] = { "/workspace/true-min", NULL };
  if (g_once_init_enter (&argv))
    g_once_init_leave (&argv, peer_bwrap (data, inside));
  double start = bench_now_us ();
  return peer_spawn ((const char *const *)argv, NULL, -1) ? bench_now_us () - start : -1;
}

double
peer_run_bwrap_true (gpointer data)
{
  static char **argv;
  const char *const inside[] = { "true", NULL };

  if (argv == NULL)
    argv = peer_bwrap (data, inside);
  double start = bench_now_us ();
  return peer_spawn ((const char *const *)argv, NULL, -1) ? bench_now_us () - start : -1;
}

struct _PeerWorker
{
  GSubprocess *process;
  GDataInputStream *answers;
};

PeerWorker *
peer_worker_new (const char *const *argv, const char *cwd)
{
  g_autoptr (GSubprocessLauncher) launcher =
      g_subprocess_launcher_new (G_SUBPROCESS_FLAGS_STDIN_PIPE | G_SUBPROCESS_FLAGS_STDOUT_PIPE);
  g_subprocess_launcher_set_cwd (launcher, cwd);
  g_autoptr (GSubprocess) process = g_subprocess_launcher_spawnv (launcher, argv, NULL);
  if (process == NULL)
    return NULL;
  PeerWorker *self = g_new0 (PeerWorker, 1);
  self->answers = g_data_input_stream_new (g_subprocess_get_stdout_pipe (process));
  self->process = g_steal_pointer (&process);
  g_autofree char *ready = g_data_input_stream_read_line (self->answers, NULL, NULL, NULL);
  if (g_strcmp0 (ready, "ready") == 0)
    return self;
  peer_worker_free (self);
  return NULL;
}

double
peer_worker_round (gpointer data)
{
  PeerWorker *self = data;
  GOutputStream *in = g_subprocess_get_stdin_pipe (self->process);
  if (!g_output_stream_write_all (in, "go\n", 3, NULL, NULL, NULL))
    return -1;
  g_autofree char *line = g_data_input_stream_read_line (self->answers, NULL, NULL, NULL);
  return line != NULL ? g_ascii_strtod (line, NULL) : -1;
}

void
peer_worker_free (PeerWorker *self)
{
  if (self == NULL)
    return;
  g_output_stream_close (g_subprocess_get_stdin_pipe (self->process), NULL, NULL);
  if (!g_subprocess_wait (self->process, NULL, NULL))
    g_subprocess_force_exit (self->process);
  g_object_unref (self->answers);
  g_object_unref (self->process);
  g_free (self);
}
