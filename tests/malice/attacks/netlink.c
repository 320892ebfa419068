/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the kernel tells by netlink about the whole machine: some of it knows nothing
 * of network namespaces, or only of some of them. */
#include "../malice.h"

#include <arpa/inet.h>
#include <linux/connector.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>

#define AUDIT_USER 1005

static int
open_netlink (int protocol, unsigned groups)
{
  struct sockaddr_nl address = { .nl_family = AF_NETLINK, .nl_groups = groups };
  int fd = socket (AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
  if (fd >= 0 && bind (fd, (struct sockaddr *)&address, sizeof address) != 0)
    {
      close (fd);
      return -1;
    }
  return fd;
}

/* Answers to @request until the last one; each is looked at by @look. */
static void
ask_kernel (int protocol, void *request, size_t size, void (*look) (const void *bytes, size_t n))
{
  static char answer[65536];
  struct nlmsghdr *head = request;
  int fd = open_netlink (protocol, 0);
  struct pollfd p = { .fd = fd, .events = POLLIN };
  head->nlmsg_len = (unsigned)size;
  if (fd < 0 || send (fd, request, size, 0) != (ssize_t)size)
    return;
  while (poll (&p, 1, 1000) == 1)
    {
      ssize_t n = recv (fd, answer, sizeof answer, MSG_DONTWAIT);
      if (n < (ssize_t)sizeof *head)
        break;
      look (answer, (size_t)n);
      if (((struct nlmsghdr *)(void *)answer)->nlmsg_type == NLMSG_DONE)
        break;
    }
  close (fd);
}

static void
look_for_name (const void *bytes, size_t n)
{
  const char *name = given ("ABSTRACT");
  if (memmem (bytes, n, name, strlen (name)) != NULL)
    escaped ("the host's unix sockets are listed: %s", name);
}

static void
look_for_port (const void *bytes, size_t n)
{
  int left = (int)n, port = (int)given_number ("TCP4");
  for (const struct nlmsghdr *head = bytes; NLMSG_OK (head, left); head = NLMSG_NEXT (head, left))
    {
      const struct inet_diag_msg *about = NLMSG_DATA (head);
      if (head->nlmsg_type == SOCK_DIAG_BY_FAMILY && ntohs (about->id.idiag_sport) == port)
        escaped ("the host's TCP sockets are listed: port %d", port);
    }
}

void
attack_list_sockets (void)
{
  struct
  {
    struct nlmsghdr head;
    struct unix_diag_req body;
  } names = { .head = { .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
              .body = { .sdiag_family = AF_UNIX, .udiag_states = ~0u, .udiag_show = UDIAG_SHOW_NAME } };
  struct
  {
    struct nlmsghdr head;
    struct inet_diag_req_v2 body;
  } ports = { .head = { .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
              .body = { .sdiag_family = AF_INET, .sdiag_protocol = IPPROTO_TCP, .idiag_states = ~0u } };
  ask_kernel (NETLINK_SOCK_DIAG, &names, sizeof names, look_for_name);
  ask_kernel (NETLINK_SOCK_DIAG, &ports, sizeof ports, look_for_port);
}

/* Sent to every network namespace whose owner is the first user namespace. Who runs
 * this inside has the host make some; outside it makes them itself. */
void
attack_device_events (void)
{
  char event[8192];
  int fd = open_netlink (NETLINK_KOBJECT_UEVENT, 1 | 2);
  struct pollfd p = { .fd = fd, .events = POLLIN };
  if (fd < 0)
    return;
  for (time_t end = time (NULL) + 2; time (NULL) <= end;)
    {
      int trigger = open ("/sys/devices/virtual/mem/null/uevent", O_WRONLY | O_CLOEXEC);
      (void)!write (trigger, "change", 6);
      close (trigger);
      if (poll (&p, 1, 100) == 1 && recv (fd, event, sizeof event, MSG_DONTWAIT) > 0)
        escaped ("the host's device events are heard");
    }
}

/* The socket alone means nothing: in other network namespaces nobody is behind it. */
void
attack_process_events (void)
{
  struct
  {
    struct nlmsghdr head;
    struct cn_msg body;
    unsigned listen;
  } request = { .head = { .nlmsg_type = NLMSG_DONE, .nlmsg_len = sizeof request },
                .body = { .id = { CN_IDX_PROC, CN_VAL_PROC }, .len = sizeof request.listen },
                .listen = 1 };
  int fd = open_netlink (NETLINK_CONNECTOR, CN_IDX_PROC);
  if (fd >= 0 && send (fd, &request, sizeof request, 0) == sizeof request)
    escaped ("the kernel's connector for process events is there");
}

static void
look_for_consent (const void *bytes, size_t n)
{
  const struct nlmsghdr *head = bytes;
  const struct nlmsgerr *said = NLMSG_DATA (head);
  if (n >= NLMSG_LENGTH (sizeof *said) && head->nlmsg_type == NLMSG_ERROR && said->error == 0)
    escaped ("the audit log took a record");
}

void
attack_audit_record (void)
{
  struct
  {
    struct nlmsghdr head;
    char text[32];
  } record = { .head = { .nlmsg_type = AUDIT_USER, .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK }, .text = "op=malice" };
  ask_kernel (NETLINK_AUDIT, &record, sizeof record, look_for_consent);
}
