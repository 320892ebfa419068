/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-native-limits.h"
#include "prism-native-plan.h"

G_BEGIN_DECLS

typedef struct
{
  PrismNativeIsolation isolation;
  PrismNativeNetns netns;
  PrismNativeUnixSockets unix_sockets;
  gboolean framed;
  guint32 off_switches;
} PrismNativeOptions;

/* One specification after a look at the machine: its paths resolved, its limits
 * decided. Nothing is made and nothing started. */
typedef struct
{
  PrismNativeAsked asked;
  PrismNativeLimits limits;
  char *id;
  char *inside; /* where the workspace is seen */
  GPtrArray *strings;
  GArray *mounts, *hide, *protect;
} PrismNativeRequest;

/* What is known without a specification. */
void prism_native_asked_init (PrismNativeAsked *asked, const PrismNativeOptions *options);
/* @id: what it has been called already, or NULL */
PrismNativeRequest *
prism_native_request_new (PrismSandboxSpec *spec, const PrismNativeOptions *options, const char *id, GError **error);
void prism_native_request_free (PrismNativeRequest *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (PrismNativeRequest, prism_native_request_free)

G_END_DECLS
