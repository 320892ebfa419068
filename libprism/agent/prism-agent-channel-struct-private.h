/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the two halves of the channel share: prism-agent-channel.c (sending,
 * reading, waiting) and prism-agent-channel-io.c (the I/O thread). */
#pragma once

#include "prism-agent-channel-private.h"

G_BEGIN_DECLS

#define PRISM_AGENT_SPARE_WAKES 4

typedef struct
{
  guint8 *data;
  gsize size;
  gsize sent;
  int fds[PRISM_WIRE_MAX_FDS];
  guint n_fds;
} PrismAgentPending;

struct _PrismAgentChannel
{
  gatomicrefcount refs;
  int fd;
  gboolean passes_fds;
  gint drains; /* atomic */
  GMutex lock; /* for all that follows */

  PrismAgentPeer peer;
  PrismAgentEnd end;
  GError *error;   /* set with end */
  gboolean broken; /* sending failed: what can still be read is read, then it has ended */
  gboolean lost_due;
  gboolean leaves;  /* the last command has ended, and the agent with it */
  gboolean hung_up; /* the agent's end was closed: it ended by itself, or was ended */
  PrismAgentLostFunc lost;
  gpointer lost_data;
  GDestroyNotify lost_free;

  GQueue pending; /* PrismAgentPending */
  gsize pending_bytes;

  PrismAgentWaiter *leader;
  GQueue followers;
  PrismAgentWake *spare[PRISM_AGENT_SPARE_WAKES];

  /* the I/O thread */
  gboolean io_running;
  gboolean io_reads; /* it leads: the socket is armed for reading */
  GThread *io_thread;
  int epoll;
  PrismAgentWake *io_wake;
  gboolean io_signalled;
  guint32 armed;
  GMutex unheard_lock; /* nothing else is locked while it is */
  GArray *unheard;     /* PrismAgentUnheard: what the kernel did not take into its set */
  gint n_unheard;      /* atomic */
  guint interest;
  GQueue jobs;
  GQueue runnable;
};

/* All with the lock held. */
void prism_agent_channel_read_locked (PrismAgentChannel *self);
void prism_agent_channel_flush_locked (PrismAgentChannel *self);
void prism_agent_channel_hand_on_locked (PrismAgentChannel *self);
/* The agent is lost, for the reason that @format says. */
void prism_agent_channel_lose_locked (PrismAgentChannel *self, const char *format, ...) G_GNUC_PRINTF (2, 3);
void prism_agent_pending_free (PrismAgentPending *pending);
void prism_agent_channel_end_locked (PrismAgentChannel *self, PrismAgentEnd end, GError *error);
void prism_agent_channel_rearm_locked (PrismAgentChannel *self);
void prism_agent_channel_wake_job_locked (PrismAgentChannel *self, PrismAgentJob *job);
void prism_agent_channel_wake_io_locked (PrismAgentChannel *self);
gboolean prism_agent_channel_start_io_locked (PrismAgentChannel *self, GError **error);
/* Unlocks, then calls what must be called without the lock. */
void prism_agent_channel_unlock_and_tell (PrismAgentChannel *self);

PrismAgentWake *prism_agent_wake_new (void);
void prism_agent_wake_unref (PrismAgentWake *wake);
void prism_agent_wake_signal (PrismAgentWake *wake);
void prism_agent_wake_drain (PrismAgentWake *wake);

G_END_DECLS
