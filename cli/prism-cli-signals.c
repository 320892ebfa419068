/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* SIGINT, SIGTERM, SIGHUP and SIGQUIT end the sandbox first: one cancels what
 * runs, a second one does not wait for that (the sandbox's keeper cleans up).
 *
 * The main thread is inside a synchronous call of the library most of the time,
 * so signals are blocked everywhere and taken by a thread of their own, which
 * may do all that a signal handler must not. A write to a terminal or pipe that
 * nobody reads is the one place where the main thread hangs in a call of ours:
 * it is interrupted until it has noticed.
 */
#include "prism-cli-signals.h"

#include "prism-cli.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#define NUDGE             SIGURG
#define END               SIGWINCH /* of the set, and without a meaning where there is no terminal */
#define STACK_SIZE        (128 * 1024)
#define NUDGE_INTERVAL_NS (50 * 1000 * 1000)

static struct
{
  GCancellable *cancellable;
  pthread_t main_thread;
  sigset_t set;
  int blocking; /* atomic: the main thread is in a write of ours */
  int over;     /* atomic: what is left to be done for a signal is on_last_signal()'s */
  void (*restore) (void);
  PrismCliSignalFunc others;
} signals;

static void
ignore_nudge (int number)
{
}

static gboolean
ends (int number)
{
  return number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT;
}

/* Of those that end; two may be taken at once, by the thread and by on_last_signal(). */
static gboolean
is_first (int number)
{
  return g_atomic_int_compare_and_exchange (prism_cli_received (), 0, number);
}

static void *
signal_thread (void *data)
{
  const struct timespec interval = { .tv_nsec = NUDGE_INTERVAL_NS };

  for (;;)
    {
      int number = g_atomic_int_get (prism_cli_received ()) != 0 ? sigtimedwait (&signals.set, NULL, &interval)
                                                                 : sigwaitinfo (&signals.set, NULL);

      if (number < 0 && errno == EAGAIN && g_atomic_int_get (&signals.blocking))
        pthread_kill (signals.main_thread, NUDGE);
      if (number < 0)
        continue;
      if (number == END && g_atomic_int_get (&signals.over))
        return NULL;
      if (number == SIGTSTP)
        {
          if (signals.restore != NULL)
            signals.restore ();
          kill (getpid (), SIGSTOP);
          continue;
        }
      if (!ends (number))
        {
          if (signals.others != NULL)
            signals.others (number);
          continue;
        }
      if (!is_first (number))
        {
          if (signals.restore != NULL)
            signals.restore ();
          _exit (PRISM_EXIT_SIGNAL + number);
        }
      g_cancellable_cancel (signals.cancellable);
      if (g_atomic_int_get (&signals.blocking))
        pthread_kill (signals.main_thread, NUDGE);
    }

  return NULL;
}

/* Call before any other thread exists. What was ignored when prism was started
 * (nohup, a shell's background job) stays ignored. */
void
prism_cli_signals_block (GCancellable *cancellable)
{
  static const int ending[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
  struct sigaction action = { .sa_handler = ignore_nudge };
  struct sigaction old;

  signals.cancellable = g_object_ref (cancellable);
  signals.main_thread = pthread_self ();
  sigemptyset (&signals.set);
  for (guint i = 0; i < G_N_ELEMENTS (ending); i++)
    if (sigaction (ending[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
      sigaddset (&signals.set, ending[i]);
  if (sigaction (SIGTSTP, NULL, &old) == 0 && old.sa_handler != SIG_IGN)
    sigaddset (&signals.set, SIGTSTP);
  sigaddset (&signals.set, SIGCONT);
  sigaddset (&signals.set, SIGWINCH);
  sigaction (NUDGE, &action, NULL);
  action.sa_handler = SIG_IGN;
  sigaction (SIGPIPE, &action, NULL);

  pthread_sigmask (SIG_BLOCK, &signals.set, NULL);
}

/* The one that is there, where there is one. Else a bare thread with a small stack: one of
 * GLib's allocates as it starts, and with that takes a heap of its own, which a short run
 * would pay for. */
void
prism_cli_signals_start (void)
{
  pthread_attr_t attributes;
  pthread_t thread;

  if (prism_cli_use_thread (signal_thread))
    return;
  pthread_attr_init (&attributes);
  pthread_attr_setstacksize (&attributes, STACK_SIZE);
  pthread_attr_setdetachstate (&attributes, PTHREAD_CREATE_DETACHED);
  if (pthread_create (&thread, &attributes, signal_thread, NULL) != 0)
    g_error ("no thread could be started");
  pthread_attr_destroy (&attributes);
}

/* As the thread would have it, where there is nothing to cancel any more. */
static void
on_last_signal (int number)
{
  if (!is_first (number))
    _exit (PRISM_EXIT_SIGNAL + number);
}

/* The thread may not have come to wait yet: then it hears of this when it does. */
void
prism_cli_signals_end (void)
{
  static const int waking[] = { END, SIGCONT };
  struct sigaction action = { .sa_handler = on_last_signal, .sa_flags = SA_RESTART };
  sigset_t others = signals.set;

  if (signals.restore != NULL)
    return;
  for (int number = 1; number < NSIG; number++)
    if (ends (number) && sigismember (&signals.set, number) == 1)
      sigaction (number, &action, NULL);
  g_atomic_int_set (&signals.over, 1);
  kill (getpid (), END);
  for (guint i = 0; i < G_N_ELEMENTS (waking); i++)
    sigdelset (&others, waking[i]);
  pthread_sigmask (SIG_UNBLOCK, &others, NULL);
}

void
prism_cli_signals_on_terminal (void (*restore) (void), PrismCliSignalFunc others)
{
  signals.restore = restore;
  signals.others = others;
}

int
prism_cli_signals_received (void)
{
  return g_atomic_int_get (prism_cli_received ());
}

/* Around a system call that may block and that EINTR ends. */
void
prism_cli_signals_blocking (gboolean blocking)
{
  g_atomic_int_set (&signals.blocking, blocking);
}
