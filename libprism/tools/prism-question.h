/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-tool-error.h"

G_BEGIN_DECLS

/* A question that the tool ask_user_decision puts to a person: question, multiple,
 * allow-custom, and its options. Answered once, from any thread; dropped or dismissed, the
 * tool says that nobody answered. */
#define PRISM_TYPE_QUESTION (prism_question_get_type ())
PRISM_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (PrismQuestion, prism_question, PRISM, QUESTION, GObject)

PRISM_AVAILABLE_IN_1_0
const char *prism_question_get_question (PrismQuestion *self);
/* Which call asks, as its context has it. */
PRISM_AVAILABLE_IN_1_0
const char *prism_question_get_call_id (PrismQuestion *self);
/* FALSE: it was answered or dismissed, or its call waits no longer. */
PRISM_AVAILABLE_IN_1_0
gboolean prism_question_get_pending (PrismQuestion *self);
PRISM_AVAILABLE_IN_1_0
gboolean prism_question_get_multiple (PrismQuestion *self);
PRISM_AVAILABLE_IN_1_0
gboolean prism_question_get_allow_custom (PrismQuestion *self);
PRISM_AVAILABLE_IN_1_0
guint prism_question_get_n_options (PrismQuestion *self);
PRISM_AVAILABLE_IN_1_0
const char *prism_question_get_option_id (PrismQuestion *self, guint option);
PRISM_AVAILABLE_IN_1_0
const char *prism_question_get_option_label (PrismQuestion *self, guint option);
PRISM_AVAILABLE_IN_1_0
const char *const *prism_question_get_option_pros (PrismQuestion *self, guint option);
PRISM_AVAILABLE_IN_1_0
const char *const *prism_question_get_option_cons (PrismQuestion *self, guint option);
/* All of it, for a person's eyes. */
PRISM_AVAILABLE_IN_1_0
char *prism_question_to_text (PrismQuestion *self);
/* Option ids, or custom text: one of the two. Refused as a whole where it does not fit. */
PRISM_AVAILABLE_IN_1_0
gboolean prism_question_answer (PrismQuestion *self, const char *const *ids, const char *custom_text, GError **error);
PRISM_AVAILABLE_IN_1_0
void prism_question_dismiss (PrismQuestion *self, const char *reason);

G_END_DECLS
