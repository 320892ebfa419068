/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* The text of the first entry of a tar, where that is a plain file of no more than 64 KiB
 * without a NUL; else NULL. Pure. */
char *prism_docker_tar_take (GBytes *tar);

G_END_DECLS
