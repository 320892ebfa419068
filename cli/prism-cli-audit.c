/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The egress proxy's decisions in words. Pure. Names in a record may come from inside
 * a sandbox: what is shown is made visible, and what is offered as an option is a rule
 * that parses. */
#include "prism-cli-audit.h"

#include "prism-cli.h"

#include <string.h>

char *
prism_cli_audit_place (const PrismAuditRecord *record)
{
  const char *host = prism_audit_record_get_host (record);
  PrismEgressScheme protocol = prism_audit_record_get_protocol (record);
  guint port = prism_audit_record_get_port (record);
  gboolean usual = port == 0 || port == (protocol == PRISM_EGRESS_SCHEME_HTTP ? 80 : 443);
  g_autofree char *shown = prism_cli_visible (host);
  gboolean is_ipv6 = strchr (host, ':') != NULL && g_hostname_is_ip_address (host);
  g_autofree char *bracketed = is_ipv6 ? g_strdup_printf ("[%s]", shown) : g_strdup (shown);
  const char *scheme = protocol == PRISM_EGRESS_SCHEME_HTTP    ? "http://"
                       : protocol == PRISM_EGRESS_SCHEME_HTTPS ? "https://"
                                                               : "";

  if (usual && protocol != PRISM_EGRESS_SCHEME_ANY)
    return g_strconcat (scheme, bracketed, NULL);
  return g_strdup_printf ("%s%s:%u", scheme, bracketed, port);
}

/* Refusals by a limit, by the proxy's word for them. */
static const struct
{
  const char *reason, *limit;
} limits[] = {
  { "concurrent-connections", "concurrent-connections" },
  { "head-timeout", "request-head-ms" },
  { "idle", "connection-idle-ms" },
  { "redirect-hops", "redirect-hops" },
  { "request-bytes", "request-bytes" },
  { "response-bytes", "response-bytes" },
  { "transfer-time", "transfer-time-ms" },
};

char *
prism_cli_audit_remedy (const PrismAuditRecord *record)
{
  const char *reason_id = prism_audit_record_get_reason_id (record);
  const char *reason = prism_audit_record_get_reason (record);
  g_autofree char *place = prism_cli_audit_place (record);
  g_autoptr (GPtrArray) rules = prism_egress_rule_parse (place, PRISM_EGRESS_RULE_FLAGS_NONE, NULL);

  for (guint i = 0; reason_id != NULL && i < G_N_ELEMENTS (limits); i++)
    if (g_str_equal (reason_id, limits[i].reason))
      return g_strdup_printf ("--limit %s=…", limits[i].limit);
  if (rules == NULL || reason_id == NULL)
    return NULL;
  if (g_str_equal (reason_id, "no-rule") || g_str_equal (reason_id, "policy-changed"))
    return g_strconcat ("--allow ", place, NULL);
  /* Where a cloud keeps its machine's keys is no private address like others. */
  if (g_str_equal (reason_id, "address") && (reason == NULL || strstr (reason, "metadata") == NULL))
    return g_strconcat ("--allow-private ", place, NULL);
  return NULL;
}

static void
append_amounts (GString *line, const PrismAuditRecord *record)
{
  gint64 sent = prism_audit_record_get_bytes_sent (record), received = prism_audit_record_get_bytes_received (record);
  gint64 duration = prism_audit_record_get_duration_ms (record);

  if (sent >= 0 && received >= 0)
    {
      g_autofree char *out = g_strdup_printf ("%" G_GINT64_FORMAT, sent);
      g_autofree char *back = g_strdup_printf ("%" G_GINT64_FORMAT, received);
      g_string_append_printf (line, _ (", %s bytes out, %s back"), out, back);
    }
  if (duration >= 0)
    g_string_append_printf (line, ", %" G_GINT64_FORMAT " ms", duration);
}

/* The proxy's own words may name the option already. */
static void
append_reason (GString *line, const PrismAuditRecord *record)
{
  const char *reason = prism_audit_record_get_reason (record), *id = prism_audit_record_get_reason_id (record);
  g_autofree char *remedy = prism_cli_audit_remedy (record);
  g_autofree char *shown = reason != NULL ? prism_cli_visible (reason) : NULL;

  if (shown != NULL)
    g_string_append_printf (line, ": %s", g_strdelimit (shown, "\n", ' '));
  if (id != NULL)
    g_string_append_printf (line, " (%s)", id);
  if (remedy != NULL && (shown == NULL || strstr (shown, remedy) == NULL))
    g_string_append_printf (line, _ ("; %s would allow it"), remedy);
}

char *
prism_cli_audit_line (const PrismAuditRecord *record, gboolean colours)
{
  gboolean allowed = prism_audit_record_get_decision (record) == PRISM_AUDIT_DECISION_ALLOW;
  g_autoptr (GDateTime) local = g_date_time_to_local (prism_audit_record_get_time (record));
  g_autofree char *time = g_date_time_format (local, "%H:%M:%S");
  g_autofree char *place = prism_cli_audit_place (record);
  const char *sandbox = prism_audit_record_get_sandbox_id (record), *rule = prism_audit_record_get_rule (record);
  GString *line = g_string_new (time);

  g_string_append_printf (line, ".%03d %s%s%s %s", g_date_time_get_microsecond (local) / 1000,
                          !colours  ? ""
                          : allowed ? "\033[32m"
                                    : "\033[1;31m",
                          allowed ? _ ("allow") : _ ("deny"), colours ? "\033[0m" : "", place);
  if (sandbox != NULL)
    {
      g_autofree char *shown = prism_cli_visible (sandbox);
      g_string_append_printf (line, " [%.12s]", shown);
    }
  if (rule != NULL)
    {
      g_autofree char *shown = prism_cli_visible (rule);
      g_string_append_printf (line, _ (" by rule %s"), shown);
    }
  append_amounts (line, record);
  append_reason (line, record);
  return g_string_free (line, FALSE);
}

#define FLUSH_MS 5000

gboolean
prism_cli_audit_flush (PrismAuditLog *audit, GError **error)
{
  return audit == NULL || prism_audit_log_flush (audit, FLUSH_MS, error);
}
