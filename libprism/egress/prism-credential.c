/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A secret that stays outside: the proxy puts it into requests to its host, so
 * that what runs inside can use it and never has it. No property, message or
 * serialised form holds the value. It lies in pages of its own that core dumps
 * leave out, and is wiped when it is given up.
 *
 * Not attempted: hiding it from the program that holds it, or from who may read
 * that program's memory. */
#include "prism-credential.h"

#include "prism-host-pattern-private.h"

#include <string.h>
#include <sys/mman.h>

#define MAX_HEADER 128
#define MAX_VALUE  16384

struct _PrismCredential
{
  GObject parent_instance;

  PrismHostPattern pattern;
  char *host;
  char *header;
  char *value; /* in pages of its own */
  gsize size;  /* of those */
};

enum
{
  PROP_0,
  PROP_HOST,
  PROP_HEADER,
  N_PROPERTIES
};

static GParamSpec *properties[N_PROPERTIES];

/**
 * PrismCredential:
 *
 * A header that the egress proxy adds to requests to one host, such as a token
 * that the sandbox may use and must not have. The value can be given and never be
 * read back.
 *
 * Since: 1.0
 */
G_DEFINE_FINAL_TYPE (PrismCredential, prism_credential, G_TYPE_OBJECT)

static void
prism_credential_get_property (GObject *object, guint property_id, GValue *value, GParamSpec *pspec)
{
  PrismCredential *self = PRISM_CREDENTIAL (object);

  switch (property_id)
    {
    case PROP_HOST:
      g_value_set_string (value, self->host);
      break;
    case PROP_HEADER:
      g_value_set_string (value, self->header);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, property_id, pspec);
    }
}

static void
prism_credential_finalize (GObject *object)
{
  PrismCredential *self = PRISM_CREDENTIAL (object);

  if (self->value != NULL)
    {
      explicit_bzero (self->value, self->size);
      munmap (self->value, self->size);
    }
  g_free (self->host);
  g_free (self->header);
  G_OBJECT_CLASS (prism_credential_parent_class)->finalize (object);
}

static void
prism_credential_class_init (PrismCredentialClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->get_property = prism_credential_get_property;
  object_class->finalize = prism_credential_finalize;

  /**
   * PrismCredential:host:
   *
   * The host that it is for, or `.domain` for a domain and its subdomains.
   *
   * Since: 1.0
   */
  properties[PROP_HOST] = g_param_spec_string ("host", NULL, NULL, NULL, G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);
  /**
   * PrismCredential:header:
   *
   * The header's name.
   *
   * Since: 1.0
   */
  properties[PROP_HEADER] = g_param_spec_string ("header", NULL, NULL, NULL, G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);
  g_object_class_install_properties (object_class, N_PROPERTIES, properties);
}

static void
prism_credential_init (PrismCredential *self)
{
}

/* Headers that say how a message is framed or routed: one in a request twice, or
 * with a value from elsewhere, would make another request of it. */
static gboolean
is_reserved (const char *header)
{
  static const char *const names[] = { "connection",        "content-length", "expect", "host",
                                       "http2-settings",    "keep-alive",     "te",     "trailer",
                                       "transfer-encoding", "upgrade",        "via" };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    if (g_ascii_strcasecmp (header, names[i]) == 0)
      return TRUE;
  return g_ascii_strncasecmp (header, "proxy-", 6) == 0;
}

static const char *
check_header (const char *header)
{
  if (*header == '\0' || strlen (header) > MAX_HEADER)
    return "a header's name has 1 to 128 bytes";
  for (const char *p = header; *p != '\0'; p++)
    if (!g_ascii_isalnum (*p) && strchr ("!#$%&'*+-.^_`|~", *p) == NULL)
      return "a header's name is letters, digits and hyphens";
  return is_reserved (header) ? "this header is the proxy's own" : NULL;
}

/* Never says anything of the value. */
static const char *
check_value (const char *value)
{
  gsize length = strlen (value);

  if (length == 0)
    return "the value is empty";
  if (length > MAX_VALUE)
    return "the value is longer than 16 KiB";
  if (value[length - 1] == '\n' || value[length - 1] == '\r')
    return "the value ends in a newline; remove it";
  for (const char *p = value; *p != '\0'; p++)
    if ((guchar)*p < 0x20 || *p == 0x7f)
      return "the value holds a control character";
  if (value[0] == ' ' || value[length - 1] == ' ')
    return "the value starts or ends in a blank";
  return NULL;
}

static gboolean
keep_value (PrismCredential *self, const char *value)
{
  gsize length = strlen (value) + 1;
  void *pages = mmap (NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

  if (pages == MAP_FAILED)
    return FALSE;
  /* Best effort: a kernel that knows neither still keeps it out of reach. */
  (void)madvise (pages, length, MADV_DONTDUMP);
  (void)madvise (pages, length, MADV_WIPEONFORK);
  memcpy (pages, value, length);
  self->value = pages;
  self->size = length;
  return TRUE;
}

/* "credential for HOST (HEADER): …", with both made printable. */
static void
set_fault (GError **error, const char *host, const char *header, const char *wrong)
{
  g_autofree char *cut_host = g_strndup (host, 100);
  g_autofree char *cut_header = g_strndup (header, 100);
  g_autofree char *shown_host = g_strescape (cut_host, NULL);
  g_autofree char *shown_header = g_strescape (cut_header, NULL);

  g_set_error (error, PRISM_EGRESS_ERROR, PRISM_EGRESS_ERROR_POLICY, "credential for %s (%s): %s", shown_host,
               shown_header, wrong);
}

/**
 * prism_credential_new:
 * @host: the host that it is for: exact, `.domain`, or an IP address
 * @header: the header's name, such as `Authorization`
 * @value: the header's value; it is copied, and the caller wipes its own
 * @error: return location for an error
 *
 * Makes a credential; %NULL with %PRISM_EGRESS_ERROR_POLICY, which never quotes @value, if a part
 * is malformed.
 *
 * Returns: (transfer full): a credential; %NULL with %PRISM_EGRESS_ERROR_POLICY,
 *   which never quotes @value, if a part is malformed
 *
 * Since: 1.0
 */
PrismCredential *
prism_credential_new (const char *host, const char *header, const char *value, GError **error)
{
  g_autoptr (PrismCredential) self = NULL;
  PrismHostPattern pattern;
  const char *wrong;

  g_return_val_if_fail (host != NULL && header != NULL && value != NULL, NULL);

  wrong = prism_host_pattern_parse (host, strlen (host), &pattern);
  if (wrong == NULL)
    wrong = check_header (header);
  if (wrong == NULL)
    wrong = check_value (value);
  if (wrong == NULL)
    {
      self = g_object_new (PRISM_TYPE_CREDENTIAL, NULL);
      self->pattern = pattern;
      self->host = g_strconcat (pattern.domain ? "." : "", pattern.host.text, NULL);
      self->header = g_strdup (header);
      if (!keep_value (self, value))
        wrong = "no memory for the value";
    }
  if (wrong == NULL)
    return g_steal_pointer (&self);
  set_fault (error, host, header, wrong);
  return NULL;
}

/**
 * prism_credential_get_host:
 * @self: a credential
 *
 * Gets the host that it is for, in canonical form; with a dot in front where subdomains are meant
 * as well.
 *
 * Returns: the host that it is for, in canonical form; with a dot in front where
 *   subdomains are meant as well
 *
 * Since: 1.0
 */
const char *
prism_credential_get_host (PrismCredential *self)
{
  g_return_val_if_fail (PRISM_IS_CREDENTIAL (self), NULL);

  return self->host;
}

/**
 * prism_credential_get_header:
 * @self: a credential
 *
 * Gets the header's name.
 *
 * Returns: the header's name
 *
 * Since: 1.0
 */
const char *
prism_credential_get_header (PrismCredential *self)
{
  g_return_val_if_fail (PRISM_IS_CREDENTIAL (self), NULL);

  return self->header;
}

/**
 * prism_credential_matches:
 * @self: a credential
 * @host: a host in any spelling
 *
 * Tells whether it is for this host; what is malformed never matches.
 *
 * Returns: whether it is for this host; what is malformed never matches
 *
 * Since: 1.0
 */
gboolean
prism_credential_matches (PrismCredential *self, const char *host)
{
  PrismHost parsed;

  g_return_val_if_fail (PRISM_IS_CREDENTIAL (self) && host != NULL, FALSE);

  return prism_host_parse (host, strlen (host), &parsed) == NULL
         && prism_host_pattern_matches (&self->pattern, &parsed);
}

/**
 * prism_credential_reveal: (skip)
 * @self: a credential
 *
 * For a proxy that is about to send it. Bindings do not have this function: what
 * becomes a string of theirs is copied about and never wiped.
 *
 * Returns: the value
 *
 * Since: 1.0
 */
const char *
prism_credential_reveal (PrismCredential *self)
{
  g_return_val_if_fail (PRISM_IS_CREDENTIAL (self), NULL);

  return self->value;
}
