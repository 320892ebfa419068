/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Starts the launcher. The host never forks or clones: posix_spawn costs the same from a
 * process with a gigabyte of heap, and is safe with threads. The launcher gets three
 * descriptors and an empty environment; what it is to do is in the first of them, never in
 * its arguments. */
#include "prism-native-begin.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "prism-launch.h"
#include "prism-native-early.h"

/* How long one that nobody took may need to be gone. */
#define END_MS 10000

/* Descriptors that the program's own numbers would overwrite are moved up first. */
static int
lift (int fd)
{
  return fd >= 0 && fd <= PRISM_LAUNCH_KEEPER_FD ? fcntl (fd, F_DUPFD_CLOEXEC, PRISM_LAUNCH_KEEPER_FD + 1) : fd;
}

int
prism_native_spawn (const char *agent, bool many, const int fds[3], pid_t *pid)
{
  const int high[3] = { lift (fds[0]), lift (fds[1]), lift (fds[2]) };
  char *const arguments[] = { (char *)"prism-agent", (char *)"--launch", many ? (char *)"many" : NULL, NULL };
  char *const environment[] = { NULL };
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  sigset_t all, none;
  int error;

  sigfillset (&all);
  sigemptyset (&none);
  posix_spawn_file_actions_init (&actions);
  posix_spawn_file_actions_addopen (&actions, 0, "/dev/null", O_RDWR, 0);
  posix_spawn_file_actions_adddup2 (&actions, 0, 1);
#ifndef __SANITIZE_ADDRESS__ /* a sanitizer's report has to be seen */
  posix_spawn_file_actions_adddup2 (&actions, 0, 2);
#endif
  for (int i = 0; i < 3; i++)
    posix_spawn_file_actions_adddup2 (&actions, high[i] >= 0 ? high[i] : 0, PRISM_LAUNCH_PLAN_FD + i);
  posix_spawn_file_actions_addclosefrom_np (&actions, PRISM_LAUNCH_KEEPER_FD + 1);
  posix_spawnattr_init (&attributes);
  posix_spawnattr_setsigmask (&attributes, &none);
  posix_spawnattr_setsigdefault (&attributes, &all);
  posix_spawnattr_setflags (&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  error = posix_spawn (pid, agent, &actions, &attributes, arguments, environment);
  posix_spawnattr_destroy (&attributes);
  posix_spawn_file_actions_destroy (&actions);
  for (int i = 0; i < 3; i++)
    if (high[i] != fds[i])
      close (high[i]);
  return error;
}

static int64_t
now_us (void)
{
  struct timespec now;

  clock_gettime (CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* Without one nothing could be told from what others made: no process goes on. */
void
prism_native_make_id (char id[PRISM_NATIVE_ID_LENGTH + 1])
{
  static const char digits[] = "0123456789abcdef";
  uint8_t bytes[PRISM_NATIVE_ID_LENGTH / 2];

  if (getrandom (bytes, sizeof bytes, 0) != sizeof bytes)
    abort ();
  for (size_t i = 0; i < sizeof bytes; i++)
    {
      id[2 * i] = digits[bytes[i] >> 4];
      id[2 * i + 1] = digits[bytes[i] & 15];
    }
  id[PRISM_NATIVE_ID_LENGTH] = '\0';
}

static void
close_fd (int *fd)
{
  if (*fd >= 0)
    close (*fd);
  *fd = -1;
}

static void
close_all (PrismNativeBegun *self)
{
  close_fd (&self->plan);
  close_fd (&self->control);
  close_fd (&self->keeper);
}

static void
prepare (PrismNativeBegun *self, const char *agent)
{
  *self = (PrismNativeBegun){ .version = PRISM_NATIVE_VERSION,
                              .size = sizeof *self,
                              .host = getpid (),
                              .pid = -1,
                              .plan = -1,
                              .control = -1,
                              .keeper = -1,
                              .agent = agent,
                              .at_us = now_us () };
  prism_native_make_id (self->id);
}

static int
make_sockets (PrismNativeBegun *self, int theirs[3])
{
  static const int types[3] = { SOCK_STREAM, SOCK_STREAM, SOCK_SEQPACKET };
  int *const ours[3] = { &self->plan, &self->control, &self->keeper };

  for (int i = 0; i < 3; i++)
    {
      int ends[2];
      if (socketpair (AF_UNIX, types[i] | SOCK_CLOEXEC, 0, ends) < 0)
        {
          int error = errno;
          close_all (self);
          while (i-- > 0)
            close (theirs[i]);
          return error;
        }
      *ours[i] = ends[0];
      theirs[i] = ends[1];
    }
  return 0;
}

static int
start (PrismNativeBegun *self, const int theirs[3])
{
  int error = prism_native_spawn (self->agent, false, theirs, &self->pid);

  for (int i = 0; i < 3; i++)
    close (theirs[i]);
  if (error != 0)
    {
      close_all (self);
      self->pid = -1;
    }
  return error;
}

int
prism_native_begin (PrismNativeBegun *self, const char *agent)
{
  int theirs[3], error;

  prepare (self, agent);
  error = make_sockets (self, theirs);
  return error == 0 ? start (self, theirs) : error;
}

bool
prism_native_begun_give_early_plan (const PrismNativeBegun *self, const void *bytes, size_t size)
{
  uint8_t head[PRISM_LAUNCH_EARLY_HEAD];
  struct prism_wire_writer w = prism_wire_write_to (head, sizeof head);
  struct iovec parts[2] = { { head, sizeof head }, { (void *)bytes, size } };
  struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };

  prism_wire_put (&w, PRISM_LAUNCH_EARLY, 4);
  prism_wire_put (&w, size, 4);
  return sendmsg (self->plan, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)(sizeof head + size);
}

/* --- beside the caller ---------------------------------------------------------------- */

void
prism_native_begun_expect (void)
{
  PrismNativeBegun *self = &prism_native_begun;

  prepare (self, NULL);
  sem_init (&self->known, 0, 0);
}

/* As prism_native_spawn() has it, in a process that has yet to leave this one's memory. That
 * allocates, and a thread that does takes a heap of its own, while the loader waits for it. */
static void
become_launcher (const char *agent, const int fds[3])
{
  char *const arguments[] = { (char *)"prism-agent", (char *)"--launch", (char *)"beside", NULL };
  char *const environment[] = { NULL };
  const int high[3] = { lift (fds[0]), lift (fds[1]), lift (fds[2]) };
  int null = open ("/dev/null", O_RDWR);
  sigset_t none;

  for (int number = 1; number < NSIG; number++)
    signal (number, SIG_DFL);
  sigemptyset (&none);
  sigprocmask (SIG_SETMASK, &none, NULL);
  dup2 (null, 0);
  dup2 (null, 1);
#ifndef __SANITIZE_ADDRESS__
  dup2 (null, 2);
#endif
  for (int i = 0; i < 3; i++)
    if (dup2 (high[i], PRISM_LAUNCH_PLAN_FD + i) < 0)
      return;
  if (close_range (PRISM_LAUNCH_KEEPER_FD + 1, ~0u, 0) == 0)
    execve (agent, arguments, environment);
}

/* The plan is there when the launcher looks for it. */
static void
begin_usual (PrismNativeBegun *self, const char *agent)
{
  static uint8_t bytes[PRISM_LAUNCH_MAX_REQUEST];
  const PrismNativeEarly usual = { .hostname = PRISM_NATIVE_HOSTNAME, .tmp_bytes = PRISM_NATIVE_USUAL_TMP_BYTES };
  int theirs[3];
  size_t size;

  if (access (agent, X_OK) < 0 || make_sockets (self, theirs) != 0)
    return;
  self->agent = agent;
  self->machine = prism_native_host_look_up ();
  self->cgroup = prism_native_cgroup_look_up ();
  size =
      prism_native_write_early_plan (bytes, sizeof bytes, &usual, self->machine, self->cgroup, self->id, &self->early);
  if (size == 0 || !prism_native_begun_give_early_plan (self, bytes, size))
    self->early.bytes = NULL;
  self->pid = vfork ();
  if (self->pid == 0)
    {
      become_launcher (agent, theirs);
      _exit (127);
    }
  for (int i = 0; i < 3; i++)
    close (theirs[i]);
  if (self->pid < 0)
    close_all (self);
}

void
prism_native_begin_usual (const char *agent)
{
  begin_usual (&prism_native_begun, agent);
  sem_post (&prism_native_begun.known);
}

/* --- the plug-in's side ---------------------------------------------------------------- */

static void
wait_until_known (PrismNativeBegun *self)
{
  while (sem_wait (&self->known) < 0)
    ;
  sem_post (&self->known);
}

/* Another version's may have another shape: its size is looked at before all else. */
static PrismNativeBegun *
find_begun (void)
{
  PrismNativeBegun *self = &prism_native_begun;

  if (self == NULL || self->version == NULL || strcmp (self->version, PRISM_NATIVE_VERSION) != 0
      || self->size != sizeof *self || self->host != getpid ())
    return NULL;
  wait_until_known (self);
  return self->pid > 0 ? self : NULL;
}

const PrismNativeBegun *
prism_native_begun_take (const char *agent, int64_t most_us)
{
  PrismNativeBegun *self = find_begun ();

  if (self == NULL || strcmp (self->agent, agent) != 0 || now_us () - self->at_us > most_us
      || __atomic_exchange_n (&self->taken, true, __ATOMIC_SEQ_CST))
    return NULL;
  return self;
}

const PrismNativeHost *
prism_native_begun_host (void)
{
  const PrismNativeBegun *self = find_begun ();

  return self != NULL ? self->machine : NULL;
}

const PrismNativeCgroup *
prism_native_begun_cgroup (void)
{
  const PrismNativeBegun *self = find_begun ();

  return self != NULL ? self->cgroup : NULL;
}

/* Until its own end of the keeper's socket is closed; what it says before is nobody's. */
static bool
wait_until_gone (int keeper)
{
  struct pollfd fd = { keeper, POLLIN, 0 };

  for (;;)
    {
      uint8_t word[PRISM_LAUNCH_MAX_MESSAGE];
      int n = poll (&fd, 1, END_MS);
      if (n == 0)
        return false;
      if (n > 0 && recv (keeper, word, sizeof word, MSG_DONTWAIT) <= 0 && errno != EINTR)
        return true;
    }
}

bool
prism_native_begun_reaps (pid_t pid)
{
  const PrismNativeBegun *self = find_begun ();

  return self != NULL && self->reaps && self->taken && self->pid == pid;
}

void
prism_native_begun_leave (void)
{
  find_begun ()->left = true;
}

static void
reap (PrismNativeBegun *self)
{
  while (waitpid (self->pid, NULL, 0) < 0 && errno == EINTR)
    ;
  self->pid = -1;
}

void
prism_native_begun_end (void)
{
  PrismNativeBegun *self = find_begun ();
  bool gone;

  if (self != NULL && self->left)
    reap (self);
  if (self == NULL || self->taken)
    return;
  /* The end of any of these is the end of it. */
  close_fd (&self->plan);
  close_fd (&self->control);
  shutdown (self->keeper, SHUT_WR);
  gone = wait_until_gone (self->keeper);
  close_fd (&self->keeper);
  if (gone)
    reap (self);
  self->pid = -1;
}
