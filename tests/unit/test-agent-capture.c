/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-agent-capture-private.h"

#include <string.h>

static guint8
byte_at (guint64 i)
{
  return (guint8)(i * 131 + (i >> 8));
}

static void
feed (PrismAgentCapture *capture, guint64 total, guint piece)
{
  g_autofree guint8 *bytes = g_malloc (piece + 1);
  for (guint64 i = 0; i < total;)
    {
      gsize n = 1 + (gsize)g_test_rand_int_range (0, (gint32)piece), room = 0;
      n = MIN (n, total - i);
      for (gsize k = 0; k < n; k++)
        bytes[k] = byte_at (i + k);
      guint8 *to = g_test_rand_bit () ? prism_agent_capture_reserve (capture, n, &room) : NULL;
      if (to != NULL)
        {
          g_assert_cmpuint (room, >=, n);
          memcpy (to, bytes, n);
          prism_agent_capture_commit (capture, n);
        }
      else
        prism_agent_capture_append (capture, bytes, n);
      g_assert_cmpuint (capture->allocated, <=, capture->cap);
      i += n;
    }
}

static void
check (gsize cap, guint64 total, guint piece)
{
  PrismAgentCapture capture;
  prism_agent_capture_init (&capture, cap);
  feed (&capture, total, piece);
  g_assert_cmpuint (capture.total, ==, total);
  g_assert_cmpint (prism_agent_capture_is_truncated (&capture), ==, total > cap);
  g_autoptr (GBytes) bytes = prism_agent_capture_take (&capture);
  gsize size;
  const guint8 *data = g_bytes_get_data (bytes, &size);
  g_assert_cmpuint (size, ==, MIN (cap, total));
  gsize head = total > cap ? cap - cap / 2 : size;
  for (gsize i = 0; i < size; i++)
    g_assert_cmpuint (data[i], ==, byte_at (i < head ? i : total - (size - i)));
  prism_agent_capture_clear (&capture);
}

static void
test_kept (void)
{
  static const gsize caps[] = { 0, 1, 2, 3, 7, 100, 1000, 4097 };
  static const guint64 totals[] = { 0, 1, 2, 3, 5, 8, 99, 100, 101, 150, 151, 1000, 5000, 30000 };
  static const guint pieces[] = { 1, 3, 64, 5000 };
  g_test_summary ("Head and tail are the stream's own, whatever the pieces it came in");
  for (guint c = 0; c < G_N_ELEMENTS (caps); c++)
    for (guint t = 0; t < G_N_ELEMENTS (totals); t++)
      for (guint p = 0; p < G_N_ELEMENTS (pieces); p++)
        check (caps[c], totals[t], pieces[p]);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/agent/capture/kept", test_kept);
  return g_test_run ();
}
