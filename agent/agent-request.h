/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the host may ask, decoded. Pure: no allocation, no descriptor, no state;
 * what it points to lies in the frame. */
#pragma once

#include "prism-wire.h"

#include <stdbool.h>

#define AGENT_MAX_ENVIRONMENT 1024u /* variables in SETUP, and in one EXEC */

/* A strv where it lies: `count` strings from `at` on. */
struct agent_strings
{
  const uint8_t *at;
  uint32_t count;
  size_t bytes; /* of their text, each with its NUL */
};

struct agent_request
{
  struct prism_wire_header header;
  union
  {
    struct
    {
      uint16_t major, minor;
      uint32_t flags, open_files, commands;
      const char *workspace;
      struct agent_strings environment;
      uint64_t data_bytes, log_bytes, wall_ms;
    } setup;
    struct
    {
      uint32_t flags;
      struct agent_strings argv, environment;
      const char *cwd, *uuid;
      uint16_t columns, rows;
      uint64_t most_bytes, timeout_ms;
      uint32_t grace_ms;
      const char *tag;
    } exec;
    struct
    {
      const char *uuid;
      uint64_t out, err;
      uint32_t flags;
    } attach;
    struct
    {
      const char *path, *other; /* destination, or query */
      uint32_t mode, flags;
      uint64_t offset, length; /* READ */
      uint64_t entries, bytes; /* the most of them */
      uint32_t context;        /* SEARCH, like the next two */
      uint64_t file_bytes, line_bytes;
    } file;
    struct
    {
      uint8_t stream;
      uint32_t bytes;
    } credit;
    struct
    {
      const uint8_t *at;
      size_t size;
    } bytes;
    struct
    {
      uint16_t columns, rows;
    } size;
    uint64_t paused_ms;
    uint32_t number; /* signal, grace, port */
  };
};

enum agent_decoded
{
  AGENT_DECODED = 0,
  AGENT_DECODED_UNKNOWN,   /* no request has this type */
  AGENT_DECODED_MALFORMED, /* a length, a flag or a descriptor count that its type does not allow */
};

/* header is one that prism_wire_get_header() let pass; payload has its size. */
enum agent_decoded
agent_request_decode (struct agent_request *request, const struct prism_wire_header *header, const uint8_t *payload);
/* The next string of a decoded strv. */
const char *agent_strings_next (struct agent_strings *strings);
