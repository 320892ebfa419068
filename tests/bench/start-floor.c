/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* start-floor WORKSPACE: for each line on stdin one sandbox with /workspace/true-min in it, as
 * the kernel's work alone: no library, no policy, no report, no other process between, and no
 * way back from a failure. The root lies ready in a mount namespace of its own and the network
 * namespace is one for all, so that what is left is what no sandbox of this shape goes without.
 * Says how many microseconds each took. As root. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STACK_SIZE 65536
#define QUIET      (MS_NOSUID | MS_NODEV)
#define ID         10001

static int network;
static char stack[STACK_SIZE] __attribute__ ((aligned (16)));

static _Noreturn void
fail (const char *what)
{
  fprintf (stderr, "start-floor: %s: %s\n", what, strerror (errno));
  _exit (1);
}

static double
now_us (void)
{
  struct timespec t;

  clock_gettime (CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* --- the root, once ---------------------------------------------------------------- */

static void
bind_to (const char *from, const char *to, unsigned long flags)
{
  if (mount (from, to, NULL, MS_BIND, NULL) < 0
      || (flags != 0 && mount (NULL, to, NULL, MS_BIND | MS_REMOUNT | flags, NULL) < 0))
    fail (to);
}

static void
make_folders (void)
{
  static const char *const folders[] = { "usr", "etc", "proc", "dev", "tmp", "home", "home/prism", "workspace", "old" };
  static const char *const links[] = { "bin", "lib", "lib64", "sbin" };
  char target[32];

  for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
    if (mkdir (folders[i], 0755) < 0)
      fail (folders[i]);
  for (size_t i = 0; i < sizeof links / sizeof *links; i++)
    {
      snprintf (target, sizeof target, "usr/%s", links[i]);
      if (symlink (target, links[i]) < 0)
        fail (links[i]);
    }
}

static void
bind_devices (void)
{
  static const char *const devices[] = { "null", "zero", "full", "random", "urandom", "tty" };
  char from[32], to[32];

  for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
    {
      snprintf (from, sizeof from, "/dev/%s", devices[i]);
      snprintf (to, sizeof to, "dev/%s", devices[i]);
      close (open (to, O_CREAT | O_WRONLY | O_CLOEXEC, 0666));
      bind_to (from, to, 0);
    }
}

static void
build_root (const char *workspace)
{
  char opened[32]; /* it may lie below what is covered */
  int fd;

  if (unshare (CLONE_NEWNS) < 0 || mount (NULL, "/", NULL, MS_PRIVATE | MS_REC, NULL) < 0
      || (fd = open (workspace, O_PATH | O_DIRECTORY | O_CLOEXEC)) < 0
      || mount ("tmpfs", "/tmp", "tmpfs", QUIET, "mode=755") < 0 || chdir ("/tmp") < 0)
    fail ("the root");
  snprintf (opened, sizeof opened, "/proc/self/fd/%d", fd);
  make_folders ();
  bind_to ("/usr", "usr", MS_RDONLY | QUIET);
  bind_devices ();
  bind_to (opened, "workspace", QUIET);
  close (fd);
  if (syscall (SYS_pivot_root, ".", "old") < 0 || chdir ("/") < 0 || umount2 ("/old", MNT_DETACH) < 0
      || rmdir ("/old") < 0 || mount (NULL, "/", NULL, MS_BIND | MS_REMOUNT | MS_RDONLY | QUIET, NULL) < 0)
    fail ("entering the root");
}

/* --- one sandbox --------------------------------------------------------------------- */

static void
write_text (const char *path, const char *text)
{
  int fd = open (path, O_WRONLY | O_CLOEXEC);

  if (fd < 0 || write (fd, text, strlen (text)) != (ssize_t)strlen (text))
    fail (path);
  close (fd);
}

static void
become_nobody (void)
{
  char map[48];

  snprintf (map, sizeof map, "%d %d 1\n", ID, ID);
  if (setresgid (ID, ID, ID) < 0 || setresuid (ID, ID, ID) < 0 || prctl (PR_SET_DUMPABLE, 1, 0, 0, 0) < 0
      || unshare (CLONE_NEWUSER) < 0)
    fail ("the user namespace");
  write_text ("/proc/self/setgroups", "deny");
  write_text ("/proc/self/uid_map", map);
  write_text ("/proc/self/gid_map", map);
}

static void
give_all_away (void)
{
  struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
  struct __user_cap_data_struct none[2] = { { 0, 0, 0 } };
  struct sock_filter filter[] = { { BPF_LD | BPF_W | BPF_ABS, 0, 0, 0 },
                                  { BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_mount },
                                  { BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | EPERM },
                                  { BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW } };
  struct sock_fprog program = { sizeof filter / sizeof *filter, filter };

  for (int i = 0; i <= CAP_LAST_CAP; i++)
    prctl (PR_CAPBSET_DROP, i, 0, 0, 0);
  if (syscall (SYS_capset, &head, none) < 0 || prctl (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0
      || prctl (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
    fail ("giving the rights away");
}

static int
be_sandbox (void *data)
{
  char program[] = "/workspace/true-min", *const argv[] = { program, NULL }, *const nothing[] = { NULL };

  (void)data;
  prctl (PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (mount ("proc", "/proc", "proc", QUIET | MS_NOEXEC, NULL) < 0
      || mount ("tmpfs", "/tmp", "tmpfs", QUIET, "mode=1777") < 0
      || mount ("tmpfs", "/home/prism", "tmpfs", QUIET, "mode=755") < 0 || setns (network, CLONE_NEWNET) < 0
      || sethostname ("prism", 5) < 0 || chdir ("/workspace") < 0 || setsid () < 0)
    fail ("the sandbox");
  become_nobody ();
  give_all_away ();
  execve (argv[0], argv, nothing);
  fail (argv[0]);
}

static void
run_one (void)
{
  const int namespaces = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
  int status;
  pid_t pid = clone (be_sandbox, stack + sizeof stack, namespaces | CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);

  if (pid < 0 || waitpid (pid, &status, 0) < 0)
    fail ("clone");
  if (!WIFEXITED (status) || WEXITSTATUS (status) != 0)
    _exit (1);
}

int
main (int argc, char **argv)
{
  char line[16];
  int own = open ("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);

  if (argc != 2 || own < 0 || unshare (CLONE_NEWNET) < 0
      || (network = open ("/proc/self/ns/net", O_RDONLY | O_CLOEXEC)) < 0 || setns (own, CLONE_NEWNET) < 0)
    fail ("a network namespace");
  build_root (argv[1]);
  printf ("ready\n");
  fflush (stdout);
  while (fgets (line, sizeof line, stdin) != NULL)
    {
      double start = now_us ();
      run_one ();
      printf ("%.1f\n", now_us () - start);
      fflush (stdout);
    }
  return 0;
}
