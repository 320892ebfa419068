/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <libprism/prism.h>

G_BEGIN_DECLS

/* What a record is about, as a rule says it: https://HOST, http://HOST:8080. */
char *prism_cli_audit_place (const PrismAuditRecord *record);
/* The option that would have allowed what was denied; NULL if none would. */
char *prism_cli_audit_remedy (const PrismAuditRecord *record);
/* The whole record, for people, in one line without its end. */
char *prism_cli_audit_line (const PrismAuditRecord *record, gboolean colours);
/* All of it is written down, or why not; NULL: nothing is to be. What was asked to be and was
 * not is an error of the run. */
gboolean prism_cli_audit_flush (PrismAuditLog *audit, GError **error);

G_END_DECLS
