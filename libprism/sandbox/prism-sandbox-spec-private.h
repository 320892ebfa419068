/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-sandbox-spec.h"

G_BEGIN_DECLS

struct _PrismSandboxSpec
{
  GObject parent_instance;
  GFile *workspace;
  PrismWorkspaceMode workspace_mode;
  char *sandbox_path;
  GListStore *mounts;
  char **env, **secrets, **hide, **protect, **labels, **allow_env;
  PrismLimits *limits;
  PrismLifetime lifetime;
  PrismNetworkMode network;
  PrismEgressPolicy *egress_policy;
  GListStore *credentials;
  PrismEgressProxy *egress_proxy;
  PrismAuditLog *audit;
  PrismControls require;
  gint frozen; /* atomic */
};

/* FALSE, with a warning to the programmer, once a sandbox was made of it. */
gboolean prism_sandbox_spec_may_change (PrismSandboxSpec *self);

/* A sandbox is made of it now: the setters refuse from here on. */
void prism_sandbox_spec_freeze (PrismSandboxSpec *self);

/* Whether what may be reached, with which credentials and limits, can be judged and
 * kept. */
void prism_sandbox_spec_check_egress (PrismSandboxSpec *self, GString *offenders);

G_END_DECLS
