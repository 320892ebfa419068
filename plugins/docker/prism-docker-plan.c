/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* TRUST. What comes here was checked for its form by the library and looked at on the
 * machine (prism-docker-look.c); what the combination must not be is refused here, all
 * of it at once. What is not said in the request is the daemon's default, so everything
 * that matters is said: no restart, no devices, no healthcheck of the image's, no
 * volumes of the image's, no log. */
#include "prism-docker-plan.h"

#include <string.h>

#include "prism-docker-names.h"

/* The agent, and the shim of a first command, are not the caller's processes. */
#define OWN_PROCESSES    2
#define OWN_FILES        1024              /* the agent's, on top of a command's */
#define LEAST_MEMORY     (6 * 1024 * 1024) /* the engine's own */
#define LEAST_CPU_MILLIS 10                /* 1 ms of 100, the kernel's least quota */
#define SHM_BYTES        (64 * 1024 * 1024)
#define VOLUME_BYTES     (16 * 1024 * 1024)
#define MOST_VOLUMES     64

/* Names, paths and an engine's words are somebody's. */
char *
prism_docker_dup_printable (const char *text, gssize length)
{
  g_autofree char *valid = g_utf8_make_valid (text, length);
  GString *printable = g_string_new (NULL);

  for (const char *at = valid; *at != 0; at = g_utf8_next_char (at))
    {
      gunichar c = g_utf8_get_char (at);
      GUnicodeType type = g_unichar_type (c);
      gboolean moves = type == G_UNICODE_CONTROL || type == G_UNICODE_FORMAT || type == G_UNICODE_LINE_SEPARATOR
                       || type == G_UNICODE_PARAGRAPH_SEPARATOR;
      g_string_append_unichar (printable, moves ? ' ' : c);
    }
  return g_string_free (printable, FALSE);
}

void
prism_docker_offend (GString *offenders, const char *format, ...)
{
  g_autofree char *text = NULL;
  g_autofree char *printable = NULL;
  va_list arguments;

  va_start (arguments, format);
  text = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  printable = prism_docker_dup_printable (text, -1);
  g_string_append_printf (offenders, "%s%s", offenders->len > 0 ? "; " : "", printable);
}

static void
bind_free (gpointer data)
{
  PrismDockerBind *bind = data;
  g_free (bind->source);
  g_free (bind->target);
  g_free (bind);
}

static void
tmpfs_free (gpointer data)
{
  PrismDockerTmpfs *tmpfs = data;
  g_free (tmpfs->target);
  g_free (tmpfs->options);
  g_free (tmpfs);
}

static void
shift_free (gpointer data)
{
  PrismDockerShift *shift = data;
  g_free (shift->source);
  g_free (shift->name);
  g_free (shift);
}

void
prism_docker_plan_free (PrismDockerPlan *self)
{
  g_free (self->name);
  g_free (self->image);
  g_free (self->user);
  g_free (self->runtime);
  g_free (self->network);
  g_strfreev (self->labels);
  g_strfreev (self->command);
  g_ptr_array_unref (self->binds);
  g_ptr_array_unref (self->tmpfs);
  g_ptr_array_unref (self->shifts);
  g_ptr_array_unref (self->forget);
  g_free (self);
}

char *
prism_docker_plan_dup_digest (const PrismDockerPlan *self)
{
  return prism_docker_dup_digest (self->image);
}

/* "" or "/rest" when @path is @top or below it, NULL when it is elsewhere. */
static const char *
rest_below (const char *path, const char *top)
{
  gsize n = strlen (top);

  if (strcmp (top, "/") == 0)
    return strcmp (path, "/") == 0 ? "" : path;
  return strncmp (path, top, n) == 0 && (path[n] == 0 || path[n] == '/') ? path + n : NULL;
}

static PrismDockerBind *
add_bind (PrismDockerPlan *self, char *source, const char *target, gboolean readonly)
{
  PrismDockerBind *bind = g_new (PrismDockerBind, 1);
  *bind = (PrismDockerBind){ source, g_strdup (target), readonly, FALSE };
  g_ptr_array_add (self->binds, bind);
  return bind;
}

static void
add_tmpfs (PrismDockerPlan *self, const char *target, char *options, gint64 inodes)
{
  PrismDockerTmpfs *tmpfs = g_new (PrismDockerTmpfs, 1);
  *tmpfs = (PrismDockerTmpfs){ g_strdup (target), options, inodes > 0, inodes };
  g_ptr_array_add (self->tmpfs, tmpfs);
}

/* The commands' own; programs built there must run. An inode costs memory too. */
static void
add_own_tmpfs (PrismDockerPlan *self, const char *target, gint64 bytes, const char *mode)
{
  add_tmpfs (self, target, g_strdup_printf ("rw,exec,nosuid,nodev,size=%" G_GINT64_FORMAT ",mode=%s", bytes, mode),
             CLAMP (bytes / 4096, 1024, 4 * 1024 * 1024));
}

/* --- where things are seen ----------------------------------------------------------- */

static const char *const taken[] = {
  PRISM_DOCKER_INSIDE, PRISM_DOCKER_HOME, "/tmp",          "/downloads",       "/proc", "/sys", "/dev", "/etc/passwd",
  "/etc/group",        "/etc/hosts",      "/etc/hostname", "/etc/resolv.conf",
};

static void
check_target (const char *target, const char *what, GString *offenders)
{
  for (gsize i = 0; i < G_N_ELEMENTS (taken); i++)
    {
      gboolean below = rest_below (target, taken[i]) != NULL, above = rest_below (taken[i], target) != NULL;
      /* Below /tmp and the like a folder may be shown. */
      if (above || (below && i != 1 && i != 2 && i != 3))
        {
          prism_docker_offend (offenders, "%s: “%s” is in the way of %s, which is the sandbox's own", what, target,
                               taken[i]);
          return;
        }
    }
}

static void
check_targets (const PrismDockerAsked *asked, GString *offenders)
{
  g_autoptr (GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);

  check_target (prism_sandbox_spec_get_sandbox_path (asked->spec), "sandbox-path", offenders);
  for (guint i = 0; i < asked->views->len; i++)
    {
      const PrismDockerView *view = asked->views->pdata[i];
      if (strcmp (view->target, prism_sandbox_spec_get_sandbox_path (asked->spec)) != 0)
        check_target (view->target, view->what, offenders);
      if (!g_hash_table_add (seen, view->target))
        prism_docker_offend (offenders, "%s: something else is shown at “%s” already", view->what, view->target);
    }
}

/* --- whose files they are -------------------------------------------------------------- */

/* Only root can show a folder to other ids than its own; and what root shows may have device
 * nodes and set-id files in it, which the keeper's mount makes inert. An ordinary user's commands are
 * the folder's owner, or they could not do their work or would leave files that are
 * nobody's. */
static gboolean
needs_shift (const PrismDockerAsked *asked)
{
  return asked->caller == 0;
}

static void
check_owner (const PrismDockerAsked *asked, const PrismDockerView *view, GString *offenders)
{
  const PrismDockerPath *source = &view->source;

  if (asked->caller == 0 || !view->writable || source->uid == asked->uid)
    return;
  if (source->uid == 0 || source->gid == 0)
    prism_docker_offend (offenders,
                         "%s: %s is root's, and no command is root: it could not write there; give the folder to "
                         "yourself (chown), or use workspace-mode copy",
                         view->what, source->path);
  else if (asked->options->user != NULL)
    prism_docker_offend (offenders,
                         "%s: %s belongs to uid %u and commands run as %u: files would be neither's; leave out the "
                         "property user, set it to %u:%u, or use workspace-mode copy",
                         view->what, source->path, source->uid, asked->uid, source->uid, source->gid);
  else
    prism_docker_offend (offenders,
                         "%s: %s belongs to uid %u and commands run as %u, who owns what else is shown: files would be "
                         "neither's; show folders of one owner",
                         view->what, source->path, source->uid, asked->uid);
}

static char *
add_shift (PrismDockerPlan *self, const PrismDockerPath *path, gboolean readonly, const char *folder)
{
  PrismDockerShift *shift = g_new (PrismDockerShift, 1);

  shift->source = g_strdup (path->path);
  shift->name = g_strdup_printf ("m%u", self->shifts->len);
  shift->folder = path->kind == PRISM_DOCKER_KIND_FOLDER;
  shift->readonly = readonly;
  shift->from_uid = path->uid;
  shift->from_gid = path->gid;
  g_ptr_array_add (self->shifts, shift);
  return g_build_filename (folder, shift->name, NULL);
}

/* --- hide and protect ------------------------------------------------------------------- */

typedef struct
{
  const PrismDockerView *view;
  const char *source; /* where it is shown from: shifted or not */
} Shown;

/* Folders between the view's own and what is below turn into mount points, so that none
 * can be moved aside and made anew. */
static void
add_pins (PrismDockerPlan *self, const Shown *shown, const char *rest)
{
  if (!shown->view->writable || *rest == 0) /* nothing is between the view and itself */
    return;
  for (const char *slash = strchr (rest + 1, '/'); slash != NULL; slash = strchr (slash + 1, '/'))
    {
      g_autofree char *between = g_strndup (rest, (gsize)(slash - rest));
      g_autofree char *target = g_strconcat (shown->view->target, between, NULL);
      gboolean there = FALSE;
      for (guint i = 0; i < self->binds->len && !there; i++)
        there = strcmp (((PrismDockerBind *)self->binds->pdata[i])->target, target) == 0;
      if (!there)
        add_bind (self, g_strconcat (shown->source, between, NULL), target, FALSE);
    }
}

static void
hide (PrismDockerPlan *self, const Shown *shown, const PrismDockerPath *path, const char *rest, const char *room)
{
  g_autofree char *target = g_strconcat (shown->view->target, rest, NULL);

  add_pins (self, shown, rest);
  if (path->kind == PRISM_DOCKER_KIND_FOLDER)
    add_tmpfs (self, target, g_strdup ("ro,noexec,nosuid,nodev,size=4096,mode=0000"), 0);
  else
    add_bind (self, g_build_filename (room, "empty", NULL), target, TRUE);
}

static void
protect (PrismDockerPlan *self, const Shown *shown, const PrismDockerPath *path, const char *rest, const char *folder)
{
  g_autofree char *target = g_strconcat (shown->view->target, rest, NULL);
  g_autofree char *source =
      folder != NULL ? add_shift (self, path, TRUE, folder) : g_strconcat (shown->source, rest, NULL);

  if (!shown->view->writable)
    return;
  add_pins (self, shown, rest);
  for (guint i = 0; i < self->binds->len; i++)
    {
      PrismDockerBind *bind = self->binds->pdata[i];
      if (strcmp (bind->target, target) == 0)
        {
          g_free (bind->source);
          bind->source = g_steal_pointer (&source);
          bind->readonly = TRUE;
          bind->held = folder != NULL;
          return;
        }
    }
  add_bind (self, g_steal_pointer (&source), target, TRUE)->held = folder != NULL;
}

static void
add_rules (
    PrismDockerPlan *self, const PrismDockerAsked *asked, const GArray *shown, const char *folder, GString *offenders)
{
  g_autofree char *room = g_build_filename (folder, "host", NULL);

  for (guint k = 0; k < shown->len; k++)
    {
      const Shown *at = &g_array_index (shown, Shown, k);
      for (guint i = 0; i < asked->protect->len; i++)
        {
          const PrismDockerPath *path = asked->protect->pdata[i];
          const char *rest = rest_below (path->path, at->view->source.path);
          if (rest != NULL)
            protect (self, at, path, rest, needs_shift (asked) ? folder : NULL);
        }
      for (guint i = 0; i < asked->hide->len; i++)
        {
          const PrismDockerPath *path = asked->hide->pdata[i];
          const char *rest = rest_below (path->path, at->view->source.path);
          if (rest_below (at->view->source.path, path->path) != NULL)
            prism_docker_offend (offenders, "%s: %s is to be shown, and it or a folder above it to be hidden",
                                 at->view->what, at->view->source.path);
          else if (rest != NULL)
            hide (self, at, path, rest, room);
        }
    }
}

/* A copy has what it has: what is hidden is taken out of it before the first command. */
static void
add_copy_rules (PrismDockerPlan *self, const PrismDockerAsked *asked, GString *offenders)
{
  const char *inside = prism_sandbox_spec_get_sandbox_path (asked->spec);

  for (guint i = 0; i < asked->hide->len; i++)
    {
      const PrismDockerPath *path = asked->hide->pdata[i];
      const char *rest = rest_below (path->path, asked->workspace);
      if (rest_below (asked->workspace, path->path) != NULL)
        prism_docker_offend (offenders, "hide: %s is the workspace or above it", path->path);
      else if (rest != NULL)
        g_ptr_array_add (self->forget, g_strconcat (inside, rest, NULL));
    }
  for (guint i = 0; i < asked->protect->len; i++)
    {
      const PrismDockerPath *path = asked->protect->pdata[i];
      if (rest_below (path->path, asked->workspace) != NULL)
        prism_docker_offend (offenders,
                             "protect: %s: in a copy inside a container nothing can be made read-only; the host's own "
                             "is out of reach there; use workspace-mode direct to have it read-only inside",
                             path->path);
    }
}

/* --- the parts of a plan ------------------------------------------------------------------ */

static void
add_views (PrismDockerPlan *self, const PrismDockerAsked *asked, const char *folder, GString *offenders)
{
  g_autoptr (GArray) shown = g_array_new (FALSE, FALSE, sizeof (Shown));
  g_autoptr (GPtrArray) sources = g_ptr_array_new_with_free_func (g_free);

  for (guint i = 0; i < asked->views->len; i++)
    {
      const PrismDockerView *view = asked->views->pdata[i];
      gboolean shifted = needs_shift (asked);
      Shown at = { view,
                   shifted ? add_shift (self, &view->source, !view->writable, folder) : g_strdup (view->source.path) };
      g_ptr_array_add (sources, (gpointer)at.source);
      check_owner (asked, view, offenders);
      add_bind (self, g_strdup (at.source), view->target, !view->writable)->held = shifted;
      g_array_append_val (shown, at);
    }
  add_rules (self, asked, shown, folder, offenders);
}

static void
add_own_places (PrismDockerPlan *self, const PrismDockerAsked *asked, const char *folder, const char *const *volumes)
{
  PrismLimits *limits = prism_sandbox_spec_get_limits (asked->spec);
  const char *inside = prism_sandbox_spec_get_sandbox_path (asked->spec);
  static const char *const files[] = { "passwd", "group", "hosts", "resolv.conf" };
  /* On a network of somebody's the engine says who is who. */
  gboolean custom = prism_sandbox_spec_get_network (asked->spec) == PRISM_NETWORK_MODE_CUSTOM;
  gboolean has_view = FALSE;

  add_bind (self, g_strdup (asked->agent), PRISM_DOCKER_INSIDE_AGENT, TRUE);
  add_bind (self, g_build_filename (folder, "host", NULL), PRISM_DOCKER_INSIDE_ROOM, TRUE);
  for (gsize i = 0; i < (custom ? 2 : G_N_ELEMENTS (files)); i++)
    {
      g_autofree char *target = g_build_filename ("/etc", files[i], NULL);
      add_bind (self, g_build_filename (folder, "host", files[i], NULL), target, TRUE);
    }
  add_own_tmpfs (self, "/tmp", prism_limits_get (limits, "tmp-bytes"), "1777");
  add_own_tmpfs (self, PRISM_DOCKER_HOME, prism_limits_get (limits, "tmp-bytes"), "0700");
  add_own_tmpfs (self, "/downloads", prism_limits_get (limits, "download-bytes"), "0755");
  for (guint i = 0; i < asked->views->len; i++)
    has_view = has_view || strcmp (((PrismDockerView *)asked->views->pdata[i])->target, inside) == 0;
  if (!has_view)
    add_own_tmpfs (self, inside, prism_limits_get (limits, "workspace-bytes"), "0755");
  for (guint i = 0; volumes != NULL && volumes[i] != NULL && i < MOST_VOLUMES; i++)
    {
      gboolean there = rest_below (volumes[i], inside) != NULL || rest_below (volumes[i], "/tmp") != NULL
                       || rest_below (volumes[i], PRISM_DOCKER_INSIDE) != NULL;
      for (guint k = 0; k < self->binds->len && !there; k++)
        there = strcmp (((PrismDockerBind *)self->binds->pdata[k])->target, volumes[i]) == 0;
      for (guint k = 0; k < self->tmpfs->len && !there; k++)
        there = strcmp (((PrismDockerTmpfs *)self->tmpfs->pdata[k])->target, volumes[i]) == 0;
      if (!there)
        add_own_tmpfs (self, volumes[i], VOLUME_BYTES, "0755");
    }
}

static void
check_volumes (const char *const *volumes, GString *offenders)
{
  guint n = volumes != NULL ? g_strv_length ((char **)volumes) : 0;

  if (n > MOST_VOLUMES)
    prism_docker_offend (offenders, "image: it declares %u volumes (allowed: %u)", n, MOST_VOLUMES);
  for (guint i = 0; i < n; i++)
    if (volumes[i][0] != '/' || strcmp (volumes[i], "/") == 0 || strlen (volumes[i]) > 4095)
      prism_docker_offend (offenders, "image: it declares a volume at “%.64s”", volumes[i]);
}

static void
take_limits (PrismDockerPlan *self, const PrismDockerAsked *asked, GString *offenders)
{
  PrismLimits *limits = prism_sandbox_spec_get_limits (asked->spec);

  self->memory_bytes = prism_limits_get (limits, "memory-bytes");
  self->cpu_millis = prism_limits_get (limits, "cpu-millis");
  self->pids = prism_limits_get (limits, "max-pids") + OWN_PROCESSES;
  self->open_files = prism_limits_get (limits, "max-fds") + OWN_FILES;
  self->stop_seconds = MAX (1, (prism_limits_get (limits, "stop-grace-ms") + 999) / 1000);
  self->shm_bytes = MIN (SHM_BYTES, prism_limits_get (limits, "tmp-bytes"));
  if (self->memory_bytes < LEAST_MEMORY)
    prism_docker_offend (offenders, "memory-bytes = %" G_GINT64_FORMAT ": the engine's least is %d", self->memory_bytes,
                         LEAST_MEMORY);
  if (self->cpu_millis < LEAST_CPU_MILLIS)
    prism_docker_offend (offenders, "cpu-millis = %" G_GINT64_FORMAT ": the kernel's least is %d", self->cpu_millis,
                         LEAST_CPU_MILLIS);
}

static void
take_labels (PrismDockerPlan *self, const PrismDockerAsked *asked)
{
  const char *const *theirs = prism_sandbox_spec_get_labels (asked->spec);
  gboolean detached = prism_sandbox_spec_get_lifetime (asked->spec) == PRISM_LIFETIME_DETACHED;
  g_autoptr (GPtrArray) all = g_ptr_array_new ();
  g_autofree char *fingerprint = prism_docker_fingerprint ((const char *const *)self->command);

  g_ptr_array_add (all, g_strdup (PRISM_DOCKER_LABEL "=1"));
  g_ptr_array_add (all, g_strconcat (PRISM_DOCKER_LABEL_ID "=", asked->id, NULL));
  g_ptr_array_add (all, g_strdup_printf (PRISM_DOCKER_LABEL_OWNER "=%u", asked->caller));
  g_ptr_array_add (all, g_strconcat (PRISM_DOCKER_LABEL_HOST "=", asked->host, NULL));
  g_ptr_array_add (all, g_strconcat (PRISM_DOCKER_LABEL_LIFETIME "=", detached ? "detached" : "host", NULL));
  g_ptr_array_add (all, g_strconcat (PRISM_DOCKER_LABEL_COMMAND "=", fingerprint, NULL));
  if (asked->attestation != NULL)
    {
      g_ptr_array_add (
          all, g_strconcat ("prism.egress.endpoint=", prism_attestation_get_proxy_endpoint (asked->attestation), NULL));
      g_ptr_array_add (all, g_strconcat ("prism.egress.fingerprint=",
                                         prism_attestation_get_policy_fingerprint (asked->attestation), NULL));
      g_ptr_array_add (all, g_strdup_printf ("prism.egress.policyVersion=%" G_GINT64_FORMAT,
                                             prism_attestation_get_policy_version (asked->attestation)));
      g_ptr_array_add (all, g_strdup ("prism.egress.denyDirect=1"));
    }
  for (guint i = 0; theirs != NULL && theirs[i] != NULL; i++)
    g_ptr_array_add (all, g_strdup (theirs[i]));
  g_ptr_array_add (all, NULL);
  self->labels = (char **)g_ptr_array_steal (all, NULL);
}

/* What the properties and the specification must not be together. */
static void
check_options (const PrismDockerAsked *asked, GString *offenders)
{
  const PrismDockerOptions *options = asked->options;
  PrismNetworkMode network = prism_sandbox_spec_get_network (asked->spec);
  gboolean detached = prism_sandbox_spec_get_lifetime (asked->spec) == PRISM_LIFETIME_DETACHED;
  guint uid, gid;

  if (options->image == NULL)
    prism_docker_offend (offenders, "image: none was named; set it to NAME@sha256:DIGEST");
  else if (!prism_docker_is_pinned_image (options->image))
    prism_docker_offend (offenders,
                         "image = “%.256s”: it must be pinned, as NAME@sha256: and 64 hexadecimal digits (docker "
                         "images --digests shows them)",
                         options->image);
  if (options->user != NULL && !prism_docker_parse_user (options->user, &uid, &gid))
    prism_docker_offend (offenders, "user = “%.64s”: it must be UID:GID, in digits, neither of them 0", options->user);
  if (options->runtime != NULL && !prism_docker_is_runtime_name (options->runtime))
    prism_docker_offend (offenders, "runtime = “%.64s” is no runtime's name", options->runtime);
  if (options->network != NULL && !prism_docker_is_network_name (options->network))
    prism_docker_offend (offenders,
                         "network = “%.64s”: only a network that somebody made is meant, by its name; none and egress "
                         "are the specification's",
                         options->network);
  if (network == PRISM_NETWORK_MODE_CUSTOM && options->network == NULL)
    prism_docker_offend (offenders, "network: the specification says custom, and the property network names none");
  if (network != PRISM_NETWORK_MODE_CUSTOM && options->network != NULL)
    prism_docker_offend (offenders, "network = “%.64s” is for a specification whose network is custom",
                         options->network);
  if (options->attestation != NULL && network != PRISM_NETWORK_MODE_CUSTOM)
    prism_docker_offend (offenders, "attestation is for a specification whose network is custom");
  if (options->attestation_key != NULL && options->attestation == NULL)
    prism_docker_offend (offenders, "attestation-key: there is no attestation to verify with it");
  if (network == PRISM_NETWORK_MODE_EGRESS && detached)
    prism_docker_offend (offenders,
                         "lifetime=detached with network=egress: the proxy lives in the host process, which the "
                         "sandbox outlives; use network=none or lifetime=host");
}

static void
take_command (PrismDockerPlan *self)
{
  static const char *const command[] = { PRISM_DOCKER_INSIDE_AGENT, "--dial",
                                         PRISM_DOCKER_INSIDE_ROOM "/" PRISM_DOCKER_SOCKET, NULL };
  self->command = g_strdupv ((char **)command);
}

PrismDockerPlan *
prism_docker_plan_new (const PrismDockerAsked *asked,
                       const char *folder,
                       const char *const *volumes,
                       GString *offenders)
{
  g_autoptr (PrismDockerPlan) self = g_new0 (PrismDockerPlan, 1);
  gsize before = offenders->len;

  self->binds = g_ptr_array_new_with_free_func (bind_free);
  self->tmpfs = g_ptr_array_new_with_free_func (tmpfs_free);
  self->shifts = g_ptr_array_new_with_free_func (shift_free);
  self->forget = g_ptr_array_new_with_free_func (g_free);
  self->name = g_strconcat ("prism-", asked->id, NULL);
  self->image = g_strdup (asked->options->image);
  /* Its digits may be of any case here; an engine takes the small ones. */
  if (prism_docker_is_pinned_image (self->image))
    for (char *c = strchr (self->image, '@'); *c != 0; c++)
      *c = g_ascii_tolower (*c);
  self->uid = asked->uid;
  self->gid = asked->gid;
  self->user = g_strdup_printf ("%u:%u", asked->uid, asked->gid);
  self->runtime = g_strdup (asked->options->runtime);
  self->network = g_strdup (
      prism_sandbox_spec_get_network (asked->spec) == PRISM_NETWORK_MODE_CUSTOM ? asked->options->network : "none");
  self->copies =
      asked->workspace != NULL && prism_sandbox_spec_get_workspace_mode (asked->spec) == PRISM_WORKSPACE_MODE_COPY;
  check_options (asked, offenders);
  check_targets (asked, offenders);
  check_volumes (volumes, offenders);
  take_limits (self, asked, offenders);
  take_command (self);
  take_labels (self, asked);
  add_views (self, asked, folder, offenders);
  add_own_places (self, asked, folder, volumes);
  if (self->copies)
    add_copy_rules (self, asked, offenders);
  return offenders->len == before ? g_steal_pointer (&self) : NULL;
}
