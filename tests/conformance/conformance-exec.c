/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a command is given and what comes back of it. */
#include "conformance.h"

#include <stdlib.h>
#include <sys/stat.h>

static void
test_exit_codes (Box *box)
{
  for (int code = 0; code < 256; code++)
    {
      g_autofree char *line = g_strdup_printf ("exit %d", code);
      g_autoptr (PrismResult) result = box_sh (box, line);
      assert_exited (result, code);
      g_assert_cmpuint (g_bytes_get_size (prism_result_get_stdout (result)), ==, 0);
      g_assert_cmpuint (g_bytes_get_size (prism_result_get_stderr (result)), ==, 0);
    }
}

static void
test_signals (Box *box)
{
  static const int signals[] = { 1, 2, 6, 9, 11, 15 };

  for (gsize i = 0; i < G_N_ELEMENTS (signals); i++)
    {
      g_autofree char *line = g_strdup_printf ("kill -%d $$", signals[i]);
      g_autoptr (PrismResult) result = box_sh (box, line);
      g_assert_cmpint (prism_result_get_outcome (result), ==, PRISM_OUTCOME_SIGNALLED);
      g_assert_cmpint (prism_result_get_term_signal (result), ==, signals[i]);
      g_assert_cmpint (prism_result_get_exit_code (result), ==, -1);
    }
}

/* A command that did not start is an error, and the two kinds are told apart;
 * what a started shell says about its own children is its own exit code. */
static void
test_not_startable (Box *box)
{
  static const char *const missing[] = { "no-such-program-anywhere", "/no/such/program", "./nothing" };
  g_autoptr (PrismResult) shell = NULL;

  for (gsize i = 0; i < G_N_ELEMENTS (missing); i++)
    assert_refused (box, prism_command_new ((const char *const[]){ missing[i], NULL }), PRISM_SANDBOX_ERROR_NOT_FOUND);
  box_put (box, "plain", "#!/bin/sh\nexit 0\n", 0644);
  assert_refused (box, prism_command_new ((const char *const[]){ "./plain", NULL }),
                  PRISM_SANDBOX_ERROR_NOT_EXECUTABLE);
  assert_refused (box, prism_command_new ((const char *const[]){ "/tmp", NULL }), PRISM_SANDBOX_ERROR_NOT_EXECUTABLE);
  shell = box_sh (box, "no-such-program-anywhere");
  assert_exited (shell, 127);
}

static void
test_streams (Box *box)
{
  g_autoptr (PrismResult) result = box_sh (box, "printf out; printf err >&2; printf OUT");
  g_autofree char *err = prism_result_dup_stderr_text (result);

  assert_exited (result, 0);
  assert_stdout (result, "outOUT");
  g_assert_cmpstr (err, ==, "err");
  g_assert_cmpuint (prism_result_get_stdout_total (result), ==, 6);
  g_assert_cmpuint (prism_result_get_stderr_total (result), ==, 3);
  g_assert_false (prism_result_get_stdout_truncated (result));
  g_assert_cmpint (prism_result_get_duration_us (result), >, 0);
}

static void
test_binary (Box *box)
{
  g_autoptr (PrismResult) result = box_sh (box, "head -c 3000000 /dev/urandom >bytes; cat bytes; cat bytes >&2");
  g_autofree char *expected = NULL;
  gsize size;

  assert_exited (result, 0);
  expected = box_get (box, "bytes", &size);
  g_assert_nonnull (expected);
  g_assert_cmpuint (size, ==, 3000000);
  g_assert_cmpmem (g_bytes_get_data (prism_result_get_stdout (result), NULL),
                   g_bytes_get_size (prism_result_get_stdout (result)), expected, size);
  g_assert_cmpmem (g_bytes_get_data (prism_result_get_stderr (result), NULL),
                   g_bytes_get_size (prism_result_get_stderr (result)), expected, size);
}

static void
test_truncated (Box *box)
{
  g_autoptr (PrismCommand) command = command_shell ("head -c 5000 /dev/zero; printf 123 >&2");
  g_autoptr (PrismResult) result = NULL;

  prism_command_set_max_output_bytes (command, 1000);
  result = box_run (box, command);
  assert_exited (result, 0);
  g_assert_cmpuint (g_bytes_get_size (prism_result_get_stdout (result)), ==, 1000);
  g_assert_true (prism_result_get_stdout_truncated (result));
  g_assert_cmpuint (prism_result_get_stdout_total (result), ==, 5000);
  g_assert_false (prism_result_get_stderr_truncated (result));
  g_assert_cmpuint (g_bytes_get_size (prism_result_get_stderr (result)), ==, 3);
}

static void
prepare_cap (Box *box)
{
  g_assert_true (prism_limits_set (box->limits, "max-output-bytes", 200000, NULL));
}

/* Over the sandbox's total, of both streams, the command is ended. */
static void
test_output_limit (Box *box)
{
  static const char *const lines[] = { "cat /dev/zero", "cat /dev/zero >&2",
                                       "(trap '' TERM; cat /dev/zero) & cat /dev/zero >&2; wait" };

  for (gsize i = 0; i < G_N_ELEMENTS (lines); i++)
    {
      g_autoptr (PrismResult) result = box_sh (box, lines[i]);
      guint64 total = prism_result_get_stdout_total (result) + prism_result_get_stderr_total (result);

      g_assert_cmpint (prism_result_get_outcome (result), ==, PRISM_OUTCOME_OUTPUT_LIMIT);
      g_assert_cmpstr (prism_result_get_limit (result), ==, "max-output-bytes");
      g_assert_cmpint (prism_result_get_exit_code (result), ==, -1);
      g_assert_cmpuint (total, >=, 200000);
      /* What was written until the end came is counted and not kept; how much that is says only how busy the machine
       * was. */
      g_assert_cmpuint (g_bytes_get_size (prism_result_get_stdout (result)), <=, 200000);
      g_assert_cmpuint (g_bytes_get_size (prism_result_get_stderr (result)), <=, 200000);
    }
}

static void
test_stdin (Box *box)
{
  const gsize size = 1024 * 1024;
  g_autofree char *data = g_malloc (size);
  g_autoptr (GBytes) bytes = NULL;
  g_autoptr (PrismCommand) cat = command_shell ("cat"), streamed = command_shell ("cat"),
                           deaf = command_shell ("exit 3");
  g_autoptr (GInputStream) stream = NULL;
  g_autoptr (PrismResult) none = box_sh (box, "cat; exit 4"), first = NULL, second = NULL, third = NULL;

  assert_exited (none, 4);
  for (gsize i = 0; i < size; i++)
    data[i] = (char)(i * 31 + (i >> 8));
  bytes = g_bytes_new (data, size);
  prism_command_set_stdin_bytes (cat, bytes);
  first = box_run (box, cat);
  assert_exited (first, 0);
  g_assert_true (g_bytes_equal (prism_result_get_stdout (first), bytes));

  stream = g_memory_input_stream_new_from_bytes (bytes);
  prism_command_set_stdin_stream (streamed, stream);
  second = box_run (box, streamed);
  assert_exited (second, 0);
  g_assert_true (g_bytes_equal (prism_result_get_stdout (second), bytes));

  /* One that never reads takes nobody with it. */
  prism_command_set_stdin_bytes (deaf, bytes);
  third = box_run (box, deaf);
  assert_exited (third, 3);
}

static void
prepare_env (Box *box)
{
  g_setenv ("PRISM_TEST_LEAK", "leak", TRUE);
  prism_sandbox_spec_set_variable (box->spec, "FROM_SPEC", "spec value");
  prism_sandbox_spec_set_variable (box->spec, "BOTH", "spec");
  prism_sandbox_spec_add_secret (box->spec, "TOKEN", "s3cret");
  g_object_set (box->spec, "allow-env", (const char *[]){ "BASH_ENV", NULL }, NULL);
}

static void
test_env (Box *box)
{
  g_autoptr (PrismCommand) command =
      command_shell ("printf '%s|' \"$FROM_SPEC\" \"$BOTH\" \"$FROM_COMMAND\" \"$TOKEN\" \"$PRISM_TEST_LEAK\"");
  g_autoptr (PrismCommand) allowed = command_shell ("true"), refused = command_shell ("true");
  g_autoptr (PrismResult) result = NULL, fine = NULL, base = NULL;

  prism_command_set_variable (command, "BOTH", "command");
  prism_command_set_variable (command, "FROM_COMMAND", "line\nand 'quote'");
  result = box_run (box, command);
  assert_exited (result, 0);
  assert_stdout (result, "spec value|command|line\nand 'quote'|s3cret||");

  base = box_sh (box, "test -n \"$PATH\" && test -d \"$HOME\" && test -n \"$USER\" && test \"$TMPDIR\" = /tmp && "
                      "test \"$LANG\" = C.UTF-8 && test \"$LOGNAME\" = \"$USER\"");
  assert_exited (base, 0);

  prism_command_set_variable (allowed, "BASH_ENV", "/dev/null");
  fine = box_run (box, allowed);
  assert_exited (fine, 0);
  prism_command_set_variable (refused, "LD_PRELOAD", "/tmp/x.so");
  assert_refused (box, g_steal_pointer (&refused), PRISM_SANDBOX_ERROR_INVALID);
}

static void
test_cwd (Box *box)
{
  g_autofree char *workspace = prism_sandbox_dup_workspace (box->sandbox);
  g_autofree char *sub = g_strconcat (workspace, "/sub", NULL);
  g_autofree char *inside = g_strconcat (sub, "\n", NULL), *outside = g_strconcat (workspace, "\n", NULL);
  g_autofree char *missing = g_strconcat (workspace, "/missing", NULL);
  g_autoptr (PrismCommand) command = command_shell ("pwd"), lost = command_shell ("pwd");
  g_autoptr (PrismResult) first = box_sh (box, "pwd; mkdir sub"), second = NULL;

  assert_stdout (first, outside);
  prism_command_set_cwd (command, sub);
  second = box_run (box, command);
  assert_stdout (second, inside);
  prism_command_set_cwd (lost, missing);
  assert_refused (box, g_steal_pointer (&lost), PRISM_SANDBOX_ERROR_NOT_FOUND);
}

/* The workspace's folders come and go under the commands; one that is gone is
 * named, and the next command is none the worse. */
static void
test_lost_cwd (Box *box)
{
  g_autofree char *workspace = prism_sandbox_dup_workspace (box->sandbox);
  g_autofree char *sub = g_strconcat (workspace, "/sub", NULL);
  g_autoptr (PrismCommand) command = command_shell ("rmdir ../sub; exit 3"), again = command_shell ("exit 4");
  g_autoptr (PrismResult) made = box_sh (box, "mkdir sub"), first = NULL, after = NULL;

  prism_command_set_cwd (command, sub);
  prism_command_set_cwd (again, sub);
  first = box_run (box, command);
  assert_exited (first, 3);
  assert_refused (box, g_steal_pointer (&again), PRISM_SANDBOX_ERROR_NOT_FOUND);
  after = box_sh (box, "exit 5");
  assert_exited (after, 5);
}

/* Arguments are never shell syntax. */
static void
test_arguments (Box *box)
{
  const char *const argv[] = { "printf", "%s|", "", "-n", "a b", "$HOME", "`id`", "x\ny", "\"'\\", "é", "*", NULL };
  g_autoptr (PrismCommand) command = prism_command_new (argv);
  g_autoptr (PrismResult) result = box_run (box, command);

  assert_exited (result, 0);
  assert_stdout (result, "|-n|a b|$HOME|`id`|x\ny|\"'\\|é|*|");
}

/* Exit never overtakes output. */
static void
test_nothing_lost (Box *box)
{
  g_autoptr (PrismCommand) command = command_shell ("printf 0123456789; printf err >&2; exit 5");

  for (int i = 0; i < 1000; i++)
    {
      g_autoptr (PrismResult) result = box_run (box, command);
      assert_exited (result, 5);
      assert_stdout (result, "0123456789");
      g_assert_cmpuint (g_bytes_get_size (prism_result_get_stderr (result)), ==, 3);
    }
}

typedef struct
{
  GString *out, *err;
  GThread *thread;
  GMainContext *context;
  guint64 bytes;
} Heard;

static void
on_output (PrismCommand *command, PrismStream stream, GBytes *bytes, gpointer data)
{
  Heard *heard = data;
  gsize size;
  const char *text = g_bytes_get_data (bytes, &size);

  g_assert_true (g_thread_self () == heard->thread);
  g_assert_cmpuint (size, >, 0);
  heard->bytes += size;
  if (heard->out != NULL)
    g_string_append_len (stream == PRISM_STREAM_STDOUT ? heard->out : heard->err, text, (gssize)size);
}

/* The signal says what the result says, in the caller's thread, in order. */
static void
test_output_signal (Box *box)
{
  for (int async = 0; async < 2; async++)
    {
      g_autoptr (PrismCommand) command =
          command_shell ("i=0; while [ $i -lt 2000 ]; do echo line $i; echo error $i >&2; i=$((i+1)); done");
      g_autoptr (GString) out = g_string_new (NULL), err = g_string_new (NULL);
      Heard heard = { out, err, g_thread_self (), NULL, 0 };
      g_auto (Answer) answer = { 0 };
      g_autofree char *kept_out = NULL, *kept_err = NULL;

      g_signal_connect (command, "output", G_CALLBACK (on_output), &heard);
      if (async)
        {
          prism_sandbox_exec_async (box->sandbox, command, NULL, on_exec, &answer);
          WAIT_UNTIL (answer.done);
        }
      else
        answer.value = G_OBJECT (box_run (box, command));
      g_assert_no_error (answer.error);
      assert_exited (PRISM_RESULT (answer.value), 0);
      kept_out = prism_result_dup_stdout_text (PRISM_RESULT (answer.value));
      kept_err = prism_result_dup_stderr_text (PRISM_RESULT (answer.value));
      g_assert_cmpstr (out->str, ==, kept_out);
      g_assert_cmpstr (err->str, ==, kept_err);
    }
}

/* 64 MiB go by, none of it kept: memory stays bounded, nothing is lost. */
static void
prepare_flow (Box *box)
{
  g_assert_true (prism_limits_set (box->limits, "max-output-bytes", G_GINT64_CONSTANT (1) << 30, NULL));
}

static void
test_not_captured (Box *box)
{
  g_autoptr (PrismCommand) command = command_shell ("head -c 67108864 /dev/zero");
  Heard heard = { NULL, NULL, g_thread_self (), NULL, 0 };
  g_autoptr (PrismResult) result = NULL;

  prism_command_set_capture (command, FALSE);
  g_signal_connect (command, "output", G_CALLBACK (on_output), &heard);
  result = box_run (box, command);
  assert_exited (result, 0);
  g_assert_cmpuint (heard.bytes, ==, 67108864);
  g_assert_cmpuint (prism_result_get_stdout_total (result), ==, 67108864);
  g_assert_cmpuint (g_bytes_get_size (prism_result_get_stdout (result)), ==, 0);
}

/* Who holds the pipes after the command's end delays its result by no more
 * than a moment, and lives on. */
static void
test_background (Box *box)
{
  g_autoptr (PrismResult) result = box_sh (box, "(exec 9>held; flock 9; echo locked; exec sleep 1000) & "
                                                "until ! flock -n held true; do :; done; echo done; exit 6");
  g_autofree char *text = prism_result_dup_stdout_text (result);

  assert_exited (result, 6);
  g_assert_nonnull (strstr (text, "done\n"));
  g_assert_cmpint (prism_result_get_duration_us (result), <, 20 * G_USEC_PER_SEC);
  g_assert_false (box_is_free (box, "held"));
}

void
add_exec_tests (void)
{
  box_add ("/exec/exit-codes", test_exit_codes);
  box_add ("/exec/signals", test_signals);
  box_add ("/exec/not-startable", test_not_startable);
  box_add ("/exec/streams", test_streams);
  box_add ("/exec/binary", test_binary);
  box_add ("/exec/truncated", test_truncated);
  box_add_full ("/exec/output-limit", prepare_cap, test_output_limit);
  box_add ("/exec/stdin", test_stdin);
  box_add_full ("/exec/env", prepare_env, test_env);
  box_add ("/exec/cwd", test_cwd);
  box_add ("/exec/lost-cwd", test_lost_cwd);
  box_add ("/exec/arguments", test_arguments);
  box_add ("/exec/nothing-lost", test_nothing_lost);
  box_add ("/exec/output-signal", test_output_signal);
  box_add_full ("/exec/not-captured", prepare_flow, test_not_captured);
  box_add ("/exec/background", test_background);
}
