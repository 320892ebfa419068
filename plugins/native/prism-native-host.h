/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-native-plan.h"

G_BEGIN_DECLS

/* The id of the host that root's sandboxes run as: nothing there belongs to it. */
#define PRISM_NATIVE_ROOT_MAPS_TO 10001

const PrismNativeHost *prism_native_host_get (void);

G_END_DECLS
