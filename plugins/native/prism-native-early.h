/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The parts of a plan that are known before what is asked for is: its head, and the steps
 * that every confined sandbox begins with. Pure, and of the C library alone. */
#pragma once

#include "prism-launch.h"
#include "prism-native-cgroup.h"
#include "prism-native-host.h"

/* A sandbox's name for itself. */
#define PRISM_NATIVE_HOSTNAME "prism"
/* The limit tmp-bytes where nothing is said of it. */
#define PRISM_NATIVE_USUAL_TMP_BYTES (UINT64_C (256) * 1024 * 1024)

typedef struct
{
  struct prism_wire_writer writer;
  unsigned n;
} PrismNativeSteps;

void prism_native_step (PrismNativeSteps *steps,
                        uint8_t kind,
                        uint32_t flags,
                        uint32_t mode,
                        uint64_t bytes,
                        uint64_t inodes,
                        const char *target,
                        const char *text);

/* Whether a piece is left out, since it or what it is in is to be hidden. */
typedef bool (*PrismNativeHides) (const void *data, const PrismNativePiece *piece);

/* Read-only, and the same for all sandboxes of one machine. @hides may be NULL. */
void prism_native_write_system (PrismNativeSteps *steps,
                                const PrismNativeHost *host,
                                PrismNativeHides hides,
                                const void *data);

/* What is writable and each sandbox's own; all of that together is of @tmp_bytes at most. */
void prism_native_write_own (PrismNativeSteps *steps, uint64_t tmp_bytes);

typedef struct
{
  uint32_t flags; /* but for PRISM_LAUNCH_PRIVILEGED */
  uint64_t processes, data_bytes;
  const char *hostname, *start;
} PrismNativeHead;

/* As far as the groups. */
void prism_native_write_head (struct prism_wire_writer *w, const PrismNativeHost *host, const PrismNativeHead *head);

/* The folder of a sandbox's group for a controller that has a place; of the length of both
 * and PRISM_NATIVE_GROUP_MORE. */
#define PRISM_NATIVE_GROUP_PREFIX "prism-"
#define PRISM_NATIVE_GROUP_MORE   (sizeof "/" PRISM_NATIVE_GROUP_PREFIX)
void prism_native_write_group_folder (char *folder, const char *parent, const char *id);

/* What is expected of a plan beside what all of them have. */
typedef struct
{
  uint32_t flags;
  const char *hostname;
  uint64_t tmp_bytes; /* 0: not known */
} PrismNativeEarly;

/* The steps of an early plan: they lie in its bytes. */
typedef struct
{
  uint32_t flags;
  const char *hostname;
  const uint8_t *bytes; /* NULL: there is none */
  size_t size;
  unsigned n;
} PrismNativeEarlySteps;

/* How the whole plan begins; @cgroup: for the groups that are usual, still without their
 * settings, or NULL for none. Its size, or 0 where it does not fit. */
size_t prism_native_write_early_plan (uint8_t *bytes,
                                      size_t size,
                                      const PrismNativeEarly *early,
                                      const PrismNativeHost *host,
                                      const PrismNativeCgroup *cgroup,
                                      const char *id,
                                      PrismNativeEarlySteps *steps);

/* Where a plan's steps begin with those, and all else is as it was there, it becomes the rest
 * of it: its size then. @at: where its number of steps lies. */
size_t prism_native_take_rest (uint8_t *bytes,
                               size_t size,
                               size_t at,
                               const PrismNativeHead *head,
                               const PrismNativeEarlySteps *early);
