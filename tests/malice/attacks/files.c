/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The host's files: reading what lies outside, writing what must be read-only. */
#include "../malice.h"

#include <dirent.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>

void
attack_read_home (void)
{
  try_to_read (given ("SECRET"));
  /* The usual homes as well: the secret's name in each. */
  const char *leaf = strrchr (given ("SECRET"), '/') + 1;
  const char *homes[] = { "/root", "/home", "/home/tester", "/var/tmp", "/tmp", "/mnt", "/srv", "/media" };
  for (size_t i = 0; i < sizeof homes / sizeof *homes; i++)
    {
      char path[512];
      snprintf (path, sizeof path, "%s/%s", homes[i], leaf);
      try_to_read (path);
    }
}

void
attack_read_shadow (void)
{
  const char *paths[] = { "/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/var/backups/shadow.bak" };
  for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
    {
      char bytes[64];
      int fd = open (paths[i], O_RDONLY | O_CLOEXEC);
      ssize_t n = fd >= 0 ? read (fd, bytes, sizeof bytes) : -1;
      if (n > 0 && memchr (bytes, ':', n) != NULL)
        escaped ("%s is readable", paths[i]);
    }
}

static void
compare_with_host_root (int folder, const char *path, const char *root)
{
  struct stat st;
  char id[64];
  if (fstatat (folder, path, &st, 0) != 0)
    return;
  snprintf (id, sizeof id, "%llu:%llu", (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
  if (strcmp (id, root) == 0)
    escaped ("%s is the host's root folder", path);
}

void
attack_find_host_root (void)
{
  const char *root = given ("ROOT");
  char up[256] = "";
  for (int i = 0; i < 60; i++)
    strcat (up, "../");
  compare_with_host_root (AT_FDCWD, "/", root);
  compare_with_host_root (AT_FDCWD, up, root);
  compare_with_host_root (AT_FDCWD, "/..", root);
  DIR *proc = opendir ("/proc");
  for (struct dirent *e; proc != NULL && (e = readdir (proc)) != NULL;)
    {
      char path[600];
      snprintf (path, sizeof path, "/proc/%s/root", e->d_name);
      compare_with_host_root (AT_FDCWD, path, root);
      snprintf (path, sizeof path, "/proc/%s/cwd/%s", e->d_name, up);
      compare_with_host_root (AT_FDCWD, path, root);
    }
}

void
attack_climb_from_workspace (void)
{
  char path[1024];
  const char *workspace = given ("WORKSPACE"), *sibling = given ("SIBLING");
  snprintf (path, sizeof path, "%s/../%s/secret", workspace, sibling);
  try_to_read (path);
  int fd = open (workspace, O_PATH | O_DIRECTORY | O_CLOEXEC);
  for (int i = 0; i < 8 && fd >= 0; i++)
    {
      snprintf (path, sizeof path, "%s/secret", sibling);
      int file = openat (fd, path, O_RDONLY | O_CLOEXEC);
      if (file >= 0)
        escaped ("%s opened %d levels above the workspace", path, i);
      int up = openat (fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
      close (fd);
      fd = up;
    }
}

void
attack_magic_links (void)
{
  const char *secret = given ("SECRET");
  const char *links[] = { "/proc/self/root",
                          "/proc/1/root",
                          "/proc/thread-self/root",
                          "/proc/1/cwd",
                          "/proc/self/cwd/../../../../../../..",
                          "/proc/1/task/1/root",
                          "/dev/fd/0/../../../.." };
  char path[1024];
  for (size_t i = 0; i < sizeof links / sizeof *links; i++)
    {
      snprintf (path, sizeof path, "%s%s", links[i], secret);
      try_to_read (path);
    }
  DIR *proc = opendir ("/proc");
  for (struct dirent *e; proc != NULL && (e = readdir (proc)) != NULL;)
    for (int i = 0; i < 2; i++)
      {
        snprintf (path, sizeof path, "/proc/%s/%s%s", e->d_name, i ? "root" : "cwd/../../../../../..", secret);
        try_to_read (path);
      }
}

void
attack_file_handle (void)
{
  struct
  {
    struct file_handle head;
    unsigned char bytes[128];
  } handle;
  unsigned type, size = 0;
  int used;
  const char *text = given ("HANDLE");
  if (sscanf (text, "%u:%n", &type, &used) != 1)
    broken ("MALICE_HANDLE is %s", text);
  for (text += used; size < sizeof handle.bytes && sscanf (text, "%2hhx", &handle.bytes[size]) == 1; text += 2)
    size++;
  handle.head.handle_bytes = size;
  handle.head.handle_type = (int)type;
  const char *anchors[] = { given ("WORKSPACE"), "/", "/usr", "/etc/passwd", "/proc", "/tmp" };
  for (size_t i = 0; i < sizeof anchors / sizeof *anchors; i++)
    for (int path_only = 0; path_only < 2; path_only++)
      {
        int anchor = open (anchors[i], (path_only ? O_PATH : O_RDONLY) | O_CLOEXEC);
        int fd = anchor >= 0 ? open_by_handle_at (anchor, &handle.head, O_RDONLY | O_CLOEXEC) : -1;
        char bytes[256];
        ssize_t n = fd >= 0 ? read (fd, bytes, sizeof bytes) : -1;
        if (n > 0)
          look_for_bait ("open_by_handle_at", bytes, n);
      }
}

void
attack_write_system (void)
{
  const char *folders[] = { "/usr",  "/usr/bin", "/usr/lib", "/etc", "/bin",  "/lib", "/lib64",
                            "/sbin", "/opt",     "/etc/ssl", "/",    "/proc", "/sys", "/workspace/.." };
  const char *files[] = { "/usr/bin/env",       "/etc/passwd",      "/etc/hosts",
                          "/etc/nsswitch.conf", "/etc/ld.so.cache", "/bin/sh" };
  char path[256];
  for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
    {
      snprintf (path, sizeof path, "%s/.malice-%d", folders[i], (int)getpid ());
      int fd = open (path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
      if (fd >= 0)
        {
          unlink (path);
          escaped ("made a file in %s", folders[i]);
        }
      if (mkdir (path, 0700) == 0)
        {
          rmdir (path);
          escaped ("made a folder in %s", folders[i]);
        }
      if (symlink ("x", path) == 0)
        {
          unlink (path);
          escaped ("made a link in %s", folders[i]);
        }
    }
  for (size_t i = 0; i < sizeof files / sizeof *files; i++)
    {
      struct stat st;
      int fd = open (files[i], O_WRONLY | O_APPEND | O_CLOEXEC);
      if (fd >= 0)
        escaped ("%s opened for writing", files[i]);
      if (stat (files[i], &st) != 0)
        continue;
      if (chmod (files[i], st.st_mode & 07777) == 0)
        escaped ("chmod of %s", files[i]);
      if (utimensat (AT_FDCWD, files[i], (struct timespec[]){ st.st_atim, st.st_mtim }, 0) == 0)
        escaped ("set the times of %s", files[i]);
    }
}

void
attack_hardlink_from_mount (void)
{
  char from[512];
  snprintf (from, sizeof from, "%s/linkable", given ("RO"));
  char *to = workspace_path ("hardlink");
  unlink (to);
  int fd = open (from, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    broken ("%s: %s", from, strerror (errno));
  char proc[64];
  snprintf (proc, sizeof proc, "/proc/self/fd/%d", fd);
  if (link (from, to) == 0 || linkat (AT_FDCWD, proc, AT_FDCWD, to, AT_SYMLINK_FOLLOW) == 0
      || linkat (fd, "", AT_FDCWD, to, AT_EMPTY_PATH) == 0)
    {
      unlink (to);
      escaped ("a file of the read-only mount was linked into the workspace");
    }
}

static void
write_into (const char *folder, const char *existing)
{
  char path[512];
  snprintf (path, sizeof path, "%s/.malice-new", folder);
  int fd = open (path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (fd >= 0)
    escaped ("%s was made", path);
  snprintf (path, sizeof path, "%s/%s", folder, existing);
  fd = open (path, O_WRONLY | O_CLOEXEC);
  if (fd >= 0)
    escaped ("%s opened for writing", path);
  int readable = open (path, O_RDONLY | O_CLOEXEC);
  if (readable < 0)
    broken ("%s: %s", path, strerror (errno));
  snprintf (path, sizeof path, "/proc/self/fd/%d", readable);
  if (open (path, O_RDWR | O_CLOEXEC) >= 0)
    escaped ("%s reopened for writing through /proc", existing);
  if (mmap (NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED, readable, 0) != MAP_FAILED)
    escaped ("%s mapped writable", existing);
  if (fchmod (readable, 0777) == 0 || futimens (readable, NULL) == 0 || ftruncate (readable, 0) == 0)
    escaped ("%s changed through a read-only descriptor", existing);
  snprintf (path, sizeof path, "%s/%s", folder, existing);
  if (unlink (path) == 0 || truncate (path, 0) == 0)
    escaped ("%s removed or cut", path);
}

void
attack_write_readonly_mount (void)
{
  write_into (given ("RO"), "linkable");
}

void
attack_write_readonly_workspace (void)
{
  write_into (given ("WORKSPACE"), "kept");
}

static void
write_again (const char *how, int fd)
{
  char byte;
  if (fd >= 0 && pread (fd, &byte, 1, 0) == 1 && pwrite (fd, &byte, 1, 0) == 1)
    escaped ("%s gave a descriptor that writes", how);
  close (fd);
}

/* The bytes themselves are written as they are: that it goes is what counts. */
void
attack_reopen_writable (void)
{
  char path[600], by_number[64];
  snprintf (path, sizeof path, "%s/linkable", given ("RO"));
  int fd = open (path, O_RDONLY | O_CLOEXEC), only_path = open (path, O_PATH | O_CLOEXEC);
  snprintf (by_number, sizeof by_number, "/proc/self/fd/%d", fd);
  write_again ("/proc/self/fd", open (by_number, O_RDWR | O_CLOEXEC));
  snprintf (by_number, sizeof by_number, "/dev/fd/%d", only_path);
  write_again ("an O_PATH descriptor", open (by_number, O_RDWR | O_CLOEXEC));
  write_again (
      "its name below /proc/self/root",
      (snprintf (path, sizeof path, "/proc/self/root%s/linkable", given ("RO")), open (path, O_RDWR | O_CLOEXEC)));
  write_again ("a folder's descriptor",
               openat (open (given ("RO"), O_PATH | O_CLOEXEC), "linkable", O_RDWR | O_CLOEXEC));
  char *shared = mmap (NULL, 1, PROT_READ, MAP_SHARED, fd, 0);
  if (shared == MAP_FAILED)
    return;
  snprintf (by_number, sizeof by_number, "/proc/self/map_files/%lx-%lx", (unsigned long)(uintptr_t)shared,
            (unsigned long)(uintptr_t)shared + 4096);
  write_again ("/proc/self/map_files", open (by_number, O_RDWR | O_CLOEXEC));
  if (mprotect (shared, 1, PROT_READ | PROT_WRITE) == 0)
    escaped ("a shared mapping of it became writable");
  /* What a forced write into the mapping, or into a pipe that holds its page, changes
   * must not be the file. */
  char first = shared[0], other = '!', now = first;
  int memory = open ("/proc/self/mem", O_RDWR | O_CLOEXEC), pipes[2];
  (void)!pwrite (memory, &other, 1, (off_t)(uintptr_t)shared);
  loff_t at = 0;
  if (pipe (pipes) == 0 && splice (fd, &at, pipes[1], NULL, 1, 0) == 1)
    (void)!write (pipes[1], &other, 1);
  if (pread (fd, &now, 1, 0) == 1 && now != first)
    escaped ("its page was changed in memory");
}

/* F_SETDELEG, which is newer than most kernels, does the same to a folder. */
void
attack_lease_file (void)
{
  char shown[600];
  char *own = workspace_path ("kept");
  const char *const paths[] = { (snprintf (shown, sizeof shown, "%s/linkable", given ("RO")), shown), own };
  const int kinds[] = { F_RDLCK, F_WRLCK };
  for (int i = 0; i < 4; i++)
    {
      int fd = open (paths[i / 2], O_RDONLY | O_CLOEXEC);
      if (fd >= 0 && syscall (SYS_fcntl, fd, 1024ul | (i % 2 ? 1ul << 32 : 0), kinds[i % 2]) == 0)
        escaped ("%s is leased, and the host waits when it opens it", paths[i / 2]);
      close (fd);
    }
}

/* As root outside; inside even a file that is the command's own. */
void
attack_immutable_file (void)
{
  char *path = workspace_path ("immutable");
  int flags = 0, fd = open (path, O_RDONLY | O_CREAT | O_CLOEXEC, 0644);
  const int kinds[] = { FS_IMMUTABLE_FL, FS_APPEND_FL };
  for (int i = 0; i < 2; i++)
    if (ioctl (fd, FS_IOC_GETFLAGS, &flags) == 0)
      {
        int wanted = flags | kinds[i];
        if (ioctl (fd, FS_IOC_SETFLAGS, &wanted) == 0)
          {
            ioctl (fd, FS_IOC_SETFLAGS, &flags);
            escaped ("a file became one that nobody may remove");
          }
      }
  free (path);
}

/* Success shows on the host: what is named here must not exist there. */
void
attack_write_through_copy (void)
{
  char *path = workspace_path ("through-copy");
  int fd = open (path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (fd >= 0 && write (fd, "x", 1) == 1)
    close (fd);
  free (path);
  path = workspace_path ("kept");
  fd = open (path, O_WRONLY | O_TRUNC | O_CLOEXEC);
  if (fd >= 0 && write (fd, "changed", 7) == 7)
    close (fd);
  chmod (path, 0700);
  free (path);
  path = workspace_path ("tree");
  char *moved = workspace_path ("tree-moved");
  rename (path, moved);
}

static void
look_into (const char *folder, const char *leaf)
{
  static char bytes[262144];
  char path[600];
  snprintf (path, sizeof path, "%s/%s", folder, leaf);
  int fd = open (path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0)
    return;
  ssize_t n = 0, got;
  while (n < (ssize_t)sizeof bytes && (got = read (fd, bytes + n, sizeof bytes - n)) > 0)
    n += got;
  close (fd);
  look_for_bait (path, bytes, n);
}

void
attack_host_environment (void)
{
  DIR *proc = opendir ("/proc");
  if (proc == NULL)
    return;
  const char *leaves[] = { "environ", "cmdline", "mountinfo", "comm", "auxv" };
  for (struct dirent *e; (e = readdir (proc)) != NULL;)
    for (size_t i = 0; i < sizeof leaves / sizeof *leaves; i++)
      {
        char folder[300];
        snprintf (folder, sizeof folder, "/proc/%s", e->d_name);
        look_into (folder, leaves[i]);
      }
}
