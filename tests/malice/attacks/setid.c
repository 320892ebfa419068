/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A set-id file of the folder's owner, left in a direct workspace: whoever runs
 * it on the host later becomes that owner. Every call that takes a mode. */
#include "../malice.h"

#include <linux/io_uring.h>
#include <linux/openat2.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#define SETID     06755
#define FCHMODAT2 452

static char *target;

static const char *
fresh (void)
{
  if (target == NULL)
    target = workspace_path ("left-setid");
  rmdir (target);
  unlink (target);
  return target;
}

static const char *
fresh_file (void)
{
  int fd = open (fresh (), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
  if (fd < 0)
    broken ("%s: %s", target, strerror (errno));
  close (fd);
  return target;
}

static void
look (const char *how)
{
  struct stat st;
  if (lstat (target, &st) == 0 && (st.st_mode & 06000) != 0)
    escaped ("%s left %s with mode %04o", how, target, st.st_mode & 07777);
}

void
attack_setid_chmod (void)
{
  const unsigned modes[] = { SETID, 04755, 02755, 04000, 02010, 07777 };
  for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
    {
      syscall (SYS_chmod, fresh_file (), modes[i]);
      look ("chmod");
      int fd = open (target, O_RDONLY | O_CLOEXEC);
      syscall (SYS_fchmod, fd, modes[i]);
      look ("fchmod");
      syscall (SYS_fchmodat, AT_FDCWD, target, modes[i]);
      look ("fchmodat");
      syscall (FCHMODAT2, AT_FDCWD, target, modes[i], 0);
      look ("fchmodat2");
      syscall (FCHMODAT2, fd, "", modes[i], AT_EMPTY_PATH);
      look ("fchmodat2 of a descriptor");
      char proc[64];
      snprintf (proc, sizeof proc, "/proc/self/fd/%d", fd);
      syscall (SYS_chmod, proc, modes[i]);
      look ("chmod through /proc");
      close (fd);
    }
}

void
attack_setid_create (void)
{
  umask (0);
  syscall (SYS_open, fresh (), O_WRONLY | O_CREAT, SETID);
  look ("open");
  syscall (SYS_openat, AT_FDCWD, fresh (), O_RDWR | O_CREAT | O_EXCL, SETID);
  look ("openat");
  syscall (SYS_creat, fresh (), SETID);
  look ("creat");
  struct open_how how = { .flags = O_WRONLY | O_CREAT, .mode = SETID };
  syscall (SYS_openat2, AT_FDCWD, fresh (), &how, sizeof how);
  look ("openat2");
  int fd = (int)syscall (SYS_openat, AT_FDCWD, given ("WORKSPACE"), O_RDWR | O_TMPFILE, SETID);
  char proc[64];
  snprintf (proc, sizeof proc, "/proc/self/fd/%d", fd);
  if (fd >= 0)
    (void)!linkat (AT_FDCWD, proc, AT_FDCWD, fresh (), AT_SYMLINK_FOLLOW);
  look ("O_TMPFILE");
}

void
attack_setid_make (void)
{
  umask (0);
  syscall (SYS_mkdir, fresh (), SETID);
  syscall (SYS_chmod, target, SETID);
  look ("mkdir and chmod");
  syscall (SYS_mkdirat, AT_FDCWD, fresh (), SETID);
  look ("mkdirat");
  syscall (SYS_mknod, fresh (), S_IFREG | SETID, 0);
  look ("mknod");
  syscall (SYS_mknodat, AT_FDCWD, fresh (), SETID, 0);
  look ("mknodat");
  syscall (SYS_mknodat, AT_FDCWD, fresh (), S_IFIFO | SETID, 0);
  look ("mknodat of a pipe");
}

void
attack_setid_high_bits (void)
{
  const unsigned long high[] = { 0x10000ul, 0x80000000ul, 0x100000000ul, 0xffff0000ul, 0x7fffffff00000000ul };
  umask (0);
  for (size_t i = 0; i < sizeof high / sizeof *high; i++)
    {
      unsigned long mode = high[i] | SETID;
      syscall (SYS_chmod, fresh_file (), mode);
      look ("chmod");
      int fd = open (target, O_RDONLY | O_CLOEXEC);
      syscall (SYS_fchmod, fd, mode);
      close (fd);
      look ("fchmod");
      syscall (SYS_fchmodat, (long)AT_FDCWD, target, mode);
      look ("fchmodat");
      syscall (FCHMODAT2, (long)AT_FDCWD, target, mode, 0);
      look ("fchmodat2");
      syscall (SYS_open, fresh (), (unsigned long)(O_WRONLY | O_CREAT) | (high[i] & ~0xfffffffful), mode);
      look ("open");
      syscall (SYS_openat, (long)AT_FDCWD, fresh (), (unsigned long)(O_WRONLY | O_CREAT), mode);
      look ("openat");
      syscall (SYS_creat, fresh (), mode);
      look ("creat");
      syscall (SYS_mkdir, fresh (), mode);
      syscall (SYS_chmod, target, mode);
      look ("mkdir");
      syscall (SYS_mknod, fresh (), mode, 0);
      look ("mknod");
      syscall (SYS_mknodat, (long)AT_FDCWD, fresh (), mode, 0);
      look ("mknodat");
    }
}

#ifdef __x86_64__
static long
int80 (long number, long a, long b, long c, long d)
{
  long result;
  __asm__ volatile("int $0x80"
                   : "=a"(result)
                   : "a"(number), "b"(a), "c"(b), "d"(c), "S"(d)
                   : "memory", "r8", "r9", "r10", "r11");
  return result;
}

static void
setid_by_int80 (void)
{
  char *low = mmap (NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
  if (low == MAP_FAILED)
    return;
  strcpy (low, fresh_file ());
  long path = (long)low;
  umask (0);
  int80 (15, path, SETID, 0, 0);
  look ("chmod by int 0x80");
  int80 (306, AT_FDCWD, path, SETID, 0);
  look ("fchmodat by int 0x80");
  int80 (FCHMODAT2, AT_FDCWD, path, SETID, 0);
  look ("fchmodat2 by int 0x80");
  fresh ();
  int80 (8, path, SETID, 0, 0);
  look ("creat by int 0x80");
  fresh ();
  int80 (5, path, O_CREAT | O_WRONLY, SETID, 0);
  look ("open by int 0x80");
  fresh ();
  int80 (14, path, S_IFREG | SETID, 0, 0);
  look ("mknod by int 0x80");
}
#endif

void
attack_setid_int80 (void)
{
#ifdef __x86_64__
  fresh ();
  try_in_child (setid_by_int80);
#endif
}

static void
setid_by_x32 (void)
{
  const long x32 = 0x40000000;
  umask (0);
  syscall (x32 | SYS_chmod, fresh_file (), SETID);
  look ("chmod by its x32 number");
  syscall (x32 | SYS_creat, fresh (), SETID);
  look ("creat by its x32 number");
  syscall (x32 | SYS_openat, (long)AT_FDCWD, fresh (), O_CREAT | O_WRONLY, SETID);
  look ("openat by its x32 number");
}

void
attack_setid_x32 (void)
{
  fresh ();
  try_in_child (setid_by_x32);
}

/* One operation through a fresh ring: no filter sees it. */
static void
ring_operation (struct io_uring_sqe *operation)
{
  struct io_uring_params p = { 0 };
  int fd = (int)syscall (SYS_io_uring_setup, 4, &p);
  if (fd < 0)
    return;
  char *ring = mmap (NULL, p.sq_off.array + p.sq_entries * 4 + 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
                     fd, IORING_OFF_SQ_RING);
  struct io_uring_sqe *entries = mmap (NULL, p.sq_entries * sizeof *entries, PROT_READ | PROT_WRITE,
                                       MAP_SHARED | MAP_POPULATE, fd, IORING_OFF_SQES);
  if (ring == MAP_FAILED || entries == MAP_FAILED)
    return;
  entries[0] = *operation;
  ((uint32_t *)(void *)(ring + p.sq_off.array))[0] = 0;
  __atomic_store_n ((uint32_t *)(void *)(ring + p.sq_off.tail), 1, __ATOMIC_RELEASE);
  syscall (SYS_io_uring_enter, fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0);
  close (fd);
}

void
attack_setid_io_uring (void)
{
  umask (0);
  struct io_uring_sqe open_it = { .opcode = IORING_OP_OPENAT,
                                  .fd = AT_FDCWD,
                                  .addr = (uintptr_t)fresh (),
                                  .len = SETID,
                                  .open_flags = O_CREAT | O_WRONLY };
  ring_operation (&open_it);
  look ("IORING_OP_OPENAT");
  struct io_uring_sqe make_it = {
    .opcode = IORING_OP_MKDIRAT, .fd = AT_FDCWD, .addr = (uintptr_t)fresh (), .len = SETID
  };
  ring_operation (&make_it);
  look ("IORING_OP_MKDIRAT");
}

void
attack_file_capabilities (void)
{
  /* Revision 2: cap_setuid, effective. Revision 3 adds a root id. */
  const uint32_t revision2[] = { 0x02000001, 1u << 7, 0, 0, 0 };
  const uint32_t revision3[] = { 0x03000001, 1u << 7, 0, 0, 0, getuid () };
  const char *path = fresh_file ();
  if (setxattr (path, "security.capability", revision2, sizeof revision2, 0) == 0
      || setxattr (path, "security.capability", revision3, sizeof revision3, 0) == 0)
    escaped ("security.capability was set on %s", path);
  if (setxattr (path, "trusted.malice", "x", 1, 0) == 0 || setxattr (path, "security.malice", "x", 1, 0) == 0)
    escaped ("a trusted or security attribute was set on %s", path);
}
