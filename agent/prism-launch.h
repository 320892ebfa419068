/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The launch plan, version 1.0: what `prism-agent --launch` is to build, and what
 * it says about it. Written by plugins/native, carried out by launch/.
 *
 * The plan holds the decisions, the launcher only does as it is told: the order
 * of the steps is the order of the mounts. It comes from the host and is trusted,
 * but it is read as if it were not: every length, count and path has a bound, and
 * what breaks a rule ends the start.
 *
 * DESCRIPTORS of `prism-agent --launch`: 3 the plan (a file, read from its
 * beginning, or a stream that ends after it), 4 the agent's end of the control socket, 5 the
 * keeper's end of a SOCK_SEQPACKET pair. Numbers are little-endian; str and strv
 * are prism-wire.h's.
 *
 * PLAN
 *   u32 magic, u16 major, u16 minor, u32 flags, u32 uid, u32 gid (of the host: what
 *   10001 inside is outside), u64 most processes by RLIMIT_NPROC (0 = keep), u64
 *   most bytes by RLIMIT_DATA (0 = keep),
 *   str host name inside, str folder to start in (absolute, inside),
 *   u32 groups, each: str folder to make, str "tasks" or "cgroup.procs", u32
 *     settings, each: str file, str value, u32 flags
 *   u32 steps, each: u8 kind, u32 flags, u32 mode, u64 bytes, u64 inodes,
 *     str target, str text
 *
 * A stream may begin with an EARLY PLAN,
 *   u32 magic, u32 size, a plan of that size,
 * which is carried out while the host composes the rest. Nothing of the host's folders is
 * in it, its groups are without settings, and it is for no detached sandbox. If the plan that
 * follows has its flags, ids, host name and, as its first steps, its steps, it goes on from
 * there, in these groups if it has the same; else all of that is undone and the plan carried
 * out from its beginning. One that goes on may also come as a REST, which has another magic
 * and, of the steps, only those that the early plan has not; where it fits none it is refused.
 * An early plan of root's that shows a /proc has its root entered before the plan is there:
 * what follows takes nothing from the host but what the keeper hands in. If no plan follows
 * within PRISM_LAUNCH_EARLY_MS all ends.
 *
 * `prism-agent --launch many` is the launcher that stays, for a host that makes one
 * sandbox after another, as root: it listens on 5, a SOCK_SEQPACKET too. A REQUEST is
 * one packet of at most PRISM_LAUNCH_MAX_REQUEST bytes,
 *   u8 1 if others of the host's launchers are at work too, u32 CPU on which this one is to
 *   do its work for now (~0: on any), u32 size of a plan to make a template, that plan, a
 *   plan that uses one (size 0: the same template as the request before),
 * with two descriptors, the agent's control end and the keeper's end. It starts a
 * keeper for each, which is as one that the host started itself; it ends by itself
 * when nothing was asked for a second, and its sandboxes live on without it.
 *
 * A TEMPLATE is the part of a root that is the same for many sandboxes, sealed: each
 * gets a copy of its mounts, cheaper than making them, and adds its own. The mount
 * namespace belongs to the template's user namespace; a sandbox's own user namespace
 * lies below that one and has no rights over any of its mounts. For root only: an
 * ordinary user's launcher could bring nothing of the host into it.
 *
 * A target is relative to the new root: no "." or "..", no empty component; "" is
 * the root itself. Links in it are never followed. Folders are made only where the
 * launcher itself made the file system, never in what is shown of the host.
 */
#pragma once

#include "prism-wire.h"

#define PRISM_LAUNCH_MAGIC 0x4c535250u
#define PRISM_LAUNCH_REST 0x52535250u    /* in its place: the rest of a plan */
#define PRISM_LAUNCH_MAJOR 1
#define PRISM_LAUNCH_MINOR 0

#define PRISM_LAUNCH_PLAN_FD 3
#define PRISM_LAUNCH_CONTROL_FD 4
#define PRISM_LAUNCH_KEEPER_FD 5

#define PRISM_LAUNCH_MAX_PLAN (1024u * 1024u)
#define PRISM_LAUNCH_MAX_REQUEST (128u * 1024u)
#define PRISM_LAUNCH_EARLY 0x45535250u
#define PRISM_LAUNCH_EARLY_HEAD 8u
#define PRISM_LAUNCH_EARLY_MS 10000
#define PRISM_LAUNCH_MAX_STEPS 4096u
#define PRISM_LAUNCH_MAX_GROUPS 4u
#define PRISM_LAUNCH_MAX_SETTINGS 8u
#define PRISM_LAUNCH_MAX_TEXT 65536u
#define PRISM_LAUNCH_MAX_SHOWN 16u        /* steps with PRISM_LAUNCH_BY_KEEPER */

#define PRISM_LAUNCH_ID 10001u            /* user and group inside */

/* Plan flags. The off-switches are for tests that prove each control: a launcher
 * built without them refuses a plan that has one. */
#define PRISM_LAUNCH_HOST_TREE (1u << 0)      /* network-only: the host's own tree is the root */
#define PRISM_LAUNCH_NETNS_COMMAND (1u << 1)  /* the agent makes one network namespace for each command */
#define PRISM_LAUNCH_NO_UNIX (1u << 2)        /* socket(AF_UNIX) is refused; stream pairs stay */
#define PRISM_LAUNCH_PRIVILEGED (1u << 3)     /* the launcher is root: groups dropped, uid is not its own */
#define PRISM_LAUNCH_FRAMED (1u << 4)         /* the agent passes no descriptors (tests, remote streams) */
#define PRISM_LAUNCH_MAKE_TEMPLATE (1u << 5)  /* only a root, for others to begin in */
#define PRISM_LAUNCH_USE_TEMPLATE (1u << 6)   /* begin in such a root */
#define PRISM_LAUNCH_DETACHED (1u << 7)       /* it may outlive its host: DEPOSIT is taken */
#define PRISM_LAUNCH_OFF_NETNS (1u << 16)
#define PRISM_LAUNCH_OFF_PIDNS (1u << 17)
#define PRISM_LAUNCH_OFF_CAPS (1u << 18)
#define PRISM_LAUNCH_OFF_NNP (1u << 19)
#define PRISM_LAUNCH_OFF_SECCOMP (1u << 20)
#define PRISM_LAUNCH_OFF_LANDLOCK (1u << 21)
#define PRISM_LAUNCH_OFF_USERNS_LIMIT (1u << 22)
#define PRISM_LAUNCH_OFF_DUMPABLE (1u << 23)
#define PRISM_LAUNCH_OFF_MASK 0x00ff0000u
#define PRISM_LAUNCH_FLAGS 0x000000ffu

#define PRISM_LAUNCH_SETTING_OPTIONAL (1u << 0)  /* where the file is not there: no failure, a note */

enum prism_launch_kind
{
  PRISM_LAUNCH_FOLDER = 1,   /* mode */
  PRISM_LAUNCH_FILE = 2,     /* mode; text is the content */
  PRISM_LAUNCH_LINK = 3,     /* text is what it points to */
  PRISM_LAUNCH_TMPFS = 4,    /* mode, bytes, inodes. The first step, with target "", makes the root */
  PRISM_LAUNCH_BIND = 5,     /* text: host path. bytes: for COPY, the most that fits */
  PRISM_LAUNCH_SELF = 6,     /* the target bound on itself: a mount of its own, RO or not. Text: a host path to protect, or "" */
  PRISM_LAUNCH_PROC = 7,
  PRISM_LAUNCH_PTS = 8,
  PRISM_LAUNCH_DEVICE = 9,   /* text: host path; bytes: major << 32 | minor, checked */
  PRISM_LAUNCH_HIDE = 10,    /* an empty unreadable file or folder over it; text: host path, for the note */
  PRISM_LAUNCH_SEAL = 11,    /* the mount at target turns read-only */
};

/* Step flags. */
#define PRISM_LAUNCH_RO (1u << 0)
#define PRISM_LAUNCH_OPTIONAL (1u << 1)   /* BIND: no such source, no step. HIDE: no such target, a note */
#define PRISM_LAUNCH_PARENTS (1u << 2)    /* make what is missing on the way, mount point included */
#define PRISM_LAUNCH_NOEXEC (1u << 3)
#define PRISM_LAUNCH_BY_KEEPER (1u << 4)  /* BIND: prepared outside, with IDMAP or COPY */
#define PRISM_LAUNCH_IDMAP (1u << 5)      /* BIND by the keeper: the owner's ids of the source become uid and gid */
#define PRISM_LAUNCH_COPY (1u << 6)       /* BIND: a disposable copy of at most `bytes` */
#define PRISM_LAUNCH_NOFOLLOW (1u << 7)   /* BIND: the source's last component is no link */
#define PRISM_LAUNCH_INSIDE (1u << 8)     /* BIND: text is a path inside, shown a second time */
#define PRISM_LAUNCH_STEP_FLAGS 0x000001ffu

/* MESSAGES on the keeper's socket, one after another in packets of at most
 * PRISM_LAUNCH_MAX_MESSAGE bytes: u8 type, then
 *   NOTE    str key, str text        evidence: what was done, or not and why
 *   READY   u32 facts                the inner half is about to become the agent: what it
 *                                    found true of itself, by trying
 *   FAILED  u32 step, i32 errno, str what (a path, a file, a call)
 *   TEMPLATE                         to the launcher that stays: two descriptors beside it,
 *                                    the user namespace and the mount namespace
 *   ENDED   i32 wait status of the inner half, u32 groups that could not be removed
 *   ANSWER  u8 to which, u32 errno (0 = done), u64 value
 * and from the host, each answered but END:
 *   END                              kill, reap, remove, ENDED, exit; the socket's EOF says
 *                                    the same until DEPOSIT was taken
 *   DEPOSIT u64 ms until all ends, str path of a folder of its own; three descriptors: a
 *                                    listening SOCK_SEQPACKET, whose name is
 *                                    PRISM_LAUNCH_SOCKET in it, the folder, which is locked,
 *                                    and what a later host is handed (only with the plan's
 *                                    DETACHED). Folder and socket are removed at the end;
 *                                    while the lock is held there is a keeper
 *   CALL                             is not sent: a connection to that socket is one, and is
 *                                    answered first; EBUSY while another host is connected
 *   CONNECT                          the first word of a later host; one descriptor, the
 *                                    agent's end of the new control socket. The answer's
 *                                    value is the ms that are left, with what was deposited
 *                                    beside it
 *   FREEZE  str folder               that of one of the plan's groups (v2), or of a group of
 *                                    the v1 freezer that is made then; THAW
 */
#define PRISM_LAUNCH_MAX_MESSAGE 8192u
#define PRISM_LAUNCH_SOCKET "socket"

enum prism_launch_message
{
  PRISM_LAUNCH_NOTE = 1,
  PRISM_LAUNCH_READY = 2,
  PRISM_LAUNCH_FAILED = 3,
  PRISM_LAUNCH_ENDED = 4,
  PRISM_LAUNCH_TEMPLATE = 5,
  PRISM_LAUNCH_ANSWER = 6,
  PRISM_LAUNCH_END = 64,
  PRISM_LAUNCH_DEPOSIT = 65,
  PRISM_LAUNCH_CONNECT = 66,
  PRISM_LAUNCH_FREEZE = 67,
  PRISM_LAUNCH_THAW = 68,
  PRISM_LAUNCH_CALL = 69,
};

/* READY's facts: each was tried after everything was given away, with what the
 * sandbox's commands have. What is not proved is not set. */
#define PRISM_LAUNCH_FACT_ROOT (1u << 0)       /* another root than the keeper's, not writable, nor /usr, /etc */
#define PRISM_LAUNCH_FACT_PID (1u << 1)        /* a pid namespace and its own /proc: pid 1 is the agent */
#define PRISM_LAUNCH_FACT_NET (1u << 2)        /* a network namespace with loopback and no other interface */
#define PRISM_LAUNCH_FACT_FAMILIES (1u << 3)   /* no AF_VSOCK, which no network namespace holds back */
#define PRISM_LAUNCH_FACT_NO_UNIX (1u << 4)    /* no new unix sockets */
#define PRISM_LAUNCH_FACT_USER (1u << 5)       /* a user namespace that maps one id, and not to root */
#define PRISM_LAUNCH_FACT_CAPS (1u << 6)       /* no capability, in any set */
#define PRISM_LAUNCH_FACT_NNP (1u << 7)        /* no_new_privs */
#define PRISM_LAUNCH_FACT_SECCOMP (1u << 8)    /* a filter, and it refuses what it is for */
#define PRISM_LAUNCH_FACT_NO_USERNS (1u << 9)  /* no user namespace of a command's own */
#define PRISM_LAUNCH_FACT_IPC (1u << 10)       /* an IPC namespace */
#define PRISM_LAUNCH_FACT_UNDUMPABLE (1u << 11) /* the agent cannot be traced or read */
#define PRISM_LAUNCH_FACT_SCOPED (1u << 12)    /* Landlock holds signals and abstract sockets back */

/* Where a start fails. */
enum prism_launch_stage
{
  PRISM_LAUNCH_STAGE_PLAN = 1,
  PRISM_LAUNCH_STAGE_KEEPER = 2,
  PRISM_LAUNCH_STAGE_GROUP = 3,     /* making or filling a control group */
  PRISM_LAUNCH_STAGE_CLONE = 4,     /* entering the namespaces */
  PRISM_LAUNCH_STAGE_MAP = 5,       /* the user namespace's id map */
  PRISM_LAUNCH_STAGE_IDMAP = 6,     /* an idmapped mount */
  PRISM_LAUNCH_STAGE_OVERLAY = 7,
  PRISM_LAUNCH_STAGE_COPY = 8,
  PRISM_LAUNCH_STAGE_ROOT = 9,      /* the new root's own tmpfs */
  PRISM_LAUNCH_STAGE_SOURCE = 10,   /* opening what is to be shown */
  PRISM_LAUNCH_STAGE_TARGET = 11,   /* opening or making where it is to be seen */
  PRISM_LAUNCH_STAGE_MOUNT = 12,
  PRISM_LAUNCH_STAGE_PROTECT = 13,  /* a path to protect that is not there */
  PRISM_LAUNCH_STAGE_PROC = 14,
  PRISM_LAUNCH_STAGE_DEVICE = 15,
  PRISM_LAUNCH_STAGE_PIVOT = 16,
  PRISM_LAUNCH_STAGE_NET = 17,
  PRISM_LAUNCH_STAGE_LIMIT = 18,
  PRISM_LAUNCH_STAGE_CAPS = 19,
  PRISM_LAUNCH_STAGE_SECCOMP = 20,
  PRISM_LAUNCH_STAGE_SPACE = 21,    /* a copy did not fit its bound */
};
