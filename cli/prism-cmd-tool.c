/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* prism tool list: the coding tools. prism tool call NAME JSON: one call of one of them, in a
 * fresh sandbox, under run's options. */
#include "prism-cli-approve.h"
#include "prism-cli-audit.h"
#include "prism-cli-execute.h"
#include "prism-cli-export.h"
#include "prism-cli-json.h"
#include "prism-cli-signals.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define EXIT_TOOL_FAILED 1
#define MOST_ARGUMENTS   (200 * 1024 * 1024)

/* --- list --------------------------------------------------------------------------------- */

static PrismComposition *
compose_to_look (GError **error)
{
  static const char *const nothing[] = { "true", NULL };
  g_autoptr (PrismComposition) composition = prism_composition_new (PRISM_COMPOSITION_MODE_HOST);
  g_autoptr (GFile) folder = g_file_new_for_path ("/");

  prism_composition_set_folder (composition, folder);
  g_object_set (composition, "git", TRUE, NULL);
  if (!prism_composition_add_check (composition, "example", nothing, 0, error)
      || !prism_composition_bind (composition, NULL, error))
    return NULL;
  return g_steal_pointer (&composition);
}

char **
prism_cmd_tool_names (void)
{
  g_autoptr (PrismComposition) composition = compose_to_look (NULL);
  GListModel *tools = composition != NULL ? prism_composition_get_tools (composition) : NULL;
  guint n = tools != NULL ? g_list_model_get_n_items (tools) : 0;
  char **names = g_new0 (char *, n + 1);

  for (guint i = 0; i < n; i++)
    {
      g_autoptr (PrismTool) tool = g_list_model_get_item (tools, i);
      names[i] = prism_tool_dup_name (tool);
    }
  return names;
}

static const char *
effect_word (PrismEffect effect)
{
  static const char *const words[] = { "none", "local_mutation", "external_mutation" };

  return (guint)effect < G_N_ELEMENTS (words) ? words[effect] : "external_mutation";
}

static int
list (const PrismCliOptions *options)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismComposition) composition = compose_to_look (&error);
  g_autoptr (PrismJson) json = prism_json_new ();
  GListModel *tools;

  if (composition == NULL)
    return prism_cli_fail (options, error);
  tools = prism_composition_get_tools (composition);
  prism_json_begin_array (json, NULL);
  for (guint i = 0; i < g_list_model_get_n_items (tools); i++)
    {
      g_autoptr (PrismTool) tool = g_list_model_get_item (tools, i);
      g_autofree char *name = prism_tool_dup_name (tool);
      g_autofree char *description = prism_tool_dup_description (tool);
      g_autofree char *schema = prism_tool_dup_input_schema (tool);

      if (!options->json)
        {
          g_print ("%-18s %s\n", name, description);
          continue;
        }
      prism_json_begin_object (json, NULL);
      prism_json_string (json, "name", name);
      prism_json_string (json, "description", description);
      prism_json_string (json, "effect", effect_word (prism_tool_get_effect (tool)));
      prism_json_boolean (json, "exclusive", prism_tool_get_exclusive (tool));
      prism_json_raw (json, "input_schema", schema);
      prism_json_end_object (json);
    }
  prism_json_end_array (json);
  if (options->json && !prism_json_print (json, STDOUT_FILENO))
    return prism_cli_unwritten (errno);
  return 0;
}

/* --- call ------------------------------------------------------------------------------------ */

/* What "-" stands for. */
static char *
read_arguments (GError **error)
{
  GString *text = g_string_new (NULL);
  char buffer[65536];
  ssize_t n;

  while ((n = read (STDIN_FILENO, buffer, sizeof buffer)) != 0)
    {
      if (n < 0 && errno == EINTR)
        continue;
      if (n < 0 || text->len > MOST_ARGUMENTS || memchr (buffer, 0, (gsize)n) != NULL)
        {
          prism_cli_bad_value (error, _ ("tool call: the arguments cannot be read from the standard input"));
          g_string_free (text, TRUE);
          return NULL;
        }
      g_string_append_len (text, buffer, n);
    }
  return g_string_free (text, FALSE);
}

static PrismComposition *
compose (const PrismCliOptions *options, PrismSandboxSpec *spec, PrismSandbox *sandbox, GError **error)
{
  g_autoptr (PrismComposition) composition = prism_composition_new (PRISM_COMPOSITION_MODE_SANDBOX);
  g_autoptr (GError) wrong = NULL;
  g_autoptr (PrismApprovalPolicy) policy = prism_cli_approve_policy (options, spec, &wrong);
  GFile *workspace = prism_sandbox_spec_get_workspace (spec);
  g_autofree char *path = workspace != NULL ? g_file_get_path (workspace) : NULL;

  prism_composition_set_sandbox (composition, sandbox);
  prism_composition_set_workspace (composition, path);
  if (wrong != NULL)
    {
      g_propagate_error (error, g_steal_pointer (&wrong));
      return NULL;
    }
  if (policy != NULL)
    {
      prism_composition_set_policy (composition, PRISM_POLICY (policy));
      prism_composition_set_suspensions (composition, prism_approval_policy_get_suspensions (policy));
    }
  g_object_set (composition, "git", TRUE, NULL);
  return prism_composition_bind (composition, NULL, error) ? g_steal_pointer (&composition) : NULL;
}

static PrismTool *
find_tool (PrismComposition *composition, const char *name, GError **error)
{
  PrismTool *tool = prism_composition_find_tool (composition, name);

  if (tool == NULL)
    prism_cli_bad_value (error, _ ("tool call: no tool is called “%s”; prism tool list shows them"), name);
  return tool;
}

static PrismToolResult *
call_in (PrismSandbox *sandbox,
         PrismSandboxSpec *spec,
         const PrismCliOptions *options,
         const char *name,
         const char *arguments,
         GCancellable *cancellable,
         GError **error)
{
  g_autoptr (PrismComposition) composition = compose (options, spec, sandbox, error);
  g_autoptr (PrismTool) tool = composition != NULL ? find_tool (composition, name, error) : NULL;
  g_autofree char *run = g_uuid_string_random ();
  g_autoptr (PrismToolContext) context = prism_tool_context_new (run, NULL, NULL);

  return tool != NULL ? prism_tool_call (tool, arguments, context, cancellable, error) : NULL;
}

/* Also where the tool failed, as prism run does whatever a command's exit status. */
static gboolean
export_copy (const PrismCliOptions *options, PrismSandbox *sandbox, GCancellable *cancellable, GError **error)
{
  g_autoptr (PrismTreeIdentity) identity = NULL;

  if (options->export_path == NULL || g_cancellable_is_cancelled (cancellable))
    return TRUE;
  identity = prism_cli_export (sandbox, options->export_path, options->quiet, cancellable, error);
  if (identity == NULL)
    return FALSE;
  if (!options->quiet)
    prism_cli_export_explain (identity, options->export_path);
  return TRUE;
}

static gboolean
flush_audit (PrismSandboxSpec *spec, GError **error)
{
  g_autoptr (PrismAuditLog) audit = NULL;

  g_object_get (spec, "audit", &audit, NULL);
  return prism_cli_audit_flush (audit, error);
}

static PrismToolResult *
call (
    const PrismCliOptions *options, const char *name, const char *arguments, GCancellable *cancellable, GError **error)
{
  g_autoptr (PrismBackend) backend = prism_cli_options_backend (options, error);
  g_autoptr (PrismSandboxSpec) spec = backend != NULL ? prism_cli_options_spec (options, backend, error) : NULL;
  g_autoptr (PrismSandbox) sandbox =
      spec != NULL ? prism_backend_create_sandbox (backend, spec, cancellable, error) : NULL;
  g_autoptr (GError) unclosed = NULL;
  PrismToolResult *result;

  if (sandbox == NULL)
    return NULL;
  result = call_in (sandbox, spec, options, name, arguments, cancellable, error);
  if (result != NULL && !export_copy (options, sandbox, cancellable, error))
    g_clear_object (&result);
  if (!prism_sandbox_close (sandbox, NULL, &unclosed) && result != NULL)
    {
      g_clear_object (&result);
      g_propagate_prefixed_error (error, g_steal_pointer (&unclosed), _ ("removing the sandbox: "));
    }
  if (result != NULL && !flush_audit (spec, error))
    g_clear_object (&result);
  return result;
}

static int
status_of (PrismToolResult *result)
{
  if (!prism_tool_result_get_failed (result))
    return 0;
  switch (prism_tool_result_get_code (result))
    {
    case PRISM_TOOL_ERROR_DENIED:
    case PRISM_TOOL_ERROR_SUSPENDED:
      return PRISM_EXIT_NOT_STARTABLE;
    case PRISM_TOOL_ERROR_TIMEOUT:
      return PRISM_EXIT_TIMED_OUT;
    default:
      return EXIT_TOOL_FAILED;
    }
}

static gboolean
write_text (const char *text)
{
  gsize size = strlen (text);

  while (size > 0)
    {
      ssize_t n = write (STDOUT_FILENO, text, size);
      if (n < 0 && errno == EINTR)
        continue;
      if (n <= 0)
        return FALSE;
      text += n;
      size -= (gsize)n;
    }
  return TRUE;
}

static gboolean
print_result (PrismToolResult *result, gboolean json)
{
  g_autofree char *text = json ? prism_tool_result_to_json (result) : prism_tool_result_dup_text (result);
  gboolean written = write_text (text) && (g_str_has_suffix (text, "\n") || *text == '\0' || write_text ("\n"));

  for (guint i = 0; !json && i < prism_tool_result_get_n_parts (result); i++)
    if (prism_tool_result_get_part_image (result, i) != NULL)
      prism_cli_message (_ ("an image (%s) is only in the JSON; add --json"),
                         prism_tool_result_get_part_type (result, i));
  if (!json && prism_tool_result_get_failed (result))
    prism_cli_message ("%s", prism_tool_result_get_message (result));
  return written;
}

static int
run_call (const PrismCliOptions *options, const char *name, const char *written)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GError) error = NULL;
  g_autofree char *arguments = g_str_equal (written, "-") ? read_arguments (&error) : g_strdup (written);
  g_autoptr (PrismToolResult) result = NULL;

  prism_cli_signals_block (cancellable);
  prism_cli_signals_start ();
  if (arguments != NULL)
    result = call (options, name, arguments, cancellable, &error);
  if (result == NULL && prism_cli_signals_received () != 0)
    return PRISM_EXIT_SIGNAL + prism_cli_signals_received ();
  if (result == NULL)
    return prism_cli_fail (options, error);
  if (!print_result (result, options->json))
    return prism_cli_unwritten (errno);
  return status_of (result);
}

/* What a call has no use for, or says itself. */
static gboolean
check_options (const PrismCliOptions *options, GError **error)
{
  if (options->tty || options->no_tty || options->no_input)
    return prism_cli_bad_value (error, _ ("tool call: --tty, --no-tty and --no-input are for prism run: a tool has "
                                          "neither a terminal nor an input"));
  if (options->timeout != NULL)
    return prism_cli_bad_value (
        error,
        _ ("tool call: --timeout is for prism run: a tool that may take long has one among its arguments, in JSON"));
  return TRUE;
}

/* NAME and JSON may come before the options or after them. */
static int
parse_call (int argc, char **argv)
{
  g_auto (PrismCliOptions) options = { 0 };
  g_autoptr (GError) error = NULL;
  gboolean first = argc > 2 && argv[1][0] != '-';
  const char *name = first ? argv[1] : NULL, *arguments = first ? argv[2] : NULL;

  if (first)
    {
      argv[2] = argv[0];
      argv += 2;
      argc -= 2;
    }
  if (!prism_cli_options_parse (&options, prism_cli_find_command ("tool"), argc, argv, &error)
      || !check_options (&options, &error))
    return prism_cli_fail (&options, error);
  if (!first && options.argv[0] != NULL && options.argv[1] != NULL && options.argv[2] == NULL)
    {
      name = options.argv[0];
      arguments = options.argv[1];
    }
  else if (!first || options.argv[0] != NULL)
    {
      prism_cli_bad_value (&error, _ ("tool call: say prism tool call NAME JSON [OPTIONS], with - for JSON to read it "
                                      "from the standard input"));
      return prism_cli_fail (&options, error);
    }
  return run_call (&options, name, arguments);
}

int
prism_cmd_tool (int argc, char **argv)
{
  g_auto (PrismCliOptions) options = { 0 };
  g_autoptr (GError) error = NULL;

  if (argc > 1 && g_str_equal (argv[1], "call"))
    {
      argv[1] = argv[0];
      return parse_call (argc - 1, argv + 1);
    }
  if (argc > 1 && g_str_equal (argv[1], "list"))
    {
      argv[1] = argv[0];
      if (!prism_cli_options_parse (&options, prism_cli_find_command ("tool"), argc - 1, argv + 1, &error))
        return prism_cli_fail (&options, error);
      if (options.argv[0] == NULL)
        return list (&options);
    }
  else if (!prism_cli_options_parse (&options, prism_cli_find_command ("tool"), argc, argv, &error))
    return prism_cli_fail (&options, error);
  prism_cli_bad_value (&error, _ ("tool: say prism tool list [--json], or prism tool call NAME JSON [OPTIONS]"));
  return prism_cli_fail (&options, error);
}
