/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rules come from who owns the sandbox, names from inside it. A hostile name can
 * ask, but never insert: it costs one hash over its bytes, at most one probe
 * sequence for each of its labels, and a binary search in what that finds. */
#include "prism-rule-index-private.h"

#include <string.h>

/* All rules of one host, or of one domain. */
typedef struct
{
  guint64 hash;
  const PrismHostPattern *pattern; /* NULL: a free slot */
  guint first, count;              /* in sorted */
} Group;

struct _PrismRuleIndex
{
  PrismEgressRule **sorted;
  guint any_count; /* the first of sorted: rules for every host */
  Group *groups;
  guint mask; /* number of slots - 1; a power of two */
};

/* FNV-1a from the last byte to the first: so that one pass over a name gives the
 * hash of every suffix on its way. */
#define HASH_START      G_GUINT64_CONSTANT (0xcbf29ce484222325)
#define HASH_STEP(h, c) (((h) ^ (guint8)(c)) * G_GUINT64_CONSTANT (0x100000001b3))

static guint64
finish_hash (guint64 hash, gboolean domain)
{
  hash = HASH_STEP (hash, domain ? '.' : 0);
  return hash ^ (hash >> 32);
}

static guint64
hash_pattern (const PrismHostPattern *pattern)
{
  guint64 hash = HASH_START;

  for (guint i = pattern->host.length; i > 0; i--)
    hash = HASH_STEP (hash, pattern->host.text[i - 1]);
  return finish_hash (hash, pattern->domain);
}

static int
compare_place (guint16 port, PrismEgressScheme scheme, const PrismEgressRule *rule)
{
  if (port != rule->port)
    return port < rule->port ? -1 : 1;
  return scheme == rule->scheme ? 0 : scheme < rule->scheme ? -1 : 1;
}

static int
compare_rules (gconstpointer a, gconstpointer b)
{
  const PrismEgressRule *left = *(PrismEgressRule *const *)a, *right = *(PrismEgressRule *const *)b;
  int order = right->any - left->any;

  if (order == 0)
    order = left->pattern.domain - right->pattern.domain;
  if (order == 0)
    order = strcmp (left->pattern.host.text, right->pattern.host.text);
  if (order == 0)
    order = compare_place (left->port, left->scheme, right);
  return order != 0 ? order : (int)right->flags - (int)left->flags;
}

static gboolean
same_host (const PrismEgressRule *a, const PrismEgressRule *b)
{
  return a->pattern.domain == b->pattern.domain && strcmp (a->pattern.host.text, b->pattern.host.text) == 0;
}

static void
add_group (PrismRuleIndex *self, guint first, guint count)
{
  const PrismHostPattern *pattern = &self->sorted[first]->pattern;
  guint64 hash = hash_pattern (pattern);
  guint slot = (guint)hash & self->mask;

  while (self->groups[slot].pattern != NULL)
    slot = (slot + 1) & self->mask;
  self->groups[slot] = (Group){ hash, pattern, first, count };
}

PrismRuleIndex *
prism_rule_index_new (PrismEgressRule *const *rules, guint n_rules)
{
  PrismRuleIndex *self = g_new0 (PrismRuleIndex, 1);
  guint slots = 2;

  while (slots < 2 * n_rules)
    slots *= 2;
  self->mask = slots - 1;
  self->groups = g_new0 (Group, slots);
  self->sorted = g_new (PrismEgressRule *, n_rules);
  for (guint i = 0; i < n_rules; i++)
    self->sorted[i] = rules[i];
  if (n_rules > 1)
    qsort (self->sorted, n_rules, sizeof *self->sorted, compare_rules);
  while (self->any_count < n_rules && self->sorted[self->any_count]->any)
    self->any_count++;
  for (guint i = self->any_count, first = i; i < n_rules; i++)
    if (i + 1 == n_rules || !same_host (self->sorted[i], self->sorted[i + 1]))
      {
        add_group (self, first, i + 1 - first);
        first = i + 1;
      }
  return self;
}

void
prism_rule_index_free (PrismRuleIndex *self)
{
  g_free (self->groups);
  g_free (self->sorted);
  g_free (self);
}

/* The first rule of the group for exactly this port and scheme. */
static PrismEgressRule *
find_place (PrismEgressRule *const *rules, guint count, guint16 port, PrismEgressScheme scheme)
{
  guint low = 0, high = count;

  while (low < high)
    {
      guint middle = low + (high - low) / 2;

      if (compare_place (port, scheme, rules[middle]) > 0)
        low = middle + 1;
      else
        high = middle;
    }
  return low < count && compare_place (port, scheme, rules[low]) == 0 ? rules[low] : NULL;
}

static PrismEgressRule *
find_in (PrismEgressRule *const *rules, guint count, guint16 port, PrismEgressScheme scheme)
{
  PrismEgressRule *rule = find_place (rules, count, port, scheme);

  if (rule == NULL)
    rule = find_place (rules, count, port, PRISM_EGRESS_SCHEME_ANY);
  if (rule == NULL)
    rule = find_place (rules, count, 0, scheme);
  return rule != NULL ? rule : find_place (rules, count, 0, PRISM_EGRESS_SCHEME_ANY);
}

static const Group *
find_group (const PrismRuleIndex *self, guint64 hash, gboolean domain, const char *text, gsize length)
{
  for (guint slot = (guint)hash & self->mask; self->groups[slot].pattern != NULL; slot = (slot + 1) & self->mask)
    {
      const Group *group = &self->groups[slot];

      if (group->hash == hash && group->pattern->domain == domain && group->pattern->host.length == length
          && memcmp (group->pattern->host.text, text, length) == 0)
        return group;
    }
  return NULL;
}

static PrismEgressRule *
find_host (const PrismRuleIndex *self,
           guint64 hash,
           gboolean domain,
           const char *text,
           gsize length,
           guint16 port,
           PrismEgressScheme scheme)
{
  const Group *group = find_group (self, finish_hash (hash, domain), domain, text, length);

  return group != NULL ? find_in (self->sorted + group->first, group->count, port, scheme) : NULL;
}

PrismEgressRule *
prism_rule_index_find (const PrismRuleIndex *self, const PrismHost *host, guint16 port, PrismEgressScheme scheme)
{
  PrismEgressRule *best = find_in (self->sorted, self->any_count, port, scheme), *rule;
  gboolean name = host->kind == PRISM_HOST_NAME;
  guint64 hash = HASH_START;

  for (guint i = host->length; i > 0; i--)
    {
      hash = HASH_STEP (hash, host->text[i - 1]);
      if (!name || (i > 1 && host->text[i - 2] != '.'))
        continue;
      rule = find_host (self, hash, TRUE, host->text + i - 1, host->length - (i - 1), port, scheme);
      if (rule != NULL)
        best = rule;
    }
  rule = find_host (self, hash, FALSE, host->text, host->length, port, scheme);
  return rule != NULL ? rule : best;
}
