/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Enumerations by the names that people and scripts use for them. */
#include "prism-cli-names.h"

#include <glib/gi18n.h>
#include <string.h>

char *
prism_cli_nick_to_snake (const char *nick)
{
  return g_strdelimit (g_strdup (nick), "-", '_');
}

static GType
error_type (GQuark domain)
{
  if (domain == PRISM_SANDBOX_ERROR)
    return PRISM_TYPE_SANDBOX_ERROR;
  if (domain == PRISM_TREE_ERROR)
    return PRISM_TYPE_TREE_ERROR;
  if (domain == PRISM_PROCESS_ERROR)
    return PRISM_TYPE_PROCESS_ERROR;
  if (domain == PRISM_LIMIT_ERROR)
    return PRISM_TYPE_LIMIT_ERROR;
  if (domain == PRISM_PLUGIN_ERROR)
    return PRISM_TYPE_PLUGIN_ERROR;
  if (domain == PRISM_EGRESS_ERROR)
    return PRISM_TYPE_EGRESS_ERROR;
  if (domain == PRISM_DURABLE_ERROR)
    return PRISM_TYPE_DURABLE_ERROR;
  if (domain == PRISM_POLICY_ERROR)
    return PRISM_TYPE_POLICY_ERROR;
  if (domain == G_IO_ERROR)
    return G_TYPE_IO_ERROR_ENUM;

  return G_TYPE_INVALID;
}

/* "not_found"; the number where the domain is not known. */
char *
prism_cli_error_code (const GError *error)
{
  GType type = error_type (error->domain);
  g_autofree char *nick = type != G_TYPE_INVALID ? prism_cli_enum_nick (type, error->code) : NULL;

  return nick != NULL ? prism_cli_nick_to_snake (nick) : g_strdup_printf ("%d", error->code);
}

char *
prism_cli_enum_nick (GType type, int value)
{
  GEnumClass *klass = g_type_class_ref (type);
  GEnumValue *found = g_enum_get_value (klass, value);
  char *nick = found != NULL ? g_strdup (found->value_nick) : NULL;

  g_type_class_unref (klass);
  return nick;
}

char **
prism_cli_flags_nicks (GType type, guint value)
{
  GFlagsClass *klass = g_type_class_ref (type);
  GStrvBuilder *builder = g_strv_builder_new ();
  char **nicks;

  for (guint i = 0; i < klass->n_values; i++)
    if (klass->values[i].value != 0 && (value & klass->values[i].value) == klass->values[i].value)
      g_strv_builder_add (builder, klass->values[i].value_nick);
  nicks = g_strv_builder_end (builder);

  g_strv_builder_unref (builder);
  g_type_class_unref (klass);
  return nicks;
}

static char *
list_enum (GEnumClass *klass)
{
  g_autoptr (GString) list = g_string_new (NULL);

  for (guint i = 0; i < klass->n_values; i++)
    g_string_append_printf (list, "%s%s", i > 0 ? ", " : "", klass->values[i].value_nick);

  return g_string_free (g_steal_pointer (&list), FALSE);
}

gboolean
prism_cli_parse_enum (GType type, const char *text, int *value, GError **error)
{
  GEnumClass *klass = g_type_class_ref (type);
  GEnumValue *found = g_enum_get_value_by_nick (klass, text);
  g_autofree char *list = list_enum (klass);

  g_type_class_unref (klass);
  if (found != NULL)
    {
      *value = found->value;
      return TRUE;
    }

  g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, _ ("“%s” is not one of: %s"), text, list);
  return FALSE;
}

/* A comma-separated list; "none" is no member of it. */
gboolean
prism_cli_parse_flags (GType type, const char *text, guint *value, GError **error)
{
  GFlagsClass *klass = g_type_class_ref (type);
  g_auto (GStrv) words = g_strsplit (text, ",", -1);
  g_autoptr (GString) list = g_string_new (NULL);
  gboolean good = TRUE;

  for (guint i = 0; i < klass->n_values; i++)
    if (klass->values[i].value != 0)
      g_string_append_printf (list, "%s%s", list->len > 0 ? ", " : "", klass->values[i].value_nick);

  for (guint i = 0; good && words[i] != NULL; i++)
    {
      GFlagsValue *found = g_flags_get_value_by_nick (klass, g_strstrip (words[i]));

      good = found != NULL && found->value != 0;
      if (good)
        *value |= found->value;
      else
        g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, _ ("“%s” is not one of: %s"), words[i],
                     list->str);
    }

  g_type_class_unref (klass);
  return good;
}
