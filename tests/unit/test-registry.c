/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The registry without modules: manifests, folders, owners, and types that a
 * program adds itself. tests/plugins has what is broken in files. */
#include "prism-plugin-manifest-private.h"
#include "prism-plugin-module-private.h"
#include "prism-plugin-paths-private.h"
#include "prism-registry.h"

#include <string.h>

#define LINES                                                                                                          \
  "[Plugin]\nName=one\nModule=one.so\nABI=1.0\nVersion=0.1\nLicence=MIT\nDescription=A plug-in\nBackends=one;two;\n"

static void
test_manifest_good (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismPluginManifest) manifest = prism_plugin_manifest_parse (LINES, strlen (LINES), &error);

  g_assert_no_error (error);
  g_assert_cmpstr (manifest->name, ==, "one");
  g_assert_cmpstr (manifest->module, ==, "one.so");
  g_assert_cmpstr (manifest->description, ==, "A plug-in");
  g_assert_cmpuint (g_strv_length (manifest->backends), ==, 2);
  g_assert_cmpstr (manifest->backends[1], ==, "two");
}

/* Each row changes one line of a good manifest, or is a whole one. */
static void
test_manifest_bad (void)
{
  static const struct
  {
    const char *old;
    const char *new;
    int code;
    const char *words;
  } rows[] = {
    { "Name=one", "Nam=one", PRISM_PLUGIN_ERROR_MANIFEST, "Name= is missing" },
    { "Name=one", "Name=", PRISM_PLUGIN_ERROR_MANIFEST, "Name= is missing" },
    { "Name=one", "Name=One", PRISM_PLUGIN_ERROR_MANIFEST, "no plug-in name" },
    { "Name=one", "Name=../one", PRISM_PLUGIN_ERROR_MANIFEST, "no plug-in name" },
    { "Name=one", "Name=1", PRISM_PLUGIN_ERROR_MANIFEST, "no plug-in name" },
    { "Module=one.so", "Module=/usr/lib/one.so", PRISM_PLUGIN_ERROR_MANIFEST, "plain name" },
    { "Module=one.so", "Module=../one.so", PRISM_PLUGIN_ERROR_MANIFEST, "plain name" },
    { "Module=one.so", "Module=.so", PRISM_PLUGIN_ERROR_MANIFEST, "plain name" },
    { "Module=one.so", "Module=one", PRISM_PLUGIN_ERROR_MANIFEST, "plain name" },
    { "ABI=1.0", "ABI=1", PRISM_PLUGIN_ERROR_MANIFEST, "MAJOR.MINOR" },
    { "ABI=1.0", "ABI=1.0.0", PRISM_PLUGIN_ERROR_MANIFEST, "MAJOR.MINOR" },
    { "ABI=1.0", "ABI=1.-1", PRISM_PLUGIN_ERROR_MANIFEST, "MAJOR.MINOR" },
    { "ABI=1.0", "ABI=1.65536", PRISM_PLUGIN_ERROR_MANIFEST, "MAJOR.MINOR" },
    { "ABI=1.0", "ABI=2.0", PRISM_PLUGIN_ERROR_ABI, "first number" },
    { "ABI=1.0", "ABI=0.0", PRISM_PLUGIN_ERROR_ABI, "first number" },
    { "ABI=1.0", "ABI=1.1", PRISM_PLUGIN_ERROR_ABI, "newer" },
    { "Licence=MIT", "License=MIT", PRISM_PLUGIN_ERROR_MANIFEST, "Licence= is missing" },
    { "Version=0.1", "Version=0.1\033[2J", PRISM_PLUGIN_ERROR_MANIFEST, "cannot be shown" },
    { "Version=0.1", "Version=0.1\\n", PRISM_PLUGIN_ERROR_MANIFEST, "an escape" },
    { "Version=0.1", "Version=\xff", PRISM_PLUGIN_ERROR_MANIFEST, "cannot be read" },
    { "Backends=one;two;", "Backends=one;\xff;", PRISM_PLUGIN_ERROR_MANIFEST, "cannot be read" },
    { "Backends=one;two;", "Backends=one;one;", PRISM_PLUGIN_ERROR_MANIFEST, "twice" },
    { "Backends=one;two;", "Backends=one;;", PRISM_PLUGIN_ERROR_MANIFEST, "no name" },
    { "Backends=one;two;", "Backends=o ne;", PRISM_PLUGIN_ERROR_MANIFEST, "no name" },
    { "[Plugin]", "[Plugin", PRISM_PLUGIN_ERROR_MANIFEST, "not a key file" },
    { "[Plugin]", "[Plugins]", PRISM_PLUGIN_ERROR_MANIFEST, "no group" },
    { LINES, "", PRISM_PLUGIN_ERROR_MANIFEST, "not a key file" },
    { LINES, "\177ELF", PRISM_PLUGIN_ERROR_MANIFEST, "not a key file" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      const char *at = strstr (LINES, rows[i].old);
      g_autofree char *before = g_strndup (LINES, at - LINES);
      g_autofree char *text = g_strconcat (before, rows[i].new, at + strlen (rows[i].old), NULL);
      g_autoptr (GError) error = NULL;

      g_autofree char *shown = g_strescape (rows[i].new, NULL);
      g_test_message ("%s", shown);
      g_assert_null (prism_plugin_manifest_parse (text, strlen (text), &error));
      g_assert_error (error, PRISM_PLUGIN_ERROR, rows[i].code);
      g_assert_nonnull (strstr (error->message, rows[i].words));
    }
}

static void
test_manifest_size (void)
{
  g_autofree char *filler = g_strnfill (PRISM_PLUGIN_MANIFEST_MAX, '#');
  g_autofree char *text = g_strconcat (LINES, filler, NULL);
  g_autofree char *value = g_strnfill (1100, 'x');
  g_autofree char *wide = g_strdup_printf ("[Plugin]\nName=one\nABI=1.0\nModule=one.so\nVersion=%s\n", value);
  g_autoptr (GError) error = NULL;

  g_assert_null (prism_plugin_manifest_parse (text, strlen (text), &error));
  g_assert_error (error, PRISM_PLUGIN_ERROR, PRISM_PLUGIN_ERROR_MANIFEST);
  g_clear_error (&error);
  g_assert_null (prism_plugin_manifest_parse (wide, strlen (wide), &error));
  g_assert_error (error, PRISM_PLUGIN_ERROR, PRISM_PLUGIN_ERROR_MANIFEST);
}

static void
nothing (PrismRegistry *registry)
{
}

static void
test_descriptor (void)
{
  const PrismPluginDescriptor good = { PRISM_PLUGIN_MAGIC, 1, 0, sizeof good, "one", "0.1", "MIT", nothing };
  g_autoptr (PrismPluginManifest) manifest = prism_plugin_manifest_parse (LINES, strlen (LINES), NULL);
  PrismPluginDescriptor bad;

  g_assert_true (prism_plugin_descriptor_check (&good, manifest, NULL));

#define BAD(field, value, code)                                                                                        \
  G_STMT_START                                                                                                         \
  {                                                                                                                    \
    g_autoptr (GError) error = NULL;                                                                                   \
    bad = good;                                                                                                        \
    bad.field = value;                                                                                                 \
    g_assert_false (prism_plugin_descriptor_check (&bad, manifest, &error));                                           \
    g_assert_error (error, PRISM_PLUGIN_ERROR, code);                                                                  \
  }                                                                                                                    \
  G_STMT_END
  BAD (magic, 0, PRISM_PLUGIN_ERROR_LOAD);
  BAD (abi_major, 2, PRISM_PLUGIN_ERROR_ABI);
  BAD (abi_minor, 1, PRISM_PLUGIN_ERROR_ABI);
  BAD (size, 0, PRISM_PLUGIN_ERROR_ABI);
  BAD (size, sizeof good + 8, PRISM_PLUGIN_ERROR_ABI);
  BAD (load, NULL, PRISM_PLUGIN_ERROR_ABI);
  BAD (name, "two", PRISM_PLUGIN_ERROR_MANIFEST);
  BAD (name, NULL, PRISM_PLUGIN_ERROR_MANIFEST);
  BAD (version, "0.2", PRISM_PLUGIN_ERROR_MANIFEST);
  BAD (licence, "GPL-2.0-only", PRISM_PLUGIN_ERROR_MANIFEST);
#undef BAD
}

static char *
describe (GPtrArray *folders)
{
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint i = 0; i < folders->len; i++)
    {
      const PrismPluginFolder *folder = folders->pdata[i];

      g_string_append_printf (text, "%s%s%s", i > 0 ? " " : "", folder->path, folder->built_in ? "!" : "");
    }

  return g_string_free (g_steal_pointer (&text), FALSE);
}

static void
test_folders (void)
{
  static const struct
  {
    const char *replacement;
    const char *in_front;
    const char *expected;
  } rows[] = {
    { NULL, NULL, "/built-in!" }, { NULL, "/a:/b", "/a /b /built-in!" }, { NULL, "::/a:", "/a /built-in!" },
    { "/other", NULL, "/other" }, { "/other", "/a", "/a /other" },       { "", NULL, "" },
    { "", "/a", "/a" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (GPtrArray) folders = prism_plugin_folders_from ("/built-in", rows[i].replacement, rows[i].in_front);
      g_autofree char *text = describe (folders);

      g_assert_cmpstr (text, ==, rows[i].expected);
    }
}

static void
test_owners (void)
{
  static const struct
  {
    guint owner;
    guint caller;
    gboolean unmapped;
    gboolean built_in;
    gboolean trusted;
  } rows[] = {
    { 0, 0, FALSE, FALSE, TRUE },         { 0, 1000, FALSE, FALSE, TRUE },   { 1000, 1000, FALSE, FALSE, TRUE },
    { 1001, 1000, FALSE, FALSE, FALSE },  { 1000, 0, FALSE, FALSE, FALSE },  { 1000, 0, FALSE, TRUE, FALSE },
    { 65534, 1000, TRUE, FALSE, FALSE },  { 65534, 1000, TRUE, TRUE, TRUE }, { 65534, 65534, TRUE, FALSE, FALSE },
    { 65534, 65534, FALSE, FALSE, TRUE },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    g_assert_cmpint (prism_plugin_owner_is_trusted (rows[i].owner, rows[i].caller, rows[i].unmapped, rows[i].built_in),
                     ==, rows[i].trusted);
}

/* Two backends of the program's own. */
typedef GObject TestBackend;
typedef GObjectClass TestBackendClass;
typedef GObject TestHalf;
typedef GObjectClass TestHalfClass;

static const char *
get_name (PrismBackend *self)
{
  return G_OBJECT_TYPE_NAME (self);
}

static void
probe (PrismBackend *self, PrismProbeOperation *operation)
{
}

static void
create_sandbox (PrismBackend *self, PrismCreateOperation *operation)
{
}

static void
whole_iface_init (PrismBackendInterface *iface)
{
  iface->get_name = get_name;
  iface->probe = probe;
  iface->create_sandbox = create_sandbox;
}

static void
half_iface_init (PrismBackendInterface *iface)
{
  iface->get_name = get_name;
  iface->create_sandbox = create_sandbox;
}

GType test_backend_get_type (void);
GType test_half_get_type (void);
G_DEFINE_TYPE_WITH_CODE (TestBackend,
                         test_backend,
                         G_TYPE_OBJECT,
                         G_IMPLEMENT_INTERFACE (PRISM_TYPE_BACKEND, whole_iface_init))
G_DEFINE_TYPE_WITH_CODE (TestHalf,
                         test_half,
                         G_TYPE_OBJECT,
                         G_IMPLEMENT_INTERFACE (PRISM_TYPE_BACKEND, half_iface_init))

static void
test_backend_class_init (TestBackendClass *klass)
{
}

static void
test_backend_init (TestBackend *self)
{
}

static void
test_half_class_init (TestHalfClass *klass)
{
}

static void
test_half_init (TestHalf *self)
{
}

static PrismRegistry *
empty_registry (void)
{
  return prism_registry_new ((const char *const[]){ NULL });
}

static GType
derived_type (const char *name, GTypeFlags flags)
{
  return g_type_register_static_simple (test_backend_get_type (), name, sizeof (GObjectClass), NULL, sizeof (GObject),
                                        NULL, flags);
}

static void
test_add_type (void)
{
  g_autoptr (PrismRegistry) registry = empty_registry ();
  GType second = derived_type ("TestSecond", 0);
  g_autoptr (PrismBackend) backend = NULL;
  g_auto (GStrv) names = NULL;

  g_assert_true (prism_registry_add_type (registry, "b", test_backend_get_type (), 10, NULL));
  g_assert_true (prism_registry_add_type (registry, "a", test_backend_get_type (), 10, NULL));
  names = prism_registry_list_backends (registry);
  g_assert_cmpuint (g_strv_length (names), ==, 2);
  g_assert_cmpstr (names[0], ==, "a");

  /* Of equal priorities the first stays; a higher one wins. */
  g_assert_true (prism_registry_add_type (registry, "a", second, 10, NULL));
  g_assert_true (prism_registry_get_backend_type (registry, "a", NULL) == test_backend_get_type ());
  g_assert_true (prism_registry_add_type (registry, "b", second, 11, NULL));
  backend = prism_registry_create_backend (registry, "b", NULL);
  g_assert_cmpstr (prism_backend_get_name (backend), ==, "TestSecond");
}

static void
test_add_type_refused (void)
{
  const struct
  {
    const char *name;
    GType type;
    const char *words;
  } rows[] = {
    { "x", G_TYPE_INVALID, "could not be registered" },
    { "x", G_TYPE_STRING, "does not implement the interface" },
    { "x", G_TYPE_CANCELLABLE, "does not implement the interface" },
    { "x", PRISM_TYPE_BACKEND, "does not implement the interface" },
    { "x", test_half_get_type (), "does not implement probe()" },
    { "x", derived_type ("TestAbstract", G_TYPE_FLAG_ABSTRACT), "is abstract" },
    { "Upper", test_backend_get_type (), "no backend name" },
    { "", test_backend_get_type (), "no backend name" },
    { "taken", test_backend_get_type (), "already there" },
  };
  g_autoptr (PrismRegistry) registry = empty_registry ();

  g_assert_true (prism_registry_add_type (registry, "taken", test_backend_get_type (), 1, NULL));
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (GError) error = NULL;

      g_assert_false (prism_registry_add_type (registry, rows[i].name, rows[i].type, 0, &error));
      g_assert_error (error, PRISM_PLUGIN_ERROR, PRISM_PLUGIN_ERROR_TYPE);
      g_assert_nonnull (strstr (error->message, rows[i].words));
    }
}

static void
proxy_method (PrismEgressProxy *self, PrismEgressOperation *operation)
{
}

static const char *
proxy_get_name (PrismEgressProxy *self)
{
  return G_OBJECT_TYPE_NAME (self);
}

static void
proxy_iface_init (PrismEgressProxyInterface *iface)
{
  iface->get_name = proxy_get_name;
  iface->start = proxy_method;
  iface->stop = proxy_method;
  iface->add_listener = proxy_method;
  iface->remove_listener = proxy_method;
  iface->set_policy = proxy_method;
}

typedef GObject TestProxy;
typedef GObjectClass TestProxyClass;

GType test_proxy_get_type (void);
G_DEFINE_TYPE_WITH_CODE (TestProxy,
                         test_proxy,
                         G_TYPE_OBJECT,
                         G_IMPLEMENT_INTERFACE (PRISM_TYPE_EGRESS_PROXY, proxy_iface_init))

static void
get_listener (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
}

static void
test_proxy_class_init (TestProxyClass *klass)
{
  klass->get_property = get_listener;
  g_object_class_override_property (klass, 1, "listener");
}

static void
test_proxy_init (TestProxy *self)
{
}

static void
test_egress_proxies (void)
{
  g_autoptr (PrismRegistry) registry = empty_registry ();
  GType type = test_proxy_get_type ();
  GType better =
      g_type_register_static_simple (type, "TestBetterProxy", sizeof (GObjectClass), NULL, sizeof (GObject), NULL, 0);
  g_autoptr (PrismEgressProxy) proxy = NULL;
  g_autoptr (GError) error = NULL;

  g_assert_true (prism_registry_get_egress_proxy_type (registry, NULL, &error) == G_TYPE_INVALID);
  g_assert_error (error, PRISM_PLUGIN_ERROR, PRISM_PLUGIN_ERROR_NOT_FOUND);
  g_clear_error (&error);

  g_assert_true (prism_registry_add_type (registry, "plain", type, 1, NULL));
  g_assert_true (prism_registry_add_type (registry, "better", better, 2, NULL));
  /* A backend of the same name, and of more, is another thing. */
  g_assert_true (prism_registry_add_type (registry, "plain", test_backend_get_type (), 9, NULL));
  g_assert_true (prism_registry_get_egress_proxy_type (registry, "plain", NULL) == type);
  g_assert_true (prism_registry_get_egress_proxy_type (registry, NULL, NULL) == better);
  proxy = prism_registry_create_egress_proxy (registry, NULL, NULL);
  g_assert_cmpstr (prism_egress_proxy_get_name (proxy), ==, "TestBetterProxy");

  g_assert_true (prism_registry_get_egress_proxy_type (registry, "worse", &error) == G_TYPE_INVALID);
  g_assert_error (error, PRISM_PLUGIN_ERROR, PRISM_PLUGIN_ERROR_NOT_FOUND);
  g_assert_nonnull (strstr (error->message, "better, plain"));
}

static void
test_not_found (void)
{
  g_autoptr (PrismRegistry) registry = empty_registry ();
  g_autoptr (GError) error = NULL;

  g_assert_null (prism_registry_create_backend (registry, "x", &error));
  g_assert_error (error, PRISM_PLUGIN_ERROR, PRISM_PLUGIN_ERROR_NOT_FOUND);
  g_assert_nonnull (strstr (error->message, "and no other"));
  g_clear_error (&error);

  g_assert_true (prism_registry_add_type (registry, "there", test_backend_get_type (), 1, NULL));
  g_assert_null (prism_registry_create_backend (registry, "x", &error));
  g_assert_nonnull (strstr (error->message, "there is: there"));
}

static gpointer
ask_thread (gpointer data)
{
  for (guint i = 0; i < 500; i++)
    {
      g_autofree char *name = g_strdup_printf ("n%u", i);
      g_autoptr (PrismBackend) backend = NULL;
      g_auto (GStrv) names = NULL;

      prism_registry_add_type (data, name, test_backend_get_type (), 0, NULL);
      backend = prism_registry_create_backend (data, name, NULL);
      g_assert_nonnull (backend);
      names = prism_registry_list_backends (data);
      g_assert_cmpuint (g_strv_length (names), >, i);
      g_assert_cmpuint (g_list_model_get_n_items (data), ==, 0);
    }

  return NULL;
}

static void
test_threads (void)
{
  g_autoptr (PrismRegistry) registry = empty_registry ();
  GThread *threads[4];

  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    threads[i] = g_thread_new ("ask", ask_thread, registry);
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    g_thread_join (threads[i]);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);

  g_test_add_func ("/registry/manifest/good", test_manifest_good);
  g_test_add_func ("/registry/manifest/bad", test_manifest_bad);
  g_test_add_func ("/registry/manifest/size", test_manifest_size);
  g_test_add_func ("/registry/descriptor", test_descriptor);
  g_test_add_func ("/registry/folders", test_folders);
  g_test_add_func ("/registry/owners", test_owners);
  g_test_add_func ("/registry/add-type", test_add_type);
  g_test_add_func ("/registry/add-type/refused", test_add_type_refused);
  g_test_add_func ("/registry/egress-proxies", test_egress_proxies);
  g_test_add_func ("/registry/not-found", test_not_found);
  g_test_add_func ("/registry/threads", test_threads);

  return g_test_run ();
}
