/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Compiles seccomp.profile (its head says the language) into arrays of BPF for a C
 * header: a binary tree over the numbers of system calls, a few instructions deep,
 * with the argument tests in its leaves. libseccomp could express neither a 32-bit
 * "differs from" nor a number it has not heard of; here it only knows the names. */
#include <ctype.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CALLS    1024
#define MAX_CODE     4096
#define MAX_VALUES   16
#define MAX_TESTS    3
#define MAX_REFUSALS 3
#define MAX_VERDICTS 16
#define X32_BIT      0x40000000u

enum test_kind
{
  BITS,
  IS,
  NOT,
  SET
};

struct test
{
  unsigned argument;
  enum test_kind kind;
  unsigned n_values;
  uint32_t values[MAX_VALUES];
};

/* Refused where every test holds. */
struct refusal
{
  int error;
  unsigned n_tests;
  struct test tests[MAX_TESTS];
};

/* What becomes of a call: allowed, refused, or allowed where no refusal holds. */
struct rule
{
  bool allow, late;
  int error;
  unsigned n_refusals, variant;
  struct refusal refusals[MAX_REFUSALS];
};

struct call
{
  int number;
  struct rule rule;
};

struct range
{
  uint32_t start;
  struct rule rule;
};

struct profile
{
  struct rule fallback, foreign;
  struct call calls[MAX_CALLS];
  unsigned n_calls;
};

static const struct
{
  const char *name;
  uint32_t value;
} words[] = {
  { "EPERM", EPERM },
  { "ENOSYS", ENOSYS },
  { "EAFNOSUPPORT", EAFNOSUPPORT },
  { "SUCCESS", 0 },
  { "AF_UNIX", 1 },
  { "AF_INET", 2 },
  { "AF_INET6", 10 },
  { "AF_NETLINK", 16 },
  { "SOCK_STREAM", 1 },
  { "SOCK_STREAM_CLOEXEC", 1 | 02000000 },
  { "SOCK_STREAM_NONBLOCK", 1 | 04000 },
  { "SOCK_STREAM_BOTH", 1 | 02000000 | 04000 },
  /* NEWTIME NEWNS NEWCGROUP NEWUTS NEWIPC NEWUSER NEWPID NEWNET. The first is a
   * namespace for unshare() and an exit signal that nobody uses for clone(). */
  { "CLONE_NAMESPACES", 0x00000080 | 0x00020000 | 0x02000000 | 0x7c000000 },
  { "TIOCSTI", 0x5412 },
  { "TIOCLINUX", 0x541c },
  { "TIOCSETD", 0x5423 },
  { "PRIO_USER", 2 },
  { "IOPRIO_WHO_USER", 3 },
  { "S_ISUID", 04000 },
  { "S_ISGID", 02000 },
  { "O_CREAT", 0100 },
  { "O_TMPFILE", 020000000 },
  { "RLIMIT_CORE", 4 },
  { "F_SETLEASE", 1024 },
  { "F_SETDELEG", 1040 },
};

static uint32_t arch_token, audit_arch;
static unsigned line_number, variant;

static void
die (const char *what, const char *word)
{
  fprintf (stderr, "seccomp.profile:%u: %s: %s\n", line_number, what, word);
  exit (1);
}

static uint32_t
value_of (const char *word)
{
  char *end;
  unsigned long value;

  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strcmp (words[i].name, word) == 0)
      return words[i].value;
  value = strtoul (word, &end, 0);
  if (!isdigit ((unsigned char)*word) || *end != 0 || value > UINT32_MAX)
    die ("not a known word or number", word);
  return (uint32_t)value;
}

/* A further refusal of one variant adds to the others; all else replaces. */
static void
set_call (struct profile *profile, char *name, const struct rule *rule)
{
  char *equals = strchr (name, '=');
  struct rule *old;
  int number;
  unsigned i;

  if (equals != NULL)
    {
      *equals = 0;
      number = (int)value_of (equals + 1);
    }
  else
    number = seccomp_syscall_resolve_name_arch (arch_token, name);
  if (number == __NR_SCMP_ERROR)
    die ("no such system call", name);
  if (number < 0)
    return; /* of another architecture */
  for (i = 0; i < profile->n_calls && profile->calls[i].number != number; i++)
    ;
  if (i == MAX_CALLS)
    die ("too many calls", name);
  old = &profile->calls[i].rule;
  if (i < profile->n_calls && old->variant == rule->variant)
    {
      if (old->n_refusals == 0 || rule->n_refusals == 0 || old->n_refusals == MAX_REFUSALS || old->late != rule->late)
        die ("this call has a rule already", name);
      old->refusals[old->n_refusals++] = rule->refusals[0];
      return;
    }
  if (i == profile->n_calls)
    profile->n_calls++;
  profile->calls[i] = (struct call){ number, *rule };
}

static const char *
expect (char **at)
{
  char *word = strsep (at, " ");
  while (word != NULL && *word == 0)
    word = strsep (at, " ");
  if (word == NULL)
    die ("the line ends too early", "");
  return word;
}

static void
parse_test (struct test *test, char **at)
{
  const char *argument = expect (at), *kind = expect (at);
  char *values;

  if (strncmp (argument, "arg", 3) != 0 || argument[3] < '0' || argument[3] > '5' || argument[4] != 0)
    die ("not an argument", argument);
  test->argument = (unsigned)(argument[3] - '0');
  test->kind = strcmp (kind, "&") == 0 ? BITS : strcmp (kind, "is") == 0 ? IS : strcmp (kind, "not") == 0 ? NOT : SET;
  if (test->kind == SET)
    {
      if (strcmp (kind, "set") != 0)
        die ("not a test", kind);
      return;
    }
  values = (char *)expect (at);
  for (char *value; (value = strsep (&values, "|")) != NULL;)
    {
      if (test->n_values == MAX_VALUES)
        die ("too many values", value);
      test->values[test->n_values++] = value_of (value);
    }
}

static void
parse_rule (struct profile *profile, bool late, char *at)
{
  struct rule rule = { .late = late, .variant = variant };
  struct refusal *refusal = &rule.refusals[0];
  const char *word;

  rule.error = (int)value_of (expect (&at));
  word = expect (&at);
  if (strcmp (word, "if") != 0)
    set_call (profile, (char *)word, &rule);
  else
    {
      rule.n_refusals = 1;
      refusal->error = rule.error;
      do
        {
          if (refusal->n_tests == MAX_TESTS)
            die ("too many tests", "");
          parse_test (&refusal->tests[refusal->n_tests++], &at);
          word = expect (&at);
        }
      while (strcmp (word, "and") == 0);
    }
  for (char *name; (name = strsep (&at, " ")) != NULL;)
    if (*name != 0)
      set_call (profile, name, &rule);
}

static void
parse_line (struct profile *profile, char *line)
{
  const struct rule allow = { .allow = true, .variant = variant };
  char *at = line, *verb = strsep (&at, " ");
  bool late = strcmp (verb, "late") == 0;

  if (late)
    verb = strsep (&at, " ");

  if (at == NULL)
    die ("the line ends too early", line);
  if (late && strcmp (verb, "refuse") != 0)
    die ("only what is refused can be late", verb);
  if (strcmp (verb, "default") == 0)
    profile->fallback.error = (int)value_of (at);
  else if (strcmp (verb, "foreign") == 0)
    profile->foreign.error = (int)value_of (at);
  else if (strcmp (verb, "refuse") == 0)
    parse_rule (profile, late, at);
  else if (strcmp (verb, "allow") == 0)
    {
      for (char *name; (name = strsep (&at, " ")) != NULL;)
        if (*name != 0)
          set_call (profile, name, &allow);
    }
  else
    die ("not a verb", verb);
}

/* --- code ------------------------------------------------------------------ */

/* Jumps go to labels, which get their places as the code is put down; 0 is what
 * follows. What is returned is there once, at the end, for all that jump to it: the
 * kernel's time to take a filter in grows with its length. */
struct instruction
{
  uint16_t op;
  uint32_t k;
  unsigned yes, no;
};

static struct instruction code[MAX_CODE];
static unsigned n_code, places[MAX_CODE], n_labels;
static struct
{
  uint32_t value;
  unsigned label;
} verdicts[MAX_VERDICTS];
static unsigned n_verdicts;

static unsigned
emit (uint16_t op, uint32_t k, unsigned yes, unsigned no)
{
  if (n_code == MAX_CODE)
    die ("the filter is too long", "");
  code[n_code] = (struct instruction){ op, k, yes, no };
  return n_code++;
}

static unsigned
new_label (void)
{
  if (++n_labels == MAX_CODE)
    die ("the filter is too long", "");
  return n_labels;
}

static void
place (unsigned label)
{
  places[label] = n_code;
}

static unsigned
verdict (bool allow, int error)
{
  uint32_t value = allow ? SECCOMP_RET_ALLOW : SECCOMP_RET_ERRNO | (uint32_t)error;
  unsigned i;

  for (i = 0; i < n_verdicts && verdicts[i].value != value; i++)
    ;
  if (i == MAX_VERDICTS)
    die ("too many verdicts", "");
  if (i == n_verdicts)
    {
      verdicts[i].value = value;
      verdicts[i].label = new_label ();
      n_verdicts++;
    }
  return verdicts[i].label;
}

static void
load_argument (unsigned argument, bool high)
{
  emit (BPF_LD | BPF_W | BPF_ABS, (uint32_t)(offsetof (struct seccomp_data, args) + 8 * argument + (high ? 4 : 0)), 0,
        0);
}

static void
emit_test (const struct test *test, unsigned yes, unsigned no)
{
  const uint16_t equals = BPF_JMP | BPF_JEQ | BPF_K;
  uint32_t bits = 0;

  load_argument (test->argument, false);
  switch (test->kind)
    {
    case BITS:
      for (unsigned i = 0; i < test->n_values; i++)
        bits |= test->values[i];
      emit (BPF_JMP | BPF_JSET | BPF_K, bits, yes, no);
      break;
    case SET:
      emit (equals, 0, 0, yes);
      load_argument (test->argument, true);
      emit (equals, 0, no, yes);
      break;
    case IS:
      for (unsigned i = 0; i < test->n_values; i++)
        emit (equals, test->values[i], yes, i + 1 == test->n_values ? no : 0);
      break;
    case NOT:
      for (unsigned i = 0; i < test->n_values; i++)
        emit (equals, test->values[i], no, i + 1 == test->n_values ? yes : 0);
      break;
    }
}

/* Where a refusal's tests do not all hold it is the next one's turn, then "allow". */
static void
emit_rule (const struct rule *rule)
{
  for (unsigned k = 0; k < rule->n_refusals; k++)
    {
      const struct refusal *refusal = &rule->refusals[k];
      bool last = k + 1 == rule->n_refusals;
      unsigned other = last ? verdict (true, 0) : new_label ();
      for (unsigned i = 0; i < refusal->n_tests; i++)
        {
          bool decides = i + 1 == refusal->n_tests;
          unsigned holds = decides ? verdict (false, refusal->error) : new_label ();
          emit_test (&refusal->tests[i], holds, other);
          if (!decides)
            place (holds);
        }
      if (!last)
        place (other);
    }
}

/* Returns where it begins. */
static unsigned
emit_tree (const struct range *ranges, unsigned n)
{
  unsigned start, jump, yes, no;

  if (n == 1 && ranges[0].rule.n_refusals == 0)
    return verdict (ranges[0].rule.allow, ranges[0].rule.error);
  start = new_label ();
  place (start);
  if (n == 1)
    {
      emit_rule (&ranges[0].rule);
      return start;
    }
  jump = emit (BPF_JMP | BPF_JGE | BPF_K, ranges[n / 2].start, 0, 0);
  no = emit_tree (ranges, n / 2);
  yes = emit_tree (ranges + n / 2, n - n / 2);
  code[jump].yes = yes;
  code[jump].no = no;
  return start;
}

static void
emit_verdicts (void)
{
  for (unsigned i = 0; i < n_verdicts; i++)
    {
      place (verdicts[i].label);
      emit (BPF_RET | BPF_K, verdicts[i].value, 0, 0);
    }
}

static unsigned
distance (unsigned from, unsigned label)
{
  unsigned n = label == 0 ? 0 : places[label] - from - 1;

  if (n > 255)
    die ("a jump is too long", "");
  return n;
}

static void
print_code (const char *name, FILE *out)
{
  fprintf (out, "static const struct sock_filter %s[] = {\n", name);
  for (unsigned i = 0; i < n_code; i++)
    fprintf (out, "  { 0x%02x, %u, %u, 0x%08x },\n", code[i].op, distance (i, code[i].yes), distance (i, code[i].no),
             code[i].k);
  fprintf (out, "};\n");
}

static int
by_number (const void *a, const void *b)
{
  return ((const struct call *)a)->number - ((const struct call *)b)->number;
}

static bool
same_verdict (const struct rule *a, const struct rule *b)
{
  return a->n_refusals == 0 && b->n_refusals == 0 && a->allow == b->allow && a->error == b->error;
}

static unsigned
add_range (struct range *ranges, unsigned n, uint32_t start, const struct rule *rule)
{
  if (n > 0 && same_verdict (&ranges[n - 1].rule, rule))
    return n;
  ranges[n].start = start;
  ranges[n].rule = *rule;
  return n + 1;
}

/* The whole, or the two parts that are the whole together: one that the launcher can
 * live with, and the late rules. What both allow is allowed. */
enum part
{
  WHOLE,
  EARLY,
  LATE
};

static const struct rule *
rule_in (const struct rule *rule, enum part part)
{
  static const struct rule allow = { .allow = true };

  return part == WHOLE || rule->late == (part == LATE) ? rule : &allow;
}

static void
compile (struct profile *profile, enum part part, const char *name, FILE *out)
{
  static struct range ranges[2 * MAX_CALLS + 2];
  const struct rule *fallback = rule_in (&profile->fallback, part), *foreign = rule_in (&profile->foreign, part);
  unsigned n = 0;
  uint32_t next = 0;

  qsort (profile->calls, profile->n_calls, sizeof *profile->calls, by_number);
  for (unsigned i = 0; i < profile->n_calls; i++)
    {
      const struct call *call = &profile->calls[i];
      if ((uint32_t)call->number > next)
        n = add_range (ranges, n, next, fallback);
      n = add_range (ranges, n, (uint32_t)call->number, rule_in (&call->rule, part));
      next = (uint32_t)call->number + 1;
    }
  n = add_range (ranges, n, next, fallback);
  n = add_range (ranges, n, X32_BIT, foreign);

  n_code = n_labels = n_verdicts = 0;
  emit (BPF_LD | BPF_W | BPF_ABS, offsetof (struct seccomp_data, arch), 0, 0);
  emit (BPF_JMP | BPF_JEQ | BPF_K, audit_arch, 0, verdict (foreign->allow, foreign->error));
  emit (BPF_LD | BPF_W | BPF_ABS, offsetof (struct seccomp_data, nr), 0, 0);
  emit_tree (ranges, n);
  emit_verdicts ();
  print_code (name, out);
}

static void
compile_parts (struct profile *profile, FILE *out)
{
  compile (profile, EARLY, "launch_filter_early", out);
  compile (profile, LATE, "launch_filter_late", out);
}

static void
set_architecture (const char *family)
{
  if (strcmp (family, "x86_64") == 0)
    {
      arch_token = SCMP_ARCH_X86_64;
      audit_arch = AUDIT_ARCH_X86_64;
    }
  else if (strcmp (family, "aarch64") == 0)
    {
      arch_token = SCMP_ARCH_AARCH64;
      audit_arch = AUDIT_ARCH_AARCH64;
    }
  else
    {
      fprintf (stderr,
               "compile-seccomp: no filter for the architecture %s yet; seccomp.profile's numbers and "
               "words need a look first\n",
               family);
      exit (1);
    }
}

int
main (int argc, char **argv)
{
  static struct profile profile;
  char line[1024], name[64] = "launch_filter";
  FILE *in, *out;

  if (argc != 4 || (in = fopen (argv[2], "r")) == NULL || (out = fopen (argv[3], "w")) == NULL)
    {
      fprintf (stderr, "usage: compile-seccomp ARCHITECTURE PROFILE HEADER\n");
      return 1;
    }
  set_architecture (argv[1]);
  fprintf (out, "/* Made from seccomp.profile by compile-seccomp. */\n");
  while (fgets (line, sizeof line, in) != NULL)
    {
      line_number++;
      if (strchr (line, '\n') == NULL)
        die ("the line is too long", "");
      line[strcspn (line, "\n")] = 0;
      if (line[0] == 0 || line[0] == '#')
        continue;
      if (strncmp (line, "variant ", 8) != 0)
        parse_line (&profile, line);
      else
        {
          compile (&profile, WHOLE, name, out);
          if (variant++ == 0)
            compile_parts (&profile, out);
          snprintf (name, sizeof name, "launch_filter_%.40s", line + 8);
          for (char *c = name; *c != 0; c++)
            *c = *c == '-' ? '_' : *c;
        }
    }
  compile (&profile, WHOLE, name, out);
  return fclose (out) == 0 ? 0 : 1;
}
