/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One command's supervisor: a subreaper that shares the agent's memory and
 * descriptors, waits on a futex, vforks the command and reaps what becomes of
 * it. Pooled: one that has no children left serves the next command.
 *
 * Why a process of its own: what a command leaves behind (double forks, setsid)
 * comes to its subreaper, so "all of this command, and only this" is a question
 * that the kernel answers. Why shared memory: a clone that copies costs three
 * times as much.
 *
 * A command can kill its shim, as both have one uid. Nothing but that command
 * depends on it: the agent notices, and sweeps what the shim leaves to it.
 *
 * Everything below `shim_run` runs beside the agent in the same memory: raw
 * system calls only, nothing of the C library, no lock, no allocation. */
#include "agent-private.h"
#include "agent-sys.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#define POOL_IDLE 4u /* idle shims kept */

#ifdef AGENT_ASAN
#define STACK (128u * 1024u)
#else
#define STACK (12u * 1024u)
#endif
#define PAGE 4096u
/* guard, the command's first steps, guard, the shim's stack, its record */
#define REGION (PAGE + STACK + PAGE + STACK + 4u * PAGE)

/* The record and the room for a candidate path, at the region's end. */
struct place
{
  struct agent_shim shim;
  struct rlimit files, data; /* RLIM_INFINITY: keep */
  bool due;                  /* limits that it is to take on before what it starts next */
  char candidate[PRISM_WIRE_MAX_PATH + 1 + 256];
};

static struct agent_shim *shims;
static struct agent_shim *limbo; /* dead, their memory perhaps not yet left */
static unsigned idle;

/* --- beside the agent ----------------------------------------------------------- */

AGENT_RAW static long
raw (long number, long a, long b, long c, long d)
{
  return agent_sys (number, a, b, c, d, 0);
}

AGENT_RAW static size_t
length_of (const char *s)
{
  size_t n = 0;
  while (s[n] != 0)
    n++;
  return n;
}

AGENT_RAW static void
tell (void)
{
  uint64_t one = 1;
  raw (SYS_write, agent.notify, (long)&one, sizeof one, 0);
}

AGENT_RAW __attribute__ ((noreturn)) static void
leave (int code)
{
  for (;;)
    raw (SYS_exit_group, code, 0, 0, 0);
}

AGENT_RAW __attribute__ ((noreturn)) static void
fail (struct agent_shim *shim, enum agent_stage stage, long error)
{
  shim->stage = stage;
  shim->error = (int)-error;
  leave (127);
}

/* A text file that says no interpreter is the shell's, as for execvp(); a
 * program for another machine is not. */
AGENT_RAW static bool
is_text (const char *path)
{
  char head[128];
  long n = -1, fd = raw (SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);

  if (fd >= 0)
    {
      n = raw (SYS_read, fd, (long)head, sizeof head, 0);
      raw (SYS_close, fd, 0, 0, 0);
    }
  for (long i = 0; i < n && head[i] != '\n'; i++)
    if (head[i] == 0)
      return false;
  return n >= 0;
}

/* execve() that answers like a shell would: ENOENT only when nothing is there,
 * EACCES when something is and cannot be run (a missing interpreter too). */
AGENT_RAW static long
try_exec (struct agent_start *start, const char *path)
{
  long error = raw (SYS_execve, (long)path, (long)start->argv, (long)start->envp, 0);

  if (error == -ENOEXEC && is_text (path))
    {
      start->argv[-1] = "sh";
      start->argv[0] = path;
      error = raw (SYS_execve, (long)"/bin/sh", (long)(start->argv - 1), (long)start->envp, 0);
      return error == -ENOENT ? -ENOEXEC : error;
    }
  if (error == -ENOENT && raw (SYS_faccessat, AT_FDCWD, (long)path, 0, 0) == 0)
    return -ENOEXEC;
  return error;
}

AGENT_RAW static long
search_exec (struct agent_shim *shim, struct agent_start *start)
{
  const char *name = start->argv[0];
  size_t name_size = length_of (name) + 1;
  struct place *place = (struct place *)shim;
  long found = -ENOENT;

  for (const char *s = name; *s != 0; s++)
    if (*s == '/')
      return try_exec (start, name);
  if (name_size == 1 || name_size > 256)
    return name_size == 1 ? -ENOENT : -ENAMETOOLONG;

  for (const char *at = start->path, *end; at != NULL; at = *end == ':' ? end + 1 : NULL)
    {
      size_t n = 0;
      long error;

      for (end = at; *end != 0 && *end != ':'; end++)
        if (n < PRISM_WIRE_MAX_PATH)
          place->candidate[n++] = *end;
      if ((size_t)(end - at) > n)
        continue;
      if (n == 0)
        place->candidate[n++] = '.';
      place->candidate[n++] = '/';
      for (size_t i = 0; i < name_size; i++)
        place->candidate[n + i] = name[i];
      error = try_exec (start, place->candidate);
      start->argv[0] = name;
      if (error == -EACCES || error == -EPERM || error == -ENOEXEC)
        found = error;
      else if (error != -ENOENT && error != -ENOTDIR && error != -ELOOP && error != -ENAMETOOLONG)
        return error;
    }
  return found;
}

/* With netns=command the agent still has what makes a network namespace; a
 * command has nothing, and gets the filter that the agent could not live with. */
AGENT_RAW static long
confine (void)
{
  struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
  struct __user_cap_data_struct none[2] = { { 0, 0, 0 }, { 0, 0, 0 } };
  long error;

  for (long c = 0; raw (SYS_prctl, PR_CAPBSET_READ, c, 0, 0) >= 0; c++)
    raw (SYS_prctl, PR_CAPBSET_DROP, c, 0, 0);
  raw (SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0);
  error = raw (SYS_capset, (long)&header, (long)none, 0, 0);
  return error < 0 ? error : launch_load_seccomp ();
}

/* The command before its first step, the shim as soon as there is time. */
AGENT_RAW static long
go_anywhere (const struct agent_shim *shim)
{
  return shim->cpus == NULL ? 0 : raw (SYS_sched_setaffinity, 0, (long)agent.options.cpus_size, (long)shim->cpus, 0);
}

AGENT_RAW static void
command_run (void *data)
{
  struct agent_shim *shim = data;
  struct agent_start *start = shim->start;
  uint64_t no_signals = 0;
  long error;

  if ((error = go_anywhere (shim)) < 0)
    fail (shim, AGENT_STAGE_CONFINE, error);
  raw (SYS_setsid, 0, 0, 0, 0);
  if (start->terminal && (error = raw (SYS_ioctl, start->in, TIOCSCTTY, 0, 0)) < 0)
    fail (shim, AGENT_STAGE_TERMINAL, error);
  /* The agent keeps 0, 1 and 2 occupied, so none of these is in another's way. */
  if (start->in >= 0)
    raw (SYS_dup3, start->in, 0, 0, 0);
  raw (SYS_dup3, start->out, 1, 0, 0);
  raw (SYS_dup3, start->err, 2, 0, 0);
  raw (SYS_close_range, 3, ~0U, 0, 0);
  error = raw (SYS_chdir, (long)start->cwd, 0, 0, 0);
  if (error < 0)
    fail (shim, AGENT_STAGE_CWD, error);
  if (start->netns && (error = confine ()) < 0)
    fail (shim, AGENT_STAGE_CONFINE, error);
  raw (SYS_rt_sigprocmask, SIG_SETMASK, (long)&no_signals, 0, sizeof no_signals);
  fail (shim, AGENT_STAGE_EXEC, search_exec (shim, start));
}

/* A child may have asked for its parent to trace it (PTRACE_TRACEME). Its stops
 * are told to a waiter who never asked for stops, and are no end: it goes on as if
 * nobody traced it. */
AGENT_RAW static void
let_go (const siginfo_t *told)
{
  int number = told->si_status == SIGTRAP ? 0 : told->si_status;

  if (told->si_code > CLD_DUMPED && raw (SYS_ptrace, PTRACE_DETACH, told->si_pid, 0, number) < 0)
    raw (SYS_kill, told->si_pid, SIGKILL, 0, 0);
}

/* Reaps until nothing is left; the command itself is `main`. */
AGENT_RAW static void
shim_reap (struct agent_shim *shim)
{
  siginfo_t told;
  long result;

  do
    {
      if (agent_sys (SYS_waitid, P_ALL, 0, (long)&shim->ended, WEXITED, (long)&shim->usage) == -ECHILD)
        return;
      let_go (&shim->ended);
    }
  while (shim->ended.si_pid != shim->main || shim->ended.si_code > CLD_DUMPED);
  do
    {
      told.si_pid = told.si_code = 0;
      result = agent_sys (SYS_waitid, P_ALL, 0, (long)&told, WEXITED | WNOHANG, 0);
      let_go (&told);
    }
  while (result == 0 && told.si_pid != 0);
  if (result == -ECHILD)
    return;
  atomic_store (&shim->state, AGENT_SHIM_EXITED);
  tell ();
  while (agent_sys (SYS_waitid, P_ALL, 0, (long)&told, WEXITED, 0) != -ECHILD)
    let_go (&told);
}

AGENT_RAW static void
limit (int which, const struct rlimit *want)
{
  struct rlimit now, to = *want;

  if (want->rlim_cur == RLIM_INFINITY)
    return;
  /* Only down: a hard limit below what was asked is the tighter one. */
  if (raw (SYS_prlimit64, 0, which, 0, (long)&now) < 0)
    return;
  if (to.rlim_max > now.rlim_max)
    to.rlim_max = now.rlim_max;
  if (to.rlim_cur > to.rlim_max)
    to.rlim_cur = to.rlim_max;
  raw (SYS_prlimit64, 0, which, (long)&to, 0);
}

AGENT_RAW static void
take_on_limits (const struct place *place)
{
  limit (RLIMIT_NOFILE, &place->files);
  limit (RLIMIT_DATA, &place->data);
}

AGENT_RAW static void
shim_serve (struct agent_shim *shim)
{
  struct place *place = (struct place *)(void *)shim;
  uint8_t *top = (uint8_t *)shim->region + PAGE + STACK;
  unsigned long flags = CLONE_VM | CLONE_VFORK | CLONE_PARENT_SETTID | SIGCHLD;
  bool last = shim->last; /* once it says DONE it may have been given another */
  long pid;

  if (place->due)
    take_on_limits (place);
  place->due = false;
  pid = agent_clone (flags | (shim->start->netns ? CLONE_NEWNET : 0), top, &shim->main, command_run, shim);
  if (pid < 0)
    {
      shim->stage = AGENT_STAGE_CLONE;
      shim->error = (int)-pid;
    }
  if (shim->error != 0)
    {
      if (pid > 0)
        raw (SYS_wait4, pid, 0, 0, 0);
      atomic_store (&shim->state, AGENT_SHIM_FAILED);
      tell ();
      return;
    }
  atomic_store (&shim->state, AGENT_SHIM_STARTED);
  if (atomic_load (&shim->tell))
    tell ();
  go_anywhere (shim);
  shim->cpus = NULL;
  shim_reap (shim);
  atomic_store (&shim->state, AGENT_SHIM_DONE);
  tell ();
  if (last)
    leave (0);
}

AGENT_RAW static void
shim_run (void *data)
{
  struct agent_shim *shim = data;
  struct place *place = data;
  struct rlimit none = { 0, 0 };

  /* What the commands inherit is set once, here: memory and descriptors are the
   * agent's, but limits, umask and the process's own attributes are not. */
  raw (SYS_prctl, PR_SET_CHILD_SUBREAPER, 1, 0, 0);
  raw (SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0);
  if (raw (SYS_getppid, 0, 0, 0, 0) != agent.pid)
    leave (0); /* it died before this was asked for */
  raw (SYS_umask, 022, 0, 0, 0);
  limit (RLIMIT_CORE, &none);
  /* The agent may be at work on these: what it comes to is due then. */
  take_on_limits (place);

  for (;;)
    {
      uint32_t state = atomic_load (&shim->state);
      if (state == AGENT_SHIM_GO)
        shim_serve (shim);
      else if (state == AGENT_SHIM_QUIT)
        leave (0);
      else
        raw (SYS_futex, (long)&shim->state, FUTEX_WAIT_PRIVATE, state, 0);
    }
}

/* --- the agent's side ---------------------------------------------------------------- */

static rlim_t
wanted (uint64_t limit)
{
  return limit != 0 ? (rlim_t)limit : RLIM_INFINITY;
}

/* A later SETUP may ask for other limits than it was made with. */
static bool
fits (const struct agent_shim *shim)
{
  const struct place *place = (const struct place *)(const void *)shim;

  return place->files.rlim_cur == wanted (agent.settings.open_files)
         && place->data.rlim_cur == wanted (agent.settings.data_bytes);
}

static struct agent_shim *
shim_new (void)
{
  uint8_t *region = mmap (NULL, REGION, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  struct place *place;
  long pid;

  if (region == MAP_FAILED)
    return NULL;
  mprotect (region, PAGE, PROT_NONE);
  mprotect (region + PAGE + STACK, PAGE, PROT_NONE);
  place = (struct place *)(void *)(region + REGION - 4 * PAGE);
  _Static_assert(sizeof *place <= 4 * PAGE, "the record has its own pages");
  place->shim.region = region;
  place->shim.cpus = agent.options.cpus;
  place->files.rlim_cur = place->files.rlim_max = wanted (agent.settings.open_files);
  place->data.rlim_cur = place->data.rlim_max = wanted (agent.settings.data_bytes);
  pid = agent_clone (CLONE_VM | CLONE_FILES | SIGCHLD, region + REGION - 4 * PAGE, NULL, shim_run, &place->shim);
  if (pid < 0)
    {
      munmap (region, REGION);
      errno = (int)-pid;
      return NULL;
    }
  place->shim.pid = (pid_t)pid;
  place->shim.next = shims;
  shims = &place->shim;
  return &place->shim;
}

/* Idle ones are told by `start`: the state word can lag behind a kill. */
static bool
is_idle (const struct agent_shim *shim)
{
  return shim->start == NULL && !shim->killed && atomic_load (&shim->state) == AGENT_SHIM_IDLE;
}

/* One that was made before it was known what to limit does not fit yet. */
static void
make_fit (struct agent_shim *shim)
{
  struct place *place = (struct place *)(void *)shim;

  if (fits (shim) || place->files.rlim_cur != RLIM_INFINITY || place->data.rlim_cur != RLIM_INFINITY)
    return;
  place->files.rlim_cur = place->files.rlim_max = wanted (agent.settings.open_files);
  place->data.rlim_cur = place->data.rlim_max = wanted (agent.settings.data_bytes);
  place->due = true;
}

struct agent_shim *
agent_shim_take (void)
{
  for (struct agent_shim *shim = shims; idle > 0 && shim != NULL; shim = shim->next)
    if (is_idle (shim) && (make_fit (shim), fits (shim)))
      {
        idle--;
        return shim;
      }
  return shim_new ();
}

static void
wake (struct agent_shim *shim, enum agent_shim_state state)
{
  atomic_store (&shim->state, state);
  raw (SYS_futex, (long)&shim->state, FUTEX_WAKE_PRIVATE, 1, 0);
}

void
agent_shim_go (struct agent_shim *shim, struct agent_start *start)
{
  shim->start = start;
  /* Of the one before: should it be killed now, this one has not begun. */
  shim->error = 0;
  shim->main = 0;
  shim->ended.si_pid = 0;
  wake (shim, AGENT_SHIM_GO);
}

void
agent_shim_give_back (struct agent_shim *shim)
{
  shim->start = NULL;
  atomic_store (&shim->tell, 0);
  atomic_store (&shim->state, AGENT_SHIM_IDLE);
  idle++;
}

void
agent_shim_let_go (struct agent_shim *shim)
{
  shim->killed = true;
}

int
agent_shim_status (const struct agent_shim *shim)
{
  return shim->ended.si_code == CLD_EXITED ? (shim->ended.si_status & 255) << 8 : shim->ended.si_status & 127;
}

void
agent_shim_kill (struct agent_shim *shim)
{
  if (is_idle (shim))
    idle--;
  shim->killed = true;
  raw (SYS_kill, shim->pid, SIGKILL, 0, 0);
}

struct agent_shim *
agent_shim_find (pid_t pid)
{
  struct agent_shim *shim = shims;
  while (shim != NULL && shim->pid != pid)
    shim = shim->next;
  return shim;
}

void
agent_shim_free (struct agent_shim *shim)
{
  struct agent_shim **link = &shims;

  if (is_idle (shim))
    idle--;
  while (*link != shim)
    link = &(*link)->next;
  *link = shim->next;
  /* A command that it was starting may still stand on the region's stack. */
  shim->next = limbo;
  limbo = shim;
}

void
agent_shim_forget (void)
{
  while (limbo != NULL)
    {
      struct agent_shim *shim = limbo;
      limbo = shim->next;
      munmap (shim->region, REGION);
    }
}

void
agent_shim_tend (void)
{
  /* An agent that is to give something away yet makes none before it has. */
  if (agent.over || (!agent.settings.ready && !agent.options.hardened))
    return;
  if (shims == NULL && shim_new () != NULL)
    idle++;
  for (struct agent_shim *shim = shims; idle > 0 && agent.settings.ready && shim != NULL; shim = shim->next)
    if (is_idle (shim) && (make_fit (shim), idle > POOL_IDLE || !fits (shim)))
      {
        idle--;
        shim->killed = true;
        wake (shim, AGENT_SHIM_QUIT);
      }
}

void
agent_shim_kill_all (void)
{
  for (struct agent_shim *shim = shims; shim != NULL; shim = shim->next)
    agent_shim_kill (shim);
}
