/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What stands between words, and redirections: blanks, comments, ends of lines, and the
 * here-documents that begin behind those. */
#include "prism-command-parser-private.h"

#include <string.h>

/* --- between words ------------------------------------------------------------------------- */

void
prism_shell_skip_blanks (PrismShellParser *self)
{
  int c;

  while ((c = prism_shell_peek (self)) == ' ' || c == '\t')
    self->at++;
  if (c != '#')
    return;
  self->line->features |= PRISM_SHELL_COMMENT;
  while (self->at < self->end && self->text[self->at] != '\n')
    self->at++;
}

static gboolean
is_delimiter (const char *line, gsize length, const PrismShellHeredoc *heredoc, const char *delimiter)
{
  if (heredoc->strip_tabs)
    for (; length > 0 && line[0] == '\t'; line++)
      length--;
  return length == heredoc->delimiter.length && memcmp (line, delimiter, length) == 0;
}

/* The lines up to the delimiter, and past it. */
static void
read_heredoc (PrismShellParser *self, const PrismShellHeredoc *heredoc)
{
  g_autofree char *delimiter = g_strdup (prism_shell_line_text (self->line, &heredoc->delimiter));
  gsize start = self->at, at = self->at;

  while (at < self->end)
    {
      const char *end = memchr (self->text + at, '\n', self->end - at);
      gsize length = (end != NULL ? (gsize)(end - self->text) : self->end) - at;
      gsize after = MIN (at + length + 1, self->end);

      if (is_delimiter (self->text + at, length, heredoc, delimiter))
        {
          if ((heredoc->delimiter.flags & PRISM_WORD_QUOTED) == 0)
            prism_shell_read_expansions (self, at);
          if (self->line->limit == NULL)
            self->at = after;
          return;
        }
      at = after;
    }
  prism_shell_note_uncertain (self, "a here-document has no end");
  self->at = start;
  if ((heredoc->delimiter.flags & PRISM_WORD_QUOTED) == 0)
    prism_shell_read_expansions (self, self->end);
  self->at = self->end;
}

static void
end_line (PrismShellParser *self)
{
  g_autoptr (GArray) heredocs = NULL;

  self->at++;
  if (self->heredocs->len == 0)
    return;
  heredocs = self->heredocs;
  self->heredocs = g_array_new (FALSE, FALSE, sizeof (PrismShellHeredoc));
  for (guint i = 0; i < heredocs->len; i++)
    read_heredoc (self, &g_array_index (heredocs, PrismShellHeredoc, i));
}

void
prism_shell_skip_lines (PrismShellParser *self)
{
  for (;;)
    {
      prism_shell_skip_blanks (self);
      if (prism_shell_peek (self) != '\n')
        return;
      end_line (self);
    }
}

/* --- redirections ---------------------------------------------------------------------- */

static void
add_redirect (PrismShellParser *self, PrismRedirectKind kind, const PrismShellWord *target)
{
  PrismShellRedirect redirect = { kind, *target };

  g_array_append_val (self->redirects, redirect);
}

static void
read_process_substitution (PrismShellParser *self)
{
  prism_shell_note_uncertain (self, "<( and >( run a command in some shells");
  self->line->features |= PRISM_SHELL_SUBSTITUTION;
  self->at++;
  prism_shell_parse_list (self, PRISM_SHELL_CLOSE_PAREN);
  if (prism_shell_peek (self) == ')')
    self->at++;
}

static void
read_heredoc_start (PrismShellParser *self)
{
  PrismShellHeredoc heredoc = { .strip_tabs = prism_shell_peek (self) == '-' };

  self->at += heredoc.strip_tabs;
  if (prism_shell_peek (self) == '<')
    {
      prism_shell_note_uncertain (self, "<<< means something in some shells and nothing in others");
      self->at++;
    }
  prism_shell_skip_blanks (self);
  prism_shell_read_word (self, &heredoc.delimiter);
  if (heredoc.delimiter.flags & PRISM_WORD_EXPANDS)
    prism_shell_note_uncertain (self, "a here-document's end has an expansion in it");
  add_redirect (self, PRISM_REDIRECT_HERE, &heredoc.delimiter);
  g_array_append_val (self->heredocs, heredoc);
}

static void
check_duplicate (PrismShellParser *self, const PrismShellWord *target)
{
  const char *text = prism_shell_line_text (self->line, target);

  if (text[0] == '\0' || text[strspn (text, "0123456789-")] != '\0' || (target->flags & PRISM_WORD_DYNAMIC))
    prism_shell_note_uncertain (self, "a file stands behind >& or <&");
}

/* From the < or > on. */
void
prism_shell_read_redirect (PrismShellParser *self)
{
  int c = prism_shell_peek (self), next;
  PrismRedirectKind kind = c == '<' ? PRISM_REDIRECT_READ : PRISM_REDIRECT_WRITE;
  PrismShellWord target;

  self->line->features |= PRISM_SHELL_REDIRECT;
  self->at++;
  next = prism_shell_peek (self);
  if (next == '(')
    {
      read_process_substitution (self);
      return;
    }
  if (c == '<' && next == '<')
    {
      self->at++;
      read_heredoc_start (self);
      return;
    }
  if (c == '<' && next == '>')
    kind = PRISM_REDIRECT_WRITE;
  if (next == '&')
    kind = PRISM_REDIRECT_DUPLICATE;
  if (next == '&' || next == '>' || (c == '>' && next == '|'))
    self->at++;
  prism_shell_skip_blanks (self);
  next = prism_shell_peek (self);
  if ((next == '<' || next == '>') && prism_shell_peek_second (self) == '(')
    {
      self->at++;
      read_process_substitution (self);
      return;
    }
  if (prism_shell_ends_word (next))
    prism_shell_note_uncertain (self, "a redirection has no file");
  prism_shell_read_word (self, &target);
  if (kind == PRISM_REDIRECT_DUPLICATE)
    check_duplicate (self, &target);
  add_redirect (self, kind, &target);
}

/* 2>, and in some shells {name}>: no word of the command. */
gboolean
prism_shell_is_descriptor (PrismShellParser *self, const PrismShellWord *word)
{
  const char *text = prism_shell_line_text (self->line, word);
  int c = prism_shell_peek (self);

  if ((c != '<' && c != '>') || word->flags != 0 || word->length == 0)
    return FALSE;
  if (text[0] == '{' && text[word->length - 1] == '}')
    prism_shell_note_uncertain (self, "{name} before a redirection is a word in some shells and none in others");
  return text[strspn (text, "0123456789")] == '\0';
}
