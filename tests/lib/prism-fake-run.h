/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-fake-private.h"

G_BEGIN_DECLS

typedef struct
{
  FakeRun *run;
  PrismStream which;
  GInputStream *pipe;
  GByteArray *kept;
  guint64 total;
  gboolean truncated, ended;
} FakeStream;

/* One command and all that it started. Lives in its sandbox's thread, from its
 * turn until nothing of it is left. */
struct _FakeRun
{
  gatomicrefcount refs;
  PrismFakeSandbox *sandbox; /* a reference */
  PrismCommand *command;
  PrismOperation *operation; /* exec or start_process, until it is answered */
  gboolean is_process, started;
  guint number; /* of a process: in its reference */
  GCancellable *cancellable;
  gulong cancelled_id;

  GSubprocess *reaper;
  int terminal; /* a pty's master, or -1 */
  int control;
  GDataInputStream *status;
  FakeStream out, err;
  gint64 began, timeout_ms;
  GSource *timeout, *kill, *quiet;
  gint64 left_ms; /* of its timeout, while it stands still */
  gboolean moves;  /* it was told to stand still, and has not said so */

  PrismOutcome outcome; /* EXITED until something else ended it */
  const char *limit;
  int code, signal;
  gboolean holds_place, exited, gone;
  GQueue waits; /* PrismWaitOperation */
};

FakeRun *fake_run_ref (FakeRun *run);
void fake_run_unref (FakeRun *run);
void fake_run_end (FakeRun *run, PrismOutcome outcome, const char *limit, gboolean gently);
void fake_run_order (FakeRun *run, const char *bytes, gsize n);
PrismResult *fake_run_result (FakeRun *run);
void fake_run_stand_still (FakeRun *run);
void fake_run_go_on (FakeRun *run);
char *fake_run_dup_reference (FakeRun *run);
/* Of the terminal: what it shows, and what is typed. Neither is owned by another. */
GInputStream *fake_run_open_screen (FakeRun *run);
GOutputStream *fake_run_open_keys (FakeRun *run);

/* Reads on, hands on, keeps what is to be kept. */
void fake_stream_read (FakeStream *stream);
void fake_run_output_moved (FakeRun *run);

PrismFakeProcess *fake_process_new (FakeRun *run);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (FakeRun, fake_run_unref)

G_END_DECLS
