# SPDX-License-Identifier: LGPL-2.1-or-later
"""prism run, doctor and inspect with docker, as users meet them."""
import json
import os
import pty
import subprocess
import tarfile

from harness import IMAGE, Base, prism, without_progress

import taptest

DOCKER = ('-b', 'docker')


class Cli(Base):
    def settings(self, **more):
        values = {'socket': self.daemon().socket, 'image': IMAGE, **more}
        return [word for name, value in values.items() for word in ('--set', f'{name}={value}')]

    def prism_run(self, *arguments, **more):
        return prism('run', *DOCKER, *self.settings(**more), '-w', self.folder, *arguments)

    def test_run(self):
        """A command, its output and its status."""
        self.assertEqual(self.prism_run('--', 'sh', '-c', 'id -u; pwd; echo made > made; exit 7')[:2], (7, '10001\n/workspace\n'))
        self.assertTrue(os.path.exists(os.path.join(self.folder, 'made')))
        self.assertEqual(self.prism_run('--', 'no-such-program')[0], 127)
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
        checks = told['backends'][0]['checks']
        for check in checks:
            self.assertTrue(check['summary'])
            if check['status'] != 'pass':
                self.assertTrue(check['remedy'], check)
        self.assertEqual(told['backends'][0]['missing'], ['privilege'])
        status, out, _ = prism('doctor', '--set', 'socket=/no/such/docker.sock', 'docker')
        self.assertIn('/no/such/docker.sock', out)
        self.assertIn('to do', out)
        self.assertEqual(prism('doctor', '--reap')[0], 125)
        self.assertEqual(prism('doctor', '--set', 'nonsense=1', 'docker')[0], 78)

    def test_inspect(self):
        """inspect lists the settings."""
        status, out, _ = prism('inspect', '--json', 'docker')
        self.assertEqual(status, 0)
        names = [p['name'] for p in json.loads(out)['plugins'][0]['backends'][0]['properties']]
        for name in ('image', 'user', 'socket', 'docker', 'runtime', 'network', 'source', 'outputs', 'skills'):
            self.assertIn(name, names)


taptest.main()
