/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The two lives of the program: `--launch` enters namespaces and becomes the
 * agent inside (launch/); the plain forms are for where something else made the
 * boundary already: a container, a guest, a test, a machine far away. */
#include "agent.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char usage[] = "usage: prism-agent --serve FD [--framed]\n"
                            "       prism-agent --dial PATH [--framed]\n"
                            "       prism-agent --stdio\n"
                            "       prism-agent --launch\n";

static int
complain (const char *text)
{
  return write (STDERR_FILENO, text, strlen (text)) < 0 ? 71 : 64;
}

/* A descriptor's number, and an open one. */
static int
parse_fd (const char *text)
{
  char *end = NULL;
  long fd = strtol (text, &end, 10);
  if (*text < '0' || *text > '9' || *end != 0 || fd > INT_MAX || fcntl ((int)fd, F_GETFD) < 0)
    return -1;
  return (int)fd;
}

/* The domain of a connected stream socket, else -1. */
static int
socket_domain (int fd)
{
  int domain = -1, type = -1;
  socklen_t size = sizeof domain, type_size = sizeof type;
  bool is = getsockopt (fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0
            && getsockopt (fd, SOL_SOCKET, SO_TYPE, &type, &type_size) == 0 && type == SOCK_STREAM;
  return is ? domain : -1;
}

/* Those that C libraries keep for themselves, and that signal() does not touch: glibc's
 * posix_spawn() may leave them ignored, and so would every command find them. */
static void
default_hidden_signals (void)
{
  static const unsigned char nothing[64]; /* the kernel's struct sigaction: the default, no flags */

  for (int number = 32; number <= 34; number++)
    syscall (SYS_rt_sigaction, number, nothing, NULL, (NSIG - 1) / 8);
}

int
main (int argc, char **argv)
{
  struct agent_options options = { .control = -1, .hosts = -1 };

  default_hidden_signals ();
  if (argc > 1 && strcmp (argv[1], "--launch") == 0)
    return launch_main (argc, argv);
  if (argc == 2 && strcmp (argv[1], "--stdio") == 0)
    {
      options.framed = true;
      return agent_run_on_stdio (&options);
    }

  for (int i = 1; i < argc; i++)
    if (strcmp (argv[i], "--framed") == 0)
      options.framed = true;
    else if (strcmp (argv[i], "--serve") == 0 && i + 1 < argc && options.control < 0)
      {
        options.control = parse_fd (argv[++i]);
        if (options.control < 0 || socket_domain (options.control) < 0)
          return complain ("prism-agent: --serve wants the number of a connected stream socket\n");
      }
    else if (strcmp (argv[i], "--dial") == 0 && i + 1 < argc && options.dial == NULL)
      options.dial = argv[++i];
    else
      return complain (usage);
  if ((options.control < 0) == (options.dial == NULL))
    return complain (usage);

  options.fds = options.dial != NULL || socket_domain (options.control) == AF_UNIX;
  return agent_run (&options);
}
