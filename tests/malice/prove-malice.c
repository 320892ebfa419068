/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* prove-malice PROGRAM [NAME…]: shows that each attack succeeds where nothing
 * contains it, so that none passes inside a sandbox by being broken. TAP.
 *
 * "Outside" is a throw-away piece of host for each attack: the caller's rights
 * (as root: the host's own) in namespaces made for it, so that kill -9 -1, an
 * unmount or a new route harm nobody. What has an effect on the whole machine
 * (clock, sysctls, modules) is tried by the attacks with the value that is
 * already set, or by opening alone. */
#include "malice.h"
#include "naive-proxy.h"
#include "stage.h"

#include <dirent.h>
#include <grp.h>
#include <linux/if.h>
#include <poll.h>
#include <pty.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/io.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>

enum
{
  PROVEN,
  NOT_PROVEN,
  ABSENT,
  BROKEN
};

#define PATIENCE 20000 /* ms */

struct attack
{
  const char *name;
  int needs;
};

static const struct attack attacks[] = {
#define ATTACK(name, needs, claim) { #name, needs },
#include "attacks.def"
#undef ATTACK
};

static char output[4096]; /* what the attack said */

static void
write_text (const char *path, const char *text)
{
  int fd = open (path, O_WRONLY | O_CLOEXEC);
  if (fd < 0 || write (fd, text, strlen (text)) < 0)
    fprintf (stderr, "prove-malice: %s: %s\n", path, strerror (errno));
  close (fd);
}

static long
milliseconds (void)
{
  struct timespec now;
  clock_gettime (CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Whether it is worth another try: what the machine has for all may be used up for a moment. */
static bool
await_room (long end)
{
  struct timespec moment = { 0, 10000000 };
  int why = errno;
  bool again = (why == EAGAIN || why == ENOMEM || why == ENOSPC || why == EUSERS) && milliseconds () < end;
  if (again)
    nanosleep (&moment, NULL);
  errno = why;
  return again;
}

static pid_t
fork_when_there_is_room (void)
{
  pid_t pid;
  for (long end = milliseconds () + PATIENCE; (pid = fork ()) < 0 && await_room (end);)
    ;
  return pid;
}

static void
leave_the_host (const struct attack *attack)
{
  int kinds = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS;
  char map[64];
  uid_t uid = geteuid ();
  gid_t gid = getegid ();
  bool mapped = uid != 0 || (attack->needs & MALICE_USERNS_PROOF) != 0;
  if (!(attack->needs & MALICE_HOST_NETWORK))
    kinds |= CLONE_NEWNET;
  long end = milliseconds () + PATIENCE;
  while (unshare (mapped ? kinds | CLONE_NEWUSER : kinds) != 0)
    if (!await_room (end))
      {
        printf ("# unshare: %s\n", strerror (errno));
        fflush (stdout);
        _exit (BROKEN);
      }
  if (!mapped)
    return;
  write_text ("/proc/self/setgroups", "deny");
  snprintf (map, sizeof map, "0 %u 1", uid);
  write_text ("/proc/self/uid_map", map);
  snprintf (map, sizeof map, "0 %u 1", gid);
  write_text ("/proc/self/gid_map", map);
}

static void
furnish (void)
{
  struct ifreq up = { .ifr_name = "lo", .ifr_flags = IFF_UP };
  struct sockaddr_un docker = { .sun_family = AF_UNIX, .sun_path = "/run/docker.sock" };
  mount (NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
  mount ("proc", "/proc", "proc", 0, NULL);
  mount ("tmpfs", "/tmp", "tmpfs", 0, "mode=1777");
  mount ("tmpfs", "/run", "tmpfs", 0, "mode=755");
  mount ("tmpfs", "/dev/shm", "tmpfs", 0, "mode=1777");
  int fd = socket (AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ioctl (fd, SIOCSIFFLAGS, &up);
  close (fd);
  fd = socket (AF_UNIX, SOCK_STREAM, 0);
  if (bind (fd, (struct sockaddr *)&docker, sizeof docker) == 0)
    listen (fd, 8);
}

/* A process of the same user that takes the agent's or the shim's place. */
static pid_t
stand_in (void)
{
  pid_t pid = fork ();
  if (pid == 0)
    for (;;)
      pause ();
  return pid;
}

static int
process_state (pid_t pid)
{
  char path[64], bytes[512];
  snprintf (path, sizeof path, "/proc/%d/stat", (int)pid);
  int fd = open (path, O_RDONLY | O_CLOEXEC);
  ssize_t n = fd >= 0 ? read (fd, bytes, sizeof bytes - 1) : -1;
  close (fd);
  if (n <= 0)
    return 0;
  bytes[n] = '\0';
  char *end = strrchr (bytes, ')');
  return end != NULL ? end[2] : 0;
}

static int
count_zombies (void)
{
  int n = 0;
  DIR *proc = opendir ("/proc");
  for (struct dirent *e; (e = readdir (proc)) != NULL;)
    n += e->d_name[0] >= '1' && e->d_name[0] <= '9' && process_state (atoi (e->d_name)) == 'Z';
  closedir (proc);
  return n;
}

/* What a host would do that opens by name: does the swap catch it? */
static bool
naive_reader_is_caught (struct stage *stage)
{
  char path[400], bytes[256];
  snprintf (path, sizeof path, "%s/race/secret", stage->workspace);
  for (long end = milliseconds () + 5000; milliseconds () < end;)
    {
      int fd = open (path, O_RDONLY | O_CLOEXEC);
      ssize_t n = fd >= 0 ? read (fd, bytes, sizeof bytes) : -1;
      close (fd);
      if (n > 0 && memmem (bytes, n, BAIT, strlen (BAIT)) != NULL)
        return true;
    }
  return false;
}

/* A host that opens what it finds waits for a writer that never comes. */
static bool
naive_reader_hangs (struct stage *stage)
{
  char path[400];
  snprintf (path, sizeof path, "%s/odd/pipe", stage->workspace);
  pid_t pid = fork ();
  if (pid == 0)
    _exit (open (path, O_RDONLY | O_CLOEXEC) < 0);
  struct timespec moment = { 0, 300000000 };
  nanosleep (&moment, NULL);
  return waitpid (pid, NULL, WNOHANG) == 0;
}

/* A host that looks how long a file is, and believes it when it reads. */
static bool
naive_reader_is_deceived (struct stage *stage)
{
  char path[400];
  static char bytes[1 << 20];
  struct stat st;
  for (long i = 0, end = milliseconds () + 5000; milliseconds () < end; i++)
    {
      snprintf (path, sizeof path, "%s/shifting/name-%ld", stage->workspace, i % 16);
      if (lstat (path, &st) != 0 || !S_ISREG (st.st_mode))
        continue;
      int fd = open (path, O_RDONLY | O_CLOEXEC);
      ssize_t n = read (fd, bytes, sizeof bytes);
      close (fd);
      if (n != st.st_size)
        return true;
    }
  return false;
}

static bool
is_crowded (struct stage *stage)
{
  char path[400];
  struct timespec moment = { 0, 50000000 };
  long n = 0;
  snprintf (path, sizeof path, "%s/crowd", stage->workspace);
  for (long end = milliseconds () + 30000; n <= 30000 && milliseconds () < end; nanosleep (&moment, NULL))
    {
      n = 0;
      DIR *folder = opendir (path);
      while (folder != NULL && readdir (folder) != NULL)
        n++;
      if (folder != NULL)
        closedir (folder);
    }
  return n > 30000;
}

/* Attacks that cannot see their own success: what their victim shows. */
static bool
shows_outside (struct stage *stage, const struct attack *attack, pid_t pid, pid_t agent, pid_t shim)
{
  const char *name = attack->name;
  char path[400];
  if (strcmp (name, "write_through_copy") == 0)
    {
      snprintf (path, sizeof path, "%s/through-copy", stage->workspace);
      return access (path, F_OK) == 0;
    }
  if (strncmp (name, "swap_path", 9) == 0)
    return naive_reader_is_caught (stage);
  if (strcmp (name, "shifting_tree") == 0)
    return naive_reader_is_deceived (stage);
  if (strcmp (name, "crowded_folder") == 0)
    return is_crowded (stage);
  if (strcmp (name, "odd_files") == 0)
    return naive_reader_hangs (stage);
  if (strcmp (name, "leave_bait") == 0)
    return access ("/tmp/" BAIT "left-behind-by-another", F_OK) == 0;
  if (strcmp (name, "zombie_flood") == 0)
    return count_zombies () > 500;
  for (long end = milliseconds () + 3000; milliseconds () < end;)
    {
      struct timespec moment = { 0, 1000000 };
      int state = strstr (name, "_shim") != NULL ? process_state (shim) : process_state (agent);
      if (strncmp (name, "kill_", 5) == 0 || strncmp (name, "stop_", 5) == 0)
        {
          if (state == 'T' || state == 'Z' || state == 0)
            return true;
        }
      else if (strcmp (name, "close_pipes") == 0)
        return state != 'Z' && waitpid (pid, NULL, WNOHANG) == 0;
      else if (strcmp (name, "ignore_signals") == 0 || strcmp (name, "stopped_tree") == 0)
        {
          /* A polite end does not reach it. */
          kill (pid, SIGTERM);
          if (milliseconds () > end - 2500)
            return waitpid (pid, NULL, WNOHANG) == 0;
        }
      else if (waitpid (pid, NULL, WNOHANG) == pid || milliseconds () > end - 2500)
        {
          /* The naive end of a command: its process alone. */
          kill (pid, SIGKILL);
          nanosleep (&moment, NULL);
          if (strcmp (name, "moving_target") == 0)
            return !stage_wait_heartbeat (stage, 300);
          return stage_count_marked (stage) > 0;
        }
      nanosleep (&moment, NULL);
    }
  return false;
}

static void
become_the_attack (struct stage *stage, const struct attack *attack, int out, int terminal)
{
  char program[400], *argv[] = { program, (char *)attack->name, stage->mark, NULL };
  char *environment[64] = { (char *)"PATH=/usr/bin:/bin", (char *)"HOME=/tmp" };
  int n = 2;
  for (int i = 0; stage->variables[i] != NULL; i++)
    environment[n++] = stage->variables[i];
  snprintf (program, sizeof program, "%s/malice", stage->mount);
  setsid ();
  int in = terminal >= 0 ? terminal : open ("/etc/passwd", O_RDONLY);
  if (terminal >= 0)
    ioctl (terminal, TIOCSCTTY, 0);
  dup2 (in, 0);
  dup2 (out, 1);
  dup2 (terminal >= 0 ? terminal : out, 2);
  /* A folder of the host that somebody forgot to close. */
  int folder = open (stage->home, O_PATH | O_DIRECTORY);
  dup2 (folder, 10);
  fcntl (10, F_SETFD, 0);
  const gid_t groups[] = { 4, 42 };
  (void)!setgroups (2, groups);
  if (attack->needs & MALICE_USER_PROOF)
    {
      if (setgroups (0, NULL) != 0 || setresgid (65534, 65534, 65534) != 0 || setresuid (65534, 65534, 65534) != 0)
        _exit (99);
    }
  execve (program, argv, environment);
  _exit (99);
}

/* What it printed, until it ends, closes its streams, or a deadline. */
static void
listen_to (int fd, pid_t pid, int deadline, int *status, bool *ended)
{
  size_t have = 0;
  char rest[65536];
  long end = milliseconds () + deadline;
  *ended = false;
  while (milliseconds () < end)
    {
      struct pollfd p = { .fd = fd, .events = POLLIN };
      int ready = poll (&p, 1, 20);
      if (ready == 1)
        {
          bool keep = have < sizeof output - 1;
          ssize_t n = read (fd, keep ? output + have : rest, keep ? sizeof output - 1 - have : sizeof rest);
          if (keep && n > 0)
            have += n;
          if (n > 0)
            continue;
        }
      siginfo_t info = { 0 };
      if (waitid (P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid)
        {
          *ended = true;
          *status = info.si_code == CLD_EXITED ? info.si_status : -1;
          break;
        }
      if (ready == 1)
        {
          struct timespec moment = { 0, 5000000 };
          nanosleep (&moment, NULL);
        }
    }
  output[have] = '\0';
}

static int
run_outside (const struct attack *attack, const char *program)
{
  struct stage stage;
  int pipes[2], status = -1, master = -1, terminal = -1;
  bool ended;
  furnish ();
  stage_set_up (&stage, program, attack->needs & MALICE_USER_PROOF ? 65534 : 0);
  pid_t agent = stand_in (), shim = stand_in ();
  stage_set_variable (&stage, "PROXY", "http://127.0.0.1:%d", naive_proxy_start ());
  stage_set_variable (&stage, "AGENT", "%d", (int)agent);
  stage_set_variable (&stage, "SHIM", "%d", (int)shim);
  if (openpty (&master, &terminal, NULL, NULL, NULL) != 0 || pipe (pipes) != 0)
    return BROKEN;
  fcntl (master, F_SETFD, FD_CLOEXEC);
  pid_t pid = fork ();
  if (pid == 0)
    become_the_attack (&stage, attack, pipes[1], attack->needs & MALICE_PTY ? terminal : -1);
  close (pipes[1]);
  bool watched = (attack->needs & (MALICE_TIMEOUT | MALICE_LINGER | MALICE_WATCHED)) != 0;
  listen_to (pipes[0], pid, attack->needs & (MALICE_TIMEOUT | MALICE_LINGER) ? 400 : 25000, &status, &ended);
  if (ended && status == MALICE_ESCAPED && (watched || strncmp (output, "ESCAPED", 7) == 0))
    return PROVEN;
  if (ended && status == MALICE_BROKEN)
    return BROKEN;
  if (watched && shows_outside (&stage, attack, pid, agent, shim))
    {
      strcpy (output, "seen from outside");
      return PROVEN;
    }
  return NOT_PROVEN;
}

/* The machine itself has no such thing: then nothing can be proven or lost. */
static const char *
machine_lacks (const struct attack *attack)
{
  struct rlimit core;
  if (strstr (attack->name, "x32") != NULL && syscall (0x40000000 | SYS_getpid) != getpid ())
    return "a kernel without x32 calls";
  if (strcmp (attack->name, "vsock") == 0 && socket (AF_VSOCK, SOCK_STREAM, 0) < 0)
    return "a kernel without AF_VSOCK";
#ifdef __x86_64__
  if (strcmp (attack->name, "io_ports") == 0 && geteuid () == 0 && ioperm (0x80, 1, 1) != 0)
    return "a kernel without port permissions";
#endif
  if (strcmp (attack->name, "core_dump") == 0 && getrlimit (RLIMIT_CORE, &core) == 0 && core.rlim_max == 0)
    return "core files are forbidden here already";
  return NULL;
}

/* What it was that ended so, where it said nothing itself. */
static void
say_how_it_ended (const char *what, pid_t pid, int status)
{
  if (output[0] != '\0')
    return;
  if (pid < 0)
    snprintf (output, sizeof output, "%s: fork: %s", what, strerror (errno));
  else if (WIFSIGNALED (status))
    snprintf (output, sizeof output, "%s: ended by signal %d without a word", what, WTERMSIG (status));
  else if (WEXITSTATUS (status) != PROVEN)
    snprintf (output, sizeof output, "%s: ended with %d without a word", what, WEXITSTATUS (status));
}

static int
prove (const struct attack *attack, const char *program)
{
  int words[2], status = 0;
  if (pipe (words) != 0)
    return BROKEN;
  fflush (stdout);
  output[0] = '\0';
  pid_t helper = fork_when_there_is_room ();
  if (helper == 0)
    {
      prctl (PR_SET_PDEATHSIG, SIGKILL);
      leave_the_host (attack);
      pid_t init = fork_when_there_is_room ();
      if (init == 0)
        {
          prctl (PR_SET_PDEATHSIG, SIGKILL);
          signal (SIGPIPE, SIG_IGN);
          int result = run_outside (attack, program);
          (void)!write (words[1], output, strnlen (output, 300));
          _exit (result);
        }
      if (init > 0)
        waitpid (init, &status, 0);
      if (init < 0 || WIFSIGNALED (status))
        {
          say_how_it_ended ("init", init, status);
          (void)!write (words[1], output, strnlen (output, 300));
        }
      _exit (init > 0 && WIFEXITED (status) ? WEXITSTATUS (status) : BROKEN);
    }
  close (words[1]);
  if (helper > 0)
    {
      waitpid (helper, &status, 0);
      ssize_t n = read (words[0], output, sizeof output - 1);
      output[n > 0 ? n : 0] = '\0';
    }
  close (words[0]);
  say_how_it_ended ("proof", helper, status);
  for (char *c = output; *c != '\0'; c++)
    if (*c == '\n' || *c == '#')
      *c = ' ';
  return helper > 0 && WIFEXITED (status) ? WEXITSTATUS (status) : BROKEN;
}

static bool
is_wanted (const char *name, int argc, char **argv)
{
  for (int i = 2; i < argc; i++)
    if (strcmp (argv[i], name) == 0)
      return true;
  return argc <= 2;
}

int
main (int argc, char **argv)
{
  int number = 0, failed = 0;
  if (argc < 2)
    {
      fprintf (stderr, "usage: prove-malice PROGRAM [NAME...]\n");
      return 2;
    }
  /* By descriptor: the folder it lies in may be covered outside. */
  char by_descriptor[64];
  int program = open (argv[1], O_RDONLY | O_CLOEXEC);
  if (program < 0)
    {
      perror (argv[1]);
      return 2;
    }
  snprintf (by_descriptor, sizeof by_descriptor, "/proc/self/fd/%d", program);
  for (size_t i = 0; i < sizeof attacks / sizeof *attacks; i++)
    {
      const struct attack *attack = &attacks[i];
      if (!is_wanted (attack->name, argc, argv))
        continue;
      number++;
      const char *lacking = machine_lacks (attack);
      if (lacking == NULL && (attack->needs & MALICE_REAL_ROOT) && geteuid () != 0)
        lacking = "needs root";
      if (lacking != NULL)
        {
          printf ("ok %d - %s # SKIP %s\n", number, attack->name, lacking);
          continue;
        }
      long start = milliseconds ();
      int result = prove (attack, by_descriptor);
      if (result == NOT_PROVEN && geteuid () != 0)
        {
          printf ("ok %d - %s # SKIP not allowed to an ordinary user outside either\n", number, attack->name);
          continue;
        }
      printf ("%sok %d - %s succeeds outside: %.200s (%ld ms)\n", result == PROVEN ? "" : "not ", number, attack->name,
              output, milliseconds () - start);
      failed += result != PROVEN;
    }
  printf ("1..%d\n", number);
  return failed > 0;
}
