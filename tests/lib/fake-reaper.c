/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The fake backend's stand-in for a boundary: runs one command and holds all that
 * it starts, daemons too, until its control pipe says so.
 *
 *   fake-reaper PROGRAM [ARG...]     status on 3, control on 4
 *
 * Status lines: "R pid", then "C code" or "S signal"; or "E errno" alone; then EOF
 * when nothing of it is left. Control bytes: 'T' = SIGTERM to all, 's' and a byte
 * = that signal to the command's group, 'P' = all stand still, then "P 0", 'G' = they go
 * on; EOF = SIGKILL to all. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define STATUS  3
#define CONTROL 4

static void
report (char what, int number)
{
  char line[32];
  int n = snprintf (line, sizeof line, "%c %d\n", what, number);
  if (write (STATUS, line, (size_t)n) != n)
    _exit (111);
}

/* Every descendant: orphans come to this process, the others have a parent here. */
static void
kill_below (pid_t parent, int sig)
{
  char path[64], pids[4096];
  int fd;
  ssize_t n;
  snprintf (path, sizeof path, "/proc/%d/task/%d/children", parent, parent);
  fd = open (path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return;
  n = read (fd, pids, sizeof pids - 1);
  close (fd);
  pids[n > 0 ? n : 0] = 0;
  for (char *at = pids; *at != 0;)
    {
      pid_t pid = (pid_t)strtol (at, &at, 10);
      while (*at == ' ')
        at++;
      if (pid > 0 && pid != parent)
        {
          kill_below (pid, sig);
          kill (pid, sig);
        }
    }
}

/* How many below @parent do not stand still. */
static int
count_moving (pid_t parent)
{
  char path[64], pids[4096], state = 0;
  int fd, count = 0;
  ssize_t n;
  snprintf (path, sizeof path, "/proc/%d/task/%d/children", parent, parent);
  fd = open (path, O_RDONLY | O_CLOEXEC);
  n = fd >= 0 ? read (fd, pids, sizeof pids - 1) : 0;
  if (fd >= 0)
    close (fd);
  pids[n > 0 ? n : 0] = 0;
  for (char *at = pids; *at != 0;)
    {
      pid_t pid = (pid_t)strtol (at, &at, 10);
      char stat[512] = "";
      while (*at == ' ')
        at++;
      snprintf (path, sizeof path, "/proc/%d/stat", pid);
      fd = open (path, O_RDONLY | O_CLOEXEC);
      n = fd >= 0 ? read (fd, stat, sizeof stat - 1) : 0;
      if (fd >= 0)
        close (fd);
      state = n > 0 && strrchr (stat, ')') != NULL ? strrchr (stat, ')')[2] : 'Z';
      count += state != 'T' && state != 'Z';
      count += count_moving (pid);
    }
  return count;
}

/* What is stopped makes no others: each round leaves fewer who could. */
static void
stand_still (void)
{
  struct pollfd nothing = { -1, 0, 0 };
  for (int round = 0; round < 5000 && (round == 0 || count_moving (getpid ()) > 0); round++)
    {
      kill_below (getpid (), SIGSTOP);
      poll (&nothing, 1, 1);
    }
  report ('P', 0);
}

static pid_t
start (char **argv)
{
  int failure[2], code = 0;
  pid_t pid;
  if (pipe2 (failure, O_CLOEXEC) != 0)
    _exit (112);
  pid = fork ();
  if (pid == 0)
    {
      sigset_t none;
      sigemptyset (&none);
      sigprocmask (SIG_SETMASK, &none, NULL);
      signal (SIGPIPE, SIG_DFL);
      setsid ();
      if (isatty (0))
        ioctl (0, TIOCSCTTY, 0);
      close (STATUS);
      close (CONTROL);
      execvp (argv[0], argv);
      code = errno;
      if (write (failure[1], &code, sizeof code) != (ssize_t)sizeof code)
        _exit (113);
      _exit (127);
    }
  close (failure[1]);
  if (pid < 0)
    report ('E', EAGAIN);
  else if (read (failure[0], &code, sizeof code) == (ssize_t)sizeof code)
    {
      waitpid (pid, NULL, 0);
      report ('E', code);
      pid = -1;
    }
  else
    report ('R', pid);
  close (failure[0]);
  return pid;
}

/* Nonzero while there are children. */
static int
reap (pid_t *command)
{
  int status;
  pid_t pid;
  while ((pid = waitpid (-1, &status, WNOHANG)) > 0)
    if (pid == *command)
      {
        report (WIFEXITED (status) ? 'C' : 'S', WIFEXITED (status) ? WEXITSTATUS (status) : WTERMSIG (status));
        *command = 0;
      }
  return pid == 0;
}

/* 0 at EOF: everything is to end. */
static int
obey (pid_t command)
{
  unsigned char order[2];
  if (read (CONTROL, order, 1) != 1)
    return 0;
  if (order[0] == 'T')
    {
      kill_below (getpid (), SIGTERM);
      kill_below (getpid (), SIGCONT);
    }
  else if (order[0] == 'P')
    stand_still ();
  else if (order[0] == 'G')
    kill_below (getpid (), SIGCONT);
  else if (read (CONTROL, order + 1, 1) == 1 && command > 0)
    kill (-command, order[1]);
  return 1;
}

int
main (int argc, char **argv)
{
  sigset_t chld;
  struct pollfd fds[2];
  int ending = 0;
  pid_t command;
  if (argc < 2)
    return 114;
  fcntl (STATUS, F_SETFD, FD_CLOEXEC);
  fcntl (CONTROL, F_SETFD, FD_CLOEXEC);
  prctl (PR_SET_CHILD_SUBREAPER, 1);
  sigemptyset (&chld);
  sigaddset (&chld, SIGCHLD);
  sigprocmask (SIG_BLOCK, &chld, NULL);
  fds[0] = (struct pollfd){ .fd = signalfd (-1, &chld, SFD_CLOEXEC | SFD_NONBLOCK), .events = POLLIN };
  fds[1] = (struct pollfd){ .fd = CONTROL, .events = POLLIN };
  command = start (argv + 1);
  /* The streams are the command's: held here too, their readers never saw an end. */
  for (int fd = 0; fd < 3; fd++)
    close (fd);
  while (command >= 0 && reap (&command))
    {
      struct signalfd_siginfo info;
      if (ending)
        kill_below (getpid (), SIGKILL);
      if (poll (fds, 2, ending ? 1 : -1) < 0 && errno != EINTR)
        return 115;
      while (read (fds[0].fd, &info, sizeof info) > 0)
        ;
      if (!ending && fds[1].revents != 0 && !obey (command))
        {
          ending = 1;
          fds[1].fd = -1;
        }
    }
  return 0;
}
