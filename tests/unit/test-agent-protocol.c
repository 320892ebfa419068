/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-agent-protocol-private.h"

#include <fcntl.h>
#include <unistd.h>

/* One conversation: what was asked, what the agent says, and what is wrong with
 * it (NULL: nothing). Every one is fed whole and byte by byte. */

typedef struct
{
  guint8 type;
  guint16 flags;
  guint32 id; /* 1: what was asked */
  guint32 size;
  const char *payload; /* NULL: zeroes */
  guint8 fds;          /* what the header says */
  guint8 passed;       /* what really travels */
} Said;

typedef struct
{
  const char *name;
  guint8 asked;
  guint32 exec_flags;
  gboolean by_descriptor; /* trees */
  gboolean no_hello;
  Said said[6];
  const char *wrong;
  PrismAgentPhase phase; /* of what was asked, where nothing is wrong */
} Row;

#define HELLO_BYTES "PRSM\1\0\0\0\7\0\0\0\0\0\0\0bbbbbbbbbbbbbbbb\1\0\0\0\1\0\0\0\0\0\0\0"
#define HELLO                                                                                                          \
  {                                                                                                                    \
    PRISM_WIRE_HELLO, 0, 0, 44, HELLO_BYTES                                                                            \
  }
#define EXITED_SIZE 49
#define EXITED_0                                                                                                       \
  "\1\0\0\0\0"                                                                                                         \
  "\0\0\0\0"                                                                                                           \
  "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
#define EXITED_MORE_0                                                                                                  \
  "\1\0\0\0\0"                                                                                                         \
  "\1\0\0\0"                                                                                                           \
  "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
#define EXITED_HOW_9                                                                                                   \
  "\11\0\0\0\0"                                                                                                        \
  "\0\0\0\0"                                                                                                           \
  "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
#define EXITED_256                                                                                                     \
  "\1\0\1\0\0"                                                                                                         \
  "\0\0\0\0"                                                                                                           \
  "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
#define EXITED_SIG_99                                                                                                  \
  "\2\143\0\0\0"                                                                                                       \
  "\0\0\0\0"                                                                                                           \
  "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
#define EXITED_FLAG                                                                                                    \
  "\1\0\0\0\0"                                                                                                         \
  "\0\0\0\200"                                                                                                         \
  "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
#define NOT_FOUND "\3\0\0\0\2\0\0\0\4\0\0\0gone\0"
#define FRAMED    PRISM_WIRE_EXEC_FRAMED
#define PTY       PRISM_WIRE_EXEC_PTY
#define STARTED   PRISM_WIRE_EXEC_STARTED
#define PHASE(p)  .phase = PRISM_AGENT_PHASE_##p
#define WINDOW    PRISM_WIRE_WINDOW

static const Row rows[] = {
  { "exec", PRISM_WIRE_EXEC, .said = { { PRISM_WIRE_EXITED, 0, 1, EXITED_SIZE, EXITED_0 } }, PHASE (OVER) },
  { "exec that leaves children", PRISM_WIRE_EXEC, .said = { { PRISM_WIRE_EXITED, 0, 1, EXITED_SIZE, EXITED_MORE_0 } },
    PHASE (EXITED) },
  { "its children go", PRISM_WIRE_EXEC,
    .said = { { PRISM_WIRE_EXITED, 0, 1, EXITED_SIZE, EXITED_MORE_0 }, { PRISM_WIRE_GONE, 0, 1 } }, PHASE (OVER) },
  { "exec fails", PRISM_WIRE_EXEC, .said = { { PRISM_WIRE_ERROR, 0, 1, 17, NOT_FOUND } }, PHASE (OVER) },
  { "a pty's master", PRISM_WIRE_EXEC, PTY, .said = { { PRISM_WIRE_STARTED, 0, 1, 4, NULL, 1, 1 } }, PHASE (STARTED) },
  { "a framed pty", PRISM_WIRE_EXEC, PTY | FRAMED,
    .said = { { PRISM_WIRE_STARTED, 0, 1, 4 }, { PRISM_WIRE_OUT, 0, 1, 9 } }, PHASE (STARTED) },
  { "framed output", PRISM_WIRE_EXEC, FRAMED,
    .said = { { PRISM_WIRE_OUT, 0, 1, WINDOW },
              { PRISM_WIRE_ERR, 0, 1, 9 },
              { PRISM_WIRE_EXITED, 0, 1, EXITED_SIZE, EXITED_0 } },
    PHASE (OVER) },
  { "read", PRISM_WIRE_READ, .said = { { PRISM_WIRE_DATA, 0, 1, 9 }, { PRISM_WIRE_DATA, PRISM_WIRE_LAST, 1, 0 } },
    PHASE (OVER) },
  { "list", PRISM_WIRE_LIST, .said = { { PRISM_WIRE_ENTRIES, PRISM_WIRE_LAST, 1, 0 } }, PHASE (OVER) },
  { "remove", PRISM_WIRE_REMOVE, .said = { { PRISM_WIRE_DONE, 0, 1, 16 } }, PHASE (OVER) },
  { "listen", PRISM_WIRE_LISTEN, .said = { { PRISM_WIRE_DONE, 0, 1, 0, NULL, 1, 1 } }, PHASE (OVER) },
  { "write", PRISM_WIRE_WRITE, .said = { { PRISM_WIRE_CREDIT, 0, 1, 5, "\3\1\0\0\0" }, { PRISM_WIRE_DONE, 0, 1 } },
    PHASE (OVER) },
  { "a tree by descriptor", PRISM_WIRE_TREE_OUT, .by_descriptor = TRUE, .said = { { PRISM_WIRE_DONE, 0, 1, 16 } },
    PHASE (OVER) },

  { "no hello", PRISM_WIRE_EXEC, .no_hello = TRUE, .said = { { PRISM_WIRE_EXITED, 0, 1, EXITED_SIZE, EXITED_0 } },
    .wrong = "HELLO first" },
  { "hello twice", PRISM_WIRE_EXEC, .said = { HELLO }, .wrong = "HELLO twice" },
  { "no prism-agent", PRISM_WIRE_EXEC, .no_hello = TRUE, .said = { { PRISM_WIRE_HELLO, 0, 0, 44 } },
    .wrong = "no prism-agent" },
  { "another version", PRISM_WIRE_EXEC, .no_hello = TRUE, .said = { { PRISM_WIRE_HELLO, 0, 0, 6, "PRSM\2\0" } },
    .wrong = "version" },
  { "hello cut short", PRISM_WIRE_EXEC, .no_hello = TRUE, .said = { { PRISM_WIRE_HELLO, 0, 0, 43, HELLO_BYTES } },
    .wrong = "malformed HELLO" },
  { "id nobody asked with", PRISM_WIRE_EXEC, .said = { { PRISM_WIRE_EXITED, 0, 7, EXITED_SIZE, EXITED_0 } },
    .wrong = "an id" },
  { "id 0", PRISM_WIRE_EXEC, .said = { { PRISM_WIRE_EXITED, 0, 0, EXITED_SIZE, EXITED_0 } }, .wrong = "an id" },
  { "answered twice", PRISM_WIRE_EXEC,
    .said = { { PRISM_WIRE_EXITED, 0, 1, EXITED_SIZE, EXITED_0 }, { PRISM_WIRE_EXITED, 0, 1, EXITED_SIZE, EXITED_0 } },
    .wrong = "an id" },
  { "exited twice with children", PRISM_WIRE_EXEC,
    .said = { { PRISM_WIRE_EXITED, 0, 1, EXITED_SIZE, EXITED_MORE_0 },
              { PRISM_WIRE_EXITED, 0, 1, EXITED_SIZE, EXITED_0 } },
    .wrong = "after EXITED" },
  { "gone before exited", PRISM_WIRE_EXEC, .said = { { PRISM_WIRE_GONE, 0, 1 } }, .wrong = "GONE out of order" },
  { "gone with a payload", PRISM_WIRE_EXEC,
    .said = { { PRISM_WIRE_EXITED, 0, 1, EXITED_SIZE, EXITED_MORE_0 }, { PRISM_WIRE_GONE, 0, 1, 1 } },
    .wrong = "after EXITED" },
  { "exited cut short", PRISM_WIRE_EXEC, .said = { { PRISM_WIRE_EXITED, 0, 1, EXITED_SIZE - 1, EXITED_0 } },
    .wrong = "malformed EXITED" },
  { "exited too long", PRISM_WIRE_EXEC, .said = { { PRISM_WIRE_EXITED, 0, 1, EXITED_SIZE + 1 } },
    .wrong = "malformed EXITED" },
  { "an unknown way to exit", PRISM_WIRE_EXEC, .said = { { PRISM_WIRE_EXITED, 0, 1, EXITED_SIZE, EXITED_HOW_9 } },
    .wrong = "exit that cannot be" },
  { "exit code 256", PRISM_WIRE_EXEC, .said = { { PRISM_WIRE_EXITED, 0, 1, EXITED_SIZE, EXITED_256 } },
    .wrong = "exit that cannot be" },
  { "signal 99", PRISM_WIRE_EXEC, .said = { { PRISM_WIRE_EXITED, 0, 1, EXITED_SIZE, EXITED_SIG_99 } },
    .wrong = "exit that cannot be" },
  { "an unknown flag of an exit", PRISM_WIRE_EXEC, .said = { { PRISM_WIRE_EXITED, 0, 1, EXITED_SIZE, EXITED_FLAG } },
    .wrong = "malformed EXITED" },
  { "output that is not framed", PRISM_WIRE_EXEC, .said = { { PRISM_WIRE_OUT, 0, 1, 9 } }, .wrong = "output out of" },
  { "output over its credit", PRISM_WIRE_EXEC, FRAMED,
    .said = { { PRISM_WIRE_OUT, 0, 1, WINDOW }, { PRISM_WIRE_OUT, 0, 1, 1 } }, .wrong = "credit" },
  { "empty output", PRISM_WIRE_EXEC, FRAMED, .said = { { PRISM_WIRE_OUT, 0, 1, 0 } }, .wrong = "cannot be" },
  { "a pty's standard error", PRISM_WIRE_EXEC, FRAMED | PTY,
    .said = { { PRISM_WIRE_STARTED, 0, 1, 4 }, { PRISM_WIRE_ERR, 0, 1, 1 } }, .wrong = "cannot be" },
  { "output after exited", PRISM_WIRE_EXEC, FRAMED,
    .said = { { PRISM_WIRE_EXITED, 0, 1, EXITED_SIZE, EXITED_MORE_0 }, { PRISM_WIRE_OUT, 0, 1, 1 } },
    .wrong = "after EXITED" },
  { "output before started", PRISM_WIRE_EXEC, FRAMED | STARTED, .said = { { PRISM_WIRE_OUT, 0, 1, 1 } },
    .wrong = "output out of order" },
  { "exited before started", PRISM_WIRE_EXEC, STARTED, .said = { { PRISM_WIRE_EXITED, 0, 1, EXITED_SIZE, EXITED_0 } },
    .wrong = "EXITED out of order" },
  { "started unasked", PRISM_WIRE_EXEC, .said = { { PRISM_WIRE_STARTED, 0, 1, 4 } }, .wrong = "STARTED out of order" },
  { "started twice", PRISM_WIRE_EXEC, STARTED,
    .said = { { PRISM_WIRE_STARTED, 0, 1, 4 }, { PRISM_WIRE_STARTED, 0, 1, 4 } }, .wrong = "STARTED out of order" },
  { "a pty without its master", PRISM_WIRE_EXEC, PTY, .said = { { PRISM_WIRE_STARTED, 0, 1, 4 } },
    .wrong = "wrong number" },
  { "error after started", PRISM_WIRE_EXEC, STARTED,
    .said = { { PRISM_WIRE_STARTED, 0, 1, 4 }, { PRISM_WIRE_ERROR, 0, 1, 17, NOT_FOUND } }, .wrong = "ERROR out of" },
  { "error without a NUL", PRISM_WIRE_EXEC, .said = { { PRISM_WIRE_ERROR, 0, 1, 16, NOT_FOUND } },
    .wrong = "malformed ERROR" },
  { "error without a code", PRISM_WIRE_EXEC, .said = { { PRISM_WIRE_ERROR, 0, 1, 13 } }, .wrong = "malformed ERROR" },
  { "descriptors unclaimed", PRISM_WIRE_EXEC, FRAMED, .said = { { PRISM_WIRE_OUT, 0, 1, 9, NULL, 0, 1 } },
    .wrong = "no frame claims" },
  { "descriptors with output", PRISM_WIRE_EXEC, FRAMED, .said = { { PRISM_WIRE_OUT, 0, 1, 9, NULL, 1, 1 } },
    .wrong = "where none belong" },
  { "descriptors promised", PRISM_WIRE_LISTEN, .said = { { PRISM_WIRE_DONE, 0, 1, 0, NULL, 1, 0 } },
    .wrong = "without its descriptors" },
  { "two listeners", PRISM_WIRE_LISTEN, .said = { { PRISM_WIRE_DONE, 0, 1, 0, NULL, 2, 2 } }, .wrong = "wrong number" },
  { "four descriptors", PRISM_WIRE_LISTEN, .said = { { PRISM_WIRE_DONE, 0, 1, 0, NULL, 4, 4 } },
    .wrong = "malformed header" },
  { "data for an exec", PRISM_WIRE_EXEC, .said = { { PRISM_WIRE_DATA, 0, 1, 1 } }, .wrong = "DATA out of order" },
  { "empty data", PRISM_WIRE_READ, .said = { { PRISM_WIRE_DATA, 0, 1, 0 } }, .wrong = "DATA out of order" },
  { "data over its credit", PRISM_WIRE_READ,
    .said = { { PRISM_WIRE_DATA, 0, 1, WINDOW }, { PRISM_WIRE_DATA, PRISM_WIRE_LAST, 1, 1 } }, .wrong = "credit" },
  { "data after the last", PRISM_WIRE_READ,
    .said = { { PRISM_WIRE_DATA, PRISM_WIRE_LAST, 1, 1 }, { PRISM_WIRE_DATA, 0, 1, 1 } }, .wrong = "an id" },
  { "data beside a descriptor", PRISM_WIRE_TREE_OUT, .by_descriptor = TRUE, .said = { { PRISM_WIRE_DATA, 0, 1, 1 } },
    .wrong = "DATA out of order" },
  { "done for a framed tree", PRISM_WIRE_TREE_OUT, .said = { { PRISM_WIRE_DONE, 0, 1, 16 } },
    .wrong = "DONE out of order" },
  { "done for a list", PRISM_WIRE_LIST, .said = { { PRISM_WIRE_DONE, 0, 1 } }, .wrong = "DONE out of order" },
  { "done too long", PRISM_WIRE_MKDIR, .said = { { PRISM_WIRE_DONE, 0, 1, 16 } }, .wrong = "malformed DONE" },
  { "entries for a read", PRISM_WIRE_READ, .said = { { PRISM_WIRE_ENTRIES, 0, 1, 1 } }, .wrong = "ENTRIES out of" },
  { "empty entries", PRISM_WIRE_LIST, .said = { { PRISM_WIRE_ENTRIES, 0, 1, 0 } }, .wrong = "ENTRIES out of" },
  { "credit for nothing", PRISM_WIRE_EXEC, .said = { { PRISM_WIRE_CREDIT, 0, 1, 5, "\0\1\0\0\0" } },
    .wrong = "CREDIT" },
  { "credit of 0", PRISM_WIRE_WRITE, .said = { { PRISM_WIRE_CREDIT, 0, 1, 5, "\3\0\0\0\0" } }, .wrong = "CREDIT" },
  { "credit for stdout", PRISM_WIRE_EXEC, FRAMED, .said = { { PRISM_WIRE_CREDIT, 0, 1, 5, "\1\1\0\0\0" } },
    .wrong = "CREDIT" },
  { "too much credit", PRISM_WIRE_WRITE, .said = { { PRISM_WIRE_CREDIT, 0, 1, 5, "\3\377\377\377\377" } },
    .wrong = "more credit" },
  { "pong unasked", PRISM_WIRE_EXEC, .said = { { PRISM_WIRE_PONG, 0, 0 } }, .wrong = "PONG" },
  { "a host's frame", PRISM_WIRE_EXEC, .said = { { PRISM_WIRE_SETUP, 0, 1, 4 } }, .wrong = "does not send" },
  { "last words", PRISM_WIRE_EXEC, .said = { { PRISM_WIRE_ERROR, 0, 0, 17, NOT_FOUND } }, .wrong = "connection: gone" },
  { "an unknown frame", PRISM_WIRE_EXEC, .said = { { 255, 0, 1 } }, .wrong = "does not send" },
  { "unknown flags", PRISM_WIRE_EXEC, .said = { { PRISM_WIRE_DATA, 2, 1 } }, .wrong = "malformed header" },
  { "last where none belongs", PRISM_WIRE_EXEC,
    .said = { { PRISM_WIRE_EXITED, PRISM_WIRE_LAST, 1, EXITED_SIZE, EXITED_0 } }, .wrong = "flags where" },
  { "oversized", PRISM_WIRE_EXEC, FRAMED, .said = { { PRISM_WIRE_OUT, 0, 1, PRISM_WIRE_MAX_PAYLOAD + 1 } },
    .wrong = "malformed header" },
};

static const char *
feed (PrismAgentPeer *peer, const guint8 *bytes, gsize size, gsize step, const int *fds, guint n_fds)
{
  const char *wrong = NULL;
  while (size > 0 && wrong == NULL)
    {
      gsize room;
      guint8 *to = prism_agent_peer_reserve (peer, &room);
      gsize n = MIN (MIN (size, step), room);
      g_assert_cmpuint (n, >, 0);
      memcpy (to, bytes, n);
      wrong = prism_agent_peer_commit (peer, n, fds, n_fds, NULL, NULL);
      n_fds = 0;
      bytes += n;
      size -= n;
    }
  return wrong;
}

static const char *
say (PrismAgentPeer *peer, const Said *said, gsize step)
{
  g_autofree guint8 *bytes = g_malloc0 (PRISM_WIRE_HEADER + said->size);
  int fds[4];
  prism_wire_put_header (bytes, said->size, said->type, said->fds, said->flags, said->id);
  if (said->payload != NULL)
    memcpy (bytes + PRISM_WIRE_HEADER, said->payload, said->size);
  for (guint i = 0; i < said->passed; i++)
    fds[i] = open ("/dev/null", O_RDONLY | O_CLOEXEC);
  return feed (peer, bytes, PRISM_WIRE_HEADER + said->size, step, fds, said->passed);
}

static void
run_row (const Row *row, gsize step)
{
  PrismAgentPeer peer;
  PrismAgentCall call;
  static const Said hello = HELLO;
  prism_agent_peer_init (&peer, TRUE);
  prism_agent_call_init (&call, row->asked);
  call.flags = row->exec_flags;
  call.passed = row->by_descriptor;
  g_assert_true (prism_agent_peer_expect (&peer, &call));
  g_assert_cmpuint (call.id, ==, 1);

  const char *wrong = row->no_hello ? NULL : say (&peer, &hello, step);
  g_assert_null (wrong);
  for (guint i = 0; i < G_N_ELEMENTS (row->said) && row->said[i].type != 0 && wrong == NULL; i++)
    wrong = say (&peer, &row->said[i], step);
  g_test_message ("%s: %s", row->name, wrong != NULL ? wrong : "fine");
  if (row->wrong == NULL)
    {
      g_assert_cmpstr (wrong, ==, NULL);
      g_assert_cmpint (call.phase, ==, row->phase);
      g_assert_cmpint (call.id == 0, ==, row->phase == PRISM_AGENT_PHASE_OVER);
    }
  else
    {
      g_assert_nonnull (wrong);
      g_assert_nonnull (strstr (wrong, row->wrong));
    }
  prism_agent_call_clear (&call);
  prism_agent_peer_clear (&peer);
}

static void
test_conversations (void)
{
  g_test_summary ("Every rule of the wire, kept and broken, in one piece and byte by byte");
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      run_row (&rows[i], G_MAXSIZE);
      run_row (&rows[i], 1);
    }
}

static void
test_hello_facts (void)
{
  g_test_summary ("What HELLO says is kept");
  PrismAgentPeer peer;
  static const Said hello = HELLO;
  prism_agent_peer_init (&peer, FALSE);
  g_assert_null (say (&peer, &hello, G_MAXSIZE));
  g_assert_cmpuint (peer.hello.features, ==, 7);
  g_assert_cmpuint (peer.hello.uid, ==, 1);
  g_assert_cmpmem (peer.hello.boot_id, 16, "bbbbbbbbbbbbbbbb", 16);
  static const Said extra = { PRISM_WIRE_PONG, .fds = 0, .passed = 1 };
  g_assert_nonnull (say (&peer, &extra, G_MAXSIZE));
  prism_agent_peer_clear (&peer);
}

static void
test_ids (void)
{
  g_test_summary ("Ids are bounded, never 0, and free again after the last frame");
  PrismAgentPeer peer;
  prism_agent_peer_init (&peer, TRUE);
  g_autofree PrismAgentCall *calls = g_new0 (PrismAgentCall, PRISM_AGENT_MAX_CALLS + 1);
  peer.next_id = G_MAXUINT32 - 1;
  for (guint i = 0; i < PRISM_AGENT_MAX_CALLS; i++)
    {
      prism_agent_call_init (&calls[i], PRISM_WIRE_EXEC);
      g_assert_true (prism_agent_peer_expect (&peer, &calls[i]));
      g_assert_cmpuint (calls[i].id, !=, 0);
    }
  g_assert_false (prism_agent_peer_expect (&peer, &calls[PRISM_AGENT_MAX_CALLS]));
  prism_agent_peer_forget (&peer, &calls[5]);
  g_assert_true (prism_agent_peer_expect (&peer, &calls[PRISM_AGENT_MAX_CALLS]));
  prism_agent_peer_clear (&peer);
}

static void
test_buffer_bound (void)
{
  g_test_summary ("A frame that is never finished holds no more than one frame's bytes");
  PrismAgentPeer peer;
  static const Said hello = HELLO;
  prism_agent_peer_init (&peer, TRUE);
  PrismAgentCall call;
  prism_agent_call_init (&call, PRISM_WIRE_READ);
  g_assert_true (prism_agent_peer_expect (&peer, &call));
  g_assert_null (say (&peer, &hello, G_MAXSIZE));
  guint8 header[PRISM_WIRE_HEADER];
  prism_wire_put_header (header, PRISM_WIRE_MAX_PAYLOAD, PRISM_WIRE_DATA, 0, 0, call.id);
  g_assert_null (feed (&peer, header, sizeof header, G_MAXSIZE, NULL, 0));
  gsize room;
  prism_agent_peer_reserve (&peer, &room);
  g_assert_cmpuint (peer.allocated, ==, PRISM_WIRE_HEADER + PRISM_WIRE_MAX_PAYLOAD);
  g_assert_cmpuint (room, ==, PRISM_WIRE_MAX_PAYLOAD);
  g_autofree guint8 *rest = g_malloc0 (PRISM_WIRE_MAX_PAYLOAD);
  g_assert_null (feed (&peer, rest, PRISM_WIRE_MAX_PAYLOAD, G_MAXSIZE, NULL, 0));
  g_assert_cmpuint (call.in[0].size, ==, PRISM_WIRE_MAX_PAYLOAD);
  prism_agent_peer_forget (&peer, &call);
  prism_agent_peer_reserve (&peer, &room);
  g_assert_cmpuint (peer.allocated, <=, 16384);
  prism_agent_call_clear (&call);
  prism_agent_peer_clear (&peer);
}

static void
test_frames (void)
{
  g_test_summary ("A frame written here is a frame read there, whatever its size; too large is refused");
  g_auto (PrismAgentFrame) frame = { 0 };
  prism_agent_frame_init (&frame, PRISM_WIRE_EXEC, 0, 0);
  g_autofree char *long_string = g_strnfill (100000, 'x');
  const char *argv[] = { "a", long_string, "", NULL };
  prism_agent_frame_put (&frame, 0x12345678, 4);
  prism_agent_frame_put_strv (&frame, argv);
  g_assert_true (prism_agent_frame_seal (&frame, 77, 2));
  struct prism_wire_header h;
  g_assert_true (prism_wire_get_header (frame.data, &h));
  g_assert_cmpuint (h.id, ==, 77);
  g_assert_cmpuint (h.fds, ==, 2);
  g_assert_cmpuint (h.size, ==, frame.size - PRISM_WIRE_HEADER);
  struct prism_wire_reader r = prism_wire_read_from (frame.data + PRISM_WIRE_HEADER, h.size);
  g_assert_cmpuint (prism_wire_u32 (&r), ==, 0x12345678);
  g_assert_cmpuint (prism_wire_count (&r), ==, 3);
  for (guint i = 0; i < 3; i++)
    g_assert_cmpstr (prism_wire_str (&r, 200000), ==, argv[i]);
  g_assert_true (prism_wire_done (&r));
  for (guint i = 0; i < 3; i++)
    prism_agent_frame_put_str (&frame, long_string);
  g_assert_false (prism_agent_frame_seal (&frame, 77, 2));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/agent/protocol/conversations", test_conversations);
  g_test_add_func ("/agent/protocol/hello", test_hello_facts);
  g_test_add_func ("/agent/protocol/ids", test_ids);
  g_test_add_func ("/agent/protocol/buffer", test_buffer_bound);
  g_test_add_func ("/agent/protocol/frames", test_frames);
  return g_test_run ();
}
