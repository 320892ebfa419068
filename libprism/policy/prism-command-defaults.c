/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The built-in denies. They look at programs and their words, never at text: `echo sudo`
 * is harmless, and su""do is not. */
#include "prism-command-defaults-private.h"

#include <string.h>

#include "prism-command-parser-private.h"
#include "prism-path-guard-private.h"

typedef struct
{
  const PrismShellLine *line;
  const PrismShellCommand *command;
} Look;

static const char *
word_text (const Look *self, guint i)
{
  return prism_shell_line_text (self->line, prism_shell_line_word (self->line, self->command, i));
}

/* What it is called, without its folder; empty where that is not known. */
static const char *
program_of (const PrismShellLine *line, const PrismShellCommand *command)
{
  const PrismShellWord *word;

  if (command->n_words == 0 || (command->flags & PRISM_SHELL_COMMAND_FUNCTION) != 0)
    return "";
  word = prism_shell_line_word (line, command, 0);
  return (word->flags & PRISM_WORD_DYNAMIC) != 0 ? "" : prism_shell_base_name (prism_shell_line_text (line, word));
}

static gboolean
is_one_of (const char *text, const char *const *list)
{
  return text[0] != '\0' && g_strv_contains (list, text);
}

/* --- files and devices --------------------------------------------------------------------------- */

static gboolean
is_device (const char *path)
{
  static const char *const begins[] = { "sd",   "hd",    "vd",   "xvd", "nvme", "mmcblk", "dm-", "mapper/",
                                        "loop", "md",    "disk", "mem", "kmem", "nbd",    "sr",  "ram",
                                        "zram", "block", "port", "mtd", "root", "bcache", NULL };
  g_autofree char *clean = path[0] == '/' ? prism_path_simplify (path) : NULL;

  if (clean == NULL || !g_str_has_prefix (clean, "/dev/"))
    return FALSE;
  for (guint i = 0; begins[i] != NULL; i++)
    if (g_str_has_prefix (clean + 5, begins[i]))
      return TRUE;
  return FALSE;
}

/* A folder without which nothing works, or all of what is in it. */
static gboolean
is_vital (const char *path)
{
  static const char *const vital[] = { "/",      "/bin",  "/boot",   "/dev",     "/etc",     "/home", "/lib", "/lib64",
                                       "/opt",   "/proc", "/root",   "/sbin",    "/srv",     "/sys",  "/usr", "/var",
                                       "/Users", "/mnt",  "/System", "/Library", "/private", NULL };
  g_autofree char *name = g_strdup (path);
  g_autofree char *clean = NULL;
  gsize length = strlen (name);

  while (length > 1 && strchr ("*./", name[length - 1]) != NULL)
    name[--length] = '\0';
  if (g_str_equal (name, "~") || g_str_equal (name, "$HOME"))
    return TRUE;
  if (name[0] != '/')
    return FALSE;
  clean = prism_path_simplify (name);
  return g_strv_contains (vital, clean);
}

static gboolean
has_flag (const Look *self, const char *letters, const char *name)
{
  for (guint i = 1; i < self->command->n_words; i++)
    {
      const char *text = word_text (self, i);

      if (g_str_equal (text, "--"))
        return FALSE;
      if (text[0] == '-' && text[1] == '-')
        {
          if (text[2] != '\0' && g_str_has_prefix (name, text + 2))
            return TRUE;
        }
      else if (text[0] == '-' && strpbrk (text + 1, letters) != NULL)
        return TRUE;
    }
  return FALSE;
}

static gboolean
has_operand (const Look *self, gboolean (*is) (const char *text))
{
  for (guint i = 1; i < self->command->n_words; i++)
    if (is (word_text (self, i)))
      return TRUE;
  return FALSE;
}

/* --- programs ------------------------------------------------------------------------------------------ */

static const char *
judge_rm (const Look *self)
{
  if (!has_flag (self, "rR", "recursive"))
    return NULL;
  for (guint i = 1; i < self->command->n_words; i++)
    if (g_str_equal (word_text (self, i), "--no-preserve-root"))
      return "it removes everything";
  return has_operand (self, is_vital) ? "it removes a folder without which nothing works" : NULL;
}

static gboolean
opens_to_all (const char *mode)
{
  static const char *const symbolic[] = {
    "a+rwx", "a=rwx", "+rwx", "=rwx", "ugo+rwx", "ugo=rwx", "o+rwx", "o=rwx", NULL
  };
  gsize length = strlen (mode);

  if (mode[0] != '\0' && mode[strspn (mode, "01234567")] == '\0')
    return length >= 3 && length <= 6 && g_str_has_suffix (mode, "777");
  return g_strv_contains (symbolic, mode);
}

static const char *
judge_chmod (const Look *self)
{
  for (guint i = 1; i < self->command->n_words; i++)
    if (word_text (self, i)[0] != '-')
      return opens_to_all (word_text (self, i)) ? "it lets everybody write" : NULL;
  return NULL;
}

static const char *
judge_dd (const Look *self)
{
  for (guint i = 1; i < self->command->n_words; i++)
    {
      const char *text = word_text (self, i);

      if (g_str_has_prefix (text, "if="))
        return "dd copies raw data";
      if (g_str_has_prefix (text, "of=") && is_device (text + 3))
        return "it writes to a device";
    }
  return NULL;
}

static const char *
judge_find (const Look *self)
{
  gboolean deletes = FALSE;

  for (guint i = 1; i < self->command->n_words; i++)
    deletes |= g_str_equal (word_text (self, i), "-delete");
  return deletes && has_operand (self, is_vital) ? "it removes a folder without which nothing works" : NULL;
}

static const char *
judge_program (const Look *self, const char *program)
{
  static const char *const rights[] = { "sudo", "su", "doas", "pkexec", "sudoedit", "run0", NULL };
  static const char *const writers[] = { "tee",    "cp",         "mv",       "ln",    "install", "shred",
                                         "wipefs", "blkdiscard", "truncate", "rsync", "fdisk",   "sfdisk",
                                         "sgdisk", "parted",     "mkswap",   NULL };

  if (is_one_of (program, rights))
    return "it takes another user's rights";
  if (g_str_equal (program, "mkfs") || g_str_has_prefix (program, "mkfs.") || g_str_equal (program, "mke2fs"))
    return "it makes a file system where another may be";
  if (g_str_equal (program, "rm"))
    return judge_rm (self);
  if (g_str_equal (program, "chmod"))
    return judge_chmod (self);
  if (g_str_equal (program, "dd"))
    return judge_dd (self);
  if (g_str_equal (program, "find"))
    return judge_find (self);
  if (is_one_of (program, writers) && has_operand (self, is_device))
    return "it writes to a device";
  return NULL;
}

static const char *
judge_redirects (const Look *self)
{
  for (guint i = 0; i < self->command->n_redirects; i++)
    {
      const PrismShellRedirect *redirect =
          &g_array_index (self->line->redirects, PrismShellRedirect, self->command->first_redirect + i);

      if (redirect->kind == PRISM_REDIRECT_WRITE && is_device (prism_shell_line_text (self->line, &redirect->target)))
        return "it writes to a device";
    }
  return NULL;
}

/* --- what comes from elsewhere and is run --------------------------------------------------------------------- */

/* How many of the commands before each index are such. */
typedef struct
{
  guint *sources, *readers;
} Counts;

static gboolean
is_source (const char *program)
{
  static const char *const sources[] = { "curl",   "wget",   "fetch",  "aria2c",  "lynx",    "links",    "http",
                                         "https",  "xh",     "nc",     "ncat",    "netcat",  "socat",    "ftp",
                                         "tftp",   "base64", "base32", "basenc",  "xxd",     "uudecode", "openssl",
                                         "gunzip", "zcat",   "unxz",   "xzcat",   "bunzip2", "bzcat",    "gzip",
                                         "xz",     "bzip2",  "zstd",   "zstdcat", NULL };

  return is_one_of (program, sources);
}

static gboolean
is_shell (const char *program)
{
  static const char *const shells[] = { "sh",   "bash", "dash", "ash",  "zsh",    "ksh", "mksh", "rbash",
                                        "fish", "csh",  "tcsh", "eval", "source", ".",   NULL };

  return is_one_of (program, shells);
}

static void
count (const PrismShellLine *line, Counts *counts)
{
  guint n = line->commands->len;

  counts->sources = g_new0 (guint, n + 1);
  counts->readers = g_new0 (guint, n + 1);
  for (guint i = 0; i < n; i++)
    {
      const PrismShellCommand *command = prism_shell_line_command (line, i);

      counts->sources[i + 1] = counts->sources[i] + is_source (program_of (line, command));
      counts->readers[i + 1] = counts->readers[i] + ((command->flags & PRISM_SHELL_COMMAND_READS_CODE) != 0);
    }
}

static gboolean
runs_what_comes_in (const PrismShellLine *line, const Counts *counts, guint *index)
{
  for (guint i = 0; i < line->pipes->len; i++)
    {
      const PrismShellPipe *pipe = &g_array_index (line->pipes, PrismShellPipe, i);

      if (counts->sources[pipe->to] > counts->sources[pipe->from]
          && counts->readers[pipe->end] > counts->readers[pipe->to])
        {
          *index = pipe->from;
          return TRUE;
        }
    }
  return FALSE;
}

/* sh -c "$(curl ...)", eval `...`, bash <(...), $(...) itself. */
static gboolean
runs_what_is_expanded (const PrismShellLine *line, const Counts *counts, guint i)
{
  const PrismShellCommand *command = prism_shell_line_command (line, i);
  const char *program = program_of (line, command);

  if (command->expanded <= i + 1 || counts->sources[command->expanded] == counts->sources[i + 1])
    return FALSE;
  return is_shell (program) || (command->n_words > 0 && program[0] == '\0');
}

/* A function that calls itself, more than once at a time. */
static gboolean
is_fork_bomb (const PrismShellLine *line, guint i)
{
  const PrismShellCommand *command = prism_shell_line_command (line, i);
  const char *name;

  if ((command->flags & PRISM_SHELL_COMMAND_FUNCTION) == 0 || command->n_words == 0
      || (line->features & (PRISM_SHELL_PIPE | PRISM_SHELL_BACKGROUND)) == 0)
    return FALSE;
  name = prism_shell_line_text (line, prism_shell_line_word (line, command, 0));
  for (guint below = i + 1; below < MIN (command->end, i + 64); below++)
    {
      const PrismShellCommand *inner = prism_shell_line_command (line, below);

      if (inner->n_words > 0 && (inner->flags & PRISM_SHELL_COMMAND_FUNCTION) == 0
          && g_str_equal (prism_shell_line_text (line, prism_shell_line_word (line, inner, 0)), name))
        return TRUE;
    }
  return FALSE;
}

static const char *
judge_command (const PrismShellLine *line, const Counts *counts, guint i)
{
  Look look = { line, prism_shell_line_command (line, i) };
  const char *why = judge_redirects (&look);

  if (why == NULL)
    why = judge_program (&look, program_of (line, look.command));
  if (why == NULL && runs_what_is_expanded (line, counts, i))
    why = "it runs what it fetches or decodes";
  if (why == NULL && is_fork_bomb (line, i))
    why = "it starts itself without end";
  return why;
}

const char *
prism_command_default_deny (const PrismShellLine *line, guint *index)
{
  Counts counts;
  const char *why = NULL;

  count (line, &counts);
  for (*index = 0; *index < line->commands->len && why == NULL; (*index)++)
    why = judge_command (line, &counts, *index);
  if (why != NULL)
    (*index)--;
  else if (runs_what_comes_in (line, &counts, index))
    why = "it runs what it fetches or decodes";
  g_free (counts.sources);
  g_free (counts.readers);
  return why;
}
