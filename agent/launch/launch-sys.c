/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* System calls that older C libraries have no names for, with the numbers and
 * structures of the kernel's own ABI, and two small conveniences on top. */
#include "launch-private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_open_tree
#define SYS_open_tree  428
#define SYS_move_mount 429
#define SYS_fsopen     430
#define SYS_fsconfig   431
#define SYS_fsmount    432
#endif
#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif

#define AT_EMPTY            0x1000
#define RESOLVE_MAGICLINKS  0x02u /* no magic links */
#define RESOLVE_LINKS       0x04u /* no links at all */
#define RESOLVE_BELOW       0x08u /* never above the folder that it starts from */
#define FSCONFIG_STRING     1u
#define FSCONFIG_CREATE     6u
#define PROPAGATION_PRIVATE (1u << 18)

struct attributes
{
  uint64_t set, clear, propagation, userns;
};

struct how
{
  uint64_t flags, mode, resolve;
};

int
launch_open_tree (int dir, const char *path, unsigned flags)
{
  return (int)syscall (SYS_open_tree, dir, path, flags | LAUNCH_TREE_CLONE | O_CLOEXEC | AT_EMPTY);
}

int
launch_mount_setattr (int fd, uint64_t set, uint64_t clear, bool private, int userns, bool recursive)
{
  struct attributes attributes = { set, clear, private ? PROPAGATION_PRIVATE : 0, userns >= 0 ? (uint64_t)userns : 0 };
  return (int)syscall (SYS_mount_setattr, fd, "", AT_EMPTY | (recursive ? LAUNCH_AT_RECURSIVE : 0), &attributes,
                       sizeof attributes);
}

int
launch_move_mount (int from, int at, const char *to)
{
  return (int)syscall (SYS_move_mount, from, "", at, to, LAUNCH_MOVE_FROM_FD | LAUNCH_MOVE_TO_FD);
}

int
launch_openat2 (int dir, const char *path, int flags, unsigned mode)
{
  struct how how = { (uint64_t)(unsigned)flags | O_CLOEXEC, mode, RESOLVE_MAGICLINKS | RESOLVE_LINKS | RESOLVE_BELOW };
  return (int)syscall (SYS_openat2, dir, *path != 0 ? path : ".", &how, sizeof how);
}

int
launch_fs_open (const char *type)
{
  return (int)syscall (SYS_fsopen, type, 1 /* FSOPEN_CLOEXEC */);
}

int
launch_fs_set (int fs, const char *key, const char *value)
{
  return (int)syscall (SYS_fsconfig, fs, FSCONFIG_STRING, key, value, 0);
}

/* Takes the context: it is closed either way. */
int
launch_fs_mount (int fs, unsigned attributes)
{
  int error, fd = -1;
  if (syscall (SYS_fsconfig, fs, FSCONFIG_CREATE, NULL, NULL, 0) == 0)
    fd = (int)syscall (SYS_fsmount, fs, 1 /* FSMOUNT_CLOEXEC */, attributes);
  error = errno;
  close (fs);
  errno = error;
  return fd;
}

int
launch_tmpfs (uint64_t bytes, uint64_t inodes, unsigned mode, unsigned attributes)
{
  char size[24], nodes[24], octal[8];
  int fs = launch_fs_open ("tmpfs");

  if (fs < 0)
    return -1;
  snprintf (size, sizeof size, "%llu", (unsigned long long)bytes);
  snprintf (nodes, sizeof nodes, "%llu", (unsigned long long)inodes);
  snprintf (octal, sizeof octal, "%o", mode & 07777);
  if (launch_fs_set (fs, "size", size) < 0 || launch_fs_set (fs, "nr_inodes", nodes) < 0
      || launch_fs_set (fs, "mode", octal) < 0)
    {
      int error = errno;
      close (fs);
      errno = error;
      return -1;
    }
  return launch_fs_mount (fs, attributes);
}

bool
launch_write_file (int dir, const char *path, const char *text)
{
  int fd = openat (dir, path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW), error;
  ssize_t n;

  if (fd < 0)
    return false;
  n = write (fd, text, strlen (text));
  error = errno;
  close (fd);
  errno = error;
  return n == (ssize_t)strlen (text);
}

union control
{
  struct cmsghdr header;
  char bytes[CMSG_SPACE (sizeof (int) * LAUNCH_MAX_FDS)];
};

bool
launch_send_fds (int to, const void *bytes, size_t size, const int *fds, size_t n)
{
  union control control = { 0 };
  struct iovec part = { (void *)bytes, size };
  struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

  if (n > 0)
    {
      message.msg_control = &control;
      message.msg_controllen = CMSG_SPACE (sizeof (int) * n);
      control.header.cmsg_level = SOL_SOCKET;
      control.header.cmsg_type = SCM_RIGHTS;
      control.header.cmsg_len = CMSG_LEN (sizeof (int) * n);
      memcpy (CMSG_DATA (&control.header), fds, sizeof (int) * n);
    }
  return sendmsg (to, &message, MSG_NOSIGNAL) == (ssize_t)size;
}

ssize_t
launch_receive_fds (int from, void *bytes, size_t size, int *fds, size_t *n, int flags)
{
  union control control;
  struct iovec part = { bytes, size };
  struct msghdr message = {
    .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control
  };
  struct cmsghdr *header;
  size_t room = *n;
  ssize_t got = recvmsg (from, &message, MSG_CMSG_CLOEXEC | flags);

  *n = 0;
  if (got <= 0)
    return got;
  header = CMSG_FIRSTHDR (&message);
  if (header == NULL || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
    return got;
  *n = (header->cmsg_len - CMSG_LEN (0)) / sizeof (int);
  for (size_t i = 0; i < *n; i++)
    {
      int fd;
      memcpy (&fd, CMSG_DATA (header) + i * sizeof fd, sizeof fd);
      if (i < room)
        fds[i] = fd;
      else
        close (fd);
    }
  *n = *n < room ? *n : room;
  return got;
}
