# SPDX-License-Identifier: LGPL-2.1-or-later
"""TAP for functions: the smallest thing that meson reads."""
import sys
import traceback


def run(tests):
    print('1..%d' % len(tests))
    failed = 0
    for number, test in enumerate(tests, 1):
        try:
            test()
            print('ok %d %s' % (number, test.__name__), flush=True)
        except Exception:
            failed += 1
            for line in traceback.format_exc().splitlines():
                print('# ' + line)
            print('not ok %d %s' % (number, test.__name__), flush=True)
    sys.exit(1 if failed else 0)
