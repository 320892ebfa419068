#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# gcc and make of a small project: a library, a program, a parallel make, and what
# was built runs.
# shellcheck source-path=SCRIPTDIR source=setup.sh
. "$(dirname "$0")/setup.sh"
printf 'int answer (void);\n' >answer.h
printf '#include "answer.h"\nint answer (void) { return 42; }\n' >answer.c
printf '#include "answer.h"\n#include <stdio.h>\nint main (void) { printf ("%%d\\n", answer ()); return 0; }\n' >main.c
cat >Makefile <<'MAKE'
all: program shared
program: main.o libanswer.a
	$(CC) -o $@ main.o libanswer.a
libanswer.a: answer.o
	ar rcs $@ $^
shared: main.c answer.c
	$(CC) -shared -fPIC -o libanswer.so answer.c
	$(CC) -o $@ main.c -L. -l:libanswer.so -Wl,-rpath,'$$ORIGIN'
MAKE
make -j4 -s
[ "$(./program)" = 42 ]
[ "$(./shared)" = 42 ]
cp program "$HOME/program"
[ "$("$HOME/program")" = 42 ]
cp program /tmp/program
[ "$(/tmp/program)" = 42 ]
gcc -pipe -flto -O2 -o fast main.c answer.c
[ "$(./fast)" = 42 ]
make -s -q
