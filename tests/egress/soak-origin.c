/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One thread, one epoll set. HTTP answers a GET of /N with N bytes, by length or in
 * chunks or until the end; now and then it resets instead, or stops in the middle.
 * Echo sends everything back, and resets now and then. */
#include "soak.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

typedef struct
{
  int fd;
  gboolean echo, listens, ending;
  GString *in, *out;
} Peer;

static int epoll;
static char block[65536];
static Peer *volatile doors[2]; /* never closed */

static int
listen_somewhere (int *port)
{
  struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl (INADDR_LOOPBACK) };
  socklen_t length = sizeof address;
  int fd = socket (AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

  g_assert_cmpint (bind (fd, (struct sockaddr *)&address, length), ==, 0);
  g_assert_cmpint (listen (fd, 1024), ==, 0);
  g_assert_cmpint (getsockname (fd, (struct sockaddr *)&address, &length), ==, 0);
  *port = ntohs (address.sin_port);
  return fd;
}

static Peer *
add (int fd, gboolean echo, gboolean listens)
{
  Peer *peer = g_new0 (Peer, 1);
  struct epoll_event event = { EPOLLIN, { .ptr = peer } };

  *peer = (Peer){ fd, echo, listens, FALSE, g_string_new (NULL), g_string_new (NULL) };
  epoll_ctl (epoll, EPOLL_CTL_ADD, fd, &event);
  return peer;
}

static void
drop (Peer *peer, gboolean reset)
{
  struct linger linger = { 1, 0 };

  if (reset)
    setsockopt (peer->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
  close (peer->fd);
  g_string_free (peer->in, TRUE);
  g_string_free (peer->out, TRUE);
  g_free (peer);
}

/* Byte i of a body of n is always the same. */
static void
append_body (GString *out, guint n, gboolean chunked)
{
  for (guint at = 0; at < n;)
    {
      guint piece = chunked ? MIN (n - at, 1000) : n - at;

      if (chunked)
        g_string_append_printf (out, "%x\r\n", piece);
      for (guint i = 0; i < piece; i++)
        g_string_append_c (out, (char)((at + i) * 31 + n));
      if (chunked)
        g_string_append (out, "\r\n");
      at += piece;
    }
  if (chunked)
    g_string_append (out, "0\r\n\r\n");
}

/* FALSE: it is reset. */
static gboolean
answer (Peer *peer)
{
  char *end = strstr (peer->in->str, "\r\n\r\n");
  guint n, kind;

  for (; end != NULL; end = strstr (peer->in->str, "\r\n\r\n"))
    {
      if (sscanf (peer->in->str, "GET /%u ", &n) != 1 || n > 1 << 20)
        return FALSE;
      kind = (guint)g_random_int_range (0, 64);
      g_string_erase (peer->in, 0, end + 4 - peer->in->str);
      if (kind == 0)
        return FALSE;
      if (kind == 1)
        {
          /* Less than it says. */
          g_string_append_printf (peer->out, "HTTP/1.1 200 OK\r\nContent-Length: %u\r\n\r\n", n + 10);
          append_body (peer->out, n / 2, FALSE);
          peer->ending = TRUE;
        }
      else if (kind < 20)
        {
          g_string_append (peer->out, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
          append_body (peer->out, n, TRUE);
        }
      else
        {
          g_string_append_printf (peer->out, "HTTP/1.1 200 OK\r\nContent-Length: %u\r\n\r\n", n);
          append_body (peer->out, n, FALSE);
        }
    }
  return TRUE;
}

static gboolean
flush (Peer *peer)
{
  struct epoll_event event = { EPOLLIN, { .ptr = peer } };

  while (peer->out->len > 0)
    {
      ssize_t n = send (peer->fd, peer->out->str, peer->out->len, MSG_NOSIGNAL);

      if (n < 0 && errno == EAGAIN)
        break;
      if (n < 0)
        return FALSE;
      g_string_erase (peer->out, 0, n);
    }
  /* It takes no more while what it said is not taken. */
  if (peer->out->len > 0)
    event.events = EPOLLOUT;
  epoll_ctl (epoll, EPOLL_CTL_MOD, peer->fd, &event);
  return peer->out->len > 0 || !peer->ending;
}

static gboolean
serve (Peer *peer)
{
  ssize_t n = recv (peer->fd, block, sizeof block, 0);

  if (n < 0 && errno == EAGAIN)
    return flush (peer);
  if (n == 0)
    peer->ending = TRUE;
  else if (n < 0 || (peer->echo && g_random_int_range (0, 2000) == 0))
    return FALSE;
  else if (peer->echo)
    g_string_append_len (peer->out, block, n);
  else
    {
      g_string_append_len (peer->in, block, n);
      if (!answer (peer))
        return FALSE;
    }
  return flush (peer);
}

static gpointer
run (gpointer data)
{
  struct epoll_event events[64];

  for (;;)
    {
      int n = epoll_wait (epoll, events, 64, -1);

      for (int i = 0; i < n; i++)
        {
          Peer *peer = events[i].data.ptr;
          int fd;

          if (!peer->listens)
            {
              if (!serve (peer))
                drop (peer, !peer->ending);
              continue;
            }
          while ((fd = accept4 (peer->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0)
            add (fd, peer->echo, FALSE);
        }
    }
  return NULL;
}

void
soak_start_origins (int *http_port, int *echo_port)
{
  epoll = epoll_create1 (EPOLL_CLOEXEC);
  doors[0] = add (listen_somewhere (http_port), FALSE, TRUE);
  doors[1] = add (listen_somewhere (echo_port), TRUE, TRUE);
  g_thread_unref (g_thread_new ("origins", run, NULL));
}
