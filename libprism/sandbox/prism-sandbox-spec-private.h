/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-sandbox-spec.h"

G_BEGIN_DECLS

/* A sandbox is made of it now: the setters refuse from here on. */
void prism_sandbox_spec_freeze (PrismSandboxSpec *self);

G_END_DECLS
