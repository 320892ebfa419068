/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Between the two halves of the program; of the C library alone. */
#pragma once

#include <stdbool.h>

/* Whether what is freed only because the program ends is freed: for who looks for leaks. To
 * the kernel it is memory like all other. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PRISM_CLI_FREES_ALL 1
#else
#define PRISM_CLI_FREES_ALL 0
#endif

typedef struct
{
  unsigned closed; /* which of the three standard descriptors were not open, as bits */
  /* Has @func called in the one other thread that there may be, in which all signals are
   * blocked. Once: false where there is none to be had. */
  bool (*use_thread) (void *(*func) (void *));
  int *received; /* atomic: where the first signal of those that end a run is noted */
} PrismCliStart;

/* Returns the exit status, with all that was printed written. */
typedef int (*PrismCliMain) (int argc, char **argv, const PrismCliStart *start);

int prism_cli_main (int argc, char **argv, const PrismCliStart *start) __attribute__ ((visibility ("default")));
