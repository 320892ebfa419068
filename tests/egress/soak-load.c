/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Threads that ask, send, half-close and reset. Being cut or refused is part of it;
 * a byte that is not the one that belongs there is not.
 * house: allow sleep: a proxy that is being started again is dialled again a little later. */
#include "soak.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define TUNNEL_THREADS 8
#define TUNNELS_EACH   (SOAK_TUNNELS / TUNNEL_THREADS)

static GThread *threads[SOAK_PLAIN + TUNNEL_THREADS];

int
soak_dial (int port)
{
  struct sockaddr_in address = { .sin_family = AF_INET,
                                 .sin_port = htons ((guint16)port),
                                 .sin_addr.s_addr = htonl (INADDR_LOOPBACK) };
  struct timeval patience = { 20, 0 };
  int fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

  setsockopt (fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  setsockopt (fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  if (connect (fd, (struct sockaddr *)&address, sizeof address) == 0)
    return fd;
  close (fd);
  return -1;
}

static void
hang_up (int fd, gboolean reset)
{
  struct linger linger = { 1, 0 };

  if (reset)
    setsockopt (fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
  close (fd);
}

static gboolean
send_all (int fd, const char *bytes, gsize length)
{
  while (length > 0)
    {
      ssize_t n = send (fd, bytes, length, MSG_NOSIGNAL);

      if (n <= 0)
        return FALSE;
      bytes += n;
      length -= (gsize)n;
    }
  return TRUE;
}

/* A line without its end; FALSE: cut. */
static gboolean
read_line (FILE *in, char *line, int size)
{
  if (fgets (line, size, in) == NULL)
    return FALSE;
  line[strcspn (line, "\r\n")] = '\0';
  return TRUE;
}

/* FALSE: cut. What is there has to be right. */
static gboolean
read_body (SoakLoad *load, FILE *in, guint from, guint length, guint whole)
{
  for (guint i = 0; i < length; i++)
    {
      int c = fgetc (in);

      if (c == EOF)
        return FALSE;
      if ((char)c != (char)((from + i) * 31 + whole))
        {
          g_atomic_int_inc (&load->wrong);
          return FALSE;
        }
    }
  return TRUE;
}

static gboolean
read_chunks (SoakLoad *load, FILE *in, guint whole)
{
  char line[256];
  guint at = 0, size;

  for (;;)
    {
      if (!read_line (in, line, sizeof line))
        return FALSE;
      size = (guint)strtoul (line, NULL, 16);
      if (size > 0 && !read_body (load, in, at, size, whole))
        return FALSE;
      at += size;
      if (!read_line (in, line, sizeof line))
        return FALSE;
      if (size == 0)
        {
          if (at != whole)
            g_atomic_int_inc (&load->wrong);
          return at == whole;
        }
    }
}

/* TRUE: the connection is good for another. */
static gboolean
ask (SoakLoad *load, int fd, FILE *in)
{
  guint n = (guint)g_random_int_range (0, g_random_int_range (0, 4) == 0 ? 300000 : 3000), length = 0;
  g_autofree char *request = g_strdup_printf ("GET http://127.0.0.1:%d/%u HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n",
                                              load->http_port, n, load->http_port);
  char line[512];
  gboolean chunked = FALSE;

  if (!send_all (fd, request, strlen (request)) || !read_line (in, line, sizeof line))
    return FALSE;
  if (strncmp (line, "HTTP/1.1 200", 12) != 0)
    {
      g_atomic_int_inc (&load->refused);
      return FALSE;
    }
  do
    {
      if (!read_line (in, line, sizeof line))
        return FALSE;
      if (g_ascii_strncasecmp (line, "content-length:", 15) == 0)
        length = (guint)atoi (line + 15);
      chunked |= g_ascii_strncasecmp (line, "transfer-encoding:", 18) == 0;
    }
  while (line[0] != '\0');
  if (!(chunked ? read_chunks (load, in, n) : length == n && read_body (load, in, 0, n, n)))
    return FALSE;
  g_atomic_int_inc (&load->answers);
  return TRUE;
}

static gpointer
run_plain (gpointer data)
{
  SoakLoad *load = data;

  while (!g_atomic_int_get (&load->ending))
    {
      int fd = soak_dial (load->proxy_port);
      FILE *in = fd >= 0 ? fdopen (dup (fd), "r") : NULL;

      if (in == NULL)
        {
          /* The proxy is just being started again. */
          g_usleep (1000);
          continue;
        }
      while (!g_atomic_int_get (&load->ending) && g_random_int_range (0, 50) != 0 && ask (load, fd, in))
        ;
      g_atomic_int_inc (&load->cut);
      fclose (in);
      hang_up (fd, g_random_int_range (0, 4) == 0);
    }
  return NULL;
}

/* --- tunnels --------------------------------------------------------------------- */

static int
open_tunnel (SoakLoad *load)
{
  g_autofree char *request =
      g_strdup_printf ("CONNECT 127.0.0.1:%d HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n", load->echo_port, load->echo_port);
  char head[512];
  gsize length = 0;
  int fd = soak_dial (load->proxy_port);

  if (fd < 0)
    return -1;
  if (!send_all (fd, request, strlen (request)))
    length = sizeof head;
  while (length < sizeof head && (length < 4 || memcmp (head + length - 4, "\r\n\r\n", 4) != 0))
    if (recv (fd, head + length, 1, 0) == 1)
      length++;
    else
      length = sizeof head;
  if (length < sizeof head && memcmp (head, "HTTP/1.1 200", 12) == 0)
    return fd;
  g_atomic_int_inc (&load->refused);
  close (fd);
  return -1;
}

/* FALSE: cut. */
static gboolean
exchange (SoakLoad *load, int fd, gboolean last)
{
  static const gsize sizes[] = { 1, 100, 4096, 65536, 200000, 1000000 };
  gsize size = sizes[g_random_int_range (0, G_N_ELEMENTS (sizes))], got = 0;
  g_autofree char *sent = g_malloc (size);
  g_autofree char *back = g_malloc (size);
  guint seed = g_random_int ();

  for (gsize i = 0; i < size; i++)
    sent[i] = (char)(seed + i * 7);
  if (!send_all (fd, sent, size))
    return FALSE;
  if (last)
    shutdown (fd, SHUT_WR);
  while (got < size)
    {
      ssize_t n = recv (fd, back + got, size - got, 0);

      if (n <= 0)
        return FALSE;
      got += (gsize)n;
    }
  if (memcmp (sent, back, size) != 0 || (last && recv (fd, back, 1, 0) > 0))
    g_atomic_int_inc (&load->wrong);
  g_atomic_int_inc (&load->transfers);
  return TRUE;
}

static gpointer
run_tunnels (gpointer data)
{
  SoakLoad *load = data;
  int fds[TUNNELS_EACH];

  for (guint i = 0; i < TUNNELS_EACH; i++)
    fds[i] = -1;
  while (!g_atomic_int_get (&load->ending))
    {
      guint i = (guint)g_random_int_range (0, TUNNELS_EACH);
      gboolean last = g_random_int_range (0, 30) == 0;

      if (fds[i] < 0 && (fds[i] = open_tunnel (load)) < 0)
        {
          g_usleep (1000);
          continue;
        }
      if (exchange (load, fds[i], last) && !last && g_random_int_range (0, 60) != 0)
        continue;
      g_atomic_int_inc (&load->cut);
      hang_up (fds[i], g_random_int_range (0, 3) == 0);
      fds[i] = -1;
    }
  for (guint i = 0; i < TUNNELS_EACH; i++)
    if (fds[i] >= 0)
      close (fds[i]);
  return NULL;
}

void
soak_start_load (SoakLoad *load)
{
  for (guint i = 0; i < SOAK_PLAIN; i++)
    threads[i] = g_thread_new ("plain", run_plain, load);
  for (guint i = 0; i < TUNNEL_THREADS; i++)
    threads[SOAK_PLAIN + i] = g_thread_new ("tunnels", run_tunnels, load);
}

void
soak_end_load (SoakLoad *load)
{
  g_atomic_int_set (&load->ending, TRUE);
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    g_thread_join (threads[i]);
}
