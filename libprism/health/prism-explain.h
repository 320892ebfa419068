/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-types.h"

G_BEGIN_DECLS

#define PRISM_TYPE_EXPLANATION (prism_explanation_get_type ())
PRISM_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (PrismExplanation, prism_explanation, PRISM, EXPLANATION, GObject)

/* From structural facts (domain, code) only; NULL where nothing useful is known. */
PRISM_AVAILABLE_IN_1_0
PrismExplanation *prism_error_explain        (const GError     *error);
PRISM_AVAILABLE_IN_1_0
const char       *prism_explanation_get_id   (PrismExplanation *self);
PRISM_AVAILABLE_IN_1_0
const char       *prism_explanation_get_text (PrismExplanation *self);
PRISM_AVAILABLE_IN_1_0
const char       *prism_explanation_get_hint (PrismExplanation *self);

G_END_DECLS
