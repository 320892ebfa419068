/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* From what was asked to the launcher's steps. Pure: what is known about the
 * machine and about the paths comes in, bytes or a GError come out. */
#pragma once

#include <gio/gio.h>
#include <libprism/prism.h>

#include "prism-native-cgroup.h"
#include "prism-native-early.h"
#include "prism-native-host.h"

G_BEGIN_DECLS

typedef enum
{
  PRISM_NATIVE_EGRESS_NONE,       /* no network at all */
  PRISM_NATIVE_EGRESS_RESTRICTED, /* the proxy, by its policy */
  PRISM_NATIVE_EGRESS_OPEN,       /* the proxy, whose policy allows everything */
} PrismNativeEgress;

typedef enum
{
  PRISM_NATIVE_ISOLATION_CONFINED,
  PRISM_NATIVE_ISOLATION_NETWORK_ONLY,
} PrismNativeIsolation;

typedef enum
{
  PRISM_NATIVE_NETNS_SANDBOX,
  PRISM_NATIVE_NETNS_COMMAND,
} PrismNativeNetns;

typedef enum
{
  PRISM_NATIVE_UNIX_SOCKETS_DENY,
  PRISM_NATIVE_UNIX_SOCKETS_ALLOW,
} PrismNativeUnixSockets;

typedef enum
{
  PRISM_NATIVE_KIND_MISSING,
  PRISM_NATIVE_KIND_FOLDER,
  PRISM_NATIVE_KIND_FILE,
} PrismNativeKind;

/* A path whose links are resolved, and what lies there. */
typedef struct
{
  const char *path;
  PrismNativeKind kind;
} PrismNativePath;

typedef struct
{
  PrismNativePath source;
  const char *destination;
  gboolean writable;
} PrismNativeShown;

typedef struct
{
  const char *folder, *entry;
  struct
  {
    const char *file, *value;
    gboolean optional;
  } settings[8];
  guint n_settings;
} PrismNativeGroup;

typedef struct
{
  const PrismNativeHost *host;
  PrismNativeIsolation isolation;
  PrismNativeNetns netns;
  PrismNativeEgress egress;
  PrismNativeUnixSockets unix_sockets;
  gboolean framed;
  gboolean detached; /* it may outlive its host */
  guint32 off_switches;
  const char *hostname;

  PrismNativePath workspace; /* path NULL: none, an empty folder takes its place */
  PrismWorkspaceMode workspace_mode;
  const char *sandbox_path;
  const PrismNativeShown *mounts;
  guint n_mounts;
  const PrismNativePath *hide;
  guint n_hide;
  const PrismNativePath *protect;
  guint n_protect;

  guint64 tmp_bytes, workspace_bytes;
  guint64 processes, data_bytes; /* by resource limit; 0 = not by this */
  const PrismNativeGroup *groups;
  guint n_groups;
} PrismNativeAsked;

typedef enum
{
  PRISM_NATIVE_PLAN_WHOLE,
  PRISM_NATIVE_PLAN_MAKE_TEMPLATE, /* the part that is the same for many sandboxes */
  PRISM_NATIVE_PLAN_USE_TEMPLATE,  /* the rest */
} PrismNativePlanPart;

GBytes *prism_native_plan_write (const PrismNativeAsked *asked, PrismNativePlanPart part, GError **error);
/* How the whole begins, unless it hides some of that; NULL where that is too much. With a
 * tmp-bytes of 0, which is not known yet then, it ends before that. */
GBytes *
prism_native_plan_write_early (const PrismNativeAsked *asked,
                               const PrismNativeCgroup *cgroup,
                               const char *id,
                               PrismNativeEarlySteps *steps);
/* The rest of a plan where it goes on from an early one, of which @early are the steps; or as
 * prism_native_plan_write(). */
GBytes *prism_native_plan_write_after (const PrismNativeAsked *asked,
                                       PrismNativePlanPart part,
                                       const PrismNativeEarlySteps *early,
                                       GError **error);
/* Whether one can be begun before the rest of it is known. */
gboolean prism_native_plan_can_begin_early (const PrismNativeAsked *asked);
/* Whether one is of any use: equal plans to make one are one template. */
gboolean prism_native_plan_can_use_template (const PrismNativeAsked *asked);

G_END_DECLS
