/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* JSON that somebody else wrote, read as RFC 8259 says and no wider: one value,
 * valid UTF-8, no member twice, no NUL, no number that would not survive. Bounds:
 * 1 MiB, 16 levels, 65,536 values. What is wrong is said with where: the line and
 * column of a syntax error, the path of a member (`/rules/3/port`). */
#pragma once

#include <json-glib/json-glib.h>

G_BEGIN_DECLS

/* Which error a document's faults are, and what the document is called in it. */
typedef struct
{
  GQuark domain;
  int code;
  const char *what;
} PrismJsonFaults;

JsonNode *prism_json_parse (const char *text, gsize length, const PrismJsonFaults *faults, GError **error);
/* As that, with a bound of the caller's on its size. */
JsonNode *
prism_json_parse_up_to (const char *text, gsize length, gsize most, const PrismJsonFaults *faults, GError **error);

/* (nullable): what @node says, borrowed from it; NULL where it is no string, or not there. */
const char *prism_json_get_string (JsonNode *node);

typedef enum
{
  PRISM_JSON_STRING,  /* const char *, borrowed from the document */
  PRISM_JSON_INTEGER, /* gint64, from 0 to 2^53 - 1 */
  PRISM_JSON_BOOLEAN, /* gboolean */
} PrismJsonType;

/* One member of an object and where its value goes. Ends with a NULL name. */
typedef struct
{
  const char *name;
  PrismJsonType type;
  gboolean required;
  gsize offset; /* in the structure that is filled */
} PrismJsonMember;

/* Fills @into; leaves alone what is not there. Any other member is refused. */
gboolean prism_json_read_members (
    JsonNode *node, const PrismJsonMember *members, gpointer into, const PrismJsonFaults *faults, GError **error);

/* Sets an error about the member @path. */
void prism_json_set_fault (const PrismJsonFaults *faults, GError **error, const char *path, const char *wrong);

G_END_DECLS
