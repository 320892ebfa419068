/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-docker-look.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "prism-docker-capabilities.h"
#include "prism-docker-names.h"
#include "prism-docker-plan.h"

#define MOST_SOCKET 107 /* a unix address's */
#define MOST_SKEW   (5 * G_TIME_SPAN_MINUTE)

static void
path_free (gpointer data)
{
  PrismDockerPath *path = data;
  g_free (path->path);
  g_free (path);
}

static void
view_free (gpointer data)
{
  PrismDockerView *view = data;
  g_free (view->source.path);
  g_free (view->target);
  g_free (view);
}

void
prism_docker_asked_clear (PrismDockerAsked *asked)
{
  g_clear_object (&asked->attestation);
  g_clear_pointer (&asked->views, g_ptr_array_unref);
  g_clear_pointer (&asked->hide, g_ptr_array_unref);
  g_clear_pointer (&asked->protect, g_ptr_array_unref);
  g_clear_pointer (&asked->workspace, g_free);
}

/* FALSE with errno when there is nothing. */
static gboolean
resolve (const char *path, PrismDockerPath *found)
{
  char *real = realpath (path, NULL);
  struct stat info;

  *found = (PrismDockerPath){ NULL, PRISM_DOCKER_KIND_MISSING, 0, 0 };
  if (real == NULL)
    return FALSE;
  /* realpath() allocates with malloc(), as g_free() expects since GLib 2.46. */
  found->path = real;
  if (stat (real, &info) < 0)
    return FALSE;
  found->kind = S_ISDIR (info.st_mode) ? PRISM_DOCKER_KIND_FOLDER : PRISM_DOCKER_KIND_FILE;
  found->uid = info.st_uid;
  found->gid = info.st_gid;
  return TRUE;
}

static gboolean
is_below (const char *path, const char *top)
{
  gsize n = strlen (top);
  return strncmp (path, top, n) == 0 && (path[n] == 0 || path[n] == '/');
}

/* What would bring the host's processes, devices or the engine itself in. */
static gboolean
may_show (const char *path)
{
  struct stat info;

  if (strcmp (path, "/") == 0 || is_below (path, "/proc") || is_below (path, "/sys") || strcmp (path, "/dev") == 0
      || strcmp (path, "/run") == 0 || strcmp (path, "/var/run") == 0)
    return FALSE;
  return stat (path, &info) < 0 || !S_ISSOCK (info.st_mode);
}

static PrismDockerView *
add_view (PrismDockerAsked *asked,
          const char *what,
          const char *path,
          const char *target,
          gboolean writable,
          gboolean only_folder,
          GString *offenders)
{
  PrismDockerView *view = g_new0 (PrismDockerView, 1);

  view->what = what;
  view->writable = writable;
  if (path == NULL || !g_path_is_absolute (path))
    prism_docker_offend (offenders, "%s: “%.256s” is not an absolute path of this machine", what,
                         path != NULL ? path : "");
  else if (!resolve (path, &view->source))
    prism_docker_offend (offenders, "%s: %s: %s", what, path, g_strerror (errno));
  else if (only_folder && view->source.kind != PRISM_DOCKER_KIND_FOLDER)
    prism_docker_offend (offenders, "%s: %s is not a folder", what, path);
  else if (!may_show (view->source.path))
    prism_docker_offend (offenders,
                         "%s: %s cannot be shown in a sandbox: sockets, processes or devices of the host's would be in "
                         "it; name a folder below it",
                         what, path);
  else if (access (view->source.path, R_OK) < 0)
    prism_docker_offend (offenders, "%s: %s: %s", what, path, g_strerror (errno));
  else
    {
      view->target = target != NULL && strcmp (target, path) != 0 ? g_canonicalize_filename (target, "/")
                                                                  : g_strdup (view->source.path);
      g_ptr_array_add (asked->views, view);
      return view;
    }
  view_free (view);
  return NULL;
}

static void
take_workspace (PrismDockerAsked *asked, GString *offenders)
{
  GFile *file = prism_sandbox_spec_get_workspace (asked->spec);
  PrismWorkspaceMode mode = prism_sandbox_spec_get_workspace_mode (asked->spec);
  g_autofree char *path = file != NULL ? g_file_get_path (file) : NULL;
  PrismDockerPath found = { NULL, PRISM_DOCKER_KIND_MISSING, 0, 0 };
  PrismDockerView *view = NULL;

  if (file == NULL)
    ;
  else if (mode != PRISM_WORKSPACE_MODE_COPY)
    {
      view = add_view (asked, "workspace", path, prism_sandbox_spec_get_sandbox_path (asked->spec),
                       mode == PRISM_WORKSPACE_MODE_DIRECT, TRUE, offenders);
      if (view != NULL)
        asked->workspace = g_strdup (view->source.path);
    }
  else if (path == NULL || !resolve (path, &found))
    prism_docker_offend (offenders, "workspace: %s: %s", path != NULL ? path : "not of this machine",
                         path != NULL ? g_strerror (errno) : "no path");
  else if (found.kind != PRISM_DOCKER_KIND_FOLDER)
    prism_docker_offend (offenders, "workspace: %s is not a folder", path);
  else
    asked->workspace = g_strdup (found.path);
  g_free (found.path);
}

static void
take_mounts (PrismDockerAsked *asked, GString *offenders)
{
  GListModel *mounts = prism_sandbox_spec_get_mounts (asked->spec);

  for (guint i = 0; mounts != NULL && i < g_list_model_get_n_items (mounts); i++)
    {
      g_autoptr (PrismMount) mount = g_list_model_get_item (mounts, i);
      add_view (asked, "mounts", g_file_peek_path (prism_mount_get_source (mount)), prism_mount_get_destination (mount),
                prism_mount_get_writable (mount), FALSE, offenders);
    }
}

/* --- the second system's layout, in its order ------------------------------------------ */

static void
take_skills (PrismDockerAsked *asked, char **skills, GString *offenders)
{
  g_autoptr (GHashTable) seen = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  for (guint i = 0; skills != NULL && skills[i] != NULL; i++)
    {
      const char *equals = strchr (skills[i], '=');
      gsize length = equals != NULL ? (gsize)(equals - skills[i]) : 0;
      g_autofree char *id = g_strndup (skills[i], length);
      g_autofree char *target = g_strconcat ("/mnt/skills/", id, NULL);

      if (!prism_docker_is_skill_id (skills[i], length))
        prism_docker_offend (offenders, "skills: “%.64s” is not ID=FOLDER, with an id of letters, digits, _ . and -",
                             skills[i]);
      else if (!g_hash_table_add (seen, g_strdup (id)))
        prism_docker_offend (offenders, "skills: “%s” twice", id);
      else
        add_view (asked, "skills", equals + 1, target, FALSE, TRUE, offenders);
    }
}

static void
take_layout (PrismDockerAsked *asked, GString *offenders)
{
  const PrismDockerLayout *layout = &asked->options->layout;
  const struct
  {
    const char *name, *folder, *target;
    gboolean writable;
  } parts[] = {
    { "outputs", layout->outputs, "/mnt/user-data/outputs", TRUE },
    { "uploads", layout->uploads, "/mnt/user-data/uploads", FALSE },
    { "scratch", layout->scratch, "/mnt/user-data/scratch", TRUE },
    { "tool-results", layout->tool_results, "/mnt/user-data/tool_results", FALSE },
    { "transcripts", layout->transcripts, "/mnt/transcripts", FALSE },
  };
  gboolean others = layout->skills != NULL && layout->skills[0] != NULL;

  for (gsize i = 0; i < G_N_ELEMENTS (parts); i++)
    {
      if (parts[i].folder != NULL)
        add_view (asked, parts[i].name, parts[i].folder, parts[i].target, parts[i].writable, TRUE, offenders);
      others = others || (i > 0 && parts[i].folder != NULL);
    }
  take_skills (asked, layout->skills, offenders);
  if (others && layout->outputs == NULL)
    prism_docker_offend (offenders, "outputs: the layout's other folders need it");
}

/* --- hide and protect ------------------------------------------------------------------- */

static void
take_paths (const char *const *paths, const char *what, gboolean must_be_there, GPtrArray *list, GString *offenders)
{
  for (guint i = 0; paths != NULL && paths[i] != NULL; i++)
    {
      PrismDockerPath *found = g_new (PrismDockerPath, 1);
      if (resolve (paths[i], found))
        g_ptr_array_add (list, found);
      else
        {
          /* What may not be looked at is not there for the sandbox either. */
          if (must_be_there)
            prism_docker_offend (offenders, "%s: %s: %s; make it first, or name the folder that it would be in", what,
                                 paths[i], g_strerror (errno));
          path_free (found);
        }
    }
}

/* The proxy's clock may be another machine's. */
static gboolean
is_of_the_future (PrismAttestation *attestation)
{
  g_autoptr (GDateTime) started = prism_attestation_get_started_at (attestation);
  g_autoptr (GDateTime) now = g_date_time_new_now_utc ();

  return g_date_time_difference (started, now) > MOST_SKEW;
}

static void
take_attestation (PrismDockerAsked *asked, GString *offenders)
{
  const PrismDockerOptions *options = asked->options;
  g_autoptr (GError) error = NULL;

  if (options->attestation == NULL)
    {
      if (prism_sandbox_spec_get_network (asked->spec) == PRISM_NETWORK_MODE_CUSTOM
          && (prism_sandbox_spec_get_require (asked->spec) & PRISM_CONTROLS_EGRESS) != 0)
        prism_docker_offend (offenders,
                             "attestation: none was given, and egress is required; of a custom network only its "
                             "maker's attestation can say that it leads to a proxy and nowhere else");
      return;
    }
  asked->attestation = prism_attestation_new_from_json (options->attestation, -1, &error);
  if (asked->attestation == NULL)
    prism_docker_offend (offenders, "attestation: %s", error->message);
  else if (!prism_attestation_get_deny_direct_egress (asked->attestation))
    prism_docker_offend (offenders, "attestation: it does not say that direct egress is denied");
  else if (is_of_the_future (asked->attestation))
    prism_docker_offend (offenders, "attestation: it is of a proxy that has not been started yet");
  else if ((prism_sandbox_spec_get_require (asked->spec) & PRISM_CONTROLS_EGRESS) != 0
           && prism_docker_choose_egress (asked) == PRISM_DOCKER_EGRESS_OPEN)
    prism_docker_offend (offenders, "attestation: its policy lets everything be reached, and egress is required");
  else if (options->attestation_key != NULL
           && !prism_attestation_verify (asked->attestation, options->attestation_key, &error))
    prism_docker_offend (offenders, "attestation: %s", error->message);
}

/* Named to be run, it must be able to. */
static void
check_program (const char *program, GString *offenders)
{
  if (program == NULL)
    return;
  if (!g_path_is_absolute (program))
    prism_docker_offend (offenders, "docker = “%.256s”: it must be the program's absolute path", program);
  else if (access (program, X_OK) < 0)
    prism_docker_offend (offenders, "docker = “%.256s”: %s", program, g_strerror (errno));
}

static void
check_socket (const char *path, GString *offenders)
{
  if (path != NULL && (!g_path_is_absolute (path) || strlen (path) > MOST_SOCKET))
    prism_docker_offend (offenders, "socket = “%.256s”: it must be an absolute path of at most %d bytes", path,
                         MOST_SOCKET);
}

/* The commands' ids: what was set, or the owner of what an ordinary user shows to be worked in
 * (the workspace, else the first that is to be written), or the one that images know nothing of. */
static void
choose_user (PrismDockerAsked *asked)
{
  const PrismDockerPath *own = NULL;

  asked->uid = asked->gid = PRISM_DOCKER_USER;
  if (asked->options->user != NULL)
    {
      prism_docker_parse_user (asked->options->user, &asked->uid, &asked->gid);
      return;
    }
  for (guint i = 0; i < asked->views->len && own == NULL; i++)
    {
      const PrismDockerView *view = asked->views->pdata[i];
      if (view->writable || g_strcmp0 (view->source.path, asked->workspace) == 0)
        own = &view->source;
    }
  if (own == NULL || asked->caller == 0 || own->uid == 0 || own->gid == 0)
    return;
  asked->uid = own->uid;
  asked->gid = own->gid;
}

void
prism_docker_look (PrismDockerAsked *asked, GString *offenders)
{
  asked->caller = geteuid ();
  asked->views = g_ptr_array_new_with_free_func (view_free);
  asked->hide = g_ptr_array_new_with_free_func (path_free);
  asked->protect = g_ptr_array_new_with_free_func (path_free);
  check_program (asked->options->docker, offenders);
  check_socket (asked->options->socket, offenders);
  take_workspace (asked, offenders);
  if (asked->options->source != NULL)
    add_view (asked, "source", asked->options->source, "/source", FALSE, TRUE, offenders);
  take_mounts (asked, offenders);
  take_layout (asked, offenders);
  choose_user (asked);
  take_paths (prism_sandbox_spec_get_hide (asked->spec), "hide", FALSE, asked->hide, offenders);
  take_paths (prism_sandbox_spec_get_protect (asked->spec), "protect", TRUE, asked->protect, offenders);
  take_attestation (asked, offenders);
}
