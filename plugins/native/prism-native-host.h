/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is known of the machine. Of the C library alone, as all of it is that begins a
 * sandbox: a program may do that before it has loaded GLib. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The id of the host that root's sandboxes run as: nothing there belongs to it. */
#define PRISM_NATIVE_ROOT_MAPS_TO 10001

/* A piece of the host's system that every confined sandbox has: shown read-only
 * (text NULL), or made anew as a link or as a small file. */
typedef enum
{
  PRISM_NATIVE_PIECE_SHOWN,
  PRISM_NATIVE_PIECE_SHOWN_FILE,
  PRISM_NATIVE_PIECE_LINK,
  PRISM_NATIVE_PIECE_CONTENT,
} PrismNativePieceKind;

typedef struct
{
  PrismNativePieceKind kind;
  const char *path; /* absolute */
  const char *text;
} PrismNativePiece;

/* What the plan needs to know of the machine. */
typedef struct
{
  bool root;
  uint32_t uid, gid;              /* who 10001 is outside */
  const PrismNativePiece *pieces; /* parents first */
  unsigned n_pieces;
} PrismNativeHost;

/* Looked up once in a process, and never freed. */
const PrismNativeHost *prism_native_host_get (void);
/* Whether whoever calls is still the user that it was looked up for. */
bool prism_native_host_is_callers (const PrismNativeHost *self);

/* As that, for what begins a sandbox: by itself, and into memory of its own. */
const PrismNativeHost *prism_native_host_look_up (void);
