/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A tree stream from a hostile agent. What is accepted becomes a tar that reads
 * back as the same tree. */
#include "../unit/archive-fixture.h"

int LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t size);

int
LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t size)
{
  g_autoptr (GOutputStream) out = g_memory_output_stream_new_resizable ();
  g_autoptr (GBytes) tar = NULL;
  g_autoptr (GError) error = NULL;
  PrismArchiveResult first = { 0 }, second = { 0 };
  int fd = fixture_fd (bytes, size);
  gboolean good = archive_export (fd, out, &fixture_job, &first, &error);
  close (fd);
  g_assert_true (good == (error == NULL));
  if (good)
    {
      int tree_fd = fixture_fd ("", 0);
      g_output_stream_close (out, NULL, NULL);
      tar = g_memory_output_stream_steal_as_bytes (G_MEMORY_OUTPUT_STREAM (out));
      fd = fixture_fd (g_bytes_get_data (tar, NULL), g_bytes_get_size (tar));
      archive_read_tar (fd, tree_fd, &fixture_job, &second, &error);
      g_assert_no_error (error);
      g_assert_cmpstr (first.sha256, ==, second.sha256);
      close (fd);
      close (tree_fd);
    }
  return 0;
}
