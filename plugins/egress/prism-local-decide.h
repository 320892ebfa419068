/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a request asks for, whether it may, and where it goes. */
#pragma once

#include "prism-local-connection.h"

G_BEGIN_DECLS

/* The head was just parsed: refuses the request, or dials. */
void prism_local_decide (PrismLocalConnection *connection);

/* The same for another place, where a redirect leads: FALSE if it was refused. */
gboolean prism_local_decide_redirect (PrismLocalConnection *connection,
                                      const PrismHttpTarget *target,
                                      PrismEgressPolicy *policy);

/* Whether the proxy may speak TLS there by itself. */
gboolean prism_local_decide_upgrades (PrismLocalConnection *connection, const PrismHttpTarget *target);

/* The policy that holds for the connection; NULL while its resolver has to be asked,
 * and then prism_local_decide() or prism_local_forward_redirected() go on. */
PrismEgressPolicy *prism_local_decide_policy (PrismLocalConnection *connection);

/* As an option of the program says it: https://HOST:PORT. */
char *prism_local_describe_place (PrismEgressScheme scheme, const char *host, guint port);

/* Whether a policy still allows what was allowed. */
gboolean prism_local_place_holds (const PrismLocalPlace *place, PrismEgressPolicy *policy);

G_END_DECLS
