/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds where a control group can be made: below this process's own v1 group; in a
 * v2 hierarchy, where a group with processes has no controllers to hand on, in the
 * nearest ancestor that hands them on. Looked up once. */
#include "prism-native-cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
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
  size_t length;
} Part;

static bool
is_space (char byte)
{
  return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

/* What comes before the next @separator, which is taken off; false at the end. */
static bool
next_part (Part *rest, char separator, Part *part)
{
  const char *found;

  if (rest->at == NULL)
    return false;
  found = memchr (rest->at, separator, rest->length);
  *part = (Part){ rest->at, found != NULL ? (size_t)(found - rest->at) : rest->length };
  *rest = found != NULL ? (Part){ found + 1, rest->length - part->length - 1 } : (Part){ NULL, 0 };
  return true;
}

static bool
is_word (Part part, const char *word)
{
  while (part.length > 0 && is_space (part.at[part.length - 1]))
    part.length--;
  return part.length == strlen (word) && memcmp (part.at, word, part.length) == 0;
}

static bool
has_word (Part list, const char *word, char separator)
{
  Part part;

  while (next_part (&list, separator, &part))
    if (is_word (part, word))
      return true;
  return false;
}

static bool
is_octal (const char *digits, size_t left)
{
  return left >= 3 && digits[0] >= '0' && digits[0] <= '3' && digits[1] >= '0' && digits[1] <= '7' && digits[2] >= '0'
         && digits[2] <= '7';
}

/* Octal escapes of mountinfo: space, tab, newline, backslash. False where it does not fit. */
static bool
unescape (Part part, char text[PATH_MAX])
{
  size_t n = 0;

  if (part.length >= PATH_MAX)
    return false;
  for (size_t i = 0; i < part.length;)
    if (part.at[i] == '\\' && is_octal (part.at + i + 1, part.length - i - 1))
      {
        text[n++] = (char)((part.at[i + 1] - '0') * 64 + (part.at[i + 2] - '0') * 8 + (part.at[i + 3] - '0'));
        i += 4;
      }
    else
      text[n++] = part.at[i++];
  text[n] = '\0';
  return true;
}

/* A line ID PARENT DEVICE ROOT POINT OPTIONS... - TYPE SOURCE OPTIONS. */
static bool
is_mount_of (Part line, const char *controller, Part *root, Part *point)
{
  Part part, type;

  for (unsigned i = 0; i < 6; i++)
    if (!next_part (&line, ' ', i == 3 ? root : i == 4 ? point : &part))
      return false;
  do
    if (!next_part (&line, ' ', &part))
      return false;
  while (!is_word (part, "-"));
  if (!next_part (&line, ' ', &type) || !next_part (&line, ' ', &part))
    return false;
  return controller == NULL ? is_word (type, "cgroup2") : is_word (type, "cgroup") && has_word (line, controller, ',');
}

/* The mount of one hierarchy: where it is, and which of its folders is there. */
static bool
find_mount (const char *mountinfo, const char *controller, char point[PATH_MAX], char root[PATH_MAX])
{
  Part rest = { mountinfo, strlen (mountinfo) }, line, at_root, at_point;

  while (next_part (&rest, '\n', &line))
    if (is_mount_of (line, controller, &at_root, &at_point))
      return unescape (at_root, root) && unescape (at_point, point);
  return false;
}

/* The path of this process in one hierarchy, a line ID:CONTROLLERS:PATH. */
static bool
find_path (const char *cgroup, const char *controller, char path[PATH_MAX])
{
  Part rest = { cgroup, strlen (cgroup) }, line, id, controllers;

  while (next_part (&rest, '\n', &line))
    if (next_part (&line, ':', &id) && next_part (&line, ':', &controllers) && line.at != NULL
        && (controller == NULL ? controllers.length == 0 && is_word (id, "0")
                               : has_word (controllers, controller, ',')))
      return snprintf (path, PATH_MAX, "%.*s", (int)(line.length < PATH_MAX ? line.length : PATH_MAX), line.at)
             < PATH_MAX;
  return false;
}

bool
prism_native_cgroup_find_own (
    const char *mountinfo, const char *cgroup, const char *controller, char own[PATH_MAX], char mount_point[PATH_MAX])
{
  char root[PATH_MAX], path[PATH_MAX];
  const char *rest = path;

  if (!find_path (cgroup, controller, path) || !find_mount (mountinfo, controller, mount_point, root))
    return false;
  /* Mounted is a part of the hierarchy, in containers; what lies above is not seen. */
  if (strcmp (root, "/") != 0)
    {
      size_t n = strlen (root);
      if (strncmp (path, root, n) != 0 || (path[n] != 0 && path[n] != '/'))
        return false;
      rest = path + n;
    }
  return snprintf (own, PATH_MAX, "%s%s", mount_point, strcmp (rest, "/") == 0 ? "" : rest) < PATH_MAX;
}

/* --- the machine ------------------------------------------------------------------ */

/* What a file of the kernel's comes to, most often; and at all. */
#define USUAL_TEXT ((size_t)32 * 1024)
#define MOST_TEXT  ((size_t)16 * 1024 * 1024)

/* Without a heap, which in a thread would be one of its own. */
typedef struct
{
  char usual[USUAL_TEXT];
  char *at;
  size_t size;
} Text;

static bool
grow (Text *text)
{
  char *old = text->at;
  char *room = text->size < MOST_TEXT
                   ? mmap (NULL, 2 * text->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                   : MAP_FAILED;

  if (room == MAP_FAILED)
    return false;
  memcpy (room, old, text->size);
  if (old != text->usual)
    munmap (old, text->size);
  text->at = room;
  text->size *= 2;
  return true;
}

static void
forget (Text *text)
{
  if (text->at != text->usual)
    munmap (text->at, text->size);
}

/* All of a file, or nothing. forget() it in any case. */
static bool
read_file (const char *path, Text *text)
{
  int fd = open (path, O_RDONLY | O_CLOEXEC);
  size_t length = 0;
  ssize_t n = fd < 0 ? -1 : 1;

  text->at = text->usual;
  text->size = USUAL_TEXT;
  while (n > 0 || (n < 0 && fd >= 0 && errno == EINTR))
    {
      if (length + 1 == text->size && !grow (text))
        break;
      n = read (fd, text->at + length, text->size - length - 1);
      length += n > 0 ? (size_t)n : 0;
    }
  if (fd >= 0)
    close (fd);
  text->at[length] = '\0';
  return n == 0;
}

static bool
join (char path[PATH_MAX], const char *folder, const char *leaf)
{
  return snprintf (path, PATH_MAX, "%s/%s", folder, leaf) < PATH_MAX;
}

static bool
hands_on (const char *folder, const char *controller)
{
  static Text text;
  char path[PATH_MAX];
  bool found;

  if (!join (path, folder, "cgroup.subtree_control"))
    return false;
  found = read_file (path, &text) && has_word ((Part){ text.at, strlen (text.at) }, controller, ' ');
  forget (&text);
  return found;
}

/* The root of the hierarchy may have processes and children with controllers: as
 * root they are handed on there if no other place does. */
static bool
make_hand_on (const char *folder, const char *controller)
{
  char path[PATH_MAX], word[32];
  int fd = join (path, folder, "cgroup.subtree_control") ? open (path, O_WRONLY | O_CLOEXEC) : -1;
  int length = snprintf (word, sizeof word, "+%s", controller);
  bool done = fd >= 0 && write (fd, word, (size_t)length) == length;

  if (fd >= 0)
    close (fd);
  return done && hands_on (folder, controller);
}

static unsigned
count_handed_on (const char *folder, const bool *wanted)
{
  unsigned count = 0;

  if (access (folder, W_OK) == 0)
    for (unsigned i = 0; i < PRISM_NATIVE_N_CONTROLLERS; i++)
      count += wanted[i] && hands_on (folder, names[i]);
  return count;
}

/* A process is in one group of the v2 hierarchy, whatever the controllers: so one folder
 * has to do for all of them. The nearest ancestor that hands the most of them on; the
 * group of this process itself has processes, and so hands none on. */
static bool
find_unified (const char *mountinfo, const char *cgroup, const bool *wanted, char best[PATH_MAX])
{
  char top[PATH_MAX], folder[PATH_MAX];
  unsigned most = 0;

  if (!prism_native_cgroup_find_own (mountinfo, cgroup, NULL, folder, top))
    return false;
  while (strlen (folder) > strlen (top) && strchr (folder, '/') != NULL)
    {
      unsigned count;
      *strrchr (folder, '/') = '\0';
      if ((count = count_handed_on (folder, wanted)) <= most)
        continue;
      most = count;
      strcpy (best, folder);
    }
  if (most > 0 || access (folder, W_OK) != 0)
    return most > 0;
  /* The root of the hierarchy itself. */
  for (unsigned i = 0; i < PRISM_NATIVE_N_CONTROLLERS; i++)
    if (wanted[i] && (hands_on (folder, names[i]) || make_hand_on (folder, names[i])))
      most++;
  strcpy (best, folder);
  return most > 0;
}

static struct
{
  PrismNativeCgroup cgroup;
  Text mountinfo, groups;
  char parents[PRISM_NATIVE_N_CONTROLLERS][PATH_MAX], unified[PATH_MAX], freezer[PATH_MAX];
} own;
static const PrismNativeCgroup *found;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* In a v1 hierarchy: this process's own group, where it may make others in it. NULL where
 * there is none. */
static const char *
find_first (const char *controller, char folder[PATH_MAX])
{
  char point[PATH_MAX];

  return prism_native_cgroup_find_own (own.mountinfo.at, own.groups.at, controller, folder, point)
                 && access (folder, W_OK) == 0
             ? folder
             : NULL;
}

static void
look_up (PrismNativeCgroup *self)
{
  bool wanted[PRISM_NATIVE_N_CONTROLLERS], missing = false;

  for (unsigned i = 0; i < PRISM_NATIVE_N_CONTROLLERS; i++)
    {
      self->parents[i] = find_first (names[i], own.parents[i]);
      wanted[i] = self->parents[i] == NULL;
      missing |= wanted[i];
    }
  self->freezer = find_first ("freezer", own.freezer);
  if (!missing || !find_unified (own.mountinfo.at, own.groups.at, wanted, own.unified))
    return;
  for (unsigned i = 0; i < PRISM_NATIVE_N_CONTROLLERS; i++)
    if (wanted[i] && hands_on (own.unified, names[i]))
      {
        self->parents[i] = own.unified;
        self->unified[i] = true;
      }
}

const PrismNativeCgroup *
prism_native_cgroup_look_up (void)
{
  bool known = read_file ("/proc/self/mountinfo", &own.mountinfo);

  own.cgroup.why_not = geteuid () == 0 ? "no writable cgroup hierarchy has this controller"
                                       : "an ordinary user has no control groups here; systemd-run --user --scope -p "
                                         "Delegate=yes gives some";
  known = read_file ("/proc/self/cgroup", &own.groups) && known;
  if (known)
    look_up (&own.cgroup);
  forget (&own.mountinfo);
  forget (&own.groups);
  return &own.cgroup;
}

/* What was found out before is as good: this process stays where it is. */
static void
find (void)
{
  found = prism_native_begun_cgroup ();
  if (found == NULL)
    found = prism_native_cgroup_look_up ();
}

const PrismNativeCgroup *
prism_native_cgroup_get (void)
{
  pthread_once (&once, find);
  return found;
}

const char *
prism_native_cgroup_get_entry (const PrismNativeCgroup *self, PrismNativeController controller)
{
  return self->unified[controller] ? "cgroup.procs" : "tasks";
}
