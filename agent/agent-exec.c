/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Commands: from EXEC to EXITED and GONE. What a command does to its shim, its
 * streams or its own tree may end that command and nothing else. */
#include "agent-command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define TRIES 3u /* when a shim is killed before it started anything */

struct agent_command *agent_commands;

/* How many commands hold descriptors that their shim has not reported on, and
 * when to look: a command that outlives a millisecond should not keep the
 * host's pipes open through the agent, and a short one should not cost a turn. */
static uint64_t look_after = 1;

/* --- ending ---------------------------------------------------------------------------- */

static void
close_given (struct agent_command *command)
{
  for (int i = 0; i < 3; i++)
    agent_close (&command->given[i]);
}

/* Out of the list in the next turn: this one's events may still name it. */
static void
end (struct agent_command *command)
{
  close_given (command);
  agent_close (&command->master);
  for (int i = 0; i < 2; i++)
    agent_close (&command->source[i].fd);
  agent_sink_clear (&command->in);
  command->over = true;
}

static void
destroy (struct agent_command *command)
{
  end (command);
  free (command->block);
  free (command->argv);
  for (int i = 0; i < 2; i++)
    free (command->log[i].bytes);
  free (command);
}

/* A kept one stays, for ATTACH, until it is released. */
static void
leave (struct agent_command *command)
{
  command->id = 0;
  if (!command->keep)
    end (command);
}

/* Whether it told of a code and no flag: nothing is left that a host could want to know. */
static bool
send_exited (struct agent_command *command)
{
  uint8_t payload[64];
  struct prism_wire_writer w = prism_wire_write_to (payload, sizeof payload);
  const struct rusage *u = &command->usage;
  bool signalled = command->known && WIFSIGNALED (command->status);
  uint32_t flags = 0;

  flags |= command->tree_done ? 0 : PRISM_WIRE_EXITED_MORE;
  flags |= command->cancelled ? PRISM_WIRE_EXITED_CANCELLED : 0;
  flags |= command->timed_out ? PRISM_WIRE_EXITED_TIMED_OUT : 0;
  flags |= command->limited ? PRISM_WIRE_EXITED_LIMIT : 0;
  flags |= command->lost ? PRISM_WIRE_EXITED_SHIM : 0;
  prism_wire_put (&w,
                  !command->known ? PRISM_WIRE_HOW_UNKNOWN
                  : signalled     ? PRISM_WIRE_HOW_SIGNAL
                                  : PRISM_WIRE_HOW_CODE,
                  1);
  prism_wire_put (&w,
                  !command->known ? 0
                  : signalled     ? (uint32_t)WTERMSIG (command->status)
                                  : (uint32_t)WEXITSTATUS (command->status),
                  4);
  prism_wire_put (&w, flags, 4);
  prism_wire_put (&w, (uint64_t)u->ru_utime.tv_sec * 1000000 + (uint64_t)u->ru_utime.tv_usec, 8);
  prism_wire_put (&w, (uint64_t)u->ru_stime.tv_sec * 1000000 + (uint64_t)u->ru_stime.tv_usec, 8);
  prism_wire_put (&w, (uint64_t)u->ru_maxrss, 8);
  prism_wire_put (&w, command->bytes[0], 8);
  prism_wire_put (&w, command->bytes[1], 8);
  agent_send (PRISM_WIRE_EXITED, 0, command->id, payload, (size_t)(w.at - w.start), -1);
  return command->known && !signalled && flags == 0;
}

void
agent_command_settle (struct agent_command *command)
{
  if (command->over || !command->main_done)
    return;
  /* Being swept: what is told is then the end of all of it. */
  if (command->shim == NULL && !command->tree_done)
    return;
  agent_command_pump (command);
  if (command->id != 0 && !command->told_exited)
    {
      if (!agent_command_is_drained (command))
        return;
      command->told_exited = true;
      command->told_more = !command->tree_done;
      if (send_exited (command) && command->last)
        agent.over = agent.leaves = true;
      if (!command->told_more)
        leave (command);
      return;
    }
  if (!command->tree_done)
    return;
  if (command->id != 0 && command->told_more)
    agent_send (PRISM_WIRE_GONE, 0, command->id, NULL, 0, -1);
  if (command->id != 0 || !command->keep)
    leave (command);
}

void
agent_command_kill (struct agent_command *command)
{
  command->kill_at = 0;
  if (command->shim != NULL && !command->shim->killed)
    agent_shim_kill (command->shim);
}

/* --- starting -------------------------------------------------------------------------- */

static void
fail_start (struct agent_command *command, int stage, int error)
{
  enum prism_wire_error code = agent_error_of (error);
  const char *name = command->start.argv[0], *what = "cannot be started";

  switch (stage)
    {
    case AGENT_STAGE_CLONE:
      code = error == EAGAIN ? PRISM_WIRE_ERROR_NO_PROCESS : code;
      what = "cannot be started: no process can be made";
      break;
    case AGENT_STAGE_CWD:
      code = PRISM_WIRE_ERROR_CWD;
      name = command->start.cwd;
      what = "is not a folder that the command can run in";
      break;
    case AGENT_STAGE_TERMINAL:
      what = "cannot get its terminal";
      break;
    case AGENT_STAGE_CONFINE:
      what = "cannot be confined";
      code = PRISM_WIRE_ERROR_FAILED;
      break;
    default:
      if (error == ENOENT || error == ENOTDIR || error == ENAMETOOLONG || error == ELOOP)
        {
          code = PRISM_WIRE_ERROR_NOT_FOUND;
          what = "is not there";
        }
      else if (error == E2BIG)
        {
          code = PRISM_WIRE_ERROR_LIMIT;
          what = "has more arguments and environment than the kernel takes";
        }
      else if (error != ENOMEM && error != EAGAIN)
        {
          code = PRISM_WIRE_ERROR_NOT_EXECUTABLE;
          what = error == ENOEXEC ? "is there, but no program that can run here, or its interpreter is missing"
                                  : "is there, but cannot be run";
        }
      break;
    }
  agent_send_error (command->id, code, error, "%.300s: %s: %s", name, what, strerror (error));
  command->keep = false;
  end (command);
}

/* Hands it to a shim; an error is answered. */
static bool
go (struct agent_command *command)
{
  struct agent_shim *shim = agent_shim_take ();

  if (shim == NULL)
    {
      fail_start (command, AGENT_STAGE_CLONE, errno);
      return false;
    }
  command->shim = shim;
  shim->last = command->last;
  command->tries++;
  atomic_store (&shim->tell, command->tells || command->signals != 0 || command->cancelled);
  look_after = 1;
  agent_shim_go (shim, &command->start);
  return true;
}

static void
started (struct agent_command *command, pid_t pid)
{
  uint8_t payload[4];
  struct prism_wire_writer w = prism_wire_write_to (payload, sizeof payload);

  command->started = true;
  command->main = pid;
  close_given (command);
  if (command->tells)
    {
      int master = command->pty && !command->framed ? command->master : -1;
      prism_wire_put (&w, (uint32_t)command->main, 4);
      agent_send (PRISM_WIRE_STARTED, 0, command->id, payload, sizeof payload, master);
      if (master >= 0)
        command->master = -1;
    }
  for (int number = 1; command->signals != 0; number++, command->signals >>= 1)
    if (command->signals & 1)
      kill (-command->main, number);
  if (command->cancelled && command->kill_at != 0 && command->shim != NULL)
    agent_tree_signal (command->shim->pid, SIGTERM, 0);
}

void
agent_exec (const struct agent_request *q, int *fds)
{
  struct agent_command *command;
  uint32_t running = 0;

  for (command = agent_commands; command != NULL; command = command->next)
    running += !command->over && !command->tree_done;
  if (agent.settings.commands != 0 && running >= agent.settings.commands)
    {
      agent_send_error (q->header.id, PRISM_WIRE_ERROR_LIMIT, 0, "%u commands run already", running);
      return;
    }
  command = calloc (1, sizeof *command);
  if (command == NULL)
    {
      agent_send_error (q->header.id, PRISM_WIRE_ERROR_LIMIT, ENOMEM, "no memory for another command");
      return;
    }
  command->id = q->header.id;
  command->pty = (q->exec.flags & PRISM_WIRE_EXEC_PTY) != 0;
  command->keep = (q->exec.flags & PRISM_WIRE_EXEC_KEEP) != 0;
  command->framed =
      command->keep || (q->exec.flags & PRISM_WIRE_EXEC_FRAMED) != 0 || (command->pty && !agent_channel_passes_fds ());
  command->last = (q->exec.flags & PRISM_WIRE_EXEC_LAST) != 0 && (agent.settings.flags & PRISM_WIRE_SETUP_KEEP) == 0;
  command->tells = command->pty || (q->exec.flags & PRISM_WIRE_EXEC_STARTED) != 0;
  command->most_bytes = q->exec.most_bytes;
  if (q->exec.timeout_ms != 0 && q->exec.timeout_ms < AGENT_NEVER - agent.now)
    command->timeout_at = agent.now + q->exec.timeout_ms;
  command->grace = q->exec.grace_ms;
  command->given[0] = command->given[1] = command->given[2] = command->master = command->in.fd = -1;
  for (int i = 0; i < 2; i++)
    command->source[i] = (struct agent_source){ .fd = -1,
                                                .type = i == 0 ? PRISM_WIRE_OUT : PRISM_WIRE_ERR,
                                                .credit = PRISM_WIRE_WINDOW };
  command->next = agent_commands;
  agent_commands = command;
  if ((command->keep && !agent_command_keep (command, q)) || !agent_command_prepare (command, q, fds))
    {
      command->keep = false;
      end (command);
    }
  else
    go (command);
}

/* --- news from shims ------------------------------------------------------------------- */

static void
take_status (struct agent_command *command, int status, const struct rusage *usage)
{
  command->main_done = command->known = true;
  command->status = status;
  command->usage = *usage;
  agent_command_drain (command);
}

static void
step (struct agent_command *command)
{
  struct agent_shim *shim = command->shim;
  uint32_t state;

  if (command->over)
    return;
  if (shim == NULL)
    {
      /* It was killed; when no stray is left, nothing of the command is. */
      if (!command->tree_done && !agent_sweep_pending ())
        {
          command->tree_done = command->main_done = true;
          agent_command_drain (command);
        }
      agent_command_settle (command);
      return;
    }
  state = atomic_load (&shim->state);
  if (state == AGENT_SHIM_GO || shim->killed)
    return;
  if (state == AGENT_SHIM_FAILED)
    {
      command->shim = NULL;
      if (command->cancelled)
        agent_send_error (command->id, PRISM_WIRE_ERROR_CANCELLED, 0, "cancelled before it started");
      else
        fail_start (command, shim->stage, shim->error);
      end (command);
      agent_shim_give_back (shim);
      return;
    }
  if (!command->started)
    {
      started (command, shim->main);
      free (command->block);
      command->block = NULL;
    }
  if (state != AGENT_SHIM_STARTED && !command->main_done)
    take_status (command, agent_shim_status (shim), &shim->usage);
  if (state == AGENT_SHIM_DONE)
    {
      command->tree_done = true;
      command->shim = NULL;
      if (shim->last)
        agent_shim_let_go (shim);
      else
        agent_shim_give_back (shim);
    }
  agent_command_settle (command);
}

void
agent_commands_step (void)
{
  for (struct agent_command *command = agent_commands; command != NULL; command = command->next)
    step (command);
}

void
agent_command_shim_died (struct agent_shim *shim)
{
  struct agent_command *command = agent_commands;
  uint32_t state = atomic_load (&shim->state);

  while (command != NULL && command->shim != shim)
    command = command->next;
  if (command == NULL)
    return;
  if (state == AGENT_SHIM_DONE)
    {
      /* That of a last command, which ends by itself. */
      step (command);
      return;
    }
  command->shim = NULL;
  if (command->over)
    return;
  if (state == AGENT_SHIM_FAILED)
    {
      fail_start (command, shim->stage, shim->error);
      return;
    }
  if (shim->main == 0 && command->cancelled)
    {
      agent_send_error (command->id, PRISM_WIRE_ERROR_CANCELLED, 0, "cancelled before it started");
      command->keep = false;
      end (command);
      return;
    }
  if (shim->main == 0 && command->tries < TRIES)
    {
      /* Killed while idle: the command has not begun, so another shim begins it. */
      go (command);
      return;
    }
  if (shim->main == 0)
    {
      agent_send_error (command->id, PRISM_WIRE_ERROR_FAILED, 0, "its supervisor was killed %u times before it began",
                        TRIES);
      command->keep = false;
      end (command);
      return;
    }
  command->lost = !shim->killed;
  /* Whether it had begun is not known; that it is spoken of as begun is the wire's order. Its
   * strings stay until it is swept: it may stand before its exec. */
  if (!command->started)
    started (command, shim->main);
  if (!command->main_done && shim->main != 0 && shim->ended.si_pid == shim->main && shim->ended.si_code <= CLD_DUMPED)
    take_status (command, agent_shim_status (shim), &shim->usage);
  agent_sweep_later ();
}

void
agent_command_reaped (pid_t pid, int status, const struct rusage *usage)
{
  for (struct agent_command *command = agent_commands; command != NULL; command = command->next)
    if (!command->over && command->shim == NULL && !command->main_done && command->main == pid)
      take_status (command, status, usage);
}

/* --- requests of a running command ----------------------------------------------------- */

static void
cancel (struct agent_command *command, uint32_t grace)
{
  uint64_t when = agent.now + grace;

  command->cancelled = true;
  if (grace == 0)
    {
      agent_command_kill (command);
      return;
    }
  if (command->kill_at == 0 || when < command->kill_at)
    command->kill_at = when;
  if (command->shim == NULL)
    return;
  if (!command->started)
    {
      atomic_store (&command->shim->tell, 1);
      return;
    }
  agent_tree_signal (command->shim->pid, SIGTERM, 0);
  agent_tree_signal (command->shim->pid, SIGCONT, 0);
}

/* One that ended meanwhile was in time; what it left behind is not its timeout's. */
static void
time_out (struct agent_command *command)
{
  command->timeout_at = 0;
  if (command->main_done)
    return;
  command->timed_out = true;
  cancel (command, command->grace);
}

void
agent_commands_resumed (uint64_t ms)
{
  for (struct agent_command *command = agent_commands; command != NULL; command = command->next)
    {
      if (command->kill_at != 0)
        command->kill_at += ms;
      if (command->timeout_at != 0)
        command->timeout_at += ms;
    }
}

static void
send_signal (struct agent_command *command, int number)
{
  if (!command->started && command->shim != NULL)
    {
      command->signals |= 1ULL << (number - 1);
      atomic_store (&command->shim->tell, 1);
    }
  else if (!command->main_done)
    kill (-command->main, number);
  else if (command->shim != NULL)
    /* Its own pid may be another's by now; its group is who still says so below the shim. */
    agent_tree_signal (command->shim->pid, number, command->main);
}

static struct agent_command *
find (uint32_t id)
{
  struct agent_command *command = agent_commands;

  while (command != NULL && (command->over || command->id != id || id == 0))
    command = command->next;
  return command;
}

bool
agent_command_has (uint32_t id)
{
  return find (id) != NULL;
}

static void
take_input (struct agent_command *command, const struct agent_request *q)
{
  if (!command->input)
    return; /* it has no stdin of frames */
  if (q->header.type == PRISM_WIRE_IN_EOF)
    agent_sink_end (&command->in);
  else if (!agent_sink_push (&command->in, command->told_exited ? 0 : command->id, q->bytes.at, q->bytes.size))
    agent_violation ("more input than it had credit for");
}

bool
agent_command_request (const struct agent_request *q)
{
  struct agent_command *command = find (q->header.id);

  if (command == NULL)
    return false;
  switch (q->header.type)
    {
    case PRISM_WIRE_SIGNAL:
      send_signal (command, (int)q->number);
      break;
    case PRISM_WIRE_CANCEL:
      cancel (command, q->number);
      break;
    case PRISM_WIRE_RESIZE:
      agent_command_resize (command, q->size.columns, q->size.rows);
      break;
    case PRISM_WIRE_IN:
    case PRISM_WIRE_IN_EOF:
      take_input (command, q);
      break;
    case PRISM_WIRE_CREDIT:
      if (q->credit.stream <= 2 && !agent_source_credit (&command->source[q->credit.stream - 1], q->credit.bytes))
        agent_violation ("more credit than may be");
      agent_command_pump (command);
      agent_command_settle (command);
      break;
    default: /* DATA: the host speaks of something that is over */
      break;
    }
  return true;
}

/* --- the loop's questions ---------------------------------------------------------------- */

static void
sink_ready (void *data, short events)
{
  struct agent_command *command = data;
  if (!command->over)
    agent_sink_flush (&command->in, command->told_exited ? 0 : command->id);
}

void
agent_commands_watch (void)
{
  bool starting = false;

  for (struct agent_command **link = &agent_commands, *command; (command = *link) != NULL;)
    {
      if (command->over && command->shim == NULL && (command->block == NULL || !agent_sweep_pending ()))
        {
          *link = command->next;
          destroy (command);
          continue;
        }
      link = &command->next;
      if (command->over)
        continue;
      if (command->shim != NULL && !command->started)
        {
          if (atomic_load (&command->shim->state) == AGENT_SHIM_GO)
            starting = true;
          else
            step (command);
        }
      if (command->over)
        continue;
      if (command->kill_at != 0 && agent.now >= command->kill_at)
        agent_command_kill (command);
      if (command->timeout_at != 0 && agent.now >= command->timeout_at)
        time_out (command);
      if (command->kill_at != 0)
        agent_wake_at (command->kill_at);
      if (command->timeout_at != 0)
        agent_wake_at (command->timeout_at);
      if (command->in.held != NULL)
        agent_watch (command->in.fd, POLLOUT, sink_ready, command);
      agent_command_watch_streams (command);
    }
  if (!starting)
    return;
  agent_wake_at (agent.now + look_after);
  look_after = look_after < 64 ? look_after * 2 : 64;
}

void
agent_commands_disconnect (void)
{
  for (struct agent_command *command = agent_commands; command != NULL; command = command->next)
    {
      command->id = 0;
      if (command->keep && !command->over)
        {
          /* Input that its pipe did not take is gone with the connection it came by. */
          free (command->in.held);
          command->in.held = NULL;
          command->in.size = command->in.at = 0;
        }
      if (command->keep || command->over)
        continue;
      agent_command_kill (command);
      end (command);
    }
}

unsigned
agent_commands_count (void)
{
  unsigned count = 0;

  for (struct agent_command *command = agent_commands; command != NULL; command = command->next)
    count += !command->over && command->id != 0;
  return count;
}
