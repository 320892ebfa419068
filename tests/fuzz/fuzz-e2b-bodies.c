/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the REST interfaces answer; the first byte is the status. */
#include <string.h>

#include "prism-e2b-error.h"
#include "prism-e2b-event.h"
#include "prism-e2b-rest.h"

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

static void
try_node (JsonNode *node)
{
  g_auto (PrismE2bDetail) detail = { 0 };
  g_autoptr (PrismFileEntry) entry = prism_e2b_entry_parse (node, NULL);
  g_autofree char *fingerprint = NULL;
  g_auto (PrismE2bNetwork) none = { 0 };
  const char *why;

  prism_e2b_detail_parse (node, &detail, NULL);
  prism_e2b_list_find (node, 1, &fingerprint);
  if (prism_e2b_network_init (&none, NULL, NULL))
    prism_e2b_network_matches (&none, node, &why);
  if (entry != NULL)
    g_assert_cmpint (prism_file_entry_get_path (entry)[0], ==, '/');
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  g_autoptr (GBytes) body = NULL;
  g_autoptr (GPtrArray) details = prism_e2b_details_new ();
  g_auto (PrismE2bIdentity) identity = { 0 };
  g_autoptr (JsonNode) node = NULL;

  if (size < 1)
    return 0;
  body = g_bytes_new (data + 1, size - 1);
  for (int plane = 0; plane < 2; plane++)
    {
      PrismE2bFailure failure = { plane, "do it", 300 + 2u * data[0], body, NULL, data[0] & 1 };
      g_autoptr (GError) error = prism_e2b_failure_to_error (&failure, NULL, NULL);
      g_assert_true (g_utf8_validate (error->message, -1, NULL));
      g_assert_cmpuint (strlen (error->message), <, 2048);
    }
  if (prism_e2b_identity_parse (body, &identity, NULL))
    g_assert_true (prism_e2b_id_is_valid (identity.id) && strpbrk (identity.id, "/.\r\n ") == NULL);
  prism_e2b_details_parse (body, details, NULL);
  node = prism_http_json_parse (body, NULL);
  if (node != NULL)
    try_node (node);
  return 0;
}
