/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Streams and archives in memory, for the tests and fuzz targets of modules/archive. */
#pragma once

#include "archive-io.h"

#include <fcntl.h>
#include <gio/gio.h>
#include <sys/mman.h>
#include <unistd.h>

static const PrismArchiveLimits fixture_limits = { 1000, 1 << 20, 10000 };
static const PrismArchiveJob fixture_job = { .limits = &fixture_limits };

/* A descriptor at offset 0 of a file that holds these bytes. */
static inline int
fixture_fd (const void *bytes, gsize size)
{
  int fd = memfd_create ("fixture", MFD_CLOEXEC);
  g_assert_cmpint (fd, >=, 0);
  while (size > 0)
    {
      ssize_t n = write (fd, bytes, size);
      g_assert_cmpint (n, >, 0);
      bytes = (const guint8 *)bytes + n;
      size -= (gsize)n;
    }
  g_assert_cmpint (lseek (fd, 0, SEEK_SET), ==, 0);
  return fd;
}

static inline GByteArray *
fixture_slurp (int fd)
{
  GByteArray *bytes = g_byte_array_new ();
  guint8 buffer[65536];
  ssize_t n;
  g_assert_cmpint (lseek (fd, 0, SEEK_SET), ==, 0);
  while ((n = read (fd, buffer, sizeof buffer)) > 0)
    g_byte_array_append (bytes, buffer, (guint)n);
  g_assert_cmpint (n, ==, 0);
  return bytes;
}

/* One record, with @content behind a file's; @size is written as it is given. */
static inline void
fixture_record_raw (
    GByteArray *stream, guint type, const char *name, const char *link, guint mode, guint64 size, const char *content)
{
  ArchiveEntry *entry = g_newa0 (ArchiveEntry, 1);
  guint8 record[PRISM_WIRE_RECORD];
  entry->type = (guint8)type;
  entry->name_length = (guint16)strlen (name);
  entry->link_length = (guint16)strlen (link);
  entry->mode = mode;
  entry->size = size;
  archive_record_format (record, entry);
  g_byte_array_append (stream, record, sizeof record);
  g_byte_array_append (stream, (const guint8 *)name, (guint)strlen (name));
  g_byte_array_append (stream, (const guint8 *)link, (guint)strlen (link));
  g_byte_array_append (stream, (const guint8 *)content, (guint)strlen (content));
}

static inline void
fixture_file (GByteArray *stream, const char *name, const char *content)
{
  fixture_record_raw (stream, PRISM_WIRE_FILE, name, "", 0644, strlen (content), content);
}

static inline void
fixture_folder (GByteArray *stream, const char *name)
{
  fixture_record_raw (stream, PRISM_WIRE_FOLDER, name, "", 0755, 0, "");
}

static inline void
fixture_link (GByteArray *stream, const char *name, const char *target)
{
  fixture_record_raw (stream, PRISM_WIRE_LINK, name, target, 0777, 0, "");
}

static inline void
fixture_end (GByteArray *stream, guint64 entries)
{
  fixture_record_raw (stream, 0, "", "", 0, entries, "");
}
