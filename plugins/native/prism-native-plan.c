/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The plan's order is the order of mounts, so "the most specific path wins" is a
 * sort: what is shown, hidden and protected is brought to paths inside, parents
 * before children, and each rule then lies over the one above it. At one and the
 * same path hiding what is asked to be shown is refused, and protecting it makes it
 * read-only. A protected path below a hidden one stays hidden. */
#include "prism-native-plan.h"
#include "prism-native-early.h"

#include <string.h>

/* A bound on the small file system that holds the mount points below a hidden
 * folder. */
#define COVER_BYTES  (64 * 1024)
#define COVER_INODES 256

typedef enum
{
  ACTION_SHOW,
  ACTION_PROTECT,
  ACTION_HIDE,
  ACTION_PIN,
} ActionKind;

typedef struct
{
  ActionKind kind;
  char *inside; /* absolute */
  const char *outside;
  PrismNativeKind what;
  gboolean writable;
  gboolean workspace;
} Action;

/* A part of the host that can be seen, and where. */
typedef struct
{
  const char *outside, *inside;
  gboolean writable;
} View;

static void
action_free (gpointer data)
{
  Action *action = data;
  g_free (action->inside);
  g_free (action);
}

/* "" or "/rest" when @path is @top or below it, NULL when it is elsewhere. */
static const char *
rest_below (const char *path, const char *top)
{
  size_t n = strlen (top);

  if (strcmp (top, "/") == 0)
    return strcmp (path, "/") == 0 ? "" : path;
  if (strncmp (path, top, n) != 0 || (path[n] != 0 && path[n] != '/'))
    return NULL;
  return path + n;
}

static gboolean
is_host_tree (const PrismNativeAsked *asked)
{
  return asked->isolation == PRISM_NATIVE_ISOLATION_NETWORK_ONLY;
}

/* --- what is seen where ---------------------------------------------------- */

/* Inside, the workspace's own path on the host is a link: what is asked to be seen
 * below it is seen below the workspace. */
static char *
dup_destination (const PrismNativeAsked *asked, const char *destination)
{
  const char *rest = NULL;

  if (!is_host_tree (asked) && asked->workspace.path != NULL)
    rest = rest_below (destination, asked->workspace.path);
  return rest != NULL ? g_strconcat (asked->sandbox_path, rest, NULL) : g_strdup (destination);
}

static void
add_view (GArray *views, const char *outside, const char *inside, gboolean writable)
{
  const View view = { outside, inside, writable };
  g_array_append_val (views, view);
}

/* What is mounted is covered where it is; all else of the host's is not brought in. */
static bool
hides_piece (const void *data, const PrismNativePiece *piece)
{
  const PrismNativeAsked *asked = data;

  for (guint i = 0; i < asked->n_hide; i++)
    {
      const char *rest = rest_below (piece->path, asked->hide[i].path);
      if (rest != NULL && (*rest != 0 || piece->kind == PRISM_NATIVE_PIECE_CONTENT))
        return TRUE;
    }
  return FALSE;
}

static GArray *
collect_views (const PrismNativeAsked *asked, GPtrArray *actions)
{
  GArray *views = g_array_new (FALSE, FALSE, sizeof (View));

  if (is_host_tree (asked))
    add_view (views, "/", "/", TRUE);
  else
    for (guint i = 0; i < asked->host->n_pieces; i++)
      {
        const PrismNativePiece *piece = &asked->host->pieces[i];
        if ((piece->kind == PRISM_NATIVE_PIECE_SHOWN || piece->kind == PRISM_NATIVE_PIECE_SHOWN_FILE)
            && !hides_piece (asked, piece))
          add_view (views, piece->path, piece->path, FALSE);
      }
  for (guint i = 0; i < actions->len; i++)
    {
      const Action *action = actions->pdata[i];
      if (action->kind == ACTION_SHOW && !is_host_tree (asked))
        add_view (views, action->outside, action->inside, action->writable);
    }
  return views;
}

static Action *
add_action (
    GPtrArray *actions, ActionKind kind, char *inside, const char *outside, PrismNativeKind what, gboolean writable)
{
  Action *action = g_new0 (Action, 1);

  action->kind = kind;
  action->inside = inside;
  action->outside = outside;
  action->what = what;
  action->writable = writable;
  g_ptr_array_add (actions, action);
  return action;
}

static void
add_shown (const PrismNativeAsked *asked, GPtrArray *actions)
{
  if (asked->workspace.path != NULL)
    {
      const char *at = is_host_tree (asked) ? asked->workspace.path : asked->sandbox_path;
      Action *action = add_action (actions, ACTION_SHOW, g_strdup (at), asked->workspace.path, PRISM_NATIVE_KIND_FOLDER,
                                   asked->workspace_mode != PRISM_WORKSPACE_MODE_READONLY);
      action->workspace = TRUE;
    }
  for (guint i = 0; i < asked->n_mounts; i++)
    {
      const PrismNativeShown *mount = &asked->mounts[i];
      add_action (actions, ACTION_SHOW, dup_destination (asked, mount->destination), mount->source.path,
                  mount->source.kind, mount->writable);
    }
}

/* Folders between a writable view's own and @inside turn into mount points, so that
 * none can be renamed away and made anew. */
static void
add_pins (GPtrArray *actions, const View *view, const char *inside, const char *outside)
{
  const char *top = strcmp (view->inside, "/") == 0 ? "" : view->inside;

  for (const char *slash = strchr (inside + strlen (top) + 1, '/'); slash != NULL; slash = strchr (slash + 1, '/'))
    add_action (actions, ACTION_PIN, g_strndup (inside, slash - inside), outside, PRISM_NATIVE_KIND_FOLDER, TRUE);
}

static void
add_rules (GPtrArray *actions, const GArray *views, ActionKind kind, const PrismNativePath *paths, guint n)
{
  for (guint i = 0; i < n; i++)
    for (guint k = 0; k < views->len; k++)
      {
        const View *view = &g_array_index (views, View, k);
        const char *rest = rest_below (paths[i].path, view->outside);
        char *inside;

        if (rest == NULL || paths[i].kind == PRISM_NATIVE_KIND_MISSING)
          continue;
        inside = strcmp (view->inside, "/") == 0 ? g_strdup (*rest != 0 ? rest : "/")
                                                 : g_strconcat (view->inside, rest, NULL);
        if (*rest != 0 && view->writable)
          add_pins (actions, view, inside, paths[i].path);
        add_action (actions, kind, inside, paths[i].path, paths[i].kind, FALSE);
      }
}

/* Mounts within a writable view are pinned too: a read-only folder that can be
 * moved aside protects nothing. */
static void
add_mount_pins (GPtrArray *actions, const GArray *views, gboolean host_tree)
{
  guint n = actions->len;

  for (guint i = 0; i < n; i++)
    {
      const Action *action = actions->pdata[i];
      const View *best = NULL;
      for (guint k = 0; action->kind == ACTION_SHOW && !host_tree && k < views->len; k++)
        {
          const View *view = &g_array_index (views, View, k);
          const char *rest = rest_below (action->inside, view->inside);
          if (rest != NULL && *rest != 0 && (best == NULL || strlen (view->inside) > strlen (best->inside)))
            best = view;
        }
      if (best != NULL && best->writable)
        add_pins (actions, best, action->inside, "");
    }
}

/* Parents before children; at one path what is shown before what covers it, and
 * pins last. */
static int
compare_actions (gconstpointer a, gconstpointer b)
{
  const Action *x = *(Action *const *)a, *y = *(Action *const *)b;
  const char *p = x->inside, *q = y->inside;

  while (*p != 0 && *p == *q)
    p++, q++;
  if (*p != *q)
    {
      /* '/' sorts before every other byte, so that a folder's own come right after it. */
      int l = *p == 0 ? -1 : *p == '/' ? 0 : (guchar)*p, r = *q == 0 ? -1 : *q == '/' ? 0 : (guchar)*q;
      return l < r ? -1 : 1;
    }
  return (int)x->kind - (int)y->kind;
}

/* --- from actions to steps -------------------------------------------------- */

typedef struct
{
  const PrismNativeAsked *asked;
  PrismNativeSteps *steps;
  GPtrArray *actions;
  GPtrArray *open; /* hidden folders that something is shown below: sealed after it */
  const char *hidden;
} Emitter;

static gboolean
has_shown_below (const Emitter *emitter, guint at)
{
  const Action *self = emitter->actions->pdata[at];

  for (guint i = at + 1; i < emitter->actions->len; i++)
    {
      const Action *action = emitter->actions->pdata[i];
      if (rest_below (action->inside, self->inside) == NULL)
        return FALSE;
      if (action->kind == ACTION_SHOW)
        return TRUE;
    }
  return FALSE;
}

static void
close_covers (Emitter *emitter, const char *next)
{
  while (emitter->open->len > 0)
    {
      const char *cover = emitter->open->pdata[emitter->open->len - 1];
      if (next != NULL && rest_below (next, cover) != NULL)
        return;
      prism_native_step (emitter->steps, PRISM_LAUNCH_SEAL, 0, 0, 0, 0, cover, NULL);
      g_ptr_array_set_size (emitter->open, emitter->open->len - 1);
    }
}

static void
emit_shown (Emitter *emitter, const Action *action)
{
  const PrismNativeAsked *asked = emitter->asked;
  gboolean copy = action->workspace && asked->workspace_mode == PRISM_WORKSPACE_MODE_COPY;
  guint32 flags = is_host_tree (asked) ? 0 : PRISM_LAUNCH_PARENTS;

  flags |= PRISM_LAUNCH_NOFOLLOW | (action->writable ? 0 : PRISM_LAUNCH_RO) | (copy ? PRISM_LAUNCH_COPY : 0);
  if (asked->host->root)
    flags |= PRISM_LAUNCH_BY_KEEPER | PRISM_LAUNCH_IDMAP;
  else if (is_host_tree (asked) && action->writable)
    {
      /* There already, as its owner sees it; it only cannot be moved away. */
      prism_native_step (emitter->steps, PRISM_LAUNCH_SELF, 0, 0, 0, 0, action->inside, NULL);
      return;
    }
  prism_native_step (emitter->steps, PRISM_LAUNCH_BIND, flags, 0, copy ? asked->workspace_bytes : 0, 0, action->inside,
                     action->outside);
}

static void
emit_hidden (Emitter *emitter, guint at)
{
  const Action *action = emitter->actions->pdata[at];

  if (action->what == PRISM_NATIVE_KIND_FOLDER && has_shown_below (emitter, at))
    {
      prism_native_step (emitter->steps, PRISM_LAUNCH_TMPFS, 0, 0111, COVER_BYTES, COVER_INODES, action->inside, NULL);
      g_ptr_array_add (emitter->open, action->inside);
    }
  else
    prism_native_step (emitter->steps, PRISM_LAUNCH_HIDE, PRISM_LAUNCH_OPTIONAL, 0, 0, 0, action->inside,
                       action->outside);
  emitter->hidden = action->inside;
}

/* What covers a hidden folder has nothing in it to protect, hide or pin. */
static gboolean
is_covered (const Emitter *emitter, guint at)
{
  const Action *action = emitter->actions->pdata[at];
  const char *shown = NULL;

  if (emitter->hidden == NULL || rest_below (action->inside, emitter->hidden) == NULL)
    return FALSE;
  for (guint i = 0; i < at; i++)
    {
      const Action *earlier = emitter->actions->pdata[i];
      if (earlier->kind == ACTION_SHOW && rest_below (action->inside, earlier->inside) != NULL)
        shown = earlier->inside;
    }
  return shown == NULL || strlen (shown) <= strlen (emitter->hidden);
}

static gboolean
emit_action (Emitter *emitter, guint at, GError **error)
{
  const Action *action = emitter->actions->pdata[at];
  const Action *before = at > 0 ? emitter->actions->pdata[at - 1] : NULL;
  gboolean same = before != NULL && strcmp (before->inside, action->inside) == 0;

  close_covers (emitter, action->inside);
  if (action->kind == ACTION_SHOW)
    {
      if (same && before->kind == ACTION_SHOW)
        {
          g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_INVALID,
                       "native: %s and %s are both asked to be shown at %s", before->outside, action->outside,
                       action->inside);
          return FALSE;
        }
      emit_shown (emitter, action);
      return TRUE;
    }
  if (action->kind == ACTION_HIDE && same && before->kind == ACTION_SHOW)
    {
      g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_INVALID,
                   "native: %s is asked to be both shown and hidden", action->outside);
      return FALSE;
    }
  /* At one path: hidden needs no protection, and what is a mount needs no pin. */
  if (is_covered (emitter, at) || (same && before->kind == action->kind) || (action->kind == ACTION_PIN && same))
    return TRUE;
  if (action->kind == ACTION_HIDE)
    emit_hidden (emitter, at);
  else
    prism_native_step (emitter->steps, PRISM_LAUNCH_SELF, action->kind == ACTION_PROTECT ? PRISM_LAUNCH_RO : 0, 0, 0, 0,
                       action->inside, action->outside);
  return TRUE;
}

/* What the sandbox makes for itself: names in it can be made late. */
static gboolean
is_in_own (const char *path)
{
  return rest_below (path, "/tmp") != NULL || rest_below (path, "/run") != NULL
         || rest_below (path, "/home/prism") != NULL || rest_below (path, "/dev/shm") != NULL;
}

static const View *
find_view (const GArray *views, const char *path)
{
  for (guint i = 0; i < views->len; i++)
    {
      const View *view = &g_array_index (views, View, i);
      if (rest_below (path, view->inside) != NULL)
        return view;
    }
  return NULL;
}

/* The workspace's name on the host is a link to it inside; where the host's own
 * folder is seen at that path, it is covered. */
static void
emit_workspace_name (const PrismNativeAsked *asked, PrismNativeSteps *steps, const GArray *views, gboolean early)
{
  const char *path = asked->workspace.path;

  if (is_host_tree (asked) || path == NULL || rest_below (path, asked->sandbox_path) != NULL
      || rest_below (asked->sandbox_path, path) != NULL)
    return;
  if (find_view (views, path) != NULL)
    {
      if (!early)
        prism_native_step (steps, PRISM_LAUNCH_BIND, PRISM_LAUNCH_INSIDE, 0, 0, 0, path, asked->sandbox_path);
    }
  else if (is_in_own (path) != early)
    prism_native_step (steps, PRISM_LAUNCH_LINK, PRISM_LAUNCH_OPTIONAL, 0, 0, 0, path, asked->sandbox_path);
}

/* Mount points that are in the root itself: it is sealed after them. */
static void
emit_mount_points (const PrismNativeAsked *asked, PrismNativeSteps *steps, const GArray *views, GPtrArray *actions)
{
  if (asked->workspace.path == NULL && !is_in_own (asked->sandbox_path))
    prism_native_step (steps, PRISM_LAUNCH_FOLDER, PRISM_LAUNCH_PARENTS, 0755, 0, 0, asked->sandbox_path, NULL);
  for (guint i = 0; i < actions->len; i++)
    {
      const Action *action = actions->pdata[i];
      const View *view;
      if (action->kind != ACTION_SHOW || is_in_own (action->inside))
        continue;
      view = find_view (views, action->inside);
      if (view == NULL || strcmp (view->inside, action->inside) == 0)
        prism_native_step (steps, action->what == PRISM_NATIVE_KIND_FOLDER ? PRISM_LAUNCH_FOLDER : PRISM_LAUNCH_FILE,
                           PRISM_LAUNCH_PARENTS, 0755, 0, 0, action->inside, NULL);
    }
}

/* What is the same for all but for what is shown in it. */
static void
emit_places (const PrismNativeAsked *asked, PrismNativeSteps *steps, const GArray *views, GPtrArray *actions)
{
  emit_workspace_name (asked, steps, views, TRUE);
  emit_mount_points (asked, steps, views, actions);
  prism_native_step (steps, PRISM_LAUNCH_SEAL, 0, 0, 0, 0, "", NULL);
}

static gboolean
emit_all (const PrismNativeAsked *asked, PrismNativePlanPart part, PrismNativeSteps *steps, GError **error)
{
  g_autoptr (GPtrArray) actions = g_ptr_array_new_with_free_func (action_free);
  g_autoptr (GPtrArray) open = g_ptr_array_new ();
  g_autoptr (GArray) views = NULL;
  Emitter emitter = { asked, steps, actions, open, NULL };

  add_shown (asked, actions);
  views = collect_views (asked, actions);
  add_mount_pins (actions, views, is_host_tree (asked));
  add_rules (actions, views, ACTION_HIDE, asked->hide, asked->n_hide);
  add_rules (actions, views, ACTION_PROTECT, asked->protect, asked->n_protect);
  g_ptr_array_sort (actions, compare_actions);
  if (is_host_tree (asked))
    /* Of its own pids: with the host's, the memory of its processes could be opened. */
    prism_native_step (steps, PRISM_LAUNCH_PROC, 0, 0, 0, 0, "proc", NULL);
  else
    {
      if (part != PRISM_NATIVE_PLAN_USE_TEMPLATE)
        prism_native_write_system (steps, asked->host, hides_piece, asked);
      if (part != PRISM_NATIVE_PLAN_MAKE_TEMPLATE)
        prism_native_write_own (steps, asked->tmp_bytes);
      if (part != PRISM_NATIVE_PLAN_USE_TEMPLATE)
        emit_places (asked, steps, views, actions);
      if (part == PRISM_NATIVE_PLAN_MAKE_TEMPLATE)
        {
          /* The kernel gives a sandbox a /proc only where one is seen already. */
          prism_native_step (steps, PRISM_LAUNCH_PROC, 0, 0, 0, 0, "proc", NULL);
          return TRUE;
        }
      if (asked->workspace.path == NULL)
        prism_native_step (steps, PRISM_LAUNCH_TMPFS, PRISM_LAUNCH_PARENTS, 0755, asked->workspace_bytes,
                           CLAMP (asked->workspace_bytes / 4096, 16384, 2097152), asked->sandbox_path, NULL);
    }
  for (guint i = 0; i < actions->len; i++)
    if (!emit_action (&emitter, i, error))
      return FALSE;
  close_covers (&emitter, NULL);
  emit_workspace_name (asked, steps, views, FALSE);
  return TRUE;
}

/* --- the whole -------------------------------------------------------------- */

static gboolean
check_destination (const PrismNativeAsked *asked, const char *path, GError **error)
{
  static const char *const own[] = { "/proc", "/dev", "/etc", "/usr", "/bin", "/sbin", "/lib", "/lib64" };

  if (is_host_tree (asked))
    return TRUE;
  for (guint i = 0; i < G_N_ELEMENTS (own); i++)
    {
      gboolean within = (i < 2 && rest_below (path, own[i]) != NULL);
      if (within || rest_below (own[i], path) != NULL)
        {
          g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_INVALID,
                       "native: nothing can be shown at %s, the sandbox has its own %s; name another place inside",
                       path, own[i]);
          return FALSE;
        }
    }
  return TRUE;
}

static gboolean
check_asked (const PrismNativeAsked *asked, GError **error)
{
  if (!is_host_tree (asked))
    {
      if (!check_destination (asked, asked->sandbox_path, error))
        return FALSE;
      for (guint i = 0; i < asked->n_mounts; i++)
        if (!check_destination (asked, asked->mounts[i].destination, error))
          return FALSE;
      return TRUE;
    }
  if (asked->workspace_mode == PRISM_WORKSPACE_MODE_COPY)
    {
      g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_REFUSED,
                   "native: isolation=network-only shows the host's own tree and cannot put a copy of the workspace in "
                   "it; use isolation=confined");
      return FALSE;
    }
  for (guint i = 0; i < asked->n_mounts; i++)
    if (strcmp (asked->mounts[i].source.path, asked->mounts[i].destination) != 0)
      {
        g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_REFUSED,
                     "native: isolation=network-only shows the host's own tree; %s cannot be shown at %s there; use "
                     "isolation=confined",
                     asked->mounts[i].source.path, asked->mounts[i].destination);
        return FALSE;
      }
  return TRUE;
}

static guint32
flags_of (const PrismNativeAsked *asked, PrismNativePlanPart part)
{
  gboolean no_unix = is_host_tree (asked) && asked->unix_sockets == PRISM_NATIVE_UNIX_SOCKETS_DENY;

  return (is_host_tree (asked) ? PRISM_LAUNCH_HOST_TREE : 0)
         | (asked->netns == PRISM_NATIVE_NETNS_COMMAND ? PRISM_LAUNCH_NETNS_COMMAND : 0)
         | (no_unix ? PRISM_LAUNCH_NO_UNIX : 0) | (asked->framed ? PRISM_LAUNCH_FRAMED : 0)
         | (asked->detached ? PRISM_LAUNCH_DETACHED : 0) | asked->off_switches
         | (part == PRISM_NATIVE_PLAN_MAKE_TEMPLATE ? PRISM_LAUNCH_MAKE_TEMPLATE : 0)
         | (part == PRISM_NATIVE_PLAN_USE_TEMPLATE ? PRISM_LAUNCH_USE_TEMPLATE : 0);
}

static void
write_head (const PrismNativeAsked *asked, PrismNativePlanPart part, struct prism_wire_writer *w)
{
  gboolean make = part == PRISM_NATIVE_PLAN_MAKE_TEMPLATE;
  const char *start = asked->sandbox_path;
  guint n_groups = make ? 0 : asked->n_groups;

  if (is_host_tree (asked))
    start = asked->workspace.path != NULL ? asked->workspace.path : "/";
  prism_native_write_head (w, asked->host,
                           &(const PrismNativeHead){ .flags = flags_of (asked, part),
                                                     .processes = make ? 0 : asked->processes,
                                                     .data_bytes = make ? 0 : asked->data_bytes,
                                                     .hostname = asked->hostname,
                                                     .start = make ? "/" : start });
  prism_wire_put (w, n_groups, 4);
  for (guint i = 0; i < n_groups; i++)
    {
      const PrismNativeGroup *group = &asked->groups[i];
      prism_wire_put_str (w, group->folder);
      prism_wire_put_str (w, group->entry);
      prism_wire_put (w, group->n_settings, 4);
      for (guint k = 0; k < group->n_settings; k++)
        {
          prism_wire_put_str (w, group->settings[k].file);
          prism_wire_put_str (w, group->settings[k].value);
          prism_wire_put (w, group->settings[k].optional ? PRISM_LAUNCH_SETTING_OPTIONAL : 0, 4);
        }
    }
}

gboolean
prism_native_plan_can_begin_early (const PrismNativeAsked *asked)
{
  return !is_host_tree (asked) && asked->off_switches == 0 && !asked->detached;
}

gboolean
prism_native_plan_can_use_template (const PrismNativeAsked *asked)
{
  return asked->host->root && !is_host_tree (asked) && asked->netns == PRISM_NATIVE_NETNS_SANDBOX
         && asked->off_switches == 0 && !asked->detached;
}

/* Its size; 0 without an error: it did not fit. */
static gsize
write_plan (const PrismNativeAsked *asked,
            PrismNativePlanPart part,
            const PrismNativeEarlySteps *early,
            PrismNativeSteps *steps,
            GError **error)
{
  const PrismNativeHead head = { .flags = flags_of (asked, part), .hostname = asked->hostname };
  struct prism_wire_writer count;
  gsize at, size;

  write_head (asked, part, &steps->writer);
  count = steps->writer;
  at = (gsize)(count.at - count.start);
  prism_wire_put (&steps->writer, 0, 4);
  if (!emit_all (asked, part, steps, error))
    return 0;
  prism_wire_put (&count, steps->n, 4);
  if (steps->writer.bad || steps->n > PRISM_LAUNCH_MAX_STEPS)
    return 0;
  size = (gsize)(steps->writer.at - steps->writer.start);
  return early != NULL ? prism_native_take_rest (steps->writer.start, size, at, &head, early) : size;
}

GBytes *
prism_native_plan_write (const PrismNativeAsked *asked, PrismNativePlanPart part, GError **error)
{
  return prism_native_plan_write_after (asked, part, NULL, error);
}

GBytes *
prism_native_plan_write_after (const PrismNativeAsked *asked,
                               PrismNativePlanPart part,
                               const PrismNativeEarlySteps *early,
                               GError **error)
{
  g_autoptr (GError) failure = NULL;

  if (!check_asked (asked, error))
    return NULL;
  /* Nearly every plan fits the first. */
  for (gsize size = PRISM_LAUNCH_MAX_PLAN / 32; size <= PRISM_LAUNCH_MAX_PLAN; size *= 32)
    {
      g_autofree guint8 *bytes = g_malloc (size);
      PrismNativeSteps steps = { prism_wire_write_to (bytes, size), 0 };
      gsize written = write_plan (asked, part, early, &steps, &failure);
      if (written > 0)
        return g_bytes_new_take (g_steal_pointer (&bytes), written);
      if (failure != NULL)
        {
          g_propagate_error (error, g_steal_pointer (&failure));
          return NULL;
        }
    }
  g_set_error_literal (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_LIMIT,
                       "native: this is more than one sandbox can be told to show, hide and protect");
  return NULL;
}

GBytes *
prism_native_plan_write_early (const PrismNativeAsked *asked,
                               const PrismNativeCgroup *cgroup,
                               const char *id,
                               PrismNativeEarlySteps *steps)
{
  const PrismNativeEarly early = { flags_of (asked, PRISM_NATIVE_PLAN_WHOLE), asked->hostname, asked->tmp_bytes };
  g_autofree guint8 *bytes = g_malloc (PRISM_LAUNCH_MAX_REQUEST);
  gsize size = prism_native_write_early_plan (bytes, PRISM_LAUNCH_MAX_REQUEST, &early, asked->host, cgroup, id, steps);

  return size > 0 ? g_bytes_new_take (g_steal_pointer (&bytes), size) : NULL;
}
