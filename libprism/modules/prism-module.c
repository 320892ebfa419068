/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-module-private.h"

#include <gmodule.h>
#include <sys/auxv.h>

typedef const guint *(*Query) (void);

static gconstpointer
load (const PrismModule *self, GError **error)
{
  const char *folder = g_getenv ("PRISM_MODULES");
  g_autofree char *path = NULL;
  Query query;
  GModule *module;

  if (folder == NULL || getauxval (AT_SECURE) != 0)
    folder = PRISM_MODULESDIR;
  path = g_build_filename (folder, self->file, NULL);
  module = g_module_open (path, G_MODULE_BIND_LOCAL);
  if (module == NULL || !g_module_symbol (module, self->symbol, (gpointer *)&query) || *query () != self->version)
    {
      g_set_error (error, self->domain (), self->code, "cannot load %s, which %s: %s (is libprism installed whole?)",
                   path, self->purpose, module == NULL ? g_module_error () : "it belongs to another version");
      g_clear_pointer (&module, g_module_close);
      return NULL;
    }
  g_module_make_resident (module);
  return query ();
}

gconstpointer
prism_module_get (PrismModule *self, GError **error)
{
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new (&self->lock);

  if (self->table == NULL)
    self->table = load (self, error);
  return self->table;
}
