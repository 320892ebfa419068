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
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
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
/* What the inner half was started with before the plan came. */
static struct launch_plan early;
static uint8_t early_bytes[PRISM_LAUNCH_MAX_REQUEST];
uint8_t launch_plan_bytes[PRISM_LAUNCH_MAX_PLAN];
static struct launch_ready_made made;
static struct launch_groups groups;
static pid_t inner = -1;
static bool is_keeper, is_resident, segments_forgotten;
static sigset_t first_mask;
static volatile sig_atomic_t told_to_stop;

static uint32_t
remove_freezer (void)
{
  const char *folder = launch_freezer_to_remove ();

  return folder != NULL && !launch_remove_folder (folder, true);
}

/* Kills and reaps the inner half, with it every process of its pid namespace, and
 * removes what was made for it. */
static _Noreturn void
end (int status, int exit_status)
{
  uint32_t left;

  launch_host_forget ();
  if (inner > 0)
    {
      kill (inner, SIGKILL);
      while (waitpid (inner, &status, 0) < 0 && errno == EINTR)
        ;
    }
  inner = -1;
  left = remove_freezer () + launch_groups_remove (&groups, true);
  launch_ended (status, left);
  _exit (exit_status);
}

void
launch_abandon (void)
{
  static bool ending;

  if (is_resident)
    launch_kept_abandon ();
  if (is_keeper && !ending)
    {
      ending = true;
      end (0, 1);
    }
  _exit (1);
}

struct launch_plan *
launch_current_plan (size_t size)
{
  if (!launch_plan_parse (&plan, launch_plan_bytes, size) || plan.rest)
    launch_fail (PRISM_LAUNCH_STAGE_PLAN, EINVAL, "not a launch plan of version %d.%d", PRISM_LAUNCH_MAJOR,
                 PRISM_LAUNCH_MINOR);
  return &plan;
}

void
launch_keep_many (const sigset_t *open_mask)
{
  is_resident = true;
  first_mask = *open_mask;
}

void
launch_keep_no_more (void)
{
  const int changed[] = { SIGTERM, SIGINT, SIGHUP, SIGCHLD };

  is_keeper = false;
  if (!is_resident)
    return;
  is_resident = false;
  launch_forget_porter ();
  for (size_t i = 0; i < sizeof changed / sizeof *changed; i++)
    signal (changed[i], SIG_DFL);
  sigprocmask (SIG_SETMASK, &first_mask, NULL);
}

/* From a file, or as the host composes it. */
static ssize_t
read_part (uint8_t *to, size_t most, size_t at)
{
  ssize_t n = pread (PRISM_LAUNCH_PLAN_FD, to, most, (off_t)at);

  return n < 0 && errno == ESPIPE ? read (PRISM_LAUNCH_PLAN_FD, to, most) : n;
}

/* Until there is as much as is wanted, or no more; what there is then. */
static size_t
read_until (size_t wanted, size_t size)
{
  while (size < wanted)
    {
      ssize_t n = read_part (launch_plan_bytes + size, sizeof launch_plan_bytes - size, size);
      if (n < 0 && errno == EINTR)
        continue;
      if (n < 0)
        launch_fail (PRISM_LAUNCH_STAGE_PLAN, errno, "reading the plan");
      if (n == 0)
        break;
      size += (size_t)n;
      if (size == sizeof launch_plan_bytes)
        launch_fail (PRISM_LAUNCH_STAGE_PLAN, EFBIG, "the plan is too long");
    }
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
  launch_raise_open_files (); /* what the host bounds for itself is not for what keeps many sandboxes */
  if (setsid () < 0 && getsid (0) != getpid ())
    launch_fail (PRISM_LAUNCH_STAGE_KEEPER, errno, "setsid");
  /* Ignored is inherited, and would take the inner half's status away. */
  signal (SIGCHLD, SIG_DFL);
  umask (022);
  if (chdir ("/") < 0)
    launch_fail (PRISM_LAUNCH_STAGE_KEEPER, errno, "/");
}

static void
close_made (void)
{
  const int fds[] = { made.userns, made.mntns, made.netns };

  for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
    if (fds[i] >= 0)
      close (fds[i]);
}

static int
open_namespace (const char *name)
{
  char path[64];
  int fd;

  snprintf (path, sizeof path, "/proc/%d/ns/%s", (int)inner, name);
  fd = open (path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    launch_fail (PRISM_LAUNCH_STAGE_KEEPER, errno, "%s", path);
  return fd;
}

/* As forget_orphaned_segments() in launch-init.c, for an inner half that has its own id
 * from the first: only root's keeper may. */
static void
forget_orphaned_segments (void)
{
  int ipc = open_namespace ("ipc");

  if (setns (ipc, CLONE_NEWIPC) < 0 || !launch_write_file (AT_FDCWD, "/proc/sys/kernel/shm_rmid_forced", "1"))
    launch_note ("shared memory", "segments without a process stay until the sandbox ends: %s", strerror (errno));
  close (ipc);
}

/* Once for each inner half; one in a template does it by itself. */
static void
forget_orphaned_segments_once (void)
{
  uint32_t kind = plan.flags & (PRISM_LAUNCH_PRIVILEGED | PRISM_LAUNCH_MAKE_TEMPLATE | PRISM_LAUNCH_USE_TEMPLATE);

  if (segments_forgotten || kind != PRISM_LAUNCH_PRIVILEGED)
    return;
  segments_forgotten = true;
  forget_orphaned_segments ();
}

/* What the inner half waits for: what is to be shown, then its control groups. */
void
launch_release_inner (int to, size_t order_size, struct launch_groups *of)
{
  int fds[LAUNCH_MAX_FDS];
  size_t n = plan.n_shown;
  const char go = 'g';

  launch_shown_prepare (&plan, fds);
  if (order_size > 0)
    {
      fds[n++] = PRISM_LAUNCH_CONTROL_FD;
      fds[n++] = PRISM_LAUNCH_KEEPER_FD;
    }
  /* An inner half that is gone has said why, or its end does. */
  launch_send_fds (to, order_size > 0 ? (const void *)launch_plan_bytes : &go, order_size > 0 ? order_size : 1, fds, n);
  /* It goes on at once, also where there is no CPU but this one: nobody waits for what
   * follows here before it has done its part. */
  if (!is_resident)
    sched_yield ();
  for (size_t i = 0; i < plan.n_shown; i++)
    close (fds[i]);
  forget_orphaned_segments_once ();
  /* Made while the inner half goes on; it waits for them before anything can run. */
  if (plan.n_groups > 0)
    {
      launch_groups_make (&plan, of, is_resident);
      for (size_t i = 0; i < plan.n_groups; i++)
        fds[i] = of->made[i]->entry;
      launch_send_fds (to, &go, 1, fds, plan.n_groups);
    }
}

static void
put_fd (int fd, int at)
{
  dup2 (fd, at);
  close (fd);
}

bool
launch_take_order (size_t size, int control, int keeper)
{
  /* Above the two numbers first: one may be where the other is to be. */
  int high_control = fcntl (control, F_DUPFD_CLOEXEC, 32), high_keeper = fcntl (keeper, F_DUPFD_CLOEXEC, 32);

  close (control);
  close (keeper);
  put_fd (high_control, PRISM_LAUNCH_CONTROL_FD);
  put_fd (high_keeper, PRISM_LAUNCH_KEEPER_FD);
  return launch_plan_parse (&plan, launch_plan_bytes, size);
}

bool
launch_told_to_stop (void)
{
  return told_to_stop;
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
  if (!launch_groups_admit (&groups, inner))
    launch_fail (PRISM_LAUNCH_STAGE_GROUP, errno, "cgroup.procs");
  (void)!send (socket, &byte, 1, MSG_NOSIGNAL);
  return true;
}

/* The inner half built a root and waits: its namespaces live on with the host's
 * descriptors, it does not. */
static _Noreturn void
hand_template_over (int socket)
{
  uint8_t type = PRISM_LAUNCH_TEMPLATE;
  char byte;
  int fds[2];

  if (recv (socket, &byte, 1, 0) == 1)
    {
      fds[0] = open_namespace ("user");
      fds[1] = open_namespace ("mnt");
      launch_send_fds (PRISM_LAUNCH_KEEPER_FD, &type, 1, fds, 2);
    }
  end (0, 0);
}

static _Noreturn void
keep (int socket, const sigset_t *open_mask)
{
  struct pollfd fds[3] = { { socket, POLLIN, 0 } };
  struct timespec wait;
  int status = 0;

  launch_host_begin (&plan, socket);

  for (;;)
    {
      if (inner_has_ended (&status))
        end (status, 0);
      if (told_to_stop)
        end (0, 0);
      launch_host_watch (&fds[1], &wait);
      if (ppoll (fds, 3, &wait, open_mask) < 0)
        continue;
      if (!launch_host_step (&fds[1]))
        end (0, 0);
      /* It asks once at most; what becomes of it could ask for ever. */
      if (fds[0].revents != 0)
        {
          answer_inner (socket);
          fds[0].fd = -1;
        }
    }
}

void
launch_watch_signals (sigset_t *open_mask)
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

void
launch_be_hand (const struct launch_plan *of, pid_t whose)
{
  struct pollfd fds[2];
  struct timespec wait;
  sigset_t open_mask;
  bool goes_on = true;

  launch_watch_signals (&open_mask);
  launch_host_begin (of, -1);
  while (goes_on && !told_to_stop)
    {
      launch_host_watch (fds, &wait);
      if (ppoll (fds, 2, &wait, &open_mask) >= 0)
        goes_on = launch_host_step (fds);
    }
  launch_host_forget ();
  if (!goes_on)
    kill (whose, SIGKILL);
  _exit (remove_freezer () == 0 ? 0 : 1);
}

/* As root with none of root's groups; what it has itself is what the sandbox must not. */
static void
check_rights (void)
{
  if (((plan.flags & PRISM_LAUNCH_PRIVILEGED) != 0) != (geteuid () == 0))
    launch_fail (PRISM_LAUNCH_STAGE_PLAN, EPERM, "a plan for root, and only that, is carried out by root");
  if ((plan.flags & PRISM_LAUNCH_PRIVILEGED) != 0 && setgroups (0, NULL) < 0)
    launch_fail (PRISM_LAUNCH_STAGE_KEEPER, errno, "setgroups");
  launch_probe_remember ();
}

void
launch_keep (size_t size, const struct launch_ready_made *ready_made)
{
  sigset_t open_mask;
  int socket;

  is_keeper = true;
  made = *ready_made;
  launch_current_plan (size);
  check_rights ();
  if ((plan.flags & PRISM_LAUNCH_USE_TEMPLATE) != 0 && made.mntns < 0)
    launch_fail (PRISM_LAUNCH_STAGE_PLAN, EINVAL, "there is no template to begin in");
  socket = launch_start_inner (&plan, &made, &inner);
  close (PRISM_LAUNCH_CONTROL_FD);
  close_made ();
  launch_watch_signals (&open_mask);
  launch_release_inner (socket, 0, &groups);
  launch_shown_forget ();
  if (plan.flags & PRISM_LAUNCH_MAKE_TEMPLATE)
    hand_template_over (socket);
  keep (socket, &open_mask);
}

/* --- before the plan ---------------------------------------------------------------- */

/* What cannot be begun without the plan is not in an early one. */
static bool
is_early (void)
{
  const uint32_t never =
      PRISM_LAUNCH_HOST_TREE | PRISM_LAUNCH_MAKE_TEMPLATE | PRISM_LAUNCH_USE_TEMPLATE | PRISM_LAUNCH_DETACHED;

  return (early.flags & (never | PRISM_LAUNCH_OFF_MASK)) == 0 && early.n_shown == 0;
}

/* The inner half begins at once, also where there is no CPU but this one: what the keeper
 * does meanwhile is needed later. */
static int
begin_early (const uint8_t *bytes, size_t size)
{
  int socket;

  memcpy (early_bytes, bytes, size);
  if (!launch_plan_parse (&early, early_bytes, size) || !is_early ())
    launch_fail (PRISM_LAUNCH_STAGE_PLAN, EINVAL, "not an early launch plan");
  plan = early;
  check_rights ();
  made = (struct launch_ready_made)LAUNCH_NOTHING_MADE;
  made.ahead = true;
  socket = launch_start_inner (&plan, &made, &inner);
  sched_yield ();
  return socket;
}

static void
undo_early (int socket)
{
  close (socket);
  kill (inner, SIGKILL);
  while (waitpid (inner, NULL, 0) < 0 && errno == EINTR)
    ;
  inner = -1;
  segments_forgotten = false;
  launch_groups_remove (&groups, true);
}

/* Does not return where the early plan was the beginning of the plan. */
static void
go_on (int socket, size_t size)
{
  sigset_t open_mask;

  /* A rest that fits no early plan is no plan of its own either, and is refused as such. */
  if (size > sizeof early_bytes || !launch_plan_parse (&plan, launch_plan_bytes, size)
      || !launch_plan_goes_on (&early, &plan))
    {
      undo_early (socket);
      return;
    }
  launch_watch_signals (&open_mask);
  launch_release_inner (socket, size, &groups);
  close (PRISM_LAUNCH_CONTROL_FD);
  launch_shown_forget ();
  keep (socket, &open_mask);
}

static bool
more_comes (int ms)
{
  struct pollfd fd = { PRISM_LAUNCH_PLAN_FD, POLLIN, 0 };
  int n;

  do
    n = poll (&fd, 1, ms);
  while (n < 0 && errno == EINTR);
  return n != 0;
}

/* What the plan is likely to want of the keeper is made while there is time: most often
 * the host's current folder is the workspace. Where no plan comes all ends. */
static void
wait_for_plan (const struct stat *folder)
{
  if (more_comes (0))
    return;
  if (plan.flags & PRISM_LAUNCH_PRIVILEGED)
    launch_shown_expect (&plan, folder->st_uid, folder->st_gid);
  forget_orphaned_segments_once ();
  launch_groups_begin (&early, &groups);
  if (!more_comes (PRISM_LAUNCH_EARLY_MS))
    launch_fail (PRISM_LAUNCH_STAGE_PLAN, ETIMEDOUT, "an early plan was followed by none");
}

/* How much of the plan there is then; the socket to the inner half, or -1. */
static size_t
read_early (int *socket, const struct stat *folder)
{
  size_t size = read_until (PRISM_LAUNCH_EARLY_HEAD, 0), early_size;
  struct prism_wire_reader r = prism_wire_read_from (launch_plan_bytes, size);

  *socket = -1;
  if (prism_wire_u32 (&r) != PRISM_LAUNCH_EARLY)
    return size;
  early_size = prism_wire_u32 (&r);
  if (r.bad || early_size > sizeof early_bytes
      || (size = read_until (PRISM_LAUNCH_EARLY_HEAD + early_size, size)) < PRISM_LAUNCH_EARLY_HEAD + early_size)
    launch_fail (PRISM_LAUNCH_STAGE_PLAN, EINVAL, "the plan breaks off");
  *socket = begin_early (launch_plan_bytes + PRISM_LAUNCH_EARLY_HEAD, early_size);
  size -= PRISM_LAUNCH_EARLY_HEAD + early_size;
  memmove (launch_plan_bytes, launch_plan_bytes + PRISM_LAUNCH_EARLY_HEAD + early_size, size);
  if (size == 0)
    wait_for_plan (folder);
  return size;
}

/* A detached sandbox is nobody's child: who started it need not live to reap its keeper,
 * and is not left with one that nobody reaps. */
static void
leave_parent (void)
{
  pid_t pid = fork ();

  if (pid < 0)
    launch_fail (PRISM_LAUNCH_STAGE_KEEPER, errno, "fork");
  if (pid > 0)
    _exit (0);
}

int
launch_main (int argc, char **argv)
{
  const struct launch_ready_made none = LAUNCH_NOTHING_MADE;
  struct stat folder = { 0 };
  size_t size;
  int socket;

  is_keeper = true;
  (void)stat (".", &folder);
  detach ();
  if (argc > 2 && strcmp (argv[2], "many") == 0)
    launch_serve ();
  launch_net_stays_here = argc > 2 && strcmp (argv[2], "beside") == 0;
  launch_probe_remember ();
  size = read_early (&socket, &folder);
  size = read_until (sizeof launch_plan_bytes, size);
  close (PRISM_LAUNCH_PLAN_FD);
  if (socket >= 0)
    go_on (socket, size);
  if (launch_plan_parse (&plan, launch_plan_bytes, size) && (plan.flags & PRISM_LAUNCH_DETACHED) != 0)
    leave_parent ();
  launch_keep (size, &none);
}
