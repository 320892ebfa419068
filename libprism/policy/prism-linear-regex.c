/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A pattern becomes a tree, the tree a non-deterministic automaton, and that is run over the
 * text with the set of all states it may be in: a state is in the set once, however many
 * ways lead there, so nothing is tried twice. */
#include "prism-linear-regex-private.h"

#include <string.h>

#include "prism-policy-error.h"

#define MAX_NODES  1024
#define MAX_TREE   8192
#define MAX_DEPTH  32
#define MAX_REPEAT 255
#define NO_LIMIT   G_MAXUINT

typedef struct
{
  guint32 bits[8];
} ByteSet;

typedef enum
{
  TREE_EMPTY,
  TREE_SET,
  TREE_CAT,
  TREE_ALT,
  TREE_REPEAT,
  TREE_ASSERT,
} TreeType;

typedef struct
{
  TreeType type;
  guint a, b; /* children; of a set: which; of an assertion: which byte names it */
  guint min, max;
} Tree;

typedef enum
{
  NODE_SET,
  NODE_SPLIT,
  NODE_ASSERT,
  NODE_MATCH,
} NodeType;

typedef struct
{
  NodeType type;
  guint out, other; /* where to; of a set and an assertion `other` says which */
} Node;

struct _PrismLinearRegex
{
  GArray *sets;  /* ByteSet */
  GArray *nodes; /* Node */
  guint start;
  ByteSet first;     /* with what a match can begin, if it has a byte at all */
  gboolean nullable; /* it may have none */
  char literal[32];  /* with what every match begins, as far as that is known */
  gsize literal_length;
};

typedef struct
{
  PrismLinearRegex *regex;
  GArray *tree;
  const char *pattern, *at;
  guint depth;
  gboolean ignore_case;
  const char *wrong;
} Parser;

/* --- sets of bytes --------------------------------------------------------------------- */

static void
set_add (ByteSet *set, guint byte)
{
  set->bits[byte / 32] |= 1u << (byte % 32);
}

static gboolean
set_has (const ByteSet *set, guint byte)
{
  return (set->bits[byte / 32] >> (byte % 32)) & 1;
}

static void
set_invert (ByteSet *set)
{
  for (guint i = 0; i < 8; i++)
    set->bits[i] = ~set->bits[i];
}

/* A letter in either case is in both. */
static void
set_fold_case (ByteSet *set)
{
  for (guint byte = 'a'; byte <= 'z'; byte++)
    if (set_has (set, byte) || set_has (set, byte - 32))
      {
        set_add (set, byte);
        set_add (set, byte - 32);
      }
}

static gboolean
is_word_byte (guint byte)
{
  return byte < 0x80 && (g_ascii_isalnum ((char)byte) || byte == '_');
}

static gboolean
is_in_class (guint byte, char letter)
{
  if (letter == 'd')
    return g_ascii_isdigit ((char)byte);
  return letter == 'w' ? is_word_byte (byte) : byte == ' ' || (byte >= '\t' && byte <= '\r');
}

/* \d, \w, \s and their opposites. */
static gboolean
set_add_class (ByteSet *set, char letter)
{
  ByteSet class = { { 0 } };

  if (strchr ("dws", g_ascii_tolower (letter)) == NULL || letter == '\0')
    return FALSE;
  for (guint byte = 0; byte < 0x80; byte++)
    if (is_in_class (byte, g_ascii_tolower (letter)))
      set_add (&class, byte);
  if (g_ascii_isupper (letter))
    set_invert (&class);
  for (guint i = 0; i < 8; i++)
    set->bits[i] |= class.bits[i];
  return TRUE;
}

/* --- from text to tree -------------------------------------------------------------------- */

static guint parse_alternatives (Parser *self);

static guint
fail (Parser *self, const char *wrong)
{
  if (self->wrong == NULL)
    self->wrong = wrong;
  return 0;
}

static guint
add_tree (Parser *self, Tree tree)
{
  if (self->tree->len >= MAX_TREE)
    return fail (self, "it is too long");
  g_array_append_val (self->tree, tree);
  return self->tree->len - 1;
}

static guint
add_set_as_it_is (Parser *self, ByteSet set)
{
  g_array_append_val (self->regex->sets, set);
  return add_tree (self, (Tree){ .type = TREE_SET, .a = self->regex->sets->len - 1 });
}

static guint
add_set (Parser *self, ByteSet set)
{
  if (self->ignore_case)
    set_fold_case (&set);
  return add_set_as_it_is (self, set);
}

/* What stands behind a backslash and is one byte; -1: it is none. */
static int
escaped_byte (char letter)
{
  switch (letter)
    {
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    default:
      return g_ascii_ispunct (letter) || letter == ' ' ? letter : -1;
    }
}

static guint
parse_escape (Parser *self)
{
  ByteSet set = { { 0 } };
  char letter = *self->at;
  int byte = escaped_byte (letter);

  if (letter == '\0')
    return fail (self, "it ends with a backslash");
  self->at++;
  if (letter == 'b' || letter == 'B')
    return add_tree (self, (Tree){ .type = TREE_ASSERT, .a = (guchar)letter });
  if (byte >= 0)
    set_add (&set, (guint)byte);
  else if (!set_add_class (&set, letter))
    return fail (self, g_ascii_isdigit (letter) ? "a backward reference cannot be matched in linear time"
                                                : "there is no such escape");
  return add_set (self, set);
}

/* One member of a class, or the end of a range; -1: it was a class of its own, or wrong. */
static int
parse_member (Parser *self, ByteSet *set)
{
  char letter = *self->at++;
  int byte = (guchar)letter;

  if (byte >= 0x80)
    return (int)fail (self, "a class holds ASCII only") - 1;
  if (letter == '[' && (*self->at == ':' || *self->at == '.' || *self->at == '='))
    return (int)fail (self, "classes with a name are not understood; \\d, \\w and \\s are") - 1;
  if (letter != '\\')
    return byte;
  if (*self->at == '\0')
    return (int)fail (self, "it ends with a backslash") - 1;
  letter = *self->at++;
  byte = escaped_byte (letter);
  if (byte < 0 && !set_add_class (set, letter))
    fail (self, "there is no such escape");
  return byte;
}

static void
parse_range (Parser *self, ByteSet *set)
{
  int first = parse_member (self, set), last = first;

  if (first < 0)
    return;
  if (self->at[0] == '-' && self->at[1] != ']' && self->at[1] != '\0')
    {
      self->at++;
      last = parse_member (self, set);
      if (last < first)
        {
          fail (self, "a range of a class ends before it begins");
          return;
        }
    }
  for (int byte = first; byte <= last; byte++)
    set_add (set, (guint)byte);
}

static guint
parse_class (Parser *self)
{
  ByteSet set = { { 0 } };
  gboolean invert = *self->at == '^';
  gboolean first = TRUE;

  self->at += invert;
  for (; first || *self->at != ']'; first = FALSE)
    {
      if (*self->at == '\0')
        return fail (self, "a class has no end");
      parse_range (self, &set);
      if (self->wrong != NULL)
        return 0;
    }
  self->at++;
  if (self->ignore_case)
    set_fold_case (&set);
  if (!invert)
    return add_set (self, set);
  set_invert (&set);
  return add_set_as_it_is (self, set);
}

static guint
parse_group (Parser *self)
{
  guint inner;

  if (self->at[0] == '?')
    {
      if (self->at[1] != ':')
        return fail (self, "look-around and other groups that begin with ? cannot be matched in linear time");
      self->at += 2;
    }
  if (++self->depth > MAX_DEPTH)
    return fail (self, "groups are nested too deep");
  inner = parse_alternatives (self);
  self->depth--;
  if (self->wrong != NULL)
    return 0;
  if (*self->at != ')')
    return fail (self, "a group has no end");
  self->at++;
  return inner;
}

static guint
parse_atom (Parser *self)
{
  ByteSet set = { { 0 } };
  char letter = *self->at++;

  switch (letter)
    {
    case '(':
      return parse_group (self);
    case '[':
      return parse_class (self);
    case '\\':
      return parse_escape (self);
    case '.':
      set_invert (&set);
      return add_set (self, set);
    case '^':
    case '$':
      return add_tree (self, (Tree){ .type = TREE_ASSERT, .a = (guchar)letter });
    case '*':
    case '+':
    case '?':
    case '{':
      return fail (self, "a repetition has nothing to repeat");
    default:
      set_add (&set, (guchar)letter);
      return add_set (self, set);
    }
}

static gboolean
parse_number (Parser *self, guint *number)
{
  if (!g_ascii_isdigit (*self->at))
    return FALSE;
  for (*number = 0; g_ascii_isdigit (*self->at) && *number <= MAX_REPEAT; self->at++)
    *number = *number * 10 + (guint)(*self->at - '0');
  return *number <= MAX_REPEAT;
}

static gboolean
parse_braces (Parser *self, guint *min, guint *max)
{
  if (!parse_number (self, min))
    return FALSE;
  *max = *min;
  if (*self->at == ',')
    {
      self->at++;
      *max = NO_LIMIT;
      if (*self->at != '}' && !parse_number (self, max))
        return FALSE;
    }
  if (*self->at != '}' || *max < *min)
    return FALSE;
  self->at++;
  return TRUE;
}

static guint
parse_repeated (Parser *self)
{
  guint tree = parse_atom (self);

  while (self->wrong == NULL && *self->at != '\0' && strchr ("*+?{", *self->at) != NULL)
    {
      guint min = 0, max = NO_LIMIT;
      char letter = *self->at++;

      if (letter == '{' && !parse_braces (self, &min, &max))
        return fail (self, "{m}, {m,} or {m,n} is expected, of numbers up to 255");
      if (letter == '+')
        min = 1;
      if (letter == '?')
        max = 1;
      /* A lazy or possessive one matches the same texts. */
      if (*self->at == '?' || *self->at == '+')
        self->at++;
      tree = add_tree (self, (Tree){ .type = TREE_REPEAT, .a = tree, .min = min, .max = max });
    }
  return tree;
}

static guint
parse_sequence (Parser *self)
{
  guint tree = add_tree (self, (Tree){ .type = TREE_EMPTY });

  while (self->wrong == NULL && *self->at != '\0' && *self->at != '|' && *self->at != ')')
    {
      guint next = parse_repeated (self);

      tree = add_tree (self, (Tree){ .type = TREE_CAT, .a = tree, .b = next });
    }
  return tree;
}

static guint
parse_alternatives (Parser *self)
{
  guint tree = parse_sequence (self);

  while (self->wrong == NULL && *self->at == '|')
    {
      guint next;

      self->at++;
      next = parse_sequence (self);
      tree = add_tree (self, (Tree){ .type = TREE_ALT, .a = tree, .b = next });
    }
  return tree;
}

/* --- from tree to automaton ----------------------------------------------------------------- */

static guint
add_node (Parser *self, NodeType type, guint out, guint other)
{
  Node node = { type, out, other };

  if (self->regex->nodes->len >= MAX_NODES)
    return fail (self, "it is too big: its repetitions multiply");
  g_array_append_val (self->regex->nodes, node);
  return self->regex->nodes->len - 1;
}

static guint build (Parser *self, guint tree, guint next);

static guint
build_repeat (Parser *self, const Tree *tree, guint next)
{
  guint start = next;

  if (tree->max == NO_LIMIT)
    {
      guint inner;

      start = add_node (self, NODE_SPLIT, 0, next);
      inner = build (self, tree->a, start);
      g_array_index (self->regex->nodes, Node, start).out = inner;
    }
  else
    for (guint i = tree->min; i < tree->max && self->wrong == NULL; i++)
      start = add_node (self, NODE_SPLIT, build (self, tree->a, start), next);
  for (guint i = 0; i < tree->min && self->wrong == NULL; i++)
    start = build (self, tree->a, start);
  return start;
}

/* Where what matches @index begins, if @next follows it. */
static guint
build (Parser *self, guint index, guint next)
{
  Tree tree = g_array_index (self->tree, Tree, index);

  if (self->wrong != NULL)
    return 0;
  switch (tree.type)
    {
    case TREE_EMPTY:
      return next;
    case TREE_SET:
      return add_node (self, NODE_SET, next, tree.a);
    case TREE_ASSERT:
      return add_node (self, NODE_ASSERT, next, tree.a);
    case TREE_CAT:
      return build (self, tree.a, build (self, tree.b, next));
    case TREE_ALT:
      {
        guint a = build (self, tree.a, next);

        return add_node (self, NODE_SPLIT, a, build (self, tree.b, next));
      }
    case TREE_REPEAT:
    default:
      return build_repeat (self, &tree, next);
    }
}

/* --- running it --------------------------------------------------------------------------------- */

typedef struct
{
  guint n;
  guint list[MAX_NODES];
  guint at[MAX_NODES]; /* where in the list a node is, if it is: no need to clear it */
} States;

typedef struct
{
  const PrismLinearRegex *regex;
  const guchar *text;
  gsize length, position;
  gboolean matched;
} Run;

static gboolean
has_state (const States *states, guint node)
{
  return states->at[node] < states->n && states->list[states->at[node]] == node;
}

static gboolean
assertion_holds (const Run *run, guint which)
{
  gboolean before, after;

  if (which == '^')
    return run->position == 0;
  if (which == '$')
    return run->position == run->length;
  before = run->position > 0 && is_word_byte (run->text[run->position - 1]);
  after = run->position < run->length && is_word_byte (run->text[run->position]);
  return (before != after) == (which == 'b');
}

/* A node, and all that it leads to without a byte. */
static void
add_state (Run *run, States *states, guint first)
{
  guint stack[MAX_NODES + 1];
  guint n = 0;

  stack[n++] = first;
  while (n > 0)
    {
      guint index = stack[--n];
      const Node *node = &g_array_index (run->regex->nodes, Node, index);

      if (has_state (states, index))
        continue;
      states->at[index] = states->n;
      states->list[states->n++] = index;
      if (node->type == NODE_MATCH)
        run->matched = TRUE;
      else if (node->type == NODE_SPLIT)
        {
          if (!has_state (states, node->other))
            stack[n++] = node->other;
          if (n <= MAX_NODES && !has_state (states, node->out))
            stack[n++] = node->out;
        }
      else if (node->type == NODE_ASSERT && assertion_holds (run, node->other))
        stack[n++] = node->out;
    }
}

/* What leads to a byte without one; an assertion may hold. */
static void
find_first (PrismLinearRegex *self)
{
  g_autofree gboolean *seen = g_new0 (gboolean, self->nodes->len);
  g_autofree guint *stack = g_new (guint, 2 * self->nodes->len + 2);
  guint n = 0;

  stack[n++] = self->start;
  while (n > 0)
    {
      guint index = stack[--n];
      const Node *node = &g_array_index (self->nodes, Node, index);

      if (seen[index])
        continue;
      seen[index] = TRUE;
      if (node->type == NODE_MATCH)
        self->nullable = TRUE;
      else if (node->type == NODE_SET)
        for (guint i = 0; i < 8; i++)
          self->first.bits[i] |= g_array_index (self->sets, ByteSet, node->other).bits[i];
      else
        {
          stack[n++] = node->out;
          if (node->type == NODE_SPLIT)
            stack[n++] = node->other;
        }
    }
}

/* The one byte of a set; -1: there are others. */
static int
only_byte (const ByteSet *set)
{
  int only = -1;

  for (guint byte = 0; byte < 256; byte++)
    if (set_has (set, byte))
      {
        if (only >= 0)
          return -1;
        only = (int)byte;
      }
  return only;
}

static void
find_literal (PrismLinearRegex *self)
{
  guint index = self->start;

  while (self->literal_length < sizeof self->literal)
    {
      const Node *node = &g_array_index (self->nodes, Node, index);
      int byte = node->type == NODE_SET ? only_byte (&g_array_index (self->sets, ByteSet, node->other)) : -1;

      if (byte >= 0)
        self->literal[self->literal_length++] = (char)byte;
      else if (node->type != NODE_ASSERT)
        return;
      index = node->out;
    }
}

gboolean
prism_linear_regex_matches (const PrismLinearRegex *self, const char *text, gsize length)
{
  Run run = { .regex = self, .text = (const guchar *)text, .length = length };
  g_autofree States *memory = NULL;
  States *now, *next;

  if (self->literal_length > 0 && memmem (text, length, self->literal, self->literal_length) == NULL)
    return FALSE;
  now = memory = g_new0 (States, 2);
  next = now + 1;
  for (run.position = 0; run.position <= length && !run.matched; run.position++)
    {
      States *swap = now;

      /* Where nothing is begun, and nothing can begin, nothing is to be done. */
      if (now->n == 0 && !self->nullable)
        while (run.position < length && !set_has (&self->first, run.text[run.position]))
          run.position++;
      add_state (&run, now, self->start);
      if (run.matched || run.position == length)
        break;
      next->n = 0;
      run.position++;
      for (guint i = 0; i < now->n; i++)
        {
          const Node *node = &g_array_index (self->nodes, Node, now->list[i]);

          if (node->type == NODE_SET
              && set_has (&g_array_index (self->sets, ByteSet, node->other), run.text[run.position - 1]))
            add_state (&run, next, node->out);
        }
      run.position--;
      now = next;
      next = swap;
    }
  return run.matched;
}

/* --- making one ----------------------------------------------------------------------------------- */

void
prism_linear_regex_free (PrismLinearRegex *self)
{
  g_array_unref (self->sets);
  g_array_unref (self->nodes);
  g_free (self);
}

static void
compile (Parser *self)
{
  guint tree;

  if (g_str_has_prefix (self->at, "(?i)"))
    {
      self->ignore_case = TRUE;
      self->at += 4;
    }
  tree = parse_alternatives (self);
  if (self->wrong == NULL && *self->at == ')')
    fail (self, "a group ends that did not begin");
  if (self->wrong == NULL)
    {
      self->regex->start = build (self, tree, add_node (self, NODE_MATCH, 0, 0));
      if (self->wrong == NULL)
        {
          find_first (self->regex);
          find_literal (self->regex);
        }
    }
}

PrismLinearRegex *
prism_linear_regex_new (const char *pattern, GError **error)
{
  g_autoptr (GArray) tree = g_array_new (FALSE, FALSE, sizeof (Tree));
  PrismLinearRegex *self = g_new0 (PrismLinearRegex, 1);
  Parser parser = { .regex = self, .tree = tree, .pattern = pattern, .at = pattern };

  self->sets = g_array_new (FALSE, FALSE, sizeof (ByteSet));
  self->nodes = g_array_new (FALSE, FALSE, sizeof (Node));
  compile (&parser);
  if (parser.wrong == NULL)
    return self;
  g_set_error (error, PRISM_POLICY_ERROR, PRISM_POLICY_ERROR_MALFORMED, "the regular expression, at byte %d: %s",
               (int)(parser.at - pattern), parser.wrong);
  prism_linear_regex_free (self);
  return NULL;
}
