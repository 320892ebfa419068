/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A backend for tests that contains nothing: real commands and real files, in a
 * real folder, by other means than prism-agent. It lacks trees and terminals.
 *
 * It claims one control, `workspace`, and knows no network. Each sandbox has one
 * thread that does all its work and answers from there: what the wrappers are to
 * stand. */
#pragma once

#include <libprism/prism.h>

G_BEGIN_DECLS

#define PRISM_TYPE_FAKE_BACKEND (prism_fake_backend_get_type ())
G_DECLARE_FINAL_TYPE (PrismFakeBackend, prism_fake_backend, PRISM, FAKE_BACKEND, GObject)

#define PRISM_TYPE_FAKE_SANDBOX (prism_fake_sandbox_get_type ())
G_DECLARE_FINAL_TYPE (PrismFakeSandbox, prism_fake_sandbox, PRISM, FAKE_SANDBOX, GObject)

#define PRISM_TYPE_FAKE_PROCESS (prism_fake_process_get_type ())
G_DECLARE_FINAL_TYPE (PrismFakeProcess, prism_fake_process, PRISM, FAKE_PROCESS, GObject)

G_END_DECLS
