/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the engine says of itself, as checks with remedies. */
#include "prism-docker-probe.h"

#include "prism-docker-engine.h"

static void
add (PrismHealthReport *report,
     const char *id,
     PrismHealthStatus status,
     const char *summary,
     const char *remedy,
     PrismControls controls)
{
  g_autoptr (PrismHealthCheck) check = prism_health_check_new (id, status, summary, remedy, controls);
  prism_health_report_add (report, check);
}

PrismHealthReport *
prism_docker_probe (const PrismDockerOptions *options, gint64 deadline, GCancellable *cancellable, GError **error)
{
  g_autoptr (PrismDockerEngine) engine =
      prism_docker_engine_new (options->socket, options->docker, deadline, cancellable);
  g_autoptr (PrismHealthReport) report = prism_health_report_new ("docker");
  g_autoptr (GError) failure = NULL;

  if (prism_docker_engine_open (engine, &failure))
    add (report, "docker.engine", PRISM_HEALTH_STATUS_PASS, "the engine answers", NULL,
         PRISM_CONTROLS_FILESYSTEM | PRISM_CONTROLS_NETWORK | PRISM_CONTROLS_PROCESS | PRISM_CONTROLS_EGRESS
             | PRISM_CONTROLS_WORKSPACE);
  else
    add (report, "docker.engine",
         g_error_matches (failure, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_TIMEOUT) ? PRISM_HEALTH_STATUS_INCONCLUSIVE
                                                                                     : PRISM_HEALTH_STATUS_FAIL,
         failure->message, "start the engine, or name its socket with --set socket=PATH", PRISM_CONTROLS_NONE);
  return g_steal_pointer (&report);
}
