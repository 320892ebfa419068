/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Who the command is, and whether it can become somebody else. */
#include "../malice.h"

#include <grp.h>
#include <linux/capability.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

void
attack_capabilities (void)
{
  struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
  struct __user_cap_data_struct data[2] = { 0 };
  if (syscall (SYS_capget, &head, data) == 0)
    for (int i = 0; i < 2; i++)
      if (data[i].effective | data[i].permitted | data[i].inheritable)
        escaped ("capabilities: effective %08x permitted %08x inheritable %08x", data[i].effective, data[i].permitted,
                 data[i].inheritable);
  for (int cap = 0; cap < 64; cap++)
    {
      if (prctl (PR_CAPBSET_READ, cap, 0, 0, 0) == 1)
        escaped ("capability %d is in the bounding set", cap);
      if (prctl (PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, cap, 0, 0) == 1)
        escaped ("capability %d is ambient", cap);
    }
}

/* Who reads believes what the kernel let pass. */
void
attack_forged_credentials (void)
{
  int pair[2], on = 1;
  const struct ucred names[] = { { getpid (), 0, 0 }, { 1, getuid (), getgid () }, { getppid (), 0, 0 } };
  if (getuid () == 0 && maybe_given ("AGENT") == NULL)
    escaped ("runs as root anyway");
  if (socketpair (AF_UNIX, SOCK_STREAM, 0, pair) != 0)
    broken ("socketpair: %s", strerror (errno));
  setsockopt (pair[1], SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    {
      union
      {
        struct cmsghdr head;
        char bytes[CMSG_SPACE (sizeof (struct ucred))];
      } control = { .head = { CMSG_LEN (sizeof (struct ucred)), SOL_SOCKET, SCM_CREDENTIALS } };
      struct iovec body = { (void *)"x", 1 };
      struct msghdr message = {
        .msg_iov = &body, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control
      };
      memcpy (CMSG_DATA (&control.head), &names[i], sizeof names[i]);
      if (sendmsg (pair[0], &message, 0) == 1 && (names[i].uid != getuid () || names[i].pid != getpid ()))
        escaped ("a message went out as uid %u of pid %d", names[i].uid, (int)names[i].pid);
    }
}

void
attack_become_root (void)
{
  uid_t r, e, s;
  const uid_t wanted[] = { 0, 1, 1000, 65534 };
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
    {
      uid_t id = wanted[i];
      if (getuid () != id && (setuid (id) == 0 || setresuid (id, id, id) == 0 || seteuid (id) == 0))
        escaped ("became uid %u", id);
      if (getgid () != id && (setgid (id) == 0 || setresgid (id, id, id) == 0))
        escaped ("became gid %u", id);
      setfsuid (id);
      if ((uid_t)setfsuid (id) == id && getuid () != id)
        escaped ("became filesystem uid %u", id);
    }
  if (getresuid (&r, &e, &s) == 0 && (r != e || e != s || r == 0))
    escaped ("is uid %u, effective %u, saved %u", r, e, s);
  const gid_t groups[] = { 0, 4, 6, 42 };
  if (setgroups (4, groups) == 0)
    escaped ("took supplementary groups");
}

void
attack_host_groups (void)
{
  gid_t groups[256];
  int n = getgroups (256, groups);
  /* An engine names the own group once more. */
  for (int i = 0; i < n; i++)
    if (groups[i] != getegid () || groups[i] == 0)
      escaped ("holds %d supplementary groups, among them %u", n, groups[i]);
}

static const char *set_id_program;

static void
run_set_id (void)
{
  setenv ("MALICE_NESTED", "1", 1);
  execl (set_id_program, set_id_program, "set_id_program", NULL);
  _exit (MALICE_CONTAINED);
}

void
attack_set_id_program (void)
{
  if (geteuid () != getuid () || getegid () != getgid ())
    escaped ("runs as uid %u, gid %u", geteuid (), getegid ());
  if (maybe_given ("NESTED") != NULL)
    return;
  char in_mount[512], *in_workspace = workspace_path ("malice-setid");
  snprintf (in_mount, sizeof in_mount, "%s/malice-setid", given ("RO"));
  const char *programs[] = { in_mount, in_workspace };
  for (int i = 0; i < 2; i++)
    {
      struct stat st;
      if (stat (programs[i], &st) != 0)
        broken ("%s: %s", programs[i], strerror (errno));
      set_id_program = programs[i];
      try_in_child (run_set_id);
    }
}

void
attack_gain_privileges (void)
{
  if (prctl (PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0)
    escaped ("no_new_privs is off");
}

void
attack_root_map (void)
{
  const char *files[] = { "/proc/self/uid_map", "/proc/self/gid_map" };
  for (int i = 0; i < 2; i++)
    {
      unsigned long inside, outside, count;
      FILE *file = fopen (files[i], "re");
      while (file != NULL && fscanf (file, "%lu %lu %lu", &inside, &outside, &count) == 3)
        if (outside == 0)
          escaped ("%s maps %lu to root", files[i], inside);
    }
}
