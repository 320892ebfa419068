/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The sandboxes of the launcher that stays. It is the keeper of each that begins in its
 * template: the inner half is its child, the socket from the host is watched for its end,
 * and when all is reaped the control groups go and the host is told. Nothing here waits for
 * one of them while the others could: what takes its time (a copied workspace, holding a
 * sandbox still) is done by a process of its own. They all end with the launcher, by the
 * kernel's hand; what cannot is removed by the host then, as after any keeper's death.
 *
 * One more may be begun ahead, with what the last plan began with. */
#include "launch-private.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
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

#define MOST_TRIES 2000 /* of a millisecond: for the kernel to see that a group is empty */

struct kept
{
  pid_t inner; /* > 0 while it is to be reaped */
  int socket;  /* to the inner half */
  int host;    /* -1 in one that was begun ahead */
  int net;     /* lent by the pool, or -1 */
  bool killed, may_ask;
  int status;
  unsigned tries;
  struct launch_groups groups;
  pid_t hand;    /* > 0: a process that listens to the host, and does what takes its time */
  char *freezer; /* the group that it was asked to make */
};

static struct kept all[LAUNCH_MAX_KEPT];
static unsigned n_all;
static bool can_join; /* the inner halves their groups, on this kernel */
static jmp_buf failed;

/* The one that is begun ahead, and the plan that it begins with. */
static struct
{
  struct kept kept;
  int place;   /* launch-place.c */
  size_t size; /* 0: nothing to begin with */
  struct launch_plan plan;
} ahead = { .kept = { .inner = -1, .socket = -1, .host = -1, .net = -1, .hand = -1 } };
static uint8_t ahead_bytes[PRISM_LAUNCH_MAX_REQUEST];

static const struct kept nothing = { .inner = -1, .socket = -1, .host = -1, .net = -1, .hand = -1 };

static int
raise_fd (int fd)
{
  return fcntl (fd, F_DUPFD_CLOEXEC, LAUNCH_HIGH_FD);
}

unsigned
launch_kept_count (void)
{
  return n_all;
}

/* --- the end of one ------------------------------------------------------------------- */

static void
end (struct kept *self)
{
  if (self->inner > 0 && !self->killed)
    kill (self->inner, SIGKILL);
  self->killed = true;
}

static void
release (struct kept *self)
{
  if (self->socket >= 0)
    close (self->socket);
  if (self->host >= 0)
    close (self->host);
  launch_groups_forget (&self->groups);
  free (self->freezer);
  launch_pool_give_back (self->net);
  *self = nothing;
}

/* Everything in it is dead. False: not yet, the kernel needs a moment. */
static bool
finish (struct kept *self)
{
  uint32_t left;

  /* Its maker removed it, if it was not killed itself. */
  if (self->freezer != NULL && !launch_remove_folder (self->freezer, false) && errno == EBUSY
      && self->tries++ < MOST_TRIES)
    return false;
  launch_spares_give (&self->groups);
  left = launch_groups_remove (&self->groups, false);
  if (left > 0 && self->tries++ < MOST_TRIES)
    return false;
  launch_report_to (self->host);
  launch_ended (self->status, left);
  launch_report_to (PRISM_LAUNCH_KEEPER_FD);
  release (self);
  return true;
}

static bool
is_to_finish (const struct kept *self)
{
  return self->inner <= 0 && self->hand <= 0;
}

bool
launch_kept_finish (void)
{
  bool busy = false;

  for (unsigned i = n_all; i-- > 0;)
    if (!is_to_finish (&all[i]))
      continue;
    else if (!finish (&all[i]))
      busy = true;
    else
      {
        all[i] = all[--n_all];
        all[n_all] = nothing;
      }
  return busy;
}

static void
hand_ended (struct kept *self)
{
  self->hand = -1;
  /* Frozen it would not even die. */
  if (self->freezer != NULL)
    {
      int dir = open (self->freezer, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
      if (dir >= 0 && !launch_write_file (dir, "freezer.state", "THAWED"))
        launch_write_file (dir, "cgroup.freeze", "0");
      if (dir >= 0)
        close (dir);
    }
}

void
launch_kept_reap (pid_t pid, int status)
{
  if (pid == ahead.kept.inner)
    {
      ahead.kept.inner = -1;
      launch_kept_forget_ahead ();
    }
  for (unsigned i = 0; i < n_all; i++)
    if (all[i].inner == pid)
      {
        all[i].inner = -1;
        all[i].status = status;
        if (all[i].hand > 0)
          kill (all[i].hand, SIGTERM);
      }
    else if (all[i].hand == pid)
      hand_ended (&all[i]);
}

void
launch_kept_end_all (void)
{
  for (unsigned i = 0; i < n_all; i++)
    {
      if (all[i].hand > 0)
        kill (all[i].hand, SIGTERM);
      end (&all[i]);
    }
}

/* --- what a host asks ------------------------------------------------------------------- */

/* Its descriptor and its groups are all that this process has of the sandbox. */
static _Noreturn void
be_hand (const struct kept *self)
{
  static struct launch_plan plan;
  pid_t inner = self->inner;

  plan.n_groups = self->groups.n;
  for (uint32_t i = 0; i < plan.n_groups; i++)
    plan.groups[i].folder = self->groups.made[i]->folder;
  dup2 (self->host, PRISM_LAUNCH_KEEPER_FD);
  syscall (SYS_close_range, PRISM_LAUNCH_KEEPER_FD + 1, ~0u, 0);
  launch_place_anywhere ();
  launch_keep_no_more ();
  launch_be_hand (&plan, inner);
}

static void
give_hand (struct kept *self)
{
  uint8_t bytes[PRISM_LAUNCH_MAX_MESSAGE];
  ssize_t size = recv (self->host, bytes, sizeof bytes, MSG_PEEK | MSG_DONTWAIT);
  struct prism_wire_reader r = prism_wire_read_from (bytes, size > 0 ? (size_t)size : 0);

  if (prism_wire_u8 (&r) == PRISM_LAUNCH_FREEZE && self->freezer == NULL)
    {
      const char *path = prism_wire_str (&r, PRISM_WIRE_MAX_PATH);
      self->freezer = prism_wire_done (&r) ? strdup (path) : NULL;
      for (uint32_t i = 0; self->freezer != NULL && i < self->groups.n; i++)
        if (strcmp (self->freezer, self->groups.made[i]->folder) == 0)
          {
            free (self->freezer);
            self->freezer = NULL;
          }
    }
  self->hand = (pid_t)syscall (SYS_clone, SIGCHLD, 0, 0, 0, 0);
  if (self->hand == 0)
    be_hand (self);
  if (self->hand < 0)
    end (self);
}

static void
hear_host (struct kept *self)
{
  uint8_t type;
  ssize_t n = recv (self->host, &type, 1, MSG_PEEK | MSG_DONTWAIT);

  if (n < 0 && (errno == EAGAIN || errno == EINTR))
    return;
  if (n <= 0 || type == PRISM_LAUNCH_END)
    end (self);
  else
    give_hand (self);
}

/* The inner half's only question: to be moved into its groups from outside. One that could
 * do so itself says that once, and the next are not listened to. */
static void
hear_inner (struct kept *self)
{
  char byte;
  ssize_t n = recv (self->socket, &byte, 1, MSG_DONTWAIT);

  if (n < 0 && (errno == EAGAIN || errno == EINTR))
    return;
  can_join = can_join || (n == 1 && byte == 'y');
  if (n == 1 && byte != 'y' && launch_groups_admit (&self->groups, self->inner))
    (void)!send (self->socket, &byte, 1, MSG_NOSIGNAL);
  /* It asks once at most; what becomes of it could ask for ever. */
  close (self->socket);
  self->socket = -1;
}

unsigned
launch_kept_watch (struct pollfd *fds)
{
  for (unsigned i = 0; i < n_all; i++)
    {
      bool listens = all[i].hand <= 0 && !all[i].killed && all[i].inner > 0;
      fds[2 * i] = (struct pollfd){ listens ? all[i].host : -1, POLLIN | POLLRDHUP, 0 };
      fds[2 * i + 1] = (struct pollfd){ all[i].inner > 0 ? all[i].socket : -1, POLLIN, 0 };
    }
  return 2 * n_all;
}

void
launch_kept_hear (const struct pollfd *fds)
{
  for (unsigned i = 0; i < n_all; i++)
    {
      if (fds[2 * i].revents != 0)
        hear_host (&all[i]);
      if (fds[2 * i + 1].revents != 0)
        hear_inner (&all[i]);
    }
}

/* --- the beginning ----------------------------------------------------------------------- */

void
launch_kept_abandon (void)
{
  longjmp (failed, 1);
}

/* The plan lies in launch_plan_bytes. */
static void
begin (struct kept *self, const struct launch_ready_made *template, size_t size, bool is_ahead)
{
  struct launch_ready_made made = *template;

  made.netns = self->net;
  made.ahead = is_ahead;
  made.by_porter = true;
  made.may_ask = self->may_ask = !can_join;
  made.place = launch_place ();
  self->socket = launch_lift (launch_start_inner (launch_current_plan (size), &made, &self->inner));
}

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
remember (const uint8_t *bytes, size_t size)
{
  memcpy (ahead_bytes, bytes, size);
  ahead.size = launch_plan_parse (&ahead.plan, ahead_bytes, size) && beginning_of (&ahead.plan) > 0 ? size : 0;
}

void
launch_kept_forget_ahead (void)
{
  /* Its socket's end is its own. Who has not begun to wait yet is killed. */
  end (&ahead.kept);
  if (ahead.kept.socket >= 0)
    close (ahead.kept.socket);
  if (ahead.kept.inner > 0)
    launch_pool_let_go (ahead.kept.net);
  else
    launch_pool_give_back (ahead.kept.net);
  ahead.kept = nothing;
}

/* What was opened on the way lies below, what is kept above. */
static void
give_up (struct kept *self)
{
  launch_pool_settle ();
  launch_groups_lift (&self->groups);
  syscall (SYS_close_range, PRISM_LAUNCH_KEEPER_FD + 1, LAUNCH_HIGH_FD - 1, 0);
  end (self);
}

bool
launch_kept_prepare (const struct launch_ready_made *template, bool now)
{
  if (ahead.kept.inner > 0 || ahead.size == 0 || template->userns < 0)
    return false;
  if (!now || (ahead.kept.net = launch_pool_take_ahead ()) < 0)
    return true;
  if (setjmp (failed) == 0)
    {
      memcpy (launch_plan_bytes, ahead_bytes, ahead.size);
      ahead.place = launch_place ();
      begin (&ahead.kept, template, ahead.size, true);
    }
  else
    {
      give_up (&ahead.kept);
      launch_kept_forget_ahead ();
      ahead.size = 0;
    }
  return false;
}

/* Those that this file is for. */
static bool
is_simple (const struct launch_plan *plan)
{
  const uint32_t must = PRISM_LAUNCH_PRIVILEGED | PRISM_LAUNCH_USE_TEMPLATE, may = must | PRISM_LAUNCH_FRAMED;
  struct prism_wire_reader at = plan->steps;
  struct launch_step step;

  for (uint32_t i = 0; i < plan->n_steps && launch_plan_next (&at, &step); i++)
    if (step.flags & PRISM_LAUNCH_COPY)
      return false;
  return (plan->flags & must) == must && (plan->flags & ~may) == 0;
}

static void
start (struct kept *self, const struct launch_ready_made *template, const struct launch_plan *plan, size_t size)
{
  struct launch_origin origin;
  size_t order = 0;

  launch_pool_describe (plan, &origin);
  launch_pool_asked_for (&origin);
  if (ahead.kept.inner > 0 && begins_alike (&ahead.plan, plan) && launch_pool_can_serve (ahead.kept.net, &origin))
    {
      self->inner = ahead.kept.inner;
      self->socket = ahead.kept.socket;
      self->net = ahead.kept.net;
      self->may_ask = ahead.kept.may_ask;
      launch_place_begun (self->inner, ahead.place);
      ahead.kept = nothing;
      order = size;
    }
  else
    {
      launch_kept_forget_ahead ();
      remember (launch_plan_bytes, size);
      self->net = launch_pool_take (&origin);
      begin (self, template, size, false);
    }
  launch_release_inner (self->socket, order, &self->groups);
  if (!self->may_ask || self->groups.n == 0)
    {
      close (self->socket);
      self->socket = -1;
    }
  launch_groups_lift (&self->groups);
}

bool
launch_kept_start (const struct launch_ready_made *template, const uint8_t *bytes, size_t size, int control, int keeper)
{
  static struct launch_plan plan;
  int host;

  memcpy (launch_plan_bytes, bytes, size);
  if (n_all == LAUNCH_MAX_KEPT || !launch_plan_parse (&plan, launch_plan_bytes, size) || plan.rest || !is_simple (&plan)
      || (host = raise_fd (keeper)) < 0)
    return false;
  all[n_all] = nothing;
  all[n_all].host = host;
  n_all++;
  dup2 (control, PRISM_LAUNCH_CONTROL_FD);
  dup2 (keeper, PRISM_LAUNCH_KEEPER_FD);
  if (setjmp (failed) == 0)
    start (&all[n_all - 1], template, launch_current_plan (size), size);
  else
    give_up (&all[n_all - 1]);
  /* Never closed: whoever makes a network namespace has these descriptors too, and would
   * be given the number. */
  dup2 (0, PRISM_LAUNCH_CONTROL_FD);
  dup2 (0, PRISM_LAUNCH_KEEPER_FD);
  return true;
}

/* Of a template that is gone: these serve no other. */
void
launch_kept_disown_nets (void)
{
  for (unsigned i = 0; i < n_all; i++)
    if (all[i].net >= 0)
      {
        launch_pool_let_go (all[i].net);
        all[i].net = -1;
      }
}
