/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Answers that lead elsewhere. */
#pragma once

#include "prism-local-connection.h"

G_BEGIN_DECLS

/* TRUE: it is followed, or was refused, and the answer is not passed on. */
gboolean prism_local_redirect_follows (PrismLocalConnection *connection, const PrismHttpHead *reply);

G_END_DECLS
