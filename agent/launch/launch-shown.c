/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What only root can prepare, as detached mounts that the inner half attaches:
 * host folders whose owner's ids turn into the sandbox's (and nobody else's), and
 * the disposable copy of a workspace. Runs beside the inner half's own work. */
#include "launch-private.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Where the keeper puts an overlay's layers, in a mount namespace of its own: a
 * folder that every system has and that a static program needs nothing from. */
#define LAYERS "/usr"

struct owner
{
  uint32_t uid, gid;
  int userns;
};

static struct owner owners[PRISM_LAUNCH_MAX_SHOWN];
static uint32_t n_owners;
static pid_t maker = -1; /* has been killed */

static struct owner *
find_owner (const struct stat *info)
{
  for (uint32_t i = 0; i < n_owners; i++)
    if (owners[i].uid == info->st_uid && owners[i].gid == info->st_gid)
      return &owners[i];
  return NULL;
}

static void
reap_maker (void)
{
  int error = errno;

  if (maker > 0)
    while (waitpid (maker, NULL, 0) < 0 && errno == EINTR)
      ;
  maker = -1;
  errno = error;
}

/* NULL and errno. The maker of its id table is to be reaped. */
static struct owner *
add_owner (const struct launch_plan *plan, const struct stat *info)
{
  int userns;

  reap_maker ();
  userns = launch_idmap_userns (info->st_uid, info->st_gid, plan->uid, plan->gid, &maker);
  if (userns < 0)
    return NULL;
  if (n_owners == PRISM_LAUNCH_MAX_SHOWN)
    close (owners[--n_owners].userns);
  owners[n_owners] = (struct owner){ info->st_uid, info->st_gid, launch_lift (userns) };
  return &owners[n_owners++];
}

static int
userns_of_owner (const struct launch_plan *plan, const struct stat *info)
{
  struct owner *owner = find_owner (info);

  if (owner == NULL)
    {
      owner = add_owner (plan, info);
      reap_maker ();
    }
  if (owner == NULL)
    launch_fail (PRISM_LAUNCH_STAGE_IDMAP, errno, "a user namespace for the mount's ids");
  return owner->userns;
}

static bool
is_mapped_already (const struct launch_plan *plan, const struct stat *info)
{
  return info->st_uid == plan->uid && info->st_gid == plan->gid;
}

void
launch_shown_expect (const struct launch_plan *plan, uint32_t uid, uint32_t gid)
{
  const struct stat info = { .st_uid = uid, .st_gid = gid };

  /* Where none can be had the step that wants it says so. No wait for the maker's end: it
   * is reaped when another is made, or in the end. */
  if (!is_mapped_already (plan, &info) && find_owner (&info) == NULL)
    add_owner (plan, &info);
}

static int
open_source (const struct launch_step *step, struct stat *info)
{
  int tree = launch_open_tree (AT_FDCWD, step->text,
                               LAUNCH_AT_RECURSIVE | ((step->flags & PRISM_LAUNCH_NOFOLLOW) ? AT_SYMLINK_NOFOLLOW : 0));

  if (tree < 0 || fstat (tree, info) < 0)
    launch_fail (PRISM_LAUNCH_STAGE_SOURCE, errno, "%s", step->text);
  return tree;
}

/* False with errno where the file system cannot. */
static bool
map_owner (const struct launch_plan *plan, const struct launch_step *step, int tree, const struct stat *info)
{
  uint64_t set = LAUNCH_ATTR_NOSUID | LAUNCH_ATTR_NODEV;

  if (step->flags & PRISM_LAUNCH_RO)
    set |= LAUNCH_ATTR_RDONLY;
  if (step->flags & PRISM_LAUNCH_NOEXEC)
    set |= LAUNCH_ATTR_NOEXEC;
  if (is_mapped_already (plan, info))
    return launch_mount_setattr (tree, set, 0, true, -1, true) == 0;
  return launch_mount_setattr (tree, set | LAUNCH_ATTR_IDMAP, 0, true, userns_of_owner (plan, info), true) == 0;
}

static int
show (const struct launch_plan *plan, const struct launch_step *step)
{
  struct stat info;
  int tree = open_source (step, &info);

  if (!map_owner (plan, step, tree, &info))
    launch_fail (PRISM_LAUNCH_STAGE_IDMAP, errno, "%s", step->text);
  return tree;
}

static uint64_t
inodes_for (uint64_t bytes)
{
  return bytes / 4096 > 16384 ? bytes / 4096 : 16384;
}

/* Files are taken over one by one: for a file system that cannot be idmapped. */
static int
copy_files (const struct launch_plan *plan, const struct launch_step *step)
{
  char failed[256];
  int error, from = open (step->text, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  int to = launch_tmpfs (step->bytes, inodes_for (step->bytes), 0755, LAUNCH_ATTR_NOSUID | LAUNCH_ATTR_NODEV);

  if (from < 0)
    launch_fail (PRISM_LAUNCH_STAGE_SOURCE, errno, "%s", step->text);
  if (to < 0)
    launch_fail (PRISM_LAUNCH_STAGE_COPY, errno, "a tmpfs for the copy");
  error = launch_copy_tree (from, to, plan->uid, plan->gid, failed, sizeof failed);
  if (error != 0)
    launch_fail (error == -ENOSPC ? PRISM_LAUNCH_STAGE_SPACE : PRISM_LAUNCH_STAGE_COPY, -error, "%s: %s", step->text,
                 failed);
  close (from);
  launch_note ("copy", "real copy on a tmpfs of %llu bytes", (unsigned long long)step->bytes);
  return to;
}

static void
make_layer (const struct launch_plan *plan, int base, const char *name, unsigned mode)
{
  if (mkdirat (base, name, 0700) < 0 || fchownat (base, name, plan->uid, plan->gid, 0) < 0
      || fchmodat (base, name, mode, 0) < 0)
    launch_fail (PRISM_LAUNCH_STAGE_OVERLAY, errno, "the overlay's %s folder", name);
}

/* The lower layer is the folder as its owner's ids allow; everything written goes
 * to memory that `bytes` bounds. */
static int
overlay (const struct launch_plan *plan, const struct launch_step *step, int lower, const struct stat *info)
{
  int base, at, fs, tree;

  if (unshare (CLONE_NEWNS) < 0 || mount (NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
    launch_fail (PRISM_LAUNCH_STAGE_OVERLAY, errno, "a mount namespace for the overlay");
  base = launch_tmpfs (step->bytes, inodes_for (step->bytes), 0755, LAUNCH_ATTR_NOSUID | LAUNCH_ATTR_NODEV);
  at = open (LAYERS, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (base < 0 || at < 0 || launch_move_mount (base, at, "") < 0)
    launch_fail (PRISM_LAUNCH_STAGE_OVERLAY, errno, "a tmpfs for the overlay");
  close (at);
  make_layer (plan, base, "lower", 0755);
  make_layer (plan, base, "upper", info->st_mode & 0777);
  make_layer (plan, base, "work", 0755);
  at = openat (base, "lower", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (at < 0 || launch_move_mount (lower, at, "") < 0)
    launch_fail (PRISM_LAUNCH_STAGE_OVERLAY, errno, "the overlay's lower folder");
  close (at);

  fs = launch_fs_open ("overlay");
  if (fs < 0 || launch_fs_set (fs, "lowerdir", LAYERS "/lower") < 0
      || launch_fs_set (fs, "upperdir", LAYERS "/upper") < 0 || launch_fs_set (fs, "workdir", LAYERS "/work") < 0
      || launch_fs_set (fs, "redirect_dir", "on") < 0)
    launch_fail (PRISM_LAUNCH_STAGE_OVERLAY, errno, "%s", step->text);
  tree = launch_fs_mount (fs, LAUNCH_ATTR_NOSUID | LAUNCH_ATTR_NODEV);
  if (tree < 0 || launch_mount_setattr (tree, 0, 0, true, -1, false) < 0)
    launch_fail (PRISM_LAUNCH_STAGE_OVERLAY, errno, "%s", step->text);
  close (base);
  launch_note ("copy", "overlay on a tmpfs of %llu bytes", (unsigned long long)step->bytes);
  return tree;
}

static int
show_copy (const struct launch_plan *plan, const struct launch_step *step)
{
  struct stat info;
  int tree, lower = open_source (step, &info);

  if (!map_owner (plan, step, lower, &info))
    {
      if (errno != EINVAL)
        launch_fail (PRISM_LAUNCH_STAGE_IDMAP, errno, "%s", step->text);
      tree = copy_files (plan, step);
    }
  else
    tree = overlay (plan, step, lower, &info);
  close (lower);
  return tree;
}

void
launch_shown_forget (void)
{
  reap_maker ();
  while (n_owners > 0)
    close (owners[--n_owners].userns);
}

void
launch_shown_prepare (const struct launch_plan *plan, int trees[PRISM_LAUNCH_MAX_SHOWN])
{
  struct prism_wire_reader at = plan->steps;
  struct launch_step step;
  uint32_t n = 0;

  for (uint32_t i = 0; i < plan->n_steps && launch_plan_next (&at, &step); i++)
    if (step.flags & PRISM_LAUNCH_BY_KEEPER)
      trees[n++] = step.flags & PRISM_LAUNCH_COPY ? show_copy (plan, &step) : show (plan, &step);
}
