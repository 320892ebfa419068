/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <libprism/prism.h>

G_BEGIN_DECLS

/* What came of loading one plug-in in a process of its own. */
typedef struct
{
  gboolean loaded;
  char *json;    /* what the probe printed: the backends and their properties */
  GError *error; /* why not */
} PrismCliTrial;

void prism_cli_trial_free (PrismCliTrial *self);
GPtrArray *prism_cli_try_plugins (GPtrArray *infos);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (PrismCliTrial, prism_cli_trial_free)

G_END_DECLS
