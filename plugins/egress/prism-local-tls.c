/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-local-tls.h"

#include "prism-local-io.h"
#include "prism-local-tls-module.h"

#include <dlfcn.h>
#include <gmodule.h>

/* Beside the plug-in itself. */
#define MODULE_NAME "egress-tls.so"

struct _PrismLocalTls
{
  const PrismLocalTlsModule *module;
  gpointer session;
};

typedef struct
{
  const PrismLocalTlsModule *module;
  gpointer context;
} Tls;

/* For the whole process: it is never closed. */
static const PrismLocalTlsModule *
open_module (GError **error)
{
  static GMutex lock;
  static const PrismLocalTlsModule *module;
  g_autoptr (GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new (&lock);
  g_autofree char *folder = NULL;
  g_autofree char *path = NULL;
  gpointer symbol = NULL;
  GModule *opened;
  Dl_info info;

  if (module != NULL)
    return module;
  if (dladdr (&lock, &info) == 0)
    info.dli_fname = "";
  folder = g_path_get_dirname (info.dli_fname);
  path = g_build_filename (folder, MODULE_NAME, NULL);
  opened = g_module_open (path, G_MODULE_BIND_LOCAL);
  if (opened == NULL || !g_module_symbol (opened, PRISM_LOCAL_TLS_SYMBOL, &symbol))
    {
      g_set_error (error, PRISM_EGRESS_ERROR, PRISM_EGRESS_ERROR_FAILED, "%s", g_module_error ());
      return NULL;
    }
  g_module_make_resident (opened);
  module = symbol;
  return module;
}

static Tls *
get_tls (PrismLocalEngine *engine, GError **error)
{
  const PrismLocalTlsModule *module;
  g_autofree char *why = NULL;
  gpointer context;
  Tls *tls;

  if (engine->tls != NULL)
    return engine->tls;
  module = open_module (error);
  if (module == NULL)
    return NULL;
  context = module->context_new (engine->settings.trust_file, &why);
  if (context == NULL)
    {
      g_set_error (error, PRISM_EGRESS_ERROR, PRISM_EGRESS_ERROR_FAILED, "%s", why);
      return NULL;
    }
  tls = g_new (Tls, 1);
  *tls = (Tls){ module, context };
  engine->tls = tls;
  return tls;
}

gboolean
prism_local_tls_open (PrismLocalEngine *engine, PrismLocalEnd *end, const PrismLocalPlace *place, GError **error)
{
  Tls *tls = get_tls (engine, error);
  gpointer session;

  if (tls == NULL)
    return FALSE;
  session = tls->module->session_new (tls->context, end->watch.fd, place->host, place->address != NULL);
  if (session == NULL)
    {
      g_set_error_literal (error, PRISM_EGRESS_ERROR, PRISM_EGRESS_ERROR_FAILED, "no TLS session can be made");
      return FALSE;
    }
  end->tls = g_new (PrismLocalTls, 1);
  *end->tls = (PrismLocalTls){ tls->module, session };
  return TRUE;
}

int
prism_local_tls_shake_hands (PrismLocalEnd *end, char **why)
{
  PrismLocalTlsResult result = end->tls->module->shake_hands (end->tls->session, why);

  end->wants_out = result == PRISM_LOCAL_TLS_WANTS_WRITE;
  if (result == PRISM_LOCAL_TLS_DONE)
    return 1;
  return result == PRISM_LOCAL_TLS_FAILED || result == PRISM_LOCAL_TLS_CLOSED ? -1 : 0;
}

/* An end that TLS did not announce is no end: somebody cut the line. */
gssize
prism_local_tls_read (PrismLocalEnd *end, void *bytes, gsize size)
{
  gsize done = 0;
  PrismLocalTlsResult result = end->tls->module->read (end->tls->session, bytes, size, &done);

  end->wants_out = result == PRISM_LOCAL_TLS_WANTS_WRITE;
  switch (result)
    {
    case PRISM_LOCAL_TLS_DONE:
      return (gssize)done;
    case PRISM_LOCAL_TLS_CLOSED:
      return 0;
    case PRISM_LOCAL_TLS_WANTS_READ:
    case PRISM_LOCAL_TLS_WANTS_WRITE:
      return PRISM_LOCAL_AGAIN;
    case PRISM_LOCAL_TLS_FAILED:
    default:
      return PRISM_LOCAL_BROKEN;
    }
}

gssize
prism_local_tls_write (PrismLocalEnd *end, const void *bytes, gsize length)
{
  gsize done = 0;
  PrismLocalTlsResult result;

  if (length == 0)
    return 0;
  result = end->tls->module->write (end->tls->session, bytes, length, &done);
  if (result == PRISM_LOCAL_TLS_DONE)
    return (gssize)done;
  return result == PRISM_LOCAL_TLS_WANTS_READ || result == PRISM_LOCAL_TLS_WANTS_WRITE ? 0 : PRISM_LOCAL_BROKEN;
}

gboolean
prism_local_tls_has_more (PrismLocalEnd *end)
{
  return end->tls != NULL && end->tls->module->has_more (end->tls->session);
}

void
prism_local_tls_close (PrismLocalEnd *end)
{
  if (end->tls == NULL)
    return;
  end->tls->module->session_free (end->tls->session);
  g_clear_pointer (&end->tls, g_free);
}

void
prism_local_tls_end (PrismLocalEngine *engine)
{
  Tls *tls = engine->tls;

  if (tls == NULL)
    return;
  tls->module->context_free (tls->context);
  g_free (tls);
  engine->tls = NULL;
}
