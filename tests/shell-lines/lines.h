/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

/* A line for a shell, of up to a thousand bytes or so. The same for the same numbers. */
char *lines_generate (GRand *random);
