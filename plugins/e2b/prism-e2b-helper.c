/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-e2b-helper.h"

#include <errno.h>
#include <glib-unix.h>
#include <sys/socket.h>
#include <unistd.h>

#include "prism-e2b-event.h"

#define PIECE     (256 * 1024)
#define SOME_TEXT 4096

/* The file is not left behind: it runs by the descriptor that is still open. */
#define BEGIN "chmod 700 \"$1\" && exec 3<\"$1\" && rm -f \"$1\" && exec /proc/self/fd/3 --stdio"

struct _PrismE2bHelper
{
  PrismAgentSandbox parent_instance;
};

G_DEFINE_FINAL_TYPE (PrismE2bHelper, prism_e2b_helper, PRISM_TYPE_AGENT_SANDBOX)

static void
prism_e2b_helper_class_init (PrismE2bHelperClass *klass)
{
}

static void
prism_e2b_helper_init (PrismE2bHelper *self)
{
}

/* --- its two streams, as one socket ---------------------------------------------------------- */

/* All of it is the client's thread's. Lives until its run ended and nothing is under way. */
typedef struct
{
  gatomicrefcount refs;
  PrismE2bClient *client;
  PrismE2bIdentity identity;
  PrismE2bRun *run;
  int fd; /* -1: over */
  GSource *readable, *writable;
  GBytes *rest; /* what it wrote and nobody took yet */
  gsize at;
  gboolean writing;

  GMutex lock; /* for what follows */
  char *complaint;
} Link;

static Link *
link_ref (Link *link)
{
  g_atomic_ref_count_inc (&link->refs);
  return link;
}

static void
link_unref (gpointer data)
{
  Link *link = data;

  if (!g_atomic_ref_count_dec (&link->refs))
    return;
  g_clear_pointer (&link->run, prism_e2b_run_unref);
  g_clear_pointer (&link->rest, g_bytes_unref);
  prism_e2b_identity_clear (&link->identity);
  prism_e2b_client_unref (link->client);
  g_mutex_clear (&link->lock);
  g_free (link->complaint);
  g_free (link);
}

static void
link_close (Link *link)
{
  prism_e2b_stop_source (&link->readable);
  prism_e2b_stop_source (&link->writable);
  if (link->fd >= 0)
    close (link->fd);
  link->fd = -1;
}

/* Nobody asks it anything any more. */
static void
link_end (Link *link)
{
  link_close (link);
  prism_e2b_run_end (link->run, PRISM_OUTCOME_CANCELLED, NULL);
  prism_e2b_run_detach (link->run);
}

static void
link_watch (Link *link, GSource **source, GIOCondition condition, GUnixFDSourceFunc func)
{
  if (*source != NULL || link->fd < 0)
    return;
  *source = g_unix_fd_source_new (link->fd, condition | G_IO_HUP | G_IO_ERR);
  g_source_set_callback (*source, G_SOURCE_FUNC (func), link_ref (link), link_unref);
  g_source_attach (*source, prism_e2b_client_get_context (link->client));
}

static gboolean to_read (int fd, GIOCondition condition, gpointer data);

static void
written (gboolean fine, gpointer data)
{
  Link *link = data;

  link->writing = FALSE;
  if (!fine && link->fd >= 0)
    link_end (link);
  link_watch (link, &link->readable, G_IO_IN, to_read);
  link_unref (link);
}

/* One request at a time: the service promises no order among several. */
static gboolean
to_read (int fd, GIOCondition condition, gpointer data)
{
  Link *link = data;
  g_autofree guint8 *piece = g_malloc (PIECE);
  gssize n = recv (fd, piece, PIECE, MSG_DONTWAIT);

  if (n < 0 && (errno == EAGAIN || errno == EINTR))
    return G_SOURCE_CONTINUE;
  if (n <= 0)
    {
      link_end (link);
      return G_SOURCE_REMOVE;
    }
  g_clear_pointer (&link->readable, g_source_unref);
  link->writing = TRUE;
  g_autoptr (GBytes) bytes = g_bytes_new_take (g_steal_pointer (&piece), (gsize)n);
  prism_e2b_run_write (link->run, bytes, written, link_ref (link));
  return G_SOURCE_REMOVE;
}

static gboolean
flush (Link *link)
{
  while (link->rest != NULL && link->fd >= 0)
    {
      gsize size;
      const guint8 *data = g_bytes_get_data (link->rest, &size);
      gssize n = send (link->fd, data + link->at, size - link->at, MSG_NOSIGNAL | MSG_DONTWAIT);

      if (n < 0 && errno == EINTR)
        continue;
      if (n < 0 && errno == EAGAIN)
        return FALSE;
      if (n < 0)
        break; /* the reading side sees it too */
      link->at += (gsize)n;
      if (link->at == size)
        g_clear_pointer (&link->rest, g_bytes_unref);
    }
  g_clear_pointer (&link->rest, g_bytes_unref);
  return TRUE;
}

static gboolean
to_write (int fd, GIOCondition condition, gpointer data)
{
  Link *link = data;

  if (!flush (link))
    return G_SOURCE_CONTINUE;
  g_clear_pointer (&link->writable, g_source_unref);
  prism_e2b_run_go_on (link->run);
  return G_SOURCE_REMOVE;
}

static gboolean
output (PrismE2bRun *run, PrismStream stream, GBytes *bytes, gpointer data)
{
  Link *link = data;

  if (stream == PRISM_STREAM_STDERR || link->fd < 0)
    return TRUE;
  link->rest = g_bytes_ref (bytes);
  link->at = 0;
  if (flush (link))
    return TRUE;
  link_watch (link, &link->writable, G_IO_OUT, to_write);
  return FALSE;
}

static void
started (PrismE2bRun *run, gpointer data)
{
  Link *link = data;

  link_watch (link, &link->readable, G_IO_IN, to_read);
}

static void
ended (PrismE2bRun *run, const GError *error, gpointer data)
{
  Link *link = data;
  g_autoptr (PrismResult) result = prism_e2b_run_new_result (run);
  g_autofree char *text = prism_result_dup_stderr_text (result);

  g_mutex_lock (&link->lock);
  link->complaint = g_strdup (error != NULL ? error->message : g_strstrip (text));
  g_mutex_unlock (&link->lock);
  link_close (link);
  link_unref (link);
}

static const PrismE2bRunFuncs run_funcs = { started, output, ended };

static gboolean
link_begin (gpointer data)
{
  Link *link = data;

  link_ref (link); /* until it ended */
  prism_e2b_run_begin (link->run);
  return G_SOURCE_REMOVE;
}

/* --- bringing it in ---------------------------------------------------------------------------- */

static gboolean
upload (PrismE2bSandbox *self, const char *path, PrismOperation *operation, GError **error)
{
  g_autoptr (GMappedFile) file = g_mapped_file_new (prism_agent_get_path (), FALSE, error);
  g_autofree char *target = prism_e2b_files_path (path, self->user);
  g_autoptr (GBytes) body = NULL;
  g_auto (PrismE2bReply) reply = { 0 };
  PrismE2bRequest request = {
    .plane = PRISM_E2B_PLANE_DATA,
    .identity = IDENTITY (self),
    .method = "POST",
    .path = target,
    .what = "bring the agent in",
    .type = "application/octet-stream",
    .idempotent = TRUE, /* the name is its own */
    .deadline = prism_operation_get_deadline (operation),
  };

  if (file == NULL)
    {
      g_prefix_error (error, "the agent cannot be read: ");
      return FALSE;
    }
  request.body = body = g_mapped_file_get_bytes (file);
  return prism_e2b_client_call (self->client, &request, &reply, prism_operation_get_cancellable (operation), error);
}

static Link *
link_new (PrismE2bSandbox *self, const char *path, int fd, GError **error)
{
  const char *argv[] = { "/bin/sh", "-c", BEGIN, "sh", path, NULL };
  g_autoptr (GBytes) start = prism_e2b_start_new (argv, NULL, "/", TRUE, 0, 0, error);
  PrismE2bRunSpec spec = {
    .client = self->client,
    .user = self->user,
    .start = start,
    .max_kept = SOME_TEXT,
  };
  Link *link;

  if (start == NULL)
    return NULL;
  link = g_new0 (Link, 1);
  g_atomic_ref_count_init (&link->refs);
  g_mutex_init (&link->lock);
  link->client = prism_e2b_client_ref (self->client);
  prism_e2b_identity_copy (IDENTITY (self), &link->identity);
  link->fd = fd;
  spec.identity = &link->identity;
  link->run = prism_e2b_run_new (&spec, &run_funcs, link);
  return link;
}

/* Only what bounds files and trees: time and commands are the sandbox's own to bound. */
static PrismSandboxSpec *
make_spec (PrismE2bSandbox *self)
{
  static const char *const names[] = { "max-file-bytes", "max-export-entries", "max-export-bytes",
                                       "startup-timeout-ms" };
  PrismSandboxSpec *spec = prism_sandbox_spec_new (NULL);
  PrismLimits *from = prism_sandbox_spec_get_limits (self->spec), *to = prism_sandbox_spec_get_limits (spec);

  g_object_set (spec, "sandbox-path", self->workspace, NULL);
  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    prism_limits_set (to, names[i], prism_limits_get (from, names[i]), NULL);
  return spec;
}

static gboolean
connect_pair (GSocketConnection **connection, int *other, GError **error)
{
  g_autoptr (GSocket) socket = NULL;
  int fds[2];

  if (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
    {
      g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_LIMIT, "no descriptors left: %s",
                   g_strerror (errno));
      return FALSE;
    }
  socket = g_socket_new_from_fd (fds[0], error);
  if (socket == NULL)
    {
      close (fds[0]);
      close (fds[1]);
      return FALSE;
    }
  *connection = g_socket_connection_factory_create_connection (socket);
  *other = fds[1];
  return TRUE;
}

static PrismSandbox *
bring_in (PrismE2bSandbox *self, PrismOperation *operation, GError **error)
{
  g_autofree char *unique = g_uuid_string_random (), *path = g_strconcat ("/tmp/.prism-", unique, NULL);
  g_autoptr (PrismSandboxSpec) spec = make_spec (self);
  g_autoptr (GSocketConnection) connection = NULL;
  g_autoptr (PrismAgentSandbox) helper = NULL;
  Link *link;
  int fd = -1;

  if (!upload (self, path, operation, error) || !connect_pair (&connection, &fd, error))
    return NULL;
  link = link_new (self, path, fd, error);
  if (link == NULL)
    {
      close (fd);
      return NULL;
    }
  helper = g_object_new (PRISM_TYPE_E2B_HELPER, "spec", spec, "connection", connection, "framed", TRUE, "harden", FALSE,
                         "backend-name", "e2b", "id", IDENTITY (self)->id, "workspace", self->workspace, NULL);
  prism_e2b_client_invoke (self->client, link_begin, link_ref (link), link_unref);
  if (!prism_agent_sandbox_start (helper, prism_operation_get_cancellable (operation), error))
    {
      g_mutex_lock (&link->lock);
      if (link->complaint != NULL && *link->complaint != 0)
        g_prefix_error (error, "this library's agent does not run in the sandbox (%s): ", link->complaint);
      else
        g_prefix_error (error, "this library's agent does not run in the sandbox: ");
      g_mutex_unlock (&link->lock);
      g_clear_object (&helper);
    }
  link_unref (link);
  return helper != NULL ? PRISM_SANDBOX (g_steal_pointer (&helper)) : NULL;
}

static void
wake (GCancellable *cancellable, gpointer data)
{
  PrismE2bSandbox *self = data;

  g_mutex_lock (&self->helper_lock);
  g_cond_broadcast (&self->helper_changed);
  g_mutex_unlock (&self->helper_lock);
}

/* While another call brings it in. FALSE: no longer wanted. */
static gboolean
await_turn (PrismE2bSandbox *self, PrismOperation *operation, GError **error)
{
  GCancellable *cancellable = prism_operation_get_cancellable (operation);
  gulong id = g_cancellable_connect (cancellable, G_CALLBACK (wake), g_object_ref (self), g_object_unref);

  g_mutex_lock (&self->helper_lock);
  while (self->helper_coming && !g_cancellable_is_cancelled (cancellable))
    g_cond_wait (&self->helper_changed, &self->helper_lock); /* the other call has a deadline */
  g_mutex_unlock (&self->helper_lock);
  g_cancellable_disconnect (cancellable, id);
  if (!g_cancellable_is_cancelled (cancellable))
    return TRUE;
  g_set_error_literal (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_CANCELLED, "cancelled");
  return FALSE;
}

PrismSandbox *
prism_e2b_helper_get (PrismE2bSandbox *self, PrismOperation *operation, GError **error)
{
  g_autoptr (PrismSandbox) helper = NULL, dead = NULL;

  while (helper == NULL)
    {
      gboolean mine = FALSE;

      if (!await_turn (self, operation, error))
        return NULL;
      g_mutex_lock (&self->helper_lock);
      if (self->helper != NULL && prism_sandbox_get_status (self->helper) != PRISM_SANDBOX_STATUS_RUNNING)
        dead = g_steal_pointer (&self->helper);
      if (self->helper != NULL)
        helper = g_object_ref (self->helper);
      else if (!self->helper_coming)
        mine = self->helper_coming = TRUE;
      g_mutex_unlock (&self->helper_lock);
      g_clear_object (&dead);
      if (!mine)
        continue;
      helper = bring_in (self, operation, error);
      g_mutex_lock (&self->helper_lock);
      self->helper = helper != NULL ? g_object_ref (helper) : NULL;
      self->helper_coming = FALSE;
      g_cond_broadcast (&self->helper_changed);
      g_mutex_unlock (&self->helper_lock);
      if (helper == NULL)
        return NULL;
    }
  return g_steal_pointer (&helper);
}
