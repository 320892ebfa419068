/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Each tool by a table: the same calls, the same answers, on the host and in a sandbox. */
#include "tools-fixture.h"

#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct
{
  const char *tool, *arguments;
  const char *says; /* what the answer begins with; "*text": has in it */
} Row;

static void
check_rows (ToolsFixture *f, const Row *rows, guint n)
{
  for (guint i = 0; i < n; i++)
    {
      g_autofree char *text = tools_text (f, rows[i].tool, rows[i].arguments);
      gboolean right =
          rows[i].says[0] == '*' ? strstr (text, rows[i].says + 1) != NULL : g_str_has_prefix (text, rows[i].says);
      if (!right)
        g_error ("%s %.200s: “%.600s”, and not “%s”", rows[i].tool, rows[i].arguments, text, rows[i].says);
      g_assert_null (strstr (text, "OUTSIDE"));
    }
}

static void
fill (ToolsFixture *f)
{
  tools_put (f, "a.txt", "one\ntwo\nthree needle\n", -1);
  tools_put (f, "crlf.txt", "x\r\ny needle\r\nz\r\n", -1);
  tools_put (f, "bom.txt", "\357\273\277first\nsecond\n", -1);
  tools_put (f, "nofinal.txt", "end", -1);
  tools_put (f, "cr.txt", "p\rq\r", -1);
  tools_put (f, "latin.txt", "caf\351\n", -1);
  tools_put (f, "utf16.txt", "\377\376a\0b\0", 6);
  tools_put (f, "binary", "a\0needle\n", 9);
  tools_put (f, "empty", "", 0);
  tools_put (f, "sub/b.c", "int needle;\n", -1);
  tools_put (f, "sub/deep/c.c", "Needle again\n", -1);
  tools_put (f, ".hidden", "needle\n", -1);
  tools_put (f, "node_modules/m/i.js", "needle\n", -1);
  tools_put (f, "-rf", "needle -rf\n", -1);
  tools_put (f, "bad-\377\n", "needle\n", -1);
  tools_put (f, "..x/y", "dots\n", -1);
  tools_put (f, "p.png", "\211PNG\r\n\032\nrest", 12);
  tools_put (f, "d.pdf", "%PDF-1.4\n", -1);
  tools_link (f, "inside", "a.txt");
  tools_link (f, "folder-inside", "sub");
  tools_link (f, "out", "../work-evil/secret");
  tools_link (f, "out-folder", "../work-evil");
  tools_link (f, "out-root", "/");
  tools_link (f, "out-proc", "/proc/self/root/etc/passwd");
  tools_link (f, "loop", "loop");
  tools_link (f, "dangling", "nowhere");
  {
    g_autofree char *fifo = g_build_filename (f->folder, "fifo", NULL);
    g_assert_no_errno (mkfifo (fifo, 0644));
  }
}

static void
test_read (ToolsFixture *f, gconstpointer data)
{
  static const Row rows[] = {
    { "read", "{\"path\":\"a.txt\"}", "one\ntwo\nthree needle\n" },
    { "read", "{\"path\":\"./sub/../a.txt\",\"offset\":2,\"limit\":1}",
      "two\n[lines 2 to 2; go on with \"offset\": 3]" },
    { "read", "{\"path\":\"a.txt\",\"findText\":\"needle\"}", "three needle\n" },
    { "read", "{\"path\":\"a.txt\",\"findText\":\"NEEDLE\",\"findMode\":\"case-insensitive\"}", "three needle\n" },
    { "read", "{\"path\":\"a.txt\",\"findText\":\"NEEDLE\"}", "NOT_FOUND: a.txt: findText is not there" },
    { "read", "{\"path\":\"a.txt\",\"offset\":9}", "NOT_FOUND: a.txt: offset 9 is after its end; it has 3 lines" },
    { "read", "{\"path\":\"a.txt\",\"readRange\":[2,3]}", "two\nthree needle\n" },
    { "read", "{\"path\":\"a.txt\",\"readRange\":[2,2]}", "two\n[lines 2 to 2; go on with \"offset\": 3]" },
    { "read", "{\"path\":\"a.txt\",\"readRange\":[3,2]}", "INVALID: readRange: the last line is before the first" },
    { "read", "{\"path\":\"a.txt\",\"readRange\":[0,2]}", "INVALID: readRange[0]: 0 is out of range" },
    { "read", "{\"path\":\"a.txt\",\"readRange\":[1]}", "INVALID: readRange: send at least 2 items" },
    { "read", "{\"path\":\"a.txt\",\"readRange\":[1,2],\"limit\":1}", "INVALID: readRange: send either it or offset" },
    { "read", "{\"path\":\"empty\"}", "" },
    { "read", "{\"path\":\"nofinal.txt\"}", "end" },
    { "read", "{\"path\":\"inside\"}", "one\n" },
    { "read", "{\"path\":\"folder-inside/b.c\"}", "int needle" },
    { "read", "{\"path\":\"@a.txt\"}", "one\n" },
    { "read", "{\"path\":\"..x/y\"}", "dots" },
    { "read", "{\"path\":\"-rf\"}", "needle -rf" },
    { "read", "{\"path\":\"bad-\\\\xff\\\\x0a\"}", "needle" },
    { "read", "{\"path\":\"latin.txt\"}", "caf\357\277\275" },
    { "read", "{\"path\":\"out\"}", "ESCAPE" },
    { "read", "{\"path\":\"out-folder/secret\"}", "ESCAPE" },
    { "read", "{\"path\":\"out-root/etc/passwd\"}", "ESCAPE" },
    { "read", "{\"path\":\"out-proc\"}", "ESCAPE" },
    { "read", "{\"path\":\"../work-evil/secret\"}", "ESCAPE" },
    { "read", "{\"path\":\"sub/../../work-evil/secret\"}", "ESCAPE" },
    { "read", "{\"path\":\"/etc/passwd\"}", "ESCAPE" },
    { "read", "{\"path\":\"~/x\"}", "ESCAPE" },
    { "read", "{\"path\":\"file:///etc/passwd\"}", "ESCAPE" },
    { "read", "{\"path\":\"loop\"}", "*" },
    { "read", "{\"path\":\"dangling\"}", "NOT_FOUND" },
    { "read", "{\"path\":\"none\"}", "NOT_FOUND" },
    { "read", "{\"path\":\"a.txt/x\"}", "TYPE" },
    { "read", "{\"path\":\"sub\"}", "TYPE" },
    { "read", "{\"path\":\"fifo\"}", "TYPE" },
    { "read", "{\"path\":\"binary\"}", "TYPE: binary: is binary" },
    { "read", "{\"path\":\"d.pdf\"}", "TYPE: d.pdf: is a document (pdf); turn it into text" },
    { "read", "{\"path\":\"\"}", "INVALID: path: is empty" },
    { "read", "{}", "INVALID: “path” is missing; send: path, offset?" },
    { "read", "{\"path\":5}", "INVALID: path: is of type integer; send a string" },
    { "read", "{\"path\":\"a.txt\",\"lines\":5}", "INVALID: unknown parameter “lines”; send only: path" },
    { "read", "{\"path\":\"a.txt\",\"offset\":0}", "INVALID: offset: 0 is out of range" },
    { "read", "{\"path\":\"a.txt\",\"offset\":1.5}", "INVALID: offset: is of type number; send an integer" },
    { "read", "{\"path\":\"a.txt\",\"findMode\":\"regex\"}", "INVALID: findMode: send one of: exact" },
    { "read", "{\"path\":\"a\\u0000b\"}", "INVALID: arguments" },
    { "read", "{\"path\":\"a\\\\x00b\"}", "INVALID: a path has no NUL" },
    { "read", "[]", "INVALID: arguments: send one JSON object" },
    { "read", "{\"path\":\"a.txt\",\"path\":\"b\"}", "INVALID" },
    { "read", "{\"path\":\"a.txt\"", "INVALID: arguments: line 1" },
    { "read", "\377", "INVALID: arguments" },
  };
  g_autoptr (PrismToolResult) image = NULL;
  g_autofree char *huge = g_strnfill (5000, 'x');
  g_autofree char *arguments = g_strdup_printf ("{\"path\":\"%s\"}", huge);
  const Row long_path = { "read", arguments, "INVALID: path: longer than" };

  fill (f);
  tools_bind (f);
  check_rows (f, rows, G_N_ELEMENTS (rows));
  check_rows (f, &long_path, 1);
  image = tools_call (f, "read", "{\"path\":\"p.png\"}");
  g_assert_cmpstr (prism_tool_result_get_part_type (image, 0), ==, "image/png");
  g_assert_cmpuint (g_bytes_get_size (prism_tool_result_get_part_image (image, 0)), ==, 12);
}

static void
test_write (ToolsFixture *f, gconstpointer data)
{
  static const Row rows[] = {
    { "write", "{\"path\":\"new/deep/f\",\"content\":\"hi\\n\"}", "wrote 3 bytes to new/deep/f" },
    { "write", "{\"path\":\"a.txt\",\"content\":\"\"}", "wrote 0 bytes" },
    { "write", "{\"path\":\"inside\",\"content\":\"x\"}", "TYPE" },
    { "write", "{\"path\":\"out\",\"content\":\"x\"}", "TYPE" },
    { "write", "{\"path\":\"dangling\",\"content\":\"x\"}", "TYPE" },
    { "write", "{\"path\":\"folder-inside/n\",\"content\":\"x\"}", "ESCAPE" },
    { "write", "{\"path\":\"out-folder/n\",\"content\":\"x\"}", "ESCAPE" },
    { "write", "{\"path\":\"out-folder/n/m\",\"content\":\"x\"}", "ESCAPE" },
    { "write", "{\"path\":\"../work-evil/n\",\"content\":\"x\"}", "ESCAPE" },
    { "write", "{\"path\":\"sub\",\"content\":\"x\"}", "TYPE" },
    { "write", "{\"path\":\"fifo\",\"content\":\"x\"}", "TYPE" },
    { "write", "{\"path\":\".\",\"content\":\"x\"}", "*" },
    { "write", "{\"path\":\"x\"}", "INVALID: “content” is missing" },
    { "write", "{\"path\":\"x\",\"content\":null}", "INVALID: content: is of type null; send a string" },
  };
  struct stat s;
  g_autofree char *big = g_strnfill (9 * 1024 * 1024, 'x');
  g_autofree char *arguments = g_strdup_printf ("{\"path\":\"big\",\"content\":\"%s\"}", big);
  const Row too_big = { "write", arguments, "LIMIT: content: 9437184 bytes are more than 8388608" };
  g_autofree char *path = g_build_filename (f->folder, "a.txt", NULL);
  g_autofree char *made = NULL;
  g_autofree char *none = NULL;

  fill (f);
  g_assert_no_errno (g_chmod (path, 0750));
  tools_bind (f);
  check_rows (f, rows, G_N_ELEMENTS (rows));
  check_rows (f, &too_big, 1);
  made = tools_get (f, "new/deep/f", NULL);
  g_assert_cmpstr (made, ==, "hi\n");
  g_assert_no_errno (stat (path, &s));
  g_assert_cmpuint (s.st_mode & 0777, ==, 0750);
  none = g_build_filename (f->outside, "n", NULL);
  g_assert_false (g_file_test (none, G_FILE_TEST_EXISTS));
}

static void
test_edit (ToolsFixture *f, gconstpointer data)
{
  static const struct
  {
    const char *name, *old_text, *new_text, *becomes;
  } good[] = {
    { "a.txt", "two", "2", "one\n2\nthree needle\n" },
    { "crlf.txt", "x\\ny", "X\\nmore\\nY", "X\r\nmore\r\nY needle\r\nz\r\n" },
    { "bom.txt", "first", "1st",
      "\357\273\277"
      "1st\nsecond\n" },
    { "nofinal.txt", "end", "END", "END" },
    { "cr.txt", "q", "Q", "p\rQ\r" },
    { "-rf", "needle -rf\\n", "", "" },
  };
  static const Row rows[] = {
    { "edit", "{\"path\":\"sub/b.c\",\"edits\":[{\"oldText\":\"e\",\"newText\":\"x\"}]}",
      "CONFLICT: edits[0]: oldText is in sub/b.c 3 times" },
    { "edit", "{\"path\":\"sub/b.c\",\"edits\":[{\"oldText\":\"int noodle\",\"newText\":\"x\"}]}",
      "CONFLICT: edits[0]: oldText is not in sub/b.c (0 matches)" },
    { "edit", "{\"path\":\"sub/b.c\",\"edits\":[{\"oldText\":\"int noodle\",\"newText\":\"x\"}]}", "*1: int needle;" },
    { "edit",
      "{\"path\":\"sub/b.c\",\"edits\":[{\"oldText\":\"int\",\"newText\":\"a\"},{\"oldText\":\"t "
      "need\",\"newText\":\"b\"}]}",
      "CONFLICT: edits[0] and edits[1] overlap" },
    { "edit", "{\"path\":\"sub/b.c\",\"edits\":[{\"oldText\":\"int\",\"newText\":\"int\"}]}",
      "CONFLICT: the edits change nothing" },
    { "edit", "{\"path\":\"sub/b.c\",\"edits\":[{\"oldText\":\"\",\"newText\":\"int\"}]}",
      "INVALID: edits[0].oldText: is empty" },
    { "edit", "{\"path\":\"sub/b.c\",\"edits\":[]}", "INVALID: edits: send at least 1" },
    { "edit", "{\"path\":\"latin.txt\",\"edits\":[{\"oldText\":\"a\",\"newText\":\"b\"}]}",
      "TYPE: latin.txt is not edited: it is not UTF-8" },
    { "edit", "{\"path\":\"utf16.txt\",\"edits\":[{\"oldText\":\"a\",\"newText\":\"b\"}]}",
      "TYPE: utf16.txt is not edited: it is UTF-16" },
    { "edit", "{\"path\":\"binary\",\"edits\":[{\"oldText\":\"a\",\"newText\":\"b\"}]}",
      "TYPE: binary is not edited: it has NUL" },
    { "edit", "{\"path\":\"inside\",\"edits\":[{\"oldText\":\"one\",\"newText\":\"b\"}]}", "TYPE" },
    { "edit", "{\"path\":\"out\",\"edits\":[{\"oldText\":\"OUT\",\"newText\":\"b\"}]}", "ESCAPE" },
    { "edit", "{\"path\":\"sub/b.c\",\"edits\":\"[{\\\"oldText\\\":\\\"int\\\",\\\"newText\\\":\\\"long\\\"}]\"}",
      "replaced 1 block in sub/b.c" },
    { "edit", "{\"path\":\"sub/b.c\",\"oldText\":\"long\",\"newText\":\"int\"}", "replaced 1 block" },
    { "edit", "{\"path\":\"sub/b.c\",\"edits\":[{\"old\":\"a\",\"newText\":\"b\"}]}",
      "INVALID: unknown parameter “edits[0].old”" },
  };

  fill (f);
  tools_bind (f);
  check_rows (f, rows, G_N_ELEMENTS (rows));
  for (guint i = 0; i < G_N_ELEMENTS (good); i++)
    {
      g_autofree char *arguments =
          g_strdup_printf ("{\"path\":\"%s\",\"edits\":[{\"oldText\":\"%s\",\"newText\":\"%s\"}]}", good[i].name,
                           good[i].old_text, good[i].new_text);
      g_autofree char *text = tools_text (f, "edit", arguments);
      g_autofree char *becomes = tools_get (f, good[i].name, NULL);
      if (!g_str_has_prefix (text, "replaced 1 block"))
        g_error ("%s: %s", good[i].name, text);
      g_assert_cmpstr (becomes, ==, good[i].becomes);
    }
}

static void
test_look (ToolsFixture *f, gconstpointer data)
{
  static const Row rows[] = {
    { "repo_list", "{}", "file\t-rf\t11\nfile\ta.txt\t21\n" },
    { "repo_list", "{\"path\":\"sub\"}", "file\tsub/b.c\t12\ndir\tsub/deep\nfile\tsub/deep/c.c\t13\n" },
    { "repo_list", "{\"path\":\"sub\",\"maxDepth\":1}", "file\tsub/b.c\t12\ndir\tsub/deep\n[folders deeper than 1" },
    { "repo_list", "{\"path\":\"sub\",\"maxResults\":1}", "file\tsub/b.c\t12\n[1 shown; go on with \"offset\": 1]" },
    { "repo_list", "{\"path\":\"sub\",\"maxResults\":1,\"offset\":1}", "dir\tsub/deep\n[1 shown" },
    { "repo_list", "{\"path\":\"a.txt\"}", "file\ta.txt\t21\n" },
    { "repo_list", "{\"path\":\"out-folder\"}", "ESCAPE" },
    { "repo_list", "{\"path\":\"none\"}", "NOT_FOUND" },
    { "repo_list", "{\"maxDepth\":129}", "INVALID: maxDepth: 129 is out of range" },
    { "repo_list", "{\"maxDepth\":100}", "LIMIT: maxDepth: 100 is more than 32" },
    { "glob", "{\"pattern\":\"**/*.c\"}", "sub/b.c\nsub/deep/c.c\n" },
    { "glob", "{\"pattern\":\"*.c\"}", "[no file fits]" },
    { "glob", "{\"pattern\":\"*.c\",\"path\":\"sub\"}", "sub/b.c\n" },
    { "glob", "{\"pattern\":\"{a,bom}.txt\",\"braceExpansion\":true}", "a.txt\nbom.txt\n" },
    { "glob", "{\"pattern\":\"{a,bom}.txt\"}", "[no file fits]" },
    { "glob", "{\"pattern\":\"?.txt\"}", "a.txt\n" },
    { "glob", "{\"pattern\":\"-*\"}", "-rf\n" },
    { "glob", "{\"pattern\":\"../*\"}", "ESCAPE" },
    { "glob", "{\"pattern\":\"{a\",\"braceExpansion\":true}", "INVALID: pattern: braces" },
    { "repo_search", "{\"query\":\"needle\",\"path\":\"sub\"}",
      "sub/b.c:1:5:int needle;\nsub/deep/c.c:1:1:Needle again\n" },
    { "repo_search", "{\"query\":\"Needle\",\"path\":\"sub\",\"caseSensitive\":true}",
      "sub/deep/c.c:1:1:Needle again\n" },
    { "repo_search", "{\"query\":\"needle\",\"path\":\"sub\",\"outputMode\":\"count\"}", "2 matches in 2 files\n" },
    { "repo_search", "{\"query\":\"needle\",\"path\":\"sub\",\"outputMode\":\"files_with_matches\"}",
      "sub/b.c\nsub/deep/c.c\n" },
    { "repo_search", "{\"query\":\"needle\",\"path\":\"sub\",\"maxMatches\":1}",
      "sub/b.c:1:5:int needle;\n[more than 1 matches" },
    { "repo_search", "{\"query\":\"two\",\"path\":\"a.txt\",\"context\":1}",
      "a.txt-1:one\na.txt:2:1:two\na.txt+3:three needle\n" },
    { "repo_search", "{\"query\":\"-rf\"}", "-rf:1:8:needle -rf\n" },
    { "repo_search", "{\"query\":\"--pre=./x\"}", "[no match]" },
    { "repo_search", "{\"query\":\"(a+)+$\"}", "[no match]" },
    { "repo_search", "{\"query\":\"needle\"}", "*bad-\\xff\\x0a:1:1:needle" },
    { "repo_search", "{\"query\":\"needle\",\"path\":\"out-folder\"}", "ESCAPE" },
    { "repo_search", "{\"query\":\"OUTSIDE\"}", "[no match]" },
    { "repo_search", "{\"query\":\"\"}", "INVALID: query: is empty" },
    { "repo_search", "{\"query\":\"a\\nb\"}", "INVALID: query: has line ends" },
    { "repo_search", "{\"query\":\"x\",\"mode\":\"regex\"}", "INVALID: mode: send one of: literal" },
    { "ls", "{\"path\":\"sub\"}", "file\tsub/b.c\t12\ndir\tsub/deep\n" },
  };
  g_autofree char *list = NULL;

  fill (f);
  tools_bind (f);
  check_rows (f, rows, G_N_ELEMENTS (rows));
  list = tools_text (f, "repo_list", "{}");
  g_assert_nonnull (strstr (list, "symlink\tout\n"));
  g_assert_nonnull (strstr (list, "bad-\\xff\\x0a\t7\n"));
  g_assert_null (strstr (list, "node_modules"));
  g_assert_null (strstr (list, ".hidden"));
}

static void
test_delete_and_move (ToolsFixture *f, gconstpointer data)
{
  static const Row rows[] = {
    { "delete", "{\"path\":\"a.txt\"}", "deleted a.txt" },
    { "delete", "{\"path\":\"a.txt\"}", "NOT_FOUND" },
    { "delete", "{\"path\":\"out-folder/secret\"}", "ESCAPE" },
    { "delete", "{\"path\":\"out-folder\"}", "deleted out-folder" },
    { "delete", "{\"path\":\"out\"}", "deleted out" },
    { "delete", "{\"path\":\"sub\"}", "CONFLICT: sub: is a folder that is not empty" },
    { "delete", "{\"path\":\"sub\",\"recursive\":true,\"maxEntries\":2}", "LIMIT" },
    { "delete", "{\"path\":\"sub\",\"recursive\":true}", "deleted sub" },
    { "delete", "{\"path\":\".\",\"recursive\":true}", "INVALID: the workspace itself" },
    { "delete", "{\"path\":\"..\",\"recursive\":true}", "ESCAPE" },
    { "move", "{\"from\":\"crlf.txt\",\"to\":\"moved.txt\"}", "moved crlf.txt to moved.txt" },
    { "move", "{\"from\":\"moved.txt\",\"to\":\"bom.txt\"}", "CONFLICT: bom.txt is there already" },
    { "move", "{\"from\":\"moved.txt\",\"to\":\"bom.txt\",\"overwrite\":true}", "moved moved.txt to bom.txt" },
    { "move", "{\"from\":\"bom.txt\",\"to\":\"no/where\"}", "NOT_FOUND: the folder that no/where" },
    { "move", "{\"from\":\"none\",\"to\":\"x\"}", "NOT_FOUND" },
    { "move", "{\"from\":\"bom.txt\",\"to\":\"node_modules\",\"overwrite\":true}", "TYPE" },
    { "move", "{\"from\":\"node_modules\",\"to\":\"bom.txt\",\"overwrite\":true}", "TYPE" },
    { "move", "{\"from\":\"bom.txt\",\"to\":\"../work-evil/x\"}", "ESCAPE" },
    { "move", "{\"from\":\"bom.txt\",\"to\":\"out-root/tmp/x\"}", "ESCAPE" },
    { "move", "{\"from\":\"inside\",\"to\":\"still-a-link\"}", "moved inside" },
    { "move", "{\"from\":\"bom.txt\",\"to\":\"bom.txt\"}", "INVALID: from and to are the same" },
  };
  static const struct
  {
    const char *arguments, *has;
  } counts[] = {
    { "{\"path\":\"many\",\"recursive\":true}", "\"entriesDeleted\":5" },
    { "{\"path\":\"-rf\"}", "\"entriesDeleted\":1" },
    { "{\"path\":\"hollow\"}", "\"entriesDeleted\":1" },
    { "{\"path\":\"hollow-too\",\"recursive\":true}", "\"entriesDeleted\":1" },
  };
  g_autofree char *secret = g_build_filename (f->outside, "secret", NULL);

  fill (f);
  tools_put (f, "many/a", "a", -1);
  tools_put (f, "many/b/c", "c", -1);
  tools_put (f, "hollow/x", "x", -1);
  tools_put (f, "hollow-too/x", "x", -1);
  tools_link (f, "many/b/out", "../../../work-evil");
  tools_bind (f);
  check_rows (f, rows, G_N_ELEMENTS (rows));
  {
    g_autofree char *text = tools_text (f, "shell", "{\"command\":\"rm hollow/x hollow-too/x\"}");
    g_assert_cmpstr (text, ==, "");
  }
  for (guint i = 0; i < G_N_ELEMENTS (counts); i++)
    {
      g_autoptr (PrismToolResult) result = tools_call (f, "delete", counts[i].arguments);
      g_assert_false (prism_tool_result_get_failed (result));
      if (strstr (prism_tool_result_get_metadata (result), counts[i].has) == NULL)
        g_error ("%s: %s", counts[i].arguments, prism_tool_result_get_metadata (result));
    }
  g_assert_true (g_file_test (secret, G_FILE_TEST_EXISTS));
}

static void
test_shell (ToolsFixture *f, gconstpointer data)
{
  static const Row rows[] = {
    { "shell", "{\"command\":\"echo hi; echo err >&2\"}", "*hi\n" },
    { "shell", "{\"command\":\"cat a.txt | tail -n 1\"}", "three needle\n" },
    { "shell", "{\"command\":\"exit 3\"}", "*[exit status 3]" },
    { "shell", "{\"command\":\"kill -9 $$\"}", "*[ended by signal 9]" },
    { "shell", "{\"command\":\"  \"}", "INVALID: command: is empty" },
    { "shell", "{\"command\":\"sleep 60\",\"timeout\":1}", "TIMEOUT: ended after 1 s" },
    { "shell", "{\"command\":\"true\",\"timeout\":0}", "INVALID: timeout" },
    { "shell", "{\"command\":\"true\",\"timeout\":3000}", "LIMIT: timeout: 3000 is more than 600" },
    { "shell", "{\"command\":\"true\",\"cwd\":\"/\"}", "INVALID: unknown parameter “cwd”" },
    { "shell", "{\"command\":\"seq 1 5000\"}", "*\n5000\n[the last " },
    { "shell", "{\"command\":\"printf 'a\\\\377b'\"}", "a\357\277\275b" },
    { "bash", "{\"command\":\"echo alias\",\"timeout\":20000}", "alias\n" },
    { "bash", "{\"command\":\"true\",\"run_in_background\":true}", "NOT_SUPPORTED" },
  };

  fill (f);
  tools_bind (f);
  check_rows (f, rows, G_N_ELEMENTS (rows));
}

static void
say_yes (PrismApprovalPolicy *policy, PrismApprovalRequest *request, gpointer data)
{
  prism_approval_request_respond (request, PRISM_APPROVAL_ANSWER_ALLOW);
}

/* What the shell sees is what the tools see, at once, and the other way round. */
static void
test_same_view (ToolsFixture *f, gconstpointer data)
{
  static const Row rows[] = {
    { "shell", "{\"command\":\"mkdir -p fresh && echo made > fresh/by-shell && ln -s by-shell fresh/link\"}", "" },
    { "read", "{\"path\":\"fresh/by-shell\"}", "made\n" },
    { "read", "{\"path\":\"fresh/link\"}", "made\n" },
    { "repo_list", "{\"path\":\"fresh\"}", "file\tfresh/by-shell\t5\nsymlink\tfresh/link\n" },
    { "write", "{\"path\":\"fresh/by-tool\",\"content\":\"written\\n\"}", "wrote" },
    { "shell", "{\"command\":\"cat fresh/by-tool; stat -c %a fresh/by-tool\"}", "written\n644\n" },
    { "edit", "{\"path\":\"fresh/by-tool\",\"edits\":[{\"oldText\":\"written\",\"newText\":\"edited\"}]}", "replaced" },
    { "shell", "{\"command\":\"cat fresh/by-tool; chmod 444 fresh/by-tool; rm fresh/by-shell\"}", "edited\n" },
    { "read", "{\"path\":\"fresh/by-shell\"}", "NOT_FOUND" },
    { "read", "{\"path\":\"fresh/link\"}", "NOT_FOUND" },
    { "edit", "{\"path\":\"fresh/by-tool\",\"edits\":[{\"oldText\":\"edited\",\"newText\":\"again\"}]}", "replaced" },
    { "shell", "{\"command\":\"stat -c %a fresh/by-tool; ls -A fresh\"}", "444\nby-tool\nlink\n" },
    { "delete", "{\"path\":\"fresh\",\"recursive\":true}", "deleted" },
    { "shell", "{\"command\":\"test -e fresh || echo gone; pwd | wc -l\"}", "gone\n1\n" },
  };

  fill (f);
  tools_bind (f);
  check_rows (f, rows, G_N_ELEMENTS (rows));
}

/* Two writers of one file, and readers: one whole content or the other. */
static gpointer
write_many (gpointer data)
{
  ToolsFixture *f = data;

  for (guint i = 0; i < 40; i++)
    {
      g_autofree char *arguments = g_strdup_printf ("{\"path\":\"shared\",\"content\":\"%u%08d\\n\"}", i % 10, 0);
      g_autofree char *text = tools_text (f, "write", arguments);
      g_assert_true (g_str_has_prefix (text, "wrote 10 bytes"));
    }
  return NULL;
}

static void
test_at_once (ToolsFixture *f, gconstpointer data)
{
  GThread *threads[3];
  g_autofree char *text = NULL;

  tools_bind (f);
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    threads[i] = g_thread_new ("write", write_many, f);
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    g_thread_join (threads[i]);
  text = tools_text (f, "read", "{\"path\":\"shared\"}");
  g_assert_cmpstr (text, ==, "900000000\n");
}

/* A policy for all, and one tool's own that beats it, also by the tool's other name. */
static void
test_policies (ToolsFixture *f, gconstpointer data)
{
  static const Row rows[] = {
    { "read", "{\"path\":\"a.txt\"}", "one" },
    { "write", "{\"path\":\"a.txt\",\"content\":\"x\"}", "DENIED: denied (read-only)" },
    { "delete", "{\"path\":\"a.txt\"}", "DENIED: denied (read-only)" },
    { "shell", "{\"command\":\"echo may\"}", "may" },
    { "bash", "{\"command\":\"echo may\"}", "may" },
  };
  const char *const roots[] = { f->folder, NULL };
  g_autoptr (PrismApprovalPolicy) strict =
      g_object_new (PRISM_TYPE_APPROVAL_POLICY, "roots", roots, "read-only", TRUE, NULL);
  g_autoptr (PrismApprovalPolicy) open = g_object_new (PRISM_TYPE_APPROVAL_POLICY, "roots", roots, NULL);

  fill (f);
  g_signal_connect (open, "approval-requested", G_CALLBACK (say_yes), NULL);
  prism_composition_set_policy (f->composition, PRISM_POLICY (strict));
  prism_composition_set_tool_policy (f->composition, "shell", PRISM_POLICY (open));
  tools_bind (f);
  check_rows (f, rows, G_N_ELEMENTS (rows));
}

static void
answer_question (PrismComposition *composition, PrismQuestion *question, gpointer data)
{
  static const char *const wrong[] = { "none", NULL }, *const right[] = { "b", NULL };
  g_autofree char *text = prism_question_to_text (question);
  g_autoptr (GError) error = NULL;

  g_assert_cmpstr (text, ==, "which?\n- a: A\n- b: B\n    + good\n");
  g_assert_cmpuint (prism_question_get_n_options (question), ==, 2);
  g_assert_false (prism_question_answer (question, wrong, NULL, &error));
  g_assert_error (error, PRISM_TOOL_ERROR, PRISM_TOOL_ERROR_INVALID);
  g_assert_true (prism_question_answer (question, right, NULL, NULL));
}

static void
test_others (ToolsFixture *f, gconstpointer data)
{
#define OPTIONS "\"options\":[{\"id\":\"a\",\"label\":\"A\"},{\"id\":\"b\",\"label\":\"B\",\"pros\":[\"good\"]}]"
  static const char *const check[] = { "sh", "-c", "echo checked; exit 2", NULL };
  static const char *const loud[] = { "sh", "-c", "while :; do echo more than enough; done", NULL };
  static const char *const slow[] = { "sh", "-c", "echo begun; exec tail -f /dev/null", NULL };
  static const char *const ends[] = { "sh", "-c", "echo hit; kill -9 $$", NULL };
  static const char *const many[] = { "sh", "-c", "seq 30000", NULL };
  static const Row rows[] = {
    { "coding_check", "{\"name\":\"lint\"}", "checked\n[check lint: exit status 2]" },
    { "coding_check", "{\"name\":\"loud\"}",
      "LIMIT: check loud: ended: it wrote more than 400000 bytes (check-output-bytes)" },
    { "coding_check", "{\"name\":\"slow\"}", "TIMEOUT: check slow: ended after 0.2 s" },
    { "coding_check", "{\"name\":\"ends\"}", "hit\n[check ends: ended by signal 9]" },
    { "coding_check", "{\"name\":\"many\"}", "28" },
    { "coding_check", "{\"name\":\"many\"}", "*\n30000\n[the end of 168894 bytes; the rest was not kept]" },
    { "coding_check", "{\"name\":\"rm\"}", "INVALID: no check is called “rm”; send one of: lint, loud" },
    { "ask_user_decision", "{\"question\":\"which?\"," OPTIONS "}", "the user chose B (b)" },
    { "ask_user_decision", "{\"question\":\"w\\u001bhich?\"," OPTIONS "}",
      "INVALID: question: has control characters" },
    { "ask_user_decision", "{\"question\":\"which?\",\"options\":[{\"id\":\"a\",\"label\":\"A\"}]}",
      "INVALID: options: send at least 2" },
  };
  static const Row nobody = { "ask_user_decision", "{\"question\":\"which?\"," OPTIONS "}",
                              "NOT_SUPPORTED: there is nobody to ask" };
  gulong id;

  g_assert_true (prism_composition_add_check (f->composition, "lint", check, 0, NULL));
  g_assert_true (prism_composition_add_check (f->composition, "loud", loud, 0, NULL));
  g_assert_true (prism_composition_add_check (f->composition, "slow", slow, 200, NULL));
  g_assert_true (prism_composition_add_check (f->composition, "ends", ends, 0, NULL));
  g_assert_true (prism_composition_add_check (f->composition, "many", many, 0, NULL));
  g_assert_true (prism_composition_set_limit (f->composition, "check-output-bytes", 400000, NULL));
  g_assert_false (prism_composition_add_check (f->composition, "-x", check, 0, NULL));
  tools_bind (f);
  id = g_signal_connect (f->composition, "question-asked", G_CALLBACK (answer_question), NULL);
  check_rows (f, rows, G_N_ELEMENTS (rows));
  g_signal_handler_disconnect (f->composition, id);
  check_rows (f, &nobody, 1);
}

/* What a program reads of a check: how it ended, and the end of what it said. */
static void
test_check_metadata (ToolsFixture *f, gconstpointer data)
{
  static const char *const good[] = { "sh", "-c", "echo out; echo err >&2; exit 3", NULL };
  static const char *const long_line[] = { "sh", "-c", "head -c 9000 /dev/zero | tr '\\0' x", NULL };
  static const struct
  {
    const char *name, *has;
  } rows[] = {
    { "good", "\"name\":\"good\",\"exitCode\":3,\"timedOut\":false,\"outputLimitExceeded\":false,\"summary\":" },
    { "good", "\"truncation\":false,\"totalOutputBytes\":8}" },
    { "long", "xxxx\",\"truncation\":true,\"totalOutputBytes\":9000}" },
  };

  g_assert_true (prism_composition_add_check (f->composition, "good", good, 0, NULL));
  g_assert_true (prism_composition_add_check (f->composition, "long", long_line, 0, NULL));
  tools_bind (f);
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autofree char *arguments = g_strdup_printf ("{\"name\":\"%s\"}", rows[i].name);
      g_autoptr (PrismToolResult) result = tools_call (f, "coding_check", arguments);

      g_assert_false (prism_tool_result_get_failed (result));
      if (strstr (prism_tool_result_get_metadata (result), rows[i].has) == NULL)
        g_error ("%s: no %s in %s", rows[i].name, rows[i].has, prism_tool_result_get_metadata (result));
    }
}

static void
test_guard (ToolsFixture *f, gconstpointer data)
{
  static const Row rows[] = {
    { "write", "{\"path\":\"a.txt\",\"content\":\"x\"}", "CONFLICT: a.txt was not read yet" },
    { "write", "{\"path\":\"fresh\",\"content\":\"x\"}", "wrote 1 bytes" },
    { "read", "{\"path\":\"a.txt\",\"limit\":1}", "one" },
    { "write", "{\"path\":\"a.txt\",\"content\":\"x\\n\"}", "wrote 2 bytes" },
    { "edit", "{\"path\":\"a.txt\",\"oldText\":\"x\",\"newText\":\"y\"}", "replaced 1 block" },
    { "shell", "{\"command\":\"echo z > a.txt\"}", "" },
    { "edit", "{\"path\":\"a.txt\",\"oldText\":\"z\",\"newText\":\"y\"}", "CONFLICT: a.txt changed since it was read" },
    { "edit", "{\"path\":\"a.txt\",\"edits\":[{\"oldText\":\"z\",\"newText\":\"y\"}],\"force\":true}",
      "replaced 1 block" },
  };

  fill (f);
  g_object_set (f->composition, "read-before-write", TRUE, NULL);
  tools_bind (f);
  check_rows (f, rows, G_N_ELEMENTS (rows));
}

static void
test_read_only (ToolsFixture *f, gconstpointer data)
{
  g_autoptr (PrismTool) none = NULL;

  g_object_set (f->composition, "read-only", TRUE, NULL);
  fill (f);
  tools_bind (f);
  none = prism_composition_find_tool (f->composition, "write");
  g_assert_null (none);
  none = prism_composition_find_tool (f->composition, "bash");
  g_assert_null (none);
  none = prism_composition_find_tool (f->composition, "read");
  g_assert_nonnull (none);
}

static void
test_claims (ToolsFixture *f, gconstpointer data)
{
  g_autoptr (PrismCapabilities) capabilities = NULL;
  g_autoptr (PrismCapabilities) before = prism_composition_dup_capabilities (f->composition);

  g_assert_cmpuint (prism_capabilities_get_controls (before), ==, PRISM_CONTROLS_NONE);
  tools_bind (f);
  capabilities = prism_composition_dup_capabilities (f->composition);
  g_assert_true (prism_capabilities_get_workspace_coherent (capabilities));
  g_assert_cmpint (prism_capabilities_get_filesystem_isolated (capabilities), ==, f->sandboxed);
}

static void
test_mixed (ToolsFixture *f, gconstpointer data)
{
  g_autoptr (PrismComposition) mixed = prism_composition_new (PRISM_COMPOSITION_MODE_HOST);
  g_autoptr (GFile) folder = g_file_new_for_path (f->folder);
  g_autoptr (PrismCapabilities) capabilities = NULL;
  g_auto (GStrv) warnings = NULL;
  g_autoptr (GError) error = NULL;

  if (!f->sandboxed)
    return;
  prism_composition_set_folder (mixed, folder);
  prism_composition_set_sandbox (mixed, f->sandbox);
  g_assert_false (prism_composition_bind (mixed, NULL, &error));
  g_assert_error (error, PRISM_TOOL_ERROR, PRISM_TOOL_ERROR_COMPOSITION);
  g_clear_error (&error);
  g_object_set (mixed, "allow-mixed-wiring", TRUE, NULL);
  g_assert_true (prism_composition_bind (mixed, NULL, &error));
  warnings = prism_composition_dup_warnings (mixed);
  g_assert_cmpuint (g_strv_length (warnings), ==, 1);
  capabilities = prism_composition_dup_capabilities (mixed);
  g_assert_cmpuint (prism_capabilities_get_controls (capabilities), ==, PRISM_CONTROLS_NONE);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  tools_add_test ("/tools/read", test_read);
  tools_add_test ("/tools/write", test_write);
  tools_add_test ("/tools/edit", test_edit);
  tools_add_test ("/tools/look", test_look);
  tools_add_test ("/tools/delete-and-move", test_delete_and_move);
  tools_add_test ("/tools/shell", test_shell);
  tools_add_test ("/tools/same-view", test_same_view);
  tools_add_test ("/tools/at-once", test_at_once);
  tools_add_test ("/tools/policies", test_policies);
  tools_add_test ("/tools/others", test_others);
  tools_add_test ("/tools/check-metadata", test_check_metadata);
  tools_add_test ("/tools/guard", test_guard);
  tools_add_test ("/tools/read-only", test_read_only);
  tools_add_test ("/tools/claims", test_claims);
  tools_add_test ("/tools/mixed", test_mixed);
  return g_test_run ();
}
