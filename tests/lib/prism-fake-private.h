/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-fake.h"

G_BEGIN_DECLS

typedef struct _FakeRun FakeRun;

/* All but the constants is touched by the worker thread only. */
struct _PrismFakeSandbox
{
  GObject parent_instance;
  PrismSandboxSpec *spec; /* constant */
  char *id;               /* constant */
  char *workspace;        /* constant: the folder's real path */
  gboolean own_workspace; /* constant: made here, and removed with the sandbox */
  GMainContext *context;  /* constant: of the worker thread */
  GMainLoop *loop;        /* constant */

  gint status;     /* atomic: PrismSandboxStatus */
  GPtrArray *runs; /* FakeRun, all that have not gone, finished commands with children among them */
  GQueue waiting;  /* FakeRun that wait for their turn */
  guint running;   /* commands that hold a place */
  gint64 commands; /* so far */
  gint64 started;  /* monotonic */
  GQueue closing;  /* PrismOperation that wait until all is gone */
  PrismOperation *pausing;
  gboolean paused;
  guint processes; /* so far */
  GSource *wall, *idle;
};

struct _PrismFakeProcess
{
  GObject parent_instance;
  FakeRun *run; /* NULL once released */
  GMutex lock;
  PrismFakeSandbox *sandbox;
  GOutputStream *in;
  GInputStream *out, *err;
  char *reference;
};

/* Runs @func (sandbox, operation) in the sandbox's thread. */
typedef void (*FakeWork) (PrismFakeSandbox *self, gpointer operation);
void prism_fake_hand_over (PrismFakeSandbox *self, gpointer operation, FakeWork func);

/* Fails @operation unless the sandbox runs. */
gboolean prism_fake_is_running (PrismFakeSandbox *self, gpointer operation);
void prism_fake_fail (gpointer operation, int code, const char *format, ...) G_GNUC_PRINTF (3, 4);

void prism_fake_exec (PrismFakeSandbox *self, gpointer operation);
void prism_fake_start_process (PrismFakeSandbox *self, gpointer operation);
void prism_fake_attach_process (PrismFakeSandbox *self, gpointer operation);
void prism_fake_stands_still (PrismFakeSandbox *self); /* looks whether all do */
void prism_fake_end_all (PrismFakeSandbox *self, PrismOutcome outcome, gboolean gently);
void prism_fake_all_gone (PrismFakeSandbox *self);
void prism_fake_touch (PrismFakeSandbox *self); /* the idle time begins anew, or does not run */
gint64 prism_fake_live_processes (PrismFakeSandbox *self);

void prism_fake_files_init (PrismSandboxInterface *iface);

G_END_DECLS
