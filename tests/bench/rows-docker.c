/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A container of docker's: by our agent, and as docker itself does it with the same
 * flags. tests/docker/with-docker starts the engine that both use. */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <gio/gunixoutputstream.h>
#include <gio/gunixsocketaddress.h>
#include <sched.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define STREAM_MIB 128

extern char **environ;

typedef struct
{
  Bench *bench;
  const char *socket, *image;
  char *host; /* --host=… */
  char *tree;
  char *live; /* the peer's container */
  char *pid;  /* of its first process */
  char *open; /* one that `docker cp` can write to */
  char *cpu;  /* of both ends of a stream; NULL: as the kernel places them */
  PrismBackend *backend;
  PrismSandbox *sandbox, *native;
} Docker;

static const char *const true_static[] = { "/workspace/true-min", NULL };

/* --- the peers -------------------------------------------------------------------------- */

/* docker --host=… ARGUMENTS; what it writes goes to @out. */
static pid_t
spawn_docker (Docker *self, const char *const *arguments, int in, int out)
{
  g_autoptr (GPtrArray) argv = g_ptr_array_new ();
  posix_spawn_file_actions_t actions;
  pid_t pid = -1;

  g_ptr_array_add (argv, (gpointer) "docker");
  g_ptr_array_add (argv, self->host);
  for (; *arguments != NULL; arguments++)
    g_ptr_array_add (argv, (gpointer)*arguments);
  g_ptr_array_add (argv, NULL);
  posix_spawn_file_actions_init (&actions);
  if (in >= 0)
    posix_spawn_file_actions_adddup2 (&actions, in, 0);
  if (out >= 0)
    posix_spawn_file_actions_adddup2 (&actions, out, 1);
  if (posix_spawnp (&pid, "docker", &actions, NULL, (char **)argv->pdata, environ) != 0)
    pid = -1;
  posix_spawn_file_actions_destroy (&actions);
  return pid;
}

static gboolean
reap (pid_t pid)
{
  int status;
  return pid > 0 && waitpid (pid, &status, 0) == pid && WIFEXITED (status) && WEXITSTATUS (status) == 0;
}

static gboolean
run_docker (Docker *self, const char *const *arguments)
{
  int nothing = open ("/dev/null", O_RDWR | O_CLOEXEC);
  gboolean good = reap (spawn_docker (self, arguments, nothing, nothing));
  close (nothing);
  return good;
}

static double
cli_exec (gpointer data)
{
  Docker *self = data;
  const char *const argv[] = { "exec", self->live, "/workspace/true-min", NULL };
  double start = bench_now_us ();
  return run_docker (self, argv) ? bench_now_us () - start : -1;
}

/* One request on a connection of its own; the body, or NULL. */
static char *
ask (Docker *self, const char *method, const char *path, const char *body)
{
  g_autoptr (GSocketClient) client = g_socket_client_new ();
  g_autoptr (GSocketAddress) address = g_unix_socket_address_new (self->socket);
  g_autoptr (GSocketConnection) connection =
      g_socket_client_connect (client, G_SOCKET_CONNECTABLE (address), NULL, NULL);
  g_autofree char *head = g_strdup_printf ("%s /v1.41%s HTTP/1.1\r\nHost: docker\r\nConnection: close\r\n"
                                           "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                                           method, path, strlen (body), body);
  g_autoptr (GString) answer = g_string_new (NULL);
  char block[4096], *end;
  gssize n;

  if (connection == NULL
      || !g_output_stream_write_all (g_io_stream_get_output_stream (G_IO_STREAM (connection)), head, strlen (head),
                                     NULL, NULL, NULL))
    return NULL;
  while ((n = g_input_stream_read (g_io_stream_get_input_stream (G_IO_STREAM (connection)), block, sizeof block, NULL,
                                   NULL))
         > 0)
    g_string_append_len (answer, block, n);
  end = strstr (answer->str, "\r\n\r\n");
  return g_str_has_prefix (answer->str, "HTTP/1.1 2") && end != NULL ? g_strdup (end + 4) : NULL;
}

/* As the program does it: create, start, read to the end, ask for the exit code. */
static double
api_exec (gpointer data)
{
  Docker *self = data;
  g_autofree char *create = g_strdup_printf ("/containers/%s/exec", self->live), *start = NULL, *look = NULL;
  double begun = bench_now_us ();
  g_autofree char *made =
      ask (self, "POST", create, "{\"AttachStdout\":true,\"AttachStderr\":true,\"Cmd\":[\"/workspace/true-min\"]}");
  const char *id = made != NULL ? strstr (made, "\"Id\":\"") : NULL;
  g_autofree char *name = id != NULL ? g_strndup (id + 6, 64) : NULL, *output = NULL, *state = NULL;

  if (name == NULL)
    return -1;
  start = g_strdup_printf ("/exec/%s/start", name);
  look = g_strdup_printf ("/exec/%s/json", name);
  output = ask (self, "POST", start, "{\"Detach\":false,\"Tty\":false}");
  state = ask (self, "GET", look, "");
  return output != NULL && state != NULL && strstr (state, "\"ExitCode\":0") != NULL ? bench_now_us () - begun : -1;
}

#define CONFINED                                                                                                       \
  "--network=none", "--cap-drop=ALL", "--security-opt=no-new-privileges", "--read-only", "--user=10001:10001",         \
      "--pids-limit=256", "--memory=2g", "--memory-swap=2g", "--cpus=2", "--ipc=private", "--log-driver=none"
#define TMPFS "--tmpfs=/workspace:rw,exec,nosuid,nodev,size=1g,uid=10001,gid=10001"

/* To its first output. */
static double
cli_run (gpointer data)
{
  Docker *self = data;
  const char *const argv[] = { "run",       "--rm", CONFINED, TMPFS, "--tmpfs=/tmp:rw,exec,size=256m",
                               self->image, "echo", "here",   NULL };
  int ends[2];
  char byte;
  double start = bench_now_us (), us;
  pid_t pid;

  g_assert_cmpint (pipe2 (ends, O_CLOEXEC), ==, 0);
  pid = spawn_docker (self, argv, -1, ends[1]);
  close (ends[1]);
  us = read (ends[0], &byte, 1) == 1 ? bench_now_us () - start : -1;
  close (ends[0]);
  return reap (pid) ? us : -1;
}

/* This thread on the row's CPU, or where it was. What is between the two ends of a stream
 * is spawned before, and stays free. */
static void
stay (Docker *self, cpu_set_t *before)
{
  cpu_set_t set;

  sched_getaffinity (0, sizeof *before, before);
  CPU_ZERO (&set);
  if (self->cpu != NULL)
    CPU_SET (atoi (self->cpu), &set);
  sched_setaffinity (0, sizeof set, self->cpu != NULL ? &set : before);
}

/* Reads all from @fd; MB a second since @start, 0: since the first of it is there. */
static double
read_stream (Docker *self, int fd, double start)
{
  static char block[1 << 18];
  guint64 total = 0;
  cpu_set_t before;
  double us;

  stay (self, &before);
  for (ssize_t n; (n = read (fd, block, sizeof block)) > 0; total += (guint64)n)
    if (start == 0)
      start = bench_now_us ();
  us = bench_now_us () - start;
  sched_setaffinity (0, sizeof before, &before);
  return total == (guint64)STREAM_MIB << 20 ? total / us : -1;
}

static double
cli_stream (gpointer data)
{
  Docker *self = data;
  const char *const argv[] = { "exec", self->live, "/workspace/flood", G_STRINGIFY (STREAM_MIB), self->cpu, NULL };
  int ends[2];
  double start = bench_now_us (), rate;
  pid_t pid;

  g_assert_cmpint (pipe2 (ends, O_CLOEXEC), ==, 0);
  pid = spawn_docker (self, argv, -1, ends[1]);
  close (ends[1]);
  rate = read_stream (self, ends[0], start);
  close (ends[0]);
  return reap (pid) ? rate : -1;
}

/* What the kernel allows anybody here: the same program in the peer's container, into a pipe
 * of the largest size that is read without anything between, from its first byte on. */
static double
plain_stream (gpointer data)
{
  Docker *self = data;
  const char *const argv[] = { "nsenter", "--target", self->pid, "--mount",          "--pid",
                               "--net",   "--ipc",    "--uts",   "/workspace/flood", G_STRINGIFY (STREAM_MIB),
                               self->cpu, NULL };
  posix_spawn_file_actions_t actions;
  int ends[2];
  double rate;
  pid_t pid = -1;

  g_assert_cmpint (pipe2 (ends, O_CLOEXEC), ==, 0);
  fcntl (ends[0], F_SETPIPE_SZ, 1 << 20);
  posix_spawn_file_actions_init (&actions);
  posix_spawn_file_actions_adddup2 (&actions, ends[1], 1);
  if (posix_spawnp (&pid, argv[0], &actions, NULL, (char **)argv, environ) != 0)
    pid = -1;
  posix_spawn_file_actions_destroy (&actions);
  close (ends[1]);
  rate = read_stream (self, ends[0], 0);
  close (ends[0]);
  return reap (pid) ? rate : -1;
}

static double shell (Docker *self, const char *format, ...) G_GNUC_PRINTF (2, 3);

static double
shell (Docker *self, const char *format, ...)
{
  va_list arguments;
  g_autofree char *line = NULL;
  double start;

  va_start (arguments, format);
  line = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  const char *const argv[] = { "sh", "-c", line, NULL };
  start = bench_now_us ();
  return peer_spawn (argv, NULL, -1) ? bench_now_us () - start : -1;
}

static double
tar_in (gpointer data)
{
  Docker *self = data;
  double us = shell (self, "tar -C '%s' -cf - . | docker %s exec -i %s tar -C /tmp/in -xf -", self->tree, self->host,
                     self->live);
  shell (self, "docker %s exec %s sh -c 'rm -rf /tmp/in/*'", self->host, self->live);
  return us;
}

static double
tar_out (gpointer data)
{
  Docker *self = data;
  return shell (self, "docker %s exec %s tar -C /tmp/kept -cf - . | cat > /dev/null", self->host, self->live);
}

static double
cp_in (gpointer data)
{
  Docker *self = data;
  double us = shell (self, "docker %s cp -q '%s' %s:/in 2> /dev/null || docker %s cp '%s' %s:/in", self->host,
                     self->tree, self->open, self->host, self->tree, self->open);
  shell (self, "docker %s exec %s rm -rf /in", self->host, self->open);
  return us;
}

/* Into a folder on tmpfs, as it is used. */
static double
cp_out (gpointer data)
{
  Docker *self = data;
  g_autofree char *out = g_build_filename (self->bench->folder, "docker-out", NULL);
  double us = shell (self, "docker %s cp %s:/kept '%s' > /dev/null", self->host, self->open, out);
  shell (self, "rm -rf '%s'", out);
  return us;
}

/* --- ours ---------------------------------------------------------------------------------- */

static double
exec_in (PrismSandbox *sandbox)
{
  double start = bench_now_us ();
  return bench_exec (sandbox, true_static) ? bench_now_us () - start : -1;
}

static double
our_exec (gpointer data)
{
  return exec_in (((Docker *)data)->sandbox);
}

/* One of many: what the peer's round left to be done is not ours. */
static double
our_execs (gpointer data)
{
  double sum = 0;
  for (int i = 0; i < 20; i++)
    {
      double us = our_exec (data);
      if (us < 0)
        return us;
      sum += us;
    }
  return sum / 20;
}

static double
native_exec (gpointer data)
{
  return exec_in (((Docker *)data)->native);
}

static PrismSandbox *
create (Docker *self, PrismWorkspaceMode mode, const char *folder, GError **error)
{
  g_autoptr (GFile) workspace = g_file_new_for_path (folder);
  g_autoptr (PrismSandboxSpec) spec = prism_sandbox_spec_new (workspace);
  g_autoptr (PrismLimits) limits = prism_limits_new (PRISM_LIMITS_PROFILE_STANDARD);

  prism_limits_set (limits, "max-output-bytes", (gint64)(STREAM_MIB + 1) << 20, NULL);
  g_object_set (spec, "workspace-mode", mode, "limits", limits, NULL);
  return prism_backend_create_sandbox (self->backend, spec, NULL, error);
}

/* A small tree goes in, and a command's output is there. */
static double
cold (gpointer data)
{
  Docker *self = data;
  const char *const argv[] = { "echo", "here", NULL };
  g_autoptr (GError) error = NULL;
  double start = bench_now_us (), us;
  g_autoptr (PrismSandbox) sandbox = create (self, PRISM_WORKSPACE_MODE_COPY, self->bench->workspace, &error);
  gboolean good = sandbox != NULL && bench_exec (sandbox, argv);

  us = bench_now_us () - start;
  if (sandbox != NULL)
    prism_sandbox_close (sandbox, NULL, NULL);
  else
    g_printerr ("bench: %s\n", error->message);
  return good ? us : -1;
}

static guint64 received;

static void
count (PrismCommand *command, PrismStream stream, GBytes *bytes, gpointer data)
{
  received += g_bytes_get_size (bytes);
}

static double
our_stream (gpointer data)
{
  Docker *self = data;
  const char *const argv[] = { "/workspace/flood", G_STRINGIFY (STREAM_MIB), self->cpu, NULL };
  g_autoptr (PrismCommand) command = prism_command_new (argv);
  g_autoptr (PrismResult) result = NULL;
  cpu_set_t before;
  double start;

  prism_command_set_capture (command, FALSE);
  g_signal_connect (command, "output", G_CALLBACK (count), NULL);
  received = 0;
  stay (self, &before);
  start = bench_now_us ();
  result = prism_sandbox_exec (self->sandbox, command, NULL, NULL);
  start = bench_now_us () - start;
  sched_setaffinity (0, sizeof before, &before);
  return result != NULL && received == (guint64)STREAM_MIB << 20 ? received / start : -1;
}

static double
import (gpointer data)
{
  Docker *self = data;
  g_autoptr (GFile) folder = g_file_new_for_path (self->tree);
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismTreeIdentity) identity = NULL;
  double start, us;

  prism_sandbox_make_directory (self->sandbox, "/workspace/tree", 0755, PRISM_FILE_FLAGS_PARENTS, NULL, NULL);
  start = bench_now_us ();
  identity = prism_sandbox_import_tree (self->sandbox, folder, "/workspace/tree", NULL, &error);
  us = bench_now_us () - start;
  if (identity == NULL)
    g_printerr ("bench: %s\n", error->message);
  prism_sandbox_remove_file (self->sandbox, "/workspace/tree", PRISM_FILE_FLAGS_RECURSIVE, NULL, NULL);
  return identity != NULL ? us : -1;
}

static double
export_tree (gpointer data)
{
  Docker *self = data;
  g_autoptr (GError) error = NULL;
  int fd = open ("/dev/null", O_WRONLY | O_CLOEXEC);
  g_autoptr (GOutputStream) stream = g_unix_output_stream_new (fd, TRUE);
  double start = bench_now_us ();
  g_autoptr (PrismTreeIdentity) identity =
      prism_sandbox_export_tree (self->sandbox, "/workspace/kept", stream, NULL, &error);

  if (identity == NULL)
    g_printerr ("bench: %s\n", error->message);
  return identity != NULL ? bench_now_us () - start : -1;
}

static const char *const names[] = {
  "docker: static program in a live container, against docker exec",
  "docker: the same, against the Engine API's exec",
  "docker: the same, against native's",
  "docker: create, import and first output, cold",
  "docker: output of one command",
  "docker: output of one command: the floor",
  "docker: output of one command, both ends on one CPU",
  "docker: output of one command, both ends on one CPU: the floor",
  "docker: 10,000 files in, against docker exec -i tar",
  "docker: 10,000 files in, against docker cp",
  "docker: 10,000 files out, against docker exec tar",
  "docker: 10,000 files out, against docker cp",
};

static gboolean
wants_any (void)
{
  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    if (bench_wants (names[i]))
      return TRUE;
  return FALSE;
}

/* --- the rows ------------------------------------------------------------------------------ */

static char *
dup_first_pid (Docker *self)
{
  g_autofree char *path = g_strdup_printf ("/containers/%s/json", self->live), *told = ask (self, "GET", path, "");
  const char *pid = told != NULL ? strstr (told, "\"Pid\":") : NULL;

  return pid != NULL ? g_strdup_printf ("%d", atoi (pid + 6)) : NULL;
}

static gboolean
begin_peers (Docker *self)
{
  g_autofree char *name = g_strdup_printf ("--name=%s", self->live), *other = g_strdup_printf ("--name=%s", self->open);
  g_autofree char *shown = g_strdup_printf ("--volume=%s:/workspace", self->bench->workspace);
  g_autofree char *tree = g_strdup_printf ("--volume=%s:/tree:ro", self->tree);
  const char *const live[] = {
    "run",       "--detach", name,     CONFINED, shown, tree, "--tmpfs=/tmp:rw,exec,size=1g,mode=1777",
    self->image, "sleep",    "100000", NULL
  };
  const char *const writable[] = { "run",   "--detach", other, "--network=none", tree, self->image,
                                   "sleep", "100000",   NULL };
  const char *const fill[] = {
    "exec", self->live, "sh", "-c", "mkdir /tmp/in /tmp/kept; cp -r /tree/. /tmp/kept/", NULL
  };
  const char *const fill_other[] = { "exec", self->open, "cp", "-r", "/tree", "/kept", NULL };

  if (!run_docker (self, live) || !run_docker (self, writable) || !run_docker (self, fill)
      || !run_docker (self, fill_other))
    return FALSE;
  self->pid = dup_first_pid (self);
  return self->pid != NULL;
}

static void
rows_of_exec (Docker *self)
{
  Bench *bench = self->bench;
  bench_row (bench, &(BenchRow){ names[0], "prism exec", "docker exec", "us", our_execs, cli_exec, self, self, 40, 3,
                                 BENCH_AT_MOST, 1.0 / 200 });
  bench_row (bench, &(BenchRow){ names[1], "prism exec", "create, start, inspect", "us", our_execs, api_exec, self,
                                 self, 40, 3, BENCH_AT_MOST, 1.0 / 130 });
  if (self->native != NULL)
    bench_row (bench, &(BenchRow){ names[2], "prism exec, docker", "prism exec, native", "us", our_exec, native_exec,
                                   self, self, 1000, 30, BENCH_AT_MOST, 1.5 });
  bench_row (bench, &(BenchRow){ names[3], "prism", "docker run", "us", cold, cli_run, self, self, 20, 2, BENCH_AT_MOST,
                                 1.05 });
}

/* As the kernel places them, and both ends on one CPU: between two CPUs each byte costs the
 * way from one's cache to the other's, which is most of the time then, whoever reads. */
static void
rows_of_streams (Docker *self)
{
  Bench *bench = self->bench;

  for (guint i = 0; i < 2; i++)
    {
      self->cpu = i == 0 ? NULL : (char *)"0";
      bench_row (bench, &(BenchRow){ names[4 + 2 * i], "prism exec, output signal", "docker exec", "MB/s", our_stream,
                                     cli_stream, self, self, 8, 1, BENCH_AT_LEAST, 10 });
      bench_row (bench, &(BenchRow){ names[5 + 2 * i], "a pipe of the container's", "docker exec", "MB/s", plain_stream,
                                     cli_stream, self, self, 8, 1, BENCH_AT_LEAST, 0 });
    }
}

static void
rows_of_trees (Docker *self)
{
  Bench *bench = self->bench;
  bench_row (bench, &(BenchRow){ names[8], "prism import", "tar through docker exec", "us", import, tar_in, self, self,
                                 8, 1, BENCH_AT_MOST, 0.7 });
  bench_row (bench, &(BenchRow){ names[9], "prism import", "docker cp", "us", import, cp_in, self, self, 6, 1,
                                 BENCH_AT_MOST, 0.3 });
  bench_row (bench, &(BenchRow){ names[10], "prism export", "tar through docker exec", "us", export_tree, tar_out, self,
                                 self, 8, 1, BENCH_AT_MOST, 0.7 });
  bench_row (bench, &(BenchRow){ names[11], "prism export", "docker cp", "us", export_tree, cp_out, self, self, 6, 1,
                                 BENCH_AT_MOST, 0.3 });
}

static void
end (Docker *self)
{
  const char *const remove[] = { "rm", "--force", "--volumes", self->live, self->open, NULL };

  if (self->sandbox != NULL)
    prism_sandbox_close (self->sandbox, NULL, NULL);
  if (self->native != NULL)
    prism_sandbox_close (self->native, NULL, NULL);
  run_docker (self, remove);
  g_clear_object (&self->sandbox);
  g_clear_object (&self->native);
  g_clear_object (&self->backend);
  g_free (self->host);
  g_free (self->tree);
  g_free (self->live);
  g_free (self->pid);
  g_free (self->open);
}

/* Workspaces of both kinds: true-min and flood are imported with the rest. */
static gboolean
begin (Docker *self, GError **error)
{
  g_autoptr (GFile) tree = g_file_new_for_path (self->tree);

  self->backend = prism_registry_create_backend (prism_registry_get_default (), "docker", error);
  if (self->backend == NULL)
    return FALSE;
  g_object_set (self->backend, "socket", self->socket, "image", self->image, NULL);
  self->sandbox = create (self, PRISM_WORKSPACE_MODE_COPY, self->bench->workspace, error);
  self->native = bench_create (self->bench, NULL);
  if (self->sandbox == NULL
      || !prism_sandbox_make_directory (self->sandbox, "/workspace/kept", 0755, PRISM_FILE_FLAGS_PARENTS, NULL, error))
    return FALSE;
  g_autoptr (PrismTreeIdentity) kept = prism_sandbox_import_tree (self->sandbox, tree, "/workspace/kept", NULL, error);
  return kept != NULL;
}

void
bench_docker_rows (Bench *bench)
{
  g_autoptr (GError) error = NULL;
  Docker self = { .bench = bench,
                  .socket = g_getenv ("PRISM_TEST_DOCKER_SOCKET"),
                  .image = g_getenv ("PRISM_TEST_DOCKER_IMAGE") };

  if (!wants_any ())
    return;
  if (self.socket == NULL || self.image == NULL)
    {
      bench_missing ("docker", "no engine: run it by tests/docker/with-docker, as root");
      return;
    }
  self.host = g_strdup_printf ("--host=unix://%s", self.socket);
  self.tree = g_build_filename (bench->folder, "docker-tree", NULL);
  self.live = g_strdup_printf ("bench-%d", (int)getpid ());
  self.open = g_strdup_printf ("bench-open-%d", (int)getpid ());
  bench_make_tree (self.tree);
  if (!begin_peers (&self))
    bench_missing ("docker", "the peers' containers did not start");
  else if (!begin (&self, &error))
    bench_missing ("docker", error->message);
  else
    {
      rows_of_exec (&self);
      rows_of_streams (&self);
      rows_of_trees (&self);
    }
  end (&self);
}
