/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A tool's call by an MCP client, against the same command through the library. */
#include "bench.h"

#include <string.h>

#define ROW "mcp: tools/call shell true, the round trip"

typedef struct
{
  GSubprocess *process;
  GOutputStream *requests;
  GDataInputStream *answers;
  guint last;
} Server;

/* The next line, if it is a result. */
static gboolean
answered (Server *self)
{
  g_autofree char *line = g_data_input_stream_read_line (self->answers, NULL, NULL, NULL);
  return line != NULL && strstr (line, "\"result\":") != NULL && strstr (line, "\"isError\":true") == NULL;
}

static gboolean
say (Server *self, const char *message)
{
  return g_output_stream_write_all (self->requests, message, strlen (message), NULL, NULL, NULL);
}

static double
call_tool (gpointer data)
{
  Server *self = data;
  double start = bench_now_us ();
  g_autofree char *message =
      g_strdup_printf ("{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"tools/call\",\"params\":{\"name\":\"shell\","
                       "\"arguments\":{\"command\":\"true\"}}}\n",
                       ++self->last);
  return say (self, message) && answered (self) ? bench_now_us () - start : -1;
}

static double
exec_shell (gpointer data)
{
  const char *const argv[] = { "/bin/sh", "-c", "true", NULL };
  double start = bench_now_us ();
  return bench_exec (data, argv) ? bench_now_us () - start : -1;
}

static gboolean
start (Server *self, Bench *bench, GError **error)
{
  self->process = g_subprocess_new (G_SUBPROCESS_FLAGS_STDIN_PIPE | G_SUBPROCESS_FLAGS_STDOUT_PIPE, error, bench->prism,
                                    "mcp", "-q", "-w", bench->workspace, "--approve", "always", NULL);
  if (self->process == NULL)
    return FALSE;
  self->requests = g_subprocess_get_stdin_pipe (self->process);
  self->answers = g_data_input_stream_new (g_subprocess_get_stdout_pipe (self->process));
  if (say (self,
           "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\","
           "\"capabilities\":{},\"clientInfo\":{\"name\":\"bench\",\"version\":\"1\"}}}\n")
      && answered (self) && say (self, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n"))
    return TRUE;
  g_set_error_literal (error, G_IO_ERROR, G_IO_ERROR_FAILED, "prism mcp does not answer");
  return FALSE;
}

void
bench_mcp_rows (Bench *bench)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismSandbox) sandbox = bench_wants (ROW) ? bench_create (bench, &error) : NULL;
  Server server = { NULL };
  if (!bench_wants (ROW))
    return;
  if (sandbox == NULL || !start (&server, bench, &error))
    bench_missing (ROW, error->message);
  else
    bench_row (bench, &(BenchRow){ ROW, "prism mcp", "prism exec, sync: sh -c true", "us", call_tool, exec_shell,
                                   &server, sandbox, 1000, 30, BENCH_AT_MOST, 2.0 });
  if (server.process != NULL)
    {
      g_output_stream_close (server.requests, NULL, NULL);
      g_subprocess_wait (server.process, NULL, NULL);
    }
  g_clear_object (&server.answers);
  g_clear_object (&server.process);
  if (sandbox != NULL)
    prism_sandbox_close (sandbox, NULL, NULL);
}
