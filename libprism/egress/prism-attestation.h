/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-egress-error.h"

G_BEGIN_DECLS

#define PRISM_TYPE_ATTESTATION (prism_attestation_get_type ())
PRISM_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (PrismAttestation, prism_attestation, PRISM, ATTESTATION, GObject)

PRISM_AVAILABLE_IN_1_0
PrismAttestation *prism_attestation_new (const char *proxy_endpoint,
                                         gboolean deny_direct_egress,
                                         const char *policy_fingerprint,
                                         gint64 policy_version,
                                         GDateTime *started_at,
                                         GError **error);
PRISM_AVAILABLE_IN_1_0
PrismAttestation *prism_attestation_new_from_json (const char *json, gssize length, GError **error);
PRISM_AVAILABLE_IN_1_0
PrismAttestation *prism_attestation_sign (PrismAttestation *self, const char *private_key, GError **error);
PRISM_AVAILABLE_IN_1_0
gboolean prism_attestation_verify (PrismAttestation *self, const char *public_key, GError **error);

PRISM_AVAILABLE_IN_1_0
const char *prism_attestation_get_proxy_endpoint (PrismAttestation *self);
PRISM_AVAILABLE_IN_1_0
gboolean prism_attestation_get_deny_direct_egress (PrismAttestation *self);
PRISM_AVAILABLE_IN_1_0
const char *prism_attestation_get_policy_fingerprint (PrismAttestation *self);
PRISM_AVAILABLE_IN_1_0
gint64 prism_attestation_get_policy_version (PrismAttestation *self);
PRISM_AVAILABLE_IN_1_0
GDateTime *prism_attestation_get_started_at (PrismAttestation *self);
PRISM_AVAILABLE_IN_1_0
const char *prism_attestation_get_key_id (PrismAttestation *self);
PRISM_AVAILABLE_IN_1_0
const char *prism_attestation_get_signature (PrismAttestation *self);
PRISM_AVAILABLE_IN_1_0
char *prism_attestation_to_json (PrismAttestation *self);

G_END_DECLS
