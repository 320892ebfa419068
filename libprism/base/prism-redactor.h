/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-types.h"

G_BEGIN_DECLS

#define PRISM_TYPE_REDACTOR (prism_redactor_get_type ())
PRISM_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (PrismRedactor, prism_redactor, PRISM, REDACTOR, GObject)

PRISM_AVAILABLE_IN_1_0
PrismRedactor *prism_redactor_new          (void);
PRISM_AVAILABLE_IN_1_0
void           prism_redactor_add          (PrismRedactor      *self,
                                            const char         *secret);
PRISM_AVAILABLE_IN_1_0
void           prism_redactor_add_environment (PrismRedactor   *self,
                                            const char * const *secrets);
PRISM_AVAILABLE_IN_1_0
char          *prism_redactor_redact       (PrismRedactor      *self,
                                            const char         *text);
PRISM_AVAILABLE_IN_1_0
GError        *prism_redactor_redact_error (PrismRedactor      *self,
                                            const GError       *error);

G_END_DECLS
