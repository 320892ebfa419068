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
} PrismPolicyContents;

void prism_policy_contents_init (PrismPolicyContents *self);
void prism_policy_contents_clear (PrismPolicyContents *self);

/* Pure: looks at nothing but the text. @name is how messages call it. */
gboolean prism_policy_contents_read (
    PrismPolicyContents *self, const char *text, gsize length, const char *name, const char *folder, GError **error);

G_END_DECLS
