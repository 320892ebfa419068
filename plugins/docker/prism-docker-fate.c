/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-docker-fate.h"

#include <string.h>

static const char *
text_of (JsonNode *event, const char *name)
{
  return prism_http_json_text (prism_http_json_get (event, "Actor", "Attributes", name, NULL));
}

/* Attributes come from labels too: only digits are passed on. */
static const char *
number_of (JsonNode *event, const char *name)
{
  const char *text = text_of (event, name);
  return text != NULL && *text != 0 && strlen (text) <= 4 && strspn (text, "0123456789") == strlen (text) ? text : "?";
}

char *
prism_docker_fate_describe (GPtrArray *events)
{
  JsonNode *killed = NULL, *died = NULL;
  gboolean memory = FALSE, removed = FALSE, paused = FALSE;

  for (guint i = 0; i < events->len; i++)
    {
      JsonNode *event = events->pdata[i];
      const char *action = prism_http_json_text (prism_http_json_get (event, "Action", NULL));
      if (action == NULL)
        continue;
      if (strcmp (action, "oom") == 0)
        memory = TRUE;
      else if (strcmp (action, "kill") == 0)
        killed = event;
      else if (strcmp (action, "die") == 0)
        died = event;
      else if (strcmp (action, "destroy") == 0 || strcmp (action, "remove") == 0)
        removed = TRUE;
      else if (strcmp (action, "pause") == 0)
        paused = TRUE;
      else if (strcmp (action, "unpause") == 0)
        paused = FALSE;
    }
  if (memory && killed == NULL)
    return g_strdup ("its container was ended for want of memory: the limit is memory-bytes");
  /* What is removed by force is killed first. */
  if (killed != NULL)
    return g_strdup_printf ("its container was %s by somebody else, through the engine (signal %s)",
                            removed                                            ? "removed"
                            : strcmp (number_of (killed, "signal"), "15") == 0 ? "stopped"
                                                                               : "killed",
                            number_of (killed, "signal"));
  if (died != NULL)
    return g_strdup_printf ("its container ended by itself or was killed from outside of the engine (exit code %s)",
                            number_of (died, "exitCode"));
  if (paused)
    return g_strdup ("its container was paused by somebody else, through the engine");
  return removed ? g_strdup ("its container was removed by somebody else, through the engine") : NULL;
}
