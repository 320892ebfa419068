# SPDX-License-Identifier: LGPL-2.1-or-later
"""The same program in each language says the same, with what is installed."""
import os
import subprocess
import tempfile
import unittest

import taptest

HERE = os.environ['PRISM_SOURCE_ROOT']
COMMAND = ['sh', '-c', 'echo hi; ! touch x 2>/dev/null; exit 3']


class Examples(unittest.TestCase):
    def says(self, *argv):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([*argv, folder, '--', *COMMAND], capture_output=True, text=True, timeout=60)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, 'hi\nexit code 3, network isolated: yes\n', ''))
            done = subprocess.run([*argv, folder, '--', 'no-such-command'], capture_output=True, text=True, timeout=60)
            self.assertEqual((done.returncode, done.stdout), (1, ''))
            self.assertIn('no-such-command', done.stderr)

    def test_c(self):
        """in C"""
        self.says(f'{HERE}/run-c')

    def test_vala(self):
        """in Vala"""
        self.says(f'{HERE}/run-vala')

    def test_python(self):
        """in Python"""
        self.says('/usr/bin/python3', f'{HERE}/run.py')

    def test_gjs(self):
        """in JavaScript"""
        self.says('gjs', f'{HERE}/run.js')


if __name__ == '__main__':
    taptest.main()
