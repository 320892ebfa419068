/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-mount.h"

struct _PrismMount
{
  GObject parent_instance;
  GFile *source;
  char *destination;
  gboolean writable;
};

enum
{
  PROP_0,
  PROP_SOURCE,
  PROP_DESTINATION,
  PROP_WRITABLE,
  N_PROPS
};

static GParamSpec *props[N_PROPS];

/**
 * PrismMount:
 *
 * One more host path that a sandbox sees.
 *
 * Since: 1.0
 */
G_DEFINE_FINAL_TYPE (PrismMount, prism_mount, G_TYPE_OBJECT)

static void
prism_mount_set_property (GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  PrismMount *self = PRISM_MOUNT (object);

  switch (id)
    {
    case PROP_SOURCE:
      self->source = g_value_dup_object (value);
      break;
    case PROP_DESTINATION:
      self->destination = g_value_dup_string (value);
      break;
    case PROP_WRITABLE:
      self->writable = g_value_get_boolean (value);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    }
}

static void
prism_mount_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  PrismMount *self = PRISM_MOUNT (object);

  switch (id)
    {
    case PROP_SOURCE:
      g_value_set_object (value, self->source);
      break;
    case PROP_DESTINATION:
      g_value_set_string (value, self->destination);
      break;
    case PROP_WRITABLE:
      g_value_set_boolean (value, self->writable);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    }
}

/* Without a destination it is seen where it lies on the host. */
static void
prism_mount_constructed (GObject *object)
{
  PrismMount *self = PRISM_MOUNT (object);

  if (self->destination == NULL && self->source != NULL)
    self->destination = g_file_get_path (self->source);
  G_OBJECT_CLASS (prism_mount_parent_class)->constructed (object);
}

static void
prism_mount_finalize (GObject *object)
{
  PrismMount *self = PRISM_MOUNT (object);

  g_clear_object (&self->source);
  g_free (self->destination);
  G_OBJECT_CLASS (prism_mount_parent_class)->finalize (object);
}

static void
prism_mount_class_init (PrismMountClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  const GParamFlags flags = G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS;

  object_class->set_property = prism_mount_set_property;
  object_class->get_property = prism_mount_get_property;
  object_class->constructed = prism_mount_constructed;
  object_class->finalize = prism_mount_finalize;

  /**
   * PrismMount:source:
   *
   * The host's path.
   *
   * Since: 1.0
   */
  props[PROP_SOURCE] = g_param_spec_object ("source", NULL, NULL, G_TYPE_FILE, flags);
  /**
   * PrismMount:destination:
   *
   * The path inside; %NULL only when the source is no local path, which [method@SandboxSpec.check]
   * refuses.
   *
   * Since: 1.0
   */
  props[PROP_DESTINATION] = g_param_spec_string ("destination", NULL, NULL, NULL, flags);
  /**
   * PrismMount:writable:
   *
   * Whether the sandbox may write there.
   *
   * Since: 1.0
   */
  props[PROP_WRITABLE] = g_param_spec_boolean ("writable", NULL, NULL, FALSE, flags);
  g_object_class_install_properties (object_class, N_PROPS, props);
}

static void
prism_mount_init (PrismMount *self)
{
}

/**
 * prism_mount_new:
 * @source: a path of the host's
 * @destination: (nullable): an absolute path inside; %NULL = the same as on the host
 * @writable: whether the sandbox may write there
 *
 * Makes a mount.
 *
 * Returns: (transfer full): a mount
 *
 * Since: 1.0
 */
PrismMount *
prism_mount_new (GFile *source, const char *destination, gboolean writable)
{
  g_return_val_if_fail (G_IS_FILE (source), NULL);

  return g_object_new (PRISM_TYPE_MOUNT, "source", source, "destination", destination, "writable", writable, NULL);
}

/**
 * prism_mount_get_source:
 * @self: a mount
 *
 * Gets the host's path.
 *
 * Returns: (transfer none): the host's path
 *
 * Since: 1.0
 */
GFile *
prism_mount_get_source (PrismMount *self)
{
  g_return_val_if_fail (PRISM_IS_MOUNT (self), NULL);
  return self->source;
}

/**
 * prism_mount_get_destination:
 * @self: a mount
 *
 * Gets the path inside; %NULL only when the source is no local path, which
 * [method@SandboxSpec.check] refuses.
 *
 * Returns: (transfer none) (nullable): the path inside; %NULL only when the
 *   source is no local path, which [method@SandboxSpec.check] refuses
 *
 * Since: 1.0
 */
const char *
prism_mount_get_destination (PrismMount *self)
{
  g_return_val_if_fail (PRISM_IS_MOUNT (self), NULL);
  return self->destination;
}

/**
 * prism_mount_get_writable:
 * @self: a mount
 *
 * Tells whether the sandbox may write there.
 *
 * Returns: whether the sandbox may write there
 *
 * Since: 1.0
 */
gboolean
prism_mount_get_writable (PrismMount *self)
{
  g_return_val_if_fail (PRISM_IS_MOUNT (self), FALSE);
  return self->writable;
}
