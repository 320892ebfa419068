/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Network namespaces of the launcher that stays. To make one and to take it down costs
 * more than all the rest of a sandbox; so some are made ahead, and one that nothing was
 * done in serves again: when its sandbox is gone, all that the kernel shows of it has to
 * read as on the day that it was made. That is: not one socket is left in it, of any
 * kind, not one connection or fragment waits for its end, no flow label is taken, and no
 * counter of IP or of what is above it moved, so that not one packet was sent in it, and
 * none was refused for want of a route. (The counters in netstat refine these.)
 * Nothing else of a namespace can be changed by those inside, who have no capability;
 * and nobody holds it, who are all dead. What fails that test, for whatever reason, has
 * served one sandbox and goes. */
#include "launch-private.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define AHEAD 3  /* that many are made before they are wanted */
#define ROOM  16 /* that many are kept when they come back */
#define STATE 16384

static struct launch_net making;
static int ready[ROOM];
static int n_ready;
static int home = -1; /* the launcher's own */
static char as_new[STATE];
static size_t as_new_size;

void
launch_pool_init (void)
{
  home = launch_lift (open ("/proc/self/ns/net", O_RDONLY | O_CLOEXEC));
}

/* --- what it looks like --------------------------------------------------------- */

static size_t
read_all (const char *name, char *text, size_t size)
{
  char path[64];
  size_t used = 0;
  ssize_t n = 1;
  int fd;

  snprintf (path, sizeof path, "/proc/self/net/%s", name);
  fd = open (path, O_RDONLY | O_CLOEXEC);
  while (fd >= 0 && n > 0 && used < size)
    {
      n = read (fd, text + used, size - used);
      used += n > 0 ? (size_t)n : 0;
    }
  if (fd >= 0)
    close (fd);
  /* What does not fit is not comparable; a file that is not there is the same for all. */
  return (fd >= 0 && n < 0) || used == size ? size : used;
}

static unsigned long
number_after (const char *text, const char *line, const char *word)
{
  const char *at = strstr (text, line), *end = at != NULL ? strchr (at, '\n') : NULL;

  at = at != NULL ? strstr (at, word) : NULL;
  return at != NULL && end != NULL && at < end ? strtoul (at + strlen (word), NULL, 10) : 0;
}

/* Of this file the rest is the machine's. */
static size_t
read_sockets (char *text, size_t size)
{
  char file[1024];
  size_t n = read_all ("sockstat", file, sizeof file - 1);
  int used;

  if (n == 0 || n == sizeof file - 1)
    return size;
  file[n] = 0;
  used = snprintf (text, size, "%lu %lu %lu\n", number_after (file, "sockets:", "used "),
                   number_after (file, "TCP:", "tw "), number_after (file, "FRAG:", "inuse "));
  return used < 0 ? size : (size_t)used;
}

/* Its size; 0 where it cannot be told. */
static size_t
read_state (int fd, char *text, size_t size)
{
  static const char *const files[] = { "snmp", "snmp6", "ip6_flowlabel" };
  size_t used;

  if (home < 0 || setns (fd, CLONE_NEWNET) < 0)
    return 0;
  used = read_sockets (text, size);
  for (size_t i = 0; i < sizeof files / sizeof *files && used < size; i++)
    used += read_all (files[i], text + used, size - used);
  if (setns (home, CLONE_NEWNET) < 0)
    _exit (1); /* nothing may go on from a sandbox's namespace */
  return used < size ? used : 0;
}

static bool
is_as_new (int fd)
{
  static char state[STATE];

  return as_new_size > 0 && read_state (fd, state, sizeof state) == as_new_size
         && memcmp (state, as_new, as_new_size) == 0;
}

/* --- the pool ------------------------------------------------------------------- */

static void
keep_ready (int fd)
{
  if (as_new_size == 0)
    as_new_size = read_state (fd, as_new, sizeof as_new);
  ready[n_ready++] = fd;
}

static void
take_over (int fd)
{
  if (fd >= 0)
    fd = launch_lift (fd);
  if (fd >= 0 && n_ready < ROOM)
    keep_ready (fd);
  else if (fd >= 0)
    close (fd);
}

void
launch_pool_settle (void)
{
  if (making.helper > 0)
    take_over (launch_net_finish (&making));
}

void
launch_pool_empty (void)
{
  launch_pool_settle ();
  while (n_ready > 0)
    close (ready[--n_ready]);
}

int
launch_pool_take (void)
{
  return n_ready > 0 ? ready[--n_ready] : -1;
}

bool
launch_pool_refill (int userns)
{
  if (making.helper > 0)
    return true;
  if (userns < 0 || n_ready >= AHEAD)
    return false;
  making.userns = userns;
  making.up = true;
  launch_net_begin (&making);
  return true;
}

bool
launch_pool_reap (pid_t pid)
{
  int fd;

  if (making.helper != pid)
    return false;
  making.helper = -1;
  fd = making.fd;
  making.fd = -1;
  take_over (fd);
  return true;
}

void
launch_pool_give_back (int fd)
{
  if (fd >= 0 && n_ready < ROOM && is_as_new (fd))
    keep_ready (fd);
  else if (fd >= 0)
    close (fd);
}
