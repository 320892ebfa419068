/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds where a control group can be made: below this process's own v1 group; in a
 * v2 hierarchy, where a group with processes has no controllers to hand on, in the
 * nearest ancestor that hands them on. Looked up once. */
#include "prism-native-cgroup.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "prism-native-begin.h"

static const char *const names[] = { "memory", "pids", "cpu" };

const char *
prism_native_controller_get_name (PrismNativeController controller)
{
  return names[controller];
}

/* A part of a text: nothing is copied to be looked at. */
typedef struct
{
  const char *at;
  gsize length;
} Part;

/* What comes before the next @separator, which is taken off; FALSE at the end. */
static gboolean
next_part (Part *rest, char separator, Part *part)
{
  const char *found;

  if (rest->at == NULL)
    return FALSE;
  found = memchr (rest->at, separator, rest->length);
  *part = (Part){ rest->at, found != NULL ? (gsize)(found - rest->at) : rest->length };
  *rest = found != NULL ? (Part){ found + 1, rest->length - part->length - 1 } : (Part){ NULL, 0 };
  return TRUE;
}

static gboolean
is_word (Part part, const char *word)
{
  while (part.length > 0 && g_ascii_isspace (part.at[part.length - 1]))
    part.length--;
  return part.length == strlen (word) && memcmp (part.at, word, part.length) == 0;
}

static gboolean
has_word (Part list, const char *word, char separator)
{
  Part part;

  while (next_part (&list, separator, &part))
    if (is_word (part, word))
      return TRUE;
  return FALSE;
}

/* Octal escapes of mountinfo: space, tab, newline, backslash. */
static char *
unescape (Part part)
{
  g_autofree char *text = g_strndup (part.at, part.length);
  return g_strcompress (text);
}

/* A line ID PARENT DEVICE ROOT POINT OPTIONS... - TYPE SOURCE OPTIONS. */
static gboolean
is_mount_of (Part line, const char *controller, Part *root, Part *point)
{
  Part part, type;

  for (guint i = 0; i < 6; i++)
    if (!next_part (&line, ' ', i == 3 ? root : i == 4 ? point : &part))
      return FALSE;
  do
    if (!next_part (&line, ' ', &part))
      return FALSE;
  while (!is_word (part, "-"));
  if (!next_part (&line, ' ', &type) || !next_part (&line, ' ', &part))
    return FALSE;
  return controller == NULL ? is_word (type, "cgroup2") : is_word (type, "cgroup") && has_word (line, controller, ',');
}

/* The mount of one hierarchy: where it is, and which of its folders is there. */
static gboolean
find_mount (const char *mountinfo, const char *controller, char **point, char **root)
{
  Part rest = { mountinfo, strlen (mountinfo) }, line, at_root, at_point;

  while (next_part (&rest, '\n', &line))
    if (is_mount_of (line, controller, &at_root, &at_point))
      {
        *root = unescape (at_root);
        *point = unescape (at_point);
        return TRUE;
      }
  return FALSE;
}

/* The path of this process in one hierarchy, a line ID:CONTROLLERS:PATH. */
static char *
find_path (const char *cgroup, const char *controller)
{
  Part rest = { cgroup, strlen (cgroup) }, line, id, controllers;

  while (next_part (&rest, '\n', &line))
    if (next_part (&line, ':', &id) && next_part (&line, ':', &controllers) && line.at != NULL
        && (controller == NULL ? controllers.length == 0 && is_word (id, "0")
                               : has_word (controllers, controller, ',')))
      return g_strndup (line.at, line.length);
  return NULL;
}

char *
prism_native_cgroup_find_own (const char *mountinfo, const char *cgroup, const char *controller, char **mount_point)
{
  g_autofree char *point = NULL, *root = NULL, *path = find_path (cgroup, controller);
  const char *rest;
  char *own;

  if (path == NULL || !find_mount (mountinfo, controller, &point, &root))
    return NULL;
  /* Mounted is a part of the hierarchy, in containers; what lies above is not seen. */
  rest = path;
  if (strcmp (root, "/") != 0)
    {
      gsize n = strlen (root);
      if (strncmp (path, root, n) != 0 || (path[n] != 0 && path[n] != '/'))
        return NULL;
      rest = path + n;
    }
  own = g_strconcat (point, strcmp (rest, "/") == 0 ? "" : rest, NULL);
  if (mount_point != NULL)
    *mount_point = g_steal_pointer (&point);
  return own;
}

static gboolean
hands_on (const char *folder, const char *controller)
{
  g_autofree char *file = g_build_filename (folder, "cgroup.subtree_control", NULL), *text = NULL;
  return g_file_get_contents (file, &text, NULL, NULL) && has_word ((Part){ text, strlen (text) }, controller, ' ');
}

/* The root of the hierarchy may have processes and children with controllers: as
 * root they are handed on there if no other place does. */
static gboolean
make_hand_on (const char *folder, const char *controller)
{
  g_autofree char *file = g_build_filename (folder, "cgroup.subtree_control", NULL);
  g_autofree char *word = g_strconcat ("+", controller, NULL);
  FILE *out = fopen (file, "we");
  gboolean done = out != NULL && fputs (word, out) >= 0;

  if (out != NULL)
    done = fclose (out) == 0 && done;
  return done && hands_on (folder, controller);
}

static guint
count_handed_on (const char *folder, const gboolean *wanted)
{
  guint count = 0;

  if (access (folder, W_OK) == 0)
    for (guint i = 0; i < PRISM_NATIVE_N_CONTROLLERS; i++)
      count += wanted[i] && hands_on (folder, names[i]);
  return count;
}

/* A process is in one group of the v2 hierarchy, whatever the controllers: so one folder
 * has to do for all of them. The nearest ancestor that hands the most of them on; the
 * group of this process itself has processes, and so hands none on. */
static char *
find_unified (const char *mountinfo, const char *cgroup, const gboolean *wanted)
{
  g_autofree char *top = NULL, *best = NULL;
  g_autofree char *folder = prism_native_cgroup_find_own (mountinfo, cgroup, NULL, &top);
  guint most = 0;

  while (folder != NULL && strlen (folder) > strlen (top))
    {
      char *parent = g_path_get_dirname (folder);
      guint count = count_handed_on (parent, wanted);
      g_free (folder);
      folder = parent;
      if (count <= most)
        continue;
      most = count;
      g_free (best);
      best = g_strdup (folder);
    }
  if (best != NULL || folder == NULL || access (folder, W_OK) != 0)
    return g_steal_pointer (&best);
  /* The root of the hierarchy itself. */
  for (guint i = 0; i < PRISM_NATIVE_N_CONTROLLERS; i++)
    if (wanted[i] && (hands_on (folder, names[i]) || make_hand_on (folder, names[i])))
      most++;
  return most > 0 ? g_steal_pointer (&folder) : NULL;
}

/* In a v1 hierarchy: this process's own group, where it may make others in it. */
static char *
find_first (const char *mountinfo, const char *cgroup, const char *controller)
{
  g_autofree char *own = prism_native_cgroup_find_own (mountinfo, cgroup, controller, NULL);
  return own != NULL && access (own, W_OK) == 0 ? g_steal_pointer (&own) : NULL;
}

/* What was read before is as good: this process stays where it is. */
static gboolean
read_texts (char **mountinfo, char **cgroup)
{
  const PrismNativeHost *begun = prism_native_begun_host ();

  if (begun != NULL && begun->mounts != NULL && begun->groups != NULL)
    {
      *mountinfo = g_strdup (begun->mounts);
      *cgroup = g_strdup (begun->groups);
      return TRUE;
    }
  return g_file_get_contents ("/proc/self/mountinfo", mountinfo, NULL, NULL)
         && g_file_get_contents ("/proc/self/cgroup", cgroup, NULL, NULL);
}

static gpointer
look_up (gpointer data)
{
  PrismNativeCgroup *self = g_new0 (PrismNativeCgroup, 1);
  g_autofree char *mountinfo = NULL, *cgroup = NULL, *unified = NULL;
  gboolean wanted[PRISM_NATIVE_N_CONTROLLERS], missing = FALSE;

  self->why_not = geteuid () == 0 ? "no writable cgroup hierarchy has this controller"
                                  : "an ordinary user has no control groups here; systemd-run --user --scope -p "
                                    "Delegate=yes gives some";
  if (!read_texts (&mountinfo, &cgroup))
    return self;
  for (guint i = 0; i < PRISM_NATIVE_N_CONTROLLERS; i++)
    {
      self->parents[i] = find_first (mountinfo, cgroup, names[i]);
      wanted[i] = self->parents[i] == NULL;
      missing |= wanted[i];
    }
  self->freezer = find_first (mountinfo, cgroup, "freezer");
  unified = missing ? find_unified (mountinfo, cgroup, wanted) : NULL;
  for (guint i = 0; i < PRISM_NATIVE_N_CONTROLLERS && unified != NULL; i++)
    if (wanted[i] && hands_on (unified, names[i]))
      {
        self->parents[i] = g_strdup (unified);
        self->unified[i] = TRUE;
      }
  return self;
}

const PrismNativeCgroup *
prism_native_cgroup_get (void)
{
  static GOnce once = G_ONCE_INIT;
  return g_once (&once, look_up, NULL);
}

void
prism_native_cgroup_thaw (const char *folder)
{
  g_autofree char *file = g_build_filename (folder, "freezer.state", NULL);
  int fd = open (file, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);

  if (fd < 0)
    return;
  (void)!write (fd, "THAWED", 6);
  close (fd);
}

gint64
prism_native_cgroup_parse_memory_kills (const char *text)
{
  g_auto (GStrv) lines = g_strsplit (text, "\n", 0);

  for (gsize i = 0; lines[i] != NULL; i++)
    if (g_str_has_prefix (lines[i], "oom_kill "))
      return g_ascii_strtoll (lines[i] + strlen ("oom_kill "), NULL, 10);
  return -1;
}

gint64
prism_native_cgroup_count_memory_kills (const char *folder)
{
  static const char *const files[] = { "memory.events", "memory.oom_control" };
  static gint there; /* that was found last: each end of a sandbox asks */
  gint first = g_atomic_int_get (&there);

  for (gint i = 0; i < (gint)G_N_ELEMENTS (files); i++)
    {
      gint at = (first + i) % (gint)G_N_ELEMENTS (files);
      g_autofree char *path = g_strconcat (folder, "/", files[at], NULL);
      char text[4096];
      int fd = open (path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
      ssize_t n = fd < 0 ? -1 : read (fd, text, sizeof text - 1);
      if (fd >= 0)
        close (fd);
      if (n < 0)
        continue;
      text[n] = '\0';
      g_atomic_int_set (&there, at);
      return prism_native_cgroup_parse_memory_kills (text);
    }
  return -1;
}
