/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* From the outer half to the inner one: a process in namespaces of its own, as a child of
 * whoever keeps it. What it has of its parent's descriptors is what it needs. */
#include "launch-private.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

#define SOCKET_FD (PRISM_LAUNCH_KEEPER_FD + 1) /* of the inner half, to its keeper */
#define NETNS_FD  (PRISM_LAUNCH_KEEPER_FD + 2)

/* What is being started; a template is entered by a process with this memory. */
static const struct launch_plan *plan;
static struct launch_ready_made made;
static pid_t inner;
static int template_error;

static void
become (uint32_t uid, uint32_t gid)
{
  if (syscall (SYS_setresgid, -1, gid, -1) < 0 || syscall (SYS_setresuid, -1, uid, -1) < 0)
    launch_fail (PRISM_LAUNCH_STAGE_CLONE, errno, "taking the sandbox's ids");
  /* A change of ids turns this off, and with it the right to write one's own id map. */
  prctl (PR_SET_DUMPABLE, 1, 0, 0, 0);
}

static void
become_root_again (void)
{
  if (syscall (SYS_setresuid, -1, 0, -1) < 0 || syscall (SYS_setresgid, -1, 0, -1) < 0)
    launch_fail (PRISM_LAUNCH_STAGE_CLONE, errno, "giving the sandbox's ids back");
}

/* Without the network: that namespace is made beside the rest. */
static unsigned
namespaces (void)
{
  unsigned flags = CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWCGROUP;

  return flags | ((plan->flags & PRISM_LAUNCH_OFF_PIDNS) == 0 ? CLONE_NEWPID : 0);
}

static _Noreturn void
be_inner (int socket)
{
  launch_keep_no_more ();
  launch_init (plan, socket, &made);
}

/* The keeper's other descriptors are of other sandboxes too, where one keeps several. The
 * namespace is above the two numbers, or the second of them. */
static void
keep_own_descriptors (int socket)
{
  dup2 (socket, SOCKET_FD);
  if (made.netns >= 0)
    dup2 (made.netns, NETNS_FD);
  syscall (SYS_close_range, made.netns >= 0 ? NETNS_FD + 1 : NETNS_FD, ~0u, 0);
}

/* In a process that shares the keeper's memory and nothing else: there is no way
 * back from a user namespace. The inner half becomes the keeper's own child. */
static int
enter_template (void *data)
{
  const int *ends = data;

  if (setns (made.userns, CLONE_NEWUSER) < 0 || setns (made.mntns, CLONE_NEWNS) < 0)
    template_error = errno;
  else
    {
      pid_t pid;
      keep_own_descriptors (ends[1]);
      pid = (pid_t)syscall (SYS_clone, namespaces () | CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
      if (pid == 0)
        {
          made.netns = made.netns >= 0 ? NETNS_FD : -1;
          be_inner (SOCKET_FD);
        }
      inner = pid;
      template_error = pid < 0 ? errno : 0;
    }
  _exit (0);
}

static void
start_from_template (int *ends)
{
  /* The agent lives on it for good: as large as any, and with a page below it that
   * nothing may touch. Pages that are not used cost nothing. */
  const size_t size = 1024 * 1024, guard = 4096;
  char *stack =
      mmap (NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
  pid_t pid;

  if (stack == MAP_FAILED || mprotect (stack, guard, PROT_NONE) < 0)
    launch_fail (PRISM_LAUNCH_STAGE_CLONE, errno, "a stack");
  pid = clone (enter_template, stack + size, CLONE_VM | CLONE_VFORK | SIGCHLD, ends);
  if (pid < 0)
    launch_fail (PRISM_LAUNCH_STAGE_CLONE, errno, "clone");
  while (waitpid (pid, NULL, 0) < 0 && errno == EINTR)
    ;
  munmap (stack, size); /* the inner half has its copy */
  if (template_error != 0)
    launch_fail (PRISM_LAUNCH_STAGE_CLONE, template_error, "entering the template");
}

/* The clone is made with the ids that the sandbox maps to, so that the inner half
 * may write its own map. */
static void
start_plain (int *ends)
{
  bool privileged = plan->flags & PRISM_LAUNCH_PRIVILEGED;

  if (privileged)
    become (plan->uid, plan->gid);
  inner = (pid_t)syscall (SYS_clone, namespaces () | CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
  if (inner < 0)
    launch_fail (PRISM_LAUNCH_STAGE_CLONE, errno, "clone");
  if (inner == 0)
    {
      close (ends[0]);
      be_inner (ends[1]);
    }
  if (privileged)
    become_root_again ();
}

int
launch_start_inner (const struct launch_plan *of, const struct launch_ready_made *ready_made, pid_t *pid)
{
  int ends[2];

  plan = of;
  made = *ready_made;
  inner = -1;
  if (socketpair (AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
    launch_fail (PRISM_LAUNCH_STAGE_KEEPER, errno, "socketpair");
  if (plan->flags & PRISM_LAUNCH_USE_TEMPLATE)
    start_from_template (ends);
  else
    start_plain (ends);
  *pid = inner;
  close (ends[1]);
  return ends[0];
}
