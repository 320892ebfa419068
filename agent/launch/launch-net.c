/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The network namespace holds loopback and nothing else; here it is brought up. */
#include "launch-private.h"

#include <errno.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

void
launch_loopback_up (void)
{
  struct ifreq request = { .ifr_name = "lo" };
  int fd = socket (AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

  request.ifr_flags = IFF_UP | IFF_RUNNING;
  if (fd < 0 || ioctl (fd, SIOCSIFFLAGS, &request) < 0)
    launch_fail (PRISM_LAUNCH_STAGE_NET, errno, "bringing the loopback interface up");
  close (fd);
}
