/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The host's bytes are not trusted: everything here is bounds-checked by the
 * cursor of prism-wire.h, and a frame that is not exactly its type's layout is
 * malformed. Whether what it asks is sensible is not decided here. */
#include "agent-request.h"

#define EXEC_FLAGS                                                                                                     \
  (PRISM_WIRE_EXEC_STDIN | PRISM_WIRE_EXEC_PTY | PRISM_WIRE_EXEC_FRAMED | PRISM_WIRE_EXEC_KEEP                         \
   | PRISM_WIRE_EXEC_STARTED | PRISM_WIRE_EXEC_LAST)
#define SETUP_FLAGS (PRISM_WIRE_SETUP_KEEP | PRISM_WIRE_SETUP_SECCOMP | PRISM_WIRE_SETUP_LANDLOCK)
#define FILE_FLAGS  0x7fu /* PrismFileFlags */

static struct agent_strings
take_strings (struct prism_wire_reader *r)
{
  struct agent_strings s = { .count = prism_wire_count (r) };

  s.at = r->at;
  for (uint32_t i = 0; i < s.count && !r->bad; i++)
    {
      const char *text = prism_wire_str (r, PRISM_WIRE_MAX_PAYLOAD);
      s.bytes += text != NULL ? strlen (text) + 1 : 0;
    }
  return s;
}

const char *
agent_strings_next (struct agent_strings *strings)
{
  /* Decoded before: the lengths are known to be right. */
  struct prism_wire_reader r = prism_wire_read_from (strings->at, 4);
  uint32_t size = prism_wire_u32 (&r);
  const char *text = (const char *)r.at;

  strings->at += 4 + size + 1;
  strings->count--;
  return text;
}

static void
decode_setup (struct agent_request *q, struct prism_wire_reader *r)
{
  q->setup.major = prism_wire_u16 (r);
  q->setup.minor = prism_wire_u16 (r);
  q->setup.flags = prism_wire_u32 (r);
  q->setup.workspace = prism_wire_str (r, PRISM_WIRE_MAX_PATH);
  q->setup.environment = take_strings (r);
  q->setup.open_files = prism_wire_u32 (r);
  q->setup.data_bytes = prism_wire_u64 (r);
  q->setup.log_bytes = prism_wire_u64 (r);
  q->setup.commands = prism_wire_u32 (r);
  q->setup.wall_ms = prism_wire_u64 (r);
  if ((q->setup.flags & ~SETUP_FLAGS) != 0 || q->setup.environment.count > AGENT_MAX_ENVIRONMENT)
    r->bad = 1;
}

/* How many descriptors an EXEC of these flags has. */
static unsigned
exec_fds (uint32_t flags)
{
  if (flags & (PRISM_WIRE_EXEC_PTY | PRISM_WIRE_EXEC_FRAMED | PRISM_WIRE_EXEC_KEEP))
    return 0;
  return flags & PRISM_WIRE_EXEC_STDIN ? 3 : 2;
}

static bool
is_uuid (const char *text)
{
  size_t n = strspn (text, "0123456789abcdef");
  return text[n] == 0 && n == 32;
}

static void
decode_exec (struct agent_request *q, struct prism_wire_reader *r)
{
  q->exec.flags = prism_wire_u32 (r);
  q->exec.argv = take_strings (r);
  q->exec.cwd = prism_wire_str (r, PRISM_WIRE_MAX_PATH);
  q->exec.environment = take_strings (r);
  q->exec.columns = prism_wire_u16 (r);
  q->exec.rows = prism_wire_u16 (r);
  q->exec.most_bytes = prism_wire_u64 (r);
  q->exec.uuid = prism_wire_str (r, 32);
  q->exec.timeout_ms = prism_wire_u64 (r);
  q->exec.grace_ms = prism_wire_u32 (r);
  q->exec.tag = prism_wire_str (r, PRISM_WIRE_MAX_TAG);
  if (r->bad || (q->exec.flags & ~EXEC_FLAGS) != 0 || q->exec.argv.count == 0
      || q->exec.environment.count > AGENT_MAX_ENVIRONMENT || q->header.fds != exec_fds (q->exec.flags)
      || (*q->exec.uuid != 0 && !is_uuid (q->exec.uuid))
      || ((q->exec.flags & PRISM_WIRE_EXEC_KEEP) != 0 && *q->exec.uuid == 0))
    r->bad = 1;
}

static void
decode_attach (struct agent_request *q, struct prism_wire_reader *r)
{
  q->attach.uuid = prism_wire_str (r, 32);
  if (q->header.type == PRISM_WIRE_ATTACH)
    {
      q->attach.out = prism_wire_u64 (r);
      q->attach.err = prism_wire_u64 (r);
      q->attach.flags = prism_wire_u32 (r);
      if ((q->attach.flags & ~PRISM_WIRE_EXEC_STARTED) != 0)
        r->bad = 1;
    }
  if (r->bad || !is_uuid (q->attach.uuid))
    r->bad = 1;
}

static void
decode_file (struct agent_request *q, struct prism_wire_reader *r)
{
  q->file.path = prism_wire_str (r, PRISM_WIRE_MAX_PATH);
  switch (q->header.type)
    {
    case PRISM_WIRE_READ:
      q->file.offset = prism_wire_u64 (r);
      q->file.length = prism_wire_u64 (r);
      q->file.flags = prism_wire_u32 (r);
      break;
    case PRISM_WIRE_WRITE:
    case PRISM_WIRE_MKDIR:
      q->file.mode = prism_wire_u32 (r);
      q->file.flags = prism_wire_u32 (r);
      break;
    case PRISM_WIRE_LIST:
    case PRISM_WIRE_REMOVE:
      q->file.flags = prism_wire_u32 (r);
      q->file.entries = prism_wire_u32 (r);
      break;
    case PRISM_WIRE_RENAME:
      q->file.other = prism_wire_str (r, PRISM_WIRE_MAX_PATH);
      q->file.flags = prism_wire_u32 (r);
      break;
    case PRISM_WIRE_SEARCH:
      q->file.other = prism_wire_str (r, PRISM_WIRE_MAX_PATH);
      q->file.flags = prism_wire_u32 (r);
      q->file.entries = prism_wire_u32 (r);
      q->file.context = prism_wire_u32 (r);
      q->file.bytes = prism_wire_u64 (r);
      q->file.file_bytes = prism_wire_u64 (r);
      q->file.line_bytes = prism_wire_u64 (r);
      if (q->file.context > PRISM_WIRE_MAX_CONTEXT)
        r->bad = 1;
      break;
    case PRISM_WIRE_TREE_IN:
    case PRISM_WIRE_TREE_OUT:
      q->file.entries = prism_wire_u64 (r);
      q->file.bytes = prism_wire_u64 (r);
      break;
    default: /* STAT */
      q->file.flags = prism_wire_u32 (r);
      break;
    }
  if ((q->file.flags & ~FILE_FLAGS) != 0)
    r->bad = 1;
}

static void
decode_credit (struct agent_request *q, struct prism_wire_reader *r)
{
  q->credit.stream = prism_wire_u8 (r);
  q->credit.bytes = prism_wire_u32 (r);
  /* The host reads streams 1 to 3; 0 is its own to send. */
  if (q->credit.stream < 1 || q->credit.stream > 3 || q->credit.bytes > PRISM_WIRE_MAX_CREDIT)
    r->bad = 1;
}

/* The most descriptors that a frame of this type may carry; EXEC counts its own. */
static unsigned
most_fds (uint8_t type)
{
  switch (type)
    {
    case PRISM_WIRE_EXEC:
      return PRISM_WIRE_MAX_FDS;
    case PRISM_WIRE_TREE_IN:
    case PRISM_WIRE_TREE_OUT:
      return 1;
    default:
      return 0;
    }
}

static bool
is_connection_wide (uint8_t type)
{
  return type == PRISM_WIRE_SETUP || type == PRISM_WIRE_PING || type == PRISM_WIRE_SHUTDOWN
         || type == PRISM_WIRE_RESUMED;
}

enum agent_decoded
agent_request_decode (struct agent_request *q, const struct prism_wire_header *header, const uint8_t *payload)
{
  struct prism_wire_reader r = prism_wire_read_from (payload, header->size);

  memset (q, 0, sizeof *q);
  q->header = *header;
  switch (header->type)
    {
    case PRISM_WIRE_SETUP:
      decode_setup (q, &r);
      break;
    case PRISM_WIRE_EXEC:
      decode_exec (q, &r);
      break;
    case PRISM_WIRE_SIGNAL:
      q->number = prism_wire_u32 (&r);
      if (q->number < 1 || q->number > 64)
        r.bad = 1;
      break;
    case PRISM_WIRE_CANCEL:
      q->number = prism_wire_u32 (&r);
      break;
    case PRISM_WIRE_RESUMED:
      q->paused_ms = prism_wire_u64 (&r);
      break;
    case PRISM_WIRE_LISTEN:
      q->number = prism_wire_u16 (&r);
      if (q->number == 0)
        r.bad = 1;
      break;
    case PRISM_WIRE_RESIZE:
      q->size.columns = prism_wire_u16 (&r);
      q->size.rows = prism_wire_u16 (&r);
      break;
    case PRISM_WIRE_ATTACH:
    case PRISM_WIRE_RELEASE:
      decode_attach (q, &r);
      break;
    case PRISM_WIRE_READ:
    case PRISM_WIRE_WRITE:
    case PRISM_WIRE_LIST:
    case PRISM_WIRE_STAT:
    case PRISM_WIRE_REMOVE:
    case PRISM_WIRE_RENAME:
    case PRISM_WIRE_MKDIR:
    case PRISM_WIRE_SEARCH:
    case PRISM_WIRE_TREE_IN:
    case PRISM_WIRE_TREE_OUT:
      decode_file (q, &r);
      break;
    case PRISM_WIRE_CREDIT:
      decode_credit (q, &r);
      break;
    case PRISM_WIRE_IN:
    case PRISM_WIRE_DATA:
      q->bytes.size = header->size;
      q->bytes.at = prism_wire_take (&r, header->size);
      break;
    case PRISM_WIRE_IN_EOF:
    case PRISM_WIRE_PROCS:
    case PRISM_WIRE_PING:
    case PRISM_WIRE_SHUTDOWN:
      break;
    default:
      return AGENT_DECODED_UNKNOWN;
    }
  if (!prism_wire_done (&r) || header->fds > most_fds (header->type)
      || ((header->flags & PRISM_WIRE_LAST) != 0 && header->type != PRISM_WIRE_DATA)
      || is_connection_wide (header->type) != (header->id == 0))
    return AGENT_DECODED_MALFORMED;
  return AGENT_DECODED;
}
