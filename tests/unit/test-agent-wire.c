/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the agent does with a host that breaks the rules: it ends, well and with
 * everything that it started. */
#include "agent-fixture.h"

typedef struct
{
  const char *name;
  void (*lie) (Agent *agent);
  gboolean before_setup;
} Lie;

static void
put_raw (Agent *agent, guint32 size, guint8 type, guint8 fds, guint16 flags, guint32 id, guint32 zero)
{
  guint8 header[PRISM_WIRE_HEADER];
  struct prism_wire_writer w = prism_wire_write_to (header, sizeof header);
  prism_wire_put (&w, size, 4);
  prism_wire_put (&w, type, 1);
  prism_wire_put (&w, fds, 1);
  prism_wire_put (&w, flags, 2);
  prism_wire_put (&w, id, 4);
  prism_wire_put (&w, zero, 4);
  agent_put (agent, header, sizeof header, NULL, 0);
}

static void
lie_too_large (Agent *agent)
{
  put_raw (agent, PRISM_WIRE_MAX_PAYLOAD + 1, PRISM_WIRE_DATA, 0, 0, 1, 0);
}

static void
lie_unknown (Agent *agent)
{
  put_raw (agent, 0, 99, 0, 0, 1, 0);
}

static void
lie_wrong_way (Agent *agent)
{
  put_raw (agent, 0, PRISM_WIRE_EXITED, 0, 0, 1, 0);
}

static void
lie_reserved (Agent *agent)
{
  put_raw (agent, 0, PRISM_WIRE_PING, 0, 0, 0, 1);
}

static void
lie_flags (Agent *agent)
{
  put_raw (agent, 0, PRISM_WIRE_PING, 0, 2, 0, 0);
}

static void
lie_last (Agent *agent)
{
  put_raw (agent, 0, PRISM_WIRE_PROCS, 0, PRISM_WIRE_LAST, 1, 0);
}

static void
lie_ping_id (Agent *agent)
{
  put_raw (agent, 0, PRISM_WIRE_PING, 0, 0, 1, 0);
}

static void
lie_exec_id (Agent *agent)
{
  agent_say_exec (agent, 0, ARGV ("true"), &(Exec){ .flags = PRISM_WIRE_EXEC_FRAMED }, NULL, 0);
}

static void
lie_four_fds (Agent *agent)
{
  put_raw (agent, 0, PRISM_WIRE_EXEC, 4, 0, 1, 0);
}

static void
lie_missing_fds (Agent *agent)
{
  agent_say_exec (agent, 1, ARGV ("true"), NULL, NULL, 0);
}

static void
lie_claims_absent (Agent *agent)
{
  put_raw (agent, 0, PRISM_WIRE_EXEC, 2, 0, 1, 0);
}

static void
lie_needless_fds (Agent *agent)
{
  agent_say (agent, PRISM_WIRE_PING, 0, 0, NULL, 0, (int[]){ 0, 0 }, 2);
}

static void
lie_hidden_fds (Agent *agent)
{
  guint8 header[PRISM_WIRE_HEADER];
  prism_wire_put_header (header, 0, PRISM_WIRE_PING, 0, 0, 0);
  agent_put (agent, header, sizeof header, (int[]){ 0, 0 }, 2);
  g_auto (Frame) frame = FRAME_INIT;
  agent_expect (agent, 0, PRISM_WIRE_PONG, &frame);
  agent_put (agent, header, sizeof header, NULL, 0);
}

static void
lie_fd_flood (Agent *agent)
{
  guint8 header[PRISM_WIRE_HEADER];
  prism_wire_put_header (header, 0, PRISM_WIRE_PING, 0, 0, 0);
  agent_put (agent, header, sizeof header, (int[]){ 0, 0, 0, 0, 0, 0, 0, 0 }, 8);
}

static void
lie_empty_argv (Agent *agent)
{
  const char *const none[] = { NULL };
  agent_say_exec (agent, 1, none, &(Exec){ .flags = PRISM_WIRE_EXEC_FRAMED }, NULL, 0);
}

static void
lie_exec_flags (Agent *agent)
{
  agent_say_exec (agent, 1, ARGV ("true"), &(Exec){ .flags = 1u << 20 | PRISM_WIRE_EXEC_FRAMED }, NULL, 0);
}

static void
lie_uuid (Agent *agent)
{
  agent_say_exec (agent, 1, ARGV ("true"), &(Exec){ .flags = PRISM_WIRE_EXEC_FRAMED, .uuid = "../../etc" }, NULL, 0);
}

static void
lie_trailing (Agent *agent)
{
  guint8 payload[5] = { 0 };
  agent_say (agent, PRISM_WIRE_CANCEL, 0, 1, payload, sizeof payload, NULL, 0);
}

static void
lie_short (Agent *agent)
{
  guint8 payload[3] = { 0 };
  agent_say (agent, PRISM_WIRE_SIGNAL, 0, 1, payload, sizeof payload, NULL, 0);
}

static void
lie_signal (Agent *agent)
{
  agent_say_u32 (agent, PRISM_WIRE_SIGNAL, 1, 65);
}

static void
lie_string (Agent *agent)
{
  WRITER (w);
  prism_wire_put (&w, 3, 4);
  prism_wire_put_bytes (&w, "a\0b", 4);
  agent_say_writer (agent, PRISM_WIRE_STAT, 1, &w);
}

static void
lie_count (Agent *agent)
{
  WRITER (w);
  prism_wire_put (&w, 0, 4);
  prism_wire_put (&w, 0xffffffff, 4);
  agent_say_writer (agent, PRISM_WIRE_EXEC, 1, &w);
}

static void
lie_same_id (Agent *agent)
{
  const Exec exec = { .flags = PRISM_WIRE_EXEC_FRAMED | PRISM_WIRE_EXEC_STDIN };
  agent_say_exec (agent, 1, ARGV ("cat"), &exec, NULL, 0);
  agent_say_exec (agent, 1, ARGV ("cat"), &exec, NULL, 0);
}

static void
lie_credit (Agent *agent)
{
  agent_say_exec (agent, 1, ARGV ("cat"), &(Exec){ .flags = PRISM_WIRE_EXEC_FRAMED | PRISM_WIRE_EXEC_STDIN }, NULL, 0);
  for (int i = 0; i < 3; i++)
    agent_say_credit (agent, 1, 1, PRISM_WIRE_MAX_CREDIT / 2);
}

static void
lie_credit_stream (Agent *agent)
{
  agent_say_credit (agent, 1, 0, 1);
}

static void
lie_overdraw (Agent *agent)
{
  g_autofree guint8 *block = g_malloc0 (PRISM_WIRE_MAX_PAYLOAD);
  agent_say_exec (agent, 1, ARGV ("sleep", "1000"), &(Exec){ .flags = PRISM_WIRE_EXEC_FRAMED | PRISM_WIRE_EXEC_STDIN },
                  NULL, 0);
  agent_say (agent, PRISM_WIRE_IN, 0, 1, block, PRISM_WIRE_MAX_PAYLOAD, NULL, 0);
  agent_say (agent, PRISM_WIRE_IN, 0, 1, block, PRISM_WIRE_MAX_PAYLOAD, NULL, 0);
}

static void
lie_data_to_read (Agent *agent)
{
  WRITER (w);
  prism_wire_put_str (&w, "/bin/bash");
  prism_wire_put (&w, 0, 8);
  prism_wire_put (&w, G_MAXUINT64, 8);
  prism_wire_put (&w, 0, 4);
  agent_say_writer (agent, PRISM_WIRE_READ, 1, &w);
  agent_say (agent, PRISM_WIRE_DATA, 0, 1, "x", 1, NULL, 0);
}

static void
lie_second_setup (Agent *agent)
{
  agent_say_setup (agent, &(Setup){ 0 });
}

static void
lie_no_setup (Agent *agent)
{
  agent_say (agent, PRISM_WIRE_PROCS, 0, 1, NULL, 0, NULL, 0);
}

static void
lie_keep_here (Agent *agent)
{
  agent_say_setup (agent, &(Setup){ .flags = PRISM_WIRE_SETUP_KEEP, .wall_ms = 1000 });
}

static void
lie_version (Agent *agent)
{
  WRITER (w);
  prism_wire_put (&w, PRISM_WIRE_MAJOR + 1, 2);
  prism_wire_put (&w, 0, 6);
  prism_wire_put_str (&w, "/");
  prism_wire_put (&w, 0, 4 + 4 + 8);
  prism_wire_put (&w, 0, 8);
  prism_wire_put (&w, 0, 4);
  prism_wire_put (&w, 0, 8);
  agent_say_writer (agent, PRISM_WIRE_SETUP, 0, &w);
}

static const Lie lies[] = {
  { "too-large", lie_too_large },
  { "unknown-type", lie_unknown },
  { "agents-own-type", lie_wrong_way },
  { "reserved-bits", lie_reserved },
  { "unknown-flag", lie_flags },
  { "last-where-none", lie_last },
  { "ping-with-id", lie_ping_id },
  { "exec-without-id", lie_exec_id },
  { "four-descriptors", lie_four_fds },
  { "missing-descriptors", lie_missing_fds },
  { "absent-descriptors", lie_claims_absent },
  { "needless-descriptors", lie_needless_fds },
  { "hidden-descriptors", lie_hidden_fds },
  { "descriptor-flood", lie_fd_flood },
  { "empty-argv", lie_empty_argv },
  { "exec-flags", lie_exec_flags },
  { "uuid", lie_uuid },
  { "trailing-bytes", lie_trailing },
  { "short-payload", lie_short },
  { "signal-number", lie_signal },
  { "string-with-nul", lie_string },
  { "absurd-count", lie_count },
  { "same-id", lie_same_id },
  { "too-much-credit", lie_credit },
  { "credit-for-no-stream", lie_credit_stream },
  { "overdraw-input", lie_overdraw },
  { "data-to-read", lie_data_to_read },
  { "second-setup", lie_second_setup },
  { "no-setup", lie_no_setup, TRUE },
  { "keep-without-dial", lie_keep_here, TRUE },
  { "other-version", lie_version, TRUE },
};

static void
test_lie (gconstpointer data)
{
  const Lie *lie = data;
  Agent agent;
  int alive[2];
  g_assert_no_errno (pipe2 (alive, O_CLOEXEC));
  agent_start_with (&agent, FALSE, lie->before_setup ? NULL : &(Setup){ 0 });
  if (!lie->before_setup)
    {
      char ready[6];
      agent_say_exec (&agent, 99, SH ("trap '' TERM; (setsid sleep 1000 &); echo ready; sleep 1000"), NULL,
                      (int[]){ alive[1], 2 }, 2);
      g_assert_cmpint (read (alive[0], ready, sizeof ready), ==, sizeof ready);
    }
  close (alive[1]);
  lie->lie (&agent);
  gboolean said = FALSE;
  g_auto (Frame) frame = FRAME_INIT;
  while (agent_next (&agent, &frame))
    if (frame.header.type == PRISM_WIRE_ERROR && frame.header.id == 0)
      {
        g_autofree char *message = NULL;
        frame_error (&frame, &message);
        g_test_message ("%s", message);
        said = TRUE;
      }
  g_assert_true (said);
  int status = agent_wait (&agent);
  g_assert_true (WIFEXITED (status));
  g_assert_cmpint (WEXITSTATUS (status), ==, 0);
  g_autofree char *rest = read_pipe (alive[0], NULL);
  close (alive[0]);
  close (agent.fd);
  remove_tree (agent.workspace);
  g_free (agent.workspace);
}

/* Cut anywhere: the same quiet end as a hang-up. */
static void
test_truncated (void)
{
  for (gsize at = 1; at < 60; at += 3)
    {
      Agent agent;
      agent_start (&agent);
      WRITER (w);
      prism_wire_put (&w, PRISM_WIRE_EXEC_FRAMED, 4);
      prism_wire_put_strv (&w, ARGV ("true"));
      prism_wire_put_str (&w, "");
      prism_wire_put_strv (&w, NULL);
      prism_wire_put (&w, 0, 4 + 8);
      prism_wire_put_str (&w, "");
      gsize size = w.at - w.start;
      g_autofree guint8 *frame = g_malloc (PRISM_WIRE_HEADER + size);
      prism_wire_put_header (frame, size, PRISM_WIRE_EXEC, 0, 0, 1);
      memcpy (frame + PRISM_WIRE_HEADER, w.start, size);
      agent_put (&agent, frame, MIN (at, PRISM_WIRE_HEADER + size - 1), NULL, 0);
      agent_stop (&agent);
    }
}

/* One byte at a time, and everything in one write, are the same conversation. */
static void
test_pieces (void)
{
  Agent agent;
  g_auto (Frame) frame = FRAME_INIT;
  guint8 pings[40 * PRISM_WIRE_HEADER];
  agent_start (&agent);
  for (guint i = 0; i < 40; i++)
    prism_wire_put_header (pings + i * PRISM_WIRE_HEADER, 0, PRISM_WIRE_PING, 0, 0, 0);
  agent_put (&agent, pings, sizeof pings, NULL, 0);
  for (gsize i = 0; i < sizeof pings; i++)
    agent_put (&agent, pings + i, 1, NULL, 0);
  for (guint i = 0; i < 80; i++)
    agent_expect (&agent, 0, PRISM_WIRE_PONG, &frame);
  agent_stop (&agent);
}

/* As many requests as there may be ids, and one more. */
static void
test_too_many (void)
{
  Agent agent;
  agent_start (&agent);
  WRITER (w);
  prism_wire_put_str (&w, "");
  prism_wire_put (&w, 10, 8);
  prism_wire_put (&w, 10, 8);
  for (guint32 id = 1; id <= PRISM_WIRE_MAX_IDS + 1; id++)
    agent_say (&agent, PRISM_WIRE_TREE_IN, 0, id, w.start, w.at - w.start, NULL, 0);
  g_assert_cmpuint (agent_expect_error (&agent, PRISM_WIRE_MAX_IDS + 1), ==, PRISM_WIRE_ERROR_LIMIT);
  agent_stop (&agent);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (lies); i++)
    {
      g_autofree char *path = g_strconcat ("/agent/wire/lie/", lies[i].name, NULL);
      g_test_add_data_func (path, &lies[i], test_lie);
    }
  g_test_add_func ("/agent/wire/truncated", test_truncated);
  g_test_add_func ("/agent/wire/pieces", test_pieces);
  g_test_add_func ("/agent/wire/too-many", test_too_many);
  return g_test_run ();
}
