/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Heads of requests and responses, and their targets, as a program inside or an
 * origin may write them. What is accepted has one framing, and what is written anew
 * from it is accepted again. */
#include "prism-http-head.h"
#include "prism-http-target.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t size);

static void
check_slice (const char *text, gsize length, const PrismHttpSlice *slice)
{
  if (slice->text == NULL)
    return;
  g_assert_true (slice->text >= text && slice->text + slice->length <= text + length);
}

static void
check_fields (const char *text, gsize length, const PrismHttpHead *head)
{
  g_assert_false (head->chunked && head->has_length);
  g_assert_cmpuint (head->n_fields, <=, PRISM_HTTP_FIELDS_MAX);
  for (guint i = 0; i < head->n_fields; i++)
    {
      const PrismHttpField *field = &head->fields[i];

      check_slice (text, length, &field->name);
      check_slice (text, length, &field->value);
      g_assert_cmpuint (field->name.length, >, 0);
      g_assert_null (memchr (field->value.text, '\r', field->value.length));
      g_assert_null (memchr (field->value.text, '\n', field->value.length));
      prism_http_head_ends_field (head, field);
    }
}

static void
check_again (const PrismHttpHead *head)
{
  static PrismHttpHead again;
  g_autoptr (GString) text = g_string_new (NULL);
  const char *wrong;

  g_string_append_len (text, head->method.text, (gssize)head->method.length);
  g_string_append_c (text, ' ');
  g_string_append_len (text, head->target.text, (gssize)head->target.length);
  g_string_append_printf (text, " HTTP/1.%u\r\n", head->minor);
  for (guint i = 0; i < head->n_fields; i++)
    {
      g_string_append_len (text, head->fields[i].name.text, (gssize)head->fields[i].name.length);
      g_string_append (text, ": ");
      g_string_append_len (text, head->fields[i].value.text, (gssize)head->fields[i].value.length);
      g_string_append (text, "\r\n");
    }
  g_string_append (text, "\r\n");
  g_assert_cmpuint (prism_http_head_parse_request (text->str, text->len, &again, &wrong), ==, 0);
  g_assert_cmpuint (again.n_fields, ==, head->n_fields);
  g_assert_cmpuint (again.content_length, ==, head->content_length);
  g_assert_true (again.chunked == head->chunked);
}

static void
check_target (const char *text, gsize length, const PrismHttpHead *head)
{
  PrismHttpTarget target;

  if (prism_http_target_parse (head, &target) != NULL)
    return;
  check_slice (text, length, &target.authority);
  check_slice (text, length, &target.path);
  g_assert_cmpuint (target.authority.length, >, 0);
}

int
LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t size)
{
  static PrismHttpHead head;
  g_autofree char *text = g_memdup2 (bytes, size);
  const char *wrong = NULL;
  gsize scanned = 0, end = prism_http_head_find_end (text, size, &scanned, &wrong);

  g_assert_cmpuint (scanned, <=, size);
  if (wrong != NULL || end == 0)
    return 0;
  if (prism_http_head_parse_request (text, end, &head, &wrong) == 0)
    {
      check_fields (text, end, &head);
      check_target (text, end, &head);
      check_again (&head);
    }
  if (prism_http_head_parse_response (text, end, &head, &wrong) == 0)
    check_fields (text, end, &head);
  return 0;
}
