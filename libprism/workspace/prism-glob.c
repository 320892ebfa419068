/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-glob-private.h"

#include <string.h>

/* Where to go on when what came after the last star did not fit. Only the last one of each
 * kind is ever needed: an earlier star taking more never helps what a later one cannot. */
typedef struct
{
  const char *pattern, *path;
} Retry;

static gsize
character (const char *path)
{
  gunichar c = g_utf8_get_char_validated (path, -1);

  return c < 0x110000 ? (gsize)(g_utf8_next_char (path) - path) : 1;
}

static gboolean
is_deep (const char *pattern)
{
  return pattern[0] == '*' && pattern[1] == '*';
}

/* After "**" and the slash that belongs to it; *@whole: it is a component of its own. */
static const char *
after_deep (const char *pattern, const char *start, gboolean *whole)
{
  const char *end = pattern + strspn (pattern, "*");

  *whole = (pattern == start || pattern[-1] == '/') && (*end == '/' || *end == '\0');
  return end;
}

gboolean
prism_glob_match (const char *pattern, const char *path)
{
  const char *start = pattern;
  Retry within = { NULL, NULL }, deep = { NULL, NULL };
  gboolean whole;

  for (;;)
    {
      if (is_deep (pattern))
        {
          const char *end = after_deep (pattern, start, &whole);
          if (whole && *end == '\0')
            return *path != '\0';
          if (whole)
            {
              /* No folder, or as many as it takes. */
              pattern = end + 1;
              deep = (Retry){ pattern, path };
              within = (Retry){ NULL, NULL };
              continue;
            }
          /* Not alone in its component: as one star. */
          pattern = end;
          within = (Retry){ pattern, path };
          continue;
        }
      if (*pattern == '*')
        {
          within = (Retry){ ++pattern, path };
          continue;
        }
      if (*pattern == '\0' && *path == '\0')
        return TRUE;
      if (*path != '\0' && *pattern == '?' && *path != '/')
        {
          pattern++;
          path += character (path);
          continue;
        }
      if (*path != '\0' && *pattern == *path)
        {
          pattern++;
          path++;
          continue;
        }
      if (within.pattern != NULL && *within.path != '\0' && *within.path != '/')
        {
          within.path++;
          pattern = within.pattern;
          path = within.path;
          continue;
        }
      if (deep.pattern == NULL)
        return FALSE;
      /* One more folder. */
      deep.path = strchr (deep.path, '/');
      if (deep.path == NULL)
        return FALSE;
      deep.path++;
      within = (Retry){ NULL, NULL };
      pattern = deep.pattern;
      path = deep.path;
    }
}

/* --- braces ------------------------------------------------------------------------------ */

/* The brace that closes the one at @open; NULL: none. */
static const char *
closing (const char *open)
{
  guint depth = 0;

  for (; *open != '\0'; open++)
    {
      depth += *open == '{';
      if (*open == '}' && --depth == 0)
        return open;
    }
  return NULL;
}

/* Expands the first group of @pattern and, by turns, the rest. */
static gboolean
expand (const char *pattern, GPtrArray *all, guint most, guint depth)
{
  const char *open = strchr (pattern, '{'), *close = open != NULL ? closing (open) : NULL;
  guint nested = 0;

  if (open == NULL)
    {
      g_ptr_array_add (all, g_strdup (pattern));
      return all->len <= most;
    }
  if (close == NULL || depth > 16)
    return FALSE;
  for (const char *from = open + 1, *at = from; at <= close; at++)
    {
      if ((*at == ',' && nested == 0) || at == close)
        {
          g_autofree char *one =
              g_strdup_printf ("%.*s%.*s%s", (int)(open - pattern), pattern, (int)(at - from), from, close + 1);
          if (!expand (one, all, most, depth + 1))
            return FALSE;
          from = at + 1;
        }
      else
        nested = nested + (*at == '{') - (*at == '}');
    }
  return TRUE;
}

char **
prism_glob_expand (const char *pattern, guint most)
{
  GPtrArray *all = g_ptr_array_new_with_free_func (g_free);

  if (!expand (pattern, all, most, 0))
    {
      g_ptr_array_unref (all);
      return NULL;
    }
  g_ptr_array_add (all, NULL);
  return (char **)g_ptr_array_free (all, FALSE);
}
