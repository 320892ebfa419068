/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The contract of PrismPolicy, against the interface only: whatever an implementation does
 * there is one decision or one error, both deny unless the decision says yes, cancelling
 * ends the wait, and answers come where they were asked for. Run for the stock policy, and
 * for one that does each thing that an implementation might. */
#include <libprism/prism.h>

#include <string.h>

#define DEADLINE_S 20

/* --- a policy that does as it is told --------------------------------------------------------- */

typedef enum
{
  SAY_YES,
  SAY_NO,
  SAY_ASK,
  FAIL,
  DROP,
  LATER,  /* from an idle of the context that is current */
  THREAD, /* from another thread */
  NEVER,
} Mood;

#define TEST_TYPE_POLICY (test_policy_get_type ())
G_DECLARE_FINAL_TYPE (TestPolicy, test_policy, TEST, POLICY, GObject)

struct _TestPolicy
{
  GObject parent_instance;
  Mood mood;
  PrismCheckOperation *kept;
  guint asked;
};

static void test_policy_iface (PrismPolicyInterface *iface);

G_DEFINE_FINAL_TYPE_WITH_CODE (TestPolicy,
                               test_policy,
                               G_TYPE_OBJECT,
                               G_IMPLEMENT_INTERFACE (PRISM_TYPE_POLICY, test_policy_iface))

static void
test_policy_finalize (GObject *object)
{
  g_clear_object (&TEST_POLICY (object)->kept);
  G_OBJECT_CLASS (test_policy_parent_class)->finalize (object);
}

static void
test_policy_class_init (TestPolicyClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = test_policy_finalize;
}

static void
test_policy_init (TestPolicy *self)
{
}

static gboolean
say_yes (gpointer data)
{
  g_autoptr (PrismDecision) yes = prism_decision_new_allow ();

  prism_check_operation_complete (data, yes);
  return G_SOURCE_REMOVE;
}

static gpointer
say_yes_in_thread (gpointer data)
{
  g_autoptr (PrismCheckOperation) operation = data;

  say_yes (operation);
  return NULL;
}

static void
say_yes_later (PrismCheckOperation *operation)
{
  g_autoptr (GSource) source = g_idle_source_new ();
  g_autoptr (GMainContext) context = g_main_context_ref_thread_default ();

  g_source_set_callback (source, say_yes, g_object_ref (operation), g_object_unref);
  g_source_attach (source, context);
}

static void
test_policy_check (PrismPolicy *policy, PrismCheckOperation *operation)
{
  TestPolicy *self = TEST_POLICY (policy);
  g_autoptr (PrismDecision) no = prism_decision_new_deny ("test", "because");
  g_autoptr (PrismDecision) ask = g_object_new (PRISM_TYPE_DECISION, "verdict", PRISM_VERDICT_ASK, NULL);

  self->asked++;
  switch (self->mood)
    {
    case SAY_YES:
      say_yes (operation);
      break;
    case SAY_NO:
      prism_check_operation_complete (operation, no);
      break;
    case SAY_ASK:
      prism_check_operation_complete (operation, ask);
      break;
    case FAIL:
      prism_operation_fail_literal (PRISM_OPERATION (operation), PRISM_POLICY_ERROR, PRISM_POLICY_ERROR_UNREADABLE,
                                    "cannot tell");
      break;
    case LATER:
      say_yes_later (operation);
      break;
    case THREAD:
      g_thread_unref (g_thread_new ("policy", say_yes_in_thread, g_object_ref (operation)));
      break;
    case NEVER:
      g_set_object (&self->kept, operation);
      break;
    case DROP:
    default:
      break;
    }
}

static void
test_policy_iface (PrismPolicyInterface *iface)
{
  iface->check = test_policy_check;
}

static PrismPolicy *
make (Mood mood)
{
  TestPolicy *self = g_object_new (TEST_TYPE_POLICY, NULL);

  self->mood = mood;
  return PRISM_POLICY (self);
}

/* --- asking ----------------------------------------------------------------------------------------- */

typedef struct
{
  PrismDecision *decision;
  GError *error;
  gboolean done;
  GThread *thread;
} Answer;

static void
answered (GObject *source, GAsyncResult *result, gpointer data)
{
  Answer *answer = data;

  answer->decision = prism_policy_check_finish (PRISM_POLICY (source), result, &answer->error);
  answer->thread = g_thread_self ();
  answer->done = TRUE;
}

static gboolean
too_late (gpointer data)
{
  g_error ("no answer in %d seconds", DEADLINE_S);
  return G_SOURCE_REMOVE;
}

static void
wait_for (Answer *answer)
{
  guint id = g_timeout_add_seconds (DEADLINE_S, too_late, NULL);

  while (!answer->done)
    g_main_context_iteration (NULL, TRUE);
  g_source_remove (id);
  g_assert_true (answer->thread == g_thread_self ());
  g_assert_true ((answer->decision == NULL) != (answer->error == NULL));
}

static void
clear (Answer *answer)
{
  g_clear_object (&answer->decision);
  g_clear_error (&answer->error);
}

static void
expect (const Answer *answer, gboolean allowed, int code, const char *id)
{
  if (code >= 0)
    {
      g_assert_error (answer->error, PRISM_POLICY_ERROR, code);
      return;
    }
  g_assert_no_error (answer->error);
  g_assert_cmpint (prism_decision_get_allowed (answer->decision), ==, allowed);
  g_assert_cmpstr (prism_decision_get_reason_id (answer->decision), ==, id);
  if (!allowed)
    {
      g_autoptr (GError) error = NULL;

      g_assert_nonnull (prism_decision_get_reason (answer->decision));
      g_assert_false (prism_decision_enforce (answer->decision, &error));
      g_assert_error (error, PRISM_POLICY_ERROR, PRISM_POLICY_ERROR_DENIED);
    }
}

/* Both ways to ask, the same answer. */
static void
ask (PrismPolicy *policy, PrismAction *action, gboolean allowed, int code, const char *id)
{
  Answer answer = { NULL };

  answer.decision = prism_policy_check (policy, action, NULL, &answer.error);
  expect (&answer, allowed, code, id);
  clear (&answer);
  answer = (Answer){ NULL };
  prism_policy_check_async (policy, action, NULL, answered, &answer);
  g_assert_false (answer.done);
  wait_for (&answer);
  expect (&answer, allowed, code, id);
  clear (&answer);
}

static void
test_moods (void)
{
  static const struct
  {
    Mood mood;
    gboolean allowed;
    int code;
    const char *id;
  } rows[] = {
    { SAY_YES, TRUE, -1, NULL },
    { SAY_NO, FALSE, -1, "test" },
    { SAY_ASK, FALSE, -1, "approval-required" },
    { FAIL, FALSE, PRISM_POLICY_ERROR_UNREADABLE, NULL },
    { DROP, FALSE, PRISM_POLICY_ERROR_FAILED, NULL },
    { LATER, TRUE, -1, NULL },
    { THREAD, TRUE, -1, NULL },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (PrismPolicy) policy = make (rows[i].mood);
      g_autoptr (PrismAction) action = prism_action_new ("shell", "execute");

      ask (policy, action, rows[i].allowed, rows[i].code, rows[i].id);
      g_assert_cmpuint (TEST_POLICY (policy)->asked, ==, 2);
    }
}

static gpointer
cancel_soon (gpointer data)
{
  g_cancellable_cancel (data);
  return NULL;
}

static void
test_cancel (void)
{
  g_autoptr (PrismPolicy) policy = make (NEVER);
  g_autoptr (PrismAction) action = prism_action_new ("shell", "execute");
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GCancellable) second = g_cancellable_new ();
  g_autoptr (PrismCheckOperation) late = NULL;
  Answer answer = { NULL };
  GThread *thread;

  prism_policy_check_async (policy, action, cancellable, answered, &answer);
  g_cancellable_cancel (cancellable);
  wait_for (&answer);
  g_assert_error (answer.error, PRISM_POLICY_ERROR, PRISM_POLICY_ERROR_CANCELLED);
  clear (&answer);
  /* Who answers now is not heard. */
  late = g_steal_pointer (&TEST_POLICY (policy)->kept);
  g_assert_true (g_cancellable_is_cancelled (prism_operation_get_cancellable (PRISM_OPERATION (late))));
  say_yes (late);

  thread = g_thread_new ("cancel", cancel_soon, second);
  answer = (Answer){ NULL };
  answer.decision = prism_policy_check (policy, action, second, &answer.error);
  g_thread_join (thread);
  g_assert_error (answer.error, PRISM_POLICY_ERROR, PRISM_POLICY_ERROR_CANCELLED);
  clear (&answer);
}

static void
test_many (void)
{
  g_autoptr (PrismPolicy) policy = make (THREAD);
  Answer answers[100] = { { NULL } };

  for (guint i = 0; i < G_N_ELEMENTS (answers); i++)
    {
      g_autoptr (PrismAction) action = prism_action_new ("shell", "execute");

      TEST_POLICY (policy)->mood = i % 2 == 0 ? THREAD : LATER;
      prism_policy_check_async (policy, action, NULL, answered, &answers[i]);
    }
  for (guint i = 0; i < G_N_ELEMENTS (answers); i++)
    {
      wait_for (&answers[i]);
      expect (&answers[i], TRUE, -1, NULL);
      clear (&answers[i]);
    }
}

/* What was asked about cannot become something else. */
static void
test_frozen (void)
{
  g_autoptr (PrismPolicy) policy = make (SAY_YES);
  g_autoptr (PrismAction) action = prism_action_new ("shell", "execute");

  prism_action_set_command (action, "true");
  ask (policy, action, TRUE, -1, NULL);
  g_test_expect_message ("prism", G_LOG_LEVEL_CRITICAL, "*cannot change any more*");
  prism_action_set_command (action, "false");
  g_test_assert_expected_messages ();
  g_assert_cmpstr (prism_action_get_command (action), ==, "true");
}

/* --- the stock policy ----------------------------------------------------------------------------------- */

static void
answer_request (PrismApprovalPolicy *policy, PrismApprovalRequest *request, gpointer data)
{
  g_assert_true (prism_approval_request_respond (request, *(PrismApprovalAnswer *)data));
}

static void
test_stock (void)
{
  const char *const roots[] = { "/", NULL }, *const words[] = { "true", NULL };
  g_autoptr (PrismApprovalPolicy) policy = prism_approval_policy_new (roots);
  g_autoptr (PrismCommandRule) rule = prism_command_rule_new_prefix (words, PRISM_VERDICT_ALLOW, NULL, NULL);
  PrismApprovalAnswer answer = PRISM_APPROVAL_ANSWER_ALLOW;
  g_autoptr (PrismAction) allowed = prism_action_new ("shell", "execute");
  g_autoptr (PrismAction) asked = prism_action_new ("shell", "execute");
  g_autoptr (PrismAction) denied = prism_action_new ("shell", "execute");

  prism_approval_policy_add_rule (policy, rule);
  prism_action_set_command (allowed, "true");
  prism_action_set_command (asked, "other");
  prism_action_set_command (denied, "sudo other");
  ask (PRISM_POLICY (policy), allowed, TRUE, -1, NULL);
  ask (PRISM_POLICY (policy), denied, FALSE, -1, "default-deny");
  ask (PRISM_POLICY (policy), asked, FALSE, -1, "approval-required");
  g_signal_connect (policy, "approval-requested", G_CALLBACK (answer_request), &answer);
  ask (PRISM_POLICY (policy), asked, TRUE, -1, NULL);
  answer = PRISM_APPROVAL_ANSWER_DENY;
  ask (PRISM_POLICY (policy), asked, FALSE, -1, "approval-denied");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/policy/moods", test_moods);
  g_test_add_func ("/policy/cancel", test_cancel);
  g_test_add_func ("/policy/many", test_many);
  g_test_add_func ("/policy/frozen", test_frozen);
  g_test_add_func ("/policy/stock", test_stock);
  return g_test_run ();
}
