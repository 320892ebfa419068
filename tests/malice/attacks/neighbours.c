/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Two sandboxes of one host program. What they are made of may be kept ready and
 * used again, but nothing of one may show in the other: leave_bait leaves what it
 * can, under names and with contents that start with BAIT:, and lives on;
 * find_left_bait, elsewhere, looks for it. On the stage outside one does both. */
#include "../malice.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <mqueue.h>
#include <stddef.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/utsname.h>

#define LEFT BAIT "left-behind-by-another"
#define KEY  0x50524953
#define PORT 23577

static const char *const places[] = { "/tmp", "/run",  "/dev/shm",      "/",         "/var", "/var/tmp",
                                      "/dev", "/home", "/home/prism",   "/mnt",      "/srv", "/opt",
                                      "/etc", "/usr",  "/workspace/..", "/proc/self" };

static void
leave_files (void)
{
  /* On the stage outside the first three alone are thrown away afterwards. */
  size_t n = maybe_given ("AGENT") != NULL ? 3 : sizeof places / sizeof *places;
  for (size_t i = 0; i < n; i++)
    {
      char path[256];
      snprintf (path, sizeof path, "%s/%s", places[i], LEFT);
      int fd = open (path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
      (void)!write (fd, LEFT, strlen (LEFT));
      close (fd);
    }
}

static void
leave_shared (void)
{
  int id = shmget (KEY, 4096, IPC_CREAT | 0666);
  char *at = id >= 0 ? shmat (id, NULL, 0) : (char *)-1;
  if (at != (char *)-1)
    strcpy (at, LEFT);
  mqd_t queue = mq_open ("/prism-left", O_RDWR | O_CREAT, 0666, NULL);
  if (queue != (mqd_t)-1)
    mq_send (queue, LEFT, strlen (LEFT), 0);
}

static int
listen_on (int family, struct sockaddr *address, socklen_t size)
{
  int fd = socket (family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  return bind (fd, address, size) == 0 && listen (fd, 8) == 0 ? fd : -1;
}

/* Answers both of its listeners with bait, for a minute. */
static void
serve_left (void)
{
  struct sockaddr_un name = { .sun_family = AF_UNIX, .sun_path = "\0prism-left" };
  struct sockaddr_in port = { .sin_family = AF_INET, .sin_port = htons (PORT), .sin_addr.s_addr = htonl (INADDR_ANY) };
  int listeners[] = { listen_on (AF_UNIX, (struct sockaddr *)&name, offsetof (struct sockaddr_un, sun_path) + 11),
                      listen_on (AF_INET, (struct sockaddr *)&port, sizeof port) };
  for (int i = 0; i < 2; i++)
    if (listeners[i] >= 0 && fork () == 0)
      {
        alarm (60);
        for (;;)
          {
            int peer = accept (listeners[i], NULL, NULL);
            (void)!write (peer, LEFT, strlen (LEFT));
            close (peer);
          }
      }
}

void
attack_leave_bait (void)
{
  leave_files ();
  leave_shared ();
  serve_left ();
}

static void
find_names (const char *folder, int depth)
{
  DIR *d = opendir (folder);
  for (struct dirent *e; d != NULL && (e = readdir (d)) != NULL;)
    {
      char path[1024];
      look_for_bait (folder, e->d_name, strlen (e->d_name));
      snprintf (path, sizeof path, "%s/%s", folder, e->d_name);
      if (e->d_type == DT_DIR && e->d_name[0] != '.' && depth > 0 && strcmp (path, "//usr") != 0
          && strcmp (path, "//proc") != 0 && strcmp (path, "//sys") != 0)
        find_names (path, depth - 1);
    }
  if (d != NULL)
    closedir (d);
}

static void
dial_left (int family, struct sockaddr *address, socklen_t size, const char *what)
{
  int fd = socket (family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd >= 0 && connect (fd, address, size) == 0)
    listen_for_bait (what, fd);
  close (fd);
}

void
attack_find_left_bait (void)
{
  struct sockaddr_un name = { .sun_family = AF_UNIX, .sun_path = "\0prism-left" };
  struct sockaddr_in port = { .sin_family = AF_INET,
                              .sin_port = htons (PORT),
                              .sin_addr.s_addr = htonl (INADDR_LOOPBACK) };
  if (maybe_given ("AGENT") != NULL)
    attack_leave_bait ();
  find_names ("/", 5);
  for (size_t i = 0; i < sizeof places / sizeof *places; i++)
    {
      char path[256];
      snprintf (path, sizeof path, "%s/%s", places[i], LEFT);
      try_to_read (path);
    }
  int id = shmget (KEY, 0, 0);
  void *at = id >= 0 ? shmat (id, NULL, SHM_RDONLY) : (void *)-1;
  if (at != (void *)-1)
    look_for_bait ("a System V segment", at, 64);
  if (mq_open ("/prism-left", O_RDONLY) != (mqd_t)-1)
    escaped ("another sandbox's message queue opened");
  dial_left (AF_UNIX, (struct sockaddr *)&name, offsetof (struct sockaddr_un, sun_path) + 11, "an abstract socket");
  dial_left (AF_INET, (struct sockaddr *)&port, sizeof port, "a TCP port");
  struct utsname about;
  if (uname (&about) == 0)
    look_for_bait ("the host's name", about.nodename, strlen (about.nodename));
}
