# SPDX-License-Identifier: LGPL-2.1-or-later
"""What is refused, all of it in one error, before anything is made; and the layout."""
import os

import harness
import images
import taptest
from gi.repository import Prism
from harness import IMAGE, Base, backend

NAME, DIGEST = IMAGE.split('@')


def daemon_tar():
    """An image's content: one folder."""
    tar = images.Tar()
    tar.folder('/only')
    return tar.close()


class Options(Base):
    def refused(self, options, says, code=('refused', 'invalid', 'not-found'), **properties):
        return self.fails(code, lambda: self.make(options, **properties), says=says)


class Refused(Options):
    def test_images(self):
        """Only what is pinned by a whole digest, and no option of a program."""
        for image in ('', 'debian', f'{NAME}:latest', f'{NAME}@sha256:' + 'a' * 63, f'{NAME}@sha256:' + 'g' * 64, f'{NAME}@md5:' + 'a' * 32, DIGEST,
                      '@' + DIGEST, '-v' + IMAGE, '--privileged@' + DIGEST, f'a b@{DIGEST}', f'{NAME}@{DIGEST}x', f'{NAME}@{DIGEST}\n', f'../../x@{DIGEST}',
                      f'{NAME}?x=y@{DIGEST}', f'{NAME}%2e@{DIGEST}'):
            with self.subTest(image=image):
                self.refused({'image': image}, 'image')

    def test_tag(self):
        """Who names one by its tag is told what it is here, or that it has no digest."""
        self.refused({'image': f'{NAME}:busybox'}, ['must be pinned', f'here {NAME}:busybox is image={IMAGE}'])
        daemon = self.daemon()
        daemon.ask('POST', '/images/create?fromSrc=-&repo=prism-unpushed&tag=one', daemon_tar(), {'Content-Type': 'application/x-tar'})
        try:
            self.refused({'image': 'prism-unpushed:one'}, ['must be pinned', 'has no digest', 'push it'])
        finally:
            daemon.call('DELETE', '/images/prism-unpushed:one')
        self.assertNotIn('here no', self.refused({'image': 'no-such-image:one'}, 'must be pinned'))

    def test_digest_case(self):
        """Any case of its digits."""
        sandbox = self.make({'image': NAME + '@sha256:' + DIGEST.split(':')[1].upper()})
        self.assertEqual(self.out(sandbox, 'echo', 'on'), 'on\n')

    def test_users(self):
        """Never root, never a name, never out of range."""
        for user in ('', '0:0', '0:10001', '10001:0', '10001', 'root', 'nobody:nogroup', '-1:5', '10001:10001:1', '00:5', '1e3:5', '2147483648:5', '5:99999999999',
                     ' 5:5', '5:5\n', '٣:٣'):
            with self.subTest(user=user):
                self.refused({'user': user}, 'user')

    def test_networks(self):
        """No mode of the engine's by its name, no other container's, none that is not there."""
        for network in ('host', 'bridge', 'default', 'none', 'container:x', 'a b', 'a\\b', '', '-x', 'no-such-network'):
            with self.subTest(network=network):
                self.refused({'network': network}, 'network', network=Prism.NetworkMode.CUSTOM)
        self.refused({'network': 'mine'}, 'network')  # without custom

    def test_paths(self):
        """Relative and odd paths."""
        for name, value in (('socket', 'docker.sock'), ('socket', '/' + 'x' * 200), ('docker', 'docker'), ('docker', '/no/such/docker'), ('source', 'relative'),
                            ('source', '/no/such/folder'), ('source', '/etc/passwd'), ('runtime', '-x'), ('runtime', 'a b'), ('runtime', '../runc')):
            with self.subTest(name=name, value=value):
                self.refused({name: value}, name, code=('refused', 'invalid', 'not-found', 'unavailable'))

    def test_runtime_unknown(self):
        """A runtime that the engine does not know: those that it does are named."""
        self.refused({'runtime': 'no-such-runtime'}, ['no-such-runtime', 'runc'])

    def test_runtime(self):
        """One that it knows."""
        self.assertEqual(self.inspect(self.make({'runtime': 'runc'}))['HostConfig']['Runtime'], 'runc')

    def test_all_in_one(self):
        """All offenders in one error, and nothing was made."""
        asked = {'image': 'debian', 'user': 'root', 'runtime': '-x', 'source': 'relative', 'uploads': 'relative/too'}
        self.refused(asked, ['image', 'user', 'runtime', 'source', 'uploads'])

    def test_sockets(self):
        """The engine's socket is shown nowhere."""
        folder = os.path.dirname(self.daemon().socket)
        for path, says in ((self.daemon().socket, 'socket'), (folder, 'socket' if os.access(folder, os.R_OK) else 'Permission denied')):
            mount = Prism.Mount.new(harness.Gio.File.new_for_path(path), '/engine', False)
            spec = self.spec()
            spec.add_mount(mount)
            self.fails(('refused', 'invalid'), lambda: backend(self.daemon()).create_sandbox(spec, None), says=says)

    def test_privilege(self):
        """What this engine cannot give is refused when it is required."""
        self.fails('refused', lambda: self.make(require=Prism.Controls.PRIVILEGE), says='(?i)privilege')
        sandbox = self.make(require=Prism.Controls.FILESYSTEM | Prism.Controls.NETWORK | Prism.Controls.PROCESS | Prism.Controls.EGRESS | Prism.Controls.WORKSPACE)
        self.assertEqual(self.out(sandbox, 'echo', 'on'), 'on\n')


class Layout(Base):
    """The second system's: outputs, uploads, scratch, tool_results, skills, transcripts."""

    def folder_of(self, name, content='kept'):
        path = os.path.join(self.folder, name)
        os.makedirs(path, exist_ok=True)
        os.chmod(path, 0o755)
        with open(os.path.join(path, 'file'), 'w', encoding='ascii') as out:
            out.write(content)
        return path

    def test_seen(self):
        """Each at its place, writable or not as it should be; on the host nothing is made or removed."""
        os.mkdir(os.path.join(self.folder, 'workspace'))
        folders = {name: self.folder_of(name) for name in ('outputs', 'uploads', 'scratch', 'tool-results', 'transcripts', 'skill-a', 'skill-b')}
        options = {name: folders[name] for name in ('outputs', 'uploads', 'scratch', 'transcripts')}
        options['tool_results'] = folders['tool-results']
        options['skills'] = [f'a.1={folders["skill-a"]}', f'B_2={folders["skill-b"]}']
        sandbox = self.make(options, workspace=harness.Gio.File.new_for_path(os.path.join(self.folder, 'workspace')))
        user = '/mnt/user-data'
        for path, writable in ((f'{user}/outputs', True), (f'{user}/uploads', False), (f'{user}/scratch', True), (f'{user}/tool_results', False),
                               ('/mnt/transcripts', False), ('/mnt/skills/a.1', False), ('/mnt/skills/B_2', False)):
            self.assertEqual(self.out(sandbox, 'cat', path + '/file'), 'kept', path)
            code = self.run_in(sandbox, 'sh', '-c', f'echo made > {path}/made')[1]
            self.assertEqual(code == 0, writable, path)
        self.assertEqual(os.stat(os.path.join(folders['outputs'], 'made')).st_uid, os.stat(folders['outputs']).st_uid)
        sandbox.close(None)
        self.assertEqual(sorted(os.listdir(folders['uploads'])), ['file'])
        self.assertEqual(sorted(os.listdir(folders['outputs'])), ['file', 'made'])

    def test_all_violations(self):
        """Missing outputs, odd and double skills, relative and missing folders: all of them in one error."""
        good = self.folder_of('skill')
        message = self.fails(('refused', 'invalid'), lambda: self.make({
            'uploads': 'relative', 'scratch': '/no/such/folder', 'skills': [f'..={good}', f'a/b={good}', f'ok={good}', f'ok={good}', 'no-folder', f'={good}']}))
        for word in ('outputs', 'uploads', 'scratch', 'skills', 'twice', 'a/b', 'no-folder'):
            self.assertIn(word, message)

    def test_double_place(self):
        """Two things at one place."""
        outputs = self.folder_of('outputs')
        mount = Prism.Mount.new(harness.Gio.File.new_for_path(self.folder_of('other')), '/mnt/user-data/outputs', False)
        spec = self.spec(workspace_mode=Prism.WorkspaceMode.COPY)
        spec.add_mount(mount)
        self.fails(('refused', 'invalid'), lambda: backend(self.daemon(), outputs=outputs).create_sandbox(spec, None), says='/mnt/user-data/outputs')

    def test_odd_names(self):
        """Commas, quotes and colons in a folder's name are a name."""
        odd = self.folder_of('a,b:"c" readonly=false,src=')
        sandbox = self.make({'outputs': odd}, workspace_mode=Prism.WorkspaceMode.COPY)
        self.assertEqual(self.out(sandbox, 'cat', '/mnt/user-data/outputs/file'), 'kept')


class Source(Base):
    def test_source(self):
        """Read-only at /source."""
        with open(os.path.join(self.folder, 'file'), 'w', encoding='ascii') as out:
            out.write('kept')
        sandbox = self.make({'source': self.folder}, workspace=False)
        self.assertEqual(self.out(sandbox, 'cat', '/source/file'), 'kept')
        self.assertNotEqual(self.run_in(sandbox, 'sh', '-c', 'echo x > /source/file')[1], 0)


class Workspace(Options):
    def test_direct(self):
        """Files of a direct workspace are the folder's owner's; modes and set-id bits are not to be abused."""
        sandbox = self.make()
        self.out(sandbox, 'sh', '-c', 'echo made > made; mkdir folder; chmod 4755 made 2> /dev/null; true')
        info = os.stat(os.path.join(self.folder, 'made'))
        self.assertEqual((info.st_uid, info.st_gid), (os.stat(self.folder).st_uid, os.stat(self.folder).st_gid))
        self.assertEqual(info.st_mode & 0o6000, 0)

    def test_owner(self):
        """An ordinary user's commands are who owns the folder; another user, or what is root's, is refused with what to do.
        Root shows a folder of anybody's, whoever commands run as."""
        here = os.getuid()
        self.assertEqual(self.out(self.make(), 'id', '-u'), f'{here or 10001}\n')
        self.assertEqual(self.out(self.make(workspace_mode=Prism.WorkspaceMode.COPY), 'id', '-u'), '10001\n')
        outputs = os.path.join(self.folder, 'outputs')
        os.mkdir(outputs)
        sandbox = self.make({'outputs': outputs}, workspace_mode=Prism.WorkspaceMode.COPY)
        self.assertEqual(self.out(sandbox, 'sh', '-c', 'id -u; touch /mnt/user-data/outputs/made'), f'{here or 10001}\n')
        self.assertEqual(os.stat(os.path.join(outputs, 'made')).st_uid, here)
        if here:
            self.refused({'user': '10001:10001'}, [f'belongs to uid {here}', 'leave out', f'{here}:{here}', 'workspace-mode copy'])
            self.refused({}, ["is root's", 'chown'], workspace=harness.Gio.File.new_for_path('/usr'))
        else:
            sandbox = self.make({'user': '4321:4321'})
            self.out(sandbox, 'touch', 'made')
            self.assertEqual(os.stat(os.path.join(self.folder, 'made')).st_uid, here)

    def test_readonly(self):
        """readonly is read-only."""
        with open(os.path.join(self.folder, 'file'), 'w', encoding='ascii') as out:
            out.write('kept')
        sandbox = self.make(workspace_mode=Prism.WorkspaceMode.READONLY)
        self.assertEqual(self.out(sandbox, 'cat', 'file'), 'kept')
        self.assertNotEqual(self.run_in(sandbox, 'sh', '-c', 'echo x > file')[1], 0)

    def test_copy(self):
        """A copy: its identity in equals its identity out, and the host's folder is as it was."""
        os.makedirs(os.path.join(self.folder, 'a', 'b'))
        with open(os.path.join(self.folder, 'a', 'b', 'file'), 'w', encoding='ascii') as out:
            out.write('kept')
        os.symlink('b/file', os.path.join(self.folder, 'a', 'link'))
        sandbox = self.make(workspace_mode=Prism.WorkspaceMode.COPY)
        stream = harness.Gio.MemoryOutputStream.new_resizable()
        first = sandbox.export_tree('.', stream, None).get_sha256()
        self.assertEqual(self.out(sandbox, 'cat', 'a/link'), 'kept')
        self.out(sandbox, 'sh', '-c', 'printf "#!/bin/sh\\necho built" > program; chmod +x program; ./program; rm -r a')
        second = sandbox.export_tree('.', harness.Gio.MemoryOutputStream.new_resizable(), None).get_sha256()
        self.assertNotEqual(first, second)
        sandbox.close(None)
        with open(os.path.join(self.folder, 'a', 'link'), encoding='ascii') as kept:
            self.assertEqual(kept.read(), 'kept')
        again = self.make(workspace_mode=Prism.WorkspaceMode.COPY)
        self.assertEqual(again.export_tree('.', harness.Gio.MemoryOutputStream.new_resizable(), None).get_sha256(), first)


taptest.main()
