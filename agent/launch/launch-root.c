/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Carries out the plan's steps: the new root, step by step, while the old one is
 * still there to take from; then the old one goes. Sources are opened in the old
 * root by their host path. Targets are opened below the new root without following
 * a link, and nothing is made outside the file systems that were made here. */
#include "launch-private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define MAX_OWN 16u
#define MASKS   ".masks"

static int root = -1;
static uint32_t root_flags;
static dev_t own[MAX_OWN];
static uint32_t n_own;
static int mask_folder = -1, mask_file = -1;

static void
remember_own (int fd)
{
  struct stat info;

  if (n_own == MAX_OWN || fstat (fd, &info) < 0)
    launch_fail (PRISM_LAUNCH_STAGE_ROOT, n_own == MAX_OWN ? ENOSPC : errno, "too many file systems");
  own[n_own++] = info.st_dev;
}

static bool
is_own (int fd)
{
  struct stat info;

  if (fstat (fd, &info) == 0)
    for (uint32_t i = 0; i < n_own; i++)
      if (own[i] == info.st_dev)
        return true;
  return false;
}

/* mkdir -p, where it is ours. */
static int
make_folders (const char *path)
{
  int at = launch_openat2 (root, "", O_PATH | O_DIRECTORY, 0);

  while (at >= 0 && *path != 0)
    {
      char name[256];
      size_t n = strcspn (path, "/");
      int next;
      memcpy (name, path, n);
      name[n] = 0;
      next = launch_openat2 (at, name, O_PATH | O_DIRECTORY, 0);
      if (next < 0 && errno == ENOENT && is_own (at) && mkdirat (at, name, 0755) == 0)
        next = launch_openat2 (at, name, O_PATH | O_DIRECTORY, 0);
      int error = errno;
      close (at);
      errno = error;
      at = next;
      path += n + (path[n] == '/');
    }
  return at;
}

/* The folder that a step was about last, which most often is the next one's too. It is
 * forgotten when something is mounted on it or above it. */
static struct
{
  char path[PRISM_WIRE_MAX_PATH + 1];
  char made[PRISM_WIRE_MAX_PATH + 1]; /* what the last step made in it; "" = nothing */
  int fd;
  bool own;
} near = { .fd = -1 };

static void
leave_near (void)
{
  if (near.fd >= 0)
    close (near.fd);
  near.fd = -1;
  near.made[0] = 0;
}

/* The folder that holds the target's last component, which is returned too; with
 * `make` it is made, with its parents. It stays near's: -1 with errno, and ENOENT
 * where it is somebody else's. */
static int
enter_parent (const char *target, const char **leaf, bool make)
{
  const char *slash = strrchr (target, '/');
  size_t n = slash != NULL ? (size_t)(slash - target) : 0;

  *leaf = slash != NULL ? slash + 1 : target;
  near.made[0] = 0;
  if (near.fd < 0 || strncmp (near.path, target, n) != 0 || near.path[n] != 0)
    {
      leave_near ();
      memcpy (near.path, target, n);
      near.path[n] = 0;
      near.fd = make ? make_folders (near.path) : launch_openat2 (root, near.path, O_PATH | O_DIRECTORY, 0);
      if (near.fd < 0)
        return -1;
      near.own = is_own (near.fd);
    }
  if (!near.own)
    errno = ENOENT;
  return near.own ? near.fd : -1;
}

static int
open_target (const struct launch_step *step)
{
  int fd = launch_openat2 (root, step->target, O_PATH | O_NOFOLLOW, 0);

  if (fd < 0)
    launch_fail (PRISM_LAUNCH_STAGE_TARGET, errno, "/%s", step->target);
  return fd;
}

/* Opens what a rule or a mount is about. A link has taken its place since the host looked:
 * refused, as a link on the way is. */
static int
open_ruled (const char *target)
{
  struct stat info;
  int fd = launch_openat2 (root, target, O_PATH | O_NOFOLLOW, 0);

  if (fd >= 0 && fstat (fd, &info) == 0 && S_ISLNK (info.st_mode))
    {
      close (fd);
      errno = ELOOP;
      fd = -1;
    }
  return fd;
}

static int
make_target (const char *target, bool folder)
{
  const char *leaf;
  int at, fd;

  if (folder)
    return make_folders (target);
  at = enter_parent (target, &leaf, true);
  if (at < 0)
    return -1;
  fd = openat (at, leaf, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
  if (fd < 0)
    return -1;
  close (fd);
  return launch_openat2 (at, leaf, O_PATH | O_NOFOLLOW, 0);
}

/* A mount point for `source`: there already, or made where that is allowed. */
static int
open_mount_point (const struct launch_step *step, bool folder)
{
  int fd = open_ruled (step->target);

  if (fd < 0 && errno == ENOENT && (step->flags & PRISM_LAUNCH_PARENTS) != 0)
    fd = make_target (step->target, folder);
  if (fd < 0)
    launch_fail (PRISM_LAUNCH_STAGE_TARGET, errno, "/%s", step->target);
  return fd;
}

static bool
is_folder (int fd)
{
  struct stat info;
  return fstat (fd, &info) == 0 && S_ISDIR (info.st_mode);
}

static uint64_t
attributes_of (const struct launch_step *step)
{
  return LAUNCH_ATTR_NOSUID | LAUNCH_ATTR_NODEV | (step->flags & PRISM_LAUNCH_RO ? LAUNCH_ATTR_RDONLY : 0)
         | (step->flags & PRISM_LAUNCH_NOEXEC ? LAUNCH_ATTR_NOEXEC : 0);
}

static void
attach (const struct launch_step *step, int tree, int target)
{
  size_t n = strlen (step->target);

  if (launch_move_mount (tree, target, "") < 0)
    launch_fail (PRISM_LAUNCH_STAGE_MOUNT, errno, "/%s", step->target);
  if (strncmp (near.path, step->target, n) == 0 && (near.path[n] == 0 || near.path[n] == '/'))
    leave_near ();
  close (tree);
  close (target);
}

/* On what the step before has just made for it, which cannot be a link, it is put by its
 * name; all else is opened and looked at. */
static void
put (const struct launch_step *step, int tree)
{
  const char *slash = strrchr (step->target, '/');

  if (step->target[0] == 0 || strcmp (near.made, step->target) != 0)
    {
      attach (step, tree, open_mount_point (step, is_folder (tree)));
      return;
    }
  if (launch_move_mount (tree, near.fd, slash != NULL ? slash + 1 : step->target) < 0)
    launch_fail (PRISM_LAUNCH_STAGE_MOUNT, errno, "/%s", step->target);
  near.made[0] = 0;
  close (tree);
}

/* A mount point, with the folders on its way; what is there already stays. */
static void
make_mount_point (const struct launch_step *step)
{
  close (open_mount_point (step, step->kind == PRISM_LAUNCH_FOLDER));
}

static void
make_folder (const struct launch_step *step)
{
  const char *leaf;
  int parent = enter_parent (step->target, &leaf, false);

  if (parent < 0 || mkdirat (parent, leaf, step->mode) < 0)
    launch_fail (PRISM_LAUNCH_STAGE_TARGET, errno, "/%s", step->target);
  strcpy (near.made, step->target);
}

static void
make_file (const struct launch_step *step)
{
  const char *leaf;
  size_t size = strlen (step->text);
  int fd = -1, parent = enter_parent (step->target, &leaf, false);

  if (parent < 0 || (fd = openat (parent, leaf, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, step->mode)) < 0
      || (size > 0 && write (fd, step->text, size) != (ssize_t)size))
    launch_fail (PRISM_LAUNCH_STAGE_TARGET, errno, "/%s", step->target);
  close (fd);
  strcpy (near.made, step->target);
}

/* Parents are made; a name that is taken stays as it is. */
static void
make_link (const struct launch_step *step)
{
  const char *leaf;
  int at = enter_parent (step->target, &leaf, true);

  if (at < 0 || symlinkat (step->text, at, leaf) < 0)
    {
      if ((step->flags & PRISM_LAUNCH_OPTIONAL) == 0)
        launch_fail (PRISM_LAUNCH_STAGE_TARGET, errno, "/%s", step->target);
      launch_note ("link", "/%s: not made, the name is taken", step->target);
    }
}

static void
mount_tmpfs (const struct launch_step *step)
{
  int fd = launch_tmpfs (step->bytes, step->inodes, step->mode, LAUNCH_ATTR_NOSUID | LAUNCH_ATTR_NODEV);

  if (fd < 0)
    launch_fail (PRISM_LAUNCH_STAGE_MOUNT, errno, "/%s", step->target);
  remember_own (fd);
  attach (step, fd, open_mount_point (step, true));
}

/* As an ordinary user: the copy is made here, by the user's own rights. */
static int
copy_here (const struct launch_step *step)
{
  char failed[256];
  launch_join_groups ();
  uint64_t inodes = step->bytes / 4096 > 16384 ? step->bytes / 4096 : 16384;
  int error, from = open (step->text, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  int to = launch_tmpfs (step->bytes, inodes, 0755, LAUNCH_ATTR_NOSUID | LAUNCH_ATTR_NODEV);

  if (from < 0)
    launch_fail (PRISM_LAUNCH_STAGE_SOURCE, errno, "%s", step->text);
  if (to < 0)
    launch_fail (PRISM_LAUNCH_STAGE_COPY, errno, "a tmpfs for the copy");
  error = launch_copy_tree (from, to, (uid_t)-1, (gid_t)-1, failed, sizeof failed);
  if (error != 0)
    launch_fail (error == -ENOSPC ? PRISM_LAUNCH_STAGE_SPACE : PRISM_LAUNCH_STAGE_COPY, -error, "%s: %s", step->text,
                 failed);
  close (from);
  launch_note ("copy", "real copy on a tmpfs of %llu bytes", (unsigned long long)step->bytes);
  return to;
}

/* A second place for what is seen inside already. */
static void
bind_inside (const struct launch_step *step)
{
  int tree, source = launch_openat2 (root, step->text + 1, O_PATH | O_NOFOLLOW, 0);

  if (source < 0)
    launch_fail (PRISM_LAUNCH_STAGE_SOURCE, errno, "%s", step->text);
  tree = launch_open_tree (source, "", LAUNCH_AT_RECURSIVE);
  if (tree < 0 || launch_mount_setattr (tree, 0, 0, true, -1, true) < 0)
    launch_fail (PRISM_LAUNCH_STAGE_MOUNT, errno, "%s", step->text);
  close (source);
  attach (step, tree, open_mount_point (step, true));
}

static void
bind_source (const struct launch_step *step)
{
  int tree;

  if (step->flags & PRISM_LAUNCH_INSIDE)
    {
      bind_inside (step);
      return;
    }
  if (step->flags & PRISM_LAUNCH_COPY)
    {
      tree = copy_here (step);
      attach (step, tree, open_mount_point (step, true));
      return;
    }
  tree = launch_open_tree (AT_FDCWD, step->text,
                           LAUNCH_AT_RECURSIVE | ((step->flags & PRISM_LAUNCH_NOFOLLOW) ? AT_SYMLINK_NOFOLLOW : 0));
  if (tree < 0 && (errno == ENOENT || errno == EACCES) && (step->flags & PRISM_LAUNCH_OPTIONAL) != 0)
    return;
  if (tree < 0)
    launch_fail (PRISM_LAUNCH_STAGE_SOURCE, errno, "%s", step->text);
  if (launch_mount_setattr (tree, attributes_of (step), 0, true, -1, true) < 0)
    launch_fail (PRISM_LAUNCH_STAGE_MOUNT, errno, "%s", step->text);
  put (step, tree);
}

static void
bind_self (const struct launch_step *step)
{
  int tree, target = open_ruled (step->target);

  if (target < 0)
    launch_fail (step->text[0] != 0 && errno == ENOENT ? PRISM_LAUNCH_STAGE_PROTECT : PRISM_LAUNCH_STAGE_TARGET, errno,
                 "%s", step->text[0] != 0 ? step->text : step->target);
  tree = launch_open_tree (target, "", LAUNCH_AT_RECURSIVE);
  if (tree < 0 || launch_mount_setattr (tree, attributes_of (step), 0, true, -1, true) < 0)
    launch_fail (PRISM_LAUNCH_STAGE_MOUNT, errno, "/%s", step->target);
  attach (step, tree, target);
}

static void
bind_device (const struct launch_step *step)
{
  struct stat info;
  int tree = launch_open_tree (AT_FDCWD, step->text, AT_SYMLINK_NOFOLLOW);

  if (tree < 0 || fstat (tree, &info) < 0)
    launch_fail (PRISM_LAUNCH_STAGE_DEVICE, errno, "%s", step->text);
  if (!S_ISCHR (info.st_mode) || info.st_rdev != makedev (step->bytes >> 32, step->bytes & 0xffffffff))
    launch_fail (PRISM_LAUNCH_STAGE_DEVICE, ENODEV, "%s is not the device of that name", step->text);
  if (launch_mount_setattr (tree, LAUNCH_ATTR_NOSUID | LAUNCH_ATTR_NOEXEC, 0, true, -1, false) < 0)
    launch_fail (PRISM_LAUNCH_STAGE_MOUNT, errno, "%s", step->text);
  put (step, tree);
}

static void
mount_kind (const struct launch_step *step, const char *type)
{
  bool pts = step->kind == PRISM_LAUNCH_PTS;
  int fd = -1, fs = launch_fs_open (type);

  /* All sandboxes together have one quota of terminals: none may take it all. */
  if (fs >= 0
      && (!pts
          || (launch_fs_set (fs, "ptmxmode", "0666") == 0 && launch_fs_set (fs, "mode", "0620") == 0
              && launch_fs_set (fs, "max", "256") == 0)))
    fd = launch_fs_mount (fs, LAUNCH_ATTR_NOSUID | LAUNCH_ATTR_NOEXEC | (pts ? 0 : LAUNCH_ATTR_NODEV));
  if (fd < 0)
    launch_fail (pts ? PRISM_LAUNCH_STAGE_MOUNT : PRISM_LAUNCH_STAGE_PROC, errno, "/%s", step->target);
  attach (step, fd, open_target (step));
}

/* One empty file and one empty folder that nobody may read: what covers a hidden
 * path is made here and never a thing of the host's. They lie where nothing is
 * needed from any more; it goes with the old root, or is unmounted. */
static void
open_masks (void)
{
  int at = open ("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC), fd;
  int base = launch_tmpfs (65536, 16, 0755, LAUNCH_ATTR_NOSUID | LAUNCH_ATTR_NODEV);

  if (at < 0 || base < 0 || launch_move_mount (base, at, "") < 0
      || (fd = openat (base, "file", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0)) < 0
      || mkdirat (base, "folder", 0) < 0)
    launch_fail (PRISM_LAUNCH_STAGE_MOUNT, errno, "what covers hidden paths");
  close (fd);
  mask_file = openat (base, "file", O_PATH | O_CLOEXEC);
  mask_folder = openat (base, "folder", O_PATH | O_CLOEXEC);
  if (mask_file < 0 || mask_folder < 0 || launch_mount_setattr (base, 0, 0, true, -1, false) < 0)
    launch_fail (PRISM_LAUNCH_STAGE_MOUNT, errno, "what covers hidden paths");
  close (base);
  close (at);
}

static void
close_masks (bool stays)
{
  if (mask_file < 0)
    return;
  close (mask_file);
  close (mask_folder);
  if (stays && umount2 ("/proc", MNT_DETACH) < 0)
    launch_fail (PRISM_LAUNCH_STAGE_MOUNT, errno, "what covered hidden paths");
}

static void
hide (const struct launch_step *step)
{
  int tree, target = open_ruled (step->target);

  if (target < 0 && (errno == ENOENT || errno == ENOTDIR) && (step->flags & PRISM_LAUNCH_OPTIONAL) != 0)
    {
      launch_note ("hide", "%s: not there, nothing to hide", step->text);
      return;
    }
  if (target < 0)
    launch_fail (PRISM_LAUNCH_STAGE_TARGET, errno, "/%s", step->target);
  if (mask_folder < 0)
    open_masks ();
  tree = launch_open_tree (is_folder (target) ? mask_folder : mask_file, "", 0);
  if (tree < 0
      || launch_mount_setattr (tree, LAUNCH_ATTR_RDONLY | LAUNCH_ATTR_NOSUID | LAUNCH_ATTR_NODEV | LAUNCH_ATTR_NOEXEC,
                               0, true, -1, false)
             < 0)
    launch_fail (PRISM_LAUNCH_STAGE_MOUNT, errno, "/%s", step->target);
  attach (step, tree, target);
}

static void
seal (const struct launch_step *step)
{
  int fd = open_target (step);

  if (launch_mount_setattr (fd, LAUNCH_ATTR_RDONLY, 0, false, -1, false) < 0)
    launch_fail (PRISM_LAUNCH_STAGE_MOUNT, errno, "/%s", step->target);
  close (fd);
}

/* Without a pid namespace (a test's off-switch) there is no /proc of its own to have. */
static void
show_proc (const struct launch_step *step)
{
  int tree;

  if ((root_flags & PRISM_LAUNCH_OFF_PIDNS) == 0)
    {
      mount_kind (step, "proc");
      return;
    }
  tree = launch_open_tree (AT_FDCWD, "/proc", LAUNCH_AT_RECURSIVE);
  if (tree < 0)
    launch_fail (PRISM_LAUNCH_STAGE_PROC, errno, "/proc");
  attach (step, tree, open_target (step));
}

static void
run_step (const struct launch_step *step)
{
  switch (step->kind)
    {
    case PRISM_LAUNCH_FOLDER:
    case PRISM_LAUNCH_FILE:
      if (step->flags & PRISM_LAUNCH_PARENTS)
        make_mount_point (step);
      else if (step->kind == PRISM_LAUNCH_FOLDER)
        make_folder (step);
      else
        make_file (step);
      break;
    case PRISM_LAUNCH_LINK:
      make_link (step);
      break;
    case PRISM_LAUNCH_TMPFS:
      mount_tmpfs (step);
      break;
    case PRISM_LAUNCH_BIND:
      bind_source (step);
      break;
    case PRISM_LAUNCH_SELF:
      bind_self (step);
      break;
    case PRISM_LAUNCH_PROC:
      show_proc (step);
      break;
    case PRISM_LAUNCH_PTS:
      mount_kind (step, "devpts");
      break;
    case PRISM_LAUNCH_DEVICE:
      bind_device (step);
      break;
    case PRISM_LAUNCH_HIDE:
      hide (step);
      break;
    default:
      seal (step);
      break;
    }
}

/* The first step of a root of its own is its tmpfs, put over the old root. */
static void
begin_root (const struct launch_step *step)
{
  int at = open ("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

  root = launch_tmpfs (step->bytes, step->inodes, step->mode, LAUNCH_ATTR_NOSUID | LAUNCH_ATTR_NODEV);
  if (at < 0 || root < 0 || launch_move_mount (root, at, "") < 0 || fchdir (root) < 0)
    launch_fail (PRISM_LAUNCH_STAGE_ROOT, errno, "a tmpfs for the root");
  close (at);
  remember_own (root);
}

/* After this nothing of the old root can be reached. */
static void
enter_root (void)
{
  if (fchdir (root) < 0 || syscall (SYS_pivot_root, ".", ".") < 0)
    launch_fail (PRISM_LAUNCH_STAGE_PIVOT, errno, "pivot_root");
  if (umount2 (".", MNT_DETACH) < 0)
    launch_fail (PRISM_LAUNCH_STAGE_PIVOT, errno, "taking the old root away");
}

static bool
is_root_step (const struct launch_step *step)
{
  return step->kind == PRISM_LAUNCH_TMPFS && step->target[0] == 0;
}

void
launch_root_build (const struct launch_plan *plan, bool early, const int *(*shown) (void))
{
  /* In a root that is there: the host's, a template's, or its own once that is entered. */
  bool stays = plan->flags & (PRISM_LAUNCH_HOST_TREE | PRISM_LAUNCH_USE_TEMPLATE);
  struct prism_wire_reader at = plan->steps;
  const int *trees = NULL;
  struct launch_step step;
  uint32_t first = 0; /* of the steps that lie in the plan now */

  umask (0);
  root_flags = plan->flags;
  if (stays && (root = open ("/", O_PATH | O_DIRECTORY | O_CLOEXEC)) < 0)
    launch_fail (PRISM_LAUNCH_STAGE_ROOT, errno, "/");
  for (uint32_t i = 0;; i++)
    {
      size_t offset = (size_t)(at.at - plan->steps.at);
      bool more = i - first < plan->n_steps && launch_plan_next (&at, &step);
      if (trees == NULL && (!more || (step.flags & (PRISM_LAUNCH_BY_KEEPER | PRISM_LAUNCH_COPY)) != 0))
        {
          if (early && !stays)
            {
              leave_near ();
              enter_root ();
              stays = true;
            }
          trees = shown ();
          /* In one that was begun ahead it is another plan by now, the same up to here, or
           * what comes after that. */
          first = plan->rest ? i : 0;
          at = plan->steps;
          at.at += plan->rest ? 0 : offset;
          more = i - first < plan->n_steps && launch_plan_next (&at, &step);
        }
      if (!more)
        break;
      if (is_root_step (&step) != (i == 0 && !stays))
        launch_fail (PRISM_LAUNCH_STAGE_PLAN, EINVAL, "the root's own step");
      if (is_root_step (&step))
        begin_root (&step);
      else if (step.flags & PRISM_LAUNCH_BY_KEEPER)
        {
          put (&step, *trees++);
        }
      else
        run_step (&step);
    }
  close_masks (stays);
  leave_near ();
  if (!stays)
    enter_root ();
  close (root);
  umask (022);
  if (chdir (plan->start) < 0)
    launch_fail (PRISM_LAUNCH_STAGE_TARGET, errno, "%s", plan->start);
}
