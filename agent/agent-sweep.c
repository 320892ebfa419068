/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Who descends from whom, by /proc/PID/task/TID/children: the way to end what
 * changed its process group, its session or its parent.
 *
 * Every process inside descends from a shim or, when its shim is dead, is a
 * child of the agent (pid 1 or a subreaper). A child of the agent that it did
 * not start is a stray and is killed at once. Killing goes on until a look
 * finds none: what forked meanwhile comes to the agent when its parent dies,
 * and is found by the next look. Nothing here trusts what it reads but for pids. */
#include "agent-private.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define WALK     4096u /* processes that one walk remembers; more are for the next one */
#define PATIENCE 16u   /* looks that found strays in a row before the whole sandbox is stopped for it */
#define STILL    500u  /* ms that it is stopped at most */
#define RETRY    20u   /* ms between two looks for strays when nobody tells of a death */
#define END_WAIT 5000u /* ms for the end; then the kernel has it */

static pid_t walk[WALK];
static unsigned walk_size;
static bool sweep_pending;

/* The pids in one children file, onto the walk. */
static void
push_children_file (const char *path)
{
  char buffer[1024];
  pid_t pid = 0;
  ssize_t n;
  int fd = open (path, O_RDONLY | O_CLOEXEC);

  if (fd < 0)
    return;
  while ((n = read (fd, buffer, sizeof buffer)) > 0)
    for (ssize_t i = 0; i < n; i++)
      if (buffer[i] >= '0' && buffer[i] <= '9')
        pid = pid * 10 + (buffer[i] - '0');
      else
        {
          if (pid > 0 && walk_size < WALK)
            walk[walk_size++] = pid;
          pid = 0;
        }
  close (fd);
}

struct dirent64_raw
{
  uint64_t ino;
  int64_t off;
  unsigned short reclen;
  unsigned char type;
  char name[];
};

/* The children of all threads of a process. */
static void
push_children (pid_t pid)
{
  char path[80], buffer[2048] __attribute__ ((aligned (8)));
  long n;
  int fd;

  snprintf (path, sizeof path, "/proc/%d/task", (int)pid);
  fd = open (path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0)
    return;
  while ((n = syscall (SYS_getdents64, fd, buffer, sizeof buffer)) > 0)
    for (long at = 0; at < n;)
      {
        const struct dirent64_raw *entry = (const void *)(buffer + at);
        long thread = strtol (entry->name, NULL, 10);

        at += entry->reclen;
        if (thread <= 0)
          continue;
        snprintf (path, sizeof path, "/proc/%d/task/%ld/children", (int)pid, thread);
        push_children_file (path);
      }
  close (fd);
}

static unsigned
signal_one (pid_t pid, int number, pid_t group)
{
  return (group == 0 || getpgid (pid) == group) && kill (pid, number) == 0;
}

unsigned
agent_tree_signal (pid_t root, int number, pid_t group)
{
  unsigned count = 0;
  unsigned base = walk_size;

  push_children (root);
  if (number == SIGKILL)
    while (walk_size > base)
      {
        pid_t pid = walk[--walk_size];
        /* Stop it before its children are read, so that it makes no more. */
        count += signal_one (pid, number, group);
        push_children (pid);
      }
  /* What one of them starts when it hears of this, to end with, is not meant. */
  for (unsigned i = base; i < walk_size; i++)
    push_children (walk[i]);
  for (unsigned i = base; i < walk_size; i++)
    count += signal_one (walk[i], number, group);
  walk_size = base;
  return count;
}

/* Waits for SIGCHLD at most `ms`. */
static void
await_child (int ms)
{
  struct pollfd fd = { .fd = agent.signals, .events = POLLIN };
  uint8_t info[128];

  if (poll (&fd, 1, ms) > 0 && read (agent.signals, info, sizeof info) < 0)
    return;
}

/* One look: kills what it finds, says how many that were. */
static unsigned
kill_strays (void)
{
  unsigned strays = 0;
  unsigned base = walk_size;
  char path[80];

  snprintf (path, sizeof path, "/proc/%d/task/%d/children", (int)agent.pid, (int)agent.pid);
  push_children_file (path);
  while (walk_size > base)
    {
      pid_t pid = walk[--walk_size];
      if (agent_shim_find (pid) != NULL || agent_worker_is (pid))
        continue;
      strays++;
      kill (pid, SIGKILL);
      agent_tree_signal (pid, SIGKILL, 0);
    }
  return strays;
}

/* What forks faster than it is found: as pid 1 one call stops all there is, and
 * no fork slips through it. The innocent are continued before anyone can ask. */
static void
sweep_while_still (void)
{
  uint64_t until = agent_clock () + STILL;

  kill (-1, SIGSTOP);
  while (kill_strays () > 0 && agent_clock () < until)
    {
      siginfo_t info = { 0 };
      await_child (RETRY);
      /* Only strays: a shim that is stopped now is not to be taken for attacked. */
      while (waitid (P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0
             && agent_shim_find (info.si_pid) == NULL && !agent_worker_is (info.si_pid))
        {
          int status;
          struct rusage usage;
          if (wait4 (info.si_pid, &status, 0, &usage) > 0)
            agent_command_reaped (info.si_pid, status, &usage);
          info.si_pid = 0;
        }
    }
  kill (-1, SIGCONT);
}

bool
agent_sweep (void)
{
  static unsigned looks;
  unsigned strays = kill_strays ();

  looks = strays > 0 ? looks + 1 : 0;
  if (agent.init && looks > PATIENCE)
    {
      sweep_while_still ();
      looks = 0;
    }
  sweep_pending = strays > 0;
  if (sweep_pending)
    agent_wake_at (agent.now + RETRY);
  else
    agent_shim_forget ();
  return !sweep_pending;
}

void
agent_sweep_later (void)
{
  sweep_pending = true;
}

bool
agent_sweep_pending (void)
{
  return sweep_pending;
}

void
agent_reap (void)
{
  int status;
  struct rusage usage;
  pid_t pid;

  while ((pid = wait4 (-1, &status, WNOHANG | WUNTRACED, &usage)) > 0)
    {
      struct agent_shim *shim = agent_shim_find (pid);

      if (WIFSTOPPED (status))
        {
          /* Nobody stops a shim but a command that wants to be rid of it. */
          kill (pid, SIGKILL);
          continue;
        }
      if (shim != NULL)
        {
          agent_command_shim_died (shim);
          agent_shim_free (shim);
          sweep_pending = true;
        }
      else if (agent_worker_is (pid))
        agent_worker_reaped (pid, status);
      else
        {
          agent_command_reaped (pid, status, &usage);
          sweep_pending = true;
        }
    }
}

void
agent_end_all (void)
{
  uint64_t until = agent_clock () + END_WAIT;

  agent.over = true;
  agent_shim_kill_all ();
  agent_workers_kill ();
  while (agent_clock () < until)
    {
      /* As pid 1 the kernel knows all of them, and no fork can slip through. */
      if (agent.init)
        kill (-1, SIGKILL);
      agent_reap ();
      if (!agent.init)
        agent_sweep ();
      if (waitid (P_ALL, 0, &(siginfo_t){ 0 }, WEXITED | WNOHANG | WNOWAIT) < 0 && errno == ECHILD)
        return;
      await_child (RETRY);
    }
}
