/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The process service's messages: what is asked, and what its streams tell. No I/O.
 *
 * TRUST. What arrives is the server's, and what of it the sandbox's own processes wrote is
 * theirs: nothing is believed to be there, and an end that does not say how is no end. */
#pragma once

#include <libprism/prism.h>

#include "prism-e2b-json.h"

G_BEGIN_DECLS

typedef enum
{
  PRISM_E2B_EVENT_NOTHING, /* a kind that is not known, or an empty one: to be skipped */
  PRISM_E2B_EVENT_KEEPALIVE,
  PRISM_E2B_EVENT_START,
  PRISM_E2B_EVENT_DATA,
  PRISM_E2B_EVENT_END,
} PrismE2bEventKind;

typedef struct
{
  PrismE2bEventKind kind;
  gint64 pid;           /* START */
  PrismStream stream;   /* DATA; a terminal's is its standard output */
  gboolean pty;         /* DATA */
  GBytes *bytes;        /* DATA */
  PrismOutcome outcome; /* END: EXITED, SIGNALLED or LOST */
  int exit_code;        /* -1 unless EXITED */
  int term_signal;      /* 0 unless SIGNALLED */
  char *reason;         /* END, LOST: what it said instead */
} PrismE2bEvent;

void prism_e2b_event_clear (PrismE2bEvent *event);
/* FALSE (LOST): no message of the protocol's. */
gboolean prism_e2b_event_parse (const guint8 *data, gsize size, PrismE2bEvent *event, GError **error);

/* A signal by the name that the server has for it ("killed"); 0 = none of its names. */
int prism_e2b_signal_parse (const char *name);

/* Bodies of requests. The first is the message of a stream and wants its envelope. */
GBytes *prism_e2b_start_new (const char *const *argv,
                             const char *const *env,
                             const char *cwd,
                             gboolean with_stdin,
                             guint columns,
                             guint rows,
                             GError **error);
GBytes *prism_e2b_connect_new (gint64 pid);
GBytes *prism_e2b_input_new (gint64 pid, gboolean pty, const guint8 *data, gsize size);
GBytes *prism_e2b_close_stdin_new (gint64 pid);
/* NULL where the service has no such signal: it knows SIGTERM and SIGKILL. */
GBytes *prism_e2b_signal_new (gint64 pid, int signal_number);
GBytes *prism_e2b_resize_new (gint64 pid, guint columns, guint rows);

/* Of List's answer: whether @pid is there, and then the fingerprint of what it runs. */
gboolean prism_e2b_list_find (JsonNode *answer, gint64 pid, char **fingerprint);
/* Of the same: a variable of its environment, of letters, digits and hyphens; else NULL. */
char *prism_e2b_list_dup_variable (JsonNode *answer, gint64 pid, const char *name);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (PrismE2bEvent, prism_e2b_event_clear)

G_END_DECLS
