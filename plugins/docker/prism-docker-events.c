/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-docker-events.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "prism-docker-engine.h"
#include "prism-docker-names.h"

#define OPEN_US   (10 * G_USEC_PER_SEC)
#define RETRY_US  (G_USEC_PER_SEC)
#define MOST_LINE (64 * 1024)
#define CHUNK     4096

/* {"type":["container"],"event":["pause"],"label":["prism.sandbox=1"]} */
#define FILTERS                                                                                                        \
  "%7B%22type%22%3A%5B%22container%22%5D%2C%22event%22%3A%5B%22pause%22%5D%2C%22label%22%3A%5B%22prism.sandbox%3D1%22" \
  "%5D%7D"

typedef struct
{
  GWeakRef sandbox;
  PrismDockerPausedFunc func;
} Watched;

typedef struct
{
  char *socket;
  GHashTable *containers; /* id to Watched */
  GCancellable *stop;
} Watcher;

static GMutex lock;
static GHashTable *watchers; /* by socket; one that is not in it any more ends */

static void
watched_free (gpointer data)
{
  Watched *watched = data;
  g_weak_ref_clear (&watched->sandbox);
  g_free (watched);
}

static void
watcher_free (Watcher *self)
{
  g_hash_table_unref (self->containers);
  g_object_unref (self->stop);
  g_free (self->socket);
  g_free (self);
}

static void
tell (Watcher *self, const char *container, gint64 when)
{
  g_autoptr (GObject) sandbox = NULL;
  PrismDockerPausedFunc func = NULL;
  Watched *watched;

  g_mutex_lock (&lock);
  watched = g_hash_table_lookup (self->containers, container);
  if (watched != NULL)
    {
      sandbox = g_weak_ref_get (&watched->sandbox);
      func = watched->func;
    }
  g_mutex_unlock (&lock);
  if (sandbox != NULL)
    func (sandbox, when);
}

static void
take_line (Watcher *self, const char *line, gsize length)
{
  g_autoptr (GBytes) bytes = g_bytes_new (line, length);
  g_autoptr (JsonNode) event = prism_http_json_parse (bytes, NULL);
  const char *id = prism_http_json_text (prism_http_json_get (event, "Actor", "ID", NULL));
  const char *action = prism_http_json_text (prism_http_json_get (event, "Action", NULL));

  if (g_strcmp0 (action, "pause") == 0 && prism_docker_is_container_id (id))
    tell (self, id, prism_http_json_number (prism_http_json_get (event, "timeNano", NULL), 0) / 1000);
}

/* Until the engine hangs up, or nobody is watched any more. */
static void
follow (Watcher *self, PrismDockerEngine *engine)
{
  g_autofree char *path = g_strdup_printf ("/v1.%u/events?filters=%s", prism_docker_engine_get_minor (engine), FILTERS);
  const PrismHttpRequest request = { "GET", path, NULL, NULL, 0 };
  g_autoptr (PrismHttpCall) call = prism_http_client_open (prism_docker_engine_get_client (engine), &request,
                                                           g_get_monotonic_time () + OPEN_US, self->stop, NULL);
  g_autoptr (GString) line = g_string_new (NULL);
  char chunk[CHUNK];
  gssize n;

  while (call != NULL && (n = prism_http_call_read (call, chunk, sizeof chunk, G_MAXINT64, self->stop, NULL)) > 0)
    {
      const char *at, *end;
      if (line->len + (gsize)n > MOST_LINE)
        return;
      g_string_append_len (line, chunk, n);
      for (at = line->str; (end = memchr (at, '\n', line->len - (gsize)(at - line->str))) != NULL; at = end + 1)
        take_line (self, at, (gsize)(end - at));
      g_string_erase (line, 0, at - line->str);
    }
}

/* An engine that was started again is found again. */
static gpointer
watch (gpointer data)
{
  Watcher *self = data;
  gint64 wait;

  while (!g_cancellable_is_cancelled (self->stop))
    {
      g_autoptr (PrismDockerEngine) engine =
          prism_docker_engine_new (self->socket, NULL, g_get_monotonic_time () + OPEN_US, self->stop);
      if (prism_docker_engine_open (engine, NULL))
        follow (self, engine);
      wait = g_get_monotonic_time () + RETRY_US;
      prism_http_client_wait (prism_docker_engine_get_client (engine), -1, wait, self->stop, NULL);
    }
  g_mutex_lock (&lock);
  watcher_free (self);
  g_mutex_unlock (&lock);
  return NULL;
}

/* A thread that is not there costs only the word on who paused it. */
static Watcher *
start (const char *socket)
{
  Watcher *self = g_new0 (Watcher, 1);
  sigset_t all, before;
  GThread *thread;

  self->socket = g_strdup (socket);
  self->containers = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, watched_free);
  self->stop = g_cancellable_new ();
  sigfillset (&all);
  pthread_sigmask (SIG_SETMASK, &all, &before);
  thread = g_thread_try_new ("prism-docker", watch, self, NULL);
  pthread_sigmask (SIG_SETMASK, &before, NULL);
  if (thread == NULL)
    {
      watcher_free (self);
      return NULL;
    }
  g_thread_unref (thread);
  g_hash_table_insert (watchers, self->socket, self);
  return self;
}

void
prism_docker_events_watch (const char *socket, const char *container, GObject *sandbox, PrismDockerPausedFunc func)
{
  Watched *watched = g_new0 (Watched, 1);
  Watcher *self;

  g_weak_ref_init (&watched->sandbox, sandbox);
  watched->func = func;
  g_mutex_lock (&lock);
  if (watchers == NULL)
    watchers = g_hash_table_new (g_str_hash, g_str_equal);
  self = g_hash_table_lookup (watchers, socket);
  if (self == NULL)
    self = start (socket);
  if (self != NULL)
    g_hash_table_replace (self->containers, g_strdup (container), watched);
  else
    watched_free (watched);
  g_mutex_unlock (&lock);
}

void
prism_docker_events_forget (const char *socket, const char *container)
{
  Watcher *self;
  g_autoptr (GCancellable) stop = NULL;

  g_mutex_lock (&lock);
  self = watchers != NULL ? g_hash_table_lookup (watchers, socket) : NULL;
  if (self != NULL && g_hash_table_remove (self->containers, container) && g_hash_table_size (self->containers) == 0)
    {
      g_hash_table_remove (watchers, socket);
      stop = g_object_ref (self->stop);
    }
  g_mutex_unlock (&lock);
  if (stop != NULL)
    g_cancellable_cancel (stop);
}
