/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Bodies and addresses of the control plane and of the file service, both ways. No I/O.
 *
 * TRUST. What identifies and opens a sandbox (its id, its token, its domain) goes into
 * headers and host names of later requests: each has a grammar and a bound. */
#pragma once

#include <libprism/prism.h>

#include "prism-e2b-network.h"

G_BEGIN_DECLS

#define PRISM_E2B_ENVD_PORT     49983
#define PRISM_E2B_LABEL_SANDBOX "prism.sandbox"
#define PRISM_E2B_LABEL_ID      "prism.sandbox.id" /* of who asked: finds one whose answer was lost */
#define PRISM_E2B_LABEL_HOST "prism.host" /* prism-e2b-reap.h */
#define PRISM_E2B_LABEL_LIFETIME "prism.lifetime" /* host, detached */
#define PRISM_E2B_LABEL_WORKSPACE "prism.workspace" /* its path inside */
#define PRISM_E2B_MOST_LISTED   10000

typedef struct
{
  const char *template_name;
  gint64 timeout_s;
  gboolean pause_at_end; /* what happens when its time is over: pause, or kill */
  gboolean keep_memory;  /* when that pauses it */
  const char *own_id;
  const char *const *labels; /* KEY=VALUE */
  const char *const *env;    /* NAME=VALUE */
  const PrismE2bNetwork *network;
  const char *host;      /* NULL: not said */
  const char *workspace; /* NULL: not said */
  const char *lifetime;  /* host or detached; NULL: not said */
} PrismE2bCreate;

/* Of create's and connect's answers. */
typedef struct
{
  char *id;
  char *template_id;
  char *envd_version;
  char *access_token; /* NULL: nothing is checked there */
  char *domain;       /* NULL: the one that was asked */
} PrismE2bIdentity;

typedef enum
{
  PRISM_E2B_STATE_RUNNING,
  PRISM_E2B_STATE_PAUSED,
  PRISM_E2B_STATE_UNKNOWN, /* some other word: no state that is known */
} PrismE2bState;

typedef struct
{
  char *id;
  char *template_id;
  PrismE2bState state;
  gint64 end_us; /* of the Unix epoch; 0 = not said */
  char **labels; /* KEY=VALUE, sorted */
  gboolean auto_resume;
} PrismE2bDetail;

void prism_e2b_identity_clear (PrismE2bIdentity *self);
void prism_e2b_identity_copy (const PrismE2bIdentity *self, PrismE2bIdentity *copy);
void prism_e2b_detail_clear (PrismE2bDetail *self);

gboolean prism_e2b_id_is_valid (const char *id);
gboolean prism_e2b_template_is_valid (const char *name);

GBytes *prism_e2b_create_new (const PrismE2bCreate *create, GError **error);
/* {"timeout":N}, of connect and of set timeout. */
GBytes *prism_e2b_timeout_new (gint64 seconds);
GBytes *prism_e2b_pause_new (gboolean keep_memory);

/* LOST: no answer of the service's. */
/* The same of what was parsed: a detail has these members too. */
gboolean prism_e2b_identity_read (JsonNode *node, PrismE2bIdentity *self, GError **error);
gboolean prism_e2b_identity_parse (GBytes *body, PrismE2bIdentity *self, GError **error);
gboolean prism_e2b_detail_parse (JsonNode *node, PrismE2bDetail *self, GError **error);
/* PrismE2bDetail *, appended to @details. */
gboolean prism_e2b_details_parse (GBytes *body, GPtrArray *details, GError **error);
GPtrArray *prism_e2b_details_new (void);

/* "/v2/sandboxes?…": both states, those with this label. @token: (nullable): of the next page. */
char *prism_e2b_list_path (const char *key, const char *value, const char *token);
/* A cursor that may stand in a query. */
gboolean prism_e2b_page_token_is_valid (const char *token);

/* "/files?path=…" */
char *prism_e2b_files_path (const char *path, const char *user);
/* {"path":…}, and whatever else the method has; NULL with INVALID. */
GBytes *prism_e2b_path_new (const char *path, gint64 depth, GError **error);
GBytes *prism_e2b_move_new (const char *source, const char *destination, GError **error);
/* EntryInfo. */
PrismFileEntry *prism_e2b_entry_parse (JsonNode *node, GError **error);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (PrismE2bIdentity, prism_e2b_identity_clear)
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (PrismE2bDetail, prism_e2b_detail_clear)

G_END_DECLS
