/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the engine says of itself, as checks with remedies. A check that another's failure
 * leaves without an answer is skipped, not guessed. */
#include "prism-docker-probe.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "prism-docker-engine.h"
#include "prism-docker-image.h"
#include "prism-docker-info.h"
#include "prism-docker-names.h"

#define MOST_TEXT 128 /* of one thing that the engine says */

typedef struct
{
  const PrismDockerOptions *options;
  PrismDockerEngine *engine;
  JsonNode *info; /* NULL: it did not say */
  PrismHealthReport *report;
} Probe;

static void
add (Probe *self,
     const char *id,
     PrismHealthStatus status,
     const char *summary,
     const char *remedy,
     PrismControls controls)
{
  g_autoptr (PrismHealthCheck) check = prism_health_check_new (id, status, summary, remedy, controls);
  prism_health_report_add (self->report, check);
}

static PrismHealthStatus
status_of (const GError *failure)
{
  return g_error_matches (failure, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_TIMEOUT) ? PRISM_HEALTH_STATUS_INCONCLUSIVE
                                                                                     : PRISM_HEALTH_STATUS_FAIL;
}

static char *
dup_text (JsonNode *node, const char *name)
{
  const char *text = prism_http_json_text (prism_http_json_get (node, name, NULL));

  return text != NULL ? prism_docker_dup_printable (text, (gssize)strnlen (text, MOST_TEXT)) : g_strdup ("unknown");
}

static void
check_agent (Probe *self)
{
  const char *path = prism_agent_get_path ();
  gboolean there = access (path, X_OK) == 0;
  g_autofree char *summary =
      there ? g_strdup_printf ("%s is there", path) : g_strdup_printf ("%s: %s", path, g_strerror (errno));

  add (self, "docker.agent", there ? PRISM_HEALTH_STATUS_PASS : PRISM_HEALTH_STATUS_FAIL, summary,
       there ? NULL : "install prism-agent, or set PRISM_AGENT to where it is", PRISM_CONTROLS_NONE);
}

/* --- that it answers, and with what --------------------------------------------------------- */

static const char *
remedy_for (const GError *failure)
{
  if (g_error_matches (failure, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_DENIED))
    return "join the group of the socket (docker), run a rootless engine of your own, or be root";
  if (g_error_matches (failure, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_TIMEOUT))
    return "look at what the engine is doing (journalctl -u docker), and restart it if it hangs";
  return "start the engine (systemctl start docker), or name its socket with --set socket=PATH";
}

/* TRUE when there is somebody to ask. */
static gboolean
check_engine (Probe *self)
{
  static const PrismControls held = PRISM_CONTROLS_FILESYSTEM | PRISM_CONTROLS_NETWORK | PRISM_CONTROLS_PROCESS
                                    | PRISM_CONTROLS_EGRESS | PRISM_CONTROLS_WORKSPACE;
  g_autoptr (GError) failure = NULL;
  g_autofree char *summary = NULL;

  if (prism_docker_engine_open (self->engine, &failure))
    {
      summary = prism_docker_engine_is_by_program (self->engine)
                    ? g_strdup_printf ("an engine answers through %s", self->options->docker)
                    : g_strdup_printf ("an engine answers at %s", prism_docker_engine_get_socket (self->engine));
      add (self, "docker.engine", PRISM_HEALTH_STATUS_PASS, summary, NULL, held);
      return TRUE;
    }
  if (prism_docker_engine_get_offered (self->engine) == 0)
    {
      add (self, "docker.engine", status_of (failure), failure->message, remedy_for (failure), PRISM_CONTROLS_NONE);
      return FALSE;
    }
  add (self, "docker.engine", PRISM_HEALTH_STATUS_PASS, "an engine answers", NULL, PRISM_CONTROLS_NONE);
  add (self, "docker.version", PRISM_HEALTH_STATUS_FAIL, failure->message,
       "install docker 19.03 or newer, or podman 4 or newer with its socket", PRISM_CONTROLS_NONE);
  return FALSE;
}

static void
check_version (Probe *self)
{
  g_autoptr (GError) failure = NULL;
  g_autoptr (JsonNode) version = prism_docker_engine_version (self->engine, &failure);
  g_autofree char *number = NULL, *kernel = NULL, *summary = NULL;

  if (version == NULL)
    {
      add (self, "docker.version", status_of (failure), failure->message,
           "restart the engine; if it stays, install another version of it", PRISM_CONTROLS_NONE);
      return;
    }
  number = dup_text (version, "Version");
  kernel = dup_text (version, "KernelVersion");
  summary = g_strdup_printf ("version %s, API 1.%u, kernel %s", number, prism_docker_engine_get_offered (self->engine),
                             kernel);
  add (self, "docker.version", PRISM_HEALTH_STATUS_PASS, summary, NULL, PRISM_CONTROLS_NONE);
}

/* --- its set-up -------------------------------------------------------------------------------- */

static void
check_cgroups (Probe *self)
{
  g_autofree char *lacking = prism_docker_info_dup_lacking (self->info);
  g_autofree char *driver = dup_text (self->info, "CgroupDriver");
  g_autofree char *version = dup_text (self->info, "CgroupVersion");
  g_autofree char *summary = g_strdup_printf ("version %s, driver %s: %s%s", version, driver,
                                              lacking != NULL ? "no limit of " : "memory, cpu and pids are limited",
                                              lacking != NULL ? lacking : "");

  add (self, "docker.cgroups", lacking != NULL ? PRISM_HEALTH_STATUS_WARN : PRISM_HEALTH_STATUS_PASS, summary,
       lacking != NULL
           ? "give the engine these controllers: on the kernel's command line (cgroup_enable=memory), or, to "
             "a rootless one, by Delegate=cpu memory pids in its systemd unit; limits that are set and do "
             "not hold are refused"
           : NULL,
       PRISM_CONTROLS_NONE);
}

static void
check_seccomp (Probe *self)
{
  g_autofree char *profile = prism_docker_info_dup_seccomp (self->info);
  gboolean filters = profile != NULL && g_strcmp0 (profile, "unconfined") != 0;
  g_autofree char *summary = filters ? g_strdup_printf ("the engine filters system calls (profile %s)", profile) : NULL;

  add (self, "docker.seccomp", filters ? PRISM_HEALTH_STATUS_PASS : PRISM_HEALTH_STATUS_WARN,
       filters ? summary : "the engine filters no system calls; the agent's own filter is the only one",
       filters ? NULL
               : "use a kernel and an engine with seccomp, and its default profile (no seccomp-profile=unconfined in "
                 "the engine's daemon.json)",
       PRISM_CONTROLS_NONE);
}

static void
check_userns (Probe *self)
{
  const char *runtime = self->options->runtime;
  g_autofree char *remapped = prism_docker_info_dup_remapped (self->info);
  gboolean kernel = runtime != NULL && prism_docker_info_has_runtime (self->info, runtime)
                    && prism_docker_info_is_own_kernel (self->info, runtime);

  if (kernel || remapped != NULL)
    add (self, "docker.userns", PRISM_HEALTH_STATUS_PASS,
         kernel ? "the runtime runsc has a kernel of its own" : remapped, NULL, PRISM_CONTROLS_PRIVILEGE);
  else
    add (self, "docker.userns", PRISM_HEALTH_STATUS_WARN,
         "user ids inside are the host's own: privilege is not isolated, though no command is root and none has a "
         "capability",
         "where that is needed: userns-remap in the engine's daemon.json, a rootless engine, or --set runtime=runsc",
         PRISM_CONTROLS_NONE);
}

static void
check_runtimes (Probe *self)
{
  const char *name = self->options->runtime;
  g_autofree char *list = prism_docker_info_dup_runtimes (self->info);
  g_autofree char *usual = dup_text (self->info, "DefaultRuntime"), *summary = NULL;
  const char *known = list != NULL ? list : "none that it tells of";

  if (name == NULL || prism_docker_info_has_runtime (self->info, name))
    {
      summary = g_strdup_printf ("%s is used; the engine has: %s", name != NULL ? name : usual, known);
      add (self, "docker.runtimes", PRISM_HEALTH_STATUS_PASS, summary, NULL, PRISM_CONTROLS_NONE);
      return;
    }
  summary = g_strdup_printf ("runtime = “%.64s”: the engine knows none of that name; it has: %s", name, known);
  add (self, "docker.runtimes", PRISM_HEALTH_STATUS_FAIL, summary,
       "register it in the engine's daemon.json (\"runtimes\") and restart the engine, or name one that it has",
       PRISM_CONTROLS_NONE);
}

static void
check_set_up (Probe *self)
{
  static const char *const ids[] = { "docker.cgroups", "docker.seccomp", "docker.userns", "docker.runtimes" };
  g_autoptr (GError) failure = NULL;

  self->info = prism_docker_engine_info (self->engine, &failure);
  if (self->info == NULL)
    {
      for (gsize i = 0; i < G_N_ELEMENTS (ids); i++)
        add (self, ids[i], status_of (failure), failure->message, "look into the engine's log (journalctl -u docker)",
             PRISM_CONTROLS_NONE);
      return;
    }
  check_cgroups (self);
  check_seccomp (self);
  check_userns (self);
  check_runtimes (self);
}

/* --- the image ------------------------------------------------------------------------------------ */

/* @asks: there is an engine, which may know the image by another name. */
static gboolean
check_pinned (Probe *self, gboolean asks)
{
  const char *image = self->options->image;
  g_autofree char *summary = NULL, *pinned = NULL, *remedy = NULL;
  g_autoptr (JsonNode) found = NULL;

  if (image == NULL)
    {
      add (self, "docker.image", PRISM_HEALTH_STATUS_SKIPPED, "no image was named, and a sandbox needs one",
           "name one with --set image=NAME@sha256:DIGEST (docker images --digests shows them)", PRISM_CONTROLS_NONE);
      return FALSE;
    }
  if (prism_docker_is_pinned_image (image))
    return TRUE;
  if (asks && prism_docker_is_image_name (image))
    found = prism_docker_engine_inspect_image (self->engine, image, NULL);
  if (found != NULL)
    pinned = prism_docker_image_dup_pinned (found);
  if (pinned != NULL)
    remedy = g_strdup_printf ("name it as it is here: --set image=%s", pinned);
  summary = g_strdup_printf ("“%.256s” is not pinned by a digest", image);
  add (self, "docker.image", PRISM_HEALTH_STATUS_FAIL, summary,
       remedy != NULL ? remedy
                      : "name it as NAME@sha256: and 64 hexadecimal digits (docker images --digests shows them)",
       PRISM_CONTROLS_NONE);
  return FALSE;
}

static void
check_image (Probe *self)
{
  const char *image = self->options->image;
  g_autoptr (GError) failure = NULL;
  g_autoptr (JsonNode) found = NULL;
  g_autoptr (GString) offenders = g_string_new (NULL);
  g_auto (PrismDockerImage) parsed = { NULL, NULL, NULL };
  g_autofree char *digest = NULL, *text = NULL, *summary = NULL;

  if (!check_pinned (self, TRUE))
    return;
  digest = prism_docker_dup_digest (image);
  text = g_strdup_printf ("%.*s@%s", (int)(strchr (image, '@') - image), image, digest);
  found = prism_docker_engine_inspect_image (self->engine, text, &failure);
  if (found == NULL)
    {
      gboolean absent = g_error_matches (failure, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_NOT_FOUND);
      g_autofree char *pull = g_strdup_printf ("docker pull %s", text);
      add (self, "docker.image", status_of (failure), failure->message,
           absent ? pull : "look into the engine's log (journalctl -u docker)", PRISM_CONTROLS_NONE);
      return;
    }
  prism_docker_image_parse (&parsed, found, NULL, offenders);
  if (offenders->len > 0)
    {
      add (self, "docker.image", PRISM_HEALTH_STATUS_FAIL, offenders->str, "name an image for linux",
           PRISM_CONTROLS_NONE);
      return;
    }
  summary = g_strdup_printf ("pinned and there: %s", text);
  add (self, "docker.image", PRISM_HEALTH_STATUS_PASS, summary, NULL, PRISM_CONTROLS_NONE);
}

/* Nobody is there to be asked; how the image is named can be judged all the same. */
static void
skip_the_rest (Probe *self)
{
  static const char *const ids[] = { "docker.version", "docker.cgroups", "docker.seccomp", "docker.userns",
                                     "docker.runtimes" };
  gboolean old = prism_docker_engine_get_offered (self->engine) != 0; /* then its version has failed */

  for (gsize i = old ? 1 : 0; i < G_N_ELEMENTS (ids); i++)
    add (self, ids[i], PRISM_HEALTH_STATUS_SKIPPED, "not asked: there is no engine to use", "see to the engine first",
         PRISM_CONTROLS_NONE);
  if (check_pinned (self, FALSE))
    add (self, "docker.image", PRISM_HEALTH_STATUS_SKIPPED, "pinned; whether it is there was not asked",
         "see to the engine first", PRISM_CONTROLS_NONE);
}

PrismHealthReport *
prism_docker_probe (const PrismDockerOptions *options, gint64 deadline, GCancellable *cancellable, GError **error)
{
  g_autoptr (PrismDockerEngine) engine =
      prism_docker_engine_new (options->socket, options->docker, deadline, cancellable);
  g_autoptr (PrismHealthReport) report = prism_health_report_new ("docker");
  Probe self = { options, engine, NULL, report };

  check_agent (&self);
  if (check_engine (&self))
    {
      check_version (&self);
      check_set_up (&self);
      check_image (&self);
    }
  else
    skip_the_rest (&self);
  g_clear_pointer (&self.info, json_node_unref);
  return g_steal_pointer (&report);
}
