/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The launcher that stays, for a host that makes one sandbox after another: it has a
 * root ready to be copied and network namespaces ready to be entered, each of those
 * for one sandbox only, and forks a keeper for each request. The keepers do not need
 * it any more; nothing does: it ends when nothing was asked for a while, or when the
 * host is gone. As root only. It believes the host and nobody else. */
#include "launch-private.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define IDLE_MS     1000
#define REFILL_MS   1
#define TEMPLATE_MS 10000
#define POOL        3
#define HIGH_FD     32 /* its own descriptors lie above those of a keeper */

static uint8_t template_plan[PRISM_LAUNCH_MAX_REQUEST];
static size_t template_size;
static struct launch_ready_made template = LAUNCH_NOTHING_MADE;
static struct launch_net pool[POOL];
static sigset_t open_mask;

/* A keeper and an inner half that have begun with what the last plan began with. */
static struct
{
  pid_t pid;
  int feed;
  size_t size;
} spare = { -1, -1, 0 };
static uint8_t spare_plan[PRISM_LAUNCH_MAX_REQUEST];

struct request
{
  size_t template_size, plan_size;
  int control, keeper;
};

static void
close_fd (int *fd)
{
  if (*fd >= 0)
    close (*fd);
  *fd = -1;
}

static int
lift (int fd)
{
  int high = fcntl (fd, F_DUPFD_CLOEXEC, HIGH_FD);

  close (fd);
  return high;
}

/* --- network namespaces ------------------------------------------------------ */

static void
empty_pool (void)
{
  for (int i = 0; i < POOL; i++)
    {
      int fd = launch_net_finish (&pool[i]);
      close_fd (&fd);
    }
}

/* One that is ready, or -1: then the sandbox makes its own. */
static int
take_from_pool (void)
{
  for (int i = 0; i < POOL; i++)
    if (pool[i].helper <= 0 && pool[i].fd >= 0)
      return launch_net_finish (&pool[i]);
  return -1;
}

/* At most one at a time is under way. True while some are missing. */
static bool
refill_pool (bool now)
{
  int empty = -1;

  if (template.userns < 0)
    return false;
  for (int i = 0; i < POOL; i++)
    if (pool[i].helper > 0)
      return true;
    else if (pool[i].fd < 0)
      empty = i;
  if (empty < 0)
    return false;
  if (now)
    {
      pool[empty].userns = template.userns;
      pool[empty].up = true;
      launch_net_begin (&pool[empty]);
    }
  return true;
}

static void
forget_spare (void)
{
  close_fd (&spare.feed);
  spare.pid = -1;
}

static void
reap (void)
{
  pid_t pid;

  while ((pid = waitpid (-1, NULL, WNOHANG)) > 0)
    for (int i = 0; i < POOL; i++)
      if (spare.pid == pid)
        forget_spare ();
      else if (pool[i].helper == pid)
        {
          pool[i].helper = -1;
          if (pool[i].fd >= 0)
            pool[i].fd = lift (pool[i].fd);
        }
}

/* --- keepers ------------------------------------------------------------------ */

static void
be_keeper (const uint8_t *plan, size_t size, int control, int keeper, const struct launch_ready_made *made)
{
  memmove (launch_plan_bytes, plan, size);
  if (spare.feed >= 0)
    close (spare.feed);
  for (int i = 0; i < POOL; i++)
    close (pool[i].fd);
  if (control >= 0)
    dup2 (control, PRISM_LAUNCH_CONTROL_FD);
  dup2 (keeper, PRISM_LAUNCH_KEEPER_FD);
  close (control);
  close (keeper);
  signal (SIGCHLD, SIG_DFL);
  sigprocmask (SIG_SETMASK, &open_mask, NULL);
  launch_keep (size, made);
}

static pid_t
fork_keeper (const uint8_t *plan, size_t size, int control, int keeper, const struct launch_ready_made *made)
{
  pid_t pid = (pid_t)syscall (SYS_clone, SIGCHLD, 0, 0, 0, 0);

  if (pid == 0)
    be_keeper (plan, size, control, keeper, made);
  return pid;
}

/* --- the template --------------------------------------------------------------- */

static void
drop_template (void)
{
  forget_spare ();
  empty_pool ();
  close_fd (&template.userns);
  close_fd (&template.mntns);
  template_size = 0;
}

/* What the maker says goes to whoever asked, but for the template itself. */
static void
listen_to_maker (int from, int asker)
{
  uint8_t bytes[PRISM_LAUNCH_MAX_MESSAGE];

  for (;;)
    {
      struct pollfd fd = { from, POLLIN, 0 };
      int fds[2];
      size_t n = 2;
      ssize_t size;
      if (poll (&fd, 1, TEMPLATE_MS) <= 0 || (size = launch_receive_fds (from, bytes, sizeof bytes, fds, &n, 0)) <= 0)
        return;
      if (bytes[0] == PRISM_LAUNCH_TEMPLATE && n == 2)
        {
          template.userns = lift (fds[0]);
          template.mntns = lift (fds[1]);
        }
      else if (bytes[0] == PRISM_LAUNCH_FAILED)
        (void)!send (asker, bytes, (size_t)size, MSG_NOSIGNAL);
    }
}

static bool
make_template (const uint8_t *plan, size_t size, int asker)
{
  const struct launch_ready_made none = LAUNCH_NOTHING_MADE;
  int ends[2];
  pid_t pid;

  drop_template ();
  if (socketpair (AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
    return false;
  ends[0] = lift (ends[0]);
  ends[1] = lift (ends[1]);
  pid = fork_keeper (plan, size, -1, ends[1], &none);
  close (ends[1]);
  if (pid > 0)
    listen_to_maker (ends[0], asker);
  close (ends[0]);
  if (template.userns < 0 || template.mntns < 0)
    return false;
  memcpy (template_plan, plan, size);
  template_size = size;
  return true;
}

/* --- one ahead -------------------------------------------------------------------- */

/* The steps that are carried out before anything of the plan's own is needed. */
static size_t
beginning_of (const struct launch_plan *plan)
{
  struct prism_wire_reader at = plan->steps;
  struct launch_step step;

  for (uint32_t i = 0; i < plan->n_steps; i++)
    {
      size_t size = (size_t)(at.at - plan->steps.at);
      launch_plan_next (&at, &step);
      if (step.flags & (PRISM_LAUNCH_BY_KEEPER | PRISM_LAUNCH_COPY))
        return size;
    }
  return 0; /* nothing of the host is shown: not one to prepare */
}

static bool
begins_alike (const struct launch_plan *a, const struct launch_plan *b)
{
  size_t size = beginning_of (a);

  return size > 0 && size == beginning_of (b) && memcmp (a->steps.at, b->steps.at, size) == 0 && a->flags == b->flags
         && a->uid == b->uid && a->gid == b->gid && strcmp (a->hostname, b->hostname) == 0;
}

static void
be_spare (const struct launch_ready_made *made)
{
  /* This launcher's own socket is not the keeper's; there is none yet. */
  dup2 (0, PRISM_LAUNCH_KEEPER_FD);
  dup2 (0, PRISM_LAUNCH_CONTROL_FD);
  /* Its own end of the socket on which it waits must not be what keeps it waiting. */
  close (spare.feed);
  memcpy (launch_plan_bytes, spare_plan, spare.size);
  for (int i = 0; i < POOL; i++)
    close (pool[i].fd);
  signal (SIGCHLD, SIG_DFL);
  sigprocmask (SIG_SETMASK, &open_mask, NULL);
  launch_keep (spare.size, made);
}

/* True while one is missing. */
static bool
prepare_spare (bool now)
{
  struct launch_ready_made made = template;
  int ends[2];

  if (spare.pid > 0 || spare.size == 0 || template.userns < 0)
    return false;
  if (!now || (made.netns = take_from_pool ()) < 0)
    return true;
  if (socketpair (AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0)
    {
      spare.feed = lift (ends[0]);
      made.feed = lift (ends[1]);
      spare.pid = (pid_t)syscall (SYS_clone, SIGCHLD, 0, 0, 0, 0);
      if (spare.pid == 0)
        be_spare (&made);
      close (made.feed);
      if (spare.pid < 0)
        forget_spare ();
    }
  close (made.netns);
  return false;
}

static bool
use_spare (const struct launch_plan *plan, const uint8_t *bytes, const struct request *request)
{
  static struct launch_plan prepared;
  const int fds[2] = { request->control, request->keeper };
  bool used = spare.pid > 0 && launch_plan_parse (&prepared, spare_plan, spare.size) && begins_alike (&prepared, plan)
              && launch_send_fds (spare.feed, bytes, request->plan_size, fds, 2);

  forget_spare ();
  memcpy (spare_plan, bytes, request->plan_size);
  spare.size = beginning_of (plan) > 0 ? request->plan_size : 0;
  return used;
}

/* --- requests ------------------------------------------------------------------- */

static void
handle (const struct request *request, const uint8_t *bytes)
{
  static struct launch_plan plan;
  const uint8_t *use = bytes + request->template_size;
  struct launch_ready_made made;

  if ((template_size != request->template_size || memcmp (template_plan, bytes, template_size) != 0)
      && !make_template (bytes, request->template_size, request->keeper))
    return;
  if (launch_plan_parse (&plan, use, request->plan_size))
    {
      if (use_spare (&plan, use, request))
        return;
      launch_shown_warm (&plan);
    }
  made = template;
  made.netns = take_from_pool ();
  fork_keeper (use, request->plan_size, request->control, request->keeper, &made);
  close_fd (&made.netns);
}

/* False at the end of the stream. */
static bool
receive (int flags)
{
  static uint8_t bytes[PRISM_LAUNCH_MAX_REQUEST];
  struct prism_wire_reader r;
  struct request request;
  int fds[2];
  size_t n = 2;
  ssize_t size = launch_receive_fds (PRISM_LAUNCH_KEEPER_FD, bytes, sizeof bytes, fds, &n, flags);

  if (size <= 0)
    return size < 0 && (errno == EINTR || errno == EAGAIN) && flags == 0;
  if (n != 2)
    return true;
  request.control = lift (fds[0]);
  request.keeper = lift (fds[1]);
  r = prism_wire_read_from (bytes, (size_t)size);
  request.template_size = prism_wire_u32 (&r);
  if (!r.bad && request.template_size <= (size_t)(r.end - r.at))
    {
      request.plan_size = (size_t)(r.end - r.at) - request.template_size;
      handle (&request, r.at);
    }
  close (request.control);
  close (request.keeper);
  return true;
}

static void
on_child (int number)
{
  (void)number;
}

void
launch_serve (void)
{
  struct sigaction action = { .sa_handler = on_child };
  struct pollfd fd = { PRISM_LAUNCH_KEEPER_FD, POLLIN, 0 };
  sigset_t child;
  int waited = 0;

  for (int i = 0; i < POOL; i++)
    pool[i] = (struct launch_net){ .userns = -1, .fd = -1, .helper = -1 };
  if (geteuid () != 0)
    _exit (1);
  launch_probe_remember ();
  sigemptyset (&child);
  sigaddset (&child, SIGCHLD);
  sigprocmask (SIG_BLOCK, &child, &open_mask);
  sigaction (SIGCHLD, &action, NULL);
  for (;;)
    {
      /* The spare takes a moment of the CPUs that the last one still needs. */
      bool missing = refill_pool (true) | prepare_spare (waited > 0);
      int ms = missing && waited < IDLE_MS ? REFILL_MS : IDLE_MS;
      const struct timespec timeout = { ms / 1000, ms % 1000 * 1000000L };
      int n = ppoll (&fd, 1, &timeout, &open_mask);
      reap ();
      if (n < 0)
        continue;
      waited = n == 0 ? waited + ms : 0;
      if (n > 0 && !receive (0))
        _exit (0);
      if (waited >= IDLE_MS)
        {
          /* From here on a request is an error for the host; one under way is taken. */
          shutdown (PRISM_LAUNCH_KEEPER_FD, SHUT_RD);
          while (receive (MSG_DONTWAIT))
            ;
          _exit (0);
        }
    }
}
