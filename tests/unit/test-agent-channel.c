/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Agents that lie, played by a thread of the test: whatever they do, the sandbox
 * ends as lost, quickly and once, and the host is as it was. */
#include "agent-sandbox-fixture.h"

#include <prism-command.h>
#include <prism-process.h>
#include <prism-result.h>
#include <prism-sandbox-error.h>

#include "agent/prism-wire.h"

#define QUICKLY (20 * G_USEC_PER_SEC)

typedef enum
{
  ASK_EXEC,
  ASK_EXEC_FRAMED,
  ASK_EXEC_PTY,
  ASK_PROCESS,
  ASK_PROCESS_FRAMED,
  ASK_LIST,
  ASK_STAT,
  ASK_LISTEN,
} Ask;

typedef struct Liar Liar;

struct Liar
{
  int fd;
  guint32 id; /* of the request that came */
  void (*play) (Liar *liar);
  gboolean no_hello;
};

/* --- the liar's tools --- */

static void
send_bytes (Liar *liar, gconstpointer bytes, gsize size, int fd)
{
  char control[CMSG_SPACE (sizeof (int))] = { 0 };
  struct iovec part = { (void *)bytes, size };
  struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
  if (fd >= 0)
    {
      message.msg_control = control;
      message.msg_controllen = sizeof control;
      struct cmsghdr *c = CMSG_FIRSTHDR (&message);
      c->cmsg_level = SOL_SOCKET;
      c->cmsg_type = SCM_RIGHTS;
      c->cmsg_len = CMSG_LEN (sizeof (int));
      memcpy (CMSG_DATA (c), &fd, sizeof fd);
    }
  while (size > 0)
    {
      ssize_t n = sendmsg (liar->fd, &message, MSG_NOSIGNAL);
      if (n <= 0)
        return;
      size -= (gsize)n;
      part.iov_base = (char *)part.iov_base + n;
      part.iov_len = size;
      message.msg_control = NULL;
      message.msg_controllen = 0;
    }
}

static void
say (Liar *liar, guint8 type, guint16 flags, guint32 id, gconstpointer payload, gsize size, int fd)
{
  g_autofree guint8 *frame = g_malloc0 (PRISM_WIRE_HEADER + size);
  prism_wire_put_header (frame, (guint32)size, type, fd >= 0 ? 1 : 0, flags, id);
  if (payload != NULL)
    memcpy (frame + PRISM_WIRE_HEADER, payload, size);
  send_bytes (liar, frame, PRISM_WIRE_HEADER + size, fd);
}

static gboolean
receive (Liar *liar, gpointer bytes, gsize size)
{
  for (gsize at = 0; at < size;)
    {
      char control[CMSG_SPACE (3 * sizeof (int))];
      struct iovec part = { (guint8 *)bytes + at, size - at };
      struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control
      };
      ssize_t n = recvmsg (liar->fd, &message, MSG_CMSG_CLOEXEC);
      if (n <= 0)
        return FALSE;
      for (struct cmsghdr *c = CMSG_FIRSTHDR (&message); c != NULL; c = CMSG_NXTHDR (&message, c))
        for (gsize i = 0; i < (c->cmsg_len - CMSG_LEN (0)) / sizeof (int); i++)
          close (((int *)CMSG_DATA (c))[i]);
      at += (gsize)n;
    }
  return TRUE;
}

/* The type of the next frame, 0 when there is none. */
static guint8
next_frame (Liar *liar)
{
  guint8 header[PRISM_WIRE_HEADER];
  struct prism_wire_header h;
  if (!receive (liar, header, sizeof header) || !prism_wire_get_header (header, &h))
    return 0;
  g_autofree guint8 *payload = g_malloc (h.size + 1);
  if (!receive (liar, payload, h.size))
    return 0;
  if (h.id != 0)
    liar->id = h.id;
  return h.type;
}

static void
say_hello (Liar *liar)
{
  static const char hello[] = "PRSM\1\0\0\0\7\0\0\0\0\0\0\0bbbbbbbbbbbbbbbb\1\0\0\0\1\0\0\0\0\0\0\0";
  say (liar, PRISM_WIRE_HELLO, 0, 0, hello, sizeof hello - 1, -1);
}

static gpointer
liar_main (gpointer data)
{
  Liar *liar = data;
  if (!liar->no_hello)
    {
      say_hello (liar);
      g_assert_cmpint (next_frame (liar), ==, PRISM_WIRE_SETUP);
      next_frame (liar);
    }
  liar->play (liar);
  while (next_frame (liar) != 0)
    ;
  close (liar->fd);
  return NULL;
}

/* --- lies --- */

static void
lie_nothing_then_die (Liar *liar)
{
  shutdown (liar->fd, SHUT_RDWR);
}

static void
lie_half_a_header (Liar *liar)
{
  send_bytes (liar, "\1\2\3", 3, -1);
  shutdown (liar->fd, SHUT_RDWR);
}

static void
lie_half_a_frame (Liar *liar)
{
  guint8 header[PRISM_WIRE_HEADER];
  prism_wire_put_header (header, 49, PRISM_WIRE_EXITED, 0, 0, liar->id);
  send_bytes (liar, header, sizeof header, -1);
  shutdown (liar->fd, SHUT_RDWR);
}

static void
lie_oversized (Liar *liar)
{
  guint8 header[PRISM_WIRE_HEADER];
  prism_wire_put_header (header, 0xffffffffu, PRISM_WIRE_EXITED, 0, 0, liar->id);
  send_bytes (liar, header, sizeof header, -1);
}

static void
lie_unknown (Liar *liar)
{
  say (liar, 250, 0, liar->id, NULL, 0, -1);
}

static void
lie_other_id (Liar *liar)
{
  say (liar, PRISM_WIRE_EXITED, 0, liar->id + 1, NULL, 49, -1);
}

static void
lie_hello_again (Liar *liar)
{
  say_hello (liar);
}

static void
lie_output (Liar *liar)
{
  say (liar, PRISM_WIRE_OUT, 0, liar->id, "x", 1, -1);
}

/* Nobody reads the process's output, so no credit comes back. */
static void
lie_overdraw (Liar *liar)
{
  say (liar, PRISM_WIRE_STARTED, 0, liar->id, NULL, 4, -1);
  for (guint i = 0; i < 3; i++)
    say (liar, PRISM_WIRE_OUT, 0, liar->id, NULL, PRISM_WIRE_MAX_PAYLOAD, -1);
}

static void
lie_flood_of_nothing (Liar *liar)
{
  for (guint i = 0; i < 100000; i++)
    say (liar, PRISM_WIRE_OUT, 0, liar->id, NULL, 0, -1);
}

static void
lie_flood_of_credit (Liar *liar)
{
  for (guint i = 0; i < 100; i++)
    say (liar, PRISM_WIRE_CREDIT, 0, liar->id, "\0\0\0\200\0", 5, -1);
}

static void
lie_descriptor (Liar *liar)
{
  int fd = open ("/dev/null", O_RDONLY | O_CLOEXEC);
  guint8 header[PRISM_WIRE_HEADER];
  prism_wire_put_header (header, 0, PRISM_WIRE_GONE, 0, 0, liar->id);
  send_bytes (liar, header, sizeof header, fd);
  close (fd);
}

static void
lie_started_twice (Liar *liar)
{
  say (liar, PRISM_WIRE_STARTED, 0, liar->id, NULL, 4, -1);
  say (liar, PRISM_WIRE_STARTED, 0, liar->id, NULL, 4, -1);
}

static void
lie_master (Liar *liar)
{
  int fd = open ("/dev/null", O_RDWR | O_CLOEXEC);
  say (liar, PRISM_WIRE_STARTED, 0, liar->id, NULL, 4, fd);
  close (fd);
}

static void
lie_listener (Liar *liar)
{
  int fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); /* does not listen */
  say (liar, PRISM_WIRE_DONE, 0, liar->id, NULL, 0, fd);
  close (fd);
}

static void
lie_entry (Liar *liar)
{
  static const char entry[] = "\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\4\0\0\0../x\0\0\0\0\0";
  say (liar, PRISM_WIRE_ENTRIES, PRISM_WIRE_LAST, liar->id, entry, sizeof entry, -1);
}

static void
lie_stat (Liar *liar)
{
  say (liar, PRISM_WIRE_ENTRIES, PRISM_WIRE_LAST, liar->id, "\11", 1, -1);
}

static void
lie_parting (Liar *liar)
{
  say (liar, PRISM_WIRE_ERROR, 0, 0, "\1\0\0\0\0\0\0\0\5\0\0\0bye\33!\0", 18, -1);
}

static const struct
{
  const char *name;
  Ask ask;
  void (*play) (Liar *liar);
  const char *says;
} lies[] = {
  { "dies", ASK_EXEC, lie_nothing_then_die, "the agent ended" },
  { "half-a-header", ASK_EXEC, lie_half_a_header, "middle of a frame" },
  { "half-a-frame", ASK_EXEC, lie_half_a_frame, "middle of a frame" },
  { "oversized", ASK_EXEC, lie_oversized, "malformed header" },
  { "unknown", ASK_EXEC, lie_unknown, "does not send" },
  { "other-id", ASK_EXEC, lie_other_id, "an id" },
  { "hello-again", ASK_EXEC, lie_hello_again, "HELLO twice" },
  { "output-unasked", ASK_EXEC, lie_output, "output out of order" },
  { "overdraw", ASK_PROCESS_FRAMED, lie_overdraw, "credit" },
  { "flood-of-nothing", ASK_EXEC_FRAMED, lie_flood_of_nothing, "cannot be" },
  { "flood-of-credit", ASK_EXEC_FRAMED, lie_flood_of_credit, "more credit" },
  { "descriptor", ASK_EXEC, lie_descriptor, "protocol" },
  { "descriptor-framed", ASK_EXEC_FRAMED, lie_descriptor, "descriptors" },
  { "started-twice", ASK_PROCESS, lie_started_twice, "STARTED out of order" },
  { "master-exec", ASK_EXEC_PTY, lie_master, "master" },
  { "listener", ASK_LISTEN, lie_listener, "listener" },
  { "entry", ASK_LIST, lie_entry, "entry" },
  { "stat", ASK_STAT, lie_stat, "facts" },
  { "parting", ASK_EXEC, lie_parting, "bye" },
};

/* --- the host --- */

static void
ask (PrismSandbox *sandbox, Ask what, GError **error)
{
  g_autoptr (PrismCommand) command = prism_command_new_shell ("true");
  if (what == ASK_EXEC_PTY)
    prism_command_set_pty_size (command, 80, 24);
  if (what == ASK_LIST)
    g_assert_null (prism_sandbox_list_files (sandbox, "/tmp", 0, NULL, error));
  else if (what == ASK_STAT)
    g_assert_null (prism_sandbox_stat_file (sandbox, "/tmp", NULL, error));
  else if (what == ASK_LISTEN)
    g_assert_cmpint (prism_agent_sandbox_listen (PRISM_AGENT_SANDBOX (sandbox), 3128, NULL, error), ==, -1);
  else if (what == ASK_PROCESS || what == ASK_PROCESS_FRAMED)
    {
      g_autoptr (PrismProcess) process = prism_sandbox_start_process (sandbox, command, NULL, error);
      if (process == NULL)
        return;
      g_autoptr (PrismResult) result = prism_process_wait (process, NULL, error);
      g_assert_cmpint (prism_result_get_outcome (result), ==, PRISM_OUTCOME_LOST);
    }
  else
    {
      g_autoptr (PrismResult) result = prism_sandbox_exec (sandbox, command, NULL, error);
      g_assert_nonnull (result);
      g_assert_cmpint (prism_result_get_outcome (result), ==, PRISM_OUTCOME_LOST);
    }
}

static guint
count_descriptors (void)
{
  guint n = 0;
  g_autoptr (GDir) dir = g_dir_open ("/proc/self/fd", 0, NULL);
  while (g_dir_read_name (dir) != NULL)
    n++;
  return n;
}

static PrismSandbox *
open_liar (Liar *liar, gboolean framed, PrismSandboxSpec *spec, GThread **thread)
{
  PrismSandbox *sandbox = bare_sandbox_new_with (spec, framed, &liar->fd);
  *thread = g_thread_new ("liar", liar_main, liar);
  return sandbox;
}

static void
close_liar (PrismSandbox *sandbox, GThread *thread)
{
  g_autoptr (GError) error = NULL;
  g_assert_true (prism_sandbox_close (sandbox, NULL, &error));
  g_assert_no_error (error);
  g_assert_cmpint (BARE_SANDBOX (sandbox)->terminated, ==, 1);
  g_thread_join (thread);
}

static void
test_lie (gconstpointer data)
{
  guint row = GPOINTER_TO_UINT (data);
  Liar liar = { .play = lies[row].play };
  GThread *thread;
  g_autoptr (GError) error = NULL, after = NULL;
  gint64 start = g_get_monotonic_time ();
  gboolean framed = lies[row].ask == ASK_EXEC_FRAMED || lies[row].ask == ASK_PROCESS_FRAMED;
  g_autoptr (PrismSandbox) sandbox = open_liar (&liar, framed, NULL, &thread);
  g_assert_true (prism_agent_sandbox_start (PRISM_AGENT_SANDBOX (sandbox), NULL, &error));
  g_assert_no_error (error);
  ask (sandbox, lies[row].ask, &error);
  if (error != NULL)
    g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_LOST);
  g_assert_cmpint (prism_sandbox_get_status (sandbox), ==, PRISM_SANDBOX_STATUS_FAILED);
  g_autoptr (PrismCommand) again = prism_command_new_shell ("true");
  g_assert_null (prism_sandbox_exec (sandbox, again, NULL, &after));
  g_assert_error (after, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_LOST);
  g_test_message ("%s", after->message);
  g_assert_nonnull (strstr (after->message, lies[row].says));
  g_assert_null (strchr (after->message, 27));
  close_liar (sandbox, thread);
  g_assert_cmpint (g_get_monotonic_time () - start, <, QUICKLY);
}

static void
play_garbage (Liar *liar)
{
  send_bytes (liar, "SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n", 32, -1);
}

static void
play_silence (Liar *liar)
{
}

static void
test_no_hello (void)
{
  g_test_summary ("What says no hello, or something else, is no sandbox");
  void (*const plays[]) (Liar *) = { play_garbage, play_silence, lie_nothing_then_die };
  static const gint codes[] = { PRISM_SANDBOX_ERROR_LOST, PRISM_SANDBOX_ERROR_TIMEOUT, PRISM_SANDBOX_ERROR_LOST };
  static const gint within_ms[] = { 20000, 200, 20000 };
  for (guint i = 0; i < G_N_ELEMENTS (plays); i++)
    {
      Liar liar = { .play = plays[i], .no_hello = TRUE };
      GThread *thread;
      g_autoptr (GError) error = NULL;
      g_autoptr (PrismSandboxSpec) spec = bare_spec ("startup-timeout-ms", within_ms[i], NULL);
      g_autoptr (PrismSandbox) sandbox = open_liar (&liar, FALSE, spec, &thread);
      g_assert_false (prism_agent_sandbox_start (PRISM_AGENT_SANDBOX (sandbox), NULL, &error));
      g_assert_error (error, PRISM_SANDBOX_ERROR, codes[i]);
      close_liar (sandbox, thread);
    }
}

/* The set-up is there before it says hello, and comes once: the next is a request. */
static void
play_prepared (Liar *liar)
{
  g_assert_cmpint (next_frame (liar), ==, PRISM_WIRE_SETUP);
  say_hello (liar);
  g_assert_cmpint (next_frame (liar), ==, PRISM_WIRE_EXEC);
  lie_nothing_then_die (liar);
}

static void
test_prepared (void)
{
  g_test_summary ("A set-up that was sent before the hello is not sent again, and who says no hello is no sandbox");
  for (guint i = 0; i < 2; i++)
    {
      Liar liar = { .play = i == 0 ? play_prepared : play_silence, .no_hello = TRUE };
      GThread *thread;
      g_autoptr (GError) error = NULL;
      g_autoptr (PrismSandboxSpec) spec = bare_spec ("startup-timeout-ms", i == 0 ? 20000 : 200, NULL);
      g_autoptr (PrismSandbox) sandbox = open_liar (&liar, FALSE, spec, &thread);
      g_assert_true (prism_agent_sandbox_prepare (PRISM_AGENT_SANDBOX (sandbox), &error));
      g_assert_no_error (error);
      g_assert_cmpint (prism_agent_sandbox_start (PRISM_AGENT_SANDBOX (sandbox), NULL, &error), ==, i == 0);
      if (i == 0)
        ask (sandbox, ASK_EXEC, &error);
      else
        g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_TIMEOUT);
      close_liar (sandbox, thread);
    }
}

static void
test_no_confirmation (void)
{
  g_test_summary ("An agent that does not confirm that a command ended is lost after grace and clean-up time");
  Liar liar = { .play = play_silence };
  GThread *thread;
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismSandboxSpec) spec = bare_spec ("stop-grace-ms", 100, "cleanup-deadline-ms", 200, NULL);
  g_autoptr (PrismSandbox) sandbox = open_liar (&liar, FALSE, spec, &thread);
  g_assert_true (prism_agent_sandbox_start (PRISM_AGENT_SANDBOX (sandbox), NULL, &error));
  g_autoptr (PrismCommand) command = prism_command_new_shell ("true");
  prism_command_set_timeout_ms (command, 100);
  gint64 start = g_get_monotonic_time ();
  g_autoptr (PrismResult) result = prism_sandbox_exec (sandbox, command, NULL, &error);
  g_assert_cmpint (prism_result_get_outcome (result), ==, PRISM_OUTCOME_LOST);
  g_assert_cmpint (g_get_monotonic_time () - start, >=, 400 * 1000);
  g_assert_cmpint (prism_sandbox_get_status (sandbox), ==, PRISM_SANDBOX_STATUS_FAILED);
  close_liar (sandbox, thread);
}

/* Reads nothing after SETUP, and waits until the host gave up. */
static void
play_deaf (Liar *liar)
{
  char byte;
  while (recv (liar->fd, &byte, 1, MSG_PEEK) > 0 && send (liar->fd, "", 0, MSG_NOSIGNAL) == 0)
    g_thread_yield ();
}

static void
test_deaf (void)
{
  g_test_summary ("An agent that reads no more costs bounded memory, and is lost");
  Liar liar = { .play = play_deaf };
  GThread *thread;
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismSandboxSpec) spec = bare_spec ("stop-grace-ms", 50, "cleanup-deadline-ms", 100, NULL);
  g_autoptr (PrismSandbox) sandbox = open_liar (&liar, TRUE, spec, &thread);
  g_assert_true (prism_agent_sandbox_start (PRISM_AGENT_SANDBOX (sandbox), NULL, &error));
  g_autoptr (GBytes) bytes = g_bytes_new_take (g_malloc0 (20000000), 20000000);
  g_autoptr (PrismCommand) command = prism_command_new_shell ("cat");
  prism_command_set_stdin_bytes (command, bytes);
  prism_command_set_timeout_ms (command, 200);
  g_autoptr (PrismResult) result = prism_sandbox_exec (sandbox, command, NULL, &error);
  g_assert_cmpint (prism_result_get_outcome (result), ==, PRISM_OUTCOME_LOST);
  close_liar (sandbox, thread);
}

static void
test_dropped (void)
{
  g_test_summary ("Dropped without a close, it is terminated in the background");
  Liar liar = { .play = play_silence, .no_hello = TRUE };
  GThread *thread;
  PrismSandbox *sandbox = open_liar (&liar, FALSE, NULL, &thread);
  g_object_unref (sandbox);
  g_thread_join (thread); /* its end of the socket saw the end */
  gint64 until = g_get_monotonic_time () + QUICKLY;
  while (g_atomic_int_get (&bare_sandboxes) > 0 && g_get_monotonic_time () < until)
    g_thread_yield ();
  g_assert_cmpint (g_atomic_int_get (&bare_sandboxes), ==, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (lies); i++)
    {
      g_autofree char *path = g_strdup_printf ("/agent/lies/%s", lies[i].name);
      g_test_add_data_func (path, GUINT_TO_POINTER (i), test_lie);
    }
  g_test_add_func ("/agent/lies/no-hello", test_no_hello);
  g_test_add_func ("/agent/lies/prepared", test_prepared);
  g_test_add_func ("/agent/lies/no-confirmation", test_no_confirmation);
  g_test_add_func ("/agent/lies/deaf", test_deaf);
  g_test_add_func ("/agent/lies/dropped", test_dropped);
  guint before = count_descriptors ();
  int status = g_test_run ();
  gint64 until = g_get_monotonic_time () + QUICKLY;
  while (count_descriptors () > before + 2 && g_get_monotonic_time () < until)
    g_thread_yield ();
  for (int fd = 0; fd < 1024 && count_descriptors () > before + 2; fd++)
    {
      g_autofree char *path = g_strdup_printf ("/proc/self/fd/%d", fd);
      g_autofree char *target = g_file_read_link (path, NULL);
      if (target != NULL)
        g_test_message ("left open: %d %s", fd, target);
    }
  g_assert_cmpuint (count_descriptors (), <=, before + 2);
  return status;
}
