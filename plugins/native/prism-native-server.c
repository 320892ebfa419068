/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* This process's one launcher that stays. It ends by itself when nothing was asked of
 * it for a second; a thread waits for that, so that its descriptor does not stay. */
#include "prism-native-server.h"

#include <errno.h>
#include <libprism/prism.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "prism-launch.h"
#include "prism-native-packet.h"

typedef struct
{
  int socket;
  pid_t pid, host;
  GBytes *template; /* that it was told of last */
} Server;

static GMutex lock;
static Server *current; /* of the lock; owned by its thread */

static void
server_free (Server *server)
{
  g_clear_pointer (&server->template, g_bytes_unref);
  g_free (server);
}

static gpointer
watch (gpointer data)
{
  Server *server = data;
  struct pollfd fd = { server->socket, POLLIN | POLLRDHUP, 0 };

  while (poll (&fd, 1, -1) < 0 && errno == EINTR)
    ;
  g_mutex_lock (&lock);
  if (current == server)
    current = NULL;
  g_mutex_unlock (&lock);
  close (server->socket);
  while (waitpid (server->pid, NULL, 0) < 0 && errno == EINTR)
    ;
  server_free (server);
  return NULL;
}

/* No signal of the application's is handled in a thread that it does not know. */
static gboolean
start_watch (Server *server)
{
  sigset_t all, before;
  GThread *thread;

  sigfillset (&all);
  pthread_sigmask (SIG_SETMASK, &all, &before);
  thread = g_thread_try_new ("prism-native", watch, server, NULL);
  pthread_sigmask (SIG_SETMASK, &before, NULL);
  if (thread != NULL)
    g_thread_unref (thread);
  return thread != NULL;
}

static Server *
start (const char *agent)
{
  int ends[2], fds[3] = { -1, -1, -1 };
  Server *server;

  if (socketpair (AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
    return NULL;
  server = g_new0 (Server, 1);
  server->host = getpid ();
  server->socket = ends[0];
  fds[2] = ends[1];
  if (prism_native_spawn (agent, TRUE, fds, &server->pid) != 0)
    server->pid = -1;
  close (ends[1]);
  if (server->pid > 0 && start_watch (server))
    return server;
  close (server->socket);
  if (server->pid > 0)
    waitpid (server->pid, NULL, 0);
  server_free (server);
  return NULL;
}

/* A fork of the process that started it has its own; the thread is not there. */
static void
forget_parents_server (void)
{
  if (current == NULL || current->host == getpid ())
    return;
  close (current->socket);
  server_free (current);
  current = NULL;
}

static gboolean
send_request (Server *server, GBytes *template, GBytes *plan, const int ends[2])
{
  gboolean known = server->template != NULL && g_bytes_equal (server->template, template);
  gsize template_size, plan_size;
  const void *template_bytes = g_bytes_get_data (template, &template_size);
  const void *plan_bytes = g_bytes_get_data (plan, &plan_size);
  guint8 head[4];
  gsize told = known ? 0 : template_size;
  struct prism_wire_writer w = prism_wire_write_to (head, sizeof head);
  struct iovec parts[3] = { { head, sizeof head },
                            { (void *)template_bytes, told },
                            { (void *)plan_bytes, plan_size } };

  if (sizeof head + template_size + plan_size > PRISM_LAUNCH_MAX_REQUEST)
    return FALSE;
  prism_wire_put (&w, told, 4);
  if (!prism_native_packet_send (server->socket, parts, G_N_ELEMENTS (parts), ends, 2))
    return FALSE;
  if (!known)
    {
      g_clear_pointer (&server->template, g_bytes_unref);
      server->template = g_bytes_ref (template);
    }
  return TRUE;
}

gboolean
prism_native_server_ask (const char *agent, GBytes *template, GBytes *plan, const int ends[2], GError **error)
{
  gboolean asked;

  g_mutex_lock (&lock);
  forget_parents_server ();
  if (current == NULL)
    current = start (agent);
  asked = current != NULL && send_request (current, template, plan, ends);
  g_mutex_unlock (&lock);
  if (!asked)
    g_set_error_literal (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_LOST,
                         "native: the launcher that stays takes no request");
  return asked;
}
