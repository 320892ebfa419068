/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

/* What a wire tells whoever has it, in the context it was made in. */
typedef struct
{
  void (*line) (gpointer data, const char *text, gsize length);
  void (*overlong) (gpointer data);
  /* There is no more input; @number: an errno, or 0. @unfinished: it stopped in a line. */
  void (*ended) (gpointer data, int number, gboolean unfinished);
  /* All that was to be sent has been. */
  void (*drained) (gpointer data);
  /* Nobody reads the output any more. */
  void (*broken) (gpointer data, int number);
} PrismMcpWireFuncs;

typedef struct _PrismMcpWire PrismMcpWire;

/* The standard input and output as they were, for nobody else: from then on 0 is empty,
 * and what is written to 1, by whatever library, goes to the standard error. */
gboolean prism_mcp_take_standard_fds (int *in, int *out, GError **error);

/* Takes both descriptors. */
PrismMcpWire *
prism_mcp_wire_new (int in, int out, const PrismMcpWireFuncs *funcs, gpointer data, gsize max_line);
void prism_mcp_wire_free (PrismMcpWire *self);
/* Takes @message. Never waits. */
void prism_mcp_wire_send (PrismMcpWire *self, GString *message);
/* No more is read. */
void prism_mcp_wire_stop (PrismMcpWire *self);
gsize prism_mcp_wire_get_queued (PrismMcpWire *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (PrismMcpWire, prism_mcp_wire_free)

G_END_DECLS
