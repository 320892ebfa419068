#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A repository from nothing: commit, branch, merge, worktree, diff, status.
# shellcheck source-path=SCRIPTDIR source=setup.sh
. "$(dirname "$0")/setup.sh"
git init -q -b main repository
cd repository
git config user.name Prism
git config user.email prism@example.org
printf 'one\ntwo\n' >file
git add file
git commit -qm 'First'
git switch -qc topic
echo three >>file
[ "$(git diff --stat | tail -1)" = ' 1 file changed, 1 insertion(+)' ]
git commit -qam 'Second'
git switch -q main
git merge -q --ff-only topic
git worktree add -q ../tree topic
(cd ../tree && echo four >>file && git commit -qam 'Third' && [ -z "$(git status --porcelain)" ])
[ "$(git log --oneline topic | wc -l)" = 3 ]
git stash list
git gc -q
git fsck --strict
git clone -q . ../clone
git -c core.pager=cat -C ../clone log -p --stat >/dev/null
rm ../clone/file
[ "$(git -C ../clone status --porcelain)" = ' D file' ]
