/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-sandbox-private.h"

#include "prism-enum-types.h"
#include "prism-home-private.h"
#include "prism-operations-private.h"
#include "prism-sandbox-error-private.h"

/**
 * PrismSandbox:
 *
 * A place where commands run and files are, and from which they do not get out.
 *
 * A method that is not implemented answers NOT_SUPPORTED. Paths are inside the
 * sandbox; a relative one is taken from the workspace. Every operation but
 * `exec` has a deadline of 30 s unless its description says otherwise.
 *
 * Since: 1.0
 */
G_DEFINE_INTERFACE (PrismSandbox, prism_sandbox, G_TYPE_OBJECT)

static guint tree_progress_signal;

static void
prism_sandbox_default_init (PrismSandboxInterface *iface)
{
  const GParamFlags flags = G_PARAM_READABLE | G_PARAM_STATIC_STRINGS;

  /**
   * PrismSandbox:id:
   *
   * Names this sandbox among all of its backend's.
   *
   * Since: 1.0
   */
  g_object_interface_install_property (iface, g_param_spec_string ("id", NULL, NULL, NULL, flags));
  /**
   * PrismSandbox:backend-name:
   *
   * What made it.
   *
   * Since: 1.0
   */
  g_object_interface_install_property (iface, g_param_spec_string ("backend-name", NULL, NULL, NULL, flags));
  /**
   * PrismSandbox:status:
   *
   * Its state.
   *
   * Since: 1.0
   */
  g_object_interface_install_property (
      iface, g_param_spec_enum ("status", NULL, NULL, PRISM_TYPE_SANDBOX_STATUS, PRISM_SANDBOX_STATUS_RUNNING, flags));
  /**
   * PrismSandbox:workspace:
   *
   * Where the workspace is inside.
   *
   * Since: 1.0
   */
  g_object_interface_install_property (iface, g_param_spec_string ("workspace", NULL, NULL, NULL, flags));
  /**
   * PrismSandbox:capabilities:
   *
   * What it contains, computed from what was applied.
   *
   * Since: 1.0
   */
  g_object_interface_install_property (iface,
                                       g_param_spec_boxed ("capabilities", NULL, NULL, PRISM_TYPE_CAPABILITIES, flags));
  /**
   * PrismSandbox:reference:
   *
   * What [method@Backend.connect_sandbox] takes.
   *
   * Since: 1.0
   */
  g_object_interface_install_property (iface, g_param_spec_string ("reference", NULL, NULL, NULL, flags));

  /**
   * PrismSandbox::tree-progress:
   * @self: the sandbox
   * @entries: entries that are done
   * @bytes: bytes that are done
   * @total_bytes: bytes in all; 0 = not known
   *
   * While a tree goes in or out: in the context that was current when that call
   * began, or in the calling thread if it is synchronous.
   *
   * Since: 1.0
   */
  tree_progress_signal = g_signal_new ("tree-progress", PRISM_TYPE_SANDBOX, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                                       G_TYPE_NONE, 3, G_TYPE_UINT64, G_TYPE_UINT64, G_TYPE_UINT64);
  prism_home_watch_interface (PRISM_TYPE_SANDBOX, sizeof (PrismSandboxInterface));
}

void
prism_sandbox_emit_tree_progress (gpointer self, guint64 entries, guint64 bytes, guint64 total_bytes)
{
  g_signal_emit (self, tree_progress_signal, 0, entries, bytes, total_bytes);
}

static char *
dup_string (PrismSandbox *self, const char *name)
{
  g_auto (GValue) value = G_VALUE_INIT;

  g_value_init (&value, G_TYPE_STRING);
  prism_home_get (self, name, &value);
  return g_value_dup_string (&value);
}

/**
 * prism_sandbox_dup_id:
 * @self: a sandbox
 *
 * Gets names it among all of its backend's.
 *
 * Returns: (transfer full): names it among all of its backend's
 *
 * Since: 1.0
 */
char *
prism_sandbox_dup_id (PrismSandbox *self)
{
  g_return_val_if_fail (PRISM_IS_SANDBOX (self), NULL);
  return dup_string (self, "id");
}

/**
 * prism_sandbox_dup_backend_name:
 * @self: a sandbox
 *
 * Tells what made it.
 *
 * Returns: (transfer full): what made it
 *
 * Since: 1.0
 */
char *
prism_sandbox_dup_backend_name (PrismSandbox *self)
{
  g_return_val_if_fail (PRISM_IS_SANDBOX (self), NULL);
  return dup_string (self, "backend-name");
}

/**
 * prism_sandbox_get_status:
 * @self: a sandbox
 *
 * Gets its state.
 *
 * Returns: its state
 *
 * Since: 1.0
 */
PrismSandboxStatus
prism_sandbox_get_status (PrismSandbox *self)
{
  g_auto (GValue) value = G_VALUE_INIT;

  g_return_val_if_fail (PRISM_IS_SANDBOX (self), PRISM_SANDBOX_STATUS_FAILED);

  g_value_init (&value, PRISM_TYPE_SANDBOX_STATUS);
  g_value_set_enum (&value, PRISM_SANDBOX_STATUS_FAILED);
  prism_home_get (self, "status", &value);
  return g_value_get_enum (&value);
}

/**
 * prism_sandbox_dup_workspace:
 * @self: a sandbox
 *
 * Tells where the workspace is inside.
 *
 * Returns: (transfer full) (type filename): where the workspace is inside
 *
 * Since: 1.0
 */
char *
prism_sandbox_dup_workspace (PrismSandbox *self)
{
  g_return_val_if_fail (PRISM_IS_SANDBOX (self), NULL);
  return dup_string (self, "workspace");
}

/**
 * prism_sandbox_dup_capabilities:
 * @self: a sandbox
 *
 * Tells what it contains.
 *
 * Returns: (transfer full): what it contains
 *
 * Since: 1.0
 */
PrismCapabilities *
prism_sandbox_dup_capabilities (PrismSandbox *self)
{
  g_auto (GValue) value = G_VALUE_INIT;
  PrismCapabilities *capabilities;

  g_return_val_if_fail (PRISM_IS_SANDBOX (self), NULL);

  g_value_init (&value, PRISM_TYPE_CAPABILITIES);
  prism_home_get (self, "capabilities", &value);
  capabilities = g_value_dup_boxed (&value);
  /* One that says nothing has nothing. */
  return capabilities != NULL ? capabilities : prism_capabilities_new (PRISM_CONTROLS_NONE, NULL);
}

/**
 * prism_sandbox_dup_reference:
 * @self: a sandbox
 *
 * Tells what [method@Backend.connect_sandbox] takes.
 *
 * Returns: (transfer full) (nullable): what [method@Backend.connect_sandbox] takes
 *
 * Since: 1.0
 */
char *
prism_sandbox_dup_reference (PrismSandbox *self)
{
  g_return_val_if_fail (PRISM_IS_SANDBOX (self), NULL);
  return dup_string (self, "reference");
}

char *
sandbox_dup_origin (gpointer self)
{
  return prism_sandbox_dup_backend_name (self);
}
