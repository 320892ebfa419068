/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <libprism/prism.h>

G_BEGIN_DECLS

#define PRISM_TYPE_E2B_BACKEND (prism_e2b_backend_get_type ())
G_DECLARE_FINAL_TYPE (PrismE2bBackend, prism_e2b_backend, PRISM, E2B_BACKEND, GObject)

G_END_DECLS
