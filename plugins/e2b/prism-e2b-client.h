/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The way to the service: one thread that does all of a backend's input and output (but for large
 * bodies, prism-e2b-transport.h), and requests that are sent in it. A request has a deadline for
 * all of it, and a bound on its answer; a stream's answer is handed on as it comes.
 *
 * Tried again is only what certainly did nothing (429 with Retry-After) or does no harm
 * (idempotent), at most three times and within the deadline.
 *
 * TRUST. Certificates are always checked, and keys go over plain HTTP to this machine only.
 * The server's bytes are hostile until who asked has judged them. */
#pragma once

#include <libsoup/soup.h>

#include "prism-e2b-error.h"
#include "prism-e2b-rest.h"

G_BEGIN_DECLS

typedef struct _PrismE2bClient PrismE2bClient;
typedef struct _PrismE2bCall PrismE2bCall;

/* The backend's properties, as they were set. */
typedef struct
{
  char *api_key; /* NULL: E2B_API_KEY */
  char *domain;  /* NULL: E2B_DOMAIN, or the service's own */
  char *api_url;
  char *sandbox_url;
  char *template_name;
  char *on_timeout; /* kill or pause */
  char *pause_kind; /* memory or filesystem */
  char *user;
} PrismE2bOptions;

typedef struct
{
  PrismE2bPlane plane;
  const PrismE2bIdentity *identity; /* of the sandbox; data plane only */
  const char *method, *path;
  const char *what;  /* static: what an error says could not be done */
  const char *type;  /* of the body; NULL = application/json */
  const char *user;  /* data plane: who asks, NULL = the template's own user */
  const char *range; /* NULL = all of it */
  GBytes *body;
  gboolean rpc;    /* Connect's headers */
  gboolean stream; /* the answer is a stream of envelopes, which @body is put into one of */
  gint64 service_ms; /* of a stream: when the service ends what it began; 0 = never */
  gboolean idempotent;
  gsize most_bytes; /* of the answer; 0 = 8 MiB */
  gint64 deadline;  /* monotonic; 0 = a minute. Of a stream: until it begins */
} PrismE2bRequest;

typedef struct
{
  guint status;
  GBytes *body;         /* NULL of a stream that began */
  GInputStream *stream; /* of a stream that began */
  char *next_token;
  gint64 date_us; /* of the server's clock; 0 = not said */
} PrismE2bReply;

/* In the client's thread, once; @error or @reply, which is a success. */
typedef void (*PrismE2bAnswered) (PrismE2bReply *reply, const GError *error, gpointer data);

PrismE2bClient *prism_e2b_client_new (const PrismE2bOptions *options, GError **error);
PrismE2bClient *prism_e2b_client_ref (PrismE2bClient *self);
void prism_e2b_client_unref (PrismE2bClient *self);
GMainContext *prism_e2b_client_get_context (PrismE2bClient *self);
PrismRedactor *prism_e2b_client_get_redactor (PrismE2bClient *self);
/* @func once, in the thread. */
void prism_e2b_client_invoke (PrismE2bClient *self, GSourceFunc func, gpointer data, GDestroyNotify free_data);

/* In the thread. Valid until it is answered or cancelled. */
PrismE2bCall *
prism_e2b_client_send (PrismE2bClient *self, const PrismE2bRequest *request, PrismE2bAnswered answered, gpointer data);
/* It is never answered then. */
void prism_e2b_call_cancel (PrismE2bCall *call);

/* In any other thread: sends it and waits. */
gboolean prism_e2b_client_call (PrismE2bClient *self,
                                const PrismE2bRequest *request,
                                PrismE2bReply *reply,
                                GCancellable *cancellable,
                                GError **error);

void prism_e2b_reply_clear (PrismE2bReply *self);

/* A timer or a watch, if there is one: it comes no more. */
void prism_e2b_stop_source (GSource **source);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (PrismE2bClient, prism_e2b_client_unref)
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (PrismE2bReply, prism_e2b_reply_clear)

G_END_DECLS
