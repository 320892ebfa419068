/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-sandbox.h"
#include "prism-tree-private.h"

G_BEGIN_DECLS

#define PRISM_TYPE_SANDBOX_TREE (prism_sandbox_tree_get_type ())
G_DECLARE_FINAL_TYPE (PrismSandboxTree, prism_sandbox_tree, PRISM, SANDBOX_TREE, PrismTree)

PrismTree *prism_sandbox_tree_new (PrismSandbox *sandbox, GError **error);

G_END_DECLS
