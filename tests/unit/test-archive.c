/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Trees in and out: the rules as tables, hostile streams, folders of every kind,
 * and the canonical tar as other programs read it. */
#include "archive-fixture.h"

#include <glib/gstdio.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

static void
test_names (void)
{
  static const struct
  {
    const char *name;
    int code; /* -1: good */
  } rows[] = {
    { "a", -1 },
    { "a/b", -1 },
    { ".hidden", -1 },
    { "..x", -1 },
    { "...", -1 },
    { "a b\n\x01\xff", -1 },
    { "", ARCHIVE_ERROR_UNSAFE_PATH },
    { "/", ARCHIVE_ERROR_UNSAFE_PATH },
    { "/a", ARCHIVE_ERROR_UNSAFE_PATH },
    { "a/", ARCHIVE_ERROR_UNSAFE_PATH },
    { "a//b", ARCHIVE_ERROR_UNSAFE_PATH },
    { ".", ARCHIVE_ERROR_UNSAFE_PATH },
    { "..", ARCHIVE_ERROR_UNSAFE_PATH },
    { "../a", ARCHIVE_ERROR_UNSAFE_PATH },
    { "a/../b", ARCHIVE_ERROR_UNSAFE_PATH },
    { "a/./b", ARCHIVE_ERROR_UNSAFE_PATH },
    { "a/..", ARCHIVE_ERROR_UNSAFE_PATH },
  };
  g_autofree char *wide = g_strnfill (256, 'x');
  g_autofree char *widest = g_strnfill (255, 'x');
  g_autoptr (GString) deep = g_string_new ("d");
  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (GError) error = NULL;
      g_test_message ("row %" G_GSIZE_FORMAT, i);
      g_assert_true (archive_check_name (rows[i].name, &error) == (rows[i].code < 0));
      if (rows[i].code >= 0)
        g_assert_error (error, ARCHIVE_TREE_ERROR, rows[i].code);
    }
  g_assert_false (archive_check_name (wide, NULL));
  g_assert_true (archive_check_name (widest, NULL));
  for (guint i = 1; i < ARCHIVE_MAX_DEPTH; i++)
    g_string_append (deep, "/d");
  g_assert_true (archive_check_name (deep->str, NULL));
  g_string_append (deep, "/d");
  g_assert_false (archive_check_name (deep->str, NULL));
}

static void
test_links (void)
{
  static const struct
  {
    const char *name, *target;
    gboolean good;
  } rows[] = {
    { "l", "f", TRUE },
    { "l", ".", TRUE },
    { "l", "a/b/", TRUE },
    { "l", "..", FALSE },
    { "l", "../f", FALSE },
    { "l", "/f", FALSE },
    { "l", "", FALSE },
    { "a/l", "..", TRUE },
    { "a/l", "../f", TRUE },
    { "a/l", "./../f", TRUE },
    { "a/l", "../..", FALSE },
    { "a/b/l", "../../f", TRUE },
    { "a/b/l", "../../../f", FALSE },
    { "a/l", "..//..", FALSE },
    { "node_modules/.bin/semver", "../semver/bin/semver.js", TRUE },
    /* Behind a component that may itself be a link, .. means something else. */
    { "a/b/l", "x/../f", FALSE },
    { "a/b/l", "../x/..", FALSE },
    { "a/b/l", "x/..y", TRUE },
  };
  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_test_message ("%s -> %s", rows[i].name, rows[i].target);
      g_assert_true (archive_check_link (rows[i].name, rows[i].target, NULL) == rows[i].good);
    }
}

static void
test_order (void)
{
  static const char *const sorted[] = {
    "a", "a/b", "a/b/c", "a/b!", "a/c", "a ", "a!", "a-b", "a.b", "ab", "b", "\xff"
  };
  for (gsize i = 0; i < G_N_ELEMENTS (sorted); i++)
    for (gsize j = 0; j < G_N_ELEMENTS (sorted); j++)
      {
        int expected = i == j ? 0 : i < j ? -1 : 1;
        g_assert_cmpint (archive_compare (sorted[i], sorted[j]), ==, expected);
      }
}

static gboolean
export_stream (const GByteArray *stream, GOutputStream *out, PrismArchiveResult *result, GError **error)
{
  int fd = fixture_fd (stream->data, stream->len);
  gboolean good = archive_export (fd, out, &fixture_job, result, error);
  close (fd);
  return good;
}

static void
assert_refused (GByteArray *stream, int code)
{
  g_autoptr (GError) error = NULL;
  PrismArchiveResult result = { 0 };
  g_assert_false (export_stream (stream, NULL, &result, &error));
  g_test_message ("%s", error->message);
  g_assert_error (error, ARCHIVE_TREE_ERROR, code);
  g_byte_array_unref (stream);
}

static void
test_stream_entries (void)
{
  static const struct
  {
    guint type;
    const char *name, *link;
    guint mode;
    guint64 size;
    int code;
  } rows[] = {
    { PRISM_WIRE_OTHER, "dev", "", 0600, 0, ARCHIVE_ERROR_TYPE },
    { 5, "x", "", 0600, 0, ARCHIVE_ERROR_FAILED },
    { PRISM_WIRE_FILE, "../x", "", 0600, 0, ARCHIVE_ERROR_UNSAFE_PATH },
    { PRISM_WIRE_FILE, "/x", "", 0600, 0, ARCHIVE_ERROR_UNSAFE_PATH },
    { PRISM_WIRE_FILE, "a/x", "", 0600, 0, ARCHIVE_ERROR_UNSAFE_PATH },
    { PRISM_WIRE_FILE, "", "", 0600, 0, ARCHIVE_ERROR_FAILED },
    { PRISM_WIRE_FILE, "x", "link", 0600, 0, ARCHIVE_ERROR_FAILED },
    { PRISM_WIRE_FILE, "x", "", 010000, 0, ARCHIVE_ERROR_FAILED },
    { PRISM_WIRE_FILE, "x", "", 0600, (1 << 20) + 1, ARCHIVE_ERROR_LIMIT },
    { PRISM_WIRE_FILE, "x", "", 0600, G_MAXUINT64, ARCHIVE_ERROR_LIMIT },
    { PRISM_WIRE_FOLDER, "x", "", 0700, 1, ARCHIVE_ERROR_FAILED },
    { PRISM_WIRE_LINK, "x", "y", 0777, 1, ARCHIVE_ERROR_FAILED },
    { PRISM_WIRE_LINK, "x", "", 0777, 0, ARCHIVE_ERROR_FAILED },
    { PRISM_WIRE_LINK, ".", "y", 0777, 0, ARCHIVE_ERROR_UNSAFE_PATH },
    { PRISM_WIRE_LINK, "x", "/etc/passwd", 0777, 0, ARCHIVE_ERROR_UNSAFE_PATH },
  };
  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      GByteArray *stream = g_byte_array_new ();
      fixture_record_raw (stream, rows[i].type, rows[i].name, rows[i].link, rows[i].mode, rows[i].size, "");
      fixture_end (stream, 1);
      assert_refused (stream, rows[i].code);
    }
}

static void
test_stream_order (void)
{
  GByteArray *stream = g_byte_array_new ();
  fixture_file (stream, "b", "");
  fixture_file (stream, "a", "");
  fixture_end (stream, 2);
  assert_refused (stream, ARCHIVE_ERROR_UNSAFE_PATH);

  stream = g_byte_array_new ();
  fixture_folder (stream, "a");
  fixture_link (stream, "a", "b");
  fixture_end (stream, 2);
  assert_refused (stream, ARCHIVE_ERROR_UNSAFE_PATH);

  /* Through a link, and through a folder that is closed. */
  stream = g_byte_array_new ();
  fixture_link (stream, "a", "b");
  fixture_file (stream, "a/x", "");
  fixture_end (stream, 2);
  assert_refused (stream, ARCHIVE_ERROR_UNSAFE_PATH);

  stream = g_byte_array_new ();
  fixture_folder (stream, "a");
  fixture_file (stream, "a!", "");
  fixture_file (stream, "ab/x", "");
  fixture_end (stream, 3);
  assert_refused (stream, ARCHIVE_ERROR_UNSAFE_PATH);
}

static void
test_stream_ends (void)
{
  GByteArray *stream = g_byte_array_new ();
  fixture_file (stream, "a", "content");
  for (guint cut = 0; cut <= stream->len; cut++)
    {
      GByteArray *part = g_byte_array_append (g_byte_array_new (), stream->data, cut);
      assert_refused (part, ARCHIVE_ERROR_FAILED);
    }
  fixture_end (stream, 2);
  assert_refused (stream, ARCHIVE_ERROR_FAILED);

  stream = g_byte_array_new ();
  fixture_end (stream, 0);
  g_byte_array_append (stream, (const guint8 *)"x", 1);
  assert_refused (stream, ARCHIVE_ERROR_FAILED);

  stream = g_byte_array_new ();
  fixture_record_raw (stream, PRISM_WIRE_FILE, "a", "", 0644, 0, "");
  stream->data[stream->len - 1] = 0;
  fixture_end (stream, 1);
  assert_refused (stream, ARCHIVE_ERROR_FAILED);

  stream = g_byte_array_new ();
  for (guint i = 0; i < 1001; i++)
    {
      g_autofree char *name = g_strdup_printf ("%04u", i);
      fixture_file (stream, name, "");
    }
  fixture_end (stream, 1001);
  assert_refused (stream, ARCHIVE_ERROR_LIMIT);
}

static GByteArray *
varied_stream (void)
{
  GByteArray *stream = g_byte_array_new ();
  g_autofree char *wide = g_strnfill (200, 'w');
  g_autofree char *inside = g_strdup_printf ("%s/inside", wide);
  g_autofree char *binary = g_strdup_printf ("\xff%s", wide);
  g_autofree char *unicode = g_strdup_printf ("ü%s", wide);
  fixture_record_raw (stream, PRISM_WIRE_FILE, "a", "", 04755, 2, "a\n");
  fixture_folder (stream, "b");
  fixture_file (stream, "b/empty", "");
  fixture_link (stream, "b/link", "../a");
  fixture_link (stream, "b/longlink", wide);
  fixture_folder (stream, wide);
  fixture_file (stream, inside, "inside\n");
  fixture_file (stream, "\xc3\xa4", "umlaut\n");
  fixture_file (stream, unicode, "unicode\n");
  fixture_file (stream, binary, "binary\n");
  fixture_end (stream, 10);
  return stream;
}

/* What GNU tar makes of it: the names, types and modes it lists. */
static void
test_canonical_tar (void)
{
  g_autoptr (GByteArray) stream = varied_stream ();
  g_autoptr (GOutputStream) out = g_memory_output_stream_new_resizable ();
  g_autoptr (GError) error = NULL;
  g_autoptr (GSubprocess) tar = NULL;
  g_autoptr (GBytes) bytes = NULL;
  g_autofree char *listed = NULL;
  g_autofree char *sum = NULL;
  PrismArchiveResult result = { 0 };
  g_auto (GStrv) lines = NULL;
  g_assert_true (export_stream (stream, out, &result, &error));
  g_assert_no_error (error);
  g_assert_true (g_output_stream_close (out, NULL, &error));
  bytes = g_memory_output_stream_steal_as_bytes (G_MEMORY_OUTPUT_STREAM (out));
  sum = g_compute_checksum_for_bytes (G_CHECKSUM_SHA256, bytes);
  g_assert_cmpstr (sum, ==, result.sha256);
  g_assert_cmpuint (result.entries, ==, 10);
  g_assert_cmpuint (result.bytes, ==, 2 + 7 + 7 + 8 + 7);
  g_assert_cmpuint (g_bytes_get_size (bytes) % 512, ==, 0);

  tar = g_subprocess_new (G_SUBPROCESS_FLAGS_STDIN_PIPE | G_SUBPROCESS_FLAGS_STDOUT_PIPE, &error, "tar",
                          "--numeric-owner", "--quoting-style=escape", "--utc", "-tvf", "-", NULL);
  g_assert_no_error (error);
  {
    g_autoptr (GBytes) output = NULL;
    g_assert_true (g_subprocess_communicate (tar, bytes, NULL, &output, NULL, &error));
    g_assert_no_error (error);
    g_assert_true (g_subprocess_get_successful (tar));
    listed = g_strndup (g_bytes_get_data (output, NULL), g_bytes_get_size (output));
  }
  lines = g_strsplit (listed, "\n", -1);
  g_assert_cmpuint (g_strv_length (lines), ==, 11);
  g_assert_true (g_str_has_prefix (lines[0], "-rwxr-xr-x 0/0"));
  g_assert_true (g_str_has_suffix (lines[0], " 2 1970-01-01 00:00 a"));
  g_assert_true (g_str_has_prefix (lines[1], "drwxr-xr-x 0/0"));
  g_assert_true (g_str_has_suffix (lines[1], " b/"));
  g_assert_true (g_str_has_suffix (lines[3], " b/link -> ../a"));
  g_assert_true (g_str_has_suffix (lines[4], "wwwwwwww"));
  g_assert_true (g_str_has_suffix (lines[5], "wwwwwwww/"));
  g_assert_true (g_str_has_suffix (lines[6], "wwwwwwww/inside"));
}

/* In again by libarchive: the same content is the same identity. */
static void
test_round_trip (void)
{
  g_autoptr (GByteArray) stream = varied_stream ();
  g_autoptr (GByteArray) again = NULL;
  g_autoptr (GOutputStream) out = g_memory_output_stream_new_resizable ();
  g_autoptr (GBytes) bytes = NULL;
  g_autoptr (GError) error = NULL;
  PrismArchiveResult first = { 0 }, second = { 0 }, third = { 0 };
  int tar_fd, tree_fd = fixture_fd ("", 0);
  g_assert_true (export_stream (stream, out, &first, &error));
  g_assert_true (g_output_stream_close (out, NULL, &error));
  bytes = g_memory_output_stream_steal_as_bytes (G_MEMORY_OUTPUT_STREAM (out));
  tar_fd = fixture_fd (g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes));
  archive_read_tar (tar_fd, tree_fd, &fixture_job, &second, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (first.sha256, ==, second.sha256);
  again = fixture_slurp (tree_fd);
  g_assert_true (export_stream (again, NULL, &third, &error));
  g_assert_cmpstr (first.sha256, ==, third.sha256);
  close (tar_fd);
  close (tree_fd);
}

/* --- folders ------------------------------------------------------------------ */

typedef struct
{
  char *path;
  int fd;
} Folder;

static void
folder_set_up (Folder *folder, gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  folder->path = g_dir_make_tmp ("prism-archive-XXXXXX", &error);
  g_assert_no_error (error);
  folder->fd = open (folder->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
  g_assert_cmpint (folder->fd, >=, 0);
}

static void
remove_tree (int parent, const char *name)
{
  int fd = openat (parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  g_autofree char *path = g_strdup_printf ("/proc/self/fd/%d", fd);
  g_autoptr (GDir) dir = fd >= 0 ? g_dir_open (path, 0, NULL) : NULL;
  const char *child;
  while (dir != NULL && (child = g_dir_read_name (dir)) != NULL)
    if (unlinkat (fd, child, 0) != 0)
      remove_tree (fd, child);
  if (fd >= 0)
    close (fd);
  g_assert_cmpint (unlinkat (parent, name, AT_REMOVEDIR), ==, 0);
}

static void
folder_tear_down (Folder *folder, gconstpointer data)
{
  close (folder->fd);
  remove_tree (AT_FDCWD, folder->path);
  g_free (folder->path);
}

static void
put_file (Folder *folder, const char *name, const char *content, mode_t mode)
{
  int fd = openat (folder->fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  g_assert_cmpint (fd, >=, 0);
  g_assert_cmpint (write (fd, content, strlen (content)), ==, (gssize)strlen (content));
  g_assert_cmpint (fchmod (fd, mode), ==, 0);
  close (fd);
}

static gboolean
import_folder (
    int folder_fd, const PrismArchiveJob *job, PrismArchiveResult *result, GByteArray **stream, GError **error)
{
  int tree_fd = fixture_fd ("", 0);
  gboolean good = archive_import (folder_fd, tree_fd, job, result, error);
  if (stream != NULL)
    *stream = fixture_slurp (tree_fd);
  close (tree_fd);
  return good;
}

static void
test_import (Folder *folder, gconstpointer data)
{
  g_autoptr (GByteArray) stream = NULL, expected = g_byte_array_new ();
  g_autoptr (GError) error = NULL;
  PrismArchiveResult in = { 0 }, out = { 0 }, plain = { 0 };
  put_file (folder, "b.txt", "b", 06755);
  put_file (folder, "a-b", "", 0600);
  g_assert_cmpint (mkdirat (folder->fd, "a", 0750), ==, 0);
  put_file (folder, "a/x", "xx", 0644);
  g_assert_cmpint (linkat (folder->fd, "a/x", folder->fd, "z", 0), ==, 0);
  g_assert_cmpint (symlinkat ("../b.txt", folder->fd, "a/up"), ==, 0);
  import_folder (folder->fd, &fixture_job, &in, &stream, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (in.entries, ==, 6);
  g_assert_cmpuint (in.bytes, ==, 5);
  g_assert_true (export_stream (stream, NULL, &out, &error));
  g_assert_cmpstr (in.sha256, ==, out.sha256);

  /* Content, order and modes are exactly these. */
  fixture_record_raw (expected, PRISM_WIRE_FOLDER, "a", "", 0750, 0, "");
  fixture_link (expected, "a/up", "../b.txt");
  fixture_file (expected, "a/x", "xx");
  fixture_record_raw (expected, PRISM_WIRE_FILE, "a-b", "", 0600, 0, "");
  fixture_record_raw (expected, PRISM_WIRE_FILE, "b.txt", "", 0755, 1, "b");
  fixture_file (expected, "z", "xx");
  fixture_end (expected, 6);
  g_assert_true (export_stream (expected, NULL, &plain, &error));
  g_assert_cmpstr (in.sha256, ==, plain.sha256);
}

static void
assert_import_refused (Folder *folder, const PrismArchiveJob *job, int code)
{
  g_autoptr (GError) error = NULL;
  PrismArchiveResult result = { 0 };
  g_assert_false (import_folder (folder->fd, job, &result, NULL, &error));
  g_test_message ("%s", error->message);
  g_assert_error (error, ARCHIVE_TREE_ERROR, code);
}

static void
test_import_types (Folder *folder, gconstpointer data)
{
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  int fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  g_snprintf (address.sun_path, sizeof address.sun_path, "%s/socket", folder->path);
  g_assert_cmpint (bind (fd, (struct sockaddr *)&address, sizeof address), ==, 0);
  assert_import_refused (folder, &fixture_job, ARCHIVE_ERROR_TYPE);
  close (fd);
  g_assert_cmpint (unlinkat (folder->fd, "socket", 0), ==, 0);
  g_assert_cmpint (mkfifoat (folder->fd, "fifo", 0600), ==, 0);
  assert_import_refused (folder, &fixture_job, ARCHIVE_ERROR_TYPE);
  g_assert_cmpint (unlinkat (folder->fd, "fifo", 0), ==, 0);
  g_assert_cmpint (symlinkat ("/etc/passwd", folder->fd, "abs"), ==, 0);
  assert_import_refused (folder, &fixture_job, ARCHIVE_ERROR_UNSAFE_PATH);
  g_assert_cmpint (unlinkat (folder->fd, "abs", 0), ==, 0);
  g_assert_cmpint (symlinkat ("../x", folder->fd, "up"), ==, 0);
  assert_import_refused (folder, &fixture_job, ARCHIVE_ERROR_UNSAFE_PATH);
}

static void
test_import_limits (Folder *folder, gconstpointer data)
{
  const PrismArchiveLimits few = { 3, 0, 0 }, small = { 0, 7, 0 }, fits = { 4, 8, 0 };
  const PrismArchiveJob few_job = { .limits = &few }, small_job = { .limits = &small }, fits_job = { .limits = &fits };
  PrismArchiveResult result = { 0 };
  put_file (folder, "a", "1234", 0600);
  put_file (folder, "b", "1234", 0600);
  g_assert_cmpint (mkdirat (folder->fd, "c", 0700), ==, 0);
  g_assert_cmpint (mkdirat (folder->fd, "c/d", 0700), ==, 0);
  assert_import_refused (folder, &few_job, ARCHIVE_ERROR_LIMIT);
  assert_import_refused (folder, &small_job, ARCHIVE_ERROR_LIMIT);
  g_assert_true (import_folder (folder->fd, &fits_job, &result, NULL, NULL));
}

static void
test_import_deep (Folder *folder, gconstpointer data)
{
  int fd = fcntl (folder->fd, F_DUPFD_CLOEXEC, 3);
  for (guint i = 0; i < 10000; i++)
    {
      int next;
      if (mkdirat (fd, "d", 0700) != 0)
        break;
      next = openat (fd, "d", O_PATH | O_DIRECTORY | O_CLOEXEC);
      close (fd);
      fd = next;
      if (i == 2 * ARCHIVE_MAX_DEPTH)
        break;
    }
  close (fd);
  assert_import_refused (folder, &fixture_job, ARCHIVE_ERROR_LIMIT);
}

/* procfs says that its files are empty: they "grow" while they are read. */
static void
test_import_changed (void)
{
  g_autoptr (GError) error = NULL;
  PrismArchiveResult result = { 0 };
  int fd = open ("/proc/self/fdinfo", O_PATH | O_DIRECTORY | O_CLOEXEC);
  import_folder (fd, &fixture_job, &result, NULL, &error);
  close (fd);
  g_assert_error (error, ARCHIVE_TREE_ERROR, ARCHIVE_ERROR_CHANGED);
}

static void
test_import_sizes (Folder *folder, gconstpointer data)
{
  static const gsize sizes[] = {
    1, 511, 512, 513, 65536, ARCHIVE_BUFFER - 42, ARCHIVE_BUFFER - 1, 262144, 262145, 300000, 524288, ARCHIVE_BUFFER * 3
  };
  const PrismArchiveLimits limits = { 0, 0, 10000 };
  const PrismArchiveJob job = { .limits = &limits };
  for (gsize i = 0; i < G_N_ELEMENTS (sizes); i++)
    {
      g_autofree char *content = g_strnfill (sizes[i], (char)('a' + i));
      g_autoptr (GByteArray) stream = NULL;
      g_autoptr (GError) error = NULL;
      PrismArchiveResult in = { 0 }, out = { 0 };
      int fd;
      put_file (folder, "f", content, 0644);
      import_folder (folder->fd, &job, &in, &stream, &error);
      g_assert_no_error (error);
      fd = fixture_fd (stream->data, stream->len);
      archive_export (fd, NULL, &job, &out, &error);
      g_assert_no_error (error);
      close (fd);
      g_assert_cmpuint (in.bytes, ==, sizes[i]);
      g_assert_cmpstr (in.sha256, ==, out.sha256);
      g_assert_cmpint (unlinkat (folder->fd, "f", 0), ==, 0);
    }
}

/* --- waits --------------------------------------------------------------------- */

static void
test_stall (void)
{
  const PrismArchiveLimits limits = { 10, 1 << 20, 20 };
  const PrismArchiveJob job = { .limits = &limits };
  g_autoptr (GError) error = NULL;
  PrismArchiveResult result = { 0 };
  int ends[2];
  g_assert_cmpint (pipe2 (ends, O_CLOEXEC), ==, 0);
  g_assert_false (archive_export (ends[0], NULL, &job, &result, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_TIMED_OUT);
  close (ends[0]);
  close (ends[1]);
}

static void
test_cancelled (void)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  const PrismArchiveJob job = { .limits = &fixture_limits, .cancellable = cancellable };
  g_autoptr (GError) error = NULL;
  PrismArchiveResult result = { 0 };
  int ends[2];
  g_assert_cmpint (pipe2 (ends, O_CLOEXEC), ==, 0);
  g_cancellable_cancel (cancellable);
  g_assert_false (archive_export (ends[0], NULL, &job, &result, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  close (ends[0]);
  close (ends[1]);
}

static void
test_reader_gone (Folder *folder, gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  PrismArchiveResult result = { 0 };
  int ends[2];
  put_file (folder, "a", "x", 0600);
  g_assert_cmpint (pipe2 (ends, O_CLOEXEC), ==, 0);
  close (ends[0]);
  g_assert_false (archive_import (folder->fd, ends[1], &fixture_job, &result, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_BROKEN_PIPE);
  close (ends[1]);
}

static void
cancel_at_once (guint64 entries, guint64 bytes, gpointer cancellable)
{
  g_assert_cmpuint (entries, >, 0);
  g_cancellable_cancel (cancellable);
}

static void
test_progress (void)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GByteArray) stream = g_byte_array_new ();
  const PrismArchiveJob job = { &fixture_limits, cancel_at_once, cancellable, cancellable };
  g_autoptr (GError) error = NULL;
  PrismArchiveResult result = { 0 };
  int fd;
  for (guint i = 0; i < 900; i++)
    {
      g_autofree char *name = g_strdup_printf ("%04u", i);
      fixture_file (stream, name, "content");
    }
  fixture_end (stream, 900);
  fd = fixture_fd (stream->data, stream->len);
  g_assert_false (archive_export (fd, NULL, &job, &result, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  close (fd);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  signal (SIGPIPE, SIG_IGN);
  g_test_add_func ("/archive/names", test_names);
  g_test_add_func ("/archive/links", test_links);
  g_test_add_func ("/archive/order", test_order);
  g_test_add_func ("/archive/stream/entries", test_stream_entries);
  g_test_add_func ("/archive/stream/order", test_stream_order);
  g_test_add_func ("/archive/stream/ends", test_stream_ends);
  g_test_add_func ("/archive/tar/canonical", test_canonical_tar);
  g_test_add_func ("/archive/tar/round-trip", test_round_trip);
#define FOLDER_TEST(path, test) g_test_add (path, Folder, NULL, folder_set_up, test, folder_tear_down)
  FOLDER_TEST ("/archive/import/folder", test_import);
  FOLDER_TEST ("/archive/import/types", test_import_types);
  FOLDER_TEST ("/archive/import/limits", test_import_limits);
  FOLDER_TEST ("/archive/import/deep", test_import_deep);
  FOLDER_TEST ("/archive/import/sizes", test_import_sizes);
  FOLDER_TEST ("/archive/import/reader-gone", test_reader_gone);
  g_test_add_func ("/archive/import/changed", test_import_changed);
  g_test_add_func ("/archive/stall", test_stall);
  g_test_add_func ("/archive/cancelled", test_cancelled);
  g_test_add_func ("/archive/progress", test_progress);
  return g_test_run ();
}
