/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the host hears over the keeper's socket, from both halves. A packet is one
 * message or several; a host that is gone is no error here. */
#include "launch-private.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

/* The inner half's notes wait for its last word: each packet wakes the host, and one
 * that was begun ahead has nobody to tell yet. */
static uint8_t held[PRISM_LAUNCH_MAX_MESSAGE];
static size_t n_held;
static bool holds;
static int report_fd = PRISM_LAUNCH_KEEPER_FD;

void
launch_report_to (int fd)
{
  report_fd = fd;
}

void
launch_hold_notes (void)
{
  holds = true;
}

static void
send_bytes (const uint8_t *bytes, size_t size)
{
  while (send (report_fd, bytes, size, MSG_NOSIGNAL) < 0 && errno == EINTR)
    ;
}

static void
send_message (const struct prism_wire_writer *w, bool last)
{
  size_t size = (size_t)(w->at - w->start);

  if (w->bad)
    return;
  if (!holds)
    {
      send_bytes (w->start, size);
      return;
    }
  if (size > sizeof held - n_held)
    {
      send_bytes (held, n_held);
      n_held = 0;
    }
  memcpy (held + n_held, w->start, size);
  n_held += size;
  if (!last)
    return;
  send_bytes (held, n_held);
  n_held = 0;
}

/* A text that does not fit is cut, not lost. */
static void __attribute__ ((format (printf, 2, 0)))
put_text (struct prism_wire_writer *w, const char *format, va_list arguments)
{
  static char text[PRISM_LAUNCH_MAX_MESSAGE - 512];
  vsnprintf (text, sizeof text, format, arguments);
  prism_wire_put_str (w, text);
}

void
launch_note (const char *key, const char *format, ...)
{
  uint8_t bytes[PRISM_LAUNCH_MAX_MESSAGE];
  struct prism_wire_writer w = prism_wire_write_to (bytes, sizeof bytes);
  va_list arguments;

  prism_wire_put (&w, PRISM_LAUNCH_NOTE, 1);
  prism_wire_put_str (&w, key);
  va_start (arguments, format);
  put_text (&w, format, arguments);
  va_end (arguments);
  send_message (&w, false);
}

void
launch_ready (uint32_t facts)
{
  uint8_t bytes[8];
  struct prism_wire_writer w = prism_wire_write_to (bytes, sizeof bytes);
  prism_wire_put (&w, PRISM_LAUNCH_READY, 1);
  prism_wire_put (&w, facts, 4);
  send_message (&w, true);
}

void
launch_ended (int status, uint32_t left)
{
  uint8_t bytes[16];
  struct prism_wire_writer w = prism_wire_write_to (bytes, sizeof bytes);
  prism_wire_put (&w, PRISM_LAUNCH_ENDED, 1);
  prism_wire_put (&w, (uint32_t)status, 4);
  prism_wire_put (&w, left, 4);
  send_message (&w, true);
}

void
launch_fail (enum prism_launch_stage stage, int error, const char *format, ...)
{
  uint8_t bytes[PRISM_LAUNCH_MAX_MESSAGE];
  struct prism_wire_writer w = prism_wire_write_to (bytes, sizeof bytes);
  va_list arguments;

  prism_wire_put (&w, PRISM_LAUNCH_FAILED, 1);
  prism_wire_put (&w, stage, 4);
  prism_wire_put (&w, (uint32_t)error, 4);
  va_start (arguments, format);
  put_text (&w, format, arguments);
  va_end (arguments);
  send_message (&w, true);
  launch_abandon ();
}
