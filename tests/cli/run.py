# SPDX-License-Identifier: LGPL-2.1-or-later
"""The prism program against the native backend, as its users meet it: exit
statuses, streams, JSON, options and refusals. Others here: terminal.py,
signals.py, trees.py."""
import base64
import hashlib
import json
import os
import re
import signal
import subprocess
import unittest

import base
from base import PRISM

import taptest


class Status(base.Case):
    def test_own(self):
        """every exit status of a command is prism's"""
        for code in (0, 1, 2, 3, 42, 77, 100, 123, 124, 125, 126, 127, 128, 129, 137, 143, 200, 254, 255):
            with self.subTest(code):
                done = self.run_prism('run', '--', 'sh', '-c', f'exit {code}')
                self.assertEqual((done.returncode, done.stdout, done.stderr), (code, b'', b''))
        self.assertEqual(self.run_prism('run', '--', 'false').returncode, 1)
        self.assertEqual(self.run_prism('run', 'sh', '-c', 'exit 9').returncode, 9)

    def test_signals(self):
        """128 + N when signal N ended the command"""
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGABRT, signal.SIGKILL, signal.SIGSEGV,
                       signal.SIGPIPE, signal.SIGTERM, signal.SIGUSR1):
            with self.subTest(number):
                done = self.run_prism('run', '--', 'sh', '-c', f'kill -{int(number)} $$')
                self.assertEqual(done.returncode, 128 + number, done)

    def test_timeout(self):
        """124 when its timeout passed, and all it started is gone"""
        marker = self.marker()
        done = self.run_prism('run', '--timeout', '300ms', '--', 'sh', '-c', f'sleep {marker} & sleep {marker}')
        self.assertEqual(done.returncode, 124, done)
        self.assertIn(b'prism: ', done.stderr)
        self.assertIn(b'300ms', done.stderr)
        self.assert_gone(marker)

    def test_not_found(self):
        """127 when there is no such command; 126 when it cannot be started"""
        done = self.run_prism('run', '--', 'no-such-command-here')
        self.assertEqual(done.returncode, 127, done)
        self.assertRegex(done.stderr, rb'^prism: .*no-such-command-here')
        self.assertEqual(self.run_prism('run', '--', '/no/such').returncode, 127)
        self.assertEqual(self.run_prism('run', '--', '/workspace').returncode, 126)
        self.write('plain', b'#!/bin/sh\n')
        os.chmod(os.path.join(self.folder, 'plain'), 0o644)
        done = self.run_prism('run', '--', './plain')
        self.assertEqual((done.returncode, done.stdout), (126, b''), done)

    def test_elsewhere(self):
        """what the caller has and the sandbox does not show is hinted at"""
        tools = os.path.join(self.folder, 'tools')
        os.mkdir(tools)
        path = os.path.join(tools, 'my-tool')
        with open(path, 'w', encoding='ascii') as file:
            file.write('#!/bin/sh\necho mine\n')
        os.chmod(path, 0o755)
        work = os.path.join(self.folder, 'work')
        os.mkdir(work)
        done = self.run_prism('run', '--', 'my-tool', cwd=work, env={'PATH': tools + ':' + os.environ['PATH']})
        self.assertEqual(done.returncode, 127, done)
        self.assertIn(f'--ro {tools} -- {path} '.encode(), done.stderr)
        self.assertEqual(self.run_prism('run', '--ro', tools, '--', path, cwd=work).stdout, b'mine\n')

    def test_bad_options(self):
        """125 for what prism itself does not take; the reason names it"""
        for arguments, words in (
                (['run', '--no-such-option', '--', 'true'], '--no-such-option'),
                (['run'], 'no command'), (['run', '--'], 'no command'),
                (['run', '--timeout', '5', '--', 'true'], 'duration'), (['run', '--timeout', '-1s', '--', 'true'], 'duration'),
                (['run', '--timeout', '0s', '--', 'true'], 'duration'), (['run', '--timeout', '9' * 30 + 's', '--', 'true'], 'duration'),
                (['run', '--workspace-mode', 'both', '--', 'true'], 'direct, copy, readonly'),
                (['run', '--network', 'full', '--', 'true'], '--network full'),
                (['run', '--limit', 'nonsense=1', '--', 'true'], 'nonsense'),
                (['run', '--limit', 'memory-bytes', '--', 'true'], 'NAME=VALUE'),
                (['run', '--limit', 'max-pids=0', '--', 'true'], 'max-pids'),
                (['run', '--limit', 'max-pids=1e3', '--', 'true'], 'max-pids'),
                (['run', '--limit', 'max-pids=99999999', '--', 'true'], 'max-pids'),
                (['run', '--limit', 'max-pids=0', '--limit', 'max-fds=0', '--', 'true'], 'max-fds'),
                (['run', '--require', 'magic', '--', 'true'], 'magic'), (['run', '--require', '', '--', 'true'], 'no control'),
                (['run', '--require', 'network,', '--', 'true'], '--require'),
                (['run', '--set', 'nosuch=1', '--', 'true'], 'nosuch'),
                (['run', '-b', 'nosuch', '--', 'true'], 'native'),
                (['run', '--env', '=x', '--', 'true'], 'empty'), (['run', '--env', 'NO_SUCH_VARIABLE', '--', 'true'], 'NO_SUCH_VARIABLE'),
                (['run', '--env', 'LD_PRELOAD=x', '--', 'true'], 'LD_PRELOAD'), (['run', '--env', '1x=y', '--', 'true'], '1x'),
                (['run', '--export', 'x.tar', '--', 'true'], 'copy'),
                (['run', '-t', '-T', '--', 'true'], 'contradict'), (['run', '-t', '-n', '--', 'true'], 'contradict'), (['run', '-v', '-q', '--', 'true'], 'contradict'),
                (['run', '--policy', '', '--', 'true'], '--policy: '), (['run', '--audit', '', '--allow', 'a.example', '--', 'true'], '--audit: '),
                (['run', '--ro', '', '--', 'true'], 'empty'), (['run', '--ro', '/etc:relative', '--', 'true'], 'absolute'),
                (['run', '--ro', '/no/such/path', '--', 'true'], '/no/such/path'),
                (['run', '-w', '/no/such/folder', '--', 'true'], '/no/such/folder'),
                (['run', '--', ''], ''), (['shell', 'extra'], 'no command'),
                (['nonsense'], 'nonsense'), ([], 'no command'), ([''], 'no command'), (['--nonsense'], '--nonsense'),
                (['version', 'extra'], 'no argument'), (['--version', 'extra'], 'no argument'), (['version', '--nonsense'], '--nonsense'),
                (['help', 'run', 'extra'], 'one command'), (['help', 'nonsense'], 'nonsense'), (['help', 'complete'], 'complete'),
                (['doctor', '--nonsense'], '--nonsense'), (['inspect', 'nosuch'], 'nosuch')):
            with self.subTest(' '.join(arguments)):
                done = self.run_prism(*arguments)
                self.assertEqual((done.returncode, done.stdout), (125, b''), done)
                self.assertTrue(done.stderr.startswith(b'prism: '), done)
                self.assertIn(words.encode(), done.stderr)

    def test_background(self):
        """what a command leaves behind goes with its sandbox"""
        marker = self.marker()
        done = self.run_prism('run', '--', 'sh', '-c', f'sleep {marker} & (setsid sleep {marker} &) ; echo done')
        self.assertEqual((done.returncode, done.stdout), (0, b'done\n'), done)
        self.assert_gone(marker)

    def test_version(self):
        """the version is meson's"""
        with open(os.path.join(base.SOURCE, 'meson.build'), encoding='utf-8') as file:
            version = re.search(r"version: '([^']+)'", file.read()).group(1)
        for argument in ('--version', 'version'):
            self.assertEqual(self.run_prism(argument).stdout.decode(), f'prism {version}\n')

    def test_help(self):
        """help goes to stdout, names every command, and ends well"""
        done = self.run_prism('help')
        self.assertEqual((done.returncode, done.stderr), (0, b''))
        for command in ('run', 'shell', 'doctor', 'inspect', 'version', 'help'):
            self.assertIn(command.encode(), done.stdout)
            if command != 'help':
                about = self.run_prism(command, '--help')
                self.assertEqual((about.returncode, about.stderr), (0, b''))
                self.assertIn(b'--help', about.stdout)
                self.assertEqual(self.run_prism('help', command).stdout, about.stdout)


class Streams(base.Case):
    def test_separate(self):
        """output and errors stay apart, bytes as they are"""
        done = self.run_prism('run', '--', 'sh', '-c', r"printf 'o\0\377'; printf 'e\200' >&2; exit 3")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (3, b'o\0\xff', b'e\x80'))

    def test_input(self):
        """standard input comes from pipes, files and /dev/null, whole"""
        data = os.urandom(3 * 1024 * 1024 + 17)
        want = hashlib.sha256(data).hexdigest().encode()
        done = self.run_prism('run', '--', 'sha256sum', input=data)
        self.assertEqual(done.stdout.split()[0], want)
        self.write('data', data)
        with open(os.path.join(self.folder, 'data'), 'rb') as file:
            done = self.run_prism('run', '--', 'sha256sum', stdin=file)
        self.assertEqual(done.stdout.split()[0], want)
        done = self.run_prism('run', '--', 'cat', stdin=subprocess.DEVNULL)
        self.assertEqual((done.returncode, done.stdout), (0, b''))
        done = self.run_prism('run', '--', 'true', input=data)
        self.assertEqual(done.returncode, 0, done)

    def test_no_input(self):
        """-n leaves what is there to read to whoever reads next"""
        done = subprocess.run(['sh', '-c', '"$0" run -n -- cat; cat', PRISM], cwd=self.folder, input=b'a list', timeout=base.DEADLINE,
                              capture_output=True)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b'a list', b''))

    def test_large(self):
        """more than any buffer comes through unharmed, in both directions at once"""
        data = os.urandom(1 << 20) * 20
        done = self.run_prism('run', '--', 'cat', input=data)
        self.assertEqual(hashlib.sha256(done.stdout).digest(), hashlib.sha256(data).digest())

    def test_closed(self):
        """closed descriptors: nothing of prism's own ends up in their place"""
        def shell(script):
            return subprocess.run(['sh', '-c', script, PRISM], cwd=self.folder, capture_output=True, timeout=base.DEADLINE)
        done = shell('"$0" run -- cat <&-')
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b'', b''))
        done = shell('"$0" run -- true >&-')
        self.assertEqual((done.returncode, done.stderr), (0, b''))
        done = shell('"$0" run -- echo hello >&-')
        self.assertEqual(done.returncode, 125, done)
        self.assertIn(b'prism: writing the standard output', done.stderr)
        done = shell('"$0" run -- sh -c "echo out; echo err >&2" 2>&-')
        self.assertEqual((done.stdout, done.stderr), (b'out\n', b''))
        done = shell('"$0" run -- sh -c "exit 5" <&- >&- 2>&-')
        self.assertEqual((done.returncode, done.stdout, done.stderr), (5, b'', b''))
        done = shell('"$0" run -- echo hello >/dev/full')
        self.assertEqual((done.returncode, b'No space left' in done.stderr), (125, True), done)

    def test_unwritten(self):
        """what prism itself prints and cannot is a failure with a reason, not a success"""
        for words in ('version', 'help', 'run --help', 'help run', 'doctor', 'doctor --json', 'inspect', 'inspect --json', 'complete r',
                      'run --json -- true', 'run --json --nonsense'):
            for redirection in ('>/dev/full', '>&-'):
                with self.subTest(words + redirection):
                    done = subprocess.run(['sh', '-c', f'"$0" {words} {redirection}', PRISM], cwd=self.folder, capture_output=True,
                                          timeout=base.DEADLINE, stdin=subprocess.DEVNULL)
                    self.assertEqual((done.returncode, b'standard output' in done.stderr), (125, True), done)
        # With nobody to read it, without a word.
        ends = os.pipe()
        os.close(ends[0])
        for words in ('run --json -- true', 'run -- echo words', 'doctor', 'doctor --json', 'inspect', 'help', 'run --help'):
            for ignored in (False, True):
                with self.subTest(words, ignored=ignored):
                    done = subprocess.run([PRISM, *words.split()], cwd=self.folder, stdout=ends[1], stderr=subprocess.PIPE,
                                          stdin=subprocess.DEVNULL, timeout=base.DEADLINE, restore_signals=not ignored)
                    self.assertIn((done.returncode, done.stderr), ((141, b''), (-signal.SIGPIPE, b'')))
        os.close(ends[1])

    def test_pipe_gone(self):
        """whoever reads the output has gone: the command is ended, 141, without a word"""
        marker = self.marker()
        script = f'{{ "$0" run -- sh -c "yes; sleep {marker}"; echo $? >status; }} | head -n 1'
        done = subprocess.run(['sh', '-c', script, PRISM], cwd=self.folder, capture_output=True, timeout=base.DEADLINE)
        self.assertEqual((done.stdout, done.stderr, self.read('status')), (b'y\n', b'', b'141\n'))
        self.assert_gone(marker)

    def test_folder_as_input(self):
        """a folder as standard input is refused: a descriptor of it inside would be a way out"""
        with base.opened(self.folder, os.O_RDONLY | os.O_DIRECTORY) as fd:
            done = self.run_prism('run', '--', 'true', stdin=fd)
        self.assertEqual((done.returncode, b'folder' in done.stderr), (125, True), done)

    def test_descriptors(self):
        """nothing that prism has open is open inside"""
        with base.opened('/etc', os.O_RDONLY | os.O_DIRECTORY) as folder, base.opened('/etc/passwd', os.O_RDONLY) as file:
            done = subprocess.run([PRISM, 'run', '--', 'sh', '-c', 'ls -l /proc/$$/fd'], cwd=self.folder, timeout=base.DEADLINE,
                                  capture_output=True, stdin=subprocess.DEVNULL, pass_fds=[folder, file])
        links = [line.split(' -> ')[1] for line in done.stdout.decode().splitlines() if ' -> ' in line]
        self.assertEqual(len(links), 3, done)
        for link in links:
            self.assertTrue(link.startswith('pipe:') or link == '/dev/null', done)

    def test_signal_state(self):
        """a command starts with no signal blocked or ignored, whatever prism does with its own"""
        done = self.run_prism('run', '--', 'grep', '^Sig[BI]', '/proc/self/status')
        blocked, ignored = (int(line.split()[1], 16) for line in done.stdout.splitlines())
        # The C library's posix_spawn ignores its own two, 32 and 33, which no program may use.
        self.assertEqual((blocked, ignored & ~(3 << 31)), (0, 0), done)


class Json(base.Case):
    MEMBERS = {'exit_code', 'signal', 'outcome', 'timed_out', 'cancelled', 'limit', 'reason', 'duration_ms', 'stdout', 'stderr',
               'stdout_truncated', 'stderr_truncated', 'backend', 'capabilities', 'egress', 'export', 'error'}

    def json(self, *arguments, status=None, **options):
        done = self.run_prism('run', '--json', *arguments, **options)
        if status is not None:
            self.assertEqual(done.returncode, status, done)
        got = json.loads(done.stdout)
        self.assertEqual(set(got) - {'stdout_base64', 'stderr_base64'}, self.MEMBERS)
        return got

    def test_shape(self):
        """the object has every member, each of its type"""
        got = self.json('--', 'sh', '-c', 'echo out; echo err >&2; exit 3', status=3)
        self.assertEqual((got['exit_code'], got['signal'], got['outcome'], got['timed_out'], got['cancelled']),
                         (3, None, 'exited', False, False))
        self.assertEqual((got['stdout'], got['stderr'], got['stdout_truncated'], got['stderr_truncated']),
                         ('out\n', 'err\n', False, False))
        self.assertEqual((got['backend'], got['egress'], got['export'], got['error'], got['limit']),
                         ('native', {'allowed': [], 'denied': []}, None, None, None))
        self.assertGreater(got['duration_ms'], 0)
        capabilities = got['capabilities']
        self.assertEqual(set(capabilities), {'workspace_coherent', 'filesystem_isolated', 'network_isolated',
                                             'process_isolated', 'privilege_isolated', 'egress_restricted', 'evidence'})
        for name in set(capabilities) - {'evidence'}:
            self.assertIs(capabilities[name], True, name)
        for control in ('filesystem', 'network', 'process', 'privilege', 'egress', 'workspace'):
            self.assertGreater(len(capabilities['evidence'][control]), 5, control)

    def test_ends(self):
        """how it ended is told, and no exit status is made up"""
        got = self.json('--', 'sh', '-c', 'kill -9 $$', status=137)
        self.assertEqual((got['exit_code'], got['signal'], got['outcome']), (None, 9, 'signalled'))
        got = self.json('--timeout', '200ms', '--', 'sleep', '1000', status=124)
        self.assertEqual((got['exit_code'], got['timed_out'], got['cancelled'], got['outcome']), (None, True, False, 'timed_out'))

    def test_errors(self):
        """126 and 127 are told apart, and from a command's own, by `error`"""
        self.assertIsNone(self.json('--', 'sh', '-c', 'exit 127', status=127)['error'])
        got = self.json('--', 'no-such-command', status=127)
        self.assertEqual((got['error']['domain'], got['error']['code'], got['exit_code']),
                         ('prism-sandbox-error-quark', 'not_found', None))
        self.assertEqual(self.json('--', '/workspace', status=126)['error']['code'], 'not_executable')
        got = self.json('--limit', 'nonsense=1', '--', 'true', status=125)
        self.assertEqual((got['error']['code'], got['capabilities'], got['outcome']), ('unknown', None, None))
        got = self.json('--nonsense', '--', 'true', status=125)
        self.assertIn('--nonsense', got['error']['message'])

    def test_bytes(self):
        """what is not text is there as text, and exactly"""
        got = self.json('--', 'printf', r'a\377b\0\n')
        self.assertEqual((got['stdout'], base64.b64decode(got['stdout_base64'])), ('a\ufffdb\0\n', b'a\xffb\0\n'))
        self.assertNotIn('stderr_base64', got)
        got = self.json('--', 'printf', r'\0 \033[2J \302\233 "\\ é')
        self.assertEqual(got['stdout'], '\0 \x1b[2J \x9b "\\ é')
        self.assertNotIn('stdout_base64', got)
        raw = self.run_prism('run', '--json', '--', 'printf', r'\033[2J\302\233').stdout
        self.assertFalse([b for b in raw.decode() if ord(b) < 32 and b != '\n' or 127 <= ord(b) < 160])

    def test_truncated(self):
        """what was cut is said"""
        got = self.json('--limit', 'max-output-bytes=64M', '--', 'head', '-c', '1000', '/dev/zero')
        self.assertEqual((len(got['stdout']), got['stdout_truncated']), (1000, False))
        got = self.json('--limit', 'max-output-bytes=100K', '--', 'sh', '-c', 'yes', status=137)
        self.assertEqual((got['outcome'], got['limit'], got['stdout_truncated']), ('output_limit', 'max-output-bytes', True))


class Options(base.Case):
    def test_environment(self):
        """the documented small environment, what was passed, and nothing of the host's (N-13)"""
        secret = 'sandbox-escape-' + os.urandom(8).hex()
        env = {'FAKE_SECRET': secret, 'AWS_SECRET_ACCESS_KEY': secret, 'SSH_AUTH_SOCK': '/' + secret, 'DISPLAY': secret,
               'LS_COLORS': secret, 'PASSED': 'on', 'LD_LIBRARY_PATH': os.environ.get('LD_LIBRARY_PATH', '')}
        done = self.run_prism('run', '--', 'env', env=env)
        names = dict(line.split('=', 1) for line in done.stdout.decode().splitlines())
        self.assertEqual(names, {'PATH': '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', 'HOME': '/home/prism',
                                 'USER': 'prism', 'LOGNAME': 'prism', 'TMPDIR': '/tmp', 'LANG': 'C.UTF-8'})
        done = self.run_prism('run', '-e', 'A=b=c', '--env', 'PASSED', '-e', 'EMPTY=', '--', 'env', env=env)
        names = dict(line.split('=', 1) for line in done.stdout.decode().splitlines())
        self.assertEqual((names['A'], names['PASSED'], names['EMPTY']), ('b=c', 'on', ''))
        done = self.run_prism('run', '--', 'sh', '-c', 'cat /proc/*/environ /proc/*/cmdline /proc/mounts /proc/self/mountinfo; '
                              'env; bash -lc export; ls -laR /tmp /home /run /var/tmp; grep -r escape- /tmp /home', env=env)
        self.assertNotIn(secret.encode(), done.stdout)

    def test_workspace(self):
        """direct writes through, readonly and copy do not; the command starts there"""
        self.write('file', b'content')
        done = self.run_prism('run', '--', 'sh', '-c', 'pwd; cat file; echo new > new')
        self.assertEqual((done.returncode, done.stdout), (0, b'/workspace\ncontent'), done)
        self.assertEqual(self.read('new'), b'new\n')
        self.assertEqual(os.stat(os.path.join(self.folder, 'new')).st_uid, os.getuid())
        done = self.run_prism('run', '--workspace-mode', 'readonly', '--', 'sh', '-c', 'cat file; echo x > file')
        self.assertEqual((done.stdout, self.read('file')), (b'content', b'content'))
        self.assertNotEqual(done.returncode, 0)
        done = self.run_prism('run', '--workspace-mode', 'copy', '--', 'sh', '-c', 'cat file; echo x > file; cat file; rm new')
        self.assertEqual((done.returncode, done.stdout, self.read('file'), self.read('new')),
                         (0, b'contentx\n', b'content', b'new\n'), done)
        done = self.run_prism('run', '--', 'sh', '-c', f'cd {self.folder} && cat file')
        self.assertEqual(done.stdout, b'content', done)

    def test_workspace_refused(self):
        """direct on /, a home or a system folder only when -w names it"""
        home = os.path.join(self.folder, 'home')
        os.mkdir(home)
        for cwd, words in (('/', 'root folder'), (home, 'home folder'), ('/usr', 'system folder'), ('/usr/bin', 'system folder'),
                           ('/etc', 'system folder'), ('/tmp', 'system folder'), ('/var/lib', 'system folder')):
            with self.subTest(cwd):
                done = self.run_prism('run', '--', 'true', cwd=cwd, env={'HOME': home})
                self.assertEqual(done.returncode, 125, done)
                for word in (words, '-w', 'copy'):
                    self.assertIn(word.encode(), done.stderr)
        self.assertEqual(self.run_prism('run', '-w', '.', '--', 'true', cwd=home, env={'HOME': home}).returncode, 0)
        self.assertEqual(self.run_prism('run', '--workspace-mode', 'readonly', '--', 'true', cwd=home, env={'HOME': home}).returncode, 0)

    def test_odd_roots(self):
        """a link, '.', a trailing slash start in the resolved folder; a file or nothing is one clear error (P-5)"""
        real = os.path.join(self.folder, 'real')
        os.mkdir(real)
        with open(os.path.join(real, 'here'), 'w', encoding='ascii') as file:
            file.write('yes')
        os.symlink('real', os.path.join(self.folder, 'link'))
        os.symlink('/nowhere/at/all', os.path.join(self.folder, 'dangling'))
        os.symlink('/nowhere/at/all', os.path.join(real, '.git'))
        for name in ('real', 'real/', 'link', 'link/', './real/../link', real + '//'):
            with self.subTest(name):
                done = self.run_prism('run', '-w', name, '--', 'cat', 'here')
                self.assertEqual((done.returncode, done.stdout), (0, b'yes'), done)
        for name in ('dangling', 'real/here', 'no-such', ''):
            with self.subTest(name):
                done = self.run_prism('run', '-w', name, '--', 'true')
                self.assertEqual((done.returncode, done.stdout), (125, b''), done)
                self.assertEqual(done.stderr.count(b'\n'), done.stderr.count(b'prism: '), done)

    def test_current_folder_gone(self):
        """where the current folder was removed nothing relative is another one, least of all the root"""
        for arguments in ([], ['-w', '.'], ['--workspace-mode', 'copy', '-w', '.'], ['-w', 'x'], ['--set', 'isolation=network-only', '-w', '.'],
                          ['-w', self.folder, '--ro', 'x'], ['-w', self.folder, '--rw', '.'], ['-w', self.folder, '--hide', 'x'],
                          ['-w', self.folder, '--protect', 'x']):
            with self.subTest(' '.join(arguments)):
                done = subprocess.run(['sh', '-c', 'mkdir gone && cd gone && rmdir ../gone && exec "$@"', 'sh', PRISM, 'run', *arguments,
                                       '--', 'true'], cwd=self.folder, capture_output=True, timeout=base.DEADLINE, stdin=subprocess.DEVNULL)
                self.assertEqual((done.returncode, b'current folder' in done.stderr), (125, True), done)
        done = subprocess.run(['sh', '-c', 'mkdir gone && cd gone && rmdir ../gone && exec "$@"', 'sh', PRISM, 'run', '-w', self.folder,
                               '--', 'pwd'], cwd=self.folder, capture_output=True, timeout=base.DEADLINE, stdin=subprocess.DEVNULL)
        self.assertEqual((done.returncode, done.stdout), (0, b'/workspace\n'), done)

    def test_mounts(self):
        """--ro and --rw show host paths, --hide and --protect take away; the most specific wins"""
        for name in ('a', 'b', 'c', 'work'):
            os.mkdir(os.path.join(self.folder, name))
            self.write(name + '/file', name.encode())
        self.write('work/secret', b'secret')
        os.mkdir(os.path.join(self.folder, 'work', 'sub'))
        self.write('work/sub/kept', b'kept')
        a, b, c, work = (os.path.join(self.folder, n) for n in ('a', 'b', 'c', 'work'))
        done = self.run_prism('run', '--ro', f'{a}:/data/a', '--rw', b, '--ro', c, '-w', work, '--', 'sh', '-c',
                              f'cat /data/a/file {b}/file {c}/file; echo x > /data/a/file; echo x > {b}/file; echo x > {c}/file')
        self.assertEqual(done.stdout, b'abc', done)
        self.assertEqual([self.read(n + '/file') for n in 'abc'], [b'a', b'x\n', b'c'])
        done = self.run_prism('run', '-w', work, '--hide', work + '/secret', '--protect', work + '/sub', '--', 'sh', '-c',
                              'cat secret; cat sub/kept; echo x > sub/kept; echo y > free')
        self.assertNotIn(b'secret', done.stdout)
        self.assertIn(b'kept', done.stdout)
        self.assertEqual((self.read('work/sub/kept'), self.read('work/free')), (b'kept', b'y\n'))

    def test_hide_system(self):
        """of the system's own files, too, nothing is there that was to be hidden: mounted, copied, or below what is named"""
        small = [path for path in ('/etc/protocols', '/etc/timezone', '/etc/host.conf', '/etc/gai.conf', '/etc/debian_version')
                 if os.path.isfile(path) and not os.path.islink(path)]
        self.assertTrue(small)
        listing = self.run_prism('run', '--', 'sh', '-c', 'cat ' + ' '.join(small))
        self.assertEqual(listing.returncode, 0, listing)
        for path in small:
            done = self.run_prism('run', '--hide', path, '--', 'cat', path)
            self.assertEqual((done.returncode, done.stdout), (1, b''), done)
        done = self.run_prism('run', '--hide', '/etc', '--', 'sh', '-c', 'ls /etc; ls /etc/ssl; cat ' + ' '.join(small))
        self.assertIn(b'passwd', done.stdout, done)  # the sandbox's own
        for name in ['ssl', 'alternatives', *map(os.path.basename, small)]:
            self.assertNotIn(name.encode() + b'\n', done.stdout)

    def test_export_fails(self):
        """an export that cannot be written is 125, and leaves nothing"""
        os.mkdir(os.path.join(self.folder, 'target'))
        for name in ('no-such-folder/out.tar', 'target'):
            with self.subTest(name):
                done = self.run_prism('run', '--workspace-mode', 'copy', '--export', name, '--', 'true')
                self.assertEqual(done.returncode, 125, done)
                self.assertIn(name.encode(), done.stderr)
        self.assertEqual(sorted(os.listdir(self.folder)), ['target'])

    def test_limits(self):
        """a limit that was set holds"""
        # dash gives up at the first fork that fails; bash would go on trying for seconds.
        done = self.run_prism('run', '--limit', 'max-pids=12', '--', 'sh', '-c',
                              'for i in $(seq 40); do sleep 60 & echo $i; done')
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(len(done.stdout.splitlines()), range(5, 13), done)
        done = self.run_prism('run', '--limit', 'max-fds=64', '--', 'sh', '-c', 'ulimit -n')
        self.assertEqual(done.stdout, b'64\n', done)
        done = self.run_prism('run', '--limit', 'wall-time-ms=3000', '--', 'sleep', '1000')
        self.assertEqual((done.returncode, b'wall-time-ms' in done.stderr), (124, True), done)

    def test_few_descriptors(self):
        """a low limit on open files is the caller's and no fault of the file system's"""
        for limit in ('-Sn 40', '-n 40', '-n 64', '-n 65'):
            with self.subTest(limit):
                done = subprocess.run(['bash', '-c', f'ulimit {limit} && exec "$0" run -- echo ok', PRISM], cwd=self.folder,
                                      capture_output=True, stdin=subprocess.DEVNULL, timeout=base.DEADLINE)
                self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b'ok\n', b''), done)

    def test_least_memory(self):
        """a memory limit that the agent itself cannot start in is refused with the one that it can"""
        done = self.run_prism('run', '--limit', 'memory-bytes=1', '--', 'true')
        self.assertEqual((done.returncode, b'memory-bytes = 1 (allowed here: 4194304' in done.stderr), (125, True), done)
        done = self.run_prism('run', '--limit', 'memory-bytes=4M', '--', 'true')
        self.assertEqual(done.returncode, 0, done)

    def test_require(self):
        """--require starts only with what is real, and refuses by name"""
        done = self.run_prism('run', '--require', 'filesystem,network', '--require', 'process,privilege,egress,workspace', '--', 'true')
        self.assertEqual(done.returncode, 0, done)
        done = self.run_prism('run', '--set', 'isolation=network-only', '--require', 'filesystem', '--', 'true')
        self.assertEqual((done.returncode, b'filesystem' in done.stderr), (125, True), done)

    def test_approve_word(self):
        """--approve is one of three words"""
        done = self.run_prism('run', '--approve', 'perhaps', '--', 'true')
        self.assertEqual((done.returncode, b'never, ask or always' in done.stderr), (125, True), done)

    def test_own_words(self):
        """a command's own errors are passed on and not commented on (M-7)"""
        done = self.run_prism('run', '--', 'sh', '-c', 'echo x > /usr/file; cat /etc/shadow; mkdir /proc/x; exit 4')
        self.assertEqual(done.returncode, 4)
        self.assertNotIn(b'prism: ', done.stderr)
        self.assertIn(b'/usr/file', done.stderr)

    def test_verbose(self):
        """-v says what was applied, how that is known, and how long it took"""
        done = self.run_prism('run', '-v', '--', 'true')
        self.assertEqual((done.returncode, done.stdout), (0, b''))
        for word in ('filesystem: yes', 'network: yes', 'process: yes', 'privilege: yes', 'time: made in'):
            self.assertIn(f'prism: {word}'.encode(), done.stderr)

    def test_network(self):
        """no network: loopback alone"""
        done = self.run_prism('run', '--', 'cat', '/proc/net/dev')
        self.assertEqual([line.split(b':')[0].strip() for line in done.stdout.splitlines()[2:]], [b'lo'], done)

    def test_names(self):
        """arguments and folders of any bytes"""
        name = os.path.join(os.fsencode(self.folder), b'w \xff\n$(x)')
        os.mkdir(name)
        done = subprocess.run([PRISM, 'run', '--', 'printf', '%s|', b'\xff', '', 'a b', '$(id)', '--json', '-v'], cwd=name,
                              capture_output=True, stdin=subprocess.DEVNULL, timeout=base.DEADLINE)
        self.assertEqual((done.returncode, done.stdout), (0, b'\xff||a b|$(id)|--json|-v|'), done)

    def test_complete(self):
        """completions come from the tables, so they cannot go stale"""
        def complete(*words):
            return self.run_prism('complete', '--', *words).stdout.decode().split('\n')[:-1]
        self.assertIn('run', complete(''))
        self.assertEqual(complete('doc'), ['doctor'])
        self.assertEqual(complete('run', '--workspace-m'), ['--workspace-mode'])
        self.assertEqual(complete('run', '--workspace-mode', ''), ['direct', 'copy', 'readonly'])
        self.assertEqual(complete('run', '--workspace-mode=re'), ['readonly'])
        self.assertEqual(complete('run', '-b', 'nat'), ['native'])
        self.assertIn('memory-bytes=', complete('run', '--limit', 'mem'))
        self.assertIn('isolation=', complete('run', '--set', 'iso'))
        self.assertEqual(complete('run', '--require', 'network,fi'), ['network,filesystem'])
        self.assertEqual(complete('run', '-w', ''), [':folders'])
        self.assertEqual(complete('run', '--', 'l'), [':commands'])
        self.assertEqual(complete('run', 'l'), [':commands'])
        for words in (['make', '-'], ['make', '--l'], ['-n', '-w', '.', 'cat', ''], ['--', 'cat', '']):
            self.assertEqual(complete('run', *words), [':files'], words)
        self.assertEqual(complete('run', '--allow', 'a.example', ':', '443', '--lim'), ['--limit'])
        self.assertEqual(complete('run', '--allow', 'http', ':', '//a.example', '--lim'), ['--limit'])


    def test_bash_completion(self):
        """the bash script puts together what bash takes apart"""
        os.mkdir(os.path.join(self.folder, 'sub folder'))
        script = '''
            source "$1"; compopt() { :; }; shift
            prism=$1; shift; prism() { "$prism" "$@"; }
            COMP_WORDS=(prism "$@"); COMP_CWORD=$#; COMPREPLY=(); _prism; printf '%s\\n' "${COMPREPLY[@]}"
        '''
        for words, candidates in ((['doc'], ['doctor']), (['run', '--workspace-mode', ''], ['direct', 'copy', 'readonly']),
                                  (['run', '--workspace-mode', '=', 're'], ['readonly']),
                                  (['run', '--set', 'isolation', '=', 'c'], ['confined']),
                                  (['run', '--require', 'network,fi'], ['network,filesystem']),
                                  (['run', '-w', 'sub'], ['sub folder'])):
            with self.subTest(words):
                done = subprocess.run(['bash', '-c', script, 'bash', os.path.join(base.SOURCE, 'data/completions/prism.bash'),
                                       PRISM, *words], cwd=self.folder, capture_output=True, text=True, timeout=base.DEADLINE)
                self.assertEqual((done.stdout.splitlines(), done.stderr), (candidates, ''))


class Doctor(base.Case):
    def test_doctor(self):
        """doctor says that this machine is fine, or what to do for what is missing"""
        done = self.run_prism('doctor', '--json', 'native')
        got = json.loads(done.stdout)
        self.assertEqual((done.returncode, got['status']), (0, 0), done)
        native = got['backends'][0]
        self.assertEqual((native['name'], native['missing']), ('native', []))
        for check in native['checks']:
            self.assertTrue(check['id'] and check['summary'], check)
            if check['status'] != 'pass':
                self.assertTrue(check['remedy'], check)
        text = self.run_prism('doctor')
        self.assertEqual(text.returncode, 0)
        self.assertIn(b'native', text.stdout)
        for words, told in ((['nosuch'], 'nosuch'), (['native', '--set', 'isolation=x'], 'confined'), (['native', '--set', 'nosuch=x'], 'nosuch')):
            wrong = self.run_prism('doctor', *words)
            self.assertEqual((wrong.returncode, wrong.stdout), (78, b''), wrong)
            self.assertIn(told.encode(), wrong.stderr)

    def test_doctor_proxy(self):
        """doctor starts the egress proxy, asks it for a denied host and an allowed origin, and reads its counts"""
        done = self.run_prism('doctor', '--json', 'egress')
        got = json.loads(done.stdout)
        self.assertEqual((done.returncode, got['status'], got['backends']), (0, 0, []), done)
        self.assertEqual([(p['name'], p['status'], [c['id'] for c in p['checks']]) for p in got['proxies']],
                         [('egress', 'pass', ['egress.start', 'egress.denies', 'egress.allows', 'egress.audit'])])
        text = self.run_prism('doctor').stdout
        for words in (b'egress: egress proxy', b'egress.denies: a host that no rule allows is refused'):
            self.assertIn(words, text)
        self.assertEqual(json.loads(self.run_prism('doctor', '--json', 'native').stdout)['proxies'], [])

    def test_inspect(self):
        """inspect lists native's properties with ranges and defaults"""
        done = self.run_prism('inspect', '--json', 'native')
        plugin = json.loads(done.stdout)['plugins'][0]
        self.assertEqual((done.returncode, plugin['state'], plugin['error']), (0, 'loaded', None), done)
        properties = {p['name']: p for p in plugin['backends'][0]['properties']}
        self.assertIn('confined', properties['isolation']['choices'])
        self.assertEqual(properties['isolation']['default'], 'confined')

    def test_inspect_egress(self):
        """inspect lists the egress proxy's properties, capabilities and limits"""
        done = self.run_prism('inspect', '--json', 'egress')
        plugin = json.loads(done.stdout)['plugins'][0]
        self.assertEqual((done.returncode, plugin['state'], plugin['error']), (0, 'loaded', None), done)
        proxy = plugin['proxies'][0]
        self.assertEqual(proxy['capabilities'], {'statistics': True, 'signed_attestations': True})
        self.assertEqual([p['name'] for p in proxy['properties'] if p['settable']], ['parent-proxy', 'trust-file'])
        self.assertTrue(all(p['description'] for p in proxy['properties'] + proxy['limits']), proxy)
        self.assertEqual(len(proxy['limits']), 8)


if __name__ == '__main__':
    taptest.main()
