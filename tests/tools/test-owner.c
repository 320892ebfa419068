/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a composition does for the program that has it: documents and images that the program
 * turns into something to read, and its tree for tools of the program's own. */
#include "tools-fixture.h"

#include <string.h>

#define PNG "\211PNG\r\n\032\n"

/* --- documents and images ----------------------------------------------------------------- */

typedef struct
{
  guint asked;
  gboolean take, later;
  PrismConversion *kept;
  GThread *thread;
} Reader;

static void
answer (PrismConversion *conversion)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GBytes) small = g_bytes_new_static (PNG "s", 9);
  g_autoptr (GBytes) none = g_bytes_new_static ("no image", 8);
  const char *type = prism_conversion_get_media_type (conversion);

  if (g_str_has_prefix (type, "image/"))
    {
      g_assert_false (prism_conversion_give_text (conversion, "a cat", 0, NULL, &error));
      g_assert_error (error, PRISM_TOOL_ERROR, PRISM_TOOL_ERROR_TYPE);
      g_clear_error (&error);
      g_assert_false (prism_conversion_give_image (conversion, none, &error));
      g_assert_error (error, PRISM_TOOL_ERROR, PRISM_TOOL_ERROR_TYPE);
      g_clear_error (&error);
      g_assert_true (prism_conversion_give_image (conversion, small, &error));
    }
  else
    {
      g_assert_cmpuint (g_bytes_get_size (prism_conversion_get_bytes (conversion)), >, 4);
      g_assert_false (prism_conversion_give_image (conversion, small, &error));
      g_assert_error (error, PRISM_TOOL_ERROR, PRISM_TOOL_ERROR_TYPE);
      g_clear_error (&error);
      g_assert_true (prism_conversion_give_text (conversion, "first page\nsecond page\n", 2, "pages", &error));
    }
  g_assert_no_error (error);
  g_assert_false (prism_conversion_get_pending (conversion));
  g_assert_false (prism_conversion_give_text (conversion, "once more", 0, NULL, NULL));
}

static gpointer
answer_later (gpointer data)
{
  Reader *reader = data;

  answer (reader->kept);
  return NULL;
}

static gboolean
found (PrismComposition *composition, PrismConversion *conversion, gpointer data)
{
  Reader *reader = data;

  reader->asked++;
  g_assert_true (prism_conversion_get_pending (conversion));
  if (reader->take && reader->later)
    {
      g_set_object (&reader->kept, conversion);
      reader->thread = g_thread_new ("reader", answer_later, reader);
    }
  else if (reader->take)
    answer (conversion);
  return reader->take;
}

static void
fill (ToolsFixture *f)
{
  tools_put (f, "p.png", PNG "a large one", 19);
  tools_put (f, "d.pdf", "%PDF-1.4\n", -1);
  tools_put (f, "d.DOCX", "PK\003\004rest", -1);
  tools_put (f, "plain.zip", "PK\003\004\0rest", 9);
  tools_put (f, "a.txt", "text\n", -1);
}

static void
check (ToolsFixture *f, const char *arguments, const char *says, const char *has)
{
  g_autoptr (PrismToolResult) result = tools_call (f, "read", arguments);
  g_autofree char *text = prism_tool_result_get_failed (result) ? g_strdup (prism_tool_result_get_message (result))
                                                                : prism_tool_result_dup_text (result);

  if (!g_str_has_prefix (text, says))
    g_error ("%s: “%s”, and not “%s”", arguments, text, says);
  if (strstr (prism_tool_result_get_metadata (result), has) == NULL)
    g_error ("%s: no %s in %s", arguments, has, prism_tool_result_get_metadata (result));
}

static void
test_documents (ToolsFixture *f, gconstpointer data)
{
  Reader reader = { .take = TRUE };

  fill (f);
  g_signal_connect (f->composition, "file-found", G_CALLBACK (found), &reader);
  tools_bind (f);
  for (guint i = 0; i < 2; i++)
    {
      reader.later = i == 1;
      check (f, "{\"path\":\"d.pdf\"}", "first page\nsecond page\n[this is not all of the document: pages]",
             "\"document\":{\"format\":\"pdf\",\"pages\":2,\"truncatedBy\":\"pages\"}");
      if (reader.thread != NULL)
        g_thread_join (reader.thread);
      check (f, "{\"path\":\"d.DOCX\",\"findText\":\"second\"}", "second page\n", "\"format\":\"docx\"");
      if (reader.thread != NULL)
        g_thread_join (reader.thread);
      check (f, "{\"path\":\"d.pdf\",\"limit\":1}", "first page\n[lines 1 to 1; go on with \"offset\": 2]",
             "\"document\":{\"format\":\"pdf\",\"pages\":2,\"truncatedBy\":\"lines\"}");
      if (reader.thread != NULL)
        g_thread_join (reader.thread);
      check (f, "{\"path\":\"p.png\"}", "", "\"image\":{\"mimeType\":\"image/png\",\"resized\":true,\"bytes\":9}");
      if (reader.thread != NULL)
        g_thread_join (reader.thread);
      reader.thread = NULL;
    }
  check (f, "{\"path\":\"a.txt\"}", "text\n", "\"totalLines\":1");
  check (f, "{\"path\":\"plain.zip\"}", "plain.zip: is binary", "");
  g_assert_cmpuint (reader.asked, ==, 8);
  g_clear_object (&reader.kept);
}

/* Somebody listens, and takes none of them; or nobody does. */
static void
test_declined (ToolsFixture *f, gconstpointer data)
{
  Reader reader = { 0 };
  gulong id;

  fill (f);
  id = g_signal_connect (f->composition, "file-found", G_CALLBACK (found), &reader);
  tools_bind (f);
  for (guint i = 0; i < 2; i++)
    {
      check (f, "{\"path\":\"d.pdf\"}", "d.pdf: is a document (pdf); turn it into text with the shell first", "");
      check (f, "{\"path\":\"p.png\"}", "", "\"image\":{\"mimeType\":\"image/png\",\"resized\":false,\"bytes\":19}");
      if (i == 0)
        g_signal_handler_disconnect (f->composition, id);
    }
  g_assert_cmpuint (reader.asked, ==, 2);
}

static gboolean
refuse (PrismComposition *composition, PrismConversion *conversion, gpointer data)
{
  prism_conversion_decline (conversion, "there is no reader for it");
  return TRUE;
}

static gboolean
say_nothing (PrismComposition *composition, PrismConversion *conversion, gpointer data)
{
  g_cancellable_cancel (data);
  return TRUE;
}

/* A reason is told; too much is refused before anybody is asked; a cancel ends the wait. */
static void
test_refused (ToolsFixture *f, gconstpointer data)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (PrismTool) read = NULL;
  g_autoptr (PrismToolResult) none = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *large = g_strnfill (5000, 'x');
  gulong id;

  fill (f);
  memcpy (large, PNG, 8);
  tools_put (f, "large.png", large, 5000);
  g_assert_true (prism_composition_set_limit (f->composition, "image-bytes", 4096, NULL));
  id = g_signal_connect (f->composition, "file-found", G_CALLBACK (refuse), NULL);
  tools_bind (f);
  check (f, "{\"path\":\"d.pdf\"}", "d.pdf: is a document (pdf), and there is no reader for it; turn it", "");
  check (f, "{\"path\":\"large.png\"}", "large.png: has more than 4096 bytes (image-bytes)", "");
  g_signal_handler_disconnect (f->composition, id);
  g_signal_connect (f->composition, "file-found", G_CALLBACK (say_nothing), cancellable);
  read = prism_composition_find_tool (f->composition, "read");
  none = prism_tool_call (read, "{\"path\":\"d.pdf\"}", NULL, cancellable, &error);
  g_assert_null (none);
  g_assert_nonnull (error);
}

/* --- the tree --------------------------------------------------------------------------------- */

static void
test_tree (ToolsFixture *f, gconstpointer data)
{
  static const char *const cat[] = { "cat", "new/b", NULL };
  g_autoptr (GBytes) bytes = g_bytes_new_static ("a\0b\377\n", 5);
  g_autoptr (GBytes) part = NULL;
  g_autoptr (PrismFileEntry) entry = NULL;
  g_autoptr (PrismFileEntry) last = NULL;
  g_autoptr (GListModel) list = NULL;
  g_autoptr (PrismCommand) command = prism_command_new (cat);
  g_autoptr (PrismResult) result = NULL;
  g_autoptr (GError) error = NULL;

  tools_link (f, "out", "../work-evil");
  tools_bind (f);
  g_assert_true (prism_composition_write_file (f->composition, "new/a", bytes, 0640, NULL, &error));
  g_assert_no_error (error);
  part = prism_composition_read_file (f->composition, "new/a", 2, 100, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpmem (g_bytes_get_data (part, NULL), g_bytes_get_size (part), "b\377\n", 3);
  g_assert_true (prism_composition_rename_file (f->composition, "new/a", "new/b", FALSE, NULL, &error));
  g_assert_no_error (error);
  entry = prism_composition_stat_file (f->composition, "new/b", NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (prism_file_entry_get_size (entry), ==, 5);
  g_assert_cmpuint (prism_file_entry_get_mode (entry), ==, 0640);
  list = prism_composition_list_files (f->composition, "new", FALSE, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (g_list_model_get_n_items (list), ==, 1);
  last = g_list_model_get_item (list, 0);
  g_assert_true (g_str_has_suffix (prism_file_entry_get_path (last), "/new/b"));
  result = prism_composition_exec (f->composition, command, NULL, &error);
  g_assert_no_error (error);
  g_assert_true (g_bytes_equal (prism_result_get_stdout (result), bytes));
  g_assert_false (prism_composition_remove_file (f->composition, "new", FALSE, NULL, &error));
  g_assert_error (error, PRISM_TOOL_ERROR, PRISM_TOOL_ERROR_CONFLICT);
  g_clear_error (&error);
  g_assert_true (prism_composition_remove_file (f->composition, "new", TRUE, NULL, &error));
  g_assert_no_error (error);
  g_assert_null (prism_composition_stat_file (f->composition, "new", NULL, &error));
  g_assert_error (error, PRISM_TOOL_ERROR, PRISM_TOOL_ERROR_NOT_FOUND);
  g_clear_error (&error);
  g_assert_null (prism_composition_read_file (f->composition, "out/secret", 0, 10, NULL, &error));
  g_assert_error (error, PRISM_TOOL_ERROR, PRISM_TOOL_ERROR_ESCAPE);
  g_clear_error (&error);
  g_assert_false (prism_composition_write_file (f->composition, "../work-evil/n", bytes, 0, NULL, &error));
  g_assert_error (error, PRISM_TOOL_ERROR, PRISM_TOOL_ERROR_ESCAPE);
}

/* What only looks changes nothing, whoever asks. */
static void
test_tree_read_only (ToolsFixture *f, gconstpointer data)
{
  static const char *const touch[] = { "touch", "x", NULL };
  g_autoptr (GBytes) bytes = g_bytes_new_static ("x", 1);
  g_autoptr (PrismCommand) command = prism_command_new (touch);
  g_autoptr (GBytes) same = NULL;
  GError *errors[4] = { NULL };

  tools_put (f, "a.txt", "text\n", -1);
  g_object_set (f->composition, "read-only", TRUE, NULL);
  tools_bind (f);
  g_assert_false (prism_composition_write_file (f->composition, "a.txt", bytes, 0, NULL, &errors[0]));
  g_assert_false (prism_composition_remove_file (f->composition, "a.txt", FALSE, NULL, &errors[1]));
  g_assert_false (prism_composition_rename_file (f->composition, "a.txt", "b", FALSE, NULL, &errors[2]));
  g_assert_null (prism_composition_exec (f->composition, command, NULL, &errors[3]));
  for (guint i = 0; i < G_N_ELEMENTS (errors); i++)
    {
      g_assert_error (errors[i], PRISM_TOOL_ERROR, PRISM_TOOL_ERROR_DENIED);
      g_error_free (errors[i]);
    }
  same = prism_composition_read_file (f->composition, "a.txt", 0, 10, NULL, NULL);
  g_assert_cmpmem (g_bytes_get_data (same, NULL), g_bytes_get_size (same), "text\n", 5);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  tools_add_test ("/tools/owner/documents", test_documents);
  tools_add_test ("/tools/owner/declined", test_declined);
  tools_add_test ("/tools/owner/refused", test_refused);
  tools_add_test ("/tools/owner/tree", test_tree);
  tools_add_test ("/tools/owner/tree-read-only", test_tree_read_only);
  return g_test_run ();
}
