# SPDX-License-Identifier: LGPL-2.1-or-later
"""How the program starts: a sandbox of the usual kind is begun before the program is
loaded, and only that; what is begun is used, or ended."""
import os
import select
import shutil
import subprocess
import unittest

import base
from base import PRISM

import taptest

USED = (
    (),
    ('--timeout', '5s'),
    ('--env', 'A=b', '--limit', 'max-pids=50'),
    ('--workspace-mode', 'copy'),
    ('--hide', '/usr/share'),
    # What began with other settings starts over by itself.
    ('--hide', '/etc/services'),
    ('--limit', 'tmp-bytes=1M'),
    ('--set', 'netns=command'),
    ('--set=channel=framed',),
    ('-v',),
    ('--backend', 'native'),
)
UNUSED = (
    (('version',), 0),
    (('help', 'run'), 0),
    (('run', '--help'), 0),
    (('run', '-b', 'none-of-that-name', '--', 'true'), 125),
    (('run', '-qbnone-of-that-name', '--', 'true'), 125),
    (('run', '--backend=none-of-that-name', '--', 'true'), 125),
)
REFUSED = (
    ('run', '--no-such-option', '--', 'true'),
    ('run', '--workspace-mode', 'sideways', '--', 'true'),
    ('run', '--tty', '--no-tty', '--', 'true'),
    ('run', '-w', '/no/such/folder', '--', 'true'),
    ('run', '--approve', 'perhaps', '--', 'true'),
    ('run',),
)


class Start(base.Case):
    def setUp(self):
        super().setUp()
        self.log = os.path.join(self.folder, 'log')
        self.inside = os.path.join(self.folder, 'inside')
        os.mkdir(self.inside)
        self.agent = os.path.join(self.folder, 'agent')
        self.write('agent', f'#!/bin/sh\necho $$ >>{self.log}\nexec {os.environ["PRISM_AGENT"]} "$@"\n'.encode())
        os.chmod(self.agent, 0o755)

    def run_counted(self, *arguments, **options):
        """What came of it, and the launchers that were started meanwhile."""
        if os.path.exists(self.log):
            os.remove(self.log)
        done = self.run_prism(*arguments, cwd=self.inside, env={'PRISM_AGENT': self.agent}, **options)
        pids = []
        if os.path.exists(self.log):
            with open(self.log, encoding='ascii') as file:
                pids = [int(line) for line in file]
        for pid in pids:
            with self.assertRaises(ProcessLookupError):
                os.kill(pid, 0)
        return done, len(pids)

    def test_used(self):
        """one launcher, whatever was asked for"""
        for options in USED:
            with self.subTest(options):
                done, started = self.run_counted('run', *options, '--', 'echo', 'here')
                self.assertEqual((done.returncode, done.stdout), (0, b'here\n'), done)
                self.assertEqual(started, 1)

    def test_java(self):
        """the settings of each Java are shown, found from where it is; nothing else that one leads to"""
        if os.geteuid() != 0:
            return  # only root can make such a machine
        machine = """
            up=$1; shift
            mount -t tmpfs none $up
            for folder in etc usr/lib; do
              mkdir -p $up/$folder $up/work/$folder
              mount -t overlay none -o lowerdir=/$folder,upperdir=$up/$folder,workdir=$up/work/$folder /$folder
            done
            for name in java-99 java-98 java-8 java99 none; do mkdir /etc/$name-test; echo $name >/etc/$name-test/file; done
            echo secret >/etc/java-secret
            cd /usr/lib; mkdir -p jvm; cd jvm
            mkdir -p new odd debian/conf old/jre/lib empty secret other
            ln -s /etc/java-99-test new/conf
            ln -s /etc/java99-test/conf odd/conf
            ln -s /etc/java-98-test/logging.properties debian/conf/logging.properties
            ln -s /etc/java-8-test/logging.properties old/jre/lib/logging.properties
            ln -s new also-new
            ln -s /etc/java-secret secret/conf
            ln -s /etc/none-test other/conf
            cd "$OLDPWD"; cd /; exec "$@"
        """
        up = os.path.join(self.folder, 'up')
        os.mkdir(up)
        shown = 'cd /etc; ls -d *java-secret *-test; cat *-test/file'
        done = subprocess.run(['unshare', '--mount', 'sh', '-euc', machine, 'sh', up, PRISM, 'run', '-w', self.inside, '--',
                               'sh', '-c', shown], capture_output=True, timeout=base.DEADLINE, check=False)
        self.assertEqual(done.stdout.decode().split(),
                         ['java-8-test', 'java-98-test', 'java-99-test', 'java99-test', 'java-8', 'java-98', 'java-99',
                          'java99'], done)

    def test_settings(self):
        """what is asked for is so, also where something else was begun"""
        done, started = self.run_counted('run', '--limit', 'tmp-bytes=1M', '--', 'df', '--output=size', '/tmp')
        self.assertEqual((done.stdout.split()[-1], started), (b'1024', 1), done)
        done, started = self.run_counted('run', '--hide', '/etc/services', '--', 'cat', '/etc/services')
        self.assertEqual((done.returncode, done.stdout, started), (1, b'', 1), done)

    def test_unused(self):
        """none where no sandbox of that kind is asked for"""
        for arguments, status in UNUSED:
            with self.subTest(arguments):
                done, started = self.run_counted(*arguments)
                self.assertEqual((done.returncode, started), (status, 0), done)

    def test_refused(self):
        """what was begun for nothing has ended when prism has"""
        for arguments in REFUSED:
            with self.subTest(arguments):
                done, started = self.run_counted(*arguments)
                self.assertEqual((done.returncode, done.stdout), (125, b''), done)
                self.assertLessEqual(started, 1)

    def test_no_agent(self):
        """what is missing is said, as by the library"""
        for path in ('/no/such/agent', self.log):
            done = self.run_prism('run', '--', 'true', cwd=self.inside, env={'PRISM_AGENT': path})
            self.assertEqual(done.returncode, 125, done)
            self.assertIn(path.encode(), done.stderr)
            self.assertIn(b'install prism-agent', done.stderr)
        self.write('agent', b'#!/bin/sh\nexit 3\n')
        done = self.run_prism('run', '--', 'true', cwd=self.inside, env={'PRISM_AGENT': self.agent})
        self.assertEqual(done.returncode, 125, done)
        self.assertTrue(done.stderr.startswith(b'prism: native: '), done)

    def test_closed(self):
        """whichever of its three descriptors are closed, no other file takes their place"""
        for closed in ('0<&-', '1>&-', '2>&-', '0<&- 2>&-', '0<&- 1>&- 2>&-'):
            with self.subTest(closed):
                done = subprocess.run(['sh', '-c', f'exec {closed}; exec "$0" run -- sh -c "exit 7"', PRISM],
                                      cwd=self.inside, capture_output=True, timeout=base.DEADLINE, check=False)
                self.assertEqual((done.returncode, done.stdout, done.stderr), (7, b'', b''))

    def test_killed(self):
        """what was begun ends by itself when prism is killed before it has said what for"""
        os.mkfifo(self.log)
        for command in ('run', 'shell') * 5:
            process = subprocess.Popen([PRISM, command, *(('--', 'sleep', '1000') if command == 'run' else ())],
                                       cwd=self.inside, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL, env=dict(os.environ, PRISM_AGENT=self.agent))
            with open(self.log, encoding='ascii') as fifo:
                pid = int(fifo.readline())
            process.kill()
            process.wait(base.DEADLINE)
            self.assert_ends(pid)

    def assert_ends(self, pid):
        try:
            fd = os.pidfd_open(pid)
        except ProcessLookupError:
            return
        try:
            self.assertTrue(select.select([fd], [], [], base.DEADLINE)[0], f'{pid} lives on')
        finally:
            os.close(fd)

    def test_module(self):
        """the rest of the program is beside it where both were copied to, but not if others can write to it"""
        program, module = os.path.join(self.inside, 'prism'), os.path.join(self.inside, 'prism-cli.so')
        shutil.copy(PRISM, program)
        shutil.copy(os.path.join(os.path.dirname(PRISM), 'prism-cli.so'), module)

        def run():
            return subprocess.run([program, 'version'], cwd=self.folder, capture_output=True, timeout=base.DEADLINE, check=False)
        done = run()
        self.assertEqual((done.returncode, done.stdout[:6], done.stderr), (0, b'prism ', b''))
        for mode, loaded in ((0o644, True), (0o666, False)):
            os.remove(module)
            with open(module, 'wb') as file:
                file.write(b'no module at all\n' * 100)
            os.chmod(module, mode)
            done = run()
            self.assertEqual(module.encode() in done.stderr, loaded, done)
            if loaded:
                self.assertEqual((done.returncode, done.stdout), (125, b''), done)


if __name__ == '__main__':
    taptest.main()
