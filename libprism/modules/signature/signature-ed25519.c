/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Ed25519 by libcrypto, in a context of its own: neither the machine's nor the
 * program's configuration of it has a say, and nothing here changes that of a
 * program that uses libcrypto as well. A key with a passphrase is refused, so
 * that nobody is asked for one. Messages never come from libcrypto: they could
 * quote what they were given. */
#include "prism-signature-module-private.h"

#include <gmodule.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#define MAX_PEM 65536

G_MODULE_EXPORT const PrismSignatureModule *prism_signature_module_query (void);

static OSSL_LIB_CTX *
context (void)
{
  static gsize made = 0;

  if (g_once_init_enter (&made))
    {
      OSSL_LIB_CTX *fresh = OSSL_LIB_CTX_new ();

      if (fresh == NULL)
        g_error ("out of memory");
      g_once_init_leave (&made, (gsize)fresh);
    }
  return (OSSL_LIB_CTX *)made;
}

static int
no_passphrase (char *buffer, int size, int writing, void *data)
{
  return -1;
}

typedef EVP_PKEY *(*ReadKey) (BIO *, EVP_PKEY **, pem_password_cb *, void *, OSSL_LIB_CTX *, const char *);

/* What libcrypto says stays with it. */
static EVP_PKEY *
read_key (const char *pem, gsize length, ReadKey read)
{
  BIO *bio = length <= MAX_PEM ? BIO_new_mem_buf (pem, (int)length) : NULL;
  EVP_PKEY *key = NULL;

  ERR_set_mark ();
  if (bio != NULL)
    key = read (bio, NULL, no_passphrase, NULL, context (), NULL);
  BIO_free (bio);
  if (key != NULL && !EVP_PKEY_is_a (key, "ED25519"))
    g_clear_pointer (&key, EVP_PKEY_free);
  ERR_pop_to_mark ();
  return key;
}

static gboolean
give_public (EVP_PKEY *key, PrismPublicKey *into)
{
  unsigned char *place = into->bytes;
  int size = i2d_PUBKEY (key, NULL);

  if (size <= 0 || size > (int)sizeof into->bytes)
    return FALSE;
  into->size = (gsize)i2d_PUBKEY (key, &place);
  return TRUE;
}

static const char *
read_private (const char *pem, gsize length, PrismPublicKey *into)
{
  EVP_PKEY *key = read_key (pem, length, PEM_read_bio_PrivateKey_ex);
  gboolean good = key != NULL && give_public (key, into);

  EVP_PKEY_free (key);
  return good ? NULL : "not a private Ed25519 key in PEM without a passphrase";
}

static const char *
read_public (const char *pem, gsize length, PrismPublicKey *into)
{
  EVP_PKEY *key = read_key (pem, length, PEM_read_bio_PUBKEY_ex);
  gboolean good = key != NULL && give_public (key, into);

  EVP_PKEY_free (key);
  return good ? NULL : "not a public Ed25519 key in PEM";
}

static const char *
sign (const char *pem, gsize length, const guint8 *message, gsize size, guint8 *signature)
{
  EVP_PKEY *key = read_key (pem, length, PEM_read_bio_PrivateKey_ex);
  EVP_MD_CTX *digest = EVP_MD_CTX_new ();
  size_t written = PRISM_SIGNATURE_SIZE;
  gboolean good;

  ERR_set_mark ();
  good = key != NULL && digest != NULL && EVP_DigestSignInit_ex (digest, NULL, NULL, context (), NULL, key, NULL) == 1
         && EVP_DigestSign (digest, signature, &written, message, size) == 1 && written == PRISM_SIGNATURE_SIZE;
  ERR_pop_to_mark ();
  EVP_MD_CTX_free (digest);
  EVP_PKEY_free (key);
  return good ? NULL : "the key does not sign";
}

static const char *
verify (const PrismPublicKey *from, const guint8 *message, gsize size, const guint8 *signature)
{
  const unsigned char *place = from->bytes;
  EVP_MD_CTX *digest = EVP_MD_CTX_new ();
  EVP_PKEY *key;
  gboolean good;

  ERR_set_mark ();
  key = d2i_PUBKEY_ex (NULL, &place, (long)from->size, context (), NULL);
  good = key != NULL && digest != NULL && EVP_DigestVerifyInit_ex (digest, NULL, NULL, context (), NULL, key, NULL) == 1
         && EVP_DigestVerify (digest, signature, PRISM_SIGNATURE_SIZE, message, size) == 1;
  ERR_pop_to_mark ();
  EVP_MD_CTX_free (digest);
  EVP_PKEY_free (key);
  return good ? NULL : "the signature is not that of this key over this content";
}

const PrismSignatureModule *
prism_signature_module_query (void)
{
  static const PrismSignatureModule module = { PRISM_SIGNATURE_MODULE_VERSION, read_private, read_public, sign,
                                               verify };

  return &module;
}
