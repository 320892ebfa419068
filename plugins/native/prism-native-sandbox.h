/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <libprism/prism.h>

#include "prism-native-launcher.h"
#include "prism-native-request.h"

G_BEGIN_DECLS

#define PRISM_TYPE_NATIVE_SANDBOX (prism_native_sandbox_get_type ())
G_DECLARE_FINAL_TYPE (PrismNativeSandbox, prism_native_sandbox, PRISM, NATIVE_SANDBOX, PrismAgentSandbox)

/* How old one may be that was begun for a sandbox to come: well before it ends by itself. */
#define PRISM_NATIVE_BEGUN_US (5 * G_USEC_PER_SEC)

/* A launcher for a sandbox that is about to be asked for, or NULL where none is to be
 * prepared; it ends by itself after a while. */
PrismNativeLauncher *prism_native_sandbox_prepare (const PrismNativeOptions *options);
/* Starts it and waits until it answers. Blocking. A start that fails leaves nothing.
 * @prepared: (nullable): what was prepared with the same options, taken. */
PrismSandbox *prism_native_sandbox_start (PrismSandboxSpec *spec,
                                          const PrismNativeOptions *options,
                                          PrismNativeLauncher *prepared,
                                          GCancellable *cancellable,
                                          GError **error);
/* One that is detached and has no host now. Blocking; what fails leaves it as it is. */
PrismSandbox *
prism_native_sandbox_connect (const char *reference, gint64 deadline, GCancellable *cancellable, GError **error);

G_END_DECLS
