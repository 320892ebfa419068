/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The audit file. A record is one line, written by one write() to a descriptor that
 * appends, so that several processes may share a file and a reader sees whole lines.
 * What cannot be written at once (a pipe whose reader is slow, a full disk) waits in
 * a queue with a bound; when that is full the proxy is told, and lets nothing more
 * through for the listeners that write here: what is not written down does not happen.
 *
 * Writing is done where the record is made, without a thread of its own: a file that
 * hangs (a dead network mount) holds up the proxy, and nothing else. */
#include "prism-audit-log.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>

#include "prism-fd-private.h"

#define MAX_WAITING  4096
#define MAX_DISTINCT 256 /* of each decision */

struct _PrismAuditLog
{
  GObject parent_instance;
  char *path; /* NULL: only counted */

  GMutex lock; /* for what follows */
  int fd;
  GQueue waiting; /* lines, each with its LF */
  gsize written;  /* of the first */
  int failure;    /* errno of the last write; 0 = it went well, or would have blocked */
  gint64 allowed, denied;
  GHashTable *kinds;      /* a text for each kind that was seen */
  GPtrArray *distinct[2]; /* PrismAuditRecord, the first of each kind, by decision */
};

enum
{
  PROP_0,
  PROP_PATH,
  PROP_ALLOWED,
  PROP_DENIED,
  N_PROPERTIES
};

static GParamSpec *properties[N_PROPERTIES];

/**
 * PrismAuditLog:
 *
 * Where an egress proxy's decisions are written down and counted. A sandbox's
 * specification and a proxy's listener each name one; several may share it.
 *
 * Since: 1.0
 */
G_DEFINE_FINAL_TYPE (PrismAuditLog, prism_audit_log, G_TYPE_OBJECT)

static void
prism_audit_log_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  PrismAuditLog *self = PRISM_AUDIT_LOG (object);

  switch (id)
    {
    case PROP_PATH:
      g_value_set_string (value, self->path);
      break;
    case PROP_ALLOWED:
      g_value_set_int64 (value, prism_audit_log_get_allowed (self));
      break;
    case PROP_DENIED:
      g_value_set_int64 (value, prism_audit_log_get_denied (self));
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    }
}

/* TRUE when nothing waits any more. */
static gboolean
write_waiting (PrismAuditLog *self)
{
  for (GString *line = g_queue_peek_head (&self->waiting); line != NULL; line = g_queue_peek_head (&self->waiting))
    {
      gssize n = write (self->fd, line->str + self->written, line->len - self->written);

      if (n < 0 && errno == EINTR)
        continue;
      self->failure = n < 0 && errno != EAGAIN ? errno : 0;
      if (n < 0)
        return FALSE;
      self->written += (gsize)n;
      if (self->written < line->len)
        continue;
      g_string_free (g_queue_pop_head (&self->waiting), TRUE);
      self->written = 0;
    }
  return TRUE;
}

static void
free_line (gpointer line)
{
  g_string_free (line, TRUE);
}

static void
prism_audit_log_finalize (GObject *object)
{
  PrismAuditLog *self = PRISM_AUDIT_LOG (object);

  if (self->fd >= 0 && !write_waiting (self))
    g_warning ("audit file %s: the last %u records are lost", self->path, g_queue_get_length (&self->waiting));
  g_queue_clear_full (&self->waiting, free_line);
  prism_clear_fd (&self->fd);
  g_clear_pointer (&self->kinds, g_hash_table_unref);
  for (guint i = 0; i < G_N_ELEMENTS (self->distinct); i++)
    g_clear_pointer (&self->distinct[i], g_ptr_array_unref);
  g_mutex_clear (&self->lock);
  g_free (self->path);
  G_OBJECT_CLASS (prism_audit_log_parent_class)->finalize (object);
}

static void
prism_audit_log_class_init (PrismAuditLogClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  const GParamFlags flags = G_PARAM_READABLE | G_PARAM_STATIC_STRINGS;

  object_class->get_property = prism_audit_log_get_property;
  object_class->finalize = prism_audit_log_finalize;

  /**
   * PrismAuditLog:path:
   *
   * The file that it writes; %NULL if it only counts.
   *
   * Since: 1.0
   */
  properties[PROP_PATH] = g_param_spec_string ("path", NULL, NULL, NULL, flags);
  /**
   * PrismAuditLog:allowed:
   *
   * How many decisions let something through.
   *
   * Since: 1.0
   */
  properties[PROP_ALLOWED] = g_param_spec_int64 ("allowed", NULL, NULL, 0, G_MAXINT64, 0, flags);
  /**
   * PrismAuditLog:denied:
   *
   * How many decisions refused something.
   *
   * Since: 1.0
   */
  properties[PROP_DENIED] = g_param_spec_int64 ("denied", NULL, NULL, 0, G_MAXINT64, 0, flags);
  g_object_class_install_properties (object_class, N_PROPERTIES, properties);
}

static void
prism_audit_log_init (PrismAuditLog *self)
{
  self->fd = -1;
  g_mutex_init (&self->lock);
  g_queue_init (&self->waiting);
  self->kinds = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (self->distinct); i++)
    self->distinct[i] = g_ptr_array_new_with_free_func ((GDestroyNotify)prism_audit_record_free);
}

/**
 * prism_audit_log_new:
 *
 * Makes a log that only counts.
 *
 * Returns: (transfer full): a log that only counts
 *
 * Since: 1.0
 */
PrismAuditLog *
prism_audit_log_new (void)
{
  return g_object_new (PRISM_TYPE_AUDIT_LOG, NULL);
}

/* A pipe must never hold the proxy up, a file never does for long. A pipe without a
 * reader is refused (ENXIO) rather than waited for. */
static int
open_path (const char *path, GError **error)
{
  prism_autofd int fd = open (path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0600);
  struct stat info;

  if (fd < 0 || fstat (fd, &info) < 0)
    {
      int reason = errno;
      g_set_error (error, G_IO_ERROR, (int)g_io_error_from_errno (reason), "audit file %s: %s", path,
                   reason == ENXIO ? "nobody reads the pipe yet" : g_strerror (reason));
      return -1;
    }
  return g_steal_fd (&fd);
}

/**
 * prism_audit_log_new_for_path:
 * @path: (type filename): a file, made for its owner alone if there is none and
 *   appended to if there is, or a pipe
 * @error: return location for a [error@Gio.IOErrorEnum]
 *
 * Makes a log that writes there, one line of JSON for each record.
 *
 * Returns: (transfer full): a log that writes there, one line of JSON for each record
 *
 * Since: 1.0
 */
PrismAuditLog *
prism_audit_log_new_for_path (const char *path, GError **error)
{
  PrismAuditLog *self;
  int fd;

  g_return_val_if_fail (path != NULL, NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  fd = open_path (path, error);
  if (fd < 0)
    return NULL;
  self = prism_audit_log_new ();
  self->path = g_strdup (path);
  self->fd = fd;
  return self;
}

static GString *
new_line (const PrismAuditRecord *record)
{
  g_autofree char *json = prism_audit_record_to_json (record);
  GString *line = g_string_new (json);

  g_string_append_c (line, '\n');
  return line;
}

static void
note_kind (PrismAuditLog *self, const PrismAuditRecord *record)
{
  PrismAuditDecision decision = prism_audit_record_get_decision (record);
  GPtrArray *list = self->distinct[decision];
  g_autofree char *kind = NULL;

  if (list->len == MAX_DISTINCT)
    return;
  kind = g_strdup_printf ("%d %d %u %s %s", decision, prism_audit_record_get_protocol (record),
                          prism_audit_record_get_port (record), prism_audit_record_get_reason_id (record),
                          prism_audit_record_get_host (record));
  if (g_hash_table_add (self->kinds, g_steal_pointer (&kind)))
    g_ptr_array_add (list, prism_audit_record_copy (record));
}

/**
 * prism_audit_log_add:
 * @self: a log
 * @record: what was decided
 *
 * For the proxy, from any of its threads.
 *
 * Returns: %FALSE if the record was not taken, because the file cannot be written
 *   now; then the proxy lets nothing more through for this listener until it can
 *
 * Since: 1.0
 */
gboolean
prism_audit_log_add (PrismAuditLog *self, const PrismAuditRecord *record)
{
  gboolean room;

  g_return_val_if_fail (PRISM_IS_AUDIT_LOG (self) && record != NULL, FALSE);

  g_mutex_lock (&self->lock);
  room =
      self->fd < 0 || write_waiting (self) || (self->failure == 0 && g_queue_get_length (&self->waiting) < MAX_WAITING);
  if (room && self->fd >= 0)
    {
      g_queue_push_tail (&self->waiting, new_line (record));
      write_waiting (self);
    }
  if (room)
    {
      note_kind (self, record);
      if (prism_audit_record_get_decision (record) == PRISM_AUDIT_DECISION_ALLOW)
        self->allowed++;
      else
        self->denied++;
    }
  g_mutex_unlock (&self->lock);
  return room;
}

static gboolean
set_failure (PrismAuditLog *self, GError **error)
{
  int reason = self->failure != 0 ? self->failure : EAGAIN;

  g_set_error (error, G_IO_ERROR, (int)g_io_error_from_errno (reason), "audit file %s: %u records are not written: %s",
               self->path, g_queue_get_length (&self->waiting),
               reason == EAGAIN ? "its reader does not keep up" : g_strerror (reason));
  return FALSE;
}

/**
 * prism_audit_log_flush:
 * @self: a log
 * @timeout_ms: how long to wait for a reader that does not keep up
 * @error: return location for a [error@Gio.IOErrorEnum]
 *
 * Gets %FALSE if records still wait to be written.
 *
 * Returns: %FALSE if records still wait to be written
 *
 * Since: 1.0
 */
gboolean
prism_audit_log_flush (PrismAuditLog *self, gint64 timeout_ms, GError **error)
{
  gint64 deadline = g_get_monotonic_time () + timeout_ms * 1000;
  gboolean done;

  g_return_val_if_fail (PRISM_IS_AUDIT_LOG (self), FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  g_mutex_lock (&self->lock);
  for (;;)
    {
      struct pollfd wait = { .fd = self->fd, .events = POLLOUT };
      gint64 left = (deadline - g_get_monotonic_time ()) / 1000;

      done = write_waiting (self);
      if (done || self->failure != 0 || left <= 0)
        break;
      g_mutex_unlock (&self->lock);
      poll (&wait, 1, (int)MIN (left, 1000));
      g_mutex_lock (&self->lock);
    }
  if (!done)
    set_failure (self, error);
  g_mutex_unlock (&self->lock);
  return done;
}

/**
 * prism_audit_log_reopen:
 * @self: a log
 * @error: return location for a [error@Gio.IOErrorEnum]
 *
 * Opens its path anew, because the file was moved away. If that fails it goes on
 * writing where it was. What waits is written to the new file.
 *
 * Returns: whether it writes to the path's file now
 *
 * Since: 1.0
 */
gboolean
prism_audit_log_reopen (PrismAuditLog *self, GError **error)
{
  int fd;

  g_return_val_if_fail (PRISM_IS_AUDIT_LOG (self), FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  if (self->path == NULL)
    return TRUE;
  fd = open_path (self->path, error);
  if (fd < 0)
    return FALSE;
  g_mutex_lock (&self->lock);
  write_waiting (self);
  self->written = 0; /* a line that was begun is written whole in the new file */
  prism_clear_fd (&self->fd);
  self->fd = fd;
  self->failure = 0;
  g_mutex_unlock (&self->lock);
  return TRUE;
}

/**
 * prism_audit_log_get_path:
 * @self: a log
 *
 * Gets the file that it writes.
 *
 * Returns: (type filename) (nullable): the file that it writes
 *
 * Since: 1.0
 */
const char *
prism_audit_log_get_path (PrismAuditLog *self)
{
  g_return_val_if_fail (PRISM_IS_AUDIT_LOG (self), NULL);
  return self->path;
}

static gint64
read_count (PrismAuditLog *self, const gint64 *count)
{
  gint64 value;

  g_mutex_lock (&self->lock);
  value = *count;
  g_mutex_unlock (&self->lock);
  return value;
}

/**
 * prism_audit_log_get_allowed:
 * @self: a log
 *
 * Tells how many decisions let something through.
 *
 * Returns: how many decisions let something through
 *
 * Since: 1.0
 */
gint64
prism_audit_log_get_allowed (PrismAuditLog *self)
{
  g_return_val_if_fail (PRISM_IS_AUDIT_LOG (self), 0);
  return read_count (self, &self->allowed);
}

/**
 * prism_audit_log_get_denied:
 * @self: a log
 *
 * Tells how many decisions refused something.
 *
 * Returns: how many decisions refused something
 *
 * Since: 1.0
 */
gint64
prism_audit_log_get_denied (PrismAuditLog *self)
{
  g_return_val_if_fail (PRISM_IS_AUDIT_LOG (self), 0);
  return read_count (self, &self->denied);
}

/**
 * prism_audit_log_list_distinct:
 * @self: a log
 * @decision: which of them
 *
 * The first record of each kind: those of one kind have the same host, port, protocol
 * and reason. At most 256 are kept.
 *
 * Returns: (transfer full) (element-type PrismAuditRecord): the records, the oldest
 *   first
 *
 * Since: 1.0
 */
GPtrArray *
prism_audit_log_list_distinct (PrismAuditLog *self, PrismAuditDecision decision)
{
  GPtrArray *list = g_ptr_array_new_with_free_func ((GDestroyNotify)prism_audit_record_free);

  g_return_val_if_fail (PRISM_IS_AUDIT_LOG (self), list);
  g_return_val_if_fail ((guint)decision < G_N_ELEMENTS (self->distinct), list);

  g_mutex_lock (&self->lock);
  for (guint i = 0; i < self->distinct[decision]->len; i++)
    g_ptr_array_add (list, prism_audit_record_copy (self->distinct[decision]->pdata[i]));
  g_mutex_unlock (&self->lock);
  return list;
}
