/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Past the limits. Each stops as soon as it is over, so that the proof outside
 * takes no more than twice what the stage allows. */
#include "../malice.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>

void
attack_fork_bomb (void)
{
  long limit = (long)given_number ("LIMIT_PIDS"), alive = 0;
  pid_t *children = calloc (limit + 2, sizeof *children);
  while (alive <= limit + 1)
    {
      pid_t pid = fork ();
      if (pid < 0)
        break;
      if (pid == 0)
        {
          prctl (PR_SET_PDEATHSIG, SIGKILL);
          for (;;)
            pause ();
        }
      children[alive++] = pid;
    }
  for (long i = 0; i < alive; i++)
    kill (children[i], SIGKILL);
  while (wait (NULL) > 0)
    ;
  if (alive > limit)
    escaped ("%ld processes alive, the limit is %ld", alive, limit);
}

static void *
stay (void *unused)
{
  for (;;)
    pause ();
  return unused;
}

void
attack_thread_bomb (void)
{
  long limit = (long)given_number ("LIMIT_PIDS"), alive = 0;
  pthread_attr_t attributes;
  pthread_attr_init (&attributes);
  pthread_attr_setstacksize (&attributes, 65536);
  pthread_t thread;
  while (alive <= limit + 1 && pthread_create (&thread, &attributes, stay, NULL) == 0)
    alive++;
  if (alive > limit)
    escaped ("%ld threads alive, the limit is %ld", alive, limit);
}

static void
touch (char *memory, size_t size)
{
  for (size_t i = 0; i < size; i += 4096)
    memory[i] = (char)i | 1;
}

static char *
map (size_t size)
{
  return mmap (NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

void
attack_memory_hog (void)
{
  size_t wanted = 2 * (size_t)given_number ("LIMIT_MEMORY"), step = 4 << 20;
  for (size_t have = 0; have < wanted; have += step)
    {
      char *piece = map (step);
      if (piece == MAP_FAILED)
        return;
      touch (piece, step);
    }
  escaped ("one process holds %zu bytes, twice the limit", wanted);
}

/* Each child takes a share that no limit of a single process forbids. All must
 * hold theirs at the same time. */
void
attack_memory_hogs (void)
{
  enum
  {
    HOGS = 16
  };
  size_t share = (size_t)given_number ("LIMIT_MEMORY") / (HOGS / 2);
  int ready[2], held = 0;
  if (pipe (ready) != 0)
    broken ("pipe: %s", strerror (errno));
  for (int i = 0; i < HOGS; i++)
    if (fork () == 0)
      {
        prctl (PR_SET_PDEATHSIG, SIGKILL);
        char *piece = map (share);
        if (piece == MAP_FAILED)
          _exit (1);
        touch (piece, share);
        (void)!write (ready[1], "x", 1);
        for (;;)
          pause ();
      }
  close (ready[1]);
  struct pollfd p = { .fd = ready[0], .events = POLLIN };
  char byte;
  while (held < HOGS && poll (&p, 1, 3000) == 1 && read (ready[0], &byte, 1) == 1)
    held++;
  int dead = 0;
  while (waitpid (-1, NULL, WNOHANG) > 0)
    dead++;
  if (held == HOGS && dead == 0)
    escaped ("%d processes hold %zu bytes, twice the limit", HOGS, share * HOGS);
}

void
attack_memory_files (void)
{
  size_t wanted = 2 * (size_t)given_number ("LIMIT_MEMORY"), have = 0;
  static char block[1 << 20];
  memset (block, 'x', sizeof block);
  int fd = memfd_create ("hog", MFD_CLOEXEC);
  if (fd < 0)
    return;
  while (have < wanted && write (fd, block, sizeof block) == sizeof block)
    have += sizeof block;
  if (have >= wanted)
    escaped ("a memfd holds %zu bytes, twice the limit", have);
}

void
attack_memory_segments (void)
{
  size_t wanted = 2 * (size_t)given_number ("LIMIT_MEMORY"), step = 8 << 20, have = 0;
  int ids[512], n = 0;
  while (have < wanted && n < 512 && (ids[n] = shmget (IPC_PRIVATE, step, IPC_CREAT | 0600)) >= 0)
    {
      char *at = shmat (ids[n++], NULL, 0);
      if (at == (char *)-1)
        break;
      touch (at, step);
      shmdt (at);
      have += step;
    }
  /* One that went when nobody had it attached any more holds nothing. */
  have = 0;
  for (int i = 0; i < n; i++)
    {
      struct shmid_ds info;
      if (shmctl (ids[i], IPC_STAT, &info) == 0)
        have += step;
      shmctl (ids[i], IPC_RMID, NULL);
    }
  if (have >= wanted)
    escaped ("System V segments hold %zu bytes, twice the limit", have);
}

void
attack_memory_secret (void)
{
  size_t wanted = 2 * (size_t)given_number ("LIMIT_MEMORY"), step = 4 << 20, have = 0;
  while (have < wanted)
    {
      int fd = (int)syscall (SYS_memfd_secret, O_CLOEXEC);
      if (fd < 0 || ftruncate (fd, (off_t)step) != 0)
        return;
      char *piece = mmap (NULL, step, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
      if (piece == MAP_FAILED)
        return;
      touch (piece, step);
      close (fd);
      have += step;
    }
  escaped ("secret memory holds %zu bytes, twice the limit", have);
}

/* What one process can put into pipes and into pairs of sockets that nobody reads. */
static size_t
fill_buffers (size_t enough)
{
  static char block[65536];
  size_t held = 0;
  int ends[2];
  while (held < enough)
    {
      if (pipe2 (ends, O_NONBLOCK | O_CLOEXEC) != 0)
        return held;
      for (ssize_t n; (n = write (ends[1], block, sizeof block)) > 0;)
        held += (size_t)n;
      if (socketpair (AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0)
        return held;
      int size = 1 << 30;
      for (int i = 0; i < 2; i++)
        {
          setsockopt (ends[i], SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
          for (ssize_t n; (n = write (ends[i], block, sizeof block)) > 0;)
            held += (size_t)n;
        }
    }
  return held;
}

void
attack_memory_buffers (void)
{
  size_t wanted = 2 * (size_t)given_number ("LIMIT_MEMORY"), have = 0, held;
  int told[2];
  if (pipe (told) != 0)
    broken ("pipe: %s", strerror (errno));
  for (int i = 0; i < 60 && have < wanted; i++)
    {
      pid_t pid = fork ();
      if (pid < 0)
        break;
      if (pid == 0)
        {
          prctl (PR_SET_PDEATHSIG, SIGKILL);
          struct rlimit few = { 1000, 1000 };
          setrlimit (RLIMIT_NOFILE, &few);
          held = fill_buffers (wanted / 4);
          (void)!write (told[1], &held, sizeof held);
          for (;;)
            pause ();
        }
      struct pollfd p = { .fd = told[0], .events = POLLIN };
      if (poll (&p, 1, 5000) != 1 || read (told[0], &held, sizeof held) != sizeof held)
        return;
      have += held;
    }
  if (have >= wanted && waitpid (-1, NULL, WNOHANG) == 0)
    escaped ("buffers hold %zu bytes, twice the limit", have);
}

void
attack_descriptor_hog (void)
{
  long limit = (long)given_number ("LIMIT_FDS"), have = 0;
  while (have <= limit && dup (0) >= 0)
    have++;
  if (have > limit)
    escaped ("%ld descriptors, the limit is %ld", have, limit);
}

static void
fill (const char *folder, long long limit)
{
  static char block[1 << 20];
  char path[600];
  long long have = 0;
  memset (block, 'x', sizeof block);
  snprintf (path, sizeof path, "%s/.hog-%d", folder, (int)getpid ());
  int fd = open (path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0)
    return;
  unlink (path);
  while (have <= limit + (limit >> 3) && write (fd, block, sizeof block) == sizeof block)
    have += sizeof block;
  close (fd);
  if (have > limit + (limit >> 3))
    escaped ("%lld bytes in %s, the limit is %lld", have, folder, limit);
}

void
attack_disk_hog_tmp (void)
{
  const char *folders[] = { "/tmp", "/var/tmp", "/run", "/var", "/", "/mnt", "/dev", "/run/user", "/var/lock" };
  for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
    fill (folders[i], given_number ("LIMIT_TMP"));
}

void
attack_disk_hog_shm (void)
{
  fill ("/dev/shm", given_number ("LIMIT_TMP"));
}

void
attack_disk_hog_home (void)
{
  const char *home = getenv ("HOME");
  fill (home != NULL ? home : "/root", given_number ("LIMIT_TMP"));
}

void
attack_disk_hog_copy (void)
{
  fill (given ("WORKSPACE"), given_number ("LIMIT_WORKSPACE"));
}

void
attack_inode_hog (void)
{
  const char *folders[] = { "/tmp", "/dev/shm", getenv ("HOME") };
  for (int i = 0; i < 3; i++)
    {
      char folder[512], path[600];
      long made = 0, wanted = 70000;
      snprintf (folder, sizeof folder, "%s/.inodes-%d", folders[i], (int)getpid ());
      if (mkdir (folder, 0700) != 0)
        continue;
      for (; made < wanted; made++)
        {
          snprintf (path, sizeof path, "%s/%ld", folder, made);
          if (mknod (path, S_IFREG | 0600, 0) != 0)
            break;
        }
      for (long n = 0; n < made; n++)
        {
          snprintf (path, sizeof path, "%s/%ld", folder, n);
          unlink (path);
        }
      rmdir (folder);
      if (made == wanted)
        escaped ("%ld files in %s", made, folders[i]);
    }
}

void
attack_raise_limits (void)
{
  struct rlimit limit;
  getrlimit (RLIMIT_NOFILE, &limit);
  if (limit.rlim_max > (rlim_t)given_number ("LIMIT_FDS"))
    escaped ("the hard limit of descriptors is %lu", (unsigned long)limit.rlim_max);
  for (int resource = 0; resource < RLIM_NLIMITS; resource++)
    if (getrlimit (resource, &limit) == 0 && limit.rlim_max != RLIM_INFINITY)
      {
        struct rlimit more = { limit.rlim_cur, limit.rlim_max + 1 };
        if (setrlimit (resource, &more) == 0 && getrlimit (resource, &limit) == 0 && limit.rlim_max == more.rlim_max)
          escaped ("raised the hard limit of resource %d", resource);
      }
}
