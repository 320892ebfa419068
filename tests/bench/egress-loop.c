/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A closed loop: each connection asks again when it was answered. */
#include "egress-load.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

typedef enum
{
  DIALING,
  ASKED,  /* a head is on its way back */
  BODY,   /* and now the rest */
  TUNNEL, /* a byte is on its way through the tunnel */
} State;

typedef struct
{
  int fd;
  State state;
  size_t length; /* of the head so far */
  long left;     /* of the body */
  double began;
  bool closes;
  char head[8192];
} Peer;

typedef struct
{
  bool tunnels, redial;
  int proxy, port, epoll;
  char request[8192];
  size_t request_length;
  long count, begun, done;
  double *times;
} Loop;

static void
wait_for (Loop *loop, Peer *peer, uint32_t events, int how)
{
  struct epoll_event event = { events, { .ptr = peer } };

  epoll_ctl (loop->epoll, how, peer->fd, &event);
}

static void
begin (Loop *loop, Peer *peer)
{
  loop->begun++;
  peer->began = load_now_us ();
  peer->state = DIALING;
  peer->fd = load_dial (loop->proxy != 0 ? loop->proxy : loop->port, false);
  wait_for (loop, peer, EPOLLOUT, EPOLL_CTL_ADD);
}

static void
ask (Loop *loop, Peer *peer)
{
  peer->state = ASKED;
  peer->length = 0;
  if (!load_send (peer->fd, loop->request, loop->request_length))
    load_fail ("request");
}

static void
enter_tunnel (Loop *loop, Peer *peer)
{
  peer->state = TUNNEL;
  if (!load_send (peer->fd, "x", 1))
    load_fail ("tunnel");
}

static void
finish (Loop *loop, Peer *peer)
{
  loop->times[loop->done++] = load_now_us () - peer->began;
  if (loop->tunnels || loop->redial || peer->closes || loop->begun >= loop->count)
    {
      close (peer->fd);
      peer->fd = -1;
      if (loop->begun < loop->count)
        begin (loop, peer);
      return;
    }
  loop->begun++;
  peer->began = load_now_us ();
  ask (loop, peer);
}

/* The head is there, and so is some of the body. */
static void
take_head (Loop *loop, Peer *peer, char *end)
{
  char *length = strcasestr (peer->head, "content-length:");

  if (memcmp (peer->head + 8, " 200", 4) != 0)
    {
      fprintf (stderr, "egress-load: refused: %.300s\n", peer->head);
      exit (1);
    }
  if (loop->tunnels)
    {
      enter_tunnel (loop, peer);
      return;
    }
  if (length == NULL || length > end)
    load_fail ("an answer without a length");
  *end = '\0';
  peer->closes = strcasestr (peer->head, "connection: close") != NULL;
  peer->left = atol (length + 15) - (long)(peer->length - (size_t)(end + 4 - peer->head));
  peer->state = BODY;
  if (peer->left <= 0)
    finish (loop, peer);
}

static void
hear (Loop *loop, Peer *peer)
{
  char *at = peer->state == ASKED ? peer->head + peer->length : peer->head, *end;
  ssize_t n = recv (peer->fd, at, sizeof peer->head - 1 - (size_t)(at - peer->head), 0);

  if (n < 0 && errno == EAGAIN)
    return;
  if (n <= 0)
    load_fail ("the connection ended");
  if (peer->state == TUNNEL)
    finish (loop, peer);
  else if (peer->state == BODY)
    {
      peer->left -= n;
      if (peer->left <= 0)
        finish (loop, peer);
    }
  else
    {
      peer->length += (size_t)n;
      peer->head[peer->length] = '\0';
      end = strstr (peer->head, "\r\n\r\n");
      if (end != NULL)
        take_head (loop, peer, end);
    }
}

static void
ready (Loop *loop, Peer *peer)
{
  if (peer->state != DIALING)
    {
      hear (loop, peer);
      return;
    }
  wait_for (loop, peer, EPOLLIN, EPOLL_CTL_MOD);
  if (loop->tunnels && loop->proxy == 0)
    enter_tunnel (loop, peer);
  else
    ask (loop, peer);
}

static int
compare (const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;

  return (x > y) - (x < y);
}

static void
write_request (Loop *loop)
{
  const char *form =
      loop->tunnels ? "CONNECT 127.0.0.1:%d HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n%s\r\n"
      : loop->proxy != 0
          ? "GET http://127.0.0.1:%d/f HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nUser-Agent: egress-load\r\n"
            "Accept: */*\r\n%s\r\n"
          : "GET /f?%d HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nUser-Agent: egress-load\r\nAccept: */*\r\n%s\r\n";

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  loop->request_length =
      (size_t)snprintf (loop->request, sizeof loop->request, form, loop->port, loop->port, load_header ());
#pragma GCC diagnostic pop
}

int
load_loop (bool tunnels, int proxy, int port, int connections, long count, bool redial)
{
  Loop loop = { .tunnels = tunnels, .redial = redial, .proxy = proxy, .port = port, .count = count };
  Peer *peers = calloc ((size_t)connections, sizeof *peers);
  struct epoll_event events[256];
  double start = load_now_us (), us;

  write_request (&loop);
  loop.epoll = epoll_create1 (EPOLL_CLOEXEC);
  loop.times = calloc ((size_t)count, sizeof *loop.times);
  for (int i = 0; i < connections && loop.begun < count; i++)
    begin (&loop, &peers[i]);
  while (loop.done < count)
    {
      int n = epoll_wait (loop.epoll, events, 256, 20000);

      if (n <= 0)
        load_fail ("nothing happens any more");
      for (int i = 0; i < n && loop.done < count; i++)
        if (((Peer *)events[i].data.ptr)->fd >= 0)
          ready (&loop, events[i].data.ptr);
    }
  us = load_now_us () - start;
  qsort (loop.times, (size_t)count, sizeof *loop.times, compare);
  printf ("%.1f %.2f %.2f\n", count * 1e6 / us, loop.times[count / 2], loop.times[count * 99 / 100]);
  free (loop.times);
  free (peers);
  return 0;
}
