/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Processes that outlive a connection: which there are, taking one up again,
 * forgetting one; and the way back to a host. Ids are the host's uuids, never
 * pids. What the host's socket folder holds is the host's: it is mounted read-only. */
#include "agent-command.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MOST_ARGV     4096u /* bytes of a kept process's arguments that PROCS tells */
#define DIAL_FIRST    50u   /* ms, doubled after each failure */
#define DIAL_LAST     5000u
#define DIAL_PATIENCE 30000u /* ms for the first host to be there */

/* --- kept processes --------------------------------------------------------------------- */

static struct agent_command *
find (const char *uuid)
{
  struct agent_command *command = agent_commands;

  while (command != NULL && (command->over || !command->keep || strcmp (command->uuid, uuid) != 0))
    command = command->next;
  return command;
}

uint32_t
agent_kept_count (void)
{
  uint32_t count = 0;

  for (struct agent_command *command = agent_commands; command != NULL; command = command->next)
    count += command->keep && !command->over;
  return count;
}

/* As a strv of the wire, whole arguments as far as they fit. */
static bool
copy_argv (struct agent_command *command, struct agent_strings argv)
{
  struct prism_wire_writer w;
  uint32_t count = 0;

  command->argv = malloc (MOST_ARGV);
  if (command->argv == NULL)
    return false;
  w = prism_wire_write_to (command->argv, MOST_ARGV);
  prism_wire_put (&w, 0, 4);
  while (argv.count > 0)
    {
      const char *s = agent_strings_next (&argv);
      if (strlen (s) + 5 > (size_t)(w.end - w.at))
        break;
      prism_wire_put_str (&w, s);
      count++;
    }
  command->argv_size = (uint32_t)(w.at - w.start);
  w.at = w.start;
  prism_wire_put (&w, count, 4);
  return true;
}

bool
agent_command_keep (struct agent_command *command, const struct agent_request *q)
{
  struct timespec t;

  if ((agent.settings.flags & PRISM_WIRE_SETUP_KEEP) == 0)
    {
      agent_send_error (command->id, PRISM_WIRE_ERROR_INVALID, 0,
                        "this sandbox ends with its host: it keeps no process");
      return false;
    }
  command->keep = false; /* not yet found by its own name */
  if (find (q->exec.uuid) != NULL)
    {
      agent_send_error (command->id, PRISM_WIRE_ERROR_EXISTS, 0, "a process with this uuid is kept already");
      return false;
    }
  if (agent_kept_count () >= AGENT_MAX_KEPT)
    {
      agent_send_error (command->id, PRISM_WIRE_ERROR_LIMIT, 0, "%u processes are kept already: release some",
                        AGENT_MAX_KEPT);
      return false;
    }
  if (!agent_log_open (&command->log[0]) || !agent_log_open (&command->log[1]) || !copy_argv (command, q->exec.argv))
    {
      agent_send_error (command->id, PRISM_WIRE_ERROR_LIMIT, ENOMEM, "no memory for the process's logs");
      return false;
    }
  command->keep = true;
  strcpy (command->uuid, q->exec.uuid);
  strcpy (command->tag, q->exec.tag);
  clock_gettime (CLOCK_REALTIME, &t);
  command->since = (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
  return true;
}

/* Where the replay begins: what was asked, or the oldest byte that is left. */
static void
rewind_log (struct agent_log *log, uint64_t offset)
{
  log->sent = offset < log->begin ? log->begin : offset > log->end ? log->end : offset;
}

void
agent_attach (const struct agent_request *q)
{
  struct agent_command *command = find (q->attach.uuid);
  uint8_t payload[4];
  struct prism_wire_writer w = prism_wire_write_to (payload, sizeof payload);

  if (command == NULL)
    {
      agent_send_error (q->header.id, PRISM_WIRE_ERROR_NOT_FOUND, 0, "no process with this uuid is kept");
      return;
    }
  if (command->id != 0)
    {
      agent_send_error (q->header.id, PRISM_WIRE_ERROR_EXISTS, 0, "this process is attached already");
      return;
    }
  command->id = q->header.id;
  command->told_exited = command->told_more = false;
  rewind_log (&command->log[0], q->attach.out);
  rewind_log (&command->log[1], q->attach.err);
  command->source[0].credit = command->source[1].credit = PRISM_WIRE_WINDOW;
  command->in.window = PRISM_WIRE_WINDOW;
  command->in.owed = 0;
  prism_wire_put (&w, (uint32_t)command->main, 4);
  if (q->attach.flags & PRISM_WIRE_EXEC_STARTED)
    agent_send (PRISM_WIRE_STARTED, 0, command->id, payload, sizeof payload, -1);
  agent_command_pump (command);
  agent_command_settle (command);
}

void
agent_release (const struct agent_request *q)
{
  struct agent_command *command = find (q->attach.uuid);

  if (command == NULL)
    agent_send_error (q->header.id, PRISM_WIRE_ERROR_NOT_FOUND, 0, "no process with this uuid is kept");
  else if (!command->tree_done || command->id != 0)
    agent_send_error (q->header.id, PRISM_WIRE_ERROR_INVALID, 0, "this process %s",
                      command->tree_done ? "is attached" : "still runs: cancel it first");
  else
    {
      command->keep = false;
      command->over = true;
      agent_send (PRISM_WIRE_DONE, 0, q->header.id, NULL, 0, -1);
    }
}

static void
put_process (struct prism_wire_writer *w, const struct agent_command *command)
{
  bool signalled = command->known && WIFSIGNALED (command->status);
  int code = !command->known ? 0 : signalled ? WTERMSIG (command->status) : WEXITSTATUS (command->status);

  prism_wire_put_str (w, command->uuid);
  prism_wire_put (w, (uint32_t)command->main, 4);
  prism_wire_put (w, command->tree_done ? 2 : 1, 1);
  prism_wire_put (w,
                  !command->main_done ? 0
                  : !command->known   ? PRISM_WIRE_HOW_UNKNOWN
                  : signalled         ? PRISM_WIRE_HOW_SIGNAL
                                      : PRISM_WIRE_HOW_CODE,
                  1);
  prism_wire_put (w, (uint32_t)code, 4);
  prism_wire_put (w, command->since, 8);
  for (int i = 0; i < 2; i++)
    {
      prism_wire_put (w, command->log[i].begin, 8);
      prism_wire_put (w, command->log[i].end, 8);
    }
  prism_wire_put_str (w, command->tag);
  prism_wire_put_bytes (w, command->argv, command->argv_size);
}

void
agent_processes (const struct agent_request *q)
{
  struct prism_wire_writer w = prism_wire_write_to (agent.scratch, AGENT_BULK);

  agent.scratch_used = true;
  for (struct agent_command *command = agent_commands; command != NULL; command = command->next)
    {
      if (!command->keep || command->over)
        continue;
      if ((size_t)(w.end - w.at) < MOST_ARGV + PRISM_WIRE_MAX_TAG + 128)
        {
          agent_send (PRISM_WIRE_ENTRIES, 0, q->header.id, w.start, (size_t)(w.at - w.start), -1);
          w.at = w.start;
        }
      put_process (&w, command);
    }
  agent_send (PRISM_WIRE_ENTRIES, PRISM_WIRE_LAST, q->header.id, w.start, (size_t)(w.at - w.start), -1);
}

/* --- the way back to a host ---------------------------------------------------------------- */

static struct
{
  int watch; /* inotify on the socket's folder */
  uint64_t next, patience;
  uint32_t delay;
} dialling = { .watch = -1 };

static void
watch_folder (void)
{
  char folder[108];
  char *slash;

  if (strlen (agent.options.dial) >= sizeof folder)
    return;
  strcpy (folder, agent.options.dial);
  slash = strrchr (folder, '/');
  if (slash == NULL)
    strcpy (folder, ".");
  else
    slash[slash == folder] = 0;
  dialling.watch = inotify_init1 (IN_CLOEXEC | IN_NONBLOCK);
  if (dialling.watch >= 0)
    inotify_add_watch (dialling.watch, folder, IN_CREATE | IN_MOVED_TO | IN_ATTRIB);
}

static int
dial (void)
{
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  int fd;

  if (strlen (agent.options.dial) >= sizeof address.sun_path)
    return -1;
  strcpy (address.sun_path, agent.options.dial);
  fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd >= 0 && connect (fd, (struct sockaddr *)&address, sizeof address) != 0)
    agent_close (&fd);
  return fd;
}

static void
folder_changed (void *data, short events)
{
  char buffer[1024] __attribute__ ((aligned (8)));

  while (read (dialling.watch, buffer, sizeof buffer) > 0)
    ;
  dialling.delay = DIAL_FIRST;
  dialling.next = 0;
}

void
agent_dial_watch (void)
{
  int fd;

  if (agent.options.dial == NULL)
    return;
  if (dialling.watch < 0)
    watch_folder (); /* before the first try, so that nothing is missed */
  if (dialling.delay == 0)
    {
      dialling.delay = DIAL_FIRST;
      dialling.next = 0;
      dialling.patience = agent.wall == AGENT_NEVER ? agent.now + DIAL_PATIENCE : AGENT_NEVER;
    }
  if (agent.now >= dialling.next)
    {
      fd = dial ();
      if (fd >= 0)
        {
          dialling.delay = 0;
          agent_close (&dialling.watch);
          agent_connected (fd);
          agent_channel_watch ();
          return;
        }
      dialling.next = agent.now + dialling.delay;
      dialling.delay = dialling.delay * 2 < DIAL_LAST ? dialling.delay * 2 : DIAL_LAST;
    }
  if (agent.now >= dialling.patience)
    agent.over = true;
  agent_wake_at (dialling.next < dialling.patience ? dialling.next : dialling.patience);
  agent_watch (dialling.watch, POLLIN, folder_changed, NULL);
}

/* Only what brings exactly one descriptor is a connection; it is not the agent's to judge
 * who is behind it. */
static void
host_came (void *data, short events)
{
  union
  {
    struct cmsghdr header;
    char bytes[CMSG_SPACE (sizeof (int))];
  } control;
  char byte;
  struct iovec part = { &byte, 1 };
  struct msghdr message = {
    .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control
  };
  ssize_t n = recvmsg (agent.options.hosts, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR (&message) : NULL;
  int fd;

  if (n == 0)
    agent_close (&agent.options.hosts);
  if (c == NULL || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS || c->cmsg_len != CMSG_LEN (sizeof (int)))
    return;
  memcpy (&fd, CMSG_DATA (c), sizeof fd);
  fcntl (fd, F_SETFL, fcntl (fd, F_GETFL) | O_NONBLOCK);
  agent_channel_close ();
  agent_disconnected ();
  agent_connected (fd);
}

void
agent_hosts_watch (void)
{
  agent_watch (agent.options.hosts, POLLIN, host_came, NULL);
}
