/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-types.h"

G_BEGIN_DECLS

#define PRISM_TYPE_TREE_IDENTITY (prism_tree_identity_get_type ())
PRISM_AVAILABLE_IN_1_0
GType              prism_tree_identity_get_type    (void) G_GNUC_CONST;
PRISM_AVAILABLE_IN_1_0
PrismTreeIdentity *prism_tree_identity_new         (const char              *sha256,
                                                    guint64                  entries,
                                                    guint64                  bytes);
PRISM_AVAILABLE_IN_1_0
PrismTreeIdentity *prism_tree_identity_copy        (const PrismTreeIdentity *self);
PRISM_AVAILABLE_IN_1_0
void               prism_tree_identity_free        (PrismTreeIdentity       *self);
PRISM_AVAILABLE_IN_1_0
const char        *prism_tree_identity_get_sha256  (const PrismTreeIdentity *self);
PRISM_AVAILABLE_IN_1_0
guint64            prism_tree_identity_get_entries (const PrismTreeIdentity *self);
PRISM_AVAILABLE_IN_1_0
guint64            prism_tree_identity_get_bytes   (const PrismTreeIdentity *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (PrismTreeIdentity, prism_tree_identity_free)

G_END_DECLS
