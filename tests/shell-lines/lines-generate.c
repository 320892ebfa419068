/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Lines as a model, or somebody who wants to get past a rule, might write them: a grammar
 * of what shells read, with all that POSIX knows and some of what only others do, and then,
 * in every third line, characters that got lost, doubled, or in the wrong place. */
#include "lines.h"

#include <string.h>

typedef struct
{
  GRand *random;
  GString *out;
  guint depth;
  guint functions;
} Make;

static guint
pick (Make *self, guint n)
{
  return (guint)g_rand_int_range (self->random, 0, (gint32)n);
}

#define ONE_OF(self, list) ((list)[pick (self, G_N_ELEMENTS (list))])

static void put_list (Make *self);
static void put_command (Make *self);

static void
put (Make *self, const char *text)
{
  g_string_append (self->out, text);
}

static void
put_name (Make *self)
{
  static const char *const names[] = { "aa", "bb",  "cc",    "no",    "git", "rm", "curl",
                                       "ls", "env", "xargs", "touch", "x-y", "q.z" };

  put (self, ONE_OF (self, names));
}

static void
put_blank (Make *self)
{
  static const char *const blanks[] = { " ", " ", " ", " ", "  ", "\t", " \\\n", "\\\n " };

  put (self, ONE_OF (self, blanks));
}

static void
put_substitution (Make *self)
{
  gsize start = self->out->len;
  guint form = pick (self, 10);

  if (form < 7)
    {
      put (self, form == 0 ? "$( " : "$(");
      put_list (self);
      put (self, ")");
      return;
    }
  put (self, "`");
  put_list (self);
  /* What stands in backticks is escaped once more, and quotes are another matter. */
  for (gsize i = start + 1; i < self->out->len; i++)
    if (strchr ("`\\", self->out->str[i]) != NULL || (self->out->str[i] == '$' && pick (self, 4) == 0))
      g_string_insert_c (self->out, (gssize)i++, '\\');
  put (self, "`");
}

static void
put_expansion (Make *self)
{
  static const char *const plain[] = { "$HOME",   "$x",         "${x}",      "$1",       "$@",
                                       "$*",      "$?",         "$#",        "${x:-aa}", "${x-}",
                                       "${#x}",   "${HOME%/*}", "${x:+b b}", "$((1+2))", "$(( 3 * (4 - 1) ))",
                                       "${x:=v}", "${x/a/b}",   "$$" };

  if (self->depth < 4 && pick (self, 2) == 0)
    {
      self->depth++;
      put_substitution (self);
      self->depth--;
    }
  else if (self->depth < 4 && pick (self, 8) == 0)
    {
      self->depth++;
      put (self, "${x:-");
      put_substitution (self);
      put (self, "}");
      self->depth--;
    }
  else
    put (self, ONE_OF (self, plain));
}

static void
put_piece (Make *self)
{
  static const char *const plain[] = { "a", "bc", "-n",  "--opt=v", "x/y", ".", "1", "=",
                                       "%", "@",  "a~b", "#",       "!",   "]", "^", "," };
  static const char *const escaped[] = {
    "\\;", "\\ ", "\\$x", "\\\\", "\\'", "\\\"", "\\a", "\\\n", "\\|", "\\*", "\\`"
  };
  static const char *const single[] = {
    "''", "'a b'", "';'", "'$x'", "'$(aa)'", "'\\'", "'a\nb'", "'`'", "'#'", "'|&'"
  };
  static const char *const globs[] = { "*.c", "?", "[ab]", "*", "/etc/p*", "o?e.c" };
  static const char *const odd[] = { "$'a\\x62'", "$'\\''", "{a,b}", "{1..3}", "~", "~root", "$\"a\"",
                                     "$[1+1]",    "a{b}",   "{}",    "$",      "[", "\r" };
  guint form = pick (self, 24);

  if (form < 10)
    put (self, ONE_OF (self, plain));
  else if (form < 13)
    put (self, ONE_OF (self, escaped));
  else if (form < 16)
    put (self, ONE_OF (self, single));
  else if (form < 17)
    put (self, ONE_OF (self, globs));
  else if (form < 18)
    put (self, ONE_OF (self, odd));
  else if (form < 20)
    put_expansion (self);
  else
    {
      static const char *const inside[] = { "a b", ";", "\\\"", "\\$", "\\\\", "\\a", "'", "x\\\ny", "\\`", "#", "" };

      put (self, "\"");
      for (guint n = pick (self, 3); n > 0; n--)
        pick (self, 3) == 0 ? put_expansion (self) : put (self, ONE_OF (self, inside));
      put (self, "\"");
    }
}

static void
put_word (Make *self)
{
  for (guint n = 1 + pick (self, 2); n > 0; n--)
    put_piece (self);
}

/* A name, whole or in pieces that a shell puts together. */
static void
put_program (Make *self)
{
  static const char *const spelled[] = { "g\"i\"t",     "r''m", "\\ls",       "a\\\na", "'bb'",
                                         "\"cc\"",      "$x",   "$(echo aa)", "$'aa'",  "./aa",
                                         "/nowhere/aa", "no",   "{aa,bb}",    "gi?",    "r\\m" };

  pick (self, 6) == 0 ? put (self, ONE_OF (self, spelled)) : put_name (self);
}

static void
put_wrapper (Make *self)
{
  static const char *const wrappers[] = { "command ",         "exec ",      "eval ",         "time ",
                                          "builtin ",         "! ",         "command -p ",   "env A=1 ",
                                          "xargs ",           "nice -n 1 ", "sudo ",         "timeout 1 ",
                                          "trap 'aa' EXIT; ", "set -- ",    "eval 'aa;bb' ", "command -v ",
                                          "exec -a n ",       ". ",         "eval \"$x\" ",  "find . -exec ",
                                          "alias ls=rm; " };

  put (self, ONE_OF (self, wrappers));
}

static void
put_redirect (Make *self)
{
  static const char *const plain[] = { ">/dev/null",      "2>&1",        "</dev/null", ">>/dev/null",   "2>/dev/null",
                                       ">|/dev/null",     "<>/dev/null", ">&2",        "0<&-",          "> /dev/null",
                                       "1>\\\n/dev/null", "&>/dev/null", "<<<word",    "{f}>/dev/null", "3</dev/null" };

  put (self, ONE_OF (self, plain));
}

static void
put_heredoc (Make *self)
{
  static const char *const starts[] = { "<<E", "<<'E'", "<<-E", "<<\\E", "<< \"E\"", "2<<E" };
  static const char *const bodies[] = { "text\n",
                                        "$(aa in)\n",
                                        "`bb in`\n",
                                        "\\$(cc)\n",
                                        "'$(aa quoted)'\n",
                                        "E x\n",
                                        " E\n",
                                        "\tE\n",
                                        "$x ${x:-$(cc deep)}\n",
                                        "\"\n" };

  put (self, ONE_OF (self, starts));
  if (pick (self, 3) == 0)
    {
      put_blank (self);
      put_word (self);
    }
  put (self, pick (self, 4) == 0 ? " | bb\n" : "\n");
  for (guint n = pick (self, 3); n > 0; n--)
    put (self, ONE_OF (self, bodies));
  put (self, "E\n");
}

static void
put_simple (Make *self)
{
  static const char *const assignments[] = { "A=1 ", "x=\"$(aa)\" ", "B= ",   "x='a b' ", "IFS=, ",
                                             "C=~ ", "a[0]=1 ",      "D+=x ", "x=$(bb) " };

  if (pick (self, 8) == 0)
    put (self, ONE_OF (self, assignments));
  if (pick (self, 10) == 0)
    {
      put_redirect (self);
      put (self, " ");
    }
  if (pick (self, 8) == 0)
    put_wrapper (self);
  put_program (self);
  for (guint n = pick (self, 4); n > 0; n--)
    {
      put_blank (self);
      put_word (self);
    }
  if (pick (self, 8) == 0)
    {
      put_blank (self);
      put_redirect (self);
    }
  if (self->depth < 3 && pick (self, 16) == 0)
    {
      put (self, " ");
      put_heredoc (self);
    }
}

static void
put_compound (Make *self)
{
  static const char *const before[] = { "(",
                                        "{ ",
                                        "if ",
                                        "while no; do ",
                                        "for x in a \"b c\" $HOME; do ",
                                        "case a in a) ",
                                        "until aa; do ",
                                        "f1() { ",
                                        "for x do ",
                                        "case $x in (a|b) no;; *) ",
                                        "function g1 { ",
                                        "! { ",
                                        "if no; then aa; else " };
  static const char *const after[] = { ")",      "; }",     "; then aa; elif no; then bb; fi",
                                       "; done", "\ndone",  ";; esac",
                                       "; done", "; }; f1", "; done",
                                       "\nesac", "; }; g1", "; }",
                                       "\nfi" };
  guint form = pick (self, G_N_ELEMENTS (before));

  put (self, before[form]);
  put_list (self);
  put (self, after[form]);
  if (pick (self, 6) == 0)
    {
      put (self, " ");
      put_redirect (self);
    }
}

static void
put_odd (Make *self)
{
  static const char *const odd[] = { "[[ a == a ]]",
                                     "[[ $(aa) ]]",
                                     "((1))",
                                     "(( $(bb) ))",
                                     "aa <(bb)",
                                     "cc >(aa)",
                                     "coproc aa",
                                     "arr=(a $(bb))",
                                     "[ -n \"$(aa)\" ]",
                                     "test $(cc)",
                                     "echo $(echo aa)",
                                     "printf '%s' a",
                                     "export A=`bb`",
                                     "read y",
                                     "shift",
                                     ":",
                                     "aa |& bb",
                                     "[ a = a ] && bb",
                                     "true",
                                     "cd /tmp",
                                     "set -e",
                                     "unset x",
                                     "x='a[$(aa)]'; echo $((x))",
                                     "select x in a; do break; done",
                                     "aa &>/dev/null",
                                     "PS4='$(bb)'; set -x; aa" };

  put (self, ONE_OF (self, odd));
}

static void
put_command (Make *self)
{
  guint form = pick (self, 12);

  self->depth++;
  if (form < 8 || self->depth > 4)
    put_simple (self);
  else if (form < 11)
    put_compound (self);
  else
    put_odd (self);
  self->depth--;
}

static void
put_list (Make *self)
{
  static const char *const joins[] = { "; ", " && ", " || ",           " | ",  "\n",     " & ", ";",
                                       "|",  "&&\n", "; # c ' \" `\n", " |\n", " & \\\n" };

  put_command (self);
  for (guint n = pick (self, self->depth > 2 ? 2 : 3); n > 0 && self->out->len < 500; n--)
    {
      put (self, ONE_OF (self, joins));
      put_command (self);
    }
}

static void
damage (Make *self)
{
  static const char special[] = "'\"\\$`(){}[];&|<>\n #*?~!=aE\t";

  for (guint n = 1 + pick (self, 3); n > 0 && self->out->len > 1; n--)
    {
      gsize at = pick (self, (guint)self->out->len);

      switch (pick (self, 3))
        {
        case 0:
          g_string_erase (self->out, (gssize)at, 1);
          break;
        case 1:
          g_string_insert_c (self->out, (gssize)at, special[pick (self, sizeof special - 1)]);
          break;
        default:
          self->out->str[at] = special[pick (self, sizeof special - 1)];
        }
    }
}

char *
lines_generate (GRand *random)
{
  Make make = { .random = random, .out = g_string_new (NULL) };

  put_list (&make);
  if (pick (&make, 3) == 0)
    damage (&make);
  return g_string_free (make.out, FALSE);
}
