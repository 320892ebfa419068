/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a confined sandbox shows of this machine's system: looked up once. Nothing
 * of a user's and no secret is on the list; small texts are taken over as they are,
 * so that they cost no mount. */
#include "prism-native-host.h"

#include "prism-native-begin.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SMALL       8192
#define MOST_PIECES 128u
/* For the most that the list can come to, so that all of it is taken over. */
#define ROOM (256 * 1024)

#define N_ELEMENTS(array) (sizeof (array) / sizeof *(array))

static const char *const top_folders[] = { "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt" };

static const char *const etc_names[] = {
  "alternatives",
  "ca-certificates",
  "ca-certificates.conf",
  "crypto-policies",
  "debian_version",
  "fonts",
  "gai.conf",
  "host.conf",
  "ld.so.cache",
  "ld.so.conf",
  "ld.so.conf.d",
  "localtime",
  "locale.alias",
  "magic",
  "mime.types",
  "os-release",
  "pki",
  "protocols",
  "python3",
  "services",
  "ssl",
  "timezone",
};

typedef struct
{
  PrismNativeHost host;
  PrismNativePiece pieces[MOST_PIECES];
  size_t used;
  char room[ROOM];
} Look;

static Look own;
static const PrismNativeHost *found;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* NULL where there is no room. */
static const char *
keep (Look *look, const char *text, size_t length)
{
  char *kept = look->room + look->used;

  if (length >= sizeof look->room - look->used)
    return NULL;
  memcpy (kept, text, length);
  kept[length] = 0;
  look->used += length + 1;
  return kept;
}

/* @text may be NULL. What there is no room for is left out: false. */
static bool
add_piece (Look *look, PrismNativePieceKind kind, const char *path, const char *text, size_t length)
{
  PrismNativePiece piece = { .kind = kind, .path = keep (look, path, strlen (path)) };

  if (text != NULL)
    piece.text = keep (look, text, length);
  if (look->host.n_pieces == MOST_PIECES || piece.path == NULL || (text != NULL && piece.text == NULL))
    return false;
  look->pieces[look->host.n_pieces++] = piece;
  return true;
}

static void
add_link (Look *look, const char *path)
{
  char text[PATH_MAX];
  ssize_t length = readlink (path, text, sizeof text);

  if (length > 0 && (size_t)length < sizeof text)
    add_piece (look, PRISM_NATIVE_PIECE_LINK, path, text, (size_t)length);
}

/* All of it into @text, or -1: it cannot be read, or has grown. */
static ssize_t
read_small (const char *path, char text[SMALL + 1])
{
  int fd = open (path, O_RDONLY | O_CLOEXEC);
  size_t length = 0;
  ssize_t n = fd < 0 ? -1 : 1;

  while (n != 0 && fd >= 0 && length <= SMALL)
    {
      n = read (fd, text + length, SMALL + 1 - length);
      if (n < 0 && errno != EINTR)
        break;
      length += n > 0 ? (size_t)n : 0;
    }
  if (fd >= 0)
    close (fd);
  return n != 0 || length > SMALL ? -1 : (ssize_t)length;
}

static void
add_file (Look *look, const char *path, off_t size)
{
  char text[SMALL + 1];
  ssize_t length = size <= SMALL ? read_small (path, text) : -1;

  if (length >= 0 && memchr (text, 0, (size_t)length) == NULL
      && add_piece (look, PRISM_NATIVE_PIECE_CONTENT, path, text, (size_t)length))
    return;
  if (access (path, R_OK) == 0)
    add_piece (look, PRISM_NATIVE_PIECE_SHOWN_FILE, path, NULL, 0);
}

static void
add_path (Look *look, const char *path)
{
  struct stat info;

  if (lstat (path, &info) < 0)
    return;
  if (S_ISLNK (info.st_mode))
    add_link (look, path);
  else if (S_ISDIR (info.st_mode))
    add_piece (look, PRISM_NATIVE_PIECE_SHOWN, path, NULL, 0);
  else if (S_ISREG (info.st_mode))
    add_file (look, path, info.st_size);
}

static void
add_in_etc (Look *look, const char *name)
{
  char path[sizeof "/etc/" + NAME_MAX];

  if (snprintf (path, sizeof path, "/etc/%s", name) < (int)sizeof path)
    add_path (look, path);
}

static bool
is_known (const Look *look, const char *path)
{
  for (size_t i = 0; i < look->host.n_pieces; i++)
    if (strcmp (look->pieces[i].path, path) == 0)
      return true;
  return false;
}

/* The folder of /etc that @path is in or is, if it is one of Java's. */
static void
add_java_folder (Look *look, const char *path)
{
  size_t n = strlen ("/etc/");
  char folder[sizeof "/etc/" + NAME_MAX];
  struct stat info;

  if (strncmp (path, "/etc/java", strlen ("/etc/java")) != 0)
    return;
  n += strcspn (path + n, "/");
  if (snprintf (folder, sizeof folder, "%.*s", (int)n, path) < (int)sizeof folder && !is_known (look, folder)
      && lstat (folder, &info) == 0 && S_ISDIR (info.st_mode))
    add_piece (look, PRISM_NATIVE_PIECE_SHOWN, folder, NULL, 0);
}

/* One of those that are installed. */
static void
add_one_java (Look *look, int jvm, const char *name)
{
  static const char *const settings[] = { "conf", "conf/logging.properties", "jre/lib/logging.properties" };
  char path[PATH_MAX], text[PATH_MAX];

  for (size_t i = 0; i < N_ELEMENTS (settings); i++)
    {
      int n = snprintf (path, sizeof path, "%s/%s", name, settings[i]);
      ssize_t length = n < (int)sizeof path ? readlinkat (jvm, path, text, sizeof text - 1) : -1;
      if (length < 0)
        continue;
      text[length] = 0;
      add_java_folder (look, text);
      return;
    }
}

/* Java cannot start without its settings, which distributions keep in /etc, in folders with
 * its version in their names, and lead to from where it is. To read what is there of Java takes
 * a tenth of what it takes to read all of /etc. */
static void
add_java (Look *look)
{
  _Alignas(struct dirent64) char names[SMALL];
  int jvm = open ("/usr/lib/jvm", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ssize_t n;

  while (jvm >= 0 && (n = getdents64 (jvm, names, sizeof names)) > 0)
    for (ssize_t at = 0; at < n;)
      {
        const struct dirent64 *entry = (const void *)(names + at);
        if (entry->d_name[0] != '.')
          add_one_java (look, jvm, entry->d_name);
        at += entry->d_reclen;
      }
  if (jvm >= 0)
    close (jvm);
}

static void
look_up (Look *look)
{
  look->host.root = geteuid () == 0;
  look->host.uid = look->host.root ? PRISM_NATIVE_ROOT_MAPS_TO : geteuid ();
  look->host.gid = look->host.root ? PRISM_NATIVE_ROOT_MAPS_TO : getegid ();
  look->host.pieces = look->pieces;
  for (size_t i = 0; i < N_ELEMENTS (top_folders); i++)
    add_path (look, top_folders[i]);
  for (size_t i = 0; i < N_ELEMENTS (etc_names); i++)
    add_in_etc (look, etc_names[i]);
  add_java (look);
}

static void
find (void)
{
  found = prism_native_begun_host ();
  if (found == NULL)
    {
      look_up (&own);
      found = &own.host;
    }
}

const PrismNativeHost *
prism_native_host_get (void)
{
  pthread_once (&once, find);
  return found;
}

bool
prism_native_host_is_callers (const PrismNativeHost *self)
{
  uid_t caller = geteuid ();

  return self->root ? caller == 0 : caller == self->uid && getegid () == self->gid;
}

const PrismNativeHost *
prism_native_host_look_up (void)
{
  look_up (&own);
  return &own.host;
}
