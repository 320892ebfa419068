/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-coding-tool-private.h"

#include "prism-enum-types.h"

struct _PrismCodingTool
{
  GObject parent_instance;

  const PrismToolKind *kind;
  PrismToolSettings *settings;
};

enum
{
  PROP_NAME = 1,
  PROP_DESCRIPTION,
  PROP_INPUT_SCHEMA,
  PROP_EFFECT,
  PROP_EXCLUSIVE,
};

static void work (gpointer self, PrismOperation *operation);

static void
coding_tool_call (PrismTool *tool, PrismToolOperation *operation)
{
  prism_operation_run_in_thread (PRISM_OPERATION (operation), work);
}

static void
init_tool (PrismToolInterface *iface)
{
  iface->call = coding_tool_call;
}

G_DEFINE_FINAL_TYPE_WITH_CODE (PrismCodingTool,
                               prism_coding_tool,
                               G_TYPE_OBJECT,
                               G_IMPLEMENT_INTERFACE (PRISM_TYPE_TOOL, init_tool))

static void
work (gpointer self, PrismOperation *operation)
{
  prism_tool_run (PRISM_CODING_TOOL (self)->settings, PRISM_CODING_TOOL (self)->kind, PRISM_TOOL_OPERATION (operation));
}

static void
prism_coding_tool_get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  const PrismToolKind *kind = PRISM_CODING_TOOL (object)->kind;

  switch (id)
    {
    case PROP_NAME:
      g_value_set_string (value, kind->name);
      break;
    case PROP_DESCRIPTION:
      g_value_set_string (value, kind->description);
      break;
    case PROP_INPUT_SCHEMA:
      g_value_set_string (value, kind->schema);
      break;
    case PROP_EFFECT:
      g_value_set_enum (value, (int)kind->effect);
      break;
    case PROP_EXCLUSIVE:
      g_value_set_boolean (value, kind->exclusive);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
      break;
    }
}

static void
prism_coding_tool_finalize (GObject *object)
{
  prism_tool_settings_unref (PRISM_CODING_TOOL (object)->settings);
  G_OBJECT_CLASS (prism_coding_tool_parent_class)->finalize (object);
}

static void
prism_coding_tool_class_init (PrismCodingToolClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->get_property = prism_coding_tool_get_property;
  object_class->finalize = prism_coding_tool_finalize;
  g_object_class_override_property (object_class, PROP_NAME, "name");
  g_object_class_override_property (object_class, PROP_DESCRIPTION, "description");
  g_object_class_override_property (object_class, PROP_INPUT_SCHEMA, "input-schema");
  g_object_class_override_property (object_class, PROP_EFFECT, "effect");
  g_object_class_override_property (object_class, PROP_EXCLUSIVE, "exclusive");
}

static void
prism_coding_tool_init (PrismCodingTool *self)
{
}

PrismTool *
prism_coding_tool_new (const PrismToolKind *kind, PrismToolSettings *settings)
{
  PrismCodingTool *self = g_object_new (PRISM_TYPE_CODING_TOOL, NULL);

  self->kind = kind;
  self->settings = prism_tool_settings_ref (settings);
  return PRISM_TOOL (self);
}
