/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Network namespaces of the launcher that stays. To make one and to take it down costs
 * more than all the rest of a sandbox; so some are made ahead, and one that nothing was
 * done in serves again: when its sandbox is gone, all that the kernel shows of it has to
 * read as on the day that it was made. That is: not one socket is left in it, of any
 * kind, not one connection or fragment waits for its end, no flow label is taken, and no
 * counter of IP or of what is above it moved, so that not one packet was sent in it, and
 * none was refused for want of a route. (The counters in netstat refine these.)
 * Nothing else of a namespace can be changed by those inside, who have no capability.
 * What fails that test, for whatever reason, has served one sandbox and goes.
 *
 * Those inside are all dead, but a file of its /proc/net that one of them had open shows the
 * namespace to whoever was handed it, and no counter tells. To hand it on takes somebody to
 * meet, which is in a folder of the host's that both are shown: so one that has served shows
 * whoever is in it next to those alone who share that one's folders as well, and serves only
 * where the same folders are shown. */
#include "launch-private.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define AHEAD        3  /* that many are made before they are wanted */
#define ROOM         16 /* that many can come back */
#define STATE        16384
#define NONE_LIKE_IT UINT32_MAX

enum
{
  SOCKETS,
  COUNTERS,
  COUNTERS_6,
  LABELS,
  N_FILES
};

/* What tells of one is opened once, and read again each time that it comes back. */
struct net
{
  int fd, files[N_FILES];
  bool watched; /* it has them; else it serves once */
  bool lent;
  struct launch_origin origin; /* of those that it served; of no folder: it is new */
};

static struct launch_net making;
static struct net nets[ROOM + LAUNCH_MAX_KEPT];
static int n_nets, n_watched;
static int home = -1; /* the launcher's own */
static char as_new[STATE];
static size_t as_new_size;
/* Of the last one that was asked for, and whether the one before was the same. */
static struct launch_origin last;
static bool is_steady;

void
launch_pool_init (void)
{
  home = launch_lift (open ("/proc/self/ns/net", O_RDONLY | O_CLOEXEC));
}

/* --- what it looks like --------------------------------------------------------- */

/* Whoever joined a group and left it is reported some seconds later by the newer versions
 * of IGMP and MLD, by packets that the next sandbox would see counted. By the first versions
 * nothing is sent any more once the group was left. */
static bool
leave_groups_at_once (void)
{
  return launch_write_file (AT_FDCWD, "/proc/sys/net/ipv4/conf/lo/force_igmp_version", "1")
         && (launch_write_file (AT_FDCWD, "/proc/sys/net/ipv6/conf/lo/force_mld_version", "1") || errno == ENOENT);
}

static bool
open_files (struct net *net)
{
  bool good;

  static const char *const paths[] = {
    [SOCKETS] = "/proc/self/net/sockstat",
    [COUNTERS] = "/proc/self/net/snmp",
    [COUNTERS_6] = "/proc/self/net/snmp6",
    [LABELS] = "/proc/self/net/ip6_flowlabel",
  };

  if (home < 0 || n_watched == ROOM || setns (net->fd, CLONE_NEWNET) < 0)
    return false;
  good = leave_groups_at_once ();
  for (size_t i = 0; good && i < N_FILES; i++)
    {
      int fd = open (paths[i], O_RDONLY | O_CLOEXEC);
      /* One that is not there, without IPv6, is the same for all. */
      net->files[i] = fd >= 0 ? launch_lift (fd) : -1;
    }
  if (setns (home, CLONE_NEWNET) < 0)
    _exit (1); /* nothing may go on from a sandbox's namespace */
  n_watched += good;
  return good;
}

static size_t
read_all (int fd, char *text, size_t size)
{
  size_t used = 0;
  ssize_t n = 1;

  while (fd >= 0 && n > 0 && used < size)
    {
      n = pread (fd, text + used, size - used, (off_t)used);
      used += n > 0 ? (size_t)n : 0;
    }
  /* What does not fit is not comparable. */
  return n < 0 || used == size ? size : used;
}

static unsigned long
number_after (const char *text, const char *line, const char *word)
{
  const char *at = strstr (text, line), *end = at != NULL ? strchr (at, '\n') : NULL;

  at = at != NULL ? strstr (at, word) : NULL;
  return at != NULL && end != NULL && at < end ? strtoul (at + strlen (word), NULL, 10) : 0;
}

/* Of this file the rest is the machine's. */
static size_t
read_sockets (int fd, char *text, size_t size)
{
  char file[1024];
  size_t n = read_all (fd, file, sizeof file - 1);
  int used;

  if (n == 0 || n == sizeof file - 1)
    return size;
  file[n] = 0;
  used = snprintf (text, size, "%lu %lu %lu\n", number_after (file, "sockets:", "used "),
                   number_after (file, "TCP:", "tw "), number_after (file, "FRAG:", "inuse "));
  return used < 0 ? size : (size_t)used;
}

/* Its size; 0 where it cannot be told. */
static size_t
read_state (const struct net *net, char *text, size_t size)
{
  size_t used = read_sockets (net->files[SOCKETS], text, size);

  for (size_t i = COUNTERS; i < N_FILES && used < size; i++)
    used += read_all (net->files[i], text + used, size - used);
  return used < size ? used : 0;
}

static bool
is_as_new (const struct net *net)
{
  static char state[STATE];

  return net->watched && as_new_size > 0 && read_state (net, state, sizeof state) == as_new_size
         && memcmp (state, as_new, as_new_size) == 0;
}

/* --- for whom ------------------------------------------------------------------- */

void
launch_pool_describe (const struct launch_plan *plan, struct launch_origin *origin)
{
  struct prism_wire_reader at = plan->steps;
  struct launch_step step;
  struct stat info;

  origin->n = 0;
  for (uint32_t i = 0; i < plan->n_steps && launch_plan_next (&at, &step); i++)
    {
      if (step.kind != PRISM_LAUNCH_BIND || (step.flags & (PRISM_LAUNCH_COPY | PRISM_LAUNCH_INSIDE)) != 0)
        continue;
      /* Where it cannot be looked at the start is about to fail too. */
      if (origin->n == PRISM_LAUNCH_MAX_SHOWN || stat (step.text, &info) < 0)
        {
          origin->n = NONE_LIKE_IT;
          return;
        }
      origin->folders[origin->n].device = info.st_dev;
      origin->folders[origin->n++].inode = info.st_ino;
    }
}

static bool
is_same (const struct launch_origin *a, const struct launch_origin *b)
{
  if (a->n != b->n || a->n == NONE_LIKE_IT)
    return false;
  for (uint32_t i = 0; i < a->n; i++)
    if (a->folders[i].device != b->folders[i].device || a->folders[i].inode != b->folders[i].inode)
      return false;
  return true;
}

static bool
suits (const struct net *net, const struct launch_origin *origin)
{
  return net->origin.n == 0 || (origin != NULL && is_same (&net->origin, origin));
}

/* What is kept is for one like the last, if two were alike; else for any. */
static const struct launch_origin *
expected (void)
{
  return is_steady ? &last : NULL;
}

/* --- the pool ------------------------------------------------------------------- */

static struct net *
find (int fd)
{
  for (int i = 0; fd >= 0 && i < n_nets; i++)
    if (nets[i].fd == fd)
      return &nets[i];
  return NULL;
}

static void
drop (struct net *net)
{
  for (size_t i = 0; net->watched && i < N_FILES; i++)
    if (net->files[i] >= 0)
      close (net->files[i]);
  close (net->fd);
  n_watched -= net->watched;
  *net = nets[--n_nets];
}

static int
count_ready (void)
{
  int n = 0;

  for (int i = 0; i < n_nets; i++)
    n += !nets[i].lent && suits (&nets[i], expected ());
  return n;
}

static void
take_over (int fd)
{
  struct net net = { .fd = fd >= 0 ? launch_lift (fd) : -1 };

  if (net.fd < 0)
    return;
  net.watched = open_files (&net);
  if (net.watched && as_new_size == 0)
    as_new_size = read_state (&net, as_new, sizeof as_new);
  nets[n_nets++] = net;
}

void
launch_pool_settle (void)
{
  if (making.helper > 0)
    take_over (launch_net_finish (&making));
}

void
launch_pool_empty (void)
{
  launch_pool_settle ();
  while (n_nets > 0)
    drop (&nets[n_nets - 1]);
}

/* One that served such already, or else a new one. */
static int
take (const struct launch_origin *origin)
{
  struct net *found = NULL;

  for (int i = 0; i < n_nets; i++)
    if (!nets[i].lent && suits (&nets[i], origin) && (found == NULL || found->origin.n == 0))
      found = &nets[i];
  if (found != NULL)
    found->lent = true;
  return found != NULL ? found->fd : -1;
}

int
launch_pool_take (const struct launch_origin *origin)
{
  int fd = take (origin);

  if (fd >= 0 && origin != NULL)
    find (fd)->origin = *origin;
  return fd;
}

int
launch_pool_take_ahead (void)
{
  return take (expected ());
}

bool
launch_pool_can_serve (int fd, const struct launch_origin *origin)
{
  struct net *net = find (fd);

  if (net == NULL || !suits (net, origin))
    return false;
  net->origin = *origin;
  return true;
}

void
launch_pool_asked_for (const struct launch_origin *origin)
{
  is_steady = is_same (origin, &last);
  if (!is_steady)
    last = *origin;
}

/* One that was kept for others than those who are expected. */
static void
make_room (void)
{
  for (int i = 0; i < n_nets; i++)
    if (!nets[i].lent && !suits (&nets[i], expected ()))
      {
        drop (&nets[i]);
        return;
      }
}

bool
launch_pool_refill (int userns)
{
  if (making.helper > 0)
    return true;
  if (userns < 0 || count_ready () >= AHEAD)
    return false;
  if (n_watched == ROOM || n_nets == sizeof nets / sizeof *nets)
    make_room ();
  if (n_nets == sizeof nets / sizeof *nets)
    return false;
  making.userns = userns;
  making.up = true;
  launch_net_begin (&making);
  return true;
}

bool
launch_pool_reap (pid_t pid)
{
  int fd;

  if (making.helper != pid)
    return false;
  making.helper = -1;
  fd = making.fd;
  making.fd = -1;
  take_over (fd);
  return true;
}

void
launch_pool_give_back (int fd)
{
  struct net *net = find (fd);

  if (net != NULL && suits (net, expected ()) && is_as_new (net))
    net->lent = false;
  else if (net != NULL)
    drop (net);
}

void
launch_pool_let_go (int fd)
{
  struct net *net = find (fd);

  if (net != NULL)
    drop (net);
}
