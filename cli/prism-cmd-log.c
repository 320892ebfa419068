/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* prism log [-f] FILE: an audit file in words, one line a decision. With -f it goes on
 * with what is added, and follows a file that is moved away and made anew. */
#include "prism-cli-audit.h"
#include "prism-cli-json.h"
#include "prism-cli.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_LINE (64 * 1024)

static gboolean follow, denied_only;

static GOptionEntry entries[] = {
  { "follow", 'f', 0, G_OPTION_ARG_NONE, &follow, N_ ("Go on with what is added"), NULL },
  { "denied", 'd', 0, G_OPTION_ARG_NONE, &denied_only, N_ ("Only what was denied"), NULL },
  G_OPTION_ENTRY_NULL,
};

GOptionEntry *
prism_cmd_log_entries (void)
{
  return entries;
}

typedef struct
{
  const char *path;
  int fd;
  GString *partial; /* a line whose end is not there yet */
  guint number;
  gboolean skipping; /* a line that is too long */
  gboolean colours;
  gboolean wrong; /* something was not a record */
} Log;

static gboolean
print_line (const char *line)
{
  if (puts (line) != EOF && fflush (stdout) == 0)
    return TRUE;
  if (errno != EPIPE)
    prism_cli_message (_ ("writing the standard output: %s"), g_strerror (errno));
  return FALSE;
}

static gboolean
show (Log *self, const char *text, gsize length)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismAuditRecord) record = prism_audit_record_new_from_json (text, (gssize)length, &error);
  g_autofree char *line = NULL;

  self->number++;
  if (record == NULL)
    {
      self->wrong = TRUE;
      prism_cli_message (_ ("log: %s, line %u: %s"), self->path, self->number, error->message);
      return TRUE;
    }
  if (denied_only && prism_audit_record_get_decision (record) != PRISM_AUDIT_DECISION_DENY)
    return TRUE;
  line = prism_cli_audit_line (record, self->colours);
  return print_line (line);
}

static gboolean
take (Log *self, const char *bytes, gsize length)
{
  g_string_append_len (self->partial, bytes, (gssize)length);
  for (;;)
    {
      char *end = memchr (self->partial->str, '\n', self->partial->len);
      gsize size;

      if (end == NULL)
        break;
      size = (gsize)(end - self->partial->str);
      if (!self->skipping && !show (self, self->partial->str, size))
        return FALSE;
      self->skipping = FALSE;
      g_string_erase (self->partial, 0, (gssize)size + 1);
    }
  if (self->partial->len > MAX_LINE)
    {
      if (!self->skipping)
        prism_cli_message (_ ("log: %s, line %u is too long for a record"), self->path, ++self->number);
      self->wrong = self->skipping = TRUE;
      g_string_truncate (self->partial, 0);
    }
  return TRUE;
}

/* What is there now. FALSE: the reader has gone, or it cannot be read. */
static gboolean
read_on (Log *self)
{
  char bytes[16 * 1024];
  gssize n;

  while ((n = read (self->fd, bytes, sizeof bytes)) != 0)
    {
      if (n < 0 && errno == EINTR)
        continue;
      if (n < 0 && errno == EAGAIN)
        return TRUE;
      if (n < 0)
        {
          prism_cli_message (_ ("log: %s: %s"), self->path, g_strerror (errno));
          return FALSE;
        }
      if (!take (self, bytes, (gsize)n))
        return FALSE;
    }
  return TRUE;
}

static gboolean
open_log (Log *self)
{
  self->fd = open (self->path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (self->fd >= 0)
    return TRUE;
  prism_cli_message (_ ("log: %s: %s"), self->path, g_strerror (errno));
  return FALSE;
}

/* Whether the path leads to another file now, or to the same that was cut. */
static gboolean
was_replaced (const Log *self)
{
  struct stat here, there;

  if (fstat (self->fd, &here) < 0 || stat (self->path, &there) < 0)
    return FALSE;
  return here.st_dev != there.st_dev || here.st_ino != there.st_ino || lseek (self->fd, 0, SEEK_CUR) > here.st_size;
}

typedef struct
{
  Log *log;
  GMainLoop *loop;
} Following;

static void
look (Following *self)
{
  if (read_on (self->log))
    {
      if (!was_replaced (self->log))
        return;
      close (self->log->fd);
      g_string_truncate (self->log->partial, 0);
      self->log->number = 0;
      if (open_log (self->log) && read_on (self->log))
        return;
    }
  g_main_loop_quit (self->loop);
}

static void
changed (GFileMonitor *monitor, GFile *file, GFile *other, GFileMonitorEvent event, gpointer data)
{
  look (data);
}

static gboolean
look_again (gpointer data)
{
  look (data);
  return G_SOURCE_CONTINUE;
}

/* A file system that tells of no change is looked at once a second. */
static void
follow_log (Log *log)
{
  g_autoptr (GMainLoop) loop = g_main_loop_new (NULL, FALSE);
  g_autoptr (GFile) file = g_file_new_for_path (log->path);
  g_autoptr (GFileMonitor) monitor = g_file_monitor_file (file, G_FILE_MONITOR_NONE, NULL, NULL);
  Following following = { log, loop };

  if (monitor != NULL)
    {
      g_file_monitor_set_rate_limit (monitor, 50);
      g_signal_connect (monitor, "changed", G_CALLBACK (changed), &following);
    }
  g_timeout_add (1000, look_again, &following);
  look (&following);
  g_main_loop_run (loop);
}

int
prism_cmd_log (int argc, char **argv)
{
  Log log = { .fd = -1, .colours = prism_cli_colours (STDOUT_FILENO) };
  g_autoptr (GError) error = NULL;
  g_autoptr (GString) partial = g_string_new (NULL);
  gboolean good;

  if (!prism_cli_parse (prism_cli_find_command ("log"), entries, FALSE, &argc, &argv, &error))
    {
      prism_cli_error (error);
      return PRISM_EXIT_FAILED;
    }
  if (argc != 2)
    {
      prism_cli_message (_ ("log: name one audit file: prism log [-f] FILE"));
      return PRISM_EXIT_FAILED;
    }
  log.path = argv[1];
  log.partial = partial;
  if (!open_log (&log))
    return PRISM_EXIT_FAILED;
  good = read_on (&log);
  if (good && follow)
    follow_log (&log);
  if (good && !follow && partial->len > 0)
    good = show (&log, partial->str, partial->len);
  close (log.fd);
  return good && !log.wrong ? 0 : 1;
}
