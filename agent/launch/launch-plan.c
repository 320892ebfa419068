/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads a launch plan. Pure, bounded, and the only place that knows the layout on
 * this side; fuzzed. What it lets through can be carried out without a further
 * check of its form. */
#include "launch-private.h"

static bool
is_absolute (const char *path)
{
  return path[0] == '/';
}

/* "" or components that are neither empty nor "." nor "..". */
static bool
is_target (const char *path)
{
  while (*path != 0)
    {
      size_t n = strcspn (path, "/");
      if (n == 0 || n > 255 || (n == 1 && path[0] == '.') || (n == 2 && path[0] == '.' && path[1] == '.'))
        return false;
      path += n;
      if (*path == '/' && *++path == 0)
        return false;
    }
  return true;
}

static bool
is_leaf (const char *name)
{
  return *name != 0 && strchr (name, '/') == NULL && strcmp (name, ".") != 0 && strcmp (name, "..") != 0;
}

static bool
step_is_sound (const struct launch_step *s)
{
  bool by_keeper = s->flags & PRISM_LAUNCH_BY_KEEPER;

  if ((s->flags & ~PRISM_LAUNCH_STEP_FLAGS) != 0 || s->mode > 07777 || !is_target (s->target))
    return false;
  if (by_keeper && s->kind != PRISM_LAUNCH_BIND)
    return false;
  if ((s->flags & PRISM_LAUNCH_IDMAP) && !by_keeper)
    return false;
  switch (s->kind)
    {
    case PRISM_LAUNCH_FOLDER:
    case PRISM_LAUNCH_FILE:
    case PRISM_LAUNCH_PROC:
    case PRISM_LAUNCH_PTS:
      return s->target[0] != 0;
    case PRISM_LAUNCH_LINK:
      return s->target[0] != 0 && s->text[0] != 0 && strlen (s->text) <= PRISM_WIRE_MAX_PATH;
    case PRISM_LAUNCH_TMPFS:
    case PRISM_LAUNCH_SEAL:
      return true;
    case PRISM_LAUNCH_SELF:
    case PRISM_LAUNCH_HIDE:
      return s->target[0] != 0 && strlen (s->text) <= PRISM_WIRE_MAX_PATH;
    case PRISM_LAUNCH_BIND:
      if (s->target[0] == 0 || !is_absolute (s->text) || strlen (s->text) > PRISM_WIRE_MAX_PATH)
        return false;
      return (s->flags & PRISM_LAUNCH_INSIDE) == 0
             || (!by_keeper && (s->flags & PRISM_LAUNCH_COPY) == 0 && is_target (s->text + 1));
    case PRISM_LAUNCH_DEVICE:
      return s->target[0] != 0 && is_absolute (s->text) && strlen (s->text) <= PRISM_WIRE_MAX_PATH;
    default:
      return false;
    }
}

bool
launch_plan_next (struct prism_wire_reader *at, struct launch_step *step)
{
  step->kind = prism_wire_u8 (at);
  step->flags = prism_wire_u32 (at);
  step->mode = prism_wire_u32 (at);
  step->bytes = prism_wire_u64 (at);
  step->inodes = prism_wire_u64 (at);
  step->target = prism_wire_str (at, PRISM_WIRE_MAX_PATH);
  step->text = prism_wire_str (at, PRISM_LAUNCH_MAX_TEXT);
  return !at->bad;
}

static bool
parse_group (struct launch_group *group, struct prism_wire_reader *r)
{
  group->folder = prism_wire_str (r, PRISM_WIRE_MAX_PATH);
  group->entry = prism_wire_str (r, 255);
  group->n_settings = prism_wire_u32 (r);
  if (r->bad || group->n_settings > PRISM_LAUNCH_MAX_SETTINGS || !is_absolute (group->folder)
      || !is_leaf (group->entry))
    return false;
  for (uint32_t i = 0; i < group->n_settings; i++)
    {
      struct launch_setting *setting = &group->settings[i];
      setting->file = prism_wire_str (r, 255);
      setting->value = prism_wire_str (r, 255);
      setting->flags = prism_wire_u32 (r);
      if (r->bad || !is_leaf (setting->file) || (setting->flags & ~PRISM_LAUNCH_SETTING_OPTIONAL) != 0)
        return false;
    }
  return true;
}

static bool
flags_are_sound (uint32_t flags)
{
#ifndef PRISM_TEST_SWITCHES
  if ((flags & PRISM_LAUNCH_OFF_MASK) != 0)
    return false;
#endif
  return (flags & ~(PRISM_LAUNCH_FLAGS | PRISM_LAUNCH_OFF_MASK)) == 0;
}

bool
launch_plan_parse (struct launch_plan *plan, const void *bytes, size_t size)
{
  struct prism_wire_reader r = prism_wire_read_from (bytes, size), at;
  struct launch_step step;
  uint32_t magic = prism_wire_u32 (&r);

  *plan = (struct launch_plan){ .bytes = bytes, .size = size, .rest = magic == PRISM_LAUNCH_REST };
  if (size > PRISM_LAUNCH_MAX_PLAN || (magic != PRISM_LAUNCH_MAGIC && magic != PRISM_LAUNCH_REST)
      || prism_wire_u16 (&r) != PRISM_LAUNCH_MAJOR || prism_wire_u16 (&r) > PRISM_LAUNCH_MINOR)
    return false;

  plan->flags = prism_wire_u32 (&r);
  plan->uid = prism_wire_u32 (&r);
  plan->gid = prism_wire_u32 (&r);
  plan->processes = prism_wire_u64 (&r);
  plan->data_bytes = prism_wire_u64 (&r);
  plan->hostname = prism_wire_str (&r, 64);
  plan->start = prism_wire_str (&r, PRISM_WIRE_MAX_PATH);
  plan->n_groups = prism_wire_u32 (&r);
  if (r.bad || !flags_are_sound (plan->flags) || !is_absolute (plan->start) || plan->n_groups > PRISM_LAUNCH_MAX_GROUPS)
    return false;
  for (uint32_t i = 0; i < plan->n_groups; i++)
    if (!parse_group (&plan->groups[i], &r))
      return false;

  plan->n_steps = prism_wire_u32 (&r);
  if (r.bad || plan->n_steps > PRISM_LAUNCH_MAX_STEPS)
    return false;
  plan->steps = r;
  at = r;
  for (uint32_t i = 0; i < plan->n_steps; i++)
    {
      if (!launch_plan_next (&at, &step) || !step_is_sound (&step))
        return false;
      if ((step.flags & PRISM_LAUNCH_BY_KEEPER) != 0 && ++plan->n_shown > PRISM_LAUNCH_MAX_SHOWN)
        return false;
    }
  return prism_wire_done (&at);
}

/* The kernel lets a /proc be made only where one can be seen. */
static bool
needs_old_root (const struct launch_step *s)
{
  return s->kind == PRISM_LAUNCH_DEVICE || s->kind == PRISM_LAUNCH_PROC
         || (s->kind == PRISM_LAUNCH_BIND && (s->flags & (PRISM_LAUNCH_BY_KEEPER | PRISM_LAUNCH_INSIDE)) == 0);
}

bool
launch_plan_enters_early (const struct launch_plan *early)
{
  struct prism_wire_reader at = early->steps;
  struct launch_step step;
  bool has_proc = false;

  for (uint32_t i = 0; i < early->n_steps && launch_plan_next (&at, &step); i++)
    has_proc = has_proc || step.kind == PRISM_LAUNCH_PROC;
  /* An ordinary user's inner half itself takes from the old root what is to be shown. */
  return has_proc && (early->flags & PRISM_LAUNCH_PRIVILEGED) != 0;
}

static bool
can_go_on_inside (const struct launch_plan *plan, size_t from)
{
  struct prism_wire_reader at = plan->steps;
  struct launch_step step;

  at.at += from;
  while (at.at < at.end && launch_plan_next (&at, &step))
    if (needs_old_root (&step))
      return false;
  return true;
}

static bool
begins_with (const struct launch_plan *plan, const struct launch_plan *early, size_t size)
{
  return early->n_steps <= plan->n_steps && size <= (size_t)(plan->steps.end - plan->steps.at)
         && memcmp (early->steps.at, plan->steps.at, size) == 0;
}

bool
launch_plan_goes_on (const struct launch_plan *early, const struct launch_plan *plan)
{
  size_t size = plan->rest ? 0 : (size_t)(early->steps.end - early->steps.at);

  return early->flags == plan->flags && early->uid == plan->uid && early->gid == plan->gid
         && strcmp (early->hostname, plan->hostname) == 0 && (plan->rest || begins_with (plan, early, size))
         && (!launch_plan_enters_early (early) || can_go_on_inside (plan, size));
}
