/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Messages of the process service's streams, the last one among them. */
#include "prism-e2b-error.h"
#include "prism-e2b-event.h"

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  g_auto (PrismE2bEvent) event = { 0 };
  g_autoptr (GError) error = NULL, end = NULL;
  PrismE2bCause cause;

  if (!prism_e2b_event_parse (data, size, &event, &error))
    g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_LOST);
  else if (event.kind == PRISM_E2B_EVENT_DATA)
    g_assert_nonnull (event.bytes);
  else if (event.kind == PRISM_E2B_EVENT_START)
    g_assert_cmpint (event.pid, >, 0);
  else if (event.kind == PRISM_E2B_EVENT_END)
    {
      g_assert_true ((event.outcome == PRISM_OUTCOME_EXITED) == (event.exit_code >= 0));
      g_assert_true ((event.outcome == PRISM_OUTCOME_SIGNALLED) == (event.term_signal > 0));
      g_assert_true ((event.outcome == PRISM_OUTCOME_LOST) == (event.reason != NULL));
    }
  if (!prism_e2b_end_parse (data, size, "run it", NULL, &cause, &end))
    g_assert_true (g_utf8_validate (end->message, -1, NULL));
  return 0;
}
