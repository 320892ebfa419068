/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* From the outer half to the inner one: a process in namespaces of its own, as a child of
 * whoever keeps it. What it has of its parent's descriptors is what it needs. */
#include "launch-private.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
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
static int *ends;
static pid_t inner;
static int template_error;

#define STACK_SIZE (1024 * 1024)
#define GUARD_SIZE 4096

/* The porter: a process in the template that starts one inner half after another there,
 * for a keeper of many. Its memory is its own, a copy of the keeper's from when it began:
 * what it starts has nothing in it of other sandboxes, and what the keeper writes to
 * afterwards is not shared with each of them, which would cost it a page fault a page. The
 * descriptors are the keeper's, who waits while it works. */
struct errand
{
  uint32_t turn; /* 1: the porter works, the keeper waits */
  struct launch_ready_made made;
  int socket; /* of the inner half */
  size_t size;
  uint8_t plan[PRISM_LAUNCH_MAX_REQUEST];
  pid_t inner; /* what came of it */
  int error;
};

static struct
{
  pid_t pid;
  int mntns; /* where it is */
  struct errand *errand;
  bool takes_turns; /* with the CPUs, and what it starts until launch_hurry() */
} porter;

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

static bool
enter_template (void)
{
  bool entered = setns (made.userns, CLONE_NEWUSER) == 0 && setns (made.mntns, CLONE_NEWNS) == 0;

  template_error = entered ? 0 : errno;
  return entered;
}

/* The inner half becomes the keeper's own child. */
static void
start_here (int socket)
{
  pid_t pid = (pid_t)syscall (SYS_clone, namespaces () | CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);

  if (pid == 0)
    {
      keep_own_descriptors (socket);
      made.netns = made.netns >= 0 ? NETNS_FD : -1;
      be_inner (SOCKET_FD);
    }
  inner = pid;
  template_error = pid < 0 ? errno : 0;
}

/* The agent lives on it for good: as large as any, and with a page below it that nothing
 * may touch. Pages that are not used cost nothing. NULL and errno. */
static char *
make_stack (void)
{
  char *stack =
      mmap (NULL, STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);

  return stack == MAP_FAILED || mprotect (stack, GUARD_SIZE, PROT_NONE) < 0 ? NULL : stack;
}

/* In a process that shares the keeper's memory and nothing else: there is no way back
 * from a user namespace. */
static int
start_and_leave (void *data)
{
  (void)data;
  if (enter_template ())
    start_here (ends[1]);
  _exit (0);
}

static void
start_from_template (void)
{
  char *stack = make_stack ();
  pid_t pid;

  if (stack == NULL)
    launch_fail (PRISM_LAUNCH_STAGE_CLONE, errno, "a stack");
  pid = clone (start_and_leave, stack + STACK_SIZE, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
  if (pid < 0)
    launch_fail (PRISM_LAUNCH_STAGE_CLONE, errno, "clone");
  while (waitpid (pid, NULL, 0) < 0 && errno == EINTR)
    ;
  munmap (stack, STACK_SIZE); /* the inner half has its copy */
  if (template_error != 0)
    launch_fail (PRISM_LAUNCH_STAGE_CLONE, template_error, "entering the template");
}

/* --- the porter -------------------------------------------------------------------- */

static void
wait_for_turn (uint32_t turn, const struct timespec *most)
{
  syscall (SYS_futex, &porter.errand->turn, FUTEX_WAIT, 1 - turn, most, NULL, 0);
}

static bool
is_turn (uint32_t turn)
{
  return __atomic_load_n (&porter.errand->turn, __ATOMIC_ACQUIRE) == turn;
}

static void
give_turn (uint32_t turn)
{
  __atomic_store_n (&porter.errand->turn, turn, __ATOMIC_RELEASE);
  syscall (SYS_futex, &porter.errand->turn, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* What is begun ahead is for nobody yet: it is not to push aside who is at work, and has as
 * much of the CPUs as any. The porter is in no hurry from one such to the next; what is
 * waited for is started as anything is. musl has the names of these calls, but not the calls. */
static void
take_turns (bool ahead)
{
  const int none = 0;

  if (ahead == porter.takes_turns || (ahead && syscall (SYS_sched_getscheduler, 0) != SCHED_OTHER))
    return;
  if (syscall (SYS_sched_setscheduler, 0, ahead ? SCHED_BATCH : SCHED_OTHER, &none) == 0)
    porter.takes_turns = ahead;
}

void
launch_hurry (void)
{
  take_turns (false);
}

/* In the memory of a process that was just started: none that this one starts shares it. */
static bool
keep_errand (struct errand *errand)
{
  return madvise (errand, sizeof *errand, MADV_DONTFORK) == 0;
}

/* The plan is most often the last one: it was read by the keeper, who asks with no other. */
static void
take_errand (const struct errand *errand)
{
  made = errand->made;
  if (plan->size == errand->size && memcmp (launch_plan_bytes, errand->plan, errand->size) == 0)
    return;
  memcpy (launch_plan_bytes, errand->plan, errand->size);
  plan = launch_current_plan (errand->size);
}

static _Noreturn void
be_porter (struct errand *errand)
{
  made = errand->made;
  if (!keep_errand (errand) || !enter_template () || prctl (PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
    {
      errand->error = errno;
      _exit (1);
    }
  for (;;)
    {
      take_errand (errand);
      launch_place_at (made.place);
      take_turns (made.ahead);
      start_here (errand->socket);
      errand->inner = inner;
      errand->error = template_error;
      give_turn (0);
      while (!is_turn (1))
        wait_for_turn (1, NULL);
    }
}

/* Until it has started one, or is no more. */
static void
wait_for_porter (void)
{
  const struct timespec second = { 1, 0 };
  struct errand *errand = porter.errand;

  while (!is_turn (0))
    {
      wait_for_turn (0, &second);
      if (!is_turn (0) && waitpid (porter.pid, NULL, WNOHANG) == porter.pid)
        {
          porter.pid = 0;
          launch_fail (PRISM_LAUNCH_STAGE_CLONE, errand->error != 0 ? errand->error : ECHILD, "entering the template");
        }
    }
  inner = errand->inner;
  if (errand->error != 0)
    launch_fail (PRISM_LAUNCH_STAGE_CLONE, errand->error, "entering the template");
}

static void
write_errand (struct errand *errand)
{
  if (plan->size > sizeof errand->plan)
    launch_fail (PRISM_LAUNCH_STAGE_CLONE, EFBIG, "the plan is too long for a copy of the template");
  errand->made = made;
  errand->socket = ends[1];
  errand->size = plan->size;
  memcpy (errand->plan, plan->bytes, plan->size);
  errand->error = 0;
}

/* What the keeper starts otherwise does not share its errand either. */
static void
start_porter (struct errand *errand)
{
  porter.mntns = made.mntns;
  errand->turn = 1;
  if (madvise (errand, sizeof *errand, MADV_DOFORK) < 0)
    launch_fail (PRISM_LAUNCH_STAGE_CLONE, errno, "memory to share");
  porter.pid = (pid_t)syscall (SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);
  if (porter.pid == 0)
    be_porter (errand);
  if (porter.pid < 0)
    launch_fail (PRISM_LAUNCH_STAGE_CLONE, errno, "clone");
  if (keep_errand (errand))
    return;
  launch_end_porter ();
  launch_fail (PRISM_LAUNCH_STAGE_CLONE, ENOTSUP, "memory not to share");
}

static void
start_by_porter (void)
{
  if (porter.errand == NULL)
    {
      void *shared = mmap (NULL, sizeof *porter.errand, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
      if (shared == MAP_FAILED)
        launch_fail (PRISM_LAUNCH_STAGE_CLONE, errno, "memory to share");
      porter.errand = shared;
    }
  if (porter.pid > 0 && porter.mntns != made.mntns)
    launch_end_porter ();
  write_errand (porter.errand);
  if (porter.pid > 0)
    give_turn (1);
  else
    start_porter (porter.errand);
  wait_for_porter ();
}

void
launch_end_porter (void)
{
  if (porter.pid > 0 && kill (porter.pid, SIGKILL) == 0)
    while (waitpid (porter.pid, NULL, 0) < 0 && errno == EINTR)
      ;
  porter.pid = 0;
}

bool
launch_reap_porter (pid_t pid)
{
  if (pid <= 0 || pid != porter.pid)
    return false;
  porter.pid = 0;
  return true;
}

void
launch_forget_porter (void)
{
  porter.pid = 0;
  porter.errand = NULL; /* it is not in this process's memory */
}

/* --- all ways ------------------------------------------------------------------------ */

/* The clone is made with the ids that the sandbox maps to, so that the inner half
 * may write its own map. */
static void
start_plain (void)
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
  int pair[2];

  plan = of;
  made = *ready_made;
  inner = -1;
  ends = pair;
  if (socketpair (AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
    launch_fail (PRISM_LAUNCH_STAGE_KEEPER, errno, "socketpair");
  if (made.by_porter)
    start_by_porter ();
  else if (plan->flags & PRISM_LAUNCH_USE_TEMPLATE)
    start_from_template ();
  else
    start_plain ();
  *pid = inner;
  close (pair[1]);
  return pair[0];
}
