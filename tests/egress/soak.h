/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The parts of the soak test: origins that are not reliable, and load that checks
 * every byte it gets and expects to be cut at any moment. */
#pragma once

#include <glib.h>

#define SOAK_TUNNELS 256
#define SOAK_PLAIN   32

/* Both serve until the process ends. */
void soak_start_origins (int *http_port, int *echo_port);

typedef struct
{
  int proxy_port, http_port, echo_port;
  gint ending;                              /* atomic */
  gint answers, transfers, cut, refused;    /* atomic: what happened */
  gint wrong;                               /* atomic: bytes that were not what they should be */
} SoakLoad;

void soak_start_load (SoakLoad *load);
/* Waits for its threads. */
void soak_end_load (SoakLoad *load);

int soak_dial (int port);
