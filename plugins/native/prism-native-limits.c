/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which mechanism holds which limit: a control group where one can be made, a
 * resource limit where that is as good or nearly, and otherwise the truth: refused
 * when the caller set it, "not enforced" in the evidence when it is a default. */
#include "prism-native-limits.h"

#include "prism-native-early.h"

#include <string.h>

/* The agent and the shim of a first command are not the caller's processes. */
#define OWN_PROCESSES 2
/* The agent's memory is within the limit. It starts with 3 MiB under RLIMIT_DATA, and
 * with half of one in a control group, where pages are counted as they are used. */
#define LEAST_MEMORY (4 * 1024 * 1024)

static char *
dup_folder (const char *parent, const char *id)
{
  char *folder = g_malloc (strlen (parent) + strlen (id) + PRISM_NATIVE_GROUP_MORE);

  prism_native_write_group_folder (folder, parent, id);
  return folder;
}

static PrismNativeGroup *
get_group (PrismNativeLimits *self, const PrismNativeCgroup *cgroup, PrismNativeController controller, const char *id)
{
  g_autofree char *folder = dup_folder (cgroup->parents[controller], id);
  PrismNativeGroup *group;

  for (guint i = 0; i < self->n_groups; i++)
    if (strcmp (self->groups[i].folder, folder) == 0)
      return &self->groups[i];
  group = &self->groups[self->n_groups++];
  group->folder = g_string_chunk_insert (self->texts, folder);
  group->entry = prism_native_cgroup_get_entry (cgroup, controller);
  return group;
}

static void
add_setting (PrismNativeLimits *self, PrismNativeGroup *group, const char *file, gboolean optional, const char *value)
{
  g_assert (group->n_settings < G_N_ELEMENTS (group->settings));
  group->settings[group->n_settings].file = file;
  group->settings[group->n_settings].value = g_string_chunk_insert (self->texts, value);
  group->settings[group->n_settings++].optional = optional;
}

static void
say (PrismNativeLimits *self, const char *limit, const char *evidence)
{
  prism_native_evidence_say (self->evidence, limit, evidence);
}

static void
decide_memory (PrismNativeLimits *self, const PrismNativeCgroup *cgroup, PrismLimits *limits, const char *id)
{
  gint64 bytes = prism_limits_get (limits, "memory-bytes");
  g_autofree char *value = g_strdup_printf ("%" G_GINT64_FORMAT, bytes);

  if (cgroup->parents[PRISM_NATIVE_CONTROLLER_MEMORY] == NULL)
    {
      /* RLIMIT_DATA counts what is only reserved too, and so ends every program built with
       * AddressSanitizer: a default is not worth that. */
      if (!prism_limits_is_set (limits, "memory-bytes"))
        {
          say (self, "memory-bytes",
               "not enforced: no control group can be made here, and RLIMIT_DATA, which would hold each process on its "
               "own, is used only for a limit that was asked for");
          return;
        }
      self->data_bytes = bytes;
      say (self, "memory-bytes", "RLIMIT_DATA, for each process on its own: no control group can be made");
      return;
    }
  PrismNativeGroup *group = get_group (self, cgroup, PRISM_NATIVE_CONTROLLER_MEMORY, id);
  if (cgroup->unified[PRISM_NATIVE_CONTROLLER_MEMORY])
    {
      add_setting (self, group, "memory.max", FALSE, value);
      add_setting (self, group, "memory.swap.max", TRUE, "0");
      say (self, "memory-bytes", "cgroup v2 memory.max");
    }
  else
    {
      add_setting (self, group, "memory.limit_in_bytes", FALSE, value);
      add_setting (self, group, "memory.memsw.limit_in_bytes", TRUE, value);
      say (self, "memory-bytes", "cgroup v1 memory.limit_in_bytes, which does not count the buffers of sockets");
    }
}

/* Too little to start with would look like an agent that dies. */
static gboolean
check_memory (PrismLimits *limits, GError **error)
{
  gint64 bytes = prism_limits_get (limits, "memory-bytes");

  if (bytes >= LEAST_MEMORY)
    return TRUE;
  g_set_error (error, PRISM_LIMIT_ERROR, PRISM_LIMIT_ERROR_RANGE,
               "native: out of range: memory-bytes = %" G_GINT64_FORMAT
               " (allowed here: %d or more, since the sandbox's own agent is within the limit)",
               bytes, LEAST_MEMORY);
  return FALSE;
}

static void
decide_processes (PrismNativeLimits *self, const PrismNativeCgroup *cgroup, gint64 most, const char *id)
{
  g_autofree char *value = g_strdup_printf ("%" G_GINT64_FORMAT, most + OWN_PROCESSES);

  if (cgroup->parents[PRISM_NATIVE_CONTROLLER_PIDS] == NULL)
    {
      self->processes = most + OWN_PROCESSES;
      say (self, "max-pids", "RLIMIT_NPROC within the sandbox's own user namespace");
      return;
    }
  add_setting (self, get_group (self, cgroup, PRISM_NATIVE_CONTROLLER_PIDS, id), "pids.max", FALSE, value);
  say (self, "max-pids", cgroup->unified[PRISM_NATIVE_CONTROLLER_PIDS] ? "cgroup v2 pids.max" : "cgroup v1 pids.max");
}

/* FALSE where nothing can hold it. */
static gboolean
decide_cpu (PrismNativeLimits *self, const PrismNativeCgroup *cgroup, gint64 millis, guint n_cpus, const char *id)
{
  gint64 period = millis < 10 ? 1000000 : 100000, quota = millis * period / 1000;
  PrismNativeGroup *group;

  if (millis >= (gint64)n_cpus * 1000)
    {
      say (self, "cpu-millis", "all of this machine's CPUs are within the limit");
      return TRUE;
    }
  if (cgroup->parents[PRISM_NATIVE_CONTROLLER_CPU] == NULL)
    return FALSE;
  group = get_group (self, cgroup, PRISM_NATIVE_CONTROLLER_CPU, id);
  if (cgroup->unified[PRISM_NATIVE_CONTROLLER_CPU])
    {
      g_autofree char *value = g_strdup_printf ("%" G_GINT64_FORMAT " %" G_GINT64_FORMAT, quota, period);
      add_setting (self, group, "cpu.max", FALSE, value);
      say (self, "cpu-millis", "cgroup v2 cpu.max");
    }
  else
    {
      g_autofree char *quota_text = g_strdup_printf ("%" G_GINT64_FORMAT, quota);
      g_autofree char *period_text = g_strdup_printf ("%" G_GINT64_FORMAT, period);
      add_setting (self, group, "cpu.cfs_period_us", FALSE, period_text);
      add_setting (self, group, "cpu.cfs_quota_us", FALSE, quota_text);
      say (self, "cpu-millis", "cgroup v1 cpu.cfs_quota_us");
    }
  return TRUE;
}

/* A default is reported; what the caller set is an offender. */
static void
cannot_hold (PrismNativeLimits *self, PrismLimits *limits, const char *limit, const char *why, GString *offenders)
{
  g_autofree char *text = g_strconcat ("not enforced: ", why, NULL);

  say (self, limit, text);
  if (prism_limits_is_set (limits, limit))
    g_string_append_printf (offenders, "%s%s (%s)", offenders->len > 0 ? ", " : "", limit, why);
}

/* No group is made for it before it is wanted: v1's freezer has a hierarchy of its own, in
 * v2 every group can be frozen. */
static void
decide_freezer (PrismNativeLimits *self, const PrismNativeCgroup *cgroup, const char *id)
{
  for (guint i = 0; i < PRISM_NATIVE_N_CONTROLLERS && self->freezer == NULL; i++)
    if (cgroup->unified[i] && cgroup->parents[i] != NULL)
      {
        g_autofree char *folder = dup_folder (cgroup->parents[i], id);
        for (guint k = 0; k < self->n_groups; k++)
          if (strcmp (self->groups[k].folder, folder) == 0)
            self->freezer = self->groups[k].folder;
      }
  if (self->freezer != NULL)
    {
      say (self, "pause", "cgroup v2 cgroup.freeze");
      return;
    }
  if (self->n_groups == 0 || cgroup->freezer == NULL)
    {
      g_autofree char *text = g_strconcat ("not enforced: ", cgroup->why_not, NULL);
      say (self, "pause", text);
      return;
    }
  g_autofree char *folder = dup_folder (cgroup->freezer, id);
  self->freezer = g_string_chunk_insert (self->texts, folder);
  say (self, "pause", "cgroup v1 freezer");
}

gboolean
prism_native_limits_decide (PrismNativeLimits *self,
                            PrismLimits *limits,
                            const PrismNativeCgroup *cgroup,
                            guint n_cpus,
                            const char *id,
                            GError **error)
{
  g_autoptr (GString) offenders = g_string_new (NULL);

  memset (self, 0, sizeof *self);
  if (!check_memory (limits, error))
    return FALSE;
  self->texts = g_string_chunk_new (512);
  self->evidence = g_string_sized_new (1024);
  decide_memory (self, cgroup, limits, id);
  decide_processes (self, cgroup, prism_limits_get (limits, "max-pids"), id);
  say (self, "tmp-bytes", "size of one tmpfs, which /tmp, /run, /dev/shm and home share");
  say (self, "max-fds", "RLIMIT_NOFILE");
  if (!decide_cpu (self, cgroup, prism_limits_get (limits, "cpu-millis"), n_cpus, id))
    cannot_hold (self, limits, "cpu-millis", cgroup->why_not, offenders);
  decide_freezer (self, cgroup, id);
  cannot_hold (self, limits, "download-bytes", "there is no downloads folder here", offenders);
  if (offenders->len == 0)
    return TRUE;
  g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_REFUSED,
               "native: these limits cannot be enforced here: %s; leave them out, or use what can enforce them",
               offenders->str);
  return FALSE;
}

void
prism_native_limits_clear (PrismNativeLimits *self)
{
  g_clear_pointer (&self->texts, g_string_chunk_free);
  if (self->evidence != NULL)
    g_string_free (g_steal_pointer (&self->evidence), TRUE);
}
