/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* JSON from elsewhere: attestations and audit lines. What is accepted is written
 * in one form, which is accepted again and stays as it is. */
#include "prism-attestation.h"
#include "prism-audit-record.h"
#include "prism-json-private.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t size);

static void
check_error (const GError *error, int code)
{
  g_assert_error (error, PRISM_EGRESS_ERROR, code);
  g_assert_true (g_utf8_validate (error->message, -1, NULL));
}

static void
check_attestation (const char *json, gssize size)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismAttestation) attestation = prism_attestation_new_from_json (json, size, &error);
  g_autoptr (PrismAttestation) again = NULL;
  g_autofree char *written = NULL;
  g_autofree char *rewritten = NULL;

  if (attestation == NULL)
    {
      check_error (error, PRISM_EGRESS_ERROR_ATTESTATION);
      return;
    }
  written = prism_attestation_to_json (attestation);
  again = prism_attestation_new_from_json (written, -1, &error);
  g_assert_no_error (error);
  rewritten = prism_attestation_to_json (again);
  g_assert_cmpstr (written, ==, rewritten);
}

static void
check_audit (const char *json, gssize size)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (PrismAuditRecord) record = prism_audit_record_new_from_json (json, size, &error);
  g_autoptr (PrismAuditRecord) again = NULL;
  g_autofree char *written = NULL;
  g_autofree char *rewritten = NULL;

  if (record == NULL)
    {
      check_error (error, PRISM_EGRESS_ERROR_POLICY);
      return;
    }
  written = prism_audit_record_to_json (record);
  for (const char *p = written; *p != '\0'; p++)
    g_assert_true (g_ascii_isprint (*p));
  again = prism_audit_record_new_from_json (written, -1, &error);
  g_assert_no_error (error);
  rewritten = prism_audit_record_to_json (again);
  g_assert_cmpstr (written, ==, rewritten);
}

/* What this reader takes, json-glib's takes as well, and reads the same. */
static void
check_reader (const char *json, gsize size)
{
  const PrismJsonFaults faults = { PRISM_EGRESS_ERROR, PRISM_EGRESS_ERROR_FAILED, "document" };
  g_autoptr (GError) error = NULL;
  g_autoptr (JsonNode) node = prism_json_parse (json, size, &faults, &error);
  g_autoptr (JsonParser) parser = json_parser_new ();

  if (node == NULL)
    {
      check_error (error, PRISM_EGRESS_ERROR_FAILED);
      return;
    }
  g_assert_true (json_parser_load_from_data (parser, json, (gssize)size, NULL));
  g_assert_true (json_node_equal (node, json_parser_get_root (parser)));
}

int
LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t size)
{
  check_attestation ((const char *)bytes, (gssize)size);
  check_audit ((const char *)bytes, (gssize)size);
  check_reader ((const char *)bytes, size);
  return 0;
}
