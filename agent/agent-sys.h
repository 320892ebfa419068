/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Raw system calls and a raw clone, for code that shares the agent's memory in
 * another process (the shims and what they vfork): the C library's wrappers
 * would write its errno. They answer -errno. */
#pragma once

#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define AGENT_ASAN 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define AGENT_ASAN 1
#endif

/* On a stack that the sanitizer does not know, and after a vfork, nothing may be instrumented. */
#define AGENT_RAW __attribute__ ((no_sanitize ("address"), no_sanitize ("undefined")))

#if defined(__x86_64__)

static inline long
agent_sys (long number, long a, long b, long c, long d, long e)
{
  long result;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "0"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
                   : "rcx", "r11", "memory");
  return result;
}

/* The child runs run(data) on the stack that ends at `top` and must not return. */
static inline long
agent_clone (unsigned long flags, void *top, int *pid, void (*run) (void *), void *data)
{
  long result;
  register long r10 __asm__("r10") = 0;
  register void (*r8) (void *) __asm__("r8") = run;
  register void *r9 __asm__("r9") = data;
  __asm__ volatile("syscall\n\t"
                   "test %%rax, %%rax\n\t"
                   "jnz 1f\n\t"
                   "xor %%ebp, %%ebp\n\t"
                   "mov %%r9, %%rdi\n\t"
                   "call *%%r8\n\t"
                   "hlt\n"
                   "1:"
                   : "=a"(result)
                   : "0"((long)SYS_clone), "D"(flags), "S"(top), "d"(pid), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}

#elif defined(__aarch64__)

static inline long
agent_sys (long number, long a, long b, long c, long d, long e)
{
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  register long x4 __asm__("x4") = e;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4) : "memory", "cc");
  return x0;
}

static inline long
agent_clone (unsigned long flags, void *top, int *pid, void (*run) (void *), void *data)
{
  register long x8 __asm__("x8") = SYS_clone;
  register long x0 __asm__("x0") = (long)flags;
  register void *x1 __asm__("x1") = top;
  register int *x2 __asm__("x2") = pid;
  register long x3 __asm__("x3") = 0;
  register long x4 __asm__("x4") = 0;
  register void (*x5) (void *) __asm__("x5") = run;
  register void *x6 __asm__("x6") = data;
  __asm__ volatile("svc 0\n\t"
                   "cbnz x0, 1f\n\t"
                   "mov x29, #0\n\t"
                   "mov x0, x6\n\t"
                   "blr x5\n\t"
                   "brk #0\n"
                   "1:"
                   : "+r"(x0)
                   : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5), "r"(x6)
                   : "memory", "cc", "x30");
  return x0;
}

#else
#error "agent-sys.h: add this machine's system call and clone"
#endif
