/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An address is judged by its bytes, whatever it was written as or came from. One
 * that looks public and is this machine's own leads to services that trust who is
 * already here: the kernel is asked each time, since addresses come and go. What
 * cannot be judged is refused. */
#include "prism-local-screen.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <unistd.h>

typedef enum
{
  IS_ELSEWHERE,
  IS_OURS,
  IS_UNKNOWN,
} Whose;

static gsize
write_question (char *out, GInetAddress *address)
{
  gsize length = g_inet_address_get_native_size (address);
  struct nlmsghdr *header = (struct nlmsghdr *)out;
  struct rtmsg *route = NLMSG_DATA (header);
  struct rtattr *destination;

  memset (out, 0, NLMSG_SPACE (sizeof *route) + RTA_SPACE (16));
  *header = (struct nlmsghdr){ .nlmsg_type = RTM_GETROUTE, .nlmsg_flags = NLM_F_REQUEST };
  route->rtm_family = g_inet_address_get_family (address) == G_SOCKET_FAMILY_IPV4 ? AF_INET : AF_INET6;
  route->rtm_dst_len = (guint8)(length * 8);
  destination = (struct rtattr *)(out + NLMSG_SPACE (sizeof *route));
  destination->rta_type = RTA_DST;
  destination->rta_len = (guint16)RTA_LENGTH (length);
  memcpy (RTA_DATA (destination), g_inet_address_to_bytes (address), length);
  header->nlmsg_len = (guint32)(NLMSG_SPACE (sizeof *route) + RTA_LENGTH (length));
  return header->nlmsg_len;
}

static Whose
read_answer (const char *bytes, gssize length)
{
  const struct nlmsghdr *header = (const struct nlmsghdr *)bytes;
  const struct rtmsg *route = NLMSG_DATA (header);
  const struct nlmsgerr *fault = NLMSG_DATA (header);

  if (length < (gssize)NLMSG_LENGTH (sizeof *route) || header->nlmsg_len > (gsize)length)
    return IS_UNKNOWN;
  if (header->nlmsg_type == NLMSG_ERROR && header->nlmsg_len >= NLMSG_LENGTH (sizeof fault->error))
    /* No way there: connecting will say so. */
    return fault->error == -ENETUNREACH || fault->error == -EHOSTUNREACH || fault->error == -EACCES
                   || fault->error == -EINVAL
               ? IS_ELSEWHERE
               : IS_UNKNOWN;
  if (header->nlmsg_type != RTM_NEWROUTE)
    return IS_UNKNOWN;
  return route->rtm_type == RTN_UNICAST || route->rtm_type == RTN_UNREACHABLE || route->rtm_type == RTN_BLACKHOLE
                 || route->rtm_type == RTN_PROHIBIT
             ? IS_ELSEWHERE
             : IS_OURS;
}

/* The answer is the kernel's, and is there when the question was sent. */
static Whose
ask_kernel (PrismLocalEngine *engine, GInetAddress *address)
{
  char bytes[4096] __attribute__ ((aligned (8)));
  gsize length = write_question (bytes, address);
  gssize n;

  if (engine->netlink < 0)
    engine->netlink = socket (AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
  if (engine->netlink < 0 || send (engine->netlink, bytes, length, 0) != (gssize)length)
    return IS_UNKNOWN;
  n = recv (engine->netlink, bytes, sizeof bytes, 0);
  if (n <= 0)
    {
      close (engine->netlink);
      engine->netlink = -1;
      return IS_UNKNOWN;
    }
  return read_answer (bytes, n);
}

char *
prism_local_screen (PrismLocalEngine *engine, const PrismLocalPlace *place, GInetAddress *address)
{
  PrismAddressClass class = prism_address_class_from_inet_address (address);
  g_autofree char *text = g_inet_address_to_string (address);
  Whose whose;

  if (prism_local_port_is_loop (engine, address, place->port))
    return g_strdup_printf ("%s port %u is this proxy itself", text, place->port);
  if (!prism_egress_rule_allows_address (place->rule, address))
    return g_strdup_printf ("%s is a %s address, not a public one%s", text, prism_address_class_get_word (class),
                            class == PRISM_ADDRESS_CLASS_METADATA ? ", and hands out credentials" : "");
  if (class != PRISM_ADDRESS_CLASS_PUBLIC || prism_egress_rule_get_allow_private (place->rule))
    return NULL;
  whose = ask_kernel (engine, address);
  if (whose == IS_OURS)
    return g_strdup_printf ("%s is one of this machine's own addresses", text);
  return whose == IS_UNKNOWN ? g_strdup_printf ("%s: it cannot be told whether it is this machine's own", text) : NULL;
}
