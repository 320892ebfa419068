/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The contract of PrismBackend, PrismSandbox and PrismProcess, against their
 * interfaces only: what a backend must do to be one. */
#pragma once

#include <libprism/prism.h>

#include <string.h>

G_BEGIN_DECLS

/* What the backend under test says it lacks; a test of that is not registered,
 * and everything else must work. */
typedef enum
{
  LACKS_NOTHING = 0,
  LACKS_TREES = 1 << 0,
  LACKS_PTY = 1 << 1,
  LACKS_PAUSE = 1 << 2,
  LACKS_DETACHED = 1 << 3,
} Lacks;

typedef struct
{
  PrismBackend *backend;
  gboolean remote; /* on another machine: nothing of the host is there */
  char *folder;    /* on the host; the workspace, unless it is remote */
  PrismSandboxSpec *spec;
  PrismLimits *limits;
  PrismSandbox *sandbox;
  int gate; /* a file that commands wait at; -1 = open */
  PrismProcess *keeper; /* who holds it shut, where the host cannot */
} Box;

/* A test with a sandbox of its own, made before it and closed after it. Each runs in a
 * process of its own: one that fails, crashes or hangs takes no other with it. */
typedef void (*BoxTest) (Box *box);
void box_add (const char *path, BoxTest test);
/* The same, with limits or a specification of its own. */
void box_add_full (const char *path, void (*prepare) (Box *box), BoxTest test);

/* FALSE: there is no such case. */
gboolean box_run_case (const char *path, PrismBackend *backend);
/* Their paths, in order. */
GPtrArray *box_list_cases (void);

/* A file of the host's: one of the workspace's, unless it is remote. Owned by the box. */
const char *host_path (Box *box, const char *name);
/* A specification as the box's own was at first. */
PrismSandboxSpec *box_new_spec (Box *box);

/* Files of the workspace as they are without the sandbox, where that can be seen; else by way
 * of it. */
gboolean box_has (Box *box, const char *name);
/* NULL: there is none. */
char *box_get (Box *box, const char *name, gsize *size);
void box_put (Box *box, const char *name, const char *text, guint mode);
void box_link (Box *box, const char *target, const char *name);
/* Whether the sandbox says itself that it has not got what an evidence of that name is about. */
gboolean box_lacks (Box *box, const char *name);

PrismCommand *command_shell (const char *line);
/* Must start. */
PrismResult *box_run (Box *box, PrismCommand *command);
PrismResult *box_sh (Box *box, const char *line);
void assert_exited (PrismResult *result, int code);
void assert_stdout (PrismResult *result, const char *text);
/* Must not start; takes the command. */
void assert_refused (Box *box, PrismCommand *command, int code);

/* Commands that pass_gate wait until the host opens it: no test waits for time. */
#define PASS_GATE "flock -s gate true"
void gate_close (Box *box);
void gate_open (Box *box);

/* Iterates the default context until @done, at most half a minute. */
#define WAIT_UNTIL(done)                                                                                               \
  G_STMT_START                                                                                                         \
  {                                                                                                                    \
    wait_begin ();                                                                                                     \
    while (!(done))                                                                                                    \
      wait_step ();                                                                                                    \
    wait_end ();                                                                                                       \
  }                                                                                                                    \
  G_STMT_END
void wait_begin (void);
void wait_step (void);
void wait_end (void);

typedef struct
{
  GObject *value;
  GError *error;
  gboolean done;
} Answer;
void answer_clear (Answer *answer);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Answer, answer_clear)
void on_exec (GObject *source, GAsyncResult *result, gpointer answer);

/* Whether @name can be locked inside: nobody who holds it is left. */
gboolean box_is_free (Box *box, const char *name);

void add_exec_tests (void);
void add_ending_tests (void);
void add_turn_tests (void);
void add_process_tests (Lacks lacks);
void add_file_tests (void);
void add_tree_tests (void);
void add_life_tests (void);
/* Longer than a host, or than a moment. */
void add_lasting_tests (Lacks lacks);

G_END_DECLS
