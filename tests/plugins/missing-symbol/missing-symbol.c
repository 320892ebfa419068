/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Not a plug-in: no descriptor. */
int missing_symbol_nothing (void);

int
missing_symbol_nothing (void)
{
  return 0;
}
