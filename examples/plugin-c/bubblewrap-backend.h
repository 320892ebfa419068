/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <libprism/prism.h>

G_BEGIN_DECLS

/* Makes sandboxes with the bubblewrap program. */
#define BUBBLEWRAP_TYPE_BACKEND (bubblewrap_backend_get_type ())
G_DECLARE_FINAL_TYPE (BubblewrapBackend, bubblewrap_backend, BUBBLEWRAP, BACKEND, GObject)

G_END_DECLS
