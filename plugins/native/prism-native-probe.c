/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The probe is the production start: a sandbox without a workspace, then one with a
 * folder shown, as the backend makes them. A check that is only a look at a setting
 * explains, it does not decide. */
#include "prism-native-probe.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "prism-launch.h"
#include "prism-native-capabilities.h"
#include "prism-native-cgroup.h"
#include "prism-native-host.h"
#include "prism-native-launcher.h"

#define ALL                                                                                                            \
  (PRISM_CONTROLS_FILESYSTEM | PRISM_CONTROLS_NETWORK | PRISM_CONTROLS_PROCESS | PRISM_CONTROLS_PRIVILEGE              \
   | PRISM_CONTROLS_EGRESS | PRISM_CONTROLS_WORKSPACE)

static void
add_check (PrismHealthReport *report,
           const char *id,
           PrismHealthStatus status,
           const char *summary,
           const char *remedy,
           PrismControls controls)
{
  g_autoptr (PrismHealthCheck) check = prism_health_check_new (id, status, summary, remedy, controls);
  prism_health_report_add (report, check);
}

static gboolean
check_agent (PrismHealthReport *report)
{
  const char *path = prism_agent_get_path ();
  g_autofree char *summary = NULL;

  if (access (path, X_OK) == 0)
    {
      summary = g_strdup_printf ("%s is there", path);
      add_check (report, "native.agent", PRISM_HEALTH_STATUS_PASS, summary, NULL, PRISM_CONTROLS_NONE);
      return TRUE;
    }
  summary = g_strdup_printf ("%s: %s", path, g_strerror (errno));
  add_check (report, "native.agent", PRISM_HEALTH_STATUS_FAIL, summary,
             "install prism-agent, or set PRISM_AGENT to where it is", PRISM_CONTROLS_NONE);
  return FALSE;
}

/* -1: no such setting. */
static gint64
read_setting (const char *path)
{
  g_autofree char *text = NULL;
  return g_file_get_contents (path, &text, NULL, NULL) ? g_ascii_strtoll (text, NULL, 10) : -1;
}

static void
check_settings (PrismHealthReport *report)
{
  static const struct
  {
    const char *path;
    gint64 bad;
    gboolean for_root;
    const char *summary, *remedy;
  } settings[] = {
    { "/proc/sys/user/max_user_namespaces", 0, TRUE, "user namespaces are switched off (user.max_user_namespaces=0)",
      "sysctl -w user.max_user_namespaces=15000" },
    { "/proc/sys/user/max_net_namespaces", 0, TRUE, "network namespaces are switched off (user.max_net_namespaces=0)",
      "sysctl -w user.max_net_namespaces=15000" },
    { "/proc/sys/kernel/unprivileged_userns_clone", 0, FALSE, "user namespaces are for root only on this machine",
      "sysctl -w kernel.unprivileged_userns_clone=1" },
    { "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", 1, FALSE,
      "AppArmor takes the rights inside user namespaces away from programs without a profile",
      "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, or an AppArmor profile for prism-agent with the "
      "permission userns" },
  };
  gboolean found = FALSE;

  for (guint i = 0; i < G_N_ELEMENTS (settings); i++)
    if ((settings[i].for_root || geteuid () != 0) && read_setting (settings[i].path) == settings[i].bad)
      {
        found = TRUE;
        add_check (report, "native.user-namespaces", PRISM_HEALTH_STATUS_WARN, settings[i].summary, settings[i].remedy,
                   PRISM_CONTROLS_NONE);
      }
  if (!found)
    add_check (report, "native.user-namespaces", PRISM_HEALTH_STATUS_PASS, "no setting stands against user namespaces",
               NULL, PRISM_CONTROLS_NONE);
}

static PrismNativeAsked
plain_asked (void)
{
  return (PrismNativeAsked){
    .host = prism_native_host_get (),
    .hostname = "prism",
    .sandbox_path = "/workspace",
    .tmp_bytes = 1 << 20,
    .workspace_bytes = 1 << 20,
  };
}

/* Started, looked at, ended. */
static gboolean
try_start (const PrismNativeAsked *asked, gint64 deadline, GCancellable *cancellable, guint32 *facts, GError **error)
{
  g_autoptr (GBytes) plan = prism_native_plan_write (asked, PRISM_NATIVE_PLAN_WHOLE, error);
  g_autoptr (PrismNativeLauncher) launcher = NULL;

  if (plan == NULL)
    return FALSE;
  launcher = prism_native_launcher_begin (prism_agent_get_path (), error);
  if (launcher == NULL || !prism_native_launcher_give_plan (launcher, plan, deadline, cancellable, error)
      || !prism_native_launcher_wait_ready (launcher, TRUE, deadline, cancellable, error))
    return FALSE;
  *facts = prism_native_launcher_get_facts (launcher);
  return prism_native_launcher_end (launcher, deadline, error);
}

/* The remedy is the error's last part; as a whole it is fit for both. */
static void
add_failure (PrismHealthReport *report, const char *id, PrismHealthStatus status, const GError *error)
{
  const char *remedy = strrchr (error->message, ';');
  g_autofree char *summary =
      g_strndup (error->message, remedy != NULL ? (gsize)(remedy - error->message) : strlen (error->message));

  if (g_error_matches (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_TIMEOUT))
    status = PRISM_HEALTH_STATUS_INCONCLUSIVE;
  add_check (report, id, status, summary,
             remedy != NULL ? remedy + 2 : "run prism doctor native on the machine itself and see its log",
             PRISM_CONTROLS_NONE);
}

static gboolean
check_start (PrismHealthReport *report, gint64 deadline, GCancellable *cancellable)
{
  const PrismNativeAsked asked = plain_asked ();
  g_autoptr (GString) evidence = g_string_new (NULL);
  g_autoptr (PrismCapabilities) capabilities = NULL;
  g_autoptr (GError) error = NULL;
  PrismControls held;
  guint32 facts = 0;

  if (!try_start (&asked, deadline, cancellable, &facts, &error))
    {
      add_failure (report, "native.start", PRISM_HEALTH_STATUS_FAIL, error);
      return FALSE;
    }
  capabilities = prism_native_capabilities_new (&asked, facts, evidence);
  held = prism_capabilities_get_controls (capabilities);
  if (held == ALL)
    add_check (report, "native.start", PRISM_HEALTH_STATUS_PASS,
               "a confined sandbox starts and its probe finds every control enforced", NULL, held);
  else
    add_check (report, "native.start", PRISM_HEALTH_STATUS_WARN,
               "a confined sandbox starts, but its probe misses a control",
               "see the evidence in prism run --json -- true", held);
  return TRUE;
}

static void
check_shown (PrismHealthReport *report, gint64 deadline, GCancellable *cancellable)
{
  g_autofree char *folder = g_get_current_dir ();
  PrismNativeAsked asked = plain_asked ();
  g_autoptr (GError) error = NULL;
  guint32 facts = 0;

  if (geteuid () != 0)
    {
      add_check (report, "native.workspace", PRISM_HEALTH_STATUS_PASS,
                 "a workspace is shown with the caller's own rights", NULL, PRISM_CONTROLS_NONE);
      return;
    }
  asked.workspace.path = strcmp (folder, "/") == 0 ? "/tmp" : folder;
  asked.workspace.kind = PRISM_NATIVE_KIND_FOLDER;
  asked.workspace_mode = PRISM_WORKSPACE_MODE_READONLY;
  if (try_start (&asked, deadline, cancellable, &facts, &error))
    {
      g_autofree char *summary = g_strdup_printf ("%s can be shown by an idmapped mount", asked.workspace.path);
      add_check (report, "native.workspace", PRISM_HEALTH_STATUS_PASS, summary, NULL, PRISM_CONTROLS_NONE);
    }
  else
    add_failure (report, "native.workspace", PRISM_HEALTH_STATUS_WARN, error);
}

static void
check_limits (PrismHealthReport *report)
{
  const PrismNativeCgroup *cgroup = prism_native_cgroup_get ();
  g_autoptr (GString) with = g_string_new (NULL), without = g_string_new (NULL);

  for (guint i = 0; i < PRISM_NATIVE_N_CONTROLLERS; i++)
    {
      GString *text = cgroup->parents[i] != NULL ? with : without;
      g_string_append_printf (text, "%s%s", text->len > 0 ? ", " : "", prism_native_controller_get_name (i));
    }
  if (without->len == 0)
    {
      g_autofree char *summary = g_strdup_printf ("control groups hold %s", with->str);
      add_check (report, "native.limits", PRISM_HEALTH_STATUS_PASS, summary, NULL, PRISM_CONTROLS_NONE);
      return;
    }
  g_autofree char *summary = g_strdup_printf (
      "no control group for %s: memory and processes are held by resource limits, cpu-millis is not", without->str);
  add_check (report, "native.limits", PRISM_HEALTH_STATUS_WARN, summary, cgroup->why_not, PRISM_CONTROLS_NONE);
}

PrismHealthReport *
prism_native_probe (gint64 deadline, GCancellable *cancellable, GError **error)
{
  g_autoptr (PrismHealthReport) report = prism_health_report_new ("native");
  gboolean started = check_agent (report);

  check_settings (report);
  started = started && check_start (report, deadline, cancellable);
  if (started)
    check_shown (report, deadline, cancellable);
  else
    add_check (report, "native.workspace", PRISM_HEALTH_STATUS_SKIPPED, "not asked: no sandbox starts", NULL,
               PRISM_CONTROLS_NONE);
  check_limits (report);
  if (g_cancellable_is_cancelled (cancellable))
    {
      g_set_error_literal (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_CANCELLED, "native: cancelled");
      return NULL;
    }
  return g_steal_pointer (&report);
}
