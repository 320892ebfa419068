#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Programs that watch themselves: AddressSanitizer finds its bug, LeakSanitizer
# (which needs ptrace) its leak, and a clean program passes.
# shellcheck source-path=SCRIPTDIR source=setup.sh
. "$(dirname "$0")/setup.sh"
printf '#include <stdlib.h>\nint main (int c, char **v) { char *p = malloc (8); if (c > 1 && v[1][0] == 98) return p[8]; if (c > 1) { p = 0; return 0; } free (p); return 0; }\n' >program.c
gcc -g -fsanitize=address,undefined -o program program.c
./program
if ./program bug 2>report; then exit 1; fi
grep -q heap-buffer-overflow report
if ./program leak 2>report; then exit 1; fi
grep -q 'detected memory leaks' report
