/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* File requests. What is short is done in the loop, READ and WRITE in pieces as
 * credit and bytes come; what walks a tree is done by a forked worker, whose
 * results the loop relays. Everything here runs inside the sandbox's root: a
 * path may lead anywhere in it, and nowhere else. */
#pragma once

#include "agent-private.h"

#include <sys/stat.h>

#define AGENT_FILE_RECURSIVE (1u << 0) /* PrismFileFlags */
#define AGENT_FILE_PARENTS   (1u << 1)
#define AGENT_FILE_OVERWRITE (1u << 2)
#define AGENT_FILE_FOLD      (1u << 3)
#define AGENT_FILE_HIDDEN    (1u << 4)
#define AGENT_FILE_BENEATH   (1u << 5)
#define AGENT_FILE_SOURCES   (1u << 6)
#define AGENT_FILE_FOLLOW    (1u << 31) /* with BENEATH: links on the way; never from the host */

struct agent_job
{
  struct agent_job *next;
  uint32_t id;
  uint8_t type;
  bool over;

  /* In the loop. READ: what is read; WRITE: the file that has no name yet, or a temporary one */
  int fd;
  uint64_t offset, left;
  struct agent_source source; /* credit of DATA to the host */

  /* WRITE */
  int folder;
  char leaf[256], temporary[32];
  uint32_t mode, window, owed;

  /* worker */
  pid_t pid;
  int results;          /* -1: nothing more comes */
  struct agent_sink in; /* TREE_IN's DATA */
  uint8_t *record;      /* one result, perhaps in part */
  size_t have;
  bool waiting; /* for its turn */
  struct agent_work *work;
};

/* What a worker is asked: a copy, as it may have to wait for its turn. */
struct agent_work
{
  uint8_t type;
  uint32_t flags, mode;
  uint64_t entries, bytes, offset, length, file_bytes, line_bytes;
  uint32_t context;
  int fd; /* the tree's stream, or -1 */
  char *path, *other;
  char text[];
};

/* The table. What has ended is freed in the next turn: this one's events may still name it. */
struct agent_job *agent_job_add (const struct agent_request *request);
void agent_job_end (struct agent_job *job);

/* Something that is mounted here may keep a system call waiting: what touches a file then
 * needs a worker. */
bool agent_files_may_hang (void);

/* --- in the loop ----------------------------------------------------------------- */

void agent_read_start (const struct agent_request *request);
void agent_read_some (struct agent_job *job);
void agent_write_start (const struct agent_request *request);
void agent_write_some (struct agent_job *job, const struct agent_request *request);
/* STAT, RENAME, MKDIR, REMOVE; false: a tree is to be removed, which is a worker's. In the
 * worker too. */
bool agent_entry_request (const struct agent_request *request);

/* --- paths ------------------------------------------------------------------- */

/* Absolute; relative ones are below the workspace. Good until the next call. */
const char *agent_path (const char *path);
/* The folder that holds the path's last component, and that component: which is
 * then never followed. -1 with errno. */
int agent_path_parent (const char *path, uint32_t flags, char leaf[256]);
/* Makes the folders that lead to the path's last component. */
int agent_path_make_parents (const char *path, uint32_t flags);
/* What the path leads to, opened; with BENEATH, EXDEV where it leads out of the workspace. */
int agent_path_open (const char *path, uint32_t flags, int how);
/* The same two, below the workspace; `make`: folders on the way. */
int agent_beneath_parent (const char *path, bool follow, bool make, char leaf[256]);
int agent_beneath_open (const char *path, int how);
/* Of a link at `path` in a tree: relative, ".." only at its start and no more than lead to the root. */
bool agent_link_is_inside (const char *target, const char *path);
void agent_fail (uint32_t id, int error, const char *path);
void agent_put_entry (
    struct prism_wire_writer *w, const struct stat *s, bool unreadable, const char *name, const char *target);

/* --- workers -------------------------------------------------------------------- */

bool agent_worker_ask (struct agent_job *job, const struct agent_request *request, int *fds);
void agent_worker_start (struct agent_job *job);
void agent_worker_stop (struct agent_job *job);
/* Relays what it can; answers true when the request is answered. */
bool agent_worker_relay (struct agent_job *job);
/* A whole result waits for credit or room. */
bool agent_worker_holds (const struct agent_job *job);

/* In the worker's process. Results go to a pipe in records of this size at most;
 * none of these returns after an error. */
#define AGENT_RECORD_HEADER 8u
void agent_result (uint8_t type, bool last, const void *bytes, size_t size);
void agent_result_done (uint64_t entries, uint64_t bytes);
__attribute__ ((noreturn, format (printf, 3, 4))) void
agent_result_error (enum prism_wire_error code, int error, const char *format, ...);
__attribute__ ((noreturn)) void agent_result_errno (int error, const char *what);
void *agent_worker_memory (size_t size);
void agent_write_all (int fd, const void *bytes, size_t size);

/* Frames are sent from here on as results. */
bool agent_in_worker (void);
void agent_work_read (const struct agent_request *request);
void agent_work_write (const struct agent_request *request, int in);
void agent_work_list (const struct agent_work *work);
void agent_work_remove (const struct agent_work *work);
void agent_work_search (const struct agent_work *work);
void agent_work_pack (const struct agent_work *work);
void agent_work_unpack (const struct agent_work *work, int in);

/* The names of one folder, sorted by byte value. */
struct agent_name
{
  uint32_t at;
  uint8_t type; /* DT_ */
  uint64_t ino;
};
struct agent_names
{
  char *text;
  struct agent_name *items;
  size_t size, room;
  uint32_t count, most;
};
/* Reads at most `limit` names; false with errno, E2BIG for more. */
bool agent_names_read (struct agent_names *names, int fd, uint64_t limit, bool hidden);
void agent_names_clear (struct agent_names *names);
