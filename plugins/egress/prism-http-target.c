/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-http-target.h"

#include <string.h>

static gboolean
starts_with (const PrismHttpSlice *slice, const char *text)
{
  gsize length = strlen (text);

  return slice->length >= length && g_ascii_strncasecmp (slice->text, text, length) == 0;
}

const char *
prism_http_target_parse_url (const PrismHttpSlice *url, PrismHttpTarget *target)
{
  gsize at, end;

  target->form = PRISM_HTTP_ABSOLUTE;
  target->https = starts_with (url, "https://");
  if (!target->https && !starts_with (url, "http://"))
    return "only http: and https: are spoken here";
  if (memchr (url->text, '#', url->length) != NULL)
    return "a request has no fragment";
  at = end = target->https ? 8 : 7;
  while (end < url->length && url->text[end] != '/' && url->text[end] != '?')
    end++;
  target->authority = (PrismHttpSlice){ url->text + at, end - at };
  target->path = (PrismHttpSlice){ url->text + end, url->length - end };
  return target->authority.length == 0 ? "the host is missing" : NULL;
}

const char *
prism_http_target_parse (const PrismHttpHead *head, PrismHttpTarget *target)
{
  memset (target, 0, sizeof *target);
  if (prism_http_slice_is (&head->method, "CONNECT"))
    {
      target->form = PRISM_HTTP_AUTHORITY;
      target->authority = head->target;
      return NULL;
    }
  if (head->target.text[0] != '/')
    return prism_http_target_parse_url (&head->target, target);
  if (memchr (head->target.text, '#', head->target.length) != NULL)
    return "a request has no fragment";
  if (head->host.text == NULL || head->host.length == 0)
    return "neither the request line nor Host says which host is meant";
  target->form = PRISM_HTTP_ORIGIN;
  target->authority = head->host;
  target->path = head->target;
  return NULL;
}
