/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How the library loads its own modules: on first use, once, and for ever. They
 * are looked for in the library's own folder, or in PRISM_MODULES where the
 * environment may be trusted (a build tree); never by a name from outside.
 *
 * A module exports one symbol, a function that returns a table whose first member
 * is a guint, the version. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

typedef struct
{
  const char *file;    /* such as "prism-archive.so" */
  const char *symbol;  /* the function's name */
  guint version;       /* that the table has to have */
  const char *purpose; /* who needs it, for the message: "trees in and out need" */
  GQuark (*domain) (void);
  int code;

  /*< private >*/
  GMutex lock;
  gconstpointer table;
} PrismModule;

/* The table. A failure is not remembered: it may be mended while the program runs. */
gconstpointer prism_module_get (PrismModule *self, GError **error);

G_END_DECLS
