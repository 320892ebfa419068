/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Load for forward proxies, and what it needs on the other side. One static
 * program, so that it runs inside a sandbox too; 127.0.0.1 only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* egress-load.c */
double load_now_us (void);
int load_listen (int *port);
/* Connected soon; -1 ends the program with a message. */
int load_dial (int port, bool wait);
bool load_send (int fd, const void *bytes, size_t length);
/* A tunnel to a port, through the proxy; a plain connection where it is 0. */
int load_tunnel (int proxy, int port);
void load_fail (const char *what);
/* A line for each request's head, from EGRESS_LOAD_HEADER; empty if there is none. */
const char *load_header (void);

/* egress-origin.c: prints its three ports (HTTP, bulk, echo) and serves them. */
int load_origin (void);
/* egress-floor.c: a proxy without rules, bounds or records: what the kernel allows.
 * Prints its port. */
int load_floor (void);
/* egress-loop.c: COUNT requests or tunnels, CONNECTIONS at once. */
int load_loop (bool tunnels, int proxy, int port, int connections, long count, bool redial);
