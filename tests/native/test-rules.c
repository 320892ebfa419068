/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which rule wins where two overlap, tried from inside and checked on the host: what
 * seems to be written is there, what is denied is EACCES, EROFS or not there. */
#include <glib/gstdio.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "native-fixture.h"

typedef enum
{
  HIDE,
  READ,
  WRITE,
  PROTECT,
  N_RULES,
} Rule;

static const char *const rule_names[] = { "hide", "ro", "rw", "protect" };

/* What a rule leaves of the folder it is on, alone or below another. */
typedef enum
{
  NOTHING,
  READABLE,
  WRITABLE,
} Access;

static const Access expected_inner[N_RULES][N_RULES] = {
  /* below:     hide      ro        rw        protect */
  [HIDE] = { NOTHING, READABLE, WRITABLE, NOTHING },
  [READ] = { NOTHING, READABLE, WRITABLE, READABLE },
  [WRITE] = { NOTHING, READABLE, WRITABLE, READABLE },
  [PROTECT] = { NOTHING, READABLE, WRITABLE, READABLE },
};
static const Access expected_outer[N_RULES] = { NOTHING, READABLE, WRITABLE, READABLE };

typedef struct
{
  PrismNativePath hide[2], protect[2];
  PrismNativeShown shown[2];
} Rules;

static void
add_rule (PrismNativeAsked *asked, Rules *rules, Rule rule, const char *path)
{
  const PrismNativePath at = { path, PRISM_NATIVE_KIND_FOLDER };

  asked->hide = rules->hide;
  asked->protect = rules->protect;
  asked->mounts = rules->shown;
  if (rule == HIDE)
    rules->hide[asked->n_hide++] = at;
  else if (rule == PROTECT)
    rules->protect[asked->n_protect++] = at;
  else
    rules->shown[asked->n_mounts++] = (PrismNativeShown){ at, path, rule == WRITE };
}

static void
make_file (const char *folder, const char *name)
{
  g_autofree char *path = g_build_filename (folder, name, NULL);
  g_assert_true (g_file_set_contents (path, "host\n", -1, NULL));
}

static void
check_access (NativeClient *client, const char *inside, const char *outside, Access access)
{
  g_autofree char *read_it = g_strdup_printf ("cat %s/file", inside);
  g_autofree char *list_it = g_strdup_printf ("ls %s", inside);
  g_autofree char *write_it = g_strdup_printf ("echo written >%s/new", inside);
  g_autofree char *append_it = g_strdup_printf ("echo more >>%s/file", inside);
  g_autofree char *make_it = g_strdup_printf ("mkdir %s/folder", inside);
  g_autofree char *rename_it = g_strdup_printf ("mv %s/other %s/renamed", inside, inside);
  g_autofree char *made = g_build_filename (outside, "new", NULL);
  g_autofree char *renamed = g_build_filename (outside, "renamed", NULL);
  g_autofree char *file = g_build_filename (outside, "file", NULL);
  g_autofree char *text = NULL;
  gboolean may_write = access == WRITABLE;

  g_assert_cmpint (native_client_sh_code (client, read_it) == 0, ==, access != NOTHING);
  g_assert_cmpint (native_client_sh_code (client, list_it) == 0, ==, access != NOTHING);
  g_assert_cmpint (native_client_sh_code (client, write_it) == 0, ==, may_write);
  g_assert_cmpint (native_client_sh_code (client, append_it) == 0, ==, may_write);
  g_assert_cmpint (native_client_sh_code (client, make_it) == 0, ==, may_write);
  g_assert_cmpint (native_client_sh_code (client, rename_it) == 0, ==, may_write);
  g_assert_cmpint (g_file_test (made, G_FILE_TEST_EXISTS), ==, may_write);
  g_assert_cmpint (g_file_test (renamed, G_FILE_TEST_EXISTS), ==, may_write);
  g_assert_true (g_file_get_contents (file, &text, NULL, NULL));
  g_assert_cmpstr (text, ==, may_write ? "host\nmore\n" : "host\n");
}

static void
check_pair (NativeFixture *f, Rule outer, Rule inner)
{
  g_autofree char *name = g_strdup_printf ("%s-%s", rule_names[outer], rule_names[inner]);
  g_autofree char *o = g_build_filename (f->folder, name, NULL);
  g_autofree char *i = g_build_filename (o, "inner", NULL);
  g_autofree char *o_inside = g_build_filename ("/workspace", name, NULL);
  g_autofree char *i_inside = g_build_filename (o_inside, "inner", NULL);
  g_autofree char *move_away = g_strdup_printf ("mv %s %s-away", o_inside, o_inside);
  PrismNativeAsked asked = f->asked;
  Rules rules;
  g_autoptr (NativeClient) client = NULL;

  g_test_message ("%s", name);
  g_assert_cmpint (g_mkdir_with_parents (i, 0755), ==, 0);
  make_file (o, "file");
  make_file (o, "other");
  make_file (i, "file");
  make_file (i, "other");
  add_rule (&asked, &rules, outer, o);
  add_rule (&asked, &rules, inner, i);
  client = native_client_new (&asked);
  check_access (client, i_inside, i, expected_inner[outer][inner]);
  check_access (client, o_inside, o, expected_outer[outer]);
  native_assert_fails (client, move_away);
}

static void
test_overlap (NativeFixture *f, gconstpointer data)
{
  for (Rule outer = 0; outer < N_RULES; outer++)
    for (Rule inner = 0; inner < N_RULES; inner++)
      check_pair (f, outer, inner);
}

/* A file rather than a folder, in the workspace's root and two folders down. */
static void
test_files (NativeFixture *f, gconstpointer data)
{
  g_autofree char *deep = g_build_filename (f->folder, "a", "b", NULL);
  g_autofree char *secret = g_build_filename (f->folder, ".env", NULL);
  g_autofree char *hook = g_build_filename (deep, "file", NULL);
  const PrismNativePath hidden = { secret, PRISM_NATIVE_KIND_FILE }, kept = { hook, PRISM_NATIVE_KIND_FILE };
  g_autoptr (NativeClient) client = NULL;

  g_assert_cmpint (g_mkdir_with_parents (deep, 0755), ==, 0);
  make_file (f->folder, ".env");
  make_file (deep, "file");
  f->asked.hide = &hidden;
  f->asked.n_hide = 1;
  f->asked.protect = &kept;
  f->asked.n_protect = 1;
  client = native_client_new (&f->asked);
  native_assert_fails (client, "cat .env");
  native_assert_fails (client, "echo x >.env");
  native_assert_fails (client, "rm -f .env");
  native_assert_fails (client, "mv .env x");
  native_assert_fails (client, "ln .env x");
  native_assert_fails (client, "chmod 644 .env");
  native_assert_sh (client, "cat a/b/file", "host");
  native_assert_fails (client, "echo x >a/b/file");
  native_assert_fails (client, "rm -rf a");
  native_assert_fails (client, "mv a z");
  native_assert_fails (client, "mv a/b z");
  native_assert_fails (client, "mv a/b/file z");
  native_assert_sh (client, "echo y >a/b/y; mkdir a/c; cat a/b/y", "y");
}

/* By links: what is named is resolved on the host; what is a link by then is refused. */
static void
test_links (NativeFixture *f, gconstpointer data)
{
  g_autofree char *folder = g_build_filename (f->folder, "real", NULL);
  g_autofree char *link = g_build_filename (f->folder, "link", NULL);
  g_autofree char *below = g_build_filename (link, "file", NULL);
  PrismNativePath path = { link, PRISM_NATIVE_KIND_FOLDER };
  g_autoptr (GError) error = NULL;

  g_assert_cmpint (g_mkdir (folder, 0755), ==, 0);
  make_file (folder, "file");
  g_assert_cmpint (symlink ("real", link), ==, 0);
  f->asked.protect = &path;
  f->asked.n_protect = 1;
  error = native_client_refusal (&f->asked);
  g_test_message ("%s", error->message);
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_REFUSED);
  g_clear_error (&error);
  path = (PrismNativePath){ below, PRISM_NATIVE_KIND_FILE };
  error = native_client_refusal (&f->asked);
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_REFUSED);
}

/* Nothing is ever made in the user's tree, not even a mount point. */
static void
test_nothing_made (NativeFixture *f, gconstpointer data)
{
  g_autofree char *source = g_build_filename (f->folder, "source", NULL);
  const PrismNativeShown shown = { { source, PRISM_NATIVE_KIND_FOLDER }, "/workspace/not/there", FALSE };
  g_autofree char *made = g_build_filename (f->folder, "not", NULL);
  g_autoptr (GError) error = NULL;

  g_assert_cmpint (g_mkdir (source, 0755), ==, 0);
  f->asked.mounts = &shown;
  f->asked.n_mounts = 1;
  error = native_client_refusal (&f->asked);
  g_test_message ("%s", error->message);
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_REFUSED);
  g_assert_false (g_file_test (made, G_FILE_TEST_EXISTS));
}

/* Where a mount would go, the workspace has a link to somewhere else: nothing is
 * mounted where it leads. */
static void
test_linked_targets (NativeFixture *f, gconstpointer data)
{
  static const char *const leads_to[] = { "/proc/sys/kernel", "/etc", "/dev", "/", "/proc", "..", "nowhere" };
  static const char *const targets[] = { "/workspace/link", "/workspace/link/below" };
  g_autofree char *source = g_build_filename (f->folder, "source", NULL),
                  *link = g_build_filename (f->folder, "link", NULL);
  PrismNativeShown shown = { { source, PRISM_NATIVE_KIND_FOLDER }, NULL, FALSE };

  g_assert_cmpint (g_mkdir (source, 0755), ==, 0);
  f->asked.mounts = &shown;
  f->asked.n_mounts = 1;
  for (gsize i = 0; i < G_N_ELEMENTS (leads_to); i++)
    for (gsize k = 0; k < G_N_ELEMENTS (targets); k++)
      {
        g_autoptr (GError) error = NULL;
        g_assert_cmpint (symlink (leads_to[i], link), ==, 0);
        shown.destination = targets[k];
        error = native_client_refusal (&f->asked);
        g_test_message ("%s: %s", leads_to[i], error->message);
        g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_REFUSED);
        g_unlink (link);
      }
}

/* A machine whose devices are not what their names say: never shown as if they were. */
static void
test_false_devices (NativeFixture *f, gconstpointer data)
{
  static const char *const names[] = { "/dev/null", "/dev/zero", "/dev/urandom" };
  g_autofree char *plain = g_build_filename (f->folder, "plain", NULL);

  if (geteuid () != 0)
    return; /* only root can make such a machine */
  make_file (f->folder, "plain");
  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    {
      int status;
      pid_t pid = fork ();
      if (pid == 0)
        {
          g_autoptr (GError) error = NULL;
          if (unshare (CLONE_NEWNS) != 0 || mount (NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0
              || mount (i == 1 ? "/dev/null" : plain, names[i], NULL, MS_BIND, NULL) != 0)
            _exit (3);
          error = native_client_refusal (&f->asked);
          _exit (strstr (error->message, names[i]) != NULL ? 0 : 2);
        }
      g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);
      g_assert_cmpint (status, ==, 0);
    }
}

static void
test_contradiction (NativeFixture *f, gconstpointer data)
{
  const PrismNativePath hidden = { f->folder, PRISM_NATIVE_KIND_FOLDER };
  g_autoptr (GError) error = NULL;

  f->asked.hide = &hidden;
  f->asked.n_hide = 1;
  error = native_client_refusal (&f->asked);
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_INVALID);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  native_add_test ("/native/rules/overlap", test_overlap);
  native_add_test ("/native/rules/files", test_files);
  native_add_test ("/native/rules/links", test_links);
  native_add_test ("/native/rules/nothing-made", test_nothing_made);
  native_add_test ("/native/rules/linked-targets", test_linked_targets);
  native_add_test ("/native/rules/false-devices", test_false_devices);
  native_add_test ("/native/rules/contradiction", test_contradiction);
  return g_test_run ();
}
