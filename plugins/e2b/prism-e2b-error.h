/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One cause, one error: whichever of the service's three interfaces tells it, as an HTTP
 * status, a status and a JSON body, or a Connect code in a stream's last message. No I/O.
 *
 * TRUST. A body is the server's: of its text a short, printable part is quoted, with what
 * is secret taken out. */
#pragma once

#include <libprism/prism.h>

#include "prism-e2b-json.h"

G_BEGIN_DECLS

typedef enum
{
  PRISM_E2B_CAUSE_INVALID, /* the request was not understood */
  PRISM_E2B_CAUSE_KEY,     /* not authenticated */
  PRISM_E2B_CAUSE_DENIED,  /* authenticated, and not allowed to */
  PRISM_E2B_CAUSE_NOT_FOUND,
  PRISM_E2B_CAUSE_STATE, /* not in the state it is in */
  PRISM_E2B_CAUSE_EXISTS,
  PRISM_E2B_CAUSE_RATE, /* too many requests, or sandboxes */
  PRISM_E2B_CAUSE_NO_SPACE,
  PRISM_E2B_CAUSE_BUSY, /* no room for it at the moment: nothing was done */
  PRISM_E2B_CAUSE_GONE, /* the sandbox does not answer: killed, paused or never there */
  PRISM_E2B_CAUSE_TIMEOUT,
  PRISM_E2B_CAUSE_UNSUPPORTED,
  PRISM_E2B_CAUSE_SERVER,   /* a fault of the service's; what was done is not known */
  PRISM_E2B_CAUSE_PROTOCOL, /* no answer that the protocol has */
} PrismE2bCause;

typedef enum
{
  PRISM_E2B_PLANE_CONTROL,
  PRISM_E2B_PLANE_DATA,
} PrismE2bPlane;

/* What is known of a refusal. */
typedef struct
{
  PrismE2bPlane plane;
  const char *what;       /* what was tried, for the message: "create the sandbox" */
  guint status;           /* HTTP's; 0 in a stream */
  GBytes *body;           /* nullable */
  const char *request_id; /* nullable: the server's own name of the request */
  gboolean idempotent;    /* to try again does no harm */
} PrismE2bFailure;

PrismE2bCause prism_e2b_cause_of_status (PrismE2bPlane plane, guint status);
PrismE2bCause prism_e2b_cause_of_code (const char *connect_code);
int prism_e2b_cause_get_code (PrismE2bCause cause);

/* Whether what was asked for certainly did not happen. */
gboolean prism_e2b_failure_is_certain (const PrismE2bFailure *failure);

/* A request that was answered with another status than a success. @redactor: (nullable) */
GError *prism_e2b_failure_to_error (const PrismE2bFailure *failure, PrismRedactor *redactor, PrismE2bCause *cause);

/* A stream's last message: TRUE where it says no error. */
gboolean prism_e2b_end_parse (
    const guint8 *data, gsize size, const char *what, PrismRedactor *redactor, PrismE2bCause *cause, GError **error);

/* A transport's error (G_IO_ERROR and its like), with what to do about it. */
GError *prism_e2b_transport_to_error (const GError *failure, const char *what, gboolean idempotent);

/* Seconds of a Retry-After header; -1 where it says none that is followed: a date, or more
 * than an hour. */
int prism_e2b_retry_after_parse (const char *header);

G_END_DECLS
