/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Getting a command's strings and descriptors ready. The strings come from the
 * host, the descriptors are the host's pipes or are made here; the pseudo
 * terminal is the sandbox's own, as one of the host's would be no terminal inside. */
#include "agent-command.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

static size_t
name_size (const char *variable)
{
  return strcspn (variable, "=");
}

/* Later ones win. */
static void
put_variable (const char **envp, uint32_t *count, const char *variable)
{
  size_t n = name_size (variable);

  for (uint32_t i = 0; i < *count; i++)
    if (strncmp (envp[i], variable, n + 1) == 0)
      {
        envp[i] = variable;
        return;
      }
  envp[(*count)++] = variable;
}

static const char *
find_variable (const char **envp, const char *name)
{
  size_t n = strlen (name);

  for (; *envp != NULL; envp++)
    if (strncmp (*envp, name, n) == 0 && (*envp)[n] == '=')
      return *envp + n + 1;
  return NULL;
}

static bool
build_strings (struct agent_command *command, const struct agent_request *q)
{
  struct agent_strings argv = q->exec.argv, environment = q->exec.environment;
  size_t pointers = 1 + argv.count + 1 + agent.settings.environment_count + environment.count + 2;
  size_t bytes = argv.bytes + environment.bytes + strlen (q->exec.cwd) + strlen (agent.settings.workspace) + 2;
  const char **at = command->block = calloc (1, pointers * sizeof (char *) + bytes);
  char *text = (char *)(at + pointers);
  const char *base = agent.settings.environment;
  uint32_t count = 0;

  if (at == NULL)
    return false;
  command->start.argv = ++at;
  while (argv.count > 0)
    {
      const char *s = agent_strings_next (&argv);
      *at++ = text;
      text = stpcpy (text, s) + 1;
    }
  command->start.envp = ++at;
  for (uint32_t i = 0; i < agent.settings.environment_count; i++, base += strlen (base) + 1)
    put_variable (at, &count, base);
  if (command->pty)
    put_variable (at, &count, "TERM=xterm-256color");
  while (environment.count > 0)
    {
      const char *s = agent_strings_next (&environment);
      put_variable (at, &count, strcpy (text, s));
      text += strlen (s) + 1;
    }
  command->start.path = find_variable (at, "PATH");
  if (command->start.path == NULL)
    command->start.path = DEFAULT_PATH;
  command->start.cwd = text;
  if (*q->exec.cwd == '/')
    strcpy (text, q->exec.cwd);
  else
    {
      text = stpcpy (text, agent.settings.workspace);
      if (*q->exec.cwd != 0)
        {
          *text++ = '/';
          strcpy (text, q->exec.cwd);
        }
    }
  return true;
}

static bool
variables_are_sane (struct agent_strings strings)
{
  while (strings.count > 0)
    {
      const char *s = agent_strings_next (&strings);
      size_t n = name_size (s);
      if (n == 0 || s[n] == 0)
        return false;
    }
  return true;
}

void
agent_command_resize (struct agent_command *command, uint16_t columns, uint16_t rows)
{
  struct winsize size = { .ws_col = columns, .ws_row = rows };
  char path[40];
  int fd = command->master;

  if (!command->pty)
    return;
  if (fd < 0)
    {
      /* The host has the master; its number cannot be another's while this id lives on it. */
      snprintf (path, sizeof path, "/dev/pts/%d", command->terminal);
      fd = open (path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    }
  if (fd >= 0)
    ioctl (fd, TIOCSWINSZ, &size);
  if (fd != command->master)
    agent_close (&fd);
}

static int
open_terminal (struct agent_command *command, uint16_t columns, uint16_t rows)
{
  int slave, unlocked = 0;
  char path[40];

  command->master = open ("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (command->master < 0 || ioctl (command->master, TIOCSPTLCK, &unlocked) != 0
      || ioctl (command->master, TIOCGPTN, &command->terminal) != 0)
    return -1;
  agent_command_resize (command, columns != 0 ? columns : 80, rows != 0 ? rows : 24);
  slave = ioctl (command->master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (slave >= 0)
    return slave;
  snprintf (path, sizeof path, "/dev/pts/%d", command->terminal);
  return open (path, O_RDWR | O_NOCTTY | O_CLOEXEC);
}

static bool
make_terminal (struct agent_command *command, const struct agent_request *q)
{
  int slave = open_terminal (command, q->exec.columns, q->exec.rows);

  if (slave < 0)
    return false;
  command->given[0] = slave;
  command->start.in = command->start.out = command->start.err = slave;
  command->start.terminal = true;
  if (!command->framed)
    return true;
  command->source[0].fd = fcntl (command->master, F_DUPFD_CLOEXEC, 3);
  agent_sink_init (&command->in, fcntl (command->master, F_DUPFD_CLOEXEC, 3), 0);
  command->in.pty = command->input = true;
  return command->source[0].fd >= 0 && command->in.fd >= 0;
}

static bool
make_pipes (struct agent_command *command, bool input)
{
  int ends[2];

  for (int i = 0; i < 2; i++)
    {
      if (pipe2 (ends, O_CLOEXEC) != 0)
        return false;
      command->source[i].fd = ends[0];
      command->given[1 + i] = ends[1];
      fcntl (ends[0], F_SETFL, O_RDONLY | O_NONBLOCK);
    }
  command->start.out = command->given[1];
  command->start.err = command->given[2];
  if (!input)
    return true;
  if (pipe2 (ends, O_CLOEXEC) != 0)
    return false;
  command->start.in = command->given[0] = ends[0];
  agent_sink_init (&command->in, ends[1], 0);
  command->input = true;
  return true;
}

bool
agent_command_prepare (struct agent_command *command, const struct agent_request *q, int *fds)
{
  bool input = (q->exec.flags & PRISM_WIRE_EXEC_STDIN) != 0, made = true;

  command->start.in = command->start.out = command->start.err = -1;
  command->start.netns = agent.options.netns_command;
  if (!variables_are_sane (q->exec.environment))
    {
      agent_send_error (command->id, PRISM_WIRE_ERROR_INVALID, 0,
                        "the environment has an entry that is not NAME=VALUE");
      return false;
    }
  if (!build_strings (command, q))
    {
      agent_send_error (command->id, PRISM_WIRE_ERROR_LIMIT, ENOMEM, "no memory for the command's arguments");
      return false;
    }
  if (command->pty)
    made = make_terminal (command, q);
  else if (command->framed)
    made = make_pipes (command, input);
  else
    for (int i = 0, slot = input ? 0 : 1; slot < 3; i++, slot++)
      {
        command->given[slot] = fds[i];
        fds[i] = -1;
      }
  if (!made)
    {
      int error = errno;
      agent_send_error (command->id, agent_error_of (error), error, "the command's %s cannot be made: %s",
                        command->pty ? "terminal" : "pipes", strerror (error));
      return false;
    }
  if (!command->pty)
    {
      command->start.in = command->given[0];
      command->start.out = command->given[1];
      command->start.err = command->given[2];
    }
  return true;
}
