/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the agent's files share. One thread, one `agent`; nothing blocks but
 * ppoll() in the loop. Whatever can take long runs in a forked worker. */
#pragma once

#include "agent-request.h"
#include "agent.h"

#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/types.h>

#define AGENT_BULK        (64u * 1024u)  /* bytes of one read of a stream */
#define AGENT_QUEUE_LOW   AGENT_BULK     /* nothing more is read for the host while more than this waits for it */
#define AGENT_QUEUE_HIGH  (256u * 1024u) /* the host's requests wait while more than this does */
#define AGENT_MAX_WORKERS 8u             /* at once; more wait their turn */
#define AGENT_MAX_KEPT    256u           /* kept processes, ended ones too */
#define AGENT_MAX_LOG     (64u * 1024u * 1024u)
#define AGENT_MAX_DEPTH   256u /* folders in folders */
#define AGENT_NEVER       UINT64_MAX

/* --- loop ------------------------------------------------------------------- */

struct agent_settings
{
  bool ready; /* SETUP came in this connection */
  uint32_t flags, open_files, commands;
  uint64_t data_bytes, log_bytes;
  char *workspace;
  char *environment; /* NAME=VALUE, NUL, ... */
  uint32_t environment_count;
};

struct agent
{
  struct agent_options options;
  struct agent_settings settings;
  pid_t pid;
  bool init;     /* pid 1 of its pid namespace */
  bool over;     /* leave the loop: end everything */
  bool leaves;   /* as the host wanted, after its last command */
  int notify;    /* eventfd: a shim has news */
  int signals;   /* signalfd */
  uint64_t now;  /* ms, as of this turn of the loop */
  uint64_t began;
  uint64_t wall; /* when it is over */
  uint8_t boot[16];
  uint8_t *scratch; /* AGENT_BULK bytes, contents good for nobody after a call */
  bool scratch_used;
};

extern struct agent agent;

typedef void (*agent_ready) (void *data, short events);
/* For this turn of the loop; called anew in each. */
void agent_watch (int fd, short events, agent_ready ready, void *data);
/* The loop turns again at `when` at the latest. */
void agent_wake_at (uint64_t when);
uint64_t agent_clock (void);
/* From where it was put to start, before anything that may take a while. */
void agent_go_anywhere (void);
/* The connection is over. */
void agent_disconnected (void);
/* A host is there: the first or the next one. */
void agent_connected (int fd);
/* The peer broke a rule: says so where it can, and ends everything. */
void agent_violation (const char *what);
void agent_random (void *bytes, size_t size);
void agent_close (int *fd);

/* --- channel ---------------------------------------------------------------- */

void agent_channel_open (int fd, bool fds);
void agent_channel_close (void);
bool agent_channel_is_open (void);
/* The end: last words, to a host that takes them within a time. */
void agent_channel_finish (unsigned ms);
/* Nothing waits for the host to take it. */
bool agent_channel_is_flushed (void);
bool agent_channel_passes_fds (void);
/* Asks the loop for what it can do now; bulk readers ask agent_channel_has_room(). */
void agent_channel_watch (void);
bool agent_channel_has_room (void);
/* When nothing is going on: gives the pages of large frames back. */
void agent_channel_trim (void);
/* Sends a frame, or queues it. A descriptor (or -1) is taken over. */
void agent_send (uint8_t type, uint16_t flags, uint32_t id, const void *payload, size_t size, int fd);
void agent_send_error (uint32_t id, enum prism_wire_error code, int error_number, const char *format, ...)
    __attribute__ ((format (printf, 4, 5)));
void agent_send_done (uint32_t id, uint64_t entries, uint64_t bytes);
void agent_send_credit (uint32_t id, uint8_t stream, uint32_t bytes);
enum prism_wire_error agent_error_of (int error_number);

/* One decoded request, and the descriptors that came with it: what is not set
 * to -1 afterwards is closed. Defined in agent-loop.c. */
void agent_dispatch (const struct agent_request *request, const uint8_t *payload, int *fds);

/* --- streams ---------------------------------------------------------------- */

/* Towards the host, by credit. */
struct agent_source
{
  int fd;       /* -1: at its end */
  uint8_t type; /* PRISM_WIRE_OUT, _ERR or _DATA */
  bool pty;
  uint64_t credit;
};

/* From the host into a pipe. */
struct agent_sink
{
  int fd;         /* -1: closed; bytes are dropped and credit is still granted */
  uint8_t stream; /* of its credit: 0 IN, 3 DATA */
  bool ends;      /* close it when all is written */
  bool pending;   /* its descriptor is still to come: what comes meanwhile is held */
  bool pty;
  uint32_t window; /* what the host may still send */
  uint32_t owed;   /* consumed, credit not yet granted */
  uint8_t *held;   /* what the pipe did not take; at most PRISM_WIRE_WINDOW */
  uint32_t size, at;
};

void agent_sink_init (struct agent_sink *sink, int fd, uint8_t stream);
/* False when the host sent more than it may. */
bool agent_sink_push (struct agent_sink *sink, uint32_t id, const uint8_t *bytes, size_t size);
void agent_sink_end (struct agent_sink *sink);
void agent_sink_flush (struct agent_sink *sink, uint32_t id);
void agent_sink_clear (struct agent_sink *sink);
/* Adds credit; false when it is more than the most. */
bool agent_source_credit (struct agent_source *source, uint32_t bytes);

/* --- shims ------------------------------------------------------------------ */

enum agent_shim_state
{
  AGENT_SHIM_IDLE = 0, /* waits for GO */
  AGENT_SHIM_GO,       /* the agent gave it a command */
  AGENT_SHIM_FAILED,   /* it did not start: stage, error */
  AGENT_SHIM_STARTED,
  AGENT_SHIM_EXITED, /* the command itself ended, children of it live on */
  AGENT_SHIM_DONE,   /* nothing of it is left */
  AGENT_SHIM_QUIT,   /* the agent wants it to end */
};

enum agent_stage
{
  AGENT_STAGE_CLONE = 1,
  AGENT_STAGE_TERMINAL,
  AGENT_STAGE_CWD,
  AGENT_STAGE_CONFINE,
  AGENT_STAGE_EXEC
};

/* What a shim starts. Lives until the shim says STARTED or FAILED. */
struct agent_start
{
  const char *cwd;
  const char **argv; /* one free place before argv[0], for the shell of a script without #! */
  const char **envp;
  const char *path; /* the command's own PATH */
  int in, out, err; /* in -1: the agent's own descriptor 0, /dev/null */
  bool terminal;    /* `in` is a pty's slave: make it the controlling terminal */
  bool netns;
};

struct agent_shim
{
  struct agent_shim *next;
  pid_t pid;
  void *region;
  const void *cpus;       /* not NULL: it is still where the agent started */
  _Atomic uint32_t state; /* enum agent_shim_state; a futex */
  _Atomic uint32_t tell;  /* STARTED is to be told too */
  bool killed;            /* the agent did it */
  bool last;              /* it ends when this command has: one process less to end with the agent */
  struct agent_start *start;
  /* written by the shim or the command's own first steps */
  int main;
  int stage, error;
  /* Written by the kernel while it reaps: right even when the shim is killed at that moment. */
  siginfo_t ended;
  struct rusage usage;
};

/* The wait status of the command, once `ended` is of it. */
int agent_shim_status (const struct agent_shim *shim);
/* An idle one, or a new one; NULL with errno. */
struct agent_shim *agent_shim_take (void);
void agent_shim_go (struct agent_shim *shim, struct agent_start *start);
/* After FAILED or DONE: serves the next command. */
void agent_shim_give_back (struct agent_shim *shim);
/* After DONE, of a last command: it ends by itself. */
void agent_shim_let_go (struct agent_shim *shim);
void agent_shim_kill (struct agent_shim *shim);
struct agent_shim *agent_shim_find (pid_t pid);
/* It was reaped. Its memory goes when agent_shim_forget() says that no stray is left. */
void agent_shim_free (struct agent_shim *shim);
void agent_shim_forget (void);
/* Has one ready, and no more idle ones than are worth their memory. */
void agent_shim_tend (void);
void agent_shim_kill_all (void);

/* --- processes ---------------------------------------------------------------- */

/* Signals all below `root`, itself not; answers how many. With group, only those in that process group. */
unsigned agent_tree_signal (pid_t root, int number, pid_t group);
/* Kills the children of the agent that it did not start; true when there are none. */
bool agent_sweep (void);
/* A shim or a stray died: sweep until none is left. */
void agent_sweep_later (void);
bool agent_sweep_pending (void);
/* Reaps all that can be reaped, tells whose they are. */
void agent_reap (void);
/* Kills and reaps everything, for the end. */
void agent_end_all (void);

/* --- commands ----------------------------------------------------------------- */

void agent_exec (const struct agent_request *request, int *fds);
bool agent_command_has (uint32_t id);
/* What belongs to a running command; false when the id is not one. */
bool agent_command_request (const struct agent_request *request);
void agent_commands_watch (void);
/* A shim has news, or processes were reaped. */
void agent_commands_step (void);
void agent_command_shim_died (struct agent_shim *shim);
void agent_command_reaped (pid_t pid, int status, const struct rusage *usage);
/* The connection is gone: all but the kept ones are ended. */
void agent_commands_disconnect (void);
unsigned agent_commands_count (void);
/* All of it was frozen for that long: no command's time was running. */
void agent_commands_resumed (uint64_t ms);

/* --- kept processes, and the way back to a host ---------------------------------- */

/* Dials, or waits for a socket to appear. */
void agent_dial_watch (void);
/* Who started the agent may hand a connection in, which takes the place of the one before. */
void agent_hosts_watch (void);

void agent_attach (const struct agent_request *request);
void agent_release (const struct agent_request *request);
void agent_processes (const struct agent_request *request);
uint32_t agent_kept_count (void);

/* --- files --------------------------------------------------------------------- */

void agent_file_request (const struct agent_request *request, int *fds);
/* DATA, CREDIT, CANCEL of a file request; false when the id is not one. */
bool agent_file_continue (const struct agent_request *request);
/* A forked worker: told apart from strays, and reaped. */
bool agent_worker_is (pid_t pid);
void agent_worker_reaped (pid_t pid, int status);
void agent_workers_kill (void);
void agent_files_watch (void);
void agent_files_disconnect (void);
bool agent_files_has (uint32_t id);
unsigned agent_files_count (void);

void agent_listen (const struct agent_request *request);
