/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A host that speaks the wire by hand: it may lie, stall and vanish, which the
 * library's own host cannot. Every wait has a deadline. */
#pragma once

#include "prism-wire.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEADLINE_MS 20000

typedef struct
{
  int fd;
  pid_t pid;
  char *workspace;
  guint64 features;
  guint8 boot[16];
} Agent;

typedef struct
{
  struct prism_wire_header header;
  guint8 *payload;
  int fd;
} Frame;

/* What an EXEC says; zeroes are right for most. */
typedef struct
{
  guint32 flags;
  const char *const *env;
  const char *cwd;
  const char *uuid;
  guint16 columns, rows;
  guint64 most_bytes;
  guint64 timeout_ms;
  guint32 grace_ms;
  const char *tag;
} Exec;

typedef struct
{
  guint8 how;
  gint32 code;
  guint32 flags;
  guint64 user_us, system_us, peak_kib, out, err;
} Exited;

/* For what would take the machine along: an ordinary uid, and a limit that counts for it. */
static gboolean agent_spawn_bounded;
/* As pid 1 of a pid namespace with its own /proc, as uid 10001. */
static gboolean agent_spawn_init;

static inline void
frame_clear (Frame *frame)
{
  g_clear_pointer (&frame->payload, g_free);
  if (frame->fd >= 0)
    close (frame->fd);
  frame->fd = -1;
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Frame, frame_clear)
#define FRAME_INIT                                                                                                     \
  {                                                                                                                    \
    .fd = -1                                                                                                           \
  }

static inline gboolean
wait_for (int fd, short events, int ms)
{
  struct pollfd p = { .fd = fd, .events = events };
  int n;
  do
    n = poll (&p, 1, ms);
  while (n < 0 && errno == EINTR);
  return n > 0;
}

/* FALSE at the end of the stream. */
static inline gboolean
read_all (int fd, void *into, gsize size, int *passed)
{
  guint8 *at = into;
  while (size > 0)
    {
      union
      {
        char bytes[CMSG_SPACE (sizeof (int))];
        struct cmsghdr align;
      } control;
      struct iovec v = { at, size };
      struct msghdr m = {
        .msg_iov = &v, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control.bytes
      };
      g_assert_true (wait_for (fd, POLLIN, DEADLINE_MS));
      ssize_t n = recvmsg (fd, &m, MSG_CMSG_CLOEXEC);
      if (n == 0 || (n < 0 && errno == ECONNRESET))
        return FALSE;
      g_assert_cmpint (n, >, 0);
      struct cmsghdr *c = CMSG_FIRSTHDR (&m);
      if (c != NULL && passed != NULL)
        memcpy (passed, CMSG_DATA (c), sizeof *passed);
      at += n;
      size -= n;
    }
  return TRUE;
}

static inline gboolean
agent_next (Agent *agent, Frame *frame)
{
  guint8 header[PRISM_WIRE_HEADER];
  frame_clear (frame);
  if (!read_all (agent->fd, header, sizeof header, &frame->fd))
    return FALSE;
  g_assert_true (prism_wire_get_header (header, &frame->header));
  frame->payload = g_malloc (frame->header.size + 1);
  return read_all (agent->fd, frame->payload, frame->header.size, NULL);
}

static inline void
agent_put (Agent *agent, const void *bytes, gsize size, const int *fds, guint n_fds)
{
  union
  {
    char bytes[CMSG_SPACE (8 * sizeof (int))];
    struct cmsghdr align;
  } control = { 0 };
  struct iovec v = { (void *)bytes, size };
  struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };
  if (n_fds > 0)
    {
      m.msg_control = &control;
      m.msg_controllen = CMSG_SPACE (n_fds * sizeof (int));
      struct cmsghdr *c = CMSG_FIRSTHDR (&m);
      c->cmsg_level = SOL_SOCKET;
      c->cmsg_type = SCM_RIGHTS;
      c->cmsg_len = CMSG_LEN (n_fds * sizeof (int));
      memcpy (CMSG_DATA (c), fds, n_fds * sizeof (int));
    }
  while (v.iov_len > 0)
    {
      g_assert_true (wait_for (agent->fd, POLLOUT, DEADLINE_MS));
      ssize_t n = sendmsg (agent->fd, &m, MSG_NOSIGNAL);
      if (n < 0)
        return; /* it hung up: what it said before shows why */
      v.iov_base = (guint8 *)v.iov_base + n;
      v.iov_len -= n;
      m.msg_control = NULL;
      m.msg_controllen = 0;
    }
}

static inline void
agent_say (
    Agent *agent, guint8 type, guint16 flags, guint32 id, const void *payload, gsize size, const int *fds, guint n_fds)
{
  g_autofree guint8 *bytes = g_malloc (PRISM_WIRE_HEADER + size);
  prism_wire_put_header (bytes, size, type, n_fds, flags, id);
  if (size > 0)
    memcpy (bytes + PRISM_WIRE_HEADER, payload, size);
  agent_put (agent, bytes, PRISM_WIRE_HEADER + size, fds, n_fds);
}

#define WRITER(w)                                                                                                      \
  g_autofree guint8 *w##_bytes = g_malloc (PRISM_WIRE_MAX_PAYLOAD);                                                    \
  struct prism_wire_writer w = prism_wire_write_to (w##_bytes, PRISM_WIRE_MAX_PAYLOAD)

static inline void
agent_say_writer (Agent *agent, guint8 type, guint32 id, struct prism_wire_writer *w)
{
  g_assert_false (w->bad);
  agent_say (agent, type, 0, id, w->start, w->at - w->start, NULL, 0);
}

static inline void
agent_say_u32 (Agent *agent, guint8 type, guint32 id, guint32 value)
{
  guint8 bytes[4];
  struct prism_wire_writer w = prism_wire_write_to (bytes, sizeof bytes);
  prism_wire_put (&w, value, 4);
  agent_say (agent, type, 0, id, bytes, sizeof bytes, NULL, 0);
}

static inline void
agent_say_credit (Agent *agent, guint32 id, guint8 stream, guint32 bytes)
{
  guint8 payload[5];
  struct prism_wire_writer w = prism_wire_write_to (payload, sizeof payload);
  prism_wire_put (&w, stream, 1);
  prism_wire_put (&w, bytes, 4);
  agent_say (agent, PRISM_WIRE_CREDIT, 0, id, payload, sizeof payload, NULL, 0);
}

typedef struct
{
  guint32 flags, open_files, commands;
  guint64 data_bytes, log_bytes, wall_ms;
} Setup;

static inline void
agent_say_setup (Agent *agent, const Setup *setup)
{
  const char *const env[] = { "PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/nowhere", "LANG=C.UTF-8", NULL };
  WRITER (w);
  prism_wire_put (&w, PRISM_WIRE_MAJOR, 2);
  prism_wire_put (&w, PRISM_WIRE_MINOR, 2);
  prism_wire_put (&w, setup->flags, 4);
  prism_wire_put_str (&w, agent->workspace);
  prism_wire_put_strv (&w, env);
  prism_wire_put (&w, setup->open_files, 4);
  prism_wire_put (&w, setup->data_bytes, 8);
  prism_wire_put (&w, setup->log_bytes, 8);
  prism_wire_put (&w, setup->commands, 4);
  prism_wire_put (&w, setup->wall_ms, 8);
  agent_say_writer (agent, PRISM_WIRE_SETUP, 0, &w);
}

static inline void
agent_expect_hello (Agent *agent)
{
  g_auto (Frame) frame = FRAME_INIT;
  g_assert_true (agent_next (agent, &frame));
  g_assert_cmpint (frame.header.type, ==, PRISM_WIRE_HELLO);
  struct prism_wire_reader r = prism_wire_read_from (frame.payload, frame.header.size);
  g_assert_cmpuint (prism_wire_u32 (&r), ==, PRISM_WIRE_MAGIC);
  g_assert_cmpuint (prism_wire_u16 (&r), ==, PRISM_WIRE_MAJOR);
  (void)prism_wire_u16 (&r);
  agent->features = prism_wire_u64 (&r);
  memcpy (agent->boot, prism_wire_take (&r, 16), 16);
  guint32 uid = agent_spawn_init ? 10001 : agent_spawn_bounded && getuid () == 0 ? 54321 : getuid ();
  g_assert_cmpuint (prism_wire_u32 (&r), ==, uid);
  (void)prism_wire_u32 (&r);
  (void)prism_wire_u32 (&r);
  g_assert_true (prism_wire_done (&r));
}

static inline void
leave_root (void)
{
  if (getuid () == 0 && (setresgid (54321, 54321, 54321) != 0 || setresuid (54321, 54321, 54321) != 0))
    _exit (127);
}

static inline void
bound_processes (void)
{
  struct rlimit most = { 400, 400 };
  leave_root ();
  if (setrlimit (RLIMIT_NPROC, &most) != 0)
    _exit (127);
}

static inline void
write_map (const char *path, const char *text)
{
  int fd = open (path, O_WRONLY | O_CLOEXEC);
  if (fd < 0 || write (fd, text, strlen (text)) != (ssize_t)strlen (text))
    _exit (126);
  close (fd);
}

static inline void
become_init (void)
{
  char uids[40], gids[40];
  leave_root ();
  g_snprintf (uids, sizeof uids, "10001 %u 1", getuid ());
  g_snprintf (gids, sizeof gids, "10001 %u 1", getgid ());
  prctl (PR_SET_DUMPABLE, 1, 0, 0, 0);
  if (unshare (CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS) != 0)
    _exit (126);
  write_map ("/proc/self/setgroups", "deny");
  write_map ("/proc/self/uid_map", uids);
  write_map ("/proc/self/gid_map", gids);
  if (mount (NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
    _exit (126);
  pid_t pid = fork ();
  if (pid != 0)
    {
      int status = -1;
      while (pid > 0 && waitpid (pid, &status, 0) < 0 && errno == EINTR)
        ;
      _exit (WIFEXITED (status) ? WEXITSTATUS (status) : 125);
    }
  if (mount ("proc", "/proc", "proc", 0, NULL) != 0)
    _exit (126);
}

static inline pid_t
agent_spawn (const char *const *arguments, int control)
{
  const char *program = g_getenv ("PRISM_AGENT");
  g_assert_nonnull (program);
  pid_t pid = fork ();
  if (pid == 0)
    {
      if (control >= 0)
        dup2 (control, 3);
      for (int fd = 4; fd < 256; fd++)
        close (fd);
      /* As glibc's posix_spawn() may leave one that it hides: ignored. */
      static const gulong ignored[8] = { (gulong)SIG_IGN };
      syscall (SYS_rt_sigaction, 32, ignored, NULL, 8);
      /* The tree may lie where the bounded one cannot go. */
      int opened = open (program, O_PATH | O_CLOEXEC);
      if (agent_spawn_bounded)
        bound_processes ();
      if (agent_spawn_init)
        become_init ();
      fexecve (opened, (char *const *)arguments, environ);
      _exit (127);
    }
  g_assert_cmpint (pid, >, 0);
  return pid;
}

/* Ready for requests. */
static inline void
agent_start_with (Agent *agent, gboolean framed, const Setup *setup)
{
  int ends[2];
  const char *const arguments[] = { "prism-agent", "--serve", "3", framed ? "--framed" : NULL, NULL };
  g_assert_no_errno (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends));
  memset (agent, 0, sizeof *agent);
  agent->pid = agent_spawn (arguments, ends[1]);
  close (ends[1]);
  agent->fd = ends[0];
  agent->workspace = g_dir_make_tmp ("prism-agent-XXXXXX", NULL);
  g_assert_no_errno (g_chmod (agent->workspace, 0777));
  agent_expect_hello (agent);
  g_assert_cmpint ((agent->features & PRISM_WIRE_FEATURE_FDS) != 0, ==, !framed);
  if (setup != NULL)
    agent_say_setup (agent, setup);
}

static inline void
agent_start (Agent *agent)
{
  static const Setup usual = { 0 };
  agent_start_with (agent, FALSE, &usual);
}

/* Until the process is gone; its wait status. */
static inline int
agent_wait (Agent *agent)
{
  gint64 until = g_get_monotonic_time () + DEADLINE_MS * 1000;
  int status = -1, pidfd = (int)syscall (434 /* pidfd_open */, agent->pid, 0);
  g_assert_true (wait_for (pidfd, POLLIN, (int)((until - g_get_monotonic_time ()) / 1000)));
  close (pidfd);
  g_assert_cmpint (waitpid (agent->pid, &status, 0), ==, agent->pid);
  agent->pid = 0;
  return status;
}

static inline void
remove_tree (const char *path)
{
  const char *const argv[] = { "rm", "-rf", "--", path, NULL };
  g_spawn_sync (NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL, NULL, NULL);
}

/* Hangs up, and sees the agent end well. */
static inline void
agent_stop (Agent *agent)
{
  close (agent->fd);
  int status = agent_wait (agent);
  g_assert_true (WIFEXITED (status));
  g_assert_cmpint (WEXITSTATUS (status), ==, 0);
  remove_tree (agent->workspace);
  g_free (agent->workspace);
}

static inline void
agent_say_exec (Agent *agent, guint32 id, const char *const *argv, const Exec *exec, const int *fds, guint n_fds)
{
  static const Exec usual = { 0 };
  const Exec *e = exec != NULL ? exec : &usual;
  WRITER (w);
  prism_wire_put (&w, e->flags, 4);
  prism_wire_put_strv (&w, argv);
  prism_wire_put_str (&w, e->cwd != NULL ? e->cwd : "");
  prism_wire_put_strv (&w, e->env);
  prism_wire_put (&w, e->columns, 2);
  prism_wire_put (&w, e->rows, 2);
  prism_wire_put (&w, e->most_bytes, 8);
  prism_wire_put_str (&w, e->uuid != NULL ? e->uuid : "");
  prism_wire_put (&w, e->timeout_ms, 8);
  prism_wire_put (&w, e->grace_ms, 4);
  prism_wire_put_str (&w, e->tag != NULL ? e->tag : "");
  g_assert_false (w.bad);
  agent_say (agent, PRISM_WIRE_EXEC, 0, id, w.start, w.at - w.start, fds, n_fds);
}

static inline Exited
frame_exited (const Frame *frame)
{
  Exited e = { 0 };
  struct prism_wire_reader r = prism_wire_read_from (frame->payload, frame->header.size);
  g_assert_cmpint (frame->header.type, ==, PRISM_WIRE_EXITED);
  e.how = prism_wire_u8 (&r);
  e.code = (gint32)prism_wire_u32 (&r);
  e.flags = prism_wire_u32 (&r);
  e.user_us = prism_wire_u64 (&r);
  e.system_us = prism_wire_u64 (&r);
  e.peak_kib = prism_wire_u64 (&r);
  e.out = prism_wire_u64 (&r);
  e.err = prism_wire_u64 (&r);
  g_assert_true (prism_wire_done (&r));
  return e;
}

static inline guint32
frame_error (const Frame *frame, char **message)
{
  struct prism_wire_reader r = prism_wire_read_from (frame->payload, frame->header.size);
  g_assert_cmpint (frame->header.type, ==, PRISM_WIRE_ERROR);
  guint32 code = prism_wire_u32 (&r);
  (void)prism_wire_u32 (&r);
  const char *text = prism_wire_str (&r, 4096);
  g_assert_true (prism_wire_done (&r));
  if (message != NULL)
    *message = g_strdup (text);
  return code;
}

/* The next frame of that id; others are a failure. */
static inline void
agent_expect (Agent *agent, guint32 id, guint8 type, Frame *frame)
{
  g_assert_true (agent_next (agent, frame));
  if (frame->header.type == PRISM_WIRE_ERROR && type != PRISM_WIRE_ERROR)
    {
      g_autofree char *message = NULL;
      guint32 code = frame_error (frame, &message);
      g_error ("ERROR %u: %s", code, message);
    }
  g_assert_cmpuint (frame->header.id, ==, id);
  g_assert_cmpint (frame->header.type, ==, type);
}

static inline guint32
agent_expect_error (Agent *agent, guint32 id)
{
  g_auto (Frame) frame = FRAME_INIT;
  agent_expect (agent, id, PRISM_WIRE_ERROR, &frame);
  return frame_error (&frame, NULL);
}

static inline Exited
agent_expect_exited (Agent *agent, guint32 id)
{
  g_auto (Frame) frame = FRAME_INIT;
  agent_expect (agent, id, PRISM_WIRE_EXITED, &frame);
  return frame_exited (&frame);
}

/* To its end. */
static inline char *
read_pipe (int fd, gsize *size)
{
  GByteArray *all = g_byte_array_new ();
  guint8 buffer[4096];
  ssize_t n;
  while (wait_for (fd, POLLIN, DEADLINE_MS) && (n = read (fd, buffer, sizeof buffer)) > 0)
    g_byte_array_append (all, buffer, n);
  if (size != NULL)
    *size = all->len;
  g_byte_array_append (all, (const guint8 *)"", 1);
  return (char *)g_byte_array_free (all, FALSE);
}

/* One command with pipes; its output, and how it ended. */
static inline char *
agent_run_command (Agent *agent, const char *const *argv, const Exec *exec, Exited *exited)
{
  static guint32 id = 1000;
  int out[2];
  g_assert_no_errno (pipe2 (out, O_CLOEXEC));
  int fds[2] = { out[1], out[1] };
  agent_say_exec (agent, ++id, argv, exec, fds, 2);
  close (out[1]);
  char *text = read_pipe (out[0], NULL);
  close (out[0]);
  *exited = agent_expect_exited (agent, id);
  return text;
}

#define ARGV(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define SH(text)  ARGV ("sh", "-c", text)
