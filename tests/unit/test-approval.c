/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The approval policy: its order, who is asked, what is remembered, and that a question has
 * exactly one end. */
#include <glib/gstdio.h>
#include <string.h>

#include "prism-action-private.h"
#include "prism-approval-policy-private.h"
#include "prism-approval-store-private.h"

static char *root;

static PrismApprovalPolicy *
make_policy (PrismApprovalCache cache, gint64 timeout_ms)
{
  const char *const roots[] = { root, NULL };

  return g_object_new (PRISM_TYPE_APPROVAL_POLICY, "roots", roots, "approval-cache", cache, "approval-timeout-ms",
                       timeout_ms, NULL);
}

static PrismAction *
make_action (const char *command)
{
  PrismAction *action = prism_action_new ("shell", "execute");

  prism_action_set_command (action, command);
  prism_action_set_directory (action, root);
  prism_action_set_identity (action, "run-1", "session-1", "box");
  return action;
}

/* --- the order --------------------------------------------------------------------------------- */

static void
expect (PrismApprovalPolicy *policy, PrismAction *action, PrismVerdict verdict, const char *id)
{
  g_autoptr (PrismAction) owned = action;
  g_autoptr (PrismDecision) decision = prism_approval_policy_evaluate (policy, owned);

  g_test_message ("%s: %s", prism_action_get_kind (owned), prism_decision_get_reason (decision));
  g_assert_cmpint (prism_decision_get_verdict (decision), ==, verdict);
  g_assert_cmpstr (prism_decision_get_reason_id (decision), ==, id);
}

static PrismAction *
action_on (const char *kind, const char *operation, const char *path)
{
  PrismAction *action = prism_action_new (kind, operation);
  const char *const paths[] = { path, NULL };

  prism_action_set_paths (action, paths);
  return action;
}

static void
test_order (void)
{
  static const char *const looks[] = { "read", "repo_list", "repo_search", "glob", "ask_user_decision" };
  static const char *const changes[] = { "write", "edit", "delete", "move", "check", "unheard_of", "shell" };
  g_autoptr (PrismApprovalPolicy) none = prism_approval_policy_new (NULL);
  g_autoptr (PrismApprovalPolicy) policy = make_policy (PRISM_APPROVAL_CACHE_NONE, 0);
  const char *const roots[] = { root, NULL };
  g_autoptr (PrismApprovalPolicy) reads =
      g_object_new (PRISM_TYPE_APPROVAL_POLICY, "roots", roots, "read-only", TRUE, NULL);
  g_autofree char *inside = g_build_filename (root, "a", NULL);

  expect (none, prism_action_new ("ask_user_decision", "ask"), PRISM_VERDICT_DENY, "no-roots");
  for (guint i = 0; i < G_N_ELEMENTS (looks); i++)
    {
      expect (policy, action_on (looks[i], NULL, inside), PRISM_VERDICT_ALLOW, NULL);
      expect (reads, action_on (looks[i], NULL, inside), PRISM_VERDICT_ALLOW, NULL);
      expect (reads, action_on (looks[i], NULL, "/etc/x"), PRISM_VERDICT_DENY, "path-outside-roots");
    }
  for (guint i = 0; i < G_N_ELEMENTS (changes); i++)
    {
      expect (policy, action_on (changes[i], NULL, inside), PRISM_VERDICT_ASK, "approval-required");
      expect (policy, action_on (changes[i], NULL, "/etc/x"), PRISM_VERDICT_DENY, "path-outside-roots");
      expect (reads, action_on (changes[i], NULL, "/etc/x"), PRISM_VERDICT_DENY, "read-only");
    }
  expect (policy, action_on ("git", "status", inside), PRISM_VERDICT_ALLOW, NULL);
  expect (reads, action_on ("git", "diff", inside), PRISM_VERDICT_ALLOW, NULL);
  expect (policy, action_on ("git", "commit", inside), PRISM_VERDICT_ASK, "approval-required");
  expect (reads, action_on ("git", "apply_apply", inside), PRISM_VERDICT_DENY, "read-only");
  expect (policy, make_action ("sudo id"), PRISM_VERDICT_DENY, "default-deny");
}

/* A sandbox's names are compared in its own words, and never looked up on the host. */
static void
test_tree (void)
{
  static const struct
  {
    const char *path;
    gboolean inside;
  } rows[] = {
    { "/workspace", TRUE },
    { "/workspace/a/b", TRUE },
    { "/workspace/../etc/passwd", FALSE },
    { "/workspacex/a", FALSE },
    { "/etc/passwd", FALSE },
    { "workspace/a", FALSE },
    { "", FALSE },
    { "/workspace/a/../../x", FALSE },
    { "/workspace/a/../b", TRUE },
    { "/work", FALSE },
    { "//workspace//a", TRUE },
  };
  g_autoptr (PrismApprovalPolicy) policy = make_policy (PRISM_APPROVAL_CACHE_NONE, 0);

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      PrismAction *action = action_on ("read", "read", rows[i].path);

      prism_action_set_tree (action, "/workspace", root);
      expect (policy, action, rows[i].inside ? PRISM_VERDICT_ALLOW : PRISM_VERDICT_DENY,
              rows[i].inside ? NULL : "path-outside-roots");
    }
}

/* A root that is there in a sandbox only: a hosted one's, which no host folder is. */
static void
test_hosted_tree (void)
{
  const char *const roots[] = { "/nowhere-on-this-host", NULL };
  g_autoptr (PrismApprovalPolicy) policy = prism_approval_policy_new (roots);
  PrismAction *inside = action_on ("read", "read", "/nowhere-on-this-host/a");
  PrismAction *outside = action_on ("read", "read", "/nowhere-on-this-host/../etc/passwd");

  prism_action_set_tree (inside, "/nowhere-on-this-host", NULL);
  prism_action_set_tree (outside, "/nowhere-on-this-host", NULL);
  expect (policy, inside, PRISM_VERDICT_ALLOW, NULL);
  expect (policy, outside, PRISM_VERDICT_DENY, "path-outside-roots");
  expect (policy, action_on ("read", "read", "/nowhere-on-this-host/a"), PRISM_VERDICT_DENY, "path-outside-roots");
}

static void
test_environment (void)
{
  static const char *const words[] = { "true", NULL };
  static const char *const dangerous[] = { "LD_PRELOAD=x",
                                           "PATH=.",
                                           "BASH_ENV=x",
                                           "BASH_FUNC_x%%=()",
                                           "GIT_DIR=x",
                                           "NODE_OPTIONS=x",
                                           "PERL5OPT=x",
                                           "GCONV_PATH=.",
                                           "GIO_EXTRA_MODULES=x",
                                           "=x",
                                           "" };
  g_autoptr (PrismApprovalPolicy) policy = make_policy (PRISM_APPROVAL_CACHE_NONE, 0);
  g_autoptr (PrismCommandRule) rule = prism_command_rule_new_prefix (words, PRISM_VERDICT_ALLOW, NULL, NULL);

  prism_approval_policy_add_rule (policy, rule);
  for (guint i = 0; i < G_N_ELEMENTS (dangerous); i++)
    {
      PrismAction *action = make_action ("true");
      const char *const env[] = { "A=1", dangerous[i], NULL };

      prism_action_set_env (action, env);
      expect (policy, action, PRISM_VERDICT_ASK, "environment");
    }
  expect (policy, make_action ("true"), PRISM_VERDICT_ALLOW, NULL);
}

/* --- asking --------------------------------------------------------------------------------------- */

typedef struct
{
  guint asked;
  int answer; /* -1: keep the request; -2: drop it; -3: nobody can be asked */
  PrismApprovalRequest *kept;
} Approver;

static void
requested (PrismApprovalPolicy *policy, PrismApprovalRequest *request, gpointer data)
{
  Approver *approver = data;

  approver->asked++;
  g_assert_true (prism_approval_request_get_pending (request));
  if (approver->answer >= 0)
    g_assert_true (prism_approval_request_respond (request, (PrismApprovalAnswer)approver->answer));
  else if (approver->answer == -3)
    g_assert_true (prism_approval_request_refuse (request, NULL));
  else if (approver->answer == -1)
    g_set_object (&approver->kept, request);
}

static void
listen (PrismApprovalPolicy *policy, Approver *approver)
{
  g_signal_connect (policy, "approval-requested", G_CALLBACK (requested), approver);
}

static void
check (PrismApprovalPolicy *policy, PrismAction *action, gboolean allowed, const char *id, gboolean cached)
{
  g_autoptr (PrismAction) owned = action;
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismDecision) decision = prism_policy_check (PRISM_POLICY (policy), owned, NULL, &error);

  g_assert_no_error (error);
  g_assert_cmpint (prism_decision_get_allowed (decision), ==, allowed);
  g_assert_cmpstr (prism_decision_get_reason_id (decision), ==, id);
  g_assert_cmpint (prism_decision_get_cached (decision), ==, cached);
  g_assert_cmpint (prism_decision_get_exclusive (decision), ==, allowed);
}

static void
test_answers (void)
{
  g_autoptr (PrismApprovalPolicy) policy = make_policy (PRISM_APPROVAL_CACHE_NONE, 30000);
  g_autoptr (PrismApprovalPolicy) wrong = make_policy (PRISM_APPROVAL_CACHE_NONE, G_GINT64_CONSTANT (2147483648));
  Approver approver = { .answer = PRISM_APPROVAL_ANSWER_ALLOW };

  check (policy, make_action ("a"), FALSE, "approval-required", FALSE);
  listen (policy, &approver);
  listen (wrong, &approver);
  check (policy, make_action ("a"), TRUE, NULL, FALSE);
  approver.answer = PRISM_APPROVAL_ANSWER_DENY;
  check (policy, make_action ("a"), FALSE, "approval-denied", FALSE);
  approver.answer = -2;
  check (policy, make_action ("a"), FALSE, "approval-denied", FALSE);
  g_assert_cmpuint (approver.asked, ==, 3);
  check (wrong, make_action ("a"), FALSE, "approval-required", FALSE);
  approver.answer = -3;
  check (policy, make_action ("a"), FALSE, "approval-required", FALSE);
  check (policy, make_action ("sudo a"), FALSE, "default-deny", FALSE);
  g_assert_cmpuint (approver.asked, ==, 4);
}

static void
test_remembered (void)
{
  g_autoptr (PrismApprovalPolicy) policy = make_policy (PRISM_APPROVAL_CACHE_RUN, 0);
  Approver approver = { .answer = PRISM_APPROVAL_ANSWER_ALLOW };
  g_autoptr (GBytes) bytes = g_bytes_new_static ("other", 5);
  PrismAction *action;

  listen (policy, &approver);
  check (policy, make_action ("a"), TRUE, NULL, FALSE);
  check (policy, make_action ("a"), TRUE, NULL, TRUE);
  approver.answer = PRISM_APPROVAL_ANSWER_DENY;
  check (policy, make_action ("b"), FALSE, "approval-denied", FALSE);
  check (policy, make_action ("b"), FALSE, "approval-denied-cached", TRUE);
  /* Any difference asks again. */
  action = make_action ("a");
  prism_action_set_arguments (action, bytes);
  check (policy, action, FALSE, "approval-denied", FALSE);
  action = make_action ("a");
  prism_action_set_identity (action, "run-2", "session-1", "box");
  check (policy, action, FALSE, "approval-denied", FALSE);
  action = make_action ("a");
  prism_action_set_identity (action, "run-1", "session-1", "another box");
  check (policy, action, FALSE, "approval-denied", FALSE);
  /* Without an identity nothing is remembered. */
  for (guint i = 0; i < 2; i++)
    {
      action = make_action ("c");
      prism_action_set_identity (action, "", NULL, NULL);
      check (policy, action, FALSE, "approval-denied", FALSE);
    }
  g_assert_cmpuint (approver.asked, ==, 7);
  prism_approval_policy_forget (policy);
  approver.answer = PRISM_APPROVAL_ANSWER_ALLOW;
  check (policy, make_action ("b"), TRUE, NULL, FALSE);
}

static void
test_always (void)
{
  g_autoptr (PrismApprovalPolicy) policy = make_policy (PRISM_APPROVAL_CACHE_NONE, 0);
  Approver approver = { .answer = PRISM_APPROVAL_ANSWER_ALLOW };

  listen (policy, &approver);
  check (policy, make_action ("a"), TRUE, NULL, FALSE);
  approver.answer = PRISM_APPROVAL_ANSWER_ALLOW_ALWAYS;
  check (policy, make_action ("a"), TRUE, NULL, FALSE);
  approver.answer = PRISM_APPROVAL_ANSWER_DENY;
  check (policy, make_action ("a"), TRUE, NULL, TRUE);
  check (policy, make_action ("a b"), FALSE, "approval-denied", FALSE);
  g_assert_cmpuint (approver.asked, ==, 3);
}

/* The folder is what it is, and not what it is called. */
static void
test_directory (void)
{
  g_autoptr (PrismApprovalPolicy) policy = make_policy (PRISM_APPROVAL_CACHE_RUN, 0);
  Approver approver = { .answer = PRISM_APPROVAL_ANSWER_ALLOW };
  g_autofree char *folder = g_build_filename (root, "made", NULL);
  g_autofree char *alias = g_build_filename (root, ".", "made", "..", "made", NULL);
  g_autofree char *moved = g_build_filename (root, "moved", NULL);
  static const guint asked[] = { 1, 1, 2 };
  const char *const names[] = { folder, alias, folder };

  listen (policy, &approver);
  g_assert_cmpint (g_mkdir (folder, 0755), ==, 0);
  for (guint i = 0; i < G_N_ELEMENTS (asked); i++)
    {
      PrismAction *action = make_action ("make clean");

      if (i == 2)
        {
          g_assert_cmpint (g_rename (folder, moved), ==, 0);
          g_assert_cmpint (g_mkdir (folder, 0755), ==, 0);
        }
      prism_action_set_directory (action, names[i]);
      check (policy, action, TRUE, NULL, i == 1);
      g_assert_cmpuint (approver.asked, ==, asked[i]);
    }
  g_rmdir (folder);
  g_rmdir (moved);
}

static void
test_bounded (void)
{
  g_autoptr (PrismApprovalStore) store = prism_approval_store_new ();
  gboolean allowed;

  for (guint i = 0; i < PRISM_APPROVAL_CACHE_ENTRIES + 10; i++)
    {
      g_autofree char *key = g_strdup_printf ("%u", i);

      prism_approval_store_remember (store, key, TRUE);
      prism_approval_store_remember (store, key, i % 2);
    }
  g_assert_cmpuint (prism_approval_store_get_size (store), ==, PRISM_APPROVAL_CACHE_ENTRIES);
  g_assert_false (prism_approval_store_look_up (store, "9", &allowed));
  g_assert_true (prism_approval_store_look_up (store, "10", &allowed));
  g_assert_false (allowed);
  g_assert_true (prism_approval_store_look_up (store, "11", &allowed));
  g_assert_true (allowed);
}

/* --- at the same time --------------------------------------------------------------------------------- */

typedef struct
{
  PrismDecision *decision;
  GError *error;
  guint done;
} Waiting;

static void
checked (GObject *source, GAsyncResult *result, gpointer data)
{
  Waiting *waiting = data;

  waiting->done++;
  waiting->decision = prism_policy_check_finish (PRISM_POLICY (source), result, &waiting->error);
}

static void
start (PrismApprovalPolicy *policy, const char *command, GCancellable *cancellable, Waiting *waiting)
{
  g_autoptr (PrismAction) action = make_action (command);

  *waiting = (Waiting){ NULL };
  prism_policy_check_async (PRISM_POLICY (policy), action, cancellable, checked, waiting);
}

static void
wait_for (Waiting *waiting)
{
  while (waiting->done == 0)
    g_main_context_iteration (NULL, TRUE);
  g_assert_cmpuint (waiting->done, ==, 1);
}

static void
clear (Waiting *waiting)
{
  g_clear_object (&waiting->decision);
  g_clear_error (&waiting->error);
}

/* Two who want the same are one question, and have one answer. */
static void
test_joined (void)
{
  g_autoptr (PrismApprovalPolicy) policy = make_policy (PRISM_APPROVAL_CACHE_NONE, 0);
  Approver approver = { .answer = -1 };
  Waiting first, second, third;

  listen (policy, &approver);
  start (policy, "a", NULL, &first);
  start (policy, "a", NULL, &second);
  start (policy, "b", NULL, &third);
  while (approver.asked < 2)
    g_main_context_iteration (NULL, TRUE);
  g_assert_cmpuint (approver.asked, ==, 2);
  /* The request that was kept is the last one's. */
  g_assert_true (prism_approval_request_respond (approver.kept, PRISM_APPROVAL_ANSWER_ALLOW));
  g_assert_false (prism_approval_request_respond (approver.kept, PRISM_APPROVAL_ANSWER_DENY));
  wait_for (&third);
  g_assert_true (prism_decision_get_allowed (third.decision));
  /* Nobody kept the request for `a`: that was a no for both who waited. */
  wait_for (&first);
  wait_for (&second);
  g_assert_cmpstr (prism_decision_get_reason_id (first.decision), ==, "approval-denied");
  g_assert_cmpstr (prism_decision_get_reason_id (second.decision), ==, "approval-denied");
  clear (&first);
  clear (&second);
  clear (&third);
  g_clear_object (&approver.kept);
}

/* One of them goes, and the others still wait. */
static void
test_joined_answer (void)
{
  g_autoptr (PrismApprovalPolicy) policy = make_policy (PRISM_APPROVAL_CACHE_NONE, 0);
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  Approver approver = { .answer = -1 };
  Waiting waiting[3];

  listen (policy, &approver);
  for (guint i = 0; i < 3; i++)
    start (policy, "a", i == 0 ? cancellable : NULL, &waiting[i]);
  while (approver.asked == 0)
    g_main_context_iteration (NULL, TRUE);
  g_cancellable_cancel (cancellable);
  wait_for (&waiting[0]);
  g_assert_error (waiting[0].error, PRISM_POLICY_ERROR, PRISM_POLICY_ERROR_CANCELLED);
  g_assert_true (prism_approval_request_get_pending (approver.kept));
  g_assert_true (prism_approval_request_respond (approver.kept, PRISM_APPROVAL_ANSWER_ALLOW));
  for (guint i = 1; i < 3; i++)
    {
      wait_for (&waiting[i]);
      g_assert_true (prism_decision_get_allowed (waiting[i].decision));
    }
  g_assert_cmpuint (approver.asked, ==, 1);
  for (guint i = 0; i < 3; i++)
    clear (&waiting[i]);
  g_clear_object (&approver.kept);
}

static void
noted (GObject *object, GParamSpec *pspec, gpointer data)
{
  (*(guint *)data)++;
}

/* After the deadline, and after everybody cancelled, an answer is too late, and is not remembered. */
static void
test_late (void)
{
  g_autoptr (PrismApprovalPolicy) policy = make_policy (PRISM_APPROVAL_CACHE_RUN, 50);
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  Approver approver = { .answer = -1 };
  Waiting waiting;
  guint told = 0;

  listen (policy, &approver);
  start (policy, "a", NULL, &waiting);
  while (approver.kept == NULL)
    g_main_context_iteration (NULL, TRUE);
  g_signal_connect (approver.kept, "notify::pending", G_CALLBACK (noted), &told);
  wait_for (&waiting);
  g_assert_cmpstr (prism_decision_get_reason_id (waiting.decision), ==, "approval-timed-out");
  g_assert_false (prism_approval_request_respond (approver.kept, PRISM_APPROVAL_ANSWER_ALLOW));
  while (told == 0)
    g_main_context_iteration (NULL, TRUE);
  clear (&waiting);
  g_clear_object (&approver.kept);

  start (policy, "a", cancellable, &waiting);
  while (approver.kept == NULL)
    g_main_context_iteration (NULL, TRUE);
  g_assert_cmpuint (approver.asked, ==, 2);
  g_cancellable_cancel (cancellable);
  g_assert_false (prism_approval_request_respond (approver.kept, PRISM_APPROVAL_ANSWER_ALLOW));
  wait_for (&waiting);
  g_assert_error (waiting.error, PRISM_POLICY_ERROR, PRISM_POLICY_ERROR_CANCELLED);
  clear (&waiting);
  g_assert_cmpuint (prism_approval_store_get_size (prism_approval_policy_get_store (policy)), ==, 0);
  g_clear_object (&approver.kept);
}

/* Cancelled before it is asked: nobody is. */
static void
test_cancelled (void)
{
  g_autoptr (PrismApprovalPolicy) policy = make_policy (PRISM_APPROVAL_CACHE_NONE, 0);
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (PrismAction) action = make_action ("a");
  g_autoptr (GError) error = NULL;
  Approver approver = { .answer = PRISM_APPROVAL_ANSWER_ALLOW };

  listen (policy, &approver);
  g_cancellable_cancel (cancellable);
  g_assert_null (prism_policy_check (PRISM_POLICY (policy), action, cancellable, &error));
  g_assert_error (error, PRISM_POLICY_ERROR, PRISM_POLICY_ERROR_CANCELLED);
  g_assert_cmpuint (approver.asked, ==, 0);
}

/* A synchronous check waits for an answer from another thread, and for its deadline. */
static gpointer
respond_in_thread (gpointer data)
{
  g_autoptr (PrismApprovalRequest) request = data;

  prism_approval_request_respond (request, PRISM_APPROVAL_ANSWER_ALLOW);
  return NULL;
}

static void
hand_to_thread (PrismApprovalPolicy *policy, PrismApprovalRequest *request, gpointer data)
{
  *(GThread **)data = g_thread_new ("approver", respond_in_thread, g_object_ref (request));
}

static void
test_thread (void)
{
  g_autoptr (PrismApprovalPolicy) policy = make_policy (PRISM_APPROVAL_CACHE_NONE, 30000);
  g_autoptr (PrismApprovalPolicy) short_one = make_policy (PRISM_APPROVAL_CACHE_NONE, 30);
  Approver approver = { .answer = -1 };
  GThread *thread = NULL;

  g_signal_connect (policy, "approval-requested", G_CALLBACK (hand_to_thread), &thread);
  check (policy, make_action ("a"), TRUE, NULL, FALSE);
  g_thread_join (thread);
  listen (short_one, &approver);
  check (short_one, make_action ("a"), FALSE, "approval-timed-out", FALSE);
  g_assert_false (prism_approval_request_get_pending (approver.kept));
  g_clear_object (&approver.kept);
}

/* Answer, cancel and deadline at the same time, many times: one end each, and a yes that
 * was taken was taken by whoever still waited. */
typedef struct
{
  PrismApprovalRequest *request;
  GCancellable *cancellable;
  gboolean cancel;
  gboolean counted;
} Race;

static gpointer
race (gpointer data)
{
  Race *self = data;

  if (self->cancel)
    g_cancellable_cancel (self->cancellable);
  else
    self->counted = prism_approval_request_respond (self->request, PRISM_APPROVAL_ANSWER_ALLOW);
  return NULL;
}

static void
test_races (void)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (7);
  guint allowed = 0, cancelled = 0;

  for (guint i = 0; i < 400; i++)
    {
      g_autoptr (PrismApprovalPolicy) policy = make_policy (PRISM_APPROVAL_CACHE_NONE, i % 3 == 0 ? 1 : 0);
      g_autoptr (GCancellable) cancellable = g_cancellable_new ();
      Approver approver = { .answer = -1 };
      Waiting waiting;
      Race races[2];
      GThread *threads[2];

      listen (policy, &approver);
      start (policy, "a", cancellable, &waiting);
      while (approver.kept == NULL)
        g_main_context_iteration (NULL, TRUE);
      for (guint n = 0; n < 2; n++)
        {
          races[n] = (Race){ approver.kept, cancellable, n == (guint)g_rand_int_range (random, 0, 2), FALSE };
          threads[n] = g_thread_new ("race", race, &races[n]);
        }
      wait_for (&waiting);
      for (guint n = 0; n < 2; n++)
        g_thread_join (threads[n]);
      g_assert_false (prism_approval_request_get_pending (approver.kept));
      g_assert_true ((waiting.decision == NULL) != (waiting.error == NULL));
      g_assert_false (races[0].counted && races[1].counted);
      if (waiting.decision != NULL && prism_decision_get_allowed (waiting.decision))
        {
          g_assert_true (races[0].counted || races[1].counted);
          allowed++;
        }
      else
        cancelled++;
      clear (&waiting);
      g_clear_object (&approver.kept);
    }
  g_test_message ("%u allowed, %u not", allowed, cancelled);
}

int
main (int argc, char **argv)
{
  int result;

  g_test_init (&argc, &argv, NULL);
  root = g_dir_make_tmp ("prism-approval-XXXXXX", NULL);
  g_assert_nonnull (root);
  g_test_add_func ("/approval/order", test_order);
  g_test_add_func ("/approval/tree", test_tree);
  g_test_add_func ("/approval/hosted-tree", test_hosted_tree);
  g_test_add_func ("/approval/environment", test_environment);
  g_test_add_func ("/approval/answers", test_answers);
  g_test_add_func ("/approval/remembered", test_remembered);
  g_test_add_func ("/approval/always", test_always);
  g_test_add_func ("/approval/directory", test_directory);
  g_test_add_func ("/approval/bounded", test_bounded);
  g_test_add_func ("/approval/joined", test_joined);
  g_test_add_func ("/approval/joined-answer", test_joined_answer);
  g_test_add_func ("/approval/late", test_late);
  g_test_add_func ("/approval/cancelled", test_cancelled);
  g_test_add_func ("/approval/thread", test_thread);
  g_test_add_func ("/approval/races", test_races);
  result = g_test_run ();
  g_rmdir (root);
  g_free (root);
  return result;
}
