/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is written down of a decision, and the answer to a refused request. */
#pragma once

#include "prism-local-connection.h"

G_BEGIN_DECLS

/* Of what the connection is doing, when it is over. @reason_id NULL: nothing went
 * wrong. */
void prism_local_record (PrismLocalConnection *connection,
                         PrismAuditDecision decision,
                         const char *reason_id,
                         const char *reason);

/* Nobody could take some of its records yet: nothing new is let through there until
 * then. Other ports have files of their own, and go on. */
static inline gboolean
prism_local_records_wait (PrismLocalPort *port)
{
  return port->records.length > 0;
}

/* What of a port could not be handed on stays with the engine. */
void prism_local_records_leave (PrismLocalPort *port);
void prism_local_records_retry (PrismLocalEngine *engine);
void prism_local_records_end (PrismLocalEngine *engine);

/* How a refusal is counted and written down. */
typedef enum
{
  PRISM_LOCAL_DENIES, /* the proxy's own decision */
  PRISM_LOCAL_FAILS,  /* it was allowed, and the upstream did not do its part */
  PRISM_LOCAL_UNHEARD, /* nothing can be written down: one record tells how many there were */
} PrismLocalVerdict;

/* Answers the request instead of an upstream, writes it down, and ends the
 * connection after that. @code as in ERR_PRISM_EGRESS_code. */
void prism_local_refuse (PrismLocalConnection *connection,
                         PrismLocalVerdict verdict,
                         guint status,
                         const char *code,
                         const char *reason_id,
                         const char *format,
                         ...) G_GNUC_PRINTF (6, 7);

G_END_DECLS
