/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-timestamp-private.h"

#define SHAPE "dddd-dd-ddTdd:dd:dd.dddZ"

gboolean
prism_timestamp_format (gint64 ms, char text[PRISM_TIMESTAMP_SIZE])
{
  gint64 seconds = ms / 1000 - (ms % 1000 < 0 ? 1 : 0);
  g_autoptr (GDateTime) time = g_date_time_new_from_unix_utc (seconds);

  text[0] = '\0';
  if (time == NULL)
    return FALSE;
  g_snprintf (text, PRISM_TIMESTAMP_SIZE, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", g_date_time_get_year (time),
              g_date_time_get_month (time), g_date_time_get_day_of_month (time), g_date_time_get_hour (time),
              g_date_time_get_minute (time), g_date_time_get_second (time), (int)(ms - seconds * 1000));
  return TRUE;
}

static int
number (const char *text, guint length)
{
  int value = 0;

  for (guint i = 0; i < length; i++)
    value = value * 10 + (text[i] - '0');
  return value;
}

/* Goes no further than the first byte that is not of the shape, so not past the end. */
gboolean
prism_timestamp_parse (const char *text, gint64 *ms)
{
  g_autoptr (GDateTime) time = NULL;

  for (guint i = 0; i < sizeof SHAPE; i++)
    if (SHAPE[i] == 'd' ? !g_ascii_isdigit (text[i]) : text[i] != SHAPE[i])
      return FALSE;
  time = g_date_time_new_utc (number (text, 4), number (text + 5, 2), number (text + 8, 2), number (text + 11, 2),
                              number (text + 14, 2), (gdouble)number (text + 17, 2));
  if (time == NULL)
    return FALSE;
  *ms = g_date_time_to_unix (time) * 1000 + number (text + 20, 3);
  return TRUE;
}
