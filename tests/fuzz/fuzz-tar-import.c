/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A tar from anywhere. What is accepted is a tree stream that passes every rule,
 * with the same identity. */
#include "../unit/archive-fixture.h"

int LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t size);

int
LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t size)
{
  g_autoptr (GError) error = NULL;
  PrismArchiveResult first = { 0 }, second = { 0 };
  int tar_fd = fixture_fd (bytes, size), tree_fd = fixture_fd ("", 0);
  gboolean good = archive_read_tar (tar_fd, tree_fd, &fixture_job, &first, &error);
  g_assert_true (good == (error == NULL));
  if (good)
    {
      g_assert_cmpint (lseek (tree_fd, 0, SEEK_SET), ==, 0);
      archive_export (tree_fd, NULL, &fixture_job, &second, &error);
      g_assert_no_error (error);
      g_assert_cmpstr (first.sha256, ==, second.sha256);
    }
  close (tar_fd);
  close (tree_fd);
  return 0;
}
