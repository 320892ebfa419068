/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The first thing that a TLS client says, as far as it says whom it wants. Pure. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* More than this is no ClientHello that anybody sends. */
#define PRISM_TLS_HELLO_MAX 20480

typedef enum
{
  PRISM_TLS_HELLO_MORE,      /* good so far, and not all of it */
  PRISM_TLS_HELLO_NAMED,     /* it names a host */
  PRISM_TLS_HELLO_UNNAMED,   /* it names none */
  PRISM_TLS_HELLO_ENCRYPTED, /* it names one that only the server can read */
  PRISM_TLS_HELLO_WRONG,     /* TLS, but malformed, or of two meanings */
  PRISM_TLS_HELLO_OTHER,     /* something else than TLS */
} PrismTlsHello;

/* @name has room for 256. */
PrismTlsHello prism_tls_hello_parse (const guint8 *bytes, gsize length, char *name);

G_END_DECLS
