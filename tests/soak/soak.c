/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* soak [--cycles N] [--kills N] [--seed N]: create, exec, close, over and over;
 * then kills at random moments of the host program, the agent, the keeper, the
 * command. Afterwards everything is counted again: processes, mounts, cgroups,
 * runtime folders, temporary files, descriptors, threads, memory. TAP. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <libprism/prism.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define SETTLE_MS   15000
#define PROGRESS_MS 5000

static PrismBackend *backend;
static char *workspace;
static GRand *chance;
static char *only; /* what is killed, by a word of its name; NULL: everything */
static int number, failed;

__attribute__ ((format (printf, 2, 3))) static void
report (gboolean good, const char *format, ...)
{
  va_list arguments;
  va_start (arguments, format);
  g_autofree char *text = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  printf ("%sok %d - %s\n", good ? "" : "not ", ++number, text);
  fflush (stdout);
  failed += !good;
}

static void
let_pass (int microseconds)
{
  for (gint64 end = g_get_monotonic_time () + microseconds; g_get_monotonic_time () < end;)
    g_thread_yield ();
}

/* A comment of TAP every few seconds: long work shows how far it is. */
static void
show_progress (const char *what, int done, int all, gint64 begun)
{
  static gint64 shown;
  gint64 now = g_get_monotonic_time ();
  if (now - MAX (shown, begun) < PROGRESS_MS * 1000 || done == 0)
    return;
  shown = now;
  double each = (double)(now - begun) / done;
  printf ("# %d of %d %s, %.1f ms each, about %.0f s to go\n", done, all, what, each / 1000, each * (all - done) / 1e6);
  fflush (stdout);
}

static double
seconds_since (gint64 begun)
{
  return (double)(g_get_monotonic_time () - begun) / G_USEC_PER_SEC;
}

/* --- counting --------------------------------------------------------------------- */

static pid_t
parent_of (pid_t pid)
{
  g_autofree char *path = g_strdup_printf ("/proc/%d/stat", (int)pid), *text = NULL;
  if (!g_file_get_contents (path, &text, NULL, NULL) || strrchr (text, ')') == NULL)
    return 0;
  return (pid_t)atoi (strrchr (text, ')') + 4);
}

/* Everything below us: we are the subreaper, so whatever is orphaned comes here. */
static GArray *
descendants (void)
{
  GArray *found = g_array_new (FALSE, FALSE, sizeof (pid_t));
  DIR *proc = opendir ("/proc");
  for (struct dirent *e; (e = readdir (proc)) != NULL;)
    {
      pid_t pid = (pid_t)atoi (e->d_name), up = pid;
      while (up > 1 && up != getpid ())
        up = parent_of (up);
      if (up == getpid () && pid != getpid ())
        g_array_append_val (found, pid);
    }
  closedir (proc);
  return found;
}

static guint
count_entries (const char *path, const char *prefix)
{
  guint n = 0;
  DIR *d = opendir (path);
  for (struct dirent *e; d != NULL && (e = readdir (d)) != NULL;)
    n += e->d_name[0] != '.' && g_str_has_prefix (e->d_name, prefix);
  if (d != NULL)
    closedir (d);
  return n;
}

/* Others' sandboxes may live on this machine; what is left over has nobody in it. */
static gboolean
is_empty_cgroup (const char *path)
{
  g_autofree char *file = g_build_filename (path, "cgroup.procs", NULL), *text = NULL;
  return g_file_get_contents (file, &text, NULL, NULL) && text[0] == '\0';
}

static void
count_cgroups (const char *path, int depth, guint *n)
{
  DIR *d = opendir (path);
  for (struct dirent *e; d != NULL && (e = readdir (d)) != NULL;)
    {
      /* A dockerd that other tests have started comes and goes beside this one. */
      if (e->d_type != DT_DIR || e->d_name[0] == '.' || g_str_has_prefix (e->d_name, "prism-docker-"))
        continue;
      g_autofree char *sub = g_build_filename (path, e->d_name, NULL);
      if (strstr (e->d_name, "prism") != NULL || strstr (path, "prism") != NULL)
        *n += is_empty_cgroup (sub);
      if (depth > 0)
        count_cgroups (sub, depth - 1, n);
    }
  if (d != NULL)
    closedir (d);
}

static guint
count_lines (const char *path, const char *containing)
{
  g_autofree char *text = NULL;
  guint n = 0;
  if (!g_file_get_contents (path, &text, NULL, NULL))
    return 0;
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  for (int i = 0; lines[i] != NULL; i++)
    n += *lines[i] != '\0' && strstr (lines[i], containing) != NULL;
  return n;
}

typedef struct
{
  guint processes, mounts, cgroups, runtime, temporary, abstract, descriptors, threads;
} Census;

static Census
take_census (void)
{
  Census c = { 0 };
  while (waitpid (-1, NULL, WNOHANG) > 0)
    ;
  g_autoptr (GArray) below = descendants ();
  g_autofree char *runtime = g_build_filename (g_get_user_runtime_dir (), "prism", NULL);
  c.processes = below->len;
  c.mounts = count_lines ("/proc/self/mountinfo", "");
  count_cgroups ("/sys/fs/cgroup", 4, &c.cgroups);
  c.runtime = count_entries (runtime, "") + count_entries ("/run/prism", "");
  c.temporary = count_entries (g_get_tmp_dir (), "prism");
  c.abstract = count_lines ("/proc/net/unix", "libprism");
  c.descriptors = count_entries ("/proc/self/fd", "");
  c.threads = count_entries ("/proc/self/task", "");
  return c;
}

static void
list_descriptors (void)
{
  DIR *d = opendir ("/proc/self/fd");
  for (struct dirent *e; (e = readdir (d)) != NULL;)
    {
      g_autofree char *path = g_build_filename ("/proc/self/fd", e->d_name, NULL), *to = g_file_read_link (path, NULL);
      if (to != NULL)
        printf ("# descriptor %s is %s\n", e->d_name, to);
    }
  closedir (d);
}

/* What ends, ends a moment later: wait for it, with a deadline. */
static void
expect_census (const Census *before, const char *after_what)
{
  /* A v1 cgroup outlives its maker's kill: the next program of the same user removes it. */
  Census now = { 0 };
  gboolean same = FALSE;
  for (gint64 end = g_get_monotonic_time () + SETTLE_MS * 1000; !same && g_get_monotonic_time () < end;)
    {
      if (prism_backend_reap (backend, NULL, NULL) < 0)
        printf ("# reap is not offered\n");
      now = take_census ();
      same = now.processes <= before->processes + 1 /* a launcher that stays */ && now.mounts <= before->mounts
             && now.cgroups <= before->cgroups && now.runtime <= before->runtime && now.temporary <= before->temporary
             && now.abstract <= before->abstract && now.descriptors <= before->descriptors
             && now.threads <= before->threads + 2;
      if (!same)
        let_pass (20000);
    }
  if (now.descriptors > before->descriptors)
    list_descriptors ();
  report (same,
          "%s: processes %u -> %u, mounts %u -> %u, cgroups %u -> %u, runtime folders %u -> %u, temporary files %u -> "
          "%u, sockets %u -> %u, "
          "descriptors %u -> %u, threads %u -> %u",
          after_what, before->processes, now.processes, before->mounts, now.mounts, before->cgroups, now.cgroups,
          before->runtime, now.runtime, before->temporary, now.temporary, before->abstract, now.abstract,
          before->descriptors, now.descriptors, before->threads, now.threads);
}

static long
resident_kib (void)
{
  g_autofree char *text = NULL;
  malloc_trim (0);
  return g_file_get_contents ("/proc/self/status", &text, NULL, NULL) ? strtol (strstr (text, "VmRSS:") + 6, NULL, 10)
                                                                      : 0;
}

/* --- cycles ------------------------------------------------------------------------- */

static PrismSandbox *
create (GError **error)
{
  g_autoptr (GFile) folder = g_file_new_for_path (workspace);
  g_autoptr (PrismSandboxSpec) spec = prism_sandbox_spec_new (folder);
  if (g_rand_boolean (chance))
    g_object_set (spec, "workspace-mode", PRISM_WORKSPACE_MODE_COPY, NULL);
  return prism_backend_create_sandbox (backend, spec, NULL, error);
}

static gboolean
cycle (GError **error)
{
  g_autoptr (PrismSandbox) sandbox = create (error);
  if (sandbox == NULL)
    return FALSE;
  /* With something left behind now and then, for close to end; what holds the pipes
   * makes exec wait for its drain time, so that is rare. */
  static const char *const scripts[] = { "echo out",
                                         "sleep 100 >/dev/null 2>&1 & setsid sleep 100 >/dev/null 2>&1 & echo out",
                                         "sleep 100 & sleep 100 & echo out" };
  gint32 dice = g_rand_int_range (chance, 0, 32);
  g_autoptr (PrismCommand) command = prism_command_new_shell (scripts[dice == 0 ? 2 : dice < 8 ? 1 : 0]);
  g_autoptr (PrismResult) result = NULL;
  prism_command_set_last (command, g_rand_boolean (chance));
  result = prism_sandbox_exec (sandbox, command, NULL, error);
  if (result == NULL)
    return FALSE;
  g_autofree char *text = prism_result_dup_stdout_text (result);
  if (strcmp (text, "out\n") != 0)
    {
      g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_FAILED, "outcome %d, output \"%s\"",
                   prism_result_get_outcome (result), text);
      return FALSE;
    }
  /* Not always closed by hand: the last reference must do. */
  return g_rand_int_range (chance, 0, 8) == 0 || prism_sandbox_close (sandbox, NULL, error);
}

static void
run_cycles (int cycles)
{
  g_autoptr (GError) error = NULL;
  for (int i = 0; i < 20 && error == NULL; i++)
    cycle (&error);
  Census before = take_census ();
  long warm_kib = 0;
  gint64 begun = g_get_monotonic_time ();
  for (int i = 0; i < cycles && error == NULL; i++)
    {
      show_progress ("cycles", i, cycles, begun);
      if (i == cycles / 4)
        warm_kib = resident_kib ();
      if (!cycle (&error))
        g_prefix_error (&error, "cycle %d: ", i);
    }
  report (error == NULL, "%d cycles of create, exec, close in %.1f s%s%s", cycles, seconds_since (begun),
          error != NULL ? ": " : "", error != NULL ? error->message : "");
  long grown = resident_kib () - warm_kib;
  report (grown < 2048, "memory grew by %ld KiB over the last three quarters of them", grown);
  expect_census (&before, "after the cycles");
}

/* --- kills ---------------------------------------------------------------------------- */

typedef enum
{
  KILL_HOST,
  KILL_AGENT,
  KILL_KEEPER,
  KILL_LAUNCHER,
  KILL_COMMAND,
  N_KILLS,
} Kill;

static const char *const kill_names[] = { "the host program", "the agent", "the keeper", "the launcher",
                                          "the command" };

/* A host program of its own: sandboxes without end, until somebody kills it. */
static int
be_host (void)
{
  g_autoptr (GError) error = NULL;
  for (;;)
    if (!cycle (&error))
      {
        g_printerr ("soak: %s\n", error->message);
        return 1;
      }
}

static gboolean
kill_host (const char *self)
{
  const char *const argv[] = { self, "--host", workspace, NULL };
  GPid pid;
  if (!g_spawn_async (NULL, (char **)argv, NULL, G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL, &pid, NULL))
    return FALSE;
  let_pass (g_rand_int_range (chance, 0, 40000));
  kill (pid, SIGKILL);
  return waitpid (pid, NULL, 0) == pid;
}

static void
exec_done (GObject *source, GAsyncResult *result, gpointer data)
{
  gboolean *done = data;
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismResult) r = prism_sandbox_exec_finish (PRISM_SANDBOX (source), result, &error);
  if (r != NULL && prism_result_get_outcome (r) == PRISM_OUTCOME_EXITED && prism_result_get_exit_code (r) == 0)
    g_printerr ("soak: a killed command is said to have ended well\n");
  *done = TRUE;
}

/* The pids that /proc/PID/status shows after "NSpid:": ours first, its own last. */
static guint
namespace_depth (pid_t pid, pid_t *inner)
{
  g_autofree char *path = g_strdup_printf ("/proc/%d/status", (int)pid), *text = NULL;
  const char *at;
  guint depth = 0;
  if (!g_file_get_contents (path, &text, NULL, NULL) || (at = strstr (text, "\nNSpid:")) == NULL)
    return 0;
  for (at += 7; *at == '\t'; depth++)
    *inner = (pid_t)strtol (at + 1, (char **)&at, 10);
  return depth;
}

/* Whether it has a host to speak to: a sandbox that was only begun ahead has none.
 * Whoever may not look there has none of those. */
static gboolean
has_host (pid_t pid)
{
  g_autofree char *path = g_strdup_printf ("/proc/%d/fd/4", (int)pid), *target = g_file_read_link (path, NULL);
  return target == NULL || g_str_has_prefix (target, "socket:");
}

/* The agent is pid 1 of a pid namespace below ours; the keeper is its parent; the
 * launcher, where one serves many sandboxes, is the keeper's parent. */
static pid_t
find_agent (void)
{
  g_autoptr (GArray) below = descendants ();
  for (guint i = 0; i < below->len; i++)
    {
      pid_t pid = g_array_index (below, pid_t, i), inner = 0;
      if (parent_of (pid) != getpid () && namespace_depth (pid, &inner) == 2 && inner == 1 && has_host (pid))
        return pid;
    }
  return 0;
}

static char *
name_of (pid_t pid)
{
  g_autofree char *path = g_strdup_printf ("/proc/%d/comm", (int)pid);
  char *name = NULL;
  return g_file_get_contents (path, &name, NULL, NULL) ? g_strchomp (name) : g_strdup ("(gone)");
}

static gboolean
is_below (pid_t pid, pid_t ancestor)
{
  while (pid > 1 && pid != ancestor)
    pid = parent_of (pid);
  return pid == ancestor;
}

/* The agent's own: others of the name may be on their way out, orphaned by a kill before. */
static pid_t
find_command (void)
{
  pid_t agent = find_agent ();
  g_autoptr (GArray) below = descendants ();
  for (guint i = 0; agent != 0 && i < below->len; i++)
    {
      pid_t pid = g_array_index (below, pid_t, i);
      g_autofree char *name = name_of (pid);
      if (strcmp (name, "sleep") == 0 && is_below (pid, agent))
        return pid;
    }
  return 0;
}

static void
list_processes (void)
{
  g_autoptr (GArray) below = descendants ();
  for (guint i = 0; i < below->len; i++)
    {
      pid_t pid = g_array_index (below, pid_t, i), inner = 0;
      g_autofree char *name = name_of (pid);
      guint depth = namespace_depth (pid, &inner);
      printf ("# pid %d of %d, %d at depth %u: %s\n", (int)pid, (int)parent_of (pid), (int)inner, depth, name);
    }
}

static pid_t
find_victim (Kill what)
{
  pid_t agent, keeper;
  if (what == KILL_COMMAND)
    return find_command ();
  agent = find_agent ();
  if (agent == 0 || what == KILL_AGENT)
    return agent;
  keeper = parent_of (agent);
  if (keeper <= 1 || keeper == getpid () || what == KILL_KEEPER)
    return keeper == getpid () ? 0 : keeper;
  /* -1: this one was made without a launcher that stays. */
  return parent_of (keeper) == getpid () ? -1 : parent_of (keeper);
}

/* A keeper of one sandbox, which may have no agent yet: a host that was killed leaves it,
 * and it sees that only when it has started one. */
static gboolean
is_keeper_of_one (pid_t pid)
{
  g_autofree char *path = g_strdup_printf ("/proc/%d/cmdline", (int)pid), *line = NULL;
  gsize size = 0, program, rest;
  if (!g_file_get_contents (path, &line, &size, NULL) || size == 0)
    return FALSE;
  program = strlen (line) + 1;
  rest = program + strlen ("--launch") + 1;
  return program < size && strcmp (line + program, "--launch") == 0
         && (rest >= size || strcmp (line + rest, "many") != 0);
}

static gboolean
is_somebody_there (void)
{
  g_autoptr (GArray) below = descendants ();
  for (guint i = 0; i < below->len; i++)
    if (is_keeper_of_one (g_array_index (below, pid_t, i)))
      return TRUE;
  return find_agent () != 0;
}

/* What an earlier kill orphaned ends by itself; it must not be taken for ours. */
static void
await_nobody (void)
{
  for (gint64 end = g_get_monotonic_time () + SETTLE_MS * 1000; g_get_monotonic_time () < end;)
    {
      while (waitpid (-1, NULL, WNOHANG) > 0)
        ;
      if (!is_somebody_there ())
        return;
      let_pass (1000);
    }
}

static gboolean
kill_inside (Kill what)
{
  await_nobody ();
  gboolean done = FALSE;
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismSandbox) sandbox = create (&error);
  if (sandbox == NULL)
    {
      g_printerr ("soak: %s\n", error->message);
      return FALSE;
    }
  const char *const argv[] = { "/bin/sleep", "100", NULL };
  g_autoptr (PrismCommand) command = prism_command_new (argv);
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  prism_sandbox_exec_async (sandbox, command, cancellable, exec_done, &done);
  for (gint64 end = g_get_monotonic_time () + g_rand_int_range (chance, 0, 5000); g_get_monotonic_time () < end;)
    g_main_context_iteration (NULL, FALSE);
  pid_t pid = find_victim (what);
  gint64 end = g_get_monotonic_time () + SETTLE_MS * 1000;
  while (pid == 0 && !done && g_get_monotonic_time () < end)
    {
      g_main_context_iteration (NULL, FALSE);
      pid = find_victim (what);
    }
  if (pid > 1)
    kill (pid, SIGKILL);
  /* The sandboxes that a launcher made may live on without it. */
  if (what == KILL_LAUNCHER)
    g_cancellable_cancel (cancellable);
  while (!done && g_get_monotonic_time () < end)
    if (!g_main_context_iteration (NULL, FALSE))
      let_pass (200);
  if (!done)
    {
      printf ("# exec did not come back after a kill of %s, pid %d\n", kill_names[what], (int)pid);
      list_processes ();
    }
  if (!prism_sandbox_close (sandbox, NULL, &error))
    {
      g_printerr ("soak: close after a kill of %s: %s\n", kill_names[what], error->message);
      return FALSE;
    }
  return done;
}

static void
run_kills (int kills, const char *self)
{
  /* One of each first: GLib's own threads and descriptors, made once, stay. */
  kill_host (self);
  for (Kill what = KILL_AGENT; what < N_KILLS; what++)
    kill_inside (what);
  await_nobody ();
  prism_backend_reap (backend, NULL, NULL);
  Census before = take_census ();
  guint done[N_KILLS] = { 0 }, good[N_KILLS] = { 0 };
  gint64 begun = g_get_monotonic_time ();
  for (int i = 0; i < kills; i++)
    {
      show_progress ("kills", i, kills, begun);
      Kill what = (Kill)g_rand_int_range (chance, 0, N_KILLS);
      while (only != NULL && strstr (kill_names[what], only) == NULL)
        what = (Kill)g_rand_int_range (chance, 0, N_KILLS);
      done[what]++;
      good[what] += what == KILL_HOST ? kill_host (self) : kill_inside (what);
    }
  for (int i = 0; i < N_KILLS; i++)
    report (good[i] == done[i], "%u of %u kills of %s ended in order", good[i], done[i], kill_names[i]);
  printf ("# %d kills in %.1f s\n", kills, seconds_since (begun));
  expect_census (&before, "after the kills");
}

int
main (int argc, char **argv)
{
  int cycles = 250, kills = 60, seed = 0;
  g_autofree char *host = NULL, *self = g_file_read_link ("/proc/self/exe", NULL);
  const GOptionEntry entries[] = {
    { "cycles", 0, 0, G_OPTION_ARG_INT, &cycles, NULL, "N" },
    { "kills", 0, 0, G_OPTION_ARG_INT, &kills, NULL, "N" },
    { "seed", 0, 0, G_OPTION_ARG_INT, &seed, NULL, "N" },
    { "only", 0, 0, G_OPTION_ARG_STRING, &only, "what to kill: host, agent, keeper, launcher, command", "WORD" },
    { "host", 0, G_OPTION_FLAG_HIDDEN, G_OPTION_ARG_FILENAME, &host, NULL, NULL },
    { 0 },
  };
  g_autoptr (GOptionContext) context = g_option_context_new (NULL);
  g_autoptr (GError) error = NULL;
  g_option_context_add_main_entries (context, entries, NULL);
  if (!g_option_context_parse (context, &argc, &argv, &error))
    {
      g_printerr ("soak: %s\n", error->message);
      return 2;
    }
  /* Before GLib looks: what others leave in the machine's is not ours to count. */
  char private_tmp[] = "/tmp/soak-XXXXXX";
  if (host == NULL && mkdtemp (private_tmp) != NULL)
    g_setenv ("TMPDIR", private_tmp, TRUE);
  if (seed == 0)
    seed = (int)g_random_int_range (1, G_MAXINT);
  chance = g_rand_new_with_seed (seed);
  backend = prism_registry_create_backend (prism_registry_get_default (), "native", &error);
  g_assert_no_error (error);
  if (host != NULL)
    {
      workspace = host;
      return be_host ();
    }
  printf ("# seed %d: %d cycles, then %d kills, as uid %d\n", seed, cycles, kills, (int)geteuid ());
  fflush (stdout);
  prctl (PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  workspace = g_strdup (private_tmp);
  g_chmod (workspace, 0755);
  run_cycles (cycles);
  run_kills (kills, self);
  printf ("1..%d\n", number);
  g_clear_object (&backend);
  const char *const remove[] = { "rm", "-rf", workspace, NULL };
  g_spawn_sync (NULL, (char **)remove, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL, NULL, NULL);
  return failed > 0;
}
