/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-e2b-error.h"

#include <string.h>

#define MOST_QUOTED 200 /* bytes of the server's own words */

/* --- causes ------------------------------------------------------------------------------ */

static const struct
{
  int code;
  const char *text, *hint;
} causes[] = {
  [PRISM_E2B_CAUSE_INVALID] = { PRISM_SANDBOX_ERROR_INVALID, "the service does not accept the request",
                                "its own words say what of it" },
  [PRISM_E2B_CAUSE_KEY] = { PRISM_SANDBOX_ERROR_UNAVAILABLE, "not authenticated",
                            "check the API key (E2B_API_KEY, or the property api-key) and that it is of this account; "
                            "inside a sandbox, that the user exists" },
  [PRISM_E2B_CAUSE_DENIED] = { PRISM_SANDBOX_ERROR_DENIED, "not allowed",
                               "the account may not do this, or a permission inside the sandbox says no" },
  [PRISM_E2B_CAUSE_NOT_FOUND] = { PRISM_SANDBOX_ERROR_NOT_FOUND, "not found",
                                  "check the name, and that the API key is of the account it belongs to" },
  [PRISM_E2B_CAUSE_STATE] = { PRISM_SANDBOX_ERROR_STATE, "not possible in the state it is in",
                              "it may be on its way to another one: ask for its state, then again" },
  [PRISM_E2B_CAUSE_EXISTS] = { PRISM_SANDBOX_ERROR_STATE, "it exists already", "choose another name" },
  [PRISM_E2B_CAUSE_RATE] = { PRISM_SANDBOX_ERROR_LIMIT, "too many requests, or too many sandboxes at once",
                             "wait, close sandboxes that are not needed (paused ones count on), or ask for a larger "
                             "plan" },
  [PRISM_E2B_CAUSE_NO_SPACE] = { PRISM_SANDBOX_ERROR_LIMIT, "no space is left in the sandbox",
                                 "remove files, or use a template with a larger disk" },
  [PRISM_E2B_CAUSE_BUSY] = { PRISM_SANDBOX_ERROR_UNAVAILABLE, "the service has no room for it at the moment",
                             "nothing was done; try again later" },
  [PRISM_E2B_CAUSE_GONE] = { PRISM_SANDBOX_ERROR_LOST, "the sandbox does not answer",
                             "it was killed, its time was over, or it is paused" },
  [PRISM_E2B_CAUSE_TIMEOUT] = { PRISM_SANDBOX_ERROR_TIMEOUT, "it took too long", "allow more time" },
  [PRISM_E2B_CAUSE_UNSUPPORTED] = { PRISM_SANDBOX_ERROR_NOT_SUPPORTED, "the service does not have this",
                                    "the template's agent (envd) may be too old: build the template again" },
  [PRISM_E2B_CAUSE_SERVER] = { PRISM_SANDBOX_ERROR_FAILED, "the service failed", "try again later" },
  [PRISM_E2B_CAUSE_PROTOCOL] = { PRISM_SANDBOX_ERROR_LOST, "the answer is none of this service's",
                                 "check the properties domain, api-url and sandbox-url, and what is in between" },
};

int
prism_e2b_cause_get_code (PrismE2bCause cause)
{
  return causes[cause].code;
}

static const struct
{
  guint status;
  PrismE2bCause cause;
} statuses[] = {
  { 400, PRISM_E2B_CAUSE_INVALID },     { 401, PRISM_E2B_CAUSE_KEY },         { 403, PRISM_E2B_CAUSE_DENIED },
  { 404, PRISM_E2B_CAUSE_NOT_FOUND },   { 405, PRISM_E2B_CAUSE_UNSUPPORTED }, { 406, PRISM_E2B_CAUSE_INVALID },
  { 408, PRISM_E2B_CAUSE_TIMEOUT },     { 409, PRISM_E2B_CAUSE_STATE },       { 413, PRISM_E2B_CAUSE_INVALID },
  { 415, PRISM_E2B_CAUSE_UNSUPPORTED }, { 422, PRISM_E2B_CAUSE_INVALID },     { 429, PRISM_E2B_CAUSE_RATE },
  { 499, PRISM_E2B_CAUSE_TIMEOUT },     { 501, PRISM_E2B_CAUSE_UNSUPPORTED }, { 503, PRISM_E2B_CAUSE_BUSY },
  { 504, PRISM_E2B_CAUSE_TIMEOUT },     { 507, PRISM_E2B_CAUSE_NO_SPACE },
};

/* The proxy in front of the sandboxes says 502 of one that is not running. */
PrismE2bCause
prism_e2b_cause_of_status (PrismE2bPlane plane, guint status)
{
  if (status == 502 && plane == PRISM_E2B_PLANE_DATA)
    return PRISM_E2B_CAUSE_GONE;
  for (guint i = 0; i < G_N_ELEMENTS (statuses); i++)
    if (statuses[i].status == status)
      return statuses[i].cause;
  return status >= 500 && status <= 599   ? PRISM_E2B_CAUSE_SERVER
         : status >= 400 && status <= 499 ? PRISM_E2B_CAUSE_INVALID
                                          : PRISM_E2B_CAUSE_PROTOCOL;
}

static const struct
{
  const char *name;
  PrismE2bCause cause;
} codes[] = {
  { "aborted", PRISM_E2B_CAUSE_STATE },
  { "already_exists", PRISM_E2B_CAUSE_EXISTS },
  { "canceled", PRISM_E2B_CAUSE_TIMEOUT },
  { "data_loss", PRISM_E2B_CAUSE_SERVER },
  { "deadline_exceeded", PRISM_E2B_CAUSE_TIMEOUT },
  { "failed_precondition", PRISM_E2B_CAUSE_STATE },
  { "internal", PRISM_E2B_CAUSE_SERVER },
  { "invalid_argument", PRISM_E2B_CAUSE_INVALID },
  { "not_found", PRISM_E2B_CAUSE_NOT_FOUND },
  { "out_of_range", PRISM_E2B_CAUSE_INVALID },
  { "permission_denied", PRISM_E2B_CAUSE_DENIED },
  { "resource_exhausted", PRISM_E2B_CAUSE_RATE },
  { "unauthenticated", PRISM_E2B_CAUSE_KEY },
  { "unavailable", PRISM_E2B_CAUSE_BUSY },
  { "unimplemented", PRISM_E2B_CAUSE_UNSUPPORTED },
  { "unknown", PRISM_E2B_CAUSE_SERVER },
};

PrismE2bCause
prism_e2b_cause_of_code (const char *connect_code)
{
  for (guint i = 0; connect_code != NULL && i < G_N_ELEMENTS (codes); i++)
    if (strcmp (codes[i].name, connect_code) == 0)
      return codes[i].cause;
  return PRISM_E2B_CAUSE_SERVER;
}

/* --- what the server said ------------------------------------------------------------------ */

static char *
quote (const char *text, gsize size, PrismRedactor *redactor)
{
  g_autofree char *valid = g_utf8_make_valid (text, (gssize)MIN (size, 4 * MOST_QUOTED));
  g_autofree char *clean = redactor != NULL ? prism_redactor_redact (redactor, valid) : g_strdup (valid);
  GString *quoted = g_string_new (NULL);

  for (const char *p = clean; *p != 0 && quoted->len < MOST_QUOTED; p = g_utf8_next_char (p))
    {
      gunichar c = g_utf8_get_char (p);
      if (g_unichar_isprint (c))
        g_string_append_unichar (quoted, c);
      else if (quoted->len > 0 && quoted->str[quoted->len - 1] != ' ')
        g_string_append_c (quoted, ' ');
    }
  g_strstrip (quoted->str);
  return g_string_free (quoted, FALSE);
}

/* A page that something in between answered says less than its status. */
static gboolean
is_page (const char *text, gsize size)
{
  while (size > 0 && g_ascii_isspace (*text))
    text++, size--;
  return size > 0 && *text == '<';
}

typedef struct
{
  PrismE2bCause cause;
  char *words;      /* the server's, or NULL */
  char *error_code; /* REST's, or NULL */
  gboolean page;
} Said;

static void
said_clear (Said *said)
{
  g_free (said->words);
  g_free (said->error_code);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Said, said_clear)

/* A Connect code in the body says more than the status does; REST's own code says the same. */
static void
look (const PrismE2bFailure *failure, PrismRedactor *redactor, Said *said)
{
  gsize size = 0;
  const char *text = failure->body != NULL ? g_bytes_get_data (failure->body, &size) : NULL;
  g_autoptr (JsonNode) node = size > 0 ? prism_http_json_parse (failure->body, NULL) : NULL;
  const char *code = prism_http_json_text (prism_http_json_get (node, "code", NULL));
  const char *words = prism_http_json_text (prism_http_json_get (node, "message", NULL));

  *said = (Said){ .cause = prism_e2b_cause_of_status (failure->plane, failure->status) };
  if (code != NULL && failure->plane == PRISM_E2B_PLANE_DATA && said->cause != PRISM_E2B_CAUSE_GONE)
    said->cause = prism_e2b_cause_of_code (code);
  said->error_code = g_strdup (prism_http_json_text (prism_http_json_get (node, "error_code", NULL)));
  said->page = text != NULL && node == NULL && is_page (text, size);
  if (words != NULL)
    said->words = quote (words, strlen (words), redactor);
  else if (text != NULL && node == NULL && !said->page)
    said->words = quote (text, size, redactor);
}

static gboolean
is_certain (const PrismE2bFailure *failure, const Said *said)
{
  static const char *const untouched[] = { "sandbox_capacity_unavailable", "sandbox_no_compatible_node", NULL };

  if (failure->status >= 400 && failure->status <= 499)
    return failure->status != 408 && failure->status != 499;
  return said->error_code != NULL && g_strv_contains (untouched, said->error_code);
}

gboolean
prism_e2b_failure_is_certain (const PrismE2bFailure *failure)
{
  g_auto (Said) said = { 0 };

  look (failure, NULL, &said);
  return is_certain (failure, &said);
}

static const char *
unknown_outcome (gboolean certain, gboolean idempotent)
{
  return certain || idempotent ? "" : "; whether it was done is not known";
}

GError *
prism_e2b_failure_to_error (const PrismE2bFailure *failure, PrismRedactor *redactor, PrismE2bCause *cause)
{
  g_auto (Said) said = { 0 };
  g_autoptr (GString) text = g_string_new (NULL);
  gboolean certain, open;

  look (failure, redactor, &said);
  certain = is_certain (failure, &said);
  open = !certain && !failure->idempotent && said.cause != PRISM_E2B_CAUSE_GONE;
  g_string_append_printf (text, "cannot %s: %s (HTTP %u", failure->what, causes[said.cause].text, failure->status);
  if (failure->request_id != NULL)
    {
      g_autofree char *id = quote (failure->request_id, strlen (failure->request_id), redactor);
      g_string_append_printf (text, ", request %s", id);
    }
  g_string_append_c (text, ')');
  if (said.words != NULL && *said.words != 0)
    g_string_append_printf (text, ": “%s”", said.words);
  else if (said.page)
    g_string_append (text, ": a page that is not the service's own");
  /* That nothing was done may be said only where that is so. */
  if (open)
    g_string_append (text, unknown_outcome (FALSE, FALSE));
  else
    g_string_append_printf (text, "; %s", causes[said.cause].hint);
  if (cause != NULL)
    *cause = said.cause;
  return g_error_new_literal (PRISM_SANDBOX_ERROR, open ? PRISM_SANDBOX_ERROR_LOST : causes[said.cause].code,
                              text->str);
}

gboolean
prism_e2b_end_parse (
    const guint8 *data, gsize size, const char *what, PrismRedactor *redactor, PrismE2bCause *cause, GError **error)
{
  g_autoptr (GBytes) bytes = g_bytes_new_static (data, size);
  g_autoptr (JsonNode) node = prism_http_json_parse (bytes, NULL);
  JsonNode *failure = prism_e2b_json_get (node, "error");
  const char *code = prism_http_json_text (prism_http_json_get (failure, "code", NULL));
  const char *message = prism_http_json_text (prism_http_json_get (failure, "message", NULL));
  g_autofree char *words = message != NULL ? quote (message, strlen (message), redactor) : NULL;

  if (prism_http_json_object (node) != NULL && failure == NULL)
    return TRUE;
  *cause = prism_http_json_object (node) == NULL ? PRISM_E2B_CAUSE_PROTOCOL : prism_e2b_cause_of_code (code);
  g_set_error (error, PRISM_SANDBOX_ERROR, causes[*cause].code, "cannot %s: %s%s%s%s; %s", what, causes[*cause].text,
               words != NULL ? ": “" : "", words != NULL ? words : "", words != NULL ? "”" : "", causes[*cause].hint);
  return FALSE;
}

/* --- what the way there said ----------------------------------------------------------------- */

GError *
prism_e2b_transport_to_error (const GError *failure, const char *what, gboolean idempotent)
{
  const char *hint = "check the network, and the properties domain, api-url and sandbox-url";
  int code = PRISM_SANDBOX_ERROR_UNAVAILABLE;
  gboolean before = FALSE; /* it failed before anything was asked */

  if (failure->domain == PRISM_SANDBOX_ERROR)
    return g_error_copy (failure);
  if (g_error_matches (failure, G_IO_ERROR, G_IO_ERROR_CANCELLED))
    return g_error_new (PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_CANCELLED, "cannot %s: cancelled%s", what,
                        unknown_outcome (FALSE, idempotent));
  if (g_error_matches (failure, G_IO_ERROR, G_IO_ERROR_TIMED_OUT))
    return g_error_new (PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_TIMEOUT, "cannot %s: no answer in time%s", what,
                        unknown_outcome (FALSE, idempotent));
  if (failure->domain == G_RESOLVER_ERROR)
    {
      before = TRUE;
      hint = "the name does not resolve: check DNS, and the properties domain, api-url and sandbox-url";
    }
  else if (failure->domain == G_TLS_ERROR)
    {
      before = TRUE;
      hint = "the server's certificate is not trusted, or is not for that name; certificates are always checked";
    }
  else if (g_error_matches (failure, G_IO_ERROR, G_IO_ERROR_CONNECTION_REFUSED)
           || g_error_matches (failure, G_IO_ERROR, G_IO_ERROR_HOST_UNREACHABLE)
           || g_error_matches (failure, G_IO_ERROR, G_IO_ERROR_NETWORK_UNREACHABLE)
           || g_error_matches (failure, G_IO_ERROR, G_IO_ERROR_PROXY_FAILED)
           || g_error_matches (failure, G_IO_ERROR, G_IO_ERROR_HOST_NOT_FOUND))
    before = TRUE;
  if (!before && !idempotent)
    code = PRISM_SANDBOX_ERROR_LOST;
  return g_error_new (PRISM_SANDBOX_ERROR, code, "cannot %s: %s%s; %s", what, failure->message,
                      unknown_outcome (before, idempotent), hint);
}

int
prism_e2b_retry_after_parse (const char *header)
{
  guint64 seconds;

  return header != NULL && g_ascii_string_to_unsigned (header, 10, 0, 3600, &seconds, NULL) ? (int)seconds : -1;
}
