/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-enums.h"

G_BEGIN_DECLS

#define PRISM_TYPE_CAPABILITIES (prism_capabilities_get_type ())
PRISM_AVAILABLE_IN_1_0
GType              prism_capabilities_get_type                 (void) G_GNUC_CONST;

/* @evidence: (nullable): a{ss}, from a control's nick ("network") to mechanism and probe result. */
PRISM_AVAILABLE_IN_1_0
PrismCapabilities *prism_capabilities_new                      (PrismControls            controls,
                                                                GVariant                *evidence);
PRISM_AVAILABLE_IN_1_0
PrismCapabilities *prism_capabilities_parse                    (GVariant                *variant);
PRISM_AVAILABLE_IN_1_0
PrismCapabilities *prism_capabilities_parse_json               (const char              *json,
                                                                gssize                   length);
PRISM_AVAILABLE_IN_1_0
PrismCapabilities *prism_capabilities_ref                      (PrismCapabilities       *self);
PRISM_AVAILABLE_IN_1_0
void               prism_capabilities_unref                    (PrismCapabilities       *self);
PRISM_AVAILABLE_IN_1_0
gboolean           prism_capabilities_get_workspace_coherent   (const PrismCapabilities *self);
PRISM_AVAILABLE_IN_1_0
gboolean           prism_capabilities_get_filesystem_isolated  (const PrismCapabilities *self);
PRISM_AVAILABLE_IN_1_0
gboolean           prism_capabilities_get_network_isolated     (const PrismCapabilities *self);
PRISM_AVAILABLE_IN_1_0
gboolean           prism_capabilities_get_process_isolated     (const PrismCapabilities *self);
PRISM_AVAILABLE_IN_1_0
gboolean           prism_capabilities_get_privilege_isolated   (const PrismCapabilities *self);
PRISM_AVAILABLE_IN_1_0
gboolean           prism_capabilities_get_egress_restricted    (const PrismCapabilities *self);
PRISM_AVAILABLE_IN_1_0
PrismControls      prism_capabilities_get_controls             (const PrismCapabilities *self);
PRISM_AVAILABLE_IN_1_0
gboolean           prism_capabilities_contains_controls        (const PrismCapabilities *self,
                                                                PrismControls            controls);
/* One control, or a limit by its name: "not enforced: …" is an answer too. */
PRISM_AVAILABLE_IN_1_0
const char        *prism_capabilities_get_evidence             (const PrismCapabilities *self,
                                                                const char              *control);
/* a{ss}: all of the evidence. */
PRISM_AVAILABLE_IN_1_0
GVariant          *prism_capabilities_dup_evidence             (const PrismCapabilities *self);
PRISM_AVAILABLE_IN_1_0
GVariant          *prism_capabilities_to_variant               (const PrismCapabilities *self);
PRISM_AVAILABLE_IN_1_0
gboolean           prism_capabilities_get_containment_claim    (const PrismCapabilities *self);
/* REFUSED, naming what is missing in a fixed order, with the evidence. */
PRISM_AVAILABLE_IN_1_0
gboolean           prism_capabilities_check_required        (const PrismCapabilities *self,
                                                             PrismControls            require,
                                                             GError                 **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (PrismCapabilities, prism_capabilities_unref)

G_END_DECLS
