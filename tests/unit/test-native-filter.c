/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The filter is compiled three times: as a whole, and as two parts, of which the
 * launcher that stays has the first and each sandbox loads the second. Both together
 * must say what the whole says, for every call and whatever its arguments. */
#include <errno.h>
#include <glib.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/syscall.h>

#include "launch-filter.h"

#ifdef __aarch64__
#define NATIVE AUDIT_ARCH_AARCH64
#else
#define NATIVE AUDIT_ARCH_X86_64
#endif
#define FOREIGN AUDIT_ARCH_I386

/* Only what the compiler uses. */
static guint32
run (const struct sock_filter *filter, gsize n, const struct seccomp_data *data)
{
  guint32 words[sizeof *data / 4], a = 0;

  memcpy (words, data, sizeof words);
  for (gsize at = 0; at < n; at++)
    {
      const struct sock_filter *i = &filter[at];
      gboolean yes = FALSE;
      switch (i->code)
        {
        case BPF_LD | BPF_W | BPF_ABS:
          g_assert_cmpuint (i->k, <, sizeof words);
          a = words[i->k / 4];
          continue;
        case BPF_RET | BPF_K:
          return i->k;
        case BPF_JMP | BPF_JEQ | BPF_K:
          yes = a == i->k;
          break;
        case BPF_JMP | BPF_JGE | BPF_K:
          yes = a >= i->k;
          break;
        case BPF_JMP | BPF_JSET | BPF_K:
          yes = (a & i->k) != 0;
          break;
        default:
          g_assert_not_reached ();
        }
      at += yes ? i->jt : i->jf;
    }
  g_assert_not_reached ();
}

#define RUN(filter, data) run (filter, G_N_ELEMENTS (filter), data)

static void
compare (const struct seccomp_data *data)
{
  guint32 whole = RUN (launch_filter, data), early = RUN (launch_filter_early, data),
          late = RUN (launch_filter_late, data);
  /* Of two refusals the kernel takes the one that was loaded last. */
  guint32 both = late != SECCOMP_RET_ALLOW ? late : early;

  if (both != whole)
    g_error ("call %d of %x: %x, but in two parts %x (%x, %x)", data->nr, data->arch, whole, both, early, late);
}

/* Every constant that a rule of the filter is about, and its neighbours. */
static GArray *
collect_values (void)
{
  GArray *values = g_array_new (FALSE, FALSE, sizeof (guint32));

  for (gsize i = 0; i < G_N_ELEMENTS (launch_filter); i++)
    if (BPF_CLASS (launch_filter[i].code) == BPF_JMP && launch_filter[i].code != (BPF_JMP | BPF_JGE | BPF_K))
      for (int d = -1; d <= 1; d++)
        {
          guint32 value = launch_filter[i].k + (guint32)d;
          g_array_append_val (values, value);
        }
  return values;
}

static void
test_parts (void)
{
  g_autoptr (GArray) values = collect_values ();
  const guint32 *value = (const guint32 *)(gconstpointer)values->data;
  const int odd[] = { 0x40000000, 0x40000001, 0x40000200, -1, G_MAXINT };

  for (int i = 0; i < 1024 + (int)G_N_ELEMENTS (odd); i++)
    for (guint k = 0; k < 2000; k++)
      {
        struct seccomp_data data = { .nr = i < 1024 ? i : odd[i - 1024], .arch = k % 50 == 0 ? FOREIGN : NATIVE };
        for (guint arg = 0; arg < G_N_ELEMENTS (data.args); arg++)
          data.args[arg] = value[g_test_rand_int_range (0, (gint32)values->len)]
                           | (g_test_rand_bit () ? (guint64)g_test_rand_int_range (0, 3) << 32 : 0);
        compare (&data);
      }
}

/* That the parts are not the same by both allowing everything. */
static void
test_refusals (void)
{
  static const struct
  {
    int number;
    guint64 first;
    guint32 early, late;
  } cases[] = {
    { SYS_read, 0, SECCOMP_RET_ALLOW, SECCOMP_RET_ALLOW },
    { SYS_keyctl, 0, SECCOMP_RET_ERRNO | EPERM, SECCOMP_RET_ALLOW },
    { SYS_mount, 0, SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO | EPERM },
    { SYS_setns, 0, SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO | EPERM },
    { SYS_clone, 0x10000000, SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO | EPERM },
    { SYS_clone, 17, SECCOMP_RET_ALLOW, SECCOMP_RET_ALLOW },
    { SYS_socket, 40, SECCOMP_RET_ERRNO | EAFNOSUPPORT, SECCOMP_RET_ALLOW },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      const struct seccomp_data data = { .nr = cases[i].number, .arch = NATIVE, .args = { cases[i].first } };
      g_assert_cmphex (RUN (launch_filter_early, &data), ==, cases[i].early);
      g_assert_cmphex (RUN (launch_filter_late, &data), ==, cases[i].late);
      compare (&data);
    }
}

/* A socket of the host's in a network-only sandbox. */
static void
test_variant (void)
{
  struct seccomp_data data = { .nr = SYS_socket, .arch = NATIVE, .args = { 1 } };

  g_assert_cmphex (RUN (launch_filter, &data), ==, SECCOMP_RET_ALLOW);
  g_assert_cmphex (RUN (launch_filter_no_unix, &data), ==, SECCOMP_RET_ERRNO | EAFNOSUPPORT);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/native/filter/parts", test_parts);
  g_test_add_func ("/native/filter/refusals", test_refusals);
  g_test_add_func ("/native/filter/variant", test_variant);
  return g_test_run ();
}
