/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Asking the agent for files, by hand. */
#pragma once

#include "agent-fixture.h"

#define RECURSIVE 1u
#define PARENTS   2u
#define OVERWRITE 4u
#define FOLD_CASE 8u
#define HIDDEN    16u
#define BENEATH   32u
#define SOURCES   64u

static guint32 next_id = 1;

static inline void
ask_path (Agent *agent, guint8 type, guint32 id, const char *path, const char *other, guint32 a, guint32 b, int n_u32)
{
  WRITER (w);
  prism_wire_put_str (&w, path);
  if (other != NULL)
    prism_wire_put_str (&w, other);
  if (n_u32 > 0)
    prism_wire_put (&w, a, 4);
  if (n_u32 > 1)
    prism_wire_put (&w, b, 4);
  if (type == PRISM_WIRE_SEARCH) /* no context, no bounds */
    for (guint i = 0; i < 28; i++)
      prism_wire_put (&w, 0, 1);
  agent_say_writer (agent, type, id, &w);
}

/* DONE is 0, else the error. */
static inline guint32
expect_done (Agent *agent, guint32 id)
{
  g_auto (Frame) frame = FRAME_INIT;
  g_assert_true (agent_next (agent, &frame));
  g_assert_cmpuint (frame.header.id, ==, id);
  if (frame.header.type == PRISM_WIRE_DONE)
    return 0;
  g_autofree char *message = NULL;
  guint32 error = frame_error (&frame, &message);
  g_test_message ("%s", message);
  return error;
}

/* DATA to its end, credit given as it comes; the error, or 0. */
static inline guint32
collect_data (Agent *agent, guint32 id, GByteArray *into)
{
  for (;;)
    {
      g_auto (Frame) frame = FRAME_INIT;
      g_assert_true (agent_next (agent, &frame));
      g_assert_cmpuint (frame.header.id, ==, id);
      if (frame.header.type == PRISM_WIRE_ERROR)
        return frame_error (&frame, NULL);
      g_assert_cmpint (frame.header.type, ==, PRISM_WIRE_DATA);
      g_byte_array_append (into, frame.payload, frame.header.size);
      if (frame.header.flags & PRISM_WIRE_LAST)
        return 0;
      if (frame.header.size > 0)
        agent_say_credit (agent, id, 3, frame.header.size);
    }
}

static inline guint32
do_read (Agent *agent, const char *path, guint64 offset, guint64 length, GByteArray *into)
{
  guint32 id = next_id++;
  WRITER (w);
  prism_wire_put_str (&w, path);
  prism_wire_put (&w, offset, 8);
  prism_wire_put (&w, length, 8);
  prism_wire_put (&w, 0, 4);
  agent_say_writer (agent, PRISM_WIRE_READ, id, &w);
  return collect_data (agent, id, into);
}

static inline guint32
do_write (Agent *agent, const char *path, const void *bytes, gsize size, guint32 mode, guint32 flags)
{
  guint32 id = next_id++;
  gsize sent = 0, credit = PRISM_WIRE_WINDOW;
  ask_path (agent, PRISM_WIRE_WRITE, id, path, NULL, mode, flags, 2);
  for (;;)
    {
      while (credit > 0)
        {
          gsize n = MIN (MIN (size - sent, credit), 100000);
          gboolean last = sent + n == size;
          agent_say (agent, PRISM_WIRE_DATA, last ? PRISM_WIRE_LAST : 0, id, (const guint8 *)bytes + sent, n, NULL, 0);
          sent += n;
          credit -= n;
          if (last)
            break;
        }
      g_auto (Frame) frame = FRAME_INIT;
      g_assert_true (agent_next (agent, &frame));
      g_assert_cmpuint (frame.header.id, ==, id);
      if (frame.header.type == PRISM_WIRE_DONE)
        return 0;
      if (frame.header.type == PRISM_WIRE_ERROR)
        return frame_error (&frame, NULL);
      g_assert_cmpint (frame.header.type, ==, PRISM_WIRE_CREDIT);
      struct prism_wire_reader r = prism_wire_read_from (frame.payload, frame.header.size);
      g_assert_cmpuint (prism_wire_u8 (&r), ==, 3);
      credit += prism_wire_u32 (&r);
    }
}

/* One line an entry: type mode size name -> target. */
static inline guint32
do_list (Agent *agent, guint8 type, const char *path, guint32 flags, guint32 most, GString *into)
{
  guint32 id = next_id++;
  ask_path (agent, type, id, path, NULL, flags, most, type == PRISM_WIRE_LIST ? 2 : 1);
  for (;;)
    {
      g_auto (Frame) frame = FRAME_INIT;
      g_assert_true (agent_next (agent, &frame));
      if (frame.header.type == PRISM_WIRE_ERROR)
        return frame_error (&frame, NULL);
      g_assert_cmpint (frame.header.type, ==, PRISM_WIRE_ENTRIES);
      struct prism_wire_reader r = prism_wire_read_from (frame.payload, frame.header.size);
      while (r.at < r.end)
        {
          guint8 kind = prism_wire_u8 (&r);
          guint32 mode = prism_wire_u32 (&r);
          guint64 size = prism_wire_u64 (&r);
          gint64 mtime = (gint64)prism_wire_u64 (&r);
          const char *name = prism_wire_str (&r, PRISM_WIRE_MAX_PATH);
          const char *target = prism_wire_str (&r, PRISM_WIRE_MAX_PATH);
          g_assert_false (r.bad);
          g_assert_cmpint (mtime, >, G_GINT64_CONSTANT (1600000000000000));
          g_string_append_printf (into, "%c %o %" G_GUINT64_FORMAT " %s%s%s\n", "?fdlo"[kind], mode,
                                  kind == PRISM_WIRE_FILE ? size : 0, name, *target != 0 ? " -> " : "", target);
        }
      if (frame.header.flags & PRISM_WIRE_LAST)
        return 0;
    }
}

static inline char *
in_workspace (Agent *agent, const char *name)
{
  return g_build_filename (agent->workspace, name, NULL);
}

static inline void
put_file (Agent *agent, const char *name, const char *content)
{
  g_autofree char *path = in_workspace (agent, name);
  g_autofree char *folder = g_path_get_dirname (path);
  g_assert_no_errno (g_mkdir_with_parents (folder, 0755));
  g_assert_true (g_file_set_contents (path, content, -1, NULL));
}

static inline void
put_link (Agent *agent, const char *name, const char *target)
{
  g_autofree char *path = in_workspace (agent, name);
  g_assert_no_errno (symlink (target, path));
}

static inline GByteArray *
make_bytes (gsize size)
{
  GByteArray *bytes = g_byte_array_sized_new (size);
  g_byte_array_set_size (bytes, size);
  for (gsize i = 0; i < size; i++)
    bytes->data[i] = (guint8)(i * 2654435761u >> 13);
  return bytes;
}

static inline guint32
do_simple (Agent *agent, guint8 type, const char *path, const char *other, guint32 a, guint32 b, int n)
{
  guint32 id = next_id++;
  ask_path (agent, type, id, path, other, a, b, n);
  return expect_done (agent, id);
}

static inline void
ask_tree (Agent *agent, guint8 type, guint32 id, const char *path, guint64 entries, guint64 bytes, int fd)
{
  WRITER (w);
  prism_wire_put_str (&w, path);
  prism_wire_put (&w, entries, 8);
  prism_wire_put (&w, bytes, 8);
  agent_say (agent, type, 0, id, w.start, w.at - w.start, &fd, fd >= 0 ? 1 : 0);
}
