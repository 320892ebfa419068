/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The smallest program that ends well: what it takes is what starting takes.
 * No C library: built with -nostdlib -static. */
__attribute__ ((noreturn)) void _start (void);

void
_start (void)
{
#if defined(__x86_64__)
  __asm__ volatile("mov $231, %%eax; xor %%edi, %%edi; syscall" ::: "memory");
#elif defined(__aarch64__)
  __asm__ volatile("mov x8, #94; mov x0, #0; svc #0" ::: "memory");
#else
#error "no exit for this machine yet"
#endif
  __builtin_unreachable ();
}
