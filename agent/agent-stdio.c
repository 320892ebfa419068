/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* For where all that a host has of a process is its standard streams: a socket that the
 * agent serves in a child, and this process, which hands bytes on until one end is over.
 * Each direction has one buffer, so nothing here grows. */
#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PIECE 65536

struct way
{
  int from, to; /* -1: over */
  size_t at, filled;
  char bytes[PIECE];
};

static struct way in, out; /* large for a stack */

static bool
again (void)
{
  return errno == EAGAIN || errno == EINTR;
}

/* The far end of a way that is over learns of it, once all of it is there. */
static void
end_way (struct way *way)
{
  if (way == &in)
    shutdown (way->to, SHUT_WR);
  way->from = way->to = -1;
}

static void
step (struct way *way)
{
  ssize_t n;

  if (way->from < 0)
    return;
  if (way->at == way->filled)
    {
      n = read (way->from, way->bytes, sizeof way->bytes);
      if (n == 0 || (n < 0 && !again ()))
        end_way (way);
      if (n <= 0)
        return;
      way->at = 0;
      way->filled = (size_t)n;
    }
  n = write (way->to, way->bytes + way->at, way->filled - way->at);
  if (n > 0)
    way->at += (size_t)n;
  else if (n < 0 && !again ())
    end_way (way);
}

static void
hand_on (int socket)
{
  in = (struct way){ .from = STDIN_FILENO, .to = socket };
  out = (struct way){ .from = socket, .to = STDOUT_FILENO };
  while (out.from >= 0)
    {
      struct pollfd polled[2] = {
        { .fd = in.from < 0 || in.at < in.filled ? in.to : in.from, .events = in.at < in.filled ? POLLOUT : POLLIN },
        { .fd = out.at < out.filled ? out.to : out.from, .events = out.at < out.filled ? POLLOUT : POLLIN },
      };
      if (poll (polled, 2, -1) < 0 && errno != EINTR)
        return;
      step (&in);
      step (&out);
    }
}

static void
unblock (int fd)
{
  int flags = fcntl (fd, F_GETFL);
  if (flags >= 0)
    fcntl (fd, F_SETFL, flags | O_NONBLOCK);
}

int
agent_run_on_stdio (struct agent_options *options)
{
  int ends[2], nowhere, status = 0;
  pid_t child;

  signal (SIGPIPE, SIG_IGN);
  nowhere = open ("/dev/null", O_RDWR | O_CLOEXEC);
  if (nowhere < 0 || socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
    return 71;
  child = fork ();
  if (child < 0)
    return 71;
  if (child == 0)
    {
      /* The streams are the other process's: none of the agent's children may hold them. */
      dup2 (nowhere, STDIN_FILENO);
      dup2 (nowhere, STDOUT_FILENO);
      close (ends[0]);
      options->control = ends[1];
      return agent_run (options);
    }
  close (ends[1]);
  unblock (ends[0]);
  unblock (STDIN_FILENO);
  unblock (STDOUT_FILENO);
  hand_on (ends[0]);
  close (ends[0]);
  while (waitpid (child, &status, 0) < 0 && errno == EINTR)
    ;
  return WIFEXITED (status) ? WEXITSTATUS (status) : 70;
}
