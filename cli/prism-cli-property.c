/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The options of a backend are its GObject properties: read from text, and
 * shown, by their GParamSpec alone. No backend is known here. */
#include "prism-cli-property.h"

#include "prism-cli-names.h"
#include "prism-cli-workspace.h"

#include <gio/gio.h>
#include <glib/gi18n.h>
#include <string.h>

static gboolean
parse_boolean (const char *text, gboolean *value)
{
  static const char *const yes[] = { "true", "yes", "on", "1", NULL };
  static const char *const no[] = { "false", "no", "off", "0", NULL };

  *value = g_strv_contains (yes, text);

  return *value || g_strv_contains (no, text);
}

/* A whole number; K, M and G after it are binary. */
static gboolean
parse_integer (const char *text, gint64 *value)
{
  gsize digits = strspn (text, "0123456789-");
  g_autofree char *number = g_strndup (text, digits);
  const char *suffixes = "KMG";
  const char *suffix = text[digits] != '\0' ? strchr (suffixes, text[digits]) : NULL;
  gint64 factor = suffix != NULL ? G_GINT64_CONSTANT (1) << (10 * (suffix - suffixes + 1)) : 1;

  if (text[digits] != '\0' && (suffix == NULL || text[digits + 1] != '\0'))
    return FALSE;
  if (!g_ascii_string_to_signed (number, 10, G_MININT64 / factor, G_MAXINT64 / factor, value, NULL))
    return FALSE;
  *value *= factor;

  return TRUE;
}

static gboolean
set_integer (GValue *value, gint64 number)
{
  GValue wide = G_VALUE_INIT;

  switch (G_VALUE_TYPE (value))
    {
    case G_TYPE_INT:
      g_value_set_int (value, number);
      return number >= G_MININT && number <= G_MAXINT;
    case G_TYPE_UINT:
      g_value_set_uint (value, number);
      return number >= 0 && number <= G_MAXUINT;
    case G_TYPE_UINT64:
      g_value_set_uint64 (value, number);
      return number >= 0;
    case G_TYPE_INT64:
      g_value_set_int64 (value, number);
      return TRUE;
    default:
      g_value_init (&wide, G_TYPE_INT64);
      g_value_set_int64 (&wide, number);
      return g_value_transform (&wide, value);
    }
}

static gboolean
is_integer (GType type)
{
  return type == G_TYPE_INT || type == G_TYPE_UINT || type == G_TYPE_INT64 || type == G_TYPE_UINT64
         || type == G_TYPE_LONG || type == G_TYPE_ULONG;
}

static gboolean
parse_value (const char *text, GValue *value, gboolean *known, GError **error)
{
  GType type = G_VALUE_TYPE (value);
  gboolean boolean;
  gint64 integer;
  int chosen;
  guint flags = 0;

  *known = TRUE;
  if (type == G_TYPE_STRING)
    g_value_set_string (value, text);
  else if (type == G_TYPE_FILE)
    {
      GFile *file = prism_cli_file (text, error);

      g_value_take_object (value, file);
      return file != NULL;
    }
  else if (type == G_TYPE_STRV)
    g_value_take_boxed (value, g_strsplit (text, ",", -1));
  else if (type == G_TYPE_BOOLEAN)
    {
      if (!parse_boolean (text, &boolean))
        return FALSE;
      g_value_set_boolean (value, boolean);
    }
  else if (is_integer (type))
    return parse_integer (text, &integer) && set_integer (value, integer);
  else if (type == G_TYPE_DOUBLE)
    {
      char *end;

      g_value_set_double (value, g_ascii_strtod (text, &end));
      return end != text && *end == '\0';
    }
  else if (G_TYPE_IS_ENUM (type))
    {
      if (!prism_cli_parse_enum (type, text, &chosen, error))
        return FALSE;
      g_value_set_enum (value, chosen);
    }
  else if (G_TYPE_IS_FLAGS (type))
    {
      if (!prism_cli_parse_flags (type, text, &flags, error))
        return FALSE;
      g_value_set_flags (value, flags);
    }
  else
    *known = FALSE;

  return *known;
}

/* What can be written and not read. */
static gboolean
is_secret (GParamSpec *pspec)
{
  return (pspec->flags & G_PARAM_READABLE) == 0;
}

/* By an option: what text can say, and is no secret. */
gboolean
prism_cli_property_is_settable (GParamSpec *pspec)
{
  GType type = pspec->value_type;

  return !is_secret (pspec)
         && (type == G_TYPE_STRING || type == G_TYPE_FILE || type == G_TYPE_STRV || type == G_TYPE_BOOLEAN
             || type == G_TYPE_DOUBLE || is_integer (type) || G_TYPE_IS_ENUM (type) || G_TYPE_IS_FLAGS (type));
}

/* @option: what the messages name; @value: initialised here, to the property's type. */
gboolean
prism_cli_property_parse (const char *option, GParamSpec *pspec, const char *text, GValue *value, GError **error)
{
  g_autoptr (GError) local = NULL;
  g_autofree char *kind = prism_cli_property_kind (pspec);
  gint64 unused, minimum, maximum;
  gboolean known;

  g_value_init (value, pspec->value_type);
  if (!parse_value (text, value, &known, &local))
    {
      if (local != NULL)
        g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, "%s %s: %s", option, pspec->name, local->message);
      else if (known)
        g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, _ ("%s %s: “%s” is not %s"), option, pspec->name,
                     text, kind);
      else
        g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, _ ("%s %s: it holds a %s, which text cannot say"),
                     option, pspec->name, g_type_name (pspec->value_type));
      return FALSE;
    }

  /* GObject would clamp in silence. What has bounds of ours is checked at
   * creation, with every other offender. */
  if (!prism_param_spec_get_bounds (pspec, PRISM_LIMITS_PROFILE_STANDARD, &unused, &minimum, &maximum)
      && g_param_value_validate (pspec, value))
    {
      g_autofree char *range = prism_cli_property_range (pspec);

      g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, _ ("%s %s: “%s” is out of its range (%s)"), option,
                   pspec->name, text, range != NULL ? range : kind);
      return FALSE;
    }

  return TRUE;
}

/* Those a user may set, sorted by name. */
GParamSpec **
prism_cli_list_properties (GType type, guint *n)
{
  GObjectClass *klass = g_type_class_ref (type);
  guint all = 0;
  g_autofree GParamSpec **pspecs = g_object_class_list_properties (klass, &all);
  GPtrArray *kept = g_ptr_array_new ();

  for (guint i = 0; i < all; i++)
    if ((pspecs[i]->flags & G_PARAM_WRITABLE) != 0 && (pspecs[i]->flags & G_PARAM_DEPRECATED) == 0)
      {
        guint at = 0;

        while (at < kept->len && strcmp (((GParamSpec *)kept->pdata[at])->name, pspecs[i]->name) < 0)
          at++;
        g_ptr_array_insert (kept, at, pspecs[i]);
      }
  *n = kept->len;
  g_ptr_array_add (kept, NULL);

  /* The class stays: static types are never unloaded. */
  g_type_class_unref (klass);
  return (GParamSpec **)g_ptr_array_free (kept, FALSE);
}

/* Where an object's options come from. */
typedef struct
{
  const char *option; /* --set, --proxy-set */
  const char *owner;  /* for people: “native” */
  GType type;
} Options;

static void
set_unknown (const Options *options, const char *name, GError **error)
{
  guint n;
  g_autofree GParamSpec **pspecs = prism_cli_list_properties (options->type, &n);
  g_autoptr (GString) list = g_string_new (NULL);

  for (guint i = 0; i < n; i++)
    if (prism_cli_property_is_settable (pspecs[i]))
      g_string_append_printf (list, "%s%s", list->len > 0 ? ", " : "", pspecs[i]->name);
  if (list->len == 0)
    g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, _ ("%s %s: %s has no properties that could be set"),
                 options->option, name, options->owner);
  else
    g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, _ ("%s %s: %s has no such property; it has: %s"),
                 options->option, name, options->owner, list->str);
}

static void
values_free (GArray *values)
{
  for (guint i = 0; i < values->len; i++)
    g_value_unset (&g_array_index (values, GValue, i));
  g_array_unref (values);
}

/* One NAME=VALUE. @name is the property's own. */
static gboolean
parse_setting (const Options *options,
               GObjectClass *klass,
               const char *setting,
               const char **property,
               GValue *value,
               GError **error)
{
  const char *equals = strchr (setting, '=');
  g_autofree char *name = equals != NULL ? g_strndup (setting, equals - setting) : NULL;
  GParamSpec *pspec = name != NULL ? g_object_class_find_property (klass, name) : NULL;

  if (name == NULL)
    g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, _ ("%s %s: it is not of the form NAME=VALUE"),
                 options->option, setting);
  else if (pspec == NULL || (pspec->flags & G_PARAM_WRITABLE) == 0)
    set_unknown (options, name, error);
  else if (is_secret (pspec))
    g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                 _ ("%s %s: it is a secret, and everybody on this machine can read a command line"), options->option,
                 name);
  else
    {
      *property = pspec->name;
      return prism_cli_property_parse (options->option, pspec, equals + 1, value, error);
    }
  return FALSE;
}

static GObject *
make_object (const Options *options, const char *const *settings, GError **error)
{
  GObjectClass *klass = g_type_class_ref (options->type);
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  GArray *values = g_array_new (FALSE, TRUE, sizeof (GValue));
  GObject *object = NULL;
  gboolean good = TRUE;

  for (guint i = 0; good && settings != NULL && settings[i] != NULL; i++)
    {
      GValue value = G_VALUE_INIT;
      const char *name = NULL;

      good = parse_setting (options, klass, settings[i], &name, &value, error);
      if (good)
        {
          g_ptr_array_add (names, (gpointer)name);
          g_array_append_val (values, value);
        }
      else if (G_IS_VALUE (&value))
        g_value_unset (&value);
    }

  if (good)
    object = g_object_new_with_properties (options->type, names->len, (const char **)names->pdata,
                                           (const GValue *)(void *)values->data);
  values_free (values);
  g_type_class_unref (klass);
  return object;
}

PrismBackend *
prism_cli_make_backend (PrismRegistry *registry, const char *name, const char *const *settings, GError **error)
{
  GType type = prism_registry_get_backend_type (registry, name, error);
  g_autofree char *owner = g_strdup_printf (_ ("the backend “%s”"), name);
  const Options options = { "--set", owner, type };

  return type != G_TYPE_INVALID ? PRISM_BACKEND (make_object (&options, settings, error)) : NULL;
}

PrismEgressProxy *
prism_cli_make_egress_proxy (PrismRegistry *registry, const char *const *settings, GError **error)
{
  GType type = prism_registry_get_egress_proxy_type (registry, NULL, error);
  const Options options = { "--proxy-set", _ ("the egress proxy"), type };

  return type != G_TYPE_INVALID ? PRISM_EGRESS_PROXY (make_object (&options, settings, error)) : NULL;
}

/* For people: "a boolean", "one of: a, b". */
char *
prism_cli_property_kind (GParamSpec *pspec)
{
  GType type = pspec->value_type;

  if (type == G_TYPE_STRING)
    return g_strdup (_ ("text"));
  if (type == G_TYPE_FILE)
    return g_strdup (_ ("a path"));
  if (type == G_TYPE_STRV)
    return g_strdup (_ ("a list, separated by commas"));
  if (type == G_TYPE_BOOLEAN)
    return g_strdup (_ ("true or false"));
  if (is_integer (type))
    return g_strdup (_ ("a whole number (K, M, G are binary)"));
  if (type == G_TYPE_DOUBLE)
    return g_strdup (_ ("a number"));
  if (G_TYPE_IS_ENUM (type) || G_TYPE_IS_FLAGS (type))
    {
      g_autofree char *range = prism_cli_property_range (pspec);

      return g_strdup_printf (G_TYPE_IS_ENUM (type) ? _ ("one of: %s") : _ ("a list of: %s"), range);
    }

  return g_strdup (g_type_name (type));
}

char *
prism_cli_property_default (GParamSpec *pspec)
{
  const GValue *value = g_param_spec_get_default_value (pspec);
  gint64 standard, minimum, maximum;

  if (prism_param_spec_get_bounds (pspec, PRISM_LIMITS_PROFILE_STANDARD, &standard, &minimum, &maximum))
    return g_strdup_printf ("%" G_GINT64_FORMAT, standard);
  if (G_VALUE_HOLDS_STRING (value))
    return g_value_dup_string (value);
  if (G_VALUE_HOLDS_BOOLEAN (value))
    return g_strdup (g_value_get_boolean (value) ? "true" : "false");
  if (G_VALUE_HOLDS_ENUM (value))
    return prism_cli_enum_nick (pspec->value_type, g_value_get_enum (value));
  if (G_VALUE_HOLDS_FLAGS (value))
    {
      g_auto (GStrv) nicks = prism_cli_flags_nicks (pspec->value_type, g_value_get_flags (value));

      return g_strjoinv (",", nicks);
    }
  if (is_integer (pspec->value_type) || pspec->value_type == G_TYPE_DOUBLE)
    return g_strdup_value_contents (value);

  return NULL;
}

char *
prism_cli_property_range (GParamSpec *pspec)
{
  gint64 unused, minimum, maximum;

  if (prism_param_spec_get_bounds (pspec, PRISM_LIMITS_PROFILE_STANDARD, &unused, &minimum, &maximum))
    return g_strdup_printf ("%" G_GINT64_FORMAT " … %" G_GINT64_FORMAT, minimum, maximum);
  if (G_IS_PARAM_SPEC_INT (pspec))
    return g_strdup_printf ("%d … %d", G_PARAM_SPEC_INT (pspec)->minimum, G_PARAM_SPEC_INT (pspec)->maximum);
  if (G_IS_PARAM_SPEC_UINT (pspec))
    return g_strdup_printf ("%u … %u", G_PARAM_SPEC_UINT (pspec)->minimum, G_PARAM_SPEC_UINT (pspec)->maximum);
  if (G_IS_PARAM_SPEC_INT64 (pspec))
    return g_strdup_printf ("%" G_GINT64_FORMAT " … %" G_GINT64_FORMAT, G_PARAM_SPEC_INT64 (pspec)->minimum,
                            G_PARAM_SPEC_INT64 (pspec)->maximum);
  if (G_IS_PARAM_SPEC_ENUM (pspec) || G_IS_PARAM_SPEC_FLAGS (pspec))
    {
      g_auto (GStrv) nicks = NULL;

      if (G_IS_PARAM_SPEC_FLAGS (pspec))
        nicks = prism_cli_flags_nicks (pspec->value_type, G_MAXUINT);
      else
        {
          GEnumClass *klass = G_PARAM_SPEC_ENUM (pspec)->enum_class;

          nicks = g_new0 (char *, klass->n_values + 1);
          for (guint i = 0; i < klass->n_values; i++)
            nicks[i] = g_strdup (klass->values[i].value_nick);
        }
      return g_strjoinv (", ", nicks);
    }

  return NULL;
}
