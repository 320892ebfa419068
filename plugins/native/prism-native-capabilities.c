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

/* What the proxy lets through is reached, whatever the namespace holds back. */
static const char *
why_not_with_egress (PrismControls control, PrismNativeEgress egress)
{
  if (egress == PRISM_NATIVE_EGRESS_NONE)
    return NULL;
  if (control == PRISM_CONTROLS_NETWORK)
    return "not enforced: what the egress policy allows is reached, through the proxy";
  return control == PRISM_CONTROLS_EGRESS && egress == PRISM_NATIVE_EGRESS_OPEN
             ? "not enforced: the egress policy allows everything"
             : NULL;
}

static PrismControls
judge (gboolean host_tree, PrismNativeEgress egress, guint i, guint32 facts, GString *evidence)
{
  guint32 needed = controls[i].facts;
  const char *why_not = why_not_with_egress (controls[i].control, egress);
  g_autoptr (GString) text = g_string_new (NULL);

  /* A pathname socket of the host's passes any network namespace. */
  if (host_tree && (controls[i].control & (PRISM_CONTROLS_NETWORK | PRISM_CONTROLS_EGRESS)))
    needed |= PRISM_LAUNCH_FACT_NO_UNIX | PRISM_LAUNCH_FACT_PID;
  if (host_tree && controls[i].not_in_network_only != NULL)
    {
      g_string_append_printf (text, "not enforced: %s", controls[i].not_in_network_only);
      prism_native_evidence_say (evidence, controls[i].name, text->str);
      return PRISM_CONTROLS_NONE;
    }
  if (why_not != NULL)
    {
      prism_native_evidence_say (evidence, controls[i].name, why_not);
      return PRISM_CONTROLS_NONE;
    }
  describe (text, needed & ~facts, FALSE);
  if (text->len > 0)
    {
      g_string_prepend (text, "not enforced: the probe inside found: ");
      prism_native_evidence_say (evidence, controls[i].name, text->str);
      return PRISM_CONTROLS_NONE;
    }
  describe (text, needed, TRUE);
  if (controls[i].control == PRISM_CONTROLS_EGRESS && egress == PRISM_NATIVE_EGRESS_RESTRICTED)
    g_string_append (text, ", the egress proxy the only way out of it");
  g_string_append (text, "; proved by the probe inside");
  prism_native_evidence_say (evidence, controls[i].name, text->str);
  return controls[i].control;
}

static PrismCapabilities *
judge_all (gboolean host_tree, PrismNativeEgress egress, guint32 facts, const GString *evidence)
{
  g_autoptr (GString) all = g_string_new_len (evidence->str, evidence->len);
  PrismControls held = PRISM_CONTROLS_WORKSPACE;

  for (guint i = 0; i < G_N_ELEMENTS (controls); i++)
    held |= judge (host_tree, egress, i, facts, all);
  prism_native_evidence_say (all, "workspace",
                             "commands and file operations go through one agent, which sees one tree");
  return prism_capabilities_new (held, prism_native_evidence_end (all));
}

/* The same facts and the same evidence say the same: a host that makes one sandbox
 * after another hears it each time, and it is put into words once. */
PrismCapabilities *
prism_native_capabilities_new (const PrismNativeAsked *asked, guint32 facts, const GString *evidence)
{
  static GMutex lock;
  static struct
  {
    PrismCapabilities *capabilities;
    GString *evidence;
    gboolean host_tree;
    PrismNativeEgress egress;
    guint32 facts;
  } last;
  gboolean host_tree = asked->isolation == PRISM_NATIVE_ISOLATION_NETWORK_ONLY;
  PrismCapabilities *self;

  g_mutex_lock (&lock);
  if (last.capabilities == NULL || last.host_tree != host_tree || last.egress != asked->egress || last.facts != facts
      || !g_string_equal (last.evidence, evidence))
    {
      if (last.capabilities != NULL)
        {
          prism_capabilities_unref (last.capabilities);
          g_string_free (last.evidence, TRUE);
        }
      last.capabilities = judge_all (host_tree, asked->egress, facts, evidence);
      last.evidence = g_string_new_len (evidence->str, evidence->len);
      last.host_tree = host_tree;
      last.egress = asked->egress;
      last.facts = facts;
    }
  self = prism_capabilities_ref (last.capabilities);
  g_mutex_unlock (&lock);
  return self;
}

void
prism_native_capabilities_expect (const PrismNativeAsked *asked, const GString *evidence)
{
  g_autoptr (GString) all = g_string_new_len (evidence->str, evidence->len);
  guint32 facts = 0;

  if (asked->isolation != PRISM_NATIVE_ISOLATION_CONFINED)
    return;
  for (guint i = 0; i < G_N_ELEMENTS (all_facts); i++)
    if (all_facts[i].fact != PRISM_LAUNCH_FACT_NO_UNIX)
      facts |= all_facts[i].fact;
  prism_native_evidence_say (all, "landlock", "signals and abstract sockets scoped");
  prism_capabilities_unref (prism_native_capabilities_new (asked, facts, all));
}
