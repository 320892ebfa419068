/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The host's end of the wire against anything that an agent may say. The input's
 * first byte says what was asked; the rest is fed in pieces whose length it also
 * chooses, so that frames are cut everywhere. */
#include "prism-agent-protocol-private.h"

int LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t size);

static const struct
{
  guint8 type;
  guint32 flags;
} asked[] = {
  { PRISM_WIRE_EXEC, 0 },
  { PRISM_WIRE_EXEC, PRISM_WIRE_EXEC_FRAMED },
  { PRISM_WIRE_EXEC, PRISM_WIRE_EXEC_FRAMED | PRISM_WIRE_EXEC_PTY },
  { PRISM_WIRE_EXEC, PRISM_WIRE_EXEC_KEEP | PRISM_WIRE_EXEC_STARTED },
  { PRISM_WIRE_ATTACH, 0 },
  { PRISM_WIRE_READ, 0 },
  { PRISM_WIRE_LIST, 0 },
  { PRISM_WIRE_WRITE, 0 },
  { PRISM_WIRE_TREE_OUT, 0 },
  { PRISM_WIRE_REMOVE, 0 },
};

static void
check (const PrismAgentCall *call)
{
  for (guint i = 0; i < G_N_ELEMENTS (call->may_receive); i++)
    g_assert_cmpint (call->may_receive[i], >=, 0);
  g_assert_cmpint (call->may_send, <=, PRISM_WIRE_MAX_CREDIT);
  g_assert_cmpuint (call->in[1].size, <=, PRISM_WIRE_WINDOW);
  if (call->type != PRISM_WIRE_LIST)
    g_assert_cmpuint (call->in[0].size, <=, PRISM_WIRE_WINDOW);
  g_assert_true (call->message == NULL || g_utf8_validate (call->message, -1, NULL));
}

int
LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t size)
{
  PrismAgentCall calls[G_N_ELEMENTS (asked)];
  PrismAgentPeer peer;
  if (size < 2)
    return 0;
  prism_agent_peer_init (&peer, (bytes[0] & 1) != 0);
  peer.greeted = (bytes[0] & 2) != 0;
  gsize step = 1 + bytes[1];
  for (guint i = 0; i < G_N_ELEMENTS (asked); i++)
    {
      prism_agent_call_init (&calls[i], asked[i].type);
      calls[i].flags = asked[i].flags;
      g_assert_true (prism_agent_peer_expect (&peer, &calls[i]));
    }

  const char *wrong = NULL;
  for (gsize at = 2; at < size && wrong == NULL;)
    {
      gsize room;
      guint8 *to = prism_agent_peer_reserve (&peer, &room);
      gsize n = MIN (MIN (step, size - at), room);
      g_assert_cmpuint (n, >, 0);
      memcpy (to, bytes + at, n);
      wrong = prism_agent_peer_commit (&peer, n, NULL, 0, NULL, NULL);
      g_assert_cmpuint (peer.allocated, <=, PRISM_WIRE_HEADER + PRISM_WIRE_MAX_PAYLOAD);
      at += n;
    }
  for (guint i = 0; i < G_N_ELEMENTS (asked); i++)
    {
      check (&calls[i]);
      prism_agent_call_clear (&calls[i]);
    }
  prism_agent_peer_clear (&peer);
  return 0;
}
