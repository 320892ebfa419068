/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-docker-engine.h"

#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "prism-docker-names.h"
#include "prism-docker-program.h"
#include "prism-docker-tar.h"

/* Docker 19.03 is the first with what is asked for; what is newer than the last is not
 * asked for. */
#define LEAST_MINOR    40
#define MOST_MINOR     47
#define MOST_WORDS     512
#define MOST_PROCESSES 32768

#define BY(self) (&(const PrismDockerProgram){ (self)->program, (self)->deadline, (self)->cancellable })

struct _PrismDockerEngine
{
  PrismHttpClient *client;
  char *socket;
  char *program;
  gboolean by_program;
  GError *start_failure; /* of one that was started by the program */
  GCancellable *cancellable;
  gint64 deadline;
  guint minor;
  guint offered; /* what it said that it speaks, be it too old */
  gboolean podman;
};

static char *
dup_default_socket (void)
{
  const char *host = g_getenv ("DOCKER_HOST"), *runtime = g_getenv ("XDG_RUNTIME_DIR");
  g_autofree char *own = runtime != NULL ? g_build_filename (runtime, "docker.sock", NULL) : NULL;

  if (host != NULL && g_str_has_prefix (host, "unix://"))
    return g_strdup (host + strlen ("unix://"));
  if (own != NULL && access (own, F_OK) == 0 && access ("/var/run/docker.sock", W_OK) < 0)
    return g_steal_pointer (&own);
  return g_strdup ("/var/run/docker.sock");
}

PrismDockerEngine *
prism_docker_engine_new (const char *socket, const char *program, gint64 deadline, GCancellable *cancellable)
{
  PrismDockerEngine *self = g_new0 (PrismDockerEngine, 1);

  self->socket = socket != NULL ? g_strdup (socket) : dup_default_socket ();
  self->client = prism_http_client_new_for_socket (self->socket);
  self->cancellable = cancellable != NULL ? g_object_ref (cancellable) : NULL;
  self->program = g_strdup (program);
  self->deadline = deadline;
  return self;
}

void
prism_docker_engine_free (PrismDockerEngine *self)
{
  prism_http_client_free (self->client);
  g_clear_object (&self->cancellable);
  g_clear_error (&self->start_failure);
  g_free (self->program);
  g_free (self->socket);
  g_free (self);
}

const char *
prism_docker_engine_get_socket (PrismDockerEngine *self)
{
  return self->socket;
}

const char *
prism_docker_engine_get_program (PrismDockerEngine *self)
{
  return self->program;
}

PrismHttpClient *
prism_docker_engine_get_client (PrismDockerEngine *self)
{
  return self->client;
}

void
prism_docker_engine_set_deadline (PrismDockerEngine *self, gint64 deadline)
{
  self->deadline = deadline;
}

guint
prism_docker_engine_get_minor (PrismDockerEngine *self)
{
  return self->minor;
}

guint
prism_docker_engine_get_offered (PrismDockerEngine *self)
{
  return self->offered;
}

/* --- one request ------------------------------------------------------------------- */

/* What the way there says, as errors of a sandbox. */
static void
take_failure (PrismDockerEngine *self, const char *what, GError *failure, GError **error)
{
  g_autoptr (GError) owned = failure;
  gint code;

  if (failure->domain != G_IO_ERROR)
    code = PRISM_SANDBOX_ERROR_FAILED;
  else if (failure->code == G_IO_ERROR_TIMED_OUT)
    code = PRISM_SANDBOX_ERROR_TIMEOUT;
  else if (failure->code == G_IO_ERROR_CANCELLED)
    {
      g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_CANCELLED, "docker: %s: cancelled", what);
      return;
    }
  else if (failure->code == G_IO_ERROR_PERMISSION_DENIED)
    code = PRISM_SANDBOX_ERROR_DENIED;
  else if (failure->code == G_IO_ERROR_CONNECTION_REFUSED || failure->code == G_IO_ERROR_NOT_FOUND)
    code = PRISM_SANDBOX_ERROR_UNAVAILABLE;
  else
    code = PRISM_SANDBOX_ERROR_FAILED;
  g_set_error (error, PRISM_SANDBOX_ERROR, code, "docker: %s: the engine at %s%s", what, failure->message,
               code == PRISM_SANDBOX_ERROR_UNAVAILABLE ? ": is it running? (systemctl start docker, or name its socket "
                                                         "with the property socket)"
               : code == PRISM_SANDBOX_ERROR_DENIED ? ": you may not use it: join the group docker, or use a rootless "
                                                      "engine of your own"
                                                    : "");
}

/* The engine's own words, cut to a line. */
static char *
dup_message (const PrismHttpReply *reply)
{
  g_autoptr (JsonNode) root = prism_http_json_parse (reply->body, NULL);
  const char *text = prism_http_json_text (prism_http_json_get (root, "message", NULL));

  if (text == NULL)
    text = prism_http_json_text (prism_http_json_get (root, "cause", NULL));
  return text != NULL ? prism_docker_dup_printable (text, (gssize)MIN (strlen (text), MOST_WORDS))
                      : g_strdup_printf ("HTTP status %u", reply->status);
}

static gboolean
ask (PrismDockerEngine *self,
     const char *what,
     const char *method,
     const char *path,
     const char *body,
     PrismHttpReply *reply,
     GError **error)
{
  g_autofree char *full = self->minor != 0 ? g_strdup_printf ("/v1.%u%s", self->minor, path) : g_strdup (path);
  g_autoptr (GBytes) bytes = body != NULL ? g_bytes_new (body, strlen (body)) : NULL;
  const PrismHttpRequest request = { method, full, NULL, bytes, 0 };
  GError *failure = NULL;

  if (prism_http_client_call (self->client, &request, self->deadline, reply, self->cancellable, &failure))
    return TRUE;
  take_failure (self, what, failure, error);
  return FALSE;
}

static gboolean
is_success (const PrismHttpReply *reply)
{
  return reply->status >= 200 && reply->status < 300;
}

static void
take_status (const char *what, const PrismHttpReply *reply, PrismSandboxError not_found, GError **error)
{
  g_autofree char *message = dup_message (reply);

  g_set_error (error, PRISM_SANDBOX_ERROR,
               reply->status == 404   ? (int)not_found
               : reply->status == 409 ? (int)PRISM_SANDBOX_ERROR_STATE
               : reply->status == 400 ? (int)PRISM_SANDBOX_ERROR_REFUSED
                                      : (int)PRISM_SANDBOX_ERROR_FAILED,
               "docker: %s: %s", what, message);
}

static JsonNode *
ask_json (PrismDockerEngine *self, const char *what, const char *path, GError **error)
{
  g_auto (PrismHttpReply) reply = { 0 };
  g_autoptr (GError) failure = NULL;
  JsonNode *root;

  if (!ask (self, what, "GET", path, NULL, &reply, error))
    return NULL;
  if (!is_success (&reply))
    {
      take_status (what, &reply, PRISM_SANDBOX_ERROR_NOT_FOUND, error);
      return NULL;
    }
  root = prism_http_json_parse (reply.body, &failure);
  if (root == NULL)
    g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_FAILED, "docker: %s: %s", what, failure->message);
  return root;
}

/* --- finding out ----------------------------------------------------------------------- */

static guint
parse_minor (const char *version)
{
  guint64 minor;

  return version != NULL && g_str_has_prefix (version, "1.") && strlen (version) <= 6
                 && g_ascii_string_to_unsigned (version + 2, 10, 0, 9999, &minor, NULL)
             ? (guint)minor
             : 0;
}

static gboolean
open_socket (PrismDockerEngine *self, GError **error)
{
  g_auto (PrismHttpReply) reply = { 0 };
  guint minor;

  self->minor = 0;
  if (!ask (self, "looking for it", "GET", "/_ping", NULL, &reply, error))
    return FALSE;
  if (!is_success (&reply))
    {
      take_status ("looking for it", &reply, PRISM_SANDBOX_ERROR_UNAVAILABLE, error);
      return FALSE;
    }
  minor = parse_minor (prism_http_client_get_header (self->client, "Api-Version"));
  self->offered = minor;
  self->podman = prism_http_client_get_header (self->client, "Libpod-Api-Version") != NULL;
  if (minor < LEAST_MINOR)
    {
      g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_UNAVAILABLE,
                   minor == 0
                       ? "docker: what answers at %s is no container engine: it names no API version"
                       : "docker: the engine at %s is too old: docker 19.03 (API 1.40) is the first that will do",
                   self->socket);
      return FALSE;
    }
  self->minor = MIN (minor, MOST_MINOR);
  return TRUE;
}

/* Its version, before anything else is asked of it. */
static gboolean
open_program (PrismDockerEngine *self, GError **error)
{
  g_autoptr (JsonNode) root = prism_docker_program_take_json (
      "looking for it",
      prism_docker_program_run (BY (self), "looking for it", error, "version", "--format", "{{json .}}", NULL), error);
  guint minor;

  if (root == NULL)
    return FALSE;
  minor = parse_minor (prism_http_json_text (prism_http_json_get (root, "Server", "ApiVersion", NULL)));
  if (minor == 0)
    minor = parse_minor (prism_http_json_text (prism_http_json_get (root, "Server", "APIVersion", NULL)));
  /* Podman's own has no API version: its program is its engine. */
  if (minor == 0 && prism_http_json_get (root, "Client", NULL) != NULL
      && prism_http_json_get (root, "Server", NULL) == NULL)
    {
      minor = LEAST_MINOR;
      self->podman = TRUE;
    }
  self->offered = minor;
  if (minor < LEAST_MINOR)
    {
      g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_CLI,
                   "docker: %s: the engine is too old, or is none: docker 19.03 (API 1.40) is the first that will do",
                   self->program);
      return FALSE;
    }
  self->minor = MIN (minor, MOST_MINOR);
  return TRUE;
}

gboolean
prism_docker_engine_open (PrismDockerEngine *self, GError **error)
{
  g_autoptr (GError) failure = NULL;

  self->by_program = FALSE;
  if (open_socket (self, &failure))
    return TRUE;
  self->by_program = self->program != NULL
                     && (g_error_matches (failure, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_UNAVAILABLE)
                         || g_error_matches (failure, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_DENIED));
  if (self->by_program)
    return open_program (self, error);
  g_propagate_error (error, g_steal_pointer (&failure));
  return FALSE;
}

gboolean
prism_docker_engine_is_by_program (PrismDockerEngine *self)
{
  return self->by_program;
}

JsonNode *
prism_docker_engine_inspect_image (PrismDockerEngine *self, const char *image, GError **error)
{
  g_autofree char *path = g_strdup_printf ("/images/%s/json", image);
  g_autoptr (GError) failure = NULL;
  JsonNode *root =
      self->by_program ? prism_docker_program_take_json (
          "looking at the image",
          prism_docker_program_run (BY (self), "looking at the image", &failure, "image", "inspect", image, NULL),
          &failure)
                       : ask_json (self, "looking at the image", path, &failure);

  if (root == NULL && g_error_matches (failure, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_NOT_FOUND))
    g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_NOT_FOUND,
                 "docker: the engine does not have the image %s, and none is ever pulled by itself: docker pull %s",
                 image, image);
  else if (root == NULL)
    g_propagate_error (error, g_steal_pointer (&failure));
  return root;
}

JsonNode *
prism_docker_engine_inspect_network (PrismDockerEngine *self, const char *name, GError **error)
{
  g_autofree char *path = g_strdup_printf ("/networks/%s", name);

  if (self->by_program)
    return prism_docker_program_take_json (
        "looking at the network",
        prism_docker_program_run (BY (self), "looking at the network", error, "network", "inspect", name, NULL), error);
  return ask_json (self, "looking at the network", path, error);
}

JsonNode *
prism_docker_engine_inspect (PrismDockerEngine *self, const char *container, GError **error)
{
  g_autofree char *path = g_strdup_printf ("/containers/%s/json", container);

  if (self->by_program)
    return prism_docker_program_take_json ("looking at the container",
                                           prism_docker_program_run (BY (self), "looking at the container", error,
                                                                     "container", "inspect", container, NULL),
                                           error);
  return ask_json (self, "looking at the container", path, error);
}

JsonNode *
prism_docker_engine_info (PrismDockerEngine *self, GError **error)
{
  if (self->by_program)
    return prism_docker_program_take_json (
        "asking for its set-up",
        prism_docker_program_run (BY (self), "asking for its set-up", error, "info", "--format", "{{json .}}", NULL),
        error);
  return ask_json (self, "asking for its set-up", "/info", error);
}

JsonNode *
prism_docker_engine_version (PrismDockerEngine *self, GError **error)
{
  if (self->by_program)
    {
      g_autoptr (JsonNode) root =
          prism_docker_program_take_json ("asking for its version",
                                          prism_docker_program_run (BY (self), "asking for its version", error,
                                                                    "version", "--format", "{{json .}}", NULL),
                                          error);
      JsonNode *server = prism_http_json_get (root, "Server", NULL);
      return server != NULL ? json_node_ref (server) : g_steal_pointer (&root);
    }
  return ask_json (self, "asking for its version", "/version", error);
}

JsonNode *
prism_docker_engine_list (PrismDockerEngine *self, GError **error)
{
  if (self->by_program)
    return prism_docker_program_list (BY (self), error);
  /* {"label":["prism.sandbox=1"]} */
  return ask_json (self, "listing the sandboxes",
                   "/containers/json?all=1&filters=%7B%22label%22%3A%5B%22prism.sandbox%3D1%22%5D%7D", error);
}

GPtrArray *
prism_docker_engine_recall (PrismDockerEngine *self, const char *container, GError **error)
{
  g_autoptr (GPtrArray) events = g_ptr_array_new_with_free_func ((GDestroyNotify)json_node_unref);
  g_autofree char *path =
      g_strdup_printf ("/events?since=0&until=%" G_GINT64_FORMAT
                       "&filters=%%7B%%22container%%22%%3A%%5B%%22%s%%22%%5D%%7D", /* {"container":["…"]} */
                       g_get_real_time () / G_USEC_PER_SEC + 1, container);
  g_auto (PrismHttpReply) reply = { 0 };
  g_auto (GStrv) lines = NULL;
  g_autofree char *text = NULL;

  if (self->by_program)
    {
      g_autofree char *until = g_strdup_printf ("%" G_GINT64_FORMAT, g_get_real_time () / G_USEC_PER_SEC + 1);
      g_autofree char *filter = g_strconcat ("container=", container, NULL);
      reply.body = prism_docker_program_run (BY (self), "asking what became of it", error, "events", "--since", "0",
                                             "--until", until, "--filter", filter, "--format", "{{json .}}", NULL);
      if (reply.body == NULL)
        return NULL;
    }
  else if (!ask (self, "asking what became of it", "GET", path, NULL, &reply, error))
    return NULL;
  text = prism_docker_dup_text (reply.body);
  lines = g_strsplit (text, "\n", 1024);
  for (guint i = 0; lines[i] != NULL; i++)
    {
      g_autoptr (GBytes) line = g_bytes_new (lines[i], strlen (lines[i]));
      JsonNode *event = lines[i][0] != 0 ? prism_http_json_parse (line, NULL) : NULL;
      if (event != NULL)
        g_ptr_array_add (events, event);
    }
  return g_steal_pointer (&events);
}

/* --- doing ------------------------------------------------------------------------------ */

static char *
create (PrismDockerEngine *self, const char *name, const char *body, GError **error)
{
  g_autofree char *path = g_strdup_printf ("/containers/create?name=%s", name);
  g_auto (PrismHttpReply) reply = { 0 };
  g_autoptr (JsonNode) root = NULL;
  const char *id;

  if (!ask (self, "making the container", "POST", path, body, &reply, error))
    return NULL;
  if (!is_success (&reply))
    {
      take_status ("making the container", &reply, PRISM_SANDBOX_ERROR_NOT_FOUND, error);
      return NULL;
    }
  root = prism_http_json_parse (reply.body, NULL);
  id = prism_http_json_text (prism_http_json_get (root, "Id", NULL));
  if (prism_docker_is_container_id (id))
    return g_strdup (id);
  g_set_error_literal (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_FAILED,
                       "docker: making the container: the engine's answer names no container");
  return NULL;
}

/* Podman raises it to its own default otherwise, and fails where it may not. It counts all
 * that runs under the commands' id; how many one sandbox may have its control group says. */
static gint64
find_most_processes (void)
{
  struct rlimit limit;
  return getrlimit (RLIMIT_NPROC, &limit) == 0 ? (gint64)MIN (limit.rlim_max, MOST_PROCESSES) : MOST_PROCESSES;
}

char *
prism_docker_engine_create (PrismDockerEngine *self, const PrismDockerPlan *plan, GError **error)
{
  const PrismDockerDialect dialect = { self->minor, self->podman, find_most_processes () };
  g_autofree char *body = NULL;

  if (self->by_program)
    {
      g_auto (GStrv) argv = prism_docker_plan_to_argv (plan, &dialect);
      return prism_docker_program_create (BY (self), (const char *const *)argv, error);
    }
  body = prism_docker_plan_to_json (plan, &dialect);
  return create (self, plan->name, body, error);
}

gboolean
prism_docker_engine_create_to_look (
    PrismDockerEngine *self, const char *name, const char *image, const char *const *labels, GError **error)
{
  g_autofree char *body = NULL;
  g_autofree char *id = NULL;

  if (self->by_program)
    {
      g_auto (GStrv) argv = prism_docker_look_to_argv (name, image, labels);
      id = prism_docker_program_create (BY (self), (const char *const *)argv, error);
    }
  else
    {
      body = prism_docker_look_to_json (image, labels);
      id = create (self, name, body, error);
    }
  return id != NULL;
}

PrismHttpCall *
prism_docker_engine_begin_start (PrismDockerEngine *self, const char *container)
{
  g_autofree char *path = g_strdup_printf ("/v1.%u/containers/%s/start", self->minor, container);
  const PrismHttpRequest request = { "POST", path, NULL, NULL, 0 };

  if (self->by_program)
    {
      prism_docker_program_do (BY (self), "starting the container", "start", container, &self->start_failure);
      return NULL;
    }
  return prism_http_client_begin (self->client, &request);
}

PrismHttpCall *
prism_docker_engine_begin_wait (PrismDockerEngine *self, const char *container)
{
  g_autofree char *path = g_strdup_printf ("/v1.%u/containers/%s/wait", self->minor, container);
  const PrismHttpRequest request = { "POST", path, NULL, NULL, 0 };
  return self->by_program ? NULL : prism_http_client_begin (self->client, &request);
}

gboolean
prism_docker_engine_wait (PrismDockerEngine *self, int fd, GError **error)
{
  GError *failure = NULL;

  if (prism_http_client_wait (self->client, fd, self->deadline, self->cancellable, &failure))
    return TRUE;
  take_failure (self, "waiting for the container's agent", failure, error);
  return FALSE;
}

gboolean
prism_docker_engine_end_start (PrismDockerEngine *self, PrismHttpCall *call, const char *container, GError **error)
{
  g_auto (PrismHttpReply) reply = { 0 };
  GError *failure = NULL;

  if (call == NULL)
    {
      if (self->start_failure != NULL)
        g_propagate_error (error, g_steal_pointer (&self->start_failure));
      return error == NULL || *error == NULL;
    }
  if (!prism_http_call_end (call, self->deadline, &reply, self->cancellable, &failure))
    {
      take_failure (self, "starting the container", failure, error);
      return FALSE;
    }
  if (is_success (&reply) || reply.status == 304)
    return TRUE;
  take_status ("starting the container", &reply, PRISM_SANDBOX_ERROR_LOST, error);
  return FALSE;
}

static gboolean
act (PrismDockerEngine *self, const char *what, const char *container, const char *action, GError **error)
{
  g_autofree char *path = g_strdup_printf ("/containers/%s/%s", container, action);
  g_auto (PrismHttpReply) reply = { 0 };

  if (self->by_program)
    return prism_docker_program_do (BY (self), what, action, container, error);
  if (!ask (self, what, "POST", path, NULL, &reply, error))
    return FALSE;
  if (is_success (&reply))
    return TRUE;
  take_status (what, &reply, PRISM_SANDBOX_ERROR_LOST, error);
  return FALSE;
}

gboolean
prism_docker_engine_pause (PrismDockerEngine *self, const char *container, gboolean pause, GError **error)
{
  return act (self, pause ? "pausing the container" : "resuming the container", container, pause ? "pause" : "unpause",
              error);
}

/* Two may remove it at once: the daemon by itself when it has ended, and we. */
static gboolean
wait_removed (PrismDockerEngine *self, const char *container, GError **error)
{
  g_autofree char *path = g_strdup_printf ("/containers/%s/wait?condition=removed", container);
  g_auto (PrismHttpReply) reply = { 0 };

  if (!ask (self, "waiting until the container is gone", "POST", path, NULL, &reply, error))
    return FALSE;
  if (is_success (&reply) || reply.status == 404)
    return TRUE;
  take_status ("waiting until the container is gone", &reply, PRISM_SANDBOX_ERROR_NOT_FOUND, error);
  return FALSE;
}

gboolean
prism_docker_engine_remove (PrismDockerEngine *self, const char *container, GError **error)
{
  g_autofree char *path = g_strdup_printf ("/containers/%s?force=1&v=1", container);
  g_auto (PrismHttpReply) reply = { 0 };

  if (self->by_program)
    return prism_docker_program_remove (BY (self), container, error);
  if (!ask (self, "removing the container", "DELETE", path, NULL, &reply, error))
    return FALSE;
  if (is_success (&reply) || reply.status == 404)
    return TRUE;
  if (reply.status == 409)
    return wait_removed (self, container, error);
  take_status ("removing the container", &reply, PRISM_SANDBOX_ERROR_NOT_FOUND, error);
  return FALSE;
}

char *
prism_docker_engine_read_file (PrismDockerEngine *self, const char *container, const char *path, GError **error)
{
  g_autofree char *request = g_strdup_printf ("/containers/%s/archive?path=%s", container, path);
  g_auto (PrismHttpReply) reply = { 0 };

  if (self->by_program)
    {
      g_autofree char *from = g_strconcat (container, ":", path, NULL);
      reply.body = prism_docker_program_run (BY (self), "reading a file of the image's", NULL, "cp", from, "-", NULL);
      return reply.body != NULL ? prism_docker_tar_take (reply.body) : NULL;
    }

  if (!ask (self, "reading a file of the image's", "GET", request, NULL, &reply, error))
    return NULL;
  return is_success (&reply) ? prism_docker_tar_take (reply.body) : NULL;
}
