/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bubblewrap-sandbox.h"

#include "bubblewrap-arguments.h"

#include <errno.h>
#include <fcntl.h>
#include <gio/gunixconnection.h>
#include <gio/gunixinputstream.h>
#include <glib-unix.h>
#include <json-glib/json-glib.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

struct _BubblewrapSandbox
{
  PrismAgentSandbox parent_instance;
  GSubprocess *bubblewrap;
  GInputStream *info; /* what bubblewrap says of what it made */
  int init;           /* a pidfd of the process with number 1 inside; -1 = none yet */
};

G_DEFINE_FINAL_TYPE (BubblewrapSandbox, bubblewrap_sandbox, PRISM_TYPE_AGENT_SANDBOX)

/* --- ending it ---------------------------------------------------------------- */

/* By its descriptor, never by a number that may be somebody else's by now. With the
 * first process of its pid namespace all others end; with the last, the mounts. */
static void
bubblewrap_sandbox_terminate (PrismAgentSandbox *sandbox, PrismControlOperation *operation)
{
  BubblewrapSandbox *self = BUBBLEWRAP_SANDBOX (sandbox);

  if (self->init >= 0)
    syscall (SYS_pidfd_send_signal, self->init, SIGKILL, NULL, 0);
  else if (self->bubblewrap != NULL)
    g_subprocess_force_exit (self->bubblewrap);
  if (self->bubblewrap != NULL)
    g_subprocess_wait (self->bubblewrap, NULL, NULL);
  prism_control_operation_complete (operation);
}

static void
bubblewrap_sandbox_finalize (GObject *object)
{
  BubblewrapSandbox *self = BUBBLEWRAP_SANDBOX (object);

  if (self->init >= 0)
    close (self->init);
  g_clear_object (&self->info);
  g_clear_object (&self->bubblewrap);
  G_OBJECT_CLASS (bubblewrap_sandbox_parent_class)->finalize (object);
}

static void
bubblewrap_sandbox_class_init (BubblewrapSandboxClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = bubblewrap_sandbox_finalize;
  PRISM_AGENT_SANDBOX_CLASS (klass)->terminate = bubblewrap_sandbox_terminate;
}

static void
bubblewrap_sandbox_init (BubblewrapSandbox *self)
{
  self->init = -1;
}

/* --- starting it -------------------------------------------------------------- */

static gboolean
fail_with_errno (GError **error, const char *what)
{
  g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_FAILED, "%s: %s", what, g_strerror (errno));
  return FALSE;
}

/* The agent's end of the socket, and nothing of ours, goes along. The environment is
 * empty: bubblewrap needs none, and what runs inside has its own. */
static gboolean
spawn (BubblewrapSandbox *self, char **argv, int agents_end, GError **error)
{
  g_autoptr (GSubprocessLauncher) launcher = g_subprocess_launcher_new (G_SUBPROCESS_FLAGS_STDERR_PIPE);
  char *nothing[] = { NULL };
  int ends[2];

  g_subprocess_launcher_set_environ (launcher, nothing);
  g_subprocess_launcher_take_fd (launcher, agents_end, BUBBLEWRAP_AGENT_FD);
  if (!g_unix_open_pipe (ends, FD_CLOEXEC, error))
    return FALSE;
  self->info = g_unix_input_stream_new (ends[0], TRUE);
  g_subprocess_launcher_take_fd (launcher, ends[1], BUBBLEWRAP_INFO_FD);
  self->bubblewrap = g_subprocess_launcher_spawnv (launcher, (const char *const *)argv, error);
  return self->bubblewrap != NULL;
}

/* bubblewrap failed: what it said of that, in a line. */
static void
take_complaint (BubblewrapSandbox *self, GError **error)
{
  GInputStream *stream = g_subprocess_get_stderr_pipe (self->bubblewrap);
  g_autoptr (GDataInputStream) lines = g_data_input_stream_new (stream);
  g_autofree char *line = NULL;

  g_subprocess_force_exit (self->bubblewrap);
  line = g_data_input_stream_read_line (lines, NULL, NULL, NULL);
  g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_UNAVAILABLE, "%s",
               line != NULL ? line : "bwrap: ended without a word");
}

/* A JSON object with the number of the first process inside, and of the namespaces. */
static JsonObject *
read_info (BubblewrapSandbox *self, GCancellable *cancellable, GError **error)
{
  char text[4096];
  gsize size = 0;
  g_autoptr (JsonNode) node = NULL;
  g_autoptr (JsonObject) info = NULL;

  if (!g_input_stream_read_all (self->info, text, sizeof text - 1, &size, cancellable, error))
    return NULL;
  text[size] = '\0';
  node = json_from_string (text, NULL);
  if (node != NULL && JSON_NODE_HOLDS_OBJECT (node))
    info = json_node_dup_object (node);
  if (info == NULL || !json_object_has_member (info, "child-pid"))
    {
      take_complaint (self, error);
      return NULL;
    }
  self->init = (int)syscall (SYS_pidfd_open, (pid_t)json_object_get_int_member (info, "child-pid"), 0);
  if (self->init < 0 && !fail_with_errno (error, "the sandbox ended at once"))
    return NULL;
  return g_steal_pointer (&info);
}

/* --- what it is --------------------------------------------------------------- */

static gboolean
is_apart (JsonObject *info, const char *kind, char **how)
{
  g_autofree char *own = g_strdup_printf ("/proc/self/ns/%s", kind);
  g_autofree char *member = g_strconcat (kind, "-namespace", NULL);
  g_autofree char *ours = g_file_read_link (own, NULL);
  gint64 theirs = json_object_get_int_member_with_default (info, member, 0);
  g_autofree char *seen = g_strdup_printf ("%s:[%" G_GINT64_FORMAT "]", kind, theirs);
  gboolean apart = theirs > 0 && ours != NULL && !g_str_equal (seen, ours);

  *how = g_strdup_printf ("%s, here %s", seen, ours != NULL ? ours : "unknown");
  return apart;
}

/* That the process inside has no capability, cannot get one, and is under the agent's
 * filter. As root it has root's number outside, which nothing is to be said for. */
static gboolean
has_no_privileges (JsonObject *info, char **how)
{
  static const char *const lines[] = { "CapBnd:\t0000000000000000\n", "NoNewPrivs:\t1\n", "Seccomp:\t2\n" };
  g_autofree char *path = g_strdup_printf ("/proc/%d/status", (int)json_object_get_int_member (info, "child-pid"));
  g_autofree char *text = NULL;

  if (geteuid () == 0 || !g_file_get_contents (path, &text, NULL, NULL))
    {
      *how = g_strdup ("not enforced: outside it has the number of root, who made it");
      return FALSE;
    }
  for (guint i = 0; i < G_N_ELEMENTS (lines); i++)
    if (strstr (text, lines[i]) == NULL)
      {
        *how = g_strdup ("not enforced: it can get privileges, or lacks the agent's filter");
        return FALSE;
      }
  *how = g_strdup ("no capability in its bounding set, no-new-privs, the agent's seccomp filter");
  return TRUE;
}

static PrismCapabilities *
look (BubblewrapSandbox *self, JsonObject *info)
{
  PrismControls controls = PRISM_CONTROLS_WORKSPACE;
  GVariantBuilder evidence;
  const char *const *names = bubblewrap_unenforced ();
  static const struct
  {
    const char *kind, *control;
    PrismControls flag;
  } namespaces[] = { { "mnt", "filesystem", PRISM_CONTROLS_FILESYSTEM },
                     { "net", "network", PRISM_CONTROLS_NETWORK | PRISM_CONTROLS_EGRESS },
                     { "pid", "process", PRISM_CONTROLS_PROCESS } };
  g_autofree char *privileges = NULL;

  g_variant_builder_init (&evidence, G_VARIANT_TYPE ("a{ss}"));
  for (guint i = 0; i < G_N_ELEMENTS (namespaces); i++)
    {
      g_autofree char *how = NULL;
      if (is_apart (info, namespaces[i].kind, &how))
        controls |= namespaces[i].flag;
      g_variant_builder_add (&evidence, "{ss}", namespaces[i].control, how);
    }
  if (has_no_privileges (info, &privileges))
    controls |= PRISM_CONTROLS_PRIVILEGE;
  g_variant_builder_add (&evidence, "{ss}", "privilege", privileges);
  for (guint i = 0; names[i] != NULL; i++)
    g_variant_builder_add (&evidence, "{ss}", names[i], "not enforced: bubblewrap has nothing for it");
  return prism_capabilities_new (controls, g_variant_builder_end (&evidence));
}

static gboolean
start (BubblewrapSandbox *self,
       PrismSandboxSpec *spec,
       char **argv,
       int agents_end,
       GCancellable *cancellable,
       GError **error)
{
  PrismAgentSandbox *base = PRISM_AGENT_SANDBOX (self);
  g_autoptr (JsonObject) info = NULL;
  g_autoptr (PrismCapabilities) real = NULL;
  g_autoptr (PrismFileEntry) entry = NULL;

  if (!spawn (self, argv, agents_end, error))
    return FALSE;
  info = read_info (self, cancellable, error);
  if (info == NULL || !prism_agent_sandbox_start (base, cancellable, error))
    return FALSE;
  /* Its answer comes after the agent has set itself up, filter and all. */
  entry = prism_sandbox_stat_file (PRISM_SANDBOX (self), ".", cancellable, error);
  if (entry == NULL)
    return FALSE;
  real = look (self, info);
  prism_agent_sandbox_set_capabilities (base, real);
  return prism_capabilities_check_required (real, prism_sandbox_spec_get_require (spec), error);
}

static BubblewrapSandbox *
make (PrismSandboxSpec *spec, int *agents_end, GError **error)
{
  g_autofree char *id = g_uuid_string_random ();
  g_autoptr (GSocket) socket = NULL;
  g_autoptr (GSocketConnection) connection = NULL;
  int ends[2];

  if (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
    {
      fail_with_errno (error, "socketpair");
      return NULL;
    }
  *agents_end = ends[1];
  socket = g_socket_new_from_fd (ends[0], error);
  if (socket == NULL)
    {
      close (ends[0]);
      close (ends[1]);
      return NULL;
    }
  connection = g_socket_connection_factory_create_connection (socket);
  return g_object_new (BUBBLEWRAP_TYPE_SANDBOX, "spec", spec, "connection", connection, "backend-name", "bubblewrap",
                       "id", id, "workspace", prism_sandbox_spec_get_sandbox_path (spec), NULL);
}

PrismSandbox *
bubblewrap_sandbox_start (PrismSandboxSpec *spec, const char *program, GCancellable *cancellable, GError **error)
{
  g_autofree char *path = g_find_program_in_path (program);
  g_autoptr (BubblewrapSandbox) self = NULL;
  g_auto (GStrv) argv = NULL;
  int agents_end;

  if (path == NULL)
    {
      g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_UNAVAILABLE,
                   "%s is not in PATH: install bubblewrap, or set the property “program”", program);
      return NULL;
    }
  argv = bubblewrap_arguments (spec, path, prism_agent_get_path (), error);
  self = argv != NULL ? make (spec, &agents_end, error) : NULL;
  if (self == NULL)
    return NULL;
  if (start (self, spec, argv, agents_end, cancellable, error))
    return PRISM_SANDBOX (g_steal_pointer (&self));
  prism_sandbox_close (PRISM_SANDBOX (self), NULL, NULL);
  return NULL;
}
