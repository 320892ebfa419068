/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A sandbox of the native backend as an application has it: by its name, from the library. */
#pragma once

#include "by-library.h"

G_BEGIN_DECLS

typedef struct
{
  char *folder; /* the workspace */
  PrismBackend *backend;
  PrismSandboxSpec *spec;
} LibraryFixture;

void library_add_test (const char *path, void (*test) (LibraryFixture *f, gconstpointer data));
/* In the workspace. */
char *library_path (LibraryFixture *f, const char *name);

/* How it ended, whichever way. */
PrismResult *library_result (PrismSandbox *sandbox, const char *script);
PrismProcess *library_start (PrismSandbox *sandbox, const char *script, gint64 timeout_ms);
/* Reads until @text was seen. */
void library_expect (PrismProcess *process, const char *text);
PrismResult *library_wait (PrismProcess *process);

/* Looks every few milliseconds, for half a minute. */
#define LIBRARY_UNTIL(condition)                                                                                       \
  G_STMT_START                                                                                                         \
  {                                                                                                                    \
    gint64 library_deadline = g_get_monotonic_time () + 30 * G_USEC_PER_SEC;                                           \
    while (!(condition))                                                                                               \
      library_look_again (library_deadline);                                                                           \
  }                                                                                                                    \
  G_STMT_END
void library_look_again (gint64 deadline);

G_END_DECLS
