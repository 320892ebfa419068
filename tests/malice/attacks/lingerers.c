/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Processes that want to outlive their command, its timeout, its sandbox; and
 * attacks on the shim, whose death or stop should not free anybody. Every
 * process keeps this program's argv, whose last word is a mark: the host looks
 * for it afterwards. None stays for more than two minutes by itself, so that the
 * proof outside leaves nothing either. */
#include "../malice.h"

#include <dirent.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>

_Noreturn static void
linger (void)
{
  alarm (120);
  for (;;)
    pause ();
}

/* Beats while anything of it lives: the host watches the file, as a process
 * that is gone in a moment is seldom seen under /proc. */
static void
beat (void)
{
  static long count;
  char *path = workspace_path ("heartbeat"), text[32];
  int fd = open (path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  snprintf (text, sizeof text, "%ld %d\n", ++count, (int)getpid ());
  (void)!pwrite (fd, text, strlen (text), 0);
  close (fd);
  free (path);
}

/* A child that has left its session, its group, its parent and its streams. */
static void
daemonize (void)
{
  if (fork () != 0)
    return;
  setsid ();
  if (fork () != 0)
    _exit (0);
  for (int fd = 0; fd < 3; fd++)
    close (fd);
  (void)!chdir ("/");
  signal (SIGHUP, SIG_IGN);
  signal (SIGTERM, SIG_IGN);
  linger ();
}

void
attack_daemon_after_exit (void)
{
  for (int i = 0; i < 5; i++)
    daemonize ();
  while (wait (NULL) > 0)
    ;
  _exit (MALICE_CONTAINED);
}

void
attack_daemon_after_cancel (void)
{
  for (int i = 0; i < 5; i++)
    daemonize ();
  signal (SIGTERM, SIG_IGN);
  linger ();
}

void
attack_moving_target (void)
{
  struct timeval start, now;
  gettimeofday (&start, NULL);
  for (int i = 0; i < 4; i++)
    if (fork () == 0)
      {
        setsid ();
        for (;;)
          {
            gettimeofday (&now, NULL);
            beat ();
            if (now.tv_sec > start.tv_sec + 60 || fork () > 0)
              _exit (0);
          }
      }
  linger ();
}

void
attack_own_subreaper (void)
{
  prctl (PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  for (int i = 0; i < 3; i++)
    daemonize ();
  if (fork () == 0)
    {
      prctl (PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
      setsid ();
      for (int i = 0; i < 3; i++)
        daemonize ();
      linger ();
    }
  linger ();
}

void
attack_stopped_tree (void)
{
  for (int i = 0; i < 4; i++)
    if (fork () == 0)
      {
        alarm (120);
        raise (SIGSTOP);
        linger ();
      }
  raise (SIGSTOP);
  linger ();
}

/* A child that is not its own: the shim, whose child it becomes, waits for another. */
void
attack_false_sibling (void)
{
  for (int i = 0; i < 20; i++)
    {
      long pid = syscall (SYS_clone, (unsigned long)(CLONE_PARENT | SIGCHLD), NULL, NULL, NULL, 0);
      if (pid == 0 && i % 2 == 0)
        _exit (MALICE_BROKEN);
      if (pid == 0)
        linger ();
    }
  linger ();
}

void
attack_ignore_signals (void)
{
  sigset_t all;
  sigfillset (&all);
  for (int s = 1; s <= 64; s++)
    signal (s, SIG_IGN);
  sigprocmask (SIG_BLOCK, &all, NULL);
  for (int i = 0; i < 60; i++)
    poll (NULL, 0, 2000);
}

static pid_t
shim (void)
{
  return (pid_t)maybe_number ("SHIM", getppid ());
}

/* Success would be: this goes on after its shim, unseen. */
void
attack_kill_shim (void)
{
  for (int i = 0; i < 2; i++)
    daemonize ();
  const int signals[] = { SIGSEGV, SIGABRT, SIGQUIT, SIGTERM, SIGHUP, SIGKILL };
  for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
    kill (shim (), signals[i]);
  linger ();
}

void
attack_stop_shim (void)
{
  for (int i = 0; i < 2; i++)
    daemonize ();
  const int signals[] = { SIGSTOP, SIGTSTP, SIGTTIN };
  for (int i = 0; i < 3; i++)
    kill (shim (), signals[i]);
  linger ();
}

/* Its parent never asked to trace it, and must not take a stop for an end. */
void
attack_trace_me (void)
{
  for (int i = 0; i < 2; i++)
    daemonize ();
  ptrace (PTRACE_TRACEME, 0, NULL, NULL);
  raise (SIGTRAP);
  linger ();
}

void
attack_stop_all (void)
{
  daemonize ();
  kill (-1, SIGSTOP);
  for (pid_t pid = 2; pid < 400; pid++)
    if (pid != getpid ())
      kill (pid, SIGSTOP);
  linger ();
}

void
attack_kill_all (void)
{
  daemonize ();
  kill (-1, SIGKILL);
  for (pid_t pid = 1; pid < 400; pid++)
    if (pid != getpid ())
      kill (pid, SIGKILL);
  linger ();
}

void
attack_close_pipes (void)
{
  for (int fd = 0; fd < 64; fd++)
    close (fd);
  linger ();
}

void
attack_hold_pipes (void)
{
  if (fork () == 0)
    {
      static char block[65536];
      setsid ();
      alarm (60);
      memset (block, 'f', sizeof block);
      for (;;)
        if (write (1, block, sizeof block) < 0 && write (2, block, sizeof block) < 0)
          linger ();
    }
  _exit (MALICE_CONTAINED);
}

void
attack_steal_pipes (void)
{
  if (fork () == 0)
    {
      char path[64], bytes[4096];
      setsid ();
      alarm (60);
      int ends[6], n = 0;
      for (int fd = 0; fd < 3; fd++)
        {
          snprintf (path, sizeof path, "/proc/self/fd/%d", fd);
          ends[n++] = open (path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
          fcntl (fd, F_SETFL, O_NONBLOCK | O_ASYNC);
          fcntl (fd, F_SETPIPE_SZ, 4096);
        }
      for (;;)
        for (int i = 0; i < n; i++)
          if (read (ends[i], bytes, sizeof bytes) <= 0)
            sched_yield ();
    }
  _exit (MALICE_CONTAINED);
}

void
attack_output_flood (void)
{
  static char block[1 << 20];
  memset (block, 'f', sizeof block);
  alarm (30);
  signal (SIGALRM, SIG_DFL);
  for (long long written = 0; written < 1ll << 30;)
    {
      ssize_t n = write (1 + (written >> 20) % 2, block, sizeof block);
      if (n < 0)
        return;
      written += n;
    }
  escaped ("a gigabyte was taken");
}

void
attack_zombie_flood (void)
{
  for (int round = 0; round < 100; round++)
    {
      for (int i = 0; i < 20; i++)
        if (fork () == 0)
          {
            if (fork () == 0)
              _exit (0);
            _exit (0);
          }
      while (waitpid (-1, NULL, WNOHANG) > 0)
        ;
    }
  _exit (MALICE_CONTAINED);
}
