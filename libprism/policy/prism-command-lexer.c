/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Characters and words. What stands in quotes, behind a backslash or a dollar sign is read
 * here; what a command is, is read in prism-command-grammar.c. Not trusted: every byte. */
#include "prism-command-parser-private.h"

#include <string.h>

#define MAX_WORK      (4 * PRISM_SHELL_MAX_LINE)
#define MAX_NAME_KEPT 64

void
prism_shell_note_uncertain (PrismShellParser *self, const char *why)
{
  if (self->line->uncertain == NULL)
    self->line->uncertain = why;
}

/* Nothing is read any more. */
void
prism_shell_set_limit (PrismShellParser *self, const char *which)
{
  if (self->line->limit == NULL)
    self->line->limit = which;
  prism_shell_note_uncertain (self, "it was not read to its end");
  self->at = self->end;
}

gboolean
prism_shell_enter (PrismShellParser *self)
{
  if (self->line->limit != NULL)
    return FALSE;
  if (self->depth >= PRISM_SHELL_MAX_DEPTH)
    {
      prism_shell_set_limit (self, "things are nested deeper than 48");
      return FALSE;
    }
  self->depth++;
  return TRUE;
}

void
prism_shell_leave (PrismShellParser *self)
{
  self->depth--;
}

int
prism_shell_peek_past_backslash (PrismShellParser *self)
{
  while (self->at + 1 < self->end && self->text[self->at] == '\\' && self->text[self->at + 1] == '\n')
    self->at += 2;
  return self->at < self->end ? (guchar)self->text[self->at] : -1;
}

int
prism_shell_peek_second (PrismShellParser *self)
{
  gsize at = self->at;
  int c = prism_shell_peek (self);

  if (c >= 0)
    {
      self->at++;
      c = prism_shell_peek (self);
    }
  self->at = at;
  return c;
}

gboolean
prism_shell_ends_word (int c)
{
  switch (c)
    {
    case ' ':
    case '\t':
    case '\n':
    case ';':
    case '&':
    case '|':
    case '<':
    case '>':
    case '(':
    case ')':
      return TRUE;
    default:
      return c < 0;
    }
}

PrismShellWord
prism_shell_keep_word (PrismShellParser *self, const char *text, gsize length, guint flags)
{
  PrismShellWord word = { (guint)self->line->text->len, (guint)length, flags };

  g_string_set_size (self->line->text, word.text + length + 1);
  memcpy (self->line->text->str + word.text, text, length);
  self->line->text->str[word.text + length] = '\0';
  return word;
}

void
prism_shell_note_character (PrismShellParser *self, int c)
{
  if ((c < 0x20 && c != '\t') || c == 0x7f)
    self->line->features |= PRISM_SHELL_CONTROL;
  if (c == '\n' && self->heredocs->len > 0)
    prism_shell_note_uncertain (self, "a line ends inside of a word before its here-document begins");
}

/* --- quotes ---------------------------------------------------------------------------------- */

void
prism_shell_read_single_quotes (PrismShellParser *self, GString *out)
{
  gsize start = ++self->at;
  const char *end = memchr (self->text + start, '\'', self->end - start);

  if (end == NULL)
    {
      prism_shell_note_uncertain (self, "a quote has no end");
      self->at = self->end;
      return;
    }
  self->at = (gsize)(end - self->text) + 1;
  for (gsize i = start; i + 1 < self->at; i++)
    prism_shell_note_character (self, (guchar)self->text[i]);
  g_string_append_len (out, self->text + start, (gssize)(self->at - 1 - start));
}

/* Behind a backslash in double quotes, and in a here-document, where a quote is none. */
static void
read_escape_in_quotes (PrismShellParser *self, GString *out, gboolean heredoc)
{
  int c = self->at + 1 < self->end ? (guchar)self->text[self->at + 1] : -1;

  if (c == '\n')
    {
      self->at += 2;
      return;
    }
  if (c < 0 || strchr (heredoc ? "$`\\" : "$`\\\"", c) == NULL)
    {
      g_string_append_c (out, '\\');
      if (c == 'n')
        self->line->features |= PRISM_SHELL_CONTROL;
      self->at++;
      return;
    }
  g_string_append_c (out, (char)c);
  self->at += 2;
}

void
prism_shell_read_double_quotes (PrismShellParser *self, GString *out, guint *flags)
{
  if (!prism_shell_enter (self))
    return;
  self->at++;
  while (self->at < self->end && self->text[self->at] != '"')
    {
      int c = (guchar)self->text[self->at];

      if (c == '\\')
        read_escape_in_quotes (self, out, FALSE);
      else if (c == '$')
        prism_shell_read_dollar (self, out, flags, TRUE);
      else if (c == '`')
        prism_shell_read_backticks (self, out, flags, TRUE);
      else
        {
          prism_shell_note_character (self, c);
          g_string_append_c (out, (char)c);
          self->at++;
        }
    }
  if (self->at >= self->end)
    prism_shell_note_uncertain (self, "a quote has no end");
  else
    self->at++;
  prism_shell_leave (self);
}

static int
digit_value (int c, guint base)
{
  int value = c >= 0 && c < 0x80 ? g_ascii_xdigit_value ((char)c) : -1;

  return value < (int)base ? value : -1;
}

/* \xHH, \NNN: at most so many digits. */
static void
read_number_escape (PrismShellParser *self, GString *out, guint base, guint digits)
{
  guint value = 0;

  for (guint i = 0; i < digits && self->at < self->end; i++, self->at++)
    {
      int digit = digit_value ((guchar)self->text[self->at], base);

      if (digit < 0)
        break;
      value = value * base + (guint)digit;
    }
  if (value > 0 && value < 256)
    g_string_append_c (out, (char)value);
}

/* $'...': some shells have it, and what it means there is kept, for rules that deny. */
static void
read_c_quotes (PrismShellParser *self, GString *out)
{
  static const char letters[] = "abefnrtv", values[] = "\a\b\033\f\n\r\t\v";

  prism_shell_note_uncertain (self, "$'...' is a quote in some shells and none in others");
  for (self->at++; self->at < self->end && self->text[self->at] != '\'';)
    {
      int c = (guchar)self->text[self->at++];
      const char *letter;

      if (c != '\\' || self->at >= self->end)
        {
          g_string_append_c (out, (char)c);
          continue;
        }
      c = (guchar)self->text[self->at++];
      letter = c != 0 ? strchr (letters, c) : NULL;
      if (letter != NULL)
        g_string_append_c (out, values[letter - letters]);
      else if (c == 'x')
        read_number_escape (self, out, 16, 2);
      else if (c == 'u' || c == 'U')
        read_number_escape (self, out, 16, c == 'u' ? 4 : 8);
      else if (digit_value (c, 8) >= 0)
        {
          self->at--;
          read_number_escape (self, out, 8, 3);
        }
      else
        g_string_append_c (out, (char)c);
    }
  if (self->at < self->end)
    self->at++;
}

/* --- what is expanded --------------------------------------------------------------------------- */

static void
mark_expanded (PrismShellParser *self, guint *flags, gboolean splits)
{
  *flags |= PRISM_WORD_EXPANDS | (splits ? PRISM_WORD_SPLITS : 0);
  self->line->features |= PRISM_SHELL_EXPANSION;
}

/* From behind "$(" to behind its end. Here-documents inside end inside. */
static void
read_command_substitution (PrismShellParser *self)
{
  GArray *outer = self->heredocs;

  self->line->features |= PRISM_SHELL_SUBSTITUTION;
  if (outer->len > 0)
    prism_shell_note_uncertain (self, "a substitution stands before its line's here-document");
  self->heredocs = g_array_new (FALSE, FALSE, sizeof (PrismShellHeredoc));
  prism_shell_parse_list (self, PRISM_SHELL_CLOSE_PAREN);
  if (prism_shell_peek (self) == ')')
    self->at++;
  else
    prism_shell_note_uncertain (self, "a substitution has no end");
  if (self->heredocs->len > 0)
    prism_shell_note_uncertain (self, "a here-document has no text");
  g_array_unref (self->heredocs);
  self->heredocs = outer;
}

/* From behind "$((". What holds a name may hold anything: a shell computes what that says. */
static void
read_arithmetic (PrismShellParser *self)
{
  guint open = 0, flags = 0;
  g_autoptr (GString) ignored = g_string_new (NULL);

  while (self->at < self->end)
    {
      int c = (guchar)self->text[self->at];

      if (c == ')' && open == 0)
        break;
      if (c == '$')
        {
          prism_shell_read_dollar (self, ignored, &flags, TRUE);
          continue;
        }
      if (c == '`')
        {
          prism_shell_read_backticks (self, ignored, &flags, TRUE);
          continue;
        }
      open += c == '(';
      open -= c == ')';
      if (c >= 0x80 || g_ascii_isalpha ((char)c) || strchr ("_'\"\\[#{}", c) != NULL)
        prism_shell_note_uncertain (self, "what is computed holds more than numbers");
      self->at++;
    }
  if (flags != 0)
    prism_shell_note_uncertain (self, "what is computed holds more than numbers");
  if (self->at + 1 < self->end && self->text[self->at] == ')' && self->text[self->at + 1] == ')')
    {
      self->at += 2;
      return;
    }
  prism_shell_note_uncertain (self, "$(( has no end, or is a group in a substitution");
  if (self->at < self->end)
    self->at++;
}

/* Behind the name, up to the brace. */
static void
read_parameter_rest (PrismShellParser *self, GString *ignored, gboolean quoted)
{
  guint flags = 0;

  while (self->at < self->end && self->text[self->at] != '}')
    {
      int c = (guchar)self->text[self->at];

      if (c == '$')
        prism_shell_read_dollar (self, ignored, &flags, quoted);
      else if (c == '`')
        prism_shell_read_backticks (self, ignored, &flags, quoted);
      else if (c == '"')
        {
          if (quoted)
            prism_shell_note_uncertain (self, "a quote stands in an expansion in a quote");
          prism_shell_read_double_quotes (self, ignored, &flags);
        }
      else if (c == '\'')
        {
          if (quoted)
            prism_shell_note_uncertain (self, "a quote stands in an expansion in a quote");
          prism_shell_read_single_quotes (self, ignored);
        }
      else
        self->at += c == '\\' && self->at + 1 < self->end ? 2 : 1;
    }
}

gboolean
prism_shell_is_name_character (int c)
{
  return c >= 0 && c < 0x80 && (g_ascii_isalnum ((char)c) || c == '_');
}

static gsize
name_length (PrismShellParser *self)
{
  gsize length = 0;

  while (self->at + length < self->end && prism_shell_is_name_character ((guchar)self->text[self->at + length]))
    length++;
  if (length == 0 && self->at < self->end && strchr ("@*#?-$!", self->text[self->at]) != NULL
      && self->text[self->at] != '\0')
    length = 1;
  /* $1a is $1 and an a. */
  if (length > 1 && g_ascii_isdigit (self->text[self->at]))
    length = 1;
  return length;
}

static void
append_name (GString *out, const char *name, gsize length)
{
  g_string_append_c (out, '$');
  g_string_append_len (out, name, (gssize)MIN (length, MAX_NAME_KEPT));
}

/* From behind "${". */
static void
read_parameter (PrismShellParser *self, GString *out, guint *flags, gboolean quoted)
{
  g_autoptr (GString) ignored = g_string_new (NULL);
  const char *name;
  gsize length;
  int c, next;

  if (!prism_shell_enter (self))
    return;
  if (self->at + 1 < self->end && self->text[self->at] == '#' && self->text[self->at + 1] != '}')
    self->at++;
  name = self->text + self->at;
  length = name_length (self);
  if (length == 0 || name[0] == '!')
    prism_shell_note_uncertain (self, "an expansion is read differently by different shells");
  append_name (out, name, length);
  mark_expanded (self, flags, !quoted || (length > 0 && name[0] == '@'));
  self->at += length;
  c = self->at < self->end ? (guchar)self->text[self->at] : -1;
  next = self->at + 1 < self->end ? (guchar)self->text[self->at + 1] : -1;
  if (c == ':' && next > 0 && strchr ("-?+", next) != NULL)
    self->at += 2;
  else if (c >= 0 && c != '}' && strchr ("-?+#%", c) == NULL)
    prism_shell_note_uncertain (self, "an expansion assigns, or is read differently by different shells");
  read_parameter_rest (self, ignored, quoted);
  if (self->at < self->end)
    self->at++;
  else
    prism_shell_note_uncertain (self, "an expansion has no end");
  prism_shell_leave (self);
}

static void
read_in_parentheses (PrismShellParser *self, GString *out, guint *flags, gboolean quoted)
{
  if (!prism_shell_enter (self))
    return;
  self->at++;
  if (prism_shell_peek (self) == '(')
    {
      self->at++;
      read_arithmetic (self);
      g_string_append (out, "$((...))");
    }
  else
    {
      read_command_substitution (self);
      g_string_append (out, "$(...)");
    }
  mark_expanded (self, flags, !quoted);
  prism_shell_leave (self);
}

void
prism_shell_read_dollar (PrismShellParser *self, GString *out, guint *flags, gboolean quoted)
{
  int c;
  gsize length;

  self->at++;
  c = prism_shell_peek (self);
  if (c == '(')
    read_in_parentheses (self, out, flags, quoted);
  else if (c == '{')
    {
      self->at++;
      read_parameter (self, out, flags, quoted);
    }
  else if (c == '\'' && !quoted)
    read_c_quotes (self, out);
  else if ((c == '"' && !quoted) || c == '[')
    {
      prism_shell_note_uncertain (self, "$\" and $[ mean something in some shells and nothing in others");
      if (c == '[')
        g_string_append_c (out, '$');
    }
  else if ((length = name_length (self)) > 0)
    {
      append_name (out, self->text + self->at, length);
      mark_expanded (self, flags, !quoted || c == '@');
      self->at += length;
    }
  else
    g_string_append_c (out, '$');
}

/* What a backslash hides in backticks is hidden once less inside. */
void
prism_shell_read_backticks (PrismShellParser *self, GString *out, guint *flags, gboolean quoted)
{
  g_autoptr (GString) inner = g_string_new (NULL);

  self->line->features |= PRISM_SHELL_SUBSTITUTION;
  mark_expanded (self, flags, !quoted);
  g_string_append (out, "$(...)");
  for (self->at++; self->at < self->end && self->text[self->at] != '`'; self->at++)
    {
      int next = self->at + 1 < self->end ? (guchar)self->text[self->at + 1] : -1;

      if (self->text[self->at] == '\\' && next > 0 && strchr (quoted ? "$`\\\"" : "$`\\", next) != NULL)
        {
          if (next == '"')
            prism_shell_note_uncertain (self, "an escaped quote stands in backticks in a quote");
          self->at++;
        }
      g_string_append_c (inner, self->text[self->at]);
    }
  if (self->at >= self->end)
    {
      prism_shell_note_uncertain (self, "a backtick has no end");
      return;
    }
  self->at++;
  prism_shell_parse_text (self, inner->str, inner->len);
}

void
prism_shell_read_expansions (PrismShellParser *self, gsize end)
{
  g_autoptr (GString) ignored = g_string_new (NULL);
  gsize whole = self->end;
  guint flags = 0;

  self->end = end;
  while (self->at < self->end)
    {
      int c = (guchar)self->text[self->at];

      if (c == '\\')
        {
          if (self->at + 1 < self->end && self->text[self->at + 1] == '\n')
            prism_shell_note_uncertain (self, "a backslash joins lines of a here-document");
          read_escape_in_quotes (self, ignored, TRUE);
        }
      else if (c == '$')
        prism_shell_read_dollar (self, ignored, &flags, TRUE);
      else if (c == '`')
        prism_shell_read_backticks (self, ignored, &flags, TRUE);
      else
        self->at++;
    }
  self->end = self->line->limit != NULL ? self->at : whole;
}

void
prism_shell_parse_text (PrismShellParser *self, const char *text, gsize length)
{
  const char *outer = self->text;
  gsize at = self->at, end = self->end;
  GArray *heredocs = self->heredocs;

  self->work += length;
  if (self->work > MAX_WORK)
    {
      prism_shell_set_limit (self, "text in text is longer than 262144 bytes in all");
      return;
    }
  self->text = text;
  self->at = 0;
  self->end = length;
  self->heredocs = g_array_new (FALSE, FALSE, sizeof (PrismShellHeredoc));
  prism_shell_parse_list (self, PRISM_SHELL_CLOSE_NONE);
  if (self->heredocs->len > 0)
    prism_shell_note_uncertain (self, "a here-document has no text");
  g_array_unref (self->heredocs);
  self->heredocs = heredocs;
  self->text = outer;
  self->at = self->line->limit != NULL ? end : at;
  self->end = end;
}
