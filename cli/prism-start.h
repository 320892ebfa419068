/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Between the two halves of the program; of the C library alone. */
#pragma once

/* @closed: which of the three standard descriptors were not open, as bits. Returns the exit
 * status, with all that was printed written. */
typedef int (*PrismCliMain) (int argc, char **argv, unsigned closed);

int prism_cli_main (int argc, char **argv, unsigned closed) __attribute__ ((visibility ("default")));
