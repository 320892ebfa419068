/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The way back of a plain request. */
#pragma once

#include "prism-local-connection.h"

G_BEGIN_DECLS

/* The upstream said something. */
void prism_local_reply_read (PrismLocalConnection *connection);

/* The upstream takes or gives nothing any more. */
void prism_local_reply_broke (PrismLocalConnection *connection);

/* The client takes more. */
void prism_local_reply_flush (PrismLocalConnection *connection);

G_END_DECLS
