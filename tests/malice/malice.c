/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* malice NAME: run one attack. Exit 0 and a line "ESCAPED: …" if it got away
 * with it, 1 if it was contained, 2 if the test itself is broken. malice --list
 * prints them all. */
#include "malice.h"

#include <poll.h>
#include <stdarg.h>
#include <sys/wait.h>

static const struct
{
  const char *name;
  int needs;
  const char *claim;
  void (*run) (void);
} attacks[] = {
#define ATTACK(name, needs, claim) { #name, needs, claim, attack_##name },
#include "attacks.def"
#undef ATTACK
};

static void
say (const char *verdict, const char *format, va_list arguments)
{
  char line[1024];
  int n = snprintf (line, sizeof line, "%s: ", verdict);
  n += vsnprintf (line + n, sizeof line - n - 1, format, arguments);
  if (n > (int)sizeof line - 2)
    n = sizeof line - 2;
  for (int i = 0; i < n; i++)
    if (line[i] == '\n')
      line[i] = ' ';
  line[n++] = '\n';
  if (write (1, line, n) < 0)
    (void)!write (2, line, n);
}

void
escaped (const char *format, ...)
{
  va_list arguments;
  va_start (arguments, format);
  say ("ESCAPED", format, arguments);
  va_end (arguments);
  _exit (MALICE_ESCAPED);
}

void
broken (const char *format, ...)
{
  va_list arguments;
  va_start (arguments, format);
  say ("BROKEN", format, arguments);
  va_end (arguments);
  _exit (MALICE_BROKEN);
}

const char *
maybe_given (const char *name)
{
  char variable[64];
  snprintf (variable, sizeof variable, "MALICE_%s", name);
  const char *value = getenv (variable);
  return value != NULL && *value != '\0' ? value : NULL;
}

const char *
given (const char *name)
{
  const char *value = maybe_given (name);
  if (value == NULL)
    broken ("MALICE_%s is not set: run me on a stage", name);
  return value;
}

long long
maybe_number (const char *name, long long fallback)
{
  const char *value = maybe_given (name);
  return value != NULL ? strtoll (value, NULL, 0) : fallback;
}

long long
given_number (const char *name)
{
  return strtoll (given (name), NULL, 0);
}

void
look_for_bait (const char *what, const void *bytes, size_t size)
{
  const char *hit = memmem (bytes, size, BAIT, strlen (BAIT));
  if (hit == NULL)
    return;
  size_t n = 0, left = (const char *)bytes + size - hit;
  while (n < left && n < 64 && hit[n] > ' ' && hit[n] < 127)
    n++;
  /* "BAIT:" alone is this program's own constant. */
  if (n > strlen (BAIT) + 8)
    escaped ("%s gave %.*s", what, (int)n, hit);
}

void
try_to_read (const char *path)
{
  static char bytes[65536];
  int fd = open (path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0)
    return;
  ssize_t n = read (fd, bytes, sizeof bytes);
  close (fd);
  if (n > 0)
    look_for_bait (path, bytes, n);
}

void
listen_for_bait (const char *what, int fd)
{
  char bytes[512];
  struct pollfd p = { .fd = fd, .events = POLLIN };
  if (poll (&p, 1, 2000) <= 0)
    return;
  ssize_t n = read (fd, bytes, sizeof bytes);
  if (n > 0)
    look_for_bait (what, bytes, n);
}

int
in_child (void (*attempt) (void))
{
  pid_t pid = fork ();
  if (pid < 0)
    broken ("fork: %s", strerror (errno));
  if (pid == 0)
    {
      attempt ();
      _exit (MALICE_CONTAINED);
    }
  int status;
  while (waitpid (pid, &status, 0) < 0)
    if (errno != EINTR)
      return MALICE_CONTAINED;
  return WIFEXITED (status) ? WEXITSTATUS (status) : MALICE_CONTAINED;
}

void
try_in_child (void (*attempt) (void))
{
  int verdict = in_child (attempt);
  if (verdict != MALICE_CONTAINED)
    _exit (verdict);
}

char *
workspace_path (const char *leaf)
{
  char *path;
  if (asprintf (&path, "%s/%s", given ("WORKSPACE"), leaf) < 0)
    broken ("out of memory");
  return path;
}

int
main (int argc, char **argv)
{
  const size_t n = sizeof attacks / sizeof *attacks;
  if (argc == 2 && strcmp (argv[1], "--list") == 0)
    {
      for (size_t i = 0; i < n; i++)
        printf ("%-24s %s\n", attacks[i].name, attacks[i].claim);
      return 0;
    }
  if (argc < 2)
    {
      fprintf (stderr, "usage: malice NAME | --list\n");
      return MALICE_BROKEN;
    }
  /* The stage's own: a process to be found and killed. */
  if (strcmp (argv[1], "victim") == 0)
    for (;;)
      pause ();
  for (size_t i = 0; i < n; i++)
    if (strcmp (attacks[i].name, argv[1]) == 0)
      {
        attacks[i].run ();
        return MALICE_CONTAINED;
      }
  broken ("no attack is called %s", argv[1]);
}
