/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* egress-load origin | floor
 * egress-load get|redial|connect PROXY PORT CONNECTIONS COUNT    "RATE P50 P99", a second and us
 * egress-load bulk PROXY PORT MIB                               MB a second
 * egress-load whole PROXY PORT KIB COUNT                        how many transfers were whole
 * egress-load idle PROXY PORT COUNT                             "ready"; holds them until stdin ends
 * PROXY 0: no proxy. */
#include "egress-load.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

double
load_now_us (void)
{
  struct timespec t;

  clock_gettime (CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

void
load_fail (const char *what)
{
  fprintf (stderr, "egress-load: %s: %s\n", what, strerror (errno));
  exit (1);
}

const char *
load_header (void)
{
  static char line[4096];
  const char *header = getenv ("EGRESS_LOAD_HEADER");

  if (line[0] == '\0' && header != NULL && header[0] != '\0')
    snprintf (line, sizeof line, "%s\r\n", header);
  return line;
}

static struct sockaddr_in
loopback (int port)
{
  return (struct sockaddr_in){ .sin_family = AF_INET,
                               .sin_port = htons ((uint16_t)port),
                               .sin_addr.s_addr = htonl (INADDR_LOOPBACK) };
}

int
load_listen (int *port)
{
  struct sockaddr_in address = loopback (0);
  socklen_t length = sizeof address;
  int fd = socket (AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

  if (fd < 0 || bind (fd, (struct sockaddr *)&address, length) != 0 || listen (fd, 4096) != 0
      || getsockname (fd, (struct sockaddr *)&address, &length) != 0)
    load_fail ("listen");
  *port = ntohs (address.sin_port);
  return fd;
}

int
load_dial (int port, bool wait)
{
  struct sockaddr_in address = loopback (port);
  struct linger reset = { 1, 0 };
  int one = 1, fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC | (wait ? 0 : SOCK_NONBLOCK), 0);

  setsockopt (fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  /* No port waits for stragglers when thousands of connections follow each other. */
  setsockopt (fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
  if (fd < 0 || (connect (fd, (struct sockaddr *)&address, sizeof address) != 0 && errno != EINPROGRESS))
    load_fail ("connect");
  return fd;
}

bool
load_send (int fd, const void *bytes, size_t length)
{
  return send (fd, bytes, length, MSG_NOSIGNAL) == (ssize_t)length;
}

int
load_tunnel (int proxy, int port)
{
  char text[8192];
  size_t length = 0;
  int fd = load_dial (proxy != 0 ? proxy : port, true);

  if (proxy == 0)
    return fd;
  length = (size_t)snprintf (text, sizeof text, "CONNECT 127.0.0.1:%d HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n%s\r\n", port,
                             port, load_header ());
  if (!load_send (fd, text, length))
    load_fail ("CONNECT");
  for (length = 0; length < 4 || memcmp (text + length - 4, "\r\n\r\n", 4) != 0; length++)
    if (length == sizeof text || recv (fd, text + length, 1, 0) != 1)
      load_fail ("CONNECT");
  if (memcmp (text + 8, " 200", 4) != 0)
    {
      fprintf (stderr, "egress-load: refused: %.*s\n", (int)length, text);
      exit (1);
    }
  return fd;
}

/* The bulk origin sends as many bytes as the first eight ask for, and closes. */
static uint64_t
fetch (int proxy, int port, uint64_t bytes)
{
  static char block[1 << 18];
  uint64_t got = 0;
  int fd = load_tunnel (proxy, port);
  ssize_t n;

  if (!load_send (fd, &bytes, sizeof bytes))
    load_fail ("send");
  while ((n = recv (fd, block, sizeof block, 0)) > 0)
    got += (uint64_t)n;
  close (fd);
  return got;
}

static int
bulk (int proxy, int port, long mib)
{
  double start = load_now_us ();
  uint64_t bytes = (uint64_t)mib << 20;

  if (fetch (proxy, port, bytes) != bytes)
    return 1;
  printf ("%.1f\n", bytes / (load_now_us () - start));
  return 0;
}

static int
whole (int proxy, int port, long kib, long count)
{
  long good = 0;

  for (long i = 0; i < count; i++)
    good += fetch (proxy, port, (uint64_t)kib << 10) == (uint64_t)kib << 10;
  printf ("%ld\n", good);
  return 0;
}

static int
idle (int proxy, int port, long count)
{
  char byte = 'x';

  for (long i = 0; i < count; i++)
    {
      int fd = load_tunnel (proxy, port);

      if (!load_send (fd, &byte, 1) || recv (fd, &byte, 1, 0) != 1)
        load_fail ("idle tunnel");
    }
  printf ("ready\n");
  fflush (stdout);
  while (read (0, &byte, 1) > 0)
    ;
  return 0;
}

int
main (int argc, char **argv)
{
  const char *what = argc > 1 ? argv[1] : "";
  long numbers[4] = { 0 };
  struct rlimit files;

  signal (SIGPIPE, SIG_IGN);
  if (getrlimit (RLIMIT_NOFILE, &files) == 0)
    {
      files.rlim_cur = files.rlim_max < 16384 ? files.rlim_max : 16384;
      setrlimit (RLIMIT_NOFILE, &files);
    }
  for (int i = 0; i < 4 && i + 2 < argc; i++)
    numbers[i] = atol (argv[i + 2]);
  int proxy = (int)numbers[0], port = (int)numbers[1];
  if (strcmp (what, "origin") == 0)
    return load_origin ();
  if (strcmp (what, "floor") == 0)
    return load_floor ();
  if (strcmp (what, "bulk") == 0)
    return bulk (proxy, port, numbers[2]);
  if (strcmp (what, "whole") == 0)
    return whole (proxy, port, numbers[2], numbers[3]);
  if (strcmp (what, "idle") == 0)
    return idle (proxy, port, numbers[2]);
  if (strcmp (what, "get") == 0 || strcmp (what, "redial") == 0 || strcmp (what, "connect") == 0)
    return load_loop (what[0] == 'c', proxy, port, (int)numbers[2], numbers[3], what[0] == 'r');
  fprintf (stderr, "egress-load: %s: not one of origin, floor, get, redial, connect, bulk, whole, idle\n", what);
  return 2;
}
