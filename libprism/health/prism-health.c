/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Probing backends side by side. A backend that fails, that cannot be loaded or
 * that does not answer is a report of its own, never the end of the others. */
#include "prism-health.h"

#include "prism-cancel-source.h"
#include "prism-explain.h"
#include "prism-home-private.h"

#define CHECK_SECONDS 5
#define TOTAL_SECONDS 10

typedef struct
{
  GListStore *reports; /* in the order asked for; a placeholder until the answer is there */
  guint pending;
  gboolean done;
  GSource *total;
  GSource *caller;           /* the caller's cancellable, where there is one */
  GCancellable *cancellable; /* ours: ends what is still being asked */
} Run;

typedef struct
{
  GTask *task;
  PrismBackend *backend;
  guint position;
  GSource *timeout;
  GCancellable *cancellable;
  gboolean answered;
  gint references; /* the timeout's and the call's */
} Probe;

static void
run_free (Run *run)
{
  g_clear_pointer (&run->total, g_source_unref);
  g_clear_pointer (&run->caller, g_source_unref);
  g_clear_object (&run->reports);
  g_clear_object (&run->cancellable);
  g_free (run);
}

static void
probe_unref (Probe *probe)
{
  if (--probe->references > 0)
    return;

  g_clear_object (&probe->task);
  g_clear_object (&probe->backend);
  g_clear_object (&probe->cancellable);
  g_clear_pointer (&probe->timeout, g_source_unref);
  g_free (probe);
}

static PrismHealthReport *
report_of_one (const char *backend, PrismHealthStatus status, const char *summary, const char *remedy)
{
  g_autoptr (PrismHealthReport) report = prism_health_report_new (backend);
  g_autoptr (PrismHealthCheck) check =
      prism_health_check_new ("sandbox.platform", status, summary, remedy, PRISM_CONTROLS_NONE);

  prism_health_report_add (report, check);

  return g_steal_pointer (&report);
}

static PrismHealthReport *
report_of_error (const char *backend, const GError *error)
{
  g_autoptr (PrismHealthReport) report = NULL;
  g_autoptr (PrismExplanation) explanation = prism_error_explain (error);
  const char *hint = explanation != NULL ? prism_explanation_get_hint (explanation) : NULL;

  report = report_of_one (backend, PRISM_HEALTH_STATUS_FAIL, error->message,
                          hint != NULL ? hint : "do what the message says; “prism inspect” shows the plug-in");

  return g_steal_pointer (&report);
}

static void
run_complete (GTask *task)
{
  Run *run = g_task_get_task_data (task);

  if (run->done)
    return;
  run->done = TRUE;
  g_source_destroy (run->total);
  if (run->caller != NULL)
    g_source_destroy (run->caller);
  g_cancellable_cancel (run->cancellable);
  g_task_return_pointer (task, g_object_ref (run->reports), g_object_unref);
}

static void
put_report (GTask *task, guint position, PrismHealthReport *report)
{
  Run *run = g_task_get_task_data (task);

  if (run->done)
    return;
  g_list_store_splice (run->reports, position, 1, (gpointer *)&report, 1);
  run->pending--;
  if (run->pending == 0)
    run_complete (task);
}

static void
on_probed (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Probe *probe = user_data;
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismHealthReport) report = prism_backend_probe_finish (probe->backend, result, &error);

  if (!probe->answered)
    {
      probe->answered = TRUE;
      g_source_destroy (probe->timeout);
      if (report == NULL)
        report = report_of_error (prism_backend_get_name (probe->backend), error);
      put_report (probe->task, probe->position, report);
    }
  probe_unref (probe);
}

static void
give_up (Probe *probe)
{
  g_autofree char *summary = g_strdup_printf ("no answer within %d s", CHECK_SECONDS);
  g_autoptr (PrismHealthReport) report =
      report_of_one (prism_backend_get_name (probe->backend), PRISM_HEALTH_STATUS_INCONCLUSIVE, summary,
                     "see whether what this backend needs answers at all, then ask again");

  probe->answered = TRUE;
  g_cancellable_cancel (probe->cancellable);
  put_report (probe->task, probe->position, report);
}

static gboolean
on_check_timeout (gpointer user_data)
{
  Probe *probe = user_data;

  if (!probe->answered)
    give_up (probe);

  return G_SOURCE_REMOVE;
}

static gboolean
on_total_timeout (gpointer user_data)
{
  run_complete (user_data);

  return G_SOURCE_REMOVE;
}

static gboolean
on_cancelled (gpointer user_data)
{
  run_complete (user_data);

  return G_SOURCE_REMOVE;
}

static void
start_probe (GTask *task, PrismRegistry *registry, const char *name, guint position)
{
  Run *run = g_task_get_task_data (task);
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismHealthReport) report = NULL;
  PrismBackend *backend = prism_registry_create_backend (registry, name, &error);
  Probe *probe;

  if (backend == NULL)
    {
      report = report_of_error (name, error);
      put_report (task, position, report);
      return;
    }

  probe = g_new0 (Probe, 1);
  probe->references = 2;
  probe->task = g_object_ref (task);
  probe->backend = backend;
  probe->position = position;
  probe->cancellable = g_object_ref (run->cancellable);
  probe->timeout = g_timeout_source_new_seconds (CHECK_SECONDS);
  g_source_set_callback (probe->timeout, on_check_timeout, probe, (GDestroyNotify)probe_unref);
  g_source_attach (probe->timeout, g_task_get_context (task));
  prism_backend_probe_async (backend, probe->cancellable, on_probed, probe);
}

/**
 * prism_health_run_async:
 * @registry: where the backends come from
 * @backends: (nullable) (array zero-terminated=1): names of the backends to ask, or %NULL for all that @registry lists
 * @cancellable: (nullable): ends the run
 * @callback: (scope async): called when it is done
 * @user_data: data for @callback
 *
 * Asks backends what they can enforce on this machine, all at once; each has
 * 5 s, and all together have 10 s. Plug-ins are loaded for it.
 *
 * Since: 1.0
 */
void
prism_health_run_async (PrismRegistry *registry,
                        const char *const *backends,
                        GCancellable *cancellable,
                        GAsyncReadyCallback callback,
                        gpointer user_data)
{
  g_autoptr (GTask) task = NULL;
  g_auto (GStrv) names = NULL;
  Run *run;

  g_return_if_fail (PRISM_IS_REGISTRY (registry));
  g_return_if_fail (cancellable == NULL || G_IS_CANCELLABLE (cancellable));

  names = backends != NULL ? g_strdupv ((char **)backends) : prism_registry_list_backends (registry);
  task = g_task_new (registry, cancellable, callback, user_data);
  g_task_set_source_tag (task, prism_health_run_async);

  run = g_new0 (Run, 1);
  run->reports = g_list_store_new (PRISM_TYPE_HEALTH_REPORT);
  run->pending = g_strv_length (names) + 1;
  run->cancellable = g_cancellable_new ();
  run->total = g_timeout_source_new_seconds (TOTAL_SECONDS);
  g_task_set_task_data (task, run, (GDestroyNotify)run_free);
  g_source_set_callback (run->total, on_total_timeout, g_object_ref (task), g_object_unref);
  g_source_attach (run->total, g_task_get_context (task));
  if (cancellable != NULL)
    run->caller = prism_cancel_source_attach (cancellable, g_task_get_context (task), on_cancelled, g_object_ref (task),
                                              g_object_unref);

  for (guint i = 0; names[i] != NULL; i++)
    {
      g_autoptr (PrismHealthReport) waiting =
          report_of_one (names[i], PRISM_HEALTH_STATUS_INCONCLUSIVE, "no answer in time", "ask again");

      g_list_store_append (run->reports, waiting);
    }
  for (guint i = 0; names[i] != NULL; i++)
    start_probe (task, registry, names[i], i);

  run->pending--;
  if (run->pending == 0)
    run_complete (task);
}

/**
 * prism_health_run_finish:
 * @result: the result that the callback was given
 * @error: return location for an error
 *
 * Gets a list of [class@Prism.HealthReport], one for each backend, in the order asked for; %NULL
 * only if the run was cancelled.
 *
 * Returns: (transfer full): a list of [class@Prism.HealthReport], one for each backend, in the order asked for; %NULL
 *   only if the run was cancelled
 *
 * Since: 1.0
 */
GListModel *
prism_health_run_finish (GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (G_IS_TASK (result), NULL);
  g_return_val_if_fail (g_async_result_is_tagged (result, prism_health_run_async), NULL);

  return g_task_propagate_pointer (G_TASK (result), error);
}

static void
on_done (GObject *source, GAsyncResult *result, gpointer user_data)
{
  *(GAsyncResult **)user_data = g_object_ref (result);
}

/**
 * prism_health_run:
 * @registry: where the backends come from
 * @backends: (nullable) (array zero-terminated=1): names of the backends to ask, or %NULL for all that @registry lists
 * @cancellable: (nullable): ends the run
 * @error: return location for an error
 *
 * As [func@Prism.health_run_async], waiting for the answer; the caller's main
 * context is not iterated.
 *
 * Returns: (transfer full): a list of [class@Prism.HealthReport], one for each backend, in the order asked for; %NULL
 *   only if the run was cancelled
 *
 * Since: 1.0
 */
GListModel *
prism_health_run (PrismRegistry *registry, const char *const *backends, GCancellable *cancellable, GError **error)
{
  GMainContext *context;
  g_autoptr (GAsyncResult) result = NULL;
  GListModel *reports;

  g_return_val_if_fail (PRISM_IS_REGISTRY (registry), NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  context = prism_private_context_push (TRUE);
  prism_health_run_async (registry, backends, cancellable, on_done, &result);
  while (result == NULL)
    g_main_context_iteration (context, TRUE);
  reports = prism_health_run_finish (result, error);
  prism_private_context_pop (context);

  return reports;
}
