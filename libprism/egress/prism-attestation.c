/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A proxy's word about itself: where it listens, since when, under which policy.
 * Signed, it can be passed on by who is not trusted, and be checked by who knows
 * the public key. Unsigned, it is worth what the way is by which it came.
 *
 * What is signed is the canonical JSON (members sorted by name, no blanks) of
 * everything but the signature, the key's id included. A document with a member
 * that is not signed is refused: so nothing rides along.
 *
 * Not attempted: that the proxy still runs, or that it is the only way out. The
 * first is what started-at and the caller's own clock are for, the second what
 * the host has to make true. */
#include "prism-attestation.h"

#include "prism-fingerprint-private.h"
#include "prism-host-pattern-private.h"
#include "prism-json-private.h"
#include "prism-module-private.h"
#include "prism-signature-module-private.h"
#include "prism-timestamp-private.h"

#include <string.h>

#define MAX_SAFE G_GINT64_CONSTANT (9007199254740991)
#define SCHEME   "http://"

struct _PrismAttestation
{
  GObject parent_instance;

  char *proxy_endpoint;
  gboolean deny_direct_egress;
  char *policy_fingerprint;
  gint64 policy_version;
  gint64 started_ms; /* since 1970 */
  char *key_id;
  char *signature; /* base64 */
};

enum
{
  PROP_0,
  PROP_PROXY_ENDPOINT,
  PROP_DENY_DIRECT_EGRESS,
  PROP_POLICY_FINGERPRINT,
  PROP_POLICY_VERSION,
  PROP_STARTED_AT,
  PROP_KEY_ID,
  PROP_SIGNATURE,
  N_PROPERTIES
};

static GParamSpec *properties[N_PROPERTIES];

/**
 * PrismAttestation:
 *
 * Evidence of an egress proxy: where it listens, since when, and which policy is
 * in force; with a key, signed.
 *
 * Since: 1.0
 */
G_DEFINE_FINAL_TYPE (PrismAttestation, prism_attestation, G_TYPE_OBJECT)

static const PrismSignatureModule *
get_module (GError **error)
{
  static PrismModule module = { .file = "prism-signature.so",
                                .symbol = PRISM_SIGNATURE_MODULE_SYMBOL,
                                .version = PRISM_SIGNATURE_MODULE_VERSION,
                                .purpose = "signed attestations need",
                                .domain = prism_egress_error_quark,
                                .code = PRISM_EGRESS_ERROR_FAILED };

  return prism_module_get (&module, error);
}

static void
prism_attestation_get_property (GObject *object, guint property_id, GValue *value, GParamSpec *pspec)
{
  PrismAttestation *self = PRISM_ATTESTATION (object);

  switch (property_id)
    {
    case PROP_PROXY_ENDPOINT:
      g_value_set_string (value, self->proxy_endpoint);
      break;
    case PROP_DENY_DIRECT_EGRESS:
      g_value_set_boolean (value, self->deny_direct_egress);
      break;
    case PROP_POLICY_FINGERPRINT:
      g_value_set_string (value, self->policy_fingerprint);
      break;
    case PROP_POLICY_VERSION:
      g_value_set_int64 (value, self->policy_version);
      break;
    case PROP_STARTED_AT:
      g_value_take_boxed (value, prism_attestation_get_started_at (self));
      break;
    case PROP_KEY_ID:
      g_value_set_string (value, self->key_id);
      break;
    case PROP_SIGNATURE:
      g_value_set_string (value, self->signature);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, property_id, pspec);
    }
}

static void
prism_attestation_finalize (GObject *object)
{
  PrismAttestation *self = PRISM_ATTESTATION (object);

  g_free (self->proxy_endpoint);
  g_free (self->policy_fingerprint);
  g_free (self->key_id);
  g_free (self->signature);
  G_OBJECT_CLASS (prism_attestation_parent_class)->finalize (object);
}

static void
prism_attestation_class_init (PrismAttestationClass *klass)
{
  const GParamFlags flags = G_PARAM_READABLE | G_PARAM_STATIC_STRINGS;
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->get_property = prism_attestation_get_property;
  object_class->finalize = prism_attestation_finalize;

  /**
   * PrismAttestation:proxy-endpoint:
   *
   * Where the proxy listens: `http://HOST:PORT`.
   *
   * Since: 1.0
   */
  properties[PROP_PROXY_ENDPOINT] = g_param_spec_string ("proxy-endpoint", NULL, NULL, NULL, flags);
  /**
   * PrismAttestation:deny-direct-egress:
   *
   * Whether whoever set it up says that there is no way out but the proxy.
   *
   * Since: 1.0
   */
  properties[PROP_DENY_DIRECT_EGRESS] = g_param_spec_boolean ("deny-direct-egress", NULL, NULL, FALSE, flags);
  /**
   * PrismAttestation:policy-fingerprint:
   *
   * The fingerprint of the policy in force.
   *
   * Since: 1.0
   */
  properties[PROP_POLICY_FINGERPRINT] = g_param_spec_string ("policy-fingerprint", NULL, NULL, NULL, flags);
  /**
   * PrismAttestation:policy-version:
   *
   * How often the policy was changed since the start.
   *
   * Since: 1.0
   */
  properties[PROP_POLICY_VERSION] = g_param_spec_int64 ("policy-version", NULL, NULL, 0, MAX_SAFE, 0, flags);
  /**
   * PrismAttestation:started-at:
   *
   * When the proxy was started, to the millisecond.
   *
   * Since: 1.0
   */
  properties[PROP_STARTED_AT] = g_param_spec_boxed ("started-at", NULL, NULL, G_TYPE_DATE_TIME, flags);
  /**
   * PrismAttestation:key-id:
   *
   * Which key signed: the SHA-256 of the public key as DER, in lower-case
   * hexadecimal; %NULL if none did.
   *
   * Since: 1.0
   */
  properties[PROP_KEY_ID] = g_param_spec_string ("key-id", NULL, NULL, NULL, flags);
  /**
   * PrismAttestation:signature:
   *
   * The Ed25519 signature in base64; %NULL if there is none.
   *
   * Since: 1.0
   */
  properties[PROP_SIGNATURE] = g_param_spec_string ("signature", NULL, NULL, NULL, flags);
  g_object_class_install_properties (object_class, N_PROPERTIES, properties);
}

static void
prism_attestation_init (PrismAttestation *self)
{
}

/* --- what is a field's value --------------------------------------------------- */

/* In the one form that is written: http, a canonical host, a port. */
static gboolean
is_endpoint (const char *text)
{
  gboolean scheme = g_str_has_prefix (text, SCHEME);
  const char *authority = scheme ? text + strlen (SCHEME) : text;
  g_autofree char *canonical = NULL;
  PrismHost host;
  guint16 port;

  if (!scheme || prism_authority_parse (authority, strlen (authority), &host, &port) != NULL || port == 0)
    return FALSE;
  canonical = g_strdup_printf (host.kind == PRISM_HOST_IPV6 ? "[%s]:%u" : "%s:%u", host.text, port);
  return g_str_equal (authority, canonical);
}

static gboolean
is_sha256 (const char *text)
{
  return strlen (text) == 64 && strspn (text, "0123456789abcdef") == 64;
}

static gboolean
decode_signature (const char *text, guint8 signature[PRISM_SIGNATURE_SIZE])
{
  gsize size = 0;
  g_autofree guchar *bytes = g_base64_decode (text, &size);
  g_autofree char *again = size == PRISM_SIGNATURE_SIZE ? g_base64_encode (bytes, size) : NULL;

  if (again == NULL || !g_str_equal (again, text))
    return FALSE;
  memcpy (signature, bytes, PRISM_SIGNATURE_SIZE);
  return TRUE;
}

/* --- JSON -------------------------------------------------------------------- */

static void
append (GString *json, const char *name, const char *text)
{
  if (text == NULL)
    return;
  g_string_append_printf (json, ",\"%s\":", name);
  prism_canonical_append_string (json, text, -1);
}

static char *
make_json (PrismAttestation *self, const char *signature)
{
  GString *json = g_string_sized_new (512);
  char started[PRISM_TIMESTAMP_SIZE];

  prism_timestamp_format (self->started_ms, started);
  g_string_append_printf (json, "{\"denyDirectEgress\":%s", self->deny_direct_egress ? "true" : "false");
  append (json, "keyId", self->key_id);
  append (json, "policyFingerprint", self->policy_fingerprint);
  g_string_append_printf (json, ",\"policyVersion\":%" G_GINT64_FORMAT, self->policy_version);
  append (json, "proxyEndpoint", self->proxy_endpoint);
  append (json, "signature", signature);
  append (json, "startedAt", started);
  g_string_append_c (json, '}');
  return g_string_free (json, FALSE);
}

/**
 * prism_attestation_to_json:
 * @self: an attestation
 *
 * Gets its canonical JSON: members sorted by name, no blanks.
 *
 * Returns: (transfer full): its canonical JSON: members sorted by name, no blanks
 *
 * Since: 1.0
 */
char *
prism_attestation_to_json (PrismAttestation *self)
{
  g_return_val_if_fail (PRISM_IS_ATTESTATION (self), NULL);

  return make_json (self, self->signature);
}

/* As it stands in the document: strings are borrowed, nothing is judged yet. */
typedef struct
{
  const char *proxy_endpoint, *policy_fingerprint, *started_at, *key_id, *signature;
  gboolean deny_direct_egress;
  gint64 policy_version;
} Written;

static const PrismJsonMember members[] = {
  { "denyDirectEgress", PRISM_JSON_BOOLEAN, TRUE, G_STRUCT_OFFSET (Written, deny_direct_egress) },
  { "keyId", PRISM_JSON_STRING, FALSE, G_STRUCT_OFFSET (Written, key_id) },
  { "policyFingerprint", PRISM_JSON_STRING, TRUE, G_STRUCT_OFFSET (Written, policy_fingerprint) },
  { "policyVersion", PRISM_JSON_INTEGER, TRUE, G_STRUCT_OFFSET (Written, policy_version) },
  { "proxyEndpoint", PRISM_JSON_STRING, TRUE, G_STRUCT_OFFSET (Written, proxy_endpoint) },
  { "signature", PRISM_JSON_STRING, FALSE, G_STRUCT_OFFSET (Written, signature) },
  { "startedAt", PRISM_JSON_STRING, TRUE, G_STRUCT_OFFSET (Written, started_at) },
  { NULL, PRISM_JSON_STRING, FALSE, 0 },
};

/* Returns the member that is wrong, and how; NULL if none is. */
static const char *
judge (const Written *written, gint64 *started_ms, const char **wrong)
{
  guint8 signature[PRISM_SIGNATURE_SIZE];

  *wrong = "http://HOST:PORT is expected";
  if (!is_endpoint (written->proxy_endpoint))
    return "/proxyEndpoint";
  *wrong = "64 lower-case hexadecimal digits are expected";
  if (!is_sha256 (written->policy_fingerprint))
    return "/policyFingerprint";
  if (written->key_id != NULL && !is_sha256 (written->key_id))
    return "/keyId";
  *wrong = "a time such as 2026-11-29T15:04:05.000Z is expected";
  if (!prism_timestamp_parse (written->started_at, started_ms))
    return "/startedAt";
  *wrong = "64 bytes in base64 are expected";
  if (written->signature != NULL && !decode_signature (written->signature, signature))
    return "/signature";
  *wrong = "comes with keyId only, and keyId with a signature only";
  return (written->signature == NULL) == (written->key_id == NULL) ? NULL : "/signature";
}

/**
 * prism_attestation_new_from_json:
 * @json: a JSON object as [method@Attestation.to_json] writes it; blanks and the
 *   order of its members do not matter
 * @length: its length; -1 if it ends with a NUL
 * @error: return location for an error
 *
 * Reads what a proxy said. It is not verified by that.
 *
 * Returns: (transfer full): an attestation; %NULL with
 *   %PRISM_EGRESS_ERROR_ATTESTATION, which names the member, if it is malformed
 *
 * Since: 1.0
 */
PrismAttestation *
prism_attestation_new_from_json (const char *json, gssize length, GError **error)
{
  const PrismJsonFaults faults = { PRISM_EGRESS_ERROR, PRISM_EGRESS_ERROR_ATTESTATION, "attestation" };
  Written written = { NULL };
  g_autoptr (JsonNode) node = NULL;
  PrismAttestation *self;
  const char *path, *wrong;
  gint64 started_ms;

  g_return_val_if_fail (json != NULL, NULL);

  node = prism_json_parse (json, length < 0 ? strlen (json) : (gsize)length, &faults, error);
  if (node == NULL || !prism_json_read_members (node, members, &written, &faults, error))
    return NULL;
  path = judge (&written, &started_ms, &wrong);
  if (path != NULL)
    {
      prism_json_set_fault (&faults, error, path, wrong);
      return NULL;
    }
  self = g_object_new (PRISM_TYPE_ATTESTATION, NULL);
  self->proxy_endpoint = g_strdup (written.proxy_endpoint);
  self->deny_direct_egress = written.deny_direct_egress;
  self->policy_fingerprint = g_strdup (written.policy_fingerprint);
  self->policy_version = written.policy_version;
  self->started_ms = started_ms;
  self->key_id = g_strdup (written.key_id);
  self->signature = g_strdup (written.signature);
  return self;
}

/**
 * prism_attestation_new:
 * @proxy_endpoint: where the proxy listens: `http://HOST:PORT`
 * @deny_direct_egress: whether there is no way out but the proxy
 * @policy_fingerprint: the fingerprint of the policy in force
 * @policy_version: how often it was changed
 * @started_at: when the proxy was started; what is below a millisecond is not kept
 * @error: return location for an error
 *
 * Makes an attestation without a signature; %NULL with %PRISM_EGRESS_ERROR_ATTESTATION if a part
 * is malformed.
 *
 * Returns: (transfer full): an attestation without a signature; %NULL with
 *   %PRISM_EGRESS_ERROR_ATTESTATION if a part is malformed
 *
 * Since: 1.0
 */
PrismAttestation *
prism_attestation_new (const char *proxy_endpoint,
                       gboolean deny_direct_egress,
                       const char *policy_fingerprint,
                       gint64 policy_version,
                       GDateTime *started_at,
                       GError **error)
{
  PrismAttestation *self;
  const char *wrong = NULL;

  g_return_val_if_fail (proxy_endpoint != NULL && policy_fingerprint != NULL && started_at != NULL, NULL);
  g_return_val_if_fail (policy_version >= 0 && policy_version <= MAX_SAFE, NULL);

  if (!is_endpoint (proxy_endpoint))
    wrong = "the endpoint is not http://HOST:PORT";
  else if (!is_sha256 (policy_fingerprint))
    wrong = "the policy's fingerprint is not 64 lower-case hexadecimal digits";
  if (wrong != NULL)
    {
      g_set_error (error, PRISM_EGRESS_ERROR, PRISM_EGRESS_ERROR_ATTESTATION, "attestation: %s", wrong);
      return NULL;
    }
  self = g_object_new (PRISM_TYPE_ATTESTATION, NULL);
  self->proxy_endpoint = g_strdup (proxy_endpoint);
  self->deny_direct_egress = deny_direct_egress;
  self->policy_fingerprint = g_strdup (policy_fingerprint);
  self->policy_version = policy_version;
  self->started_ms = g_date_time_to_unix (started_at) * 1000 + g_date_time_get_microsecond (started_at) / 1000;
  return self;
}

/* --- signing ----------------------------------------------------------------- */

static void
set_fault (GError **error, const char *wrong)
{
  g_set_error (error, PRISM_EGRESS_ERROR, PRISM_EGRESS_ERROR_ATTESTATION, "attestation: %s", wrong);
}

static PrismAttestation *
copy_for_key (PrismAttestation *self, const PrismPublicKey *key)
{
  PrismAttestation *copy = g_object_new (PRISM_TYPE_ATTESTATION, NULL);

  copy->proxy_endpoint = g_strdup (self->proxy_endpoint);
  copy->deny_direct_egress = self->deny_direct_egress;
  copy->policy_fingerprint = g_strdup (self->policy_fingerprint);
  copy->policy_version = self->policy_version;
  copy->started_ms = self->started_ms;
  copy->key_id = prism_fingerprint ((const char *)key->bytes, key->size);
  return copy;
}

/**
 * prism_attestation_sign:
 * @self: an attestation
 * @private_key: an Ed25519 key in PEM, without a passphrase
 * @error: return location for an error
 *
 * Gets the same, signed with @private_key; %NULL with %PRISM_EGRESS_ERROR_ATTESTATION if it is no
 * such key.
 *
 * Returns: (transfer full): the same, signed with @private_key; %NULL with
 *   %PRISM_EGRESS_ERROR_ATTESTATION if it is no such key
 *
 * Since: 1.0
 */
PrismAttestation *
prism_attestation_sign (PrismAttestation *self, const char *private_key, GError **error)
{
  const PrismSignatureModule *module;
  g_autoptr (PrismAttestation) copy = NULL;
  g_autofree char *message = NULL;
  guint8 signature[PRISM_SIGNATURE_SIZE];
  PrismPublicKey key;
  const char *wrong;

  g_return_val_if_fail (PRISM_IS_ATTESTATION (self) && private_key != NULL, NULL);

  module = get_module (error);
  if (module == NULL)
    return NULL;
  wrong = module->read_private (private_key, strlen (private_key), &key);
  if (wrong == NULL)
    {
      copy = copy_for_key (self, &key);
      message = make_json (copy, NULL);
      wrong = module->sign (private_key, strlen (private_key), (const guint8 *)message, strlen (message), signature);
    }
  if (wrong != NULL)
    {
      set_fault (error, wrong);
      return NULL;
    }
  copy->signature = g_base64_encode (signature, sizeof signature);
  return g_steal_pointer (&copy);
}

/**
 * prism_attestation_verify:
 * @self: an attestation
 * @public_key: an Ed25519 key in PEM
 * @error: return location for an error
 *
 * Tells whether it was signed with the private half of @public_key; else @error is
 * %PRISM_EGRESS_ERROR_ATTESTATION and says what does not hold.
 *
 * Returns: whether it was signed with the private half of @public_key; else
 *   @error is %PRISM_EGRESS_ERROR_ATTESTATION and says what does not hold
 *
 * Since: 1.0
 */
gboolean
prism_attestation_verify (PrismAttestation *self, const char *public_key, GError **error)
{
  const PrismSignatureModule *module;
  g_autofree char *message = NULL;
  g_autofree char *key_id = NULL;
  guint8 signature[PRISM_SIGNATURE_SIZE];
  PrismPublicKey key;
  const char *wrong;

  g_return_val_if_fail (PRISM_IS_ATTESTATION (self) && public_key != NULL, FALSE);

  if (self->signature == NULL || !decode_signature (self->signature, signature))
    {
      set_fault (error, "it is not signed; start the proxy with a key");
      return FALSE;
    }
  module = get_module (error);
  if (module == NULL)
    return FALSE;
  wrong = module->read_public (public_key, strlen (public_key), &key);
  if (wrong == NULL)
    {
      key_id = prism_fingerprint ((const char *)key.bytes, key.size);
      message = make_json (self, NULL);
      wrong = !g_str_equal (key_id, self->key_id)
                  ? "it was signed with another key"
                  : module->verify (&key, (const guint8 *)message, strlen (message), signature);
    }
  if (wrong != NULL)
    set_fault (error, wrong);
  return wrong == NULL;
}

/* --- fields ------------------------------------------------------------------ */

/**
 * prism_attestation_get_proxy_endpoint:
 * @self: an attestation
 *
 * Tells where the proxy listens.
 *
 * Returns: where the proxy listens
 *
 * Since: 1.0
 */
const char *
prism_attestation_get_proxy_endpoint (PrismAttestation *self)
{
  g_return_val_if_fail (PRISM_IS_ATTESTATION (self), NULL);

  return self->proxy_endpoint;
}

/**
 * prism_attestation_get_deny_direct_egress:
 * @self: an attestation
 *
 * Tells whether it says that there is no way out but the proxy.
 *
 * Returns: whether it says that there is no way out but the proxy
 *
 * Since: 1.0
 */
gboolean
prism_attestation_get_deny_direct_egress (PrismAttestation *self)
{
  g_return_val_if_fail (PRISM_IS_ATTESTATION (self), FALSE);

  return self->deny_direct_egress;
}

/**
 * prism_attestation_get_policy_fingerprint:
 * @self: an attestation
 *
 * Gets the fingerprint of the policy in force.
 *
 * Returns: the fingerprint of the policy in force
 *
 * Since: 1.0
 */
const char *
prism_attestation_get_policy_fingerprint (PrismAttestation *self)
{
  g_return_val_if_fail (PRISM_IS_ATTESTATION (self), NULL);

  return self->policy_fingerprint;
}

/**
 * prism_attestation_get_policy_version:
 * @self: an attestation
 *
 * Tells how often the policy was changed since the start.
 *
 * Returns: how often the policy was changed since the start
 *
 * Since: 1.0
 */
gint64
prism_attestation_get_policy_version (PrismAttestation *self)
{
  g_return_val_if_fail (PRISM_IS_ATTESTATION (self), 0);

  return self->policy_version;
}

/**
 * prism_attestation_get_started_at:
 * @self: an attestation
 *
 * Tells when the proxy was started.
 *
 * Returns: (transfer full): when the proxy was started
 *
 * Since: 1.0
 */
GDateTime *
prism_attestation_get_started_at (PrismAttestation *self)
{
  g_autoptr (GDateTime) start = NULL;

  g_return_val_if_fail (PRISM_IS_ATTESTATION (self), NULL);

  start = g_date_time_new_from_unix_utc (0);
  return g_date_time_add (start, self->started_ms * 1000);
}

/**
 * prism_attestation_get_key_id:
 * @self: an attestation
 *
 * Tells which key signed: the SHA-256 of the public key as DER, in lower-case hexadecimal; %NULL
 * if none did.
 *
 * Returns: (nullable): which key signed: the SHA-256 of the public key as DER, in
 *   lower-case hexadecimal; %NULL if none did
 *
 * Since: 1.0
 */
const char *
prism_attestation_get_key_id (PrismAttestation *self)
{
  g_return_val_if_fail (PRISM_IS_ATTESTATION (self), NULL);

  return self->key_id;
}

/**
 * prism_attestation_get_signature:
 * @self: an attestation
 *
 * Gets the Ed25519 signature in base64; %NULL if there is none.
 *
 * Returns: (nullable): the Ed25519 signature in base64; %NULL if there is none
 *
 * Since: 1.0
 */
const char *
prism_attestation_get_signature (PrismAttestation *self)
{
  g_return_val_if_fail (PRISM_IS_ATTESTATION (self), NULL);

  return self->signature;
}
