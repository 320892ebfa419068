/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The connection to the host: frames in, frames out, descriptors beside them.
 * What the host sends is not trusted (prism-wire.h says what is a lie). What it
 * does not read is bounded: bulk is produced only while little is queued, and
 * its requests wait while much is. */
#include "agent-job.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define SMALL   (16u * 1024u)
#define RECEIVE (PRISM_WIRE_HEADER + PRISM_WIRE_MAX_PAYLOAD + SMALL)
#define HELD    8u /* descriptors that no frame has claimed yet */

struct node
{
  struct node *next;
  size_t size, at;
  int fd; /* goes with its first byte */
  uint8_t bytes[];
};

static struct
{
  int fd; /* -1: none */
  bool fds;
  uint8_t *received;
  size_t have;
  bool large;        /* pages beyond SMALL were touched */
  uint64_t position; /* of received[0] in the stream */
  struct
  {
    int fd;
    uint64_t end; /* of the bytes that came with it */
  } held[HELD];
  unsigned held_count;
  struct node *first, **last;
  size_t queued;
} channel = { .fd = -1 };

static void drop_queue (void);

void
agent_channel_open (int fd, bool fds)
{
  if (channel.received == NULL)
    channel.received = mmap (NULL, RECEIVE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (channel.received == MAP_FAILED)
    _exit (71);
  channel.fd = fd;
  channel.fds = fds;
  channel.have = 0;
  channel.position = 0;
  channel.first = NULL;
  channel.last = &channel.first;
  channel.queued = 0;
}

void
agent_channel_close (void)
{
  agent_close (&channel.fd);
  while (channel.held_count > 0)
    close (channel.held[--channel.held_count].fd);
  drop_queue ();
}

bool
agent_channel_is_open (void)
{
  return channel.fd >= 0;
}

bool
agent_channel_passes_fds (void)
{
  return channel.fds;
}

bool
agent_channel_has_room (void)
{
  return channel.fd >= 0 && channel.queued <= AGENT_QUEUE_LOW;
}

void
agent_channel_trim (void)
{
  if (channel.large && channel.have <= SMALL)
    {
      madvise (channel.received + SMALL, RECEIVE - SMALL, MADV_DONTNEED);
      channel.large = false;
    }
}

/* --- out -------------------------------------------------------------------------- */

/* Sent bytes, 0 when it would block, -1 when the host is gone. */
static ssize_t
put (const struct iovec *vectors, size_t count, int fd)
{
  union
  {
    char bytes[CMSG_SPACE (sizeof (int))];
    struct cmsghdr align;
  } control;
  struct msghdr message = { .msg_iov = (struct iovec *)vectors, .msg_iovlen = count };
  ssize_t n;

  if (fd >= 0)
    {
      struct cmsghdr *header;
      memset (&control, 0, sizeof control);
      message.msg_control = &control;
      message.msg_controllen = sizeof control.bytes;
      header = CMSG_FIRSTHDR (&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN (sizeof fd);
      memcpy (CMSG_DATA (header), &fd, sizeof fd);
    }
  do
    n = sendmsg (channel.fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  while (n < 0 && errno == EINTR);
  if (n < 0)
    return errno == EAGAIN ? 0 : -1;
  return n;
}

static void
drop_queue (void)
{
  while (channel.first != NULL)
    {
      struct node *node = channel.first;
      channel.first = node->next;
      agent_close (&node->fd);
      free (node);
    }
  channel.last = &channel.first;
  channel.queued = 0;
}

/* Seen as the end of the stream by the loop; what is queued is for nobody. */
static void
lost (void)
{
  drop_queue ();
  shutdown (channel.fd, SHUT_RDWR);
}

static void
queue (const struct iovec *vectors, size_t count, size_t skip, int fd)
{
  size_t size = 0;
  struct node *node;

  for (size_t i = 0; i < count; i++)
    size += vectors[i].iov_len;
  node = malloc (sizeof *node + size - skip);
  if (node == NULL)
    {
      agent_close (&fd);
      agent.over = true;
      return;
    }
  *node = (struct node){ .size = size - skip, .fd = fd };
  for (size_t i = 0, at = 0; i < count; i++)
    {
      size_t from = skip < vectors[i].iov_len ? skip : vectors[i].iov_len;
      if (from < vectors[i].iov_len)
        memcpy (node->bytes + at, (const uint8_t *)vectors[i].iov_base + from, vectors[i].iov_len - from);
      at += vectors[i].iov_len - from;
      skip -= from;
    }
  *channel.last = node;
  channel.last = &node->next;
  channel.queued += node->size;
}

void
agent_send (uint8_t type, uint16_t flags, uint32_t id, const void *payload, size_t size, int fd)
{
  uint8_t header[PRISM_WIRE_HEADER];
  struct iovec vectors[2] = { { header, sizeof header }, { (void *)payload, size } };
  ssize_t sent = 0;

  if (agent_in_worker ())
    {
      agent_result (type, (flags & PRISM_WIRE_LAST) != 0 || type == PRISM_WIRE_DONE || type == PRISM_WIRE_ERROR,
                    payload, size);
      return;
    }
  if (channel.fd < 0 || agent.over)
    {
      agent_close (&fd);
      return;
    }
  prism_wire_put_header (header, (uint32_t)size, type, fd >= 0, flags, id);
  if (channel.first == NULL)
    sent = put (vectors, size > 0 ? 2 : 1, fd);
  if (sent > 0)
    agent_close (&fd);
  if (sent < 0)
    {
      agent_close (&fd);
      lost ();
    }
  else if ((size_t)sent < sizeof header + size)
    queue (vectors, 2, (size_t)sent, fd);
}

static void
flush (void)
{
  while (channel.first != NULL)
    {
      struct node *node = channel.first;
      struct iovec vector = { node->bytes + node->at, node->size - node->at };
      ssize_t n = put (&vector, 1, node->fd);

      if (n < 0)
        lost ();
      if (n <= 0)
        return;
      agent_close (&node->fd);
      node->at += (size_t)n;
      channel.queued -= (size_t)n;
      if (node->at < node->size)
        return;
      channel.first = node->next;
      if (channel.first == NULL)
        channel.last = &channel.first;
      free (node);
    }
}

bool
agent_channel_is_flushed (void)
{
  return channel.first == NULL;
}

void
agent_channel_finish (unsigned ms)
{
  uint64_t until = agent_clock () + ms, now;

  while (channel.first != NULL && (now = agent_clock ()) < until)
    {
      struct pollfd fd = { .fd = channel.fd, .events = POLLOUT };
      if (poll (&fd, 1, (int)(until - now)) <= 0 || (fd.revents & POLLOUT) == 0)
        return;
      flush ();
    }
}

void
agent_send_error (uint32_t id, enum prism_wire_error code, int error_number, const char *format, ...)
{
  uint8_t payload[1024];
  char text[800];
  struct prism_wire_writer w = prism_wire_write_to (payload, sizeof payload);
  va_list arguments;

  va_start (arguments, format);
  vsnprintf (text, sizeof text, format, arguments);
  va_end (arguments);
  prism_wire_put (&w, code, 4);
  prism_wire_put (&w, (uint32_t)error_number, 4);
  prism_wire_put_str (&w, text);
  agent_send (PRISM_WIRE_ERROR, 0, id, payload, (size_t)(w.at - w.start), -1);
}

void
agent_send_done (uint32_t id, uint64_t entries, uint64_t bytes)
{
  uint8_t payload[16];
  struct prism_wire_writer w = prism_wire_write_to (payload, sizeof payload);

  prism_wire_put (&w, entries, 8);
  prism_wire_put (&w, bytes, 8);
  agent_send (PRISM_WIRE_DONE, 0, id, payload, sizeof payload, -1);
}

void
agent_send_credit (uint32_t id, uint8_t stream, uint32_t bytes)
{
  uint8_t payload[5];
  struct prism_wire_writer w = prism_wire_write_to (payload, sizeof payload);

  prism_wire_put (&w, stream, 1);
  prism_wire_put (&w, bytes, 4);
  agent_send (PRISM_WIRE_CREDIT, 0, id, payload, sizeof payload, -1);
}

enum prism_wire_error
agent_error_of (int error_number)
{
  switch (error_number)
    {
    case ENOENT:
      return PRISM_WIRE_ERROR_NOT_FOUND;
    case EXDEV:
      return PRISM_WIRE_ERROR_ESCAPE;
    case EACCES:
    case EPERM:
    case EROFS:
    case EBUSY:
      return PRISM_WIRE_ERROR_DENIED;
    case EEXIST:
    case ENOTEMPTY:
      return PRISM_WIRE_ERROR_EXISTS;
    case EISDIR:
    case ENOTDIR:
    case ENXIO:
    case ELOOP:
      return PRISM_WIRE_ERROR_TYPE;
    case ENOSPC:
    case EDQUOT:
      return PRISM_WIRE_ERROR_NO_SPACE;
    case ENAMETOOLONG:
    case EINVAL:
      return PRISM_WIRE_ERROR_INVALID;
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return PRISM_WIRE_ERROR_LIMIT;
    default:
      return PRISM_WIRE_ERROR_FAILED;
    }
}

/* --- in --------------------------------------------------------------------------- */

/* Takes the descriptors of a message; false for more than may come. */
static bool
hold (struct msghdr *message, uint64_t end)
{
  bool fits = (message->msg_flags & MSG_CTRUNC) == 0;

  for (struct cmsghdr *c = CMSG_FIRSTHDR (message); c != NULL; c = CMSG_NXTHDR (message, c))
    if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
      for (size_t n = (c->cmsg_len - CMSG_LEN (0)) / sizeof (int), i = 0; i < n; i++)
        {
          int fd;
          memcpy (&fd, CMSG_DATA (c) + i * sizeof fd, sizeof fd);
          if (channel.held_count < HELD && channel.fds)
            {
              channel.held[channel.held_count].fd = fd;
              channel.held[channel.held_count++].end = end;
            }
          else
            {
              close (fd);
              fits = false;
            }
        }
  return fits;
}

static ssize_t
receive (size_t room)
{
  union
  {
    char bytes[CMSG_SPACE (PRISM_WIRE_MAX_FDS * sizeof (int))];
    struct cmsghdr align;
  } control;
  struct iovec vector = { channel.received + channel.have, room };
  struct msghdr message = {
    .msg_iov = &vector, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control.bytes
  };
  ssize_t n;

  do
    n = recvmsg (channel.fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  while (n < 0 && errno == EINTR);
  if (n > 0 && !hold (&message, channel.position + channel.have + (size_t)n))
    {
      agent_violation ("more descriptors than a frame can have");
      return -1;
    }
  if (n < 0)
    return errno == EAGAIN ? -1 : 0;
  return n;
}

/* Those that the frame at `at` claims; false for a lie. */
static bool
claim (const struct prism_wire_header *header, uint64_t at, int fds[PRISM_WIRE_MAX_FDS])
{
  if (header->fds > channel.held_count)
    return false;
  for (unsigned i = 0; i < header->fds; i++)
    fds[i] = channel.held[i].fd;
  channel.held_count -= header->fds;
  memmove (channel.held, channel.held + header->fds, channel.held_count * sizeof channel.held[0]);
  return channel.held_count == 0 || channel.held[0].end > at;
}

static void
handle (const struct prism_wire_header *header, uint64_t at, const uint8_t *payload)
{
  struct agent_request request;
  int fds[PRISM_WIRE_MAX_FDS] = { -1, -1, -1 };
  enum agent_decoded decoded;

  if (!claim (header, at, fds))
    agent_violation ("descriptors that no frame claims, or claimed ones that did not come");
  else if ((decoded = agent_request_decode (&request, header, payload)) == AGENT_DECODED)
    agent_dispatch (&request, payload, fds);
  else
    agent_violation (decoded == AGENT_DECODED_UNKNOWN ? "a frame of unknown type" : "a malformed frame");
  for (unsigned i = 0; i < PRISM_WIRE_MAX_FDS; i++)
    agent_close (&fds[i]);
}

/* Handles what is there; the size of the frame that is not, or of a header. */
static size_t
handle_all (void)
{
  size_t at = 0, want = PRISM_WIRE_HEADER;

  while (channel.have - at >= PRISM_WIRE_HEADER && !agent.over)
    {
      struct prism_wire_header header;

      want = PRISM_WIRE_HEADER;
      if (!prism_wire_get_header (channel.received + at, &header))
        {
          agent_violation ("a header that is none");
          return want;
        }
      want += header.size;
      if (channel.have - at < want || channel.queued > AGENT_QUEUE_HIGH)
        break;
      handle (&header, channel.position + at, channel.received + at + PRISM_WIRE_HEADER);
      if (channel.fd < 0)
        return want;
      at += want;
      want = PRISM_WIRE_HEADER;
    }
  channel.have -= at;
  channel.position += at;
  memmove (channel.received, channel.received + at, channel.have);
  return want;
}

static void
ready (void *data, short events)
{
  size_t want;
  ssize_t n;

  if (events & POLLOUT)
    flush ();
  if (channel.queued > AGENT_QUEUE_HIGH)
    return;
  want = handle_all ();
  if (channel.fd < 0 || agent.over || !(events & (POLLIN | POLLHUP | POLLERR)))
    return;
  if (want < SMALL)
    want = SMALL;
  if (channel.have >= want)
    return;
  n = receive (want - channel.have);
  if (n < 0)
    return;
  if (n == 0)
    {
      agent_channel_close ();
      return;
    }
  channel.have += (size_t)n;
  if (channel.have > SMALL)
    channel.large = true;
  handle_all ();
}

void
agent_channel_watch (void)
{
  short events = channel.queued > AGENT_QUEUE_HIGH ? 0 : POLLIN;

  agent_watch (channel.fd, (short)(events | (channel.first != NULL ? POLLOUT : 0)), ready, NULL);
}
