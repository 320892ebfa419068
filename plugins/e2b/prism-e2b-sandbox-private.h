/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-e2b-run.h"
#include "prism-e2b-sandbox.h"

G_BEGIN_DECLS

struct _PrismE2bSandbox
{
  GObject parent_instance;
  PrismE2bClient *client; /* constant, as all up to the next blank line */
  PrismE2bIdentity identity;
  PrismSandboxSpec *spec; /* of a connected one: what a spec says by default */
  char *workspace;
  char *user;
  gboolean keep_memory;
  gboolean owned; /* ends with the last reference to it */

  gint status; /* atomic: PrismSandboxStatus */
  GMutex lock; /* for what follows */
  PrismCapabilities *capabilities;
  gboolean destroyed;
  gint64 end_us; /* of the real-time clock: when its time is over; 0 = not known */

  GMutex helper_lock; /* for what follows */
  GCond helper_changed;
  PrismSandbox *helper; /* prism-e2b-helper.h; NULL until it is needed */
  gboolean helper_coming;

  GPtrArray *runs; /* the client's thread's: PrismE2bRun that are not over */
  GQueue waiting;  /* of that thread: commands that wait for their turn */
  guint running;
  gint64 commands;
};

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
/* What is left of its time, in ms; 0 = no bound is known. */
gint64 prism_e2b_sandbox_get_left_ms (PrismE2bSandbox *self);
/* After LOST: asks what became of it, and says that instead. Blocking. */
void prism_e2b_sandbox_refine (PrismE2bSandbox *self, GError **error);
/* The spec's variables and a command's, the latter last. */
char **prism_e2b_sandbox_dup_env (PrismE2bSandbox *self, PrismCommand *command);

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
