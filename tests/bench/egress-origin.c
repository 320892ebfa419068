/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Three listeners: HTTP with 1 KiB answers to whatever has no body; bulk, which
 * sends as many bytes as the first eight say and closes; echo. */
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

typedef enum
{
  HTTP,
  BULK,
  ECHO_BACK,
  N_KINDS,
} Kind;

typedef struct
{
  int fd;
  Kind kind;
  bool listens;
  int matched; /* of CR LF CR LF */
  bool asked;  /* bulk: how much is known */
  uint64_t left;
} Peer;

static int epoll;
static char block[1 << 18], answer[1280];
static size_t answer_length;

static void
add (int fd, Kind kind, bool listens)
{
  Peer *peer = calloc (1, sizeof *peer);
  struct epoll_event event = { EPOLLIN, { .ptr = peer } };

  *peer = (Peer){ .fd = fd, .kind = kind, .listens = listens };
  epoll_ctl (epoll, EPOLL_CTL_ADD, fd, &event);
}

static void
drop (Peer *peer)
{
  close (peer->fd);
  free (peer);
}

static void
take (Peer *peer)
{
  int one = 1, fd = accept4 (peer->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

  if (fd < 0)
    return;
  setsockopt (fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  add (fd, peer->kind, false);
}

/* One answer for each empty line. */
static bool
serve_http (Peer *peer, ssize_t n)
{
  static const char end[] = "\r\n\r\n";

  for (ssize_t i = 0; i < n; i++)
    {
      peer->matched = block[i] == end[peer->matched] ? peer->matched + 1 : block[i] == '\r';
      if (peer->matched < 4)
        continue;
      peer->matched = 0;
      if (!load_send (peer->fd, answer, answer_length))
        return false;
    }
  return true;
}

static bool
serve_bulk (Peer *peer)
{
  struct epoll_event event = { EPOLLOUT, { .ptr = peer } };

  if (!peer->asked)
    {
      peer->asked = recv (peer->fd, &peer->left, sizeof peer->left, 0) == sizeof peer->left;
      return peer->asked && epoll_ctl (epoll, EPOLL_CTL_MOD, peer->fd, &event) == 0;
    }
  while (peer->left > 0)
    {
      ssize_t n = send (peer->fd, block, peer->left < sizeof block ? peer->left : sizeof block, MSG_NOSIGNAL);

      if (n < 0)
        return errno == EAGAIN;
      peer->left -= (uint64_t)n;
    }
  return false;
}

static bool
serve (Peer *peer)
{
  ssize_t n;

  if (peer->kind == BULK)
    return serve_bulk (peer);
  n = recv (peer->fd, block, sizeof block, 0);
  if (n <= 0)
    return n < 0 && errno == EAGAIN;
  return peer->kind == HTTP ? serve_http (peer, n) : load_send (peer->fd, block, (size_t)n);
}

int
load_origin (void)
{
  struct epoll_event events[256];
  int ports[N_KINDS];

  epoll = epoll_create1 (EPOLL_CLOEXEC);
  answer_length = (size_t)sprintf (answer, "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n"
                                           "Content-Length: 1024\r\n\r\n");
  memset (answer + answer_length, 'x', 1024);
  answer_length += 1024;
  for (Kind kind = 0; kind < N_KINDS; kind++)
    add (load_listen (&ports[kind]), kind, true);
  printf ("%d %d %d\n", ports[HTTP], ports[BULK], ports[ECHO_BACK]);
  fflush (stdout);
  for (;;)
    {
      int n = epoll_wait (epoll, events, 256, -1);

      for (int i = 0; i < n; i++)
        {
          Peer *peer = events[i].data.ptr;

          if (peer->listens)
            take (peer);
          else if (!serve (peer))
            drop (peer);
        }
    }
}
