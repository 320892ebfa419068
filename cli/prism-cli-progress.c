/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-cli-progress.h"

#include <glib/gi18n.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define DELAY_US    (400 * 1000)
#define INTERVAL_US (100 * 1000)

static struct
{
  GMutex lock;
  GCond wake;
  GThread *thread;
  char *what;
  gint64 started;
  guint64 bytes;
  gboolean running;
  gboolean shown;
} progress;

static guint
terminal_columns (void)
{
  struct winsize size;

  return ioctl (STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

/* The total is not known beforehand, so a block wanders: it says that work goes on. */
static void
draw (void)
{
  static const guint width = 16;
  gint64 elapsed = g_get_monotonic_time () - progress.started;
  guint at = (elapsed / INTERVAL_US) % (2 * (width - 3));
  g_autofree char *size = progress.bytes > 0 ? g_format_size_full (progress.bytes, G_FORMAT_SIZE_IEC_UNITS) : NULL;
  g_autofree char *text = NULL;
  char bar[17];

  if (at > width - 3)
    at = 2 * (width - 3) - at;
  memset (bar, ' ', width);
  memset (bar + at, '=', 3);
  bar[width] = '\0';
  text = g_strdup_printf ("prism: %s [%s] %s %" G_GINT64_FORMAT " s", progress.what, bar, size != NULL ? size : "",
                          elapsed / G_USEC_PER_SEC);
  fprintf (stderr, "\r%.*s\033[K", (int)terminal_columns () - 1, text);
  fflush (stderr);
  progress.shown = TRUE;
}

static gpointer
progress_thread (gpointer data)
{
  gint64 next = progress.started + DELAY_US;

  g_mutex_lock (&progress.lock);
  while (progress.running)
    if (!g_cond_wait_until (&progress.wake, &progress.lock, next))
      {
        draw ();
        next = g_get_monotonic_time () + INTERVAL_US;
      }
  if (progress.shown)
    {
      fputs ("\r\033[K", stderr);
      fflush (stderr);
    }
  g_mutex_unlock (&progress.lock);

  return NULL;
}

void
prism_cli_progress_start (const char *what, gboolean quiet)
{
  const char *term = g_getenv ("TERM");

  if (quiet || !isatty (STDERR_FILENO) || term == NULL || g_str_equal (term, "dumb") || progress.thread != NULL)
    return;

  progress.what = g_strdup (what);
  progress.started = g_get_monotonic_time ();
  progress.bytes = 0;
  progress.shown = FALSE;
  progress.running = TRUE;
  progress.thread = g_thread_new ("progress", progress_thread, NULL);
}

void
prism_cli_progress_bytes (guint64 bytes)
{
  if (progress.thread == NULL)
    return;

  g_mutex_lock (&progress.lock);
  progress.bytes += bytes;
  g_mutex_unlock (&progress.lock);
}

/* Wipes what was shown. */
void
prism_cli_progress_done (void)
{
  if (progress.thread == NULL)
    return;

  g_mutex_lock (&progress.lock);
  progress.running = FALSE;
  g_cond_signal (&progress.wake);
  g_mutex_unlock (&progress.lock);
  g_thread_join (g_steal_pointer (&progress.thread));
  g_clear_pointer (&progress.what, g_free);
}

#define PRISM_TYPE_CLI_PROGRESS_STREAM (prism_cli_progress_stream_get_type ())
G_DECLARE_FINAL_TYPE (
    PrismCliProgressStream, prism_cli_progress_stream, PRISM, CLI_PROGRESS_STREAM, GFilterOutputStream)

struct _PrismCliProgressStream
{
  GFilterOutputStream parent_instance;
};

G_DEFINE_TYPE (PrismCliProgressStream, prism_cli_progress_stream, G_TYPE_FILTER_OUTPUT_STREAM)

static gssize
prism_cli_progress_stream_write (
    GOutputStream *stream, const void *buffer, gsize count, GCancellable *cancellable, GError **error)
{
  GOutputStream *base = g_filter_output_stream_get_base_stream (G_FILTER_OUTPUT_STREAM (stream));
  gssize n = g_output_stream_write (base, buffer, count, cancellable, error);

  prism_cli_progress_bytes (MAX (n, 0));

  return n;
}

static void
prism_cli_progress_stream_class_init (PrismCliProgressStreamClass *klass)
{
  G_OUTPUT_STREAM_CLASS (klass)->write_fn = prism_cli_progress_stream_write;
}

static void
prism_cli_progress_stream_init (PrismCliProgressStream *self)
{
}

GOutputStream *
prism_cli_progress_stream_new (GOutputStream *base, const char *what, gboolean quiet)
{
  prism_cli_progress_start (what, quiet);

  return g_object_new (PRISM_TYPE_CLI_PROGRESS_STREAM, "base-stream", base, "close-base-stream", FALSE, NULL);
}
