/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What every confined sandbox has: the system's folders read-only, a made-up /etc,
 * a small whole /dev, private /proc, /tmp, /run and home. All that is writable here
 * is one tmpfs, so that one limit bounds it. */
#include "prism-native-plan-private.h"

#include <string.h>

/* The root holds links, folders and a few small texts. */
#define ROOT_BYTES  (4 * 1024 * 1024)
#define ROOT_INODES 8192

#define DEVICE(major, minor) ((guint64)(major) << 32 | (minor))

static const char passwd[] = "root:x:0:0:root:/root:/usr/sbin/nologin\n"
                             "prism:x:10001:10001:prism:/home/prism:/bin/sh\n"
                             "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n";
static const char group[] = "root:x:0:\n"
                            "tty:x:5:\n"
                            "prism:x:10001:\n"
                            "nogroup:x:65534:\n";
static const char hosts[] = "127.0.0.1\tlocalhost\n"
                            "127.0.0.1\tprism\n"
                            "::1\tlocalhost ip6-localhost ip6-loopback\n";
/* Files only: a name that is not there fails at once instead of after a resolver's
 * patience. */
static const char nsswitch[] = "passwd: files\n"
                               "group: files\n"
                               "shadow: files\n"
                               "hosts: files\n"
                               "networks: files\n"
                               "protocols: files\n"
                               "services: files\n";
static const char shells[] = "/bin/sh\n"
                             "/bin/bash\n";

static const struct
{
  const char *name, *content;
} etc_files[] = {
  { "etc/passwd", passwd },  { "etc/group", group },   { "etc/hosts", hosts },        { "etc/nsswitch.conf", nsswitch },
  { "etc/resolv.conf", "" }, { "etc/shells", shells }, { "etc/hostname", "prism\n" },
};

static const struct
{
  const char *name, *path;
  guint64 number;
} devices[] = {
  { "dev/null", "/dev/null", DEVICE (1, 3) },       { "dev/zero", "/dev/zero", DEVICE (1, 5) },
  { "dev/full", "/dev/full", DEVICE (1, 7) },       { "dev/random", "/dev/random", DEVICE (1, 8) },
  { "dev/urandom", "/dev/urandom", DEVICE (1, 9) }, { "dev/tty", "/dev/tty", DEVICE (5, 0) },
};

static const struct
{
  const char *name, *to;
} dev_links[] = {
  { "dev/ptmx", "pts/ptmx" },          { "dev/fd", "/proc/self/fd" },       { "dev/stdin", "/proc/self/fd/0" },
  { "dev/stdout", "/proc/self/fd/1" }, { "dev/stderr", "/proc/self/fd/2" },
};

static void
folder (PrismNativeSteps *steps, const char *path, guint32 mode)
{
  prism_native_step (steps, PRISM_LAUNCH_FOLDER, 0, mode, 0, 0, path, NULL);
}

static void
write_piece (PrismNativeSteps *steps, const PrismNativePiece *piece)
{
  switch (piece->kind)
    {
    case PRISM_NATIVE_PIECE_LINK:
      prism_native_step (steps, PRISM_LAUNCH_LINK, 0, 0, 0, 0, piece->path, piece->text);
      break;
    case PRISM_NATIVE_PIECE_CONTENT:
      prism_native_step (steps, PRISM_LAUNCH_FILE, 0, 0444, 0, 0, piece->path, piece->text);
      break;
    case PRISM_NATIVE_PIECE_SHOWN:
      folder (steps, piece->path, 0755);
      prism_native_step (steps, PRISM_LAUNCH_BIND, PRISM_LAUNCH_RO | PRISM_LAUNCH_NOFOLLOW, 0, 0, 0, piece->path,
                         piece->path);
      break;
    case PRISM_NATIVE_PIECE_SHOWN_FILE:
      prism_native_step (steps, PRISM_LAUNCH_FILE, 0, 0444, 0, 0, piece->path, NULL);
      prism_native_step (steps, PRISM_LAUNCH_BIND, PRISM_LAUNCH_RO | PRISM_LAUNCH_NOFOLLOW, 0, 0, 0, piece->path,
                         piece->path);
      break;
    }
}

static void
write_dev (PrismNativeSteps *steps)
{
  folder (steps, "dev", 0755);
  for (guint i = 0; i < G_N_ELEMENTS (devices); i++)
    {
      prism_native_step (steps, PRISM_LAUNCH_FILE, 0, 0444, 0, 0, devices[i].name, NULL);
      prism_native_step (steps, PRISM_LAUNCH_DEVICE, 0, 0, devices[i].number, 0, devices[i].name, devices[i].path);
    }
  folder (steps, "dev/pts", 0755);
  for (guint i = 0; i < G_N_ELEMENTS (dev_links); i++)
    prism_native_step (steps, PRISM_LAUNCH_LINK, 0, 0, 0, 0, dev_links[i].name, dev_links[i].to);
  folder (steps, "dev/shm", 01777);
}

void
prism_native_plan_write_system (PrismNativeSteps *steps, const PrismNativeAsked *asked)
{
  prism_native_step (steps, PRISM_LAUNCH_TMPFS, 0, 0755, ROOT_BYTES, ROOT_INODES, "", NULL);
  folder (steps, "etc", 0755);
  for (guint i = 0; i < G_N_ELEMENTS (etc_files); i++)
    prism_native_step (steps, PRISM_LAUNCH_FILE, 0, 0444, 0, 0, etc_files[i].name, etc_files[i].content);
  for (guint i = 0; i < asked->host->pieces->len; i++)
    if (!prism_native_plan_hides (asked, asked->host->pieces->pdata[i]))
      write_piece (steps, asked->host->pieces->pdata[i]);
  write_dev (steps);
  folder (steps, "proc", 0555);
  folder (steps, "tmp", 01777);
  folder (steps, "run", 0755);
  folder (steps, "home", 0755);
  folder (steps, "home/prism", 0700);
  folder (steps, "var", 0755);
  prism_native_step (steps, PRISM_LAUNCH_LINK, 0, 0, 0, 0, "var/tmp", "/tmp");
}

/* All that is writable is one tmpfs, so that one limit bounds it: it lies below
 * /tmp's own folder, which covers it in the end. */
void
prism_native_plan_write_own (PrismNativeSteps *steps, const PrismNativeAsked *asked)
{
  static const struct
  {
    const char *part, *source, *at;
    guint32 mode;
  } parts[] = {
    { "tmp/run", "/tmp/run", "run", 0755 },
    { "tmp/home", "/tmp/home", "home/prism", 0700 },
    { "tmp/shm", "/tmp/shm", "dev/shm", 01777 },
    { "tmp/tmp", "/tmp/tmp", "tmp", 01777 },
  };
  guint64 inodes = CLAMP (asked->tmp_bytes / 4096, 4096, 262144);

  prism_native_step (steps, PRISM_LAUNCH_PROC, 0, 0, 0, 0, "proc", NULL);
  prism_native_step (steps, PRISM_LAUNCH_PTS, 0, 0, 0, 0, "dev/pts", NULL);
  prism_native_step (steps, PRISM_LAUNCH_TMPFS, 0, 0755, asked->tmp_bytes, inodes, "tmp", NULL);
  for (guint i = 0; i < G_N_ELEMENTS (parts); i++)
    folder (steps, parts[i].part, parts[i].mode);
  for (guint i = 0; i < G_N_ELEMENTS (parts); i++)
    prism_native_step (steps, PRISM_LAUNCH_BIND, PRISM_LAUNCH_INSIDE, 0, 0, 0, parts[i].at, parts[i].source);
  if (asked->workspace.path == NULL)
    prism_native_step (steps, PRISM_LAUNCH_TMPFS, PRISM_LAUNCH_PARENTS, 0755, asked->workspace_bytes,
                       CLAMP (asked->workspace_bytes / 4096, 16384, 2097152), asked->sandbox_path, NULL);
}
