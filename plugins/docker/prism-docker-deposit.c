/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* TRUST. It lies in a folder that is the user's own. It is read as if that were not so:
 * bounded by who reads the file, and what does not fit is refused. */
#include "prism-docker-deposit.h"

#define VERSION 1
/* version, spec, controls, evidence, environment, socket, program, container, image, digest, created, started */
#define TYPE "(uvua{ss}aayayayssssx)"
#define CONTROLS                                                                                                       \
  (PRISM_CONTROLS_FILESYSTEM | PRISM_CONTROLS_NETWORK | PRISM_CONTROLS_PROCESS | PRISM_CONTROLS_PRIVILEGE              \
   | PRISM_CONTROLS_EGRESS | PRISM_CONTROLS_WORKSPACE)

GBytes *
prism_docker_deposit_write (const PrismDockerDeposit *self)
{
  g_autoptr (GVariant) evidence = prism_capabilities_dup_evidence (self->capabilities);
  g_autoptr (GVariant) variant = g_variant_ref_sink (g_variant_new (
      "(uvu@a{ss}^aay^ay^ayssssx)", (guint32)VERSION, prism_sandbox_spec_to_variant (self->spec),
      (guint32)prism_capabilities_get_controls (self->capabilities), evidence, self->environment, self->socket,
      self->program, self->container, self->image, self->digest, self->created, self->started));

  return g_variant_get_data_as_bytes (variant);
}

static gboolean
take (PrismDockerDeposit *self, GVariant *variant, GError **error)
{
  g_autoptr (GVariant) spec = NULL, evidence = NULL;
  guint32 version, controls;

  g_variant_get (variant, "(uvu@a{ss}^aay^ay^ayssssx)", &version, &spec, &controls, &evidence, &self->environment,
                 &self->socket, &self->program, &self->container, &self->image, &self->digest, &self->created,
                 &self->started);
  if (version != VERSION)
    {
      g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_FAILED,
                   "docker: the sandbox was made by another version (%u, this is %d)", version, VERSION);
      return FALSE;
    }
  self->spec = prism_sandbox_spec_new_from_variant (spec, PRISM_LIFETIME_DETACHED, error);
  self->capabilities = prism_capabilities_new (controls & CONTROLS, evidence);
  return self->spec != NULL;
}

gboolean
prism_docker_deposit_read (PrismDockerDeposit *self, GBytes *bytes, GError **error)
{
  g_autoptr (GVariant) variant = g_variant_ref_sink (g_variant_new_from_bytes (G_VARIANT_TYPE (TYPE), bytes, FALSE));

  *self = (PrismDockerDeposit){ 0 };
  if (g_variant_is_normal_form (variant))
    return take (self, variant, error);
  g_set_error_literal (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_FAILED,
                       "docker: what was left for a next host is no description of a sandbox");
  return FALSE;
}

void
prism_docker_deposit_clear (PrismDockerDeposit *self)
{
  g_clear_object (&self->spec);
  g_clear_pointer (&self->capabilities, prism_capabilities_unref);
  g_clear_pointer (&self->environment, g_strfreev);
  g_clear_pointer (&self->socket, g_free);
  g_clear_pointer (&self->program, g_free);
  g_clear_pointer (&self->container, g_free);
  g_clear_pointer (&self->image, g_free);
  g_clear_pointer (&self->digest, g_free);
  g_clear_pointer (&self->created, g_free);
}
