/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the tests share that use the backend as an application does. Nothing here fails
 * but by an assertion. */
#pragma once

#include <libprism/prism.h>

G_BEGIN_DECLS

PrismSandbox *library_create (PrismBackend *backend, PrismSandboxSpec *spec);
/* What the script, of bash, says on its standard output, without its last line breaks. */
char *library_run (PrismSandbox *sandbox, const char *script);
void library_close (PrismSandbox *sandbox);

G_END_DECLS
