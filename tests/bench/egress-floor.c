/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The least that a forward proxy does: a GET is sent on in origin form over a kept
 * connection, and its answer comes back as it is. No rules, no bounds, no bodies,
 * one origin. It only shows what the kernel allows, to compare with. */
#include "egress-load.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

typedef struct Pair Pair;

typedef struct
{
  Pair *pair; /* NULL: the listener */
  int fd;
} End;

struct Pair
{
  End client, upstream;
  char head[4096];
  size_t length;
  bool dead;
  Pair *next;
};

static int epoll;
static Pair *grave;
static char block[1 << 16];

static void
add (End *end)
{
  struct epoll_event event = { EPOLLIN, { .ptr = end } };

  epoll_ctl (epoll, EPOLL_CTL_ADD, end->fd, &event);
}

static void
end_pair (Pair *pair)
{
  close (pair->client.fd);
  if (pair->upstream.fd >= 0)
    close (pair->upstream.fd);
  pair->dead = true;
  pair->next = grave;
  grave = pair;
}

static void
take (End *listener)
{
  int one = 1, fd = accept4 (listener->fd, NULL, NULL, SOCK_CLOEXEC);
  Pair *pair;

  if (fd < 0)
    return;
  setsockopt (fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  pair = calloc (1, sizeof *pair);
  pair->client = (End){ pair, fd };
  pair->upstream = (End){ pair, -1 };
  add (&pair->client);
}

/* GET http://127.0.0.1:PORT/PATH …, whole */
static bool
send_on (Pair *pair)
{
  char *place = pair->head + strlen ("GET http://127.0.0.1:"), *path = strchr (place, '/'), *out = path - 4;

  if (pair->upstream.fd < 0)
    {
      pair->upstream.fd = load_dial (atoi (place), true);
      add (&pair->upstream);
    }
  memcpy (out, "GET ", 4);
  return load_send (pair->upstream.fd, out, pair->length - (size_t)(out - pair->head));
}

static bool
from_client (Pair *pair)
{
  ssize_t n = recv (pair->client.fd, pair->head + pair->length, sizeof pair->head - 1 - pair->length, 0);

  if (n <= 0)
    return false;
  pair->length += (size_t)n;
  pair->head[pair->length] = '\0';
  if (strstr (pair->head, "\r\n\r\n") == NULL)
    return true;
  if (!send_on (pair))
    return false;
  pair->length = 0;
  return true;
}

static bool
from_upstream (Pair *pair)
{
  ssize_t n = recv (pair->upstream.fd, block, sizeof block, 0);

  return n > 0 && load_send (pair->client.fd, block, (size_t)n);
}

int
load_floor (void)
{
  struct epoll_event events[256];
  End listener = { NULL, -1 };
  int port;

  epoll = epoll_create1 (EPOLL_CLOEXEC);
  listener.fd = load_listen (&port);
  add (&listener);
  printf ("%d\n", port);
  fflush (stdout);
  for (;;)
    {
      int n = epoll_wait (epoll, events, 256, -1);

      for (int i = 0; i < n; i++)
        {
          End *end = events[i].data.ptr;

          if (end->pair == NULL)
            take (end);
          else if (!end->pair->dead
                   && !(end == &end->pair->client ? from_client (end->pair) : from_upstream (end->pair)))
            end_pair (end->pair);
        }
      while (grave != NULL)
        {
          Pair *dead = grave;

          grave = dead->next;
          free (dead);
        }
    }
}
