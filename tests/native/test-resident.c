/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One sandbox after another, and beside another, from one process: as root the later
 * ones come from a launcher that stays, which may keep for them only what nobody used. */
#include <libprism/prism.h>
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

/* The child of this process that is a launcher, or 0. */
static pid_t
find_launcher (void)
{
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
      if (strstr (line, "--launch many") != NULL)
        return atoi (name);
    }
  return 0;
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

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
#define ADD(name, test) g_test_add ("/native/resident/" name, Fixture, NULL, set_up, test, tear_down)
  ADD ("network-traces", test_network_traces);
  ADD ("network-again", test_network_again);
  ADD ("neighbours", test_neighbours);
  ADD ("pause", test_pause);
  ADD ("launcher-killed", test_launcher_killed);
  return g_test_run ();
}
