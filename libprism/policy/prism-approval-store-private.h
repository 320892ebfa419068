/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What was answered and is remembered, and what is being asked right now.
 *
 * A flight is one question that is open, with everybody who waits for its answer: two who
 * want the same thing at the same time are one question. It is settled once: by an answer,
 * by its deadline, or because nobody waits any more. Only an answer is remembered. */
#pragma once

#include "prism-approval-policy.h"
#include "prism-operation-private.h"

G_BEGIN_DECLS

#define PRISM_APPROVAL_CACHE_ENTRIES 1000

typedef struct _PrismApprovalStore PrismApprovalStore;
typedef struct _PrismApprovalFlight PrismApprovalFlight;

PrismApprovalStore *prism_approval_store_new (void);
PrismApprovalStore *prism_approval_store_ref (PrismApprovalStore *self);
void prism_approval_store_unref (PrismApprovalStore *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (PrismApprovalStore, prism_approval_store_unref)

/* Whether there is an answer for @key, and which. NULL @key: there is none. */
gboolean prism_approval_store_look_up (PrismApprovalStore *self, const char *key, gboolean *allowed);
void prism_approval_store_remember (PrismApprovalStore *self, const char *key, gboolean allowed);
void prism_approval_store_forget (PrismApprovalStore *self);
guint prism_approval_store_get_size (PrismApprovalStore *self);

/* What a flight knows from the start; its strings are taken. */
typedef struct
{
  char *flight_key;
  char *answer_key;  /* (nullable): where any answer is remembered */
  char *always_key;  /* (nullable): where an answer for always is */
  gint64 timeout_ms; /* 0: none */
  gboolean exclusive;
} PrismApprovalTerms;

/* @operation waits for the answer. TRUE: it is a new question, and *@request is what is to
 * be shown to somebody; else it joined one. Takes what @terms holds. */
gboolean prism_approval_store_ask (PrismApprovalStore *self,
                                   PrismApprovalTerms *terms,
                                   PrismDecision *question,
                                   PrismCheckOperation *operation,
                                   PrismApprovalRequest **request);

PrismApprovalFlight *prism_approval_flight_ref (PrismApprovalFlight *self);
void prism_approval_flight_unref (PrismApprovalFlight *self);
gboolean prism_approval_flight_is_open (PrismApprovalFlight *self);
/* FALSE: it is not open any more. */
gboolean prism_approval_flight_answer (PrismApprovalFlight *self, PrismApprovalAnswer answer);
/* The same, with a decision that is nobody's answer and is not remembered. */
gboolean prism_approval_flight_settle (PrismApprovalFlight *self, PrismDecision *decision);
/* Nobody holds the request any more. */
void prism_approval_flight_drop (PrismApprovalFlight *self);

/* What whoever is asked is shown, on every surface. */
char *prism_approval_dup_text (PrismAction *action, PrismDecision *question);

/* Takes a reference to @flight. */
PrismApprovalRequest *prism_approval_request_new (PrismAction *action,
                                                  PrismDecision *question,
                                                  gboolean can_remember,
                                                  PrismApprovalFlight *flight);
/* In the context that it was asked in. */
void prism_approval_request_settled (PrismApprovalRequest *self);

G_END_DECLS
