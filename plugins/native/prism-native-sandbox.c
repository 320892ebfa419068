/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A sandbox of namespaces: the launcher makes the boundary, the base class speaks
 * to the agent in it, and the keeper confirms that nothing is left at the end. */
#include "prism-native-sandbox.h"

#include <gio/gunixconnection.h>

#include "prism-native-capabilities.h"
#include "prism-native-deposit.h"
#include "prism-native-reap.h"

#define REFERENCE "native:"
/* How long a lost result waits for the keeper's word on why. */
#define EXPLAIN_US (3 * G_USEC_PER_SEC)

struct _PrismNativeSandbox
{
  PrismAgentSandbox parent_instance;
  PrismNativeLauncher *launcher;
  char *freezer;    /* folder of the group that holds it still; NULL = none can */
  GMutex use;       /* for the launcher */
  GMutex lock;      /* for what follows */
  GCond terminated; /* over was set */
  gint64 memory_kills;
  gboolean over, out_of_memory;
  char *end; /* how the agent ended */
};

G_DEFINE_FINAL_TYPE (PrismNativeSandbox, prism_native_sandbox, PRISM_TYPE_AGENT_SANDBOX)

/* What an earlier crash left, once in each process. */
static void
remove_leftovers (void)
{
  static gsize once;

  if (g_once_init_enter (&once))
    {
      prism_native_leftovers_remove (prism_native_cgroup_get ());
      g_once_init_leave (&once, 1);
    }
}

/* What the kernel killed is counted before its groups are removed, where that may be the
 * reason for the end. */
static gboolean
end_launcher (PrismNativeSandbox *self, gint64 deadline, GError **error)
{
  gboolean failed = prism_sandbox_get_status (PRISM_SANDBOX (self)) == PRISM_SANDBOX_STATUS_FAILED, ended;
  gint64 kills;

  g_mutex_lock (&self->use);
  kills = failed ? prism_native_launcher_count_memory_kills (self->launcher) : 0;
  ended = prism_native_launcher_end (self->launcher, deadline, error);
  g_mutex_lock (&self->lock);
  self->over = TRUE;
  self->out_of_memory = kills > self->memory_kills;
  /* A start that failed ends it here, and once more when the sandbox goes. */
  g_free (self->end);
  self->end = prism_native_launcher_dup_end (self->launcher);
  g_cond_broadcast (&self->terminated);
  g_mutex_unlock (&self->lock);
  g_mutex_unlock (&self->use);
  return ended;
}

static void
prism_native_sandbox_terminate (PrismAgentSandbox *base, PrismControlOperation *operation)
{
  PrismNativeSandbox *self = PRISM_NATIVE_SANDBOX (base);
  g_autoptr (GError) error = NULL;

  if (self->launcher == NULL || end_launcher (self, prism_operation_get_deadline (PRISM_OPERATION (operation)), &error))
    prism_control_operation_complete (operation);
  else
    prism_operation_fail (PRISM_OPERATION (operation), error);
}

/* The agent hung up; whoever noticed ends the sandbox, and hears from the keeper how the
 * agent ended. */
static char *
prism_native_sandbox_explain_loss (PrismAgentSandbox *base)
{
  PrismNativeSandbox *self = PRISM_NATIVE_SANDBOX (base);
  gint64 until = g_get_monotonic_time () + EXPLAIN_US;
  char *text;

  g_mutex_lock (&self->lock);
  while (!self->over && g_cond_wait_until (&self->terminated, &self->lock, until))
    ;
  if (self->end != NULL && self->out_of_memory)
    text = g_strconcat (self->end, ", out of memory: the limit is memory-bytes", NULL);
  else
    text = g_strdup (self->end);
  g_mutex_unlock (&self->lock);
  return text;
}

/* --- holding it still --------------------------------------------------------- */

static void
hold (PrismNativeSandbox *self, PrismControlOperation *operation, const char *folder)
{
  PrismOperation *base = PRISM_OPERATION (operation);
  g_autoptr (GError) error = NULL;
  gboolean done;

  g_mutex_lock (&self->use);
  done = prism_native_launcher_freeze (self->launcher, folder, prism_operation_get_deadline (base),
                                       prism_operation_get_cancellable (base), &error);
  g_mutex_unlock (&self->use);
  if (done)
    prism_control_operation_complete (operation);
  else
    prism_operation_fail (base, error);
}

static void
stand_still (gpointer data, PrismOperation *operation)
{
  PrismNativeSandbox *self = PRISM_NATIVE_SANDBOX (data);
  hold (self, PRISM_CONTROL_OPERATION (operation), self->freezer);
}

static void
go_on (gpointer self, PrismOperation *operation)
{
  hold (PRISM_NATIVE_SANDBOX (self), PRISM_CONTROL_OPERATION (operation), NULL);
}

static void
hold_or_let_go (PrismNativeSandbox *self, PrismControlOperation *operation, PrismOperationFunc func)
{
  g_autoptr (PrismCapabilities) capabilities = NULL;
  g_autoptr (GError) error = NULL;
  const char *why;

  if (self->freezer != NULL)
    {
      prism_operation_run_in_thread (PRISM_OPERATION (operation), func);
      return;
    }
  capabilities = prism_sandbox_dup_capabilities (PRISM_SANDBOX (self));
  why = prism_capabilities_get_evidence (capabilities, "pause");
  g_set_error (&error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_NOT_SUPPORTED,
               "no freezer can hold this sandbox still: %s", why != NULL ? why : "it was made without control groups");
  prism_operation_fail (PRISM_OPERATION (operation), error);
}

static void
prism_native_sandbox_pause (PrismAgentSandbox *base, PrismControlOperation *operation)
{
  hold_or_let_go (PRISM_NATIVE_SANDBOX (base), operation, stand_still);
}

static void
prism_native_sandbox_resume (PrismAgentSandbox *base, PrismControlOperation *operation)
{
  hold_or_let_go (PRISM_NATIVE_SANDBOX (base), operation, go_on);
}

/* Which of two commands that were killed at once it was cannot be told: either is
 * named while the count has grown. */
static const char *
prism_native_sandbox_find_limit (PrismAgentSandbox *base)
{
  PrismNativeSandbox *self = PRISM_NATIVE_SANDBOX (base);
  gint64 kills = prism_native_launcher_count_memory_kills (self->launcher);

  g_mutex_lock (&self->lock);
  gboolean grown = kills > self->memory_kills;
  self->memory_kills = MAX (kills, self->memory_kills);
  g_mutex_unlock (&self->lock);
  return grown ? "memory-bytes" : NULL;
}

static void
prism_native_sandbox_finalize (GObject *object)
{
  PrismNativeSandbox *self = PRISM_NATIVE_SANDBOX (object);

  g_clear_pointer (&self->launcher, prism_native_launcher_free);
  g_mutex_clear (&self->lock);
  g_mutex_clear (&self->use);
  g_cond_clear (&self->terminated);
  g_free (self->freezer);
  g_free (self->end);
  G_OBJECT_CLASS (prism_native_sandbox_parent_class)->finalize (object);
}

static void
prism_native_sandbox_class_init (PrismNativeSandboxClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = prism_native_sandbox_finalize;
  PRISM_AGENT_SANDBOX_CLASS (klass)->terminate = prism_native_sandbox_terminate;
  PRISM_AGENT_SANDBOX_CLASS (klass)->find_limit = prism_native_sandbox_find_limit;
  PRISM_AGENT_SANDBOX_CLASS (klass)->explain_loss = prism_native_sandbox_explain_loss;
  PRISM_AGENT_SANDBOX_CLASS (klass)->pause = prism_native_sandbox_pause;
  PRISM_AGENT_SANDBOX_CLASS (klass)->resume = prism_native_sandbox_resume;
}

static void
prism_native_sandbox_init (PrismNativeSandbox *self)
{
  g_mutex_init (&self->lock);
  g_mutex_init (&self->use);
  g_cond_init (&self->terminated);
}

static GIOStream *
take_connection (PrismNativeLauncher *launcher, GError **error)
{
  int fd = prism_native_launcher_steal_control (launcher);
  g_autoptr (GSocket) socket = g_socket_new_from_fd (fd, error);

  if (socket == NULL)
    {
      close (fd);
      return NULL;
    }
  return G_IO_STREAM (g_socket_connection_factory_create_connection (socket));
}

static void
take_notes (PrismNativeLauncher *launcher, GString *evidence)
{
  GPtrArray *notes = prism_native_launcher_get_notes (launcher);

  for (guint i = 0; i < notes->len; i++)
    {
      const PrismNativeNote *note = notes->pdata[i];
      prism_native_evidence_say (evidence, note->key, note->text);
    }
}

/* Everything that was required and is not there, in one error. */
static gboolean
check_required (PrismCapabilities *capabilities, PrismControls required, GError **error)
{
  PrismControls missing = required & ~prism_capabilities_get_controls (capabilities);
  g_autoptr (GFlagsClass) flags = NULL;
  g_autoptr (GString) text = NULL;

  if (missing == 0)
    return TRUE;
  flags = g_type_class_ref (PRISM_TYPE_CONTROLS);
  text = g_string_new (NULL);
  for (guint i = 0; i < flags->n_values; i++)
    if (flags->values[i].value != 0 && (missing & flags->values[i].value) == flags->values[i].value)
      {
        const char *nick = flags->values[i].value_nick, *why = prism_capabilities_get_evidence (capabilities, nick);
        g_string_append_printf (text, "%s%s (%s)", text->len > 0 ? "; " : "", nick, why != NULL ? why : "not enforced");
      }
  g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_REFUSED,
               "native: required, but not enforced in this sandbox: %s", text->str);
  return FALSE;
}

/* The object owns the launcher from here on: whatever fails ends it. */
static PrismNativeSandbox *
new_sandbox (const char *id, const PrismNativeDeposit *facts, PrismNativeLauncher *launcher, GError **error)
{
  g_autoptr (PrismNativeLauncher) owned = launcher;
  g_autoptr (GIOStream) connection = take_connection (launcher, error);
  g_autofree char *reference = g_strconcat (REFERENCE, id, NULL);
  PrismNativeSandbox *self;

  if (connection == NULL)
    return NULL;
  self = g_object_new (PRISM_TYPE_NATIVE_SANDBOX, "spec", facts->spec, "connection", connection, "framed",
                       facts->framed, "harden", FALSE, "backend-name", "native", "id", id, "workspace", facts->inside,
                       "reference", reference, NULL);
  for (guint i = 0; facts->groups != NULL && facts->groups[i] != NULL; i++)
    prism_native_launcher_add_group (launcher, facts->groups[i]);
  if (facts->freezer != NULL)
    prism_native_launcher_add_group (launcher, facts->freezer);
  self->freezer = g_strdup (facts->freezer);
  self->launcher = g_steal_pointer (&owned);
  return self;
}

/* The plan for a template, which nearly always is the one that was written last: where
 * nothing but the workspace is shown, hidden and protected, this is all that it is made of. */
static GBytes *
write_template (const PrismNativeAsked *asked, GError **error)
{
  static GMutex lock;
  static struct
  {
    GBytes *bytes;
    gboolean framed;
    char *hostname, *sandbox_path, *workspace;
  } last;
  gboolean plain = asked->n_mounts + asked->n_hide + asked->n_protect == 0;
  GBytes *bytes = NULL;

  g_mutex_lock (&lock);
  if (plain && last.bytes != NULL && last.framed == asked->framed && strcmp (last.hostname, asked->hostname) == 0
      && strcmp (last.sandbox_path, asked->sandbox_path) == 0 && g_strcmp0 (last.workspace, asked->workspace.path) == 0)
    bytes = g_bytes_ref (last.bytes);
  g_mutex_unlock (&lock);
  if (bytes != NULL || (bytes = prism_native_plan_write (asked, PRISM_NATIVE_PLAN_MAKE_TEMPLATE, error)) == NULL
      || !plain)
    return bytes;
  g_mutex_lock (&lock);
  g_clear_pointer (&last.bytes, g_bytes_unref);
  g_free (last.hostname);
  g_free (last.sandbox_path);
  g_free (last.workspace);
  last.bytes = g_bytes_ref (bytes);
  last.framed = asked->framed;
  last.hostname = g_strdup (asked->hostname);
  last.sandbox_path = g_strdup (asked->sandbox_path);
  last.workspace = g_strdup (asked->workspace.path);
  g_mutex_unlock (&lock);
  return bytes;
}

/* By the launcher that stays and has most of it ready, or by one of its own.
 * @begun: (nullable) (transfer full): one that has been started and waits. */
static PrismNativeLauncher *
tell_launcher (PrismNativeLauncher *begun,
               const PrismNativeAsked *asked,
               gboolean by_template,
               gint64 deadline,
               GCancellable *cancellable,
               GError **error)
{
  g_autoptr (PrismNativeLauncher) launcher = begun;
  g_autoptr (GBytes) template = NULL;
  g_autoptr (GBytes) plan = NULL;

  if (by_template)
    {
      template = write_template (asked, error);
      plan = template != NULL ? prism_native_plan_write (asked, PRISM_NATIVE_PLAN_USE_TEMPLATE, error) : NULL;
      return plan != NULL ? prism_native_launcher_ask (prism_agent_get_path (), template, plan, error) : NULL;
    }
  if (launcher == NULL && (launcher = prism_native_launcher_begin (prism_agent_get_path (), error)) == NULL)
    return NULL;
  plan =
      prism_native_plan_write_after (asked, PRISM_NATIVE_PLAN_WHOLE, prism_native_launcher_get_early (launcher), error);
  if (plan == NULL || !prism_native_launcher_give_plan (launcher, plan, deadline, cancellable, error))
    return NULL;
  return g_steal_pointer (&launcher);
}

/* The object is made while the launcher is at work. */
static PrismNativeSandbox *
make_sandbox (const PrismNativeDeposit *facts,
              PrismNativeRequest *request,
              PrismNativeLauncher *begun,
              gboolean by_template,
              gint64 deadline,
              GCancellable *cancellable,
              GError **error)
{
  PrismNativeLauncher *launcher = tell_launcher (begun, &request->asked, by_template, deadline, cancellable, error);
  g_autoptr (PrismNativeSandbox) self = launcher != NULL ? new_sandbox (request->id, facts, launcher, error) : NULL;
  g_autoptr (GError) failure = NULL;
  gboolean prepared, ready;

  if (self == NULL)
    return NULL;
  /* What is likely to be found is put into words meanwhile, and what an earlier crash left
   * removed: this process would only wait. */
  prism_native_capabilities_expect (&request->asked, request->limits.evidence);
  remove_leftovers ();
  /* Where the launcher has ended it says why. */
  prepared = prism_agent_sandbox_prepare (PRISM_AGENT_SANDBOX (self), &failure);
  /* What could not be sent is the agent's loss: then its socket is closed by another thread,
   * which is about to end the launcher too. */
  g_mutex_lock (&self->use);
  ready = prism_native_launcher_wait_ready (self->launcher, prepared, deadline, cancellable, error);
  g_mutex_unlock (&self->use);
  if (ready)
    {
      if (prepared)
        return g_steal_pointer (&self);
      g_propagate_error (error, g_steal_pointer (&failure));
    }
  end_launcher (self, deadline + 10 * G_USEC_PER_SEC, NULL);
  return NULL;
}

/* Of this process, also those that are only prepared for. */
static gint starts;

/* Its program starts before anything is looked up for it; what every confined sandbox
 * has is made while the rest is looked at. One that is gone meanwhile is heard of when
 * it is given the plan, and one whose plan begins otherwise starts over. */
static PrismNativeLauncher *
begin (const PrismNativeOptions *options, gboolean detached, GError **error)
{
  const char *agent = prism_agent_get_path ();
  PrismNativeAsked asked = { .isolation = options->isolation,
                             .off_switches = options->off_switches,
                             .detached = detached };
  gboolean early = prism_native_plan_can_begin_early (&asked);
  g_autoptr (PrismNativeLauncher) launcher =
      early ? prism_native_launcher_take_begun (agent, PRISM_NATIVE_BEGUN_US) : NULL;
  g_autoptr (GBytes) plan = NULL;
  PrismNativeEarlySteps steps;

  if (launcher != NULL)
    return g_steal_pointer (&launcher);
  launcher = prism_native_launcher_begin (agent, error);
  if (launcher == NULL || !early)
    return g_steal_pointer (&launcher);
  prism_native_asked_init (&asked, options);
  plan = prism_native_plan_write_early (&asked, prism_native_cgroup_get (), prism_native_launcher_get_id (launcher),
                                        &steps);
  if (plan != NULL)
    prism_native_launcher_give_early_plan (launcher, plan, &steps);
  return g_steal_pointer (&launcher);
}

PrismNativeLauncher *
prism_native_sandbox_prepare (const PrismNativeOptions *options)
{
  const PrismNativeAsked asked = { .isolation = options->isolation, .off_switches = options->off_switches };

  if (!prism_native_plan_can_begin_early (&asked) || g_atomic_int_add (&starts, 1) > 0)
    return NULL;
  return begin (options, FALSE, NULL);
}

/* The first sandbox of a process is started by itself, for a process that makes no
 * other. @begun: what was prepared for it, or NULL. */
static gboolean
begin_first (PrismSandboxSpec *spec, const PrismNativeOptions *options, PrismNativeLauncher **begun, GError **error)
{
  gboolean detached = prism_sandbox_spec_get_lifetime (spec) == PRISM_LIFETIME_DETACHED;

  /* It is nobody's child, so its keeper leaves its parent first of all. */
  if (detached)
    g_clear_pointer (begun, prism_native_launcher_free);
  if (*begun == NULL && g_atomic_int_add (&starts, 1) == 0)
    return (*begun = begin (options, detached, error)) != NULL;
  return TRUE;
}

/* What is known before it is there: all but what it contains. */
static void
take_facts (PrismNativeDeposit *facts, PrismSandboxSpec *spec, const PrismNativeRequest *request)
{
  facts->spec = g_object_ref (spec);
  facts->inside = g_strdup (request->inside);
  facts->framed = request->asked.framed;
  facts->freezer = g_strdup (request->limits.freezer);
  facts->groups = g_new0 (char *, request->limits.n_groups + 1);
  for (guint i = 0; i < request->limits.n_groups; i++)
    facts->groups[i] = g_strdup (request->limits.groups[i].folder);
}

static PrismNativeSandbox *
make_first_or_next (PrismSandboxSpec *spec,
                    const PrismNativeOptions *options,
                    PrismNativeLauncher *prepared,
                    PrismNativeRequest **request,
                    PrismNativeDeposit *facts,
                    gint64 deadline,
                    GCancellable *cancellable,
                    GError **error)
{
  g_autoptr (PrismNativeLauncher) begun = prepared;
  g_autoptr (GError) failure = NULL;
  PrismNativeSandbox *self;
  gboolean by_template;

  if (!begin_first (spec, options, &begun, error)
      || (*request = prism_native_request_new (spec, options,
                                               begun != NULL ? prism_native_launcher_get_id (begun) : NULL, error))
             == NULL)
    return NULL;
  take_facts (facts, spec, *request);
  by_template = begun == NULL && prism_native_plan_can_use_template (&(*request)->asked);
  self = make_sandbox (facts, *request, g_steal_pointer (&begun), by_template, deadline, cancellable, &failure);
  /* One that stays and has just ended says nothing; all else is the start's own failure. */
  if (self == NULL && by_template && g_error_matches (failure, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_LOST))
    return make_sandbox (facts, *request, NULL, FALSE, deadline, cancellable, error);
  if (failure != NULL)
    g_propagate_error (error, g_steal_pointer (&failure));
  return self;
}

/* From here on the keeper waits for a next host, and its sandbox for its wall time. */
static gboolean
detach (PrismNativeSandbox *self, const char *id, const PrismNativeDeposit *facts, gint64 deadline, GError **error)
{
  gint64 ms = prism_limits_get (prism_sandbox_spec_get_limits (facts->spec), "wall-time-ms");
  PrismNativeWayIn way;
  gboolean done;
  int deposit;

  if (!prism_native_way_in_make (&way, id, error))
    return FALSE;
  deposit = prism_native_deposit_write (facts, error);
  done = deposit >= 0 && prism_native_launcher_deposit (self->launcher, &way, deposit, ms, deadline, error);
  if (deposit >= 0)
    close (deposit);
  if (done)
    prism_native_way_in_clear (&way);
  else
    prism_native_way_in_abandon (&way);
  return done;
}

PrismSandbox *
prism_native_sandbox_start (PrismSandboxSpec *spec,
                            const PrismNativeOptions *options,
                            PrismNativeLauncher *prepared,
                            GCancellable *cancellable,
                            GError **error)
{
  PrismLimits *limits = prism_sandbox_spec_get_limits (spec);
  gint64 deadline = g_get_monotonic_time () + prism_limits_get (limits, "startup-timeout-ms") * 1000;
  gboolean detached = prism_sandbox_spec_get_lifetime (spec) == PRISM_LIFETIME_DETACHED;
  g_autoptr (PrismNativeLauncher) begun = prepared;
  g_autoptr (PrismNativeRequest) request = NULL;
  g_autoptr (PrismEgressProxy) proxy = NULL;
  g_autoptr (PrismNativeSandbox) self = NULL;
  g_auto (PrismNativeDeposit) facts = { 0 };

  /* Where there is no proxy nothing is begun; it is kept until the sandbox's listener holds it. */
  if (!prism_sandbox_spec_dup_egress_proxy (spec, &proxy, error))
    return NULL;
  self = make_first_or_next (spec, options, g_steal_pointer (&begun), &request, &facts, deadline, cancellable, error);
  if (self == NULL)
    return NULL;
  if (detached)
    prism_native_launcher_disown (self->launcher);
  take_notes (self->launcher, request->limits.evidence);
  facts.capabilities = prism_native_capabilities_new (&request->asked, prism_native_launcher_get_facts (self->launcher),
                                                      request->limits.evidence);
  prism_agent_sandbox_set_capabilities (PRISM_AGENT_SANDBOX (self), facts.capabilities);
  if (check_required (facts.capabilities, prism_sandbox_spec_get_require (spec), error)
      && prism_agent_sandbox_start (PRISM_AGENT_SANDBOX (self), cancellable, error)
      && (!detached || detach (self, request->id, &facts, deadline, error)))
    return PRISM_SANDBOX (g_steal_pointer (&self));
  end_launcher (self, deadline + 10 * G_USEC_PER_SEC, NULL);
  return NULL;
}

PrismSandbox *
prism_native_sandbox_connect (const char *reference, gint64 deadline, GCancellable *cancellable, GError **error)
{
  const char *id = g_str_has_prefix (reference, REFERENCE) ? reference + strlen (REFERENCE) : "";
  g_autoptr (PrismNativeLauncher) launcher = NULL;
  g_autoptr (PrismNativeSandbox) self = NULL;
  g_auto (PrismNativeDeposit) facts = { 0 };
  gint64 left_ms = 0, wall_ms;
  int keeper, deposit = -1;

  if (!prism_native_is_id (id))
    {
      g_set_error_literal (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_NOT_FOUND,
                           "native: that is no reference of a native sandbox");
      return NULL;
    }
  keeper = prism_native_way_in_connect (id, error);
  if (keeper < 0)
    return NULL;
  launcher = prism_native_launcher_connect (keeper, deadline, &left_ms, &deposit, cancellable, error);
  if (launcher == NULL || !prism_native_deposit_read (&facts, deposit, error))
    return NULL;
  wall_ms = prism_limits_get (prism_sandbox_spec_get_limits (facts.spec), "wall-time-ms");
  self = new_sandbox (id, &facts, g_steal_pointer (&launcher), error);
  if (self == NULL)
    return NULL;
  prism_agent_sandbox_set_capabilities (PRISM_AGENT_SANDBOX (self), facts.capabilities);
  prism_agent_sandbox_set_age (PRISM_AGENT_SANDBOX (self), CLAMP (wall_ms - left_ms, 0, wall_ms));
  /* Dropped, it goes on without this host. */
  if (!prism_agent_sandbox_start (PRISM_AGENT_SANDBOX (self), cancellable, error))
    return NULL;
  return PRISM_SANDBOX (g_steal_pointer (&self));
}
