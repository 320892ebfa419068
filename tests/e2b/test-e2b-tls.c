/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The way to the service: names that are none, certificates that are not to be trusted, and what a
 * connection that is fine carries. */
#include <string.h>

#include "e2b-local.h"

static void
assert_unreachable (PrismBackend *backend, const char *says)
{
  g_autoptr (PrismSandboxSpec) spec = prism_sandbox_spec_new (NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismSandbox) sandbox = prism_backend_create_sandbox (backend, spec, NULL, &error);

  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_UNAVAILABLE);
  g_test_message ("%s", error->message);
  g_assert_nonnull (strstr (error->message, says));
  g_assert_null (strstr (error->message, E2B_LOCAL_KEY));
  /* Nothing was asked, so nothing is unknown. */
  g_assert_null (strstr (error->message, "whether it was done"));
}

static void
test_names (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismBackend) backend = prism_registry_create_backend (prism_registry_get_default (), "e2b", &error);

  g_assert_no_error (error);
  g_object_set (backend, "api-key", E2B_LOCAL_KEY, "domain", "prism-tests.invalid", NULL);
  assert_unreachable (backend, "DNS");
  g_object_set (backend, "api-url", "http://127.0.0.1:1", NULL);
  assert_unreachable (backend, "check the network");
}

static void
openssl (const char *folder, const char *arguments)
{
  g_auto (GStrv) argv = NULL;
  g_autofree char *line = g_strconcat ("openssl ", arguments, NULL);
  g_autoptr (GError) error = NULL;
  int status;

  g_assert_true (g_shell_parse_argv (line, NULL, &argv, &error));
  g_assert_true (g_spawn_sync (folder, argv, NULL,
                               G_SPAWN_SEARCH_PATH | G_SPAWN_STDOUT_TO_DEV_NULL | G_SPAWN_STDERR_TO_DEV_NULL, NULL,
                               NULL, NULL, NULL, &status, &error));
  g_assert_no_error (error);
  g_assert_true (g_spawn_check_wait_status (status, &error));
}

/* Small and large, both by HTTP/1.1, though the server has HTTP/2 as well. */
static void
assert_written (E2bLocal *local, PrismSandbox *sandbox)
{
  static const gsize sizes[] = { 5, 2 * 1024 * 1024 };
  g_autofree char *path = g_build_filename (e2b_local_get_folder (local), "file", NULL);

  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
    {
      g_autofree char *text = g_strnfill (sizes[i], 'x');
      g_autoptr (GBytes) bytes = g_bytes_new_static (text, sizes[i]), read = NULL;
      g_autoptr (GError) error = NULL;

      g_assert_true (prism_sandbox_write_file (sandbox, path, bytes, 0, 0, NULL, &error));
      g_assert_no_error (error);
      read = prism_sandbox_read_file (sandbox, path, 0, -1, NULL, &error);
      g_assert_no_error (error);
      g_assert_true (g_bytes_equal (read, bytes));
    }
  g_assert_cmpint (e2b_local_count (local, "http2"), ==, 0);
}

#define NEW_KEY "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes "

/* Certificates: a right one, which shows that nothing else is wrong, and three that are not. */
static void
test_certificates (void)
{
  static const struct
  {
    const char *name, *address, *days, *says;
  } certificates[] = {
    { "right", "IP:127.0.0.1", "2", NULL },
    { "other", "DNS:other.example", "2", "is not for this name" },
    { "old", "IP:127.0.0.1", "-1", "no longer valid" },
    { "own", "IP:127.0.0.1", "2", "of no authority" },
  };
  g_autoptr (GError) error = NULL;
  g_autofree char *folder = g_dir_make_tmp ("e2b-tls-XXXXXX", &error);
  g_autofree char *authority = g_build_filename (folder, "ca.pem", NULL);
  g_autoptr (GTlsDatabase) database = NULL;
  const char *rm[] = { "rm", "-rf", "--", folder, NULL };

  g_assert_true (g_tls_backend_supports_tls (g_tls_backend_get_default ()));
  openssl (folder, "req -x509 " NEW_KEY "-days 2 -subj /CN=tests -keyout ca.key -out ca.pem");
  database = g_tls_file_database_new (authority, &error);
  g_assert_no_error (error);
  g_tls_backend_set_default_database (g_tls_backend_get_default (), database);
  for (guint i = 0; i < G_N_ELEMENTS (certificates); i++)
    {
      const char *name = certificates[i].name;
      gboolean own = strcmp (name, "own") == 0;
      g_autofree char *request = g_strdup_printf (
          "req %s " NEW_KEY "%s -subj /CN=%s -addext subjectAltName=%s -keyout %s.key -out %s.%s", own ? "-x509" : "",
          own ? "-days 2" : "", name, certificates[i].address, name, name, own ? "pem" : "csr");
      g_autofree char *sign =
          g_strdup_printf ("x509 -req -in %s.csr -CA ca.pem -CAkey ca.key -CAcreateserial -copy_extensions copy "
                           "-days %s -out %s.pem",
                           name, certificates[i].days, name);
      g_autofree char *pem = g_strdup_printf ("%s/%s.pem", folder, name),
                      *key = g_strdup_printf ("%s/%s.key", folder, name);
      const char *options[] = { "--tls", pem, key, NULL };
      g_autoptr (E2bLocal) local = NULL;
      g_autoptr (PrismBackend) backend = NULL;

      openssl (folder, request);
      if (!own)
        openssl (folder, sign);
      local = e2b_local_new (options);
      backend = e2b_local_new_backend (local);
      if (certificates[i].says == NULL)
        {
          g_autoptr (PrismSandboxSpec) spec = e2b_local_new_spec (local);
          g_autoptr (PrismSandbox) sandbox = prism_backend_create_sandbox (backend, spec, NULL, &error);
          g_assert_no_error (error);
          assert_written (local, sandbox);
          g_assert_true (prism_sandbox_close (sandbox, NULL, &error));
        }
      else
        assert_unreachable (backend, certificates[i].says);
    }
  g_tls_backend_set_default_database (g_tls_backend_get_default (), NULL);
  g_spawn_sync (NULL, (char **)rm, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL, NULL, NULL);
}

/* A server that does not speak TLS at all. */
static void
test_no_tls (void)
{
  g_autoptr (E2bLocal) local = e2b_local_new (NULL);
  g_autoptr (PrismBackend) backend = e2b_local_new_backend (local);
  g_autofree char *url = g_strconcat ("https", strchr (e2b_local_get_url (local), ':'), NULL);

  g_object_set (backend, "api-url", url, NULL);
  assert_unreachable (backend, "cannot create the sandbox");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/e2b/tls/names", test_names);
  g_test_add_func ("/e2b/tls/certificates", test_certificates);
  g_test_add_func ("/e2b/tls/no-tls", test_no_tls);
  return g_test_run ();
}
