/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* By the time that a program can have two threads, GLib has made what it reads numbers with:
 * newlocale() is this file's, which counts, and the library's loading has called it. */
#include <dlfcn.h>
#include <glib.h>
#include <locale.h>

#include "prism-limits.h"

typedef locale_t (*NewLocale) (int mask, const char *name, locale_t base);

static int made, made_before_main;

locale_t
newlocale (int mask, const char *name, locale_t base)
{
  NewLocale next = (NewLocale)dlsym (RTLD_NEXT, "newlocale");

  made++;
  return next (mask, name, base);
}

static void
test_made (void)
{
  int before = made;

  g_assert_cmpint (PRISM_TYPE_LIMITS, !=, 0);
  g_assert_cmpint (made_before_main, >, 0);
  g_assert_cmpint (g_ascii_strtoll ("17", NULL, 10), ==, 17);
  g_assert_cmpfloat (g_ascii_strtod ("0.5", NULL), ==, 0.5);
  g_assert_cmpint (made, ==, before);
}

int
main (int argc, char **argv)
{
  made_before_main = made;
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/first-number/made", test_made);
  return g_test_run ();
}
