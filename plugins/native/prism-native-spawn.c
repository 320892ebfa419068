/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Starts the launcher. The host never forks or clones: posix_spawn costs the same from a
 * process with a gigabyte of heap, and is safe with threads. The launcher gets three
 * descriptors and an empty environment; what it is to do is in the first of them, never in
 * its arguments. */
#include "prism-native-server.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include "prism-launch.h"

/* Descriptors that the program's own numbers would overwrite are moved up first. */
static int
lift (int fd)
{
  return fd >= 0 && fd <= PRISM_LAUNCH_KEEPER_FD ? fcntl (fd, F_DUPFD_CLOEXEC, PRISM_LAUNCH_KEEPER_FD + 1) : fd;
}

int
prism_native_spawn (const char *agent, gboolean many, const int fds[3], pid_t *pid)
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
    if (high[i] >= 0)
      posix_spawn_file_actions_adddup2 (&actions, high[i], PRISM_LAUNCH_PLAN_FD + i);
    else
      posix_spawn_file_actions_adddup2 (&actions, 0, PRISM_LAUNCH_PLAN_FD + i);
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
