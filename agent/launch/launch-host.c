/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a host asks of the keeper while the sandbox lives, and how a sandbox that is
 * detached finds its next host. Every message comes from a process of the keeper's own
 * user: the first host made the socket, and of a later one the kernel says who it is. What
 * the first host deposits for later ones is a descriptor; the keeper never looks into it.
 *
 * A detached sandbox without a host goes on by itself. It ends at its wall time, and when
 * the folder in the runtime folder that leads to it is gone: then no host could come. A
 * pause ends with the host that asked for it: what nobody holds is not held still. */
#include "launch-private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LOOK_MS  5000u  /* how often the way in is looked at while nobody is connected */
#define SPEAK_MS 10000u /* that a host that connected has for saying what for */
#define NEVER    UINT64_MAX

static struct
{
  const struct launch_plan *plan;
  int agent;      /* to the inner half: connections are handed on */
  bool connected; /* PRISM_LAUNCH_KEEPER_FD is a host's */
  bool served;    /* and the agent has its connection */
  bool kept;      /* it was deposited: the end of a host is not its own */
  uint64_t until, speak_by, look_at;
  int listener, folder, deposit;
} host = {
  .agent = -1, .connected = true, .served = true, .until = NEVER, .listener = -1, .folder = -1, .deposit = -1
};

/* Of the folder; beside the rest, which is not all zero, it would lie in the program's file. */
static char way_in[PRISM_WIRE_MAX_PATH + 1];

static uint64_t
now (void)
{
  struct timespec t;

  clock_gettime (CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

void
launch_host_begin (const struct launch_plan *plan, int agent)
{
  host.plan = plan;
  host.agent = agent;
}

/* --- the way in --------------------------------------------------------------------- */

static bool
folder_is_there (void)
{
  struct stat named, itself;

  return host.folder >= 0 && fstat (host.folder, &itself) == 0 && lstat (way_in, &named) == 0
         && named.st_ino == itself.st_ino && named.st_dev == itself.st_dev;
}

/* The folder under its own name, and the socket in it. */
static bool
way_is_there (void)
{
  struct stat socket;

  return folder_is_there () && fstatat (host.folder, PRISM_LAUNCH_SOCKET, &socket, AT_SYMLINK_NOFOLLOW) == 0;
}

void
launch_host_forget (void)
{
  bool there = folder_is_there ();

  launch_thaw ();
  if (host.folder >= 0)
    unlinkat (host.folder, PRISM_LAUNCH_SOCKET, 0);
  if (there)
    rmdir (way_in);
}

static int
take_deposit (struct prism_wire_reader *r, int *fds, size_t n)
{
  uint64_t ms = prism_wire_u64 (r);
  const char *path = prism_wire_str (r, sizeof way_in - 1);

  if (!prism_wire_done (r) || n != 3 || host.kept || (host.plan->flags & PRISM_LAUNCH_DETACHED) == 0 || ms == 0
      || path[0] != '/')
    return EINVAL;
  strcpy (way_in, path);
  host.listener = fds[0];
  host.folder = fds[1];
  host.deposit = fds[2];
  host.until = ms < NEVER - now () ? now () + ms : NEVER;
  host.kept = true;
  fcntl (host.listener, F_SETFL, O_NONBLOCK);
  /* It holds what hosts deposit: secrets too. */
  prctl (PR_SET_DUMPABLE, 0, 0, 0, 0);
  for (int i = 0; i < 3; i++)
    fds[i] = -1;
  return 0;
}

static bool
is_own_user (int fd)
{
  struct ucred peer = { 0, (uid_t)-1, (gid_t)-1 };
  socklen_t size = sizeof peer;

  return getsockopt (fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid ();
}

static void
answer_on (int fd, uint8_t to, int error, uint64_t value, int passed)
{
  uint8_t bytes[16];
  struct prism_wire_writer w = prism_wire_write_to (bytes, sizeof bytes);

  prism_wire_put (&w, PRISM_LAUNCH_ANSWER, 1);
  prism_wire_put (&w, to, 1);
  prism_wire_put (&w, (uint32_t)error, 4);
  prism_wire_put (&w, value, 8);
  launch_send_fds (fd, w.start, (size_t)(w.at - w.start), &passed, passed >= 0);
}

static void
host_left (void)
{
  host.connected = host.served = false;
  host.look_at = 0;
  /* Whatever is sent to nobody goes nowhere. */
  dup2 (0, PRISM_LAUNCH_KEEPER_FD);
  if (launch_is_frozen ())
    launch_thaw ();
}

static void
take_host (void)
{
  int fd = accept4 (host.listener, NULL, NULL, SOCK_CLOEXEC);

  if (fd < 0)
    return;
  if (!is_own_user (fd))
    close (fd);
  else if (host.connected)
    {
      answer_on (fd, PRISM_LAUNCH_CALL, EBUSY, 0, -1);
      close (fd);
    }
  else
    {
      dup2 (fd, PRISM_LAUNCH_KEEPER_FD);
      close (fd);
      host.connected = true;
      host.served = false;
      host.speak_by = now () + SPEAK_MS;
      answer_on (PRISM_LAUNCH_KEEPER_FD, PRISM_LAUNCH_CALL, 0, 0, -1);
    }
}

/* The agent gets its end of the connection, the host what was deposited. */
static void
serve_host (const int *fds, size_t n)
{
  const char byte = 'h';
  uint64_t left = host.until > now () ? host.until - now () : 1;
  int error = 0;

  if (n != 1 || host.served)
    error = EINVAL;
  else if (!launch_send_fds (host.agent, &byte, 1, fds, 1))
    error = errno;
  host.served = error == 0;
  answer_on (PRISM_LAUNCH_KEEPER_FD, PRISM_LAUNCH_CONNECT, error, left, error == 0 ? host.deposit : -1);
}

/* --- what it says ---------------------------------------------------------------------- */

/* False: all is to end. */
static bool
carry_out (struct prism_wire_reader *r, int *fds, size_t n)
{
  uint8_t type = prism_wire_u8 (r);
  const char *path;
  int error;

  switch (type)
    {
    case PRISM_LAUNCH_END:
      return false;
    case PRISM_LAUNCH_DEPOSIT:
      answer_on (PRISM_LAUNCH_KEEPER_FD, type, take_deposit (r, fds, n), 0, -1);
      return true;
    case PRISM_LAUNCH_CONNECT:
      serve_host (fds, n);
      return true;
    case PRISM_LAUNCH_FREEZE:
      path = prism_wire_str (r, PRISM_WIRE_MAX_PATH);
      error = prism_wire_done (r) ? launch_freeze (host.plan, path) : EINVAL;
      answer_on (PRISM_LAUNCH_KEEPER_FD, type, error, 0, -1);
      return true;
    case PRISM_LAUNCH_THAW:
      answer_on (PRISM_LAUNCH_KEEPER_FD, type, launch_thaw (), 0, -1);
      return true;
    default:
      answer_on (PRISM_LAUNCH_KEEPER_FD, type, ENOSYS, 0, -1);
      return true;
    }
}

/* False: all is to end. */
static bool
hear_host (void)
{
  static uint8_t bytes[PRISM_LAUNCH_MAX_MESSAGE];
  struct prism_wire_reader r;
  int fds[3];
  size_t n = 3;
  ssize_t size = launch_receive_fds (PRISM_LAUNCH_KEEPER_FD, bytes, sizeof bytes, fds, &n, MSG_DONTWAIT);
  bool goes_on;

  if (size < 0 && (errno == EAGAIN || errno == EINTR))
    return true;
  if (size <= 0)
    {
      host_left ();
      return host.kept;
    }
  r = prism_wire_read_from (bytes, (size_t)size);
  goes_on = carry_out (&r, fds, n);
  for (size_t i = 0; i < n; i++)
    if (fds[i] >= 0)
      close (fds[i]);
  return goes_on;
}

/* --- the loop's questions ------------------------------------------------------------------ */

void
launch_host_watch (struct pollfd fds[2], struct timespec *wait)
{
  uint64_t at = now (), next = host.until;

  fds[0] = (struct pollfd){ host.connected ? PRISM_LAUNCH_KEEPER_FD : -1, POLLIN | POLLRDHUP, 0 };
  fds[1] = (struct pollfd){ host.listener, POLLIN, 0 };
  if (host.kept && !host.connected)
    next = host.look_at < next ? host.look_at : next;
  if (host.connected && !host.served)
    next = host.speak_by < next ? host.speak_by : next;
  next = next == NEVER ? 3600 * 1000 : next > at ? next - at : 0;
  *wait = (struct timespec){ (time_t)(next / 1000), (long)(next % 1000) * 1000000 };
}

bool
launch_host_step (const struct pollfd fds[2])
{
  if (fds[0].revents != 0 && !hear_host ())
    return false;
  if (host.kept && fds[1].revents != 0)
    take_host ();
  if (!host.kept)
    return true;
  if (host.connected && !host.served && now () >= host.speak_by)
    host_left ();
  if (!host.connected && now () >= host.look_at)
    {
      if (!way_is_there ())
        return false;
      host.look_at = now () + LOOK_MS;
    }
  return now () < host.until;
}
