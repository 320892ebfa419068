/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-cli.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const PrismCliStart *start;

void
prism_cli_note_start (const PrismCliStart *how)
{
  start = how;
}

gboolean
prism_cli_was_closed (int fd)
{
  return (start->closed & 1u << fd) != 0;
}

int *
prism_cli_received (void)
{
  return start->received;
}

gboolean
prism_cli_use_thread (void *(*func) (void *))
{
  return start->use_thread (func);
}

gboolean
prism_cli_colours (int fd)
{
  const char *no_color = g_getenv ("NO_COLOR");
  const char *term = g_getenv ("TERM");

  return isatty (fd) && (no_color == NULL || no_color[0] == '\0') && term != NULL && !g_str_equal (term, "dumb");
}

/* The escape sequence, or nothing where colours are not wanted. */
const char *
prism_cli_style (int fd, const char *code)
{
  return prism_cli_colours (fd) ? code : "";
}

/* Text of unknown origin, such that it can neither move a cursor nor hide what
 * it says: control characters, invalid bytes and bidirectional overrides are
 * written out. */
char *
prism_cli_visible (const char *text)
{
  g_autoptr (GString) visible = g_string_new (NULL);

  while (*text != '\0')
    {
      gunichar c = g_utf8_get_char_validated (text, -1);

      if (c == (gunichar)-1 || c == (gunichar)-2)
        {
          g_string_append_printf (visible, "\\x%02x", (guchar)*text++);
          continue;
        }
      if (c == '\n'
          || (g_unichar_isprint (c) && !(c >= 0x200e && c <= 0x200f) && !(c >= 0x202a && c <= 0x202e)
              && !(c >= 0x2066 && c <= 0x2069)))
        g_string_append_unichar (visible, c);
      else if (c == '\t')
        g_string_append (visible, "\\t");
      else if (c == '\r')
        g_string_append (visible, "\\r");
      else
        g_string_append_printf (visible, c < 0x100 ? "\\x%02x" : "\\u%04x", c);
      text = g_utf8_next_char (text);
    }

  return g_string_free (g_steal_pointer (&visible), FALSE);
}

static void
print_message (const char *style, const char *text)
{
  g_autofree char *visible = prism_cli_visible (text);
  g_autofree char *line =
      g_strdup_printf ("%sprism:%s %s\n", prism_cli_style (2, style), prism_cli_style (2, "\033[0m"), visible);
  gsize length = strlen (line);
  gsize done = 0;

  /* One write where possible, so that lines of several programs do not mix. */
  while (done < length)
    {
      gssize n = write (STDERR_FILENO, line + done, length - done);

      if (n < 0 && errno != EINTR)
        return;
      done += MAX (n, 0);
    }
}

void
prism_cli_message (const char *format, ...)
{
  g_autofree char *text = NULL;
  va_list arguments;

  va_start (arguments, format);
  text = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  print_message ("\033[1m", text);
}

void
prism_cli_hint (const char *format, ...)
{
  g_autofree char *text = NULL;
  va_list arguments;

  va_start (arguments, format);
  text = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  print_message ("\033[36m", text);
}

/* The error, and what to do about it where that is known and not said yet. */
void
prism_cli_error (const GError *error)
{
  g_autoptr (PrismExplanation) explanation = prism_error_explain (error);
  const char *hint = explanation != NULL ? prism_explanation_get_hint (explanation) : NULL;

  print_message ("\033[1;31m", error->message);
  if (hint != NULL && strstr (error->message, hint) == NULL)
    prism_cli_hint (_ ("hint: %s"), hint);
}

gboolean
prism_cli_bad_value (GError **error, const char *format, ...)
{
  va_list arguments;

  va_start (arguments, format);
  if (error != NULL)
    *error = g_error_new_valist (G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, format, arguments);
  va_end (arguments);
  return FALSE;
}

/* Where the reason is lost a pipe still tells that nobody reads it. */
static gboolean
is_unread (void)
{
  struct pollfd output = { .fd = STDOUT_FILENO, .events = POLLOUT };

  return poll (&output, 1, 0) == 1 && (output.revents & (POLLERR | POLLHUP)) != 0;
}

int
prism_cli_unwritten (int number)
{
  /* Who reads us has gone: as the kernel's own SIGPIPE would have it. */
  if (number == EPIPE || (number == 0 && is_unread ()))
    return PRISM_EXIT_SIGNAL + SIGPIPE;

  if (number == 0)
    prism_cli_message (_ ("the standard output could not be written"));
  else
    prism_cli_message (_ ("writing the standard output: %s"), g_strerror (number));
  return PRISM_EXIT_FAILED;
}

/* @strict: options end at the first argument that is none, so that those of a
 * command are its own. */
gboolean
prism_cli_parse (
    const PrismCliCommand *command, GOptionEntry *entries, gboolean strict, int *argc, char ***argv, GError **error)
{
  g_autoptr (GOptionContext) context =
      g_option_context_new (*command->arguments != '\0' ? _ (command->arguments) : NULL);
  g_autofree char *program = g_strdup_printf ("prism %s", command->name);

  g_set_prgname (program);
  g_option_context_set_strict_posix (context, strict);
  g_option_context_set_summary (context, _ (command->summary));
  g_option_context_set_description (context, _ ("See prism(1) for all of it."));
  g_option_context_add_main_entries (context, entries, GETTEXT_PACKAGE);
  if (g_option_context_parse (context, argc, argv, error))
    return TRUE;

  g_prefix_error (error, "%s: ", command->name);
  if (error != NULL && *error != NULL)
    {
      g_autofree char *message = g_strdup_printf (_ ("%s; see “prism %s --help”"), (*error)->message, command->name);

      g_free ((*error)->message);
      (*error)->message = g_steal_pointer (&message);
    }
  return FALSE;
}

/* 500ms, 30s, 5m, 1h; a number alone could be any of them and is refused. */
gboolean
prism_cli_parse_duration (const char *text, gint64 *milliseconds, GError **error)
{
  static const struct
  {
    const char *unit;
    gint64 factor;
  } units[] = { { "ms", 1 }, { "s", 1000 }, { "m", 60 * 1000 }, { "h", 60 * 60 * 1000 } };
  gsize digits = strspn (text, "0123456789");
  g_autofree char *number = g_strndup (text, digits);
  guint64 value;

  for (guint i = 0; digits > 0 && i < G_N_ELEMENTS (units); i++)
    if (g_str_equal (text + digits, units[i].unit)
        && g_ascii_string_to_unsigned (number, 10, 1, G_MAXINT64 / units[i].factor, &value, NULL))
      {
        *milliseconds = value * units[i].factor;
        return TRUE;
      }

  g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
               _ ("“%s” is not a duration: a positive whole number and ms, s, m or h, such as 500ms or 30s"), text);
  return FALSE;
}
