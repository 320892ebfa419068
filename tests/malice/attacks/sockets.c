/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sockets and shared memory of the host's programs. */
#include "../malice.h"

#include <mqueue.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/un.h>

static void
connect_to (const char *path, size_t length, int type)
{
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  if (length > sizeof address.sun_path)
    return;
  memcpy (address.sun_path, path, length);
  int fd = socket (AF_UNIX, type | SOCK_CLOEXEC, 0);
  if (fd < 0)
    return;
  if (type == SOCK_DGRAM)
    {
      /* Autobind, so that an answer finds the way back. */
      struct sockaddr_un own = { .sun_family = AF_UNIX };
      (void)!bind (fd, (struct sockaddr *)&own, sizeof own.sun_family);
    }
  socklen_t size = offsetof (struct sockaddr_un, sun_path) + length;
  if (connect (fd, (struct sockaddr *)&address, size) == 0)
    {
      if (type == SOCK_DGRAM && send (fd, "?", 1, 0) == 1)
        escaped ("sent to %s", path);
      listen_for_bait (path, fd);
    }
  close (fd);
}

static void
connect_to_each (const char *list, int type)
{
  char *copy = strdup (list), *save = NULL;
  for (char *path = strtok_r (copy, ":", &save); path != NULL; path = strtok_r (NULL, ":", &save))
    connect_to (path, strlen (path) + 1, type);
}

void
attack_pathname_socket (void)
{
  connect_to_each (given ("SOCKETS"), SOCK_STREAM);
  /* And through every magic link to a root. */
  char path[256];
  snprintf (path, sizeof path, "/proc/1/root%s", given ("SOCKETS"));
  strtok (path, ":");
  connect_to (path, strlen (path) + 1, SOCK_STREAM);
}

void
attack_datagram_socket (void)
{
  connect_to_each (given ("DATAGRAM"), SOCK_DGRAM);
}

void
attack_abstract_socket (void)
{
  char name[108] = "";
  const char *given_name = given ("ABSTRACT");
  size_t n = strlen (given_name);
  memcpy (name + 1, given_name, n);
  connect_to (name, n + 1, SOCK_STREAM);
}

static void
report_connection (const char *path)
{
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  strncpy (address.sun_path, path, sizeof address.sun_path - 1);
  const int types[] = { SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET };
  for (int i = 0; i < 3; i++)
    {
      int fd = socket (AF_UNIX, types[i] | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
      if (fd >= 0 && connect (fd, (struct sockaddr *)&address, sizeof address) == 0)
        escaped ("connected to %s", path);
      close (fd);
    }
}

void
attack_well_known_sockets (void)
{
  static const char *const paths[] = {
    "/run/docker.sock",
    "/var/run/docker.sock",
    "/run/containerd/containerd.sock",
    "/run/podman/podman.sock",
    "/run/dbus/system_bus_socket",
    "/var/run/dbus/system_bus_socket",
    "/run/systemd/private",
    "/run/systemd/notify",
    "/run/systemd/journal/socket",
    "/run/systemd/journal/dev-log",
    "/run/systemd/userdb/io.systemd.Multiplexer",
    "/dev/log",
    "/run/snapd.socket",
    "/run/udev/control",
    "/run/nscd/socket",
    "/run/avahi-daemon/socket",
    "/run/cups/cups.sock",
    "/run/user/0/bus",
    "/run/user/1000/bus",
    "/run/user/1001/bus",
    "/run/user/10001/bus",
    "/run/user/1000/systemd/private",
    "/run/user/1000/gnupg/S.gpg-agent",
    "/run/user/1000/keyring/ssh",
    "/tmp/.X11-unix/X0",
    "/run/user/1000/wayland-0",
    "/run/user/1000/pipewire-0",
    "/run/libvirt/libvirt-sock",
    "/var/run/mysqld/mysqld.sock",
    "/run/postgresql/.s.PGSQL.5432",
  };
  for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
    report_connection (paths[i]);
  const char *agents[] = { "SSH_AUTH_SOCK",   "DBUS_SESSION_BUS_ADDRESS", "DOCKER_HOST",
                           "XDG_RUNTIME_DIR", "WAYLAND_DISPLAY",          "DISPLAY" };
  for (size_t i = 0; i < sizeof agents / sizeof *agents; i++)
    if (getenv (agents[i]) != NULL)
      escaped ("%s is set", agents[i]);
}

void
attack_sysv_shared_memory (void)
{
  int id = shmget ((key_t)given_number ("SHM"), 0, 0);
  void *at = id >= 0 ? shmat (id, NULL, SHM_RDONLY) : (void *)-1;
  if (at != (void *)-1)
    look_for_bait ("a System V segment", at, 64);
}

void
attack_posix_queue (void)
{
  mqd_t queue = mq_open (given ("QUEUE"), O_RDONLY | O_NONBLOCK);
  if (queue != (mqd_t)-1)
    escaped ("opened the host's message queue %s", given ("QUEUE"));
}

void
attack_dev_shm (void)
{
  char path[256];
  snprintf (path, sizeof path, "/dev/shm/%s", given ("DEV_SHM"));
  try_to_read (path);
}
