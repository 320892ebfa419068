/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The host's end of the wire as pure state: what was asked, what the agent may
 * answer next, and what it has answered. No input or output, no locks.
 *
 * TRUST. The agent runs inside the boundary, so each byte that is fed in here is
 * hostile. A rule of agent/prism-wire.h that is broken is a violation: the text
 * of it comes back, and the whole connection is over. What an agent can make
 * grow is bounded: one frame being assembled, the credit of each stream, and
 * PRISM_AGENT_MAX_ENTRIES_BYTES for a listing. */
#pragma once

#include <glib.h>

#include "agent/prism-wire.h"

G_BEGIN_DECLS

#define PRISM_AGENT_MAX_MESSAGE       8192u
#define PRISM_AGENT_MAX_ENTRIES_BYTES (64u * 1024u * 1024u)
#define PRISM_AGENT_MAX_CALLS         (PRISM_WIRE_MAX_IDS - 16u)

/* Text from outside, fit for a message: bounded, nothing that a terminal acts on. */
char *prism_agent_dup_printable (const char *text);

/* --- a frame being written --- */

/* Lives on the stack of who sends it; only a payload that is large allocates. */
typedef struct
{
  guint8 *data;
  gsize size;
  gsize allocated;
  gboolean overflow; /* the payload is over PRISM_WIRE_MAX_PAYLOAD */
  guint8 local[2048];
} PrismAgentFrame;

void prism_agent_frame_init (PrismAgentFrame *frame, enum prism_wire_type type, guint32 id, guint16 flags);
void prism_agent_frame_clear (PrismAgentFrame *frame);
void prism_agent_frame_put (PrismAgentFrame *frame, guint64 value, guint bytes);
void prism_agent_frame_put_bytes (PrismAgentFrame *frame, gconstpointer bytes, gsize size);
void prism_agent_frame_put_str (PrismAgentFrame *frame, const char *string);
void prism_agent_frame_put_strv (PrismAgentFrame *frame, const char *const *strings);
/* Writes size, descriptor count and id into the header; FALSE when it overflowed. */
gboolean prism_agent_frame_seal (PrismAgentFrame *frame, guint32 id, guint n_fds);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (PrismAgentFrame, prism_agent_frame_clear)

/* --- what was asked --- */

typedef enum
{
  PRISM_AGENT_PHASE_WAITING, /* asked, no answer that settles anything */
  PRISM_AGENT_PHASE_STARTED, /* STARTED came */
  PRISM_AGENT_PHASE_EXITED,  /* EXITED with MORE came: only GONE is left */
  PRISM_AGENT_PHASE_OVER,    /* the last frame came: the id is free */
} PrismAgentPhase;

typedef struct
{
  guint8 how; /* enum prism_wire_how, 0 = has not exited */
  gint32 code;
  guint32 flags;
  guint64 user_us;
  guint64 system_us;
  guint64 peak_kib;
  guint64 out_bytes;
  guint64 err_bytes;
} PrismAgentExit;

typedef struct
{
  guint8 *data;
  gsize size;
  gsize allocated;
} PrismAgentInbox;

/* Embedded in what waits for the answer. */
typedef struct
{
  guint32 id;
  guint8 type;           /* enum prism_wire_type: what was asked */
  guint8 phase;          /* PrismAgentPhase */
  guint32 flags;         /* EXEC's flags */
  gboolean passed;       /* TREE_OUT and TREE_IN go through a descriptor */
  gint64 may_receive[4]; /* credit that the agent has left, by stream */
  gint64 may_send;       /* credit that we have left */

  /* answers */
  PrismAgentExit exit;
  guint32 error; /* enum prism_wire_error, 0 = none */
  guint32 error_number;
  char *message;
  guint32 pid;
  int fd; /* the pty's master, a listener; -1 = none */
  guint64 done_entries;
  guint64 done_bytes;
  gboolean last;         /* a DATA or ENTRIES with LAST came */
  gboolean overflow;     /* a listing went over its cap: what came after was dropped */
  PrismAgentInbox in[2]; /* 0: OUT, DATA, ENTRIES; 1: ERR */
} PrismAgentCall;

/* Whether a descriptor comes with its answer. */
gboolean prism_agent_call_brings_fd (const PrismAgentCall *call);
void prism_agent_call_init (PrismAgentCall *call, enum prism_wire_type type);
void prism_agent_call_clear (PrismAgentCall *call);
void prism_agent_inbox_clear (PrismAgentInbox *inbox);

/* --- what the agent says --- */

typedef struct
{
  guint64 features;
  guint8 boot_id[16];
  guint32 uid;
  guint32 gid;
  guint32 processes;
} PrismAgentHello;

typedef struct
{
  GHashTable *calls; /* id → PrismAgentCall, not owned */
  gboolean greeted;
  PrismAgentHello hello;
  guint pings;   /* asked and not answered */
  char *parting; /* the agent's last words */
  guint32 next_id;

  guint8 *buffer;
  gsize size;
  gsize allocated;
  guint64 offset; /* of buffer[0] in the stream */

  gboolean takes_fds;
  struct
  {
    int fd;
    guint64 until; /* must be claimed by a frame that begins before this offset */
  } fds[2 * PRISM_WIRE_MAX_FDS];
  guint n_fds;
} PrismAgentPeer;

/* @call is NULL for HELLO and PONG. */
typedef void (*PrismAgentNewsFunc) (PrismAgentCall *call, enum prism_wire_type type, gpointer user_data);

void prism_agent_peer_init (PrismAgentPeer *peer, gboolean takes_fds);
void prism_agent_peer_clear (PrismAgentPeer *peer);
/* Gives @call an id and expects its answers; FALSE when too many are alive. */
gboolean prism_agent_peer_expect (PrismAgentPeer *peer, PrismAgentCall *call);
void prism_agent_peer_forget (PrismAgentPeer *peer, PrismAgentCall *call);
/* Room for the next bytes, never less than one. */
guint8 *prism_agent_peer_reserve (PrismAgentPeer *peer, gsize *room);
/* @size bytes were put there; takes over @fds. NULL, or what the agent did wrong. */
const char *prism_agent_peer_commit (
    PrismAgentPeer *peer, gsize size, const int *fds, guint n_fds, PrismAgentNewsFunc news, gpointer user_data);

G_END_DECLS
