/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a request asks for, taken apart and not yet believed. Pure. */
#pragma once

#include "prism-http-head.h"

G_BEGIN_DECLS

typedef enum
{
  PRISM_HTTP_ABSOLUTE,  /* GET http://HOST/PATH */
  PRISM_HTTP_ORIGIN,    /* GET /PATH, and the place is in Host */
  PRISM_HTTP_AUTHORITY, /* CONNECT HOST:PORT */
} PrismHttpForm;

typedef struct
{
  PrismHttpForm form;
  gboolean https; /* of an absolute target */
  PrismHttpSlice authority;
  PrismHttpSlice path; /* with the query; empty, or begins with `/` or `?` */
} PrismHttpTarget;

/* NULL, or why it is refused. */
const char *prism_http_target_parse (const PrismHttpHead *head, PrismHttpTarget *target);

/* An absolute http: or https: URL. */
const char *prism_http_target_parse_url (const PrismHttpSlice *url, PrismHttpTarget *target);

G_END_DECLS
