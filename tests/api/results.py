# SPDX-License-Identifier: LGPL-2.1-or-later
"""What ./dev test says at its end: who has but that knows what failed and why."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.environ['PRISM_SOURCE_ROOT'], 'tests', 'lib'))
import taptest  # noqa: E402

PROGRAM = os.path.join(os.environ['PRISM_SOURCE_ROOT'], 'tests', 'lib', 'count-results')
FAILING = """
import os, sys, unittest
sys.path.insert(0, os.path.dirname(sys.argv.pop(1)))
import taptest
class Broken(unittest.TestCase):
    def test_good(self): pass
    def test_bad(self):
        print('to stderr', file=sys.stderr)
        self.assertEqual('this', 'that', 'the reason')
taptest.main()
"""


class Results(unittest.TestCase):
    def count(self, *results, status=1, ci=''):
        """(exit status, lines) for one log of these results."""
        folder = self.enterContext(tempfile.TemporaryDirectory())
        with open(os.path.join(folder, 'log.json'), 'w', encoding='utf-8') as out:
            for result in results:
                out.write(json.dumps({'name': 'here', 'result': 'ERROR', 'returncode': 1, 'duration': 1.5, **result}) + '\n')
        done = subprocess.run([PROGRAM, str(status), os.path.join(folder, 'log')], stdout=subprocess.PIPE, text=True, check=False,
                              env={**os.environ, 'CI': ci})
        return done.returncode, done.stdout.splitlines()

    def test_real(self):
        """A test that fails, run: its line, its traceback, and what it wrote to stderr, before the last line."""
        done = subprocess.run([sys.executable, '-c', FAILING, os.path.join(os.path.dirname(PROGRAM), 'x')], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        status, lines = self.count({'stdout': done.stdout, 'stderr': done.stderr})
        self.assertEqual((status, lines[0], lines[-1]), (1, 'failed: here Broken.test_bad', '1 passed, 1 failed'))
        self.assertIn('    (log, error, exit status 1, 1.5 s)', lines)
        self.assertTrue(any('the reason' in line for line in lines), lines)
        self.assertEqual(lines[-3:-1], ['    stderr:', '    to stderr'])

    def test_each_its_own(self):
        """A reason is of the case that it stands before; an indented block and a bail-out, of the one before them."""
        told = '1..4\n# of one\nok 1 one\n# of two\nnot ok 2 - two\n  ---\n  of: two\n  ...\nBail out! two\n# of three\nok 3 three\n# of four\nnot ok 4 four\n'
        _, lines = self.count({'stdout': told})
        self.assertEqual(lines, [
            'failed: here two', '    (log, error, exit status 1, 1.5 s)', '    # of two', '    not ok 2 - two', '      ---', '      of: two', '      ...',
            '    Bail out! two', 'failed: here four', '    (log, error, exit status 1, 1.5 s)', '    # of four', '    not ok 4 four', '2 passed, 2 failed'])

    def test_no_case(self):
        """One that crashed or was late, after a good case or none."""
        _, lines = self.count({'stdout': 'ok 1 one\n# at work\n', 'returncode': -11, 'stderr': 'last word\n'}, {'name': 'late', 'result': 'TIMEOUT', 'returncode': -15})
        self.assertEqual(lines, ['failed: here error', '    (log, error, signal 11, 1.5 s)', '    # at work', '    stderr:', '    last word',
                                 'failed: late', '    (log, timeout, signal 15, 1.5 s)', '1 passed, 2 failed'])

    def test_bounds(self):
        """Nobody's output fills the log, or steers the terminal; of a sanitizer's, the beginning tells."""
        many = [f'line {number}' for number in range(1000)]
        _, lines = self.count({'stderr': '\n'.join(many + ['\x1b[2J' + 'x' * 5000])})
        self.assertLess(len(lines), 60)
        self.assertTrue(lines[-2].startswith('    \\x1b[2Jxxx') and len(lines[-2]) < 400)
        _, lines = self.count({'stderr': '\n'.join(['==12==ERROR: AddressSanitizer: heap-use-after-free'] + many)})
        self.assertIn('    ==12==ERROR: AddressSanitizer: heap-use-after-free', lines)
        _, lines = self.count(*[{'stdout': '\n'.join('# ' + line for line in many) + '\nnot ok 1 x'}] * 300)
        self.assertLess(len(lines), 3000)
        self.assertEqual(lines[-1], '0 passed, 300 failed')

    def test_good(self):
        """All is well: one line. A skipped case fails CI, unless the kernel lacks what it is about."""
        good = {'result': 'OK', 'returncode': 0}
        self.assertEqual(self.count({'stdout': 'ok 1 x\n', **good}, {'stdout': '', **good}, status=0, ci='1'), (0, ['2 passed, 0 failed']))
        self.assertEqual(self.count({'stdout': 'ok 1 x\nok 2 y # SKIP why\n', **good}, status=0), (0, ['skipped: here y', '1 passed, 0 failed']))
        self.assertEqual(self.count({'stdout': 'ok 1 x\nok 2 y # SKIP why\n', **good}, status=0, ci='1')[0], 1)
        self.assertEqual(self.count({'stdout': 'ok 1 x\nok 2 y # SKIP a kernel without it\n', **good}, status=0, ci='1')[0], 0)
        self.assertEqual(self.count(status=0)[0], 1)


taptest.main()
