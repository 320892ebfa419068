/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* Whether @text makes @program, named without its folder, do more than its name says.
 * @first_operand: it is the first argument that is no option. */
gboolean prism_command_argument_is_dangerous (const char *program, const char *text, gboolean first_operand);

/* Whether NAME=VALUE in front of a command changes nothing but how it speaks. */
gboolean prism_command_variable_is_harmless (const char *assignment);

G_END_DECLS
