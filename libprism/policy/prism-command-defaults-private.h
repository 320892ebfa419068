/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-command-lexer-private.h"

G_BEGIN_DECLS

/* What nobody wants a model to run, whatever its rules say: why the first of the line's
 * commands that is such is one, and which; NULL: none is. Advice, and no boundary: the
 * sandbox is that. */
const char *prism_command_default_deny (const PrismShellLine *line, guint *index);

G_END_DECLS
