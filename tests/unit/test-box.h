/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A sandbox that does what its command's first word says: answers at once, later, from
 * a thread, twice, never; talks; fails; holds the operation for the test to answer. */
#pragma once

#include <libprism/prism.h>

G_BEGIN_DECLS

#define TEST_TYPE_BOX (test_box_get_type ())
G_DECLARE_FINAL_TYPE (TestBox, test_box, TEST, BOX, GObject)

struct _TestBox
{
  GObject parent_instance;
  GMutex lock; /* for all that follows, where several threads call */
  GCond changed;
  GQueue held;           /* operations that are not answered yet */
  GMainContext *context; /* that the last exec saw as its thread's default */
  GThread *thread;
  gboolean may_block;
  guint closed;
  guint done;
};

PrismResult *test_box_make_result (int code);
void test_box_answer (PrismExecOperation *operation, int code);
PrismCommand *test_box_command (const char *word);
/* The exit code; -1 with @error set. */
int test_box_run (TestBox *box, const char *word, GCancellable *cancellable, GError **error);

typedef struct
{
  GThread *thread;
  int code;
  GError *error;
  gboolean done;
} Answer;

void answer_clear (Answer *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Answer, answer_clear)
void answer_take (GObject *source, GAsyncResult *async, gpointer self);
void answer_wait (Answer *self);
void test_box_start (TestBox *box, const char *word, GCancellable *cancellable, Answer *self);

G_END_DECLS
