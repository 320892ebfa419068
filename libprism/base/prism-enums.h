/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "prism-types.h"

G_BEGIN_DECLS

/**
 * PrismControls:
 * @PRISM_CONTROLS_NONE: nothing is required
 * @PRISM_CONTROLS_FILESYSTEM: no host file outside the workspace and the named mounts
 * @PRISM_CONTROLS_NETWORK: no network reachable
 * @PRISM_CONTROLS_PROCESS: a pid namespace of its own
 * @PRISM_CONTROLS_PRIVILEGE: no way to gain host privileges
 * @PRISM_CONTROLS_EGRESS: every way out passes a controlled proxy, or there is none
 * @PRISM_CONTROLS_WORKSPACE: shell, file and repository tools see one tree
 *
 * What a caller may require of a sandbox.
 *
 * Since: 1.0
 */
typedef enum /*< flags >*/
{
  PRISM_CONTROLS_NONE = 0,
  PRISM_CONTROLS_FILESYSTEM = 1 << 0,
  PRISM_CONTROLS_NETWORK = 1 << 1,
  PRISM_CONTROLS_PROCESS = 1 << 2,
  PRISM_CONTROLS_PRIVILEGE = 1 << 3,
  PRISM_CONTROLS_EGRESS = 1 << 4,
  PRISM_CONTROLS_WORKSPACE = 1 << 5,
} PrismControls;

/**
 * PrismLimitsProfile:
 * @PRISM_LIMITS_PROFILE_STANDARD: resource limits on, session limits off unless asked for
 * @PRISM_LIMITS_PROFILE_STRICT: every limit of the contract, with its default and its hard cap
 *
 * Which defaults and hard caps limits have.
 *
 * Since: 1.0
 */
typedef enum
{
  PRISM_LIMITS_PROFILE_STANDARD,
  PRISM_LIMITS_PROFILE_STRICT,
} PrismLimitsProfile;

/**
 * PrismWorkspaceMode:
 * @PRISM_WORKSPACE_MODE_DIRECT: the host folder itself, writable
 * @PRISM_WORKSPACE_MODE_COPY: a disposable copy; the host's folder stays untouched
 * @PRISM_WORKSPACE_MODE_READONLY: the host folder, not writable
 *
 * What a sandbox makes of its workspace, the host folder.
 *
 * Since: 1.0
 */
typedef enum
{
  PRISM_WORKSPACE_MODE_DIRECT,
  PRISM_WORKSPACE_MODE_COPY,
  PRISM_WORKSPACE_MODE_READONLY,
} PrismWorkspaceMode;

/**
 * PrismNetworkMode:
 * @PRISM_NETWORK_MODE_NONE: loopback only
 * @PRISM_NETWORK_MODE_EGRESS: loopback, and the egress proxy as the only way out
 * @PRISM_NETWORK_MODE_CUSTOM: what the backend's own properties name
 *
 * What of the network a sandbox has.
 *
 * Since: 1.0
 */
typedef enum
{
  PRISM_NETWORK_MODE_NONE,
  PRISM_NETWORK_MODE_EGRESS,
  PRISM_NETWORK_MODE_CUSTOM,
} PrismNetworkMode;

/**
 * PrismLifetime:
 * @PRISM_LIFETIME_HOST: the sandbox ends with the process that made it
 * @PRISM_LIFETIME_DETACHED: the sandbox lives on until its wall time, which must be set
 *
 * What ends a sandbox besides closing it.
 *
 * Since: 1.0
 */
typedef enum
{
  PRISM_LIFETIME_HOST,
  PRISM_LIFETIME_DETACHED,
} PrismLifetime;

/**
 * PrismSandboxStatus:
 * @PRISM_SANDBOX_STATUS_RUNNING: takes operations
 * @PRISM_SANDBOX_STATUS_STOPPED: stopped, killed or paused
 * @PRISM_SANDBOX_STATUS_REMOVED: closed; nothing of it is left
 * @PRISM_SANDBOX_STATUS_FAILED: its wall or idle time was exceeded, or its agent was lost
 *
 * The state of a sandbox.
 *
 * Since: 1.0
 */
typedef enum
{
  PRISM_SANDBOX_STATUS_RUNNING,
  PRISM_SANDBOX_STATUS_STOPPED,
  PRISM_SANDBOX_STATUS_REMOVED,
  PRISM_SANDBOX_STATUS_FAILED,
} PrismSandboxStatus;

/**
 * PrismStream:
 * @PRISM_STREAM_STDOUT: standard output; a pty's output as well
 * @PRISM_STREAM_STDERR: standard error
 *
 * One of the streams that a command writes to.
 *
 * Since: 1.0
 */
typedef enum
{
  PRISM_STREAM_STDOUT = 1,
  PRISM_STREAM_STDERR = 2,
} PrismStream;

/**
 * PrismOutcome:
 * @PRISM_OUTCOME_EXITED: ended by itself; the exit code is its own
 * @PRISM_OUTCOME_SIGNALLED: ended by a signal that nobody here sent
 * @PRISM_OUTCOME_TIMED_OUT: its timeout passed; its whole process tree was ended
 * @PRISM_OUTCOME_CANCELLED: the caller cancelled; its whole process tree was ended
 * @PRISM_OUTCOME_WALL_EXCEEDED: the sandbox's wall or idle time ended it
 * @PRISM_OUTCOME_OUTPUT_LIMIT: it wrote more than its total output cap and was ended
 * @PRISM_OUTCOME_LOST: the sandbox was lost; how the command ended is not known
 *
 * How a command ended.
 *
 * Since: 1.0
 */
typedef enum
{
  PRISM_OUTCOME_EXITED,
  PRISM_OUTCOME_SIGNALLED,
  PRISM_OUTCOME_TIMED_OUT,
  PRISM_OUTCOME_CANCELLED,
  PRISM_OUTCOME_WALL_EXCEEDED,
  PRISM_OUTCOME_OUTPUT_LIMIT,
  PRISM_OUTCOME_LOST,
} PrismOutcome;

/**
 * PrismFileFlags:
 * @PRISM_FILE_FLAGS_NONE: nothing special
 * @PRISM_FILE_FLAGS_RECURSIVE: list, remove: the whole tree
 * @PRISM_FILE_FLAGS_PARENTS: write, make_directory: make missing parents; an existing folder is success
 * @PRISM_FILE_FLAGS_OVERWRITE: rename: an existing file may be replaced
 * @PRISM_FILE_FLAGS_IGNORE_CASE: search: ASCII letters match either case
 * @PRISM_FILE_FLAGS_HIDDEN: list, search: names that start with a dot as well
 * @PRISM_FILE_FLAGS_BENEATH: any: nothing may lead out of the workspace; what changes the tree
 *   follows no link at all. The coding tools ask for it
 * @PRISM_FILE_FLAGS_SOURCES: search: without .git, node_modules and dist, and with what was
 *   counted as a last line, whose path is empty. A backend may leave that out
 *
 * How a file operation is meant; which of these count is said at each method.
 *
 * Since: 1.0
 */
typedef enum /*< flags >*/
{
  PRISM_FILE_FLAGS_NONE = 0,
  PRISM_FILE_FLAGS_RECURSIVE = 1 << 0,
  PRISM_FILE_FLAGS_PARENTS = 1 << 1,
  PRISM_FILE_FLAGS_OVERWRITE = 1 << 2,
  PRISM_FILE_FLAGS_IGNORE_CASE = 1 << 3,
  PRISM_FILE_FLAGS_HIDDEN = 1 << 4,
  PRISM_FILE_FLAGS_BENEATH = 1 << 5,
  PRISM_FILE_FLAGS_SOURCES = 1 << 6,
} PrismFileFlags;

/**
 * PrismHealthStatus:
 * @PRISM_HEALTH_STATUS_PASS: fine
 * @PRISM_HEALTH_STATUS_WARN: works, with less than it could
 * @PRISM_HEALTH_STATUS_FAIL: does not work; the remedy says what to do
 * @PRISM_HEALTH_STATUS_SKIPPED: not asked, because something it needs failed
 * @PRISM_HEALTH_STATUS_INCONCLUSIVE: no answer in time
 *
 * How a check of a health report came out.
 *
 * Since: 1.0
 */
typedef enum
{
  PRISM_HEALTH_STATUS_PASS,
  PRISM_HEALTH_STATUS_WARN,
  PRISM_HEALTH_STATUS_FAIL,
  PRISM_HEALTH_STATUS_SKIPPED,
  PRISM_HEALTH_STATUS_INCONCLUSIVE,
} PrismHealthStatus;

/**
 * PrismPluginState:
 * @PRISM_PLUGIN_STATE_FOUND: manifest read and accepted; no code of it has run
 * @PRISM_PLUGIN_STATE_LOADED: its types are registered
 * @PRISM_PLUGIN_STATE_SHADOWED: an earlier folder holds one of the same name
 * @PRISM_PLUGIN_STATE_REFUSED: not loaded; the error says why
 *
 * What became of a plug-in that was found.
 *
 * Since: 1.0
 */
typedef enum
{
  PRISM_PLUGIN_STATE_FOUND,
  PRISM_PLUGIN_STATE_LOADED,
  PRISM_PLUGIN_STATE_SHADOWED,
  PRISM_PLUGIN_STATE_REFUSED,
} PrismPluginState;

G_END_DECLS
