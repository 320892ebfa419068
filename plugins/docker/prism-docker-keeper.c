/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* prism-docker-keeper: outlives its host for as long as it takes to remove what the host
 * made. A container ends by itself when its host is gone; one that was made and not yet
 * started, a folder, a socket and a mount do not. One for each host process, a small
 * single-threaded program without GLib, so that it can also do what a process with threads
 * cannot: make a user namespace for an idmapped mount.
 *
 * TRUST. Only the host speaks to it, over a socket pair. The engine's answers are read for
 * their status and nothing else. Nothing in a container can reach it. */
#include "prism-docker-keeper.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A request to make it may still be under way when its host is gone. */
#define UNSURE_MS   10000
#define PATIENCE_MS 120000 /* for an engine that is being started again */
#define RETRY_MS    100
#define ANSWER_S    30
#define MOST_ANSWER 4096
#define MOST_DEPTH  3

struct kept
{
  char *container, *folder, *socket, *program;
  bool made;
  struct kept *next;
};

static struct kept *all;
static unsigned count;
static uint64_t give_up; /* on an engine that does not answer; for all of them together */

static uint64_t
now_ms (void)
{
  struct timespec t;
  clock_gettime (CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* --- the engine ------------------------------------------------------------------- */

static int
dial (const char *path)
{
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  struct timeval patience = { ANSWER_S, 0 };
  int fd;

  if (strlen (path) >= sizeof address.sun_path)
    return -1;
  strcpy (address.sun_path, path);
  fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd >= 0 && connect (fd, (const struct sockaddr *)&address, sizeof address) != 0)
    {
      close (fd);
      return -1;
    }
  setsockopt (fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  setsockopt (fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  return fd;
}

/* The status of the answer, 0 where there was none. */
static int
ask (const char *socket_path, const char *method, const char *path, bool for_long)
{
  char text[MOST_ANSWER];
  struct timeval endless = { 0, 0 };
  int fd = dial (socket_path), status = 0, length;
  ssize_t n;
  size_t have = 0;

  if (fd < 0)
    return 0;
  if (for_long)
    setsockopt (fd, SOL_SOCKET, SO_RCVTIMEO, &endless, sizeof endless);
  length =
      snprintf (text, sizeof text,
                "%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", method, path);
  if (length > 0 && (size_t)length < sizeof text && send (fd, text, (size_t)length, MSG_NOSIGNAL) == length)
    while (have < 12 && (n = recv (fd, text + have, 12 - have, 0)) > 0)
      have += (size_t)n;
  if (have == 12 && memcmp (text, "HTTP/1.", 7) == 0)
    status = atoi (text + 9);
  /* `wait` sends its head at once and its body when it is over. */
  while (for_long && status == 200 && recv (fd, text, sizeof text, 0) > 0)
    ;
  close (fd);
  return status;
}

static bool
run (const char *const *argv)
{
  const char *const environment[] = { "PATH=/usr/bin:/bin", "LANG=C", "HOME=/", NULL };
  int status = -1;
  pid_t pid = fork ();

  if (pid == 0)
    {
      execve (argv[0], (char *const *)argv, (char *const *)environment);
      _exit (127);
    }
  while (pid > 0 && waitpid (pid, &status, 0) < 0 && errno == EINTR)
    ;
  return pid > 0 && status == 0;
}

static bool
remove_by_program (const struct kept *kept)
{
  const char *const argv[] = { kept->program, "rm", "--force", "--volumes", kept->container, NULL };
  return run (argv);
}

static bool
wait_by_program (const struct kept *kept)
{
  const char *const argv[] = { kept->program, "wait", kept->container, NULL };
  return run (argv);
}

static void
nap (void)
{
  struct timespec t = { 0, RETRY_MS * 1000000L };
  nanosleep (&t, NULL);
}

/* Until it is gone, or nobody answers any more. */
static void
remove_container (const struct kept *kept)
{
  uint64_t start = now_ms ();
  char path[512];

  snprintf (path, sizeof path, "/containers/%s?force=1&v=1", kept->container);
  while (now_ms () < give_up)
    {
      int status;
      if (*kept->socket == 0)
        {
          if (remove_by_program (kept) && (kept->made || now_ms () - start > UNSURE_MS))
            return;
          nap ();
          continue;
        }
      status = ask (kept->socket, "DELETE", path, false);
      if (status == 204 || status == 200 || (status == 404 && (kept->made || now_ms () - start > UNSURE_MS)))
        return;
      nap ();
    }
}

/* --- folders ------------------------------------------------------------------------- */

/* All that is in it was made by the host; what is mounted there is taken away first and
 * never entered. */
static void
empty_folder (int parent, const char *name, unsigned depth)
{
  int fd = openat (parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  DIR *dir = fd >= 0 ? fdopendir (fd) : NULL;
  struct dirent *entry;

  while (dir != NULL && (entry = readdir (dir)) != NULL)
    {
      struct stat info;
      if (strcmp (entry->d_name, ".") == 0 || strcmp (entry->d_name, "..") == 0)
        continue;
      if (fstatat (fd, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR (info.st_mode) && depth > 0)
        {
          empty_folder (fd, entry->d_name, depth - 1);
          unlinkat (fd, entry->d_name, AT_REMOVEDIR);
        }
      else
        unlinkat (fd, entry->d_name, 0);
    }
  if (dir != NULL)
    closedir (dir);
  else if (fd >= 0)
    close (fd);
}

/* m0, m1, … */
static void
remove_mounts (const char *folder)
{
  char path[PATH_MAX];

  for (unsigned i = 0; i < PRISM_DOCKER_KEEPER_MOST; i++)
    {
      struct stat info;
      snprintf (path, sizeof path, "%s/m%u", folder, i);
      if (lstat (path, &info) != 0)
        return;
      while (umount2 (path, MNT_DETACH | UMOUNT_NOFOLLOW) == 0)
        ;
      if (errno != EINVAL && errno != EPERM)
        return;
      if (S_ISDIR (info.st_mode))
        rmdir (path);
      else
        unlink (path);
    }
}

static void
remove_folder (const char *folder)
{
  struct stat info;
  char path[PATH_MAX];

  if (*folder == 0)
    return;
  remove_mounts (folder);
  snprintf (path, sizeof path, "%s/m0", folder);
  if (lstat (path, &info) == 0)
    return; /* a mount stayed: better a leftover than somebody's files */
  empty_folder (AT_FDCWD, folder, MOST_DEPTH);
  rmdir (folder);
}

/* --- what is kept ----------------------------------------------------------------------- */

static struct kept **
find (const char *container)
{
  struct kept **at = &all;

  while (*at != NULL && strcmp ((*at)->container, container) != 0)
    at = &(*at)->next;
  return at;
}

static void
forget (struct kept **at)
{
  struct kept *kept = *at;

  if (kept == NULL)
    return;
  *at = kept->next;
  free (kept->container);
  free (kept->folder);
  free (kept->socket);
  free (kept->program);
  free (kept);
  count--;
}

static const char *
keep (char **words)
{
  struct kept *kept;

  if (count >= PRISM_DOCKER_KEEPER_MOST)
    return "too many sandboxes";
  forget (find (words[0]));
  kept = calloc (1, sizeof *kept);
  if (kept == NULL)
    return "no memory";
  kept->container = strdup (words[0]);
  kept->folder = strdup (words[1]);
  kept->socket = strdup (words[2]);
  kept->program = strdup (words[3]);
  kept->next = all;
  all = kept;
  count++;
  return kept->container != NULL && kept->folder != NULL && kept->socket != NULL && kept->program != NULL ? ""
                                                                                                          : "no memory";
}

/* A process for one sandbox alone, which needs nothing of the host's: *@kept is set there,
 * and NULL here, where the sandbox is forgotten. "" or what went wrong. */
static const char *
go_apart (const char *container, struct kept **kept)
{
  struct kept **at = find (container);
  pid_t pid;

  *kept = NULL;
  if (*at == NULL)
    return "it is not kept";
  pid = fork ();
  if (pid < 0)
    return strerror (errno);
  if (pid > 0)
    {
      forget (at);
      return "";
    }
  close (PRISM_DOCKER_KEEPER_FD);
  *kept = *at;
  return "";
}

static _Noreturn void
end_apart (struct kept *kept)
{
  give_up = now_ms () + PATIENCE_MS;
  remove_container (kept);
  remove_folder (kept->folder);
  _exit (0);
}

static const char *
remove_apart (char **words)
{
  struct kept *kept;
  const char *wrong = go_apart (words[0], &kept);

  if (kept != NULL)
    end_apart (kept);
  return wrong;
}

static const char *
detach (char **words)
{
  uint64_t until = now_ms () + strtoull (words[1], NULL, 10) * 1000 + PATIENCE_MS;
  struct kept *kept;
  const char *wrong = go_apart (words[0], &kept);
  char path[512];

  if (kept == NULL)
    return wrong;
  snprintf (path, sizeof path, "/containers/%s/wait?condition=not-running", kept->container);
  while (now_ms () < until)
    {
      int status = *kept->socket != 0 ? ask (kept->socket, "POST", path, true) : wait_by_program (kept) ? 200 : 0;
      if (status == 404 || status == 200)
        break;
      sleep (1); /* an engine that is away sends no event when it is back */
    }
  kept->made = true;
  end_apart (kept);
}

/* --- idmapped mounts ---------------------------------------------------------------------- */

static bool
write_map (pid_t pid, const char *name, const char *from, const char *to)
{
  char path[64], line[64];
  int length = snprintf (line, sizeof line, "%s %s 1", from, to), fd;
  bool done;

  snprintf (path, sizeof path, "/proc/%d/%s", (int)pid, name);
  fd = open (path, O_WRONLY | O_CLOEXEC);
  done = fd >= 0 && write (fd, line, (size_t)length) == length;
  if (fd >= 0)
    close (fd);
  return done;
}

/* A user namespace that is only a table of ids. -1 and errno. */
static int
make_userns (char **ids)
{
  int gate[2], fd = -1, saved = 0;
  char path[64], byte;
  pid_t pid;

  if (pipe2 (gate, O_CLOEXEC) != 0)
    return -1;
  pid = fork ();
  if (pid == 0)
    {
      byte = unshare (CLONE_NEWUSER) == 0 ? 0 : (char)errno;
      if (write (gate[1], &byte, 1) == 1)
        pause ();
      _exit (0);
    }
  close (gate[1]);
  if (pid < 0 || read (gate[0], &byte, 1) != 1)
    saved = errno != 0 ? errno : EIO;
  else if (byte != 0)
    saved = byte;
  else
    {
      snprintf (path, sizeof path, "/proc/%d/ns/user", (int)pid);
      if (write_map (pid, "uid_map", ids[0], ids[1]) && write_map (pid, "gid_map", ids[2], ids[3]))
        fd = open (path, O_RDONLY | O_CLOEXEC);
      saved = errno;
    }
  close (gate[0]);
  if (pid > 0)
    {
      kill (pid, SIGKILL);
      waitpid (pid, NULL, 0);
    }
  errno = saved;
  return fd;
}

struct attributes
{
  uint64_t set, clear, propagation, userns;
};

#define TREE_CLONE      1u
#define ATTR_RDONLY     1u
#define ATTR_NOSUID     2u
#define ATTR_NODEV      4u
#define ATTR_IDMAP      0x100000u
#define MOVE_EMPTY_FROM 4u

static bool
make_place (const char *place, bool folder)
{
  int fd;

  if (folder)
    return mkdir (place, 0700) == 0;
  fd = open (place, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd >= 0)
    close (fd);
  return fd >= 0;
}

static const char *
show (char **words)
{
  bool folder = strchr (words[2], 'd') != NULL, readonly = strchr (words[2], 'r') != NULL;
  struct attributes attributes = { ATTR_IDMAP | ATTR_NOSUID | ATTR_NODEV | (readonly ? ATTR_RDONLY : 0), 0, MS_PRIVATE,
                                   0 };
  bool same = strcmp (words[3], words[4]) == 0 && strcmp (words[5], words[6]) == 0, done = false;
  int userns = same ? -1 : make_userns (words + 3), tree = -1, saved;

  if (same)
    attributes.set &= ~(uint64_t)ATTR_IDMAP;
  if (same || userns >= 0)
    {
      tree = (int)syscall (SYS_open_tree, AT_FDCWD, words[1], TREE_CLONE | O_CLOEXEC | AT_SYMLINK_NOFOLLOW);
      attributes.userns = same ? 0 : (uint64_t)userns;
      done = tree >= 0 && syscall (SYS_mount_setattr, tree, "", AT_EMPTY_PATH, &attributes, sizeof attributes) == 0
             && make_place (words[0], folder)
             && syscall (SYS_move_mount, tree, "", AT_FDCWD, words[0], MOVE_EMPTY_FROM) == 0;
    }
  saved = errno;
  if (tree >= 0)
    close (tree);
  if (userns >= 0)
    close (userns);
  return done ? "" : strerror (saved);
}

static const char *
hide (char **words)
{
  struct stat info;

  if (umount2 (words[0], MNT_DETACH | UMOUNT_NOFOLLOW) != 0 || lstat (words[0], &info) != 0)
    return strerror (errno);
  if (S_ISDIR (info.st_mode) ? rmdir (words[0]) : unlink (words[0]))
    return strerror (errno);
  return "";
}

/* --- the host's words ------------------------------------------------------------------------ */

static const char *
serve (char *packet, size_t size)
{
  char *words[8] = { NULL };
  unsigned n = 0;
  struct kept **at;

  if (size < 2 || packet[size - 1] != 0)
    return "that is no request";
  for (char *word = packet + 1; word < packet + size && n < 8; word += strlen (word) + 1)
    words[n++] = word;
  if (*packet == PRISM_DOCKER_KEEP && n == 4)
    return keep (words);
  if (*packet == PRISM_DOCKER_SHOW && n == 7)
    return show (words);
  if (*packet == PRISM_DOCKER_HIDE && n == 1)
    return hide (words);
  if (*packet == PRISM_DOCKER_DETACH && n == 2)
    return detach (words);
  if (*packet == PRISM_DOCKER_REMOVE && n == 1)
    return remove_apart (words);
  if (n != 1 || (*packet != PRISM_DOCKER_MADE && *packet != PRISM_DOCKER_FORGET))
    return "that is no request";
  at = find (words[0]);
  if (*packet == PRISM_DOCKER_FORGET)
    forget (at);
  else if (*at != NULL)
    (*at)->made = true;
  return "";
}

static void
begin (void)
{
  int null = open ("/dev/null", O_RDWR | O_CLOEXEC);

  /* Neither the host's terminal nor its signals, and no zombie of its own. */
  setsid ();
  for (int number = 1; number < NSIG; number++)
    if (number != SIGKILL && number != SIGSTOP && number != SIGCHLD)
      signal (number, SIG_IGN);
  for (int fd = 0; null >= 0 && fd < 3; fd++)
    dup2 (null, fd);
  if (null > 2)
    close (null);
  syscall (SYS_close_range, PRISM_DOCKER_KEEPER_FD + 1, ~0U, 0);
  fcntl (PRISM_DOCKER_KEEPER_FD, F_SETFD, FD_CLOEXEC);
  umask (077);
  if (chdir ("/") != 0)
    _exit (71);
  signal (SIGCHLD, SIG_DFL);
}

int
main (void)
{
  static char packet[PRISM_DOCKER_KEEPER_PACKET];
  ssize_t n;
  pid_t pid = fork ();

  /* No child of the host's: it waits for this one only. */
  if (pid != 0)
    _exit (pid < 0 ? 71 : 0);
  begin ();
  for (;;)
    {
      const char *answer;
      n = recv (PRISM_DOCKER_KEEPER_FD, packet, sizeof packet, 0);
      if (n < 0 && errno == EINTR)
        continue;
      if (n <= 0)
        break;
      answer = serve (packet, (size_t)n);
      if (send (PRISM_DOCKER_KEEPER_FD, answer, strlen (answer) + 1, MSG_NOSIGNAL) < 0)
        break;
      while (waitpid (-1, NULL, WNOHANG) > 0)
        ;
    }
  give_up = now_ms () + PATIENCE_MS;
  for (; all != NULL; forget (&all))
    {
      remove_container (all);
      remove_folder (all->folder);
    }
  return 0;
}
