/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* egress-soak [--seconds=N]: tunnels and busy plain connections with random resets,
 * policy changes and proxy restarts. At the end of each of the proxy's lives nothing
 * is open, every request has a record, and the records add up to the counters.
 * house: allow sleep: polls, with a bound, for ends that other threads close. */
#include "soak.h"

#include <libprism/prism.h>
#include <stdlib.h>

static gint64 seconds = 6;

typedef struct
{
  PrismEgressProxy *proxy;
  PrismEgressListener *listener;
  PrismEgressPolicy *wide, *narrow;
  int port;
  gint64 records, sent, received; /* of this life */
  guint lives, changes;
  gint64 all_requests, all_bytes;
} Soak;

static void
note_record (PrismEgressProxy *proxy, PrismAuditRecord *record, Soak *soak)
{
  soak->records++;
  soak->sent += prism_audit_record_get_bytes_sent (record);
  soak->received += prism_audit_record_get_bytes_received (record);
}

static guint
count_entries (const char *folder)
{
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  guint n = 0;

  while (g_dir_read_name (dir) != NULL)
    n++;
  return n;
}

static PrismEgressPolicy *
make_policy (int a, int b)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismEgressRule) first = prism_egress_rule_new ("127.0.0.1", (guint)a, PRISM_EGRESS_SCHEME_ANY,
                                                             PRISM_EGRESS_RULE_FLAGS_ALLOW_PRIVATE, &error);
  g_autoptr (PrismEgressRule) second = prism_egress_rule_new ("127.0.0.1", (guint)b, PRISM_EGRESS_SCHEME_ANY,
                                                              PRISM_EGRESS_RULE_FLAGS_ALLOW_PRIVATE, &error);
  PrismEgressRule *const rules[] = { first, second };

  return prism_egress_policy_new_for_rules (rules, a == b ? 1 : 2, NULL, &error);
}

static void
begin_life (Soak *soak)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GInetAddress) loopback = g_inet_address_new_loopback (G_SOCKET_FAMILY_IPV4);
  g_autoptr (GSocketAddress) address = g_inet_socket_address_new (loopback, (guint16)soak->port);
  g_autofree char *endpoint = NULL;

  soak->records = soak->sent = soak->received = 0;
  g_assert_true (prism_egress_proxy_start (soak->proxy, NULL, &error));
  soak->listener = prism_egress_listener_new_for_address (address, soak->wide);
  g_object_set (soak->listener, "concurrent-connections", G_GINT64_CONSTANT (1024), NULL);
  prism_egress_proxy_add_listener (soak->proxy, soak->listener, NULL, &error);
  g_assert_no_error (error);
  endpoint = prism_egress_listener_dup_endpoint (soak->listener);
  soak->port = atoi (strrchr (endpoint, ':') + 1);
  soak->lives++;
}

static void
settle (void)
{
  while (g_main_context_iteration (NULL, FALSE))
    ;
}

/* The records are all there when the proxy has stopped; they only have to be read. */
static void
end_life (Soak *soak)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismEgressStats) stats = NULL;

  g_assert_true (prism_egress_proxy_remove_listener (soak->proxy, soak->listener, NULL, &error));
  stats = prism_egress_proxy_dup_stats (soak->proxy, NULL);
  g_assert_true (prism_egress_proxy_stop (soak->proxy, NULL, &error));
  settle ();
  g_assert_cmpint (prism_egress_stats_get_active_connections (stats), ==, 0);
  g_assert_cmpint (prism_egress_stats_get_total_connections (stats), ==, soak->records);
  g_assert_cmpint (prism_egress_stats_get_bytes_sent (stats), ==, soak->sent);
  g_assert_cmpint (prism_egress_stats_get_bytes_received (stats), ==, soak->received);
  soak->all_requests += soak->records;
  soak->all_bytes += soak->sent + soak->received;
  g_clear_object (&soak->listener);
}

static gboolean
wake_up (gpointer data)
{
  *(gboolean *)data = TRUE;
  return G_SOURCE_REMOVE;
}

/* Records are read meanwhile. */
static void
read_records_for (guint ms)
{
  gboolean woken = FALSE;

  g_timeout_add (ms, wake_up, &woken);
  while (!woken)
    g_main_context_iteration (NULL, TRUE);
}

static void
change_policy (Soak *soak)
{
  g_autoptr (GError) error = NULL;
  PrismEgressPolicy *policy = g_random_int_range (0, 3) == 0 ? soak->narrow : soak->wide;

  g_assert_true (prism_egress_proxy_set_policy (soak->proxy, soak->listener, policy, NULL, &error));
  soak->changes++;
}

static void
test_soak (void)
{
  Soak soak = { .proxy = prism_registry_create_egress_proxy (prism_registry_get_default (), NULL, NULL) };
  SoakLoad load = { 0 };
  gint64 end, life;
  guint fds, tasks;

  g_assert_nonnull (soak.proxy);
  soak_start_origins (&load.http_port, &load.echo_port);
  soak.wide = make_policy (load.http_port, load.echo_port);
  soak.narrow = make_policy (load.http_port, load.http_port);
  g_signal_connect (soak.proxy, "audit", G_CALLBACK (note_record), &soak);
  begin_life (&soak);
  end_life (&soak);
  fds = count_entries ("/proc/self/fd");
  tasks = count_entries ("/proc/self/task");
  begin_life (&soak);
  load.proxy_port = soak.port;
  soak_start_load (&load);
  end = g_get_monotonic_time () + seconds * G_USEC_PER_SEC;
  while (g_get_monotonic_time () < end)
    {
      life = g_get_monotonic_time () + g_random_int_range (1, 3) * G_USEC_PER_SEC;
      while (g_get_monotonic_time () < MIN (life, end))
        {
          read_records_for ((guint)g_random_int_range (1, 100));
          change_policy (&soak);
        }
      end_life (&soak);
      begin_life (&soak);
    }
  /* First the proxy: nobody may be left waiting for it. */
  end_life (&soak);
  soak_end_load (&load);
  g_test_message ("%d answers, %d transfers, %d cut, %d refused", load.answers, load.transfers, load.cut, load.refused);
  g_test_message ("%u lives, %u changes, %" G_GINT64_FORMAT " requests, %" G_GINT64_FORMAT " MiB", soak.lives,
                  soak.changes, soak.all_requests, soak.all_bytes >> 20);
  g_assert_cmpint (load.wrong, ==, 0);
  g_assert_cmpint (load.answers, >, 0);
  g_assert_cmpint (load.transfers, >, 0);
  /* The origins' ends follow ours. */
  for (guint i = 0; i < 2000 && count_entries ("/proc/self/fd") > fds; i++)
    g_usleep (5000);
  g_assert_cmpuint (count_entries ("/proc/self/fd"), <=, fds);
  g_assert_cmpuint (count_entries ("/proc/self/task"), <=, tasks + 1);
  g_object_unref (soak.wide);
  g_object_unref (soak.narrow);
  g_object_unref (soak.proxy);
}

int
main (int argc, char **argv)
{
  const GOptionEntry entries[] = {
    { "seconds", 0, 0, G_OPTION_ARG_INT64, &seconds, "how long", "N" },
    { 0 },
  };
  g_autoptr (GOptionContext) context = g_option_context_new (NULL);
  g_autoptr (GError) error = NULL;

  g_test_init (&argc, &argv, NULL);
  g_option_context_add_main_entries (context, entries, NULL);
  if (!g_option_context_parse (context, &argc, &argv, &error))
    {
      g_printerr ("egress-soak: %s\n", error->message);
      return 2;
    }
  g_test_add_func ("/egress/soak", test_soak);
  return g_test_run ();
}
