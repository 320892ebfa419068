/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A detached sandbox, from its second host's side: what it is must be attested before
 * anything is said to it. The container's id, the labels, the image, the time it was made
 * and what runs as its pid 1 must all be what the first host wrote down; one that is not
 * refuses the whole.
 *
 * TRUST. The engine's description is believed about the container with that id; a name or
 * a label alone anybody with access to the engine can give to another one. */
#include <string.h>
#include <unistd.h>

#include "prism-docker-deposit.h"
#include "prism-docker-engine.h"
#include "prism-docker-names.h"
#include "prism-docker-peer.h"
#include "prism-docker-sandbox-private.h"
#include "prism-docker-watch.h"

typedef struct
{
  PrismDockerDeposit facts;
  PrismDockerRoom room;
  PrismDockerEngine *engine;
  int connection;
  gint pid, expected;
} Again;

static void
again_clear (Again *self)
{
  if (self->connection >= 0)
    close (self->connection);
  prism_docker_room_clear (&self->room);
  prism_docker_deposit_clear (&self->facts);
  g_clear_pointer (&self->engine, prism_docker_engine_free);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Again, again_clear)

static void
differ (GString *offenders, const char *what, const char *is, const char *should)
{
  if (g_strcmp0 (is, should) != 0)
    prism_docker_offend (offenders, "%s is “%.80s” and should be “%.80s”", what, is != NULL ? is : "", should);
}

static const char *
label_of (JsonNode *container, const char *name)
{
  return prism_http_json_text (prism_http_json_get (container, "Config", "Labels", name, NULL));
}

/* What pid 1 is, as the engine has it. */
static char *
dup_command (JsonNode *container)
{
  const char *program = prism_http_json_text (prism_http_json_get (container, "Path", NULL));
  JsonArray *args = prism_http_json_array (prism_http_json_get (container, "Args", NULL));
  g_autoptr (GPtrArray) argv = g_ptr_array_new ();

  g_ptr_array_add (argv, (gpointer)(program != NULL ? program : ""));
  for (guint i = 0; args != NULL && i < json_array_get_length (args); i++)
    {
      const char *arg = prism_http_json_text (json_array_get_element (args, i));
      g_ptr_array_add (argv, (gpointer)(arg != NULL ? arg : ""));
    }
  g_ptr_array_add (argv, NULL);
  return prism_docker_fingerprint ((const char *const *)argv->pdata);
}

static gboolean
attest (Again *self, const char *id, JsonNode *container, GError **error)
{
  const PrismDockerDeposit *facts = &self->facts;
  const char *image = prism_http_json_text (prism_http_json_get (container, "Config", "Image", NULL));
  const char *command = label_of (container, PRISM_DOCKER_LABEL_COMMAND);
  g_autofree char *actual = dup_command (container);
  g_autofree char *owner = g_strdup_printf ("%u", (guint)geteuid ());
  g_autofree char *digest =
      image != NULL && prism_docker_is_pinned_image (image) ? prism_docker_dup_digest (image) : NULL;
  g_autoptr (GString) offenders = g_string_new (NULL);

  differ (offenders, "its id", prism_http_json_text (prism_http_json_get (container, "Id", NULL)), facts->container);
  differ (offenders, "the label " PRISM_DOCKER_LABEL, label_of (container, PRISM_DOCKER_LABEL), "1");
  differ (offenders, "the label " PRISM_DOCKER_LABEL_ID, label_of (container, PRISM_DOCKER_LABEL_ID), id);
  differ (offenders, "the label " PRISM_DOCKER_LABEL_OWNER, label_of (container, PRISM_DOCKER_LABEL_OWNER), owner);
  differ (offenders, "the label " PRISM_DOCKER_LABEL_LIFETIME, label_of (container, PRISM_DOCKER_LABEL_LIFETIME),
          "detached");
  differ (offenders, "the fingerprint of its command", actual, command != NULL ? command : "(there is none)");
  differ (offenders, "its image", prism_http_json_text (prism_http_json_get (container, "Image", NULL)), facts->image);
  differ (offenders, "its image's digest", digest, facts->digest);
  differ (offenders, "the time it was made", prism_http_json_text (prism_http_json_get (container, "Created", NULL)),
          facts->created);
  if (offenders->len == 0)
    return TRUE;
  g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_REFUSED,
               "docker: the container is not the one that was left: %s", offenders->str);
  return FALSE;
}

static gboolean
check_state (Again *self, JsonNode *container, GError **error)
{
  self->expected = (gint)prism_http_json_number (prism_http_json_get (container, "State", "Pid", NULL), 0);
  if (prism_http_json_flag (prism_http_json_get (container, "State", "Running", NULL))
      && !prism_http_json_flag (prism_http_json_get (container, "State", "Paused", NULL)) && self->expected > 0)
    return TRUE;
  g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_STATE, "docker: the container is %s, not running",
               prism_http_json_flag (prism_http_json_get (container, "State", "Paused", NULL)) ? "paused" : "ended");
  return FALSE;
}

/* It must be both: in the container by the kernel, and its first process by the engine. */
static gboolean
wait_for_agent (Again *self, GError **error)
{
  while (self->connection < 0)
    {
      int fd;
      if (!prism_docker_engine_wait (self->engine, self->room.listener, error))
        return FALSE;
      fd = prism_docker_room_accept (&self->room);
      if (fd < 0)
        continue;
      self->pid = prism_docker_peer_get_pid (fd);
      if (prism_docker_peer_judge (self->pid, self->facts.container) != PRISM_DOCKER_PEER_WRONG
          && self->pid == self->expected)
        self->connection = fd;
      else
        close (fd);
    }
  return TRUE;
}

static PrismDockerSandbox *
make_sandbox (Again *self, const char *id, GError **error)
{
  PrismDockerDeposit *facts = &self->facts;
  g_autofree char *reference = g_strconcat (PRISM_DOCKER_REFERENCE, id, NULL);
  g_autoptr (GSocket) socket = g_socket_new_from_fd (self->connection, error);
  g_autoptr (GIOStream) connection = NULL;
  PrismDockerSandbox *sandbox;
  gint64 wall_ms = prism_limits_get (prism_sandbox_spec_get_limits (facts->spec), "wall-time-ms");
  gint64 age_ms = (g_get_real_time () - facts->started) / 1000;

  if (socket == NULL)
    return NULL;
  self->connection = -1;
  connection = G_IO_STREAM (g_socket_connection_factory_create_connection (socket));
  sandbox = g_object_new (PRISM_TYPE_DOCKER_SANDBOX, "spec", facts->spec, "connection", connection, "environment",
                          facts->environment, "backend-name", "docker", "id", id, "workspace",
                          prism_sandbox_spec_get_sandbox_path (facts->spec), "reference", reference, NULL);
  sandbox->socket = *facts->socket != 0 ? g_strdup (facts->socket) : NULL;
  sandbox->program = *facts->program != 0 ? g_strdup (facts->program) : NULL;
  sandbox->container = g_strdup (facts->container);
  sandbox->name = g_strconcat ("prism-", id, NULL);
  sandbox->memory_group = prism_docker_peer_dup_memory_group (self->pid);
  sandbox->memory_kills = prism_docker_count_memory_kills (sandbox->memory_group);
  close (self->room.listener);
  self->room.listener = -1; /* the agent has been let in, and nobody else shall be */
  sandbox->room = self->room;
  self->room = (PrismDockerRoom){ NULL, -1, -1 };
  prism_agent_sandbox_set_capabilities (PRISM_AGENT_SANDBOX (sandbox), facts->capabilities);
  prism_agent_sandbox_set_age (PRISM_AGENT_SANDBOX (sandbox), CLAMP (age_ms, 0, wall_ms));
  return sandbox;
}

PrismSandbox *
prism_docker_sandbox_connect (const char *reference, gint64 deadline, GCancellable *cancellable, GError **error)
{
  const char *id =
      g_str_has_prefix (reference, PRISM_DOCKER_REFERENCE) ? reference + strlen (PRISM_DOCKER_REFERENCE) : "";
  g_auto (Again) self = { .room = { NULL, -1, -1 }, .connection = -1 };
  g_autoptr (PrismDockerSandbox) sandbox = NULL;
  g_autoptr (GBytes) bytes = NULL;
  g_autoptr (JsonNode) container = NULL;

  if (!prism_docker_is_id (id))
    {
      g_set_error_literal (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_NOT_FOUND,
                           "docker: that is no reference of a docker sandbox");
      return NULL;
    }
  if (!prism_docker_room_enter (&self.room, id, error)
      || (bytes = prism_docker_room_read_deposit (&self.room, error)) == NULL
      || !prism_docker_deposit_read (&self.facts, bytes, error))
    return NULL;
  self.engine = prism_docker_engine_new (*self.facts.socket != 0 ? self.facts.socket : NULL,
                                         *self.facts.program != 0 ? self.facts.program : NULL, deadline, cancellable);
  if (!prism_docker_engine_open (self.engine, error)
      || (container = prism_docker_engine_inspect (self.engine, self.facts.container, error)) == NULL
      || !attest (&self, id, container, error) || !check_state (&self, container, error)
      || !prism_docker_room_open (&self.room, error) || !wait_for_agent (&self, error))
    return NULL;
  sandbox = make_sandbox (&self, id, error);
  /* Dropped, it goes on without this host. */
  if (sandbox == NULL || !prism_agent_sandbox_start (PRISM_AGENT_SANDBOX (sandbox), cancellable, error))
    return NULL;
  prism_docker_sandbox_watch (sandbox);
  return PRISM_SANDBOX (g_steal_pointer (&sandbox));
}
