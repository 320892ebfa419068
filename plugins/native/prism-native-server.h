/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

/* A launcher that stays. Whoever was given one says when his sandbox has started, or has
 * not, and lets it go when that is gone. */
typedef struct _PrismNativeServer PrismNativeServer;

/* Hands a plan and the launcher's ends of its two sockets to one of the process's
 * launchers that stay. NULL: nothing was started. */
PrismNativeServer *
prism_native_server_ask (const char *agent, GBytes *template, GBytes *plan, const int ends[2], GError **error);
void prism_native_server_started (PrismNativeServer *self);
void prism_native_server_release (PrismNativeServer *self);

G_END_DECLS
