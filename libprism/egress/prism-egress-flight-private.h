/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The question that is under way for a policy whose rules come from a resolver.
 * Everyone who asks meanwhile waits for the same answer; an answer holds for one
 * second from when its question was put. */
#pragma once

#include "prism-egress-policy.h"
#include "prism-egress-resolver.h"

G_BEGIN_DECLS

typedef struct _PrismEgressFlight PrismEgressFlight;

/* What a policy keeps of its resolver. Zeroed is empty. */
typedef struct
{
  GMutex lock;
  PrismEgressPolicy *answer; /* the latest */
  gint64 asked;              /* when its question was put; monotonic */
  PrismEgressFlight *flight; /* the question under way; NULL if there is none */
} PrismEgressAnswers;

void prism_egress_answers_clear (PrismEgressAnswers *self);

/* The answer, if it still holds. */
PrismEgressPolicy *prism_egress_answers_get (PrismEgressAnswers *self);

/* Asks in the calling thread, waiting for nobody. */
PrismEgressPolicy *prism_egress_answers_ask (PrismEgressAnswers *self,
                                             PrismEgressResolver *resolver,
                                             GCancellable *cancellable,
                                             GError **error);

/* Returns @task, which it takes, with the answer, and holds on to @owner until then. */
void prism_egress_answers_join (PrismEgressAnswers *self, GObject *owner, PrismEgressResolver *resolver, GTask *task);

G_END_DECLS
