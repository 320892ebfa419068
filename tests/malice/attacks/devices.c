/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Device nodes: making them, opening the host's, opening planted ones. */
#include "../malice.h"

#include <dirent.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

void
attack_make_device (void)
{
  static const struct
  {
    mode_t type;
    unsigned major, minor;
  } devices[] = { { S_IFCHR, 1, 1 }, { S_IFCHR, 1, 3 }, { S_IFCHR, 1, 11 },  { S_IFCHR, 5, 1 },
                  { S_IFBLK, 7, 0 }, { S_IFBLK, 8, 0 }, { S_IFBLK, 254, 0 }, { S_IFCHR, 10, 229 } };
  const char *folders[] = { given ("WORKSPACE"), "/tmp", "/dev/shm", "/dev" };
  for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
    for (size_t j = 0; j < 4; j++)
      {
        char path[512];
        snprintf (path, sizeof path, "%s/.made-device", folders[j]);
        unlink (path);
        dev_t number = makedev (devices[i].major, devices[i].minor);
        if (mknod (path, devices[i].type | 0666, number) == 0
            || mknodat (AT_FDCWD, path, devices[i].type | 0666, number) == 0)
          {
            unlink (path);
            escaped ("made device %u:%u in %s", devices[i].major, devices[i].minor, folders[j]);
          }
      }
}

void
attack_open_devices (void)
{
  static const char *const names[] = { "mem",           "kmem",
                                       "port",          "kmsg",
                                       "sda",           "sda1",
                                       "vda",           "vda1",
                                       "nvme0n1",       "xvda",
                                       "dm-0",          "loop0",
                                       "loop-control",  "mapper/control",
                                       "fuse",          "kvm",
                                       "net/tun",       "vhost-net",
                                       "vhost-vsock",   "vsock",
                                       "uinput",        "input/event0",
                                       "userfaultfd",   "snapshot",
                                       "cpu/0/msr",     "hwrng",
                                       "rtc",           "rtc0",
                                       "ttyS0",         "console",
                                       "tty0",          "tty1",
                                       "vcs",           "vcsa",
                                       "dri/card0",     "dri/renderD128",
                                       "snd/controlC0", "btrfs-control",
                                       "autofs",        "uhid",
                                       "watchdog",      "hpet",
                                       "nvram",         "ppp",
                                       "cuse",          "vfio/vfio",
                                       "binder",        "raw/rawctl",
                                       "zram0",         "cpu_dma_latency",
                                       "rfkill" };
  char path[128];
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    {
      snprintf (path, sizeof path, "/dev/%s", names[i]);
      const int modes[] = { O_RDONLY, O_WRONLY, O_RDWR };
      for (int m = 0; m < 3; m++)
        if (open (path, modes[m] | O_NONBLOCK | O_NOCTTY | O_CLOEXEC) >= 0)
          escaped ("%s opened", path);
    }
}

void
attack_planted_device (void)
{
  char mount[512], *workspace = workspace_path ("planted-device");
  snprintf (mount, sizeof mount, "%s/planted-device", given ("RO"));
  const char *paths[] = { workspace, mount };
  for (int i = 0; i < 2; i++)
    {
      struct stat st;
      if (stat (paths[i], &st) != 0 || !S_ISCHR (st.st_mode))
        broken ("%s is no device: %s", paths[i], strerror (errno));
      if (open (paths[i], O_RDWR | O_CLOEXEC) >= 0 || open (paths[i], O_RDONLY | O_CLOEXEC) >= 0)
        escaped ("%s opened", paths[i]);
    }
}

void
attack_dev_tree (void)
{
  char path[64];
  snprintf (path, sizeof path, "/dev/.malice-%d", (int)getpid ());
  int fd = open (path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd >= 0 || symlink ("null", path) == 0 || mkdir (path, 0700) == 0)
    {
      unlink (path);
      rmdir (path);
      escaped ("/dev can be written");
    }
  if (chmod ("/dev/null", 0666) == 0)
    escaped ("chmod of /dev/null");
}
