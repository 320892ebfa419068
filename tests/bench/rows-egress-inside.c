/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* CONNECT set-ups from inside a native sandbox, whose listener the proxy accepts on
 * itself: against the same from outside, and against sandbox-runtime's own. */
#include "bench.h"

#include <gio/gunixsocketaddress.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT 3000

typedef struct
{
  Bench *bench;
  char *load;
  GSubprocess *origin;
  int echo;
  PrismEgressProxy *proxy;
  PrismEgressListener *outside; /* the same proxy's, on the host */
  PrismSandbox *sandbox;
} Inside;

static char *
first_line (GSubprocess *process)
{
  g_autoptr (GDataInputStream) lines = g_data_input_stream_new (g_subprocess_get_stdout_pipe (process));

  g_filter_input_stream_set_close_base_stream (G_FILTER_INPUT_STREAM (lines), FALSE);
  return g_data_input_stream_read_line (lines, NULL, NULL, NULL);
}

static gboolean
start_origin (Inside *self)
{
  g_autofree char *line = NULL;
  int http, bulk;

  self->origin = g_subprocess_new (G_SUBPROCESS_FLAGS_STDOUT_PIPE | G_SUBPROCESS_FLAGS_STDIN_PIPE, NULL, self->load,
                                   "origin", NULL);
  line = self->origin != NULL ? first_line (self->origin) : NULL;
  return line != NULL && sscanf (line, "%d %d %d", &http, &bulk, &self->echo) == 3;
}

static PrismEgressPolicy *
make_policy (Inside *self, GError **error)
{
  g_autoptr (PrismEgressRule) rule = prism_egress_rule_new ("127.0.0.1", (guint)self->echo, PRISM_EGRESS_SCHEME_ANY,
                                                            PRISM_EGRESS_RULE_FLAGS_ALLOW_PRIVATE, error);

  return rule != NULL ? prism_egress_policy_new_for_rules (&rule, 1, NULL, error) : NULL;
}

static gboolean
start_outside (Inside *self, PrismEgressPolicy *policy, GError **error)
{
  g_autoptr (GInetAddress) loopback = g_inet_address_new_loopback (G_SOCKET_FAMILY_IPV4);
  g_autoptr (GSocketAddress) address = g_inet_socket_address_new (loopback, 0);

  self->proxy = prism_registry_create_egress_proxy (prism_registry_get_default (), NULL, error);
  if (self->proxy == NULL || !prism_egress_proxy_start (self->proxy, NULL, error))
    return FALSE;
  self->outside = prism_egress_listener_new_for_address (address, policy);
  return prism_egress_proxy_add_listener (self->proxy, self->outside, NULL, error);
}

static gboolean
start_inside (Inside *self, PrismEgressPolicy *policy, GError **error)
{
  g_autoptr (GFile) workspace = g_file_new_for_path (self->bench->workspace);
  g_autoptr (GFile) from = g_file_new_for_path (self->load);
  g_autoptr (GFile) to = g_file_get_child (workspace, "egress-load");
  g_autoptr (PrismSandboxSpec) spec = prism_sandbox_spec_new (workspace);

  g_object_set (spec, "network", PRISM_NETWORK_MODE_EGRESS, "egress-policy", policy, "egress-proxy", self->proxy, NULL);
  if (!g_file_copy (from, to, G_FILE_COPY_OVERWRITE, NULL, NULL, NULL, error))
    return FALSE;
  self->sandbox = prism_backend_create_sandbox (self->bench->backend, spec, NULL, error);
  return self->sandbox != NULL;
}

static double
inside (gpointer data)
{
  Inside *self = data;
  g_autofree char *line =
      g_strdup_printf ("p=${http_proxy%%/}; exec /workspace/egress-load connect ${p##*:} %d 32 %d", self->echo, COUNT);
  const char *const argv[] = { "sh", "-c", line, NULL };
  g_autoptr (PrismCommand) command = prism_command_new (argv);
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismResult) result = prism_sandbox_exec (self->sandbox, command, NULL, &error);

  if (result == NULL || prism_result_get_exit_code (result) != 0)
    {
      g_printerr ("bench: %s\n", error != NULL ? error->message : "the load inside failed");
      return -1;
    }
  return g_ascii_strtod (g_bytes_get_data (prism_result_get_stdout (result), NULL), NULL);
}

static double
outside (gpointer data)
{
  Inside *self = data;
  g_autofree char *endpoint = prism_egress_listener_dup_endpoint (self->outside);
  g_autofree char *echo = g_strdup_printf ("%d", self->echo);
  g_autoptr (GSubprocess) process =
      g_subprocess_new (G_SUBPROCESS_FLAGS_STDOUT_PIPE, NULL, self->load, "connect", strrchr (endpoint, ':') + 1, echo,
                        "32", G_STRINGIFY (COUNT), NULL);
  g_autofree char *line = process != NULL ? first_line (process) : NULL;

  return line != NULL && g_subprocess_wait_check (process, NULL, NULL) ? g_ascii_strtod (line, NULL) : -1;
}

static void
against_srt (Inside *self)
{
  const char *name = "egress: CONNECT from inside, against sandbox-runtime's";
  g_autofree char *folder = self->bench->srt != NULL ? g_path_get_dirname (self->bench->srt) : NULL;
  g_autofree char *script = folder != NULL ? g_build_filename (folder, "srt-egress.mjs", NULL) : NULL;
  g_autofree char *echo = g_strdup_printf ("%d", self->echo);
  const char *const argv[] = { "node", script, self->bench->plain, self->load, echo, "300", NULL };
  PeerWorker *worker = script != NULL && bench_wants (name) ? peer_worker_new (argv, folder) : NULL;

  if (worker != NULL)
    bench_row (self->bench, &(BenchRow){ name, "inside prism", "inside srt", "/s", inside, peer_worker_round, self,
                                         worker, 7, 1, BENCH_AT_LEAST, 30 });
  else if (bench_wants (name))
    bench_missing (name, "sandbox-runtime is not there (PRISM_BENCH_SRT)");
  peer_worker_free (worker);
}

void
bench_egress_inside_rows (Bench *bench)
{
  const char *name = "egress: CONNECT from inside a sandbox, against from the host";
  g_autofree char *own = g_file_read_link ("/proc/self/exe", NULL);
  g_autofree char *folder = g_path_get_dirname (own);
  g_autofree char *load = g_build_filename (folder, "egress-load", NULL);
  g_autoptr (PrismEgressPolicy) policy = NULL;
  g_autoptr (GError) error = NULL;
  Inside self = { .bench = bench, .load = load };

  if (!bench_wants (name) && !bench_wants ("egress: CONNECT from inside, against sandbox-runtime's"))
    return;
  if (start_origin (&self) && (policy = make_policy (&self, &error)) != NULL && start_outside (&self, policy, &error)
      && start_inside (&self, policy, &error))
    {
      /* Within 1.1 times. */
      bench_row (bench, &(BenchRow){ name, "inside", "host", "/s", inside, outside, &self, &self, 15, 1, BENCH_AT_LEAST,
                                     1 / 1.1 });
      against_srt (&self);
    }
  else
    bench_missing (name, error != NULL ? error->message : "the origin did not start");
  if (self.sandbox != NULL)
    prism_sandbox_close (self.sandbox, NULL, NULL);
  g_clear_object (&self.sandbox);
  if (self.proxy != NULL)
    prism_egress_proxy_stop (self.proxy, NULL, NULL);
  g_clear_object (&self.outside);
  g_clear_object (&self.proxy);
  if (self.origin != NULL)
    g_subprocess_force_exit (self.origin);
  g_clear_object (&self.origin);
}
