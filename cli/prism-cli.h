/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the subcommands of prism share. Only public API of libprism is used. */
#pragma once

#include <glib/gi18n.h>
#include <libprism/prism.h>

#include "prism-start.h"

G_BEGIN_DECLS

/* What is taken where no backend is named. */
#define PRISM_CLI_USUAL_BACKEND "native"

/* Exit statuses that are prism's own; see prism(1). */
enum
{
  PRISM_EXIT_TIMED_OUT = 124,
  PRISM_EXIT_FAILED = 125,
  PRISM_EXIT_NOT_STARTABLE = 126,
  PRISM_EXIT_NOT_FOUND = 127,
  PRISM_EXIT_SIGNAL = 128,
};

typedef struct
{
  const char *name;
  const char *arguments; /* for the usage line */
  const char *summary;
  int (*run) (int argc, char **argv);
  /* Options for completion; NULL: none. */
  GOptionEntry *(*entries) (void);
} PrismCliCommand;

extern const PrismCliCommand prism_cli_commands[];
const PrismCliCommand *prism_cli_find_command (const char *name);

GOptionEntry *prism_cmd_approval_entries (void);
GOptionEntry *prism_cmd_doctor_entries (void);
GOptionEntry *prism_cmd_inspect_entries (void);
GOptionEntry *prism_cmd_log_entries (void);
GOptionEntry *prism_cmd_policy_entries (void);
GOptionEntry *prism_cmd_proxy_entries (void);
int prism_cmd_approval (int argc, char **argv);
int prism_cmd_log (int argc, char **argv);
int prism_cmd_mcp (int argc, char **argv);
int prism_cmd_policy (int argc, char **argv);
int prism_cmd_proxy (int argc, char **argv);
int prism_cmd_run (int argc, char **argv);
int prism_cmd_shell (int argc, char **argv);
int prism_cmd_tool (int argc, char **argv);
char **prism_cmd_tool_names (void);
int prism_cmd_doctor (int argc, char **argv);
int prism_cmd_inspect (int argc, char **argv);
int prism_cmd_version (int argc, char **argv);
int prism_cmd_help (int argc, char **argv);
int prism_cmd_complete (int argc, char **argv);

/* Messages: to stderr, with "prism: " in front, made fit for a terminal. */
void prism_cli_message (const char *format, ...) G_GNUC_PRINTF (1, 2);
void prism_cli_error (const GError *error);
void prism_cli_hint (const char *format, ...) G_GNUC_PRINTF (1, 2);
char *prism_cli_visible (const char *text);
gboolean prism_cli_colours (int fd);
const char *prism_cli_style (int fd, const char *code);

/* An option whose value is not one. Returns FALSE. */
gboolean prism_cli_bad_value (GError **error, const char *format, ...) G_GNUC_PRINTF (2, 3);

/* Says that the standard output could not be written (@number: an errno, or 0); returns
 * the exit status of that. */
int prism_cli_unwritten (int number);

/* How the program was started, by the small program that did. @start stays the caller's. */
void prism_cli_note_start (const PrismCliStart *start);
/* Where the first signal of those that end a run is noted; atomic, 0 before. */
int *prism_cli_received (void);
/* Whether that standard descriptor was closed then. */
gboolean prism_cli_was_closed (int fd);
/* In a thread that is there already: FALSE where there is none. */
gboolean prism_cli_use_thread (void *(*func) (void *));

gboolean prism_cli_parse (
    const PrismCliCommand *command, GOptionEntry *entries, gboolean strict, int *argc, char ***argv, GError **error);
gboolean prism_cli_parse_duration (const char *text, gint64 *milliseconds, GError **error);

G_END_DECLS
