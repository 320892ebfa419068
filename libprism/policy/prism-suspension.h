/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-types.h"

G_BEGIN_DECLS

/**
 * PRISM_DURABLE_ERROR:
 *
 * Since: 1.0
 */
#define PRISM_DURABLE_ERROR (prism_durable_error_quark ())
PRISM_AVAILABLE_IN_1_0
GQuark prism_durable_error_quark (void);

/**
 * PrismDurableError:
 * @PRISM_DURABLE_ERROR_FAILED: something else; the message says what
 * @PRISM_DURABLE_ERROR_INVALID: that is no answer to what was asked
 * @PRISM_DURABLE_ERROR_STATE: it is answered, begun or too old
 * @PRISM_DURABLE_ERROR_NOT_FOUND: nothing with that id waits there
 * @PRISM_DURABLE_ERROR_LIMIT: more than a bound
 * @PRISM_DURABLE_ERROR_UNSAFE: somebody else can write where answers are kept
 *
 * What can be wrong with what waits for an answer.
 *
 * Since: 1.0
 */
typedef enum
{
  PRISM_DURABLE_ERROR_FAILED,
  PRISM_DURABLE_ERROR_INVALID,
  PRISM_DURABLE_ERROR_STATE,
  PRISM_DURABLE_ERROR_NOT_FOUND,
  PRISM_DURABLE_ERROR_LIMIT,
  PRISM_DURABLE_ERROR_UNSAFE,
} PrismDurableError;

/**
 * PrismSuspensionState:
 * @PRISM_SUSPENSION_STATE_PENDING: nobody answered yet
 * @PRISM_SUSPENSION_STATE_ALLOWED: somebody said yes; it did not begin yet
 * @PRISM_SUSPENSION_STATE_ANSWERED: a question has its answer
 * @PRISM_SUSPENSION_STATE_DENIED: somebody said no
 * @PRISM_SUSPENSION_STATE_CANCELLED: it is not asked any more
 * @PRISM_SUSPENSION_STATE_EXPIRED: nobody answered in time, or what was allowed did not begin in time
 * @PRISM_SUSPENSION_STATE_STARTED: it began; if whoever did it is gone, nobody knows whether it was done
 * @PRISM_SUSPENSION_STATE_ENDED: it is over; the outcome says how
 *
 * How far it is with something that waits for an answer.
 *
 * Since: 1.0
 */
typedef enum
{
  PRISM_SUSPENSION_STATE_PENDING,
  PRISM_SUSPENSION_STATE_ALLOWED,
  PRISM_SUSPENSION_STATE_ANSWERED,
  PRISM_SUSPENSION_STATE_DENIED,
  PRISM_SUSPENSION_STATE_CANCELLED,
  PRISM_SUSPENSION_STATE_EXPIRED,
  PRISM_SUSPENSION_STATE_STARTED,
  PRISM_SUSPENSION_STATE_ENDED,
} PrismSuspensionState;

/* Properties, read-only: id, reason (approval, ask_user_decision), state, text (what to show),
 * resume-schema (JSON Schema of an answer), run-id, session-id, call-id, asked-at and
 * expires-at (milliseconds since 1970), answer (JSON), answered-by, outcome. What was there
 * when it was read: it does not change. */
#define PRISM_TYPE_SUSPENSION (prism_suspension_get_type ())
PRISM_AVAILABLE_IN_1_0
G_DECLARE_FINAL_TYPE (PrismSuspension, prism_suspension, PRISM, SUSPENSION, GObject)

PRISM_AVAILABLE_IN_1_0
const char *prism_suspension_get_id (PrismSuspension *self);
PRISM_AVAILABLE_IN_1_0
const char *prism_suspension_get_reason (PrismSuspension *self);
PRISM_AVAILABLE_IN_1_0
PrismSuspensionState prism_suspension_get_state (PrismSuspension *self);
PRISM_AVAILABLE_IN_1_0
const char *prism_suspension_get_text (PrismSuspension *self);
PRISM_AVAILABLE_IN_1_0
const char *prism_suspension_get_resume_schema (PrismSuspension *self);
PRISM_AVAILABLE_IN_1_0
const char *prism_suspension_get_run_id (PrismSuspension *self);
PRISM_AVAILABLE_IN_1_0
const char *prism_suspension_get_session_id (PrismSuspension *self);
PRISM_AVAILABLE_IN_1_0
const char *prism_suspension_get_call_id (PrismSuspension *self);
PRISM_AVAILABLE_IN_1_0
gint64 prism_suspension_get_asked_at (PrismSuspension *self);
PRISM_AVAILABLE_IN_1_0
gint64 prism_suspension_get_expires_at (PrismSuspension *self);
PRISM_AVAILABLE_IN_1_0
const char *prism_suspension_get_answer (PrismSuspension *self);
PRISM_AVAILABLE_IN_1_0
const char *prism_suspension_get_answered_by (PrismSuspension *self);
PRISM_AVAILABLE_IN_1_0
const char *prism_suspension_get_outcome (PrismSuspension *self);

G_END_DECLS
