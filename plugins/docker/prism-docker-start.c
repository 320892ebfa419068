/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The start. First everything that can be refused is, all at once; then the keeper hears
 * of what is about to be made; then the container is made and started, and the agent is
 * let in. The first import and the engine's own end of the start overlap. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "prism-docker-capabilities.h"
#include "prism-docker-deposit.h"
#include "prism-docker-engine.h"
#include "prism-docker-image.h"
#include "prism-docker-info.h"
#include "prism-docker-look.h"
#include "prism-docker-names.h"
#include "prism-docker-owner.h"
#include "prism-docker-sandbox-private.h"
#include "prism-docker-watch.h"

/* Everything that a start holds, so that one place lets go of it. */
typedef struct
{
  PrismDockerAsked asked;
  PrismDockerEngine *engine;
  PrismDockerImage image;
  PrismDockerPlan *plan;
  PrismDockerRoom room;
  char id[PRISM_DOCKER_ID_LENGTH + 1];
  char *host; /* this process */
  PrismCapabilities *capabilities;
  char *remapped;           /* the engine's word that users are not the host's */
  guint base_uid, base_gid; /* the host's ids of root inside; 0: the same */
  gboolean own_kernel;
  gboolean kept;      /* by the keeper */
  gboolean asked_for; /* the engine was asked to make it */
  guint shown;        /* of the plan's shifts */
  char *container;
  JsonNode *inspected; /* as the engine made it; while it starts it would not say */
  PrismHttpCall *starting, *ending;
  int connection, undecided;
  gint pid;
  PrismDockerSandbox *sandbox;
  gint64 deadline, cleanup_us;
  GCancellable *cancellable;
} Start;

static void
make_id (char *text)
{
  guint8 bytes[PRISM_DOCKER_ID_LENGTH / 2];

  if (getrandom (bytes, sizeof bytes, 0) != sizeof bytes)
    g_error ("getrandom: %s", g_strerror (errno));
  for (guint i = 0; i < sizeof bytes; i++)
    g_snprintf (text + 2 * i, 3, "%02x", bytes[i]);
}

static void
close_fd (int *fd)
{
  if (*fd >= 0)
    close (*fd);
  *fd = -1;
}

/* The container has them by now, or never will. */
static void
hide_shifts (Start *self)
{
  for (guint i = 0; i < self->shown; i++)
    {
      const PrismDockerShift *shift = self->plan->shifts->pdata[i];
      g_autofree char *place = g_build_filename (self->room.folder, shift->name, NULL);
      prism_docker_watch_hide (place);
    }
  self->shown = 0;
}

/* What failed is undone; what succeeded is the sandbox's now. */
static void
start_clear (Start *self)
{
  gboolean gone = FALSE;

  g_clear_pointer (&self->starting, prism_http_call_abandon);
  g_clear_pointer (&self->ending, prism_http_call_abandon);
  if (self->sandbox == NULL && self->kept)
    {
      gone = prism_docker_remove (prism_docker_engine_get_socket (self->engine), self->asked.options->docker,
                                  self->plan->name, g_get_monotonic_time () + self->cleanup_us, NULL);
      /* The engine may still be about to make what it was asked for. */
      gone = gone && (self->container != NULL || !self->asked_for);
    }
  hide_shifts (self);
  prism_docker_room_remove (&self->room);
  if (self->sandbox == NULL && self->kept && gone)
    prism_docker_watch_forget (self->plan->name);
  else if (self->sandbox == NULL && self->kept)
    prism_docker_watch_remove (self->plan->name);
  close_fd (&self->connection);
  close_fd (&self->undecided);
  g_clear_object (&self->sandbox);
  g_clear_pointer (&self->plan, prism_docker_plan_free);
  g_clear_pointer (&self->engine, prism_docker_engine_free);
  g_clear_pointer (&self->container, g_free);
  g_clear_pointer (&self->host, g_free);
  g_clear_pointer (&self->capabilities, prism_capabilities_unref);
  g_clear_pointer (&self->remapped, g_free);
  g_clear_pointer (&self->inspected, json_node_unref);
  prism_docker_image_clear (&self->image);
  prism_docker_asked_clear (&self->asked);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Start, start_clear)

/* --- refusing --------------------------------------------------------------------------- */

static gboolean
report (const GString *offenders, GError **error)
{
  if (offenders->len == 0)
    return TRUE;
  g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_REFUSED, "docker: refused: %s", offenders->str);
  return FALSE;
}

static void
check_runtime (Start *self, JsonNode *info, GString *offenders)
{
  const char *name = self->plan->runtime;
  g_autofree char *list = NULL;

  if (name == NULL || prism_docker_info_has_runtime (info, name))
    return;
  list = prism_docker_info_dup_runtimes (info);
  prism_docker_offend (offenders, "runtime = “%s”: the engine knows none of that name (it has: %s)", name,
                       list != NULL ? list : "none that it tells of");
}

static void
check_network (Start *self, GString *offenders)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (JsonNode) network = NULL;
  const char *driver, *name;

  if (prism_sandbox_spec_get_network (self->asked.spec) != PRISM_NETWORK_MODE_CUSTOM)
    return;
  network = prism_docker_engine_inspect_network (self->engine, self->plan->network, &error);
  if (network == NULL)
    {
      prism_docker_offend (offenders, "network = “%s”: %s", self->plan->network, error->message);
      return;
    }
  /* By an id, one of the engine's own could be meant. */
  name = prism_http_json_text (prism_http_json_get (network, "Name", NULL));
  driver = prism_http_json_text (prism_http_json_get (network, "Driver", NULL));
  if (g_strcmp0 (name, self->plan->network) != 0 || driver == NULL || g_strcmp0 (driver, "host") == 0
      || g_strcmp0 (driver, "null") == 0)
    prism_docker_offend (offenders, "network = “%s”: it is no network that somebody made, by its name",
                         self->plan->network);
}

/* The engine is asked for what it costs to ask only where it matters. */
static gboolean
ask_set_up (Start *self, GString *offenders, GError **error)
{
  g_autoptr (JsonNode) info = NULL;

  if (self->plan->runtime == NULL && self->plan->shifts->len == 0)
    return TRUE;
  info = prism_docker_engine_info (self->engine, error);
  if (info == NULL)
    return FALSE;
  check_runtime (self, info, offenders);
  self->remapped = prism_docker_info_dup_remapped (info);
  self->own_kernel = self->plan->runtime != NULL && prism_docker_info_is_own_kernel (info, self->plan->runtime);
  if (self->remapped != NULL && self->plan->shifts->len > 0
      && !prism_docker_info_find_base (info, &self->base_uid, &self->base_gid))
    prism_docker_offend (offenders,
                         "workspace and mounts: %s, so the host's folders cannot be shown with their owner's rights; "
                         "use workspace-mode copy",
                         self->remapped);
  return TRUE;
}

/* Who reaches the engine has the host. It could be reached through a read-only mount too. */
static void
check_ways_out (Start *self, const char *folder, GString *offenders)
{
  g_autofree char *socket = realpath (prism_docker_engine_get_socket (self->engine), NULL);
  const char *const kept[] = { socket, folder };

  for (guint i = 0; i < self->asked.views->len; i++)
    for (gsize k = 0; k < G_N_ELEMENTS (kept); k++)
      {
        const PrismDockerView *view = self->asked.views->pdata[i];
        gsize length = strlen (view->source.path);
        if (kept[k] != NULL && strncmp (kept[k], view->source.path, length) == 0
            && (kept[k][length] == 0 || kept[k][length] == '/'))
          prism_docker_offend (offenders, "%s: %s would show the sandbox %s", view->what, view->source.path,
                               k == 0 ? "the engine's socket, and with it the whole host"
                                      : "the runtime folder of all sandboxes");
      }
}

/* Who named an image by a tag is told its digest, where the engine has it. */
static void
tell_digest (Start *self, GString *offenders)
{
  const char *name = self->asked.options->image;
  g_autoptr (JsonNode) image = NULL;
  g_autofree char *pinned = NULL;

  if (!prism_docker_is_image_name (name) || !prism_docker_engine_open (self->engine, NULL)
      || (image = prism_docker_engine_inspect_image (self->engine, name, NULL)) == NULL)
    return;
  pinned = prism_docker_image_dup_pinned (image);
  if (pinned != NULL)
    prism_docker_offend (offenders, "here %s is image=%s", name, pinned);
  else
    prism_docker_offend (offenders,
                         "here %s has no digest, as what was built here and not pushed: push it to a registry, and it "
                         "has one",
                         name);
}

/* Everything that can be refused, before anything is made. */
static gboolean
prepare (Start *self, GError **error)
{
  g_autoptr (GString) offenders = g_string_new (NULL);
  g_autofree char *folder = prism_docker_room_dup_folder (self->id, error);
  g_autoptr (JsonNode) image = NULL;

  if (folder == NULL)
    return FALSE;
  prism_docker_look (&self->asked, offenders);
  check_ways_out (self, folder, offenders);
  self->plan = prism_docker_plan_new (&self->asked, folder, NULL, offenders);
  if (offenders->len > 0)
    tell_digest (self, offenders);
  if (!report (offenders, error) || !prism_docker_engine_open (self->engine, error))
    return FALSE;
  image = prism_docker_engine_inspect_image (self->engine, self->plan->image, error);
  if (image == NULL)
    return FALSE;
  prism_docker_image_parse (&self->image, image, prism_sandbox_spec_get_allow_env (self->asked.spec), offenders);
  check_network (self, offenders);
  if (!ask_set_up (self, offenders, error))
    return FALSE;
  /* Now with what the image wants. */
  g_clear_pointer (&self->plan, prism_docker_plan_free);
  self->plan = prism_docker_plan_new (&self->asked, folder, (const char *const *)self->image.volumes, offenders);
  return report (offenders, error);
}

/* --- making ------------------------------------------------------------------------------- */

static gboolean
show_shifts (Start *self, GError **error)
{
  for (guint i = 0; i < self->plan->shifts->len; i++)
    {
      const PrismDockerShift *shift = self->plan->shifts->pdata[i];
      g_autofree char *place = g_build_filename (self->room.folder, shift->name, NULL);
      const PrismDockerShowing showing = {
        .source = shift->source,
        .place = place,
        .folder = shift->folder,
        .readonly = shift->readonly,
        .from_uid = shift->from_uid,
        .to_uid = self->base_uid + self->asked.uid,
        .from_gid = shift->from_gid,
        .to_gid = self->base_gid + self->asked.gid,
      };
      if (!prism_docker_watch_show (&showing, error))
        return FALSE;
      self->shown = i + 1;
    }
  return TRUE;
}

static gboolean
write_users (Start *self, GError **error)
{
  g_auto (PrismDockerUsers) users = { NULL, NULL };

  prism_docker_users_find (&users, self->engine, &self->image, self->plan);
  return prism_docker_room_write_users (&self->room, self->asked.uid, self->asked.gid, users.passwd, users.group,
                                        error);
}

static gboolean
make_container (Start *self, GError **error)
{
  g_autofree char *folder = prism_docker_room_dup_folder (self->id, error);

  /* Before there is anything that could be left. */
  if (!prism_docker_watch_keep (
          self->plan->name, folder,
          prism_docker_engine_is_by_program (self->engine) ? NULL : prism_docker_engine_get_socket (self->engine),
          self->asked.options->docker, error))
    return FALSE;
  self->kept = TRUE;
  if (!prism_docker_room_make (&self->room, self->id, self->asked.uid, self->asked.gid, error)
      || !show_shifts (self, error))
    return FALSE;
  self->asked_for = TRUE;
  self->container = prism_docker_engine_create (self->engine, self->plan, error);
  if (self->container == NULL)
    return FALSE;
  prism_docker_watch_made (self->plan->name);
  self->inspected = prism_docker_engine_inspect (self->engine, self->container, error);
  return self->inspected != NULL && write_users (self, error);
}

/* --- letting the agent in -------------------------------------------------------------------- */

static void
take_connection (Start *self)
{
  int fd;

  while (self->connection < 0 && (fd = prism_docker_room_accept (&self->room)) >= 0)
    {
      gint pid = prism_docker_peer_get_pid (fd);
      PrismDockerPeer peer = prism_docker_peer_judge (pid, self->container);
      if (peer == PRISM_DOCKER_PEER_RIGHT)
        {
          self->connection = fd;
          self->pid = pid;
        }
      else if (peer == PRISM_DOCKER_PEER_UNKNOWN && self->undecided < 0)
        {
          self->undecided = fd;
          self->pid = pid;
        }
      else
        close (fd);
    }
}

/* Where the kernel here does not tell, the engine says which process its container is. */
static gboolean
decide (Start *self, GError **error)
{
  g_autoptr (JsonNode) container = NULL;

  if (self->undecided < 0 || self->connection >= 0)
    return TRUE;
  container = prism_docker_engine_inspect (self->engine, self->container, error);
  if (container == NULL)
    return FALSE;
  if (self->pid > 0 && prism_http_json_number (prism_http_json_get (container, "State", "Pid", NULL), 0) == self->pid)
    {
      self->connection = self->undecided;
      self->undecided = -1;
    }
  else
    close_fd (&self->undecided);
  return TRUE;
}

static gboolean
end_start (Start *self, GError **error)
{
  return self->starting == NULL
         || prism_docker_engine_end_start (self->engine, g_steal_pointer (&self->starting), self->plan->name, error);
}

/* The agent may be there before the engine says that it is started; a container that ends
 * before it is there has failed. */
static gboolean
wait_for_agent (Start *self, GError **error)
{
  self->starting = prism_docker_engine_begin_start (self->engine, self->container);
  if (self->starting == NULL && !prism_docker_engine_end_start (self->engine, NULL, self->container, error))
    return FALSE;
  for (;;)
    {
      take_connection (self);
      if (self->starting != NULL && prism_http_call_is_over (self->starting))
        {
          if (!end_start (self, error))
            return FALSE;
          self->ending = prism_docker_engine_begin_wait (self->engine, self->container);
        }
      if (self->starting == NULL && !decide (self, error))
        return FALSE;
      if (self->connection >= 0)
        return TRUE;
      if (self->ending != NULL && prism_http_call_is_over (self->ending))
        break;
      if (!prism_docker_engine_wait (self->engine, self->room.listener, error))
        return FALSE;
    }
  g_set_error_literal (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_FAILED,
                       "docker: the container ended before its agent was there; the image may be for another kind of "
                       "machine, or the agent's own file not readable for other users");
  return FALSE;
}

static char **
list_environment (Start *self)
{
  g_autoptr (GPtrArray) env = g_ptr_array_new ();
  static const char *const proxies[] = { "HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", NULL };
  static const char *const direct[] = { "NO_PROXY=localhost,127.0.0.1,::1", "no_proxy=localhost,127.0.0.1,::1", NULL };

  for (guint i = 0; self->image.env[i] != NULL; i++)
    g_ptr_array_add (env, g_strdup (self->image.env[i]));
  for (guint i = 0; self->asked.attestation != NULL && proxies[i] != NULL; i++)
    g_ptr_array_add (
        env, g_strconcat (proxies[i], "=", prism_attestation_get_proxy_endpoint (self->asked.attestation), NULL));
  for (guint i = 0; self->asked.attestation != NULL && direct[i] != NULL; i++)
    g_ptr_array_add (env, g_strdup (direct[i]));
  g_ptr_array_add (env, NULL);
  return (char **)g_ptr_array_steal (env, NULL);
}

static gboolean
make_sandbox (Start *self, GError **error)
{
  g_autofree char *reference = g_strconcat (PRISM_DOCKER_REFERENCE, self->id, NULL);
  g_auto (GStrv) environment = list_environment (self);
  g_autoptr (GSocket) socket = g_socket_new_from_fd (self->connection, error);
  g_autoptr (GIOStream) connection = NULL;

  if (socket == NULL)
    return FALSE;
  self->connection = -1;
  connection = G_IO_STREAM (g_socket_connection_factory_create_connection (socket));
  self->sandbox = g_object_new (PRISM_TYPE_DOCKER_SANDBOX, "spec", self->asked.spec, "connection", connection,
                                "environment", environment, "backend-name", "docker", "id", self->id, "workspace",
                                prism_sandbox_spec_get_sandbox_path (self->asked.spec), "reference", reference, NULL);
  self->sandbox->socket = prism_docker_engine_is_by_program (self->engine)
                              ? NULL
                              : g_strdup (prism_docker_engine_get_socket (self->engine));
  self->sandbox->program = g_strdup (self->asked.options->docker);
  self->sandbox->name = g_strdup (self->plan->name);
  self->sandbox->memory_group = prism_docker_peer_dup_memory_group (self->pid);
  self->sandbox->container = g_strdup (self->container);
  return TRUE;
}

/* --- what it contains ------------------------------------------------------------------------- */

static gboolean
check_limits (PrismCapabilities *capabilities, PrismLimits *limits, GError **error)
{
  static const char *const names[] = { "memory-bytes", "cpu-millis", "max-pids" };
  g_autoptr (GString) offenders = g_string_new (NULL);

  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    {
      const char *evidence = prism_capabilities_get_evidence (capabilities, names[i]);
      if (prism_limits_is_set (limits, names[i]) && evidence != NULL && g_str_has_prefix (evidence, "not enforced"))
        prism_docker_offend (offenders, "%s: %s", names[i], evidence);
    }
  return report (offenders, error);
}

/* A remapped or rootless engine gives commands other ids on the host than inside: what is
 * the host's would be written as somebody else, unless it is shown to just those. */
static gboolean
check_ids (Start *self, const PrismDockerFacts *facts, GError **error)
{
  guint uid = self->base_uid + self->asked.uid, gid = self->base_gid + self->asked.gid;

  if (!facts->known || (facts->uid == uid && facts->gid == gid) || self->asked.views->len == 0)
    return TRUE;
  g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_REFUSED,
               "docker: refused: workspace and mounts: commands run as %u:%u of the host's, not as %u:%u, since the "
               "engine maps its users; use workspace-mode copy and no mounts",
               facts->uid, facts->gid, uid, gid);
  return FALSE;
}

static gboolean
judge (Start *self, GError **error)
{
  PrismDockerFacts facts;
  PrismCapabilities *capabilities;

  prism_docker_peer_find_facts (self->pid, &facts);
  if (!check_ids (self, &facts, error))
    return FALSE;
  if (self->remapped == NULL && (facts.own_user || !facts.known))
    {
      g_autoptr (JsonNode) info = prism_docker_engine_info (self->engine, error);
      if (info == NULL)
        return FALSE;
      self->remapped = prism_docker_info_dup_remapped (info);
    }
  self->capabilities = capabilities = prism_docker_capabilities_new (&self->asked, self->plan, &facts, self->inspected,
                                                                     self->remapped, self->own_kernel);
  prism_agent_sandbox_set_capabilities (PRISM_AGENT_SANDBOX (self->sandbox), capabilities);
  return prism_capabilities_check_required (capabilities, prism_sandbox_spec_get_require (self->asked.spec), error)
         && check_limits (capabilities, prism_sandbox_spec_get_limits (self->asked.spec), error);
}

/* --- the workspace ------------------------------------------------------------------------------ */

static gboolean
import (Start *self, GError **error)
{
  PrismSandbox *sandbox = PRISM_SANDBOX (self->sandbox);
  g_autoptr (GFile) folder = NULL;
  g_autoptr (PrismTreeIdentity) identity = NULL;

  if (!self->plan->copies)
    return TRUE;
  folder = g_file_new_for_path (self->asked.workspace);
  identity = prism_sandbox_import_tree (sandbox, folder, prism_sandbox_spec_get_sandbox_path (self->asked.spec),
                                        self->cancellable, error);
  if (identity == NULL)
    return FALSE;
  for (guint i = 0; i < self->plan->forget->len; i++)
    {
      g_autoptr (GError) failure = NULL;
      if (!prism_sandbox_remove_file (sandbox, self->plan->forget->pdata[i], PRISM_FILE_FLAGS_RECURSIVE,
                                      self->cancellable, &failure)
          && !g_error_matches (failure, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_NOT_FOUND))
        {
          g_propagate_error (error, g_steal_pointer (&failure));
          return FALSE;
        }
    }
  return TRUE;
}

/* The next host finds in the room what it must know, and who ends it then is no one's
 * business but its wall time's. */
static gboolean
detach (Start *self, GError **error)
{
  g_auto (GStrv) environment = list_environment (self);
  g_autofree char *digest = prism_docker_plan_dup_digest (self->plan);
  const char *created = prism_http_json_text (prism_http_json_get (self->inspected, "Created", NULL));
  const char *image = prism_http_json_text (prism_http_json_get (self->inspected, "Image", NULL));
  const PrismDockerDeposit deposit = {
    .spec = self->asked.spec,
    .capabilities = self->capabilities,
    .environment = environment,
    .socket = self->sandbox->socket != NULL ? self->sandbox->socket : (char *)"",
    .program = self->sandbox->program != NULL ? self->sandbox->program : (char *)"",
    .container = self->container,
    .image = (char *)(image != NULL ? image : ""),
    .digest = digest,
    .created = (char *)(created != NULL ? created : ""),
    .started = g_get_real_time (),
  };
  g_autoptr (GBytes) bytes = prism_docker_deposit_write (&deposit);
  gint64 wall_ms = prism_limits_get (prism_sandbox_spec_get_limits (self->asked.spec), "wall-time-ms");

  return prism_docker_room_deposit (&self->room, bytes, error)
         && prism_docker_watch_detach (self->plan->name, wall_ms / 1000 + 1, error);
}

/* What is not needed on the host any more: the container has what it has. Of a detached
 * sandbox the room stays, for the next host's socket. */
static gboolean
let_go (Start *self, GError **error)
{
  hide_shifts (self);
  if (prism_sandbox_spec_get_lifetime (self->asked.spec) == PRISM_LIFETIME_DETACHED)
    {
      if (!detach (self, error))
        return FALSE;
      close_fd (&self->room.listener); /* the agent has been let in, and nobody else shall be */
      self->sandbox->room = self->room;
      self->room = (PrismDockerRoom){ NULL, -1, -1 };
    }
  else
    prism_docker_room_remove (&self->room);
  self->kept = FALSE; /* the sandbox tells the keeper when it has ended */
  return TRUE;
}

PrismSandbox *
prism_docker_sandbox_start (PrismSandboxSpec *spec,
                            const PrismDockerOptions *options,
                            GCancellable *cancellable,
                            GError **error)
{
  PrismLimits *limits = prism_sandbox_spec_get_limits (spec);
  g_autoptr (PrismEgressProxy) proxy = NULL;
  g_auto (Start) self = {
    .room = { NULL, -1, -1 },
    .connection = -1,
    .undecided = -1,
    .deadline = g_get_monotonic_time () + prism_limits_get (limits, "startup-timeout-ms") * 1000,
    .cleanup_us = prism_limits_get (limits, "cleanup-deadline-ms") * 1000,
    .cancellable = cancellable,
  };

  make_id (self.id);
  self.asked.spec = spec;
  self.asked.options = options;
  self.asked.id = self.id;
  self.asked.agent = prism_agent_get_path ();
  self.asked.host = self.host = prism_docker_owner_dup_self ();
  self.engine = prism_docker_engine_new (options->socket, options->docker, self.deadline, cancellable);
  /* Where there is no proxy nothing is begun; it is kept until the sandbox's listener holds it. */
  if (!prepare (&self, error) || !prism_sandbox_spec_dup_egress_proxy (spec, &proxy, error)
      || !make_container (&self, error) || !wait_for_agent (&self, error) || !make_sandbox (&self, error))
    return NULL;
  /* The way out asks what the sandbox claims, so that is judged first. */
  if (judge (&self, error) && prism_agent_sandbox_start (PRISM_AGENT_SANDBOX (self.sandbox), cancellable, error)
      && import (&self, error) && end_start (&self, error) && let_go (&self, error))
    {
      prism_docker_sandbox_watch (self.sandbox);
      return PRISM_SANDBOX (g_steal_pointer (&self.sandbox));
    }
  g_clear_pointer (&self.starting, prism_http_call_abandon);
  prism_sandbox_close (PRISM_SANDBOX (self.sandbox), NULL, NULL);
  return NULL;
}
