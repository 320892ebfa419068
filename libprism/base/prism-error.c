/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What an error is called and what is known about it, found by its structure
 * alone: domain, code, and its origin, which is the backend's name that starts
 * the message ("NAME: …"). Bindings hand on nothing else of a GError, so
 * nothing else may matter. */
#include "prism-error-private.h"

#include <string.h>

/**
 * prism_limit_error_quark:
 *
 * The domain of [error@LimitError].
 *
 * Returns: a quark
 *
 * Since: 1.0
 */
G_DEFINE_QUARK (prism-limit-error-quark, prism_limit_error);

/* Who registers is a plug-in: few, but a bug there must not eat memory. */
#define MAX_RULES 4096

typedef struct
{
  GQuark domain;
  int code;
  const char *origin; /* NULL = any */
  const char *name;   /* a code's name, or NULL and the three below */
  const char *id;
  const char *text;
  const char *hint;
} Rule;

static GMutex lock;
static GArray *rules; /* Rule; only grows, so what was handed out stays valid */

static const PrismErrorCodeName limit_names[] = {
  { PRISM_LIMIT_ERROR_RANGE, "ERR_PRISM_LIMIT_RANGE" },
  { PRISM_LIMIT_ERROR_UNKNOWN, "ERR_PRISM_LIMIT_UNKNOWN" },
  { PRISM_LIMIT_ERROR_FROZEN, "ERR_PRISM_LIMIT_FROZEN" },
  { 0, NULL },
};

static void
add_rule_locked (const Rule *rule)
{
  if (rules == NULL)
    rules = g_array_new (FALSE, FALSE, sizeof (Rule));
  if (rules->len >= MAX_RULES)
    g_critical ("more than %d error names and explanations", MAX_RULES);
  else
    g_array_append_val (rules, *rule);
}

static gboolean
same_key (const Rule *a, const Rule *b)
{
  return a->domain == b->domain && a->code == b->code && a->origin == b->origin
         && (a->name == NULL) == (b->name == NULL);
}

/* The newest wins: a plug-in that is loaded twice, or an app that knows better. */
static void
add_rule (const Rule *rule)
{
  g_mutex_lock (&lock);
  for (guint i = 0; rules != NULL && i < rules->len; i++)
    if (same_key (&g_array_index (rules, Rule, i), rule))
      {
        g_array_index (rules, Rule, i) = *rule;
        g_mutex_unlock (&lock);
        return;
      }
  add_rule_locked (rule);
  g_mutex_unlock (&lock);
}

static gboolean
origin_matches (const char *origin, const char *message)
{
  gsize length = strlen (origin);
  return message != NULL && strncmp (message, origin, length) == 0 && message[length] == ':';
}

/* Higher is more specific; 0 is no match. */
static int
rule_rank (const Rule *rule, const GError *error)
{
  if (rule->domain != error->domain || (rule->code != PRISM_ANY_CODE && rule->code != error->code))
    return 0;
  if (rule->origin != NULL && !origin_matches (rule->origin, error->message))
    return 0;
  return 1 + (rule->code != PRISM_ANY_CODE ? 1 : 0) + (rule->origin != NULL ? 2 : 0);
}

static gboolean
find_rule (const GError *error, gboolean named, Rule *found)
{
  int best = 0;

  g_mutex_lock (&lock);
  for (guint i = 0; rules != NULL && i < rules->len; i++)
    {
      const Rule *rule = &g_array_index (rules, Rule, i);
      int rank = (rule->name != NULL) == named ? rule_rank (rule, error) : 0;
      if (rank > best)
        {
          best = rank;
          *found = *rule;
        }
    }
  g_mutex_unlock (&lock);
  return best > 0;
}

void
prism_error_add_domain (GQuark domain, const PrismErrorCodeName *names)
{
  for (; names->name != NULL; names++)
    add_rule (&(Rule){ .domain = domain, .code = names->code, .name = names->name });
}

static void
add_own_names (void)
{
  static gsize once = 0;
  if (g_once_init_enter (&once))
    {
      prism_error_add_domain (PRISM_LIMIT_ERROR, limit_names);
      g_once_init_leave (&once, 1);
    }
}

/**
 * prism_error_get_code_name:
 * @error: an error
 *
 * The exact `ERR_PRISM_…` name of @error. A backend's errors carry the name
 * that its plug-in registered with [func@error_add_code_name].
 *
 * Returns: (transfer none) (nullable): the name, or %NULL for a foreign error
 *
 * Since: 1.0
 */
const char *
prism_error_get_code_name (const GError *error)
{
  Rule rule;

  g_return_val_if_fail (error != NULL, NULL);

  add_own_names ();
  return find_rule (error, TRUE, &rule) ? rule.name : NULL;
}

/**
 * prism_error_add_code_name:
 * @domain: the error's domain
 * @code: its code, or %PRISM_ANY_CODE
 * @origin: (nullable): only errors whose message starts with `ORIGIN:`, which
 *   is how every error of a backend starts; %NULL = any
 * @name: the exact `ERR_PRISM_…` string
 *
 * Registers the name of a backend's errors. The more specific registration
 * wins; of two equal ones the later.
 *
 * Since: 1.0
 */
void
prism_error_add_code_name (GQuark domain, int code, const char *origin, const char *name)
{
  g_return_if_fail (domain != 0 && name != NULL && code >= PRISM_ANY_CODE);

  add_rule (
      &(Rule){ .domain = domain, .code = code, .origin = g_intern_string (origin), .name = g_intern_string (name) });
}

/**
 * prism_explain_add:
 * @domain: the error's domain
 * @code: its code, or %PRISM_ANY_CODE
 * @origin: (nullable): the backend's name, as for [func@error_add_code_name]
 * @id: a stable id such as `sandbox.netns_unavailable`
 * @text: what happened, in one sentence
 * @hint: (nullable): what to do
 *
 * Registers what [func@error_explain] says about an error.
 *
 * Since: 1.0
 */
void
prism_explain_add (GQuark domain, int code, const char *origin, const char *id, const char *text, const char *hint)
{
  g_return_if_fail (domain != 0 && id != NULL && text != NULL && code >= PRISM_ANY_CODE);

  add_rule (&(Rule){ .domain = domain,
                     .code = code,
                     .origin = g_intern_string (origin),
                     .id = g_intern_string (id),
                     .text = g_intern_string (text),
                     .hint = g_intern_string (hint) });
}

gboolean
prism_explain_lookup (const GError *error, const char **id, const char **text, const char **hint)
{
  Rule rule;

  if (!find_rule (error, FALSE, &rule))
    return FALSE;
  *id = rule.id;
  *text = rule.text;
  *hint = rule.hint;
  return TRUE;
}

void
prism_error_set_origin (GError *error, const char *origin)
{
  char *message;

  if (origin == NULL || *origin == '\0' || origin_matches (origin, error->message))
    return;
  message = g_strconcat (origin, ": ", error->message, NULL);
  g_free (error->message);
  error->message = message;
}
