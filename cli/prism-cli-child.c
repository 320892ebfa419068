/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Loading plug-ins on trial, each in a child process, so that one that crashes
 * or hangs while it is loaded is a message here and not our end. All at once:
 * they have 5 s together. What a child prints is bounded, and is text to us. */
#include "prism-cli-child.h"

#include <gio/gio.h>
#include <glib/gi18n.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/wait.h>

#define TRIAL_SECONDS 5
#define MAX_ANSWER    (1024 * 1024)

typedef struct
{
  PrismCliTrial *trial;
  PrismPluginInfo *info;
  GSubprocess *process;
  GString *answer;
  guint *pending;
  guint *open_pipes;
} Child;

void
prism_cli_trial_free (PrismCliTrial *self)
{
  g_free (self->json);
  g_clear_error (&self->error);
  g_free (self);
}

static const char *
probe_path (void)
{
  const char *named = getauxval (AT_SECURE) == 0 ? g_getenv ("PRISM_PLUGIN_PROBE") : NULL;

  return named != NULL ? named : PRISM_LIBEXECDIR "/prism-plugin-probe";
}

static void fail (Child *child, int code, const char *format, ...) G_GNUC_PRINTF (3, 4);

static void
fail (Child *child, int code, const char *format, ...)
{
  va_list arguments;

  if (child->trial->error != NULL)
    return;
  va_start (arguments, format);
  child->trial->error = g_error_new_valist (PRISM_PLUGIN_ERROR, code, format, arguments);
  va_end (arguments);
}

static void on_read (GObject *source, GAsyncResult *result, gpointer user_data);

static void
read_more (Child *child)
{
  g_input_stream_read_bytes_async (g_subprocess_get_stdout_pipe (child->process), 64 * 1024, G_PRIORITY_DEFAULT, NULL,
                                   on_read, child);
}

static void
on_read (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Child *child = user_data;
  g_autoptr (GBytes) bytes = g_input_stream_read_bytes_finish (G_INPUT_STREAM (source), result, NULL);
  gsize length = 0;
  const char *data = bytes != NULL ? g_bytes_get_data (bytes, &length) : NULL;

  if (length == 0 || child->answer->len + length > MAX_ANSWER)
    {
      if (length > 0)
        {
          fail (child, PRISM_PLUGIN_ERROR_LOAD, _ ("it prints without end when it is loaded"));
          g_subprocess_force_exit (child->process);
        }
      (*child->open_pipes)--;
      return;
    }
  g_string_append_len (child->answer, data, length);
  read_more (child);
}

static void
on_ended (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Child *child = user_data;

  g_subprocess_wait_finish (child->process, result, NULL);
  (*child->pending)--;
}

static Child *
start_child (PrismPluginInfo *info, guint *pending, guint *open_pipes)
{
  Child *child = g_new0 (Child, 1);
  g_autoptr (GSubprocessLauncher) launcher =
      g_subprocess_launcher_new (G_SUBPROCESS_FLAGS_STDOUT_PIPE | G_SUBPROCESS_FLAGS_STDERR_SILENCE);

  child->trial = g_new0 (PrismCliTrial, 1);
  child->info = info;
  child->answer = g_string_new (NULL);
  child->pending = pending;
  child->open_pipes = open_pipes;
  child->process = g_subprocess_launcher_spawn (launcher, &child->trial->error, probe_path (),
                                                prism_plugin_info_get_manifest (info), NULL);
  if (child->process == NULL)
    {
      g_prefix_error (&child->trial->error, _ ("the program that loads plug-ins on trial: "));
      return child;
    }

  (*pending)++;
  (*open_pipes)++;
  g_subprocess_wait_async (child->process, NULL, on_ended, child);
  read_more (child);
  return child;
}

/* The probe's answer is one line of its own, "ok" or "error CODE MESSAGE", after
 * whatever the plug-in printed, and then the JSON. */
static void
judge (Child *child)
{
  static const char marker[] = "\nprism-plugin-probe: ";
  char *answer = g_strrstr_len (child->answer->str, child->answer->len, marker);

  if (child->process == NULL || child->trial->error != NULL)
    return;
  if (g_subprocess_get_if_signaled (child->process))
    {
      fail (child, PRISM_PLUGIN_ERROR_LOAD,
            _ ("it crashes when it is loaded (signal %d, %s); tell whoever wrote it, and remove it until then"),
            g_subprocess_get_term_sig (child->process), g_strsignal (g_subprocess_get_term_sig (child->process)));
      return;
    }
  if (answer == NULL)
    {
      fail (child, PRISM_PLUGIN_ERROR_LOAD,
            _ ("it ends the program when it is loaded (exit status %d); tell whoever wrote it"),
            g_subprocess_get_exit_status (child->process));
      return;
    }

  answer += strlen (marker);
  if (g_str_has_prefix (answer, "ok\n"))
    {
      child->trial->loaded = TRUE;
      child->trial->json = g_strndup (answer + 3, child->answer->str + child->answer->len - answer - 3);
    }
  else if (g_str_has_prefix (answer, "error "))
    {
      char *message;
      gint64 code = g_ascii_strtoll (answer + strlen ("error "), &message, 10);

      fail (child, code, "%s", g_strstrip (message));
    }
  else
    fail (child, PRISM_PLUGIN_ERROR_LOAD, _ ("the program that loads plug-ins on trial gave no answer"));
}

static gboolean
on_timeout (gpointer user_data)
{
  *(gboolean *)user_data = TRUE;

  return G_SOURCE_REMOVE;
}

static void
stop_late (GPtrArray *children)
{
  for (guint i = 0; i < children->len; i++)
    {
      Child *child = children->pdata[i];

      if (child->process == NULL || g_subprocess_get_identifier (child->process) == NULL)
        continue;
      fail (child, PRISM_PLUGIN_ERROR_LOAD,
            _ ("it hangs when it is loaded (no answer within %d s); tell whoever wrote it, and remove it until then"),
            TRIAL_SECONDS);
      g_subprocess_force_exit (child->process);
    }
}

static void
child_free (Child *child)
{
  g_clear_object (&child->process);
  g_string_free (child->answer, TRUE);
  g_free (child);
}

/* An array of PrismCliTrial, one for each of @infos. */
GPtrArray *
prism_cli_try_plugins (GPtrArray *infos)
{
  g_autoptr (GPtrArray) children = g_ptr_array_new_with_free_func ((GDestroyNotify)child_free);
  GPtrArray *trials = g_ptr_array_new_with_free_func ((GDestroyNotify)prism_cli_trial_free);
  guint pending = 0, open_pipes = 0;
  gboolean late = FALSE;
  guint timeout;

  for (guint i = 0; i < infos->len; i++)
    g_ptr_array_add (children, start_child (infos->pdata[i], &pending, &open_pipes));

  timeout = g_timeout_add_seconds (TRIAL_SECONDS, on_timeout, &late);
  while ((pending > 0 || open_pipes > 0) && !late)
    g_main_context_iteration (NULL, TRUE);
  if (late)
    {
      stop_late (children);
      /* A pipe may be held by what a plug-in started; the child itself is dead. */
      while (pending > 0)
        g_main_context_iteration (NULL, TRUE);
    }
  else
    g_source_remove (timeout);

  for (guint i = 0; i < children->len; i++)
    {
      Child *child = children->pdata[i];

      judge (child);
      g_ptr_array_add (trials, child->trial);
    }
  if (open_pipes > 0)
    g_steal_pointer (&children); /* a read of theirs is still out */

  return trials;
}
