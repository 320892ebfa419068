/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <libprism/prism.h>

G_BEGIN_DECLS

#define PRISM_TYPE_LOCAL_EGRESS (prism_local_egress_get_type ())
G_DECLARE_FINAL_TYPE (PrismLocalEgress, prism_local_egress, PRISM, LOCAL_EGRESS, GObject)

G_END_DECLS
