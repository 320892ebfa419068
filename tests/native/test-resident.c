/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One sandbox after another, and beside another, from one process: as root the later
 * ones come from a launcher that stays, which may keep for them only what nobody used. */
#include <glib/gstdio.h>
#include <libprism/prism.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "by-library.h"

/* What the kernel tells of a network namespace, but for what is the machine's. */
#define LOOK                                                                                                           \
  "cat /proc/net/snmp /proc/net/netstat /proc/net/snmp6 /proc/net/dev /proc/net/tcp /proc/net/tcp6 /proc/net/udp "     \
  "/proc/net/unix /proc/net/ip6_flowlabel 2>/dev/null | grep -v '^sockets'; grep -E '^sockets|^FRAG' "                 \
  "/proc/net/sockstat"

typedef struct
{
  char *folder;
  PrismBackend *backend;
} Fixture;

static void
set_up (Fixture *f, gconstpointer data)
{
  g_autoptr (GError) error = NULL;

  f->folder = g_dir_make_tmp ("prism-resident-XXXXXX", &error);
  g_assert_no_error (error);
  f->backend = prism_registry_create_backend (prism_registry_get_default (), "native", &error);
  g_assert_no_error (error);
}

static void
tear_down (Fixture *f, gconstpointer data)
{
  g_assert_cmpint (rmdir (f->folder), ==, 0);
  g_clear_object (&f->backend);
  g_free (f->folder);
}

static PrismSandbox *
create (Fixture *f)
{
  g_autoptr (GFile) folder = g_file_new_for_path (f->folder);
  g_autoptr (PrismSandboxSpec) spec = prism_sandbox_spec_new (folder);

  return library_create (f->backend, spec);
}

static char *
run_once (Fixture *f, const char *script)
{
  g_autoptr (PrismSandbox) sandbox = create (f);
  char *output = library_run (sandbox, script);

  library_close (sandbox);
  return output;
}

static void
test_network_traces (Fixture *f, gconstpointer data)
{
  static const char *const deeds[] = {
    "exec 3<>/dev/tcp/127.0.0.1/9",                             /* refused */
    "echo x > /dev/udp/127.0.0.1/9",                            /* nobody there */
    "exec 3<>/dev/tcp/::1/9",                                   /* by IPv6 */
    "exec 3<>/dev/tcp/192.0.2.1/9",                             /* no route */
    "exec 3<>/dev/udp/192.0.2.1/9; echo x >&3; echo \"$PPID\"", /* no route, and a process of its own */
    "sleep 60 < /dev/udp/127.0.0.1/9 & true",                   /* a socket that is open at the end */
    /* groups, of which the kernel would tell later */
    "python3 -c 'import socket as s; u = s.socket(s.AF_INET, s.SOCK_DGRAM); "
    "u.setsockopt(0, 35, s.inet_aton(\"239.1.2.3\") + s.inet_aton(\"127.0.0.1\"))'",
    "python3 -c 'import socket as s, struct; u = s.socket(s.AF_INET6, s.SOCK_DGRAM); "
    "u.setsockopt(41, 20, s.inet_pton(s.AF_INET6, \"ff02::1234\") + struct.pack(\"i\", 1))'",
    "python3 -c 'import socket as s, os; l = s.socket(); l.bind((\"127.0.0.1\", 0)); l.listen(); "
    "c = s.create_connection(l.getsockname()); a, _ = l.accept(); a.sendall(b\"x\"); a.close(); c.close()'",
  };
  g_autofree char *as_new = run_once (f, LOOK);

  g_assert_nonnull (strstr (as_new, "Tcp:"));
  for (gsize i = 0; i < G_N_ELEMENTS (deeds); i++)
    {
      g_autofree char *deed = run_once (f, deeds[i]);
      /* Whichever of those that are kept is next. */
      for (guint k = 0; k < 5; k++)
        {
          g_autofree char *next = run_once (f, LOOK);
          if (strcmp (next, as_new) != 0)
            g_error ("after %s:\n%s\ninstead of\n%s", deeds[i], next, as_new);
        }
    }
}

/* Or the test above would be of no worth. */
static void
test_network_again (Fixture *f, gconstpointer data)
{
  g_autoptr (GHashTable) seen = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  gboolean again = FALSE;

  for (guint i = 0; i < 40 && !again; i++)
    {
      g_autofree char *name = run_once (f, "readlink /proc/self/ns/net");
      again = i > 0 && g_hash_table_contains (seen, name);
      g_hash_table_add (seen, g_steal_pointer (&name));
    }
  g_assert_true (again || geteuid () != 0);
}

/* Takes a file that is handed in, lets go of the socket, and says what is in it when asked. */
#define KEEP                                                                                                           \
  "python3 -c 'import os, socket\n"                                                                                    \
  "s = socket.socket(socket.AF_UNIX); s.bind(\"door\"); s.listen(1)\n"                                                 \
  "os.mkfifo(\"ask\"); os.mkfifo(\"answer\")\n"                                                                        \
  "if os.fork(): os._exit(0)\n"                                                                                        \
  "for i in range(3): os.dup2(os.open(\"/dev/null\", os.O_RDWR), i)\n"                                                 \
  "c, _ = s.accept(); held = socket.recv_fds(c, 1, 1)[1][0]; s.close(); c.close()\n"                                   \
  "open(\"ask\").read(); open(\"answer\", \"wb\").write(os.pread(held, 65536, 0))'"
#define HAND_OVER                                                                                                      \
  "python3 -c 'import os, socket\n"                                                                                    \
  "s = socket.socket(socket.AF_UNIX); s.connect(\"door\")\n"                                                           \
  "socket.send_fds(s, [b\"x\"], [os.open(\"/proc/net/unix\", 0)]); s.recv(1)'"
#define SHOW_A_NAME                                                                                                    \
  "python3 -c 'import os, signal, socket\n"                                                                            \
  "s = socket.socket(socket.AF_UNIX); s.bind(\"/tmp/name-of-another\"); s.listen(1)\n"                                 \
  "if os.fork(): os._exit(0)\n"                                                                                        \
  "for i in range(3): os.dup2(os.open(\"/dev/null\", os.O_RDWR), i)\n"                                                 \
  "signal.pause()'"

/* Of a namespace that a sandbox had something may live on in another one that has the same
 * folder: who is in a folder of his own must not be seen by it. */
static void
test_network_handed_over (Fixture *f, gconstpointer data)
{
  Fixture apart = { g_build_filename (f->folder, "apart", NULL), f->backend };
  PrismSandbox *others[8];

  g_assert_cmpint (g_mkdir (apart.folder, 0755), ==, 0);
  for (guint i = 0; i < 3; i++)
    g_free (run_once (f, "true"));
  g_autoptr (PrismSandbox) keeper = create (f);
  g_free (library_run (keeper, KEEP));
  g_free (run_once (f, HAND_OVER));
  for (guint i = 0; i < G_N_ELEMENTS (others); i++)
    {
      others[i] = create (&apart);
      g_free (library_run (others[i], SHOW_A_NAME));
    }
  g_autofree char *seen = library_run (keeper, "echo now > ask; cat answer; rm ask answer door");
  g_assert_nonnull (strstr (seen, "RefCount"));
  g_assert_null (strstr (seen, "name-of-another"));
  for (guint i = 0; i < G_N_ELEMENTS (others); i++)
    {
      library_close (others[i]);
      g_object_unref (others[i]);
    }
  library_close (keeper);
  g_assert_cmpint (rmdir (apart.folder), ==, 0);
  g_free (apart.folder);
}

/* Two sandboxes that live at one time never share one. */
static void
test_neighbours (Fixture *f, gconstpointer data)
{
  PrismSandbox *sandboxes[8];

  for (guint round = 0; round < 3; round++)
    {
      g_autoptr (GHashTable) seen = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
      for (guint i = 0; i < G_N_ELEMENTS (sandboxes); i++)
        sandboxes[i] = create (f);
      for (guint i = 0; i < G_N_ELEMENTS (sandboxes); i++)
        g_assert_true (g_hash_table_add (
            seen, library_run (sandboxes[i], "readlink /proc/self/ns/net /proc/self/ns/pid /proc/self/ns/user")));
      /* The end of one is no concern of the next. */
      for (guint i = 0; i < G_N_ELEMENTS (sandboxes); i++)
        {
          guint at = round % 2 == 0 ? i : (guint)G_N_ELEMENTS (sandboxes) - 1 - i;
          g_autofree char *output = library_run (sandboxes[at], "echo here");
          g_assert_cmpstr (output, ==, "here");
          library_close (sandboxes[at]);
          g_object_unref (sandboxes[at]);
        }
    }
}

/* What is begun ahead takes its turn with the CPUs; nothing of that is left in the sandbox. */
static void
test_policy (Fixture *f, gconstpointer data)
{
  g_autofree char *as_here = g_strdup_printf ("%d\n%d", sched_getscheduler (0), sched_getscheduler (0));

  for (guint i = 0; i < 6; i++)
    {
      g_autofree char *output = run_once (f, "cut -d' ' -f41 /proc/1/stat /proc/self/stat");
      g_assert_cmpstr (output, ==, as_here);
    }
}

/* Held still is one of several, by a process beside the launcher; the others go on, and its
 * end is as any other's, also while it is held. */
static void
test_pause (Fixture *f, gconstpointer data)
{
  PrismSandbox *sandboxes[3];
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (sandboxes); i++)
    sandboxes[i] = create (f);
  for (guint round = 0; round < 2; round++)
    {
      g_autofree char *other = NULL, *again = NULL;
      if (!prism_sandbox_pause (sandboxes[1], NULL, &error))
        {
          /* An ordinary user has no freezer. */
          g_assert_true (geteuid () != 0);
          g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_NOT_SUPPORTED);
          break;
        }
      other = library_run (sandboxes[2], "echo here");
      g_assert_cmpstr (other, ==, "here");
      g_assert_true (prism_sandbox_resume (sandboxes[1], NULL, &error));
      g_assert_no_error (error);
      again = library_run (sandboxes[1], "echo back");
      g_assert_cmpstr (again, ==, "back");
    }
  g_clear_error (&error);
  g_assert_true (prism_sandbox_pause (sandboxes[1], NULL, NULL) || geteuid () != 0);
  for (guint i = 0; i < G_N_ELEMENTS (sandboxes); i++)
    {
      library_close (sandboxes[i]);
      g_object_unref (sandboxes[i]);
    }
}

/* --- control groups --------------------------------------------------------------- */

/* The inodes of the groups with that name, by their hierarchies' paths: they stay when a
 * group changes its name. */
static GHashTable *
find_groups (const char *pattern)
{
  g_autofree char *command = g_strdup_printf ("find /sys/fs/cgroup -name %s -printf '%%h %%i\\n'", pattern);
  GHashTable *found = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autofree char *text = NULL;
  g_auto (GStrv) lines = NULL;

  g_assert_true (g_spawn_command_line_sync (command, &text, NULL, NULL, NULL));
  lines = g_strsplit (text, "\n", 0);
  for (guint i = 0; lines[i] != NULL; i++)
    if (*lines[i] != 0)
      g_hash_table_add (found, g_strdup (lines[i]));
  return found;
}

static GHashTable *
find_groups_of (PrismSandbox *sandbox)
{
  g_autofree char *reference = prism_sandbox_dup_reference (sandbox);
  g_autofree char *pattern = g_strconcat ("prism-", strchr (reference, ':') + 1, NULL);

  return find_groups (pattern);
}

static gboolean
have_in_common (GHashTable *a, GHashTable *b)
{
  GHashTableIter iter;
  gpointer key;

  g_hash_table_iter_init (&iter, a);
  while (g_hash_table_iter_next (&iter, &key, NULL))
    if (g_hash_table_contains (b, key))
      return TRUE;
  return FALSE;
}

static PrismSandbox *
create_small (Fixture *f)
{
  g_autoptr (GFile) folder = g_file_new_for_path (f->folder);
  g_autoptr (PrismSandboxSpec) spec = prism_sandbox_spec_new (folder);
  g_autoptr (GError) error = NULL;

  /* An ordinary user's is no group's. */
  if (geteuid () == 0)
    g_assert_true (prism_limits_set (prism_sandbox_spec_get_limits (spec), "memory-bytes", 64 << 20, &error));
  g_assert_no_error (error);
  return library_create (f->backend, spec);
}

static gboolean
is_killed_for_memory (PrismSandbox *sandbox)
{
  const char *const argv[] = { "python3", "-c", "bytearray(b'x') * (256 << 20)", NULL };
  g_autoptr (PrismCommand) command = prism_command_new (argv);
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismResult) result = prism_sandbox_exec (sandbox, command, NULL, &error);

  g_assert_no_error (error);
  return g_strcmp0 (prism_result_get_limit (result), "memory-bytes") == 0;
}

/* A group that was not noticed in anything serves again; one that had a process killed
 * never. */
static void
test_groups (Fixture *f, gconstpointer data)
{
  g_autoptr (GHashTable) met = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  gboolean again = FALSE, can = FALSE;

  for (guint i = 0; i < 24; i++)
    {
      g_autoptr (PrismSandbox) sandbox = create_small (f);
      g_autoptr (GHashTable) own = find_groups_of (sandbox), left = NULL;
      g_autoptr (GHashTable) before = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
      GHashTableIter iter;
      gpointer key;
      can = can || g_hash_table_size (own) > 0;
      g_assert_false (have_in_common (own, met));
      if (geteuid () == 0 && i % 6 == 5)
        {
          g_assert_true (is_killed_for_memory (sandbox));
          /* That of memory: the others count nothing that stays. */
          g_hash_table_iter_init (&iter, own);
          while (g_hash_table_iter_next (&iter, &key, NULL))
            if (strstr (key, "/memory") != NULL)
              g_hash_table_add (met, g_strdup (key));
        }
      else if (i > 0)
        {
          g_autofree char *output = library_run (sandbox, "echo here");
          g_assert_cmpstr (output, ==, "here");
        }
      library_close (sandbox);
      /* Under its sandbox's name it is gone at once. */
      left = find_groups_of (sandbox);
      g_assert_cmpuint (g_hash_table_size (left), ==, 0);
      if (i > 0)
        {
          g_autoptr (PrismSandbox) next = create_small (f);
          g_autoptr (GHashTable) its = find_groups_of (next);
          again = again || have_in_common (its, own);
          g_assert_false (have_in_common (its, met));
          library_close (next);
        }
    }
  /* Or this test would be of no worth; only a group of the first version can. */
  g_assert_true (again || !can || access ("/sys/fs/cgroup/cgroup.controllers", F_OK) == 0);
}

/* --- the launchers themselves ----------------------------------------------------- */

/* The children of this process that are launchers; one of them, or 0. */
static guint
find_launchers (pid_t *one)
{
  guint n = 0;
  g_autoptr (GDir) proc = g_dir_open ("/proc", 0, NULL);
  const char *name;

  while ((name = g_dir_read_name (proc)) != NULL)
    {
      g_autofree char *line_path = g_build_filename ("/proc", name, "cmdline", NULL);
      g_autofree char *stat_path = g_build_filename ("/proc", name, "stat", NULL);
      g_autofree char *line = NULL, *stat = NULL;
      const char *after;
      gsize size = 0;
      int parent = 0;
      if (!g_ascii_isdigit (*name) || !g_file_get_contents (line_path, &line, &size, NULL)
          || !g_file_get_contents (stat_path, &stat, NULL, NULL) || (after = strrchr (stat, ')')) == NULL
          || sscanf (after, ") %*c %d", &parent) != 1 || parent != getpid () || size == 0)
        continue;
      for (gsize i = 0; i + 1 < size; i++)
        line[i] = line[i] == 0 ? ' ' : line[i];
      if (strstr (line, "--launch many") == NULL)
        continue;
      *one = atoi (name);
      n++;
    }
  return n;
}

static pid_t
find_launcher (void)
{
  pid_t found = 0;

  find_launchers (&found);
  return found;
}

/* The launcher is killed: what it kept is lost and leaves nothing, and the next sandbox is
 * there as ever. */
static void
test_launcher_killed (Fixture *f, gconstpointer data)
{
  const char *const argv[] = { "true", NULL };
  g_autoptr (PrismCommand) command = prism_command_new (argv);
  PrismSandbox *sandboxes[3];
  pid_t launcher;

  for (guint i = 0; i < G_N_ELEMENTS (sandboxes); i++)
    sandboxes[i] = create (f);
  launcher = find_launcher ();
  if (geteuid () == 0)
    g_assert_cmpint (launcher, >, 0);
  if (launcher > 0)
    kill (launcher, SIGKILL);
  for (guint i = 0; i < G_N_ELEMENTS (sandboxes); i++)
    {
      g_autoptr (PrismResult) result = prism_sandbox_exec (sandboxes[i], command, NULL, NULL);
      /* A process's first sandbox has a keeper of its own. */
      if (i > 0 && launcher > 0 && result != NULL)
        g_assert_cmpint (prism_result_get_outcome (result), ==, PRISM_OUTCOME_LOST);
      library_close (sandboxes[i]);
      g_object_unref (sandboxes[i]);
    }
  for (guint i = 0; i < 3; i++)
    {
      g_autofree char *output = run_once (f, "echo here");
      g_assert_cmpstr (output, ==, "here");
    }
}

/* Groups that serve nobody just then have no host that would remove them. */
static void
test_spares_of_killed (Fixture *f, gconstpointer data)
{
  g_autoptr (GHashTable) own = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  gint64 deadline = g_get_monotonic_time () + 60 * G_USEC_PER_SEC;
  gboolean left = TRUE;
  pid_t launcher;

  for (guint i = 0; i < 4; i++)
    {
      g_autoptr (PrismSandbox) sandbox = create (f);
      g_autoptr (GHashTable) its = find_groups_of (sandbox);
      GHashTableIter iter;
      gpointer key;
      g_hash_table_iter_init (&iter, its);
      while (g_hash_table_iter_next (&iter, &key, NULL))
        g_hash_table_add (own, g_strdup (key));
      library_close (sandbox);
    }
  while ((launcher = find_launcher ()) > 0)
    {
      kill (launcher, SIGKILL);
      g_assert_cmpint (g_get_monotonic_time (), <, deadline);
      g_thread_yield ();
    }
  while (left)
    {
      g_autoptr (GHashTable) all = find_groups ("prism-*");
      left = have_in_common (all, own);
      g_assert_cmpint (g_get_monotonic_time (), <, deadline);
    }
}

typedef struct
{
  Fixture *fixture;
  gint *enough;
} Lane;

static gpointer
run_lane (gpointer data)
{
  Lane *lane = data;

  do
    {
      g_autofree char *output = run_once (lane->fixture, "echo here");
      g_assert_cmpstr (output, ==, "here");
    }
  while (!g_atomic_int_get (lane->enough));
  return NULL;
}

/* Threads that start at once do not wait for one launcher; all of them end. */
static void
test_crowd (Fixture *f, gconstpointer data)
{
  gint64 deadline = g_get_monotonic_time () + 60 * G_USEC_PER_SEC;
  guint wanted = geteuid () != 0 ? 0 : g_get_num_processors () > 1 ? 2 : 1;
  GThread *threads[4];
  gint enough = 0;
  Lane lane = { f, &enough };
  pid_t one;

  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    threads[i] = g_thread_new ("lane", run_lane, &lane);
  while (find_launchers (&one) < wanted)
    g_assert_cmpint (g_get_monotonic_time (), <, deadline);
  g_atomic_int_set (&enough, 1);
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    g_thread_join (threads[i]);
  while (find_launchers (&one) > 0)
    g_assert_cmpint (g_get_monotonic_time (), <, deadline);
}

/* The CPUs where that process may run; NULL: it is gone. */
static char *
allowed_cpus (pid_t pid)
{
  g_autofree char *path = g_strdup_printf ("/proc/%d/status", pid), *text = NULL;
  const char *line = g_file_get_contents (path, &text, NULL, NULL) ? strstr (text, "\nCpus_allowed_list:\t") : NULL;

  return line != NULL ? g_strndup (strchr (line, '\t') + 1, strcspn (strchr (line, '\t') + 1, "\n")) : NULL;
}

#define ALLOWED(pid) "sed -n 's/^Cpus_allowed_list:\t//p' /proc/" pid "/status"

static gpointer
run_placed_lane (gpointer data)
{
  gint64 deadline = g_get_monotonic_time () + 60 * G_USEC_PER_SEC;
  g_autofree char *usual = allowed_cpus (getpid ());
  Lane *lane = data;

  do
    {
      g_autoptr (PrismSandbox) sandbox = create (lane->fixture);
      g_autofree char *first = library_run (sandbox, ALLOWED ("self"));
      gboolean elsewhere = FALSE;
      g_assert_cmpstr (first, ==, usual);
      /* A moment later its agent and what keeps the command are not held to one either. */
      while (!elsewhere)
        {
          g_autofree char *agent = library_run (sandbox, ALLOWED ("1"));
          g_autofree char *shim = library_run (sandbox, ALLOWED ("$PPID"));
          elsewhere = strcmp (agent, usual) == 0 && strcmp (shim, usual) == 0;
          g_assert_cmpint (g_get_monotonic_time (), <, deadline);
        }
      library_close (sandbox);
    }
  while (!g_atomic_int_get (lane->enough));
  return NULL;
}

static gboolean
is_on_one_cpu (pid_t launcher)
{
  g_autofree char *allowed = launcher > 0 ? allowed_cpus (launcher) : NULL;

  return allowed != NULL && strpbrk (allowed, "-,") == NULL;
}

/* Launchers that are at work at once stay each on a CPU; no command ever does, and nothing
 * for longer than it takes to start. */
static void
test_places (Fixture *f, gconstpointer data)
{
  gint64 deadline = g_get_monotonic_time () + 60 * G_USEC_PER_SEC;
  gboolean expected = geteuid () == 0 && g_get_num_processors () > 1;
  GThread *threads[2];
  gint enough = 0;
  Lane lane = { f, &enough };
  pid_t one = 0;

  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    threads[i] = g_thread_new ("lane", run_placed_lane, &lane);
  while (expected && (find_launchers (&one) < 2 || !is_on_one_cpu (one)))
    g_assert_cmpint (g_get_monotonic_time (), <, deadline);
  g_atomic_int_set (&enough, 1);
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    g_thread_join (threads[i]);
  while (expected && find_launchers (&one) > 0 && is_on_one_cpu (one))
    g_assert_cmpint (g_get_monotonic_time (), <, deadline);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
#define ADD(name, test) g_test_add ("/native/resident/" name, Fixture, NULL, set_up, test, tear_down)
  ADD ("network-traces", test_network_traces);
  ADD ("network-handed-over", test_network_handed_over);
  ADD ("network-again", test_network_again);
  ADD ("neighbours", test_neighbours);
  ADD ("policy", test_policy);
  ADD ("pause", test_pause);
  ADD ("groups", test_groups);
  ADD ("launcher-killed", test_launcher_killed);
  ADD ("spares-of-killed", test_spares_of_killed);
  ADD ("crowd", test_crowd);
  ADD ("places", test_places);
  return g_test_run ();
}
