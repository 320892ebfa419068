/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The inner half: pid 1 of the sandbox. It starts with every capability over the
 * new namespaces and over nothing else, builds the root, gives all of that away,
 * and becomes the agent. The first code that is not trusted runs after that. */
#include "launch-private.h"

#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

static const struct launch_plan *the_plan;
static const struct launch_ready_made *made_with;
static int keeper_socket;

static void
enter_groups (const int *entries)
{
  bool ask = false;
  char byte = 'm';
  int error = 0;

  for (uint32_t i = 0; i < the_plan->n_groups; i++)
    {
      /* "0", this process by itself, moves without a wait for the whole machine. */
      if (write (entries[i], "0", 1) != 1)
        {
          ask = true;
          error = errno;
        }
      close (entries[i]);
    }
  if (ask && !made_with->may_ask)
    launch_fail (PRISM_LAUNCH_STAGE_GROUP, error, "cgroup.procs");
  if (!ask && made_with->may_ask && made_with->by_porter)
    (void)!send (keeper_socket, "y", 1, MSG_NOSIGNAL); /* the keeper of many need listen to no other */
  if (!ask)
    return;
  if (send (keeper_socket, &byte, 1, MSG_NOSIGNAL) != 1 || recv (keeper_socket, &byte, 1, 0) != 1)
    _exit (1);
}

static void
set_limit (int resource, rlim_t most)
{
  struct rlimit limit = { 0 };

  if (getrlimit (resource, &limit) == 0 && limit.rlim_max < most)
    most = limit.rlim_max;
  if (limit.rlim_cur == most && limit.rlim_max == most)
    return;
  limit.rlim_cur = limit.rlim_max = most;
  if (setrlimit (resource, &limit) < 0)
    launch_fail (PRISM_LAUNCH_STAGE_LIMIT, errno, "resource limit %d", resource);
}

void
launch_limit_core (void)
{
  set_limit (RLIMIT_CORE, 1);
}

void
launch_raise_open_files (void)
{
  set_limit (RLIMIT_NOFILE, RLIM_INFINITY);
}

/* What all of one user's programs have one quota of, his sandboxes among them: the kernel
 * counts it for this sandbox alone as well, and none may take it all. */
static void
halve_limit (int resource)
{
  struct rlimit limit;

  if (getrlimit (resource, &limit) == 0 && limit.rlim_max != RLIM_INFINITY)
    set_limit (resource, limit.rlim_max / 2);
}

/* Of every sandbox, whatever its plan. */
static void
set_own_limits (void)
{
  static bool done;

  if (done)
    return;
  done = true;
  launch_limit_core ();
  /* The agent's own; commands have theirs. Descriptors in flight are counted for all of
   * one user's sandboxes: one that holds as many as it may does not stop another's agent
   * from passing its own. */
  launch_raise_open_files ();
  halve_limit (RLIMIT_SIGPENDING); /* of timers too */
  halve_limit (RLIMIT_MSGQUEUE);
  halve_limit (RLIMIT_MEMLOCK);
}

static void
set_limits (void)
{
  set_own_limits ();
  /* Counted within the new user namespace, so for this sandbox alone. */
  if (the_plan->processes > 0)
    set_limit (RLIMIT_NPROC, the_plan->processes);
  if (the_plan->data_bytes > 0)
    set_limit (RLIMIT_DATA, the_plan->data_bytes);
}

static bool
forbid_user_namespaces (void)
{
  return (the_plan->flags & PRISM_LAUNCH_OFF_USERNS_LIMIT) != 0
         || launch_write_file (AT_FDCWD, "/proc/sys/user/max_user_namespaces", "0");
}

/* Each inotify instance counts for the user who made the namespace too, who has 128
 * of them for all of his programs. */
static bool
limit_watchers (void)
{
  return launch_write_file (AT_FDCWD, "/proc/sys/user/max_inotify_instances", "64") || errno == ENOENT;
}

/* Of the user namespace. @must: else what does not work yet is left for later. */
static void
set_namespace_limits (bool must)
{
  static bool forbidden, limited;

  forbidden = forbidden || forbid_user_namespaces ();
  if (!forbidden && must)
    launch_fail (PRISM_LAUNCH_STAGE_LIMIT, errno, "/proc/sys/user/max_user_namespaces");
  limited = limited || (forbidden && limit_watchers ());
  if (!limited && must)
    launch_fail (PRISM_LAUNCH_STAGE_LIMIT, errno, "/proc/sys/user/max_inotify_instances");
}

/* What does not hang on the plan, and does not stand in the way of what is left of it, while
 * that is waited for. Not below a template: the user namespace there is not yet the sandbox's. */
static void
harden_ahead (void)
{
  if ((the_plan->flags & PRISM_LAUNCH_USE_TEMPLATE) == 0)
    {
      set_own_limits ();
      set_namespace_limits (false);
      launch_empty_bounding_set ();
      launch_probe_ahead ();
    }
  launch_install_early_filter ();
}

/* One packet from the keeper: the mounts that only it could prepare. For one that was
 * begun ahead the plan is in it, and the two sockets come last; before it waits for that it
 * loads what it can of the filter. */
static const int *
shown (void)
{
  static int fds[LAUNCH_MAX_FDS];
  bool begun_ahead = made_with->ahead;
  size_t n, extra = begun_ahead ? 2 : 0;
  ssize_t size;

  if (begun_ahead)
    harden_ahead ();
  do
    {
      n = LAUNCH_MAX_FDS;
      size =
          launch_receive_fds (keeper_socket, launch_plan_bytes, begun_ahead ? sizeof launch_plan_bytes : 1, fds, &n, 0);
    }
  while (size < 0 && errno == EINTR);
  if (begun_ahead)
    launch_hurry ();
  /* Where the keeper is gone nobody is left to tell. */
  if (size < 1 || n < extra || (begun_ahead && !launch_take_order ((size_t)size, fds[n - 2], fds[n - 1])))
    _exit (1);
  if (n - extra != the_plan->n_shown)
    _exit (1);
  return fds;
}

/* Before anything that is not trusted runs, and before anything that may cost memory. */
void
launch_join_groups (void)
{
  static bool joined;
  int fds[PRISM_LAUNCH_MAX_GROUPS];
  size_t n;
  ssize_t size;
  char byte;

  if (joined || the_plan->n_groups == 0)
    return;
  joined = true;
  do
    {
      n = PRISM_LAUNCH_MAX_GROUPS;
      size = launch_receive_fds (keeper_socket, &byte, 1, fds, &n, 0);
    }
  while (size < 0 && errno == EINTR);
  if (size != 1 || n != the_plan->n_groups)
    _exit (1);
  enter_groups (fds);
}

static void
harden (void)
{
  uint32_t flags = the_plan->flags;
  int error;

  if ((flags & PRISM_LAUNCH_OFF_NNP) == 0 && prctl (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
    launch_fail (PRISM_LAUNCH_STAGE_SECCOMP, errno, "no_new_privs");
  if ((flags & PRISM_LAUNCH_OFF_LANDLOCK) != 0)
    launch_note ("landlock", "not enforced: switched off");
  else if (launch_enter_scope () != 0)
    launch_note ("landlock", "not enforced: this kernel's Landlock cannot scope signals and sockets");
  else
    launch_note ("landlock", "signals and abstract sockets scoped");
  /* With a network namespace for each command the agent goes on making them, and
   * each command loads the filter. */
  if ((flags & (PRISM_LAUNCH_OFF_SECCOMP | PRISM_LAUNCH_NETNS_COMMAND)) == 0 && (error = launch_install_filter ()) != 0)
    launch_fail (PRISM_LAUNCH_STAGE_SECCOMP, -error, "the system call filter");
  if ((flags & PRISM_LAUNCH_OFF_CAPS) == 0)
    launch_drop_capabilities (the_plan);
  /* The change of ids did this already; it is not to hang on that. */
  if (prctl (PR_SET_DUMPABLE, (flags & PRISM_LAUNCH_OFF_DUMPABLE) != 0, 0, 0, 0) < 0)
    launch_fail (PRISM_LAUNCH_STAGE_CAPS, errno, "PR_SET_DUMPABLE");
}

/* A change of ids or of capabilities takes this away. */
static void
die_with_keeper (void)
{
  if (prctl (PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
    launch_fail (PRISM_LAUNCH_STAGE_KEEPER, errno, "PR_SET_PDEATHSIG");
}

/* There until the keeper has taken hold of the namespaces, and kills. */
static _Noreturn void
show_template (void)
{
  char byte = 't';

  if (send (keeper_socket, &byte, 1, MSG_NOSIGNAL) == 1)
    (void)!recv (keeper_socket, &byte, 1, 0);
  _exit (0);
}

/* With a network namespace for each command it is a command's state that counts:
 * a child gets there as the agent's children do, and looks. */
static uint32_t
probe (void)
{
  uint32_t facts = 0;
  int ends[2];
  pid_t pid;

  if ((the_plan->flags & PRISM_LAUNCH_NETNS_COMMAND) == 0)
    return launch_probe ();
  if (pipe (ends) < 0 || (pid = fork ()) < 0)
    launch_fail (PRISM_LAUNCH_STAGE_NET, errno, "a process that looks around");
  if (pid == 0)
    {
      if (unshare (CLONE_NEWNET) == 0)
        {
          launch_give_up_capabilities ();
          if (launch_load_seccomp () == 0)
            facts = launch_probe ();
        }
      _exit (write (ends[1], &facts, sizeof facts) == sizeof facts ? 0 : 1);
    }
  close (ends[1]);
  if (read (ends[0], &facts, sizeof facts) != sizeof facts)
    facts = 0;
  close (ends[0]);
  while (waitpid (pid, NULL, 0) < 0 && errno == EINTR)
    ;
  return facts;
}

/* A segment of shared memory that no process holds would stay until the sandbox ends,
 * and fill its memory for good. In a template this process has the machine's root's id
 * still, if none of its capabilities, and only that id may set this. */
static void
forget_orphaned_segments (void)
{
  if (!launch_write_file (AT_FDCWD, "/proc/sys/kernel/shm_rmid_forced", "1"))
    launch_note ("shared memory", "segments without a process stay until the sandbox ends: %s", strerror (errno));
}

void
launch_init (const struct launch_plan *plan, int keeper, const struct launch_ready_made *made)
{
  static struct launch_net net;
  bool own_net = (plan->flags & (PRISM_LAUNCH_OFF_NETNS | PRISM_LAUNCH_MAKE_TEMPLATE)) == 0;
  struct agent_options options = {
    .control = PRISM_LAUNCH_CONTROL_FD,
    .fds = (plan->flags & PRISM_LAUNCH_FRAMED) == 0,
    .framed = (plan->flags & PRISM_LAUNCH_FRAMED) != 0,
    .netns_command = (plan->flags & PRISM_LAUNCH_NETNS_COMMAND) != 0,
    .hardened = true,
    .default_signals = true, /* the host starts a launcher so, and that ignores none */
    .hosts = -1,
  };

  the_plan = plan;
  keeper_socket = keeper;
  made_with = made;
  launch_hold_notes ();
  if (plan->flags & PRISM_LAUNCH_USE_TEMPLATE)
    forget_orphaned_segments ();
  launch_enter_ids (plan);
  die_with_keeper ();
  net.userns = -1;
  net.up = (plan->flags & PRISM_LAUNCH_NETNS_COMMAND) == 0;
  if (own_net && made->netns < 0 && !launch_net_begin (&net))
    launch_fail (PRISM_LAUNCH_STAGE_NET, errno, "clone");
  if (syscall (SYS_sethostname, plan->hostname, strlen (plan->hostname)) < 0)
    launch_fail (PRISM_LAUNCH_STAGE_CLONE, errno, "sethostname");
  launch_root_build (plan, made->ahead && launch_plan_enters_early (plan), shown);
  if (plan->flags & PRISM_LAUNCH_MAKE_TEMPLATE)
    show_template ();
  if (own_net)
    launch_net_enter (made->netns >= 0 ? made->netns : launch_net_finish (&net));
  if (plan->flags & PRISM_LAUNCH_USE_TEMPLATE)
    {
      launch_enter_own_userns ();
      die_with_keeper ();
    }
  launch_join_groups ();
  set_limits ();
  set_namespace_limits (true);
  launch_select_seccomp ((plan->flags & PRISM_LAUNCH_NO_UNIX) != 0);
  harden ();
  options.cpus = launch_place_cpus (&options.cpus_size);
  launch_ready (probe ());
  /* Nothing but the control socket is left: not the keeper's, nor what it came with. One
   * that is detached is handed its next hosts by the keeper. */
  if (plan->flags & PRISM_LAUNCH_DETACHED)
    options.hosts = dup2 (keeper_socket, PRISM_LAUNCH_KEEPER_FD);
  syscall (SYS_close_range, PRISM_LAUNCH_CONTROL_FD + 1 + (options.hosts >= 0), ~0u, 0);
  _exit (agent_run (&options));
}
