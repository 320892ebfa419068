/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* network=egress in a native sandbox: what is wired to what, what is said of it, and
 * that nothing of it outlives the sandbox, whichever way that ends. */
#include "by-library.h"
#include "small-proxy.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct
{
  char *path;
  SmallProxy *proxy;
  PrismBackend *backend;
  PrismSandboxSpec *spec;
} Fixture;

static void
set_up (Fixture *f, gconstpointer data)
{
  static const char *const rules[] = { "good.test", NULL };
  g_autoptr (GError) error = NULL;
  g_autoptr (GFile) folder = NULL;
  g_autoptr (PrismEgressPolicy) policy = prism_egress_policy_new_static (rules, &error);

  g_assert_no_error (error);
  f->path = g_dir_make_tmp ("prism-egress-XXXXXX", &error);
  g_assert_no_error (error);
  f->backend = prism_registry_create_backend (prism_registry_get_default (), "native", &error);
  g_assert_no_error (error);
  f->proxy = small_proxy_new ();
  folder = g_file_new_for_path (f->path);
  f->spec = prism_sandbox_spec_new (folder);
  g_object_set (f->spec, "network", PRISM_NETWORK_MODE_EGRESS, "egress-policy", policy, "egress-proxy", f->proxy, NULL);
}

typedef struct
{
  GMutex lock;
  GCond gone;
  gboolean is_gone;
} Watch;

static void
note_gone (gpointer data, GObject *where_it_was)
{
  Watch *watch = data;

  g_mutex_lock (&watch->lock);
  watch->is_gone = TRUE;
  g_cond_signal (&watch->gone);
  g_mutex_unlock (&watch->lock);
}

/* A thread may be about to give up the last reference. */
static void
assert_goes (gpointer object)
{
  gint64 deadline = g_get_monotonic_time () + 60 * G_USEC_PER_SEC;
  Watch watch = { .is_gone = FALSE };

  g_mutex_init (&watch.lock);
  g_cond_init (&watch.gone);
  g_object_weak_ref (object, note_gone, &watch);
  g_object_unref (object);
  g_mutex_lock (&watch.lock);
  while (!watch.is_gone && g_cond_wait_until (&watch.gone, &watch.lock, deadline))
    ;
  g_assert_true (watch.is_gone);
  g_mutex_unlock (&watch.lock);
  g_mutex_clear (&watch.lock);
  g_cond_clear (&watch.gone);
}

static void
tear_down (Fixture *f, gconstpointer data)
{
  g_autofree char *command = g_strdup_printf ("rm -rf '%s'", f->path);

  g_assert_cmpint (system (command), ==, 0);
  g_object_unref (f->backend);
  g_object_unref (f->spec);
  /* Whatever happened, nobody holds the proxy any more. */
  assert_goes (f->proxy);
  g_free (f->path);
}

static void
assert_refused (Fixture *f, GQuark domain, int code, const char *word)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismSandbox) sandbox = prism_backend_create_sandbox (f->backend, f->spec, NULL, &error);

  g_assert_null (sandbox);
  g_test_message ("%s", error->message);
  g_assert_error (error, domain, code);
  g_assert_nonnull (strstr (error->message, word));
  g_assert_cmpuint (small_proxy_count_listeners (f->proxy), ==, 0);
}

static void
assert_says (PrismSandbox *sandbox, const char *script, const char *expected)
{
  g_autofree char *said = library_run (sandbox, script);
  g_assert_cmpstr (said, ==, expected);
}

/* --- what is wired ------------------------------------------------------------------- */

static void
test_reach (Fixture *f, gconstpointer data)
{
  g_autoptr (PrismSandbox) sandbox = library_create (f->backend, f->spec);

  g_assert_cmpuint (small_proxy_count_listeners (f->proxy), ==, 1);
  assert_says (sandbox, "curl -sS http://good.test/; curl -sS http://evil.test/",
               "allowed good.test\ndenied evil.test");
  /* Without its variables, and around it: nothing. */
  assert_says (sandbox, "curl -sS --noproxy '*' http://good.test/ 2>/dev/null; echo $?", "6");
  assert_says (sandbox, "curl -sS --noproxy '*' http://192.0.2.1/ 2>/dev/null; echo $?", "7");
  library_close (sandbox);
  g_assert_cmpuint (small_proxy_count_listeners (f->proxy), ==, 0);
}

static void
test_variables (Fixture *f, gconstpointer data)
{
  static const char *const rules[] = { "good.test", "127.0.0.1:8080", NULL };
  g_autoptr (PrismEgressPolicy) policy = prism_egress_policy_new_static (rules, NULL);
  g_autoptr (PrismSandbox) sandbox = NULL;

  g_object_set (f->spec, "egress-policy", policy, NULL);
  prism_sandbox_spec_set_variable (f->spec, "ALL_PROXY", "mine");
  sandbox = library_create (f->backend, f->spec);
  assert_says (sandbox, "env | grep -i proxy | LC_ALL=C sort",
               "ALL_PROXY=mine\n"
               "HTTPS_PROXY=http://127.0.0.1:3128\n"
               "HTTP_PROXY=http://127.0.0.1:3128\n"
               "NODE_USE_ENV_PROXY=1\n"
               "NO_PROXY=localhost,::1\n"
               "all_proxy=http://127.0.0.1:3128\n"
               "http_proxy=http://127.0.0.1:3128\n"
               "https_proxy=http://127.0.0.1:3128\n"
               "no_proxy=localhost,::1");
  library_close (sandbox);
}

/* Two sandboxes have one proxy and nothing else in common. */
static void
test_two (Fixture *f, gconstpointer data)
{
  static const char *const rules[] = { "other.test", NULL };
  g_autoptr (PrismEgressPolicy) policy = prism_egress_policy_new_static (rules, NULL);
  g_autoptr (PrismSandbox) first = library_create (f->backend, f->spec), second = NULL;
  g_autoptr (PrismSandboxSpec) spec = prism_sandbox_spec_new (NULL);
  g_autoptr (GError) error = NULL;

  g_object_set (spec, "network", PRISM_NETWORK_MODE_EGRESS, "egress-policy", policy, "egress-proxy", f->proxy, NULL);
  second = prism_backend_create_sandbox (f->backend, spec, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (small_proxy_count_listeners (f->proxy), ==, 2);
  assert_says (first, "curl -sS http://good.test/; curl -sS http://other.test/",
               "allowed good.test\ndenied other.test");
  assert_says (second, "curl -sS http://good.test/; curl -sS http://other.test/",
               "denied good.test\nallowed other.test");
  library_close (first);
  g_assert_cmpuint (small_proxy_count_listeners (f->proxy), ==, 1);
  assert_says (second, "curl -sS http://other.test/", "allowed other.test");
  library_close (second);
}

static void
test_listener (Fixture *f, gconstpointer data)
{
  g_autoptr (PrismAuditLog) audit = prism_audit_log_new ();
  g_autoptr (PrismCredential) credential = prism_credential_new ("good.test", "X-Token", "s3cret", NULL);
  g_autoptr (PrismSandbox) sandbox = NULL;
  g_autoptr (PrismEgressListener) listener = NULL;
  g_autofree char *id = NULL;

  g_object_set (f->spec, "audit", audit, NULL);
  prism_sandbox_spec_add_credential (f->spec, credential);
  g_assert_true (prism_limits_set (prism_sandbox_spec_get_limits (f->spec), "request-bytes", 12345, NULL));
  sandbox = library_create (f->backend, f->spec);
  id = prism_sandbox_dup_id (sandbox);
  listener = small_proxy_dup_latest (f->proxy);
  g_assert_cmpstr (prism_egress_listener_get_label (listener), ==, id);
  g_assert_cmpint (prism_egress_listener_get_limit (listener, "request-bytes"), ==, 12345);
  g_assert_cmpint (prism_egress_listener_get_limit (listener, "concurrent-connections"), ==, 256);
  g_assert_true (prism_egress_listener_get_deny_direct_egress (listener));
  g_assert_cmpuint (g_list_model_get_n_items (prism_egress_listener_get_credentials (listener)), ==, 1);
  assert_says (sandbox, "curl -sS http://good.test/; curl -sS http://evil.test/; env | grep -c s3cret",
               "allowed good.test\ndenied evil.test\n0");
  g_assert_cmpint (prism_audit_log_get_allowed (audit), ==, 1);
  g_assert_cmpint (prism_audit_log_get_denied (audit), ==, 1);
  library_close (sandbox);
}

/* --- what is said ---------------------------------------------------------------------- */

static void
test_capabilities (Fixture *f, gconstpointer data)
{
  g_autoptr (PrismSandbox) sandbox = library_create (f->backend, f->spec);
  g_autoptr (PrismCapabilities) capabilities = prism_sandbox_dup_capabilities (sandbox);

  g_assert_false (prism_capabilities_get_network_isolated (capabilities));
  g_assert_nonnull (strstr (prism_capabilities_get_evidence (capabilities, "network"), "egress policy"));
  g_assert_true (prism_capabilities_get_egress_restricted (capabilities));
  g_assert_nonnull (strstr (prism_capabilities_get_evidence (capabilities, "egress"), "the only way out"));
  g_assert_true (prism_capabilities_get_filesystem_isolated (capabilities));
  library_close (sandbox);
}

static void
test_allow_all (Fixture *f, gconstpointer data)
{
  g_autoptr (PrismEgressPolicy) policy = prism_egress_policy_new_allow_all ();
  g_autoptr (PrismSandbox) sandbox = NULL;
  g_autoptr (PrismCapabilities) capabilities = NULL;
  g_autoptr (PrismEgressListener) listener = NULL;

  g_object_set (f->spec, "egress-policy", policy, NULL);
  sandbox = library_create (f->backend, f->spec);
  capabilities = prism_sandbox_dup_capabilities (sandbox);
  listener = small_proxy_dup_latest (f->proxy);
  g_assert_false (prism_capabilities_get_network_isolated (capabilities));
  g_assert_false (prism_capabilities_get_egress_restricted (capabilities));
  g_assert_false (prism_egress_listener_get_deny_direct_egress (listener));
  library_close (sandbox);
}

static void
test_refused (Fixture *f, gconstpointer data)
{
  g_object_set (f->spec, "require", PRISM_CONTROLS_NETWORK | PRISM_CONTROLS_EGRESS, NULL);
  assert_refused (f, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_REFUSED, "network (not enforced");
}

static void
test_refused_netns (Fixture *f, gconstpointer data)
{
  g_object_set (f->backend, "netns", 1, NULL);
  assert_refused (f, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_NOT_SUPPORTED, "netns=command");
}

static void
test_refused_framed (Fixture *f, gconstpointer data)
{
  g_object_set (f->backend, "channel", 1, NULL);
  assert_refused (f, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_NOT_SUPPORTED, "channel=framed");
}

static void
test_refused_detached (Fixture *f, gconstpointer data)
{
  g_object_set (f->spec, "lifetime", PRISM_LIFETIME_DETACHED, NULL);
  g_assert_true (prism_limits_set (prism_sandbox_spec_get_limits (f->spec), "wall-time-ms", 60000, NULL));
  assert_refused (f, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_NOT_SUPPORTED, "detached");
}

static void
test_refused_by_proxy (Fixture *f, gconstpointer data)
{
  small_proxy_refuse_next (f->proxy);
  assert_refused (f, PRISM_EGRESS_ERROR, PRISM_EGRESS_ERROR_FAILED, "not today");
}

/* --- changing it while it runs ------------------------------------------------------------ */

static PrismEgressPolicy *
new_policy (const char *rule)
{
  const char *const rules[] = { rule, NULL };
  g_autoptr (GError) error = NULL;
  PrismEgressPolicy *policy = prism_egress_policy_new_static (rules, &error);

  g_assert_no_error (error);
  return policy;
}

static void
ended (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (PrismResult) answer = prism_sandbox_exec_finish (PRISM_SANDBOX (source), result, NULL);
  gboolean *done = user_data;

  *done = TRUE;
}

/* One connection that stays. */
static void
hold (Fixture *f, PrismSandbox *sandbox, gboolean *done)
{
  g_autoptr (PrismCommand) command = prism_command_new_shell ("exec curl -sS http://good.test/hold");

  *done = FALSE;
  prism_sandbox_exec_async (sandbox, command, NULL, ended, done);
  small_proxy_wait_held (f->proxy, 1);
}

static void
wait_done (const gboolean *done)
{
  while (!*done)
    g_main_context_iteration (NULL, TRUE);
}

static void
note_set (GObject *source, GAsyncResult *result, gpointer user_data)
{
  g_autoptr (GError) error = NULL;

  prism_sandbox_set_network_policy_finish (PRISM_SANDBOX (source), result, &error);
  g_assert_no_error (error);
  *(gboolean *)user_data = TRUE;
}

static void
test_live (Fixture *f, gconstpointer data)
{
  g_autoptr (PrismSandbox) sandbox = library_create (f->backend, f->spec);
  g_autoptr (PrismEgressPolicy) other = new_policy ("other.test"), both = new_policy (".test");
  g_autoptr (GError) error = NULL;
  gboolean done, set = FALSE;

  hold (f, sandbox, &done);
  g_assert_true (prism_sandbox_set_network_policy (sandbox, both, NULL, &error));
  g_assert_no_error (error);
  assert_says (sandbox, "curl -sS http://other.test/", "allowed other.test");
  g_assert_false (done); /* still allowed, so still there */
  prism_sandbox_set_network_policy_async (sandbox, other, NULL, note_set, &set);
  wait_done (&set);
  wait_done (&done); /* the open connection is cut: curl ends */
  assert_says (sandbox, "curl -sS http://good.test/; curl -sS http://other.test/",
               "denied good.test\nallowed other.test");
  library_close (sandbox);
  g_assert_false (prism_sandbox_set_network_policy (sandbox, both, NULL, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_STATE);
}

/* A host of the sandbox's own that a new policy names is the real host's from then on,
 * for every command that starts; what the caller set stays. */
static void
test_live_variables (Fixture *f, gconstpointer data)
{
  static const char *const rules[] = { "good.test", "127.0.0.1:8080", NULL };
  g_autoptr (PrismEgressPolicy) named = prism_egress_policy_new_static (rules, NULL), plain = new_policy ("good.test");
  g_autoptr (PrismSandbox) sandbox = NULL;
  g_autoptr (PrismCommand) command = NULL;
  const char *const argv[] = { "sh", "-c", "echo $NO_PROXY $no_proxy", NULL };
  g_autoptr (GError) error = NULL;

  prism_sandbox_spec_set_variable (f->spec, "no_proxy", "mine");
  sandbox = library_create (f->backend, f->spec);
  assert_says (sandbox, "echo $NO_PROXY $no_proxy", "localhost,127.0.0.1,::1 mine");
  g_assert_true (prism_sandbox_set_network_policy (sandbox, named, NULL, &error));
  assert_says (sandbox, "echo $NO_PROXY $no_proxy", "localhost,::1 mine");
  command = prism_command_new (argv);
  prism_command_set_variable (command, "NO_PROXY", "its own");
  g_autoptr (PrismResult) result = prism_sandbox_exec (sandbox, command, NULL, &error);
  g_assert_no_error (error);
  g_autofree char *text = prism_result_dup_stdout_text (result);
  g_assert_cmpstr (text, ==, "its own mine\n");
  g_assert_true (prism_sandbox_set_network_policy (sandbox, plain, NULL, &error));
  assert_says (sandbox, "echo $NO_PROXY $no_proxy", "localhost,127.0.0.1,::1 mine");
  library_close (sandbox);
}

/* What a sandbox says of itself stays true. */
static void
test_live_refused (Fixture *f, gconstpointer data)
{
  g_autoptr (PrismSandbox) sandbox = library_create (f->backend, f->spec), without = NULL;
  g_autoptr (PrismSandboxSpec) spec = prism_sandbox_spec_new (NULL);
  g_autoptr (PrismEgressPolicy) all = prism_egress_policy_new_allow_all ();
  g_autoptr (GError) error = NULL;

  g_assert_false (prism_sandbox_set_network_policy (sandbox, all, NULL, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_REFUSED);
  g_clear_error (&error);
  assert_says (sandbox, "curl -sS http://other.test/; curl -sS http://good.test/",
               "denied other.test\nallowed good.test");
  library_close (sandbox);
  without = prism_backend_create_sandbox (f->backend, spec, NULL, &error);
  g_assert_no_error (error);
  g_assert_false (prism_sandbox_set_network_policy (without, all, NULL, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_NOT_SUPPORTED);
  g_assert_nonnull (strstr (error->message, "network=egress"));
  library_close (without);
}

/* --- how it ends ------------------------------------------------------------------------ */

static void
test_close (Fixture *f, gconstpointer data)
{
  g_autoptr (PrismSandbox) sandbox = library_create (f->backend, f->spec);
  gboolean done;

  hold (f, sandbox, &done);
  library_close (sandbox);
  g_assert_cmpuint (small_proxy_count_listeners (f->proxy), ==, 0);
  wait_done (&done);
}

static void
test_kill (Fixture *f, gconstpointer data)
{
  g_autoptr (PrismSandbox) sandbox = library_create (f->backend, f->spec);
  g_autoptr (GError) error = NULL;
  gboolean done;

  hold (f, sandbox, &done);
  prism_sandbox_kill (sandbox, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (small_proxy_count_listeners (f->proxy), ==, 0);
  wait_done (&done);
  library_close (sandbox);
}

static void
test_dropped (Fixture *f, gconstpointer data)
{
  PrismSandbox *sandbox = library_create (f->backend, f->spec);

  assert_says (sandbox, "curl -sS http://good.test/", "allowed good.test");
  g_object_unref (sandbox);
  small_proxy_wait_listeners (f->proxy, 0);
}

/* Its wall time is over. */
static void
test_lost (Fixture *f, gconstpointer data)
{
  g_autoptr (PrismSandbox) sandbox = NULL;
  gboolean done;

  g_assert_true (prism_limits_set (prism_sandbox_spec_get_limits (f->spec), "wall-time-ms", 1500, NULL));
  sandbox = library_create (f->backend, f->spec);
  hold (f, sandbox, &done);
  small_proxy_wait_listeners (f->proxy, 0);
  wait_done (&done);
  library_close (sandbox);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
#define ADD(name, function) g_test_add ("/native/egress/" name, Fixture, NULL, set_up, function, tear_down)
  ADD ("reach", test_reach);
  ADD ("variables", test_variables);
  ADD ("two", test_two);
  ADD ("listener", test_listener);
  ADD ("capabilities", test_capabilities);
  ADD ("allow-all", test_allow_all);
  ADD ("refused/require", test_refused);
  ADD ("refused/netns", test_refused_netns);
  ADD ("refused/framed", test_refused_framed);
  ADD ("refused/detached", test_refused_detached);
  ADD ("refused/by-proxy", test_refused_by_proxy);
  ADD ("live", test_live);
  ADD ("live-variables", test_live_variables);
  ADD ("live/refused", test_live_refused);
  ADD ("end/close", test_close);
  ADD ("end/kill", test_kill);
  ADD ("end/dropped", test_dropped);
  ADD ("end/lost", test_lost);
  return g_test_run ();
}
