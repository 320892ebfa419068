/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Replacing texts in a file's bytes. Pure. What no edit names keeps its bytes: line ends, a
 * byte order mark, the lack of a last line end. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

typedef struct
{
  const char *old_text, *new_text; /* UTF-8 */
} PrismTextEdit;

typedef enum
{
  PRISM_TEXT_EDIT_DONE,
  PRISM_TEXT_EDIT_BINARY, /* no UTF-8 text: nothing is guessed */
  PRISM_TEXT_EDIT_NO_MATCH,
  PRISM_TEXT_EDIT_AMBIGUOUS, /* `count` matches */
  PRISM_TEXT_EDIT_OVERLAP,   /* with edit `other` */
  PRISM_TEXT_EDIT_EMPTY,     /* an old text is empty */
  PRISM_TEXT_EDIT_NO_CHANGE,
} PrismTextEditOutcome;

typedef struct
{
  PrismTextEditOutcome outcome;
  guint edit, other; /* which one, from 0 */
  guint count;       /* at most 1000 */
  const char *reason;
  char *near; /* lines that look like what was not found */

  GBytes *bytes;
  char *diff, *patch;
  guint64 first_line;
  gboolean fuzzy;
} PrismTextEdited;

void prism_text_edit (GBytes *bytes,
                      const PrismTextEdit *edits,
                      guint n_edits,
                      gboolean fuzzy,
                      const char *name,
                      PrismTextEdited *edited);
void prism_text_edited_clear (PrismTextEdited *edited);

G_END_DECLS
