/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The one loop. Everything that runs in the sandbox may be hostile to the agent,
 * and so may the host's bytes; the loop itself never waits for either. */
#include "agent-private.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LAST_WORDS  500u /* ms that a host has for reading why the agent ended */
#define STARTING    5u   /* ms: who is at work later than that goes on for longer */
#define MAX_WATCHES (16u + 4u * PRISM_WIRE_MAX_IDS)

struct agent agent;

static struct pollfd watched[MAX_WATCHES];
static struct
{
  agent_ready ready;
  void *data;
} watchers[MAX_WATCHES];
static unsigned watch_count;
static uint64_t wake_at;

/* --- small things ------------------------------------------------------------------ */

void
agent_watch (int fd, short events, agent_ready ready, void *data)
{
  if (fd < 0 || watch_count == MAX_WATCHES)
    return;
  watched[watch_count] = (struct pollfd){ .fd = fd, .events = events };
  watchers[watch_count].ready = ready;
  watchers[watch_count++].data = data;
}

void
agent_wake_at (uint64_t when)
{
  if (when < wake_at)
    wake_at = when;
}

uint64_t
agent_clock (void)
{
  struct timespec t;
  clock_gettime (CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

void
agent_violation (const char *what)
{
  agent_send_error (0, PRISM_WIRE_ERROR_INVALID, 0, "the host sent %s", what);
  agent.over = true;
}

void
agent_random (void *bytes, size_t size)
{
  if (getrandom (bytes, size, 0) != (ssize_t)size)
    _exit (71);
}

void
agent_close (int *fd)
{
  if (*fd >= 0)
    close (*fd);
  *fd = -1;
}

void
agent_go_anywhere (void)
{
  if (agent.options.cpus != NULL)
    syscall (SYS_sched_setaffinity, 0, agent.options.cpus_size, agent.options.cpus);
  agent.options.cpus = NULL;
}

/* --- SETUP and the way of a request ------------------------------------------------ */

static void
copy_environment (struct agent_strings strings)
{
  static char *previous;
  char *at;

  /* A kept command that is just starting may still read the last one. */
  free (previous);
  previous = agent.settings.environment;
  agent.settings.environment = at = malloc (strings.bytes + 1);
  agent.settings.environment_count = at != NULL ? strings.count : 0;
  while (at != NULL && strings.count > 0)
    at = stpcpy (at, agent_strings_next (&strings)) + 1;
}

/* What the launcher does natively, the agent does where a container made the boundary. */
static int
harden (uint32_t flags)
{
  int error = 0;

  if ((flags & (PRISM_WIRE_SETUP_SECCOMP | PRISM_WIRE_SETUP_LANDLOCK)) == 0 || agent.options.hardened)
    return 0;
  if (prctl (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    return -errno;
  if (flags & PRISM_WIRE_SETUP_LANDLOCK)
    error = launch_enter_landlock ();
  /* Older kernels have none, and nothing depends on it. */
  if (error == -ENOSYS || error == -EOPNOTSUPP)
    error = 0;
  if (error == 0 && (flags & PRISM_WIRE_SETUP_SECCOMP) != 0)
    error = launch_load_seccomp ();
  agent.options.hardened = error == 0;
  return error;
}

static void
set_up (const struct agent_request *q)
{
  bool keep = (q->setup.flags & PRISM_WIRE_SETUP_KEEP) != 0;
  int error;

  if (q->setup.major != PRISM_WIRE_MAJOR)
    {
      agent_violation ("a SETUP of another major version");
      return;
    }
  if (*q->setup.workspace != '/'
      || (keep && (q->setup.wall_ms == 0 || (agent.options.dial == NULL && agent.options.hosts < 0)))
      || q->setup.log_bytes > AGENT_MAX_LOG)
    {
      agent_violation ("a SETUP that cannot be: a relative workspace, KEEP without a wall time or a way back, "
                       "or logs over 64 MiB");
      return;
    }
  error = harden (q->setup.flags);
  if (error != 0)
    {
      agent_send_error (0, PRISM_WIRE_ERROR_FAILED, -error, "the filter or the scoping domain cannot be loaded: %s",
                        strerror (-error));
      agent.over = true;
      return;
    }
  free (agent.settings.workspace);
  agent.settings.workspace = strdup (q->setup.workspace);
  copy_environment (q->setup.environment);
  if (agent.settings.workspace == NULL || agent.settings.environment == NULL)
    agent.over = true;
  agent.settings.flags = q->setup.flags;
  agent.settings.open_files = q->setup.open_files;
  agent.settings.data_bytes = q->setup.data_bytes;
  agent.settings.log_bytes = q->setup.log_bytes;
  agent.settings.commands = q->setup.commands;
  agent.wall =
      q->setup.wall_ms != 0 && q->setup.wall_ms < AGENT_NEVER - agent.now ? agent.now + q->setup.wall_ms : AGENT_NEVER;
  agent.settings.ready = true;
}

static bool
starts_id (uint8_t type)
{
  return type == PRISM_WIRE_EXEC || (type >= PRISM_WIRE_ATTACH && type <= PRISM_WIRE_LISTEN);
}

void
agent_dispatch (const struct agent_request *q, const uint8_t *payload, int *fds)
{
  uint8_t type = q->header.type;

  if (type == PRISM_WIRE_SETUP && !agent.settings.ready)
    {
      set_up (q);
      return;
    }
  if (type == PRISM_WIRE_PING)
    {
      agent_send (PRISM_WIRE_PONG, 0, 0, NULL, 0, -1);
      return;
    }
  if (type == PRISM_WIRE_SHUTDOWN)
    {
      agent.over = true;
      return;
    }
  if (type == PRISM_WIRE_RESUMED)
    {
      agent_commands_resumed (q->paused_ms);
      return;
    }
  if (type == PRISM_WIRE_SETUP || !agent.settings.ready)
    {
      agent_violation (type == PRISM_WIRE_SETUP ? "a second SETUP" : "a request before SETUP");
      return;
    }
  if (starts_id (type) && (agent_command_has (q->header.id) || agent_files_has (q->header.id)))
    {
      agent_violation ("a request with an id that is in use");
      return;
    }
  if (starts_id (type) && agent_commands_count () + agent_files_count () >= PRISM_WIRE_MAX_IDS)
    {
      agent_send_error (q->header.id, PRISM_WIRE_ERROR_LIMIT, 0, "%u requests are under way", PRISM_WIRE_MAX_IDS);
      return;
    }
  switch (type)
    {
    case PRISM_WIRE_EXEC:
      agent_exec (q, fds);
      break;
    case PRISM_WIRE_ATTACH:
      agent_attach (q);
      break;
    case PRISM_WIRE_RELEASE:
      agent_release (q);
      break;
    case PRISM_WIRE_PROCS:
      agent_processes (q);
      break;
    case PRISM_WIRE_LISTEN:
      agent_listen (q);
      break;
    default:
      if (starts_id (type))
        agent_file_request (q, fds);
      else if (!agent_command_request (q))
        agent_file_continue (q);
      break;
    }
}

/* --- start -------------------------------------------------------------------------- */

static void
say_hello (void)
{
  uint8_t payload[64];
  struct prism_wire_writer w = prism_wire_write_to (payload, sizeof payload);
  uint64_t features = PRISM_WIRE_FEATURE_PTY | PRISM_WIRE_FEATURE_LISTEN;

  if (agent_channel_passes_fds ())
    features |= PRISM_WIRE_FEATURE_FDS;
  if (agent.init)
    features |= PRISM_WIRE_FEATURE_LAST;
  prism_wire_put (&w, PRISM_WIRE_MAGIC, 4);
  prism_wire_put (&w, PRISM_WIRE_MAJOR, 2);
  prism_wire_put (&w, PRISM_WIRE_MINOR, 2);
  prism_wire_put (&w, features, 8);
  prism_wire_put_bytes (&w, agent.boot, sizeof agent.boot);
  prism_wire_put (&w, getuid (), 4);
  prism_wire_put (&w, getgid (), 4);
  prism_wire_put (&w, agent_kept_count (), 4);
  agent_send (PRISM_WIRE_HELLO, 0, 0, payload, (size_t)(w.at - w.start), -1);
}

void
agent_connected (int fd)
{
  agent.settings.ready = false;
  agent_channel_open (fd, agent.options.fds && !agent.options.framed);
  say_hello ();
}

/* Descriptors 0 to 2 exist, so that no other one gets their number: the shims
 * rely on it; 0 is what a command without stdin reads. */
static void
occupy_standard_descriptors (void)
{
  int null = open ("/dev/null", O_RDWR | O_CLOEXEC);

  if (null < 0)
    {
      /* No /dev: the read end of a pipe that nobody writes is as empty. */
      int ends[2];
      if (pipe2 (ends, O_CLOEXEC) != 0)
        _exit (71);
      null = ends[0];
      close (ends[1]);
    }
  for (int fd = 0; fd < 3; fd++)
    if (fd == 0 || fcntl (fd, F_GETFD) < 0)
      dup2 (null, fd);
  if (null > 2)
    close (null);
}

/* Nothing that the agent was started with reaches a command. */
static void
seal_descriptors (void)
{
  if (syscall (SYS_close_range, 3, ~0U, 1U << 2 /* CLOSE_RANGE_CLOEXEC */) == 0)
    return;
  for (int fd = 3; fd < 4096; fd++)
    fcntl (fd, F_SETFD, FD_CLOEXEC);
}

static void
take_signals (void)
{
  sigset_t all;

  /* What was ignored stays ignored over exec: the commands want defaults. */
  for (int number = 1; number < NSIG && !agent.options.default_signals; number++)
    signal (number, SIG_DFL);
  sigfillset (&all);
  sigprocmask (SIG_SETMASK, &all, NULL);
  sigemptyset (&all);
  sigaddset (&all, SIGCHLD);
  sigaddset (&all, SIGTERM);
  agent.signals = signalfd (-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
}

static bool
begin (const struct agent_options *options)
{
  int control = options->control;

  agent.options = *options;
  agent.pid = getpid ();
  agent.init = agent.pid == 1;
  agent.wall = AGENT_NEVER;
  agent.now = agent.began = agent_clock ();
  if (!options->hardened) /* else the launcher did, or a test's plan said not to */
    prctl (PR_SET_DUMPABLE, 0, 0, 0, 0);
  if (!agent.init)
    prctl (PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  umask (0);
  /* The control descriptor may be one of the three that are about to be taken. */
  if (control >= 0 && control < 3)
    control = fcntl (control, F_DUPFD_CLOEXEC, 3);
  occupy_standard_descriptors ();
  seal_descriptors ();
  take_signals ();
  agent.notify = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
  agent.scratch = mmap (NULL, AGENT_BULK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (agent.signals < 0 || agent.notify < 0 || agent.scratch == MAP_FAILED)
    return false;
  agent_random (agent.boot, sizeof agent.boot);
  if (control >= 0)
    agent_connected (control);
  return true;
}

/* --- the loop ------------------------------------------------------------------------ */

static void
notified (void *data, short events)
{
  uint64_t count;
  if (read (agent.notify, &count, sizeof count) > 0)
    agent_commands_step ();
}

static void
signalled (void *data, short events)
{
  struct signalfd_siginfo info;

  while (read (agent.signals, &info, sizeof info) == (ssize_t)sizeof info)
    /* From outside the pid namespace only: a command inside may not end the sandbox. */
    if (info.ssi_signo == SIGTERM && agent.init && info.ssi_code == SI_USER && info.ssi_pid == 0)
      agent.over = true;
  agent_reap ();
}

void
agent_disconnected (void)
{
  agent.settings.ready = false;
  agent_commands_disconnect ();
  agent_files_disconnect ();
  if ((agent.settings.flags & PRISM_WIRE_SETUP_KEEP) == 0)
    agent.over = true;
}

/* Before waiting: one shim ready, no memory held that was for something large. */
static void
rest (void)
{
  agent_shim_tend ();
  if (agent_commands_count () + agent_files_count () > 0)
    return;
  agent_channel_trim ();
  if (agent.scratch_used)
    madvise (agent.scratch, AGENT_BULK, MADV_DONTNEED);
  agent.scratch_used = false;
}

static void
turn (void)
{
  struct timespec wait = { 0, 0 };
  int n;

  watch_count = 0;
  wake_at = agent.wall;
  if (agent_sweep_pending ())
    {
      agent_reap ();
      agent_sweep ();
      agent_commands_step ();
    }
  agent_watch (agent.notify, POLLIN, notified, NULL);
  agent_watch (agent.signals, POLLIN, signalled, NULL);
  if (agent_channel_is_open ())
    agent_channel_watch ();
  else
    agent_dial_watch ();
  agent_hosts_watch ();
  agent_commands_watch ();
  agent_files_watch ();
  rest ();
  if (wake_at > agent.now && wake_at != AGENT_NEVER)
    wait = (struct timespec){ (time_t)((wake_at - agent.now) / 1000), (long)((wake_at - agent.now) % 1000) * 1000000 };

  n = ppoll (watched, watch_count, wake_at == AGENT_NEVER ? NULL : &wait, NULL);
  agent.now = agent_clock ();
  if (agent.now >= agent.wall)
    agent.over = true;
  if (agent.now - agent.began >= STARTING)
    agent_go_anywhere ();
  for (unsigned i = 0; n > 0 && i < watch_count && !agent.over; i++)
    if (watched[i].revents != 0)
      {
        n--;
        watchers[i].ready (watchers[i].data, watched[i].revents);
      }
}

int
agent_run (const struct agent_options *options)
{
  bool was_open;

  if (!begin (options))
    return 71;
  while (!agent.over)
    {
      was_open = agent_channel_is_open ();
      turn ();
      if (was_open && !agent_channel_is_open ())
        agent_disconnected ();
    }
  /* With pid 1 the kernel ends all of them, and there is nobody to tell, or all was told. */
  if (agent.init && (!agent_channel_is_open () || (agent.leaves && agent_channel_is_flushed ())))
    return 0;
  agent_end_all ();
  agent_channel_finish (LAST_WORDS);
  return 0;
}
