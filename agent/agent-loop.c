/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "agent.h"

int
agent_run (const struct agent_options *options)
{
  return options->control >= 0 ? 0 : 1;
}
