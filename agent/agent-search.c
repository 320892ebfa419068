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
  uint8_t full, cut;
  uint64_t entries, files, binary, large, long_lines;
  _Atomic uint64_t read; /* bytes, of both workers: in the first one's */
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
  _Atomic uint64_t *read;
  size_t chunk;
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

/* PATH NUL LINE NUL COLUMN NUL TEXT LF; column 0 is a line of context. */
static void
add_line (uint64_t line, const char *start, const char *match, const char *end)
{
  size_t path = strlen (search.path), text = (size_t)(end - start);
  size_t column = match != NULL ? (size_t)(match - start) + 1 : 0;
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
  search.found->matches += column > 0;
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
  return search.found->full || search.found->cut || search.found->matches >= search.work->entries;
}

/* Lines around matches: `at` is after the last line that was told, whose number is `line`. */
struct around
{
  const char *at;
  uint64_t line;
  uint32_t after;
};

static void
add_after (struct around *around, const char *until, const char *end)
{
  for (; around->after > 0 && around->at < until; around->after--)
    {
      const char *stop = memchr (around->at, '\n', (size_t)(end - around->at));
      if (stop == NULL)
        stop = end;
      add_line (++around->line, around->at, NULL, stop);
      around->at = stop + (stop < end);
    }
}

/* `start` is where the line of that number begins. */
static void
add_before (const struct around *around, uint64_t line, const char *start, const char *end)
{
  const char *from = start;
  uint32_t lines = 0;

  for (; lines < search.work->context && from > around->at; lines++)
    for (from--; from > around->at && from[-1] != '\n';)
      from--;
  for (; lines > 0; lines--)
    {
      const char *stop = memchr (from, '\n', (size_t)(end - from));
      add_line (line - lines, from, NULL, stop);
      from = stop + 1;
    }
}

static bool
is_too_long (const char *start, const char *stop)
{
  if (search.work->line_bytes == 0 || (uint64_t)(stop - start) <= search.work->line_bytes)
    return false;
  search.found->long_lines++;
  return true;
}

/* One match a line. `line` counts those before `text`, and then, when more comes, those in it. */
static void
search_lines (const char *text, size_t size, uint64_t *line, bool more)
{
  const char *hay = text, *counted = text, *end = text + size;
  struct around around = { .at = text };

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
      if (!is_too_long (start, stop))
        {
          if (search.work->context > 0)
            {
              add_after (&around, start, end);
              add_before (&around, *line + 1, start, end);
            }
          add_line (*line + 1, start, here, stop);
          around = (struct around){ stop + (stop < end), *line + 1, search.work->context };
        }
      at = hay + (stop - text) + (stop < end);
      if (stop == end)
        break;
    }
  add_after (&around, end, end);
  if (more)
    *line += count_lines (counted, end);
}

/* What is to be left alone for its size is told without reading all of it. */
static bool
is_too_large (int fd, size_t have)
{
  uint64_t most = search.work->file_bytes;
  struct stat s;

  if (most == 0 || (have <= most && have < search.chunk))
    return false;
  if (have <= most && fstat (fd, &s) == 0 && (uint64_t)s.st_size <= most)
    return false;
  search.found->large++;
  return true;
}

static void
search_open_file (int fd)
{
  size_t have = 0;
  uint64_t line = 0;
  bool first = true;
  ssize_t n;

  search.found->files++;
  while ((n = read (fd, search.text + have, search.chunk - have)) > 0)
    {
      have += (size_t)n;
      if ((*search.read += (uint64_t)n) > search.work->bytes && search.work->bytes > 0)
        {
          search.found->cut = 1;
          return;
        }
      if (first && have < BINARY)
        continue; /* perhaps a short read */
      if (first && has_nul (search.text, BINARY))
        {
          search.found->binary++;
          return;
        }
      if (first && have == search.chunk && is_too_large (fd, have))
        return;
      first = false;
      if (have == search.chunk)
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
    {
      search.found->binary++;
      return;
    }
  if (is_too_large (fd, have))
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

/* Folders that hold what others wrote. */
static bool
is_left_out (const char *name)
{
  if (strcmp (name, "node_modules") == 0)
    return !search.hidden || (search.work->flags & AGENT_FILE_SOURCES) != 0;
  return (search.work->flags & AGENT_FILE_SOURCES) != 0 && (strcmp (name, ".git") == 0 || strcmp (name, "dist") == 0);
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
  if (search.worker == 0)
    search.found->entries += names.count;
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
      if (is_left_out (name) && (type == DT_DIR || (search.work->flags & AGENT_FILE_SOURCES) != 0))
        continue;
      if (type == DT_REG && !is_mine (names.items[i].ino))
        continue;
      if (at > 0)
        search.path[at] = '/';
      memcpy (search.path + at + (at > 0), name, n + 1);
      if (type == DT_REG)
        search_file (fd, name);
      else if (type == DT_DIR)
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

/* Neither context nor what could not be read: both have column 0. */
static bool
is_match (const struct found *found, uint32_t at)
{
  const char *line = found->bytes + at + strlen (found->bytes + at) + 1;

  return line[strlen (line) + 1] != '0';
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
      count += is_match (from[next], at[next]);
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
send_counts (const struct found *a, const struct found *b)
{
  static const struct found none;
  char text[256];
  int n;

  if (b == NULL)
    b = &none;
  n = snprintf (text + 1, sizeof text - 1, "0%c0%c%llu %llu %llu %llu %llu %llu %u\n", 0, 0,
                (unsigned long long)(a->entries + b->entries), (unsigned long long)(a->files + b->files),
                (unsigned long long)*search.read, (unsigned long long)(a->binary + b->binary),
                (unsigned long long)(a->large + b->large), (unsigned long long)(a->long_lines + b->long_lines),
                a->cut || b->cut                                            ? 2u
                : (uint64_t)a->matches + b->matches >= search.work->entries ? 1u
                                                                            : 0u);
  text[0] = 0;
  agent_result (PRISM_WIRE_DATA, false, text, (size_t)n + 1);
}

static void
take_memory (void)
{
  /* Context does not end where a part of a file does: then there are no parts. */
  search.chunk = search.work->context > 0 && search.work->file_bytes > 0 && search.work->file_bytes < FOUND
                     ? (size_t)search.work->file_bytes + 1
                     : CHUNK;
  if (search.chunk < CHUNK)
    search.chunk = CHUNK;
  search.text = agent_worker_memory (search.chunk);
  if (search.folded)
    search.fold = agent_worker_memory (search.chunk);
}

static void
search_tree (int root)
{
  take_memory ();
  search_folder (root, 1);
}

static void
search_one (int fd)
{
  const char *slash = strrchr (search.work->path, '/');

  take_memory ();
  search.found->entries = 1;
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
  if ((search.work->flags & AGENT_FILE_SOURCES) != 0)
    send_counts (search.found, pid > 0 ? other : NULL);
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
  if ((work->flags & AGENT_FILE_BENEATH) == 0 && stat (work->path, &s) != 0)
    agent_result_errno (errno, work->path);
  if ((work->flags & AGENT_FILE_BENEATH) == 0 && !S_ISREG (s.st_mode) && !S_ISDIR (s.st_mode))
    agent_result_error (PRISM_WIRE_ERROR_TYPE, 0, "%.3800s: neither a folder nor a regular file", work->path);
  root = agent_path_open (work->path, work->flags, O_RDONLY);
  if (root < 0 || fstat (root, &s) != 0)
    agent_result_errno (errno, work->path);
  if (!S_ISREG (s.st_mode) && !S_ISDIR (s.st_mode))
    agent_result_error (PRISM_WIRE_ERROR_TYPE, 0, "%.3800s: neither a folder nor a regular file", work->path);
  search.found = result_memory ();
  search.read = &search.found->read;
  search.workers = 1;
  if (S_ISREG (s.st_mode))
    {
      search_one (root);
      send_merged (search.found, NULL);
      if ((work->flags & AGENT_FILE_SOURCES) != 0)
        send_counts (search.found, NULL);
    }
  else if (!search_in_two (root))
    agent_result_error (PRISM_WIRE_ERROR_FAILED, 0, "a worker of the search was killed");
  agent_result (PRISM_WIRE_DATA, true, "", 0);
}
