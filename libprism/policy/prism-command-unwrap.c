/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Programs that are there to run others. What they run is a command of the line as well:
 * else a rule that allows `env` allows everything, and one that denies `touch` is passed by
 * writing `env touch`. Whose options are not known here, or say what cannot be seen, makes
 * the line uncertain. */
#include "prism-command-parser-private.h"

#include <string.h>

#include "prism-command-rule-private.h"

typedef enum
{
  RUNS_REST,   /* options, so many operands, and then the command */
  RUNS_OPEN,   /* the same, and adds words to it */
  RUNS_LINE,   /* the same, and its words are joined to a line for a shell */
  RUNS_ENV,    /* assignments in front of it */
  RUNS_SHELL,  /* -c and a line; else a file, or what comes in */
  RUNS_SWITCH, /* -c and a line, among its options */
  RUNS_FIND,
  RUNS_EVAL,  /* every word is part of a line */
  RUNS_FIRST, /* the first operand is a line */
  RUNS_CODE,  /* a language: what comes in is what it runs, if no file is named */
  RUNS_DARK,  /* what it changes of the shell cannot be followed */
} Runs;

typedef struct
{
  const char *name;
  Runs runs;
  guint operands;         /* in front of the command */
  const char *flags;      /* short options without an argument */
  const char *takes;      /* short options with one */
  const char *longs;      /* long options without, ... */
  const char *long_takes; /* ... and with one, between blanks */
} Runner;

static const Runner runners[] = {
  { "env", RUNS_ENV, 0, "iv0", "uC", "ignore-environment debug null list-signal-handling", "unset chdir" },
  { "nice", RUNS_REST, 0, "0123456789", "n", "", "adjustment" },
  { "nohup", RUNS_REST, 0, "", "", "", "" },
  { "setsid", RUNS_REST, 0, "cfw", "", "ctty fork wait", "" },
  { "timeout", RUNS_REST, 1, "fpv", "ks", "foreground preserve-status verbose", "kill-after signal" },
  { "stdbuf", RUNS_REST, 0, "", "ioe", "", "input output error" },
  { "ionice", RUNS_REST, 0, "t", "cn", "ignore", "class classdata" },
  { "chrt", RUNS_REST, 1, "abdfimorRv", "TPD", "batch fifo idle other rr reset-on-fork verbose deadline",
    "sched-runtime sched-period sched-deadline" },
  { "taskset", RUNS_REST, 1, "ac", "", "all-tasks cpu-list", "" },
  { "time", RUNS_REST, 0, "pvaq", "fo", "portability verbose append quiet", "format output" },
  { "command", RUNS_REST, 0, "p", "", "", "" },
  { "builtin", RUNS_REST, 0, "", "", "", "" },
  { "exec", RUNS_REST, 0, "cl", "", "", "" },
  { "sudo", RUNS_ENV, 0, "AbEeHikKlnPSsvV", "CghpRrtTuUD",
    "askpass background preserve-env edit set-home login reset-timestamp remove-timestamp non-interactive "
    "preserve-groups "
    "stdin shell validate",
    "close-from group host prompt chroot role type command-timeout user other-user chdir" },
  { "doas", RUNS_REST, 0, "Lns", "Cu", "", "" },
  { "pkexec", RUNS_REST, 0, "", "", "disable-internal-agent keep-cwd", "user" },
  { "busybox", RUNS_REST, 0, "", "", "", "" },
  { "toybox", RUNS_REST, 0, "", "", "", "" },
  { "chroot", RUNS_REST, 1, "", "", "skip-chdir", "groups userspec" },
  { "unshare", RUNS_REST, 0, "imnpuUfrcCT", "RwSGl",
    "ipc mount net pid uts user fork map-root-user map-current-user cgroup time keep-caps",
    "root wd setuid setgid map-user map-group propagation setgroups" },
  { "nsenter", RUNS_REST, 0, "aimnpuUCFrwZT", "tSG",
    "all ipc mount net pid uts user cgroup no-fork root wd time preserve-credentials", "target setuid setgid" },
  { "setpriv", RUNS_REST, 0, "", "", "clear-groups keep-groups init-groups nnp no-new-privs reset-env",
    "reuid regid groups inh-caps ambient-caps bounding-set securebits pdeathsig ruid rgid euid egid" },
  { "runuser", RUNS_SWITCH, 0, "flmPp", "ucgGsw", "fast login preserve-environment pty",
    "user command group supp-group shell whitelist-environment session-command" },
  { "su", RUNS_SWITCH, 0, "flmPp", "cgGsw", "fast login preserve-environment pty",
    "command group supp-group shell whitelist-environment session-command" },
  { "strace", RUNS_REST, 0, "cCdDfFhiknqrtTvVwxyYzZ", "aAbeEIoOpPsSuUX", "", "output trace attach string-limit" },
  { "ltrace", RUNS_REST, 0, "cCfhirStTV", "aADelnopsuwxXF", "", "output" },
  { "fakeroot", RUNS_REST, 0, "uhv", "lsibf", "unknown-is-real", "lib faked fd-base" },
  { "eatmydata", RUNS_REST, 0, "", "", "", "" },
  { "catchsegv", RUNS_REST, 0, "", "", "", "" },
  { "dbus-run-session", RUNS_REST, 0, "", "", "", "config-file dbus-daemon" },
  { "xvfb-run", RUNS_REST, 0, "ahl", "enfpsw", "auto-servernum listen-tcp",
    "error-file server-num auth-file xauth-protocol server-args wait" },
  { "prlimit", RUNS_REST, 0, "", "", "", "" },
  { "choom", RUNS_REST, 0, "", "n", "", "adjust" },
  { "caffeinate", RUNS_REST, 0, "dimsu", "tw", "", "" },
  { "flock", RUNS_SWITCH, 1, "esxnuoFv", "wEc", "shared exclusive nonblock nb unlock close no-fork verbose",
    "timeout wait conflict-exit-code command" },
  { "script", RUNS_SWITCH, 0, "aefqt", "cBEIOTom", "append return flush force quiet",
    "command log-in log-out log-io log-timing echo logging-format output-limit timing" },
  { "xargs", RUNS_OPEN, 0, "0oprtx", "aEIdLnPs", "null open-tty interactive no-run-if-empty verbose exit show-limits",
    "arg-file delimiter max-lines max-args max-procs max-chars replace eof process-slot-var" },
  { "watch", RUNS_LINE, 0, "bcdegtpxw", "n", "beep color differences errexit chgexit no-title precise exec",
    "interval" },
  { "ssh", RUNS_LINE, 1, "46AaCfGgKkMNnqsTtVvXxYy", "BbcDEeFIiJLlmOopQRSWw", "", "" },
  { "sh", RUNS_SHELL, 0, "", "", "", "" },
  { "bash", RUNS_SHELL, 0, "", "", "", "" },
  { "dash", RUNS_SHELL, 0, "", "", "", "" },
  { "ash", RUNS_SHELL, 0, "", "", "", "" },
  { "zsh", RUNS_SHELL, 0, "", "", "", "" },
  { "ksh", RUNS_SHELL, 0, "", "", "", "" },
  { "mksh", RUNS_SHELL, 0, "", "", "", "" },
  { "rbash", RUNS_SHELL, 0, "", "", "", "" },
  { "fish", RUNS_SHELL, 0, "", "", "", "" },
  { "csh", RUNS_SHELL, 0, "", "", "", "" },
  { "tcsh", RUNS_SHELL, 0, "", "", "", "" },
  { "find", RUNS_FIND, 0, "", "", "", "" },
  { "eval", RUNS_EVAL, 0, "", "", "", "" },
  { "trap", RUNS_FIRST, 0, "lp", "", "", "" },
  { "python", RUNS_CODE, 0, "", "", "", "" },
  { "python2", RUNS_CODE, 0, "", "", "", "" },
  { "python3", RUNS_CODE, 0, "", "", "", "" },
  { "perl", RUNS_CODE, 0, "", "", "", "" },
  { "ruby", RUNS_CODE, 0, "", "", "", "" },
  { "node", RUNS_CODE, 0, "", "", "", "" },
  { "php", RUNS_CODE, 0, "", "", "", "" },
  { "lua", RUNS_CODE, 0, "", "", "", "" },
  { "tclsh", RUNS_CODE, 0, "", "", "", "" },
  { "alias", RUNS_DARK, 0, "", "", "", "" },
  { "unalias", RUNS_DARK, 0, "", "", "", "" },
  { "hash", RUNS_DARK, 0, "", "", "", "" },
  { "enable", RUNS_DARK, 0, "", "", "", "" },
  { "shopt", RUNS_DARK, 0, "", "", "", "" },
  { "declare", RUNS_DARK, 0, "", "", "", "" },
  { "typeset", RUNS_DARK, 0, "", "", "", "" },
  { "local", RUNS_DARK, 0, "", "", "", "" },
  { "let", RUNS_DARK, 0, "", "", "", "" },
  { "complete", RUNS_DARK, 0, "", "", "", "" },
  { "compgen", RUNS_DARK, 0, "", "", "", "" },
  { "bind", RUNS_DARK, 0, "", "", "", "" },
  { "mapfile", RUNS_DARK, 0, "", "", "", "" },
  { "readarray", RUNS_DARK, 0, "", "", "", "" },
  { "fc", RUNS_DARK, 0, "", "", "", "" },
  { "history", RUNS_DARK, 0, "", "", "", "" },
  { "parallel", RUNS_DARK, 0, "", "", "", "" },
};

static GHashTable *
make_table (void)
{
  GHashTable *table = g_hash_table_new (g_str_hash, g_str_equal);

  for (guint i = 0; i < G_N_ELEMENTS (runners); i++)
    g_hash_table_insert (table, (gpointer)runners[i].name, (gpointer)&runners[i]);
  return table;
}

const char *
prism_shell_base_name (const char *program)
{
  const char *slash = strrchr (program, '/');

  return slash != NULL ? slash + 1 : program;
}

static const Runner *
find_runner (const char *program)
{
  static gsize ready = 0;
  static GHashTable *table;

  if (g_once_init_enter (&ready))
    {
      table = make_table ();
      g_once_init_leave (&ready, 1);
    }
  return g_hash_table_lookup (table, prism_shell_base_name (program));
}

gboolean
prism_command_runs_others (const char *program)
{
  const Runner *runner = find_runner (program);

  return runner != NULL && runner->runs != RUNS_DARK;
}

/* --- a command's words, from the outside ------------------------------------------------------- */

typedef struct
{
  PrismShellParser *parser;
  const Runner *runner;
  guint index;    /* of the command */
  guint first, n; /* its words in the line's */
  guint at;       /* the next one to be looked at */
  gboolean lost;  /* what it runs cannot be told */
} Unwrap;

static const PrismShellWord *
word_at (const Unwrap *self, guint i)
{
  return &g_array_index (self->parser->line->words, PrismShellWord, self->first + i);
}

/* NULL past the end, and where the word is not known before it runs. */
static const char *
text_at (const Unwrap *self, guint i)
{
  if (i >= self->n || (word_at (self, i)->flags & PRISM_WORD_DYNAMIC) != 0)
    return NULL;
  return prism_shell_line_text (self->parser->line, word_at (self, i));
}

static void
lose (Unwrap *self, const char *why)
{
  self->lost = TRUE;
  prism_shell_note_uncertain (self->parser, why);
}

static gboolean
list_has (const char *list, const char *name, gsize length)
{
  for (const char *at = list; length > 0 && (at = strstr (at, name)) != NULL; at++)
    if ((at == list || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
      return TRUE;
  return FALSE;
}

/* --option, --option=value, --option value. */
static void
skip_long_option (Unwrap *self, const char *text)
{
  const char *equals = strchr (text, '=');
  g_autofree char *name = g_strndup (text + 2, equals != NULL ? (gsize)(equals - text - 2) : strlen (text) - 2);

  self->at++;
  if (list_has (self->runner->long_takes, name, strlen (name)))
    self->at += equals == NULL;
  else if (!list_has (self->runner->longs, name, strlen (name)))
    lose (self, "an option of a program that runs others is not known here");
}

/* -a, -abc, -nVALUE, -n VALUE. *@code is where the value of -c is, if that is one. */
static void
skip_short_options (Unwrap *self, const char *text, int *code)
{
  for (const char *letter = text + 1; *letter != '\0'; letter++)
    {
      if (strchr (self->runner->flags, *letter) != NULL)
        continue;
      if (strchr (self->runner->takes, *letter) == NULL)
        {
          lose (self, "an option of a program that runs others is not known here");
          break;
        }
      if (letter[1] == '\0')
        self->at++;
      if (*letter == 'c' && code != NULL)
        {
          *code = letter[1] == '\0' ? (int)self->at : -2;
          if (letter[1] != '\0')
            lose (self, "what a program is told to run stands behind -c without a blank");
        }
      break;
    }
  self->at++;
}

static void
skip_options (Unwrap *self, int *code)
{
  while (self->at < self->n && !self->lost)
    {
      const char *text = text_at (self, self->at);

      if (text == NULL)
        {
          lose (self, "an option of a program that runs others is known only once it runs");
          return;
        }
      if (g_str_equal (text, "--"))
        {
          self->at++;
          return;
        }
      if (text[0] != '-' || text[1] == '\0')
        return;
      if (text[1] != '-')
        skip_short_options (self, text, code);
      else if (code != NULL && g_str_has_prefix (text, "--command"))
        {
          *code = (int)self->at + 1;
          self->at += 2;
          if (text[9] != '\0')
            lose (self, "what a program is told to run stands behind an equals sign");
        }
      else
        skip_long_option (self, text);
    }
}

/* --- what is run -------------------------------------------------------------------------------------- */

static void
mark (Unwrap *self, guint flag)
{
  g_array_index (self->parser->line->commands, PrismShellCommand, self->index).flags |= flag;
}

static void
run_words (Unwrap *self, guint from, guint n, guint flags)
{
  guint inner;

  if (n == 0 || !prism_shell_enter (self->parser))
    return;
  inner = prism_shell_add_command (self->parser, self->first + from, n, flags | PRISM_SHELL_COMMAND_WRAPPED);
  prism_shell_unwrap (self->parser, inner);
  g_array_index (self->parser->line->commands, PrismShellCommand, inner).end = self->parser->line->commands->len;
  prism_shell_leave (self->parser);
}

static void
run_line (Unwrap *self, guint from, guint n)
{
  g_autoptr (GString) text = g_string_new (NULL);

  if (n == 0 || !prism_shell_enter (self->parser))
    return;
  for (guint i = from; i < from + n; i++)
    {
      const char *word = text_at (self, i);

      if (word == NULL)
        {
          lose (self, "a line for a shell is known only once it runs");
          word = prism_shell_line_text (self->parser->line, word_at (self, i));
        }
      g_string_append_printf (text, "%s%s", i > from ? " " : "", word);
    }
  prism_shell_parse_text (self->parser, text->str, text->len);
  prism_shell_leave (self->parser);
}

static gboolean
is_assignment (const char *text)
{
  gsize length = 0;

  while (g_ascii_isalnum (text[length]) || text[length] == '_')
    length++;
  return length > 0 && text[length] == '=';
}

static void
skip_assignments (Unwrap *self)
{
  while (self->at < self->n)
    {
      const PrismShellWord *word = word_at (self, self->at);
      const char *text = prism_shell_line_text (self->parser->line, word);

      /* A value may be anything; a name that is not seen may be a program. */
      if (!is_assignment (text) || (word->flags & PRISM_WORD_SPLITS))
        return;
      self->at++;
      prism_shell_note_uncertain (self->parser, "a program that runs others changes its environment");
    }
}

static void
unwrap_rest (Unwrap *self)
{
  guint flags = self->runner->runs == RUNS_OPEN ? PRISM_SHELL_COMMAND_OPEN : 0;

  skip_options (self, NULL);
  if (self->runner->runs == RUNS_ENV)
    {
      if (self->at > 1)
        prism_shell_note_uncertain (self->parser, "a program that runs others changes its environment");
      skip_assignments (self);
    }
  self->at += self->runner->operands;
  if (self->lost || self->at >= self->n)
    return;
  if (self->runner->runs == RUNS_LINE)
    run_line (self, self->at, self->n - self->at);
  else
    run_words (self, self->at, self->n - self->at, flags);
}

static void
unwrap_switch (Unwrap *self)
{
  int code = -1;
  guint operands = self->runner->operands;

  while (self->at < self->n && !self->lost)
    {
      guint before = self->at;

      skip_options (self, &code);
      if (code >= 0 || self->at >= self->n || self->lost)
        break;
      /* Options may follow operands; what follows them in turn is a command. */
      if (operands == 0 && self->runner->operands > 0)
        {
          run_words (self, self->at, self->n - self->at, 0);
          return;
        }
      operands -= operands > 0;
      self->at = MAX (self->at, before) + 1;
    }
  if (code >= 0 && (guint)code < self->n)
    run_line (self, (guint)code, 1);
}

/* -c and a line, a file, or what comes in. */
static void
unwrap_shell (Unwrap *self)
{
  gboolean code = FALSE, reads = FALSE;

  for (; self->at < self->n; self->at++)
    {
      const char *text = text_at (self, self->at);

      if (text == NULL)
        {
          lose (self, "what a shell is told to run is known only once it runs");
          return;
        }
      if ((text[0] != '-' && text[0] != '+') || text[1] == '\0')
        break;
      if (g_str_equal (text, "--"))
        {
          self->at++;
          break;
        }
      if (text[1] == '-')
        {
          if (!list_has ("login noprofile norc posix verbose", text + 2, strlen (text + 2)))
            lose (self, "an option of a shell is not known here");
          continue;
        }
      code |= strchr (text, 'c') != NULL;
      reads |= strchr (text, 's') != NULL;
      if (strpbrk (text + 1, "oO") != NULL)
        self->at++;
      if (strchr (text, 'O') != NULL)
        lose (self, "an option of a shell changes how it reads");
      if (text[strspn (text, "-+abcefhiklmnprstuvxBCEHPTDoO")] != '\0')
        lose (self, "an option of a shell is not known here");
    }
  if (code && self->at < self->n)
    run_line (self, self->at, 1);
  else if (code)
    lose (self, "a shell is told to run a line, and there is none");
  else if (!code
           && (reads || self->at >= self->n || g_strcmp0 (text_at (self, self->at), "-") == 0
               || g_strcmp0 (text_at (self, self->at), "/dev/stdin") == 0))
    mark (self, PRISM_SHELL_COMMAND_READS_CODE);
}

static gboolean
is_word (const Unwrap *self, guint i, const char *text)
{
  return g_strcmp0 (text_at (self, i), text) == 0;
}

static void
unwrap_find (Unwrap *self)
{
  for (; self->at < self->n; self->at++)
    {
      guint from = self->at + 1, end = from;

      if (!is_word (self, self->at, "-exec") && !is_word (self, self->at, "-execdir")
          && !is_word (self, self->at, "-ok") && !is_word (self, self->at, "-okdir"))
        continue;
      while (end < self->n && !is_word (self, end, ";") && !(is_word (self, end, "+") && is_word (self, end - 1, "{}")))
        end++;
      run_words (self, from, end - from, PRISM_SHELL_COMMAND_OPEN);
      self->at = end;
    }
}

static void
unwrap_code (Unwrap *self)
{
  while (self->at < self->n)
    {
      const char *text = text_at (self, self->at);

      if (text == NULL || text[0] != '-' || (text[1] != '\0' && strpbrk (text, "cemrpS") != NULL))
        return;
      if (text[1] == '\0')
        break;
      self->at++;
    }
  mark (self, PRISM_SHELL_COMMAND_READS_CODE);
}

static void
unwrap_first (Unwrap *self)
{
  skip_options (self, NULL);
  if (!self->lost && self->at + 1 < self->n)
    run_line (self, self->at, 1);
}

/* `set` is everywhere, and nearly always harmless. */
static gboolean
is_harmless_set (Unwrap *self)
{
  for (guint i = 1; i < self->n; i++)
    {
      const char *text = text_at (self, i);

      if (text == NULL)
        return FALSE;
      if ((text[0] == '-' || text[0] == '+') && text[1] != '\0' && text[1 + strspn (text + 1, "euxofvC")] == '\0')
        continue;
      if (!list_has ("pipefail errexit nounset noglob noclobber verbose", text, strlen (text)))
        return FALSE;
    }
  return TRUE;
}

/* These may hand text to what computes it. */
static void
check_builtin (Unwrap *self, const char *program)
{
  if (g_str_equal (program, "set") && !is_harmless_set (self))
    prism_shell_note_uncertain (self->parser, "set changes how the rest of the line is read");
  if (!list_has ("export readonly unset read printf test [ wait getopts", program, strlen (program)))
    return;
  for (guint i = 1; i < self->n; i++)
    {
      const PrismShellWord *word = word_at (self, i);
      const char *text = prism_shell_line_text (self->parser->line, word);

      if ((list_has ("export readonly", program, strlen (program)) && is_assignment (text))
          || (strchr (text, '[') != NULL && word->length > 1))
        prism_shell_note_uncertain (self->parser, "what the shell itself does with it may run more");
    }
}

static void
unwrap_by (Unwrap *self)
{
  switch (self->runner->runs)
    {
    case RUNS_REST:
    case RUNS_OPEN:
    case RUNS_LINE:
    case RUNS_ENV:
      unwrap_rest (self);
      break;
    case RUNS_SHELL:
      unwrap_shell (self);
      break;
    case RUNS_SWITCH:
      unwrap_switch (self);
      break;
    case RUNS_FIND:
      unwrap_find (self);
      break;
    case RUNS_EVAL:
      run_line (self, self->at, self->n - self->at);
      prism_shell_note_uncertain (self->parser, "eval runs text");
      break;
    case RUNS_FIRST:
      unwrap_first (self);
      break;
    case RUNS_CODE:
      unwrap_code (self);
      break;
    case RUNS_DARK:
    default:
      prism_shell_note_uncertain (self->parser, "it changes what the shell, or a program, does with the rest");
      break;
    }
}

/* `command -v git` asks, and runs nothing. */
static gboolean
only_asks (const Unwrap *self, const char *program)
{
  return g_str_equal (program, "command") && (is_word (self, 1, "-v") || is_word (self, 1, "-V"));
}

void
prism_shell_unwrap (PrismShellParser *self, guint index)
{
  const PrismShellCommand *command = prism_shell_line_command (self->line, index);
  Unwrap unwrap = { .parser = self, .index = index, .at = 1 };
  g_autofree char *program = NULL;

  unwrap.first = command->first + command->n_assignments;
  unwrap.n = command->n_words;
  if (command->n_words == 0 || (command->flags & PRISM_SHELL_COMMAND_FUNCTION) != 0)
    return;
  if (text_at (&unwrap, 0) == NULL)
    {
      prism_shell_note_uncertain (self, "which program runs is known only once it runs");
      return;
    }
  program = g_strdup (prism_shell_base_name (text_at (&unwrap, 0)));
  check_builtin (&unwrap, program);
  unwrap.runner = find_runner (program);
  if (unwrap.runner != NULL && !only_asks (&unwrap, program))
    unwrap_by (&unwrap);
  if (g_str_equal (program, "time") && unwrap.n == 1)
    prism_shell_note_uncertain (self, "time is a word of some shells and a program for others");
}
