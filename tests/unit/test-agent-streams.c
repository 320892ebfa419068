/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Framed output and input, credit, caps; processes that outlive a connection. */
#include "agent-fixture.h"

#include <sys/un.h>

#define FRAMED PRISM_WIRE_EXEC_FRAMED

static const Setup usual = { 0 };

/* All frames of one id until EXITED; credit is given as it comes. */
static Exited
collect (Agent *agent, guint32 id, GString *out, GString *err)
{
  for (;;)
    {
      g_auto (Frame) frame = FRAME_INIT;
      g_assert_true (agent_next (agent, &frame));
      g_assert_cmpuint (frame.header.id, ==, id);
      if (frame.header.type == PRISM_WIRE_EXITED)
        return frame_exited (&frame);
      if (frame.header.type == PRISM_WIRE_CREDIT)
        continue;
      g_assert_true (frame.header.type == PRISM_WIRE_OUT || frame.header.type == PRISM_WIRE_ERR);
      gboolean is_out = frame.header.type == PRISM_WIRE_OUT;
      GString *into = is_out ? out : err;
      if (into != NULL)
        g_string_append_len (into, (char *)frame.payload, frame.header.size);
      agent_say_credit (agent, id, is_out ? 1 : 2, frame.header.size);
    }
}

static void
test_framed (gconstpointer data)
{
  gboolean framed = GPOINTER_TO_INT (data);
  Agent agent;
  agent_start_with (&agent, framed, &usual);
  for (guint32 id = 1; id <= 200; id++)
    {
      g_autoptr (GString) out = g_string_new (NULL);
      g_autoptr (GString) err = g_string_new (NULL);
      agent_say_exec (&agent, id, SH ("echo out; echo err >&2; exit 3"), &(Exec){ .flags = FRAMED }, NULL, 0);
      Exited exited = collect (&agent, id, out, err);
      g_assert_cmpstr (out->str, ==, "out\n");
      g_assert_cmpstr (err->str, ==, "err\n");
      g_assert_cmpint (exited.code, ==, 3);
      g_assert_cmpuint (exited.flags, ==, 0);
      g_assert_cmpuint (exited.out, ==, 4);
      g_assert_cmpuint (exited.err, ==, 4);
    }
  /* More than any window, both streams. */
  g_autoptr (GString) out = g_string_new (NULL);
  g_autoptr (GString) err = g_string_new (NULL);
  agent_say_exec (&agent, 1, SH ("head -c 3000000 /dev/zero; head -c 2000000 /dev/zero >&2"),
                  &(Exec){ .flags = FRAMED }, NULL, 0);
  Exited exited = collect (&agent, 1, out, err);
  g_assert_cmpuint (out->len, ==, 3000000);
  g_assert_cmpuint (err->len, ==, 2000000);
  g_assert_cmpuint (exited.out, ==, 3000000);
  agent_stop (&agent);
}

/* Exactly the window arrives of a stream without credit; everything else goes on. */
static void
test_stall (void)
{
  Agent agent;
  agent_start_with (&agent, TRUE, &usual);
  agent_say_exec (&agent, 1, SH ("cat /dev/zero"), &(Exec){ .flags = FRAMED }, NULL, 0);
  for (gsize got = 0; got < PRISM_WIRE_WINDOW;)
    {
      g_auto (Frame) frame = FRAME_INIT;
      agent_expect (&agent, 1, PRISM_WIRE_OUT, &frame);
      got += frame.header.size;
      g_assert_cmpuint (got, <=, PRISM_WIRE_WINDOW);
    }
  for (guint32 id = 2; id < 20; id++)
    {
      g_autoptr (GString) out = g_string_new (NULL);
      agent_say_exec (&agent, id, SH ("head -c 1000000 /dev/zero"), &(Exec){ .flags = FRAMED }, NULL, 0);
      collect (&agent, id, out, NULL);
      g_assert_cmpuint (out->len, ==, 1000000);
    }
  agent_say_credit (&agent, 1, 1, 1000);
  for (gsize got = 0; got < 1000;)
    {
      g_auto (Frame) frame = FRAME_INIT;
      agent_expect (&agent, 1, PRISM_WIRE_OUT, &frame);
      got += frame.header.size;
      g_assert_cmpuint (got, <=, 1000);
    }
  agent_say_u32 (&agent, PRISM_WIRE_CANCEL, 1, 0);
  Exited exited = agent_expect_exited (&agent, 1);
  g_assert_cmpuint (exited.flags, ==, PRISM_WIRE_EXITED_CANCELLED);
  g_assert_cmpuint (exited.out, ==, PRISM_WIRE_WINDOW + 1000);
  agent_stop (&agent);
}

/* KiB */
static guint64
anonymous_memory (pid_t pid)
{
  g_autofree char *path = g_strdup_printf ("/proc/%d/status", pid);
  g_autofree char *status = NULL;
  g_assert_true (g_file_get_contents (path, &status, NULL, NULL));
  const char *rss = strstr (status, "RssAnon:");
  g_assert_nonnull (rss);
  return g_ascii_strtoull (rss + strlen ("RssAnon:"), NULL, 10);
}

/* A host that does not read at all: bounded memory, and all is there afterwards. */
static void
test_stalled_host (void)
{
  Agent agent;
  agent_start_with (&agent, FALSE, &usual);
  guint64 before = anonymous_memory (agent.pid);
  for (guint32 id = 1; id <= 60; id++)
    agent_say_exec (&agent, id, SH ("head -c 200000 /dev/zero"), &(Exec){ .flags = FRAMED }, NULL, 0);
  /* The agent stops taking requests at some point; nothing here waits for it. */
  guint asked = 0;
  while (asked < 100000 && wait_for (agent.fd, POLLOUT, 50))
    {
      guint8 ping[PRISM_WIRE_HEADER];
      prism_wire_put_header (ping, 0, PRISM_WIRE_PING, 0, 0, 0);
      if (send (agent.fd, ping, sizeof ping, MSG_DONTWAIT | MSG_NOSIGNAL) != sizeof ping)
        break;
      asked++;
    }
#ifdef __SANITIZE_ADDRESS__ /* which keeps what is freed */
  before += 65536;
#endif
  g_assert_cmpuint (anonymous_memory (agent.pid), <, before + 4096);
  guint exited = 0, pongs = 0;
  gsize bytes = 0;
  while (exited < 60 || pongs < asked)
    {
      g_auto (Frame) frame = FRAME_INIT;
      g_assert_true (agent_next (&agent, &frame));
      exited += frame.header.type == PRISM_WIRE_EXITED;
      pongs += frame.header.type == PRISM_WIRE_PONG;
      bytes += frame.header.type == PRISM_WIRE_OUT ? frame.header.size : 0;
    }
  g_assert_cmpuint (bytes, ==, 60 * 200000);
  agent_stop (&agent);
}

static void
test_cap (void)
{
  Agent agent;
  agent_start_with (&agent, TRUE, &usual);
  for (guint64 cap = 1; cap <= 1000000; cap *= 100)
    {
      g_autoptr (GString) out = g_string_new (NULL);
      agent_say_exec (&agent, 1, SH ("yes & yes >&2 & wait"), &(Exec){ .flags = FRAMED, .most_bytes = cap }, NULL, 0);
      g_autoptr (GString) err = g_string_new (NULL);
      Exited exited = collect (&agent, 1, out, err);
      g_assert_cmpuint (exited.flags, ==, PRISM_WIRE_EXITED_LIMIT);
      g_assert_cmpuint (out->len + err->len, ==, cap);
      g_assert_cmpuint (exited.out + exited.err, ==, cap);
    }
  /* Up to it is not over it. */
  g_autoptr (GString) out = g_string_new (NULL);
  agent_say_exec (&agent, 1, SH ("printf 12345"), &(Exec){ .flags = FRAMED, .most_bytes = 5 }, NULL, 0);
  Exited exited = collect (&agent, 1, out, NULL);
  g_assert_cmpuint (exited.flags, ==, 0);
  g_assert_cmpstr (out->str, ==, "12345");
  agent_stop (&agent);
}

/* S-1: output before the exit, always; a background holder of the pipe does not delay it. */
static void
test_background_holder (void)
{
  Agent agent;
  g_auto (Frame) frame = FRAME_INIT;
  agent_start_with (&agent, TRUE, &usual);
  for (int i = 0; i < 100; i++)
    {
      g_autoptr (GString) out = g_string_new (NULL);
      agent_say_exec (&agent, 1, SH ("head -c 60000 /dev/zero; yes & sleep 1000 & exit 0"), &(Exec){ .flags = FRAMED },
                      NULL, 0);
      Exited exited = collect (&agent, 1, out, NULL);
      g_assert_cmpuint (exited.flags, ==, PRISM_WIRE_EXITED_MORE);
      g_assert_cmpuint (out->len, >=, 60000);
      for (guint at = 0; at < 60000; at += 100)
        g_assert_cmpint (out->str[at], ==, 0);
      agent_say_u32 (&agent, PRISM_WIRE_CANCEL, 1, i & 1 ? 0 : 1000);
      agent_expect (&agent, 1, PRISM_WIRE_GONE, &frame);
    }
  agent_stop (&agent);
}

static void
test_input (void)
{
  Agent agent;
  g_autoptr (GString) out = g_string_new (NULL);
  agent_start_with (&agent, TRUE, &usual);
  const Exec exec = { .flags = FRAMED | PRISM_WIRE_EXEC_STDIN };
  agent_say_exec (&agent, 1, ARGV ("cat"), &exec, NULL, 0);
  g_autofree char *block = g_strnfill (50000, 'b');
  gsize sent = 0, credit = PRISM_WIRE_WINDOW, got = 0;
  while (got < 3000000)
    {
      while (sent < 3000000 && credit >= 50000)
        {
          agent_say (&agent, PRISM_WIRE_IN, 0, 1, block, 50000, NULL, 0);
          sent += 50000;
          credit -= 50000;
        }
      g_auto (Frame) frame = FRAME_INIT;
      g_assert_true (agent_next (&agent, &frame));
      if (frame.header.type == PRISM_WIRE_CREDIT)
        {
          struct prism_wire_reader r = prism_wire_read_from (frame.payload + 1, 4);
          g_assert_cmpuint (frame.payload[0], ==, 0);
          credit += prism_wire_u32 (&r);
          continue;
        }
      g_assert_cmpint (frame.header.type, ==, PRISM_WIRE_OUT);
      got += frame.header.size;
      agent_say_credit (&agent, 1, 1, frame.header.size);
    }
  agent_say (&agent, PRISM_WIRE_IN_EOF, 0, 1, NULL, 0, NULL, 0);
  g_assert_cmpint (collect (&agent, 1, out, NULL).code, ==, 0);
  g_assert_cmpstr (out->str, ==, "");

  /* Nobody reads it: silently dropped, credit and all. */
  agent_say_exec (&agent, 2, SH ("exec <&-; echo; read x < /dev/null; exit 4"), &exec, NULL, 0);
  agent_say (&agent, PRISM_WIRE_IN, 0, 2, block, 50000, NULL, 0);
  agent_say (&agent, PRISM_WIRE_IN, 0, 2, block, 50000, NULL, 0);
  g_assert_cmpint (collect (&agent, 2, out, NULL).code, ==, 4);
  /* Without STDIN it is ignored. */
  agent_say_exec (&agent, 3, ARGV ("cat"), &(Exec){ .flags = FRAMED }, NULL, 0);
  agent_say (&agent, PRISM_WIRE_IN, 0, 3, block, 50000, NULL, 0);
  g_assert_cmpint (collect (&agent, 3, out, NULL).code, ==, 0);
  agent_stop (&agent);
}

static void
test_framed_terminal (void)
{
  Agent agent;
  g_auto (Frame) frame = FRAME_INIT;
  g_autoptr (GString) out = g_string_new (NULL);
  agent_start_with (&agent, TRUE, &usual);
  agent_say_exec (&agent, 1, SH ("stty -echo; echo ready; cat; stty size"),
                  &(Exec){ .flags = FRAMED | PRISM_WIRE_EXEC_PTY, .columns = 90, .rows = 20 }, NULL, 0);
  agent_expect (&agent, 1, PRISM_WIRE_STARTED, &frame);
  g_assert_cmpint (frame.fd, ==, -1);
  while (strstr (out->str, "ready") == NULL)
    {
      agent_expect (&agent, 1, PRISM_WIRE_OUT, &frame);
      g_string_append_len (out, (char *)frame.payload, frame.header.size);
    }
  guint8 size[4] = { 91, 0, 21, 0 };
  agent_say (&agent, PRISM_WIRE_RESIZE, 0, 1, size, sizeof size, NULL, 0);
  agent_say (&agent, PRISM_WIRE_IN, 0, 1, "typed\n", 6, NULL, 0);
  agent_say (&agent, PRISM_WIRE_IN_EOF, 0, 1, NULL, 0, NULL, 0);
  Exited exited = collect (&agent, 1, out, NULL);
  g_assert_cmpint (exited.code, ==, 0);
  g_assert_cmpstr (out->str, ==, "ready\r\ntyped\r\n21 91\r\n");
  agent_stop (&agent);
}

/* --- kept processes --- */

#define UUID "00112233445566778899aabbccddeeff"

typedef struct
{
  Agent agent;
  int listener;
  char *folder, *socket;
} Host;

static void
host_listen (Host *host)
{
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  g_strlcpy (address.sun_path, host->socket, sizeof address.sun_path);
  host->listener = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  g_assert_no_errno (bind (host->listener, (struct sockaddr *)&address, sizeof address));
  g_assert_no_errno (listen (host->listener, 1));
}

static void
host_accept (Host *host, const Setup *setup)
{
  g_assert_true (wait_for (host->listener, POLLIN, DEADLINE_MS));
  host->agent.fd = accept4 (host->listener, NULL, NULL, SOCK_CLOEXEC);
  g_assert_cmpint (host->agent.fd, >=, 0);
  agent_expect_hello (&host->agent);
  agent_say_setup (&host->agent, setup);
}

static void
host_vanish (Host *host)
{
  close (host->agent.fd);
  close (host->listener);
  unlink (host->socket);
}

static void
host_start (Host *host, const Setup *setup)
{
  memset (host, 0, sizeof *host);
  host->folder = g_dir_make_tmp ("prism-control-XXXXXX", NULL);
  host->socket = g_build_filename (host->folder, "s", NULL);
  host->agent.workspace = g_dir_make_tmp ("prism-agent-XXXXXX", NULL);
  host_listen (host);
  const char *const arguments[] = { "prism-agent", "--dial", host->socket, NULL };
  host->agent.pid = agent_spawn (arguments, -1);
  host_accept (host, setup);
}

static void
host_end (Host *host)
{
  agent_say (&host->agent, PRISM_WIRE_SHUTDOWN, 0, 0, NULL, 0, NULL, 0);
  agent_stop (&host->agent);
  close (host->listener);
  remove_tree (host->folder);
  g_free (host->folder);
  g_free (host->socket);
}

static void
say_attach (Agent *agent, guint32 id, const char *uuid, guint64 out, guint64 err, guint32 flags)
{
  WRITER (w);
  prism_wire_put_str (&w, uuid);
  prism_wire_put (&w, out, 8);
  prism_wire_put (&w, err, 8);
  prism_wire_put (&w, flags, 4);
  agent_say_writer (agent, PRISM_WIRE_ATTACH, id, &w);
}

static void
say_release (Agent *agent, guint32 id, const char *uuid)
{
  WRITER (w);
  prism_wire_put_str (&w, uuid);
  agent_say_writer (agent, PRISM_WIRE_RELEASE, id, &w);
}

/* "uuid state how code out-begin out-end argv..." a line */
static char *
list_processes (Agent *agent)
{
  g_auto (Frame) frame = FRAME_INIT;
  GString *all = g_string_new (NULL);
  agent_say (agent, PRISM_WIRE_PROCS, 0, 4242, NULL, 0, NULL, 0);
  agent_expect (agent, 4242, PRISM_WIRE_ENTRIES, &frame);
  g_assert_cmpuint (frame.header.flags, ==, PRISM_WIRE_LAST);
  struct prism_wire_reader r = prism_wire_read_from (frame.payload, frame.header.size);
  while (r.at < r.end)
    {
      g_string_append (all, prism_wire_str (&r, 32));
      g_assert_cmpuint (prism_wire_u32 (&r), >, 0);
      guint state = prism_wire_u8 (&r), how = prism_wire_u8 (&r);
      int code = (int)prism_wire_u32 (&r);
      g_assert_cmpuint (prism_wire_u64 (&r), >, G_GUINT64_CONSTANT (1600000000000));
      guint64 begin = prism_wire_u64 (&r), end = prism_wire_u64 (&r);
      (void)prism_wire_u64 (&r);
      (void)prism_wire_u64 (&r);
      const char *tag = prism_wire_str (&r, PRISM_WIRE_MAX_TAG);
      g_assert_nonnull (tag);
      g_string_append_printf (all, "%s%s", *tag != 0 ? " " : "", tag);
      g_string_append_printf (all, " %u %u %d %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT, state, how, code, begin, end);
      for (guint n = prism_wire_count (&r); n > 0; n--)
        g_string_append_printf (all, " %s", prism_wire_str (&r, 4096));
      g_string_append_c (all, '\n');
    }
  g_assert_true (prism_wire_done (&r));
  return g_string_free (all, FALSE);
}

static void
test_kept (void)
{
  Host host;
  g_auto (Frame) frame = FRAME_INIT;
  const Setup setup = { .flags = PRISM_WIRE_SETUP_KEEP, .log_bytes = 65536, .wall_ms = 60000 };
  const Setup tighter = { .flags = PRISM_WIRE_SETUP_KEEP, .open_files = 66, .log_bytes = 65536, .wall_ms = 60000 };
  const Exec exec = { .flags = PRISM_WIRE_EXEC_KEEP | PRISM_WIRE_EXEC_STDIN | PRISM_WIRE_EXEC_STARTED, .uuid = UUID };
  guint8 boot[16];
  int out[2];
  char ready[6];
  host_start (&host, &setup);
  memcpy (boot, host.agent.boot, sizeof boot);
  agent_say_exec (&host.agent, 5, SH ("echo one; read x; echo $x; exec cat"), &exec, NULL, 0);
  agent_expect (&host.agent, 5, PRISM_WIRE_STARTED, &frame);
  agent_expect (&host.agent, 5, PRISM_WIRE_OUT, &frame);
  g_assert_cmpmem (frame.payload, frame.header.size, "one\n", 4);
  agent_say_exec (&host.agent, 6, ARGV ("true"), &exec, NULL, 0);
  g_assert_cmpuint (agent_expect_error (&host.agent, 6), ==, PRISM_WIRE_ERROR_EXISTS);
  /* One that is not kept ends with the connection. */
  g_assert_no_errno (pipe2 (out, O_CLOEXEC));
  agent_say_exec (&host.agent, 7, SH ("(setsid sleep 1000 &); echo ready; sleep 1000"), NULL, (int[]){ out[1], 2 }, 2);
  close (out[1]);
  g_assert_cmpint (read (out[0], ready, sizeof ready), ==, sizeof ready);

  host_vanish (&host);
  g_autofree char *rest = read_pipe (out[0], NULL);
  close (out[0]);
  host_listen (&host);
  host_accept (&host, &setup);
  g_assert_cmpmem (boot, 16, host.agent.boot, 16);

  g_autofree char *processes = list_processes (&host.agent);
  g_assert_cmpstr (processes, ==, UUID " 1 0 0 0 4 sh -c echo one; read x; echo $x; exec cat\n");
  say_attach (&host.agent, 1, "ffffffffffffffffffffffffffffffff", 0, 0, 0);
  g_assert_cmpuint (agent_expect_error (&host.agent, 1), ==, PRISM_WIRE_ERROR_NOT_FOUND);
  say_attach (&host.agent, 2, UUID, 0, 0, PRISM_WIRE_EXEC_STARTED);
  agent_expect (&host.agent, 2, PRISM_WIRE_STARTED, &frame);
  agent_expect (&host.agent, 2, PRISM_WIRE_OUT, &frame);
  g_assert_cmpmem (frame.payload, frame.header.size, "one\n", 4);
  say_attach (&host.agent, 3, UUID, 0, 0, 0);
  g_assert_cmpuint (agent_expect_error (&host.agent, 3), ==, PRISM_WIRE_ERROR_EXISTS);
  say_release (&host.agent, 3, UUID);
  g_assert_cmpuint (agent_expect_error (&host.agent, 3), ==, PRISM_WIRE_ERROR_INVALID);
  agent_say (&host.agent, PRISM_WIRE_IN, 0, 2, "two\n", 4, NULL, 0);
  agent_expect (&host.agent, 2, PRISM_WIRE_OUT, &frame);
  g_assert_cmpmem (frame.payload, frame.header.size, "two\n", 4);
  agent_say (&host.agent, PRISM_WIRE_IN_EOF, 0, 2, NULL, 0, NULL, 0);
  g_assert_cmpint (agent_expect_exited (&host.agent, 2).code, ==, 0);

  /* It has ended, its log is there until it is released. The next host may ask for other limits. */
  host_vanish (&host);
  host_listen (&host);
  host_accept (&host, &tighter);
  Exited exited;
  g_autofree char *files = agent_run_command (&host.agent, SH ("ulimit -n"), NULL, &exited);
  g_assert_cmpstr (files, ==, "66\n");
  g_autofree char *ended = list_processes (&host.agent);
  g_assert_cmpstr (ended, ==, UUID " 2 1 0 0 8 sh -c echo one; read x; echo $x; exec cat\n");
  say_attach (&host.agent, 1, UUID, 4, 0, 0);
  agent_expect (&host.agent, 1, PRISM_WIRE_OUT, &frame);
  g_assert_cmpmem (frame.payload, frame.header.size, "two\n", 4);
  exited = agent_expect_exited (&host.agent, 1);
  g_assert_cmpuint (exited.out, ==, 8);
  say_release (&host.agent, 1, UUID);
  agent_expect (&host.agent, 1, PRISM_WIRE_DONE, &frame);
  g_autofree char *none = list_processes (&host.agent);
  g_assert_cmpstr (none, ==, "");
  host_end (&host);
}

/* It writes more than its log while nobody is there, and ends. */
static void
test_kept_log (void)
{
  Host host;
  const Setup setup = { .flags = PRISM_WIRE_SETUP_KEEP, .log_bytes = 10000, .wall_ms = 60000 };
  const Exec exec = { .flags = PRISM_WIRE_EXEC_KEEP | PRISM_WIRE_EXEC_STDIN | PRISM_WIRE_EXEC_STARTED, .uuid = UUID };
  g_auto (Frame) frame = FRAME_INIT;
  host_start (&host, &setup);
  g_autofree char *fifo = g_build_filename (host.agent.workspace, "fifo", NULL);
  g_assert_no_errno (mkfifo (fifo, 0600));
  agent_say_exec (&host.agent, 1, SH ("read x < fifo; seq -w 100000; exit 9"), &exec, NULL, 0);
  agent_expect (&host.agent, 1, PRISM_WIRE_STARTED, &frame);
  host_vanish (&host);
  int go = open (fifo, O_WRONLY | O_CLOEXEC);
  g_assert_cmpint (write (go, "\n", 1), ==, 1);
  close (go);
  /* 700,000 bytes, perhaps while this attaches: what comes is a gapless end of it. */
  host_listen (&host);
  host_accept (&host, &setup);
  say_attach (&host.agent, 2, UUID, 0, 0, 0);
  g_autoptr (GString) out = g_string_new (NULL);
  Exited exited = collect (&host.agent, 2, out, NULL);
  g_assert_cmpint (exited.code, ==, 9);
  g_assert_cmpuint (exited.out, ==, 700000);
  g_assert_cmpuint (out->len, >=, 10000);
  g_autoptr (GString) expected = g_string_new (NULL);
  for (int i = 1; i <= 100000; i++)
    g_string_append_printf (expected, "%06d\n", i);
  g_assert_cmpstr (out->str, ==, expected->str + expected->len - out->len);
  host_end (&host);
}

/* Its time is over while nobody is there; a command line longer than PROCS tells has its
 * tag. */
static void
test_kept_timeout (void)
{
  Host host;
  const Setup setup = { .flags = PRISM_WIRE_SETUP_KEEP, .log_bytes = 10000, .wall_ms = 60000 };
  const Exec exec = { .flags = PRISM_WIRE_EXEC_KEEP | PRISM_WIRE_EXEC_STARTED,
                      .uuid = UUID,
                      .timeout_ms = 2000,
                      .grace_ms = 50,
                      .tag = "what-it-is" };
  g_auto (Frame) frame = FRAME_INIT;
  g_autofree char *script = g_strdup_printf ("trap '' TERM; echo begun; sleep 1000 #%8000d", 1);
  host_start (&host, &setup);
  agent_say_exec (&host.agent, 1, SH (script), &exec, NULL, 0);
  agent_expect (&host.agent, 1, PRISM_WIRE_STARTED, &frame);
  agent_expect (&host.agent, 1, PRISM_WIRE_OUT, &frame);
  host_vanish (&host);
  host_listen (&host);
  host_accept (&host, &setup);
  say_attach (&host.agent, 2, UUID, 6, 0, 0);
  Exited exited = agent_expect_exited (&host.agent, 2);
  g_assert_cmpuint (exited.flags, ==, PRISM_WIRE_EXITED_TIMED_OUT | PRISM_WIRE_EXITED_CANCELLED);
  g_autofree char *processes = list_processes (&host.agent);
  g_assert_cmpstr (processes, ==, UUID " what-it-is 2 2 9 0 6 sh -c\n");
  host_end (&host);
}

/* Frozen time is no time: what it was told of does not end a command. */
static void
test_resumed (void)
{
  Host host;
  const Setup setup = { .flags = PRISM_WIRE_SETUP_KEEP, .log_bytes = 10000, .wall_ms = 60000 };
  const Exec exec = { .flags = PRISM_WIRE_EXEC_KEEP, .uuid = UUID, .timeout_ms = 2000, .grace_ms = 50 };
  WRITER (w);
  host_start (&host, &setup);
  prism_wire_put (&w, 3600 * 1000, 8);
  agent_say_exec (&host.agent, 1, SH ("sleep 3; exit 4"), &exec, NULL, 0);
  agent_say_writer (&host.agent, PRISM_WIRE_RESUMED, 0, &w);
  Exited exited = agent_expect_exited (&host.agent, 1);
  g_assert_cmpuint (exited.flags, ==, 0);
  g_assert_cmpint (exited.code, ==, 4);
  host_end (&host);
}

/* The wall time ends a detached sandbox by itself, with or without a host. */
static void
test_wall (void)
{
  Host host;
  const Setup setup = { .flags = PRISM_WIRE_SETUP_KEEP, .wall_ms = 2000 };
  const Exec exec = { .flags = PRISM_WIRE_EXEC_KEEP, .uuid = UUID };
  host_start (&host, &setup);
  g_autofree char *fifo = g_build_filename (host.agent.workspace, "fifo", NULL);
  g_assert_no_errno (mkfifo (fifo, 0600));
  agent_say_exec (&host.agent, 1, SH ("trap '' TERM; (setsid sleep 1000 > fifo &) ; sleep 1000 > fifo"), &exec, NULL,
                  0);
  int held = open (fifo, O_RDONLY | O_CLOEXEC);
  host_vanish (&host);
  int status = agent_wait (&host.agent);
  g_assert_cmpint (WEXITSTATUS (status), ==, 0);
  g_autofree char *rest = read_pipe (held, NULL);
  close (held);
  remove_tree (host.folder);
  remove_tree (host.agent.workspace);
  g_free (host.folder);
  g_free (host.socket);
  g_free (host.agent.workspace);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/agent/streams/framed", GINT_TO_POINTER (1), test_framed);
  g_test_add_data_func ("/agent/streams/framed-by-choice", GINT_TO_POINTER (0), test_framed);
  g_test_add_func ("/agent/streams/stall", test_stall);
  g_test_add_func ("/agent/streams/stalled-host", test_stalled_host);
  g_test_add_func ("/agent/streams/cap", test_cap);
  g_test_add_func ("/agent/streams/background-holder", test_background_holder);
  g_test_add_func ("/agent/streams/input", test_input);
  g_test_add_func ("/agent/streams/terminal", test_framed_terminal);
  g_test_add_func ("/agent/streams/kept", test_kept);
  g_test_add_func ("/agent/streams/kept-log", test_kept_log);
  g_test_add_func ("/agent/streams/kept-timeout", test_kept_timeout);
  g_test_add_func ("/agent/streams/resumed", test_resumed);
  g_test_add_func ("/agent/streams/wall", test_wall);
  return g_test_run ();
}
