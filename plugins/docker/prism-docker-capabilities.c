/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-docker-capabilities.h"

#include <string.h>

#include "prism-http-json.h"

typedef struct
{
  GVariantBuilder evidence;
  PrismControls held;
  JsonNode *container, *host;
  const PrismDockerAsked *asked;
  const PrismDockerPlan *plan;
  const PrismDockerFacts *facts;
  const char *remapped;
  gboolean own_kernel;
} Judge;

/* What is missing is said in @missing, up to its first use the empty string. */
static void
need (GString *missing, gboolean there, const char *what)
{
  if (!there)
    g_string_append_printf (missing, "%s%s", missing->len > 0 ? ", " : "", what);
}

static void
decide (Judge *judge, PrismControls control, const char *name, const GString *missing, const char *evidence)
{
  g_autofree char *text = NULL;

  if (missing->len == 0)
    {
      judge->held |= control;
      g_variant_builder_add (&judge->evidence, "{ss}", name, evidence);
      return;
    }
  text = g_strconcat ("not enforced: ", missing->str, NULL);
  g_variant_builder_add (&judge->evidence, "{ss}", name, text);
}

static gboolean
has_text (JsonNode *list, const char *prefix)
{
  JsonArray *array = prism_http_json_array (list);

  for (guint i = 0; array != NULL && i < json_array_get_length (array); i++)
    {
      const char *text = prism_http_json_text (json_array_get_element (array, i));
      if (text != NULL && g_ascii_strncasecmp (text, prefix, strlen (prefix)) == 0)
        return TRUE;
    }
  return FALSE;
}

static gboolean
is_empty (JsonNode *list)
{
  JsonArray *array = prism_http_json_array (list);
  return array == NULL || json_array_get_length (array) == 0;
}

static const char *
host_text (Judge *judge, const char *name)
{
  const char *text = prism_http_json_text (prism_http_json_get (judge->host, name, NULL));
  return text != NULL ? text : "";
}

/* --- the parts that several controls rest on -------------------------------------------- */

/* The kernel's word counts more than the engine's; podman lists capabilities one by one. */
static gboolean
has_no_capabilities (Judge *judge)
{
  if (prism_http_json_flag (prism_http_json_get (judge->host, "Privileged", NULL))
      || !is_empty (prism_http_json_get (judge->host, "CapAdd", NULL)))
    return FALSE;
  return judge->facts->known ? judge->facts->no_capabilities
                             : has_text (prism_http_json_get (judge->host, "CapDrop", NULL), "ALL");
}

static gboolean
has_no_new_privs (Judge *judge)
{
  return judge->facts->known ? judge->facts->no_new_privs
                             : has_text (prism_http_json_get (judge->host, "SecurityOpt", NULL), "no-new-privileges");
}

static gboolean
is_asked_for (Judge *judge, const char *target, gboolean writable)
{
  for (guint i = 0; i < judge->plan->binds->len; i++)
    {
      const PrismDockerBind *bind = judge->plan->binds->pdata[i];
      if (strcmp (bind->target, target) == 0)
        return !writable || !bind->readonly || bind->held;
    }
  for (guint i = 0; i < judge->plan->tmpfs->len; i++)
    if (strcmp (((PrismDockerTmpfs *)judge->plan->tmpfs->pdata[i])->target, target) == 0)
      return TRUE;
  return FALSE;
}

/* What the engine says it mounts: nothing more, and nothing writable that should not be. */
static gboolean
has_only_our_mounts (Judge *judge)
{
  JsonArray *mounts = prism_http_json_array (prism_http_json_get (judge->container, "Mounts", NULL));
  guint binds = 0;

  if (mounts == NULL || !is_empty (prism_http_json_get (judge->host, "Devices", NULL))
      || !is_empty (prism_http_json_get (judge->host, "VolumesFrom", NULL)))
    return FALSE;
  for (guint i = 0; i < json_array_get_length (mounts); i++)
    {
      JsonNode *mount = json_array_get_element (mounts, i);
      const char *type = prism_http_json_text (prism_http_json_get (mount, "Type", NULL));
      const char *target = prism_http_json_text (prism_http_json_get (mount, "Destination", NULL));
      gboolean writable = prism_http_json_flag (prism_http_json_get (mount, "RW", NULL));
      if (target == NULL || type == NULL || strcmp (type, "volume") == 0 || !is_asked_for (judge, target, writable))
        return FALSE;
      binds += strcmp (type, "bind") == 0;
    }
  return binds == judge->plan->binds->len;
}

static gboolean
has_own_pids (Judge *judge)
{
  const char *mode = host_text (judge, "PidMode");
  return (*mode == 0 || strcmp (mode, "private") == 0) && (!judge->facts->known || judge->facts->own_pids);
}

/* --- the controls -------------------------------------------------------------------------- */

static void
judge_filesystem (Judge *judge)
{
  g_autoptr (GString) missing = g_string_new (NULL);

  need (missing, prism_http_json_flag (prism_http_json_get (judge->host, "ReadonlyRootfs", NULL)),
        "the root can be written");
  need (missing, has_only_our_mounts (judge), "the engine mounts more than was asked for");
  need (missing, has_no_capabilities (judge), "capabilities are left");
  decide (
      judge, PRISM_CONTROLS_FILESYSTEM, "filesystem", missing,
      "the image's root, read-only, and of the host's only what was named, as the engine and the kernel confirm; no "
      "capabilities");
}

static void
judge_network (Judge *judge, PrismDockerEgress egress)
{
  g_autoptr (GString) missing = g_string_new (NULL);

  need (missing, strcmp (host_text (judge, "NetworkMode"), "none") == 0, "it is on a network of the engine's");
  need (missing, !judge->facts->routes_known || judge->facts->no_routes, "its network namespace has a route");
  need (missing, egress == PRISM_DOCKER_EGRESS_NONE, "what the egress policy allows is reached, through the proxy");
  need (missing, has_no_capabilities (judge), "capabilities are left");
  decide (judge, PRISM_CONTROLS_NETWORK, "network", missing,
          "a network namespace with nothing but loopback (the engine's network none); sockets of other families are "
          "refused by the agent's filter (AF_VSOCK)");
}

static void
judge_egress (Judge *judge, PrismDockerEgress egress)
{
  g_autoptr (GString) missing = g_string_new (NULL);
  gboolean none = strcmp (host_text (judge, "NetworkMode"), "none") == 0;
  const char *evidence = egress == PRISM_DOCKER_EGRESS_NONE
                             ? "there is no way out: a network namespace with nothing but loopback"
                             : "a network namespace with nothing but loopback, the egress proxy the only way out of it";

  need (missing, none || judge->asked->attestation != NULL,
        "it is on a network of the engine's, and no attestation says that this leads only to a proxy");
  need (missing, egress != PRISM_DOCKER_EGRESS_OPEN, "the egress policy allows everything");
  need (missing, !none || !judge->facts->routes_known || judge->facts->no_routes, "its network namespace has a route");
  need (missing, has_no_capabilities (judge), "capabilities are left");
  if (!none)
    evidence = "claimed, not proved: the attestation that the host gave says that the network leads only to the proxy";
  decide (judge, PRISM_CONTROLS_EGRESS, "egress", missing, evidence);
}

static void
judge_process (Judge *judge)
{
  g_autoptr (GString) missing = g_string_new (NULL);
  const char *ipc = host_text (judge, "IpcMode");

  need (missing, has_own_pids (judge), "it has no pid namespace of its own");
  need (missing,
        judge->facts->ipc_known ? judge->facts->own_ipc : strcmp (ipc, "private") == 0 || strcmp (ipc, "none") == 0,
        "it has no IPC namespace of its own");
  need (missing, has_no_capabilities (judge), "capabilities are left");
  decide (judge, PRISM_CONTROLS_PROCESS, "process", missing,
          "a pid namespace and an IPC namespace of its own, the agent as pid 1, which cannot be traced");
}

static void
judge_privilege (Judge *judge)
{
  g_autoptr (GString) missing = g_string_new (NULL);
  gboolean kernel = judge->own_kernel;
  g_autofree char *evidence = NULL;

  need (missing, kernel || judge->remapped != NULL,
        "the container's root is the host's root, and its kernel the host's: an engine with userns-remap, a rootless "
        "one, or the runtime runsc is needed");
  need (missing, kernel || judge->remapped == NULL || !judge->facts->known || judge->facts->own_user,
        "the engine says that users are not the host's, and the kernel that they are");
  need (missing, has_no_capabilities (judge), "capabilities are left");
  need (missing, has_no_new_privs (judge), "no_new_privs is not set");
  evidence = g_strdup_printf ("%s; no capabilities, no_new_privs, system calls filtered",
                              kernel ? "runtime runsc: a kernel of its own" : judge->remapped);
  decide (judge, PRISM_CONTROLS_PRIVILEGE, "privilege", missing, evidence);
}

/* --- limits ---------------------------------------------------------------------------------- */

static void
say_limit (Judge *judge, const char *name, gint64 asked, const char *member, const char *mechanism)
{
  gint64 applied = prism_http_json_number (prism_http_json_get (judge->host, member, NULL), 0);

  g_variant_builder_add (&judge->evidence, "{ss}", name,
                         applied == asked ? mechanism : "not enforced: the engine says that it does not apply it here");
}

static void
say_limits (Judge *judge)
{
  const PrismDockerPlan *plan = judge->plan;

  say_limit (judge, "memory-bytes", plan->memory_bytes, "Memory", "the engine's control group, swap within it");
  say_limit (judge, "cpu-millis", plan->cpu_millis * 100, "CpuQuota", "the engine's control group (cpu quota)");
  say_limit (judge, "max-pids", plan->pids, "PidsLimit", "the engine's control group (pids)");
  g_variant_builder_add (&judge->evidence, "{ss}", "max-fds", "RLIMIT_NOFILE of each command");
  g_variant_builder_add (&judge->evidence, "{ss}", "tmp-bytes", "size of a tmpfs");
  g_variant_builder_add (&judge->evidence, "{ss}", "download-bytes", "size of a tmpfs");
  g_variant_builder_add (&judge->evidence, "{ss}", "workspace-bytes",
                         plan->copies || judge->asked->workspace == NULL
                             ? "size of a tmpfs"
                             : "for a disposable workspace; this one is the host's folder");
}

/* Of a custom network only the attestation tells what its proxy lets through. */
static PrismDockerEgress
choose_attested (PrismAttestation *attestation)
{
  g_autoptr (PrismEgressPolicy) everything = prism_egress_policy_new_allow_all ();
  const char *fingerprint = prism_egress_policy_get_fingerprint (everything);

  return attestation != NULL && g_strcmp0 (prism_attestation_get_policy_fingerprint (attestation), fingerprint) == 0
             ? PRISM_DOCKER_EGRESS_OPEN
             : PRISM_DOCKER_EGRESS_NONE;
}

PrismDockerEgress
prism_docker_choose_egress (const PrismDockerAsked *asked)
{
  PrismEgressPolicy *policy = prism_sandbox_spec_get_egress_policy (asked->spec);
  PrismNetworkMode network = prism_sandbox_spec_get_network (asked->spec);

  if (network != PRISM_NETWORK_MODE_EGRESS)
    return network == PRISM_NETWORK_MODE_CUSTOM ? choose_attested (asked->attestation) : PRISM_DOCKER_EGRESS_NONE;
  return policy != NULL && prism_egress_policy_get_kind (policy) == PRISM_EGRESS_POLICY_KIND_ALLOW_ALL
             ? PRISM_DOCKER_EGRESS_OPEN
             : PRISM_DOCKER_EGRESS_RESTRICTED;
}

PrismCapabilities *
prism_docker_capabilities_new (const PrismDockerAsked *asked,
                               const PrismDockerPlan *plan,
                               const PrismDockerFacts *facts,
                               JsonNode *container,
                               const char *remapped,
                               gboolean own_kernel)
{
  Judge judge = {
    .evidence = G_VARIANT_BUILDER_INIT (G_VARIANT_TYPE ("a{ss}")),
    .held = PRISM_CONTROLS_WORKSPACE,
    .container = container,
    .host = prism_http_json_get (container, "HostConfig", NULL),
    .asked = asked,
    .plan = plan,
    .facts = facts,
    .remapped = remapped,
    .own_kernel = own_kernel,
  };
  PrismDockerEgress egress = prism_docker_choose_egress (asked);
  const char *image = prism_http_json_text (prism_http_json_get (container, "Image", NULL));
  g_autofree char *digest = prism_docker_plan_dup_digest (plan);

  judge_filesystem (&judge);
  judge_network (&judge, egress);
  judge_process (&judge);
  judge_privilege (&judge);
  judge_egress (&judge, egress);
  g_variant_builder_add (&judge.evidence, "{ss}", "workspace",
                         "commands and file operations go through one agent, which sees one tree");
  g_variant_builder_add (&judge.evidence, "{ss}", "image", digest);
  if (image != NULL)
    g_variant_builder_add (&judge.evidence, "{ss}", "image-id", image);
  say_limits (&judge);
  return prism_capabilities_new (judge.held, g_variant_builder_end (&judge.evidence));
}
