/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-suspension-private.h"

#include "prism-action.h"
#include "prism-decision.h"

G_BEGIN_DECLS

/* What @suspensions say to an action of which the policy says @question. *@fresh: what was put down
 * for it just now. It never fails: what cannot be put down or read is denied. */
PrismDecision *prism_approval_suspend (PrismSuspensions *suspensions,
                                       const char *const *roots,
                                       PrismAction *action,
                                       const char *directory_identity,
                                       PrismDecision *question,
                                       GCancellable *cancellable,
                                       PrismSuspension **fresh);

/* FALSE: whatever acts in the action's tree could write the answers. */
gboolean prism_approval_out_of_reach (const char *folder, const char *const *roots, PrismAction *action);

G_END_DECLS
