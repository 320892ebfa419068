/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The outer half. It starts the inner half, prepares beside it what only the host's
 * own rights can, and then waits for one of two ends: the host's (its end of the
 * socket is closed, whatever the reason) or the inner half's. Either way it kills,
 * reaps and removes, and says so. One thread, no heap of its own; it reads nothing
 * that a sandbox wrote. */
#include "launch-private.h"

#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

static struct launch_plan plan;
static uint8_t plan_bytes[PRISM_LAUNCH_MAX_PLAN];
static pid_t inner = -1;
static bool is_keeper;
static volatile sig_atomic_t told_to_stop;

/* Kills and reaps the inner half, with it every process of its pid namespace, and
 * removes what was made for it. */
static _Noreturn void
end (int status, int exit_status)
{
  uint32_t left;

  if (inner > 0)
    {
      kill (inner, SIGKILL);
      while (waitpid (inner, &status, 0) < 0 && errno == EINTR)
        ;
    }
  inner = -1;
  left = launch_groups_remove (&plan);
  launch_ended (status, left);
  _exit (exit_status);
}

void
launch_abandon (void)
{
  static bool ending;

  if (is_keeper && !ending)
    {
      ending = true;
      end (0, 1);
    }
  _exit (1);
}

static size_t
read_plan (void)
{
  size_t size = 0;

  for (;;)
    {
      ssize_t n = pread (PRISM_LAUNCH_PLAN_FD, plan_bytes + size, sizeof plan_bytes - size, (off_t)size);
      if (n < 0 && errno == EINTR)
        continue;
      if (n < 0)
        launch_fail (PRISM_LAUNCH_STAGE_PLAN, errno, "reading the plan");
      if (n == 0)
        break;
      size += (size_t)n;
      if (size == sizeof plan_bytes)
        launch_fail (PRISM_LAUNCH_STAGE_PLAN, EFBIG, "the plan is too long");
    }
  close (PRISM_LAUNCH_PLAN_FD);
  return size;
}

static void
on_signal (int number)
{
  /* A child's end only ends the wait. */
  if (number != SIGCHLD)
    told_to_stop = 1;
}

/* Away from the caller's terminal, process group and descriptors. */
static void
detach (void)
{
  syscall (SYS_close_range, PRISM_LAUNCH_KEEPER_FD + 1, ~0u, 0);
  if (setsid () < 0 && getsid (0) != getpid ())
    launch_fail (PRISM_LAUNCH_STAGE_KEEPER, errno, "setsid");
  /* Ignored is inherited, and would take the inner half's status away. */
  signal (SIGCHLD, SIG_DFL);
  umask (022);
  if (chdir ("/") < 0)
    launch_fail (PRISM_LAUNCH_STAGE_KEEPER, errno, "/");
}

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

static unsigned
namespaces (void)
{
  unsigned flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWCGROUP;

  if ((plan.flags & PRISM_LAUNCH_OFF_PIDNS) == 0)
    flags |= CLONE_NEWPID;
  if ((plan.flags & PRISM_LAUNCH_OFF_NETNS) == 0)
    flags |= CLONE_NEWNET;
  return flags;
}

/* The clone is made with the ids that the sandbox maps to, so that the inner half
 * may write its own map. Returns the keeper's end of the socket between the two. */
static int
start_inner (void)
{
  int ends[2];
  bool privileged = plan.flags & PRISM_LAUNCH_PRIVILEGED;

  if (socketpair (AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
    launch_fail (PRISM_LAUNCH_STAGE_KEEPER, errno, "socketpair");
  if (privileged)
    become (plan.uid, plan.gid);
  inner = (pid_t)syscall (SYS_clone, namespaces () | SIGCHLD, 0, 0, 0, 0);
  if (inner < 0)
    launch_fail (PRISM_LAUNCH_STAGE_CLONE, errno, "clone");
  if (inner == 0)
    {
      is_keeper = false;
      close (ends[0]);
      launch_init (&plan, ends[1]);
    }
  if (privileged)
    become_root_again ();
  close (PRISM_LAUNCH_CONTROL_FD);
  close (ends[1]);
  return ends[0];
}

/* Everything the inner half waits for, in one packet. */
static void
release_inner (int to)
{
  int fds[PRISM_LAUNCH_MAX_SHOWN + PRISM_LAUNCH_MAX_GROUPS];
  size_t n = plan.n_shown + plan.n_groups;
  union
  {
    struct cmsghdr header;
    char bytes[CMSG_SPACE (sizeof fds)];
  } control = { 0 };
  char byte = 'g';
  struct iovec part = { &byte, 1 };
  struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

  launch_groups_make (&plan, fds + plan.n_shown);
  launch_shown_prepare (&plan, fds);
  if (n > 0)
    {
      message.msg_control = &control;
      message.msg_controllen = CMSG_SPACE (sizeof (int) * n);
      control.header.cmsg_level = SOL_SOCKET;
      control.header.cmsg_type = SCM_RIGHTS;
      control.header.cmsg_len = CMSG_LEN (sizeof (int) * n);
      memcpy (CMSG_DATA (&control.header), fds, sizeof (int) * n);
    }
  /* An inner half that is gone has said why, or its end does. */
  (void)!sendmsg (to, &message, MSG_NOSIGNAL);
  for (size_t i = 0; i < n; i++)
    close (fds[i]);
}

static bool
inner_has_ended (int *status)
{
  pid_t pid = waitpid (inner, status, WNOHANG);

  if (pid != inner)
    return false;
  inner = -1;
  return true;
}

/* The inner half's only question: to be moved into its groups from outside. */
static bool
answer_inner (int socket)
{
  char byte;
  ssize_t n = recv (socket, &byte, 1, MSG_DONTWAIT);

  if (n < 0 && (errno == EAGAIN || errno == EINTR))
    return true;
  if (n != 1)
    return false;
  launch_groups_admit (&plan, inner);
  (void)!send (socket, &byte, 1, MSG_NOSIGNAL);
  return true;
}

static _Noreturn void
keep (int socket, const sigset_t *open_mask)
{
  struct pollfd fds[2] = { { PRISM_LAUNCH_KEEPER_FD, POLLIN | POLLRDHUP, 0 }, { socket, POLLIN, 0 } };
  int status = 0;

  for (;;)
    {
      if (inner_has_ended (&status))
        end (status, 0);
      if (told_to_stop)
        end (0, 0);
      if (ppoll (fds, 2, NULL, open_mask) < 0)
        continue;
      /* The host never writes: whatever there is to read is its end. */
      if (fds[0].revents != 0)
        end (0, 0);
      if (fds[1].revents != 0 && !answer_inner (socket))
        fds[1].fd = -1;
    }
}

static void
watch_signals (sigset_t *open_mask)
{
  struct sigaction action = { .sa_handler = on_signal };
  const int watched[] = { SIGTERM, SIGINT, SIGHUP, SIGCHLD };
  sigset_t mask;

  sigemptyset (&mask);
  for (size_t i = 0; i < sizeof watched / sizeof *watched; i++)
    {
      sigaddset (&mask, watched[i]);
      sigaction (watched[i], &action, NULL);
    }
  sigprocmask (SIG_BLOCK, &mask, open_mask);
}

int
launch_main (int argc, char **argv)
{
  sigset_t open_mask;
  int socket;

  (void)argv;
  is_keeper = true;
  detach ();
  if (argc != 2 || !launch_plan_parse (&plan, plan_bytes, read_plan ()))
    launch_fail (PRISM_LAUNCH_STAGE_PLAN, EINVAL, "not a launch plan of version %d.%d", PRISM_LAUNCH_MAJOR,
                 PRISM_LAUNCH_MINOR);
  if (((plan.flags & PRISM_LAUNCH_PRIVILEGED) != 0) != (geteuid () == 0))
    launch_fail (PRISM_LAUNCH_STAGE_PLAN, EPERM, "a plan for root, and only that, is carried out by root");
  if ((plan.flags & PRISM_LAUNCH_PRIVILEGED) != 0 && setgroups (0, NULL) < 0)
    launch_fail (PRISM_LAUNCH_STAGE_KEEPER, errno, "setgroups");
  launch_probe_remember ();
  socket = start_inner ();
  watch_signals (&open_mask);
  release_inner (socket);
  keep (socket, &open_mask);
}
