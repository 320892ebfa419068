/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the attacks share. An attack is a function that tries one thing that a
 * sandbox must not allow and says so only if it got away with it: escaped()
 * never returns, returning means contained. One program holds them all; it is
 * static, so that it needs nothing of the place where it runs.
 *
 * The place is baited by stage.c: the names, numbers and ports of the host's
 * things come in MALICE_… variables, their contents start with BAIT: and are
 * random, so an attack cannot claim to have read what it has not. */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#define BAIT "BAIT:"

enum malice_verdict
{
  MALICE_ESCAPED = 0,
  MALICE_CONTAINED = 1,
  MALICE_BROKEN = 2,
};

/* What an attack needs of the one who runs it. */
enum malice_needs
{
  MALICE_PLAIN = 0,
  MALICE_PTY = 1 << 0,           /* a pseudo-terminal */
  MALICE_LIMITED = 1 << 1,       /* the small limits of stage.h */
  MALICE_COPY = 1 << 2,          /* workspace=copy */
  MALICE_READONLY = 1 << 3,      /* workspace=readonly */
  MALICE_DEADLY = 1 << 4,        /* it may end itself, or be ended, by a signal */
  MALICE_LINGER = 1 << 5,        /* leaves processes behind: who runs it looks for them */
  MALICE_REAL_ROOT = 1 << 6,     /* its proof outside needs the host's own root */
  MALICE_TIMEOUT = 1 << 7,       /* never ends by itself: the timeout is the test */
  MALICE_MEMORY = 1 << 8,        /* contained by the memory limit, where that is enforced */
  MALICE_WATCHED = 1 << 9,       /* only the host can see success: after_check() in the runner decides */
  MALICE_USER_PROOF = 1 << 10,   /* its proof outside is as an ordinary user */
  MALICE_HOST_NETWORK = 1 << 11, /* its proof outside only looks, at the host's own network */
  MALICE_USERNS_PROOF = 1 << 12, /* its proof outside is as root of a user namespace */
};

_Noreturn void escaped (const char *format, ...) __attribute__ ((format (printf, 1, 2)));
_Noreturn void broken (const char *format, ...) __attribute__ ((format (printf, 1, 2)));

/* MALICE_NAME, or broken(). */
const char *given (const char *name);
long long given_number (const char *name);
/* The same, but NULL or a fallback when the stage has no such thing. */
const char *maybe_given (const char *name);
long long maybe_number (const char *name, long long fallback);

/* escaped() when these bytes, or that file, hold bait. */
void look_for_bait (const char *what, const void *bytes, size_t size);
void try_to_read (const char *path);
/* escaped() when this descriptor answers with bait within two seconds. */
void listen_for_bait (const char *what, int fd);
/* Runs one try in a child, so that a fatal signal ends only the child: its
 * verdict, or CONTAINED when a signal ended it. */
int in_child (void (*attempt) (void));
/* As in_child(), and goes on with an escape. */
void try_in_child (void (*attempt) (void));
/* A fresh name in the workspace; free() it. */
char *workspace_path (const char *leaf);

/* Every attack's function. */
#define ATTACK(name, needs, claim) void attack_##name (void);
#include "attacks.def"
#undef ATTACK
