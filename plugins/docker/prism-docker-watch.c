/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-docker-watch.h"

#include <dlfcn.h>
#include <errno.h>
#include <libprism/prism.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "prism-docker-keeper.h"

#define PROGRAM   "prism-docker-keeper"
#define ANSWER_S  20
#define MOST_TEXT 256

typedef struct
{
  char *container, *folder, *socket, *program;
  gboolean made;
} Kept;

static GMutex lock;
static int keeper = -1;
static GHashTable *kept; /* by container: what a keeper that was killed is told again */

static void
kept_free (gpointer data)
{
  Kept *entry = data;
  g_free (entry->container);
  g_free (entry->folder);
  g_free (entry->socket);
  g_free (entry->program);
  g_free (entry);
}

static gboolean
fail (GError **error, const char *what, const char *why)
{
  g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_UNAVAILABLE, "docker: the keeper, %s: %s", what, why);
  return FALSE;
}

/* --- one request -------------------------------------------------------------------- */

static GString *
begin (char letter)
{
  return g_string_append_c (g_string_new (NULL), letter);
}

static void
say (GString *packet, const char *word)
{
  g_string_append_len (packet, word, (gssize)strlen (word) + 1);
}

/* FALSE where there is no keeper any more; @answer is its word otherwise. */
static gboolean
exchange (const GString *packet, char *answer)
{
  ssize_t n;

  if (send (keeper, packet->str, packet->len, MSG_NOSIGNAL) != (ssize_t)packet->len)
    return FALSE;
  do
    n = recv (keeper, answer, MOST_TEXT - 1, 0);
  while (n < 0 && errno == EINTR);
  answer[n > 0 ? n : 0] = 0;
  return n > 0;
}

/* --- the program ---------------------------------------------------------------------- */

/* Beside this module. */
static char *
dup_program (void)
{
  g_autofree char *folder = NULL;
  Dl_info info;

  if (dladdr (&lock, &info) == 0)
    info.dli_fname = "";
  folder = g_path_get_dirname (info.dli_fname);
  return g_build_filename (folder, PROGRAM, NULL);
}

static int
spawn (int end)
{
  g_autofree char *path = dup_program ();
  char *argv[] = { (char *)PROGRAM, NULL }, *environment[] = { NULL };
  posix_spawn_file_actions_t actions;
  pid_t pid = -1;
  int error;

  posix_spawn_file_actions_init (&actions);
  /* Onto itself it loses its close-on-exec flag as well, since glibc 2.29 and in musl. */
  posix_spawn_file_actions_adddup2 (&actions, end, PRISM_DOCKER_KEEPER_FD);
  error = posix_spawn (&pid, path, &actions, NULL, argv, environment);
  posix_spawn_file_actions_destroy (&actions);
  while (error == 0 && waitpid (pid, NULL, 0) < 0 && errno == EINTR)
    ;
  return error;
}

static gboolean
tell (const Kept *entry)
{
  g_autoptr (GString) packet = begin (PRISM_DOCKER_KEEP);
  char answer[MOST_TEXT];

  say (packet, entry->container);
  say (packet, entry->folder);
  say (packet, entry->socket);
  say (packet, entry->program);
  if (!exchange (packet, answer) || *answer != 0)
    return FALSE;
  if (entry->made)
    {
      g_autoptr (GString) made = begin (PRISM_DOCKER_MADE);
      say (made, entry->container);
      exchange (made, answer);
    }
  return TRUE;
}

static gboolean
start (GError **error)
{
  const struct timeval patience = { ANSWER_S, 0 };
  int ends[2], failure;
  GHashTableIter iter;
  gpointer entry;

  if (keeper >= 0)
    close (keeper);
  keeper = -1;
  if (socketpair (AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
    return fail (error, "its socket", g_strerror (errno));
  failure = spawn (ends[1]);
  close (ends[1]);
  if (failure != 0)
    {
      close (ends[0]);
      return fail (error, PROGRAM " beside the plug-in", g_strerror (failure));
    }
  setsockopt (ends[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  keeper = ends[0];
  if (kept == NULL)
    kept = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, kept_free);
  g_hash_table_iter_init (&iter, kept);
  while (g_hash_table_iter_next (&iter, NULL, &entry))
    tell (entry);
  return TRUE;
}

/* One that was killed is started again, once. */
static gboolean
ask (const GString *packet, const char *what, GError **error)
{
  char answer[MOST_TEXT] = "";

  if (packet->len > PRISM_DOCKER_KEEPER_PACKET)
    return fail (error, what, "the names are too long");
  if (keeper < 0 && !start (error))
    return FALSE;
  if (!exchange (packet, answer) && (!start (error) || !exchange (packet, answer)))
    return error != NULL && *error != NULL ? FALSE : fail (error, what, "it does not answer");
  return *answer == 0 || fail (error, what, answer);
}

static gboolean
ask_one (char letter, const char *word, const char *what, GError **error)
{
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new (&lock);
  g_autoptr (GString) packet = begin (letter);

  say (packet, word);
  return ask (packet, what, error);
}

/* --- requests ---------------------------------------------------------------------------- */

gboolean
prism_docker_watch_keep (
    const char *container, const char *folder, const char *socket, const char *program, GError **error)
{
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new (&lock);
  Kept *entry = g_new0 (Kept, 1);
  g_autoptr (GString) packet = begin (PRISM_DOCKER_KEEP);

  entry->container = g_strdup (container);
  entry->folder = g_strdup (folder);
  entry->socket = g_strdup (socket != NULL ? socket : "");
  entry->program = g_strdup (program != NULL ? program : "");
  say (packet, entry->container);
  say (packet, entry->folder);
  say (packet, entry->socket);
  say (packet, entry->program);
  if (!ask (packet, "asked to remove a container that is left", error))
    {
      kept_free (entry);
      return FALSE;
    }
  g_hash_table_replace (kept, entry->container, entry);
  return TRUE;
}

void
prism_docker_watch_made (const char *container)
{
  g_mutex_lock (&lock);
  Kept *entry = kept != NULL ? g_hash_table_lookup (kept, container) : NULL;
  if (entry != NULL)
    entry->made = TRUE;
  g_mutex_unlock (&lock);
  ask_one (PRISM_DOCKER_MADE, container, "told of a container", NULL);
}

static void
drop (char letter, const char *container, const char *what)
{
  g_autoptr (GError) error = NULL;
  gboolean was;

  g_mutex_lock (&lock);
  was = kept != NULL && g_hash_table_remove (kept, container);
  g_mutex_unlock (&lock);
  if (was && !ask_one (letter, container, what, &error))
    g_warning ("%s", error->message);
}

void
prism_docker_watch_forget (const char *container)
{
  drop (PRISM_DOCKER_FORGET, container, "told of an end");
}

void
prism_docker_watch_remove (const char *container)
{
  drop (PRISM_DOCKER_REMOVE, container, "asked to remove a container");
}

gboolean
prism_docker_watch_detach (const char *container, gint64 seconds, GError **error)
{
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new (&lock);
  g_autofree char *number = g_strdup_printf ("%" G_GINT64_FORMAT, seconds);
  g_autoptr (GString) packet = begin (PRISM_DOCKER_DETACH);

  say (packet, container);
  say (packet, number);
  if (!ask (packet, "asked to let go of a container", error))
    return FALSE;
  g_hash_table_remove (kept, container);
  return TRUE;
}

gboolean
prism_docker_watch_show (const PrismDockerShowing *showing, GError **error)
{
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new (&lock);
  const guint ids[] = { showing->from_uid, showing->to_uid, showing->from_gid, showing->to_gid };
  g_autoptr (GString) packet = begin (PRISM_DOCKER_SHOW);
  g_autoptr (GError) failure = NULL;

  say (packet, showing->place);
  say (packet, showing->source);
  say (packet, showing->folder ? (showing->readonly ? "dr" : "d") : (showing->readonly ? "r" : ""));
  for (gsize i = 0; i < G_N_ELEMENTS (ids); i++)
    {
      g_autofree char *number = g_strdup_printf ("%u", ids[i]);
      say (packet, number);
    }
  if (ask (packet, "asked for an idmapped mount", &failure))
    return TRUE;
  g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_REFUSED,
               "docker: %s cannot be shown to root's sandbox with its owner's rights: %s; use workspace-mode copy, a "
               "folder on a file system with idmapped mounts (ext4, xfs, btrfs, tmpfs), or run as the folder's owner "
               "instead of root",
               showing->source, failure->message);
  return FALSE;
}

void
prism_docker_watch_hide (const char *place)
{
  g_autoptr (GError) error = NULL;

  if (!ask_one (PRISM_DOCKER_HIDE, place, "asked to take a mount away", &error))
    g_warning ("%s", error->message);
}
