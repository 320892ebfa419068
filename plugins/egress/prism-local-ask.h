/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What may take its time: a name's addresses, and a resolver's rules. Asked in a
 * thread of their own; the answer comes back to the engine's. */
#pragma once

#include "prism-local-connection.h"

G_BEGIN_DECLS

typedef struct _PrismLocalQuestion PrismLocalQuestion;

/* In the engine's thread. Exactly one of the two results is set, or @error; they
 * belong to the question. */
typedef void (*PrismLocalAnswered) (gpointer asker, PrismLocalQuestion *question);

struct _PrismLocalQuestion
{
  gatomicrefcount refs;
  PrismLocalEngine *engine;
  gpointer asker; /* the engine's; NULL once nobody waits any more */
  PrismLocalAnswered answered;
  GCancellable *cancellable;
  char *host;                /* one of these two is asked */
  PrismEgressPolicy *policy;

  GList *addresses; /* GInetAddress */
  PrismEgressPolicy *rules;
  GError *error;
};

/* NULL if there is no thread to be had. */
PrismLocalQuestion *
prism_local_ask_name (PrismLocalEngine *engine, const char *host, gpointer asker, PrismLocalAnswered answered);
PrismLocalQuestion *prism_local_ask_policy (PrismLocalEngine *engine,
                                            PrismEgressPolicy *policy,
                                            gpointer asker,
                                            PrismLocalAnswered answered);

/* Nobody waits any more. */
void prism_local_question_drop (PrismLocalQuestion *question);

void prism_local_asker_stop (PrismLocalEngine *engine);

G_END_DECLS
