/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the agent may say next, and what becomes of it. TRUST: see the header. */
#include "prism-agent-protocol-private.h"

#include <unistd.h>

#define FIRST_BUFFER 4096u
#define KEPT_BUFFER  (16u * 1024u)

void
prism_agent_call_init (PrismAgentCall *call, enum prism_wire_type type)
{
  memset (call, 0, sizeof *call);
  call->type = (guint8)type;
  call->fd = -1;
  call->may_send = PRISM_WIRE_WINDOW;
  for (guint i = 0; i < G_N_ELEMENTS (call->may_receive); i++)
    call->may_receive[i] = PRISM_WIRE_WINDOW;
}

void
prism_agent_inbox_clear (PrismAgentInbox *inbox)
{
  g_clear_pointer (&inbox->data, g_free);
  inbox->size = inbox->allocated = 0;
}

void
prism_agent_call_clear (PrismAgentCall *call)
{
  g_clear_pointer (&call->message, g_free);
  if (call->fd >= 0)
    close (call->fd);
  call->fd = -1;
  prism_agent_inbox_clear (&call->in[0]);
  prism_agent_inbox_clear (&call->in[1]);
}

static void
inbox_append (PrismAgentInbox *inbox, const guint8 *bytes, gsize size)
{
  if (size > inbox->allocated - inbox->size)
    {
      inbox->allocated = MAX (inbox->size + size, MIN (2 * inbox->allocated, inbox->size + PRISM_WIRE_MAX_CREDIT));
      inbox->data = g_realloc (inbox->data, inbox->allocated);
    }
  memcpy (inbox->data + inbox->size, bytes, size);
  inbox->size += size;
}

/* --- one frame against the call it names --- */

static gboolean
is_exec (const PrismAgentCall *call)
{
  return call->type == PRISM_WIRE_EXEC || call->type == PRISM_WIRE_ATTACH;
}

static gboolean
is_framed (const PrismAgentCall *call)
{
  return call->type == PRISM_WIRE_ATTACH || (call->flags & (PRISM_WIRE_EXEC_FRAMED | PRISM_WIRE_EXEC_KEEP)) != 0;
}

static gboolean
wants_started (const PrismAgentCall *call)
{
  return (call->flags & (PRISM_WIRE_EXEC_STARTED | PRISM_WIRE_EXEC_PTY)) != 0;
}

/* It may speak as a running command does. */
static gboolean
is_running (const PrismAgentCall *call)
{
  return is_exec (call)
         && call->phase == (wants_started (call) ? PRISM_AGENT_PHASE_STARTED : PRISM_AGENT_PHASE_WAITING);
}

static const char *
take_credit (PrismAgentCall *call, guint stream, gsize size)
{
  if ((gint64)size > call->may_receive[stream])
    return "it sent more than its credit";
  call->may_receive[stream] -= (gint64)size;
  return NULL;
}

gboolean
prism_agent_call_brings_fd (const PrismAgentCall *call)
{
  return call->type == PRISM_WIRE_LISTEN || ((call->flags & PRISM_WIRE_EXEC_PTY) != 0 && !is_framed (call));
}

static const char *
accept_started (PrismAgentCall *call, struct prism_wire_reader *r, int *fds, guint n_fds)
{
  gboolean pty_fd = (call->flags & PRISM_WIRE_EXEC_PTY) != 0 && !is_framed (call);
  if (!is_exec (call) || !wants_started (call) || call->phase != PRISM_AGENT_PHASE_WAITING)
    return "STARTED out of order";
  if (n_fds != (pty_fd ? 1 : 0))
    return "STARTED with a wrong number of descriptors";
  call->pid = prism_wire_u32 (r);
  if (!prism_wire_done (r))
    return "a malformed STARTED";
  if (pty_fd)
    {
      call->fd = fds[0];
      fds[0] = -1;
    }
  call->phase = PRISM_AGENT_PHASE_STARTED;
  return NULL;
}

static const char *
accept_output (PrismAgentCall *call, const struct prism_wire_header *h, const guint8 *payload)
{
  guint stream = h->type == PRISM_WIRE_OUT ? 1 : 2;
  if (!is_running (call) || !is_framed (call))
    return "output out of order";
  if (h->size == 0 || (stream == 2 && (call->flags & PRISM_WIRE_EXEC_PTY) != 0))
    return "output that cannot be";
  const char *wrong = take_credit (call, stream, h->size);
  if (wrong == NULL)
    inbox_append (&call->in[stream - 1], payload, h->size);
  return wrong;
}

static const char *
accept_exited (PrismAgentCall *call, struct prism_wire_reader *r)
{
  if (!is_running (call))
    return "EXITED out of order";
  PrismAgentExit exit = { 0 };
  exit.how = prism_wire_u8 (r);
  exit.code = (gint32)prism_wire_u32 (r);
  exit.flags = prism_wire_u32 (r);
  exit.user_us = prism_wire_u64 (r);
  exit.system_us = prism_wire_u64 (r);
  exit.peak_kib = prism_wire_u64 (r);
  exit.out_bytes = prism_wire_u64 (r);
  exit.err_bytes = prism_wire_u64 (r);
  const guint32 known = PRISM_WIRE_EXITED_MORE | PRISM_WIRE_EXITED_CANCELLED | PRISM_WIRE_EXITED_LIMIT
                        | PRISM_WIRE_EXITED_SHIM | PRISM_WIRE_EXITED_TIMED_OUT;
  if (!prism_wire_done (r) || (exit.flags & ~known) != 0)
    return "a malformed EXITED";
  if (exit.how < PRISM_WIRE_HOW_CODE || exit.how > PRISM_WIRE_HOW_UNKNOWN
      || (exit.how == PRISM_WIRE_HOW_CODE && (exit.code < 0 || exit.code > 255))
      || (exit.how == PRISM_WIRE_HOW_SIGNAL && (exit.code < 1 || exit.code > 64)))
    return "an exit that cannot be";
  call->exit = exit;
  call->phase = (exit.flags & PRISM_WIRE_EXITED_MORE) != 0 ? PRISM_AGENT_PHASE_EXITED : PRISM_AGENT_PHASE_OVER;
  return NULL;
}

static const char *
accept_error (PrismAgentCall *call, struct prism_wire_reader *r)
{
  if (call->phase != PRISM_AGENT_PHASE_WAITING)
    return "ERROR out of order";
  guint32 code = prism_wire_u32 (r);
  guint32 number = prism_wire_u32 (r);
  const char *message = prism_wire_str (r, PRISM_AGENT_MAX_MESSAGE);
  if (!prism_wire_done (r) || code == 0)
    return "a malformed ERROR";
  call->error = code;
  call->error_number = number;
  call->message = g_utf8_make_valid (message, -1);
  call->phase = PRISM_AGENT_PHASE_OVER;
  return NULL;
}

static const char *
accept_data (PrismAgentCall *call, const struct prism_wire_header *h, const guint8 *payload)
{
  gboolean streams = call->type == PRISM_WIRE_READ || call->type == PRISM_WIRE_SEARCH
                     || (call->type == PRISM_WIRE_TREE_OUT && !call->passed);
  gboolean last = (h->flags & PRISM_WIRE_LAST) != 0;
  if (!streams || (h->size == 0 && !last))
    return "DATA out of order";
  const char *wrong = take_credit (call, 3, h->size);
  if (wrong != NULL)
    return wrong;
  if (h->size > 0)
    inbox_append (&call->in[0], payload, h->size);
  call->last = last;
  if (last)
    call->phase = PRISM_AGENT_PHASE_OVER;
  return NULL;
}

static const char *
accept_entries (PrismAgentCall *call, const struct prism_wire_header *h, const guint8 *payload)
{
  gboolean lists = call->type == PRISM_WIRE_LIST || call->type == PRISM_WIRE_STAT || call->type == PRISM_WIRE_PROCS;
  gboolean last = (h->flags & PRISM_WIRE_LAST) != 0;
  if (!lists || (h->size == 0 && !last))
    return "ENTRIES out of order";
  if (h->size > PRISM_AGENT_MAX_ENTRIES_BYTES - call->in[0].size)
    call->overflow = TRUE;
  if (call->overflow)
    prism_agent_inbox_clear (&call->in[0]);
  else if (h->size > 0)
    inbox_append (&call->in[0], payload, h->size);
  call->last = last;
  if (last)
    call->phase = PRISM_AGENT_PHASE_OVER;
  return NULL;
}

static const char *
accept_done (PrismAgentCall *call, struct prism_wire_reader *r, int *fds, guint n_fds)
{
  gboolean counts = FALSE;
  switch (call->type)
    {
    case PRISM_WIRE_TREE_OUT:
      if (!call->passed)
        return "DONE out of order";
      counts = TRUE;
      break;
    case PRISM_WIRE_TREE_IN:
    case PRISM_WIRE_REMOVE:
      counts = TRUE;
      break;
    case PRISM_WIRE_WRITE:
    case PRISM_WIRE_RENAME:
    case PRISM_WIRE_MKDIR:
    case PRISM_WIRE_LISTEN:
    case PRISM_WIRE_RELEASE:
      break;
    default:
      return "DONE out of order";
    }
  if (n_fds != (call->type == PRISM_WIRE_LISTEN ? 1 : 0))
    return "DONE with a wrong number of descriptors";
  if (counts)
    {
      call->done_entries = prism_wire_u64 (r);
      call->done_bytes = prism_wire_u64 (r);
    }
  if (!prism_wire_done (r))
    return "a malformed DONE";
  if (n_fds == 1)
    {
      call->fd = fds[0];
      fds[0] = -1;
    }
  call->phase = PRISM_AGENT_PHASE_OVER;
  return NULL;
}

static const char *
accept_credit (PrismAgentCall *call, struct prism_wire_reader *r)
{
  guint8 stream = prism_wire_u8 (r);
  guint32 bytes = prism_wire_u32 (r);
  gboolean sends = call->type == PRISM_WIRE_WRITE || (call->type == PRISM_WIRE_TREE_IN && !call->passed);
  if (!prism_wire_done (r) || bytes == 0)
    return "a malformed CREDIT";
  if (!(stream == 3 && sends) && !(stream == 0 && is_exec (call) && is_framed (call)))
    return "CREDIT for a stream that is not there";
  if (call->may_send + (gint64)bytes > (gint64)PRISM_WIRE_MAX_CREDIT)
    return "more credit than there may be";
  call->may_send += bytes;
  return NULL;
}

static const char *
accept_for_call (PrismAgentCall *call, const struct prism_wire_header *h, const guint8 *payload, int *fds, guint n_fds)
{
  struct prism_wire_reader r = prism_wire_read_from (payload, h->size);
  if (n_fds != 0 && h->type != PRISM_WIRE_STARTED && h->type != PRISM_WIRE_DONE)
    return "descriptors where none belong";
  if (h->flags != 0 && h->type != PRISM_WIRE_DATA && h->type != PRISM_WIRE_ENTRIES)
    return "flags where none belong";
  if (call->phase == PRISM_AGENT_PHASE_EXITED)
    {
      if (h->type != PRISM_WIRE_GONE || h->size != 0)
        return "a frame after EXITED that is not GONE";
      call->phase = PRISM_AGENT_PHASE_OVER;
      return NULL;
    }
  switch (h->type)
    {
    case PRISM_WIRE_STARTED:
      return accept_started (call, &r, fds, n_fds);
    case PRISM_WIRE_OUT:
    case PRISM_WIRE_ERR:
      return accept_output (call, h, payload);
    case PRISM_WIRE_EXITED:
      return accept_exited (call, &r);
    case PRISM_WIRE_ERROR:
      return accept_error (call, &r);
    case PRISM_WIRE_DATA:
      return accept_data (call, h, payload);
    case PRISM_WIRE_ENTRIES:
      return accept_entries (call, h, payload);
    case PRISM_WIRE_DONE:
      return accept_done (call, &r, fds, n_fds);
    case PRISM_WIRE_CREDIT:
      return accept_credit (call, &r);
    case PRISM_WIRE_GONE:
      return "GONE out of order";
    default:
      return "a frame of a type that an agent does not send";
    }
}

/* --- the peer --- */

void
prism_agent_peer_init (PrismAgentPeer *peer, gboolean takes_fds)
{
  memset (peer, 0, sizeof *peer);
  peer->takes_fds = takes_fds;
  peer->calls = g_hash_table_new (NULL, NULL);
}

void
prism_agent_peer_clear (PrismAgentPeer *peer)
{
  for (guint i = 0; i < peer->n_fds; i++)
    close (peer->fds[i].fd);
  peer->n_fds = 0;
  g_clear_pointer (&peer->parting, g_free);
  g_clear_pointer (&peer->buffer, g_free);
  g_clear_pointer (&peer->calls, g_hash_table_unref);
}

gboolean
prism_agent_peer_expect (PrismAgentPeer *peer, PrismAgentCall *call)
{
  static const guint32 first = 1;
  if (g_hash_table_size (peer->calls) >= PRISM_AGENT_MAX_CALLS)
    return FALSE;
  do
    peer->next_id = peer->next_id == G_MAXUINT32 ? first : peer->next_id + 1;
  while (g_hash_table_contains (peer->calls, GUINT_TO_POINTER (peer->next_id)));
  call->id = peer->next_id;
  g_hash_table_insert (peer->calls, GUINT_TO_POINTER (call->id), call);
  return TRUE;
}

void
prism_agent_peer_forget (PrismAgentPeer *peer, PrismAgentCall *call)
{
  if (call->id != 0)
    g_hash_table_remove (peer->calls, GUINT_TO_POINTER (call->id));
  call->id = 0;
}

static const char *
accept_hello (PrismAgentPeer *peer, const struct prism_wire_header *h, const guint8 *payload)
{
  struct prism_wire_reader r = prism_wire_read_from (payload, h->size);
  if (h->id != 0 || h->fds != 0 || h->flags != 0)
    return "a malformed HELLO";
  if (prism_wire_u32 (&r) != PRISM_WIRE_MAGIC)
    return "what answered is no prism-agent";
  if (prism_wire_u16 (&r) != PRISM_WIRE_MAJOR)
    return "it speaks another version of the protocol";
  (void)prism_wire_u16 (&r); /* a newer minor only adds */
  peer->hello.features = prism_wire_u64 (&r);
  const guint8 *boot = prism_wire_take (&r, sizeof peer->hello.boot_id);
  if (boot != NULL)
    memcpy (peer->hello.boot_id, boot, sizeof peer->hello.boot_id);
  peer->hello.uid = prism_wire_u32 (&r);
  peer->hello.gid = prism_wire_u32 (&r);
  peer->hello.processes = prism_wire_u32 (&r);
  if (!prism_wire_done (&r))
    return "a malformed HELLO";
  peer->greeted = TRUE;
  return NULL;
}

/* Its last words: why it ends the connection. */
static const char *
accept_parting (PrismAgentPeer *peer, const struct prism_wire_header *h, const guint8 *payload)
{
  struct prism_wire_reader r = prism_wire_read_from (payload, h->size);
  (void)prism_wire_u32 (&r);
  (void)prism_wire_u32 (&r);
  const char *message = prism_wire_str (&r, PRISM_AGENT_MAX_MESSAGE);
  if (!prism_wire_done (&r) || h->fds != 0 || h->flags != 0)
    return "a malformed ERROR";
  g_autofree char *valid = prism_agent_dup_printable (message);
  g_free (peer->parting);
  peer->parting = g_strdup_printf ("it ended the connection: %s", valid);
  return peer->parting;
}

/* Descriptors travel with their frame's first byte: what came with bytes that
 * end where this frame begins, or before, was nobody's. */
static gboolean
has_unclaimed_fds (const PrismAgentPeer *peer, guint64 frame_begins)
{
  return peer->n_fds > 0 && peer->fds[0].until <= frame_begins;
}

static void
drop_claimed_fds (PrismAgentPeer *peer, const int *fds, guint n_fds)
{
  for (guint i = 0; i < n_fds; i++)
    if (fds[i] >= 0)
      close (fds[i]);
}

static const char *
accept_frame (PrismAgentPeer *peer,
              const struct prism_wire_header *h,
              const guint8 *payload,
              PrismAgentNewsFunc news,
              gpointer user_data)
{
  if (!peer->greeted)
    {
      const char *wrong = h->type == PRISM_WIRE_HELLO ? accept_hello (peer, h, payload) : "it did not say HELLO first";
      if (wrong == NULL && news != NULL)
        news (NULL, PRISM_WIRE_HELLO, user_data);
      return wrong;
    }
  if (h->type == PRISM_WIRE_HELLO)
    return "HELLO twice";
  if (h->type == PRISM_WIRE_ERROR && h->id == 0)
    return accept_parting (peer, h, payload);
  if (h->type == PRISM_WIRE_PONG)
    {
      if (h->id != 0 || h->size != 0 || h->fds != 0 || h->flags != 0 || peer->pings == 0)
        return "PONG out of order";
      peer->pings--;
      if (news != NULL)
        news (NULL, PRISM_WIRE_PONG, user_data);
      return NULL;
    }

  PrismAgentCall *call = h->id != 0 ? g_hash_table_lookup (peer->calls, GUINT_TO_POINTER (h->id)) : NULL;
  if (call == NULL)
    return "a frame for an id that nobody asked with";

  int fds[PRISM_WIRE_MAX_FDS];
  for (guint i = 0; i < h->fds; i++)
    fds[i] = peer->fds[i].fd;
  peer->n_fds -= h->fds;
  memmove (peer->fds, peer->fds + h->fds, peer->n_fds * sizeof peer->fds[0]);
  const char *wrong = accept_for_call (call, h, payload, fds, h->fds);
  drop_claimed_fds (peer, fds, h->fds);
  if (wrong != NULL)
    return wrong;
  if (call->phase == PRISM_AGENT_PHASE_OVER)
    prism_agent_peer_forget (peer, call);
  if (news != NULL)
    news (call, h->type, user_data);
  return NULL;
}

guint8 *
prism_agent_peer_reserve (PrismAgentPeer *peer, gsize *room)
{
  if (peer->size == 0 && peer->allocated > KEPT_BUFFER && g_hash_table_size (peer->calls) == 0)
    {
      g_clear_pointer (&peer->buffer, g_free);
      peer->allocated = 0;
    }
  gsize need = MAX (peer->size + 1, FIRST_BUFFER);
  struct prism_wire_header h;
  if (peer->size >= PRISM_WIRE_HEADER && prism_wire_get_header (peer->buffer, &h))
    need = MAX (need, PRISM_WIRE_HEADER + h.size);
  if (need > peer->allocated)
    {
      peer->allocated = need > FIRST_BUFFER ? PRISM_WIRE_HEADER + PRISM_WIRE_MAX_PAYLOAD : FIRST_BUFFER;
      peer->buffer = g_realloc (peer->buffer, peer->allocated);
    }
  *room = peer->allocated - peer->size;
  return peer->buffer + peer->size;
}

static const char *
take_fds (PrismAgentPeer *peer, const int *fds, guint n_fds, guint64 until)
{
  const char *wrong = n_fds > 0 && !peer->takes_fds ? "descriptors over a channel that takes none" : NULL;
  for (guint i = 0; i < n_fds; i++)
    if (wrong == NULL && peer->n_fds < G_N_ELEMENTS (peer->fds))
      {
        peer->fds[peer->n_fds].fd = fds[i];
        peer->fds[peer->n_fds++].until = until;
      }
    else
      {
        close (fds[i]);
        wrong = wrong != NULL ? wrong : "more descriptors than there may be";
      }
  return wrong;
}

const char *
prism_agent_peer_commit (
    PrismAgentPeer *peer, gsize size, const int *fds, guint n_fds, PrismAgentNewsFunc news, gpointer user_data)
{
  peer->size += size;
  const char *wrong = take_fds (peer, fds, n_fds, peer->offset + peer->size);
  gsize at = 0;
  while (wrong == NULL && peer->size - at >= PRISM_WIRE_HEADER)
    {
      struct prism_wire_header h;
      if (!prism_wire_get_header (peer->buffer + at, &h))
        return "a malformed header";
      if (has_unclaimed_fds (peer, peer->offset + at))
        return "descriptors that no frame claims";
      if (h.fds > peer->n_fds)
        return "a frame without its descriptors";
      if (peer->size - at - PRISM_WIRE_HEADER < h.size)
        break;
      wrong = accept_frame (peer, &h, peer->buffer + at + PRISM_WIRE_HEADER, news, user_data);
      at += PRISM_WIRE_HEADER + h.size;
    }
  if (wrong != NULL)
    return wrong;
  peer->offset += at;
  peer->size -= at;
  if (at > 0 && peer->size > 0)
    memmove (peer->buffer, peer->buffer + at, peer->size);
  return peer->size == 0 && has_unclaimed_fds (peer, peer->offset) ? "descriptors that no frame claims" : NULL;
}
