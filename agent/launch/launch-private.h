/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The launcher's own parts. The keeper (outer half) runs as the host's user or as
 * root and never touches a byte that a sandbox wrote; the inner half runs before
 * any code that is not trusted, with capabilities only over its own namespaces. */
#pragma once

#include "prism-launch.h"

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

struct launch_setting
{
  const char *file, *value;
  uint32_t flags;
};

struct launch_group
{
  const char *folder, *entry;
  uint32_t n_settings;
  struct launch_setting settings[PRISM_LAUNCH_MAX_SETTINGS];
};

struct launch_step
{
  uint8_t kind;
  uint32_t flags, mode;
  uint64_t bytes, inodes;
  const char *target, *text;
};

/* A plan that passed every check; its strings lie in the plan's bytes. */
struct launch_plan
{
  const void *bytes;
  size_t size;
  bool rest; /* its steps follow those of an early plan */
  uint32_t flags, uid, gid;
  uint64_t processes, data_bytes;
  const char *hostname, *start;
  uint32_t n_groups, n_steps, n_shown;
  struct launch_group groups[PRISM_LAUNCH_MAX_GROUPS];
  struct prism_wire_reader steps; /* where the first step begins */
};

/* launch-plan.c: pure. False: not a plan of this version. */
bool launch_plan_parse (struct launch_plan *plan, const void *bytes, size_t size);
bool launch_plan_next (struct prism_wire_reader *at, struct launch_step *step);
/* Whether an inner half that was started with the early plan can go on with the other. */
bool launch_plan_goes_on (const struct launch_plan *early, const struct launch_plan *plan);
/* Whether the root of an early plan is entered before the rest of the plan is there: what
 * follows takes nothing from the old root. */
bool launch_plan_enters_early (const struct launch_plan *early);

/* What a sandbox may begin with; -1 where it makes its own. */
struct launch_ready_made
{
  int userns, mntns; /* of the template */
  int netns;
  /* Begun ahead, by a plan whose beginning is expected again: the plan to carry out
   * comes later, with the control and the keeper's socket. */
  bool ahead;
  bool by_porter; /* one process in the template starts one after another */
  bool may_ask;   /* to be moved into its groups; else it must be able to itself */
  int place;      /* launch-place.c: of the porter, and what it starts */
};

#define LAUNCH_NOTHING_MADE                                                                                            \
  {                                                                                                                    \
    -1, -1, -1, false, false, true, -1                                                                                 \
  }
#define LAUNCH_MAX_FDS (PRISM_LAUNCH_MAX_SHOWN + PRISM_LAUNCH_MAX_GROUPS + 2)

/* launch-report.c: what the host hears. */
void launch_note (const char *key, const char *format, ...) __attribute__ ((format (printf, 2, 3)));
void launch_hold_notes (void);
void launch_ready (uint32_t facts);
void launch_ended (int status, uint32_t left);
void launch_report_to (int fd); /* PRISM_LAUNCH_KEEPER_FD if not said */
/* Tells the host and ends this half; the keeper undoes what it made first. */
_Noreturn void launch_fail (enum prism_launch_stage stage, int error, const char *format, ...)
    __attribute__ ((format (printf, 3, 4)));

/* launch-keeper.c: ends the process, after the keeper's own clean-up if it is the keeper. */
_Noreturn void launch_abandon (void);

/* launch-sys.c: calls that the C library does not have, and small files. */
#define LAUNCH_TREE_CLONE   1u
#define LAUNCH_AT_RECURSIVE 0x8000
#define LAUNCH_MOVE_FROM_FD 0x00000004u
#define LAUNCH_MOVE_TO_FD   0x00000040u
#define LAUNCH_ATTR_RDONLY  0x00000001u
#define LAUNCH_ATTR_NOSUID  0x00000002u
#define LAUNCH_ATTR_NODEV   0x00000004u
#define LAUNCH_ATTR_NOEXEC  0x00000008u
#define LAUNCH_ATTR_IDMAP   0x00100000u
int launch_open_tree (int dir, const char *path, unsigned flags);
int launch_mount_setattr (int fd, uint64_t set, uint64_t clear, bool private, int userns, bool recursive);
/* On @at itself, or on what it holds by the name @to, which is not followed. */
int launch_move_mount (int from, int at, const char *to);
int launch_openat2 (int dir, const char *path, int flags, unsigned mode);
int launch_fs_open (const char *type);
int launch_fs_set (int fs, const char *key, const char *value);
int launch_fs_mount (int fs, unsigned attributes);
/* A detached tmpfs; -1 and errno. */
int launch_tmpfs (uint64_t bytes, uint64_t inodes, unsigned mode, unsigned attributes);
bool launch_write_file (int dir, const char *path, const char *text);
/* At most MAX_FDS descriptors beside one packet. */
bool launch_send_fds (int to, const void *bytes, size_t size, const int *fds, size_t n);
/* The packet's size, 0 at the end, -1 and errno; *n is how many there is room for, then
 * how many came. */
ssize_t launch_receive_fds (int from, void *bytes, size_t size, int *fds, size_t *n, int flags);

/* launch-userns.c */
void launch_enter_ids (const struct launch_plan *plan);
/* Below the template's user namespace, without rights over what it owns. */
void launch_enter_own_userns (void);
/* In the user namespace that is to be the sandbox's: a new one has it full again. */
void launch_empty_bounding_set (void);
void launch_drop_capabilities (const struct launch_plan *plan);
void launch_give_up_capabilities (void);
int launch_idmap_userns (uint32_t from_uid, uint32_t from_gid, uint32_t to_uid, uint32_t to_gid, pid_t *maker);

/* launch-groups.c: by the keeper. make(): from spares, and to become one, if `again`;
 * remove() says how many folders are left. */
struct launch_made_group
{
  char *folder, *settings, *own_name;
  int dir, entry;            /* entry: the file that admits a process */
  int parent;                /* in one that was a spare; or -1 */
  int charged, kills, tasks; /* what tells of its use, in one that was a spare; or -1 */
  unsigned long most_charged;
  uint32_t missing; /* a bit for each of its settings that the kernel does not offer */
};
struct launch_groups
{
  uint32_t n; /* of those that are there */
  struct launch_made_group *made[PRISM_LAUNCH_MAX_GROUPS];
};
/* begin(): the folders alone, ahead; make() goes on with these where they are what the plan wants. */
void launch_groups_begin (const struct launch_plan *plan, struct launch_groups *groups);
void launch_groups_make (const struct launch_plan *plan, struct launch_groups *groups, bool again);
void launch_groups_lift (struct launch_groups *groups);
void launch_group_free (struct launch_made_group *group);
bool launch_groups_admit (const struct launch_groups *groups, pid_t pid);
uint32_t launch_groups_remove (struct launch_groups *groups, bool wait);
void launch_groups_forget (struct launch_groups *groups);
bool launch_remove_folder (const char *folder, bool wait);

/* launch-spares.c: by the launcher that stays, once all is dead. give() takes those out of the
 * groups that can serve again; describe() says what one was made with. */
void launch_spares_give (struct launch_groups *groups);
struct launch_made_group *launch_spares_take (const struct launch_group *wanted);
void launch_spares_describe (struct launch_made_group *group, const struct launch_group *wanted);
void launch_spares_drop (void);

/* launch-freeze.c: by the keeper. 0 or an errno; what failed is thawed. */
int launch_freeze (const struct launch_plan *plan, const char *path);
int launch_thaw (void);
bool launch_is_frozen (void);
/* The group that was made for it, or NULL. */
const char *launch_freezer_to_remove (void);

/* launch-host.c: by the keeper: what hosts ask. */
void launch_host_begin (const struct launch_plan *plan, int agent);
/* Two descriptors to poll, and for how long. */
void launch_host_watch (struct pollfd fds[2], struct timespec *wait);
/* False: all is to end. */
bool launch_host_step (const struct pollfd fds[2]);
/* Before the end: thaws, and takes the way in away. */
void launch_host_forget (void);

/* launch-shown.c: by the keeper: the mounts that need the host's capabilities. expect():
 * a folder of this owner is likely to be shown. */
void launch_shown_expect (const struct launch_plan *plan, uint32_t uid, uint32_t gid);
void launch_shown_prepare (const struct launch_plan *plan, int trees[PRISM_LAUNCH_MAX_SHOWN]);
/* The id tables, which serve again until then. */
void launch_shown_forget (void);

/* launch-copy.c: everything below one folder into another; 0 or -errno, and the
 * name that failed. Owners are kept only as far as uid and gid are not -1. */
int launch_copy_tree (int from, int to, uid_t uid, gid_t gid, char *failed, size_t failed_size);

/* launch-root.c: by the inner half. shown() is called once, before the first step
 * that needs one of them, and where the steps run out: in one that was begun ahead the plan
 * has more of them then. `early`: the root is entered before that. */
void launch_root_build (const struct launch_plan *plan, bool early, const int *(*shown) (void));

/* launch-probe.c: remember() by the keeper, before the clone; probe() in the end. */
void launch_probe_remember (void);
/* Of a sandbox that has its own user namespace already. */
void launch_probe_ahead (void);
uint32_t launch_probe (void);

/* launch-net.c: one network namespace, made beside whatever else goes on. finish()
 * waits for it: its descriptor, or -1 and errno. */
struct launch_net
{
  char stack[16384] __attribute__ ((aligned (16)));
  int userns; /* that is to own it; -1: the helper's own */
  bool up;
  volatile int fd, error;
  pid_t helper; /* > 0 while it is to be waited for */
};
/* Whether the host is busy meanwhile: what is made is made on its starter's CPU then. */
extern bool launch_net_stays_here;
bool launch_net_begin (struct launch_net *net);
int launch_net_finish (struct launch_net *net);
void launch_net_enter (int fd);

/* The folders of the host's that are shown in a sandbox, where those inside may meet others. */
struct launch_origin
{
  uint32_t n;
  struct
  {
    dev_t device;
    ino_t inode;
  } folders[PRISM_LAUNCH_MAX_SHOWN];
};

/* launch-pool.c: by the launcher that stays. take(): one for a sandbox of that origin, or -1;
 * of NULL: one that served nobody yet. take_ahead(): for one that is expected, which
 * can_serve() then says, and makes it that one's. asked_for(): what is expected. give_back()
 * when every process of that sandbox is gone: it serves again if it is as new; let_go(): to
 * whoever has it, it serves nobody else. refill(),
 * true while some are missing, makes one at a time, by a child that reap() is to see. */
void launch_pool_init (void);
void launch_pool_describe (const struct launch_plan *plan, struct launch_origin *origin);
void launch_pool_asked_for (const struct launch_origin *origin);
int launch_pool_take (const struct launch_origin *origin);
int launch_pool_take_ahead (void);
bool launch_pool_can_serve (int fd, const struct launch_origin *origin);
void launch_pool_give_back (int fd);
void launch_pool_let_go (int fd);
bool launch_pool_refill (int userns);
bool launch_pool_reap (pid_t pid);
void launch_pool_empty (void);
/* Nothing is under way after this. */
void launch_pool_settle (void);

/* launch-seccomp.c; the public half is in agent.h. Without no_new_privs, which the
 * caller has set or has the capability to do without. */
void launch_select_seccomp (bool without_unix_sockets);
int launch_install_filter (void);
/* By the launcher that stays, or one that is begun ahead: what is inherited is not loaded
 * again. No failure: then each loads all of it. */
void launch_install_early_filter (void);

/* launch-landlock.c, the same */
int launch_enter_scope (void);

/* launch-inner.c: by the keeper. The inner half as its child, and its end of the socket
 * between the two. */
int launch_start_inner (const struct launch_plan *plan, const struct launch_ready_made *made, pid_t *pid);
/* In an inner half that was begun ahead, once it is waited for. */
void launch_hurry (void);
/* Its template is gone; it died; it is another process's. */
void launch_end_porter (void);
bool launch_reap_porter (pid_t pid);
void launch_forget_porter (void);

/* launch-keeper.c: from a plan's bytes to the sandbox's end. */
_Noreturn void launch_keep (size_t size, const struct launch_ready_made *made);
/* Either half of one that was begun ahead: the plan that lies in the bytes now is the
 * one to carry out, these are its sockets. */
bool launch_take_order (size_t size, int control, int keeper);
/* The plan that lies in the bytes. */
struct launch_plan *launch_current_plan (size_t size);
/* What the inner half waits for, after its whole plan if that is its order. */
void launch_release_inner (int to, size_t order_size, struct launch_groups *groups);
/* From here on a failure is that of one sandbox of several, until a child keeps none any
 * more, or one of its own. */
void launch_keep_many (const sigset_t *open_mask);
void launch_keep_no_more (void);
void launch_watch_signals (sigset_t *open_mask);
bool launch_told_to_stop (void);
/* Listens to a host for another keeper, whose child that process is. */
_Noreturn void launch_be_hand (const struct launch_plan *plan, pid_t inner);
extern uint8_t launch_plan_bytes[PRISM_LAUNCH_MAX_PLAN];

/* launch-place.c: on which CPU the launcher that stays works; -1: wherever. What it starts
 * works there too, until it goes on anywhere (false and errno: it may not), or hands on the
 * set for that (NULL: it is anywhere). One that was begun ahead at a place is put where the
 * launcher is now. */
void launch_place_at (int cpu);
int launch_place (void);
bool launch_place_anywhere (void);
const void *launch_place_cpus (size_t *size);
void launch_place_begun (pid_t pid, int begun_at);

/* launch-server.c: the launcher that stays. Its own descriptors lie above those of what
 * it starts. */
#define LAUNCH_HIGH_FD 64
int launch_lift (int fd);
_Noreturn void launch_serve (void);

/* launch-kept.c: the sandboxes that it keeps itself. start(): false where a keeper of its
 * own is to have it. watch(): how many descriptors, hear(): what came. finish(), after
 * reap(): true while a group is not yet empty. prepare(): one ahead; true while missing. */
#define LAUNCH_MAX_KEPT 64u
bool launch_kept_start (
    const struct launch_ready_made *template, const uint8_t *bytes, size_t size, int control, int keeper);
unsigned launch_kept_watch (struct pollfd *fds);
void launch_kept_hear (const struct pollfd *fds);
void launch_kept_reap (pid_t pid, int status);
bool launch_kept_finish (void);
unsigned launch_kept_count (void);
void launch_kept_end_all (void);
bool launch_kept_prepare (const struct launch_ready_made *template, bool now);
void launch_kept_forget_ahead (void);
void launch_kept_disown_nets (void);
_Noreturn void launch_kept_abandon (void);

/* launch-init.c */
void launch_join_groups (void);
/* One byte, not none: a core pattern that is a pipe to a program of the host is not held
 * back by zero. The filter, also an inherited one, does not let it be changed. */
void launch_limit_core (void);
/* To as many as it may have. */
void launch_raise_open_files (void);
_Noreturn void launch_init (const struct launch_plan *plan, int keeper, const struct launch_ready_made *made);
