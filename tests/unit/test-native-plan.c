/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The translator's tables: what is asked for, and the steps that come of it, read
 * back with the launcher's own reader. */
#include "prism-native-early.h"
#include "prism-native-limits.h"
#include "prism-native-plan.h"

#include <string.h>

#include "launch-private.h"

static const PrismNativePiece pieces[] = {
  { PRISM_NATIVE_PIECE_SHOWN, "/usr", NULL },
  { PRISM_NATIVE_PIECE_LINK, "/bin", "usr/bin" },
};
static const PrismNativeHost user = { FALSE, 1000, 1000, pieces, G_N_ELEMENTS (pieces) };
static const PrismNativeHost root = { TRUE, 10001, 10001, pieces, G_N_ELEMENTS (pieces) };

static PrismNativeAsked
asked_by (const PrismNativeHost *host)
{
  return (PrismNativeAsked){
    .host = host,
    .hostname = "prism",
    .workspace = { "/home/u/ws", PRISM_NATIVE_KIND_FOLDER },
    .sandbox_path = "/workspace",
    .tmp_bytes = 1 << 20,
    .workspace_bytes = 2 << 20,
  };
}

static const char *const kinds[] = { "?",    "folder", "file", "link",   "tmpfs", "bind",
                                     "self", "proc",   "pts",  "device", "hide",  "seal" };

/* The steps but for those that every sandbox has, one a line: KIND[+flags] /target [text]. */
static char *
dump (const PrismNativeAsked *asked)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GBytes) bytes = prism_native_plan_write (asked, PRISM_NATIVE_PLAN_WHOLE, &error);
  GString *text = g_string_new (NULL);
  struct launch_plan plan;
  struct launch_step step;
  struct prism_wire_reader at;
  gboolean own = asked->isolation == PRISM_NATIVE_ISOLATION_NETWORK_ONLY; /* to be shown */

  g_assert_no_error (error);
  g_assert_true (launch_plan_parse (&plan, g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes)));
  at = plan.steps;
  for (guint i = 0; i < plan.n_steps; i++)
    {
      g_assert_true (launch_plan_next (&at, &step));
      if (own)
        g_string_append_printf (
            text, "%s%s%s%s%s%s%s /%s%s%s\n", kinds[step.kind], step.flags & PRISM_LAUNCH_RO ? "+ro" : "",
            step.flags & PRISM_LAUNCH_BY_KEEPER ? "+keeper" : "", step.flags & PRISM_LAUNCH_COPY ? "+copy" : "",
            step.flags & PRISM_LAUNCH_INSIDE ? "+inside" : "", step.flags & PRISM_LAUNCH_OPTIONAL ? "+optional" : "",
            step.flags & PRISM_LAUNCH_PARENTS ? "+parents" : "", step.target, step.text[0] != 0 ? " " : "", step.text);
      /* The last of what all have. */
      if (step.kind == PRISM_LAUNCH_BIND && strcmp (step.target, "tmp") == 0)
        own = TRUE;
    }
  return g_string_free (text, FALSE);
}

static void
assert_steps (const PrismNativeAsked *asked, const char *expected)
{
  g_autofree char *steps = dump (asked);
  g_assert_cmpstr (steps, ==, expected);
}

static void
test_workspace (void)
{
  PrismNativeAsked asked = asked_by (&user);

  assert_steps (&asked, "link+optional /home/u/ws /workspace\n"
                        "folder+parents /workspace\n"
                        "seal /\n"
                        "bind+parents /workspace /home/u/ws\n");
  asked.workspace_mode = PRISM_WORKSPACE_MODE_READONLY;
  assert_steps (&asked, "link+optional /home/u/ws /workspace\n"
                        "folder+parents /workspace\n"
                        "seal /\n"
                        "bind+ro+parents /workspace /home/u/ws\n");
  asked = asked_by (&root);
  assert_steps (&asked, "link+optional /home/u/ws /workspace\n"
                        "folder+parents /workspace\n"
                        "seal /\n"
                        "bind+keeper+parents /workspace /home/u/ws\n");
  asked.workspace_mode = PRISM_WORKSPACE_MODE_COPY;
  assert_steps (&asked, "link+optional /home/u/ws /workspace\n"
                        "folder+parents /workspace\n"
                        "seal /\n"
                        "bind+keeper+copy+parents /workspace /home/u/ws\n");
  asked.workspace.path = NULL;
  assert_steps (&asked, "folder+parents /workspace\nseal /\ntmpfs+parents /workspace\n");
}

static void
test_rules (void)
{
  static const PrismNativeShown shown[] = {
    { { "/home/u", PRISM_NATIVE_KIND_FOLDER }, "/home/u", FALSE },
    { { "/home/u/ws/vendor/x", PRISM_NATIVE_KIND_FOLDER }, "/home/u/ws/vendor/x", FALSE },
  };
  static const PrismNativePath hide[] = { { "/home/u/.ssh", PRISM_NATIVE_KIND_FOLDER },
                                          { "/home/u/ws/.env", PRISM_NATIVE_KIND_FILE },
                                          { "/elsewhere", PRISM_NATIVE_KIND_FOLDER } };
  static const PrismNativePath protect[] = { { "/home/u/ws/.git/hooks", PRISM_NATIVE_KIND_FOLDER } };
  PrismNativeAsked asked = asked_by (&user);

  asked.mounts = shown;
  asked.n_mounts = 2;
  asked.hide = hide;
  asked.n_hide = 3;
  asked.protect = protect;
  asked.n_protect = 1;
  /* The workspace is seen through the folder above it as well: each rule holds there
   * too, and its own place there is covered by the workspace itself. */
  assert_steps (&asked, "folder+parents /home/u\n"
                        "folder+parents /workspace\n"
                        "seal /\n"
                        "bind+ro+parents /home/u /home/u\n"
                        "hide+optional /home/u/.ssh /home/u/.ssh\n"
                        "hide+optional /home/u/ws/.env /home/u/ws/.env\n"
                        "self+ro /home/u/ws/.git/hooks /home/u/ws/.git/hooks\n"
                        "bind+parents /workspace /home/u/ws\n"
                        "hide+optional /workspace/.env /home/u/ws/.env\n"
                        "self /workspace/.git /home/u/ws/.git/hooks\n"
                        "self+ro /workspace/.git/hooks /home/u/ws/.git/hooks\n"
                        "self /workspace/vendor\n"
                        "bind+ro+parents /workspace/vendor/x /home/u/ws/vendor/x\n"
                        "bind+inside /home/u/ws /workspace\n");
}

static void
test_hidden_with_shown (void)
{
  static const PrismNativeShown shown = { { "/home/u/ws/a/b", PRISM_NATIVE_KIND_FOLDER }, "/home/u/ws/a/b", TRUE };
  static const PrismNativePath hide = { "/home/u/ws/a", PRISM_NATIVE_KIND_FOLDER };
  static const PrismNativePath protect = { "/home/u/ws/a/c", PRISM_NATIVE_KIND_FOLDER };
  PrismNativeAsked asked = asked_by (&user);

  asked.mounts = &shown;
  asked.n_mounts = 1;
  asked.hide = &hide;
  asked.n_hide = 1;
  asked.protect = &protect;
  asked.n_protect = 1;
  assert_steps (&asked, "link+optional /home/u/ws /workspace\n"
                        "folder+parents /workspace\n"
                        "seal /\n"
                        "bind+parents /workspace /home/u/ws\n"
                        "tmpfs /workspace/a\n"
                        "bind+parents /workspace/a/b /home/u/ws/a/b\n"
                        "seal /workspace/a\n");
}

static gboolean
brings (const PrismNativeAsked *asked, const char *path)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GBytes) bytes = prism_native_plan_write (asked, PRISM_NATIVE_PLAN_WHOLE, &error);
  gboolean found = FALSE;
  struct launch_plan plan;
  struct launch_step step;
  struct prism_wire_reader at;

  g_assert_no_error (error);
  g_assert_true (launch_plan_parse (&plan, g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes)));
  at = plan.steps;
  for (guint i = 0; i < plan.n_steps; i++)
    {
      g_assert_true (launch_plan_next (&at, &step));
      found = found || strcmp (step.target, path + 1) == 0;
    }
  return found;
}

/* Also what would be copied rather than mounted, and what lies below a hidden folder. */
static void
test_hidden_system (void)
{
  static const PrismNativePiece all[] = {
    { PRISM_NATIVE_PIECE_SHOWN, "/usr", NULL },
    { PRISM_NATIVE_PIECE_SHOWN, "/etc/ssl", NULL },
    { PRISM_NATIVE_PIECE_CONTENT, "/etc/magic", "x" },
    { PRISM_NATIVE_PIECE_LINK, "/etc/zone", "../usr/zone" },
  };
  static const PrismNativeHost host = { FALSE, 1000, 1000, all, G_N_ELEMENTS (all) };
  static const PrismNativeShown shown = { { "/srv/x", PRISM_NATIVE_KIND_FOLDER }, "/etc/ssl/x", FALSE };
  static const PrismNativePath etc = { "/etc", PRISM_NATIVE_KIND_FOLDER };
  static const PrismNativePath text = { "/etc/magic", PRISM_NATIVE_KIND_FILE };
  PrismNativeAsked asked = asked_by (&host);

  g_assert_true (brings (&asked, "/etc/ssl") && brings (&asked, "/etc/magic") && brings (&asked, "/etc/zone"));
  asked.n_hide = 1;
  asked.hide = &text;
  g_assert_true (brings (&asked, "/etc/ssl") && brings (&asked, "/etc/zone"));
  g_assert_false (brings (&asked, "/etc/magic"));
  asked.hide = &etc;
  g_assert_false (brings (&asked, "/etc/ssl") || brings (&asked, "/etc/magic") || brings (&asked, "/etc/zone"));
  g_assert_true (brings (&asked, "/usr") && brings (&asked, "/etc/passwd"));
  asked.mounts = &shown;
  asked.n_mounts = 1;
  g_assert_true (brings (&asked, "/etc/ssl/x"));
}

static void
test_network_only (void)
{
  static const PrismNativePath protect = { "/home/u/ws/.git", PRISM_NATIVE_KIND_FOLDER };
  PrismNativeAsked asked = asked_by (&user);

  asked.isolation = PRISM_NATIVE_ISOLATION_NETWORK_ONLY;
  assert_steps (&asked, "proc /proc\nself /home/u/ws\n");
  asked.protect = &protect;
  asked.n_protect = 1;
  assert_steps (&asked, "proc /proc\n"
                        "self /home /home/u/ws/.git\n"
                        "self /home/u /home/u/ws/.git\n"
                        "self /home/u/ws\n"
                        "self+ro /home/u/ws/.git /home/u/ws/.git\n");
  asked.host = &root;
  asked.n_protect = 0;
  assert_steps (&asked, "proc /proc\nbind+keeper /home/u/ws /home/u/ws\n");
}

static void
test_refused (void)
{
  static const PrismNativeShown two[] = {
    { { "/a", PRISM_NATIVE_KIND_FOLDER }, "/data", FALSE },
    { { "/b", PRISM_NATIVE_KIND_FOLDER }, "/data", FALSE },
  };
  static const char *const taken[] = { "/proc/x", "/dev", "/etc", "/usr", "/", "/lib64" };
  PrismNativeAsked asked = asked_by (&user);
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (taken); i++)
    {
      asked.sandbox_path = taken[i];
      g_assert_null (prism_native_plan_write (&asked, PRISM_NATIVE_PLAN_WHOLE, &error));
      g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_INVALID);
      g_clear_error (&error);
    }
  asked.sandbox_path = "/workspace";
  asked.mounts = two;
  asked.n_mounts = 2;
  g_assert_null (prism_native_plan_write (&asked, PRISM_NATIVE_PLAN_WHOLE, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_INVALID);
  g_clear_error (&error);
  asked.isolation = PRISM_NATIVE_ISOLATION_NETWORK_ONLY;
  g_assert_null (prism_native_plan_write (&asked, PRISM_NATIVE_PLAN_WHOLE, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_REFUSED);
}

/* Only a build that is made for the tests leaves a control out. */
static void
test_switches (void)
{
  PrismNativeAsked asked = asked_by (&user);
  g_autoptr (GError) error = NULL;
  g_autoptr (GBytes) bytes = NULL;
  struct launch_plan plan;
  gboolean taken;

  asked.off_switches = PRISM_LAUNCH_OFF_SECCOMP;
  bytes = prism_native_plan_write (&asked, PRISM_NATIVE_PLAN_WHOLE, &error);
  g_assert_no_error (error);
  taken = launch_plan_parse (&plan, g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes));
#ifdef PRISM_TEST_SWITCHES
  g_assert_true (taken);
#else
  g_assert_false (taken);
#endif
}

/* Names with every byte that a path may have come through as they are. */
static void
test_odd_names (void)
{
  static const PrismNativePath hide = { "/home/u/ws/new\nline \xff:,\\", PRISM_NATIVE_KIND_FILE };
  PrismNativeAsked asked = asked_by (&user);

  asked.hide = &hide;
  asked.n_hide = 1;
  assert_steps (&asked, "link+optional /home/u/ws /workspace\n"
                        "folder+parents /workspace\n"
                        "seal /\n"
                        "bind+parents /workspace /home/u/ws\n"
                        "hide+optional /workspace/new\nline \xff:,\\ /home/u/ws/new\nline \xff:,\\\n");
}

static char *
describe_groups (const PrismNativeLimits *limits)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < limits->n_groups; i++)
    {
      g_string_append_printf (text, "%s %s:", limits->groups[i].folder, limits->groups[i].entry);
      for (guint k = 0; k < limits->groups[i].n_settings; k++)
        g_string_append_printf (text, " %s=%s", limits->groups[i].settings[k].file,
                                limits->groups[i].settings[k].value);
      g_string_append_c (text, '\n');
    }
  return g_string_free (text, FALSE);
}

static void
test_limits (void)
{
  static const PrismNativeCgroup v1 = { { (char *)"/c/memory/x", (char *)"/c/pids", (char *)"/c/cpu" }, { 0 }, "" };
  static const PrismNativeCgroup v2 = { { (char *)"/c/u", (char *)"/c/u", (char *)"/c/u" }, { 1, 1, 1 }, "" };
  static const PrismNativeCgroup none = { { NULL }, { 0 }, "because" };
  g_autoptr (PrismLimits) limits = prism_limits_new (PRISM_LIMITS_PROFILE_STANDARD);
  g_autoptr (GError) error = NULL;
  g_auto (PrismNativeLimits) decided = { 0 };
  g_autofree char *text = NULL;

  g_assert_true (prism_limits_set (limits, "memory-bytes", 8000000, NULL));
  g_assert_true (prism_limits_set (limits, "max-pids", 10, NULL));
  g_assert_true (prism_native_limits_decide (&decided, limits, &v1, 8, "id", &error));
  text = describe_groups (&decided);
  g_assert_cmpstr (text, ==,
                   "/c/memory/x/prism-id tasks: memory.limit_in_bytes=8000000 memory.memsw.limit_in_bytes=8000000\n"
                   "/c/pids/prism-id tasks: pids.max=12\n"
                   "/c/cpu/prism-id tasks: cpu.cfs_period_us=100000 cpu.cfs_quota_us=200000\n");
  g_free (text);
  prism_native_limits_clear (&decided);
  g_assert_true (prism_native_limits_decide (&decided, limits, &v2, 8, "id", &error));
  text = describe_groups (&decided);
  g_assert_cmpstr (text, ==,
                   "/c/u/prism-id cgroup.procs: memory.max=8000000 memory.swap.max=0 pids.max=12 "
                   "cpu.max=200000 100000\n");
  prism_native_limits_clear (&decided);
  g_assert_true (prism_native_limits_decide (&decided, limits, &none, 8, "id", &error));
  g_assert_cmpuint (decided.n_groups, ==, 0);
  g_assert_cmpuint (decided.processes, ==, 12);
  g_assert_cmpuint (decided.data_bytes, ==, 8000000);
  g_assert_true (prism_limits_set (limits, "cpu-millis", 500, NULL));
  prism_native_limits_clear (&decided);
  g_assert_false (prism_native_limits_decide (&decided, limits, &none, 8, "id", &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_REFUSED);
  g_clear_error (&error);
  prism_native_limits_clear (&decided);
  g_assert_true (prism_limits_set (limits, "memory-bytes", 4194303, NULL));
  g_assert_false (prism_native_limits_decide (&decided, limits, &v1, 8, "id", &error));
  g_assert_error (error, PRISM_LIMIT_ERROR, PRISM_LIMIT_ERROR_RANGE);
}

static struct launch_plan
parse (const PrismNativeAsked *asked, PrismNativePlanPart part, GBytes **bytes)
{
  struct launch_plan plan;

  *bytes = prism_native_plan_write (asked, part, NULL);
  g_assert_nonnull (*bytes);
  g_assert_true (launch_plan_parse (&plan, g_bytes_get_data (*bytes, NULL), g_bytes_get_size (*bytes)));
  return plan;
}

static struct launch_plan
parse_early (const PrismNativeAsked *asked, GBytes **bytes)
{
  struct launch_plan plan;
  PrismNativeEarlySteps steps;

  *bytes = prism_native_plan_write_early (asked, NULL, NULL, &steps);
  g_assert_nonnull (*bytes);
  g_assert_true (launch_plan_parse (&plan, g_bytes_get_data (*bytes, NULL), g_bytes_get_size (*bytes)));
  g_assert_cmpuint (plan.n_shown + plan.n_groups, ==, 0);
  return plan;
}

/* What is begun before all is known is the beginning of what comes, where nothing is asked
 * that changes it. */
static void
test_early (void)
{
  static const PrismNativePath hidden = { "/usr", PRISM_NATIVE_KIND_FOLDER };
  PrismNativeAsked asked = asked_by (&root), other = asked;
  g_autoptr (GBytes) early_bytes = NULL, shorter_bytes = NULL, whole_bytes = NULL;
  struct launch_plan whole = parse (&asked, PRISM_NATIVE_PLAN_WHOLE, &whole_bytes);
  struct launch_plan early = parse_early (&asked, &early_bytes), shorter;
  const PrismNativeEarly usual = { .hostname = "prism" };
  PrismNativeEarlySteps steps;
  guint8 small[64];

  g_assert_cmpuint (early.n_steps, <, whole.n_steps);
  g_assert_true (launch_plan_goes_on (&early, &whole));
  g_assert_false (launch_plan_goes_on (&whole, &early));
  other.tmp_bytes = 0; /* not known */
  shorter = parse_early (&other, &shorter_bytes);
  g_assert_cmpuint (shorter.n_steps, >, 0);
  g_assert_cmpuint (shorter.n_steps, <, early.n_steps);
  g_assert_true (launch_plan_goes_on (&shorter, &whole));
  g_assert_cmpuint (prism_native_write_early_plan (small, sizeof small, &usual, &root, NULL, NULL, &steps), ==, 0);

  for (guint i = 0; i < 5; i++)
    {
      g_autoptr (GBytes) bytes = NULL;
      struct launch_plan plan;
      other = asked;
      other.host = i == 0 ? &user : other.host;
      other.detached = i == 1;
      other.framed = i == 2;
      other.hide = &hidden;
      other.n_hide = i == 3;
      other.tmp_bytes <<= i == 4;
      plan = parse (&other, PRISM_NATIVE_PLAN_WHOLE, &bytes);
      /* What is hidden lies over what is there. */
      g_assert_cmpint (launch_plan_goes_on (&early, &plan), ==, i == 3);
      g_assert_cmpint (launch_plan_goes_on (&shorter, &plan), ==, i >= 3);
      g_assert_cmpint (prism_native_plan_can_begin_early (&other), ==, i != 1);
    }
}

static GBytes *
write_after (const PrismNativeAsked *asked, const PrismNativeEarlySteps *early, struct launch_plan *plan)
{
  GBytes *bytes = prism_native_plan_write_after (asked, PRISM_NATIVE_PLAN_WHOLE, early, NULL);

  g_assert_nonnull (bytes);
  g_assert_true (launch_plan_parse (plan, g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes)));
  return bytes;
}

/* What an early plan has need not be said again; where it is not the beginning all is said. */
static void
test_rest (void)
{
  static const PrismNativePath hidden = { "/usr", PRISM_NATIVE_KIND_FOLDER }, inside = { "/usr/lib", 0 };
  PrismNativeAsked asked = asked_by (&root), other;
  PrismNativeEarlySteps steps;
  g_autoptr (GBytes) early_bytes = prism_native_plan_write_early (&asked, NULL, NULL, &steps);
  g_autoptr (GBytes) whole_bytes = NULL, rest_bytes = NULL;
  struct launch_plan early, whole = parse (&asked, PRISM_NATIVE_PLAN_WHOLE, &whole_bytes), rest;

  g_assert_true (launch_plan_parse (&early, g_bytes_get_data (early_bytes, NULL), g_bytes_get_size (early_bytes)));
  rest_bytes = write_after (&asked, &steps, &rest);
  g_assert_true (rest.rest);
  g_assert_false (early.rest || whole.rest);
  g_assert_cmpuint (steps.n, ==, early.n_steps);
  g_assert_cmpuint (rest.n_steps + early.n_steps, ==, whole.n_steps);
  g_assert_cmpuint (rest.n_shown, ==, whole.n_shown);
  g_assert_cmpuint (g_bytes_get_size (rest_bytes) + steps.size, ==, g_bytes_get_size (whole_bytes));
  g_assert_true (launch_plan_goes_on (&early, &rest));
  g_assert_cmpmem (rest.steps.at, rest.steps.end - rest.steps.at, whole.steps.at + steps.size,
                   whole.steps.end - whole.steps.at - steps.size);

  for (guint i = 0; i < 4; i++)
    {
      g_autoptr (GBytes) bytes = NULL;
      struct launch_plan plan;
      other = asked;
      other.framed = i == 0;
      other.hostname = i == 1 ? "other" : other.hostname;
      other.hide = i == 2 ? &inside : &hidden;
      other.n_hide = i >= 2;
      bytes = write_after (&other, &steps, &plan);
      /* What is hidden lies over what is there, but for what is below a shown folder's own. */
      g_assert_cmpint (plan.rest, ==, i >= 2);
      g_assert_cmpint (launch_plan_goes_on (&early, &plan), ==, i >= 2);
    }
  /* An ordinary user's shows its folders itself, from the old root. */
  other = asked_by (&user);
  g_clear_pointer (&early_bytes, g_bytes_unref);
  early = parse_early (&other, &early_bytes);
  g_assert_false (launch_plan_enters_early (&early));
}

/* Root's is entered before the rest of the plan is there, as soon as it has a /proc; what follows
 * can only be what takes nothing from the old root. */
static void
test_enters_early (void)
{
  PrismNativeAsked asked = asked_by (&root), unknown = asked;
  g_autoptr (GBytes) early_bytes = NULL, shorter_bytes = NULL;
  struct launch_plan early = parse_early (&asked, &early_bytes), shorter;
  static const struct
  {
    guint8 kind;
    guint32 flags;
    const char *text;
    gboolean goes_on;
  } rows[] = {
    { PRISM_LAUNCH_BIND, PRISM_LAUNCH_BY_KEEPER, "/srv", TRUE },
    { PRISM_LAUNCH_BIND, PRISM_LAUNCH_INSIDE, "/tmp", TRUE },
    { PRISM_LAUNCH_BIND, 0, "/srv", FALSE },
    { PRISM_LAUNCH_BIND, PRISM_LAUNCH_COPY, "/srv", FALSE },
    { PRISM_LAUNCH_DEVICE, 0, "/dev/null", FALSE },
    { PRISM_LAUNCH_PROC, 0, "", FALSE },
    { PRISM_LAUNCH_HIDE, 0, "/srv", TRUE },
    { PRISM_LAUNCH_SELF, PRISM_LAUNCH_RO, "/srv", TRUE },
    { PRISM_LAUNCH_SEAL, 0, "", TRUE },
    { PRISM_LAUNCH_LINK, 0, "/srv", TRUE },
  };

  unknown.tmp_bytes = 0;
  shorter = parse_early (&unknown, &shorter_bytes);
  g_assert_true (launch_plan_enters_early (&early));
  g_assert_false (launch_plan_enters_early (&shorter));
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      guint8 bytes[1024];
      PrismNativeSteps steps = { prism_wire_write_to (bytes, sizeof bytes), 0 };
      const PrismNativeHead head = { .flags = 0, .hostname = asked.hostname, .start = "/" };
      struct prism_wire_writer magic = prism_wire_write_to (bytes, 4);
      struct launch_plan plan;
      prism_native_write_head (&steps.writer, &root, &head);
      prism_wire_put (&magic, PRISM_LAUNCH_REST, 4);
      prism_wire_put (&steps.writer, 0, 4);
      prism_wire_put (&steps.writer, 1, 4);
      prism_native_step (&steps, rows[i].kind, rows[i].flags, 0, 0, 0, "srv", rows[i].text);
      g_assert_true (launch_plan_parse (&plan, bytes, (gsize)(steps.writer.at - steps.writer.start)));
      g_assert_cmpint (launch_plan_goes_on (&early, &plan), ==, rows[i].goes_on);
      g_assert_true (launch_plan_goes_on (&shorter, &plan));
    }
}

/* The groups of an early plan are those of the plan, without what is not known yet. */
static void
test_early_groups (void)
{
  static const PrismNativeCgroup v1 = { { "/c/memory/x", "/c/pids", "/c/cpu" }, { 0 }, "" };
  static const PrismNativeCgroup v2 = { { "/c/u", "/c/u", "/c/u" }, { 1, 1, 1 }, "" };
  static const PrismNativeCgroup no_memory = { { NULL, "/c/pids", NULL }, { 0 }, "" };
  static const PrismNativeCgroup *const machines[] = { &v1, &v2, &no_memory, NULL };
  static const guint counts[] = { 2, 1, 1, 0 };
  const char *id = "0123456789abcdef0123456789abcdef";

  for (guint i = 0; i < G_N_ELEMENTS (machines); i++)
    {
      g_autoptr (PrismLimits) limits = prism_limits_new (PRISM_LIMITS_PROFILE_STANDARD);
      PrismNativeAsked asked = asked_by (&root);
      PrismNativeEarlySteps steps;
      g_autoptr (GBytes) bytes = prism_native_plan_write_early (&asked, machines[i], id, &steps);
      g_autoptr (GError) error = NULL;
      PrismNativeLimits decided = { 0 };
      struct launch_plan plan;
      g_assert_true (launch_plan_parse (&plan, g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes)));
      g_assert_cmpuint (plan.n_groups, ==, counts[i]);
      if (machines[i] == NULL)
        continue;
      g_assert_true (prism_native_limits_decide (&decided, limits, machines[i], 1, id, &error));
      for (guint k = 0; k < plan.n_groups; k++)
        {
          g_assert_cmpstr (plan.groups[k].folder, ==, decided.groups[k].folder);
          g_assert_cmpstr (plan.groups[k].entry, ==, decided.groups[k].entry);
          g_assert_cmpuint (plan.groups[k].n_settings, ==, 0);
        }
      prism_native_limits_clear (&decided);
    }
}

/* What is begun before the library is there has its limits. */
static void
test_usual (void)
{
  for (int profile = PRISM_LIMITS_PROFILE_STANDARD; profile <= PRISM_LIMITS_PROFILE_STRICT; profile++)
    {
      g_autoptr (PrismLimits) limits = prism_limits_new (profile);
      g_assert_cmpint (prism_limits_get (limits, "tmp-bytes"), ==, PRISM_NATIVE_USUAL_TMP_BYTES);
    }
}

static void
test_cgroup_text (void)
{
  static const char mountinfo[] = "31 25 0:26 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n"
                                  "32 25 0:27 /box /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
                                  "33 25 0:28 / /sys/fs/cgroup/uni\\040fied rw - cgroup2 cgroup2 rw\n";
  static const char cgroup[] = "4:memory:/a/b\n3:cpu,cpuacct:/box/c\n2:pids:/\n0::/user.slice/s.scope\n";
  static const struct
  {
    const char *controller, *own;
  } cases[] = {
    { "memory", "/sys/fs/cgroup/memory/a/b" },
    { "cpu", "/sys/fs/cgroup/cpu,cpuacct/c" },
    { "pids", NULL },
    { NULL, "/sys/fs/cgroup/uni fied/user.slice/s.scope" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      char own[PATH_MAX], point[PATH_MAX];
      gboolean found = prism_native_cgroup_find_own (mountinfo, cgroup, cases[i].controller, own, point);
      g_assert_cmpstr (found ? own : NULL, ==, cases[i].own);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/native/plan/workspace", test_workspace);
  g_test_add_func ("/native/plan/rules", test_rules);
  g_test_add_func ("/native/plan/hidden-with-shown", test_hidden_with_shown);
  g_test_add_func ("/native/plan/hidden-system", test_hidden_system);
  g_test_add_func ("/native/plan/network-only", test_network_only);
  g_test_add_func ("/native/plan/refused", test_refused);
  g_test_add_func ("/native/plan/odd-names", test_odd_names);
  g_test_add_func ("/native/plan/switches", test_switches);
  g_test_add_func ("/native/plan/early", test_early);
  g_test_add_func ("/native/plan/rest", test_rest);
  g_test_add_func ("/native/plan/enters-early", test_enters_early);
  g_test_add_func ("/native/plan/early-groups", test_early_groups);
  g_test_add_func ("/native/plan/usual", test_usual);
  g_test_add_func ("/native/limits/decide", test_limits);
  g_test_add_func ("/native/cgroup/text", test_cgroup_text);
  return g_test_run ();
}
