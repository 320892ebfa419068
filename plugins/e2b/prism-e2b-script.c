/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-e2b-script.h"

#include <string.h>

#include "prism-e2b-run.h"

#define SPARE_MS 20000

/* Who may see and end processes that a command made by way of sudo. */
#define SUPERUSER "root"

typedef struct
{
  PrismE2bClient *client;
  PrismE2bIdentity identity;
  char *user;   /* … of who it is run again as, if it could not be run */
  char **again; /* NULL: not again */
  PrismE2bRun *run;
  gboolean watches; /* its answer is what it wrote */
  PrismE2bScriptEnded ended;
  gpointer data;
} Script;

static void
script_free (Script *script)
{
  g_clear_pointer (&script->run, prism_e2b_run_unref);
  prism_e2b_identity_clear (&script->identity);
  prism_e2b_client_unref (script->client);
  g_strfreev (script->again);
  g_free (script->user);
  g_free (script);
}

static void
script_started (PrismE2bRun *run, gpointer data)
{
}

static gboolean
script_output (PrismE2bRun *run, PrismStream stream, GBytes *bytes, gpointer data)
{
  return TRUE;
}

static gboolean run_script (Script *script,
                            const char *user,
                            const char *const *argv,
                            const char *const *env,
                            const char *cwd,
                            gint64 timeout_ms);

static int
parse_status (PrismResult *result)
{
  g_autofree char *text = prism_result_dup_stdout_text (result);
  guint64 status;

  if (g_ascii_string_to_unsigned (g_strchomp (text), 10, 0, 0xffff, &status, NULL))
    return (int)status;
  return prism_result_get_exit_code (result) == 4 ? PRISM_E2B_WATCH_GONE : -1;
}

static void
script_ended (PrismE2bRun *run, const GError *error, gpointer data)
{
  Script *script = data;
  g_autoptr (PrismResult) result = prism_e2b_run_new_result (run);
  g_auto (GStrv) again = g_steal_pointer (&script->again);

  g_clear_pointer (&script->run, prism_e2b_run_unref);
  if (error != NULL && again != NULL
      && run_script (script, script->user, (const char *const *)again, NULL, "/", SPARE_MS))
    return;
  script->ended (error != NULL     ? -1
                 : script->watches ? parse_status (result)
                                   : prism_result_get_exit_code (result),
                 script->data);
  script_free (script);
}

static const PrismE2bRunFuncs script_funcs = { script_started, script_output, script_ended };

static gboolean
run_script (Script *script,
            const char *user,
            const char *const *argv,
            const char *const *env,
            const char *cwd,
            gint64 timeout_ms)
{
  g_autoptr (GBytes) start = prism_e2b_start_new (argv, env, cwd, FALSE, 0, 0, NULL);
  PrismE2bRunSpec spec = {
    .client = script->client,
    .identity = &script->identity,
    .user = user,
    .start = start,
    .timeout_ms = timeout_ms,
    .max_kept = script->watches ? 64 : -1,
  };

  if (start == NULL)
    return FALSE;
  script->run = prism_e2b_run_new (&spec, &script_funcs, script);
  prism_e2b_run_begin (script->run);
  return TRUE;
}

static Script *
script_new (PrismE2bClient *client,
            const PrismE2bIdentity *identity,
            const char *user,
            PrismE2bScriptEnded ended,
            gpointer data)
{
  Script *script = g_new0 (Script, 1);

  script->client = prism_e2b_client_ref (client);
  prism_e2b_identity_copy (identity, &script->identity);
  script->user = g_strdup (user);
  script->ended = ended;
  script->data = data;
  return script;
}

static void
begin (Script *script,
       const char *user,
       const char *const *argv,
       const char *const *env,
       const char *cwd,
       gint64 timeout_ms)
{
  if (run_script (script, user, argv, env, cwd, timeout_ms))
    return;
  script->ended (-1, script->data);
  script_free (script);
}

/* --- the whole of a command ---------------------------------------------------------------- */

/* $1 the mark, $2 how many tenths of a second SIGTERM has. What is found is ended, and looked
 * for again until nothing is: what began to run meanwhile was not seen before. */
#define SWEEP                                                                                                          \
  "find_all() {\n"                                                                                                     \
  "  found=' '\n"                                                                                                      \
  "  for f in $(grep -lsF \"" PRISM_E2B_MARK "=$1\" /proc/[0-9]*/environ 2>/dev/null); do\n"                           \
  "    p=${f#/proc/}; p=${p%%/*}; [ \"$p\" = $$ ] || found=\"$found$p \"\n"                                            \
  "  done\n"                                                                                                           \
  "  [ \"$found\" = ' ' ] && return 1\n"                                                                               \
  "  table=$(grep -Hs '^PPid:' /proc/[0-9]*/status 2>/dev/null); grew=1\n"                                             \
  "  while [ \"$grew\" ]; do\n"                                                                                        \
  "    grew=; set -- $table\n"                                                                                         \
  "    while [ $# -gt 1 ]; do\n"                                                                                       \
  "      p=${1#/proc/}; p=${p%%/*}\n"                                                                                  \
  "      case $found in *\" $p \"*) ;; *)\n"                                                                           \
  "        case $found in *\" $2 \"*) found=\"$found$p \"; grew=1;; esac;;\n"                                          \
  "      esac\n"                                                                                                       \
  "      shift 2\n"                                                                                                    \
  "    done\n"                                                                                                         \
  "  done\n"                                                                                                           \
  "}\n"                                                                                                                \
  "mark=$1 left=$2\n"                                                                                                  \
  "if [ $left -gt 0 ]; then find_all \"$mark\" || exit 0; kill -TERM $found 2>/dev/null; fi\n"                         \
  "while [ $left -gt 0 ]; do sleep 0.1 || sleep 1; left=$((left-1)); find_all \"$mark\" || exit 0; done\n"             \
  "for turn in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do\n"                                               \
  "  find_all \"$mark\" || exit 0; kill -KILL $found 2>/dev/null; [ $turn -gt 3 ] && sleep 0.1\n"                      \
  "done\n"                                                                                                             \
  "exit 1"

void
prism_e2b_script_sweep (PrismE2bClient *client,
                        const PrismE2bIdentity *identity,
                        const char *user,
                        const char *mark,
                        gint64 grace_ms,
                        PrismE2bScriptEnded ended,
                        gpointer data)
{
  g_autofree char *tenths = g_strdup_printf ("%" G_GINT64_FORMAT, (grace_ms + 99) / 100);
  const char *argv[] = { "/bin/sh", "-c", SWEEP, "sh", mark, tenths, NULL };
  Script *script = script_new (client, identity, user, ended, data);

  if (g_strcmp0 (user, SUPERUSER) != 0)
    script->again = g_strdupv ((char **)argv);
  begin (script, SUPERUSER, argv, NULL, "/", grace_ms + SPARE_MS);
}

/* --- signals --------------------------------------------------------------------------------- */

void
prism_e2b_script_signal (PrismE2bClient *client,
                         const PrismE2bIdentity *identity,
                         const char *user,
                         gint64 pid,
                         int number,
                         PrismE2bScriptEnded ended,
                         gpointer data)
{
  g_autofree char *signal = g_strdup_printf ("-%d", number), *whom = g_strdup_printf ("%" G_GINT64_FORMAT, pid);
  const char *argv[] = { "/bin/sh", "-c", "kill \"$1\" \"$2\"", "sh", signal, whom, NULL };

  begin (script_new (client, identity, user, ended, data), user, argv, NULL, "/", SPARE_MS);
}

/* --- its end ------------------------------------------------------------------------------------- */

/* The service does not wait for a process before its streams are at their end, so one that
 * ended before is to be seen as a zombie until then; and its status with it, by who may. */
#define WATCH                                                                                                          \
  "n=2; while read -r line <\"/proc/$1/stat\"; do case ${line##*) } in\n"                                              \
  "Z*|X*) set -- ${line##*) }; shift 49; echo \"$1\"; exit 0;; esac\n"                                                 \
  "sleep 0.$n || sleep 1; [ $n -lt 9 ] && n=$((n+1)); done 2>/dev/null; exit 4"

void
prism_e2b_script_watch (PrismE2bClient *client,
                        const PrismE2bIdentity *identity,
                        const char *user,
                        gint64 pid,
                        PrismE2bScriptEnded ended,
                        gpointer data)
{
  g_autofree char *whom = g_strdup_printf ("%" G_GINT64_FORMAT, pid);
  const char *argv[] = { "/bin/sh", "-c", WATCH, "sh", whom, NULL };
  Script *script = script_new (client, identity, user, ended, data);

  script->watches = TRUE;
  if (g_strcmp0 (user, SUPERUSER) != 0)
    script->again = g_strdupv ((char **)argv);
  begin (script, SUPERUSER, argv, NULL, "/", 0);
}

/* --- no such command -------------------------------------------------------------------------- */

/* The service runs a command by way of a shell, which says 127 of one that is not there, and
 * so may a command that is. */
#define LOOK                                                                                                           \
  "case $1 in */*) [ -e \"$1\" ] || exit 2; [ -x \"$1\" ] && [ ! -d \"$1\" ] || exit 3; exit 0;; esac; "               \
  "command -v -- \"$1\" >/dev/null || exit 2"

void
prism_e2b_script_look (PrismE2bClient *client,
                       const PrismE2bIdentity *identity,
                       const char *user,
                       const char *name,
                       const char *const *env,
                       const char *cwd,
                       PrismE2bScriptEnded ended,
                       gpointer data)
{
  const char *argv[] = { "/bin/sh", "-c", LOOK, "sh", name, NULL };

  begin (script_new (client, identity, user, ended, data), user, argv, env, cwd, SPARE_MS);
}

GError *
prism_e2b_look_to_error (int code, const char *name)
{
  if (code == PRISM_E2B_LOOK_MISSING)
    return g_error_new (PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_NOT_FOUND, "“%s” is not there, or not on PATH", name);
  if (code == PRISM_E2B_LOOK_NOT_EXECUTABLE)
    return g_error_new (PRISM_SANDBOX_ERROR, PRISM_SANDBOX_ERROR_NOT_EXECUTABLE, "“%s” cannot be executed", name);
  return NULL;
}
