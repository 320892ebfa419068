/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-environment-private.h"

#include <string.h>

#include "prism-sandbox-error.h"

/* One hostile list must not make a message of megabytes. */
#define MAX_OFFENDERS 2048

void
prism_offend (GString *offenders, const char *format, ...)
{
  va_list args;

  if (offenders->len > MAX_OFFENDERS)
    {
      if (!g_str_has_suffix (offenders->str, "; …"))
        g_string_append (offenders, "; …");
      return;
    }
  if (offenders->len > 0)
    g_string_append (offenders, "; ");
  va_start (args, format);
  g_string_append_vprintf (offenders, format, args);
  va_end (args);
}

gboolean
prism_offend_report (const GString *offenders, GError **error)
{
  if (offenders->len == 0)
    return TRUE;
  g_set_error_literal (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_INVALID, offenders->str);
  return FALSE;
}

const char *
prism_printable (const char *text)
{
  static _Thread_local char buffers[4][100];
  static _Thread_local unsigned next;
  char *buffer = buffers[next++ % 4];
  gsize n = 0;

  while (text[n] != '\0' && n < 90)
    {
      guchar c = (guchar)text[n];
      buffer[n++] = c >= 32 && c < 127 ? (char)c : '?';
    }
  strcpy (buffer + n, text[n] != '\0' ? "..." : "");
  return buffer;
}

gboolean
prism_environment_name_is_valid (const char *name, gsize length)
{
  if (length == 0 || g_ascii_isdigit (name[0]))
    return FALSE;
  for (gsize i = 0; i < length; i++)
    if (!g_ascii_isalnum (name[i]) && name[i] != '_')
      return FALSE;
  return TRUE;
}

gboolean
prism_environment_name_is_dangerous (const char *name, gsize length)
{
  static const char *const exact[] = { "GCONV_PATH", "BASH_ENV", "ENV" };

  if (length >= 3 && memcmp (name, "LD_", 3) == 0)
    return TRUE;
  for (gsize i = 0; i < G_N_ELEMENTS (exact); i++)
    if (strlen (exact[i]) == length && memcmp (exact[i], name, length) == 0)
      return TRUE;
  return FALSE;
}

gssize
prism_environment_name_length (const char *entry)
{
  const char *equals = strchr (entry, '=');

  return equals != NULL ? equals - entry : -1;
}

char **
prism_environment_set (char **env, const char *name, const char *value)
{
  gsize length = strlen (name), n = 0;
  char *entry = g_strconcat (name, "=", value, NULL);

  for (; env != NULL && env[n] != NULL; n++)
    if (strncmp (env[n], name, length) == 0 && env[n][length] == '=')
      {
        g_free (env[n]);
        env[n] = entry;
        return env;
      }
  env = g_renew (char *, env, n + 2);
  env[n] = entry;
  env[n + 1] = NULL;
  return env;
}

void
prism_environment_check_names (const char *const *env, const char *what, GString *offenders)
{
  for (gsize i = 0; env != NULL && env[i] != NULL; i++)
    {
      gssize length = prism_environment_name_length (env[i]);

      /* Never the entry itself: it may be a secret's value. */
      if (length < 0)
        prism_offend (offenders, "%s: entry %" G_GSIZE_FORMAT " is not NAME=VALUE", what, i + 1);
      else if (!prism_environment_name_is_valid (env[i], (gsize)length))
        {
          g_autofree char *name = g_strndup (env[i], (gsize)length);
          prism_offend (offenders, "%s: “%s” is not a name (letters, digits and _, no digit first)", what,
                        prism_printable (name));
        }
    }
}

void
prism_environment_check_dangerous (const char *const *env,
                                   const char *const *allowed,
                                   const char *what,
                                   GString *offenders)
{
  for (gsize i = 0; env != NULL && env[i] != NULL; i++)
    {
      gssize length = prism_environment_name_length (env[i]);
      g_autofree char *name = NULL;

      if (length < 0 || !prism_environment_name_is_dangerous (env[i], (gsize)length))
        continue;
      name = g_strndup (env[i], (gsize)length);
      if (allowed == NULL || !g_strv_contains (allowed, name))
        prism_offend (
            offenders,
            "%s: %s makes programs load or run other code; name it in the specification's allow-env if that is "
            "meant",
            what, prism_printable (name));
    }
}

void
prism_environment_count (const char *const *env, gint64 *names, gint64 *bytes)
{
  for (gsize i = 0; env != NULL && env[i] != NULL; i++)
    {
      *names += 1;
      *bytes += (gint64)strlen (env[i]) - 1; /* without the "=" */
    }
}
