/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Lists, pipelines and commands, after the grammar of POSIX's shell. Where that ends, the
 * line is uncertain, and reading goes on as well as it can: what is seen may still be what
 * a rule denies. Each function takes at least one character, or the next one does. */
#include "prism-command-parser-private.h"

#include <string.h>

#include "prism-command-judge-private.h"

static void parse_command (PrismShellParser *self);

/* --- reserved words --------------------------------------------------------------------------- */

typedef enum
{
  WORD_NONE,
  WORD_IF,
  WORD_WHILE,
  WORD_FOR,
  WORD_CASE,
  WORD_BRACE,
  WORD_BANG,
  WORD_BASH, /* what only some shells have */
  WORD_THEN,
  WORD_ELSE,
  WORD_FI,
  WORD_DO,
  WORD_DONE,
  WORD_ESAC,
  WORD_CLOSE_BRACE,
} Reserved;

static const struct
{
  const char *text;
  Reserved word;
  guint closes; /* which list it ends */
} reserved_words[] = {
  { "!", WORD_BANG, 0 },
  { "{", WORD_BRACE, 0 },
  { "}", WORD_CLOSE_BRACE, PRISM_SHELL_CLOSE_BRACE },
  { "if", WORD_IF, 0 },
  { "while", WORD_WHILE, 0 },
  { "until", WORD_WHILE, 0 },
  { "for", WORD_FOR, 0 },
  { "case", WORD_CASE, 0 },
  { "then", WORD_THEN, PRISM_SHELL_CLOSE_THEN },
  { "else", WORD_ELSE, PRISM_SHELL_CLOSE_FI },
  { "elif", WORD_ELSE, PRISM_SHELL_CLOSE_FI },
  { "fi", WORD_FI, PRISM_SHELL_CLOSE_FI },
  { "do", WORD_DO, PRISM_SHELL_CLOSE_DO },
  { "done", WORD_DONE, PRISM_SHELL_CLOSE_DONE },
  { "esac", WORD_ESAC, PRISM_SHELL_CLOSE_CASE },
  { "function", WORD_BASH, 0 },
  { "select", WORD_BASH, 0 },
  { "coproc", WORD_BASH, 0 },
  { "[[", WORD_BASH, 0 },
  { "]]", WORD_BASH, 0 },
};

/* The one that starts here, if one does; *@end is behind it. Nothing is taken. */
static Reserved
reserved_at (PrismShellParser *self, gsize *end, guint *closes, const char **text)
{
  char word[10];
  guint length = 0;
  gsize at = self->at;
  int c;

  while ((c = prism_shell_peek (self)) >= 0 && !prism_shell_ends_word (c) && length < sizeof word - 1)
    {
      word[length++] = (char)c;
      self->at++;
    }
  *end = self->at;
  self->at = at;
  word[length] = '\0';
  if (!prism_shell_ends_word (c))
    return WORD_NONE;
  for (guint i = 0; i < G_N_ELEMENTS (reserved_words); i++)
    if (g_str_equal (reserved_words[i].text, word))
      {
        *closes = reserved_words[i].closes;
        *text = reserved_words[i].text;
        return reserved_words[i].word;
      }
  return WORD_NONE;
}

static gboolean
take_reserved (PrismShellParser *self, Reserved which)
{
  gsize end;
  guint closes;
  const char *text;

  prism_shell_skip_lines (self);
  if (reserved_at (self, &end, &closes, &text) != which)
    return FALSE;
  self->at = end;
  return TRUE;
}

static void
expect (PrismShellParser *self, Reserved which)
{
  if (!take_reserved (self, which))
    prism_shell_note_uncertain (self, "it is not as the shell's grammar has it");
}

/* --- simple commands ------------------------------------------------------------------------------ */

guint
prism_shell_add_command (PrismShellParser *self, guint first, guint n_words, guint flags)
{
  PrismShellCommand command = { .first = first, .n_words = n_words, .flags = flags };

  if (self->line->commands->len >= PRISM_SHELL_MAX_COMMANDS)
    prism_shell_set_limit (self, "it is more than 1000 commands");
  command.first_redirect = self->line->redirects->len;
  command.end = command.expanded = self->line->commands->len + 1;
  g_array_append_val (self->line->commands, command);
  return self->line->commands->len - 1;
}

typedef struct
{
  guint index;     /* of the command */
  guint base;      /* of its words on the stack */
  guint redirects; /* of its redirections there */
  guint n_assignments;
} Simple;

static void
finish_simple (PrismShellParser *self, const Simple *simple)
{
  PrismShellLine *line = self->line;
  PrismShellCommand *command = &g_array_index (line->commands, PrismShellCommand, simple->index);
  guint n_words = self->stack->len - simple->base, n_redirects = self->redirects->len - simple->redirects;

  command->first = line->words->len;
  command->n_assignments = simple->n_assignments;
  command->n_words = n_words - simple->n_assignments;
  command->first_redirect = line->redirects->len;
  command->n_redirects = n_redirects;
  command->end = command->expanded = line->commands->len;
  if (n_words > 0)
    g_array_append_vals (line->words, &g_array_index (self->stack, PrismShellWord, simple->base), n_words);
  if (n_redirects > 0)
    g_array_append_vals (line->redirects, &g_array_index (self->redirects, PrismShellRedirect, simple->redirects),
                         n_redirects);
  g_array_set_size (self->stack, simple->base);
  g_array_set_size (self->redirects, simple->redirects);
  if (command->n_words > 0)
    prism_shell_unwrap (self, simple->index);
  g_array_index (line->commands, PrismShellCommand, simple->index).end = line->commands->len;
}

static void
take_word (PrismShellParser *self, Simple *simple)
{
  PrismShellWord word;
  guint n = self->stack->len - simple->base;

  prism_shell_read_word (self, &word);
  if (prism_shell_is_descriptor (self, &word))
    return;
  if (n == simple->n_assignments)
    {
      simple->n_assignments += (word.flags & PRISM_WORD_ASSIGNMENT) != 0;
      if ((word.flags & PRISM_WORD_ASSIGNMENT) != 0
          && prism_command_variable_is_dangerous (prism_shell_line_text (self->line, &word)))
        prism_shell_note_uncertain (self, "it sets a variable that changes what the shell, or a program, runs");
      if (word.flags & PRISM_WORD_ODD_NAME)
        prism_shell_note_uncertain (self, "an assignment in some shells is a program's name in others");
    }
  g_array_append_val (self->stack, word);
}

/* name() stands in front: what is below it gets that name. */
static void
parse_function (PrismShellParser *self, Simple *simple)
{
  self->at++;
  prism_shell_skip_blanks (self);
  if (prism_shell_peek (self) == ')')
    self->at++;
  else
    prism_shell_note_uncertain (self, "it is not as the shell's grammar has it");
  self->line->features |= PRISM_SHELL_FUNCTION;
  prism_shell_note_uncertain (self, "it defines a function, whose name may be another program's");
  g_array_index (self->line->commands, PrismShellCommand, simple->index).flags |= PRISM_SHELL_COMMAND_FUNCTION;
  prism_shell_skip_lines (self);
  parse_command (self);
}

static void
parse_simple (PrismShellParser *self)
{
  Simple simple = { prism_shell_add_command (self, 0, 0, 0), self->stack->len, self->redirects->len, 0 };

  for (;;)
    {
      int c;

      prism_shell_skip_blanks (self);
      c = prism_shell_peek (self);
      if (c == '<' || c == '>')
        prism_shell_read_redirect (self);
      else if (c == '&' && prism_shell_peek_second (self) == '>')
        {
          prism_shell_note_uncertain (self, "&> is a redirection in some shells and two commands in others");
          self->at++;
        }
      else if (c == '(')
        {
          if (self->stack->len - simple.base == 1 && simple.n_assignments == 0)
            {
              parse_function (self, &simple);
              break;
            }
          prism_shell_note_uncertain (self, "a parenthesis stands where no shell's grammar, or only some, has one");
          self->at++;
          prism_shell_parse_list (self, PRISM_SHELL_CLOSE_PAREN);
          self->at += prism_shell_peek (self) == ')';
        }
      else if (prism_shell_ends_word (c))
        break;
      else
        take_word (self, &simple);
    }
  if (self->stack->len == simple.base && self->redirects->len == simple.redirects)
    prism_shell_note_uncertain (self, "it is not as the shell's grammar has it");
  finish_simple (self, &simple);
}

/* --- compound commands -------------------------------------------------------------------------------- */

static void
parse_group (PrismShellParser *self)
{
  self->at++;
  if (prism_shell_peek (self) == '(')
    prism_shell_note_uncertain (self, "(( computes in some shells and groups in others");
  prism_shell_parse_list (self, PRISM_SHELL_CLOSE_PAREN);
  if (prism_shell_peek (self) == ')')
    self->at++;
  else
    prism_shell_note_uncertain (self, "a group has no end");
}

static void
parse_if (PrismShellParser *self)
{
  prism_shell_parse_list (self, PRISM_SHELL_CLOSE_THEN);
  expect (self, WORD_THEN);
  prism_shell_parse_list (self, PRISM_SHELL_CLOSE_FI);
  for (;;)
    {
      gsize end;
      guint closes;
      const char *text;
      Reserved word;

      prism_shell_skip_lines (self);
      word = reserved_at (self, &end, &closes, &text);
      if (word != WORD_ELSE)
        break;
      self->at = end;
      if (g_str_equal (text, "elif"))
        {
          prism_shell_parse_list (self, PRISM_SHELL_CLOSE_THEN);
          expect (self, WORD_THEN);
        }
      prism_shell_parse_list (self, PRISM_SHELL_CLOSE_FI);
    }
  expect (self, WORD_FI);
}

static void
parse_body (PrismShellParser *self)
{
  expect (self, WORD_DO);
  prism_shell_parse_list (self, PRISM_SHELL_CLOSE_DONE);
  expect (self, WORD_DONE);
}

/* Words that are no command's: what they expand is read all the same. */
static void
skip_words (PrismShellParser *self)
{
  PrismShellWord word;

  for (prism_shell_skip_blanks (self); !prism_shell_ends_word (prism_shell_peek (self)); prism_shell_skip_blanks (self))
    prism_shell_read_word (self, &word);
}

static void
parse_for (PrismShellParser *self)
{
  PrismShellWord name;

  prism_shell_skip_blanks (self);
  if (prism_shell_peek (self) == '(')
    {
      prism_shell_note_uncertain (self, "for (( is for some shells only");
      return;
    }
  prism_shell_read_word (self, &name);
  prism_shell_skip_lines (self);
  if (prism_shell_peek (self) == 'i')
    {
      PrismShellWord in;

      prism_shell_read_word (self, &in);
      if (!g_str_equal (prism_shell_line_text (self->line, &in), "in") || in.flags != 0)
        prism_shell_note_uncertain (self, "it is not as the shell's grammar has it");
      skip_words (self);
    }
  prism_shell_skip_blanks (self);
  if (prism_shell_peek (self) == ';')
    self->at++;
  parse_body (self);
}

/* The patterns of one branch, up to its parenthesis. */
static gboolean
read_patterns (PrismShellParser *self)
{
  if (prism_shell_peek (self) == '(')
    self->at++;
  for (;;)
    {
      PrismShellWord pattern;

      prism_shell_skip_blanks (self);
      prism_shell_read_word (self, &pattern);
      prism_shell_skip_blanks (self);
      if (prism_shell_peek (self) != '|')
        break;
      self->at++;
    }
  if (prism_shell_peek (self) != ')')
    {
      prism_shell_note_uncertain (self, "it is not as the shell's grammar has it");
      return FALSE;
    }
  self->at++;
  return TRUE;
}

static void
parse_case (PrismShellParser *self)
{
  PrismShellWord word;

  prism_shell_skip_blanks (self);
  prism_shell_read_word (self, &word);
  prism_shell_skip_lines (self);
  prism_shell_read_word (self, &word);
  if (!g_str_equal (prism_shell_line_text (self->line, &word), "in") || word.flags != 0)
    prism_shell_note_uncertain (self, "it is not as the shell's grammar has it");
  while (!take_reserved (self, WORD_ESAC))
    {
      if (prism_shell_peek (self) < 0 || !read_patterns (self))
        {
          prism_shell_note_uncertain (self, "case has no end");
          return;
        }
      prism_shell_parse_list (self, PRISM_SHELL_CLOSE_CASE);
      if (prism_shell_peek (self) == ';')
        {
          self->at++;
          self->at += prism_shell_peek (self) == ';';
        }
    }
}

/* Read as words and lists, as far as that goes. */
static void
parse_foreign (PrismShellParser *self, const char *word)
{
  prism_shell_note_uncertain (self, "a word of it begins something in some shells and is a program in others");
  if (g_str_equal (word, "select"))
    parse_for (self);
  else if (g_str_equal (word, "function"))
    {
      PrismShellWord name;

      self->line->features |= PRISM_SHELL_FUNCTION;
      prism_shell_skip_blanks (self);
      prism_shell_read_word (self, &name);
      prism_shell_skip_blanks (self);
      if (prism_shell_peek (self) == '(')
        {
          self->at++;
          prism_shell_skip_blanks (self);
          self->at += prism_shell_peek (self) == ')';
        }
      prism_shell_skip_lines (self);
      parse_command (self);
    }
  else if (g_str_equal (word, "coproc"))
    {
      prism_shell_skip_blanks (self);
      parse_command (self);
    }
  else
    skip_words (self);
}

/* FALSE: no compound command starts here. */
static gboolean
parse_compound (PrismShellParser *self)
{
  gsize end;
  guint closes;
  const char *text;
  Reserved word = reserved_at (self, &end, &closes, &text);

  if (prism_shell_peek (self) == '(')
    {
      parse_group (self);
      return TRUE;
    }
  if (word == WORD_NONE || closes != 0 || word == WORD_BANG)
    return FALSE;
  self->at = end;
  switch (word)
    {
    case WORD_IF:
      parse_if (self);
      break;
    case WORD_WHILE:
      prism_shell_parse_list (self, PRISM_SHELL_CLOSE_DO);
      parse_body (self);
      break;
    case WORD_FOR:
      parse_for (self);
      break;
    case WORD_CASE:
      parse_case (self);
      break;
    case WORD_BRACE:
      prism_shell_parse_list (self, PRISM_SHELL_CLOSE_BRACE);
      expect (self, WORD_CLOSE_BRACE);
      break;
    default:
      parse_foreign (self, text);
    }
  return TRUE;
}

/* Behind a compound command: redirections, which belong to all of it. */
static void
parse_redirects (PrismShellParser *self)
{
  Simple simple = { prism_shell_add_command (self, 0, 0, 0), self->stack->len, self->redirects->len, 0 };
  gboolean any = FALSE;

  for (;;)
    {
      int c;
      gsize at = self->at;

      prism_shell_skip_blanks (self);
      c = prism_shell_peek (self);
      if (c >= '0' && c <= '9')
        {
          while (c >= '0' && c <= '9')
            {
              self->at++;
              c = prism_shell_peek (self);
            }
          if (c != '<' && c != '>')
            self->at = at;
        }
      if (c != '<' && c != '>')
        break;
      prism_shell_read_redirect (self);
      any = TRUE;
    }
  if (any)
    finish_simple (self, &simple);
  else
    g_array_set_size (self->line->commands, simple.index);
}

static void
parse_command (PrismShellParser *self)
{
  if (!prism_shell_enter (self))
    return;
  if (parse_compound (self))
    {
      self->line->features |= PRISM_SHELL_COMPOUND;
      parse_redirects (self);
    }
  else
    parse_simple (self);
  prism_shell_leave (self);
}

/* --- lists ------------------------------------------------------------------------------------------------ */

static void
parse_pipeline (PrismShellParser *self)
{
  guint start = self->line->commands->len;

  for (;;)
    {
      guint from = self->line->commands->len;
      PrismShellPipe pipe;

      prism_shell_skip_blanks (self);
      while (prism_shell_peek (self) == '!' && prism_shell_ends_word (prism_shell_peek_second (self)))
        {
          self->at++;
          prism_shell_skip_blanks (self);
          self->line->features |= PRISM_SHELL_COMPOUND;
        }
      parse_command (self);
      if (from > start)
        {
          pipe = (PrismShellPipe){ start, from, self->line->commands->len };
          g_array_append_val (self->line->pipes, pipe);
        }
      prism_shell_skip_blanks (self);
      if (prism_shell_peek (self) != '|' || prism_shell_peek_second (self) == '|')
        return;
      self->line->features |= PRISM_SHELL_PIPE;
      self->at++;
      if (prism_shell_peek (self) == '&')
        {
          prism_shell_note_uncertain (self, "|& is for some shells only");
          self->at++;
        }
      prism_shell_skip_lines (self);
    }
}

static void
parse_and_or (PrismShellParser *self)
{
  for (;;)
    {
      int c;

      parse_pipeline (self);
      prism_shell_skip_blanks (self);
      c = prism_shell_peek (self);
      if ((c != '&' && c != '|') || prism_shell_peek_second (self) != c)
        return;
      self->line->features |= PRISM_SHELL_LIST;
      (void)prism_shell_peek (self);
      self->at++;
      (void)prism_shell_peek (self);
      self->at++;
      prism_shell_skip_lines (self);
    }
}

/* What ends a command; FALSE: nothing does, and the grammar wants something. */
static gboolean
take_separator (PrismShellParser *self)
{
  int c = prism_shell_peek (self);

  if (c == '\n')
    {
      self->line->features |= PRISM_SHELL_LIST;
      return TRUE;
    }
  if (c == ';' && prism_shell_peek_second (self) == ';')
    return TRUE;
  if (c == ';' || c == '&')
    {
      self->line->features |= PRISM_SHELL_LIST | (c == '&' ? PRISM_SHELL_BACKGROUND : 0);
      self->at++;
      if (c == ';' && prism_shell_peek (self) == '&')
        prism_shell_note_uncertain (self, ";& is for some shells only");
      return TRUE;
    }
  return c < 0 || c == ')';
}

/* TRUE: the list ends here. What should not be here is taken. */
static gboolean
at_closer (PrismShellParser *self, guint closers)
{
  int c = prism_shell_peek (self);
  gsize end;
  guint closes = 0;
  const char *text;

  if (c < 0)
    return TRUE;
  if (c == ')' && (closers & PRISM_SHELL_CLOSE_PAREN))
    return TRUE;
  if (c == ';' && (closers & PRISM_SHELL_CLOSE_CASE) && prism_shell_peek_second (self) == ';')
    return TRUE;
  if (c == ')' || c == ';' || c == '&' || c == '|')
    {
      prism_shell_note_uncertain (self, "it is not as the shell's grammar has it");
      self->at++;
      return FALSE;
    }
  if (reserved_at (self, &end, &closes, &text) == WORD_NONE || closes == 0)
    return FALSE;
  if (closers & closes)
    return TRUE;
  prism_shell_note_uncertain (self, "it is not as the shell's grammar has it");
  self->at = end;
  return FALSE;
}

void
prism_shell_parse_list (PrismShellParser *self, guint closers)
{
  gboolean separated = TRUE;

  if (!prism_shell_enter (self))
    return;
  for (;;)
    {
      gsize before;

      prism_shell_skip_lines (self);
      before = self->at;
      if (at_closer (self, closers))
        break;
      if (self->at != before)
        continue;
      if (!separated)
        prism_shell_note_uncertain (self, "it is not as the shell's grammar has it");
      parse_and_or (self);
      prism_shell_skip_blanks (self);
      separated = take_separator (self);
      if (self->at == before && prism_shell_peek (self) >= 0 && !at_closer (self, closers))
        self->at++;
    }
  prism_shell_leave (self);
}
