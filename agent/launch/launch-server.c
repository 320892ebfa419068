/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The launcher that stays, for a host that makes one sandbox after another: it has a root
 * ready to be copied, network namespaces ready to be entered and one sandbox begun, and is
 * itself the keeper of nearly all that it starts (launch-kept.c). What is ready goes when
 * nothing happened for a while, and the launcher with it, or when the host is gone, if it
 * keeps nothing any more. As root only. It believes the host and nobody else. */
#include "launch-private.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
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
#define SETTLED_MS  5
#define PLACED_MS   20
#define TEMPLATE_MS 10000

static uint8_t template_plan[PRISM_LAUNCH_MAX_REQUEST];
static size_t template_size;
static struct launch_ready_made template = LAUNCH_NOTHING_MADE;
static sigset_t open_mask;
static int requests = -1; /* from the host; -1: there will be no more */
static bool is_one_of_several;

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

  /* Not one that may be had so high: then nothing stays, and it is one sandbox's alone. */
  if (high < 0 && errno == EINVAL)
    return fd;
  close (fd);
  return high;
}

static void
reap (void)
{
  int status;
  pid_t pid;

  while ((pid = waitpid (-1, &status, WNOHANG)) > 0)
    if (!launch_pool_reap (pid) && !launch_reap_porter (pid))
      launch_kept_reap (pid, status);
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
  syscall (SYS_close_range, at, ~0u, 0);
  launch_place_anywhere ();
  launch_shown_forget ();
  launch_keep_no_more ();
  launch_keep (size, &own);
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
  launch_kept_forget_ahead ();
  launch_kept_disown_nets ();
  launch_end_porter ();
  launch_pool_empty ();
  launch_spares_drop ();
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

/* --- requests ------------------------------------------------------------------- */

static void
handle (const struct request *request, const uint8_t *bytes)
{
  const uint8_t *plan = bytes + request->template_size;
  struct launch_ready_made made;

  if (!have_template (bytes, request->template_size, request->keeper)
      || launch_kept_start (&template, plan, request->plan_size, request->control, request->keeper))
    return;
  made = template;
  made.netns = launch_pool_take (NULL);
  fork_keeper (plan, request->plan_size, request->control, request->keeper, &made);
  launch_pool_let_go (made.netns);
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
  ssize_t size = launch_receive_fds (requests, bytes, sizeof bytes, fds, &n, flags);

  if (size <= 0)
    return size < 0 && (errno == EINTR || errno == EAGAIN) && flags == 0;
  if (n != 2)
    return true;
  request.control = fds[0];
  request.keeper = fds[1];
  r = prism_wire_read_from (bytes, (size_t)size);
  is_one_of_several = prism_wire_u8 (&r) != 0;
  launch_place_at ((int)prism_wire_u32 (&r));
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

/* From here on a request is an error for the host; one under way is taken. */
static void
take_no_more (void)
{
  if (requests < 0)
    return;
  shutdown (requests, SHUT_RD);
  while (receive (MSG_DONTWAIT))
    ;
  drop_template ();
  close_fd (&requests);
}

static void
begin (void)
{
  if (geteuid () != 0 || setgroups (0, NULL) < 0)
    _exit (1);
  requests = fcntl (PRISM_LAUNCH_KEEPER_FD, F_DUPFD_CLOEXEC, LAUNCH_HIGH_FD);
  if (requests < 0)
    _exit (1);
  dup2 (0, PRISM_LAUNCH_KEEPER_FD);
  launch_pool_init ();
  launch_probe_remember ();
  launch_limit_core ();
  launch_install_early_filter ();
  launch_watch_signals (&open_mask);
  launch_keep_many (&open_mask);
}

/* One round; how long nothing has happened. */
static int
step (int waited)
{
  static struct pollfd fds[1 + 2 * LAUNCH_MAX_KEPT];
  /* One ahead takes a moment of the CPUs, which a sandbox that has just started has more
   * need of for its command. Where one is started beside the other, the CPUs are idle between
   * the steps of both, and what is ready shortens these. */
  bool now = is_one_of_several || waited >= (launch_kept_count () > 0 ? SETTLED_MS : REFILL_MS);
  bool missing = requests >= 0 && (launch_pool_refill (template.userns) | launch_kept_prepare (&template, now));
  bool busy = launch_kept_finish ();
  int ms = busy || (missing && waited < IDLE_MS) ? REFILL_MS : launch_place () >= 0 ? PLACED_MS : IDLE_MS, n;
  const struct timespec timeout = { ms / 1000, ms % 1000 * 1000000L };

  fds[0] = (struct pollfd){ requests, POLLIN, 0 };
  n = ppoll (fds, 1 + launch_kept_watch (&fds[1]), &timeout, &open_mask);
  if (n > 0)
    launch_kept_hear (&fds[1]);
  reap ();
  launch_kept_finish ();
  if (n > 0 && fds[0].revents != 0 && !receive (0))
    take_no_more ();
  if (n == 0 && waited + ms >= PLACED_MS)
    launch_place_anywhere ();
  return n == 0 ? waited + ms : 0;
}

void
launch_serve (void)
{
  int waited = 0;

  begin ();
  for (;;)
    {
      waited = step (waited);
      if (launch_told_to_stop ())
        {
          take_no_more ();
          launch_kept_end_all ();
        }
      if (waited < IDLE_MS && requests >= 0)
        continue;
      if (launch_kept_count () == 0)
        take_no_more ();
      else
        drop_template ();
      if (launch_kept_count () > 0)
        continue;
      /* What ended after the last request was taken has left some. */
      launch_spares_drop ();
      _exit (0);
    }
}
