/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Namespaces of its own give a command capabilities and with them the parts of
 * the kernel that only root was meant to reach. */
#include "../malice.h"

#include <dirent.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

static const unsigned long kinds[] = { CLONE_NEWUSER, CLONE_NEWNS,  CLONE_NEWPID,    CLONE_NEWNET,
                                       CLONE_NEWIPC,  CLONE_NEWUTS, CLONE_NEWCGROUP, CLONE_NEWTIME };

static void
unshare_each (void)
{
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    {
      if (syscall (SYS_unshare, kinds[i]) == 0)
        escaped ("unshare(0x%lx)", kinds[i]);
      if (syscall (SYS_unshare, CLONE_NEWUSER | kinds[i]) == 0)
        escaped ("unshare(CLONE_NEWUSER|0x%lx)", kinds[i]);
    }
}

void
attack_unshare_any (void)
{
  try_in_child (unshare_each);
}

void
attack_clone_namespace (void)
{
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    for (int with_user = 0; with_user < 3; with_user++)
      {
        unsigned long flags = kinds[i] | (with_user ? CLONE_NEWUSER : 0);
        if (kinds[i] == CLONE_NEWTIME)
          continue; /* not a clone() flag */
        long pid = syscall (SYS_clone, flags | SIGCHLD | (with_user == 2 ? 0x100000000ul : 0), 0, 0, 0, 0);
        if (pid == 0)
          _exit (0);
        if (pid > 0)
          escaped ("clone(0x%lx)", flags);
        struct clone_args arguments = { .flags = flags, .exit_signal = SIGCHLD };
        pid = syscall (SYS_clone3, &arguments, sizeof arguments);
        if (pid == 0)
          _exit (0);
        if (pid > 0)
          escaped ("clone3(0x%lx)", flags);
      }
}

void
attack_setns_any (void)
{
  static const char *const names[] = { "mnt", "net", "ipc", "uts", "cgroup", "pid", "user", "time" };
  DIR *proc = opendir ("/proc");
  for (struct dirent *e; proc != NULL && (e = readdir (proc)) != NULL;)
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
      {
        char path[300];
        snprintf (path, sizeof path, "/proc/%s/ns/%s", e->d_name, names[i]);
        int fd = open (path, O_RDONLY | O_CLOEXEC);
        if (fd >= 0 && setns (fd, 0) == 0)
          escaped ("setns to %s", path);
        close (fd);
      }
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    {
      int fd = (int)syscall (SYS_pidfd_open, (int)maybe_number ("AGENT", 1), 0);
      if (fd >= 0 && setns (fd, (int)kinds[i]) == 0)
        escaped ("setns(pidfd, 0x%lx)", kinds[i]);
      close (fd);
    }
}

/* To the value it has, so that the proof harms nothing. */
void
attack_namespace_limits (void)
{
  static const char *const names[] = { "max_user_namespaces", "max_mnt_namespaces", "max_net_namespaces",
                                       "max_pid_namespaces" };
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    {
      char path[128], value[32];
      snprintf (path, sizeof path, "/proc/sys/user/%s", names[i]);
      int fd = open (path, O_RDWR | O_CLOEXEC);
      ssize_t n = fd >= 0 ? read (fd, value, sizeof value) : -1;
      if (n > 0 && pwrite (fd, value, n, 0) == n)
        escaped ("%s can be written", path);
      close (fd);
    }
}
