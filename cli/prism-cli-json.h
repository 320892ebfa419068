/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

/* Writes JSON as it goes. Unlike a tree of nodes it holds text with NUL bytes,
 * and a command's 64 MiB of output only once. */
typedef struct
{
  GString *text;
  guint depth;
  gboolean first;   /* in the current object or array */
  gboolean compact; /* all on one line */
} PrismJson;

PrismJson *prism_json_new (void);
PrismJson *prism_json_new_compact (void);
void prism_json_free (PrismJson *self);
gboolean prism_json_print (PrismJson *self, int fd);

/* @key: NULL in an array and at the top. */
void prism_json_begin_object (PrismJson *self, const char *key);
void prism_json_end_object (PrismJson *self);
void prism_json_begin_array (PrismJson *self, const char *key);
void prism_json_end_array (PrismJson *self);
void prism_json_null (PrismJson *self, const char *key);
void prism_json_boolean (PrismJson *self, const char *key, gboolean value);
void prism_json_integer (PrismJson *self, const char *key, gint64 value);
void prism_json_unsigned (PrismJson *self, const char *key, guint64 value);
void prism_json_double (PrismJson *self, const char *key, double value);
/* NULL becomes null; what is not UTF-8 becomes U+FFFD, see prism_json_is_text(). */
void prism_json_string (PrismJson *self, const char *key, const char *value);
void prism_json_bytes (PrismJson *self, const char *key, const char *data, gsize length);
gboolean prism_json_is_text (const char *data, gsize length);
void prism_json_strv (PrismJson *self, const char *key, const char *const *values);
/* @value is JSON already. */
void prism_json_raw (PrismJson *self, const char *key, const char *value);
/* {domain, code, message, name, hint}, or null. */
void prism_json_error (PrismJson *self, const char *key, const GError *error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (PrismJson, prism_json_free)

G_END_DECLS
