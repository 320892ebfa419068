/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where the launcher that stays does its work. When several threads of a host start
 * sandboxes at once, each start is a chain of processes that wake each other after some
 * tens of microseconds. Left to itself the kernel scatters all of these chains over the
 * CPUs, lets one wait where it was woken behind a step of another, and has a CPU idle
 * meanwhile. So each chain stays where its caller runs, who waits for it: that place on
 * that CPU is free. Only the work of starting does so: whatever goes on by itself, the
 * sandbox first of all, may run wherever the host may. */
#include "launch-private.h"

#include <sched.h>

static cpu_set_t usual; /* as it was before the place was taken */
static int place = -1;

static bool
put (pid_t pid, int cpu)
{
  cpu_set_t here;

  CPU_ZERO (&here);
  CPU_SET (cpu, &here);
  return sched_setaffinity (pid, sizeof here, &here) == 0;
}

bool
launch_place_anywhere (void)
{
  if (place >= 0 && sched_setaffinity (0, sizeof usual, &usual) < 0)
    return false;
  place = -1;
  return true;
}

/* A machine may have more CPUs than fit; then there are no places. */
static bool
is_usual (int cpu)
{
  return (place >= 0 || sched_getaffinity (0, sizeof usual, &usual) == 0) && CPU_ISSET (cpu, &usual);
}

/* Where it may not be it is not: the work is done all the same. */
void
launch_place_at (int cpu)
{
  if (cpu == place)
    return;
  if (cpu >= 0 && cpu < CPU_SETSIZE && is_usual (cpu) && put (0, cpu))
    place = cpu;
  else
    launch_place_anywhere ();
}

/* Where it may be otherwise; NULL where it may be now. */
const void *
launch_place_cpus (size_t *size)
{
  *size = sizeof usual;
  return place >= 0 ? &usual : NULL;
}

int
launch_place (void)
{
  return place;
}

/* One that was begun somewhere: where its caller waits now. */
void
launch_place_begun (pid_t pid, int begun_at)
{
  if (begun_at >= 0 && place >= 0 && begun_at != place)
    (void)put (pid, place);
}
