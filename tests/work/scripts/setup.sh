# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# Every script starts here: the first thing that fails is named.
set -euo pipefail
trap 'echo "line $LINENO: $BASH_COMMAND" >&2' ERR
scripts=$(dirname "$(realpath "$0")")
export scripts
rm -rf "here-$(basename "$0" .sh)"
mkdir "here-$(basename "$0" .sh)"
cd "here-$(basename "$0" .sh)"
