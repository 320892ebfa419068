#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What shells do: substitution, here-documents, jobs, traps, pipes, /dev.
# shellcheck source-path=SCRIPTDIR source=setup.sh
. "$(dirname "$0")/setup.sh"
[ "$(cat <(echo a) <(echo b))" = $'a\nb' ]
echo through | tee >(cat >copy) >/dev/null
for _ in $(seq 200); do [ -s copy ] && break; done
diff <(printf '1\n2\n') <(seq 2)
exec 9<>"$PWD/file"
echo x >&9
exec 9>&-
mkfifo pipe
(echo piped >pipe) &
[ "$(cat pipe)" = piped ]
wait
(trap 'exit 7' TERM; while :; do read -rt 1 _ <> <(:) || :; done) &
kill $!
wait $! && exit 1
coproc cat
echo to >&"${COPROC[1]}"
read -r back <&"${COPROC[0]}"
[ "$back" = to ]
head -c 1000 /dev/urandom | wc -c | grep -q 1000
echo lost >/dev/null
[ "$(head -c 3 /dev/zero | od -An -tx1)" = ' 00 00 00' ]
if echo x >/dev/full 2>/dev/null; then exit 1; fi
: >/dev/stdout
[ -d /dev/fd/ ] && [ -w /dev/shm ]
yes | head -1 >/dev/null || [ $? = 141 ]
ulimit -n >/dev/null
(ulimit -n 32)
seq 100000 | sort -n | tail -1 | grep -qx 100000
timeout 0.1 tail -f /dev/null && exit 1
nice -n 5 true
nohup true 2>/dev/null
setsid -w true
script -qec 'test -t 1' /dev/null </dev/null
