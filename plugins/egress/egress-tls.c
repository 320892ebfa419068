/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* TLS 1.2 and 1.3 as a client, with the name checked before a byte is sent. There
 * are no sessions to resume and no other trust than the one that was given. */
#include "prism-local-tls-module.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <string.h>

static char *
last_error (const char *otherwise)
{
  unsigned long number = ERR_get_error ();
  const char *text = number != 0 ? ERR_reason_error_string (number) : NULL;

  ERR_clear_error ();
  return g_strdup (text != NULL ? text : otherwise);
}

static void
context_free (gpointer context)
{
  SSL_CTX_free (context);
}

static gpointer
context_new (const char *trust_file, char **why)
{
  SSL_CTX *context = SSL_CTX_new (TLS_client_method ());
  static const unsigned char http[] = "\x08http/1.1";

  ERR_clear_error ();
  if (context == NULL)
    {
      *why = last_error ("no memory");
      return NULL;
    }
  SSL_CTX_set_min_proto_version (context, TLS1_2_VERSION);
  SSL_CTX_set_session_cache_mode (context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_verify (context, SSL_VERIFY_PEER, NULL);
  SSL_CTX_set_mode (context,
                    SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_options (context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_alpn_protos (context, http, sizeof http - 1);
  if (trust_file != NULL ? SSL_CTX_load_verify_file (context, trust_file) == 1
                         : SSL_CTX_set_default_verify_paths (context) == 1)
    return context;
  *why = last_error ("the certificates to trust cannot be read");
  SSL_CTX_free (context);
  return NULL;
}

static void
session_free (gpointer session)
{
  SSL_free (session);
}

static gpointer
session_new (gpointer context, int fd, const char *host, gboolean is_address)
{
  SSL *ssl = SSL_new (context);
  X509_VERIFY_PARAM *param = ssl != NULL ? SSL_get0_param (ssl) : NULL;
  gboolean good;

  if (ssl == NULL)
    return NULL;
  SSL_set_hostflags (ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  good = SSL_set_fd (ssl, fd) == 1
         && (is_address ? X509_VERIFY_PARAM_set1_ip_asc (param, host) == 1
                        : SSL_set1_host (ssl, host) == 1 && SSL_set_tlsext_host_name (ssl, host) == 1);
  if (good)
    return ssl;
  SSL_free (ssl);
  return NULL;
}

static PrismLocalTlsResult
explain (SSL *ssl, int result)
{
  switch (SSL_get_error (ssl, result))
    {
    case SSL_ERROR_WANT_READ:
      return PRISM_LOCAL_TLS_WANTS_READ;
    case SSL_ERROR_WANT_WRITE:
      return PRISM_LOCAL_TLS_WANTS_WRITE;
    case SSL_ERROR_ZERO_RETURN:
      return PRISM_LOCAL_TLS_CLOSED;
    default:
      return PRISM_LOCAL_TLS_FAILED;
    }
}

static PrismLocalTlsResult
shake_hands (gpointer session, char **why)
{
  SSL *ssl = session;
  PrismLocalTlsResult result;
  long verdict;
  int n;

  ERR_clear_error ();
  n = SSL_connect (ssl);
  if (n == 1)
    {
      /* The handshake fails for it already; this is the lock behind the door. */
      verdict = SSL_get_verify_result (ssl);
      if (verdict == X509_V_OK && SSL_get0_peer_certificate (ssl) != NULL)
        return PRISM_LOCAL_TLS_DONE;
      *why = g_strdup (X509_verify_cert_error_string (verdict));
      return PRISM_LOCAL_TLS_FAILED;
    }
  result = explain (ssl, n);
  if (result == PRISM_LOCAL_TLS_WANTS_READ || result == PRISM_LOCAL_TLS_WANTS_WRITE)
    return result;
  verdict = SSL_get_verify_result (ssl);
  *why = verdict != X509_V_OK ? g_strdup (X509_verify_cert_error_string (verdict))
                              : last_error ("the peer ended the handshake");
  return PRISM_LOCAL_TLS_FAILED;
}

static PrismLocalTlsResult
read_some (gpointer session, void *bytes, gsize size, gsize *done)
{
  int n;

  ERR_clear_error ();
  n = SSL_read_ex (session, bytes, size, done);
  return n == 1 ? PRISM_LOCAL_TLS_DONE : explain (session, n);
}

static PrismLocalTlsResult
write_some (gpointer session, const void *bytes, gsize length, gsize *done)
{
  int n;

  ERR_clear_error ();
  n = SSL_write_ex (session, bytes, length, done);
  return n == 1 ? PRISM_LOCAL_TLS_DONE : explain (session, n);
}

static gboolean
has_more (gpointer session)
{
  return SSL_pending (session) > 0;
}

__attribute__ ((visibility ("default"))) extern const PrismLocalTlsModule prism_local_tls_module;
const PrismLocalTlsModule prism_local_tls_module = {
  context_new, context_free, session_new, session_free, shake_hands, read_some, write_some, has_more,
};
