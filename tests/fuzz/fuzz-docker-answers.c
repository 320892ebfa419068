/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What an engine answers, a tar of its, texts of /proc, and what a host left for the next:
 * by the first byte. */
#include <string.h>

#include "prism-docker-capabilities.h"
#include "prism-docker-deposit.h"
#include "prism-docker-fate.h"
#include "prism-docker-image.h"
#include "prism-docker-info.h"
#include "prism-docker-owner.h"
#include "prism-docker-tar.h"

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

static void
try_json (GBytes *bytes)
{
  g_autoptr (JsonNode) node = prism_http_json_parse (bytes, NULL);
  g_autoptr (GString) offenders = g_string_new (NULL);
  g_autoptr (GPtrArray) events = g_ptr_array_new ();
  g_auto (PrismDockerImage) image = { 0 };
  g_autofree char *fate = NULL;

  if (node == NULL)
    return;
  prism_docker_image_parse (&image, node, NULL, offenders);
  for (gchar **entry = image.env; *entry != NULL; entry++)
    g_assert_false (g_str_has_prefix (*entry, "LD_"));
  g_ptr_array_add (events, node);
  fate = prism_docker_fate_describe (events);
}

static void
try_info (GBytes *bytes)
{
  g_autoptr (JsonNode) node = prism_http_json_parse (bytes, NULL);
  g_autofree char *remapped = NULL, *runtimes = NULL, *seccomp = NULL, *lacking = NULL;

  if (node == NULL)
    return;
  remapped = prism_docker_info_dup_remapped (node);
  runtimes = prism_docker_info_dup_runtimes (node);
  seccomp = prism_docker_info_dup_seccomp (node);
  lacking = prism_docker_info_dup_lacking (node);
  g_assert_true (runtimes == NULL || strchr (runtimes, '\n') == NULL);
  g_assert_true (!prism_docker_info_is_own_kernel (node, "r") || prism_docker_info_has_runtime (node, "r"));
}

static void
try_text (const char *text)
{
  PrismDockerFacts facts = { 0 };

  prism_docker_facts_parse_status (&facts, text);
  prism_docker_maps_root (text);
  prism_docker_cgroup_names (text, "0123456789abcdef");
  prism_docker_owner_parse_start (text);
  prism_docker_owner_judge (text);
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  g_autoptr (GBytes) bytes = size > 0 ? g_bytes_new (data + 1, size - 1) : NULL;
  g_autofree char *text = size > 0 ? g_strndup ((const char *)data + 1, size - 1) : NULL;
  g_auto (PrismDockerDeposit) deposit = { 0 };

  if (size == 0)
    return 0;
  switch (*data)
    {
    case 'j':
      try_json (bytes);
      break;
    case 'i':
      try_info (bytes);
      break;
    case 't':
      text = (g_free (text), prism_docker_tar_take (bytes));
      break;
    case 'p':
      try_text (text);
      break;
    case 'd':
      prism_docker_deposit_read (&deposit, bytes, NULL);
      break;
    default:
      break;
    }
  return 0;
}
