/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-bounds.h"

#include "prism-limit-private.h"

#define N_PROFILES (PRISM_LIMITS_PROFILE_STRICT + 1)

typedef struct
{
  PrismRange range[N_PROFILES];
  gboolean set[N_PROFILES];
} Bounds;

static G_DEFINE_QUARK (prism-bounds, bounds);

gboolean
prism_range_check (const PrismRange *range, const char *name, gint64 value, GString *offenders)
{
  if (value >= range->least && value <= range->most)
    return TRUE;
  g_string_append_printf (offenders,
                          "%s%s = %" G_GINT64_FORMAT " (allowed: %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT ")",
                          offenders->len > 0 ? "; " : "", name, value, range->least, range->most);
  return FALSE;
}

gboolean
prism_range_report (const GString *offenders, GError **error)
{
  if (offenders->len == 0)
    return TRUE;
  g_set_error (error, PRISM_LIMIT_ERROR, PRISM_LIMIT_ERROR_RANGE, "out of range: %s", offenders->str);
  return FALSE;
}

/**
 * prism_param_spec_set_bounds:
 * @pspec: a gint64 property's spec that itself accepts every gint64
 * @profile: the profile in which they hold
 * @default_value: what it is when nobody sets it
 * @minimum: the least that is accepted
 * @maximum: the most that is accepted
 *
 * Attaches default and bounds to @pspec. GObject clamps or drops what is out of
 * a pspec's own range, in bindings silently; so numeric options accept every
 * gint64, keep what was given, and creation refuses all offenders at once with
 * [func@object_check_bounds]. Call it in class_init, before the class is used.
 *
 * Since: 1.0
 */
void
prism_param_spec_set_bounds (
    GParamSpec *pspec, PrismLimitsProfile profile, gint64 default_value, gint64 minimum, gint64 maximum)
{
  Bounds *bounds;

  g_return_if_fail (G_IS_PARAM_SPEC_INT64 (pspec));
  g_return_if_fail (profile < N_PROFILES);
  g_return_if_fail (minimum <= default_value && default_value <= maximum);

  bounds = g_param_spec_get_qdata (pspec, bounds_quark ());
  if (bounds == NULL)
    {
      bounds = g_new0 (Bounds, 1);
      g_param_spec_set_qdata_full (pspec, bounds_quark (), bounds, g_free);
    }
  bounds->range[profile] = (PrismRange){ default_value, minimum, maximum };
  bounds->set[profile] = TRUE;
}

static const PrismRange *
find_range (GParamSpec *pspec, PrismLimitsProfile profile)
{
  GParamSpec *target = g_param_spec_get_redirect_target (pspec);
  const Bounds *bounds = g_param_spec_get_qdata (target != NULL ? target : pspec, bounds_quark ());

  return bounds != NULL && profile < N_PROFILES && bounds->set[profile] ? &bounds->range[profile] : NULL;
}

/**
 * prism_param_spec_get_bounds:
 * @pspec: a property's spec
 * @profile: a profile
 * @default_value: (out) (optional): what it is when nobody sets it
 * @minimum: (out) (optional): the least that is accepted
 * @maximum: (out) (optional): the most that is accepted
 *
 * Tells whether bounds are attached for @profile.
 *
 * Returns: whether bounds are attached for @profile
 *
 * Since: 1.0
 */
gboolean
prism_param_spec_get_bounds (
    GParamSpec *pspec, PrismLimitsProfile profile, gint64 *default_value, gint64 *minimum, gint64 *maximum)
{
  const PrismRange *range;

  g_return_val_if_fail (G_IS_PARAM_SPEC (pspec), FALSE);

  range = find_range (pspec, profile);
  if (default_value != NULL)
    *default_value = range != NULL ? range->initial : 0;
  if (minimum != NULL)
    *minimum = range != NULL ? range->least : G_MININT64;
  if (maximum != NULL)
    *maximum = range != NULL ? range->most : G_MAXINT64;
  return range != NULL;
}

/**
 * prism_object_get_bounds:
 * @object: an object
 * @property: a property's name
 * @profile: a profile
 * @default_value: (out) (optional): what it is when nobody sets it
 * @minimum: (out) (optional): the least that is accepted
 * @maximum: (out) (optional): the most that is accepted
 *
 * As [func@param_spec_get_bounds], by a property's name.
 *
 * Returns: whether there is such a property, and bounds are attached to it for @profile
 *
 * Since: 1.0
 */
gboolean
prism_object_get_bounds (GObject *object,
                         const char *property,
                         PrismLimitsProfile profile,
                         gint64 *default_value,
                         gint64 *minimum,
                         gint64 *maximum)
{
  GParamSpec *pspec;

  g_return_val_if_fail (G_IS_OBJECT (object), FALSE);
  g_return_val_if_fail (property != NULL, FALSE);

  pspec = g_object_class_find_property (G_OBJECT_GET_CLASS (object), property);
  return pspec != NULL && prism_param_spec_get_bounds (pspec, profile, default_value, minimum, maximum);
}

/**
 * prism_object_check_bounds:
 * @object: an object with bounded properties
 * @profile: the profile whose bounds hold
 * @error: return location for a [error@LimitError]
 *
 * Checks every bounded property of @object.
 *
 * Returns: %FALSE if any is out of range: one error names each and its bounds
 *
 * Since: 1.0
 */
gboolean
prism_object_check_bounds (GObject *object, PrismLimitsProfile profile, GError **error)
{
  g_autoptr (GString) offenders = g_string_new (NULL);
  g_autofree GParamSpec **pspecs = NULL;
  guint n;

  g_return_val_if_fail (G_IS_OBJECT (object), FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  pspecs = g_object_class_list_properties (G_OBJECT_GET_CLASS (object), &n);
  for (guint i = 0; i < n; i++)
    {
      const PrismRange *range = find_range (pspecs[i], profile);
      gint64 value;

      if (range == NULL || (pspecs[i]->flags & G_PARAM_READABLE) == 0)
        continue;
      g_object_get (object, pspecs[i]->name, &value, NULL);
      prism_range_check (range, pspecs[i]->name, value, offenders);
    }
  return prism_range_report (offenders, error);
}
