/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The launcher's reader of plans: what it accepts can be walked to its end, step by
 * step, with every string and number in the bounds that the rest relies on. */
#include "launch-private.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

static void
check (bool holds)
{
  if (!holds)
    abort ();
}

static void
check_target (const char *target)
{
  check (strlen (target) <= PRISM_WIRE_MAX_PATH && target[0] != '/');
  check (strstr (target, "//") == NULL);
  check (strcmp (target, "..") != 0 && strncmp (target, "../", 3) != 0 && strstr (target, "/../") == NULL);
}

/* As its own early plan: whole it goes on from itself, and a rest from any with the same head
 * and nothing to take from a root that has been left. */
static void
check_going_on (const struct launch_plan *plan)
{
  struct launch_plan early = *plan, rest = *plan;

  early.rest = false;
  rest.rest = true;
  check (launch_plan_goes_on (&early, &early));
  if (!launch_plan_enters_early (&early))
    check (launch_plan_goes_on (&early, &rest));
  else
    check ((plan->flags & PRISM_LAUNCH_PRIVILEGED) != 0 && !launch_plan_goes_on (&early, &rest));
  rest.uid++;
  check (!launch_plan_goes_on (&early, &rest));
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  struct launch_plan plan;
  struct launch_step step;
  struct prism_wire_reader at;
  uint32_t shown = 0;

  if (!launch_plan_parse (&plan, data, size))
    return 0;
  check (plan.start[0] == '/' && strlen (plan.hostname) <= 64);
  check (plan.n_groups <= PRISM_LAUNCH_MAX_GROUPS && plan.n_steps <= PRISM_LAUNCH_MAX_STEPS);
  for (uint32_t i = 0; i < plan.n_groups; i++)
    {
      check (plan.groups[i].folder[0] == '/' && strchr (plan.groups[i].entry, '/') == NULL);
      check (plan.groups[i].n_settings <= PRISM_LAUNCH_MAX_SETTINGS);
      for (uint32_t k = 0; k < plan.groups[i].n_settings; k++)
        check (strchr (plan.groups[i].settings[k].file, '/') == NULL);
    }
  at = plan.steps;
  for (uint32_t i = 0; i < plan.n_steps; i++)
    {
      check (launch_plan_next (&at, &step));
      check_target (step.target);
      shown += (step.flags & PRISM_LAUNCH_BY_KEEPER) != 0;
    }
  check (prism_wire_done (&at) && shown == plan.n_shown && shown <= PRISM_LAUNCH_MAX_SHOWN);
  check_going_on (&plan);
  return 0;
}
