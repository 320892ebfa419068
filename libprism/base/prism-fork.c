/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-fork-private.h"

#include <pthread.h>

static guint forks;

static void
in_child (void)
{
  forks++;
}

__attribute__ ((constructor)) static void
count_forks (void)
{
  pthread_atfork (NULL, NULL, in_child);
}

guint
prism_forks (void)
{
  return forks;
}
