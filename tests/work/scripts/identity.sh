#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Who and where one is, and the environment that is promised.
# shellcheck source-path=SCRIPTDIR source=setup.sh
. "$(dirname "$0")/setup.sh"
[ "$(whoami)" = prism ]
[ "$(id -un)" = prism ] && [ "$(id -gn)" = prism ]
[ "$(id -u)" = 10001 ] && [ "$(id -g)" = 10001 ]
[ "$USER" = prism ] && [ "$LOGNAME" = prism ] && [ "$HOME" = /home/prism ]
[ ~prism = /home/prism ] && [ -w "$HOME" ]
[ "$TMPDIR" = /tmp ] && [ -w /tmp ] && [ "$LANG" = C.UTF-8 ]
[ "$PATH" = /usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin ]
[ "$(getent passwd prism | cut -d: -f6)" = /home/prism ]
getent hosts localhost >/dev/null
[ -n "$(hostname)" ]
ssh -V 2>&1 | grep -q OpenSSH
ssh-keygen -q -t ed25519 -N '' -f key
[ -e /etc/alternatives ] && [ -e /etc/ssl/certs ] && [ -e /etc/ld.so.cache ]
[ "$(env | grep -cvE '^(PATH|HOME|USER|LOGNAME|TMPDIR|LANG|PWD|OLDPWD|SHLVL|_|scripts)=')" = 0 ]
ps -e >/dev/null
tty && exit 1
[ "$(stat -c %U .)" = prism ]
touch new && [ "$(stat -c %u new)" = 10001 ]
