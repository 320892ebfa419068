#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# awk, sed, tar, find, xargs and their kin.
# shellcheck source-path=SCRIPTDIR source=setup.sh
. "$(dirname "$0")/setup.sh"
mkdir -p tree/sub
for n in 1 2 3; do echo "line $n" >"tree/sub/file $n"; done
ln -s 'sub/file 1' tree/link
[ "$(find tree -type f -print0 | xargs -0 -P 3 -n 1 cat | awk '{ sum += $2 } END { print sum }')" = 6 ]
sed -i 's/line/row/' tree/sub/*
grep -rq 'row 2' tree
tar czf tree.tar.gz tree
mkdir out
tar xzf tree.tar.gz -C out
diff -r tree out/tree
[ "$(readlink out/tree/link)" = 'sub/file 1' ]
cp -a tree copy
mv copy moved
rm -r moved
touch -d '2001-02-03' tree/link
chmod 600 tree/sub/*
chmod -R u+rwX,go-w tree
install -m 755 /bin/true installed
stat -c %a installed | grep -qx 755
[ "$(printf 'b\na\n' | sort | tr '\n' ,)" = a,b, ]
sha256sum tree.tar.gz | cut -c 1-64 | grep -qE '^[0-9a-f]{64}$'
[ "$(date -u -d @0 +%Y)" = 1970 ]
[ "$(printf 'Grüße' | wc -m)" = 5 ]
locale -a | grep -qiE '^C\.utf-?8$'
df . >/dev/null
du -s tree >/dev/null
patch --version >/dev/null || command -v patch >/dev/null || true
mktemp >/dev/null
mktemp -d >/dev/null
