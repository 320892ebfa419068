/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A confined sandbox from the translator's plan, looked at from inside. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "native-fixture.h"

static void
test_identity (NativeFixture *f, gconstpointer data)
{
  g_autoptr (NativeClient) client = native_client_new (&f->asked);

  native_assert_sh (client, "id -u; id -g; id -un; hostname; pwd; echo $HOME",
                    "10001\n10001\nprism\nprism\n/workspace\n/home/prism");
  native_assert_sh (client,
                    "grep -E '^(Cap(Eff|Prm|Inh|Bnd|Amb)|NoNewPrivs|Seccomp):' /proc/self/status | tr -d ' \\t'",
                    "CapInh:0000000000000000\nCapPrm:0000000000000000\nCapEff:0000000000000000\n"
                    "CapBnd:0000000000000000\nCapAmb:0000000000000000\nNoNewPrivs:1\nSeccomp:2");
  native_assert_sh (client, "tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '", "lo");
  native_assert_sh (client, "cat /proc/sys/user/max_user_namespaces", "0");
  native_assert_fails (client, "unshare -Ur true");
}

static void
test_tree (NativeFixture *f, gconstpointer data)
{
  static const char *const refused[] = { "echo x >/usr/x", "echo x >/etc/x", "echo x >/x", "mkdir /home/y",
                                         "cat /etc/shadow" };
  g_autofree char *file = g_build_filename (f->folder, "file", NULL);
  g_autofree char *made = g_build_filename (f->folder, "made", NULL);
  g_autofree char *script = g_strdup_printf ("cat %s/file", f->folder);
  g_autofree char *text = NULL;
  g_autoptr (NativeClient) client = NULL;
  struct stat info;

  g_assert_true (g_file_set_contents (file, "hello", -1, NULL));
  client = native_client_new (&f->asked);
  native_assert_sh (client, "cat /workspace/file", "hello");
  native_assert_sh (client, script, "hello");
  native_assert_sh (client,
                    "echo made >made; echo $((6*7)) >/tmp/x; cat /tmp/x; echo y >/dev/shm/y; echo z >~/z; echo >/run/r",
                    "42");
  g_assert_true (g_file_get_contents (made, &text, NULL, NULL));
  g_assert_cmpstr (text, ==, "made\n");
  g_assert_cmpint (stat (made, &info), ==, 0);
  g_assert_cmpuint (info.st_uid, ==, geteuid ());
  for (guint i = 0; i < G_N_ELEMENTS (refused); i++)
    native_assert_fails (client, refused[i]);
  native_assert_sh (client, "ls -A / | grep -v -e usr -e bin -e lib -e opt | tr '\\n' ' '",
                    "dev etc home proc run tmp var workspace");
}

static void
test_devices (NativeFixture *f, gconstpointer data)
{
  g_autoptr (NativeClient) client = native_client_new (&f->asked);

  native_assert_sh (client,
                    "head -c 3 /dev/zero | tr '\\0' z; echo x >/dev/null; head -c 4 /dev/urandom | wc -c; "
                    "echo q | cat /dev/stdin",
                    "zzz4\nq");
  native_assert_sh (client, "ls /dev | tr '\\n' ' '",
                    "fd full null ptmx pts random shm stderr stdin stdout tty urandom zero");
}

/* --- groups that are there before the plan is ------------------------------------------ */

#define WAIT_US (20 * G_USEC_PER_SEC)

typedef struct
{
  PrismNativeGroup groups[1];
  PrismNativeAsked asked;
  PrismNativeLauncher *launcher;
  PrismNativeEarlySteps steps;
  char *early; /* the folder that is made ahead */
} Early;

/* One that waits for its plan, in a group that is there. FALSE where none can be made. */
static gboolean
begin_early (Early *self, NativeFixture *f)
{
  const char *parent = prism_native_cgroup_get ()->parents[PRISM_NATIVE_CONTROLLER_PIDS];
  PrismNativeCgroup only = { 0 };
  g_autoptr (GBytes) plan = NULL;
  g_autoptr (GError) error = NULL;
  const char *id;

  *self = (Early){ .asked = f->asked };
  if (parent == NULL)
    return FALSE;
  only.parents[PRISM_NATIVE_CONTROLLER_PIDS] = parent;
  only.unified[PRISM_NATIVE_CONTROLLER_PIDS] = prism_native_cgroup_get ()->unified[PRISM_NATIVE_CONTROLLER_PIDS];
  self->launcher = prism_native_launcher_begin (g_getenv ("PRISM_AGENT"), &error);
  g_assert_no_error (error);
  id = prism_native_launcher_get_id (self->launcher);
  self->early = g_strdup_printf ("%s/prism-%s", parent, id);
  self->groups[0].folder = self->early;
  self->groups[0].entry = prism_native_cgroup_get_entry (&only, PRISM_NATIVE_CONTROLLER_PIDS);
  self->asked.groups = self->groups;
  self->asked.n_groups = 1;
  plan = prism_native_plan_write_early (&self->asked, &only, id, &self->steps);
  g_assert_true (prism_native_launcher_give_early_plan (self->launcher, plan, &self->steps));
  for (gint64 until = g_get_monotonic_time () + WAIT_US; !g_file_test (self->early, G_FILE_TEST_IS_DIR);)
    g_assert_cmpint (g_get_monotonic_time (), <, until);
  return TRUE;
}

static void
give_plan (Early *self)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GBytes) plan = prism_native_plan_write_after (&self->asked, PRISM_NATIVE_PLAN_WHOLE,
                                                           prism_native_launcher_get_early (self->launcher), &error);

  g_assert_no_error (error);
  prism_native_launcher_give_plan (self->launcher, plan, -1, NULL, &error);
  g_assert_no_error (error);
  prism_native_launcher_wait_ready (self->launcher, TRUE, g_get_monotonic_time () + WAIT_US, NULL, &error);
  g_assert_no_error (error);
}

static void
end_early (Early *self)
{
  g_autoptr (GError) error = NULL;

  prism_native_launcher_end (self->launcher, g_get_monotonic_time () + WAIT_US, &error);
  g_assert_no_error (error);
  g_assert_false (g_file_test (self->early, G_FILE_TEST_EXISTS));
  prism_native_launcher_free (self->launcher);
  g_free (self->early);
}

static gboolean
has_process (const char *folder)
{
  g_autofree char *file = g_build_filename (folder, "cgroup.procs", NULL), *text = NULL;

  return g_file_get_contents (file, &text, NULL, NULL) && text[0] != '\0';
}

/* The plan's own settings are made in the group that is there. */
static void
test_early_groups (NativeFixture *f, gconstpointer data)
{
  g_autofree char *file = NULL, *text = NULL;
  Early self;

  if (!begin_early (&self, f))
    return;
  self.groups[0].n_settings = 1;
  self.groups[0].settings[0].file = "pids.max";
  self.groups[0].settings[0].value = "77";
  give_plan (&self);
  g_assert_true (has_process (self.early));
  file = g_build_filename (self.early, "pids.max", NULL);
  g_assert_true (g_file_get_contents (file, &text, NULL, NULL));
  g_assert_cmpstr (text, ==, "77\n");
  end_early (&self);
}

/* A plan that wants another has that, and nothing is left of the first. */
static void
test_early_groups_changed (NativeFixture *f, gconstpointer data)
{
  g_autofree char *other = NULL;
  Early self;

  if (!begin_early (&self, f))
    return;
  other = g_strconcat (self.early, "-other", NULL);
  self.groups[0].folder = other;
  give_plan (&self);
  g_assert_true (has_process (other));
  g_assert_false (g_file_test (self.early, G_FILE_TEST_EXISTS));
  end_early (&self);
  g_assert_false (g_file_test (other, G_FILE_TEST_EXISTS));
}

/* Nor where no plan comes, or one that begins otherwise. */
static void
test_early_groups_undone (NativeFixture *f, gconstpointer data)
{
  Early self;

  if (!begin_early (&self, f))
    return;
  end_early (&self);

  begin_early (&self, f);
  self.asked.framed = TRUE;
  give_plan (&self);
  g_assert_true (has_process (self.early));
  end_early (&self);
}

static gboolean
is_noted (NativeClient *client, const char *key)
{
  GPtrArray *notes = prism_native_launcher_get_notes (client->launcher);

  for (guint i = 0; i < notes->len; i++)
    if (strcmp (((PrismNativeNote *)notes->pdata[i])->key, key) == 0)
      return TRUE;
  return FALSE;
}

/* What the kernel does not offer is said of each sandbox, also of those that a group serves
 * again in which that was found out before. */
static void
test_missing_setting (NativeFixture *f, gconstpointer data)
{
  const PrismNativeCgroup *own = prism_native_cgroup_get ();
  const char *parent = own->parents[PRISM_NATIVE_CONTROLLER_PIDS];
  PrismNativeGroup group = { 0 };
  PrismNativeAsked asked = f->asked;
  ino_t first = 0;
  gboolean again = FALSE;

  if (parent == NULL)
    return;
  group.entry = prism_native_cgroup_get_entry (own, PRISM_NATIVE_CONTROLLER_PIDS);
  group.n_settings = 1;
  group.settings[0].file = "pids.of-another-kernel";
  group.settings[0].value = "1";
  group.settings[0].optional = TRUE;
  asked.groups = &group;
  asked.n_groups = 1;
  native_client_use_template (TRUE);
  for (guint i = 0; i < 6; i++)
    {
      g_autofree char *folder = g_strdup_printf ("%s/prism-%d-%u", parent, (int)getpid (), i);
      g_autoptr (NativeClient) client = NULL;
      struct stat info;
      group.folder = folder;
      client = native_client_new (&asked);
      g_assert_true (is_noted (client, "pids.of-another-kernel"));
      g_assert_cmpint (stat (folder, &info), ==, 0);
      again = again || info.st_ino == first;
      first = first != 0 ? first : info.st_ino;
    }
  native_client_use_template (FALSE);
  /* The first version's groups can, by the launcher that stays. */
  g_assert_true (again || geteuid () != 0 || own->unified[PRISM_NATIVE_CONTROLLER_PIDS]);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  native_add_test ("/native/launch/identity", test_identity);
  native_add_test ("/native/launch/tree", test_tree);
  native_add_test ("/native/launch/devices", test_devices);
  native_add_plain_test ("/native/launch/early-groups", test_early_groups);
  native_add_plain_test ("/native/launch/early-groups-changed", test_early_groups_changed);
  native_add_plain_test ("/native/launch/early-groups-undone", test_early_groups_undone);
  native_add_plain_test ("/native/launch/missing-setting", test_missing_setting);
  return g_test_run ();
}
