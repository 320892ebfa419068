/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gio/gio.h>

#include "prism-native-early.h"
#include "prism-native-runtime.h"

G_BEGIN_DECLS

/* One running `prism-agent --launch`, seen from the host: the keeper's process and
 * its socket, and the agent's connection until somebody takes it. Not thread-safe;
 * whoever holds it ends it. */
typedef struct _PrismNativeLauncher PrismNativeLauncher;

/* What the keeper and the inner half told. */
typedef struct
{
  char *key, *text;
} PrismNativeNote;

/* One that waits for its plan: while the host composes that, the program starts. */
PrismNativeLauncher *prism_native_launcher_begin (const char *agent, GError **error);
/* One that this program began before it loaded the library, at most @most_us ago, with the
 * early plan of default settings; NULL where there is none. */
PrismNativeLauncher *prism_native_launcher_take_begun (const char *agent, gint64 most_us);
/* How the plan will begin. FALSE where it takes none: it is no use any more. */
gboolean
prism_native_launcher_give_early_plan (PrismNativeLauncher *self, GBytes *plan, const PrismNativeEarlySteps *steps);
/* The steps of that plan, or NULL where it had none. */
const PrismNativeEarlySteps *prism_native_launcher_get_early (PrismNativeLauncher *self);
gboolean prism_native_launcher_give_plan (
    PrismNativeLauncher *self, GBytes *plan, gint64 deadline, GCancellable *cancellable, GError **error);
/* By the launcher that stays, which is started if there is none. */
PrismNativeLauncher *prism_native_launcher_ask (const char *agent, GBytes *template, GBytes *plan, GError **error);
/* The host's end of the control socket; the caller closes it. */
int prism_native_launcher_steal_control (PrismNativeLauncher *self);
/* Waits until the inner half is about to become the agent, or for why it is not. Where it is
 * known that no word of the agent's comes, its socket may be closed already: @agent_speaks. */
gboolean prism_native_launcher_wait_ready (
    PrismNativeLauncher *self, gboolean agent_speaks, gint64 deadline, GCancellable *cancellable, GError **error);
/* PRISM_LAUNCH_FACT_…: what the inner half found true of itself. */
guint32 prism_native_launcher_get_facts (PrismNativeLauncher *self);
/* What was noted so far under @key, or NULL. */
const char *prism_native_launcher_get_note (PrismNativeLauncher *self, const char *key);
GPtrArray *prism_native_launcher_get_notes (PrismNativeLauncher *self);
/* What the sandbox is called that was begun; NULL where it has yet to be given a name. */
const char *prism_native_launcher_get_id (PrismNativeLauncher *self);
/* The keeper's process; for tests and evidence. */
GPid prism_native_launcher_get_pid (PrismNativeLauncher *self);
/* A control group that its plan names: removed by end() if the keeper could not. */
void prism_native_launcher_add_group (PrismNativeLauncher *self, const char *folder);
/* Processes that the kernel killed for their memory, in all its groups. */
gint64 prism_native_launcher_count_memory_kills (PrismNativeLauncher *self);
/* The keeper of a detached sandbox is nobody's child: what this process started is reaped. */
void prism_native_launcher_disown (PrismNativeLauncher *self);
/* From here on it outlives this host, for @ms: a later one finds @way and is handed @deposit. */
gboolean prism_native_launcher_deposit (PrismNativeLauncher *self,
                                        const PrismNativeWayIn *way,
                                        int deposit,
                                        gint64 ms,
                                        gint64 deadline,
                                        GError **error);
/* As a later host; takes @keeper, a connection to it. */
PrismNativeLauncher *prism_native_launcher_connect (
    int keeper, gint64 deadline, gint64 *left_ms, int *deposit, GCancellable *cancellable, GError **error);
/* Holds everything inside still, by the group in @folder; NULL: lets it go on. */
gboolean prism_native_launcher_freeze (
    PrismNativeLauncher *self, const char *folder, gint64 deadline, GCancellable *cancellable, GError **error);
/* How it ended, after end(); NULL before. */
char *prism_native_launcher_dup_end (PrismNativeLauncher *self);
/* Ends everything inside and waits until nothing is left; idempotent. */
gboolean prism_native_launcher_end (PrismNativeLauncher *self, gint64 deadline, GError **error);
/* Ends it unless it was deposited. */
void prism_native_launcher_free (PrismNativeLauncher *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (PrismNativeLauncher, prism_native_launcher_free)

G_END_DECLS
