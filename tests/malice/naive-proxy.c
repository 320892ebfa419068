/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A proxy that goes where it is told: what the attacks by the proxy succeed against. */
#include "naive-proxy.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

static int
dial (const char *host, const char *port)
{
  struct addrinfo wanted = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV }, *found = NULL;
  int fd = -1;
  if (getaddrinfo (host, port, &wanted, &found) != 0)
    return -1;
  for (struct addrinfo *at = found; at != NULL && fd < 0; at = at->ai_next)
    {
      fd = socket (at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
      if (connect (fd, at->ai_addr, at->ai_addrlen) != 0)
        {
          close (fd);
          fd = -1;
        }
    }
  freeaddrinfo (found);
  return fd;
}

static void
serve_one (int client)
{
  char head[2048], host[256], port[16];
  ssize_t n = read (client, head, sizeof head - 1);
  if (n <= 0)
    return;
  head[n] = '\0';
  if (sscanf (head, "CONNECT %255[^: ]:%15[0-9]", host, port) != 2
      && sscanf (head, "GET http://%255[^:/ ]:%15[0-9]", host, port) != 2)
    return;
  int server = dial (host, port);
  (void)!write (client, "HTTP/1.1 200 ok\r\n\r\n", 19);
  while (server >= 0 && (n = read (server, head, sizeof head)) > 0)
    if (write (client, head, (size_t)n) != n)
      break;
  close (server);
}

int
naive_proxy_start (void)
{
  struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl (INADDR_LOOPBACK) };
  socklen_t size = sizeof address;
  int fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (bind (fd, (struct sockaddr *)&address, size) != 0 || listen (fd, 64) != 0
      || getsockname (fd, (struct sockaddr *)&address, &size) != 0)
    return -1;
  if (fork () == 0)
    {
      prctl (PR_SET_PDEATHSIG, SIGKILL);
      signal (SIGPIPE, SIG_IGN);
      for (;;)
        {
          int client = accept (fd, NULL, NULL);
          serve_one (client);
          close (client);
        }
    }
  close (fd);
  return ntohs (address.sin_port);
}
