/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-e2b-reap.h"

#include <string.h>
#include <unistd.h>

#include "prism-e2b-sandbox-private.h"

/* --- hosts ------------------------------------------------------------------------------------ */

static char *
read_line (const char *path)
{
  g_autofree char *text = NULL;

  if (!g_file_get_contents (path, &text, NULL, NULL) || *g_strstrip (text) == 0)
    return NULL;
  return g_steal_pointer (&text);
}

/* Machine, whose processes are numbered (which a container has of its own), and boot; so that
 * what they were made of cannot be told from them. */
static char *
dup_place (void)
{
  g_autofree char *machine = read_line ("/etc/machine-id");
  g_autofree char *boot = read_line ("/proc/sys/kernel/random/boot_id");
  g_autofree char *numbers = g_file_read_link ("/proc/self/ns/pid", NULL);
  g_autofree char *first = NULL, *second = NULL, *text = NULL;

  if (machine == NULL || boot == NULL || numbers == NULL)
    return NULL;
  text = g_strconcat ("libprism-e2b ", machine, " ", numbers, NULL);
  first = g_compute_checksum_for_string (G_CHECKSUM_SHA256, text, -1);
  second = g_compute_checksum_for_string (G_CHECKSUM_SHA256, boot, -1);
  return g_strdup_printf ("%.16s.%.16s", first, second);
}

/* When a process began, in the kernel's ticks: no other of that number began then. */
static char *
dup_beginning (guint64 pid)
{
  g_autofree char *path = g_strdup_printf ("/proc/%" G_GUINT64_FORMAT "/stat", pid);
  g_autofree char *text = read_line (path);
  const char *name_end = text != NULL ? strrchr (text, ')') : NULL;
  g_auto (GStrv) fields = name_end != NULL ? g_strsplit (name_end + 1, " ", 22) : NULL;

  /* Its 22nd, and what follows the name begins with the third (after a blank). One that nobody
   * waited for yet is over. */
  if (fields != NULL && fields[0] != NULL && fields[1] != NULL && strpbrk (fields[1], "ZX") != NULL)
    return NULL;
  return fields != NULL && g_strv_length (fields) > 20 ? g_strdup (fields[20]) : NULL;
}

char *
prism_e2b_host_dup_label (void)
{
  g_autofree char *place = dup_place (), *beginning = dup_beginning ((guint64)getpid ());

  if (place == NULL || beginning == NULL)
    return NULL;
  return g_strdup_printf ("%s.%d.%s", place, (int)getpid (), beginning);
}

gboolean
prism_e2b_host_is_dead (const char *label)
{
  g_autofree char *place = dup_place (), *beginning = NULL;
  g_auto (GStrv) own = place != NULL ? g_strsplit (place, ".", 2) : NULL;
  g_auto (GStrv) parts = g_strsplit (label, ".", 5);
  guint64 pid;

  if (own == NULL || g_strv_length (parts) != 4 || strcmp (parts[0], own[0]) != 0
      || !g_ascii_string_to_unsigned (parts[2], 10, 1, G_MAXINT32, &pid, NULL))
    return FALSE;
  if (strcmp (parts[1], own[1]) != 0)
    return TRUE; /* before the machine was started again */
  beginning = dup_beginning (pid);
  return g_strcmp0 (beginning, parts[3]) != 0;
}

/* --- their sandboxes ------------------------------------------------------------------------------ */

static gboolean
is_left_behind (const PrismE2bDetail *detail)
{
  const char *host = NULL;

  for (guint i = 0; detail->labels[i] != NULL; i++)
    if (g_str_has_prefix (detail->labels[i], PRISM_E2B_LABEL_HOST "="))
      host = strchr (detail->labels[i], '=') + 1;
  return host != NULL && g_strv_contains ((const char *const *)detail->labels, PRISM_E2B_LABEL_LIFETIME "=host")
         && prism_e2b_host_is_dead (host);
}

int
prism_e2b_reap (PrismE2bClient *client, GCancellable *cancellable, GError **error)
{
  g_autoptr (GPtrArray) details = prism_e2b_details_new ();
  g_autoptr (GError) first = NULL;
  int removed = 0;

  if (!prism_e2b_list_details (client, details, cancellable, error))
    return -1;
  for (guint i = 0; i < details->len; i++)
    {
      const PrismE2bDetail *detail = details->pdata[i];
      g_autofree char *path = g_strconcat ("/sandboxes/", detail->id, NULL);
      g_auto (PrismE2bReply) reply = { 0 };
      g_autoptr (GError) failure = NULL;

      if (!is_left_behind (detail))
        continue;
      if (prism_e2b_ask (client, "DELETE", path, "destroy the sandbox", NULL, TRUE, &reply, cancellable, &failure))
        removed++;
      else if (!g_error_matches (failure, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_NOT_FOUND) && first == NULL)
        {
          first = g_steal_pointer (&failure);
          g_prefix_error (&first, "sandbox %s may live on: ", detail->id);
        }
    }
  if (first == NULL)
    return removed;
  g_propagate_error (error, g_steal_pointer (&first));
  return -1;
}
