/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-egress-error.h"

G_DEFINE_QUARK (prism - egress - error - quark, prism_egress_error)
