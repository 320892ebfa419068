#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Where there is no resolver, a look-up says so at once: not after its retries of 5 s.
# shellcheck source-path=SCRIPTDIR source=setup.sh
. "$(dirname "$0")/setup.sh"
status=0
timeout 4 getent hosts secret.evil.test || status=$?
[ "$status" = 2 ] # not found; 124 would be: still asking
timeout 9 python3 - <<'EOF'
import socket
import time

for name in ('secret.evil.test', 'localhost.evil.test'):
    begun = time.monotonic()
    try:
        raise SystemExit(f'{name} has the address {socket.getaddrinfo(name, 80)}')
    except socket.gaierror:
        pass
    if time.monotonic() - begun > 4:
        raise SystemExit(f'{name} took {time.monotonic() - begun} s')
EOF
