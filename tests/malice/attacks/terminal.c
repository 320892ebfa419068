/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The terminal: pushing input into it, taking the console, finding the host's. */
#include "../malice.h"

#include <sys/ioctl.h>

static const unsigned long high_bits[] = { 0, 0x100000000ul, 0x8000000000000000ul, 0xffffffff00000000ul };

void
attack_push_input (void)
{
  int tty = open ("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
  const int fds[] = { 0, 1, 2, tty };
  for (int i = 0; i < 4; i++)
    for (size_t h = 0; h < sizeof high_bits / sizeof *high_bits; h++)
      if (syscall (SYS_ioctl, fds[i], high_bits[h] | TIOCSTI, "x") == 0)
        escaped ("TIOCSTI, high bits %lx, on descriptor %d", high_bits[h], fds[i]);
}

void
attack_console_ioctls (void)
{
  /* TIOCSETD to N_NULL (27): every line discipline is kernel code that hardly anybody tests. */
  int discipline = 27, same = 0;
  char subcode = 6;
  for (int fd = 0; fd < 3; fd++)
    for (size_t h = 0; h < sizeof high_bits / sizeof *high_bits; h++)
      {
        if (syscall (SYS_ioctl, fd, high_bits[h] | TIOCLINUX, &subcode) >= 0)
          escaped ("TIOCLINUX on descriptor %d", fd);
        if (syscall (SYS_ioctl, fd, high_bits[h] | TIOCSETD, &discipline) == 0)
          {
            ioctl (fd, TIOCSETD, &same);
            escaped ("TIOCSETD on descriptor %d", fd);
          }
      }
  if (ioctl (0, TIOCCONS) == 0)
    escaped ("TIOCCONS");
}

void
attack_host_terminal (void)
{
  char path[64];
  if (open ("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC) >= 0)
    escaped ("/dev/tty opened: a controlling terminal was inherited");
  for (int i = 0; i < 64; i++)
    {
      snprintf (path, sizeof path, "/dev/pts/%d", i);
      if (open (path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC) >= 0)
        escaped ("%s opened", path);
    }
}
