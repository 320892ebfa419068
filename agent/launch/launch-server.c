/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The launcher that stays, for a host that makes one sandbox after another: it has a
 * root ready to be copied and network namespaces ready to be entered, and forks a keeper for each request. The keepers
 * do not need it any more; nothing does: it ends when nothing was asked for a while, or when the host is gone. As root
 * only. It believes the host and nobody else. */
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

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

#define IDLE_MS     1000
#define REFILL_MS   1
#define TEMPLATE_MS 10000
#define MAX_LENT    64

static uint8_t template_plan[PRISM_LAUNCH_MAX_REQUEST];
static size_t template_size;
static struct launch_ready_made template = LAUNCH_NOTHING_MADE;
static sigset_t open_mask;

/* A keeper and an inner half that have begun with what the last plan began with. */
static struct
{
  pid_t pid;
  int feed;
  size_t size;
} spare = { -1, -1, 0 };
static uint8_t spare_plan[PRISM_LAUNCH_MAX_REQUEST];

/* Network namespaces that are in use, and by which keeper. It ends when all is gone. */
static struct
{
  pid_t keeper;
  int net;
} lent[MAX_LENT];
static int n_lent;

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

int
launch_lift (int fd)
{
  int high = fcntl (fd, F_DUPFD_CLOEXEC, LAUNCH_HIGH_FD);

  close (fd);
  return high;
}

static void
forget_spare (void)
{
  close_fd (&spare.feed);
  spare.pid = -1;
}

static void
take_back (pid_t keeper)
{
  for (int i = 0; i < n_lent; i++)
    if (lent[i].keeper == keeper)
      {
        launch_pool_give_back (lent[i].net);
        lent[i] = lent[--n_lent];
        return;
      }
}

static void
reap (void)
{
  pid_t pid;

  while ((pid = waitpid (-1, NULL, WNOHANG)) > 0)
    {
      if (launch_pool_reap (pid))
        continue;
      if (spare.pid == pid)
        forget_spare ();
      take_back (pid);
    }
}

/* --- keepers ------------------------------------------------------------------ */

/* All that the launcher has is above; of that a keeper has only what is its own. */
static int
settle (int fd, int at)
{
  return fd < 0 ? -1 : dup2 (fd, at);
}

static void
be_keeper (const uint8_t *plan, size_t size, int control, int keeper, const struct launch_ready_made *made)
{
  struct launch_ready_made own = *made;
  int at = PRISM_LAUNCH_KEEPER_FD + 1;

  memmove (launch_plan_bytes, plan, size);
  settle (control, PRISM_LAUNCH_CONTROL_FD);
  settle (keeper, PRISM_LAUNCH_KEEPER_FD);
  own.userns = settle (made->userns, at++);
  own.mntns = settle (made->mntns, at++);
  own.netns = settle (made->netns, at++);
  own.feed = settle (made->feed, at++);
  at = launch_shown_settle (at);
  syscall (SYS_close_range, at, ~0u, 0);
  signal (SIGCHLD, SIG_DFL);
  sigprocmask (SIG_SETMASK, &open_mask, NULL);
  launch_keep (size, &own);
}

/* What is not lent is closed by the caller. */
static void
lend (pid_t keeper, int *net)
{
  if (keeper <= 0 || *net < 0 || n_lent == MAX_LENT)
    return;
  lent[n_lent].keeper = keeper;
  lent[n_lent++].net = *net;
  *net = -1;
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
  launch_pool_empty ();
  /* Of a template that is gone: these serve no other. */
  while (n_lent > 0)
    close (lent[--n_lent].net);
  close_fd (&template.userns);
  close_fd (&template.mntns);
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
          template.userns = launch_lift (fds[0]);
          template.mntns = launch_lift (fds[1]);
        }
      else if (bytes[0] == PRISM_LAUNCH_FAILED || bytes[0] == PRISM_LAUNCH_NOTE)
        (void)!send (asker, bytes, (size_t)size, MSG_NOSIGNAL);
    }
}

static bool
make_template (int asker)
{
  const struct launch_ready_made none = LAUNCH_NOTHING_MADE;
  int ends[2];
  pid_t pid;

  if (socketpair (AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
    return false;
  ends[0] = launch_lift (ends[0]);
  ends[1] = launch_lift (ends[1]);
  pid = fork_keeper (template_plan, template_size, -1, ends[1], &none);
  close (ends[1]);
  if (pid > 0)
    listen_to_maker (ends[0], asker);
  close (ends[0]);
  return template.userns >= 0 && template.mntns >= 0;
}

/* Nothing is sent for the one that was sent last. */
static bool
have_template (const uint8_t *plan, size_t size, int asker)
{
  if (size > 0 && (size != template_size || memcmp (template_plan, plan, size) != 0))
    {
      drop_template ();
      memcpy (template_plan, plan, size);
      template_size = size;
    }
  return template_size > 0 && (template.userns >= 0 || make_template (asker));
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

/* True while one is missing. */
static bool
prepare_spare (bool now)
{
  struct launch_ready_made made = template;
  int ends[2];

  if (spare.pid > 0 || spare.size == 0 || template.userns < 0)
    return false;
  if (!now || (made.netns = launch_pool_take ()) < 0)
    return true;
  if (socketpair (AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0)
    {
      spare.feed = launch_lift (ends[0]);
      made.feed = launch_lift (ends[1]);
      spare.pid = (pid_t)syscall (SYS_clone, SIGCHLD, 0, 0, 0, 0);
      if (spare.pid == 0)
        /* Its sockets are not there yet. Its own end of the one on which it waits must
         * not be what keeps it waiting: it is above. */
        be_keeper (spare_plan, spare.size, 0, 0, &made);
      lend (spare.pid, &made.netns);
      close (made.feed);
      if (spare.pid < 0)
        forget_spare ();
    }
  close_fd (&made.netns);
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

  if (!have_template (bytes, request->template_size, request->keeper))
    return;
  if (launch_plan_parse (&plan, use, request->plan_size))
    {
      if (use_spare (&plan, use, request))
        return;
      launch_shown_warm (&plan);
    }
  made = template;
  made.netns = launch_pool_take ();
  lend (fork_keeper (use, request->plan_size, request->control, request->keeper, &made), &made.netns);
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
  request.control = launch_lift (fds[0]);
  request.keeper = launch_lift (fds[1]);
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

  if (geteuid () != 0)
    _exit (1);
  launch_pool_init ();
  launch_probe_remember ();
  launch_limit_core ();
  launch_install_early_filter ();
  sigemptyset (&child);
  sigaddset (&child, SIGCHLD);
  sigprocmask (SIG_BLOCK, &child, &open_mask);
  sigaction (SIGCHLD, &action, NULL);
  for (;;)
    {
      /* The spare takes a moment of the CPUs that the last one still needs. */
      bool missing = launch_pool_refill (template.userns) | prepare_spare (waited > 0);
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
