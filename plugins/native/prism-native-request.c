/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Looks at the paths that a specification names, and refuses what cannot be. Links
 * are resolved here, once; the launcher follows none, so a path that is swapped for
 * a link between the two makes the start fail. */
#include "prism-native-request.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "prism-native-begin.h"
#include "prism-native-early.h"

static const char *
keep (PrismNativeRequest *self, char *text)
{
  g_ptr_array_add (self->strings, text);
  return text;
}

static gboolean refuse (GError **error, PrismSandboxError code, const char *format, ...) G_GNUC_PRINTF (3, 4);

static gboolean
refuse (GError **error, PrismSandboxError code, const char *format, ...)
{
  va_list arguments;
  g_autofree char *text = NULL;

  va_start (arguments, format);
  text = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  g_set_error (error, PRISM_SANDBOX_ERROR, code, "native: %s", text);
  return FALSE;
}

/* FALSE with errno when there is nothing. */
static gboolean
resolve (PrismNativeRequest *self, const char *path, PrismNativePath *found)
{
  char *real = realpath (path, NULL);
  struct stat info;

  found->path = NULL;
  found->kind = PRISM_NATIVE_KIND_MISSING;
  if (real == NULL)
    return FALSE;
  /* realpath() allocates with malloc(), as g_free() expects since GLib 2.46. */
  found->path = keep (self, real);
  if (stat (real, &info) < 0)
    return FALSE;
  found->kind = S_ISDIR (info.st_mode) ? PRISM_NATIVE_KIND_FOLDER : PRISM_NATIVE_KIND_FILE;
  return TRUE;
}

static gboolean
is_below (const char *path, const char *top)
{
  gsize n = strlen (top);
  return strncmp (path, top, n) == 0 && (path[n] == 0 || path[n] == '/');
}

/* What would bring the host's own /proc, /sys or /dev in. */
static gboolean
check_shown (const PrismNativeRequest *self, const char *path, GError **error)
{
  if (self->asked.isolation == PRISM_NATIVE_ISOLATION_NETWORK_ONLY)
    return TRUE;
  if (strcmp (path, "/") == 0 || is_below (path, "/proc") || is_below (path, "/sys") || strcmp (path, "/dev") == 0)
    return refuse (error, PRISM_SANDBOX_ERROR_REFUSED,
                   "%s cannot be shown in a confined sandbox: the host's processes and devices would be in it; name a "
                   "folder below it",
                   path);
  return TRUE;
}

static gboolean
take_workspace (PrismNativeRequest *self, PrismSandboxSpec *spec, GError **error)
{
  GFile *folder = prism_sandbox_spec_get_workspace (spec);
  g_autofree char *path = folder != NULL ? g_file_get_path (folder) : NULL;

  self->asked.workspace_mode = prism_sandbox_spec_get_workspace_mode (spec);
  self->asked.sandbox_path = prism_sandbox_spec_get_sandbox_path (spec);
  if (folder == NULL)
    return TRUE;
  if (path == NULL)
    return refuse (error, PRISM_SANDBOX_ERROR_INVALID, "the workspace is not a folder of this machine");
  if (!resolve (self, path, &self->asked.workspace))
    return refuse (error, PRISM_SANDBOX_ERROR_NOT_FOUND, "workspace %s: %s", path, g_strerror (errno));
  if (self->asked.workspace.kind != PRISM_NATIVE_KIND_FOLDER)
    return refuse (error, PRISM_SANDBOX_ERROR_INVALID, "workspace %s is not a folder", path);
  if (access (self->asked.workspace.path, R_OK | X_OK) < 0)
    return refuse (error, PRISM_SANDBOX_ERROR_DENIED, "workspace %s: %s", path, g_strerror (errno));
  return check_shown (self, self->asked.workspace.path, error);
}

static gboolean
take_mounts (PrismNativeRequest *self, PrismSandboxSpec *spec, GError **error)
{
  GListModel *mounts = prism_sandbox_spec_get_mounts (spec);

  for (guint i = 0; mounts != NULL && i < g_list_model_get_n_items (mounts); i++)
    {
      g_autoptr (PrismMount) mount = g_list_model_get_item (mounts, i);
      g_autofree char *path = g_file_get_path (prism_mount_get_source (mount));
      const char *destination = prism_mount_get_destination (mount);
      PrismNativeShown shown = { .writable = prism_mount_get_writable (mount) };
      if (path == NULL)
        return refuse (error, PRISM_SANDBOX_ERROR_INVALID, "a mount's source is not on this machine");
      if (!resolve (self, path, &shown.source))
        return refuse (error, PRISM_SANDBOX_ERROR_NOT_FOUND, "%s, to be shown: %s", path, g_strerror (errno));
      if (!check_shown (self, shown.source.path, error))
        return FALSE;
      /* Without a destination it is seen where it is; a link on the way is gone by now. */
      shown.destination = destination != NULL && strcmp (destination, path) != 0
                              ? keep (self, g_canonicalize_filename (destination, "/"))
                              : shown.source.path;
      g_array_append_val (self->mounts, shown);
    }
  return TRUE;
}

static char *
dup_nearest (const char *path)
{
  char *at = g_strdup (path);

  while (access (at, F_OK) < 0 && strcmp (at, "/") != 0)
    {
      char *parent = g_path_get_dirname (at);
      g_free (at);
      at = parent;
    }
  return at;
}

static gboolean
take_hidden (PrismNativeRequest *self, const char *const *paths, GError **error)
{
  for (guint i = 0; paths != NULL && paths[i] != NULL; i++)
    {
      PrismNativePath found;
      if (!g_path_is_absolute (paths[i]))
        return refuse (error, PRISM_SANDBOX_ERROR_INVALID, "%s, to be hidden, is not an absolute path", paths[i]);
      if (!resolve (self, paths[i], &found))
        {
          /* What may not be looked at is not there for the sandbox either. */
          g_autofree char *key = g_strconcat ("hide ", paths[i], NULL);
          prism_native_evidence_say (self->limits.evidence, key, "not there: nothing to hide");
          continue;
        }
      g_array_append_val (self->hide, found);
    }
  return TRUE;
}

static gboolean
take_protected (PrismNativeRequest *self, const char *const *paths, GError **error)
{
  for (guint i = 0; paths != NULL && paths[i] != NULL; i++)
    {
      PrismNativePath found;
      if (!g_path_is_absolute (paths[i]))
        return refuse (error, PRISM_SANDBOX_ERROR_INVALID, "%s, to be protected, is not an absolute path", paths[i]);
      if (!resolve (self, paths[i], &found))
        {
          g_autofree char *nearest = dup_nearest (paths[i]);
          return refuse (error, PRISM_SANDBOX_ERROR_REFUSED,
                         "%s, to be protected: %s; make it first, or protect %s, the nearest folder that is there",
                         paths[i], g_strerror (errno), nearest);
        }
      g_array_append_val (self->protect, found);
    }
  return TRUE;
}

static PrismNativeEgress
choose_egress (PrismSandboxSpec *spec)
{
  PrismEgressPolicy *policy = prism_sandbox_spec_get_egress_policy (spec);

  if (prism_sandbox_spec_get_network (spec) != PRISM_NETWORK_MODE_EGRESS)
    return PRISM_NATIVE_EGRESS_NONE;
  return prism_egress_policy_get_kind (policy) == PRISM_EGRESS_POLICY_KIND_ALLOW_ALL ? PRISM_NATIVE_EGRESS_OPEN
                                                                                     : PRISM_NATIVE_EGRESS_RESTRICTED;
}

/* What the proxy's listener, a descriptor from the sandbox's one network namespace,
 * does not go with. */
static gboolean
check_egress (PrismSandboxSpec *spec, const PrismNativeOptions *options, GError **error)
{
  if (prism_sandbox_spec_get_network (spec) != PRISM_NETWORK_MODE_EGRESS)
    return TRUE;
  if (prism_sandbox_spec_get_lifetime (spec) == PRISM_LIFETIME_DETACHED)
    return refuse (error, PRISM_SANDBOX_ERROR_NOT_SUPPORTED,
                   "network=egress with lifetime=detached: the proxy, and with it the way out, ends with this process");
  if (options->netns == PRISM_NATIVE_NETNS_COMMAND)
    return refuse (error, PRISM_SANDBOX_ERROR_NOT_SUPPORTED,
                   "network=egress with netns=command: the way out is in one network namespace, the sandbox's; use "
                   "netns=sandbox");
  if (options->framed)
    return refuse (error, PRISM_SANDBOX_ERROR_NOT_SUPPORTED,
                   "network=egress with channel=framed: no descriptor can be passed out; use channel=auto");
  return TRUE;
}

static gboolean
check_options (PrismSandboxSpec *spec, const PrismNativeOptions *options, GError **error)
{
  /* The proxy is this process's: with it the way out would end, and the policy. */
  if (prism_sandbox_spec_get_lifetime (spec) == PRISM_LIFETIME_DETACHED
      && prism_sandbox_spec_get_network (spec) == PRISM_NETWORK_MODE_EGRESS)
    return refuse (error, PRISM_SANDBOX_ERROR_NOT_SUPPORTED,
                   "lifetime=detached with network=egress: the proxy lives in the host process, which the sandbox "
                   "outlives; use network=none or lifetime=host");
  if (prism_sandbox_spec_get_network (spec) == PRISM_NETWORK_MODE_CUSTOM)
    return refuse (error, PRISM_SANDBOX_ERROR_NOT_SUPPORTED, "network=custom: there are only none and egress here");
  if (options->isolation == PRISM_NATIVE_ISOLATION_CONFINED && options->unix_sockets == PRISM_NATIVE_UNIX_SOCKETS_ALLOW)
    return refuse (error, PRISM_SANDBOX_ERROR_INVALID,
                   "unix-sockets=allow is for isolation=network-only: in a confined sandbox no socket of the host's is "
                   "in reach, and its own are always allowed");
  return check_egress (spec, options, error);
}

/* Those that this process may use; GLib's function reads a file first, and each time. */
static guint
count_cpus (void)
{
  static gsize count;
  cpu_set_t cpus;

  if (g_once_init_enter (&count))
    g_once_init_leave (&count, sched_getaffinity (0, sizeof cpus, &cpus) == 0 ? (guint)CPU_COUNT (&cpus)
                                                                              : g_get_num_processors ());
  return (guint)count;
}

void
prism_native_asked_init (PrismNativeAsked *asked, const PrismNativeOptions *options)
{
  *asked = (PrismNativeAsked){
    .host = prism_native_host_get (),
    .isolation = options->isolation,
    .netns = options->netns,
    .unix_sockets = options->unix_sockets,
    .framed = options->framed,
    .off_switches = options->off_switches,
    .hostname = PRISM_NATIVE_HOSTNAME,
  };
}

static gboolean
fill (PrismNativeRequest *self, PrismSandboxSpec *spec, const PrismNativeOptions *options, GError **error)
{
  PrismLimits *limits = prism_sandbox_spec_get_limits (spec);
  PrismNativeAsked *asked = &self->asked;

  prism_native_asked_init (asked, options);
  if (!prism_native_host_is_callers (asked->host))
    {
      g_set_error_literal (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_REFUSED,
                           "native: this process is another user by now than for its first sandbox, and what was "
                           "begun for that one would make the next; make each user's in a program of its own");
      return FALSE;
    }
  asked->egress = choose_egress (spec);
  asked->detached = prism_sandbox_spec_get_lifetime (spec) == PRISM_LIFETIME_DETACHED;
  asked->tmp_bytes = prism_limits_get (limits, "tmp-bytes");
  asked->workspace_bytes = prism_limits_get (limits, "workspace-bytes");
  if (!check_options (spec, options, error)
      || !prism_native_limits_decide (&self->limits, limits, prism_native_cgroup_get (), count_cpus (), self->id, error)
      || !take_workspace (self, spec, error) || !take_mounts (self, spec, error)
      || !take_hidden (self, prism_sandbox_spec_get_hide (spec), error)
      || !take_protected (self, prism_sandbox_spec_get_protect (spec), error))
    return FALSE;
  prism_native_evidence_say (self->limits.evidence, "workspace-bytes",
                             asked->workspace.path != NULL && asked->workspace_mode != PRISM_WORKSPACE_MODE_COPY
                                 ? "for a disposable workspace; this one is the host's folder"
                                 : "size of a tmpfs");
  asked->mounts = (const PrismNativeShown *)(gpointer)self->mounts->data;
  asked->n_mounts = self->mounts->len;
  asked->hide = (const PrismNativePath *)(gpointer)self->hide->data;
  asked->n_hide = self->hide->len;
  asked->protect = (const PrismNativePath *)(gpointer)self->protect->data;
  asked->n_protect = self->protect->len;
  asked->groups = self->limits.groups;
  asked->n_groups = self->limits.n_groups;
  asked->processes = self->limits.processes;
  asked->data_bytes = self->limits.data_bytes;
  self->inside = g_strdup (asked->sandbox_path);
  if (asked->isolation == PRISM_NATIVE_ISOLATION_NETWORK_ONLY)
    {
      g_free (self->inside);
      self->inside = g_strdup (asked->workspace.path != NULL ? asked->workspace.path : "/");
    }
  return TRUE;
}

PrismNativeRequest *
prism_native_request_new (PrismSandboxSpec *spec, const PrismNativeOptions *options, const char *id, GError **error)
{
  g_autoptr (PrismNativeRequest) self = g_new0 (PrismNativeRequest, 1);

  if (id != NULL)
    self->id = g_strdup (id);
  else
    prism_native_make_id (self->id = g_malloc (PRISM_NATIVE_ID_LENGTH + 1));
  self->strings = g_ptr_array_new_with_free_func (g_free);
  self->mounts = g_array_new (FALSE, FALSE, sizeof (PrismNativeShown));
  self->hide = g_array_new (FALSE, FALSE, sizeof (PrismNativePath));
  self->protect = g_array_new (FALSE, FALSE, sizeof (PrismNativePath));
  return fill (self, spec, options, error) ? g_steal_pointer (&self) : NULL;
}

void
prism_native_request_free (PrismNativeRequest *self)
{
  prism_native_limits_clear (&self->limits);
  g_array_unref (self->mounts);
  g_array_unref (self->hide);
  g_array_unref (self->protect);
  g_ptr_array_unref (self->strings);
  g_free (self->inside);
  g_free (self->id);
  g_free (self);
}
