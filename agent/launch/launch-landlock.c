/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One Landlock domain for a sandbox: no signal and no abstract socket leads out of
 * it, and no process outside can be traced. Nothing depends on it: the pid and
 * network namespaces say the same, and older kernels have none. */
#include "launch-private.h"

#include "agent.h"

#include <errno.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_restrict_self  446
#endif

#define SCOPE_ABI                  6
#define SCOPE_ABSTRACT_UNIX_SOCKET (1ull << 0)
#define SCOPE_SIGNAL               (1ull << 1)

struct ruleset
{
  uint64_t fs, net, scoped;
};

int
launch_enter_scope (void)
{
  struct ruleset ruleset = { 0, 0, SCOPE_ABSTRACT_UNIX_SOCKET | SCOPE_SIGNAL };
  long abi = syscall (SYS_landlock_create_ruleset, NULL, 0, 1 /* version */);
  int fd, error = 0;

  if (abi < 0)
    return -errno;
  if (abi < SCOPE_ABI)
    return -ENOTSUP;
  fd = (int)syscall (SYS_landlock_create_ruleset, &ruleset, sizeof ruleset, 0);
  if (fd < 0)
    return -errno;
  if (syscall (SYS_landlock_restrict_self, fd, 0) < 0)
    error = -errno;
  close (fd);
  return error;
}

int
launch_enter_landlock (void)
{
  if (prctl (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
    return -errno;
  return launch_enter_scope ();
}
