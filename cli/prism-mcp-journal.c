/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-mcp-journal.h"

#include <string.h>

#define MAX_LINES 2000
#define MAX_BYTES (1024 * 1024)

struct _PrismMcpJournal
{
  GQueue lines; /* char * */
  gsize n_bytes;
  guint64 n_dropped;
  void (*changed) (gpointer data);
  gpointer data;
};

PrismMcpJournal *
prism_mcp_journal_new (void (*changed) (gpointer data), gpointer data)
{
  PrismMcpJournal *self = g_new0 (PrismMcpJournal, 1);

  g_queue_init (&self->lines);
  self->changed = changed;
  self->data = data;
  return self;
}

void
prism_mcp_journal_free (PrismMcpJournal *self)
{
  g_queue_clear_full (&self->lines, g_free);
  g_free (self);
}

static void
add_line (PrismMcpJournal *self, char *line)
{
  g_queue_push_tail (&self->lines, line);
  self->n_bytes += strlen (line) + 1;
  while (self->lines.length > MAX_LINES || (self->n_bytes > MAX_BYTES && self->lines.length > 1))
    {
      g_autofree char *oldest = g_queue_pop_head (&self->lines);

      self->n_bytes -= strlen (oldest) + 1;
      self->n_dropped++;
    }
  self->changed (self->data);
}

PrismJson *
prism_mcp_journal_begin (const char *kind)
{
  g_autoptr (GDateTime) now = g_date_time_new_now_utc ();
  g_autofree char *time = g_date_time_format (now, "%Y-%m-%dT%H:%M:%S");
  g_autofree char *stamp = g_strdup_printf ("%s.%03dZ", time, g_date_time_get_microsecond (now) / 1000);
  PrismJson *json = prism_json_new_compact ();

  prism_json_begin_object (json, NULL);
  prism_json_string (json, "ts", stamp);
  prism_json_string (json, "kind", kind);
  return json;
}

void
prism_mcp_journal_add (PrismMcpJournal *self, PrismJson *json)
{
  prism_json_end_object (json);
  add_line (self, g_strdup (json->text->str));
  prism_json_free (json);
}

void
prism_mcp_journal_add_egress (PrismMcpJournal *self, const PrismAuditRecord *record)
{
  g_autofree char *text = prism_audit_record_to_json (record);
  PrismJson *json = prism_mcp_journal_begin ("egress");

  prism_json_raw (json, "record", g_strdelimit (text, "\r\n", ' '));
  prism_mcp_journal_add (self, json);
}

char *
prism_mcp_journal_dup_text (PrismMcpJournal *self, guint64 *n_dropped)
{
  GString *text = g_string_sized_new (self->n_bytes + 1);

  for (GList *link = self->lines.head; link != NULL; link = link->next)
    g_string_append_printf (text, "%s\n", (const char *)link->data);
  *n_dropped = self->n_dropped;
  return g_string_free (text, FALSE);
}
