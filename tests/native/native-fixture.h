/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A folder of the host's that is the workspace, and what is asked of a sandbox on it. */
#pragma once

#include "native-client.h"

G_BEGIN_DECLS

typedef struct
{
  char *folder;
  PrismNativeAsked asked;
} NativeFixture;

typedef void (*NativeTest) (NativeFixture *fixture, gconstpointer data);

/* Once more begun early, and as root by the launcher that stays. */
void native_add_test (const char *path, NativeTest test);
/* For one that starts its launcher itself. */
void native_add_plain_test (const char *path, NativeTest test);
/* The script exits 0 and says exactly that, trailing white space aside. */
void native_assert_sh (NativeClient *client, const char *script, const char *expected);
void native_assert_fails (NativeClient *client, const char *script);

G_END_DECLS
