/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* proto3's JSON, as a reader must take it: a member has two spellings, a 64-bit number may
 * be text, a null is as good as nothing, and bytes are base64 of either alphabet. */
#pragma once

#include <json-glib/json-glib.h>

#include "prism-http-json.h"

G_BEGIN_DECLS

/* Of @name in lowerCamelCase, or as snake_case; NULL where it is not there or null. */
JsonNode *prism_e2b_json_get (JsonNode *node, const char *name);
/* FALSE where it is there and is no whole number that fits. */
gboolean prism_e2b_json_int64 (JsonNode *node, gint64 otherwise, gint64 *number);
/* NULL where it is no base64. */
GBytes *prism_e2b_base64_decode (const char *text, gsize size);

/* Takes @node. */
GBytes *prism_e2b_json_to_bytes (JsonNode *node);

/* A member, its value being text that JSON can carry; FALSE with INVALID naming @what where
 * it is no UTF-8. */
gboolean
prism_e2b_json_set_text (JsonObject *object, const char *name, const char *text, const char *what, GError **error);
/* An object of what NAME=VALUE texts say. */
JsonObject *prism_e2b_json_new_map (const char *const *pairs, const char *what, GError **error);

G_END_DECLS
