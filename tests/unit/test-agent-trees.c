/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Trees in and out of the agent, over a wire that this test speaks itself. */
#include "agent-files-fixture.h"

/* By DATA frames, or by a descriptor. */
static guint32
tree_out (Agent *agent, gboolean passed, const char *path, guint64 entries, guint64 bytes, GByteArray *into)
{
  guint32 id = next_id++;
  int ends[2];
  if (!passed)
    {
      ask_tree (agent, PRISM_WIRE_TREE_OUT, id, path, entries, bytes, -1);
      return collect_data (agent, id, into);
    }
  g_assert_no_errno (pipe2 (ends, O_CLOEXEC));
  ask_tree (agent, PRISM_WIRE_TREE_OUT, id, path, entries, bytes, ends[1]);
  close (ends[1]);
  gsize size = 0;
  g_autofree char *all = read_pipe (ends[0], &size);
  g_byte_array_append (into, (guint8 *)all, size);
  close (ends[0]);
  return expect_done (agent, id);
}

static guint32
tree_in (Agent *agent, gboolean passed, const char *path, guint64 entries, guint64 bytes, const GByteArray *stream)
{
  guint32 id = next_id++;
  int ends[2];
  if (passed)
    {
      g_assert_no_errno (pipe2 (ends, O_CLOEXEC));
      signal (SIGPIPE, SIG_IGN);
      ask_tree (agent, PRISM_WIRE_TREE_IN, id, path, entries, bytes, ends[0]);
      close (ends[0]);
      for (guint at = 0; at < stream->len;)
        {
          ssize_t n = write (ends[1], stream->data + at, stream->len - at);
          if (n < 0)
            break;
          at += n;
        }
      close (ends[1]);
      return expect_done (agent, id);
    }
  gsize sent = 0, credit = PRISM_WIRE_WINDOW;
  ask_tree (agent, PRISM_WIRE_TREE_IN, id, path, entries, bytes, -1);
  for (gboolean last = FALSE;;)
    {
      while (!last && credit > 0)
        {
          gsize n = MIN (MIN (stream->len - sent, credit), 100000);
          last = sent + n == stream->len;
          agent_say (agent, PRISM_WIRE_DATA, last ? PRISM_WIRE_LAST : 0, id, stream->data + sent, n, NULL, 0);
          sent += n;
          credit -= n;
        }
      g_auto (Frame) frame = FRAME_INIT;
      g_assert_true (agent_next (agent, &frame));
      if (frame.header.type == PRISM_WIRE_DONE)
        return 0;
      if (frame.header.type == PRISM_WIRE_ERROR)
        return frame_error (&frame, NULL);
      g_assert_cmpint (frame.header.type, ==, PRISM_WIRE_CREDIT);
      struct prism_wire_reader r = prism_wire_read_from (frame.payload + 1, 4);
      credit += prism_wire_u32 (&r);
    }
}

static void
test_tree_round_trip (gconstpointer data)
{
  gboolean passed = GPOINTER_TO_INT (data);
  Agent agent;
  agent_start (&agent);
  g_autoptr (GByteArray) big = make_bytes (3 * 1024 * 1024 + 5);
  put_file (&agent, "src/a", "a");
  put_file (&agent, "src/d/e/f", "deep");
  put_file (&agent, "src/d.x", "");
  put_file (&agent, "src/bad-\xff\n", "odd");
  put_link (&agent, "src/d/link", "../a");
  put_link (&agent, "src/here", "d/e");
  g_autofree char *large = in_workspace (&agent, "src/large");
  g_assert_true (g_file_set_contents (large, (char *)big->data, big->len, NULL));
  g_autofree char *program = in_workspace (&agent, "src/a");
  g_assert_no_errno (g_chmod (program, 04755));
  g_autofree char *closed = in_workspace (&agent, "src/d/e");
  g_assert_no_errno (g_chmod (closed, 0555));
  for (int i = 0; i < 300; i++)
    {
      g_autofree char *name = g_strdup_printf ("src/many/%03d", i);
      g_autofree char *content = g_strnfill (i * 97, 'x');
      put_file (&agent, name, content);
    }
  g_autoptr (GByteArray) first = g_byte_array_new ();
  g_autoptr (GByteArray) second = g_byte_array_new ();
  g_assert_cmpuint (tree_out (&agent, passed, "src", 1000, 1 << 30, first), ==, 0);
  for (int round = 0; round < 2; round++)
    {
      /* Into a new folder, then over what is there. */
      g_assert_cmpuint (do_simple (&agent, PRISM_WIRE_MKDIR, "dst", NULL, 0, PARENTS, 2), ==, 0);
      g_assert_cmpuint (tree_in (&agent, passed, "dst", 1000, 1 << 30, first), ==, 0);
      g_byte_array_set_size (second, 0);
      g_assert_cmpuint (tree_out (&agent, !passed, "dst", 1000, 1 << 30, second), ==, 0);
      g_assert_cmpmem (first->data, first->len, second->data, second->len);
    }
  struct stat s;
  g_autofree char *copy = in_workspace (&agent, "dst/a");
  g_assert_no_errno (stat (copy, &s));
  g_assert_cmpuint (s.st_mode & 07777, ==, 0755);
  g_assert_no_errno (g_chmod (closed, 0755));
  g_autofree char *closed_copy = in_workspace (&agent, "dst/d/e");
  g_assert_no_errno (g_chmod (closed_copy, 0755));

  /* One less of each than there is. */
  g_byte_array_set_size (second, 0);
  g_assert_cmpuint (tree_out (&agent, passed, "src", 309, 1 << 30, second), ==, PRISM_WIRE_ERROR_LIMIT);
  g_assert_cmpuint (tree_out (&agent, passed, "src", 1000, big->len, second), ==, PRISM_WIRE_ERROR_LIMIT);
  g_assert_cmpuint (tree_in (&agent, passed, "dst", 300, 1 << 30, first), ==, PRISM_WIRE_ERROR_LIMIT);
  g_assert_cmpuint (tree_in (&agent, passed, "dst", 1000, big->len, first), ==, PRISM_WIRE_ERROR_LIMIT);
  /* Cut anywhere. */
  for (guint at = 0; at < 600; at += 7)
    {
      g_autoptr (GByteArray) cut = g_byte_array_new ();
      g_byte_array_append (cut, first->data, at);
      g_assert_cmpuint (tree_in (&agent, passed, "dst", 1000, 1 << 30, cut), ==, PRISM_WIRE_ERROR_INVALID);
    }
  agent_stop (&agent);
}

static void
test_tree_out_refuses (void)
{
  Agent agent;
  agent_start (&agent);
  const char *const links[] = { "/etc/passwd", "..", "../../x", "a/../../..", "a/../b" };
  g_autoptr (GByteArray) all = g_byte_array_new ();
  g_autofree char *path = in_workspace (&agent, "t/d/x");
  put_file (&agent, "t/d/a", "a");
  for (guint i = 0; i < G_N_ELEMENTS (links); i++)
    {
      unlink (path);
      put_link (&agent, "t/d/x", links[i]);
      g_test_message ("%s", links[i]);
      g_assert_cmpuint (tree_out (&agent, i & 1, "t", 100, 100, all), ==, i == 1 ? 0 : PRISM_WIRE_ERROR_ESCAPE);
    }
  unlink (path);
  g_assert_no_errno (mkfifo (path, 0644));
  g_assert_cmpuint (tree_out (&agent, TRUE, "t", 100, 100, all), ==, PRISM_WIRE_ERROR_TYPE);
  unlink (path);
  g_assert_cmpuint (tree_out (&agent, TRUE, "t/d/a", 100, 100, all), ==, PRISM_WIRE_ERROR_TYPE);
  g_assert_cmpuint (tree_out (&agent, FALSE, "none", 100, 100, all), ==, PRISM_WIRE_ERROR_NOT_FOUND);
  agent_stop (&agent);
}

static void
put_record (GByteArray *stream,
            guint8 type,
            const char *name,
            const char *target,
            guint32 mode,
            const char *content,
            guint64 size)
{
  guint8 record[PRISM_WIRE_RECORD];
  struct prism_wire_writer w = prism_wire_write_to (record, sizeof record);
  prism_wire_put (&w, type, 1);
  prism_wire_put (&w, 0, 1);
  prism_wire_put (&w, strlen (name), 2);
  prism_wire_put (&w, strlen (target), 2);
  prism_wire_put (&w, 0, 2);
  prism_wire_put (&w, mode, 4);
  prism_wire_put (&w, 0, 4);
  prism_wire_put (&w, 0, 8);
  prism_wire_put (&w, size, 8);
  g_byte_array_append (stream, record, sizeof record);
  g_byte_array_append (stream, (const guint8 *)name, strlen (name));
  g_byte_array_append (stream, (const guint8 *)target, strlen (target));
  if (content != NULL)
    g_byte_array_append (stream, (const guint8 *)content, size);
}

static void
test_tree_in_refuses (void)
{
  Agent agent;
  agent_start (&agent);
  g_autofree char *outside = g_dir_make_tmp ("prism-outside-XXXXXX", NULL);
  g_autofree char *through = g_strconcat (outside, "/x", NULL);
  put_file (&agent, "t/full/x", "1");
  put_file (&agent, "t/file", "1");
  put_link (&agent, "t/out", outside);
  g_autofree char *long_name = g_strnfill (256, 'n');
  const struct
  {
    guint8 type;
    const char *name, *target;
    guint32 mode, error;
  } rows[] = {
    { PRISM_WIRE_FILE, "../x", "", 0644, PRISM_WIRE_ERROR_ESCAPE },
    { PRISM_WIRE_FILE, "/x", "", 0644, PRISM_WIRE_ERROR_ESCAPE },
    { PRISM_WIRE_FILE, "a/../x", "", 0644, PRISM_WIRE_ERROR_ESCAPE },
    { PRISM_WIRE_FILE, ".", "", 0644, PRISM_WIRE_ERROR_ESCAPE },
    { PRISM_WIRE_FILE, "a//x", "", 0644, PRISM_WIRE_ERROR_ESCAPE },
    { PRISM_WIRE_FILE, "a/", "", 0644, PRISM_WIRE_ERROR_ESCAPE },
    { PRISM_WIRE_FILE, "", "", 0644, PRISM_WIRE_ERROR_ESCAPE },
    { PRISM_WIRE_FILE, long_name, "", 0644, PRISM_WIRE_ERROR_ESCAPE },
    { PRISM_WIRE_FILE, "out/x", "", 0644, PRISM_WIRE_ERROR_TYPE },
    { PRISM_WIRE_FOLDER, "out", "", 0755, PRISM_WIRE_ERROR_TYPE },
    { PRISM_WIRE_FOLDER, "file", "", 0755, PRISM_WIRE_ERROR_TYPE },
    { PRISM_WIRE_FILE, "full", "", 0644, PRISM_WIRE_ERROR_EXISTS },
    { PRISM_WIRE_LINK, "full", "x", 0777, PRISM_WIRE_ERROR_EXISTS },
    { PRISM_WIRE_LINK, "l", "/etc", 0777, PRISM_WIRE_ERROR_ESCAPE },
    { PRISM_WIRE_LINK, "l", "..", 0777, PRISM_WIRE_ERROR_ESCAPE },
    { PRISM_WIRE_LINK, "l", "", 0777, PRISM_WIRE_ERROR_INVALID },
    { PRISM_WIRE_FILE, "f", "x", 0644, PRISM_WIRE_ERROR_INVALID },
    { PRISM_WIRE_FILE, "f", "", 010644, PRISM_WIRE_ERROR_INVALID },
    { PRISM_WIRE_OTHER, "f", "", 0644, PRISM_WIRE_ERROR_INVALID },
    { PRISM_WIRE_FILE, "none/f", "", 0644, PRISM_WIRE_ERROR_NOT_FOUND },
    { PRISM_WIRE_FILE, "file", "", 0644, 0 },
    { PRISM_WIRE_FILE, "out", "", 0644, 0 },
  };
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (GByteArray) stream = g_byte_array_new ();
      put_record (stream, rows[i].type, rows[i].name, rows[i].target, rows[i].mode, NULL, 0);
      put_record (stream, 0, "", "", 0, NULL, 1);
      g_test_message ("%s", rows[i].name);
      g_assert_cmpuint (tree_in (&agent, i & 1, "t", 100, 100, stream), ==, rows[i].error);
    }
  /* A link, then a file through it. */
  g_autoptr (GByteArray) stream = g_byte_array_new ();
  put_record (stream, PRISM_WIRE_FOLDER, "sub", "", 0755, NULL, 0);
  put_record (stream, PRISM_WIRE_LINK, "via", "sub", 0777, NULL, 0);
  put_record (stream, PRISM_WIRE_FILE, "via/x", "", 0644, "x", 1);
  g_assert_cmpuint (tree_in (&agent, TRUE, "t", 100, 100, stream), ==, PRISM_WIRE_ERROR_TYPE);
  /* An end that does not fit. */
  g_byte_array_set_size (stream, 0);
  put_record (stream, 0, "", "", 0, NULL, 1);
  g_assert_cmpuint (tree_in (&agent, TRUE, "t", 100, 100, stream), ==, PRISM_WIRE_ERROR_INVALID);
  g_assert_false (g_file_test (through, G_FILE_TEST_EXISTS));
  remove_tree (outside);
  agent_stop (&agent);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/agent/trees/passed", GINT_TO_POINTER (1), test_tree_round_trip);
  g_test_add_data_func ("/agent/trees/framed", GINT_TO_POINTER (0), test_tree_round_trip);
  g_test_add_func ("/agent/trees/out-refuses", test_tree_out_refuses);
  g_test_add_func ("/agent/trees/in-refuses", test_tree_in_refuses);
  return g_test_run ();
}
