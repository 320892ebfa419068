/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the parts of the lexer share: characters, quotes and expansions
 * (prism-command-lexer.c), words (-words.c), redirections (-redirect.c), lists and commands
 * (-grammar.c), programs that run others (-unwrap.c). */
#pragma once

#include "prism-command-lexer-private.h"

G_BEGIN_DECLS

/* One whose text has not come yet. */
typedef struct
{
  PrismShellWord delimiter;
  gboolean strip_tabs;
} PrismShellHeredoc;

typedef struct
{
  const char *text;
  gsize at, end;
  PrismShellLine *line;

  guint depth, word_depth;
  gsize work;          /* bytes that were copied to be read again */
  GPtrArray *scratch;  /* GString, one for each word that is being read */
  GArray *stack;       /* PrismShellWord, of the commands that are being read */
  GArray *redirects;   /* PrismShellRedirect, the same */
  GArray *heredocs;    /* PrismShellHeredoc, of this context */
} PrismShellParser;

/* The first reason stays. */
void prism_shell_note_uncertain (PrismShellParser *self, const char *why);
void prism_shell_set_limit (PrismShellParser *self, const char *which);
gboolean prism_shell_enter (PrismShellParser *self);
void prism_shell_leave (PrismShellParser *self);

/* The next character, past ends of lines that a backslash takes away; -1 at the end. */
int prism_shell_peek_past_backslash (PrismShellParser *self);
static inline int
prism_shell_peek (PrismShellParser *self)
{
  if (self->at < self->end && self->text[self->at] != '\\')
    return (guchar)self->text[self->at];
  return prism_shell_peek_past_backslash (self);
}
/* The one after it. */
int prism_shell_peek_second (PrismShellParser *self);
gboolean prism_shell_ends_word (int c);

/* What an odd character of a word says of the line. */
void prism_shell_note_character (PrismShellParser *self, int c);
gboolean prism_shell_is_name_character (int c);
/* From the quote, the dollar sign or the backtick on. What it comes to is added to @out. */
void prism_shell_read_single_quotes (PrismShellParser *self, GString *out);
void prism_shell_read_double_quotes (PrismShellParser *self, GString *out, guint *flags);
void prism_shell_read_dollar (PrismShellParser *self, GString *out, guint *flags, gboolean quoted);
void prism_shell_read_backticks (PrismShellParser *self, GString *out, guint *flags, gboolean quoted);

/* Blanks and comments; ends of lines as well, with the here-documents that begin there. */
void prism_shell_skip_blanks (PrismShellParser *self);
void prism_shell_skip_lines (PrismShellParser *self);
/* From the < or > on. */
void prism_shell_read_redirect (PrismShellParser *self);
/* The 2 of 2>: no word of the command. */
gboolean prism_shell_is_descriptor (PrismShellParser *self, const PrismShellWord *word);

void prism_shell_read_word (PrismShellParser *self, PrismShellWord *word);
/* Its text goes into the line's. */
PrismShellWord prism_shell_keep_word (PrismShellParser *self, const char *text, gsize length, guint flags);
/* What a here-document holds that is expanded, from where it is to @end. */
void prism_shell_read_expansions (PrismShellParser *self, gsize end);

typedef enum
{
  PRISM_SHELL_CLOSE_NONE = 0,
  PRISM_SHELL_CLOSE_PAREN = 1 << 0,
  PRISM_SHELL_CLOSE_BRACE = 1 << 1,
  PRISM_SHELL_CLOSE_CASE = 1 << 2, /* ;; and esac */
  PRISM_SHELL_CLOSE_THEN = 1 << 3,
  PRISM_SHELL_CLOSE_FI = 1 << 4, /* else, elif, fi */
  PRISM_SHELL_CLOSE_DO = 1 << 5,
  PRISM_SHELL_CLOSE_DONE = 1 << 6,
} PrismShellClosers;

void prism_shell_parse_list (PrismShellParser *self, guint closers);
/* Other text, as if it were a line of its own. */
void prism_shell_parse_text (PrismShellParser *self, const char *text, gsize length);

/* Adds what the command at @index runs in its turn. */
void prism_shell_unwrap (PrismShellParser *self, guint index);
guint prism_shell_add_command (PrismShellParser *self, guint first, guint n_words, guint flags);

/* The name without its folder. */
const char *prism_shell_base_name (const char *program);

G_END_DECLS
