/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prism-local-ask.h"

#include <signal.h>

#include "prism-fd-left.h"

typedef struct
{
  GThread *thread;
  GMainContext *context;
  GMainLoop *loop;
  GHashTable *open; /* PrismLocalQuestion; the asker's thread only */
} Asker;

static void
question_unref (gpointer data)
{
  PrismLocalQuestion *question = data;

  if (!g_atomic_ref_count_dec (&question->refs))
    return;
  g_object_unref (question->cancellable);
  g_free (question->host);
  g_clear_object (&question->policy);
  g_list_free_full (question->addresses, g_object_unref);
  g_clear_object (&question->rules);
  g_clear_error (&question->error);
  prism_local_engine_unref (question->engine);
  g_free (question);
}

/* In the engine's thread. */
static void
deliver (PrismLocalEngine *engine, gpointer data)
{
  PrismLocalQuestion *question = data;

  if (question->asker != NULL)
    question->answered (question->asker, question);
  question_unref (question);
}

/* In the asker's thread, which gives up its reference. */
static void
finish (PrismLocalQuestion *question)
{
  Asker *asker = question->engine->ask;

  g_hash_table_remove (asker->open, question);
  if (!prism_local_engine_call (question->engine, deliver, question))
    question_unref (question);
}

static void
name_found (GObject *source, GAsyncResult *result, gpointer data)
{
  PrismLocalQuestion *question = data;

  question->addresses = g_resolver_lookup_by_name_finish (G_RESOLVER (source), result, &question->error);
  if (question->addresses == NULL && question->error == NULL)
    g_set_error_literal (&question->error, G_RESOLVER_ERROR, G_RESOLVER_ERROR_NOT_FOUND, "it has no address");
  finish (question);
}

static void
policy_found (GObject *source, GAsyncResult *result, gpointer data)
{
  PrismLocalQuestion *question = data;

  question->rules = prism_egress_policy_resolve_finish (PRISM_EGRESS_POLICY (source), result, &question->error);
  finish (question);
}

static void
free_addresses (gpointer addresses)
{
  g_resolver_free_addresses (addresses);
}

static void
look_up (GTask *task, gpointer resolver, gpointer host, GCancellable *cancellable)
{
  GError *error = NULL;
  GList *addresses = g_resolver_lookup_by_name (resolver, host, cancellable, &error);

  if (error != NULL)
    g_task_return_error (task, error);
  else
    g_task_return_pointer (task, addresses, free_addresses);
}

static void
name_looked_up (GObject *source, GAsyncResult *result, gpointer data)
{
  PrismLocalQuestion *question = data;

  question->addresses = g_task_propagate_pointer (G_TASK (result), &question->error);
  if (question->addresses == NULL && question->error == NULL)
    g_set_error_literal (&question->error, G_RESOLVER_ERROR, G_RESOLVER_ERROR_NOT_FOUND, "it has no address");
  finish (question);
}

/* A resolver of somebody's own may know only the way that waits. */
static void
ask_name (PrismLocalQuestion *question, GResolver *resolver)
{
  g_autoptr (GTask) task = NULL;

  if (G_RESOLVER_GET_CLASS (resolver)->lookup_by_name_async != NULL)
    {
      g_resolver_lookup_by_name_async (resolver, question->host, question->cancellable, name_found, question);
      return;
    }
  task = g_task_new (resolver, question->cancellable, name_looked_up, question);
  g_task_set_task_data (task, g_strdup (question->host), g_free);
  g_task_set_return_on_cancel (task, TRUE);
  g_task_run_in_thread (task, look_up);
}

static gboolean
ask (gpointer data)
{
  PrismLocalQuestion *question = data;
  Asker *asker = question->engine->ask;
  GResolver *given = question->engine->settings.resolver;
  g_autoptr (GResolver) resolver = given != NULL ? g_object_ref (given) : g_resolver_get_default ();

  g_hash_table_add (asker->open, question);
  if (question->policy != NULL)
    prism_egress_policy_resolve_async (question->policy, question->cancellable, policy_found, question);
  else
    ask_name (question, resolver);
  return G_SOURCE_REMOVE;
}

static gpointer
run (gpointer data)
{
  Asker *asker = data;

  g_main_context_push_thread_default (asker->context);
  g_main_loop_run (asker->loop);
  g_main_context_pop_thread_default (asker->context);
  return NULL;
}

/* Made for the first question: most proxies are asked for addresses only. */
static Asker *
get_asker (PrismLocalEngine *engine)
{
  Asker *asker = engine->ask;

  if (asker != NULL || !prism_fd_is_left ())
    return asker;
  asker = g_new0 (Asker, 1);
  asker->context = g_main_context_new ();
  asker->loop = g_main_loop_new (asker->context, FALSE);
  asker->open = g_hash_table_new (NULL, NULL);
  asker->thread = g_thread_try_new ("prism-egress-ask", run, asker, NULL);
  if (asker->thread == NULL)
    {
      g_main_loop_unref (asker->loop);
      g_main_context_unref (asker->context);
      g_hash_table_unref (asker->open);
      g_free (asker);
      return NULL;
    }
  engine->ask = asker;
  return asker;
}

static PrismLocalQuestion *
put (PrismLocalEngine *engine, const char *host, PrismEgressPolicy *policy, gpointer whose, PrismLocalAnswered answered)
{
  Asker *asker = get_asker (engine);
  PrismLocalQuestion *question;
  g_autoptr (GSource) source = NULL;

  if (asker == NULL)
    return NULL;
  question = g_new0 (PrismLocalQuestion, 1);
  g_atomic_ref_count_init (&question->refs);
  g_atomic_ref_count_inc (&question->refs);
  question->engine = prism_local_engine_ref (engine);
  question->asker = whose;
  question->answered = answered;
  question->cancellable = g_cancellable_new ();
  question->host = g_strdup (host);
  question->policy = policy != NULL ? g_object_ref (policy) : NULL;
  source = g_idle_source_new ();
  g_source_set_priority (source, G_PRIORITY_DEFAULT);
  g_source_set_static_name (source, "[prism] egress question");
  g_source_set_callback (source, ask, question, NULL);
  g_source_attach (source, asker->context);
  return question;
}

PrismLocalQuestion *
prism_local_ask_name (PrismLocalEngine *engine, const char *host, gpointer asker, PrismLocalAnswered answered)
{
  return put (engine, host, NULL, asker, answered);
}

PrismLocalQuestion *
prism_local_ask_policy (PrismLocalEngine *engine,
                        PrismEgressPolicy *policy,
                        gpointer asker,
                        PrismLocalAnswered answered)
{
  return put (engine, NULL, policy, asker, answered);
}

void
prism_local_question_drop (PrismLocalQuestion *question)
{
  question->asker = NULL;
  g_cancellable_cancel (question->cancellable);
  question_unref (question);
}

/* Answers that are on their way are waited for: each ends soon, cancelled. */
static gboolean
stop (gpointer data)
{
  Asker *asker = data;
  GHashTableIter iter;
  gpointer question;

  g_hash_table_iter_init (&iter, asker->open);
  while (g_hash_table_iter_next (&iter, &question, NULL))
    g_cancellable_cancel (((PrismLocalQuestion *)question)->cancellable);
  if (g_hash_table_size (asker->open) > 0)
    return G_SOURCE_CONTINUE;
  g_main_loop_quit (asker->loop);
  return G_SOURCE_REMOVE;
}

void
prism_local_asker_stop (PrismLocalEngine *engine)
{
  Asker *asker = engine->ask;
  g_autoptr (GSource) source = NULL;

  if (asker == NULL)
    return;
  source = g_timeout_source_new (1);
  g_source_set_static_name (source, "[prism] egress asker's end");
  g_source_set_callback (source, stop, asker, NULL);
  g_source_attach (source, asker->context);
  g_thread_join (asker->thread);
  engine->ask = NULL;
  g_main_loop_unref (asker->loop);
  g_main_context_unref (asker->context);
  g_hash_table_unref (asker->open);
  g_free (asker);
}
