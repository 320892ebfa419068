/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The wire between the host and prism-agent, version 1: frames over any byte
 * stream, descriptors beside them where the stream is a unix socket.
 *
 * Shared by the static agent and the library: needs nothing but the C library's
 * string functions. Each side treats the other's bytes as hostile: every length
 * here has a maximum, and what breaks a rule ends the connection.
 *
 * FRAME = header (16 bytes, little-endian) + payload.
 *   u32 size    of the payload, at most PRISM_WIRE_MAX_PAYLOAD
 *   u8  type    enum prism_wire_type
 *   u8  fds     how many descriptors travel with this frame, at most 3
 *   u16 flags   PRISM_WIRE_LAST, else 0
 *   u32 id      what it belongs to; chosen by the host, never 0 but for HELLO,
 *               SETUP, PING, PONG, SHUTDOWN; free again after its last frame
 *   u32 zero
 * Descriptors are sent with the sendmsg that carries the frame's first byte,
 * those of one frame at most in one sendmsg. Frames take them in order of
 * arrival. A frame that says more than have arrived, and a frame that begins in
 * a later recvmsg while descriptors of an earlier one are unclaimed, is a lie.
 *
 * ORDER. The agent speaks first: HELLO. The host answers with SETUP; requests
 * may follow in the same write. Then anything goes in any order, per id:
 *
 *  EXEC       -> [STARTED] (OUT | ERR)* EXITED [GONE] | ERROR
 *                EXITED without MORE is the id's last frame; with MORE, children
 *                of the command live on, and GONE is the last. With passed
 *                descriptors OUT and ERR never come: the command writes into
 *                the host's own pipes, and the agent's copies are closed before
 *                EXITED is sent.
 *  ATTACH     -> as EXEC, of a process that an earlier connection left.
 *                A command with a timeout is ended when that is over, whether its
 *                host is there or not.
 *  READ SEARCH           -> DATA* DATA|LAST | ERROR
 *  LIST STAT PROCS       -> ENTRIES* ENTRIES|LAST | ERROR
 *  WRITE      then DATA* DATA|LAST from the host -> DONE | ERROR
 *  TREE_IN    then DATA* DATA|LAST from the host, or a descriptor to read -> DONE | ERROR
 *  TREE_OUT   -> DATA* DATA|LAST, or into a descriptor and then DONE | ERROR
 *  REMOVE RENAME MKDIR LISTEN RELEASE -> DONE | ERROR
 *  SIGNAL CANCEL RESIZE IN IN_EOF CREDIT RESUMED have no answer of their own; CANCEL
 *  of a file request makes it answer ERROR/CANCELLED. What names an id that is
 *  not live is ignored: its last frame may be under way. A live id is not
 *  given to a second request.
 *  ERROR with id 0 says why the agent ends the connection, where it still can.
 *
 * CREDIT. Each direction of each id that carries a stream (OUT, ERR, DATA, IN)
 * starts with PRISM_WIRE_WINDOW bytes that its sender may send; CREDIT grants
 * more. A sender without credit stops reading its source: one stream that
 * nobody reads stalls nothing else. A sender that overdraws is a liar.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define PRISM_WIRE_MAGIC 0x4d535250u
#define PRISM_WIRE_MAJOR 1
#define PRISM_WIRE_MINOR 0

#define PRISM_WIRE_HEADER 16u
#define PRISM_WIRE_MAX_PAYLOAD (256u * 1024u)
#define PRISM_WIRE_WINDOW (256u * 1024u)  /* initial credit of a stream, bytes */
#define PRISM_WIRE_MAX_CREDIT (16u * 1024u * 1024u)
#define PRISM_WIRE_MAX_FDS 3u
#define PRISM_WIRE_MAX_STRINGS 65536u     /* argv, env: entries; together they fit one payload */
#define PRISM_WIRE_MAX_PATH 4095u
#define PRISM_WIRE_MAX_TAG 128u
#define PRISM_WIRE_MAX_IDS 1024u          /* live ids that an agent serves */

#define PRISM_WIRE_LAST 0x0001u

enum prism_wire_type
{
  /* host to agent */
  PRISM_WIRE_SETUP = 1,
  PRISM_WIRE_EXEC = 2,
  PRISM_WIRE_SIGNAL = 3,     /* u32 signal: to the command's process group */
  PRISM_WIRE_CANCEL = 4,     /* u32 grace in ms: SIGTERM to the whole tree, then SIGKILL; 0 = SIGKILL at once */
  PRISM_WIRE_IN = 5,         /* stdin bytes */
  PRISM_WIRE_IN_EOF = 6,
  PRISM_WIRE_RESIZE = 7,     /* u16 columns, u16 rows */
  PRISM_WIRE_ATTACH = 8,     /* str uuid, u64 stdout offset, u64 stderr offset, u32 flags (EXEC_STARTED or 0);
                              * replay begins there or at the oldest byte that the log still holds */
  PRISM_WIRE_RELEASE = 9,    /* str uuid: forget an ended process and its log */
  PRISM_WIRE_PROCS = 10,
  PRISM_WIRE_READ = 16,      /* str path, u64 offset, u64 length (UINT64_MAX: to the end), u32 flags */
  PRISM_WIRE_WRITE = 17,     /* str path, u32 mode, u32 flags */
  PRISM_WIRE_LIST = 18,      /* str path, u32 flags, u32 most entries */
  PRISM_WIRE_STAT = 19,      /* str path, u32 flags */
  PRISM_WIRE_REMOVE = 20,    /* str path, u32 flags, u32 most entries */
  PRISM_WIRE_RENAME = 21,    /* str from, str to, u32 flags */
  PRISM_WIRE_MKDIR = 22,     /* str path, u32 mode, u32 flags */
  PRISM_WIRE_SEARCH = 23,    /* str path, str query, u32 flags, u32 most matches, u32 lines of context, u64 most
                              * bytes read, u64 most bytes of a file, u64 most bytes of a line (each 0 = no cap) */
  PRISM_WIRE_TREE_IN = 24,   /* str path, u64 most entries, u64 most bytes; fds 1: read it there */
  PRISM_WIRE_TREE_OUT = 25,  /* str path, u64 most entries, u64 most bytes; fds 1: write it there */
  PRISM_WIRE_LISTEN = 32,    /* u16 port on 127.0.0.1 */
  PRISM_WIRE_PING = 48,
  PRISM_WIRE_SHUTDOWN = 49,
  PRISM_WIRE_RESUMED = 50,   /* u64 ms: for that long the whole sandbox was frozen: no timeout was running;
                              * id 0 */
  /* both ways */
  PRISM_WIRE_CREDIT = 64,    /* u8 stream (1 out, 2 err, 3 data, 0 in), u32 bytes */
  PRISM_WIRE_DATA = 65,
  /* agent to host */
  PRISM_WIRE_HELLO = 128,
  PRISM_WIRE_STARTED = 129,  /* u32 pid; fds 1: the pty's master */
  PRISM_WIRE_OUT = 130,
  PRISM_WIRE_ERR = 131,
  PRISM_WIRE_EXITED = 132,
  PRISM_WIRE_GONE = 133,
  PRISM_WIRE_ERROR = 134,    /* u32 enum prism_wire_error, u32 errno, str message */
  PRISM_WIRE_DONE = 135,     /* fds 1: LISTEN's descriptor. u64 entries, u64 bytes for trees and REMOVE, else empty */
  PRISM_WIRE_ENTRIES = 136,  /* LIST, STAT: entries; PROCS: processes */
  PRISM_WIRE_PONG = 137,
};

/* HELLO: u32 magic, u16 major, u16 minor, u64 features, u8[16] boot id (random,
 * of this agent's life), u32 uid, u32 gid, u32 processes it holds */
#define PRISM_WIRE_FEATURE_FDS (1u << 0)      /* the stream is a unix socket: descriptors may travel */
#define PRISM_WIRE_FEATURE_PTY (1u << 1)
#define PRISM_WIRE_FEATURE_LISTEN (1u << 2)
#define PRISM_WIRE_FEATURE_LAST (1u << 3)     /* EXEC_LAST may be said */

/* SETUP: u16 major, u16 minor, u32 flags, str workspace, strv environment,
 * u32 open files (RLIMIT_NOFILE, 0 = keep), u64 data bytes (RLIMIT_DATA, 0 =
 * keep), u64 log bytes kept per stream of a kept process, u32 commands at once
 * (0 = as many as ids), u64 ms until the agent ends all (its wall time, counted
 * from this SETUP; 0 = none; must be given with KEEP) */
#define PRISM_WIRE_SETUP_KEEP (1u << 0)       /* lifetime=detached: live on and redial after EOF */
#define PRISM_WIRE_SETUP_SECCOMP (1u << 1)    /* load the filter now (the launcher did it natively) */
#define PRISM_WIRE_SETUP_LANDLOCK (1u << 2)   /* enter the scoping domain now, where the kernel has it */

/* EXEC: u32 flags, strv argv, str cwd ("" = workspace), strv environment (on
 * top of SETUP's), u16 columns, u16 rows, u64 most bytes of OUT+ERR that are
 * framed or logged (0 = no cap; over it the tree is ended, EXITED says LIMIT),
 * str uuid ("" or 32 hex: what ATTACH names), u64 timeout in ms (0 = none; then
 * SIGTERM to the tree, SIGKILL after the grace, EXITED says TIMED_OUT), u32 grace in ms,
 * str tag (at most PRISM_WIRE_MAX_TAG; a kept process has it for PROCS to tell).
 * fds, in this order and only without FRAMED and PTY: [stdin if STDIN], stdout,
 * stderr. */
#define PRISM_WIRE_EXEC_STDIN (1u << 0)       /* else /dev/null */
#define PRISM_WIRE_EXEC_PTY (1u << 1)
#define PRISM_WIRE_EXEC_FRAMED (1u << 2)
#define PRISM_WIRE_EXEC_KEEP (1u << 3)        /* survives this connection; logged; implies FRAMED */
#define PRISM_WIRE_EXEC_STARTED (1u << 4)     /* wants STARTED (a pty always sends it) */
/* Nothing else is asked of this agent: after an EXITED that says CODE and no flag it ends, with
 * all that there is. With KEEP in SETUP it is ignored. */
#define PRISM_WIRE_EXEC_LAST (1u << 5)

/* EXITED: u8 how, i32 code (exit code or signal), u32 flags, u64 user us, u64
 * system us, u64 peak RSS in KiB of the command itself, u64 OUT bytes, u64 ERR
 * bytes written (framed only) */
enum prism_wire_how { PRISM_WIRE_HOW_CODE = 1, PRISM_WIRE_HOW_SIGNAL = 2, PRISM_WIRE_HOW_UNKNOWN = 3 };
#define PRISM_WIRE_EXITED_MORE (1u << 0)
#define PRISM_WIRE_EXITED_CANCELLED (1u << 1) /* after a CANCEL */
#define PRISM_WIRE_EXITED_LIMIT (1u << 2)     /* over its output cap */
#define PRISM_WIRE_EXITED_SHIM (1u << 3)      /* its supervisor was killed from inside */
#define PRISM_WIRE_EXITED_TIMED_OUT (1u << 4) /* its timeout was over before it ended */

enum prism_wire_error
{
  PRISM_WIRE_ERROR_FAILED = 1,
  PRISM_WIRE_ERROR_INVALID = 2,
  PRISM_WIRE_ERROR_NOT_FOUND = 3,
  PRISM_WIRE_ERROR_NOT_EXECUTABLE = 4,
  PRISM_WIRE_ERROR_LIMIT = 5,
  PRISM_WIRE_ERROR_ESCAPE = 6,      /* a path leads outside */
  PRISM_WIRE_ERROR_DENIED = 7,
  PRISM_WIRE_ERROR_EXISTS = 8,
  PRISM_WIRE_ERROR_TYPE = 9,
  PRISM_WIRE_ERROR_CANCELLED = 10,
  PRISM_WIRE_ERROR_NO_SPACE = 11,
  PRISM_WIRE_ERROR_CHANGED = 12,
  PRISM_WIRE_ERROR_CWD = 13,        /* the command's folder cannot be entered */
  PRISM_WIRE_ERROR_NO_PROCESS = 14, /* EAGAIN from clone: the process limit */
};

/* Paths: absolute ones are the sandbox's own, relative ones are below the
 * workspace. READ follows links; what changes something never follows the last
 * component, and WRITE refuses (TYPE) what is no regular file. WRITE is seen
 * whole or not at all: a temporary file beside it, renamed at LAST. mode 0: an
 * existing file's, else 0644 (MKDIR 0755); set-id bits are INVALID.
 * LIST's and SEARCH's order is that of a walk, depth first, siblings by byte
 * value. SEARCH's DATA: for each line with a match PATH NUL LINE NUL COLUMN NUL
 * TEXT LF, path relative to what was asked, numbers from 1, at most 1024 bytes of
 * a line; binary files are skipped, without HIDDEN also names with a leading dot
 * and node_modules. REMOVE's error says how many entries went before it.
 * Output that background children write after EXITED|MORE is dropped.
 *
 * With BENEATH every component of a path is looked up below the workspace, one by one: READ,
 * LIST, SEARCH and STAT follow links as long as they stay there (STAT not the last one), what
 * changes something follows none at all. What leads out is ESCAPE. With SOURCES, SEARCH leaves
 * out what is called .git, node_modules or dist; lines of context come as records with COLUMN
 * 0; and the last record has an empty PATH, LINE and COLUMN 0, and as TEXT seven decimal
 * numbers: entries seen, files searched, bytes read, files left out as binary, as too large,
 * lines left out as too long, and why it ended early (0 did not, 1 matches, 2 bytes).
 *
 * What cannot be read is told: SEARCH has a line with LINE and COLUMN 0 for it, whose
 * TEXT says why (at most PRISM_WIRE_MAX_UNREAD of them, the last one stands for all that
 * follow), LIST an entry with the type's PRISM_WIRE_UNREADABLE for a folder that RECURSIVE
 * could not enter.
 *
 * File flags are PrismFileFlags. An entry: u8 type, u32 mode (07777), u64 size,
 * i64 mtime in us, str name (relative to what was asked; "" for STAT), str link
 * target ("" unless a link). A process: str uuid, u32 pid, u8 state (1 running,
 * 2 ended), u8 how, i32 code, u64 started (ms since the epoch), u64 log begin and
 * end of stdout, u64 log begin and end of stderr, str tag, strv argv (whole arguments,
 * as far as they fit 4 KiB). */
enum prism_wire_entry { PRISM_WIRE_FILE = 1, PRISM_WIRE_FOLDER = 2, PRISM_WIRE_LINK = 3, PRISM_WIRE_OTHER = 4 };
#define PRISM_WIRE_UNREADABLE 0x80u
#define PRISM_WIRE_MAX_UNREAD 64u
#define PRISM_WIRE_MAX_CONTEXT 20u

/* TREE STREAM, in DATA frames or on a descriptor: records
 *   u8 type (enum prism_wire_entry; 0 = end), u8 zero, u16 name length, u16 link
 *   length, u16 zero, u32 mode, u32 mtime ns, i64 mtime s, u64 size
 *   (PRISM_WIRE_RECORD bytes), name, link target, then for a file `size` bytes.
 * Names are relative to the root of the tree (which has no record itself), parents
 * come first, siblings are sorted by byte value, a folder's content follows it at
 * once (depth first); no empty, "." or ".." component, none over 255 bytes. A link's
 * target is relative and has ".." only at its start, no more than lead to the
 * root: so no way through other links leads outside. mode has no more than 07777,
 * mtime ns is less than 10^9; a folder's and a link's size is 0. The end record has
 * the number of entries in `size`, zeros elsewhere, and stops the stream; without
 * it, it was cut. */
#define PRISM_WIRE_RECORD 32u

/* --- codec: a cursor that remembers whether it ever ran over ---------------- */

struct prism_wire_reader { const uint8_t *at, *end; int bad; };
struct prism_wire_writer { uint8_t *start, *at, *end; int bad; };
struct prism_wire_header { uint32_t size; uint8_t type, fds; uint16_t flags; uint32_t id; };

static inline struct prism_wire_reader
prism_wire_read_from (const void *bytes, size_t size)
{
  struct prism_wire_reader r = { bytes, (const uint8_t *) bytes + size, 0 };
  return r;
}

static inline const uint8_t *
prism_wire_take (struct prism_wire_reader *r, size_t n)
{
  const uint8_t *p = r->at;
  if (r->bad || n > (size_t) (r->end - r->at))
    {
      r->bad = 1;
      return NULL;
    }
  r->at += n;
  return p;
}

static inline uint64_t
prism_wire_get (struct prism_wire_reader *r, unsigned bytes)
{
  const uint8_t *p = prism_wire_take (r, bytes);
  uint64_t v = 0;
  if (p != NULL)
    for (unsigned i = bytes; i > 0; i--)
      v = v << 8 | p[i - 1];
  return v;
}

#define prism_wire_u8(r) ((uint8_t) prism_wire_get (r, 1))
#define prism_wire_u16(r) ((uint16_t) prism_wire_get (r, 2))
#define prism_wire_u32(r) ((uint32_t) prism_wire_get (r, 4))
#define prism_wire_u64(r) prism_wire_get (r, 8)

/* str: u32 length, bytes, one NUL that is not counted; no NUL inside. So a
 * string can be used where it lies. NULL and bad when it is not one. */
static inline const char *
prism_wire_str (struct prism_wire_reader *r, size_t max)
{
  size_t n = prism_wire_u32 (r);
  const uint8_t *p = n <= max ? prism_wire_take (r, n + 1) : NULL;
  /* Of strlen() and memchr() the first is as fast in a small C library as in a large one. */
  if (p == NULL || p[n] != 0 || strlen ((const char *) p) != n)
    {
      r->bad = 1;
      return NULL;
    }
  return (const char *) p;
}

/* strv: u32 count, then each str. Calls back through the caller's own loop:
 * read the count, then `count` times prism_wire_str(). */
static inline uint32_t
prism_wire_count (struct prism_wire_reader *r)
{
  uint32_t n = prism_wire_u32 (r);
  if (n > PRISM_WIRE_MAX_STRINGS || n > (size_t) (r->end - r->at) / 5)
    {
      r->bad = 1;
      return 0;
    }
  return n;
}

/* Everything was there, and nothing more. */
static inline int
prism_wire_done (const struct prism_wire_reader *r)
{
  return !r->bad && r->at == r->end;
}

static inline struct prism_wire_writer
prism_wire_write_to (void *bytes, size_t size)
{
  struct prism_wire_writer w = { bytes, bytes, (uint8_t *) bytes + size, 0 };
  return w;
}

static inline void
prism_wire_put (struct prism_wire_writer *w, uint64_t v, unsigned bytes)
{
  if (w->bad || bytes > (size_t) (w->end - w->at))
    {
      w->bad = 1;
      return;
    }
  for (unsigned i = 0; i < bytes; i++, v >>= 8)
    *w->at++ = (uint8_t) v;
}

static inline void
prism_wire_put_bytes (struct prism_wire_writer *w, const void *bytes, size_t n)
{
  if (w->bad || n > (size_t) (w->end - w->at))
    {
      w->bad = 1;
      return;
    }
  if (n > 0)
    memcpy (w->at, bytes, n);
  w->at += n;
}

static inline void
prism_wire_put_str (struct prism_wire_writer *w, const char *s)
{
  size_t n = strlen (s);
  prism_wire_put (w, n, 4);
  prism_wire_put_bytes (w, s, n + 1);
}

static inline void
prism_wire_put_strv (struct prism_wire_writer *w, const char *const *v)
{
  uint32_t n = 0;
  while (v != NULL && v[n] != NULL)
    n++;
  prism_wire_put (w, n, 4);
  for (uint32_t i = 0; i < n; i++)
    prism_wire_put_str (w, v[i]);
}

/* Into 16 bytes. */
static inline void
prism_wire_put_header (void *bytes, uint32_t size, uint8_t type, uint8_t fds, uint16_t flags, uint32_t id)
{
  struct prism_wire_writer w = prism_wire_write_to (bytes, PRISM_WIRE_HEADER);
  prism_wire_put (&w, size, 4);
  prism_wire_put (&w, type, 1);
  prism_wire_put (&w, fds, 1);
  prism_wire_put (&w, flags, 2);
  prism_wire_put (&w, id, 4);
  prism_wire_put (&w, 0, 4);
}

/* Nonzero when the 16 bytes are a header that this version allows. */
static inline int
prism_wire_get_header (const void *bytes, struct prism_wire_header *h)
{
  struct prism_wire_reader r = prism_wire_read_from (bytes, PRISM_WIRE_HEADER);
  h->size = prism_wire_u32 (&r);
  h->type = prism_wire_u8 (&r);
  h->fds = prism_wire_u8 (&r);
  h->flags = prism_wire_u16 (&r);
  h->id = prism_wire_u32 (&r);
  return prism_wire_u32 (&r) == 0 && h->size <= PRISM_WIRE_MAX_PAYLOAD && h->fds <= PRISM_WIRE_MAX_FDS
         && (h->flags & ~PRISM_WIRE_LAST) == 0;
}
