/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* While a stream is so fast that a whole piece comes within the time that we are
 * ready to wait, its socket counts as readable only when one is there (SO_RCVLOWAT;
 * the kernel reports the end of the stream, an error and a full window all the
 * same). As soon as one does not come in time the socket is as it was: what there is
 * is passed on, a millisecond late at the most. */
#include "prism-local-pace.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#define BUFFER      (768 * 1024)
#define PIECE       (512 * 1024)
#define PATIENCE_US 1000

static void
set_least (PrismLocalEnd *end, int least)
{
  (void)setsockopt (end->watch.fd, SOL_SOCKET, SO_RCVLOWAT, &least, sizeof least);
}

/* What lies in a socket's buffer is in the CPU's caches too as long as it is little, and
 * a peer that does not read holds less: a network in between needs the megabytes that
 * the kernel would grow it to, loopback does not. Nor is there anything that could be
 * congested: an algorithm that times its packets would only take time. */
void
prism_local_pace_loopback (int fd)
{
  static const char congestion[] = "reno";
  const int size = BUFFER;

  (void)setsockopt (fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
  (void)setsockopt (fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
  (void)setsockopt (fd, IPPROTO_TCP, TCP_CONGESTION, congestion, sizeof congestion - 1);
}

void
prism_local_pace_read (PrismLocalEngine *engine, PrismLocalEnd *end, gsize n)
{
  gint64 elapsed = engine->now - end->pace_since;

  if (end->patient)
    {
      end->pace_since = engine->now;
      return;
    }
  end->pace_bytes += n;
  if (elapsed < PATIENCE_US)
    return;
  end->patient = end->pace_bytes * PATIENCE_US >= (gsize)elapsed * PIECE;
  end->pace_since = engine->now;
  end->pace_bytes = 0;
  if (!end->patient)
    return;
  set_least (end, PIECE);
  g_ptr_array_add (engine->patient, end);
}

void
prism_local_pace_forget (PrismLocalEngine *engine, PrismLocalEnd *end)
{
  if (end->patient)
    g_ptr_array_remove_fast (engine->patient, end);
  end->patient = FALSE;
  end->pace_since = 0;
  end->pace_bytes = 0;
}

void
prism_local_pace_check (PrismLocalEngine *engine)
{
  for (guint i = engine->patient->len; i > 0; i--)
    {
      PrismLocalEnd *end = engine->patient->pdata[i - 1];

      if (engine->now - end->pace_since < PATIENCE_US)
        continue;
      set_least (end, 1);
      prism_local_pace_forget (engine, end);
    }
}

int
prism_local_pace_timeout (PrismLocalEngine *engine)
{
  return engine->patient->len > 0 ? 1 : -1;
}
