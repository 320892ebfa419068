/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* run-work FOLDER: ordinary work in a sandbox. Each script of FOLDER in a sandbox
 * of its own, and what needs the host's side: a server that the next command
 * reaches, streams, a terminal. TAP. */
#include <errno.h>
#include <glib/gstdio.h>
#include <libprism/prism.h>
#include <string.h>

#define PATIENCE_MS 120000

static PrismBackend *backend;
static char *workspace;
static int number, failed;

static void
report (gboolean good, const char *name, const char *text)
{
  printf ("%sok %d - %s\n", good ? "" : "not ", ++number, name);
  if (!good)
    {
      g_auto (GStrv) lines = g_strsplit (text != NULL ? text : "", "\n", -1);
      for (int i = 0; lines[i] != NULL && i < 40; i++)
        printf ("# %s\n", lines[i]);
    }
  fflush (stdout);
  failed += !good;
}

static PrismSandbox *
create (PrismWorkspaceMode mode)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GFile) folder = g_file_new_for_path (workspace);
  g_autoptr (PrismSandboxSpec) spec = prism_sandbox_spec_new (folder);
  g_object_set (spec, "workspace-mode", mode, NULL);
  PrismSandbox *sandbox = prism_backend_create_sandbox (backend, spec, NULL, &error);
  if (sandbox == NULL)
    {
      printf ("Bail out! no sandbox: %s\n", error->message);
      exit (1);
    }
  return sandbox;
}

static PrismResult *
run (PrismSandbox *sandbox, PrismCommand *command, char **wrong)
{
  g_autoptr (GError) error = NULL;
  if (prism_command_get_timeout_ms (command) == 0)
    prism_command_set_timeout_ms (command, PATIENCE_MS);
  PrismResult *result = prism_sandbox_exec (sandbox, command, NULL, &error);
  if (result == NULL)
    *wrong = g_strdup (error->message);
  else if (prism_result_get_exit_code (result) != 0)
    {
      g_autofree char *out = prism_result_dup_stdout_text (result);
      g_autofree char *err = prism_result_dup_stderr_text (result);
      out[MIN (strlen (out), 2000)] = err[MIN (strlen (err), 4000)] = '\0';
      *wrong = g_strdup_printf ("outcome %d, exit %d\n%s\n%s", prism_result_get_outcome (result),
                                prism_result_get_exit_code (result), out, err);
    }
  return result;
}

static void
run_script (const char *name, PrismWorkspaceMode mode)
{
  g_autofree char *path = g_build_filename ("/workspace/scripts", name, NULL);
  g_autofree char *title =
      g_strdup_printf ("%s, %s", name, mode == PRISM_WORKSPACE_MODE_COPY ? "in a copy" : "in the folder itself");
  g_autofree char *wrong = NULL;
  const char *const argv[] = { "/bin/bash", path, NULL };
  g_autoptr (PrismSandbox) sandbox = create (mode);
  g_autoptr (PrismCommand) command = prism_command_new (argv);
  if (strcmp (name, "symlinks.sh") == 0)
    prism_command_set_variable (command, "HOST_WORKSPACE", workspace);
  g_autoptr (PrismResult) result = run (sandbox, command, &wrong);
  prism_sandbox_close (sandbox, NULL, NULL);
  report (result != NULL && wrong == NULL, title, wrong);
}

static int
compare_names (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *)a, *(const char *const *)b);
}

static GPtrArray *
copy_scripts (const char *folder)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GDir) dir = g_dir_open (folder, 0, &error);
  g_autofree char *to = g_build_filename (workspace, "scripts", NULL);
  GPtrArray *names = g_ptr_array_new_with_free_func (g_free);
  g_assert_no_error (error);
  g_mkdir (to, 0755);
  for (const char *name; (name = g_dir_read_name (dir)) != NULL;)
    {
      g_autofree char *from = g_build_filename (folder, name, NULL), *target = g_build_filename (to, name, NULL),
                      *text = NULL;
      gsize size;
      g_assert_true (g_file_get_contents (from, &text, &size, &error));
      g_assert_true (g_file_set_contents_full (target, text, size, G_FILE_SET_CONTENTS_NONE, 0755, &error));
      if (strcmp (name, "setup.sh") != 0)
        g_ptr_array_add (names, g_strdup (name));
    }
  g_ptr_array_sort (names, compare_names);
  return names;
}

/* --- with the host's side --------------------------------------------------------- */

/* One command starts a server and ends; the next reaches it. */
static void
server_for_the_next (void)
{
  g_autofree char *wrong = NULL;
  g_autoptr (PrismSandbox) sandbox = create (PRISM_WORKSPACE_MODE_DIRECT);
  g_autoptr (PrismCommand) start =
      prism_command_new_shell ("mkdir -p served && echo content > served/page && cd served && "
                               "(python3 -u -m http.server 8123 --bind 127.0.0.1 >/tmp/log 2>&1 &) && "
                               "for i in $(seq 500); do python3 -c 'import socket; "
                               "socket.create_connection((\"127.0.0.1\", 8123))' 2>/dev/null && exit 0; done; exit 1");
  g_autoptr (PrismCommand) reach =
      prism_command_new_shell ("python3 -c 'import urllib.request as u; "
                               "print(u.urlopen(\"http://localhost:8123/page\").read().decode().strip())'");
  g_autoptr (PrismResult) started = run (sandbox, start, &wrong);
  if (wrong == NULL)
    {
      g_autoptr (PrismResult) reached = run (sandbox, reach, &wrong);
      g_autofree char *text = reached != NULL ? prism_result_dup_stdout_text (reached) : NULL;
      if (wrong == NULL && g_strcmp0 (text, "content\n") != 0)
        wrong = g_strdup (text);
    }
  prism_sandbox_close (sandbox, NULL, NULL);
  report (wrong == NULL, "a server started by one command is reached by the next", wrong);
}

static void
large_output (void)
{
  g_autofree char *wrong = NULL;
  g_autoptr (PrismSandbox) sandbox = create (PRISM_WORKSPACE_MODE_DIRECT);
  g_autoptr (PrismCommand) command =
      prism_command_new_shell ("head -c 20000000 /dev/zero | tr '\\0' x; head -c 3000000 /dev/zero | tr '\\0' y >&2");
  prism_command_set_max_output_bytes (command, 32 << 20);
  g_autoptr (PrismResult) result = run (sandbox, command, &wrong);
  if (wrong == NULL
      && (g_bytes_get_size (prism_result_get_stdout (result)) != 20000000
          || g_bytes_get_size (prism_result_get_stderr (result)) != 3000000
          || prism_result_get_stdout_truncated (result)))
    wrong = g_strdup_printf ("%zu and %zu bytes came", g_bytes_get_size (prism_result_get_stdout (result)),
                             g_bytes_get_size (prism_result_get_stderr (result)));
  prism_sandbox_close (sandbox, NULL, NULL);
  report (wrong == NULL, "large output on both streams comes whole", wrong);
}

static void
large_input (void)
{
  g_autofree char *wrong = NULL, *block = g_malloc (5000000);
  g_autoptr (PrismSandbox) sandbox = create (PRISM_WORKSPACE_MODE_DIRECT);
  g_autoptr (PrismCommand) command = prism_command_new_shell ("cat");
  memset (block, 'i', 5000000);
  g_autoptr (GBytes) bytes = g_bytes_new_take (g_steal_pointer (&block), 5000000);
  prism_command_set_timeout_ms (command, 20000);
  prism_command_set_stdin_bytes (command, bytes);
  prism_command_set_max_output_bytes (command, 8 << 20);
  g_autoptr (PrismResult) result = run (sandbox, command, &wrong);
  if (wrong == NULL && !g_bytes_equal (bytes, prism_result_get_stdout (result)))
    wrong = g_strdup ("stdin did not come back whole");
  prism_sandbox_close (sandbox, NULL, NULL);
  report (wrong == NULL, "five megabytes of stdin go through cat", wrong);
}

static void
terminal (void)
{
  g_autofree char *wrong = NULL;
  g_autoptr (PrismSandbox) sandbox = create (PRISM_WORKSPACE_MODE_DIRECT);
  g_autoptr (PrismCommand) command =
      prism_command_new_shell ("test -t 0 && test -t 1 && test -t 2 && stty size && tty && test -n \"$TERM\" && "
                               "bash -ic 'sleep 100 & kill %1; wait %1; true'");
  prism_command_set_pty_size (command, 91, 37);
  g_autoptr (PrismResult) result = run (sandbox, command, &wrong);
  g_autofree char *text = result != NULL ? prism_result_dup_stdout_text (result) : g_strdup ("");
  if (wrong == NULL && strstr (text, "37 91") == NULL)
    wrong = g_strdup (text);
  prism_sandbox_close (sandbox, NULL, NULL);
  report (wrong == NULL, "a terminal has its size, its name and job control", wrong);
}

/* The result must hold every byte, however soon the command ends. */
static void
quick_output (void)
{
  g_autofree char *wrong = NULL;
  g_autoptr (PrismSandbox) sandbox = create (PRISM_WORKSPACE_MODE_DIRECT);
  for (int i = 0; i < 300 && wrong == NULL; i++)
    {
      g_autoptr (PrismCommand) command = prism_command_new_shell ("printf X; exit 0");
      if (i % 3 == 0)
        prism_command_set_pty_size (command, 80, 24);
      g_autoptr (PrismResult) result = run (sandbox, command, &wrong);
      g_autofree char *text = result != NULL ? prism_result_dup_stdout_text (result) : NULL;
      if (wrong == NULL && strcmp (text, "X") != 0)
        wrong = g_strdup_printf ("round %d gave \"%s\"", i, text);
    }
  prism_sandbox_close (sandbox, NULL, NULL);
  report (wrong == NULL, "output of commands that end at once is never lost", wrong);
}

static void
files_are_the_users (void)
{
  g_autofree char *wrong = NULL, *path = g_build_filename (workspace, "made-inside", NULL);
  GStatBuf made, folder;
  g_autoptr (PrismSandbox) sandbox = create (PRISM_WORKSPACE_MODE_DIRECT);
  g_autoptr (PrismCommand) command =
      prism_command_new_shell ("echo inside > made-inside && mkdir -p deep/er && touch deep/er/file");
  g_autoptr (PrismResult) result = run (sandbox, command, &wrong);
  prism_sandbox_close (sandbox, NULL, NULL);
  if (wrong == NULL && (g_stat (path, &made) != 0 || g_stat (workspace, &folder) != 0 || made.st_uid != folder.st_uid))
    wrong = g_strdup ("what was made inside does not belong to the folder's owner");
  report (wrong == NULL, "what is made in the workspace belongs to the folder's owner", wrong);
}

int
main (int argc, char **argv)
{
  g_autoptr (GError) error = NULL;
  if (argc != 2)
    {
      g_printerr ("usage: run-work FOLDER\n");
      return 2;
    }
  g_autofree char *folder = g_dir_make_tmp ("prism-work-XXXXXX", &error);
  g_assert_no_error (error);
  g_chmod (folder, 0755);
  workspace = folder;
  g_autoptr (GPtrArray) scripts = copy_scripts (argv[1]);
  backend = prism_registry_create_backend (prism_registry_get_default (), "native", &error);
  g_assert_no_error (error);
  server_for_the_next ();
  large_output ();
  large_input ();
  terminal ();
  quick_output ();
  files_are_the_users ();
  for (guint i = 0; i < scripts->len; i++)
    run_script (scripts->pdata[i], PRISM_WORKSPACE_MODE_DIRECT);
  run_script ("git.sh", PRISM_WORKSPACE_MODE_COPY);
  run_script ("npm.sh", PRISM_WORKSPACE_MODE_COPY);
  run_script ("compile.sh", PRISM_WORKSPACE_MODE_COPY);
  printf ("1..%d\n", number);
  g_clear_object (&backend);
  const char *const remove[] = { "rm", "-rf", workspace, NULL };
  g_spawn_sync (NULL, (char **)remove, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL, NULL, NULL);
  return failed > 0;
}
