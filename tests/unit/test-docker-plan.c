/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is asked of the docker backend, and what the engine is asked for then: the
 * translators, by tables, without an engine. */
#include <libprism/prism.h>
#include <string.h>

#include "prism-docker-capabilities.h"
#include "prism-docker-deposit.h"
#include "prism-docker-fate.h"
#include "prism-docker-image.h"
#include "prism-docker-names.h"
#include "prism-docker-owner.h"
#include "prism-docker-plan.h"
#include "prism-docker-tar.h"

#define DIGEST "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define IMAGE  "registry.example:5000/team/image@" DIGEST
#define ID     "00112233445566778899aabbccddeeff"

static const PrismDockerDialect docker = { 41, FALSE, 0 }, podman = { 41, TRUE, 4000 };

/* --- names ------------------------------------------------------------------------- */

static void
test_images (void)
{
  static const struct
  {
    const char *image;
    gboolean pinned;
  } cases[] = {
    { IMAGE, TRUE },
    { "image@" DIGEST, TRUE },
    { "image:1.2@" DIGEST, TRUE },
    { "image@sha256:0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef", TRUE },
    { "image", FALSE },
    { "image:latest", FALSE },
    { DIGEST, FALSE },
    { "@" DIGEST, FALSE },
    { "-v@" DIGEST, FALSE },
    { "--privileged@" DIGEST, FALSE },
    { "image@" DIGEST "0", FALSE },
    { "image@" DIGEST "@" DIGEST, FALSE },
    { "image@sha256:xyz", FALSE },
    { "image@sha512:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", FALSE },
    { "im age@" DIGEST, FALSE },
    { "image\n@" DIGEST, FALSE },
    { "a//b@" DIGEST, FALSE },
    { "../x@" DIGEST, FALSE },
    { "image/@" DIGEST, FALSE },
    { "image?x=1@" DIGEST, FALSE },
    { "image#@" DIGEST, FALSE },
    { "im%2fage@" DIGEST, FALSE },
    { "", FALSE },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_test_message ("“%s”", cases[i].image);
      g_assert_cmpint (prism_docker_is_pinned_image (cases[i].image), ==, cases[i].pinned);
    }
  g_assert_false (prism_docker_is_pinned_image (NULL));
}

static void
test_printable (void)
{
  g_autofree char *text = prism_docker_dup_printable ("a\033[2Jb\ac\302\233d\342\200\256e\nf\377", -1);
  g_assert_cmpstr (text, ==, "a [2Jb c d e f\357\277\275");
}

static void
test_users (void)
{
  static const struct
  {
    const char *user;
    guint uid, gid; /* 0: refused */
  } cases[] = {
    { "10001:10001", 10001, 10001 },
    { "1:2147483647", 1, 2147483647 },
    { "0:1", 0, 0 },
    { "1:0", 0, 0 },
    { "root", 0, 0 },
    { "1000", 0, 0 },
    { "1000:", 0, 0 },
    { ":1000", 0, 0 },
    { "1000:1000:1000", 0, 0 },
    { "1000:2147483648", 0, 0 },
    { "00000000001:1", 0, 0 },
    { "-1:1", 0, 0 },
    { " 1:1", 0, 0 },
    { "1:1\n", 0, 0 },
    { "+1:1", 0, 0 },
    { "", 0, 0 },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      guint uid = 0, gid = 0;
      gboolean good = prism_docker_parse_user (cases[i].user, &uid, &gid);
      g_test_message ("“%s”", cases[i].user);
      g_assert_cmpint (good, ==, cases[i].uid != 0);
      if (good)
        {
          g_assert_cmpuint (uid, ==, cases[i].uid);
          g_assert_cmpuint (gid, ==, cases[i].gid);
        }
    }
}

static void
test_names (void)
{
  static const char *const bad_networks[] = { "host",        "bridge",  "default", "none",
                                              "container:x", "Host",    "HOST",    "",
                                              "a b",         "a\\b",    "-a",      "ns:/proc/1/ns/net",
                                              "pasta",       "private", "a/b",     "slirp4netns" };
  static const char *const good_networks[] = { "prism-net", "a", "A.b_c-1" };

  for (gsize i = 0; i < G_N_ELEMENTS (bad_networks); i++)
    g_assert_false (prism_docker_is_network_name (bad_networks[i]));
  for (gsize i = 0; i < G_N_ELEMENTS (good_networks); i++)
    g_assert_true (prism_docker_is_network_name (good_networks[i]));
  g_assert_true (prism_docker_is_skill_id ("pdf.v1_2-x", 10));
  g_assert_false (prism_docker_is_skill_id ("..", 2));
  g_assert_false (prism_docker_is_skill_id (".", 1));
  g_assert_false (prism_docker_is_skill_id ("a/b", 3));
  g_assert_false (prism_docker_is_skill_id ("", 0));
  g_assert_true (prism_docker_is_container_id ("0123456789ab"));
  g_assert_false (prism_docker_is_container_id ("0123456789a"));
  g_assert_false (prism_docker_is_container_id ("../containers"));
}

/* --- plans -------------------------------------------------------------------------- */

typedef struct
{
  PrismDockerOptions options;
  PrismDockerAsked asked;
} Fixture;

static void
set_up (Fixture *self, gconstpointer data)
{
  self->options.image = (char *)IMAGE;
  self->asked = (PrismDockerAsked){
    .spec = prism_sandbox_spec_new (NULL),
    .options = &self->options,
    .id = ID,
    .agent = "/usr/libexec/prism-agent",
    .host = "boot:1:2:3",
    .caller = 0,
    .views = g_ptr_array_new_with_free_func (g_free),
    .hide = g_ptr_array_new_with_free_func (g_free),
    .protect = g_ptr_array_new_with_free_func (g_free),
    .uid = 10001,
    .gid = 10001,
  };
}

static void
tear_down (Fixture *self, gconstpointer data)
{
  g_object_unref (self->asked.spec);
  g_ptr_array_unref (self->asked.views);
  g_ptr_array_unref (self->asked.hide);
  g_ptr_array_unref (self->asked.protect);
}

static void
add_view (Fixture *self, const char *source, const char *target, gboolean writable, guint owner)
{
  PrismDockerView *view = g_new0 (PrismDockerView, 1);
  *view = (PrismDockerView){
    { (char *)source, PRISM_DOCKER_KIND_FOLDER, owner, owner }, (char *)target, writable, "mounts"
  };
  g_ptr_array_add (self->asked.views, view);
}

static void
add_path (GPtrArray *list, const char *path, PrismDockerKind kind)
{
  PrismDockerPath *entry = g_new0 (PrismDockerPath, 1);
  *entry = (PrismDockerPath){ (char *)path, kind, 0, 0 };
  g_ptr_array_add (list, entry);
}

static PrismDockerPlan *
make_plan (Fixture *self, const char *const *volumes)
{
  g_autoptr (GString) offenders = g_string_new (NULL);
  PrismDockerPlan *plan = prism_docker_plan_new (&self->asked, "/run/prism/docker/" ID, volumes, offenders);

  if (plan == NULL)
    g_test_message ("%s", offenders->str);
  g_assert_nonnull (plan);
  return plan;
}

static JsonNode *
parse (const char *text)
{
  g_autoptr (GBytes) bytes = g_bytes_new (text, strlen (text));
  g_autoptr (GError) error = NULL;
  JsonNode *node = prism_http_json_parse (bytes, &error);

  g_assert_no_error (error);
  return node;
}

static void
test_hardened (Fixture *self, gconstpointer data)
{
  g_autoptr (PrismDockerPlan) plan = make_plan (self, NULL);
  g_autofree char *json = prism_docker_plan_to_json (plan, &docker);
  g_autoptr (JsonNode) root = parse (json);
  JsonNode *host = prism_http_json_get (root, "HostConfig", NULL);
  static const struct
  {
    const char *name, *value;
  } texts[] = { { "NetworkMode", "none" }, { "IpcMode", "private" }, { "CgroupnsMode", "private" },
                { "PidMode", "" },         { "UsernsMode", "" },     { "UTSMode", "" } };

  g_assert_cmpstr (prism_http_json_text (prism_http_json_get (root, "User", NULL)), ==, "10001:10001");
  g_assert_cmpstr (prism_http_json_text (prism_http_json_get (root, "Image", NULL)), ==, IMAGE);
  g_assert_cmpstr (prism_http_json_text (prism_http_json_get (root, "Labels", "prism.sandbox.id", NULL)), ==, ID);
  for (gsize i = 0; i < G_N_ELEMENTS (texts); i++)
    g_assert_cmpstr (prism_http_json_text (prism_http_json_get (host, texts[i].name, NULL)), ==, texts[i].value);
  g_assert_true (prism_http_json_flag (prism_http_json_get (host, "ReadonlyRootfs", NULL)));
  g_assert_false (prism_http_json_flag (prism_http_json_get (host, "Privileged", NULL)));
  g_assert_false (prism_http_json_flag (prism_http_json_get (host, "Init", NULL)));
  g_assert_cmpstr (
      json_array_get_string_element (prism_http_json_array (prism_http_json_get (host, "CapDrop", NULL)), 0), ==,
      "ALL");
  g_assert_cmpint (prism_http_json_number (prism_http_json_get (host, "Memory", NULL), 0), ==,
                   G_GINT64_CONSTANT (2) << 30);
  g_assert_cmpint (prism_http_json_number (prism_http_json_get (host, "MemorySwap", NULL), 0), ==,
                   G_GINT64_CONSTANT (2) << 30);
  g_assert_cmpint (prism_http_json_number (prism_http_json_get (host, "CpuQuota", NULL), 0), ==, 200000);
  g_assert_cmpint (prism_http_json_number (prism_http_json_get (host, "PidsLimit", NULL), 0), ==, 258);
  g_assert_cmpstr (prism_http_json_text (prism_http_json_get (host, "LogConfig", "Type", NULL)), ==, "none");
  g_assert_cmpstr (json_array_get_string_element (
                       prism_http_json_array (prism_http_json_get (root, "Healthcheck", "Test", NULL)), 0),
                   ==, "NONE");
  g_assert_cmpuint (json_array_get_length (prism_http_json_array (prism_http_json_get (root, "Env", NULL))), ==, 0);
}

/* No secret, no variable of the caller's, in what the engine keeps and shows. */
static void
test_no_secrets (Fixture *self, gconstpointer data)
{
  g_autoptr (PrismDockerPlan) plan = NULL;
  g_autofree char *json = NULL;
  g_auto (GStrv) argv = NULL;

  prism_sandbox_spec_add_secret (self->asked.spec, "TOKEN", "sesame");
  prism_sandbox_spec_set_variable (self->asked.spec, "COLOUR", "mauve");
  plan = make_plan (self, NULL);
  json = prism_docker_plan_to_json (plan, &docker);
  argv = prism_docker_plan_to_argv (plan, &docker);
  g_assert_null (strstr (json, "sesame"));
  g_assert_null (strstr (json, "mauve"));
  for (guint i = 0; argv[i] != NULL; i++)
    g_assert_null (strstr (argv[i], "sesame"));
}

static const PrismDockerBind *
find_bind (const PrismDockerPlan *plan, const char *target)
{
  for (guint i = 0; i < plan->binds->len; i++)
    if (strcmp (((PrismDockerBind *)plan->binds->pdata[i])->target, target) == 0)
      return plan->binds->pdata[i];
  return NULL;
}

static const PrismDockerTmpfs *
find_tmpfs (const PrismDockerPlan *plan, const char *target)
{
  for (guint i = 0; i < plan->tmpfs->len; i++)
    if (strcmp (((PrismDockerTmpfs *)plan->tmpfs->pdata[i])->target, target) == 0)
      return plan->tmpfs->pdata[i];
  return NULL;
}

static void
test_workspace_tmpfs (Fixture *self, gconstpointer data)
{
  g_autoptr (PrismDockerPlan) plan = make_plan (self, NULL);
  const PrismDockerTmpfs *tmpfs = find_tmpfs (plan, "/workspace");

  g_assert_nonnull (tmpfs);
  g_assert_cmpstr (tmpfs->options, ==, "rw,exec,nosuid,nodev,size=1073741824,mode=0755");
  g_assert_nonnull (find_tmpfs (plan, "/tmp"));
  g_assert_nonnull (find_tmpfs (plan, "/downloads"));
  g_assert_nonnull (find_tmpfs (plan, "/home/prism"));
  g_assert_true (find_bind (plan, "/.prism/agent")->readonly);
  g_assert_true (find_bind (plan, "/.prism/host")->readonly);
}

/* Both kinds of engine give it to the commands, each by its own word. */
static void
test_dialects (Fixture *self, gconstpointer data)
{
  g_autoptr (PrismDockerPlan) plan = make_plan (self, NULL);
  g_autofree char *one = prism_docker_plan_to_json (plan, &docker);
  g_autofree char *other = prism_docker_plan_to_json (plan, &podman);

  g_assert_nonnull (strstr (one, "mode=0755,nr_inodes=262144,uid=10001,gid=10001"));
  g_assert_null (strstr (other, "nr_inodes"));
  g_assert_null (strstr (one, "nproc"));
  g_assert_nonnull (strstr (other, "mode=0755,U\""));
  g_assert_nonnull (strstr (other, "\"nproc\",\"Soft\":4000"));
}

/* Root's view of another's folder is shifted; what is protected and hidden is in the
 * shifted one too, and the folders on the way cannot be moved aside. */
static void
test_rules (Fixture *self, gconstpointer data)
{
  g_autoptr (PrismDockerPlan) plan = NULL;

  add_view (self, "/home/u/p", "/workspace", TRUE, 1000);
  add_path (self->asked.protect, "/home/u/p/a/b/keep", PRISM_DOCKER_KIND_FOLDER);
  add_path (self->asked.hide, "/home/u/p/secret", PRISM_DOCKER_KIND_FOLDER);
  add_path (self->asked.hide, "/home/u/p/.env", PRISM_DOCKER_KIND_FILE);
  add_path (self->asked.hide, "/home/u/elsewhere", PRISM_DOCKER_KIND_FOLDER);
  plan = make_plan (self, NULL);
  g_assert_cmpuint (plan->shifts->len, ==, 2);
  g_assert_cmpstr (find_bind (plan, "/workspace")->source, ==, "/run/prism/docker/" ID "/m0");
  g_assert_false (find_bind (plan, "/workspace/a")->readonly);
  g_assert_false (find_bind (plan, "/workspace/a/b")->readonly);
  g_assert_true (find_bind (plan, "/workspace/a/b/keep")->readonly);
  g_assert_cmpstr (find_bind (plan, "/workspace/a/b/keep")->source, ==, "/run/prism/docker/" ID "/m1");
  g_assert_true (find_bind (plan, "/workspace/a/b/keep")->held);
  g_assert_nonnull (strstr (find_tmpfs (plan, "/workspace/secret")->options, "ro,"));
  g_assert_cmpstr (find_bind (plan, "/workspace/.env")->source, ==, "/run/prism/docker/" ID "/host/empty");
}

static void
test_volumes (Fixture *self, gconstpointer data)
{
  static const char *const volumes[] = { "/data", "/tmp", "/workspace/cache", NULL };
  g_autoptr (PrismDockerPlan) plan = make_plan (self, volumes);

  g_assert_nonnull (find_tmpfs (plan, "/data"));
  g_assert_null (find_tmpfs (plan, "/workspace/cache"));
}

/* A path with a comma and a quote says no more than a path. */
static void
test_arguments (Fixture *self, gconstpointer data)
{
  g_autoptr (PrismDockerPlan) plan = NULL;
  g_auto (GStrv) argv = NULL;
  const char *found = NULL;

  self->asked.caller = 1000; /* whose folders are shown as they are */
  add_view (self, "/x,readonly=false,\"y", "/mnt/z", FALSE, 10001);
  plan = make_plan (self, NULL);
  argv = prism_docker_plan_to_argv (plan, &docker);
  for (guint i = 0; argv[i] != NULL; i++)
    if (g_str_has_prefix (argv[i], "--mount=") && strstr (argv[i], "/mnt/z") != NULL)
      found = argv[i];
  g_assert_cmpstr (found, ==,
                   "--mount=type=bind,\"source=/x,readonly=false,\"\"y\",\"target=/mnt/z\",readonly,"
                   "bind-nonrecursive=true,bind-propagation=rprivate");
  g_assert_true (g_strv_contains ((const char *const *)argv, "--network=none"));
  g_assert_true (g_strv_contains ((const char *const *)argv, "--cap-drop=ALL"));
  g_assert_true (g_strv_contains ((const char *const *)argv, "--pull=never"));
}

/* Each of them, and all of them at once. */
static void
test_refused (Fixture *self, gconstpointer data)
{
  g_autoptr (GString) offenders = g_string_new (NULL);
  static const char *const said[] = { "image = ",
                                      "user = ",
                                      "runtime = ",
                                      "network = ",
                                      "attestation-key",
                                      "mounts: “/proc/x”",
                                      "shown at “/mnt/a” already",
                                      "memory-bytes" };

  self->options.image = (char *)"image:latest";
  self->options.user = (char *)"0:0";
  self->options.runtime = (char *)"--x";
  self->options.network = (char *)"host";
  self->options.attestation_key = (char *)"key";
  add_view (self, "/a", "/proc/x", FALSE, 0);
  add_view (self, "/a", "/mnt/a", FALSE, 0);
  add_view (self, "/b", "/mnt/a", FALSE, 0);
  g_assert_true (prism_limits_set (prism_sandbox_spec_get_limits (self->asked.spec), "memory-bytes", 4096, NULL));
  g_assert_null (prism_docker_plan_new (&self->asked, "/run/prism/docker/" ID, NULL, offenders));
  for (gsize i = 0; i < G_N_ELEMENTS (said); i++)
    {
      g_test_message ("%s in %s", said[i], offenders->str);
      g_assert_nonnull (strstr (offenders->str, said[i]));
    }
}

static void
test_owners (Fixture *self, gconstpointer data)
{
  g_autoptr (GString) offenders = g_string_new (NULL);

  self->asked.caller = 1000;
  add_view (self, "/home/u/p", "/workspace", TRUE, 1000);
  g_assert_null (prism_docker_plan_new (&self->asked, "/run/x/" ID, NULL, offenders));
  g_assert_nonnull (strstr (offenders->str, "belongs to uid 1000"));
}

/* --- what the engine answers ------------------------------------------------------------ */

static void
test_image_facts (void)
{
  static const char *const allowed[] = { "LD_LIBRARY_PATH", NULL };
  g_autoptr (JsonNode) node = parse (
      "{\"Id\":\"" DIGEST "\",\"Os\":\"linux\",\"Config\":{\"Env\":[\"PATH=/go/bin\",\"HOME=/root\",\"LD_PRELOAD=/x\","
      "\"LD_LIBRARY_PATH=/l\",\"BASH_ENV=/e\",\"A B=c\",\"=x\",\"none\",\"1A=b\",7],\"Volumes\":{\"/data\":{}}}}");
  g_autoptr (GString) offenders = g_string_new (NULL);
  g_auto (PrismDockerImage) image = { 0 };

  prism_docker_image_parse (&image, node, allowed, offenders);
  g_assert_cmpstr (offenders->str, ==, "");
  g_assert_cmpuint (g_strv_length (image.env), ==, 2);
  g_assert_cmpstr (image.env[0], ==, "PATH=/go/bin");
  g_assert_cmpstr (image.env[1], ==, "LD_LIBRARY_PATH=/l");
  g_assert_cmpstr (image.volumes[0], ==, "/data");
}

static void
test_tar (void)
{
  char block[1024] = { 0 };
  g_autofree char *text = NULL;

  strcpy (block + 124, "00000000005");
  block[156] = '0';
  memcpy (block + 512, "a:b\nc", 5);
  g_autoptr (GBytes) good = g_bytes_new (block, sizeof block);
  g_autoptr (GBytes) cut = g_bytes_new (block, 514);
  g_autoptr (GBytes) none = g_bytes_new (NULL, 0);
  text = prism_docker_tar_take (good);
  g_assert_cmpstr (text, ==, "a:b\nc");
  g_assert_null (prism_docker_tar_take (cut));
  g_assert_null (prism_docker_tar_take (none));
  block[156] = '2';
  g_autoptr (GBytes) link = g_bytes_new (block, sizeof block);
  g_assert_null (prism_docker_tar_take (link));
}

static void
test_kernel (void)
{
  static const char id[] = "0123456789abcdef";
  PrismDockerFacts facts = { 0 };

  g_assert_true (prism_docker_cgroup_names ("11:memory:/docker/0123456789abcdef\n", id));
  g_assert_true (prism_docker_cgroup_names ("0::/system.slice/docker-0123456789abcdef.scope\n", id));
  g_assert_false (prism_docker_cgroup_names ("0::/docker/0123456789abcdef0\n", id));
  g_assert_false (prism_docker_cgroup_names ("0::/docker/x0123456789abcdef\n", id));
  g_assert_false (prism_docker_cgroup_names ("0::/\n", id));
  prism_docker_facts_parse_status (&facts,
                                   "Name:\tUid: 0\nUid:\t10001\t10001\nGid:\t7\nNSpid:\t55\t1\nCapInh:\t0000\n"
                                   "CapPrm:\t0\nCapEff:\t00\nCapBnd:\t0\nCapAmb:\t0\nNoNewPrivs:\t1\nSeccomp:\t2\n");
  g_assert_true (facts.known && facts.no_capabilities && facts.no_new_privs && facts.filtered && facts.own_pids);
  g_assert_cmpuint (facts.uid, ==, 10001);
  prism_docker_facts_parse_status (&facts, "Uid:\t1\nGid:\t1\nNSpid:\t55\nCapEff:\t0001\n");
  g_assert_false (facts.no_capabilities || facts.no_new_privs || facts.filtered || facts.own_pids);
  g_assert_true (prism_docker_maps_root ("         0          0 4294967295\n"));
  g_assert_false (prism_docker_maps_root ("         0     100000      65536\n"));
  g_assert_false (prism_docker_has_routes ("Iface\tDestination\n"));
  g_assert_true (prism_docker_has_routes ("Iface\tDestination\neth0\t00000000\n"));
  g_assert_cmpuint (prism_docker_owner_parse_start ("12 (a) b) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 x"),
                    ==, 4711);
}

static void
test_owner (void)
{
  g_autofree char *self = prism_docker_owner_dup_self ();

  g_assert_cmpint (prism_docker_owner_judge (self), ==, PRISM_DOCKER_OWNER_ALIVE);
  g_assert_cmpint (prism_docker_owner_judge ("another:1:1:1"), ==, PRISM_DOCKER_OWNER_DEAD);
  g_assert_cmpint (prism_docker_owner_judge (NULL), ==, PRISM_DOCKER_OWNER_UNKNOWN);
  g_assert_cmpint (prism_docker_owner_judge ("a:b:c:d"), ==, PRISM_DOCKER_OWNER_UNKNOWN);
}

static void
test_fate (void)
{
  static const struct
  {
    const char *events[4];
    const char *says; /* NULL: nothing */
  } cases[] = {
    { { "{\"Action\":\"oom\"}", "{\"Action\":\"die\"}" }, "memory-bytes" },
    { { "{\"Action\":\"kill\",\"Actor\":{\"Attributes\":{\"signal\":\"9\"}}}", "{\"Action\":\"die\"}" }, "signal 9" },
    { { "{\"Action\":\"die\",\"Actor\":{\"Attributes\":{\"exitCode\":\"137\"}}}" }, "exit code 137" },
    { { "{\"Action\":\"die\",\"Actor\":{\"Attributes\":{\"exitCode\":\"1); x\"}}}" }, "exit code ?" },
    { { "{\"Action\":\"pause\"}" }, "paused" },
    { { "{\"Action\":\"pause\"}", "{\"Action\":\"unpause\"}" }, NULL },
    { { "{\"Action\":\"destroy\"}" }, "removed" },
    { { "{\"Action\":7}", "[]", "{}" }, NULL },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GPtrArray) events = g_ptr_array_new_with_free_func ((GDestroyNotify)json_node_unref);
      g_autofree char *text = NULL;
      for (gsize k = 0; k < G_N_ELEMENTS (cases[i].events) && cases[i].events[k] != NULL; k++)
        g_ptr_array_add (events, parse (cases[i].events[k]));
      text = prism_docker_fate_describe (events);
      g_test_message ("%s", text != NULL ? text : "(nothing)");
      if (cases[i].says == NULL)
        g_assert_null (text);
      else
        g_assert_nonnull (strstr (text, cases[i].says));
    }
}

/* What the engine did not do is not claimed, whatever was asked of it. */
static void
test_capabilities (Fixture *self, gconstpointer data)
{
  g_autoptr (PrismDockerPlan) plan = make_plan (self, NULL);
  const PrismDockerFacts facts = { .known = TRUE, .no_capabilities = TRUE, .no_new_privs = TRUE, .own_pids = TRUE };
  g_autoptr (GString) good = g_string_new ("{\"Mounts\":[");
  g_autoptr (JsonNode) nothing = parse ("{}"), applied = NULL;
  g_autoptr (PrismCapabilities) none = prism_docker_capabilities_new (&self->asked, plan, &facts, nothing, NULL, FALSE);
  g_autoptr (PrismCapabilities) all = NULL, remapped = NULL;

  g_assert_cmpuint (prism_capabilities_get_controls (none), ==, PRISM_CONTROLS_WORKSPACE);
  for (guint i = 0; i < plan->binds->len; i++)
    g_string_append_printf (good, "%s{\"Type\":\"bind\",\"Destination\":\"%s\",\"RW\":false}", i > 0 ? "," : "",
                            ((PrismDockerBind *)plan->binds->pdata[i])->target);
  g_string_append (good, "],\"HostConfig\":{\"NetworkMode\":\"none\",\"ReadonlyRootfs\":true,\"CapDrop\":[\"ALL\"],"
                         "\"PidMode\":\"\",\"IpcMode\":\"private\",\"Memory\":2147483648,\"CpuQuota\":200000}}");
  applied = parse (good->str);
  all = prism_docker_capabilities_new (&self->asked, plan, &facts, applied, NULL, FALSE);
  g_assert_cmpuint (prism_capabilities_get_controls (all), ==,
                    PRISM_CONTROLS_WORKSPACE | PRISM_CONTROLS_FILESYSTEM | PRISM_CONTROLS_NETWORK
                        | PRISM_CONTROLS_PROCESS | PRISM_CONTROLS_EGRESS);
  g_assert_true (g_str_has_prefix (prism_capabilities_get_evidence (all, "privilege"), "not enforced"));
  g_assert_true (g_str_has_prefix (prism_capabilities_get_evidence (all, "max-pids"), "not enforced"));
  g_assert_false (g_str_has_prefix (prism_capabilities_get_evidence (all, "memory-bytes"), "not enforced"));
  /* The engine says so, and the kernel that it is not so. */
  remapped = prism_docker_capabilities_new (&self->asked, plan, &facts, applied, "remapped", FALSE);
  g_assert_false (prism_capabilities_get_privilege_isolated (remapped));
}

static void
test_deposit (Fixture *self, gconstpointer data)
{
  char *environment[] = { (char *)"A=b", NULL };
  g_autoptr (PrismCapabilities) capabilities =
      prism_capabilities_new (PRISM_CONTROLS_NETWORK, g_variant_new ("a{ss}", NULL));
  PrismDockerDeposit left = { self->asked.spec, capabilities,    environment,    (char *)"/s",  (char *)"",
                              (char *)"abc",    (char *)"image", (char *)DIGEST, (char *)"now", 42 };
  g_auto (PrismDockerDeposit) found = { 0 };
  g_autoptr (GBytes) bytes = NULL, cut = NULL;
  g_autoptr (GError) error = NULL;

  prism_sandbox_spec_add_secret (self->asked.spec, "TOKEN", "sesame");
  g_assert_true (prism_limits_set (prism_sandbox_spec_get_limits (self->asked.spec), "wall-time-ms", 1000, NULL));
  bytes = prism_docker_deposit_write (&left);
  g_assert_true (prism_docker_deposit_read (&found, bytes, &error));
  g_assert_no_error (error);
  g_assert_cmpstr (found.container, ==, "abc");
  g_assert_cmpint (found.started, ==, 42);
  g_assert_cmpstr (prism_sandbox_spec_get_secrets (found.spec)[0], ==, "TOKEN=sesame");
  prism_docker_deposit_clear (&found);
  cut = g_bytes_new_from_bytes (bytes, 0, g_bytes_get_size (bytes) / 2);
  g_assert_false (prism_docker_deposit_read (&found, cut, &error));
  g_assert_error (error, PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_FAILED);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/docker/images", test_images);
  g_test_add_func ("/docker/printable", test_printable);
  g_test_add_func ("/docker/users", test_users);
  g_test_add_func ("/docker/names", test_names);
  g_test_add ("/docker/hardened", Fixture, NULL, set_up, test_hardened, tear_down);
  g_test_add ("/docker/no-secrets", Fixture, NULL, set_up, test_no_secrets, tear_down);
  g_test_add ("/docker/workspace-tmpfs", Fixture, NULL, set_up, test_workspace_tmpfs, tear_down);
  g_test_add ("/docker/dialects", Fixture, NULL, set_up, test_dialects, tear_down);
  g_test_add ("/docker/rules", Fixture, NULL, set_up, test_rules, tear_down);
  g_test_add ("/docker/volumes", Fixture, NULL, set_up, test_volumes, tear_down);
  g_test_add ("/docker/arguments", Fixture, NULL, set_up, test_arguments, tear_down);
  g_test_add ("/docker/refused", Fixture, NULL, set_up, test_refused, tear_down);
  g_test_add ("/docker/owners", Fixture, NULL, set_up, test_owners, tear_down);
  g_test_add_func ("/docker/image-facts", test_image_facts);
  g_test_add_func ("/docker/tar", test_tar);
  g_test_add_func ("/docker/kernel", test_kernel);
  g_test_add_func ("/docker/owner", test_owner);
  g_test_add_func ("/docker/fate", test_fate);
  g_test_add ("/docker/capabilities", Fixture, NULL, set_up, test_capabilities, tear_down);
  g_test_add ("/docker/deposit", Fixture, NULL, set_up, test_deposit, tear_down);
  return g_test_run ();
}
