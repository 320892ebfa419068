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
  bool allow;
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
      if (old->n_refusals == 0 || rule->n_refusals == 0 || old->n_refusals == MAX_REFUSALS)
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
parse_rule (struct profile *profile, char *at)
{
  struct rule rule = { .variant = variant };
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

  if (at == NULL)
    die ("the line ends too early", verb);
  if (strcmp (verb, "default") == 0)
    profile->fallback.error = (int)value_of (at);
  else if (strcmp (verb, "foreign") == 0)
    profile->foreign.error = (int)value_of (at);
  else if (strcmp (verb, "refuse") == 0)
    parse_rule (profile, at);
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

static struct sock_filter code[MAX_CODE];
static unsigned n_code;

static void
emit (uint16_t op, uint8_t jt, uint8_t jf, uint32_t k)
{
  if (n_code == MAX_CODE)
    die ("the filter is too long", "");
  code[n_code++] = (struct sock_filter){ op, jt, jf, k };
}

static void
emit_verdict (bool allow, int error)
{
  emit (BPF_RET | BPF_K, 0, 0, allow ? SECCOMP_RET_ALLOW : SECCOMP_RET_ERRNO | (uint32_t)error);
}

static uint32_t
word_of (unsigned argument, bool high)
{
  return (uint32_t)(offsetof (struct seccomp_data, args) + 8 * argument + (high ? 4 : 0));
}

/* Each test jumps over its refusal where it does not hold, to the next one or to
 * "allow": that is right behind, so every jump's length is known beforehand. */
static unsigned
length_of (const struct test *test)
{
  return test->kind == BITS ? 2 : test->kind == SET ? 4 : 1 + test->n_values;
}

static void
emit_test (const struct test *test, unsigned to_next)
{
  uint32_t bits = 0;

  emit (BPF_LD | BPF_W | BPF_ABS, 0, 0, word_of (test->argument, false));
  switch (test->kind)
    {
    case BITS:
      for (unsigned i = 0; i < test->n_values; i++)
        bits |= test->values[i];
      emit (BPF_JMP | BPF_JSET | BPF_K, 0, (uint8_t)to_next, bits);
      break;
    case SET:
      emit (BPF_JMP | BPF_JEQ | BPF_K, 0, 2, 0);
      emit (BPF_LD | BPF_W | BPF_ABS, 0, 0, word_of (test->argument, true));
      emit (BPF_JMP | BPF_JEQ | BPF_K, (uint8_t)to_next, 0, 0);
      break;
    case IS:
      for (unsigned i = 0; i < test->n_values; i++)
        {
          unsigned left = test->n_values - i - 1;
          emit (BPF_JMP | BPF_JEQ | BPF_K, (uint8_t)left, left == 0 ? (uint8_t)to_next : 0, test->values[i]);
        }
      break;
    case NOT:
      for (unsigned i = 0; i < test->n_values; i++)
        emit (BPF_JMP | BPF_JEQ | BPF_K, (uint8_t)(to_next + test->n_values - i - 1), 0, test->values[i]);
      break;
    }
}

static void
emit_rule (const struct rule *rule)
{
  if (rule->n_refusals == 0)
    {
      emit_verdict (rule->allow, rule->error);
      return;
    }
  for (unsigned k = 0; k < rule->n_refusals; k++)
    {
      const struct refusal *refusal = &rule->refusals[k];
      unsigned left = 0;
      for (unsigned i = 0; i < refusal->n_tests; i++)
        left += length_of (&refusal->tests[i]);
      for (unsigned i = 0; i < refusal->n_tests; i++)
        {
          left -= length_of (&refusal->tests[i]);
          emit_test (&refusal->tests[i], left + 1);
        }
      emit_verdict (false, refusal->error);
    }
  emit_verdict (true, 0);
}

static void
emit_tree (const struct range *ranges, unsigned n)
{
  unsigned middle = n / 2, jump, left;

  if (n == 1)
    {
      emit_rule (&ranges[0].rule);
      return;
    }
  jump = n_code;
  emit (BPF_JMP | BPF_JGE | BPF_K, 0, 1, ranges[middle].start);
  emit (BPF_JMP | BPF_JA, 0, 0, 0);
  left = n_code;
  emit_tree (ranges, middle);
  if (n_code - left <= 255 - 1)
    {
      /* Near enough for the conditional jump itself. */
      memmove (&code[jump + 1], &code[left], (n_code - left) * sizeof *code);
      n_code--;
      code[jump].jt = (uint8_t)(n_code - jump - 1);
      code[jump].jf = 0;
    }
  else
    code[jump + 1].k = n_code - left;
  emit_tree (ranges + middle, n - middle);
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

static void
compile (struct profile *profile, const char *name, FILE *out)
{
  static struct range ranges[2 * MAX_CALLS + 2];
  unsigned n = 0;
  uint32_t next = 0;

  qsort (profile->calls, profile->n_calls, sizeof *profile->calls, by_number);
  for (unsigned i = 0; i < profile->n_calls; i++)
    {
      const struct call *call = &profile->calls[i];
      if ((uint32_t)call->number > next)
        n = add_range (ranges, n, next, &profile->fallback);
      n = add_range (ranges, n, (uint32_t)call->number, &call->rule);
      next = (uint32_t)call->number + 1;
    }
  n = add_range (ranges, n, next, &profile->fallback);
  n = add_range (ranges, n, X32_BIT, &profile->foreign);

  n_code = 0;
  emit (BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof (struct seccomp_data, arch));
  emit (BPF_JMP | BPF_JEQ | BPF_K, 1, 0, audit_arch);
  emit_verdict (false, profile->foreign.error);
  emit (BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof (struct seccomp_data, nr));
  emit_tree (ranges, n);

  fprintf (out, "static const struct sock_filter %s[] = {\n", name);
  for (unsigned i = 0; i < n_code; i++)
    fprintf (out, "  { 0x%02x, %u, %u, 0x%08x },\n", code[i].code, code[i].jt, code[i].jf, code[i].k);
  fprintf (out, "};\n");
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
          compile (&profile, name, out);
          variant++;
          snprintf (name, sizeof name, "launch_filter_%.40s", line + 8);
          for (char *c = name; *c != 0; c++)
            *c = *c == '-' ? '_' : *c;
        }
    }
  compile (&profile, name, out);
  return fclose (out) == 0 ? 0 : 1;
}
