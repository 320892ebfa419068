/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-enums.h"

G_BEGIN_DECLS

#define PRISM_TYPE_MOUNT (prism_mount_get_type ())
PRISM_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (PrismMount, prism_mount, PRISM, MOUNT, GObject)

PRISM_AVAILABLE_IN_1_0
PrismMount *prism_mount_new             (GFile      *source,
                                         const char *destination,
                                         gboolean    writable);
PRISM_AVAILABLE_IN_1_0
GFile      *prism_mount_get_source      (PrismMount *self);
PRISM_AVAILABLE_IN_1_0
const char *prism_mount_get_destination (PrismMount *self);
PRISM_AVAILABLE_IN_1_0
gboolean    prism_mount_get_writable    (PrismMount *self);

G_END_DECLS
