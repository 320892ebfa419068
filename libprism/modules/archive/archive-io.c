/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Bytes in and out with a bound on every wait. The hash is taken of whole buffers:
 * a fetched EVP digest costs little a call, but not nothing. */
#include "archive-io.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "prism-fd-left.h"

void
archive_wait_init (ArchiveWait *wait, const PrismArchiveJob *job)
{
  wait->job = job;
  wait->blind = job->cancellable != NULL && !prism_fd_is_left ();
  wait->has_cancel =
      job->cancellable != NULL && !wait->blind && g_cancellable_make_pollfd (job->cancellable, &wait->cancel);
}

void
archive_wait_clear (ArchiveWait *wait)
{
  if (wait->has_cancel)
    g_cancellable_release_fd (wait->job->cancellable);
  wait->has_cancel = FALSE;
}

gboolean
archive_wait_for (ArchiveWait *wait, int fd, gushort events, GError **error)
{
  gint64 stall = wait->job->limits->stall_ms;
  gint64 until = g_get_monotonic_time () / 1000 + stall;
  struct pollfd fds[2] = { { fd, (short)events, 0 }, { -1, POLLIN, 0 } };
  if (wait->has_cancel)
    fds[1].fd = wait->cancel.fd;
  for (;;)
    {
      gint64 left = stall > 0 ? MAX (until - g_get_monotonic_time () / 1000, 0) : -1;
      gboolean looks_again = wait->blind && (left < 0 || left > PRISM_BLIND_WAIT_MS);
      int n = poll (fds, 2, looks_again ? PRISM_BLIND_WAIT_MS : (int)MIN (left, G_MAXINT));
      if (n < 0 && errno != EINTR)
        {
          int saved = errno;
          g_set_error (error, G_IO_ERROR, g_io_error_from_errno (saved), "waiting for the tree's stream: %s",
                       g_strerror (saved));
          return FALSE;
        }
      if (g_cancellable_set_error_if_cancelled (wait->job->cancellable, error))
        return FALSE;
      if (n > 0 && fds[0].revents != 0)
        return TRUE;
      if (n == 0 && !looks_again)
        {
          g_set_error (error, G_IO_ERROR, G_IO_ERROR_TIMED_OUT,
                       "nothing moved on the tree's stream for %" G_GINT64_FORMAT " ms", stall);
          return FALSE;
        }
    }
}

static gboolean
io_failed (GError **error, int saved, const char *what)
{
  g_set_error (error, G_IO_ERROR, g_io_error_from_errno (saved), "%s: %s", what, g_strerror (saved));
  return FALSE;
}

/* --- in ---------------------------------------------------------------------- */

void
archive_input_init (ArchiveInput *input, ArchiveWait *wait, int fd)
{
  *input = (ArchiveInput){ .wait = wait, .fd = fd, .buffer = g_malloc (ARCHIVE_BUFFER) };
}

void
archive_input_clear (ArchiveInput *input)
{
  g_clear_pointer (&input->buffer, g_free);
}

static gboolean
archive_input_fill (ArchiveInput *input, GError **error)
{
  ssize_t n;
  do
    {
      if (!archive_wait_for (input->wait, input->fd, POLLIN, error))
        return FALSE;
      n = read (input->fd, input->buffer + input->end, ARCHIVE_BUFFER - input->end);
    }
  while (n < 0 && (errno == EINTR || errno == EAGAIN));
  if (n < 0)
    return io_failed (error, errno, "reading the tree's stream");
  if (n == 0)
    {
      g_set_error_literal (error, ARCHIVE_TREE_ERROR, ARCHIVE_ERROR_FAILED,
                           "the tree's stream was cut short: its sender ended before it was complete");
      return FALSE;
    }
  input->end += (gsize)n;
  return TRUE;
}

const guint8 *
archive_input_take (ArchiveInput *input, gsize size, GError **error)
{
  const guint8 *bytes;
  g_assert (size <= ARCHIVE_BUFFER);
  if (input->end - input->start < size && input->start > 0)
    {
      memmove (input->buffer, input->buffer + input->start, input->end - input->start);
      input->end -= input->start;
      input->start = 0;
    }
  while (input->end - input->start < size)
    if (!archive_input_fill (input, error))
      return NULL;
  bytes = input->buffer + input->start;
  input->start += size;
  return bytes;
}

const guint8 *
archive_input_some (ArchiveInput *input, guint64 most, gsize *size, GError **error)
{
  const guint8 *bytes;
  if (input->start == input->end)
    {
      input->start = input->end = 0;
      if (!archive_input_fill (input, error))
        return NULL;
    }
  *size = (gsize)MIN (most, input->end - input->start);
  bytes = input->buffer + input->start;
  input->start += *size;
  return bytes;
}

/* --- out --------------------------------------------------------------------- */

/* Fetched once: a fetch costs more than hashing a small tree. */
static const EVP_MD *
sha256 (void)
{
  static gsize once = 0;
  static EVP_MD *md = NULL;
  if (g_once_init_enter (&once))
    {
      md = EVP_MD_fetch (NULL, "SHA256", NULL);
      g_once_init_leave (&once, 1);
    }
  return md;
}

gboolean
archive_output_init (
    ArchiveOutput *output, ArchiveWait *wait, int fd, GOutputStream *stream, gboolean hash, GError **error)
{
  *output = (ArchiveOutput){ .wait = wait, .fd = fd, .stream = stream };
  if (hash)
    {
      output->hash = EVP_MD_CTX_new ();
      if (sha256 () == NULL || output->hash == NULL || EVP_DigestInit_ex2 (output->hash, sha256 (), NULL) != 1)
        {
          g_clear_pointer (&output->hash, EVP_MD_CTX_free);
          g_set_error_literal (error, ARCHIVE_TREE_ERROR, ARCHIVE_ERROR_FAILED, "libcrypto has no SHA-256");
          return FALSE;
        }
    }
  if (fd >= 0)
    {
      int flags = fcntl (fd, F_GETFL);
      if (flags < 0 || fcntl (fd, F_SETFL, flags | O_NONBLOCK) < 0)
        return io_failed (error, errno, "preparing the tree's stream");
    }
  output->buffer = g_malloc (ARCHIVE_BUFFER);
  return TRUE;
}

void
archive_output_clear (ArchiveOutput *output)
{
  g_clear_pointer (&output->buffer, g_free);
  g_clear_pointer (&output->hash, EVP_MD_CTX_free);
}

static gboolean
write_fd (ArchiveOutput *output, const guint8 *bytes, gsize size, GError **error)
{
  while (size > 0)
    {
      ssize_t n = write (output->fd, bytes, size);
      if (n < 0 && errno == EAGAIN)
        {
          if (!archive_wait_for (output->wait, output->fd, POLLOUT, error))
            return FALSE;
        }
      else if (n < 0 && errno != EINTR)
        return io_failed (error, errno, "writing the tree's stream");
      else if (n > 0)
        {
          bytes += n;
          size -= (gsize)n;
        }
    }
  return TRUE;
}

static gboolean
emit (ArchiveOutput *output, const guint8 *bytes, gsize size, GError **error)
{
  if (g_cancellable_set_error_if_cancelled (output->wait->job->cancellable, error))
    return FALSE;
  if (output->hash != NULL)
    EVP_DigestUpdate (output->hash, bytes, size);
  if (output->fd >= 0)
    return write_fd (output, bytes, size, error);
  if (output->stream != NULL)
    return g_output_stream_write_all (output->stream, bytes, size, NULL, output->wait->job->cancellable, error);
  return TRUE;
}

gboolean
archive_output_flush (ArchiveOutput *output, GError **error)
{
  gsize used = output->used;
  output->used = 0;
  return used == 0 || emit (output, output->buffer, used, error);
}

guint8 *
archive_output_room (ArchiveOutput *output, gsize size, GError **error)
{
  g_assert (size <= ARCHIVE_BUFFER);
  if (size > ARCHIVE_BUFFER - output->used && !archive_output_flush (output, error))
    return NULL;
  return output->buffer + output->used;
}

gboolean
archive_output_put (ArchiveOutput *output, const void *bytes, gsize size, GError **error)
{
  if (size > ARCHIVE_BUFFER - output->used && !archive_output_flush (output, error))
    return FALSE;
  if (size >= ARCHIVE_BUFFER / 2)
    return archive_output_flush (output, error) && emit (output, bytes, size, error);
  memcpy (output->buffer + output->used, bytes, size);
  output->used += size;
  return TRUE;
}

void
archive_output_digest (ArchiveOutput *output, char sha256_hex[65])
{
  guint8 digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  EVP_DigestFinal_ex (output->hash, digest, &size);
  for (unsigned i = 0; i < 32; i++)
    g_snprintf (sha256_hex + 2 * i, 3, "%02x", digest[i]);
}
