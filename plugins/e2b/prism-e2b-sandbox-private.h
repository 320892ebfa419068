/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-e2b-run.h"
#include "prism-e2b-sandbox.h"

G_BEGIN_DECLS

struct _PrismE2bSandbox
{
  GObject parent_instance;
  PrismE2bClient *client; /* constant, as all up to the next blank line */
  PrismSandboxSpec *spec; /* of a connected one: what a spec says by default */
  char *workspace;
  char *user;
  gboolean keep_memory; /* in a pause */
  gboolean pauses;      /* when its time is over; else it is destroyed */
  gboolean owned;       /* ends with the last reference to it */

  gint status;                /* atomic: PrismSandboxStatus */
  PrismE2bIdentity *identity; /* atomic: IDENTITY(); one that a resume left behind lives on in: */
  GPtrArray *identities;      /* locked, as all up to the next blank line */
  GMutex lock;
  PrismCapabilities *capabilities;
  gboolean destroyed;
  gint64 end_us;     /* monotonic: when its time is over; 0 = never */
  gint64 touched_us; /* monotonic: when it was last asked anything */

  GMutex helper_lock; /* for what follows */
  GCond helper_changed;
  PrismSandbox *helper; /* prism-e2b-helper.h; NULL until it is needed */
  gboolean helper_coming;

  GPtrArray *runs; /* the client's thread's: PrismE2bRun that are not over */
  GQueue waiting;  /* of that thread: commands that wait for their turn */
  guint running;
  gint64 commands;
  guint busy; /* commands and processes */
  GSource *wall, *idle, *renew;
};

/* Valid for as long as the sandbox is. */
#define IDENTITY(self) ((PrismE2bIdentity *)g_atomic_pointer_get (&(self)->identity))

void prism_e2b_sandbox_exec (PrismSandbox *sandbox, PrismExecOperation *operation);
void prism_e2b_sandbox_start_process (PrismSandbox *sandbox, PrismProcessOperation *operation);
void prism_e2b_sandbox_attach_process (PrismSandbox *sandbox, PrismProcessOperation *operation);
void prism_e2b_files_init (PrismSandboxInterface *iface);
void prism_e2b_life_init (PrismSandboxInterface *iface);

/* The control plane; blocking, all three. */
gboolean prism_e2b_ask (PrismE2bClient *client,
                        const char *method,
                        const char *path,
                        const char *what,
                        GBytes *body,
                        gboolean idempotent,
                        PrismE2bReply *reply,
                        GCancellable *cancellable,
                        GError **error);
gboolean prism_e2b_ask_detail (PrismE2bClient *client,
                               const char *id,
                               PrismE2bDetail *detail,
                               JsonNode **node,
                               GCancellable *cancellable,
                               GError **error);
/* All that carry this library's label, appended. */
gboolean
prism_e2b_list_details (PrismE2bClient *client, GPtrArray *details, GCancellable *cancellable, GError **error);
/* @now_us: what the service's clock said, for its times are that clock's. */
gboolean prism_e2b_ask_detail_at (PrismE2bClient *client,
                                  const char *id,
                                  PrismE2bDetail *detail,
                                  JsonNode **node,
                                  gint64 *now_us,
                                  GCancellable *cancellable,
                                  GError **error);
/* @suffix: of the sandbox's own path. */
gboolean prism_e2b_sandbox_ask (PrismE2bSandbox *self,
                                const char *method,
                                const char *suffix,
                                const char *what,
                                GBytes *body,
                                gboolean idempotent,
                                PrismE2bReply *reply,
                                GCancellable *cancellable,
                                GError **error);
/* TRUE only where the service says that it is gone. */
gboolean prism_e2b_sandbox_destroy (PrismE2bSandbox *self, GCancellable *cancellable, GError **error);
/* @network: (nullable); @unsure: (nullable): why nothing is claimed of the way out. */
PrismCapabilities *prism_e2b_capabilities_new (const PrismE2bNetwork *network, const char *unsure);
gint64 prism_e2b_choose_seconds (PrismSandboxSpec *spec);

/* STATE, naming the state, unless it runs. */
gboolean prism_e2b_sandbox_check_running (PrismE2bSandbox *self, GError **error);
/* Takes the content of @identity: it is that one from now on. */
void prism_e2b_sandbox_take_identity (PrismE2bSandbox *self, PrismE2bIdentity *identity);

/* Its time, and what is left of it; prism-e2b-clock.c. */
void prism_e2b_sandbox_begin_clock (PrismE2bSandbox *self, gint64 end_us);
void prism_e2b_sandbox_clear_clock (PrismE2bSandbox *self);
gint64 prism_e2b_sandbox_get_end (PrismE2bSandbox *self);
void prism_e2b_sandbox_touch (PrismE2bSandbox *self);
/* In the client's thread: a command began, and ended. */
void prism_e2b_sandbox_busy (PrismE2bSandbox *self);
void prism_e2b_sandbox_idle (PrismE2bSandbox *self);

/* What runs, in the client's thread. */
void prism_e2b_sandbox_finish_runs (PrismE2bSandbox *self, PrismOutcome outcome, const char *limit, const char *reason);
void prism_e2b_sandbox_suspend_runs (PrismE2bSandbox *self);
/* After LOST: asks what became of it, and says that instead. Blocking. */
void prism_e2b_sandbox_refine (PrismE2bSandbox *self, GError **error);
/* What every command has, the spec's variables and the command's, the last last.
 * @mark: (nullable): of PRISM_E2B_MARK */
char **prism_e2b_sandbox_dup_env (PrismE2bSandbox *self, PrismCommand *command, const char *mark);

/* One JSON call of a service inside; blocking. @answer: (nullable) */
gboolean prism_e2b_sandbox_call (PrismE2bSandbox *self,
                                 const char *path,
                                 const char *what,
                                 GBytes *body,
                                 gboolean idempotent,
                                 JsonNode **answer,
                                 PrismOperation *operation,
                                 GError **error);

G_END_DECLS
