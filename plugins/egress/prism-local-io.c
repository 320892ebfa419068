/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-local-io.h"

#include "prism-local-pace.h"
#include "prism-local-tls.h"

#include <errno.h>
#include <sys/socket.h>

gssize
prism_local_end_read (PrismLocalEnd *end, void *bytes, gsize size)
{
  gssize n;

  if (end->tls != NULL)
    return prism_local_tls_read (end, bytes, size);
  do
    n = recv (end->watch.fd, bytes, size, 0);
  while (n < 0 && errno == EINTR);
  if (n >= 0)
    return n;
  return errno == EAGAIN ? PRISM_LOCAL_AGAIN : PRISM_LOCAL_BROKEN;
}

/* Bytes that were taken; 0 if the socket is full. */
static gssize
write_some (PrismLocalEnd *end, const struct iovec *parts, guint n)
{
  struct msghdr message = { .msg_iov = (struct iovec *)parts, .msg_iovlen = n };
  gssize written;

  if (end->tls != NULL)
    return prism_local_tls_write (end, parts[0].iov_base, parts[0].iov_len);
  do
    written = n == 1 ? send (end->watch.fd, parts[0].iov_base, parts[0].iov_len, MSG_NOSIGNAL)
                     : sendmsg (end->watch.fd, &message, MSG_NOSIGNAL);
  while (written < 0 && errno == EINTR);
  if (written < 0 && errno == EAGAIN)
    return 0;
  return written < 0 ? PRISM_LOCAL_BROKEN : written;
}

static void
keep_rest (PrismLocalEnd *end, const struct iovec *parts, guint n, gsize written)
{
  for (guint i = 0; i < n; i++)
    {
      gsize skip = MIN (written, parts[i].iov_len);

      prism_local_buffer_append (&end->out, (const char *)parts[i].iov_base + skip, parts[i].iov_len - skip);
      written -= skip;
    }
}

gboolean
prism_local_end_send (PrismLocalEnd *end, const struct iovec *parts, guint n)
{
  gssize written = 0;

  if (prism_local_buffer_length (&end->out) == 0)
    written = write_some (end, parts, n);
  if (written < 0)
    return FALSE;
  keep_rest (end, parts, n, (gsize)written);
  /* TLS takes one part at a time. */
  return end->tls == NULL || written == 0 || prism_local_end_flush (end);
}

gboolean
prism_local_end_send_text (PrismLocalEnd *end, const char *text)
{
  return prism_local_end_send (end, &(struct iovec){ (char *)text, strlen (text) }, 1);
}

gboolean
prism_local_end_flush (PrismLocalEnd *end)
{
  while (prism_local_buffer_length (&end->out) > 0)
    {
      struct iovec part = { prism_local_buffer_data (&end->out), prism_local_buffer_length (&end->out) };
      gssize written = write_some (end, &part, 1);

      if (written < 0)
        return FALSE;
      if (written == 0)
        return TRUE;
      prism_local_buffer_eat (&end->out, (gsize)written);
    }
  prism_local_buffer_clear (&end->out);
  return TRUE;
}

void
prism_local_end_shut (PrismLocalEnd *end)
{
  if (end->shut || end->watch.fd < 0)
    return;
  end->shut = TRUE;
  (void)shutdown (end->watch.fd, SHUT_WR);
}

void
prism_local_end_close (PrismLocalEngine *engine, PrismLocalEnd *end)
{
  prism_local_tls_close (end);
  prism_local_pace_forget (engine, end);
  prism_local_engine_close (engine, &end->watch);
  prism_local_buffer_clear (&end->out);
  if (end->pipe != NULL)
    prism_local_engine_give_pipe (engine, g_steal_pointer (&end->pipe));
  end->eof = end->shut = end->bulk = end->wants_out = FALSE;
}
