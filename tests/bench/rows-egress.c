/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The egress proxy beside squid, tinyproxy and a floor: each alone on the last CPU,
 * the load and the origin together on the first. A round takes all figures of one
 * kind at once; the row for the CPU reads what the row for the rate has noted.
 * house: allow sleep: polls for a program that does not say when it is ready. */
#include "bench.h"

#include <errno.h>
#include <gio/gunixinputstream.h>
#include <math.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define IDLE 256

/* A proxy that runs. */
typedef struct
{
  const char *name;
  GSubprocess *process;
  GArray *cpu; /* us an operation, of each round */
  guint cpu_read;
  int port;
  gboolean redials; /* it closes after each answer */
} Target;

typedef struct
{
  Bench *bench;
  char *load; /* the program */
  GSubprocess *origin;
  int http, bulk, echo;
  Target ours, many, squid, tiny, floor;
} Egress;

/* --- processes ------------------------------------------------------------------- */

static int
last_cpu (void)
{
  return (int)g_get_num_processors () - 1;
}

static void
pin (gpointer cpu)
{
  cpu_set_t set;

  CPU_ZERO (&set);
  CPU_SET (GPOINTER_TO_INT (cpu), &set);
  (void)sched_setaffinity (0, sizeof set, &set);
}

static GSubprocess *
spawn (const char *const *argv, int cpu)
{
  g_autoptr (GSubprocessLauncher) launcher = g_subprocess_launcher_new (
      G_SUBPROCESS_FLAGS_STDIN_PIPE | G_SUBPROCESS_FLAGS_STDOUT_PIPE | G_SUBPROCESS_FLAGS_STDERR_SILENCE);
  g_autoptr (GError) error = NULL;
  GSubprocess *process;

  if (cpu >= 0)
    g_subprocess_launcher_set_child_setup (launcher, pin, GINT_TO_POINTER (cpu), NULL);
  process = g_subprocess_launcher_spawnv (launcher, argv, &error);
  if (process == NULL)
    g_printerr ("bench: %s\n", error->message);
  return process;
}

static char *
read_line (GSubprocess *process)
{
  g_autoptr (GDataInputStream) lines = g_data_input_stream_new (g_subprocess_get_stdout_pipe (process));

  g_filter_input_stream_set_close_base_stream (G_FILTER_INPUT_STREAM (lines), FALSE);
  return g_data_input_stream_read_line (lines, NULL, NULL, NULL);
}

/* Whole processes, for what they used until now. */
static double
cpu_us (const Target *target)
{
  const char *pid = g_subprocess_get_identifier (target->process);
  struct timespec used;
  clockid_t clock;

  if (pid == NULL || clock_getcpuclockid ((pid_t)g_ascii_strtoll (pid, NULL, 10), &clock) != 0
      || clock_gettime (clock, &used) != 0)
    return NAN;
  return used.tv_sec * 1e6 + used.tv_nsec / 1e3;
}

static double
rss_kib (const Target *target)
{
  g_autofree char *path = g_strdup_printf ("/proc/%s/statm", g_subprocess_get_identifier (target->process));
  g_autofree char *text = NULL;
  char *resident;

  if (!g_file_get_contents (path, &text, NULL, NULL) || (resident = strchr (text, ' ')) == NULL)
    return NAN;
  return g_ascii_strtod (resident, NULL) * (double)sysconf (_SC_PAGESIZE) / 1024;
}

/* A port that was free a moment ago, for programs that cannot be asked for one. */
static int
find_port (void)
{
  struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl (INADDR_LOOPBACK) };
  socklen_t length = sizeof address;
  int fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

  if (fd < 0 || bind (fd, (struct sockaddr *)&address, length) != 0
      || getsockname (fd, (struct sockaddr *)&address, &length) != 0)
    return 0;
  close (fd);
  return ntohs (address.sin_port);
}

static gboolean
answers (int port)
{
  struct sockaddr_in address = { .sin_family = AF_INET,
                                 .sin_port = htons ((guint16)port),
                                 .sin_addr.s_addr = htonl (INADDR_LOOPBACK) };
  int fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  gboolean good = connect (fd, (struct sockaddr *)&address, sizeof address) == 0;

  close (fd);
  return good;
}

/* Who prints no port is there when it takes a connection. */
static gboolean
start_peer (Target *target, const char *name, const char *const *argv, int port)
{
  double end = bench_now_us () + 20e6;

  target->name = name;
  target->cpu = g_array_new (FALSE, FALSE, sizeof (double));
  target->process = spawn (argv, last_cpu ());
  target->port = port;
  while (target->process != NULL && bench_now_us () < end && g_subprocess_get_identifier (target->process) != NULL)
    if (answers (port))
      return TRUE;
    else
      g_usleep (20000);
  g_clear_object (&target->process);
  return FALSE;
}

static void
start_printing (Target *target, const char *name, const char *const *argv, int cpu)
{
  g_autofree char *line = NULL;

  target->name = name;
  target->cpu = g_array_new (FALSE, FALSE, sizeof (double));
  target->process = spawn (argv, cpu);
  line = target->process != NULL ? read_line (target->process) : NULL;
  target->port = line != NULL ? atoi (line) : 0;
  if (target->port == 0)
    g_clear_object (&target->process);
}

static void
stop (Target *target)
{
  if (target->process != NULL)
    {
      g_subprocess_force_exit (target->process);
      g_subprocess_wait (target->process, NULL, NULL);
    }
  g_clear_object (&target->process);
  g_clear_pointer (&target->cpu, g_array_unref);
}

/* --- the others ------------------------------------------------------------------ */

static char *
write_file (Egress *self, const char *name, const char *text)
{
  char *path = g_build_filename (self->bench->plain, name, NULL);

  (void)g_file_set_contents (path, text, -1, NULL);
  return path;
}

/* One worker, no cache, no log, an allow-list of one address. */
static void
start_squid (Egress *self)
{
  int port = find_port ();
  g_autofree char *text = g_strdup_printf ("http_port 127.0.0.1:%d\n"
                                           "acl here dst 127.0.0.1/32\n"
                                           "http_access allow here\n"
                                           "http_access deny all\n"
                                           "cache deny all\n"
                                           "access_log none\n"
                                           "cache_log /dev/null\n"
                                           "cache_store_log none\n"
                                           "pid_filename none\n"
                                           "netdb_filename none\n"
                                           "pinger_enable off\n"
                                           "coredump_dir none\n"
                                           "shutdown_lifetime 0 seconds\n",
                                           port);
  g_autofree char *path = write_file (self, "squid.conf", text);
  g_autofree char *program = g_find_program_in_path ("squid");
  const char *const argv[] = { program != NULL ? program : "/usr/sbin/squid", "-N", "-f", path, NULL };

  start_peer (&self->squid, "squid", argv, port);
}

static void
start_tinyproxy (Egress *self)
{
  int port = find_port ();
  g_autofree char *filter = write_file (self, "tinyproxy.filter", "^127\\.0\\.0\\.1$\n");
  g_autofree char *text = g_strdup_printf ("Port %d\n"
                                           "Listen 127.0.0.1\n"
                                           "Timeout 600\n"
                                           "MaxClients 512\n"
                                           "Allow 127.0.0.1\n"
                                           "Filter \"%s\"\n"
                                           "FilterExtended On\n"
                                           "FilterDefaultDeny Yes\n"
                                           "DisableViaHeader Yes\n"
                                           "LogLevel Critical\n"
                                           "LogFile \"/dev/null\"\n",
                                           port, filter);
  g_autofree char *path = write_file (self, "tinyproxy.conf", text);
  const char *const argv[] = { "tinyproxy", "-d", "-c", path, NULL };

  self->tiny.redials = TRUE;
  start_peer (&self->tiny, "tinyproxy", argv, port);
}

static void
start_ours (Egress *self, Target *target, const char *name, const char *rules, int cpu)
{
  g_autofree char *folder = g_path_get_dirname (self->load);
  g_autofree char *serve = g_build_filename (folder, "egress-serve", NULL);
  const char *const argv[] = { serve, rules, NULL };

  start_printing (target, name, argv, cpu);
}

static gboolean
start_origin (Egress *self)
{
  const char *const argv[] = { self->load, "origin", NULL };
  g_autofree char *line = NULL;

  self->origin = spawn (argv, 0);
  line = self->origin != NULL ? read_line (self->origin) : NULL;
  return line != NULL && sscanf (line, "%d %d %d", &self->http, &self->bulk, &self->echo) == 3;
}

/* --- rounds ---------------------------------------------------------------------- */

/* What the load prints: up to three numbers. */
static gboolean
run_load (Egress *self, double numbers[3], const char *what, int proxy, int port, guint a, guint b)
{
  g_autofree char *texts = g_strdup_printf ("%d %d %u %u", proxy, port, a, b);
  g_auto (GStrv) split = g_strsplit (texts, " ", -1);
  const char *const argv[] = { self->load, what, split[0], split[1], split[2], split[3], NULL };
  g_autoptr (GSubprocess) process = spawn (argv, 0);
  g_autofree char *line = process != NULL ? read_line (process) : NULL;

  return line != NULL && g_subprocess_wait (process, NULL, NULL) && g_subprocess_get_successful (process)
         && sscanf (line, "%lf %lf %lf", &numbers[0], &numbers[1], &numbers[2]) >= 1;
}

typedef struct
{
  Egress *egress;
  Target *target;
  const char *what;
  int port; /* of the origin */
  guint at_once, count;
  guint which;     /* of the numbers */
  double per;      /* what the CPU time is divided by; 0: the count */
  double subtract; /* without any proxy */
} Round;

static double
measure (gpointer data)
{
  Round *round = data;
  Target *target = round->target;
  const char *what = target->redials && g_str_equal (round->what, "get") ? "redial" : round->what;
  double numbers[3] = { 0 }, before = cpu_us (target), used;

  if (!run_load (round->egress, numbers, what, target->port, round->port, round->at_once, round->count))
    return -1;
  used = (cpu_us (target) - before) / (round->per > 0 ? round->per : round->count);
  g_array_append_val (target->cpu, used);
  return MAX (numbers[round->which] - round->subtract, 0.01);
}

/* What measure() noted, in the same order. */
static double
recall (gpointer data)
{
  Target *target = ((Round *)data)->target;

  return target->cpu_read < target->cpu->len ? g_array_index (target->cpu, double, target->cpu_read++) : -1;
}

/* A rate, and the CPU that it took. */
static void
compare (Egress *self,
         const Round *like,
         Target *ours,
         Target *peer,
         const char *rate,
         double at_least,
         const char *cpu,
         double at_most,
         guint rounds)
{
  Round a = *like, b = *like;

  a.target = ours;
  b.target = peer;
  if (ours->process == NULL || peer->process == NULL)
    {
      bench_missing (rate, ours->process == NULL ? ours->name : peer->name);
      return;
    }
  g_array_set_size (ours->cpu, 0);
  g_array_set_size (peer->cpu, 0);
  ours->cpu_read = peer->cpu_read = 0;
  bench_row (self->bench, &(BenchRow){ rate, ours->name, peer->name, g_str_equal (like->what, "bulk") ? "MB/s" : "/s",
                                       measure, measure, &a, &b, rounds, 1, BENCH_AT_LEAST, at_least });
  if (cpu != NULL && ours->cpu->len > 0)
    bench_row (self->bench, &(BenchRow){ cpu, ours->name, peer->name, like->per > 0 ? "us/GiB" : "us/op", recall,
                                         recall, &a, &b, rounds, 1, BENCH_AT_MOST, at_most });
}

static void
rates (Egress *self)
{
  const Round get = { self, NULL, "get", self->http, 32, 20000, 0, 0, 0 };
  const Round few = { self, NULL, "get", self->http, 32, 12000, 0, 0, 0 };
  const Round tunnels = { self, NULL, "connect", self->echo, 32, 4000, 0, 0, 0 };
  const Round bulk = { self, NULL, "bulk", self->bulk, 512, 0, 0, 0.5, 0 };

  compare (self, &get, &self->ours, &self->squid, "egress: GET of 1 KiB on 32 connections, against squid", 3.8,
           "egress: CPU of a GET, against squid", 0.25, 9);
  compare (self, &few, &self->ours, &self->tiny, "egress: GET of 1 KiB, 32 at once, against tinyproxy", 11, NULL, 0, 7);
  /* What the kernel allows any proxy here, beside the bound above. */
  compare (self, &few, &self->floor, &self->tiny, "egress: GET of 1 KiB, 32 at once: the floor, against tinyproxy", 0,
           NULL, 0, 7);
  compare (self, &tunnels, &self->ours, &self->squid, "egress: CONNECT, 32 at once, against squid", 1.9,
           "egress: CPU of a CONNECT, against squid", 0, 9);
  compare (self, &tunnels, &self->ours, &self->tiny, "egress: CONNECT, 32 at once, against tinyproxy", 1.3, NULL, 0, 9);
  compare (self, &bulk, &self->ours, &self->squid, "egress: 512 MiB through a tunnel, against squid", 1.6,
           "egress: CPU of a GiB through a tunnel, against squid", 0.34, 9);
}

static void
rules (Egress *self)
{
  const Round get = { self, NULL, "get", self->http, 32, 20000, 0, 0, 0 };

  start_ours (self, &self->many, "egress, 10,000 rules", "10000", last_cpu ());
  compare (self, &get, &self->many, &self->ours, "egress: GET with 10,000 rules, against one", 0,
           "egress: CPU of a GET with 10,000 rules, against one", 1.05, 21);
  stop (&self->many);
}

static void
start_floor (const Egress *self, Target *target, int cpu)
{
  const char *const argv[] = { self->load, "floor", NULL };

  start_printing (target, "floor", argv, cpu);
}

/* Of the proxies alone: a GET without one is taken off. All on one CPU. */
static void
latency (Egress *self)
{
  Target ours = { NULL }, floor = { NULL };
  double direct[3] = { 0 };
  guint count = bench_rounds (self->bench, 5000);

  start_ours (self, &ours, "egress", "0", 0);
  start_floor (self, &floor, 0);
  if (ours.process == NULL || floor.process == NULL || !run_load (self, direct, "get", 0, self->http, 1, count))
    bench_missing ("egress: added latency of a GET", "a proxy or the load did not start");
  else
    for (guint which = 1; which <= 2; which++)
      {
        Round a = { self, &ours, "get", self->http, 1, count, which, 0, direct[which] }, b = a;

        b.target = &floor;
        bench_row (self->bench,
                   &(BenchRow){ which == 1 ? "egress: added latency of a GET on one CPU, p50"
                                           : "egress: added latency of a GET on one CPU, p99",
                                "egress", "floor", "us", measure, measure, &a, &b, 15, 1, BENCH_AT_MOST, 1.3 });
      }
  stop (&ours);
  stop (&floor);
}

static void
whole_transfers (Egress *self)
{
  double whole[3] = { 0 };

  if (!bench_wants ("egress: whole transfers of 100"))
    return;
  if (run_load (self, whole, "whole", self->ours.port, self->bulk, 4096, 100))
    bench_figure ("egress: whole transfers of 100", whole[0], "of 100", BENCH_AT_LEAST, 100);
  else
    bench_missing ("egress: whole transfers of 100", "the load failed");
}

static void
memory (Egress *self)
{
  g_autofree char *port = NULL, *echo = g_strdup_printf ("%d", self->echo);
  Target fresh = { NULL };
  double before;

  if (!bench_wants ("egress: memory with 256 idle tunnels"))
    return;
  start_ours (self, &fresh, "egress", "0", -1);
  port = g_strdup_printf ("%d", fresh.port);
  const char *const argv[] = { self->load, "idle", port, echo, G_STRINGIFY (IDLE), NULL };
  before = fresh.process != NULL ? rss_kib (&fresh) : NAN;
  g_autoptr (GSubprocess) idle = fresh.process != NULL ? spawn (argv, -1) : NULL;
  g_autofree char *line = idle != NULL ? read_line (idle) : NULL;
  if (g_strcmp0 (line, "ready") != 0)
    bench_missing ("egress: memory with 256 idle tunnels", "they could not be opened");
  else
    {
      bench_figure ("egress: memory with 256 idle tunnels", rss_kib (&fresh) / 1024, "MiB", BENCH_AT_MOST, 8);
      bench_figure ("egress: memory with 256 idle tunnels, each", (rss_kib (&fresh) - before) / IDLE, "KiB",
                    BENCH_AT_MOST, 2);
    }
  if (idle != NULL)
    g_subprocess_force_exit (idle);
  stop (&fresh);
}

/* Starting all of them only to say nothing takes seconds. */
static gboolean
is_wanted (void)
{
  static const char *const names[] = { "egress: GET of 1 KiB on 32 connections, against squid",
                                       "egress: GET of 1 KiB, 32 at once, against tinyproxy",
                                       "egress: GET of 1 KiB, 32 at once: the floor, against tinyproxy",
                                       "egress: CPU of a GET, against squid",
                                       "egress: CPU of a CONNECT, against squid",
                                       "egress: CONNECT, 32 at once, against squid",
                                       "egress: CONNECT, 32 at once, against tinyproxy",
                                       "egress: 512 MiB through a tunnel, against squid",
                                       "egress: CPU of a GiB through a tunnel, against squid",
                                       "egress: CPU of a GET with 10,000 rules, against one",
                                       "egress: whole transfers of 100",
                                       "egress: added latency of a GET on one CPU, p50",
                                       "egress: memory with 256 idle tunnels, each" };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    if (bench_wants (names[i]))
      return TRUE;
  return FALSE;
}

void
bench_egress_rows (Bench *bench)
{
  g_autofree char *own = g_file_read_link ("/proc/self/exe", NULL);
  g_autofree char *folder = g_path_get_dirname (own);
  g_autofree char *load = g_build_filename (folder, "egress-load", NULL);
  Egress self = { .bench = bench, .load = load };

  if (!is_wanted ())
    return;
  if (!start_origin (&self))
    bench_missing ("egress", "the origin did not start");
  else
    {
      start_ours (&self, &self.ours, "egress", "0", last_cpu ());
      start_squid (&self);
      start_tinyproxy (&self);
      start_floor (&self, &self.floor, last_cpu ());
      rates (&self);
      stop (&self.squid);
      stop (&self.tiny);
      stop (&self.floor);
      rules (&self);
      whole_transfers (&self);
      stop (&self.ours);
      latency (&self);
      memory (&self);
    }
  if (self.origin != NULL)
    g_subprocess_force_exit (self.origin);
  g_clear_object (&self.origin);
}
