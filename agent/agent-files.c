/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "agent-private.h"
void
agent_file_request (const struct agent_request *request, int *fds)
{
  agent_send_error (request->header.id, PRISM_WIRE_ERROR_FAILED, 0, "not yet");
}
bool
agent_file_continue (const struct agent_request *request)
{
  return false;
}
void
agent_files_watch (void)
{
}
void
agent_files_disconnect (void)
{
}
bool
agent_files_has (uint32_t id)
{
  return false;
}
unsigned
agent_files_count (void)
{
  return 0;
}
bool
agent_worker_is (pid_t pid)
{
  return false;
}
void
agent_worker_reaped (pid_t pid, int status)
{
}
void
agent_workers_kill (void)
{
}
