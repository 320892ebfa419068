/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-types.h"

G_BEGIN_DECLS

#define PRISM_SANDBOX_ERROR (prism_sandbox_error_quark ())
PRISM_AVAILABLE_IN_1_0
GQuark prism_sandbox_error_quark (void);

/**
 * PrismSandboxError:
 * @PRISM_SANDBOX_ERROR_FAILED: something else; the message says what
 * @PRISM_SANDBOX_ERROR_INVALID: an argument is malformed
 * @PRISM_SANDBOX_ERROR_STATE: the sandbox is not in a state that allows this; the message names it
 * @PRISM_SANDBOX_ERROR_LIMIT: a limit of this sandbox is used up
 * @PRISM_SANDBOX_ERROR_TIMEOUT: the operation's deadline passed
 * @PRISM_SANDBOX_ERROR_CANCELLED: cancelled before anything ran
 * @PRISM_SANDBOX_ERROR_UNAVAILABLE: the backend cannot work on this machine; the message says what is missing
 * @PRISM_SANDBOX_ERROR_REFUSED: a control that was asked for cannot be enforced here
 * @PRISM_SANDBOX_ERROR_LOST: the sandbox is gone or its agent broke the protocol; what happened is not known
 * @PRISM_SANDBOX_ERROR_EXECUTION: the command could not be run for a reason of the sandbox's own
 * @PRISM_SANDBOX_ERROR_CLI: a helper program of the backend is missing or failed
 * @PRISM_SANDBOX_ERROR_NOT_SUPPORTED: this backend does not have that operation
 * @PRISM_SANDBOX_ERROR_NOT_FOUND: no such command, file, process or sandbox
 * @PRISM_SANDBOX_ERROR_NOT_EXECUTABLE: found, but cannot be started
 * @PRISM_SANDBOX_ERROR_DENIED: a policy or a permission inside the sandbox said no
 *
 * What can go wrong with a sandbox, and with what runs in one.
 *
 * Since: 1.0
 */
typedef enum
{
  PRISM_SANDBOX_ERROR_FAILED,
  PRISM_SANDBOX_ERROR_INVALID,
  PRISM_SANDBOX_ERROR_STATE,
  PRISM_SANDBOX_ERROR_LIMIT,
  PRISM_SANDBOX_ERROR_TIMEOUT,
  PRISM_SANDBOX_ERROR_CANCELLED,
  PRISM_SANDBOX_ERROR_UNAVAILABLE,
  PRISM_SANDBOX_ERROR_REFUSED,
  PRISM_SANDBOX_ERROR_LOST,
  PRISM_SANDBOX_ERROR_EXECUTION,
  PRISM_SANDBOX_ERROR_CLI,
  PRISM_SANDBOX_ERROR_NOT_SUPPORTED,
  PRISM_SANDBOX_ERROR_NOT_FOUND,
  PRISM_SANDBOX_ERROR_NOT_EXECUTABLE,
  PRISM_SANDBOX_ERROR_DENIED,
} PrismSandboxError;

#define PRISM_TREE_ERROR (prism_tree_error_quark ())
PRISM_AVAILABLE_IN_1_0
GQuark prism_tree_error_quark (void);

/**
 * PrismTreeError:
 * @PRISM_TREE_ERROR_FAILED: reading or writing the tree failed; the message names the entry
 * @PRISM_TREE_ERROR_UNSAFE_PATH: an entry's name or link target leads outside
 * @PRISM_TREE_ERROR_TYPE: an entry is a device, FIFO, socket or another type that trees don't hold
 * @PRISM_TREE_ERROR_LIMIT: more entries or bytes than the limits allow
 * @PRISM_TREE_ERROR_CHANGED: an entry changed while it was read
 *
 * What can be wrong with a tree that goes in or out.
 *
 * Since: 1.0
 */
typedef enum
{
  PRISM_TREE_ERROR_FAILED,
  PRISM_TREE_ERROR_UNSAFE_PATH,
  PRISM_TREE_ERROR_TYPE,
  PRISM_TREE_ERROR_LIMIT,
  PRISM_TREE_ERROR_CHANGED,
} PrismTreeError;

#define PRISM_PROCESS_ERROR (prism_process_error_quark ())
PRISM_AVAILABLE_IN_1_0
GQuark prism_process_error_quark (void);

/**
 * PrismProcessError:
 * @PRISM_PROCESS_ERROR_FAILED: something else; the message says what
 * @PRISM_PROCESS_ERROR_POLICY: a policy said no
 * @PRISM_PROCESS_ERROR_OWNERSHIP: another owner's process
 * @PRISM_PROCESS_ERROR_STATE: the process is not in a state that allows this
 * @PRISM_PROCESS_ERROR_LIMIT: out of a limit
 * @PRISM_PROCESS_ERROR_UNSUPPORTED: the backend cannot do this to a process
 * @PRISM_PROCESS_ERROR_PTY_UNSUPPORTED: no pseudo-terminal can be had
 * @PRISM_PROCESS_ERROR_PTY_BACKEND: the pseudo-terminal broke
 * @PRISM_PROCESS_ERROR_PTY_LIMIT: columns or rows out of range
 *
 * What can go wrong with a process.
 *
 * Since: 1.0
 */
typedef enum
{
  PRISM_PROCESS_ERROR_FAILED,
  PRISM_PROCESS_ERROR_POLICY,
  PRISM_PROCESS_ERROR_OWNERSHIP,
  PRISM_PROCESS_ERROR_STATE,
  PRISM_PROCESS_ERROR_LIMIT,
  PRISM_PROCESS_ERROR_UNSUPPORTED,
  PRISM_PROCESS_ERROR_PTY_UNSUPPORTED,
  PRISM_PROCESS_ERROR_PTY_BACKEND,
  PRISM_PROCESS_ERROR_PTY_LIMIT,
} PrismProcessError;

G_END_DECLS
