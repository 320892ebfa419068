/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-question.h"

#include <json-glib/json-glib.h>

G_BEGIN_DECLS

typedef struct
{
  char *id, *label;
  char **pros, **cons;
} PrismQuestionOption;

PrismQuestion *prism_question_new (const char *question, gboolean multiple, gboolean allow_custom, gsize most_custom);
gsize prism_question_get_most_custom (PrismQuestion *self);
void prism_question_set_call_id (PrismQuestion *self, const char *call_id);
void prism_question_add_option (
    PrismQuestion *self, const char *id, const char *label, const char *const *pros, const char *const *cons);

/* Waits for an answer. What is given is one of the two; with neither, nobody answered, and
 * @error says why. */
gboolean prism_question_wait (
    PrismQuestion *self, gint64 timeout_s, GCancellable *cancellable, char ***ids, char **custom_text, GError **error);

G_END_DECLS
