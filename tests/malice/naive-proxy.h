/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <signal.h>

/* A child that goes with this process; the port on 127.0.0.1 that it listens on. */
int naive_proxy_start (void);
