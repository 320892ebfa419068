/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the signature module gives to the library: Ed25519 over bytes, keys as
 * PEM. The module links libcrypto, and not the library. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

#define PRISM_SIGNATURE_SIZE 64
#define PRISM_PUBLIC_KEY_MAX 128

/* A public key as DER (SubjectPublicKeyInfo), which its id is made of. */
typedef struct
{
  guint8 bytes[PRISM_PUBLIC_KEY_MAX];
  gsize size;
} PrismPublicKey;

#define PRISM_SIGNATURE_MODULE_VERSION 1
#define PRISM_SIGNATURE_MODULE_SYMBOL  "prism_signature_module_query"

/* Each returns NULL, or what is wrong; nothing of a key is ever in that. */
typedef struct
{
  guint version;
  const char *(*read_private) (const char *pem, gsize length, PrismPublicKey *key);
  const char *(*read_public) (const char *pem, gsize length, PrismPublicKey *key);
  const char *(*sign) (const char *pem, gsize length, const guint8 *message, gsize size, guint8 *signature);
  const char *(*verify) (const PrismPublicKey *key, const guint8 *message, gsize size, const guint8 *signature);
} PrismSignatureModule;

typedef const PrismSignatureModule *(*PrismSignatureModuleQuery) (void);

G_END_DECLS
