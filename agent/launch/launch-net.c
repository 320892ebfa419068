/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A network namespace: loopback and nothing else. The kernel takes as long for one as
 * for all the rest of a sandbox together, so a helper process makes it meanwhile, or
 * beforehand. The helper shares its starter's memory and descriptors, runs only what
 * is here, and writes errno, which is shared too, only when it fails. */
#include "launch-private.h"

#include <errno.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define GET_NAMESPACE_OF_SOCKET 0x894c /* SIOCGSKNS */

static bool
bring_loopback_up (int fd)
{
  struct ifreq request = { .ifr_name = "lo" };

  request.ifr_flags = IFF_UP | IFF_RUNNING;
  return ioctl (fd, SIOCSIFFLAGS, &request) == 0;
}

static int
make_namespace (void *data)
{
  struct launch_net *net = data;
  int fd = -1, found = -1;

  if ((net->userns < 0 || setns (net->userns, CLONE_NEWUSER) == 0) && unshare (CLONE_NEWNET) == 0
      && (fd = socket (AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) >= 0 && (!net->up || bring_loopback_up (fd)))
    found = ioctl (fd, GET_NAMESPACE_OF_SOCKET);
  if (found < 0)
    net->error = errno;
  if (fd >= 0)
    close (fd);
  net->fd = found;
  syscall (SYS_exit, 0);
  return 0;
}

bool launch_net_stays_here;

/* Where the host is at work on another CPU it is not to be put aside by this, which a new
 * process would do: that is put on whichever CPU, and runs there to its end. */
static void
keep_here (pid_t helper)
{
  int cpu = sched_getcpu ();
  cpu_set_t here;

  if (!launch_net_stays_here || cpu < 0 || cpu >= CPU_SETSIZE)
    return;
  CPU_ZERO (&here);
  CPU_SET (cpu, &here);
  (void)sched_setaffinity (helper, sizeof here, &here);
}

bool
launch_net_begin (struct launch_net *net)
{
  net->fd = -1;
  net->error = 0;
  net->helper = clone (make_namespace, net->stack + sizeof net->stack, CLONE_VM | CLONE_FILES | SIGCHLD, net);
  if (net->helper > 0)
    keep_here (net->helper);
  return net->helper >= 0;
}

int
launch_net_finish (struct launch_net *net)
{
  int fd;

  if (net->helper > 0)
    while (waitpid (net->helper, NULL, 0) < 0 && errno == EINTR)
      ;
  net->helper = -1;
  fd = net->fd;
  net->fd = -1;
  errno = net->error;
  return fd;
}

void
launch_net_enter (int fd)
{
  if (fd < 0)
    launch_fail (PRISM_LAUNCH_STAGE_NET, errno, "a network namespace");
  if (setns (fd, CLONE_NEWNET) < 0)
    launch_fail (PRISM_LAUNCH_STAGE_NET, errno, "entering the network namespace");
  close (fd);
}
