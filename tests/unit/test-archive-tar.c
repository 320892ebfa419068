/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Archives that lie: what other programs fell for, byte by byte. Each is refused as
 * a whole, and nothing of it has been sent when it is. */
#include "archive-fixture.h"

#include <signal.h>

static void
put_octal (char *field, guint digits, guint64 value)
{
  for (guint i = digits; i > 0; i--, value >>= 3)
    field[i - 1] = (char)('0' + (value & 7));
}

static void
add_block (GByteArray *tar, const void *bytes, gsize size)
{
  static const guint8 zeros[512];
  g_byte_array_append (tar, bytes, (guint)size);
  g_byte_array_append (tar, zeros, (guint)((512 - size % 512) % 512));
}

/* A header whose size field says @size; @content follows, whatever its length. */
static void
add_raw (
    GByteArray *tar, char type, const char *name, const char *link, guint64 size, const void *content, gsize length)
{
  char block[512] = { 0 };
  guint sum = 0;
  memcpy (block, name, MIN (strlen (name), 100));
  put_octal (block + 100, 7, 0644);
  put_octal (block + 108, 7, 1000);
  put_octal (block + 116, 7, 1000);
  put_octal (block + 124, 11, size);
  put_octal (block + 136, 11, 1234567890);
  memset (block + 148, ' ', 8);
  block[156] = type;
  memcpy (block + 157, link, MIN (strlen (link), 100));
  memcpy (block + 257, "ustar\00000", 8);
  for (guint i = 0; i < 512; i++)
    sum += (guchar)block[i];
  put_octal (block + 148, 6, sum);
  block[154] = '\0';
  add_block (tar, block, sizeof block);
  add_block (tar, content, length);
}

static void
add (GByteArray *tar, char type, const char *name, const char *link, const char *content)
{
  add_raw (tar, type, name, link, strlen (content), content, strlen (content));
}

/* Pairs of key and value, NULL at the end. */
static void
add_pax (GByteArray *tar, char type, const char *key, const char *value, ...)
{
  g_autoptr (GString) records = g_string_new (NULL);
  va_list rest;
  va_start (rest, value);
  while (key != NULL)
    {
      gsize n = strlen (key) + strlen (value) + 3;
      gsize length = n + 1;
      while (length != n + (gsize)g_snprintf (NULL, 0, "%" G_GSIZE_FORMAT, length))
        length++;
      g_string_append_printf (records, "%" G_GSIZE_FORMAT " %s=%s\n", length, key, value);
      key = va_arg (rest, const char *);
      value = key != NULL ? va_arg (rest, const char *) : NULL;
    }
  va_end (rest);
  add_raw (tar, type, "PaxHeader", "", records->len, records->str, records->len);
}

static void
add_end (GByteArray *tar)
{
  static const guint8 zeros[1024];
  g_byte_array_append (tar, zeros, sizeof zeros);
}

/* Takes @tar. The stream that was sent, or NULL. */
static GByteArray *
read_tar (GByteArray *tar, const PrismArchiveJob *job, PrismArchiveResult *result, GError **error)
{
  GByteArray *sent;
  int tar_fd = fixture_fd (tar->data, tar->len), tree_fd = fixture_fd ("", 0);
  gboolean good = archive_read_tar (tar_fd, tree_fd, job, result, error);
  sent = fixture_slurp (tree_fd);
  if (!good)
    g_assert_cmpuint (sent->len, ==, 0);
  close (tar_fd);
  close (tree_fd);
  g_byte_array_unref (tar);
  if (!good)
    g_clear_pointer (&sent, g_byte_array_unref);
  return sent;
}

static void
assert_refused (GByteArray *tar, int code)
{
  g_autoptr (GError) error = NULL;
  PrismArchiveResult result = { 0 };
  GByteArray *sent = read_tar (tar, &fixture_job, &result, &error);
  g_assert_null (sent);
  g_test_message ("%s", error->message);
  g_assert_error (error, ARCHIVE_TREE_ERROR, code);
}

/* The names that are sent, with a file's size, joined by spaces. */
static char *
accepted (GByteArray *tar)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GByteArray) sent = NULL;
  g_autoptr (GString) names = g_string_new (NULL);
  PrismArchiveResult result = { 0 };
  struct prism_wire_reader r;
  sent = read_tar (tar, &fixture_job, &result, &error);
  g_assert_no_error (error);
  r = prism_wire_read_from (sent->data, sent->len);
  for (;;)
    {
      g_autofree ArchiveEntry *entry = g_new0 (ArchiveEntry, 1);
      const guint8 *record = prism_wire_take (&r, PRISM_WIRE_RECORD);
      g_assert_nonnull (record);
      g_assert_true (archive_record_parse (record, entry, NULL));
      if (entry->type == 0)
        break;
      g_string_append_len (names, (const char *)prism_wire_take (&r, entry->name_length), entry->name_length);
      prism_wire_take (&r, entry->link_length);
      if (entry->type == PRISM_WIRE_FILE)
        g_string_append_printf (names, ":%" G_GUINT64_FORMAT, entry->size);
      g_string_append_c (names, ' ');
      prism_wire_take (&r, entry->type == PRISM_WIRE_FILE ? entry->size : 0);
    }
  g_assert_true (prism_wire_done (&r));
  return g_string_free (g_steal_pointer (&names), FALSE);
}

#define ASSERT_ACCEPTED(tar, expected)                                                                                 \
  G_STMT_START                                                                                                         \
  {                                                                                                                    \
    g_autofree char *names = accepted (tar);                                                                           \
    g_assert_cmpstr (names, ==, expected);                                                                             \
  }                                                                                                                    \
  G_STMT_END

/* A link, and a file through it. */
static void
test_link_members (void)
{
  static const char *const names[] = { "../x", "/abs", "a/../../x", ".." };
  GByteArray *tar;
  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    {
      tar = g_byte_array_new ();
      add (tar, '0', names[i], "", "x");
      add_end (tar);
      assert_refused (tar, ARCHIVE_ERROR_UNSAFE_PATH);
    }
  tar = g_byte_array_new ();
  add (tar, '2', "a", "/outside", "");
  add (tar, '0', "a/x", "", "x");
  add_end (tar);
  assert_refused (tar, ARCHIVE_ERROR_UNSAFE_PATH);

  /* Even where the link stays inside. */
  tar = g_byte_array_new ();
  add (tar, '5', "b/", "", "");
  add (tar, '2', "a", "b", "");
  add (tar, '0', "a/x", "", "x");
  add_end (tar);
  assert_refused (tar, ARCHIVE_ERROR_UNSAFE_PATH);

  tar = g_byte_array_new ();
  add (tar, '5', "a/", "", "");
  add (tar, '2', "a", "b", "");
  add_end (tar);
  assert_refused (tar, ARCHIVE_ERROR_UNSAFE_PATH);

  tar = g_byte_array_new ();
  add (tar, '0', "a", "", "1");
  add (tar, '0', "./a", "", "2");
  add_end (tar);
  assert_refused (tar, ARCHIVE_ERROR_UNSAFE_PATH);

  tar = g_byte_array_new ();
  add (tar, '2', ".", "/outside", "");
  add_end (tar);
  assert_refused (tar, ARCHIVE_ERROR_UNSAFE_PATH);
}

static void
test_deep (void)
{
  g_autoptr (GString) name = g_string_new ("d");
  GByteArray *tar = g_byte_array_new ();
  for (guint i = 0; i < 10000; i++)
    g_string_append (name, "/d");
  add_pax (tar, 'x', "path", name->str, NULL, NULL);
  add (tar, '0', "short", "", "x");
  add_end (tar);
  assert_refused (tar, ARCHIVE_ERROR_LIMIT);
}

/* The name that is checked is the name that is used, whatever header it is from. */
static void
test_overrides (void)
{
  GByteArray *tar = g_byte_array_new ();
  add_pax (tar, 'x', "path", "../x", NULL, NULL);
  add (tar, '0', "good", "", "x");
  add_end (tar);
  assert_refused (tar, ARCHIVE_ERROR_UNSAFE_PATH);

  tar = g_byte_array_new ();
  add_pax (tar, 'x', "linkpath", "/etc/passwd", NULL, NULL);
  add (tar, '2', "a", "good", "");
  add_end (tar);
  assert_refused (tar, ARCHIVE_ERROR_UNSAFE_PATH);

  tar = g_byte_array_new ();
  add (tar, 'L', "././@LongLink", "", "/absolute");
  add (tar, '0', "good", "", "x");
  add_end (tar);
  assert_refused (tar, ARCHIVE_ERROR_UNSAFE_PATH);

  tar = g_byte_array_new ();
  add (tar, 'K', "././@LongLink", "", "../../x");
  add (tar, '2', "a", "good", "");
  add_end (tar);
  assert_refused (tar, ARCHIVE_ERROR_UNSAFE_PATH);

  /* A bad header field is not looked at where a pax record replaces it. */
  tar = g_byte_array_new ();
  add_pax (tar, 'x', "path", "good", "uid", "0", NULL, NULL);
  add (tar, '0', "../x", "", "x");
  add_end (tar);
  ASSERT_ACCEPTED (tar, "good:1 ");
}

/* Content that would be headers to a parser that goes on at the wrong offset. */
static GByteArray *
inner_archive (void)
{
  GByteArray *inner = g_byte_array_new ();
  add (inner, '0', "smuggled", "", "x");
  return inner;
}

static void
test_size_mismatch (void)
{
  g_autoptr (GByteArray) inner = inner_archive ();
  g_autofree char *length = g_strdup_printf ("%u", inner->len);
  GByteArray *tar = g_byte_array_new ();
  add_pax (tar, 'x', "size", length, NULL, NULL);
  add_raw (tar, '0', "outer", "", 0, inner->data, inner->len);
  add (tar, '0', "z", "", "");
  add_end (tar);
  ASSERT_ACCEPTED (tar, "outer:1024 z:0 ");

  /* The other way, the inner member is a member: as GNU tar and tarfile say too. */
  tar = g_byte_array_new ();
  add_pax (tar, 'x', "size", "0", NULL, NULL);
  add_raw (tar, '0', "outer", "", inner->len, inner->data, inner->len);
  add_end (tar);
  ASSERT_ACCEPTED (tar, "outer:0 smuggled:1 ");

  tar = g_byte_array_new ();
  add_pax (tar, 'x', "size", "-1", NULL, NULL);
  add (tar, '0', "outer", "", "x");
  add_end (tar);
  assert_refused (tar, ARCHIVE_ERROR_FAILED);

  tar = g_byte_array_new ();
  add_pax (tar, 'x', "size", "99999999999999999999999", NULL, NULL);
  add (tar, '0', "outer", "", "x");
  add_end (tar);
  assert_refused (tar, ARCHIVE_ERROR_FAILED);

  tar = g_byte_array_new ();
  add_raw (tar, '0', "outer", "", 4096, "x", 1);
  add_end (tar);
  assert_refused (tar, ARCHIVE_ERROR_FAILED);
}

static void
set_base256 (GByteArray *tar, guint64 high, guint64 low)
{
  char *block = (char *)tar->data;
  guint sum = 0;
  for (guint i = 0; i < 12; i++)
    block[124 + i] = (char)(i < 4 ? high >> (8 * (3 - i)) : low >> (8 * (11 - i)));
  memset (block + 148, ' ', 8);
  for (guint i = 0; i < 512; i++)
    sum += (guchar)block[i];
  put_octal (block + 148, 6, sum);
  block[154] = '\0';
}

static void
test_base256 (void)
{
  static const struct
  {
    guint64 high, low;
    int code;
  } rows[] = {
    { 0x80000000, 1, -1 },
    { 0x80000000, 1ULL << 40, ARCHIVE_ERROR_LIMIT },
    { 0xffffffff, G_MAXUINT64, ARCHIVE_ERROR_FAILED }, /* -1 */
  };
  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      GByteArray *tar = g_byte_array_new ();
      add (tar, '0', "a", "", "x");
      set_base256 (tar, rows[i].high, rows[i].low);
      add_end (tar);
      if (rows[i].code < 0)
        ASSERT_ACCEPTED (tar, "a:1 ");
      else
        assert_refused (tar, rows[i].code);
    }
}

static void
test_hard_links (void)
{
  static const char *const targets[] = { "../../victim", "/etc/passwd", "later", "folder", "a/../x" };
  GByteArray *tar;
  for (gsize i = 0; i < G_N_ELEMENTS (targets); i++)
    {
      tar = g_byte_array_new ();
      add (tar, '5', "folder/", "", "");
      add (tar, '1', "hard", targets[i], "");
      add (tar, '0', "later", "", "x");
      add_end (tar);
      assert_refused (tar, ARCHIVE_ERROR_UNSAFE_PATH);
    }
  tar = g_byte_array_new ();
  add (tar, '0', "a", "", "content");
  add (tar, '1', "hard", "a", "");
  add_end (tar);
  ASSERT_ACCEPTED (tar, "a:7 hard:7 ");

  /* With bytes of its own, and over the limit by copies alone. */
  tar = g_byte_array_new ();
  add_pax (tar, 'x', "size", "4", NULL, NULL);
  add (tar, '0', "a", "", "good");
  add_pax (tar, 'x', "size", "4", NULL, NULL);
  add (tar, '1', "hard", "a", "evil");
  add_end (tar);
  {
    g_autoptr (GError) error = NULL;
    PrismArchiveResult result = { 0 };
    g_autoptr (GByteArray) sent = read_tar (tar, &fixture_job, &result, &error);
    g_assert_null (sent);
    g_test_message ("%s", error->message);
  }
  tar = g_byte_array_new ();
  {
    g_autofree char *big = g_strnfill (600000, 'b');
    add (tar, '0', "a", "", big);
  }
  add (tar, '1', "hard", "a", "");
  add_end (tar);
  assert_refused (tar, ARCHIVE_ERROR_LIMIT);
}

static void
test_types (void)
{
  static const char types[] = { '3', '4', '6' };
  GByteArray *tar;
  for (gsize i = 0; i < G_N_ELEMENTS (types); i++)
    {
      tar = g_byte_array_new ();
      add (tar, types[i], "special", "", "");
      add_end (tar);
      assert_refused (tar, ARCHIVE_ERROR_TYPE);
    }
}

static void
test_bombs (void)
{
  GByteArray *tar = g_byte_array_new ();
  g_autofree char *huge = NULL;

  /* 1 TB that is a hole. */
  add_pax (tar, 'x', "GNU.sparse.size", "1099511627776", "GNU.sparse.numblocks", "1", "GNU.sparse.map", "0,1", NULL,
           NULL);
  add (tar, '0', "s", "", "x");
  add_end (tar);
  assert_refused (tar, ARCHIVE_ERROR_LIMIT);

  /* A header of 64 MB. */
  tar = g_byte_array_new ();
  huge = g_strnfill (64 << 20, 'h');
  add_pax (tar, 'x', "comment", huge, NULL, NULL);
  add (tar, '0', "a", "", "x");
  add_end (tar);
  {
    g_autoptr (GError) error = NULL;
    PrismArchiveResult result = { 0 };
    g_autoptr (GByteArray) sent = read_tar (tar, &fixture_job, &result, &error);
    g_assert_null (sent);
    g_test_message ("%s", error->message);
  }

  /* More members than the limit: it ends with the first over it. */
  tar = g_byte_array_new ();
  for (guint i = 0; i < 2000; i++)
    {
      g_autofree char *name = g_strdup_printf ("%u", i);
      add (tar, '0', name, "", "");
    }
  add_end (tar);
  assert_refused (tar, ARCHIVE_ERROR_LIMIT);

  /* Compressed: not a plain tar. */
  tar = g_byte_array_new ();
  g_byte_array_append (tar, (const guint8 *)"\x1f\x8b\x08\0\0\0\0\0\0\x03\x03\0\0\0\0\0\0\0\0\0", 20);
  assert_refused (tar, ARCHIVE_ERROR_FAILED);
}

/* Dropped: set-id bits, xattrs, a time that is none. */
static void
test_dropped (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GByteArray) sent = NULL;
  ArchiveEntry *entry = g_newa0 (ArchiveEntry, 1);
  PrismArchiveResult result = { 0 };
  GByteArray *tar = g_byte_array_new ();
  add_pax (tar, 'x', "mtime", "1e300", "SCHILY.xattr.security.capability", "x", NULL, NULL);
  add (tar, '0', "a", "", "x");
  {
    char *block = (char *)tar->data + 1024;
    guint sum = 0;
    put_octal (block + 100, 7, 06755);
    memset (block + 148, ' ', 8);
    for (guint i = 0; i < 512; i++)
      sum += (guchar)block[i];
    put_octal (block + 148, 6, sum);
    block[154] = '\0';
  }
  add_end (tar);
  sent = read_tar (tar, &fixture_job, &result, &error);
  g_assert_no_error (error);
  g_assert_true (archive_record_parse (sent->data, entry, NULL));
  g_assert_cmpuint (entry->mode, ==, 0755);
}

static void
test_ends (void)
{
  g_autoptr (GByteArray) whole = g_byte_array_new ();
  GByteArray *tar;
  add (whole, '0', "a", "", "content");
  add (whole, '0', "b", "", "content");
  for (guint cut = 0; cut <= whole->len; cut += 256)
    {
      tar = g_byte_array_append (g_byte_array_new (), whole->data, cut);
      assert_refused (tar, ARCHIVE_ERROR_FAILED);
    }
  /* One block of zeros is not an end. */
  add_end (whole);
  tar = g_byte_array_append (g_byte_array_new (), whole->data, whole->len - 512);
  assert_refused (tar, ARCHIVE_ERROR_FAILED);

  tar = g_byte_array_append (g_byte_array_new (), whole->data, whole->len);
  for (guint i = 0; i < 20; i++)
    add_end (tar);
  ASSERT_ACCEPTED (tar, "a:7 b:7 ");

  tar = g_byte_array_append (g_byte_array_new (), whole->data, whole->len);
  add (tar, '0', "c", "", "garbage or a second archive");
  assert_refused (tar, ARCHIVE_ERROR_FAILED);
}

static void
test_order (void)
{
  GByteArray *tar = g_byte_array_new ();
  add (tar, '0', "./z/deep/file", "", "z");
  add (tar, '5', "./", "", "");
  add (tar, '0', "a b", "", "");
  add (tar, '0', "a", "", "");
  add (tar, '5', "z/", "", "");
  add_end (tar);
  ASSERT_ACCEPTED (tar, "a:0 a b:0 z z/deep z/deep/file:1 ");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/archive/tar/T-1/link-members", test_link_members);
  g_test_add_func ("/archive/tar/T-1/deep", test_deep);
  g_test_add_func ("/archive/tar/T-2/overrides", test_overrides);
  g_test_add_func ("/archive/tar/T-4/sizes", test_size_mismatch);
  g_test_add_func ("/archive/tar/T-4/base-256", test_base256);
  g_test_add_func ("/archive/tar/T-5/hard-links", test_hard_links);
  g_test_add_func ("/archive/tar/T-6/types", test_types);
  g_test_add_func ("/archive/tar/T-6/bombs", test_bombs);
  g_test_add_func ("/archive/tar/T-6/dropped", test_dropped);
  g_test_add_func ("/archive/tar/T-6/ends", test_ends);
  g_test_add_func ("/archive/tar/order", test_order);
  return g_test_run ();
}
