/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a sandbox contains, as its host attests it. The shape of metadata from
 * elsewhere is checked here, its truth cannot be: whatever is not exactly six
 * booleans by their six names claims nothing. */
#include "prism-capabilities.h"

#include <string.h>

#include "prism-enum-types.h"
#include "prism-sandbox-error.h"

/* More than any honest object needs; the scanner is linear anyway. */
#define MAX_JSON 4096

struct _PrismCapabilities
{
  gatomicrefcount refs;
  PrismControls controls;
  GVariant *evidence; /* a{ss}, or NULL */
};

/**
 * PrismCapabilities:
 *
 * Six booleans and their evidence: what this very sandbox contains, computed
 * from what was applied. Frozen.
 *
 * Since: 1.0
 */
G_DEFINE_BOXED_TYPE (PrismCapabilities, prism_capabilities, prism_capabilities_ref, prism_capabilities_unref)

/* In the fixed order that errors name them in. */
static const struct
{
  PrismControls control;
  const char *nick;
  const char *key;
} fields[] = {
  { PRISM_CONTROLS_FILESYSTEM, "filesystem", "filesystemIsolated" },
  { PRISM_CONTROLS_NETWORK, "network", "networkIsolated" },
  { PRISM_CONTROLS_PROCESS, "process", "processIsolated" },
  { PRISM_CONTROLS_PRIVILEGE, "privilege", "privilegeIsolated" },
  { PRISM_CONTROLS_EGRESS, "egress", "egressRestricted" },
  { PRISM_CONTROLS_WORKSPACE, "workspace", "workspaceCoherent" },
};

#define ALL_CONTROLS ((PrismControls)((1 << G_N_ELEMENTS (fields)) - 1))

/**
 * prism_capabilities_new:
 * @controls: what the sandbox really has
 * @evidence: (nullable): `a{ss}`, from a control's nick ("network") or a limit's
 *   name to the mechanism and what the probe saw, or to `not enforced: …` and why
 *
 * Makes capabilities.
 *
 * Returns: (transfer full): capabilities
 *
 * Since: 1.0
 */
PrismCapabilities *
prism_capabilities_new (PrismControls controls, GVariant *evidence)
{
  PrismCapabilities *self;

  g_return_val_if_fail (evidence == NULL || g_variant_is_of_type (evidence, G_VARIANT_TYPE ("a{ss}")), NULL);

  self = g_new (PrismCapabilities, 1);
  g_atomic_ref_count_init (&self->refs);
  self->controls = controls & ALL_CONTROLS;
  self->evidence = evidence != NULL ? g_variant_ref_sink (evidence) : NULL;
  return self;
}

static PrismControls
find_key (const char *key, gsize length)
{
  for (gsize i = 0; i < G_N_ELEMENTS (fields); i++)
    if (strlen (fields[i].key) == length && memcmp (fields[i].key, key, length) == 0)
      return fields[i].control;
  return PRISM_CONTROLS_NONE;
}

/* Each of the six once: a second one, an unknown one and a missing one show. */
static gboolean
add_field (const char *key, gsize length, gboolean value, PrismControls *seen, PrismControls *held)
{
  PrismControls control = find_key (key, length);

  if (control == PRISM_CONTROLS_NONE || (*seen & control) != 0)
    return FALSE;
  *seen |= control;
  if (value)
    *held |= control;
  return TRUE;
}

/**
 * prism_capabilities_parse:
 * @variant: (nullable): metadata: `a{sv}` or `a{sb}`
 *
 * Takes over what a host says of its sandbox: exactly the six keys of the
 * contract (`workspaceCoherent`, `filesystemIsolated`, `networkIsolated`,
 * `processIsolated`, `privilegeIsolated`, `egressRestricted`), each a boolean.
 * Anything else is malformed and claims nothing.
 *
 * Returns: (transfer full): capabilities; all false when malformed
 *
 * Since: 1.0
 */
PrismCapabilities *
prism_capabilities_parse (GVariant *variant)
{
  PrismControls seen = PRISM_CONTROLS_NONE, held = PRISM_CONTROLS_NONE;
  gboolean good = variant != NULL && g_variant_is_of_type (variant, G_VARIANT_TYPE ("a{s*}"))
                  && g_variant_n_children (variant) == G_N_ELEMENTS (fields);

  for (gsize i = 0; good && i < G_N_ELEMENTS (fields); i++)
    {
      g_autoptr (GVariant) entry = g_variant_get_child_value (variant, i);
      g_autoptr (GVariant) key = g_variant_get_child_value (entry, 0);
      g_autoptr (GVariant) value = g_variant_get_child_value (entry, 1);
      const char *name = g_variant_get_string (key, NULL);

      if (g_variant_is_of_type (value, G_VARIANT_TYPE_VARIANT))
        {
          GVariant *inner = g_variant_get_variant (value);
          g_variant_unref (value);
          value = inner;
        }
      good = g_variant_is_of_type (value, G_VARIANT_TYPE_BOOLEAN)
             && add_field (name, strlen (name), g_variant_get_boolean (value), &seen, &held);
    }
  return prism_capabilities_new (good ? held : PRISM_CONTROLS_NONE, NULL);
}

/* --- the JSON form: a strict scanner over one flat object of booleans --------- */

typedef struct
{
  const char *at, *end;
} Scanner;

static void
skip_space (Scanner *s)
{
  while (s->at < s->end && (*s->at == ' ' || *s->at == '\t' || *s->at == '\n' || *s->at == '\r'))
    s->at++;
}

static gboolean
take (Scanner *s, const char *word)
{
  gsize length = strlen (word);

  skip_space (s);
  if ((gsize)(s->end - s->at) < length || memcmp (s->at, word, length) != 0)
    return FALSE;
  s->at += length;
  return TRUE;
}

/* An escape would make another spelling of a name; none of the six has one. */
static gboolean
take_key (Scanner *s, const char **key, gsize *length)
{
  const char *close;

  if (!take (s, "\""))
    return FALSE;
  close = memchr (s->at, '"', (gsize)(s->end - s->at));
  if (close == NULL)
    return FALSE;
  *key = s->at;
  *length = (gsize)(close - s->at);
  s->at = close + 1;
  return TRUE;
}

static gboolean
scan_object (Scanner *s, PrismControls *held)
{
  PrismControls seen = PRISM_CONTROLS_NONE;

  for (gsize i = 0; i < G_N_ELEMENTS (fields); i++)
    {
      const char *key;
      gsize length;
      gboolean value;

      if (!take (s, i == 0 ? "{" : ",") || !take_key (s, &key, &length) || !take (s, ":"))
        return FALSE;
      value = take (s, "true");
      if (!value && !take (s, "false"))
        return FALSE;
      if (!add_field (key, length, value, &seen, held))
        return FALSE;
    }
  if (!take (s, "}"))
    return FALSE;
  skip_space (s);
  return s->at == s->end;
}

/**
 * prism_capabilities_parse_json:
 * @json: JSON text
 * @length: its bytes, or -1 if it ends with a NUL
 *
 * As [func@Capabilities.parse], from JSON.
 *
 * Returns: (transfer full): capabilities; all false when malformed
 *
 * Since: 1.0
 */
PrismCapabilities *
prism_capabilities_parse_json (const char *json, gssize length)
{
  PrismControls held = PRISM_CONTROLS_NONE;
  Scanner s;

  if (json == NULL)
    length = 0;
  else if (length < 0)
    length = (gssize)strlen (json);
  s = (Scanner){ json, json + length };
  if (json == NULL || length > MAX_JSON || !scan_object (&s, &held))
    held = PRISM_CONTROLS_NONE;
  return prism_capabilities_new (held, NULL);
}

/**
 * prism_capabilities_ref:
 * @self: capabilities
 *
 * Gets @self.
 *
 * Returns: (transfer full): @self
 *
 * Since: 1.0
 */
PrismCapabilities *
prism_capabilities_ref (PrismCapabilities *self)
{
  g_return_val_if_fail (self != NULL, NULL);

  g_atomic_ref_count_inc (&self->refs);
  return self;
}

/**
 * prism_capabilities_unref:
 * @self: (transfer full): capabilities
 *
 * Lets go of them.
 *
 * Since: 1.0
 */
void
prism_capabilities_unref (PrismCapabilities *self)
{
  g_return_if_fail (self != NULL);

  if (!g_atomic_ref_count_dec (&self->refs))
    return;
  g_clear_pointer (&self->evidence, g_variant_unref);
  g_free (self);
}

/**
 * prism_capabilities_get_controls:
 * @self: capabilities
 *
 * Tells what the sandbox has.
 *
 * Returns: what the sandbox has
 *
 * Since: 1.0
 */
PrismControls
prism_capabilities_get_controls (const PrismCapabilities *self)
{
  g_return_val_if_fail (self != NULL, PRISM_CONTROLS_NONE);
  return self->controls;
}

/**
 * prism_capabilities_contains_controls:
 * @self: capabilities
 * @controls: what is required
 *
 * Tells whether the sandbox has all of @controls.
 *
 * Returns: whether the sandbox has all of @controls
 *
 * Since: 1.0
 */
gboolean
prism_capabilities_contains_controls (const PrismCapabilities *self, PrismControls controls)
{
  g_return_val_if_fail (self != NULL, FALSE);
  return (controls & ~self->controls) == 0;
}

/**
 * prism_capabilities_get_workspace_coherent:
 * @self: capabilities
 *
 * Tells whether shell, file and repository tools see one tree.
 *
 * Returns: whether shell, file and repository tools see one tree
 *
 * Since: 1.0
 */
gboolean
prism_capabilities_get_workspace_coherent (const PrismCapabilities *self)
{
  return prism_capabilities_contains_controls (self, PRISM_CONTROLS_WORKSPACE);
}

/**
 * prism_capabilities_get_filesystem_isolated:
 * @self: capabilities
 *
 * Tells whether processes inside cannot touch host files outside the workspace and the named
 * mounts.
 *
 * Returns: whether processes inside cannot touch host files outside the
 *   workspace and the named mounts
 *
 * Since: 1.0
 */
gboolean
prism_capabilities_get_filesystem_isolated (const PrismCapabilities *self)
{
  return prism_capabilities_contains_controls (self, PRISM_CONTROLS_FILESYSTEM);
}

/**
 * prism_capabilities_get_network_isolated:
 * @self: capabilities
 *
 * Tells whether no network is reachable.
 *
 * Returns: whether no network is reachable
 *
 * Since: 1.0
 */
gboolean
prism_capabilities_get_network_isolated (const PrismCapabilities *self)
{
  return prism_capabilities_contains_controls (self, PRISM_CONTROLS_NETWORK);
}

/**
 * prism_capabilities_get_process_isolated:
 * @self: capabilities
 *
 * Tells whether it has a pid namespace of its own.
 *
 * Returns: whether it has a pid namespace of its own
 *
 * Since: 1.0
 */
gboolean
prism_capabilities_get_process_isolated (const PrismCapabilities *self)
{
  return prism_capabilities_contains_controls (self, PRISM_CONTROLS_PROCESS);
}

/**
 * prism_capabilities_get_privilege_isolated:
 * @self: capabilities
 *
 * Tells whether processes inside cannot gain host privileges.
 *
 * Returns: whether processes inside cannot gain host privileges
 *
 * Since: 1.0
 */
gboolean
prism_capabilities_get_privilege_isolated (const PrismCapabilities *self)
{
  return prism_capabilities_contains_controls (self, PRISM_CONTROLS_PRIVILEGE);
}

/**
 * prism_capabilities_get_egress_restricted:
 * @self: capabilities
 *
 * Tells whether every way out goes through a controlled proxy, or there is none.
 *
 * Returns: whether every way out goes through a controlled proxy, or there is none
 *
 * Since: 1.0
 */
gboolean
prism_capabilities_get_egress_restricted (const PrismCapabilities *self)
{
  return prism_capabilities_contains_controls (self, PRISM_CONTROLS_EGRESS);
}

/**
 * prism_capabilities_get_evidence:
 * @self: capabilities
 * @control: a control's nick, or a limit's name
 *
 * Gets the mechanism and what the probe saw, or `not enforced: …` and why; %NULL if nothing was
 * said about it.
 *
 * Returns: (transfer none) (nullable): the mechanism and what the probe saw, or
 *   `not enforced: …` and why; %NULL if nothing was said about it
 *
 * Since: 1.0
 */
const char *
prism_capabilities_get_evidence (const PrismCapabilities *self, const char *control)
{
  const char *text = NULL;

  g_return_val_if_fail (self != NULL, NULL);
  g_return_val_if_fail (control != NULL, NULL);

  if (self->evidence != NULL)
    g_variant_lookup (self->evidence, control, "&s", &text);
  return text;
}

/**
 * prism_capabilities_dup_evidence:
 * @self: capabilities
 *
 * Gets `a{ss}`, all of the evidence: from the name of a control or limit to what was applied and
 * seen.
 *
 * Returns: (transfer full): `a{ss}`, all of the evidence: from the name of a control or limit to what was applied and
 *   seen
 *
 * Since: 1.0
 */
GVariant *
prism_capabilities_dup_evidence (const PrismCapabilities *self)
{
  g_return_val_if_fail (self != NULL, NULL);

  if (self->evidence != NULL)
    return g_variant_ref (self->evidence);
  return g_variant_ref_sink (g_variant_new_array (G_VARIANT_TYPE ("{ss}"), NULL, 0));
}

/**
 * prism_capabilities_to_variant:
 * @self: capabilities
 *
 * Gets `a{sb}` of the six fields, as [func@Capabilities.parse] takes them.
 *
 * Returns: (transfer full): `a{sb}` of the six fields, as [func@Capabilities.parse] takes them
 *
 * Since: 1.0
 */
GVariant *
prism_capabilities_to_variant (const PrismCapabilities *self)
{
  GVariantBuilder builder;

  g_return_val_if_fail (self != NULL, NULL);

  g_variant_builder_init (&builder, G_VARIANT_TYPE ("a{sb}"));
  for (gsize i = 0; i < G_N_ELEMENTS (fields); i++)
    g_variant_builder_add (&builder, "{sb}", fields[i].key, (self->controls & fields[i].control) != 0);
  return g_variant_ref_sink (g_variant_builder_end (&builder));
}

/**
 * prism_capabilities_get_containment_claim:
 * @self: capabilities
 *
 * The older systems' single word: coherent, filesystem, network and process at
 * once. Never an input to authorisation: ask for the controls that matter.
 *
 * Returns: whether all four hold
 *
 * Since: 1.0
 * Deprecated: 1.0: Use [method@Capabilities.contains_controls].
 */
gboolean
prism_capabilities_get_containment_claim (const PrismCapabilities *self)
{
  return prism_capabilities_contains_controls (self, PRISM_CONTROLS_WORKSPACE | PRISM_CONTROLS_FILESYSTEM
                                                         | PRISM_CONTROLS_NETWORK | PRISM_CONTROLS_PROCESS);
}

/**
 * prism_capabilities_check_required:
 * @self: what the sandbox has
 * @require: what its caller requires
 * @error: return location for a [error@SandboxError]
 *
 * For those who make sandboxes: refuses a sandbox that has less than was
 * required, naming each missing control and its evidence.
 *
 * Returns: whether nothing is missing
 *
 * Since: 1.0
 */
gboolean
prism_capabilities_check_required (const PrismCapabilities *self, PrismControls require, GError **error)
{
  g_autoptr (GString) missing = NULL;

  g_return_val_if_fail (self != NULL, FALSE);

  if ((require & ~self->controls) == 0)
    return TRUE;
  missing = g_string_new (NULL);
  for (gsize i = 0; i < G_N_ELEMENTS (fields); i++)
    if ((require & ~self->controls & fields[i].control) != 0)
      {
        const char *evidence = prism_capabilities_get_evidence (self, fields[i].nick);
        g_string_append_printf (missing, "%s%s (%s)", missing->len > 0 ? "; " : "", fields[i].nick,
                                evidence != NULL ? evidence : "nothing enforces it");
      }
  if ((require & ~ALL_CONTROLS) != 0)
    g_string_append_printf (missing, "%sunknown controls 0x%x", missing->len > 0 ? "; " : "", require & ~ALL_CONTROLS);
  g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_REFUSED,
               "required, but not enforced here: %s; `prism doctor` says what each needs", missing->str);
  return FALSE;
}
