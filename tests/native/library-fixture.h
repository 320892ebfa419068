/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A sandbox of the native backend as an application has it: by its name, from the library. */
#pragma once

#include <libprism/prism.h>

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

PrismSandbox *library_create (LibraryFixture *f);
PrismResult *library_run (PrismSandbox *sandbox, const char *script);
/* It exits 0; what it says, without the white space at its end. */
char *library_output (PrismSandbox *sandbox, const char *script);
void library_close (PrismSandbox *sandbox);

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

/* The children of the process @pid, the first of them; 0: none. Those of this test's own
 * are all that is ever killed. */
pid_t library_child_of (pid_t pid);

G_END_DECLS
