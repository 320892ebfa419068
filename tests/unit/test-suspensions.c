/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Approvals that outlive who asks: what an answer is bound to, that it counts once, that nothing
 * happens before it is kept, and what is left when whoever does it dies between any two steps. */
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "prism-approval-policy-private.h"
#include "prism-approval-store-private.h"
#include "prism-suspension-private.h"

#define ALLOW "{\"decision\":\"allow\"}"
#define DENY  "{\"decision\":\"deny\"}"

typedef struct
{
  char *base, *root, *folder;
  PrismSuspensions *store;
  PrismApprovalPolicy *policy;
} Fixture;

static PrismApprovalPolicy *
make_policy (Fixture *f, PrismSuspensions *store)
{
  const char *const roots[] = { f->root, NULL };
  PrismApprovalPolicy *policy =
      g_object_new (PRISM_TYPE_APPROVAL_POLICY, "roots", roots, "approval-cache", PRISM_APPROVAL_CACHE_RUN, NULL);

  prism_approval_policy_set_suspensions (policy, store);
  return policy;
}

static void
set_up (Fixture *f, gconstpointer data)
{
  f->base = g_dir_make_tmp ("prism-suspensions-XXXXXX", NULL);
  f->root = g_build_filename (f->base, "work", NULL);
  f->folder = g_build_filename (f->base, "kept", NULL);
  g_assert_no_errno (g_mkdir (f->root, 0755));
  f->store = prism_suspensions_new (f->folder);
  f->policy = make_policy (f, f->store);
}

static void
tear_down (Fixture *f, gconstpointer data)
{
  const char *const argv[] = { "rm", "-rf", "--", f->base, NULL };

  g_object_unref (f->policy);
  g_object_unref (f->store);
  g_assert_true (g_spawn_sync (NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL, NULL, NULL));
  g_free (f->base);
  g_free (f->root);
  g_free (f->folder);
}

static PrismAction *
make_action (Fixture *f, const char *command, const char *run, const char *call)
{
  PrismAction *action = prism_action_new ("shell", "execute");

  prism_action_set_command (action, command);
  prism_action_set_directory (action, f->root);
  prism_action_set_identity (action, run, NULL, "box-1");
  prism_action_set_call_id (action, call);
  return action;
}

static PrismDecision *
check (PrismApprovalPolicy *policy, PrismAction *action)
{
  g_autoptr (PrismAction) owned = action;
  g_autoptr (GError) error = NULL;
  PrismDecision *decision = prism_policy_check (PRISM_POLICY (policy), owned, NULL, &error);

  g_assert_no_error (error);
  g_test_message ("%s", prism_decision_get_reason (decision));
  return decision;
}

/* What the policy says; the id of what waits or was answered, if there is one. */
static char *
expect (PrismApprovalPolicy *policy, PrismAction *action, gboolean allowed, const char *reason_id)
{
  g_autoptr (PrismDecision) decision = check (policy, action);
  PrismSuspension *suspension = prism_decision_get_suspension (decision);

  g_assert_cmpstr (prism_decision_get_reason_id (decision), ==, reason_id);
  g_assert_cmpint (prism_decision_get_allowed (decision), ==, allowed);
  return suspension != NULL ? g_strdup (prism_suspension_get_id (suspension)) : NULL;
}

static void
state_is (Fixture *f, const char *id, PrismSuspensionState state)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismSuspension) suspension = prism_suspensions_look_up (f->store, id, &error);

  g_assert_no_error (error);
  g_assert_cmpint (prism_suspension_get_state (suspension), ==, state);
}

static void
answer_fails (Fixture *f, const char *id, const char *answer, PrismDurableError code)
{
  g_autoptr (GError) error = NULL;

  g_assert_false (prism_suspensions_answer (f->store, id, answer, "me", &error));
  g_assert_error (error, PRISM_DURABLE_ERROR, (int)code);
}

static void
answer (Fixture *f, const char *id, const char *text)
{
  g_autoptr (GError) error = NULL;

  prism_suspensions_answer (f->store, id, text, "me", &error);
  g_assert_no_error (error);
}

static void
count (PrismSuspensions *store, PrismSuspension *suspension, gpointer data)
{
  (*(guint *)data)++;
}

/* --- its life ------------------------------------------------------------------------------------ */

static void
test_life (Fixture *f, gconstpointer data)
{
  g_autofree char *first = NULL;
  g_autofree char *again = NULL;
  g_autofree char *used = NULL;
  g_autofree char *over = NULL;
  g_autoptr (PrismSuspension) suspension = NULL;
  g_autoptr (GPtrArray) all = NULL;
  guint suspended = 0, answered = 0;

  all = prism_suspensions_list (f->store, NULL);
  g_assert_cmpuint (all->len, ==, 0);
  g_assert_false (g_file_test (f->folder, G_FILE_TEST_EXISTS));
  g_signal_connect (f->store, "suspended", G_CALLBACK (count), &suspended);
  g_signal_connect (f->store, "answered", G_CALLBACK (count), &answered);

  first = expect (f->policy, make_action (f, "make install", "run", "1"), FALSE, "approval-suspended");
  again = expect (f->policy, make_action (f, "make install", "run", "1"), FALSE, "approval-suspended");
  g_assert_cmpstr (first, ==, again);
  g_assert_cmpuint (suspended, ==, 1);

  suspension = prism_suspensions_look_up (f->store, first, NULL);
  g_assert_cmpstr (prism_suspension_get_reason (suspension), ==, "approval");
  g_assert_nonnull (strstr (prism_suspension_get_text (suspension), "command: make install\n"));
  g_assert_nonnull (strstr (prism_suspension_get_text (suspension), "why: "));
  g_assert_nonnull (strstr (prism_suspension_get_resume_schema (suspension), "\"allow\""));
  g_assert_cmpstr (prism_suspension_get_run_id (suspension), ==, "run");
  g_assert_cmpstr (prism_suspension_get_call_id (suspension), ==, "1");
  g_assert_cmpint (prism_suspension_get_expires_at (suspension) - prism_suspension_get_asked_at (suspension), ==,
                   24 * 60 * 60 * 1000);

  answer_fails (f, first, "{}", PRISM_DURABLE_ERROR_INVALID);
  answer_fails (f, first, "yes", PRISM_DURABLE_ERROR_INVALID);
  answer_fails (f, first, "{\"decision\":\"Allow\"}", PRISM_DURABLE_ERROR_INVALID);
  answer_fails (f, first, "{\"decision\":\"allow\",\"more\":1}", PRISM_DURABLE_ERROR_INVALID);
  answer_fails (f, first, "{\"decision\":true}", PRISM_DURABLE_ERROR_INVALID);
  answer_fails (f, "../kept/x", ALLOW, PRISM_DURABLE_ERROR_NOT_FOUND);
  state_is (f, first, PRISM_SUSPENSION_STATE_PENDING);
  answer (f, first, ALLOW);
  answer_fails (f, first, DENY, PRISM_DURABLE_ERROR_STATE);
  state_is (f, first, PRISM_SUSPENSION_STATE_ALLOWED);
  g_assert_cmpuint (answered, ==, 1);

  used = expect (f->policy, make_action (f, "make install", "run", "1"), TRUE, NULL);
  g_assert_cmpstr (used, ==, first);
  state_is (f, first, PRISM_SUSPENSION_STATE_STARTED);
  g_free (expect (f->policy, make_action (f, "make install", "run", "1"), FALSE, "approval-used"));
  g_assert_true (prism_suspensions_end (f->store, first, "ok", NULL));
  g_assert_false (prism_suspensions_end (f->store, first, "ok", NULL));
  over = expect (f->policy, make_action (f, "make install", "run", "1"), FALSE, "approval-used");
  g_assert_cmpstr (over, ==, first);
  g_assert_cmpuint (prism_approval_store_get_size (prism_approval_policy_get_store (f->policy)), ==, 0);
}

/* No and cancelled are final, and say who. */
static void
test_final (Fixture *f, gconstpointer data)
{
  g_autofree char *no = expect (f->policy, make_action (f, "a", "run", "1"), FALSE, "approval-suspended");
  g_autofree char *off = expect (f->policy, make_action (f, "b", "run", "2"), FALSE, "approval-suspended");
  g_autoptr (PrismDecision) decision = NULL;
  g_autoptr (GError) error = NULL;

  g_assert_true (prism_suspensions_answer (f->store, no, DENY, "Ada \u202e", NULL));
  g_assert_true (prism_suspensions_cancel (f->store, off, "the host", NULL));
  g_free (expect (f->policy, make_action (f, "a", "run", "1"), FALSE, "approval-denied"));
  decision = check (f->policy, make_action (f, "a", "run", "1"));
  g_assert_nonnull (strstr (prism_decision_get_reason (decision), "Ada \\u{202e} said no"));
  g_free (expect (f->policy, make_action (f, "b", "run", "2"), FALSE, "approval-cancelled"));
  answer_fails (f, off, ALLOW, PRISM_DURABLE_ERROR_STATE);
  g_assert_false (prism_suspensions_end (f->store, no, "ok", NULL));
  g_assert_false (prism_suspensions_answer (f->store, no, ALLOW, "", &error));
  g_assert_error (error, PRISM_DURABLE_ERROR, PRISM_DURABLE_ERROR_INVALID);
}

/* --- what it is bound to --------------------------------------------------------------------------- */

static void
test_binding (Fixture *f, gconstpointer data)
{
  g_autofree char *first = expect (f->policy, make_action (f, "make", "run", "1"), FALSE, "approval-suspended");
  g_autoptr (GBytes) bytes = g_bytes_new_static ("x", 1);
  g_autofree char *other = NULL;
  PrismAction *action;

  answer (f, first, ALLOW);
  g_free (expect (f->policy, make_action (f, "make x", "run", "1"), FALSE, "approval-suspended"));
  g_free (expect (f->policy, make_action (f, "make", "run", "2"), FALSE, "approval-suspended"));
  g_free (expect (f->policy, make_action (f, "make", "other", "1"), FALSE, "approval-suspended"));
  action = make_action (f, "make", "run", "1");
  prism_action_set_arguments (action, bytes);
  g_free (expect (f->policy, action, FALSE, "approval-suspended"));
  action = make_action (f, "make", "run", "1");
  prism_action_set_tree (action, f->root, f->root);
  g_free (expect (f->policy, action, FALSE, "approval-suspended"));
  /* The folder is another one, though it is called the same. */
  g_assert_no_errno (g_rmdir (f->root));
  other = g_build_filename (f->base, "keeps-the-inode", NULL);
  g_assert_no_errno (g_mkdir (other, 0755));
  g_assert_no_errno (g_mkdir (f->root, 0755));
  g_object_unref (f->policy);
  f->policy = make_policy (f, f->store);
  g_free (expect (f->policy, make_action (f, "make", "run", "1"), FALSE, "approval-suspended"));
  state_is (f, first, PRISM_SUSPENSION_STATE_ALLOWED);
}

/* Another sandbox, another process: the same call all the same. */
static void
test_after_restart (Fixture *f, gconstpointer data)
{
  g_autofree char *first = expect (f->policy, make_action (f, "make", "run", "1"), FALSE, "approval-suspended");
  PrismAction *action = make_action (f, "make", "run", "1");

  answer (f, first, ALLOW);
  g_object_unref (f->policy);
  g_object_unref (f->store);
  f->store = prism_suspensions_new (f->folder);
  f->policy = make_policy (f, f->store);
  prism_action_set_identity (action, "run", NULL, "box-2");
  g_free (expect (f->policy, action, TRUE, NULL));
}

/* An answer answers today's question, and undoes no denial. */
static void
test_policy_of_today (Fixture *f, gconstpointer data)
{
  const char *const roots[] = { f->root, NULL }, *const sub[] = { "make", NULL };
  g_autofree char *first = expect (f->policy, make_action (f, "make", "run", "1"), FALSE, "approval-suspended");
  g_autoptr (PrismApprovalPolicy) reads =
      g_object_new (PRISM_TYPE_APPROVAL_POLICY, "roots", roots, "read-only", TRUE, NULL);
  g_autoptr (PrismApprovalPolicy) strict = make_policy (f, f->store);
  g_autoptr (PrismCommandRule) rule = prism_command_rule_new_prefix (sub, PRISM_VERDICT_DENY, "not today", NULL);

  answer (f, first, ALLOW);
  prism_approval_policy_set_suspensions (reads, f->store);
  prism_approval_policy_add_rule (strict, rule);
  g_free (expect (reads, make_action (f, "make", "run", "1"), FALSE, "read-only"));
  g_free (expect (strict, make_action (f, "make", "run", "1"), FALSE, "rule-denied"));
  state_is (f, first, PRISM_SUSPENSION_STATE_ALLOWED);
  g_free (expect (f->policy, make_action (f, "make", "run", "1"), TRUE, NULL));
}

/* Without a call to be for, an answer is for whoever does the same next, once. */
static void
test_unbound (Fixture *f, gconstpointer data)
{
  g_autoptr (PrismSuspensions) store =
      g_object_new (PRISM_TYPE_SUSPENSIONS, "folder", f->folder, "bind-calls", FALSE, NULL);
  g_autoptr (PrismApprovalPolicy) policy = make_policy (f, store);
  g_autofree char *first = NULL;
  g_autofree char *used = NULL;
  g_autofree char *second = NULL;
  g_autofree char *denied = NULL;

  g_free (expect (f->policy, make_action (f, "make", "run", NULL), FALSE, "approval-required"));
  g_free (expect (f->policy, make_action (f, "make", NULL, "1"), FALSE, "approval-required"));
  first = expect (policy, make_action (f, "make", "run", "1"), FALSE, "approval-suspended");
  answer (f, first, ALLOW);
  g_free (expect (policy, make_action (f, "make x", "run", "1"), FALSE, "approval-suspended"));
  used = expect (policy, make_action (f, "make", "other", "7"), TRUE, NULL);
  g_assert_cmpstr (used, ==, first);
  second = expect (policy, make_action (f, "make", "other", "8"), FALSE, "approval-suspended");
  g_assert_cmpstr (second, !=, first);
  answer (f, second, DENY);
  denied = expect (policy, make_action (f, "make", "other", "9"), FALSE, "approval-denied");
  g_assert_cmpstr (second, ==, denied);
}

/* --- time ---------------------------------------------------------------------------------------------- */

static char *
path_of (Fixture *f, const char *id, const char *part)
{
  g_autofree char *name = g_strconcat (id, part, NULL);

  return g_build_filename (f->folder, name, NULL);
}

/* As if it had been asked so much earlier. */
static void
shift (Fixture *f, const char *id, gint64 ms)
{
  g_autofree char *path = path_of (f, id, ".asked");
  g_autofree char *text = NULL;
  g_autofree char *shifted = NULL;
  g_autoptr (JsonNode) node = NULL;
  JsonObject *object;

  g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
  node = json_from_string (text, NULL);
  object = json_node_get_object (node);
  json_object_set_int_member (object, "askedAt", json_object_get_int_member (object, "askedAt") - ms);
  json_object_set_int_member (object, "expiresAt", json_object_get_int_member (object, "expiresAt") - ms);
  shifted = json_to_string (node, FALSE);
  g_assert_true (g_file_set_contents (path, shifted, -1, NULL));
}

static void
test_time (Fixture *f, gconstpointer data)
{
  const gint64 day = 24 * 60 * 60 * G_GINT64_CONSTANT (1000);
  g_autofree char *late = expect (f->policy, make_action (f, "a", "run", "1"), FALSE, "approval-suspended");
  g_autofree char *slow = expect (f->policy, make_action (f, "b", "run", "2"), FALSE, "approval-suspended");
  g_autofree char *early = expect (f->policy, make_action (f, "c", "run", "3"), FALSE, "approval-suspended");
  g_autoptr (PrismSuspensions) wrong =
      g_object_new (PRISM_TYPE_SUSPENSIONS, "folder", f->folder, "timeout-ms", G_GINT64_CONSTANT (0), NULL);
  g_autoptr (PrismApprovalPolicy) policy = make_policy (f, wrong);

  shift (f, late, day + 1);
  answer_fails (f, late, ALLOW, PRISM_DURABLE_ERROR_STATE);
  g_free (expect (f->policy, make_action (f, "a", "run", "1"), FALSE, "approval-timed-out"));
  answer (f, slow, ALLOW);
  shift (f, slow, day + 1);
  g_free (expect (f->policy, make_action (f, "b", "run", "2"), FALSE, "approval-timed-out"));
  answer (f, early, ALLOW);
  shift (f, early, -day);
  g_free (expect (f->policy, make_action (f, "c", "run", "3"), FALSE, "approval-timed-out"));
  g_free (expect (policy, make_action (f, "d", "run", "4"), FALSE, "approval-required"));
}

/* --- what is wrong with the folder ------------------------------------------------------------------- */

static void
test_unsafe (Fixture *f, gconstpointer data)
{
  g_autofree char *id = expect (f->policy, make_action (f, "a", "run", "1"), FALSE, "approval-suspended");
  g_autofree char *path = path_of (f, id, ".answer");
  g_autofree char *inside = g_build_filename (f->root, "sub", "kept", NULL);
  g_autofree char *link = g_build_filename (f->base, "link", NULL);
  g_autofree char *hidden = g_build_filename (link, "sub", "kept", NULL);
  g_autoptr (PrismSuspensions) near = prism_suspensions_new (inside);
  g_autoptr (PrismSuspensions) hiding = prism_suspensions_new (hidden);
  g_autoptr (PrismSuspensions) relative = prism_suspensions_new ("kept");
  g_autoptr (PrismApprovalPolicy) near_policy = make_policy (f, near);
  g_autoptr (PrismApprovalPolicy) hiding_policy = make_policy (f, hiding);
  g_autoptr (PrismApprovalPolicy) relative_policy = make_policy (f, relative);
  struct stat st;

  g_assert_no_errno (g_stat (f->folder, &st));
  g_assert_cmpuint (st.st_mode & 0777, ==, 0700);
  g_assert_no_errno (g_chmod (f->folder, 0770));
  answer_fails (f, id, ALLOW, PRISM_DURABLE_ERROR_UNSAFE);
  g_free (expect (f->policy, make_action (f, "a", "run", "1"), FALSE, "approval-required"));
  g_assert_null (prism_suspensions_list (f->store, NULL));
  g_assert_no_errno (g_chmod (f->folder, 0700));
  g_free (expect (f->policy, make_action (f, "a", "run", "1"), FALSE, "approval-suspended"));

  g_assert_no_errno (symlink ("/etc/passwd", path));
  g_free (expect (f->policy, make_action (f, "a", "run", "1"), FALSE, "approval-required"));
  g_assert_no_errno (g_unlink (path));
  g_assert_no_errno (mkfifo (path, 0600));
  g_free (expect (f->policy, make_action (f, "a", "run", "1"), FALSE, "approval-required"));
  g_assert_no_errno (g_unlink (path));

  g_assert_no_errno (symlink (f->root, link));
  g_free (expect (near_policy, make_action (f, "a", "run", "1"), FALSE, "approval-required"));
  g_free (expect (hiding_policy, make_action (f, "a", "run", "1"), FALSE, "approval-required"));
  g_free (expect (relative_policy, make_action (f, "a", "run", "1"), FALSE, "approval-required"));
  g_assert_false (g_file_test (inside, G_FILE_TEST_EXISTS));
}

/* What cannot be understood is no yes. */
static void
test_malformed (Fixture *f, gconstpointer data)
{
  static const char *const rows[][2] = {
    { ".answer", "" },
    { ".answer", "{}" },
    { ".answer", "{\"by\":\"me\",\"answer\":\"allow\"}" },
    { ".answer", "{\"answer\":{\"decision\":\"allow\"}}" },
    { ".answer", "[{\"by\":\"me\",\"answer\":{\"decision\":\"allow\"}}]" },
    { ".answer", "{\"by\":\"me\",\"answer\":{\"decision\":\"allow\"}} x" },
    { ".answer", "{\"by\":\"me\",\"answer\":{\"decision\":\"deny\",\"decision\":\"allow\"}}" },
    { ".begun", "?" },
    { ".asked", "{}" },
    { ".asked", "{\"version\":2}" },
  };
  g_autofree char *id = expect (f->policy, make_action (f, "a", "run", "1"), FALSE, "approval-suspended");

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autofree char *path = path_of (f, id, rows[i][0]);
      g_autoptr (PrismDecision) decision = NULL;

      g_assert_true (g_file_set_contents (path, rows[i][1], -1, NULL));
      decision = check (f->policy, make_action (f, "a", "run", "1"));
      g_assert_false (prism_decision_get_allowed (decision));
      if (g_str_has_suffix (path, ".asked"))
        continue;
      g_assert_no_errno (g_unlink (path));
    }
}

static void
test_bounds (Fixture *f, gconstpointer data)
{
  g_autofree char *id = expect (f->policy, make_action (f, "a", "run", "1"), FALSE, "approval-suspended");
  g_autoptr (GError) error = NULL;

  for (guint i = 1; i < PRISM_SUSPENSION_MOST; i++)
    {
      g_autofree char *name = g_strdup_printf ("%032x-0.begun", i);
      g_autofree char *path = g_build_filename (f->folder, name, NULL);

      g_assert_true (g_file_set_contents_full (path, "{}", -1, G_FILE_SET_CONTENTS_NONE, 0600, NULL));
    }
  g_free (expect (f->policy, make_action (f, "b", "run", "2"), FALSE, "approval-required"));
  g_free (expect (f->policy, make_action (f, "a", "run", "1"), FALSE, "approval-suspended"));
  g_assert_false (prism_suspensions_forget (f->store, id, &error));
  g_assert_error (error, PRISM_DURABLE_ERROR, PRISM_DURABLE_ERROR_STATE);
  g_assert_true (prism_suspensions_cancel (f->store, id, "me", NULL));
  g_assert_true (prism_suspensions_forget (f->store, id, NULL));
  g_free (expect (f->policy, make_action (f, "b", "run", "2"), FALSE, "approval-suspended"));
}

/* --- at once ------------------------------------------------------------------------------------------- */

typedef struct
{
  Fixture *fixture;
  int allowed, go; /* atomic */
} Race;

static gpointer
race_main (gpointer data)
{
  Race *race = data;
  g_autoptr (PrismAction) action = make_action (race->fixture, "make", "run", "1");
  g_autoptr (PrismDecision) decision = NULL;

  while (!g_atomic_int_get (&race->go))
    g_thread_yield ();
  decision = prism_policy_check (PRISM_POLICY (race->fixture->policy), action, NULL, NULL);
  if (prism_decision_get_allowed (decision))
    g_atomic_int_inc (&race->allowed);
  return NULL;
}

static void
race (Fixture *f, int allowed)
{
  Race about = { f, 0, 0 };
  GThread *threads[8];

  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    threads[i] = g_thread_new ("race", race_main, &about);
  g_atomic_int_set (&about.go, 1);
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    g_thread_join (threads[i]);
  g_assert_cmpint (about.allowed, ==, allowed);
}

/* Those who ask the same at once put one question down, and of those who begin one does. */
static void
test_at_once (Fixture *f, gconstpointer data)
{
  for (guint round = 0; round < 20; round++)
    {
      g_autoptr (GPtrArray) all = NULL;
      g_autofree char *id = NULL;

      race (f, 0);
      all = prism_suspensions_list (f->store, NULL);
      g_assert_cmpuint (all->len, ==, 1);
      id = g_strdup (prism_suspension_get_id (all->pdata[0]));
      answer (f, id, ALLOW);
      race (f, 1);
      g_assert_true (prism_suspensions_forget (f->store, id, NULL));
    }
}

/* --- dying ------------------------------------------------------------------------------------------------ */

static int steps_left;

static void
die_sometime (const char *step)
{
  if (steps_left-- == 0)
    _exit (9);
}

/* The host's whole life: asks; somebody answers; asks again, and acts. */
static void
live (Fixture *f, const char *effect)
{
  g_autoptr (PrismDecision) asked = check (f->policy, make_action (f, "make", "run", "1"));
  PrismSuspension *waiting = prism_decision_get_suspension (asked);
  g_autoptr (PrismDecision) decision = NULL;
  int fd;

  if (g_strcmp0 (prism_decision_get_reason_id (asked), "approval-suspended") == 0)
    prism_suspensions_answer (f->store, prism_suspension_get_id (waiting), ALLOW, "me", NULL);
  decision = prism_decision_get_allowed (asked) ? g_object_ref (asked)
                                                : check (f->policy, make_action (f, "make", "run", "1"));
  if (!prism_decision_get_allowed (decision))
    return;
  fd = open (effect, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  g_assert_cmpint (write (fd, "x", 1), ==, 1);
  close (fd);
  if (prism_suspension_step != NULL)
    prism_suspension_step ("effect");
  prism_suspensions_end (f->store, prism_suspension_get_id (prism_decision_get_suspension (decision)), "ok", NULL);
}

/* How often it happened, and that no second life makes it happen again. */
static void
live_on (Fixture *f, const char *effect)
{
  g_autoptr (GPtrArray) all = NULL;
  g_autofree char *text = NULL;
  PrismSuspensionState state;
  gsize before = 0, after = 0;

  g_file_get_contents (effect, &text, &before, NULL);
  g_clear_pointer (&text, g_free);
  live (f, effect);
  live (f, effect);
  all = prism_suspensions_list (f->store, NULL);
  g_assert_cmpuint (all->len, ==, 1);
  state = prism_suspension_get_state (all->pdata[0]);
  g_file_get_contents (effect, &text, &after, NULL);
  g_test_message ("before %" G_GSIZE_FORMAT ", after %" G_GSIZE_FORMAT ", state %d", before, after, (int)state);
  g_assert_cmpuint (after, <=, 1);
  /* Over, and done; or begun, and nobody knows. */
  if (state == PRISM_SUSPENSION_STATE_ENDED)
    g_assert_cmpuint (after, ==, 1);
  else
    g_assert_cmpint (state, ==, PRISM_SUSPENSION_STATE_STARTED);
}

static void
test_crash (Fixture *f, gconstpointer data)
{
  g_autofree char *effect = g_build_filename (f->base, "effect", NULL);
  const char *const argv[] = { "rm", "-rf", "--", f->folder, effect, NULL };
  int status = -1;
  guint deaths = 0;

  for (int after = 0; status != 0; after++)
    {
      pid_t pid = fork ();

      g_assert_cmpint (pid, >=, 0);
      if (pid == 0)
        {
          steps_left = after;
          prism_suspension_step = die_sometime;
          live (f, effect);
          _exit (0);
        }
      g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);
      g_assert_true (WIFEXITED (status));
      g_assert_true (WEXITSTATUS (status) == 0 || WEXITSTATUS (status) == 9);
      deaths += WEXITSTATUS (status) == 9;
      live_on (f, effect);
      g_assert_true (g_spawn_sync (NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL, NULL, NULL));
    }
  /* Four files, five steps each, and the effect. */
  g_assert_cmpuint (deaths, ==, 21);
}

/* What is half forgotten allows nothing, and its id is not used again. */
static void
test_half_forgotten (Fixture *f, gconstpointer data)
{
  for (int after = 0; after < 4; after++)
    {
      g_autofree char *call = g_strdup_printf ("%d", after);
      g_autofree char *id = expect (f->policy, make_action (f, "make", "run", call), FALSE, "approval-suspended");
      g_autofree char *next = NULL;
      g_autoptr (PrismDecision) decision = NULL;
      int status;
      pid_t pid;

      answer (f, id, ALLOW);
      g_free (expect (f->policy, make_action (f, "make", "run", call), TRUE, NULL));
      g_assert_true (prism_suspensions_end (f->store, id, "ok", NULL));
      pid = fork ();
      if (pid == 0)
        {
          steps_left = after;
          prism_suspension_step = die_sometime;
          prism_suspensions_forget (f->store, id, NULL);
          _exit (0);
        }
      g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);
      g_assert_cmpint (WEXITSTATUS (status), ==, 9);
      decision = check (f->policy, make_action (f, "make", "run", call));
      g_assert_false (prism_decision_get_allowed (decision));
    }
}

#define add(path, func) g_test_add (path, Fixture, NULL, set_up, func, tear_down)

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  add ("/suspensions/crash", test_crash);
  add ("/suspensions/half-forgotten", test_half_forgotten);
  add ("/suspensions/life", test_life);
  add ("/suspensions/final", test_final);
  add ("/suspensions/binding", test_binding);
  add ("/suspensions/after-restart", test_after_restart);
  add ("/suspensions/policy-of-today", test_policy_of_today);
  add ("/suspensions/unbound", test_unbound);
  add ("/suspensions/time", test_time);
  add ("/suspensions/unsafe", test_unsafe);
  add ("/suspensions/malformed", test_malformed);
  add ("/suspensions/bounds", test_bounds);
  add ("/suspensions/at-once", test_at_once);
  return g_test_run ();
}
