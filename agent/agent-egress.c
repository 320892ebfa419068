/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The way out of the sandbox's network namespace, which has nothing but
 * loopback: a listener on 127.0.0.1 whose descriptor goes to the host. The
 * host's proxy accepts on it, so the listener itself says who is asking. */
#include "agent-private.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKLOG 4096

void
agent_listen (const struct agent_request *q)
{
  struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons ((uint16_t)q->number) };
  int one = 1, fd;

  if (!agent_channel_passes_fds ())
    {
      agent_send_error (q->header.id, PRISM_WIRE_ERROR_INVALID, 0, "no descriptor can be passed on this connection");
      return;
    }
  address.sin_addr.s_addr = htonl (INADDR_LOOPBACK);
  fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0 || setsockopt (fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) != 0
      || bind (fd, (struct sockaddr *)&address, sizeof address) != 0 || listen (fd, BACKLOG) != 0)
    {
      int error = errno;
      agent_close (&fd);
      agent_send_error (q->header.id, error == EADDRINUSE ? PRISM_WIRE_ERROR_EXISTS : agent_error_of (error), error,
                        "127.0.0.1:%u cannot be listened on: %s", q->number, strerror (error));
      return;
    }
  agent_send (PRISM_WIRE_DONE, 0, q->header.id, NULL, 0, fd);
}
