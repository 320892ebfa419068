/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the whole machine, or all of one user's programs, have one quota of, and
 * neither a control group nor a namespace divides: a sandbox must not take it all.
 * Each stops where it has taken far more than a sandbox needs. */
#include "../malice.h"

#include <linux/aio_abi.h>
#include <mqueue.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/wait.h>

#define MANY_TERMINALS 600
#define MANY_WATCHERS  100
#define MANY_HOLDERS   16

static void
raise_descriptors (void)
{
  struct rlimit limit;
  getrlimit (RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit (RLIMIT_NOFILE, &limit);
}

/* As many as @open_one gives to a few processes that hold theirs together. */
static int
hold_together (int (*open_one) (void), int wanted)
{
  int told[2], have = 0, n = 0;
  char byte;
  if (pipe (told) != 0)
    broken ("pipe: %s", strerror (errno));
  raise_descriptors ();
  for (; n < MANY_HOLDERS && have < wanted; n++)
    {
      int answer[2], mine = 0;
      if (pipe (answer) != 0)
        break;
      pid_t pid = fork ();
      if (pid == 0)
        {
          close (told[1]);
          while (mine < wanted - have && open_one () >= 0)
            mine++;
          (void)!write (answer[1], &mine, sizeof mine);
          (void)!read (told[0], &byte, 1);
          _exit (0);
        }
      close (answer[1]);
      if (pid < 0 || read (answer[0], &mine, sizeof mine) != sizeof mine)
        mine = 0;
      have += mine;
      close (answer[0]);
    }
  close (told[1]);
  while (n-- > 0)
    wait (NULL);
  return have;
}

static int
open_terminal (void)
{
  return open ("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
}

void
attack_terminal_hog (void)
{
  int have = hold_together (open_terminal, MANY_TERMINALS);
  if (have >= MANY_TERMINALS)
    escaped ("%d of the machine's pseudo-terminals are held", have);
}

static int
open_watcher (void)
{
  return inotify_init1 (IN_CLOEXEC);
}

void
attack_watcher_hog (void)
{
  int have = hold_together (open_watcher, MANY_WATCHERS);
  if (have >= MANY_WATCHERS)
    escaped ("%d of the user's inotify instances are held", have);
}

static int
open_aio (void)
{
  aio_context_t context = 0;
  return (int)syscall (SYS_io_setup, 1024, &context);
}

/* fs.aio-max-nr is 65536 for the machine. */
void
attack_aio_hog (void)
{
  int have = hold_together (open_aio, 8);
  if (have >= 8)
    escaped ("%d of the machine's asynchronous requests are held", have * 1024);
}

void
attack_signal_hog (void)
{
  long have = 0, half = (long)given_number ("QUOTA_SIGNALS") / 2;
  sigset_t all;
  sigfillset (&all);
  sigprocmask (SIG_BLOCK, &all, NULL);
  while (have <= half && sigqueue (getpid (), SIGRTMIN, (union sigval){ 0 }) == 0)
    have++;
  if (have > half)
    escaped ("%ld queued signals are held", have);
}

void
attack_queue_hog (void)
{
  struct mq_attr about = { .mq_maxmsg = 10, .mq_msgsize = 8192 };
  long half = (long)given_number ("QUOTA_QUEUES") / 2, have = 0;
  char name[32];
  for (int i = 0; have <= half && i < 64; i++, have += about.mq_maxmsg * about.mq_msgsize)
    {
      snprintf (name, sizeof name, "/hog-%d", i);
      mqd_t queue = mq_open (name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600, &about);
      if (queue == (mqd_t)-1)
        break;
      /* It counts as long as it is open. */
      mq_unlink (name);
    }
  if (have > half)
    escaped ("%ld bytes of message queues are held", have);
}

void
attack_lock_hog (void)
{
  long size = (long)given_number ("QUOTA_LOCKED") / 2 + 65536;
  int id = shmget (IPC_PRIVATE, size, IPC_CREAT | 0600);
  if (id < 0)
    broken ("shmget: %s", strerror (errno));
  bool locked = shmctl (id, SHM_LOCK, NULL) == 0;
  shmctl (id, IPC_RMID, NULL);
  if (locked)
    escaped ("%ld bytes are locked in memory", size);
}
