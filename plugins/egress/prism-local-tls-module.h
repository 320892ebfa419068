/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* TLS lies in a module of its own, which is opened for the first request that needs
 * it: most proxies never do, and it is larger than everything else together. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

#define PRISM_LOCAL_TLS_SYMBOL "prism_local_tls_module"

typedef enum
{
  PRISM_LOCAL_TLS_DONE = 1,
  PRISM_LOCAL_TLS_WANTS_READ = 0,
  PRISM_LOCAL_TLS_WANTS_WRITE = -1,
  PRISM_LOCAL_TLS_FAILED = -2,
  PRISM_LOCAL_TLS_CLOSED = -3,
} PrismLocalTlsResult;

typedef struct
{
  /* One for each proxy: nothing is remembered from one trust to another. NULL with
   * *@why if @trust_file cannot be read. */
  gpointer (*context_new) (const char *trust_file, char **why);
  void (*context_free) (gpointer context);

  /* On a connected socket, which stays the caller's; @host is a name or an address. */
  gpointer (*session_new) (gpointer context, int fd, const char *host, gboolean is_address);
  void (*session_free) (gpointer session);

  PrismLocalTlsResult (*shake_hands) (gpointer session, char **why);
  /* *@done is how many; a result of DONE says that it counts. */
  PrismLocalTlsResult (*read) (gpointer session, void *bytes, gsize size, gsize *done);
  PrismLocalTlsResult (*write) (gpointer session, const void *bytes, gsize length, gsize *done);
  gboolean (*has_more) (gpointer session);
} PrismLocalTlsModule;

G_END_DECLS
