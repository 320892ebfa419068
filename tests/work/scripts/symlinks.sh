#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Links in the workspace, and the workspace by its path on the host.
# shellcheck source-path=SCRIPTDIR source=setup.sh
. "$(dirname "$0")/setup.sh"
echo text >file
ln -s file relative
ln -s "$PWD/file" absolute
ln file hard
ln -s missing dangling
ln -s . loop
[ "$(cat relative absolute hard loop/loop/file)" = $'text\ntext\ntext\ntext' ]
if cat dangling 2>/dev/null; then exit 1; fi
mkdir folder
ln -s ../file folder/up
[ "$(cat folder/up)" = text ]
mv folder renamed
[ "$(readlink -f renamed/up)" = "$PWD/file" ]
[ "$(stat -c %h hard)" = 2 ]
[ "$(cat "$HOST_WORKSPACE/${PWD#/workspace/}/file")" = text ]
