# SPDX-License-Identifier: LGPL-2.1-or-later
"""--export: the workspace's copy comes out."""
import hashlib
import os
import re
import tarfile

import base

import taptest


class Trees(base.Case):
    def test_export(self):
        """--export writes the copy out, whole, and says what it is"""
        self.write('kept', b'kept')
        done = self.run_prism('run', '--workspace-mode', 'copy', '--export', 'out.tar', '--', 'sh', '-c', 'echo new > new; exit 7')
        self.assertEqual(done.returncode, 7, done)
        found = re.search(rb'exported out.tar: sha256 ([0-9a-f]{64}), (\d+) entries, (\d+) bytes', done.stderr)
        self.assertTrue(found, done)
        data = self.read('out.tar')
        self.assertEqual(hashlib.sha256(data).hexdigest().encode(), found.group(1))
        with tarfile.open(os.path.join(self.folder, 'out.tar')) as archive:
            self.assertEqual({n.lstrip('./') for n in archive.getnames()} - {''}, {'kept', 'new'})
        self.assertEqual(sorted(os.listdir(self.folder)), ['kept', 'out.tar'])


if __name__ == '__main__':
    taptest.main()
