/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files inside, by the sandbox's own methods, whatever they are called. */
#include "conformance.h"

#include <sys/stat.h>
#include <unistd.h>

static GBytes *
bytes_of (const char *text)
{
  return g_bytes_new (text, strlen (text));
}

static gboolean
put (Box *box, const char *path, const char *text, guint mode, PrismFileFlags flags, GError **error)
{
  g_autoptr (GBytes) bytes = bytes_of (text);

  return prism_sandbox_write_file (box->sandbox, path, bytes, mode, flags, NULL, error);
}

static void
must_put (Box *box, const char *path, const char *text)
{
  g_autoptr (GError) error = NULL;

  put (box, path, text, 0, PRISM_FILE_FLAGS_NONE, &error);
  g_assert_no_error (error);
}

static char *
get (Box *box, const char *path, gint64 offset, gint64 length, GError **error)
{
  g_autoptr (GBytes) bytes = prism_sandbox_read_file (box->sandbox, path, offset, length, NULL, error);

  if (bytes == NULL)
    return NULL;
  return g_bytes_get_size (bytes) > 0 ? g_strndup (g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes))
                                      : g_strdup ("");
}

static void
assert_content (Box *box, const char *path, const char *text)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *got = get (box, path, 0, -1, &error);

  g_assert_no_error (error);
  g_assert_cmpstr (got, ==, text);
}

static void
assert_no_file (Box *box, const char *path)
{
  g_autoptr (GError) error = NULL;

  g_assert_null (prism_sandbox_stat_file (box->sandbox, path, NULL, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_NOT_FOUND);
}

static void
test_read_write (Box *box)
{
  const gsize size = 3 * 1024 * 1024 + 17;
  g_autofree char *data = g_malloc (size);
  g_autoptr (GBytes) big = NULL, back = NULL;
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismResult) result = NULL;
  g_autofree char *part = NULL, *beyond = NULL;

  must_put (box, "a", "hello world");
  assert_content (box, "a", "hello world");
  must_put (box, "a", "");
  assert_content (box, "a", "");
  must_put (box, "a", "0123456789");
  part = get (box, "a", 3, 4, &error);
  g_assert_cmpstr (part, ==, "3456");
  beyond = get (box, "a", 8, 100, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (beyond, ==, "89");

  for (gsize i = 0; i < size; i++)
    data[i] = (char)(i * 7 + (i >> 9));
  big = g_bytes_new (data, size);
  g_assert_true (prism_sandbox_write_file (box->sandbox, "big", big, 0, 0, NULL, &error));
  g_assert_no_error (error);
  back = prism_sandbox_read_file (box->sandbox, "big", 0, -1, NULL, &error);
  g_assert_no_error (error);
  g_assert_true (g_bytes_equal (big, back));
  /* Commands see the same tree, both ways. */
  result = box_sh (box, "cat a; printf from-inside >b");
  assert_stdout (result, "0123456789");
  assert_content (box, "b", "from-inside");
}

static void
assert_mode (Box *box, const char *path, guint mode)
{
  g_autoptr (PrismFileEntry) entry = prism_sandbox_stat_file (box->sandbox, path, NULL, NULL);

  g_assert_nonnull (entry);
  g_assert_cmphex (prism_file_entry_get_mode (entry), ==, mode);
}

static void
test_modes (Box *box)
{
  g_autoptr (GError) error = NULL;

  must_put (box, "plain", "x");
  assert_mode (box, "plain", 0644);
  g_assert_true (put (box, "secret", "x", 0600, 0, &error));
  assert_mode (box, "secret", 0600);
  must_put (box, "secret", "y"); /* 0 keeps what it has */
  assert_mode (box, "secret", 0600);
  g_assert_true (put (box, "run", "#!/bin/sh\necho ran\n", 0755, 0, &error));
  assert_mode (box, "run", 0755);
  g_assert_no_error (error);
  g_assert_false (put (box, "root", "x", 04755, 0, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_INVALID);
  g_autoptr (PrismResult) result = box_sh (box, "./run");
  assert_stdout (result, "ran\n");
}

static void
test_parents (Box *box)
{
  g_autoptr (GError) error = NULL;

  g_assert_false (put (box, "x/y/z", "deep", 0, PRISM_FILE_FLAGS_NONE, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_NOT_FOUND);
  g_clear_error (&error);
  g_assert_true (put (box, "x/y/z", "deep", 0, PRISM_FILE_FLAGS_PARENTS, &error));
  g_assert_no_error (error);
  assert_content (box, "x/y/z", "deep");
}

static void
prepare_cap (Box *box)
{
  g_assert_true (prism_limits_set (box->limits, "max-file-bytes", 1000, NULL));
}

/* Too long is an error, never a short answer. */
static void
test_cap (Box *box)
{
  g_autoptr (PrismResult) result = box_sh (box, "head -c 1000 /dev/zero >fits; head -c 1001 /dev/zero >long");
  g_autoptr (GBytes) fits = prism_sandbox_read_file (box->sandbox, "fits", 0, -1, NULL, NULL), part = NULL;
  g_autoptr (GError) error = NULL;

  g_assert_cmpuint (g_bytes_get_size (fits), ==, 1000);
  g_assert_null (prism_sandbox_read_file (box->sandbox, "long", 0, -1, NULL, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_LIMIT);
  g_clear_error (&error);
  part = prism_sandbox_read_file (box->sandbox, "long", 500, 501, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (g_bytes_get_size (part), ==, 501);
}

static void
test_what_is_no_file (Box *box)
{
  g_autoptr (PrismResult) result = box_sh (box, "mkdir d; mkfifo f");
  static const char *const paths[] = { "d", "f" };
  g_autoptr (GError) error = NULL;

  for (gsize i = 0; i < G_N_ELEMENTS (paths); i++)
    {
      g_assert_null (prism_sandbox_read_file (box->sandbox, paths[i], 0, -1, NULL, &error));
      g_assert_nonnull (error);
      g_clear_error (&error);
    }
  g_assert_null (prism_sandbox_read_file (box->sandbox, "missing", 0, -1, NULL, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_NOT_FOUND);
}

static void
test_stat (Box *box)
{
  g_autoptr (PrismResult) result = box_sh (box, "printf 12345 >f; mkdir -m 750 d; ln -s f l; ln -s nowhere dangling");
  g_autoptr (PrismFileEntry) file = prism_sandbox_stat_file (box->sandbox, "f", NULL, NULL);
  g_autoptr (PrismFileEntry) folder = prism_sandbox_stat_file (box->sandbox, "d", NULL, NULL);
  g_autoptr (PrismFileEntry) link = prism_sandbox_stat_file (box->sandbox, "l", NULL, NULL);
  g_autoptr (PrismFileEntry) dangling = prism_sandbox_stat_file (box->sandbox, "dangling", NULL, NULL);
  g_autofree char *workspace = prism_sandbox_dup_workspace (box->sandbox);
  g_autofree char *path = g_strconcat (workspace, "/f", NULL);
  gint64 age = g_get_real_time () - prism_file_entry_get_mtime_us (file);

  g_assert_cmpstr (prism_file_entry_get_path (file), ==, path);
  g_assert_cmpint (prism_file_entry_get_file_type (file), ==, G_FILE_TYPE_REGULAR);
  g_assert_cmpuint (prism_file_entry_get_size (file), ==, 5);
  g_assert_cmpint (ABS (age), <, 60 * G_USEC_PER_SEC);
  g_assert_cmpint (prism_file_entry_get_file_type (folder), ==, G_FILE_TYPE_DIRECTORY);
  g_assert_cmphex (prism_file_entry_get_mode (folder), ==, 0750);
  g_assert_cmpint (prism_file_entry_get_file_type (link), ==, G_FILE_TYPE_SYMBOLIC_LINK);
  g_assert_cmpint (prism_file_entry_get_file_type (dangling), ==, G_FILE_TYPE_SYMBOLIC_LINK);
  assert_no_file (box, "missing");
}

static char *
list (Box *box, const char *path, PrismFileFlags flags)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GListModel) entries = prism_sandbox_list_files (box->sandbox, path, flags, NULL, &error);
  g_autofree char *workspace = prism_sandbox_dup_workspace (box->sandbox);
  GString *names = g_string_new (NULL);

  g_assert_no_error (error);
  for (guint i = 0; i < g_list_model_get_n_items (entries); i++)
    {
      g_autoptr (PrismFileEntry) entry = g_list_model_get_item (entries, i);
      const char *name = prism_file_entry_get_path (entry);
      g_assert_true (g_str_has_prefix (name, workspace));
      g_string_append_printf (names, "%s ", name + strlen (workspace) + 1);
    }
  return g_string_free (names, FALSE);
}

static void
test_list (Box *box)
{
  g_autoptr (PrismResult) result = box_sh (
      box, "rm -f gate; mkdir -p b/inner .hidden; : >a; : >c; : >.dot; : >b/x; : >b/.y; : >b/inner/z; : >.hidden/w; "
           "ln -s b link; ln -s / root");
  g_autofree char *plain = list (box, ".", 0), *hidden = list (box, ".", PRISM_FILE_FLAGS_HIDDEN);
  g_autofree char *deep = list (box, ".", PRISM_FILE_FLAGS_RECURSIVE);
  g_autofree char *all = list (box, ".", PRISM_FILE_FLAGS_RECURSIVE | PRISM_FILE_FLAGS_HIDDEN);
  g_autofree char *sub = list (box, "b", 0);
  g_autoptr (GError) error = NULL;

  g_assert_cmpstr (plain, ==, "a b c link root ");
  g_assert_cmpstr (hidden, ==, ".dot .hidden a b c link root ");
  g_assert_cmpstr (deep, ==, "a b b/inner b/inner/z b/x c link root ");
  g_assert_cmpstr (all, ==, ".dot .hidden .hidden/w a b b/.y b/inner b/inner/z b/x c link root ");
  g_assert_cmpstr (sub, ==, "b/inner b/x ");
  g_assert_null (prism_sandbox_list_files (box->sandbox, "missing", 0, NULL, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_NOT_FOUND);
  g_clear_error (&error);
  g_assert_null (prism_sandbox_list_files (box->sandbox, "a", 0, NULL, &error));
  g_assert_nonnull (error);
}

static gboolean
removes (Box *box, const char *path, PrismFileFlags flags)
{
  return prism_sandbox_remove_file (box->sandbox, path, flags, NULL, NULL);
}

static void
test_remove (Box *box)
{
  g_autoptr (PrismResult) result = box_sh (box, "mkdir -p full/deep empty; : >full/deep/f; : >f; ln -s full l");
  g_autoptr (GError) error = NULL;

  g_assert_true (removes (box, "f", 0));
  assert_no_file (box, "f");
  g_assert_true (removes (box, "empty", 0));
  g_assert_false (removes (box, "full", 0));
  assert_content (box, "full/deep/f", "");
  g_assert_true (removes (box, "l", PRISM_FILE_FLAGS_RECURSIVE)); /* the link, not what it names */
  assert_no_file (box, "l");
  assert_content (box, "full/deep/f", "");
  g_assert_true (removes (box, "full", PRISM_FILE_FLAGS_RECURSIVE));
  assert_no_file (box, "full");
  g_assert_false (prism_sandbox_remove_file (box->sandbox, "f", 0, NULL, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_NOT_FOUND);
}

static gboolean
renames (Box *box, const char *from, const char *to, PrismFileFlags flags, GError **error)
{
  return prism_sandbox_rename_file (box->sandbox, from, to, flags, NULL, error);
}

static void
test_rename (Box *box)
{
  g_autoptr (GError) error = NULL;

  must_put (box, "a", "A");
  must_put (box, "b", "B");
  g_assert_true (renames (box, "a", "c", 0, &error));
  assert_no_file (box, "a");
  assert_content (box, "c", "A");
  g_assert_false (renames (box, "c", "b", 0, &error));
  g_assert_nonnull (error);
  g_clear_error (&error);
  assert_content (box, "b", "B");
  g_assert_true (renames (box, "c", "b", PRISM_FILE_FLAGS_OVERWRITE, &error));
  assert_content (box, "b", "A");
  g_assert_false (renames (box, "b", "no/where", 0, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_NOT_FOUND);
  g_clear_error (&error);
  g_assert_false (renames (box, "missing", "x", 0, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_NOT_FOUND);
}

static gboolean
makes (Box *box, const char *path, guint mode, PrismFileFlags flags)
{
  return prism_sandbox_make_directory (box->sandbox, path, mode, flags, NULL, NULL);
}

static void
test_make_directory (Box *box)
{
  g_assert_true (makes (box, "d", 0, 0));
  assert_mode (box, "d", 0755);
  g_assert_false (makes (box, "d", 0, 0));
  g_assert_true (makes (box, "d", 0, PRISM_FILE_FLAGS_PARENTS));
  g_assert_false (makes (box, "x/y", 0, 0));
  g_assert_true (makes (box, "x/y/z", 0700, PRISM_FILE_FLAGS_PARENTS));
  assert_mode (box, "x/y/z", 0700);
  must_put (box, "f", "");
  g_assert_false (makes (box, "f", 0, PRISM_FILE_FLAGS_PARENTS));
}

/* Bytes as the file system has them, through every method. */
static void
test_odd_names (Box *box)
{
  g_autofree char *longest = g_strnfill (255, 'n'), *too_long = g_strnfill (256, 'n');
  const char *const names[] = { "\xff\xfe raw", "new\nline", "-rf", "--", " ",    "'\"`$(x)",
                                "tab\tctl\x01", "é",         "...", "*",  longest };
  g_autofree char *workspace = prism_sandbox_dup_workspace (box->sandbox);
  g_autoptr (GError) error = NULL;

  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autoptr (GListModel) entries = NULL;
      g_autoptr (PrismFileEntry) entry = NULL;
      g_autofree char *path = g_strconcat (workspace, "/odd/", names[i], NULL);

      g_assert_true (makes (box, "odd", 0, PRISM_FILE_FLAGS_PARENTS));
      must_put (box, path, names[i]);
      entries = prism_sandbox_list_files (box->sandbox, "odd", PRISM_FILE_FLAGS_HIDDEN, NULL, &error);
      g_assert_no_error (error);
      g_assert_cmpuint (g_list_model_get_n_items (entries), ==, 1);
      entry = g_list_model_get_item (entries, 0);
      g_assert_cmpstr (prism_file_entry_get_path (entry), ==, path);
      assert_content (box, prism_file_entry_get_path (entry), names[i]);
      g_assert_true (renames (box, path, "odd/plain", 0, &error));
      g_assert_true (renames (box, "odd/plain", path, 0, &error));
      g_assert_true (removes (box, path, 0));
    }
  g_assert_false (put (box, too_long, "x", 0, 0, &error));
  g_assert_nonnull (error);
}

/* Host files are not to be had by a link or a name. */
static void
test_leads_outside (Box *box)
{
  g_autofree char *secret = g_build_filename (g_get_tmp_dir (), "conformance-secret", NULL);
  g_autofree char *base = g_path_get_basename (secret), *up = g_strconcat ("../", base, NULL);
  static const char *const paths[] = { "link", "up", "folder/conformance-secret" };

  g_assert_true (g_file_set_contents (secret, "host", -1, NULL));
  box_link (box, secret, "link");
  box_link (box, up, "up");
  box_link (box, g_get_tmp_dir (), "folder");
  for (gsize i = 0; i < G_N_ELEMENTS (paths); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autofree char *got = get (box, paths[i], 0, -1, &error);
      g_assert_null (got);
      g_assert_nonnull (error);
      put (box, paths[i], "overwritten", 0, PRISM_FILE_FLAGS_NONE, NULL);
    }
  g_autoptr (GError) error = NULL;
  g_autofree char *dotted = get (box, up, 0, -1, &error);
  g_assert_null (dotted);
  g_autofree char *after = NULL;
  g_assert_true (g_file_get_contents (secret, &after, NULL, NULL));
  g_assert_cmpstr (after, ==, "host");
  unlink (secret);
}

/* A folder beside the workspace whose name begins as the workspace's does is none of it. */
static void
test_beside (Box *box)
{
  g_autofree char *workspace = prism_sandbox_dup_workspace (box->sandbox),
                  *outside = g_strconcat (box->folder, "-evil", NULL);
  g_autofree char *secret = g_build_filename (outside, "secret", NULL), *name = g_path_get_basename (outside);
  g_autofree char *inner = g_path_get_basename (workspace);
  g_autofree char *absolute = g_strconcat (workspace, "-evil/secret", NULL), *host = g_strdup (secret);
  g_autofree char *up = g_strconcat ("../", name, "/secret", NULL),
                  *by_inner = g_strconcat ("../", inner, "-evil/secret", NULL);
  g_autofree char *winding = g_strconcat ("d/../.././", name, "//secret", NULL);
  const char *const paths[] = { absolute, host, up, by_inner, winding };

  g_assert_cmpint (mkdir (outside, 0755), ==, 0);
  g_assert_true (g_file_set_contents (secret, "host", -1, NULL));
  g_assert_true (makes (box, "d", 0, 0));
  for (gsize i = 0; i < G_N_ELEMENTS (paths); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autofree char *got = get (box, paths[i], 0, -1, &error), *after = NULL;
      g_autofree char *folder = g_path_get_dirname (paths[i]);
      g_autoptr (GListModel) list = prism_sandbox_list_files (box->sandbox, folder, 0, NULL, NULL);
      g_assert_null (got);
      g_assert_nonnull (error);
      g_assert_null (list);
      put (box, paths[i], "overwritten", 0, PRISM_FILE_FLAGS_NONE, NULL);
      removes (box, paths[i], 0);
      renames (box, paths[i], "taken", PRISM_FILE_FLAGS_OVERWRITE, NULL);
      g_assert_true (g_file_get_contents (secret, &after, NULL, NULL));
      g_assert_cmpstr (after, ==, "host");
    }
  assert_no_file (box, "taken");
  unlink (secret);
  rmdir (outside);
}

/* What is done to a link is done to the link, wherever it leads. */
static void
test_links_themselves (Box *box)
{
  static const char *const targets[] = {
    "/", "..", "/proc/self/root/etc", "/proc/self/cwd", "/dev/fd/0", "loop", "kept"
  };
  g_autoptr (GError) error = NULL;

  must_put (box, "kept", "kept");
  for (gsize i = 0; i < G_N_ELEMENTS (targets); i++)
    {
      g_autoptr (PrismFileEntry) entry = NULL;
      box_link (box, targets[i], "loop");
      entry = prism_sandbox_stat_file (box->sandbox, "loop", NULL, &error);
      g_assert_no_error (error);
      g_assert_cmpint (prism_file_entry_get_file_type (entry), ==, G_FILE_TYPE_SYMBOLIC_LINK);
      g_assert_true (renames (box, "loop", "moved", 0, &error));
      g_assert_no_error (error);
      assert_no_file (box, "loop");
      g_assert_true (removes (box, "moved", PRISM_FILE_FLAGS_RECURSIVE));
      assert_no_file (box, "moved");
    }
  assert_content (box, "kept", "kept");
}

static void
test_search (Box *box)
{
  g_autoptr (PrismResult) made =
      box_sh (box, "mkdir -p d .h; printf 'one\\ntwo needle\\n' >a; printf 'Needle\\n' >d/b; "
                   "printf 'needle' >.h/c; printf 'needle\\n' >.hidden");
  g_autoptr (GError) error = NULL;
  g_autoptr (GBytes) plain = prism_sandbox_search (box->sandbox, ".", "needle", 0, 100, NULL, &error);
  g_autoptr (GBytes) any =
      prism_sandbox_search (box->sandbox, ".", "NEEDLE", PRISM_FILE_FLAGS_IGNORE_CASE, 100, NULL, &error);
  g_autoptr (GBytes) all =
      prism_sandbox_search (box->sandbox, ".", "needle", PRISM_FILE_FLAGS_HIDDEN, 100, NULL, &error);
  g_autoptr (GBytes) one = prism_sandbox_search (box->sandbox, ".", "needle", PRISM_FILE_FLAGS_HIDDEN, 1, NULL, &error);
  g_autoptr (GBytes) none = prism_sandbox_search (box->sandbox, ".", "not there", 0, 100, NULL, &error);
  const struct
  {
    GBytes *bytes;
    guint lines;
  } cases[] = { { plain, 1 }, { any, 2 }, { all, 3 }, { one, 1 }, { none, 0 } };
  gsize size;
  const char *text;

  g_assert_no_error (error);
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      guint lines = 0;
      text = g_bytes_get_data (cases[i].bytes, &size);
      for (gsize at = 0; at < size; at++)
        lines += text[at] == '\n';
      g_assert_cmpuint (lines, ==, cases[i].lines);
    }
  /* PATH NUL LINE NUL COLUMN NUL TEXT LF */
  text = g_bytes_get_data (plain, &size);
  g_assert_true (g_str_has_suffix (text, "a"));
  text += strlen (text) + 1;
  g_assert_cmpstr (text, ==, "2");
  text += strlen (text) + 1;
  g_assert_cmpstr (text, ==, "5");
  text += strlen (text) + 1;
  g_assert_cmpmem (text, 11, "two needle\n", 11);
  g_assert_null (prism_sandbox_search (box->sandbox, ".", "a\nb", 0, 100, NULL, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_INVALID);
}

void
add_file_tests (void)
{
  box_add ("/files/read-write", test_read_write);
  box_add ("/files/modes", test_modes);
  box_add ("/files/parents", test_parents);
  box_add_full ("/files/cap", prepare_cap, test_cap);
  box_add ("/files/what-is-no-file", test_what_is_no_file);
  box_add ("/files/stat", test_stat);
  box_add ("/files/list", test_list);
  box_add ("/files/remove", test_remove);
  box_add ("/files/rename", test_rename);
  box_add ("/files/make-directory", test_make_directory);
  box_add ("/files/odd-names", test_odd_names);
  box_add ("/files/leads-outside", test_leads_outside);
  box_add ("/files/beside", test_beside);
  box_add ("/files/links-themselves", test_links_themselves);
  box_add ("/files/search", test_search);
}
