/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A PrismAgentSandbox with nothing around it: the agent as a child process of the
 * test (the real one, or whatever has the other end of a socket pair), which
 * `terminate` kills and reaps. */
#pragma once

#include "prism-agent-sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <gio/gunixconnection.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define BARE_TYPE_SANDBOX (bare_sandbox_get_type ())
G_DECLARE_FINAL_TYPE (BareSandbox, bare_sandbox, BARE, SANDBOX, PrismAgentSandbox)

struct _BareSandbox
{
  PrismAgentSandbox parent_instance;
  GPid agent;
  int terminated;
};

G_DEFINE_FINAL_TYPE (BareSandbox, bare_sandbox, PRISM_TYPE_AGENT_SANDBOX)

static int bare_sandboxes; /* atomic: alive */

static void
bare_sandbox_terminate (PrismAgentSandbox *sandbox, PrismControlOperation *operation)
{
  BareSandbox *self = BARE_SANDBOX (sandbox);
  g_atomic_int_inc (&self->terminated);
  if (self->agent > 0)
    {
      kill (self->agent, SIGKILL);
      while (waitpid (self->agent, NULL, 0) < 0 && errno == EINTR)
        ;
      self->agent = 0;
    }
  prism_control_operation_complete (operation);
}

static void
bare_sandbox_finalize (GObject *object)
{
  g_atomic_int_add (&bare_sandboxes, -1);
  G_OBJECT_CLASS (bare_sandbox_parent_class)->finalize (object);
}

static void
bare_sandbox_class_init (BareSandboxClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = bare_sandbox_finalize;
  PRISM_AGENT_SANDBOX_CLASS (klass)->terminate = bare_sandbox_terminate;
}

static void
bare_sandbox_init (BareSandbox *self)
{
  g_atomic_int_inc (&bare_sandboxes);
}

/* One end for the host, as a connection; the other for whoever is the agent. */
static GSocketConnection *
bare_connection (int *theirs)
{
  int ends[2];
  g_autoptr (GError) error = NULL;
  g_assert_no_errno (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends));
  g_autoptr (GSocket) socket = g_socket_new_from_fd (ends[0], &error);
  g_assert_no_error (error);
  *theirs = ends[1];
  return g_socket_connection_factory_create_connection (socket);
}

static void
bare_leave_open (gpointer data)
{
  int fd = GPOINTER_TO_INT (data);
  fcntl (fd, F_SETFD, 0);
}

static PrismSandbox *
bare_sandbox_new_with (PrismSandboxSpec *spec, gboolean framed, int *theirs)
{
  g_autoptr (GSocketConnection) connection = bare_connection (theirs);
  return g_object_new (BARE_TYPE_SANDBOX, "spec", spec, "connection", connection, "framed", framed, "harden", FALSE,
                       "backend-name", "bare", "workspace", "/tmp", NULL);
}

/* The real agent, started. */
static G_GNUC_UNUSED PrismSandbox *
bare_sandbox_new (PrismSandboxSpec *spec, gboolean framed)
{
  int theirs;
  g_autoptr (GError) error = NULL;
  PrismSandbox *sandbox = bare_sandbox_new_with (spec, framed, &theirs);
  g_autofree char *fd = g_strdup_printf ("%d", theirs);
  const char *argv[] = { prism_agent_get_path (), "--serve", fd, framed ? "--framed" : NULL, NULL };
  g_spawn_async (NULL, (char **)argv, NULL, G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_LEAVE_DESCRIPTORS_OPEN, bare_leave_open,
                 GINT_TO_POINTER (theirs), &BARE_SANDBOX (sandbox)->agent, &error);
  g_assert_no_error (error);
  close (theirs);
  prism_agent_sandbox_start (PRISM_AGENT_SANDBOX (sandbox), NULL, &error);
  g_assert_no_error (error);
  return sandbox;
}

static G_GNUC_UNUSED PrismSandboxSpec *
bare_spec (const char *first_limit, ...)
{
  PrismSandboxSpec *spec = prism_sandbox_spec_new (NULL);
  va_list args;
  va_start (args, first_limit);
  for (const char *name = first_limit; name != NULL; name = va_arg (args, const char *))
    {
      g_autoptr (GError) error = NULL;
      gint64 value = va_arg (args, int);
      prism_limits_set (prism_sandbox_spec_get_limits (spec), name, value, &error);
      g_assert_no_error (error);
    }
  va_end (args);
  return spec;
}
