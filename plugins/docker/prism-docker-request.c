/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A plan in the engine's two languages: the API's JSON, and the arguments of the command
 * line program, where the API cannot be reached. Pure. */
#include "prism-docker-plan.h"

#include <json-glib/json-glib.h>
#include <string.h>

/* Since API 1.44 a read-only bind is read-only with what is mounted below it; before, what
 * is below would be writable, so it is left out. */
#define FORCE_READONLY_MINOR 44

static void
say_text (JsonBuilder *json, const char *name, const char *value)
{
  json_builder_set_member_name (json, name);
  json_builder_add_string_value (json, value);
}

static void
say_number (JsonBuilder *json, const char *name, gint64 value)
{
  json_builder_set_member_name (json, name);
  json_builder_add_int_value (json, value);
}

static void
say_flag (JsonBuilder *json, const char *name, gboolean value)
{
  json_builder_set_member_name (json, name);
  json_builder_add_boolean_value (json, value);
}

static void
say_list (JsonBuilder *json, const char *name, const char *const *values)
{
  json_builder_set_member_name (json, name);
  json_builder_begin_array (json);
  for (; *values != NULL; values++)
    json_builder_add_string_value (json, *values);
  json_builder_end_array (json);
}

static void
begin_object (JsonBuilder *json, const char *name)
{
  json_builder_set_member_name (json, name);
  json_builder_begin_object (json);
}

static void
say_labels (JsonBuilder *json, const char *const *labels)
{
  begin_object (json, "Labels");
  for (guint i = 0; labels[i] != NULL; i++)
    {
      const char *equals = strchr (labels[i], '=');
      g_autofree char *key = g_strndup (labels[i], (gsize)(equals - labels[i]));
      say_text (json, key, equals + 1);
    }
  json_builder_end_object (json);
}

static char *
dup_options (const PrismDockerPlan *self, const PrismDockerTmpfs *tmpfs, const PrismDockerDialect *dialect)
{
  if (!tmpfs->owned)
    return g_strdup (tmpfs->options);
  /* Podman knows no bound on inodes: each costs memory, and that is bounded. */
  return dialect->podman ? g_strconcat (tmpfs->options, ",U", NULL)
                         : g_strdup_printf ("%s,nr_inodes=%" G_GINT64_FORMAT ",uid=%u,gid=%u", tmpfs->options,
                                            tmpfs->inodes, self->uid, self->gid);
}

static void
say_mounts (JsonBuilder *json, const PrismDockerPlan *self, const PrismDockerDialect *dialect)
{
  json_builder_set_member_name (json, "Mounts");
  json_builder_begin_array (json);
  for (guint i = 0; i < self->binds->len; i++)
    {
      const PrismDockerBind *bind = self->binds->pdata[i];
      json_builder_begin_object (json);
      say_text (json, "Type", "bind");
      say_text (json, "Source", bind->source);
      say_text (json, "Target", bind->target);
      say_flag (json, "ReadOnly", bind->readonly && !bind->held);
      begin_object (json, "BindOptions");
      say_text (json, "Propagation", "rprivate");
      if (bind->readonly && !bind->held)
        say_flag (json, dialect->minor >= FORCE_READONLY_MINOR ? "ReadOnlyForceRecursive" : "NonRecursive", TRUE);
      json_builder_end_object (json);
      json_builder_end_object (json);
    }
  json_builder_end_array (json);
  begin_object (json, "Tmpfs");
  for (guint i = 0; i < self->tmpfs->len; i++)
    {
      const PrismDockerTmpfs *tmpfs = self->tmpfs->pdata[i];
      g_autofree char *options = dup_options (self, tmpfs, dialect);
      say_text (json, tmpfs->target, options);
    }
  json_builder_end_object (json);
}

static void
say_ulimit (JsonBuilder *json, const char *name, gint64 value)
{
  json_builder_begin_object (json);
  say_text (json, "Name", name);
  say_number (json, "Soft", value);
  say_number (json, "Hard", value);
  json_builder_end_object (json);
}

static void
say_host (JsonBuilder *json, const PrismDockerPlan *self, const PrismDockerDialect *dialect)
{
  static const char *const all[] = { "ALL", NULL }, *const none[] = { NULL };
  static const char *const security[] = { "no-new-privileges=true", NULL };

  begin_object (json, "HostConfig");
  say_text (json, "NetworkMode", self->network);
  say_flag (json, "ReadonlyRootfs", TRUE);
  say_flag (json, "Privileged", FALSE);
  /* The keeper removes it. An engine that is started again would remove one that goes on
   * under live-restore, too. */
  say_flag (json, "AutoRemove", FALSE);
  say_flag (json, "Init", FALSE);
  say_flag (json, "PublishAllPorts", FALSE);
  say_list (json, "CapDrop", all);
  say_list (json, "CapAdd", none);
  say_list (json, "SecurityOpt", security);
  say_list (json, "GroupAdd", none);
  say_text (json, "IpcMode", "private");
  /* Its segments go with the last process that has them: else they stay, and count as its memory. */
  begin_object (json, "Sysctls");
  say_text (json, "kernel.shm_rmid_forced", "1");
  json_builder_end_object (json);
  say_text (json, "CgroupnsMode", "private");
  say_text (json, "PidMode", "");
  say_text (json, "UTSMode", "");
  say_text (json, "UsernsMode", "");
  say_number (json, "Memory", self->memory_bytes);
  say_number (json, "MemorySwap", self->memory_bytes);
  say_number (json, "CpuPeriod", 100000);
  say_number (json, "CpuQuota", self->cpu_millis * 100);
  say_number (json, "PidsLimit", self->pids);
  say_number (json, "ShmSize", self->shm_bytes);
  if (self->runtime != NULL)
    say_text (json, "Runtime", self->runtime);
  begin_object (json, "RestartPolicy");
  say_text (json, "Name", "no");
  json_builder_end_object (json);
  begin_object (json, "LogConfig");
  say_text (json, "Type", "none");
  json_builder_end_object (json);
  json_builder_set_member_name (json, "Ulimits");
  json_builder_begin_array (json);
  say_ulimit (json, "nofile", self->open_files);
  say_ulimit (json, "core", 0);
  if (dialect->podman && dialect->most_processes > 0)
    say_ulimit (json, "nproc", dialect->most_processes);
  json_builder_end_array (json);
  say_mounts (json, self, dialect);
  json_builder_end_object (json);
}

static char *
finish (JsonBuilder *json)
{
  g_autoptr (JsonGenerator) generator = json_generator_new ();
  g_autoptr (JsonNode) root = json_builder_get_root (json);

  json_generator_set_root (generator, root);
  return json_generator_to_data (generator, NULL);
}

char *
prism_docker_look_to_json (const char *image, const char *const *labels)
{
  static const char *const nothing[] = { "/nothing", NULL };
  g_autoptr (JsonBuilder) json = json_builder_new ();

  json_builder_begin_object (json);
  say_text (json, "Image", image);
  say_list (json, "Entrypoint", nothing);
  say_labels (json, labels);
  begin_object (json, "HostConfig");
  say_text (json, "NetworkMode", "none");
  begin_object (json, "LogConfig");
  say_text (json, "Type", "none");
  json_builder_end_object (json);
  json_builder_end_object (json);
  json_builder_end_object (json);
  return finish (json);
}

char *
prism_docker_plan_to_json (const PrismDockerPlan *self, const PrismDockerDialect *dialect)
{
  static const char *const no_check[] = { "NONE", NULL }, *const nothing[] = { NULL };
  g_autoptr (JsonBuilder) json = json_builder_new ();

  json_builder_begin_object (json);
  say_text (json, "Image", self->image);
  say_text (json, "User", self->user);
  say_text (json, "Hostname", "prism");
  say_text (json, "WorkingDir", "/");
  say_list (json, "Entrypoint", (const char *const *)self->command);
  say_list (json, "Cmd", nothing);
  say_list (json, "Env", nothing);
  say_flag (json, "Tty", FALSE);
  say_flag (json, "OpenStdin", FALSE);
  say_flag (json, "AttachStdin", FALSE);
  say_flag (json, "AttachStdout", FALSE);
  say_flag (json, "AttachStderr", FALSE);
  say_text (json, "StopSignal", "SIGTERM");
  say_number (json, "StopTimeout", self->stop_seconds);
  begin_object (json, "Healthcheck");
  say_list (json, "Test", no_check);
  json_builder_end_object (json);
  say_labels (json, (const char *const *)self->labels);
  say_host (json, self, dialect);
  json_builder_end_object (json);
  return finish (json);
}

/* --- arguments ------------------------------------------------------------------------- */

static void add (GPtrArray *argv, const char *format, ...) G_GNUC_PRINTF (2, 3);

static void
add (GPtrArray *argv, const char *format, ...)
{
  va_list arguments;

  va_start (arguments, format);
  g_ptr_array_add (argv, g_strdup_vprintf (format, arguments));
  va_end (arguments);
}

/* A field of the comma separated list that --mount takes: quoted, so that no comma and no
 * quote in a path says anything more. */
static void
append_field (GString *list, const char *name, const char *value)
{
  g_string_append_printf (list, "%s\"%s=", list->len > 0 ? "," : "", name);
  for (; *value != 0; value++)
    g_string_append (list, *value == '"' ? "\"\"" : (char[]){ *value, 0 });
  g_string_append_c (list, '"');
}

static void
add_mounts (GPtrArray *argv, const PrismDockerPlan *self, const PrismDockerDialect *dialect)
{
  for (guint i = 0; i < self->binds->len; i++)
    {
      const PrismDockerBind *bind = self->binds->pdata[i];
      g_autoptr (GString) list = g_string_new ("type=bind");
      append_field (list, "source", bind->source);
      append_field (list, "target", bind->target);
      g_string_append (list, bind->readonly && !bind->held
                                 ? ",readonly,bind-nonrecursive=true,bind-propagation=rprivate"
                                 : ",bind-propagation=rprivate");
      add (argv, "--mount=%s", list->str);
    }
  for (guint i = 0; i < self->tmpfs->len; i++)
    {
      const PrismDockerTmpfs *tmpfs = self->tmpfs->pdata[i];
      g_autofree char *options = dup_options (self, tmpfs, dialect);
      add (argv, "--tmpfs=%s:%s", tmpfs->target, options);
    }
}

char **
prism_docker_plan_to_argv (const PrismDockerPlan *self, const PrismDockerDialect *dialect)
{
  g_autoptr (GPtrArray) argv = g_ptr_array_new ();

  add (argv, "create");
  add (argv, "--pull=never");
  add (argv, "--name=%s", self->name);
  add (argv, "--hostname=prism");
  add (argv, "--read-only");
  add (argv, "--restart=no");
  add (argv, "--user=%s", self->user);
  add (argv, "--workdir=/");
  add (argv, "--network=%s", self->network);
  add (argv, "--cap-drop=ALL");
  add (argv, "--security-opt=no-new-privileges=true");
  add (argv, "--ipc=private");
  add (argv, "--sysctl=kernel.shm_rmid_forced=1");
  add (argv, "--cgroupns=private");
  add (argv, "--no-healthcheck");
  add (argv, "--log-driver=none");
  add (argv, "--stop-signal=SIGTERM");
  add (argv, "--stop-timeout=%" G_GINT64_FORMAT, self->stop_seconds);
  add (argv, "--memory=%" G_GINT64_FORMAT, self->memory_bytes);
  add (argv, "--memory-swap=%" G_GINT64_FORMAT, self->memory_bytes);
  add (argv, "--cpu-period=100000");
  add (argv, "--cpu-quota=%" G_GINT64_FORMAT, self->cpu_millis * 100);
  add (argv, "--pids-limit=%" G_GINT64_FORMAT, self->pids);
  add (argv, "--shm-size=%" G_GINT64_FORMAT, self->shm_bytes);
  add (argv, "--ulimit=nofile=%" G_GINT64_FORMAT ":%" G_GINT64_FORMAT, self->open_files, self->open_files);
  add (argv, "--ulimit=core=0:0");
  if (dialect->podman && dialect->most_processes > 0)
    add (argv, "--ulimit=nproc=%" G_GINT64_FORMAT ":%" G_GINT64_FORMAT, dialect->most_processes,
         dialect->most_processes);
  if (self->runtime != NULL)
    add (argv, "--runtime=%s", self->runtime);
  for (guint i = 0; self->labels[i] != NULL; i++)
    add (argv, "--label=%s", self->labels[i]);
  add_mounts (argv, self, dialect);
  add (argv, "--entrypoint=%s", self->command[0]);
  add (argv, "%s", self->image);
  for (guint i = 1; self->command[i] != NULL; i++)
    add (argv, "%s", self->command[i]);
  g_ptr_array_add (argv, NULL);
  return (char **)g_ptr_array_steal (argv, NULL);
}

char **
prism_docker_look_to_argv (const char *name, const char *image, const char *const *labels)
{
  g_autoptr (GPtrArray) argv = g_ptr_array_new ();

  add (argv, "create");
  add (argv, "--pull=never");
  add (argv, "--name=%s", name);
  add (argv, "--network=none");
  add (argv, "--log-driver=none");
  for (; *labels != NULL; labels++)
    add (argv, "--label=%s", *labels);
  add (argv, "--entrypoint=/nothing");
  add (argv, "%s", image);
  g_ptr_array_add (argv, NULL);
  return (char **)g_ptr_array_steal (argv, NULL);
}

char *
prism_docker_fingerprint (const char *const *argv)
{
  g_autoptr (JsonBuilder) json = json_builder_new ();
  g_autofree char *text = NULL;

  json_builder_begin_array (json);
  for (; *argv != NULL; argv++)
    json_builder_add_string_value (json, *argv);
  json_builder_end_array (json);
  text = finish (json);
  return g_compute_checksum_for_string (G_CHECKSUM_SHA256, text, -1);
}
