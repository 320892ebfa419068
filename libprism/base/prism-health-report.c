/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-health-report.h"

#include "prism-enum-types.h"

/* --- one check --------------------------------------------------------------- */

struct _PrismHealthCheck
{
  GObject parent_instance;
  char *id, *summary, *remedy;
  PrismHealthStatus status;
  PrismControls controls;
};

enum
{
  PROP_CHECK_0,
  PROP_ID,
  PROP_STATUS,
  PROP_SUMMARY,
  PROP_REMEDY,
  PROP_CONTROLS,
  N_CHECK_PROPS
};

static GParamSpec *check_props[N_CHECK_PROPS];

/**
 * PrismHealthCheck:
 *
 * One thing that a probe looked at: what it found, what to do about it, and
 * the controls that it makes possible.
 *
 * Since: 1.0
 */
G_DEFINE_FINAL_TYPE (PrismHealthCheck, prism_health_check, G_TYPE_OBJECT)

static void
prism_health_check_set_property (GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  PrismHealthCheck *self = PRISM_HEALTH_CHECK (object);

  switch (id)
    {
    case PROP_ID:
      self->id = g_value_dup_string (value);
      break;
    case PROP_STATUS:
      self->status = g_value_get_enum (value);
      break;
    case PROP_SUMMARY:
      self->summary = g_value_dup_string (value);
      break;
    case PROP_REMEDY:
      self->remedy = g_value_dup_string (value);
      break;
    case PROP_CONTROLS:
      self->controls = g_value_get_flags (value);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    }
}

static void
prism_health_check_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  PrismHealthCheck *self = PRISM_HEALTH_CHECK (object);

  switch (id)
    {
    case PROP_ID:
      g_value_set_string (value, self->id);
      break;
    case PROP_STATUS:
      g_value_set_enum (value, self->status);
      break;
    case PROP_SUMMARY:
      g_value_set_string (value, self->summary);
      break;
    case PROP_REMEDY:
      g_value_set_string (value, self->remedy);
      break;
    case PROP_CONTROLS:
      g_value_set_flags (value, self->controls);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    }
}

static void
prism_health_check_finalize (GObject *object)
{
  PrismHealthCheck *self = PRISM_HEALTH_CHECK (object);

  g_free (self->id);
  g_free (self->summary);
  g_free (self->remedy);
  G_OBJECT_CLASS (prism_health_check_parent_class)->finalize (object);
}

/**
 * PrismHealthCheck:controls:
 *
 * The controls that it stands for.
 *
 * Since: 1.0
 */

/**
 * PrismHealthCheck:id:
 *
 * Its stable id.
 *
 * Since: 1.0
 */

/**
 * PrismHealthCheck:remedy:
 *
 * What to do.
 *
 * Since: 1.0
 */

/**
 * PrismHealthCheck:status:
 *
 * What came out.
 *
 * Since: 1.0
 */

/**
 * PrismHealthCheck:summary:
 *
 * What was seen.
 *
 * Since: 1.0
 */

static void
prism_health_check_class_init (PrismHealthCheckClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  const GParamFlags flags = G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS;

  object_class->set_property = prism_health_check_set_property;
  object_class->get_property = prism_health_check_get_property;
  object_class->finalize = prism_health_check_finalize;

  check_props[PROP_ID] = g_param_spec_string ("id", NULL, NULL, "", flags);
  check_props[PROP_STATUS] =
      g_param_spec_enum ("status", NULL, NULL, PRISM_TYPE_HEALTH_STATUS, PRISM_HEALTH_STATUS_PASS, flags);
  check_props[PROP_SUMMARY] = g_param_spec_string ("summary", NULL, NULL, "", flags);
  check_props[PROP_REMEDY] = g_param_spec_string ("remedy", NULL, NULL, NULL, flags);
  check_props[PROP_CONTROLS] =
      g_param_spec_flags ("controls", NULL, NULL, PRISM_TYPE_CONTROLS, PRISM_CONTROLS_NONE, flags);
  g_object_class_install_properties (object_class, N_CHECK_PROPS, check_props);
}

static void
prism_health_check_init (PrismHealthCheck *self)
{
}

/**
 * prism_health_check_new:
 * @id: a stable id such as `NAME.user-namespaces`
 * @status: what came out
 * @summary: what was seen, in one line
 * @remedy: (nullable): what to do; every check that does not pass has one
 * @controls: the controls that this check stands for
 *
 * Makes a check.
 *
 * Returns: (transfer full): a check
 *
 * Since: 1.0
 */
PrismHealthCheck *
prism_health_check_new (
    const char *id, PrismHealthStatus status, const char *summary, const char *remedy, PrismControls controls)
{
  g_return_val_if_fail (id != NULL && summary != NULL, NULL);

  return g_object_new (PRISM_TYPE_HEALTH_CHECK, "id", id, "status", status, "summary", summary, "remedy", remedy,
                       "controls", controls, NULL);
}

/**
 * prism_health_check_get_id:
 * @self: a check
 *
 * Gets its stable id.
 *
 * Returns: (transfer none): its stable id
 *
 * Since: 1.0
 */
const char *
prism_health_check_get_id (PrismHealthCheck *self)
{
  g_return_val_if_fail (PRISM_IS_HEALTH_CHECK (self), NULL);
  return self->id;
}

/**
 * prism_health_check_get_status:
 * @self: a check
 *
 * Tells what came out.
 *
 * Returns: what came out
 *
 * Since: 1.0
 */
PrismHealthStatus
prism_health_check_get_status (PrismHealthCheck *self)
{
  g_return_val_if_fail (PRISM_IS_HEALTH_CHECK (self), PRISM_HEALTH_STATUS_FAIL);
  return self->status;
}

/**
 * prism_health_check_get_summary:
 * @self: a check
 *
 * Tells what was seen.
 *
 * Returns: (transfer none): what was seen
 *
 * Since: 1.0
 */
const char *
prism_health_check_get_summary (PrismHealthCheck *self)
{
  g_return_val_if_fail (PRISM_IS_HEALTH_CHECK (self), NULL);
  return self->summary;
}

/**
 * prism_health_check_get_remedy:
 * @self: a check
 *
 * Tells what to do.
 *
 * Returns: (transfer none) (nullable): what to do
 *
 * Since: 1.0
 */
const char *
prism_health_check_get_remedy (PrismHealthCheck *self)
{
  g_return_val_if_fail (PRISM_IS_HEALTH_CHECK (self), NULL);
  return self->remedy;
}

/**
 * prism_health_check_get_controls:
 * @self: a check
 *
 * Gets the controls that it stands for.
 *
 * Returns: the controls that it stands for
 *
 * Since: 1.0
 */
PrismControls
prism_health_check_get_controls (PrismHealthCheck *self)
{
  g_return_val_if_fail (PRISM_IS_HEALTH_CHECK (self), PRISM_CONTROLS_NONE);
  return self->controls;
}

/* --- the report -------------------------------------------------------------- */

struct _PrismHealthReport
{
  GObject parent_instance;
  char *backend_name;
  GPtrArray *checks;
};

enum
{
  PROP_REPORT_0,
  PROP_BACKEND_NAME,
  N_REPORT_PROPS
};

static GParamSpec *report_props[N_REPORT_PROPS];

static GType
report_get_item_type (GListModel *model)
{
  return PRISM_TYPE_HEALTH_CHECK;
}

static guint
report_get_n_items (GListModel *model)
{
  return PRISM_HEALTH_REPORT (model)->checks->len;
}

static gpointer
report_get_item (GListModel *model, guint position)
{
  GPtrArray *checks = PRISM_HEALTH_REPORT (model)->checks;

  return position < checks->len ? g_object_ref (g_ptr_array_index (checks, position)) : NULL;
}

static void
report_list_model_init (GListModelInterface *iface)
{
  iface->get_item_type = report_get_item_type;
  iface->get_n_items = report_get_n_items;
  iface->get_item = report_get_item;
}

/**
 * PrismHealthReport:
 *
 * What a backend's probe answers: a [iface@Gio.ListModel] of
 * [class@HealthCheck], and what follows from them.
 *
 * Since: 1.0
 */
G_DEFINE_FINAL_TYPE_WITH_CODE (PrismHealthReport,
                               prism_health_report,
                               G_TYPE_OBJECT,
                               G_IMPLEMENT_INTERFACE (G_TYPE_LIST_MODEL, report_list_model_init))

static void
prism_health_report_set_property (GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  PrismHealthReport *self = PRISM_HEALTH_REPORT (object);

  if (id == PROP_BACKEND_NAME)
    self->backend_name = g_value_dup_string (value);
  else
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
}

static void
prism_health_report_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  PrismHealthReport *self = PRISM_HEALTH_REPORT (object);

  if (id == PROP_BACKEND_NAME)
    g_value_set_string (value, self->backend_name);
  else
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
}

static void
prism_health_report_finalize (GObject *object)
{
  PrismHealthReport *self = PRISM_HEALTH_REPORT (object);

  g_free (self->backend_name);
  g_ptr_array_unref (self->checks);
  G_OBJECT_CLASS (prism_health_report_parent_class)->finalize (object);
}

/**
 * PrismHealthReport:backend-name:
 *
 * The backend that was looked at.
 *
 * Since: 1.0
 */

static void
prism_health_report_class_init (PrismHealthReportClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->set_property = prism_health_report_set_property;
  object_class->get_property = prism_health_report_get_property;
  object_class->finalize = prism_health_report_finalize;

  report_props[PROP_BACKEND_NAME] = g_param_spec_string (
      "backend-name", NULL, NULL, "", G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS);
  g_object_class_install_properties (object_class, N_REPORT_PROPS, report_props);
}

static void
prism_health_report_init (PrismHealthReport *self)
{
  self->checks = g_ptr_array_new_with_free_func (g_object_unref);
}

/**
 * prism_health_report_new:
 * @backend_name: the backend that was probed
 *
 * Makes an empty report.
 *
 * Returns: (transfer full): an empty report
 *
 * Since: 1.0
 */
PrismHealthReport *
prism_health_report_new (const char *backend_name)
{
  g_return_val_if_fail (backend_name != NULL, NULL);
  return g_object_new (PRISM_TYPE_HEALTH_REPORT, "backend-name", backend_name, NULL);
}

/**
 * prism_health_report_add:
 * @self: a report that was not handed out yet
 * @check: a check
 *
 * Adds a check.
 *
 * Since: 1.0
 */
void
prism_health_report_add (PrismHealthReport *self, PrismHealthCheck *check)
{
  g_return_if_fail (PRISM_IS_HEALTH_REPORT (self));
  g_return_if_fail (PRISM_IS_HEALTH_CHECK (check));

  g_ptr_array_add (self->checks, g_object_ref (check));
  g_list_model_items_changed (G_LIST_MODEL (self), self->checks->len - 1, 0, 1);
}

/* Worst first: a failure outranks silence, silence outranks a warning. */
static int
status_rank (PrismHealthStatus status)
{
  switch (status)
    {
    case PRISM_HEALTH_STATUS_FAIL:
      return 4;
    case PRISM_HEALTH_STATUS_INCONCLUSIVE:
      return 3;
    case PRISM_HEALTH_STATUS_WARN:
      return 2;
    case PRISM_HEALTH_STATUS_SKIPPED:
      return 1;
    case PRISM_HEALTH_STATUS_PASS:
    default:
      return 0;
    }
}

/**
 * prism_health_report_get_status:
 * @self: a report
 *
 * Gets the worst of its checks; inconclusive when there are none.
 *
 * Returns: the worst of its checks; inconclusive when there are none
 *
 * Since: 1.0
 */
PrismHealthStatus
prism_health_report_get_status (PrismHealthReport *self)
{
  PrismHealthStatus worst = PRISM_HEALTH_STATUS_PASS;

  g_return_val_if_fail (PRISM_IS_HEALTH_REPORT (self), PRISM_HEALTH_STATUS_FAIL);

  if (self->checks->len == 0)
    return PRISM_HEALTH_STATUS_INCONCLUSIVE;
  for (guint i = 0; i < self->checks->len; i++)
    {
      PrismHealthCheck *check = g_ptr_array_index (self->checks, i);
      if (status_rank (check->status) > status_rank (worst))
        worst = check->status;
    }
  return worst;
}

/**
 * prism_health_report_get_enforced:
 * @self: a report
 *
 * Gets the controls whose every check passed.
 *
 * Returns: the controls whose every check passed
 *
 * Since: 1.0
 */
PrismControls
prism_health_report_get_enforced (PrismHealthReport *self)
{
  PrismControls good = PRISM_CONTROLS_NONE, bad = PRISM_CONTROLS_NONE;

  g_return_val_if_fail (PRISM_IS_HEALTH_REPORT (self), PRISM_CONTROLS_NONE);

  for (guint i = 0; i < self->checks->len; i++)
    {
      PrismHealthCheck *check = g_ptr_array_index (self->checks, i);
      if (check->status == PRISM_HEALTH_STATUS_PASS)
        good |= check->controls;
      else
        bad |= check->controls;
    }
  return good & ~bad;
}
