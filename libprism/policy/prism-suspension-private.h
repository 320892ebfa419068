/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-suspension-files-private.h"
#include "prism-suspensions.h"

#include <json-glib/json-glib.h>

G_BEGIN_DECLS

#define PRISM_SUSPENSION_REASON_APPROVAL "approval"
#define PRISM_SUSPENSION_REASON_QUESTION "ask_user_decision"
/* It ended before anything was done: something else that it needs is still waited for. */
#define PRISM_SUSPENSION_OUTCOME_NOTHING "nothing was done"
#define PRISM_SUSPENSION_QUESTION_MEMBER "x-prism-ask-user-decision"

gint64 prism_suspension_now_ms (void);

/* What is there of @id; NULL without an error: nothing is asked there. Of one whose question is half
 * gone there is a record all the same, which allows nothing. */
PrismSuspension *prism_suspension_load (int folder, const char *id, PrismSuspensions *store, GError **error);
gboolean prism_suspension_is_late (PrismSuspension *self);
/* Where it is kept, to end it. */
PrismSuspensions *prism_suspension_get_store (PrismSuspension *self);

/* @answer, checked against what is asked, in the form in which it is kept; NULL: it does not fit. */
/* What answers have to fit. */
JsonNode *prism_suspension_get_schema (PrismSuspension *self);
JsonNode *prism_suspension_read_answer (PrismSuspension *self, const char *answer, GError **error);

/* -1: not absolute, or not to be opened; without an error: not there, and not to be made. */
int prism_suspensions_open (PrismSuspensions *self, gboolean make, GError **error);
/* Nothing for NULL. */
void prism_suspension_add_string (JsonBuilder *builder, const char *name, const char *value);
void prism_suspension_add_integer (JsonBuilder *builder, const char *name, gint64 value);

/* What is to be asked. */
typedef struct
{
  const char *reason;
  const char *binding; /* 64 hexadecimal digits: what it is bound to */
  const char *run_id, *session_id, *call_id, *text;
  JsonNode *data, *resume_schema; /* (nullable), not taken */
} PrismSuspensionTerms;

/* The newest that is bound as @terms say and still holds, or a new one; *@fresh: whoever listens
 * is to be told. */
PrismSuspension *
prism_suspensions_suspend (PrismSuspensions *self, const PrismSuspensionTerms *terms, gboolean *fresh, GError **error);
/* What was allowed begins, once. FALSE without an error: it began already. */
gboolean prism_suspensions_begin (PrismSuspensions *self, PrismSuspension *suspension, GError **error);
void prism_suspensions_emit_suspended (gpointer self, gpointer suspension);

G_END_DECLS
