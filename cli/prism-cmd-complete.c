/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* prism complete WORD…: what could stand in the place of the last word, one
 * candidate a line. The shells' completion scripts call this, so that they
 * cannot go stale. A line that starts with ":" tells the script what else to
 * offer: ":files", ":folders" or ":commands". */
#include "prism-cli-options.h"

#include "prism-cli-property.h"

#include <string.h>

static void
offer (const char *prefix, const char *candidate, const char *suffix)
{
  if (g_str_has_prefix (candidate, prefix))
    g_print ("%s%s\n", candidate, suffix);
}

static void
offer_strv (const char *prefix, char **candidates, const char *suffix)
{
  for (guint i = 0; candidates != NULL && candidates[i] != NULL; i++)
    offer (prefix, candidates[i], suffix);
  g_strfreev (candidates);
}

static void
offer_enum (const char *prefix, GType type)
{
  GEnumClass *klass = g_type_class_ref (type);

  for (guint i = 0; i < klass->n_values; i++)
    offer (prefix, klass->values[i].value_nick, "");
  g_type_class_unref (klass);
}

/* A list separated by commas: the part after the last one is completed. */
static void
offer_controls (const char *prefix)
{
  GFlagsClass *klass = g_type_class_ref (PRISM_TYPE_CONTROLS);
  const char *comma = strrchr (prefix, ',');
  g_autofree char *before = comma != NULL ? g_strndup (prefix, comma + 1 - prefix) : g_strdup ("");

  for (guint i = 0; i < klass->n_values; i++)
    {
      g_autofree char *candidate = g_strconcat (before, klass->values[i].value_nick, NULL);

      if (klass->values[i].value != 0)
        offer (prefix, candidate, "");
    }
  g_type_class_unref (klass);
}

static const char *
backend_of (char **words)
{
  for (guint i = 0; words[i] != NULL && words[i + 1] != NULL; i++)
    if (g_str_equal (words[i], "-b") || g_str_equal (words[i], "--backend"))
      return words[i + 1];
    else if (g_str_has_prefix (words[i], "--backend="))
      return words[i] + strlen ("--backend=");

  return PRISM_CLI_USUAL_BACKEND;
}

static void
offer_settings (const char *prefix, GType type)
{
  const char *equals = strchr (prefix, '=');
  g_autofree GParamSpec **pspecs = NULL;
  guint n = 0;

  if (type == G_TYPE_INVALID)
    return;
  pspecs = prism_cli_list_properties (type, &n);
  for (guint i = 0; i < n; i++)
    if (!prism_cli_property_is_settable (pspecs[i]))
      continue;
    else if (equals == NULL)
      offer (prefix, pspecs[i]->name, "=");
    else if (strlen (pspecs[i]->name) == (gsize)(equals - prefix) && g_str_has_prefix (prefix, pspecs[i]->name))
      {
        g_autofree char *range = G_IS_PARAM_SPEC_ENUM (pspecs[i])      ? prism_cli_property_range (pspecs[i])
                                 : G_IS_PARAM_SPEC_BOOLEAN (pspecs[i]) ? g_strdup ("true, false")
                                                                       : g_strdup ("");
        g_auto (GStrv) values = g_strsplit (range, ", ", -1);

        for (guint j = 0; values[j] != NULL; j++)
          {
            g_autofree char *candidate = g_strdup_printf ("%s=%s", pspecs[i]->name, values[j]);

            offer (prefix, candidate, "");
          }
      }
}

static void
offer_value (const char *option, const char *prefix, char **words)
{
  static const char *const files[] = { "ro",     "rw",    "hide",   "protect",    "export",
                                       "policy", "audit", "attest", "attest-key", NULL };

  PrismRegistry *registry = prism_registry_get_default ();

  if (g_str_equal (option, "backend"))
    offer_strv (prefix, prism_registry_list_backends (registry), "");
  else if (g_str_equal (option, "workspace") || g_str_equal (option, "suspend"))
    g_print (":folders\n");
  else if (g_str_equal (option, "workspace-mode"))
    offer_enum (prefix, PRISM_TYPE_WORKSPACE_MODE);
  else if (g_str_equal (option, "network"))
    offer_strv (prefix, g_strsplit ("none egress", " ", -1), "");
  else if (g_str_equal (option, "preset"))
    offer_strv (prefix, prism_egress_policy_list_presets (), "");
  else if (g_str_equal (option, "listen"))
    offer_strv (prefix, g_strsplit ("127.0.0.1:3128 unix:", " ", -1), "");
  else if (g_str_equal (option, "proxy-set"))
    offer_settings (prefix, prism_registry_get_egress_proxy_type (registry, NULL, NULL));
  else if (g_str_equal (option, "approve"))
    offer_strv (prefix, g_strsplit ("never ask always", " ", -1), "");
  else if (g_str_equal (option, "limit"))
    {
      g_autoptr (PrismLimits) limits = prism_limits_new (PRISM_LIMITS_PROFILE_STANDARD);

      offer_strv (prefix, prism_limits_list_names (limits), "=");
    }
  else if (g_str_equal (option, "env"))
    offer_strv (prefix, g_listenv (), "");
  else if (g_str_equal (option, "require"))
    offer_controls (prefix);
  else if (g_str_equal (option, "set"))
    offer_settings (prefix, prism_registry_get_backend_type (registry, backend_of (words), NULL));
  else if (g_strv_contains (files, option))
    g_print (":files\n");
}

static const GOptionEntry *
find_entry (const GOptionEntry *entries, const char *word)
{
  for (; entries != NULL && entries->long_name != NULL; entries++)
    if ((g_str_has_prefix (word, "--") && g_str_equal (word + 2, entries->long_name))
        || (word[0] == '-' && word[1] == entries->short_name && word[1] != '\0' && word[2] == '\0'))
      return entries;

  return NULL;
}

static void
offer_options (const char *prefix, const GOptionEntry *entries)
{
  for (; entries != NULL && entries->long_name != NULL; entries++)
    {
      g_autofree char *option = g_strconcat ("--", entries->long_name, NULL);

      offer (prefix, option, "");
    }
  offer (prefix, "--help", "");
}

/* A verb, a folder, and what waits there. */
static void
offer_approvals (const char *prefix, char **words, guint n)
{
  g_autofree char *folder = n == 4 ? g_canonicalize_filename (words[2], NULL) : NULL;
  g_autoptr (PrismSuspensions) store = folder != NULL ? prism_suspensions_new (folder) : NULL;
  g_autoptr (GPtrArray) found = store != NULL ? prism_suspensions_list (store, NULL) : NULL;

  if (n == 2)
    offer_strv (prefix, g_strsplit ("allow answer cancel deny forget list show", " ", -1), "");
  else if (n == 3)
    g_print (":folders\n");
  for (guint i = 0; found != NULL && i < found->len; i++)
    offer (prefix, prism_suspension_get_id (found->pdata[i]), "");
}

/* The command that is to run; what follows are its own words. At a colon bash takes a value
 * apart, whose parts stand here as words. */
static gboolean
is_command_word (char **words, guint i)
{
  return words[i][0] != '-' && words[i][0] != '\0' && !g_str_equal (words[i], ":") && !g_str_equal (words[i - 1], ":");
}

static void
complete_command (const PrismCliCommand *command, char **words, guint n)
{
  const GOptionEntry *entries = command->entries != NULL ? command->entries () : NULL;
  const char *last = words[n - 1];
  const GOptionEntry *entry = NULL;
  const char *equals;

  for (guint i = 1; i + 1 < n; i++)
    {
      if (g_str_equal (words[i], "--"))
        {
          g_print (i + 2 == n ? ":commands\n" : ":files\n");
          return;
        }
      /* The value of an option is not looked at again. */
      entry = find_entry (entries, words[i]);
      if (entry != NULL && entry->arg != G_OPTION_ARG_NONE && ++i + 1 == n)
        {
          offer_value (entry->long_name, last, words);
          return;
        }
      if (entry == NULL && command->run == prism_cmd_run && is_command_word (words, i))
        {
          g_print (":files\n");
          return;
        }
    }

  equals = strchr (last, '=');
  if (g_str_has_prefix (last, "--") && equals != NULL)
    {
      g_autofree char *option = g_strndup (last, equals - last);

      entry = find_entry (entries, option);
      if (entry != NULL)
        offer_value (entry->long_name, equals + 1, words);
    }
  else if (last[0] == '-')
    offer_options (last, entries);
  else if (command->run == prism_cmd_run)
    g_print (":commands\n");
  else if (command->run == prism_cmd_doctor || command->run == prism_cmd_inspect)
    {
      offer_strv (last, prism_registry_list_backends (prism_registry_get_default ()), "");
      offer_strv (last, prism_registry_list_egress_proxies (prism_registry_get_default ()), "");
    }
  else if (command->run == prism_cmd_log)
    g_print (":files\n");
  else if (command->run == prism_cmd_policy)
    {
      if (n == 2)
        {
          offer (last, "check", "");
          offer (last, "fingerprint", "");
        }
      else
        g_print (":files\n");
    }
  else if (command->run == prism_cmd_approval)
    offer_approvals (last, words, n);
  else if (command->run == prism_cmd_tool)
    {
      if (n == 2)
        {
          offer (last, "call", "");
          offer (last, "list", "");
        }
      else if (n == 3 && g_str_equal (words[1], "call"))
        offer_strv (last, prism_cmd_tool_names (), "");
    }
  else if (command->run == prism_cmd_help)
    for (guint i = 0; prism_cli_commands[i].summary != NULL; i++)
      offer (last, prism_cli_commands[i].name, "");
}

int
prism_cmd_complete (int argc, char **argv)
{
  char **words = argv + 1;
  guint n = argc - 1;
  const PrismCliCommand *command;

  if (n > 0 && g_str_equal (words[0], "--"))
    {
      words++;
      n--;
    }
  if (n == 0)
    return 0;
  if (n == 1)
    {
      for (guint i = 0; prism_cli_commands[i].summary != NULL; i++)
        offer (words[0], prism_cli_commands[i].name, "");
      offer (words[0], "--version", "");
      offer (words[0], "--help", "");
      return 0;
    }

  command = prism_cli_find_command (words[0]);
  if (command != NULL)
    complete_command (command, words, n);

  return 0;
}
