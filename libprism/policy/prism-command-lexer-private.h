/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A line for a shell, taken apart: every simple command that it could run, whether it is in
 * a list, a pipeline, a group, a substitution, a here-document, or behind a program that is
 * there to run others, with its words as the program would get them.
 *
 * It reads what POSIX says a shell reads. Which shell it will be nobody knows here: where
 * two of them would read it differently, or what runs is known only once it runs, the line
 * is uncertain; what can be seen is listed all the same. Past a limit it is not read to its
 * end, and that is said too. Pure; the time goes with the length. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

#define PRISM_SHELL_MAX_LINE     65536
#define PRISM_SHELL_MAX_DEPTH    48
#define PRISM_SHELL_MAX_COMMANDS 1000

typedef enum
{
  PRISM_WORD_EXPANDS = 1 << 0,    /* a part of it is known only when it runs */
  PRISM_WORD_SPLITS = 1 << 1,     /* and it may become any number of words */
  PRISM_WORD_GLOB = 1 << 2,       /* names of files, if there are such */
  PRISM_WORD_TILDE = 1 << 3,      /* somebody's home */
  PRISM_WORD_BRACE = 1 << 4,      /* one word or several, as the shell is */
  PRISM_WORD_QUOTED = 1 << 5,     /* some of it was quoted */
  PRISM_WORD_ASSIGNMENT = 1 << 6, /* NAME=... */
  PRISM_WORD_ODD_NAME = 1 << 7,   /* NAME+=..., NAME[...]=...: an assignment in some shells */
} PrismWordFlags;

#define PRISM_WORD_DYNAMIC                                                                                             \
  (PRISM_WORD_EXPANDS | PRISM_WORD_SPLITS | PRISM_WORD_GLOB | PRISM_WORD_TILDE | PRISM_WORD_BRACE)

/* What is known of it: what expands is there by its name ($HOME, $(...)). */
typedef struct
{
  guint text, length; /* in the line's text; ends with a NUL as well */
  guint flags;
} PrismShellWord;

typedef enum
{
  PRISM_REDIRECT_READ,
  PRISM_REDIRECT_WRITE,
  PRISM_REDIRECT_DUPLICATE,
  PRISM_REDIRECT_HERE,
} PrismRedirectKind;

typedef struct
{
  PrismRedirectKind kind;
  PrismShellWord target;
} PrismShellRedirect;

typedef enum
{
  PRISM_SHELL_COMMAND_OPEN = 1 << 0,       /* more words may follow: xargs, find */
  PRISM_SHELL_COMMAND_READS_CODE = 1 << 1, /* what comes in is what it runs */
  PRISM_SHELL_COMMAND_FUNCTION = 1 << 2,   /* no command: the one word is the name that what is below it gets */
  PRISM_SHELL_COMMAND_WRAPPED = 1 << 3,    /* run by the command before it, not by the shell itself */
} PrismShellCommandFlags;

typedef struct
{
  guint first;         /* of its words; assignments are in front */
  guint n_assignments;
  guint n_words;       /* without those */
  guint first_redirect, n_redirects;
  guint end;           /* the commands below it are from its own index + 1 to this ... */
  guint expanded;      /* ... of which those up to this stand in its own words */
  guint flags;
} PrismShellCommand;

/* What comes out of the commands from `from` goes into those from `to` until `end`. */
typedef struct
{
  guint from, to, end;
} PrismShellPipe;

typedef enum
{
  PRISM_SHELL_LIST = 1 << 0, /* ; & && || and ends of lines */
  PRISM_SHELL_PIPE = 1 << 1,
  PRISM_SHELL_BACKGROUND = 1 << 2,
  PRISM_SHELL_SUBSTITUTION = 1 << 3,
  PRISM_SHELL_EXPANSION = 1 << 4,
  PRISM_SHELL_REDIRECT = 1 << 5,
  PRISM_SHELL_COMPOUND = 1 << 6,
  PRISM_SHELL_FUNCTION = 1 << 7,
  PRISM_SHELL_COMMENT = 1 << 8,
  PRISM_SHELL_CONTROL = 1 << 9, /* control characters, \n as two characters */
} PrismShellFeatures;

typedef struct
{
  GString *text;
  GArray *words;     /* PrismShellWord */
  GArray *commands;  /* PrismShellCommand */
  GArray *redirects; /* PrismShellRedirect */
  GArray *pipes;     /* PrismShellPipe */
  guint features;
  const char *uncertain; /* why, or NULL */
  const char *limit;     /* which was passed, or NULL */
} PrismShellLine;

PrismShellLine *prism_shell_line_new (const char *text);
/* A program and its arguments: one command, and what that runs. */
PrismShellLine *prism_shell_line_new_for_argv (const char *const *argv);
void prism_shell_line_free (PrismShellLine *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (PrismShellLine, prism_shell_line_free)

static inline const PrismShellCommand *
prism_shell_line_command (const PrismShellLine *self, guint index)
{
  return &g_array_index (self->commands, PrismShellCommand, index);
}

/* Of its words: from 0, assignments not counted. */
static inline const PrismShellWord *
prism_shell_line_word (const PrismShellLine *self, const PrismShellCommand *command, guint index)
{
  return &g_array_index (self->words, PrismShellWord, command->first + command->n_assignments + index);
}

static inline const char *
prism_shell_line_text (const PrismShellLine *self, const PrismShellWord *word)
{
  return self->text->str + word->text;
}

/* As a shell would read it back, if its words are what they seem. */
char *prism_shell_line_dup_command (const PrismShellLine *self, guint index);

G_END_DECLS
