/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The stock policy. Its order is fixed, and the first denial wins:
 *
 *   roots → read-only → paths → rules about commands → who is asked
 *
 * Trusted: whoever made the policy, and what its roots are named. Not trusted: every word
 * of an action. What a remembered answer can do is to answer a question; it never undoes a
 * denial, since it is looked at after all of them. About commands this is advice, and the
 * sandbox is the boundary: a program that may run can do what its sandbox lets it do. */
#include "prism-approval-policy-private.h"

#include <string.h>

#include "prism-approval-store-private.h"
#include "prism-approval-suspend-private.h"
#include "prism-command-judge-private.h"
#include "prism-decision-private.h"
#include "prism-enum-types.h"
#include "prism-path-guard-private.h"

#define DEFAULT_TIMEOUT_MS 30000

struct _PrismApprovalPolicy
{
  GObject parent_instance;

  char **roots;
  gboolean read_only, deny_metacharacters;
  PrismApprovalCache cache;
  gint64 timeout_ms;
  GPtrArray *rules;
  int frozen; /* atomic: rules are not added any more */

  GMutex lock; /* for making it */
  PrismPathGuard *guard;
  char *guard_fault;
  PrismApprovalStore *store;
  PrismSuspensions *suspensions; /* (nullable): nobody is waited for */
};

enum
{
  PROP_0,
  PROP_ROOTS,
  PROP_READ_ONLY,
  PROP_DENY_METACHARACTERS,
  PROP_APPROVAL_CACHE,
  PROP_APPROVAL_TIMEOUT_MS,
  N_PROPS
};

static GParamSpec *props[N_PROPS];
static guint requested_signal;

static void policy_init (PrismPolicyInterface *iface);

/**
 * PrismApprovalPolicy:
 *
 * The standard policy: actions stay in trusted folders, rules decide about commands, and
 * what needs approval is asked for by the signal `approval-requested`. Where nobody listens
 * to that, it is denied.
 *
 * Since: 1.0
 */
G_DEFINE_FINAL_TYPE_WITH_CODE (PrismApprovalPolicy,
                               prism_approval_policy,
                               G_TYPE_OBJECT,
                               G_IMPLEMENT_INTERFACE (PRISM_TYPE_POLICY, policy_init))

static void
prism_approval_policy_set_property (GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  PrismApprovalPolicy *self = PRISM_APPROVAL_POLICY (object);

  switch (id)
    {
    case PROP_ROOTS:
      self->roots = g_value_dup_boxed (value);
      break;
    case PROP_READ_ONLY:
      self->read_only = g_value_get_boolean (value);
      break;
    case PROP_DENY_METACHARACTERS:
      self->deny_metacharacters = g_value_get_boolean (value);
      break;
    case PROP_APPROVAL_CACHE:
      self->cache = g_value_get_enum (value);
      break;
    case PROP_APPROVAL_TIMEOUT_MS:
      self->timeout_ms = g_value_get_int64 (value);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    }
}

static void
prism_approval_policy_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  PrismApprovalPolicy *self = PRISM_APPROVAL_POLICY (object);

  switch (id)
    {
    case PROP_ROOTS:
      g_value_set_boxed (value, self->roots);
      break;
    case PROP_READ_ONLY:
      g_value_set_boolean (value, self->read_only);
      break;
    case PROP_DENY_METACHARACTERS:
      g_value_set_boolean (value, self->deny_metacharacters);
      break;
    case PROP_APPROVAL_CACHE:
      g_value_set_enum (value, self->cache);
      break;
    case PROP_APPROVAL_TIMEOUT_MS:
      g_value_set_int64 (value, self->timeout_ms);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
    }
}

static void
prism_approval_policy_finalize (GObject *object)
{
  PrismApprovalPolicy *self = PRISM_APPROVAL_POLICY (object);

  g_strfreev (self->roots);
  g_ptr_array_unref (self->rules);
  g_clear_object (&self->guard);
  g_free (self->guard_fault);
  prism_approval_store_unref (self->store);
  g_clear_object (&self->suspensions);
  g_mutex_clear (&self->lock);
  G_OBJECT_CLASS (prism_approval_policy_parent_class)->finalize (object);
}

static void
install_properties (GObjectClass *object_class)
{
  const GParamFlags fixed = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_CONSTRUCT_ONLY;

  /**
   * PrismApprovalPolicy:roots:
   *
   * The folders that actions stay in: absolute paths. They are opened when the first
   * action is looked at. Without any, everything is denied.
   *
   * Since: 1.0
   */
  props[PROP_ROOTS] = g_param_spec_boxed ("roots", NULL, NULL, G_TYPE_STRV, fixed);
  /**
   * PrismApprovalPolicy:read-only:
   *
   * Whether only actions without effect may happen.
   *
   * Since: 1.0
   */
  props[PROP_READ_ONLY] = g_param_spec_boolean ("read-only", NULL, NULL, FALSE, fixed);
  /**
   * PrismApprovalPolicy:deny-metacharacters:
   *
   * Whether a line that is more than one plain command needs approval though rules allow
   * each of its commands.
   *
   * Since: 1.0
   */
  props[PROP_DENY_METACHARACTERS] = g_param_spec_boolean ("deny-metacharacters", NULL, NULL, TRUE, fixed);
  /**
   * PrismApprovalPolicy:approval-cache:
   *
   * Which answers are remembered.
   *
   * Since: 1.0
   */
  props[PROP_APPROVAL_CACHE] =
      g_param_spec_enum ("approval-cache", NULL, NULL, PRISM_TYPE_APPROVAL_CACHE, PRISM_APPROVAL_CACHE_NONE, fixed);
  /**
   * PrismApprovalPolicy:approval-timeout-ms:
   *
   * How long an answer may take, in milliseconds, at most 2147483647; 0: as long as nobody
   * cancels. What is out of this range denies everything that needs approval.
   *
   * Since: 1.0
   */
  props[PROP_APPROVAL_TIMEOUT_MS] =
      g_param_spec_int64 ("approval-timeout-ms", NULL, NULL, G_MININT64, G_MAXINT64, DEFAULT_TIMEOUT_MS, fixed);
  g_object_class_install_properties (object_class, N_PROPS, props);
}

static void
prism_approval_policy_class_init (PrismApprovalPolicyClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->set_property = prism_approval_policy_set_property;
  object_class->get_property = prism_approval_policy_get_property;
  object_class->finalize = prism_approval_policy_finalize;
  install_properties (object_class);
  /**
   * PrismApprovalPolicy::approval-requested:
   * @self: a policy
   * @request: what is asked
   *
   * Somebody is to decide. The handler may answer at once, or keep @request and answer
   * later from anywhere; if nobody keeps it and nobody answered, that is a no. It is
   * emitted in the context that was current when the check began, or in the calling thread
   * of a synchronous one.
   *
   * Since: 1.0
   */
  requested_signal = g_signal_new ("approval-requested", G_TYPE_FROM_CLASS (klass), G_SIGNAL_RUN_LAST, 0, NULL, NULL,
                                   NULL, G_TYPE_NONE, 1, PRISM_TYPE_APPROVAL_REQUEST);
}

static void
prism_approval_policy_init (PrismApprovalPolicy *self)
{
  self->deny_metacharacters = TRUE;
  self->timeout_ms = DEFAULT_TIMEOUT_MS;
  self->rules = g_ptr_array_new_with_free_func ((GDestroyNotify)prism_command_rule_unref);
  self->store = prism_approval_store_new ();
  g_mutex_init (&self->lock);
}

/* --- paths ------------------------------------------------------------------------------------ */

static PrismPathGuard *
get_guard (PrismApprovalPolicy *self)
{
  g_mutex_lock (&self->lock);
  if (self->guard == NULL)
    {
      g_autoptr (GError) error = NULL;

      self->guard = prism_path_guard_new_for_those_there ((const char *const *)self->roots, &error);
      if (error != NULL)
        self->guard_fault = g_strdup (error->message);
    }
  g_mutex_unlock (&self->lock);
  return self->guard;
}

/* A name of a sandbox's tree, in the words of the host; NULL: it is none. */
static char *
name_on_host (const char *path, const char *tree_root, const char *workspace)
{
  g_autofree char *inside = NULL;
  g_autofree char *root = NULL;

  if (path[0] != '/' || !prism_path_is_inside (path, tree_root))
    return NULL;
  inside = prism_path_simplify (path);
  if (workspace == NULL)
    return g_steal_pointer (&inside);
  root = prism_path_simplify (tree_root);
  return g_build_filename (workspace, inside + (root[1] != '\0' ? strlen (root) : 0), NULL);
}

/* In a sandbox's tree by name only: whoever holds the tree looks it up there. */
static gboolean
check_inside (PrismApprovalPolicy *self, PrismAction *action, const char *path, GError **error)
{
  const char *tree_root = prism_action_get_tree_root (action);
  g_autofree char *name = name_on_host (path, tree_root, prism_action_get_workspace (action));
  g_autofree char *real = NULL;

  if (name != NULL && prism_path_guard_has_name (get_guard (self), name))
    return TRUE;
  if (name != NULL && prism_action_get_workspace (action) != NULL)
    {
      g_autofree char *resolved = realpath (prism_action_get_workspace (action), NULL);

      real = resolved != NULL ? name_on_host (path, tree_root, resolved) : NULL;
      if (real != NULL && prism_path_guard_has_name (get_guard (self), real))
        return TRUE;
    }
  g_set_error (error, PRISM_POLICY_ERROR, PRISM_POLICY_ERROR_DENIED, "%s is outside of the trusted part of %s", path,
               tree_root);
  return FALSE;
}

/* @object: what whoever does it has open; another one here means that the name was given to
 * something else in between. NULL: there is only the name. */
static gboolean
check_path (PrismApprovalPolicy *self,
            PrismAction *action,
            const char *path,
            PrismPathIntent intent,
            const PrismPathIdentity *object,
            GError **error)
{
  if (prism_action_get_tree_root (action) != NULL)
    return check_inside (self, action, path, error);
  if (!prism_path_guard_check (get_guard (self), path, intent, error))
    return FALSE;
  if (object == NULL || prism_path_guard_is_object (get_guard (self), path, intent, object))
    return TRUE;
  g_set_error (error, PRISM_POLICY_ERROR, PRISM_POLICY_ERROR_DENIED, "%s became something else while it was checked",
               path);
  return FALSE;
}

static PrismDecision *
deny_path (PrismApprovalPolicy *self, const char *path, const GError *error)
{
  g_autofree char *visible = prism_visible_text (error->message, 2000, NULL);
  g_autofree char *reason = g_strdup_printf ("%s%s%s", visible, self->guard_fault != NULL ? "; " : "",
                                             self->guard_fault != NULL ? self->guard_fault : "");

  return g_object_new (PRISM_TYPE_DECISION, "verdict", PRISM_VERDICT_DENY, "reason-id", PRISM_REASON_PATH_OUTSIDE_ROOTS,
                       "reason", reason, "rule", "roots", NULL);
}

/* NULL: nothing to say against any of them. */
static PrismDecision *
judge_paths (PrismApprovalPolicy *self, PrismAction *action)
{
  const char *const *paths = prism_action_get_paths (action);
  const char *directory = prism_action_get_directory (action);
  PrismPathIntent intent = prism_action_get_path_intent (action);
  g_autoptr (GError) error = NULL;

  for (guint i = 0; paths != NULL && paths[i] != NULL; i++)
    if (!check_path (self, action, paths[i], intent, prism_action_get_path_object (action, i), &error))
      return deny_path (self, paths[i], error);
  if (directory != NULL
      && !check_path (self, action, directory, PRISM_PATH_INTENT_READ, prism_action_get_directory_object (action),
                      &error))
    return deny_path (self, directory, error);
  return NULL;
}

/* --- commands ------------------------------------------------------------------------------------ */

static PrismDecision *
ask (const char *reason, const char *remedy)
{
  return g_object_new (PRISM_TYPE_DECISION, "verdict", PRISM_VERDICT_ASK, "reason-id", PRISM_REASON_APPROVAL_REQUIRED,
                       "reason", reason, "remedy", remedy, NULL);
}

/* NULL: none of them changes what is run. */
static PrismDecision *
judge_environment (PrismAction *action)
{
  const char *const *env = prism_action_get_env (action);

  for (guint i = 0; env != NULL && env[i] != NULL; i++)
    if (prism_command_variable_is_dangerous (env[i]))
      {
        g_autofree char *name = g_strndup (env[i], strcspn (env[i], "="));
        g_autofree char *visible = prism_visible_text (name, 100, NULL);
        g_autofree char *reason =
            g_strdup_printf ("the variable %s can change which program runs, or what it loads", visible);

        return g_object_new (PRISM_TYPE_DECISION, "verdict", PRISM_VERDICT_ASK, "reason-id", PRISM_REASON_ENVIRONMENT,
                             "reason", reason, NULL);
      }
  return NULL;
}

static PrismDecision *
judge_shell (PrismApprovalPolicy *self, PrismAction *action)
{
  const char *line = prism_action_get_command (action);
  const char *const *argv = prism_action_get_argv (action);
  g_autoptr (PrismDecision) decision = NULL;
  PrismDecision *environment;

  if (line == NULL && argv == NULL)
    return ask ("it reaches into what is running", NULL);
  decision = prism_command_judge ((PrismCommandRule *const *)self->rules->pdata, self->rules->len, line, argv,
                                  self->deny_metacharacters);
  if (prism_decision_get_verdict (decision) != PRISM_VERDICT_ALLOW)
    return g_steal_pointer (&decision);
  environment = judge_environment (action);
  return environment != NULL ? environment : g_steal_pointer (&decision);
}

/* --- the order --------------------------------------------------------------------------------------- */

static PrismDecision *
judge (PrismApprovalPolicy *self, PrismAction *action)
{
  PrismEffect effect = prism_action_get_effect (action);
  PrismDecision *denied;

  if (self->roots == NULL || self->roots[0] == NULL)
    return prism_decision_new_deny (PRISM_REASON_NO_ROOTS, "the policy trusts no folder: give it roots");
  if (self->read_only && effect != PRISM_EFFECT_NONE)
    return prism_decision_new_deny (PRISM_REASON_READ_ONLY, "the policy is read-only, and this changes something");
  denied = judge_paths (self, action);
  if (denied != NULL)
    return denied;
  if (prism_action_is_shell (action))
    return judge_shell (self, action);
  return effect == PRISM_EFFECT_NONE ? prism_decision_new_allow () : ask ("it changes something", NULL);
}

/**
 * prism_approval_policy_evaluate:
 * @self: a policy
 * @action: what would happen
 *
 * Says what the policy says before anybody is asked, and without remembered answers:
 * %PRISM_VERDICT_ASK is what needs approval. It asks nobody, and never waits.
 *
 * Returns: (transfer full): a decision, with why
 *
 * Since: 1.0
 */
PrismDecision *
prism_approval_policy_evaluate (PrismApprovalPolicy *self, PrismAction *action)
{
  g_return_val_if_fail (PRISM_IS_APPROVAL_POLICY (self), NULL);
  g_return_val_if_fail (PRISM_IS_ACTION (action), NULL);

  g_atomic_int_set (&self->frozen, TRUE);
  return judge (self, action);
}

/* --- asking ---------------------------------------------------------------------------------------------- */

/* Which folder it is, and not only what it is called. */
static char *
identify_directory (PrismApprovalPolicy *self, PrismAction *action)
{
  const char *directory = prism_action_get_directory (action);
  PrismPathIdentity identity;

  if (directory == NULL || prism_action_get_tree_root (action) != NULL
      || !prism_path_guard_identify (get_guard (self), directory, PRISM_PATH_INTENT_READ, &identity, NULL)
      || identity.missing > 0)
    return NULL;
  return g_strdup_printf ("%" G_GUINT64_FORMAT ":%" G_GUINT64_FORMAT ":%" G_GINT64_FORMAT, (guint64)identity.dev,
                          (guint64)identity.ino, identity.born_ns);
}

/* NULL where nothing can be remembered: there is no bucket for those without a name. */
static char *
make_key (PrismAction *action, gboolean session, const char *directory)
{
  const char *identity = session ? prism_action_get_session_id (action) : prism_action_get_run_id (action);

  if (identity == NULL || identity[0] == '\0')
    return NULL;
  return prism_action_dup_key (action, session ? "session" : "run", identity, directory);
}

static PrismApprovalTerms
make_terms (PrismApprovalPolicy *self, PrismAction *action)
{
  gboolean session = self->cache == PRISM_APPROVAL_CACHE_SESSION;
  g_autofree char *directory = identify_directory (self, action);
  const char *run = prism_action_get_run_id (action);
  const char *session_id = prism_action_get_session_id (action);
  PrismApprovalTerms terms = { NULL };

  terms.flight_key =
      prism_action_dup_key (action, run != NULL ? run : "", session_id != NULL ? session_id : "", directory);
  terms.always_key = make_key (action, session, directory);
  terms.answer_key = self->cache != PRISM_APPROVAL_CACHE_NONE ? g_strdup (terms.always_key) : NULL;
  terms.timeout_ms = self->timeout_ms;
  terms.exclusive = prism_action_is_shell (action);
  return terms;
}

static void
emit_request (gpointer policy, gpointer request)
{
  g_signal_emit (policy, requested_signal, 0, request);
}

static PrismDecision *
remembered (PrismDecision *question, gboolean allowed, gboolean exclusive)
{
  return g_object_new (PRISM_TYPE_DECISION, "verdict", allowed ? PRISM_VERDICT_ALLOW : PRISM_VERDICT_DENY, "reason-id",
                       allowed ? NULL : PRISM_REASON_APPROVAL_DENIED_CACHED, "reason",
                       allowed ? NULL : "who was asked said no to it before", "rule",
                       prism_decision_get_rule (question), "cached", TRUE, "exclusive", exclusive && allowed, NULL);
}

static PrismDecision *
deny_unasked (PrismDecision *question, const char *why)
{
  g_autofree char *reason = g_strdup_printf ("%s, and %s", prism_decision_get_reason (question), why);

  return g_object_new (PRISM_TYPE_DECISION, "verdict", PRISM_VERDICT_DENY, "reason-id", PRISM_REASON_APPROVAL_REQUIRED,
                       "reason", reason, "rule", prism_decision_get_rule (question), "remedy",
                       prism_decision_get_remedy (question), NULL);
}

static void
ask_somebody (PrismApprovalPolicy *self, PrismCheckOperation *operation, PrismDecision *question)
{
  PrismApprovalTerms terms = make_terms (self, prism_check_operation_get_action (operation));
  g_autoptr (PrismApprovalRequest) request = NULL;
  g_autoptr (PrismDecision) known = NULL;
  gboolean allowed;

  if (prism_approval_store_look_up (self->store, terms.always_key, &allowed))
    {
      known = remembered (question, allowed, terms.exclusive);
      g_free (terms.flight_key);
      g_free (terms.answer_key);
      g_free (terms.always_key);
      prism_check_operation_complete (operation, known);
      return;
    }
  if (prism_approval_store_ask (self->store, &terms, question, operation, &request))
    prism_operation_emit_about (PRISM_OPERATION (operation), emit_request, self, request);
}

/* It reads and writes files: in a thread where the caller does not wait. What the policy says is
 * asked for again there, so that one thing is judged and begun. */
static void
suspend_in_thread (gpointer policy, PrismOperation *operation)
{
  PrismApprovalPolicy *self = policy;
  PrismAction *action = prism_check_operation_get_action (PRISM_CHECK_OPERATION (operation));
  g_autoptr (PrismDecision) question = prism_approval_policy_evaluate (self, action);
  g_autofree char *directory = identify_directory (self, action);
  g_autoptr (PrismSuspension) suspension = NULL;
  g_autoptr (PrismDecision) decision = NULL;

  if (prism_decision_get_verdict (question) != PRISM_VERDICT_ASK)
    decision = g_object_ref (question);
  else
    decision = prism_approval_suspend (self->suspensions, (const char *const *)self->roots, action, directory, question,
                                       prism_operation_get_cancellable (operation), &suspension);
  if (suspension != NULL)
    prism_operation_emit_about (operation, prism_suspensions_emit_suspended, self->suspensions, suspension);
  prism_check_operation_complete (PRISM_CHECK_OPERATION (operation), decision);
}

static void
approval_policy_check (PrismPolicy *policy, PrismCheckOperation *operation)
{
  PrismApprovalPolicy *self = PRISM_APPROVAL_POLICY (policy);
  PrismAction *action = prism_check_operation_get_action (operation);
  g_autoptr (PrismDecision) decision = prism_approval_policy_evaluate (self, action);
  g_autoptr (PrismDecision) denied = NULL;

  if (prism_decision_get_verdict (decision) != PRISM_VERDICT_ASK)
    prism_check_operation_complete (operation, decision);
  else if (self->suspensions != NULL)
    prism_operation_run_in_thread (PRISM_OPERATION (operation), suspend_in_thread);
  else if (!g_signal_has_handler_pending (self, requested_signal, 0, FALSE))
    {
      denied = deny_unasked (decision, "nobody is there to be asked");
      prism_check_operation_complete (operation, denied);
    }
  else if (self->timeout_ms < 0 || self->timeout_ms > G_MAXINT32)
    {
      denied = deny_unasked (decision, "the policy's approval-timeout-ms is out of range (0 to 2147483647)");
      prism_check_operation_complete (operation, denied);
    }
  else
    ask_somebody (self, operation, decision);
}

static void
policy_init (PrismPolicyInterface *iface)
{
  iface->check = approval_policy_check;
}

/* --- what there is to read and set ----------------------------------------------------------------------- */

/**
 * prism_approval_policy_new:
 * @roots: (nullable) (array zero-terminated=1): absolute paths of the folders that are trusted
 *
 * Makes a policy without rules: what changes anything needs approval.
 *
 * Returns: (transfer full): a policy
 *
 * Since: 1.0
 */
PrismApprovalPolicy *
prism_approval_policy_new (const char *const *roots)
{
  return g_object_new (PRISM_TYPE_APPROVAL_POLICY, "roots", roots, NULL);
}

/**
 * prism_approval_policy_get_roots:
 * @self: a policy
 *
 * Gets the folders that actions stay in.
 *
 * Returns: (transfer none) (nullable) (array zero-terminated=1): absolute paths
 *
 * Since: 1.0
 */
const char *const *
prism_approval_policy_get_roots (PrismApprovalPolicy *self)
{
  g_return_val_if_fail (PRISM_IS_APPROVAL_POLICY (self), NULL);

  return (const char *const *)self->roots;
}

/**
 * prism_approval_policy_get_read_only:
 * @self: a policy
 *
 * Tells whether only actions without effect may happen.
 *
 * Returns: whether only actions without effect may happen
 *
 * Since: 1.0
 */
gboolean
prism_approval_policy_get_read_only (PrismApprovalPolicy *self)
{
  g_return_val_if_fail (PRISM_IS_APPROVAL_POLICY (self), TRUE);

  return self->read_only;
}

/**
 * prism_approval_policy_get_deny_metacharacters:
 * @self: a policy
 *
 * Tells whether a line that is more than one plain command needs approval though rules
 * allow each of its commands.
 *
 * Returns: whether it does
 *
 * Since: 1.0
 */
gboolean
prism_approval_policy_get_deny_metacharacters (PrismApprovalPolicy *self)
{
  g_return_val_if_fail (PRISM_IS_APPROVAL_POLICY (self), TRUE);

  return self->deny_metacharacters;
}

/**
 * prism_approval_policy_get_approval_cache:
 * @self: a policy
 *
 * Gets which answers are remembered.
 *
 * Returns: which answers are remembered
 *
 * Since: 1.0
 */
PrismApprovalCache
prism_approval_policy_get_approval_cache (PrismApprovalPolicy *self)
{
  g_return_val_if_fail (PRISM_IS_APPROVAL_POLICY (self), PRISM_APPROVAL_CACHE_NONE);

  return self->cache;
}

/**
 * prism_approval_policy_get_approval_timeout_ms:
 * @self: a policy
 *
 * Gets how long an answer may take.
 *
 * Returns: milliseconds; 0: as long as nobody cancels
 *
 * Since: 1.0
 */
gint64
prism_approval_policy_get_approval_timeout_ms (PrismApprovalPolicy *self)
{
  g_return_val_if_fail (PRISM_IS_APPROVAL_POLICY (self), 0);

  return self->timeout_ms;
}

/**
 * prism_approval_policy_add_rule:
 * @self: a policy that was asked about nothing so far
 * @rule: a rule
 *
 * Adds a rule after all others: of those that match a command, the first decides.
 *
 * Since: 1.0
 */
void
prism_approval_policy_add_rule (PrismApprovalPolicy *self, PrismCommandRule *rule)
{
  g_return_if_fail (PRISM_IS_APPROVAL_POLICY (self));
  g_return_if_fail (rule != NULL);
  g_return_if_fail (!g_atomic_int_get (&self->frozen));

  g_ptr_array_add (self->rules, prism_command_rule_ref (rule));
}

/**
 * prism_approval_policy_get_rules:
 * @self: a policy
 *
 * Gets its rules in their order.
 *
 * Returns: (transfer none) (element-type PrismCommandRule): its rules
 *
 * Since: 1.0
 */
GPtrArray *
prism_approval_policy_get_rules (PrismApprovalPolicy *self)
{
  g_return_val_if_fail (PRISM_IS_APPROVAL_POLICY (self), NULL);

  return self->rules;
}

/**
 * prism_approval_policy_set_suspensions:
 * @self: a policy that was asked about nothing so far
 * @suspensions: (nullable): where questions are put down
 *
 * From now on nobody is waited for, and the signal is not emitted: what needs approval is denied with
 * `approval-suspended`, and allowed once when somebody has allowed it there and the policy would still
 * ask. Answers that are remembered for a run or session are neither looked at nor made.
 *
 * Since: 1.0
 */
void
prism_approval_policy_set_suspensions (PrismApprovalPolicy *self, PrismSuspensions *suspensions)
{
  g_return_if_fail (PRISM_IS_APPROVAL_POLICY (self));
  g_return_if_fail (suspensions == NULL || PRISM_IS_SUSPENSIONS (suspensions));
  g_return_if_fail (!g_atomic_int_get (&self->frozen));

  g_set_object (&self->suspensions, suspensions);
}

/**
 * prism_approval_policy_get_suspensions:
 * @self: a policy
 *
 * Gets where questions are put down.
 *
 * Returns: (transfer none) (nullable): where questions are put down
 *
 * Since: 1.0
 */
PrismSuspensions *
prism_approval_policy_get_suspensions (PrismApprovalPolicy *self)
{
  g_return_val_if_fail (PRISM_IS_APPROVAL_POLICY (self), NULL);

  return self->suspensions;
}

/**
 * prism_approval_policy_forget:
 * @self: a policy
 *
 * Forgets every answer that it remembers. Questions that are open stay open.
 *
 * Since: 1.0
 */
void
prism_approval_policy_forget (PrismApprovalPolicy *self)
{
  g_return_if_fail (PRISM_IS_APPROVAL_POLICY (self));

  prism_approval_store_forget (self->store);
}

PrismApprovalStore *
prism_approval_policy_get_store (PrismApprovalPolicy *self)
{
  return self->store;
}
