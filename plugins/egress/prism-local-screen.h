/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which addresses may be connected to. */
#pragma once

#include "prism-local-connection.h"

G_BEGIN_DECLS

/* NULL, or why the place may not be reached at this address; to be freed. */
char *prism_local_screen (PrismLocalEngine *engine, const PrismLocalPlace *place, GInetAddress *address);

G_END_DECLS
