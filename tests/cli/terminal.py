# SPDX-License-Identifier: LGPL-2.1-or-later
"""prism on a terminal."""
import errno
import fcntl
import json
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time

import base
from base import DEADLINE, PRISM

import taptest


class Terminal:
    """A pseudo-terminal with prism in its foreground."""

    def __init__(self, case, arguments, rows=31, columns=97, env=None, program=PRISM):
        self.case = case
        self.seen = b''
        self.master, self.slave = pty.openpty()
        self.resize(rows, columns)
        self.before = termios.tcgetattr(self.slave)
        self.process = subprocess.Popen([program, *arguments], stdin=self.slave, stdout=self.slave, stderr=self.slave,
                                        cwd=case.folder, env={**os.environ, 'TERM': 'xterm', **(env or {})},
                                        preexec_fn=self.take)
        case.addCleanup(self.close)

    def take(self):
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack('HHHH', rows, columns, 0, 0))

    def type(self, data):
        os.write(self.master, data)

    def read(self, seconds):
        ready, _, _ = select.select([self.master], [], [], seconds)
        if not ready:
            return False
        try:
            data = os.read(self.master, 65536)
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            return False
        self.seen += data
        return bool(data)

    def expect(self, words):
        end = time.monotonic() + DEADLINE
        while words not in self.seen:
            self.case.assertLess(time.monotonic(), end, (words, self.seen))
            if not self.read(0.2):
                self.case.assertIsNone(self.process.poll(), self.seen)
        return self.seen

    def wait(self):
        """Reads until prism has ended, and what is left."""
        end = time.monotonic() + DEADLINE
        while self.process.poll() is None:
            self.case.assertLess(time.monotonic(), end, self.seen)
            self.read(0.05)
        while self.read(0.05):
            pass
        return self.process.returncode

    def pending(self):
        """What a shell would read from this terminal now."""
        return struct.unpack('i', fcntl.ioctl(self.slave, termios.FIONREAD, b'\0' * 4))[0]

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.master)
        os.close(self.slave)


class OnTerminal(base.Case):
    def test_default(self):
        """on a terminal the command has one of its own, of the same size"""
        terminal = Terminal(self, ['run', '--', 'sh', '-c', 'test -t 0 && test -t 1 && test -t 2 && tty; stty size; echo $TERM'])
        self.assertEqual(terminal.wait(), 0, terminal.seen)
        self.assertEqual(terminal.seen.split(b'\r\n')[:3], [b'/dev/pts/0', b'31 97', b'xterm'], terminal.seen)

    def test_without(self):
        """-T, or output that is piped: no terminal"""
        terminal = Terminal(self, ['run', '-T', '--', 'sh', '-c', 'test -t 0 || test -t 1 || test -t 2; echo $?'])
        terminal.wait()
        self.assertIn(b'1', terminal.seen)
        done = self.run_prism('run', '--', 'sh', '-c', 'test -t 1; echo $?')
        self.assertEqual(done.stdout, b'1\n')

    def test_asked_for(self):
        """-t without a terminal: one inside, fed from the pipe"""
        done = self.run_prism('run', '-t', '--', 'sh', '-c', 'stty -echo; test -t 0 && read line && echo "got $line"', input=b'words\n')
        self.assertEqual((done.returncode, b'got words' in done.stdout), (0, True), done)

    def test_input_ends(self):
        """an input that ends in the middle of a line has an end inside; a shell that would be asked again has, too"""
        for options in ([], ['--json']):
            with self.subTest(options):
                done = self.run_prism('run', '-t', *options, '--', 'cat', input=b'words')
                self.assertEqual((done.returncode, b'wordswords' in done.stdout), (0, True), done)
        done = self.run_prism('run', '-t', '--', 'sh', '-c', 'cat; cat; cat; exit 6', input=b'words')
        self.assertEqual(done.returncode, 6, done)
        done = self.run_prism('shell', '-t', input=b'echo $((6*7))\n')
        self.assertEqual((done.returncode, b'42' in done.stdout), (0, True), done)

    def test_output_limit(self):
        """how much may be written holds on a terminal, too, where it was set"""
        for script, status in (('head -c 1000 /dev/zero | tr "\\0" x; exit 3', 3), ('head -c 1001 /dev/zero | tr "\\0" x; exit 3', 137),
                               (f'yes {self.marker()}', 137)):
            with self.subTest(script):
                done = self.run_prism('run', '-t', '--limit', 'max-output-bytes=1000', '--', 'sh', '-c', script)
                self.assertEqual((done.returncode, b'max-output-bytes' in done.stderr), (status, status == 137), done)
                self.assertLessEqual(len(done.stdout), 1000)
        done = self.run_prism('run', '-t', '--', 'sh', '-c', 'head -c 70000000 /dev/zero; exit 4')
        self.assertEqual((done.returncode, len(done.stdout)), (4, 70000000))

    def test_closed(self):
        """a command that closes its terminal before it exits is not hung up for that"""
        done = self.run_prism('run', '-t', '--json', '--', 'sh', '-c', 'exec <&- >&- 2>&-; sleep 0.3; exit 5')
        self.assertEqual((done.returncode, json.loads(done.stdout)['outcome']), (5, 'exited'), done)

    def test_background(self):
        """a shell's background job runs on, without a terminal and without input, rather than be stopped"""
        terminal = Terminal(self, ['-mc', '"$0" run -- sh -c "cat; test -t 1 || echo plain; exit 7" & wait $!; echo status $?', PRISM],
                            program='bash')
        self.assertEqual(terminal.wait(), 0, terminal.seen)
        self.assertIn(b'plain\r\n', terminal.seen)
        self.assertIn(b'status 7\r\n', terminal.seen)

    def test_status(self):
        """exit statuses come through a terminal too"""
        for script, status in (('exit 7', 7), ('kill -9 $$', 137)):
            self.assertEqual(Terminal(self, ['run', '--', 'sh', '-c', script]).wait(), status)
        terminal = Terminal(self, ['run', '--', 'no-such-command'])
        self.assertEqual(terminal.wait(), 127)
        self.assertIn(b'prism:', terminal.seen)
        self.assertEqual(Terminal(self, ['run', '--timeout', '300ms', '--', 'sleep', '1000']).wait(), 124)

    def test_typed(self):
        """keys are typed inside, control keys too; the terminal is as it was afterwards"""
        terminal = Terminal(self, ['run', '--', 'sh', '-c', 'trap "echo interrupted; exit 9" INT; echo ready; while :; do sleep 1; done'])
        terminal.expect(b'ready')
        terminal.type(b'\x03')
        self.assertEqual(terminal.wait(), 9, terminal.seen)
        self.assertIn(b'interrupted', terminal.seen)
        self.assertEqual(termios.tcgetattr(terminal.slave), terminal.before)

    def test_echo(self):
        terminal = Terminal(self, ['run', '--', 'cat'])
        terminal.type(b'one\r')
        terminal.expect(b'one\r\none\r\n')
        terminal.type(b'\x04')
        self.assertEqual(terminal.wait(), 0)

    def test_resized(self):
        """a new size reaches the command"""
        terminal = Terminal(self, ['run', '--', 'bash', '-c', 'trap "stty size; exit 0" WINCH; echo ready; while :; do sleep 0.1; done'])
        terminal.expect(b'ready')
        terminal.resize(20, 60)
        self.assertEqual(terminal.wait(), 0, terminal.seen)
        self.assertIn(b'20 60', terminal.seen)

    def test_shell(self):
        """prism shell: job control works, exit ends it"""
        terminal = Terminal(self, ['shell'])
        terminal.type(b'echo $((6*7)); sleep 500 & jobs; kill %1; exit 5\r')
        self.assertEqual(terminal.wait(), 5, terminal.seen)
        self.assertIn(b'42', terminal.seen)
        self.assertIn(b'Running', terminal.seen)
        self.assertNotIn(b'no job control', terminal.seen)

    def test_restored(self):
        """ended by a signal, or crashing, prism puts the terminal back"""
        for number, status in ((signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130), (signal.SIGABRT, -signal.SIGABRT)):
            with self.subTest(number):
                marker = self.marker()
                terminal = Terminal(self, ['run', '--', 'sh', '-c', f'echo ready; sleep {marker}'])
                terminal.expect(b'ready')
                self.assertNotEqual(termios.tcgetattr(terminal.slave), terminal.before)
                terminal.process.send_signal(number)
                self.assertEqual(terminal.wait(), status, terminal.seen)
                self.assertEqual(termios.tcgetattr(terminal.slave), terminal.before)
                self.assert_gone(marker)

    def test_stopped(self):
        """stopped, prism puts the terminal back; continued, it takes it again"""
        terminal = Terminal(self, ['run', '--', 'sh', '-c', 'echo ready; read line; echo "got $line"; exit 4'])
        terminal.expect(b'ready')
        raw = termios.tcgetattr(terminal.slave)
        terminal.process.send_signal(signal.SIGTSTP)
        _, status = os.waitpid(terminal.process.pid, os.WUNTRACED)
        self.assertTrue(os.WIFSTOPPED(status), status)
        self.assertEqual(termios.tcgetattr(terminal.slave), terminal.before)
        terminal.process.send_signal(signal.SIGCONT)
        self.until(lambda: termios.tcgetattr(terminal.slave) == raw, 'the terminal was not taken again')
        terminal.type(b'words\r')
        self.assertEqual(terminal.wait(), 4, terminal.seen)
        self.assertIn(b'got words', terminal.seen)

    def test_json(self):
        """--json with -t: a terminal inside, its output in the object"""
        done = self.run_prism('run', '--json', '-t', '--', 'sh', '-c', 'test -t 1 && stty size && echo words')
        got = json.loads(done.stdout)
        self.assertEqual((done.returncode, got['exit_code'], got['stdout']), (0, 0, '24 80\r\nwords\r\n'), done)

    def test_pushed_characters(self):
        """what runs inside cannot type into the caller's shell (N-1)"""
        attack = '''
import ctypes, fcntl, os, termios
libc = ctypes.CDLL(None, use_errno=True)
fds = [0, 1, 2]
try:
    fds.append(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
except OSError:
    pass
for fd in fds:
    for request in (termios.TIOCSTI, termios.TIOCSTI | 1 << 32, 0x541C):
        libc.ioctl(fd, ctypes.c_ulong(request), ctypes.c_char_p(b"X"))
print("tried")
'''
        for options in ([], ['-T'], ['-t']):
            with self.subTest(options):
                terminal = Terminal(self, ['run', *options, '--', 'python3', '-c', attack])
                self.assertEqual(terminal.wait(), 0, terminal.seen)
                self.assertIn(b'tried', terminal.seen)
                self.assertEqual(terminal.pending(), 0)

    def test_colours(self):
        """colours on a terminal, none with NO_COLOR"""
        for env, colours in (({}, True), ({'NO_COLOR': '1'}, False), ({'TERM': 'dumb'}, False)):
            terminal = Terminal(self, ['run', '--limit', 'x', '--', 'true'], env=env)
            self.assertEqual(terminal.wait(), 125)
            self.assertEqual(b'\x1b[' in terminal.seen, colours, terminal.seen)


if __name__ == '__main__':
    taptest.main()
