/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "stage.h"
#include "malice.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <ftw.h>
#include <ifaddrs.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>

__attribute__ ((format (printf, 1, 2))) _Noreturn static void
die (const char *format, ...)
{
  va_list arguments;
  va_start (arguments, format);
  fprintf (stderr, "stage: ");
  vfprintf (stderr, format, arguments);
  fprintf (stderr, ": %s\n", strerror (errno));
  va_end (arguments);
  _exit (99);
}

static void
make_file (const char *folder, const char *leaf, mode_t mode, const char *format, ...)
{
  char path[600];
  va_list arguments;
  snprintf (path, sizeof path, "%s/%s", folder, leaf);
  FILE *file = fopen (path, "we");
  if (file == NULL)
    die ("%s", path);
  va_start (arguments, format);
  vfprintf (file, format, arguments);
  va_end (arguments);
  fchmod (fileno (file), mode);
  fclose (file);
}

static void
make_folder (char *path, size_t size, const char *folder, const char *leaf, mode_t mode)
{
  snprintf (path, size, "%s/%s", folder, leaf);
  if (mkdir (path, mode) != 0 && errno != EEXIST)
    die ("%s", path);
  chmod (path, mode);
}

static void
copy_program (const char *from, const char *folder, const char *leaf, mode_t mode)
{
  char path[600];
  struct stat st;
  snprintf (path, sizeof path, "%s/%s", folder, leaf);
  int in = open (from, O_RDONLY | O_CLOEXEC), out = open (path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
  if (in < 0 || out < 0 || fstat (in, &st) != 0 || sendfile (out, in, NULL, st.st_size) != st.st_size
      || fchmod (out, mode) != 0)
    die ("copying %s to %s", from, path);
  close (in);
  close (out);
}

void
stage_set_variable (struct stage *stage, const char *name, const char *format, ...)
{
  char *value, *variable;
  va_list arguments;
  va_start (arguments, format);
  if (vasprintf (&value, format, arguments) < 0 || asprintf (&variable, "MALICE_%s=%s", name, value) < 0)
    die ("memory");
  va_end (arguments);
  free (value);
  size_t length = strlen (name) + 8, i = 0;
  while (stage->variables[i] != NULL && strncmp (stage->variables[i], variable, length) != 0)
    i++;
  free (stage->variables[i]);
  stage->variables[i] = variable;
}

static int
listen_unix (const char *path, size_t length, int type)
{
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  memcpy (address.sun_path, path, length);
  int fd = socket (AF_UNIX, type | SOCK_CLOEXEC, 0);
  if (fd < 0 || bind (fd, (struct sockaddr *)&address, offsetof (struct sockaddr_un, sun_path) + length) != 0
      || (type == SOCK_STREAM && listen (fd, 64) != 0))
    die ("listening on %s", path);
  if (path[0] != '\0')
    chmod (path, 0777);
  return fd;
}

static int
listen_inet (int family, bool any, int type, int *port)
{
  struct sockaddr_in v4 = { .sin_family = AF_INET,
                            .sin_port = htons (*port),
                            .sin_addr.s_addr = htonl (any ? INADDR_ANY : INADDR_LOOPBACK) };
  struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons (*port), .sin6_addr = in6addr_loopback };
  struct sockaddr *address = family == AF_INET ? (struct sockaddr *)&v4 : (struct sockaddr *)&v6;
  socklen_t size = family == AF_INET ? sizeof v4 : sizeof v6;
  int fd = socket (family, type | SOCK_CLOEXEC, 0);
  if (fd < 0 || bind (fd, address, size) != 0 || (type == SOCK_STREAM && listen (fd, 64) != 0))
    {
      close (fd);
      return -1;
    }
  getsockname (fd, address, &size);
  *port = ntohs (family == AF_INET ? v4.sin_port : v6.sin6_port);
  return fd;
}

/* Says the bait to whoever comes, and counts datagrams by answering them. */
_Noreturn static void
serve (const int *fds, int n, const char *bait)
{
  struct pollfd p[16];
  for (int i = 0; i < n; i++)
    p[i] = (struct pollfd){ .fd = fds[i], .events = POLLIN };
  signal (SIGPIPE, SIG_IGN);
  while (poll (p, n, -1) > 0 || errno == EINTR)
    for (int i = 0; i < n; i++)
      {
        int type;
        socklen_t size = sizeof type;
        if (!(p[i].revents & POLLIN) || getsockopt (p[i].fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0)
          continue;
        if (type == SOCK_STREAM)
          {
            int peer = accept4 (p[i].fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
            (void)!write (peer, bait, strlen (bait));
            close (peer);
            continue;
          }
        char question[512];
        struct sockaddr_storage from;
        size = sizeof from;
        if (recvfrom (p[i].fd, question, sizeof question, MSG_DONTWAIT, (struct sockaddr *)&from, &size) >= 0)
          sendto (p[i].fd, bait, strlen (bait), MSG_DONTWAIT, (struct sockaddr *)&from, size);
      }
  _exit (1);
}

static void
start_listener (struct stage *stage, const char *bait)
{
  int fds[16], n = 0, port;
  char path[300], list[700], name[64];
  snprintf (path, sizeof path, "%s/socket", stage->folder);
  fds[n++] = listen_unix (path, strlen (path) + 1, SOCK_STREAM);
  strcpy (list, path);
  snprintf (path, sizeof path, "/run/prism-malice-%s.sock", stage->mark);
  if (access ("/run", W_OK) == 0)
    {
      fds[n++] = listen_unix (path, strlen (path) + 1, SOCK_STREAM);
      strcat (list, ":");
      strcat (list, path);
      strcat (list, ":/var");
      strcat (list, path);
    }
  snprintf (path, sizeof path, "/tmp/prism-malice-%s.sock", stage->mark);
  fds[n++] = listen_unix (path, strlen (path) + 1, SOCK_STREAM);
  strcat (list, ":");
  strcat (list, path);
  stage_set_variable (stage, "SOCKETS", "%s", list);
  snprintf (path, sizeof path, "%s/datagram", stage->folder);
  fds[n++] = listen_unix (path, strlen (path) + 1, SOCK_DGRAM);
  stage_set_variable (stage, "DATAGRAM", "%s", path);
  snprintf (name, sizeof name, "%cprism-malice-%s", 0, stage->mark);
  fds[n++] = listen_unix (name, 1 + strlen (name + 1), SOCK_STREAM);
  stage_set_variable (stage, "ABSTRACT", "%s", name + 1);
  port = 0;
  fds[n++] = listen_inet (AF_INET, false, SOCK_STREAM, &port);
  stage_set_variable (stage, "TCP4", "%d", port);
  port = 0;
  fds[n] = listen_inet (AF_INET6, false, SOCK_STREAM, &port);
  if (fds[n] >= 0)
    {
      n++;
      stage_set_variable (stage, "TCP6", "%d", port);
    }
  port = 0;
  fds[n++] = listen_inet (AF_INET, true, SOCK_STREAM, &port);
  stage_set_variable (stage, "TCP_ANY", "%d", port);
  port = 0;
  fds[n++] = listen_inet (AF_INET, true, SOCK_DGRAM, &port);
  stage_set_variable (stage, "UDP", "%d", port);
  pid_t parent = getpid ();
  stage->listener = fork ();
  if (stage->listener == 0)
    {
      prctl (PR_SET_PDEATHSIG, SIGKILL);
      if (getppid () != parent)
        _exit (0);
      serve (fds, n, bait);
    }
  while (n-- > 0)
    close (fds[n]);
}

/* A process with the bait in its argv, its environment and its memory. */
static void
start_victim (struct stage *stage, const char *program, const char *bait)
{
  char variable[192];
  snprintf (variable, sizeof variable, "MALICE_HOST_SECRET=%s", bait);
  pid_t parent = getpid ();
  int become[2];
  char none;
  if (pipe2 (become, O_CLOEXEC) != 0)
    die ("a pipe");
  stage->victim = fork ();
  if (stage->victim == 0)
    {
      prctl (PR_SET_PDEATHSIG, SIGKILL);
      if (getppid () != parent)
        _exit (0);
      char *const argv[] = { (char *)"malice-victim", (char *)"victim", (char *)bait, NULL };
      char *const environment[] = { variable, NULL };
      execve (program, argv, environment);
      _exit (99);
    }
  /* Its end closes when it has become the victim: until then there is nothing to be seen. */
  close (become[1]);
  (void)!read (become[0], &none, 1);
  close (become[0]);
  stage_set_variable (stage, "VICTIM", "%d", (int)stage->victim);
}

static void
find_addresses (struct stage *stage)
{
  char list[1024] = "127.0.0.2", text[INET6_ADDRSTRLEN];
  struct ifaddrs *all = NULL;
  getifaddrs (&all);
  for (struct ifaddrs *a = all; a != NULL && strlen (list) < 900; a = a->ifa_next)
    if (a->ifa_addr != NULL && a->ifa_addr->sa_family == AF_INET)
      {
        inet_ntop (AF_INET, &((struct sockaddr_in *)(void *)a->ifa_addr)->sin_addr, text, sizeof text);
        strcat (list, ",");
        strcat (list, text);
      }
  freeifaddrs (all);
  stage_set_variable (stage, "ADDRESSES", "%s", list);
}

static void
describe_host (struct stage *stage)
{
  struct stat st;
  struct
  {
    struct file_handle head;
    unsigned char bytes[128];
  } handle = { .head.handle_bytes = 128 };
  char secret[400], hex[300] = "";
  int mount_id;
  if (stat ("/", &st) == 0)
    stage_set_variable (stage, "ROOT", "%llu:%llu", (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
  if (stat (".", &st) == 0)
    stage_set_variable (stage, "HOST_CWD", "%llu:%llu", (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
  if (stat ("/proc/self/ns/net", &st) == 0)
    stage_set_variable (stage, "NETNS", "%llu", (unsigned long long)st.st_ino);
  snprintf (secret, sizeof secret, "%s/secret", stage->home);
  if (name_to_handle_at (AT_FDCWD, secret, &handle.head, &mount_id, 0) == 0)
    for (unsigned i = 0; i < handle.head.handle_bytes; i++)
      sprintf (hex + 2 * (size_t)i, "%02x", handle.bytes[i]);
  stage_set_variable (stage, "HANDLE", "%u:%s", handle.head.handle_type, hex);
}

/* Where there is no quota the least that a user has elsewhere is as good. */
static void
describe_quotas (struct stage *stage)
{
  static const struct
  {
    int resource;
    const char *name;
    rlim_t else_this;
  } quotas[] = { { RLIMIT_SIGPENDING, "QUOTA_SIGNALS", 100000 },
                 { RLIMIT_MSGQUEUE, "QUOTA_QUEUES", 819200 },
                 { RLIMIT_MEMLOCK, "QUOTA_LOCKED", 8388608 } };
  for (int i = 0; i < 3; i++)
    {
      struct rlimit limit = { 0 };
      getrlimit (quotas[i].resource, &limit);
      rlim_t quota = limit.rlim_max != RLIM_INFINITY ? limit.rlim_max : quotas[i].else_this;
      stage_set_variable (stage, quotas[i].name, "%llu", (unsigned long long)quota);
    }
}

static void
share_memory (struct stage *stage, const char *bait)
{
  char path[128];
  key_t key = (key_t)(0x5052 << 16 | (getpid () & 0xffff));
  int id = shmget (key, 4096, IPC_CREAT | 0666);
  void *at = id >= 0 ? shmat (id, NULL, 0) : (void *)-1;
  if (at == (void *)-1)
    die ("a System V segment");
  strcpy (at, bait);
  shmdt (at);
  stage_set_variable (stage, "SHM", "%d", key);
  snprintf (path, sizeof path, "/prism-malice-%s", stage->mark);
  mode_t old = umask (0);
  /* Small: a user has 800 KiB for all queues, and those of an IPC namespace that has ended
   * count until the kernel gets round to it, some stages later. */
  struct mq_attr small = { .mq_maxmsg = 1, .mq_msgsize = 64 };
  mqd_t queue = mq_open (path, O_RDWR | O_CREAT | O_CLOEXEC, 0666, &small);
  umask (old);
  if (queue == (mqd_t)-1)
    die ("a message queue");
  mq_close (queue);
  stage_set_variable (stage, "QUEUE", "%s", path);
  snprintf (path, sizeof path, "prism-malice-%s", stage->mark);
  make_file ("/dev/shm", path, 0666, "%s", bait);
  stage_set_variable (stage, "DEV_SHM", "%s", path);
}

/* By rm, as paths may be longer than any call takes. */
static void
remove_tree (const char *path)
{
  char *const argv[] = { (char *)"rm", (char *)"-rf", (char *)path, NULL };
  pid_t pid = fork ();
  if (pid == 0)
    {
      execvp (argv[0], argv);
      _exit (127);
    }
  waitpid (pid, NULL, 0);
}

/* nftw() has no user data. */
static uid_t stage_owner;

static int
own_one (const char *path, const struct stat *st, int kind, struct FTW *where)
{
  static const char *const roots[] = { "malice-setid", "planted-device", "device" };
  const char *leaf = path + where->base;
  for (size_t i = 0; i < 3; i++)
    if (strcmp (leaf, roots[i]) == 0)
      return 0;
  return lchown (path, stage_owner, stage_owner);
}

static void
fill_mount (struct stage *stage, const char *program)
{
  char path[400];
  make_folder (stage->mount, sizeof stage->mount, stage->folder, "mount", 0755);
  copy_program (program, stage->mount, "malice", 0755);
  copy_program (program, stage->mount, "malice-setid", geteuid () == 0 ? 06755 : 0755);
  make_file (stage->mount, "linkable", 0666, "linkable\n");
  snprintf (path, sizeof path, "%s/planted-device", stage->mount);
  if (geteuid () == 0 && mknod (path, S_IFCHR | 0666, makedev (1, 3)) == 0)
    chmod (path, 0666);
}

void
stage_refresh (struct stage *stage, uid_t owner)
{
  char folder[400], path[600], to[700];
  remove_tree (stage->workspace);
  make_folder (stage->workspace, sizeof stage->workspace, stage->folder, "workspace", 0755);
  make_file (stage->workspace, "kept", 0666, "kept\n");
  make_folder (folder, sizeof folder, stage->workspace, "tree", 0777);
  make_file (folder, "leaf", 0666, "leaf\n");
  make_folder (folder, sizeof folder, stage->workspace, "hidden", 0755);
  make_file (folder, "secret", 0644, BAIT "hidden-%s\n", stage->token);
  snprintf (to, sizeof to, "%s/link-to-hidden", stage->workspace);
  if (symlink ("hidden", to) != 0)
    die ("%s", to);
  make_folder (folder, sizeof folder, stage->workspace, "deep", 0777);
  make_folder (folder, sizeof folder, stage->workspace, "deep/guarded", 0755);
  make_file (folder, "config", 0644, "guarded\n");
  snprintf (path, sizeof path, "%s/malice", stage->mount);
  copy_program (path, stage->workspace, "malice-setid", geteuid () == 0 ? 06755 : 0755);
  snprintf (path, sizeof path, "%s/planted-device", stage->workspace);
  if (geteuid () == 0 && mknod (path, S_IFCHR | 0666, makedev (1, 3)) == 0)
    chmod (path, 0666);
  stage_owner = owner;
  if (geteuid () == 0 && owner != 0)
    nftw (stage->workspace, own_one, 16, FTW_PHYS);
}

void
stage_set_up (struct stage *stage, const char *program, uid_t owner)
{
  unsigned char random[16];
  char bait[128], sibling[400];
  memset (stage, 0, sizeof *stage);
  if (getrandom (random, sizeof random, 0) != sizeof random)
    die ("getrandom");
  for (int i = 0; i < 12; i++)
    sprintf (stage->token + 2 * i, "%02x", random[i]);
  snprintf (stage->mark, sizeof stage->mark, "%02x%02x%02x%02x", random[12], random[13], random[14], random[15]);
  snprintf (bait, sizeof bait, BAIT "%s", stage->token);
  umask (022);
  strcpy (stage->folder, "/tmp/prism-malice-XXXXXX");
  if (mkdtemp (stage->folder) == NULL)
    die ("%s", stage->folder);
  chmod (stage->folder, 0755);
  make_folder (stage->home, sizeof stage->home, stage->folder, "home", 0755);
  make_file (stage->home, "secret", 0644, "%s\n", bait);
  make_folder (sibling, sizeof sibling, stage->folder, "sibling", 0777);
  make_file (sibling, "secret", 0666, "%s\n", bait);
  fill_mount (stage, program);
  stage_refresh (stage, owner);
  stage_set_variable (stage, "SECRET", "%s/secret", stage->home);
  stage_set_variable (stage, "SIBLING", "sibling");
  stage_set_variable (stage, "WORKSPACE", "%s", stage->workspace);
  stage_set_variable (stage, "HOST_WORKSPACE", "%s", stage->workspace);
  stage_set_variable (stage, "RO", "%s", stage->mount);
  stage_set_variable (stage, "LIMIT_PIDS", "%d", STAGE_LIMIT_PIDS);
  stage_set_variable (stage, "LIMIT_MEMORY", "%ld", STAGE_LIMIT_MEMORY);
  stage_set_variable (stage, "LIMIT_FDS", "%d", STAGE_LIMIT_FDS);
  stage_set_variable (stage, "LIMIT_TMP", "%ld", STAGE_LIMIT_TMP);
  stage_set_variable (stage, "LIMIT_WORKSPACE", "%ld", STAGE_LIMIT_WORKSPACE);
  describe_host (stage);
  describe_quotas (stage);
  find_addresses (stage);
  share_memory (stage, bait);
  start_listener (stage, bait);
  snprintf (sibling, sizeof sibling, "%s/malice", stage->mount);
  start_victim (stage, sibling, bait);
}

/* --- what the host can see afterwards ---------------------------------------- */

static char *found_damage;

static int
look_at_one (const char *path, const struct stat *st, int kind, struct FTW *where)
{
  const char *leaf = path + where->base;
  if (strcmp (leaf, "malice-setid") == 0 || strcmp (leaf, "planted-device") == 0)
    return 0;
  if (S_ISCHR (st->st_mode) || S_ISBLK (st->st_mode))
    snprintf (found_damage, 512, "a device was left: %s", path);
  else if ((st->st_mode & 06000) != 0 && !S_ISDIR (st->st_mode))
    snprintf (found_damage, 512, "a set-id file was left: %s", path);
  else
    return 0;
  return 1;
}

static bool
holds (const char *folder, const char *leaf, const char *wanted)
{
  char path[600], bytes[256];
  snprintf (path, sizeof path, "%s/%s", folder, leaf);
  int fd = open (path, O_RDONLY | O_CLOEXEC);
  ssize_t n = fd >= 0 ? read (fd, bytes, sizeof bytes - 1) : -1;
  close (fd);
  bytes[n > 0 ? n : 0] = '\0';
  return n >= 0 && strcmp (bytes, wanted) == 0;
}

const char *
stage_damage (struct stage *stage, char text[512])
{
  char wanted[160], folder[400];
  snprintf (wanted, sizeof wanted, BAIT "%s\n", stage->token);
  found_damage = text;
  text[0] = '\0';
  if (waitpid (stage->victim, NULL, WNOHANG) != 0)
    return "the host process was killed";
  if (waitpid (stage->listener, NULL, WNOHANG) != 0)
    return "the listener was killed";
  if (!holds (stage->home, "secret", wanted))
    return "the file in the home was changed";
  snprintf (folder, sizeof folder, "%s/sibling", stage->folder);
  if (!holds (folder, "secret", wanted))
    return "a file beside the workspace was changed";
  if (!holds (stage->mount, "linkable", "linkable\n"))
    return "a file in the read-only mount was changed";
  snprintf (folder, sizeof folder, "%s/deep/guarded", stage->workspace);
  if (!holds (folder, "config", "guarded\n"))
    return "the protected file was changed or replaced";
  if (nftw (stage->workspace, look_at_one, 16, FTW_PHYS) != 0 && text[0] != '\0')
    return text;
  return NULL;
}

int
stage_count_marked (struct stage *stage)
{
  int n = 0;
  DIR *proc = opendir ("/proc");
  for (struct dirent *e; proc != NULL && (e = readdir (proc)) != NULL;)
    {
      char path[300], bytes[1024];
      snprintf (path, sizeof path, "/proc/%s/cmdline", e->d_name);
      int fd = e->d_name[0] >= '1' && e->d_name[0] <= '9' ? open (path, O_RDONLY | O_CLOEXEC) : -1;
      ssize_t got = fd >= 0 ? read (fd, bytes, sizeof bytes) : -1;
      close (fd);
      if (got > 0 && memmem (bytes, got, stage->mark, strlen (stage->mark)) != NULL
          && memmem (bytes, got, "malice", 6) != NULL)
        n++;
    }
  closedir (proc);
  return n;
}

static long
milliseconds_now (void)
{
  struct timespec now;
  clock_gettime (CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

bool
stage_wait_unmarked (struct stage *stage, int milliseconds)
{
  struct timespec pause = { 0, 2000000 };
  for (long start = milliseconds_now ();;)
    {
      if (stage_count_marked (stage) == 0)
        return true;
      if (milliseconds_now () - start > milliseconds)
        return false;
      nanosleep (&pause, NULL);
    }
}

bool
stage_wait_heartbeat (struct stage *stage, int milliseconds)
{
  char path[400], last[64] = "", bytes[64];
  struct timespec pause = { 0, 5000000 };
  snprintf (path, sizeof path, "%s/heartbeat", stage->workspace);
  for (long start = milliseconds_now (), changed = start;;)
    {
      memset (bytes, 0, sizeof bytes);
      int fd = open (path, O_RDONLY | O_CLOEXEC);
      if (fd < 0 || read (fd, bytes, sizeof bytes - 1) < 0)
        bytes[0] = '\0';
      close (fd);
      long now = milliseconds_now ();
      if (strcmp (bytes, last) != 0)
        changed = now;
      strcpy (last, bytes);
      if (now - changed > 100)
        return true;
      if (now - start > milliseconds)
        return false;
      nanosleep (&pause, NULL);
    }
}

void
stage_tear_down (struct stage *stage)
{
  char path[300];
  pid_t children[] = { stage->listener, stage->victim };
  for (int i = 0; i < 2; i++)
    {
      kill (children[i], SIGKILL);
      waitpid (children[i], NULL, 0);
    }
  key_t key = (key_t)(0x5052 << 16 | (getpid () & 0xffff));
  shmctl (shmget (key, 0, 0), IPC_RMID, NULL);
  snprintf (path, sizeof path, "/prism-malice-%s", stage->mark);
  mq_unlink (path);
  snprintf (path, sizeof path, "/dev/shm/prism-malice-%s", stage->mark);
  unlink (path);
  snprintf (path, sizeof path, "/run/prism-malice-%s.sock", stage->mark);
  unlink (path);
  snprintf (path, sizeof path, "/tmp/prism-malice-%s.sock", stage->mark);
  unlink (path);
  remove_tree (stage->folder);
  for (int i = 0; stage->variables[i] != NULL; i++)
    free (stage->variables[i]);
}
