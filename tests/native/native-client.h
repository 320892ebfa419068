/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The launcher and the agent spoken to directly, without the library's channel: so
 * that what fails here fails in them. Failures abort the test. */
#pragma once

#include "prism-native-cgroup.h"
#include "prism-native-host.h"
#include "prism-native-launcher.h"
#include "prism-native-plan.h"

G_BEGIN_DECLS

typedef struct
{
  PrismNativeLauncher *launcher;
  int control;
  guint32 next_id;
} NativeClient;

/* What one command did; output is stdout and stderr in one. */
typedef struct
{
  int code;   /* -1 unless it exited */
  int signal; /* 0 unless it was ended by one */
  char *output;
} NativeOutcome;

/* All fields as the backend's defaults would have them; the caller changes some. */
PrismNativeAsked native_asked (void);
NativeClient *native_client_new (const PrismNativeAsked *asked);
/* From here on by the launcher that stays, as root. */
void native_client_use_template (gboolean use);
/* From here on each is begun before its plan is there. */
void native_client_use_early (gboolean use);
/* For a start that is to fail: its error. */
GError *native_client_refusal (const PrismNativeAsked *asked);
NativeOutcome native_client_run (NativeClient *self, const char *const *argv);
/* `sh -c` of a script; its output, and that it exited 0. */
char *native_client_sh (NativeClient *self, const char *script);
int native_client_sh_code (NativeClient *self, const char *script);
void native_client_free (NativeClient *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (NativeClient, native_client_free)

G_END_DECLS
