/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-egress-error.h"

G_BEGIN_DECLS

#define PRISM_TYPE_CREDENTIAL (prism_credential_get_type ())
PRISM_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (PrismCredential, prism_credential, PRISM, CREDENTIAL, GObject)

PRISM_AVAILABLE_IN_1_0
PrismCredential *prism_credential_new (const char *host, const char *header, const char *value, GError **error);
PRISM_AVAILABLE_IN_1_0
const char *prism_credential_get_host (PrismCredential *self);
PRISM_AVAILABLE_IN_1_0
const char *prism_credential_get_header (PrismCredential *self);
PRISM_AVAILABLE_IN_1_0
gboolean prism_credential_matches (PrismCredential *self, const char *host);
/* For the proxy, which sends it, and nobody else. */
PRISM_AVAILABLE_IN_1_0
const char *prism_credential_reveal (PrismCredential *self);

G_END_DECLS
