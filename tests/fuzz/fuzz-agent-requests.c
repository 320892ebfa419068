/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The agent's end of the wire: frames as a host could send them, one after the
 * other. Decoding is pure; what it says is there must be there. */
#include "agent-request.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

static volatile size_t touched;

static void
touch (const char *text)
{
  if (text != NULL)
    touched += strlen (text);
}

static void
touch_all (struct agent_strings strings)
{
  size_t bytes = 0;

  while (strings.count > 0)
    {
      const char *text = agent_strings_next (&strings);
      bytes += strlen (text) + 1;
    }
  if (bytes != strings.bytes)
    abort ();
}

static void
use (const struct agent_request *q)
{
  switch (q->header.type)
    {
    case PRISM_WIRE_SETUP:
      touch (q->setup.workspace);
      touch_all (q->setup.environment);
      break;
    case PRISM_WIRE_EXEC:
      if (q->exec.argv.count == 0)
        abort ();
      touch (q->exec.cwd);
      touch (q->exec.uuid);
      touch (q->exec.tag);
      touch_all (q->exec.argv);
      touch_all (q->exec.environment);
      break;
    case PRISM_WIRE_ATTACH:
    case PRISM_WIRE_RELEASE:
      if (strlen (q->attach.uuid) != 32)
        abort ();
      break;
    case PRISM_WIRE_IN:
    case PRISM_WIRE_DATA:
      for (size_t i = 0; i < q->bytes.size; i++)
        touched += q->bytes.at[i];
      break;
    case PRISM_WIRE_CREDIT:
      if (q->credit.bytes > PRISM_WIRE_MAX_CREDIT)
        abort ();
      break;
    default:
      if (q->header.type >= PRISM_WIRE_READ && q->header.type <= PRISM_WIRE_TREE_OUT)
        {
          touch (q->file.path);
          touch (q->file.other);
        }
      break;
    }
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  while (size >= PRISM_WIRE_HEADER)
    {
      struct prism_wire_header header;
      struct agent_request request;
      uint8_t *payload;

      if (!prism_wire_get_header (data, &header))
        return 0;
      data += PRISM_WIRE_HEADER;
      size -= PRISM_WIRE_HEADER;
      if (header.size > size)
        header.size = (uint32_t)size;
      /* A block of its own, so that a sanitizer sees the first byte after it. */
      payload = malloc (header.size > 0 ? header.size : 1);
      if (payload == NULL)
        return 0;
      memcpy (payload, data, header.size);
      if (agent_request_decode (&request, &header, payload) == AGENT_DECODED)
        use (&request);
      free (payload);
      data += header.size;
      size -= header.size;
    }
  return 0;
}
