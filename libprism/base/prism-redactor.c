/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Takes secrets out of text that leaves the library: errors, logs, results.
 *
 * Guarded against: a secret that a tool repeats as it is, and in the forms that
 * messages put it in (base64 at any offset of a longer text, URL- and
 * JSON-escaped). Not guarded against: code inside a sandbox that wants to get
 * its own secret out; it can encode it in ways without number. */
#include "prism-redactor.h"

#include <string.h>

#include "prism-fingerprint-private.h"

#define REPLACEMENT "[REDACTED]"
/* What is left of a secret's base64 at an offset where its ends are cut off:
 * shorter pieces would blacken text by chance. */
#define MIN_INNER 8

typedef struct
{
  char *text;
  gsize length;
} Pattern;

struct _PrismRedactor
{
  GObject parent_instance;
  GMutex lock;
  GArray *patterns;  /* Pattern; longest first */
  guint8 first[256]; /* whether any pattern starts with that byte */
};

/**
 * PrismRedactor:
 *
 * Replaces secrets in text by `[REDACTED]`: the longest that fits, in its plain
 * and in its usual encoded forms. May be used from any thread.
 *
 * Since: 1.0
 */
G_DEFINE_FINAL_TYPE (PrismRedactor, prism_redactor, G_TYPE_OBJECT)

static void
pattern_clear (gpointer data)
{
  Pattern *pattern = data;

  memset (pattern->text, 0, pattern->length);
  g_free (pattern->text);
}

static void
prism_redactor_finalize (GObject *object)
{
  PrismRedactor *self = PRISM_REDACTOR (object);

  g_array_unref (self->patterns);
  g_mutex_clear (&self->lock);
  G_OBJECT_CLASS (prism_redactor_parent_class)->finalize (object);
}

static void
prism_redactor_class_init (PrismRedactorClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = prism_redactor_finalize;
}

static void
prism_redactor_init (PrismRedactor *self)
{
  g_mutex_init (&self->lock);
  self->patterns = g_array_new (FALSE, FALSE, sizeof (Pattern));
  g_array_set_clear_func (self->patterns, pattern_clear);
}

/**
 * prism_redactor_new:
 *
 * Makes one that knows no secret.
 *
 * Returns: (transfer full): one that knows no secret
 *
 * Since: 1.0
 */
PrismRedactor *
prism_redactor_new (void)
{
  return g_object_new (PRISM_TYPE_REDACTOR, NULL);
}

/* Takes @text. */
static void
add_pattern (PrismRedactor *self, char *text)
{
  Pattern pattern = { text, strlen (text) };
  guint at = 0;

  for (; at < self->patterns->len; at++)
    {
      const Pattern *other = &g_array_index (self->patterns, Pattern, at);
      if (other->length == pattern.length && memcmp (other->text, text, pattern.length) == 0)
        {
          pattern_clear (&pattern);
          return;
        }
      if (other->length < pattern.length)
        break;
    }
  if (pattern.length == 0)
    {
      g_free (text);
      return;
    }
  g_array_insert_val (self->patterns, at, pattern);
  self->first[(guint8)text[0]] = TRUE;
}

static void
make_url_alphabet (char *base64)
{
  for (; *base64 != '\0'; base64++)
    if (*base64 == '+')
      *base64 = '-';
    else if (*base64 == '/')
      *base64 = '_';
}

/* The secret as part of a longer text that was encoded: at each of the three
 * offsets, without the characters that its neighbours share. */
static void
add_base64 (PrismRedactor *self, const char *secret, gsize length)
{
  for (gsize offset = 0; offset < 3; offset++)
    {
      g_autofree guchar *padded = g_malloc0 (length + 2);
      g_autofree char *whole = NULL;
      gsize begin = offset == 0 ? 0 : offset + 1; /* characters that bits of what is before are in */
      gsize end = (offset + length) * 8 / 6;      /* characters that hold nothing of what is behind */

      memcpy (padded + offset, secret, length);
      whole = g_base64_encode (padded, offset + length);
      if (end > begin && end - begin >= MIN_INNER)
        {
          char *inner = g_strndup (whole + begin, end - begin);
          char *url = g_strdup (inner);
          make_url_alphabet (url);
          add_pattern (self, inner);
          add_pattern (self, url);
        }
      if (offset == 0)
        add_pattern (self, g_steal_pointer (&whole)); /* padding and all, however short */
    }
}

static void
append_percent (GString *escaped, guchar c, gboolean upper)
{
  g_string_append_printf (escaped, upper ? "%%%02X" : "%%%02x", c);
}

/* Both cases of the digits; a blank as %20 and as +. */
static void
add_url (PrismRedactor *self, const char *secret)
{
  for (int form = 0; form < 4; form++)
    {
      GString *escaped = g_string_new (NULL);

      for (const char *at = secret; *at != '\0'; at++)
        if (g_ascii_isalnum (*at) || strchr ("-._~", *at) != NULL)
          g_string_append_c (escaped, *at);
        else if (*at == ' ' && (form & 1) != 0)
          g_string_append_c (escaped, '+');
        else
          append_percent (escaped, (guchar)*at, (form & 2) != 0);
      add_pattern (self, g_string_free (escaped, FALSE));
    }
}

/* Raw UTF-8, "/" escaped as well, and everything beyond ASCII as \uXXXX. */
static void
add_json (PrismRedactor *self, const char *secret)
{
  g_autoptr (GString) json = g_string_new (NULL);
  GString *slashes = g_string_new (NULL), *ascii = g_string_new (NULL);

  prism_canonical_append_string (json, secret, -1);
  g_string_truncate (json, json->len - 1);
  g_string_erase (json, 0, 1);
  for (gsize i = 0; i < json->len; i++)
    {
      if (json->str[i] == '/')
        g_string_append_c (slashes, '\\');
      g_string_append_c (slashes, json->str[i]);
    }
  if (g_utf8_validate (json->str, (gssize)json->len, NULL))
    for (const char *at = json->str; *at != '\0'; at = g_utf8_next_char (at))
      {
        gunichar c = g_utf8_get_char (at);
        if (c < 128)
          g_string_append_c (ascii, (char)c);
        else if (c < 0x10000)
          g_string_append_printf (ascii, "\\u%04x", c);
        else
          g_string_append_printf (ascii, "\\u%04x\\u%04x", 0xd800 + ((c - 0x10000) >> 10),
                                  0xdc00 + ((c - 0x10000) & 0x3ff));
      }
  add_pattern (self, g_strdup (json->str));
  add_pattern (self, g_string_free (slashes, FALSE));
  add_pattern (self, g_string_free (ascii, FALSE));
}

/**
 * prism_redactor_add:
 * @self: a redactor
 * @secret: what is to appear nowhere; an empty one is ignored
 *
 * Adds a secret.
 *
 * Since: 1.0
 */
void
prism_redactor_add (PrismRedactor *self, const char *secret)
{
  g_return_if_fail (PRISM_IS_REDACTOR (self));
  g_return_if_fail (secret != NULL);

  if (*secret == '\0')
    return;
  g_mutex_lock (&self->lock);
  add_pattern (self, g_strdup (secret));
  add_base64 (self, secret, strlen (secret));
  add_url (self, secret);
  add_json (self, secret);
  g_mutex_unlock (&self->lock);
}

/**
 * prism_redactor_add_environment:
 * @self: a redactor
 * @secrets: (nullable) (array zero-terminated=1): `NAME=VALUE`s; the values are secret
 *
 * Adds the values of variables.
 *
 * Since: 1.0
 */
void
prism_redactor_add_environment (PrismRedactor *self, const char *const *secrets)
{
  g_return_if_fail (PRISM_IS_REDACTOR (self));

  for (gsize i = 0; secrets != NULL && secrets[i] != NULL; i++)
    {
      const char *equals = strchr (secrets[i], '=');
      if (equals != NULL)
        prism_redactor_add (self, equals + 1);
    }
}

static gsize
match_at (PrismRedactor *self, const char *text, gsize left)
{
  if (!self->first[(guint8)*text])
    return 0;
  for (guint i = 0; i < self->patterns->len; i++)
    {
      const Pattern *pattern = &g_array_index (self->patterns, Pattern, i);
      if (pattern->length <= left && memcmp (pattern->text, text, pattern->length) == 0)
        return pattern->length;
    }
  return 0;
}

/**
 * prism_redactor_redact:
 * @self: a redactor
 * @text: any text
 *
 * Gets @text with `[REDACTED]` where a secret was.
 *
 * Returns: (transfer full): @text with `[REDACTED]` where a secret was
 *
 * Since: 1.0
 */
char *
prism_redactor_redact (PrismRedactor *self, const char *text)
{
  GString *clean;
  gsize length, i = 0;

  g_return_val_if_fail (PRISM_IS_REDACTOR (self), NULL);
  g_return_val_if_fail (text != NULL, NULL);

  length = strlen (text);
  clean = g_string_sized_new (length);
  g_mutex_lock (&self->lock);
  while (i < length)
    {
      gsize matched = match_at (self, text + i, length - i);
      if (matched > 0)
        g_string_append (clean, REPLACEMENT);
      else
        g_string_append_c (clean, text[i]);
      i += MAX (matched, 1);
    }
  g_mutex_unlock (&self->lock);
  return g_string_free (clean, FALSE);
}

/**
 * prism_redactor_redact_error:
 * @self: a redactor
 * @error: any error
 *
 * Gets @error with a clean message.
 *
 * Returns: (transfer full): @error with a clean message
 *
 * Since: 1.0
 */
GError *
prism_redactor_redact_error (PrismRedactor *self, const GError *error)
{
  g_autofree char *message = NULL;

  g_return_val_if_fail (PRISM_IS_REDACTOR (self), NULL);
  g_return_val_if_fail (error != NULL, NULL);

  message = prism_redactor_redact (self, error->message);
  return g_error_new_literal (error->domain, error->code, message);
}
