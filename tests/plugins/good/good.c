/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Nothing is wrong with it: the others differ from it in one way each. */
#include "fixture.h"

#define FIXTURE_TYPE_GOOD (fixture_good_get_type ())

typedef enum
{
  FIXTURE_COLOUR_RED,
  FIXTURE_COLOUR_DARK_BLUE,
} FixtureColour;

static GType
fixture_colour_get_type (void)
{
  static const GEnumValue values[] = {
    { FIXTURE_COLOUR_RED, "FIXTURE_COLOUR_RED", "red" },
    { FIXTURE_COLOUR_DARK_BLUE, "FIXTURE_COLOUR_DARK_BLUE", "dark-blue" },
    { 0, NULL, NULL },
  };
  static GType type;

  if (g_once_init_enter (&type))
    g_once_init_leave (&type, g_enum_register_static ("FixtureColour", values));

  return type;
}

FIXTURE_BACKEND (Good, good)

enum
{
  PROP_COLOUR = 1,
  PROP_LOUD,
  PROP_SIZE,
  PROP_LABEL,
  N_PROPS
};

static void
set_property (GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
}

static void
get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
}

static void
fixture_good_class_init (FixtureGoodClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GParamSpec *properties[N_PROPS] = { NULL };
  const GParamFlags flags = G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS;

  object_class->set_property = set_property;
  object_class->get_property = get_property;
  properties[PROP_COLOUR] = g_param_spec_enum ("colour", NULL, "What it looks like", fixture_colour_get_type (),
                                               FIXTURE_COLOUR_DARK_BLUE, flags);
  properties[PROP_LOUD] = g_param_spec_boolean ("loud", NULL, "Whether it can be heard", FALSE, flags);
  properties[PROP_SIZE] = g_param_spec_int64 ("size", NULL, "How large", G_MININT64, G_MAXINT64, 7, flags);
  properties[PROP_LABEL] = g_param_spec_string ("label", NULL, "What it says", "nothing", flags);
  prism_param_spec_set_bounds (properties[PROP_SIZE], PRISM_LIMITS_PROFILE_STANDARD, 7, 1, 100);
  prism_param_spec_set_bounds (properties[PROP_SIZE], PRISM_LIMITS_PROFILE_STRICT, 7, 1, 10);
  g_object_class_install_properties (object_class, N_PROPS, properties);
}

static void
good_load (PrismRegistry *registry)
{
  prism_registry_add_type (registry, "good", FIXTURE_TYPE_GOOD, 50, NULL);
}

PRISM_PLUGIN_DEFINE (good, "1.2.3", "LGPL-2.1-or-later", good_load);
