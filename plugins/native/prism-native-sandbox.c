/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A sandbox of namespaces: the launcher makes the boundary, the base class speaks
 * to the agent in it, and the keeper confirms that nothing is left at the end. */
#include "prism-native-sandbox.h"

#include <gio/gunixconnection.h>

#include "prism-native-capabilities.h"
#include "prism-native-reap.h"

struct _PrismNativeSandbox
{
  PrismAgentSandbox parent_instance;
  PrismNativeLauncher *launcher;
  GMutex lock; /* for memory_kills */
  gint64 memory_kills;
};

G_DEFINE_FINAL_TYPE (PrismNativeSandbox, prism_native_sandbox, PRISM_TYPE_AGENT_SANDBOX)

/* What an earlier crash left, once in each process, and not while somebody waits for
 * a start. */
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

static void
prism_native_sandbox_terminate (PrismAgentSandbox *base, PrismControlOperation *operation)
{
  PrismNativeSandbox *self = PRISM_NATIVE_SANDBOX (base);
  g_autoptr (GError) error = NULL;

  remove_leftovers ();
  if (self->launcher == NULL
      || prism_native_launcher_end (self->launcher, prism_operation_get_deadline (PRISM_OPERATION (operation)), &error))
    prism_control_operation_complete (operation);
  else
    prism_operation_fail (PRISM_OPERATION (operation), error);
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
  G_OBJECT_CLASS (prism_native_sandbox_parent_class)->finalize (object);
}

static void
prism_native_sandbox_class_init (PrismNativeSandboxClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = prism_native_sandbox_finalize;
  PRISM_AGENT_SANDBOX_CLASS (klass)->terminate = prism_native_sandbox_terminate;
  PRISM_AGENT_SANDBOX_CLASS (klass)->find_limit = prism_native_sandbox_find_limit;
}

static void
prism_native_sandbox_init (PrismNativeSandbox *self)
{
  g_mutex_init (&self->lock);
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
  g_autoptr (GFlagsClass) flags = g_type_class_ref (PRISM_TYPE_CONTROLS);
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint i = 0; i < flags->n_values; i++)
    if (flags->values[i].value != 0 && (missing & flags->values[i].value) == flags->values[i].value)
      {
        const char *nick = flags->values[i].value_nick, *why = prism_capabilities_get_evidence (capabilities, nick);
        g_string_append_printf (text, "%s%s (%s)", text->len > 0 ? "; " : "", nick, why != NULL ? why : "not enforced");
      }
  if (text->len == 0)
    return TRUE;
  g_set_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_REFUSED,
               "native: required, but not enforced in this sandbox: %s", text->str);
  return FALSE;
}

/* The object owns the launcher from here on: whatever fails ends it. */
static PrismNativeSandbox *
new_sandbox (PrismSandboxSpec *spec, PrismNativeRequest *request, PrismNativeLauncher *launcher, GError **error)
{
  g_autoptr (PrismNativeLauncher) owned = launcher;
  g_autoptr (GIOStream) connection = take_connection (launcher, error);
  g_autofree char *reference = g_strconcat ("native:", request->id, NULL);
  PrismNativeSandbox *self;

  if (connection == NULL)
    return NULL;
  self = g_object_new (PRISM_TYPE_NATIVE_SANDBOX, "spec", spec, "connection", connection, "framed",
                       request->asked.framed, "harden", FALSE, "backend-name", "native", "id", request->id, "workspace",
                       request->inside, "reference", reference, NULL);
  self->launcher = g_steal_pointer (&owned);
  return self;
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
      template = prism_native_plan_write (asked, PRISM_NATIVE_PLAN_MAKE_TEMPLATE, error);
      plan = template != NULL ? prism_native_plan_write (asked, PRISM_NATIVE_PLAN_USE_TEMPLATE, error) : NULL;
      return plan != NULL ? prism_native_launcher_ask (prism_agent_get_path (), template, plan, error) : NULL;
    }
  if (launcher == NULL && (launcher = prism_native_launcher_begin (prism_agent_get_path (), error)) == NULL)
    return NULL;
  plan = prism_native_plan_write (asked, PRISM_NATIVE_PLAN_WHOLE, error);
  if (plan == NULL || !prism_native_launcher_give_plan (launcher, plan, deadline, cancellable, error))
    return NULL;
  return g_steal_pointer (&launcher);
}

/* The object is made while the launcher is at work. */
static PrismNativeSandbox *
make_sandbox (PrismSandboxSpec *spec,
              PrismNativeRequest *request,
              PrismNativeLauncher *begun,
              gboolean by_template,
              gint64 deadline,
              GCancellable *cancellable,
              GError **error)
{
  PrismNativeLauncher *launcher = tell_launcher (begun, &request->asked, by_template, deadline, cancellable, error);
  g_autoptr (PrismNativeSandbox) self = launcher != NULL ? new_sandbox (spec, request, launcher, error) : NULL;

  if (self == NULL)
    return NULL;
  for (guint i = 0; i < request->limits.n_groups; i++)
    prism_native_launcher_add_group (self->launcher, request->limits.groups[i].folder);
  if (prism_native_launcher_wait_ready (self->launcher, deadline, cancellable, error))
    return g_steal_pointer (&self);
  prism_native_launcher_end (self->launcher, deadline + 10 * G_USEC_PER_SEC, NULL);
  return NULL;
}

/* The first sandbox of a process is started by itself, for a process that makes no
 * other, and before anything is looked up for it: its program starts meanwhile. */
static gboolean
begin_first (PrismNativeLauncher **begun, GError **error)
{
  static gint starts;

  if (g_atomic_int_add (&starts, 1) > 0)
    return TRUE;
  *begun = prism_native_launcher_begin (prism_agent_get_path (), error);
  return *begun != NULL;
}

static PrismNativeSandbox *
make_first_or_next (PrismSandboxSpec *spec,
                    const PrismNativeOptions *options,
                    PrismNativeRequest **request,
                    gint64 deadline,
                    GCancellable *cancellable,
                    GError **error)
{
  g_autoptr (PrismNativeLauncher) begun = NULL;
  g_autoptr (GError) failure = NULL;
  PrismNativeSandbox *self;
  gboolean by_template;

  if (!begin_first (&begun, error) || (*request = prism_native_request_new (spec, options, error)) == NULL)
    return NULL;
  by_template = begun == NULL && prism_native_plan_can_use_template (&(*request)->asked);
  self = make_sandbox (spec, *request, g_steal_pointer (&begun), by_template, deadline, cancellable, &failure);
  /* One that stays and has just ended says nothing; all else is the start's own failure. */
  if (self == NULL && by_template && g_error_matches (failure, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_LOST))
    return make_sandbox (spec, *request, NULL, FALSE, deadline, cancellable, error);
  if (failure != NULL)
    g_propagate_error (error, g_steal_pointer (&failure));
  return self;
}

/* Where there is no proxy nothing is begun. The caller keeps it until the sandbox's
 * listener holds it. */
static gboolean
find_proxy (PrismSandboxSpec *spec, PrismEgressProxy **proxy, GError **error)
{
  PrismEgressProxy *given = prism_sandbox_spec_get_egress_proxy (spec);

  if (prism_sandbox_spec_get_network (spec) != PRISM_NETWORK_MODE_EGRESS)
    return TRUE;
  *proxy = given != NULL ? g_object_ref (given) : prism_egress_proxy_dup_default (error);
  return *proxy != NULL;
}

PrismSandbox *
prism_native_sandbox_start (PrismSandboxSpec *spec,
                            const PrismNativeOptions *options,
                            GCancellable *cancellable,
                            GError **error)
{
  PrismLimits *limits = prism_sandbox_spec_get_limits (spec);
  gint64 deadline = g_get_monotonic_time () + prism_limits_get (limits, "startup-timeout-ms") * 1000;
  g_autoptr (PrismNativeRequest) request = NULL;
  g_autoptr (PrismCapabilities) capabilities = NULL;
  g_autoptr (PrismEgressProxy) proxy = NULL;
  g_autoptr (PrismNativeSandbox) self = NULL;

  if (!find_proxy (spec, &proxy, error))
    return NULL;
  self = make_first_or_next (spec, options, &request, deadline, cancellable, error);
  if (self == NULL)
    return NULL;
  take_notes (self->launcher, request->limits.evidence);
  capabilities = prism_native_capabilities_new (&request->asked, prism_native_launcher_get_facts (self->launcher),
                                                request->limits.evidence);
  prism_agent_sandbox_set_capabilities (PRISM_AGENT_SANDBOX (self), capabilities);
  if (!check_required (capabilities, prism_sandbox_spec_get_require (spec), error)
      || !prism_agent_sandbox_start (PRISM_AGENT_SANDBOX (self), cancellable, error))
    {
      prism_native_launcher_end (self->launcher, deadline + 10 * G_USEC_PER_SEC, NULL);
      return NULL;
    }
  return PRISM_SANDBOX (g_steal_pointer (&self));
}
