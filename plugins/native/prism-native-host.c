/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a confined sandbox shows of this machine's system: looked up once. Nothing
 * of a user's and no secret is on the list; small texts are taken over as they are,
 * so that they cost no mount. */
#include "prism-native-host.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SMALL 8192

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

static void
piece_free (gpointer data)
{
  PrismNativePiece *piece = data;
  g_free (piece->path);
  g_free (piece->text);
  g_free (piece);
}

static void
add_piece (GPtrArray *pieces, PrismNativePieceKind kind, const char *path, char *text)
{
  PrismNativePiece *piece = g_new0 (PrismNativePiece, 1);

  piece->kind = kind;
  piece->path = g_strdup (path);
  piece->text = text;
  g_ptr_array_add (pieces, piece);
}

static void
add_path (GPtrArray *pieces, const char *path)
{
  g_autofree char *text = NULL;
  gsize length = 0;
  struct stat info;

  if (lstat (path, &info) < 0)
    return;
  if (S_ISLNK (info.st_mode))
    {
      text = g_file_read_link (path, NULL);
      if (text != NULL && *text != 0)
        add_piece (pieces, PRISM_NATIVE_PIECE_LINK, path, g_steal_pointer (&text));
    }
  else if (S_ISDIR (info.st_mode))
    add_piece (pieces, PRISM_NATIVE_PIECE_SHOWN, path, NULL);
  else if (S_ISREG (info.st_mode))
    {
      if (info.st_size <= SMALL && g_file_get_contents (path, &text, &length, NULL) && length <= SMALL
          && memchr (text, 0, length) == NULL)
        add_piece (pieces, PRISM_NATIVE_PIECE_CONTENT, path, g_steal_pointer (&text));
      else if (access (path, R_OK) == 0)
        add_piece (pieces, PRISM_NATIVE_PIECE_SHOWN_FILE, path, NULL);
    }
}

/* Java keeps what it cannot start without under a name with its version in it. All
 * of /etc is read for it only where there is a Java. */
static void
add_java (GPtrArray *pieces)
{
  g_autoptr (GDir) etc = access ("/usr/lib/jvm", F_OK) == 0 ? g_dir_open ("/etc", 0, NULL) : NULL;
  const char *name;

  while (etc != NULL && (name = g_dir_read_name (etc)) != NULL)
    if (g_str_has_prefix (name, "java-"))
      {
        g_autofree char *path = g_build_filename ("/etc", name, NULL);
        add_path (pieces, path);
      }
}

static gpointer
look_up (gpointer data)
{
  PrismNativeHost *host = g_new0 (PrismNativeHost, 1);

  host->root = geteuid () == 0;
  host->uid = host->root ? PRISM_NATIVE_ROOT_MAPS_TO : geteuid ();
  host->gid = host->root ? PRISM_NATIVE_ROOT_MAPS_TO : getegid ();
  host->pieces = g_ptr_array_new_with_free_func (piece_free);
  for (guint i = 0; i < G_N_ELEMENTS (top_folders); i++)
    add_path (host->pieces, top_folders[i]);
  for (guint i = 0; i < G_N_ELEMENTS (etc_names); i++)
    {
      g_autofree char *path = g_build_filename ("/etc", etc_names[i], NULL);
      add_path (host->pieces, path);
    }
  add_java (host->pieces);
  return host;
}

const PrismNativeHost *
prism_native_host_get (void)
{
  static GOnce once = G_ONCE_INIT;
  return g_once (&once, look_up, NULL);
}
