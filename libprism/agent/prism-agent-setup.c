/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-agent-setup-private.h"

#include "prism-agent-egress-private.h"
#include "prism-fd-private.h"
#include "prism-operation-private.h"
#include "prism-sandbox-error.h"

#include <errno.h>
#include <fcntl.h>
#include <gio/gio.h>
#include <sys/socket.h>

/* --- the stream -------------------------------------------------------------- */

#define PUMPED (64u * 1024u)

/* One direction of a stream that has no descriptor. Blocking is what these two
 * threads are for; the end of either side ends both. */
typedef struct
{
  gatomicrefcount refs;
  GIOStream *stream;
  GCancellable *stop;
  int fd;
} Bridge;

static void
bridge_unref (Bridge *bridge)
{
  if (!g_atomic_ref_count_dec (&bridge->refs))
    return;
  close (bridge->fd);
  g_object_unref (bridge->stop);
  g_object_unref (bridge->stream);
  g_free (bridge);
}

static void
bridge_end (Bridge *bridge)
{
  shutdown (bridge->fd, SHUT_RDWR);
  g_cancellable_cancel (bridge->stop);
  bridge_unref (bridge);
}

static gboolean
send_all (int fd, const guint8 *bytes, gsize size)
{
  while (size > 0)
    {
      ssize_t n = send (fd, bytes, size, MSG_NOSIGNAL);
      if (n < 0 && errno == EINTR)
        continue;
      if (n <= 0)
        return FALSE;
      bytes += n;
      size -= (gsize)n;
    }
  return TRUE;
}

static gpointer
bridge_in (gpointer data)
{
  Bridge *bridge = data;
  GInputStream *input = g_io_stream_get_input_stream (bridge->stream);
  g_autofree guint8 *buffer = g_malloc (PUMPED);
  gssize n;
  do
    n = g_input_stream_read (input, buffer, PUMPED, bridge->stop, NULL);
  while (n > 0 && send_all (bridge->fd, buffer, (gsize)n));
  bridge_end (bridge);
  return NULL;
}

static gpointer
bridge_out (gpointer data)
{
  Bridge *bridge = data;
  GOutputStream *output = g_io_stream_get_output_stream (bridge->stream);
  g_autofree guint8 *buffer = g_malloc (PUMPED);
  ssize_t n;
  do
    n = recv (bridge->fd, buffer, PUMPED, 0);
  while ((n < 0 && errno == EINTR)
         || (n > 0 && g_output_stream_write_all (output, buffer, (gsize)n, NULL, bridge->stop, NULL)
             && g_output_stream_flush (output, bridge->stop, NULL)));
  bridge_end (bridge);
  return NULL;
}

static gboolean
start_bridge_thread (const char *name, GThreadFunc func, Bridge *bridge, GError **error)
{
  g_autoptr (GError) failure = NULL;
  g_atomic_ref_count_inc (&bridge->refs);
  GThread *thread = prism_start_thread (name, func, bridge, &failure);
  if (thread != NULL)
    {
      g_thread_unref (thread);
      return TRUE;
    }
  bridge_unref (bridge);
  g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_FAILED,
               "the threads that carry the agent's stream cannot be started: %s", failure->message);
  return FALSE;
}

static int
open_bridge (GIOStream *stream, GError **error)
{
  int ends[2];
  if (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
    {
      g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_LIMIT,
                   "no descriptors left for the agent's stream: %s", g_strerror (errno));
      return -1;
    }
  Bridge *bridge = g_new0 (Bridge, 1);
  g_atomic_ref_count_init (&bridge->refs);
  bridge->stream = g_object_ref (stream);
  bridge->stop = g_cancellable_new ();
  bridge->fd = ends[1];
  gboolean started = start_bridge_thread ("prism-in", bridge_in, bridge, error)
                     && start_bridge_thread ("prism-out", bridge_out, bridge, error);
  if (!started)
    prism_clear_fd (&ends[0]);
  bridge_unref (bridge);
  return ends[0];
}

int
prism_agent_stream_open (GIOStream *stream, GError **error)
{
  if (!G_IS_SOCKET_CONNECTION (stream))
    return open_bridge (stream, error);
  GSocket *socket = g_socket_connection_get_socket (G_SOCKET_CONNECTION (stream));
  int fd = fcntl (g_socket_get_fd (socket), F_DUPFD_CLOEXEC, 3);
  if (fd < 0)
    g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_LIMIT,
                 "no descriptor left for the agent's connection: %s", g_strerror (errno));
  return fd;
}

/* --- SETUP ------------------------------------------------------------------- */

/* What every sandbox has, whatever the host's environment is; more only by the spec. */
static const char *const base_environment[] = {
  "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
  "HOME=/home/prism",
  "USER=prism",
  "LOGNAME=prism",
  "TMPDIR=/tmp",
  "LANG=C.UTF-8",
};

#define LOG_BYTES (1024u * 1024u) /* kept per stream of a process that outlives its host */

static gboolean
names (const char *const *env, const char *entry)
{
  gsize length = (gsize)(strchr (entry, '=') - entry) + 1;
  for (gsize i = 0; env != NULL && env[i] != NULL; i++)
    if (strncmp (env[i], entry, length) == 0)
      return TRUE;
  return FALSE;
}

static void
put_environment (PrismAgentFrame *frame, PrismSandboxSpec *spec, const char *const *boundary)
{
  const char *const *env = prism_sandbox_spec_get_env (spec);
  const char *const *secrets = prism_sandbox_spec_get_secrets (spec);
  g_auto (GStrv) egress = prism_agent_egress_list_variables (spec);
  g_autoptr (GPtrArray) all = g_ptr_array_new ();
  for (gsize i = 0; i < G_N_ELEMENTS (base_environment); i++)
    if (!names (boundary, base_environment[i]) && !names (env, base_environment[i])
        && !names (secrets, base_environment[i]))
      g_ptr_array_add (all, (gpointer)base_environment[i]);
  for (gsize i = 0; boundary != NULL && boundary[i] != NULL; i++)
    if (strchr (boundary[i], '=') != NULL && !names ((const char *const *)egress, boundary[i])
        && !names (env, boundary[i]) && !names (secrets, boundary[i]))
      g_ptr_array_add (all, (gpointer)boundary[i]);
  for (gsize i = 0; egress != NULL && egress[i] != NULL; i++)
    if (!names (env, egress[i]) && !names (secrets, egress[i]))
      g_ptr_array_add (all, egress[i]);
  for (gsize i = 0; env != NULL && env[i] != NULL; i++)
    if (!names (secrets, env[i]))
      g_ptr_array_add (all, (gpointer)env[i]);
  for (gsize i = 0; secrets != NULL && secrets[i] != NULL; i++)
    g_ptr_array_add (all, (gpointer)secrets[i]);
  g_ptr_array_add (all, NULL);
  prism_agent_frame_put_strv (frame, (const char *const *)all->pdata);
}

void
prism_agent_setup_write (PrismAgentFrame *frame,
                         PrismSandboxSpec *spec,
                         const char *const *environment,
                         const char *workspace,
                         const PrismAgentLimits *limits,
                         gint64 age_ms,
                         gboolean harden)
{
  gboolean detached = prism_sandbox_spec_get_lifetime (spec) == PRISM_LIFETIME_DETACHED;
  guint32 flags =
      (detached ? PRISM_WIRE_SETUP_KEEP : 0) | (harden ? PRISM_WIRE_SETUP_SECCOMP | PRISM_WIRE_SETUP_LANDLOCK : 0);
  prism_agent_frame_init (frame, PRISM_WIRE_SETUP, 0, 0);
  prism_agent_frame_put (frame, PRISM_WIRE_MAJOR, 2);
  prism_agent_frame_put (frame, PRISM_WIRE_MINOR, 2);
  prism_agent_frame_put (frame, flags, 4);
  prism_agent_frame_put_str (frame, workspace);
  put_environment (frame, spec, environment);
  prism_agent_frame_put (frame, (guint64)limits->max_fds, 4);
  prism_agent_frame_put (frame, 0, 8); /* RLIMIT_DATA: whoever made the boundary knows */
  prism_agent_frame_put (frame, LOG_BYTES, 8);
  prism_agent_frame_put (frame, 0, 4); /* commands at once: counted here */
  /* The host counts it too, and first; this is for one that is gone. */
  prism_agent_frame_put (frame, detached ? (guint64)MAX (limits->wall_time_ms - age_ms, 1) : 0, 8);
}

/* --- wall and idle time ------------------------------------------------------ */

typedef struct
{
  PrismAgentJob job; /* first */
  GWeakRef sandbox;
  PrismAgentLifecycle *lifecycle; /* a part of the sandbox */
  gint64 wall;
  gint64 idle_us; /* 0 = no limit */
} Clock;

static void
expire (Clock *clock, PrismAgentEnd end, const char *limit, gint64 ms)
{
  g_autoptr (GError) error = g_error_new (PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_STATE,
                                          "its %s of %" G_GINT64_FORMAT " ms is over", limit, ms);
  prism_agent_lifecycle_fail (clock->lifecycle, end, error);
}

static gboolean
clock_step (PrismAgentJob *job, gint64 now)
{
  Clock *clock = (Clock *)job;
  g_autoptr (PrismAgentSandbox) sandbox = g_weak_ref_get (&clock->sandbox);
  if (sandbox == NULL || prism_agent_channel_get_end (job->channel, NULL) != PRISM_AGENT_END_NONE)
    return FALSE;
  const PrismAgentLimits *limits = prism_agent_sandbox_get_limits (sandbox);
  gint64 since = prism_agent_admission_get_idle_since (prism_agent_sandbox_get_admission (sandbox));
  gboolean paused;
  prism_agent_lifecycle_get_paused (clock->lifecycle, now, &paused);
  since = MAX (since, prism_agent_lifecycle_get_resumed (clock->lifecycle));
  /* While it works or is paused it cannot be over before: it is looked at again then. */
  gint64 idle_end = clock->idle_us == 0             ? G_MAXINT64
                    : since == G_MAXINT64 || paused ? now + clock->idle_us
                                                    : since + clock->idle_us;
  if (now >= clock->wall)
    {
      expire (clock, PRISM_AGENT_END_WALL, "wall-time-ms", limits->wall_time_ms);
      return FALSE;
    }
  if (now >= idle_end)
    {
      expire (clock, PRISM_AGENT_END_IDLE, "idle-timeout-ms", limits->idle_timeout_ms);
      return FALSE;
    }
  job->deadline = MIN (clock->wall, idle_end);
  return TRUE;
}

static void
clock_free (PrismAgentJob *job)
{
  Clock *clock = (Clock *)job;
  g_weak_ref_clear (&clock->sandbox);
  g_free (clock);
}

gboolean
prism_agent_clock_start (PrismAgentSandbox *sandbox, PrismAgentLifecycle *lifecycle, GError **error)
{
  const PrismAgentLimits *limits = prism_agent_sandbox_get_limits (sandbox);
  if (limits->wall_time_ms <= 0 && limits->idle_timeout_ms <= 0)
    return TRUE;
  Clock *clock = g_new0 (Clock, 1);
  prism_agent_job_init (&clock->job, clock_step, clock_free);
  g_weak_ref_init (&clock->sandbox, sandbox);
  clock->lifecycle = lifecycle;
  clock->wall = prism_agent_sandbox_get_wall_deadline (sandbox);
  clock->idle_us = MAX (limits->idle_timeout_ms, 0) * 1000;
  if (prism_agent_channel_add_job (prism_agent_sandbox_get_channel (sandbox), &clock->job, error))
    return TRUE;
  prism_agent_job_unref (&clock->job);
  return FALSE;
}
