/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Makes a fuzz target an ordinary test: runs it over every file of a folder, over
 * every file cut short and over nothing at all, and says TAP. An input that takes
 * longer than a second fails, as a hang would. */
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t size);
int LLVMFuzzerInitialize (int *argc, char ***argv) __attribute__ ((weak));

#define MAX_SEED    (4u * 1024u * 1024u)
#define MAX_SECONDS 1.0
#define CUTS        64u

static double
now (void)
{
  struct timespec t;
  clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Each input lies in its own allocation: a read past its end is seen by ASan and valgrind. */
static int
run (const uint8_t *bytes, size_t size)
{
  uint8_t *copy = malloc (size != 0 ? size : 1);
  double start = now ();
  if (copy == NULL)
    return 0;
  if (size > 0)
    memcpy (copy, bytes, size);
  LLVMFuzzerTestOneInput (copy, size);
  free (copy);
  return now () - start < MAX_SECONDS;
}

static int
run_file (int folder, const char *name)
{
  int fd = openat (folder, name, O_RDONLY | O_CLOEXEC);
  struct stat st;
  uint8_t *bytes = NULL;
  size_t size = 0;
  int good = fd >= 0 && fstat (fd, &st) == 0 && S_ISREG (st.st_mode) && st.st_size <= MAX_SEED
             && (bytes = malloc ((size_t)st.st_size + 1)) != NULL;
  while (good && size < (size_t)st.st_size)
    {
      ssize_t n = read (fd, bytes + size, (size_t)st.st_size - size);
      if (n <= 0)
        good = 0;
      else
        size += (size_t)n;
    }
  good = good && run (bytes, size);
  for (size_t i = 1; good && i < CUTS; i++)
    good = run (bytes, size * i / CUTS);
  free (bytes);
  if (fd >= 0)
    close (fd);
  return good;
}

static int
not_hidden (const struct dirent *entry)
{
  return entry->d_name[0] != '.';
}

int
main (int argc, char **argv)
{
  struct dirent **entries = NULL;
  int failed = 0;
  int folder = argc == 2 ? open (argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
  int n = folder >= 0 ? scandir (argv[1], &entries, not_hidden, alphasort) : -1;
  if (n <= 0)
    {
      printf ("Bail out! no seeds in %s\n", argc == 2 ? argv[1] : "(nothing)");
      return 1;
    }
  setvbuf (stdout, NULL, _IOLBF, 0);
  if (LLVMFuzzerInitialize != NULL)
    LLVMFuzzerInitialize (&argc, &argv);
  printf ("1..%d\n", n + 1);
  for (int i = 0; i < n; i++)
    {
      int good = run_file (folder, entries[i]->d_name);
      printf ("%sok %d %s\n", good ? "" : "not ", i + 1, entries[i]->d_name);
      failed |= !good;
      free (entries[i]);
    }
  free (entries);
  close (folder);
  n++;
  printf ("%sok %d nothing\n", run ((const uint8_t *)"", 0) ? "" : "not ", n);
  return failed;
}
