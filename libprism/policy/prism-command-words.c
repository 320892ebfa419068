/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Words, put together of their pieces, and the line that they are kept in. */
#include "prism-command-parser-private.h"

#include <string.h>

#include "prism-action-private.h"

/* --- words ------------------------------------------------------------------------------------------ */

/* What is seen of a word while it is read, by the characters that no quote holds. */
typedef struct
{
  guint flags;
  gboolean only_name; /* so far, letters that a name may have */
  gboolean named;     /* a name and an equals sign stand in front */
  gboolean bracket, brace, separator;
  int before;
} WordState;

static gboolean
looks_like_name (const GString *out)
{
  return out->len > 0 && !g_ascii_isdigit (out->str[0]);
}

static void
see_equals (WordState *state, const GString *out)
{
  if (!state->named && looks_like_name (out))
    {
      if (state->only_name)
        state->flags |= PRISM_WORD_ASSIGNMENT;
      else if (state->before == '+' || state->before == ']')
        state->flags |= PRISM_WORD_ODD_NAME;
      state->named = state->only_name;
    }
}

/* Most of what there is, and nothing to be seen in it. */
static gboolean
is_ordinary (int c)
{
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static gsize
ordinary_run (const PrismShellParser *self)
{
  gsize at = self->at;

  while (at < self->end && is_ordinary ((guchar)self->text[at]))
    at++;
  return at - self->at;
}

static void
see_character (WordState *state, const GString *out, int c)
{
  if (c == '*' || c == '?' || (c == ']' && state->bracket))
    state->flags |= PRISM_WORD_GLOB;
  state->bracket |= c == '[';
  /* What follows, up to the bracket's end, is an index in some shells, whatever it is. */
  if (c == '[' && state->only_name && looks_like_name (out))
    state->flags |= PRISM_WORD_ODD_NAME;
  if (c == '{')
    state->brace = TRUE;
  state->separator |= state->brace && (c == ',' || (c == '.' && state->before == '.'));
  if (c == '}' && state->separator)
    state->flags |= PRISM_WORD_BRACE;
  if (c == '~' && (out->len == 0 || state->before == '=' || state->before == ':'))
    state->flags |= PRISM_WORD_TILDE;
  if (c == '=')
    see_equals (state, out);
  state->only_name &= prism_shell_is_name_character (c);
  state->before = c;
}

static void
read_backslash (PrismShellParser *self, GString *out)
{
  if (self->at + 1 >= self->end)
    {
      prism_shell_note_uncertain (self, "it ends with a backslash");
      g_string_append_c (out, '\\');
      self->at++;
      return;
    }
  if (self->text[self->at + 1] == 'n')
    self->line->features |= PRISM_SHELL_CONTROL;
  prism_shell_note_character (self, (guchar)self->text[self->at + 1]);
  g_string_append_c (out, self->text[self->at + 1]);
  self->at += 2;
}

static void
read_piece (PrismShellParser *self, GString *out, WordState *state, int c)
{
  if (c != '\'' && c != '"' && c != '\\' && c != '$' && c != '`')
    {
      prism_shell_note_character (self, c);
      see_character (state, out, c);
      g_string_append_c (out, (char)c);
      self->at++;
      return;
    }
  state->only_name = FALSE;
  state->before = 0;
  if (c == '$' || c == '`')
    {
      c == '$' ? prism_shell_read_dollar (self, out, &state->flags, FALSE)
               : prism_shell_read_backticks (self, out, &state->flags, FALSE);
      return;
    }
  state->flags |= PRISM_WORD_QUOTED;
  if (c == '\'')
    prism_shell_read_single_quotes (self, out);
  else if (c == '"')
    prism_shell_read_double_quotes (self, out, &state->flags);
  else
    read_backslash (self, out);
}

/* Some programs of the shell itself compute what is in brackets, whoever wrote it. */
static gboolean
hides_code (const GString *out)
{
  const char *bracket = memchr (out->str, '[', out->len);

  return bracket != NULL && (strstr (bracket, "$(") != NULL || strchr (bracket, '`') != NULL);
}

void
prism_shell_read_word (PrismShellParser *self, PrismShellWord *word)
{
  WordState state = { .only_name = TRUE };
  GString *out;
  gsize run = ordinary_run (self);
  int c;

  if (run > 0 && self->at + run < self->end && prism_shell_ends_word ((guchar)self->text[self->at + run]))
    {
      *word = prism_shell_keep_word (self, self->text + self->at, run, 0);
      self->at += run;
      return;
    }
  while (self->scratch->len <= self->word_depth)
    g_ptr_array_add (self->scratch, g_string_new (NULL));
  out = self->scratch->pdata[self->word_depth++];
  g_string_truncate (out, 0);
  while ((c = prism_shell_peek (self)) >= 0 && !prism_shell_ends_word (c))
    {
      run = ordinary_run (self);
      if (run == 0)
        {
          read_piece (self, out, &state, c);
          continue;
        }
      g_string_append_len (out, self->text + self->at, (gssize)run);
      self->at += run;
      state.before = (guchar)self->text[self->at - 1];
    }
  self->word_depth--;
  if (state.flags & PRISM_WORD_BRACE)
    prism_shell_note_uncertain (self, "braces are expanded by some shells and not by others");
  if ((state.flags & PRISM_WORD_QUOTED) != 0 && hides_code (out))
    prism_shell_note_uncertain (self, "quoted text looks like an index that a shell would compute");
  if (state.flags & (PRISM_WORD_GLOB | PRISM_WORD_BRACE))
    self->line->features |= PRISM_SHELL_EXPANSION;
  *word = prism_shell_keep_word (self, out->str, out->len, state.flags);
}

/* --- lines --------------------------------------------------------------------------------------------- */

static PrismShellLine *
line_new (gsize length)
{
  PrismShellLine *self = g_new0 (PrismShellLine, 1);

  self->text = g_string_sized_new (length + 64);
  self->words = g_array_sized_new (FALSE, FALSE, sizeof (PrismShellWord), 16);
  self->commands = g_array_sized_new (FALSE, FALSE, sizeof (PrismShellCommand), 4);
  self->redirects = g_array_new (FALSE, FALSE, sizeof (PrismShellRedirect));
  self->pipes = g_array_new (FALSE, FALSE, sizeof (PrismShellPipe));
  return self;
}

void
prism_shell_line_free (PrismShellLine *self)
{
  g_string_free (self->text, TRUE);
  g_array_unref (self->words);
  g_array_unref (self->commands);
  g_array_unref (self->redirects);
  g_array_unref (self->pipes);
  g_free (self);
}

static void
free_scratch (gpointer data)
{
  g_string_free (data, TRUE);
}

static void
parser_init (PrismShellParser *self, PrismShellLine *line, const char *text, gsize length)
{
  *self = (PrismShellParser){ .text = text, .end = length, .line = line };
  self->scratch = g_ptr_array_new_with_free_func (free_scratch);
  self->stack = g_array_new (FALSE, FALSE, sizeof (PrismShellWord));
  self->redirects = g_array_new (FALSE, FALSE, sizeof (PrismShellRedirect));
  self->heredocs = g_array_new (FALSE, FALSE, sizeof (PrismShellHeredoc));
}

static void
parser_clear (PrismShellParser *self)
{
  g_ptr_array_unref (self->scratch);
  g_array_unref (self->stack);
  g_array_unref (self->redirects);
  g_array_unref (self->heredocs);
}

PrismShellLine *
prism_shell_line_new (const char *text)
{
  gsize length = strlen (text);
  PrismShellLine *self = line_new (MIN (length, PRISM_SHELL_MAX_LINE));
  PrismShellParser parser;

  parser_init (&parser, self, text, MIN (length, PRISM_SHELL_MAX_LINE));
  prism_shell_parse_list (&parser, PRISM_SHELL_CLOSE_NONE);
  if (parser.heredocs->len > 0)
    prism_shell_note_uncertain (&parser, "a here-document has no text");
  if (length > PRISM_SHELL_MAX_LINE)
    prism_shell_set_limit (&parser, "it is longer than 65536 bytes");
  parser_clear (&parser);
  return self;
}

PrismShellLine *
prism_shell_line_new_for_argv (const char *const *argv)
{
  PrismShellLine *self = line_new (256);
  PrismShellParser parser;
  guint first = self->words->len;

  parser_init (&parser, self, "", 0);
  for (guint i = 0; argv[i] != NULL && self->limit == NULL; i++)
    {
      PrismShellWord word = prism_shell_keep_word (&parser, argv[i], strlen (argv[i]), PRISM_WORD_QUOTED);

      g_array_append_val (self->words, word);
      for (const char *c = argv[i]; *c != '\0'; c++)
        if ((guchar)*c < 0x20 && *c != '\t' && *c != '\n')
          self->features |= PRISM_SHELL_CONTROL;
      if (self->text->len > PRISM_SHELL_MAX_LINE)
        prism_shell_set_limit (&parser, "it is longer than 65536 bytes");
    }
  if (self->words->len > first)
    prism_shell_unwrap (&parser, prism_shell_add_command (&parser, first, self->words->len - first, 0));
  parser_clear (&parser);
  return self;
}

char *
prism_shell_line_dup_command (const PrismShellLine *self, guint index)
{
  const PrismShellCommand *command = prism_shell_line_command (self, index);
  GString *out = g_string_new (NULL);

  for (guint i = 0; i < command->n_assignments + command->n_words; i++)
    {
      const PrismShellWord *word = &g_array_index (self->words, PrismShellWord, command->first + i);

      if (i > 0)
        g_string_append_c (out, ' ');
      if (word->flags & PRISM_WORD_DYNAMIC)
        g_string_append (out, prism_shell_line_text (self, word));
      else
        prism_action_append_quoted (out, prism_shell_line_text (self, word));
    }
  return g_string_free (out, FALSE);
}
