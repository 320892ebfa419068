/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which process made a sandbox, in a form that no other process will ever have. Pure but
 * for the look into /proc. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* "BOOT:NAMESPACE:PID:START" of this process. */
char *prism_docker_owner_dup_self (void);

typedef enum
{
  PRISM_DOCKER_OWNER_UNKNOWN, /* of another pid namespace, or not to be read */
  PRISM_DOCKER_OWNER_ALIVE,
  PRISM_DOCKER_OWNER_DEAD,
} PrismDockerOwner;

PrismDockerOwner prism_docker_owner_judge (const char *owner);
/* The 22nd field, after a name that may hold anything; 0 where there is none. */
guint64 prism_docker_owner_parse_start (const char *stat);

G_END_DECLS
