/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One command, from EXEC to its last frame; a kept one until RELEASE. */
#pragma once

#include "agent-private.h"

/* The last bytes of one stream of a kept process. Offsets count from its first byte. */
struct agent_log
{
  uint8_t *bytes;
  uint64_t size;
  uint64_t begin, end; /* what it holds */
  uint64_t sent;       /* up to here the attached host has it */
};

struct agent_command
{
  struct agent_command *next;
  uint32_t id; /* 0: nobody is attached */
  struct agent_shim *shim;
  pid_t main;
  unsigned tries;

  bool framed, pty, keep, tells, input, last;
  bool started, main_done, tree_done;
  bool known;                    /* how the command itself ended */
  bool cancelled, limited, timed_out, lost; /* lost: its shim was killed from inside */
  bool told_exited, told_more, over;

  struct agent_start start;
  void *block;  /* start's strings, until it started */
  int given[3]; /* the command's ends, until it started */
  int master;   /* of a pty, until STARTED took it or while framed */
  int terminal; /* N of /dev/pts/N */

  struct agent_source source[2]; /* OUT, ERR */
  bool drained[2];               /* after the command ended: all that it wrote was read */
  uint64_t draining[2];          /* how much of what comes then can be its own */
  uint64_t bytes[2];
  struct agent_sink in;
  uint64_t most_bytes;

  uint64_t kill_at;
  uint64_t timeout_at; /* 0: none, or it is over */
  uint32_t grace;
  uint64_t signals; /* came before it started: bit N-1 is signal N */
  int status;
  struct rusage usage;

  /* kept ones */
  char uuid[33];
  struct agent_log log[2];
  uint64_t since; /* ms since the epoch */
  char tag[PRISM_WIRE_MAX_TAG + 1];
  uint8_t *argv; /* as a strv of the wire, perhaps cut */
  uint32_t argv_size;
};

extern struct agent_command *agent_commands;

/* start: what can fail before a shim is asked. Answers the error and returns false. */
bool agent_command_prepare (struct agent_command *command, const struct agent_request *request, int *fds);
void agent_command_resize (struct agent_command *command, uint16_t columns, uint16_t rows);

/* The command ended: what it wrote is still in the pipes. */
void agent_command_drain (struct agent_command *command);
/* streams: reads what may be read, sends what may be sent. */
void agent_command_pump (struct agent_command *command);
void agent_command_watch_streams (struct agent_command *command);
bool agent_command_is_drained (struct agent_command *command);
/* Sends what can be sent now: EXITED, GONE. */
void agent_command_settle (struct agent_command *command);
void agent_command_kill (struct agent_command *command);

/* logs */
bool agent_log_open (struct agent_log *log);
void agent_log_append (struct agent_log *log, const uint8_t *bytes, size_t size);
/* How much may be appended while somebody reads who has not had all of it. */
uint64_t agent_log_room (const struct agent_log *log);
void agent_log_send (struct agent_log *log, uint32_t id, struct agent_source *source);
bool agent_command_keep (struct agent_command *command, const struct agent_request *request);
