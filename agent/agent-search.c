/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* SEARCH: a literal in the lines of a tree's files, in two workers. Both walk the
 * whole tree (which is cheap), each reads the files whose inode numbers fall to
 * it: nothing to agree on, and nothing missed or found twice when the tree
 * changes. Each collects in memory of its own, in the order of the walk; the
 * first merges. Links are not followed, other things than regular files not
 * opened; binary files are skipped. */
#include "agent-job.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define FOUND       (64u * 1024u * 1024u)       /* bytes of results of one worker */
#define CHUNK       (1024u * 1024u)             /* read at once; a longer line is seen in parts */
#define BINARY      8192u                       /* where a NUL says that it is no text */
#define MOST_TEXT   1024u                       /* of one line */
#define MOST_UNREAD (PRISM_WIRE_MAX_UNREAD / 2) /* of one worker */

struct found
{
  uint32_t size, matches, unread;
  uint8_t full;
  char bytes[];
};

static struct
{
  const struct agent_work *work;
  const char *needle;
  size_t size;
  bool folded, hidden;
  unsigned worker; /* 0 or 1 */
  unsigned workers;
  struct found *found;
  char *text, *fold;
  char path[PRISM_WIRE_MAX_PATH + 1];
} search;

/* --- finding ------------------------------------------------------------------------------ */

static const char *
find (const char *at, const char *end)
{
  const char *needle = search.needle;
  size_t n = search.size;

  if ((size_t)(end - at) < n)
    return NULL;
#ifdef __SSE2__
  {
    /* Where the first and the last byte fit, the rest is compared. */
    const __m128i first = _mm_set1_epi8 (needle[0]), last = _mm_set1_epi8 (needle[n - 1]);

    for (; (size_t)(end - at) >= n + 15; at += 16)
      {
        __m128i a = _mm_loadu_si128 ((const __m128i *)(const void *)at);
        __m128i b = _mm_loadu_si128 ((const __m128i *)(const void *)(at + n - 1));
        unsigned mask =
            (unsigned)_mm_movemask_epi8 (_mm_and_si128 (_mm_cmpeq_epi8 (a, first), _mm_cmpeq_epi8 (b, last)));

        for (; mask != 0; mask &= mask - 1)
          {
            const char *p = at + __builtin_ctz (mask);
            if (memcmp (p, needle, n) == 0)
              return p;
          }
      }
  }
#endif
  return memmem (at, (size_t)(end - at), needle, n);
}

static void
fold (char *into, const char *from, size_t size)
{
  size_t i = 0;

#ifdef __SSE2__
  const __m128i below = _mm_set1_epi8 ('A' - 1), above = _mm_set1_epi8 ('Z' + 1), bit = _mm_set1_epi8 (0x20);

  for (; i + 16 <= size; i += 16)
    {
      __m128i x = _mm_loadu_si128 ((const __m128i *)(const void *)(from + i));
      __m128i letters = _mm_and_si128 (_mm_cmpgt_epi8 (x, below), _mm_cmplt_epi8 (x, above));
      _mm_storeu_si128 ((__m128i *)(void *)(into + i), _mm_or_si128 (x, _mm_and_si128 (letters, bit)));
    }
#endif
  for (; i < size; i++)
    into[i] = (char)(from[i] | ((from[i] >= 'A' && from[i] <= 'Z') << 5));
}

/* As memchr (text, 0, size) != NULL, which takes as long as all the rest where the C library is small. */
static bool
has_nul (const char *text, size_t size)
{
  size_t i = 0;

#ifdef __SSE2__
  const __m128i zero = _mm_setzero_si128 ();

  for (; i + 32 <= size; i += 32)
    {
      __m128i a = _mm_loadu_si128 ((const __m128i *)(const void *)(text + i));
      __m128i b = _mm_loadu_si128 ((const __m128i *)(const void *)(text + i + 16));
      if (_mm_movemask_epi8 (_mm_cmpeq_epi8 (_mm_min_epu8 (a, b), zero)) != 0)
        return true;
    }
#endif
  return memchr (text + i, 0, size - i) != NULL;
}

static uint64_t
count_lines (const char *at, const char *end)
{
  uint64_t lines = 0;

#ifdef __SSE2__
  const __m128i feed = _mm_set1_epi8 ('\n');

  for (; end - at >= 16; at += 16)
    {
      __m128i x = _mm_loadu_si128 ((const __m128i *)(const void *)at);
      lines += (unsigned)__builtin_popcount ((unsigned)_mm_movemask_epi8 (_mm_cmpeq_epi8 (x, feed)));
    }
#endif
  for (; at < end; at++)
    lines += *at == '\n';
  return lines;
}

/* PATH NUL LINE NUL COLUMN NUL TEXT LF */
static void
add_match (uint64_t line, const char *start, const char *match, const char *end)
{
  size_t path = strlen (search.path), text = (size_t)(end - start);
  size_t column = (size_t)(match - start) + 1;
  char *at = search.found->bytes + search.found->size;

  if (text > MOST_TEXT)
    {
      /* The part of a long line that the match is in. */
      if (column + search.size > MOST_TEXT)
        start = match - MOST_TEXT / 4;
      text = (size_t)(end - start) < MOST_TEXT ? (size_t)(end - start) : MOST_TEXT;
    }
  if (search.found->size + path + text + 64 > FOUND - sizeof *search.found)
    {
      search.found->full = 1;
      return;
    }
  memcpy (at, search.path, path + 1);
  at += path + 1;
  at += sprintf (at, "%llu%c%zu%c", (unsigned long long)line, 0, column, 0);
  memcpy (at, start, text);
  at[text] = '\n';
  search.found->size = (uint32_t)(at + text + 1 - search.found->bytes);
  search.found->matches++;
}

/* PATH NUL 0 NUL 0 NUL WHY LF: it is there and was not searched. */
static void
add_unread (const char *path, const char *why)
{
  size_t n = strlen (path);
  char *at = search.found->bytes + search.found->size;

  if (search.found->unread == MOST_UNREAD || search.found->size + n + 160 > FOUND - sizeof *search.found)
    return;
  if (++search.found->unread == MOST_UNREAD)
    why = "this and more could not be read";
  memcpy (at, path, n + 1);
  at += n + 1;
  at += sprintf (at, "0%c0%c%.128s\n", 0, 0, why);
  search.found->size = (uint32_t)(at - search.found->bytes);
}

/* Gone since it was read, or a link by now, is no news. */
static void
note_unread (int error)
{
  if (error != ENOENT && error != ELOOP && error != ENOTDIR)
    add_unread (search.path, strerror (error));
}

static bool
is_full (void)
{
  return search.found->full || search.found->matches >= search.work->entries;
}

/* One match a line. `line` counts those before `text`, and then, when more comes, those in it. */
static void
search_lines (const char *text, size_t size, uint64_t *line, bool more)
{
  const char *hay = text, *counted = text, *end = text + size;

  if (search.folded)
    {
      fold (search.fold, text, size);
      hay = search.fold;
    }
  for (const char *at = hay, *match; !is_full () && (match = find (at, hay + size)) != NULL;)
    {
      const char *here = text + (match - hay);
      const char *start = here, *stop = memchr (here, '\n', (size_t)(end - here));

      while (start > text && start[-1] != '\n')
        start--;
      if (stop == NULL)
        stop = end;
      *line += count_lines (counted, start);
      counted = start;
      add_match (*line + 1, start, here, stop);
      at = hay + (stop - text) + (stop < end);
      if (stop == end)
        break;
    }
  if (more)
    *line += count_lines (counted, end);
}

static void
search_open_file (int fd)
{
  size_t have = 0;
  uint64_t line = 0;
  bool first = true;
  ssize_t n;

  while ((n = read (fd, search.text + have, CHUNK - have)) > 0)
    {
      have += (size_t)n;
      if (first && have < BINARY)
        continue; /* perhaps a short read */
      if (first && has_nul (search.text, BINARY))
        return;
      first = false;
      if (have == CHUNK)
        {
          const char *end = memrchr (search.text, '\n', have);
          size_t whole = end != NULL ? (size_t)(end + 1 - search.text) : have - search.size + 1;
          search_lines (search.text, whole, &line, true);
          have -= whole;
          memmove (search.text, search.text + whole, have);
          if (is_full ())
            return;
        }
    }
  if (n < 0)
    note_unread (errno);
  if (first && has_nul (search.text, have))
    return;
  if (have > 0)
    search_lines (search.text, have, &line, false);
}

static void
search_file (int folder, const char *name)
{
  int fd = openat (folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

  if (fd < 0)
    {
      note_unread (errno);
      return;
    }
  search_open_file (fd);
  close (fd);
}

static bool
is_mine (uint64_t ino)
{
  return search.workers == 1 || (ino * 0x9e3779b97f4a7c15u) >> 63 == search.worker;
}

static void
search_folder (int fd, unsigned depth)
{
  size_t at = strlen (search.path);
  struct agent_names names;

  if (depth > AGENT_MAX_DEPTH || !agent_names_read (&names, fd, 1u << 24, search.hidden))
    {
      if (search.worker == 0) /* both walk, one tells */
        add_unread (search.path, depth > AGENT_MAX_DEPTH ? "too many folders in folders" : strerror (errno));
      close (fd);
      return;
    }
  for (uint32_t i = 0; i < names.count && !is_full (); i++)
    {
      const char *name = names.text + names.items[i].at;
      size_t n = strlen (name);
      uint8_t type = names.items[i].type;
      struct stat s;

      if (at + 1 + n > PRISM_WIRE_MAX_PATH)
        continue;
      if (type == DT_UNKNOWN && fstatat (fd, name, &s, AT_SYMLINK_NOFOLLOW) == 0)
        type = (uint8_t)(s.st_mode >> 12 & 15);
      if (type == DT_REG && !is_mine (names.items[i].ino))
        continue;
      if (at > 0)
        search.path[at] = '/';
      memcpy (search.path + at + (at > 0), name, n + 1);
      if (type == DT_REG)
        search_file (fd, name);
      else if (type == DT_DIR && (search.hidden || strcmp (name, "node_modules") != 0))
        {
          int below = openat (fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
          if (below >= 0)
            search_folder (below, depth + 1);
          else if (search.worker == 0)
            note_unread (errno);
        }
      search.path[at] = 0;
    }
  agent_names_clear (&names);
  close (fd);
}

/* --- two of them --------------------------------------------------------------------------- */

static struct found *
result_memory (void)
{
  void *memory = mmap (NULL, FOUND, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

  if (memory == MAP_FAILED)
    agent_result_error (PRISM_WIRE_ERROR_LIMIT, ENOMEM, "no memory for results");
  return memory;
}

/* The end of the match at `at`: after its text's LF, which follows three NULs. */
static uint32_t
match_end (const struct found *found, uint32_t at)
{
  for (unsigned i = 0; i < 3; i++)
    at += (uint32_t)strlen (found->bytes + at) + 1;
  return (uint32_t)((const char *)memchr (found->bytes + at, '\n', found->size - at) - found->bytes) + 1;
}

static bool
is_unread (const struct found *found, uint32_t at)
{
  return found->bytes[at + strlen (found->bytes + at) + 1] == '0';
}

/* In the order of the walk: like strcmp, but "/" before everything. */
static int
compare_paths (const char *a, const char *b)
{
  while (*a != 0 && *a == *b)
    {
      a++;
      b++;
    }
  return (*a == 0 ? 0 : *a == '/' ? 1 : (unsigned char)*a + 1) - (*b == 0 ? 0 : *b == '/' ? 1 : (unsigned char)*b + 1);
}

static void
send_merged (const struct found *a, const struct found *b)
{
  uint32_t at[2] = { 0, 0 };
  const struct found *from[2] = { a, b };
  uint8_t *out = agent.scratch;
  size_t size = 0;

  for (uint64_t count = 0; count < search.work->entries;)
    {
      unsigned next;
      uint32_t end;

      if (at[0] >= a->size && (b == NULL || at[1] >= b->size))
        break;
      next = b == NULL || at[1] >= b->size ? 0
             : at[0] >= a->size            ? 1
                                           : compare_paths (a->bytes + at[0], b->bytes + at[1]) > 0;
      end = match_end (from[next], at[next]);
      count += !is_unread (from[next], at[next]);
      if (size + end - at[next] > AGENT_BULK)
        {
          agent_result (PRISM_WIRE_DATA, false, out, size);
          size = 0;
        }
      memcpy (out + size, from[next]->bytes + at[next], end - at[next]);
      size += end - at[next];
      at[next] = end;
    }
  if (size > 0)
    agent_result (PRISM_WIRE_DATA, false, out, size);
}

static void
search_tree (int root)
{
  search.text = agent_worker_memory (CHUNK);
  if (search.folded)
    search.fold = agent_worker_memory (CHUNK);
  search_folder (root, 1);
}

static void
search_one (int fd)
{
  const char *slash = strrchr (search.work->path, '/');

  search.text = agent_worker_memory (CHUNK);
  if (search.folded)
    search.fold = agent_worker_memory (CHUNK);
  snprintf (search.path, sizeof search.path, "%s", slash != NULL ? slash + 1 : search.work->path);
  search_open_file (fd);
}

/* Both walk at once; false when the other one did not live to its end. */
static bool
search_in_two (int root)
{
  struct found *other = result_memory ();
  int status = 0;
  pid_t pid;

  search.workers = 2;
  pid = fork ();
  if (pid == 0)
    {
      prctl (PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
      search.worker = 1;
      search.found = other;
      search_tree (openat (root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      _exit (0);
    }
  if (pid < 0)
    search.workers = 1;
  search_tree (root);
  if (pid > 0 && (waitpid (pid, &status, 0) != pid || status != 0))
    return false;
  if (search.found->full || other->full)
    agent_result_error (PRISM_WIRE_ERROR_LIMIT, 0, "more than %u MiB of matches", FOUND >> 20);
  send_merged (search.found, pid > 0 ? other : NULL);
  return true;
}

void
agent_work_search (const struct agent_work *work)
{
  struct stat s;
  int root;

  search.work = work;
  search.size = strlen (work->other);
  search.needle = work->other;
  search.folded = (work->flags & AGENT_FILE_FOLD) != 0;
  search.hidden = (work->flags & AGENT_FILE_HIDDEN) != 0;
  if (search.size == 0 || strchr (work->other, '\n') != NULL)
    agent_result_error (PRISM_WIRE_ERROR_INVALID, 0, "a search wants a text of one line");
  if (search.folded)
    fold (work->other, work->other, search.size);
  if (stat (work->path, &s) != 0)
    agent_result_errno (errno, work->path);
  if (!S_ISREG (s.st_mode) && !S_ISDIR (s.st_mode))
    agent_result_error (PRISM_WIRE_ERROR_TYPE, 0, "%.3800s: neither a folder nor a regular file", work->path);
  root = open (work->path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (root < 0)
    agent_result_errno (errno, work->path);
  search.found = result_memory ();
  search.workers = 1;
  if (S_ISREG (s.st_mode))
    {
      search_one (root);
      send_merged (search.found, NULL);
    }
  else if (!search_in_two (root))
    agent_result_error (PRISM_WIRE_ERROR_FAILED, 0, "a worker of the search was killed");
  agent_result (PRISM_WIRE_DATA, true, "", 0);
}
