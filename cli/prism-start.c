/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* prism's start. The program itself is a module, prism-cli.so: to load and bind it with all
 * the libraries that it needs takes as long as the kernel needs to make a sandbox, and the
 * two need not wait for each other. So where a sandbox of the usual kind is all but certain
 * to be asked for it is begun first, and the module loaded meanwhile.
 *
 * What is begun here is no more than a hint. It holds nothing that was asked for, no folder
 * of the host's but its system's, and nothing can run in it before it has had its plan from
 * the native backend, which finds it in this process's memory, or lets it be. If nobody
 * takes it, it is ended here; if this process ends before that, it ends by itself. */
#include "prism-start.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXIT_FAILED 125 /* PRISM_EXIT_FAILED */
#define EXIT_SIGNAL 128 /* PRISM_EXIT_SIGNAL */
#define PROGRAM     "prism-cli.so"
#define SELF        "/proc/self/exe"

/* A descriptor below 3 that is closed would be taken by whatever is opened
 * first, a log or a socket; then a command's output would be written into that. */
static unsigned
open_standard_fds (void)
{
  unsigned closed = 0;

  for (int fd = 0; fd < 3; fd++)
    if (fcntl (fd, F_GETFD) < 0 && errno == EBADF)
      {
        closed |= 1u << fd;
        /* Reading gives the end of file; writing an error, as it should. */
        if (open ("/dev/null", fd == 2 ? O_WRONLY : O_RDONLY) != fd)
          _exit (EXIT_FAILED);
      }

  return closed;
}

static int received;

#ifdef PRISM_BEGINS_NATIVE
#include "prism-native-begin.h"

PrismNativeBegun prism_native_begun;

static bool
starts_with (const char *text, const char *start)
{
  return strncmp (text, start, strlen (start)) == 0;
}

/* Of what may choose another backend, change what it is by default, or ask for no sandbox at
 * all. An option's value that looks like one of these is taken for it, which costs no more
 * than the time. */
static bool
is_unusual (const char *argument)
{
  if (strstr (argument, "tmp-bytes") != NULL)
    return true;
  if (starts_with (argument, "--"))
    return starts_with (argument, "--backend") || starts_with (argument, "--set") || starts_with (argument, "--help");

  return argument[0] == '-' && strpbrk (argument, "bh?") != NULL;
}

static bool
is_usual (char **argv)
{
  if (argv[0] == NULL || argv[1] == NULL || (strcmp (argv[1], "run") != 0 && strcmp (argv[1], "shell") != 0))
    return false;
  for (argv += 2; *argv != NULL && strcmp (*argv, "--") != 0; argv++)
    if (is_unusual (*argv))
      return false;

  return true;
}

/* As prism_agent_get_path() has it. */
static const char *
agent_path (void)
{
  const char *named = getauxval (AT_SECURE) == 0 ? getenv ("PRISM_AGENT") : NULL;

  return named != NULL && named[0] == '/' ? named : PRISM_LIBEXECDIR "/prism-agent";
}

static void
end_begun (void)
{
  prism_native_begun_end ();
}

/* Also a signal that came while the launcher was waited for is what the run ends with. */
static int
end_run (int status)
{
  bool left = prism_native_begun.left;
  int number;

  end_begun ();
  number = __atomic_load_n (&received, __ATOMIC_SEQ_CST);
  return left && number != 0 ? EXIT_SIGNAL + number : status;
}

/* --- the other thread ----------------------------------------------------------------- */

#define STACK_SIZE (128 * 1024)

static struct
{
  bool is_there;
  sem_t wanted;
  void *(*func) (void *);
} other;

static void *
begin_and_wait (void *agent)
{
  prism_native_begin_usual (agent);
  while (sem_wait (&other.wanted) < 0)
    ;
  return other.func (NULL);
}

static bool
use_thread (void *(*func) (void *))
{
  if (!other.is_there)
    return false;
  other.is_there = false;
  other.func = func;
  return sem_post (&other.wanted) == 0;
}

/* A thread costs less than a fork, which copies what maps this process's memory and has
 * each page copied that is written to from then on; and a run wants one later. No signal
 * is for it. */
static void
begin_beside (const char *agent)
{
  pthread_attr_t attributes;
  pthread_t thread;
  sigset_t all, mask;

  sem_init (&other.wanted, 0, 0);
  sigfillset (&all);
  pthread_sigmask (SIG_SETMASK, &all, &mask);
  pthread_attr_init (&attributes);
  pthread_attr_setstacksize (&attributes, STACK_SIZE);
  pthread_attr_setdetachstate (&attributes, PTHREAD_CREATE_DETACHED);
  other.is_there = pthread_create (&thread, &attributes, begin_and_wait, (void *)agent) == 0;
  pthread_attr_destroy (&attributes);
  pthread_sigmask (SIG_SETMASK, &mask, NULL);
}

/* What a short run allocates, from the kernel in one piece: else each page costs a fault of
 * its own, and the end of the heap moves up and down. Where the kernel cannot it is as ever. */
#define HEAP_SIZE (160 * 1024)

static void
have_heap (void)
{
  size_t page = (size_t)sysconf (_SC_PAGESIZE);
  uintptr_t start = ((uintptr_t)sbrk (0) + page - 1) / page * page;
  void *volatile first; /* or it is not asked for */

  mallopt (M_TOP_PAD, HEAP_SIZE);
  mallopt (M_TRIM_THRESHOLD, 4 * HEAP_SIZE);
  first = malloc (1);
  free (first);
  if ((uintptr_t)sbrk (0) >= start + HEAP_SIZE)
    (void)madvise ((void *)start, HEAP_SIZE, MADV_POPULATE_WRITE);
}

static void
begin (char **argv)
{
  if (!is_usual (argv))
    return;
  have_heap ();
  prism_native_begun_expect ();
  prism_native_begun.reaps = true;
  begin_beside (agent_path ());
  if (!other.is_there)
    prism_native_begin_usual (agent_path ());
  atexit (end_begun);
}
#else
static int
end_run (int status)
{
  return status;
}

static bool
use_thread (void *(*func) (void *))
{
  return false;
}

static void
begin (char **argv)
{
}
#endif

/* Of who owns the program, or root, and nothing that others can write to: it may lie where
 * the program was copied to. */
static bool
is_trusted (const char *path)
{
  struct stat program, info;

  return stat (SELF, &program) == 0 && stat (path, &info) == 0 && S_ISREG (info.st_mode)
         && (info.st_uid == 0 || info.st_uid == program.st_uid) && (info.st_mode & S_IWOTH) == 0;
}

/* Beside the program where it is built, below the same prefix where all of that was put
 * elsewhere than it was built for. It is not left to the loader to look: a folder of its own
 * to look into costs forty system calls before the first library is found. */
static const char *
find_module (char *path, size_t size)
{
  static const char *const places[] = { PROGRAM, PRISM_MODULES_FROM_BIN "/" PROGRAM };
  ssize_t length = getauxval (AT_SECURE) == 0 ? readlink (SELF, path, size) : -1;
  char *leaf = length > 0 && (size_t)length < size ? memrchr (path, '/', (size_t)length) : NULL;

  if (leaf == NULL
      || ((size_t)(leaf - path) == strlen (PRISM_BINDIR) && strncmp (path, PRISM_BINDIR, leaf - path) == 0))
    return PRISM_MODULESDIR "/" PROGRAM;
  for (size_t i = 0; i < sizeof places / sizeof *places; i++)
    {
      size_t room = size - (size_t)(leaf + 1 - path);
      if (strlen (places[i]) >= room)
        continue;
      strcpy (leaf + 1, places[i]);
      if (is_trusted (path))
        return path;
    }
  return PRISM_MODULESDIR "/" PROGRAM;
}

/* As the loader would load it for a program: what is linked to be bound at once is, and
 * nothing else is made to be. */
static PrismCliMain
load_program (void)
{
  char path[PATH_MAX];
  void *module = dlopen (find_module (path, sizeof path), RTLD_LAZY | RTLD_LOCAL);
  PrismCliMain entry = NULL;

  if (module != NULL)
    *(void **)&entry = dlsym (module, "prism_cli_main");
  if (entry == NULL)
    fprintf (stderr, "prism: cannot load the program: %s (is prism installed whole?)\n", dlerror ());
  return entry;
}

/* All is closed and written by then: what is left is memory, which the kernel takes back
 * faster than every library by itself. */
static int
finish (int status)
{
  status = end_run (status);
  if (!PRISM_CLI_FREES_ALL)
    _exit (status);
  return status;
}

int
main (int argc, char **argv)
{
  /* The other thread may look at it when this function has returned. */
  static PrismCliStart start = { .use_thread = use_thread, .received = &received };
  PrismCliMain program;

  start.closed = open_standard_fds ();
  begin (argv);
  program = load_program ();
  return finish (program != NULL ? program (argc, argv, &start) : EXIT_FAILED);
}
