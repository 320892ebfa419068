/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What an error means, for a person who did not write the program. Only domain
 * and code decide, never the message. Plug-ins add what they know of their own
 * errors (prism_explain_add()), and that goes first; what is here holds for
 * every backend. Ids are never renamed. */
#include "prism-explain.h"

#include "prism-egress-error.h"
#include "prism-error-private.h"
#include "prism-policy-error.h"
#include "prism-registry.h"
#include "prism-sandbox-error.h"

/**
 * PrismExplanation:
 *
 * What an error means and what helps.
 *
 * Since: 1.0
 */
struct _PrismExplanation
{
  GObject parent_instance;

  /* Static, or registered for ever. */
  const char *id;
  const char *text;
  const char *hint;
};

G_DEFINE_TYPE (PrismExplanation, prism_explanation, G_TYPE_OBJECT)

typedef struct
{
  GQuark (*domain) (void);
  int code;
  const char *id;
  const char *text;
  const char *hint;
} Rule;

static const Rule rules[] = {
  { prism_sandbox_error_quark, PRISM_SANDBOX_ERROR_UNAVAILABLE, "sandbox.unavailable",
    "This machine lacks something that the backend needs.", "“prism doctor” says what is missing and how to get it" },
  { prism_sandbox_error_quark, PRISM_SANDBOX_ERROR_REFUSED, "sandbox.refused",
    "A control or limit was asked for that cannot be enforced here, so nothing was started.",
    "“prism doctor” says what can be enforced here, and what each missing control needs" },
  { prism_sandbox_error_quark, PRISM_SANDBOX_ERROR_NOT_FOUND, "sandbox.not_found",
    "What was asked for does not exist inside the sandbox, which shows only a part of the host.", NULL },
  { prism_sandbox_error_quark, PRISM_SANDBOX_ERROR_NOT_EXECUTABLE, "sandbox.not_executable",
    "The file is there, but the kernel cannot start it.",
    "look at its mode, at its first line, and at which machine it was built for" },
  { prism_sandbox_error_quark, PRISM_SANDBOX_ERROR_LIMIT, "sandbox.limit", "A limit of the sandbox is used up.",
    "ask for less, or raise the limit that the message names" },
  { prism_sandbox_error_quark, PRISM_SANDBOX_ERROR_TIMEOUT, "sandbox.timeout",
    "The sandbox did not answer within the operation's deadline.", NULL },
  { prism_sandbox_error_quark, PRISM_SANDBOX_ERROR_LOST, "sandbox.worker_lost",
    "The sandbox ended, or its agent broke the protocol; what ran in it was killed.",
    "make a new sandbox; if it happens again with the same command, that command kills its sandbox" },
  { prism_sandbox_error_quark, PRISM_SANDBOX_ERROR_STATE, "sandbox.state",
    "The sandbox is stopped, closed or failed, and takes no operations.", "make a new sandbox" },
  { prism_sandbox_error_quark, PRISM_SANDBOX_ERROR_NOT_SUPPORTED, "sandbox.not_supported",
    "This backend does not have that operation.", "“prism inspect” lists the other backends" },
  { prism_sandbox_error_quark, PRISM_SANDBOX_ERROR_DENIED, "sandbox.denied",
    "A policy, or a permission inside the sandbox, does not allow it.", NULL },
  { prism_egress_error_quark, PRISM_EGRESS_ERROR_DENIED, "egress.denied", "No rule allows it to be reached.",
    "allow the host and port in the egress policy" },
  { prism_egress_error_quark, PRISM_EGRESS_ERROR_DNS, "egress.address",
    "The name has no address, or none that may be reached.",
    "a host with a private address needs a rule with allow-private" },
  { prism_egress_error_quark, PRISM_EGRESS_ERROR_LIMIT, "egress.limit", "A limit of the egress proxy is used up.",
    NULL },
  { prism_egress_error_quark, PRISM_EGRESS_ERROR_POLICY, "egress.malformed",
    "A rule, a credential or a request is malformed.", NULL },
  { prism_egress_error_quark, PRISM_EGRESS_ERROR_NOT_SUPPORTED, "egress.no_proxy",
    "There is no egress proxy, or it cannot do that.",
    "install the plug-in of the egress proxy; “prism inspect” lists what there is" },
  { prism_policy_error_quark, PRISM_POLICY_ERROR_MALFORMED, "policy.malformed",
    "The policy file is not as it should be.", "the message names the member by its path; docs/policy-format.md" },
  { prism_policy_error_quark, PRISM_POLICY_ERROR_UNREADABLE, "policy.unreadable",
    "The policy file, or what it takes a credential from, cannot be read.", NULL },
  { prism_tree_error_quark, PRISM_TREE_ERROR_LIMIT, "tree.limit", "The tree has more entries or bytes than allowed.",
    "leave out what is not needed, or raise max-export-entries or max-export-bytes" },
  { prism_tree_error_quark, PRISM_TREE_ERROR_TYPE, "tree.type",
    "The tree holds a device, socket or FIFO, which no archive of it can.", "remove the entry that the message names" },
  { prism_tree_error_quark, PRISM_TREE_ERROR_UNSAFE_PATH, "tree.unsafe_path", "An entry of the tree leads out of it.",
    "remove the entry that the message names" },
  { prism_tree_error_quark, PRISM_TREE_ERROR_CHANGED, "tree.changed", "The tree changed while it was read.",
    "try again when nothing writes to it" },
  { prism_limit_error_quark, PRISM_LIMIT_ERROR_UNKNOWN, "limit.unknown", "There is no limit of that name.", NULL },
  { prism_limit_error_quark, PRISM_LIMIT_ERROR_RANGE, "limit.range", "A limit is out of its range.",
    "choose values as the message says" },
  { prism_plugin_error_quark, PRISM_PLUGIN_ERROR_NOT_FOUND, "plugin.not_found", "No plug-in offers that backend.",
    "“prism inspect” lists the plug-ins that were found, and why others were refused" },
  { prism_plugin_error_quark, PRISM_PLUGIN_ERROR_UNTRUSTED, "plugin.untrusted",
    "A plug-in's file or folder could have been changed by somebody else.", NULL },
  { prism_plugin_error_quark, PRISM_PLUGIN_ERROR_ABI, "plugin.abi", "The plug-in was made for another libprism.",
    NULL },
  { prism_plugin_error_quark, PRISM_PLUGIN_ERROR_MANIFEST, "plugin.manifest",
    "The plug-in's manifest is missing or wrong.", NULL },
  { prism_plugin_error_quark, PRISM_PLUGIN_ERROR_LOAD, "plugin.load", "The plug-in's module cannot be opened.", NULL },
  { prism_plugin_error_quark, PRISM_PLUGIN_ERROR_TYPE, "plugin.type", "The plug-in does not implement what it offers.",
    NULL },
};

static void
prism_explanation_class_init (PrismExplanationClass *klass)
{
}

static void
prism_explanation_init (PrismExplanation *self)
{
}

static PrismExplanation *
explanation_new (const char *id, const char *text, const char *hint)
{
  PrismExplanation *self = g_object_new (PRISM_TYPE_EXPLANATION, NULL);

  self->id = id;
  self->text = text;
  self->hint = hint;

  return self;
}

/**
 * prism_error_explain:
 * @error: an error
 *
 * What @error means, from its domain and code alone.
 *
 * Returns: (transfer full) (nullable): the explanation, or %NULL where nothing useful is known
 *
 * Since: 1.0
 */
PrismExplanation *
prism_error_explain (const GError *error)
{
  const char *id, *text, *hint;

  g_return_val_if_fail (error != NULL, NULL);

  if (prism_explain_lookup (error, &id, &text, &hint))
    return explanation_new (id, text, hint);

  for (guint i = 0; i < G_N_ELEMENTS (rules); i++)
    if (rules[i].domain () == error->domain && rules[i].code == error->code)
      return explanation_new (rules[i].id, rules[i].text, rules[i].hint);

  return NULL;
}

/**
 * prism_explanation_get_id:
 * @self: an explanation
 *
 * Gets a stable name such as `sandbox.refused`.
 *
 * Returns: (transfer none): a stable name such as `sandbox.refused`
 *
 * Since: 1.0
 */
const char *
prism_explanation_get_id (PrismExplanation *self)
{
  g_return_val_if_fail (PRISM_IS_EXPLANATION (self), NULL);

  return self->id;
}

/**
 * prism_explanation_get_text:
 * @self: an explanation
 *
 * Tells what the error means, in a sentence.
 *
 * Returns: (transfer none): what the error means, in a sentence
 *
 * Since: 1.0
 */
const char *
prism_explanation_get_text (PrismExplanation *self)
{
  g_return_val_if_fail (PRISM_IS_EXPLANATION (self), NULL);

  return self->text;
}

/**
 * prism_explanation_get_hint:
 * @self: an explanation
 *
 * Tells what to do, or %NULL where the error's own message says it.
 *
 * Returns: (transfer none) (nullable): what to do, or %NULL where the error's own message says it
 *
 * Since: 1.0
 */
const char *
prism_explanation_get_hint (PrismExplanation *self)
{
  g_return_val_if_fail (PRISM_IS_EXPLANATION (self), NULL);

  return self->hint;
}
