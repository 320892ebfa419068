# SPDX-License-Identifier: LGPL-2.1-or-later
"""The prism program with the hosted service's backend, against a local server in a room of its
own: what runs there, what doctor says, what is removed that a dead program left."""
import contextlib
import json
import os
import signal
import subprocess
import sys
import unittest
import urllib.request

sys.path.insert(0, os.path.join(os.environ['PRISM_SOURCE_ROOT'], 'tests', 'cli'))
import base
import taptest

KEY = 'e2b_0123456789abcdef'


class Case(base.Case):
    def setUp(self):
        super().setUp()
        server = subprocess.Popen(['node', os.path.join(base.SOURCE, 'tests', 'lib', 'e2b-server.mjs'), '--apart'],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(self.end, server)
        self.url = 'http://127.0.0.1:' + server.stdout.readline().split()[1].decode()
        self.env = {'E2B_API_KEY': KEY, 'E2B_API_URL': self.url, 'E2B_SANDBOX_URL': self.url}

    @staticmethod
    def end(server):
        server.stdin.close()
        server.wait()
        server.stdout.close()

    def prism(self, *arguments, **options):
        env = dict(self.env, **options.pop('env', {}))
        done = self.run_prism(*arguments, env=env, **options)
        self.assertNotIn(KEY.encode(), done.stdout + done.stderr)
        return done

    def faults(self, faults):
        request = urllib.request.Request(self.url + '/faults', json.dumps(faults).encode(), method='PUT')
        urllib.request.urlopen(request).close()

    def living(self):
        with urllib.request.urlopen(self.url + '/counts') as answer:
            return json.load(answer)['living']

    @contextlib.contextmanager
    def running(self):
        """A program whose command has begun, and goes on until its input ends."""
        program = subprocess.Popen([base.PRISM, 'run', '-b', 'e2b', '--', 'sh', '-c', 'echo begun; cat'],
                                   cwd=self.folder, env=dict(os.environ, **self.env), stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE)
        try:
            self.assertEqual(program.stdout.readline(), b'begun\n')
            yield program
        finally:
            program.stdin.close()
            program.wait()
            program.stdout.close()


class Run(Case):
    def test_command(self):
        """a command's output, input and exit status; nothing is left there"""
        done = self.prism('run', '-b', 'e2b', '--', 'python3', '-c', 'print(1)')
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b'1\n', b''), done)
        done = self.prism('run', '-b', 'e2b', '--', 'sh', '-c', 'cat; echo no >&2; exit 7', input=b'in')
        self.assertEqual((done.returncode, done.stdout, done.stderr), (7, b'in', b'no\n'), done)
        self.assertEqual(self.prism('run', '-b', 'e2b', '--', 'no-such-command').returncode, 127)
        self.assertEqual(self.prism('run', '-b', 'e2b', '--timeout', '300ms', '--', 'sleep', '1000').returncode, 124)
        self.assertEqual(self.living(), 0)

    def test_workspace(self):
        """a folder goes there as a copy, and stays as it is here"""
        self.write('file', b'here')
        done = self.prism('run', '-b', 'e2b', '-w', self.folder, '--', 'sh', '-c', 'cat file; echo there >file')
        self.assertEqual((done.returncode, done.stdout), (0, b'here'), done)
        self.assertEqual(self.read('file'), b'here')
        self.assertEqual(self.living(), 0)

    def test_signal(self):
        """who is told to end takes the sandbox along"""
        with self.running() as program:
            self.assertEqual(self.living(), 1)
            program.send_signal(signal.SIGTERM)
            self.assertEqual(program.wait(base.DEADLINE), 128 + signal.SIGTERM)
            self.assertEqual(self.living(), 0)

    def test_refused(self):
        """without a key, or with one that is not taken: 125, and what to do"""
        done = self.prism('run', '-b', 'e2b', '--', 'true', env={'E2B_API_KEY': ''})
        self.assertEqual(done.returncode, 125, done)
        self.assertIn(b'E2B_API_KEY', done.stderr)
        done = self.prism('run', '-b', 'e2b', '--', 'true', env={'E2B_API_KEY': 'e2b_nobody'})
        self.assertEqual(done.returncode, 125, done)
        self.assertIn(b'API key', done.stderr)


class Doctor(Case):
    def checks(self, *arguments, env=None):
        done = self.prism('doctor', '--json', *arguments, 'e2b', env=env or {})
        reports = json.loads(done.stdout)['backends']
        self.assertEqual([report['name'] for report in reports], ['e2b'], done)
        return {check['id']: check for check in reports[0]['checks']}

    def status(self, *arguments, env=None):
        return {name: check['status'] for name, check in self.checks(*arguments, env=env).items()}

    def test_fine(self):
        """all of it is there; the template by its id, its name, and its name with a tag"""
        fine = {'e2b.key': 'pass', 'e2b.service': 'pass', 'e2b.clock': 'pass', 'e2b.template': 'pass'}
        self.assertEqual(self.status(), fine)
        for name in ('tmpl0123456789abcdef', 'my-template', 'my-template:latest', 'team/my-template'):
            with self.subTest(name):
                self.assertEqual(self.status('--set', f'template={name}'), fine)

    def test_template(self):
        """one that is none of the account's; a service that does not tell"""
        check = self.checks('--set', 'template=nobodys')['e2b.template']
        self.assertEqual(check['status'], 'warn')
        self.assertIn('nobodys', check['summary'])
        self.assertIn('property template', check['remedy'])
        for answer in ({'status': 403}, {'status': 200, 'body': '<html>'}, {'status': 200, 'body': '{"templates": 7}'}):
            self.faults({'refuse': [{'path': '^GET /templates', 'times': 9, **answer}]})
            with self.subTest(answer):
                self.assertEqual(self.checks('--set', 'template=my-template')['e2b.template']['status'], 'skipped')

    def test_wrong(self):
        """no key, one that is not taken, nobody there, a clock that is wrong"""
        self.assertEqual(self.status(env={'E2B_API_KEY': ''}), {'e2b.key': 'fail'})
        self.assertEqual(self.status(env={'E2B_API_KEY': 'e2b_nobody'}), {'e2b.key': 'pass', 'e2b.service': 'fail'})
        self.assertEqual(self.status(env={'E2B_API_URL': 'http://127.0.0.1:1'}), {'e2b.key': 'pass', 'e2b.service': 'fail'})
        self.faults({'skew': 300})
        self.assertEqual(self.status()['e2b.clock'], 'warn')


class Reap(Case):
    def reap(self):
        done = self.prism('doctor', '--json', '--reap', 'e2b')
        return done, json.loads(done.stdout)['removed'] if done.stdout else None

    def test_dead(self):
        """what a killed program left is removed, and nothing that another one has"""
        self.assertEqual(self.reap()[1], 0)
        with self.running() as alive:
            for _ in range(2):
                with self.running() as dead:
                    dead.kill()
            self.assertEqual(self.living(), 3)
            self.assertEqual(self.reap()[1], 2)
            self.assertEqual(self.living(), 1)
            self.assertEqual(alive.communicate(b'still there', timeout=base.DEADLINE)[0], b'still there')
            self.assertEqual(alive.returncode, 0)
        self.assertEqual(self.living(), 0)

    def test_refused(self):
        """what could not be removed is said, and is removed the next time"""
        with self.running() as dead:
            dead.kill()
        self.faults({'refuse': [{'path': '^DELETE /sandboxes/', 'times': 9, 'status': 500}]})
        done, removed = self.reap()
        self.assertEqual((done.returncode, removed), (1, None), done)
        self.assertIn(b'may live on', done.stderr)
        self.faults({})
        self.assertEqual(self.reap()[1], 1)
        self.assertEqual(self.living(), 0)


if __name__ == '__main__':
    taptest.main()
