/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <libprism/prism.h>

G_BEGIN_DECLS

#define PRISM_TYPE_NATIVE_BACKEND (prism_native_backend_get_type ())
G_DECLARE_FINAL_TYPE (PrismNativeBackend, prism_native_backend, PRISM, NATIVE_BACKEND, GObject)

G_END_DECLS
