/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* JSON that a server sent: bounded in depth, and read without assuming that any member is
 * there or is what it should be. */
#pragma once

#include <json-glib/json-glib.h>

G_BEGIN_DECLS

/* NULL and an error of G_IO_ERROR_INVALID_DATA where it is no JSON, or nested too deeply. */
JsonNode *prism_http_json_parse (GBytes *bytes, GError **error);

/* The member of a member …: names up to a NULL. NULL where one is not there. */
JsonNode *prism_http_json_get (JsonNode *node, ...) G_GNUC_NULL_TERMINATED;
/* Of any of these; @node may be NULL. */
const char *prism_http_json_text (JsonNode *node);
gint64 prism_http_json_number (JsonNode *node, gint64 otherwise);
gboolean prism_http_json_flag (JsonNode *node);
JsonArray *prism_http_json_array (JsonNode *node);
JsonObject *prism_http_json_object (JsonNode *node);

G_END_DECLS
