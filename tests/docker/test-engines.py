# SPDX-License-Identifier: LGPL-2.1-or-later
"""Engines that are set up otherwise, and another: crun, userns-remap, rootless, podman.
Run by `apart`, as root; each engine is started by its own class."""
import json
import os
import shutil
import subprocess
import tarfile

import harness
from harness import Base, Prism, prism

import engines
import fake_dockerd as fake
import taptest

COPY = Prism.WorkspaceMode.COPY
BUILD = os.environ['PRISM_BUILD_ROOT']
CONFORMANCE = os.path.join(BUILD, 'tests', 'conformance', 'prism-conformance')
AS_USER = os.path.join(os.environ['PRISM_SOURCE_ROOT'], 'tests', 'lib', 'as-user')


class Engine(Base):
    """What is asked of each."""

    kind = None

    @classmethod
    def setUpClass(cls):
        cls.place = cls.kind()
        try:
            cls.place.start()
            cls.image = cls.place.image('tools')
        except BaseException:
            cls.place.stop()
            raise

    @classmethod
    def tearDownClass(cls):
        cls.place.stop()

    def make(self, options=None, **properties):
        return super().make({'image': self.image, **(options or {})}, **properties)

    def settings(self, **more):
        values = {'socket': self.place.socket, 'image': self.image, **more}
        return [word for name, value in values.items() for word in ('--set', f'{name}={value}')]

    def judge_contract(self, some, whole, **settings):
        """The named parts of tests/conformance: some, or with PRISM_TEST_WHOLE=1, as in ./dev soak, more."""
        for part in whole if os.environ.get('PRISM_TEST_WHOLE') == '1' else some:
            run = subprocess.run([CONFORMANCE, 'docker', *self.settings(**settings), '--only', part], capture_output=True, text=True, check=False,
                                 timeout=240)
            lines = run.stdout.split('\n')
            bad = [line for line in lines if line.startswith('not ok')]
            self.assertEqual((run.returncode, bad), (0, []), run.stdout[-4000:] + run.stderr[-2000:])
            self.assertTrue([line for line in lines if line.startswith('ok ')], run.stdout)

    def doctor(self):
        """Its checks of this engine, by their ids."""
        status, out, err = prism('doctor', '--json', *self.settings(), 'docker')
        self.assertEqual(status, 0, out + err)
        return {check['id']: check for check in json.loads(out)['backends'][0]['checks']}


class Crun(Engine):
    """A runtime that is registered besides runc."""

    kind = engines.Noting

    def test_runs(self):
        """runtime=NAME is what runs: crun by its own name, and by another that notes what it is asked."""
        sandbox = self.make({'runtime': 'crun'})
        self.assertEqual(self.inspect(sandbox)['HostConfig']['Runtime'], 'crun')
        self.out(sandbox, 'sh', '-c', 'echo made > made')
        self.assertEqual(os.stat(os.path.join(self.folder, 'made')).st_uid, 0)
        sandbox = self.make({'runtime': 'noting'})
        container = self.container(sandbox)
        self.assertEqual(self.out(sandbox, 'echo', 'on'), 'on\n')
        self.assertRegex(self.place.noted(), f'create .*{container}')
        before = self.place.noted()
        self.assertEqual(self.out(self.make({'runtime': 'runc'}), 'echo', 'on'), 'on\n')
        self.assertEqual(self.place.noted().count('create'), before.count('create'))

    def test_unknown(self):
        """One that this engine does not know is refused by its name, beside those that it has."""
        self.fails('refused', lambda: self.make({'runtime': 'crunch'}), says=['crunch', 'crun', 'noting', 'runc'])

    def test_own_kernel(self):
        """Neither has a kernel of its own, and none is claimed."""
        self.fails('refused', lambda: self.make({'runtime': 'crun'}, require=Prism.Controls.PRIVILEGE), says='(?i)privilege')

    def test_contract(self):
        """The contract's commands, processes, files and trees, and the freezer."""
        self.judge_contract(('/exec/streams', '/pause/still'), ('/exec/', '/files/', '/process/', '/trees/', '/pause/'), runtime='crun')


class Remapped(Engine):
    """userns-remap."""

    kind = engines.Remapped

    def test_privilege(self):
        """Privilege is isolated, as the engine says and the kernel confirms."""
        sandbox = self.make(workspace_mode=COPY, require=Prism.Controls.PRIVILEGE)
        self.assertEqual(self.out(sandbox, 'cat', '/proc/self/uid_map').split(), ['0', '1000000', '65536'])
        self.assertEqual(self.out(sandbox, 'id', '-u'), '10001\n')
        status = sandbox.dup_capabilities()
        self.assertTrue(status.get_privilege_isolated())
        self.assertIn('userns-remap', status.get_evidence('privilege'))
        self.assertEqual(self.doctor()['docker.userns']['status'], 'pass')

    def test_folders(self):
        """The host's folders are shown to the users that the engine has for them: what is made is the owner's."""
        os.chown(self.folder, 4321, 4322)
        outputs = os.path.join(self.folder, 'outputs')
        os.mkdir(outputs)
        sandbox = self.make({'outputs': outputs}, require=Prism.Controls.PRIVILEGE)
        self.assertEqual(self.out(sandbox, 'sh', '-c', 'id -u; stat -c %u:%g .; echo made > made; echo made > /mnt/user-data/outputs/made'), '10001\n10001:10001\n')
        for path, ids in ((self.folder, (4321, 4322)), (outputs, (0, 0))):
            made = os.stat(os.path.join(path, 'made'))
            self.assertEqual((made.st_uid, made.st_gid), ids)

    def test_wrong_word(self):
        """Where the engine says of other ids than its containers have, or does not say: nothing is shown to them."""
        beside = self.place.path('beside.sock')
        info = ('GET', '/info')
        for root, says in (('/data/3000000.3000000', '1010001:1010001 of the host.s, not as 3010001'), ('/data', 'userns-remap.*workspace-mode copy'),
                           ('/data/1000000.x', 'userns-remap'), ('/data/0.0', 'userns-remap'), (7, 'userns-remap')):
            with self.subTest(root=root), fake.FakeDockerd(beside, self.place.socket) as engine:
                engine.rule(*info, fake.changed(lambda told, root=root: {**told, 'DockerRootDir': root}))
                made = harness.backend(self.place, image=self.image)
                made.set_property('socket', beside)
                self.fails('refused', lambda made=made: made.create_sandbox(self.spec(), None), says=says)

    def test_contract(self):
        """The contract's commands, files and trees."""
        self.judge_contract(('/exec/streams', '/files/what-is-no-file', '/process/pty'), ('/exec/', '/files/', '/process/', '/trees/', '/life/'))


class Rootless(Engine):
    """An ordinary user's own engine, used by that user."""

    kind = engines.Rootless

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.agent = shutil.copy(os.environ['PRISM_AGENT'], cls.place.path('agent'))  # this tree may be where the engine cannot look

    def run_as(self, *arguments):
        """prism run as the engine's owner: (status, stdout, stderr)"""
        run = subprocess.run([AS_USER, os.environ['PRISM_COMMAND'], *arguments], capture_output=True, text=True, check=False, timeout=120,
                             env={**os.environ, 'PRISM_AGENT': self.agent})
        return run.returncode, run.stdout, run.stderr

    def test_privilege(self):
        """Privilege is isolated: root there is an ordinary user here."""
        status, out, err = self.run_as('run', '-b', 'docker', *self.settings(), '-w', self.folder, '--workspace-mode', 'copy', '--require', 'privilege', '--json',
                                       '--', 'cat', '/proc/self/uid_map')
        self.assertEqual(status, 0, err)
        told = json.loads(out)
        self.assertTrue(told['capabilities']['privilege_isolated'])
        self.assertIn('rootless', told['capabilities']['evidence']['privilege'])
        self.assertEqual(told['stdout'].split()[:3], ['0', str(self.place.ids[0]), '1'])

    def test_folders(self):
        """Commands are another of the host's users than the folder's owner: refused, with what works."""
        os.chown(self.folder, *self.place.ids)
        status, _, err = self.run_as('run', '-b', 'docker', *self.settings(), '-w', self.folder, '--', 'true')
        self.assertEqual(status, 125)
        self.assertIn('workspace-mode copy', err)

    def test_work(self):
        """Commands, their ends, files and a tree that comes out, in a copy."""
        with open(os.path.join(self.folder, 'file'), 'w', encoding='ascii') as out:
            out.write('kept\n')
        tar = os.path.join(self.place.path('home'), 'out.tar')
        self.addCleanup(lambda: os.path.exists(tar) and os.unlink(tar))
        status, out, err = self.run_as('run', '-b', 'docker', *self.settings(), '-w', self.folder, '--workspace-mode', 'copy', '--export', tar,
                                       '--', 'sh', '-c', 'id -un; cat file; echo made > made; kill -9 $$')
        self.assertEqual((status, out), (137, 'prism\nkept\n'), err)
        with tarfile.open(tar) as archive:
            self.assertEqual(archive.extractfile('made').read(), b'made\n')


class Podman(Engine):
    """Podman's compatible socket."""

    kind = engines.Podman

    def test_run(self):
        """A direct workspace, a copy, what is claimed, and what doctor says."""
        sandbox = self.make()
        self.assertEqual(self.out(sandbox, 'sh', '-c', 'id -u; id -un; pwd; echo made > made; cat /proc/1/comm'), '10001\nprism\n/workspace\nagent\n')
        self.assertEqual(os.stat(os.path.join(self.folder, 'made')).st_uid, 0)
        status = sandbox.dup_capabilities()
        self.assertTrue(status.get_network_isolated() and status.get_filesystem_isolated() and status.get_process_isolated())
        self.assertFalse(status.get_privilege_isolated())
        sandbox.close(None)
        sandbox = self.make(workspace_mode=COPY)
        self.assertEqual(self.out(sandbox, 'cat', 'made'), 'made\n')
        self.assertEqual({name for name, check in self.doctor().items() if check['status'] == 'fail'}, set())

    def test_refused(self):
        """A runtime that podman does not know, an image that is not there."""
        self.fails('refused', lambda: self.make({'runtime': 'crunch'}), says=['crunch', 'crun'])
        missing = self.image.rsplit(':', 1)[0] + ':' + '0' * 64
        self.fails('not-found', lambda: self.make({'image': missing}), says='0' * 64)

    def test_contract(self):
        """The contract's commands and trees."""
        self.judge_contract(('/exec/streams',), ('/exec/', '/files/', '/process/', '/trees/', '/pause/'))


taptest.main()
