/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The audit file: whole lines whatever happens, nothing lost unsaid, and a reader
 * that does not keep up is told to the proxy. */
#include <libprism/prism.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct
{
  char *folder, *path;
} Fixture;

static void
set_up (Fixture *f, gconstpointer data)
{
  f->folder = g_dir_make_tmp ("prism-audit-XXXXXX", NULL);
  g_assert_nonnull (f->folder);
  f->path = g_build_filename (f->folder, "audit", NULL);
}

static void
tear_down (Fixture *f, gconstpointer data)
{
  g_autofree char *moved = g_strconcat (f->path, ".1", NULL);

  unlink (f->path);
  unlink (moved);
  g_assert_cmpint (rmdir (f->folder), ==, 0);
  g_free (f->path);
  g_free (f->folder);
}

static gboolean
add (PrismAuditLog *log, PrismAuditDecision decision, const char *host)
{
  g_autoptr (PrismAuditRecord) record = prism_audit_record_new (decision, host, 443, PRISM_EGRESS_SCHEME_HTTPS);
  return prism_audit_log_add (log, record);
}

/* Every line is a record; how many. */
static guint
count_lines (const char *text, gsize length)
{
  guint n = 0;

  for (const char *at = text, *end; at < text + length; at = end + 1, n++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (PrismAuditRecord) record = NULL;

      end = memchr (at, '\n', length - (gsize)(at - text));
      g_assert_nonnull (end);
      record = prism_audit_record_new_from_json (at, end - at, &error);
      g_assert_no_error (error);
      g_assert_nonnull (record);
    }
  return n;
}

static guint
count_in_file (const char *path)
{
  g_autofree char *text = NULL;
  gsize length;

  g_assert_true (g_file_get_contents (path, &text, &length, NULL));
  return count_lines (text, length);
}

static void
test_counts (void)
{
  g_autoptr (PrismAuditLog) log = prism_audit_log_new ();
  gint64 allowed, denied;
  g_autofree char *path = NULL;

  g_assert_true (add (log, PRISM_AUDIT_DECISION_ALLOW, "good.test"));
  g_assert_true (add (log, PRISM_AUDIT_DECISION_DENY, "evil.test"));
  g_assert_true (add (log, PRISM_AUDIT_DECISION_DENY, "evil.test"));
  g_object_get (log, "allowed", &allowed, "denied", &denied, "path", &path, NULL);
  g_assert_cmpint (allowed, ==, 1);
  g_assert_cmpint (denied, ==, 2);
  g_assert_null (path);
  g_assert_true (prism_audit_log_flush (log, 0, NULL));
  g_assert_true (prism_audit_log_reopen (log, NULL));
}

static void
test_distinct (void)
{
  g_autoptr (PrismAuditLog) log = prism_audit_log_new ();
  g_autoptr (GPtrArray) allowed = NULL, denied = NULL;

  for (guint i = 0; i < 300; i++)
    {
      g_autofree char *host = g_strdup_printf ("h%u.test", i);

      g_assert_true (add (log, PRISM_AUDIT_DECISION_DENY, host));
      g_assert_true (add (log, PRISM_AUDIT_DECISION_DENY, host));
      g_assert_true (add (log, PRISM_AUDIT_DECISION_ALLOW, "good.test"));
    }
  allowed = prism_audit_log_list_distinct (log, PRISM_AUDIT_DECISION_ALLOW);
  denied = prism_audit_log_list_distinct (log, PRISM_AUDIT_DECISION_DENY);
  g_assert_cmpuint (allowed->len, ==, 1);
  g_assert_cmpuint (denied->len, ==, 256);
  g_assert_cmpstr (prism_audit_record_get_host (denied->pdata[0]), ==, "h0.test");
  g_assert_cmpint (prism_audit_log_get_denied (log), ==, 600);
}

static void
test_appends (Fixture *f, gconstpointer data)
{
  struct stat info;

  for (guint i = 0; i < 3; i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (PrismAuditLog) log = prism_audit_log_new_for_path (f->path, &error);

      g_assert_no_error (error);
      g_assert_cmpstr (prism_audit_log_get_path (log), ==, f->path);
      g_assert_true (add (log, PRISM_AUDIT_DECISION_ALLOW, "good.test"));
      g_assert_true (add (log, PRISM_AUDIT_DECISION_DENY, "a\nb\"c"));
      g_assert_cmpuint (count_in_file (f->path), ==, 2 * (i + 1)); /* there at once */
    }
  g_assert_cmpint (stat (f->path, &info), ==, 0);
  g_assert_cmpint (info.st_mode & 0777, ==, 0600);
}

static void
test_cannot_open (Fixture *f, gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *below = g_build_filename (f->path, "no", "such", NULL);

  g_assert_null (prism_audit_log_new_for_path (below, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_NOT_FOUND);
  g_assert_nonnull (strstr (error->message, below));
  g_clear_error (&error);
  g_assert_cmpint (mkfifo (f->path, 0600), ==, 0);
  g_assert_null (prism_audit_log_new_for_path (f->path, &error));
  g_assert_nonnull (strstr (error->message, "nobody reads"));
}

/* A full disk: said to the proxy at once, and to whoever flushes. */
static void
test_full_disk (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismAuditLog) log = prism_audit_log_new_for_path ("/dev/full", &error);

  g_assert_no_error (error);
  g_assert_true (add (log, PRISM_AUDIT_DECISION_ALLOW, "good.test")); /* taken: it waits */
  g_assert_false (add (log, PRISM_AUDIT_DECISION_ALLOW, "good.test"));
  g_assert_cmpint (prism_audit_log_get_allowed (log), ==, 1);
  g_assert_false (prism_audit_log_flush (log, 60000, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_NO_SPACE);
  g_test_expect_message ("prism", G_LOG_LEVEL_WARNING, "*1 records are lost*");
  g_clear_object (&log);
  g_test_assert_expected_messages ();
}

/* A pipe that nobody reads takes what it can, then the queue, then nothing; read
 * again, not a line is missing or broken. */
static void
test_slow_reader (Fixture *f, gconstpointer data)
{
  g_autoptr (GString) got = g_string_new (NULL);
  g_autoptr (PrismAuditLog) log = NULL;
  g_autoptr (GError) error = NULL;
  guint taken = 0;
  int fd;

  g_assert_cmpint (mkfifo (f->path, 0600), ==, 0);
  fd = open (f->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  log = prism_audit_log_new_for_path (f->path, &error);
  g_assert_no_error (error);
  while (add (log, taken % 2 ? PRISM_AUDIT_DECISION_ALLOW : PRISM_AUDIT_DECISION_DENY, "good.test") && taken < 100000)
    taken++;
  g_assert_cmpuint (taken, >, 4096);
  g_assert_cmpuint (taken, <, 100000);
  g_assert_cmpint (prism_audit_log_get_allowed (log) + prism_audit_log_get_denied (log), ==, taken);
  g_assert_false (prism_audit_log_flush (log, 0, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_WOULD_BLOCK);
  for (gboolean done = FALSE; !done;)
    {
      char bytes[4096];
      gssize n = read (fd, bytes, sizeof bytes);

      if (n > 0)
        g_string_append_len (got, bytes, n);
      else
        done = prism_audit_log_flush (log, 0, NULL);
    }
  for (char bytes[4096]; TRUE;)
    {
      gssize n = read (fd, bytes, sizeof bytes);
      if (n <= 0)
        break;
      g_string_append_len (got, bytes, n);
    }
  g_assert_cmpuint (count_lines (got->str, got->len), ==, taken);
  close (fd);
}

static void
test_reopen (Fixture *f, gconstpointer data)
{
  g_autoptr (PrismAuditLog) log = prism_audit_log_new_for_path (f->path, NULL);
  g_autofree char *moved = g_strconcat (f->path, ".1", NULL);
  g_autoptr (GError) error = NULL;

  g_assert_true (add (log, PRISM_AUDIT_DECISION_ALLOW, "good.test"));
  g_assert_cmpint (rename (f->path, moved), ==, 0);
  g_assert_true (add (log, PRISM_AUDIT_DECISION_ALLOW, "good.test"));
  g_assert_true (prism_audit_log_reopen (log, &error));
  g_assert_no_error (error);
  g_assert_true (add (log, PRISM_AUDIT_DECISION_ALLOW, "good.test"));
  g_assert_cmpuint (count_in_file (moved), ==, 2);
  g_assert_cmpuint (count_in_file (f->path), ==, 1);
}

static gpointer
add_many (gpointer log)
{
  for (guint i = 0; i < 500; i++)
    g_assert_true (add (log, PRISM_AUDIT_DECISION_ALLOW, "good.test"));
  return NULL;
}

static void
test_threads (Fixture *f, gconstpointer data)
{
  g_autoptr (PrismAuditLog) log = prism_audit_log_new_for_path (f->path, NULL);
  GThread *threads[4];

  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    threads[i] = g_thread_new ("add", add_many, log);
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    g_thread_join (threads[i]);
  g_assert_cmpuint (count_in_file (f->path), ==, 2000);
  g_assert_cmpint (prism_audit_log_get_allowed (log), ==, 2000);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
#define ADD(name, function) g_test_add ("/audit-log/" name, Fixture, NULL, set_up, function, tear_down)
  g_test_add_func ("/audit-log/counts", test_counts);
  g_test_add_func ("/audit-log/distinct", test_distinct);
  ADD ("appends", test_appends);
  ADD ("cannot-open", test_cannot_open);
  g_test_add_func ("/audit-log/full-disk", test_full_disk);
  ADD ("slow-reader", test_slow_reader);
  ADD ("reopen", test_reopen);
  ADD ("threads", test_threads);
  return g_test_run ();
}
