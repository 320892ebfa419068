/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-policy-file.h"

G_BEGIN_DECLS

/* Where a credential's value is; it is never in the file. */
typedef struct
{
  char *host, *header;
  char *variable; /* or */
  char *file;     /* absolute */
} PrismPolicySource;

void prism_policy_source_free (PrismPolicySource *self);

/* What a policy file says. NULL where it says nothing. */
typedef struct
{
  PrismEgressPolicy *egress;
  PrismLimits *limits;
  GPtrArray *credentials;                    /* PrismPolicySource */
  GPtrArray *read_only, *read_write;         /* absolute paths, NULL-terminated once read */
  GPtrArray *hide, *protect, *action_members; /* the same */

  GPtrArray *roots; /* the same */
  GPtrArray *rules; /* PrismCommandRule */
  gboolean only_reads, deny_metacharacters;
  guint cache; /* PrismApprovalCache */
  gint64 timeout_ms;
} PrismPolicyContents;

void prism_policy_contents_init (PrismPolicyContents *self);
void prism_policy_contents_clear (PrismPolicyContents *self);

/* The whole of it as a policy file that says the same, with what it leaves unsaid. */
char *prism_policy_contents_print (const PrismPolicyContents *self);

/* Pure: looks at nothing but the text. @name is how messages call it. */
gboolean prism_policy_contents_read (
    PrismPolicyContents *self, const char *text, gsize length, const char *name, const char *folder, GError **error);

G_END_DECLS
