/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Inside of the sandbox: gives each line of a file to a shell, whose PATH holds nothing but
 * stubs, and writes down for each what the stubs wrote.
 *
 *   runner SHELL STUBS LINES OUT       (lines end with a NUL) */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LOG "/tmp/shell-lines.log"
#define MAX 65536

static void
run_shell (const char *shell, char *const *environment, const char *line)
{
  struct rlimit processes = { 48, 48 }, cpu = { 2, 2 }, files = { 1 << 20, 1 << 20 };
  char *const argv[] = { (char *)shell, (char *)"-c", (char *)line, NULL };
  int null = open ("/dev/null", O_RDWR);

  setpgid (0, 0);
  dup2 (null, 0);
  dup2 (null, 1);
  dup2 (null, 2);
  setrlimit (RLIMIT_NPROC, &processes);
  setrlimit (RLIMIT_CPU, &cpu);
  setrlimit (RLIMIT_FSIZE, &files);
  if (chdir ("/tmp/here") == 0)
    execve (shell, argv, environment);
  _exit (127);
}

static double
now (void)
{
  struct timespec time;

  clock_gettime (CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Everything that the line started, what runs behind it too. */
static void
wait_for_all (pid_t group)
{
  sigset_t chld;
  struct timespec wait = { 0, 200000000 };
  double late = now () + 5;

  sigemptyset (&chld);
  sigaddset (&chld, SIGCHLD);
  for (;;)
    {
      pid_t pid = waitpid (-1, NULL, WNOHANG);

      if (pid < 0 && errno == ECHILD)
        return;
      if (pid != 0)
        continue;
      if (now () > late)
        kill (-group, SIGKILL);
      if (now () > late + 2)
        kill (-1, SIGKILL);
      sigtimedwait (&chld, NULL, &wait);
    }
}

static void
copy_log (FILE *out)
{
  static char bytes[MAX];
  int fd = open (LOG, O_RDONLY | O_CLOEXEC);
  ssize_t got = fd >= 0 ? read (fd, bytes, sizeof bytes) : 0;
  uint32_t length = got > 0 ? (uint32_t)got : 0;

  if (fd >= 0)
    close (fd);
  unlink (LOG);
  fwrite (&length, sizeof length, 1, out);
  fwrite (bytes, 1, length, out);
}

int
main (int argc, char **argv)
{
  char path[4096], *line = NULL;
  char *const environment[] = { path, (char *)"HOME=/home/prism", NULL };
  size_t size = 0;
  FILE *lines = argc == 5 ? fopen (argv[3], "re") : NULL, *out = argc == 5 ? fopen (argv[4], "we") : NULL;
  sigset_t chld;

  if (lines == NULL || out == NULL)
    return 2;
  snprintf (path, sizeof path, "PATH=%s", argv[2]);
  mkdir ("/tmp/here", 0700);
  for (const char *const *name = (const char *const[]){ "one.c", "two.c", "-x", "a b", NULL }; *name != NULL; name++)
    {
      char file[64];

      snprintf (file, sizeof file, "/tmp/here/%s", *name);
      close (open (file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    }
  prctl (PR_SET_CHILD_SUBREAPER, 1);
  sigemptyset (&chld);
  sigaddset (&chld, SIGCHLD);
  sigprocmask (SIG_BLOCK, &chld, NULL);
  while (getdelim (&line, &size, '\0', lines) > 0)
    {
      pid_t pid = fork ();

      if (pid == 0)
        {
          sigprocmask (SIG_UNBLOCK, &chld, NULL);
          run_shell (argv[1], environment, line);
        }
      wait_for_all (pid);
      copy_log (out);
    }
  return fclose (out) == 0 ? 0 : 1;
}
