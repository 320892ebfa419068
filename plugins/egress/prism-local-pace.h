/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Fast streams in large pieces: to be woken for each few KiB of gigabytes a second
 * takes more time than to move them. */
#pragma once

#include "prism-local-connection.h"

G_BEGIN_DECLS

/* Before it connects or listens: the other end is on this machine. */
void prism_local_pace_loopback (int fd);

/* So many bytes were read from it. */
void prism_local_pace_read (PrismLocalEngine *engine, PrismLocalEnd *end, gsize n);

/* It is closed now. */
void prism_local_pace_forget (PrismLocalEngine *engine, PrismLocalEnd *end);

/* Once a round: who waits too long for a whole piece gets what there is. */
void prism_local_pace_check (PrismLocalEngine *engine);

/* How long the engine may sleep for that, in ms; -1: for ever. */
int prism_local_pace_timeout (PrismLocalEngine *engine);

G_END_DECLS
