# SPDX-License-Identifier: LGPL-2.1-or-later
"""prism run, doctor and inspect with docker, as users meet them."""
import json
import os
import pty
import subprocess
import tarfile
import tempfile

from harness import IMAGE, Base, prism, without_progress

import fake_dockerd as fake
import taptest

DOCKER = ('-b', 'docker')
CHECKS = tuple('docker.' + name for name in ('engine', 'version', 'cgroups', 'seccomp', 'userns', 'runtimes', 'image'))


class Cli(Base):
    def settings(self, **more):
        values = {'socket': self.daemon().socket, 'image': IMAGE, **more}
        return [word for name, value in values.items() for word in ('--set', f'{name}={value}')]

    def prism_run(self, *arguments, **more):
        return prism('run', *DOCKER, *self.settings(**more), '-w', self.folder, *arguments)

    def test_run(self):
        """A command, its output and its status."""
        self.assertEqual(self.prism_run('--', 'sh', '-c', 'id -u; pwd; echo made > made; exit 7')[:2], (7, f'{os.getuid() or 10001}\n/workspace\n'))
        self.assertTrue(os.path.exists(os.path.join(self.folder, 'made')))
        status, _, err = self.prism_run('--', 'npm')
        self.assertEqual(status, 127)
        self.assertIn('the image has no npm', err)
        self.assertNotIn('--ro', err)
        self.assertEqual(self.prism_run('--timeout', '500ms', '--', 'sleep', '60')[0], 124)
        self.assertEqual(self.prism_run('--', 'sh', '-c', 'kill -9 $$')[0], 137)

    def test_json(self):
        """The result as one object, with evidence."""
        told = json.loads(self.prism_run('--json', '--', 'echo', 'hi')[1])
        self.assertEqual((told['exit_code'], told['stdout'], told['backend']), (0, 'hi\n', 'docker'))
        self.assertTrue(told['capabilities']['network_isolated'] and told['capabilities']['filesystem_isolated'])
        self.assertFalse(told['capabilities']['privilege_isolated'])
        self.assertTrue(told['capabilities']['evidence'])

    def test_copy_and_export(self):
        """A copy, and what it became, as a tar."""
        with open(os.path.join(self.folder, 'file'), 'w', encoding='ascii') as out:
            out.write('kept')
        tar = os.path.join(os.path.dirname(self.folder), os.path.basename(self.folder) + '.tar')
        self.addCleanup(lambda: os.path.exists(tar) and os.unlink(tar))
        status, _, err = self.prism_run('--workspace-mode', 'copy', '--export', tar, '--', 'sh', '-c', 'echo changed > file')
        self.assertEqual(status, 0, err)
        with tarfile.open(tar) as archive:
            self.assertEqual(archive.extractfile('file').read(), b'changed\n')
        with open(os.path.join(self.folder, 'file'), encoding='ascii') as kept:
            self.assertEqual(kept.read(), 'kept')

    def test_progress(self):
        """On a terminal, import and export show how far they are."""
        for number in range(3000):
            with open(os.path.join(self.folder, f'file-{number}'), 'w', encoding='ascii') as out:
                out.write('x' * 3000)
        tar = self.folder + '-progress.tar'
        self.addCleanup(lambda: os.path.exists(tar) and os.unlink(tar))
        ours, theirs = pty.openpty()
        process = subprocess.Popen([os.environ['PRISM_COMMAND'], 'run', *DOCKER, *self.settings(), '-w', self.folder, '--workspace-mode', 'copy',
                                    '--export', tar, '--', 'true'], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=theirs)
        os.close(theirs)
        told = b''
        while True:
            try:
                more = os.read(ours, 65536)
            except OSError:
                break
            if not more:
                break
            told += more
        os.close(ours)
        self.assertEqual(process.wait(), 0, told)
        self.assertIn('\r', told.decode())
        self.assertTrue(without_progress(told.decode()).strip())

    def test_errors(self):
        """Status 125 and what to do."""
        self.assertEqual(self.prism_run('--', 'true', image='debian')[0], 125)
        status, _, err = self.prism_run('--', 'true', socket='/no/such/docker.sock')
        self.assertEqual(status, 125)
        self.assertIn('/no/such/docker.sock', err)
        status, _, err = self.prism_run('--', 'true', image=IMAGE.rsplit(':', 1)[0] + ':' + '0' * 64)
        self.assertEqual(status, 125)
        self.assertIn('docker pull', err)
        self.assertEqual(self.prism_run('--require', 'privilege', '--', 'true')[0], 125)

    def test_doctor(self):
        """doctor: the engine's checks, with remedies for what does not pass; --reap; an engine that is not there."""
        status, out, _ = prism('doctor', '--json', *self.settings(), '--reap', 'docker')
        told = json.loads(out)
        self.assertEqual((status, told['status']), (0, 0), out)
        self.assertGreaterEqual(told['removed'], 0)
        checks = self.judge_checks(told)
        self.assertEqual({name: checks[name]['status'] for name in CHECKS},
                         {**dict.fromkeys(CHECKS, 'pass'), 'docker.userns': 'warn'})
        self.assertEqual(told['backends'][0]['missing'], ['privilege'])
        for name, word in (('docker.engine', self.daemon().socket), ('docker.version', 'API 1.'), ('docker.runtimes', 'runc'), ('docker.image', IMAGE)):
            self.assertIn(word, checks[name]['summary'])
        status, out, _ = prism('doctor', '--set', 'socket=/no/such/docker.sock', 'docker')
        self.assertEqual(status, 1)
        self.assertIn('/no/such/docker.sock', out)
        self.assertIn('to do', out)
        self.assertEqual(prism('doctor', '--reap')[0], 125)
        self.assertEqual(prism('doctor', '--set', 'nonsense=1', 'docker')[0], 78)

    def judge_checks(self, told):
        """By their ids; each says what it found, and what to do where that is not well."""
        checks = {check['id']: check for check in told['backends'][0]['checks']}
        for check in checks.values():
            self.assertTrue(check['summary'])
            self.assertNotIn('\n', check['summary'])
            if check['status'] != 'pass':
                self.assertTrue(check['remedy'], check)
        return checks

    def doctor(self, **settings):
        """(status, its checks)"""
        status, out, err = prism('doctor', '--json', *self.settings(**settings), 'docker')
        self.assertIn(status, (0, 1, 69), err)
        return status, self.judge_checks(json.loads(out))

    def test_doctor_settings(self):
        """doctor: an image that is not pinned, not there, not named; a runtime that the engine does not know."""
        missing = IMAGE.rsplit(':', 1)[0] + ':' + '0' * 64
        for settings, name, words in (({'image': 'debian:stable'}, 'docker.image', ('debian:stable', 'sha256')), ({'image': IMAGE.split('@')[0] + ':busybox'}, 'docker.image', (IMAGE,)), ({'image': missing}, 'docker.image', ('docker pull ' + missing,)),
                                      ({'runtime': 'no-such-runtime'}, 'docker.runtimes', ('no-such-runtime', 'runc', 'daemon.json'))):
            with self.subTest(settings=settings):
                status, checks = self.doctor(**settings)
                self.assertEqual((status, {name for name, check in checks.items() if check['status'] == 'fail'}), (1, {name}))
                for word in words:
                    self.assertIn(word, checks[name]['summary'] + checks[name]['remedy'])
        status, out, _ = prism('doctor', '--json', '--set', f'socket={self.daemon().socket}', 'docker')
        self.assertEqual((status, self.judge_checks(json.loads(out))['docker.image']['status']), (0, 'skipped'))

    def test_doctor_engines(self):
        """doctor: engines that are set up otherwise, too old, silent about themselves, or no engines."""
        beside = tempfile.mkdtemp(prefix='prism-engine-')
        self.addCleanup(os.rmdir, beside)
        path = os.path.join(beside, 'engine.sock')
        info, image = ('GET', '/info'), ('GET', '/images/.+/json')
        runsc = {'Runtimes': {'runc': {'path': 'runc'}, 'mine': {'path': '/opt/bin/runsc'}}}
        secured = ['name=seccomp,profile=default']
        cases = (
            # what the engine says otherwise; settings; the check, its status and a word of it
            (info, {'SecurityOptions': [*secured, 'name=userns']}, {}, 'docker.userns', 'pass', 'userns-remap'),
            (info, {'SecurityOptions': [*secured, 'name=rootless']}, {}, 'docker.userns', 'pass', 'rootless'),
            (info, runsc, {'runtime': 'mine'}, 'docker.userns', 'pass', 'runsc'),
            (info, runsc, {}, 'docker.userns', 'warn', 'userns-remap'),
            (info, {'SecurityOptions': None}, {}, 'docker.seccomp', 'warn', 'filters no'),
            (info, {'SecurityOptions': ['name=seccomp,profile=unconfined']}, {}, 'docker.seccomp', 'warn', 'daemon.json'),
            (info, {'SecurityOptions': 'name=seccomp'}, {}, 'docker.seccomp', 'warn', 'filters no'),
            (info, {'PidsLimit': False, 'MemoryLimit': None}, {}, 'docker.cgroups', 'warn', 'memory, pids'),
            (info, {'CgroupDriver': 'none'}, {}, 'docker.cgroups', 'warn', 'Delegate'),
            (info, {'CgroupVersion': '2\n\x1b[31m', 'CgroupDriver': 7}, {}, 'docker.cgroups', 'pass', 'unknown'),
            (info, {'Runtimes': []}, {'runtime': 'runc'}, 'docker.runtimes', 'fail', 'none that it tells of'),
            (image, {'Os': 'windows'}, {}, 'docker.image', 'fail', 'linux'),
            (image, {'Id': 'odd'}, {}, 'docker.image', 'fail', 'no id'),
        )
        for request, says, settings, name, status, word in cases:
            with self.subTest(says=says), fake.FakeDockerd(path, self.daemon().socket) as engine:
                engine.rule(*request, fake.changed(lambda told, says=says: {**told, **says}))
                checks = self.doctor(socket=path, **settings)[1]
                self.assertEqual(checks[name]['status'], status, checks[name])
                self.assertIn(word, checks[name]['summary'] + (checks[name]['remedy'] or ''))
        with fake.FakeDockerd(path, self.daemon().socket) as engine:
            engine.rule(*info, fake.reply(500, {'message': 'out of order'}))
            engine.rule('GET', '/version', fake.reply(200, b'no json'))
            status, checks = self.doctor(socket=path)
            self.assertEqual((status, {name for name in CHECKS if checks[name]['status'] == 'fail'}), (1, set(CHECKS) - {'docker.engine', 'docker.image'}))
            self.assertIn('out of order', checks['docker.cgroups']['summary'])
        old = b'HTTP/1.1 200 OK\r\nApi-Version: 1.30\r\nContent-Length: 2\r\n\r\nOK'
        for answer, ids in ((fake.raw(old), {'docker.version'}), (fake.raw(b'SSH-2.0-x\r\n', True), {'docker.engine'})):
            with fake.FakeDockerd(path) as engine:
                engine.rule('GET', '/_ping', answer)
                status, checks = self.doctor(socket=path)
                self.assertEqual((status, {name for name, check in checks.items() if check['status'] == 'fail'}), (1, ids), checks)
                self.assertEqual({checks[name]['status'] for name in CHECKS[2:]}, {'skipped'})

    def test_inspect(self):
        """inspect lists the settings."""
        status, out, _ = prism('inspect', '--json', 'docker')
        self.assertEqual(status, 0)
        names = [p['name'] for p in json.loads(out)['plugins'][0]['backends'][0]['properties']]
        for name in ('image', 'user', 'socket', 'docker', 'runtime', 'network', 'source', 'outputs', 'skills'):
            self.assertIn(name, names)


taptest.main()
