/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "native-client.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "prism-launch.h"

#define PATIENCE 20000 /* ms that anything may take */

PrismNativeAsked
native_asked (void)
{
  return (PrismNativeAsked){
    .host = prism_native_host_get (),
    .hostname = "prism",
    .sandbox_path = "/workspace",
    .tmp_bytes = 64 << 20,
    .workspace_bytes = 64 << 20,
  };
}

static void
wait_readable (int fd)
{
  struct pollfd poll_fd = { fd, POLLIN, 0 };
  g_assert_cmpint (poll (&poll_fd, 1, PATIENCE), ==, 1);
}

static void
read_exactly (int fd, void *bytes, gsize size)
{
  guint8 *at = bytes;

  while (size > 0)
    {
      ssize_t n;
      wait_readable (fd);
      n = read (fd, at, size);
      g_assert_cmpint (n, >, 0);
      at += n;
      size -= n;
    }
}

static struct prism_wire_header
read_frame (NativeClient *self, guint8 *payload)
{
  guint8 head[PRISM_WIRE_HEADER];
  struct prism_wire_header header;

  read_exactly (self->control, head, sizeof head);
  g_assert_true (prism_wire_get_header (head, &header));
  read_exactly (self->control, payload, header.size);
  return header;
}

static void
send_frame (NativeClient *self, guint8 type, guint32 id, const guint8 *payload, gsize size, const int *fds, guint n_fds)
{
  guint8 head[PRISM_WIRE_HEADER];
  union
  {
    struct cmsghdr header;
    char bytes[CMSG_SPACE (sizeof (int) * PRISM_WIRE_MAX_FDS)];
  } control = { 0 };
  struct iovec parts[2] = { { head, sizeof head }, { (void *)payload, size } };
  struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };

  prism_wire_put_header (head, size, type, n_fds, 0, id);
  if (n_fds > 0)
    {
      message.msg_control = &control;
      message.msg_controllen = CMSG_SPACE (sizeof (int) * n_fds);
      control.header.cmsg_level = SOL_SOCKET;
      control.header.cmsg_type = SCM_RIGHTS;
      control.header.cmsg_len = CMSG_LEN (sizeof (int) * n_fds);
      memcpy (CMSG_DATA (&control.header), fds, sizeof (int) * n_fds);
    }
  g_assert_cmpint (sendmsg (self->control, &message, MSG_NOSIGNAL), ==, sizeof head + size);
}

static void
send_setup (NativeClient *self, const PrismNativeAsked *asked)
{
  static const char *const environment[] = { "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                                             "HOME=/home/prism",
                                             "USER=prism",
                                             "LOGNAME=prism",
                                             "TMPDIR=/tmp",
                                             "LANG=C.UTF-8",
                                             NULL };
  guint8 bytes[4096];
  struct prism_wire_writer w = prism_wire_write_to (bytes, sizeof bytes);
  gboolean host_tree = asked->isolation == PRISM_NATIVE_ISOLATION_NETWORK_ONLY;
  const char *start = asked->sandbox_path;

  if (host_tree)
    start = asked->workspace.path != NULL ? asked->workspace.path : "/";
  prism_wire_put (&w, PRISM_WIRE_MAJOR, 2);
  prism_wire_put (&w, PRISM_WIRE_MINOR, 2);
  prism_wire_put (&w, 0, 4);
  prism_wire_put_str (&w, start);
  prism_wire_put_strv (&w, environment);
  prism_wire_put (&w, 1024, 4);
  prism_wire_put (&w, 0, 8);
  prism_wire_put (&w, 65536, 8);
  prism_wire_put (&w, 16, 4);
  prism_wire_put (&w, 0, 8);
  g_assert_false (w.bad);
  send_frame (self, PRISM_WIRE_SETUP, 0, bytes, w.at - w.start, NULL, 0);
}

static gboolean use_template, use_early;

/* Also where the plan does not go on from there: then all of it is to be undone. */
static void
give_early (PrismNativeLauncher *launcher, const PrismNativeAsked *asked)
{
  g_autoptr (GBytes) plan = NULL;
  PrismNativeAsked early = *asked;
  PrismNativeEarlySteps steps;

  if (!use_early || asked->isolation != PRISM_NATIVE_ISOLATION_CONFINED || asked->off_switches != 0)
    return;
  early.detached = FALSE;
  early.n_hide = 0;
  plan = prism_native_plan_write_early (&early, NULL, NULL, &steps);
  g_assert_true (prism_native_launcher_give_early_plan (launcher, plan, &steps));
}

static PrismNativeLauncher *
spawn (const PrismNativeAsked *asked)
{
  const char *agent = g_getenv ("PRISM_AGENT");
  g_autoptr (GError) error = NULL;
  g_autoptr (GBytes) plan = NULL, template = NULL;
  PrismNativeLauncher *launcher;

  if (use_template && prism_native_plan_can_use_template (asked))
    {
      template = prism_native_plan_write (asked, PRISM_NATIVE_PLAN_MAKE_TEMPLATE, &error);
      g_assert_no_error (error);
      plan = prism_native_plan_write (asked, PRISM_NATIVE_PLAN_USE_TEMPLATE, &error);
      g_assert_no_error (error);
      launcher = prism_native_launcher_ask (agent, template, plan, &error);
    }
  else
    {
      launcher = prism_native_launcher_begin (agent, &error);
      g_assert_no_error (error);
      give_early (launcher, asked);
      plan = prism_native_plan_write_after (asked, PRISM_NATIVE_PLAN_WHOLE, prism_native_launcher_get_early (launcher),
                                            &error);
      g_assert_no_error (error);
      prism_native_launcher_give_plan (launcher, plan, -1, NULL, &error);
    }
  g_assert_no_error (error);
  return launcher;
}

void
native_client_use_template (gboolean use)
{
  use_template = use;
}

void
native_client_use_early (gboolean use)
{
  use_early = use;
}

NativeClient *
native_client_new (const PrismNativeAsked *asked)
{
  g_autoptr (GError) error = NULL;
  g_autofree guint8 *payload = g_malloc (PRISM_WIRE_MAX_PAYLOAD);
  NativeClient *self = g_new0 (NativeClient, 1);

  self->launcher = spawn (asked);
  self->control = prism_native_launcher_steal_control (self->launcher);
  prism_native_launcher_wait_ready (self->launcher, TRUE, g_get_monotonic_time () + PATIENCE * 1000, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (read_frame (self, payload).type, ==, PRISM_WIRE_HELLO);
  send_setup (self, asked);
  return self;
}

GError *
native_client_refusal (const PrismNativeAsked *asked)
{
  g_autoptr (PrismNativeLauncher) launcher = NULL;
  g_autoptr (GBytes) plan = NULL;
  GError *error = NULL;

  plan = prism_native_plan_write (asked, PRISM_NATIVE_PLAN_WHOLE, &error);
  if (plan == NULL)
    return error;
  launcher = spawn (asked);
  g_assert_false (
      prism_native_launcher_wait_ready (launcher, TRUE, g_get_monotonic_time () + PATIENCE * 1000, NULL, &error));
  return error;
}

static char *
read_to_end (int fd)
{
  GString *text = g_string_new (NULL);
  char buffer[4096];
  ssize_t n;

  do
    {
      wait_readable (fd);
      n = read (fd, buffer, sizeof buffer);
      g_assert_cmpint (n, >=, 0);
      g_string_append_len (text, buffer, n);
    }
  while (n > 0);
  return g_string_free (text, FALSE);
}

static void
send_exec (NativeClient *self, guint32 id, const char *const *argv, int out)
{
  g_autofree guint8 *payload = g_malloc (PRISM_WIRE_MAX_PAYLOAD);
  struct prism_wire_writer w = prism_wire_write_to (payload, PRISM_WIRE_MAX_PAYLOAD);
  const int fds[2] = { out, out };

  prism_wire_put (&w, 0, 4);
  prism_wire_put_strv (&w, argv);
  prism_wire_put_str (&w, "");
  prism_wire_put_strv (&w, NULL);
  prism_wire_put (&w, 0, 2);
  prism_wire_put (&w, 0, 2);
  prism_wire_put (&w, 0, 8);
  prism_wire_put_str (&w, "");
  g_assert_false (w.bad);
  prism_wire_put (&w, 0, 8);
  prism_wire_put (&w, 0, 4);
  prism_wire_put_str (&w, "");
  send_frame (self, PRISM_WIRE_EXEC, id, payload, w.at - w.start, fds, 2);
}

NativeOutcome
native_client_run (NativeClient *self, const char *const *argv)
{
  g_autofree guint8 *payload = g_malloc (PRISM_WIRE_MAX_PAYLOAD);
  NativeOutcome outcome = { -1, 0, NULL };
  struct prism_wire_reader r;
  struct prism_wire_header header;
  guint32 id = ++self->next_id;
  int ends[2], how;

  g_assert_cmpint (pipe2 (ends, O_CLOEXEC), ==, 0);
  send_exec (self, id, argv, ends[1]);
  close (ends[1]);
  outcome.output = read_to_end (ends[0]);
  close (ends[0]);
  do
    header = read_frame (self, payload);
  while (header.id != id);
  r = prism_wire_read_from (payload, header.size);
  if (header.type == PRISM_WIRE_ERROR)
    {
      g_free (outcome.output);
      outcome.code = 1000 + (int)prism_wire_u32 (&r);
      (void)prism_wire_u32 (&r);
      outcome.output = g_strdup (prism_wire_str (&r, PRISM_WIRE_MAX_PAYLOAD));
      return outcome;
    }
  g_assert_cmpuint (header.type, ==, PRISM_WIRE_EXITED);
  how = prism_wire_u8 (&r);
  if (how == PRISM_WIRE_HOW_CODE)
    outcome.code = (int)prism_wire_u32 (&r);
  else if (how == PRISM_WIRE_HOW_SIGNAL)
    outcome.signal = (int)prism_wire_u32 (&r);
  return outcome;
}

char *
native_client_sh (NativeClient *self, const char *script)
{
  NativeOutcome outcome = native_client_run (self, (const char *[]){ "/bin/sh", "-c", script, NULL });

  if (outcome.code != 0)
    g_error ("`%s` gave %d, signal %d: %s", script, outcome.code, outcome.signal, outcome.output);
  return g_strchomp (outcome.output);
}

int
native_client_sh_code (NativeClient *self, const char *script)
{
  NativeOutcome outcome = native_client_run (self, (const char *[]){ "/bin/sh", "-c", script, NULL });

  if (outcome.code != 0)
    g_test_message ("`%s` gave %d, signal %d: %s", script, outcome.code, outcome.signal, outcome.output);
  g_free (outcome.output);
  return outcome.code;
}

void
native_client_free (NativeClient *self)
{
  g_autoptr (GError) error = NULL;

  close (self->control);
  prism_native_launcher_end (self->launcher, g_get_monotonic_time () + PATIENCE * 1000, &error);
  g_assert_no_error (error);
  prism_native_launcher_free (self->launcher);
  g_free (self);
}
