/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "archive-entry.h"

#include <openssl/evp.h>

G_BEGIN_DECLS

#define ARCHIVE_BUFFER (256u * 1024u)

/* Waits that end: a descriptor, the cancellable, the stall limit. */
typedef struct
{
  const PrismArchiveJob *job;
  GPollFD cancel;
  gboolean has_cancel;
  gboolean blind; /* there was no descriptor for it */
} ArchiveWait;

void archive_wait_init (ArchiveWait *wait, const PrismArchiveJob *job);
void archive_wait_clear (ArchiveWait *wait);
gboolean archive_wait_for (ArchiveWait *wait, int fd, gushort events, GError **error);

/* A buffered reader of a descriptor. */
typedef struct
{
  ArchiveWait *wait;
  int fd;
  gsize start, end;
  guint8 *buffer; /* ARCHIVE_BUFFER bytes */
} ArchiveInput;

void archive_input_init (ArchiveInput *input, ArchiveWait *wait, int fd);
void archive_input_clear (ArchiveInput *input);
/* @size bytes, at most ARCHIVE_BUFFER, where they lie until the next call. */
const guint8 *archive_input_take (ArchiveInput *input, gsize size, GError **error);
/* At least one byte, at most @most; their number in @size. */
const guint8 *archive_input_some (ArchiveInput *input, guint64 most, gsize *size, GError **error);

/* Where bytes go: a descriptor (made non-blocking), a stream, or nowhere; hashed
 * on the way with @hash. */
typedef struct
{
  ArchiveWait *wait;
  int fd;                /* or -1 */
  GOutputStream *stream; /* or NULL */
  EVP_MD_CTX *hash;      /* or NULL */
  gsize used;
  guint8 *buffer; /* ARCHIVE_BUFFER bytes */
} ArchiveOutput;

gboolean archive_output_init (
    ArchiveOutput *output, ArchiveWait *wait, int fd, GOutputStream *stream, gboolean hash, GError **error);
void archive_output_clear (ArchiveOutput *output);
gboolean archive_output_put (ArchiveOutput *output, const void *bytes, gsize size, GError **error);
/* Room for @size bytes (at most ARCHIVE_BUFFER) that the caller fills and then adds to used. */
guint8 *archive_output_room (ArchiveOutput *output, gsize size, GError **error);
gboolean archive_output_flush (ArchiveOutput *output, GError **error);
/* After the last flush. */
void archive_output_digest (ArchiveOutput *output, char sha256[65]);

/* The canonical tar. */
gboolean archive_tar_put_header (ArchiveOutput *tar, const ArchiveEntry *entry, GError **error);
gboolean archive_tar_put_padding (ArchiveOutput *tar, guint64 size, GError **error);
gboolean archive_tar_put_end (ArchiveOutput *tar, GError **error);

/* The tree stream. */
gboolean archive_tree_put (ArchiveOutput *tree, const ArchiveEntry *entry, GError **error);
gboolean archive_tree_put_end (ArchiveOutput *tree, guint64 entries, GError **error);
/* The next entry, type 0 at the end; a file's bytes are then the caller's to take. */
gboolean archive_tree_next (ArchiveInput *tree, ArchiveRules *rules, ArchiveEntry *entry, GError **error);

gboolean archive_export (
    int tree_fd, GOutputStream *stream, const PrismArchiveJob *job, PrismArchiveResult *result, GError **error);
gboolean
archive_import (int folder_fd, int tree_fd, const PrismArchiveJob *job, PrismArchiveResult *result, GError **error);
gboolean
archive_read_tar (int tar_fd, int tree_fd, const PrismArchiveJob *job, PrismArchiveResult *result, GError **error);

G_END_DECLS
