/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-approval-policy.h"
#include "prism-policy-error.h"
#include "prism-sandbox-spec.h"

G_BEGIN_DECLS

/* A policy file, version 1: see docs/policy-format. Immutable; relative paths in it are
 * relative to its folder. */
#define PRISM_TYPE_POLICY_FILE (prism_policy_file_get_type ())
PRISM_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (PrismPolicyFile, prism_policy_file, PRISM, POLICY_FILE, GObject)

PRISM_AVAILABLE_IN_1_0
PrismPolicyFile *prism_policy_file_new_for_path (const char *path, GError **error);
PRISM_AVAILABLE_IN_1_0
PrismPolicyFile *
prism_policy_file_new_from_data (const char *text, gssize length, const char *folder, GError **error);

PRISM_AVAILABLE_IN_1_0
PrismEgressPolicy *prism_policy_file_get_egress_policy (PrismPolicyFile *self);
PRISM_AVAILABLE_IN_1_0
PrismLimits *prism_policy_file_get_limits (PrismPolicyFile *self);
PRISM_AVAILABLE_IN_1_0
const char *const *prism_policy_file_get_read_only (PrismPolicyFile *self);
PRISM_AVAILABLE_IN_1_0
const char *const *prism_policy_file_get_read_write (PrismPolicyFile *self);
PRISM_AVAILABLE_IN_1_0
const char *const *prism_policy_file_get_hide (PrismPolicyFile *self);
PRISM_AVAILABLE_IN_1_0
const char *const *prism_policy_file_get_protect (PrismPolicyFile *self);
/* Members that say what commands and tools may do. */
PRISM_AVAILABLE_IN_1_0
const char *const *prism_policy_file_get_action_members (PrismPolicyFile *self);
/* What these members come to; NULL where there is none of them. */
PRISM_AVAILABLE_IN_1_0
PrismApprovalPolicy *prism_policy_file_get_policy (PrismPolicyFile *self);
/* A policy file that says the same, with all that this one leaves unsaid. */
PRISM_AVAILABLE_IN_1_0
char *prism_policy_file_dup_text (PrismPolicyFile *self);
/* Reads the variables and files that the credentials come from, each time anew. */
PRISM_AVAILABLE_IN_1_0
GListModel *prism_policy_file_load_credentials (PrismPolicyFile *self, GError **error);
/* Everything that a sandbox is to have of it. */
PRISM_AVAILABLE_IN_1_0
gboolean prism_policy_file_apply (PrismPolicyFile *self, PrismSandboxSpec *spec, GError **error);

G_END_DECLS
