/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The agent as pid 1 of its pid namespace, as it is in every real sandbox: what
 * commands try against it, and that nothing outlives it. */
#include "agent-fixture.h"

static void
start (Agent *agent)
{
  agent_spawn_init = TRUE;
  agent_start (agent);
  agent_spawn_init = FALSE;
}

static void
test_attacks (void)
{
  static const char *const attacks[] = {
    "kill -9 1",
    "kill -STOP 1",
    "kill -TERM 1",
    "kill -HUP 1; kill -SEGV 1; kill -CHLD 1",
    "cat /proc/1/environ",
    "ls /proc/1/fd/",
    "cat /proc/1/maps",
    "ls /proc/1/root/",
    "cat /proc/$PPID/maps",
    "echo > /proc/1/mem",
    "kill -9 $PPID",
    "ls /proc/$PPID/fd/",
  };
  Agent agent;
  start (&agent);
  for (guint i = 0; i < G_N_ELEMENTS (attacks); i++)
    {
      Exited exited;
      g_autofree char *script = g_strdup_printf ("exec 2> /dev/null; %s", attacks[i]);
      g_autofree char *out = agent_run_command (&agent, SH (script), NULL, &exited);
      g_test_message ("%s: how %d code %d", attacks[i], exited.how, exited.code);
      g_assert_cmpstr (out, ==, "");
      if (strstr (attacks[i], "kill") == NULL)
        g_assert_cmpint (exited.code, !=, 0);
      g_autofree char *next = agent_run_command (&agent, SH ("echo hi"), NULL, &exited);
      g_assert_cmpstr (next, ==, "hi\n");
    }
  agent_stop (&agent);
}

/* All processes but the agent, at once: all commands end, the agent goes on. */
static void
test_kill_all (void)
{
  Agent agent;
  int in[2];
  agent_spawn_init = TRUE;
  agent_start (&agent);
  agent_spawn_init = FALSE;
  g_assert_no_errno (pipe2 (in, O_CLOEXEC));
  for (int round = 0; round < 20; round++)
    {
      g_auto (Frame) frame = FRAME_INIT;
      guint ended = 0;
      agent_say_exec (&agent, 1, ARGV ("cat"), &(Exec){ .flags = PRISM_WIRE_EXEC_STDIN | PRISM_WIRE_EXEC_STARTED },
                      (int[]){ in[0], 2, 2 }, 3);
      agent_expect (&agent, 1, PRISM_WIRE_STARTED, &frame);
      agent_say_exec (&agent, 2, SH ("kill -9 -1; sleep 1000"), NULL, (int[]){ 2, 2 }, 2);
      while (ended < 2)
        {
          g_assert_true (agent_next (&agent, &frame));
          Exited exited = frame_exited (&frame);
          g_assert_cmpint (exited.code, ==, SIGKILL);
          g_assert_cmpint (exited.how, ==, PRISM_WIRE_HOW_SIGNAL);
          ended++;
        }
      Exited exited;
      g_autofree char *text = agent_run_command (&agent, SH ("echo hi"), NULL, &exited);
      g_assert_cmpstr (text, ==, "hi\n");
    }
  close (in[0]);
  close (in[1]);
  agent_stop (&agent);
}

/* Bounded by RLIMIT_NPROC of a uid of its own; cancelled while another command runs, which lives. */
static void
test_fork_bomb (void)
{
  Agent agent;
  int out[2], in[2];
  char c;
  agent_spawn_bounded = agent_spawn_init = TRUE;
  agent_start (&agent);
  agent_spawn_bounded = agent_spawn_init = FALSE;
  g_assert_no_errno (pipe2 (out, O_CLOEXEC));
  g_assert_no_errno (pipe2 (in, O_CLOEXEC));
  agent_say_exec (&agent, 2, ARGV ("cat"), &(Exec){ .flags = PRISM_WIRE_EXEC_STDIN }, (int[]){ in[0], 2, 2 }, 3);
  close (in[0]);
  agent_say_exec (&agent, 1, SH ("exec 2>/dev/null; f() { f & f & wait; f; }; f & echo; wait"), NULL,
                  (int[]){ out[1], 2 }, 2);
  close (out[1]);
  g_assert_cmpint (read (out[0], &c, 1), ==, 1);
  agent_say_u32 (&agent, PRISM_WIRE_CANCEL, 1, 0);
  g_assert_cmpuint (agent_expect_exited (&agent, 1).flags, ==, PRISM_WIRE_EXITED_CANCELLED);
  g_autofree char *rest = read_pipe (out[0], NULL);
  close (out[0]);
  close (in[1]);
  g_assert_cmpint (agent_expect_exited (&agent, 2).code, ==, 0);
  agent_stop (&agent);
}

/* What the launcher does natively, SETUP asks for where something else made the boundary. */
static void
test_hardened_by_setup (void)
{
  Agent agent;
  Exited exited;
  const Setup setup = { .flags = PRISM_WIRE_SETUP_SECCOMP | PRISM_WIRE_SETUP_LANDLOCK };
  agent_spawn_init = TRUE;
  agent_start_with (&agent, FALSE, &setup);
  agent_spawn_init = FALSE;
  for (int i = 0; i < 3; i++)
    {
      g_autofree char *status = agent_run_command (
          &agent, SH ("grep -E '^(NoNewPrivs|Seccomp):' /proc/self/status; unshare -U true 2>/dev/null && echo nested"),
          NULL, &exited);
      g_assert_cmpstr (status, ==, "NoNewPrivs:\t1\nSeccomp:\t2\n");
      g_autofree char *kill = agent_run_command (&agent, SH ("sleep 1000 & kill -9 $!; wait; echo ok"), NULL, &exited);
      g_assert_nonnull (strstr (kill, "ok"));
    }
  /* It still makes terminals, workers and kills. */
  g_auto (Frame) frame = FRAME_INIT;
  agent_say_exec (&agent, 1, SH ("trap '' TERM; (setsid sleep 1000 &); sleep 1000"),
                  &(Exec){ .flags = PRISM_WIRE_EXEC_PTY }, NULL, 0);
  agent_expect (&agent, 1, PRISM_WIRE_STARTED, &frame);
  agent_say_u32 (&agent, PRISM_WIRE_CANCEL, 1, 1);
  g_assert_cmpuint (agent_expect_exited (&agent, 1).flags, ==, PRISM_WIRE_EXITED_CANCELLED);
  WRITER (w);
  prism_wire_put_str (&w, "");
  prism_wire_put (&w, 0, 4);
  prism_wire_put (&w, 10, 4);
  agent_say_writer (&agent, PRISM_WIRE_LIST, 2, &w);
  agent_expect (&agent, 2, PRISM_WIRE_ENTRIES, &frame);
  agent_stop (&agent);
}

static void
test_hang_up (void)
{
  for (int round = 0; round < 10; round++)
    {
      Agent agent;
      int out[2];
      char ready[6];
      start (&agent);
      g_assert_no_errno (pipe2 (out, O_CLOEXEC));
      agent_say_exec (
          &agent, 1,
          SH ("trap '' TERM HUP; (setsid sh -c 'trap \"\" TERM; sleep 1000 & sleep 1000' &); nohup sleep 1000 & "
              "echo ready; kill -STOP $$"),
          NULL, (int[]){ out[1], out[1] }, 2);
      close (out[1]);
      g_assert_cmpint (read (out[0], ready, sizeof ready), ==, sizeof ready);
      agent_stop (&agent);
      g_autofree char *rest = read_pipe (out[0], NULL);
      close (out[0]);
    }
}

/* The agent ends with its last command, and all that runs beside it; not where that left
 * something behind or did not end by itself, which the host may want to know more of. */
static void
test_last (void)
{
  static const char *const others[] = { "kill -9 $$", "kill -9 $PPID; sleep 1000",
                                        "sleep 1000 </dev/null >/dev/null 2>&1 & exit 0" };
  const Exec last = { .flags = PRISM_WIRE_EXEC_LAST };
  g_auto (Frame) frame = FRAME_INIT;
  Agent agent;
  Exited exited;
  int out[2];
  start (&agent);
  g_assert_cmpint ((agent.features & PRISM_WIRE_FEATURE_LAST) != 0, ==, TRUE);
  for (guint i = 0; i < G_N_ELEMENTS (others); i++)
    {
      agent_say_exec (&agent, 10 + i, SH (others[i]), &last, (int[]){ 2, 2 }, 2);
      exited = agent_expect_exited (&agent, 10 + i);
      g_assert_true (exited.how != PRISM_WIRE_HOW_CODE || exited.flags != 0);
      g_autofree char *next = agent_run_command (&agent, SH ("echo hi"), NULL, &exited);
      g_assert_cmpstr (next, ==, "hi\n");
    }
  g_assert_no_errno (pipe2 (out, O_CLOEXEC));
  agent_say_exec (&agent, 1, SH ("echo up; sleep 1000"), NULL, (int[]){ out[1], 2 }, 2);
  close (out[1]);
  g_assert_cmpint (read (out[0], &(char[3]){ 0 }, 3), ==, 3);
  agent_say_exec (&agent, 2, SH ("exit 7"), &last, (int[]){ 2, 2 }, 2);
  exited = agent_expect_exited (&agent, 2);
  g_assert_true (exited.how == PRISM_WIRE_HOW_CODE && exited.code == 7 && exited.flags == 0);
  g_assert_false (agent_next (&agent, &frame));
  g_autofree char *rest = read_pipe (out[0], NULL);
  g_assert_cmpstr (rest, ==, "");
  close (out[0]);
  agent_stop (&agent);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/agent/init/attacks", test_attacks);
  g_test_add_func ("/agent/init/last", test_last);
  g_test_add_func ("/agent/init/kill-all", test_kill_all);
  g_test_add_func ("/agent/init/fork-bomb", test_fork_bomb);
  g_test_add_func ("/agent/init/hardened-by-setup", test_hardened_by_setup);
  g_test_add_func ("/agent/init/hang-up", test_hang_up);
  return g_test_run ();
}
