/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-docker-names.h"

#include <string.h>

#include "prism-docker-options.h"

#define DIGEST     "@sha256:"
#define HEX_DIGITS 64
#define MOST_NAME  256
#define MOST_ID    2147483647

#define HEX   "0123456789abcdefABCDEF"
#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define ALNUM "0123456789" LOWER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

static gboolean
starts_and_has (const char *text, const char *rest, gsize most)
{
  gsize length = strlen (text);
  return length > 0 && length <= most && strchr (ALNUM, text[0]) != NULL && strspn (text, rest) == length;
}

gboolean
prism_docker_is_image_name (const char *name)
{
  return name != NULL && starts_and_has (name, ALNUM "._-/:", MOST_NAME) && strstr (name, "//") == NULL
         && strchr ("./-:_", name[strlen (name) - 1]) == NULL;
}

gboolean
prism_docker_is_pinned_image (const char *image)
{
  const char *digest = image != NULL ? strstr (image, DIGEST) : NULL;
  g_autofree char *name = digest != NULL ? g_strndup (image, (gsize)(digest - image)) : NULL;

  if (!prism_docker_is_image_name (name))
    return FALSE;
  digest += strlen (DIGEST);
  return strlen (digest) == HEX_DIGITS && strspn (digest, HEX) == HEX_DIGITS;
}

char *
prism_docker_dup_digest (const char *image)
{
  return g_ascii_strdown (strstr (image, DIGEST) + 1, -1);
}

static gboolean
parse_id (const char *text, gsize length, guint *id)
{
  guint64 value = 0;

  if (length == 0 || length > 10 || strspn (text, "0123456789") < length)
    return FALSE;
  for (gsize i = 0; i < length; i++)
    value = value * 10 + (guint)(text[i] - '0');
  *id = (guint)value;
  return value > 0 && value <= MOST_ID;
}

gboolean
prism_docker_parse_user (const char *user, guint *uid, guint *gid)
{
  const char *colon = user != NULL ? strchr (user, ':') : NULL;
  return colon != NULL && parse_id (user, (gsize)(colon - user), uid) && parse_id (colon + 1, strlen (colon + 1), gid);
}

gboolean
prism_docker_is_network_name (const char *name)
{
  /* What docker and podman take for a mode, and not for a network's name. */
  static const char *const modes[] = { "host",    "bridge",      "default", "none", "nat",  "private",
                                       "ingress", "slirp4netns", "pasta",   "ns",   "null", "overlay" };

  if (name == NULL || !starts_and_has (name, ALNUM "_.-", 128))
    return FALSE;
  for (gsize i = 0; i < G_N_ELEMENTS (modes); i++)
    if (g_ascii_strcasecmp (name, modes[i]) == 0)
      return FALSE;
  return TRUE;
}

gboolean
prism_docker_is_runtime_name (const char *name)
{
  return name != NULL && starts_and_has (name, ALNUM "_.-", 128);
}

gboolean
prism_docker_is_id (const char *id)
{
  return strlen (id) == PRISM_DOCKER_ID_LENGTH && strspn (id, "0123456789abcdef") == PRISM_DOCKER_ID_LENGTH;
}

gboolean
prism_docker_is_container_id (const char *id)
{
  gsize length = id != NULL ? strlen (id) : 0;
  return length >= 12 && length <= 64 && strspn (id, "0123456789abcdef") == length;
}

gboolean
prism_docker_is_skill_id (const char *id, gsize length)
{
  if (length == 0 || length > 255 || strspn (id, ALNUM "_.-") < length
      || g_strstr_len (id, (gssize)length, "..") != NULL)
    return FALSE;
  return !(length == 1 && id[0] == '.');
}
