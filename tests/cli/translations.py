# SPDX-License-Identifier: LGPL-2.1-or-later
"""Each language has every message of today, and its formats fit."""
import os
import subprocess
import tempfile
import unittest

import base
from base import SOURCE

import taptest


def lines(name):
    with open(os.path.join(SOURCE, 'po', name), encoding='utf-8') as file:
        return [line.strip() for line in file if line.strip() and not line.startswith('#')]


class Translations(unittest.TestCase):
    def test_complete(self):
        """po/*.po against the messages in the source"""
        with tempfile.TemporaryDirectory() as folder:
            pot = os.path.join(folder, 'libprism.pot')
            subprocess.run(['xgettext', '--from-code=UTF-8', '--keyword=_', '--keyword=N_', '-o', pot, *lines('POTFILES.in')],
                           cwd=SOURCE, check=True, timeout=base.DEADLINE)
            for language in lines('LINGUAS'):
                with self.subTest(language):
                    po = os.path.join(SOURCE, 'po', language + '.po')
                    for command in (['msgfmt', '--check', '-o', os.devnull, po], ['msgcmp', po, pot]):
                        done = subprocess.run(command, capture_output=True, text=True, timeout=base.DEADLINE)
                        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == '__main__':
    taptest.main()
