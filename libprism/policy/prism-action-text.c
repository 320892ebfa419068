/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An action in words and in hashes.
 *
 * In words: for people. Whoever wrote a command may want it to look like another one, so
 * nothing that moves a cursor, turns a line round, or takes room without being seen goes
 * out as it is. In hashes: what an answer is bound to, and there nothing is left out. */
#include "prism-action-private.h"

#include <string.h>

#include "prism-fingerprint-private.h"

#define MAX_FOLD   8    /* so many blanks in a row are shown; more are counted */
#define MAX_MARKS  2    /* so many combining marks on one letter */
#define MAX_SHOWN  2000 /* characters of one value of an action */
#define MAX_VALUES 40   /* of a list */

/* --- what may be seen ------------------------------------------------------------------ */

static gboolean
is_invisible (gunichar c)
{
  static const struct
  {
    gunichar first, last;
  } ranges[] = {
    { 0x00ad, 0x00ad }, { 0x034f, 0x034f },   { 0x061c, 0x061c },   { 0x115f, 0x1160 },   { 0x17b4, 0x17b5 },
    { 0x180b, 0x180f }, { 0x2000, 0x200f },   { 0x2028, 0x202f },   { 0x205f, 0x206f },   { 0x2800, 0x2800 },
    { 0x3000, 0x3000 }, { 0x3164, 0x3164 },   { 0xfe00, 0xfe0f },   { 0xfeff, 0xfeff },   { 0xffa0, 0xffa0 },
    { 0xfff0, 0xfffb }, { 0x1bca0, 0x1bca3 }, { 0x1d173, 0x1d17a }, { 0xe0000, 0xe0fff },
  };

  for (guint i = 0; i < G_N_ELEMENTS (ranges); i++)
    if (c >= ranges[i].first && c <= ranges[i].last)
      return TRUE;
  return FALSE;
}

static gboolean
needs_escape (gunichar c, guint marks)
{
  if (c < 0x80)
    return c < 0x20 || c == 0x7f;
  if (is_invisible (c))
    return TRUE;
  switch (g_unichar_type (c))
    {
    case G_UNICODE_CONTROL:
    case G_UNICODE_FORMAT:
    case G_UNICODE_UNASSIGNED:
    case G_UNICODE_PRIVATE_USE:
    case G_UNICODE_SURROGATE:
    case G_UNICODE_LINE_SEPARATOR:
    case G_UNICODE_PARAGRAPH_SEPARATOR:
    case G_UNICODE_SPACE_SEPARATOR:
      return TRUE;
    case G_UNICODE_NON_SPACING_MARK:
    case G_UNICODE_ENCLOSING_MARK:
    case G_UNICODE_SPACING_MARK:
      return marks >= MAX_MARKS;
    default:
      return FALSE;
    }
}

static void
append_escape (GString *out, gunichar c)
{
  if (c == '\n')
    g_string_append (out, "\\n");
  else if (c == '\r')
    g_string_append (out, "\\r");
  else if (c == '\t')
    g_string_append (out, "\\t");
  else if (c < 0x80)
    g_string_append_printf (out, "\\x%02x", c);
  else
    g_string_append_printf (out, "\\u{%x}", c);
}

/* One character of @text, made visible; how many of its bytes that was. */
static gsize
append_visible (GString *out, const char *text, gsize length, guint *marks, gboolean *changed)
{
  gunichar c = g_utf8_get_char_validated (text, (gssize)length);
  gsize size;

  if (c == (gunichar)-1 || c == (gunichar)-2)
    {
      g_string_append_printf (out, "\\x%02x", (guchar)text[0]);
      *changed = TRUE;
      return 1;
    }
  size = (gsize)(g_utf8_next_char (text) - text);
  if (needs_escape (c, *marks))
    {
      append_escape (out, c);
      *changed = TRUE;
    }
  else
    g_string_append_len (out, text, (gssize)size);
  *marks = c >= 0x80 && g_unichar_ismark (c) ? *marks + 1 : 0;
  return size;
}

/* A long run of one blank, or of one escape, says nothing but how long it is. */
static gsize
run_of_blanks (const char *text, gsize length)
{
  gsize run = 1;

  if (length == 0 || strchr (" \t\n\r", text[0]) == NULL || text[0] == '\0')
    return 0;
  while (run < length && text[run] == text[0])
    run++;
  return run;
}

static GString *
make_visible (const char *text, gsize length, gboolean *changed)
{
  GString *out = g_string_sized_new (length + 16);
  guint marks = 0;

  for (gsize at = 0; at < length;)
    {
      gsize run = run_of_blanks (text + at, length - at);

      if (run > MAX_FOLD)
        {
          const char *name = text[at] == ' ' ? "spaces" : text[at] == '\t' ? "tabs" : "line ends";

          g_string_append_printf (out, "[%" G_GSIZE_FORMAT " %s]", run, name);
          *changed = TRUE;
          at += run;
          continue;
        }
      at += append_visible (out, text + at, length - at, &marks, changed);
    }
  return out;
}

/* The beginning and the end: what is hidden behind something long is at one of them. */
static void
fold_middle (GString *text, gsize max_length, gboolean *changed)
{
  glong characters = g_utf8_strlen (text->str, (gssize)text->len);
  glong head, tail;
  const char *from, *to;
  g_autofree char *note = NULL;
  gsize at;

  if (max_length == 0 || (gsize)characters <= max_length)
    return;
  tail = (glong)max_length / 4;
  head = (glong)max_length - tail;
  from = g_utf8_offset_to_pointer (text->str, head);
  to = g_utf8_offset_to_pointer (from, characters - head - tail);
  note = g_strdup_printf (" [%ld characters left out] ", characters - head - tail);
  at = (gsize)(from - text->str);
  g_string_erase (text, (gssize)at, to - from);
  g_string_insert (text, (gssize)at, note);
  *changed = TRUE;
}

/**
 * prism_visible_text:
 * @text: any bytes that end with a NUL
 * @max_length: how many characters are wanted at most; 0: all
 * @changed: (out) (optional): whether something could not be shown as it is
 *
 * Makes text fit to be shown to whoever has to decide by it: control characters, those
 * that turn lines round, those that cannot be seen, and bytes that are no UTF-8 are
 * written as `\x1b` or `\u{202e}`; long blanks are counted; of what is too long both ends
 * are kept.
 *
 * Returns: (transfer full): one line of UTF-8
 *
 * Since: 1.0
 */
char *
prism_visible_text (const char *text, gsize max_length, gboolean *changed)
{
  gboolean ignored = FALSE;
  gboolean *say = changed != NULL ? changed : &ignored;
  GString *out;

  g_return_val_if_fail (text != NULL, NULL);

  *say = FALSE;
  out = make_visible (text, strlen (text), say);
  fold_middle (out, max_length, say);
  return g_string_free (out, FALSE);
}

/* --- words ---------------------------------------------------------------------------------- */

/* The letters and digits, and @%+=:,./_- */
static gboolean
is_plain (guchar c)
{
  static const guint32 plain[8] = { 0, 0x27fff820, 0x87ffffff, 0x7fffffe, 0, 0, 0, 0 };

  return (plain[c / 32] >> (c % 32)) & 1;
}

/* As a shell reads it back, and plain where it can be. */
void
prism_action_append_quoted (GString *out, const char *word)
{
  const char *end = word;

  while (is_plain ((guchar)*end))
    end++;
  if (end > word && *end == '\0')
    {
      g_string_append_len (out, word, end - word);
      return;
    }
  g_string_append_c (out, '\'');
  for (; *word != '\0'; word++)
    if (*word == '\'')
      g_string_append (out, "'\\''");
    else
      g_string_append_c (out, *word);
  g_string_append_c (out, '\'');
}

char *
prism_action_quote_argv (const char *const *argv)
{
  GString *out = g_string_new (NULL);

  for (guint i = 0; argv[i] != NULL; i++)
    {
      if (i > 0)
        g_string_append_c (out, ' ');
      prism_action_append_quoted (out, argv[i]);
    }
  return g_string_free (out, FALSE);
}

static void
append_line (GString *out, const char *label, const char *value, gboolean *changed)
{
  gboolean touched;
  g_autofree char *visible = NULL;

  if (value == NULL || value[0] == '\0')
    return;
  visible = prism_visible_text (value, MAX_SHOWN, &touched);
  *changed |= touched;
  g_string_append_printf (out, "%s: %s\n", label, visible);
}

static void
append_lines (GString *out, const char *label, const char *const *values, gboolean *changed)
{
  guint n = values != NULL ? g_strv_length ((char **)values) : 0;

  for (guint i = 0; i < MIN (n, MAX_VALUES); i++)
    append_line (out, label, values[i], changed);
  if (n > MAX_VALUES)
    g_string_append_printf (out, "%s: and %u more\n", label, n - MAX_VALUES);
}

static const char *
risk_word (PrismRisk risk)
{
  return risk == PRISM_RISK_LOW ? "low" : risk == PRISM_RISK_MEDIUM ? "medium" : "high";
}

gboolean
prism_action_is_shell (PrismAction *self)
{
  return g_str_equal (prism_action_get_kind (self), "shell");
}

/* The summary has lines of its own; each is made visible for itself. */
static void
append_summary (GString *out, const char *summary, gboolean *changed)
{
  g_auto (GStrv) lines = summary != NULL ? g_strsplit (summary, "\n", MAX_VALUES + 1) : NULL;

  for (guint i = 0; lines != NULL && lines[i] != NULL; i++)
    {
      gboolean touched;
      g_autofree char *visible = prism_visible_text (lines[i], i < MAX_VALUES ? 200 : 400, &touched);

      *changed |= touched;
      g_string_append_printf (out, "  | %s\n", visible);
    }
}

/**
 * prism_action_dup_text:
 * @self: an action
 *
 * Says what is about to happen, for whoever is asked: every surface shows this same
 * text. It has nothing in it that could make it look like something else; if anything was
 * rewritten for that, its last line says so.
 *
 * Returns: (transfer full): lines of UTF-8, each with its end
 *
 * Since: 1.0
 */
char *
prism_action_dup_text (PrismAction *self)
{
  GString *out;
  gboolean changed = FALSE;
  g_autofree char *quoted = NULL;
  g_autofree char *what = NULL;

  g_return_val_if_fail (PRISM_IS_ACTION (self), NULL);

  out = g_string_new (NULL);
  what = g_strjoin (" ", prism_action_get_kind (self), prism_action_get_operation (self), NULL);
  if (prism_action_get_argv (self) != NULL)
    quoted = prism_action_quote_argv (prism_action_get_argv (self));
  append_line (out, "action", what, &changed);
  append_line (out, "command", prism_action_get_command (self), &changed);
  append_line (out, "program", quoted, &changed);
  append_line (out, "directory", prism_action_get_directory (self), &changed);
  append_lines (out, "environment", prism_action_get_env (self), &changed);
  append_lines (out, "path", prism_action_get_paths (self), &changed);
  append_line (out, "sandbox", prism_action_get_sandbox_id (self), &changed);
  append_line (out, "risk", risk_word (prism_action_get_risk (self)), &changed);
  append_summary (out, prism_action_get_summary (self), &changed);
  if (changed)
    g_string_append (out, "note: characters that cannot be seen, or that change how text looks, were rewritten\n");
  return g_string_free (out, FALSE);
}

/* --- hashes ----------------------------------------------------------------------------- */

static void
append_string (GString *json, const char *text)
{
  prism_canonical_append_string (json, text != NULL ? text : "", -1);
}

static void
append_member (GString *json, const char *name, const char *text)
{
  if (text == NULL)
    return;
  g_string_append_c (json, ',');
  append_string (json, name);
  g_string_append_c (json, ',');
  append_string (json, text);
}

static void
append_list (GString *json, const char *name, const char *const *list)
{
  if (list == NULL)
    return;
  g_string_append_c (json, ',');
  append_string (json, name);
  g_string_append_c (json, ',');
  prism_canonical_append_strv (json, list);
}

static void
append_arguments (GString *json, GBytes *arguments)
{
  g_autofree char *hash = NULL;

  if (arguments == NULL)
    return;
  hash = g_compute_checksum_for_bytes (G_CHECKSUM_SHA256, arguments);
  append_member (json, "arguments", hash);
}

/* The action in the form that other systems hash too, then what makes it another action though
 * all that is equal. */
static void
append_action (GString *json, PrismAction *self, const char *directory_identity)
{
  static const char *const none[] = { NULL };
  const char *const *paths = prism_action_get_paths (self);

  append_string (json, prism_action_get_kind (self));
  g_string_append_c (json, ',');
  append_string (json, prism_action_get_operation (self));
  g_string_append_c (json, ',');
  prism_canonical_append_strv (json, paths != NULL ? paths : none);
  g_string_append_c (json, ',');
  append_string (json, prism_action_get_command (self));
  append_list (json, "argv", prism_action_get_argv (self));
  append_member (json, "directory",
                 directory_identity != NULL ? directory_identity : prism_action_get_directory (self));
  append_list (json, "env", prism_action_get_env (self));
  append_arguments (json, prism_action_get_arguments (self));
  append_member (json, "summary", prism_action_get_summary (self));
}

/* Scope and identity first. */
char *
prism_action_dup_key (PrismAction *self, const char *scope, const char *identity, const char *directory_identity)
{
  g_autoptr (GString) json = g_string_new ("[");

  append_string (json, scope);
  g_string_append_c (json, ',');
  append_string (json, identity);
  g_string_append_c (json, ',');
  append_action (json, self, directory_identity);
  append_member (json, "sandbox", prism_action_get_sandbox_id (self));
  append_member (json, "tree", prism_action_get_tree_root (self));
  append_member (json, "workspace", prism_action_get_workspace (self));
  g_string_append_c (json, ']');
  return prism_fingerprint (json->str, json->len);
}

char *
prism_action_dup_binding (PrismAction *self, gboolean call, const char *directory_identity)
{
  g_autoptr (GString) json = g_string_new ("[");

  append_string (json, call ? "call" : "action");
  g_string_append_c (json, ',');
  append_string (json, "suspension");
  g_string_append_c (json, ',');
  append_action (json, self, directory_identity);
  append_member (json, "tree", prism_action_get_tree_root (self));
  append_member (json, "workspace", prism_action_get_workspace (self));
  if (call)
    {
      append_member (json, "run", prism_action_get_run_id (self));
      append_member (json, "session", prism_action_get_session_id (self));
      append_member (json, "call", prism_action_get_call_id (self));
    }
  g_string_append_c (json, ']');
  return prism_fingerprint (json->str, json->len);
}

/**
 * prism_action_dup_digest:
 * @self: an action
 *
 * Hashes all that makes it this action and no other: what an answer is bound to.
 *
 * Returns: (transfer full): SHA-256 in lower-case hexadecimal
 *
 * Since: 1.0
 */
char *
prism_action_dup_digest (PrismAction *self)
{
  g_return_val_if_fail (PRISM_IS_ACTION (self), NULL);

  return prism_action_dup_key (self, "", "", NULL);
}
