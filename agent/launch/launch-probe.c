/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What holds, found by trying, after all was given away: the last thing before the
 * agent. A fact is set only where the attempt failed in the right way, so a control
 * that did not take effect, for whatever reason, is not reported. */
#include "launch-private.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define FAMILY_VSOCK 40

/* Of the keeper: what the sandbox must not share. */
static struct
{
  ino_t pid, net, ipc;
  dev_t root_device;
  ino_t root;
} outside;

static ino_t
inode_of (const char *path)
{
  struct stat info;
  return stat (path, &info) == 0 ? info.st_ino : 0;
}

void
launch_probe_remember (void)
{
  struct stat info;

  /* A keeper shares all of this with the launcher that it was forked from. */
  if (outside.pid != 0)
    return;
  outside.pid = inode_of ("/proc/self/ns/pid");
  outside.net = inode_of ("/proc/self/ns/net");
  outside.ipc = inode_of ("/proc/self/ns/ipc");
  if (stat ("/", &info) == 0)
    {
      outside.root_device = info.st_dev;
      outside.root = info.st_ino;
    }
}

static bool
is_own_namespace (const char *path, ino_t of_keeper)
{
  ino_t mine = inode_of (path);
  return mine != 0 && of_keeper != 0 && mine != of_keeper;
}

static size_t
read_file (const char *path, char *text, size_t size)
{
  int fd = open (path, O_RDONLY | O_CLOEXEC);
  ssize_t n = fd < 0 ? -1 : read (fd, text, size - 1);

  if (fd >= 0)
    close (fd);
  text[n < 0 ? 0 : n] = 0;
  return n < 0 ? 0 : (size_t)n;
}

static bool
cannot_make (const char *path)
{
  int fd = open (path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

  if (fd < 0)
    return errno == EROFS || errno == EACCES || errno == EPERM;
  close (fd);
  unlink (path);
  return false;
}

static bool
has_own_root (void)
{
  struct stat info;

  return stat ("/", &info) == 0 && (info.st_dev != outside.root_device || info.st_ino != outside.root)
         && cannot_make ("/.prism-probe") && cannot_make ("/usr/.prism-probe") && cannot_make ("/etc/.prism-probe");
}

/* /proc is this namespace's own when its idea of this process is this process's. */
static bool
has_own_pids (void)
{
  char target[24];
  ssize_t n = readlink ("/proc/self", target, sizeof target - 1);

  target[n < 0 ? 0 : n] = 0;
  return is_own_namespace ("/proc/self/ns/pid", outside.pid) && atoi (target) == getpid ();
}

/* Two lines of heading, then one for each interface. */
static bool
has_only_loopback (void)
{
  char text[4096];
  const char *line;
  unsigned n = 0;
  bool only = true;

  if (!is_own_namespace ("/proc/self/ns/net", outside.net) || read_file ("/proc/self/net/dev", text, sizeof text) == 0)
    return false;
  for (line = text; line != NULL && *line != 0; n++)
    {
      if (n >= 2)
        only = only && strncmp (line + strspn (line, " "), "lo:", 3) == 0;
      line = strchr (line, '\n');
      line = line != NULL ? line + 1 : NULL;
    }
  return only && n == 3;
}

static bool
is_refused (int family)
{
  int fd = socket (family, SOCK_STREAM | SOCK_CLOEXEC, 0);

  if (fd < 0)
    return true;
  close (fd);
  return false;
}

static bool
maps_one_plain_id (void)
{
  char text[256], *at = text;
  unsigned long inside, out, count;

  if (read_file ("/proc/self/uid_map", text, sizeof text) == 0)
    return false;
  inside = strtoul (at, &at, 10);
  out = strtoul (at, &at, 10);
  count = strtoul (at, &at, 10);
  /* One line of three numbers, the second not root's. */
  return inside == PRISM_LAUNCH_ID && out != 0 && count == 1 && (*at == 0 || (*at == '\n' && at[1] == 0));
}

static bool
has_no_capability (void)
{
  struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
  struct __user_cap_data_struct data[2];

  if (syscall (SYS_capget, &header, data) < 0)
    return false;
  for (int cap = 0; cap < 64; cap++)
    {
      int bounding = prctl (PR_CAPBSET_READ, cap, 0, 0, 0);
      if (bounding < 0)
        break;
      if (bounding != 0)
        return false;
    }
  return (data[0].effective | data[0].permitted | data[0].inheritable | data[1].effective | data[1].permitted
          | data[1].inheritable)
         == 0;
}

/* A child in a user namespace of its own; what errno says when there is none. */
static int
try_to_nest (void)
{
  pid_t pid = (pid_t)syscall (SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);

  if (pid == 0)
    _exit (0);
  if (pid < 0)
    return errno;
  while (waitpid (pid, NULL, 0) < 0 && errno == EINTR)
    ;
  return 0;
}

/* Two calls that the filter refuses in this way. */
static bool
is_filtered (void)
{
  return prctl (PR_GET_SECCOMP, 0, 0, 0, 0) == 2 && syscall (SYS_keyctl, 0, 0, 0, 0, 0) < 0 && errno == EPERM
         && try_to_nest () == EPERM;
}

/* What was found ahead, in the process itself, and what nothing that comes after it changes. */
static uint32_t found_ahead;

void
launch_probe_ahead (void)
{
  found_ahead = (has_own_pids () ? PRISM_LAUNCH_FACT_PID : 0) | (maps_one_plain_id () ? PRISM_LAUNCH_FACT_USER : 0)
                | (is_own_namespace ("/proc/self/ns/ipc", outside.ipc) ? PRISM_LAUNCH_FACT_IPC : 0);
}

static bool
is_found (uint32_t fact)
{
  return (found_ahead & fact) != 0;
}

uint32_t
launch_probe (void)
{
  const struct
  {
    uint32_t fact;
    bool holds;
  } found[] = {
    { PRISM_LAUNCH_FACT_ROOT, has_own_root () },
    { PRISM_LAUNCH_FACT_PID, is_found (PRISM_LAUNCH_FACT_PID) || has_own_pids () },
    { PRISM_LAUNCH_FACT_NET, has_only_loopback () },
    { PRISM_LAUNCH_FACT_FAMILIES, is_refused (FAMILY_VSOCK) },
    { PRISM_LAUNCH_FACT_NO_UNIX, is_refused (AF_UNIX) },
    { PRISM_LAUNCH_FACT_USER, is_found (PRISM_LAUNCH_FACT_USER) || maps_one_plain_id () },
    { PRISM_LAUNCH_FACT_CAPS, has_no_capability () },
    { PRISM_LAUNCH_FACT_NNP, prctl (PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 },
    { PRISM_LAUNCH_FACT_SECCOMP, is_filtered () },
    { PRISM_LAUNCH_FACT_NO_USERNS, try_to_nest () != 0 },
    { PRISM_LAUNCH_FACT_IPC, is_found (PRISM_LAUNCH_FACT_IPC) || is_own_namespace ("/proc/self/ns/ipc", outside.ipc) },
    { PRISM_LAUNCH_FACT_UNDUMPABLE, prctl (PR_GET_DUMPABLE, 0, 0, 0, 0) == 0 },
  };
  uint32_t facts = 0;

  for (size_t i = 0; i < sizeof found / sizeof *found; i++)
    facts |= found[i].holds ? found[i].fact : 0;
  return facts;
}
