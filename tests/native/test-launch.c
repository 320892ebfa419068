/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A confined sandbox from the translator's plan, looked at from inside. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "native-fixture.h"

static void
test_identity (NativeFixture *f, gconstpointer data)
{
  g_autoptr (NativeClient) client = native_client_new (&f->asked);

  native_assert_sh (client, "id -u; id -g; id -un; hostname; pwd; echo $HOME",
                    "10001\n10001\nprism\nprism\n/workspace\n/home/prism");
  native_assert_sh (client,
                    "grep -E '^(Cap(Eff|Prm|Inh|Bnd|Amb)|NoNewPrivs|Seccomp):' /proc/self/status | tr -d ' \\t'",
                    "CapInh:0000000000000000\nCapPrm:0000000000000000\nCapEff:0000000000000000\n"
                    "CapBnd:0000000000000000\nCapAmb:0000000000000000\nNoNewPrivs:1\nSeccomp:2");
  native_assert_sh (client, "tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '", "lo");
  native_assert_sh (client, "cat /proc/sys/user/max_user_namespaces", "0");
  native_assert_fails (client, "unshare -Ur true");
}

static void
test_tree (NativeFixture *f, gconstpointer data)
{
  static const char *const refused[] = { "echo x >/usr/x", "echo x >/etc/x", "echo x >/x", "mkdir /home/y",
                                         "cat /etc/shadow" };
  g_autofree char *file = g_build_filename (f->folder, "file", NULL);
  g_autofree char *made = g_build_filename (f->folder, "made", NULL);
  g_autofree char *script = g_strdup_printf ("cat %s/file", f->folder);
  g_autofree char *text = NULL;
  g_autoptr (NativeClient) client = NULL;
  struct stat info;

  g_assert_true (g_file_set_contents (file, "hello", -1, NULL));
  client = native_client_new (&f->asked);
  native_assert_sh (client, "cat /workspace/file", "hello");
  native_assert_sh (client, script, "hello");
  native_assert_sh (client,
                    "echo made >made; echo $((6*7)) >/tmp/x; cat /tmp/x; echo y >/dev/shm/y; echo z >~/z; echo >/run/r",
                    "42");
  g_assert_true (g_file_get_contents (made, &text, NULL, NULL));
  g_assert_cmpstr (text, ==, "made\n");
  g_assert_cmpint (stat (made, &info), ==, 0);
  g_assert_cmpuint (info.st_uid, ==, geteuid ());
  for (guint i = 0; i < G_N_ELEMENTS (refused); i++)
    native_assert_fails (client, refused[i]);
  native_assert_sh (client, "ls -A / | grep -v -e usr -e bin -e lib -e opt | tr '\\n' ' '",
                    "dev etc home proc run tmp var workspace");
}

static void
test_devices (NativeFixture *f, gconstpointer data)
{
  g_autoptr (NativeClient) client = native_client_new (&f->asked);

  native_assert_sh (client,
                    "head -c 3 /dev/zero | tr '\\0' z; echo x >/dev/null; head -c 4 /dev/urandom | wc -c; "
                    "echo q | cat /dev/stdin",
                    "zzz4\nq");
  native_assert_sh (client, "ls /dev | tr '\\n' ' '",
                    "fd full null ptmx pts random shm stderr stdin stdout tty urandom zero");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  native_add_test ("/native/launch/identity", test_identity);
  native_add_test ("/native/launch/tree", test_tree);
  native_add_test ("/native/launch/devices", test_devices);
  return g_test_run ();
}
