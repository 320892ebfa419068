# SPDX-License-Identifier: LGPL-2.1-or-later
"""--export: the workspace's copy comes out."""
import hashlib
import os
import re
import socket
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

    def refused(self, name, words):
        done = self.run_prism('run', '--workspace-mode', 'copy', '--export', name, '--', 'echo', 'ran')
        self.assertEqual((done.returncode, done.stdout), (125, b''), done)
        self.assertIn(words, done.stderr)

    def test_refused_before(self):
        """what cannot be written is told before the command runs, not after hours of it"""
        os.mkdir(os.path.join(self.folder, 'folder'))
        os.symlink('nowhere/out.tar', os.path.join(self.folder, 'dangling'))
        for name, words in (('', b'empty'), ('no-such/out.tar', b'no-such/out.tar: No such'), ('folder', b'folder: Is a directory'),
                            ('new/', b'new/: No such'), ('dangling', b'dangling: No such'), ('/proc/out.tar', b'/proc/out.tar: ')):
            with self.subTest(name):
                self.refused(name, words)
        self.assertEqual(sorted(os.listdir(self.folder)), ['dangling', 'folder'])

    def test_no_file(self):
        """a pipe, a socket or a device is not replaced by a file: root's /dev/null would be one for everybody"""
        os.mkfifo(os.path.join(self.folder, 'pipe'))
        os.symlink('pipe', os.path.join(self.folder, 'link'))
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(os.path.join(self.folder, 'socket'))
        before = {name: os.lstat(os.path.join(self.folder, name))[:2] for name in os.listdir(self.folder)}
        for name in ('pipe', 'link', 'socket'):
            with self.subTest(name):
                self.refused(name, b'ordinary file')
        self.assertEqual({name: os.lstat(os.path.join(self.folder, name))[:2] for name in os.listdir(self.folder)}, before)

    def test_through_link(self):
        """a link stays one, and the file that it leads to is written; what was there is replaced"""
        os.mkdir(os.path.join(self.folder, 'disk'))
        self.write('disk/old.tar', b'old')
        os.symlink('disk/old.tar', os.path.join(self.folder, 'out.tar'))
        done = self.run_prism('run', '--workspace-mode', 'copy', '--export', 'out.tar', '--', 'true')
        self.assertEqual(done.returncode, 0, done)
        self.assertTrue(os.path.islink(os.path.join(self.folder, 'out.tar')))
        self.assertTrue(tarfile.is_tarfile(os.path.join(self.folder, 'disk', 'old.tar')))
        self.assertEqual(os.listdir(os.path.join(self.folder, 'disk')), ['old.tar'])


if __name__ == '__main__':
    taptest.main()
