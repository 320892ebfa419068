/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-native-packet.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

gboolean
prism_native_packet_send (int socket, const struct iovec *parts, gsize n_parts, const int *fds, gsize n_fds)
{
  union
  {
    struct cmsghdr header;
    char bytes[CMSG_SPACE (sizeof (int) * PRISM_NATIVE_PACKET_FDS)];
  } control = { 0 };
  struct msghdr message = { .msg_iov = (struct iovec *)parts, .msg_iovlen = n_parts };
  ssize_t sent;

  g_return_val_if_fail (n_fds <= PRISM_NATIVE_PACKET_FDS, FALSE);

  if (n_fds > 0)
    {
      message.msg_control = &control;
      message.msg_controllen = CMSG_SPACE (sizeof (int) * n_fds);
      control.header.cmsg_level = SOL_SOCKET;
      control.header.cmsg_type = SCM_RIGHTS;
      control.header.cmsg_len = CMSG_LEN (sizeof (int) * n_fds);
      memcpy (CMSG_DATA (&control.header), fds, sizeof (int) * n_fds);
    }
  do
    sent = sendmsg (socket, &message, MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  return sent > 0;
}

ssize_t
prism_native_packet_receive (int socket, guint8 *bytes, gsize size, int *passed)
{
  union
  {
    struct cmsghdr header;
    char bytes[CMSG_SPACE (sizeof (int))];
  } control;
  struct iovec part = { bytes, size };
  struct msghdr message = {
    .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control
  };
  ssize_t n = recvmsg (socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  struct cmsghdr *header = n > 0 ? CMSG_FIRSTHDR (&message) : NULL;

  if (header != NULL && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS
      && header->cmsg_len == CMSG_LEN (sizeof (int)))
    {
      if (*passed >= 0)
        close (*passed);
      memcpy (passed, CMSG_DATA (header), sizeof (int));
    }
  return n;
}
