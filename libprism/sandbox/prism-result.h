/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-enums.h"

G_BEGIN_DECLS

/* Read-only once made: outcome, exit-code (-1 unless exited), term-signal (0
 * unless signalled), timed-out, cancelled, stdout-bytes, stderr-bytes (GBytes,
 * never NULL), stdout-truncated, stderr-truncated, stdout-total, stderr-total
 * (bytes written, kept or not), duration-us, effective-timeout-ms (0 = none),
 * limit (the name of the limit that ended it, or NULL), reason (why it was lost; never
 * NULL then). */
#define PRISM_TYPE_RESULT (prism_result_get_type ())
PRISM_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (PrismResult, prism_result, PRISM, RESULT, GObject)

PRISM_AVAILABLE_IN_1_0
PrismOutcome  prism_result_get_outcome              (PrismResult *self);
PRISM_AVAILABLE_IN_1_0
int           prism_result_get_exit_code            (PrismResult *self);
PRISM_AVAILABLE_IN_1_0
int           prism_result_get_term_signal          (PrismResult *self);
PRISM_AVAILABLE_IN_1_0
gboolean      prism_result_get_timed_out            (PrismResult *self);
PRISM_AVAILABLE_IN_1_0
gboolean      prism_result_get_cancelled            (PrismResult *self);
PRISM_AVAILABLE_IN_1_0
GBytes       *prism_result_get_stdout               (PrismResult *self);
PRISM_AVAILABLE_IN_1_0
GBytes       *prism_result_get_stderr               (PrismResult *self);
/* Valid UTF-8, what was not is replaced by U+FFFD. */
PRISM_AVAILABLE_IN_1_0
char         *prism_result_dup_stdout_text          (PrismResult *self);
PRISM_AVAILABLE_IN_1_0
char         *prism_result_dup_stderr_text          (PrismResult *self);
PRISM_AVAILABLE_IN_1_0
gboolean      prism_result_get_stdout_truncated     (PrismResult *self);
PRISM_AVAILABLE_IN_1_0
gboolean      prism_result_get_stderr_truncated     (PrismResult *self);
PRISM_AVAILABLE_IN_1_0
guint64       prism_result_get_stdout_total         (PrismResult *self);
PRISM_AVAILABLE_IN_1_0
guint64       prism_result_get_stderr_total         (PrismResult *self);
PRISM_AVAILABLE_IN_1_0
gint64        prism_result_get_duration_us          (PrismResult *self);
PRISM_AVAILABLE_IN_1_0
gint64        prism_result_get_effective_timeout_ms (PrismResult *self);
PRISM_AVAILABLE_IN_1_0
const char   *prism_result_get_limit                (PrismResult *self);
PRISM_AVAILABLE_IN_1_0
const char   *prism_result_get_reason               (PrismResult *self);

G_END_DECLS
