/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the parts of the policy file's reader share: a place in the document, and how a
 * value of each kind is read there. What is wrong is said once, with the path of that
 * place. */
#pragma once

#include "prism-json-private.h"
#include "prism-policy-file-private.h"

G_BEGIN_DECLS

typedef struct
{
  PrismPolicyContents *contents;
  const char *name, *folder;
  GString *path; /* of what is being read */
  PrismJsonFaults faults;
  GError *error;
} PrismPolicyReader;

typedef gboolean (*PrismPolicyRead) (PrismPolicyReader *self, JsonNode *node, gpointer into);

/* Ends with a NULL name. */
typedef struct
{
  const char *name;
  PrismPolicyRead read;
  gboolean required;
  const char *expected; /* (nullable): what a required one may be */
} PrismPolicyMember;

/* Always FALSE. The second takes @reason, the message of a value's own type. */
gboolean prism_policy_refuse (PrismPolicyReader *self, const char *wrong);
gboolean prism_policy_refuse_for (PrismPolicyReader *self, GError *reason);

gboolean prism_policy_read_at (
    PrismPolicyReader *self, const char *name, JsonNode *node, gpointer into, PrismPolicyRead read);
gboolean prism_policy_read_object (PrismPolicyReader *self,
                                   JsonNode *node,
                                   const PrismPolicyMember *members,
                                   gpointer into);
gboolean prism_policy_read_list (PrismPolicyReader *self, JsonNode *node, gpointer into, PrismPolicyRead read);

/* Into a pointer to a string that the document keeps. */
gboolean prism_policy_read_string (PrismPolicyReader *self, JsonNode *node, gpointer into);
gboolean prism_policy_read_boolean (PrismPolicyReader *self, JsonNode *node, gpointer into);
/* One of the words, which end with NULL; its index. */
gboolean
prism_policy_read_word (PrismPolicyReader *self, JsonNode *node, const char *const *words, guint *index);
/* Into a GPtrArray, and absolute from there on. */
gboolean prism_policy_read_path (PrismPolicyReader *self, JsonNode *node, gpointer into);

/* The members, each in a file of its kind. */
gboolean prism_policy_read_egress (PrismPolicyReader *self, JsonNode *node, gpointer into);
gboolean prism_policy_read_credentials (PrismPolicyReader *self, JsonNode *node, gpointer into);
gboolean prism_policy_read_roots (PrismPolicyReader *self, JsonNode *node, gpointer into);
gboolean prism_policy_read_only_flag (PrismPolicyReader *self, JsonNode *node, gpointer into);
gboolean prism_policy_read_metacharacters (PrismPolicyReader *self, JsonNode *node, gpointer into);
gboolean prism_policy_read_command_rules (PrismPolicyReader *self, JsonNode *node, gpointer into);
gboolean prism_policy_read_approval (PrismPolicyReader *self, JsonNode *node, gpointer into);

G_END_DECLS
