/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-audit-log.h"
#include "prism-command.h"
#include "prism-egress-proxy.h"
#include "prism-limits.h"
#include "prism-mount.h"

G_BEGIN_DECLS

/* What a caller asks of any backend. Properties: workspace (GFile, nullable),
 * workspace-mode, sandbox-path ("/workspace"), env (GStrv NAME=VALUE), labels
 * (GStrv KEY=VALUE), hide and protect (GStrv, host paths), limits, lifetime,
 * network, egress-policy (PrismEgressPolicy), credentials (GListModel of
 * PrismCredential), egress-proxy (PrismEgressProxy, NULL = the process's own), audit
 * (PrismAuditLog, nullable), require (PrismControls), mounts (GListModel of PrismMount), allow-env
 * (GStrv: names such as LD_PRELOAD or BASH_ENV, which make programs run other
 * code and are refused unless named here). Frozen by the first
 * create_sandbox(): later changes are refused. */
#define PRISM_TYPE_SANDBOX_SPEC (prism_sandbox_spec_get_type ())
PRISM_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (PrismSandboxSpec, prism_sandbox_spec, PRISM, SANDBOX_SPEC, GObject)

PRISM_AVAILABLE_IN_1_0
PrismSandboxSpec   *prism_sandbox_spec_new                (GFile              *workspace);
PRISM_AVAILABLE_IN_1_0
GFile              *prism_sandbox_spec_get_workspace      (PrismSandboxSpec   *self);
PRISM_AVAILABLE_IN_1_0
PrismWorkspaceMode  prism_sandbox_spec_get_workspace_mode (PrismSandboxSpec   *self);
PRISM_AVAILABLE_IN_1_0
const char         *prism_sandbox_spec_get_sandbox_path   (PrismSandboxSpec   *self);
PRISM_AVAILABLE_IN_1_0
GListModel         *prism_sandbox_spec_get_mounts         (PrismSandboxSpec   *self);
PRISM_AVAILABLE_IN_1_0
void                prism_sandbox_spec_add_mount          (PrismSandboxSpec   *self,
                                                           PrismMount         *mount);
PRISM_AVAILABLE_IN_1_0
const char * const *prism_sandbox_spec_get_env            (PrismSandboxSpec   *self);
PRISM_AVAILABLE_IN_1_0
void                prism_sandbox_spec_set_variable       (PrismSandboxSpec   *self,
                                                           const char         *name,
                                                           const char         *value);
/* In the environment, and redacted everywhere else. */
PRISM_AVAILABLE_IN_1_0
void                prism_sandbox_spec_add_secret         (PrismSandboxSpec   *self,
                                                           const char         *name,
                                                           const char         *value);
PRISM_AVAILABLE_IN_1_0
const char * const *prism_sandbox_spec_get_secrets        (PrismSandboxSpec   *self);
PRISM_AVAILABLE_IN_1_0
const char * const *prism_sandbox_spec_get_hide           (PrismSandboxSpec   *self);
PRISM_AVAILABLE_IN_1_0
void                prism_sandbox_spec_add_hide           (PrismSandboxSpec   *self,
                                                           const char         *path);
PRISM_AVAILABLE_IN_1_0
const char * const *prism_sandbox_spec_get_protect        (PrismSandboxSpec   *self);
PRISM_AVAILABLE_IN_1_0
void                prism_sandbox_spec_add_protect        (PrismSandboxSpec   *self,
                                                           const char         *path);
PRISM_AVAILABLE_IN_1_0
const char * const *prism_sandbox_spec_get_labels         (PrismSandboxSpec   *self);
PRISM_AVAILABLE_IN_1_0
const char * const *prism_sandbox_spec_get_allow_env      (PrismSandboxSpec   *self);
PRISM_AVAILABLE_IN_1_0
void                prism_sandbox_spec_add_label          (PrismSandboxSpec   *self,
                                                           const char         *key,
                                                           const char         *value);
PRISM_AVAILABLE_IN_1_0
PrismLimits        *prism_sandbox_spec_get_limits         (PrismSandboxSpec   *self);
PRISM_AVAILABLE_IN_1_0
PrismLifetime       prism_sandbox_spec_get_lifetime       (PrismSandboxSpec   *self);
PRISM_AVAILABLE_IN_1_0
PrismNetworkMode    prism_sandbox_spec_get_network        (PrismSandboxSpec   *self);
/* With network=egress: what may be reached, by whose proxy, and where that is written down. */
PRISM_AVAILABLE_IN_1_0
PrismEgressPolicy  *prism_sandbox_spec_get_egress_policy  (PrismSandboxSpec   *self);
PRISM_AVAILABLE_IN_1_0
GListModel         *prism_sandbox_spec_get_credentials    (PrismSandboxSpec   *self);
PRISM_AVAILABLE_IN_1_0
void                prism_sandbox_spec_add_credential     (PrismSandboxSpec   *self,
                                                           PrismCredential    *credential);
PRISM_AVAILABLE_IN_1_0
PrismEgressProxy   *prism_sandbox_spec_get_egress_proxy   (PrismSandboxSpec   *self);
/* What its sandbox is to use: its own, or the process's; none without network=egress. */
PRISM_AVAILABLE_IN_1_0
gboolean            prism_sandbox_spec_dup_egress_proxy   (PrismSandboxSpec   *self,
                                                           PrismEgressProxy  **proxy,
                                                           GError            **error);
PRISM_AVAILABLE_IN_1_0
PrismAuditLog      *prism_sandbox_spec_get_audit          (PrismSandboxSpec   *self);
PRISM_AVAILABLE_IN_1_0
PrismControls       prism_sandbox_spec_get_require        (PrismSandboxSpec   *self);
/* Everything that is wrong with it, before any side effect, in one error. */
PRISM_AVAILABLE_IN_1_0
gboolean            prism_sandbox_spec_check              (PrismSandboxSpec   *self,
                                                           GError            **error);
/* What a sandbox made of it must refuse in a command: for those who implement exec() and start_process(). */
PRISM_AVAILABLE_IN_1_0
gboolean            prism_sandbox_spec_check_command      (PrismSandboxSpec   *self,
                                                           PrismCommand       *command,
                                                           GError            **error);
/* For those whose sandboxes outlive their host. It holds the secrets. */
PRISM_AVAILABLE_IN_1_0
GVariant           *prism_sandbox_spec_to_variant         (PrismSandboxSpec   *self);
PRISM_AVAILABLE_IN_1_0
PrismSandboxSpec   *prism_sandbox_spec_new_from_variant   (GVariant           *variant,
                                                           PrismLifetime       lifetime,
                                                           GError            **error);

G_END_DECLS
