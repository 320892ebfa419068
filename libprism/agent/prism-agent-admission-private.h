/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Who may run now: commands at once with a first-come queue, commands in all,
 * processes at once; and since when nothing runs. A slot that is free is handed
 * to who waits first, never raced for. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

typedef struct
{
  GMutex lock;
  guint running;
  guint processes;
  guint working; /* commands, processes and other operations: not idle */
  guint64 commands;
  gint64 idle_since;
  gint64 most_running;
  gint64 most_processes;
  gint64 most_commands; /* 0 = no limit */
  GQueue queue;         /* PrismAgentTurn */
} PrismAgentAdmission;

/* One command's place. */
typedef struct
{
  gboolean queued;
  gboolean granted;
  void (*grant) (gpointer data); /* with the lock held: wakes, and no more */
  gpointer data;
  GList link;
} PrismAgentTurn;

void prism_agent_admission_init (PrismAgentAdmission *self,
                                 gint64 most_running,
                                 gint64 most_processes,
                                 gint64 most_commands);
void prism_agent_admission_clear (PrismAgentAdmission *self);
/* TRUE: granted at once. Else @grant is called when it is, unless it was left. */
gboolean prism_agent_admission_enter (PrismAgentAdmission *self,
                                      PrismAgentTurn *turn,
                                      void (*grant) (gpointer data),
                                      gpointer data);
gboolean prism_agent_admission_is_granted (PrismAgentAdmission *self, PrismAgentTurn *turn);
/* From the queue or from the slot; nothing when it was left before. */
void prism_agent_admission_leave (PrismAgentAdmission *self, PrismAgentTurn *turn);
/* One of the sandbox's commands is used up; FALSE when there is none left. */
gboolean prism_agent_admission_count (PrismAgentAdmission *self, GError **error);
gboolean prism_agent_admission_enter_process (PrismAgentAdmission *self, GError **error);
void prism_agent_admission_leave_process (PrismAgentAdmission *self);
void prism_agent_admission_work_begins (PrismAgentAdmission *self);
void prism_agent_admission_work_ends (PrismAgentAdmission *self);
/* Monotonic us; G_MAXINT64 while something works. */
gint64 prism_agent_admission_get_idle_since (PrismAgentAdmission *self);

G_END_DECLS
