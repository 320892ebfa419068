/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The kernel's own knobs, logs and less known doors. */
#include "../malice.h"

#include <stdbool.h>

#include <dirent.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/random.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/fanotify.h>
#include <sys/io.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/timex.h>
#include <sys/wait.h>
#include <time.h>

/* To the value it has. Some can be opened by anybody, and ask at the write. */
static bool
writes_what_it_reads (int fd)
{
  char value[4096];
  ssize_t n = pread (fd, value, sizeof value, 0);
  return n <= 0 || pwrite (fd, value, n, 0) == n;
}

static void
find_writable (const char *folder, int depth, int *budget)
{
  bool sysctl = strncmp (folder, "/proc/sys", 9) == 0;
  DIR *d = opendir (folder);
  for (struct dirent *e; d != NULL && (e = readdir (d)) != NULL && --*budget > 0;)
    {
      char path[2048];
      if (e->d_name[0] == '.')
        continue;
      snprintf (path, sizeof path, "%s/%s", folder, e->d_name);
      if (e->d_type == DT_DIR && depth > 0)
        find_writable (path, depth - 1, budget);
      else if (e->d_type == DT_REG && access (path, F_OK) == 0)
        {
          int fd = open (path, (sysctl ? O_RDWR : O_WRONLY) | O_NONBLOCK | O_CLOEXEC);
          if (fd >= 0 && (!sysctl || writes_what_it_reads (fd)))
            escaped ("%s can be written", path);
          close (fd);
        }
    }
  if (d != NULL)
    closedir (d);
}

void
attack_write_sysctl (void)
{
  int budget = 20000;
  static const char *const others[] = { "/proc/sysrq-trigger",
                                        "/proc/mtrr",
                                        "/proc/acpi/wakeup",
                                        "/proc/bus/pci/00/00.0",
                                        "/proc/irq/default_smp_affinity",
                                        "/proc/timer_stats",
                                        "/proc/self/loginuid_" };
  find_writable ("/proc/sys", 8, &budget);
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (open (others[i], O_WRONLY | O_CLOEXEC) >= 0)
      escaped ("%s opens for writing", others[i]);
}

void
attack_read_kernel (void)
{
  static char bytes[65536];
  if (syscall (SYS_syslog, 3, bytes, sizeof bytes) > 0 || syscall (SYS_syslog, 10, NULL, 0) > 0)
    escaped ("the kernel log is readable by syslog()");
  static const char *const files[] = { "/proc/kmsg",
                                       "/dev/kmsg",
                                       "/proc/kcore",
                                       "/proc/kpagecount",
                                       "/proc/kpageflags",
                                       "/proc/vmallocinfo",
                                       "/proc/slabinfo",
                                       "/proc/timer_list",
                                       "/proc/sched_debug",
                                       "/sys/kernel/debug",
                                       "/sys/kernel/tracing/trace",
                                       "/sys/firmware/dmi/tables/DMI",
                                       "/proc/config_" };
  for (size_t i = 0; i < sizeof files / sizeof *files; i++)
    {
      int fd = open (files[i], O_RDONLY | O_NONBLOCK | O_CLOEXEC);
      /* An engine lays /dev/null over some of them; an empty folder tells nothing. */
      struct stat st;
      if (fd >= 0 && fstat (fd, &st) == 0
          && ((S_ISCHR (st.st_mode) && st.st_rdev == makedev (1, 3)) || (S_ISDIR (st.st_mode) && st.st_nlink <= 2)))
        continue;
      if (fd >= 0)
        escaped ("%s opens", files[i]);
    }
  static const char *const tables[] = { "/proc/kallsyms", "/proc/modules", "/proc/iomem" };
  for (size_t i = 0; i < 3; i++)
    {
      int fd = open (tables[i], O_RDONLY | O_CLOEXEC);
      ssize_t n = fd >= 0 ? read (fd, bytes, sizeof bytes - 1) : -1;
      bytes[n > 0 ? n : 0] = '\0';
      if (i == 0 && strtoull (bytes, NULL, 16) != 0)
        escaped ("/proc/kallsyms shows addresses");
      if (i == 1 && (strstr (bytes, " 0xffff") != NULL))
        escaped ("/proc/modules shows addresses");
      if (i == 2 && n > 0 && strstr (bytes, "-") != NULL && strncmp (bytes, "00000000-00000000", 17) != 0)
        escaped ("/proc/iomem shows addresses");
    }
}

void
attack_write_sys (void)
{
  int budget = 30000;
  find_writable ("/sys", 6, &budget);
}

void
attack_cgroup_files (void)
{
  static const char *const roots[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/memory",
                                       "/sys/fs/cgroup/pids", "/cgroup" };
  for (size_t i = 0; i < sizeof roots / sizeof *roots; i++)
    {
      char path[256];
      snprintf (path, sizeof path, "%s/malice-%d", roots[i], (int)getpid ());
      if (mkdir (path, 0755) == 0)
        {
          rmdir (path);
          escaped ("made a cgroup in %s", roots[i]);
        }
      static const char *const knobs[] = { "cgroup.procs",          "tasks",      "memory.max",
                                           "memory.limit_in_bytes", "pids.max",   "release_agent",
                                           "notify_on_release",     "cgroup.kill" };
      for (size_t k = 0; k < sizeof knobs / sizeof *knobs; k++)
        {
          snprintf (path, sizeof path, "%s/%s", roots[i], knobs[k]);
          if (open (path, O_WRONLY | O_CLOEXEC) >= 0)
            escaped ("%s opens for writing", path);
        }
    }
}

void
attack_keyrings (void)
{
  if (syscall (SYS_add_key, "user", "malice", "x", 1, -2) >= 0)
    escaped ("add_key");
  if (syscall (SYS_keyctl, 0, -3, 1) >= 0 || syscall (SYS_keyctl, 1, NULL) >= 0)
    escaped ("keyctl");
  if (syscall (SYS_request_key, "user", "malice", NULL, 0) >= 0 || errno == ENOKEY)
    escaped ("request_key");
}

void
attack_bpf (void)
{
  union bpf_attr map = { .map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1 };
  if (syscall (SYS_bpf, BPF_MAP_CREATE, &map, sizeof map) >= 0)
    escaped ("a BPF map was made");
  struct bpf_insn code[] = { { .code = BPF_ALU64 | BPF_MOV | BPF_K }, { .code = BPF_JMP | BPF_EXIT } };
  union bpf_attr program = {
    .prog_type = BPF_PROG_TYPE_SOCKET_FILTER, .insn_cnt = 2, .insns = (uintptr_t)code, .license = (uintptr_t) "GPL"
  };
  if (syscall (SYS_bpf, BPF_PROG_LOAD, &program, sizeof program) >= 0)
    escaped ("a BPF program was loaded");
}

void
attack_perf_events (void)
{
  for (unsigned type = 0; type < 3; type++)
    {
      struct perf_event_attr attributes = {
        .type = type, .size = sizeof attributes, .exclude_kernel = 1, .exclude_hv = 1
      };
      if (syscall (SYS_perf_event_open, &attributes, 0, -1, -1, 0) >= 0)
        escaped ("a performance event of type %u was opened", type);
    }
}

void
attack_user_faults (void)
{
  if (syscall (SYS_userfaultfd, O_CLOEXEC) >= 0 || syscall (SYS_userfaultfd, O_CLOEXEC | 1) >= 0)
    escaped ("a userfaultfd was made");
}

/* The tick to the value it has: permission is what counts. */
void
attack_set_time (void)
{
  struct timex state = { .modes = 0 };
  if (adjtimex (&state) >= 0)
    {
      struct timex same = { .modes = ADJ_TICK, .tick = state.tick };
      if (adjtimex (&same) >= 0)
        escaped ("adjtimex");
      if (syscall (SYS_clock_adjtime, CLOCK_REALTIME, &same) >= 0)
        escaped ("clock_adjtime");
    }
  struct timespec now;
  if (clock_gettime (CLOCK_REALTIME, &now) == 0 && clock_settime (CLOCK_REALTIME, &now) == 0)
    escaped ("clock_settime");
}

void
attack_set_hostname (void)
{
  if (sethostname ("malice", 6) == 0)
    escaped ("sethostname");
  if (setdomainname ("malice", 6) == 0)
    escaped ("setdomainname");
}

/* One pool serves the machine. */
void
attack_random_pool (void)
{
  static const char *const names[] = { "/dev/random", "/dev/urandom" };
  struct
  {
    struct rand_pool_info head;
    char bytes[4];
  } fed = { .head = { .entropy_count = 1, .buf_size = 4 } };
  for (int i = 0; i < 2; i++)
    {
      int fd = open (names[i], O_RDWR | O_CLOEXEC), count = 1;
      if (fd < 0)
        fd = open (names[i], O_RDONLY | O_CLOEXEC);
      if (ioctl (fd, RNDADDTOENTCNT, &count) == 0 || ioctl (fd, RNDADDENTROPY, &fed) == 0
          || ioctl (fd, RNDRESEEDCRNG) == 0 || ioctl (fd, RNDCLEARPOOL) == 0)
        escaped ("%s is told what is random", names[i]);
      close (fd);
    }
}

#ifndef PTRACE_O_SUSPEND_SECCOMP
#define PTRACE_O_SUSPEND_SECCOMP (1 << 21)
#endif

void
attack_suspend_seccomp (void)
{
  int status;
  pid_t pid = fork ();
  if (pid == 0)
    for (;;)
      pause ();
  long result = ptrace (PTRACE_SEIZE, pid, NULL, (void *)(uintptr_t)PTRACE_O_SUSPEND_SECCOMP);
  if (result != 0 && ptrace (PTRACE_ATTACH, pid, NULL, NULL) == 0 && waitpid (pid, &status, __WALL) == pid)
    result = ptrace (PTRACE_SETOPTIONS, pid, NULL, (void *)(uintptr_t)PTRACE_O_SUSPEND_SECCOMP);
  kill (pid, SIGKILL);
  if (result == 0)
    escaped ("the filter of a traced child is suspended");
}

static int
passed (long result)
{
  return result >= 0 || (errno != EPERM && errno != ENOSYS && errno != EACCES);
}

/* Each with an argument that cannot work: an error other than "not permitted"
 * means that the kernel would have done it. */
void
attack_modules (void)
{
  if (passed (syscall (SYS_delete_module, "malice_no_such_module", O_NONBLOCK)))
    escaped ("delete_module is allowed");
  if (passed (syscall (SYS_init_module, "x", 1ul, "")))
    escaped ("init_module is allowed");
  if (passed (syscall (SYS_finit_module, -1, "", 0)))
    escaped ("finit_module is allowed");
  if (passed (syscall (SYS_kexec_load, 0ul, 99ul, NULL, 0ul)))
    escaped ("kexec_load is allowed");
  if (passed (syscall (SYS_swapoff, "/malice-no-such-swap")))
    escaped ("swapoff is allowed");
  if (passed (syscall (SYS_acct, "/malice/no/such/file")))
    escaped ("acct is allowed");
}

void
attack_io_ports (void)
{
#ifdef __x86_64__
  if (iopl (3) == 0)
    escaped ("iopl");
  if (ioperm (0x80, 1, 1) == 0)
    escaped ("ioperm");
#endif
}

#ifdef __x86_64__
static void
getpid_by_int80 (void)
{
  long result;
  __asm__ volatile("int $0x80" : "=a"(result) : "a"(20L) : "memory", "r8", "r9", "r10", "r11");
  if (result == getpid ())
    escaped ("int 0x80 reaches the kernel's i386 calls");
}

static void
getpid_by_x32 (void)
{
  if (syscall (0x40000000 | SYS_getpid) == getpid ())
    escaped ("x32 numbers reach the kernel");
}
#endif

void
attack_int80_at_all (void)
{
#ifdef __x86_64__
  try_in_child (getpid_by_int80);
#endif
}

void
attack_x32_at_all (void)
{
#ifdef __x86_64__
  try_in_child (getpid_by_x32);
#endif
}

void
attack_personality_low_page (void)
{
  personality (MMAP_PAGE_ZERO | READ_IMPLIES_EXEC | ADDR_COMPAT_LAYOUT);
  void *zero = mmap (NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  if (zero != MAP_FAILED)
    escaped ("the zero page is mapped");
}

static void
die_with_core (rlim_t soft)
{
  struct rlimit limit;
  getrlimit (RLIMIT_CORE, &limit);
  limit.rlim_cur = soft < limit.rlim_max ? soft : limit.rlim_max;
  setrlimit (RLIMIT_CORE, &limit);
  (void)!chdir (given ("WORKSPACE"));
  signal (SIGABRT, SIG_DFL);
  prctl (PR_SET_DUMPABLE, 1, 0, 0, 0);
  abort ();
}

void
attack_core_dump (void)
{
  const rlim_t softs[] = { RLIM_INFINITY, 0, 1 };
  for (int i = 0; i < 3; i++)
    {
      pid_t pid = fork ();
      int status;
      if (pid == 0)
        die_with_core (softs[i]);
      if (waitpid (pid, &status, 0) == pid && WIFSIGNALED (status) && WCOREDUMP (status))
        escaped ("a core was dumped with a soft limit of %ld", (long)softs[i]);
    }
}

void
attack_seccomp_undo (void)
{
  struct sock_filter allow[] = { BPF_STMT (BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
  struct sock_fprog program = { 1, allow };
  prctl (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  syscall (SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
  prctl (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
  const int families[] = { AF_VSOCK, AF_ALG, AF_PACKET };
  for (int i = 0; i < 3; i++)
    for (int type = SOCK_STREAM; type <= SOCK_SEQPACKET; type++)
      if (socket (families[i], type, 0) >= 0)
        escaped ("family %d is open after a filter of its own", families[i]);
}

void
attack_fanotify (void)
{
  int fd = fanotify_init (FAN_CLASS_NOTIF | FAN_CLOEXEC, O_RDONLY);
  if (fd < 0)
    fd = fanotify_init (FAN_CLASS_NOTIF | FAN_REPORT_FID | FAN_CLOEXEC, O_RDONLY);
  const unsigned scopes[] = { FAN_MARK_MOUNT, FAN_MARK_FILESYSTEM };
  for (int i = 0; i < 2 && fd >= 0; i++)
    if (fanotify_mark (fd, FAN_MARK_ADD | scopes[i], FAN_OPEN | FAN_MODIFY, AT_FDCWD, given ("WORKSPACE")) == 0)
      escaped ("a whole mount or filesystem is watched");
}
