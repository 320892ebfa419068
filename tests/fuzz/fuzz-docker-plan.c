/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whatever is asked for and accepted, the engine is asked for nothing that the contract
 * does not have. Each line is one thing asked, by its first letter. */
#include <libprism/prism.h>
#include <string.h>

#include "prism-docker-plan.h"
#include "prism-http-json.h"

#define MOST 32

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

static void
take (PrismDockerAsked *asked, PrismDockerOptions *options, char *line)
{
  PrismDockerView *view;
  PrismDockerPath *path;
  char *space;

  switch (*line)
    {
    case 'i':
      options->image = line + 1;
      break;
    case 'u':
      options->user = line + 1;
      break;
    case 'r':
      options->runtime = line + 1;
      break;
    case 'n':
      options->network = line + 1;
      break;
    case 'v': /* SOURCE TARGET */
    case 'w':
      space = strchr (line, ' ');
      if (space == NULL || asked->views->len == MOST)
        break;
      *space = 0;
      view = g_new0 (PrismDockerView, 1);
      view->source.path = line + 1;
      view->source.kind = PRISM_DOCKER_KIND_FOLDER;
      view->target = space + 1;
      view->writable = *line == 'w';
      view->what = "mounts";
      g_ptr_array_add (asked->views, view);
      break;
    case 'h':
    case 'p':
      if (line[1] != '/')
        break;
      path = g_new0 (PrismDockerPath, 1);
      path->path = line + 1;
      path->kind = PRISM_DOCKER_KIND_FOLDER;
      g_ptr_array_add (*line == 'h' ? asked->hide : asked->protect, path);
      break;
    default:
      break;
    }
}

static void
judge (const PrismDockerPlan *plan)
{
  const PrismDockerDialect dialect = { 41, FALSE, 0 };
  g_autofree char *json = prism_docker_plan_to_json (plan, &dialect);
  g_autoptr (GBytes) bytes = g_bytes_new (json, strlen (json));
  g_autoptr (JsonNode) root = prism_http_json_parse (bytes, NULL);
  g_auto (GStrv) argv = prism_docker_plan_to_argv (plan, &dialect);
  guint image = 0;

  if (g_utf8_validate (json, -1, NULL))
    {
      g_assert_nonnull (root);
      g_assert_cmpstr (prism_http_json_text (prism_http_json_get (root, "HostConfig", "NetworkMode", NULL)), ==,
                       "none");
      g_assert_true (prism_http_json_flag (prism_http_json_get (root, "HostConfig", "ReadonlyRootfs", NULL)));
      g_assert_false (prism_http_json_flag (prism_http_json_get (root, "HostConfig", "Privileged", NULL)));
      g_assert_cmpstr (prism_http_json_text (prism_http_json_get (root, "User", NULL)), ==, "10001:10001");
    }
  /* Options up to the image, which is none. */
  for (guint i = 1; argv[i] != NULL && image == 0; i++)
    if (strcmp (argv[i], plan->image) == 0)
      image = i;
    else
      g_assert_true (g_str_has_prefix (argv[i], "--"));
  g_assert_cmpuint (image, >, 0);
  g_assert_cmpint (plan->image[0], !=, '-');
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  g_autofree char *text = g_strndup ((const char *)data, MIN (size, 16384));
  g_auto (GStrv) lines = g_strsplit (text, "\n", 256);
  g_autoptr (PrismSandboxSpec) spec = prism_sandbox_spec_new (NULL);
  g_autoptr (GPtrArray) views = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GPtrArray) hide = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GPtrArray) protect = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GString) offenders = g_string_new (NULL);
  g_autoptr (PrismDockerPlan) plan = NULL;
  PrismDockerOptions options = { 0 };
  PrismDockerAsked asked = {
    .spec = spec,
    .options = &options,
    .id = "00112233445566778899aabbccddeeff",
    .agent = "/agent",
    .host = "b:1:2:3",
    .views = views,
    .hide = hide,
    .protect = protect,
    .uid = 10001,
    .gid = 10001,
  };

  for (guint i = 0; lines[i] != NULL; i++)
    take (&asked, &options, lines[i]);
  plan = prism_docker_plan_new (&asked, "/run/prism/docker/x", NULL, offenders);
  g_assert_cmpint (plan == NULL, ==, offenders->len > 0);
  if (plan != NULL)
    judge (plan);
  return 0;
}
