/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-tool-run-private.h"

G_BEGIN_DECLS

gboolean prism_tool_run_shell (PrismToolRun *run, GError **error);
gboolean prism_tool_run_bash (PrismToolRun *run, GError **error);
gboolean prism_tool_run_read (PrismToolRun *run, GError **error);
gboolean prism_tool_run_write (PrismToolRun *run, GError **error);
gboolean prism_tool_prove_write (PrismToolRun *run);
gboolean prism_tool_run_edit (PrismToolRun *run, GError **error);
void prism_tool_accept_edit (JsonObject *arguments);
gboolean prism_tool_run_list (PrismToolRun *run, GError **error);
gboolean prism_tool_run_ls (PrismToolRun *run, GError **error);
gboolean prism_tool_run_search (PrismToolRun *run, GError **error);
gboolean prism_tool_run_glob (PrismToolRun *run, GError **error);
gboolean prism_tool_run_delete (PrismToolRun *run, GError **error);
gboolean prism_tool_prove_delete (PrismToolRun *run);
/* Known to be not there, and not only not found. */
gboolean prism_tool_is_absent (PrismToolRun *run, const char *path);
gboolean prism_tool_run_move (PrismToolRun *run, GError **error);
gboolean prism_tool_prove_move (PrismToolRun *run);
gboolean prism_tool_run_check (PrismToolRun *run, GError **error);
/* Every one of @names is declared and may run; nothing ran. */
gboolean prism_tool_checks_may_run (PrismToolRun *run, JsonArray *names, GError **error);
/* Runs them, and says in the metadata how each ended. */
gboolean prism_tool_add_checks (PrismToolRun *run, JsonArray *names, GError **error);
gboolean prism_tool_run_ask (PrismToolRun *run, GError **error);

G_END_DECLS
