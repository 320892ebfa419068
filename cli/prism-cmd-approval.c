/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* prism approval: what waits for an answer in a folder, and answering it. What is shown is the
 * library's text, in which nothing can look like something else; ids may be shortened as far as
 * one is meant. */
#include "prism-cli.h"

#include "prism-cli-json.h"
#include "prism-cli-names.h"
#include "prism-cli-workspace.h"

#include <string.h>
#include <unistd.h>

static gboolean json_wanted, all_wanted;
static char *text_wanted;

static GOptionEntry entries[] = {
  { "all", 'a', 0, G_OPTION_ARG_NONE, &all_wanted, N_ ("list: what is over, too"), NULL },
  { "text", 0, 0, G_OPTION_ARG_STRING, &text_wanted, N_ ("answer: in words of your own"), N_ ("TEXT") },
  { "json", 0, 0, G_OPTION_ARG_NONE, &json_wanted, N_ ("list, show: print JSON"), NULL },
  G_OPTION_ENTRY_NULL,
};

GOptionEntry *
prism_cmd_approval_entries (void)
{
  return entries;
}

/* --- showing ----------------------------------------------------------------------------------- */

static gboolean
is_open (PrismSuspension *suspension)
{
  PrismSuspensionState state = prism_suspension_get_state (suspension);

  return state == PRISM_SUSPENSION_STATE_PENDING || state == PRISM_SUSPENSION_STATE_ALLOWED;
}

static char *
format_time (gint64 ms)
{
  g_autoptr (GDateTime) time = g_date_time_new_from_unix_utc (ms / 1000);

  return time != NULL ? g_date_time_format (time, "%Y-%m-%dT%H:%M:%SZ") : g_strdup ("?");
}

static void
append_json (PrismJson *json, PrismSuspension *suspension)
{
  g_autofree char *state = prism_cli_enum_nick (PRISM_TYPE_SUSPENSION_STATE, prism_suspension_get_state (suspension));
  g_autofree char *asked = format_time (prism_suspension_get_asked_at (suspension));
  g_autofree char *expires = format_time (prism_suspension_get_expires_at (suspension));

  prism_json_begin_object (json, NULL);
  prism_json_string (json, "id", prism_suspension_get_id (suspension));
  prism_json_string (json, "reason", prism_suspension_get_reason (suspension));
  prism_json_string (json, "state", state);
  prism_json_string (json, "text", prism_suspension_get_text (suspension));
  prism_json_string (json, "asked_at", asked);
  prism_json_string (json, "expires_at", expires);
  prism_json_string (json, "answered_by", prism_suspension_get_answered_by (suspension));
  prism_json_string (json, "outcome", prism_suspension_get_outcome (suspension));
  prism_json_end_object (json);
}

static void
print_one (PrismSuspension *suspension)
{
  g_autofree char *state = prism_cli_enum_nick (PRISM_TYPE_SUSPENSION_STATE, prism_suspension_get_state (suspension));
  g_autofree char *expires = format_time (prism_suspension_get_expires_at (suspension));
  g_auto (GStrv) lines = g_strsplit (prism_suspension_get_text (suspension), "\n", -1);

  g_print (_ ("%s  %s  until %s\n"), prism_suspension_get_id (suspension), state, expires);
  for (guint i = 0; lines[i] != NULL; i++)
    if (lines[i][0] != '\0')
      {
        g_autofree char *shown = prism_cli_visible (lines[i]);

        g_print ("  %s\n", shown);
      }
  if (prism_suspension_get_answered_by (suspension) != NULL)
    {
      g_autofree char *by = prism_cli_visible (prism_suspension_get_answered_by (suspension));

      g_print (_ ("  answered by: %s\n"), by);
    }
  if (prism_suspension_get_outcome (suspension) != NULL)
    {
      g_autofree char *outcome = prism_cli_visible (prism_suspension_get_outcome (suspension));

      g_print (_ ("  ended: %s\n"), outcome);
    }
}

static gboolean
list (PrismSuspensions *store, GError **error)
{
  g_autoptr (GPtrArray) found = prism_suspensions_list (store, error);
  g_autoptr (PrismJson) json = json_wanted ? prism_json_new () : NULL;
  guint shown = 0;

  if (found == NULL)
    return FALSE;
  if (json != NULL)
    prism_json_begin_array (json, NULL);
  for (guint i = 0; i < found->len; i++)
    {
      if (!all_wanted && !is_open (found->pdata[i]))
        continue;
      shown++;
      if (json != NULL)
        append_json (json, found->pdata[i]);
      else
        print_one (found->pdata[i]);
    }
  if (json != NULL)
    prism_json_end_array (json);
  else if (shown == 0)
    prism_cli_message (_ ("approval: nothing waits in %s"), prism_suspensions_get_folder (store));
  return json == NULL || prism_json_print (json, STDOUT_FILENO);
}

static gboolean
show (PrismSuspensions *store, const char *id, GError **error)
{
  g_autoptr (PrismSuspension) suspension = prism_suspensions_look_up (store, id, error);
  g_autoptr (PrismJson) json = json_wanted ? prism_json_new () : NULL;

  if (suspension == NULL)
    return FALSE;
  if (json == NULL)
    {
      print_one (suspension);
      return TRUE;
    }
  append_json (json, suspension);
  return prism_json_print (json, STDOUT_FILENO);
}

/* --- answering ----------------------------------------------------------------------------------- */

/* The one that begins so. */
static char *
find_id (PrismSuspensions *store, const char *start, GError **error)
{
  g_autoptr (GPtrArray) found = prism_suspensions_list (store, error);
  g_autofree char *id = NULL;

  if (found == NULL)
    return NULL;
  for (guint i = 0; i < found->len; i++)
    {
      const char *one = prism_suspension_get_id (found->pdata[i]);

      if (g_str_equal (one, start))
        return g_strdup (one);
      if (!g_str_has_prefix (one, start) || *start == '\0')
        continue;
      if (id != NULL)
        {
          prism_cli_bad_value (error, _ ("approval: more than one begins with %s; write more of it"), start);
          return NULL;
        }
      id = g_strdup (one);
    }
  if (id == NULL)
    prism_cli_bad_value (error, _ ("approval: nothing in %s is called %s; prism approval list says what is there"),
                         prism_suspensions_get_folder (store), start);
  return g_steal_pointer (&id);
}

static char *
make_answer (char **options)
{
  g_autoptr (PrismJson) json = prism_json_new_compact ();

  prism_json_begin_object (json, NULL);
  if (text_wanted != NULL)
    prism_json_string (json, "customText", text_wanted);
  if (options[0] != NULL)
    prism_json_strv (json, "selectedIds", (const char *const *)options);
  prism_json_end_object (json);
  return g_strdup (json->text->str);
}

static gboolean
act (PrismSuspensions *store, const char *verb, const char *id, char **rest, GError **error)
{
  const char *by = g_get_user_name ();
  g_autofree char *answer = NULL;

  if (rest[0] != NULL && !g_str_equal (verb, "answer"))
    return prism_cli_bad_value (error, _ ("approval %s: “%s” is left over"), verb, rest[0]);
  if (g_str_equal (verb, "show"))
    return show (store, id, error);
  if (g_str_equal (verb, "forget"))
    return prism_suspensions_forget (store, id, error);
  if (g_str_equal (verb, "cancel"))
    return prism_suspensions_cancel (store, id, by, error);
  if (g_str_equal (verb, "answer"))
    answer = make_answer (rest);
  else
    answer = g_strdup_printf ("{\"decision\":\"%s\"}", verb);
  return prism_suspensions_answer (store, id, answer, by, error);
}

static gboolean
run (int argc, char **argv, GError **error)
{
  static const char *const verbs[] = { "show", "allow", "deny", "answer", "cancel", "forget", NULL };
  g_autoptr (PrismSuspensions) store = NULL;
  g_autofree char *folder = NULL;
  g_autofree char *id = NULL;
  gboolean lists = argc == 3 && g_str_equal (argv[1], "list");

  if (!lists && (argc < 4 || !g_strv_contains (verbs, argv[1])))
    return prism_cli_bad_value (error, _ ("approval: say prism approval list DIR, or prism approval show, allow, deny, "
                                          "answer, cancel or forget DIR ID"));
  folder = prism_cli_path (argv[2], error);
  if (folder == NULL)
    return FALSE;
  store = prism_suspensions_new (folder);
  if (lists)
    return list (store, error);
  id = find_id (store, argv[3], error);
  return id != NULL && act (store, argv[1], id, argv + 4, error);
}

int
prism_cmd_approval (int argc, char **argv)
{
  g_autoptr (GError) error = NULL;

  if (prism_cli_parse (prism_cli_find_command ("approval"), entries, FALSE, &argc, &argv, &error)
      && run (argc, argv, &error))
    return 0;
  prism_cli_error (error);
  return PRISM_EXIT_FAILED;
}
