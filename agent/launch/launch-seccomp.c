/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Loads the filter that was compiled from seccomp.profile at build time. Once for
 * each sandbox, before its first command; what is loaded cannot be taken back.
 *
 * A launcher that stays loads nearly all of it into itself, and all that it starts
 * inherits that: taking it in costs more than any other step of hardening. What is
 * left for the sandbox are the rules that the launcher could not live with. One that
 * is begun ahead loads that part while it waits for its plan. */
#include "launch-private.h"

#include "agent.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "launch-filter.h"

static bool no_unix, early;

void
launch_select_seccomp (bool without_unix_sockets)
{
  no_unix = without_unix_sockets;
}

static int
install (const struct sock_filter *filter, size_t size)
{
  /* The kernel's structure is not const; it does not write there. */
  struct sock_fprog program = { (unsigned short)(size / sizeof *filter), (struct sock_filter *)filter };

  return syscall (SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0 ? -errno : 0;
}

int
launch_install_filter (void)
{
  if (no_unix)
    return install (launch_filter_no_unix, sizeof launch_filter_no_unix);
  if (early)
    return install (launch_filter_late, sizeof launch_filter_late);
  return install (launch_filter, sizeof launch_filter);
}

void
launch_install_early_filter (void)
{
  if (early)
    return;
  early =
      prctl (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && install (launch_filter_early, sizeof launch_filter_early) == 0;
}

int
launch_load_seccomp (void)
{
  if (prctl (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
    return -errno;
  return launch_install_filter ();
}
