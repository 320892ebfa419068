/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* egress-serve RULES: the egress proxy alone, as an application has it, with one rule
 * for 127.0.0.1 and RULES others; prints its port and ends with stdin. */
#include <libprism/prism.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static PrismEgressPolicy *
make_policy (guint others, GError **error)
{
  g_autoptr (GPtrArray) rules = g_ptr_array_new_with_free_func ((GDestroyNotify)prism_egress_rule_unref);

  g_ptr_array_add (rules, prism_egress_rule_new ("127.0.0.1", 0, PRISM_EGRESS_SCHEME_ANY,
                                                 PRISM_EGRESS_RULE_FLAGS_ALLOW_PRIVATE, error));
  for (guint i = 0; i < others; i++)
    {
      g_autofree char *host = g_strdup_printf ("%shost-%u.example.org", i % 2 == 0 ? "." : "", i);

      g_ptr_array_add (rules, prism_egress_rule_new (host, 443, PRISM_EGRESS_SCHEME_HTTPS, 0, error));
    }
  return prism_egress_policy_new_for_rules ((PrismEgressRule *const *)rules->pdata, rules->len, NULL, error);
}

static PrismEgressListener *
start (PrismEgressProxy *proxy, guint others, GError **error)
{
  g_autoptr (GInetAddress) loopback = g_inet_address_new_loopback (G_SOCKET_FAMILY_IPV4);
  g_autoptr (GSocketAddress) address = g_inet_socket_address_new (loopback, 0);
  g_autoptr (PrismEgressPolicy) policy = make_policy (others, error);
  g_autoptr (PrismEgressListener) listener = NULL;

  if (policy == NULL || !prism_egress_proxy_start (proxy, NULL, error))
    return NULL;
  listener = prism_egress_listener_new_for_address (address, policy);
  g_object_set (listener, "concurrent-connections", G_GINT64_CONSTANT (512), NULL);
  return prism_egress_proxy_add_listener (proxy, listener, NULL, error) ? g_steal_pointer (&listener) : NULL;
}

int
main (int argc, char **argv)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismEgressProxy) proxy = prism_registry_create_egress_proxy (prism_registry_get_default (), NULL, &error);
  g_autoptr (PrismEgressListener) listener = NULL;
  g_autofree char *endpoint = NULL;
  struct rlimit files;
  char byte;

  if (getrlimit (RLIMIT_NOFILE, &files) == 0)
    {
      files.rlim_cur = MIN (files.rlim_max, 16384);
      setrlimit (RLIMIT_NOFILE, &files);
    }
  if (proxy != NULL)
    listener = start (proxy, argc > 1 ? (guint)atoi (argv[1]) : 0, &error);
  if (listener == NULL)
    {
      g_printerr ("egress-serve: %s\n", error->message);
      return 1;
    }
  endpoint = prism_egress_listener_dup_endpoint (listener);
  printf ("%s\n", strrchr (endpoint, ':') + 1);
  fflush (stdout);
  while (read (0, &byte, 1) > 0)
    ;
  return 0;
}
