/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Commands of the agent, over a wire that this test speaks itself: how they
 * start, end, are ended, and what is left afterwards. */
#include "agent-fixture.h"

#include <sys/ioctl.h>
#include <termios.h>

static void
test_exit (void)
{
  Agent agent;
  Exited exited;
  agent_start (&agent);
  for (int code = 0; code < 256; code += 51)
    {
      g_autofree char *script = g_strdup_printf ("echo out; echo err >&2; exit %d", code);
      g_autofree char *out = agent_run_command (&agent, SH (script), NULL, &exited);
      g_assert_cmpstr (out, ==, "out\nerr\n");
      g_assert_cmpint (exited.how, ==, PRISM_WIRE_HOW_CODE);
      g_assert_cmpint (exited.code, ==, code);
      g_assert_cmpuint (exited.flags, ==, 0);
      g_assert_cmpuint (exited.peak_kib, >, 0);
    }
  g_autofree char *out = agent_run_command (&agent, SH ("kill -USR1 $$"), NULL, &exited);
  g_assert_cmpint (exited.how, ==, PRISM_WIRE_HOW_SIGNAL);
  g_assert_cmpint (exited.code, ==, SIGUSR1);
  agent_stop (&agent);
}

/* What a command finds: folder, environment, descriptors, signals, umask, session. */
static void
test_surroundings (void)
{
  Agent agent;
  Exited exited;
  agent_start (&agent);
  const Exec with = { .env = ARGV ("LANG=de_DE", "NEW=a=b", "HOME=/h", "HOME=/h2"), .cwd = "sub" };
  g_autofree char *sub = g_build_filename (agent.workspace, "sub", NULL);
  g_assert_no_errno (g_mkdir (sub, 0755));

  g_autofree char *env = agent_run_command (&agent, ARGV ("env"), &with, &exited);
  g_assert_cmpstr (env, ==, "PATH=/usr/local/bin:/usr/bin:/bin\nHOME=/h2\nLANG=de_DE\nNEW=a=b\n");
  g_autofree char *pwd = agent_run_command (&agent, ARGV ("/bin/pwd"), &with, &exited);
  g_assert_cmpstr (g_strchomp (pwd), ==, sub);
  g_autofree char *default_pwd = agent_run_command (&agent, ARGV ("/bin/pwd"), NULL, &exited);
  g_assert_cmpstr (g_strchomp (default_pwd), ==, agent.workspace);
  g_autofree char *fds = agent_run_command (&agent, SH ("ls /proc/self/fd; cat; umask"), NULL, &exited);
  g_assert_cmpstr (fds, ==, "0\n1\n2\n3\n0022\n");
  g_autofree char *signals =
      agent_run_command (&agent, SH ("grep -E '^(SigBlk|SigIgn)' /proc/self/status"), NULL, &exited);
  g_assert_cmpstr (signals, ==, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
  g_autofree char *session = agent_run_command (
      &agent, SH ("set -- $(cat /proc/$$/stat); [ $1 = $5 ] && [ $1 = $6 ] && echo own"), NULL, &exited);
  g_assert_cmpstr (session, ==, "own\n");
  g_autofree char *core = agent_run_command (&agent, SH ("ulimit -c"), NULL, &exited);
  g_assert_cmpstr (core, ==, "0\n");
  agent_stop (&agent);
}

static void
test_limits (void)
{
  Agent agent;
  Exited exited;
  const Setup setup = { .open_files = 77, .data_bytes = 64 * 1024 * 1024, .commands = 1 };
  int ends[2];
  g_assert_no_errno (pipe2 (ends, O_CLOEXEC));
  agent_start_with (&agent, FALSE, &setup);
  g_autofree char *files = agent_run_command (&agent, SH ("ulimit -n; ulimit -Hn; ulimit -d"), NULL, &exited);
  g_assert_cmpstr (files, ==, "77\n77\n65536\n");

  agent_say_exec (&agent, 1, ARGV ("cat"), &(Exec){ .flags = PRISM_WIRE_EXEC_STDIN }, (int[]){ ends[0], 2, 2 }, 3);
  agent_say_exec (&agent, 2, ARGV ("true"), NULL, (int[]){ 2, 2 }, 2);
  g_assert_cmpuint (agent_expect_error (&agent, 2), ==, PRISM_WIRE_ERROR_LIMIT);
  close (ends[0]);
  close (ends[1]);
  agent_expect_exited (&agent, 1);
  agent_stop (&agent);
}

static void
test_not_started (void)
{
  Agent agent;
  agent_start (&agent);
  const struct
  {
    const char *name, *content;
    mode_t mode;
  } files[] = {
    { "plain", "text", 0644 },
    { "lost", "#!/no/such/interpreter\n", 0755 },
    { "foreign", "\177ELF\0\0garbage", 0755 },
    { "script", "echo \"$0 $1\"", 0755 },
    { "empty", "", 0755 },
  };
  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    {
      g_autofree char *path = g_build_filename (agent.workspace, files[i].name, NULL);
      gsize size = i == 2 ? 12 : strlen (files[i].content);
      g_assert_true (g_file_set_contents (path, files[i].content, size, NULL));
      g_assert_no_errno (g_chmod (path, files[i].mode));
    }
  g_autofree char *own_path = g_strdup_printf ("PATH=/nonexistent:%s", agent.workspace);
  const char *const path[] = { own_path, NULL };
  const struct
  {
    const char *program;
    const char *const *env;
    const char *cwd;
    guint32 error;
  } rows[] = {
    { "no-such-program", NULL, NULL, PRISM_WIRE_ERROR_NOT_FOUND },
    { "", NULL, NULL, PRISM_WIRE_ERROR_NOT_FOUND },
    { "./no-such-program", NULL, NULL, PRISM_WIRE_ERROR_NOT_FOUND },
    { "./plain/x", NULL, NULL, PRISM_WIRE_ERROR_NOT_FOUND },
    { "./plain", NULL, NULL, PRISM_WIRE_ERROR_NOT_EXECUTABLE },
    { "plain", path, NULL, PRISM_WIRE_ERROR_NOT_EXECUTABLE },
    { "/tmp", NULL, NULL, PRISM_WIRE_ERROR_NOT_EXECUTABLE },
    { "./lost", NULL, NULL, PRISM_WIRE_ERROR_NOT_EXECUTABLE },
    { "lost", path, NULL, PRISM_WIRE_ERROR_NOT_EXECUTABLE },
    { "./foreign", NULL, NULL, PRISM_WIRE_ERROR_NOT_EXECUTABLE },
    { "true", path, NULL, PRISM_WIRE_ERROR_NOT_FOUND },
    { "true", NULL, "no-such-folder", PRISM_WIRE_ERROR_CWD },
    { "true", NULL, "/etc/passwd", PRISM_WIRE_ERROR_CWD },
    { "true", ARGV ("=x"), NULL, PRISM_WIRE_ERROR_INVALID },
    { "true", ARGV ("X"), NULL, PRISM_WIRE_ERROR_INVALID },
  };
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      const Exec exec = { .env = rows[i].env, .cwd = rows[i].cwd };
      g_test_message ("%s", rows[i].program);
      agent_say_exec (&agent, i + 1, ARGV (rows[i].program), &exec, (int[]){ 2, 2 }, 2);
      g_assert_cmpuint (agent_expect_error (&agent, i + 1), ==, rows[i].error);
    }

  /* A text without an interpreter is the shell's. */
  Exited exited;
  g_autofree char *said = agent_run_command (&agent, ARGV ("script", "1"), &(Exec){ .env = path }, &exited);
  g_autofree char *expected = g_strdup_printf ("%s/script 1\n", agent.workspace);
  g_assert_cmpstr (said, ==, expected);
  g_autofree char *nothing = agent_run_command (&agent, ARGV ("./empty"), NULL, &exited);
  g_assert_cmpstr (nothing, ==, "");
  g_assert_cmpint (exited.code, ==, 0);

  /* Over the kernel's own bound. */
  g_autofree char *huge = g_strnfill (200 * 1024, 'x');
  agent_say_exec (&agent, 900, ARGV ("true", huge), NULL, (int[]){ 2, 2 }, 2);
  g_assert_cmpuint (agent_expect_error (&agent, 900), ==, PRISM_WIRE_ERROR_LIMIT);
  agent_stop (&agent);
}

/* The host's end of a pipe sees the end of file when the command closes it, not when it exits. */
static void
test_stdin_and_early_close (void)
{
  Agent agent;
  int in[2], out[2];
  agent_start (&agent);
  g_assert_no_errno (pipe2 (in, O_CLOEXEC));
  g_assert_no_errno (pipe2 (out, O_CLOEXEC));
  agent_say_exec (&agent, 1, SH ("echo hi; exec >&- 2>&-; read x; exit 4"), &(Exec){ .flags = PRISM_WIRE_EXEC_STDIN },
                  (int[]){ in[0], out[1], out[1] }, 3);
  close (in[0]);
  close (out[1]);
  g_autofree char *text = read_pipe (out[0], NULL);
  g_assert_cmpstr (text, ==, "hi\n");
  g_assert_false (wait_for (agent.fd, POLLIN, 0));
  close (in[1]);
  Exited exited = agent_expect_exited (&agent, 1);
  g_assert_cmpint (exited.code, ==, 4);
  close (out[0]);
  agent_stop (&agent);
}

static void
test_background (void)
{
  Agent agent;
  int in[2];
  g_auto (Frame) frame = FRAME_INIT;
  agent_start (&agent);
  g_assert_no_errno (pipe2 (in, O_CLOEXEC));
  /* Double-forked, in a session of its own; it lives as long as its stdin. */
  agent_say_exec (&agent, 1, SH ("exec 3<&0; (setsid sh -c 'cat <&3' &) ; exit 7"),
                  &(Exec){ .flags = PRISM_WIRE_EXEC_STDIN }, (int[]){ in[0], 2, 2 }, 3);
  close (in[0]);
  Exited exited = agent_expect_exited (&agent, 1);
  g_assert_cmpint (exited.code, ==, 7);
  g_assert_cmpuint (exited.flags, ==, PRISM_WIRE_EXITED_MORE);
  /* Meanwhile others run. */
  g_autofree char *out = agent_run_command (&agent, SH ("echo hi"), NULL, &exited);
  g_assert_cmpstr (out, ==, "hi\n");
  close (in[1]);
  agent_expect (&agent, 1, PRISM_WIRE_GONE, &frame);
  agent_stop (&agent);
}

static void
test_signal (void)
{
  Agent agent;
  int out[2];
  g_auto (Frame) frame = FRAME_INIT;
  char c;
  agent_start (&agent);
  g_assert_no_errno (pipe2 (out, O_CLOEXEC));
  agent_say_exec (&agent, 1, SH ("trap 'exit 5' TERM; echo; while :; do :; done"),
                  &(Exec){ .flags = PRISM_WIRE_EXEC_STARTED }, (int[]){ out[1], 2 }, 2);
  agent_expect (&agent, 1, PRISM_WIRE_STARTED, &frame);
  g_assert_cmpint (read (out[0], &c, 1), ==, 1);
  agent_say_u32 (&agent, PRISM_WIRE_SIGNAL, 1, SIGTERM);
  Exited exited = agent_expect_exited (&agent, 1);
  g_assert_cmpint (exited.code, ==, 5);
  /* In the same write as the command itself. */
  agent_say_exec (&agent, 2, ARGV ("sleep", "1000"), NULL, (int[]){ 2, 2 }, 2);
  agent_say_u32 (&agent, PRISM_WIRE_SIGNAL, 2, SIGHUP);
  exited = agent_expect_exited (&agent, 2);
  g_assert_cmpint (exited.how, ==, PRISM_WIRE_HOW_SIGNAL);
  g_assert_cmpint (exited.code, ==, SIGHUP);
  /* Of something that is over: ignored. */
  agent_say_u32 (&agent, PRISM_WIRE_SIGNAL, 2, SIGHUP);
  agent_say_u32 (&agent, PRISM_WIRE_CANCEL, 2, 0);
  g_autofree char *text = agent_run_command (&agent, SH ("echo hi"), NULL, &exited);
  g_assert_cmpstr (text, ==, "hi\n");
  close (out[0]);
  close (out[1]);
  agent_stop (&agent);
}

/* Everything that holds `fd` open is gone when its other end reports it. */
static void
assert_all_closed (int fd)
{
  g_autofree char *rest = read_pipe (fd, NULL);
  close (fd);
}

#define TREE                                                                                                           \
  "trap '' TERM HUP INT; (setsid sh -c 'trap \"\" TERM; sleep 1000 & sleep 1000' &); "                                 \
  "(trap '' TERM; sleep 1001 & wait) & nohup sleep 1002 > /dev/null & echo ready; while :; do sleep 1000; done"

static void
test_cancel (gconstpointer data)
{
  Agent agent;
  guint32 grace = GPOINTER_TO_UINT (data);
  int out[2], other[2];
  char ready[6];
  agent_start (&agent);
  g_assert_no_errno (pipe2 (other, O_CLOEXEC));
  agent_say_exec (&agent, 9, ARGV ("cat"), &(Exec){ .flags = PRISM_WIRE_EXEC_STDIN }, (int[]){ other[0], 2, 2 }, 3);
  close (other[0]);
  g_assert_no_errno (pipe2 (out, O_CLOEXEC));
  agent_say_exec (&agent, 1, SH (TREE), NULL, (int[]){ out[1], out[1] }, 2);
  close (out[1]);
  g_assert_cmpint (read (out[0], ready, sizeof ready), ==, sizeof ready);
  agent_say_u32 (&agent, PRISM_WIRE_CANCEL, 1, grace);
  Exited exited = agent_expect_exited (&agent, 1);
  g_assert_cmpint (exited.how, ==, PRISM_WIRE_HOW_SIGNAL);
  g_assert_cmpint (exited.code, ==, SIGKILL);
  g_assert_cmpuint (exited.flags, ==, PRISM_WIRE_EXITED_CANCELLED);
  assert_all_closed (out[0]);
  close (other[1]);
  exited = agent_expect_exited (&agent, 9);
  g_assert_cmpint (exited.code, ==, 0);
  agent_stop (&agent);
}

static void
await_stopped (guint32 pid)
{
  g_autofree char *path = g_strdup_printf ("/proc/%u/stat", pid);
  gint64 until = g_get_monotonic_time () + DEADLINE_MS * 1000;
  for (;;)
    {
      g_autofree char *stat = NULL;
      g_assert_true (g_file_get_contents (path, &stat, NULL, NULL));
      if (strstr (stat, ") T ") != NULL)
        return;
      g_assert_cmpint (g_get_monotonic_time (), <, until);
      g_thread_yield ();
    }
}

static void
test_cancel_gentle (void)
{
  Agent agent;
  g_auto (Frame) started = FRAME_INIT;
  agent_start (&agent);
  /* It is stopped: TERM ends it all the same. */
  agent_say_exec (&agent, 1, SH ("trap 'exit 3' TERM; kill -STOP $$; while :; do :; done"),
                  &(Exec){ .flags = PRISM_WIRE_EXEC_STARTED }, (int[]){ 2, 2 }, 2);
  agent_expect (&agent, 1, PRISM_WIRE_STARTED, &started);
  struct prism_wire_reader r = prism_wire_read_from (started.payload, started.header.size);
  await_stopped (prism_wire_u32 (&r));
  agent_say_u32 (&agent, PRISM_WIRE_CANCEL, 1, 10000);
  Exited exited = agent_expect_exited (&agent, 1);
  g_assert_cmpint (exited.how, ==, PRISM_WIRE_HOW_CODE);
  g_assert_cmpint (exited.code, ==, 3);
  g_assert_cmpuint (exited.flags, ==, PRISM_WIRE_EXITED_CANCELLED);
  /* Before it started, perhaps. */
  for (guint32 id = 2; id < 40; id++)
    {
      g_auto (Frame) frame = FRAME_INIT;
      agent_say_exec (&agent, id, ARGV ("sleep", "1000"), NULL, (int[]){ 2, 2 }, 2);
      agent_say_u32 (&agent, PRISM_WIRE_CANCEL, id, id & 1 ? 0 : 10000);
      g_assert_true (agent_next (&agent, &frame));
      g_assert_cmpuint (frame.header.id, ==, id);
      if (frame.header.type == PRISM_WIRE_ERROR)
        g_assert_cmpuint (frame_error (&frame, NULL), ==, PRISM_WIRE_ERROR_CANCELLED);
      else
        g_assert_cmpuint (frame_exited (&frame).flags, ==, PRISM_WIRE_EXITED_CANCELLED);
    }
  agent_stop (&agent);
}

/* What a command starts to end with is not asked to end too. */
static void
test_cancel_cleans_up (void)
{
  Agent agent;
  agent_start (&agent);
  g_autofree char *cleaned = g_build_filename (agent.workspace, "cleaned", NULL);
  for (guint32 id = 1; id <= 60; id++)
    {
      char up[3];
      int out[2];
      g_assert_no_errno (pipe2 (out, O_CLOEXEC));
      agent_say_exec (&agent, id, SH ("trap 'touch cleaned; exit 3' TERM; echo up; while :; do :; done"), NULL,
                      (int[]){ out[1], 2 }, 2);
      close (out[1]);
      g_assert_cmpint (read (out[0], up, sizeof up), ==, sizeof up);
      agent_say_u32 (&agent, PRISM_WIRE_CANCEL, id, 10000);
      Exited exited = agent_expect_exited (&agent, id);
      g_assert_cmpint (exited.code, ==, 3);
      g_assert_no_errno (unlink (cleaned));
      close (out[0]);
    }
  agent_stop (&agent);
}

/* A command that kills or stops its supervisor ends itself, nobody else. */
static void
test_shim_killed (void)
{
  static const char *const ways[] = { "kill -9 $PPID", "kill -STOP $PPID", "(sleep 1000 &) ; kill -9 $PPID" };
  Agent agent;
  int other[2];
  agent_start (&agent);
  g_assert_no_errno (pipe2 (other, O_CLOEXEC));
  agent_say_exec (&agent, 9999, ARGV ("cat"), &(Exec){ .flags = PRISM_WIRE_EXEC_STDIN }, (int[]){ other[0], 2, 2 }, 3);
  close (other[0]);
  for (guint i = 0; i < 3 * G_N_ELEMENTS (ways); i++)
    {
      g_autofree char *script = g_strconcat (ways[i % G_N_ELEMENTS (ways)], "; while :; do sleep 1000; done", NULL);
      int out[2];
      g_assert_no_errno (pipe2 (out, O_CLOEXEC));
      agent_say_exec (&agent, i + 1, SH (script), NULL, (int[]){ out[1], out[1] }, 2);
      close (out[1]);
      Exited exited = agent_expect_exited (&agent, i + 1);
      g_assert_cmpint (exited.how, ==, PRISM_WIRE_HOW_SIGNAL);
      g_assert_cmpint (exited.code, ==, SIGKILL);
      g_assert_cmpuint (exited.flags, ==, PRISM_WIRE_EXITED_SHIM);
      assert_all_closed (out[0]);
    }
  /* Whenever it happens, what is told keeps its order. */
  for (guint i = 0; i < 100; i++)
    {
      g_auto (Frame) frame = FRAME_INIT;
      guint32 flags = PRISM_WIRE_EXEC_FRAMED | (i & 1 ? PRISM_WIRE_EXEC_PTY : PRISM_WIRE_EXEC_STARTED);
      agent_say_exec (&agent, i + 100, SH ("kill -9 $PPID"), &(Exec){ .flags = flags }, NULL, 0);
      agent_expect (&agent, i + 100, PRISM_WIRE_STARTED, &frame);
      agent_expect_exited (&agent, i + 100);
    }
  close (other[1]);
  g_assert_cmpint (agent_expect_exited (&agent, 9999).code, ==, 0);
  agent_stop (&agent);
}

/* It ends in bounded time although it forks as fast as it can. Bounded itself
 * (an ordinary uid of its own, RLIMIT_NPROC): a bomb without a limit takes the
 * whole machine, and the pids limit is what every sandbox has. */
static void
test_fork_bomb (void)
{
  Agent agent;
  int out[2];
  char c;
  agent_spawn_bounded = TRUE;
  agent_start (&agent);
  agent_spawn_bounded = FALSE;
  g_assert_no_errno (pipe2 (out, O_CLOEXEC));
  agent_say_exec (&agent, 1, SH ("exec 2>/dev/null; f() { f & f & wait; f; }; f & echo; wait"), NULL,
                  (int[]){ out[1], 2 }, 2);
  close (out[1]);
  g_assert_cmpint (read (out[0], &c, 1), ==, 1);
  agent_say_u32 (&agent, PRISM_WIRE_CANCEL, 1, 0);
  agent_expect_exited (&agent, 1);
  assert_all_closed (out[0]);
  Exited exited;
  g_autofree char *text = agent_run_command (&agent, SH ("echo hi"), NULL, &exited);
  g_assert_cmpstr (text, ==, "hi\n");
  agent_stop (&agent);
}

/* The host vanishes: so does everything, daemons too. */
static void
test_hang_up (void)
{
  Agent agent;
  int out[2];
  char ready[6];
  agent_start (&agent);
  g_assert_no_errno (pipe2 (out, O_CLOEXEC));
  for (guint32 id = 1; id < 4; id++)
    {
      agent_say_exec (&agent, id, SH (TREE), NULL, (int[]){ out[1], out[1] }, 2);
      g_assert_cmpint (read (out[0], ready, sizeof ready), ==, sizeof ready);
    }
  close (out[1]);
  agent_stop (&agent);
  assert_all_closed (out[0]);
}

static guint
count_entries (const char *path)
{
  g_autoptr (GDir) dir = g_dir_open (path, 0, NULL);
  guint n = 0;
  while (g_dir_read_name (dir) != NULL)
    n++;
  return n;
}

static guint
count_children (pid_t pid)
{
  g_autofree char *path = g_strdup_printf ("/proc/%d/task/%d/children", pid, pid);
  g_autofree char *text = NULL;
  g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
  g_auto (GStrv) pids = g_strsplit (g_strstrip (text), " ", -1);
  return g_strv_length (pids);
}

static void
test_nothing_left (void)
{
  Agent agent;
  Exited exited;
  agent_start (&agent);
  g_autofree char *first = agent_run_command (&agent, ARGV ("true"), NULL, &exited);
  g_autofree char *fds = g_strdup_printf ("/proc/%d/fd", agent.pid);
  guint before = getuid () == 0 ? count_entries (fds) : 0;
  for (int i = 0; i < 2000; i++)
    {
      g_autofree char *out = agent_run_command (&agent, ARGV (i % 3 == 0 ? "/bin/echo" : "/bin/true"), NULL, &exited);
      g_assert_cmpint (exited.code, ==, 0);
      if (i % 50 == 0)
        {
          agent_say_exec (&agent, 1, ARGV ("no-such-program"), NULL, (int[]){ 2, 2 }, 2);
          agent_expect_error (&agent, 1);
        }
    }
  /* The agent is not dumpable: its descriptors are for root's eyes. */
  if (getuid () == 0)
    g_assert_cmpuint (count_entries (fds), ==, before);
  g_assert_cmpuint (count_children (agent.pid), <=, 4);
  agent_stop (&agent);
}

/* 64 at once, each ends in its own time. */
static void
test_many_at_once (void)
{
  Agent agent;
  int ends[64][2];
  agent_start (&agent);
  for (guint i = 0; i < 64; i++)
    {
      g_assert_no_errno (pipe2 (ends[i], O_CLOEXEC));
      agent_say_exec (&agent, i + 1, ARGV ("cat"), &(Exec){ .flags = PRISM_WIRE_EXEC_STDIN },
                      (int[]){ ends[i][0], 2, 2 }, 3);
      close (ends[i][0]);
    }
  for (guint i = 64; i > 0; i--)
    {
      close (ends[i - 1][1]);
      g_assert_cmpint (agent_expect_exited (&agent, i).code, ==, 0);
    }
  agent_stop (&agent);
}

static void
test_terminal (void)
{
  Agent agent;
  g_auto (Frame) frame = FRAME_INIT;
  agent_start (&agent);
  const Exec exec = { .flags = PRISM_WIRE_EXEC_PTY, .columns = 101, .rows = 33 };
  agent_say_exec (&agent, 1, SH ("tty > /dev/null && stty size && echo $TERM && read x && stty size && exec cat"),
                  &exec, NULL, 0);
  agent_expect (&agent, 1, PRISM_WIRE_STARTED, &frame);
  int master = frame.fd;
  frame.fd = -1;
  g_assert_cmpint (master, >=, 0);
  GString *all = g_string_new (NULL);
  char buffer[512];
  ssize_t n;
  while (strstr (all->str, "color") == NULL && (n = read (master, buffer, sizeof buffer)) > 0)
    g_string_append_len (all, buffer, n);
  guint8 size[4] = { 60, 0, 20, 0 };
  agent_say (&agent, PRISM_WIRE_RESIZE, 0, 1, size, sizeof size, NULL, 0);
  agent_say (&agent, PRISM_WIRE_PING, 0, 0, NULL, 0, NULL, 0);
  agent_expect (&agent, 0, PRISM_WIRE_PONG, &frame);
  g_assert_cmpint (write (master, "go\n", 3), ==, 3);
  while (strstr (all->str, "20 60") == NULL && (n = read (master, buffer, sizeof buffer)) > 0)
    g_string_append_len (all, buffer, n);
  g_assert_nonnull (strstr (all->str, "33 101\r\nxterm-256color\r\n"));
  /* The shell would take an interrupt at the wrong moment for its child's: cat has to be there. */
  g_assert_cmpint (write (master, "said\n", 5), ==, 5);
  while (strstr (all->str, "said\r\nsaid\r\n") == NULL && (n = read (master, buffer, sizeof buffer)) > 0)
    g_string_append_len (all, buffer, n);
  g_assert_cmpint (write (master, "\3", 1), ==, 1); /* the line discipline's interrupt */
  Exited exited = agent_expect_exited (&agent, 1);
  g_assert_cmpint (exited.how, ==, PRISM_WIRE_HOW_SIGNAL);
  g_assert_cmpint (exited.code, ==, SIGINT);
  g_string_free (all, TRUE);
  close (master);
  /* The host hangs up the terminal. */
  agent_say_exec (&agent, 2, ARGV ("cat"), &exec, NULL, 0);
  agent_expect (&agent, 2, PRISM_WIRE_STARTED, &frame);
  frame_clear (&frame);
  exited = agent_expect_exited (&agent, 2);
  g_assert_cmpint (exited.code, ==, SIGHUP);
  agent_stop (&agent);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/agent/exec/exit", test_exit);
  g_test_add_func ("/agent/exec/surroundings", test_surroundings);
  g_test_add_func ("/agent/exec/limits", test_limits);
  g_test_add_func ("/agent/exec/not-started", test_not_started);
  g_test_add_func ("/agent/exec/stdin-and-early-close", test_stdin_and_early_close);
  g_test_add_func ("/agent/exec/background", test_background);
  g_test_add_func ("/agent/exec/signal", test_signal);
  g_test_add_data_func ("/agent/exec/cancel-at-once", GUINT_TO_POINTER (0), test_cancel);
  g_test_add_data_func ("/agent/exec/cancel-with-grace", GUINT_TO_POINTER (50), test_cancel);
  g_test_add_func ("/agent/exec/cancel-gentle", test_cancel_gentle);
  g_test_add_func ("/agent/exec/cancel-cleans-up", test_cancel_cleans_up);
  g_test_add_func ("/agent/exec/shim-killed", test_shim_killed);
  g_test_add_func ("/agent/exec/fork-bomb", test_fork_bomb);
  g_test_add_func ("/agent/exec/hang-up", test_hang_up);
  g_test_add_func ("/agent/exec/nothing-left", test_nothing_left);
  g_test_add_func ("/agent/exec/many-at-once", test_many_at_once);
  g_test_add_func ("/agent/exec/terminal", test_terminal);
  return g_test_run ();
}
