/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A control is claimed when every fact that it stands on was proved by the probe in
 * that very sandbox, and the isolation that was asked for is one that gives it. */
#include "prism-native-capabilities.h"

#include "prism-launch.h"

typedef struct
{
  guint32 fact;
  const char *holds, *missing;
} Fact;

static const Fact all_facts[] = {
  { PRISM_LAUNCH_FACT_ROOT, "a root of its own, read-only but for its own folders",
    "the host's root can be reached or written" },
  { PRISM_LAUNCH_FACT_PID, "a pid namespace with its own /proc, the agent as pid 1", "no pid namespace of its own" },
  { PRISM_LAUNCH_FACT_NET, "a network namespace with nothing but loopback", "no network namespace of its own" },
  { PRISM_LAUNCH_FACT_FAMILIES, "sockets of other families refused (AF_VSOCK)", "AF_VSOCK sockets can be opened" },
  { PRISM_LAUNCH_FACT_NO_UNIX, "new unix sockets refused", "sockets of the host can be connected to by their path" },
  { PRISM_LAUNCH_FACT_USER, "a user namespace that maps one unprivileged id", "no user namespace of its own" },
  { PRISM_LAUNCH_FACT_CAPS, "no capabilities", "capabilities are left" },
  { PRISM_LAUNCH_FACT_NNP, "no_new_privs", "no_new_privs is not set" },
  { PRISM_LAUNCH_FACT_SECCOMP, "system calls filtered", "no system call filter" },
  { PRISM_LAUNCH_FACT_NO_USERNS, "no further user namespaces", "a command can make user namespaces" },
  { PRISM_LAUNCH_FACT_IPC, "an IPC namespace", "no IPC namespace of its own" },
  { PRISM_LAUNCH_FACT_UNDUMPABLE, "the agent cannot be traced", "the agent can be traced" },
};

static const struct
{
  PrismControls control;
  const char *name;
  guint32 facts;
  const char *not_in_network_only;
} controls[] = {
  { PRISM_CONTROLS_FILESYSTEM, "filesystem",
    PRISM_LAUNCH_FACT_ROOT | PRISM_LAUNCH_FACT_CAPS | PRISM_LAUNCH_FACT_NO_USERNS,
    "isolation=network-only shows the host's own tree" },
  { PRISM_CONTROLS_NETWORK, "network", PRISM_LAUNCH_FACT_NET | PRISM_LAUNCH_FACT_FAMILIES | PRISM_LAUNCH_FACT_CAPS,
    NULL },
  { PRISM_CONTROLS_PROCESS, "process",
    PRISM_LAUNCH_FACT_PID | PRISM_LAUNCH_FACT_IPC | PRISM_LAUNCH_FACT_CAPS | PRISM_LAUNCH_FACT_UNDUMPABLE,
    "not claimed in isolation=network-only: the host's tree leads to files and pipes of its processes" },
  { PRISM_CONTROLS_PRIVILEGE, "privilege",
    PRISM_LAUNCH_FACT_USER | PRISM_LAUNCH_FACT_CAPS | PRISM_LAUNCH_FACT_NNP | PRISM_LAUNCH_FACT_SECCOMP
        | PRISM_LAUNCH_FACT_NO_USERNS,
    "not claimed in isolation=network-only: commands run on the host's tree with the caller's rights" },
  { PRISM_CONTROLS_EGRESS, "egress", PRISM_LAUNCH_FACT_NET | PRISM_LAUNCH_FACT_FAMILIES | PRISM_LAUNCH_FACT_CAPS,
    NULL },
};

static void
describe (GString *text, guint32 facts, gboolean hold)
{
  for (guint i = 0; i < G_N_ELEMENTS (all_facts); i++)
    if (facts & all_facts[i].fact)
      g_string_append_printf (text, "%s%s", text->len > 0 ? ", " : "",
                              hold ? all_facts[i].holds : all_facts[i].missing);
}

static PrismControls
judge (const PrismNativeAsked *asked, guint i, guint32 facts, GVariantDict *evidence)
{
  gboolean host_tree = asked->isolation == PRISM_NATIVE_ISOLATION_NETWORK_ONLY;
  guint32 needed = controls[i].facts;
  g_autoptr (GString) text = g_string_new (NULL);

  /* A pathname socket of the host's passes any network namespace. */
  if (host_tree && (controls[i].control & (PRISM_CONTROLS_NETWORK | PRISM_CONTROLS_EGRESS)))
    needed |= PRISM_LAUNCH_FACT_NO_UNIX | PRISM_LAUNCH_FACT_PID;
  if (host_tree && controls[i].not_in_network_only != NULL)
    {
      g_variant_dict_insert_value (
          evidence, controls[i].name,
          g_variant_new_take_string (g_strconcat ("not enforced: ", controls[i].not_in_network_only, NULL)));
      return PRISM_CONTROLS_NONE;
    }
  describe (text, needed & ~facts, FALSE);
  if (text->len > 0)
    {
      g_string_prepend (text, "not enforced: the probe inside found: ");
      g_variant_dict_insert (evidence, controls[i].name, "s", text->str);
      return PRISM_CONTROLS_NONE;
    }
  describe (text, needed, TRUE);
  g_string_append (text, "; proved by the probe inside");
  g_variant_dict_insert (evidence, controls[i].name, "s", text->str);
  return controls[i].control;
}

/* a{sv} to a{ss}, with the parts that are there: made anew they would be a good part
 * of what a create costs. */
static GVariant *
to_strings (GVariantDict *evidence)
{
  g_autoptr (GVariant) all = g_variant_ref_sink (g_variant_dict_end (evidence));
  gsize n = g_variant_n_children (all);
  g_autofree GVariant **entries = g_new (GVariant *, n);

  for (gsize i = 0; i < n; i++)
    {
      g_autoptr (GVariant) entry = g_variant_get_child_value (all, i);
      g_autoptr (GVariant) key = g_variant_get_child_value (entry, 0);
      g_autoptr (GVariant) box = g_variant_get_child_value (entry, 1);
      g_autoptr (GVariant) text = g_variant_get_variant (box);

      entries[i] = g_variant_new_dict_entry (key, text);
    }
  return g_variant_new_array (G_VARIANT_TYPE ("{ss}"), entries, n);
}

PrismCapabilities *
prism_native_capabilities_new (const PrismNativeAsked *asked, guint32 facts, GVariantDict *evidence)
{
  PrismControls held = PRISM_CONTROLS_WORKSPACE;

  for (guint i = 0; i < G_N_ELEMENTS (controls); i++)
    held |= judge (asked, i, facts, evidence);
  g_variant_dict_insert (evidence, "workspace", "s",
                         "commands and file operations go through one agent, which sees one tree");
  return prism_capabilities_new (held, to_strings (evidence));
}
