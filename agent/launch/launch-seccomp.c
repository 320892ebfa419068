/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Loads the filter that was compiled from seccomp.profile at build time. Once for
 * each sandbox, before its first command; what is loaded cannot be taken back. */
#include "launch-private.h"

#include "agent.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "launch-filter.h"

static bool no_unix;

void
launch_select_seccomp (bool without_unix_sockets)
{
  no_unix = without_unix_sockets;
}

int
launch_install_filter (void)
{
  struct sock_fprog program;

  /* The kernel's structure is not const; it does not write there. */
  program.len = no_unix ? sizeof launch_filter_no_unix / sizeof *launch_filter_no_unix
                        : sizeof launch_filter / sizeof *launch_filter;
  program.filter = (struct sock_filter *)(no_unix ? launch_filter_no_unix : launch_filter);
  return syscall (SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0 ? -errno : 0;
}

int
launch_load_seccomp (void)
{
  if (prctl (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
    return -errno;
  return launch_install_filter ();
}
