/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The host's processes; pid 1, which is the agent; the parent, which is the
 * agent's shim and shares memory and descriptors with it. On the proof's stage
 * outside, both are a process of the same user that defends itself with nothing. */
#include "../malice.h"

#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

static pid_t
agent (void)
{
  return (pid_t)maybe_number ("AGENT", 1);
}

static pid_t
shim (void)
{
  return (pid_t)maybe_number ("SHIM", getppid ());
}

void
attack_see_host_process (void)
{
  DIR *proc = opendir ("/proc");
  for (struct dirent *e; proc != NULL && (e = readdir (proc)) != NULL;)
    {
      char path[300], bytes[4096];
      snprintf (path, sizeof path, "/proc/%s/cmdline", e->d_name);
      int fd = open (path, O_RDONLY | O_CLOEXEC);
      ssize_t n = fd >= 0 ? read (fd, bytes, sizeof bytes) : -1;
      close (fd);
      if (n > 0)
        look_for_bait (path, bytes, n);
    }
}

/* The state letter of /proc/PID/stat, or 0. */
static char
state_of (pid_t pid)
{
  char path[64], bytes[512];
  snprintf (path, sizeof path, "/proc/%d/stat", (int)pid);
  int fd = open (path, O_RDONLY | O_CLOEXEC);
  ssize_t n = fd >= 0 ? read (fd, bytes, sizeof bytes - 1) : -1;
  close (fd);
  if (n <= 0)
    return 0;
  bytes[n] = '\0';
  const char *end = strrchr (bytes, ')');
  return end != NULL ? end[2] : 0;
}

/* A signal takes a moment to show: until the deadline, is it stopped or dead? */
static int
fell (pid_t pid)
{
  for (int i = 0; i < 200; i++)
    {
      struct timespec moment = { 0, 1000000 };
      char state = state_of (pid);
      if (state == 0 || strchr ("TtZX", state) != NULL)
        return 1;
      nanosleep (&moment, NULL);
    }
  return 0;
}

/* Inside, that pid is another process or none; whether the host's lives is for
 * the one who runs this to see. Outside, it shows here. */
void
attack_signal_host_process (void)
{
  pid_t victim = (pid_t)given_number ("VICTIM");
  int same = state_of (victim) != 0;
  kill (victim, SIGTERM);
  int fd = (int)syscall (SYS_pidfd_open, victim, 0);
  if (fd >= 0)
    syscall (SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
  if (kill (victim, SIGKILL) == 0 && same && fell (victim))
    escaped ("pid %d of the host was killed", (int)victim);
}

void
attack_kill_agent (void)
{
  pid_t target = agent ();
  int pidfd = (int)syscall (SYS_pidfd_open, target, 0);
  for (int s = 1; s <= 64; s++)
    {
      siginfo_t info = { .si_signo = s, .si_code = SI_QUEUE };
      info.si_pid = getpid ();
      kill (target, s);
      syscall (SYS_tgkill, target, target, s);
      syscall (SYS_tkill, target, s);
      syscall (SYS_rt_sigqueueinfo, target, s, &info);
      syscall (SYS_rt_tgsigqueueinfo, target, target, s, &info);
      if (pidfd >= 0)
        syscall (SYS_pidfd_send_signal, pidfd, s, NULL, 0);
    }
  /* The kernel as the messenger: readable data on a pipe, addressed to it. */
  int p[2];
  if (pipe (p) == 0)
    {
      fcntl (p[0], F_SETOWN, target);
      fcntl (p[0], F_SETSIG, SIGKILL);
      fcntl (p[0], F_SETFL, O_ASYNC);
      (void)!write (p[1], "x", 1);
    }
  kill (target, SIGSTOP);
  if (fell (target))
    escaped ("pid %d is stopped or dead", (int)target);
}

static void
read_process (pid_t pid)
{
  static const char *const files[] = { "environ",   "mem", "maps",    "auxv",  "smaps",      "pagemap",
                                       "numa_maps", "io",  "syscall", "stack", "personality" };
  static const char *const links[] = { "root", "cwd", "exe", "fd/0", "fd/3", "fd/4", "ns/net", "ns/mnt" };
  char path[128], to[256];
  for (size_t i = 0; i < sizeof files / sizeof *files; i++)
    for (int by_task = 0; by_task < 2; by_task++)
      {
        if (by_task)
          snprintf (path, sizeof path, "/proc/%d/task/%d/%s", (int)pid, (int)pid, files[i]);
        else
          snprintf (path, sizeof path, "/proc/%d/%s", (int)pid, files[i]);
        int fd = open (path, O_RDONLY | O_CLOEXEC);
        if (fd >= 0 && (strcmp (files[i], "mem") == 0 || read (fd, to, sizeof to) > 0))
          escaped ("%s is readable", path);
        close (fd);
      }
  for (size_t i = 0; i < sizeof links / sizeof *links; i++)
    {
      snprintf (path, sizeof path, "/proc/%d/%s", (int)pid, links[i]);
      if (readlink (path, to, sizeof to) > 0)
        escaped ("%s is readable", path);
    }
  snprintf (path, sizeof path, "/proc/%d/fd", (int)pid);
  DIR *d = opendir (path);
  if (d != NULL)
    escaped ("%s can be listed", path);
  static const char *const knobs[] = { "oom_score_adj", "oom_adj", "clear_refs", "mem", "comm", "coredump_filter" };
  for (size_t i = 0; i < sizeof knobs / sizeof *knobs; i++)
    {
      snprintf (path, sizeof path, "/proc/%d/%s", (int)pid, knobs[i]);
      if (open (path, O_WRONLY | O_CLOEXEC) >= 0)
        escaped ("%s opens for writing", path);
    }
  /* Anybody may open this one; the kernel asks at the write. */
  snprintf (path, sizeof path, "/proc/%d/timerslack_ns", (int)pid);
  int slack = open (path, O_RDWR | O_CLOEXEC);
  if (slack >= 0 && write (slack, "50000", 5) == 5)
    escaped ("%s was written", path);
}

void
attack_read_agent (void)
{
  read_process (agent ());
}

void
attack_read_shim (void)
{
  read_process (shim ());
}

static void
trace_process (pid_t pid)
{
  char byte;
  struct iovec local = { &byte, 1 };
  /* EFAULT means: allowed, only nothing was mapped there. */
  const uintptr_t addresses[] = { 0x400000, 0x10000, 0x7ffffffde000 };
  for (size_t i = 0; i < 3; i++)
    {
      struct iovec remote = { (void *)addresses[i], 1 };
      if (process_vm_readv (pid, &local, 1, &remote, 1, 0) >= 0 || errno == EFAULT)
        escaped ("process_vm_readv of pid %d is allowed", (int)pid);
      if (process_vm_writev (pid, &local, 1, &remote, 1, 0) >= 0 || errno == EFAULT)
        escaped ("process_vm_writev of pid %d is allowed", (int)pid);
    }
  int pidfd = (int)syscall (SYS_pidfd_open, pid, 0);
  for (int fd = 0; pidfd >= 0 && fd < 64; fd++)
    if (syscall (SYS_pidfd_getfd, pidfd, fd, 0) >= 0)
      escaped ("pidfd_getfd took descriptor %d of pid %d", fd, (int)pid);
  if (syscall (SYS_kcmp, getpid (), pid, 0, 0, 0) >= 0)
    escaped ("kcmp with pid %d is allowed", (int)pid);
  if (ptrace (PTRACE_SEIZE, pid, NULL, NULL) == 0)
    escaped ("ptrace seized pid %d", (int)pid);
  if (ptrace (PTRACE_ATTACH, pid, NULL, NULL) == 0)
    escaped ("ptrace attached to pid %d", (int)pid);
}

void
attack_trace_agent (void)
{
  trace_process (agent ());
}

void
attack_trace_shim (void)
{
  trace_process (shim ());
}

/* To the value it has: permission is what counts, and nothing is harmed by the proof. */
static void
limit_process (pid_t pid)
{
  for (int resource = 0; resource < RLIM_NLIMITS; resource++)
    {
      struct rlimit old;
      if (prlimit (pid, resource, NULL, &old) == 0 && prlimit (pid, resource, &old, NULL) == 0)
        escaped ("prlimit set resource %d of pid %d", resource, (int)pid);
    }
}

void
attack_limit_agent (void)
{
  limit_process (agent ());
}

void
attack_limit_shim (void)
{
  limit_process (shim ());
}

void
attack_starve_agent (void)
{
  pid_t pid = agent ();
  cpu_set_t set;
  struct sched_param parameter = { 0 };
  errno = 0;
  int nice_value = getpriority (PRIO_PROCESS, pid);
  if (errno == 0 && setpriority (PRIO_PROCESS, pid, nice_value) == 0)
    escaped ("setpriority on pid %d", (int)pid);
  if (sched_getaffinity (pid, sizeof set, &set) == 0 && sched_setaffinity (pid, sizeof set, &set) == 0)
    escaped ("sched_setaffinity on pid %d", (int)pid);
  if (sched_setscheduler (pid, SCHED_OTHER, &parameter) == 0)
    escaped ("sched_setscheduler on pid %d", (int)pid);
  if (syscall (SYS_ioprio_set, 1, pid, 2 << 13 | 4) == 0)
    escaped ("ioprio_set on pid %d", (int)pid);
}

static void
search_memory (pid_t pid)
{
  static char bytes[65536];
  char path[64], line[512];
  snprintf (path, sizeof path, "/proc/%d/maps", (int)pid);
  FILE *maps = fopen (path, "re");
  snprintf (path, sizeof path, "/proc/%d/mem", (int)pid);
  int mem = open (path, O_RDONLY | O_CLOEXEC);
  while (maps != NULL && mem >= 0 && fgets (line, sizeof line, maps) != NULL)
    {
      unsigned long from, to;
      if (sscanf (line, "%lx-%lx rw", &from, &to) != 2)
        continue;
      for (; from < to && to - from < 64ul << 20; from += sizeof bytes)
        {
          ssize_t n = pread (mem, bytes, sizeof bytes, (off_t)from);
          if (n > 0)
            look_for_bait (path, bytes, n);
        }
    }
  if (maps != NULL)
    fclose (maps);
  close (mem);
}

void
attack_read_siblings (void)
{
  DIR *proc = opendir ("/proc");
  for (struct dirent *e; proc != NULL && (e = readdir (proc)) != NULL;)
    {
      pid_t pid = (pid_t)atoi (e->d_name);
      if (pid <= 0 || pid == getpid ())
        continue;
      for (int fd = 0; fd < 64; fd++)
        {
          char path[64], bytes[256];
          struct stat st;
          snprintf (path, sizeof path, "/proc/%d/fd/%d", (int)pid, fd);
          if (stat (path, &st) != 0 || !S_ISREG (st.st_mode))
            continue;
          int file = open (path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
          ssize_t n = file >= 0 ? read (file, bytes, sizeof bytes) : -1;
          close (file);
          if (n > 0)
            look_for_bait (path, bytes, n);
        }
      search_memory (pid);
    }
}
