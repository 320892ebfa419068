/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-native-forked.h"

#include <pthread.h>
#include <unistd.h>

static GMutex lock;
static GQueue all; /* of the lock */

static void
before (void)
{
  g_mutex_lock (&lock);
}

static void
in_parent (void)
{
  g_mutex_unlock (&lock);
}

static void
in_child (void)
{
  for (GList *l = all.head; l != NULL; l = l->next)
    {
      PrismNativeForked *forked = l->data;
      for (guint i = 0; i < G_N_ELEMENTS (forked->fds); i++)
        {
          if (*forked->fds[i] >= 0)
            close (*forked->fds[i]);
          *forked->fds[i] = -1;
        }
      forked->anothers = TRUE;
    }
  g_mutex_unlock (&lock);
}

void
prism_native_forked_add (PrismNativeForked *self, int *first, int *second)
{
  static gsize once;

  if (g_once_init_enter (&once))
    {
      pthread_atfork (before, in_parent, in_child);
      g_once_init_leave (&once, 1);
    }
  *self = (PrismNativeForked){ { self, NULL, NULL }, { first, second }, FALSE };
  g_mutex_lock (&lock);
  g_queue_push_tail_link (&all, &self->link);
  g_mutex_unlock (&lock);
}

void
prism_native_forked_remove (PrismNativeForked *self)
{
  g_mutex_lock (&lock);
  g_queue_unlink (&all, &self->link);
  g_mutex_unlock (&lock);
}
