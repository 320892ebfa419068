/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The head of an HTTP/1.1 message, strictly: what two programs could read in two
 * ways is refused, because one of the two is the origin behind us. Nothing is
 * trimmed, folded or repaired. Pure: bytes in, offsets and flags out. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

#define PRISM_HTTP_HEAD_MAX   65536
#define PRISM_HTTP_FIELDS_MAX 256

typedef struct
{
  const char *text; /* not terminated; lies in the head's bytes */
  gsize length;
} PrismHttpSlice;

/* The fields that mean something to a proxy. */
typedef enum
{
  PRISM_HTTP_OTHER,
  PRISM_HTTP_HOST,
  PRISM_HTTP_CONTENT_LENGTH,
  PRISM_HTTP_TRANSFER_ENCODING,
  PRISM_HTTP_CONNECTION,
  PRISM_HTTP_EXPECT,
  PRISM_HTTP_LOCATION,
  PRISM_HTTP_SECRET,     /* authorization, cookie: what must not follow to another origin */
  PRISM_HTTP_HOP_BY_HOP, /* keep-alive, te, trailer, upgrade, proxy-* and the like */
} PrismHttpMeaning;

typedef struct
{
  PrismHttpSlice name, value;
  PrismHttpMeaning meaning;
} PrismHttpField;

typedef struct
{
  PrismHttpSlice method, target; /* of a request */
  guint status;                  /* of a response */
  PrismHttpSlice reason;         /* of a response */
  guint minor;                   /* HTTP/1.minor: 0 or 1 */

  gboolean chunked;
  gboolean has_length;
  guint64 content_length;
  gboolean close, keep_alive; /* of Connection */
  gboolean names_fields;      /* Connection names other fields too */
  gboolean expects_continue;
  PrismHttpSlice host, location; /* text NULL: there is none */

  guint n_fields;
  PrismHttpField fields[PRISM_HTTP_FIELDS_MAX];
} PrismHttpHead;

/* The length of the head with its empty line; 0 while there is more to come, and
 * then what was looked at is in *@scanned. *@wrong says what cannot become one. */
gsize prism_http_head_find_end (const char *bytes, gsize length, gsize *scanned, const char **wrong);

/* 0, or the status to refuse it with, and why in *@wrong. @length as above. */
guint prism_http_head_parse_request (const char *bytes, gsize length, PrismHttpHead *head, const char **wrong);
guint prism_http_head_parse_response (const char *bytes, gsize length, PrismHttpHead *head, const char **wrong);

/* Whether the field ends here: by its own meaning, or because Connection names it. */
gboolean prism_http_head_ends_field (const PrismHttpHead *head, const PrismHttpField *field);

gboolean prism_http_slice_is (const PrismHttpSlice *slice, const char *text);      /* exactly */
gboolean prism_http_slice_is_word (const PrismHttpSlice *slice, const char *text); /* in any case */

gboolean prism_http_is_token (char c);
gboolean prism_http_is_text (char c);

G_END_DECLS
