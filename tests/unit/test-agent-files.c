/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* house: allow long file: every file request, over one fixture. */
/* File requests of the agent, over a wire that this test speaks itself. */
#include "agent-files-fixture.h"

static void
test_read (void)
{
  Agent agent;
  agent_start (&agent);
  g_autoptr (GByteArray) big = make_bytes (3 * 1024 * 1024 + 17);
  g_autofree char *path = in_workspace (&agent, "big");
  g_assert_true (g_file_set_contents (path, (char *)big->data, big->len, NULL));
  put_file (&agent, "empty", "");
  put_link (&agent, "link", "big");
  g_autofree char *fifo = in_workspace (&agent, "fifo");
  g_assert_no_errno (mkfifo (fifo, 0644));
  const struct
  {
    const char *path;
    guint64 offset, length, expected;
    guint32 error;
  } rows[] = {
    { "big", 0, G_MAXUINT64, big->len, 0 },
    { path, 0, G_MAXUINT64, big->len, 0 },
    { "link", 5, G_MAXUINT64, big->len - 5, 0 },
    { "big", 100, 200, 200, 0 },
    { "big", big->len - 3, 200, 3, 0 },
    { "big", big->len + 3, 200, 0, 0 },
    { "big", 0, 0, 0, 0 },
    { "empty", 0, G_MAXUINT64, 0, 0 },
    { "none", 0, G_MAXUINT64, 0, PRISM_WIRE_ERROR_NOT_FOUND },
    { "", 0, G_MAXUINT64, 0, PRISM_WIRE_ERROR_TYPE },
    { "fifo", 0, G_MAXUINT64, 0, PRISM_WIRE_ERROR_TYPE },
    { "/dev/null", 0, G_MAXUINT64, 0, PRISM_WIRE_ERROR_TYPE },
    { "big/x", 0, G_MAXUINT64, 0, PRISM_WIRE_ERROR_TYPE },
    { "big", G_MAXUINT64, 1, 0, PRISM_WIRE_ERROR_TYPE },
  };
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (GByteArray) got = g_byte_array_new ();
      g_test_message ("%s", rows[i].path);
      g_assert_cmpuint (do_read (&agent, rows[i].path, rows[i].offset, rows[i].length, got), ==, rows[i].error);
      g_assert_cmpuint (got->len, ==, rows[i].expected);
      if (rows[i].expected > 0)
        g_assert_true (memcmp (got->data, big->data + rows[i].offset, got->len) == 0);
    }
  agent_stop (&agent);
}

/* A READ that nobody gives credit to stalls nothing, and can be cancelled. */
static void
test_read_stalled (void)
{
  Agent agent;
  agent_start (&agent);
  g_autoptr (GByteArray) big = make_bytes (1024 * 1024);
  g_autofree char *path = in_workspace (&agent, "big");
  g_assert_true (g_file_set_contents (path, (char *)big->data, big->len, NULL));
  WRITER (w);
  prism_wire_put_str (&w, "big");
  prism_wire_put (&w, 0, 8);
  prism_wire_put (&w, G_MAXUINT64, 8);
  prism_wire_put (&w, 0, 4);
  agent_say_writer (&agent, PRISM_WIRE_READ, 77, &w);
  gsize got = 0;
  while (got < PRISM_WIRE_WINDOW)
    {
      g_auto (Frame) frame = FRAME_INIT;
      agent_expect (&agent, 77, PRISM_WIRE_DATA, &frame);
      got += frame.header.size;
    }
  g_assert_cmpuint (got, ==, PRISM_WIRE_WINDOW);
  Exited exited;
  g_autofree char *text = agent_run_command (&agent, SH ("echo hi"), NULL, &exited);
  g_assert_cmpstr (text, ==, "hi\n");
  agent_say_u32 (&agent, PRISM_WIRE_CANCEL, 77, 0);
  g_assert_cmpuint (agent_expect_error (&agent, 77), ==, PRISM_WIRE_ERROR_CANCELLED);
  agent_stop (&agent);
}

static void
test_write (void)
{
  Agent agent;
  struct stat s;
  agent_start (&agent);
  g_autoptr (GByteArray) big = make_bytes (2 * 1024 * 1024 + 1);
  g_autofree char *path = in_workspace (&agent, "a");
  g_autofree char *outside = g_dir_make_tmp ("prism-outside-XXXXXX", NULL);
  g_autofree char *victim = g_build_filename (outside, "victim", NULL);
  g_assert_true (g_file_set_contents (victim, "safe", -1, NULL));

  g_assert_cmpuint (do_write (&agent, "a", big->data, big->len, 0, 0), ==, 0);
  g_autofree char *content = NULL;
  gsize size = 0;
  g_assert_true (g_file_get_contents (path, &content, &size, NULL));
  g_assert_cmpmem (content, size, big->data, big->len);
  g_assert_no_errno (stat (path, &s));
  g_assert_cmpuint (s.st_mode & 07777, ==, 0644);

  g_assert_no_errno (g_chmod (path, 0751));
  g_assert_cmpuint (do_write (&agent, "a", "x", 1, 0, 0), ==, 0);
  g_assert_no_errno (stat (path, &s));
  g_assert_cmpuint (s.st_mode & 07777, ==, 0751);
  g_assert_cmpuint (do_write (&agent, "a", "", 0, 0600, 0), ==, 0);
  g_assert_no_errno (stat (path, &s));
  g_assert_cmpuint (s.st_mode & 07777, ==, 0600);
  g_assert_cmpuint (s.st_size, ==, 0);

  g_assert_cmpuint (do_write (&agent, "p/q/r", "x", 1, 0, 0), ==, PRISM_WIRE_ERROR_NOT_FOUND);
  g_assert_cmpuint (do_write (&agent, "p/q/r", "x", 1, 0, PARENTS), ==, 0);
  g_assert_cmpuint (do_write (&agent, "a/b", "x", 1, 0, PARENTS), ==, PRISM_WIRE_ERROR_TYPE);
  g_assert_cmpuint (do_write (&agent, "p", "x", 1, 0, 0), ==, PRISM_WIRE_ERROR_TYPE);
  g_assert_cmpuint (do_write (&agent, "p/..", "x", 1, 0, 0), ==, PRISM_WIRE_ERROR_INVALID);
  g_assert_cmpuint (do_write (&agent, "setid", "x", 1, 04755, 0), ==, PRISM_WIRE_ERROR_INVALID);
  g_autofree char *fifo = in_workspace (&agent, "fifo");
  g_assert_no_errno (mkfifo (fifo, 0644));
  g_assert_cmpuint (do_write (&agent, "fifo", "x", 1, 0, 0), ==, PRISM_WIRE_ERROR_TYPE);
  put_link (&agent, "link", victim);
  g_assert_cmpuint (do_write (&agent, "link", "x", 1, 0, 0), ==, PRISM_WIRE_ERROR_TYPE);
  put_link (&agent, "dangling", "nowhere");
  g_assert_cmpuint (do_write (&agent, "dangling", "x", 1, 0, 0), ==, PRISM_WIRE_ERROR_TYPE);
  g_autofree char *kept = NULL;
  g_assert_true (g_file_get_contents (victim, &kept, NULL, NULL));
  g_assert_cmpstr (kept, ==, "safe");

  /* Cancelled half-way: the old file, and no temporary one. */
  ask_path (&agent, PRISM_WIRE_WRITE, 500, "p/q/r", NULL, 0, 0, 2);
  agent_say (&agent, PRISM_WIRE_DATA, 0, 500, "half", 4, NULL, 0);
  agent_say_u32 (&agent, PRISM_WIRE_CANCEL, 500, 0);
  g_assert_cmpuint (agent_expect_error (&agent, 500), ==, PRISM_WIRE_ERROR_CANCELLED);
  g_autoptr (GString) listing = g_string_new (NULL);
  g_assert_cmpuint (do_list (&agent, PRISM_WIRE_LIST, "p/q", HIDDEN, 10, listing), ==, 0);
  g_assert_cmpstr (listing->str, ==, "f 644 1 r\n");
  remove_tree (outside);
  agent_stop (&agent);
}

static void
test_list_and_stat (void)
{
  Agent agent;
  agent_start (&agent);
  put_file (&agent, "b/two", "22");
  put_file (&agent, "b.c", "1");
  put_file (&agent, "B", "");
  put_file (&agent, ".hid/x", "1");
  put_file (&agent, "bad-\xff\n\t\"", "1");
  put_link (&agent, "b/up", "..");
  put_link (&agent, "loop", "loop");
  g_autoptr (GString) flat = g_string_new (NULL);
  g_autoptr (GString) deep = g_string_new (NULL);
  g_autoptr (GString) all = g_string_new (NULL);
  g_autoptr (GString) none = g_string_new (NULL);
  g_assert_cmpuint (do_list (&agent, PRISM_WIRE_LIST, "", 0, 100, flat), ==, 0);
  g_assert_cmpstr (flat->str, ==, "f 644 0 B\nd 755 0 b\nf 644 1 b.c\nf 644 1 bad-\xff\n\t\"\nl 777 0 loop -> loop\n");
  g_assert_cmpuint (do_list (&agent, PRISM_WIRE_LIST, agent.workspace, RECURSIVE, 100, deep), ==, 0);
  g_assert_cmpstr (deep->str, ==,
                   "f 644 0 B\nd 755 0 b\nf 644 2 b/two\nl 777 0 b/up -> ..\nf 644 1 b.c\nf 644 1 bad-\xff\n\t\"\n"
                   "l 777 0 loop -> loop\n");
  g_assert_cmpuint (do_list (&agent, PRISM_WIRE_LIST, "", RECURSIVE | HIDDEN, 100, all), ==, 0);
  g_assert_true (g_str_has_prefix (all->str, "d 755 0 .hid\nf 644 1 .hid/x\n"));
  g_assert_cmpuint (do_list (&agent, PRISM_WIRE_LIST, "", RECURSIVE, 7, none), ==, 0);
  g_assert_cmpuint (do_list (&agent, PRISM_WIRE_LIST, "", RECURSIVE, 6, none), ==, PRISM_WIRE_ERROR_LIMIT);
  g_assert_cmpuint (do_list (&agent, PRISM_WIRE_LIST, "", 0, 4, none), ==, PRISM_WIRE_ERROR_LIMIT);
  g_assert_cmpuint (do_list (&agent, PRISM_WIRE_LIST, "none", 0, 4, none), ==, PRISM_WIRE_ERROR_NOT_FOUND);
  g_assert_cmpuint (do_list (&agent, PRISM_WIRE_LIST, "B", 0, 4, none), ==, PRISM_WIRE_ERROR_TYPE);

  g_string_truncate (none, 0);
  g_assert_cmpuint (do_list (&agent, PRISM_WIRE_STAT, "b/two", 0, 0, none), ==, 0);
  g_assert_cmpuint (do_list (&agent, PRISM_WIRE_STAT, "loop", 0, 0, none), ==, 0);
  g_assert_cmpuint (do_list (&agent, PRISM_WIRE_STAT, "b/", 0, 0, none), ==, 0);
  g_assert_cmpuint (do_list (&agent, PRISM_WIRE_STAT, "/dev/null", 0, 0, none), ==, 0);
  g_assert_cmpstr (none->str, ==, "f 644 2 \nl 777 0  -> loop\nd 755 0 \no 666 0 \n");
  g_assert_cmpuint (do_list (&agent, PRISM_WIRE_STAT, "/", 0, 0, none), ==, 0);
  g_assert_cmpuint (do_list (&agent, PRISM_WIRE_STAT, "", 0, 0, none), ==, 0);
  g_assert_cmpuint (do_list (&agent, PRISM_WIRE_STAT, "loop/x", 0, 0, none), ==, PRISM_WIRE_ERROR_TYPE);
  agent_stop (&agent);
}

static void
test_rename_mkdir (void)
{
  Agent agent;
  agent_start (&agent);
  put_file (&agent, "a", "a");
  put_file (&agent, "b", "b");
  put_file (&agent, "d/x", "x");
  put_link (&agent, "l", "d/x");
  g_assert_cmpuint (do_simple (&agent, PRISM_WIRE_RENAME, "a", "b", 0, 0, 1), ==, PRISM_WIRE_ERROR_EXISTS);
  g_assert_cmpuint (do_simple (&agent, PRISM_WIRE_RENAME, "a", "b", OVERWRITE, 0, 1), ==, 0);
  g_assert_cmpuint (do_simple (&agent, PRISM_WIRE_RENAME, "a", "c", 0, 0, 1), ==, PRISM_WIRE_ERROR_NOT_FOUND);
  g_assert_cmpuint (do_simple (&agent, PRISM_WIRE_RENAME, "b", "no/c", 0, 0, 1), ==, PRISM_WIRE_ERROR_NOT_FOUND);
  g_assert_cmpuint (do_simple (&agent, PRISM_WIRE_RENAME, "b", "d", OVERWRITE, 0, 1), ==, PRISM_WIRE_ERROR_TYPE);
  /* The link itself moves. */
  g_assert_cmpuint (do_simple (&agent, PRISM_WIRE_RENAME, "l", "d/l", 0, 0, 1), ==, 0);
  g_autoptr (GString) listing = g_string_new (NULL);
  g_assert_cmpuint (do_list (&agent, PRISM_WIRE_LIST, "", RECURSIVE, 10, listing), ==, 0);
  g_assert_cmpstr (listing->str, ==, "f 644 1 b\nd 755 0 d\nl 777 0 d/l -> d/x\nf 644 1 d/x\n");

  g_assert_cmpuint (do_simple (&agent, PRISM_WIRE_MKDIR, "m/n", NULL, 0, 0, 2), ==, PRISM_WIRE_ERROR_NOT_FOUND);
  g_assert_cmpuint (do_simple (&agent, PRISM_WIRE_MKDIR, "m/n/o", NULL, 0700, PARENTS, 2), ==, 0);
  g_assert_cmpuint (do_simple (&agent, PRISM_WIRE_MKDIR, "m/n/o", NULL, 0, PARENTS, 2), ==, 0);
  g_assert_cmpuint (do_simple (&agent, PRISM_WIRE_MKDIR, "m/n/o", NULL, 0, 0, 2), ==, PRISM_WIRE_ERROR_EXISTS);
  g_assert_cmpuint (do_simple (&agent, PRISM_WIRE_MKDIR, "b", NULL, 0, PARENTS, 2), ==, PRISM_WIRE_ERROR_EXISTS);
  g_assert_cmpuint (do_simple (&agent, PRISM_WIRE_MKDIR, "x", NULL, 02755, 0, 2), ==, PRISM_WIRE_ERROR_INVALID);
  g_string_truncate (listing, 0);
  g_assert_cmpuint (do_list (&agent, PRISM_WIRE_STAT, "m/n/o", 0, 0, listing), ==, 0);
  g_assert_cmpstr (listing->str, ==, "d 700 0 \n");
  agent_stop (&agent);
}

static void
test_remove (void)
{
  Agent agent;
  agent_start (&agent);
  g_autofree char *outside = g_dir_make_tmp ("prism-outside-XXXXXX", NULL);
  g_autofree char *victim = g_build_filename (outside, "victim", NULL);
  g_assert_true (g_file_set_contents (victim, "safe", -1, NULL));
  put_file (&agent, "t/a/b", "1");
  put_file (&agent, "t/c", "1");
  put_link (&agent, "t/out", outside);
  put_link (&agent, "out", outside);
  g_assert_cmpuint (do_simple (&agent, PRISM_WIRE_REMOVE, "t", NULL, 0, 100, 2), ==, PRISM_WIRE_ERROR_EXISTS);
  g_assert_cmpuint (do_simple (&agent, PRISM_WIRE_REMOVE, "t", NULL, RECURSIVE, 2, 2), ==, PRISM_WIRE_ERROR_LIMIT);
  g_assert_cmpuint (do_simple (&agent, PRISM_WIRE_REMOVE, "t", NULL, RECURSIVE, 100, 2), ==, 0);
  g_assert_cmpuint (do_simple (&agent, PRISM_WIRE_REMOVE, "t", NULL, RECURSIVE, 100, 2), ==,
                    PRISM_WIRE_ERROR_NOT_FOUND);
  g_assert_cmpuint (do_simple (&agent, PRISM_WIRE_REMOVE, "out", NULL, RECURSIVE, 100, 2), ==, 0);
  g_assert_cmpuint (do_simple (&agent, PRISM_WIRE_REMOVE, agent.workspace, NULL, RECURSIVE, 100, 2), ==,
                    PRISM_WIRE_ERROR_INVALID);
  g_assert_cmpuint (do_simple (&agent, PRISM_WIRE_REMOVE, "", NULL, RECURSIVE, 100, 2), ==, PRISM_WIRE_ERROR_INVALID);
  g_assert_cmpuint (do_simple (&agent, PRISM_WIRE_REMOVE, "/", NULL, RECURSIVE, 100, 2), ==, PRISM_WIRE_ERROR_INVALID);
  g_assert_true (g_file_test (victim, G_FILE_TEST_EXISTS));

  /* Deeper than there may be open folders. */
  Exited exited;
  g_autofree char *made = agent_run_command (
      &agent, SH ("i=0; mkdir deep; cd deep; while [ $i -lt 700 ]; do mkdir d; cd -P d; : > f; i=$((i+1)); done"), NULL,
      &exited);
  g_assert_cmpint (exited.code, ==, 0);
  g_autoptr (GString) listing = g_string_new (NULL);
  g_assert_cmpuint (do_list (&agent, PRISM_WIRE_LIST, "deep", RECURSIVE, 10000, listing), ==, PRISM_WIRE_ERROR_LIMIT);
  g_assert_cmpuint (do_simple (&agent, PRISM_WIRE_REMOVE, "deep", NULL, RECURSIVE, 10000, 2), ==, 0);
  g_string_truncate (listing, 0);
  g_assert_cmpuint (do_list (&agent, PRISM_WIRE_LIST, "", HIDDEN, 10, listing), ==, 0);
  g_assert_cmpstr (listing->str, ==, "");
  remove_tree (outside);
  agent_stop (&agent);
}

static char *
do_search (Agent *agent, const char *path, const char *query, guint32 flags, guint32 most, guint32 *error)
{
  guint32 id = next_id++;
  GByteArray *all = g_byte_array_new ();
  ask_path (agent, PRISM_WIRE_SEARCH, id, path, query, flags, most, 2);
  *error = collect_data (agent, id, all);
  for (guint i = 0; i < all->len; i++)
    if (all->data[i] == 0)
      all->data[i] = ':';
  g_byte_array_append (all, (const guint8 *)"", 1);
  return (char *)g_byte_array_free (all, FALSE);
}

static void
test_search (void)
{
  Agent agent;
  guint32 error;
  agent_start (&agent);
  put_file (&agent, "a", "one\nneedle two needle\n\nlast Needle");
  put_file (&agent, "b/x", "needle\n");
  put_file (&agent, "b.c", "needle\n");
  put_file (&agent, ".git/x", "needle\n");
  put_file (&agent, "node_modules/x", "needle\n");
  put_link (&agent, "out", "/");
  put_link (&agent, "again", "a");
  g_autofree char *fifo = in_workspace (&agent, "fifo");
  g_assert_no_errno (mkfifo (fifo, 0644));
  g_autofree char *binary = in_workspace (&agent, "binary");
  g_assert_true (g_file_set_contents (binary, "needle\0", 7, NULL));
  /* A match over the border of two reads, and a line longer than one. */
  GString *text = g_string_new (NULL);
  for (int i = 0; i < 1024 * 1024 / 16 - 1; i++)
    g_string_append (text, "0123456789abcde\n");
  g_string_append (text, "0123456789needle\n");
  g_autofree char *large = in_workspace (&agent, "large");
  g_assert_true (g_file_set_contents (large, text->str, text->len, NULL));
  g_string_truncate (text, 0);
  for (int i = 0; i < 300000; i++)
    g_string_append (text, "long");
  g_string_append (text, "needle");
  g_autofree char *line = in_workspace (&agent, "line");
  g_assert_true (g_file_set_contents (line, text->str, text->len, NULL));
  g_string_free (text, TRUE);

  g_autofree char *found = do_search (&agent, "", "needle", 0, 1000, &error);
  g_assert_cmpuint (error, ==, 0);
  g_auto (GStrv) lines = g_strsplit (found, "\n", -1);
  g_assert_cmpuint (g_strv_length (lines), ==, 6);
  g_assert_cmpstr (lines[0], ==, "a:2:1:needle two needle");
  g_assert_cmpstr (lines[1], ==, "b/x:1:1:needle");
  g_assert_cmpstr (lines[2], ==, "b.c:1:1:needle");
  g_assert_cmpstr (lines[3], ==, "large:65536:11:0123456789needle");
  g_assert_true (g_str_has_prefix (lines[4], "line:1:"));
  g_assert_true (g_str_has_suffix (lines[4], "needle"));

  g_autofree char *few = do_search (&agent, "", "needle", 0, 2, &error);
  g_assert_cmpstr (few, ==, "a:2:1:needle two needle\nb/x:1:1:needle\n");
  g_autofree char *hidden = do_search (&agent, agent.workspace, "needle", HIDDEN, 1, &error);
  g_assert_cmpstr (hidden, ==, ".git/x:1:1:needle\n");
  g_autofree char *any = do_search (&agent, "a", "nEEdLe", FOLD_CASE, 10, &error);
  g_assert_cmpstr (any, ==, "a:2:1:needle two needle\na:4:6:last Needle\n");
  g_autofree char *nothing = do_search (&agent, "", "no such text", 0, 10, &error);
  g_assert_cmpstr (nothing, ==, "");
  g_free (do_search (&agent, "", "", 0, 10, &error));
  g_assert_cmpuint (error, ==, PRISM_WIRE_ERROR_INVALID);
  g_free (do_search (&agent, "fifo", "x", 0, 10, &error));
  g_assert_cmpuint (error, ==, PRISM_WIRE_ERROR_TYPE);
  agent_stop (&agent);
}

/* Two renames and two removes a microsecond while requests go through the same
 * names: never a byte outside. */
static void
test_races (void)
{
  Agent agent;
  int out[2];
  agent_start (&agent);
  g_autofree char *outside = g_dir_make_tmp ("prism-outside-XXXXXX", NULL);
  g_autofree char *victim = g_build_filename (outside, "f", NULL);
  g_assert_true (g_file_set_contents (victim, "safe", -1, NULL));
  put_file (&agent, "d/f", "in");
  put_file (&agent, "leaf", "in");
  g_autofree char *script =
      g_strdup_printf ("import os,ctypes\nc=ctypes.CDLL(None)\nos.symlink('%s','l')\nos.symlink('%s','k')\n"
                       "print(flush=True)\n"
                       "while 1:\n c.renameat2(-100,b'leaf',-100,b'l',2)\n c.renameat2(-100,b'd/f',-100,b'k',2)\n",
                       victim, victim);
  g_assert_no_errno (pipe2 (out, O_CLOEXEC));
  agent_say_exec (&agent, 9999, ARGV ("/usr/bin/python3", "-c", script), NULL, (int[]){ out[1], 2 }, 2);
  close (out[1]);
  char c;
  g_assert_cmpint (read (out[0], &c, 1), ==, 1);
  for (int i = 0; i < 300; i++)
    {
      guint32 error = do_write (&agent, i & 1 ? "leaf" : "d/f", "new", 3, 0, 0);
      g_assert_true (error == 0 || error == PRISM_WIRE_ERROR_TYPE || error == PRISM_WIRE_ERROR_NOT_FOUND);
      g_autoptr (GString) listing = g_string_new (NULL);
      error = do_list (&agent, PRISM_WIRE_LIST, "", RECURSIVE, 100, listing);
      g_assert_true (error == 0 || error == PRISM_WIRE_ERROR_FAILED);
    }
  agent_say_u32 (&agent, PRISM_WIRE_CANCEL, 9999, 0);
  agent_expect_exited (&agent, 9999);
  close (out[0]);
  g_autofree char *kept = NULL;
  g_assert_true (g_file_get_contents (victim, &kept, NULL, NULL));
  g_assert_cmpstr (kept, ==, "safe");
  remove_tree (outside);
  agent_stop (&agent);
}

/* A host that gives up half-way leaves no worker; a killed worker is an error. */
static void
test_workers_end (void)
{
  Agent agent;
  int ends[2];
  agent_start (&agent);
  g_assert_no_errno (pipe2 (ends, O_CLOEXEC));
  for (guint32 id = 1; id <= 20; id++)
    ask_tree (&agent, PRISM_WIRE_TREE_IN, id + 100, "", 10, 10, -1);
  agent_say_u32 (&agent, PRISM_WIRE_CANCEL, 105, 0);
  g_assert_cmpuint (agent_expect_error (&agent, 105), ==, PRISM_WIRE_ERROR_CANCELLED);
  Exited exited;
  /* Those that wait are workers too: eight at once, all children of this agent. */
  g_autofree char *script =
      g_strdup_printf ("cat /proc/%d/task/%d/children | wc -w; for p in $(cat /proc/%d/task/%d/children); do "
                       "grep -q files /proc/$p/comm && kill -9 $p; done; :",
                       agent.pid, agent.pid, agent.pid, agent.pid);
  guint failed = 0;
  int out[2];
  g_assert_no_errno (pipe2 (out, O_CLOEXEC));
  agent_say_exec (&agent, 7, SH (script), NULL, (int[]){ out[1], 2 }, 2);
  close (out[1]);
  for (gboolean over = FALSE; !over;)
    {
      g_auto (Frame) frame = FRAME_INIT;
      g_assert_true (agent_next (&agent, &frame));
      if (frame.header.type == PRISM_WIRE_ERROR)
        failed++;
      else
        exited = frame_exited (&frame);
      over = frame.header.type == PRISM_WIRE_EXITED;
    }
  g_assert_cmpint (exited.code, ==, 0);
  while (failed < 1)
    {
      g_auto (Frame) frame = FRAME_INIT;
      g_assert_true (agent_next (&agent, &frame));
      g_assert_cmpint (frame.header.type, ==, PRISM_WIRE_ERROR);
      failed++;
    }
  close (out[0]);
  close (ends[0]);
  close (ends[1]);
  agent_stop (&agent);
}

static void
test_listen (void)
{
  Agent agent;
  g_auto (Frame) frame = FRAME_INIT;
  agent_start (&agent);
  guint16 port = 0;
  /* A free one, as found out a moment ago. */
  for (port = 20000; port < 60000; port += 997)
    {
      guint8 payload[2] = { port & 255, port >> 8 };
      agent_say (&agent, PRISM_WIRE_LISTEN, 0, port, payload, 2, NULL, 0);
      g_assert_true (agent_next (&agent, &frame));
      if (frame.header.type == PRISM_WIRE_DONE)
        break;
      g_assert_cmpuint (frame_error (&frame, NULL), ==, PRISM_WIRE_ERROR_EXISTS);
    }
  g_assert_cmpint (frame.fd, >=, 0);
  guint8 payload[2] = { port & 255, port >> 8 };
  agent_say (&agent, PRISM_WIRE_LISTEN, 0, 1, payload, 2, NULL, 0);
  g_assert_cmpuint (agent_expect_error (&agent, 1), ==, PRISM_WIRE_ERROR_EXISTS);
  g_autofree char *script = g_strdup_printf ("exec 3<>/dev/tcp/127.0.0.1/%u && echo hi >&3", port);
  Exited exited;
  g_autofree char *text = agent_run_command (&agent, ARGV ("bash", "-c", script), NULL, &exited);
  g_assert_cmpint (exited.code, ==, 0);
  g_assert_true (wait_for (frame.fd, POLLIN, DEADLINE_MS));
  int peer = accept (frame.fd, NULL, NULL);
  g_autofree char *said = read_pipe (peer, NULL);
  g_assert_cmpstr (said, ==, "hi\n");
  close (peer);
  agent_stop (&agent);
}

/* With BENEATH nothing leads out of the workspace, and what changes it goes through no link. */
static void
test_beneath (void)
{
  Agent agent;
  guint32 error;
  agent_start (&agent);
  g_autoptr (GString) none = g_string_new (NULL);
  put_file (&agent, "a/b", "needle\n");
  put_file (&agent, "node_modules/c", "needle\n");
  put_link (&agent, "in", "a");
  put_link (&agent, "in-twice", "in/../in");
  put_link (&agent, "out", "/etc");
  put_link (&agent, "up", "a/../..");
  put_link (&agent, "loop", "loop");
  const struct
  {
    const char *path;
    guint32 looks, writes;
  } rows[] = {
    { "a/b", 0, 0 },
    { "./a//../a/b", 0, 0 },
    { "in/b", 0, PRISM_WIRE_ERROR_ESCAPE },
    { "in-twice/b", 0, PRISM_WIRE_ERROR_ESCAPE },
    { "out/passwd", PRISM_WIRE_ERROR_ESCAPE, PRISM_WIRE_ERROR_ESCAPE },
    { "up/x", PRISM_WIRE_ERROR_ESCAPE, PRISM_WIRE_ERROR_ESCAPE },
    { "../x", PRISM_WIRE_ERROR_ESCAPE, PRISM_WIRE_ERROR_ESCAPE },
    { "a/../../x", PRISM_WIRE_ERROR_ESCAPE, PRISM_WIRE_ERROR_ESCAPE },
    { "/etc/passwd", PRISM_WIRE_ERROR_ESCAPE, PRISM_WIRE_ERROR_ESCAPE },
    { "loop/x", PRISM_WIRE_ERROR_TYPE, PRISM_WIRE_ERROR_ESCAPE },
    { "a/b/x", PRISM_WIRE_ERROR_TYPE, PRISM_WIRE_ERROR_TYPE },
  };
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_test_message ("%s", rows[i].path);
      g_assert_cmpuint (do_list (&agent, PRISM_WIRE_STAT, rows[i].path, BENEATH, 0, none), ==, rows[i].looks);
      g_assert_cmpuint (do_write (&agent, rows[i].path, "needle\n", 7, 0, BENEATH), ==, rows[i].writes);
    }
  g_assert_cmpuint (do_list (&agent, PRISM_WIRE_LIST, "in", BENEATH, 10, none), ==, 0);
  g_assert_cmpuint (do_list (&agent, PRISM_WIRE_LIST, "out", BENEATH, 10, none), ==, PRISM_WIRE_ERROR_ESCAPE);
  g_assert_cmpuint (do_simple (&agent, PRISM_WIRE_REMOVE, "in/b", NULL, BENEATH, 10, 2), ==, PRISM_WIRE_ERROR_ESCAPE);
  g_assert_cmpuint (do_simple (&agent, PRISM_WIRE_RENAME, "a/b", "in/c", BENEATH, 0, 1), ==, PRISM_WIRE_ERROR_ESCAPE);
  g_assert_cmpuint (do_simple (&agent, PRISM_WIRE_MKDIR, "up/made", NULL, 0, BENEATH | PARENTS, 2), ==,
                    PRISM_WIRE_ERROR_ESCAPE);
  g_autofree char *out = do_search (&agent, "out", "root", BENEATH, 10, &error);
  g_assert_cmpuint (error, ==, PRISM_WIRE_ERROR_ESCAPE);
  g_autofree char *found = do_search (&agent, "", "needle", BENEATH | SOURCES | HIDDEN, 10, &error);
  g_assert_cmpuint (error, ==, 0);
  g_assert_true (g_str_has_prefix (found, "a/b:1:1:needle\n:0:0:"));
  agent_stop (&agent);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/agent/files/read", test_read);
  g_test_add_func ("/agent/files/read-stalled", test_read_stalled);
  g_test_add_func ("/agent/files/write", test_write);
  g_test_add_func ("/agent/files/list-and-stat", test_list_and_stat);
  g_test_add_func ("/agent/files/rename-mkdir", test_rename_mkdir);
  g_test_add_func ("/agent/files/remove", test_remove);
  g_test_add_func ("/agent/files/search", test_search);
  g_test_add_func ("/agent/files/beneath", test_beneath);
  g_test_add_func ("/agent/files/races", test_races);
  g_test_add_func ("/agent/files/workers-end", test_workers_end);
  g_test_add_func ("/agent/files/listen", test_listen);
  return g_test_run ();
}
