/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How every confined sandbox begins: the system's folders read-only, a made-up /etc, a
 * small whole /dev, private /proc, /tmp, /run and home. */
#include "prism-native-early.h"

#include <string.h>

#define N_ELEMENTS(array) (sizeof (array) / sizeof *(array))

/* The root holds links, folders and a few small texts. */
#define ROOT_BYTES  (4 * 1024 * 1024)
#define ROOT_INODES 8192

#define DEVICE(major, minor) ((uint64_t)(major) << 32 | (minor))

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
  uint64_t number;
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

void
prism_native_step (PrismNativeSteps *steps,
                   uint8_t kind,
                   uint32_t flags,
                   uint32_t mode,
                   uint64_t bytes,
                   uint64_t inodes,
                   const char *target,
                   const char *text)
{
  while (*target == '/')
    target++;
  prism_wire_put (&steps->writer, kind, 1);
  prism_wire_put (&steps->writer, flags, 4);
  prism_wire_put (&steps->writer, mode, 4);
  prism_wire_put (&steps->writer, bytes, 8);
  prism_wire_put (&steps->writer, inodes, 8);
  prism_wire_put_str (&steps->writer, target);
  prism_wire_put_str (&steps->writer, text != NULL ? text : "");
  steps->n++;
}

static void
folder (PrismNativeSteps *steps, const char *path, uint32_t mode)
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
  for (size_t i = 0; i < N_ELEMENTS (devices); i++)
    {
      prism_native_step (steps, PRISM_LAUNCH_FILE, 0, 0444, 0, 0, devices[i].name, NULL);
      prism_native_step (steps, PRISM_LAUNCH_DEVICE, 0, 0, devices[i].number, 0, devices[i].name, devices[i].path);
    }
  folder (steps, "dev/pts", 0755);
  for (size_t i = 0; i < N_ELEMENTS (dev_links); i++)
    prism_native_step (steps, PRISM_LAUNCH_LINK, 0, 0, 0, 0, dev_links[i].name, dev_links[i].to);
  folder (steps, "dev/shm", 01777);
}

void
prism_native_write_system (PrismNativeSteps *steps,
                           const PrismNativeHost *host,
                           PrismNativeHides hides,
                           const void *data)
{
  prism_native_step (steps, PRISM_LAUNCH_TMPFS, 0, 0755, ROOT_BYTES, ROOT_INODES, "", NULL);
  folder (steps, "etc", 0755);
  for (size_t i = 0; i < N_ELEMENTS (etc_files); i++)
    prism_native_step (steps, PRISM_LAUNCH_FILE, 0, 0444, 0, 0, etc_files[i].name, etc_files[i].content);
  for (size_t i = 0; i < host->n_pieces; i++)
    if (hides == NULL || !hides (data, &host->pieces[i]))
      write_piece (steps, &host->pieces[i]);
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
prism_native_write_own (PrismNativeSteps *steps, uint64_t tmp_bytes)
{
  static const struct
  {
    const char *part, *source, *at;
    uint32_t mode;
  } parts[] = {
    { "tmp/run", "/tmp/run", "run", 0755 },
    { "tmp/home", "/tmp/home", "home/prism", 0700 },
    { "tmp/shm", "/tmp/shm", "dev/shm", 01777 },
    { "tmp/tmp", "/tmp/tmp", "tmp", 01777 },
  };
  uint64_t inodes = tmp_bytes / 4096;

  inodes = inodes < 4096 ? 4096 : inodes > 262144 ? 262144 : inodes;
  prism_native_step (steps, PRISM_LAUNCH_PROC, 0, 0, 0, 0, "proc", NULL);
  prism_native_step (steps, PRISM_LAUNCH_PTS, 0, 0, 0, 0, "dev/pts", NULL);
  prism_native_step (steps, PRISM_LAUNCH_TMPFS, 0, 0755, tmp_bytes, inodes, "tmp", NULL);
  for (size_t i = 0; i < N_ELEMENTS (parts); i++)
    folder (steps, parts[i].part, parts[i].mode);
  for (size_t i = 0; i < N_ELEMENTS (parts); i++)
    prism_native_step (steps, PRISM_LAUNCH_BIND, PRISM_LAUNCH_INSIDE, 0, 0, 0, parts[i].at, parts[i].source);
}

void
prism_native_write_head (struct prism_wire_writer *w, const PrismNativeHost *host, const PrismNativeHead *head)
{
  prism_wire_put (w, PRISM_LAUNCH_MAGIC, 4);
  prism_wire_put (w, PRISM_LAUNCH_MAJOR, 2);
  prism_wire_put (w, PRISM_LAUNCH_MINOR, 2);
  prism_wire_put (w, head->flags | (host->root ? PRISM_LAUNCH_PRIVILEGED : 0), 4);
  prism_wire_put (w, host->uid, 4);
  prism_wire_put (w, host->gid, 4);
  prism_wire_put (w, head->processes, 8);
  prism_wire_put (w, head->data_bytes, 8);
  prism_wire_put_str (w, head->hostname);
  prism_wire_put_str (w, head->start);
}

void
prism_native_write_group_folder (char *folder, const char *parent, const char *id)
{
  strcpy (stpcpy (stpcpy (folder, parent), "/" PRISM_NATIVE_GROUP_PREFIX), id);
}

/* Where the limits on memory and on processes are held, which every sandbox has. */
static void
write_groups (struct prism_wire_writer *w, const PrismNativeCgroup *cgroup, const char *id)
{
  static const PrismNativeController usual[] = { PRISM_NATIVE_CONTROLLER_MEMORY, PRISM_NATIVE_CONTROLLER_PIDS };
  struct prism_wire_writer count = *w;
  const char *last = NULL;
  uint32_t n = 0;

  prism_wire_put (w, 0, 4);
  for (size_t i = 0; cgroup != NULL && i < N_ELEMENTS (usual); i++)
    {
      const char *parent = cgroup->parents[usual[i]];
      char folder[PRISM_WIRE_MAX_PATH + 1];
      if (parent == NULL || (last != NULL && strcmp (last, parent) == 0)
          || strlen (parent) + PRISM_NATIVE_GROUP_MORE + strlen (id) > sizeof folder)
        continue;
      prism_native_write_group_folder (folder, parent, id);
      prism_wire_put_str (w, folder);
      prism_wire_put_str (w, prism_native_cgroup_get_entry (cgroup, usual[i]));
      prism_wire_put (w, 0, 4);
      last = parent;
      n++;
    }
  prism_wire_put (&count, n, 4);
}

size_t
prism_native_write_early_plan (uint8_t *bytes,
                               size_t size,
                               const PrismNativeEarly *early,
                               const PrismNativeHost *host,
                               const PrismNativeCgroup *cgroup,
                               const char *id,
                               PrismNativeEarlySteps *written)
{
  const PrismNativeHead head = { .flags = early->flags, .hostname = early->hostname, .start = "/" };
  PrismNativeSteps steps = { prism_wire_write_to (bytes, size), 0 };
  struct prism_wire_writer count;

  prism_native_write_head (&steps.writer, host, &head);
  write_groups (&steps.writer, cgroup, id);
  count = steps.writer;
  prism_wire_put (&steps.writer, 0, 4);
  prism_native_write_system (&steps, host, NULL, NULL);
  if (early->tmp_bytes > 0)
    prism_native_write_own (&steps, early->tmp_bytes);
  prism_wire_put (&count, steps.n, 4);
  *written = (PrismNativeEarlySteps){ .flags = early->flags,
                                      .hostname = early->hostname,
                                      .bytes = count.at,
                                      .size = (size_t)(steps.writer.at - count.at),
                                      .n = steps.n };
  return steps.writer.bad ? 0 : (size_t)(steps.writer.at - steps.writer.start);
}

size_t
prism_native_take_rest (
    uint8_t *bytes, size_t size, size_t at, const PrismNativeHead *head, const PrismNativeEarlySteps *early)
{
  struct prism_wire_reader r = prism_wire_read_from (bytes + at, size - at);
  struct prism_wire_writer magic = prism_wire_write_to (bytes, 4), count = prism_wire_write_to (bytes + at, 4);
  uint32_t n = prism_wire_u32 (&r);
  size_t left = (size_t)(r.end - r.at);

  if (early->bytes == NULL || head->flags != early->flags || strcmp (head->hostname, early->hostname) != 0
      || n < early->n || left < early->size || memcmp (r.at, early->bytes, early->size) != 0)
    return size;
  prism_wire_put (&magic, PRISM_LAUNCH_REST, 4);
  prism_wire_put (&count, n - early->n, 4);
  memmove (bytes + at + 4, bytes + at + 4 + early->size, left - early->size);
  return size - early->size;
}
