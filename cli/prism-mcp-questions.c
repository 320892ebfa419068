/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What only a person can say, asked through the client (elicitation): may this happen, and
 * what a model wants decided. A client that cannot ask its user is not asked: then nobody
 * listens to the policy, which denies what needs approval and says what would allow it.
 *
 * What is shown comes from a model, so it is what prism_visible_text() makes of it. What
 * comes back is hostile as all that a client sends: it is a yes only if it is the very
 * word that stands for it. */
#include "prism-mcp-server.h"

#include "prism-mcp-scan.h"

#include <string.h>

#define MAX_LABEL 200
#define LOOK_MS   100

typedef struct
{
  PrismMcpServer *server;
  GObject *asked;
} Hop;

static void put_question (PrismMcpServer *self, PrismQuestion *question);

/* One question, from when it is put to the client until it is answered. */
typedef struct
{
  PrismMcpServer *server;
  GObject *asked; /* PrismApprovalRequest, or PrismQuestion */
  GCancellable *withdrawn;
} Pending;

static void
pending_free (gpointer data)
{
  Pending *pending = data;

  g_ptr_array_remove_fast (pending->server->open, pending);
  g_object_unref (pending->asked);
  g_object_unref (pending->withdrawn);
  g_free (pending);
}

/* That a question is not waited for any more is told to the thread that waited. */
static gboolean
on_look (gpointer data)
{
  PrismMcpServer *self = data;
  gboolean still;

  for (guint i = 0; i < self->open->len; i++)
    {
      Pending *pending = self->open->pdata[i];

      g_object_get (pending->asked, "pending", &still, NULL);
      if (!still)
        g_cancellable_cancel (pending->withdrawn);
    }
  if (self->open->len > 0)
    return G_SOURCE_CONTINUE;
  self->open_timer = 0;
  return G_SOURCE_REMOVE;
}

static Pending *
pending_new (PrismMcpServer *self, gpointer asked)
{
  Pending *pending = g_new0 (Pending, 1);

  pending->server = self;
  pending->asked = g_object_ref (asked);
  pending->withdrawn = g_cancellable_new ();
  g_ptr_array_add (self->open, pending);
  if (self->open_timer == 0)
    self->open_timer = g_timeout_add (LOOK_MS, on_look, self);
  return pending;
}

/* {"mode"?, "message", "requestedSchema": {"type": "object", "properties": { and open. */
static PrismJson *
begin_form (const char *message)
{
  PrismJson *json = prism_json_new_compact ();

  prism_json_begin_object (json, NULL);
  prism_json_string (json, "message", message);
  prism_json_begin_object (json, "requestedSchema");
  prism_json_string (json, "type", "object");
  prism_json_begin_object (json, "properties");
  return json;
}

static void
ask (Pending *pending, PrismJson *json, const char *required, PrismMcpAnswerFunc answered)
{
  prism_json_end_object (json);
  if (required != NULL)
    {
      const char *const names[] = { required, NULL };

      prism_json_strv (json, "required", names);
    }
  prism_json_end_object (json);
  prism_json_end_object (json);
  prism_mcp_session_ask (pending->server->session, "elicitation/create", json->text->str, pending->withdrawn, answered,
                         pending, pending_free);
  prism_json_free (json);
}

/* What was filled in; not there unless it was accepted. */
static PrismMcpSlice
get_content (PrismMcpSlice result)
{
  g_autofree char *action = prism_mcp_slice_dup_string (prism_mcp_slice_member (result, "action"));

  if (g_strcmp0 (action, "accept") != 0)
    return (PrismMcpSlice){ NULL, 0 };
  return prism_mcp_slice_member (result, "content");
}

/* --- approvals -------------------------------------------------------------------------- */

static const struct
{
  const char *word, *label;
  PrismApprovalAnswer answer;
} answers[] = {
  { "deny", "No", PRISM_APPROVAL_ANSWER_DENY },
  { "allow", "Yes, this once", PRISM_APPROVAL_ANSWER_ALLOW },
  { "allow-always", "Yes, and exactly this again for as long as this session lasts",
    PRISM_APPROVAL_ANSWER_ALLOW_ALWAYS },
};

static void
append_answers (PrismJson *json, guint n_answers)
{
  prism_json_begin_array (json, "enum");
  for (guint i = 0; i < n_answers; i++)
    prism_json_string (json, NULL, answers[i].word);
  prism_json_end_array (json);
  prism_json_begin_array (json, "enumNames");
  for (guint i = 0; i < n_answers; i++)
    prism_json_string (json, NULL, answers[i].label);
  prism_json_end_array (json);
}

static void
write_answer (PrismMcpServer *self, PrismApprovalRequest *request, const char *answer)
{
  g_autofree char *digest = prism_action_dup_digest (prism_approval_request_get_action (request));
  PrismJson *json = prism_mcp_journal_begin ("approval");

  prism_json_string (json, "action", prism_action_get_kind (prism_approval_request_get_action (request)));
  prism_json_string (json, "digest", digest);
  prism_json_string (json, "rule", prism_approval_request_get_rule (request));
  prism_json_string (json, "answer", answer);
  prism_mcp_journal_add (self->journal, json);
}

/* Where nobody said anything, that is no answer. */
static void
on_approval (PrismMcpSession *session, PrismMcpSlice result, const GError *error, gpointer data)
{
  Pending *pending = data;
  PrismApprovalRequest *request = PRISM_APPROVAL_REQUEST (pending->asked);
  g_autofree char *word = prism_mcp_slice_dup_string (prism_mcp_slice_member (get_content (result), "decision"));
  guint chosen = 0;

  if (error != NULL)
    {
      write_answer (pending->server, request, "none");
      prism_approval_request_refuse (request, error->message);
      return;
    }
  for (guint i = 0; word != NULL && i < G_N_ELEMENTS (answers); i++)
    if (g_str_equal (answers[i].word, word))
      chosen = i;
  write_answer (pending->server, request, answers[chosen].word);
  prism_approval_request_respond (request, answers[chosen].answer);
}

static void
put_approval (PrismMcpServer *self, PrismApprovalRequest *request)
{
  g_autofree char *text = prism_approval_request_dup_text (request);
  PrismJson *json;

  if (g_strcmp0 (self->options->approve, "always") == 0)
    {
      write_answer (self, request, "allow");
      prism_approval_request_respond (request, PRISM_APPROVAL_ANSWER_ALLOW);
      return;
    }
  if (!prism_mcp_session_can_elicit (self->session))
    {
      write_answer (self, request, "none");
      prism_approval_request_refuse (request, "this client cannot ask its user");
      return;
    }
  json = begin_form (text);
  prism_json_begin_object (json, "decision");
  prism_json_string (json, "type", "string");
  prism_json_string (json, "title", "May this happen?");
  append_answers (json, prism_approval_request_get_can_remember (request) ? 3 : 2);
  prism_json_string (json, "default", "deny");
  prism_json_end_object (json);
  ask (pending_new (self, request), json, "decision", on_approval);
}

static gboolean
on_hop (gpointer data)
{
  Hop *hop = data;

  if (PRISM_IS_QUESTION (hop->asked))
    put_question (hop->server, PRISM_QUESTION (hop->asked));
  else
    put_approval (hop->server, PRISM_APPROVAL_REQUEST (hop->asked));
  return G_SOURCE_REMOVE;
}

static void
hop_free (gpointer data)
{
  Hop *hop = data;

  g_object_unref (hop->asked);
  g_free (hop);
}

/* Tools may ask from threads of theirs; the client is spoken to in one. */
static void
hop_over (PrismMcpServer *self, gpointer asked)
{
  Hop *hop = g_new (Hop, 1);

  *hop = (Hop){ self, g_object_ref (asked) };
  g_idle_add_full (G_PRIORITY_DEFAULT, on_hop, hop, hop_free);
}

static void
on_approval_requested (PrismApprovalPolicy *policy, PrismApprovalRequest *request, gpointer data)
{
  hop_over (data, request);
}

void
prism_mcp_questions_update (PrismMcpServer *self)
{
  const char *mode = self->options->approve;
  gboolean wanted = g_strcmp0 (mode, "always") == 0
                    || (g_strcmp0 (mode, "never") != 0 && prism_mcp_session_can_elicit (self->session));

  if (wanted == (self->approval_handler != 0))
    return;
  if (wanted)
    self->approval_handler =
        g_signal_connect (self->policy, "approval-requested", G_CALLBACK (on_approval_requested), self);
  else
    g_clear_signal_handler (&self->approval_handler, self->policy);
}

/* --- a model's questions ---------------------------------------------------------------- */

static void
append_choice (PrismJson *json, PrismQuestion *question)
{
  guint n = prism_question_get_n_options (question);

  prism_json_begin_object (json, "choice");
  prism_json_string (json, "type", "string");
  prism_json_string (json, "title", "Choice");
  prism_json_begin_array (json, "enum");
  for (guint i = 0; i < n; i++)
    prism_json_string (json, NULL, prism_question_get_option_id (question, i));
  prism_json_end_array (json);
  prism_json_begin_array (json, "enumNames");
  for (guint i = 0; i < n; i++)
    {
      g_autofree char *label = prism_visible_text (prism_question_get_option_label (question, i), MAX_LABEL, NULL);

      prism_json_string (json, NULL, label);
    }
  prism_json_end_array (json);
  prism_json_end_object (json);
}

/* A form has no lists in every revision, but it has boxes to tick. */
static void
append_boxes (PrismJson *json, PrismQuestion *question)
{
  for (guint i = 0; i < prism_question_get_n_options (question); i++)
    {
      g_autofree char *label = prism_visible_text (prism_question_get_option_label (question, i), MAX_LABEL, NULL);

      prism_json_begin_object (json, prism_question_get_option_id (question, i));
      prism_json_string (json, "type", "boolean");
      prism_json_string (json, "title", label);
      prism_json_boolean (json, "default", FALSE);
      prism_json_end_object (json);
    }
}

/* The custom text's name in a form: no option's id has a dot. */
#define CUSTOM "custom.text"

static void
append_custom (PrismJson *json)
{
  prism_json_begin_object (json, CUSTOM);
  prism_json_string (json, "type", "string");
  prism_json_string (json, "title", "Or in your own words");
  prism_json_integer (json, "maxLength", 2048);
  prism_json_end_object (json);
}

static char **
read_ids (PrismQuestion *question, PrismMcpSlice content)
{
  g_autoptr (GStrvBuilder) ids = g_strv_builder_new ();
  g_autofree char *choice = prism_mcp_slice_dup_string (prism_mcp_slice_member (content, "choice"));

  if (!prism_question_get_multiple (question) && choice != NULL && *choice != '\0')
    g_strv_builder_add (ids, choice);
  for (guint i = 0; prism_question_get_multiple (question) && i < prism_question_get_n_options (question); i++)
    {
      const char *id = prism_question_get_option_id (question, i);

      if (prism_mcp_slice_kind (prism_mcp_slice_member (content, id)) == 't')
        g_strv_builder_add (ids, id);
    }
  return g_strv_builder_end (ids);
}

static void
on_answer (PrismMcpSession *session, PrismMcpSlice result, const GError *error, gpointer data)
{
  Pending *pending = data;
  PrismQuestion *question = PRISM_QUESTION (pending->asked);
  PrismMcpSlice content = get_content (result);
  g_autofree char *custom = prism_mcp_slice_dup_string (prism_mcp_slice_member (content, CUSTOM));
  g_auto (GStrv) ids = NULL;
  g_autoptr (GError) refused = NULL;

  if (error != NULL)
    prism_question_dismiss (question, error->message);
  else if (prism_mcp_slice_kind (content) != '{')
    prism_question_dismiss (question, "the user did not want to answer");
  else
    {
      ids = read_ids (question, content);
      if (custom != NULL && *custom == '\0')
        g_clear_pointer (&custom, g_free);
      if (!prism_question_answer (question, ids[0] != NULL ? (const char *const *)ids : NULL, custom, &refused))
        prism_question_dismiss (question, refused->message);
    }
}

static void
put_question (PrismMcpServer *self, PrismQuestion *question)
{
  gboolean custom = prism_question_get_allow_custom (question);
  g_autofree char *text = NULL;
  PrismJson *json;

  if (!prism_mcp_session_can_elicit (self->session))
    {
      prism_question_dismiss (question, "this client cannot ask its user (it has no elicitation): decide yourself, or "
                                        "ask in the conversation");
      return;
    }
  text = g_strchomp (prism_question_to_text (question));
  json = begin_form (text);
  if (prism_question_get_multiple (question))
    append_boxes (json, question);
  else
    append_choice (json, question);
  if (custom)
    append_custom (json);
  ask (pending_new (self, question), json, !custom && !prism_question_get_multiple (question) ? "choice" : NULL,
       on_answer);
}

static void
on_question_asked (PrismComposition *composition, PrismQuestion *question, gpointer data)
{
  hop_over (data, question);
}

void
prism_mcp_questions_watch (PrismMcpServer *self)
{
  g_signal_connect (self->composition, "question-asked", G_CALLBACK (on_question_asked), self);
}
