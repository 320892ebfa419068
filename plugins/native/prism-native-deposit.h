/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <libprism/prism.h>

G_BEGIN_DECLS

/* What a later host must know of a detached sandbox to be one, as the first host leaves it
 * with the keeper: in memory, never on a disk, since the secrets are part of it. */
typedef struct
{
  PrismSandboxSpec *spec;
  PrismCapabilities *capabilities;
  char *inside; /* where the workspace is seen */
  gboolean framed;
  char **groups;
  char *freezer; /* or NULL */
} PrismNativeDeposit;

/* A sealed file in memory, or -1. */
int prism_native_deposit_write (const PrismNativeDeposit *self, GError **error);
/* From such a one; takes @fd. */
gboolean prism_native_deposit_read (PrismNativeDeposit *self, int fd, GError **error);
void prism_native_deposit_clear (PrismNativeDeposit *self);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (PrismNativeDeposit, prism_native_deposit_clear)

G_END_DECLS
